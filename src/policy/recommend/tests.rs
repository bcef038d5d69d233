//! Whole recommendations.

use serde_json::{Value, json};

use super::testing::{role, state, wanted};
use super::*;

fn sids(policy: &Value) -> Vec<&str> {
    policy["Statement"].as_array().unwrap().iter().map(|one| one["Sid"].as_str().unwrap_or("")).collect()
}

/// With every list in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(Value::to_string);
            items.into()
        }
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), sorted(value))).collect(),
        other => other.clone(),
    }
}

fn refused(wanted: &Wanted) -> Refusal {
    recommend(wanted).expect_err("it must be refused")
}

#[test]
fn without_a_present_policy_it_is_the_recommended_one() {
    let mut wanted = wanted();
    wanted.roles.runners.push("arn:aws:iam::444455556666:role/tf-apply".to_owned());
    let advice = recommend(&wanted).unwrap();
    let published: Value =
        serde_json::from_str(include_str!("../../../fixtures/policy/recommended-bucket-policy.json"))
            .unwrap();
    let first_five = |policy: &Value| -> Vec<Value> {
        policy["Statement"].as_array().unwrap().iter().take(5).map(sorted).collect()
    };
    assert_eq!(first_five(&advice.bucket_policy), first_five(&published));
    assert_eq!(
        sids(&advice.bucket_policy)[5..],
        ["CrossAccountList", "CrossAccountRead", "CrossAccountRunner", "CrossAccountLock"]
    );
    assert!(advice.changed);
    assert_eq!(advice.proven, 274);
}

#[test]
fn the_sets_say_what_changes() {
    let advice = recommend(&wanted()).unwrap();
    let shown: Vec<String> = advice
        .reach
        .iter()
        .map(|reach| {
            let four = |four: &sets::Four| {
                let by = match four.strip_actions.as_slice() {
                    all if all.len() == 7 => String::new(),
                    some => some.iter().map(|action| format!(" {action}")).collect(),
                };
                format!("{} / {} / {} / {}{by}", four.delete, four.overwrite, four.create, four.strip)
            };
            let who = reach.who.split(" (").next().unwrap();
            format!("{who}: {} -> {}", four(&reach.before), four(&reach.after))
        })
        .collect();
    let all = "yes / yes / yes / yes";
    // What the audit takes for stripping, too, and the bucket policy leaves to its account.
    let rest = "yes s3:PutBucketPublicAccessBlock s3:PutBucketOwnershipControls";
    assert_eq!(
        shown,
        [
            format!("{}: {all} -> yes / no / yes / {rest}", role("ci/tf-apply")),
            format!("{}: {all} -> yes / no / yes / {rest}", role("ci/tf-plan")),
            // A version's deletion is only forbidden where the bucket is known to be versioned.
            format!("{}: {all} -> yes / no / no / yes", role("break-glass")),
            format!("{}: {all} -> no / no / no / yes", role("state-admin")),
            format!("an administrator's role: {all} -> no / no / no / {rest}"),
            format!("an administrator by Identity Center: {all} -> no / no / no / {rest}"),
            format!("an administrator's user: {all} -> no / no / no / {rest}"),
            // S3 lets it put and delete the policy whatever is denied.
            format!(
                "the account's root user: {all} -> no / no / no / yes s3:PutBucketPolicy s3:DeleteBucketPolicy{}",
                rest.trim_start_matches("yes")
            ),
            "a role of another account: no / no / no / no -> no / no / no / no".to_owned(),
            "an anonymous request: no / no / no / no -> no / no / no / no".to_owned(),
        ]
    );
    let versioned = recommend(&Wanted { versioned: true, ..wanted() }).unwrap();
    assert_eq!(versioned.reach[2].after.delete.to_string(), "depends on s3:if-match");
}

