//! Rules about what a bucket's policy lets others do to locks. They are judged in `policy::access`; nothing is judged
//! in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// `lock-delete-unlimited`.
pub static LOCK_DELETE_UNLIMITED: Rule = Rule {
    id: "lock-delete-unlimited",
    severity: Severity::High,
    summary: "no policy limits who may delete locks",
    page: include_str!("../../docs/rules/lock-delete-unlimited.md"),
    check: Check::Auditing,
};

/// `lock-delete-limit-misses-keys`.
pub static LOCK_DELETE_LIMIT_MISSES_KEYS: Rule = Rule {
    id: "lock-delete-limit-misses-keys",
    severity: Severity::High,
    summary: "the limit on deleting locks leaves out some lock keys",
    page: include_str!("../../docs/rules/lock-delete-limit-misses-keys.md"),
    check: Check::Auditing,
};

/// `lock-delete-version-unlimited`.
pub static LOCK_DELETE_VERSION_UNLIMITED: Rule = Rule {
    id: "lock-delete-version-unlimited",
    severity: Severity::High,
    summary: "deleting locks is limited, deleting their versions is not",
    page: include_str!("../../docs/rules/lock-delete-version-unlimited.md"),
    check: Check::Auditing,
};

/// `lock-delete-exemption-not-a-principal`.
pub static LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL: Rule = Rule {
    id: "lock-delete-exemption-not-a-principal",
    severity: Severity::High,
    summary: "who may delete locks depends on network or organization, not on a role",
    page: include_str!("../../docs/rules/lock-delete-exemption-not-a-principal.md"),
    check: Check::Auditing,
};

/// `lock-delete-conditions-combined`.
pub static LOCK_DELETE_CONDITIONS_COMBINED: Rule = Rule {
    id: "lock-delete-conditions-combined",
    severity: Severity::High,
    summary: "two negated conditions in one Deny: either one escapes it",
    page: include_str!("../../docs/rules/lock-delete-conditions-combined.md"),
    check: Check::Auditing,
};

/// `lock-delete-deny-list`.
pub static LOCK_DELETE_DENY_LIST: Rule = Rule {
    id: "lock-delete-deny-list",
    severity: Severity::High,
    summary: "deleting locks is denied to named principals only; everybody else may",
    page: include_str!("../../docs/rules/lock-delete-deny-list.md"),
    check: Check::Auditing,
};

/// `lock-delete-exemption-broad`.
pub static LOCK_DELETE_EXEMPTION_BROAD: Rule = Rule {
    id: "lock-delete-exemption-broad",
    severity: Severity::Medium,
    summary: "the exemption from the limit on deleting locks is a wide pattern",
    page: include_str!("../../docs/rules/lock-delete-exemption-broad.md"),
    check: Check::Auditing,
};

/// `condition-skippable`.
pub static CONDITION_SKIPPABLE: Rule = Rule {
    id: "condition-skippable",
    severity: Severity::Medium,
    summary: "a condition lets a statement about locks be skipped, or always holds",
    page: include_str!("../../docs/rules/condition-skippable.md"),
    check: Check::Auditing,
};

/// `condition-wildcard-literal`.
pub static CONDITION_WILDCARD_LITERAL: Rule = Rule {
    id: "condition-wildcard-literal",
    severity: Severity::Medium,
    summary: "a wildcard in an operator that takes none matches nobody",
    page: include_str!("../../docs/rules/condition-wildcard-literal.md"),
    check: Check::Auditing,
};

/// `condition-session-arn`.
pub static CONDITION_SESSION_ARN: Rule = Rule {
    id: "condition-session-arn",
    severity: Severity::High,
    summary: "`aws:PrincipalArn` is compared with a session's ARN, which it never is",
    page: include_str!("../../docs/rules/condition-session-arn.md"),
    check: Check::Auditing,
};

/// `condition-role-path-missing`.
pub static CONDITION_ROLE_PATH_MISSING: Rule = Rule {
    id: "condition-role-path-missing",
    severity: Severity::High,
    summary: "a role's ARN in a condition lacks the role's path",
    page: include_str!("../../docs/rules/condition-role-path-missing.md"),
    check: Check::Auditing,
};

/// `not-principal-used`.
pub static NOT_PRINCIPAL_USED: Rule = Rule {
    id: "not-principal-used",
    severity: Severity::High,
    summary: "`NotPrincipal` in the bucket policy locks role sessions out",
    page: include_str!("../../docs/rules/not-principal-used.md"),
    check: Check::Auditing,
};

/// `deleted-principal-named`.
pub static DELETED_PRINCIPAL_NAMED: Rule = Rule {
    id: "deleted-principal-named",
    severity: Severity::Medium,
    summary: "a policy names a principal that no longer exists",
    page: include_str!("../../docs/rules/deleted-principal-named.md"),
    check: Check::Auditing,
};

/// `lock-delete-denies-runner`.
pub static LOCK_DELETE_DENIES_RUNNER: Rule = Rule {
    id: "lock-delete-denies-runner",
    severity: Severity::High,
    summary: "the bucket policy denies a role that must release locks",
    page: include_str!("../../docs/rules/lock-delete-denies-runner.md"),
    check: Check::Auditing,
};

