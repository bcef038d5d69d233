//! What was read of an account: its roles and users with their policies, and what IAM's own simulator said of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

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
