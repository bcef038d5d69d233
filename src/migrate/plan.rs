//! The plan: what a migration would change, what it refuses, and what people must do by hand. Only the types stand
//! here; [`super::planner`] makes a plan, the writing half carries it out.

use schemars::JsonSchema;
use serde::Serialize;

use super::edit::Edits;
use super::phase::Phase;
use crate::repo::inventory::LockMode;

/// Everything that `lockshift migrate` would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The phase asked for.
    pub phase: Phase,
    /// Root modules that reach the phase with this plan, by path.
    pub roots: Vec<RootPlan>,
    /// Files that change, by path. A file that several root modules share stands here once.
    pub files: Vec<FileChange>,
    /// Root modules (or files) that don't change, and which gate says so.
    pub refusals: Vec<Refusal>,
    /// What must be done by hand for a root module to reach the phase.
    pub manual: Vec<ManualStep>,
    /// Gates that were waived, with the reason given.
    pub waived: Vec<Waived>,
    /// Root modules without any lock: listed, changed only when asked for.
    pub unlocked: Vec<String>,
    /// Root modules that are in the phase already.
    pub done: Vec<String>,
}

/// One root module's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootPlan {
    /// Its directory, as shown.
    pub path: String,
    /// Modes of its effective backends before, in the inventory's order.
    pub before: Vec<LockMode>,
    /// The same afterwards, as merged from the edited bytes.
    pub after: Vec<LockMode>,
    /// Files that change for it, as shown.
    pub files: Vec<String>,
    /// Its owners by CODEOWNERS.
    pub owners: Vec<String>,
    /// Buckets and tables of its effective backends before, for grouping and for the pull request.
    pub buckets: Vec<String>,
    /// See `buckets`.
    pub tables: Vec<String>,
}

impl RootPlan {
    /// Whether it took no lock at all before: it gets the lockfile alone, whatever the phase is.
    pub fn was_unlocked(&self) -> bool {
        !self.before.is_empty() && self.before.iter().all(|mode| *mode == LockMode::None)
    }
}

/// One file's new bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// As shown. For a file that is reached through links, the real one.
    pub file: String,
    /// The path to write.
    pub os_path: std::path::PathBuf,
    /// Root modules that it changes for; empty for a readers-only file.
    pub roots: Vec<String>,
    /// The splices.
    pub edits: Edits,
    /// The bytes that were read and planned on; writing refuses when the file holds others.
    pub before: Vec<u8>,
    /// `edits` applied to `before`.
    pub after: Vec<u8>,
}

/// Something that stays as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Refusal {
    /// The root module, or the file's directory where there is none.
    pub root: String,
    /// Id of the gate; `lockshift explain` prints its page.
    pub gate: String,
    /// Why, and what to do next.
    pub reason: String,
    /// Where the cause stands.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
}

/// A change that people must make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ManualStep {
    /// Root modules that wait for it; empty where none is known.
    pub roots: Vec<String>,
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Why it is not edited here.
    pub reason: String,
    /// What to write, exactly.
    pub write: String,
}

/// A gate that was waived.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Waived {
    /// Id of the gate.
    pub gate: String,
    /// The reason given.
    pub reason: String,
    /// Root modules that would have been refused.
    pub roots: Vec<String>,
}
