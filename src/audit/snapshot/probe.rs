//! What a store answered when it was asked whether it honours conditions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// What a store does with `If-None-Match: *`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeVerdict {
    /// It refuses the second write: locks lock.
    Enforced,
    /// It refuses every such write: no lock can be taken.
    Rejected,
    /// It overwrites without a word: everybody gets the lock.
    Ignored,
}

impl ProbeVerdict {
    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Rejected => "rejected",
            Self::Ignored => "ignored",
        }
    }
}

/// One request of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeStep {
    /// What was asked.
    pub ask: String,
    /// The HTTP status, or what cut the connection.
    pub answer: String,
}

/// What a probe of one store said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeResult {
    /// The bucket.
    pub bucket: String,
    /// The endpoint that was asked; none for AWS itself.
    pub endpoint: Option<String>,
    /// Whether a second `If-None-Match: *` write was refused. Only this makes locks lock.
    pub honoured: bool,
    /// What the store does with `If-None-Match: *`.
    pub verdict: ProbeVerdict,
    /// Whether it checks `If-Match` on DELETE, which `unlock` needs; none where it was not asked.
    #[serde(default)]
    pub conditional_delete: Option<bool>,
    /// What was asked, and how it was answered.
    #[serde(default)]
    pub steps: Vec<ProbeStep>,
    /// When.
    pub at: Moment,
}
