//! Terramate files: the backends that `generate_hcl` and `generate_file` write. They are the origin; the files that
//! Terramate generates from them are copies.
//!
//! Source of the grammar: Terramate's documentation of code generation.

use super::generated_text::{
    computed_settings, heredoc, is_backend_text, shown_expression, template_backends,
};
use super::hcl::{self, parse_problem};
use super::lexer::{self, Block};
use crate::repo::facts::name_of;
use crate::repo::problem::Problem;
use crate::repo::setting::Value;
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text};

/// Whether a file of this name is Terramate's.
pub fn is_terramate(path: &str) -> bool {
    let name = name_of(path);
    (name.ends_with(".tm") && name != ".tm") || (name.ends_with(".tm.hcl") && name != ".tm.hcl")
}

/// The backends that a Terramate file generates. A value with `global.x` or `let.x` is unknown: it differs by stack.
pub fn read_terramate(file: &str, text: Text<'_>) -> (Vec<Source>, Vec<Problem>) {
    let mut sources = Vec::new();
    let mut problems = Vec::new();
    let top = lexer::body(text.bytes(), Span::new(0, text.bytes().len()));
    problems.extend(top.error.iter().map(|error| parse_problem(file, text, error)));
    for block in &top.blocks {
        let [label] = block.labels.as_slice() else { continue };
        let inner = lexer::body(text.bytes(), block.body);
        let mut found = match block.keyword.as_str() {
            "generate_hcl" => {
                problems.extend(inner.error.iter().map(|error| parse_problem(file, text, error)));
                let contents = inner.blocks_of("content");
                contents.flat_map(|content| content_backends(file, text, content, &mut problems)).collect()
            }
            "generate_file" => {
                problems.extend(inner.error.iter().map(|error| parse_problem(file, text, error)));
                file_backends(file, text, &inner, &mut problems)
            }
            _ => Vec::new(),
        };
        for source in &mut found {
            source.label = Some(label.clone());
        }
        sources.extend(found);
    }
    (sources, problems)
}

fn content_backends(file: &str, text: Text<'_>, content: &Block, problems: &mut Vec<Problem>) -> Vec<Source> {
    let kind = SourceKind::Terramate;
    let (mut sources, error) = hcl::backends_in_region(file, text, content.body, kind);
    problems.extend(error.iter().map(|error| parse_problem(file, text, error)));
    let inner = lexer::body(text.bytes(), content.body);
    let terraform =
        inner.blocks_of("terraform").flat_map(|block| lexer::body(text.bytes(), block.body).blocks);
    for block in inner.blocks.iter().cloned().chain(terraform) {
        if block.keyword == "tm_dynamic" && block.labels.first().is_some_and(|label| label == "backend") {
            sources.extend(dynamic(file, text, &block));
        }
    }
    sources
}

/// `tm_dynamic "backend" { … }` on s3, or with labels that can't be told: told, never edited.
fn dynamic(file: &str, text: Text<'_>, block: &Block) -> Option<Source> {
    let inner = lexer::body(text.bytes(), block.body);
    let labels = inner.attribute("labels").map(|labels| text.lossy(labels.value_span)).unwrap_or_default();
    if labels.starts_with('[') && labels.contains('"') && !labels.contains("\"s3\"") {
        return None;
    }
    let reason = "a tm_dynamic block decides what stands here";
    Some(computed(file, text, block.span, reason))
}

fn computed(file: &str, text: Text<'_>, span: Span, reason: &str) -> Source {
    let expression = shown_expression(&text.lossy(span));
    let value = Value::Unknown { expression, reason: reason.to_owned() };
    let whole = lexer::Attribute { name: String::new(), span, name_span: span, value_span: span };
    Source {
        kind: SourceKind::Terramate,
        syntax: Syntax::Other,
        place: text.place(file, span.start),
        span,
        body: span,
        settings: computed_settings(text, &whole, &value),
        editability: Editability::ReportOnly(reason.to_owned()),
        label: None,
        git_ignored: false,
    }
}

fn file_backends(
    file: &str,
    text: Text<'_>,
    inner: &lexer::Body,
    problems: &mut Vec<Problem>,
) -> Vec<Source> {
    let Some(content) = inner.attribute("content") else { return Vec::new() };
    if let Some(region) = heredoc(text, content.value_span) {
        let (sources, refused) = template_backends(file, text, region, SourceKind::Terramate);
        problems.extend(refused);
        return sources;
    }
    let bytes = content.value_span.of(text.bytes());
    if is_backend_text(bytes) {
        return vec![computed(file, text, content.span, "the backend's text is put together by Terramate")];
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