#[test]
fn the_runner_may_write_states_and_the_plan_role_only_locks() {
    let advice = recommend(&wanted()).unwrap();
    assert_eq!(
        advice.runner,
        [json!({"Version": "2012-10-17", "Statement": [
            {"Sid": "StateBucket", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::acme-tfstate"},
            {"Sid": "State", "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": [
                "arn:aws:s3:::acme-tfstate/prod/terraform.tfstate",
                "arn:aws:s3:::acme-tfstate/env:/*/prod/terraform.tfstate",
                "arn:aws:s3:::acme-tfstate/stage/terraform.tfstate",
                "arn:aws:s3:::acme-tfstate/env:/*/stage/terraform.tfstate",
            ]},
            {"Sid": "StateLock", "Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
             "Resource": [
                "arn:aws:s3:::acme-tfstate/prod/terraform.tfstate.tflock",
                "arn:aws:s3:::acme-tfstate/env:/*/prod/terraform.tfstate.tflock",
                "arn:aws:s3:::acme-tfstate/stage/terraform.tfstate.tflock",
                "arn:aws:s3:::acme-tfstate/env:/*/stage/terraform.tfstate.tflock",
            ]},
        ]})]
    );
    assert_eq!(advice.plan[0]["Statement"][1]["Action"], json!(["s3:GetObject"]));
    assert_eq!(advice.plan[0]["Statement"][2], advice.runner[0]["Statement"][2]);
    assert_eq!(advice.break_glass[0]["Statement"][1]["Action"], json!(["s3:GetObject", "s3:DeleteObject"]));
}

#[test]
fn keys_tables_acl_and_tags_ask_for_more() {
    let key = "arn:aws:kms:eu-west-1:111122223333:key/k1".to_owned();
    let table = "arn:aws:dynamodb:eu-west-1:111122223333:table/locks".to_owned();
    let mut wanted = Wanted { kms_keys: vec![key.clone()], tables: vec![table.clone()], ..wanted() };
    wanted.states[0].acl = Some("bucket-owner-full-control".to_owned());
    wanted.states[0].encryption = Encryption::Kms("alias/state".to_owned());
    wanted.states[1].lock_tags = true;
    let advice = recommend(&wanted).unwrap();
    let statements = advice.runner[0]["Statement"].as_array().unwrap();
    assert_eq!(statements[1]["Action"], json!(["kms:GenerateDataKey", "kms:Decrypt"]));
    assert_eq!(statements[1]["Resource"], json!(key));
    assert_eq!(statements[2]["Resource"], json!(table));
    assert_eq!(statements[3]["Action"], json!(["s3:GetObject", "s3:PutObject", "s3:PutObjectAcl"]));
    assert_eq!(
        statements[4]["Action"],
        json!(["s3:GetObject", "s3:PutObject", "s3:PutObjectAcl", "s3:PutObjectTagging", "s3:DeleteObject"])
    );
    wanted.kms_keys.clear();
    assert_eq!(refused(&wanted).gate, Gate::RoleUnusable);
}

const TLS: &str = r#"{"Sid": "Tls", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
    "Resource": ["arn:aws:s3:::acme-tfstate", "arn:aws:s3:::acme-tfstate/*"],
    "Condition": {"Bool": {"aws:SecureTransport": false}}}"#;

