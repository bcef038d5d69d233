//! The proof that S3 locking is in use: in a versioned bucket every lock and unlock left a trace, and every write of a
//! state must lie inside a lock.
//!
//! S3 dates versions in whole seconds, so both ends of a lock count as inside. What the listing could not show is never
//! taken for absent: then the verdict is `not-provable`, with the reason.

use std::collections::BTreeSet;
use std::time::Duration;

use super::bucket::hits_lock_of;
use super::case::Case;
use super::world::World;
use crate::audit::lock_info::{LockBody, LockInfo};
use crate::audit::outcome::{AuditFinding, Coverage, HeldLock, OutsideWrite, Trace, TracedWrite};
use crate::audit::snapshot::{BucketSnapshot, LOCK_SUFFIX, LockInterval, Read, StateHistory, StateWrite};
use crate::finding::Severity;
use crate::moment::{Moment, in_words};
use crate::repo::inventory::LockMode;
use crate::rules::audit_coverage as rules;

/// The version of an object that was written while its bucket kept none.
const NULL_VERSION: &str = "null";

/// Judges one state's writes.
pub(super) fn judge(world: &World<'_>, case: &Case<'_>, findings: &mut Vec<AuditFinding>) -> Coverage {
    let coverage = cover(world, case);
    if coverage.verdict == "contradicted" {
        findings.extend(contradicted(case, &coverage));
    }
    let none = StateHistory::default();
    let history = case.bucket.and_then(|bucket| bucket.history.get(case.path)).unwrap_or(&none);
    findings.extend(overwritten(world, case, history));
    coverage
}

fn cover(world: &World<'_>, case: &Case<'_>) -> Coverage {
    let Some(bucket) = case.bucket else { return not_provable("its bucket was not read") };
    if !bucket.covers(case.path) || !bucket.covers(&format!("{}{LOCK_SUFFIX}", case.path)) {
        return not_provable("the listing of its bucket did not come to its end, or did not cover it");
    }
    match &bucket.versioning {
        Read::Known(versioning) if versioning == "Enabled" => {}
        Read::Known(versioning) if versioning == "Suspended" => {
            return not_provable("versioning is suspended, so locks leave no trace");
        }
        Read::Known(_) | Read::Absent => {
            return not_provable("the bucket keeps no versions, so locks leave no trace");
        }
        Read::NotAsked | Read::Failed(_) => {
            return not_provable("whether the bucket keeps versions is not known");
        }
    }
    let none = StateHistory::default();
    weigh(world, case, bucket, bucket.history.get(case.path).unwrap_or(&none))
}

