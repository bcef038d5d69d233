//! Rules about roles that take locks: do they have all that a run needs, and where is it missing?

use super::super::decision::{Decision, PolicyKind, Verdict};
use super::actor::Actor;
use super::asker::Headers;
use super::bench::{Bench, lock_names, names, say};
use super::docs::Place;
use super::keys::{Key, Kind};
use super::output::Part;
use super::rights::Can;
use super::rules;
use super::sets::uses_key;
use super::world::World;
use crate::severity::Severity;

/// All that a run does to a lock.
const LOCK_STEPS: [&str; 3] = ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"];

const GRANT: &str = "grant s3:GetObject, s3:PutObject and s3:DeleteObject on the state's key with `.tflock` appended, and \
                     on the same below each workspace";

/// What one role gets at one lock.
struct Steps {
    create: Decision,
    get: Decision,
    delete: Decision,
}

/// One lock and what the role gets there.
struct Trial<'k> {
    key: &'k Key,
    steps: &'k Steps,
    /// What it would get without a boundary and an organization's policies: what its own policies lack is said, whatever
    /// those forbid as well.
    own: &'k Steps,
    /// The role works with the state at all.
    uses_state: bool,
}

/// All of them.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    for (_, actor) in bench.lockers() {
        cross_account(bench, actor);
        if actor.assumed {
            continue;
        }
        let (class_of, limited_steps) = steps(world, actor);
        let free = Actor { scps: Some(Vec::new()), boundary: Place::Absent, ..actor.clone() };
        let (own_class_of, own_steps) = steps(world, &free);
        let uses = uses_states(world, actor);
        let keys = world.keys.iter().enumerate().filter(|(_, key)| key.kind != Kind::Unexpected);
        let trials: Vec<Trial<'_>> = keys
            .filter_map(|(at, key)| {
                let steps = limited_steps.get(usize::from(*class_of.get(at)?))?;
                let own = own_steps.get(usize::from(*own_class_of.get(at)?))?;
                Some(Trial { key, steps, own, uses_state: *uses.get(at)? })
            })
            .collect();
        lock_rights(bench, actor, &trials);
        limited(bench, actor, &trials);
        extras(bench, actor);
        key(bench, actor);
    }
    delete_version(bench);
}

/// For each lock its class, and for each class what the role gets.
fn steps(world: &World<'_>, actor: &Actor<'_>) -> (Vec<u16>, Vec<Steps>) {
    let mut asker = world.asker(actor);
    let (class_of, firsts) = world.lock_classes(actor);
    let arns = firsts.into_iter().filter_map(|first| world.lock_arns.get(first));
    let steps = arns.map(|arn| Steps {
        create: asker.ask("s3:PutObject", arn, Headers::IfNoneMatch),
        get: asker.ask("s3:GetObject", arn, Headers::Plain),
        delete: asker.ask("s3:DeleteObject", arn, Headers::Plain),
    });
    (class_of, steps.collect())
}

/// For each lock whether the role works with its state: a plan reads it, a run writes it.
pub(super) fn uses_states(world: &World<'_>, actor: &Actor<'_>) -> Vec<bool> {
    let action = if actor.part == Part::Plan { "s3:GetObject" } else { "s3:PutObject" };
    let mut asker = world.asker(actor);
    let (class_of, firsts) = world.state_classes(actor);
    let uses = firsts.into_iter().filter_map(|first| world.keys.get(first));
    let uses: Vec<bool> =
        uses.map(|key| may(&asker.ask(action, &world.object(&key.state), Headers::Plain))).collect();
    class_of.iter().map(|class| uses.get(usize::from(*class)).copied().unwrap_or_default()).collect()
}

/// Only the principal's own policies lack it: no Deny, no boundary, no other account's policy.
fn lacks(decision: &Decision) -> bool {
    decision.verdict == Verdict::ImplicitlyDenied && decision.withheld.contains(&PolicyKind::Identity)
}

fn may(decision: &Decision) -> bool {
    decision.verdict == Verdict::Allowed || decision.is_conditional()
}

fn who(actor: &Actor<'_>) -> String {
    match &actor.guess {
        Some(_) => format!("`{}` (it looks like a {})", actor.shown, actor.part.words()),
        None => format!("`{}`", actor.shown),
    }
}

