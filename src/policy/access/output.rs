//! What the judge of access says: for each group of lock keys who can do what, and findings.

use schemars::JsonSchema;
use serde::Serialize;

use crate::severity::Severity;

/// Who can do what to the locks of one bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Access {
    /// The bucket.
    pub bucket: String,
    /// The account that owns it; null where it is not known.
    pub account: Option<String>,
    /// Whether users and roles were read. Where not, the sets hold made-up principals only.
    pub principals_read: bool,
    /// Which roles were taken for what.
    pub roles: Vec<RoleUse>,
    /// Groups of lock keys about which the same is true, by their first key.
    pub locks: Vec<LockAccess>,
    /// Who can change what protects the locks.
    pub can_strip: Vec<Holder>,
    /// What this says nothing about, and what was assumed.
    pub limits: Vec<String>,
}

/// A role, and what it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct RoleUse {
    /// Its ARN, or a pattern of ARNs.
    pub arn: String,
    /// What it does.
    pub part: Part,
    /// It is a guess and not configured: what it rests on.
    pub guess: Option<String>,
}

/// What a principal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Applies.
    Runner,
    /// Plans: takes locks, too.
    Plan,
    /// For emergencies.
    BreakGlass,
    /// Manages the bucket.
    Admin,
    /// None of these.
    Other,
}

impl Part {
    /// In a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Part::Runner => "runner",
            Part::Plan => "plan role",
            Part::BreakGlass => "break-glass role",
            Part::Admin => "admin role",
            Part::Other => "principal",
        }
    }
}

/// A group of lock keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LockAccess {
    /// The keys, sorted. A workspace that nobody named stands for any.
    pub keys: Vec<String>,
    /// Who can remove the lock.
    pub can_delete: Vec<Holder>,
    /// Who can remove a version of it for good, or the delete marker above an old lock.
    pub can_delete_version: Vec<Holder>,
    /// Who can write over the lock.
    pub can_overwrite: Vec<Holder>,
    /// Who can create it.
    pub can_create: Vec<Holder>,
    /// Who can create it, and can't read, decrypt or remove it afterwards.
    pub cannot_release: Vec<Holder>,
}

/// Somebody who is in a set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Holder {
    /// The ARN; `anonymous`; or words for a made-up principal.
    pub principal: String,
    /// What it is for.
    pub part: Part,
    /// It is made up, or its own policies are assumed.
    pub assumed: bool,
    /// How sure this is.
    pub certainty: Certainty,
    /// The actions, where a set is about several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<String>,
}

/// How sure an entry is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Certainty {
    /// It is so.
    Certain,
    /// It is so under conditions.
    Conditional {
        /// Condition keys with what is asked of them, or words.
        conditions: Vec<String>,
        /// The statements that ask for them.
        statements: Vec<String>,
    },
    /// It may be so: something could not be read or is not understood.
    Unknown {
        /// What.
        why: Vec<String>,
    },
}

/// Something to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccessFinding {
    /// Kebab-case id of the rule.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// `s3://BUCKET`, `s3://BUCKET/KEY`, or an ARN.
    pub subject: String,
    /// What is the case, in one sentence.
    pub message: String,
    /// What to do next.
    pub help: String,
    /// The statement that is meant, where there is one.
    pub statement: Option<String>,
}

/// The sets and the findings of one bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccessReport {
    /// Who can do what.
    pub access: Access,
    /// Sorted by subject, rule and message.
    pub findings: Vec<AccessFinding>,
}
