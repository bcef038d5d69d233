//! A snapshot from exports that the AWS CLI made, for places where no credentials may go. Bytes in, [`Snapshot`] out;
//! pure. What an export can't tell (bucket settings, encryption) is not asked, never guessed; a listing that stops in
//! the middle is unread.

mod listing;
mod pages;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thiserror::Error;

use super::expected::Expected;
use super::snapshot::{DIGEST_SUFFIX, SCHEMA_VERSION, Snapshot};
use crate::moment::Moment;

/// One exported file.
#[derive(Debug, Clone)]
pub struct Export {
    /// What it is of: a bucket's name, or a table's name or ARN.
    pub of: String,
    /// The file's name, for messages.
    pub file: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// All exports of one audit.
#[derive(Debug, Clone, Default)]
pub struct Exports {
    /// `aws dynamodb scan`.
    pub tables: Vec<Export>,
    /// `aws s3api list-object-versions` or `list-objects-v2`.
    pub buckets: Vec<Export>,
    /// The prefixes that were listed; empty for whole buckets.
    pub prefixes: Vec<String>,
    /// The tables' region, where no ARN says it.
    pub region: Option<String>,
    /// When they were made.
    pub taken_at: Moment,
}

/// Why exports can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ImportError {
    /// Not the output of the command.
    #[error("{file}: {why}")]
    Invalid {
        /// The file, with line and column where they are known.
        file: String,
        /// What is wrong, and the line.
        why: String,
    },
    /// Two kinds of listing for one bucket.
    #[error("bucket {bucket}: exports of `list-object-versions` and of `list-objects-v2`; give one of them")]
    TwoKinds {
        /// The bucket.
        bucket: String,
    },
}

/// Puts exports together. `body` gives the bytes of a `.tflock` by bucket and key; `window` is how far back lock
/// intervals and writes are kept.
///
/// # Errors
/// Files that are not what they should be.
pub fn import(
    exports: &Exports,
    body: &dyn Fn(&str, &str) -> Option<Vec<u8>>,
    expected: &Expected,
    window: Duration,
) -> Result<Snapshot, ImportError> {
    let mut snapshot =
        Snapshot { schema_version: SCHEMA_VERSION, taken_at: exports.taken_at, ..Snapshot::default() };
    for (name, files) in by_name(&exports.tables) {
        table::import(&mut snapshot, name, &files, exports, expected)?;
    }
    let digests = digests(&snapshot);
    let index = expected.index();
    for (bucket, files) in by_name(&exports.buckets) {
        let keep = listing::Keep {
            bucket,
            index: &index,
            digests: &digests,
            from: exports.taken_at.before(window),
            prefixes: &exports.prefixes,
        };
        listing::import(&mut snapshot, &files, body, &keep, expected)?;
    }
    snapshot.sort();
    Ok(snapshot)
}

/// Files of the same bucket or table together.
fn by_name(exports: &[Export]) -> BTreeMap<&str, Vec<&Export>> {
    let mut found: BTreeMap<&str, Vec<&Export>> = BTreeMap::new();
    for export in exports {
        found.entry(&export.of).or_default().push(export);
    }
    found
}

/// What the tables say about states: `BUCKET/STATE-PATH` to every digest that is told of it.
type Digests = BTreeMap<String, BTreeSet<String>>;

fn digests(snapshot: &Snapshot) -> Digests {
    let mut digests = Digests::new();
    for item in snapshot.tables.iter().flat_map(|table| &table.items) {
        let state = item.lock_id.strip_suffix(DIGEST_SUFFIX).unwrap_or(&item.lock_id);
        digests.entry(state.to_owned()).or_default().extend(item.digest.clone());
    }
    digests
}

#[cfg(test)]
mod tests;
