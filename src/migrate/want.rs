//! What each source must say for a root module to reach the phase: merged settings in, changes per source out.
//! Whether they may be made is decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::change::{Change, Literal};
use super::options::Options;
use super::phase::Phase;
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode, SourceRef};
use crate::repo::setting::Value;
use crate::repo::source::{Source, SourceKind};
use crate::repo::terragrunt::OF_ANOTHER;

/// Names under which the table is set.
pub const TABLE: &[&str] = &["dynamodb_table", "lock_table"];

/// What is dead without a table, the table itself included, in the order of removal. Source: the S3 backend's
/// schema, and Terragrunt's own keys in `remote_state.config`.
pub const DEAD: &[&str] = &[
    "dynamodb_table",
    "lock_table",
    "dynamodb_endpoint",
    "endpoints.dynamodb",
    "dynamodb_table_tags",
    "enable_lock_table_ssencryption",
];

/// The lockfile's setting.
pub const LOCKFILE: &str = "use_lockfile";

/// Everything that decides about locks.
pub const LOCKS: &[&str] = &["dynamodb_table", "lock_table", "use_lockfile"];

/// What is wanted of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Want {
    /// `use_lockfile = true`, or no `use_lockfile`.
    pub lockfile: Option<bool>,
    /// This table.
    pub table: Option<String>,
    /// These arguments shall go.
    pub remove: BTreeSet<&'static str>,
    /// Whether some root module misses the phase without it. Hidden and overridden sources are kept in step, and
    /// no more.
    pub needed: bool,
}

impl Want {
    /// Adds what another root module wants.
    pub fn join(&mut self, other: &Want) {
        self.lockfile = self.lockfile.or(other.lockfile);
        self.table = self.table.take().or_else(|| other.table.clone());
        self.remove.extend(&other.remove);
        self.needed |= other.needed;
    }

    /// The changes, in an order that one run and two runs share.
    pub fn changes(&self, source: &Source) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.lockfile == Some(true) {
            changes.push(Change::set_lockfile(table_setting(source)));
        }
        if let Some(table) = &self.table {
            let old = TABLE.iter().find(|name| source.setting(name).is_some());
            changes.push(Change::Set {
                name: (*old.unwrap_or(&"dynamodb_table")).to_owned(),
                value: Literal::Text(table.clone()),
                beside: Some(LOCKFILE.to_owned()),
            });
        }
        changes
            .extend(DEAD.iter().filter(|name| self.remove.contains(*name)).map(|name| Change::remove(name)));
        if self.lockfile == Some(false) {
            changes.push(Change::remove(LOCKFILE));
        }
        changes
    }
}

/// Which argument of a source names the table, if one does.
fn table_setting(source: &Source) -> Option<&'static str> {
    TABLE.iter().copied().find(|name| source.setting(name).is_some_and(|set| may_lock(&set.value)))
}

/// Whether a table's value asks for a lock, or could: `null` and `""` switch it off.
pub fn may_lock(value: &Value) -> bool {
    !matches!(value, Value::Null) && value.as_text() != Some("")
}

/// Whether a source names a table.
pub fn names_table(source: &Source) -> bool {
    table_setting(source).is_some()
}

/// Whether a source switches the lockfile on; `None` when it can't be told.
pub fn sets_lockfile(source: &Source) -> Option<bool> {
    match source.setting(LOCKFILE).map(|setting| &setting.value) {
        None | Some(Value::Null) => Some(false),
        Some(Value::Bool(on)) => Some(*on),
        Some(Value::Text(text)) => Some(matches!(text.as_str(), "true" | "1")),
        Some(_) => None,
    }
}

/// The mode that a source makes by itself.
pub fn own_mode(source: &Source) -> LockMode {
    mode_of(names_table(source), sets_lockfile(source))
}

/// The mode that a table and a lockfile make.
pub fn mode_of(table: bool, lockfile: Option<bool>) -> LockMode {
    match (table, lockfile) {
        (_, None) => LockMode::Unknown,
        (true, Some(true)) => LockMode::Dual,
        (true, Some(false)) => LockMode::Dynamodb,
        (false, Some(true)) => LockMode::Lockfile,
        (false, Some(false)) => LockMode::None,
    }
}

/// The mode that a plan brings a backend to; `None` when it leaves it.
pub fn target(backend: &EffectiveBackend, options: &Options) -> Option<LockMode> {
    let unlocked = options.include_unlocked && options.phase != Phase::Rollback;
    match backend.mode {
        LockMode::None if unlocked => Some(LockMode::Lockfile),
        mode => options.phase.target(mode),
    }
}

/// Wants by source.
pub type Wants = BTreeMap<usize, Want>;

