//! The policies that roles need for themselves: to apply, to plan, to release a stuck lock, to audit.

use serde_json::{Value, json};

use super::refusal::{Gate, Refusal};
use super::resources::{LOCK_SUFFIX, Pattern, bucket_arn, object_arn};
use super::statements::{one_or_list, writes};
use super::{MANAGED_POLICY_LIMIT, Wanted};

/// For whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Runner,
    Plan,
    BreakGlass,
}

/// Actions on states, and on locks.
struct Actions {
    states: Vec<&'static str>,
    locks: Vec<&'static str>,
    keys: Vec<&'static str>,
}

impl Actions {
    fn of(who: Who, wanted: &Wanted) -> Actions {
        // Unlock reads the lock before it deletes it, and a plan locks, too.
        let locks = || {
            let mut actions = vec!["s3:GetObject"];
            actions.extend(writes(&wanted.states, |state| state.lock_tags));
            actions.push("s3:DeleteObject");
            actions
        };
        let keys = vec!["kms:GenerateDataKey", "kms:Decrypt"];
        match who {
            Who::Runner => {
                let mut states = vec!["s3:GetObject"];
                states.extend(writes(&wanted.states, |state| state.state_tags));
                Actions { states, locks: locks(), keys }
            }
            Who::Plan => Actions { states: vec!["s3:GetObject"], locks: locks(), keys },
            Who::BreakGlass => Actions {
                states: Vec::new(),
                locks: vec!["s3:GetObject", "s3:DeleteObject"],
                keys: vec!["kms:Decrypt"],
            },
        }
    }
}

/// The documents for one kind of role, each within IAM's limit. The first one also holds what is not about single
/// states.
pub(super) fn documents(
    who: Who,
    wanted: &Wanted,
    keys: &[String],
    patterns: &[Pattern],
) -> Result<Vec<Value>, Refusal> {
    let actions = Actions::of(who, wanted);
    let general = general(who, wanted, keys, &actions);
    let mut documents = Vec::new();
    let mut room = Room::new(&actions, &general);
    let (mut states, mut locks) = (Vec::new(), Vec::new());
    for pattern in patterns {
        let arns = |end: &str| -> Vec<String> {
            pattern.0.iter().map(|path| object_arn(wanted, &format!("{path}{end}"))).collect()
        };
        let of_states = if actions.states.is_empty() { Vec::new() } else { arns("") };
        let of_locks = arns(LOCK_SUFFIX);
        let cost: usize = of_states.iter().chain(&of_locks).map(|arn| cost(arn)).sum();
        if !room.takes(cost) && !locks.is_empty() {
            let first = documents.is_empty();
            let taken = (std::mem::take(&mut states), std::mem::take(&mut locks));
            documents.push(document(first.then_some(general.as_slice()), &actions, taken.0, taken.1));
            room = Room::new(&actions, &[]);
        }
        room.used += cost;
        states.extend(of_states);
        locks.extend(of_locks);
    }
    let first = documents.is_empty();
    documents.push(document(first.then_some(general.as_slice()), &actions, states, locks));
    for document in &documents {
        let length = characters(&document.to_string());
        if length > MANAGED_POLICY_LIMIT {
            return Err(Refusal::new(
                Gate::TooLarge,
                format!(
                    "one state alone makes a policy of {length} characters; IAM takes {MANAGED_POLICY_LIMIT}"
                ),
                "shorten the longest state keys, or name fewer KMS keys and tables at once",
            ));
        }
    }
    Ok(documents)
}

/// What a document still takes.
struct Room {
    used: usize,
}

impl Room {
    fn new(actions: &Actions, general: &[Value]) -> Room {
        let empty = document(Some(general), actions, vec![String::new(); 2], vec![String::new(); 2]);
        Room { used: characters(&empty.to_string()) }
    }

    fn takes(&self, cost: usize) -> bool {
        self.used + cost <= MANAGED_POLICY_LIMIT
    }
}

/// A list's element with its comma.
fn cost(arn: &str) -> usize {
    characters(&Value::from(arn).to_string()) + 1
}

/// As IAM counts: whitespace is free. Compact JSON has it only inside of texts, where it is counted here.
fn characters(text: &str) -> usize {
    text.chars().count()
}

