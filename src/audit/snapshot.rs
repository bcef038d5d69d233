//! What an audit read from AWS, and everything that it could not read. A snapshot can be saved and judged again later:
//! tests, support cases and users without live access use the same door.
//!
//! What is kept is bounded by what can matter, not by what a bucket holds: objects that are neither a lock, nor a
//! state that somebody named, nor the subject of a lock item are only counted.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expected::TableRef;
use super::lock_info::LockBody;
use crate::moment::Moment;

/// Version of the snapshot's JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// The suffix that makes a state's path its lock's.
pub const LOCK_SUFFIX: &str = ".tflock";

/// The suffix of a digest item's `LockID`.
pub const DIGEST_SUFFIX: &str = "-md5";

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
    /// Asked and refused, or cut off; [`Snapshot::unread`] has the details.
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

/// One bucket (or the part of it under the listed prefixes).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BucketSnapshot {
    /// Its name.
    pub name: String,
    /// Its region, where it is known.
    pub region: Option<String>,
    /// The endpoint that was asked; none for AWS itself.
    pub endpoint: Option<String>,
    /// The account that owns it, where it is known.
    pub account: Option<String>,
    /// The prefixes that were listed; empty for the whole bucket.
    pub prefixes: Vec<String>,
    /// Whether every listing came to its end. Where not, what is missing below proves nothing.
    pub complete: bool,
    /// From when on versions are to be seen at all; none when nothing limits it. A lifecycle rule that expires
    /// noncurrent versions moves it.
    pub history_from: Option<Moment>,
    /// Lock objects that are current now, sorted by key.
    pub locks: Vec<LockObject>,
    /// States that matter, sorted by key: named by a repository or a table, locked now, or with a history in the
    /// window. One that is not here and that [`BucketSnapshot::covers`] does not exist.
    pub states: Vec<StateObject>,
    /// Lock intervals of the past, by state key; only from versioned buckets.
    pub history: BTreeMap<String, StateHistory>,
    /// Objects that are neither lock nor state: only counted.
    pub other_objects: u64,
    /// `GetBucketVersioning`: `Enabled`, `Suspended`, or absent for a bucket that never had it.
    pub versioning: Read<String>,
    /// MFA Delete is enabled.
    pub mfa_delete: bool,
    /// `GetObjectLockConfiguration`: default retention, such as `COMPLIANCE 30 days`; absent without Object Lock.
    pub object_lock: Read<Option<String>>,
    /// `GetBucketLifecycleConfiguration`.
    pub lifecycle: Read<Vec<LifecycleRule>>,
    /// `GetBucketPolicy`: the policy's JSON text.
    pub policy: Read<String>,
    /// `GetPublicAccessBlock`.
    pub public_access_block: Read<PublicAccessBlock>,
    /// `GetBucketOwnershipControls`: `BucketOwnerEnforced`, …
    pub ownership: Read<String>,
    /// `GetBucketEncryption`: algorithm and key.
    pub encryption: Read<Encryption>,
    /// `GetBucketReplication`.
    pub replication: Read<Vec<ReplicationRule>>,
    /// The key that encrypts new objects, where there is one and it was asked for.
    pub key: Read<KeySnapshot>,
    /// Access points on it (`ListAccessPoints`), of the account that it was reached in; by name.
    pub access_points: Read<Vec<AccessPoint>>,
    /// The owner's public access block, where the bucket's own leaves something open.
    pub account_public_access_block: Read<PublicAccessBlock>,
}

/// Another way into a bucket, with a policy of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessPoint {
    /// Its name.
    pub name: String,
    /// Its ARN: `arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME`.
    pub arn: String,
    /// The VPC from which it takes requests; none where it takes them from anywhere.
    pub vpc: Option<String>,
    /// `GetAccessPointPolicy`: the policy's JSON text.
    pub policy: Read<String>,
    /// `GetAccessPoint`: its public access block, where it has a policy.
    pub public_access_block: Read<PublicAccessBlock>,
}

