//! Rules about what protects the locks: the bucket's policy and settings, and who is let in from outside.

use super::super::decision::{PolicyKind, Verdict};
use super::asker::Headers;
use super::bench::{Bench, condition_words, lock_names, names, say};
use super::keys::Key;
use super::output::Part;
use super::rights::{Can, Rights};
use super::rules;
use super::shape::Shape;
use super::world::BUCKET_POLICY;
use crate::severity::Severity;

const GUARD: &str = "deny it on the bucket to everybody whose `aws:PrincipalArn` is not the role that manages the bucket \
                     or the break-glass role; do not lock out the role that applies the bucket's own Terraform";

/// All of them.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    unprotected(bench);
    locked_out(bench);
    open_to_everyone(bench);
}

fn unprotected(bench: &mut Bench<'_, '_>) {
    let Some(row) = bench.row(bench.world.stranger) else { return };
    let able = |actions: &[&'static str]| -> Vec<&'static str> {
        actions.iter().copied().filter(|action| row.strips(action).is_real()).collect()
    };
    let words = |able: &[&'static str]| able.first().map(|action| condition_words(row.strips(action)));
    let policy = able(&["s3:PutBucketPolicy", "s3:DeleteBucketPolicy"]);
    let lifecycle = able(&["s3:PutLifecycleConfiguration"]);
    let settings = able(&["s3:PutBucketVersioning", "s3:PutReplicationConfiguration"]);
    let rows = [
        (rules::BUCKET_POLICY_UNPROTECTED, policy, "and so remove what protects the locks"),
        (
            rules::BUCKET_LIFECYCLE_UNPROTECTED,
            lifecycle,
            "and a lifecycle rule deletes locks whatever the policy denies",
        ),
        (rules::BUCKET_SETTINGS_UNPROTECTED, settings, "and so lose or copy the history of locks"),
    ];
    for (rule, able, why) in rows {
        if able.is_empty() {
            continue;
        }
        let conditions = words(&able).unwrap_or_default();
        let message = format!("every principal with wide rights may call {} {why}{conditions}", names(&able));
        bench.bucket(say(rule, message, GUARD));
    }
}

/// Nobody, or none of the roles that should, can change the policy.
fn locked_out(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    for action in ["s3:PutBucketPolicy", "s3:DeleteBucketPolicy"] {
        let lower = action.to_ascii_lowercase();
        let blanket = |shape: &&Shape| {
            shape.deny
                && shape.everyone
                && shape.conditions.is_empty()
                && shape.about_action(&lower)
                && shape.about_resource(&world.bucket_arn)
        };
        if let Some(shape) = world.statements().find(blanket) {
            let statement = shape.reference(BUCKET_POLICY);
            let message = format!(
                "`{action}` is denied to everybody without exemption: only the account's root user can change the \
                 policy now"
            );
            bench.bucket(say(rules::BUCKET_POLICY_LOCKS_EVERYONE_OUT, message, GUARD).at(Some(statement)));
            return;
        }
    }
    let admins: Vec<usize> =
        world.real().filter(|(_, actor)| matches!(actor.part, Part::Admin)).map(|(at, _)| at).collect();
    let mut denied = Vec::new();
    let mut statement = None;
    for at in &admins {
        let Some(actor) = bench.actor(*at) else { continue };
        let mut asker = world.asker(actor);
        let decision = asker.ask("s3:PutBucketPolicy", &world.bucket_arn, Headers::Plain);
        let found = world.first_of(actor, &decision, PolicyKind::Resource);
        if decision.verdict == Verdict::ExplicitlyDenied && found.is_some() {
            denied.push(actor.shown.as_str());
            statement = statement.or(found);
        }
    }
    if denied.len() < admins.len() {
        return;
    }
    if denied.is_empty() {
        left_to_root(bench);
        return;
    }
    let message = format!(
        "the bucket policy denies s3:PutBucketPolicy to {}, which manages the bucket",
        names(&denied)
    );
    bench.bucket(say(rules::BUCKET_POLICY_LOCKS_EVERYONE_OUT, message, GUARD).at(statement));
}

/// Everybody was read, and the policy stops all who could change it: whoever it exempts is not there.
fn left_to_root(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    if world.account.is_none() || !world.has_read(&world.owner) {
        return;
    }
    let mut stopped = None;
    for (_, actor) in world.real() {
        // The root user can always remove the policy.
        if actor.arn.as_deref().is_some_and(|arn| arn.ends_with(":root")) {
            continue;
        }
        let decision = world.asker(actor).ask("s3:PutBucketPolicy", &world.bucket_arn, Headers::Plain);
        match decision.verdict {
            Verdict::Allowed | Verdict::Unknown => return,
            Verdict::ExplicitlyDenied => {
                stopped = stopped.or_else(|| world.first_of(actor, &decision, PolicyKind::Resource));
            }
            Verdict::ImplicitlyDenied => {}
        }
    }
    let Some(statement) = stopped else { return };
    let message = "of all users and roles that were read, none may call s3:PutBucketPolicy: the bucket policy denies it to \
                   everybody but principals that do not exist, so only the account's root user can change it"
        .to_owned();
    bench.bucket(say(rules::BUCKET_POLICY_LOCKS_EVERYONE_OUT, message, GUARD).at(Some(statement)));
}

/// One way of looking at rights.
type Way = fn(&Rights) -> Can;

/// Anonymous callers, or anybody with an account.
fn open_to_everyone(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let restricted =
        [&world.input.bucket.public_access_block, &world.input.bucket.account_public_access_block]
            .into_iter()
            .any(|block| block.known().is_some_and(|block| block.restrict_public_buckets));
    let ways: [(&str, Way); 3] = [
        ("delete", Rights::can_delete),
        ("delete versions of", |rights| rights.delete_version.clone()),
        ("write", Rights::can_create),
    ];
    let callers = [(world.anonymous, "anonymous callers"), (world.foreign, "principals of any AWS account")];
    for (at, who) in callers {
        for (what, way) in ways {
            let cans = bench.keys(at, way);
            let open: Vec<&Key> = cans.iter().filter(|(_, can)| can.is_real()).map(|(key, _)| *key).collect();
            let Some((_, can)) = cans.iter().find(|(_, can)| can.is_real()) else { continue };
            let certain = cans.iter().any(|(_, can)| *can == Can::Yes);
            let held = if restricted { "; only RestrictPublicBuckets holds it back" } else { "" };
            let message = format!("{who} can {what} {}{}{held}", lock_names(&open), condition_words(can));
            let action = match what {
                "delete" => "s3:deleteobject",
                "write" => "s3:putobject",
                _ => "s3:deleteobjectversion",
            };
            let first = open.first().map(|key| world.object(&key.lock)).unwrap_or_default();
            let allows = |shape: &&Shape| {
                shape.allow && shape.everyone && shape.about_action(action) && shape.about_resource(&first)
            };
            let statement = world.statements().find(allows).map(|shape| shape.reference(BUCKET_POLICY));
            let help = "name the roles that need it in `Principal`, and turn Block Public Access on";
            let severity = match (certain, restricted) {
                (true, false) => Severity::Critical,
                (true, true) => Severity::High,
                (false, _) => Severity::Medium,
            };
            bench.bucket(say(rules::LOCK_OPEN_TO_EVERYONE, message, help).at(statement).rated(severity));
        }
    }
}
