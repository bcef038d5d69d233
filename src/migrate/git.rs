//! The repository around the files, asked through the user's own `git`, never changed here: where its top is, since
//! when a setting stands on this branch, which branches are still to be merged. Only commands that read, and none of
//! them may run anything that the repository's own configuration names (hooks, pagers, filters of diffs, helpers) or
//! touch the network.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::diff::name_of;
use super::options::History;
use super::program::{NoAnswer, Whose, output_of};
use crate::repo::bounded;

/// A line that switches the lockfile on, as `git` matches it: an argument of HCL or JSON, or a flag's word. Lines
/// with a comment sign before it don't count. What else could stand there (`!false`) is not recognised, and then the
/// history is unknown, never older than it is.
const SETTING: &str = r#"^[^#/]*use_lockfile"?[[:space:]]*[=:][[:space:]]*"?(true|1)"#;

/// Renamed files whose history is followed at most: each takes a walk through the whole history.
const MAX_FOLLOWED: usize = 200;

/// A shallow clone ends at some commits, each named in a line.
const MAX_SHALLOW: usize = 64 * 1024 * 1024;

/// Variables by which a surrounding `git` (a hook, an alias) would point ours at another repository or index.
const FOREIGN: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A repository's working tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repository {
    top: PathBuf,
}

/// What `git` had to say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("`git` could not be started: {0}")]
    NotStarted(String),
    /// It ended with an error.
    #[error("`git {command}` failed: {said}")]
    Failed {
        /// The subcommand.
        command: String,
        /// Its own words.
        said: String,
    },
    /// It was asked, and said nothing.
    #[error(
        "`git {command}` did not answer within {seconds} s and was ended: look at what stands in `.git`, or give it more time by LOCKSHIFT_GIT_TIMEOUT"
    )]
    Late {
        /// The subcommand.
        command: String,
        /// How long it had.
        seconds: String,
    },
    /// A signal came before it had ended.
    #[error("the run was interrupted")]
    Interrupted,
    /// What it would have to do is refused here.
    #[error("{0}")]
    Refused(String),
}

impl Repository {
    /// The repository that a path lies in: the nearest directory above with a `.git`. Looks, and runs nothing.
    pub fn around(path: &Path) -> Option<Self> {
        let real = fs::canonicalize(path).ok()?;
        let top = real.ancestors().find(|dir| dir.join(".git").exists())?;
        Some(Self { top: top.to_owned() })
    }

    /// The top of its working tree, links resolved.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// What a path is called from the top, links resolved; none when it lies elsewhere.
    pub fn relative(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(path).ok()?.strip_prefix(&self.top).ok().map(Path::to_owned)
    }

    /// A command that only reads.
    pub(super) fn reading(&self) -> Command {
        reading_in(&self.top)
    }

    /// A command that only reads, but for the working tree of its own that it fills: it makes files as the user's other
    /// commands do, so it asks the user's list of attributes.
    pub(super) fn laying_out(&self) -> Command {
        without_programs(&self.top)
    }

    /// Commits whose parents a shallow clone lacks; none in a whole one.
    pub(super) fn shallow_boundary(&self) -> Result<BTreeSet<String>, GitError> {
        let mut command = self.reading();
        command.args(["rev-parse", "--path-format=absolute", "--git-path", "shallow"]);
        let path = run(&mut command, "rev-parse", None)?;
        let path = String::from_utf8_lossy(&path).trim_end_matches('\n').to_owned();
        match bounded::read_text(Path::new(&path), MAX_SHALLOW) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => {
                Err(GitError::Refused(format!("where the history ends could not be read ({path}: {error})")))
            }
        }
    }

    /// Whether nothing was committed yet: the branch that HEAD names is not there.
    pub(super) fn is_unborn(&self) -> Result<bool, GitError> {
        let mut command = self.reading();
        command.args(["rev-parse", "--quiet", "--verify", "HEAD"]);
        let output =
            output_of(&mut command, None, Whose::Ours).map_err(|why| GitError::silent("rev-parse", why))?;
        // It says nothing about a name that leads nowhere; anything else that stops it has words.
        Ok(!output.status.success() && output.stderr.is_empty())
    }

    /// Branches, local and remote, with commits that this one lacks.
    ///
    /// # Errors
    /// Git can't tell.
    pub fn unmerged_branches(&self) -> Result<Vec<String>, GitError> {
        let mut command = self.reading();
        command
            .args(["for-each-ref", "--no-merged=HEAD", "--format=%(refname:short)"])
            .args(["refs/heads", "refs/remotes"]);
        let output = run(&mut command, "for-each-ref", None)?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }
}

