//! The rules of this room: ids, severities and one line each. `docs/access.md` has the same table for readers.

/// A rule about access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRule {
    /// Kebab-case id.
    pub id: &'static str,
    /// The severity that its findings have, save where its page says otherwise.
    pub severity: &'static str,
    /// What it says, in one line.
    pub summary: &'static str,
}

const fn rule(id: &'static str, severity: &'static str, summary: &'static str) -> AccessRule {
    AccessRule { id, severity, summary }
}

/// `simulator-differs`.
pub const SIMULATOR_DIFFERS: AccessRule = rule(
    "simulator-differs",
    "medium",
    "AWS's policy simulator decides otherwise about a principal's rights on locks",
);
/// `access-point-opens-locks`.
pub const ACCESS_POINT_OPENS_LOCKS: AccessRule = rule(
    "access-point-opens-locks",
    "high",
    "an access point lets others at locks that the bucket policy keeps them from",
);
/// `lock-delete-unlimited`.
pub const LOCK_DELETE_UNLIMITED: AccessRule =
    rule("lock-delete-unlimited", "high", "no policy limits who may delete locks");
/// `lock-delete-limit-misses-keys`.
pub const LOCK_DELETE_LIMIT_MISSES_KEYS: AccessRule =
    rule("lock-delete-limit-misses-keys", "high", "the limit on deleting locks leaves out some lock keys");
/// `lock-delete-version-unlimited`.
pub const LOCK_DELETE_VERSION_UNLIMITED: AccessRule = rule(
    "lock-delete-version-unlimited",
    "high",
    "deleting locks is limited, deleting their versions is not",
);
/// `lock-delete-exemption-not-a-principal`.
pub const LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL: AccessRule = rule(
    "lock-delete-exemption-not-a-principal",
    "high",
    "who may delete locks depends on network or organization, not on a role",
);
/// `lock-delete-conditions-combined`.
pub const LOCK_DELETE_CONDITIONS_COMBINED: AccessRule = rule(
    "lock-delete-conditions-combined",
    "high",
    "two negated conditions in one Deny: either one escapes it",
);
/// `lock-delete-deny-list`.
pub const LOCK_DELETE_DENY_LIST: AccessRule = rule(
    "lock-delete-deny-list",
    "high",
    "deleting locks is denied to named principals only; everybody else may",
);
/// `lock-delete-exemption-broad`.
pub const LOCK_DELETE_EXEMPTION_BROAD: AccessRule = rule(
    "lock-delete-exemption-broad",
    "medium",
    "the exemption from the limit on deleting locks is a wide pattern",
);
/// `condition-skippable`.
pub const CONDITION_SKIPPABLE: AccessRule = rule(
    "condition-skippable",
    "medium",
    "a condition lets a statement about locks be skipped, or always holds",
);
/// `condition-wildcard-literal`.
pub const CONDITION_WILDCARD_LITERAL: AccessRule =
    rule("condition-wildcard-literal", "medium", "a wildcard in an operator that takes none matches nobody");
/// `condition-session-arn`.
pub const CONDITION_SESSION_ARN: AccessRule = rule(
    "condition-session-arn",
    "high",
    "`aws:PrincipalArn` is compared with a session's ARN, which it never is",
);
/// `condition-role-path-missing`.
pub const CONDITION_ROLE_PATH_MISSING: AccessRule =
    rule("condition-role-path-missing", "high", "a role's ARN in a condition lacks the role's path");
/// `not-principal-used`.
pub const NOT_PRINCIPAL_USED: AccessRule =
    rule("not-principal-used", "high", "`NotPrincipal` in the bucket policy locks role sessions out");
/// `deleted-principal-named`.
pub const DELETED_PRINCIPAL_NAMED: AccessRule =
    rule("deleted-principal-named", "medium", "a policy names a principal that no longer exists");
/// `lock-delete-denies-runner`.
pub const LOCK_DELETE_DENIES_RUNNER: AccessRule =
    rule("lock-delete-denies-runner", "high", "the bucket policy denies a role that must release locks");
/// `unlock-needs-if-match`.
pub const UNLOCK_NEEDS_IF_MATCH: AccessRule = rule(
    "unlock-needs-if-match",
    "high",
    "deleting a lock asks for `If-Match`, which Terraform and OpenTofu never send",
);
/// `break-glass-deletes-blindly`.
pub const BREAK_GLASS_DELETES_BLINDLY: AccessRule = rule(
    "break-glass-deletes-blindly",
    "info",
    "a break-glass role can delete a lock that it has not looked at",
);
/// `statement-never-applies`.
pub const STATEMENT_NEVER_APPLIES: AccessRule =
    rule("statement-never-applies", "medium", "a statement's actions and resources don't go together");
