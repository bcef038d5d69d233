//! One commit's files in a temporary directory. Names and links come from a repository that nobody vouches for: no name
//! leads out of the directory, and a link that does is not made.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use super::git::{GitError, Repository, run};
use super::program::{Answering, NoAnswer};
use super::scratch::Scratch;
use crate::repo::class::{FileClass, class_of};

/// Larger files are not laid out: no scan reads them whole either.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Why a commit can't be laid out.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The directory for earlier commits.
    #[error("an earlier commit could not be laid out in a temporary directory: {0}")]
    Write(#[from] io::Error),
}

/// A directory that holds one commit's files at a time.
pub(super) struct Tree<'a> {
    repository: &'a Repository,
    objects: Objects,
    /// The directory, links resolved.
    root: PathBuf,
    /// What is laid out now: the file's path below the root and its object.
    files: BTreeMap<PathBuf, String>,
    links: Vec<PathBuf>,
    /// Holds the directory, and signals until it is gone.
    _scratch: Scratch,
}

/// What laying out a commit came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Laid {
    /// Files and links that are not there, and may hide something.
    pub missing: usize,
    /// Submodules: other repositories, not looked into.
    pub submodules: usize,
}

/// One commit's entries that could matter to a scan.
#[derive(Default)]
struct Entries {
    files: BTreeMap<PathBuf, String>,
    links: BTreeMap<PathBuf, String>,
    laid: Laid,
}

impl<'a> Tree<'a> {
    pub fn new(repository: &'a Repository) -> Result<Self, TreeError> {
        let scratch = Scratch::new()?;
        let root = scratch.path()?;
        // Marks the top for everything that looks for it. No git ever runs in there.
        fs::create_dir(root.join(".git"))?;
        let objects = Objects::of(repository)?;
        Ok(Self { repository, objects, root, files: BTreeMap::new(), links: Vec::new(), _scratch: scratch })
    }

