//! The plan: units and what they want, judged by the gates, edited, proven, and written down. Pure: the inventory,
//! the files' bytes and the facts around them come in, new bytes come out. Nothing is read or written here.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{self, Change};
use super::edit::Edits;
use super::gate::{self, Hit, Judge};
use super::manual;
use super::options::{Context, Options};
use super::phase::Phase;
use super::plan::{FileChange, ManualStep, Plan, Refusal, RootPlan, Waived};
use super::required_version;
use super::units::{Kind, Unit, Units, real_file};
use super::verify::{self, Meant, Subject};
use super::want::{Want, Wants};
use crate::repo::facts::dir_of;
use crate::repo::inventory::{Inventory, LockMode};
use crate::repo::source::Source;
use crate::repo::text::Text;

/// Plans a phase. Deterministic: the same input makes the same plan.
pub fn plan(inventory: &Inventory, context: &Context<'_>, options: &Options) -> Plan {
    let mut all = Units::new(inventory, context.collected, options);
    let mut manual = Vec::new();
    editable(&mut all, context, &mut manual);
    raisable(&mut all, context, &mut manual);
    let mut waived: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    // What the proof of an earlier round refused, by unit.
    let mut unproven: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
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
        let draft = match Draft::new(&all, context, &units, &live) {
            Ok(draft) => draft,
            Err(hits) => {
                unproven.extend(hits);
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
            unproven.entry(at).or_default().push(hit);
        }
    }
}

