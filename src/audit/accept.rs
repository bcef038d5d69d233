//! What a repository and an earlier audit accept: severities and ignores of `lockshift.toml`, and a baseline. Accepted
//! findings stay in the result with their reason; what could not be read is never accepted. Pure.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::outcome::{Area, Audit, AuditFinding, LockRecord, Locks};
use crate::config::{Config, Date};
use crate::finding::Severity;
use crate::rules;

/// The reason that a finding of an earlier audit gets.
pub const IN_BASELINE: &str = "known from the baseline";

/// Findings of an earlier audit, by fingerprint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline(BTreeSet<String>);

/// As much of an audit's JSON as a baseline needs. Lists that are missing are an error: another command's JSON must
/// not pass for a baseline in which nothing was found.
#[derive(Deserialize)]
struct Earlier {
    #[serde(rename = "states")]
    _states: Vec<serde::de::IgnoredAny>,
    findings: Vec<EarlierFinding>,
    unread: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct EarlierFinding {
    rule: String,
    subject: String,
    #[serde(default)]
    locks: Option<EarlierLocks>,
}

#[derive(Deserialize, Default)]
struct EarlierLocks {
    #[serde(default)]
    s3: Option<EarlierLock>,
    #[serde(default)]
    dynamodb: Option<EarlierLock>,
}

#[derive(Deserialize)]
struct EarlierLock {
    #[serde(default)]
    id: Option<String>,
}

impl Baseline {
    /// Reads an earlier audit's JSON (`--format json`, `--write-baseline`).
    ///
    /// # Errors
    /// What is no audit's JSON.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let earlier: Earlier = serde_json::from_slice(json)?;
        // What was not read then says nothing about now; it is named here so that its absence is an error.
        let _ = earlier.unread.len();
        let record =
            |lock: Option<EarlierLock>| lock.map(|lock| LockRecord { id: lock.id, ..LockRecord::default() });
        let print = |found: EarlierFinding| {
            let locks = found.locks.map(|locks| Locks {
                s3: record(locks.s3),
                dynamodb: record(locks.dynamodb),
                ..Locks::default()
            });
            AuditFinding { rule: found.rule, subject: found.subject, locks, ..blank() }.fingerprint()
        };
        Ok(Self(earlier.findings.into_iter().map(print).collect()))
    }

