//! The phases of a migration.

use schemars::JsonSchema;
use serde::Serialize;

use crate::repo::inventory::LockMode;

/// Where a migration step leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Both locks: old and new clients exclude each other.
    Dual,
    /// The lockfile alone.
    Final,
    /// One step back: lockfile to both, both to DynamoDB alone.
    Rollback,
}

impl Phase {
    /// The word used on the command line and in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Dual => "dual",
            Phase::Final => "final",
            Phase::Rollback => "rollback",
        }
    }

    /// The mode that an effective backend in `mode` is brought to; `None` when the phase leaves it alone.
    pub fn target(self, mode: LockMode) -> Option<LockMode> {
        match (self, mode) {
            (Phase::Dual, LockMode::Dynamodb) | (Phase::Rollback, LockMode::Lockfile) => Some(LockMode::Dual),
            (Phase::Final, LockMode::Dynamodb | LockMode::Dual) => Some(LockMode::Lockfile),
            (Phase::Rollback, LockMode::Dual) => Some(LockMode::Dynamodb),
            _ => None,
        }
    }
}
