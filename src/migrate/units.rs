//! Units of a plan: a root module, a source that belongs to none, or a reader, each with what it wants of which
//! source. Selection by path, bucket and table happens here; gates and edits do not.

use std::collections::{BTreeMap, BTreeSet};

use super::gate::{self, Hit};
use super::judge::place_of_root;
use super::options::Options;
use super::phase::Phase;
use super::want::{self, LOCKS, Want, Wants};
use crate::repo::facts::{Tool, dir_of};
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode, VersionVerdict};
use crate::repo::scan::Collected;
use crate::repo::source::{Source, SourceKind};
use crate::repo::text::Place;

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A root module, by its index.
    Root(usize),
    /// A source without a root module, by the source's index.
    Loose(usize),
    /// A reader, by its source's index.
    Reader(usize),
}

/// A `required_version` to raise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bump {
    /// Where it stands.
    pub place: Place,
    /// For which program.
    pub tool: Tool,
}

/// What stands or falls as one.
#[derive(Debug, Clone)]
pub struct Unit {
    /// What it is.
    pub kind: Kind,
    /// What refusals call it: the root module's path, or the file's directory.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// What it wants of sources, by their canonical index.
    pub wants: Wants,
    /// Constraints that it wants raised.
    pub bumps: Vec<Bump>,
    /// Its backends that were asked for.
    pub selected: Vec<usize>,
    /// Those that change, and to which mode.
    pub modes: BTreeMap<usize, LockMode>,
    /// Gates that it does not meet.
    pub hits: Vec<Hit>,
}

impl Unit {
    /// Whether it can't do without some change.
    pub fn needs_change(&self) -> bool {
        !self.modes.is_empty() || !self.bumps.is_empty() || self.wants.values().any(|want| want.needed)
    }

    /// Whether a want ties it to whoever shares the source. One that keeps a hidden source in step does not, unless
    /// something here could not be read: the source may count, then.
    pub fn is_tied_by(&self, want: &Want) -> bool {
        let unsure = |hit: &Hit| {
            [&gate::UNREAD, &gate::NOT_INITIALISABLE, &gate::UNRESOLVED_SETTING].contains(&hit.gate)
        };
        want.needed || self.hits.iter().any(unsure)
    }
}

/// All units, and how sources relate to files and backends.
pub struct Units<'a> {
    /// What was scanned.
    pub inventory: &'a Inventory,
    /// Where to.
    pub phase: Phase,
    /// In the order of the inventory: root modules, loose sources, readers.
    pub units: Vec<Unit>,
    /// For each source the one that is edited for it: links to one file share theirs.
    pub canon: Vec<usize>,
    /// The mode that each loose source makes by itself, or with the other flags of its command.
    pub own_modes: BTreeMap<usize, LockMode>,
    /// Backends that use a source, by canonical index; those left out for which it is hidden, unless they are made from it.
    pub users: BTreeMap<usize, Vec<(usize, usize)>>,
}

/// The file that is edited for a file: where its links lead.
pub fn real_file<'a>(inventory: &'a Inventory, file: &'a str) -> &'a str {
    let target = inventory.files.get(file).and_then(|found| found.link_target.as_deref());
    target.unwrap_or(file)
}

impl<'a> Units<'a> {
    /// Everything that is asked for.
    pub fn new(inventory: &'a Inventory, collected: &Collected, options: &Options) -> Self {
        let canon = canonical(inventory);
        let mut users: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (root, at) in inventory.roots.iter().zip(0..) {
            for (backend, nth) in root.backends.iter().zip(0..) {
                let read = want::reads_another(backend);
                for source in backend.sources.iter().filter(|source| !source.shadowed || read) {
                    let Some(canon) = canon.get(source.source) else { continue };
                    users.entry(*canon).or_default().push((at, nth));
                }
            }
        }
        let own_modes = own_modes(inventory, collected);
        let mut all = Self { inventory, phase: options.phase, units: Vec::new(), canon, own_modes, users };
        all.roots(options);
        all.loose(options);
        all.readers(options);
        all
    }

