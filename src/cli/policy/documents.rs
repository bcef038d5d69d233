//! How the documents of `lockshift policy` are written: one JSON object, Terraform data sources, or a file for each.

use std::collections::BTreeSet;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::audit::expected;
use crate::cli::failure::Failure;
use crate::policy::recommend::{self, Advice, BUCKET_POLICY_LIMIT};
use crate::repo::facts::Grant;
use crate::report::words::visible;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// Policy documents as AWS takes them.
    #[default]
    Json,
    /// `data "aws_iam_policy_document"` blocks.
    Hcl,
}

/// Everything that `lockshift policy` says.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "lockshift policy")]
pub(super) struct Report {
    /// Version of this form.
    pub schema_version: u32,
    /// `dual` or `final`.
    pub phase: &'static str,
    /// Each bucket with its documents.
    pub buckets: Vec<Advice>,
    /// Statements that can go once the final phase is reached.
    pub dynamodb_statements: Vec<Statement>,
    /// Root modules whose state can't be placed: no document speaks of them.
    pub unplaced: Vec<Unplaced>,
}

/// An IAM statement on a lock table.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Statement {
    /// Where it stands.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// Its resource's address.
    pub resource: String,
}

impl Statement {
    pub(super) fn of(grant: &Grant) -> Self {
        let place = grant.place.clone();
        Self { file: place.file, line: place.line, column: place.column, resource: grant.resource.clone() }
    }
}

/// A root module whose state can't be placed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Unplaced {
    /// Its path.
    pub root: String,
    /// Why, in words.
    pub why: String,
    /// Where its backend stands.
    pub file: String,
    /// From 1.
    pub line: usize,
}

impl Unplaced {
    pub(super) fn of(unplaced: &expected::Unplaced) -> Self {
        let place = unplaced.place.clone();
        Self { root: unplaced.root.clone(), why: unplaced.why.clone(), file: place.file, line: place.line }
    }
}

/// All in one object.
pub(super) fn json(report: &Report) -> Result<String, Failure> {
    pretty(report)
}

/// All as data sources, one below the other.
pub(super) fn hcl(report: &Report) -> Result<String, Failure> {
    let mut blocks = Vec::new();
    let mut comments = String::new();
    for statement in &report.dynamodb_statements {
        comments.push_str(&format!(
            "# Can go: the statement on {} in {}:{}\n",
            visible(&statement.resource),
            visible(&statement.file),
            statement.line
        ));
    }
    if !comments.is_empty() {
        blocks.push(comments);
    }
    let mut named = BTreeSet::new();
    for advice in &report.buckets {
        for (kind, document) in documents(advice) {
            let block = block(advice, &kind, document)?;
            // `a.b` and `a-b` are one name in HCL.
            if !named.insert(block.lines().next().unwrap_or_default().to_owned()) {
                let message = format!("bucket `{}` has the same name in HCL as another one", advice.bucket);
                return Err(Failure::new(message).help("write them apart: `--bucket BUCKET`"));
            }
            blocks.push(block);
        }
    }
    Ok(blocks.join("\n"))
}

/// A name and a text for each file.
pub(super) fn files(report: &Report, format: Format) -> Result<Vec<(String, String)>, Failure> {
    let mut files = Vec::new();
    for advice in &report.buckets {
        for (kind, document) in documents(advice) {
            let (end, text) = match format {
                Format::Json => ("json", text(document)?),
                Format::Hcl => ("tf", block(advice, &kind, document)?),
            };
            files.push((format!("{}.{kind}.{end}", file_name(&advice.bucket)), text));
        }
    }
    if !report.dynamodb_statements.is_empty() {
        files.push(("dynamodb-statements.json".to_owned(), pretty(&report.dynamodb_statements)?));
    }
    Ok(files)
}

fn block(advice: &Advice, kind: &str, document: &Value) -> Result<String, Failure> {
    recommend::hcl(&format!("{}_{kind}", advice.bucket), document).map_err(|error| {
        Failure::new(format!("bucket `{}`, {kind}: {error}", advice.bucket))
            .help("write it as JSON: `--format json`")
    })
}

