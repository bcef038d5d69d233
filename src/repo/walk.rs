//! The walk: finds files below the given paths, in parallel, with git's ignore rules. It opens directories and
//! files and decides nothing about their content.
//!
//! It differs from a plain ripgrep walk in four ways, each because Terraform differs from git: hidden files are
//! seen (`.github`), a git-ignored configuration file in a visited directory is seen and marked (Terraform loads
//! it all the same), what git tracks is seen whatever its ignore rules say, and links to directories are noted, never
//! followed into a loop.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rayon::slice::ParallelSliceMut;

use super::bounded;
use super::buffer::Buffer;
use super::directory::{Directory, Kind, Listing};
use super::facts::FileId;
use super::problem::{Problem, ProblemKind};
use super::shown::text_of;
use super::text::Place;
use super::tracked::Repository;

/// Directories that programs write for themselves: copies of what stands elsewhere, never edited by people.
pub(super) const CACHES: &[&str] =
    &[".git", ".terraform", ".terragrunt-cache", ".hg", ".svn", "node_modules"];

/// Where to walk and what to leave out.
#[derive(Debug, Clone, Default)]
pub struct WalkOptions {
    /// Files and directories to begin at.
    pub paths: Vec<PathBuf>,
    /// Globs of shown paths to leave out.
    pub exclude: Vec<String>,
    /// Look into what git ignores, too.
    pub no_ignore: bool,
    /// Threads of its own; absent means those that the program has.
    pub threads: Option<usize>,
    /// Where relative paths begin; absent means the current directory. Paths are shown as given either way.
    pub base: Option<PathBuf>,
}

/// Why a walk could not begin.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A path that was asked for is not there.
    #[error("{path}: {source}")]
    NoSuchPath {
        /// As given.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// An exclude glob can't be read.
    #[error("exclude glob `{glob}`: {source}")]
    BadGlob {
        /// As given.
        glob: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// No threads to be had.
    #[error("could not start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// What the walk found beside the files themselves.
#[derive(Debug)]
pub struct Walked<T> {
    /// What `visit` kept, sorted by path.
    pub kept: Vec<(FileId, T)>,
    /// Links to directories inside the walk: shown path of the link, shown path of its target.
    pub dir_links: Vec<(String, String)>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Files seen.
    pub files: u64,
}

/// Files that a large repository keeps. Room that is not used takes no memory, and growing would copy all of it.
const ROOM: usize = 16 * 1024;

/// Told now and then how far a long walk is.
pub trait Progress: Sync {
    /// `seen` files so far.
    fn files(&self, seen: u64);
}

/// No one wants to know.
pub struct Silent;

impl Progress for Silent {
    fn files(&self, _seen: u64) {}
}

/// One file on its way through the walk: nothing is opened or allocated until asked.
pub struct Candidate<'a> {
    dir: &'a Dir,
    /// Absent for a file that was asked for by its own name: its directory is not listed.
    opened: Option<&'a Directory>,
    name: &'a OsStr,
    standing: Standing,
    is_link: bool,
}

impl Candidate<'_> {
    /// The file name as text.
    pub fn name(&self) -> Cow<'_, str> {
        text_of(self.name)
    }

    /// Whether git ignores it.
    pub fn git_ignored(&self) -> bool {
        self.standing.is_marked()
    }

    /// The shown path of its directory.
    pub fn dir(&self) -> &str {
        &self.dir.shown
    }

    /// The path to open it by.
    pub fn os_path(&self) -> PathBuf {
        let dir = &self.dir.os_path;
        let mut path = PathBuf::with_capacity(dir.as_os_str().len() + 1 + self.name.len());
        path.push(dir);
        path.push(self.name);
        path
    }

    /// Everything that identifies it.
    pub fn id(&self) -> FileId {
        let os_path = self.os_path();
        let link_target = self.is_link.then(|| fs::canonicalize(&os_path).ok()).flatten();
        FileId {
            path: join(&self.dir.shown, &text_of(self.name)),
            git_ignored: self.git_ignored(),
            link_target: link_target.map(|target| text_of(target.as_os_str()).into_owned()),
            os_path,
        }
    }

    /// Reads up to `limit` bytes into `buffer`, replacing what was there. Says whether that was all.
    ///
    /// # Errors
    /// What the system says of opening or reading it.
    pub fn read(&self, buffer: &mut Buffer, limit: usize) -> io::Result<bool> {
        buffer.clear();
        let file = match self.opened {
            // What stands in a directory of the walk is what its listing said; only a link leads elsewhere.
            Some(directory) if !self.is_link => directory.open_file(self.name)?,
            _ => bounded::open(&self.os_path())?.0,
        };
        buffer.fill(&file, limit)
    }
}

