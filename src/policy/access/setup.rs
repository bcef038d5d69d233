//! Rules about the bucket's settings where they meet policies, and about what this judgement could not know.

use super::bench::{Bench, names, say};
use super::docs::Place;
use super::input::Reading;
use super::output::Part;
use super::rules;
use super::sets::{Can, Row};
use super::shape::Shape;
use super::world::{BUCKET_POLICY, World};

/// S3's limit for a bucket policy, in bytes.
const POLICY_LIMIT: usize = 20 * 1024;

/// From here on it is worth knowing.
const POLICY_FULL: usize = 16 * 1024;

/// All of them.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    let bucket = &bench.world.input.bucket;
    if bucket.mfa_delete {
        let message = "MFA Delete is enabled: it asks for a code when versions are deleted, does not stop unlocking, and \
                       forbids lifecycle rules that would clean old versions up"
            .to_owned();
        bench.bucket(say(rules::BUCKET_MFA_DELETE, message, "protect locks with the bucket policy instead"));
    }
    ownership(bench);
    public_access(bench);
    public_policy(bench);
    access_points(bench);
    size(bench);
    not_known(bench);
    nobody(bench);
}

fn ownership(bench: &mut Bench<'_, '_>) {
    let mode = match &bench.world.input.bucket.ownership {
        Reading::Known("BucketOwnerEnforced") => return,
        Reading::Known(mode) => *mode,
        Reading::Absent => "not set",
        _ => return,
    };
    let message =
        format!("Object Ownership is {mode}, so ACLs count and can grant rights that no policy shows");
    bench.bucket(say(rules::BUCKET_ACLS_ACTIVE, message, "set Object Ownership to BucketOwnerEnforced"));
}

fn public_access(bench: &mut Bench<'_, '_>) {
    let input = &bench.world.input.bucket;
    let of = |reading: &Reading<super::input::BlockPublicAccess>| match reading {
        Reading::Known(block) => Some(*block),
        Reading::Absent => Some(super::input::BlockPublicAccess::default()),
        _ => None,
    };
    let Some(bucket) = of(&input.public_access_block) else { return };
    let account = of(&input.account_public_access_block).unwrap_or_default();
    let rows = [
        ("BlockPublicAcls", bucket.block_public_acls || account.block_public_acls),
        ("IgnorePublicAcls", bucket.ignore_public_acls || account.ignore_public_acls),
        ("BlockPublicPolicy", bucket.block_public_policy || account.block_public_policy),
        ("RestrictPublicBuckets", bucket.restrict_public_buckets || account.restrict_public_buckets),
    ];
    let off: Vec<&str> = rows.into_iter().filter(|(_, on)| !on).map(|(name, _)| name).collect();
    if off.is_empty() {
        return;
    }
    let asked = matches!(input.account_public_access_block, Reading::Known(_) | Reading::Absent);
    let account = if asked { " and not for its account either" } else { " (the account's was not read)" };
    let message = format!("{} is off for the bucket{account}", off.join(", "));
    let help = "turn all four settings on: a state bucket is never public";
    let finding = say(rules::BUCKET_PUBLIC_ACCESS_NOT_BLOCKED, message, help);
    bench.bucket(finding.at_most_if(!asked, "medium"));
}

/// Keys whose fixed values keep a statement for everybody from being public.
/// Source: Amazon S3 User Guide, "The meaning of public".
const FIXED: [&str; 12] = [
    "aws:principalarn",
    "aws:principalorgid",
    "aws:principalorgpaths",
    "aws:principalaccount",
    "aws:sourcearn",
    "aws:sourcevpc",
    "aws:sourcevpce",
    "aws:sourceowner",
    "aws:sourceaccount",
    "aws:userid",
    "s3:dataaccesspointarn",
    "s3:dataaccesspointaccount",
];

fn is_public(shape: &Shape) -> bool {
    let fixed = shape.conditions.iter().any(|asked| {
        let values =
            !asked.values.is_empty() && asked.values.iter().all(|value| !value.contains(['*', '?', '$']));
        let ip = asked.name == "aws:sourceip" && asked.values.iter().all(|value| !value.ends_with("/0"));
        !asked.negated() && !asked.if_exists && (values && FIXED.contains(&asked.name.as_str()) || ip)
    });
    shape.allow && shape.everyone && !fixed
}

fn public_policy(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let input = &world.input.bucket;
    let restricted = [&input.public_access_block, &input.account_public_access_block]
        .into_iter()
        .any(|block| block.known().is_some_and(|block| block.restrict_public_buckets));
    let Some(shape) = world.statements().find(|shape| is_public(shape)).filter(|_| restricted) else {
        return;
    };
    let statement = shape.reference(BUCKET_POLICY);
    let elsewhere: Vec<&str> = world
        .real()
        .filter(|(_, actor)| actor.part != Part::Other && actor.account.as_deref() != Some(&world.owner))
        .map(|(_, actor)| actor.shown.as_str())
        .collect();
    let cut = match elsewhere.as_slice() {
        [] => "principals of other accounts are".to_owned(),
        some => format!("{} is", names(some)),
    };
    let message = format!(
        "the bucket policy is public and RestrictPublicBuckets is on, so {cut} cut off, whatever it allows"
    );
    let help =
        "name principals in the Allow, or add a condition with fixed values such as `aws:PrincipalOrgID`";
    bench.bucket(say(rules::PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS, message, help).at(Some(statement)));
}

