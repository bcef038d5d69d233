//! Open findings of a scan, an audit or both in one table, with what to do about each.

use std::collections::BTreeSet;

use super::escape::{code, prose, prose_about, text};
use super::owners::Owners;
use super::pages::link;
use super::table::{Choice, Row, filter, table, words};
use crate::audit::outcome::{AuditFinding, Locks};
use crate::finding::{Finding, Severity};
use crate::report::audit::wording::side_by_side;
use crate::report::totals::SEVERITIES;
use crate::report::words::count;

/// A finding, wherever it comes from.
#[derive(Debug, Clone)]
pub(super) struct Open<'a> {
    pub severity: Severity,
    pub rule: &'a str,
    pub subject: &'a str,
    pub place: Option<String>,
    pub message: &'a str,
    pub consequence: Option<&'a str>,
    pub help: Option<&'a str>,
    pub commands: &'a [String],
    pub locks: Option<&'a Locks>,
    pub owners: Vec<&'a str>,
}

impl<'a> Open<'a> {
    /// A scan's finding.
    pub fn of_scan(finding: &'a Finding, owners: &Owners<'a>) -> Self {
        Self {
            severity: finding.severity,
            rule: &finding.rule,
            subject: &finding.subject,
            place: Some(finding.place.to_string()),
            message: &finding.message,
            consequence: None,
            help: finding.help.as_deref(),
            commands: &[],
            locks: None,
            owners: owners.of_finding(&finding.subject, Some(&finding.place.file)),
        }
    }

    /// An audit's finding.
    pub fn of_audit(finding: &'a AuditFinding, owners: &Owners<'a>) -> Self {
        Self {
            severity: finding.severity,
            rule: &finding.rule,
            subject: &finding.subject,
            place: finding.place.as_ref().map(ToString::to_string),
            message: &finding.message,
            consequence: finding.consequence.as_deref(),
            help: finding.help.as_deref(),
            commands: &finding.commands,
            locks: finding.locks.as_ref(),
            owners: owners
                .of_finding(&finding.subject, finding.place.as_ref().map(|place| place.file.as_str())),
        }
    }
}

