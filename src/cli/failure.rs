//! Why a command could not run, in words: what is wrong and what to do next.

use anstyle::{AnsiColor, Style};

use crate::report::words::visible_lines;

/// A command that could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    message: String,
    help: Option<String>,
}

impl Failure {
    /// What is wrong, in one sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// What to do next.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// `error: …`, and `help: …` on a line of its own. Messages may quote from files, so they are made safe here.
    pub fn shown(&self, colour: bool) -> String {
        let style = |style: Style| if colour { style } else { Style::new() };
        let (red, cyan) =
            (style(AnsiColor::Red.on_default().bold()), style(AnsiColor::Cyan.on_default().bold()));
        let mut out = format!("{red}error:{red:#} {}\n", visible_lines(&self.message));
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
}
