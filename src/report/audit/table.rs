//! `audit --format table`: for a person at three in the morning. First what is wrong, the gravest first, each with both
//! lock records side by side, what will happen, and the exact commands; then what could not be read, with the action
//! that is missing; then the summary. Everything that comes from a store or a file is made safe to show.

use std::collections::BTreeSet;

use super::AuditReport;
use super::subjects::{RuleGroup, Subject, groups, subjects};
use super::table_sections::{self, NAMED};
use super::wording::side_by_side;
use crate::audit::outcome::{AuditFinding, Locks};
use crate::finding::Severity;
use crate::report::columns::{beside, folded};
use crate::report::palette::Palette;
use crate::report::totals::SEVERITIES;
use crate::report::words::visible;

/// Blanks before a lock record.
const INDENT: usize = 4;

/// How the report is laid out.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditTableOptions {
    /// Width of the terminal; none where it is not one: then nothing is cut.
    pub width: Option<u16>,
    /// Whether to colour.
    pub colour: bool,
    /// Only what needs doing: findings, what could not be read, and the summary.
    pub quiet: bool,
}

/// The report for people.
pub fn render(report: &AuditReport<'_>, options: AuditTableOptions) -> String {
    let palette = Palette { colour: options.colour };
    let mut parts = vec![table_sections::unread(report, palette)];
    parts.push(table_sections::probes(report, palette, options.quiet));
    if !options.quiet {
        parts.push(table_sections::held(report, palette));
        parts.push(table_sections::outside(report, palette));
        parts.push(table_sections::unproven(report, palette));
        parts.push(table_sections::access(report, palette));
        parts.push(table_sections::accepted(report, palette));
    }
    parts.push(table_sections::summary(report, palette));
    // Records are laid out for the width already.
    let found = findings(report, palette, options);
    let parts: Vec<String> = std::iter::once(found)
        .chain(parts.iter().map(|part| folded(part, options.width)))
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n")
}

/// Subjects whose lock matters have a paragraph each; other findings stand together by rule. The gravest come first.
fn findings(report: &AuditReport<'_>, palette: Palette, options: AuditTableOptions) -> String {
    let subjects = subjects(report);
    let groups = groups(report, &subjects);
    let mut parts = Vec::new();
    for severity in SEVERITIES {
        let alone = subjects.iter().filter(|subject| subject.severity == severity);
        parts.extend(alone.map(|subject| paragraph(subject, palette, options)));
        let by_rule = groups.iter().filter(|group| group.severity == severity);
        parts.extend(by_rule.map(|group| folded(&together(group, palette), options.width)));
    }
    parts.join("\n")
}

fn title(severity: Severity, name: &str, palette: Palette) -> String {
    format!("{} {}", palette.severity(severity, severity.as_str()), palette.bold(&visible(name)))
}

/// A subject, both lock records, each finding with what will happen and what to do, and the commands once.
fn paragraph(subject: &Subject<'_>, palette: Palette, options: AuditTableOptions) -> String {
    let mut out = format!("{}\n", title(subject.severity, subject.name, palette));
    if let Some(locks) = subject.locks {
        out.push_str(&records(locks, palette, options.width));
    }
    let mut said = BTreeSet::new();
    let head = std::mem::take(&mut out);
    for finding in &subject.findings {
        out.push_str(&format!(
            "  {}: {}\n",
            title(finding.severity, &finding.rule, palette),
            visible(&finding.message)
        ));
        for (name, text) in [("what happens:", &finding.consequence), ("what to do:", &finding.help)] {
            // Two findings about one lock often ask for the same.
            if let Some(text) = text.as_ref().filter(|text| said.insert(text.as_str())) {
                out.push_str(&format!("    {} {}\n", palette.dim(name), visible(text)));
            }
        }
    }
    for command in subject.commands() {
        out.push_str(&format!("    $ {}\n", visible(command)));
    }
    for place in subject.places() {
        out.push_str(&format!("  {} {}\n", palette.dim("configured in"), visible(&place)));
    }
    head + &folded(&out, options.width)
}

/// Both lock records, and below them in words what does not fit into a column: why a store was not read, or what is
/// wrong with a lock.
fn records(locks: &Locks, palette: Palette, width: Option<u16>) -> String {
    let stores = ["S3", "DynamoDB"];
    let (told, rows): (Vec<_>, Vec<_>) =
        side_by_side(locks).into_iter().partition(|(name, ..)| ["why", "unreadable"].contains(name));
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { visible(&text).into_owned() };
    let rows: Vec<(&str, [String; 2])> =
        rows.into_iter().map(|(name, s3, dynamodb)| (name, [s3, dynamodb].map(or_dash))).collect();
    let mut out = beside(stores, &rows, INDENT, width, palette);
    let mut words = String::new();
    for (name, s3, dynamodb) in told {
        let what = if name == "why" { "was not read" } else { "has a lock that can't be read" };
        for (store, why) in stores.into_iter().zip([s3, dynamodb]).filter(|(_, why)| !why.is_empty()) {
            words.push_str(&format!("{:INDENT$}{store} {what}: {}\n", "", visible(&why)));
        }
    }
    out.push_str(&folded(&words, width));
    out
}

