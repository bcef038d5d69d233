//! What a file is written in, by its name alone: which reader of calls it gets.

use super::code_style::Style;
use crate::repo::facts::name_of;
use crate::repo::text::lowercase;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// Shell scripts, and anything without an extension.
    Shell,
    /// Makefiles and justfiles: each line is a shell of its own.
    Make,
    /// Dockerfiles.
    Docker,
    /// PowerShell.
    PowerShell,
    /// `cmd.exe` batch files.
    Batch,
    /// CI pipelines, Taskfiles, Atlantis, buildspecs, …
    Yaml,
    /// Program code and data with string literals.
    Code(Style),
}

/// Whether a file can hold calls: documentation and data never do. Terraform's own files do so in a buildspec or a
/// `local-exec` command.
pub fn is_code_file(path: &str) -> bool {
    language(path).is_some()
}

pub(crate) fn language(path: &str) -> Option<Language> {
    let name = lowercase(name_of(path));
    let mut name = name.as_ref();
    while let Some((
        bare,
        "tpl" | "tmpl" | "j2" | "erb" | "example" | "sample" | "template" | "dist" | "in",
    )) = name.rsplit_once('.')
    {
        name = bare;
    }
    let starts = |what: &[&str]| what.iter().any(|start| name.starts_with(start));
    if starts(&["makefile", "gnumakefile", "justfile", ".justfile"]) {
        return Some(Language::Make);
    }
    if starts(&["dockerfile", "containerfile"]) {
        return Some(Language::Docker);
    }
    if starts(&[".env."]) {
        return Some(Language::Shell);
    }
    if starts(&["jenkinsfile"]) {
        return Some(Language::Code(Style::SLASHES));
    }
    if starts(&["rakefile", "gemfile", "fastfile", "vagrantfile", "thorfile", "tiltfile", "sconstruct"]) {
        return Some(Language::Code(Style::HASH));
    }
    if starts(&[
        "readme",
        "license",
        "changelog",
        "notice",
        "codeowners",
        "contributing",
        ".gitignore",
        ".gitattributes",
    ]) {
        return None;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else { return Some(Language::Shell) };
    match extension {
        "sh" | "bash" | "zsh" | "ksh" | "fish" | "envrc" | "env" | "bats" | "profile" | "bashrc" => {
            Some(Language::Shell)
        }
        "mk" | "mak" | "make" | "just" => Some(Language::Make),
        "dockerfile" | "containerfile" => Some(Language::Docker),
        "ps1" | "psm1" => Some(Language::PowerShell),
        "bat" | "cmd" => Some(Language::Batch),
        "yml" | "yaml" => Some(Language::Yaml),
        "py" | "rb" | "rake" | "pl" | "toml" | "bzl" | "star" | "nix" | "ex" | "exs" => {
            Some(Language::Code(Style::HASH))
        }
        "js" | "ts" | "mjs" | "cjs" | "jsx" | "tsx" | "groovy" | "gradle" | "jenkinsfile" | "go" | "java"
        | "kt" | "kts" | "scala" | "rs" | "cs" | "dart" | "swift" => Some(Language::Code(Style::SLASHES)),
        "php" => Some(Language::Code(Style::BOTH)),
        "hcl" | "tf" | "tofu" => Some(Language::Code(Style::HCL)),
        "json" | "jsonc" | "json5" => Some(Language::Code(Style::JSON)),
        _ if stem.is_empty() => Some(Language::Shell),
        _ => None,
    }
}