fn lock_rights(bench: &mut Bench<'_, '_>, actor: &Actor<'_>, trials: &[Trial<'_>]) {
    let world = bench.world;
    let (mut none, mut stuck, mut unread, mut workspaces) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut seen = false;
    for trial in trials {
        let key = trial.key;
        if key.kind == Kind::Default && lacks(&trial.own.create) && trial.uses_state {
            none.push(key);
        }
        // A workspace's lock counts where the default workspace's works.
        let default = trials.iter().find(|other| other.key.of == key.of && other.key.kind == Kind::Default);
        let works = default.is_some_and(|default| may(&default.steps.create));
        if let Kind::Workspace { seen: by_name } = key.kind
            && works
            && lacks(&trial.own.create)
        {
            seen |= by_name;
            workspaces.push(key);
        }
        if may(&trial.steps.create) && lacks(&trial.own.delete) {
            stuck.push(key);
        }
        if may(&trial.steps.create) && lacks(&trial.own.get) {
            unread.push(key);
        }
    }
    let guessed = actor.guess.is_some();
    let (role, shown) = (who(actor), actor.shown.as_str());
    let mut add = |finding: super::output::AccessFinding| {
        bench.about(shown, finding.at_most_if(guessed, Severity::Medium));
    };
    if !none.is_empty() {
        let message = format!("{role} works with the state and has no rights on {}", lock_names(&none));
        add(say(rules::RUNNER_WITHOUT_LOCK_RIGHTS, message, GRANT));
    }
    if !stuck.is_empty() {
        let message =
            format!("{role} can create {} and not delete it: every run leaves a lock", lock_names(&stuck));
        add(say(rules::RUNNER_CANNOT_DELETE_LOCK, message, GRANT));
    }
    if !unread.is_empty() {
        let message = format!(
            "{role} can create {} and not read it: unlocking reads it first, and fails",
            lock_names(&unread)
        );
        add(say(rules::RUNNER_CANNOT_READ_LOCK, message, GRANT));
    }
    if !workspaces.is_empty() {
        let message =
            format!("{role} can't create {}, though it locks the default workspace", lock_names(&workspaces));
        let finding = say(rules::WORKSPACE_LOCKS_NOT_COVERED, message, GRANT);
        // Nobody has seen a workspace: this is about one that may come.
        let none_seen = workspaces.iter().all(|key| {
            let state = key.of.and_then(|of| world.input.states.get(of));
            state.is_some_and(|state| state.workspaces.is_some())
        });
        add(finding.at_most_if(none_seen && !seen, Severity::Low));
    }
}

