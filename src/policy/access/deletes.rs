//! Rules about who may delete a lock: does the bucket's policy keep out somebody who may do everything else?

use super::super::decision::PolicyKind;
use super::asker::Headers;
use super::bench::{Bench, condition_words, lock_names, names, say};
use super::keys::{Key, Kind};
use super::output::Part;
use super::rights::{Can, Rights};
use super::rules;
use super::runners::uses_states;
use super::shape::{Asked, Shape};
use super::world::BUCKET_POLICY;
use crate::severity::Severity;

const DELETE: &str = "s3:deleteobject";

const LIMIT: &str = "deny s3:DeleteObject and s3:DeleteObjectVersion on `*.tflock` to everybody whose \
                     `aws:PrincipalArn` is not one of your runner, plan and break-glass roles (ArnNotLike)";

/// All of them. Nothing is said where the bucket's policy is not known.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    let stranger = bench.world.stranger;
    let deletes = bench.keys(stranger, Rights::can_delete);
    let open: Vec<&Key> = deletes.iter().filter(|(_, can)| can.is_real()).map(|(key, _)| *key).collect();
    let closed = deletes.iter().any(|(_, can)| can.is_no());
    if open.is_empty() {
        versions(bench);
    } else if closed {
        misses_keys(bench, &open);
    }
    if !open.is_empty() && !explain(bench, &open) && !closed {
        let who = others(bench);
        let message =
            format!("no policy limits who may delete locks: every principal with s3:DeleteObject may{who}");
        bench.bucket(say(rules::LOCK_DELETE_UNLIMITED, message, LIMIT));
    }
    if open.is_empty() && closed {
        exempt_others(bench);
        no_break_glass(bench);
    }
}

/// Principals without a part that can delete the first lock.
fn others(bench: &Bench<'_, '_>) -> String {
    let real = bench.world.real().filter(|(_, actor)| {
        actor.part == Part::Other && !actor.arn.as_deref().is_some_and(|arn| arn.ends_with(":root"))
    });
    let able = real.filter(|(at, _)| bench.all_rights(*at).any(|rights| rights.can_delete().is_real()));
    let able: Vec<&str> = able.map(|(_, actor)| actor.shown.as_str()).collect();
    if able.is_empty() { String::new() } else { format!(" (now {})", names(&able)) }
}

fn misses_keys(bench: &mut Bench<'_, '_>, open: &[&Key]) {
    let expected: Vec<&Key> = open.iter().copied().filter(|key| key.kind != Kind::Unexpected).collect();
    let statement = bench.world.statements().find(|shape| shape.limits_callers(DELETE));
    let statement = statement.map(|shape| shape.reference(BUCKET_POLICY));
    let message = if expected.is_empty() {
        "deleting locks is limited for the expected states only: a state at another key would have an open lock"
            .to_owned()
    } else {
        format!("deleting locks is limited, but not for {}", lock_names(open))
    };
    let help = "name `*.tflock` in the Deny: `*` matches slashes and workspaces, too";
    let finding = say(rules::LOCK_DELETE_LIMIT_MISSES_KEYS, message, help).at(statement);
    bench.bucket(finding.at_most_if(expected.is_empty(), Severity::Low));
}

/// Deleting is limited; deleting versions may not be.
fn versions(bench: &mut Bench<'_, '_>) {
    let versions = bench.keys(bench.world.stranger, |rights| rights.delete_version.clone());
    let open: Vec<&Key> = versions.iter().filter(|(_, can)| can.is_real()).map(|(key, _)| *key).collect();
    if open.is_empty() {
        return;
    }
    let statement = bench.world.statements().find(|shape| shape.limits_callers(DELETE));
    let statement = statement.map(|shape| shape.reference(BUCKET_POLICY));
    let message = format!(
        "s3:DeleteObject is limited and s3:DeleteObjectVersion is not, for {}: it removes a lock for good, or the \
         delete marker above an old one",
        lock_names(&open)
    );
    bench.bucket(say(rules::LOCK_DELETE_VERSION_UNLIMITED, message, LIMIT).at(statement));
}

