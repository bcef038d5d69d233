//! YAML scalars: where exactly they stand in bytes, and what they are worth. No paths, no meaning of keys.

use saphyr_parser::ScalarStyle;

use crate::repo::setting::Value;
use crate::repo::text::Span;

/// From the parser's positions, which count characters, to byte offsets in the file.
pub(super) struct Spans {
    /// Byte offset of each character; `None` where all are ASCII.
    offsets: Option<Vec<usize>>,
    length: usize,
    base: usize,
}

impl Spans {
    /// `base` is where `yaml` begins in the file.
    pub(super) fn new(yaml: &str, base: usize) -> Self {
        let offsets = (!yaml.is_ascii()).then(|| yaml.char_indices().map(|(offset, _)| offset).collect());
        Self { offsets, length: yaml.len(), base }
    }

    pub(super) fn offset(&self, index: usize) -> usize {
        let offset = match &self.offsets {
            Some(offsets) => offsets.get(index).copied().unwrap_or(self.length),
            None => index.min(self.length),
        };
        self.base + offset
    }

    pub(super) fn of(&self, span: saphyr_parser::Span) -> Span {
        Span::new(self.offset(span.start.index()), self.offset(span.end.index()))
    }
}

/// Where a scalar's own bytes end. The parser's end is too far: behind a quoted scalar it takes a comment in,
/// behind a block scalar the next line's indent.
pub(super) fn scalar_end(bytes: &[u8], at: Span, style: ScalarStyle, value: &str) -> usize {
    let text = at.of(bytes);
    let found = match style {
        ScalarStyle::DoubleQuoted => quoted_len(text, b'"'),
        ScalarStyle::SingleQuoted => quoted_len(text, b'\''),
        ScalarStyle::Plain if value.is_empty() => {
            // In flow style the parser gives an empty value the bracket behind it.
            Some(if text.starts_with(b"&") || text.starts_with(b"!") {
                text.trim_ascii_end().len()
            } else {
                0
            })
        }
        ScalarStyle::Plain if text.starts_with(value.as_bytes()) => Some(value.len()),
        _ => None,
    };
    at.start + found.unwrap_or_else(|| text.trim_ascii_end().len())
}

/// Length of a quoted scalar that `text` begins with (behind an anchor or tag, if there is one).
fn quoted_len(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = memchr::memchr(quote, text)? + 1;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'\\' if quote == b'"' => at += 1,
            _ if byte == quote => {
                if quote == b'\'' && text.get(at) == Some(&b'\'') {
                    at += 1;
                } else {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// What a scalar is worth by YAML's core schema, which the Go parser of Atmos follows for untyped values.
pub(super) fn scalar_value(value: &str, style: ScalarStyle, tag: Option<&str>) -> Value {
    if value.contains("{{") {
        return unknown(value, "a Go template, rendered when Atmos runs");
    }
    match tag {
        Some(tag) if tag.ends_with("!str") => return Value::Text(value.to_owned()),
        Some(tag) => return unknown(&format!("{tag} {value}"), "a YAML function, computed when Atmos runs"),
        None => {}
    }
    if style != ScalarStyle::Plain {
        return Value::Text(value.to_owned());
    }
    match value {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(value) => Value::Number(value.to_owned()),
        _ => Value::Text(value.to_owned()),
    }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.contains(|any: char| any.is_ascii_digit())
        && digits.parse::<f64>().is_ok()
}

fn unknown(expression: &str, reason: &str) -> Value {
    Value::Unknown { expression: expression.replace(['\r', '\n'], " "), reason: reason.to_owned() }
}
