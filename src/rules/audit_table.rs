//! Rules about lock tables that an audit reads. They are judged in `audit::judge`; nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// A table that nobody names.
pub static TABLE_UNREFERENCED: Rule = Rule {
    id: "table-unreferenced",
    severity: Severity::Low,
    summary: "no backend and no reader names this lock table any more",
    page: include_str!("../../docs/rules/table-unreferenced.md"),
    check: Check::Auditing,
};

/// No such table.
pub static TABLE_MISSING: Rule = Rule {
    id: "table-missing",
    severity: Severity::High,
    summary: "a backend names a lock table that does not exist",
    page: include_str!("../../docs/rules/table-missing.md"),
    check: Check::Auditing,
};

/// The wrong key.
pub static TABLE_KEY_WRONG: Rule = Rule {
    id: "table-key-wrong",
    severity: Severity::High,
    summary: "a lock table's key is not `LockID` alone",
    page: include_str!("../../docs/rules/table-key-wrong.md"),
    check: Check::Auditing,
};
