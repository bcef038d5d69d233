//! Backend text inside other text: where it stands, and what it says as far as that can be told. Which kind of place
//! it is (heredoc, template, printed pieces) is decided by [`super::heredoc`] and [`super::template`].

use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Position, Span, Text};

use super::lexer;
use super::locate::Locator;
use super::{backend_arguments, hcl};

/// A backend block in foreign text is not longer than this.
const MAX_BLOCK: usize = 64 * 1024;

/// `backend "s3" {` in any spelling of its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Where `backend` begins.
    pub at: usize,
    /// One past the label: what follows is the brace.
    pub label_end: usize,
    /// Whether the quotes are escaped or the braces doubled: the text is a piece of a string.
    pub escaped: bool,
}

/// Every `backend "s3" {` outside of line comments.
pub(crate) fn hits(text: Text<'_>) -> Vec<Hit> {
    let bytes = text.bytes();
    memchr::memmem::find_iter(bytes, b"backend").filter_map(|at| hit(bytes, at)).collect()
}

fn hit(bytes: &[u8], at: usize) -> Option<Hit> {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    // `\nbackend`: the `n` belongs to an escape of the string around it.
    let escape = before == Some(&b'n') && at.checked_sub(2).and_then(|at| bytes.get(at)) == Some(&b'\\');
    if !escape
        && before
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'))
    {
        return None;
    }
    let rest = bytes.get(at + 7..(at + 7 + 256).min(bytes.len()))?;
    let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let quotes =
        |from: usize| rest.iter().skip(from).take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
    let open = quotes(blank);
    if !rest.get(blank + open..)?.starts_with(b"s3") || blank + open == 0 {
        return None;
    }
    let close = quotes(blank + open + 2);
    let label = blank + open + 2 + close;
    let gap = rest.iter().skip(label).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
    if rest.get(label + gap) != Some(&b'{') || is_commented(bytes, at) {
        return None;
    }
    let label_bytes = rest.get(blank..label)?;
    let doubled = rest.get(label + gap + 1) == Some(&b'{');
    let escaped = doubled || !matches!(label_bytes, b"\"s3\"" | b"s3") || escape;
    Some(Hit { at, label_end: at + 7 + label, escaped })
}

/// Whether only a comment sign stands before `at` on its line.
pub(crate) fn is_commented(bytes: &[u8], at: usize) -> bool {
    let window = bytes.get(at.saturating_sub(512)..at).unwrap_or_default();
    let head = memchr::memrchr(b'\n', window)
        .map_or(window, |newline| window.get(newline + 1..).unwrap_or_default());
    let head = head.trim_ascii_start();
    [&b"#"[..], b"//", b"/*", b"*", b"{#", b"<%#", b"{{/*", b"{{!", b"--", b"REM ", b"<!--", b";"]
        .iter()
        .any(|sign| head.starts_with(sign) && !head.starts_with(b"###"))
}

/// The block at a hit, read as HCL: with its own error, when HCL would refuse it. `None` when no block can be
/// made out.
pub(crate) fn block_at(
    file: &str,
    text: Text<'_>,
    hit: Hit,
    limit: usize,
    kind: SourceKind,
) -> Option<(Source, Option<lexer::LexError>)> {
    let end = limit.min(text.bytes().len()).min(hit.at + MAX_BLOCK);
    let body = lexer::body(text.bytes(), Span::new(hit.at, end));
    let block = body.blocks.into_iter().next().filter(|block| block.keyword == "backend")?;
    let (settings, error) = hcl::settings(text, block.body);
    let source = Source {
        kind,
        syntax: Syntax::HclBody,
        place: text.place(file, block.span.start),
        span: block.span,
        body: block.body,
        settings,
        editability: Editability::Safe,
        label: None,
        git_ignored: false,
    };
    Some((source, error))
}

