//! Writes the policies that state locks in one bucket need, and proves them with the evaluator before anybody sees
//! them. Pure: what is wanted in, documents or a refusal out. Nothing is ever applied.
//!
//! The bucket policy is the one of `docs/writing-policies.md`: only named roles delete a lock, nobody overwrites one,
//! only runners create one, and only named roles change what guards them. What a bucket's policy says already stays.

mod failed;
mod hcl;
mod identity;
mod merge;
mod probe;
mod proof;
#[cfg(test)]
mod properties;
mod refusal;
mod resources;
mod roles;
mod sets;
mod statements;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::document::Compiled;

pub use failed::Failed;
pub use hcl::{HclError, hcl};
pub use refusal::{Gate, Refusal};
pub use roles::Roles;
pub use sets::{Can, Reach};

/// S3's limit for a bucket policy, in bytes (S3 user guide, "bucket policies").
pub const BUCKET_POLICY_LIMIT: usize = 20 * 1024;

/// IAM's limit for a managed policy, in characters without whitespace (IAM user guide, "quotas").
pub const MANAGED_POLICY_LIMIT: usize = 6_144;

/// How many managed policies a role may have unless its account's quota was raised (IAM user guide, "quotas").
pub const POLICIES_OF_A_ROLE: usize = 10;

/// What policies are wanted for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The bucket's name.
    pub bucket: String,
    /// The account that owns it: twelve digits.
    pub account: String,
    /// `aws`, `aws-cn` or `aws-us-gov`.
    pub partition: String,
    /// The states that live in it.
    pub states: Vec<State>,
    /// Who does what.
    pub roles: Roles,
    /// The ARN of who will put the bucket policy, as `aws sts get-caller-identity` says it, where that is known.
    pub caller: Option<String>,
    /// The bucket's policy today, as JSON text; none where it has none.
    pub existing: Option<String>,
    /// ARNs of the KMS keys that encrypt states and locks, besides those that the states name.
    pub kms_keys: Vec<String>,
    /// Whether the bucket is versioned. Only where it certainly is may a policy deny `s3:DeleteObjectVersion` to a
    /// role that unlocks: S3 then refuses to delete unversioned objects, too (S3 API, `DeleteObject`).
    pub versioned: bool,
    /// ARNs of lock tables that runs still take; none after the final phase.
    pub tables: Vec<String>,
    /// What the named roles' requests carry beyond what Terraform and AWS always add: key and value.
    pub context: Vec<(String, String)>,
}

/// One state and how its backend writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The default workspace's state path.
    pub key: String,
    /// Where its other workspaces live: `env:` by default; empty for `WORKSPACE/KEY`.
    pub workspace_prefix: String,
    /// The header `x-amz-server-side-encryption` that its writes carry.
    pub encryption: Encryption,
    /// The canned ACL that its writes carry (`acl`): needs `s3:PutObjectAcl` on state and lock. Empty where one is set
    /// and which is not known.
    pub acl: Option<String>,
    /// Whether locks are tagged (OpenTofu's `lock_tags`): needs `s3:PutObjectTagging`.
    pub lock_tags: bool,
    /// Whether states are tagged (OpenTofu's `state_tags`).
    pub state_tags: bool,
}

/// How a backend asks for encryption.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encryption {
    /// No header: the bucket's default holds.
    #[default]
    BucketDefault,
    /// `encrypt = true`.
    Aes256,
    /// `kms_key_id`, as written: the ARN of a key, an id or an alias.
    Kms(String),
    /// It is set, and to what is not known.
    NotKnown,
}

/// Everything that one bucket needs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// The bucket.
    pub bucket: String,
    /// Its account.
    pub account: String,
    /// The bucket policy, the present one's statements included.
    pub bucket_policy: Value,
    /// Whether that differs from the present one.
    pub changed: bool,
    /// For the roles that apply: attach all documents to each of them.
    pub runner: Vec<Value>,
    /// For the roles that only plan; empty where there are none.
    pub plan: Vec<Value>,
    /// For break-glass roles; empty where there are none.
    pub break_glass: Vec<Value>,
    /// For who runs `lockshift audit`.
    pub auditor: Value,
    /// How far each principal reaches with the present policy and with the new one.
    pub reach: Vec<Reach>,
    /// How many requests the proof decided.
    pub proven: usize,
    /// What a reader must know: what changed on the way, what is not proven.
    pub notes: Vec<String>,
}

