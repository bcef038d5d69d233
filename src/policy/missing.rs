//! Why an answer is not known: the things that would have to be known, or that AWS does not say.

use std::fmt;

/// One thing without which a statement, or a whole answer, stays open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// A condition key of the request.
    Key {
        /// The key as the policy writes it.
        key: String,
        /// What the policy asks of it, in its own words: `StringNotEquals`. For a policy variable: `variable`.
        operator: String,
        /// The values that it is compared with.
        values: Vec<String>,
    },
    /// Part of a policy that is not understood, with what and why.
    NotUnderstood(String),
    /// A case in which AWS's documentation says nothing, or engines differ.
    NotDocumented(String),
    /// Policies that could not be read.
    Policies(super::kind::PolicyKind),
    /// Something about the request: the path of a role, the account that owns the resource.
    Request(String),
}

impl Missing {
    /// The condition key, where one is missing.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Missing::Key { key, .. } => Some(key),
            _ => None,
        }
    }

    /// A key's name alone, or the reason in words.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Missing::Key { key, .. } => key.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Key { key, operator, values } if operator == VARIABLE || values.is_empty() => {
                write!(out, "{key} ({operator})")
            }
            Missing::Key { key, operator, values } => {
                write!(out, "{key} ({operator} {})", values.join(" | "))
            }
            Missing::NotUnderstood(what) => write!(out, "not understood: {what}"),
            Missing::NotDocumented(what) => write!(out, "AWS does not say: {what}"),
            Missing::Policies(kind) => write!(out, "not read: {}", kind.words()),
            Missing::Request(what) => out.write_str(what),
        }
    }
}

/// The operator of a key that is missed as a policy variable.
pub(super) const VARIABLE: &str = "variable";

/// Collects what is missing while a statement is judged.
pub(super) type Gaps = Vec<Missing>;
