//! Scanning: the edge where files are opened. Walks, gives every file's bytes to the pure readers, reads again
//! what only became interesting through another file, and has everything merged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::GlobSet;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::bounded;
use super::class::class_of;
use super::facts::{Call, FileFacts, FileId, ReadFile, dir_of};
use super::inventory::{Engine, Inventory};
use super::merge;
use super::owners::{self, Owners};
use super::partial;
use super::pattern::{Index, Pattern};
use super::problem::Problem;
use super::read::{read_file, wide};
use super::root_module::{is_module_file, is_override_file};
use super::script_paths::{bases, is_automation};
use super::shown::{Home, clean, resolve};
use super::source::Source;
use super::syntax::dirs::strip_base;
use super::syntax::expression::Scope;
use super::syntax::variables::{Variables, included};
use super::syntax::{backend_arguments, hcl, json};
use super::text::{Text, is_wide};
use super::visit::{Callers, runs, too_large, unreadable, visit};
use super::walk::{self, CACHES, Candidate, Found, WalkOptions};

pub use super::visit::MAX_FILE;
pub use super::walk::{Progress, Silent, WalkError as ScanError};

/// What to scan, and how.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// Files and directories; empty means the current directory.
    pub paths: Vec<PathBuf>,
    /// Globs of shown paths to leave out.
    pub exclude: Vec<String>,
    /// Look into what git ignores, too.
    pub no_ignore: bool,
    /// Threads; absent means one per core.
    pub threads: Option<usize>,
    /// Only what this program sees.
    pub engine: Option<Engine>,
    /// Where relative paths begin; absent means the current directory. Paths are shown as given either way, so a copy
    /// of a repository reads like the repository itself.
    pub base: Option<PathBuf>,
}

impl ScanOptions {
    /// Where to walk.
    pub(super) fn walk(&self) -> WalkOptions {
        let here = || vec![PathBuf::from(".")];
        WalkOptions {
            paths: if self.paths.is_empty() { here() } else { self.paths.clone() },
            exclude: self.exclude.clone(),
            no_ignore: self.no_ignore,
            threads: self.threads,
            base: self.base.clone(),
        }
    }
}

/// Everything that was read, not yet merged. Merging is pure, so what the repository would come to after an edit is
/// asked by reading the edited bytes in place of the file's ([`Collected::with_bytes`]).
#[derive(Debug, Clone)]
pub struct Collected {
    files: Vec<ReadFile>,
    dir_links: Vec<(String, String)>,
    problems: Vec<Problem>,
    scopes: BTreeMap<String, Scope>,
    module_dirs: BTreeSet<String>,
    repo_prefix: Option<String>,
    tops: Vec<String>,
    owners: Owners,
    engine: Option<Engine>,
}

impl Collected {
    /// Merges what was read, and names the files that edits would open.
    pub fn inventory(&self) -> Inventory {
        let (mut inventory, _) = self.merged(merge::Sources::copied(&self.files));
        inventory.files = merge::source_files(&self.files, &inventory);
        inventory
    }

    fn merged(&self, sources: merge::Sources) -> (Inventory, merge::Remains<'_>) {
        let facts = merge::Facts {
            files: &self.files,
            dir_links: &self.dir_links,
            problems: self.problems.clone(),
            module_dirs: &self.module_dirs,
            repo_prefix: self.repo_prefix.as_deref(),
            tops: &self.tops,
            scopes: &self.scopes,
        };
        merge::inventory(facts, sources, &self.owners, self.engine)
    }

