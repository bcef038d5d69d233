//! One item (an assignment) among its neighbours: which lines it has for itself, the commas around it, and what
//! goes with it when it goes. Shared by all syntaxes that have items; how a new item is spelled is none of this.

use super::edit::Edit;
use crate::repo::source::Syntax;
use crate::repo::text::{BOM, Span};

/// What separates items, and what a comment looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Arguments of an HCL body: one a line.
    Body,
    /// Items of an HCL object: a comma, a line feed, or both.
    Object,
    /// Members of a JSON object: always a comma.
    Json,
    /// Entries of a YAML block mapping: one a line.
    Yaml,
}

impl Dialect {
    /// Of a syntax that has items and is edited.
    pub fn of(syntax: Syntax) -> Option<Self> {
        match syntax {
            Syntax::HclBody => Some(Dialect::Body),
            Syntax::HclObject => Some(Dialect::Object),
            Syntax::Json => Some(Dialect::Json),
            Syntax::Yaml => Some(Dialect::Yaml),
            Syntax::Flag | Syntax::Other => None,
        }
    }

    pub fn has_commas(self) -> bool {
        matches!(self, Dialect::Object | Dialect::Json)
    }

    /// The length of a comment that begins here and ends on the same line (its line feed excluded).
    fn comment(self, rest: &[u8]) -> Option<usize> {
        let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let slashes = matches!(self, Dialect::Body | Dialect::Object);
        if (self != Dialect::Json && rest.starts_with(b"#")) || (slashes && rest.starts_with(b"//")) {
            return Some(line);
        }
        let block = memchr::memmem::find(rest.get(2..line)?, b"*/")?;
        (slashes && rest.starts_with(b"/*")).then_some(block + 4)
    }
}

/// The line that holds an offset, its ending included, a BOM excluded.
pub(super) fn line_at(bytes: &[u8], offset: usize) -> Span {
    let line = crate::repo::text::Text::new(bytes).line_span(offset);
    if line.start == 0 && bytes.starts_with(BOM) { Span::new(BOM.len(), line.end) } else { line }
}

/// The line before the one that starts at `start`.
fn line_before(bytes: &[u8], start: usize) -> Option<Span> {
    let line = line_at(bytes, start.checked_sub(1)?);
    (line.end == start && !line.is_empty()).then_some(line)
}

/// A line's leading white space.
pub(super) fn indent_of(bytes: &[u8], line: Span) -> &[u8] {
    let text = line.of(bytes);
    let length = text.iter().position(|byte| !b" \t".contains(byte)).unwrap_or(text.len());
    text.get(..length).unwrap_or_default()
}

/// How lines end here: as this line does, or the one before it where this is the last.
pub(super) fn line_ending(bytes: &[u8], line: Span) -> &'static str {
    let text = line.of(bytes);
    let text = if text.ends_with(b"\n") { text } else { bytes.get(..line.start).unwrap_or_default() };
    if text.ends_with(b"\r\n") { "\r\n" } else { "\n" }
}

/// Whether there is only white space.
pub(super) fn is_blank(bytes: &[u8], from: usize, to: usize) -> bool {
    Span::new(from, to).of(bytes).trim_ascii().is_empty()
}

/// Whether a body stands between braces (a flat file does not).
pub(super) fn is_braced(bytes: &[u8], body: Span) -> bool {
    body.start.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'{')
        && bytes.get(body.end) == Some(&b'}')
}

/// An item and what stands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    /// The assignment, without a comma.
    pub span: Span,
    /// The comma that follows.
    pub comma: Option<usize>,
    /// Its lines, whole, a trailing comment and the last line ending included.
    pub lines: Span,
    /// Whether nothing stands before it on its first line.
    pub first: bool,
    /// Whether nothing but its comma and a comment follows on its last line.
    pub last: bool,
}

impl Item {
    /// Looks around an assignment.
    pub fn at(bytes: &[u8], span: Span, dialect: Dialect) -> Self {
        // A heredoc's last line feed belongs to the line, not to the value.
        let text = span.of(bytes);
        let cut = text.len() - text.trim_ascii_end().len();
        let span = Span::new(span.start, span.end - cut.min(span.len()));
        let first = line_at(bytes, span.start);
        let lines = Span::new(first.start, line_at(bytes, span.end).end);
        let comma = if dialect.has_commas() { comma_after(bytes, span.end, dialect) } else { None };
        let mut at = span.end;
        while at < lines.end {
            let rest = Span::new(at, lines.end).of(bytes);
            match rest.first() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
                Some(b',') if comma == Some(at) => at += 1,
                // In YAML, `#` begins a comment only after white space; the value's end is known, so it is one.
                _ => match dialect.comment(rest) {
                    Some(length) => at += length,
                    None => break,
                },
            }
        }
        let first = is_blank(bytes, lines.start, span.start);
        let last = at >= lines.end && comma.is_none_or(|comma| comma < lines.end);
        Self { span, comma, lines, first, last }
    }

    /// Whether nothing else stands on its lines.
    pub fn alone(self) -> bool {
        self.first && self.last
    }
}

