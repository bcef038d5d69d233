//! Rules about the settings of state buckets. They are judged in `audit::judge`; nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// No versions.
pub static BUCKET_UNVERSIONED: Rule = Rule {
    id: "bucket-unversioned",
    severity: Severity::Medium,
    summary: "a state bucket keeps no versions",
    page: include_str!("../../docs/rules/bucket-unversioned.md"),
    check: Check::Auditing,
};

/// Versions no more.
pub static BUCKET_VERSIONING_SUSPENDED: Rule = Rule {
    id: "bucket-versioning-suspended",
    severity: Severity::Medium,
    summary: "versioning of a state bucket is suspended",
    page: include_str!("../../docs/rules/bucket-versioning-suspended.md"),
    check: Check::Auditing,
};

/// Retention for all.
pub static BUCKET_OBJECT_LOCK_RETENTION: Rule = Rule {
    id: "bucket-object-lock-retention",
    severity: Severity::Info,
    summary: "a state bucket has a default retention (Object Lock)",
    page: include_str!("../../docs/rules/bucket-object-lock-retention.md"),
    check: Check::Auditing,
};

/// Locks that expire.
pub static BUCKET_LOCK_EXPIRY: Rule = Rule {
    id: "bucket-lock-expiry",
    severity: Severity::High,
    summary: "a lifecycle rule expires locks",
    page: include_str!("../../docs/rules/bucket-lock-expiry.md"),
    check: Check::Auditing,
};

/// Locks in the cold.
pub static BUCKET_LOCK_TRANSITION: Rule = Rule {
    id: "bucket-lock-transition",
    severity: Severity::Medium,
    summary: "a lifecycle rule moves locks to an archive",
    page: include_str!("../../docs/rules/bucket-lock-transition.md"),
    check: Check::Auditing,
};

/// Versions for ever.
pub static BUCKET_LOCK_VERSIONS_KEPT: Rule = Rule {
    id: "bucket-lock-versions-kept",
    severity: Severity::Low,
    summary: "no lifecycle rule removes old versions of locks",
    page: include_str!("../../docs/rules/bucket-lock-versions-kept.md"),
    check: Check::Auditing,
};

/// Locks in the copy.
pub static BUCKET_REPLICATION_TOUCHES_LOCKS: Rule = Rule {
    id: "bucket-replication-touches-locks",
    severity: Severity::Low,
    summary: "replication copies locks to another bucket",
    page: include_str!("../../docs/rules/bucket-replication-touches-locks.md"),
    check: Check::Auditing,
};

/// Locks behind a key.
pub static BUCKET_KMS_ENCRYPTION: Rule = Rule {
    id: "bucket-kms-encryption",
    severity: Severity::Info,
    summary: "a state bucket encrypts by KMS, locks included",
    page: include_str!("../../docs/rules/bucket-kms-encryption.md"),
    check: Check::Auditing,
};
