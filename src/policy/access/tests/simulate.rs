//! The simulator's answers against what is decided here.

use super::*;
use crate::policy::access::{Answer, ScpInput, compare, questions};

const OBJECT: &str = "arn:aws:s3:::acme-tfstate/prod/terraform.tfstate.tflock";

fn answer<'a>(principal: &'a str, decision: &'a str) -> Answer<'a> {
    Answer {
        principal,
        action: "s3:DeleteObject",
        resource: OBJECT,
        decision,
        missing: &[],
        by_organization: None,
    }
}

fn read<'a>() -> AccessInput<'a> {
    let reader = r#"{"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}"#;
    let other = "arn:aws:iam::111122223333:role/reader";
    with(input(), vec![principal(ADMIN, EVERYTHING), principal(APPLY, LOCKER), principal(other, reader)])
}

#[test]
fn roles_with_a_part_and_those_that_surely_delete_are_asked_about_and_no_others() {
    let input = read();
    let asked = questions(&input);
    let who: Vec<&str> = asked.iter().map(|question| question.principal.as_str()).collect();
    assert_eq!(who, [APPLY, ADMIN], "first those with a part");
    let locks = &asked[0].resources;
    assert!(locks.iter().all(|arn| arn.ends_with(".tflock")) && !locks.is_empty(), "{locks:?}");
    assert!(asked[0].context.contains(&("aws:PrincipalArn".into(), "string".into(), APPLY.into())));
    let names: Vec<String> = (0..50).map(|n| format!("arn:aws:iam::111122223333:role/r{n:02}")).collect();
    let many = with(super::input(), names.iter().map(|arn| principal(arn, EVERYTHING)).collect());
    assert_eq!(questions(&many).len(), 20, "each is a request");
    let compared = compare(&many, &[answer(&names[0], "allowed")]);
    assert_eq!(
        compared.not_compared.as_deref(),
        Some("the simulator was not asked about 30 more principals that may delete locks")
    );
}

#[test]
fn a_difference_is_a_finding_and_agreement_is_none() {
    let input = read();
    let agreed = compare(&input, &[answer(ADMIN, "allowed"), answer(APPLY, "allowed")]);
    assert_eq!((agreed.findings.len(), agreed.not_compared), (0, None));
    // Which kind of denial it is makes no difference.
    let denied = r#"{"Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]}"#;
    let denied = with(super::input(), vec![principal(APPLY, denied)]);
    assert_eq!(compare(&denied, &[answer(APPLY, "implicitDeny")]).findings, []);
    let differs = compare(&denied, &[answer(APPLY, "allowed")]);
    let found = &differs.findings[0];
    assert_eq!(
        (found.rule, found.severity, found.subject.as_str()),
        ("simulator-differs", Severity::Medium, APPLY)
    );
    assert_eq!(
        found.message,
        format!(
            "AWS's simulator says allowed where the principal's policies were judged ExplicitlyDenied, for \
             `s3:DeleteObject` on `{OBJECT}`: one of the two is wrong about it"
        )
    );
    let differs = compare(&input, &[answer(APPLY, "implicitDeny")]);
    assert_eq!(differs.findings.len(), 1);
}

#[test]
fn an_organizations_policy_that_was_not_supplied_explains_a_difference() {
    let by = |decision| Answer { by_organization: Some(false), ..answer(APPLY, decision) };
    let input = read();
    let found = compare(&input, &[by("implicitDeny")]).findings;
    assert_eq!(found[0].severity, Severity::Low);
    assert!(found[0].message.contains("a service control policy, which was not supplied"), "{found:?}");
    // It was supplied, and says the same.
    let scp = r#"{"Statement": [{"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}]}"#;
    let mut supplied = read();
    supplied.scps =
        vec![ScpInput { account: None, levels: vec![vec![NamedPolicy { name: "p-1", text: scp }]] }];
    assert_eq!(compare(&supplied, &[by("implicitDeny")]).findings, []);
    // It was supplied, and says otherwise.
    supplied.scps[0].levels[0][0].text = EVERYTHING;
    assert_eq!(compare(&supplied, &[by("implicitDeny")]).findings[0].severity, Severity::Medium);
}

#[test]
fn what_depends_on_something_unknown_is_not_compared_and_said() {
    let policy = r#"{"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*",
        "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}]}"#;
    let input = with(input(), vec![principal(APPLY, policy)]);
    let open =
        compare(&input, &[answer(APPLY, "implicitDeny"), answer("arn:aws:iam::1:role/gone", "allowed")]);
    assert_eq!(open.findings, []);
    assert_eq!(
        open.not_compared.as_deref(),
        Some("2 of 2 answers of the simulator depend on what is not known")
    );
    // The simulator says that it took the key as absent: then both can be compared.
    let missing = ["aws:SourceIp".to_owned()];
    let closed = Answer { missing: &missing, ..answer(APPLY, "implicitDeny") };
    assert_eq!(compare(&input, &[closed]), crate::policy::access::Compared::default());
    let differs = Answer { missing: &missing, ..answer(APPLY, "allowed") };
    assert_eq!(compare(&input, &[differs]).findings.len(), 1);
}
