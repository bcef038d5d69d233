//! Errors of the configuration file. They say where, show the line, and hint at the way out; nothing prints here.

use thiserror::Error;

use crate::repo::excerpt::Excerpt;
use crate::repo::text::Place;

/// Why a configuration could not be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file says something that can't be meant.
    #[error("{place}: {message}\n{excerpt}{}", help.as_ref().map(|help| format!("\n  help: {help}")).unwrap_or_default())]
    Invalid {
        /// Where.
        place: Place,
        /// What is wrong.
        message: String,
        /// The line.
        excerpt: Box<Excerpt>,
        /// The way out.
        help: Option<String>,
    },
    /// The file is there and could not be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// The file or directory.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
}

impl ConfigError {
    /// The same, without a line of the file.
    pub(super) fn without_line(self) -> Self {
        match self {
            Self::Invalid { place, message, excerpt, help } => {
                Self::Invalid { place, message, excerpt: Box::new(excerpt.withheld()), help }
            }
            other => other,
        }
    }
}
