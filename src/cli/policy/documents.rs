//! How the documents of `lockshift policy` are written: one JSON object, Terraform data sources, or a file for each.

use std::collections::BTreeSet;

use clap::ValueEnum;
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

/// Everything that is said.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub schema_version: u32,
    pub phase: &'static str,
    pub buckets: Vec<Advice>,
    /// Statements that can go once the final phase is reached.
    pub dynamodb_statements: Vec<Statement>,
    /// Root modules whose state can't be placed: no document speaks of them.
    pub unplaced: Vec<Unplaced>,
}

/// An IAM statement on a lock table.
#[derive(Debug, Serialize)]
pub(super) struct Statement {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub resource: String,
}

impl Statement {
    pub(super) fn of(grant: &Grant) -> Self {
        let place = grant.place.clone();
        Self { file: place.file, line: place.line, column: place.column, resource: grant.resource.clone() }
    }
}

/// A root module whose state can't be placed.
#[derive(Debug, Serialize)]
pub(super) struct Unplaced {
    pub root: String,
    pub why: String,
    pub file: String,
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
    use super::*;

    #[test]
    fn a_buckets_name_stays_a_name() {
        assert_eq!(file_name("acme.tf-state"), "acme.tf-state");
        assert_eq!(file_name("../../etc/x"), "_.._.._etc_x");
    }
}
