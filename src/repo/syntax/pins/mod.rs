//! Pins: files that say which Terraform, OpenTofu or Terragrunt runs, outside of `required_version`. Reading
//! only; what a pin is worth is `versions`' business.
//!
//! What it can't see: versions baked into images of other names, versions that a script computes, defaults of
//! actions that are given no version, YAML anchors, maps in flow style over many lines, and files that [`may_hold_pins`]
//! does not name.

mod ci;
mod managers;

use super::positions::Positions;
use crate::repo::facts::{Tool, VersionPin, dir_of, name_of};
use crate::repo::text::{BOM, Text};

/// One pin before its place is counted out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    tool: Tool,
    text: String,
    offset: usize,
    origin: &'static str,
    /// The variable, input or key that it was given by; empty where there is none.
    name: String,
    /// Directory below the file's own scope that it holds for (Atlantis' `dir`).
    below: Option<String>,
}

/// What kind of file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One version for one program.
    Single(Tool, &'static str),
    /// asdf's table.
    ToolVersions,
    Mise,
    /// `.tfswitch.toml`, `.tgswitch.toml`.
    SwitchToml(Tool),
    Atlantis,
    /// YAML of a CI system or of compose.
    CiYaml,
    Dockerfile,
    /// `NAME=value` lines: Makefile, `.env`, `.envrc`.
    Assignments,
}

fn kind(path: &str) -> Option<Kind> {
    let name = name_of(path);
    match name {
        ".terraform-version" => return Some(Kind::Single(Tool::Terraform, ".terraform-version")),
        ".opentofu-version" => return Some(Kind::Single(Tool::OpenTofu, ".opentofu-version")),
        ".terragrunt-version" => return Some(Kind::Single(Tool::Terragrunt, ".terragrunt-version")),
        ".tfswitchrc" => return Some(Kind::Single(Tool::Terraform, ".tfswitchrc")),
        ".tgswitchrc" => return Some(Kind::Single(Tool::Terragrunt, ".tgswitchrc")),
        ".tfswitch.toml" => return Some(Kind::SwitchToml(Tool::Terraform)),
        ".tgswitch.toml" => return Some(Kind::SwitchToml(Tool::Terragrunt)),
        ".tool-versions" => return Some(Kind::ToolVersions),
        "mise.toml" | ".mise.toml" | "mise.local.toml" | ".mise.local.toml" => return Some(Kind::Mise),
        "atlantis.yaml" | "atlantis.yml" => return Some(Kind::Atlantis),
        "Makefile" | "makefile" | "GNUmakefile" | ".env" | ".envrc" => return Some(Kind::Assignments),
        _ => {}
    }
    if ends_with_parts(path, &["mise/config.toml", ".mise/config.toml"]) {
        return Some(Kind::Mise);
    }
    if name.starts_with("Dockerfile") || name.starts_with("Containerfile") || name.ends_with(".Dockerfile") {
        return Some(Kind::Dockerfile);
    }
    if name.ends_with(".dockerfile") {
        return Some(Kind::Dockerfile);
    }
    if name.ends_with(".mk") {
        return Some(Kind::Assignments);
    }
    let is_yaml = name.ends_with(".yml") || name.ends_with(".yaml");
    (is_yaml && (is_ci_name(name) || ci_folder(path).is_some())).then_some(Kind::CiYaml)
}

/// File names by which CI systems and compose find their YAML.
fn is_ci_name(name: &str) -> bool {
    const STARTS: &[&str] = &[
        ".gitlab-ci",
        "azure-pipelines",
        "azure-pipeline",
        "bitbucket-pipelines",
        "docker-compose",
        "compose",
        "cloudbuild",
        "buildspec",
        ".drone",
        ".travis",
        "action.",
        "buildkite",
        ".woodpecker",
        "appveyor",
    ];
    STARTS.iter().any(|start| name.starts_with(start))
}

/// Folders whose YAML is CI configuration.
const CI_FOLDERS: &[&str] = &[
    ".github",
    ".gitlab",
    ".gitlab-ci",
    ".circleci",
    ".buildkite",
    ".azuredevops",
    ".woodpecker",
    ".azure-pipelines",
];

/// The directory that holds a CI folder on this path.
fn ci_folder(path: &str) -> Option<&str> {
    let mut start = 0;
    for part in path.split('/') {
        if CI_FOLDERS.contains(&part) && start + part.len() < path.len() {
            return Some(path.get(..start.saturating_sub(1)).filter(|dir| !dir.is_empty()).unwrap_or("."));
        }
        start += part.len() + 1;
    }
    None
}