/// What is kept of one directory's files.
#[derive(Debug)]
pub struct Found<T> {
    /// Files that matter.
    pub kept: Vec<(FileId, T)>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), problems: Vec::new() }
    }
}

impl<T> Found<T> {
    fn with_room(room: usize) -> Self {
        Self { kept: Vec::with_capacity(room), problems: Vec::new() }
    }

    fn and(mut self, mut other: Self) -> Self {
        if self.kept.len() < other.kept.len() {
            std::mem::swap(&mut self.kept, &mut other.kept);
        }
        self.kept.append(&mut other.kept);
        self.problems.append(&mut other.problems);
        self
    }
}

/// Looks at one directory's files, all of them together: what one file matters may depend on those beside it.
pub type Visit<'a, T> = dyn Fn(&[Candidate<'_>], &mut Found<T>) + Sync + 'a;

/// A directory on the way down.
struct Dir {
    shown: String,
    os_path: PathBuf,
    /// Without links: what ignore rules are asked with.
    real: PathBuf,
    ignores: Option<Arc<Ignores>>,
    /// The repository around it; git's ignore rules hold nowhere else.
    repository: Option<Arc<Repository>>,
    /// Git ignores it, and tracks something below it all the same.
    git_ignored: bool,
    /// A link that leads out of the walk: its own files are read, its subdirectories are not.
    flat: bool,
    /// It need not be on the file system of the directory before it, which was looked at: a link led here, the walk begins
    /// here, or it is where systems show themselves (`/proc`).
    is_new_ground: bool,
}

impl Dir {
    /// What ignore rules say of an entry, by its path without links. `.ignore` is the user's own word; what git's
    /// rules name may be tracked all the same.
    fn standing(&self, path: &Path, is_dir: bool) -> Standing {
        match self.rule_for(path, is_dir) {
            Some(Rule::Plain) => Standing::Ignored,
            Some(Rule::Git) => match self.repository.as_ref().is_some_and(|git| git.tracks(path, is_dir)) {
                true => Standing::Tracked { by_name: !self.git_ignored },
                false => Standing::Ignored,
            },
            None => Standing::Plain,
        }
    }

    fn rule_for(&self, path: &Path, is_dir: bool) -> Option<Rule> {
        let rule = self.ignores.as_ref().and_then(|rules| rules.ignores(path, is_dir));
        rule.or(self.git_ignored.then_some(Rule::Git))
    }
}

/// What ignore rules say of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing.
    Plain,
    /// It is ignored.
    Ignored,
    /// Git's rules name it, or only a directory above it, and git tracks it: a rule that names it may keep it from
    /// being added again.
    Tracked { by_name: bool },
}

impl Standing {
    /// Whether the file carries the mark of an ignored one.
    fn is_marked(self) -> bool {
        matches!(self, Standing::Ignored | Standing::Tracked { by_name: true })
    }
}

/// Which kind of file ignores something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// `.gitignore` and git's other lists.
    Git,
    /// `.ignore`.
    Plain,
}

/// Ignore rules of one directory, and of those above it.
struct Ignores {
    rules: Vec<(Rule, Gitignore)>,
    parent: Option<Arc<Ignores>>,
}

