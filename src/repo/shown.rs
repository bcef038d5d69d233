//! Shown paths and repository paths. People see paths as they gave them, relative to where they stand; files like
//! CODEOWNERS and `lockshift.toml` speak of paths below their own directory. Pure: nothing here opens a file.

use std::path::{Component, Path};

use globset::{GlobBuilder, escape};

/// `path` with `.` and `..` worked off, as Go's `filepath.Clean` does it: `.` when nothing is left, a leading `..`
/// stays in a relative path and goes from an absolute one.
pub fn clean(path: &str) -> String {
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

/// `base/path` as a shown path. `None` for an absolute path: it is not in the tree.
pub fn resolve(base: &str, path: &str) -> Option<String> {
    (!path.starts_with('/')).then(|| clean(&format!("{base}/{path}")))
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
        let (root, start) = match &self.at {
            Some((root, cwd)) => (root.as_slice(), cwd.clone()),
            None => (&[][..], Vec::new()),
        };
        let mut parts = if shown.starts_with('/') { Vec::new() } else { start };
        for part in shown.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part.to_owned()),
            }
        }
        let below = parts.strip_prefix(root)?;
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
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
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
    use super::*;

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
