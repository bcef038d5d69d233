//! What an audit read from AWS, and everything that it could not read. A snapshot can be saved and judged again later:
//! tests, support cases and users without live access use the same door.
//!
//! What is kept is bounded by what can matter, not by what a bucket holds: objects that are neither a lock, nor a
//! state that somebody named, nor the subject of a lock item are only counted.

mod bucket;
mod iam;
mod probe;
mod read;
mod table;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

pub use bucket::{
    AccessPoint, BucketSnapshot, Encryption, KeyGrant, KeySnapshot, LOCK_SUFFIX, LifecycleRule, LockInterval,
    LockObject, Md5, PublicAccessBlock, ReplicationRule, Settled, StateHistory, StateObject, StateWrite,
};
pub use iam::{AccountSnapshot, Principal, SimulatedAnswer, Simulation};
pub use probe::{ProbeResult, ProbeStep, ProbeVerdict};
pub use read::Read;
pub use table::{DIGEST_SUFFIX, TableFacts, TableItem, TableSnapshot};

/// Version of the snapshot's JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that one audit read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of this form.
    pub schema_version: u32,
    /// When it was taken, by the servers' clocks (`Date`), not by this machine's. Ages are counted from here.
    pub taken_at: Moment,
    /// Buckets, by name.
    pub buckets: Vec<BucketSnapshot>,
    /// Lock tables, by region and name.
    pub tables: Vec<TableSnapshot>,
    /// Identity policies of accounts, where they were asked for.
    #[serde(default)]
    pub accounts: Vec<AccountSnapshot>,
    /// What IAM's policy simulator said of principals, where it was asked.
    #[serde(default)]
    pub simulations: Vec<Simulation>,
    /// Whether a store honours conditional writes, where it was probed.
    #[serde(default)]
    pub probes: Vec<ProbeResult>,
    /// What could not be read. Never empty when something is missing above.
    pub unread: Vec<Unread>,
    /// What it cost.
    pub stats: Stats,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// What: `s3://BUCKET`, `s3://BUCKET/KEY`, a table's ARN or `dynamodb://REGION/TABLE`.
    pub resource: String,
    /// The API operation, such as `ListObjectVersions`.
    pub operation: String,
    /// Why: the server's code and message, or what cut the connection.
    pub reason: String,
    /// The IAM action that is missing, where it was refused.
    pub missing_action: Option<String>,
    /// Without it no statement about locks is possible. An unreadable bucket setting is not of this kind.
    pub hides_locks: bool,
}

/// What an audit cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stats {
    /// Requests that were answered or given up, by operation; retries counted.
    pub requests: BTreeMap<String, u64>,
    /// Listing pages and scan pages.
    pub pages: u64,
    /// Retries among the requests.
    pub retries: u64,
    /// Objects and versions that were listed.
    pub objects: u64,
    /// Table items that were scanned.
    pub items: u64,
    /// Milliseconds that reading took, by this machine's clock.
    pub millis: u64,
}

/// Why a text is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotError {
    /// It is no snapshot at all, or has a name or a value that this version does not know: where and what.
    Form(String),
    /// It was made by a newer version of this program.
    Newer(u32),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(what) => write!(f, "no snapshot that this version can read: {what}"),
            Self::Newer(version) => write!(
                f,
                "the snapshot has schema version {version}, and this version of lockshift reads up to \
                 {SCHEMA_VERSION}: use the version that made it, or a newer one"
            ),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl Snapshot {
    /// As JSON text, for a file.
    ///
    /// # Errors
    /// Where a number has no JSON form (CloudWatch sums are never of this kind).
    pub fn to_json(&self) -> Result<String, SnapshotError> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| SnapshotError::Form(error.to_string()))
    }

    /// From the text of a file. Everything is sorted again, since looking things up relies on it.
    ///
    /// # Errors
    /// Where it is no snapshot, or one of a newer form. A name that this version does not know is an error: what it
    /// says would be lost, and nothing may be called clean without it.
    pub fn from_json(text: &str) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let form = |error: serde_json::Error| SnapshotError::Form(error.to_string());
        let version: Version = serde_json::from_str(text).map_err(form)?;
        if version.schema_version > SCHEMA_VERSION {
            return Err(SnapshotError::Newer(version.schema_version));
        }
        let mut snapshot: Self = serde_json::from_str(text).map_err(form)?;
        snapshot.sort();
        Ok(snapshot)
    }

    /// Sorts everything, so that the same world gives the same bytes.
    pub fn sort(&mut self) {
        self.buckets.sort_by(|a, b| (&a.name, &a.endpoint).cmp(&(&b.name, &b.endpoint)));
        for bucket in &mut self.buckets {
            bucket.locks.sort_by(|a, b| a.key.cmp(&b.key));
            bucket.states.sort_by(|a, b| a.key.cmp(&b.key));
            for history in bucket.history.values_mut() {
                // Stable: listings know whole seconds only, so within one second their order is all there is.
                history.locks.sort_by_key(|lock| (lock.from, lock.to.is_none(), lock.to));
                history.writes.sort_by_key(|write| write.at);
            }
        }
        self.tables.sort_by(|a, b| {
            (&a.region, &a.name, &a.endpoint, &a.arn).cmp(&(&b.region, &b.name, &b.endpoint, &b.arn))
        });
        for table in &mut self.tables {
            table.items.sort_by(|a, b| a.lock_id.cmp(&b.lock_id));
        }
        self.accounts.sort_by(|a, b| a.account.cmp(&b.account));
        self.unread.sort();
        self.unread.dedup();
    }
}

#[cfg(test)]
mod tests;
