//! Terragrunt units: every directory that Terragrunt runs in, with what its own file and the files that it includes
//! give its backend. Pure: facts in, units out. What only a run can tell stays unknown with its reason.
//!
//! Source of the merge: Terragrunt `pkg/config/include.go` (read in August 2026). `remote_state` is never merged
//! with a parent's: the unit's own replaces it, of several includes the last one counts, and `deep` changes nothing
//! about that. `generate` blocks replace each other by label. `no_merge` leaves an include out. A file that is
//! included must not include others.

mod context;
mod effective;
mod evaluate;
mod functions;
mod paths;
mod resolve;
mod value;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use self::context::Context;
use self::evaluate::Evaluator;
use self::functions::DEFAULT_NAMES;
use self::paths::Root;

pub use self::effective::effective;
pub use self::resolve::opaque;
use super::facts::{Include, TerragruntFacts, Tool, VersionPin, dir_of};
use super::secret;
use super::setting::Setting;
use super::source::Source;
use super::syntax::expression::one_line;

/// One Terragrunt file and what it says.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// Path as shown to people.
    pub path: &'a str,
    /// What it says.
    pub facts: &'a TerragruntFacts,
}

/// What is known of the tree beside its Terragrunt files.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    /// The way from the repository's root to where shown paths begin: `""` when they are the same, `None` when it
    /// is not known.
    pub repo_prefix: Option<&'a str>,
    /// Whether a directory (as shown) holds Terraform or OpenTofu files.
    pub has_module_files: &'a dyn Fn(&str) -> bool,
}

/// A directory that Terragrunt runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unit {
    /// The directory as shown; `.` for the top.
    pub path: String,
    /// Its `terragrunt.hcl` (or `terragrunt.hcl.json`), as shown.
    pub file: String,
    /// Settings of its backend with their values in this unit, each with the index of its source. Later ones win.
    pub settings: Vec<(Setting, usize)>,
    /// Sources that count, in the order in which they are merged.
    pub sources: Vec<usize>,
    /// Sources that another one replaces.
    pub shadowed: Vec<usize>,
    /// Why the backend as a whole can't be told: an include that was not found, a `config` that is computed.
    pub unknown: Option<String>,
    /// The backend's type when it is not s3.
    pub other_backend: Option<String>,
    /// What Terragrunt would refuse, and what was passed over, for people.
    pub problems: Vec<String>,
    /// Version constraints that hold for it.
    pub pins: Vec<VersionPin>,
    /// The directory (as shown) of a `terraform { source = … }` on this disk, or the unit's own without one. An empty
    /// `backend "s3" {}` there gets its settings from this unit.
    pub local_source: Option<String>,
    /// Files that it includes, as shown, in order.
    pub includes: Vec<String>,
}

/// Units and what is left over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Units by path.
    pub units: Vec<Unit>,
    /// Sources that no unit reaches.
    pub unused: Vec<usize>,
}

/// The sources of all files, in the order that the indexes in [`Unit`] and [`Merged`] count: file by file,
/// `remote_state` before `generate`.
pub fn sources<'a>(files: &[File<'a>]) -> Vec<&'a Source> {
    files.iter().flat_map(|file| file.facts.remote_states.iter().chain(&file.facts.generates)).collect()
}

/// The units of a tree and their backends.
pub fn merge(files: &[File<'_>], tree: Tree<'_>) -> Merged {
    let root = Root::new(tree.repo_prefix, files.iter().map(|file| file.path));
    let mut first_source = 0;
    let mut entries = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        entries.insert(root.absolute(file.path), Entry { at, first_source });
        first_source += file.facts.remote_states.len() + file.facts.generates.len();
    }
    let by_path = files.iter().map(|file| (root.absolute(file.path), file.facts)).collect();
    let mut merger = Merger { files, entries, evaluator: Evaluator::new(root.clone(), by_path) };

    let mut candidates = Vec::new();
    let mut included = BTreeSet::new();
    for file in unit_files(files) {
        let unit = root.absolute(file.path);
        merger.evaluator.next_unit();
        let layers = merger.layers(file, &unit);
        included.extend(layers.includes.iter().filter_map(|include| include.path.clone().ok()));
        candidates.push((file, unit, layers));
    }
    let mut merged = Merged::default();
    let mut used = BTreeSet::new();
    for (file, path, layers) in candidates {
        if included.contains(&path)
            && !file.facts.has_terraform_source
            && !(tree.has_module_files)(dir_of(file.path))
        {
            continue;
        }
        merger.evaluator.next_unit();
        let unit = merger.unit(file, &layers);
        used.extend(unit.sources.iter().chain(&unit.shadowed).copied());
        merged.units.push(unit);
    }
    merged.units.sort_by(|a, b| a.path.cmp(&b.path));
    merged.unused = (0..first_source).filter(|source| !used.contains(source)).collect();
    merged
}

