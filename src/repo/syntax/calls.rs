//! Scripts, CI files and program code to calls of terraform, tofu and terragrunt. Which reader a file gets is decided
//! here; nothing is attributed to a root module.

use super::commands::Reader;
use super::flags::{self, Around};
use super::language::{Language, language};
use super::shell::Dialect;
use super::{calls_code, calls_yaml};
use crate::repo::facts::Call;
use crate::repo::needles::Needles;
use crate::repo::text::{Span, Text};

/// Flags for which configuration and data are read: nearly every such file says "terraform" somewhere.
static OWN_FLAGS: Needles = Needles::new(&[b"backend-config", b"-lock=", b"force-unlock"]);

/// Every call in a file, in order of appearance. Comments are never calls; a flag whose command can't be told makes
/// a call with an empty subcommand.
pub fn read_calls(file: &str, text: Text<'_>) -> Vec<Call> {
    let Some(language) = language(file) else { return Vec::new() };
    let own = matches!(language, Language::Code(calls_code::Style::HCL | calls_code::Style::JSON));
    let may_matter = match own {
        true => OWN_FLAGS.any_in(text.bytes()),
        false => flags::may_matter(text.bytes()),
    };
    if !may_matter {
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
