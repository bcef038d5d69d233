//! Gates: named conditions that a step of the migration must meet. Which gates there are, and which of them can be
//! waived; nothing is judged here. `judge` asks most of them; whether edits can be made and proven is judged
//! where they are made.

use crate::repo::text::Place;

/// One gate.
#[derive(Debug, PartialEq, Eq)]
pub struct Gate {
    /// Kebab-case id: what refusals, `--waive` and `explain` call it.
    pub id: &'static str,
    /// Whether a person may decide that it does not matter here. What can't be edited, or can't be proven, stays.
    pub waivable: bool,
}

const fn gate(id: &'static str) -> Gate {
    Gate { id, waivable: true }
}

const fn firm(id: &'static str) -> Gate {
    Gate { id, waivable: false }
}

/// No admitted version knows `use_lockfile`.
pub static VERSION_TOO_OLD: Gate = gate("version-too-old");
/// Some admitted version does not know it.
pub static VERSION_UNPROVEN: Gate = gate("version-unproven");
/// The lock settings can't be told.
pub static UNRESOLVED_SETTING: Gate = firm("unresolved-setting");
/// Another source would still set the table.
pub static STILL_DUAL: Gate = gate("still-dual");
/// An override dropped the lock of the block underneath.
pub static OVERRIDE_UNSET: Gate = gate("override-unset");
/// A reader would check a digest that nobody writes any more.
pub static READER_NAMES_TABLE: Gate = gate("reader-names-table");
/// From the table to the lockfile in one step.
pub static DUAL_PHASE_SKIPPED: Gate = gate("dual-phase-skipped");
/// Both locks were not taken for long enough.
pub static SOAK_TOO_SHORT: Gate = gate("soak-too-short");
/// Nobody knows whether the store honours conditional writes.
pub static ENDPOINT_UNPROVEN: Gate = gate("endpoint-unproven");
/// Runs without any lock.
pub static LOCK_DISABLED_IN_CI: Gate = gate("lock-disabled-in-ci");
/// The file is a var-file, too.
pub static REQUIRED_VARIABLE_LEFT: Gate = gate("required-variable-left");
/// The source is written by a generator.
pub static GENERATED_COPY: Gate = firm("generated-copy");
/// Terraform itself would stop here.
pub static NOT_INITIALISABLE: Gate = firm("not-initialisable");
/// Something here could not be read.
pub static UNREAD: Gate = firm("unread");
/// The audit is too old.
pub static EVIDENCE_STALE: Gate = gate("evidence-stale");
/// The audit speaks against it.
pub static EVIDENCE_CONTRADICTS: Gate = gate("evidence-contradicts");
/// A role could not take or release the lock.
pub static RUNNER_WOULD_BREAK: Gate = gate("runner-would-break");
/// A source is shared with a root module that does not change.
pub static SHARED_FILE_REFUSED: Gate = firm("shared-file-refused");
/// After the edit, not everything was as planned.
pub static EDIT_NOT_PROVEN: Gate = firm("edit-not-proven");
/// A source that must change can't be edited here.
pub static SOURCE_NOT_EDITABLE: Gate = firm("source-not-editable");
/// A rollback needs a table's name.
pub static TABLE_UNNAMED: Gate = firm("table-unnamed");

/// Every gate, by id.
pub static ALL: &[&Gate] = &[
    &DUAL_PHASE_SKIPPED,
    &EDIT_NOT_PROVEN,
    &ENDPOINT_UNPROVEN,
    &EVIDENCE_CONTRADICTS,
    &EVIDENCE_STALE,
    &GENERATED_COPY,
    &LOCK_DISABLED_IN_CI,
    &NOT_INITIALISABLE,
    &OVERRIDE_UNSET,
    &READER_NAMES_TABLE,
    &REQUIRED_VARIABLE_LEFT,
    &RUNNER_WOULD_BREAK,
    &SHARED_FILE_REFUSED,
    &SOAK_TOO_SHORT,
    &SOURCE_NOT_EDITABLE,
    &STILL_DUAL,
    &TABLE_UNNAMED,
    &UNREAD,
    &UNRESOLVED_SETTING,
    &VERSION_TOO_OLD,
    &VERSION_UNPROVEN,
];

/// The gate with this id.
pub fn find(id: &str) -> Option<&'static Gate> {
    ALL.iter().find(|gate| gate.id == id).copied()
}

/// A gate that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which.
    pub gate: &'static Gate,
    /// Why, and what to do next.
    pub reason: String,
    /// Where the cause stands.
    pub place: Place,
}

impl Hit {
    /// A gate that is not met.
    pub fn new(gate: &'static Gate, place: Place, reason: impl Into<String>) -> Self {
        Self { gate, reason: reason.into(), place }
    }
}
