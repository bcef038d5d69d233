//! Where a workspace's state lives: the one place that joins prefix, workspace and key. Pure.

/// Workspaces other than `default` live below this prefix when the backend names none. A prefix that is set to
/// nothing is another thing: then they live at `WORKSPACE/KEY`.
/// Source: `workspace_key_prefix` in the S3 backend's schema.
pub const WORKSPACE_PREFIX: &str = "env:";

/// The state path of a workspace: the key as it is written for `default`, else prefix, workspace and key joined and
/// cleaned (`./` goes, `x/../` goes, `//` becomes `/`).
/// Source: `backend_state.go` (`path`) of the S3 backend, which calls Go's `path.Join`.
pub fn state_path(prefix: &str, workspace: &str, key: &str) -> String {
    if workspace == "default" { key.to_owned() } else { join(&[prefix, workspace, key]) }
}

/// Joins parts of a path as Go's `path.Join` does: empty parts are left out, and the rest is cleaned.
pub fn join(parts: &[&str]) -> String {
    let present: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    if present.is_empty() { String::new() } else { clean(&present.join("/")) }
}

/// The shortest spelling of a path, as Go's `path.Clean` finds it.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            // Nothing is above the root.
            ".." if rooted => {}
            part => kept.push(part),
        }
    }
    match (rooted, kept.join("/")) {
        (true, rest) => format!("/{rest}"),
        (false, rest) if rest.is_empty() => ".".to_owned(),
        (false, rest) => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Terraform 1.11.4 wrote, and where its locks were, in the workspaces `default` and `dev`.
    #[test]
    fn paths_are_those_that_terraform_writes() {
        for (prefix, key, default, dev) in [
            (WORKSPACE_PREFIX, "e/f.tfstate", "e/f.tfstate", "env:/dev/e/f.tfstate"),
            (WORKSPACE_PREFIX, "./d.tfstate", "./d.tfstate", "env:/dev/d.tfstate"),
            (WORKSPACE_PREFIX, "x/../h.tfstate", "x/../h.tfstate", "env:/dev/h.tfstate"),
            (WORKSPACE_PREFIX, "../e/f.tfstate", "../e/f.tfstate", "env:/e/f.tfstate"),
            ("", "e/f.tfstate", "e/f.tfstate", "dev/e/f.tfstate"),
            ("", "./d.tfstate", "./d.tfstate", "dev/d.tfstate"),
            ("w/./s", "e/f.tfstate", "e/f.tfstate", "w/s/dev/e/f.tfstate"),
            ("w//s", "e/f.tfstate", "e/f.tfstate", "w/s/dev/e/f.tfstate"),
        ] {
            assert_eq!(state_path(prefix, "default", key), default);
            assert_eq!(state_path(prefix, "dev", key), dev, "`{prefix}` and `{key}`");
        }
    }

    /// The table of Go's own documentation of `path.Clean` and `path.Join`.
    #[test]
    fn parts_are_joined_as_go_joins_them() {
        for (parts, joined) in [
            (&["a", "b", "c"][..], "a/b/c"),
            (&["a", "b/c"], "a/b/c"),
            (&["a/b", "/c"], "a/b/c"),
            (&["a/b", "../../../xyz"], "../xyz"),
            (&["", ""], ""),
            (&["a", ""], "a"),
            (&["", "a"], "a"),
            (&["/../a/b/../././/c"], "/a/c"),
            (&["a/.."], "."),
            (&["../../x"], "../../x"),
            (&["/"], "/"),
        ] {
            assert_eq!(join(parts), joined, "{parts:?}");
        }
    }
}