fn existing(statements: &str) -> Wanted {
    let existing = format!(r#"{{"Version": "2012-10-17", "Id": "theirs", "Statement": [{statements}]}}"#);
    Wanted { existing: Some(existing), ..wanted() }
}

#[test]
fn a_foreign_statement_stays_word_for_word_and_first() {
    let advice = recommend(&existing(TLS)).unwrap();
    let theirs: Value = serde_json::from_str(TLS).unwrap();
    assert_eq!(advice.bucket_policy["Id"], "theirs");
    assert_eq!(advice.bucket_policy["Statement"][0], theirs);
    assert_eq!(sids(&advice.bucket_policy).len(), 6);
}

#[test]
fn doing_it_twice_changes_nothing_and_new_roles_are_brought_in() {
    let first = recommend(&existing(TLS)).unwrap();
    let text = first.bucket_policy.to_string();
    let again = recommend(&Wanted { existing: Some(text.clone()), ..wanted() }).unwrap();
    assert_eq!(again.bucket_policy, first.bucket_policy);
    assert!(!again.changed);
    let mut more = Wanted { existing: Some(text), ..wanted() };
    more.roles.runners.push(role("ci/other"));
    let more = recommend(&more).unwrap();
    assert_eq!(sids(&more.bucket_policy), sids(&first.bucket_policy));
    assert!(more.notes.iter().any(|note| note.contains("TflockCreateOnlyByRunners")), "{:?}", more.notes);
}

#[test]
fn a_foreign_statement_with_our_sid_keeps_it() {
    let theirs = TLS.replace("\"Tls\"", "\"TflockCreateOnlyConditionally\"");
    let advice = recommend(&existing(&theirs)).unwrap();
    assert_eq!(advice.bucket_policy["Statement"][0], serde_json::from_str::<Value>(&theirs).unwrap());
    assert!(sids(&advice.bucket_policy).contains(&"TflockCreateOnlyConditionally2"));
    let again = Wanted { existing: Some(advice.bucket_policy.to_string()), ..wanted() };
    assert!(!recommend(&again).unwrap().changed);
}

#[test]
fn who_was_let_in_across_accounts_is_not_put_out() {
    let mut first = wanted();
    first.roles.runners.push("arn:aws:iam::444455556666:role/one".to_owned());
    let text = recommend(&first).unwrap().bucket_policy.to_string();
    let mut second = Wanted { existing: Some(text), ..wanted() };
    second.roles.runners.push("arn:aws:iam::777788889999:role/two".to_owned());
    let advice = recommend(&second).unwrap();
    let sids = sids(&advice.bucket_policy);
    assert!(sids.contains(&"CrossAccountRunner") && sids.contains(&"CrossAccountRunner2"), "{sids:?}");
    let one = advice.reach.iter().find(|reach| reach.who.ends_with(":role/one")).unwrap();
    assert_eq!((one.before.delete.to_string(), one.after.delete.to_string()), ("yes".into(), "no".into()));
}

#[test]
fn present_statements_that_stop_a_runner_are_named() {
    let mut locked = existing(
        r#"{"Sid": "NoDelete", "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject",
            "Resource": "arn:aws:s3:::acme-tfstate/*"}"#,
    );
    let refusal = refused(&locked);
    assert_eq!(refusal.gate, Gate::NotProven);
    assert!(refusal.reason.contains("tf-apply: s3:DeleteObject without If-Match"), "{refusal}");
    assert!(refusal.reason.contains("bucket policy, statement `NoDelete` denies"), "{refusal}");

    let endpoint = r#"{"Sid": "Vpc", "Effect": "Deny", "Principal": "*", "Action": "s3:*Object",
        "Resource": "arn:aws:s3:::acme-tfstate/*", "Condition": {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}}"#;
    locked = existing(endpoint);
    let refusal = refused(&locked);
    assert!(refusal.reason.contains("depends on aws:SourceVpce"), "{refusal}");
    assert!(refusal.next.contains("--context"), "{}", refusal.next);
    locked.context.push(("aws:SourceVpce".to_owned(), "vpce-1".to_owned()));
    assert!(recommend(&locked).is_ok());
}

#[test]
fn what_the_present_policy_grants_a_named_role_beyond_ours_is_its_owners_affair() {
    let wide = format!(
        r#"{{"Effect": "Allow", "Principal": {{"AWS": "{}"}}, "Action": "s3:*", "Resource": "arn:aws:s3:::acme-tfstate/*"}}"#,
        role("ci/tf-plan")
    );
    assert!(recommend(&existing(&wide)).is_ok());
}