/// Tries every wanted change by itself. What can't be made becomes a manual step, and a refusal where it is needed.
fn editable(all: &mut Units<'_>, context: &Context<'_>, manual: &mut Vec<ManualStep>) {
    let inventory = all.inventory;
    let mut wanted = Wants::new();
    for unit in &all.units {
        for (index, want) in &unit.wants {
            wanted.entry(*index).or_default().join(want);
        }
    }
    let mut refused: BTreeMap<usize, String> = BTreeMap::new();
    for (index, want) in &wanted {
        let Some(source) = inventory.sources.get(*index) else { continue };
        let changes = want.changes(source);
        if let Err(reason) = attempt(inventory, context, source, &changes) {
            let roots = all
                .units
                .iter()
                .filter(|unit| matches!(unit.kind, Kind::Root(_)) && unit.wants.contains_key(index))
                .map(|unit| unit.name.clone())
                .collect();
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
    change::plan_changes(Text::new(bytes), source, changes).map(|_| ()).map_err(|refusal| refusal.to_string())
}

fn bytes_of<'a>(context: &Context<'a>, real: &str, file: &str) -> Option<&'a [u8]> {
    context.bytes.get(real).or_else(|| context.bytes.get(file)).map(Vec::as_slice)
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
    let mut edited: BTreeSet<usize> = BTreeSet::new();
    for unit in units.iter_mut() {
        let (Kind::Loose(index) | Kind::Reader(index)) = unit.kind else { continue };
        if let (Kind::Loose(_), Phase::Final) = (unit.kind, options.phase) {
            let hits = loose(all, context, options, index);
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
        LockMode::Dual => hits.extend(gate::soak(context, options, file, source)),
        _ => {}
    }
    if let Some(shared) = inventory.shared_var_files.iter().find(|shared| shared.file == *file) {
        let reason =
            format!("`{file}` is a var-file, too: without the table, a variable of that name is left unset");
        hits.push(Hit::new(&gate::REQUIRED_VARIABLE_LEFT, shared.place.clone(), reason));
    }
    hits
}

/// For each unit the group that stands or falls with it: those that share a source that is to change.
fn groups(all: &Units<'_>, units: &[Unit]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..units.len()).collect();
    let find = |parents: &mut Vec<usize>, mut at: usize| {
        while let Some(up) = parents.get(at).copied().filter(|up| *up != at) {
            let above = parents.get(up).copied().unwrap_or(up);
            if let Some(parent) = parents.get_mut(at) {
                *parent = above;
            }
            at = above;
        }
        at
    };
    let unite = |parents: &mut Vec<usize>, a: usize, b: usize| {
        let (a, b) = (find(parents, a), find(parents, b));
        if let Some(parent) = parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    };
    let unit_of_root: BTreeMap<usize, usize> = units
        .iter()
        .enumerate()
        .filter_map(|(at, unit)| match unit.kind {
            Kind::Root(root) => Some((root, at)),
            _ => None,
        })
        .collect();
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    let mut first_bump: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate() {
        for index in unit.wants.keys() {
            if let Some(other) = first.get(index) {
                unite(&mut parents, at, *other);
                continue;
            }
            first.insert(*index, at);
            for (root, _) in all.users.get(index).into_iter().flatten() {
                if let Some(other) = unit_of_root.get(root) {
                    unite(&mut parents, at, *other);
                }
            }
        }
        for bump in &unit.bumps {
            let key = (real_file(all.inventory, &bump.place.file), bump.place.line);
            let other = *first_bump.entry(key).or_insert(at);
            unite(&mut parents, at, other);
        }
    }
    (0..units.len()).map(|at| find(&mut parents, at)).collect()
}

/// A refusal of one unit is a refusal of its group.
fn spread(units: &mut [Unit], groups: &[usize]) {
    let mut causes: BTreeMap<usize, (String, Hit)> = BTreeMap::new();
    for (unit, group) in units.iter().zip(groups) {
        if let Some(hit) = unit.hits.first() {
            causes.entry(*group).or_insert_with(|| (unit.name.clone(), hit.clone()));
        }
    }
    for (unit, group) in units.iter_mut().zip(groups) {
        let Some((name, hit)) = causes.get(group).filter(|_| unit.hits.is_empty() && !unit.wants.is_empty())
        else {
            continue;
        };
        let reason = format!(
            "it shares a source with `{name}`, which is refused by `{}`: {}",
            hit.gate.id, hit.reason
        );
        unit.hits.push(Hit::new(&gate::SHARED_FILE_REFUSED, unit.place.clone(), reason));
    }
}

/// Units that change: those without a refusal, up to the limit.
fn chosen(inventory: &Inventory, options: &Options, units: &[Unit], groups: &[usize]) -> BTreeSet<usize> {
    let changes = |unit: &Unit| unit.hits.is_empty() && (!unit.wants.is_empty() || !unit.bumps.is_empty());
    let all: BTreeSet<usize> =
        units.iter().enumerate().filter(|(_, unit)| changes(unit)).map(|(at, _)| at).collect();
    let Some(limit) = options.limit else { return all };
    let with_readers: BTreeSet<&str> = inventory
        .readers
        .iter()
        .filter(|reader| reader.dynamodb_table.is_some() || reader.dynamodb_table_unknown.is_some())
        .map(|reader| dir_of(&reader.place.file))
        .collect();
    let mut roots: Vec<(bool, &str, usize, usize)> = Vec::new();
    for (at, (unit, group)) in units.iter().zip(groups).enumerate() {
        if let (Kind::Root(_), true) = (unit.kind, all.contains(&at)) {
            let later = options.readers_first && !with_readers.contains(unit.name.as_str());
            roots.push((later, &unit.name, *group, at));
        }
    }
    roots.sort_unstable();
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (_, _, group, at) in &roots {
        members.entry(*group).or_default().push(*at);
    }
    let mut live: BTreeSet<usize> = BTreeSet::new();
    for (_, _, group, _) in &roots {
        if live.len() >= limit {
            break;
        }
        live.extend(members.get(group).into_iter().flatten().copied());
    }
    let chosen_roots: Vec<usize> = live.iter().copied().collect();
    let near = |unit: &&Unit| {
        chosen_roots.iter().filter_map(|at| units.get(*at)).any(|root| concerns(inventory, unit, root))
    };
    let loose =
        units.iter().enumerate().filter(|(at, unit)| !matches!(unit.kind, Kind::Root(_)) && all.contains(at));
    live.extend(loose.filter(|(_, unit)| near(unit)).map(|(at, _)| at));
    live
}

/// Whether a reader or a loose source goes with a root module: it stands there, or may have to do with its state.
fn concerns(inventory: &Inventory, unit: &Unit, root: &Unit) -> bool {
    if gate::is_below(&unit.name, &root.name) {
        return true;
    }
    let Kind::Root(at) = root.kind else { return false };
    let backends = inventory.roots.get(at).map_or(&[][..], |root| root.backends.as_slice());
    match unit.kind {
        Kind::Reader(source) => {
            inventory.readers.iter().filter(|reader| reader.source == source).any(|reader| {
                backends.iter().any(|backend| {
                    let may = |reads: &Option<String>, writes: Option<&String>| {
                        reads.as_ref().zip(writes).is_none_or(|(reads, writes)| reads == writes)
                    };
                    may(&reader.bucket, backend.bucket.known()) && may(&reader.key, backend.key.known())
                })
            })
        }
        Kind::Loose(source) => inventory
            .sources
            .get(source)
            .is_some_and(|source| source.kind == crate::repo::source::SourceKind::BackendConfigFlag),
        Kind::Root(_) => false,
    }
}

/// New bytes, not yet proven.
struct Draft {
    files: Vec<FileChange>,
    changes: BTreeMap<usize, Vec<Change>>,
}

impl Draft {
    /// The edits of all live units; where a file's edits can't be made together, hits for the units in it.
    fn new(
        all: &Units<'_>,
        context: &Context<'_>,
        units: &[Unit],
        live: &BTreeSet<usize>,
    ) -> Result<Self, BTreeMap<usize, Vec<Hit>>> {
        let inventory = all.inventory;
        let mut wants = Wants::new();
        let mut members: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        let mut bumps = BTreeMap::new();
        for at in live {
            let Some(unit) = units.get(*at) else { continue };
            for (index, want) in &unit.wants {
                wants.entry(*index).or_default().join(want);
                if let Some(source) = inventory.sources.get(*index) {
                    members.entry(real_file(inventory, &source.place.file)).or_default().insert(*at);
                }
            }
            for bump in &unit.bumps {
                let real = real_file(inventory, &bump.place.file);
                members.entry(real).or_default().insert(*at);
                bumps.entry(real).or_insert_with(BTreeMap::new).insert(bump.place.line, bump);
            }
        }
        let mut by_file: BTreeMap<&str, Vec<(&Source, Vec<Change>)>> = BTreeMap::new();
        let mut changes = BTreeMap::new();
        for (index, want) in &wants {
            let Some(source) = inventory.sources.get(*index) else { continue };
            let list = Want::changes(want, source);
            by_file.entry(real_file(inventory, &source.place.file)).or_default().push((source, list.clone()));
            changes.insert(*index, list);
        }
        let mut files = Vec::new();
        let mut failed: BTreeMap<usize, Vec<Hit>> = BTreeMap::new();
        for (file, at) in &members {
            let mut sources = by_file.remove(file).unwrap_or_default();
            sources.sort_by_key(|(source, _)| source.span.start);
            let shown = sources.first().map_or(*file, |(source, _)| source.place.file.as_str());
            let before = bytes_of(context, file, shown).unwrap_or_default();
            let edits =
                edits_of(before, &sources, bumps.get(file).into_iter().flat_map(BTreeMap::values).copied());
            match edits {
                Ok(edits) if edits.is_empty() => {}
                Ok(edits) => {
                    let after = edits.apply(before);
                    let os_path = inventory.files.get(*file).map(|found| found.os_path.clone());
                    let mut roots: Vec<String> = at
                        .iter()
                        .filter_map(|at| units.get(*at))
                        .filter(|unit| matches!(unit.kind, Kind::Root(_)))
                        .map(|unit| unit.name.clone())
                        .collect();
                    roots.sort();
                    files.push(FileChange {
                        file: (*file).to_owned(),
                        os_path: os_path.unwrap_or_else(|| file.into()),
                        roots,
                        edits,
                        before: before.to_vec(),
                        after,
                    });
                }
                Err(reason) => {
                    for at in at {
                        let Some(unit) = units.get(*at) else { continue };
                        let hit = Hit::new(
                            &gate::EDIT_NOT_PROVEN,
                            unit.place.clone(),
                            format!("`{file}`: {reason}"),
                        );
                        failed.entry(*at).or_default().push(hit);
                    }
                }
            }
        }
        if failed.is_empty() { Ok(Self { files, changes }) } else { Err(failed) }
    }

    /// The edited bytes under every path that leads to them.
    fn bytes(&self, inventory: &Inventory) -> BTreeMap<String, Vec<u8>> {
        let mut bytes: BTreeMap<String, Vec<u8>> =
            self.files.iter().map(|file| (file.file.clone(), file.after.clone())).collect();
        for (path, file) in &inventory.files {
            if let Some(after) = file.link_target.as_ref().and_then(|target| bytes.get(target)).cloned() {
                bytes.insert(path.clone(), after);
            }
        }
        bytes
    }
}

fn edits_of<'a>(
    before: &[u8],
    sources: &[(&Source, Vec<Change>)],
    bumps: impl Iterator<Item = &'a super::units::Bump>,
) -> Result<Edits, String> {
    let plans: Vec<(&Source, &[Change])> =
        sources.iter().map(|(source, changes)| (*source, changes.as_slice())).collect();
    let edits = change::plan_file(Text::new(before), &plans).map_err(|refusal| refusal.to_string())?;
    let mut list: Vec<_> = edits.iter().cloned().collect();
    for bump in bumps {
        let raised = required_version::raise(&bump.place.file, before, &bump.place, bump.tool);
        list.extend(raised.ok_or("the constraint can't be raised here")?.iter().cloned());
    }
    Edits::new(before, list).map_err(|conflict| conflict.to_string())
}