/// Why a Deny does not keep a stranger out. True when some statement explains it.
fn explain(bench: &mut Bench<'_, '_>, open: &[&Key]) -> bool {
    let world = bench.world;
    let mut explained = false;
    for shape in world.statements().filter(|shape| shape.deny && shape.about_action(DELETE)) {
        let about: Vec<&Key> =
            open.iter().copied().filter(|key| shape.about_resource(&world.object(&key.lock))).collect();
        if about.is_empty() || shape.has_not_principal || shape.is_about_preconditions() {
            continue;
        }
        let message = |why: String| format!("{why}, so others can delete {}", lock_names(&about));
        let Some((rule, why)) = weakness(bench, shape) else { continue };
        explained = true;
        let statement = shape.reference(BUCKET_POLICY);
        let can = bench.keys(world.stranger, Rights::can_delete);
        let can = can.iter().find(|(key, _)| about.contains(key)).map(|(_, can)| condition_words(can));
        let message = format!("{}{}", message(why), can.unwrap_or_default());
        bench.bucket(say(rule, message, LIMIT).at(Some(statement)));
    }
    explained
}

/// What lets a stranger through.
fn weakness(bench: &Bench<'_, '_>, shape: &Shape) -> Option<(rules::AccessRule, String)> {
    if !shape.everyone {
        let who = names(&shape.principals);
        return Some((rules::LOCK_DELETE_DENY_LIST, format!("the Deny is for {who} only")));
    }
    let asked: Vec<&Asked> = shape.conditions.iter().filter(|asked| !asked.is_manner()).collect();
    let negated: Vec<&&Asked> = asked.iter().filter(|asked| asked.negated()).collect();
    let mut names_of: Vec<&str> = negated.iter().map(|asked| asked.name.as_str()).collect();
    names_of.sort_unstable();
    names_of.dedup();
    if names_of.len() > 1 {
        let keys: Vec<&str> = negated.iter().map(|asked| asked.key.as_str()).collect();
        let why = format!("{} are negated in one Deny: matching either one escapes it", names(&keys));
        return Some((rules::LOCK_DELETE_CONDITIONS_COMBINED, why));
    }
    // What is asked of the principal itself says more than the rest.
    let mut found: Option<(u8, (rules::AccessRule, String))> = None;
    for asked in asked {
        let (weight, rule, why) = one_weakness(bench, asked);
        if found.as_ref().is_none_or(|(known, _)| weight < *known) {
            found = Some((weight, (rule, why)));
        }
    }
    found.map(|(_, found)| found)
}

fn one_weakness(bench: &Bench<'_, '_>, asked: &Asked) -> (u8, rules::AccessRule, String) {
    let words = asked.words();
    if asked.names_principal() {
        if !asked.negated() {
            let why = format!("{words} denies named principals, not all but named ones");
            return (0, rules::LOCK_DELETE_DENY_LIST, why);
        }
        let arn =
            bench.actor(bench.world.stranger).and_then(|actor| actor.arn.as_deref()).unwrap_or_default();
        let glob = |value: &&String| super::shape::Pattern::new(value).matches(arn);
        let wide: Vec<&String> = asked.values.iter().filter(glob).collect();
        return (0, rules::LOCK_DELETE_EXEMPTION_BROAD, format!("{words} exempts {}", names(&wide)));
    }
    if asked.is_tag() {
        let why = format!("{words} exempts whoever has a tag");
        return (1, rules::LOCK_DELETE_EXEMPTION_BY_TAG, why);
    }
    let skippable = asked.for_all || !asked.negated() && !asked.if_exists && asked.base != "null";
    if skippable {
        let why = format!("{words} does not hold for requests without that key, and the Deny is skipped");
        return (2, rules::CONDITION_SKIPPABLE, why);
    }
    let why = format!("{words} exempts a network, an organization or a way to sign in, not a role");
    (3, rules::LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL, why)
}

/// The limit holds, and lets somebody through who is none of the configured roles.
fn exempt_others(bench: &mut Bench<'_, '_>) {
    if bench.world.input.roles.name_no_runner() {
        return;
    }
    let real = bench.world.real().filter(|(_, actor)| actor.part == Part::Other);
    let able = real.filter(|(at, actor)| {
        let root = actor.arn.as_deref().is_some_and(|arn| arn.ends_with(":root"));
        !root && bench.all_rights(*at).any(|rights| rights.can_delete() == Can::Yes)
    });
    let able: Vec<&str> = able.map(|(_, actor)| actor.shown.as_str()).collect();
    if able.is_empty() {
        return;
    }
    let message = format!(
        "the limit on deleting locks exempts {}, which the configuration gives no part",
        names(&able)
    );
    let help =
        "take it out of the Deny's exemptions, or name it in the configuration if it must release locks";
    bench.bucket(say(rules::LOCK_DELETE_EXEMPTION_BROAD, message, help));
}

