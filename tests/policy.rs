//! The policy evaluator: the rules' own cases, the recommended bucket policy against a table of scenarios, naive
//! policies that must fail, what AWS leaves open, and properties that hold for every policy.

#![cfg(test)]
#![allow(clippy::needless_pass_by_value, reason = "so that `json!` stands in a call as it is")]
// Tables of JSON read better when values are handed over.
#![cfg(test)]

use std::fs;
use std::path::Path;

use lockshift::policy::{
    Compiled, Context, Decision, Entry, Layer, Missing, Policies, PolicyKind, Principal, Request, Verdict,
    decide, read_cases,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy").join(name)).unwrap()
}

fn assert_expected(text: &str, count: usize) {
    let cases = read_cases(text).unwrap();
    assert_eq!(cases.len(), count);
    for case in &cases {
        let decision = case.decide();
        assert_eq!(Some(decision.verdict.as_str()), case.expect.as_deref(), "{:?} {decision:?}", case.id);
    }
}

#[test]
fn every_rule_s_cases_are_decided_as_the_rules_say() {
    assert_expected(&fixture("rule-cases.json"), 70);
}

/// Inputs of `scripts/policy_differential` of which an independent evaluator gave the same verdict.
#[test]
fn cases_that_an_independent_evaluator_agreed_on_stay_as_they_are() {
    assert_expected(&fixture("agreed.jsonl"), 300);
}

const OWNER: &str = "111122223333";
const BUCKET: &str = "arn:aws:s3:::acme-tfstate";
const SSO: &str = "aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_0123456789abcdef";

fn policy(value: &Value) -> Compiled {
    Compiled::new(&value.to_string()).unwrap()
}

fn allow(actions: Value, resources: Value) -> Value {
    json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": resources}]})
}

fn everything() -> Value {
    allow(json!("*"), json!("*"))
}

/// What goes with the recommended bucket policy.
fn runner() -> Value {
    json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": BUCKET},
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"],
         "Resource": [format!("{BUCKET}/prod/terraform.tfstate"), format!("{BUCKET}/env:/*/prod/terraform.tfstate"),
                      format!("{BUCKET}/ws/*/prod/terraform.tfstate")]},
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
         "Resource": [format!("{BUCKET}/prod/terraform.tfstate.tflock"),
                      format!("{BUCKET}/env:/*/prod/terraform.tfstate.tflock"),
                      format!("{BUCKET}/ws/*/prod/terraform.tfstate.tflock")]}
    ]})
}

