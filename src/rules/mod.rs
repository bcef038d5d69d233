//! The registry of rules. A family of rules is one file that can be read whole, each rule has its page in
//! `docs/rules`. Rules of the scan see the merged inventory and nothing else: no file, no network, no clock. Gates
//! and the rules of an audit only have their id, severity and page here.
//!
//! A new rule touches three places: its family's file, one line in `ALL`, its page.

mod access;
mod access_policies;
mod apply;
pub mod audit_bucket;
pub mod audit_coverage;
pub mod audit_digests;
pub mod audit_locks;
pub mod audit_probes;
pub mod audit_table;
mod automation;
mod gates;
mod ignores;
mod merging;
mod modes;
mod parts;
mod policy_gates;
mod problems;
mod readers;
mod settings;
mod states;
#[cfg(test)]
mod testing;
mod unlocking;
mod versions;

use crate::finding::{Finding, Severity};
use crate::repo::inventory::Inventory;
use crate::repo::text::Place;

pub use apply::{check, expiry};

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Kebab-case id: what findings, ignores and `explain` call it.
    pub id: &'static str,
    /// The severity that its findings have, save where the rule's page says otherwise.
    pub severity: Severity,
    /// What it says, in one line.
    pub summary: &'static str,
    /// Its page, in Markdown.
    pub page: &'static str,
    /// Who makes its findings.
    pub check: Check,
}

/// Who makes a rule's findings.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// A pure function over the inventory.
    Inventory(fn(&Inventory) -> Vec<Finding>),
    /// [`check`] itself, while it applies ignores.
    Applying,
    /// Nobody here: it is a gate, judged while a migration is planned.
    Migrating,
    /// Nobody here: it is a gate, judged before a lock is released.
    Unlocking,
    /// Nobody here: an audit makes its findings, from what the stores hold.
    Auditing,
    /// Nobody here: it is a gate, judged while policies are written.
    Recommending,
    /// Nobody: it names a problem that hid something. Problems are reported apart, and can't be switched off.
    Unread,
}

/// Whether a rule's findings are about locks that are held, so that these can be released.
pub fn names_a_lock(id: &str) -> bool {
    audit_locks::ALL.iter().any(|rule| rule.id == id)
}

impl Rule {
    /// Whose gate it is, where it is one and makes no finding of its own.
    pub fn gate_of(&self) -> Option<&'static str> {
        match self.check {
            Check::Migrating => Some("lockshift migrate"),
            Check::Unlocking => Some("lockshift unlock"),
            Check::Recommending => Some("lockshift policy"),
            Check::Inventory(_) | Check::Applying | Check::Auditing | Check::Unread => None,
        }
    }

    /// Whether a configuration can set or ignore it: only what makes findings.
    pub fn is_settable(&self) -> bool {
        !matches!(self.check, Check::Unread) && self.gate_of().is_none()
    }

    /// A finding of this rule, at its own severity.
    fn finding(&self, subject: impl Into<String>, place: Place, message: impl Into<String>) -> Finding {
        Finding {
            rule: self.id.to_owned(),
            severity: self.severity,
            subject: subject.into(),
            place,
            message: message.into(),
            help: None,
            ignored: None,
        }
    }
}

