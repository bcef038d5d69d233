//! Where the command meets `audit::collect` and `audit::judge`.
//!
//! STAND-INS until both are merged: nothing is collected and nothing is judged, and the result says so as unread.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Failure;
use crate::audit::expected::Expected;
use crate::audit::outcome::{Audit, Coverage, Digest, Locks, SCHEMA_VERSION, StateReport};
use crate::audit::snapshot::{Snapshot, Unread};
use crate::config::Bucket;
use crate::repo::inventory::LockMode;

/// How the stores are reached and how hard to try: what becomes `CollectOptions`.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    /// `--profile`.
    pub profile: Option<String>,
    /// `--role-arn`.
    pub role_arn: Option<String>,
    /// `--external-id`.
    pub external_id: Option<String>,
    /// `--region`.
    pub region: Option<String>,
    /// `--endpoint-url`.
    pub endpoint_url: Option<String>,
    /// `[buckets.NAME]` of the configuration.
    pub buckets: BTreeMap<String, Bucket>,
    /// `--window`.
    pub window: Duration,
    /// `--settle`; none for no second look.
    pub settle: Option<Duration>,
    /// `--read-states`.
    pub read_states: bool,
    /// `--concurrency`.
    pub concurrency: usize,
}

impl Reach {
    /// Says in `expected` how its stores are really reached, so that reading and judging mean the same ones.
    pub fn apply(&self, _expected: &mut Expected) {}
}

/// Reads from AWS.
pub(super) fn collect(
    _expected: &Expected,
    reach: &Reach,
    _progress: &(dyn Fn(&str) + Sync),
) -> Result<Snapshot, Failure> {
    let _ = (&reach.profile, &reach.role_arn, &reach.external_id, &reach.region, &reach.endpoint_url);
    let _ = (&reach.buckets, reach.window, reach.settle, reach.read_states, reach.concurrency);
    Err(Failure::new("reading from AWS is not built in").help("judge a saved snapshot: --snapshot FILE"))
}

/// Judges a snapshot.
pub(super) fn judge(
    snapshot: &Snapshot,
    _expected: &Expected,
    _stale_after: Duration,
    _window: Duration,
) -> Audit {
    let mut unread = snapshot.unread.clone();
    unread.push(Unread {
        resource: "audit".to_owned(),
        operation: "judge".to_owned(),
        reason: "judging is not built in".to_owned(),
        missing_action: None,
        hides_locks: true,
    });
    let state = |bucket: &str, key: &str| StateReport {
        bucket: bucket.to_owned(),
        state_path: key.to_owned(),
        mode: LockMode::Unknown,
        mode_unknown: Some("not judged".to_owned()),
        roots: Vec::new(),
        workspace: None,
        exists: Some(true),
        last_written: None,
        locks: Locks::default(),
        digest: Digest { verdict: "none".to_owned(), ..Digest::default() },
        coverage: Coverage { verdict: "not-provable".to_owned(), ..Coverage::default() },
    };
    let states = snapshot
        .buckets
        .iter()
        .flat_map(|bucket| bucket.states.iter().map(move |found| state(&bucket.name, &found.key)));
    Audit {
        schema_version: SCHEMA_VERSION,
        generated_at: snapshot.taken_at,
        states: states.collect(),
        findings: Vec::new(),
        unread,
        probes: snapshot.probes.clone(),
        stats: snapshot.stats.clone(),
    }
}