/// `unlock-needs-if-match`.
pub static UNLOCK_NEEDS_IF_MATCH: Rule = Rule {
    id: "unlock-needs-if-match",
    severity: Severity::High,
    summary: "deleting a lock asks for `If-Match`, which Terraform and OpenTofu never send",
    page: include_str!("../../docs/rules/unlock-needs-if-match.md"),
    check: Check::Auditing,
};

/// `break-glass-deletes-blindly`.
pub static BREAK_GLASS_DELETES_BLINDLY: Rule = Rule {
    id: "break-glass-deletes-blindly",
    severity: Severity::Info,
    summary: "a break-glass role can delete a lock that it has not looked at",
    page: include_str!("../../docs/rules/break-glass-deletes-blindly.md"),
    check: Check::Auditing,
};

/// `statement-never-applies`.
pub static STATEMENT_NEVER_APPLIES: Rule = Rule {
    id: "statement-never-applies",
    severity: Severity::Medium,
    summary: "a statement's actions and resources don't go together",
    page: include_str!("../../docs/rules/statement-never-applies.md"),
    check: Check::Auditing,
};

/// `lock-delete-exemption-by-tag`.
pub static LOCK_DELETE_EXEMPTION_BY_TAG: Rule = Rule {
    id: "lock-delete-exemption-by-tag",
    severity: Severity::Low,
    summary: "who may delete locks depends on a tag that others can set",
    page: include_str!("../../docs/rules/lock-delete-exemption-by-tag.md"),
    check: Check::Auditing,
};

/// `lock-overwrite-possible`.
pub static LOCK_OVERWRITE_POSSIBLE: Rule = Rule {
    id: "lock-overwrite-possible",
    severity: Severity::High,
    summary: "a lock can be overwritten: nothing asks for `If-None-Match`",
    page: include_str!("../../docs/rules/lock-overwrite-possible.md"),
    check: Check::Auditing,
};

/// `state-write-needs-if-none-match`.
pub static STATE_WRITE_NEEDS_IF_NONE_MATCH: Rule = Rule {
    id: "state-write-needs-if-none-match",
    severity: Severity::High,
    summary: "`If-None-Match` is asked of state writes, too, and they fail",
    page: include_str!("../../docs/rules/state-write-needs-if-none-match.md"),
    check: Check::Auditing,
};

/// `lock-overwrite-with-etag`.
pub static LOCK_OVERWRITE_WITH_ETAG: Rule = Rule {
    id: "lock-overwrite-with-etag",
    severity: Severity::Medium,
    summary: "a lock can be overwritten by whoever knows its ETag",
    page: include_str!("../../docs/rules/lock-overwrite-with-etag.md"),
    check: Check::Auditing,
};

/// `lock-planting-possible`.
pub static LOCK_PLANTING_POSSIBLE: Rule = Rule {
    id: "lock-planting-possible",
    severity: Severity::Medium,
    summary: "anybody who may write to the bucket can plant a lock",
    page: include_str!("../../docs/rules/lock-planting-possible.md"),
    check: Check::Auditing,
};

/// `bucket-policy-unprotected`.
pub static BUCKET_POLICY_UNPROTECTED: Rule = Rule {
    id: "bucket-policy-unprotected",
    severity: Severity::High,
    summary: "the policy that protects locks can be removed or replaced",
    page: include_str!("../../docs/rules/bucket-policy-unprotected.md"),
    check: Check::Auditing,
};

/// `bucket-lifecycle-unprotected`.
pub static BUCKET_LIFECYCLE_UNPROTECTED: Rule = Rule {
    id: "bucket-lifecycle-unprotected",
    severity: Severity::High,
    summary: "lifecycle rules can be changed so that they delete locks",
    page: include_str!("../../docs/rules/bucket-lifecycle-unprotected.md"),
    check: Check::Auditing,
};

/// `bucket-policy-locks-everyone-out`.
pub static BUCKET_POLICY_LOCKS_EVERYONE_OUT: Rule = Rule {
    id: "bucket-policy-locks-everyone-out",
    severity: Severity::High,
    summary: "the bucket policy denies everybody to change it",
    page: include_str!("../../docs/rules/bucket-policy-locks-everyone-out.md"),
    check: Check::Auditing,
};

/// `bucket-settings-unprotected`.
pub static BUCKET_SETTINGS_UNPROTECTED: Rule = Rule {
    id: "bucket-settings-unprotected",
    severity: Severity::Medium,
    summary: "versioning and replication of the bucket can be changed",
    page: include_str!("../../docs/rules/bucket-settings-unprotected.md"),
    check: Check::Auditing,
};

/// `lock-open-to-everyone`.
pub static LOCK_OPEN_TO_EVERYONE: Rule = Rule {
    id: "lock-open-to-everyone",
    severity: Severity::Critical,
    summary: "anonymous callers or any account may change locks",
    page: include_str!("../../docs/rules/lock-open-to-everyone.md"),
    check: Check::Auditing,
};