fn cross_account_runner() -> Value {
    allow(
        json!(["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]),
        json!([
            format!("{BUCKET}/team-x/terraform.tfstate"),
            format!("{BUCKET}/team-x/terraform.tfstate.tflock")
        ]),
    )
}

/// A session of a role; `role` is `ci/tf-apply` or `ACCOUNT:tf-apply`.
fn session(role: &str) -> Principal {
    let (account, role) = role.split_once(':').unwrap_or((OWNER, role));
    let name = role.rsplit('/').next().unwrap();
    Principal::parse(&format!("arn:aws:sts::{account}:assumed-role/{name}/run-1"))
        .unwrap()
        .with_role(&format!("arn:aws:iam::{account}:role/{role}"))
}

/// `s3:if-match=x, aws:SourceVpce=?` (not known).
fn context(text: &str) -> Context {
    text.split(", ").filter(|pair| !pair.is_empty()).fold(Context::new(), |context, pair| {
        let (key, value) = pair.split_once('=').unwrap();
        if value == "?" { context.not_known(key) } else { context.with(key, value) }
    })
}

/// A request for a key of the bucket, or for the bucket itself (`""`), with the keys that AWS derives.
fn request(principal: Principal, action: &str, key: &str, keys: &str) -> Request {
    let resource = if key.is_empty() { BUCKET.to_owned() } else { format!("{BUCKET}/{key}") };
    Request::new(principal, &format!("s3:{action}"), &resource, context(keys))
        .owned_by(OWNER)
        .with_principal_keys()
}

fn verdict(decision: &Decision) -> &'static str {
    match decision.verdict {
        Verdict::Allowed => "yes",
        Verdict::ExplicitlyDenied => "denied",
        Verdict::ImplicitlyDenied => "no",
        Verdict::Unknown => "?",
    }
}

const LOCK: &str = "prod/terraform.tfstate.tflock";
const STATE: &str = "prod/terraform.tfstate";
const WS_LOCK: &str = "env:/stg/prod/terraform.tfstate.tflock";
const WS_STATE: &str = "env:/stg/prod/terraform.tfstate";
const PREFIX_LOCK: &str = "ws/stg/prod/terraform.tfstate.tflock";
const NEW: &str = "s3:if-none-match=*";

/// Role, action, key, context, and what the recommended policy with the role's own policies decides.
type Scenario = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Roles of CI with [`runner`]; `444455556666:tf-apply` with [`cross_account_runner`]; all others may do everything as
/// far as their own policies go.
const SCENARIOS: &[Scenario] = &[
    // Runners lock, read and unlock: the default workspace, `env:/`, and a custom prefix.
    ("ci/tf-apply", "PutObject", LOCK, NEW, "yes"),
    ("ci/tf-apply", "GetObject", LOCK, "", "yes"),
    ("ci/tf-apply", "DeleteObject", LOCK, "", "yes"),
    ("ci/tf-apply", "PutObject", WS_LOCK, NEW, "yes"),
    ("ci/tf-apply", "GetObject", WS_LOCK, "", "yes"),
    ("ci/tf-apply", "DeleteObject", WS_LOCK, "", "yes"),
    ("ci/tf-apply", "PutObject", PREFIX_LOCK, NEW, "yes"),
    ("ci/tf-apply", "DeleteObject", PREFIX_LOCK, "", "yes"),
    ("ci/tf-plan", "PutObject", LOCK, NEW, "yes"),
    ("ci/tf-plan", "GetObject", LOCK, "", "yes"),
    ("ci/tf-plan", "DeleteObject", LOCK, "", "yes"),
    ("ci/tf-plan", "PutObject", WS_LOCK, NEW, "yes"),
    ("ci/tf-plan", "DeleteObject", WS_LOCK, "", "yes"),
    // State reads and writes carry no header, and are untouched.
    ("ci/tf-apply", "GetObject", STATE, "", "yes"),
    ("ci/tf-apply", "PutObject", STATE, "", "yes"),
    ("ci/tf-apply", "PutObject", WS_STATE, "", "yes"),
    ("ci/tf-apply", "ListBucket", "", "", "yes"),
    ("admin", "PutObject", STATE, "", "yes"),
    // Nobody overwrites a lock.
    ("ci/tf-apply", "PutObject", LOCK, "", "denied"),
    ("ci/tf-apply", "PutObject", LOCK, "s3:if-match=\"e\"", "denied"),
    ("admin", "PutObject", LOCK, "", "denied"),
    ("break-glass", "PutObject", LOCK, "", "denied"),
    // What a runner need not do, it may not.
    ("ci/tf-apply", "DeleteObjectVersion", LOCK, "", "no"),
    ("ci/tf-apply", "DeleteObject", STATE, "", "no"),
    ("ci/tf-apply", "DeleteObject", "other/terraform.tfstate.tflock", "", "no"),
    ("ci/tf-apply", "PutBucketPolicy", "", "", "denied"),
    ("ci/tf-apply", "PutLifecycleConfiguration", "", "", "denied"),
    // Administrators, single sign-on and look-alikes delete, erase and plant nothing.
    ("admin", "DeleteObject", LOCK, "", "denied"),
    ("admin", "DeleteObject", WS_LOCK, "", "denied"),
    ("admin", "DeleteObjectVersion", LOCK, "", "denied"),
    ("admin", "PutObject", LOCK, NEW, "denied"),
    ("admin", "DeleteObject", STATE, "", "yes"),
    ("admin", "GetObject", LOCK, "", "yes"),
    (SSO, "DeleteObject", LOCK, "", "denied"),
    (SSO, "DeleteObjectVersion", WS_LOCK, "", "denied"),
    (SSO, "PutObject", LOCK, NEW, "denied"),
    (SSO, "GetObject", LOCK, "", "yes"),
    ("tf-apply", "DeleteObject", LOCK, "", "denied"),
    ("ci/tf-apply2", "DeleteObject", LOCK, "", "denied"),
    ("ci/TF-APPLY", "DeleteObject", LOCK, "", "denied"),
    ("state-admin", "DeleteObject", LOCK, "", "denied"),
    // Break-glass removes the lock that it inspected, and only that.
    ("break-glass", "DeleteObject", LOCK, "s3:if-match=\"e\"", "yes"),
    ("break-glass", "DeleteObject", WS_LOCK, "s3:if-match=\"e\"", "yes"),
    ("break-glass", "DeleteObject", LOCK, "", "denied"),
    ("break-glass", "DeleteObject", LOCK, "s3:if-match=?", "?"),
    ("break-glass", "DeleteObjectVersion", LOCK, "", "yes"),
    ("break-glass", "PutObject", LOCK, NEW, "denied"),
    ("break-glass", "DeleteBucketPolicy", "", "", "yes"),
    // Guardrails.
    ("state-admin", "PutBucketPolicy", "", "", "yes"),
    ("state-admin", "PutBucketVersioning", "", "", "yes"),
    ("state-admin", "PutReplicationConfiguration", "", "", "yes"),
    ("admin", "PutBucketPolicy", "", "", "denied"),
    ("admin", "DeleteBucketPolicy", "", "", "denied"),
    ("admin", "PutLifecycleConfiguration", "", "", "denied"),
    ("admin", "PutBucketVersioning", "", "", "denied"),
    ("admin", "PutReplicationConfiguration", "", "", "denied"),
    ("admin", "PutBucketTagging", "", "", "yes"),
    (SSO, "DeleteBucketPolicy", "", "", "denied"),
    // The other account's runner, on its own keys.
    ("444455556666:tf-apply", "PutObject", "team-x/terraform.tfstate.tflock", NEW, "yes"),
    ("444455556666:tf-apply", "GetObject", "team-x/terraform.tfstate.tflock", "", "yes"),
    ("444455556666:tf-apply", "DeleteObject", "team-x/terraform.tfstate.tflock", "", "yes"),
    ("444455556666:tf-apply", "PutObject", "team-x/terraform.tfstate", "", "yes"),
    ("444455556666:tf-apply", "PutObject", "team-x/terraform.tfstate.tflock", "", "denied"),
    ("444455556666:tf-apply", "DeleteObjectVersion", "team-x/terraform.tfstate.tflock", "", "no"),
    ("444455556666:tf-apply", "DeleteObject", LOCK, "", "no"),
    ("444455556666:admin", "DeleteObject", "team-x/terraform.tfstate.tflock", "", "denied"),
    ("444455556666:admin", "GetObject", STATE, "", "no"),
    ("999988887777:tf-apply", "DeleteObject", LOCK, "", "denied"),
];

fn own_policies(role: &str) -> Value {
    match role {
        "ci/tf-apply" | "ci/tf-plan" => runner(),
        "444455556666:tf-apply" => cross_account_runner(),
        _ => everything(),
    }
}

#[test]
fn the_recommended_bucket_policy_does_what_it_is_for() {
    assert!(SCENARIOS.len() >= 60);
    let bucket = Compiled::new(&fixture("recommended-bucket-policy.json")).unwrap();
    for (role, action, key, keys, expected) in SCENARIOS {
        let identity = policy(&own_policies(role));
        let policies = Policies {
            identity: Layer::Known(vec![&identity]),
            resource: Layer::Known(vec![&bucket]),
            ..Policies::default()
        };
        let decision = decide(&request(session(role), action, key, keys), &policies);
        assert_eq!(verdict(&decision), *expected, "{role} {action} {key} {keys}: {decision:?}");
    }
}

/// What else cuts a runner off, at which place, and what does not.
#[test]
fn boundaries_session_policies_and_organization_policies_cut_a_runner_off() {
    let bucket = Compiled::new(&fixture("recommended-bucket-policy.json")).unwrap();
    let identity = policy(&runner());
    let get_put = policy(&allow(json!(["s3:GetObject", "s3:PutObject"]), json!("*")));
    let all = policy(&everything());
    let deny = policy(&json!({"Version": "2012-10-17", "Statement": [
        {"Sid": "NoDeletes", "Effect": "Deny", "Principal": "*", "Action": "s3:Delete*", "Resource": "*"}]}));
    let deny_scp = policy(&json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Sid": "NoDeletes", "Effect": "Deny", "Action": "s3:Delete*", "Resource": "*"}]}));
    let known = |policy| Layer::Known(vec![policy]);
    let base = || Policies { identity: known(&identity), resource: known(&bucket), ..Policies::default() };
    let cases: Vec<(&str, Policies<'_>, &str, Vec<PolicyKind>)> = vec![
        ("nothing else", base(), "yes", vec![]),
        ("boundary", Policies { boundary: known(&get_put), ..base() }, "no", vec![PolicyKind::Boundary]),
        ("wide boundary", Policies { boundary: known(&all), ..base() }, "yes", vec![]),
        ("session policy", Policies { session: known(&get_put), ..base() }, "no", vec![PolicyKind::Session]),
        ("wide session policy", Policies { session: known(&all), ..base() }, "yes", vec![]),
        ("two SCP levels", Policies { scps: vec![known(&all), known(&all)], ..base() }, "yes", vec![]),
        (
            "one SCP level without",
            Policies { scps: vec![known(&all), known(&get_put), known(&all)], ..base() },
            "no",
            vec![PolicyKind::Scp],
        ),
        (
            "two policies on one level",
            Policies { scps: vec![Layer::Known(vec![&get_put, &all])], ..base() },
            "yes",
            vec![],
        ),
        (
            "an SCP level without policies",
            Policies { scps: vec![Layer::Known(vec![])], ..base() },
            "no",
            vec![PolicyKind::Scp],
        ),
        ("SCP denies", Policies { scps: vec![known(&all), known(&deny_scp)], ..base() }, "denied", vec![]),
        ("RCP denies", Policies { rcps: vec![known(&deny)], ..base() }, "denied", vec![]),
        ("endpoint", Policies { endpoint: known(&deny), ..base() }, "denied", vec![]),
        ("SCPs not read", Policies { scps: vec![Layer::NotKnown], ..base() }, "?", vec![]),
        ("bucket policy not read", Policies { resource: Layer::NotKnown, ..base() }, "?", vec![]),
        (
            "no own policy",
            Policies { identity: Layer::Known(vec![]), ..base() },
            "no",
            vec![PolicyKind::Identity, PolicyKind::Resource],
        ),
    ];
    for (name, policies, expected, withheld) in cases {
        let decision = decide(&request(session("ci/tf-apply"), "DeleteObject", LOCK, ""), &policies);
        assert_eq!((verdict(&decision), decision.withheld), (expected, withheld), "{name}");
    }
}

#[test]
fn across_accounts_both_sides_must_allow() {
    let bucket = Compiled::new(&fixture("recommended-bucket-policy.json")).unwrap();
    let (own, none) = (policy(&cross_account_runner()), policy(&json!({"Statement": []})));
    let key = "team-x/terraform.tfstate.tflock";
    let decided = |identity, resource| {
        let policies = Policies { identity, resource, ..Policies::default() };
        decide(&request(session("444455556666:tf-apply"), "DeleteObject", key, ""), &policies)
    };
    let both = decided(Layer::Known(vec![&own]), Layer::Known(vec![&bucket]));
    assert_eq!(verdict(&both), "yes");
    let places: Vec<_> = both.statements.iter().map(|found| (found.kind, found.sid.as_deref())).collect();
    assert_eq!(places, [(PolicyKind::Identity, None), (PolicyKind::Resource, Some("CrossAccountRunner"))]);
    let decision = decided(Layer::Known(vec![&none]), Layer::Known(vec![&bucket]));
    assert_eq!((verdict(&decision), decision.withheld), ("no", vec![PolicyKind::Identity]));
    let decision = decided(Layer::Known(vec![&own]), Layer::Absent);
    assert_eq!((verdict(&decision), decision.withheld), ("no", vec![PolicyKind::Resource]));
    let decision = decided(Layer::NotKnown, Layer::Known(vec![&bucket]));
    assert_eq!(decision.missing, [Missing::Policies(PolicyKind::Identity)]);
}

/// A Deny of both deletions on a resource, with a condition.
fn deny_deletes(resource: &str, condition: Value) -> Value {
    json!({"Version": "2012-10-17", "Statement": [{"Sid": "Naive", "Effect": "Deny", "Principal": "*",
        "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"], "Resource": format!("{BUCKET}{resource}"),
        "Condition": condition}]})
}

/// Policies that look right and are not: each lets somebody delete who must not, or stops a runner.
#[test]
fn naive_policies_fail_as_they_must() {
    let apply = "arn:aws:iam::111122223333:role/ci/tf-apply";
    let not = |arns: Value| json!({"ArnNotLike": {"aws:PrincipalArn": arns}});
    let only_delete = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*",
        "Action": "s3:DeleteObject", "Resource": format!("{BUCKET}/*.tflock"), "Condition": not(json!(apply))}]});
    let two_keys =
        json!({"ArnNotLike": {"aws:PrincipalArn": apply}, "StringNotEquals": {"aws:SourceVpce": "vpce-1"}});
    let session_arn = "arn:aws:sts::111122223333:assumed-role/tf-apply/*";
    let whole_bucket = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*",
        "Action": "s3:PutObject", "Resource": format!("{BUCKET}/*"),
        "Condition": {"Null": {"s3:if-none-match": "true"}}}]});
    let cases: Vec<(&str, Value, &str, &str, &str, &str, &str)> = vec![
        (
            "one key only",
            deny_deletes(&format!("/{LOCK}"), not(json!(apply))),
            "admin",
            "DeleteObject",
            WS_LOCK,
            "",
            "yes",
        ),
        ("not the versions", only_delete, "admin", "DeleteObjectVersion", LOCK, "", "yes"),
        (
            "two negated keys",
            deny_deletes("/*.tflock", two_keys),
            "admin",
            "DeleteObject",
            LOCK,
            "aws:SourceVpce=vpce-1",
            "yes",
        ),
        (
            "a list of the bad",
            deny_deletes(
                "/*.tflock",
                json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/dev*"}}),
            ),
            "admin",
            "DeleteObject",
            LOCK,
            "",
            "yes",
        ),
        (
            "every role exempt",
            deny_deletes("/*.tflock", not(json!("arn:aws:iam::111122223333:role/*"))),
            "admin",
            "DeleteObject",
            LOCK,
            "",
            "yes",
        ),
        (
            "Bool without IfExists",
            deny_deletes("/*.tflock", json!({"Bool": {"aws:MultiFactorAuthPresent": "false"}})),
            "admin",
            "DeleteObject",
            LOCK,
            "",
            "yes",
        ),
        (
            "StringNotEquals with *",
            deny_deletes(
                "/*.tflock",
                json!({"StringNotEquals": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/ci/*"}}),
            ),
            "ci/tf-apply",
            "DeleteObject",
            LOCK,
            "",
            "denied",
        ),
        (
            "a session's ARN",
            deny_deletes("/*.tflock", not(json!(session_arn))),
            "ci/tf-apply",
            "DeleteObject",
            LOCK,
            "",
            "denied",
        ),
        (
            "no path",
            deny_deletes("/*.tflock", not(json!("arn:aws:iam::111122223333:role/tf-apply"))),
            "ci/tf-apply",
            "DeleteObject",
            LOCK,
            "",
            "denied",
        ),
        ("the bucket's ARN", deny_deletes("", not(json!(apply))), "admin", "DeleteObject", LOCK, "", "yes"),
        (
            "a header for every delete",
            deny_deletes("/*.tflock", json!({"Null": {"s3:if-match": "true"}})),
            "ci/tf-apply",
            "DeleteObject",
            LOCK,
            "",
            "denied",
        ),
        ("a header for the whole bucket", whole_bucket, "ci/tf-apply", "PutObject", STATE, "", "denied"),
    ];
    let identity = policy(&everything());
    for (name, bucket, role, action, key, keys, expected) in cases {
        let bucket = policy(&bucket);
        let policies = Policies {
            identity: Layer::Known(vec![&identity]),
            resource: Layer::Known(vec![&bucket]),
            ..Policies::default()
        };
        let decision = decide(&request(session(role), action, key, keys), &policies);
        assert_eq!(verdict(&decision), expected, "{name}: {decision:?}");
    }
}

/// Decides for a principal under a bucket policy, with a policy of its own that allows everything.
fn under(bucket: &Value, principal: &str, role: Option<&str>, action: &str, keys: &str) -> Decision {
    let principal = Principal::parse(principal).unwrap();
    let principal = role.map_or_else(|| principal.clone(), |role| principal.clone().with_role(role));
    let (identity, bucket) = (policy(&everything()), policy(bucket));
    let policies = Policies {
        identity: if principal.account().is_some() { Layer::Known(vec![&identity]) } else { Layer::Absent },
        resource: Layer::Known(vec![&bucket]),
        ..Policies::default()
    };
    decide(&request(principal, action, LOCK, keys), &policies)
}

const APPLY_SESSION: &str = "arn:aws:sts::111122223333:assumed-role/tf-apply/run-1";
const APPLY_ROLE: &str = "arn:aws:iam::111122223333:role/ci/tf-apply";

#[test]
fn not_principal_excepts_only_who_is_listed_with_role_account_and_session() {
    let root = "arn:aws:iam::111122223333:root";
    let cases: &[(&[&str], &str)] = &[
        (&[APPLY_ROLE], "denied"),
        (&[root], "denied"),
        (&[APPLY_ROLE, root], "?"),
        (&[APPLY_SESSION, root], "?"),
        (&[APPLY_SESSION, APPLY_ROLE, root], "yes"),
        (&["AROAEXAMPLEID", root], "denied"),
    ];
    for (listed, expected) in cases {
        let bucket = json!({"Version": "2012-10-17", "Statement": [{"Effect": "Deny",
            "NotPrincipal": {"AWS": listed}, "Action": "*", "Resource": "*"}]});
        let decision = under(&bucket, APPLY_SESSION, Some(APPLY_ROLE), "DeleteObject", "");
        assert_eq!(verdict(&decision), *expected, "{listed:?} {decision:?}");
    }
}

/// The grantee decides what limits a grant of the bucket policy in the same account.
#[test]
fn a_grant_to_the_role_is_limited_and_a_grant_to_the_session_is_not() {
    let narrow = policy(&allow(json!("s3:ListAllMyBuckets"), json!("*")));
    let cases: &[(Value, &str, &str, &str)] = &[
        // Grantee; with nothing else; with a boundary; with a session policy.
        (json!({"AWS": APPLY_SESSION}), "yes", "yes", "yes"),
        (json!({"AWS": APPLY_ROLE}), "yes", "no", "no"),
        (json!("*"), "yes", "yes", "?"),
        (json!({"AWS": "111122223333"}), "no", "no", "no"),
        (json!({"AWS": "arn:aws:iam::111122223333:role/tf-apply"}), "no", "no", "no"),
        (json!({"AWS": "AROAEXAMPLEID"}), "no", "no", "no"),
        (
            json!({"CanonicalUser": "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"}),
            "no",
            "no",
            "no",
        ),
        (json!({"Mistake": "x"}), "?", "?", "?"),
    ];
    for (grantee, alone, bounded, limited) in cases {
        let bucket = policy(&json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": grantee, "Action": "s3:*", "Resource": "*"}]}));
        let base = || Policies { resource: Layer::Known(vec![&bucket]), ..Policies::default() };
        let request = request(session("ci/tf-apply"), "DeleteObject", LOCK, "");
        let found = [
            verdict(&decide(&request, &base())),
            verdict(&decide(&request, &Policies { boundary: Layer::Known(vec![&narrow]), ..base() })),
            verdict(&decide(&request, &Policies { session: Layer::Known(vec![&narrow]), ..base() })),
        ];
        assert_eq!(found, [*alone, *bounded, *limited], "{grantee}");
    }
}

#[test]
fn anonymous_requests_services_and_root_have_their_own_ways() {
    let bucket = |principal: Value, effect: &str| {
        json!({"Version": "2012-10-17", "Statement": [
            {"Effect": effect, "Principal": principal, "Action": "s3:*", "Resource": "*"}]})
    };
    let root = "arn:aws:iam::111122223333:root";
    let log = "logging.s3.amazonaws.com";
    let cases: Vec<(&str, Value, &str, &str, &str)> = vec![
        ("anonymous", json!("*"), "Allow", "DeleteObject", "yes"),
        ("anonymous", json!({"AWS": "*"}), "Allow", "DeleteObject", "yes"),
        ("anonymous", json!({"AWS": root}), "Allow", "DeleteObject", "no"),
        ("anonymous", json!("*"), "Deny", "DeleteObject", "denied"),
        (log, json!({"Service": log}), "Allow", "PutObject", "yes"),
        (log, json!({"Service": "delivery.logs.amazonaws.com"}), "Allow", "PutObject", "no"),
        (log, json!({"AWS": "*"}), "Allow", "PutObject", "?"),
        (root, json!({"AWS": "444455556666"}), "Allow", "DeleteObject", "yes"),
        (root, json!("*"), "Deny", "DeleteObject", "denied"),
        // No bucket policy takes these from the root user of the bucket's account.
        (root, json!("*"), "Deny", "PutBucketPolicy", "yes"),
        (root, json!("*"), "Deny", "DeleteBucketPolicy", "yes"),
        (root, json!("*"), "Deny", "PutBucketVersioning", "denied"),
        ("arn:aws:iam::444455556666:root", json!("*"), "Deny", "PutBucketPolicy", "denied"),
        ("arn:aws:iam::444455556666:root", json!({"AWS": "444455556666"}), "Allow", "DeleteObject", "yes"),
    ];
    for (principal, grantee, effect, action, expected) in cases {
        let decision = under(&bucket(grantee.clone(), effect), principal, None, action, "");
        assert_eq!(verdict(&decision), expected, "{principal} {grantee} {effect} {action}");
    }
}

/// A statement of each effect with a condition: does it apply?
fn applies(condition: &Value, context: &Context) -> &'static str {
    let bucket = policy(&json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*", "Condition": condition}]}));
    let identity = policy(&everything());
    let policies = Policies {
        identity: Layer::Known(vec![&identity]),
        resource: Layer::Known(vec![&bucket]),
        ..Policies::default()
    };
    let request =
        Request::new(session("ci/tf-apply"), "s3:GetObject", BUCKET, context.clone()).owned_by(OWNER);
    match decide(&request, &policies).verdict {
        Verdict::ExplicitlyDenied => "yes",
        Verdict::Allowed => "no",
        Verdict::Unknown => "?",
        Verdict::ImplicitlyDenied => panic!("{condition}"),
    }
}

#[test]
fn operators_and_keys_that_are_there_absent_or_not_known() {
    let many = |key: &str, values: &[&str]| {
        Context::new()
            .with_entry(key, Entry::Values(values.iter().map(|value| (*value).to_owned()).collect()))
    };
    let one = |key: &str, value: &str| Context::new().with(key, value);
    let none = Context::new();
    let cases: Vec<(Value, Context, &str)> = vec![
        // Absent keys: positive operators do not match, negated ones and IfExists do.
        (json!({"StringEquals": {"k:a": "x"}}), none.clone(), "no"),
        (json!({"StringNotEquals": {"k:a": "x"}}), none.clone(), "yes"),
        (json!({"StringEqualsIfExists": {"k:a": "x"}}), none.clone(), "yes"),
        (json!({"StringNotEqualsIfExists": {"k:a": "x"}}), none.clone(), "yes"),
        (json!({"ArnNotLike": {"aws:SourceArn": "arn:aws:s3:::b"}}), none.clone(), "yes"),
        (json!({"Bool": {"aws:MultiFactorAuthPresent": "false"}}), none.clone(), "no"),
        (json!({"BoolIfExists": {"aws:MultiFactorAuthPresent": false}}), none.clone(), "yes"),
        (json!({"Null": {"k:a": "true"}}), none.clone(), "yes"),
        (json!({"Null": {"k:a": false}}), none.clone(), "no"),
        // Not known.
        (json!({"StringEquals": {"k:a": "x"}}), none.clone().not_known("k:a"), "?"),
        (json!({"Null": {"k:a": "true"}}), none.clone().not_known("k:*"), "?"),
        // Names of keys have no case, values have.
        (json!({"StringEquals": {"AWS:SourceVPCE": "vpce-1"}}), one("aws:sourcevpce", "vpce-1"), "yes"),
        (json!({"StringEquals": {"k:a": "X"}}), one("k:a", "x"), "no"),
        (json!({"StringEqualsIgnoreCase": {"k:a": "ÄX"}}), one("k:a", "äx"), "yes"),
        (json!({"StringNotEqualsIgnoreCase": {"k:a": "X"}}), one("k:a", "x"), "no"),
        // Wildcards only with Like; any of several values, or none of them.
        (json!({"StringEquals": {"k:a": "x*"}}), one("k:a", "xy"), "no"),
        (json!({"StringLike": {"k:a": ["a", "x*"]}}), one("k:a", "x:y/z"), "yes"),
        (json!({"StringNotLike": {"k:a": ["a", "x*"]}}), one("k:a", "xy"), "no"),
        (json!({"StringNotEquals": {"k:a": ["a", "b"]}}), one("k:a", "c"), "yes"),
        (json!({"StringNotEquals": {"k:a": "a", "k:b": "b"}}), one("k:a", "a"), "no"),
        // Numbers, dates, addresses, binary.
        (
            json!({"NumericLessThan": {"aws:MultiFactorAuthAge": 300}}),
            one("aws:MultiFactorAuthAge", "299"),
            "yes",
        ),
        (json!({"NumericGreaterThanEquals": {"k:n": "10"}}), one("k:n", "9"), "no"),
        (json!({"NumericNotEquals": {"k:n": "10"}}), one("k:n", "10.0"), "no"),
        (json!({"NumericEquals": {"k:n": "10"}}), one("k:n", "ten"), "?"),
        (json!({"NumericEquals": {"k:n": "ten"}}), one("k:n", "10"), "?"),
        (
            json!({"DateLessThan": {"aws:CurrentTime": "2026-01-01T00:00:00Z"}}),
            one("aws:CurrentTime", "2025-12-31T23:59:59Z"),
            "yes",
        ),
        (
            json!({"DateGreaterThan": {"aws:CurrentTime": "2026-01-01"}}),
            one("aws:CurrentTime", "1767225600"),
            "no",
        ),
        (json!({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}), one("aws:SourceIp", "10.1.2.3"), "yes"),
        (
            json!({"NotIpAddress": {"aws:SourceIp": ["10.0.0.0/8", "2001:db8::/32"]}}),
            one("aws:SourceIp", "2001:db8::1"),
            "no",
        ),
        (json!({"IpAddress": {"aws:SourceIp": "office"}}), one("aws:SourceIp", "10.1.2.3"), "?"),
        (json!({"BinaryEquals": {"k:b": "QmluYXJ5"}}), one("k:b", "QmluYXJ5"), "yes"),
        // ARNs.
        (
            json!({"ArnEquals": {"aws:SourceArn": "arn:aws:s3:::b*"}}),
            one("aws:SourceArn", "arn:aws:s3:::b2"),
            "yes",
        ),
        (json!({"ArnLike": {"aws:SourceArn": "arn:aws:*:b"}}), one("aws:SourceArn", "arn:aws:s3:::b"), "?"),
        (
            json!({"ArnNotLike": {"aws:PrincipalArn": ["*", "arn:aws:iam::1:role/x"]}}),
            one("aws:PrincipalArn", "arn:aws:iam::1:role/x"),
            "no",
        ),
        (
            json!({"ArnNotLike": {"aws:PrincipalArn": "*"}}),
            one("aws:PrincipalArn", "arn:aws:iam::1:role/x"),
            "?",
        ),
        // Sets.
        (
            json!({"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b"]}}),
            many("aws:TagKeys", &["a", "b"]),
            "yes",
        ),
        (
            json!({"ForAllValues:StringEquals": {"aws:TagKeys": ["a"]}}),
            many("aws:TagKeys", &["a", "b"]),
            "no",
        ),
        (json!({"ForAllValues:StringEquals": {"aws:TagKeys": ["a"]}}), none.clone(), "yes"),
        (
            json!({"ForAnyValue:StringEquals": {"aws:TagKeys": ["a"]}}),
            many("aws:TagKeys", &["a", "b"]),
            "yes",
        ),
        (json!({"ForAnyValue:StringEquals": {"aws:TagKeys": ["a"]}}), none.clone(), "no"),
        (
            json!({"ForAnyValue:StringNotEquals": {"aws:TagKeys": ["a"]}}),
            many("aws:TagKeys", &["a", "b"]),
            "yes",
        ),
        (
            json!({"ForAllValues:StringNotEquals": {"aws:TagKeys": ["a"]}}),
            many("aws:TagKeys", &["a", "b"]),
            "no",
        ),
        (json!({"ForAnyValue:StringEqualsIfExists": {"aws:TagKeys": ["a"]}}), none.clone(), "?"),
        (json!({"StringEquals": {"aws:TagKeys": "a"}}), many("aws:TagKeys", &["a", "b"]), "no"),
        (json!({"StringEquals": {"aws:TagKeys": "a"}}), many("aws:TagKeys", &["a"]), "?"),
        // Variables.
        (json!({"StringEquals": {"k:a": "${k:b}"}}), one("k:a", "x").with("k:b", "x"), "yes"),
        (json!({"StringEquals": {"k:a": "${k:b, 'x'}"}}), one("k:a", "x"), "yes"),
        (json!({"StringEquals": {"k:a": "${k:b}"}}), one("k:a", "x"), "no"),
        (json!({"StringNotEquals": {"k:a": "${k:b}"}}), one("k:a", "x"), "?"),
        (json!({"StringLike": {"k:a": "a${*}"}}), one("k:a", "ab"), "no"),
        // Not understood.
        (json!({"StringMatches": {"k:a": "x"}}), none.clone(), "?"),
        (json!({"stringEquals": {"k:a": "x"}}), none.clone(), "?"),
        (json!({"ForSomeValues:StringEquals": {"k:a": "x"}}), none.clone(), "?"),
        (json!({"NullIfExists": {"k:a": "true"}}), none.clone(), "?"),
        (json!({"StringEquals": {"k:a": []}}), none.clone(), "?"),
        (json!({"StringEquals": {"k:a": {"x": 1}}}), one("k:a", "x"), "?"),
        (json!({"StringEquals": ["k:a"]}), none.clone(), "?"),
        // What is not understood does not matter where something else decides.
        (json!({"StringMatches": {"k:a": "x"}, "StringEquals": {"k:b": "x"}}), none, "no"),
    ];
    for (condition, context, expected) in cases {
        assert_eq!(applies(&condition, &context), expected, "{condition} {context:?}");
    }
}

/// Nothing of a policy is dropped: what is not understood keeps a Deny open, and never makes an Allow certain.
#[test]
fn what_is_not_understood_is_never_dropped() {
    let base = json!({"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject", "Resource": "*"});
    let with = |name: &str, value: Value| {
        let mut statement = base.clone();
        statement[name] = value;
        statement
    };
    let without = |name: &str| {
        let mut statement = base.clone();
        statement.as_object_mut().unwrap().shift_remove(name);
        statement
    };
    let odd = [
        with("Comment", json!("why")),
        with("effect", json!("Deny")),
        with("Effect", json!("deny")),
        with("Effect", json!(["Deny"])),
        with("NotAction", json!("s3:GetObject")),
        with("NotResource", json!("arn:aws:s3:::other/*")),
        with("Action", json!("*:DeleteObject")),
        with("Action", json!("DeleteObject*")),
        with("Action", json!(["s3:GetObject", 7])),
        with("Resource", json!("arn:aws:s3*")),
        with("Resource", json!("arn:aws:s3:::${oops/*")),
        with("Principal", json!({"AWS": "arn:aws:iam::111122223333:role/*"})),
        with("Principal", json!({})),
        with("Condition", json!(true)),
        with("Condition", json!({"StringMatches": {"a": "b"}})),
        without("Effect"),
        without("Action"),
        without("Resource"),
        without("Principal"),
        json!("Deny everything"),
    ];
    for statement in odd {
        let bucket = json!({"Version": "2012-10-17", "Statement": [statement]});
        let decision = under(&bucket, APPLY_SESSION, Some(APPLY_ROLE), "DeleteObject", "");
        let harmless = statement["Action"] == json!("DeleteObject*");
        assert_eq!(verdict(&decision), if harmless { "yes" } else { "?" }, "{statement}");
        assert!(harmless || !decision.missing.is_empty(), "{statement}");
    }
    let whole = [
        r#"{"Version":"2030-01-01","Statement":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}]}"#,
        r#"{"Statements":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}]}"#,
        r#"{"Statement":[{"Effect":"Deny","Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}"#,
        r#"{"Statement":{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*","Condition":{"Bool":{"a":"true","A":"false"}}}}"#,
        r#"{"Version":"2030-01-01","Statement":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"arn:aws:s3:::acme-tfstate/${a}*"}]}"#,
        r#"{"Statement":[{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*","Resource":"arn:aws:s3:::x"}]}"#,
        "{}",
    ];
    for text in whole {
        let (identity, bucket) = (policy(&everything()), Compiled::new(text).unwrap());
        assert!(!bucket.not_understood().is_empty(), "{text}");
        let policies = Policies {
            identity: Layer::Known(vec![&identity]),
            resource: Layer::Known(vec![&bucket]),
            ..Policies::default()
        };
        let decision = decide(&request(session("admin"), "DeleteObject", LOCK, "a=?"), &policies);
        assert_eq!(verdict(&decision), "?", "{text} {decision:?}");
    }
    let error = Compiled::new("{\n  \"Statement\": [}\n").unwrap_err();
    assert_eq!((error.line, error.column, error.message.as_str()), (2, 17, "expected value"));
    assert_eq!(Compiled::new("[]").unwrap_err().to_string(), "a policy is a JSON object");
}

#[test]
fn a_conditional_answer_says_on_what_it_depends_and_where() {
    let bucket = json!({"Version": "2012-10-17", "Statement": [
        {"Sid": "OnlyFromNetwork", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*",
         "Condition": {"StringNotEquals": {"aws:SourceVpce": ["vpce-1", "vpce-2"]}}},
        {"Sid": "Elsewhere", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::other/*",
         "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]});
    let decision = under(&bucket, APPLY_SESSION, Some(APPLY_ROLE), "DeleteObject", "aws:SourceVpce=?");
    assert_eq!((verdict(&decision), decision.is_conditional()), ("?", true));
    assert_eq!(decision.missing_keys(), ["aws:SourceVpce"]);
    let open: Vec<_> =
        decision.open().map(|found| (found.sid.as_deref(), found.missing[0].to_string())).collect();
    assert_eq!(
        open,
        [(Some("OnlyFromNetwork"), "aws:SourceVpce (StringNotEquals vpce-1 | vpce-2)".to_owned())]
    );
}

/// KMS keys: their policy must allow or delegate.
#[test]
fn a_key_policy_has_its_say() {
    let key = "arn:aws:kms:eu-west-1:111122223333:key/k1";
    let own = policy(&allow(json!(["kms:Decrypt"]), json!(key)));
    let statement = |principal: &str| {
        policy(&json!({"Version": "2012-10-17", "Statement": [
            {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "kms:*", "Resource": "*"}]}))
    };
    let (delegates, role, other) =
        (statement("arn:aws:iam::111122223333:root"), statement(APPLY_ROLE), statement("444455556666"));
    let none = policy(&json!({"Statement": []}));
    let cases = [
        ("default", &own, Layer::Absent, "yes"),
        ("delegates", &own, Layer::Known(vec![&delegates]), "yes"),
        ("delegates, no own policy", &none, Layer::Known(vec![&delegates]), "no"),
        ("names the role", &none, Layer::Known(vec![&role]), "yes"),
        ("names others", &own, Layer::Known(vec![&other]), "no"),
    ];
    for (name, identity, resource, expected) in cases {
        let policies = Policies { identity: Layer::Known(vec![identity]), resource, ..Policies::default() };
        let request = Request::new(session("ci/tf-apply"), "kms:Decrypt", key, Context::new());
        assert_eq!(verdict(&decide(&request, &policies)), expected, "{name}");
    }
}

/// Cases that cannot be read are named with their place, and nothing is decided.
#[test]
fn cases_that_are_no_cases_are_named_with_their_place() {
    let good = r#"{"id":"a","principal":"anonymous","action":"s3:GetObject","resource":"arn:aws:s3:::b/k"}"#;
    let cases = [
        (format!("{good}\n{{\"id\":\"b\"\n"), "case 2, line 2, column 9: EOF while parsing an object"),
        ("{\n  \"id\": \"a\",\n  \"action\":,\n}\n".to_owned(), "case 1, line 3, column 12: expected value"),
        ("{\n  \"id\": \"a\"\n".to_owned(), "case 1, line 3, column 0: EOF while parsing an object"),
        (format!("[{good},\n {good},\n {{]"), "case 3, line 3, column 3: key must be a string"),
        (
            format!("{good}\n\n{}", good.replace("\"a\"", "\"b\"").replace("anonymous", "nobody")),
            "case 2 (`b`), line 3, column 11: `principal`: `nobody` is no principal; expected the ARN of a user, role, session, federated user or root, a service's name, or `anonymous`",
        ),
        (
            format!(
                "\u{feff}[\n  {good},\n  {{\n    \"id\": \"}}],[{{\\\"\",\n    \"note\": [{{}}, 1],\n    \"principl\": 1 }}\n]"
            ),
            "case 2 (`}],[{\"`), line 6, column 5: `principl` is no member of a case; did you mean `principal`?",
        ),
        (format!("[{good}, 7]"), "case 2, line 1, column 92: a case is a JSON object"),
        (
            format!("[{}]", good.replace("action", "actoin")),
            "case 1 (`a`), line 1, column 36: `actoin` is no member of a case; did you mean `action`?",
        ),
        (
            format!("[{}]", good.replace("s3:GetObject", "s3:Get*")),
            "case 1 (`a`), line 1, column 36: `action`: `s3:Get*` is no action; expected `service:Name`",
        ),
        (
            good.replace("arn:aws:s3:::b/k", "b/k"),
            "case 1 (`a`), line 1, column 59: `resource`: `b/k` is no ARN",
        ),
        (
            good.replace('}', r#","identityPolicies":["x"]}"#),
            "case 1 (`a`), line 1, column 89: `identityPolicies`: policy 1 is no JSON object",
        ),
        (
            good.replace('}', r#","context":{"a:b":"1","A:B":"2"}}"#),
            "case 1 (`a`), line 1, column 89: `context` has `A:B` twice; names of keys have no case",
        ),
        (
            good.replace('}', r#","scps":{}}"#),
            "case 1 (`a`), line 1, column 89: `scps` is a list of levels, each a list of policies",
        ),
        (
            r#"{"id":"a","principal":"anonymous"}"#.to_owned(),
            "case 1 (`a`), line 1, column 1: `action` is missing",
        ),
        (
            good.replace("arn:aws:s3:::b/k", "arn:aws:kms:eu-west-1:111122223333:key/k")
                .replace('}', r#","resourceAccount":"444455556666"}"#),
            "case 1 (`a`), line 1, column 1: `resourceAccount`: `arn:aws:kms:eu-west-1:111122223333:key/k` is of account 111122223333, and account 444455556666 is said to own it",
        ),
        (
            good.replace("anonymous", "arn:aws:sts::111122223333:assumed-role/tf/x").replace(
                '}',
                r#","context":{"aws:principalARN":"arn:aws:iam::111122223333:role/ci/other"}}"#,
            ),
            "case 1 (`a`), line 1, column 1: `context`: aws:PrincipalArn is `arn:aws:iam::111122223333:role/ci/other`, and the principal's is the ARN of role `tf` of account 111122223333, with its path",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read_cases(&text).unwrap_err().to_string(), expected, "{text}");
    }
}

// Properties.

fn texts(choices: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(choices).prop_map(|text| json!(text)),
        prop::collection::vec(prop::sample::select(choices), 0..3).prop_map(|texts| json!(texts)),
    ]
}

/// Statements of all kinds, odd ones included.
fn statements(effect: &'static str) -> impl Strategy<Value = Value> {
    let principal = prop_oneof![
        Just(json!({"Principal": "*"})),
        Just(json!({"Principal": {"AWS": APPLY_ROLE}})),
        Just(json!({"Principal": {"AWS": [APPLY_SESSION, "111122223333"]}})),
        Just(json!({"NotPrincipal": {"AWS": [APPLY_ROLE, "111122223333"]}})),
        Just(json!({"Principal": {"AWS": "x"}})),
        Just(json!({})),
    ];
    let condition = prop_oneof![
        3 => Just(json!({})),
        1 => (
            prop::sample::select(&["StringEquals", "StringNotLike", "ArnNotLikeIfExists", "Null", "Bool", "IpAddress",
                "ForAllValues:StringLike", "ForAnyValue:StringNotEqualsIfExists", "NumericLessThan", "DateEquals",
                "Oops"][..]),
            prop::sample::select(&["aws:PrincipalArn", "aws:SourceVpce", "k:none", "aws:TagKeys", "aws:SourceIp"][..]),
            texts(&["*", "true", "arn:aws:iam::111122223333:role/ci/*", "${aws:SourceVpce}", "vpce-1", "10.0.0.0/8", "7", "${"]),
        )
            .prop_map(|(operator, key, values)| json!({"Condition": {operator: {key: values}}})),
    ];
    (
        principal,
        prop::sample::select(&["Action", "NotAction", "Action"][..]),
        texts(&["*", "s3:DeleteObject", "s3:Delete*", "s3:GetObject", "oops"]),
        prop::sample::select(&["Resource", "NotResource", "Resource"][..]),
        texts(&[
            "*",
            "arn:aws:s3:::acme-tfstate/*.tflock",
            "arn:aws:s3:::acme-tfstate/${aws:SourceVpce}/*",
            "oops",
            "arn:aws:s3:::x",
        ]),
        condition,
    )
        .prop_map(move |(principal, action, actions, resource, resources, condition)| {
            let mut statement = json!({"Effect": effect, action: actions, resource: resources});
            for part in [principal, condition] {
                statement.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            }
            statement
        })
}

fn any_statement() -> impl Strategy<Value = Value> {
    prop_oneof![statements("Allow"), statements("Deny"), statements("Oops")]
}

fn contexts() -> impl Strategy<Value = Context> {
    prop::sample::select(
        &[
            "",
            "aws:SourceVpce=?",
            "aws:SourceVpce=vpce-1",
            "aws:PrincipalArn=?",
            "aws:SourceIp=10.0.0.1, aws:TagKeys=?",
        ][..],
    )
    .prop_map(context)
}

/// How much an answer allows.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::ExplicitlyDenied | Verdict::ImplicitlyDenied => 0,
        Verdict::Unknown => 1,
        Verdict::Allowed => 2,
    }
}

/// All places hold the same statements, but `place`, which has one more.
fn decided(
    statements: &[Value],
    extra: Option<(&Value, usize)>,
    context: &Context,
    principal: &str,
    places: u8,
) -> Verdict {
    let compiled = |place: usize| {
        let mut all = statements.to_vec();
        if let Some((more, at)) = extra
            && at == place
        {
            all.push(more.clone());
        }
        policy(&json!({"Version": "2012-10-17", "Statement": all}))
    };
    let all: Vec<Compiled> = (0..7).map(compiled).collect();
    let layer =
        |place: usize| if places >> place & 1 == 1 { Layer::Known(vec![&all[place]]) } else { Layer::Absent };
    let levels =
        |place: usize| if places >> place & 1 == 1 { vec![Layer::Known(vec![&all[place]])] } else { vec![] };
    let policies = Policies {
        identity: layer(0),
        resource: layer(1),
        boundary: layer(2),
        session: layer(3),
        scps: levels(4),
        rcps: levels(5),
        endpoint: layer(6),
    };
    let principal = Principal::parse(principal).unwrap().with_role(APPLY_ROLE);
    let request = Request::new(principal, "s3:DeleteObject", &format!("{BUCKET}/{LOCK}"), context.clone());
    decide(&request.owned_by(OWNER), &policies).verdict
}

fn principals() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            APPLY_SESSION,
            APPLY_ROLE,
            "arn:aws:iam::111122223333:user/ann",
            "arn:aws:iam::444455556666:user/ann",
            "arn:aws:iam::111122223333:root",
            "arn:aws:sts::111122223333:federated-user/ann",
            "logging.s3.amazonaws.com",
            "anonymous",
        ][..],
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn one_more_deny_never_allows_more(
        given in prop::collection::vec(any_statement(), 0..4), more in statements("Deny"), context in contexts(),
        principal in principals(), places in 0_u8..128, at in 0_usize..7,
    ) {
        let places = places | 1 << at;
        let before = decided(&given, None, &context, principal, places);
        let after = decided(&given, Some((&more, at)), &context, principal, places);
        prop_assert!(rank(after) <= rank(before), "{before:?} {after:?}");
    }

    #[test]
    fn one_more_allow_never_allows_less(
        given in prop::collection::vec(any_statement(), 0..4), more in statements("Allow"), context in contexts(),
        principal in principals(), places in 0_u8..128, at in 0_usize..7,
    ) {
        // Without one of the two an Allow is not one, but a statement that AWS would refuse.
        prop_assume!(more.get("NotPrincipal").is_none());
        let places = places | 1 << at;
        let before = decided(&given, None, &context, principal, places);
        let after = decided(&given, Some((&more, at)), &context, principal, places);
        prop_assert!(rank(after) >= rank(before), "{before:?} {after:?}");
    }

    /// A key that becomes known decides between what was open, and nothing else.
    #[test]
    fn to_know_more_never_turns_a_certain_answer(
        given in prop::collection::vec(any_statement(), 0..4), principal in principals(), places in 0_u8..128,
        value in prop::sample::select(&["vpce-1", "*", "prod", ""][..]),
    ) {
        let known = context("aws:PrincipalArn=arn:aws:iam::111122223333:role/ci/tf-apply, aws:TagKeys=a");
        let open = decided(&given, None, &known.clone().not_known("aws:SourceVpce"), principal, places);
        for answer in [
            decided(&given, None, &known.clone().with("aws:SourceVpce", value), principal, places),
            decided(&given, None, &known.without("aws:SourceVpce"), principal, places),
        ] {
            prop_assert!(open == Verdict::Unknown || rank(open) == rank(answer) || answer == Verdict::Unknown, "{open:?} {answer:?}");
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}", pattern in "[a:*?${}/,' ]{0,40}", value in "[a:*?${}/,' ]{0,40}") {
        let _ = Compiled::new(&text);
        let _ = read_cases(&text);
        let _ = Principal::parse(&text);
        let statement = json!({"Effect": "Deny", "Principal": {"AWS": pattern}, "Action": pattern, "Resource": pattern,
            "Condition": {"StringLike": {"k:a": pattern}, "ArnLike": {"k:a": pattern}, "IpAddress": {"k:a": pattern},
            "DateEquals": {"k:a": pattern}, "NumericEquals": {"k:a": pattern}, pattern.clone(): {pattern.clone(): pattern}}});
        let policies = [policy(&json!({"Version": "2012-10-17", "Statement": statement}))];
        let request = Request::new(session("a"), &value, &value, Context::new().with("k:a", &value).with("a", &value));
        let layer = || Layer::of(&policies);
        let _ = decide(&request, &Policies { identity: layer(), resource: layer(), ..Policies::default() });
    }
}
