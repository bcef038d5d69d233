//! The plan: units and what they want, judged by the gates, edited, proven, and written down. Pure: the inventory,
//! the files' bytes and the facts around them come in, new bytes come out. Nothing is read or written here.

use std::collections::{BTreeMap, BTreeSet};

use super::change::Change;
use super::draft::{Draft, bytes_of};
use super::gate::{self, Hit};
use super::judge::{Judge, soak};
use super::manual;
use super::options::{Context, Options};
use super::phase::Phase;
use super::plan::{ManualStep, Plan, Refusal, RootPlan, Waived};
use super::proof::{Unproven, isolate, prove};
use super::required_version;
use super::source_edits;
use super::together::{chosen, groups, leave_alone, spread};
use super::units::{self, Kind, Unit, Units, real_file};
use super::want::Wants;
use crate::repo::inventory::{Inventory, LockMode, RootModule, SourceRef, VersionVerdict};
use crate::repo::source::{Source, SourceKind};
use crate::repo::text::Text;

/// Whether `paths`, `buckets` and `tables` of the options leave anything to plan.
pub fn selects_anything(inventory: &Inventory, options: &Options) -> bool {
    units::selects_anything(inventory, options)
}

/// Plans a phase. Deterministic: the same input makes the same plan.
pub fn plan(inventory: &Inventory, context: &Context<'_>, options: &Options) -> Plan {
    let mut all = Units::new(inventory, context.collected, options);
    let mut manual = Vec::new();
    editable(&mut all, context, &mut manual);
    raisable(&mut all, context, &mut manual);
    let mut waived: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    // What the proof of an earlier round refused, by unit.
    let mut unproven: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
    let refuse =
        |all: &mut Units<'_>, unproven: &mut BTreeMap<usize, Vec<Hit>>, at: usize, hits: Vec<Hit>| {
            match all.units.get_mut(at) {
                // It is where the phase leads already: it goes without the edit, and is not refused for it.
                Some(unit) if !unit.needs_change() && !unit.wants.is_empty() => unit.wants.clear(),
                _ => unproven.entry(at).or_default().extend(hits),
            }
        };
    loop {
        waived.clear();
        let mut units = all.units.clone();
        for (at, hits) in &unproven {
            if let Some(unit) = units.get_mut(*at) {
                unit.hits.extend(hits.iter().cloned());
            }
        }
        judge(&all, context, options, &mut units, &mut waived);
        let groups = groups(&all, &units);
        spread(&mut units, &groups);
        let live = chosen(inventory, options, &units, &groups);
        leave_alone(&all, &mut units, &live);
        let draft = match Draft::new(&all, context, &units, &live) {
            Ok(draft) => draft,
            Err(failed) => {
                for (at, hits) in failed {
                    refuse(&mut all, &mut unproven, at, hits);
                }
                continue;
            }
        };
        let proof = prove(&all, context, options, &units, &live, &draft);
        let failed = match proof {
            Ok(()) => BTreeMap::new(),
            Err(Unproven::Units(failed)) => failed,
            Err(Unproven::Unexplained(reason)) => {
                isolate(&all, context, options, &units, &live, &groups, &reason)
            }
        };
        if failed.is_empty() {
            manual.extend(manual::digests(inventory, options, &units, &live));
            return assemble(&all, options, &units, &live, draft, manual, &waived);
        }
        for (at, hit) in failed {
            refuse(&mut all, &mut unproven, at, vec![hit]);
        }
    }
}