impl Ignores {
    fn ignores(&self, path: &Path, is_dir: bool) -> Option<Rule> {
        let mut level = Some(self);
        while let Some(at) = level {
            for (rule, rules) in &at.rules {
                match rules.matched(path, is_dir) {
                    ignore::Match::Ignore(_) => return Some(*rule),
                    ignore::Match::Whitelist(_) => return None,
                    ignore::Match::None => {}
                }
            }
            level = at.parent.as_deref();
        }
        None
    }
}

struct Shared<'a, T> {
    visit: &'a Visit<'a, T>,
    keep_ignored: &'a (dyn Fn(&str) -> bool + Sync),
    exclude: GlobSet,
    no_ignore: bool,
    roots: Vec<(PathBuf, String)>,
    progress: &'a dyn Progress,
    files: AtomicU64,
    /// What each thread found.
    found: Vec<Mutex<Found<T>>>,
    /// What was found by none of them.
    other: Mutex<Found<T>>,
    dir_links: Mutex<Vec<(String, String)>>,
}

impl<T> Shared<'_, T> {
    /// This thread's own: nobody waits for another one's.
    fn slot(&self) -> &Mutex<Found<T>> {
        let own = rayon::current_thread_index().and_then(|thread| self.found.get(thread));
        own.unwrap_or(&self.other)
    }

    fn problem(&self, problem: Problem) {
        lock(self.slot()).problems.push(problem);
    }
}

/// Walks and gives every directory's files to `visit`. A git-ignored file is given only when `keep_ignored` says that its
/// name matters to Terraform.
pub fn walk<T: Send>(
    options: &WalkOptions,
    keep_ignored: &(dyn Fn(&str) -> bool + Sync),
    progress: &dyn Progress,
    visit: &Visit<'_, T>,
) -> Result<Walked<T>, WalkError> {
    let threads = options.threads.unwrap_or_else(rayon::current_num_threads).max(1);
    let exclude = excludes(&options.exclude)?;
    let starts = starts(&options.paths, options.base.as_deref(), keep_ignored)?;

    let shared = Shared {
        visit,
        keep_ignored,
        exclude,
        no_ignore: options.no_ignore,
        roots: starts
            .iter()
            .filter(|start| !start.flat)
            .map(|start| (start.canonical.clone(), start.shown.clone()))
            .collect(),
        progress,
        files: AtomicU64::new(0),
        found: std::iter::repeat_with(|| Mutex::new(Found::with_room(ROOM))).take(threads).collect(),
        other: Mutex::default(),
        dir_links: Mutex::new(Vec::new()),
    };
    let own = options.threads.map(|count| rayon::ThreadPoolBuilder::new().num_threads(count).build());
    let pool = own.transpose()?;
    in_pool(pool.as_ref(), |scope| {
        for Start { canonical, shown, given, flat } in &starts {
            let shared = &shared;
            if canonical.is_dir() {
                let root = if options.no_ignore { None } else { repository_around(canonical) };
                let dir = Dir {
                    shown: shown.clone(),
                    os_path: given.clone(),
                    real: canonical.clone(),
                    ignores: root.map(|root| ignores_above(canonical, root)),
                    repository: root.map(|root| Arc::new(Repository::new(root))),
                    git_ignored: false,
                    flat: *flat,
                    is_new_ground: true,
                };
                scope.spawn(move |scope| walk_dir(shared, scope, dir));
            } else if !canonical.is_file() {
                no_file(shared, shown);
            } else if let Some(name) = given.file_name() {
                let os_path = parent_of(given);
                let shown = super::facts::dir_of(shown).to_owned();
                let dir = Dir {
                    shown,
                    real: os_path.clone(),
                    os_path,
                    ignores: None,
                    repository: None,
                    git_ignored: false,
                    flat: true,
                    is_new_ground: true,
                };
                let standing = Standing::Plain;
                let file = Candidate { dir: &dir, opened: None, name, standing, is_link: false };
                visit_files(shared, &[file]);
            }
        }
    });
    let taken = |found: Mutex<Found<T>>| found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Found { mut kept, mut problems } =
        shared.found.into_iter().map(taken).fold(taken(shared.other), Found::and);
    put_in_order(&mut kept);
    let mut dir_links = shared.dir_links.into_inner().unwrap_or_else(PoisonError::into_inner);
    dir_links.sort();
    problems.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(Walked { kept, dir_links, problems, files: shared.files.into_inner() })
}

