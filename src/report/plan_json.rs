//! `migrate --format json`: the plan in a stable form, and its JSON Schema. Names here stay; more may be added.

use schemars::{JsonSchema, Schema};
use serde::Serialize;

use super::SCHEMA_VERSION;
use super::words::safe_json;
use crate::migrate::phase::Phase;
use crate::migrate::plan::{ManualStep, Plan, Refusal, RootPlan, Waived};
use crate::repo::inventory::LockMode;
use crate::repo::text::Text;

/// What `lockshift migrate --format json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "lockshift migrate", rename = "Migrate")]
struct PlanJson<'a> {
    /// Version of this form; it rises when a name goes or changes its meaning.
    schema_version: u32,
    /// The phase asked for.
    phase: Phase,
    /// Root modules that reach the phase with these steps, by path.
    roots: Vec<RootJson<'a>>,
    /// Edits, by root module and file. A file that several root modules share stands once for each of them; one that
    /// only holds readers has no root module.
    steps: Vec<StepJson<'a>>,
    /// What does not change, and which gate says so.
    refusals: &'a [Refusal],
    /// What people must do.
    manual: &'a [ManualStep],
    /// Gates that were waived.
    waived: &'a [Waived],
    /// Root modules without any lock.
    unlocked: &'a [String],
    /// Root modules that are in the phase already.
    done: &'a [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedRoot")]
struct RootJson<'a> {
    /// Its directory.
    path: &'a str,
    /// Modes of its effective backends.
    before: &'a [LockMode],
    /// The same afterwards.
    after: &'a [LockMode],
    /// Files that change for it.
    files: &'a [String],
    /// Its owners by CODEOWNERS.
    owners: &'a [String],
    /// Buckets of its states.
    buckets: &'a [String],
    /// Its lock tables before.
    tables: &'a [String],
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Step")]
struct StepJson<'a> {
    /// The root module; absent for a file that only holds readers.
    root: Option<&'a str>,
    /// The file.
    file: &'a str,
    /// Splices of the file's present bytes, by position, never overlapping.
    edits: Vec<EditJson>,
}

#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "Edit")]
struct EditJson {
    /// Line of the first byte, from 1.
    line: usize,
    /// First byte that goes.
    start: usize,
    /// One past the last byte that goes.
    end: usize,
    /// What goes; bytes that are no text are replaced.
    old: String,
    /// What comes.
    new: String,
}

/// The plan as one JSON document with a line break at its end.
///
/// # Errors
/// None that a plan can cause.
pub fn render(plan: &Plan) -> Result<String, serde_json::Error> {
    let mut steps = Vec::new();
    for file in &plan.files {
        let text = Text::new(&file.before);
        let edits: Vec<EditJson> = file
            .edits
            .iter()
            .map(|edit| EditJson {
                line: text.position(edit.span.start).line,
                start: edit.span.start,
                end: edit.span.end,
                old: text.lossy(edit.span).into_owned(),
                new: String::from_utf8_lossy(&edit.text).into_owned(),
            })
            .collect();
        if file.roots.is_empty() {
            steps.push(StepJson { root: None, file: &file.file, edits });
        } else {
            steps.extend(file.roots.iter().map(|root| StepJson {
                root: Some(root),
                file: &file.file,
                edits: edits.clone(),
            }));
        }
    }
    steps.sort_by_key(|step| (step.root, step.file));
    let document = PlanJson {
        schema_version: SCHEMA_VERSION,
        phase: plan.phase,
        roots: plan.roots.iter().map(root).collect(),
        steps,
        refusals: &plan.refusals,
        manual: &plan.manual,
        waived: &plan.waived,
        unlocked: &plan.unlocked,
        done: &plan.done,
    };
    let mut json = serde_json::to_string_pretty(&document)?;
    json.push('\n');
    Ok(safe_json(&json).into_owned())
}

fn root(root: &RootPlan) -> RootJson<'_> {
    RootJson {
        path: &root.path,
        before: &root.before,
        after: &root.after,
        files: &root.files,
        owners: &root.owners,
        buckets: &root.buckets,
        tables: &root.tables,
    }
}

