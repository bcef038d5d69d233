//! `audit --format sarif`: SARIF 2.1.0, for code scanning. A finding stands where the repository configures its subject;
//! what the repository does not configure stands at its own name. What was not read is a notification of the tool.

use serde_json::{Value, json};

use super::AuditReport;
use super::wording::in_lines;
use crate::audit::outcome::AuditFinding;
use crate::audit::snapshot::Unread;
use crate::report::RuleText;
use crate::report::sarif::{Run, judged, level, location, message, uri};
use crate::report::words::visible;

/// The report as one SARIF log; `rules` are all rules that could have fired, in the registry's order.
///
/// # Errors
/// None that an audit can cause.
pub fn render(report: &AuditReport<'_>, rules: &[RuleText<'_>]) -> Result<String, serde_json::Error> {
    let audit = report.audit;
    let run = Run {
        // An audit must not close a scan's results.
        category: Some("lockshift-audit/"),
        complete: audit.unread.is_empty(),
        notifications: audit.unread.iter().map(notification).collect(),
        results: audit.findings.iter().map(|finding| result(finding, rules)).collect(),
    };
    run.log(rules)
}

fn result(finding: &AuditFinding, rules: &[RuleText<'_>]) -> Value {
    let mut text = vec![format!("{}: {}", finding.subject, finding.message)];
    text.extend(in_lines(finding.locks.as_ref()));
    text.extend(finding.consequence.clone());
    text.extend(finding.help.clone());
    text.extend(finding.commands.iter().cloned());
    let result = json!({
        "ruleId": visible(&finding.rule),
        "level": level(finding.severity),
        "message": { "text": message(&text.join("\n\n")) },
        "locations": [place(finding)],
        "partialFingerprints": { "lockshift/v1": visible(&finding.fingerprint()) },
        "properties": { "severity": finding.severity.as_str(), "subject": visible(&finding.subject) },
    });
    judged(result, &finding.rule, finding.ignored.as_deref(), rules)
}

/// The place in the repository, and the subject by its name. GitHub refuses a whole file in which one result has no
/// physical location, so a subject that no file configures becomes a path of its own (`s3/BUCKET/STATE-PATH`).
fn place(finding: &AuditFinding) -> Value {
    let mut place = match &finding.place {
        Some(place) => location(place),
        None => json!({ "physicalLocation": {
            "artifactLocation": { "uri": uri(&finding.subject.replacen("://", "/", 1)) },
            "region": { "startLine": 1 },
        }}),
    };
    if let Some(fields) = place.as_object_mut() {
        fields.insert(
            "logicalLocations".to_owned(),
            json!([{ "fullyQualifiedName": visible(&finding.subject), "kind": "resource" }]),
        );
    }
    place
}

fn notification(unread: &Unread) -> Value {
    let action = unread.missing_action.as_ref().map(|action| format!("; the role lacks {action}"));
    let text =
        format!("{}: {}: {}{}", unread.resource, unread.operation, unread.reason, action.unwrap_or_default());
    json!({
        "descriptor": { "id": "unread" },
        "level": if unread.hides_locks { "error" } else { "warning" },
        "message": { "text": message(&text) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::outcome::Audit;
    use crate::finding::Severity;
    use crate::report::audit::sample;

    const RULES: [RuleText<'_>; 1] = [RuleText {
        id: "stale-lock",
        severity: Severity::High,
        summary: "A lock is old",
        page: "# stale-lock\n",
    }];

    fn log(audit: &Audit) -> Value {
        serde_json::from_str(&render(&AuditReport { audit, stats: false }, &RULES).unwrap()).unwrap()
    }

    #[test]
    fn results_stand_in_the_repository_or_at_their_own_name() {
        let log = log(&sample::audit());
        let run = &log["runs"][0];
        let two = &run["results"][0];
        assert_eq!(
            two["locations"][0],
            json!({
                "physicalLocation": {
                    "artifactLocation": { "uri": "stacks/network/backend.tf" },
                    "region": { "startLine": 3, "startColumn": 5 },
                },
                "logicalLocations": [{ "fullyQualifiedName": "s3://acme-tfstate/network", "kind": "resource" }],
            })
        );
        assert_eq!(two["level"], json!("error"));
        assert_eq!(two.get("ruleIndex"), None);
        let old = &run["results"][1];
        assert_eq!(old["ruleIndex"], json!(0));
        assert_eq!(
            old["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            json!("s3/acme-tfstate/dns")
        );
        assert_eq!(
            old["partialFingerprints"]["lockshift/v1"],
            json!(
                "stale-lock s3://acme-tfstate/dns fd7c2461-cb87-2db7-062f-a80e23e8cd7e+fd7c2461-cb87-2db7-062f-a80e23e8cd7e"
            )
        );
        let text = old["message"]["text"].as_str().unwrap();
        assert!(text.contains("DynamoDB: held by ci@runner-7 (apply, 1.11.4), age 3 days 4 hours"), "{text}");
        assert!(text.contains("terraform force-unlock fd7c2461"), "{text}");
        assert_eq!(run["results"][5]["suppressions"][0]["justification"], json!("a scratch bucket"));
        assert_eq!(run["invocations"][0]["executionSuccessful"], json!(false));
        assert_eq!(
            run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"],
            json!(
                "arn:aws:dynamodb:eu-west-1:111122223333:table/other: Scan: AccessDenied: not authorized; the role lacks \
                 dynamodb:Scan"
            )
        );
        assert_eq!(run["automationDetails"]["id"], json!("lockshift-audit/"));
    }

    #[test]
    fn what_a_store_says_stays_text() {
        let audit = sample::hostile();
        let json = render(&AuditReport { audit: &audit, stats: false }, &RULES).unwrap();
        assert_eq!(sample::raw_control(&json), None);
        let log: Value = serde_json::from_str(&json).unwrap();
        let uri = log["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            .as_str()
            .unwrap();
        assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte)), "{uri}");
        let text = log["runs"][0]["results"][0]["message"]["text"].as_str().unwrap();
        assert!(!text.replace("\\]", "").contains("]("), "{text}");
    }
}
