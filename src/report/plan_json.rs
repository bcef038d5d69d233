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
                old: text.lossy(edit.span),
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