#[test]
fn nobody_is_locked_out() {
    let mut nobody = wanted();
    nobody.roles.state_admin.clear();
    nobody.roles.break_glass.clear();
    assert_eq!(refused(&nobody).gate, Gate::LocksOut);

    let by_theirs = existing(
        r#"{"Effect": "Deny", "Principal": "*", "Action": "s3:PutBucketPolicy", "Resource": "arn:aws:s3:::acme-tfstate"}"#,
    );
    let refusal = refused(&by_theirs);
    assert_eq!(refusal.gate, Gate::LocksOut);
    assert!(refusal.reason.contains("s3:PutBucketPolicy"), "{refusal}");

    let caller = |arn: &str| recommend(&Wanted { caller: Some(arn.to_owned()), ..wanted() });
    assert_eq!(caller(&role("ci/tf-apply")).unwrap_err().gate, Gate::LocksOut);
    assert_eq!(
        caller("arn:aws:sts::111122223333:assumed-role/somebody/me").unwrap_err().gate,
        Gate::LocksOut
    );
    assert!(caller(&role("state-admin")).is_ok());
    assert!(caller("arn:aws:sts::111122223333:assumed-role/state-admin/me").is_ok());
    assert!(caller("arn:aws:iam::111122223333:root").is_ok());
    assert_eq!(caller("me").unwrap_err().gate, Gate::RoleUnusable);
}

#[test]
fn who_comes_by_identity_center_is_the_role_that_a_pattern_names_and_no_other() {
    let path = "aws-reserved/sso.amazonaws.com";
    let caller = |admin: &str, arn: &str| {
        let mut wanted = Wanted { caller: Some(arn.to_owned()), ..wanted() };
        wanted.roles.state_admin = vec![role(admin)];
        recommend(&wanted).map(|_| ()).map_err(|refusal| refusal.gate)
    };
    let session =
        "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_StateAdmin_0123456789abcdef/ada@example.com";
    let by_region = format!("{path}/eu-west-1/AWSReservedSSO_StateAdmin_0123456789abcdef");
    for admin in [
        format!("{path}/AWSReservedSSO_StateAdmin_*"),
        format!("{path}/*/AWSReservedSSO_StateAdmin_*"),
        format!("{path}/eu-west-1/AWSReservedSSO_StateAdmin_????????????????"),
        by_region.clone(),
        "*AWSReservedSSO_StateAdmin_*".to_owned(),
    ] {
        assert_eq!(caller(&admin, session), Ok(()), "{admin}");
    }
    // The role's ARN, with the path that Identity Center gives it.
    assert_eq!(caller(&format!("{path}/*AWSReservedSSO_StateAdmin_*"), &role(&by_region)), Ok(()));
    // Another permission set, another account, a path that the pattern does not hold.
    let pattern = format!("{path}/*/AWSReservedSSO_StateAdmin_*");
    let other = session.replace("StateAdmin", "ReadOnly");
    assert_eq!(caller(&pattern, &other), Err(Gate::LocksOut));
    assert_eq!(caller(&pattern, &session.replace("111122223333", "444455556666")), Err(Gate::LocksOut));
    let without_region = role(&format!("{path}/AWSReservedSSO_StateAdmin_0123456789abcdef"));
    assert_eq!(caller(&pattern, &without_region), Err(Gate::LocksOut));
    // A pattern that would hold the name alone names nobody who comes so: the path is always there.
    for admin in ["AWS*_*", "ci/*AWSRes*", "A*/AWS*_*"] {
        assert_eq!(caller(admin, session), Err(Gate::LocksOut), "{admin}");
        assert_eq!(caller(admin, &role(&by_region)), Err(Gate::LocksOut), "{admin}");
    }
    assert_eq!(caller("*StateAdmin_*", session), Ok(()), "`*` holds the path, too");
    let pathless = role("AWSReservedSSO_StateAdmin_0123456789abcdef");
    assert_eq!(caller("AWS*_*", &pathless), Err(Gate::RoleUnusable));
    // A session is no role that a policy can name.
    let mut wanted = wanted();
    wanted.roles.state_admin = vec![session.to_owned()];
    assert_eq!(refused(&wanted).gate, Gate::RoleUnusable);
}

