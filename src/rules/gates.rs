//! Gates that are no rules of the scan: conditions of a migration step. They have a page here; they are judged while
//! a migration is planned, and nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// Straight to the lockfile.
pub static DUAL_PHASE_SKIPPED: Rule = Rule {
    id: "dual-phase-skipped",
    severity: Severity::High,
    summary: "`--phase final` was asked for while only the table is locked",
    page: include_str!("../../docs/rules/dual-phase-skipped.md"),
    check: Check::Migrating,
};

/// The proof failed.
pub static EDIT_NOT_PROVEN: Rule = Rule {
    id: "edit-not-proven",
    severity: Severity::High,
    summary: "after the edit, not everything was as planned",
    page: include_str!("../../docs/rules/edit-not-proven.md"),
    check: Check::Migrating,
};

/// Evidence against it.
pub static EVIDENCE_CONTRADICTS: Rule = Rule {
    id: "evidence-contradicts",
    severity: Severity::High,
    summary: "the audit speaks against leaving the table",
    page: include_str!("../../docs/rules/evidence-contradicts.md"),
    check: Check::Migrating,
};

/// Old evidence.
pub static EVIDENCE_STALE: Rule = Rule {
    id: "evidence-stale",
    severity: Severity::Medium,
    summary: "the audit that was given as evidence is too old, or has no date",
    page: include_str!("../../docs/rules/evidence-stale.md"),
    check: Check::Migrating,
};

/// Broken already.
pub static NOT_INITIALISABLE: Rule = Rule {
    id: "not-initialisable",
    severity: Severity::High,
    summary: "Terraform itself would stop here, so nothing is planned",
    page: include_str!("../../docs/rules/not-initialisable.md"),
    check: Check::Migrating,
};

/// The lockfile would stop a pipeline.
pub static RUNNER_WOULD_BREAK: Rule = Rule {
    id: "runner-would-break",
    severity: Severity::High,
    summary: "by the audit, a role could not take or release the lock object",
    page: include_str!("../../docs/rules/runner-would-break.md"),
    check: Check::Migrating,
};

/// A variable would lose its value.
pub static REQUIRED_VARIABLE_LEFT: Rule = Rule {
    id: "required-variable-left",
    severity: Severity::Medium,
    summary: "the file that loses the table is a var-file, too",
    page: include_str!("../../docs/rules/required-variable-left.md"),
    check: Check::Migrating,
};

/// Held back by another root module.
pub static SHARED_FILE_REFUSED: Rule = Rule {
    id: "shared-file-refused",
    severity: Severity::Medium,
    summary: "a source is shared with a root module that does not change",
    page: include_str!("../../docs/rules/shared-file-refused.md"),
    check: Check::Migrating,
};

/// Too early for the final phase.
pub static SOAK_TOO_SHORT: Rule = Rule {
    id: "soak-too-short",
    severity: Severity::Medium,
    summary: "both locks were not taken for long enough, or nobody can tell",
    page: include_str!("../../docs/rules/soak-too-short.md"),
    check: Check::Migrating,
};

/// Only people can change it.
pub static SOURCE_NOT_EDITABLE: Rule = Rule {
    id: "source-not-editable",
    severity: Severity::Medium,
    summary: "a source that must change can't be edited here",
    page: include_str!("../../docs/rules/source-not-editable.md"),
    check: Check::Migrating,
};

/// A rollback to what?
pub static TABLE_UNNAMED: Rule = Rule {
    id: "table-unnamed",
    severity: Severity::Medium,
    summary: "a rollback to both locks needs the table's name",
    page: include_str!("../../docs/rules/table-unnamed.md"),
    check: Check::Migrating,
};

/// Not all was read.
pub static UNREAD: Rule = Rule {
    id: "unread",
    severity: Severity::High,
    summary: "something in this root module's directory could not be read",
    page: include_str!("../../docs/rules/unread.md"),
    check: Check::Migrating,
};
