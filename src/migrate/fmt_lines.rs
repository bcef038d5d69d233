//! Lines as `terraform fmt` sees them: where a line's `=` and its trailing comment stand, and how wide what is
//! before them is. Only measuring; moving is [`super::align`]'s business.
//!
//! Source of the rules: hashicorp/hcl `hclwrite/format.go` (cells, chains, columns) and
//! `hclsyntax/scan_tokens.rl` (what a token is), checked against `terraform fmt` 1.11.4.

use unicode_segmentation::UnicodeSegmentation;

use crate::repo::text::{BOM, Span};

/// Something on a line that fmt puts in a column: `=` with what follows, or a trailing comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    /// White space before it.
    pub gap: Span,
    /// Columns from the line's start to the gap.
    pub width: usize,
}

impl Cell {
    /// Offset of its first byte.
    pub fn anchor(self) -> usize {
        self.gap.end
    }
}

/// One line; a heredoc belongs to the line that opens it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// `=`, when the brackets that are opened behind it close on the line.
    pub assign: Option<Cell>,
    /// The trailing comment.
    pub comment: Option<Cell>,
}

/// Lines of a region, and how far they could be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    /// In order.
    pub lines: Vec<Line>,
    /// Where reading stopped: the region's end, or the first thing that is no HCL.
    pub end: usize,
}

/// What is open at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `${` or `%{`: code until the brace that closes it, with the number of other braces open in it.
    Template { braces: usize },
    /// A quoted string.
    Quote,
    /// A heredoc that ends with this marker.
    Heredoc { marker: Span },
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    open: Vec<Open>,
    lines: Vec<Line>,
    current: Line,
    /// Tokens seen on the line.
    tokens: usize,
    /// Columns up to the last token's end.
    width: usize,
    /// The last token's end.
    token_end: usize,
    /// Brackets opened less brackets closed since the line's first `=`.
    net: isize,
    /// The line's first `=`, whether or not it will count.
    equals: Option<Cell>,
}

