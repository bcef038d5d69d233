//! `--format github`: workflow commands that GitHub turns into annotations on the changed lines. Nothing else may
//! begin a line with `::` here: what a file says must never become a command.
//!
//! GitHub shows at most ten annotations of each level for a step; the log and the last line hold all.

use super::ScanReport;
use super::totals::SEVERITIES;
use super::words::{count, visible};
use crate::finding::Severity;
use crate::repo::text::Place;

/// The report as workflow commands, the gravest first, and one plain line at the end.
pub fn render(report: &ScanReport<'_>) -> String {
    let mut out = String::new();
    for severity in SEVERITIES {
        for finding in report.open().filter(|finding| finding.severity == severity) {
            let title = format!("{}: {}", finding.severity.as_str(), visible(&finding.rule));
            command(
                &mut out,
                level(severity),
                &finding.place,
                &title,
                &finding.message,
                finding.help.as_deref(),
            );
        }
    }
    for problem in report.unread() {
        command(&mut out, "error", &problem.place, problem.kind.id(), &problem.message, None);
    }
    out.push_str(&format!(
        "lockshift: {} in {}, {} not read\n",
        count(report.open().count(), "finding", "findings"),
        count(report.summary.roots, "root module", "root modules"),
        count(report.summary.unread, "place", "places"),
    ));
    out
}

/// GitHub knows three levels.
pub(super) fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "notice",
    }
}

fn command(out: &mut String, level: &str, place: &Place, title: &str, message: &str, help: Option<&str>) {
    let mut text = visible(message).into_owned();
    if let Some(help) = help {
        text.push('\n');
        text.push_str(&visible(help));
    }
    out.push_str(&format!(
        "::{level} file={},line={},col={},title={}::{}\n",
        property(&visible(&place.file)),
        place.line,
        place.column,
        property(title),
        data(&text)
    ));
}

/// A command's message, escaped as GitHub's runner unescapes it.
/// Source: `escapeData` in actions/toolkit, `packages/core/src/command.ts`.
pub(super) fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A command's property value; `escapeProperty` there.
pub(super) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn commands_of_the_sample() {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        insta::assert_snapshot!(render(&ScanReport::new(&inventory, &findings)));
    }

    #[test]
    fn what_a_file_says_stays_inside_its_command() {
        let (inventory, findings) = sample::hostile();
        let out = render(&ScanReport::new(&inventory, &findings));
        assert_eq!(out.lines().count(), 3);
        let first = out.lines().next().unwrap();
        assert!(
            first.starts_with(
                "::warning file==x|`\\u{1b}[2J\"<b>%2C%3A%3A%25\\n@me\\u{202e}\\u{9b}K](http%3A//e),line=2,col=3,\
                 title=medium%3A dynamodb-only::=x|`\\u{1b}[2J\"<b>,::%25\\n@me"
            ),
            "{first}"
        );
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
    }
}
