//! Rules about the locks on a state that hold in every lock mode: stale ones, unreadable ones, two at once.

use super::case::{CLOCK_TOLERANCE, Case, Held};
use super::commands;
use super::lock_finding::{READING, blocks, ids_differ, is_older, is_settled, owner, releasable, since};
use super::world::World;
use crate::audit::lock_info::{LockBody, LockInfo};
use crate::audit::outcome::AuditFinding;
use crate::finding::Severity;
use crate::moment::in_words;
use crate::rules::audit_locks as rules;

/// All that can be said about the locks on one state, whatever its mode.
pub(super) fn judge(world: &World<'_>, case: &Case<'_>, findings: &mut Vec<AuditFinding>) {
    if case.held().next().is_none() {
        return;
    }
    findings.extend(stale(world, case));
    findings.extend(case.held().filter_map(|held| unreadable(world, case, held)));
    findings.extend(two_at_once(world, case));
    findings.extend(path_mismatch(case));
    findings.extend(without_state(case));
    findings.extend(unknown_state(world, case));
    findings.extend(after_last_write(case));
    findings.extend(from_the_future(world, case));
}

fn stale(world: &World<'_>, case: &Case<'_>) -> Option<AuditFinding> {
    let oldest = case.held().filter(|held| case.is_stale(held)).max_by_key(|held| held.age(world.now))?;
    // The other store may hold somebody else's lock, and a young one.
    let stores: Vec<String> = case
        .held()
        .filter(|held| held.is_same(oldest) && case.is_stale(held))
        .map(|held| format!("in {}", held.store()))
        .collect();
    let alone = !case.states.is_empty() && (case.s3.is_free() || case.dynamodb.is_free());
    let alone = if alone { " alone" } else { "" };
    let message =
        format!("locked{} by {}, {}{alone}", since(oldest, world.now), owner(oldest), stores.join(" and "));
    let mut finding = releasable(case, &rules::LOCK_STALE, message, Some(oldest));
    finding.consequence = Some(blocks(case));
    if let Some(taken) = case.taken_lately(oldest) {
        finding.severity = Severity::Medium;
        finding.message.push_str(&format!("; but S3 took the lock in only {} ago", in_words(taken)));
    }
    Some(finding)
}

fn unreadable(world: &World<'_>, case: &Case<'_>, held: &Held<'_>) -> Option<AuditFinding> {
    let why = held.unreadable()?;
    let store = held.store();
    let message = format!("the lock in {store}{} can't be read: {why}", since(held, world.now));
    let mut finding = case.finding(&rules::LOCK_UNREADABLE, message);
    finding.commands = commands::release(case, Some(held));
    if let Some(LockBody::Unread { .. }) = held.body {
        // A healthy lock that this auditor may not read looks the same, until it is old.
        if !case.is_stale(held) {
            finding.severity = Severity::Medium;
        }
        finding.help = Some(
            "let the auditor read it (kms:Decrypt, s3:GetObject on `*.tflock`); with SSE-C only holders of the key can"
                .to_owned(),
        );
        finding.consequence =
            Some("whoever can't read it can't say whose it is, and Terraform can't release it".to_owned());
        return Some(finding);
    }
    finding.help = Some(
        "no Terraform or OpenTofu writes such a lock: find out what did, then delete it on condition"
            .to_owned(),
    );
    finding.consequence =
        Some("it stops every run that looks there, and `force-unlock` can't remove it".to_owned());
    finding.commands.extend(commands::delete_unreadable(case, held));
    Some(finding)
}

/// Two locks on one state: by two people who are both at work it is the worst that can be found.
fn two_at_once(world: &World<'_>, case: &Case<'_>) -> Option<AuditFinding> {
    if !ids_differ(case) {
        return None;
    }
    let (s3, item) = (case.s3.held()?, case.dynamodb.held()?);
    // One lock can be released and the next be taken while the stores are read.
    let certain = is_settled(s3) && is_settled(item)
        || is_older(s3, world.now, READING) && is_older(item, world.now, READING);
    let who = |held: &Held<'_>| held.lock().map(|lock| lock.who.as_str()).unwrap_or_default().to_owned();
    let alive = !case.is_stale(s3) && !case.is_stale(item);
    let says = format!(
        "in S3 by {}{}, in {} by {}{}",
        owner(s3),
        since(s3, world.now),
        item.store(),
        owner(item),
        since(item, world.now)
    );
    if certain && alive && who(s3) != who(item) {
        let message = format!("two runs hold it at once: {says}");
        let mut finding = releasable(case, &rules::TWO_WRITERS, message, None);
        finding.help = Some(
            "stop both runs, look which of the two wrote last (the state's versions), and reconcile before anybody \
             applies again; then bring both clients to the same lock mode"
                .to_owned(),
        );
        finding.consequence = Some("the one that writes last undoes what the other wrote".to_owned());
        return Some(finding);
    }
    // Where one was left behind, the other is not to be touched.
    let left = [s3, item].into_iter().find(|held| case.is_stale(held));
    let left = left.filter(|_| case.is_stale(s3) != case.is_stale(item));
    let message = format!("the two stores hold different locks: {says}");
    let mut finding = releasable(case, &rules::LOCK_IDS_DIFFER, message, left);
    finding.consequence = Some(
        "clients that look at one store alone don't exclude each other; `force-unlock` with either ID exits with 1"
            .to_owned(),
    );
    if !certain {
        finding.severity = Severity::Medium;
        finding.help =
            Some("this was seen once, and one lock may have followed the other: look again".to_owned());
    }
    Some(finding)
}