/// Tries every wanted change by itself. What can't be made becomes a manual step, and a refusal where it is needed.
fn editable(all: &mut Units<'_>, context: &Context<'_>, manual: &mut Vec<ManualStep>) {
    let inventory = all.inventory;
    let mut wanted = Wants::new();
    let mut waiting: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for unit in &all.units {
        for (index, want) in &unit.wants {
            wanted.entry(*index).or_default().join(want);
            if let Kind::Root(_) = unit.kind {
                waiting.entry(*index).or_default().push(unit.name.clone());
            }
        }
    }
    let mut refused: BTreeMap<usize, String> = BTreeMap::new();
    for (index, want) in &wanted {
        let Some(source) = inventory.sources.get(*index) else { continue };
        let changes = want.changes(source);
        if let Err(reason) = attempt(inventory, context, source, &changes) {
            let roots = waiting.remove(index).unwrap_or_default();
            manual.push(manual::step(inventory, *index, &changes, roots, reason.clone()));
            refused.insert(*index, reason);
        }
    }
    manual.extend(manual::unclear(inventory, all.phase));
    for unit in &mut all.units {
        let lost: Vec<usize> =
            unit.wants.keys().filter(|index| refused.contains_key(index)).copied().collect();
        for index in lost {
            let (Some(want), Some(reason)) = (unit.wants.remove(&index), refused.get(&index)) else {
                continue;
            };
            let is_root = matches!(unit.kind, Kind::Root(_));
            let Some(source) = inventory.sources.get(index).filter(|_| is_root && want.needed) else {
                continue;
            };
            let generated = source.editability.is_generated();
            let gate = if generated { &gate::GENERATED_COPY } else { &gate::SOURCE_NOT_EDITABLE };
            unit.hits.push(Hit::new(gate, source.place.clone(), format!("{reason}; see the manual steps")));
            // It stays in the group of those that share the source.
            unit.wants.insert(index, want);
        }
    }
    // A reader or a loose source that can't be edited has its manual step, and nothing else.
    let kept = |unit: &Unit| matches!(unit.kind, Kind::Root(_)) || !unit.wants.is_empty();
    all.units.retain(kept);
}

/// Whether changes can be made to one source by itself.
fn attempt(
    inventory: &Inventory,
    context: &Context<'_>,
    source: &Source,
    changes: &[Change],
) -> Result<(), String> {
    let file = &source.place.file;
    let real = real_file(inventory, file);
    if source.git_ignored {
        return Err(
            "git ignores this file: a change of it reaches nobody else, make it wherever it is".to_owned()
        );
    }
    if !inventory.files.contains_key(real) {
        return Err(format!("this is a link to `{real}`, which was not scanned"));
    }
    let Some(bytes) = bytes_of(context, real, file) else {
        return Err("the file could not be read again".to_owned());
    };
    source_edits::plan_changes(Text::new(bytes), source, changes)
        .map(|_| ())
        .map_err(|refusal| refusal.to_string())
}

/// Constraints that can't be raised by an edit become manual steps.
fn raisable(all: &mut Units<'_>, context: &Context<'_>, manual: &mut Vec<ManualStep>) {
    for unit in &mut all.units {
        let plain = unit.bumps.iter().all(|bump| {
            let file = &bump.place.file;
            let bytes = bytes_of(context, real_file(all.inventory, file), file);
            bytes.is_some_and(|bytes| required_version::raise(file, bytes, &bump.place, bump.tool).is_some())
        });
        if !plain {
            let bumps = std::mem::take(&mut unit.bumps);
            manual.extend(bumps.iter().map(|bump| manual::version(&unit.name, bump)));
        }
    }
}