fn weigh(world: &World<'_>, case: &Case<'_>, bucket: &BucketSnapshot, history: &StateHistory) -> Coverage {
    let window = world.now.before(world.options.window);
    let seen_from = history_from(world, bucket, case.path);
    let begin = seen_from.map_or(window, |from| from.max(window));
    let current = case.s3.held().and_then(|held| Some((held.stored()?, held.lock())));
    let held: Vec<&LockInterval> = history
        .locks
        .iter()
        .filter(|held| held.to.is_none_or(|to| to.seconds() >= begin.seconds()))
        .collect();
    let is_new = !held.iter().any(|held| held.to.is_none());
    let mut spans: Vec<(i64, i64)> = held
        .iter()
        .map(|held| (held.from.seconds(), held.to.map_or(i64::MAX, Moment::seconds)))
        .chain(current.filter(|_| is_new).map(|(from, _)| (from.seconds(), i64::MAX)))
        .collect();
    spans.sort_unstable();

    let in_window = history.writes.iter().filter(|write| write.at.seconds() >= begin.seconds());
    let (dated, undated): (Vec<&StateWrite>, Vec<&StateWrite>) =
        in_window.partition(|write| write.version_id != NULL_VERSION);
    let outside = outside(&spans, &dated);
    let documents = held.iter().filter_map(|held| held.body.as_ref()).filter_map(LockBody::lock);
    let documents: Vec<&LockInfo> =
        documents.chain(current.filter(|_| is_new).and_then(|(_, lock)| lock)).collect();
    let coverage = Coverage {
        verdict: String::new(),
        reason: None,
        since: Some(begin),
        writes: dated.len(),
        intervals: spans.len(),
        outside,
        who: distinct(&documents, |lock| &lock.who),
        operations: distinct(&documents, |lock| &lock.operation),
        versions: distinct(&documents, |lock| &lock.version),
        trace: Trace::default(),
    };
    let taken = current.filter(|_| is_new);
    let coverage = Coverage { trace: trace(&held, taken, &dated, &coverage.outside), ..coverage };
    let unlisted = case.state().is_some_and(|state| {
        let at = state.last_modified.seconds();
        at >= begin.seconds() && !history.writes.iter().any(|write| write.at.seconds() == at)
    });
    let reason = if !coverage.outside.is_empty() {
        None
    } else if !undated.is_empty() {
        Some("it was written before the bucket kept versions, when locks left no trace".to_owned())
    } else if unlisted {
        Some("its versions were not listed".to_owned())
    } else if begin > window {
        Some(format!(
            "versions are only to be seen since {begin}, and the window is {}",
            in_words(world.options.window)
        ))
    } else {
        match &bucket.lifecycle {
            Read::Known(_) | Read::Absent => None,
            Read::NotAsked | Read::Failed(_) => {
                Some("the bucket's lifecycle rules are not known: versions may have expired".to_owned())
            }
        }
    };
    let verdict = match (&reason, coverage.outside.is_empty(), coverage.writes) {
        (_, false, _) => "contradicted",
        (Some(_), ..) => "not-provable",
        (None, _, 0) => "no-writes-seen",
        (None, ..) => "proven",
    };
    Coverage { verdict: verdict.to_owned(), reason, ..coverage }
}

/// Locks and writes for drawing: the newest, and of the writes first those outside of any lock.
fn trace(
    held: &[&LockInterval],
    taken: Option<(Moment, Option<&LockInfo>)>,
    writes: &[&StateWrite],
    outside: &[OutsideWrite],
) -> Trace {
    let who = |lock: &LockInfo| (!lock.who.is_empty()).then(|| lock.who.clone());
    let mut locks: Vec<HeldLock> = held
        .iter()
        .map(|held| HeldLock {
            from: held.from,
            to: held.to,
            who: held.body.as_ref().and_then(LockBody::lock).and_then(who),
            overwritten: held.overwritten,
        })
        .chain(taken.map(|(from, lock)| HeldLock {
            from,
            to: None,
            who: lock.and_then(who),
            overwritten: false,
        }))
        .collect();
    locks.sort_by_key(|lock| (lock.from, lock.to.is_none(), lock.to));
    let more_locks = locks.len().saturating_sub(Trace::MOST);
    locks.drain(..more_locks);

    let outside: BTreeSet<(Moment, &str)> =
        outside.iter().map(|write| (write.at, write.version_id.as_str())).collect();
    let mut traced: Vec<TracedWrite> = writes
        .iter()
        .map(|write| TracedWrite {
            at: write.at,
            version_id: write.version_id.clone(),
            outside: outside.contains(&(write.at, write.version_id.as_str())),
        })
        .collect();
    traced.sort_by(|a, b| (b.outside, b.at, &b.version_id).cmp(&(a.outside, a.at, &a.version_id)));
    let more_writes = traced.len().saturating_sub(Trace::MOST);
    traced.truncate(Trace::MOST);
    traced.sort_by(|a, b| (a.at, &a.version_id).cmp(&(b.at, &b.version_id)));
    Trace { locks, more_locks, writes: traced, more_writes }
}

/// Writes that no span covers. Both lists are in order, so one pass is enough: a write is inside if any lock that began
/// before it ends after it.
fn outside(spans: &[(i64, i64)], writes: &[&StateWrite]) -> Vec<OutsideWrite> {
    let mut spans = spans.iter().peekable();
    let mut held_until = i64::MIN;
    let mut outside = Vec::new();
    for write in writes {
        let at = write.at.seconds();
        while let Some((_, to)) = spans.next_if(|(from, _)| *from <= at) {
            held_until = held_until.max(*to);
        }
        if held_until < at {
            outside.push(OutsideWrite { at: write.at, version_id: write.version_id.clone() });
        }
    }
    outside
}

