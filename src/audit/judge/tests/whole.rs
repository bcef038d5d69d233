//! What holds for every snapshot: no panic, one order, whatever the order of what was read.

use std::time::Duration;

use proptest::prelude::*;

use crate::audit::expected::Expected;
use crate::audit::judge::testing::*;
use crate::audit::judge::{JudgeOptions, judge};
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::*;
use crate::moment::Moment;
use crate::repo::inventory::LockMode;

/// Few paths, so that things meet; some of them odd.
fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("app/s"),
        Just("env:/w/app/s"),
        Just("w/app/s"),
        Just("x-md5"),
        Just("x"),
        Just(".tflock"),
        Just("a'b\u{1b}[0m é"),
        Just("")
    ]
    .prop_map(str::to_owned)
}

fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![
        4 => (-400_000_i64..2_000_000).prop_map(|ago| Moment::from_millis(now().millis() - ago * 1000)),
        1 => any::<i64>().prop_map(Moment::from_millis),
    ]
}

fn settled() -> impl Strategy<Value = Settled> {
    prop_oneof![
        Just(Settled::NotAsked),
        Just(Settled::Same),
        Just(Settled::Gone),
        Just(Settled::Changed),
        Just(Settled::Failed)
    ]
}

fn body() -> impl Strategy<Value = LockBody> {
    prop_oneof![
        (0..3_i64, -1000..20_000_i64).prop_map(|(id, age)| lock(
            ["1", "2", "-3 '"][usize::try_from(id).unwrap()],
            age
        )
        .body()),
        Just(LockBody::Empty),
        Just(LockBody::Unread { why: "denied".into() }),
        "\\PC{0,20}".prop_map(|text| LockBody::read(text.as_bytes())),
    ]
}

fn object() -> impl Strategy<Value = LockObject> {
    (path(), moment(), body(), settled(), any::<bool>()).prop_map(
        |(path, last_modified, body, settled, lock)| LockObject {
            key: format!("{path}{}", if lock { LOCK_SUFFIX } else { "" }),
            last_modified,
            etag: lock.then(|| "\"e\"".to_owned()),
            version_id: None,
            size: 200,
            body,
            settled,
        },
    )
}

fn item() -> impl Strategy<Value = TableItem> {
    let digest = prop_oneof![
        Just(None),
        Just(Some(MD5.to_owned())),
        Just(Some(OTHER_MD5.to_owned())),
        Just(Some("é".to_owned()))
    ];
    (
        prop_oneof![Just("b/"), Just("c/"), Just("")],
        path(),
        any::<bool>(),
        prop::option::of(body()),
        digest,
        settled(),
    )
        .prop_map(|(bucket, path, is_digest, body, digest, settled)| TableItem {
            lock_id: format!("{bucket}{path}{}", if is_digest { DIGEST_SUFFIX } else { "" }),
            body,
            digest,
            settled,
        })
}

fn history() -> impl Strategy<Value = StateHistory> {
    let locks = (moment(), prop::option::of(moment()), prop::option::of(body()), any::<bool>()).prop_map(
        |(from, to, body, overwritten)| LockInterval { from, to, version_id: "l".into(), body, overwritten },
    );
    let writes = (moment(), any::<bool>())
        .prop_map(|(at, null)| StateWrite { at, version_id: if null { "null" } else { "v" }.into() });
    (prop::collection::vec(locks, 0..4), prop::collection::vec(writes, 0..4))
        .prop_map(|(locks, writes)| StateHistory { locks, writes })
}

fn rule() -> impl Strategy<Value = LifecycleRule> {
    (
        path(),
        any::<bool>(),
        prop::option::of(any::<u32>()),
        prop::option::of(any::<u32>()),
        prop::option::of(0..2000_u64),
    )
        .prop_map(|(prefix, enabled, expire_days, noncurrent_days, larger_than)| LifecycleRule {
            id: "r".into(),
            enabled,
            prefix,
            larger_than,
            expire_days,
            expire_date: Some("soon".into()),
            noncurrent_days,
            transitions: vec![(None, "GLACIER".into())],
            ..LifecycleRule::default()
        })
}

fn versioning() -> impl Strategy<Value = Read<String>> {
    prop_oneof![
        3 => Just(Read::Known("Enabled".to_owned())),
        1 => Just(Read::Known("Suspended".to_owned())),
        1 => Just(Read::Absent),
        1 => Just(Read::Failed("denied".to_owned())),
    ]
}

fn bucket() -> impl Strategy<Value = BucketSnapshot> {
    let states = (path(), moment(), any::<bool>()).prop_map(|(key, last_modified, md5)| StateObject {
        last_modified,
        md5: md5.then(|| Md5::Etag(MD5.into())),
        ..state(&key, 0)
    });
    (
        (any::<bool>(), prop::option::of(moment()), versioning(), prop::option::of(path())),
        prop::collection::vec(object(), 0..5),
        prop::collection::vec(states, 0..5),
        prop::collection::btree_map(path(), history(), 0..4),
        prop::collection::vec(rule(), 0..3),
    )
        .prop_map(|((complete, history_from, versioning, prefix), locks, states, history, rules)| {
            BucketSnapshot {
                name: "b".into(),
                complete,
                history_from,
                versioning,
                prefixes: prefix.into_iter().collect(),
                locks,
                states,
                history,
                lifecycle: Read::Known(rules),
                ..BucketSnapshot::default()
            }
        })
}

