//! Rules about the digests in lock tables. They are judged in `audit::judge`; nothing is judged in this file.

use super::{Check, Rule};
use crate::finding::Severity;

/// Not this state's MD5.
pub static DIGEST_STALE: Rule = Rule {
    id: "digest-stale",
    severity: Severity::High,
    summary: "the digest in the table is not the state's",
    page: include_str!("../../docs/rules/digest-stale.md"),
    check: Check::Auditing,
};

/// No digest.
pub static DIGEST_MISSING: Rule = Rule {
    id: "digest-missing",
    severity: Severity::Info,
    summary: "the table holds no digest of a state",
    page: include_str!("../../docs/rules/digest-missing.md"),
    check: Check::Auditing,
};

/// No MD5.
pub static DIGEST_MALFORMED: Rule = Rule {
    id: "digest-malformed",
    severity: Severity::Low,
    summary: "a digest in the table is no MD5 in hex",
    page: include_str!("../../docs/rules/digest-malformed.md"),
    check: Check::Auditing,
};

/// A digest of nothing.
pub static DIGEST_WITHOUT_STATE: Rule = Rule {
    id: "digest-without-state",
    severity: Severity::High,
    summary: "the table holds a digest of a state that does not exist",
    page: include_str!("../../docs/rules/digest-without-state.md"),
    check: Check::Auditing,
};

/// A digest that waits to go stale.
pub static DIGEST_LEFTOVER: Rule = Rule {
    id: "digest-leftover",
    severity: Severity::Low,
    summary: "the table still holds a digest of a state that locks S3 alone",
    page: include_str!("../../docs/rules/digest-leftover.md"),
    check: Check::Auditing,
};