/// What a backend's sources must say. `in_step` tells whether a source that another layer overrides may get the
/// lockfile, too, without changing anything for anybody else.
pub fn of_backend(
    inventory: &Inventory,
    backend: &EffectiveBackend,
    options: &Options,
    in_step: &dyn Fn(usize) -> bool,
    wants: &mut Wants,
) {
    let layers = Layers::of(inventory, backend);
    match (options.phase, backend.mode) {
        (Phase::Dual, LockMode::Dynamodb) => layers.add_lockfile(in_step, wants),
        (Phase::Dual, LockMode::Dual | LockMode::Lockfile) => layers.add_lockfile_elsewhere(wants),
        (Phase::Dual | Phase::Final, LockMode::None) if options.include_unlocked => {
            layers.add_first_lock(wants);
        }
        (Phase::Final, LockMode::Dynamodb) => {
            layers.add_lockfile(in_step, wants);
            layers.remove_table(true, wants);
        }
        (Phase::Final, LockMode::Dual) => layers.remove_table(true, wants),
        (Phase::Final, LockMode::Lockfile) => layers.remove_table(false, wants),
        (Phase::Rollback, LockMode::Lockfile) => {
            if let Some(table) = &options.rollback_table {
                layers.add_table(table, wants);
            }
        }
        (Phase::Rollback, LockMode::Dual) => layers.remove_lockfile(wants),
        _ => {}
    }
}

/// What a source that belongs to no root module must say, when what stands with it makes this mode.
pub fn of_source(source: &Source, mode: LockMode, options: &Options) -> Option<Want> {
    let mut want = Want { needed: true, ..Want::default() };
    if source.kind == SourceKind::BackendConfigFlag {
        // The mode is that of the whole command; each flag answers for its own argument.
        let needs_table = options.phase != Phase::Rollback;
        let has = if needs_table { names_table(source) } else { source.setting(LOCKFILE).is_some() };
        if !has {
            return None;
        }
    }
    match (options.phase, mode) {
        (Phase::Dual, LockMode::Dynamodb) => want.lockfile = Some(true),
        (Phase::Final, LockMode::Dynamodb) => {
            want.lockfile = Some(true);
            want.remove = dead_in(source);
        }
        (Phase::Final, LockMode::Dual) => want.remove = dead_in(source),
        (Phase::Rollback, LockMode::Dual) => want.lockfile = Some(false),
        (Phase::Rollback, LockMode::Lockfile) => want.table = Some(options.rollback_table.clone()?),
        _ => return None,
    }
    Some(want)
}

/// What a reader must not say once its writers have left the table.
pub fn of_reader(source: &Source) -> Option<Want> {
    let want = Want { remove: dead_in(source), needed: true, ..Want::default() };
    names_table(source).then_some(want)
}

fn dead_in(source: &Source) -> BTreeSet<&'static str> {
    DEAD.iter().copied().filter(|name| source.setting(name).is_some()).collect()
}

/// The source that decides about these settings: later ones win, hidden ones count for nothing.
pub fn deciding<'a>(
    inventory: &'a Inventory,
    backend: &'a EffectiveBackend,
    names: &[&str],
) -> Option<(&'a SourceRef, &'a Source)> {
    backend.sources.iter().rev().filter(|at| !at.shadowed).find_map(|at| {
        let source = inventory.sources.get(at.source)?;
        names.iter().any(|name| source.setting(name).is_some()).then_some((at, source))
    })
}

