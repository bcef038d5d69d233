//! How much a finding matters: five words, in one order. Knows nothing else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters. The order is the order of `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, nothing to do.
    Info,
    /// Tidy up when convenient.
    Low,
    /// Should be dealt with before the migration goes on.
    Medium,
    /// Locking is missing, or will break.
    High,
    /// State can be corrupted now.
    Critical,
}

impl Severity {
    /// All of them, in the order of their weight.
    pub const ALL: [Severity; 5] =
        [Severity::Info, Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}
