//! Why a command could not run, in words: what is wrong and what to do next.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use crate::repo::excerpt::Excerpt;
use crate::repo::text::{BOM, Place, Position, Text, is_wide};
use crate::report::words::visible_lines;

/// A command that could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    message: String,
    excerpt: Option<Excerpt>,
    help: Option<String>,
}

impl Failure {
    /// What is wrong, in one sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), excerpt: None, help: None }
    }

    /// What is wrong at a place of a text: line and byte column from 1, as JSON readers count them. A byte order mark
    /// counts for nothing.
    pub fn at(
        file: impl Display,
        text: &[u8],
        (line, column): (usize, usize),
        message: impl Display,
    ) -> Self {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let (at, excerpt) = Excerpt::at_byte(Text::new(text), line, column);
        let place = Place::new(file.to_string(), at);
        Self { message: format!("{place}: {message}"), excerpt: Some(excerpt), help: None }
    }

    /// A file that is not the JSON that it should be: `what` it was to be, and what the reader says. Its words may quote
    /// from the file; they are made safe to show with everything else.
    pub fn json(file: impl Display, text: &[u8], what: &str, error: &serde_json::Error) -> Self {
        if is_wide(text) {
            return Self::wide(file);
        }
        let said = error.to_string();
        // The place is said by itself.
        let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
        Self::at(file, text, (error.line(), error.column()), format!("{what}: {said}"))
    }

    /// The text of a file that has to be UTF-8, or where it is not.
    pub fn utf8(file: impl Display, bytes: Vec<u8>) -> Result<String, Self> {
        if is_wide(&bytes) {
            return Err(Self::wide(file));
        }
        String::from_utf8(bytes).map_err(|error| {
            let bytes = error.as_bytes();
            let before = bytes.get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let in_line = before.iter().rev().take_while(|byte| **byte != b'\n').count();
            // `at` counts without the mark.
            let mark = if line == 1 && bytes.starts_with(BOM) { BOM.len() } else { 0 };
            Self::at(file, bytes, (line, (in_line + 1).saturating_sub(mark)), "not UTF-8")
                .help("store it as UTF-8")
        })
    }

    /// No line of such a file can be shown.
    fn wide(file: impl Display) -> Self {
        let place = Place::new(file.to_string(), Position { line: 1, column: 1 });
        Self::new(format!("{place}: UTF-16 or UTF-32 text, which is not read"))
            .help("store it as UTF-8 (Windows PowerShell's `>` and `Out-File` write UTF-16)")
    }

    /// What to do next.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// `error: …`, the line where there is one, and `help: …` on a line of its own. Messages may quote from files, so they are made safe here.
    pub fn shown(&self, colour: bool) -> String {
        let style = |style: Style| if colour { style } else { Style::new() };
        let (red, cyan) =
            (style(AnsiColor::Red.on_default().bold()), style(AnsiColor::Cyan.on_default().bold()));
        let mut out = format!("{red}error:{red:#} {}\n", visible_lines(&self.message));
        if let Some(excerpt) = &self.excerpt {
            out.push_str(&format!("{excerpt}\n"));
        }
        if let Some(help) = &self.help {
            out.push_str(&format!("{cyan}help:{cyan:#} {}\n", visible_lines(help)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_and_help_have_a_line_each_and_no_raw_escapes() {
        let failure = Failure::new("no such path: a\u{1b}[2J").help("look again");
        assert_eq!(failure.shown(false), "error: no such path: a\\u{1b}[2J\nhelp: look again\n");
        assert!(failure.shown(true).starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no such"));
    }

    #[test]
    fn what_is_no_text_is_shown_where_it_begins() {
        let read =
            |bytes: &[u8]| Failure::utf8("a.json", bytes.to_vec()).map_err(|failure| failure.shown(false));
        assert_eq!(read("{\"ä\": 1}\n".as_bytes()), Ok("{\"ä\": 1}\n".to_owned()));
        assert_eq!(
            read(b"{\n  \"a\": \"\xFC\"\n}\n").unwrap_err(),
            "error: a.json:2:9: not UTF-8\n  2 |   \"a\": \"\u{fffd}\"\n    |         ^\nhelp: store it as UTF-8\n"
        );
        assert!(read(b"\xEF\xBB\xBFa\xFF").unwrap_err().starts_with("error: a.json:1:2: not UTF-8\n"));
        for wide in [&b"\xFF\xFE{\0}\0"[..], b"{\0\"\0a\0\"\0"] {
            let said = "error: a.json:1:1: UTF-16 or UTF-32 text, which is not read\nhelp: store it as UTF-8 (Windows \
                        PowerShell's `>` and `Out-File` write UTF-16)\n";
            assert_eq!(read(wide).unwrap_err(), said);
            let error = serde_json::from_slice::<serde_json::Value>(wide).unwrap_err();
            assert_eq!(Failure::json("a.json", wide, "no policy", &error).shown(false), said);
        }
    }

    #[test]
    fn json_is_shown_where_it_is_wrong() {
        let text = b"\xEF\xBB\xBF{\n\t\"a\": 1,\n}\n";
        let error = serde_json::from_slice::<serde_json::Value>(&text[3..]).unwrap_err();
        assert_eq!(
            Failure::json("a.json", text, "no snapshot", &error).help("make one").shown(false),
            "error: a.json:3:1: no snapshot: trailing comma\n  3 | }\n    | ^\nhelp: make one\n"
        );
    }
}
