//! Which findings stand together: all about one state whose lock matters have a paragraph, with the lock records and
//! the commands once; the rest stands by rule. No layout here.

use std::collections::{BTreeMap, BTreeSet};

use super::AuditReport;
use crate::audit::outcome::{AuditFinding, Locks};
use crate::finding::Severity;

/// One subject and everything that was found about it.
pub(super) struct Subject<'a> {
    /// What it is about.
    pub name: &'a str,
    /// The gravest of its findings.
    pub severity: Severity,
    /// Its findings, the gravest first.
    pub findings: Vec<&'a AuditFinding>,
    /// Both lock records, where a finding has them.
    pub locks: Option<&'a Locks>,
}

/// One rule and the findings of it that have no paragraph.
pub(super) struct RuleGroup<'a> {
    /// The rule.
    pub rule: &'a str,
    /// Their severity.
    pub severity: Severity,
    /// The findings.
    pub findings: Vec<&'a AuditFinding>,
}

impl Subject<'_> {
    /// The commands of all its findings, each once, in order.
    pub fn commands(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let all = self.findings.iter().flat_map(|finding| &finding.commands).map(String::as_str);
        all.filter(|command| seen.insert(*command)).collect()
    }

    /// The places of its findings, each once.
    pub fn places(&self) -> BTreeSet<String> {
        self.findings.iter().filter_map(|finding| finding.place.as_ref()).map(ToString::to_string).collect()
    }
}

/// Subjects with a finding about a lock or a critical one, the gravest first; then by name.
pub(super) fn subjects<'a>(report: &AuditReport<'a>) -> Vec<Subject<'a>> {
    let alone = |finding: &&AuditFinding| finding.locks.is_some() || finding.severity == Severity::Critical;
    let names: BTreeSet<&str> = report.open().filter(alone).map(|finding| finding.subject.as_str()).collect();
    let mut found: BTreeMap<&str, Vec<&AuditFinding>> = BTreeMap::new();
    for finding in report.open().filter(|finding| names.contains(finding.subject.as_str())) {
        found.entry(&finding.subject).or_default().push(finding);
    }
    let mut subjects: Vec<Subject<'_>> = found
        .into_iter()
        .map(|(name, mut findings)| {
            findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.rule.cmp(&b.rule)));
            let severity = findings.first().map_or(Severity::Info, |gravest| gravest.severity);
            let locks = findings.iter().find_map(|finding| finding.locks.as_ref());
            Subject { name, severity, findings, locks }
        })
        .collect();
    // Stable: subjects of one severity stay in the order of their names.
    subjects.sort_by_key(|subject| std::cmp::Reverse(subject.severity));
    subjects
}

/// All other findings by severity and rule, the gravest first.
pub(super) fn groups<'a>(report: &AuditReport<'a>, subjects: &[Subject<'a>]) -> Vec<RuleGroup<'a>> {
    let said: BTreeSet<&str> = subjects.iter().map(|subject| subject.name).collect();
    let mut groups: BTreeMap<(std::cmp::Reverse<Severity>, &str), Vec<&AuditFinding>> = BTreeMap::new();
    for finding in report.open().filter(|finding| !said.contains(finding.subject.as_str())) {
        groups.entry((std::cmp::Reverse(finding.severity), &finding.rule)).or_default().push(finding);
    }
    let group = |((severity, rule), findings): ((std::cmp::Reverse<Severity>, &'a str), _)| RuleGroup {
        rule,
        severity: severity.0,
        findings,
    };
    groups.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::audit::sample;

    #[test]
    fn all_about_a_locked_state_stands_together_and_the_rest_by_rule() {
        let audit = sample::audit();
        let report = AuditReport { audit: &audit, stats: false };
        let subjects = subjects(&report);
        let rules: Vec<(&str, Vec<&str>)> = subjects
            .iter()
            .map(|one| (one.name, one.findings.iter().map(|finding| finding.rule.as_str()).collect()))
            .collect();
        assert_eq!(
            rules,
            [
                ("s3://acme-tfstate/network", vec!["two-writers", "digest-stale"]),
                ("s3://acme-tfstate/dns", vec!["stale-lock"]),
                ("s3://acme-tfstate/search", vec!["dynamodb-lock-on-lockfile-state"]),
            ]
        );
        let groups = groups(&report, &subjects);
        assert_eq!((groups.len(), groups[0].rule, groups[0].severity), (1, "digest-stale", Severity::Medium));
        let about: Vec<&str> = groups[0].findings.iter().map(|finding| finding.subject.as_str()).collect();
        assert_eq!(about, ["s3://acme-tfstate/other"]);
    }
}
