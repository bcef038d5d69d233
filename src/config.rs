//! Stand-in until the configuration room lands: nothing can be configured.

use std::path::Path;

/// What a repository decides for itself. The default decides nothing.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Paths that the walk leaves out.
    pub exclude: Vec<String>,
    /// Where the walk begins, seen from the configuration file's directory: `""`, or a path that ends in `/`.
    pub below: String,
}

/// Why a configuration could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the configuration can't be used")]
pub struct ConfigError;

impl Config {
    /// Reads the text of a configuration file.
    pub fn parse(_file_name: &str, _text: &str) -> Result<Config, ConfigError> {
        Ok(Config::default())
    }

    /// Finds and reads the configuration that holds for `dir`.
    pub fn load(_dir: &Path) -> Result<Option<Config>, ConfigError> {
        Ok(None)
    }
}

/// A calendar day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date;

impl Date {
    /// The day of a moment.
    pub fn of(_moment: std::time::SystemTime) -> Self {
        Self
    }
}
