//! One directory, opened once: what stands in it, and its files, opened by their name alone. A path is looked up part
//! by part; on a large tree that is a good part of what a walk costs.

#[cfg(target_os = "linux")]
pub(super) use linux::{Directory, Listing};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::{Directory, Listing};

/// What an entry is, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory.
    Dir,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device, or something else: never opened.
    Other,
}

/// Straight to the system: one buffer for all listings of a thread, all names of a listing in one piece.
#[cfg(target_os = "linux")]
mod linux {
    use std::cell::RefCell;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, open, openat, statat};

    use super::super::bounded;
    use super::Kind;

    /// Entries of a few hundred files; more are fetched in turns. No single name is longer than 255 bytes.
    const ENTRIES: usize = 32 * 1024;

    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(ENTRIES));
    }

    /// An open directory.
    pub(in super::super) struct Directory(OwnedFd);

    impl Directory {
        /// Opens it, through links.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Self(open(path, flags, Mode::empty())?))
        }

        /// What stands in it, in the system's order.
        pub(in super::super) fn list(&self) -> io::Result<Listing> {
            let mut listing = Listing::default();
            BUFFER.with_borrow_mut(|buffer| {
                let mut entries = RawDir::new(&self.0, buffer.spare_capacity_mut());
                while let Some(entry) = entries.next() {
                    let entry = entry?;
                    let name = entry.file_name();
                    if matches!(name.to_bytes(), b"." | b"..") {
                        continue;
                    }
                    let kind = match entry.file_type() {
                        // Some file systems do not say; what went away meanwhile is passed over.
                        FileType::Unknown => match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                            Err(_) => continue,
                        },
                        known => known,
                    };
                    listing.push(name.to_bytes(), kind);
                }
                Ok(listing)
            })
        }

        /// Whether it is on a file system that stores nothing.
        pub(in super::super) fn is_shown_only(&self) -> io::Result<bool> {
            bounded::is_shown_only(&self.0)
        }

        /// Opens one of its files for reading, through links; without waiting for what was put in its place.
        pub(in super::super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
            Ok(openat(&self.0, name, flags, Mode::empty())?.into())
        }
    }

    /// The entries of a directory.
    #[derive(Default)]
    pub(in super::super) struct Listing {
        names: Vec<u8>,
        /// Where each name ends, and what it is.
        ends: Vec<(usize, Kind)>,
    }

    impl Listing {
        fn push(&mut self, name: &[u8], kind: FileType) {
            let kind = match kind {
                FileType::Directory => Kind::Dir,
                FileType::RegularFile => Kind::File,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            };
            self.names.extend(name);
            self.ends.push((self.names.len(), kind));
        }

        /// How many there are.
        pub(in super::super) fn len(&self) -> usize {
            self.ends.len()
        }

        /// Each name and what it is.
        pub(in super::super) fn iter(&self) -> impl Iterator<Item = (&OsStr, Kind)> {
            let mut start = 0;
            self.ends.iter().map(move |(end, kind)| {
                let name = self.names.get(start..*end).unwrap_or_default();
                start = *end;
                (OsStr::from_bytes(name), *kind)
            })
        }
    }
}

/// The same with the standard library alone.
#[cfg(not(target_os = "linux"))]
mod portable {
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::super::bounded;
    use super::Kind;

    /// A directory.
    pub(in super::super) struct Directory(PathBuf);

    impl Directory {
        /// Remembers it: listing says whether it can be read.
        pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(path.to_owned()))
        }

        /// What stands in it, in the system's order.
        pub(in super::super) fn list(&self) -> io::Result<Listing> {
            let mut listing = Listing::default();
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                // What went away meanwhile is passed over.
                let Ok(kind) = entry.file_type() else { continue };
                let kind = match kind {
                    kind if kind.is_dir() => Kind::Dir,
                    kind if kind.is_file() => Kind::File,
                    kind if kind.is_symlink() => Kind::Link,
                    _ => Kind::Other,
                };
                listing.0.push((entry.file_name(), kind));
            }
            Ok(listing)
        }

        /// Whether it is on a file system that stores nothing.
        pub(in super::super) fn is_shown_only(&self) -> io::Result<bool> {
            bounded::is_shown_only(&self.0)
        }

        /// Opens one of its files for reading, through links.
        pub(in super::super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
            File::open(self.0.join(name))
        }
    }

    /// The entries of a directory.
    #[derive(Default)]
    pub(in super::super) struct Listing(Vec<(OsString, Kind)>);

    impl Listing {
        /// How many there are.
        pub(in super::super) fn len(&self) -> usize {
            self.0.len()
        }

        /// Each name and what it is.
        pub(in super::super) fn iter(&self) -> impl Iterator<Item = (&OsStr, Kind)> {
            self.0.iter().map(|(name, kind)| (name.as_os_str(), *kind))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::Read;

    use super::*;

    #[test]
    fn names_kinds_and_files_of_a_directory() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("deep")).unwrap();
        // More names than one turn of listing holds.
        for number in 0..2000 {
            std::fs::write(
                root.path().join(format!("file-with-a-long-name-{number}.tf")),
                number.to_string(),
            )
            .unwrap();
        }
        let directory = Directory::open(root.path()).unwrap();
        let listing = directory.list().unwrap();
        let found: std::collections::BTreeMap<&OsStr, Kind> = listing.iter().collect();
        assert_eq!((listing.len(), found.len()), (2001, 2001));
        assert_eq!(found[OsStr::new("deep")], Kind::Dir);
        assert_eq!(found[OsStr::new("file-with-a-long-name-1999.tf")], Kind::File);
        let mut text = String::new();
        directory
            .open_file(OsStr::new("file-with-a-long-name-77.tf"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "77");
        assert!(directory.open_file(OsStr::new("none.tf")).is_err());
        assert!(Directory::open(&root.path().join("none")).and_then(|none| none.list()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_sockets_are_told_from_files() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("nowhere", root.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        let listing = Directory::open(root.path()).unwrap().list().unwrap();
        let mut found: Vec<_> = listing.iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(found, [("link".into(), Kind::Link), ("socket".into(), Kind::Other)]);
    }
}