/// Where the braces that open after a hit close, counted in raw bytes; `limit` when they don't.
pub(crate) fn raw_end(bytes: &[u8], hit: Hit, limit: usize) -> usize {
    let limit = limit.min(bytes.len()).min(hit.at + MAX_BLOCK);
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate().take(limit).skip(hit.label_end) {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    limit
}

/// Whether a value holds something that is filled in later.
pub(crate) fn has_placeholder(value: &str) -> bool {
    ["$", "{{", "{%", "%{", "#{", "<%", "###", "@@", "[[", "%s", "(("].iter().any(|mark| value.contains(mark))
        || (value.contains('<') && value.contains('>'))
        || (value.len() > 4 && value.starts_with("__") && value.ends_with("__"))
        || (value.len() > 2 && value.starts_with('%') && value.ends_with('%'))
}

/// Values with placeholders become unknown.
pub(crate) fn mark_placeholders(settings: &mut [Setting], why: &str) {
    for setting in settings {
        if let Value::Text(text) = &setting.value
            && has_placeholder(text)
        {
            let expression = text.split_whitespace().collect::<Vec<_>>().join(" ");
            setting.value = Value::Unknown { expression, reason: why.to_owned() };
        }
    }
}

/// Settings in text that is no HCL: `name = value` and `name: value` with any spelling of quotes. Only names of
/// backend arguments count; comment lines don't.
pub(crate) fn loose_settings(bytes: &[u8], span: Span, locator: &mut Locator<'_>) -> Vec<Setting> {
    let mut found = Vec::new();
    let end = span.end.min(bytes.len());
    let mut at = span.start;
    while at < end {
        let rest = bytes.get(at..end).unwrap_or_default();
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        if name == 0 {
            at += 1;
            continue;
        }
        let start = at;
        at += name;
        // `\n` and `\t` escapes run into the name behind them.
        let escape = usize::from(
            start > 0
                && bytes.get(start - 1) == Some(&b'\\')
                && matches!(rest.first(), Some(b'n' | b't'))
                && name > 1,
        );
        let Ok(word) = std::str::from_utf8(rest.get(escape..name).unwrap_or_default()) else { continue };
        let before = start.checked_sub(1).and_then(|before| bytes.get(before));
        if before.is_some_and(|byte| matches!(byte, b'.' | b'-' | b'$' | b'{' | b'<'))
            || !(backend_arguments::is_backend_argument(word) || word == "lock_table")
        {
            continue;
        }
        let Some((value_span, quoted)) = loose_value(bytes, at, end) else { continue };
        if is_commented(bytes, start) {
            continue;
        }
        let text = String::from_utf8_lossy(value_span.1.of(bytes)).into_owned();
        let value = if has_placeholder(&text) || (text.is_empty() && !quoted) {
            Value::Unknown {
                expression: text,
                reason: "the text around it is put together when it is used".to_owned(),
            }
        } else {
            match (quoted, text.as_str()) {
                (false, "true") => Value::Bool(true),
                (false, "false") => Value::Bool(false),
                (false, "null") => Value::Null,
                (true, _) => Value::Text(text),
                (false, _) => {
                    Value::Unknown { expression: text, reason: "it is not a quoted text".to_owned() }
                }
            }
        };
        let place = locator.place(start + escape);
        found.push(Setting {
            name: word.to_owned(),
            at: Position { line: place.line, column: place.column },
            span: Span::new(start + escape, value_span.0.end),
            name_span: Span::new(start + escape, at),
            value_span: value_span.0,
            value: without_secrets(word, value),
            via: Vec::new(),
        });
        at = value_span.0.end.max(at);
    }
    found
}

/// The value behind a name: its span with quotes, its span without, and whether it had any.
fn loose_value(bytes: &[u8], from: usize, end: usize) -> Option<((Span, Span), bool)> {
    let rest = bytes.get(from..end)?;
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t');
    let closing = rest.iter().take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
    let blank = rest.iter().skip(closing).take_while(is_blank).count();
    if !matches!(rest.get(closing + blank), Some(b'=' | b':')) || rest.get(closing + blank + 1) == Some(&b'=')
    {
        return None;
    }
    let mut at = closing + blank + 1;
    at += rest.iter().skip(at).take_while(is_blank).count();
    let start = at;
    let escapes = rest.iter().skip(at).take_while(|byte| **byte == b'\\').count();
    let quote = rest.get(at + escapes).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let line = rest.get(at..)?;
    let line = line.get(..memchr::memchr(b'\n', line).unwrap_or(line.len()))?;
    if let Some(quote) = quote {
        let open = escapes + 1;
        let inner = line.get(open..)?;
        let close = memchr::memchr(quote, inner)?;
        let inner_end = close.saturating_sub(escapes);
        let outer = Span::new(from + start, from + start + open + close + 1);
        let inside = Span::new(from + start + open, from + start + open + inner_end);
        return Some(((outer, inside), true));
    }
    let len = line
        .iter()
        .take_while(|byte| {
            !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b',' | b';' | b'\\' | b'`' | b')')
        })
        .count();
    let span = Span::new(from + start, from + start + len);
    Some(((span, span), false))
}
