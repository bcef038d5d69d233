//! Tests of the judge as a whole.

mod cases;
mod points;
mod properties;
mod sets;
mod settings;
mod simulate;

use super::{
    AccessFinding, AccessInput, AccessReport, BucketInput, NamedPolicy, PrincipalInput, Reading,
    RolePatterns, StateInput, judge,
};
use crate::severity::Severity;

pub(super) const ACCOUNT: &str = "111122223333";
pub(super) const APPLY: &str = "arn:aws:iam::111122223333:role/ci/tf-apply";
pub(super) const PLAN: &str = "arn:aws:iam::111122223333:role/ci/tf-plan";
pub(super) const BREAK_GLASS: &str = "arn:aws:iam::111122223333:role/break-glass";
pub(super) const STATE_ADMIN: &str = "arn:aws:iam::111122223333:role/state-admin";
pub(super) const ADMIN: &str = "arn:aws:iam::111122223333:role/AdministratorAccess";
pub(super) const RECOMMENDED: &str =
    include_str!("../../../../fixtures/policy/recommended-bucket-policy.json");
pub(super) const EVERYTHING: &str = r#"{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"#;
pub(super) const LOCKER: &str = r#"{"Statement": [
    {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::acme-tfstate"},
    {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": "arn:aws:s3:::acme-tfstate/*"},
    {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::acme-tfstate/*.tflock"}]}"#;
pub(super) const LOCK: &str = "prod/terraform.tfstate.tflock";

/// One state, the usual roles, no policy.
pub(super) fn input<'a>() -> AccessInput<'a> {
    AccessInput {
        bucket: BucketInput {
            name: "acme-tfstate",
            account: Some(ACCOUNT),
            policy: Reading::Absent,
            versioning: Reading::Known("Enabled"),
            ..BucketInput::default()
        },
        states: vec![state("prod/terraform.tfstate")],
        roles: roles(),
        ..AccessInput::default()
    }
}

pub(super) fn state(key: &str) -> StateInput<'_> {
    StateInput { key, workspace_key_prefix: "env:", ..StateInput::default() }
}

pub(super) fn roles<'a>() -> RolePatterns<'a> {
    RolePatterns {
        runners: vec![APPLY],
        plan: vec![PLAN],
        break_glass: vec![BREAK_GLASS],
        admins: vec![STATE_ADMIN],
    }
}

pub(super) fn principal<'a>(arn: &'a str, policy: &'a str) -> PrincipalInput<'a> {
    PrincipalInput {
        arn,
        unique_id: "AROAEXAMPLEROLE",
        policies: vec![NamedPolicy { name: "main", text: policy }],
        boundary: Reading::Absent,
        trust: Reading::Absent,
        ..PrincipalInput::default()
    }
}

/// With these principals read, which are all that the account has.
pub(super) fn with<'a>(mut input: AccessInput<'a>, principals: Vec<PrincipalInput<'a>>) -> AccessInput<'a> {
    input.principals = Reading::Known(principals);
    input.accounts = vec![ACCOUNT];
    input
}

pub(super) fn with_policy<'a>(mut input: AccessInput<'a>, policy: &'a str) -> AccessInput<'a> {
    input.bucket.policy = Reading::Known(policy);
    input
}

/// The ids of what is found, each once.
pub(super) fn ids(report: &AccessReport) -> Vec<&'static str> {
    let mut ids: Vec<&'static str> = report.findings.iter().map(|finding| finding.rule).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

pub(super) fn found(input: &AccessInput<'_>) -> Vec<&'static str> {
    ids(&judge(input))
}

pub(super) fn of<'r>(report: &'r AccessReport, rule: &str) -> Vec<&'r AccessFinding> {
    report.findings.iter().filter(|finding| finding.rule == rule).collect()
}