    /// Every call of Terraform, OpenTofu or Terragrunt, in the order of the files.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.files.iter().flat_map(|(_, facts)| {
            let handed = facts.terragrunt.iter().flat_map(|file| &file.extra_arguments);
            facts.calls.iter().chain(handed)
        })
    }

    /// The same repository with other bytes in some of its files, by shown path. Files that were not read before
    /// stay unread: an edit never makes one.
    pub fn with_bytes(&self, changed: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut after = self.clone();
        for (id, facts) in &mut after.files {
            let Some(bytes) = changed.get(&id.path) else { continue };
            // A file that only a call names was read as what the call takes it for.
            let named = facts.module.is_none() && facts.terragrunt.is_none() && facts.calls.is_empty();
            let class = class_of(&id.path, id.name());
            **facts = read_file(&id.path, class, bytes).unwrap_or_default();
            if named && facts.sources.is_empty() {
                facts.sources.extend(read_config_file(&id.path, bytes).0);
            }
            // Lines are shown of what stands on the disk, where it is known to be the repository's own.
            hide_lines(facts);
        }
        after
    }
}

/// Reads everything below the paths and merges it. No files to edit are named: [`collect`] and
/// [`Collected::inventory`] do that.
///
/// # Errors
/// A path that is not there, an exclude glob that can't be read. What can't be read further down is a problem in
/// the inventory.
pub fn scan(options: &ScanOptions, progress: &dyn Progress) -> Result<Inventory, ScanError> {
    let mut collected = collect(options, progress)?;
    let sources = merge::Sources::taken(&mut collected.files);
    let (inventory, remains) = collected.merged(sources);
    // The program ends after its one scan: giving back a hundred thousand small allocations would only cost time.
    std::mem::forget(remains);
    std::mem::forget(collected);
    Ok(inventory)
}