/// Sorts files by their path.
pub(super) fn put_in_order<T: Send>(files: &mut [(FileId, T)]) {
    files.par_sort_unstable_by(|(a, _), (b, _)| a.path.cmp(&b.path));
}

fn in_pool<'s>(own: Option<&rayon::ThreadPool>, work: impl FnOnce(&rayon::Scope<'s>) + Send) {
    match own {
        Some(pool) => pool.scope(work),
        None => rayon::scope(work),
    }
}

/// Where the walk begins.
struct Start {
    canonical: PathBuf,
    shown: String,
    given: PathBuf,
    /// Only the directory's own files.
    flat: bool,
}

/// The given paths, each place once. Terraform loads whole directories, so a single configuration file stands for
/// the files of its directory: what it sets is not known without the override files beside it.
fn starts(
    paths: &[PathBuf],
    base: Option<&Path>,
    is_configuration: &dyn Fn(&str) -> bool,
) -> Result<Vec<Start>, WalkError> {
    let from_base = |path: &Path| base.map_or_else(|| path.to_owned(), |base| base.join(path));
    let mut starts: Vec<Start> = Vec::new();
    for path in paths {
        let failed = |source| WalkError::NoSuchPath { path: path.display().to_string(), source };
        let canonical = fs::canonicalize(from_base(path)).map_err(failed)?;
        let name = path.file_name().map(text_of).unwrap_or_default();
        let (named, flat) = if canonical.is_file() && is_configuration(&name) {
            (parent_of(path), true)
        } else {
            (path.clone(), false)
        };
        let given = from_base(&named);
        let canonical = if flat { fs::canonicalize(&given).map_err(failed)? } else { canonical };
        let start = Start { canonical, shown: shown_start(&named), given, flat };
        match starts.iter_mut().find(|have| have.canonical == start.canonical) {
            Some(have) if have.flat => *have = start,
            Some(_) => {}
            None => starts.push(start),
        }
    }
    // A path inside another one is walked once, by the outer.
    let outer: Vec<(PathBuf, bool)> =
        starts.iter().map(|start| (start.canonical.clone(), start.flat)).collect();
    starts.retain(|start| {
        !outer.iter().any(|(other, flat)| {
            let covers = if *flat {
                start.canonical.parent() == Some(other) && start.canonical.is_file()
            } else {
                start.canonical.starts_with(other)
            };
            *other != start.canonical && covers
        })
    });
    Ok(starts)
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// How a start path is shown: as given, without `./` in front or `/` behind; `.` for the current directory.
fn shown_start(path: &Path) -> String {
    let text =
        path.to_str().map_or_else(|| text_of(path.as_os_str()).into_owned(), |text| text.replace('\\', "/"));
    let mut shown = text.as_str();
    while let Some(rest) = shown.strip_prefix("./") {
        shown = rest.trim_start_matches('/');
    }
    let shown = if shown.len() > 1 { shown.trim_end_matches('/') } else { shown };
    if shown.is_empty() { ".".to_owned() } else { shown.to_owned() }
}

/// A shown path from its directory and name.
pub fn join(dir: &str, name: &str) -> String {
    match dir {
        "." | "" => name.to_owned(),
        "/" => format!("/{name}"),
        _ => {
            let mut path = String::with_capacity(dir.len() + 1 + name.len());
            path.push_str(dir);
            path.push('/');
            path.push_str(name);
            path
        }
    }
}

/// Globs of shown paths as one matcher.
///
/// # Errors
/// A glob that can't be read.
pub fn excludes(globs: &[String]) -> Result<GlobSet, WalkError> {
    let mut exclude = GlobSetBuilder::new();
    for glob in globs {
        // No shown path begins with `./`.
        let glob = glob.trim_start_matches("./");
        let bad = |source| WalkError::BadGlob { glob: glob.to_owned(), source };
        exclude.add(Glob::new(glob).map_err(bad)?);
        // `modules` means the directory and all below it, as in `.gitignore`.
        exclude.add(Glob::new(&format!("{}/**", glob.trim_end_matches('/'))).map_err(bad)?);
    }
    exclude.build().map_err(|source| WalkError::BadGlob { glob: globs.join(", "), source })
}

/// Ignore rules that hold where the walk begins: git's own excludes and the files above, up to the repository's
/// root.
fn ignores_above(canonical: &Path, root: &Path) -> Arc<Ignores> {
    let (global, _) = Gitignore::global();
    let mut exclude = GitignoreBuilder::new(root);
    rules_from(&mut exclude, &root.join(".git/info/exclude"));
    let exclude = exclude.build().unwrap_or_else(|_| Gitignore::empty());
    let base = vec![(Rule::Git, exclude), (Rule::Git, global)];
    let mut level = Arc::new(Ignores { rules: base, parent: None });
    let between: Vec<&Path> = canonical.ancestors().skip(1).take_while(|dir| dir.starts_with(root)).collect();
    for dir in between.iter().rev() {
        let rules = ignore_files(dir, dir.join(".gitignore").exists(), dir.join(".ignore").exists());
        if !rules.is_empty() {
            level = Arc::new(Ignores { rules, parent: Some(level) });
        }
    }
    level
}

/// The root of the repository that a directory is in.
fn repository_around(canonical: &Path) -> Option<&Path> {
    canonical.ancestors().find(|dir| dir.join(".git").exists())
}

fn ignore_files(dir: &Path, git: bool, plain: bool) -> Vec<(Rule, Gitignore)> {
    let mut rules = Vec::new();
    for (present, name, rule) in [(plain, ".ignore", Rule::Plain), (git, ".gitignore", Rule::Git)] {
        if present {
            let mut builder = GitignoreBuilder::new(dir);
            rules_from(&mut builder, &dir.join(name));
            rules.extend(builder.build().ok().map(|built| (rule, built)));
        }
    }
    rules
}

/// The rules of one file, where it is one. Not the library's own way of reading it: that waits at pipes, and reads
/// devices without end.
fn rules_from(builder: &mut GitignoreBuilder, file: &Path) {
    /// Nobody keeps so many rules.
    const MAX_RULES: usize = 4 * 1024 * 1024;
    let Ok(bytes) = bounded::read(file, MAX_RULES) else { return };
    let text = String::from_utf8_lossy(&bytes);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A malformed line is passed over, as git does.
        let _ = builder.add_line(Some(file.to_owned()), line);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unreadable(path: &str, error: &io::Error) -> Problem {
    Problem {
        kind: ProblemKind::Unreadable,
        place: Place { file: path.to_owned(), line: 1, column: 1 },
        message: format!("could not be read ({error}); what it holds is not known"),
        excerpt: None,
    }
}

fn walk_dir<'s, T: Send>(shared: &'s Shared<'_, T>, scope: &rayon::Scope<'s>, mut dir: Dir) {
    let opened = Directory::open(&dir.os_path).and_then(|opened| {
        if dir.is_new_ground && opened.is_shown_only()? {
            return Err(io::Error::other(bounded::SHOWN_ONLY));
        }
        Ok((opened.list()?, opened))
    });
    let (entries, opened) = match opened {
        Ok(opened) => opened,
        Err(error) => return shared.problem(unreadable(&dir.shown, &error)),
    };
    if !shared.no_ignore {
        add_rules(&mut dir, &entries);
    }
    let dir = &dir;
    let mut files = Vec::with_capacity(entries.len());
    // One path for all entries: with most of them nothing is done but asking the rules.
    let mut real = dir.real.clone();
    for (name, kind) in entries.iter() {
        real.push(name);
        let candidate = |standing, is_link| Candidate { dir, opened: Some(&opened), name, standing, is_link };
        match kind {
            Kind::Dir => enter(shared, scope, dir, name, &real),
            Kind::File => files.extend(counts(shared, candidate(dir.standing(&real, false), false))),
            Kind::Link => {
                let standing = dir.standing(&real, false);
                if visit_link(shared, scope, dir, name, standing) {
                    files.extend(counts(shared, candidate(standing, true)));
                }
            }
            Kind::Other if (shared.keep_ignored)(&text_of(name)) => {
                no_file(shared, &join(&dir.shown, &text_of(name)));
            }
            Kind::Other => {}
        }
        real.pop();
    }
    visit_files(shared, &files);
}

/// The repository that begins here, and the ignore rules that stand here.
fn add_rules(dir: &mut Dir, entries: &Listing) {
    let has = |name: &str| entries.iter().any(|(have, _)| have == name);
    if has(".git") && dir.repository.as_ref().is_none_or(|around| !around.is_at(&dir.real)) {
        dir.repository = Some(Arc::new(Repository::new(&dir.real)));
    }
    let git = dir.repository.is_some() && has(".gitignore");
    let rules = ignore_files(&dir.real, git, has(".ignore"));
    if !rules.is_empty() {
        dir.ignores = Some(Arc::new(Ignores { rules, parent: dir.ignores.take() }));
    }
}

/// Goes into a subdirectory, unless something speaks against it.
fn enter<'s, T: Send>(
    shared: &'s Shared<'_, T>,
    scope: &rayon::Scope<'s>,
    dir: &Dir,
    name: &OsStr,
    real: &Path,
) {
    let known_cache = name.to_str().is_some_and(|name| CACHES.contains(&name));
    if dir.flat || known_cache || dir.standing(real, true) == Standing::Ignored {
        return;
    }
    let shown = join(&dir.shown, &text_of(name));
    if shared.exclude.is_match(&shown) {
        return;
    }
    let child = Dir {
        shown,
        os_path: dir.os_path.join(name),
        ignores: dir.ignores.clone(),
        repository: dir.repository.clone(),
        git_ignored: dir.rule_for(real, true).is_some(),
        real: real.to_owned(),
        flat: false,
        is_new_ground: dir.real.parent().is_none(),
    };
    scope.spawn(move |scope| walk_dir(shared, scope, child));
}