/// Writes and proves the policies of one bucket.
///
/// # Errors
///
/// A gate that refuses, with what to do. There is no half result.
pub fn recommend(wanted: &Wanted) -> Result<Advice, Refusal> {
    let named = roles::Named::read(wanted)?;
    let keys = kms_keys(wanted)?;
    // Exact first. Wider patterns only where limits demand it, and then as few as possible.
    let mut widths = resources::widths(&wanted.states);
    let (built, width) = loop {
        let Some(width) = widths.next() else { return Err(refusal::too_many_states(wanted)) };
        let patterns = resources::patterns(&wanted.states, width);
        match build(wanted, &named, &keys, &patterns)? {
            Some(built) => break (built, width),
            None => continue,
        }
    };
    let proof = proof::prove(wanted, &named, &keys, &built)?;
    let after = compiled(&built.merged.policy)?;
    let before = match &built.merged.before {
        Some(policy) => Some(compiled(policy)?),
        None => None,
    };
    let mut notes = built.merged.notes.clone();
    notes.extend(width.note());
    notes.extend(named.notes(wanted));
    if !keys.is_empty() {
        notes.push(
            "the policies of KMS keys were not read: each must let these roles use the key, or leave that to its \
             account"
                .to_owned(),
        );
    }
    let reach = sets::reach(wanted, &named, &built.merged.mentioned, before.as_ref(), &after);
    let changed = built.merged.before.as_ref() != Some(&built.merged.policy);
    let Built { merged, runner, plan, break_glass } = built;
    Ok(Advice {
        bucket: wanted.bucket.clone(),
        account: wanted.account.clone(),
        bucket_policy: merged.policy,
        changed,
        runner,
        plan,
        break_glass,
        auditor: identity::auditor(wanted, &keys),
        reach,
        proven: proof,
        notes,
    })
}

/// Documents that still have to be proven.
struct Built {
    merged: merge::Merged,
    runner: Vec<Value>,
    plan: Vec<Value>,
    break_glass: Vec<Value>,
}

/// None where something is longer than AWS takes and wider patterns would help.
fn build(
    wanted: &Wanted,
    named: &roles::Named,
    keys: &[String],
    patterns: &[resources::Pattern],
) -> Result<Option<Built>, Refusal> {
    let ours = statements::bucket(wanted, named, patterns);
    let variables = !ours.cross_account_free && resources::need_variables(&wanted.states);
    let merged = merge::merge(wanted, ours.statements, variables)?;
    if merged.policy.to_string().len() > BUCKET_POLICY_LIMIT {
        if ours.cross_account_free {
            return Err(refusal::too_large(wanted, &merged.policy));
        }
        return Ok(None);
    }
    let documents = |who| identity::documents(who, wanted, keys, patterns);
    let runner = documents(identity::Who::Runner)?;
    let plan = if named.plan.is_empty() { Vec::new() } else { documents(identity::Who::Plan)? };
    let break_glass =
        if named.break_glass.is_empty() { Vec::new() } else { documents(identity::Who::BreakGlass)? };
    if [&runner, &plan, &break_glass].iter().any(|documents| documents.len() > POLICIES_OF_A_ROLE) {
        return Ok(None);
    }
    Ok(Some(Built { merged, runner, plan, break_glass }))
}

fn compiled(policy: &Value) -> Result<Compiled, Refusal> {
    Compiled::new(&policy.to_string()).map_err(|error| refusal::not_mergeable(&error.to_string()))
}

/// The ARNs of all KMS keys: those given, and those that backends name by ARN.
fn kms_keys(wanted: &Wanted) -> Result<Vec<String>, Refusal> {
    let is_key = |arn: &str| {
        super::pattern::arn_parts(arn).is_some_and(|[scheme, _, service, _, account, resource]| {
            scheme == "arn"
                && service == "kms"
                && super::is_account(account)
                && resource.starts_with("key/")
                && !resource.contains(['*', '?', '$'])
        })
    };
    let mut keys = wanted.kms_keys.clone();
    for arn in &keys {
        if !is_key(arn) {
            return Err(refusal::no_key(arn));
        }
    }
    for state in &wanted.states {
        match &state.encryption {
            Encryption::Kms(id) if is_key(id) => keys.push(id.clone()),
            Encryption::Kms(id) if wanted.kms_keys.is_empty() => {
                return Err(refusal::unnamed_key(&state.key, id));
            }
            _ => {}
        }
    }
    keys.sort();
    keys.dedup();
    Ok(keys)
}