#[test]
fn a_role_of_identity_center_is_named_with_its_path_or_refused() {
    let names: [fn(&mut Roles) -> &mut Vec<String>; 4] =
        [|r| &mut r.runners, |r| &mut r.plan, |r| &mut r.break_glass, |r| &mut r.state_admin];
    let path = "aws-reserved/sso.amazonaws.com";
    for list in names {
        let named = |name: &str| {
            let mut wanted = wanted();
            *list(&mut wanted.roles) = vec![role(name)];
            recommend(&wanted).map(|_| ())
        };
        for (name, set) in [
            ("AWSReservedSSO_Ops_0123456789abcdef", "AWSReservedSSO_Ops_0123456789abcdef"),
            ("AWSReservedSSO_Ops_*", "AWSReservedSSO_Ops_*"),
            ("aws-reserved/AWSReservedSSO_Ops_*", "AWSReservedSSO_Ops_*"),
            ("ci/*AWSReservedSSO_Ops_*", "AWSReservedSSO_Ops_*"),
            ("aws-reserved/sso.amazonaws.com?AWSReservedSSO_Ops_*", "AWSReservedSSO_Ops_*"),
        ] {
            let refusal = named(name).unwrap_err();
            assert_eq!(refusal.gate, Gate::RoleUnusable, "{name}");
            let form = format!("write `{}`, or", role(&format!("{path}/*{set}")));
            assert!(refusal.next.starts_with(&form), "{}", refusal.next);
        }
        for name in [
            format!("{path}/AWSReservedSSO_Ops_0123456789abcdef"),
            format!("{path}/eu-west-1/AWSReservedSSO_Ops_*"),
            format!("{path}/*AWSReservedSSO_Ops_*"),
            "aws-reserved/*/AWSReservedSSO_Ops_*".to_owned(),
            "*AWSReservedSSO_Ops_*".to_owned(),
        ] {
            assert_eq!(named(&name), Ok(()), "{name}");
        }
    }
}

#[test]
fn roles_that_can_not_be_used_are_refused_with_the_reason() {
    let runner = |arn: &str| {
        let mut wanted = wanted();
        wanted.roles.runners = vec![arn.to_owned()];
        recommend(&wanted)
    };
    for (arn, why) in [
        ("arn:aws:sts::111122223333:assumed-role/tf-apply/run", "is a session"),
        ("arn:aws:iam::*:role/tf-apply", "names no role"),
        ("arn:aws:iam::111122223333:role/*", "every role"),
        ("arn:aws:iam::111122223333:root", "names no role"),
        ("tf-apply", "is no ARN"),
        ("arn:aws:iam::111122223333:role/break-glass", "is a break-glass role"),
        ("arn:aws:iam::444455556666:role/tf-*", "whole ARNs"),
    ] {
        let refusal = runner(arn).unwrap_err();
        assert_eq!(refusal.gate, Gate::RoleUnusable, "{arn}");
        assert!(refusal.reason.contains(why), "{refusal}");
    }
    assert!(runner("arn:aws:iam::111122223333:role/ci/tf-*").is_ok());
    // It would exempt the administrators of the account.
    assert_eq!(runner("arn:aws:iam::111122223333:role/*-admin").unwrap_err().gate, Gate::NotProven);
    let mut wanted = wanted();
    wanted.roles.state_admin = vec!["arn:aws:iam::444455556666:role/admin".to_owned()];
    assert!(refused(&wanted).reason.contains("own account"));
}

