//! Facts of all files to the inventory: groups files into directories, finds which backend counts in each, gives
//! every other source to the root modules that it belongs to, and lists what belongs to none. Pure.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use rayon::slice::{ParallelSlice, ParallelSliceMut};

use super::facts::{Call, FileFacts, FileId, Grant, ReadFile, Tool, VersionPin, dir_of};
use super::inventory::{
    EffectiveBackend, Engine, Inventory, Knowable, LockMode, NotS3, Reader, RootKind, RootModule, SourceFile,
    Unattributed, Versions,
};
use super::owners::Owners;
use super::partial::{self, Choice};
use super::problem::Problem;
use super::root_module::{self, ModuleFile, Settings, Winner};
use super::secret::shown;
use super::shown::{resolve, through_links};
use super::source::{Editability, Source, SourceKind};
use super::syntax::{atmos, aws, expression::Scope};
use super::terragrunt::{self, Unit};
use super::versions;

/// Everything that was read.
pub struct Facts<'a> {
    /// Files that say something, sorted by path.
    pub files: &'a [ReadFile],
    /// Links to directories: the link, and the directory that it leads to.
    pub dir_links: &'a [(String, String)],
    /// What the walk could not read.
    pub problems: Vec<Problem>,
    /// Directories of Terragrunt files that hold module files, too.
    pub module_dirs: &'a BTreeSet<String>,
    /// The way from the repository's root to where shown paths begin; absent when it is not known.
    pub repo_prefix: Option<&'a str>,
    /// What was asked for, as shown: what these names are made of says nothing about what lies below.
    pub tops: &'a [String],
    /// Variables and locals by directory, where a backend refers to some.
    pub scopes: &'a BTreeMap<String, Scope>,
}

/// Merges everything. `sources` are those of `facts`. `engine` keeps only what that program sees. Which files are to be
/// opened again is another question: [`source_files`].
pub fn inventory<'a>(
    facts: Facts<'a>,
    sources: Sources,
    owners: &Owners,
    engine: Option<Engine>,
) -> (Inventory, Remains<'a>) {
    let first_backend = sources.firsts();
    let files = facts.files;
    let ((mut builder, modules), numbered) = rayon::join(
        || (Builder::new(facts, engine), module_files(files, &first_backend)),
        || sources.numbered(),
    );
    builder.number(first_backend, numbered);
    let dirs = builder.winners(&modules);
    let units = builder.units();
    let choices = builder.attribute(&dirs, &units);
    builder.terraform_roots(&dirs, &choices, &units);
    builder.terragrunt_roots(&dirs, units);
    builder.called_by();
    builder.linked_roots();
    builder.readers();
    builder.unattributed(&dirs);
    builder.table_grants();
    (builder.finish(owners), Remains { _dirs: dirs, _choices: choices })
}

/// What merging was done with. Giving back its thousands of small texts takes time that a program which ends soon need
/// not spend.
pub struct Remains<'a> {
    _dirs: Dirs<'a>,
    _choices: BTreeMap<String, Vec<Choice>>,
}

/// Files that hold sources, and root modules' other files that say something: what edits open again.
pub fn source_files(files: &[ReadFile], inventory: &Inventory) -> BTreeMap<String, SourceFile> {
    let holding: HashSet<&str> = inventory.sources.iter().map(|source| source.place.file.as_str()).collect();
    let roots: HashSet<&str> = inventory.roots.iter().map(|root| root.path.as_str()).collect();
    let files = files.iter().filter(|(id, file)| {
        holding.contains(id.path.as_str()) || (file.module.is_some() && roots.contains(id.dir()))
    });
    let opened =
        |id: &FileId| SourceFile { os_path: id.os_path.clone(), link_target: id.link_target.clone() };
    files.map(|(id, _)| (id.path.clone(), opened(id))).collect()
}

/// Directories with a backend block.
type Dirs<'a> = BTreeMap<&'a str, DirView<'a>>;

/// What one directory's module files come to, for each program.
struct DirView<'a> {
    terraform: Winner<'a>,
    /// Only where there are files for OpenTofu alone; elsewhere it sees what Terraform sees.
    only_opentofu: Option<Winner<'a>>,
}

impl<'a> DirView<'a> {
    fn of(files: &[ModuleFile<'a>]) -> Self {
        let has_tofu = files.iter().any(|file| root_module::is_tofu_file(file.id.name()));
        Self {
            terraform: root_module::winner(files, Engine::Terraform),
            only_opentofu: has_tofu.then(|| root_module::winner(files, Engine::OpenTofu)),
        }
    }

    fn opentofu(&self) -> &Winner<'a> {
        self.only_opentofu.as_ref().unwrap_or(&self.terraform)
    }

    /// The engines that see an s3 backend here, each with what it sees.
    fn views(&self) -> Vec<(Engine, &Winner<'a>)> {
        let same = |one: &Winner<'a>, other: &Winner<'a>| {
            (one.s3, &one.shadowed, one.is_refused()) == (other.s3, &other.shadowed, other.is_refused())
        };
        if same(&self.terraform, self.opentofu()) {
            return self.terraform.s3.map(|_| (Engine::Any, &self.terraform)).into_iter().collect();
        }
        [(Engine::Terraform, &self.terraform), (Engine::OpenTofu, self.opentofu())]
            .into_iter()
            .filter(|(_, winner)| winner.s3.is_some())
            .collect()
    }
}

