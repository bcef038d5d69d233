//! Directories with files in them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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

/// Runs git in a directory as if on this day of January 2026, without the machine's own configuration.
pub fn git(dir: &Path, day: u32, args: &[&str]) -> Output {
    let date = format!("2026-01-{day:02}T00:00:00 +0000");
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgSign=false"])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_COMMITTER_DATE", &date)
        .env("GIT_AUTHOR_DATE", &date)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
