//! `--write`: new bytes onto the disk, atomically per file and all or nothing per component of root modules. The only
//! place that changes files of the working tree; what to write was decided and proven before.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::group::components;
use super::plan::{FileChange, Plan};
use crate::repo::bounded;

/// Where writing is allowed: below the paths that the user named, links resolved.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    starts: Vec<PathBuf>,
}

impl Allowed {
    /// Below these files and directories.
    ///
    /// # Errors
    /// A path that is not there.
    pub fn below(paths: &[PathBuf]) -> io::Result<Self> {
        Ok(Self { starts: paths.iter().map(fs::canonicalize).collect::<io::Result<_>>()? })
    }

    /// Whether a real path lies there.
    pub fn holds(&self, real: &Path) -> bool {
        self.starts.iter().any(|start| real.starts_with(start))
    }
}

/// What was written and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that hold their new bytes now, as shown.
    pub files: Vec<String>,
    /// Components of which nothing was written.
    pub left: Vec<Left>,
}

/// A component of which nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Root modules that stay as they are.
    pub roots: Vec<String>,
    /// The file that stopped it.
    pub file: String,
    /// Why, and what to do.
    pub reason: String,
    /// Files that could not be brought back to what they were, with the reason. Empty unless the disk failed twice.
    pub damaged: Vec<(String, String)>,
}

/// Writes all files of a plan. A component that can't be written doesn't stop the others. `stopped` is asked over and
/// over: once it says so nothing new is begun, but a component of which a file was replaced becomes whole.
pub fn write(plan: &Plan, allowed: &Allowed, stopped: &dyn Fn() -> bool) -> Written {
    write_with(plan, allowed, stopped, &mut |temporary, target| {
        temporary.persist(target).map(drop).map_err(|e| e.error)
    })
}

/// Puts a finished temporary file in the place of its target.
type Replace<'a> = &'a mut dyn FnMut(NamedTempFile, &Path) -> io::Result<()>;

fn write_with(plan: &Plan, allowed: &Allowed, stopped: &dyn Fn() -> bool, replace: Replace<'_>) -> Written {
    let mut written = Written::default();
    for component in components(&plan.files) {
        let files: Vec<&FileChange> = component.iter().filter_map(|index| plan.files.get(*index)).collect();
        match write_component(&files, allowed, stopped, replace) {
            Ok(()) => written.files.extend(files.iter().map(|file| file.file.clone())),
            Err(mut left) => {
                left.roots = files.iter().flat_map(|file| file.roots.iter().cloned()).collect();
                left.roots.sort();
                left.roots.dedup();
                written.left.push(left);
            }
        }
    }
    written.files.sort();
    written
}

/// A file whose new bytes lie ready beside it.
struct Ready<'a> {
    change: &'a FileChange,
    real: PathBuf,
    metadata: Metadata,
    temporary: NamedTempFile,
}

fn write_component(
    files: &[&FileChange],
    allowed: &Allowed,
    stopped: &dyn Fn() -> bool,
    replace: Replace<'_>,
) -> Result<(), Left> {
    let go_on = |change: &FileChange| match stopped() {
        true => Err(left(change, "was not begun: the run was interrupted".to_owned())),
        false => Ok(()),
    };
    let mut ready = Vec::with_capacity(files.len());
    let mut targets: BTreeMap<PathBuf, &FileChange> = BTreeMap::new();
    for change in files.iter().copied() {
        go_on(change)?;
        let real = target_of(change, allowed).map_err(|reason| left(change, reason))?;
        if let Some(other) = targets.insert(real.clone(), change) {
            if other.after == change.after {
                continue;
            }
            return Err(left(
                change,
                format!("is the same file as {}, with another change planned", other.file),
            ));
        }
        ready.push(prepare(change, real).map_err(|reason| left(change, reason))?);
    }
    // Preparing many files takes a while: look once more before the first is replaced.
    for file in &ready {
        go_on(file.change)?;
        still_there(file).map_err(|reason| left(file.change, reason))?;
    }
    // From here on nobody is asked any more: either all of it is replaced, or all of it is put back.
    let mut replaced: Vec<(&FileChange, PathBuf, Metadata)> = Vec::with_capacity(ready.len());
    for Ready { change, real, metadata, temporary } in ready {
        if let Err(error) = replace(temporary, &real) {
            let mut left = left(change, format!("could not be replaced: {error}"));
            left.damaged = restore(&replaced, replace);
            return Err(left);
        }
        replaced.push((change, real, metadata));
    }
    for (_, real, _) in &replaced {
        // The bytes are safe already; not every file system can sync a directory.
        let _ = real.parent().map(File::open).transpose().map(|dir| dir.map(|dir| dir.sync_all()));
    }
    Ok(())
}