/// Every rule, by id. A test holds the order.
static ALL: &[&Rule] = &[
    &access_policies::ACCESS_NOT_KNOWN,
    &access_policies::ACCESS_POINT_OPENS_LOCKS,
    &problems::BACKEND_AND_CLOUD,
    &access_policies::BREAK_GLASS_DELETES_BLINDLY,
    &access_policies::BUCKET_ACLS_ACTIVE,
    &audit_bucket::BUCKET_KMS_ENCRYPTION,
    &access_policies::BUCKET_LIFECYCLE_UNPROTECTED,
    &audit_bucket::BUCKET_LOCK_EXPIRY,
    &audit_bucket::BUCKET_LOCK_TRANSITION,
    &audit_bucket::BUCKET_LOCK_VERSIONS_KEPT,
    &access_policies::BUCKET_MFA_DELETE,
    &audit_bucket::BUCKET_OBJECT_LOCK_RETENTION,
    &access_policies::BUCKET_POLICY_LOCKS_EVERYONE_OUT,
    &access_policies::BUCKET_POLICY_NEARLY_FULL,
    &access_policies::BUCKET_POLICY_UNPROTECTED,
    &access_policies::BUCKET_PUBLIC_ACCESS_NOT_BLOCKED,
    &audit_bucket::BUCKET_REPLICATION_TOUCHES_LOCKS,
    &access_policies::BUCKET_SETTINGS_UNPROTECTED,
    &audit_bucket::BUCKET_UNVERSIONED,
    &audit_bucket::BUCKET_VERSIONING_SUSPENDED,
    &merging::CHILD_MODULE_BACKEND,
    &access_policies::CONDITION_ROLE_PATH_MISSING,
    &access_policies::CONDITION_SESSION_ARN,
    &access_policies::CONDITION_SKIPPABLE,
    &access_policies::CONDITION_WILDCARD_LITERAL,
    &audit_coverage::COVERAGE_CONTRADICTED,
    &access_policies::CROSS_ACCOUNT_ONE_SIDED,
    &access_policies::DELETED_PRINCIPAL_NAMED,
    &access_policies::DENY_MISSES_ACCESS_POINTS,
    &settings::DEPRECATED_SETTING,
    &audit_digests::DIGEST_LEFTOVER,
    &audit_digests::DIGEST_MALFORMED,
    &audit_digests::DIGEST_MISSING,
    &audit_digests::DIGEST_STALE,
    &audit_digests::DIGEST_WITHOUT_STATE,
    &access_policies::DIRECTORY_BUCKET,
    &modes::DUAL_LOCKING,
    &gates::DUAL_PHASE_SKIPPED,
    &problems::DUPLICATE_BACKEND,
    &modes::DYNAMODB_ONLY,
    &gates::EDIT_NOT_PROVEN,
    &problems::ENCRYPTED,
    &settings::ENDPOINT_UNPROVEN,
    &merging::ENGINES_DIFFER,
    &gates::EVIDENCE_CONTRADICTS,
    &gates::EVIDENCE_STALE,
    &access_policies::EXEMPT_ROLE_OPEN_TO_OTHERS,
    &access_policies::EXEMPTION_NAMES_NOBODY,
    &automation::FORCE_UNLOCK_IN_AUTOMATION,
    &settings::GENERATED_COPY,
    &merging::GIT_IGNORED_SOURCE,
    &access::GRANT_ON_LOCK_TABLE,
    &ignores::IGNORE_EXPIRED,
    &ignores::IGNORE_UNKNOWN_RULE,
    &ignores::IGNORE_UNUSED,
    &ignores::IGNORE_WITHOUT_REASON,
    &modes::INCOMPLETE_BACKEND,
    &automation::INIT_WITHOUT_RECONFIGURE,
    &problems::INVALID_VALUE,
    &audit_locks::LOCK_AFTER_LAST_WRITE,
    &access_policies::LOCK_DELETE_CONDITIONS_COMBINED,
    &access_policies::LOCK_DELETE_DENIES_RUNNER,
    &access_policies::LOCK_DELETE_DENY_LIST,
    &access_policies::LOCK_DELETE_EXEMPTION_BROAD,
    &access_policies::LOCK_DELETE_EXEMPTION_BY_TAG,
    &access_policies::LOCK_DELETE_EXEMPTION_NOT_A_PRINCIPAL,
    &access_policies::LOCK_DELETE_LIMIT_MISSES_KEYS,
    &access_policies::LOCK_DELETE_UNLIMITED,
    &access_policies::LOCK_DELETE_VERSION_UNLIMITED,
    &automation::LOCK_DISABLED_IN_CI,
    &audit_locks::LOCK_FROM_THE_FUTURE,
    &audit_locks::LOCK_IDS_DIFFER,
    &audit_locks::LOCK_IN_OTHER_TABLE,
    &audit_locks::LOCK_IN_TABLE_OF_LOCKFILE_ONLY,
    &audit_locks::LOCK_OBJECT_OF_TABLE_ONLY,
    &audit_locks::LOCK_OF_UNKNOWN_STATE,
    &access_policies::LOCK_OPEN_TO_EVERYONE,
    &access_policies::LOCK_OVERWRITE_POSSIBLE,
    &access_policies::LOCK_OVERWRITE_WITH_ETAG,
    &audit_coverage::LOCK_OVERWRITTEN,
    &audit_locks::LOCK_PATH_MISMATCH,
    &access_policies::LOCK_PLANTING_POSSIBLE,
    &audit_locks::LOCK_SPLIT_DYNAMODB_ONLY,
    &audit_locks::LOCK_SPLIT_S3_ONLY,
    &audit_locks::LOCK_STALE,
    &access::LOCK_TABLE_IN_CODE,
    &access_policies::LOCK_TAGS_NOT_ALLOWED,
    &audit_locks::LOCK_UNREADABLE,
    &audit_locks::LOCK_WITHOUT_STATE,
    &merging::MIXED_BACKEND_CONFIG,
    &access_policies::NO_BREAK_GLASS_ROLE,
    &modes::NO_LOCKING,
    &gates::NOT_INITIALISABLE,
    &access_policies::NOT_PRINCIPAL_USED,
    &merging::OVERRIDE_UNSET,
    &problems::PARSE_ERROR,
    &policy_gates::POLICY_LOCKS_OUT,
    &policy_gates::POLICY_NOT_MERGEABLE,
    &policy_gates::POLICY_NOT_PROVEN,
    &policy_gates::POLICY_ROLE_UNUSABLE,
    &policy_gates::POLICY_TOO_LARGE,
    &audit_probes::PROBE_CONDITION_IGNORED,
    &audit_probes::PROBE_CONDITION_REJECTED,
    &audit_probes::PROBE_DELETE_UNCONDITIONAL,
    &access_policies::PUBLIC_POLICY_CUTS_OTHER_ACCOUNTS,
    &versions::QUOTED_BOOLEAN_TERRAGRUNT,
    &readers::READER_NAMES_TABLE,
    &gates::REQUIRED_VARIABLE_LEFT,
    &access_policies::RUNNER_CANNOT_DECRYPT_LOCK,
    &access_policies::RUNNER_CANNOT_DELETE_LOCK,
    &access_policies::RUNNER_CANNOT_READ_LOCK,
    &access_policies::RUNNER_LIMITED_BY_BOUNDARY,
    &access_policies::RUNNER_WITHOUT_LOCK_RIGHTS,
    &gates::RUNNER_WOULD_BREAK,
    &gates::SHARED_FILE_REFUSED,
    &states::SHARED_STATE,
    &automation::SHARED_VAR_FILE,
    &access_policies::SIMULATOR_DIFFERS,
    &gates::SOAK_TOO_SHORT,
    &gates::SOURCE_NOT_EDITABLE,
    &states::SPLIT_LOCKING,
    &access::STATE_GRANT_WITHOUT_LOCK,
    &access_policies::STATE_WRITE_NEEDS_IF_NONE_MATCH,
    &access_policies::STATEMENT_NEVER_APPLIES,
    &merging::STILL_DUAL,
    &problems::SYMLINK_LOOP,
    &audit_table::TABLE_KEY_WRONG,
    &audit_table::TABLE_MISSING,
    &gates::TABLE_UNNAMED,
    &audit_table::TABLE_UNREFERENCED,
    &problems::TOO_LARGE,
    &audit_locks::TWO_WRITERS,
    &settings::UNATTRIBUTED_SOURCE,
    &unlocking::UNLOCK_DIGEST_LOCKED,
    &unlocking::UNLOCK_DIGEST_NOT_COMPARABLE,
    &unlocking::UNLOCK_DIGEST_RIGHT,
    &unlocking::UNLOCK_ID_DIFFERS,
    &access_policies::UNLOCK_NEEDS_IF_MATCH,
    &unlocking::UNLOCK_NO_CONDITION,
    &unlocking::UNLOCK_ONE_SIDED,
    &unlocking::UNLOCK_STORE_UNCONDITIONAL,
    &unlocking::UNLOCK_TOO_YOUNG,
    &unlocking::UNLOCK_UNREAD,
    &unlocking::UNLOCK_UNREADABLE_LOCK,
    &gates::UNREAD,
    &problems::UNREADABLE,
    &modes::UNRESOLVED_SETTING,
    &access_policies::UNVERSIONED_DELETE_VERSION_DENIED,
    &versions::VERSION_TOO_OLD,
    &versions::VERSION_UNPROVEN,
    &access_policies::WORKSPACE_LOCKS_NOT_COVERED,
];