fn scene() -> impl Strategy<Value = (Snapshot, Expected, JudgeOptions)> {
    let table = (any::<bool>(), prop::collection::vec(item(), 0..6)).prop_map(|(complete, items)| {
        TableSnapshot { name: "t".into(), complete, items, ..TableSnapshot::default() }
    });
    let modes = prop::sample::subsequence(LockMode::ALL.to_vec(), 0..3);
    (
        prop::collection::vec(bucket(), 0..3),
        prop::collection::vec(table, 0..3),
        modes,
        path(),
        (0..u64::MAX, 0..u64::MAX),
    )
        .prop_map(|(buckets, tables, modes, key, (stale, window))| {
            let states = modes.into_iter().map(|mode| backend("envs/app", &key, mode)).collect();
            let snapshot = Snapshot { taken_at: now(), buckets, tables, ..Snapshot::default() };
            let options = JudgeOptions {
                stale_after: Duration::from_secs(stale % 10_000),
                window: Duration::from_secs(window % 3_000_000),
            };
            (snapshot, Expected { states, ..Expected::default() }, options)
        })
}

proptest! {
    #[test]
    fn any_snapshot_is_judged_in_one_order((snapshot, expected, options) in scene()) {
        let audit = judge(&snapshot, &expected, &options);
        let keys: Vec<_> = audit
            .findings
            .iter()
            .map(|finding| (std::cmp::Reverse(finding.severity), &finding.subject, &finding.rule, &finding.message))
            .collect();
        prop_assert!(keys.is_sorted());
        let states: Vec<_> = audit.states.iter().map(|state| (&state.bucket, &state.state_path)).collect();
        prop_assert!(states.is_sorted());
        prop_assert!(audit.unread.is_sorted());
        for finding in &audit.findings {
            prop_assert!(crate::rules::find(&finding.rule).is_some(), "{}", finding.rule);
            let no_controls = finding.commands.iter().all(|command| !command.contains(char::is_control));
            prop_assert!(no_controls, "{:?}", finding.commands);
        }
        let mut sorted = snapshot.clone();
        sorted.sort();
        prop_assert_eq!(&judge(&sorted, &expected, &options), &audit);
        prop_assert_eq!(judge(&snapshot, &expected, &options), audit);
    }

    #[test]
    fn nothing_is_proven_of_a_listing_that_did_not_end((snapshot, expected, options) in scene()) {
        let mut snapshot = snapshot;
        for bucket in &mut snapshot.buckets {
            bucket.complete = false;
        }
        for table in &mut snapshot.tables {
            table.complete = false;
        }
        let audit = judge(&snapshot, &expected, &options);
        prop_assert_eq!(audit.unread.is_empty(), snapshot.buckets.is_empty() && snapshot.tables.is_empty() && expected.states.is_empty());
        for state in &audit.states {
            prop_assert_eq!(&state.coverage.verdict, "not-provable");
            prop_assert!(state.exists != Some(false));
        }
        let from_absence = ["lock-split-s3-only", "lock-split-dynamodb-only", "digest-missing", "lock-without-state"];
        prop_assert!(audit.findings.iter().all(|finding| !from_absence.contains(&finding.rule.as_str())));
    }
}

#[test]
fn the_most_serious_comes_first() {
    let scene = Scene::of(LockMode::Dual).s3(lock("1", 60)).item(Lock { who: "bob", ..lock("2", 60) }).with(
        |scene| {
            scene.bucket().versioning = Read::Absent;
            scene.table().items.retain(|item| item.body.is_some());
            scene.expected.states.push(backend("z", "z/s", LockMode::Lockfile));
        },
    );
    let rules: Vec<String> = scene.judge().findings.into_iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["two-writers", "bucket-unversioned"]);
}

#[test]
fn many_states_take_one_pass() {
    // Not a measurement: quadratic judging would not come to an end here.
    let scene = Scene::of(LockMode::Dual).with(|scene| {
        let many: Vec<String> = (0..20_000).map(|n| format!("many/{n:06}/s")).collect();
        scene.bucket().states.extend(many.iter().map(|path| state(path, DAY)));
        scene.table().items.extend(many.iter().map(|path| {
            let mut item = digest(Some(MD5));
            item.lock_id = format!("b/{path}-md5");
            item
        }));
        scene.expected.states.extend(many.iter().map(|path| backend("envs/app", path, LockMode::Dual)));
    });
    assert_eq!(scene.judge().states.len(), 20_001);
}
