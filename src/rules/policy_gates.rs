//! Gates of `lockshift policy`: conditions under which no policy is written. They have a page here; they are judged
//! while policies are written, and nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// Who must be able to change the bucket policy could not.
pub static POLICY_LOCKS_OUT: Rule = Rule {
    id: "policy-locks-out",
    severity: Severity::High,
    summary: "the new bucket policy would lock out who has to be able to change it",
    page: include_str!("../../docs/rules/policy-locks-out.md"),
    check: Check::Recommending,
};

/// The present policy can't stay as it is.
pub static POLICY_NOT_MERGEABLE: Rule = Rule {
    id: "policy-not-mergeable",
    severity: Severity::High,
    summary: "the bucket's present policy can't be kept as it is beside the new statements",
    page: include_str!("../../docs/rules/policy-not-mergeable.md"),
    check: Check::Recommending,
};

/// The proof failed.
pub static POLICY_NOT_PROVEN: Rule = Rule {
    id: "policy-not-proven",
    severity: Severity::High,
    summary: "with the new policies, a request would not be decided as it must be",
    page: include_str!("../../docs/rules/policy-not-proven.md"),
    check: Check::Recommending,
};

/// A role or key that can't be named so.
pub static POLICY_ROLE_UNUSABLE: Rule = Rule {
    id: "policy-role-unusable",
    severity: Severity::Medium,
    summary: "a role or key is written in a way that a policy can't use",
    page: include_str!("../../docs/rules/policy-role-unusable.md"),
    check: Check::Recommending,
};

/// Longer than AWS takes.
pub static POLICY_TOO_LARGE: Rule = Rule {
    id: "policy-too-large",
    severity: Severity::Medium,
    summary: "a policy would be longer than AWS takes",
    page: include_str!("../../docs/rules/policy-too-large.md"),
    check: Check::Recommending,
};
