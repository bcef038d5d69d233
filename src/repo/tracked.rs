//! Which files git tracks, from its index: ignore rules say nothing about a file that was added all the same. Only
//! the index file is opened here; no git is run.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::bounded;

/// A `.git` that is a file holds one path.
const MAX_POINTER: usize = 64 * 1024;

/// An index has about a hundred bytes for each file: this is one of some million files.
const MAX_INDEX: usize = 512 * 1024 * 1024;

/// A repository that the walk is in.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    tracked: OnceLock<Option<Tracked>>,
}

impl Repository {
    /// The repository whose `.git` stands in `root`. Its index is read when it is first asked for.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), tracked: OnceLock::new() }
    }

    /// Whether this is the repository whose `.git` stands in `root`.
    pub fn is_at(&self, root: &Path) -> bool {
        self.root == root
    }

    /// Whether git tracks a file, or anything below a directory. `false` where the index can't be read.
    pub fn tracks(&self, path: &Path, is_dir: bool) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else { return false };
        let Some(tracked) = self.tracked.get_or_init(|| Tracked::of(&self.root)) else { return false };
        let below = below.to_string_lossy().replace('\\', "/");
        if is_dir { tracked.has_below(&below) } else { tracked.has(&below) }
    }
}

/// Paths of a git index, sorted by bytes as git keeps them.
#[derive(Debug)]
struct Tracked(Vec<Vec<u8>>);

impl Tracked {
    fn of(root: &Path) -> Option<Self> {
        let dot_git = root.join(".git");
        // A worktree or submodule: the file says where the directory is.
        let git_dir = match bounded::read_text(&dot_git, MAX_POINTER) {
            Ok(text) => root.join(text.strip_prefix("gitdir:")?.trim()),
            Err(_) => dot_git,
        };
        paths(&bounded::read(&git_dir.join("index"), MAX_INDEX).ok()?).map(Self)
    }

    fn has(&self, path: &str) -> bool {
        self.0.binary_search_by(|have| have.as_slice().cmp(path.as_bytes())).is_ok()
    }

    fn has_below(&self, dir: &str) -> bool {
        let prefix = format!("{dir}/");
        let at = self.0.partition_point(|have| have.as_slice() < prefix.as_bytes());
        self.0.get(at).is_some_and(|have| have.starts_with(prefix.as_bytes()))
    }
}

/// The paths in an index of version 2, 3 or 4, objects named by SHA-1; `None` for any other file.
/// Source: git's `Documentation/gitformat-index.adoc`.
fn paths(index: &[u8]) -> Option<Vec<Vec<u8>>> {
    const FIXED: usize = 62;
    let word = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = word(4).filter(|version| index.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = word(8)?;
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let flags = u16::from_be_bytes(index.get(at + 60..at + 62)?.try_into().ok()?);
        let extended = version >= 3 && flags & 0x4000 != 0;
        let name = at + FIXED + if extended { 2 } else { 0 };
        let (path, next) = if version == 4 {
            let (cut, name) = varint(index, name)?;
            let end = name + memchr::memchr(0, index.get(name..)?)?;
            let before = found.last().map_or(&[][..], Vec::as_slice);
            let mut path = before.get(..before.len().checked_sub(cut)?)?.to_vec();
            path.extend(index.get(name..end)?);
            (path, end + 1)
        } else {
            let end = name + memchr::memchr(0, index.get(name..)?)?;
            // One to eight zeros, up to a multiple of eight.
            (index.get(name..end)?.to_vec(), at + (end - at + 8) / 8 * 8)
        };
        // Conflicts stand there several times; anything else out of order is another format.
        match found.last() {
            Some(last) if *last > path => return None,
            Some(last) if *last == path => {}
            _ => found.push(path),
        }
        at = next;
    }
    Some(found)
}

/// git's offset encoding: seven bits a byte, one added at each continuation.
fn varint(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An index as git writes it, without stat data, hashes and checksum.
    pub fn index(version: u32, paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
        let mut before = "";
        for path in paths {
            let start = bytes.len();
            bytes.extend([0; 60]);
            bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
            if version == 4 {
                let same = before.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(before.len() - same).unwrap());
                bytes.extend(&path.as_bytes()[same..]);
                bytes.push(0);
                before = path;
            } else {
                bytes.extend(path.as_bytes());
                let len = bytes.len() - start;
                bytes.extend(vec![0; 8 - len % 8]);
            }
        }
        bytes
    }

    #[test]
    fn every_version_gives_the_same_paths() {
        let names = ["a/b/main.tf", "a/b/main.tf.json", "a/c.tf", "dir-x/y", "dir/x"];
        for version in [2, 3, 4] {
            let read = paths(&index(version, &names)).unwrap();
            assert_eq!(read, names.map(|name| name.as_bytes().to_vec()), "version {version}");
        }
        assert_eq!(paths(&index(5, &names)), None);
        assert_eq!(paths(&index(2, &["b", "a"])), None, "out of order");
        assert_eq!(paths(b"DIRC\0\0\0\x02\0\0\0\x01short"), None);
    }

    #[test]
    fn a_directory_is_told_from_one_that_begins_alike() {
        let tracked = Tracked(paths(&index(2, &["dir-x/y", "out/x"])).unwrap());
        assert!(tracked.has("out/x") && !tracked.has("out") && !tracked.has("dir/x"));
        assert!(tracked.has_below("out") && !tracked.has_below("dir") && tracked.has_below("dir-x"));
    }

    #[test]
    fn long_offsets_are_read_as_git_writes_them() {
        assert_eq!(varint(&[0x80, 0x00], 0), Some((128, 2)));
        assert_eq!(varint(&[0x7f], 0), Some((127, 1)));
        assert_eq!(varint(&[0x80], 0), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut index = b"DIRC\0\0\0\x04\0\0\xff\xff".to_vec();
            index.extend(&bytes);
            let _ = paths(&index);
            let _ = paths(&bytes);
        }
    }
}