impl DirView<'_> {
    /// The program that sees no s3 backend here while the other one does.
    fn not_s3(&self) -> Option<NotS3> {
        let (engine, winner) = match (self.terraform.s3, self.opentofu().s3) {
            (None, Some(_)) => (Engine::Terraform, &self.terraform),
            (Some(_), None) => (Engine::OpenTofu, self.opentofu()),
            _ => return None,
        };
        Some(NotS3 { engine, uses: winner.other.clone().unwrap_or_else(|| "local".to_owned()) })
    }
}

/// What one directory with a backend comes to.
#[derive(Default)]
struct TerraformRoot {
    root: Option<RootModule>,
    /// Sources that it accounts for.
    accounted: Vec<usize>,
    problems: Vec<Problem>,
}

/// The sources of all files, some files at a time.
pub struct Sources(Vec<Taken>);

/// Files whose sources are taken together.
const TOGETHER: usize = 256;

impl Sources {
    /// Copies them.
    pub fn copied(files: &[ReadFile]) -> Self {
        Self(files.par_chunks(TOGETHER).map(|files| Taken::of(&mut files.to_vec())).collect())
    }

    /// Takes their settings out of the facts: merging asks for them here alone.
    pub fn taken(files: &mut [ReadFile]) -> Self {
        Self(files.par_chunks_mut(TOGETHER).map(Taken::of).collect())
    }

    /// The number of each file's first source.
    fn firsts(&self) -> Vec<usize> {
        let mut next = 0;
        let counts = self.0.iter().flat_map(|taken| &taken.counts);
        let first = |count: &usize| {
            let first = next;
            next += count;
            first
        };
        counts.map(first).collect()
    }

    /// Numbers every source. Each file's module backends stand together, in order.
    fn numbered(self) -> Numbered {
        let count = self.0.iter().map(|taken| taken.sources.len()).sum();
        let mut all = Numbered { sources: Vec::with_capacity(count), ..Numbered::default() };
        for Taken { sources, readers, terragrunt, .. } in self.0 {
            let first = all.sources.len();
            all.sources.extend(sources);
            all.readers.extend(readers.iter().map(|index| first + index));
            all.terragrunt.extend(terragrunt.iter().map(|index| first + index));
        }
        all
    }
}

/// All sources by number, and which of them are of a kind of their own.
#[derive(Default)]
struct Numbered {
    sources: Vec<Source>,
    readers: Vec<usize>,
    terragrunt: Vec<usize>,
}

/// The files that Terraform or OpenTofu would load, those of one directory together.
fn module_files<'a>(files: &'a [ReadFile], first_backend: &[usize]) -> Vec<ModuleFile<'a>> {
    let module = |((id, file), first_source): (&'a ReadFile, &usize)| {
        Some(ModuleFile { id, facts: file.module.as_ref()?, first_source: *first_source })
    };
    let mut modules: Vec<ModuleFile<'a>> =
        files.par_iter().zip(first_backend).with_min_len(256).filter_map(module).collect();
    // By their paths they are sorted already, but subdirectories stand between the files of a directory.
    modules.par_sort_by(|a, b| a.id.dir().cmp(b.id.dir()));
    modules
}

/// The sources of some files, in the order of their numbers, and which of them are of a kind of their own.
#[derive(Default)]
struct Taken {
    sources: Vec<Source>,
    /// How many each file has.
    counts: Vec<usize>,
    readers: Vec<usize>,
    terragrunt: Vec<usize>,
}

impl Taken {
    fn of(files: &mut [ReadFile]) -> Self {
        let mut taken = Self { counts: Vec::with_capacity(files.len()), ..Self::default() };
        for (id, file) in files {
            let before = taken.sources.len();
            taken.take(id, file);
            taken.counts.push(taken.sources.len() - before);
        }
        taken
    }

    fn take(&mut self, id: &FileId, file: &mut FileFacts) {
        let take = |source: &mut Source| {
            let settings = std::mem::take(&mut source.settings);
            Source { settings, ..source.clone() }
        };
        if let Some(module) = &mut file.module {
            for block in &mut module.backends {
                self.push(id, take(&mut block.source));
            }
            for reader in &mut module.readers {
                self.readers.push(self.sources.len());
                self.push(id, take(reader));
            }
        }
        for source in &mut file.sources {
            if source.kind == SourceKind::Reader {
                self.readers.push(self.sources.len());
            }
            self.push(id, take(source));
        }
        if let Some(file) = &file.terragrunt {
            // Units are merged from the facts: these are copied.
            for source in file.remote_states.iter().chain(&file.generates) {
                self.terragrunt.push(self.sources.len());
                self.push(id, source.clone());
            }
        }
        for flag in file.calls.iter().flat_map(|call| &call.config_flags) {
            self.push(id, flag.clone());
        }
    }

    fn push(&mut self, id: &FileId, source: Source) {
        self.sources.push(Source { git_ignored: id.git_ignored, ..source });
    }
}

