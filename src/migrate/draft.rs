//! New bytes for the files of a plan: the wants of all its units, edited file by file. Whether the result is what was
//! meant is asked in [`super::proof`].

use std::collections::{BTreeMap, BTreeSet};

use super::change::Change;
use super::edit::Edits;
use super::gate::{self, Hit};
use super::options::Context;
use super::plan::FileChange;
use super::required_version;
use super::source_edits;
use super::units::{Bump, Kind, Unit, Units, real_file};
use super::want::{Want, Wants};
use crate::repo::inventory::Inventory;
use crate::repo::source::Source;
use crate::repo::text::Text;

/// New bytes, not yet proven.
pub struct Draft {
    /// Files that change.
    pub files: Vec<FileChange>,
    /// What is done to which source.
    pub changes: BTreeMap<usize, Vec<Change>>,
}

impl Draft {
    /// The edits of all live units; where a file's edits can't be made together, hits for the units in it.
    pub fn new(
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
    pub fn bytes(&self, inventory: &Inventory) -> BTreeMap<String, Vec<u8>> {
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
    bumps: impl Iterator<Item = &'a Bump>,
) -> Result<Edits, String> {
    let plans: Vec<(&Source, &[Change])> =
        sources.iter().map(|(source, changes)| (*source, changes.as_slice())).collect();
    let edits = source_edits::plan_file(Text::new(before), &plans).map_err(|refusal| refusal.to_string())?;
    let mut list: Vec<_> = edits.iter().cloned().collect();
    for bump in bumps {
        let raised = required_version::raise(&bump.place.file, before, &bump.place, bump.tool);
        list.extend(raised.ok_or("the constraint can't be raised here")?.iter().cloned());
    }
    Edits::new(before, list).map_err(|conflict| conflict.to_string())
}

/// A file's bytes, under its own name or under that of a link to it.
pub fn bytes_of<'a>(context: &Context<'a>, real: &str, file: &str) -> Option<&'a [u8]> {
    context.bytes.get(real).or_else(|| context.bytes.get(file)).map(Vec::as_slice)
}
