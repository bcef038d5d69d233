//! A file's bytes and where things stand in them: spans, lines, columns, encoding. No meaning is read here.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

/// A byte range in a file, `start` included, `end` excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span over `start..end`; an end before the start is an empty span at `start`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the span covers no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `other` lies wholly inside.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The same span, `by` bytes further on: from a region's own text to the file around it.
    pub fn shift(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }

    /// The bytes that the span covers; empty when it lies outside `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// Line and column, both counted from 1; the column counts characters, as editors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, JsonSchema)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1 (in bytes where the line is not UTF-8).
    pub column: usize,
}

/// A position in a named file: what `file:line:column` prints.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Place {
    /// Path as shown to people: relative to where the walk began, `/` between parts.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// A place from a file name and a position.
    pub fn new(file: impl Into<String>, at: Position) -> Self {
        Self { file: file.into(), line: at.line, column: at.column }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The UTF-8 byte order mark. Terraform and editors pass over it; so do we, and edits keep it.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Whether the bytes begin as UTF-16 or UTF-32 text does. Of such text no word can be found.
pub fn is_wide(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xFF\xFE")
        || bytes.starts_with(b"\xFE\xFF")
        || bytes.starts_with(b"\0\0\xFE\xFF")
        // No text that is read has a zero this early.
        || matches!(bytes, [0, ..] | [_, 0, ..]) && is_wide_without_a_mark(bytes)
}

/// Whether nearly every character near the start is ASCII in two or four bytes, in one order.
#[cold]
fn is_wide_without_a_mark(bytes: &[u8]) -> bool {
    let near = bytes.get(..64).unwrap_or(bytes);
    let is_text = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let spelled = |width: usize, first: bool| {
        let mut units = near.chunks_exact(width);
        let ascii = |unit: &[u8]| {
            let (low, high) = if first { unit.split_first() } else { unit.split_last() }?;
            (is_text(*low) && high.iter().all(|byte| *byte == 0)).then_some(())
        };
        // A letter of another script may stand among them, though not at the very start.
        let all = units.len();
        let begins = units.by_ref().take(2).filter_map(ascii).count();
        let rest = units.filter_map(ascii).count();
        begins == 2 && (begins + rest) * 4 >= all * 3
    };
    [2, 4].iter().any(|width| spelled(*width, true) || spelled(*width, false))
}

/// A name in lower case, as far as it is ASCII. Most file names are so already, and are not copied.
pub fn lowercase(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    }
}

/// A file's bytes with an index of its lines.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// Wraps the bytes of one file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// All bytes, BOM included.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The text of a span as a string, invalid UTF-8 replaced.
    pub fn lossy(self, span: Span) -> Cow<'a, str> {
        String::from_utf8_lossy(span.of(self.bytes))
    }

    /// Line and column of a byte offset. Cost is one pass over the bytes before it, so it is asked only for
    /// what is reported, never per token. An offset past the end is the end.
    pub fn position(self, offset: usize) -> Position {
        let before = self.bytes.get(..offset).unwrap_or(self.bytes);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let mut head = before.get(line_start..).unwrap_or_default();
        if line_start == 0 {
            head = head.strip_prefix(BOM).unwrap_or(head);
        }
        let column = std::str::from_utf8(head).map_or(head.len(), |text| text.chars().count()) + 1;
        Position { line, column }
    }

    /// The byte offset of a position, as [`Text::position`] counts; the end of the line or of the text where it lies
    /// behind that.
    pub fn offset(self, at: Position) -> usize {
        let line_start = match at.line.checked_sub(2) {
            None => 0,
            Some(skipped) => memchr::memchr_iter(b'\n', self.bytes)
                .nth(skipped)
                .map_or(self.bytes.len(), |line_feed| line_feed + 1),
        };
        let mut line = Span::new(line_start, self.line_span(line_start).end);
        if line_start == 0 && self.bytes.starts_with(BOM) {
            line.start = BOM.len();
        }
        let before = at.column.saturating_sub(1);
        match std::str::from_utf8(line.of(self.bytes)) {
            Ok(text) => line.start + text.char_indices().nth(before).map_or(line.len(), |(at, _)| at),
            Err(_) => (line.start + before).min(line.end),
        }
    }

    /// The place of a byte offset in the file called `file`.
    pub fn place(self, file: &str, offset: usize) -> Place {
        Place::new(file, self.position(offset))
    }

    /// The span of the line that holds `offset`, its line ending included.
    pub fn line_span(self, offset: usize) -> Span {
        let offset = offset.min(self.bytes.len());
        let start =
            memchr::memrchr(b'\n', self.bytes.get(..offset).unwrap_or_default()).map_or(0, |at| at + 1);
        let end = memchr::memchr(b'\n', self.bytes.get(offset..).unwrap_or_default())
            .map_or(self.bytes.len(), |at| offset + at + 1);
        Span::new(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_characters_and_passes_over_the_bom() {
        let text = Text::new("\u{feff}é = 1\r\nb = 2".as_bytes());
        assert_eq!(text.position(3), Position { line: 1, column: 1 });
        assert_eq!(text.position(5), Position { line: 1, column: 2 });
        assert_eq!(text.position(11), Position { line: 2, column: 1 });
        assert_eq!(text.position(usize::MAX), Position { line: 2, column: 6 });
    }

    #[test]
    fn positions_lead_back_to_their_bytes() {
        let text = Text::new("\u{feff}é = 1\r\nb = 2".as_bytes());
        for offset in [3, 5, 6, 11, 13] {
            assert_eq!(text.offset(text.position(offset)), offset);
        }
        assert_eq!(text.offset(Position { line: 9, column: 9 }), text.bytes().len());
        assert_eq!(text.offset(Position { line: 0, column: 0 }), 3);
        let latin = Text::new(b"a\xE9b\nc");
        assert_eq!(latin.offset(latin.position(2)), 2);
    }

    #[test]
    fn line_span_includes_the_line_ending() {
        let text = Text::new(b"a\r\nbc\nd");
        assert_eq!(text.line_span(0), Span::new(0, 3));
        assert_eq!(text.line_span(4), Span::new(3, 6));
        assert_eq!(text.line_span(6), Span::new(6, 7));
    }
}