struct Builder<'a> {
    facts: Facts<'a>,
    engine: Option<Engine>,
    inventory: Inventory,
    /// First source of each file's module backends, by file index.
    first_backend: Vec<usize>,
    /// For each source, whether a root module, a reader or a note accounts for it.
    accounted: Vec<bool>,
    /// Why a source belongs to no root module, where attribution said so.
    reasons: BTreeMap<usize, String>,
    /// The global index of each Terragrunt source, in the order that [`terragrunt::sources`] counts.
    terragrunt_sources: Vec<usize>,
    /// Files of which a part could not be read.
    broken: HashSet<&'a str>,
    /// Version pins by the directory below which they hold.
    pins: BTreeMap<&'a str, Vec<VersionPin>>,
    reader_sources: Vec<usize>,
    judge: versions::Judge,
}

impl<'a> Builder<'a> {
    fn new(mut facts: Facts<'a>, engine: Option<Engine>) -> Self {
        let mut inventory =
            Inventory { problems: std::mem::take(&mut facts.problems), ..Inventory::default() };
        let mut pins: BTreeMap<&str, Vec<VersionPin>> = BTreeMap::new();
        let mut broken = HashSet::new();
        for (id, file) in facts.files {
            if file.problems.iter().any(|problem| problem.kind.hides_something()) {
                broken.insert(id.path.as_str());
            }
            inventory.problems.extend(file.problems.iter().cloned());
            inventory.lock_tables.extend(file.tables.iter().cloned());
            inventory.grants.extend(file.grants.iter().cloned());
            inventory.ignores.extend(file.ignores.iter().cloned());
            for pin in &file.pins {
                pins.entry(pin.scope.as_str()).or_default().push(pin.clone());
            }
        }
        Self {
            facts,
            engine,
            inventory,
            first_backend: Vec::new(),
            accounted: Vec::new(),
            reasons: BTreeMap::new(),
            terragrunt_sources: Vec::new(),
            broken,
            pins,
            reader_sources: Vec::new(),
            judge: versions::Judge::default(),
        }
    }

    fn number(&mut self, first_backend: Vec<usize>, numbered: Numbered) {
        self.first_backend = first_backend;
        self.accounted = vec![false; numbered.sources.len()];
        self.inventory.sources = numbered.sources;
        self.reader_sources = numbered.readers;
        self.terragrunt_sources = numbered.terragrunt;
    }

