//! `audit --format markdown`: fit for a comment, an issue or a step summary. Nothing that a store says may become
//! markup, a mention or a link here, and the whole stays below the length that a comment may have.

use super::subjects::{Subject, groups, subjects};
use super::wording::side_by_side;
use super::{AuditReport, summary};
use crate::audit::outcome::AuditFinding;
use crate::policy::access::Access;
use crate::report::markdown::{code, literal, plain, plain_about, whole};
use crate::report::totals::SEVERITIES;

/// GitHub takes 65,536 characters. The rest is room for the lines that say what was left out.
const LIMIT: usize = 60_000;

/// The report as Markdown. What matters most comes first, so that it is what fits.
pub fn render(report: &AuditReport<'_>) -> String {
    let mut out = String::from("## lockshift audit\n\n");
    for line in summary::lines(report) {
        out.push_str(&format!("- {}\n", plain(&line)));
    }
    section(&mut out, "Could not be read", report.audit.unread.len(), unread(report));
    section(&mut out, "Findings", report.open().count(), findings(report));
    let writers = outside(report);
    section(&mut out, "Written outside of an S3 lock", writers.len(), writers);
    section(&mut out, "Who can do what to the locks", report.audit.access.len(), access(report));
    let accepted = accepted(report);
    section(&mut out, "Accepted", accepted.len(), accepted);
    out
}

/// Blocks under a heading: written while they fit, counted when they do not.
fn section(out: &mut String, title: &str, count: usize, blocks: Vec<String>) {
    if blocks.is_empty() {
        return;
    }
    out.push_str(&format!("\n### {title} ({count})\n\n"));
    let all = blocks.len();
    for (n, block) in blocks.into_iter().enumerate() {
        // Characters are at most bytes, so this is on the safe side.
        if out.len() + block.len() > LIMIT {
            out.push_str(&format!(
                "\n{} more left out: a comment has a limit. `--format json` has them all.\n",
                all - n
            ));
            return;
        }
        out.push_str(&block);
    }
}

fn unread(report: &AuditReport<'_>) -> Vec<String> {
    let line = |unread: &crate::audit::snapshot::Unread| {
        let action =
            unread.missing_action.as_ref().map(|action| format!("; the role lacks {}", code(action)));
        format!(
            "- {}: {}: {}{}\n",
            code(&unread.resource),
            code(&unread.operation),
            plain_about(&unread.reason, &[&unread.resource]),
            action.unwrap_or_default()
        )
    };
    report.audit.unread.iter().map(line).collect()
}

/// Subjects whose lock matters, then the rest by rule; of equal weight the former come first.
fn findings(report: &AuditReport<'_>) -> Vec<String> {
    let subjects = subjects(report);
    let groups = groups(report, &subjects);
    let mut blocks = Vec::new();
    for severity in SEVERITIES {
        blocks.extend(subjects.iter().filter(|one| one.severity == severity).map(subject));
        let by_rule = groups.iter().filter(|group| group.severity == severity);
        blocks.extend(by_rule.flat_map(|group| &group.findings).map(|finding| {
            let mut out = format!(
                "- **{}** {} {}: {}\n",
                severity.as_str(),
                code(&finding.rule),
                code(&finding.subject),
                plain_about(&finding.message, &[&finding.subject])
            );
            out.push_str(&advice(finding, "  "));
            out.push_str(&lines(finding.commands.iter().map(|command| whole(command))));
            out.push_str(&lines(
                finding.place.iter().map(|place| format!("configured in {}", code(&place.to_string()))),
            ));
            out
        }));
    }
    blocks
}

fn subject(subject: &Subject<'_>) -> String {
    let mut out = format!("- **{}** {}\n", subject.severity.as_str(), code(subject.name));
    if let Some(locks) = subject.locks {
        out.push_str("\n  | | S3 | DynamoDB |\n  |---|---|---|\n");
        let cell = |text: &str| if text.is_empty() { "-".to_owned() } else { code(text) };
        for (name, s3, dynamodb) in side_by_side(locks) {
            out.push_str(&format!("  | {name} | {} | {} |\n", cell(&s3), cell(&dynamodb)));
        }
        out.push('\n');
    }
    for finding in &subject.findings {
        let rule = code(&finding.rule);
        let message = plain_about(&finding.message, &[&finding.subject]);
        out.push_str(&format!("  - {} {rule}: {message}\n", finding.severity.as_str()));
        out.push_str(&advice(finding, "    "));
    }
    out.push_str(&lines(subject.commands().into_iter().map(whole)));
    out.push_str(&lines(subject.places().iter().map(|place| format!("configured in {}", code(place)))));
    out
}