/// What will happen, what to do, the commands, and where it is configured.
fn rest(out: &mut String, finding: &AuditFinding, palette: Palette) {
    if let Some(consequence) = &finding.consequence {
        out.push_str(&format!("  {} {}\n", palette.dim("what happens:"), visible(consequence)));
    }
    if let Some(help) = &finding.help {
        out.push_str(&format!("  {} {}\n", palette.dim("what to do:"), visible(help)));
    }
    for command in &finding.commands {
        out.push_str(&format!("    $ {}\n", visible(command)));
    }
    if let Some(place) = &finding.place {
        out.push_str(&format!("  {} {}\n", palette.dim("configured in"), visible(&place.to_string())));
    }
}

/// One rule, its subjects, and what they share said once.
fn together(group: &RuleGroup<'_>, palette: Palette) -> String {
    let (rule, group) = (group.rule, group.findings.as_slice());
    let Some(first) = group.first() else { return String::new() };
    let mut out = format!("{}\n", title(first.severity, rule, palette));
    let same = |of: &dyn Fn(&AuditFinding) -> Option<String>| group.iter().all(|one| of(one) == of(first));
    let help = same(&|one| one.help.clone());
    let consequence = same(&|one| one.consequence.clone());
    for finding in group.iter().take(NAMED) {
        out.push_str(&format!("  {}: {}\n", visible(&finding.subject), visible(&finding.message)));
        let mut own = (*finding).clone();
        if help {
            own.help = None;
        }
        if consequence {
            own.consequence = None;
        }
        rest(&mut out, &own, palette);
    }
    out.push_str(&table_sections::more(group.len(), "  "));
    let shared = AuditFinding {
        help: first.help.clone().filter(|_| help),
        consequence: first.consequence.clone().filter(|_| consequence),
        commands: Vec::new(),
        place: None,
        ..(*first).clone()
    };
    rest(&mut out, &shared, palette);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::outcome::Audit;
    use crate::report::audit::sample;

    fn shown(audit: &Audit, options: AuditTableOptions) -> String {
        render(&AuditReport { audit, stats: true }, options)
    }

    #[test]
    fn the_whole_screen() {
        insta::assert_snapshot!(shown(&sample::audit(), AuditTableOptions::default()));
    }

    #[test]
    fn quiet_leaves_what_needs_doing() {
        let out = shown(&sample::audit(), AuditTableOptions { quiet: true, ..Default::default() });
        assert!(!out.contains("Accepted") && !out.contains("Written outside"), "{out}");
        assert!(out.contains("Could not be read") && out.contains("stale-lock"), "{out}");
    }

    #[test]
    fn a_store_that_does_not_lock_is_said_even_when_quiet() {
        let mut audit = sample::audit();
        let quiet = AuditTableOptions { quiet: true, ..Default::default() };
        assert!(!shown(&audit, quiet).contains("Probed stores"));
        audit.probes[0].honoured = false;
        audit.probes[0].verdict = crate::audit::snapshot::ProbeVerdict::Ignored;
        assert!(
            shown(&audit, quiet)
                .contains("s3://acme-tfstate: a second lock overwrites the first: LOCKS DO NOT")
        );
    }

    #[test]
    fn a_lock_without_a_finding_is_somebody_at_work() {
        let mut audit = sample::audit();
        assert!(!shown(&audit, AuditTableOptions::default()).contains("Held now"));
        audit.findings.clear();
        let out = shown(&audit, AuditTableOptions::default());
        let search = "  s3://acme-tfstate/search\n    S3: not read: the listing did not come to its end\n    DynamoDB: held by old@client (apply, 1.11.4), age 2 hours 10 \
                      minutes, id cccc\n";
        assert!(out.starts_with("Could not be read\n") && out.contains("\nHeld now, "), "{out}");
        assert!(out.contains(search), "{out}");
    }

    #[test]
    fn records_fit_any_terminal_and_nothing_in_them_is_cut() {
        let whole = shown(&sample::audit(), AuditTableOptions::default());
        let id = "fd7c2461-cb87-2db7-062f-a80e23e8cd7e";
        assert!(whole.contains(&format!("    id         {id}  ")), "{whole}");
        for width in [60, 80, 100, 120, 200] {
            let out = shown(&sample::audit(), AuditTableOptions { width: Some(width), ..Default::default() });
            for line in out.lines().filter(|line| !line.trim_start().starts_with("$ ")) {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
            assert!(!out.contains('…') && out.contains(&format!("{id}\n")), "{width}: {out}");
        }
    }

    #[test]
    fn many_of_a_kind_are_counted_and_colour_is_asked_for() {
        let mut audit = sample::empty();
        for n in 0..25 {
            audit.findings.push(sample::finding("r", Severity::Low, &format!("s3://b/{n:02}"), "m"));
        }
        let out = shown(&audit, AuditTableOptions::default());
        assert!(out.contains("  and 5 more (--format json has all)\n"), "{out}");
        assert!(!out.contains('\u{1b}'));
        assert!(shown(&audit, AuditTableOptions { colour: true, ..Default::default() }).contains('\u{1b}'));
    }

    #[test]
    fn no_raw_control_reaches_a_terminal() {
        for width in [None, Some(40)] {
            let out = shown(&sample::hostile(), AuditTableOptions { width, ..Default::default() });
            assert_eq!(sample::raw_control(&out), None);
            assert!(!out.lines().any(|line| line.starts_with("::")), "{out}");
        }
    }
}
