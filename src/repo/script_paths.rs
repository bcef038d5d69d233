//! What a file's path says about it: backend-config, automation, test, and the part of the tree it is for.

use super::facts::{dir_of, name_of};
use super::pattern::above;
use super::text::lowercase;

/// Whether a file's name says that it is backend-config.
pub fn is_well_known(path: &str) -> bool {
    let name = name_of(path);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    match extension {
        "tfbackend" | "backend" => true,
        "hcl" | "tfvars" => {
            stem == "backend"
                || stem.ends_with(".backend")
                || stem.starts_with("backend.")
                || stem.ends_with("-backend")
                || stem.ends_with("_backend")
                || stem.starts_with("backend-")
                || stem.starts_with("backend_")
        }
        "conf" | "config" | "cfg" | "properties" => stem.starts_with("backend") || stem.ends_with("backend"),
        _ => false,
    }
}

/// Whether a file is run by machines: CI pipelines and what they are made of.
pub fn is_automation(path: &str) -> bool {
    let name = lowercase(name_of(path));
    let dirs = [
        "/.github/",
        "/.gitlab/",
        "/.circleci/",
        "/.buildkite/",
        "/.azure-pipelines/",
        "/.semaphore/",
        "/.woodpecker/",
    ];
    let names = [
        ".gitlab-ci",
        "jenkinsfile",
        "azure-pipelines",
        "buildspec",
        "bitbucket-pipelines",
        "atlantis",
        "cloudbuild",
        ".drone",
        ".travis",
        "appveyor",
        "codefresh",
        "buildkite",
        "pipeline",
    ];
    let in_dir = |dir: &&str| path.contains(dir) || dir.get(1..).is_some_and(|top| path.starts_with(top));
    // Every one of these directories is hidden; most paths have none that is.
    ((path.starts_with('.') || path.contains("/.")) && dirs.iter().any(in_dir))
        || names.iter().any(|start| name.starts_with(start))
        || name.ends_with(".gitlab-ci.yml")
        || name == "action.yml"
        || name == "action.yaml"
}

/// Whether a file tests the scripts around it: what it passes to commands configures nothing. `tops` are the paths that
/// were asked for: a checkout may well lie below some `test`.
pub(crate) fn is_test(path: &str, tops: &[String]) -> bool {
    let below = |top: &String| {
        let rest = path.strip_prefix(top.as_str())?;
        (rest.is_empty() || rest.starts_with('/') || top.ends_with('/')).then_some(rest)
    };
    let path = tops.iter().filter_map(below).min_by_key(|rest| rest.len()).unwrap_or(path);
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let in_dir = dir.split('/').any(|part| {
        matches!(part, "test" | "tests" | "spec" | "specs" | "__tests__" | "testdata" | "fixtures")
    });
    in_dir
        || stem.ends_with("_test")
        || stem.ends_with("_spec")
        || stem.starts_with("test_")
        || name.contains(".test.")
}

/// Directories from which a path in a script may be meant, likeliest first: CI runs at the top, scripts in their own
/// directory or somewhere above it.
pub(crate) fn bases(file: &str) -> impl Iterator<Item = &str> {
    let top = is_automation(file).then_some(".");
    top.into_iter().chain(above(dir_of(file)).take(32))
}

/// The part of the tree that a script is for: its directory, or the one around `scripts`, `bin` and the like.
pub(crate) fn reach(file: &str) -> &str {
    let mut dir = dir_of(file);
    for _ in 0..32 {
        let name = dir.rsplit_once('/').map_or(dir, |(_, name)| name);
        let helper = matches!(
            name,
            "scripts"
                | "script"
                | "bin"
                | "ci"
                | "cd"
                | "tools"
                | "tool"
                | "hack"
                | "lib"
                | "build"
                | "util"
                | "utils"
                | "workflows"
                | "actions"
                | "tasks"
                | "pipelines"
                | "make"
                | "deploy"
                | "jenkins"
                | "jenkinsfiles"
                | "Jenkinsfiles"
        ) || (name.starts_with('.') && name.len() > 1)
            || dir.contains("/.github/")
            || dir.starts_with(".github/");
        match above(dir).nth(1) {
            Some(around) if helper => dir = around,
            _ => return dir,
        }
    }
    dir
}