/// Reads the lines of a region. Iterative: nesting costs memory, not stack.
pub(super) fn lines(bytes: &[u8], region: Span) -> Lines {
    let mut start = region.start;
    if start == 0 && bytes.starts_with(BOM) {
        start = BOM.len();
    }
    let mut scanner = Scanner {
        bytes,
        at: start,
        end: region.end.min(bytes.len()),
        open: Vec::new(),
        lines: Vec::new(),
        current: Line::default(),
        tokens: 0,
        width: 0,
        token_end: start,
        net: 0,
        equals: None,
    };
    let complete = scanner.run();
    let end = if complete { scanner.end } else { scanner.at };
    if complete {
        scanner.end_line();
    }
    Lines { lines: scanner.lines, end }
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.bytes.get(at).copied() } else { None }
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        Span::new(self.at, self.end).of(self.bytes).starts_with(text)
    }

    /// Offset of the next line feed, or the region's end.
    fn line_feed(&self, from: usize) -> usize {
        memchr::memchr(b'\n', Span::new(from, self.end).of(self.bytes)).map_or(self.end, |at| from + at)
    }

    /// Takes `length` bytes as one token.
    fn token(&mut self, length: usize) {
        let end = (self.at + length).min(self.end);
        let token = Span::new(self.at, end).of(self.bytes);
        // Nearly all of it is plain, and finding where graphemes end costs more than all the rest of a plan.
        let width = if token.is_ascii() && !token.contains(&b'\r') {
            token.len()
        } else {
            String::from_utf8_lossy(token).graphemes(true).count()
        };
        self.width += (self.at - self.token_end) + width;
        self.tokens += 1;
        self.at = end;
        self.token_end = end;
    }

    fn end_line(&mut self) {
        if self.net == 0 {
            self.current.assign = self.equals;
        }
        self.lines.push(std::mem::take(&mut self.current));
        self.tokens = 0;
        self.width = 0;
        self.token_end = self.at;
        self.net = 0;
        self.equals = None;
    }

    fn bracket(&mut self, change: isize) {
        if self.equals.is_some() {
            self.net += change;
        }
    }

    /// The cell that would begin here.
    fn cell(&self) -> Cell {
        Cell { gap: Span::new(self.token_end, self.at), width: self.width }
    }

    /// `false` when something is no HCL.
    fn run(&mut self) -> bool {
        while self.at < self.end {
            let readable = match self.open.last().copied() {
                None | Some(Open::Template { .. }) => self.code(),
                Some(Open::Quote) => self.quote(),
                Some(Open::Heredoc { marker }) => self.heredoc(marker),
            };
            if !readable {
                return false;
            }
        }
        self.open.is_empty()
    }

    fn code(&mut self) -> bool {
        let Some(byte) = self.peek(0) else { return false };
        match byte {
            b'\n' => {
                self.at += 1;
                self.end_line();
            }
            b' ' | b'\t' | b'\r' => self.at += 1,
            b'#' => self.line_comment(),
            b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
            b'/' if self.peek(1) == Some(b'*') => return self.block_comment(),
            b'"' => {
                self.token(1);
                self.open.push(Open::Quote);
            }
            b'<' if self.starts_with(b"<<") => self.heredoc_start(),
            b'{' | b'[' | b'(' => {
                if byte == b'{'
                    && let Some(Open::Template { braces }) = self.open.last_mut()
                {
                    *braces += 1;
                }
                self.token(1);
                self.bracket(1);
            }
            b']' | b')' => {
                self.token(1);
                self.bracket(-1);
            }
            b'}' => {
                match self.open.last_mut() {
                    Some(Open::Template { braces: 0 }) => {
                        self.open.pop();
                    }
                    Some(Open::Template { braces }) => *braces -= 1,
                    _ => {}
                }
                self.token(1);
                self.bracket(-1);
            }
            b'=' | b'!' | b'<' | b'>' if matches!(self.peek(1), Some(b'=')) => self.token(2),
            b'=' if self.peek(1) == Some(b'>') => self.token(2),
            b'=' => {
                if self.tokens > 0 && self.equals.is_none() {
                    self.equals = Some(self.cell());
                }
                self.token(1);
            }
            _ => self.word(),
        }
        true
    }

    /// Bytes that have no meaning of their own here.
    fn word(&mut self) {
        let rest = Span::new(self.at, self.end).of(self.bytes);
        let length = rest.iter().skip(1).position(|byte| b" \t\r\n#/\"<>=!{}[]()".contains(byte));
        self.token(length.map_or(rest.len(), |length| length + 1));
    }

    fn line_comment(&mut self) {
        if self.tokens > 0 {
            self.current.comment = Some(self.cell());
        }
        let feed = self.line_feed(self.at);
        self.at = (feed + 1).min(self.end);
        if feed < self.end {
            self.end_line();
        }
    }

    fn block_comment(&mut self) -> bool {
        let rest = Span::new(self.at + 2, self.end).of(self.bytes);
        let Some(length) = memchr::memmem::find(rest, b"*/") else { return false };
        let cell = self.cell();
        let trailing = self.tokens > 0;
        self.token(length + 4);
        // Only where nothing follows, not even a line feed, is it the line's last token.
        let rest = Span::new(self.at, self.end).of(self.bytes);
        if trailing && rest.iter().all(|byte| b" \t\r".contains(byte)) {
            self.current.comment = Some(cell);
        }
        true
    }

    fn heredoc_start(&mut self) {
        let name = if self.starts_with(b"<<-") { self.at + 3 } else { self.at + 2 };
        let feed = self.line_feed(name);
        let marker = Span::new(name, feed).of(self.bytes);
        let marker = marker.strip_suffix(b"\r").unwrap_or(marker);
        let is_name =
            marker.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte) || *byte >= 0x80);
        if marker.is_empty() || !is_name || feed == self.end {
            self.token(2);
            return;
        }
        let marker = Span::new(name, name + marker.len());
        self.token(feed + 1 - self.at);
        self.open.push(Open::Heredoc { marker });
    }

    /// One line of a heredoc, or a piece of it up to a template.
    fn heredoc(&mut self, marker: Span) -> bool {
        let fresh = self.bytes.get(self.at.wrapping_sub(1)) == Some(&b'\n');
        let feed = self.line_feed(self.at);
        let line = Span::new(self.at, feed).of(self.bytes);
        if fresh && line.trim_ascii() == marker.of(self.bytes) {
            // The line feed is not part of it.
            self.token(line.trim_ascii_end().len());
            self.open.pop();
            return true;
        }
        match template_start(line) {
            Some(at) => {
                self.token(at + 2);
                self.bracket(1);
                self.open.push(Open::Template { braces: 0 });
            }
            None if feed < self.end => self.token(line.len() + 1),
            None => return false,
        }
        true
    }

    fn quote(&mut self) -> bool {
        let line = Span::new(self.at, self.line_feed(self.at)).of(self.bytes);
        let template = template_start(line).unwrap_or(line.len());
        let close = closing_quote(line).unwrap_or(line.len());
        if close < template {
            if close > 0 {
                self.token(close);
            }
            self.token(1);
            self.open.pop();
        } else if template < line.len() {
            self.token(template + 2);
            self.bracket(1);
            self.open.push(Open::Template { braces: 0 });
        } else {
            return false;
        }
        true
    }
}