/// A backend's sources: those that count in merging order, and those that are hidden.
struct Layers<'a> {
    live: Vec<(usize, &'a Source)>,
    hidden: Vec<(usize, &'a Source)>,
}

impl<'a> Layers<'a> {
    fn of(inventory: &'a Inventory, backend: &EffectiveBackend) -> Self {
        let of = |shadowed: bool| {
            backend
                .sources
                .iter()
                .filter(|at| at.shadowed == shadowed)
                .filter_map(|at| Some((at.source, inventory.sources.get(at.source)?)))
                .collect()
        };
        Self { live: of(false), hidden: of(true) }
    }

    fn all(&self) -> impl Iterator<Item = &(usize, &'a Source)> {
        self.live.iter().chain(&self.hidden)
    }

    /// Beside the table that counts; onto later layers that would switch it off again; and where a table stands
    /// that does not count, so that it stays in step.
    fn add_lockfile(&self, in_step: &dyn Fn(usize) -> bool, wants: &mut Wants) {
        let Some(decides) = self.live.iter().rposition(|(_, source)| names_table(source)) else { return };
        for (at, (index, source)) in self.live.iter().enumerate() {
            let counts = at == decides || (at > decides && source.setting(LOCKFILE).is_some());
            if counts || (at < decides && names_table(source) && in_step(*index)) {
                let want = wants.entry(*index).or_default();
                want.lockfile = Some(true);
                want.needed |= counts;
            }
        }
        for (index, source) in self.hidden.iter().filter(|(_, source)| names_table(source)) {
            if sets_lockfile(source) == Some(false) {
                wants.entry(*index).or_default().lockfile = Some(true);
            }
        }
    }

    /// Where git ignores what replaces a block, that block is the one that counts elsewhere.
    fn counts_elsewhere(&self) -> bool {
        self.live.iter().any(|(_, source)| source.git_ignored)
    }

    fn add_lockfile_elsewhere(&self, wants: &mut Wants) {
        if self.counts_elsewhere() {
            for (index, _) in self.hidden.iter().filter(|(_, source)| own_mode(source) == LockMode::Dynamodb)
            {
                let want = wants.entry(*index).or_default();
                want.lockfile = Some(true);
                want.needed = true;
            }
        }
    }

    /// Where the lockfile was switched off, else where the state is named.
    fn add_first_lock(&self, wants: &mut Wants) {
        let sets = |names: &[&str]| {
            self.live.iter().rev().find(|(_, source)| {
                source.kind != SourceKind::BackendConfigFlag
                    && names.iter().any(|name| source.setting(name).is_some())
            })
        };
        let place = sets(&[LOCKFILE]).or_else(|| sets(&["key"])).or_else(|| sets(&["bucket"]));
        if let Some((index, _)) = place.or_else(|| self.live.first()) {
            let want = wants.entry(*index).or_default();
            want.lockfile = Some(true);
            want.needed = true;
        }
    }

    /// From every source. A hidden block that would be left without any lock gets the lockfile.
    fn remove_table(&self, needed: bool, wants: &mut Wants) {
        if !needed && !self.all().any(|(_, source)| names_table(source)) {
            return;
        }
        for (index, source) in self.all() {
            let dead = dead_in(source);
            if dead.is_empty() {
                continue;
            }
            let hidden = self.hidden.iter().any(|(other, _)| other == index);
            let want = wants.entry(*index).or_default();
            want.remove.extend(dead);
            let counts = if hidden { self.counts_elsewhere() } else { needed };
            want.needed |= counts && names_table(source);
            if hidden && names_table(source) && sets_lockfile(source) == Some(false) {
                want.lockfile = Some(true);
            }
        }
    }

    fn add_table(&self, table: &str, wants: &mut Wants) {
        let counts = |source: &Source| {
            source.setting(LOCKFILE).is_some() || TABLE.iter().any(|name| source.setting(name).is_some())
        };
        if let Some((index, _)) = self.live.iter().rev().find(|(_, source)| counts(source)) {
            let want = wants.entry(*index).or_default();
            want.table = Some(table.to_owned());
            want.needed = true;
        }
    }

    /// From every source that counts, and from hidden ones that keep a table.
    fn remove_lockfile(&self, wants: &mut Wants) {
        for (index, source) in self.all().filter(|(_, source)| source.setting(LOCKFILE).is_some()) {
            let hidden = self.hidden.iter().any(|(other, _)| other == index);
            if !hidden || names_table(source) {
                let want = wants.entry(*index).or_default();
                want.lockfile = Some(false);
                want.needed |= !hidden;
            }
        }
    }
}

/// Whether a backend's locks can't be told since they are made from another file's block: one that is hidden, or not
/// merged, decides all the same.
pub fn reads_another(backend: &EffectiveBackend) -> bool {
    let why = [backend.dynamodb_table.unknown(), backend.use_lockfile.unknown()];
    backend.mode == LockMode::Unknown && why.into_iter().flatten().any(|why| why.contains(OF_ANOTHER))
}

/// Whether a change of one source would reach a backend that is to stay as it is.
pub fn reaches(inventory: &Inventory, backend: &EffectiveBackend, index: usize, want: &Want) -> bool {
    let decides = |names: &[&str]| deciding(inventory, backend, names).map(|(at, _)| at.source);
    let position = |source: usize| backend.sources.iter().position(|at| at.source == source && !at.shadowed);
    let Some(own) = position(index) else { return false };
    let overridden = |names: &[&str]| decides(names).and_then(position).is_some_and(|at| at > own);
    let lockfile = match want.lockfile {
        Some(on) => {
            backend.use_lockfile != Knowable::Known(on)
                && !overridden(&[LOCKFILE])
                && (on || backend.mode == LockMode::Dual || backend.mode == LockMode::Lockfile)
        }
        None => false,
    };
    let table = want.table.is_some() || want.remove.iter().any(|name| TABLE.contains(name));
    lockfile || (table && backend.dynamodb_table != Knowable::Absent && !overridden(TABLE))
}
