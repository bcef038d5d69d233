//! Directories as scripts write them: known base directories, joining, cleaning. Nothing is looked up.

use crate::repo::shown;

/// Variables by which scripts and CI systems name the repository's root or the script's own directory.
const BASE_DIRS: &[&str] = &[
    "${{ github.workspace }}",
    "${{github.workspace}}",
    "$GITHUB_WORKSPACE",
    "${GITHUB_WORKSPACE}",
    "$CI_PROJECT_DIR",
    "${CI_PROJECT_DIR}",
    "$(System.DefaultWorkingDirectory)",
    "$(Build.SourcesDirectory)",
    "$BITBUCKET_CLONE_DIR",
    "$CODEBUILD_SRC_DIR",
    "${CODEBUILD_SRC_DIR}",
    "${WORKSPACE}",
    "$WORKSPACE",
    "${env.WORKSPACE}",
    "$PWD",
    "${PWD}",
    "$(pwd)",
    "$(PWD)",
    "$(CURDIR)",
    "${CURDIR}",
    "$(git rev-parse --show-toplevel)",
    "$SCRIPT_DIR",
    "${SCRIPT_DIR}",
    "$SCRIPTDIR",
    "${SCRIPTDIR}",
    "$(dirname \"$0\")",
    "$(dirname $0)",
    "$(dirname \"${BASH_SOURCE[0]}\")",
    "$(dirname ${BASH_SOURCE[0]})",
    "$(dirname \"${0}\")",
    "${0%/*}",
    "${BASH_SOURCE%/*}",
    "$PSScriptRoot",
    "$(dirname \"$BASH_SOURCE\")",
    "{{justfile_directory()}}",
    "{{ justfile_directory() }}",
    "{{.ROOT_DIR}}",
    "{{.TASKFILE_DIR}}",
    "$BUILDKITE_BUILD_CHECKOUT_PATH",
    "$(ROOT_DIR)",
    "${get_terragrunt_dir()}",
    "${{ github.action_path }}",
    "$(Build.Repository.LocalPath)",
];

/// What follows a known base directory (`$GITHUB_WORKSPACE/infra` → `infra`); `None` when there is none.
pub(crate) fn strip_base(path: &str) -> Option<&str> {
    BASE_DIRS.iter().find_map(|prefix| {
        let rest = path.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with(['/', '\\'])).then(|| rest.trim_start_matches(['/', '\\']))
    })
}

/// Longer paths no script names (`PATH_MAX` of macOS; 4096 on Linux): a `cd` beyond it is passed over.
const MAX_PATH: usize = 1024;

/// `dir` seen from `base`; an absolute one, or one that begins with a known base directory, replaces it.
pub(crate) fn join_dir(base: Option<&str>, dir: &str) -> String {
    let dir = dir.trim();
    if let Some(rest) = strip_base(dir) {
        return clean_path(rest);
    }
    match base {
        Some(base) if base.len() + dir.len() > MAX_PATH => base.to_owned(),
        Some(base) if !dir.starts_with(['/', '~', '$']) => clean_path(&format!("{base}/{dir}")),
        _ => clean_path(dir),
    }
}

/// A path without `.`, empty parts, and `x/..`; `.` when nothing is left. Blanks inside placeholders stay.
pub(crate) fn clean_path(path: &str) -> String {
    shown::clean(&path.replace('\\', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_joined_and_cleaned() {
        assert_eq!(join_dir(None, "./a//b/../c/"), "a/c");
        assert_eq!(join_dir(Some("a"), "../.."), "..");
        assert_eq!(join_dir(Some("a"), "$GITHUB_WORKSPACE/infra"), "infra");
        assert_eq!(join_dir(Some("a"), "$(dirname \"$0\")/../x"), "../x");
        assert_eq!(join_dir(Some("a"), "/abs/./x"), "/abs/x");
        assert_eq!(join_dir(Some("a"), "$ROOT/x"), "$ROOT/x");
        assert_eq!((strip_base("$PWD"), strip_base("$PWDX/a")), (Some(""), None));
    }
}
