//! What was read of a lock table: its settings and its items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bucket::Settled;
use super::read::Read;
use crate::audit::expected::TableRef;
use crate::audit::lock_info::LockBody;
use crate::moment::Moment;

/// The suffix of a digest item's `LockID`.
pub const DIGEST_SUFFIX: &str = "-md5";

/// One lock table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TableSnapshot {
    /// Its name.
    pub name: String,
    /// Its region, where it is known.
    pub region: Option<String>,
    /// The endpoint that was asked; none for AWS itself.
    pub endpoint: Option<String>,
    /// Its ARN, where it is known.
    pub arn: Option<String>,
    /// Whether the scan came to its end. Where not, what is missing below proves nothing.
    pub complete: bool,
    /// Whether there is such a table.
    pub exists: Read<TableFacts>,
    /// Items that are locks or digests, sorted by `LockID`.
    pub items: Vec<TableItem>,
    /// Items that are neither (no string `LockID`, or other attributes only).
    pub other_items: u64,
    /// Successful writes in the last days, by CloudWatch, where it could be read: `(day, count)`.
    pub writes_per_day: Read<Vec<(Moment, f64)>>,
}

/// What `DescribeTable` says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TableFacts {
    /// The hash key is called `LockID` and there is no range key: Terraform can use it.
    pub hash_key_is_lock_id: bool,
    /// Deletion protection is on.
    pub deletion_protection: bool,
    /// Its KMS key, where it has one of its own.
    pub kms_key: Option<String>,
    /// Replicas in other regions.
    pub replicas: Vec<String>,
    /// A stream is on: somebody may be listening.
    pub stream: bool,
    /// `ItemCount`, up to six hours old.
    pub item_count: Option<u64>,
}

/// One item of a lock table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableItem {
    /// `LockID`: `BUCKET/STATE-PATH`, with `-md5` for a digest.
    pub lock_id: String,
    /// `Info`: the lock document. None when there is no such attribute.
    #[serde(default)]
    pub body: Option<LockBody>,
    /// `Digest`: hex MD5 of the state.
    #[serde(default)]
    pub digest: Option<String>,
    /// What the second look saw.
    #[serde(default)]
    pub settled: Settled,
}

impl TableSnapshot {
    /// Whether this is the table that a backend names. What one side does not say does not speak against it. Tables
    /// of the same name in several accounts are told apart only where the backend gives an ARN: a lock in any of them
    /// is one.
    pub fn is(&self, table: &TableRef) -> bool {
        let same = |a: Option<&str>, b: Option<&str>| a.is_none() || b.is_none() || a == b;
        let account = self.arn.as_deref().and_then(|arn| arn.split(':').nth(4));
        self.name == table.name
            && same(self.region.as_deref(), table.region.as_deref())
            && same(self.endpoint.as_deref(), table.endpoint.as_deref())
            && same(account, table.account.as_deref())
    }

    /// The item with this `LockID`.
    pub fn item(&self, lock_id: &str) -> Option<&TableItem> {
        let at = self.items.binary_search_by(|item| item.lock_id.as_str().cmp(lock_id)).ok()?;
        self.items.get(at)
    }
}
