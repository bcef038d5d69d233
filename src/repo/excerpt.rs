//! One line of a file as an error shows it: with its number and a mark below the column. Pure, and safe to show:
//! whatever the file holds, an excerpt is two short lines without control characters, and never a secret.

use std::fmt;

use super::secret;
use super::text::{Position, Span, Text};
use crate::shell::is_unsafe;

/// Characters of a line that are shown at most; of a longer one, those around the mark.
const WIDTH: usize = 96;

/// What a tab is shown as: how wide it is elsewhere nobody knows, and the mark must stand below its column.
const TAB: &str = "    ";

/// What stands in place of a line that could hold a secret.
const HIDDEN: &str = "(not shown: the line could hold a secret)";

/// What stands in place of a line of a file that lies elsewhere.
const WITHHELD: &str = "(not shown: the file lies outside of the repository)";

/// One line, fit to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line's number, from 1.
    line: usize,
    /// What is shown of it.
    shown: String,
    /// Characters before the mark; none where there is nothing to point at.
    indent: Option<usize>,
}

impl Excerpt {
    /// The line that holds a byte offset, and a mark below that byte. An offset past the end is the end.
    pub fn of(text: Text<'_>, offset: usize) -> Self {
        let offset = offset.min(text.bytes().len());
        let (span, line) = (text.line_span(offset), text.position(offset).line);
        if could_hold_a_secret(text, span) {
            return Self { line, shown: HIDDEN.to_owned(), indent: None };
        }
        let before = Span::new(span.start, offset);
        let (shown, indent) =
            cut(&plain(&text.lossy(before)), &plain(&text.lossy(Span::new(offset, span.end))));
        Self { line, shown, indent: Some(indent) }
    }

    /// The same line, without what stands in it.
    pub fn withheld(&self) -> Self {
        Self { line: self.line, shown: WITHHELD.to_owned(), indent: None }
    }

    /// The line and byte column that a JSON reader names, both from 1 (a column of 0 is the line's beginning), with
    /// the position in characters. A text that ends too early is wrong at the end of its last line with something in it.
    pub fn at_byte(text: Text<'_>, line: usize, column: usize) -> (Position, Self) {
        let start = text.offset(Position { line, column: 1 });
        let mut offset = (start + column.saturating_sub(1)).min(text.line_span(start).end);
        // A reader that counts bytes may point into the middle of a character.
        while offset > start && text.bytes().get(offset).is_some_and(|byte| byte & 0xC0 == 0x80) {
            offset -= 1;
        }
        let ends = text.bytes().trim_ascii_end().len();
        if text.bytes().get(offset..).is_none_or(|rest| rest.trim_ascii().is_empty()) && offset > ends {
            offset = ends;
        }
        (text.position(offset), Self::of(text, offset))
    }
}

impl fmt::Display for Excerpt {
    /// Two lines: the file's own with its number, and the mark; no line break at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        write!(f, "  {number} | {}", self.shown)?;
        if let Some(indent) = self.indent {
            write!(f, "\n  {:1$} | {2:3$}^", "", number.len(), "", indent)?;
        }
        Ok(())
    }
}