/// `lock-delete-exemption-by-tag`.
pub const LOCK_DELETE_EXEMPTION_BY_TAG: AccessRule =
    rule("lock-delete-exemption-by-tag", "low", "who may delete locks depends on a tag that others can set");
/// `lock-overwrite-possible`.
pub const LOCK_OVERWRITE_POSSIBLE: AccessRule =
    rule("lock-overwrite-possible", "high", "a lock can be overwritten: nothing asks for `If-None-Match`");
/// `state-write-needs-if-none-match`.
pub const STATE_WRITE_NEEDS_IF_NONE_MATCH: AccessRule = rule(
    "state-write-needs-if-none-match",
    "high",
    "`If-None-Match` is asked of state writes, too, and they fail",
);
/// `lock-overwrite-with-etag`.
pub const LOCK_OVERWRITE_WITH_ETAG: AccessRule =
    rule("lock-overwrite-with-etag", "medium", "a lock can be overwritten by whoever knows its ETag");
/// `lock-planting-possible`.
pub const LOCK_PLANTING_POSSIBLE: AccessRule =
    rule("lock-planting-possible", "medium", "anybody who may write to the bucket can plant a lock");
/// `bucket-policy-unprotected`.
pub const BUCKET_POLICY_UNPROTECTED: AccessRule =
    rule("bucket-policy-unprotected", "high", "the policy that protects locks can be removed or replaced");
/// `bucket-lifecycle-unprotected`.
pub const BUCKET_LIFECYCLE_UNPROTECTED: AccessRule =
    rule("bucket-lifecycle-unprotected", "high", "lifecycle rules can be changed so that they delete locks");
/// `bucket-policy-locks-everyone-out`.
pub const BUCKET_POLICY_LOCKS_EVERYONE_OUT: AccessRule =
    rule("bucket-policy-locks-everyone-out", "high", "the bucket policy denies everybody to change it");
/// `bucket-settings-unprotected`.
pub const BUCKET_SETTINGS_UNPROTECTED: AccessRule =
    rule("bucket-settings-unprotected", "medium", "versioning and replication of the bucket can be changed");
/// `lock-open-to-everyone`.
pub const LOCK_OPEN_TO_EVERYONE: AccessRule =
    rule("lock-open-to-everyone", "critical", "anonymous callers or any account may change locks");
/// `runner-without-lock-rights`.
pub const RUNNER_WITHOUT_LOCK_RIGHTS: AccessRule =
    rule("runner-without-lock-rights", "critical", "a role writes a state and has no rights on its lock");
/// `runner-cannot-delete-lock`.
pub const RUNNER_CANNOT_DELETE_LOCK: AccessRule =
    rule("runner-cannot-delete-lock", "critical", "a role can create a lock and can't delete it");
/// `runner-cannot-read-lock`.
pub const RUNNER_CANNOT_READ_LOCK: AccessRule = rule(
    "runner-cannot-read-lock",
    "high",
    "a role can create a lock and can't read it, so it can't release it",
);
/// `runner-cannot-decrypt-lock`.
pub const RUNNER_CANNOT_DECRYPT_LOCK: AccessRule = rule(
    "runner-cannot-decrypt-lock",
    "high",
    "a role can encrypt a lock and can't decrypt it, so it can't release it",
);
/// `runner-limited-by-boundary`.
pub const RUNNER_LIMITED_BY_BOUNDARY: AccessRule = rule(
    "runner-limited-by-boundary",
    "high",
    "a boundary or an organization's policy takes rights on locks from a role",
);
/// `cross-account-one-sided`.
pub const CROSS_ACCOUNT_ONE_SIDED: AccessRule =
    rule("cross-account-one-sided", "high", "a role of another account is allowed by one side only");
/// `workspace-locks-not-covered`.
pub const WORKSPACE_LOCKS_NOT_COVERED: AccessRule = rule(
    "workspace-locks-not-covered",
    "medium",
    "a role has rights on a state's lock and not on its workspaces' locks",
);
/// `lock-tags-not-allowed`.
pub const LOCK_TAGS_NOT_ALLOWED: AccessRule = rule(
    "lock-tags-not-allowed",
    "medium",
    "a lock is written with an ACL or tags that the role may not set",
);
/// `unversioned-delete-version-denied`.
pub const UNVERSIONED_DELETE_VERSION_DENIED: AccessRule = rule(
    "unversioned-delete-version-denied",
    "high",
    "in a bucket without versions, a Deny of DeleteObjectVersion stops unlocking",
);
/// `bucket-mfa-delete`.
pub const BUCKET_MFA_DELETE: AccessRule =
    rule("bucket-mfa-delete", "info", "MFA Delete is enabled; it does not protect locks");
/// `bucket-acls-active`.
pub const BUCKET_ACLS_ACTIVE: AccessRule =
    rule("bucket-acls-active", "medium", "the bucket uses ACLs, which can grant rights besides policies");
