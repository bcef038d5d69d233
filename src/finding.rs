//! A finding: one rule, one place, one message. Rules make them, reports show them; nothing else lives here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::repo::text::Place;

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

/// One observation: which rule, about what, where, why, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Kebab-case id of the rule; `lockshift explain` prints its page.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about: a root module's path, a file, a table.
    pub subject: String,
    /// Where it stands. A finding without a place cannot be acted on, so there is always one.
    pub place: Place,
    /// What is the case, in one sentence.
    pub message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The reason given by an inline or configured ignore; such a finding never fails a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
}
