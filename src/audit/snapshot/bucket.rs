//! What was read of a bucket: its locks and states, their versions, and the settings that locks depend on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::Read;
use crate::audit::lock_info::LockBody;
use crate::moment::Moment;

/// The suffix that makes a state's path its lock's.
pub const LOCK_SUFFIX: &str = ".tflock";

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
