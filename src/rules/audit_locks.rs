//! Rules about locks that an audit finds. They are judged in `audit::judge`; nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// A lock that is too old.
pub static LOCK_STALE: Rule = Rule {
    id: "lock-stale",
    severity: Severity::High,
    summary: "a lock is older than the stale age",
    page: include_str!("../../docs/rules/lock-stale.md"),
    check: Check::Auditing,
};

/// Dual mode, and only the item.
pub static LOCK_SPLIT_DYNAMODB_ONLY: Rule = Rule {
    id: "lock-split-dynamodb-only",
    severity: Severity::High,
    summary: "both locks are asked for, and only the table holds one",
    page: include_str!("../../docs/rules/lock-split-dynamodb-only.md"),
    check: Check::Auditing,
};

/// Dual mode, and only the object.
pub static LOCK_SPLIT_S3_ONLY: Rule = Rule {
    id: "lock-split-s3-only",
    severity: Severity::High,
    summary: "both locks are asked for, and only S3 holds one",
    page: include_str!("../../docs/rules/lock-split-s3-only.md"),
    check: Check::Auditing,
};

/// Two locks with different IDs.
pub static LOCK_IDS_DIFFER: Rule = Rule {
    id: "lock-ids-differ",
    severity: Severity::High,
    summary: "the two stores hold different locks on one state",
    page: include_str!("../../docs/rules/lock-ids-differ.md"),
    check: Check::Auditing,
};

/// Two people at work at once.
pub static TWO_WRITERS: Rule = Rule {
    id: "two-writers",
    severity: Severity::Critical,
    summary: "two runs of different people hold one state at once",
    page: include_str!("../../docs/rules/two-writers.md"),
    check: Check::Auditing,
};

/// An old client.
pub static LOCK_IN_TABLE_OF_LOCKFILE_ONLY: Rule = Rule {
    id: "lock-in-table-of-lockfile-only",
    severity: Severity::High,
    summary: "the table holds a lock on a state that locks S3 alone",
    page: include_str!("../../docs/rules/lock-in-table-of-lockfile-only.md"),
    check: Check::Auditing,
};

/// A client ahead.
pub static LOCK_OBJECT_OF_TABLE_ONLY: Rule = Rule {
    id: "lock-object-of-table-only",
    severity: Severity::High,
    summary: "S3 holds a lock on a state that locks the table alone",
    page: include_str!("../../docs/rules/lock-object-of-table-only.md"),
    check: Check::Auditing,
};

/// The wrong table.
pub static LOCK_IN_OTHER_TABLE: Rule = Rule {
    id: "lock-in-other-table",
    severity: Severity::High,
    summary: "the lock lies in a table that the backend does not name",
    page: include_str!("../../docs/rules/lock-in-other-table.md"),
    check: Check::Auditing,
};

/// No lock document.
pub static LOCK_UNREADABLE: Rule = Rule {
    id: "lock-unreadable",
    severity: Severity::High,
    summary: "a lock can't be read: empty, no lock document, or not to be decrypted",
    page: include_str!("../../docs/rules/lock-unreadable.md"),
    check: Check::Auditing,
};

/// Another state's lock.
pub static LOCK_PATH_MISMATCH: Rule = Rule {
    id: "lock-path-mismatch",
    severity: Severity::Medium,
    summary: "a lock names another state than the one it lies on",
    page: include_str!("../../docs/rules/lock-path-mismatch.md"),
    check: Check::Auditing,
};

/// Nothing there.
pub static LOCK_WITHOUT_STATE: Rule = Rule {
    id: "lock-without-state",
    severity: Severity::Info,
    summary: "a lock lies on a state that does not exist",
    page: include_str!("../../docs/rules/lock-without-state.md"),
    check: Check::Auditing,
};

/// A stranger.
pub static LOCK_OF_UNKNOWN_STATE: Rule = Rule {
    id: "lock-of-unknown-state",
    severity: Severity::Low,
    summary: "a lock lies on a state that no repository names",
    page: include_str!("../../docs/rules/lock-of-unknown-state.md"),
    check: Check::Auditing,
};

/// A write that may be lost.
pub static LOCK_AFTER_LAST_WRITE: Rule = Rule {
    id: "lock-after-last-write",
    severity: Severity::High,
    summary: "a stale lock is newer than the state's last write",
    page: include_str!("../../docs/rules/lock-after-last-write.md"),
    check: Check::Auditing,
};

/// A clock ahead.
pub static LOCK_FROM_THE_FUTURE: Rule = Rule {
    id: "lock-from-the-future",
    severity: Severity::Medium,
    summary: "a lock was made at a moment that has not come yet",
    page: include_str!("../../docs/rules/lock-from-the-future.md"),
    check: Check::Auditing,
};

/// All of them: what they find is a lock that is held.
pub static ALL: &[&Rule] = &[
    &LOCK_STALE,
    &LOCK_SPLIT_DYNAMODB_ONLY,
    &LOCK_SPLIT_S3_ONLY,
    &LOCK_IDS_DIFFER,
    &TWO_WRITERS,
    &LOCK_IN_TABLE_OF_LOCKFILE_ONLY,
    &LOCK_OBJECT_OF_TABLE_ONLY,
    &LOCK_IN_OTHER_TABLE,
    &LOCK_UNREADABLE,
    &LOCK_PATH_MISMATCH,
    &LOCK_WITHOUT_STATE,
    &LOCK_OF_UNKNOWN_STATE,
    &LOCK_AFTER_LAST_WRITE,
    &LOCK_FROM_THE_FUTURE,
];