/// Policies of principals and of the organization see an access point's ARN, not the bucket's.
fn access_points(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let Some(points) = world.input.bucket.access_points.known().filter(|points| !points.is_empty()) else {
        return;
    };
    let action = "s3:deleteobject";
    let limited_here = world.statements().any(|shape| shape.limits_callers(action));
    if limited_here {
        return;
    }
    let region = world.input.bucket.region.unwrap_or("eu-central-1");
    let partition = world.partition;
    let misses = |shape: &Shape| {
        shape.deny
            && shape.about_action(action)
            && world.keys.iter().any(|key| {
                let around = |point: &&str| {
                    let owner = &world.owner;
                    let arn = format!(
                        "arn:{partition}:s3:{region}:{owner}:accesspoint/{point}/object/{}",
                        key.lock
                    );
                    !shape.about_resource(&arn)
                };
                shape.about_resource(&world.object(&key.lock)) && points.iter().any(around)
            })
    };
    let scps = world.actors.iter().flat_map(|actor| {
        let levels = actor.scps.iter().flatten();
        levels.map(|level| ("service control policy", level)).chain([("policy", &actor.identity)])
    });
    let mut found: Vec<String> = Vec::new();
    for (kind, place) in scps {
        let shapes = world.docs.shapes(place).filter(|(_, shape)| misses(shape));
        found.extend(shapes.map(|(name, shape)| shape.reference(&format!("{kind} {name}"))));
    }
    found.sort();
    found.dedup();
    let Some(first) = found.first().cloned() else { return };
    let message = format!(
        "deleting locks is denied by {} on the bucket's ARN only, and the access points {} lead around that",
        names(&found),
        names(points)
    );
    let help = "put the Deny into the bucket policy, which sees requests through access points, too";
    bench.bucket(say(rules::DENY_MISSES_ACCESS_POINTS, message, help).at(Some(first)));
}

fn size(bench: &mut Bench<'_, '_>) {
    let Some(text) = bench.world.input.bucket.policy.known() else { return };
    if text.len() <= POLICY_FULL {
        return;
    }
    let message = format!("the bucket policy has {} of {POLICY_LIMIT} bytes", text.len());
    let help = "put roles under a common path and name them with one pattern";
    bench.bucket(say(rules::BUCKET_POLICY_NEARLY_FULL, message, help));
}

/// What decides about locks and is not known.
fn not_known(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let help = "allow the auditing role to read it (`s3:GetBucketPolicy`, `iam:GetAccountAuthorizationDetails`), or judge \
                what it says by hand";
    let mut found: Vec<(String, String, Option<String>)> = Vec::new();
    let bucket = world.bucket_subject();
    if let Place::NotKnown(why) = &world.policy {
        let message = format!("{why}: who may do what to locks is not known");
        found.push((bucket.clone(), message, None));
    }
    if let Place::Known(known) = &world.policy {
        for compiled in known.iter().filter_map(|(_, number)| world.docs.get(*number)?.compiled.as_ref()) {
            for (index, what) in compiled.not_understood() {
                let message = format!("not understood in the bucket policy: {what}; it may allow or deny");
                let statement = super::shape::reference(BUCKET_POLICY, index, None);
                found.push((bucket.clone(), message, Some(statement)));
            }
        }
    }
    let stranger = bench.row(world.stranger);
    if let (Some(why), Place::Known(_) | Place::Absent) = (stranger.and_then(unknown_delete), &world.policy) {
        found.push((bucket, format!("whether anybody may delete locks is not known: {why}"), None));
    }
    for (_, actor) in world.real().filter(|(_, actor)| actor.part != Part::Other) {
        let words = actor.part.words();
        for place in [&actor.identity, &actor.boundary] {
            if let Place::NotKnown(why) = place {
                let message = format!("what this {words} may do is not known: {why}");
                found.push((actor.shown.clone(), message, None));
            }
        }
        let elsewhere = actor.account.as_deref().is_some_and(|account| !world.has_read(account));
        if actor.assumed && elsewhere && world.input.principals.known().is_some() {
            let message =
                format!("the policies of this {words} were not read: its account was not among those asked");
            found.push((actor.shown.clone(), message, None));
        }
    }
    for (subject, message, statement) in found {
        bench.about(&subject, say(rules::ACCESS_NOT_KNOWN, message, help).at(statement));
    }
}

fn unknown_delete(row: &Row) -> Option<String> {
    row.all_rights().find_map(|rights| match rights.can_delete() {
        Can::Unknown(why) => Some(why.join("; ")),
        _ => None,
    })
}

fn nobody(bench: &mut Bench<'_, '_>) {
    let world: &World<'_> = bench.world;
    for (pattern, part) in &world.nobody {
        let message =
            format!("the configuration names `{pattern}` as {}, and it does not exist", part.words());
        let help = "correct the ARN in lockshift.toml: a path belongs into it";
        bench.about(pattern, say(rules::EXEMPTION_NAMES_NOBODY, message, help));
    }
}

/// A directory bucket (S3 Express One Zone) asks for `s3express:CreateSession`, and for nothing that is judged here.
pub(super) fn is_directory_bucket(name: &str) -> bool {
    name.ends_with("--x-s3")
}
