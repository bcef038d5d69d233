//! The last lines of a report for people: states by coverage, locks, digests, findings, what was not read, and with
//! `--stats` what it cost. One wording for the table and for Markdown; no layout here.

use std::collections::BTreeMap;

use super::AuditReport;
use super::wording::span;
use crate::audit::accept::IN_BASELINE;
use crate::audit::outcome::StateReport;
use crate::report::totals::SEVERITIES;
use crate::report::words::{count, visible};

/// States by the verdict of their coverage, in the order of the words.
pub(super) fn coverage<'a>(report: &AuditReport<'a>) -> BTreeMap<&'a str, usize> {
    by(report, |state| &state.coverage.verdict)
}

/// States by the verdict of their digest.
pub(super) fn digests<'a>(report: &AuditReport<'a>) -> BTreeMap<&'a str, usize> {
    by(report, |state| &state.digest.verdict)
}

/// States of which it is not known whether they are locked: in S3, in DynamoDB.
pub(super) fn unknown(report: &AuditReport<'_>) -> [usize; 2] {
    let states = &report.audit.states;
    [
        states.iter().filter(|state| state.locks.s3_unknown.is_some()).count(),
        states.iter().filter(|state| state.locks.dynamodb_unknown.is_some()).count(),
    ]
}

fn by<'a>(
    report: &AuditReport<'a>,
    verdict: impl Fn(&'a StateReport) -> &'a String,
) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for state in &report.audit.states {
        *counts.entry(verdict(state).as_str()).or_default() += 1;
    }
    counts
}

/// What is found and fails nothing, in brackets; a baseline gives no reasons.
pub(super) fn more(report: &AuditReport<'_>) -> String {
    let reasons = || report.audit.findings.iter().filter_map(|finding| finding.ignored.as_deref());
    let known = reasons().filter(|reason| *reason == IN_BASELINE).count();
    let more = [(reasons().count() - known, "accepted with a reason"), (known, "known from the baseline")];
    let more: Vec<String> =
        more.into_iter().filter(|(n, _)| *n > 0).map(|(n, how)| format!("{n} more {how}")).collect();
    if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) }
}

/// The summary, one sentence a line. Holds nothing but our own words and numbers.
pub fn lines(report: &AuditReport<'_>) -> Vec<String> {
    let audit = report.audit;
    let said = |counts: BTreeMap<&str, usize>| {
        let parts: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {}", visible(word))).collect();
        parts.join(", ")
    };
    let states = &audit.states;
    let mut lines = vec![format!("Taken at {}.", audit.generated_at)];
    if states.is_empty() {
        lines.push("No state was looked at.".to_owned());
    } else {
        lines.push(format!(
            "{}; S3 locking: {}.",
            count(states.len(), "state", "states"),
            said(coverage(report))
        ));
        let held = |held: &dyn Fn(&StateReport) -> bool| states.iter().filter(|state| held(state)).count();
        let both = held(&|state| state.locks.s3.is_some() && state.locks.dynamodb.is_some());
        let s3 = held(&|state| state.locks.s3.is_some());
        let dynamodb = held(&|state| state.locks.dynamodb.is_some());
        let [s3_unknown, dynamodb_unknown] = unknown(report);
        // A store that was not read is not an empty one.
        let side = |name: &str, held: usize, unknown: usize| match unknown {
            0 => format!("{held} in {name}"),
            n if n == states.len() => format!("{name} not read"),
            n => format!("{held} in {name}, which was not read for {n}"),
        };
        let sides =
            format!("{}; {}", side("S3", s3, s3_unknown), side("DynamoDB", dynamodb, dynamodb_unknown));
        lines.push(match (s3 + dynamodb, s3_unknown + dynamodb_unknown) {
            (0, 0) => "No lock is held.".to_owned(),
            (0, _) => format!("No lock was seen ({sides})."),
            _ => format!(
                "Locked now: {}, {both} of them in both stores ({sides}).",
                count(s3 + dynamodb - both, "state", "states")
            ),
        });
        lines.push(format!("Digests: {}.", said(digests(report))));
    }
    let open = report.open().count();
    let mut findings = count(open, "finding", "findings");
    let kinds: Vec<String> = SEVERITIES
        .into_iter()
        .map(|severity| (report.of(severity).count(), severity))
        .filter(|(n, _)| *n > 0)
        .map(|(n, severity)| format!("{n} {}", severity.as_str()))
        .collect();
    if !kinds.is_empty() {
        findings.push_str(&format!(": {}", kinds.join(", ")));
    }
    findings.push_str(&more(report));
    lines.push(format!("{findings}."));
    if !audit.unread.is_empty() {
        let hides = audit.unread.iter().filter(|unread| unread.hides_locks).count();
        lines.push(format!(
            "Could not be read: {}, {hides} of them can hide locks. Nothing is said about what they hold.",
            count(audit.unread.len(), "thing", "things")
        ));
    }
    if report.stats {
        lines.extend(stats(report));
    }
    lines
}