/// Reads everything below the paths.
///
/// # Errors
/// As [`scan`].
pub fn collect(options: &ScanOptions, progress: &dyn Progress) -> Result<Collected, ScanError> {
    let walk_options = options.walk();
    let paths = walk_options.paths.clone();
    let callers = Callers::default();
    let visit = |files: &[Candidate<'_>], found: &mut Found<Box<FileFacts>>| visit(files, found, &callers);
    let counts = |name: &str| class_of(name, name).counts_when_ignored();
    let (walked, owners) = rayon::join(
        || walk::walk(&walk_options, &counts, progress, &visit),
        || read_owners(&paths, options.base.as_deref()),
    );
    let mut walked = walked?;
    tracing::info!(files = walked.kept.len(), "walked the repository and read what matters");
    callers.read(&mut walked.kept, &walked.dir_links);
    read_named_config_files(&mut walked.kept, &walk::excludes(&options.exclude)?);
    settle_locks(&mut walked.kept);
    show_link_targets(&mut walked.kept);
    hide_lines_from_outside(&mut walked.kept, &paths, options.base.as_deref());
    Ok(Collected {
        scopes: read_scopes(&walked.kept),
        module_dirs: module_dirs(&walked.kept),
        repo_prefix: repo_prefix(&paths, options.base.as_deref()),
        tops: paths.iter().map(|path| clean(&path.to_string_lossy())).collect(),
        owners,
        files: walked.kept,
        dir_links: walked.dir_links,
        problems: walked.problems,
        engine: options.engine,
    })
}

/// The files of a directory that Terraform or OpenTofu would load.
fn module_files(dir: &Path) -> Vec<PathBuf> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let files = entries.flatten().filter(|entry| is_module_file(&entry.file_name().to_string_lossy()));
    files.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

/// Directories with a Terragrunt file that also hold module files, whatever those say.
fn module_dirs(kept: &[ReadFile]) -> BTreeSet<String> {
    let units = kept.iter().filter(|(_, facts)| facts.terragrunt.is_some());
    let dirs: BTreeMap<&str, &Path> =
        units.filter_map(|(id, _)| Some((id.dir(), id.os_path.parent()?))).collect();
    dirs.into_iter()
        .filter(|(_, os_path)| !module_files(os_path).is_empty())
        .map(|(dir, _)| dir.to_owned())
        .collect()
}

/// Where relative paths begin.
fn here(base: Option<&Path>) -> io::Result<PathBuf> {
    base.map_or_else(std::env::current_dir, |base| Ok(base.to_owned()))
}

/// Where paths that are shown relative to the current directory begin, seen from the repository's root; the root itself
/// where all paths were given absolutely and lie in one repository.
fn repo_prefix(paths: &[PathBuf], base: Option<&Path>) -> Option<String> {
    if let Some(first) = paths.first().filter(|_| paths.iter().all(|path| path.is_absolute())) {
        let root = first.ancestors().find(|dir| dir.join(".git").exists())?;
        let clean = paths.iter().all(|path| path.starts_with(root) && !path.iter().any(|part| part == ".."));
        return clean.then(|| root.to_string_lossy().into_owned());
    }
    if paths.iter().any(|path| path.is_absolute() || path.starts_with("..")) {
        return None;
    }
    let here = here(base).ok()?;
    let root = here.ancestors().find(|dir| dir.join(".git").exists())?;
    Some(here.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/"))
}

/// Links to files that the walk found, too, name them by their shown path: an edit is made there, once.
fn show_link_targets(kept: &mut [ReadFile]) {
    let targets: BTreeSet<PathBuf> =
        kept.iter().filter_map(|(id, _)| id.link_target.as_ref().map(PathBuf::from)).collect();
    if targets.is_empty() {
        return;
    }
    let names: BTreeSet<_> = targets.iter().filter_map(|target| target.file_name()).collect();
    let real = |id: &FileId| {
        let named =
            id.link_target.is_none() && id.os_path.file_name().is_some_and(|name| names.contains(name));
        let path = named.then(|| fs::canonicalize(&id.os_path).ok()).flatten()?;
        Some((path, id.path.clone()))
    };
    let shown: BTreeMap<PathBuf, String> = kept.iter().filter_map(|(id, _)| real(id)).collect();
    for (id, _) in kept {
        if let Some(found) = id.link_target.as_ref().and_then(|target| shown.get(Path::new(target))) {
            id.link_target = Some(found.clone());
        }
    }
}

/// A repository may hold links, and name files, that lead to what only its reader can read. No line is shown of a file
/// that really lies outside of what was asked for, nor of one that programs keep there for themselves (`.git`).
fn hide_lines_from_outside(kept: &mut [ReadFile], paths: &[PathBuf], base: Option<&Path>) {
    let shown = |(_, facts): &&mut ReadFile| facts.problems.iter().any(|it| it.excerpt.is_some());
    let mut shown = kept.iter_mut().filter(shown).peekable();
    if shown.peek().is_none() {
        return;
    }
    let roots: Vec<PathBuf> = paths.iter().filter_map(|path| real_directory(path, base)).collect();
    for (id, facts) in shown {
        let real = fs::canonicalize(&id.os_path);
        if !real.is_ok_and(|real| roots.iter().any(|root| is_walked(&real, root))) {
            hide_lines(facts);
        }
    }
}

/// The directory, links resolved, that a path to scan is or lies in. A link to a file counts where it stands.
fn real_directory(path: &Path, base: Option<&Path>) -> Option<PathBuf> {
    let path = base.map_or_else(|| path.to_owned(), |base| base.join(path));
    let dir = if path.is_dir() { path } else { path.parent()?.to_owned() };
    let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir };
    fs::canonicalize(dir).ok()
}

fn is_walked(real: &Path, root: &Path) -> bool {
    let is_cache = |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| CACHES.contains(&part));
    real.strip_prefix(root).is_ok_and(|below| !below.iter().any(is_cache))
}

fn hide_lines(facts: &mut FileFacts) {
    for problem in &mut facts.problems {
        problem.excerpt = None;
    }
}

/// A file that is given to `-backend-config`. Terraform reads `.json` as JSON, any other name as HCL. One that sets
/// nothing is there all the same: what it says is that nothing more is set.
fn read_config_file(path: &str, bytes: &[u8]) -> (Option<Source>, Vec<Problem>) {
    if is_wide(bytes) {
        return (None, vec![wide(path)]);
    }
    let text = Text::new(bytes);
    let (source, mut problems) =
        if path.ends_with(".json") { json::read_flat_json(path, text) } else { hcl::read_flat(path, text) };
    for problem in &mut problems {
        problem.show_line(text);
    }
    let empty = problems.is_empty().then(|| hcl::flat_source(path, text, Vec::new()));
    (source.or(empty), problems)
}