    /// Where the files are.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Lays out a commit in place of the one before; what both have in common stays.
    pub fn lay_out(&mut self, commit: &str) -> Result<Laid, TreeError> {
        self.index(commit)?;
        let mut command = self.repository.reading();
        command.args(["ls-tree", "-r", "-z", "--full-tree", commit]);
        let Entries { files, links, mut laid } = entries(&run(&mut command, "ls-tree", None)?);
        self.clear(&files);
        for (path, id) in &files {
            if self.files.contains_key(path) {
                continue;
            }
            let Some(bytes) = self.objects.read(id)? else {
                laid.missing += 1;
                continue;
            };
            let file = self.root.join(path);
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            // Nothing may stand there, a link least of all.
            match OpenOptions::new().write(true).create_new(true).open(file) {
                Ok(mut file) => file.write_all(&bytes)?,
                // Two names that this file system does not tell apart.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    laid.missing += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            self.files.insert(path.clone(), id.clone());
        }
        // After the files: nothing is written through a link.
        for (path, id) in &links {
            match self.objects.read(id)? {
                Some(target) if self.link(path, &target)? => self.links.push(path.clone()),
                _ => laid.missing += 1,
            }
        }
        laid.missing += self.drop_strays();
        Ok(laid)
    }

    /// The commit's index, so that the walk knows what git tracks. The user's own index is not touched.
    fn index(&self, commit: &str) -> Result<(), GitError> {
        let mut command = self.repository.reading();
        command
            .args(["-c", "core.splitIndex=false", "-c", "index.sparse=false", "read-tree", commit])
            .env("GIT_INDEX_FILE", self.root.join(".git/index"));
        run(&mut command, "read-tree", None).map(|_| ())
    }

    /// Takes away what the next commit does not have, or has otherwise.
    fn clear(&mut self, next: &BTreeMap<PathBuf, String>) {
        let links = std::mem::take(&mut self.links);
        let stale: Vec<PathBuf> = self
            .files
            .iter()
            .filter(|(path, id)| next.get(*path) != Some(*id))
            .map(|(path, _)| path.clone())
            .collect();
        for path in links.iter().chain(&stale) {
            let path = self.root.join(path);
            // What is left standing stops the next file from being made there, and that is said.
            let _ = fs::remove_file(&path);
            let parents = path.ancestors().skip(1).take_while(|dir| *dir != self.root);
            for dir in parents {
                if fs::remove_dir(dir).is_err() {
                    break;
                }
            }
        }
        for path in stale {
            self.files.remove(&path);
        }
    }

    #[cfg(unix)]
    fn link(&self, path: &Path, target: &[u8]) -> io::Result<bool> {
        use std::os::unix::ffi::OsStrExt;
        let target = Path::new(std::ffi::OsStr::from_bytes(target));
        if target.is_absolute() {
            return Ok(false);
        }
        let link = self.root.join(path);
        link.parent().map_or(Ok(()), fs::create_dir_all)?;
        std::os::unix::fs::symlink(target, link)?;
        Ok(true)
    }

    #[cfg(not(unix))]
    fn link(&self, _path: &Path, _target: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// Takes away links that lead out of the directory, by whatever way, and counts them. Those that lead to nothing go,
    /// too: what they name is no file of this commit, or none that could matter.
    fn drop_strays(&mut self) -> usize {
        let mut strays = 0;
        let root = self.root.clone();
        self.links.retain(|path| {
            let link = root.join(path);
            let inside = match fs::canonicalize(&link) {
                Ok(target) if target.starts_with(&root) => return true,
                Ok(_) => false,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            strays += usize::from(!inside);
            let _ = fs::remove_file(&link);
            false
        });
        strays
    }
}

/// Reads `ls-tree -r -z`: `MODE TYPE OBJECT\tPATH`.
fn entries(output: &[u8]) -> Entries {
    let mut found = Entries::default();
    for entry in output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let mut halves = entry.splitn(2, |byte| *byte == b'\t');
        let (Some(head), Some(name)) = (halves.next(), halves.next()) else { continue };
        let head = String::from_utf8_lossy(head);
        let mut words = head.split(' ');
        let (Some(mode), Some(kind), Some(id)) = (words.next(), words.next(), words.next()) else { continue };
        if kind == "commit" {
            found.laid.submodules += 1;
            continue;
        }
        let shown = String::from_utf8_lossy(name);
        let file = shown.rsplit('/').next().unwrap_or(&shown);
        if class_of(&shown, file) == FileClass::Skip {
            continue;
        }
        match safe_path(name) {
            Some(path) if mode == "120000" => found.links.insert(path, id.to_owned()),
            Some(path) => found.files.insert(path, id.to_owned()),
            None => {
                found.laid.missing += 1;
                continue;
            }
        };
    }
    found
}

/// A tree's name as a path that stays below where it is put; none for one that would not.
fn safe_path(name: &[u8]) -> Option<PathBuf> {
    let stays = |part: &[u8]| {
        !part.is_empty()
            && part != b"."
            && part != b".."
            && !part.eq_ignore_ascii_case(b".git")
            && !part.contains(&0)
    };
    if !name.split(|byte| *byte == b'/').all(stays) {
        return None;
    }
    path_of(name)
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    let name = std::str::from_utf8(name).ok()?;
    (!name.contains(['\\', ':'])).then(|| PathBuf::from(name))
}

/// `git cat-file --batch`: objects' raw bytes, as they are stored.
struct Objects(Answering);

impl Objects {
    fn of(repository: &Repository) -> Result<Self, GitError> {
        let mut command = repository.reading();
        command.args(["cat-file", "--batch"]);
        Answering::start(&mut command).map(Self).map_err(|why| GitError::silent("cat-file", why))
    }

    /// A blob's bytes; none where this clone lacks it, or it is too large.
    fn read(&mut self, id: &str) -> Result<Option<Vec<u8>>, TreeError> {
        self.0.ask(|git| blob(git, id)).map_err(|why| match why {
            NoAnswer::Io(error) => TreeError::Write(error),
            why => GitError::silent("cat-file", why).into(),
        })
    }
}

fn blob(git: &mut Answering, id: &str) -> io::Result<Option<Vec<u8>>> {
    writeln!(git.asks, "{id}")?;
    let mut head = String::new();
    git.answers.read_line(&mut head)?;
    let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "`git cat-file` ended early");
    let mut words = head.trim_end().split(' ').skip(1);
    let Some(kind) = words.next() else { return Err(ended()) };
    let Some(size) = words.next().and_then(|size| size.parse::<u64>().ok()) else {
        // `ID missing`.
        return Ok(None);
    };
    let mut body = (&mut git.answers).take(size);
    let bytes = if kind == "blob" && size <= MAX_FILE {
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes)?;
        Some(bytes)
    } else {
        io::copy(&mut body, &mut io::sink())?;
        None
    };
    git.answers.read_exact(&mut [0])?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_directory() {
        for name in ["../x.tf", "/x.tf", "a/../x.tf", "a//x.tf", ".git/config", "a/.GIT/x.tf", "./x.tf"] {
            assert_eq!(safe_path(name.as_bytes()), None, "{name}");
        }
        assert_eq!(safe_path("a/..x/ü.tf".as_bytes()), Some(PathBuf::from("a/..x/ü.tf")));
    }

    #[test]
    fn entries_are_sorted_out_by_kind_and_name() {
        let id = "0".repeat(40);
        let tree = [
            format!("100644 blob {id}\ta/main.tf"),
            format!("120000 blob {id}\tb.tf"),
            format!("160000 commit {id}\tvendor"),
            format!("100644 blob {id}\tpicture.png"),
            format!("100644 blob {id}\t../../main.tf"),
        ];
        let found = entries(tree.join("\0").as_bytes());
        assert_eq!(found.files.keys().collect::<Vec<_>>(), [Path::new("a/main.tf")]);
        assert_eq!(found.links.keys().collect::<Vec<_>>(), [Path::new("b.tf")]);
        assert_eq!(found.laid, Laid { missing: 1, submodules: 1 });
    }
}
