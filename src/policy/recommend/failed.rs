//! A request of the proof that was decided otherwise than it must be.

use std::fmt;

use crate::policy::{Decision, Effect, PolicyKind, Verdict};

/// Who, what, and how it was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Who asked: an ARN, or words with it.
    pub who: String,
    /// The action, with the condition that the request carries.
    pub action: String,
    /// On what: an ARN.
    pub resource: String,
    /// Whether it must be allowed; else it must be denied.
    pub must: bool,
    /// The decision.
    pub decision: Decision,
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let must = if self.must { "Allowed" } else { "denied" };
        let Failed { who, action, resource, decision, .. } = self;
        write!(out, "{who}: {action} on {resource} is {}, must be {must}", decision.verdict.as_str())?;
        let statements: Vec<String> = decision
            .statements
            .iter()
            .filter(|deciding| decision.verdict != Verdict::Unknown || !deciding.missing.is_empty())
            .map(|deciding| {
                let name = match &deciding.sid {
                    Some(sid) => format!("`{sid}`"),
                    None => format!("{}", deciding.index + 1),
                };
                let does = if deciding.effect == Effect::Allow { "allows" } else { "denies" };
                let place =
                    if deciding.kind == PolicyKind::Resource { "bucket policy" } else { "own policy" };
                format!("{place}, statement {name} {does}")
            })
            .collect();
        if !statements.is_empty() {
            write!(out, " ({})", statements.join("; "))?;
        }
        if !decision.missing.is_empty() {
            let missing: Vec<String> = decision.missing.iter().map(ToString::to_string).collect();
            write!(out, "; it depends on {}", missing.join(", "))?;
        }
        Ok(())
    }
}
