//! Reading whole files that nobody vouched for: what stands in a repository may be a pipe that never says anything, a
//! device that never ends, or a file larger than the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of a regular file, links followed.
///
/// # Errors
/// What the system says; whatever is no regular file (opening it waits for nobody); more than `limit` bytes.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    // Looked at before the first byte: a sparse file says at once how large it claims to be.
    if known.len() > limit {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// [`read`] for text.
///
/// # Errors
/// As [`read`], and bytes that are not UTF-8.
pub fn read_text(path: &Path, limit: usize) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"))
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes"))
}

/// Without waiting for a writer at the other end of a pipe, even one that was put there a moment ago.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_not_beyond() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read(&path, 4).unwrap_err().to_string(), "it is larger than 4 bytes");
        assert_eq!(read(&dir.path().join("y"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path, 5).unwrap_err().to_string(), "not UTF-8");
        assert!(read(dir.path(), 5).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn pipes_and_devices_are_no_files_and_block_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [pipe, link, "/dev/null".into()] {
            assert_eq!(
                read(&path, 5).unwrap_err().to_string(),
                "it is no regular file",
                "{}",
                path.display()
            );
        }
    }
}
