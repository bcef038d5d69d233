//! Gates of `unlock`: why a lock or a digest is left as it is. They have a page here; they are judged where one state's
//! stores are read, and nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// The state is locked, so its digest is not touched.
pub static UNLOCK_DIGEST_LOCKED: Rule = Rule {
    id: "unlock-digest-locked",
    severity: Severity::High,
    summary: "the state is locked, so its digest is not touched",
    page: include_str!("../../docs/rules/unlock-digest-locked.md"),
    check: Check::Unlocking,
};

/// The state's MD5 is not known, or there is no state.
pub static UNLOCK_DIGEST_NOT_COMPARABLE: Rule = Rule {
    id: "unlock-digest-not-comparable",
    severity: Severity::Medium,
    summary: "the state's MD5 is not known, or there is no state",
    page: include_str!("../../docs/rules/unlock-digest-not-comparable.md"),
    check: Check::Unlocking,
};

/// The digest is right, so it is not removed.
pub static UNLOCK_DIGEST_RIGHT: Rule = Rule {
    id: "unlock-digest-right",
    severity: Severity::Low,
    summary: "the digest is right, so it is not removed",
    page: include_str!("../../docs/rules/unlock-digest-right.md"),
    check: Check::Unlocking,
};

/// The lock that is there has another ID than the one that was named.
pub static UNLOCK_ID_DIFFERS: Rule = Rule {
    id: "unlock-id-differs",
    severity: Severity::High,
    summary: "the lock that is there has another ID than the one that was named",
    page: include_str!("../../docs/rules/unlock-id-differs.md"),
    check: Check::Unlocking,
};

/// The store gave nothing that a conditional delete could compare with.
pub static UNLOCK_NO_CONDITION: Rule = Rule {
    id: "unlock-no-condition",
    severity: Severity::High,
    summary: "the store gave nothing that a conditional delete could compare with",
    page: include_str!("../../docs/rules/unlock-no-condition.md"),
    check: Check::Unlocking,
};

/// One store holds the lock and the other does not.
pub static UNLOCK_ONE_SIDED: Rule = Rule {
    id: "unlock-one-sided",
    severity: Severity::Medium,
    summary: "one store holds the lock and the other does not",
    page: include_str!("../../docs/rules/unlock-one-sided.md"),
    check: Check::Unlocking,
};

/// The store does not check the condition of a delete.
pub static UNLOCK_STORE_UNCONDITIONAL: Rule = Rule {
    id: "unlock-store-unconditional",
    severity: Severity::High,
    summary: "the store does not check the condition of a delete",
    page: include_str!("../../docs/rules/unlock-store-unconditional.md"),
    check: Check::Unlocking,
};

/// The lock is younger than the age from which locks count as left behind.
pub static UNLOCK_TOO_YOUNG: Rule = Rule {
    id: "unlock-too-young",
    severity: Severity::Medium,
    summary: "the lock is younger than the age from which locks count as left behind",
    page: include_str!("../../docs/rules/unlock-too-young.md"),
    check: Check::Unlocking,
};

/// A store could not be read, so nothing is removed.
pub static UNLOCK_UNREAD: Rule = Rule {
    id: "unlock-unread",
    severity: Severity::High,
    summary: "a store could not be read, so nothing is removed",
    page: include_str!("../../docs/rules/unlock-unread.md"),
    check: Check::Unlocking,
};

/// The lock has no ID that counts: empty, foreign, or another state's.
pub static UNLOCK_UNREADABLE_LOCK: Rule = Rule {
    id: "unlock-unreadable-lock",
    severity: Severity::Medium,
    summary: "the lock has no ID that counts: empty, foreign, or another state's",
    page: include_str!("../../docs/rules/unlock-unreadable-lock.md"),
    check: Check::Unlocking,
};