/// Any file can be given to `-backend-config`, whatever its name: those that a call names and that the walk did
/// not take for one are read now. Flat files that nothing names are forgotten.
fn read_named_config_files(kept: &mut Vec<ReadFile>, exclude: &GlobSet) {
    let (mut wanted, by_pattern) = named_config_files(kept);
    wanted.retain(|shown, _| !exclude.is_match(shown));
    for (shown, os_path) in wanted {
        let (source, problems) = match bounded::read(&os_path, MAX_FILE) {
            Ok(bytes) => read_config_file(&shown, &bytes),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => (None, vec![too_large(&shown)]),
            Err(error) => (None, vec![unreadable(&shown, &error)]),
        };
        // A pattern (`$ENV.tfvars`) names many files: those without backend settings are variables and no more.
        let says_nothing = |source: &Source| !backend_arguments::identifies_a_state(&source.settings);
        let only_variables = source.as_ref().is_none_or(says_nothing) && !partial::is_well_known(&shown);
        if by_pattern.contains(&shown) && only_variables {
            continue;
        }
        match kept.binary_search_by(|(id, _)| id.path.as_str().cmp(&shown)) {
            Ok(at) => {
                if let Some((_, facts)) = kept.get_mut(at) {
                    facts.sources.extend(source);
                    let new = |problem: &Problem| !facts.problems.contains(problem);
                    let problems: Vec<Problem> = problems.into_iter().filter(new).collect();
                    facts.problems.extend(problems);
                }
            }
            Err(at) => {
                let id = FileId { path: shown, os_path, git_ignored: false, link_target: None };
                let sources = source.into_iter().collect();
                kept.insert(at, (id, Box::new(FileFacts { sources, problems, ..FileFacts::default() })));
            }
        }
    }
    kept.retain(|(_, facts)| !facts.is_empty());
}

/// Files that one script reads in, and that are looked into, at most.
const MAX_INCLUDED: usize = 32;

/// What `-lock=$LOCK` comes to, where the script or a file that it reads in says so.
fn settle_locks(kept: &mut [ReadFile]) {
    for (id, facts) in kept {
        if facts.calls.iter().all(|call| call.lock_unknown.is_none()) {
            continue;
        }
        let Ok(bytes) = bounded::read(&id.os_path, MAX_FILE) else { continue };
        let mut variables = Variables::of_script(&bytes);
        let mut waiting = included(&bytes);
        let mut seen = BTreeSet::new();
        while let Some(path) = waiting.pop() {
            let Some(path) = path.filter(|_| seen.len() < MAX_INCLUDED) else {
                variables.leave_open();
                continue;
            };
            if !seen.insert(path.clone()) {
                continue;
            }
            let mut places = places_of(id, None, &path).into_iter().map(|(_, os_path)| os_path);
            let found = places.find(|place| place.is_file());
            match found.map(|place| bounded::read(&place, MAX_FILE)) {
                Some(Ok(more)) => {
                    variables.include(&more);
                    waiting.extend(included(&more));
                }
                _ => variables.leave_open(),
            }
        }
        for call in &mut facts.calls {
            variables.settle_lock(&id.path, call);
        }
    }
}

