//! What was removed: the machine-readable record that `--record` writes, for tickets and for whoever asks later.

use schemars::JsonSchema;
use serde::Serialize;

use crate::audit::lock_info::LockInfo;
use crate::moment::Moment;

/// Version of the record's JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// One run of `unlock`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Record {
    /// Version of this form.
    pub schema_version: u32,
    /// `s3://BUCKET/STATE-PATH`.
    pub state: String,
    /// Who ran it: `USER@HOST`.
    pub by: String,
    /// When the stores were read, by their clocks.
    pub read_at: Moment,
    /// What was done, in order.
    pub actions: Vec<Action>,
    /// What is true now of both stores.
    pub now: After,
}

/// One conditional write.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Action {
    /// `s3://BUCKET/KEY` or `dynamodb://TABLE/LOCK-ID`.
    pub resource: String,
    /// `DeleteObject`, `DeleteItem`, `PutItem`.
    pub operation: String,
    /// The condition that the store checked.
    pub condition: String,
    /// `removed`, `written`, `kept` (the condition did not hold), `failed`, or `not-tried`.
    pub result: String,
    /// What the store said where it is not done.
    pub reason: Option<String>,
    /// The lock document that stood there.
    pub lock: Option<LockInfo>,
    /// The raw text that stood there, for putting it back.
    pub text: Option<String>,
}

/// What both stores hold after it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct After {
    /// `free`, `held`, `not-asked` or `unread`.
    pub s3: String,
    /// As `s3`.
    pub dynamodb: String,
}