/// Open findings by severity, the gravest first; severities that occur.
pub(super) fn by_severity(open: &[Open<'_>]) -> Vec<(Severity, usize)> {
    let of = |severity| open.iter().filter(|finding| finding.severity == severity).count();
    SEVERITIES.into_iter().map(|severity| (severity, of(severity))).filter(|(_, n)| *n > 0).collect()
}

/// The section's content.
pub(super) fn render(open: &[Open<'_>], pages: &BTreeSet<&str>) -> String {
    if open.is_empty() {
        return "<p>No open findings.</p>\n".to_owned();
    }
    let severities =
        by_severity(open).into_iter().map(|(severity, _)| severity.as_str().to_owned()).collect();
    let rules: BTreeSet<&str> = open.iter().map(|finding| finding.rule).collect();
    let owners: BTreeSet<&str> = open.iter().flat_map(|finding| finding.owners.iter().copied()).collect();
    let own = |values: BTreeSet<&str>| values.into_iter().map(str::to_owned).collect();
    let choices = [
        Choice { key: "severity", label: "Severity", values: severities },
        Choice { key: "rule", label: "Rule", values: own(rules) },
        Choice { key: "owner", label: "Owner", values: own(owners) },
    ];
    let columns = [
        words("Severity", "severity"),
        words("Rule", "rule"),
        words("What, where, and what to do", "what"),
        words("Owner", "owner"),
    ];
    let mut sorted: Vec<&Open<'_>> = open.iter().collect();
    // Stable: each source has an order of its own, which stays within a severity.
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let rows: Vec<Row> = sorted.into_iter().map(|finding| row(finding, pages)).collect();
    format!(
        "{}{}",
        filter("findings", rows.len(), &choices),
        table("findings", &count(rows.len(), "open finding", "open findings"), &columns, &rows)
    )
}

/// A severity as a word with a shape of its own.
pub(super) fn badge(severity: Severity) -> String {
    format!("<span class=\"s s-{0}\">{0}</span>", severity.as_str())
}

fn row(finding: &Open<'_>, pages: &BTreeSet<&str>) -> Row {
    let about = [finding.subject, finding.place.as_deref().unwrap_or_default()];
    let mut what = format!("<p>{}</p>", prose_about(finding.message, &about));
    let place = finding.place.as_deref();
    let at = match place {
        // The place names the root module or file already.
        Some(place) if place.starts_with(finding.subject) => code(place),
        Some(place) => format!("{} {}", code(finding.subject), code(place)),
        None => code(finding.subject),
    };
    what.push_str(&format!("<p class=\"at\">{at}</p>"));
    for (name, told) in [("What happens", finding.consequence), ("What to do", finding.help)] {
        if let Some(told) = told {
            what.push_str(&format!("<p><b>{name}:</b> {}</p>", prose_about(told, &about)));
        }
    }
    if let Some(locks) = finding.locks {
        what.push_str(&records(locks));
    }
    if !finding.commands.is_empty() {
        let lines: Vec<String> = finding.commands.iter().map(|command| text(command)).collect();
        what.push_str(&format!(
            "<details><summary>{}</summary><pre tabindex=\"0\"><code>{}</code></pre></details>",
            count(lines.len(), "command", "commands"),
            lines.join("\n")
        ));
    }
    let owners: Vec<String> = finding.owners.iter().map(|owner| text(owner)).collect();
    Row {
        keys: vec![
            ("severity", finding.severity.as_str().to_owned()),
            ("rule", finding.rule.to_owned()),
            // No owner has a blank in it: several owners, one key.
            ("owner", finding.owners.join(" ")),
        ],
        cells: vec![
            badge(finding.severity),
            link(finding.rule, pages.contains(finding.rule)),
            what,
            owners.join("<br>"),
        ],
    }
}

/// Both stores' records, side by side.
fn records(locks: &Locks) -> String {
    let rows: String = side_by_side(locks)
        .into_iter()
        .map(|(name, s3, dynamodb)| {
            format!(
                "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td></tr>",
                text(&s3),
                text(&dynamodb)
            )
        })
        .collect();
    format!(
        "<details><summary>Lock records</summary><table class=\"records\"><caption>What both stores hold</caption><thead>\
         <tr><th scope=\"col\">Record</th><th scope=\"col\">S3</th><th scope=\"col\">DynamoDB</th></tr></thead><tbody>{rows}\
         </tbody></table></details>"
    )
}

/// What fails nothing: ignored with a reason, or known from a baseline. Rule, subject, reason.
pub(super) fn ignored(ignored: &[(&str, &str, &str)]) -> String {
    if ignored.is_empty() {
        return String::new();
    }
    let items: BTreeSet<&(&str, &str, &str)> = ignored.iter().collect();
    let all = items.len();
    let lines: String = items
        .into_iter()
        .map(|(rule, subject, why)| format!("<li>{} {}: {}</li>", code(rule), code(subject), prose(why)))
        .collect();
    format!(
        "<details><summary>{} ignored with a reason, or known from a baseline</summary><ul>{lines}</ul></details>\n",
        count(all, "more finding is", "more findings are")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{audit, sample};

    #[test]
    fn findings_stand_by_severity_with_their_keys_and_their_fix() {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        let owners = Owners::of(Some(&inventory), None);
        let open: Vec<Open<'_>> = findings.iter().take(2).map(|one| Open::of_scan(one, &owners)).collect();
        let out = render(&open, &BTreeSet::from(["no-locking"]));
        assert!(out.find("data-rule=\"no-locking\"") < out.find("data-rule=\"dynamodb-only\""), "{out}");
        assert!(
            out.contains(
                "<tr data-severity=\"medium\" data-rule=\"dynamodb-only\" data-owner=\"@acme/web\">"
            ),
            "{out}"
        );
        assert!(out.contains("<a href=\"#rule-no-locking\">"), "{out}");
        assert!(out.contains("<td class=\"rule\"><code>dynamodb-only</code></td>"), "{out}");
        assert!(
            out.contains("<b>What to do:</b> run <code>lockshift migrate --phase dual apps/web</code>"),
            "{out}"
        );
        assert!(out.contains("<option value=\"=medium\">medium</option>"), "{out}");
        assert_eq!(render(&[], &BTreeSet::new()), "<p>No open findings.</p>\n");
    }

    #[test]
    fn an_audit_s_finding_has_its_records_and_commands() {
        let audit = audit::sample::audit();
        let owners = Owners::of(None, Some(&audit));
        let open: Vec<Open<'_>> = audit.findings.iter().map(|one| Open::of_audit(one, &owners)).collect();
        let out = render(&open, &BTreeSet::new());
        assert!(out.contains("<th scope=\"row\">who</th><td>ada@laptop</td><td>grace@ci</td>"), "{out}");
        assert!(out.contains("<summary>2 commands</summary>"), "{out}");
        assert!(out.contains("<b>What happens:</b> whoever writes last"), "{out}");
        assert_eq!(by_severity(&open), [(Severity::Critical, 1), (Severity::High, 2), (Severity::Medium, 3)]);
    }

    #[test]
    fn what_is_ignored_keeps_its_reason() {
        let out = ignored(&[("r", "<s>", "because `x`")]);
        assert!(out.contains("1 more finding is ignored"), "{out}");
        assert!(
            out.contains("<li><code>r</code> <code>&lt;s&gt;</code>: because <code>x</code></li>"),
            "{out}"
        );
        assert_eq!(ignored(&[]), "");
    }
}
