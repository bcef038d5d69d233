//! Rules about what a store does with conditional requests, as `audit --probe` saw it. Judged in `audit::judge`.

use super::{Check, Rule};
use crate::finding::Severity;

/// Everybody gets the lock.
pub static PROBE_CONDITION_IGNORED: Rule = Rule {
    id: "probe-condition-ignored",
    severity: Severity::Critical,
    summary: "the store ignores `If-None-Match: *`: locks lock nobody out",
    page: include_str!("../../docs/rules/probe-condition-ignored.md"),
    check: Check::Auditing,
};

/// Nobody gets the lock.
pub static PROBE_CONDITION_REJECTED: Rule = Rule {
    id: "probe-condition-rejected",
    severity: Severity::High,
    summary: "the store refuses `If-None-Match: *`: no lock can be taken",
    page: include_str!("../../docs/rules/probe-condition-rejected.md"),
    check: Check::Auditing,
};

/// A delete looks at nothing.
pub static PROBE_DELETE_UNCONDITIONAL: Rule = Rule {
    id: "probe-delete-unconditional",
    severity: Severity::Medium,
    summary: "the store does not check `If-Match` on DELETE: no lock can be released safely",
    page: include_str!("../../docs/rules/probe-delete-unconditional.md"),
    check: Check::Auditing,
};
