//! `audit --format github`: workflow commands that GitHub turns into annotations. Nothing else may begin a line with
//! `::` here: what a store says must never become a command. A finding that no file configures has no place, and so
//! is shown with the run instead of a line.

use super::wording::in_lines;
use super::{AuditReport, summary};
use crate::repo::text::Place;
use crate::report::github::{data, level, property};
use crate::report::totals::SEVERITIES;
use crate::report::words::{count, visible};

/// The report as workflow commands, the gravest first, and one plain line at the end.
pub fn render(report: &AuditReport<'_>) -> String {
    let audit = report.audit;
    let mut out = String::new();
    for severity in SEVERITIES {
        for finding in report.of(severity) {
            let mut lines = vec![format!("{}: {}", finding.subject, finding.message)];
            lines.extend(in_lines(finding.locks.as_ref()));
            lines.extend(finding.consequence.clone());
            lines.extend(finding.help.clone());
            lines.extend(finding.commands.iter().map(|command| format!("$ {command}")));
            let title = format!("{}: {}", severity.as_str(), visible(&finding.rule));
            command(&mut out, level(severity), finding.place.as_ref(), &title, &lines);
        }
    }
    for unread in &audit.unread {
        let mut lines = vec![format!("{}: {}: {}", unread.resource, unread.operation, unread.reason)];
        lines.extend(unread.missing_action.as_ref().map(|action| format!("the role lacks {action}")));
        let level = if unread.hides_locks { "error" } else { "warning" };
        command(&mut out, level, None, "could not be read", &lines);
    }
    // Annotations of what somebody has accepted already would only hide the others; that there is some is said.
    let accepted = summary::more(report);
    out.push_str(&format!(
        "lockshift: {}{accepted} in {}, {} not read\n",
        count(report.open().count(), "finding", "findings"),
        count(audit.states.len(), "state", "states"),
        count(audit.unread.len(), "thing", "things"),
    ));
    out
}

fn command(out: &mut String, level: &str, place: Option<&Place>, title: &str, lines: &[String]) {
    let text = lines.iter().map(|line| visible(line)).collect::<Vec<_>>().join("\n");
    let at = place.map(|place| {
        format!("file={},line={},col={},", property(&visible(&place.file)), place.line, place.column)
    });
    out.push_str(&format!(
        "::{level} {}title={}::{}\n",
        at.unwrap_or_default(),
        property(title),
        data(&text)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::audit::sample;

    #[test]
    fn commands_of_the_sample() {
        let audit = sample::audit();
        insta::assert_snapshot!(render(&AuditReport { audit: &audit, stats: false }));
    }

    #[test]
    fn what_is_accepted_is_counted_and_not_annotated() {
        let mut audit = sample::audit();
        let accepted = audit.findings.iter().position(|finding| finding.ignored.is_some()).unwrap();
        let some = render(&AuditReport { audit: &audit, stats: false });
        assert!(some.contains(" findings (1 more accepted with a reason) in "), "{some}");
        audit.findings[accepted].ignored = None;
        let all = render(&AuditReport { audit: &audit, stats: false });
        assert!(!all.contains("accepted"), "{all}");
        assert_eq!(all.lines().count(), some.lines().count() + 1);
    }

    #[test]
    fn what_a_store_says_stays_inside_its_command() {
        let audit = sample::hostile();
        let out = render(&AuditReport { audit: &audit, stats: false });
        assert_eq!(sample::raw_control(&out), None);
        assert_eq!(out.lines().count(), 4, "{out}");
        assert_eq!(out.lines().filter(|line| line.starts_with("::error ")).count(), 3);
    }
}
