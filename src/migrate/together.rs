//! Which units stand or fall together, and which of them are taken. Nothing is edited or judged here.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::{self, Hit};
use super::judge::is_below;
use super::options::Options;
use super::units::{Kind, Unit, Units, real_file};
use crate::repo::facts::dir_of;
use crate::repo::inventory::Inventory;
use crate::repo::source::SourceKind;

/// For each unit the group that stands or falls with it: those that share a source that is to change.
pub fn groups(all: &Units<'_>, units: &[Unit]) -> Vec<usize> {
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
        for (index, _) in unit.wants.iter().filter(|(_, want)| unit.is_tied_by(want)) {
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
pub fn spread(units: &mut [Unit], groups: &[usize]) {
    let mut causes: BTreeMap<usize, (String, Hit)> = BTreeMap::new();
    for (unit, group) in units.iter().zip(groups) {
        if let Some(hit) = unit.hits.first() {
            causes.entry(*group).or_insert_with(|| (unit.name.clone(), hit.clone()));
        }
    }
    for (unit, group) in units.iter_mut().zip(groups) {
        let needs = unit.wants.values().any(|want| want.needed);
        let Some((name, hit)) = causes.get(group).filter(|_| unit.hits.is_empty() && needs) else {
            continue;
        };
        let reason = format!(
            "it shares a source with `{name}`, which is refused by `{}`: {}",
            hit.gate.id, hit.reason
        );
        unit.hits.push(Hit::new(&gate::SHARED_FILE_REFUSED, unit.place.clone(), reason));
    }
}

/// Takes from the units that change what they can do without and what does not change with them: a source that
/// somebody else needs as it is, for now.
pub fn leave_alone(all: &Units<'_>, units: &mut [Unit], live: &BTreeSet<usize>) {
    let mut root_lives: BTreeSet<usize> = BTreeSet::new();
    let mut held: BTreeSet<usize> = BTreeSet::new();
    for (at, unit) in units.iter().enumerate() {
        match unit.kind {
            Kind::Root(root) if live.contains(&at) => {
                root_lives.insert(root);
            }
            _ if live.contains(&at) => {}
            _ => held
                .extend(unit.wants.iter().filter(|(_, want)| unit.is_tied_by(want)).map(|(index, _)| *index)),
        }
    }
    for at in live {
        let Some(unit) = units.get_mut(*at) else { continue };
        unit.wants.retain(|index, want| {
            let waits = || all.reached(*index, want).any(|(root, _)| !root_lives.contains(&root));
            want.needed || !held.contains(index) && !waits()
        });
    }
}

/// Units that change: those without a refusal, up to the limit.
pub fn chosen(inventory: &Inventory, options: &Options, units: &[Unit], groups: &[usize]) -> BTreeSet<usize> {
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
    if is_below(&unit.name, &root.name) {
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
        Kind::Loose(source) => {
            inventory.sources.get(source).is_some_and(|source| source.kind == SourceKind::BackendConfigFlag)
        }
        Kind::Root(_) => false,
    }
}
