//! Scripts, CI files and program code to calls of terraform, tofu and terragrunt. Which reader a file gets is decided
//! here; nothing is attributed to a root module.

use super::commands::Reader;
use super::flags::{self, Around};
use super::shell::Dialect;
use super::{calls_code, calls_yaml};
use crate::repo::facts::Call;
use crate::repo::needles::Needles;
use crate::repo::text::{Span, Text};

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
    Code(calls_code::Style),
}

/// Whether a file can hold calls: documentation and data never do. Terraform's own files do so in a buildspec or a
/// `local-exec` command.
pub fn is_code_file(path: &str) -> bool {
    language(path).is_some()
}

pub(crate) fn language(path: &str) -> Option<Language> {
    use calls_code::Style;
    let mut name = path.rsplit_once('/').map_or(path, |(_, name)| name).to_ascii_lowercase();
    while let Some((
        bare,
        "tpl" | "tmpl" | "j2" | "erb" | "example" | "sample" | "template" | "dist" | "in",
    )) = name.rsplit_once('.')
    {
        name = bare.to_owned();
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

/// Flags for which configuration and data are read: nearly every such file says "terraform" somewhere.
static OWN_FLAGS: Needles = Needles::new(&[b"backend-config", b"-lock=", b"force-unlock"]);

/// Every call in a file, in order of appearance. Comments are never calls; a flag whose command can't be told makes
/// a call with an empty subcommand.
pub fn read_calls(file: &str, text: Text<'_>) -> Vec<Call> {
    let Some(language) = language(file) else { return Vec::new() };
    if !flags::may_matter(text.bytes()) {
        return Vec::new();
    }
    let own = matches!(language, Language::Code(calls_code::Style::HCL | calls_code::Style::JSON));
    if own && !OWN_FLAGS.any_in(text.bytes()) {
        return Vec::new();
    }
    let mut reader = Reader::new(file, text);
    let whole = Span::new(0, text.bytes().len());
    match language {
        Language::Shell => reader.shell(whole, Dialect::default()),
        Language::Make => reader.make(whole),
        Language::Docker => docker(&mut reader, whole),
        Language::PowerShell => reader.shell(whole, Dialect { powershell: true, ..Dialect::default() }),
        Language::Batch => reader.shell(whole, Dialect { batch: true, ..Dialect::default() }),
        Language::Yaml => calls_yaml::read(&mut reader),
        Language::Code(style) => calls_code::read(&mut reader, whole, style, Around::Code, None),
    }
    reader.finish()
}

/// Shell text, save for `CMD ["terraform", …]`.
fn docker(reader: &mut Reader<'_>, span: Span) {
    let bytes = reader.text.bytes();
    let dialect = Dialect { docker: true, ..Dialect::default() };
    let mut from = span.start;
    let mut at = span.start;
    while at < span.end {
        let line = reader.text.line_span(at);
        let trimmed = line.of(bytes).trim_ascii_start();
        let list = ["CMD", "ENTRYPOINT", "RUN", "SHELL"].iter().any(|word| {
            trimmed.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
                && trimmed.get(word.len()..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"["))
        });
        at = line.end;
        if list {
            reader.shell(Span::new(from, line.start), dialect);
            let open = line.start + memchr::memchr(b'[', line.of(bytes)).unwrap_or(0);
            let end = reader.budget.matching(bytes, open, span.end, (b'[', b']')).unwrap_or(line.end);
            calls_code::read(reader, Span::new(open, end), calls_code::Style::JSON, Around::List, None);
            at = reader.text.line_span(end).end.max(line.end);
            from = at;
        }
    }
    reader.shell(Span::new(from, span.end), dialect);
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
