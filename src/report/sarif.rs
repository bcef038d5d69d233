//! `--format sarif`: SARIF 2.1.0, for code scanning. Findings are results; what was not read is a notification of
//! the tool, for a reader of the log must see it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::words::{safe_json, visible};
use super::{RuleText, ScanReport};
use crate::finding::{Finding, Severity};
use crate::repo::problem::Problem;
use crate::repo::text::Place;

/// The report as one SARIF log; `rules` are all rules that could have fired, in the registry's order.
pub fn render(report: &ScanReport<'_>, rules: &[RuleText<'_>]) -> Result<String, serde_json::Error> {
    let mut twins = BTreeMap::new();
    let results: Vec<Value> =
        report.findings.iter().map(|finding| result(finding, rules, &mut twins)).collect();
    let run = Run {
        category: None,
        complete: report.summary.unread == 0,
        notifications: report.unread().map(notification).collect(),
        results,
    };
    run.log(rules)
}

/// What one run of the program has to say.
pub(super) struct Run {
    /// Code scanning keeps results of different categories apart.
    pub(super) category: Option<&'static str>,
    /// Whether everything was read.
    pub(super) complete: bool,
    pub(super) notifications: Vec<Value>,
    pub(super) results: Vec<Value>,
}

impl Run {
    /// The whole log. `rules` are all rules that could have fired, in the registry's order.
    pub(super) fn log(self, rules: &[RuleText<'_>]) -> Result<String, serde_json::Error> {
        let mut run = json!({
            "tool": { "driver": {
                "name": env!("CARGO_PKG_NAME"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": self.complete,
                "toolExecutionNotifications": self.notifications,
            }],
            "results": self.results,
        });
        if let (Some(category), Some(fields)) = (self.category, run.as_object_mut()) {
            fields.insert("automationDetails".to_owned(), json!({ "id": category }));
        }
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        });
        let mut json = serde_json::to_string_pretty(&log)?;
        json.push('\n');
        Ok(safe_json(&json).into_owned())
    }
}

/// A result with what the registry and the repository say of its rule: the rule's place in the log, and why it is
/// ignored.
pub(super) fn judged(mut result: Value, id: &str, ignored: Option<&str>, rules: &[RuleText<'_>]) -> Value {
    if let Some(fields) = result.as_object_mut() {
        if let Some(index) = rules.iter().position(|rule| rule.id == id) {
            fields.insert("ruleIndex".to_owned(), json!(index));
        }
        if let Some(reason) = ignored {
            // "external": inline or configured, the reason came from outside of the result itself.
            fields.insert(
                "suppressions".to_owned(),
                json!([{ "kind": "external", "status": "accepted", "justification": visible(reason) }]),
            );
        }
    }
    result
}

/// One entry of the driver's rules.
fn rule(rule: &RuleText<'_>) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.page, "markdown": rule.page },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "severity": rule.severity.as_str(), "tags": ["terraform", "state-locking"] },
    })
}

/// SARIF knows three levels; our own word is kept in the properties.
pub(super) fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn result(finding: &Finding, rules: &[RuleText<'_>], twins: &mut BTreeMap<String, usize>) -> Value {
    let mut text = finding.message.clone();
    if let Some(help) = &finding.help {
        text.push_str("\n\n");
        text.push_str(help);
    }
    let result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": { "text": message(&text) },
        "locations": [location(&finding.place)],
        "partialFingerprints": { "lockshift/v1": fingerprint(finding, twins) },
        "properties": { "severity": finding.severity.as_str(), "subject": visible(&finding.subject) },
    });
    judged(result, &finding.rule, finding.ignored.as_deref(), rules)
}

fn notification(problem: &Problem) -> Value {
    json!({
        "descriptor": { "id": problem.kind.id() },
        "level": "error",
        "message": { "text": message(&problem.message) },
        "locations": [location(&problem.place)],
    })
}

/// A plain message: what would be a link gets its brackets escaped (SARIF 2.1.0, 3.11.6).
pub(super) fn message(text: &str) -> String {
    let shown = text.split('\n').map(visible).collect::<Vec<_>>().join("\n");
    if shown.contains("](") {
        shown.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
    } else {
        shown
    }
}

/// A place in a file.
pub(super) fn location(place: &Place) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&place.file) },
        "region": { "startLine": place.line, "startColumn": place.column },
    }})
}

