//! `audit --format junit`: for CI servers that show tests. A state without findings is a test that passed, a finding a
//! test of its own, and what was not read an error: a green bar never stands for what was not looked at.

use std::collections::BTreeSet;

use super::AuditReport;
use super::wording::in_lines;
use crate::audit::outcome::AuditFinding;
use crate::report::words::markup;

/// One test case, its outcome as XML.
struct Case {
    class: String,
    name: String,
    outcome: String,
}

/// The report as JUnit XML. `fails` says which findings make the run fail; others are told as output of a test that
/// passed.
pub fn render(report: &AuditReport<'_>, fails: &dyn Fn(&AuditFinding) -> bool) -> String {
    let audit = report.audit;
    let mut cases = Vec::new();
    let found: BTreeSet<&str> = audit.findings.iter().map(|finding| finding.subject.as_str()).collect();
    for state in &audit.states {
        let subject = format!("s3://{}/{}", state.bucket, state.state_path);
        if !found.contains(subject.as_str()) {
            cases.push(Case {
                class: format!("s3://{}", state.bucket),
                name: state.state_path.clone(),
                outcome: String::new(),
            });
        }
    }
    let (mut failures, mut skipped) = (0, 0);
    for finding in &audit.findings {
        let outcome = match &finding.ignored {
            Some(reason) => {
                skipped += 1;
                format!("<skipped message=\"{}\"/>", markup(reason))
            }
            None if fails(finding) => {
                failures += 1;
                format!(
                    "<failure type=\"{}\" message=\"{}\">{}</failure>",
                    finding.severity.as_str(),
                    markup(&finding.message),
                    details(finding)
                )
            }
            None => format!("<system-out>{}: {}</system-out>", finding.severity.as_str(), details(finding)),
        };
        cases.push(Case { class: finding.subject.clone(), name: finding.rule.clone(), outcome });
    }
    for unread in &audit.unread {
        let action = unread.missing_action.as_ref().map(|action| format!("; the role lacks {action}"));
        let why = format!("{}{}", unread.reason, action.unwrap_or_default());
        cases.push(Case {
            class: unread.resource.clone(),
            name: format!("read: {}", unread.operation),
            outcome: format!("<error type=\"unread\" message=\"{}\"/>", markup(&why)),
        });
    }
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{}\" skipped=\"{skipped}\"",
        cases.len(),
        audit.unread.len()
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"lockshift audit\" {counts} \
         timestamp=\"{}\">\n",
        audit.generated_at
    );
    for case in cases {
        let head = format!("<testcase classname=\"{}\" name=\"{}\"", markup(&case.class), markup(&case.name));
        if case.outcome.is_empty() {
            out.push_str(&format!("    {head}/>\n"));
        } else {
            out.push_str(&format!("    {head}>\n      {}\n    </testcase>\n", case.outcome));
        }
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn details(finding: &AuditFinding) -> String {
    let mut lines = vec![finding.message.clone()];
    lines.extend(in_lines(finding.locks.as_ref()));
    lines.extend(finding.consequence.clone());
    lines.extend(finding.help.clone());
    lines.extend(finding.commands.iter().map(|command| format!("$ {command}")));
    lines.iter().map(|line| markup(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::report::audit::sample;

    #[test]
    fn tests_of_the_sample() {
        let audit = sample::audit();
        let report = AuditReport { audit: &audit, stats: false };
        insta::assert_snapshot!(render(&report, &|finding| finding.severity >= Severity::High));
    }

    #[test]
    fn what_a_store_says_stays_text() {
        let audit = sample::hostile();
        let out = render(&AuditReport { audit: &audit, stats: false }, &|_| true);
        assert_eq!(sample::raw_control(&out), None);
        assert!(!out.contains('\u{fffe}') && !out.contains("<b>") && !out.contains("]]>"), "{out}");
        assert_eq!(out.matches("<testcase ").count(), 6);
        assert_eq!(out.matches("<failure ").count(), 2);
    }
}