/// `git` in a directory, in English, without a pager, away from the network and from what surrounds us.
pub(super) fn git(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).arg("--no-pager");
    // Files that could be pipes or have no end, and that no answer or commit of ours depends on: an order of files in
    // diffs, and a list of ignored ones, which says nothing of those that are committed.
    command.args(["-c", "diff.orderFile=/dev/null", "-c", "core.excludesFile=/dev/null"]);
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        // A partial clone would fetch what it lacks, and large-file storage what it stands for.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_LFS_SKIP_SMUDGE", "1")
        .env("GIT_LITERAL_PATHSPECS", "1");
    command
}

/// The same, and nothing that the repository's configuration names is run or waited for.
fn without_programs(dir: &Path) -> Command {
    let mut command = git(dir);
    command
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
        .args(["-c", "log.showSignature=false"])
        // As above, of people's names.
        .args(["-c", "log.mailmap=false", "-c", "mailmap.file=/dev/null"])
        // No way of fetching is left, whatever a remote's address says (`ext::` runs a program).
        .env("GIT_ALLOW_PROTOCOL", "");
    command
}

/// A command in a directory that only reads.
pub(super) fn reading_in(dir: &Path) -> Command {
    let mut command = without_programs(dir);
    command.args(["-c", "core.attributesFile=/dev/null"]);
    command
}

impl GitError {
    /// Why `git` did not answer.
    pub(super) fn silent(command: &str, why: NoAnswer) -> Self {
        match why {
            NoAnswer::Io(error) => GitError::NotStarted(error.to_string()),
            NoAnswer::Late(limit) => {
                GitError::Late { command: command.to_owned(), seconds: limit.as_secs_f32().to_string() }
            }
            NoAnswer::Interrupted => GitError::Interrupted,
        }
    }
}

/// Runs a command to its end: its output, or its own words when it failed.
pub(super) fn run(command: &mut Command, name: &str, stdin: Option<&[u8]>) -> Result<Vec<u8>, GitError> {
    run_for(Whose::Ours, command, name, stdin)
}

/// The same for a command that may be the user's own.
pub(super) fn run_for(
    whose: Whose,
    command: &mut Command,
    name: &str,
    stdin: Option<&[u8]>,
) -> Result<Vec<u8>, GitError> {
    let output = output_of(command, stdin, whose).map_err(|why| GitError::silent(name, why))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said = if said.is_empty() { output.status.to_string() } else { said };
    Err(GitError::Failed { command: name.to_owned(), said })
}