fn left(change: &FileChange, reason: String) -> Left {
    Left { roots: Vec::new(), file: change.file.clone(), reason, damaged: Vec::new() }
}

/// The real file behind all links, when it may be written and still holds what was planned on.
fn target_of(change: &FileChange, allowed: &Allowed) -> Result<PathBuf, String> {
    let real =
        fs::canonicalize(&change.os_path).map_err(|error| format!("can't be reached any more: {error}"))?;
    if !allowed.holds(&real) {
        return Err(format!(
            "leads to {}, outside of the paths given: name that path, too, to have it changed",
            real.display()
        ));
    }
    unchanged(change, &real)?;
    Ok(real)
}

/// A directory on the way may have become a link meanwhile.
fn still_there(file: &Ready<'_>) -> Result<(), String> {
    match fs::canonicalize(&file.real) {
        Ok(real) if real == file.real => unchanged(file.change, &file.real),
        Ok(_) => Err("is reached through a link since it was read: run the command again".to_owned()),
        Err(error) => Err(format!("can't be reached any more: {error}")),
    }
}

fn unchanged(change: &FileChange, real: &Path) -> Result<(), String> {
    // Whatever stands there now: no more of it is read than was there before.
    match bounded::read(real, change.before.len()) {
        Ok(now) if now == change.before => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::FileTooLarge => {
            Err(format!("could not be read again: {error}"))
        }
        _ => Err("was changed since it was read: run the command again".to_owned()),
    }
}

fn prepare(change: &FileChange, real: PathBuf) -> Result<Ready<'_>, String> {
    let metadata = fs::metadata(&real).map_err(|error| format!("could not be looked at: {error}"))?;
    // Replacing a file needs no right to write it, only one on its directory; a read-only file was meant to stay.
    if metadata.permissions().readonly() {
        return Err("is read-only: make it writable first".to_owned());
    }
    let temporary = temporary_beside(&real, &change.after, &metadata)
        .map_err(|error| format!("its new text could not be written beside it: {error}"))?;
    Ok(Ready { change, real, metadata, temporary })
}

/// A temporary file in the same directory (so that a rename is atomic), with these bytes on the disk, and mode and
/// owner of the file that it will replace. Its name begins with a dot: Terraform reads no such file.
fn temporary_beside(real: &Path, bytes: &[u8], like: &Metadata) -> io::Result<NamedTempFile> {
    let dir = real.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".lockshift-").suffix(".tmp").tempfile_in(dir)?;
    temporary.write_all(bytes)?;
    keep_owner(temporary.path(), like);
    temporary.as_file().set_permissions(like.permissions())?;
    temporary.as_file().sync_all()?;
    Ok(temporary)
}

