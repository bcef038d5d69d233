//! One state that should be there, its table, and how both are reached.

use crate::repo::inventory::{Engine, LockMode};
use crate::repo::text::Place;
use crate::workspace::state_path;

/// One state (its default workspace), as one root module's backend names it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedState {
    /// Its bucket.
    pub bucket: String,
    /// Its key: the default workspace's state path.
    pub key: String,
    /// Where its other workspaces live; `env:` when the backend says nothing. Empty means `WORKSPACE/KEY`.
    pub workspace_key_prefix: String,
    /// Which locks its runs take.
    pub mode: LockMode,
    /// Its table, by name or ARN, when it has one.
    pub table: Option<String>,
    /// The backend sets `acl`, so the lock is written with one.
    pub acl: bool,
    /// The backend sets `lock_tags` (OpenTofu).
    pub lock_tags: bool,
    /// How to reach it.
    pub access: Access,
    /// The root module's path.
    pub root: String,
    /// The choice of backend-config that leads here.
    pub backend_config: Vec<String>,
    /// Which program reads it so.
    pub engine: Engine,
    /// Where it stands, for findings.
    pub place: Place,
}

/// How a backend says that its stores are reached. Credentials are never kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// `region`.
    pub region: Option<String>,
    /// `profile`.
    pub profile: Option<String>,
    /// `assume_role.role_arn` or the old `role_arn`.
    pub role_arn: Option<String>,
    /// `assume_role.external_id` or the old `external_id` is set: it is a secret that must come from elsewhere.
    pub wants_external_id: bool,
    /// `endpoints.s3` or the old `endpoint`.
    pub s3_endpoint: Option<String>,
    /// `endpoints.dynamodb` or the old `dynamodb_endpoint`.
    pub dynamodb_endpoint: Option<String>,
    /// `use_path_style` or the old `force_path_style`.
    pub path_style: bool,
}

/// A lock table, as a backend names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableRef {
    /// Its name, without account and region.
    pub name: String,
    /// Its region: the ARN's, else the backend's; none when neither says.
    pub region: Option<String>,
    /// The account, when an ARN says it.
    pub account: Option<String>,
    /// The endpoint; none for AWS itself.
    pub endpoint: Option<String>,
}

impl TableRef {
    /// Reads a name or a full ARN (`arn:aws:dynamodb:REGION:ACCOUNT:table/NAME`).
    pub fn of(table: &str, access: &Access) -> Self {
        let (region, endpoint) = (access.region.clone(), access.dynamodb_endpoint.clone());
        let mut parts = table.splitn(6, ':');
        let arn = (parts.next() == Some("arn")).then(|| (parts.nth(2), parts.next(), parts.next()));
        let Some((Some(arn_region), Some(account), Some(resource))) = arn else {
            return Self { name: table.to_owned(), region, account: None, endpoint };
        };
        let text = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        Self {
            name: resource.strip_prefix("table/").unwrap_or(resource).to_owned(),
            region: text(arn_region).or(region),
            account: text(account),
            endpoint,
        }
    }
}

/// The partition of a region: names are unique within one only, and no request crosses them.
pub fn partition_of(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "aws-cn"
    } else if region.starts_with("us-gov-") {
        "aws-us-gov"
    } else if region.starts_with("us-isob-") {
        "aws-iso-b"
    } else if region.contains("-iso") {
        "aws-iso"
    } else {
        "aws"
    }
}

impl ExpectedState {
    /// Its table, where it has one.
    pub fn table_ref(&self) -> Option<TableRef> {
        self.table.as_deref().map(|table| TableRef::of(table, &self.access))
    }

    /// The state path of a workspace.
    pub fn path_of(&self, workspace: &str) -> String {
        state_path(&self.workspace_key_prefix, workspace, &self.key)
    }
}
