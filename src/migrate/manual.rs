//! Manual steps: what people must write where no edit is made, and what must be done beside the files.

use std::collections::BTreeSet;

use super::change::Change;
use super::options::Options;
use super::phase::Phase;
use super::plan::ManualStep;
use super::source_edits::written;
use super::units::{Bump, Kind, Unit, line_of};
use super::want::{names_table, own_mode};
use crate::repo::facts::Tool;
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode};
use crate::repo::source::{SourceKind, Syntax};
use crate::shell::word;

/// The changes of one source, for people.
pub fn step(
    inventory: &Inventory,
    index: usize,
    changes: &[Change],
    mut roots: Vec<String>,
    reason: String,
) -> ManualStep {
    let (file, line) = line_of(inventory, index);
    let source = inventory.sources.get(index);
    // Source code spells it in its own way; the words of HCL are understood everywhere.
    let syntax = source.map_or(Syntax::HclBody, |source| source.syntax);
    let syntax = if syntax == Syntax::Other { Syntax::HclBody } else { syntax };
    let write: Vec<String> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Set { name, value, .. } => Some(written(syntax, name, value)),
            Change::Remove { name } => {
                source.and_then(|source| source.setting(name)).map(|_| format!("remove `{name}`"))
            }
        })
        .collect();
    roots.sort();
    ManualStep { roots, file, line, reason, write: write.join("\n") }
}

/// A constraint that no edit raises.
pub fn version(root: &str, bump: &Bump) -> ManualStep {
    let floor = if bump.tool == Tool::OpenTofu { "1.10" } else { "1.11" };
    ManualStep {
        roots: vec![root.to_owned()],
        file: bump.place.file.clone(),
        line: bump.place.line,
        reason: "this constraint is not plain, or admits no version that knows `use_lockfile`".to_owned(),
        write: format!("required_version = \">= {floor}\""),
    }
}

/// Sources without a root module that name a table, and of which nobody can say which locks they make.
pub fn unclear(inventory: &Inventory, phase: Phase) -> Vec<ManualStep> {
    let write = match phase {
        Phase::Dual => "use_lockfile = true",
        Phase::Final => "use_lockfile = true, and no table",
        Phase::Rollback => return Vec::new(),
    };
    inventory
        .unattributed
        .iter()
        .filter_map(|left| Some((left, inventory.sources.get(left.source)?)))
        .filter(|(_, source)| !matches!(source.kind, SourceKind::Backend | SourceKind::BackendOverride))
        .filter(|(_, source)| names_table(source) && own_mode(source) == LockMode::Unknown)
        .map(|(left, source)| {
            let (file, line) = line_of(inventory, left.source);
            let reason = source
                .editability
                .reason()
                .unwrap_or("whether the lockfile is on here can't be told")
                .to_owned();
            ManualStep { roots: Vec::new(), file, line, reason, write: write.to_owned() }
        })
        .collect()
}

/// Digests that a rollback must deal with: while the table was off, nobody wrote them, and already `init` with the
/// table would stop at a stale one. Source: the S3 backend's `-md5` item.
pub fn digests(
    inventory: &Inventory,
    options: &Options,
    units: &[Unit],
    live: &BTreeSet<usize>,
) -> Vec<ManualStep> {
    let Some(table) = &options.rollback_table else { return Vec::new() };
    let mut steps = Vec::new();
    let mut step = |unit: &Unit, roots: Vec<String>, write: String| {
        let reason = format!(
            "before `init` with `{table}`: its digests were not written while the table was off, and even `init` stops \
             at a stale one; delete them, in every workspace (the item is called BUCKET/PREFIX/WORKSPACE/KEY-md5 there)"
        );
        steps.push(ManualStep { roots, file: unit.place.file.clone(), line: unit.place.line, reason, write });
    };
    for unit in live.iter().filter_map(|at| units.get(*at)) {
        match unit.kind {
            Kind::Root(root) => {
                let Some(root) = inventory.roots.get(root) else { continue };
                for (nth, mode) in &unit.modes {
                    let Some(backend) = root.backends.get(*nth) else { continue };
                    if (backend.mode, *mode) == (LockMode::Lockfile, LockMode::Dual) {
                        step(unit, vec![root.path.clone()], delete_digest(backend, table));
                    }
                }
            }
            // A flag or a template brings the table back for states that can't be named here.
            Kind::Loose(source) => {
                let alone = |source| own_mode(source) == LockMode::Lockfile;
                if inventory.sources.get(source).is_some_and(alone) {
                    step(unit, Vec::new(), delete_item("BUCKET/KEY", "", table));
                }
            }
            Kind::Reader(_) => {}
        }
    }
    steps
}

fn delete_digest(backend: &EffectiveBackend, table: &str) -> String {
    let known =
        |value: &'_ Knowable<String>, or: &str| value.known().cloned().unwrap_or_else(|| or.to_owned());
    let region = backend.region.known().map(|region| format!(" --region {}", word(region)));
    let state = format!("{}/{}", known(&backend.bucket, "BUCKET"), known(&backend.key, "KEY"));
    delete_item(&state, &region.unwrap_or_default(), table)
}

/// The command that deletes one digest.
fn delete_item(state: &str, region: &str, table: &str) -> String {
    let item = serde_json::json!({ "LockID": { "S": format!("{state}-md5") } }).to_string();
    format!("aws dynamodb delete-item --table-name {}{region} --key {}", word(table), word(&item))
}