/// `bucket-public-access-not-blocked`.
pub const BUCKET_PUBLIC_ACCESS_NOT_BLOCKED: AccessRule =
    rule("bucket-public-access-not-blocked", "high", "Block Public Access is not fully on");
/// `public-policy-cuts-other-accounts`.
pub const PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS: AccessRule = rule(
    "public-policy-cuts-other-accounts",
    "medium",
    "a public bucket policy is restricted, which cuts off other accounts",
);
/// `deny-misses-access-points`.
pub const DENY_MISSES_ACCESS_POINTS: AccessRule = rule(
    "deny-misses-access-points",
    "medium",
    "a Deny names the bucket only, and access points lead around it",
);
/// `bucket-policy-nearly-full`.
pub const BUCKET_POLICY_NEARLY_FULL: AccessRule =
    rule("bucket-policy-nearly-full", "info", "the bucket policy is close to its limit of 20 KB");
/// `exempt-role-open-to-others`.
pub const EXEMPT_ROLE_OPEN_TO_OTHERS: AccessRule =
    rule("exempt-role-open-to-others", "high", "others can become, or change, a role that may delete locks");
/// `no-break-glass-role`.
pub const NO_BREAK_GLASS_ROLE: AccessRule =
    rule("no-break-glass-role", "info", "no role is left to free a lock when the runners are gone");
/// `access-not-known`.
pub const ACCESS_NOT_KNOWN: AccessRule = rule(
    "access-not-known",
    "info",
    "something that decides about locks could not be read or is not understood",
);
/// `exemption-names-nobody`.
pub const EXEMPTION_NAMES_NOBODY: AccessRule = rule(
    "exemption-names-nobody",
    "info",
    "a policy or the configuration names a principal that does not exist",
);
/// `directory-bucket`.
pub const DIRECTORY_BUCKET: AccessRule =
    rule("directory-bucket", "low", "a directory bucket authorizes differently: these rules do not apply");

/// All of them, by id.
pub const ALL: &[AccessRule] = &[
    ACCESS_NOT_KNOWN,
    ACCESS_POINT_OPENS_LOCKS,
    BREAK_GLASS_DELETES_BLINDLY,
    BUCKET_ACLS_ACTIVE,
    BUCKET_LIFECYCLE_UNPROTECTED,
    BUCKET_MFA_DELETE,
    BUCKET_POLICY_LOCKS_EVERYONE_OUT,
    BUCKET_POLICY_NEARLY_FULL,
    BUCKET_POLICY_UNPROTECTED,
    BUCKET_PUBLIC_ACCESS_NOT_BLOCKED,
    BUCKET_SETTINGS_UNPROTECTED,
    CONDITION_ROLE_PATH_MISSING,
    CONDITION_SESSION_ARN,
    CONDITION_SKIPPABLE,
    CONDITION_WILDCARD_LITERAL,
    CROSS_ACCOUNT_ONE_SIDED,
    DELETED_PRINCIPAL_NAMED,
    DENY_MISSES_ACCESS_POINTS,
    DIRECTORY_BUCKET,
    EXEMPT_ROLE_OPEN_TO_OTHERS,
    EXEMPTION_NAMES_NOBODY,
    LOCK_DELETE_CONDITIONS_COMBINED,
    LOCK_DELETE_DENIES_RUNNER,
    LOCK_DELETE_DENY_LIST,
    LOCK_DELETE_EXEMPTION_BROAD,
    LOCK_DELETE_EXEMPTION_BY_TAG,
    LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL,
    LOCK_DELETE_LIMIT_MISSES_KEYS,
    LOCK_DELETE_UNLIMITED,
    LOCK_DELETE_VERSION_UNLIMITED,
    LOCK_OPEN_TO_EVERYONE,
    LOCK_OVERWRITE_POSSIBLE,
    LOCK_OVERWRITE_WITH_ETAG,
    LOCK_PLANTING_POSSIBLE,
    LOCK_TAGS_NOT_ALLOWED,
    NO_BREAK_GLASS_ROLE,
    NOT_PRINCIPAL_USED,
    PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS,
    RUNNER_CANNOT_DECRYPT_LOCK,
    RUNNER_CANNOT_DELETE_LOCK,
    RUNNER_CANNOT_READ_LOCK,
    RUNNER_LIMITED_BY_BOUNDARY,
    RUNNER_WITHOUT_LOCK_RIGHTS,
    SIMULATOR_DIFFERS,
    STATE_WRITE_NEEDS_IF_NONE_MATCH,
    STATEMENT_NEVER_APPLIES,
    UNLOCK_NEEDS_IF_MATCH,
    UNVERSIONED_DELETE_VERSION_DENIED,
    WORKSPACE_LOCKS_NOT_COVERED,
];
