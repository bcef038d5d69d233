//! The rules of this room: ids, severities and one line each, once. The registry takes them from here and adds the pages;
//! a test holds the table of `docs/access.md` against them.

use crate::severity::Severity;

/// A rule about access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessRule {
    /// Kebab-case id.
    pub id: &'static str,
    /// The severity that its findings have, save where its page says otherwise.
    pub severity: Severity,
    /// What it says, in one line.
    pub summary: &'static str,
}

/// A constant for each row, and [`ALL`].
macro_rules! rules {
    ($($name:ident = $id:literal, $severity:ident, $summary:literal;)+) => {
        $(
            #[doc = concat!("`", $id, "`.")]
            pub const $name: AccessRule =
                AccessRule { id: $id, severity: Severity::$severity, summary: $summary };
        )+

        /// All of them, by id.
        pub const ALL: &[AccessRule] = &[$($name),+];
    };
}

rules! {
    ACCESS_NOT_KNOWN = "access-not-known", Info,
        "something that decides about locks could not be read or is not understood";
    ACCESS_POINT_OPENS_LOCKS = "access-point-opens-locks", High,
        "an access point lets others at locks that the bucket policy keeps them from";
    BREAK_GLASS_DELETES_BLINDLY = "break-glass-deletes-blindly", Info,
        "a break-glass role can delete a lock that it has not looked at";
    BUCKET_ACLS_ACTIVE = "bucket-acls-active", Medium,
        "the bucket uses ACLs, which can grant rights besides policies";
    BUCKET_LIFECYCLE_UNPROTECTED = "bucket-lifecycle-unprotected", High,
        "lifecycle rules can be changed so that they delete locks";
    BUCKET_MFA_DELETE = "bucket-mfa-delete", Info,
        "MFA Delete is enabled; it does not protect locks";
    BUCKET_POLICY_LOCKS_EVERYONE_OUT = "bucket-policy-locks-everyone-out", High,
        "the bucket policy denies everybody to change it";
    BUCKET_POLICY_NEARLY_FULL = "bucket-policy-nearly-full", Info,
        "the bucket policy is close to its limit of 20 KB";
    BUCKET_POLICY_UNPROTECTED = "bucket-policy-unprotected", High,
        "the policy that protects locks can be removed or replaced";
    BUCKET_PUBLIC_ACCESS_NOT_BLOCKED = "bucket-public-access-not-blocked", High,
        "Block Public Access is not fully on";
    BUCKET_SETTINGS_UNPROTECTED = "bucket-settings-unprotected", Medium,
        "versioning and replication of the bucket can be changed";
    CONDITION_ROLE_PATH_MISSING = "condition-role-path-missing", High,
        "a role's ARN in a condition lacks the role's path";
    CONDITION_SESSION_ARN = "condition-session-arn", High,
        "`aws:PrincipalArn` is compared with a session's ARN, which it never is";
    CONDITION_SKIPPABLE = "condition-skippable", Medium,
        "a condition lets a statement about locks be skipped, or always holds";
    CONDITION_WILDCARD_LITERAL = "condition-wildcard-literal", Medium,
        "a wildcard in an operator that takes none matches nobody";
    CROSS_ACCOUNT_ONE_SIDED = "cross-account-one-sided", High,
        "a role of another account is allowed by one side only";
    DELETED_PRINCIPAL_NAMED = "deleted-principal-named", Medium,
        "a policy names a principal that no longer exists";
    DENY_MISSES_ACCESS_POINTS = "deny-misses-access-points", Medium,
        "a Deny names the bucket only, and access points lead around it";
    DIRECTORY_BUCKET = "directory-bucket", Low,
        "a directory bucket authorizes differently: these rules do not apply";
    EXEMPT_ROLE_OPEN_TO_OTHERS = "exempt-role-open-to-others", High,
        "others can become, or change, a role that may delete locks";
    EXEMPTION_NAMES_NOBODY = "exemption-names-nobody", Info,
        "a policy or the configuration names a principal that does not exist";
    LOCK_DELETE_CONDITIONS_COMBINED = "lock-delete-conditions-combined", High,
        "two negated conditions in one Deny: either one escapes it";
    LOCK_DELETE_DENIES_RUNNER = "lock-delete-denies-runner", High,
        "the bucket policy denies a role that must release locks";
    LOCK_DELETE_DENY_LIST = "lock-delete-deny-list", High,
        "deleting locks is denied to named principals only; everybody else may";
    LOCK_DELETE_EXEMPTION_BROAD = "lock-delete-exemption-broad", Medium,
        "the exemption from the limit on deleting locks is a wide pattern";
    LOCK_DELETE_EXEMPTION_BY_TAG = "lock-delete-exemption-by-tag", Low,
        "who may delete locks depends on a tag that others can set";
    LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL = "lock-delete-exemption-not-a-principal", High,
        "who may delete locks depends on network or organization, not on a role";
    LOCK_DELETE_LIMIT_MISSES_KEYS = "lock-delete-limit-misses-keys", High,
        "the limit on deleting locks leaves out some lock keys";
    LOCK_DELETE_UNLIMITED = "lock-delete-unlimited", High,
        "no policy limits who may delete locks";
    LOCK_DELETE_VERSION_UNLIMITED = "lock-delete-version-unlimited", High,
        "deleting locks is limited, deleting their versions is not";
    LOCK_OPEN_TO_EVERYONE = "lock-open-to-everyone", Critical,
        "anonymous callers or any account may change locks";
    LOCK_OVERWRITE_POSSIBLE = "lock-overwrite-possible", High,
        "a lock can be overwritten: nothing asks for `If-None-Match`";
    LOCK_OVERWRITE_WITH_ETAG = "lock-overwrite-with-etag", Medium,
        "a lock can be overwritten by whoever knows its ETag";
    LOCK_PLANTING_POSSIBLE = "lock-planting-possible", Medium,
        "anybody who may write to the bucket can plant a lock";
    LOCK_TAGS_NOT_ALLOWED = "lock-tags-not-allowed", Medium,
        "a lock is written with an ACL or tags that the role may not set";
    NO_BREAK_GLASS_ROLE = "no-break-glass-role", Info,
        "no role is left to free a lock when the runners are gone";
    NOT_PRINCIPAL_USED = "not-principal-used", High,
        "`NotPrincipal` in the bucket policy locks role sessions out";
    PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS = "public-policy-cuts-other-accounts", Medium,
        "a public bucket policy is restricted, which cuts off other accounts";
    RUNNER_CANNOT_DECRYPT_LOCK = "runner-cannot-decrypt-lock", High,
        "a role can encrypt a lock and can't decrypt it, so it can't release it";
    RUNNER_CANNOT_DELETE_LOCK = "runner-cannot-delete-lock", Critical,
        "a role can create a lock and can't delete it";
    RUNNER_CANNOT_READ_LOCK = "runner-cannot-read-lock", High,
        "a role can create a lock and can't read it, so it can't release it";
    RUNNER_LIMITED_BY_BOUNDARY = "runner-limited-by-boundary", High,
        "a boundary or an organization's policy takes rights on locks from a role";
    RUNNER_WITHOUT_LOCK_RIGHTS = "runner-without-lock-rights", Critical,
        "a role writes a state and has no rights on its lock";
    SIMULATOR_DIFFERS = "simulator-differs", Medium,
        "AWS's policy simulator decides otherwise about a principal's rights on locks";
    STATE_WRITE_NEEDS_IF_NONE_MATCH = "state-write-needs-if-none-match", High,
        "`If-None-Match` is asked of state writes, too, and they fail";
    STATEMENT_NEVER_APPLIES = "statement-never-applies", Medium,
        "a statement's actions and resources don't go together";
    UNLOCK_NEEDS_IF_MATCH = "unlock-needs-if-match", High,
        "deleting a lock asks for `If-Match`, which Terraform and OpenTofu never send";
    UNVERSIONED_DELETE_VERSION_DENIED = "unversioned-delete-version-denied", High,
        "in a bucket without versions, a Deny of DeleteObjectVersion stops unlocking";
    WORKSPACE_LOCKS_NOT_COVERED = "workspace-locks-not-covered", Medium,
        "a role has rights on a state's lock and not on its workspaces' locks";
}
