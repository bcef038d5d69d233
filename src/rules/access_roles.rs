//! Rules about roles that take locks, and about settings where they meet policies. They are judged in
//! `policy::access`; nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// `runner-without-lock-rights`.
pub static RUNNER_WITHOUT_LOCK_RIGHTS: Rule = Rule {
    id: "runner-without-lock-rights",
    severity: Severity::Critical,
    summary: "a role writes a state and has no rights on its lock",
    page: include_str!("../../docs/rules/runner-without-lock-rights.md"),
    check: Check::Auditing,
};

/// `runner-cannot-delete-lock`.
pub static RUNNER_CANNOT_DELETE_LOCK: Rule = Rule {
    id: "runner-cannot-delete-lock",
    severity: Severity::Critical,
    summary: "a role can create a lock and can't delete it",
    page: include_str!("../../docs/rules/runner-cannot-delete-lock.md"),
    check: Check::Auditing,
};

/// `runner-cannot-read-lock`.
pub static RUNNER_CANNOT_READ_LOCK: Rule = Rule {
    id: "runner-cannot-read-lock",
    severity: Severity::High,
    summary: "a role can create a lock and can't read it, so it can't release it",
    page: include_str!("../../docs/rules/runner-cannot-read-lock.md"),
    check: Check::Auditing,
};

/// `runner-cannot-decrypt-lock`.
pub static RUNNER_CANNOT_DECRYPT_LOCK: Rule = Rule {
    id: "runner-cannot-decrypt-lock",
    severity: Severity::High,
    summary: "a role can encrypt a lock and can't decrypt it, so it can't release it",
    page: include_str!("../../docs/rules/runner-cannot-decrypt-lock.md"),
    check: Check::Auditing,
};

/// `runner-limited-by-boundary`.
pub static RUNNER_LIMITED_BY_BOUNDARY: Rule = Rule {
    id: "runner-limited-by-boundary",
    severity: Severity::High,
    summary: "a boundary or an organization's policy takes rights on locks from a role",
    page: include_str!("../../docs/rules/runner-limited-by-boundary.md"),
    check: Check::Auditing,
};

/// `cross-account-one-sided`.
pub static CROSS_ACCOUNT_ONE_SIDED: Rule = Rule {
    id: "cross-account-one-sided",
    severity: Severity::High,
    summary: "a role of another account is allowed by one side only",
    page: include_str!("../../docs/rules/cross-account-one-sided.md"),
    check: Check::Auditing,
};

/// `workspace-locks-not-covered`.
pub static WORKSPACE_LOCKS_NOT_COVERED: Rule = Rule {
    id: "workspace-locks-not-covered",
    severity: Severity::Medium,
    summary: "a role has rights on a state's lock and not on its workspaces' locks",
    page: include_str!("../../docs/rules/workspace-locks-not-covered.md"),
    check: Check::Auditing,
};

/// `lock-tags-not-allowed`.
pub static LOCK_TAGS_NOT_ALLOWED: Rule = Rule {
    id: "lock-tags-not-allowed",
    severity: Severity::Medium,
    summary: "a lock is written with an ACL or tags that the role may not set",
    page: include_str!("../../docs/rules/lock-tags-not-allowed.md"),
    check: Check::Auditing,
};

/// `unversioned-delete-version-denied`.
pub static UNVERSIONED_DELETE_VERSION_DENIED: Rule = Rule {
    id: "unversioned-delete-version-denied",
    severity: Severity::High,
    summary: "in a bucket without versions, a Deny of DeleteObjectVersion stops unlocking",
    page: include_str!("../../docs/rules/unversioned-delete-version-denied.md"),
    check: Check::Auditing,
};

/// `bucket-mfa-delete`.
pub static BUCKET_MFA_DELETE: Rule = Rule {
    id: "bucket-mfa-delete",
    severity: Severity::Info,
    summary: "MFA Delete is enabled; it does not protect locks",
    page: include_str!("../../docs/rules/bucket-mfa-delete.md"),
    check: Check::Auditing,
};