fn document(general: Option<&[Value]>, actions: &Actions, states: Vec<String>, locks: Vec<String>) -> Value {
    let mut statements: Vec<Value> = general.unwrap_or_default().to_vec();
    let mut add = |sid: &str, actions: &[&str], resources: Vec<String>| {
        if !actions.is_empty() && !resources.is_empty() {
            statements.push(json!({
                "Sid": sid, "Effect": "Allow", "Action": actions, "Resource": one_or_list(resources),
            }));
        }
    };
    add("State", &actions.states, states);
    add("StateLock", &actions.locks, locks);
    json!({"Version": "2012-10-17", "Statement": statements})
}

/// What is not about single states.
fn general(who: Who, wanted: &Wanted, keys: &[String], actions: &Actions) -> Vec<Value> {
    let mut statements = vec![json!({
        // Without it S3 answers 403 instead of 404 for a state that is not there yet.
        "Sid": "StateBucket", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": bucket_arn(wanted),
    })];
    if !keys.is_empty() {
        statements.push(json!({
            "Sid": "StateKey",
            "Effect": "Allow",
            "Action": one_or_list(actions.keys.iter().map(|action| (*action).to_owned()).collect()),
            "Resource": one_or_list(keys.to_vec()),
        }));
    }
    if !wanted.tables.is_empty() && who != Who::BreakGlass {
        statements.push(json!({
            "Sid": "LockTable",
            "Effect": "Allow",
            "Action": ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"],
            "Resource": one_or_list(wanted.tables.clone()),
        }));
    }
    statements
}

/// What `lockshift audit` reads, and nothing that changes anything.
pub(super) fn auditor(wanted: &Wanted, keys: &[String]) -> Value {
    let (partition, account) = (&wanted.partition, &wanted.account);
    let mut statements = vec![
        json!({
            "Sid": "BucketConfigRead",
            "Effect": "Allow",
            "Action": [
                "s3:GetBucketPolicy",
                "s3:GetLifecycleConfiguration",
                "s3:GetBucketVersioning",
                "s3:GetBucketObjectLockConfiguration",
                "s3:GetEncryptionConfiguration",
                "s3:GetBucketPublicAccessBlock",
                "s3:GetBucketOwnershipControls",
                "s3:GetReplicationConfiguration",
                "s3:ListBucket",
                "s3:ListBucketVersions",
            ],
            "Resource": bucket_arn(wanted),
        }),
        json!({
            "Sid": "ReadLocksOnly",
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:GetObjectVersion"],
            "Resource": object_arn(wanted, &format!("*{LOCK_SUFFIX}")),
        }),
        json!({
            "Sid": "AccessPoints",
            "Effect": "Allow",
            "Action": ["s3:ListAccessPoints", "s3:GetAccountPublicAccessBlock"],
            "Resource": "*",
        }),
        json!({
            "Sid": "AccessPointPolicies",
            "Effect": "Allow",
            "Action": ["s3:GetAccessPoint", "s3:GetAccessPointPolicy"],
            "Resource": format!("arn:{partition}:s3:*:{account}:accesspoint/*"),
        }),
        json!({
            "Sid": "IamSnapshot",
            "Effect": "Allow",
            "Action": "iam:GetAccountAuthorizationDetails",
            "Resource": "*",
        }),
        json!({
            "Sid": "CrossCheckOptional",
            "Effect": "Allow",
            "Action": "iam:SimulatePrincipalPolicy",
            "Resource": [
                format!("arn:{partition}:iam::{account}:role/*"),
                format!("arn:{partition}:iam::{account}:user/*"),
            ],
        }),
    ];
    if !keys.is_empty() {
        statements.push(json!({
            "Sid": "KeyPolicy",
            "Effect": "Allow",
            "Action": ["kms:DescribeKey", "kms:GetKeyPolicy", "kms:ListGrants", "kms:Decrypt"],
            "Resource": one_or_list(keys.to_vec()),
        }));
    }
    if !wanted.tables.is_empty() {
        statements.push(json!({
            "Sid": "LockTables",
            "Effect": "Allow",
            "Action": ["dynamodb:DescribeTable", "dynamodb:Scan", "dynamodb:GetItem"],
            "Resource": one_or_list(wanted.tables.clone()),
        }));
        // How often a table is still written: `--retire`.
        statements.push(json!({
            "Sid": "TableWritesOptional",
            "Effect": "Allow",
            "Action": "cloudwatch:GetMetricStatistics",
            "Resource": "*",
        }));
    }
    json!({"Version": "2012-10-17", "Statement": statements})
}
