//! A run of the program.

use std::process::Command;

use serde_json::Value;

/// What a run said and how it ended.
pub struct Said {
    /// Exit code.
    pub code: i32,
    /// The result.
    pub stdout: String,
    /// Everything said about the run.
    pub stderr: String,
}

impl Said {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The result as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }
}
