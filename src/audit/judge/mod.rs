//! What follows from a snapshot: a state list, findings, and what can't be vouched for. A pure function of the
//! snapshot, of what the repositories say, and of the options; "now" is when the snapshot was taken.
//!
//! Three habits run through all rules. Absence is only concluded where the listing or the scan came to its end. A lock
//! that was gone at the second look says nothing. What only one look saw, and could be a lock just being taken or
//! released, is no finding.

mod bucket;
mod case;
pub(in crate::audit) mod commands;
mod coverage;
mod digests;
mod lock_finding;
mod locks;
mod locks_by_mode;
mod probes;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unread;
mod world;

use std::borrow::Cow;
use std::time::Duration;

use super::expected::Expected;
use super::outcome::{Audit, AuditFinding, SCHEMA_VERSION, StateReport};
use super::snapshot::{BucketSnapshot, Snapshot, TableSnapshot};
use case::Case;
use world::World;

/// What a user may decide about judging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeOptions {
    /// A lock that is older is stale; one of exactly this age is not.
    pub stale_after: Duration,
    /// How far back every state write must lie inside an S3 lock.
    pub window: Duration,
}

impl Default for JudgeOptions {
    fn default() -> Self {
        Self { stale_after: Duration::from_secs(2 * 3600), window: Duration::from_secs(14 * 86_400) }
    }
}

/// Judges what was read. Findings are sorted: most serious first, then subject, rule and message.
///
/// Nothing here is ignored or lowered by configuration; that is the caller's part.
pub fn judge(snapshot: &Snapshot, expected: &Expected, options: &JudgeOptions) -> Audit {
    // Look-ups rely on the order. A snapshot that was made by hand may not have it.
    let snapshot = if is_sorted(snapshot) {
        Cow::Borrowed(snapshot)
    } else {
        let mut sorted = snapshot.clone();
        sorted.sort();
        Cow::Owned(sorted)
    };
    let world = World::new(&snapshot, expected, options);
    let mut findings = Vec::new();
    let mut states = Vec::new();
    for (bucket_name, path, bucket) in world.paths() {
        let case = Case::of(&world, bucket_name, path, bucket);
        states.push(report(&world, &case, &mut findings));
    }
    bucket::judge(&world, &states, &mut findings);
    table::judge(&world, &mut findings);
    probes::judge(&world, &mut findings);
    let mut audit = Audit {
        schema_version: SCHEMA_VERSION,
        generated_at: snapshot.taken_at,
        window_seconds: options.window.as_secs(),
        stale_after_seconds: options.stale_after.as_secs(),
        states,
        findings,
        unread: unread::all(&world),
        probes: snapshot.probes.clone(),
        stats: snapshot.stats.clone(),
        access: Vec::new(),
    };
    audit.sort_findings();
    audit
}

/// One state's report; its findings go onto the list.
fn report(world: &World<'_>, case: &Case<'_>, findings: &mut Vec<AuditFinding>) -> StateReport {
    locks::judge(world, case, findings);
    locks_by_mode::judge(world, case, findings);
    let digest = digests::judge(world, case, findings);
    let coverage = coverage::judge(world, case, findings);
    let mut roots: Vec<String> = case.states.iter().map(|(state, _)| state.root.clone()).collect();
    roots.sort();
    roots.dedup();
    StateReport {
        bucket: case.bucket_name.to_owned(),
        state_path: case.path.to_owned(),
        mode: case.mode,
        mode_unknown: case.mode_unknown.clone(),
        roots,
        workspace: case.states.first().map(|(_, workspace)| (*workspace).to_owned()),
        exists: case.exists(),
        last_written: case.state().map(|state| state.last_modified),
        locks: case.locks(world.now),
        digest,
        coverage,
    }
}

/// Whether everything that is looked up by binary search is in order.
fn is_sorted(snapshot: &Snapshot) -> bool {
    let bucket = |bucket: &BucketSnapshot| {
        bucket.locks.is_sorted_by(|a, b| a.key <= b.key)
            && bucket.states.is_sorted_by(|a, b| a.key <= b.key)
            && bucket.history.values().all(|history| {
                history.locks.is_sorted_by(|a, b| (a.from, &a.version_id) <= (b.from, &b.version_id))
                    && history.writes.is_sorted_by(|a, b| (a.at, &a.version_id) <= (b.at, &b.version_id))
            })
    };
    let table = |table: &TableSnapshot| table.items.is_sorted_by(|a, b| a.lock_id <= b.lock_id);
    let buckets = |a: &BucketSnapshot, b: &BucketSnapshot| (&a.name, &a.endpoint) <= (&b.name, &b.endpoint);
    let tables = |a: &TableSnapshot, b: &TableSnapshot| {
        (&a.region, &a.name, &a.endpoint) <= (&b.region, &b.name, &b.endpoint)
    };
    snapshot.buckets.iter().all(bucket)
        && snapshot.tables.iter().all(table)
        && snapshot.buckets.is_sorted_by(buckets)
        && snapshot.tables.is_sorted_by(tables)
        && snapshot.unread.is_sorted()
}
