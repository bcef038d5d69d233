//! For any keys, roles and present statements: either all is as it must be, or nothing is written.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::testing::{role, state, wanted};
use super::*;
use crate::policy::{Compiled, Context, Layer, Policies, Principal, Request, Verdict, decide};

const BUCKET: &str = "arn:aws:s3:::acme-tfstate";

fn keys() -> impl Strategy<Value = Vec<State>> {
    let key = select(vec![
        "terraform.tfstate",
        "prod/terraform.tfstate",
        "prod/net/terraform.tfstate",
        "team a/é.tfstate",
        "odd*key",
        "what?/x",
        "a${b}/c",
        "x.tflock",
        "deep/er/and/deeper/terraform.tfstate",
    ]);
    let prefix = select(vec!["env:", "", "spaces", "w/s"]);
    let one = (key, prefix, any::<bool>()).prop_map(|(key, prefix, acl)| State {
        workspace_prefix: prefix.to_owned(),
        acl: acl.then(|| "private".to_owned()),
        ..state(key)
    });
    vec(one, 1..5)
}

fn roles() -> impl Strategy<Value = Roles> {
    let arns = || {
        let mut arns: Vec<String> = ["ci/a", "ci/b*", "x", "*-admin", "sso/*Ops_?"].map(role).to_vec();
        arns.push("arn:aws:iam::444455556666:role/far".to_owned());
        arns.push("arn:aws:iam::111122223333:user/bot".to_owned());
        subsequence(arns, 0..4)
    };
    (arns(), arns(), arns(), arns()).prop_map(|(runners, plan, break_glass, state_admin)| Roles {
        runners,
        plan,
        break_glass,
        state_admin,
    })
}

fn statement() -> impl Strategy<Value = Value> {
    let sid = select(vec![None, Some("Tls"), Some("TflockCreateOnlyByRunners"), Some("CrossAccountRunner")]);
    let principal = select(vec![
        json!("*"),
        json!({"AWS": "*"}),
        json!({"AWS": role("ci/a")}),
        json!({"AWS": ["444455556666", role("old")]}),
        json!({"Service": "logging.s3.amazonaws.com"}),
    ]);
    let action = select(vec![
        json!("s3:*"),
        json!("s3:DeleteObject"),
        json!(["s3:GetObject", "s3:PutObject"]),
        json!("s3:PutBucketPolicy"),
        json!("s3:Put*"),
    ]);
    let resource = select(vec![
        json!(BUCKET),
        json!([BUCKET, format!("{BUCKET}/*")]),
        json!(format!("{BUCKET}/*.tflock")),
        json!(format!("{BUCKET}/logs/*")),
        json!(format!("{BUCKET}/${{aws:username}}/*")),
    ]);
    let condition = select(vec![
        Value::Null,
        json!({"Bool": {"aws:SecureTransport": false}}),
        json!({"ArnNotLike": {"aws:PrincipalArn": [role("ci/a"), role("state-admin")]}}),
        json!({"StringEquals": {"aws:PrincipalOrgID": "o-1"}}),
        json!({"NumericLessThan": {"s3:TlsVersion": 1}}),
        json!({"Odd": {"x": "y"}}),
    ]);
    let effect = select(vec!["Allow", "Deny", "Allow"]);
    (sid, effect, principal, action, resource, condition).prop_map(
        |(sid, effect, principal, action, resource, condition)| {
            let mut statement =
                json!({"Effect": effect, "Principal": principal, "Action": action, "Resource": resource});
            if let Some(sid) = sid {
                statement["Sid"] = json!(sid);
            }
            if !condition.is_null() {
                statement["Condition"] = condition;
            }
            statement
        },
    )
}

fn any_wanted() -> impl Strategy<Value = Wanted> {
    let version = select(vec![None, Some("2008-10-17"), Some("2012-10-17")]);
    let present = proptest::option::of((vec(statement(), 0..4), version));
    (keys(), prop_oneof![roles(), Just(wanted().roles)], present, any::<bool>()).prop_map(
        |(states, roles, present, versioned)| {
            let existing = present.map(|(statements, version)| {
                let mut policy = json!({"Statement": statements});
                if let Some(version) = version {
                    policy["Version"] = json!(version);
                }
                policy.to_string()
            });
            Wanted { states, roles, existing, versioned, ..wanted() }
        },
    )
}

