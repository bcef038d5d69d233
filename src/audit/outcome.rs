//! What an audit says: states with their locks, digests and coverage, findings, and what it could not read. Its JSON
//! is what `migrate --evidence` takes.

use schemars::JsonSchema;
use serde::Serialize;

use super::snapshot::{ProbeResult, Stats, Unread};
use crate::finding::Severity;
use crate::moment::Moment;
use crate::policy::access::Access;
use crate::repo::inventory::LockMode;
use crate::repo::text::Place;
use crate::rules::Rule;

/// Version of the audit's JSON. A name that goes or changes its meaning raises it; a new name does not.
pub const SCHEMA_VERSION: u32 = 1;

/// An audit's result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Audit {
    /// Version of this form.
    pub schema_version: u32,
    /// When the snapshot was taken, by the servers' clocks.
    pub generated_at: Moment,
    /// How far back every state write had to lie inside an S3 lock, in seconds.
    pub window_seconds: u64,
    /// From what age on a lock counted as stale, in seconds.
    pub stale_after_seconds: u64,
    /// States that matter: named by a repository or a table, locked, or written in the window. By bucket and path.
    pub states: Vec<StateReport>,
    /// What is wrong, most serious first.
    pub findings: Vec<AuditFinding>,
    /// Who can do what to the locks, for each bucket whose policy was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub access: Vec<Access>,
    /// What could not be read, and backends that can't be placed.
    pub unread: Vec<Unread>,
    /// What probes of the stores said.
    pub probes: Vec<ProbeResult>,
    /// Requests, pages, objects.
    pub stats: Stats,
}

/// One state.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StateReport {
    /// Its bucket.
    pub bucket: String,
    /// Its path: key, workspace included.
    pub state_path: String,
    /// The lock mode that the repository gives it; `unknown` when no repository knows it or several disagree.
    pub mode: LockMode,
    /// Why the mode is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_unknown: Option<String>,
    /// Root modules that use it.
    pub roots: Vec<String>,
    /// Its workspace, where a root module explains the path.
    pub workspace: Option<String>,
    /// The state object is there. Not known (null) when the listing did not come to its end.
    pub exists: Option<bool>,
    /// When the state was last written.
    pub last_written: Option<Moment>,
    /// The locks on it now.
    pub locks: Locks,
    /// Its digest.
    pub digest: Digest,
    /// Whether every write lay inside an S3 lock.
    pub coverage: Coverage,
}

/// Both stores' lock records, side by side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Locks {
    /// The `.tflock` object.
    pub s3: Option<LockRecord>,
    /// Why it is not known whether there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s3_unknown: Option<String>,
    /// The lock item.
    pub dynamodb: Option<LockRecord>,
    /// Why it is not known whether there is one. A state that has no table has no item: that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamodb_unknown: Option<String>,
}

impl Locks {
    /// Whether a lock was seen in either store.
    pub fn is_held(&self) -> bool {
        self.s3.is_some() || self.dynamodb.is_some()
    }
}

/// One lock as found in one store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct LockRecord {
    /// Its ID; none when the document can't be read.
    pub id: Option<String>,
    /// Who took it.
    pub who: Option<String>,
    /// What for.
    pub operation: Option<String>,
    /// With which version of the client.
    pub version: Option<String>,
    /// When, by the client's clock.
    pub created: Option<Moment>,
    /// Seconds since then; since the store took it in where the document does not say. May be negative.
    pub age_seconds: Option<i64>,
    /// Why the document can't be read.
    pub unreadable: Option<String>,
    /// What a conditional delete needs: the ETag (S3).
    pub etag: Option<String>,
    /// The table that holds it (DynamoDB).
    pub table: Option<String>,
    /// That table's ARN, where it is known: a name alone says neither region nor account.
    pub table_arn: Option<String>,
}