/// How the reason ends why a value can't be told that is made from another file's block.
pub const OF_ANOTHER: &str = "of another configuration";

/// The file of each directory that Terragrunt would take for its configuration.
/// Source: `DefaultTerragruntConfigPaths`; the JSON name comes first.
fn unit_files<'a>(files: &[File<'a>]) -> Vec<File<'a>> {
    let mut by_dir: BTreeMap<&str, File<'a>> = BTreeMap::new();
    for name in DEFAULT_NAMES {
        for file in files.iter().filter(|file| file.path.rsplit('/').next() == Some(name)) {
            by_dir.entry(dir_of(file.path)).or_insert(*file);
        }
    }
    by_dir.into_values().collect()
}

/// Where a file stands in the caller's list, and where its sources begin.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: usize,
    first_source: usize,
}

/// One include of a unit, and where it leads.
#[derive(Debug, Clone)]
struct Included<'a> {
    include: &'a Include,
    /// Absolute path of a file that was read.
    path: Result<String, String>,
}

/// A unit's own context and its includes.
#[derive(Debug, Clone)]
struct Layers<'a> {
    context: Rc<Context>,
    includes: Vec<Included<'a>>,
}

/// One file that gives settings to a unit, as the unit sees it.
#[derive(Debug, Clone)]
struct Layer<'a> {
    facts: &'a TerragruntFacts,
    first_source: usize,
    context: Rc<Context>,
}

struct Merger<'a> {
    files: &'a [File<'a>],
    entries: HashMap<String, Entry>,
    evaluator: Evaluator<'a>,
}

impl<'a> Merger<'a> {
    fn layers(&mut self, file: File<'a>, unit: &str) -> Layers<'a> {
        let context = self.evaluator.context_of(unit, unit);
        let bare = Rc::new(Context::of(unit, unit));
        let includes = file
            .facts
            .includes
            .iter()
            .map(|include| {
                let path = self.evaluator.include_path(&include.path, &bare).and_then(|path| {
                    if self.entries.contains_key(&path) {
                        Ok(path)
                    } else {
                        let shown =
                            self.evaluator.root.shown(&path).unwrap_or_else(|| paths::basename(&path));
                        Err(format!("{shown} is not among the files that were read"))
                    }
                });
                Included { include, path }
            })
            .collect();
        Layers { context, includes }
    }

    fn layer(&self, path: &str, context: Rc<Context>) -> Option<Layer<'a>> {
        let entry = self.entries.get(path)?;
        let file = self.files.get(entry.at)?;
        Some(Layer { facts: file.facts, first_source: entry.first_source, context })
    }

    fn unit(&mut self, file: File<'a>, layers: &Layers<'a>) -> Unit {
        let mut unit =
            Unit { path: dir_of(file.path).to_owned(), file: file.path.to_owned(), ..Unit::default() };
        let mut merged: Vec<Layer<'a>> = Vec::new();
        // An include that can't be told may bring a backend; only the unit's own `remote_state` makes it harmless.
        let mut doubt = None;
        for Included { include, path } in &layers.includes {
            let left_out = include.merge_strategy.as_deref() == Some("no_merge");
            let path = match path {
                Ok(path) => path,
                Err(reason) => {
                    let reason = format!("include {}: {reason}", shown_label(&include.label));
                    unit.problems.push(reason.clone());
                    if !left_out {
                        doubt = Some(reason);
                    }
                    continue;
                }
            };
            unit.includes.extend(self.evaluator.root.shown(path));
            match include.merge_strategy.as_deref() {
                None | Some("shallow" | "deep") => {}
                Some("no_merge") => {
                    unit.shadowed.extend(self.read_by(file, &include.label, path));
                    continue;
                }
                Some(other) => {
                    let reason = format!(
                        "include {}: its merge_strategy is {}, which can't be told",
                        shown_label(&include.label),
                        one_line(&secret::shown(other))
                    );
                    unit.problems.push(reason.clone());
                    doubt = Some(reason);
                }
            }
            let Some(layer) = self.layer(path, Rc::new(layers.context.included(path))) else { continue };
            if !layer.facts.includes.is_empty() {
                let reason = format!(
                    "include {}: the included file includes others, which Terragrunt refuses",
                    shown_label(&include.label)
                );
                unit.problems.push(reason.clone());
                doubt = Some(reason);
            }
            merged.push(layer);
        }
        merged.extend(self.layer(&layers.context.file, layers.context.clone()));
        let own_state = !file.facts.remote_states.is_empty() || file.facts.other_backend.is_some();
        if !own_state {
            unit.unknown = doubt;
        }
        unit.pins = pins(&merged);
        unit.local_source = self.local_source(&merged, &unit.path, &layers.context);
        self.backend(&merged, &mut unit);
        unit
    }

