//! Line and column of many offsets in one file, in one pass. Same answers as [`Text::position`], no meaning.

use std::cell::Cell;

use crate::repo::text::{BOM, Place, Position, Text};

/// Answers in order are cheap: each starts where the last one ended. A file of one long line with 100,000
/// settings would otherwise cost its length for each of them.
pub struct Positions<'a> {
    text: Text<'a>,
    /// In a file that is not UTF-8 columns can be bytes: each answer is then made anew.
    utf8: bool,
    last: Cell<(usize, Position)>,
}

impl<'a> Positions<'a> {
    /// Positions in `text`.
    pub fn new(text: Text<'a>) -> Self {
        let start = if text.bytes().starts_with(BOM) { BOM.len() } else { 0 };
        let utf8 = std::str::from_utf8(text.bytes()).is_ok();
        Self { text, utf8, last: Cell::new((start, Position { line: 1, column: 1 })) }
    }

    /// The text itself.
    pub fn text(&self) -> Text<'a> {
        self.text
    }

    /// The place of a byte offset in the file called `file`.
    pub fn place(&self, file: &str, offset: usize) -> Place {
        Place::new(file, self.of(offset))
    }

    /// Line and column of a byte offset that begins a character; past the end is the end.
    pub fn of(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.bytes().len());
        let (from, mut at) = self.last.get();
        let Some(between) = self.text.bytes().get(from..offset) else {
            return self.back(offset, from, at);
        };
        if !self.utf8 {
            // Characters can't be counted on from the last answer: the line is looked at from its start.
            let line = self.text.line_span(offset).start;
            let head = self.text.bytes().get(line..offset).unwrap_or_default();
            at.line += memchr::memchr_iter(b'\n', between).count();
            at.column = std::str::from_utf8(head).map_or(head.len(), |head| head.chars().count()) + 1;
            if line == 0 && head.starts_with(BOM) {
                at.column =
                    at.column.saturating_sub(if std::str::from_utf8(head).is_ok() { 1 } else { BOM.len() });
            }
            self.last.set((offset, at));
            return at;
        }
        let mut tail = between;
        if let Some(newline) = memchr::memrchr(b'\n', between) {
            at.line += memchr::memchr_iter(b'\n', between).count();
            at.column = 1;
            tail = between.get(newline + 1..).unwrap_or_default();
        }
        // Every byte but UTF-8's continuation bytes begins a character.
        at.column += tail.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        self.last.set((offset, at));
        at
    }

    /// A block's own place is asked for after those of what it holds: a short way back.
    fn back(&self, offset: usize, from: usize, last: Position) -> Position {
        let bytes = self.text.bytes();
        let passed = bytes.get(offset..from).unwrap_or_default();
        let line = last.line - memchr::memchr_iter(b'\n', passed).count();
        let start = memchr::memrchr(b'\n', bytes.get(..offset).unwrap_or_default()).map_or(0, |at| at + 1);
        if start == 0 {
            return self.text.position(offset);
        }
        let head = bytes.get(start..offset).unwrap_or_default();
        let column = std::str::from_utf8(head).map_or(head.len(), |head| head.chars().count()) + 1;
        let at = Position { line, column };
        self.last.set((offset, at));
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_same_as_counting_from_the_top(
            text in "\u{feff}?[aé\n\r]{0,30}",
            seeds in proptest::collection::vec(any::<proptest::sample::Index>(), 1..8),
        ) {
            let text_of = Text::new(text.as_bytes());
            let positions = Positions::new(text_of);
            let mut starts: Vec<usize> = text.char_indices().map(|(offset, _)| offset).collect();
            starts.push(text.len());
            for seed in seeds {
                let offset = *seed.get(&starts);
                prop_assert_eq!(positions.of(offset), text_of.position(offset));
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_count_as_bytes() {
        let text = Text::new(b"\xe9a\nb");
        let positions = Positions::new(text);
        assert_eq!(positions.of(2), Position { line: 1, column: 3 });
        assert_eq!(positions.of(9), Position { line: 2, column: 2 });
    }
}
