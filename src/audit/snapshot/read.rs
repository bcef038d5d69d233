//! What was read, or why it was not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was read, or why it was not. Absent is an answer, too (`NoSuchBucketPolicy`), and no failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is", content = "value")]
pub enum Read<T> {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// The server said that there is none.
    Absent,
    /// This is it.
    Known(T),
    /// Asked and refused, or cut off; `unread` has the details.
    Failed(String),
}

impl<T> Read<T> {
    /// The value, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            _ => None,
        }
    }
}
