//! `-backend-config` flags on a command line: one more word after a word, or a word less. Quoting is the word's
//! own; a word that has a continuation line for itself gets and leaves whole lines.

use super::addition::{Addition, NewItem};
use super::change::Refusal;
use super::edit::Edit;
use super::item::{indent_of, is_blank, line_at, line_ending};
use crate::repo::setting::Setting;
use crate::repo::text::{Span, Text};

/// How a word stands on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    span: Span,
    line: Span,
    /// Only white space before it on the line.
    first: bool,
    /// The backslash that ends its line.
    goes_on: Option<usize>,
    /// Nothing after it but that backslash.
    last: bool,
    /// The backslash that ends the line before.
    led_to: Option<usize>,
}

impl Word {
    fn at(bytes: &[u8], span: Span) -> Self {
        let line = line_at(bytes, span.start);
        let goes_on = continuation(bytes, line).filter(|at| *at >= span.end);
        let end = goes_on.unwrap_or(line.end);
        let before = line.start.checked_sub(1).map(|at| line_at(bytes, at));
        Self {
            span,
            line,
            first: is_blank(bytes, line.start, span.start),
            goes_on,
            last: is_blank(bytes, span.end, end),
            led_to: before.and_then(|before| continuation(bytes, before)),
        }
    }

    /// A word in a list (`["init", "-backend-config=…"]`, `- -backend-config=…`) is an element, not a part of a
    /// command line: another word beside it would be part of the same element.
    fn is_list_element(self, bytes: &[u8]) -> bool {
        let before = Span::new(self.line.start, self.span.start).of(bytes).trim_ascii_end();
        let after = Span::new(self.span.end, self.line.end).of(bytes).trim_ascii_start();
        before.trim_ascii_start() == b"-"
            || before.ends_with(b"[")
            || before.ends_with(b",")
            || after.starts_with(b",")
            || after.starts_with(b"]")
    }
}

/// The backslash at a line's end.
fn continuation(bytes: &[u8], line: Span) -> Option<usize> {
    let text = line.of(bytes);
    let text = text.strip_suffix(b"\n")?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    text.ends_with(b"\\").then(|| line.start + text.len() - 1)
}

/// A second word after the one of `beside`, spelled like it.
pub(super) fn add(bytes: &[u8], beside: &Setting, name: &str, value: &str) -> Result<Addition, Refusal> {
    let word = Word::at(bytes, beside.span);
    if word.is_list_element(bytes) {
        return Err(Refusal::ListElement);
    }
    let text = Text::new(bytes);
    let before = text.lossy(Span::new(beside.span.start, beside.name_span.start));
    let between = text.lossy(Span::new(beside.name_span.end, beside.value_span.start));
    let after = text.lossy(Span::new(beside.value_span.end, beside.span.end));
    let new = NewItem::new(name, &between, value).wrapped(&before, &after);
    let alone = word.first && word.last;
    let indent = String::from_utf8_lossy(indent_of(bytes, word.line)).into_owned();
    let eol = line_ending(bytes, word.line);
    Ok(match (alone, word.goes_on, word.led_to) {
        (true, Some(slash), _) => {
            let tail = text.lossy(Span::new(word.span.end, slash));
            Addition::inside(word.line.end, &indent, new, &format!("{tail}\\{eol}"))
        }
        (true, None, Some(slash)) => {
            let line = line_at(bytes, slash);
            let lead = trimmed_end(bytes, line.start, slash);
            let lead = text.lossy(Span::new(lead, slash));
            Addition::inside(word.span.end, &format!("{lead}\\{eol}{indent}"), new, "")
        }
        _ => Addition::inside(word.span.end, " ", new, ""),
    })
}

/// Removes the setting's word.
pub(super) fn remove(bytes: &[u8], setting: &Setting) -> Result<Edit, Refusal> {
    let word = Word::at(bytes, setting.span);
    if word.is_list_element(bytes) {
        return Err(Refusal::ListElement);
    }
    if word.first && word.last {
        return Ok(match (word.goes_on, word.led_to) {
            (None, Some(slash)) => {
                let line = line_at(bytes, slash);
                Edit::delete(Span::new(trimmed_end(bytes, line.start, slash), word.span.end))
            }
            _ => Edit::delete(word.line),
        });
    }
    let lead = Span::new(word.line.start, word.span.start).of(bytes);
    if !word.first && matches!(lead.last(), Some(b' ' | b'\t')) {
        return Ok(Edit::delete(Span::new(word.span.start - 1, word.span.end)));
    }
    let space = matches!(bytes.get(word.span.end), Some(b' ' | b'\t'));
    Ok(Edit::delete(Span::new(word.span.start, word.span.end + usize::from(space))))
}

/// Where the white space before `end` begins.
fn trimmed_end(bytes: &[u8], start: usize, end: usize) -> usize {
    start + Span::new(start, end).of(bytes).trim_ascii_end().len()
}
