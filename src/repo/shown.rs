//! Shown paths and repository paths. People see paths as they gave them, relative to where they stand; files like
//! CODEOWNERS and `lockshift.toml` speak of paths below their own directory. Pure: nothing here opens a file.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path};

use globset::{GlobBuilder, escape};

/// A file's name or path as text. Bytes that are no UTF-8 are shown as `\xff`: two names that differ stay two names.
pub fn text_of(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(escaped(name)),
    }
}

#[cfg(unix)]
fn escaped(name: &OsStr) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a text can't fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(not(unix))]
fn escaped(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// `path` with `.` and `..` worked off, as Go's `filepath.Clean` does it: `.` when nothing is left, a leading `..`
/// stays in a relative path and goes from an absolute one.
pub fn clean(path: &str) -> String {
    joined(path.starts_with('/'), path.split('/'), path.len())
}

/// `base/path` as a shown path. `None` for an absolute path: it is not in the tree.
pub fn resolve(base: &str, path: &str) -> Option<String> {
    let parts = || base.split('/').chain(path.split('/'));
    (!path.starts_with('/'))
        .then(|| joined(base.starts_with('/') || base.is_empty(), parts(), base.len() + 1 + path.len()))
}

/// Where a shown path leads when links to directories (each with its target, sorted) are followed.
pub fn through_links(path: String, links: &[(String, String)]) -> String {
    /// Links that lead to links, and no further.
    const MAX_LINKS: usize = 8;
    let mut path = path;
    for _ in 0..MAX_LINKS.min(links.len()) {
        let mut ends = std::iter::once(path.len()).chain(path.rmatch_indices('/').map(|(at, _)| at));
        let followed = ends.find_map(|end| {
            let (link, rest) = path.split_at_checked(end)?;
            let at = links.binary_search_by(|(have, _)| have.as_str().cmp(link)).ok()?;
            Some(format!("{}{rest}", links.get(at)?.1))
        });
        match followed {
            Some(target) => path = target,
            None => break,
        }
    }
    path
}

/// The parts of a path with `.` and `..` worked off; `room` is how long it is at most.
fn joined<'a>(absolute: bool, parts: impl Iterator<Item = &'a str>, room: usize) -> String {
    let mut path = String::with_capacity(room.max(1));
    // What stands before the first part: nothing of it ever goes.
    let root = if absolute { "/" } else { "" };
    path.push_str(root);
    for part in parts {
        let is_deep = path.len() > root.len();
        // The last part is looked for only where it goes: a long one is not looked over for each part behind it.
        let is_up = |path: &str| path == ".." || path.ends_with("/..");
        match part {
            "" | "." => {}
            ".." if is_deep && !is_up(&path) => {
                let last = path.rfind('/').map_or(0, |slash| slash + 1);
                path.truncate(root.len().max(last.saturating_sub(1)));
            }
            ".." if absolute => {}
            part => {
                if is_deep {
                    path.push('/');
                }
                path.push_str(part);
            }
        }
    }
    if path.is_empty() { ".".to_owned() } else { path }
}

/// A directory that paths are told from, and where the user stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// Segments of the directory and of the current one; absent: shown paths are the directory's own.
    at: Option<(Vec<String>, Vec<String>)>,
}

impl Home {
    /// Paths as told from `root`, for a user who stands in `cwd`. Both are absolute, links resolved.
    pub fn new(root: &Path, cwd: &Path) -> Self {
        Self { at: Some((segments(root), segments(cwd))) }
    }

    /// What a shown path is called from here (`.` for the directory itself); none when it lies outside.
    pub fn path(&self, shown: &str) -> Option<String> {
        let (root, cwd) = self.at.as_ref().map_or((&[][..], &[][..]), |(root, cwd)| (root, cwd));
        let mut parts: Vec<&str> = Vec::with_capacity(cwd.len() + 8);
        if !shown.starts_with('/') {
            parts.extend(cwd.iter().map(String::as_str));
        }
        for part in shown.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let (above, below) = parts.split_at_checked(root.len())?;
        if above != root {
            return None;
        }
        Some(if below.is_empty() { ".".to_owned() } else { below.join("/") })
    }

