//! What the judge of access is told: one bucket, its policies, the principals, the states. Texts are borrowed.

use super::output::Part;

/// What was read, or why it was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reading<T> {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// There is none.
    Absent,
    /// This is it.
    Known(T),
    /// It could not be read: why, in words.
    Failed(String),
}

impl<T> Reading<T> {
    /// The value, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Reading::Known(value) => Some(value),
            _ => None,
        }
    }
}

/// Everything that one judgement needs.
#[derive(Debug, Clone, Default)]
pub struct AccessInput<'a> {
    /// The bucket.
    pub bucket: BucketInput<'a>,
    /// The states in it that a repository expects; each has one lock, and one for each workspace.
    pub states: Vec<StateInput<'a>>,
    /// Which roles do what.
    pub roles: RolePatterns<'a>,
    /// Users and roles of the accounts in [`AccessInput::accounts`]. Failed or not asked: the bucket's policy is still
    /// judged, with made-up principals.
    pub principals: Reading<Vec<PrincipalInput<'a>>>,
    /// Accounts whose principals are all in [`AccessInput::principals`].
    pub accounts: Vec<&'a str>,
    /// Service control policies, where they were supplied.
    pub scps: Vec<ScpInput<'a>>,
    /// Resource control policies of the bucket's account, by level, where they were supplied.
    pub rcps: Option<Vec<Vec<NamedPolicy<'a>>>>,
    /// Words from `Who` and command lines of past locks (`runner@ip-10-0-0-1`), for guessing which roles run.
    pub seen_holders: Vec<&'a str>,
}

/// One bucket.
#[derive(Debug, Clone, Default)]
pub struct BucketInput<'a> {
    /// Its name.
    pub name: &'a str,
    /// The account that owns it: twelve digits. None where it is not known.
    pub account: Option<&'a str>,
    /// `aws`, `aws-cn`, `aws-us-gov`; empty stands for `aws`.
    pub partition: &'a str,
    /// Its region, where it is known.
    pub region: Option<&'a str>,
    /// Its policy's JSON text.
    pub policy: Reading<&'a str>,
    /// `Enabled` or `Suspended`; absent for a bucket that never had versions.
    pub versioning: Reading<&'a str>,
    /// MFA Delete is enabled.
    pub mfa_delete: bool,
    /// `BucketOwnerEnforced`, `BucketOwnerPreferred`, `ObjectWriter`; absent for old buckets, which use ACLs.
    pub ownership: Reading<&'a str>,
    /// The bucket's public access block; absent means that nothing is blocked.
    pub public_access_block: Reading<BlockPublicAccess>,
    /// The account's public access block.
    pub account_public_access_block: Reading<BlockPublicAccess>,
    /// Access points on the bucket.
    pub access_points: Reading<Vec<AccessPointInput<'a>>>,
    /// The KMS key that encrypts new objects; none for other encryption, or where it is not known.
    pub kms: Option<KmsInput<'a>>,
}

/// `PublicAccessBlockConfiguration`; the four are S3's own names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct BlockPublicAccess {
    pub block_public_acls: bool,
    pub ignore_public_acls: bool,
    pub block_public_policy: bool,
    pub restrict_public_buckets: bool,
}

/// An access point.
#[derive(Debug, Clone, Default)]
pub struct AccessPointInput<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its ARN, which names its account.
    pub arn: &'a str,
    /// The VPC from which alone it takes requests.
    pub vpc: Option<&'a str>,
    /// Its policy's JSON text.
    pub policy: Reading<&'a str>,
    /// Its public access block.
    pub public_access_block: Reading<BlockPublicAccess>,
}

/// A KMS key.
#[derive(Debug, Clone, Default)]
pub struct KmsInput<'a> {
    /// Its ARN. Not an alias: a policy names keys.
    pub arn: &'a str,
    /// Its policy's JSON text.
    pub policy: Reading<&'a str>,
    /// Its grants.
    pub grants: Reading<Vec<GrantInput<'a>>>,
}

/// A grant on a KMS key.
#[derive(Debug, Clone, Default)]
pub struct GrantInput<'a> {
    /// The grantee's ARN.
    pub grantee: &'a str,
    /// `Decrypt`, `GenerateDataKey`, …
    pub operations: Vec<&'a str>,
    /// It holds only for an encryption context. S3's is the object's or the bucket's ARN.
    pub constrained: bool,
}

/// A state that a repository expects in the bucket.
#[derive(Debug, Clone, Default)]
pub struct StateInput<'a> {
    /// The default workspace's key.
    pub key: &'a str,
    /// Where other workspaces live, `env:` by default. Empty means `WORKSPACE/KEY`.
    pub workspace_key_prefix: &'a str,
    /// Workspaces that were seen in the bucket; none where nobody looked.
    pub workspaces: Option<Vec<&'a str>>,
    /// The backend sets `acl`.
    pub acl: bool,
    /// The backend sets `lock_tags` (OpenTofu).
    pub lock_tags: bool,
}

/// Roles by what they do: ARNs, or ARNs with `*` and `?`.
#[derive(Debug, Clone, Default)]
pub struct RolePatterns<'a> {
    /// Roles that apply.
    pub runners: Vec<&'a str>,
    /// Roles that only plan. They lock, too.
    pub plan: Vec<&'a str>,
    /// Roles for emergencies: they may remove a lock.
    pub break_glass: Vec<&'a str>,
    /// Roles that manage the bucket and its policy.
    pub admins: Vec<&'a str>,
}

impl<'a> RolePatterns<'a> {
    /// What each list of roles is for; where a role is in several, the first counts.
    pub(super) fn by_part(&self) -> [(Part, &[&'a str]); 4] {
        [
            (Part::Runner, &self.runners),
            (Part::Plan, &self.plan),
            (Part::BreakGlass, &self.break_glass),
            (Part::Admin, &self.admins),
        ]
    }

    /// Whether nothing is configured that takes locks.
    pub fn name_no_runner(&self) -> bool {
        self.runners.is_empty() && self.plan.is_empty()
    }
}

/// A policy with its name or ARN.
#[derive(Debug, Clone, Default)]
pub struct NamedPolicy<'a> {
    /// Its name or ARN.
    pub name: &'a str,
    /// Its JSON text.
    pub text: &'a str,
}

/// A user or a role.
#[derive(Debug, Clone, Default)]
pub struct PrincipalInput<'a> {
    /// Its ARN, path included.
    pub arn: &'a str,
    /// `AROA…` or `AIDA…`; empty where it is not known.
    pub unique_id: &'a str,
    /// Inline, attached and group policies.
    pub policies: Vec<NamedPolicy<'a>>,
    /// Policies that are attached and could not be read: why.
    pub policies_unread: Option<String>,
    /// Its permissions boundary. IAM names it with the principal, so not asked counts as none.
    pub boundary: Reading<&'a str>,
    /// A role's trust policy.
    pub trust: Reading<&'a str>,
    /// Tags.
    pub tags: Vec<(&'a str, &'a str)>,
}

/// Service control policies of one account.
#[derive(Debug, Clone, Default)]
pub struct ScpInput<'a> {
    /// Twelve digits; none for all accounts.
    pub account: Option<&'a str>,
    /// One entry for each level, from the organization's root down to the account. No level at all for the management
    /// account, which SCPs do not limit.
    pub levels: Vec<Vec<NamedPolicy<'a>>>,
}
