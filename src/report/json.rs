//! `--format json`: the stable form that other programs build on, and its JSON Schema. Names here stay; more may be
//! added. Values stand as they are in the files: only characters that could drive a terminal are escaped.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::totals::{Migration, by_severity};
use super::words::safe_json;
use super::{SCHEMA_VERSION, ScanReport};
use crate::finding::Finding;
use crate::repo::inventory::{Inventory, Summary};

/// What `lockshift scan --format json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "lockshift scan", rename = "Scan")]
struct ScanJson<'a> {
    /// Version of this form; it rises when a name goes or changes its meaning.
    schema_version: u32,
    #[serde(flatten)]
    inventory: &'a Inventory,
    /// What the rules say, ignored findings included.
    findings: &'a [Finding],
    /// Counts over everything.
    summary: SummaryJson<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ScanSummary")]
struct SummaryJson<'a> {
    #[serde(flatten)]
    counts: &'a Summary,
    /// How far the migration is.
    migration: Migration,
    /// Findings that nobody ignored, by severity; every severity is present.
    findings: BTreeMap<&'static str, usize>,
    /// Findings that were ignored with a reason.
    ignored: usize,
}

/// The report as one JSON document with a line break at its end.
pub fn render(report: &ScanReport<'_>) -> Result<String, serde_json::Error> {
    let document = ScanJson {
        schema_version: SCHEMA_VERSION,
        inventory: report.inventory,
        findings: report.findings,
        summary: SummaryJson {
            counts: &report.summary,
            migration: Migration::of(&report.summary),
            findings: by_severity(report),
            ignored: report.findings.len() - report.open().count(),
        },
    };
    let mut json = serde_json::to_string_pretty(&document)?;
    json.push('\n');
    Ok(match safe_json(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(safe) => safe,
    })
}

/// The JSON Schema of [`render`]'s document; committed as `docs/schema/scan.schema.json`.
pub fn schema() -> Schema {
    // "for serialize": names that are left out when empty are not required.
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<ScanJson<'_>>()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::report::sample;
    use crate::report::schema_check::mismatch;

    fn document() -> Value {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        serde_json::from_str(&render(&ScanReport::new(&inventory, &findings)).unwrap()).unwrap()
    }

    #[test]
    fn the_names_that_others_build_on_are_there() {
        let document = document();
        let names: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "schema_version",
                "roots",
                "readers",
                "unattributed",
                "lock_tables",
                "grants",
                "habits",
                "shared_var_files",
                "problems",
                "findings",
                "summary"
            ]
        );
        assert_eq!(document["schema_version"], json!(1));
        assert_eq!(
            document["roots"][0]["backends"][0],
            json!({
                "mode": "dual", "bucket": "tf-dev", "key": "web.tfstate", "region": "eu-west-1",
                "dynamodb_table": "locks", "use_lockfile": true, "workspace_key_prefix": null, "endpoint": null,
                "backend_config": ["env/dev.tfbackend"], "engine": "any",
                "sources": [{ "file": "apps/web/main.tf", "line": 2, "column": 3, "kind": "backend", "shadowed": false }]
            })
        );
        let stage = &document["roots"][3]["backends"][0];
        assert_eq!(stage["mode"], json!("unknown"));
        assert_eq!(stage["dynamodb_table"], Value::Null);
        assert_eq!(stage["dynamodb_table_unknown"], json!("`var.table` has no default"));
        assert_eq!(
            document["summary"],
            json!({
                "roots": 4, "backends": 5,
                "modes": { "dual": 1, "dynamodb": 1, "lockfile": 1, "none": 1, "unknown": 1 },
                "readers_with_table": 1, "unattributed": 1, "unread": 1,
                "migration": { "locking": 3, "on_lockfile": 2, "lockfile_alone": 1 },
                "findings": { "critical": 0, "high": 1, "info": 0, "low": 0, "medium": 1 }, "ignored": 1
            })
        );
        assert_eq!(document["findings"][2]["ignored"], json!("goes with the final phase"));
    }

    #[test]
    fn values_stay_whole_and_terminals_stay_safe() {
        let (inventory, findings) = sample::hostile();
        let json = render(&ScanReport::new(&inventory, &findings)).unwrap();
        assert_eq!(json.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), None);
        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["roots"][0]["path"], json!(inventory.roots[0].path));
    }

    #[test]
    fn the_committed_schema_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema/scan.schema.json");
        let current = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        if std::env::var_os("LOCKSHIFT_UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &current).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == current, "run the tests with LOCKSHIFT_UPDATE=1 and review {}", path.display());
    }

    #[test]
    fn the_document_has_the_shape_that_the_schema_describes() {
        let schema = serde_json::to_value(schema()).unwrap();
        let mut document = document();
        assert_eq!(mismatch(&schema, &schema, &document, ""), None);

        // The check itself must be able to fail.
        document["roots"][0]["backends"][0]["mode"] = json!("double");
        assert!(mismatch(&schema, &schema, &document, "").unwrap().starts_with("/roots/0/backends/0/mode"));
        document.as_object_mut().unwrap().remove("summary");
        assert_eq!(mismatch(&schema, &schema, &document, "").unwrap(), ": summary is missing");
    }
}
