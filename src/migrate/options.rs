//! What a plan is asked for, and the facts from outside the files that it needs. Data only: nothing here opens a
//! file, runs git or asks a clock; the caller does.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};

use super::evidence::Evidence;
use super::phase::Phase;
use crate::repo::scan::Collected;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to.
    pub phase: Phase,
    /// Gates that are waived, with the reason for each.
    pub waive: BTreeMap<String, String>,
    /// Give a lockfile to backends without any lock, too.
    pub include_unlocked: bool,
    /// Raise `required_version` where it admits versions that do not know `use_lockfile`.
    pub bump_required_version: bool,
    /// Root modules to plan for, by path (see [`path_glob`]); empty means all.
    pub paths: Vec<GlobMatcher>,
    /// Only backends with one of these buckets; empty means all.
    pub buckets: Vec<String>,
    /// Only backends with one of these tables; empty means all.
    pub tables: Vec<String>,
    /// The table that a rollback gives to backends that have none.
    pub rollback_table: Option<String>,
    /// Change at most so many root modules. Those that share a source go together, even past the limit.
    pub limit: Option<usize>,
    /// Where a limit chooses, root modules with readers that name a table come first.
    pub readers_first: bool,
    /// Days for which both locks must have been taken before the table goes; 0 asks for none.
    pub soak_days: u32,
}

impl Options {
    /// Everything in the scanned trees, with the usual soak time.
    pub fn new(phase: Phase) -> Self {
        Self {
            phase,
            waive: BTreeMap::new(),
            include_unlocked: false,
            bump_required_version: false,
            paths: Vec::new(),
            buckets: Vec::new(),
            tables: Vec::new(),
            rollback_table: None,
            limit: None,
            readers_first: false,
            soak_days: 14,
        }
    }
}

/// A glob of shown paths; it also takes everything below a directory that it matches.
///
/// # Errors
/// What is no glob.
pub fn path_glob(glob: &str) -> Result<GlobMatcher, globset::Error> {
    let glob = glob.trim_start_matches("./");
    let glob = if glob == "." { "**" } else { glob.trim_end_matches('/') };
    GlobBuilder::new(glob).literal_separator(true).build().map(|glob| glob.compile_matcher())
}

/// Since when `use_lockfile` stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum History {
    /// Unix time of the commit on this branch that brought it.
    Since(i64),
    /// It can't be told, and why.
    Unknown(String),
}

/// Facts from outside the files, gathered by the caller.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// What was read, for reading it again with the edits made.
    pub collected: &'a Collected,
    /// The files' bytes, by shown path.
    pub bytes: &'a BTreeMap<String, Vec<u8>>,
    /// Since when `use_lockfile` stands in a file, by shown path.
    pub history: &'a BTreeMap<String, History>,
    /// What an audit saw.
    pub evidence: Option<&'a Evidence>,
    /// Unix time.
    pub now: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_of_paths() {
        assert!(path_glob("./envs/*/").unwrap().is_match("envs/prod"));
        assert!(!path_glob("envs/*").unwrap().is_match("envs/prod/app"));
        assert!(path_glob(".").unwrap().is_match("envs/prod"));
        assert!(path_glob("a[").is_err());
    }
}
