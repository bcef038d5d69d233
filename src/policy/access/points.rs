//! Rules about access points: do they lead around what the bucket's policy denies, or let everybody in?

use super::super::decision::PolicyKind;
use super::asker::Headers;
use super::bench::{Bench, condition_words, lock_names, names, say};
use super::keys::Key;
use super::output::Part;
use super::rights::{Can, Rights};
use super::rules;
use crate::severity::Severity;

/// One of the things that somebody can do with a lock.
type Right = fn(&Rights) -> Can;

/// What a lock is kept from, and the right that it takes.
const KINDS: [(&str, &str, Right); 2] =
    [("delete", "s3:DeleteObject", Rights::can_delete), ("overwrite", "s3:PutObject", Rights::can_overwrite)];

const HELP: &str = "take the exception for access points out of the bucket policy's Deny, or deny the same in the access \
                    point's policy";

/// Access points that lead around what the bucket's policy denies, or that are open to everybody.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    for number in 0..bench.world.points.len() {
        for (verb, action, can) in KINDS {
            around(bench, number, verb, action, can);
        }
        open(bench, number);
    }
}

fn around(bench: &mut Bench<'_, '_>, number: usize, verb: &str, action: &str, can: Right) {
    let world = bench.world;
    let (Some(point), Some(stranger), Some(row)) =
        (world.points.get(number), bench.actor(world.stranger), bench.row(world.stranger))
    else {
        return;
    };
    let mut asker = world.asker(stranger);
    let mut statement = None;
    let mut led: Vec<(&Key, Can)> = Vec::new();
    for (at, key) in world.keys.iter().enumerate() {
        let through = row.through(number, at).map(can).unwrap_or_default();
        if !through.is_real() || !row.rights(at).map(can).unwrap_or_default().is_no() {
            continue;
        }
        // What the organization denies by the bucket's ARN is another rule's.
        let direct = asker.ask(action, &world.object(&key.lock), Headers::Plain);
        if let Some(found) = world.first_of(stranger, &direct, PolicyKind::Resource) {
            statement.get_or_insert(found);
            led.push((key, through));
        }
    }
    let Some((_, first)) = led.first() else { return };
    let depends = condition_words(first);
    let keys: Vec<&Key> = led.iter().map(|(key, _)| *key).collect();
    let able = world.real().filter(|(at, actor)| {
        let through = |key| bench.row(*at).and_then(|row| row.through(number, key));
        // The root user is told where the sets are.
        let root = actor.arn.as_deref().is_some_and(|arn| arn.ends_with(":root"));
        actor.part == Part::Other
            && !root
            && (0..world.keys.len()).filter_map(through).any(|rights| can(rights).is_real())
    });
    let able: Vec<&str> = able.map(|(_, actor)| actor.shown.as_str()).collect();
    let now = if able.is_empty() { String::new() } else { format!(" (now {})", names(&able)) };
    let message = format!(
        "the bucket policy keeps others from being able to {verb} {}, and not through access point `{}`: every \
         principal whose own policies allow it may{now}{depends}",
        lock_names(&keys),
        point.input.name
    );
    bench.bucket(say(rules::ACCESS_POINT_OPENS_LOCKS, message, HELP).at(statement));
}

/// The access point's policy and the bucket's together let everybody in.
fn open(bench: &mut Bench<'_, '_>, number: usize) {
    let world = bench.world;
    let Some(point) = world.points.get(number) else { return };
    for (at, who) in [(world.anonymous, "anonymous callers"), (world.foreign, "principals of any account")] {
        let Some(row) = bench.row(at) else { continue };
        let mut verbs: Vec<&str> = Vec::new();
        let mut keys: Vec<&Key> = Vec::new();
        let kinds = KINDS.map(|(verb, _, can)| (verb, can));
        for (verb, can) in kinds.into_iter().chain([("create", Rights::can_create as Right)]) {
            for (number_of_key, key) in world.keys.iter().enumerate() {
                let direct = row.rights(number_of_key).map(can).unwrap_or_default();
                let through = row.through(number, number_of_key).map(can).unwrap_or_default();
                if direct.is_no() && through == Can::Yes {
                    verbs.push(verb);
                    keys.push(key);
                }
            }
        }
        verbs.dedup();
        keys.sort_by(|a, b| a.lock.cmp(&b.lock));
        keys.dedup();
        if verbs.is_empty() {
            continue;
        }
        let message = format!(
            "{who} can {} {} through access point `{}`",
            verbs.join(" and "),
            lock_names(&keys),
            point.input.name
        );
        let help = "name principals in the access point's policy, and turn its public access block on";
        bench.bucket(say(rules::ACCESS_POINT_OPENS_LOCKS, message, help).rated(Severity::Critical));
        // Who is nobody is anybody, too.
        return;
    }
}