fn statements(policy: &Value) -> Vec<Value> {
    policy["Statement"].as_array().unwrap().clone()
}

/// Asks the evaluator without any part of the proof.
fn verdict(
    policy: &Value,
    own: &[Value],
    arn: &str,
    action: &str,
    resource: &str,
    context: Context,
) -> Verdict {
    let compile = |policy: &Value| Compiled::new(&policy.to_string()).unwrap();
    let own: Vec<Compiled> = own.iter().map(compile).collect();
    let bucket = compile(policy);
    let request = Request::new(Principal::parse(arn).unwrap(), action, resource, context)
        .owned_by("111122223333")
        .with_principal_keys();
    let policies =
        Policies { identity: Layer::of(&own), resource: Layer::Known(vec![&bucket]), ..Policies::default() };
    decide(&request, &policies).verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn it_holds_or_it_is_refused(wanted in any_wanted()) {
        let Ok(advice) = recommend(&wanted) else { return Ok(()) };
        let policy = &advice.bucket_policy;

        // Nothing of theirs is lost, changed or moved.
        if let Some(existing) = &wanted.existing {
            let theirs = statements(&serde_json::from_str(existing).unwrap());
            let new = statements(policy);
            prop_assert_eq!(&new[..theirs.len()], &theirs[..]);
        }
        prop_assert!(policy.to_string().len() <= BUCKET_POLICY_LIMIT);
        let mut sids: Vec<String> = statements(policy)
            .iter()
            .filter_map(|statement| statement["Sid"].as_str().map(str::to_owned))
            .filter(|sid| sid.starts_with("Tflock") && sid.ends_with("Runners"))
            .collect();
        let all = sids.len();
        sids.dedup();
        let doubled = wanted.existing.as_deref().unwrap_or("").matches("TflockCreateOnlyByRunners").count() > 1;
        prop_assert!(doubled || sids.len() == all);

        // Nobody else, runners yes.
        let everything = [json!({"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}})];
        for state in &wanted.states {
            let lock = format!("{BUCKET}/{}.tflock", state.key);
            for (action, context) in [
                ("s3:DeleteObject", Context::of_unknown_origin()),
                ("s3:DeleteObjectVersion", Context::of_unknown_origin()),
                ("s3:PutObject", Context::of_unknown_origin()),
            ] {
                let found = verdict(policy, &everything, &role("nobody/knows"), action, &lock, context);
                prop_assert_eq!(found, Verdict::ExplicitlyDenied);
            }
            for runner in wanted.roles.runners.iter().filter(|arn| !arn.contains(['*', '?'])) {
                let sent = || Context::of_unknown_origin().with("aws:SecureTransport", "true").with("s3:TlsVersion", "1.3");
                let create = sent().with("s3:if-none-match", "*");
                let delete = sent().without("s3:if-match");
                let free = sent().without("s3:if-none-match");
                prop_assert_eq!(verdict(policy, &advice.runner, runner, "s3:PutObject", &lock, create), Verdict::Allowed);
                prop_assert_eq!(verdict(policy, &advice.runner, runner, "s3:DeleteObject", &lock, delete), Verdict::Allowed);
                prop_assert_eq!(
                    verdict(policy, &everything, runner, "s3:PutObject", &lock, free.clone()),
                    Verdict::ExplicitlyDenied
                );
                let path = format!("{BUCKET}/{}", state.key);
                prop_assert_eq!(verdict(policy, &advice.runner, runner, "s3:PutObject", &path, free), Verdict::Allowed);
            }
        }

        // Doing it again changes nothing.
        let again = recommend(&Wanted { existing: Some(policy.to_string()), ..wanted });
        let again = again.map_err(|refusal| TestCaseError::fail(refusal.to_string()))?;
        prop_assert_eq!(&again.bucket_policy, policy);
        prop_assert!(!again.changed);
    }

    #[test]
    fn no_present_policy_makes_it_panic(text in "\\PC{0,60}|\\{\"Statement\": ?[\\[{\"}\\],:a-zA-Z*]{0,30}\\}?") {
        let _ = recommend(&Wanted { existing: Some(text), ..wanted() });
    }

    #[test]
    fn every_policy_has_an_hcl_form_or_an_error(statements in vec(statement(), 0..4)) {
        let text = hcl("b", &json!({"Version": "2012-10-17", "Statement": statements}));
        prop_assert!(text.is_ok());
    }
}
