//! Proof of a plan: what was read before against what is read from the edited bytes. Everything that was meant must
//! be there, and nothing else may differ. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Literal};
use super::edit::Edits;
use super::want::{LOCKFILE, TABLE};
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode, RootModule, VersionVerdict};
use crate::repo::setting::{Setting, Value};
use crate::repo::source::{Source, SourceKind};

/// What a plan means to change.
#[derive(Debug, Default)]
pub struct Meant {
    /// The mode of backends that change, by root module and backend.
    pub modes: BTreeMap<(usize, usize), LockMode>,
    /// Changes by source, every link to the same file included.
    pub changes: BTreeMap<usize, Vec<Change>>,
    /// Root modules whose `required_version` is raised.
    pub raised: BTreeSet<usize>,
    /// The table that a rollback gives.
    pub table: Option<String>,
}

/// What is not as it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// About what.
    pub subject: Subject,
    /// What differs.
    pub reason: String,
}

/// What a failure is about, by the indices of the inventory before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A root module.
    Root(usize),
    /// A source.
    Source(usize),
    /// A root module whose raised constraint still admits other versions.
    Version(usize),
    /// The whole: counts differ.
    Whole,
}

/// Compares the inventories. No failure means proven.
pub fn failures(before: &Inventory, after: &Inventory, meant: &Meant) -> Vec<Failure> {
    let mut failures = Vec::new();
    sources(before, after, meant, &mut failures);
    roots(before, after, meant, &mut failures);
    readers(before, after, meant, &mut failures);
    problems(before, after, &mut failures);
    failures
}

/// Whether bytes outside of the edits' spans are the same.
pub fn keeps_the_rest(before: &[u8], after: &[u8], edits: &Edits) -> bool {
    let (mut old, mut new) = (0, 0);
    for edit in edits.iter() {
        let Some(kept) = edit.span.start.checked_sub(old) else { return false };
        if before.get(old..edit.span.start) != after.get(new..new + kept) {
            return false;
        }
        new += kept;
        if after.get(new..new + edit.text.len()) != Some(edit.text.as_slice()) {
            return false;
        }
        new += edit.text.len();
        old = edit.span.end;
    }
    before.get(old..).is_some() && before.get(old..) == after.get(new..)
}

fn fail(failures: &mut Vec<Failure>, subject: Subject, reason: impl Into<String>) {
    failures.push(Failure { subject, reason: reason.into() });
}

/// A flag whose only settings are about locks may come and go.
fn is_lock_flag(source: &Source) -> bool {
    source.kind == SourceKind::BackendConfigFlag
        && source.settings.iter().all(|set| set.name == LOCKFILE || TABLE.contains(&set.name.as_str()))
}

type ByFile<'a> = BTreeMap<&'a str, Vec<(usize, &'a Source)>>;

fn by_file(inventory: &Inventory, flags: bool) -> ByFile<'_> {
    let mut files = ByFile::new();
    for (index, source) in inventory.sources.iter().enumerate().filter(|(_, s)| is_lock_flag(s) == flags) {
        files.entry(source.place.file.as_str()).or_default().push((index, source));
    }
    files
}

fn sources(before: &Inventory, after: &Inventory, meant: &Meant, failures: &mut Vec<Failure>) {
    let (old, new) = (by_file(before, false), by_file(after, false));
    if old.len() != new.len() {
        fail(failures, Subject::Whole, "a file with settings came or went");
    }
    for (file, old) in &old {
        let new = new.get(file).map_or(&[][..], Vec::as_slice);
        if old.len() != new.len() {
            for (index, _) in old {
                fail(failures, Subject::Source(*index), format!("`{file}` no longer holds as many sources"));
            }
            continue;
        }
        for ((index, old), (_, new)) in old.iter().zip(new) {
            let changes = meant.changes.get(index).map_or(&[][..], Vec::as_slice);
            if let Some(reason) = differs(old, new, changes) {
                fail(failures, Subject::Source(*index), reason);
            }
        }
    }
    flags(before, after, meant, failures);
}