/// Whether git says yes. That it said nothing at all is neither.
pub(super) fn says_yes(command: &mut Command, name: &str) -> Result<bool, GitError> {
    match run(command, name, None) {
        Ok(_) => Ok(true),
        Err(GitError::Failed { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Since when `use_lockfile` stands in each of these files (as shown, with the path to open it by) on the branch that
/// is checked out: the time of the commit on the branch's first-parent line that last changed how often it is
/// switched on there. A merge counts with the time when it was merged.
pub fn history(files: &BTreeMap<String, PathBuf>) -> BTreeMap<String, History> {
    let mut found = BTreeMap::new();
    let mut repositories: BTreeMap<Repository, BTreeMap<&str, PathBuf>> = BTreeMap::new();
    for (shown, path) in files {
        match Repository::around(path) {
            None => {
                found.insert(shown.clone(), unknown("it lies in no git repository"));
            }
            Some(repository) => {
                let Some(relative) = repository.relative(path) else { continue };
                repositories.entry(repository).or_default().insert(shown, relative);
            }
        }
    }
    // Repositories within one another, each made to be waited for, are waited for once.
    let mut silent = None;
    for (repository, names) in repositories {
        let known = match &silent {
            None => of_repository(&repository, &names),
            Some(why) => Err(GitError::clone(why)),
        };
        match known {
            Ok(known) => found.extend(known),
            Err(error) => {
                let why = error.to_string();
                if matches!(error, GitError::Late { .. }) {
                    silent = Some(error);
                }
                found.extend(names.keys().map(|shown| ((*shown).to_owned(), unknown(&why))));
            }
        }
    }
    found
}

fn unknown(why: &str) -> History {
    History::Unknown(why.to_owned())
}

fn of_repository(
    repository: &Repository,
    names: &BTreeMap<&str, PathBuf>,
) -> Result<BTreeMap<String, History>, GitError> {
    let boundary = repository.shallow_boundary()?;
    let standing = standing_at_head(repository)?;
    let changes = changes(repository)?;
    let mut followed = 0;
    let mut found = BTreeMap::new();
    for (shown, relative) in names {
        let name = name_of(relative);
        let history = if !standing.contains(&name) {
            unknown("it is not committed there on this branch")
        } else if let Some((commit, time)) = changes.get(&name) {
            judged(commit, *time, &boundary)
        } else if followed >= MAX_FOLLOWED {
            unknown("the file was renamed, and too many others were, too")
        } else {
            followed += 1;
            match follow(repository, relative)? {
                Some((commit, time)) => judged(&commit, time, &boundary),
                None => unknown("git knows no commit that brought it"),
            }
        };
        found.insert((*shown).to_owned(), history);
    }
    Ok(found)
}

/// Where a shallow clone ends everything seems to be new.
fn judged(commit: &str, time: i64, boundary: &BTreeSet<String>) -> History {
    if boundary.contains(commit) {
        unknown("the clone is shallow, and it stands already where the history ends: `git fetch --unshallow`")
    } else {
        History::Since(time)
    }
}

/// Files of the branch's last commit that hold the setting.
fn standing_at_head(repository: &Repository) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let mut command = repository.reading();
    command.args(["grep", "--no-textconv", "--full-name", "-l", "-z", "-a", "-E", "-e", SETTING, "HEAD"]);
    let output = output_of(&mut command, None, Whose::Ours).map_err(|why| GitError::silent("grep", why))?;
    // 1: nothing matches, or there is no commit yet.
    if !matches!(output.status.code(), Some(0 | 1)) {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(GitError::Failed { command: "grep".to_owned(), said });
    }
    let names = output.stdout.split(|byte| *byte == 0);
    Ok(names.filter_map(|name| name.strip_prefix(b"HEAD:")).map(<[u8]>::to_vec).collect())
}

/// The arguments that find commits which changed how often the setting stands in a file.
fn log(repository: &Repository) -> Command {
    let mut command = repository.reading();
    command
        .args(["log", "--first-parent", "-m", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "-z"])
        .args(["--name-only", "--no-relative", "--format=%x01%H %ct", "--pickaxe-regex"])
        .arg(format!("-S{SETTING}"));
    command
}

/// For each file the newest such commit and its time.
fn changes(repository: &Repository) -> Result<BTreeMap<Vec<u8>, (String, i64)>, GitError> {
    let mut command = log(repository);
    command.arg("HEAD");
    let output = run(&mut command, "log", None)?;
    let mut found = BTreeMap::new();
    let mut commit = None;
    for word in output.split(|byte| *byte == 0) {
        if let Some(head) = header(word) {
            commit = Some(head);
            continue;
        }
        let name = word.strip_prefix(b"\n").unwrap_or(word);
        if let (Some(commit), false) = (&commit, name.is_empty()) {
            // Newest first.
            found.entry(name.to_vec()).or_insert_with(|| commit.clone());
        }
    }
    Ok(found)
}

/// The same for one file, through its former names.
fn follow(repository: &Repository, file: &Path) -> Result<Option<(String, i64)>, GitError> {
    let mut command = log(repository);
    command.args(["--follow", "--max-count=1", "HEAD", "--"]).arg(file.as_os_str() as &OsStr);
    let output = run(&mut command, "log", None)?;
    Ok(output.split(|byte| *byte == 0).find_map(header))
}

/// `\x01HASH TIME`.
fn header(word: &[u8]) -> Option<(String, i64)> {
    let text = std::str::from_utf8(word.strip_prefix(b"\x01")?).ok()?;
    let (commit, time) = text.trim_end().split_once(' ')?;
    Some((commit.to_owned(), time.parse().ok()?))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    /// A repository of its own, with a clock.
    struct Bench {
        dir: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let bench = Self { dir };
            bench.git(0, &["init", "-q", "-b", "main"]);
            bench
        }

        fn git(&self, day: u32, args: &[&str]) {
            let date = format!("2026-01-{:02}T00:00:00 +0000", day.max(1));
            let mut command = git(self.dir.path());
            command
                .args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgSign=false"])
                .args(args)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_COMMITTER_DATE", &date)
                .env("GIT_AUTHOR_DATE", "2020-01-01T00:00:00 +0000");
            run(&mut command, args[0], None).unwrap();
        }

        fn commit(&self, day: u32, file: &str, text: &str) {
            let path = self.dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self.git(day, &["add", "."]);
            self.git(day, &["commit", "-q", "-m", "x"]);
        }

        fn since(&self, file: &str) -> History {
            let files = BTreeMap::from([("shown".to_owned(), self.dir.path().join(file))]);
            history(&files).remove("shown").unwrap()
        }
    }

    /// Midnight of a day in January 2026, in seconds.
    fn day(day: i64) -> History {
        History::Since(1_767_225_600 + (day - 1) * 86_400)
    }

    #[test]
    fn the_last_time_it_was_switched_on_counts() {
        let bench = Bench::new();
        bench.commit(1, "ü a/main.tf", "# use_lockfile = true\n");
        assert_eq!(bench.since("ü a/main.tf"), unknown("it is not committed there on this branch"));
        bench.commit(2, "ü a/main.tf", "use_lockfile = true\n");
        bench.commit(3, "ü a/main.tf", "use_lockfile   = true\nx = 1\n");
        assert_eq!(bench.since("ü a/main.tf"), day(2));
        bench.commit(4, "ü a/main.tf", "x = 1\n");
        bench.commit(5, "ü a/main.tf", "x = 1\n  \"use_lockfile\": \"true\"\n");
        assert_eq!(bench.since("ü a/main.tf"), day(5));
        bench.git(6, &["mv", "ü a/main.tf", "moved.tf"]);
        bench.git(6, &["commit", "-q", "-m", "x"]);
        assert_eq!(bench.since("moved.tf"), day(5));
        // Not committed: this branch does not have it, whatever the file says.
        fs::write(bench.dir.path().join("new.tf"), "use_lockfile = true\n").unwrap();
        assert_eq!(bench.since("new.tf"), unknown("it is not committed there on this branch"));
    }

    #[test]
    fn a_merge_counts_with_its_own_day() {
        let bench = Bench::new();
        bench.commit(1, "main.tf", "x = 1\n");
        bench.git(1, &["checkout", "-q", "-b", "topic"]);
        bench.commit(2, "main.tf", "use_lockfile = true\n");
        bench.git(3, &["checkout", "-q", "main"]);
        bench.commit(3, "other.tf", "x = 1\n");
        let repository = Repository::around(bench.dir.path()).unwrap();
        assert_eq!(repository.unmerged_branches().unwrap(), ["topic"]);
        bench.git(9, &["merge", "-q", "--no-ff", "-m", "m", "topic"]);
        assert_eq!(bench.since("main.tf"), day(9));
        // A detached HEAD is a branch like any other.
        bench.git(9, &["checkout", "-q", "--detach"]);
        assert_eq!(bench.since("main.tf"), day(9));
        assert_eq!(repository.unmerged_branches().unwrap(), [""; 0]);
    }

    #[test]
    fn what_git_can_not_tell_has_its_reason() {
        let bench = Bench::new();
        let none = tempfile::tempdir().unwrap();
        fs::write(none.path().join("main.tf"), "use_lockfile = true\n").unwrap();
        let files = BTreeMap::from([("a".to_owned(), none.path().join("main.tf"))]);
        assert_eq!(history(&files)["a"], unknown("it lies in no git repository"));

        fs::write(bench.dir.path().join("main.tf"), "use_lockfile = true\n").unwrap();
        assert!(matches!(bench.since("main.tf"), History::Unknown(_)), "there is no commit yet");
        bench.commit(1, "main.tf", "use_lockfile = true\n");
        bench.commit(2, "other.tf", "use_lockfile = true\n");
        let shallow = tempfile::tempdir().unwrap();
        let url = format!("file://{}", bench.dir.path().display());
        let mut command = git(shallow.path());
        run(command.args(["clone", "-q", "--depth=1", &url, "c"]), "clone", None).unwrap();
        let files = BTreeMap::from([("a".to_owned(), shallow.path().join("c/main.tf"))]);
        let History::Unknown(why) = &history(&files)["a"] else { panic!("a shallow clone can't tell") };
        assert!(why.contains("shallow"), "{why}");
    }

    #[test]
    fn nothing_that_the_repository_names_is_run() {
        let bench = Bench::new();
        bench.commit(1, "main.tf", "use_lockfile = true\n");
        let (trap, sprung) = (bench.dir.path().join("trap"), bench.dir.path().join("sprung"));
        fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\nexec cat\n", sprung.display())).unwrap();
        fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        fs::write(bench.dir.path().join(".gitattributes"), "*.tf diff=trap filter=trap\n").unwrap();
        let trap = trap.display().to_string();
        for key in [
            "core.pager",
            "core.fsmonitor",
            "diff.external",
            "diff.trap.command",
            "diff.trap.textconv",
            "filter.trap.smudge",
            "filter.trap.clean",
            "gpg.program",
            "core.sshCommand",
            "core.gitProxy",
            "core.askPass",
            "core.editor",
            "core.alternateRefsCommand",
            "credential.helper",
            "uploadpack.packObjectsHook",
        ] {
            bench.git(1, &["config", key, &trap]);
        }
        for alias in ["alias.log", "alias.grep", "alias.rev-parse"] {
            bench.git(1, &["config", alias, &format!("!{trap}")]);
        }
        bench.git(1, &["config", "core.hooksPath", &bench.dir.path().display().to_string()]);
        for hook in ["post-index-change", "reference-transaction", "post-checkout"] {
            fs::copy(&trap, bench.dir.path().join(hook)).unwrap();
        }
        bench.git(1, &["config", "submodule.recurse", "true"]);
        bench.git(1, &["config", "diff.submodule", "diff"]);
        bench.git(1, &["config", "log.showSignature", "true"]);
        assert_eq!(bench.since("main.tf"), day(1));
        let _ = Repository::around(bench.dir.path()).unwrap().unmerged_branches();
        assert!(!sprung.exists());
    }

    /// A clone that lacks objects asks its remote for them, and a remote's address may name a program.
    #[test]
    fn what_is_missing_is_not_fetched() {
        let bench = Bench::new();
        bench.commit(1, "main.tf", "use_lockfile = true\n");
        let (trap, sprung) = (bench.dir.path().join("trap"), bench.dir.path().join("sprung"));
        fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\n", sprung.display())).unwrap();
        fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", &format!("ext::{}", trap.display())),
            ("protocol.allow", "always"),
            ("protocol.ext.allow", "always"),
        ] {
            bench.git(1, &["config", key, value]);
        }
        let mut find = git(bench.dir.path());
        let blob = run(find.args(["rev-parse", "HEAD:main.tf"]), "rev-parse", None).unwrap();
        let blob = String::from_utf8(blob).unwrap();
        let (dir, name) = blob.trim().split_at(2);
        fs::remove_file(bench.dir.path().join(".git/objects").join(dir).join(name)).unwrap();
        let files = BTreeMap::from([("a".to_owned(), bench.dir.path().join("main.tf"))]);
        assert!(matches!(&history(&files)["a"], History::Unknown(_)));
        assert!(!sprung.exists());
        // The trap would have sprung: without our precautions git does fetch.
        let mut careless = Command::new("git");
        careless.arg("-C").arg(bench.dir.path()).args(["cat-file", "-p", "HEAD:main.tf"]);
        let _ = output_of(&mut careless, None, Whose::Ours).unwrap();
        assert!(sprung.exists());
    }
}
