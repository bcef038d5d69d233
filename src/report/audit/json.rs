//! `audit --format json`: the stable form that `migrate --evidence` and other programs take, and its JSON Schema.
//! Names here stay; more may be added. Values stand as the stores have them: only characters that could drive a
//! terminal are escaped.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::{AuditReport, summary};
use crate::audit::outcome::Audit;
use crate::audit::snapshot::Snapshot;
use crate::report::totals::SEVERITIES;
use crate::report::words::safe_json;

/// What `lockshift audit --format json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "lockshift audit", rename = "AuditReport")]
struct AuditJson<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    /// Counts over everything.
    summary: SummaryJson<'a>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuditSummary")]
struct SummaryJson<'a> {
    /// States that were looked at.
    states: usize,
    /// States by the verdict of their coverage.
    coverage: BTreeMap<&'a str, usize>,
    /// States by the verdict of their digest.
    digests: BTreeMap<&'a str, usize>,
    /// Locks held now, by store.
    locks: BTreeMap<&'static str, usize>,
    /// States of which it is not known whether they are locked, by store.
    locks_unknown: BTreeMap<&'static str, usize>,
    /// Findings that nobody accepted, by severity; every severity is present.
    findings: BTreeMap<&'static str, usize>,
    /// Findings that were accepted with a reason, or that the baseline has.
    ignored: usize,
    /// What could not be read.
    unread: usize,
    /// Of these, what can hide a lock.
    unread_hides_locks: usize,
}

/// The report as one JSON document with a line break at its end.
///
/// # Errors
/// None that an audit can cause.
pub fn render(report: &AuditReport<'_>) -> Result<String, serde_json::Error> {
    let audit = report.audit;
    let states = &audit.states;
    let document = AuditJson {
        audit,
        summary: SummaryJson {
            states: states.len(),
            coverage: summary::coverage(report),
            digests: summary::digests(report),
            locks: BTreeMap::from([
                ("s3", states.iter().filter(|state| state.locks.s3.is_some()).count()),
                ("dynamodb", states.iter().filter(|state| state.locks.dynamodb.is_some()).count()),
            ]),
            locks_unknown: {
                let [s3, dynamodb] = summary::unknown(report);
                BTreeMap::from([("s3", s3), ("dynamodb", dynamodb)])
            },
            findings: SEVERITIES
                .into_iter()
                .map(|severity| (severity.as_str(), report.of(severity).count()))
                .collect(),
            ignored: audit.findings.len() - report.open().count(),
            unread: audit.unread.len(),
            unread_hides_locks: audit.unread.iter().filter(|unread| unread.hides_locks).count(),
        },
    };
    printed(&document)
}

/// A snapshot as `--save-snapshot` writes it.
///
/// # Errors
/// None that a snapshot can cause.
pub fn snapshot(snapshot: &Snapshot) -> Result<String, serde_json::Error> {
    printed(snapshot)
}

fn printed(document: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut json = serde_json::to_string_pretty(document)?;
    json.push('\n');
    Ok(safe_json(&json).into_owned())
}

/// The JSON Schema of [`render`]'s document; committed as `docs/schema/audit.schema.json`.
pub fn schema() -> Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<AuditJson<'_>>()
}