    fn canon(&self, index: usize) -> usize {
        self.canon.get(index).copied().unwrap_or(index)
    }

    fn roots(&mut self, options: &Options) {
        // A directory and the links to it are one.
        let base = |at: usize| {
            let root = self.inventory.roots.get(at)?;
            Some(root.link_of.as_deref().unwrap_or(&root.path))
        };
        let named: BTreeSet<&str> = self
            .inventory
            .roots
            .iter()
            .enumerate()
            .filter(|(_, root)| is_selected_path(options, &root.path))
            .filter_map(|(at, _)| base(at))
            .collect();
        let mut modes: BTreeMap<(usize, usize), LockMode> = BTreeMap::new();
        let mut selected: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, root) in self.inventory.roots.iter().enumerate() {
            if !base(at).is_some_and(|base| named.contains(base)) {
                continue;
            }
            for (nth, backend) in root.backends.iter().enumerate() {
                if !is_selected_backend(options, backend) {
                    continue;
                }
                selected.entry(at).or_default().push(nth);
                if let Some(mode) = want::target(backend, options) {
                    modes.insert((at, nth), mode);
                }
            }
        }
        let lockfile = Want { lockfile: Some(true), ..Want::default() };
        let in_step = |index: usize| self.bystander(&modes, index, &lockfile).is_none();
        let mut units = Vec::new();
        for (at, selected) in selected {
            let Some(root) = self.inventory.roots.get(at) else { continue };
            let mut wants = Wants::new();
            for backend in selected.iter().filter_map(|nth| root.backends.get(*nth)) {
                want::of_backend(self.inventory, backend, options, &in_step, &mut wants);
            }
            let mut merged = Wants::new();
            for (index, want) in wants {
                merged.entry(self.canon(index)).or_default().join(&want);
            }
            let own = modes.range((at, 0)..(at + 1, 0)).map(|((_, nth), mode)| (*nth, *mode)).collect();
            let mut unit = Unit {
                kind: Kind::Root(at),
                name: root.path.clone(),
                place: place_of_root(root),
                wants: merged,
                bumps: Vec::new(),
                selected,
                modes: own,
                hits: Vec::new(),
            };
            let gets_lockfile = options.phase != Phase::Rollback && !unit.modes.is_empty();
            if options.bump_required_version && gets_lockfile {
                unit.bumps = bumps(self.inventory, at);
            }
            units.push(unit);
        }
        for unit in &mut units {
            let mut found = None;
            // What reaches somebody who is to stay is refused where it is needed, and left undone where it is not.
            unit.wants.retain(|index, want| {
                let Some(user) = self.bystander(&modes, *index, want) else { return true };
                if want.needed && found.is_none() {
                    found = Some((*index, user));
                }
                want.needed
            });
            if let Some((index, (root, nth))) = found {
                unit.hits.push(self.shared(index, root, nth));
            }
        }
        self.units = units;
    }

    /// A backend that a change of this source would reach, and that is to stay as it is.
    fn bystander(
        &self,
        modes: &BTreeMap<(usize, usize), LockMode>,
        index: usize,
        want: &Want,
    ) -> Option<(usize, usize)> {
        self.reached(index, want).find(|user| !modes.contains_key(user))
    }

    /// Backends, by root module and number, that a change of this source would reach.
    pub fn reached<'s>(&'s self, index: usize, want: &'s Want) -> impl Iterator<Item = (usize, usize)> + 's {
        let users = self.users.get(&self.canon(index)).into_iter().flatten().copied();
        users.filter(move |(root, nth)| {
            let backend = self.inventory.roots.get(*root).and_then(|root| root.backends.get(*nth));
            backend.is_some_and(|backend| {
                let own = backend.sources.iter().find(|at| self.canon(at.source) == self.canon(index));
                own.is_some_and(|at| {
                    at.shadowed && want::reads_another(backend)
                        || want::reaches(self.inventory, backend, at.source, want)
                })
            })
        })
    }

    fn shared(&self, index: usize, root: usize, nth: usize) -> Hit {
        let place = self.inventory.sources.get(index).map(|source| source.place.clone());
        let place = place.unwrap_or(Place { file: String::new(), line: 1, column: 1 });
        let root = self.inventory.roots.get(root);
        let path = root.map_or("", |root| root.path.as_str());
        let backend = root.and_then(|root| root.backends.get(nth));
        let choice = match backend.map(|backend| backend.backend_config.as_slice()) {
            None | Some([]) => String::new(),
            Some(choice) => format!(" with `{}`", choice.join("`, `")),
        };
        let mode = backend.map_or("", |backend| backend.mode.as_str());
        let help = match backend.map(|backend| backend.mode) {
            Some(LockMode::None) => "give it a lock, too (--include-unlocked), or split the source",
            _ => "plan them together, or split the source",
        };
        let reason =
            format!("this source also counts for `{path}`{choice} ({mode}), which is not to change; {help}");
        Hit::new(&gate::SHARED_FILE_REFUSED, place, reason)
    }

    fn loose(&mut self, options: &Options) {
        for left in &self.inventory.unattributed {
            let Some(source) = self.inventory.sources.get(left.source) else { continue };
            let dir = dir_of(&source.place.file);
            let counts = !matches!(source.kind, SourceKind::Backend | SourceKind::BackendOverride);
            if !counts || !is_selected_source(options, source, &left.bucket, &left.dynamodb_table) {
                continue;
            }
            let mode = self.own_modes.get(&left.source).copied().unwrap_or(LockMode::Unknown);
            let Some(want) = want::of_source(source, mode, options) else { continue };
            self.push(Kind::Loose(left.source), dir, source.place.clone(), left.source, want);
        }
    }

    fn readers(&mut self, options: &Options) {
        if options.phase != Phase::Final {
            return;
        }
        for reader in &self.inventory.readers {
            let Some(source) = self.inventory.sources.get(reader.source) else { continue };
            let dir = dir_of(&source.place.file);
            if !is_selected_source(options, source, &reader.bucket, &reader.dynamodb_table) {
                continue;
            }
            let Some(want) = want::of_reader(source) else { continue };
            self.push(Kind::Reader(reader.source), dir, source.place.clone(), reader.source, want);
        }
    }

    fn push(&mut self, kind: Kind, name: &str, place: Place, index: usize, want: Want) {
        let index = self.canon(index);
        self.units.push(Unit {
            kind,
            name: name.to_owned(),
            place,
            wants: Wants::from([(index, want)]),
            bumps: Vec::new(),
            selected: Vec::new(),
            modes: BTreeMap::new(),
            hits: Vec::new(),
        });
    }
}

