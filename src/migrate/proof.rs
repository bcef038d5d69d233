//! Proof of a draft: its bytes are read and merged again, and what is not as it was meant comes back by unit. The
//! comparison itself is [`super::verify`]'s.

use std::collections::{BTreeMap, BTreeSet};

use super::draft::Draft;
use super::gate::{self, Hit};
use super::options::{Context, Options};
use super::units::{Kind, Unit, Units, real_file};
use super::verify::{self, Meant, Subject};

/// Why a draft is not proven.
pub enum Unproven {
    /// These units' edits do not come to what was meant.
    Units(BTreeMap<usize, Hit>),
    /// Something differs, and no single unit's edit explains it.
    Unexplained(String),
}

/// Halves what is to change until the groups are found without which the rest can be proven.
pub fn isolate(
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
pub fn prove(
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
