//! Rules about who can do what to locks, and what a bucket's policy and settings let others do. They are judged in
//! `policy::access`, which has their ids, severities and summaries, too; this file adds their pages.

use super::{Check, Rule};
use crate::policy::access::rules::{self as access, AccessRule};

const fn registered(rule: AccessRule, page: &'static str) -> Rule {
    Rule { id: rule.id, severity: rule.severity, summary: rule.summary, page, check: Check::Auditing }
}

/// The rule of `policy::access` with the same name, and its page in `docs/rules`.
macro_rules! pages {
    ($($name:ident $id:literal;)+) => {
        $(
            #[doc = concat!("`", $id, "`.")]
            pub static $name: Rule =
                registered(access::$name, include_str!(concat!("../../docs/rules/", $id, ".md")));
        )+
    };
}

pages! {
    ACCESS_NOT_KNOWN "access-not-known";
    ACCESS_POINT_OPENS_LOCKS "access-point-opens-locks";
    BREAK_GLASS_DELETES_BLINDLY "break-glass-deletes-blindly";
    BUCKET_ACLS_ACTIVE "bucket-acls-active";
    BUCKET_LIFECYCLE_UNPROTECTED "bucket-lifecycle-unprotected";
    BUCKET_MFA_DELETE "bucket-mfa-delete";
    BUCKET_POLICY_LOCKS_EVERYONE_OUT "bucket-policy-locks-everyone-out";
    BUCKET_POLICY_NEARLY_FULL "bucket-policy-nearly-full";
    BUCKET_POLICY_UNPROTECTED "bucket-policy-unprotected";
    BUCKET_PUBLIC_ACCESS_NOT_BLOCKED "bucket-public-access-not-blocked";
    BUCKET_SETTINGS_UNPROTECTED "bucket-settings-unprotected";
    CONDITION_ROLE_PATH_MISSING "condition-role-path-missing";
    CONDITION_SESSION_ARN "condition-session-arn";
    CONDITION_SKIPPABLE "condition-skippable";
    CONDITION_WILDCARD_LITERAL "condition-wildcard-literal";
    CROSS_ACCOUNT_ONE_SIDED "cross-account-one-sided";
    DELETED_PRINCIPAL_NAMED "deleted-principal-named";
    DENY_MISSES_ACCESS_POINTS "deny-misses-access-points";
    DIRECTORY_BUCKET "directory-bucket";
    EXEMPT_ROLE_OPEN_TO_OTHERS "exempt-role-open-to-others";
    EXEMPTION_NAMES_NOBODY "exemption-names-nobody";
    LOCK_DELETE_CONDITIONS_COMBINED "lock-delete-conditions-combined";
    LOCK_DELETE_DENIES_RUNNER "lock-delete-denies-runner";
    LOCK_DELETE_DENY_LIST "lock-delete-deny-list";
    LOCK_DELETE_EXEMPTION_BROAD "lock-delete-exemption-broad";
    LOCK_DELETE_EXEMPTION_BY_TAG "lock-delete-exemption-by-tag";
    LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL "lock-delete-exemption-not-a-principal";
    LOCK_DELETE_LIMIT_MISSES_KEYS "lock-delete-limit-misses-keys";
    LOCK_DELETE_UNLIMITED "lock-delete-unlimited";
    LOCK_DELETE_VERSION_UNLIMITED "lock-delete-version-unlimited";
    LOCK_OPEN_TO_EVERYONE "lock-open-to-everyone";
    LOCK_OVERWRITE_POSSIBLE "lock-overwrite-possible";
    LOCK_OVERWRITE_WITH_ETAG "lock-overwrite-with-etag";
    LOCK_PLANTING_POSSIBLE "lock-planting-possible";
    LOCK_TAGS_NOT_ALLOWED "lock-tags-not-allowed";
    NO_BREAK_GLASS_ROLE "no-break-glass-role";
    NOT_PRINCIPAL_USED "not-principal-used";
    PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS "public-policy-cuts-other-accounts";
    RUNNER_CANNOT_DECRYPT_LOCK "runner-cannot-decrypt-lock";
    RUNNER_CANNOT_DELETE_LOCK "runner-cannot-delete-lock";
    RUNNER_CANNOT_READ_LOCK "runner-cannot-read-lock";
    RUNNER_LIMITED_BY_BOUNDARY "runner-limited-by-boundary";
    RUNNER_WITHOUT_LOCK_RIGHTS "runner-without-lock-rights";
    SIMULATOR_DIFFERS "simulator-differs";
    STATE_WRITE_NEEDS_IF_NONE_MATCH "state-write-needs-if-none-match";
    STATEMENT_NEVER_APPLIES "statement-never-applies";
    UNLOCK_NEEDS_IF_MATCH "unlock-needs-if-match";
    UNVERSIONED_DELETE_VERSION_DENIED "unversioned-delete-version-denied";
    WORKSPACE_LOCKS_NOT_COVERED "workspace-locks-not-covered";
}