/// Why a draft is not proven.
enum Unproven {
    /// These units' edits do not come to what was meant.
    Units(BTreeMap<usize, Hit>),
    /// Something differs, and no single unit's edit explains it.
    Unexplained(String),
}

/// Halves what is to change until the groups are found without which the rest can be proven.
fn isolate(
    all: &Units<'_>,
    context: &Context<'_>,
    options: &Options,
    units: &[Unit],
    live: &BTreeSet<usize>,
    groups: &[usize],
    reason: &str,
) -> BTreeMap<usize, Hit> {
    let mut by_group: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in live {
        by_group.entry(groups.get(*at).copied().unwrap_or(*at)).or_default().push(*at);
    }
    let everything: Vec<Vec<usize>> = by_group.into_values().collect();
    let mut failed = BTreeMap::new();
    let mut stack = vec![everything.clone()];
    let blame = |failed: &mut BTreeMap<usize, Hit>, groups: &[Vec<usize>]| {
        for at in groups.iter().flatten() {
            if let Some(unit) = units.get(*at) {
                failed.insert(*at, Hit::new(&gate::EDIT_NOT_PROVEN, unit.place.clone(), reason));
            }
        }
    };
    while let Some(part) = stack.pop() {
        let live: BTreeSet<usize> = part.iter().flatten().copied().collect();
        let draft = Draft::new(all, context, units, &live);
        let holds = draft.is_ok_and(|draft| prove(all, context, options, units, &live, &draft).is_ok());
        if holds {
            continue;
        }
        match part.split_at_checked(part.len() / 2) {
            Some((left, right)) if !left.is_empty() => stack.extend([left.to_vec(), right.to_vec()]),
            _ => blame(&mut failed, &part),
        }
    }
    if failed.is_empty() {
        // Each half holds alone, and not together: nothing is written that is not proven.
        blame(&mut failed, &everything);
    }
    failed
}