/// `bucket-acls-active`.
pub static BUCKET_ACLS_ACTIVE: Rule = Rule {
    id: "bucket-acls-active",
    severity: Severity::Medium,
    summary: "the bucket uses ACLs, which can grant rights besides policies",
    page: include_str!("../../docs/rules/bucket-acls-active.md"),
    check: Check::Auditing,
};

/// `bucket-public-access-not-blocked`.
pub static BUCKET_PUBLIC_ACCESS_NOT_BLOCKED: Rule = Rule {
    id: "bucket-public-access-not-blocked",
    severity: Severity::High,
    summary: "Block Public Access is not fully on",
    page: include_str!("../../docs/rules/bucket-public-access-not-blocked.md"),
    check: Check::Auditing,
};

/// `public-policy-cuts-other-accounts`.
pub static PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS: Rule = Rule {
    id: "public-policy-cuts-other-accounts",
    severity: Severity::Medium,
    summary: "a public bucket policy is restricted, which cuts off other accounts",
    page: include_str!("../../docs/rules/public-policy-cuts-other-accounts.md"),
    check: Check::Auditing,
};

/// `deny-misses-access-points`.
pub static DENY_MISSES_ACCESS_POINTS: Rule = Rule {
    id: "deny-misses-access-points",
    severity: Severity::Medium,
    summary: "a Deny names the bucket only, and access points lead around it",
    page: include_str!("../../docs/rules/deny-misses-access-points.md"),
    check: Check::Auditing,
};

/// `bucket-policy-nearly-full`.
pub static BUCKET_POLICY_NEARLY_FULL: Rule = Rule {
    id: "bucket-policy-nearly-full",
    severity: Severity::Info,
    summary: "the bucket policy is close to its limit of 20 KB",
    page: include_str!("../../docs/rules/bucket-policy-nearly-full.md"),
    check: Check::Auditing,
};

/// `exempt-role-open-to-others`.
pub static EXEMPT_ROLE_OPEN_TO_OTHERS: Rule = Rule {
    id: "exempt-role-open-to-others",
    severity: Severity::High,
    summary: "others can become, or change, a role that may delete locks",
    page: include_str!("../../docs/rules/exempt-role-open-to-others.md"),
    check: Check::Auditing,
};

/// `no-break-glass-role`.
pub static NO_BREAK_GLASS_ROLE: Rule = Rule {
    id: "no-break-glass-role",
    severity: Severity::Info,
    summary: "no role is left to free a lock when the runners are gone",
    page: include_str!("../../docs/rules/no-break-glass-role.md"),
    check: Check::Auditing,
};

/// `simulator-differs`.
pub static SIMULATOR_DIFFERS: Rule = Rule {
    id: "simulator-differs",
    severity: Severity::Medium,
    summary: "AWS's policy simulator decides otherwise about a principal's rights on locks",
    page: include_str!("../../docs/rules/simulator-differs.md"),
    check: Check::Auditing,
};

/// `access-point-opens-locks`.
pub static ACCESS_POINT_OPENS_LOCKS: Rule = Rule {
    id: "access-point-opens-locks",
    severity: Severity::High,
    summary: "an access point lets others at locks that the bucket policy keeps them from",
    page: include_str!("../../docs/rules/access-point-opens-locks.md"),
    check: Check::Auditing,
};

/// `access-not-known`.
pub static ACCESS_NOT_KNOWN: Rule = Rule {
    id: "access-not-known",
    severity: Severity::Info,
    summary: "something that decides about locks could not be read or is not understood",
    page: include_str!("../../docs/rules/access-not-known.md"),
    check: Check::Auditing,
};

/// `exemption-names-nobody`.
pub static EXEMPTION_NAMES_NOBODY: Rule = Rule {
    id: "exemption-names-nobody",
    severity: Severity::Info,
    summary: "a policy or the configuration names a principal that does not exist",
    page: include_str!("../../docs/rules/exemption-names-nobody.md"),
    check: Check::Auditing,
};

/// `directory-bucket`.
pub static DIRECTORY_BUCKET: Rule = Rule {
    id: "directory-bucket",
    severity: Severity::Low,
    summary: "a directory bucket authorizes differently: these rules do not apply",
    page: include_str!("../../docs/rules/directory-bucket.md"),
    check: Check::Auditing,
};