/// Every rule, sorted by id.
pub fn all() -> &'static [&'static Rule] {
    ALL
}

/// The rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    ALL.iter().find(|rule| rule.id == id).copied()
}

/// The id that was probably meant.
pub fn suggest(id: &str) -> Option<&'static str> {
    // Nobody means an id that is several times as long as the longest; comparing costs its length squared.
    let word: String = id.trim().to_lowercase().replace('_', "-").chars().take(64).collect();
    let ids: Vec<&'static str> = ALL.iter().map(|rule| rule.id).collect();
    similar::get_close_matches(word.as_str(), &ids, 1, 0.7).first().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::repo::problem::ProblemKind;

    #[test]
    fn ids_are_kebab_case_unique_and_sorted() {
        let ids: Vec<&str> = all().iter().map(|rule| rule.id).collect();
        let sorted: Vec<&str> = ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(ids, sorted);
        for id in ids {
            assert!(id.split('-').all(|word| !word.is_empty()), "{id}");
            assert!(
                id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
                "{id}"
            );
        }
    }

    #[test]
    fn every_rule_has_its_own_page_and_every_page_a_rule() {
        for rule in all() {
            let mut lines = rule.page.lines();
            assert_eq!(lines.next(), Some(format!("# {}", rule.id).as_str()));
            let length = rule.page.lines().count();
            assert!((12..=45).contains(&length), "{}: {length} lines", rule.id);
            for heading in ["## Example", "## Fix", "## When to ignore"] {
                assert!(rule.page.lines().any(|line| line == heading), "{}: no `{heading}`", rule.id);
            }
            assert!(rule.summary.len() <= 100 && !rule.summary.ends_with('.'), "{}", rule.id);
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let id = name.strip_suffix(".md").unwrap();
            assert!(find(id).is_some(), "docs/rules/{name} has no rule");
            files += 1;
        }
        assert_eq!(files, all().len());
    }

    #[test]
    fn every_kind_of_problem_has_a_page() {
        for kind in [
            ProblemKind::Unreadable,
            ProblemKind::ParseError,
            ProblemKind::Encrypted,
            ProblemKind::SymlinkLoop,
            ProblemKind::TooLarge,
            ProblemKind::DuplicateBackend,
            ProblemKind::BackendAndCloud,
            ProblemKind::InvalidValue,
        ] {
            let rule = find(kind.id()).unwrap();
            assert_eq!(matches!(rule.check, Check::Unread), kind.hides_something(), "{}", rule.id);
            assert_eq!(problems::rule_of(kind).id, kind.id());
        }
    }

    #[test]
    fn near_misses_are_suggested_and_far_ones_not() {
        assert_eq!(suggest("dynamo-db-only"), Some("dynamodb-only"));
        assert_eq!(suggest("No_Locking"), Some("no-locking"));
        assert_eq!(suggest("something-else-entirely"), None);
        assert_eq!(suggest(""), None);
        assert_eq!(suggest(&"x".repeat(1_000_000)), None);
    }
}