    fn winners(&mut self, modules: &[ModuleFile<'a>]) -> Dirs<'a> {
        // Most directories have no backend: nothing is made for them.
        let dirs: Vec<&[ModuleFile<'a>]> = modules
            .chunk_by(|a, b| a.id.dir() == b.id.dir())
            .filter(|files| files.iter().any(|file| !file.facts.backends.is_empty()))
            .collect();
        let view = |files: &&[ModuleFile<'a>]| Some((files.first()?.id.dir(), DirView::of(files)));
        let views: Vec<(&str, DirView<'a>)> = dirs.par_iter().filter_map(view).collect();
        for (_, view) in &views {
            let terraform = &view.terraform.problems;
            self.inventory.problems.extend(terraform.iter().cloned());
            let by_terraform =
                |new: &&Problem| terraform.iter().any(|p| p.kind == new.kind && p.place == new.place);
            let only_tofu = view.opentofu().problems.iter().filter(|problem| !by_terraform(problem));
            self.inventory.problems.extend(only_tofu.cloned());
        }
        views.into_iter().collect()
    }

    fn attribute(&mut self, dirs: &Dirs<'a>, units: &[Unit]) -> BTreeMap<String, Vec<Choice>> {
        let filled = self.filled(dirs, units);
        let mut roots = Vec::new();
        for (path, view) in dirs {
            if filled.takes(path, || self.is_complete(view)) {
                continue;
            }
            let Some((_, winner)) = view.views().into_iter().next() else { continue };
            let block = winner.s3.and_then(|index| self.inventory.sources.get(index));
            let has = |name| block.is_some_and(|block| block.setting(name).is_some());
            roots.push(partial::RootInput { path, has_bucket: has("bucket"), has_key: has("key") });
        }
        // Terragrunt hands these to its own units; here they are only habits.
        let of_unit = |file: &FileFacts| -> Vec<Call> {
            let handed = file.terragrunt.iter().flat_map(|file| &file.extra_arguments);
            let only_habit = |call: &Call| Call {
                config_files: Vec::new(),
                config_flags: Vec::new(),
                var_files: Vec::new(),
                ..call.clone()
            };
            handed.map(only_habit).collect()
        };
        let handed: Vec<Vec<Call>> = self.facts.files.iter().map(|(_, file)| of_unit(file)).collect();
        let files = self.facts.files.iter().zip(&handed);
        let calls: Vec<&Call> =
            files.flat_map(|((_, file), handed)| file.calls.iter().chain(handed)).collect();
        let attribution = partial::attribute(&roots, &self.inventory.sources, &calls, self.facts.tops);
        self.reasons = attribution.unattributed.into_iter().collect();
        self.inventory.shared_var_files = attribution.shared_var_files;
        self.inventory.habits = attribution.habits;
        attribution.choices
    }

    fn units(&self) -> Vec<Unit> {
        let files: Vec<terragrunt::File<'_>> = self
            .facts
            .files
            .iter()
            .filter_map(|(id, file)| {
                Some(terragrunt::File { path: &id.path, facts: file.terragrunt.as_ref()? })
            })
            .collect();
        let has_module_files = |dir: &str| self.facts.module_dirs.contains(dir);
        let tree =
            terragrunt::Tree { repo_prefix: self.facts.repo_prefix, has_module_files: &has_module_files };
        terragrunt::merge(&files, tree).units
    }

    fn terraform_roots(&mut self, dirs: &Dirs<'a>, choices: &BTreeMap<String, Vec<Choice>>, units: &[Unit]) {
        // An empty block that Terragrunt fills is that unit's, not a root module of its own.
        let filled = self.filled(dirs, units);
        let dirs: Vec<(&&str, &DirView<'a>)> =
            dirs.iter().filter(|(path, view)| !filled.takes(path, || self.is_complete(view))).collect();
        // Each directory is judged by itself; what they come to is put together in their order.
        let judged: Vec<TerraformRoot> = dirs
            .par_iter()
            .map(|(path, view)| {
                self.terraform_root(path, view, choices.get(**path).map_or(&[], Vec::as_slice))
            })
            .collect();
        self.inventory.roots.reserve(judged.len());
        for TerraformRoot { root, accounted, problems } in judged {
            self.account(accounted);
            self.inventory.problems.extend(problems);
            self.inventory.roots.extend(root);
        }
    }

    fn terraform_root(&self, path: &str, view: &DirView<'a>, choices: &[Choice]) -> TerraformRoot {
        let no_scope = Scope::default();
        let scope = self.facts.scopes.get(path).unwrap_or(&no_scope);
        let mut found = TerraformRoot::default();
        // Most have one: thousands of them, each with room for more, would be mostly room.
        let mut backends = Vec::with_capacity(choices.len().max(1));
        for (engine, winner) in view.views() {
            let Some(block) = winner.s3 else { continue };
            found.accounted.push(block);
            found.accounted.extend(&winner.shadowed);
            if self.engine.is_some_and(|wanted| engine != Engine::Any && engine != wanted) {
                // Not what was asked for, and no stray either: the other program uses it.
                continue;
            }
            let nothing = [Choice::default()];
            for choice in if choices.is_empty() { &nothing[..] } else { choices } {
                let layers: Vec<usize> =
                    std::iter::once(block).chain(choice.sources.iter().copied()).collect();
                found.accounted.extend(&choice.sources);
                let label = choice.label.clone();
                let sources = &self.inventory.sources;
                let mut backend =
                    root_module::effective(sources, &layers, &winner.shadowed, scope, label, engine);
                if let Some(file) = choice.missing.first() {
                    // What a file that is not here sets goes over everything else.
                    let why = format!("`{}` is given to -backend-config and was not found", shown(file));
                    backend.mode = LockMode::Unknown;
                    backend.dynamodb_table = Knowable::Unknown(why.clone());
                    backend.use_lockfile = Knowable::Unknown(why);
                }
                if winner.is_refused() {
                    // Which of them was meant, nobody can tell; `init` takes neither.
                    let why = "there are two backend blocks: `init` stops".to_owned();
                    backend.mode = LockMode::Unknown;
                    backend.dynamodb_table = Knowable::Unknown(why.clone());
                    backend.use_lockfile = Knowable::Unknown(why);
                }
                self.leave_open(&mut backend, &layers);
                backends.push(backend);
                found.problems.extend(self.invalid_values(&layers, scope));
            }
        }
        if !backends.is_empty() {
            found.root = Some(self.root(path, RootKind::Terraform, backends, Some(view), &[]));
        }
        found
    }

    /// What a file sets in a part that could not be read may be just what seems not to be set.
    fn leave_open(&self, backend: &mut EffectiveBackend, layers: &[usize]) {
        let files = layers.iter().filter_map(|index| self.inventory.sources.get(*index));
        let mut files = files.map(|source| source.place.file.as_str());
        let Some(file) = files.find(|file| self.broken.contains(file)) else { return };
        let why = format!("a part of {file} could not be read");
        if backend.dynamodb_table == Knowable::Absent {
            backend.dynamodb_table = Knowable::Unknown(why.clone());
            backend.mode = LockMode::Unknown;
        }
        if backend.use_lockfile == Knowable::Absent {
            backend.use_lockfile = Knowable::Unknown(why);
            backend.mode = LockMode::Unknown;
        }
    }

    /// Whether a directory's block names its bucket and key itself.
    fn is_complete(&self, view: &DirView<'a>) -> bool {
        view.views().iter().any(|(_, winner)| {
            winner
                .s3
                .and_then(|index| self.inventory.sources.get(index))
                .is_some_and(|block| block.setting("bucket").is_some() && block.setting("key").is_some())
        })
    }

    /// A lock setting that `init` refuses is a problem where it counts, not where it is shadowed.
    fn invalid_values(&self, layers: &[usize], scope: &Scope) -> Vec<Problem> {
        let sources = layers.iter().filter_map(|index| self.inventory.sources.get(*index));
        let settings =
            sources.flat_map(|source| source.settings.iter().map(move |setting| (source, setting)));
        settings.filter_map(|(source, setting)| root_module::invalid_value(source, setting, scope)).collect()
    }

    /// Notes sources that something accounts for.
    fn account(&mut self, sources: impl IntoIterator<Item = usize>) {
        for index in sources {
            if let Some(accounted) = self.accounted.get_mut(index) {
                *accounted = true;
            }
        }
    }

    /// A unit that gives no backend fills none.
    fn filled(&self, dirs: &Dirs<'a>, units: &[Unit]) -> Filled {
        let written = self.written();
        let mut filled = Filled::default();
        for unit in units {
            if unit.sources.is_empty() && unit.unknown.is_none() && unit.other_backend.is_none() {
                continue;
            }
            for dir in std::iter::once(&unit.path).chain(&unit.local_source) {
                filled.dirs.insert(dir.clone());
                if dirs.get(dir.as_str()).is_some_and(|view| self.is_overwritten(view, unit, &written)) {
                    filled.overwritten.insert(dir.clone());
                }
            }
        }
        filled
    }

    /// The file that each Terragrunt source is written to, by the source's global index.
    fn written(&self) -> BTreeMap<usize, &'a str> {
        let by_place: BTreeMap<(&str, usize), &'a str> = self
            .facts
            .files
            .iter()
            .filter_map(|(id, file)| Some((id, file.terragrunt.as_ref()?)))
            .flat_map(|(id, file)| {
                file.written.iter().map(|(at, name)| ((id.path.as_str(), *at), name.as_str()))
            })
            .collect();
        let file_of = |index: &usize| {
            let source = self.inventory.sources.get(*index)?;
            let name = by_place.get(&(source.place.file.as_str(), source.span.start))?;
            Some((*index, *name))
        };
        self.terragrunt_sources.iter().filter_map(file_of).collect()
    }

    /// Whether a unit writes the file in which a directory's backend block stands.
    fn is_overwritten(&self, view: &DirView<'a>, unit: &Unit, written: &BTreeMap<usize, &str>) -> bool {
        let names = unit.sources.iter().filter_map(|index| {
            let name = written.get(self.terragrunt_sources.get(*index)?)?;
            Some(name.trim_start_matches("./"))
        });
        let names: BTreeSet<&str> = names.collect();
        view.views().iter().any(|(_, winner)| {
            let block = winner.s3.and_then(|index| self.inventory.sources.get(index));
            block.is_some_and(|block| names.contains(block.place.file.rsplit('/').next().unwrap_or_default()))
        })
    }

    fn terragrunt_roots(&mut self, dirs: &Dirs<'a>, units: Vec<Unit>) {
        let written = self.written();
        for unit in units {
            if unit.other_backend.is_some() || (unit.sources.is_empty() && unit.unknown.is_none()) {
                continue;
            }
            let global = |index: &usize| self.terragrunt_sources.get(*index).copied();
            let sources: Vec<usize> = unit.sources.iter().filter_map(global).collect();
            let shadowed: Vec<usize> = unit.shadowed.iter().filter_map(global).collect();
            let generated = sources.iter().any(|index| {
                self.inventory
                    .sources
                    .get(*index)
                    .is_some_and(|source| source.kind == SourceKind::TerragruntGenerate)
            });
            // Source: Terragrunt copies the unit's own files over the module that it downloads.
            let own = std::iter::once(unit.path.as_str()).chain(unit.local_source.as_deref());
            let views: Vec<&DirView<'a>> = own.filter_map(|dir| dirs.get(dir)).collect();
            let (hidden, views): (Vec<&DirView<'a>>, Vec<&DirView<'a>>) =
                views.into_iter().partition(|view| self.is_overwritten(view, &unit, &written));
            let block_of = |view: &DirView<'a>| view.views().first().and_then(|(_, winner)| winner.s3);
            let block = views.into_iter().filter(|_| !generated).find_map(block_of);
            let hidden: BTreeSet<usize> = hidden.into_iter().filter_map(block_of).collect();
            let all: Vec<usize> = block.into_iter().chain(sources).collect();
            self.account(all.iter().chain(&shadowed).chain(&hidden).copied());
            let mut backend =
                terragrunt::effective(&unit, &self.inventory.sources, &self.terragrunt_sources, block);
            let hidden: Vec<usize> = hidden.into_iter().collect();
            backend.sources.extend(root_module::source_refs(&self.inventory.sources, &[], &hidden));
            let invalid = self.invalid_values(&all, &Scope::default());
            self.inventory.problems.extend(invalid);
            let view = dirs.get(unit.path.as_str());
            let root = self.root(&unit.path, RootKind::Terragrunt, vec![backend], view, &unit.pins);
            match self.inventory.roots.iter_mut().find(|have| have.path == unit.path) {
                Some(have) => have.backends.extend(root.backends),
                None => self.inventory.roots.push(root),
            }
        }
        self.inventory.roots.sort_by(|a, b| a.path.cmp(&b.path));
    }

    fn root(
        &self,
        path: &str,
        kind: RootKind,
        backends: Vec<EffectiveBackend>,
        view: Option<&DirView<'a>>,
        unit_pins: &[VersionPin],
    ) -> RootModule {
        let only = |engine| backends.iter().all(|backend| backend.engine == engine);
        let engine = if only(Engine::OpenTofu) {
            Engine::OpenTofu
        } else if only(Engine::Terraform) {
            Engine::Terraform
        } else {
            Engine::Any
        };
        // Only pins of the directories above can hold here.
        let above =
            std::iter::successors(Some(path), |dir| (*dir != "." && *dir != "/").then(|| dir_of(dir)));
        // What holds for the whole tree stands under `.`, wherever the tree lies.
        let above = above.chain(path.starts_with('/').then_some("."));
        let near = above.filter_map(|dir| self.pins.get(dir)).flatten();
        // A pin of Terragrunt says something only where Terragrunt runs.
        let pins: Vec<&VersionPin> = unit_pins
            .iter()
            .chain(versions::applicable(path, near))
            .filter(|pin| kind == RootKind::Terragrunt || pin.tool != Tool::Terragrunt)
            .collect();
        RootModule {
            path: path.to_owned(),
            kind,
            backends,
            versions: self.versions(view, engine, &pins),
            owners: Vec::new(),
            called_by: Vec::new(),
            not_s3: view.and_then(DirView::not_s3).filter(|_| self.engine.is_none()),
            link_of: None,
        }
    }

    /// Whether what runs here can lock by the lockfile. Where `.tofu` files change the versions that are required, each
    /// program that is asked about is judged by what it reads, and the worse verdict counts.
    fn versions(&self, view: Option<&DirView<'a>>, engine: Engine, pins: &[&VersionPin]) -> Versions {
        let Some(view) = view else { return self.judge.judge(&[], pins, engine) };
        let (terraform, tofu) = (&view.terraform.required_versions, &view.opentofu().required_versions);
        let asked = if engine == Engine::Any { self.engine.unwrap_or(Engine::Any) } else { engine };
        match asked {
            Engine::OpenTofu => self.judge.judge(tofu, pins, engine),
            Engine::Any if terraform != tofu => self.judge.judge_both(terraform, tofu, pins),
            Engine::Any | Engine::Terraform => self.judge.judge(terraform, pins, engine),
        }
    }

    /// Marks root modules that other modules call: Terraform ignores their backend there.
    fn called_by(&mut self) {
        // They are sorted by path.
        let roots = &self.inventory.roots;
        let root_at = |path: &str| roots.binary_search_by(|root| root.path.as_str().cmp(path)).ok();
        let called_in = |(id, file): &'a ReadFile| {
            let calls = file.module.iter().flat_map(|module| &module.local_modules);
            let targets = calls.filter_map(|(_, path)| resolve(id.dir(), path));
            let targets = targets.map(|target| through_links(target, self.facts.dir_links));
            targets.filter_map(|target| root_at(&target)).map(|root| (root, id.dir())).collect::<Vec<_>>()
        };
        let calls: BTreeSet<(usize, &str)> =
            self.facts.files.par_iter().with_min_len(256).flat_map_iter(called_in).collect();
        for (root, caller) in calls {
            if let Some(root) = self.inventory.roots.get_mut(root) {
                root.called_by.push(caller.to_owned());
            }
        }
    }

    /// Root modules that are reached through a link to a directory: inventoried there, edited where they are.
    fn linked_roots(&mut self) {
        let mut linked = Vec::new();
        for (link, target) in self.facts.dir_links {
            for root in &self.inventory.roots {
                let Some(rest) = root.path.strip_prefix(target.as_str()) else { continue };
                if rest.is_empty() || rest.starts_with('/') {
                    let path = format!("{link}{rest}");
                    linked.push(RootModule { path, link_of: Some(root.path.clone()), ..root.clone() });
                }
            }
        }
        self.inventory.roots.extend(linked);
        self.inventory.roots.sort_by(|a, b| a.path.cmp(&b.path));
    }

    fn readers(&mut self) {
        let readers: Vec<Reader> =
            self.reader_sources.par_iter().filter_map(|index| self.reader(*index)).collect();
        self.account(readers.iter().map(|reader| reader.source));
        self.inventory.readers = readers;
    }

    fn reader(&self, index: usize) -> Option<Reader> {
        let source = self.inventory.sources.get(index)?;
        let no_scope = Scope::default();
        let scope = self.facts.scopes.get(dir_of(&source.place.file)).unwrap_or(&no_scope);
        let merged = root_module::merge(&[source]);
        let settings = Settings { merged: &merged, scope };
        // A `config` that is no plain object could name a table.
        let table = match settings.text("config") {
            Knowable::Unknown(why) => Knowable::Unknown(why),
            _ => settings.text("dynamodb_table"),
        };
        Some(Reader {
            name: source.label.clone().unwrap_or_default(),
            place: source.place.clone(),
            bucket: settings.text("bucket").known().cloned(),
            key: settings.text("key").known().cloned(),
            dynamodb_table: table.known().cloned(),
            dynamodb_table_unknown: table.unknown().map(str::to_owned),
            source: index,
        })
    }

    fn unattributed(&mut self, dirs: &Dirs<'a>) {
        let no_scope = Scope::default();
        let mut found = Vec::new();
        for (index, source) in self.inventory.sources.iter().enumerate() {
            let is_other_backend = source.settings.is_empty()
                && matches!(source.kind, SourceKind::Backend | SourceKind::BackendOverride)
                && !self.is_s3_block(index);
            if self.accounted.get(index) == Some(&true) || is_other_backend {
                continue;
            }
            let dir = dir_of(&source.place.file);
            let scope = self.facts.scopes.get(dir).unwrap_or(&no_scope);
            let merged = root_module::merge(&[source]);
            let settings = Settings { merged: &merged, scope };
            let table = settings.table();
            found.push(Unattributed {
                kind: source.kind,
                place: source.place.clone(),
                mode: LockMode::of(&table, &settings.boolean("use_lockfile")),
                bucket: settings.text("bucket").known().cloned(),
                dynamodb_table: table.known().cloned(),
                reason: self.reason(index, source, dirs.get(dir)),
                source: index,
            });
        }
        found.sort_by(|a, b| a.place.cmp(&b.place));
        self.inventory.unattributed = found;
    }

    fn is_s3_block(&self, index: usize) -> bool {
        let at = self.first_backend.partition_point(|first| *first <= index).saturating_sub(1);
        let (Some((_, file)), Some(first)) = (self.facts.files.get(at), self.first_backend.get(at)) else {
            return false;
        };
        let block = file.module.as_ref().and_then(|module| module.backends.get(index - first));
        block.is_some_and(|block| block.backend_type == "s3")
    }

    fn reason(&self, index: usize, source: &Source, view: Option<&DirView<'a>>) -> String {
        if let Some(reason) = self.reasons.get(&index) {
            return reason.clone();
        }
        match source.kind {
            SourceKind::Backend | SourceKind::BackendOverride => {
                let other =
                    view.and_then(|view| view.terraform.other.clone().or(view.opentofu().other.clone()));
                match other {
                    Some(other) => format!("this directory uses `{other}`: the s3 block does not count"),
                    None => "a Terragrunt unit replaces this block".to_owned(),
                }
            }
            SourceKind::BackendConfigFile => "no call and no name says which root module uses it".to_owned(),
            SourceKind::BackendConfigFlag => "the call's directory can't be told".to_owned(),
            SourceKind::TerragruntRemoteState | SourceKind::TerragruntGenerate => {
                "no unit in the scanned paths includes it".to_owned()
            }
            SourceKind::Heredoc | SourceKind::Echo => "a script writes this backend when it runs".to_owned(),
            SourceKind::Template => "a template: its output is configuration elsewhere".to_owned(),
            SourceKind::Terramate => "Terramate writes this into the stacks that it generates for".to_owned(),
            SourceKind::Atmos if source.editability == Editability::ReportOnly(atmos::STRAY.to_owned()) => {
                atmos::STRAY.to_owned()
            }
            SourceKind::Atmos => "Atmos gives this to its components".to_owned(),
            SourceKind::Cdktf => "CDKTF source: `cdktf synth` writes the configuration".to_owned(),
            SourceKind::Reader => "a remote-state reader".to_owned(),
        }
    }

    /// Statements on tables that a backend or a reader names, or that are declared as lock tables.
    fn table_grants(&mut self) {
        if self.facts.files.iter().all(|(_, file)| file.table_grants.is_empty()) {
            return;
        }
        let written = self.inventory.sources.iter().flat_map(|source| &source.settings);
        let locks = written.filter(|setting| setting.is_table());
        let named = locks.filter_map(|setting| setting.value.as_text());
        let backends = self.inventory.roots.iter().flat_map(|root| &root.backends);
        let effective = backends.filter_map(|backend| backend.dynamodb_table.known()).map(String::as_str);
        let declared = self.inventory.lock_tables.iter().filter_map(|table| table.name.as_deref());
        let tables: BTreeSet<String> = named
            .chain(effective)
            .chain(declared)
            .map(|table| table.rsplit_once(":table/").map_or(table, |(_, name)| name).to_owned())
            .collect();
        // An address means a table only in its own module.
        let mut addresses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for table in &self.inventory.lock_tables {
            addresses.entry(dir_of(&table.place.file)).or_default().insert(table.address.clone());
        }
        let on_lock_table = |grant: &&Grant| {
            let beside = addresses.get(dir_of(&grant.place.file));
            aws::names_table(grant, &tables)
                || beside.is_some_and(|addresses| aws::names_table(grant, addresses))
        };
        let grants = self.facts.files.iter().flat_map(|(_, file)| &file.table_grants);
        let found: Vec<Grant> = grants.filter(on_lock_table).cloned().collect();
        self.inventory.grants.extend(found);
    }

    fn finish(mut self, owners: &Owners) -> Inventory {
        self.inventory.roots.par_iter_mut().for_each(|root| root.owners = owners.owners_of_dir(&root.path));
        let inventory = &mut self.inventory;
        inventory
            .problems
            .sort_by(|a, b| (&a.place, a.kind, &a.message).cmp(&(&b.place, b.kind, &b.message)));
        inventory.problems.dedup();
        inventory.readers.sort_by(|a, b| a.place.cmp(&b.place));
        inventory.lock_tables.sort_by(|a, b| a.place.cmp(&b.place));
        inventory.grants.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
        inventory.habits.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
        inventory.ignores.sort_by(|a, b| a.place.cmp(&b.place));
        self.inventory
    }
}

/// Directories whose backend block is the business of Terragrunt units: no root modules of their own.
#[derive(Default)]
struct Filled {
    /// Units give what a block lacks.
    dirs: BTreeSet<String>,
    /// Units write the block's file anew, whatever it says.
    overwritten: BTreeSet<String>,
}

impl Filled {
    fn takes(&self, dir: &str, is_complete: impl FnOnce() -> bool) -> bool {
        self.overwritten.contains(dir) || (self.dirs.contains(dir) && !is_complete())
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::class_of;
    use super::super::problem::ProblemKind;
    use super::super::read::read_file;
    use super::*;

    /// The inventory of files that are given by path and text; no file is opened.
    fn inventory_of(files: &[(&str, &str)]) -> Inventory {
        let mut read: Vec<ReadFile> = Vec::new();
        for (path, text) in files {
            let id =
                FileId { path: (*path).into(), os_path: path.into(), git_ignored: false, link_target: None };
            let class = class_of(path, id.name());
            let facts = read_file(path, class, text.as_bytes());
            read.extend(facts.map(|facts| (id, Box::new(facts))));
        }
        read.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        let modules = files.iter().filter(|(path, _)| path.ends_with(".tf"));
        let facts = Facts {
            files: &read,
            dir_links: &[],
            problems: Vec::new(),
            module_dirs: &modules.map(|(path, _)| dir_of(path).to_owned()).collect(),
            repo_prefix: Some(""),
            tops: &[],
            scopes: &BTreeMap::new(),
        };
        inventory(facts, Sources::copied(&read), &Owners::default(), None).0
    }

    fn modes(inventory: &Inventory) -> Vec<(&str, LockMode)> {
        let roots = inventory.roots.iter();
        roots.flat_map(|root| root.backends.iter().map(|b| (root.path.as_str(), b.mode))).collect()
    }

    const EMPTY: &str = "terraform {\n  backend \"s3\" {}\n}\n";

    #[test]
    fn a_unit_fills_the_empty_block_beside_it_when_its_source_is_elsewhere() {
        let unit = "terraform {\n  source = \"github.com/x/y\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n";
        let inventory = inventory_of(&[("a/provider.tf", EMPTY), ("a/terragrunt.hcl", unit)]);
        assert_eq!(modes(&inventory), [("a", LockMode::Dynamodb)]);
        assert_eq!(inventory.unattributed, []);
    }

    #[test]
    fn a_unit_without_a_backend_fills_nothing() {
        let inventory = inventory_of(&[("a/main.tf", EMPTY), ("a/terragrunt.hcl", "# later\n")]);
        assert_eq!(modes(&inventory), [("a", LockMode::Unknown)]);
        assert_eq!(inventory.unattributed, []);
    }

    #[test]
    fn a_file_that_the_unit_writes_anew_says_nothing() {
        let copy = "# Generated by Terragrunt. Sig: nIlQXj57tbuaRZEa\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n";
        let unit = |if_exists: &str| {
            format!(
                "remote_state {{\n  backend = \"s3\"\n  generate = {{\n    path = \"backend.tf\"\n    if_exists = \"{if_exists}\"\n  }}\n  config = {{\n    bucket = \"b\"\n    key = \"k\"\n    use_lockfile = true\n  }}\n}}\n"
            )
        };
        let overwrites = unit("overwrite_terragrunt");
        let inventory = inventory_of(&[("a/backend.tf", copy), ("a/terragrunt.hcl", &overwrites)]);
        assert_eq!(modes(&inventory), [("a", LockMode::Lockfile)]);
        assert_eq!(inventory.unattributed, []);
        let sources = inventory.roots[0].backends[0].sources.iter();
        let told: Vec<(&str, bool)> = sources.map(|at| (at.file.as_str(), at.shadowed)).collect();
        assert_eq!(told, [("a/terragrunt.hcl", false), ("a/backend.tf", true)]);

        // Elsewhere the copy counts.
        let inventory = inventory_of(&[("a/other.tf", copy), ("a/terragrunt.hcl", &overwrites)]);
        assert_eq!(modes(&inventory), [("a", LockMode::Dynamodb), ("a", LockMode::Dual)]);
        let skips = unit("skip");
        let inventory = inventory_of(&[("a/backend.tf", copy), ("a/terragrunt.hcl", &skips)]);
        assert_eq!(modes(&inventory), [("a", LockMode::Dynamodb), ("a", LockMode::Dual)]);
    }

    #[test]
    fn of_two_blocks_none_is_said_to_count() {
        let block = |more: &str| {
            format!(
                "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = \"k\"\n{more}  }}\n}}\n"
            )
        };
        let (plain, locked) = (block(""), block("    dynamodb_table = \"t\"\n"));
        let inventory = inventory_of(&[("a.tf", &plain), ("b.tf", &locked)]);
        assert_eq!(modes(&inventory), [(".", LockMode::Unknown)]);
        assert_eq!(inventory.problems[0].kind, ProblemKind::DuplicateBackend);
    }

    #[test]
    fn a_statement_on_a_table_counts_when_a_backend_names_the_table() {
        let policy = |table: &str| {
            let arn = format!("arn:aws:dynamodb:eu-west-1:1:table/{table}");
            format!(
                "{{\"Statement\": [{{\"Effect\": \"Allow\", \"Action\": \"dynamodb:PutItem\", \"Resource\": \"{arn}\"}}]}}"
            )
        };
        let backend = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"acme\"\n  }\n}\n";
        let (ours, other) = (policy("acme"), policy("acme-orders"));
        let inventory = inventory_of(&[("main.tf", backend), ("other.json", &other), ("ours.json", &ours)]);
        let places: Vec<&str> = inventory.grants.iter().map(|grant| grant.place.file.as_str()).collect();
        assert_eq!(places, ["ours.json"]);
    }
}