/// Files that calls name and that are no sources yet: shown path and path to open. The second part is those that
/// only a pattern names.
fn named_config_files(kept: &[ReadFile]) -> (BTreeMap<String, PathBuf>, BTreeSet<String>) {
    let is_known = |shown: &str| {
        let at = kept.binary_search_by(|(id, _)| id.path.as_str().cmp(shown)).ok();
        at.and_then(|at| kept.get(at)).is_some_and(|(_, facts)| !facts.sources.is_empty())
    };
    let is_there = |(shown, os_path): &(String, PathBuf)| is_known(shown) || os_path.is_file();
    let modules = LazyLock::new(|| ModuleDirs::of(kept));
    let named_in = |(id, facts): &ReadFile| {
        let mut found = Vec::new();
        let inits = facts.calls.iter().filter(|call| call.subcommand == "init");
        let init_dirs: Vec<&str> = inits.filter_map(|init| init.dir.as_deref()).take(MAX_DIRS).collect();
        for call in facts.calls.iter().filter(|call| !call.config_files.is_empty()) {
            // What a script keeps in a variable is named where it runs `init`.
            let kept_for = init_dirs.iter().copied().filter(|_| call.subcommand != "init");
            let dirs: BTreeSet<&str> = call.dir.as_deref().into_iter().chain(kept_for).collect();
            for (file, _) in &call.config_files {
                let near = |file: &str| -> Vec<(String, PathBuf)> {
                    dirs.iter().flat_map(|dir| modules.places_of(id, dir, file)).collect()
                };
                let far = |file: &str| -> Vec<(String, PathBuf)> { places_of(id, call.dir.as_deref(), file) };
                if file.contains(HOLES) {
                    let by_pattern = listed(file, &near).or_else(|| listed(file, &far));
                    let by_pattern = by_pattern.into_iter().flatten();
                    found.extend(by_pattern.map(|(shown, os_path)| (shown, os_path, true)));
                    continue;
                }
                let named: Vec<_> = near(file).into_iter().filter(is_there).collect();
                // One file is meant: what the same words lead to from elsewhere belongs to no one.
                let elsewhere = named.is_empty().then(|| far(file).into_iter().find(is_there));
                let named = named.into_iter().chain(elsewhere.flatten());
                found.extend(named.map(|(shown, os_path)| (shown, os_path, false)));
            }
        }
        found.retain(|(shown, ..)| !is_known(shown));
        found
    };
    let mut found: Vec<(String, PathBuf, bool)> =
        kept.par_iter().with_min_len(256).flat_map_iter(named_in).collect();
    // Those that some call names by their own name come first.
    found.sort_by_key(|(_, _, by_pattern)| *by_pattern);
    let mut wanted: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut by_pattern = BTreeSet::new();
    for (shown, os_path, is_pattern) in found {
        if is_pattern && !wanted.contains_key(&shown) {
            by_pattern.insert(shown.clone());
        }
        wanted.entry(shown).or_insert(os_path);
    }
    let flat = kept.iter().filter(|(_, facts)| facts.is_empty());
    let flat: BTreeMap<&str, &FileId> = flat.map(|(id, _)| (id.path.as_str(), id)).collect();
    if flat.is_empty() {
        return (wanted, by_pattern);
    }
    let calls: Vec<&Call> = kept.iter().flat_map(|(_, facts)| &facts.calls).collect();
    let paths: Vec<&str> = flat.keys().copied().collect();
    for path in partial::named_files(&calls, &paths) {
        if let (Some(id), false) = (flat.get(path), wanted.contains_key(path)) {
            wanted.insert(path.to_owned(), id.os_path.clone());
            by_pattern.insert(path.to_owned());
        }
    }
    (wanted, by_pattern)
}

/// What a path holds where a placeholder stands in it.
const HOLES: [char; 5] = ['$', '{', '*', '%', '<'];

/// Directories in which one script runs `init`, and in which what it keeps for that is looked for, at most.
const MAX_DIRS: usize = 32;

/// Entries of directories that are looked at for one pattern, at most.
const MAX_LISTED: usize = 4096;

