//! How far the migration was at earlier commits: each of some commits is laid out in a directory of its own and scanned
//! there as the working tree is. Git's plumbing hands over trees and raw bytes, so that neither hooks nor filters run,
//! and the user's working tree and index stay as they are.

use std::path::{Path, PathBuf};

use super::git::{GitError, Repository, run};
use super::past_tree::{Tree, TreeError};
use crate::interrupts;
use crate::moment::Moment;
use crate::repo::inventory::Inventory;
use crate::repo::scan::{ScanError, ScanOptions, Silent, scan};

/// A commit on the branch's first-parent line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its object name, in hex.
    pub id: String,
    /// When it was committed, by the committer's clock.
    pub at: Moment,
}

/// What one commit came to.
#[derive(Debug)]
pub struct Look {
    /// The commit.
    pub commit: Commit,
    /// What a scan of it finds.
    pub inventory: Inventory,
    /// Files and links of it that could not be laid out, and may hide something.
    pub missing: usize,
}

/// How many commits, and which.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Commits at most, spread evenly over all that touch the paths; the oldest and the newest are among them.
    pub points: usize,
    /// Only commits from then on.
    pub since: Option<Moment>,
}

/// Why the past can't be told.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    /// No repository.
    #[error("{0} lies in no git repository: run this in a clone")]
    NoRepository(String),
    /// More than one.
    #[error("{0} lies in another git repository than the first path: take one repository at a time")]
    Elsewhere(String),
    /// A repository in which nobody has committed.
    #[error("this branch has no commit yet: there is something to see after the first ones")]
    Unborn,
    /// None that touches the paths.
    #[error("no commit of this branch touches these paths: commit them, or name paths that are committed")]
    Untouched,
    /// None that is new enough.
    #[error("no commit since {0} touches these paths: take an earlier day for `--since`")]
    NoneSince(String),
    /// Git said no.
    #[error("{}", told(.0))]
    Git(#[from] GitError),
    /// A commit was not laid out.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The scan did not begin.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Looks at earlier commits, the oldest first, and hands over each. Returns what the history does not show, if there is
/// such a thing.
///
/// # Errors
/// When there is no history to be seen; what was handed over until then stays true.
pub fn look_back(
    options: &ScanOptions,
    wanted: Wanted,
    each: &mut dyn FnMut(Look),
) -> Result<Option<String>, PastError> {
    let scanned = Scanned::of(&options.paths)?;
    if scanned.repository.is_unborn()? {
        return Err(PastError::Unborn);
    }
    let commits = commits(&scanned, wanted.since)?;
    let mut limits = Vec::new();
    if let Some(oldest) = commits.first()
        && !scanned.repository.shallow_boundary()?.is_empty()
    {
        limits.push(format!(
            "the clone is shallow: nothing is known of the time before {} (`git fetch --unshallow` brings the rest)",
            day_of(oldest.at)
        ));
    }
    let mut tree = Tree::new(&scanned.repository)?;
    let mut submodules = 0;
    for commit in spread(commits.len(), wanted.points).filter_map(|at| commits.get(at)) {
        let laid = tree.lay_out(&commit.id)?;
        submodules = laid.submodules.max(submodules);
        let base = tree.root().join(&scanned.base);
        std::fs::create_dir_all(&base).map_err(TreeError::Write)?;
        let paths: Vec<PathBuf> =
            scanned.paths.iter().filter(|path| base.join(path).exists()).cloned().collect();
        let inventory = if paths.is_empty() {
            Inventory::default()
        } else {
            scan(&ScanOptions { paths, base: Some(base), ..options.clone() }, &Silent)?
        };
        // Asked here too, since a commit that has nothing new asks git nothing.
        if interrupts::heard() {
            return Err(GitError::Interrupted.into());
        }
        each(Look { commit: commit.clone(), inventory, missing: laid.missing });
    }
    if submodules > 0 {
        limits.push(match submodules {
            1 => "1 submodule is another repository, and not looked into".to_owned(),
            n => format!("{n} submodules are other repositories, and not looked into"),
        });
    }
    Ok((!limits.is_empty()).then(|| limits.join("; ")))
}

/// The day of a moment: what `--since` takes.
fn day_of(at: Moment) -> String {
    at.to_string().chars().take(10).collect()
}

/// What git's own words come to for somebody who reads a report, with what to do. Words that are not known here are
/// kept, in one line.
fn told(error: &GitError) -> String {
    let GitError::Failed { command, said } = error else { return error.to_string() };
    if said.contains("dubious ownership") {
        // Its own words end with the command, the directory quoted as a shell wants it.
        let advice = said.lines().map(str::trim).find(|line| line.starts_with("git config"));
        let advice = advice.unwrap_or("git config --global --add safe.directory DIRECTORY");
        return format!(
            "git does not answer about a directory of somebody else's: run as its owner, or trust it with `{advice}`"
        );
    }
    let lacks =
        ["bad object", "missing", "unable to read", "could not get object", "not our ref", "bad tree"];
    if lacks.iter().any(|words| said.contains(words)) {
        return format!(
            "this clone lacks objects of its own history, or they are damaged (`git fsck` tells which): {}",
            in_one_line(said)
        );
    }
    format!("`git {command}` failed: {}", in_one_line(said))
}

/// Several lines of git's as one, without the words that say how bad it is.
fn in_one_line(said: &str) -> String {
    let lines = said.lines().map(|line| {
        let line = line.trim();
        ["fatal: ", "error: "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line)
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The scanned paths, as they are found again in a copy of the repository.
struct Scanned {
    repository: Repository,
    /// The directory that the paths begin at, from the repository's top.
    base: PathBuf,
    /// Paths from there.
    paths: Vec<PathBuf>,
    /// The same from the top: what git is asked with.
    from_top: Vec<PathBuf>,
}

impl Scanned {
    fn of(paths: &[PathBuf]) -> Result<Self, PastError> {
        let here = [PathBuf::from(".")];
        let paths = if paths.is_empty() { &here[..] } else { paths };
        let no_repository = |path: &Path| PastError::NoRepository(format!("`{}`", path.display()));
        let first = paths.first().ok_or_else(|| no_repository(Path::new(".")))?;
        let repository = Repository::around(first).ok_or_else(|| no_repository(first))?;
        let mut from_top = Vec::new();
        for path in paths {
            let relative = (Repository::around(path).as_ref() == Some(&repository))
                .then(|| repository.relative(path))
                .flatten()
                .ok_or_else(|| PastError::Elsewhere(format!("`{}`", path.display())))?;
            from_top.push(relative);
        }
        // Seen from the same directory the paths have the same names, and so have the findings' places.
        let own = paths.iter().all(|path| path.is_relative()).then(|| repository.relative(Path::new(".")));
        let (base, paths) = match own.flatten() {
            Some(base) => (base, paths.to_vec()),
            None => (PathBuf::new(), from_top.iter().map(|path| top_or(path)).collect()),
        };
        Ok(Self { repository, base, paths, from_top })
    }
}

fn top_or(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() }
}

/// Commits of the first-parent line that touch the paths, the oldest first.
fn commits(scanned: &Scanned, since: Option<Moment>) -> Result<Vec<Commit>, PastError> {
    let mut command = scanned.repository.reading();
    command.args(["rev-list", "--first-parent", "--timestamp", "HEAD", "--"]);
    // The whole repository: every commit.
    if scanned.from_top.iter().all(|path| !path.as_os_str().is_empty()) {
        command.args(&scanned.from_top);
    }
    let output = run(&mut command, "rev-list", None)?;
    let text = String::from_utf8_lossy(&output);
    let commit = |line: &str| {
        let (time, id) = line.split_once(' ')?;
        Some(Commit { id: id.to_owned(), at: Moment::from_seconds(time.parse().ok()?) })
    };
    let mut commits: Vec<Commit> = text.lines().filter_map(commit).collect();
    if commits.is_empty() {
        return Err(PastError::Untouched);
    }
    commits.retain(|commit| since.is_none_or(|since| commit.at >= since));
    if let (true, Some(since)) = (commits.is_empty(), since) {
        return Err(PastError::NoneSince(day_of(since)));
    }
    commits.reverse();
    Ok(commits)
}

/// Which of `all` things to look at: `points` of them, evenly spread, the first and the last among them.
fn spread(all: usize, points: usize) -> impl Iterator<Item = usize> {
    let points = points.min(all);
    (0..points).map(move |n| match points {
        1 => all - 1,
        points => n * (all - 1) / (points - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_s_words_become_a_reason_and_what_to_do() {
        let failed = |said: &str| {
            PastError::from(GitError::Failed { command: "rev-list".to_owned(), said: said.to_owned() })
                .to_string()
        };
        assert_eq!(
            failed(
                "fatal: detected dubious ownership in repository at '/r'\nTo add an exception for this directory, \
                 call:\n\n\tgit config --global --add safe.directory /r"
            ),
            "git does not answer about a directory of somebody else's: run as its owner, or trust it with `git config \
             --global --add safe.directory /r`"
        );
        assert_eq!(
            failed("fatal: bad object HEAD"),
            "this clone lacks objects of its own history, or they are damaged (`git fsck` tells which): bad object HEAD"
        );
        assert_eq!(failed("error: one\n\tfatal: two\n"), "`git rev-list` failed: one; two");
    }

    #[test]
    fn the_first_and_the_last_are_always_among_them() {
        let at = |all, points| spread(all, points).collect::<Vec<_>>();
        assert_eq!(at(0, 12), [0_usize; 0]);
        assert_eq!(at(1, 12), [0]);
        assert_eq!(at(5, 12), [0, 1, 2, 3, 4]);
        assert_eq!(at(100, 4), [0, 33, 66, 99]);
        assert_eq!(at(7, 1), [6]);
    }
}
