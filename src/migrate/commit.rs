//! `--commit`: planned bytes as commits on a new branch, made in a temporary worktree of its own, so that neither the
//! user's working tree nor the index is touched. The commits are the user's: made by the user's `git`, with the
//! user's name, signature and hooks. What came out is compared with the plan, and taken back if it differs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::diff::name_of;
use super::git::{GitError, Repository, git, reading_in, run, run_for, says_yes};
use super::plan::FileChange;
use super::program::{Whose, output_of};
use super::scratch::{self, Scratch};
use crate::repo::bounded;
use crate::repo::scan::MAX_FILE;
use crate::shell::word;

/// What the worktree is called in its directory.
const TREE: &str = "tree";

/// One commit to make.
#[derive(Debug, Clone)]
pub struct Commit<'a> {
    /// The whole message: subject, blank line, body.
    pub message: String,
    /// What it changes.
    pub files: Vec<&'a FileChange>,
}

/// A worktree and a branch that go away again unless the work is finished.
struct Bench<'a> {
    repository: &'a Repository,
    branch: &'a str,
    tree: PathBuf,
    finished: bool,
    /// Holds the directory, and signals until all of it is gone.
    _scratch: Scratch,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // What can't be removed is told by the next run that meets it. The files first: git removes no working tree that
        // was not finished, but forgets one that is gone. Twice forced, since an interrupted one stays locked.
        let _ = fs::remove_dir_all(&self.tree);
        let mut remove = self.repository.reading();
        remove.args(["worktree", "remove", "--force", "--force"]).arg(&self.tree);
        let _ = output_of(&mut remove, None, Whose::Cleaning);
        if !self.finished {
            let mut delete = self.repository.reading();
            delete.args(["branch", "-q", "-D", "--", self.branch]);
            let _ = output_of(&mut delete, None, Whose::Cleaning);
        }
    }
}