/// A `.tflock` that is current now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockObject {
    /// Its key, `.tflock` included.
    pub key: String,
    /// When the store took it in.
    pub last_modified: Moment,
    /// Its ETag, quotes included as the server gives it: what a conditional delete needs.
    pub etag: Option<String>,
    /// Its version, in a versioned bucket.
    #[serde(default)]
    pub version_id: Option<String>,
    /// Its length in bytes.
    pub size: u64,
    /// What it holds.
    pub body: LockBody,
    /// What the second look saw.
    #[serde(default)]
    pub settled: Settled,
}

/// What the second look at something saw that could have been a lock just being taken or released.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// There was no second look.
    #[default]
    NotAsked,
    /// The same lock was still there.
    Same,
    /// It was gone: released between the looks. It says nothing more.
    Gone,
    /// Another lock was there, which is what this snapshot holds.
    Changed,
    /// The second look failed.
    Failed,
}

/// A state object: never its body, save its digest where the user asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateObject {
    /// Its key.
    pub key: String,
    /// When it was last written.
    pub last_modified: Moment,
    /// Its ETag, quotes stripped.
    pub etag: Option<String>,
    /// Its length in bytes.
    pub size: u64,
    /// The MD5 of its body in hex, and how it is known; none where it is not.
    #[serde(default)]
    pub md5: Option<Md5>,
}

/// How the MD5 of a state's body is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "from", content = "hex")]
pub enum Md5 {
    /// The ETag is the MD5: one part, and stored unencrypted or with SSE-S3.
    Etag(String),
    /// The body was read (`--read-states`).
    Body(String),
}

impl Md5 {
    /// The digest in hex.
    pub fn hex(&self) -> &str {
        match self {
            Self::Etag(hex) | Self::Body(hex) => hex,
        }
    }
}

/// What a versioned bucket remembers of one state, inside the window, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StateHistory {
    /// Each time that the lock was held.
    pub locks: Vec<LockInterval>,
    /// Each write of the state. Deletions are none: `terraform workspace delete` unlocks before it deletes.
    pub writes: Vec<StateWrite>,
}

/// One lock that was held: from one `.tflock` version to what ended it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockInterval {
    /// When the lock object was written.
    pub from: Moment,
    /// When it was deleted or overwritten; none while it is held.
    pub to: Option<Moment>,
    /// The lock object's version.
    pub version_id: String,
    /// Its document, where it was read.
    #[serde(default)]
    pub body: Option<LockBody>,
    /// It was overwritten, not deleted: somebody did not ask `If-None-Match`.
    #[serde(default)]
    pub overwritten: bool,
}

/// One write of a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateWrite {
    /// When.
    pub at: Moment,
    /// The version that it made.
    pub version_id: String,
}

/// One lifecycle rule, as far as it can touch a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LifecycleRule {
    /// Its ID.
    pub id: String,
    /// It is enabled.
    pub enabled: bool,
    /// Key prefix of its filter; empty for all.
    pub prefix: String,
    /// It asks for tags, too, so a lock without tags is not hit.
    pub tags: Vec<(String, String)>,
    /// `ObjectSizeGreaterThan`, in bytes.
    pub larger_than: Option<u64>,
    /// `ObjectSizeLessThan`, in bytes.
    pub smaller_than: Option<u64>,
    /// `Expiration.Days`.
    pub expire_days: Option<u32>,
    /// `Expiration.Date`.
    pub expire_date: Option<String>,
    /// `NoncurrentVersionExpiration.NoncurrentDays`.
    pub noncurrent_days: Option<u32>,
    /// `NoncurrentVersionExpiration.NewerNoncurrentVersions`.
    pub noncurrent_kept: Option<u32>,
    /// `ExpiredObjectDeleteMarker`.
    pub expired_delete_markers: bool,
    /// Transitions of current versions: days and storage class.
    pub transitions: Vec<(Option<u32>, String)>,
}

/// `PublicAccessBlockConfiguration`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)] // the four are S3's own names
pub struct PublicAccessBlock {
    pub block_public_acls: bool,
    pub ignore_public_acls: bool,
    pub block_public_policy: bool,
    pub restrict_public_buckets: bool,
}

impl PublicAccessBlock {
    /// Whether all four are on.
    pub fn is_full(&self) -> bool {
        self.block_public_acls
            && self.ignore_public_acls
            && self.block_public_policy
            && self.restrict_public_buckets
    }
}