/// The documents of a bucket, each with what it is for.
fn documents(advice: &Advice) -> Vec<(String, &Value)> {
    let mut found = vec![("bucket-policy".to_owned(), &advice.bucket_policy)];
    let lists = [("runner", &advice.runner), ("plan", &advice.plan), ("break-glass", &advice.break_glass)];
    for (kind, list) in lists {
        found.extend(list.iter().enumerate().map(|(n, document)| match n {
            0 => (kind.to_owned(), document),
            n => (format!("{kind}-{}", n + 1), document),
        }));
    }
    found.push(("auditor".to_owned(), &advice.auditor));
    found
}

/// A document for AWS: with line breaks, unless these would make it too long.
fn text(document: &Value) -> Result<String, Failure> {
    let pretty = pretty(document)?;
    Ok(if pretty.len() > BUCKET_POLICY_LIMIT { document.to_string() } else { pretty })
}

fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Failure::new(format!("could not write the result: {error}")))?;
    Ok(format!("{text}\n"))
}

/// A bucket's name comes from a repository: it must not lead out of the directory.
fn file_name(bucket: &str) -> String {
    let kept = |letter: char| {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.') { letter } else { '_' }
    };
    let name: String = bucket.chars().map(kept).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::recommend::{Roles, State, Wanted, recommend};
    use crate::policy::{answer, answer_schema, read_cases};
    use crate::report::schema_testing::{committed, mismatch, of_output};

    #[test]
    fn a_buckets_name_stays_a_name() {
        assert_eq!(file_name("acme.tf-state"), "acme.tf-state");
        assert_eq!(file_name("../../etc/x"), "_.._.._etc_x");
    }

    #[test]
    fn the_committed_schema_is_current() {
        committed("policy.schema.json", &of_output::<Report>());
    }

    #[test]
    fn the_document_has_the_shape_that_the_schema_describes() {
        let role = |name: &str| vec![format!("arn:aws:iam::111122223333:role/{name}")];
        let wanted = Wanted {
            bucket: "acme-tfstate".into(),
            account: "111122223333".into(),
            partition: "aws".into(),
            states: vec![State { key: "prod/terraform.tfstate".into(), ..State::default() }],
            roles: Roles {
                runners: role("ci/tf-apply"),
                plan: role("ci/tf-plan"),
                break_glass: role("break-glass"),
                state_admin: role("state-admin"),
            },
            ..Wanted::default()
        };
        let report = Report {
            schema_version: 1,
            phase: "dual",
            buckets: vec![recommend(&wanted).unwrap()],
            dynamodb_statements: vec![Statement {
                file: "iam.tf".into(),
                line: 1,
                column: 3,
                resource: "aws_iam_policy.locks".into(),
            }],
            unplaced: vec![Unplaced { root: "a".into(), why: "x".into(), file: "a/main.tf".into(), line: 2 }],
        };
        let schema = serde_json::to_value(of_output::<Report>()).unwrap();
        let mut document: Value = serde_json::from_str(&json(&report).unwrap()).unwrap();
        assert_eq!(mismatch(&schema, &schema, &document, ""), None);
        document["buckets"][0]["reach"][0]["before"]["delete"] = json!(1);
        let found = mismatch(&schema, &schema, &document, "").unwrap();
        assert!(found.starts_with("/buckets/0/reach/0/before/delete"), "{found}");
    }

    #[test]
    fn a_decision_has_the_shape_of_its_own_schema() {
        committed("policy-decide.schema.json", &answer_schema());
        let case = r#"{"id": "a", "principal": "arn:aws:iam::111122223333:user/u", "action": "s3:GetObject",
            "resource": "arn:aws:s3:::b/k", "unknown": ["aws:SourceIp"], "identityPolicies": [{"Statement": [
            {"Sid": "S", "Effect": "Allow", "Action": "*", "Resource": "*",
             "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}]}]}"#;
        let cases = read_cases(&case.replace('\n', " ")).unwrap();
        let mut document: Value = serde_json::from_str(&answer(Some("a"), &cases[0].decide())).unwrap();
        let schema = serde_json::to_value(answer_schema()).unwrap();
        assert_eq!(document["decision"], json!("Unknown"));
        assert_eq!(mismatch(&schema, &schema, &document, ""), None);
        document["statements"][0]["index"] = json!("0");
        assert_eq!(
            mismatch(&schema, &schema, &document, "").as_deref(),
            Some("/statements/0/index: string is not [\"integer\"]")
        );
    }
}