/// Only root may give files away; anybody else's file becomes the writer's own, as with any editor.
#[cfg(unix)]
fn keep_owner(path: &Path, like: &Metadata) {
    use std::os::unix::fs::{MetadataExt, chown};
    let _ = chown(path, Some(like.uid()), Some(like.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_path: &Path, _like: &Metadata) {}

/// Gives replaced files their old bytes back, and says which could not get them.
fn restore(replaced: &[(&FileChange, PathBuf, Metadata)], replace: Replace<'_>) -> Vec<(String, String)> {
    let mut damaged = Vec::new();
    for (change, real, metadata) in replaced.iter().rev() {
        let restored =
            temporary_beside(real, &change.before, metadata).and_then(|temporary| replace(temporary, real));
        if let Err(error) = restored {
            damaged.push((
                change.file.clone(),
                format!("holds its new text and could not be restored: {error}"),
            ));
        }
    }
    damaged
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;
    use crate::migrate::edit::Edits;
    use crate::migrate::phase::Phase;

    /// Files below a directory, each with its root modules; all go from `old` to `new`.
    fn tree(files: &[(&str, &[&str])]) -> (tempfile::TempDir, Plan) {
        let dir = tempfile::tempdir().unwrap();
        let mut changes = Vec::new();
        for (name, roots) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "old").unwrap();
            changes.push(FileChange {
                file: (*name).to_owned(),
                os_path: path,
                roots: roots.iter().map(|root| (*root).to_owned()).collect(),
                edits: Edits::default(),
                before: b"old".to_vec(),
                after: b"new".to_vec(),
            });
        }
        let plan = Plan {
            phase: Phase::Dual,
            roots: Vec::new(),
            files: changes,
            refusals: Vec::new(),
            manual: Vec::new(),
            waived: Vec::new(),
            unlocked: Vec::new(),
            done: Vec::new(),
        };
        (dir, plan)
    }

    fn below(dir: &Path) -> Allowed {
        Allowed::below(&[dir.to_owned()]).unwrap()
    }

    fn never() -> bool {
        false
    }

    fn text(dir: &Path, name: &str) -> String {
        fs::read_to_string(dir.join(name)).unwrap()
    }

    /// Every name in a directory: nothing of ours may stay behind.
    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn mode_owner_and_link_stay() {
        let (dir, mut plan) = tree(&[("real/main.tf", &["a"])]);
        let real = dir.path().join("real/main.tf");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        // Root may give the file away; anybody else keeps it.
        let _ = std::os::unix::fs::chown(&real, Some(12_345), Some(12_346));
        let before = fs::metadata(&real).unwrap();
        symlink("real/main.tf", dir.path().join("link.tf")).unwrap();
        plan.files[0].os_path = dir.path().join("link.tf");
        assert_eq!(write(&plan, &below(dir.path()), &never).files, ["real/main.tf"]);
        assert_eq!(text(dir.path(), "real/main.tf"), "new");
        assert!(fs::symlink_metadata(dir.path().join("link.tf")).unwrap().is_symlink());
        let after = fs::metadata(&real).unwrap();
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        assert_eq!(names(&dir.path().join("real")), ["main.tf"]);
    }

    #[test]
    fn a_link_that_leads_outside_is_refused_and_so_is_a_changed_file() {
        let (dir, mut plan) = tree(&[("in/a.tf", &["a"]), ("in/b.tf", &["b"]), ("in/c.tf", &["b"])]);
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("x.tf"), "old").unwrap();
        symlink(outside.path().join("x.tf"), dir.path().join("in/x.tf")).unwrap();
        plan.files[0].os_path = dir.path().join("in/x.tf");
        fs::write(dir.path().join("in/c.tf"), "mine").unwrap();
        let written = write(&plan, &below(&dir.path().join("in")), &never);
        assert_eq!(written.files, [""; 0]);
        let reasons: Vec<(&str, bool)> =
            written.left.iter().map(|left| (left.file.as_str(), left.reason.contains("outside"))).collect();
        assert_eq!(reasons, [("in/a.tf", true), ("in/c.tf", false)]);
        assert!(written.left[1].reason.starts_with("was changed since"), "{:?}", written.left);
        assert_eq!(text(outside.path(), "x.tf"), "old");
        // Its neighbour in the same root module stays as it was, too.
        assert_eq!((text(dir.path(), "in/b.tf"), text(dir.path(), "in/c.tf")), ("old".into(), "mine".into()));
    }

    #[test]
    fn a_read_only_file_stops_its_component_and_no_other() {
        let (dir, plan) = tree(&[("a/1.tf", &["a"]), ("a/2.tf", &["a"]), ("b/1.tf", &["b"])]);
        let mode = fs::Permissions::from_mode(0o444);
        fs::set_permissions(dir.path().join("a/2.tf"), mode).unwrap();
        let written = write(&plan, &below(dir.path()), &never);
        assert_eq!(written.files, ["b/1.tf"]);
        assert_eq!((written.left.len(), written.left[0].file.as_str()), (1, "a/2.tf"));
        assert_eq!(written.left[0].roots, ["a"]);
        assert_eq!((text(dir.path(), "a/1.tf"), text(dir.path(), "a/2.tf")), ("old".into(), "old".into()));
        assert_eq!(names(&dir.path().join("a")), ["1.tf", "2.tf"]);
    }

    #[test]
    fn a_failure_after_the_first_replacement_gives_the_old_bytes_back() {
        let (dir, plan) = tree(&[("a/1.tf", &["a"]), ("a/2.tf", &["a"]), ("a/3.tf", &["a"])]);
        let mut calls = 0;
        let written = write_with(&plan, &below(dir.path()), &never, &mut |temporary, target| {
            calls += 1;
            if calls == 3 {
                return Err(io::Error::other("no more"));
            }
            temporary.persist(target).map(drop).map_err(|error| error.error)
        });
        assert_eq!(calls, 5);
        assert_eq!((written.left[0].file.as_str(), written.left[0].damaged.len()), ("a/3.tf", 0));
        for name in ["a/1.tf", "a/2.tf", "a/3.tf"] {
            assert_eq!(text(dir.path(), name), "old");
        }
        assert_eq!(names(&dir.path().join("a")), ["1.tf", "2.tf", "3.tf"]);
    }

    #[test]
    fn a_stop_leaves_no_component_half_written_and_nothing_beside_the_files() {
        let names_of_all = ["a/1.tf", "a/2.tf", "b/1.tf", "b/2.tf"];
        // Asked once before each file of a component and once more for each: four times, then it is replaced.
        for (asked_before_the_stop, expected) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 2), (7, 2), (8, 4)] {
            let files = names_of_all.map(|name| (name, [name.get(..1).unwrap()]));
            let files: Vec<(&str, &[&str])> = files.iter().map(|(name, root)| (*name, &root[..])).collect();
            let (dir, plan) = tree(&files);
            let asked = std::cell::Cell::new(0);
            let stopped = || asked.replace(asked.get() + 1) >= asked_before_the_stop;
            let written = write(&plan, &below(dir.path()), &stopped);
            assert_eq!(written.files, names_of_all[..expected], "{asked_before_the_stop}");
            let left: Vec<(&str, &str)> =
                written.left.iter().map(|left| (left.roots[0].as_str(), left.reason.as_str())).collect();
            let why = "was not begun: the run was interrupted";
            assert_eq!(left, [("a", why), ("b", why)][expected / 2..]);
            for (at, name) in names_of_all.iter().enumerate() {
                assert_eq!(text(dir.path(), name), if at < expected { "new" } else { "old" });
            }
            assert_eq!(names(&dir.path().join("a")), ["1.tf", "2.tf"]);
            assert_eq!(names(&dir.path().join("b")), ["1.tf", "2.tf"]);
        }
    }

    #[test]
    fn what_could_not_be_restored_is_named() {
        let (dir, plan) = tree(&[("a/1.tf", &["a"]), ("a/2.tf", &["a"])]);
        let mut calls = 0;
        let written = write_with(&plan, &below(dir.path()), &never, &mut |temporary, target| {
            calls += 1;
            if calls > 1 {
                return Err(io::Error::other("no more"));
            }
            temporary.persist(target).map(drop).map_err(|error| error.error)
        });
        assert_eq!(
            written.left[0].damaged,
            [("a/1.tf".to_owned(), "holds its new text and could not be restored: no more".to_owned())]
        );
    }

    #[test]
    fn one_real_file_is_written_once() {
        let (dir, mut plan) = tree(&[("a.tf", &["a"]), ("b.tf", &["a"])]);
        plan.files[1].os_path = dir.path().join("a.tf");
        assert_eq!(write(&plan, &below(dir.path()), &never).files, ["a.tf", "b.tf"]);
        fs::write(dir.path().join("a.tf"), "old").unwrap();
        plan.files[1].after = b"other".to_vec();
        assert!(write(&plan, &below(dir.path()), &never).left[0].reason.contains("same file as a.tf"));
        assert_eq!(text(dir.path(), "a.tf"), "old");
    }

    #[test]
    fn what_took_the_place_of_a_file_is_neither_waited_for_nor_written() {
        let (dir, plan) = tree(&[("a/main.tf", &["a"]), ("b/main.tf", &["b"]), ("c/main.tf", &["c"])]);
        for name in ["a/main.tf", "b/main.tf"] {
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        let pipe = dir.path().join("a/main.tf");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::create_dir(dir.path().join("b/main.tf")).unwrap();
        let written = write(&plan, &below(dir.path()), &never);
        assert_eq!(written.files, ["c/main.tf"]);
        let reasons: Vec<&str> = written.left.iter().map(|left| left.reason.as_str()).collect();
        assert_eq!(reasons, ["could not be read again: it is no regular file"; 2]);
        assert_eq!(names(&dir.path().join("a")), ["main.tf"]);
    }

    #[test]
    fn a_directory_that_became_a_link_leads_nowhere() {
        let (dir, plan) = tree(&[("in/a/main.tf", &["a"])]);
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("main.tf"), "old").unwrap();
        let swap = || {
            fs::rename(dir.path().join("in/a"), dir.path().join("in/was")).unwrap();
            symlink(outside.path(), dir.path().join("in/a")).unwrap();
        };
        let change = &plan.files[0];
        let real = target_of(change, &below(&dir.path().join("in"))).unwrap();
        let ready = prepare(change, real).unwrap();
        assert_eq!(still_there(&ready), Ok(()));
        swap();
        assert!(still_there(&ready).unwrap_err().contains("through a link since it was read"));
        let written = write(&plan, &below(&dir.path().join("in")), &never);
        assert!(written.left[0].reason.contains("outside of the paths given"), "{:?}", written.left);
        assert_eq!(text(outside.path(), "main.tf"), "old");
        assert_eq!(names(outside.path()), ["main.tf"]);
    }

    /// The new text goes into a new file: another name of the old one, wherever it is, keeps what it had.
    #[test]
    fn a_second_name_of_the_file_keeps_the_old_text() {
        let (dir, plan) = tree(&[("in/main.tf", &["a"])]);
        fs::hard_link(dir.path().join("in/main.tf"), dir.path().join("outside.tf")).unwrap();
        assert_eq!(write(&plan, &below(&dir.path().join("in")), &never).files, ["in/main.tf"]);
        assert_eq!(
            (text(dir.path(), "in/main.tf"), text(dir.path(), "outside.tf")),
            ("new".into(), "old".into())
        );
    }
}