/// Default encryption of a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Encryption {
    /// `AES256`, `aws:kms`, `aws:kms:dsse`.
    pub algorithm: String,
    /// The KMS key, as configured.
    pub kms_key: Option<String>,
}

/// A KMS key, as far as it decides who can write and read a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeySnapshot {
    /// Its ARN; what the bucket names, where it could not be described.
    pub arn: String,
    /// `GetKeyPolicy`: the policy's JSON text.
    pub policy: Read<String>,
    /// `ListGrants`.
    pub grants: Read<Vec<KeyGrant>>,
}

/// One grant on a KMS key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeyGrant {
    /// Who may use it.
    pub grantee: String,
    /// What for: `Decrypt`, `GenerateDataKey`, …
    pub operations: Vec<String>,
    /// Only for an encryption context.
    pub constrained: bool,
}

/// One replication rule, as far as it can touch a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplicationRule {
    /// Its ID.
    pub id: String,
    /// It is enabled.
    pub enabled: bool,
    /// Key prefix of its filter; empty for all.
    pub prefix: String,
    /// The destination bucket's ARN.
    pub destination: String,
    /// Delete markers are replicated.
    pub delete_markers: bool,
}

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

/// Identity policies of one account (`GetAccountAuthorizationDetails`), percent-decoded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccountSnapshot {
    /// Its ID.
    pub account: String,
    /// Every page came.
    pub complete: bool,
    /// Roles and users.
    pub principals: Vec<Principal>,
}

/// A role or a user, with all that grants it something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Principal {
    /// Its ARN, path included.
    pub arn: String,
    /// `AROA…` or `AIDA…`.
    pub unique_id: String,
    /// Inline, attached and group policies: name or ARN, and JSON text.
    pub policies: Vec<(String, String)>,
    /// Policies and groups that are named and whose text could not be had.
    pub policies_unread: Vec<String>,
    /// The permissions boundary's JSON text.
    pub boundary: Option<String>,
    /// A boundary is set whose text could not be had.
    pub boundary_unread: Option<String>,
    /// A role's trust policy, JSON text.
    pub trust: Option<String>,
    /// When a role was last used.
    pub last_used: Option<Moment>,
    /// Tags.
    pub tags: Vec<(String, String)>,
}

/// What IAM's policy simulator said of one principal and the locks of one bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Simulation {
    /// The bucket.
    pub bucket: String,
    /// The user's or role's ARN.
    pub principal: String,
    /// One for each action and resource.
    pub answers: Vec<SimulatedAnswer>,
}

/// One decision of IAM's policy simulator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SimulatedAnswer {
    /// The action.
    pub action: String,
    /// The ARN.
    pub resource: String,
    /// `allowed`, `explicitDeny` or `implicitDeny`.
    pub decision: String,
    /// Condition keys that policies ask for and the question did not give.
    pub missing_context: Vec<String>,
    /// Whether service control policies allow it, where there are any.
    pub by_organization: Option<bool>,
}

/// What a store does with `If-None-Match: *`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeVerdict {
    /// It refuses the second write: locks lock.
    Enforced,
    /// It refuses every such write: no lock can be taken.
    Rejected,
    /// It overwrites without a word: everybody gets the lock.
    Ignored,
}

impl ProbeVerdict {
    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Rejected => "rejected",
            Self::Ignored => "ignored",
        }
    }
}

/// One request of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeStep {
    /// What was asked.
    pub ask: String,
    /// The HTTP status, or what cut the connection.
    pub answer: String,
}

/// What a probe of one store said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeResult {
    /// The bucket.
    pub bucket: String,
    /// The endpoint that was asked; none for AWS itself.
    pub endpoint: Option<String>,
    /// Whether a second `If-None-Match: *` write was refused. Only this makes locks lock.
    pub honoured: bool,
    /// What the store does with `If-None-Match: *`.
    pub verdict: ProbeVerdict,
    /// Whether it checks `If-Match` on DELETE, which `unlock` needs; none where it was not asked.
    #[serde(default)]
    pub conditional_delete: Option<bool>,
    /// What was asked, and how it was answered.
    #[serde(default)]
    pub steps: Vec<ProbeStep>,
    /// When.
    pub at: Moment,
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