/// The mode of each source without a root module: by itself, a flag with the other flags of its command.
fn own_modes(inventory: &Inventory, collected: &Collected) -> BTreeMap<usize, LockMode> {
    let mut commands: BTreeMap<(&str, usize), (bool, Option<bool>)> = BTreeMap::new();
    for call in collected.calls() {
        let table = call.config_flags.iter().any(want::names_table);
        let mut lockfile = Some(false);
        for on in call.config_flags.iter().map(want::sets_lockfile).filter(|on| *on != Some(false)) {
            lockfile = on;
        }
        for flag in &call.config_flags {
            commands.insert((flag.place.file.as_str(), flag.span.start), (table, lockfile));
        }
    }
    let mode = |index: usize| {
        let source = inventory.sources.get(index)?;
        let command = commands
            .get(&(source.place.file.as_str(), source.span.start))
            .filter(|_| source.kind == SourceKind::BackendConfigFlag);
        Some(match command {
            Some((table, lockfile)) => want::mode_of(*table, *lockfile),
            None => want::own_mode(source),
        })
    };
    inventory.unattributed.iter().filter_map(|left| Some((left.source, mode(left.source)?))).collect()
}

/// For each source the first one at the same place of the same file, the file's own before those of links to it.
fn canonical(inventory: &Inventory) -> Vec<usize> {
    let mut first: BTreeMap<(&str, usize, SourceKind), (bool, usize)> = BTreeMap::new();
    let key = |index: usize| {
        let source = inventory.sources.get(index)?;
        let file = source.place.file.as_str();
        let real = real_file(inventory, file);
        Some(((real, source.span.start, source.kind), real != file))
    };
    for index in 0..inventory.sources.len() {
        if let Some((key, is_link)) = key(index) {
            let best = first.entry(key).or_insert((is_link, index));
            *best = (*best).min((is_link, index));
        }
    }
    let found = |index: usize| key(index).and_then(|(key, _)| first.get(&key)).map_or(index, |(_, at)| *at);
    (0..inventory.sources.len()).map(found).collect()
}

