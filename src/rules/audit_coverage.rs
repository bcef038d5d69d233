//! Rules about what versioned buckets remember of locks and writes. They are judged in `audit::judge`; nothing is judged in
//! this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// A write around the lock.
pub static COVERAGE_CONTRADICTED: Rule = Rule {
    id: "coverage-contradicted",
    severity: Severity::High,
    summary: "a state was written outside of every S3 lock",
    page: include_str!("../../docs/rules/coverage-contradicted.md"),
    check: Check::Auditing,
};

/// A lock that was written over.
pub static LOCK_OVERWRITTEN: Rule = Rule {
    id: "lock-overwritten",
    severity: Severity::High,
    summary: "a lock was overwritten while it was held",
    page: include_str!("../../docs/rules/lock-overwritten.md"),
    check: Check::Auditing,
};