/// Flags about locks: untouched files keep theirs; in touched ones no more come, and no more go, than was meant.
fn flags(before: &Inventory, after: &Inventory, meant: &Meant, failures: &mut Vec<Failure>) {
    let (old, new) = (by_file(before, true), by_file(after, true));
    // How many flags may come and go by file. One that is set where it stands is neither.
    let mut allowed: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (index, changes) in &meant.changes {
        let flag = before.sources.get(*index).filter(|flag| flag.kind == SourceKind::BackendConfigFlag);
        let Some(flag) = flag else { continue };
        let (come, go) = allowed.entry(flag.place.file.as_str()).or_default();
        for change in changes {
            match change {
                Change::Set { .. } => *come += 1,
                Change::Remove { .. } => *go += 1,
            }
        }
    }
    let settings = |sources: Option<&Vec<(usize, &Source)>>| -> Vec<(String, Value)> {
        let sources = sources.map_or(&[][..], Vec::as_slice);
        let all = sources.iter().flat_map(|(_, source)| &source.settings);
        all.map(|set| (set.name.clone(), set.value.clone())).collect()
    };
    for file in old.keys().chain(new.keys()).copied().collect::<BTreeSet<&str>>() {
        let (was, is) = (settings(old.get(file)), settings(new.get(file)));
        let holds = match allowed.get(file) {
            Some((come, go)) => is.len() <= was.len() + come && is.len() + go >= was.len(),
            None => was == is,
        };
        if holds {
            continue;
        }
        let reason = format!("other flags of `{file}` would change");
        match old.get(file) {
            Some(flags) => {
                flags.iter().for_each(|(index, _)| fail(failures, Subject::Source(*index), reason.clone()));
            }
            None => fail(failures, Subject::Whole, reason),
        }
    }
}

/// What differs between a source and the same one afterwards, beyond the changes that were meant.
fn differs(old: &Source, new: &Source, changes: &[Change]) -> Option<String> {
    let place = &old.place;
    if (old.kind, old.syntax, &old.label) != (new.kind, new.syntax, &new.label) {
        return Some(format!("{place} would be read as something else"));
    }
    let meant = |name: &str| {
        changes.iter().any(|change| match change {
            Change::Set { name: set, .. } => set == name,
            // What it holds goes with it, and the object around it may.
            Change::Remove { name: gone } => {
                let below = |inner: &str, outer: &str| {
                    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
                };
                gone == name || below(gone, name) || below(name, gone)
            }
        })
    };
    let rest = |source: &'_ Source| -> Vec<(String, Value, Vec<String>)> {
        let kept = source.settings.iter().filter(|set| !meant(&set.name));
        kept.map(|set: &Setting| (set.name.clone(), set.value.clone(), set.via.clone())).collect()
    };
    if rest(old) != rest(new) {
        return Some(format!("other settings of {place} would change"));
    }
    // A flag gets its argument in a word of its own.
    if old.kind == SourceKind::BackendConfigFlag {
        return None;
    }
    changes.iter().find_map(|change| match change {
        Change::Set { name, value, .. } => {
            let stands = new.setting(name).is_some_and(|set| value.is(&set.value));
            (!stands).then(|| format!("`{name}` would not be {} at {place}", shown(value)))
        }
        Change::Remove { name } => {
            new.setting(name).map(|_| format!("`{name}` would still stand at {place}"))
        }
    })
}

fn shown(value: &Literal) -> String {
    match value {
        Literal::Bool(value) => value.to_string(),
        Literal::Text(text) => format!("`{text}`"),
    }
}

/// What must be equal of a backend, and what it comes to. Sorted by it, the same backends stand side by side: a
/// choice of backend-config that names a lock setting may be called otherwise afterwards.
type Identity = (Vec<String>, Vec<String>, LockMode, Option<String>);

fn identity(backend: &EffectiveBackend, mode: LockMode, table: &Knowable<String>) -> Identity {
    let known = |value: &Knowable<String>| match value {
        Knowable::Absent => "-".to_owned(),
        Knowable::Known(value) => format!("={value}"),
        Knowable::Unknown(why) => format!("?{why}"),
    };
    let parts =
        [&backend.bucket, &backend.key, &backend.region, &backend.workspace_key_prefix, &backend.endpoint];
    let about_locks = |label: &&String| {
        let name = label.split('=').next().unwrap_or(label);
        label.contains('=') && (name == LOCKFILE || TABLE.contains(&name))
    };
    let choice = backend.backend_config.iter().filter(|label| !about_locks(label)).cloned().collect();
    let table = match table {
        Knowable::Absent => None,
        table => Some(known(table)),
    };
    (parts.map(known).to_vec(), choice, mode, table)
}

