//! Why no policy is written: a gate's id, the reason, and what to do.

use std::fmt;

use serde_json::Value;

use super::{BUCKET_POLICY_LIMIT, Wanted};

/// A condition that must hold before policies are written. Each has a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// Somebody who must be able to change the bucket policy could not any more.
    LocksOut,
    /// The bucket's present policy can't be kept as it is beside ours.
    NotMergeable,
    /// A request is decided otherwise than it must be.
    NotProven,
    /// A role that can't be used as it is written.
    RoleUnusable,
    /// Longer than AWS takes.
    TooLarge,
}

impl Gate {
    /// The gate's id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Gate::LocksOut => "policy-locks-out",
            Gate::NotMergeable => "policy-not-mergeable",
            Gate::NotProven => "policy-not-proven",
            Gate::RoleUnusable => "policy-role-unusable",
            Gate::TooLarge => "policy-too-large",
        }
    }
}

/// Nothing is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which gate.
    pub gate: Gate,
    /// What is wrong; may have several lines.
    pub reason: String,
    /// What to do.
    pub next: String,
}

impl Refusal {
    pub(super) fn new(gate: Gate, reason: impl Into<String>, next: impl Into<String>) -> Refusal {
        Refusal { gate, reason: reason.into(), next: next.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.gate.id(), self.reason)
    }
}

impl std::error::Error for Refusal {}

pub(super) fn too_large(wanted: &Wanted, policy: &Value) -> Refusal {
    let length = policy.to_string().len();
    let present = wanted.existing.as_deref().map_or(0, str::len);
    Refusal::new(
        Gate::TooLarge,
        format!(
            "the policy of bucket `{}` would have {length} bytes without whitespace, {present} of them today's; S3 \
             takes {BUCKET_POLICY_LIMIT}",
            wanted.bucket
        ),
        "move statements of the present policy into identity policies, or name roles by fewer patterns",
    )
}

pub(super) fn too_many_states(wanted: &Wanted) -> Refusal {
    Refusal::new(
        Gate::TooLarge,
        format!(
            "the {} states of bucket `{}` do not fit: S3 takes {BUCKET_POLICY_LIMIT} bytes of bucket policy, and a \
             role takes {} managed policies of {} characters, even with keys joined by their first folder",
            wanted.states.len(),
            wanted.bucket,
            super::POLICIES_OF_A_ROLE,
            super::MANAGED_POLICY_LIMIT,
        ),
        "give paths that hold fewer states and write policies for each, with roles of their own",
    )
}

pub(super) fn not_mergeable(why: &str) -> Refusal {
    Refusal::new(
        Gate::NotMergeable,
        format!("the present bucket policy can't be kept beside ours: {why}"),
        "give the policy as `aws s3api get-bucket-policy` prints it, or repair it first",
    )
}

pub(super) fn no_key(text: &str) -> Refusal {
    Refusal::new(
        Gate::RoleUnusable,
        format!("`{text}` is not the ARN of a KMS key"),
        "IAM takes keys only as `arn:aws:kms:REGION:ACCOUNT:key/ID`; an alias has no permissions of its own",
    )
}

pub(super) fn unnamed_key(state: &str, id: &str) -> Refusal {
    Refusal::new(
        Gate::RoleUnusable,
        format!("state `{state}` is encrypted with the KMS key `{id}`, which is not the key's ARN"),
        "give the ARN: `--kms-key arn:aws:kms:REGION:ACCOUNT:key/ID`",
    )
}
