//! `--format json`: the stable form that other programs build on, and its JSON Schema. Names here stay; more may be
//! added. Values stand as they are in the files: only characters that could drive a terminal are escaped.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::history::History;
use super::totals::{Migration, by_severity};
use super::words::safe_json;
use super::{SCHEMA_VERSION, ScanReport};
use crate::finding::Finding;
use crate::repo::inventory::{Inventory, Summary};

/// Entries of a list that one thread writes at a time.
const PART: usize = 64;

/// Pieces of a list that are made before they are written, for each thread.
const PARTS_OF_A_THREAD: usize = 8;

/// Bytes that most entries stay below: a text that grows is copied, room that is not used is given back untouched.
const ENTRY: usize = 2048;

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
    /// How far the migration was at earlier commits (`--history`).
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    history: Option<&'a History>,
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

impl<'a> ScanJson<'a> {
    fn of(report: &'a ScanReport<'_>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            inventory: report.inventory,
            findings: report.findings,
            history: report.history,
            summary: SummaryJson {
                counts: &report.summary,
                migration: Migration::of(&report.summary.modes),
                findings: by_severity(report),
                ignored: report.findings.len() - report.open().count(),
            },
        }
    }
}

/// The report as one JSON document with a line break at its end.
///
/// # Errors
/// None that a report can cause.
pub fn render(report: &ScanReport<'_>) -> Result<String, serde_json::Error> {
    let mut json = String::new();
    write::<serde_json::Error>(report, |part| {
        json.push_str(part);
        Ok(())
    })?;
    Ok(json)
}

/// Hands over the text of [`render`] in parts. A large document is never held whole: memory that it takes costs more time
/// than writing it.
///
/// # Errors
/// Those of `to`; otherwise as [`render`].
pub fn write<E: From<serde_json::Error>>(
    report: &ScanReport<'_>,
    mut to: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let document = ScanJson::of(report);
    // A large repository's document is written on all cores, a small one in one go; the text is the same.
    if report.inventory.roots.len() + report.findings.len() > PART {
        return in_parts(&document, to);
    }
    let mut json = safe_text(&document)?;
    json.push('\n');
    to(&json)
}

/// Some entries of a list, to be written when asked for.
type Part<'a> = Box<dyn Fn() -> serde_json::Result<String> + Send + Sync + 'a>;

/// The document from its parts, its lists cut into pieces of a few entries each.
fn in_parts<E: From<serde_json::Error>>(
    document: &ScanJson<'_>,
    mut to: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let ScanJson { schema_version, inventory, findings, history, summary } = document;
    let lists = [
        ("roots", parts(&inventory.roots)),
        ("readers", parts(&inventory.readers)),
        ("unattributed", parts(&inventory.unattributed)),
        ("lock_tables", parts(&inventory.lock_tables)),
        ("grants", parts(&inventory.grants)),
        ("habits", parts(&inventory.habits)),
        ("shared_var_files", parts(&inventory.shared_var_files)),
        ("problems", parts(&inventory.problems)),
        ("findings", parts(findings)),
    ];
    to(&format!("{{\n  \"schema_version\": {schema_version},\n"))?;
    // Some for each thread, so that few of them wait for the last one.
    let at_once = PARTS_OF_A_THREAD * rayon::current_num_threads();
    for (name, parts) in &lists {
        to(&format!("  \"{name}\": ["))?;
        let mut between = "\n";
        for parts in parts.chunks(at_once) {
            let written: Vec<String> = parts.par_iter().map(|part| part()).collect::<Result<_, _>>()?;
            for entries in written {
                to(between)?;
                to(inside(&entries, "[\n  [\n", "\n  ]\n]"))?;
                between = ",\n";
            }
        }
        to(if parts.is_empty() { "],\n" } else { "\n  ],\n" })?;
    }
    if let Some(history) = history {
        to(inside(&safe_text(history)?, "{\n", "\n}"))?;
        to(",\n")?;
    }
    let summary = safe_text(&BTreeMap::from([("summary", summary)]))?;
    to(inside(&summary, "{\n", "}"))?;
    to("}\n")
}

/// A list in a list has the indentation of a list in an object: its entries stand as they will in the document.
fn parts<T: Serialize + Sync>(list: &[T]) -> Vec<Part<'_>> {
    list.chunks(PART).map(|entries| Box::new(move || entries_of(entries)) as Part<'_>).collect()
}