/// What the audit cost.
pub fn stats(report: &AuditReport<'_>) -> Vec<String> {
    let stats = &report.audit.stats;
    let all: u64 = stats.requests.values().sum();
    let parts: Vec<String> =
        stats.requests.iter().map(|(operation, n)| format!("{n} {}", visible(operation))).collect();
    let mut first = format!("Requests: {all}");
    if !parts.is_empty() {
        first.push_str(&format!(" ({})", parts.join(", ")));
    }
    first.push_str(&format!(", {} of them repeated.", stats.retries));
    let number = |n: u64, one, many| format!("{n} {}", if n == 1 { one } else { many });
    vec![
        first,
        format!(
            "Listed: {}, {}, {}, in {}.",
            number(stats.objects, "object or version", "objects and versions"),
            number(stats.items, "table item", "table items"),
            number(stats.pages, "page", "pages"),
            if stats.millis < 1000 { format!("{} ms", stats.millis) } else { span(stats.millis / 1000) }
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::outcome::Audit;
    use crate::report::audit::sample;

    #[test]
    fn summary_of_the_sample_and_of_nothing() {
        let audit = sample::audit();
        assert_eq!(
            lines(&AuditReport { audit: &audit, stats: true }),
            [
                "Taken at 2026-11-30T12:00:00Z.",
                "4 states; S3 locking: 1 contradicted, 1 no-writes-seen, 1 not-provable, 1 proven.",
                "Locked now: 3 states, 2 of them in both stores (2 in S3, which was not read for 1; 3 in DynamoDB).",
                "Digests: 2 matches, 1 none, 1 stale.",
                "5 findings: 1 critical, 2 high, 2 medium (1 more accepted with a reason).",
                "Could not be read: 2 things, 1 of them can hide locks. Nothing is said about what they hold.",
                "Requests: 7 (1 GetBucketPolicy, 2 GetObject, 3 ListObjectVersions, 1 Scan), 1 of them repeated.",
                "Listed: 41 objects and versions, 6 table items, 4 pages, in 820 ms.",
            ]
        );
        let alone = |states: &[&str]| {
            let mut audit = sample::audit();
            audit.states.retain(|state| states.contains(&state.state_path.as_str()));
            lines(&AuditReport { audit: &audit, stats: false })[2].clone()
        };
        assert_eq!(
            alone(&["search"]),
            "Locked now: 1 state, 0 of them in both stores (S3 not read; 1 in DynamoDB)."
        );
        assert_eq!(alone(&["lost"]), "No lock is held.");
        let mut dark = sample::audit();
        dark.states.retain(|state| state.state_path == "search");
        dark.states[0].locks.dynamodb = None;
        let dark = lines(&AuditReport { audit: &dark, stats: false });
        assert_eq!(dark[2], "No lock was seen (S3 not read; 0 in DynamoDB).");
        let mut known = sample::audit();
        known.findings.iter_mut().skip(1).for_each(|one| one.ignored = Some(IN_BASELINE.to_owned()));
        let of = |audit: &Audit| lines(&AuditReport { audit, stats: false })[4].clone();
        assert_eq!(of(&known), "1 finding: 1 critical (5 more known from the baseline).");
        known.findings[1].ignored = Some("until the move".to_owned());
        assert_eq!(
            of(&known),
            "1 finding: 1 critical (1 more accepted with a reason, 4 more known from the baseline)."
        );
        let nothing = sample::empty();
        assert_eq!(
            lines(&AuditReport { audit: &nothing, stats: false }),
            ["Taken at 2026-11-30T12:00:00Z.", "No state was looked at.", "0 findings."]
        );
    }
}