/// Asks every gate. Loose sources and readers first: the root modules' gates ask what becomes of them.
fn judge(
    all: &Units<'_>,
    context: &Context<'_>,
    options: &Options,
    units: &mut [Unit],
    waived: &mut BTreeMap<&'static str, BTreeSet<String>>,
) {
    let inventory = all.inventory;
    let mut admit = |unit: &mut Unit, hits: Vec<Hit>| {
        for hit in hits {
            if hit.gate.waivable && options.waive.contains_key(hit.gate.id) {
                waived.entry(hit.gate.id).or_default().insert(unit.name.clone());
            } else if !unit.hits.contains(&hit) {
                unit.hits.push(hit);
            }
        }
    };
    let too_old = TooOld::new(all);
    let mut edited: BTreeSet<usize> = BTreeSet::new();
    for unit in units.iter_mut() {
        let (Kind::Loose(index) | Kind::Reader(index)) = unit.kind else { continue };
        if let (Kind::Loose(_), Phase::Final) = (unit.kind, options.phase) {
            let hits = loose(all, context, options, index);
            admit(unit, hits);
        }
        if matches!(unit.kind, Kind::Loose(_)) && unit.wants.values().any(|want| want.lockfile == Some(true))
        {
            let hits =
                inventory.sources.get(index).and_then(|source| too_old.hit(source)).into_iter().collect();
            admit(unit, hits);
        }
        if unit.hits.is_empty() {
            edited.insert(index);
        }
    }
    let judge = Judge::new(inventory, context, options, &|source| edited.contains(&source));
    for unit in units {
        let Kind::Root(at) = unit.kind else { continue };
        let Some(root) = inventory.roots.get(at) else { continue };
        if !options.waive.contains_key(gate::REQUIRED_VARIABLE_LEFT.id) {
            unit.wants.retain(|index, want| want.needed || !judge.is_var_file(*index));
        }
        let mut hits = judge.readable(root, &unit.selected);
        if options.phase == Phase::Final {
            hits.extend(judge.leave(root, &unit.selected, &unit.wants));
        }
        let changing: Vec<usize> = unit.modes.keys().copied().collect();
        if !changing.is_empty() {
            hits.extend(judge.change(root, &changing, !unit.bumps.is_empty()));
            if unit.wants.is_empty() && hits.is_empty() && unit.hits.is_empty() {
                let reason = "no source here can be told to set the lock: it is computed somewhere";
                hits.push(Hit::new(&gate::SOURCE_NOT_EDITABLE, unit.place.clone(), reason));
            }
        }
        admit(unit, hits);
    }
}

/// The gates of a source that belongs to no root module, judged by itself.
fn loose(all: &Units<'_>, context: &Context<'_>, options: &Options, index: usize) -> Vec<Hit> {
    let inventory = all.inventory;
    let Some(source) = inventory.sources.get(index) else { return Vec::new() };
    let file = &source.place.file;
    let mut hits = Vec::new();
    match all.own_modes.get(&index).copied().unwrap_or(LockMode::Unknown) {
        LockMode::Dynamodb => {
            let reason = "this source names the table and no lockfile: run `--phase dual` first";
            hits.push(Hit::new(&gate::DUAL_PHASE_SKIPPED, source.place.clone(), reason));
        }
        LockMode::Dual => hits.extend(soak(context, options, file, source)),
        _ => {}
    }
    if let Some(shared) = inventory.shared_var_files.iter().find(|shared| shared.file == *file) {
        let reason =
            format!("`{file}` is a var-file, too: without the table, a variable of that name is left unset");
        hits.push(Hit::new(&gate::REQUIRED_VARIABLE_LEFT, shared.place.clone(), reason));
    }
    hits
}

/// A source that belongs to no root module has no version of its own. Root modules that speak for it, looked up once.
struct TooOld<'a> {
    /// A root module, where none knows the lockfile: no source must get it.
    none_can: Option<&'a RootModule>,
    /// A generated one that doesn't know it: its origin must not get it.
    generated: Option<&'a RootModule>,
}

impl<'a> TooOld<'a> {
    fn new(all: &Units<'a>) -> Self {
        let inventory = all.inventory;
        let bumped: BTreeSet<usize> = all
            .units
            .iter()
            .filter(|unit| !unit.bumps.is_empty())
            .filter_map(|unit| if let Kind::Root(at) = unit.kind { Some(at) } else { None })
            .collect();
        let cannot: Vec<&RootModule> = inventory
            .roots
            .iter()
            .enumerate()
            .filter(|(at, root)| root.versions.verdict == VersionVerdict::Cannot && !bumped.contains(at))
            .map(|(_, root)| root)
            .collect();
        let is_generated = |at: &SourceRef| {
            let source = inventory.sources.get(at.source);
            !at.shadowed && source.is_some_and(|source| source.editability.is_generated())
        };
        let none_can = cannot.first().copied().filter(|_| cannot.len() == inventory.roots.len());
        let mut generated = cannot.iter().copied();
        let generated = generated
            .find(|root| root.backends.iter().flat_map(|backend| &backend.sources).any(is_generated));
        Self { none_can, generated }
    }

