//! `docs/schema/config.schema.json` against the reader of `lockshift.toml`: an editor that follows the schema and the
//! program must say the same of a file. An independent validator (Python's jsonschema) judges for the schema.
#![cfg(test)]

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use lockshift::config::{self, Config};

/// Files, and whether they are right.
const FILES: &[(&str, bool, &str)] = &[
    ("nothing at all", true, ""),
    (
        "everything",
        true,
        r#"
exclude = ["vendor/**"]
stale_after = "4h"
[rules.dual-locking]
severity = "off"
reason = "we stay there for a month"
[rules.no-locking]
severity = "critical"
reason = "states without a lock were lost before"
[[ignore]]
rule = "dynamodb-only"
path = "envs/old/**"
reason = "to be deleted"
expires = "2027-03-31"
[[ignore]]
rule = "bucket-unversioned"
subject = "s3://acme-sandbox/**"
reason = "thrown away every night"
[buckets.acme]
profile = "audit"
role_arn = "arn:aws:iam::111122223333:role/audit"
region = "eu-west-1"
endpoint = "https://minio.example.com"
dynamodb_endpoint = "https://dynamo.example.com"
path_style = true
[roles]
runners = ["arn:aws:iam::111122223333:role/ci/*"]
plan = []
break_glass = []
state_admin = []
"#,
    ),
    (
        "a date without quotes",
        true,
        "[[ignore]]\nrule='no-locking'\npath='a'\nreason='r'\nexpires=2027-03-31\n",
    ),
    ("blanks in a length of time", true, "stale_after = ' 45 m '"),
    ("a key that nobody knows", false, "excludes = []"),
    ("a key that nobody knows, further in", false, "[buckets.acme]\nroles = 'x'"),
    ("another type", false, "exclude = 'vendor/**'"),
    ("a rule that nobody knows", false, "[rules.no-lock]\nseverity = 'off'\nreason = 'r'"),
    ("a problem is no rule", false, "[rules.unreadable]\nseverity = 'off'\nreason = 'r'"),
    ("a gate of migrate is no rule", false, "[rules.soak-too-short]\nseverity = 'off'\nreason = 'r'"),
    ("a gate of unlock is no rule", false, "[rules.unlock-unread]\nseverity = 'off'\nreason = 'r'"),
    ("a gate of policy is no rule", false, "[rules.policy-not-proven]\nseverity = 'off'\nreason = 'r'"),
    ("an ignore of a gate", false, "[[ignore]]\nrule = 'soak-too-short'\npath = 'a'\nreason = 'r'"),
    ("a rule of the audit", true, "[rules.lock-stale]\nseverity = 'off'\nreason = 'r'"),
    ("a severity that nobody knows", false, "[rules.no-locking]\nseverity = 'hgih'\nreason = 'r'"),
    ("no severity", false, "[rules.no-locking]\nreason = 'r'"),
    ("no reason", false, "[rules.no-locking]\nseverity = 'off'"),
    ("an empty reason", false, "[rules.no-locking]\nseverity = 'off'\nreason = ' '"),
    ("an ignore without a reason", false, "[[ignore]]\nrule = 'no-locking'\npath = 'a'"),
    ("an ignore of everything", false, "[[ignore]]\nrule = 'no-locking'\nreason = 'r'"),
    ("an ignore without a rule", false, "[[ignore]]\npath = 'a'\nreason = 'r'"),
    ("an ignore of no rule", false, "[[ignore]]\nrule = 'no-lock'\npath = 'a'\nreason = 'r'"),
    ("no date", false, "[[ignore]]\nrule='no-locking'\npath='a'\nreason='r'\nexpires='next year'"),
    ("a month too many", false, "[[ignore]]\nrule='no-locking'\npath='a'\nreason='r'\nexpires='2027-13-01'"),
    ("no unit", false, "stale_after = '4'"),
    ("an unknown unit", false, "stale_after = '4w'"),
];

/// Prints for each document of a list whether the schema takes it, and what is wrong with the first that it does not.
const JUDGE: &str = r#"
import json, sys
from jsonschema import Draft202012Validator
asked = json.load(sys.stdin)
Draft202012Validator.check_schema(asked["schema"])
validator = Draft202012Validator(asked["schema"])
json.dump([[error.message for error in validator.iter_errors(document)] for document in asked["documents"]], sys.stdout)
"#;

/// What an independent validator says of each document: its complaints.
fn complaints(schema: &serde_json::Value, documents: &[serde_json::Value]) -> Vec<Vec<String>> {
    let python = support::repository().join("target/ci-venv/bin/python");
    let mut judge = Command::new(&python)
        .args(["-c", JUDGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{} is missing: run scripts/test ({error})", python.display()));
    let asked = serde_json::json!({ "schema": schema, "documents": documents });
    judge.stdin.take().unwrap().write_all(asked.to_string().as_bytes()).unwrap();
    let said = judge.wait_with_output().unwrap();
    assert!(said.status.success(), "the validator itself failed");
    serde_json::from_slice(&said.stdout).unwrap()
}

/// A TOML file as a JSON validator gets it: dates become strings.
fn as_json(value: toml::Value) -> serde_json::Value {
    match value {
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(as_json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, as_json(value))).collect(),
        plain => serde_json::to_value(plain).unwrap(),
    }
}

#[test]
fn the_committed_schema_is_current() {
    let path = support::repository().join("docs/schema/config.schema.json");
    let current = serde_json::to_string_pretty(&config::schema()).unwrap() + "\n";
    if std::env::var_os("LOCKSHIFT_UPDATE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "run the tests with LOCKSHIFT_UPDATE=1 and review {}", path.display());
}

#[test]
fn the_schema_and_the_reader_say_the_same_of_every_file() {
    let documents: Vec<_> =
        FILES.iter().map(|(_, _, text)| as_json(toml::Value::Table(text.parse().unwrap()))).collect();
    let schema = serde_json::to_value(config::schema()).unwrap();
    let complaints = complaints(&schema, &documents);
    assert_eq!(complaints.len(), FILES.len());
    for ((name, right, text), complaints) in FILES.iter().zip(complaints) {
        let read = Config::parse("lockshift.toml", text);
        assert_eq!(read.is_ok(), *right, "the reader of {name}: {:?}", read.err());
        assert_eq!(complaints.is_empty(), *right, "the schema of {name}: {complaints:?}");
    }
}

/// What pages show as a configuration is one: nobody copies a file that is then refused.
#[test]
fn every_configuration_that_a_page_shows_is_right() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![top.join("README.md")];
    for dir in ["docs", "docs/rules"] {
        let entries = std::fs::read_dir(top.join(dir)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    let mut ignores = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("\n```toml").skip(1) {
            let (body, _) = block.split_once("\n```").unwrap();
            let body = body.split_once('\n').map_or("", |(_, body)| body);
            let read = Config::parse("lockshift.toml", body);
            ignores += read.as_ref().map_or(0, |config| config.ignores.len());
            assert!(read.is_ok(), "{}: {}", page.display(), read.unwrap_err());
        }
    }
    assert!(ignores >= 10, "{ignores}");
}