    /// The `remote_state` of a file that is included for its values alone, where the unit's own is made from it.
    fn read_by(&self, file: File<'a>, label: &str, path: &str) -> std::ops::Range<usize> {
        let name = format!("include.{label}.remote_state");
        let entry = self.entries.get(path).and_then(|entry| Some((entry, self.files.get(entry.at)?)));
        match entry {
            Some((entry, included)) if file.facts.expressions.values().any(|text| text.contains(&name)) => {
                entry.first_source..entry.first_source + included.facts.remote_states.len()
            }
            _ => 0..0,
        }
    }

    /// Settings of the winning `remote_state` on top of those of the `generate` blocks: without a `generate`
    /// attribute Terragrunt hands `config` to `init` as `-backend-config`, which wins over the block.
    fn backend(&mut self, layers: &[Layer<'a>], unit: &mut Unit) {
        let mut state: Option<(usize, &Source, &Layer<'a>)> = None;
        let mut generates: BTreeMap<&str, (usize, &Source, &Layer<'a>)> = BTreeMap::new();
        for layer in layers {
            if layer.facts.remote_states.len() > 1 {
                unit.problems
                    .push("one file has several remote_state blocks, which Terragrunt refuses".to_owned());
            }
            for (at, source) in layer.facts.remote_states.iter().enumerate() {
                unit.shadowed.extend(state.map(|(index, _, _)| index));
                state = Some((layer.first_source + at, source, layer));
                unit.other_backend = None;
            }
            if let Some(other) = &layer.facts.other_backend {
                unit.shadowed.extend(state.take().map(|(index, _, _)| index));
                unit.other_backend = Some(other.clone());
            }
            for label in &layer.facts.other_generates {
                unit.shadowed.extend(generates.remove(label.as_str()).map(|(index, _, _)| index));
            }
            let first = layer.first_source + layer.facts.remote_states.len();
            for (at, source) in layer.facts.generates.iter().enumerate() {
                let label = source.label.as_deref().unwrap_or_default();
                let replaced = generates.insert(label, (first + at, source, layer));
                unit.shadowed.extend(replaced.map(|(index, _, _)| index));
            }
            for call in &layer.facts.extra_arguments {
                if !call.config_files.is_empty() || !call.config_flags.is_empty() {
                    let reason = format!("{}: extra_arguments hand -backend-config to init", call.place);
                    unit.problems.push(reason.clone());
                    unit.unknown.get_or_insert(reason);
                }
            }
        }
        for (index, source, layer) in generates.into_values().chain(state) {
            unit.sources.push(index);
            self.settings(index, source, layer, unit);
        }
        let both = unit.settings.windows(2).any(|pair| match pair {
            [(_, first), (_, second)] => first != second,
            _ => false,
        });
        if both {
            unit.problems
                .push("several places give this unit's backend; the last one is taken to win".to_owned());
        }
        unit.shadowed.sort_unstable();
    }

    fn local_source(&mut self, layers: &[Layer<'a>], own: &str, context: &Rc<Context>) -> Option<String> {
        let stated = layers.iter().rev().find_map(|layer| {
            layer.facts.terraform_source.as_deref().map(|expression| (expression, layer.context.clone()))
        });
        let Some((expression, from)) = stated else { return Some(own.to_owned()) };
        let source = self.evaluator.text(expression, &from).0.text().ok()?;
        let source = source.split('?').next().unwrap_or(&source).to_owned();
        // Source: go-getter takes what begins with `/`, `./` or `../` as a local path; `//` parts the module off.
        let local = source.starts_with(['/', '.']) && !source.contains("::") && !source.contains("://");
        let path = paths::join(&paths::dirname(&context.config), &source);
        if local { self.evaluator.root.shown(&path) } else { None }
    }
}

fn shown_label(label: &str) -> String {
    if label.is_empty() { "without a label".to_owned() } else { format!("\"{label}\"") }
}

/// The constraint of the unit itself, else of the last include, for each program.
fn pins(layers: &[Layer<'_>]) -> Vec<VersionPin> {
    let mut by_tool: BTreeMap<Tool, VersionPin> = BTreeMap::new();
    for pin in layers.iter().flat_map(|layer| &layer.facts.pins) {
        by_tool.insert(pin.tool, pin.clone());
    }
    by_tool.into_values().collect()
}

#[cfg(test)]
mod tests;