/// What is known of a state's digest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Digest {
    /// `matches`, `stale`, `missing`, `malformed`, `orphan`, `none` (no table), `not-comparable`.
    pub verdict: String,
    /// What the table says, in hex.
    pub expected: Option<String>,
    /// The MD5 of the state, in hex, where it is known.
    pub actual: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// Why it is not comparable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The proof that S3 locking is in use, for one state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Coverage {
    /// `proven`, `contradicted`, `no-writes-seen` or `not-provable`.
    pub verdict: String,
    /// Why it is not provable.
    pub reason: Option<String>,
    /// From when on the history is complete: the window's begin, or later.
    pub since: Option<Moment>,
    /// State writes in the window.
    pub writes: usize,
    /// Lock intervals in the window.
    pub intervals: usize,
    /// Each write outside of any lock.
    pub outside: Vec<OutsideWrite>,
    /// Who held the locks, as far as lock versions were read.
    pub who: Vec<String>,
    /// What for.
    pub operations: Vec<String>,
    /// With which versions of the client.
    pub versions: Vec<String>,
    /// The locks and writes themselves, for drawing. Not part of the JSON form: a saved snapshot holds them all.
    #[serde(skip)]
    pub trace: Trace,
}

/// What the proof was made of, up to [`Trace::MOST`] of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    /// Times that the lock was held, the oldest first.
    pub locks: Vec<HeldLock>,
    /// Older ones that are left out here.
    pub more_locks: usize,
    /// Writes of the state, the oldest first.
    pub writes: Vec<TracedWrite>,
    /// Writes that are left out here: older ones, and inside a lock before outside of any.
    pub more_writes: usize,
}

impl Trace {
    /// Locks, and writes, of one state that are kept.
    pub const MOST: usize = 200;
}

/// One time that the S3 lock was held.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldLock {
    /// From then on.
    pub from: Moment,
    /// Until then; none while it is held.
    pub to: Option<Moment>,
    /// Who took it, where the document was read.
    pub who: Option<String>,
    /// It was overwritten, not released.
    pub overwritten: bool,
}

/// One write of the state.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedWrite {
    /// When.
    pub at: Moment,
    /// The version that it made.
    pub version_id: String,
    /// It lay outside of every S3 lock.
    pub outside: bool,
}

/// One write of a state outside of any S3 lock.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OutsideWrite {
    /// When.
    pub at: Moment,
    /// The state's version that it made.
    pub version_id: String,
}

/// What kind of thing a finding is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// Locks, digests, writes, and the stores that hold them.
    #[default]
    Locks,
    /// Who may do what to them.
    Access,
}

/// One observation about what the stores hold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AuditFinding {
    /// Kebab-case id of the rule; `lockshift explain` prints its page.
    pub rule: String,
    /// What kind of thing it is about.
    pub area: Area,
    /// How much it matters.
    pub severity: Severity,
    /// What it is about: `s3://BUCKET/STATE-PATH`, `s3://BUCKET`, `dynamodb://REGION/TABLE`, a role's ARN.
    pub subject: String,
    /// The bucket whose locks it is about, where the subject is a role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<String>,
    /// Where the repository configures it, when it does.
    pub place: Option<Place>,
    /// What is the case, in one sentence.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// Both lock records, for findings about a lock.
    pub locks: Option<Locks>,
    /// Commands that release the lock or mend the digest, in order.
    pub commands: Vec<String>,
    /// What will happen if nobody does anything.
    pub consequence: Option<String>,
    /// The reason given by a configured ignore or a baseline; such a finding never fails a run.
    pub ignored: Option<String>,
}

impl Audit {
    /// Sorts the findings: most serious first, then subject, rule and message.
    pub fn sort_findings(&mut self) {
        self.findings.sort_by(|a, b| {
            b.severity
                .cmp(&a.severity)
                .then_with(|| a.subject.cmp(&b.subject))
                .then_with(|| (&a.rule, &a.message).cmp(&(&b.rule, &b.message)))
        });
        self.findings.dedup();
    }
}

impl AuditFinding {
    /// A finding of a rule, at the rule's own severity, with nothing but its message.
    pub fn new(rule: &Rule, subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            rule: rule.id.to_owned(),
            severity: rule.severity,
            subject: subject.into(),
            place: None,
            message: message.into(),
            help: None,
            locks: None,
            commands: Vec::new(),
            consequence: None,
            bucket: None,
            area: Area::Locks,
            ignored: None,
        }
    }

    /// What it is about, for a baseline: the same fault has the same name tomorrow, whatever its age.
    pub fn fingerprint(&self) -> String {
        let ids = self.locks.iter().flat_map(|locks| [&locks.s3, &locks.dynamodb]).flatten();
        let ids: Vec<&str> = ids.filter_map(|record| record.id.as_deref()).collect();
        format!("{} {} {}", self.rule, self.subject, ids.join("+")).trim_end().to_owned()
    }
}