/// Each character one column wide: a tab is [`TAB`], whatever could drive a terminal is a replacement character.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim_end_matches(['\r', '\n']).chars() {
        match c {
            '\t' => out.push_str(TAB),
            // The byte order mark of a file is no part of its first line.
            '\u{feff}' if out.is_empty() => {}
            c if is_unsafe(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// The part of a line around the mark, and how many characters of it stand before the mark.
fn cut(before: &str, after: &str) -> (String, usize) {
    let (left, right) = (before.chars().count(), after.trim_end().chars().count());
    if left + right <= WIDTH {
        return (format!("{before}{}", after.trim_end()), left);
    }
    // Two thirds before the mark, or all that there is; the rest behind it.
    let kept_left = left.min((WIDTH * 2 / 3).max(WIDTH.saturating_sub(right)));
    let kept_right = right.min(WIDTH - kept_left);
    let mut shown = String::new();
    let mut indent = kept_left;
    if kept_left < left {
        shown.push('…');
        indent += 1;
    }
    shown.extend(before.chars().skip(left - kept_left));
    shown.extend(after.chars().take(kept_right));
    if kept_right < right {
        shown.push('…');
    }
    (shown, indent)
}

/// Whether the line, or the one before it (a value may stand below its name), names something that is a secret, or
/// holds an address with credentials.
fn could_hold_a_secret(text: Text<'_>, line: Span) -> bool {
    let from = if line.start == 0 { line } else { text.line_span(line.start - 1) };
    let both = text.lossy(Span::new(from.start, line.end));
    secret::could_be_in(&both)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, offset: usize) -> String {
        Excerpt::of(Text::new(text.as_bytes()), offset).to_string()
    }

    #[test]
    fn the_line_has_its_number_and_a_mark_below_the_column() {
        assert_eq!(shown("a = 1\nb = two\nc", 10), "  2 | b = two\n    |     ^");
        assert_eq!(shown("", 0), "  1 | \n    | ^");
        assert_eq!(shown("a\n", usize::MAX), "  2 | \n    | ^");
        assert_eq!(shown("\u{feff}é = x", 8), "  1 | é = x\n    |     ^");
    }

    #[test]
    fn tabs_are_wide_and_what_drives_terminals_is_replaced() {
        assert_eq!(
            shown("\tb\u{1b}[31m = \u{202e}x\r\n", 2),
            "  1 |     b\u{fffd}[31m = \u{fffd}x\n    |      ^"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let long = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let excerpt = shown(&long, 500);
        let (line, mark) = excerpt.split_once('\n').unwrap();
        assert_eq!(line, format!("  1 | …{}!{}…", "a".repeat(64), "b".repeat(31)));
        assert_eq!(mark.chars().count(), line.chars().take_while(|c| *c != '!').count() + 1);
        let at_the_end = shown(&"a".repeat(500), 500);
        assert!(at_the_end.starts_with(&format!("  1 | …{}\n", "a".repeat(96))), "{at_the_end}");
    }

    #[test]
    fn secrets_are_not_shown_nor_what_stands_below_their_names() {
        let hidden = |line: usize| format!("  {line} | {HIDDEN}");
        assert_eq!(shown("secret_key = \"hunter2", 13), hidden(1));
        assert_eq!(shown("\"db_password\":\n  \"hunter2", 18), hidden(2));
        assert_eq!(shown("url = \"https://me:hunter2@host", 6), hidden(1));
        assert_eq!(shown("root:$6$salt$hash:19000:0:99999:7:::", 4), hidden(1));
        assert_eq!(shown("extraheader = AUTHORIZATION: basic eDp5", 3), hidden(1));
        assert_eq!(shown("bucket = \"b", 9), "  1 | bucket = \"b\n    |          ^");
    }

    #[test]
    fn bytes_of_a_json_reader_become_characters() {
        let text = Text::new("{\n  \"é\": x\n}".as_bytes());
        let (at, excerpt) = Excerpt::at_byte(text, 2, 9);
        assert_eq!((at.line, at.column), (2, 8));
        assert_eq!(excerpt.to_string(), "  2 |   \"é\": x\n    |        ^");
        let (at, _) = Excerpt::at_byte(text, 1, 0);
        assert_eq!((at.line, at.column), (1, 1));
        let (at, _) = Excerpt::at_byte(text, 99, 7);
        assert_eq!((at.line, at.column), (3, 2));
        assert_eq!(Excerpt::at_byte(Text::new("é".as_bytes()), 1, 2).0.column, 1);
    }

    #[test]
    fn a_text_that_ends_too_early_is_shown_where_it_ends() {
        for (text, line, column) in
            [("{\n  \"a\": 1,\n", 3, 0), ("{\n  \"a\": 1,\r\n\r\n  \n", 5, 0), ("{\n  \"a\": 1,", 2, 10)]
        {
            let (at, excerpt) = Excerpt::at_byte(Text::new(text.as_bytes()), line, column);
            assert_eq!((at.line, at.column), (2, 10), "{text:?}");
            assert_eq!(excerpt.to_string(), "  2 |   \"a\": 1,\n    |          ^", "{text:?}");
        }
        assert_eq!(Excerpt::at_byte(Text::new(b" \n"), 2, 0).1.to_string(), "  1 | \n    | ^");
    }
}
