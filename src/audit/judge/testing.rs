//! Small scenes for the tests of judging: one bucket `b`, one table `t`, one state `app/s` that takes both locks. As it
//! stands, nothing is wrong with it.

use std::time::Duration;

use super::{JudgeOptions, judge};
use crate::audit::expected::{Access, Expected, ExpectedState};
use crate::audit::lock_info::{LockBody, LockInfo};
use crate::audit::outcome::{Audit, AuditFinding, StateReport};
use crate::audit::snapshot::{
    BucketSnapshot, LifecycleRule, LockInterval, LockObject, Md5, Read, Settled, Snapshot, StateHistory,
    StateObject, StateWrite, TableFacts, TableItem, TableSnapshot,
};
use crate::finding::Severity;
use crate::moment::Moment;
use crate::repo::inventory::{Engine, LockMode};
use crate::repo::text::Place;

/// The MD5 of the scene's state.
pub(super) const MD5: &str = "5d41402abc4b2a76b9719d911017c592";
/// Another MD5.
pub(super) const OTHER_MD5: &str = "7d793037a0760186574b0282f2f435e7";
/// The state's path.
pub(super) const PATH: &str = "app/s";

/// When the scene's snapshot was taken.
pub(super) fn now() -> Moment {
    Moment::parse("2026-11-30T12:00:00Z").unwrap()
}

/// So many seconds before that.
pub(super) fn ago(seconds: u64) -> Moment {
    now().before(Duration::from_secs(seconds))
}

/// A snapshot, what should be there, and the options.
pub(super) struct Scene {
    pub(super) snapshot: Snapshot,
    pub(super) expected: Expected,
    pub(super) options: JudgeOptions,
}

/// A lock: its ID, its owner, its age in seconds.
#[derive(Clone, Copy)]
pub(super) struct Lock {
    pub(super) id: &'static str,
    pub(super) who: &'static str,
    pub(super) operation: &'static str,
    pub(super) age: i64,
    pub(super) settled: Settled,
    pub(super) path: &'static str,
}

/// A lock that both looks saw.
pub(super) fn lock(id: &'static str, age: i64) -> Lock {
    Lock {
        id,
        who: "ann@laptop",
        operation: "OperationTypeApply",
        age,
        settled: Settled::Same,
        path: "b/app/s",
    }
}

impl Lock {
    pub(super) fn created(&self) -> Moment {
        Moment::from_millis(now().millis() - self.age * 1000)
    }

    pub(super) fn body(&self) -> LockBody {
        let lock = LockInfo {
            id: self.id.into(),
            operation: self.operation.into(),
            who: self.who.into(),
            version: "1.11.4".into(),
            created: self.created().to_string(),
            path: self.path.into(),
            ..LockInfo::default()
        };
        LockBody::Lock { text: serde_json::to_string(&lock).unwrap(), lock }
    }

    pub(super) fn object(&self) -> LockObject {
        LockObject {
            key: format!("{PATH}.tflock"),
            last_modified: Moment::from_seconds(self.created().seconds()),
            etag: Some("\"e1\"".into()),
            version_id: Some("v1".into()),
            size: 230,
            body: self.body(),
            settled: self.settled,
        }
    }

    pub(super) fn item(&self) -> TableItem {
        TableItem {
            lock_id: format!("b/{PATH}"),
            body: Some(self.body()),
            digest: None,
            settled: self.settled,
        }
    }
}

/// A digest item.
pub(super) fn digest(hex: Option<&str>) -> TableItem {
    TableItem {
        lock_id: format!("b/{PATH}-md5"),
        body: None,
        digest: hex.map(str::to_owned),
        settled: Settled::NotAsked,
    }
}

/// A backend.
pub(super) fn backend(root: &str, key: &str, mode: LockMode) -> ExpectedState {
    let table = matches!(mode, LockMode::Dual | LockMode::Dynamodb).then(|| "t".to_owned());
    ExpectedState {
        bucket: "b".into(),
        key: key.into(),
        workspace_key_prefix: "env:".into(),
        mode,
        table,
        acl: false,
        lock_tags: false,
        access: Access { region: Some("eu-west-1".into()), ..Access::default() },
        root: root.into(),
        backend_config: Vec::new(),
        engine: Engine::Any,
        place: Place { file: format!("{root}/main.tf"), line: 2, column: 3 },
    }
}

/// A state object.
pub(super) fn state(key: &str, age: u64) -> StateObject {
    StateObject {
        key: key.into(),
        last_modified: ago(age),
        etag: Some(MD5.into()),
        size: 1000,
        md5: Some(Md5::Etag(MD5.into())),
    }
}

