//! Rules about the bucket's settings where they meet policies, and about what this judgement could not know.

use super::bench::{Bench, names, say};
use super::docs::Place;
use super::input::Reading;
use super::output::Part;
use super::rights::Can;
use super::rules;
use super::sets::Row;
use super::world::{BUCKET_POLICY, World};
use crate::severity::Severity;

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
    let account = match &input.account_public_access_block {
        Reading::Known(_) | Reading::Absent => " and not for its account either".to_owned(),
        Reading::NotAsked => " (the account's was not read)".to_owned(),
        Reading::Failed(why) => format!(" (the account's could not be read: {why})"),
    };
    let message = format!("{} is off for the bucket{account}", off.join(", "));
    let help = "turn all four settings on: a state bucket is never public";
    let finding = say(rules::BUCKET_PUBLIC_ACCESS_NOT_BLOCKED, message, help);
    bench.bucket(finding.at_most_if(!asked, Severity::Medium));
}

fn public_policy(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let input = &world.input.bucket;
    let restricted = [&input.public_access_block, &input.account_public_access_block]
        .into_iter()
        .any(|block| block.known().is_some_and(|block| block.restrict_public_buckets));
    let Some(shape) = world.statements().find(|shape| shape.is_public()).filter(|_| restricted) else {
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
    let action = "s3:deleteobject";
    let mut found: Vec<String> = Vec::new();
    let mut points: Vec<&str> = Vec::new();
    let others = world.actors.iter().zip(bench.rows).filter(|(actor, _)| actor.part == Part::Other);
    for (actor, row) in others {
        // Only who is kept from a lock directly, and is not through the access point, is led around something.
        let led = |point: usize| {
            let keys = world.keys.iter().enumerate().filter(move |(at, _)| {
                let through = row.through(point, *at).is_some_and(|rights| rights.can_delete().is_real());
                through && row.rights(*at).is_some_and(|rights| rights.can_delete().is_no())
            });
            keys.map(|(_, key)| key)
        };
        let levels = actor.scps.iter().flatten().map(|level| ("service control policy", level));
        for (kind, place) in levels.chain([("policy", &actor.identity)]) {
            for (name, shape) in world.docs.shapes(place) {
                let denies = shape.deny && shape.about_action(action);
                let missed = world.points.iter().enumerate().filter(|(point, _)| {
                    denies && led(*point).any(|key| shape.about_resource(&world.object(&key.lock)))
                });
                let missed: Vec<&str> = missed.map(|(_, point)| point.input.name).collect();
                if !missed.is_empty() {
                    found.push(shape.reference(&format!("{kind} {name}")));
                    points.extend(missed);
                }
            }
        }
    }
    found.sort();
    found.dedup();
    points.sort_unstable();
    points.dedup();
    let Some(first) = found.first().cloned() else { return };
    let message = format!(
        "deleting locks is denied by {} on the bucket's ARN only, and the access points {} lead around that",
        names(&found),
        names(&points)
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
    let input = &world.input.bucket;
    if let Reading::Failed(why) = &input.access_points {
        found.push((bucket.clone(), format!("which access points lead to locks is not known: {why}"), None));
    }
    for point in &world.points {
        if let Place::NotKnown(why) = &point.policy {
            let message =
                format!("the policy of an access point is not known, so neither is whom it lets in: {why}");
            found.push((bucket.clone(), message, None));
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
