//! Each rule that policies alone decide fires on its bad case in `fixtures/policy/rule-cases.json` and stays silent on
//! the good one.

use serde_json::Value;

use super::*;
use crate::policy::access::{GrantInput, KmsInput, rules};

/// The fixtures' numbers.
const RULES: &[(&str, &str)] = &[
    ("TFL101", "lock-delete-unlimited"),
    ("TFL102", "lock-delete-limit-misses-keys"),
    ("TFL103", "lock-delete-version-unlimited"),
    ("TFL104", "lock-delete-exemption-not-a-principal"),
    ("TFL105", "lock-delete-conditions-combined"),
    ("TFL106", "lock-delete-deny-list"),
    ("TFL107", "lock-delete-exemption-broad"),
    ("TFL108", "condition-skippable"),
    ("TFL109", "condition-wildcard-literal"),
    ("TFL110", "condition-session-arn"),
    ("TFL111", "condition-role-path-missing"),
    ("TFL112", "not-principal-used"),
    ("TFL113", "deleted-principal-named"),
    ("TFL114", "lock-delete-denies-runner"),
    ("TFL115", "unlock-needs-if-match"),
    ("TFL116", "break-glass-deletes-blindly"),
    ("TFL117", "statement-never-applies"),
    ("TFL118", "lock-delete-exemption-by-tag"),
    ("TFL201", "lock-overwrite-possible"),
    ("TFL202", "state-write-needs-if-none-match"),
    ("TFL203", "lock-overwrite-with-etag"),
    ("TFL204", "lock-planting-possible"),
    ("TFL301", "bucket-policy-unprotected"),
    ("TFL302", "bucket-lifecycle-unprotected"),
    ("TFL303", "bucket-policy-locks-everyone-out"),
    ("TFL304", "bucket-settings-unprotected"),
    ("TFL305", "lock-open-to-everyone"),
    ("TFL401", "runner-without-lock-rights"),
    ("TFL402", "runner-cannot-delete-lock"),
    ("TFL403", "runner-cannot-read-lock"),
    ("TFL404", "runner-cannot-decrypt-lock"),
    ("TFL405", "runner-limited-by-boundary"),
    ("TFL406", "cross-account-one-sided"),
    ("TFL407", "workspace-locks-not-covered"),
    ("TFL409", "lock-tags-not-allowed"),
];

/// The input that a case stands for. Its texts are kept by the caller.
struct Texts {
    policy: Option<String>,
    identity: Vec<String>,
    boundary: Option<String>,
    arn: String,
    userid: String,
    kms: Option<String>,
}

impl Texts {
    fn of(case: &Value) -> Texts {
        let text = |value: &Value| (!value.is_null()).then(|| value.to_string());
        let kms = case["action"].as_str().unwrap().starts_with("kms:");
        let policies = case["identityPolicies"].as_array().unwrap();
        Texts {
            policy: if kms { None } else { text(&case["resourcePolicy"]) },
            identity: policies.iter().map(Value::to_string).collect(),
            boundary: text(&case["permissionsBoundary"]),
            arn: case["context"]["aws:PrincipalArn"].as_str().unwrap().to_owned(),
            userid: case["context"]["aws:userid"].as_str().unwrap_or("AROAEXAMPLE:s").replace(":s", ""),
            kms: kms.then(|| case["resourcePolicy"].to_string()),
        }
    }

    fn input(&self, rule: &str) -> AccessInput<'_> {
        let mut input = with(input(), vec![]);
        let owner = self.arn.split(':').nth(4).unwrap();
        input.accounts = vec![owner];
        if rule == "cross-account-one-sided" {
            input.roles.runners = vec![&self.arn];
        }
        input.states[0].lock_tags = rule == "lock-tags-not-allowed";
        if let Some(policy) = &self.policy {
            input.bucket.policy = Reading::Known(policy);
        }
        if let Some(policy) = &self.kms {
            let arn = "arn:aws:kms:eu-west-1:111122223333:key/k1";
            let grants = Reading::Known(vec![GrantInput::default()]);
            input.bucket.kms = Some(KmsInput { arn, policy: Reading::Known(policy), grants });
        }
        // An attacker of another account is not among those that can be read.
        if !self.arn.contains("attacker") {
            input.principals = Reading::Known(vec![PrincipalInput {
                arn: &self.arn,
                unique_id: &self.userid,
                policies: self.identity.iter().map(|text| NamedPolicy { name: "main", text }).collect(),
                boundary: self.boundary.as_deref().map_or(Reading::Absent, Reading::Known),
                ..PrincipalInput::default()
            }]);
        }
        input
    }
}

#[test]
fn every_rule_fires_on_its_bad_case_and_not_on_its_good_one() {
    let text = include_str!("../../../../fixtures/policy/rule-cases.json");
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let (number, side) = id.split_once('/').unwrap();
        let rule = RULES.iter().find(|(known, _)| *known == number).unwrap().1;
        let texts = Texts::of(case);
        let report = judge(&texts.input(rule));
        let fires = ids(&report).contains(&rule);
        if fires != (side == "bad") {
            wrong.push(format!("{id} {rule}: {:?}", ids(&report)));
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert_eq!(cases.len(), 70);
    assert!(RULES.iter().all(|(_, rule)| rules::ALL.iter().any(|known| known.id == *rule)));
}

/// Without principals, the bucket policy's rules fire as well: on made-up ones.
#[test]
fn rules_about_the_bucket_policy_need_no_principals() {
    let text = include_str!("../../../../fixtures/policy/rule-cases.json");
    let cases: Vec<Value> = serde_json::from_str(text).unwrap();
    let needs_principals = ["TFL111", "TFL113"];
    let mut wrong = Vec::new();
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let (number, side) = id.split_once('/').unwrap();
        let about_bucket =
            number.starts_with("TFL1") || number.starts_with("TFL2") || number.starts_with("TFL3");
        if !about_bucket || needs_principals.contains(&number) {
            continue;
        }
        let rule = RULES.iter().find(|(known, _)| *known == number).unwrap().1;
        let texts = Texts::of(case);
        let mut input =
            AccessInput { principals: Reading::NotAsked, accounts: Vec::new(), ..texts.input(rule) };
        // The case's policy exempts the runners alone.
        if number == "TFL114" {
            input.roles.break_glass.clear();
        }
        let report = judge(&input);
        if ids(&report).contains(&rule) != (side == "bad") {
            wrong.push(format!("{id} {rule}: {:?}", ids(&report)));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