/// A lock that was held, from so many seconds ago to so many seconds ago.
pub(super) fn held(from: u64, to: Option<u64>) -> LockInterval {
    LockInterval {
        from: ago(from),
        to: to.map(ago),
        version_id: format!("l{from}"),
        body: Some(lock("1", i64::try_from(from).unwrap()).body()),
        overwritten: false,
    }
}

/// A write, so many seconds ago.
pub(super) fn write(at: u64) -> StateWrite {
    StateWrite { at: ago(at), version_id: format!("w{at}") }
}

/// Days in seconds.
pub(super) const DAY: u64 = 86_400;

impl Scene {
    /// One state in this mode, unlocked, its digest right, last written 10 days ago inside a lock.
    pub(super) fn of(mode: LockMode) -> Self {
        let keep = LifecycleRule {
            id: "old".into(),
            enabled: true,
            noncurrent_days: Some(30),
            ..LifecycleRule::default()
        };
        let history = StateHistory {
            locks: vec![held(10 * DAY + 5, Some(10 * DAY - 5))],
            writes: vec![write(10 * DAY)],
        };
        let bucket = BucketSnapshot {
            name: "b".into(),
            region: Some("eu-west-1".into()),
            complete: true,
            states: vec![state(PATH, 10 * DAY)],
            history: [(PATH.to_owned(), history)].into(),
            versioning: Read::Known("Enabled".into()),
            object_lock: Read::Absent,
            lifecycle: Read::Known(vec![keep]),
            encryption: Read::Absent,
            replication: Read::Absent,
            ..BucketSnapshot::default()
        };
        let table = TableSnapshot {
            name: "t".into(),
            region: Some("eu-west-1".into()),
            complete: true,
            exists: Read::Known(TableFacts { hash_key_is_lock_id: true, ..TableFacts::default() }),
            ..TableSnapshot::default()
        };
        let snapshot = Snapshot {
            schema_version: 1,
            taken_at: now(),
            buckets: vec![bucket],
            tables: vec![table],
            ..Snapshot::default()
        };
        let mut expected = Expected { states: vec![backend("envs/app", PATH, mode)], ..Expected::default() };
        expected.tables_mentioned.insert("t".into());
        let mut scene = Self { snapshot, expected, options: JudgeOptions::default() };
        if matches!(mode, LockMode::Dual | LockMode::Dynamodb) {
            scene.table().items.push(digest(Some(MD5)));
        }
        scene
    }

    /// The same, changed.
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self.snapshot.sort();
        self
    }

    /// Another state with the same past.
    pub(super) fn also(&mut self, path: &str) {
        let history = self.bucket().history[PATH].clone();
        self.bucket().history.insert(path.to_owned(), history);
        self.bucket().states.push(state(path, 10 * DAY));
    }

    /// Locked in S3.
    pub(super) fn s3(self, lock: Lock) -> Self {
        self.with(|scene| scene.bucket().locks.push(lock.object()))
    }

    /// Locked in the table.
    pub(super) fn item(self, lock: Lock) -> Self {
        self.with(|scene| scene.table().items.push(lock.item()))
    }

    pub(super) fn bucket(&mut self) -> &mut BucketSnapshot {
        &mut self.snapshot.buckets[0]
    }

    pub(super) fn table(&mut self) -> &mut TableSnapshot {
        &mut self.snapshot.tables[0]
    }

    pub(super) fn judge(&self) -> Audit {
        judge(&self.snapshot, &self.expected, &self.options)
    }

    /// Rules and severities of all findings.
    pub(super) fn says(&self) -> Vec<(String, Severity)> {
        self.judge().findings.into_iter().map(|finding| (finding.rule, finding.severity)).collect()
    }

    /// The finding of one rule.
    pub(super) fn finding(&self, rule: &str) -> AuditFinding {
        let findings = self.judge().findings;
        findings
            .iter()
            .find(|finding| finding.rule == rule)
            .cloned()
            .unwrap_or_else(|| panic!("{findings:#?}"))
    }

    /// The scene's state.
    pub(super) fn report(&self) -> StateReport {
        let states = self.judge().states;
        states.iter().find(|state| state.state_path == PATH).cloned().unwrap()
    }
}

/// Asserts exactly these findings.
#[track_caller]
pub(super) fn assert_says(what: &str, scene: &Scene, wanted: &[(&str, Severity)]) {
    let wanted: Vec<(String, Severity)> =
        wanted.iter().map(|(rule, severity)| ((*rule).to_owned(), *severity)).collect();
    assert_eq!(scene.says(), wanted, "{what}");
}