/// The JSON Schema of a saved snapshot, as it may be written by hand; committed as
/// `docs/schema/snapshot.schema.json`.
pub fn snapshot_schema() -> Schema {
    schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Snapshot>()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::migrate::evidence::Evidence;
    use crate::report::audit::sample;
    use crate::report::schema_testing::{committed, mismatch};

    fn document() -> Value {
        let audit = sample::audit();
        serde_json::from_str(&render(&AuditReport { audit: &audit, stats: false }).unwrap()).unwrap()
    }

    #[test]
    fn the_names_that_others_build_on_are_there() {
        let document = document();
        let names: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "schema_version",
                "generated_at",
                "window_seconds",
                "stale_after_seconds",
                "states",
                "findings",
                "unread",
                "probes",
                "stats",
                "summary"
            ]
        );
        let dns = &document["states"][0];
        assert_eq!(
            (&dns["bucket"], &dns["state_path"], &dns["mode"]),
            (&json!("acme-tfstate"), &json!("dns"), &json!("dual"))
        );
        assert_eq!(dns["locks"]["dynamodb"]["table"], json!("acme-locks"));
        assert_eq!(dns["coverage"]["verdict"], json!("proven"));
        let lost = &document["states"][1];
        assert_eq!((&lost["mode"], &lost["exists"]), (&json!("unknown"), &Value::Null));
        assert_eq!(lost["mode_unknown"], json!("no repository names it"));
        assert_eq!(document["window_seconds"], json!(1_209_600));
        assert_eq!(document["stale_after_seconds"], json!(7_200));
        // Null alone is "none"; with a reason beside it, it is "not known".
        assert_eq!(
            document["states"][3]["locks"]["s3_unknown"],
            json!("the listing did not come to its end")
        );
        assert_eq!(document["states"][3]["locks"]["s3"], Value::Null);
        assert_eq!(dns["locks"].get("s3_unknown"), None);
        assert_eq!(document["unread"][0]["missing_action"], json!("dynamodb:Scan"));
        assert_eq!(document["findings"][5]["ignored"], json!("a scratch bucket"));
        assert_eq!(
            document["summary"],
            json!({
                "states": 4,
                "coverage": { "contradicted": 1, "no-writes-seen": 1, "not-provable": 1, "proven": 1 },
                "digests": { "matches": 2, "none": 1, "stale": 1 },
                "locks": { "dynamodb": 3, "s3": 2 },
                "locks_unknown": { "dynamodb": 0, "s3": 1 },
                "findings": { "critical": 1, "high": 2, "info": 0, "low": 0, "medium": 2 },
                "ignored": 1, "unread": 2, "unread_hides_locks": 1
            })
        );
    }

    #[test]
    fn migrate_reads_it_as_evidence() {
        let audit = sample::audit();
        let json = render(&AuditReport { audit: &audit, stats: false }).unwrap();
        let evidence = Evidence::parse(json.as_bytes()).unwrap();
        assert_eq!(evidence.stale(sample::now().seconds()), None);
        assert!(evidence.is_probed("acme-tfstate"));
        assert_eq!(
            evidence.against("acme-tfstate", "network").as_deref(),
            Some("s3://acme-tfstate/network was written outside of an S3 lock")
        );
    }

    #[test]
    fn values_stay_whole_and_terminals_stay_safe() {
        let audit = sample::hostile();
        let json = render(&AuditReport { audit: &audit, stats: false }).unwrap();
        assert_eq!(sample::raw_control(&json), None);
        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["states"][0]["locks"]["s3"]["who"], json!(sample::EVIL));
    }

    #[test]
    fn the_committed_schemas_are_current() {
        committed("audit.schema.json", &schema());
        committed("snapshot.schema.json", &snapshot_schema());
    }

    #[test]
    fn the_document_has_the_shape_that_the_schema_describes() {
        let schema = serde_json::to_value(schema()).unwrap();
        let mut document = document();
        assert_eq!(mismatch(&schema, &schema, &document, ""), None);
        document["states"][0]["mode"] = json!("double");
        assert!(mismatch(&schema, &schema, &document, "").unwrap().starts_with("/states/0/mode"));
    }

    #[test]
    fn the_committed_snapshot_has_the_shape_of_its_schema_and_is_sorted() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/audit/snapshot.json");
        let text = std::fs::read_to_string(path).unwrap();
        let schema = serde_json::to_value(snapshot_schema()).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(mismatch(&schema, &schema, &value, ""), None);
        let read: Snapshot = serde_json::from_str(&text).unwrap();
        let mut sorted = read.clone();
        sorted.sort();
        assert!(read == sorted, "binary searches need it sorted");
        assert_eq!(serde_json::from_str::<Snapshot>(&snapshot(&read).unwrap()).unwrap(), read);
    }
}