/// Files that a written path with placeholders can mean, whatever their names end in: the directories that its
/// beginning names are listed. `places` tells where such a directory is.
fn listed(written: &str, places: &dyn Fn(&str) -> Vec<(String, PathBuf)>) -> Option<Vec<(String, PathBuf)>> {
    let path = strip_base(written).unwrap_or(written);
    let is_open = |path: &str| Pattern::below(".", path).is_none_or(|pattern| pattern.is_open());
    if is_open(path) {
        return None;
    }
    // `$ROOT/conf/x.foo`: where the first directory is, the places say; else any directory is meant.
    let behind = path.split_once('/').filter(|(first, behind)| is_open(first) && !is_open(behind));
    let mut left = MAX_LISTED;
    behind.map(|(_, behind)| behind).into_iter().chain([path]).find_map(|path| {
        let hole = path.find(HOLES).unwrap_or(path.len());
        let (dir, rest) = match path.get(..hole).and_then(|head| head.rfind('/')) {
            Some(slash) => (path.get(..slash)?, path.get(slash + 1..)?),
            None => (".", path),
        };
        let depth = rest.split('/').filter(|part| !matches!(*part, "" | ".")).count();
        places(dir).into_iter().find_map(|(shown_dir, os_dir)| {
            let pattern = Pattern::below(&shown_dir, rest)?;
            let mut files = Vec::new();
            list(&shown_dir, &os_dir, depth, &mut left, &mut files);
            files.sort();
            let index = Index::new(files.iter().enumerate().map(|(at, (shown, _))| (shown.as_str(), at)));
            let found = index.find(&pattern);
            let found: Vec<_> = found.iter().filter_map(|(at, _)| files.get(*at).cloned()).collect();
            (!found.is_empty()).then_some(found)
        })
    })
}

/// Files that lie `depth` names below a directory.
fn list(shown: &str, dir: &Path, depth: usize, left: &mut usize, files: &mut Vec<(String, PathBuf)>) {
    // A pattern of more names than this is no file's.
    const DEEP: usize = 4;
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let (path, name) = (entry.path(), entry.file_name());
        let Some(shown) = name.to_str().and_then(|name| resolve(shown, name)) else { continue };
        if depth <= 1 {
            if path.is_file() {
                files.push((shown, path));
            }
        } else if depth <= DEEP && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&shown, &path, depth - 1, left, files);
        }
    }
}

/// Directories with a backend block: commands that say where they run are meant to run in these.
struct ModuleDirs<'k> {
    index: Index<'k>,
    files: Vec<&'k FileId>,
}

impl<'k> ModuleDirs<'k> {
    fn of(kept: &'k [ReadFile]) -> Self {
        let mut files: Vec<&FileId> =
            kept.iter().filter(|(_, facts)| runs(facts)).map(|(id, _)| id).collect();
        files.dedup_by_key(|id| id.dir());
        Self { index: Index::new(files.iter().enumerate().map(|(at, id)| (id.dir(), at))), files }
    }

    /// Where a file is for a command that runs in `dir`, which may hold placeholders: shown path and path to open.
    fn places_of(&self, script: &FileId, dir: &str, file: &str) -> Vec<(String, PathBuf)> {
        let patterns = bases(&script.path).filter_map(|base| Pattern::below(base, dir));
        let found = patterns.map(|pattern| self.index.find(&pattern)).find(|found| !found.is_empty());
        let files = found.into_iter().flatten().filter_map(|(at, _)| self.files.get(at));
        let place = |id: &&FileId| {
            let os_dir = id.os_path.parent().unwrap_or(Path::new(""));
            Some((resolve(id.dir(), file)?, os_dir.join(file)))
        };
        files.filter_map(place).collect()
    }
}

/// Where a file named on a command line could be: relative to the call's directory, to the script's own, and to
/// the repository's root (taken as the top of the walk). Shown path and path to open.
fn places_of(script: &FileId, call_dir: Option<&str>, file: &str) -> Vec<(String, PathBuf)> {
    let depth = script.path.matches('/').count();
    let script_dir = script.os_path.parent().unwrap_or(Path::new(""));
    let top = script_dir.ancestors().take(depth + 1).last().unwrap_or(script_dir);
    let mut places: Vec<(String, PathBuf)> = Vec::new();
    let mut bases = vec![(dir_of(&script.path), script_dir), (".", top)];
    // A pipeline's commands run at the top of the repository; what that is, an absolute path does not tell.
    if is_automation(&script.path) {
        bases.reverse();
    }
    bases.retain(|(shown, _)| *shown != "." || !script.path.starts_with('/'));
    for (shown_base, os_base) in bases {
        for dir in call_dir.filter(|dir| *dir != ".").into_iter().chain(["."]) {
            let Some(shown_dir) = resolve(shown_base, dir) else { continue };
            let Some(shown) = resolve(&shown_dir, file) else { continue };
            if places.iter().all(|(have, _)| *have != shown) {
                let os_dir = if dir == "." { os_base.to_owned() } else { os_base.join(dir) };
                places.push((shown, os_dir.join(file)));
            }
        }
    }
    places
}