fn roots(before: &Inventory, after: &Inventory, meant: &Meant, failures: &mut Vec<Failure>) {
    let new: BTreeMap<&str, &RootModule> =
        after.roots.iter().map(|root| (root.path.as_str(), root)).collect();
    if before.roots.len() != after.roots.len() || leftovers(before) != leftovers(after) {
        fail(failures, Subject::Whole, "root modules, or sources without one, would come or go");
    }
    for (index, old) in before.roots.iter().enumerate() {
        let Some(new) = new.get(old.path.as_str()) else {
            fail(failures, Subject::Root(index), format!("`{}` would be no root module any more", old.path));
            continue;
        };
        let mut wanted: Vec<Identity> = Vec::new();
        for (at, backend) in old.backends.iter().enumerate() {
            let mode = meant.modes.get(&(index, at)).copied();
            let table = match mode {
                Some(LockMode::Lockfile) => Knowable::Absent,
                Some(LockMode::Dual) if backend.mode == LockMode::Lockfile => {
                    meant.table.clone().map_or(Knowable::Absent, Knowable::Known)
                }
                _ => backend.dynamodb_table.clone(),
            };
            wanted.push(identity(backend, mode.unwrap_or(backend.mode), &table));
        }
        let mut found: Vec<Identity> =
            new.backends.iter().map(|b| identity(b, b.mode, &b.dynamodb_table)).collect();
        wanted.sort();
        found.sort();
        if wanted != found {
            fail(failures, Subject::Root(index), mismatch(old, &wanted, &found));
        }
        if old.kind != new.kind || old.called_by != new.called_by || old.link_of != new.link_of {
            fail(
                failures,
                Subject::Root(index),
                format!("`{}` would be another kind of root module", old.path),
            );
        }
        if meant.raised.contains(&index) {
            if new.versions.verdict != VersionVerdict::Can {
                let reason = format!("with the constraint raised, {}", new.versions.reason);
                fail(failures, Subject::Version(index), reason);
            }
        } else if old.versions.verdict != new.versions.verdict {
            let reason = format!("other versions would be admitted in `{}`", old.path);
            fail(failures, Subject::Root(index), reason);
        }
    }
}

fn mismatch(root: &RootModule, wanted: &[Identity], found: &[Identity]) -> String {
    let modes = |all: &[Identity]| {
        let modes: Vec<&str> = all.iter().map(|(_, _, mode, _)| mode.as_str()).collect();
        modes.join(", ")
    };
    if modes(wanted) == modes(found) {
        return format!("`{}` would use another backend than before", root.path);
    }
    format!("`{}` would be {} where {} is meant", root.path, modes(found), modes(wanted))
}

/// How many sources without a root module there are, flags about locks left out.
fn leftovers(inventory: &Inventory) -> usize {
    let flag = |index: usize| inventory.sources.get(index).is_some_and(is_lock_flag);
    inventory.unattributed.iter().filter(|left| !flag(left.source)).count()
}

fn readers(before: &Inventory, after: &Inventory, meant: &Meant, failures: &mut Vec<Failure>) {
    if before.readers.len() != after.readers.len() {
        fail(failures, Subject::Whole, "a remote-state reader would come or go");
        return;
    }
    for (old, new) in before.readers.iter().zip(&after.readers) {
        let table = |reader: &crate::repo::inventory::Reader| {
            (reader.dynamodb_table.clone(), reader.dynamodb_table_unknown.clone())
        };
        let wanted = if meant.changes.contains_key(&old.source) { (None, None) } else { table(old) };
        let same = (&old.name, &old.bucket, &old.key) == (&new.name, &new.bucket, &new.key);
        if !same || table(new) != wanted {
            let reason = format!("the reader at {} would read otherwise", old.place);
            fail(failures, Subject::Source(old.source), reason);
        }
    }
}

fn problems(before: &Inventory, after: &Inventory, failures: &mut Vec<Failure>) {
    let counts = |inventory: &Inventory| {
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for problem in &inventory.problems {
            *counts.entry((problem.place.file.clone(), problem.kind.id().to_owned())).or_default() += 1;
        }
        counts
    };
    let old = counts(before);
    for ((file, kind), count) in counts(after) {
        if old.get(&(file.clone(), kind.clone())).is_none_or(|before| *before < count) {
            let reason = format!("`{file}` would have a new problem: {kind}");
            let of_file = |source: &Source| source.place.file == file;
            let subject = before.sources.iter().position(of_file).map_or(Subject::Whole, Subject::Source);
            fail(failures, subject, reason);
        }
    }
}
