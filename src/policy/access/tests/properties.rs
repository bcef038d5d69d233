//! What holds for every policy.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::policy::access::Holder;

/// Pieces that policies about locks are made of, and some that are none.
fn statement() -> impl Strategy<Value = String> {
    let effect = prop_oneof![Just("Allow"), Just("Deny"), Just("deny")];
    let principal = prop_oneof![
        Just(r#""Principal": "*""#.to_owned()),
        Just(format!(r#""Principal": {{"AWS": "{APPLY}"}}"#)),
        Just(r#""Principal": {"AWS": "arn:aws:iam::111122223333:root"}"#.to_owned()),
        Just(format!(r#""NotPrincipal": {{"AWS": ["{APPLY}"]}}"#)),
    ];
    let action = prop_oneof![
        Just("s3:*"),
        Just("s3:DeleteObject"),
        Just("s3:DeleteObject*"),
        Just("s3:PutObject"),
        Just("s3:PutBucketPolicy"),
        Just("*"),
    ];
    let resource = prop_oneof![
        Just("*"),
        Just("arn:aws:s3:::acme-tfstate"),
        Just("arn:aws:s3:::acme-tfstate/*"),
        Just("arn:aws:s3:::acme-tfstate/*.tflock"),
        Just("arn:aws:s3:::acme-tfstate/prod/*"),
        Just("arn:aws:s3:::acme-tfstate/${aws:PrincipalTag/team}/*"),
    ];
    let condition = prop_oneof![
        Just(String::new()),
        Just(format!(r#", "Condition": {{"ArnNotLike": {{"aws:PrincipalArn": "{APPLY}"}}}}"#)),
        Just(r#", "Condition": {"StringEquals": {"aws:PrincipalTag/team": "x"}}"#.to_owned()),
        Just(r#", "Condition": {"Null": {"s3:if-none-match": "true"}}"#.to_owned()),
        Just(r#", "Condition": {"Null": {"s3:if-match": "true"}}"#.to_owned()),
        Just(r#", "Condition": {"BoolIfExists": {"aws:MultiFactorAuthPresent": false}}"#.to_owned()),
        Just(r#", "Condition": {"Bogus": {"x": 1}}"#.to_owned()),
    ];
    (effect, principal, action, resource, condition).prop_map(|(effect, principal, action, resource, condition)| {
        format!(
            r#"{{"Effect": "{effect}", {principal}, "Action": "{action}", "Resource": "{resource}"{condition}}}"#
        )
    })
}

fn policy(statements: &[String]) -> String {
    format!(r#"{{"Version": "2012-10-17", "Statement": [{}]}}"#, statements.join(", "))
}

fn world<'a>(bucket: &'a str, identity: &'a str) -> AccessInput<'a> {
    with(
        with_policy(input(), bucket),
        vec![principal(ADMIN, EVERYTHING), principal(APPLY, LOCKER), principal(PLAN, identity)],
    )
}

/// Who is in which set of which lock. Not `cannot_release`: that grows when rights go.
fn members(report: &AccessReport) -> BTreeSet<(String, &'static str, String)> {
    let mut found = BTreeSet::new();
    for group in &report.access.locks {
        let sets: [(&str, &[Holder]); 4] = [
            ("delete", &group.can_delete),
            ("delete_version", &group.can_delete_version),
            ("overwrite", &group.can_overwrite),
            ("create", &group.can_create),
        ];
        for key in &group.keys {
            for (set, holders) in sets {
                found.extend(holders.iter().map(|holder| (key.clone(), set, holder.principal.clone())));
            }
        }
    }
    for holder in &report.access.can_strip {
        found.extend(holder.actions.iter().map(|action| (action.clone(), "strip", holder.principal.clone())));
    }
    found
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let words = prop_oneof![
        Just("Statement".to_owned()),
        Just("Effect".to_owned()),
        Just("Deny".to_owned()),
        Just("Principal".to_owned()),
        Just("AWS".to_owned()),
        Just("Action".to_owned()),
        Just("Resource".to_owned()),
        Just("Condition".to_owned()),
        Just("s3:*".to_owned()),
        Just("*".to_owned()),
        Just("aws:PrincipalArn".to_owned()),
        Just("ArnNotLike".to_owned()),
        Just("arn:aws:iam::111122223333:oidc-provider/x".to_owned()),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        words.clone().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((words.clone(), inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_json_is_judged(bucket in any_json(), identity in any_json(), trust in any_json()) {
        let (bucket, identity, trust) = (bucket.to_string(), identity.to_string(), trust.to_string());
        let mut input = world(&bucket, &identity);
        let odd = PrincipalInput { trust: Reading::Known(&trust), ..principal(APPLY, &identity) };
        input.principals = Reading::Known(vec![odd]);
        prop_assert_eq!(judge(&input), judge(&input));
    }

    #[test]
    fn any_text_is_judged(bucket in ".{0,40}", arn in ".{0,30}", key in ".{0,20}") {
        let mut input = with_policy(input(), &bucket);
        input.states = vec![state(&key)];
        input.roles.runners = vec![&arn];
        input.principals = Reading::Known(vec![principal(&arn, &bucket)]);
        let _ = judge(&input);
    }

    #[test]
    fn a_deny_more_puts_nobody_into_a_set(
        statements in prop::collection::vec(statement(), 0..4),
        identity in prop::collection::vec(statement(), 0..3),
        more in statement(),
    ) {
        let more = more.replace("\"Allow\"", "\"Deny\"").replace("\"deny\"", "\"Deny\"");
        let identity = policy(&identity);
        let before = policy(&statements);
        let mut all = statements;
        all.push(more);
        let after = policy(&all);
        let (before, after) = (judge(&world(&before, &identity)), judge(&world(&after, &identity)));
        let (before, after) = (members(&before), members(&after));
        let new: Vec<_> = after.difference(&before).collect();
        prop_assert!(new.is_empty(), "{:?}", new);
    }
}
