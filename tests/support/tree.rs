//! Directories with files in them.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// Writes a file below a directory, and the directories on the way to it.
pub fn put(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A directory with these files.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        put(dir.path(), name, text);
    }
    dir
}
