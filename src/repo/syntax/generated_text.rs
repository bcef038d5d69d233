//! Backends in text that another program writes into a module: heredocs in Terragrunt's and Terramate's files, and
//! what to say of text that is put together.

use super::expression::one_line;
use super::hcl::{self, parse_problem};
use super::lexer::{self, Attribute};
use crate::repo::problem::Problem;
use crate::repo::secret::shown;
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind};
use crate::repo::text::{Span, Text};

/// Names under which a computed `config` is unknown: those that say which state it is and which locks it takes.
const IDENTIFYING: [&str; 5] = ["bucket", "key", "region", "dynamodb_table", "use_lockfile"];

/// Whether one of the words stands in the text.
pub(super) fn mentions(bytes: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| memchr::memmem::find(bytes, word).is_some())
}

/// Whether a text may hold an s3 backend.
pub(super) fn is_backend_text(bytes: &[u8]) -> bool {
    mentions(bytes, &[b"backend"]) && mentions(bytes, &[b"s3"])
}

/// One unknown value under every name that decides.
pub(super) fn computed_settings(text: Text<'_>, attribute: &Attribute, value: &Value) -> Vec<Setting> {
    let setting = |name: &str| Setting {
        name: name.to_owned(),
        at: text.position(attribute.span.start),
        span: attribute.span,
        name_span: attribute.name_span,
        value_span: attribute.value_span,
        value: value.clone(),
        via: Vec::new(),
    };
    IDENTIFYING.iter().map(|name| setting(name)).collect()
}

/// The lines of a heredoc, opener and marker left out; `None` for any other expression.
pub(super) fn heredoc(text: Text<'_>, value: Span) -> Option<Span> {
    let bytes = value.of(text.bytes());
    let rest = bytes.strip_prefix(b"<<")?;
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let opener = memchr::memchr(b'\n', rest)?;
    let marker = rest.get(..opener)?.trim_ascii();
    let start = bytes.len() - rest.len() + opener + 1;
    let last = memchr::memrchr(b'\n', bytes).map_or(start, |at| at + 1);
    let closed = bytes.get(last..).is_some_and(|line| line.trim_ascii() == marker);
    (closed && last >= start).then(|| Span::new(value.start + start, value.start + last))
}

/// The s3 backends in the text of a template, with exact places. A `${…}` is for the generator, a `$${…}` for the
/// program that reads the result, a `%{…}` may leave lines out.
pub(super) fn template_backends(
    file: &str,
    text: Text<'_>,
    region: Span,
    kind: SourceKind,
) -> (Vec<Source>, Vec<Problem>) {
    let bytes = region.of(text.bytes());
    if !mentions(bytes, &[b"backend"]) {
        return (Vec::new(), Vec::new());
    }
    let (mut sources, _) = hcl::backends_in_region(file, text, region, kind);
    let directives = mentions(bytes, &[b"%{"]);
    let mut problems = Vec::new();
    if let Some(error) = structure_error(text, region, &sources)
        .filter(|_| !directives && (!sources.is_empty() || is_backend_text(bytes)))
    {
        problems.push(parse_problem(file, text, &error));
    }
    for source in &mut sources {
        for setting in &mut source.settings {
            let written = text.lossy(setting.value_span);
            if written.contains("$${") || written.contains("%%{") {
                let reason = "the generated file holds an expression here".to_owned();
                let value = Value::Unknown { expression: one_line(&written), reason };
                setting.value = without_secrets(&setting.name, value);
            }
        }
        if directives && mentions(source.span.of(text.bytes()), &[b"%{"]) {
            let reason = "a template directive decides what stands here".to_owned();
            let unknown = Value::Unknown {
                expression: shown_expression(&text.lossy(source.span)),
                reason: reason.clone(),
            };
            let whole = Attribute {
                name: String::new(),
                span: source.span,
                name_span: source.span,
                value_span: source.span,
            };
            source.settings.extend(computed_settings(text, &whole, &unknown));
            source.editability = Editability::ReportOnly(reason);
        }
    }
    (sources, problems)
}

/// What HCL would refuse in the shape of a template's text; single values may be anything before they are filled in.
fn structure_error(text: Text<'_>, region: Span, sources: &[Source]) -> Option<lexer::LexError> {
    let top = lexer::body(text.bytes(), region);
    let inner =
        top.blocks_of("terraform").map(|block| block.body).chain(sources.iter().map(|source| source.body));
    let error = inner.filter_map(|body| lexer::body(text.bytes(), body).error).next();
    top.error.or(error)
}

/// An expression as it may be shown: not when it names an argument that holds a secret.
pub fn shown_expression(text: &str) -> String {
    one_line(&shown(text))
}