/// Where the first `${` or `%{` stands that is not escaped by doubling.
fn template_start(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'$', b'%', line.get(at..).unwrap_or_default()) {
        let start = at + found;
        let rest = line.get(start..).unwrap_or_default();
        if rest.starts_with(b"$${") || rest.starts_with(b"%%{") {
            at = start + 3;
        } else if rest.get(1) == Some(&b'{') {
            return Some(start);
        } else {
            at = start + 1;
        }
    }
    None
}

/// Where the first `"` stands that is not escaped.
fn closing_quote(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', line.get(at..).unwrap_or_default()) {
        if line.get(at + found) == Some(&b'"') {
            return Some(at + found);
        }
        at += found + 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Per line: what follows the `=` gap (up to 3 bytes) and its width, the same for the comment.
    fn cells(text: &str) -> Vec<(Option<usize>, Option<usize>)> {
        lines(text.as_bytes(), Span::new(0, text.len()))
            .lines
            .iter()
            .map(|line| (line.assign.map(|cell| cell.width), line.comment.map(|cell| cell.width)))
            .collect()
    }

    #[test]
    fn a_line_has_an_assignment_when_its_brackets_close() {
        assert_eq!(cells("a = 1\n"), [(Some(1), None), (None, None)]);
        assert_eq!(cells("x = {"), [(None, None)]);
        assert_eq!(cells("x = { a = 1 }"), [(Some(1), None)]);
        assert_eq!(cells("backend \"s3\" { # c\n}"), [(None, Some(14)), (None, None)]);
        assert_eq!(cells("b { a = 1 }"), [(None, None)]);
        assert_eq!(cells("a == b\n= 1"), [(None, None), (None, None)]);
        assert_eq!(cells("  # = only\n"), [(None, None), (None, None)]);
    }

    #[test]
    fn strings_heredocs_and_comments_hide_their_bytes() {
        assert_eq!(cells("a = \"x # = ${f(\"}\")} y\" // c"), [(Some(1), Some(23))]);
        assert_eq!(
            cells("a = <<-EOF\n  b = 1 # c\n  $${x\n  EOF\nc = 1"),
            [(Some(1), None), (Some(1), None)]
        );
        assert_eq!(cells("/* x = 1\n */ ab = 1\n"), [(Some(15), None), (None, None)]);
        assert_eq!(cells("a = 1 /* c */\n"), [(Some(1), None), (None, None)]);
    }

    #[test]
    fn width_counts_grapheme_clusters() {
        assert_eq!(cells("e\u{301}é = \"👩‍👩‍👧\" # c"), [(Some(2), Some(8))]);
        assert_eq!(cells("\u{feff}a = 1 # c\r\nb = 2\r\n").first(), Some(&(Some(1), Some(5))));
    }

    #[test]
    fn reading_stops_at_what_is_no_hcl() {
        assert_eq!(lines(b"a = 1\nb = \"x\nc = 1\n", Span::new(0, 19)).lines.len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read = lines(&bytes, Span::new(0, bytes.len()));
            prop_assert!(read.end <= bytes.len());
        }

        #[test]
        fn any_hcl_like_text_ends(text in "[ab=#/*\"${}%<E\n\r \\\\]{0,80}") {
            let read = lines(text.as_bytes(), Span::new(0, text.len()));
            for cell in read.lines.iter().flat_map(|line| [line.assign, line.comment]).flatten() {
                prop_assert!(cell.anchor() < text.len());
            }
        }
    }
}