/// Sockets, pipes and devices: opening them could block, or never end. Terraform would read one of this name.
fn no_file<T>(shared: &Shared<'_, T>, shown: &str) {
    if !shared.exclude.is_match(shown) {
        shared.problem(Problem {
            kind: ProblemKind::Unreadable,
            place: Place { file: shown.to_owned(), line: 1, column: 1 },
            message: "is a pipe, a socket or a device and is not opened; what it holds is not known"
                .to_owned(),
            excerpt: None,
        });
    }
}

/// Notes or follows a link to a directory. Says whether the link leads to a file.
fn visit_link<'s, T: Send>(
    shared: &'s Shared<'_, T>,
    scope: &rayon::Scope<'s>,
    dir: &Dir,
    name: &OsStr,
    standing: Standing,
) -> bool {
    let os_path = dir.os_path.join(name);
    let shown = join(&dir.shown, &text_of(name));
    match fs::metadata(&os_path) {
        Ok(target) if target.is_file() => return true,
        Ok(target)
            if target.is_dir()
                && standing != Standing::Ignored
                && !dir.flat
                && !shared.exclude.is_match(&shown) =>
        {
            let Ok(target) = fs::canonicalize(&os_path) else { return false };
            match shared.roots.iter().find(|(root, _)| target.starts_with(root)) {
                Some((root, root_shown)) => {
                    let below = text_of(target.strip_prefix(root).unwrap_or(Path::new("")).as_os_str());
                    let target_shown =
                        if below.is_empty() { root_shown.clone() } else { join(root_shown, &below) };
                    let inside_itself = target_shown == "." || shown.starts_with(&format!("{target_shown}/"));
                    if inside_itself {
                        shared.problem(Problem {
                            kind: ProblemKind::SymlinkLoop,
                            place: Place { file: shown, line: 1, column: 1 },
                            message: format!(
                                "the link leads back to {target_shown}, which is walked already"
                            ),
                            excerpt: None,
                        });
                    } else {
                        lock(&shared.dir_links).push((shown, target_shown));
                    }
                }
                None => {
                    let child = Dir {
                        shown,
                        os_path,
                        real: target,
                        ignores: None,
                        repository: None,
                        git_ignored: false,
                        flat: true,
                        is_new_ground: true,
                    };
                    scope.spawn(move |scope| walk_dir(shared, scope, child));
                }
            }
        }
        Ok(target) if !target.is_dir() && (shared.keep_ignored)(&text_of(name)) => {
            no_file(shared, &shown);
        }
        Ok(_) => {}
        // A dangling link to something that Terraform would load is a failure there, too.
        Err(error) if (shared.keep_ignored)(&text_of(name)) && !shared.exclude.is_match(&shown) => {
            shared.problem(unreadable(&shown, &error));
        }
        Err(_) => {}
    }
    false
}

