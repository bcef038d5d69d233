//! What is saved is loaded again, and what is no snapshot is refused.

use super::*;
use crate::audit::expected::{Access, TableRef};
use crate::audit::lock_info::LockBody;

fn snapshot() -> Snapshot {
    let lock = |key: &str| LockObject {
        key: key.to_owned(),
        last_modified: Moment::from_seconds(1_700_000_000),
        etag: Some("\"e\"".to_owned()),
        version_id: None,
        size: 0,
        body: LockBody::Empty,
        settled: Settled::Gone,
    };
    let bucket = BucketSnapshot {
        name: "b".into(),
        complete: true,
        locks: vec![lock("z.tflock"), lock("a.tflock")],
        versioning: Read::Known("Enabled".into()),
        lifecycle: Read::Absent,
        policy: Read::Failed("no".into()),
        object_lock: Read::Known(None),
        ..BucketSnapshot::default()
    };
    let table = TableSnapshot {
        name: "t".into(),
        region: Some("eu-west-1".into()),
        endpoint: Some("http://127.0.0.1:1".into()),
        arn: Some("arn:aws:dynamodb:eu-west-1:111122223333:table/t".into()),
        writes_per_day: Read::Known(vec![(Moment::from_seconds(86_400), 2.0)]),
        ..TableSnapshot::default()
    };
    Snapshot {
        schema_version: SCHEMA_VERSION,
        buckets: vec![bucket],
        tables: vec![table],
        ..Snapshot::default()
    }
}

#[test]
fn what_is_saved_is_loaded_and_sorted() {
    let mut saved = snapshot();
    let loaded = Snapshot::from_json(&saved.to_json().unwrap()).unwrap();
    saved.sort();
    assert_eq!(loaded, saved);
    assert_eq!(loaded.buckets[0].lock("a").map(|lock| lock.settled), Some(Settled::Gone));
}

#[test]
fn what_is_no_snapshot_or_a_newer_one_is_refused() {
    let text = snapshot().to_json().unwrap();
    let newer = text.replace("\"schema_version\": 1", "\"schema_version\": 2");
    assert_eq!(Snapshot::from_json(&newer), Err(SnapshotError::Newer(2)));
    let unknown = text.replace("\"mfa_delete\"", "\"mfa_delet\"");
    let error = Snapshot::from_json(&unknown).unwrap_err().to_string();
    assert!(error.contains("unknown field `mfa_delet`") && error.contains("line"), "{error}");
    for text in ["", "[]", "{}", "{\"schema_version\": 1}"] {
        assert!(matches!(Snapshot::from_json(text), Err(SnapshotError::Form(_))), "{text}");
    }
}

#[test]
fn a_table_is_recognised_by_what_both_sides_say() {
    let table = &snapshot().tables[0];
    let reference = |name: &str, region: Option<&str>| {
        TableRef::of(name, &Access { region: region.map(str::to_owned), ..Access::default() })
    };
    assert!(table.is(&reference("t", None)) && table.is(&reference("t", Some("eu-west-1"))));
    assert!(!table.is(&reference("t", Some("us-east-1"))) && !table.is(&reference("u", None)));
    assert!(table.is(&reference("arn:aws:dynamodb:eu-west-1:111122223333:table/t", None)));
    assert!(!table.is(&reference("arn:aws:dynamodb:eu-west-1:444455556666:table/t", None)));
}
