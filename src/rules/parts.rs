//! What several rules need to say: which backend, which source, how it is called. No rule lives here.

use crate::repo::inventory::{EffectiveBackend, Inventory, RootModule, SourceRef};
use crate::repo::setting::{Setting, Value};
use crate::repo::source::Source;
use crate::repo::text::Place;

/// Names under which the lock table is set; Terragrunt still takes the old one.
pub(super) const TABLE: &[&str] = &["dynamodb_table", "lock_table"];
/// The lockfile's setting.
pub(super) const LOCKFILE: &[&str] = &["use_lockfile"];
/// Everything that decides about locks.
pub(super) const LOCKS: &[&str] = &["dynamodb_table", "lock_table", "use_lockfile"];

/// Every effective backend with its root module, in the inventory's order.
pub(super) fn backends(inventory: &Inventory) -> impl Iterator<Item = (&RootModule, &EffectiveBackend)> {
    inventory.roots.iter().flat_map(|root| root.backends.iter().map(move |backend| (root, backend)))
}

/// The source behind a reference.
pub(super) fn source<'a>(inventory: &'a Inventory, at: &SourceRef) -> Option<&'a Source> {
    inventory.sources.get(at.source)
}

/// The source that decides about these settings: later sources win, shadowed ones count for nothing.
pub(super) fn deciding<'a>(
    inventory: &'a Inventory,
    backend: &'a EffectiveBackend,
    names: &[&str],
) -> Option<(&'a SourceRef, &'a Setting)> {
    backend.sources.iter().rev().filter(|at| !at.shadowed).find_map(|at| {
        let source = source(inventory, at)?;
        names.iter().find_map(|name| source.setting(name)).map(|setting| (at, setting))
    })
}

/// Where a finding about these settings belongs: the setting that decides, else the backend's first source, else the
/// root module's directory.
pub(super) fn place(
    inventory: &Inventory,
    root: &RootModule,
    backend: &EffectiveBackend,
    names: &[&str],
) -> Place {
    deciding(inventory, backend, names)
        .map(|(at, setting)| place_in(at, setting))
        .or_else(|| backend.sources.iter().find(|at| !at.shadowed).map(place_of))
        .unwrap_or_else(|| place_of_root(root))
}

/// The place of a reference.
pub(super) fn place_of(at: &SourceRef) -> Place {
    Place { file: at.file.clone(), line: at.line, column: at.column }
}

/// The place of a setting in the source that is referred to.
pub(super) fn place_in(at: &SourceRef, setting: &Setting) -> Place {
    Place::new(&at.file, setting.at)
}

/// The place of a root module of which nothing nearer is known.
pub(super) fn place_of_root(root: &RootModule) -> Place {
    root.backends
        .iter()
        .flat_map(|backend| &backend.sources)
        .find(|at| !at.shadowed)
        .map_or_else(|| Place { file: root.path.clone(), line: 1, column: 1 }, place_of)
}

/// `` `envs/prod` with `prod.tfbackend` ``: a root module and the choice of backend-config that is meant.
pub(super) fn called(root: &RootModule, backend: &EffectiveBackend) -> String {
    match backend.backend_config.as_slice() {
        [] => format!("`{}`", root.path),
        choice => format!("`{}` with {}", root.path, quoted(choice.iter().map(String::as_str))),
    }
}

/// `` `a`, `b` and 3 more ``: a list that stays readable.
pub(super) fn quoted<'a>(items: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 4;
    let items: Vec<String> = items.map(|item| format!("`{item}`")).collect();
    match items.len().checked_sub(SHOWN) {
        None | Some(0) => items.join(", "),
        Some(more) => {
            let shown: Vec<&str> = items.iter().take(SHOWN).map(String::as_str).collect();
            format!("{} and {more} more", shown.join(", "))
        }
    }
}

/// Whether a table setting asks for a lock, or could: `null` and `""` switch it off.
pub(super) fn may_lock_table(value: &Value) -> bool {
    !matches!(value, Value::Null) && value.as_text() != Some("")
}

/// Whether a lockfile setting asks for a lock, or could. The S3 backend reads the texts "true" and "1" as true.
pub(super) fn may_lock_file(value: &Value) -> bool {
    match value {
        Value::Bool(on) => *on,
        Value::Text(text) => matches!(text.as_str(), "true" | "1"),
        Value::Unknown { .. } => true,
        Value::Null | Value::Number(_) | Value::Secret | Value::Object => false,
    }
}