/// Variables and locals of the directories whose backend or readers refer to some.
fn read_scopes(kept: &[ReadFile]) -> BTreeMap<String, Scope> {
    let refers = |(_, facts): &&ReadFile| {
        let Some(module) = &facts.module else { return false };
        let mut sources = module.backends.iter().map(|block| &block.source).chain(&module.readers);
        sources.any(|source| source.settings.iter().any(|setting| setting.value.refers()))
    };
    let files = kept.par_iter().with_min_len(256).filter(refers);
    // One file of a directory leads to all of them.
    let dirs: BTreeMap<&str, &Path> = files.map(|(id, _)| (id.dir(), id.os_path.as_path())).collect();
    dirs.into_par_iter().map(|(dir, file)| (dir.to_owned(), read_scope(file))).collect()
}

/// Variables and locals of a file's directory.
pub(super) fn read_scope(file: &Path) -> Scope {
    let dir = file.parent().unwrap_or(Path::new("."));
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut names = module_files(dir);
    // Only OpenTofu takes variables in a backend: what its files hide does not count. Overrides come last.
    let all: Vec<String> = names.iter().map(|path| name_of(path)).collect();
    names.retain(|path| path.extension().is_none_or(|end| end != "json"));
    names.retain(|path| {
        let name = name_of(path);
        name.strip_suffix(".tf").is_none_or(|stem| !all.contains(&format!("{stem}.tofu")))
    });
    names.sort_by_key(|path| (is_override_file(&name_of(path)), name_of(path)));
    let all = |paths: &[PathBuf]| -> Option<Vec<Vec<u8>>> {
        paths.iter().map(|path| bounded::read(path, MAX_FILE).ok()).collect()
    };
    // A value that one file gives may be taken back by another: without all of them nothing is known.
    let (Some(bytes), Some(given)) = (all(&names), all(&automatic_var_files(dir))) else {
        return Scope::default();
    };
    let texts: Vec<Text<'_>> = bytes.iter().map(|bytes| Text::new(bytes)).collect();
    let given: Vec<Text<'_>> = given.iter().map(|bytes| Text::new(bytes)).collect();
    hcl::scope_of(&texts, &given)
}

/// Files of values that are read without being named, in the order in which later ones win. Source: "Assigning
/// values to root module variables" in the documentation of Terraform and OpenTofu.
fn automatic_var_files(dir: &Path) -> Vec<PathBuf> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let named = |name: &str| name == "terraform.tfvars" || name == "terraform.tfvars.json";
    names.retain(|name| named(name) || name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json"));
    names.sort_by_key(|name| (!named(name), name.clone()));
    names.iter().map(|name| dir.join(name)).filter(|path| path.is_file()).collect()
}

/// The repository's CODEOWNERS, in the places where GitHub and GitLab look.
fn read_owners(paths: &[PathBuf], base: Option<&Path>) -> Owners {
    let Some(start) = paths.first() else { return Owners::default() };
    let start = base.map_or_else(|| start.clone(), |base| base.join(start));
    let Ok(start) = fs::canonicalize(start) else { return Owners::default() };
    for dir in start.ancestors() {
        for place in owners::LOCATIONS {
            if let Ok(text) = bounded::read_text(&dir.join(place), owners::MAX_BYTES) {
                let cwd = here(base).and_then(fs::canonicalize).unwrap_or_default();
                return Owners::parse(&text).seen_from(Home::new(dir, &cwd));
            }
        }
        if dir.join(".git").exists() {
            break;
        }
    }
    Owners::default()
}