/// The JSON Schema of [`render`]'s document; committed as `docs/schema/migrate.schema.json`.
pub fn schema() -> Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<PlanJson<'_>>()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::migrate::edit::{Edit, Edits};
    use crate::migrate::plan::FileChange;
    use crate::report::schema_testing::{committed, mismatch};

    fn plan() -> Plan {
        let before = b"a\r\nbad \xff\n".to_vec();
        let edits = Edits::new(
            &before,
            vec![Edit::insert(3, "new\r\n"), Edit::delete(crate::repo::text::Span::new(7, 8))],
        )
        .unwrap();
        let file = |name: &str, roots: &[&str]| FileChange {
            file: name.to_owned(),
            os_path: name.into(),
            roots: roots.iter().map(|root| (*root).to_owned()).collect(),
            after: edits.apply(&before),
            edits: edits.clone(),
            before: before.clone(),
        };
        Plan {
            phase: Phase::Final,
            roots: vec![RootPlan {
                path: "a\u{202e}".to_owned(),
                before: vec![LockMode::Dual],
                after: vec![LockMode::Lockfile],
                files: vec!["shared.tf".to_owned()],
                owners: vec!["@o".to_owned()],
                buckets: vec!["b".to_owned()],
                tables: vec!["t".to_owned()],
            }],
            files: vec![file("readers.tf", &[]), file("shared.tf", &["a\u{202e}", "b"])],
            refusals: vec![Refusal {
                root: "c".to_owned(),
                gate: "soak-too-short".to_owned(),
                reason: "r".to_owned(),
                file: "c/main.tf".to_owned(),
                line: 3,
            }],
            manual: vec![ManualStep {
                roots: vec!["c".to_owned()],
                file: "x.sh".to_owned(),
                line: 1,
                reason: "r".to_owned(),
                write: "w".to_owned(),
            }],
            waived: vec![Waived {
                gate: "g".to_owned(),
                reason: "r".to_owned(),
                roots: vec!["a".to_owned()],
            }],
            unlocked: vec!["u".to_owned()],
            done: vec!["d".to_owned()],
        }
    }

    #[test]
    fn the_names_that_others_build_on_are_there() {
        let text = render(&plan()).unwrap();
        assert!(!text.contains('\u{202e}'), "{text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> = document.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["schema_version", "phase", "roots", "steps", "refusals", "manual", "waived", "unlocked", "done"]
        );
        assert_eq!(document["phase"], json!("final"));
        let steps: Vec<(&Value, &Value)> =
            document["steps"].as_array().unwrap().iter().map(|step| (&step["root"], &step["file"])).collect();
        assert_eq!(
            steps,
            [
                (&Value::Null, &json!("readers.tf")),
                (&json!("a\u{202e}"), &json!("shared.tf")),
                (&json!("b"), &json!("shared.tf")),
            ]
        );
        assert_eq!(
            document["steps"][1]["edits"],
            json!([
                { "line": 2, "start": 3, "end": 3, "old": "", "new": "new\r\n" },
                { "line": 2, "start": 7, "end": 8, "old": "\u{fffd}", "new": "" },
            ])
        );
        assert_eq!(
            document["refusals"][0],
            json!({ "root": "c", "gate": "soak-too-short", "reason": "r", "file": "c/main.tf", "line": 3 })
        );
    }

    #[test]
    fn the_committed_schema_is_current_and_describes_the_document() {
        committed("migrate.schema.json", &schema());

        let schema = serde_json::to_value(schema()).unwrap();
        let mut document: Value = serde_json::from_str(&render(&plan()).unwrap()).unwrap();
        assert_eq!(mismatch(&schema, &schema, &document, ""), None);
        document["roots"][0]["after"][0] = json!("double");
        assert!(mismatch(&schema, &schema, &document, "").unwrap().starts_with("/roots/0/after/0"));
    }
}