    /// How many different findings it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Applies what is accepted, and sorts: the gravest first, then by rule and subject. `today` decides which ignores
/// have expired; those that only an audit can need are said here when they have.
pub fn accept(audit: &mut Audit, config: &Config, baseline: Option<&Baseline>, today: Date) {
    let ours = config.ignores.iter().filter(|ignore| ignore.is_for_audit());
    for expired in ours.filter_map(|ignore| rules::expiry(ignore, today)) {
        audit.findings.push(AuditFinding {
            rule: expired.rule,
            severity: expired.severity,
            subject: expired.subject,
            place: Some(expired.place),
            message: expired.message,
            help: expired.help,
            ..blank()
        });
    }
    for finding in &mut audit.findings {
        let ignore = config.ignores.iter().find(|ignore| {
            let (rule, subject) = (&finding.rule, &finding.subject);
            !ignore.is_expired(today)
                && ignore.covers_subject(&config.home, rule, subject, finding.place.as_ref())
        });
        let known = baseline.is_some_and(|baseline| baseline.0.contains(&finding.fingerprint()));
        finding.ignored = match ignore {
            Some(ignore) => Some(ignore.reason.clone()),
            None => known.then(|| IN_BASELINE.to_owned()),
        };
    }
    audit.findings.retain_mut(|finding| match config.rules.get(&finding.rule) {
        None => true,
        Some(setting) => setting.severity.inspect(|severity| finding.severity = *severity).is_some(),
    });
    audit.findings.sort_by(|a, b| {
        let names = (&a.rule, &a.subject, &a.place, &a.message);
        b.severity.cmp(&a.severity).then_with(|| names.cmp(&(&b.rule, &b.subject, &b.place, &b.message)))
    });
}

/// A finding without content.
fn blank() -> AuditFinding {
    AuditFinding {
        rule: String::new(),
        severity: Severity::Info,
        subject: String::new(),
        place: None,
        message: String::new(),
        help: None,
        locks: None,
        commands: Vec::new(),
        consequence: None,
        bucket: None,
        area: Area::Locks,
        ignored: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::snapshot::Stats;
    use crate::moment::Moment;
    use crate::repo::text::Place;

    fn finding(rule: &str, severity: Severity, subject: &str, id: &str) -> AuditFinding {
        let record = LockRecord { id: Some(id.to_owned()), ..LockRecord::default() };
        let locks = (!id.is_empty()).then_some(Locks { s3: Some(record), ..Locks::default() });
        AuditFinding { rule: rule.into(), severity, subject: subject.into(), locks, ..blank() }
    }

    fn audit(findings: Vec<AuditFinding>) -> Audit {
        Audit {
            schema_version: 1,
            window_seconds: 0,
            stale_after_seconds: 0,
            generated_at: Moment::default(),
            states: Vec::new(),
            findings,
            unread: Vec::new(),
            probes: Vec::new(),
            stats: Stats::default(),
            access: Vec::new(),
        }
    }

    fn today() -> Date {
        Date::parse("2026-06-01").unwrap()
    }

    fn config(text: &str) -> Config {
        Config::parse("lockshift.toml", text).unwrap()
    }

    fn ignored(audit: &Audit) -> Vec<(&str, &str, Option<&str>)> {
        audit
            .findings
            .iter()
            .map(|found| (found.rule.as_str(), found.subject.as_str(), found.ignored.as_deref()))
            .collect()
    }

    #[test]
    fn ignores_and_severities_are_applied_and_the_gravest_comes_first() {
        let config = config(
            "[rules.dual-locking]\nseverity = \"critical\"\nreason = \"r\"\n[rules.shared-state]\nseverity = \"off\"\n\
             reason = \"r\"\n[[ignore]]\nrule = \"no-locking\"\nsubject = \"s3://b/old/**\"\nreason = \"leaves soon\"\n",
        );
        let mut audit = audit(vec![
            finding("no-locking", Severity::High, "s3://b/old/a", ""),
            finding("no-locking", Severity::High, "s3://b/new", ""),
            finding("shared-state", Severity::High, "s3://b/x", ""),
            finding("dual-locking", Severity::Info, "s3://b/x", ""),
        ]);
        accept(&mut audit, &config, None, today());
        assert_eq!(
            ignored(&audit),
            [
                ("dual-locking", "s3://b/x", None),
                ("no-locking", "s3://b/new", None),
                ("no-locking", "s3://b/old/a", Some("leaves soon")),
            ]
        );
        assert_eq!(audit.findings[0].severity, Severity::Critical);
    }

    #[test]
    fn an_expired_ignore_of_a_subject_is_said_by_the_audit_alone() {
        let config = config(
            "[[ignore]]\nrule = \"no-locking\"\nsubject = \"s3://b/**\"\nreason = \"r\"\nexpires = \"2026-05-31\"\n\
             [[ignore]]\nrule = \"no-locking\"\npath = \"a/**\"\nreason = \"r\"\nexpires = \"2026-05-31\"\n",
        );
        let mut found = finding("no-locking", Severity::High, "s3://b/k", "");
        found.place = Some(Place { file: "a/main.tf".into(), line: 1, column: 1 });
        let mut audit = audit(vec![found]);
        accept(&mut audit, &config, None, today());
        assert_eq!(
            ignored(&audit),
            [("no-locking", "s3://b/k", None), ("ignore-expired", "s3://b/**", None)]
        );
        let scan = rules::check(&crate::repo::inventory::Inventory::default(), &config, today());
        assert_eq!(scan.iter().map(|f| f.subject.as_str()).collect::<Vec<_>>(), ["a/**"]);
    }

    #[test]
    fn a_baseline_knows_the_same_fault_and_not_the_next_lock() {
        let mut after = audit(vec![
            finding("no-locking", Severity::High, "s3://b/k", "1"),
            finding("shared-state", Severity::High, "s3://b/k", ""),
        ]);
        let baseline = Baseline::parse(&serde_json::to_vec(&after).unwrap()).unwrap();
        assert_eq!((baseline.len(), baseline.is_empty()), (2, false));
        after.findings.push(finding("no-locking", Severity::High, "s3://b/k", "2"));
        accept(&mut after, &Config::default(), Some(&baseline), today());
        let open: Vec<_> = after.findings.iter().filter(|found| found.ignored.is_none()).collect();
        assert_eq!(open.len(), 1);
        assert!(open[0].fingerprint().ends_with(" 2"));
        assert_eq!(after.findings[0].ignored.as_deref(), Some(IN_BASELINE));
    }

    #[test]
    fn another_command_s_json_is_no_baseline() {
        for json in ["{}", "[]", r#"{"roots":[],"findings":[]}"#, r#"{"states":[],"findings":[]}"#, ""] {
            assert!(Baseline::parse(json.as_bytes()).is_err(), "{json}");
        }
    }
}