/// From when on old lock versions are to be seen: a lifecycle rule may remove those of locks alone, by prefix or size.
fn history_from(world: &World<'_>, bucket: &BucketSnapshot, path: &str) -> Option<Moment> {
    let rules = bucket.lifecycle.known().into_iter().flatten();
    let days = rules.filter(|rule| hits_lock_of(rule, path)).filter_map(|rule| rule.noncurrent_days).min();
    let kept = days.map(|days| world.now.before(Duration::from_secs(u64::from(days) * 86_400)));
    bucket.history_from.max(kept)
}

fn distinct(documents: &[&LockInfo], field: impl Fn(&LockInfo) -> &str) -> Vec<String> {
    let texts: BTreeSet<&str> =
        documents.iter().map(|lock| field(lock)).filter(|text| !text.is_empty()).collect();
    texts.into_iter().map(str::to_owned).collect()
}

fn not_provable(why: &str) -> Coverage {
    Coverage { verdict: "not-provable".to_owned(), reason: Some(why.to_owned()), ..Coverage::default() }
}

/// Where only the table is locked, or nothing, writes outside of S3 locks are what one expects.
fn contradicted(case: &Case<'_>, coverage: &Coverage) -> Option<AuditFinding> {
    let (severity, consequence) = match case.mode {
        LockMode::Dynamodb | LockMode::None => return None,
        LockMode::Lockfile => (
            Severity::Critical,
            "that client and the migrated ones don't exclude each other: one of two writes is lost",
        ),
        // Nobody ever locked here in S3, and nobody says that anybody should.
        LockMode::Unknown if coverage.intervals == 0 => {
            (Severity::Low, "whoever locks this state in S3 is not protected from that client")
        }
        LockMode::Dual | LockMode::Unknown => (
            Severity::High,
            "once the table goes, that client and the migrated ones don't exclude each other: one of two writes is lost",
        ),
    };
    const SHOWN: usize = 10;
    let shown = coverage.outside.iter().take(SHOWN);
    let mut writes: Vec<String> =
        shown.map(|write| format!("{} (version {})", write.at, write.version_id)).collect();
    if let Some(more) = coverage.outside.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        writes.push(format!("and {more} more"));
    }
    let message = format!(
        "{} of {} writes since {} lay outside of every S3 lock: {}",
        coverage.outside.len(),
        coverage.writes,
        coverage.since.unwrap_or_default(),
        writes.join(", ")
    );
    let finding = case.finding(&rules::COVERAGE_CONTRADICTED, message);
    let help = "find who wrote then (CloudTrail data events, pipeline logs): a branch that was not rebased, a laptop, \
                `-lock=false`, `state push`; bring that client to the dual phase";
    Some(AuditFinding {
        severity,
        help: Some(help.to_owned()),
        consequence: Some(consequence.to_owned()),
        ..finding
    })
}

/// Locks that were written over. No client does that where the store honours `If-None-Match`.
fn overwritten(world: &World<'_>, case: &Case<'_>, history: &StateHistory) -> Option<AuditFinding> {
    let begin = world.now.before(world.options.window);
    let over: Vec<&LockInterval> = history
        .locks
        .iter()
        .filter(|held| held.overwritten && held.to.is_none_or(|to| to >= begin))
        .collect();
    let last = over.last()?;
    let at = last.to.map(|at| format!(" at {at}")).unwrap_or_default();
    let more = match over.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more in the window"),
    };
    let message = format!("a lock was overwritten while it was held{at} (version {}){more}", last.version_id);
    let mut finding = case.finding(&rules::LOCK_OVERWRITTEN, message);
    finding.help = Some(
        "probe the store (`lockshift audit --probe`): it may ignore `If-None-Match`; else look for a script that writes \
         or copies `.tflock` objects"
            .to_owned(),
    );
    finding.consequence = Some("two runs can hold the lock at once".to_owned());
    Some(finding)
}
