//! Colours, in one place: what a mode and a severity look like on a terminal. No layout here.

use anstyle::{AnsiColor, Style};

use crate::finding::Severity;
use crate::repo::inventory::LockMode;

/// Paints text, or leaves it as it is where colour is off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    /// Whether escapes are written at all.
    pub colour: bool,
}

impl Palette {
    /// `text` in `style`.
    fn paint(self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Something of less weight.
    pub fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// A line that a diff adds.
    pub fn added(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// A line that a diff removes.
    pub fn removed(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default(), text)
    }

    /// A severity's own word or whatever stands for it.
    pub fn severity(self, severity: Severity, text: &str) -> String {
        let style = match severity {
            Severity::Critical | Severity::High => AnsiColor::Red.on_default().bold(),
            Severity::Medium => AnsiColor::Yellow.on_default().bold(),
            Severity::Low => AnsiColor::Cyan.on_default(),
            Severity::Info => Style::new().dimmed(),
        };
        self.paint(style, text)
    }

    /// The terminal colour of a mode, for the table's own cells.
    pub fn mode_cell(mode: LockMode) -> comfy_table::Color {
        match mode {
            LockMode::None => comfy_table::Color::Red,
            LockMode::Dynamodb => comfy_table::Color::Yellow,
            LockMode::Dual => comfy_table::Color::Cyan,
            LockMode::Lockfile => comfy_table::Color::Green,
            LockMode::Unknown => comfy_table::Color::Magenta,
        }
    }
}
