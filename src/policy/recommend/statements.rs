//! The bucket policy's statements. `docs/writing-policies.md` says what each is for.

use serde_json::{Value, json};

use super::resources::{LOCK_SUFFIX, Pattern, bucket_arn, object_arn};
use super::roles::{Named, Role};
use super::{State, Wanted};

/// What changes how locks are guarded.
pub(super) const GUARDRAILS: [&str; 5] = [
    "s3:PutBucketPolicy",
    "s3:DeleteBucketPolicy",
    "s3:PutLifecycleConfiguration",
    "s3:PutBucketVersioning",
    "s3:PutReplicationConfiguration",
];

/// What our statements are called.
pub(super) const SIDS: [&str; 10] = [
    "TflockDeleteOnlyByRunnersAndBreakGlass",
    "TflockCreateOnlyConditionally",
    "TflockCreateOnlyByRunners",
    "BreakGlassDeletesOnlyTheInspectedLock",
    "BreakGlassDeletesNoVersion",
    "GuardrailsOnlyByStateAdmin",
    "CrossAccountList",
    "CrossAccountRead",
    "CrossAccountRunner",
    "CrossAccountLock",
];

/// Our part of a bucket policy.
pub(super) struct Ours {
    pub statements: Vec<Value>,
    /// No statement names single states: wider patterns would not make it shorter.
    pub cross_account_free: bool,
}

/// One value, or a list of them.
pub(super) fn one_or_list(mut values: Vec<String>) -> Value {
    match values.pop() {
        Some(only) if values.is_empty() => Value::String(only),
        Some(last) => {
            values.push(last);
            values.into()
        }
        None => values.into(),
    }
}

fn arns<'r>(roles: impl Iterator<Item = &'r Role>) -> Value {
    let mut found: Vec<String> = roles.map(|role| role.arn.clone()).collect();
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|arn| seen.insert(arn.clone()));
    one_or_list(found)
}

/// What a state's writes may need besides `s3:PutObject`.
pub(super) fn writes(states: &[State], tags: impl Fn(&State) -> bool) -> Vec<&'static str> {
    let mut actions = vec!["s3:PutObject"];
    if states.iter().any(|state| state.acl.is_some()) {
        actions.push("s3:PutObjectAcl");
    }
    if states.iter().any(tags) {
        actions.push("s3:PutObjectTagging");
    }
    actions
}

/// All of them, in order.
pub(super) fn bucket(wanted: &Wanted, named: &Named, patterns: &[Pattern]) -> Ours {
    let locks = object_arn(wanted, &format!("*{LOCK_SUFFIX}"));
    let mut statements = vec![
        json!({
            "Sid": "TflockDeleteOnlyByRunnersAndBreakGlass",
            "Effect": "Deny",
            "Principal": "*",
            // One list for both: S3 refuses to delete an unversioned object when either is denied.
            "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"],
            "Resource": &locks,
            "Condition": {"ArnNotLike": {"aws:PrincipalArn": arns(named.lockers().chain(&named.break_glass))}},
        }),
        json!({
            "Sid": "TflockCreateOnlyConditionally",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:PutObject",
            "Resource": &locks,
            "Condition": {"Null": {"s3:if-none-match": "true"}},
        }),
        json!({
            "Sid": "TflockCreateOnlyByRunners",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:PutObject",
            "Resource": &locks,
            "Condition": {"ArnNotLike": {"aws:PrincipalArn": arns(named.lockers())}},
        }),
    ];
    if !named.break_glass.is_empty() {
        statements.push(json!({
            "Sid": "BreakGlassDeletesOnlyTheInspectedLock",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:DeleteObject",
            "Resource": &locks,
            "Condition": {
                "ArnLike": {"aws:PrincipalArn": arns(named.break_glass.iter())},
                "Null": {"s3:if-match": "true"},
            },
        }));
    }
    if wanted.versioned && !named.break_glass.is_empty() {
        // There is no condition for this: a version's deletion could bring an older lock back.
        statements.push(json!({
            "Sid": "BreakGlassDeletesNoVersion",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:DeleteObjectVersion",
            "Resource": &locks,
            "Condition": {"ArnLike": {"aws:PrincipalArn": arns(named.break_glass.iter())}},
        }));
    }
    statements.push(json!({
        "Sid": "GuardrailsOnlyByStateAdmin",
        "Effect": "Deny",
        "Principal": "*",
        "Action": GUARDRAILS,
        "Resource": bucket_arn(wanted),
        "Condition": {"ArnNotLike": {"aws:PrincipalArn": arns(named.guards())}},
    }));
    let cross = cross_account(wanted, named, patterns);
    let cross_account_free = cross.is_empty();
    statements.extend(cross);
    Ours { statements, cross_account_free }
}

/// What lets roles of other accounts in. Their own policies must allow the same.
fn cross_account(wanted: &Wanted, named: &Named, patterns: &[Pattern]) -> Vec<Value> {
    let foreign = |role: &&Role| role.account != wanted.account;
    let runners: Vec<&Role> = named.runners.iter().filter(foreign).collect();
    // A runner that also plans needs no second statement.
    let plan: Vec<&Role> = named.plan.iter().filter(foreign).filter(|role| !runners.contains(role)).collect();
    if runners.is_empty() && plan.is_empty() {
        return Vec::new();
    }
    let paths = || patterns.iter().flat_map(|pattern| &pattern.0);
    let states: Vec<String> = paths().map(|path| object_arn(wanted, path)).collect();
    let locks: Vec<String> =
        paths().map(|path| object_arn(wanted, &format!("{path}{LOCK_SUFFIX}"))).collect();
    let everyone = || runners.iter().chain(&plan).copied();
    let allow = |sid: &str, who: Value, actions: Vec<&str>, resources: Vec<String>| {
        json!({
            "Sid": sid,
            "Effect": "Allow",
            "Principal": {"AWS": who},
            "Action": one_or_list(actions.into_iter().map(str::to_owned).collect()),
            "Resource": one_or_list(resources),
        })
    };
    let mut lock_actions = vec!["s3:GetObject"];
    lock_actions.extend(writes(&wanted.states, |state| state.lock_tags));
    lock_actions.push("s3:DeleteObject");
    let mut statements =
        vec![allow("CrossAccountList", arns(everyone()), vec!["s3:ListBucket"], vec![bucket_arn(wanted)])];
    statements.push(allow("CrossAccountRead", arns(everyone()), vec!["s3:GetObject"], states.clone()));
    if !runners.is_empty() {
        let actions = writes(&wanted.states, |state| state.state_tags);
        statements.push(allow("CrossAccountRunner", arns(runners.iter().copied()), actions, states));
    }
    statements.push(allow("CrossAccountLock", arns(everyone()), lock_actions, locks));
    statements
}