/// A boundary or an organization's policy takes what the role's own policies give.
fn limited(bench: &mut Bench<'_, '_>, actor: &Actor<'_>, trials: &[Trial<'_>]) {
    const LIMITS: [PolicyKind; 3] = [PolicyKind::Boundary, PolicyKind::Scp, PolicyKind::Rcp];
    let world = bench.world;
    let mut hit: Vec<(&Key, &'static str, PolicyKind, Option<String>)> = Vec::new();
    for trial in trials {
        let (steps, own) = (trial.steps, trial.own);
        for (action, decision, own) in [
            ("create", &steps.create, &own.create),
            ("read", &steps.get, &own.get),
            ("delete", &steps.delete, &own.delete),
        ] {
            // The role itself would have to be allowed, else the limit takes nothing.
            if lacks(own) {
                continue;
            }
            let kind = match decision.verdict {
                Verdict::ImplicitlyDenied => {
                    decision.withheld.iter().copied().find(|kind| LIMITS.contains(kind))
                }
                Verdict::ExplicitlyDenied => {
                    let mut kinds = decision.statements.iter().map(|statement| statement.kind);
                    kinds.find(|kind| LIMITS.contains(kind))
                }
                _ => None,
            };
            if let Some(kind) = kind {
                hit.push((trial.key, action, kind, world.first_of(actor, decision, kind)));
            }
        }
    }
    let Some((_, _, kind, statement)) = hit.first() else { return };
    let mut actions: Vec<&str> = hit.iter().map(|(_, action, ..)| *action).collect();
    actions.sort_unstable();
    actions.dedup();
    let mut keys: Vec<&Key> = hit.iter().map(|(key, ..)| *key).collect();
    keys.dedup();
    let message = format!(
        "{} can't {} {}: {} takes it away",
        who(actor),
        actions.join(" or "),
        lock_names(&keys),
        match kind {
            PolicyKind::Boundary => "its permissions boundary",
            PolicyKind::Rcp => "a resource control policy",
            _ => "a service control policy",
        }
    );
    let help = "allow s3:GetObject, s3:PutObject and s3:DeleteObject on locks there, too: a boundary or an organization's \
                policy limits what the role's own policies grant";
    let finding = say(rules::RUNNER_LIMITED_BY_BOUNDARY, message, help).at(statement.clone());
    bench.about(&actor.shown, finding.at_most_if(actor.guess.is_some(), Severity::Medium));
}

/// Both accounts have to agree.
fn cross_account(bench: &mut Bench<'_, '_>, actor: &Actor<'_>) {
    let world = bench.world;
    if actor.account.is_none() || world.account.is_none() || actor.account.as_deref() == Some(&world.owner) {
        return;
    }
    let mut asker = world.asker(actor);
    let mut sides: Vec<(&Key, PolicyKind)> = Vec::new();
    let mut both = 0;
    for key in world.keys.iter().filter(|key| key.kind == Kind::Default) {
        for action in LOCK_STEPS {
            let headers = if action == "s3:PutObject" { Headers::IfNoneMatch } else { Headers::Plain };
            let decision = asker.ask(action, &world.object(&key.lock), headers);
            let one: Vec<PolicyKind> = decision
                .withheld
                .iter()
                .copied()
                .filter(|kind| matches!(kind, PolicyKind::Identity | PolicyKind::Resource))
                .collect();
            match (decision.verdict, one.as_slice()) {
                // Rights that are assumed say nothing of which states the role uses.
                (Verdict::ImplicitlyDenied, [side]) => sides.push((key, *side)),
                (Verdict::Allowed, _) => both += 1,
                _ => {}
            }
        }
    }
    // An assumed role has rights on everything: where the bucket's policy lets it at some lock, the others are not its.
    if sides.is_empty() || actor.assumed && both > 0 {
        return;
    }
    let lacking = sides.iter().any(|(_, side)| *side == PolicyKind::Resource);
    let mut keys: Vec<&Key> = sides.iter().map(|(key, _)| *key).collect();
    keys.dedup();
    let side =
        if lacking { "the bucket policy does not allow it" } else { "its own policies do not allow it" };
    let message = format!("{} belongs to another account, and for {} {side}", who(actor), lock_names(&keys));
    let help = "across accounts both sides must allow: name the role in an Allow of the bucket policy and grant the same \
                in the role's own policy";
    let finding = say(rules::CROSS_ACCOUNT_ONE_SIDED, message, help);
    bench.about(&actor.shown, finding.at_most_if(actor.guess.is_some(), Severity::Medium));
}

/// The lock is written with an ACL or with tags.
fn extras(bench: &mut Bench<'_, '_>, actor: &Actor<'_>) {
    let world = bench.world;
    let mut asker = world.asker(actor);
    let mut missing: Vec<(&str, &str)> = Vec::new();
    for key in world.keys.iter().filter(|key| key.kind == Kind::Default) {
        let Some(state) = key.of.and_then(|of| world.input.states.get(of)) else { continue };
        let arn = world.object(&key.lock);
        let create = asker.ask("s3:PutObject", &arn, Headers::IfNoneMatch);
        if !may(&create) {
            continue;
        }
        for (set, setting, action) in
            [(state.acl, "acl", "s3:PutObjectAcl"), (state.lock_tags, "lock_tags", "s3:PutObjectTagging")]
        {
            let mut refused = || {
                let decision = asker.ask(action, &arn, Headers::Plain);
                matches!(decision.verdict, Verdict::ImplicitlyDenied | Verdict::ExplicitlyDenied)
            };
            if set && refused() {
                missing.push((setting, action));
            }
        }
    }
    missing.sort_unstable();
    missing.dedup();
    for (setting, action) in missing {
        let message = format!("the backend sets `{setting}`, and {} has no {action} on the lock", who(actor));
        let help = "grant it on the `.tflock` keys, or take the setting out of the backend";
        bench.about(&actor.shown, say(rules::LOCK_TAGS_NOT_ALLOWED, message, help));
    }
}

/// The key that encrypts the lock.
fn key(bench: &mut Bench<'_, '_>, actor: &Actor<'_>) {
    let world = bench.world;
    let (Some(encrypts), Some(decrypts)) =
        (uses_key(world, actor, "GenerateDataKey"), uses_key(world, actor, "Decrypt"))
    else {
        return;
    };
    if !encrypts.is_real() || !decrypts.is_no() {
        return;
    }
    let arn = world.input.bucket.kms.as_ref().map(|key| key.arn).unwrap_or_default();
    let message = format!(
        "{} may call kms:GenerateDataKey and not kms:Decrypt with `{arn}`: it can't read its own lock",
        who(actor)
    );
    let help = "grant kms:Decrypt on the same key, in the role's policy or the key's policy";
    let finding = say(rules::RUNNER_CANNOT_DECRYPT_LOCK, message, help);
    bench.about(&actor.shown, finding.at_most_if(actor.guess.is_some(), Severity::Medium));
}

/// Without versions, S3 refuses a delete when either action is denied.
/// Source: `DeleteObject` in the API's reference.
fn delete_version(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    if world.input.bucket.versioning != super::input::Reading::Absent {
        return;
    }
    let mut hit: Vec<&str> = Vec::new();
    let mut statement = None;
    for (at, actor) in bench.lockers() {
        let mut asker = world.asker(actor);
        for (number, key) in world.keys.iter().enumerate() {
            let works = bench.rights(at, number).is_some_and(|rights| {
                !rights.delete.is_no() && rights.delete_version.is_no() && !matches!(rights.create, Can::No)
            });
            if !works {
                continue;
            }
            let arn = world.object(&key.lock);
            let decision = asker.ask("s3:DeleteObjectVersion", &arn, Headers::Plain);
            if decision.verdict == Verdict::ExplicitlyDenied
                && let Some(found) = world.first_of(actor, &decision, PolicyKind::Resource)
            {
                statement.get_or_insert(found);
                hit.push(actor.shown.as_str());
                break;
            }
        }
    }
    if hit.is_empty() {
        return;
    }
    let message = format!(
        "the bucket has no versions, and the bucket policy denies s3:DeleteObjectVersion to {}: S3 then refuses \
         s3:DeleteObject, too, and no lock is released",
        names(&hit)
    );
    let help = "exempt the same roles from both actions, or turn versioning on";
    bench.bucket(say(rules::UNVERSIONED_DELETE_VERSION_DENIED, message, help).at(statement));
}