fn ends_with_parts(path: &str, tails: &[&str]) -> bool {
    tails
        .iter()
        .any(|tail| path.strip_suffix(tail).is_some_and(|head| head.is_empty() || head.ends_with('/')))
}

/// Whether a file of this path may hold pins: a cheap look at the name alone.
pub fn may_hold_pins(path: &str) -> bool {
    kind(path).is_some()
}

/// Whether a path names a version manager's own file: it holds pins and nothing else of ours, while the other
/// files of [`may_hold_pins`] (CI, Dockerfiles, Makefiles) hold calls and backends, too.
pub fn is_version_file(path: &str) -> bool {
    matches!(kind(path), Some(Kind::Single(..) | Kind::ToolVersions | Kind::Mise | Kind::SwitchToml(_)))
}

/// Reads every pin of one file, in order of position. Comments are never pins. A file of another name has none.
pub fn read_pins(file: &str, text: Text<'_>) -> Vec<VersionPin> {
    let Some(kind) = kind(file) else { return Vec::new() };
    let bytes = text.bytes();
    let mut found = match kind {
        Kind::Single(tool, origin) => managers::single(bytes, tool, origin),
        Kind::ToolVersions => managers::tool_versions(bytes),
        Kind::Mise => managers::mise(bytes),
        Kind::SwitchToml(tool) => managers::switch_toml(bytes, tool),
        Kind::Atlantis => ci::atlantis(bytes),
        Kind::CiYaml => ci::yaml(bytes, file.contains(".github/")),
        Kind::Dockerfile => ci::dockerfile(bytes),
        Kind::Assignments => ci::assignments(bytes),
    };
    found.sort_by_key(|pin| pin.offset);
    let scope = scope(file, kind);
    let positions = Positions::new(text);
    found
        .into_iter()
        .map(|pin| VersionPin {
            tool: pin.tool,
            text: crate::repo::secret::without_credentials(pin.text),
            place: positions.place(file, pin.offset),
            origin: pin.origin,
            scope: pin.below.map_or_else(|| scope.to_owned(), |below| join(scope, &below)),
        })
        .collect()
}

/// The directory below which the pins of a file hold.
fn scope(file: &str, kind: Kind) -> &str {
    let dir = dir_of(file);
    match kind {
        Kind::CiYaml => ci_folder(file).unwrap_or("."),
        Kind::Dockerfile => ".",
        // `mise/config.toml` speaks for the directory above; `mise/mise.toml` for its own.
        Kind::Mise if file.ends_with("mise.toml") && !dir.ends_with(".config") => dir,
        Kind::Mise => [".config/mise", ".config", ".mise", "mise"]
            .iter()
            .find_map(|tail| dir.strip_suffix(tail).filter(|head| head.is_empty() || head.ends_with('/')))
            .map_or(dir, |head| match head.trim_end_matches('/') {
                "" => ".",
                head => head,
            }),
        _ => dir,
    }
}

/// Joins a directory named in a file onto that file's scope, `.` and `..` undone. A leading `..` above the top
/// stays at the top.
fn join(scope: &str, below: &str) -> String {
    let mut parts: Vec<&str> = scope.split('/').filter(|part| !matches!(*part, "." | "")).collect();
    for part in below.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let top = if scope.starts_with('/') { "/" } else { "" };
    if parts.is_empty() && top.is_empty() { ".".to_owned() } else { format!("{top}{}", parts.join("/")) }
}

/// A line without its ending, and where it begins. Lines that are not UTF-8 are left out: no version is written
/// in other bytes, and the neighbours still count.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    start: usize,
    text: &'a str,
}

fn lines(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let mut lines = Vec::new();
    for raw in bytes.get(start..).unwrap_or_default().split(|byte| *byte == b'\n') {
        if let Ok(text) = std::str::from_utf8(raw.strip_suffix(b"\r").unwrap_or(raw)) {
            lines.push(Line { start, text });
        }
        start += raw.len() + 1;
    }
    lines
}

/// Which program a variable, input or key of this name is about.
fn tool_of_name(name: &str) -> Option<Tool> {
    match name.to_ascii_lowercase().replace('-', "_").as_str() {
        "terraform_version"
        | "tf_version"
        | "terraform_cli_version"
        | "tf_cli_version"
        | "tfenv_terraform_version"
        | "atlantis_default_tf_version"
        | "default_terraform_version"
        | "terraformversion" => Some(Tool::Terraform),
        "tofu_version" | "opentofu_version" | "tofuenv_tofu_version" | "tofuversion" | "opentofuversion" => {
            Some(Tool::OpenTofu)
        }
        "terragrunt_version" | "tg_version" | "terragruntversion" => Some(Tool::Terragrunt),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
