//! Reading whole files that nobody vouched for: what stands in a repository may be a pipe that never says anything, a
//! device that never ends, or a file larger than the memory; and a link in it may lead to where the system shows itself
//! as files (`/proc`, `/sys`), some of which never answer, or do something when they are read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::link;

/// The bytes of a regular file, links followed.
///
/// # Errors
/// What the system says; whatever is no regular file (opening it waits for nobody); more than `limit` bytes.
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (file, known) = open(path)?;
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

/// Reads a file that the user named, and that may be a pipe or whatever else the user has: unless a link that may be a
/// repository's made it one.
///
/// # Errors
/// What the system says; such a link that leads to no regular file.
pub fn read_named(path: &Path) -> io::Result<Vec<u8>> {
    match link::on_the_way(path) {
        None => std::fs::read(path),
        Some(_) => read(path, usize::MAX),
    }
}

/// Opens a regular file, links followed, and says what is known of it.
///
/// # Errors
/// What the system says; whatever is no regular file, which is not even opened: a device may act on that; and what lies
/// where the system shows itself as files.
pub(super) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other(NO_FILE));
    }
    let file = open_without_waiting(path)?;
    // Something else may have been put there meanwhile.
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(io::Error::other(NO_FILE));
    }
    if is_shown_only(&file)? { Err(io::Error::other(SHOWN_ONLY)) } else { Ok((file, known)) }
}

const NO_FILE: &str = "it is no regular file";

/// Said of what is on a file system that stores nothing.
pub(super) const SHOWN_ONLY: &str = "it lies where the system shows itself as files, and is not read";

/// Without waiting for a writer at the other end of a pipe.
#[cfg(target_os = "linux")]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(target_os = "linux"))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether an open file or directory is on a file system that stores nothing: what is read there is made up on the spot.
#[cfg(target_os = "linux")]
pub(super) fn is_shown_only(file: impl std::os::fd::AsFd) -> io::Result<bool> {
    /// Their numbers. Source: Linux, `include/uapi/linux/magic.h`, and where the file system itself is.
    const SYSTEM: [u32; 24] = [
        0x9fa0,      // proc
        0x9fa1,      // openpromfs
        0x9fa2,      // usbfs
        0x6265_6572, // sysfs
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x7363_6673, // securityfs
        0xf97c_ff8c, // selinuxfs
        0x4341_5d53, // smackfs
        0xcafe_4a11, // bpf
        0x6265_6570, // configfs
        0x6165_676c, // pstore
        0xde5e_81e4, // efivarfs
        0x4249_4e4d, // binfmt_misc
        0x6573_5543, // fusectl
        0x0765_5821, // resctrl
        0x6e73_6673, // nsfs
        0x1980_0202, // mqueue
        0x1cd1,      // devpts
        0x6759_6969, // rpc_pipefs
        0x6e66_7364, // nfsd
        0xabba_1974, // xenfs
    ];
    // The type is signed on some machines and wider on others; all numbers fit in these bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    let number = rustix::fs::fstatfs(file)?.f_type as u32;
    Ok(SYSTEM.contains(&number))
}

/// Other systems show nothing of themselves that would never answer.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_shown_only<T>(_file: T) -> io::Result<bool> {
    Ok(false)
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

    #[test]
    #[cfg(target_os = "linux")]
    fn what_the_system_shows_of_itself_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let link = |name: &str, target: &str| {
            let link = dir.path().join(name);
            std::os::unix::fs::symlink(target, &link).unwrap();
            link
        };
        for path in [
            link("file", "/proc/self/status"),
            link("sysfs", "/sys/kernel/uevent_seqnum"),
            link("dir", "/proc/self").join("status"),
            "/proc/self/status".into(),
        ] {
            assert_eq!(read(&path, 1 << 20).unwrap_err().to_string(), SHOWN_ONLY, "{}", path.display());
        }
        assert!(is_shown_only(File::open("/proc").unwrap()).unwrap());
        assert!(!is_shown_only(File::open(dir.path()).unwrap()).unwrap());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_named_file_may_be_anything_that_no_link_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".git")).unwrap();
        let link = |name: &str, target: &str| {
            let link = dir.path().join(name);
            std::os::unix::fs::symlink(target, &link).unwrap();
            link
        };
        std::fs::write(dir.path().join("x"), "12345").unwrap();
        assert_eq!(read_named(&link("file", "x")).unwrap(), b"12345");
        assert!(read_named("/proc/self/status".as_ref()).unwrap().starts_with(b"Name:"));
        assert_eq!(read_named("/dev/null".as_ref()).unwrap(), b"");
        for path in [link("null", "/dev/null"), link("devices", "/dev").join("null")] {
            assert_eq!(read_named(&path).unwrap_err().to_string(), NO_FILE);
        }
        assert_eq!(read_named(&link("status", "/proc/self/status")).unwrap_err().to_string(), SHOWN_ONLY);
        // A pipe that the user made and named is waited for, as `cat` would.
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let to = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(to, "said"));
        assert_eq!(read_named(&pipe).unwrap(), b"said");
        writer.join().unwrap().unwrap();
    }
}