impl BucketSnapshot {
    /// Whether the listing would have shown this key: only then its absence says something.
    pub fn covers(&self, key: &str) -> bool {
        self.complete
            && (self.prefixes.is_empty()
                || self.prefixes.iter().any(|prefix| key.starts_with(prefix.as_str())))
    }

    /// The state object with this key.
    pub fn state(&self, key: &str) -> Option<&StateObject> {
        let at = self.states.binary_search_by(|state| state.key.as_str().cmp(key)).ok()?;
        self.states.get(at)
    }

    /// The lock on the state with this path.
    pub fn lock(&self, state_path: &str) -> Option<&LockObject> {
        let key = format!("{state_path}{LOCK_SUFFIX}");
        let at = self.locks.binary_search_by(|lock| lock.key.cmp(&key)).ok()?;
        self.locks.get(at)
    }
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
mod tests {
    use super::*;
    use crate::audit::expected::Access;

    fn snapshot() -> Snapshot {
        let lock = |key: &str| LockObject {
            key: key.to_owned(),
            last_modified: Moment::from_seconds(1_700_000_000),
            etag: Some("\"e\"".to_owned()),
            version_id: None,
            size: 0,
            body: LockBody::Empty,
            settled: Settled::Gone,
        };
        let bucket = BucketSnapshot {
            name: "b".into(),
            complete: true,
            locks: vec![lock("z.tflock"), lock("a.tflock")],
            versioning: Read::Known("Enabled".into()),
            lifecycle: Read::Absent,
            policy: Read::Failed("no".into()),
            object_lock: Read::Known(None),
            ..BucketSnapshot::default()
        };
        let table = TableSnapshot {
            name: "t".into(),
            region: Some("eu-west-1".into()),
            endpoint: Some("http://127.0.0.1:1".into()),
            arn: Some("arn:aws:dynamodb:eu-west-1:111122223333:table/t".into()),
            writes_per_day: Read::Known(vec![(Moment::from_seconds(86_400), 2.0)]),
            ..TableSnapshot::default()
        };
        Snapshot {
            schema_version: SCHEMA_VERSION,
            buckets: vec![bucket],
            tables: vec![table],
            ..Snapshot::default()
        }
    }

    #[test]
    fn what_is_saved_is_loaded_and_sorted() {
        let mut saved = snapshot();
        let loaded = Snapshot::from_json(&saved.to_json().unwrap()).unwrap();
        saved.sort();
        assert_eq!(loaded, saved);
        assert_eq!(loaded.buckets[0].lock("a").map(|lock| lock.settled), Some(Settled::Gone));
    }

    #[test]
    fn what_is_no_snapshot_or_a_newer_one_is_refused() {
        let text = snapshot().to_json().unwrap();
        let newer = text.replace("\"schema_version\": 1", "\"schema_version\": 2");
        assert_eq!(Snapshot::from_json(&newer), Err(SnapshotError::Newer(2)));
        let unknown = text.replace("\"mfa_delete\"", "\"mfa_delet\"");
        let error = Snapshot::from_json(&unknown).unwrap_err().to_string();
        assert!(error.contains("unknown field `mfa_delet`") && error.contains("line"), "{error}");
        for text in ["", "[]", "{}", "{\"schema_version\": 1}"] {
            assert!(matches!(Snapshot::from_json(text), Err(SnapshotError::Form(_))), "{text}");
        }
    }

    #[test]
    fn a_table_is_recognised_by_what_both_sides_say() {
        let table = &snapshot().tables[0];
        let reference = |name: &str, region: Option<&str>| {
            TableRef::of(name, &Access { region: region.map(str::to_owned), ..Access::default() })
        };
        assert!(table.is(&reference("t", None)) && table.is(&reference("t", Some("eu-west-1"))));
        assert!(!table.is(&reference("t", Some("us-east-1"))) && !table.is(&reference("u", None)));
        assert!(table.is(&reference("arn:aws:dynamodb:eu-west-1:111122223333:table/t", None)));
        assert!(!table.is(&reference("arn:aws:dynamodb:eu-west-1:444455556666:table/t", None)));
    }
}
