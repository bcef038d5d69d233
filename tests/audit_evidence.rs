//! What `audit` says is what `migrate --evidence` reads: a judged audit, as JSON, decides about the final phase.

#![cfg(test)]

use lockshift::audit::expected::{Access, Expected, ExpectedState};
use lockshift::audit::judge::{JudgeOptions, judge};
use lockshift::audit::lock_info::LockBody;
use lockshift::audit::outcome::Audit;
use lockshift::audit::snapshot::{
    BucketSnapshot, LockInterval, LockObject, ProbeResult, ProbeVerdict, Read, Settled, Snapshot,
    StateHistory, StateObject, StateWrite, TableFacts, TableSnapshot, Unread,
};
use lockshift::migrate::evidence::Evidence;
use lockshift::moment::Moment;
use lockshift::repo::inventory::{Engine, LockMode};
use lockshift::repo::text::Place;

const NOW: &str = "2026-11-30T12:00:00Z";

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

/// One state in dual mode, written once inside a lock, in a bucket of which everything was read.
fn snapshot() -> Snapshot {
    let written = at("2026-11-28T09:00:30Z");
    let interval = LockInterval {
        from: at("2026-11-28T09:00:00Z"),
        to: Some(at("2026-11-28T09:01:00Z")),
        version_id: "l1".into(),
        body: None,
        overwritten: false,
    };
    let history = StateHistory {
        locks: vec![interval],
        writes: vec![StateWrite { at: written, version_id: "w1".into() }],
    };
    let state = StateObject { key: "app/s".into(), last_modified: written, etag: None, size: 900, md5: None };
    let bucket = BucketSnapshot {
        name: "b".into(),
        complete: true,
        states: vec![state],
        history: [("app/s".to_owned(), history)].into(),
        versioning: Read::Known("Enabled".into()),
        lifecycle: Read::Absent,
        ..BucketSnapshot::default()
    };
    let table = TableSnapshot {
        name: "t".into(),
        complete: true,
        exists: Read::Known(TableFacts { hash_key_is_lock_id: true, ..TableFacts::default() }),
        ..TableSnapshot::default()
    };
    Snapshot { taken_at: at(NOW), buckets: vec![bucket], tables: vec![table], ..Snapshot::default() }
}

fn expected() -> Expected {
    let state = ExpectedState {
        bucket: "b".into(),
        key: "app/s".into(),
        workspace_key_prefix: "env:".into(),
        mode: LockMode::Dual,
        table: Some("t".into()),
        acl: false,
        lock_tags: false,
        access: Access::default(),
        root: "envs/app".into(),
        backend_config: Vec::new(),
        engine: Engine::Any,
        place: Place { file: "envs/app/main.tf".into(), line: 2, column: 3 },
    };
    Expected { states: vec![state], ..Expected::default() }
}

fn evidence(audit: &Audit) -> Evidence {
    Evidence::parse(serde_json::to_string(audit).unwrap().as_bytes()).unwrap()
}

fn against(snapshot: &Snapshot, expected: &Expected) -> Option<String> {
    evidence(&judge(snapshot, expected, &JudgeOptions::default())).against("b", "app/s")
}

#[test]
fn a_proven_state_without_locks_may_leave_the_table() {
    let audit = judge(&snapshot(), &expected(), &JudgeOptions::default());
    assert_eq!(audit.states[0].coverage.verdict, "proven");
    // Findings of low severity are there, and don't stop it.
    assert!(audit.findings.iter().any(|finding| finding.rule == "bucket-lock-versions-kept"));
    let evidence = evidence(&audit);
    assert_eq!(evidence.against("b", "app/s"), None);
    assert_eq!(evidence.stale(at(NOW).seconds() + 60), None);
    assert!(evidence.stale(at(NOW).seconds() + 100_000).is_some());
    assert_eq!(evidence.against("b", "other").as_deref(), Some("the audit did not look at s3://b/other"));
}

#[test]
fn a_write_around_the_lock_speaks_against_it() {
    let mut snapshot = snapshot();
    let history = snapshot.buckets[0].history.get_mut("app/s").unwrap();
    history.writes.push(StateWrite { at: at("2026-11-29T09:00:00Z"), version_id: "w2".into() });
    assert_eq!(
        against(&snapshot, &expected()).as_deref(),
        Some("s3://b/app/s was written outside of an S3 lock")
    );
}

#[test]
fn a_lock_speaks_against_it_in_workspaces_too() {
    for key in ["app/s.tflock", "env:/w/app/s.tflock"] {
        let mut snapshot = snapshot();
        snapshot.buckets[0].locks.push(LockObject {
            key: key.into(),
            last_modified: at("2026-11-30T11:59:50Z"),
            etag: None,
            version_id: None,
            size: 0,
            body: LockBody::read(b""),
            settled: Settled::Same,
        });
        let why = against(&snapshot, &expected()).unwrap();
        assert!(why.ends_with("was locked when the audit looked"), "{why}");
    }
}

#[test]
fn what_was_not_read_speaks_against_it_unless_it_hides_no_locks() {
    let unread = |resource: &str, hides_locks| Unread {
        resource: resource.into(),
        operation: "ListObjectVersions".into(),
        reason: "AccessDenied".into(),
        missing_action: None,
        hides_locks,
    };
    let with = |entry| {
        let mut snapshot = snapshot();
        snapshot.unread.push(entry);
        against(&snapshot, &expected())
    };
    assert!(with(unread("s3://b", true)).unwrap().contains("could not be read"));
    assert!(with(unread("s3://b/app/s.tflock", true)).unwrap().contains("could not be read"));
    assert_eq!(with(unread("s3://b", false)), None);
    assert_eq!(with(unread("s3://b/else", true)), None);

    let mut half = snapshot();
    half.buckets[0].complete = false;
    assert!(against(&half, &expected()).unwrap().contains("the listing did not come to its end"));
    let mut none = snapshot();
    none.buckets.clear();
    assert!(against(&none, &expected()).unwrap().contains("the snapshot does not hold this bucket"));
    let mut elsewhere = snapshot();
    elsewhere.buckets[0].prefixes = vec!["x/".into()];
    assert!(against(&elsewhere, &expected()).unwrap().contains("none of the prefixes"));
    let mut by_hand = expected();
    by_hand.named.prefixes = vec!["x/".into()];
    elsewhere.buckets[0].states.clear();
    elsewhere.buckets[0].history.clear();
    assert_eq!(against(&elsewhere, &by_hand).as_deref(), Some("the audit did not look at s3://b/app/s"));
}

#[test]
fn serious_findings_about_the_bucket_speak_against_it() {
    let mut snapshot = snapshot();
    snapshot.buckets[0].lifecycle = Read::Known(vec![lockshift::audit::snapshot::LifecycleRule {
        id: "tidy".into(),
        enabled: true,
        expire_days: Some(1),
        ..Default::default()
    }]);
    let why = against(&snapshot, &expected()).unwrap();
    assert!(why.starts_with("s3://b (bucket-lock-expiry)"), "{why}");
}

#[test]
fn probes_are_handed_on() {
    let mut snapshot = snapshot();
    snapshot.probes.push(ProbeResult {
        bucket: "b".into(),
        endpoint: Some("https://objects.example".into()),
        honoured: true,
        verdict: ProbeVerdict::Enforced,
        conditional_delete: Some(true),
        steps: Vec::new(),
        at: at(NOW),
    });
    let evidence = evidence(&judge(&snapshot, &expected(), &JudgeOptions::default()));
    assert!(evidence.is_probed("b"));
    assert!(!evidence.is_probed("c"));
}