    /// A glob over paths from here, as globs over shown paths: for paths given relative to where the user stands,
    /// above it, and absolutely.
    pub fn shown_globs(&self, glob: &str) -> Vec<String> {
        let glob = glob.trim_start_matches('/');
        let Some((root, cwd)) = &self.at else { return vec![glob.to_owned()] };
        let root_shown: String = root.iter().map(|part| format!("/{}", escape(part))).collect();
        let mut globs = vec![format!("{root_shown}/{glob}")];
        if let Some(below) = cwd.strip_prefix(root.as_slice()) {
            globs.extend(rests(glob, below));
            if !below.is_empty() {
                globs.push(format!("{}{glob}", "../".repeat(below.len())));
            }
        } else if let Some(down) = root.strip_prefix(cwd.as_slice()) {
            let down: String = down.iter().map(|part| format!("{}/", escape(part))).collect();
            globs.push(format!("{down}{glob}"));
        }
        globs
    }
}

fn segments(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(text_of(name).into_owned()),
            _ => None,
        })
        .collect()
}

/// What is left of a glob after it has matched these directories: one rest for each way to match them.
fn rests(glob: &str, below: &[String]) -> Vec<String> {
    let parts: Vec<&str> = glob.split('/').collect();
    let mut open = past_stars(&parts, vec![0]);
    for name in below {
        let mut next = Vec::new();
        for at in open {
            match parts.get(at) {
                Some(&"**") => next.push(at),
                Some(part) if matches(part, name) => next.push(at + 1),
                _ => {}
            }
        }
        open = past_stars(&parts, next);
    }
    // A glob that names a directory names what is in it; all of it is below.
    let whole = open.iter().any(|at| *at >= parts.len());
    let mut rests: Vec<String> = open
        .into_iter()
        .filter_map(|at| parts.get(at..))
        .filter(|rest| !rest.is_empty())
        .map(|rest| rest.join("/"))
        .collect();
    if whole {
        rests.push("**".to_owned());
    }
    rests
}

/// Positions that can be reached without a name: `**` also stands for no directory at all.
fn past_stars(parts: &[&str], mut open: Vec<usize>) -> Vec<usize> {
    let mut index = 0;
    while let Some(at) = open.get(index).copied() {
        if parts.get(at) == Some(&"**") && at + 1 < parts.len() {
            open.push(at + 1);
        }
        index += 1;
    }
    open.sort_unstable();
    open.dedup();
    open
}