fn path_mismatch(case: &Case<'_>) -> Option<AuditFinding> {
    let other =
        case.held().find_map(|held| held.lock().filter(|_| !case.is_own(held)).map(|lock| (held, lock)));
    let (held, lock) = other?;
    let says = match lock.path.as_str() {
        "" => "says of no state that it is its lock".to_owned(),
        path => format!("says that it is the lock of `{path}`"),
    };
    let message = format!("the lock in {} {says}", held.store());
    let mut finding = releasable(case, &rules::LOCK_PATH_MISMATCH, message, Some(held));
    finding.help = Some(
        "a copied or restored bucket brings its locks along: if nobody works here, delete it".to_owned(),
    );
    finding.consequence = Some(blocks(case));
    Some(finding)
}

fn without_state(case: &Case<'_>) -> Option<AuditFinding> {
    if case.exists() != Some(false) {
        return None;
    }
    let stale = case.held().any(|held| case.is_stale(held));
    let message =
        "it is locked, and there is no such state: a first apply, or a deleted workspace".to_owned();
    let finding = releasable(case, &rules::LOCK_WITHOUT_STATE, message, None);
    let severity = if stale { Severity::Low } else { Severity::Info };
    Some(AuditFinding { severity, ..finding })
}

fn unknown_state(world: &World<'_>, case: &Case<'_>) -> Option<AuditFinding> {
    if !world.has_repository() || !case.states.is_empty() {
        return None;
    }
    let held = case.held().next()?;
    let message = format!("locked by {}, and no repository that was read names this state", owner(held));
    let mut finding = case.finding(&rules::LOCK_OF_UNKNOWN_STATE, message);
    finding.help = Some(match world.expected.unplaced.len() {
        0 => "find the repository that runs it, and audit it as well: its clients need the migration, too"
            .to_owned(),
        n => format!(
            "{n} backends can't be placed: it may be one of these; else find the repository that runs it"
        ),
    });
    finding.commands = commands::release(case, None);
    Some(finding)
}

/// A run died while it held the lock, and the state was not written since. A plan has nothing to write.
fn after_last_write(case: &Case<'_>) -> Option<AuditFinding> {
    let written = case.state()?.last_modified;
    let lost = |held: &&Held<'_>| {
        let plan = held.lock().is_some_and(|lock| lock.operation == "OperationTypePlan");
        // S3's own clock is the better one: it is the one that dates the state.
        let taken = held.stored().or(held.lock().and_then(LockInfo::created_at));
        // S3 dates states in whole seconds.
        case.is_stale(held)
            && case.taken_lately(held).is_none()
            && !plan
            && taken.is_some_and(|taken| taken.seconds() > written.seconds())
    };
    let held = case.held().find(lost)?;
    let message = format!(
        "{} took the lock after the state's last write ({written}) and wrote nothing since: its changes may be missing",
        owner(held)
    );
    let mut finding = releasable(case, &rules::LOCK_AFTER_LAST_WRITE, message, Some(held));
    finding.help = Some(
        "before you release it: look for an `errored.tfstate` where it ran, and import what it made"
            .to_owned(),
    );
    finding.consequence =
        Some("the next apply does not know what that run made, and makes it again or fails".to_owned());
    Some(finding)
}

fn from_the_future(world: &World<'_>, case: &Case<'_>) -> Option<AuditFinding> {
    let limit = world.now.after(CLOCK_TOLERANCE);
    let (held, at) = case.held().find_map(|held| {
        let at = held.lock().and_then(LockInfo::created_at).filter(|at| *at > limit)?;
        Some((held, at))
    })?;
    let message = format!("the lock of {} was made at {at}, which has not come yet", owner(held));
    let mut finding = case.finding(&rules::LOCK_FROM_THE_FUTURE, message);
    finding.help = Some("set the clock of the machine that took it".to_owned());
    finding.consequence =
        Some("its age can't be told, so it may never count as stale in the table".to_owned());
    Some(finding)
}
