//! A word of a command line with the place of every byte, and the budget for looking ahead in hostile text.

use crate::repo::text::Span;

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// First to last byte, quotes included.
    pub span: Span,
    /// The text with quotes and escapes undone; placeholders stay as written, bytes that are not UTF-8 are `?`.
    pub text: String,
    /// The bytes of `text` while the word is being read.
    pub(super) raw: Vec<u8>,
    /// For each byte of `text`, where it stands in the file.
    pub origin: Vec<usize>,
    /// Where the last quoted part opens, when the word ends with its closing quote.
    pub last_quote: Option<usize>,
    /// How many bytes that closing quote takes (two for `\"` inside a string).
    pub quote_len: usize,
    /// Number of quoted parts.
    pub quotes: usize,
    /// Whether a backslash (or its like) stands in it.
    pub escaped: bool,
    /// Contents of `$(…)` and backticks: command lines of their own.
    pub substitutions: Vec<Span>,
}

impl Word {
    /// What the last quoted part holds, without its quotes.
    pub(crate) fn quoted(&self) -> Option<Span> {
        let open = self.last_quote?;
        Some(Span::new(open + self.quote_len, self.span.end.saturating_sub(self.quote_len)))
    }
}

impl Word {
    /// A word without any byte yet.
    pub(crate) fn at(at: usize) -> Self {
        Word {
            span: Span::new(at, at),
            text: String::new(),
            raw: Vec::new(),
            origin: Vec::new(),
            last_quote: None,
            quote_len: 1,
            quotes: 0,
            escaped: false,
            substitutions: Vec::new(),
        }
    }

    /// Adds bytes of the file, one origin for each.
    pub(crate) fn push(&mut self, bytes: &[u8], from: usize, to: usize) {
        if let Some(part) = bytes.get(from..to) {
            self.raw.extend_from_slice(part);
            self.origin.extend(from..to);
        }
    }

    /// Adds bytes that stand for something at `at`.
    pub(crate) fn push_as(&mut self, text: &[u8], at: usize) {
        self.raw.extend_from_slice(text);
        self.origin.extend(std::iter::repeat_n(at, text.len()));
    }

    /// Makes `text` from the bytes; the number of bytes stays, so that `origin` holds.
    pub(crate) fn finish(mut self) -> Self {
        self.text = String::from_utf8(std::mem::take(&mut self.raw)).unwrap_or_else(|error| {
            error
                .into_bytes()
                .iter()
                .map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' })
                .collect()
        });
        self
    }
}

/// What searching ahead may cost in a whole file, so that unclosed brackets cannot make it quadratic.
#[derive(Debug)]
pub(crate) struct Budget(usize);

impl Budget {
    /// A budget for a file of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        Self(len.saturating_mul(16).saturating_add(4096))
    }

    /// Pays for looking at some bytes; `false` when nothing is left.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        let enough = self.0 >= bytes;
        self.0 = self.0.saturating_sub(bytes);
        enough
    }

    /// Where `needle` ends, searched from `from` up to `end`.
    pub(crate) fn find(&mut self, bytes: &[u8], from: usize, end: usize, needle: &[u8]) -> Option<usize> {
        // What can't be paid for is not looked at, either.
        let hay = bytes.get(from..end.min(from.saturating_add(self.0)))?;
        let found = memchr::memmem::find(hay, needle);
        self.spend(found.map_or(hay.len(), |at| at + needle.len()));
        found.map(|at| from + at + needle.len())
    }

    /// One past the bracket that closes the one at `open`.
    pub(crate) fn matching(
        &mut self,
        bytes: &[u8],
        open: usize,
        end: usize,
        pair: (u8, u8),
    ) -> Option<usize> {
        let mut depth = 0usize;
        let mut at = open;
        while at < end {
            let byte = *bytes.get(at)?;
            if !self.spend(1) {
                return None;
            }
            if byte == b'\\' {
                at += 1;
            } else if byte == pair.0 {
                depth += 1;
            } else if byte == pair.1 {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            at += 1;
        }
        None
    }
}
