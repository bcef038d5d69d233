//! The sections below the findings: what could not be read, locks that are held and fine, writes outside of a lock,
//! what can't be proven, what was accepted, and the summary. Each is empty when there is nothing to say.

use std::collections::{BTreeMap, BTreeSet};

use super::wording::in_lines;
use super::{AuditReport, summary};
use crate::audit::outcome::StateReport;
use crate::audit::snapshot::ProbeVerdict;
use crate::finding::Severity;
use crate::report::palette::Palette;
use crate::report::words::{count, visible};

/// Subjects that are named under one heading; the rest is counted. The JSON form names all.
pub(super) const NAMED: usize = 20;

/// How many more there are than were named; nothing when there are none.
pub(super) fn more(all: usize, indent: &str) -> String {
    match all.checked_sub(NAMED) {
        None | Some(0) => String::new(),
        Some(more) => format!("{indent}and {more} more (--format json has all)\n"),
    }
}

/// What could not be read; what can hide a lock comes first.
pub(super) fn unread(report: &AuditReport<'_>, palette: Palette) -> String {
    let mut out = String::new();
    for hides in [true, false] {
        for unread in report.audit.unread.iter().filter(|unread| unread.hides_locks == hides) {
            if out.is_empty() {
                out = format!("{}\n", palette.bold("Could not be read"));
            }
            out.push_str(&format!(
                "  {}: {}: {}{}\n",
                visible(&unread.resource),
                visible(&unread.operation),
                visible(&unread.reason),
                if hides { "" } else { " (hides no lock)" }
            ));
            if let Some(action) = &unread.missing_action {
                out.push_str(&format!("    {} {}\n", palette.dim("the role lacks"), visible(action)));
            }
        }
    }
    out
}

/// Who can do what to the locks, bucket by bucket.
pub(super) fn access(report: &AuditReport<'_>, palette: Palette) -> String {
    let mut out = String::new();
    for access in &report.audit.access {
        if out.is_empty() {
            out = format!("{}\n", palette.bold("Who can do what to the locks"));
        }
        let (heading, lines) = super::access::lines(access);
        out.push_str(&format!("  {heading}\n"));
        out.extend(lines.iter().map(|line| format!("  {:1$}{2}\n", "", line.depth * 2, line.text)));
    }
    out
}

/// What probes of the stores said. Short: only those whose locks do not lock.
pub(super) fn probes(report: &AuditReport<'_>, palette: Palette, short: bool) -> String {
    let mut out = String::new();
    for probe in report.audit.probes.iter().filter(|probe| !short || !probe.honoured) {
        if out.is_empty() {
            out = format!("{}\n", palette.bold("Probed stores"));
        }
        let endpoint = probe.endpoint.as_ref().map(|endpoint| format!(" at {}", visible(endpoint)));
        let said = match probe.verdict {
            ProbeVerdict::Enforced => "a second lock is refused: locks lock".to_owned(),
            ProbeVerdict::Rejected => "every conditional write is refused: no lock can be taken".to_owned(),
            ProbeVerdict::Ignored => {
                palette.severity(Severity::Critical, "a second lock overwrites the first: LOCKS DO NOT LOCK")
            }
        };
        let deletes = match probe.conditional_delete {
            Some(false) => "; a conditional delete is not checked: `lockshift unlock` can't be safe there",
            Some(true) | None => "",
        };
        let bucket = visible(&probe.bucket);
        out.push_str(&format!("  s3://{bucket}{}: {said}{deletes}\n", endpoint.unwrap_or_default()));
    }
    out
}

/// Locks that no finding speaks of: somebody is at work.
pub(super) fn held(report: &AuditReport<'_>, palette: Palette) -> String {
    let said: BTreeSet<&str> = report
        .open()
        .filter(|finding| finding.locks.is_some())
        .map(|finding| finding.subject.as_str())
        .collect();
    let is_held = |state: &&StateReport| state.locks.is_held() && !said.contains(name(state).as_str());
    let held: Vec<&StateReport> = report.audit.states.iter().filter(is_held).collect();
    let mut out = String::new();
    for state in held.iter().take(NAMED) {
        if out.is_empty() {
            out = format!("{}\n", palette.bold("Held now, and nothing found about it"));
        }
        out.push_str(&format!("  {}\n", visible(&name(state))));
        // That a store has none is a finding where the mode asks for both, and no news elsewhere.
        for line in in_lines(Some(&state.locks)).iter().filter(|line| !line.ends_with(": no lock seen")) {
            out.push_str(&format!("    {}\n", visible(line)));
        }
    }
    out + &more(held.len(), "  ")
}

/// Writes that went around the lock, by state: the history, beside what is wrong now.
pub(super) fn outside(report: &AuditReport<'_>, palette: Palette) -> String {
    let states = || report.audit.states.iter().filter(|state| !state.coverage.outside.is_empty());
    let mut out = String::new();
    for state in states().take(NAMED) {
        if out.is_empty() {
            out = format!("{}\n", palette.bold("Written outside of an S3 lock"));
        }
        let writes = &state.coverage.outside;
        out.push_str(&format!(
            "  {}: {} of {}\n",
            visible(&name(state)),
            writes.len(),
            count(state.coverage.writes, "write", "writes")
        ));
        for write in writes.iter().take(NAMED) {
            out.push_str(&format!("    {} version {}\n", write.at, visible(&write.version_id)));
        }
        out.push_str(&more(writes.len(), "    "));
    }
    out + &more(states().count(), "  ")
}

/// Why some states can't be proven to be locked in S3, equal reasons together.
pub(super) fn unproven(report: &AuditReport<'_>, palette: Palette) -> String {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for state in &report.audit.states {
        if let Some(reason) = &state.coverage.reason {
            reasons.entry(reason).or_default().push(name(state));
        }
    }
    let mut out = String::new();
    for (reason, states) in reasons.iter().take(NAMED) {
        if out.is_empty() {
            out = format!("{}\n", palette.bold("Can't be proven"));
        }
        let named: Vec<_> = states.iter().take(3).map(|state| visible(state)).collect();
        let rest = states.len() - named.len();
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        out.push_str(&format!("  {}: {}{rest}\n", visible(reason), named.join(", ")));
    }
    out + &more(reasons.len(), "  ")
}

/// Findings that were accepted, with the reason.
pub(super) fn accepted(report: &AuditReport<'_>, palette: Palette) -> String {
    let accepted = || report.audit.findings.iter().filter(|finding| finding.ignored.is_some());
    let mut out = String::new();
    for finding in accepted().take(NAMED) {
        if out.is_empty() {
            out = format!("{}\n", palette.bold("Accepted"));
        }
        out.push_str(&format!(
            "  {} {}: {}\n",
            visible(&finding.rule),
            visible(&finding.subject),
            visible(finding.ignored.as_deref().unwrap_or_default())
        ));
    }
    out + &more(accepted().count(), "  ")
}

/// The last lines.
pub(super) fn summary(report: &AuditReport<'_>, palette: Palette) -> String {
    let mut out = format!("{}\n", palette.bold("Summary"));
    for line in summary::lines(report) {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

fn name(state: &StateReport) -> String {
    format!("s3://{}/{}", state.bucket, state.state_path)
}