fn matches(part: &str, name: &str) -> bool {
    GlobBuilder::new(part).build().is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::repo::patience::processor_time;

    use super::*;

    /// The same, part by part.
    fn plainly_cleaned(path: &str) -> String {
        let absolute = path.starts_with('/');
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => {
                    parts.pop();
                }
                ".." if absolute => {}
                part => parts.push(part),
            }
        }
        match (absolute, parts.is_empty()) {
            (true, _) => format!("/{}", parts.join("/")),
            (false, true) => ".".to_owned(),
            (false, false) => parts.join("/"),
        }
    }

    proptest::proptest! {
        #[test]
        fn any_path_is_cleaned_as_part_by_part(path in "[a./é]{0,24}", base in "[a./]{0,12}") {
            proptest::prop_assert_eq!(clean(&path), plainly_cleaned(&path));
            let whole = (!path.starts_with('/')).then(|| plainly_cleaned(&format!("{base}/{path}")));
            proptest::prop_assert_eq!(resolve(&base, &path), whole);
        }
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_no_text_stay_apart() {
        use std::os::unix::ffi::OsStrExt as _;
        let text = |bytes: &[u8]| text_of(OsStr::from_bytes(bytes)).into_owned();
        assert_eq!(text(b"a\xffb"), "a\\xffb");
        assert_eq!(text("a\u{fffd}b".as_bytes()), "a\u{fffd}b");
        assert_eq!(text(b"\xc3\xa4\xc3"), "ä\\xc3");
        assert!(matches!(text_of(OsStr::new("grün")), Cow::Borrowed("grün")));
    }

    #[test]
    fn links_to_directories_are_followed() {
        let links = [
            ("a/l".to_owned(), "m".to_owned()),
            ("m/n".to_owned(), "z".to_owned()),
            ("o".into(), "o".into()),
        ];
        let follow = |path: &str| through_links(path.to_owned(), &links);
        assert_eq!(follow("a/l"), "m");
        assert_eq!(follow("a/l/x/y"), "m/x/y");
        assert_eq!(follow("a/l/n/x"), "z/x");
        assert_eq!(follow("a/left"), "a/left");
        assert_eq!(follow("o/x"), "o/x");
        assert_eq!(through_links("a/l".to_owned(), &[]), "a/l");
    }

    #[test]
    fn a_long_part_is_not_looked_over_for_each_one_behind_it() {
        let begun = processor_time();
        let long = "b".repeat(200_000);
        assert_eq!(resolve("c", &format!("{long}{}", "/.".repeat(200_000))), Some(format!("c/{long}")));
        assert_eq!(resolve("c", &format!("{long}{}", "/x/..".repeat(100_000))), Some(format!("c/{long}")));
        // A square would take minutes here.
        assert!(processor_time() - begun < Duration::from_secs(10));
    }

    #[test]
    fn resolve_works_out_dots() {
        assert_eq!(resolve("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(resolve(".", "./x").as_deref(), Some("x"));
        assert_eq!(resolve("a", "..").as_deref(), Some("."));
        assert_eq!(resolve("a", "../../x").as_deref(), Some("../x"));
        assert_eq!(resolve("/r/a", "../x").as_deref(), Some("/r/x"));
        assert_eq!(resolve("a", "/abs"), None);
    }

    fn home(root: &str, cwd: &str) -> Home {
        Home::new(Path::new(root), Path::new(cwd))
    }

    #[test]
    fn shown_paths_become_paths_from_the_root() {
        for (root, cwd, shown, expected) in [
            ("/r", "/r", "envs/main.tf", Some("envs/main.tf")),
            ("/r", "/r/envs", "main.tf", Some("envs/main.tf")),
            ("/r", "/r/envs", "../mods/./a.tf", Some("mods/a.tf")),
            ("/r", "/r/envs", "/r/mods/a.tf", Some("mods/a.tf")),
            ("/r", "/r/envs", "..", Some(".")),
            ("/r", "/x", "/r2/a.tf", None),
            ("/r", "/r", "../other/a.tf", None),
            ("/w/r", "/w", "r/a.tf", Some("a.tf")),
        ] {
            assert_eq!(home(root, cwd).path(shown).as_deref(), expected, "{shown} in {cwd}");
        }
        assert_eq!(Home::default().path("./a/b").as_deref(), Some("a/b"));
        assert_eq!(Home::default().path("../../..").as_deref(), Some("."));
    }

    #[test]
    fn globs_are_told_from_where_the_user_stands() {
        for (root, cwd, glob, expected) in [
            ("/r", "/r", "vendor/**", vec!["/r/vendor/**", "vendor/**"]),
            ("/r", "/r/envs", "vendor/**", vec!["/r/vendor/**", "../vendor/**"]),
            ("/r", "/r/envs", "env?/old/**", vec!["/r/env?/old/**", "old/**", "../env?/old/**"]),
            ("/r", "/r/envs", "**/envs/x", vec!["/r/**/envs/x", "**/envs/x", "envs/x", "x", "../**/envs/x"]),
            ("/r", "/r/envs/old", "envs", vec!["/r/envs", "../../envs"]),
            ("/r", "/r/envs", "envs", vec!["/r/envs", "**", "../envs"]),
            ("/w/r[1]", "/w", "a", vec!["/w/r[[]1[]]/a", "r[[]1[]]/a"]),
        ] {
            assert_eq!(home(root, cwd).shown_globs(glob), expected, "{glob} in {cwd}");
        }
        assert_eq!(Home::default().shown_globs("a/**"), ["a/**"]);
    }
}