    fn hit(&self, source: &Source) -> Option<Hit> {
        let origin = source.kind == SourceKind::Terramate;
        let root = self.generated.filter(|_| origin).or(self.none_can)?;
        let reason = format!(
            "nobody can tell for which root modules this counts, and what runs `{}` does not know `use_lockfile`: \
             {}; move to Terraform 1.11 or OpenTofu 1.10 first",
            root.path, root.versions.reason
        );
        Some(Hit::new(&gate::VERSION_TOO_OLD, source.place.clone(), reason))
    }
}

/// Writes the plan down.
fn assemble(
    all: &Units<'_>,
    options: &Options,
    units: &[Unit],
    live: &BTreeSet<usize>,
    draft: Draft,
    mut manual: Vec<ManualStep>,
    waived: &BTreeMap<&'static str, BTreeSet<String>>,
) -> Plan {
    let inventory = all.inventory;
    let changed: BTreeSet<&str> = draft.files.iter().map(|file| file.file.as_str()).collect();
    let (mut roots, mut refusals, mut done, mut unlocked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, unit) in units.iter().enumerate() {
        refusals.extend(unit.hits.iter().map(|hit| Refusal {
            root: unit.name.clone(),
            gate: hit.gate.id.to_owned(),
            reason: hit.reason.clone(),
            file: hit.place.file.clone(),
            line: hit.place.line,
        }));
        let Kind::Root(root) = unit.kind else { continue };
        let Some(root) = inventory.roots.get(root).filter(|_| unit.hits.is_empty()) else { continue };
        let selected = || unit.selected.iter().filter_map(|nth| root.backends.get(*nth));
        let is_unlocked = |nth: &usize| {
            let mode = root.backends.get(*nth).map(|backend| backend.mode);
            mode == Some(LockMode::None) && !unit.modes.contains_key(nth)
        };
        if unit.selected.iter().any(is_unlocked) {
            unlocked.push(unit.name.clone());
        }
        if unit.selected.iter().all(is_unlocked) {
            continue;
        }
        let files = files_of(inventory, unit, &changed);
        if files.is_empty() || !live.contains(&at) {
            if unit.modes.is_empty() && (files.is_empty() || live.contains(&at)) {
                done.push(unit.name.clone());
            }
            continue;
        }
        let modes = root.backends.iter().enumerate();
        let sorted = |values: BTreeSet<&String>| values.into_iter().cloned().collect();
        roots.push(RootPlan {
            path: unit.name.clone(),
            before: root.backends.iter().map(|backend| backend.mode).collect(),
            after: modes.map(|(nth, b)| unit.modes.get(&nth).copied().unwrap_or(b.mode)).collect(),
            files,
            owners: root.owners.clone(),
            buckets: sorted(selected().filter_map(|backend| backend.bucket.known()).collect()),
            tables: sorted(selected().filter_map(|backend| backend.dynamodb_table.known()).collect()),
        });
    }
    refusals.sort();
    refusals.dedup();
    manual.sort();
    manual.dedup();
    let waived = waived.iter().map(|(gate, roots)| Waived {
        gate: (*gate).to_owned(),
        reason: options.waive.get(*gate).cloned().unwrap_or_default(),
        roots: roots.iter().cloned().collect(),
    });
    Plan {
        phase: options.phase,
        waived: waived.collect(),
        roots,
        files: draft.files,
        refusals,
        manual,
        unlocked,
        done,
    }
}

/// Files that change for a unit.
fn files_of(inventory: &Inventory, unit: &Unit, changed: &BTreeSet<&str>) -> Vec<String> {
    let sources = unit.wants.keys().filter_map(|index| inventory.sources.get(*index));
    let files =
        sources.map(|source| &source.place.file).chain(unit.bumps.iter().map(|bump| &bump.place.file));
    let real: BTreeSet<&str> = files.map(|file| real_file(inventory, file)).collect();
    real.intersection(changed).map(|file| (*file).to_owned()).collect()
}

#[cfg(test)]
#[path = "planner_tests.rs"]
mod tests;