/// Passes over white space and comments.
fn skip_trivia(bytes: &[u8], mut at: usize, end: usize, dialect: Dialect) -> usize {
    while at < end {
        let rest = Span::new(at, end).of(bytes);
        match rest.first() {
            Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
            _ => match dialect.comment(rest) {
                Some(length) => at += length,
                None => break,
            },
        }
    }
    at
}

fn comma_after(bytes: &[u8], from: usize, dialect: Dialect) -> Option<usize> {
    let at = skip_trivia(bytes, from, bytes.len(), dialect);
    (bytes.get(at) == Some(&b',')).then_some(at)
}

/// The comma between the previous item's end and this item, when nothing but comments is with it.
pub(super) fn comma_between(bytes: &[u8], from: usize, to: usize, dialect: Dialect) -> Option<usize> {
    let comma = comma_after(bytes, from, dialect).filter(|comma| *comma < to)?;
    (skip_trivia(bytes, comma + 1, to, dialect) == to).then_some(comma)
}

/// What to know when an item goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removal {
    /// The item.
    pub item: Item,
    /// Between the braces around it, or the flat file.
    pub container: Span,
    /// The end of the item before it in the same container.
    pub previous_end: Option<usize>,
    /// How items are written there.
    pub dialect: Dialect,
    /// Whether a comment line above that is about the table goes, too.
    pub about_table: bool,
    /// Whether the lockfile stays: then a comment about locking in general is still true.
    pub lock_stays: bool,
}

impl Removal {
    /// The edits; `None` when the item shares a line with something that can't be told apart.
    pub fn edits(&self, bytes: &[u8]) -> Option<Vec<Edit>> {
        let Removal { item, container, .. } = *self;
        let after = item.comma.map_or(item.span.end, |comma| comma + 1);
        let braced = is_braced(bytes, container);
        let end = if item.alone() { item.lines.end.min(container.end) } else { after };
        if braced && is_blank(bytes, container.start, item.span.start) && is_blank(bytes, end, container.end)
        {
            return Some(vec![Edit::delete(container)]);
        }
        if !item.alone() {
            return self.dialect.has_commas().then(|| self.inline(bytes));
        }
        let mut edits = vec![Edit::delete(self.lines(bytes))];
        // The last item takes the comma before it along.
        let is_last = item.comma.is_none() && self.dialect.has_commas();
        let comma = if is_last { self.comma_before(bytes) } else { None };
        edits.extend(comma.map(|comma| Edit::delete(Span::new(comma, comma + 1))));
        Some(edits)
    }

    /// The comma between this item and the one before it.
    fn comma_before(&self, bytes: &[u8]) -> Option<usize> {
        let start = self.item.span.start;
        if self.dialect == Dialect::Json {
            // No comments: the byte before the white space tells, whatever member is there.
            let before = Span::new(self.container.start, start).of(bytes).trim_ascii_end();
            return before.ends_with(b",").then(|| self.container.start + before.len() - 1);
        }
        self.previous_end.and_then(|end| comma_between(bytes, end, start, self.dialect))
    }

    fn inline(&self, bytes: &[u8]) -> Vec<Edit> {
        let item = self.item;
        if let Some(comma) = item.comma {
            let rest = Span::new(comma + 1, self.container.end).of(bytes);
            let blank = rest.iter().take_while(|byte| b" \t".contains(byte)).count();
            return vec![Edit::delete(Span::new(item.span.start, comma + 1 + blank))];
        }
        let before = Span::new(self.container.start, item.span.start).of(bytes);
        let blank = before.len() - before.trim_ascii_end().len();
        let start = item.span.start - blank;
        let comma = self.comma_before(bytes);
        match comma {
            Some(comma) if is_blank(bytes, comma + 1, item.span.start) => {
                vec![Edit::delete(Span::new(comma, item.span.end))]
            }
            Some(comma) => {
                vec![Edit::delete(Span::new(comma, comma + 1)), Edit::delete(Span::new(start, item.span.end))]
            }
            None => vec![Edit::delete(Span::new(start, item.span.end))],
        }
    }

