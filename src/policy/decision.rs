//! The answer to a request, and the statements that made it.

pub use super::kind::PolicyKind;
use super::missing::Missing;

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// A Deny statement applies.
    ExplicitlyDenied,
    /// Nothing that would be needed allows it.
    ImplicitlyDenied,
    /// It depends on what is missing.
    Unknown,
    /// It is allowed.
    Allowed,
}

impl Verdict {
    /// The name as `policy decide` prints it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::ExplicitlyDenied => "ExplicitlyDenied",
            Verdict::ImplicitlyDenied => "ImplicitlyDenied",
            Verdict::Unknown => "Unknown",
            Verdict::Allowed => "Allowed",
        }
    }
}

/// What a statement does when it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// It allows.
    Allow,
    /// It denies.
    Deny,
    /// The element is missing or not understood: it may do either.
    NotUnderstood,
}

impl Effect {
    /// The name as policies write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Allow => "Allow",
            Effect::Deny => "Deny",
            Effect::NotUnderstood => "?",
        }
    }
}

/// A statement that had a part in a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deciding {
    /// The policy's place.
    pub kind: PolicyKind,
    /// The organization's level for SCPs and RCPs, from 0; 0 for all others.
    pub level: usize,
    /// Which of the policies at this place, from 0.
    pub policy: usize,
    /// Which statement of the policy, from 0.
    pub index: usize,
    /// Its `Sid`.
    pub sid: Option<String>,
    /// What it does.
    pub effect: Effect,
    /// Empty where it certainly applies; else what that depends on.
    pub missing: Vec<Missing>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What is decided.
    pub verdict: Verdict,
    /// The statements that decided: those that deny, those that allow, or for an unknown verdict those that may and
    /// those that would. In the order of [`PolicyKind`], level, policy, index.
    pub statements: Vec<Deciding>,
    /// For an unknown verdict: what would have to be known. Sorted, each once.
    pub missing: Vec<Missing>,
    /// For an implicit denial: where an Allow is missing.
    pub withheld: Vec<PolicyKind>,
}

impl Decision {
    /// The condition keys that an unknown verdict depends on, as written; sorted, each once without regard to case.
    #[must_use]
    pub fn missing_keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.missing.iter().filter_map(Missing::key).collect();
        keys.sort_by_key(|key| key.to_ascii_lowercase());
        keys.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        keys
    }

    /// Whether an unknown verdict depends on condition keys of the request alone: then it is "only if …", not
    /// "cannot say".
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.verdict == Verdict::Unknown && self.missing.iter().all(|missing| missing.key().is_some())
    }

    /// The statements that may or may not apply.
    pub fn open(&self) -> impl Iterator<Item = &Deciding> {
        self.statements.iter().filter(|statement| !statement.missing.is_empty())
    }
}