/// A path as a URI reference (RFC 3986): every byte that is not plainly allowed in a path is percent-encoded. A colon
/// is encoded too, for the first segment must not look like a scheme.
pub(super) fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// What stays the same when lines move: rule, file, subject and message, and a number where several are alike.
/// FNV-1a with 64 bits: stable across versions and machines, which the standard library's hash is not.
fn fingerprint(finding: &Finding, twins: &mut BTreeMap<String, usize>) -> String {
    let identity = [&finding.rule, &finding.place.file, &finding.subject, &finding.message]
        .map(String::as_str)
        .join("\0");
    let hash = identity.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let twin = twins.entry(identity).or_default();
    *twin += 1;
    format!("{hash:016x}:{twin}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    const RULES: [RuleText<'_>; 2] = [
        RuleText { id: "no-locking", severity: Severity::High, summary: "No lock", page: "# no-locking\n" },
        RuleText {
            id: "dynamodb-only",
            severity: Severity::Medium,
            summary: "Table alone",
            page: "# dynamodb-only\n",
        },
    ];

    fn log(findings: &[Finding]) -> Value {
        let inventory = sample::inventory();
        serde_json::from_str(&render(&ScanReport::new(&inventory, findings), &RULES).unwrap()).unwrap()
    }

    #[test]
    fn results_rules_and_notifications() {
        let log = log(&sample::findings());
        assert_eq!(log["version"], json!("2.1.0"));
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][1]["id"], json!("dynamodb-only"));
        assert_eq!(run["tool"]["driver"]["rules"][0]["defaultConfiguration"]["level"], json!("error"));
        assert_eq!(run["tool"]["driver"]["rules"][0]["help"]["markdown"], json!("# no-locking\n"));
        assert_eq!(
            run["results"][0],
            json!({
                "ruleId": "dynamodb-only",
                "level": "warning",
                "message": {
                    "text": "state is locked in DynamoDB alone\n\nrun `lockshift migrate --phase dual apps/web`"
                },
                "locations": [{ "physicalLocation": {
                    "artifactLocation": { "uri": "apps/web/main.tf" },
                    "region": { "startLine": 2, "startColumn": 3 },
                }}],
                "partialFingerprints": { "lockshift/v1": run["results"][0]["partialFingerprints"]["lockshift/v1"] },
                "properties": { "severity": "medium", "subject": "apps/web" },
                "ruleIndex": 1,
            })
        );
        assert_eq!(run["results"][1]["ruleIndex"], json!(0));
        assert_eq!(run["results"][2]["suppressions"][0]["justification"], json!("goes with the final phase"));
        assert_eq!(run["results"][2].get("ruleIndex"), None);
        assert_eq!(run["invocations"][0]["executionSuccessful"], json!(false));
        assert_eq!(
            run["invocations"][0]["toolExecutionNotifications"][0],
            json!({
                "descriptor": { "id": "encrypted" },
                "level": "error",
                "message": { "text": "encrypted with git-crypt; unlock it and scan again" },
                "locations": [{ "physicalLocation": {
                    "artifactLocation": { "uri": "secrets/backend.tf" },
                    "region": { "startLine": 1, "startColumn": 1 },
                }}],
            })
        );
    }

    #[test]
    fn fingerprints_stay_when_lines_move_and_differ_for_twins() {
        let mut findings = sample::findings();
        findings.truncate(1);
        findings.push(findings[0].clone());
        let print = |log: &Value, n: usize| {
            log["runs"][0]["results"][n]["partialFingerprints"]["lockshift/v1"].clone()
        };
        let before = log(&findings);
        for finding in &mut findings {
            finding.place.line += 7;
        }
        let after = log(&findings);
        assert_eq!(print(&before, 0), print(&after, 0));
        assert_ne!(print(&before, 0), print(&before, 1));
        findings[0].subject.push('2');
        assert_ne!(print(&log(&findings), 0), print(&before, 0));
    }

    #[test]
    fn paths_are_uris_and_messages_hold_no_links() {
        assert_eq!(uri("a b/ü:c%.tf"), "a%20b/%C3%BC%3Ac%25.tf");
        assert_eq!(message("see [here](http://e) \u{1b}[1m"), "see \\[here\\](http://e) \\\\u{1b}\\[1m");
        assert_eq!(message("list[0] of\nx"), "list[0] of\nx");
        let (inventory, findings) = sample::hostile();
        let json = render(&ScanReport::new(&inventory, &findings), &RULES).unwrap();
        assert_eq!(json.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), None);
    }
}