/// The file, unless ignore rules or excludes leave it out.
fn counts<'a, T>(shared: &Shared<'_, T>, file: Candidate<'a>) -> Option<Candidate<'a>> {
    if file.standing == Standing::Ignored && !(shared.keep_ignored)(&file.name()) {
        return None;
    }
    let excluded = !shared.exclude.is_empty() && shared.exclude.is_match(join(file.dir(), &file.name()));
    (!excluded).then_some(file)
}

fn visit_files<T: Send>(shared: &Shared<'_, T>, files: &[Candidate<'_>]) {
    const STEP: u64 = 1024;
    if files.is_empty() {
        return;
    }
    let count = u64::try_from(files.len()).unwrap_or(u64::MAX);
    let before = shared.files.fetch_add(count, Ordering::Relaxed);
    if (before + count) / STEP > before / STEP {
        shared.progress.files(before + count);
    }
    (shared.visit)(files, &mut lock(shared.slot()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    fn names(root: &Path, options: WalkOptions) -> (Vec<(String, bool)>, Walked<usize>) {
        let options = WalkOptions { paths: vec![root.to_owned()], ..options };
        let walked = walk(&options, &|name| name.ends_with(".tf"), &Silent, &|files, found| {
            for file in files {
                let mut buffer = Buffer::default();
                assert!(file.read(&mut buffer, 1 << 20).unwrap());
                found.kept.push((file.id(), buffer.bytes().len()));
            }
        })
        .unwrap();
        let prefix = format!("{}/", root.display());
        let shown = walked
            .kept
            .iter()
            .map(|(id, _)| (id.path.strip_prefix(&prefix).unwrap().to_owned(), id.git_ignored))
            .collect();
        (shown, walked)
    }

    fn yes(path: &str) -> (String, bool) {
        (path.to_owned(), false)
    }

    #[test]
    fn ignored_configuration_counts_and_is_marked_caches_do_not() {
        let root = tree(&[
            (".git/HEAD", ""),
            (".gitignore", "*_override.tf\nbuild/\n*.log\n!keep.log\n"),
            (".github/workflows/ci.yml", "x"),
            ("a/main.tf", "12345"),
            ("a/x_override.tf", ""),
            ("a/x.log", ""),
            ("a/keep.log", ""),
            ("a/.terraform/modules/m/main.tf", ""),
            ("build/main.tf", ""),
        ]);
        let (shown, walked) = names(root.path(), WalkOptions::default());
        assert_eq!(
            shown,
            [
                yes(".github/workflows/ci.yml"),
                yes(".gitignore"),
                yes("a/keep.log"),
                yes("a/main.tf"),
                ("a/x_override.tf".to_owned(), true),
            ]
        );
        assert_eq!(walked.kept[3].1, 5, "a file is read whole");
    }

    #[test]
    fn what_git_tracks_is_seen_in_an_ignored_directory() {
        let root = tree(&[
            (".git/HEAD", ""),
            (".gitignore", "terragrunt\n*.auto.tf\n"),
            ("a/terragrunt/deep/main.tf", ""),
            ("a/terragrunt/run.sh", ""),
            ("a/terragrunt/new.sh", ""),
            ("a/terragrunt/new.tf", ""),
            ("b/terragrunt/main.tf", ""),
            ("x.auto.tf", ""),
            (".ignore", "/private\n"),
            ("private/main.tf", ""),
        ]);
        let tracked = ["a/terragrunt/deep/main.tf", "a/terragrunt/run.sh", "private/main.tf", "x.auto.tf"];
        fs::write(root.path().join(".git/index"), crate::repo::tracked::tests::index(2, &tracked)).unwrap();
        let (shown, _) = names(root.path(), WalkOptions::default());
        let new = ("a/terragrunt/new.tf".to_owned(), true);
        let [first, second, _, (last, _)] = tracked.map(yes);
        assert_eq!(shown, [yes(".gitignore"), yes(".ignore"), first, new, second, (last, true)]);
    }

    #[test]
    fn ignore_rules_hold_only_in_a_repository() {
        let root = tree(&[
            (".gitignore", "*.tf\n"),
            ("a.tf", ""),
            ("c/.git/HEAD", ""),
            ("c/.gitignore", "*.tf\n"),
            ("c/b.tf", ""),
        ]);
        let (shown, _) = names(root.path(), WalkOptions::default());
        assert_eq!(shown, [yes(".gitignore"), yes("a.tf"), yes("c/.gitignore"), ("c/b.tf".to_owned(), true)]);
    }

    #[test]
    fn rules_above_the_start_hold_and_no_ignore_lifts_them() {
        let root =
            tree(&[(".git/HEAD", ""), (".gitignore", "/sub/out/\n"), ("sub/out/a.tf", ""), ("sub/b.tf", "")]);
        let (shown, _) = names(&root.path().join("sub"), WalkOptions::default());
        assert_eq!(shown, [yes("b.tf")]);
        let (shown, _) =
            names(&root.path().join("sub"), WalkOptions { no_ignore: true, ..WalkOptions::default() });
        assert_eq!(shown, [yes("b.tf"), yes("out/a.tf")]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_noted_never_followed_round() {
        use std::os::unix::fs::symlink;
        let outside = tree(&[("main.tf", ""), ("deep/main.tf", "")]);
        let root = tree(&[("a/main.tf", "")]);
        symlink(root.path().join("a"), root.path().join("b")).unwrap();
        symlink(root.path(), root.path().join("a/up")).unwrap();
        symlink(root.path().join("loop.tf"), root.path().join("loop.tf")).unwrap();
        symlink(outside.path(), root.path().join("out")).unwrap();
        symlink("main.tf", root.path().join("a/same.tf")).unwrap();
        let (shown, walked) = names(root.path(), WalkOptions::default());
        assert_eq!(shown, [yes("a/main.tf"), yes("a/same.tf"), yes("out/main.tf")]);
        assert_eq!(walked.dir_links.len(), 1);
        assert!(walked.dir_links[0].0.ends_with("/b") && walked.dir_links[0].1.ends_with("/a"));
        let kinds: Vec<ProblemKind> = walked.problems.iter().map(|p| p.kind).collect();
        // A directory that leads back hides nothing; a file that leads to itself was not read.
        assert_eq!(kinds, [ProblemKind::SymlinkLoop, ProblemKind::Unreadable]);
        assert!(walked.kept[1].0.link_target.as_deref().unwrap().ends_with("a/main.tf"));
    }

    #[test]
    fn excludes_and_missing_paths() {
        let root = tree(&[("a/main.tf", ""), ("b/main.tf", "")]);
        let exclude = vec!["**/b".to_owned()];
        let (shown, _) = names(root.path(), WalkOptions { exclude, ..WalkOptions::default() });
        assert_eq!(shown, [yes("a/main.tf")]);
        let options = WalkOptions { paths: vec![root.path().join("no")], ..WalkOptions::default() };
        let visit = |_: &[Candidate<'_>], _: &mut Found<()>| {};
        assert!(matches!(walk(&options, &|_| false, &Silent, &visit), Err(WalkError::NoSuchPath { .. })));
    }
}