/// Constraints of a root module that admit older versions.
fn bumps(inventory: &Inventory, root: usize) -> Vec<Bump> {
    let Some(root) = inventory.roots.get(root) else { return Vec::new() };
    if root.versions.verdict != VersionVerdict::AdmitsOlder {
        return Vec::new();
    }
    let admits = root.versions.evidence.iter().filter(|evidence| {
        evidence.origin == "required_version" && evidence.verdict == VersionVerdict::AdmitsOlder
    });
    let mut bumps: Vec<Bump> =
        admits.map(|evidence| Bump { place: evidence.place.clone(), tool: evidence.tool }).collect();
    bumps.sort();
    bumps.dedup();
    bumps
}

/// Whether a path, or a directory around it, was asked for.
fn is_selected_path(options: &Options, path: &str) -> bool {
    let mut at = path;
    loop {
        if options.paths.is_empty() || options.paths.iter().any(|glob| glob.is_match(at)) {
            return true;
        }
        let parent = dir_of(at);
        if parent == at || parent == "." {
            return false;
        }
        at = parent;
    }
}

/// Whether the options leave anything to plan: a root module, or a source that belongs to none.
pub(super) fn selects_anything(inventory: &Inventory, options: &Options) -> bool {
    let by_path_alone = options.buckets.is_empty() && options.tables.is_empty();
    if by_path_alone && options.paths.is_empty() {
        return true;
    }
    let mut roots = inventory.roots.iter().filter(|root| is_selected_path(options, &root.path));
    let selected = |backend: &EffectiveBackend| is_selected_backend(options, backend);
    if roots.any(|root| by_path_alone || root.backends.iter().any(selected)) {
        return true;
    }
    let left = inventory.unattributed.iter().map(|it| (it.source, &it.bucket, &it.dynamodb_table));
    let readers = inventory.readers.iter().map(|it| (it.source, &it.bucket, &it.dynamodb_table));
    left.chain(readers).any(|(source, bucket, table)| {
        let source = inventory.sources.get(source);
        source.is_some_and(|source| is_selected_source(options, source, bucket, table))
    })
}

/// Whether a source that belongs to no root module was asked for.
fn is_selected_source(
    options: &Options,
    source: &Source,
    bucket: &Option<String>,
    table: &Option<String>,
) -> bool {
    let text = |value: &Option<String>| value.clone().map_or(Knowable::Absent, Knowable::Known);
    (is_selected_path(options, dir_of(&source.place.file)) || is_selected_path(options, &source.place.file))
        && is_among(&options.buckets, &text(bucket))
        && is_among(&options.tables, &text(table))
}

fn is_selected_backend(options: &Options, backend: &EffectiveBackend) -> bool {
    is_among(&options.buckets, &backend.bucket) && is_among(&options.tables, &backend.dynamodb_table)
}

/// Whether a value is one of those that were asked for. A table may be given by its name, and stand as its ARN.
fn is_among(wanted: &[String], value: &Knowable<String>) -> bool {
    let same = |wanted: &String, value: &str| {
        value == wanted || (value.starts_with("arn:") && value.ends_with(&format!(":table/{wanted}")))
    };
    wanted.is_empty() || value.known().is_some_and(|value| wanted.iter().any(|wanted| same(wanted, value)))
}

/// Line of the setting that a person would look for in a source.
pub fn line_of(inventory: &Inventory, index: usize) -> (String, usize) {
    let Some(source) = inventory.sources.get(index) else { return (String::new(), 1) };
    let setting = LOCKS.iter().find_map(|name| source.setting(name));
    (source.place.file.clone(), setting.map_or(source.place.line, |setting| setting.at.line))
}
