//! Line and column of many offsets of one file, in time linear in the file when they are asked for in ascending
//! order. No meaning is read here.

use crate::repo::text::{BOM, Place, Position, Span, Text};

/// A cursor that answers as [`Text::position`] does, but remembers the last answer.
pub(crate) struct Locator<'a> {
    text: Text<'a>,
    file: &'a str,
    newlines: Vec<usize>,
    last: Option<Last>,
}

struct Last {
    line: usize,
    offset: usize,
    column: usize,
}

impl<'a> Locator<'a> {
    pub(crate) fn new(file: &'a str, text: Text<'a>) -> Self {
        Self { text, file, newlines: memchr::memchr_iter(b'\n', text.bytes()).collect(), last: None }
    }

    /// The place of a byte offset.
    pub(crate) fn place(&mut self, offset: usize) -> Place {
        let position = self.position(offset);
        Place::new(self.file, position)
    }

    fn position(&mut self, offset: usize) -> Position {
        let bytes = self.text.bytes();
        let offset = offset.min(bytes.len());
        let line = self.newlines.partition_point(|newline| *newline < offset);
        let start = line.checked_sub(1).and_then(|before| self.newlines.get(before)).map_or(0, |at| at + 1);
        // Counting goes on from the last answer on the same line; only valid UTF-8 is remembered.
        let (from, counted) = match &self.last {
            Some(last) if last.line == line && last.offset <= offset => (last.offset, last.column),
            _ => (start, 1),
        };
        let mut head = Span::new(from, offset).of(bytes);
        if from == 0 {
            head = head.strip_prefix(BOM).unwrap_or(head);
        }
        let column = match std::str::from_utf8(head) {
            Ok(text) => {
                let column = counted + text.chars().count();
                self.last = Some(Last { line, offset, column });
                column
            }
            Err(_) => offset - start + 1,
        };
        Position { line: line + 1, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_as_text_position_does() {
        let bytes = "\u{feff}é = 1\r\nbäb = 2\n\nlast".as_bytes();
        let text = Text::new(bytes);
        let mut locator = Locator::new("f", text);
        for offset in (0..=bytes.len()).chain([4, 19, 3, 21]) {
            if std::str::from_utf8(&bytes[..offset]).is_ok() {
                assert_eq!(locator.place(offset), text.place("f", offset), "at {offset}");
            }
        }
    }
}