    /// The item's lines, the comment above that goes with them, and a blank line that would be one too many.
    fn lines(&self, bytes: &[u8]) -> Span {
        let body = self.container;
        let braced = is_braced(bytes, body);
        let first = if braced { line_at(bytes, body.start).end } else { body.start };
        let mut start = self.item.lines.start;
        let mut end = self.item.lines.end;
        if self.about_table {
            start = self.comments_above(bytes, start, first);
        }
        let above = line_before(bytes, start).filter(|line| line.start >= first);
        let above_blank = above.is_some_and(|line| is_blank(bytes, line.start, line.end));
        let below = line_at(bytes, end);
        let at_end = if braced { below.end > body.end } else { end >= body.end };
        let below_blank = !at_end && is_blank(bytes, below.start, below.end);
        if below_blank && (above.is_none() || above_blank) {
            end = below.end;
        } else if at_end && above_blank {
            start = above.map_or(start, |line| line.start);
        }
        // The last line had no line feed; the line that is last now has none either.
        if end == bytes.len() && !bytes.ends_with(b"\n") && start > first {
            let before = bytes.get(..start).unwrap_or_default();
            let before = before.strip_suffix(b"\n").unwrap_or(before);
            start = before.strip_suffix(b"\r").unwrap_or(before).len();
        }
        Span::new(start, end)
    }

    fn comments_above(&self, bytes: &[u8], mut start: usize, first: usize) -> usize {
        let indent = indent_of(bytes, line_at(bytes, self.item.span.start));
        let comment = |line: &Span| {
            let text = line.of(bytes).strip_prefix(indent)?;
            let length = self.dialect.comment(text)?;
            text.get(length..)?.trim_ascii().is_empty().then(|| String::from_utf8_lossy(text).into_owned())
        };
        // Sentence by sentence: half of one must not be left.
        loop {
            let mut sentence = None;
            let mut at = start;
            while let Some(line) = line_before(bytes, at).filter(|line| line.start >= first) {
                let Some(text) = comment(&line) else { break };
                at = line.start;
                let goes_on = starts_low(&text);
                sentence = Some(text);
                if !goes_on {
                    break;
                }
            }
            match sentence {
                Some(text) if is_about_table(&text, self.lock_stays) => start = at,
                _ => return start,
            }
        }
    }
}

/// A comment that starts with a small letter goes on from the line above, unless it is a setting put aside.
fn starts_low(comment: &str) -> bool {
    let text = comment.trim_start_matches(['#', '/', '*', ' ', '\t']);
    text.starts_with(char::is_lowercase) && !text.contains('=')
}

/// Whether a comment is about the lock table; one about locking in general is, while nothing else locks.
fn is_about_table(comment: &str, lock_stays: bool) -> bool {
    let text = comment.to_lowercase();
    let table =
        ["dynamo", "lock table", "lock_table", "lock-table", "locktable", "locking table", "locks table"];
    let general = ["locking", "state lock", "lock state"];
    let lockfile = ["lockfile", "lock file", "tflock", "lockshift"];
    table.iter().any(|word| text.contains(word))
        || (!lock_stays
            && general.iter().any(|word| text.contains(word))
            && !lockfile.iter().any(|word| text.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str, of: &str, dialect: Dialect) -> Item {
        let start = text.find(of).unwrap();
        Item::at(text.as_bytes(), Span::new(start, start + of.len()), dialect)
    }

    #[test]
    fn an_item_knows_its_lines_and_commas() {
        let text = "{\n  a = 1, # c\n  b = 2 }";
        let a = item(text, "a = 1", Dialect::Object);
        assert_eq!(
            a,
            Item { span: Span::new(4, 9), comma: Some(9), lines: Span::new(2, 15), first: true, last: true }
        );
        let b = item(text, "b = 2", Dialect::Object);
        assert_eq!((b.comma, b.alone()), (None, false));
        assert!(!item("{\"a\": 1\n, \"b\": 2}", "\"a\": 1", Dialect::Json).alone());
        assert!(!item("a = 1 b", "a = 1", Dialect::Body).alone());
        assert!(item("\u{feff}a = 1 /* x */ // y", "a = 1", Dialect::Body).alone());
    }

    #[test]
    fn comments_about_the_table_are_told_from_others() {
        assert!(is_about_table("# the DynamoDB table", true));
        assert!(is_about_table("# State locking", false));
        assert!(!is_about_table("# State locking", true));
        assert!(!is_about_table("# blocks of state", true));
        assert!(!is_about_table("# locking with use_lockfile", false));
        assert!(!is_about_table("# encrypted", false));
    }
}