#[test]
fn policies_that_can_not_be_kept_are_refused() {
    let with = |text: &str| Wanted { existing: Some(text.to_owned()), ..wanted() };
    for text in [
        "{",
        "[]",
        "{}",
        r#"{"Statement": ["x"]}"#,
        r#"{"Statement": [], "Statement": []}"#,
        r#"{"Statement": [{"Effect": "Deny", "Effect": "Allow"}]}"#,
        r#"{"Statement": [{"Effect": "Allow", "Condition": {"NumericEquals": {"k": 1.50}}}]}"#,
    ] {
        assert_eq!(refused(&with(text)).gate, Gate::NotMergeable, "{text}");
    }
    let printed =
        serde_json::json!({"Policy": format!(r#"{{"Version": "2012-10-17", "Statement": [{TLS}]}}"#)});
    assert_eq!(sids(&recommend(&with(&printed.to_string())).unwrap().bucket_policy)[0], "Tls");
}

#[test]
fn an_old_version_is_kept_unless_a_key_needs_the_new_one() {
    let old = |statement: &str| Some(format!(r#"{{"Version": "2008-10-17", "Statement": [{statement}]}}"#));
    let kept = recommend(&Wanted { existing: old(TLS), ..wanted() }).unwrap();
    assert_eq!(kept.bucket_policy["Version"], "2008-10-17");
    let mut odd = wanted();
    odd.states.push(state("what?/terraform.tfstate"));
    odd.roles.runners.push("arn:aws:iam::444455556666:role/tf".to_owned());
    let raised = recommend(&Wanted { existing: old(TLS), ..odd.clone() }).unwrap();
    assert_eq!(raised.bucket_policy["Version"], "2012-10-17");
    assert!(raised.notes.iter().any(|note| note.contains("raised")));
    let text = TLS.replace("acme-tfstate/*", "acme-tfstate/${aws:username}");
    let refusal = refused(&Wanted { existing: old(&text), ..odd });
    assert_eq!(refusal.gate, Gate::NotMergeable);
    assert!(refusal.reason.contains("turn from text into a variable"), "{refusal}");
}

#[test]
fn what_is_too_long_is_split_then_joined_then_refused() {
    let many = |count: usize, name: &dyn Fn(usize) -> String| {
        let states = (0..count).map(|n| state(&name(n))).collect();
        Wanted { states, ..wanted() }
    };
    let split = recommend(&many(60, &|n| format!("team-{n:03}/network/terraform.tfstate"))).unwrap();
    assert!((2..=POLICIES_OF_A_ROLE).contains(&split.runner.len()), "{}", split.runner.len());
    for document in split.runner.iter().chain(&split.plan) {
        assert!(document.to_string().len() <= MANAGED_POLICY_LIMIT);
    }
    let lists = |document: &Value| {
        document["Statement"].as_array().unwrap().iter().filter(|one| one["Sid"] == "StateBucket").count()
    };
    assert_eq!(split.runner.iter().map(lists).sum::<usize>(), 1);

    let joined = recommend(&many(240, &|n| format!("team-{}/s{n:03}/terraform.tfstate", n % 4))).unwrap();
    assert!(joined.notes.iter().any(|note| note.contains("too many states")), "{:?}", joined.notes);
    assert!(joined.runner[0].to_string().contains("acme-tfstate/team-3/*/terraform.tfstate.tflock"));

    let refusal = refused(&many(900, &|n| format!("state-with-a-rather-long-name-{n:03}.tfstate")));
    assert_eq!(refusal.gate, Gate::TooLarge);
    let long = format!(
        r#"{{"Sid": "Long", "Effect": "Allow", "Principal": {{"AWS": "111122223333"}}, "Action": "s3:GetObject",
        "Resource": ["arn:aws:s3:::acme-tfstate/{}"]}}"#,
        "x".repeat(19_000)
    );
    let refusal = refused(&existing(&long));
    assert_eq!(refusal.gate, Gate::TooLarge);
    assert!(refusal.reason.contains("20480"), "{refusal}");
}

/// Documents that were made weaker or stronger by hand.
fn proof_of(
    wanted: &Wanted,
    spoil: impl Fn(&mut Value, &mut Vec<Value>, &mut Vec<Value>),
) -> Result<usize, Refusal> {
    let named = roles::Named::read(wanted).unwrap();
    let patterns = resources::patterns(&wanted.states, resources::Width::Exact);
    let mut built = build(wanted, &named, &[], &patterns).unwrap().unwrap();
    spoil(&mut built.merged.policy, &mut built.runner, &mut built.plan);
    proof::prove(wanted, &named, &[], &built)
}

#[test]
fn the_proof_fails_without_any_one_of_the_statements() {
    let mut wanted = Wanted { versioned: true, ..wanted() };
    wanted.roles.runners.push("arn:aws:iam::444455556666:role/tf".to_owned());
    assert!(proof_of(&wanted, |_, _, _| {}).is_ok());
    let count = sids(&recommend(&wanted).unwrap().bucket_policy).len();
    assert_eq!(count, 10);
    for n in 0..count {
        let spoilt = proof_of(&wanted, |policy, _, _| {
            policy["Statement"].as_array_mut().unwrap().remove(n);
        });
        assert_eq!(spoilt.unwrap_err().gate, Gate::NotProven, "without statement {n}");
    }
    for n in 0..3 {
        for of_plan in [false, true] {
            let spoilt = proof_of(&wanted, |_, runner, plan| {
                let documents = if of_plan { plan } else { runner };
                documents[0]["Statement"].as_array_mut().unwrap().remove(n);
            });
            assert!(spoilt.is_err(), "without statement {n}, plan: {of_plan}");
        }
    }
    // Naive variants: exact keys, no workspaces; If-None-Match everywhere; If-Match for everybody.
    let lock = "arn:aws:s3:::acme-tfstate/prod/terraform.tfstate.tflock";
    let variants: [(usize, &str, Value); 4] = [
        (0, "Resource", json!(lock)),
        (0, "Condition", json!({"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/*"}})),
        (1, "Resource", json!("arn:aws:s3:::acme-tfstate/*")),
        (3, "Condition", json!({"Null": {"s3:if-match": "true"}})),
    ];
    for (n, element, value) in variants {
        let spoilt = proof_of(&wanted, |policy, _, _| policy["Statement"][n][element] = value.clone());
        assert_eq!(spoilt.unwrap_err().gate, Gate::NotProven, "{n} {element}");
    }
}

#[test]
fn a_statement_of_ours_that_nobody_needs_any_more_is_told_and_stays() {
    let foreign = "arn:aws:iam::444455556666:role/tf-apply";
    let mut earlier = wanted();
    earlier.roles.runners.push(foreign.to_owned());
    earlier.versioned = true;
    let earlier = recommend(&earlier).unwrap().bucket_policy;
    let again = recommend(&Wanted { existing: Some(earlier.to_string()), ..wanted() }).unwrap();
    let told = |advice: &Advice| -> Vec<String> {
        let ours = advice.notes.iter().filter(|note| note.contains("has a name of ours"));
        ours.map(|note| note.split(';').next().unwrap().to_owned()).collect()
    };
    let lets_in = |sid: &str| format!("statement `{sid}` has a name of ours, and still lets in {foreign}");
    assert_eq!(
        told(&again),
        [
            "statement `BreakGlassDeletesNoVersion` has a name of ours, and still denies".to_owned(),
            lets_in("CrossAccountList"),
            lets_in("CrossAccountRead"),
            lets_in("CrossAccountRunner"),
            lets_in("CrossAccountLock"),
        ]
    );
    assert_eq!(sids(&again.bucket_policy), sids(&earlier));
    // Nothing is told where all of it is needed, and nothing of statements with other names.
    let same = Wanted { existing: Some(recommend(&wanted()).unwrap().bucket_policy.to_string()), ..wanted() };
    assert_eq!(told(&recommend(&same).unwrap()), [""; 0]);
    let theirs = r#"{"Statement": {"Sid": "CrossAccountListing", "Effect": "Allow", "Principal": {"AWS": "444455556666"},
        "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::acme-tfstate"}}"#;
    let theirs = Wanted { existing: Some(theirs.to_owned()), ..wanted() };
    assert_eq!(told(&recommend(&theirs).unwrap()), [""; 0]);
}

/// The published role is the one that is written for its bucket, table and key.
#[test]
fn the_published_auditor_s_role_is_the_one_that_is_written() {
    let published: Value =
        serde_json::from_str(include_str!("../../../docs/roles/auditor-role-policy.json")).unwrap();
    let wanted = Wanted {
        tables: vec!["arn:aws:dynamodb:eu-west-1:111122223333:table/acme-locks".to_owned()],
        kms_keys: vec!["arn:aws:kms:eu-west-1:111122223333:key/KEY-ID".to_owned()],
        ..wanted()
    };
    assert_eq!(recommend(&wanted).unwrap().auditor, published);
}