/// Reads the edited bytes and compares. What fails comes back by unit.
fn prove(
    all: &Units<'_>,
    context: &Context<'_>,
    options: &Options,
    units: &[Unit],
    live: &BTreeSet<usize>,
    draft: &Draft,
) -> Result<(), Unproven> {
    let inventory = all.inventory;
    if live.is_empty() {
        return Ok(());
    }
    let mut meant = Meant { table: options.rollback_table.clone(), ..Meant::default() };
    for at in live {
        let Some(unit) = units.get(*at) else { continue };
        if let Kind::Root(root) = unit.kind {
            meant.modes.extend(unit.modes.iter().map(|(nth, mode)| ((root, *nth), *mode)));
            if !unit.bumps.is_empty() {
                meant.raised.insert(root);
            }
        }
    }
    for (index, canon) in all.canon.iter().enumerate() {
        if let Some(changes) = draft.changes.get(canon) {
            meant.changes.insert(index, changes.clone());
        }
    }
    let after = context.collected.with_bytes(&draft.bytes(inventory)).inventory();
    let mut failed = BTreeMap::new();
    let mut unexplained = None;
    let mut blame = |subject: Option<Subject>, file: Option<&str>, reason: &str| {
        let blamed: Vec<usize> = live
            .iter()
            .copied()
            .filter(|at| units.get(*at).is_some_and(|unit| is_about(all, unit, subject, file)))
            .collect();
        let gate = match subject {
            Some(Subject::Version(_)) => &gate::VERSION_UNPROVEN,
            _ => &gate::EDIT_NOT_PROVEN,
        };
        if blamed.is_empty() {
            unexplained.get_or_insert_with(|| reason.to_owned());
        }
        for at in blamed {
            if let Some(unit) = units.get(at) {
                failed.entry(at).or_insert_with(|| Hit::new(gate, unit.place.clone(), reason));
            }
        }
    };
    for failure in verify::failures(inventory, &after, &meant) {
        blame(Some(failure.subject), None, &failure.reason);
    }
    for file in &draft.files {
        if !verify::keeps_the_rest(&file.before, &file.after, &file.edits) {
            blame(None, Some(&file.file), "bytes outside of the edits would change");
        }
    }
    match unexplained {
        _ if !failed.is_empty() => Err(Unproven::Units(failed)),
        Some(reason) => Err(Unproven::Unexplained(reason)),
        None => Ok(()),
    }
}

/// Whether a failure is about a unit: itself, a source that it changes, or a file that it changes.
fn is_about(all: &Units<'_>, unit: &Unit, subject: Option<Subject>, file: Option<&str>) -> bool {
    let touches =
        |wanted: &str| {
            unit.wants.keys().filter_map(|index| all.inventory.sources.get(*index)).any(|source| {
                real_file(all.inventory, &source.place.file) == real_file(all.inventory, wanted)
            }) || unit.bumps.iter().any(|bump| bump.place.file == wanted)
        };
    match subject {
        Some(Subject::Root(root) | Subject::Version(root)) => {
            let uses = |index: &usize| {
                all.users.get(index).is_some_and(|users| users.iter().any(|(user, _)| *user == root))
            };
            unit.kind == Kind::Root(root) || unit.wants.keys().any(uses)
        }
        Some(Subject::Source(index)) => {
            let canon = all.canon.get(index).copied().unwrap_or(index);
            unit.wants.contains_key(&canon)
                || all.inventory.sources.get(index).is_some_and(|source| touches(&source.place.file))
        }
        Some(Subject::Whole) => false,
        None => file.is_some_and(touches),
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
