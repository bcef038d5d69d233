//! A finding: one rule, one place, one message. Rules make them, reports show them; nothing else lives here, and nothing
//! but places in files comes in.

use schemars::JsonSchema;
use serde::Serialize;

use crate::repo::text::Place;
pub use crate::severity::Severity;

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
