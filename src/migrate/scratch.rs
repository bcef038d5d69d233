//! A directory of our own below the system's temporary one: for copies of what may be nobody else's business, so nobody
//! else may look into it, and gone when its work is done or interrupted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::interrupts::{self, Held};

/// What its name begins with, by which a later run knows what an earlier one left.
pub(super) const PREFIX: &str = "lockshift-";

/// The directory, as long as this is there.
pub(super) struct Scratch {
    dir: tempfile::TempDir,
    /// Goes last: a signal that came meanwhile takes effect when nothing is left behind.
    _held: Held,
}

impl Scratch {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        let held = interrupts::hold()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        Ok(Self { dir: builder.tempdir()?, _held: held })
    }

    /// Where it is, links resolved.
    pub fn path(&self) -> io::Result<PathBuf> {
        fs::canonicalize(self.dir.path())
    }
}

/// Whether a path is that of such a directory.
pub(super) fn is_one(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_closed_to_others_and_does_not_stay() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(is_one(&path) && !is_one(path.parent().unwrap()));
        drop(scratch);
        assert!(!path.exists());
    }
}