/// Makes the commits, one after the other, on a new branch that begins at HEAD. Returns their hashes. When anything
/// fails there is no branch.
///
/// # Errors
/// Not a repository with a commit, the branch exists, a file is not in HEAD as it was planned on (changed or not
/// committed), a hook refuses or changes something, or git says no.
pub fn commit(
    repository: &Repository,
    branch: &str,
    commits: &[Commit<'_>],
) -> Result<Vec<String>, GitError> {
    check_branch(repository, branch)?;
    let bench = bench(repository, branch)?;
    let mut hashes = Vec::new();
    let mut paths = Vec::new();
    for commit in commits {
        paths.push(targets(repository, &bench.tree, commit)?);
    }
    for (commit, paths) in commits.iter().zip(&paths) {
        hashes.push(one(&bench.tree, commit, paths)?);
    }
    let mut bench = bench;
    bench.finished = true;
    Ok(hashes)
}

fn check_branch(repository: &Repository, branch: &str) -> Result<(), GitError> {
    let full = format!("refs/heads/{branch}");
    let mut format = repository.reading();
    format.args(["check-ref-format", &full]);
    // git itself refuses branches that look like options.
    if branch.starts_with('-') || !says_yes(&mut format, "check-ref-format")? {
        return Err(GitError::Refused(format!("`{branch}` is no name for a branch")));
    }
    let mut head = repository.reading();
    head.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    if !says_yes(&mut head, "rev-parse")? {
        return Err(GitError::Refused("the repository has no commit to begin a branch at".to_owned()));
    }
    let mut show = repository.reading();
    show.args(["show-ref", "--verify", "--quiet", &full]);
    if !says_yes(&mut show, "show-ref")? {
        return Ok(());
    }
    let mut list = repository.reading();
    list.args(["worktree", "list", "--porcelain", "-z"]);
    let trees = match run(&mut list, "worktree list", None) {
        // An older git can't say it so.
        Err(GitError::Failed { .. }) => Vec::new(),
        trees => trees?,
    };
    Err(GitError::Refused(match tree_of(&trees, &full) {
        None => {
            format!("the branch `{branch}` exists already: name another one with --branch, or delete it")
        }
        // An earlier run was killed, or another one is at work now.
        Some(tree) if tree.ends_with(TREE) && tree.parent().is_some_and(scratch::is_one) => {
            let (dir, tree) = (quoted(tree.parent().unwrap_or(&tree)), quoted(&tree));
            format!(
                "the branch `{branch}` is being made in {tree}: by another run, or by one that was killed. If none is \
                 running, clear away what it left:\n  rm -rf {dir}\n  git worktree remove --force --force {tree}\n  \
                 git branch -D {}",
                word(branch)
            )
        }
        Some(tree) => format!(
            "the branch `{branch}` exists already and is checked out in {}: name another one with --branch",
            tree.display()
        ),
    }))
}

/// A path as a word for the shell.
fn quoted(path: &Path) -> String {
    word(&path.display().to_string())
}

/// Where a branch is checked out, by what `worktree list --porcelain -z` says: attributes, each with a zero behind it, and
/// one more zero after each working tree.
fn tree_of(list: &[u8], branch: &str) -> Option<PathBuf> {
    let wanted = [b"branch ", branch.as_bytes()].concat();
    let mut tree = None;
    for attribute in list.split(|byte| *byte == 0) {
        if let Some(path) = attribute.strip_prefix(b"worktree ") {
            tree = Some(PathBuf::from(String::from_utf8_lossy(path).into_owned()));
        } else if attribute == wanted {
            return tree;
        }
    }
    None
}

fn bench<'a>(repository: &'a Repository, branch: &'a str) -> Result<Bench<'a>, GitError> {
    let failed = |error: std::io::Error| GitError::Refused(format!("no temporary directory: {error}"));
    let scratch = Scratch::new().map_err(failed)?;
    let tree = scratch.path().map_err(failed)?.join(TREE);
    // Checking out must not run the hooks that a commit may run.
    let mut add = repository.laying_out();
    add.args(["worktree", "add", "--quiet", "--no-track", "-b", branch]).arg(&tree).arg("HEAD");
    let bench = Bench { repository, branch, tree, finished: false, _scratch: scratch };
    run(&mut add, "worktree add", None)?;
    Ok(bench)
}

/// The files of a commit in the worktree, as paths from its top. Each must hold there what was planned on.
fn targets(repository: &Repository, tree: &Path, commit: &Commit<'_>) -> Result<Vec<PathBuf>, GitError> {
    let mut paths = Vec::new();
    let mut wrong = Vec::new();
    for file in &commit.files {
        let Some(relative) = repository.relative(&file.os_path) else {
            wrong.push(format!("{} lies outside of this repository", file.file));
            continue;
        };
        let path = tree.join(&relative);
        match bounded::read(&path, MAX_FILE) {
            // A link in the commit where the working tree has none would lead elsewhere.
            _ if fs::canonicalize(&path).is_ok_and(|real| real != path) => {
                wrong.push(format!("{} is reached through a link in the last commit", file.file));
            }
            Ok(bytes) if bytes == file.before => paths.push(relative),
            Ok(_) => wrong.push(format!("{} has changes that are not committed", file.file)),
            Err(_) => wrong.push(format!("{} is not in the last commit", file.file)),
        }
    }
    if wrong.is_empty() {
        return Ok(paths);
    }
    Err(GitError::Refused(format!(
        "nothing was committed, because {}; commit or stash that first, or use --write",
        wrong.join(", and ")
    )))
}

fn one(tree: &Path, commit: &Commit<'_>, paths: &[PathBuf]) -> Result<String, GitError> {
    let mut names = Vec::new();
    for (file, path) in commit.files.iter().zip(paths) {
        fs::write(tree.join(path), &file.after).map_err(|error| {
            GitError::Refused(format!("{} could not be written for the commit: {error}", file.file))
        })?;
        names.extend_from_slice(&name_of(path));
        names.push(0);
    }
    let mut add = git(tree);
    add.args(["add", "--pathspec-from-file=-", "--pathspec-file-nul"]);
    run(&mut add, "add", Some(&names))?;
    // The user's hooks and signature belong to the user's commits.
    let mut make = git(tree);
    make.args(["commit", "--quiet", "--cleanup=whitespace", "--file=-"]);
    run_for(Whose::Users, &mut make, "commit", Some(commit.message.as_bytes()))?;
    as_planned(tree, commit, paths)?;
    let mut head = reading_in(tree);
    head.args(["rev-parse", "HEAD"]);
    let hash = run(&mut head, "rev-parse", None)?;
    Ok(String::from_utf8_lossy(&hash).trim().to_owned())
}

/// Hooks may change files while committing; what was proven is what must be committed.
fn as_planned(tree: &Path, commit: &Commit<'_>, paths: &[PathBuf]) -> Result<(), GitError> {
    let mut changed = reading_in(tree);
    changed.args(["diff-tree", "-r", "--no-commit-id", "--name-only", "--no-renames", "-z", "HEAD"]);
    let changed = run(&mut changed, "diff-tree", None)?;
    let got: BTreeSet<Vec<u8>> =
        changed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    let wanted: BTreeSet<Vec<u8>> = paths.iter().map(|path| name_of(path)).collect();
    let same = |(file, path): (&&FileChange, &PathBuf)| {
        bounded::read(&tree.join(path), MAX_FILE).is_ok_and(|bytes| bytes == file.after)
    };
    if got == wanted && commit.files.iter().zip(paths).all(same) {
        return Ok(());
    }
    Err(GitError::Refused(
        "nothing was committed, because a hook of this repository changed what was planned".to_owned(),
    ))
}