fn entries_of<T: Serialize>(entries: &[T]) -> serde_json::Result<String> {
    safe_text_with_room(&[entries], entries.len() * ENTRY)
}

/// The text between what it begins and ends with.
fn inside<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    text.strip_prefix(begin).and_then(|text| text.strip_suffix(end)).unwrap_or(text)
}

fn safe_text(value: &impl Serialize) -> serde_json::Result<String> {
    safe_text_with_room(value, 0)
}

fn safe_text_with_room(value: &impl Serialize, room: usize) -> serde_json::Result<String> {
    let mut json = Vec::with_capacity(room);
    serde_json::to_writer_pretty(&mut json, value)?;
    let json = String::from_utf8(json).map_err(serde::ser::Error::custom)?;
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
    use serde_json::{Value, json};

    use super::*;
    use crate::report::sample;
    use crate::report::schema_testing::{committed, mismatch};

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
                "migration": { "backends": 5, "locking": 3, "on_lockfile": 2, "lockfile_alone": 1 },
                "findings": { "critical": 0, "high": 1, "info": 0, "low": 0, "medium": 1 }, "ignored": 1
            })
        );
        assert_eq!(document["findings"][2]["ignored"], json!("goes with the final phase"));
    }

    #[test]
    fn the_past_is_told_where_it_was_asked_for_and_what_is_not_known_of_it() {
        let (inventory, history) = (sample::inventory(), sample::history());
        let mut report = ScanReport::new(&inventory, &[]);
        report.history = Some(&history);
        let document: Value = serde_json::from_str(&render(&report).unwrap()).unwrap();
        assert_eq!(
            document["history"][0],
            json!({
                "commit": "1111111111111111111111111111111111111111", "date": "2026-01-05T09:00:00Z", "roots": 2,
                "modes": { "dual": 0, "dynamodb": 2, "lockfile": 0, "none": 0, "unknown": 0 },
                "owners": { "@acme/web": { "dynamodb": 2 } }, "buckets": { "tf-dev": { "dynamodb": 2 } },
                "accounts": { "(none)": { "dynamodb": 2 } }, "unread": 0
            })
        );
        assert_eq!(document["history_unknown"], Value::Null);
        let unknown = History::unknown("it lies in no git repository".to_owned());
        report.history = Some(&unknown);
        let document: Value = serde_json::from_str(&render(&report).unwrap()).unwrap();
        assert_eq!(document["history"], Value::Null);
        assert_eq!(document["history_unknown"], json!("it lies in no git repository"));
        let schema = serde_json::to_value(schema()).unwrap();
        assert_eq!(mismatch(&schema, &schema, &document, ""), None);
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
    fn a_document_in_parts_is_the_same_text() {
        for (mut inventory, mut findings) in [(sample::inventory(), sample::findings()), sample::hostile()] {
            let history = sample::history();
            let (roots, some) = (inventory.roots.clone(), findings.clone());
            for times in [0, 1, 100] {
                inventory.roots = roots.iter().cycle().take(times * roots.len()).cloned().collect();
                findings = some.iter().cycle().take(times * some.len()).cloned().collect();
                let mut report = ScanReport::new(&inventory, &findings);
                report.history = [None, Some(&history)].into_iter().nth(times % 3).flatten();
                let document = ScanJson::of(&report);
                let whole = safe_text(&document).unwrap() + "\n";
                let mut parts = String::new();
                let taken = in_parts::<serde_json::Error>(&document, |part| {
                    parts.push_str(part);
                    Ok(())
                });
                taken.unwrap();
                assert_eq!(parts, whole);
                assert_eq!(render(&report).unwrap(), whole);
            }
        }
    }

    #[test]
    fn nothing_more_is_made_once_nobody_takes_it() {
        let mut inventory = sample::inventory();
        inventory.roots = inventory.roots.iter().cycle().take(1000).cloned().collect();
        let mut taken = 0;
        let error = write(&ScanReport::new(&inventory, &[]), |_| {
            taken += 1;
            if taken < 3 { Ok(()) } else { Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe)) }
        });
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(taken, 3);
    }

    #[test]
    fn the_committed_schema_is_current() {
        committed("scan.schema.json", &schema());
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