/// Deleting is limited, and nobody is there for emergencies.
fn no_break_glass(bench: &mut Bench<'_, '_>) {
    let mut parts = bench.world.real().filter(|(_, actor)| actor.part == Part::BreakGlass);
    let able = parts.any(|(at, _)| bench.all_rights(at).any(|rights| !rights.can_delete().is_no()));
    if able {
        return;
    }
    let message =
        "deleting locks is limited, and no break-glass role may do it: when the runners are gone, somebody who may \
         still change the bucket's policy has to open it before a lock can be freed; at worst that is the account's root \
         user alone"
            .to_owned();
    let help = "make a role that few people can take, exempt it in the Deny, and name it as `break_glass`";
    bench.bucket(say(rules::NO_BREAK_GLASS_ROLE, message, help));
}

/// The bucket's policy, by its Deny, stops a role that must release locks.
pub(super) fn denied_roles(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let real: Vec<usize> = world
        .real()
        .filter(|(_, actor)| matches!(actor.part, Part::Runner | Part::Plan | Part::BreakGlass))
        .map(|(at, _)| at)
        .collect();
    for at in real {
        let Some(actor) = bench.actor(at) else { continue };
        let emergency = actor.part == Part::BreakGlass;
        let mut asker = world.asker(actor);
        let mut stopped: Vec<&Key> = Vec::new();
        let mut asks_match: Vec<&Key> = Vec::new();
        let mut blind: Vec<&Key> = Vec::new();
        let mut statement = None;
        let mut not_created: Vec<&Key> = Vec::new();
        let mut not_created_by = None;
        let uses = uses_states(world, actor);
        for (number, key) in world.keys.iter().enumerate() {
            let Some(rights) = bench.rights(at, number) else { continue };
            if emergency && rights.delete == Can::Yes {
                blind.push(key);
            }
            if !emergency && rights.create.is_no() {
                // A role has no business with locks of states that it does not work with.
                if !uses.get(number).copied().unwrap_or_default() {
                    continue;
                }
                let create = asker.ask("s3:PutObject", &world.object(&key.lock), Headers::IfNoneMatch);
                if let Some(found) = world.first_of(actor, &create, PolicyKind::Resource) {
                    not_created_by.get_or_insert(found);
                    not_created.push(key);
                }
            }
            if !rights.delete.is_no() || emergency && !rights.delete_match.is_no() {
                continue;
            }
            let decision = asker.ask("s3:DeleteObject", &world.object(&key.lock), Headers::Plain);
            let Some(found) = world.first_of(actor, &decision, PolicyKind::Resource) else { continue };
            statement.get_or_insert(found);
            if rights.delete_match.is_no() { stopped.push(key) } else { asks_match.push(key) }
        }
        let (shown, words) = (actor.shown.clone(), actor.part.words());
        let guessed = actor.guess.is_some();
        let taken = if guessed { "looks like a" } else { "is a" };
        if !not_created.is_empty() {
            let message = format!(
                "`{shown}` {taken} {words} and the bucket policy denies it to create {}",
                lock_names(&not_created)
            );
            let help = "add the role's ARN, with its path, to the exemptions of that Deny";
            let finding = say(rules::RUNNER_WITHOUT_LOCK_RIGHTS, message, help).at(not_created_by);
            bench.about(&shown, finding.at_most_if(guessed, Severity::Medium));
        }
        if !stopped.is_empty() {
            let message = format!(
                "`{shown}` {taken} {words} and the bucket policy denies it to delete {}",
                lock_names(&stopped)
            );
            let help = "add the role's ARN, with its path, to the exemptions of that Deny";
            let finding = say(rules::LOCK_DELETE_DENIES_RUNNER, message, help).at(statement.clone());
            bench.about(&shown, finding.at_most_if(guessed, Severity::Medium));
        }
        if !asks_match.is_empty() {
            let message = format!(
                "`{shown}` {taken} {words} and may delete {} only with `If-Match`, which Terraform and OpenTofu never \
                 send",
                lock_names(&asks_match)
            );
            let help = "ask for `s3:if-match` of the break-glass role only (ArnLike aws:PrincipalArn in the same Deny)";
            let finding = say(rules::UNLOCK_NEEDS_IF_MATCH, message, help).at(statement);
            bench.about(&shown, finding.at_most_if(guessed, Severity::Medium));
        }
        if !blind.is_empty() {
            let message = format!(
                "`{shown}` may delete {} without `If-Match`: it can remove a newer lock than the one it looked at",
                lock_names(&blind)
            );
            let help =
                "deny s3:DeleteObject to that role when `s3:if-match` is null; `lockshift unlock` sends it";
            bench.about(&shown, say(rules::BREAK_GLASS_DELETES_BLINDLY, message, help));
        }
    }
}