fn advice(finding: &AuditFinding, indent: &str) -> String {
    let told = [("What happens", &finding.consequence), ("What to do", &finding.help)];
    let told = told.into_iter().filter_map(|(name, text)| {
        Some(format!("{name}: {}", plain_about(text.as_ref()?, &[&finding.subject])))
    });
    told.map(|line| format!("{indent}- {line}\n")).collect()
}

fn lines(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("  - {item}\n")).collect()
}

fn outside(report: &AuditReport<'_>) -> Vec<String> {
    let states = report.audit.states.iter().filter(|state| !state.coverage.outside.is_empty());
    states
        .map(|state| {
            let writes: Vec<String> = state
                .coverage
                .outside
                .iter()
                .take(5)
                .map(|write| format!("{} ({})", write.at, code(&write.version_id)))
                .collect();
            let more = state.coverage.outside.len() - writes.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let subject = format!("s3://{}/{}", state.bucket, state.state_path);
            format!("- {}: {}{more}\n", code(&subject), writes.join(", "))
        })
        .collect()
}

/// One block for each bucket: the same list as the table's, as deep as that one.
fn access(report: &AuditReport<'_>) -> Vec<String> {
    let block = |access: &Access| {
        let (heading, lines) = super::access::lines(access);
        let mut out = format!("- {}\n", code(&heading));
        for line in lines {
            out.push_str(&format!("{:1$}- {2}\n", "", line.depth * 2, literal(&line.text)));
        }
        out
    };
    report.audit.access.iter().map(block).collect()
}

fn accepted(report: &AuditReport<'_>) -> Vec<String> {
    let line = |finding: &AuditFinding| {
        let reason = finding.ignored.as_deref()?;
        Some(format!("- {} {}: {}\n", code(&finding.rule), code(&finding.subject), plain(reason)))
    };
    report.audit.findings.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::policy::access::{Certainty, Holder, LockAccess, Part};
    use crate::report::audit::sample;

    #[test]
    fn markdown_of_the_sample() {
        let audit = sample::audit();
        insta::assert_snapshot!(render(&AuditReport { audit: &audit, stats: true }));
    }

    #[test]
    fn nothing_becomes_markup_a_mention_or_a_link() {
        let audit = sample::hostile();
        let out = render(&AuditReport { audit: &audit, stats: true });
        assert_eq!(sample::raw_control(&out), None);
        for line in out.lines().filter(|line| line.starts_with("  | ")) {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 4, "{line}");
        }
        // Outside of code spans nothing is left that could begin something.
        for line in out.lines() {
            let text: String = line.split("``").step_by(2).collect::<String>().replace("\\]", "");
            for markup in ["<b>", "](", "@me", "://"] {
                assert!(!text.contains(markup), "{markup} in {text}");
            }
        }
    }

    #[test]
    fn commands_are_never_shortened() {
        let mut audit = sample::audit();
        let long = format!("aws dynamodb delete-item --key '{}'", "k".repeat(3_000));
        audit.findings[1].commands = vec![long.clone()];
        audit.findings[4].commands = vec![long.clone()];
        let out = render(&AuditReport { audit: &audit, stats: false });
        assert_eq!(out.matches(&format!("  - `{long}`\n")).count(), 2, "{out}");
    }

    #[test]
    fn a_long_report_stays_below_the_limit_and_says_so() {
        let mut audit = sample::empty();
        let long = "x".repeat(150);
        audit.findings =
            (0..1_000).map(|n| sample::finding("r", Severity::Low, &format!("s3://b/{n}"), &long)).collect();
        let out = render(&AuditReport { audit: &audit, stats: false });
        assert!(out.len() < 65_000 && out.contains(" more left out"), "{}", out.len());
    }

    #[test]
    fn who_can_do_what_stands_there_too_and_becomes_no_markup() {
        let mut audit = sample::empty();
        audit.access = vec![Access {
            bucket: "acme-tfstate".into(),
            account: Some("111122223333".into()),
            locks: vec![LockAccess {
                keys: vec!["a.tflock".into(), "[b](x).tflock".into()],
                can_delete: vec![Holder {
                    principal: "role/tf_apply".into(),
                    part: Part::Runner,
                    assumed: false,
                    certainty: Certainty::Certain,
                    actions: Vec::new(),
                }],
                ..LockAccess::default()
            }],
            ..Access::default()
        }];
        let out = render(&AuditReport { audit: &audit, stats: false });
        let expected = "\
### Who can do what to the locks (1)

- `s3://acme-tfstate (account 111122223333)`
  - a.tflock, \\[b\\](x).tflock
    - can delete: role/tf\\_apply (runner)
    - can delete versions, can overwrite, can create, can't release what it creates: nobody
  - can change what protects them: nobody
";
        assert!(out.ends_with(expected), "{out}");
    }
}
