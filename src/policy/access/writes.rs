//! Rules about writing over a lock, planting one, and about state writes that the same statements hit.

use super::super::decision::{PolicyKind, Verdict};
use super::asker::Headers;
use super::bench::{Bench, condition_words, lock_names, names, say};
use super::keys::{Key, Kind};
use super::output::Part;
use super::rights::{Can, Rights};
use super::rules;
use crate::severity::Severity;

const CONDITIONAL: &str = "deny s3:PutObject on `*.tflock` to everybody when `s3:if-none-match` is null: Terraform and \
                           OpenTofu always send it for locks";

/// All of them.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    overwrite(bench);
    plant(bench);
    state_writes(bench);
}

fn open<'k>(keys: &[(&'k Key, Can)]) -> Vec<&'k Key> {
    keys.iter().filter(|(_, can)| can.is_real()).map(|(key, _)| *key).collect()
}

fn overwrite(bench: &mut Bench<'_, '_>) {
    let stranger = bench.world.stranger;
    let blind = bench.keys(stranger, |rights| rights.put.clone());
    let matched = bench.keys(stranger, |rights| match rights.put {
        Can::No => rights.put_match.clone(),
        _ => Can::No,
    });
    let how = blind.iter().find(|(_, can)| can.is_real()).map(|(_, can)| condition_words(can));
    let (blind, matched) = (open(&blind), open(&matched));
    if !blind.is_empty() {
        let message = format!(
            "whoever may write to the bucket can overwrite {}: nothing asks for `If-None-Match`{}",
            lock_names(&blind),
            how.unwrap_or_default()
        );
        bench.bucket(say(rules::LOCK_OVERWRITE_POSSIBLE, message, CONDITIONAL));
    }
    if !matched.is_empty() {
        let message = format!(
            "`If-Match` will do instead of `If-None-Match`: whoever read the ETag can overwrite {}",
            lock_names(&matched)
        );
        let shape = bench
            .world
            .statements()
            .find(|shape| shape.deny && shape.conditions.iter().any(|asked| asked.name == "s3:if-match"));
        let statement = shape.map(|shape| shape.reference(super::world::BUCKET_POLICY));
        let help = "leave `s3:if-match` out of that condition: keys in one condition must all be missing";
        bench.bucket(say(rules::LOCK_OVERWRITE_WITH_ETAG, message, help).at(statement));
    }
    if !blind.is_empty() || !matched.is_empty() {
        return;
    }
    // Strangers are kept out; the runners themselves may not be.
    let lockers = bench
        .lockers()
        .into_iter()
        .filter(|(at, _)| bench.all_rights(*at).any(|rights| rights.put.is_real()));
    let able: Vec<&str> = lockers.map(|(_, actor)| actor.shown.as_str()).collect();
    if !able.is_empty() {
        let message = format!("{} can overwrite locks: nothing asks them for `If-None-Match`", names(&able));
        bench.bucket(say(rules::LOCK_OVERWRITE_POSSIBLE, message, CONDITIONAL).rated(Severity::Medium));
    }
}

fn plant(bench: &mut Bench<'_, '_>) {
    let planted = open(&bench.keys(bench.world.stranger, |rights: &Rights| rights.create.clone()));
    if planted.is_empty() {
        return;
    }
    let message = format!(
        "whoever may write to the bucket can create {} and so stop all runs of that state",
        lock_names(&planted)
    );
    let help =
        "deny s3:PutObject on `*.tflock` to everybody whose `aws:PrincipalArn` is not a runner or plan role";
    bench.bucket(say(rules::LOCK_PLANTING_POSSIBLE, message, help));
}

/// `If-None-Match` is asked of states, too.
fn state_writes(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let mut askers: Vec<usize> = bench.lockers().into_iter().map(|(at, _)| at).collect();
    askers.retain(|at| bench.actor(*at).is_some_and(|actor| actor.part == Part::Runner));
    if askers.is_empty() {
        askers.push(world.stranger);
    }
    if !world.asks_preconditions {
        return;
    }
    let mut hit: Vec<&str> = Vec::new();
    let mut statement = None;
    for at in askers {
        let Some(actor) = bench.actor(at) else { continue };
        let mut asker = world.asker(actor);
        for key in world.keys.iter().filter(|key| key.kind != Kind::Unexpected) {
            let arn = world.object(&key.state);
            let plain = asker.ask("s3:PutObject", &arn, Headers::Plain);
            if plain.verdict != Verdict::ExplicitlyDenied {
                continue;
            }
            let careful = asker.ask("s3:PutObject", &arn, Headers::IfNoneMatch);
            if !Can::of(world, actor, &careful).is_no() {
                hit.push(&key.state);
                if statement.is_none() {
                    statement = world.first_of(actor, &plain, PolicyKind::Resource);
                }
            }
        }
    }
    hit.sort_unstable();
    hit.dedup();
    if hit.is_empty() {
        return;
    }
    let message = format!("writes of {} fail: `If-None-Match` is asked of states, too", names(&hit));
    let help = "ask for `s3:if-none-match` on `*.tflock` only: a state is written without it";
    bench.bucket(say(rules::STATE_WRITE_NEEDS_IF_NONE_MATCH, message, help).at(statement));
}
