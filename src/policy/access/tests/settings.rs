//! Rules about settings, and the rest of what no case of the fixtures covers: each fires, and has a near miss.

use super::*;
use crate::policy::access::{AccessPointInput, BlockPublicAccess, ScpInput};

const LIMIT_ALL: &str = r#"{"Statement": [{"Effect": "Deny", "Principal": "*",
    "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion"], "Resource": "arn:aws:s3:::acme-tfstate/*.tflock",
    "Condition": {"ArnNotLike": {"aws:PrincipalArn": ["arn:aws:iam::111122223333:role/ci/tf-apply",
        "arn:aws:iam::111122223333:role/ci/tf-plan", "arn:aws:iam::111122223333:role/break-glass"]}}}]}"#;

fn fires(rule: &str, bad: &AccessInput<'_>, good: &AccessInput<'_>) {
    assert!(found(bad).contains(&rule), "{rule} on bad: {:?}", found(bad));
    assert!(!found(good).contains(&rule), "{rule} on good: {:?}", found(good));
}

#[test]
fn denying_versions_in_a_bucket_without_versions_stops_unlocking() {
    let policy =
        LIMIT_ALL.replace(r#"["s3:DeleteObject", "s3:DeleteObjectVersion"]"#, r#""s3:DeleteObject""#);
    let split = policy.replace(
        r#"{"Statement": ["#,
        r#"{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObjectVersion",
            "Resource": "arn:aws:s3:::acme-tfstate/*"}, "#,
    );
    let unversioned = |text| {
        let mut input = with_policy(input(), text);
        input.bucket.versioning = Reading::Absent;
        input
    };
    fires("unversioned-delete-version-denied", &unversioned(&split), &with_policy(input(), &split));
    // The roles lack the right without any Deny that hits them: S3 does not mind.
    assert!(!found(&unversioned(LIMIT_ALL)).contains(&"unversioned-delete-version-denied"));
}

#[test]
fn mfa_delete_and_acls() {
    let mut bad = input();
    bad.bucket.mfa_delete = true;
    fires("bucket-mfa-delete", &bad, &input());
    for (ownership, fires) in [
        (Reading::Known("ObjectWriter"), true),
        (Reading::Absent, true),
        (Reading::Known("BucketOwnerEnforced"), false),
        (Reading::NotAsked, false),
        (Reading::Failed("AccessDenied".into()), false),
    ] {
        let mut input = input();
        input.bucket.ownership = ownership;
        assert_eq!(found(&input).contains(&"bucket-acls-active"), fires, "{:?}", input.bucket.ownership);
    }
}

const ALL_ON: BlockPublicAccess = BlockPublicAccess {
    block_public_acls: true,
    ignore_public_acls: true,
    block_public_policy: true,
    restrict_public_buckets: true,
};

#[test]
fn public_access_is_blocked_by_the_bucket_or_by_its_account() {
    let mut good = input();
    good.bucket.public_access_block = Reading::Known(ALL_ON);
    let mut bad = good.clone();
    bad.bucket.public_access_block =
        Reading::Known(BlockPublicAccess { block_public_policy: false, ..ALL_ON });
    bad.bucket.account_public_access_block = Reading::Absent;
    fires("bucket-public-access-not-blocked", &bad, &good);
    let found = judge(&bad);
    let found = of(&found, "bucket-public-access-not-blocked");
    assert_eq!(found[0].message, "BlockPublicPolicy is off for the bucket and not for its account either");
    assert_eq!(found[0].severity, Severity::High);
    good.bucket.public_access_block = Reading::Absent;
    good.bucket.account_public_access_block = Reading::Known(ALL_ON);
    assert!(!super::found(&good).contains(&"bucket-public-access-not-blocked"));
    // Nobody knows what the account says.
    bad.bucket.account_public_access_block = Reading::NotAsked;
    let report = judge(&bad);
    assert_eq!(of(&report, "bucket-public-access-not-blocked")[0].severity, Severity::Medium);
}

#[test]
fn a_restricted_public_policy_cuts_other_accounts_off() {
    let open = r#"{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::acme-tfstate/*"}]}"#;
    let fixed = r#"{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::acme-tfstate/*", "Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}]}"#;
    let restricted = |text| {
        let mut input = with_policy(input(), text);
        input.bucket.public_access_block = Reading::Known(ALL_ON);
        input
    };
    fires("public-policy-cuts-other-accounts", &restricted(open), &restricted(fixed));
    assert!(!found(&with_policy(input(), open)).contains(&"public-policy-cuts-other-accounts"));
    // What is only held back by a setting is no longer critical.
    let writes = open.replace("GetObject", "DeleteObject");
    let report = judge(&restricted(&writes));
    assert_eq!(of(&report, "lock-open-to-everyone")[0].severity, Severity::High);
    let open = judge(&with_policy(input(), &writes));
    assert_eq!(of(&open, "lock-open-to-everyone")[0].severity, Severity::Critical);
}

fn point(name: &'static str) -> AccessPointInput<'static> {
    let arn = "arn:aws:s3:eu-west-1:111122223333:accesspoint/ap";
    AccessPointInput { name, arn, policy: Reading::Absent, ..AccessPointInput::default() }
}

#[test]
fn access_points_lead_around_a_deny_on_the_buckets_arn() {
    let scp = r#"{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny",
        "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::acme-tfstate/*.tflock"}]}"#;
    let wide = scp.replace("arn:aws:s3:::acme-tfstate/*.tflock", "arn:aws:s3:*/*.tflock");
    let with_scp = |text, points: Vec<&'static str>| {
        let mut input = input();
        input.scps = vec![ScpInput { account: None, levels: vec![vec![NamedPolicy { name: "p-1", text }]] }];
        input.bucket.access_points = Reading::Known(points.into_iter().map(point).collect());
        input
    };
    fires("deny-misses-access-points", &with_scp(scp, vec!["ap"]), &with_scp(scp, Vec::new()));
    assert!(!found(&with_scp(&wide, vec!["ap"])).contains(&"deny-misses-access-points"));
    // The access point's own policy closes what the Deny misses.
    let closed = r#"{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject",
        "Resource": "arn:aws:s3:eu-west-1:111122223333:accesspoint/ap/object/*.tflock"}]}"#;
    let mut shut = with_scp(scp, vec!["ap"]);
    shut.bucket.access_points =
        Reading::Known(vec![AccessPointInput { policy: Reading::Known(closed), ..point("ap") }]);
    assert!(!found(&shut).contains(&"deny-misses-access-points"));
    let mut here = with_scp(scp, vec!["ap"]);
    here.bucket.policy = Reading::Known(LIMIT_ALL);
    assert!(!found(&here).contains(&"deny-misses-access-points"));
}

#[test]
fn a_policy_near_its_limit() {
    let long = format!("{}{}", LIMIT_ALL, " ".repeat(16 * 1024));
    fires("bucket-policy-nearly-full", &with_policy(input(), &long), &with_policy(input(), LIMIT_ALL));
}

fn trusting<'a>(trust: &'a str) -> AccessInput<'a> {
    let apply = PrincipalInput { trust: Reading::Known(trust), ..principal(APPLY, LOCKER) };
    with(with_policy(input(), LIMIT_ALL), vec![apply])
}

#[test]
fn trust_policies_wider_than_one_subject() {
    let oidc = |condition: &str| {
        format!(
            r#"{{"Statement": [{{"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Principal": {{"Federated":
            "arn:aws:iam::111122223333:oidc-provider/token.actions.githubusercontent.com"}}, "Condition": {condition}}}]}}"#
        )
    };
    let key = "token.actions.githubusercontent.com:sub";
    let exact = oidc(&format!(r#"{{"StringEquals": {{"{key}": "repo:acme/infra:ref:refs/heads/main"}}}}"#));
    let one_repo = oidc(&format!(r#"{{"StringLike": {{"{key}": "repo:acme/infra:*"}}}}"#));
    let any_repo = oidc(&format!(r#"{{"StringLike": {{"{key}": "repo:acme/*"}}}}"#));
    let none = oidc("{}");
    let root = r#"{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"AWS": "arn:aws:iam::111122223333:root"}}]}"#;
    let all =
        r#"{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}]}"#;
    let external = r#"{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"AWS": "arn:aws:iam::444455556666:root"},
        "Condition": {"StringEquals": {"sts:ExternalId": "x"}}}]}"#;
    let role = r#"{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"AWS": "arn:aws:iam::111122223333:role/ci"}}]}"#;
    let cases = [
        (exact.as_str(), None),
        (&one_repo, None),
        (&any_repo, Some(Severity::High)),
        (&none, Some(Severity::High)),
        (root, Some(Severity::Low)),
        (all, Some(Severity::High)),
        (external, None),
        (role, None),
    ];
    for (trust, expected) in cases {
        let report = judge(&trusting(trust));
        let severity = of(&report, "exempt-role-open-to-others").first().map(|found| found.severity);
        assert_eq!(severity, expected, "{trust}");
    }
}

#[test]
fn a_limit_without_anybody_for_emergencies() {
    let mut bad = with_policy(input(), LIMIT_ALL);
    bad.roles.break_glass.clear();
    fires("no-break-glass-role", &bad, &with_policy(input(), LIMIT_ALL));
    bad.bucket.policy = Reading::Absent;
    // Nobody is kept out, so nobody is needed.
    assert!(!found(&bad).contains(&"no-break-glass-role"));
}

#[test]
fn what_is_not_understood_or_not_read_is_said() {
    let odd = LIMIT_ALL.replace("ArnNotLike", "ArnNearly");
    fires("access-not-known", &with_policy(input(), &odd), &with_policy(input(), LIMIT_ALL));
    fires("access-not-known", &with_policy(input(), "no JSON"), &input());
    let mut boundary = principal(APPLY, LOCKER);
    boundary.boundary = Reading::Failed("AccessDenied".into());
    let bad = with(input(), vec![boundary]);
    fires("access-not-known", &bad, &with(input(), vec![principal(APPLY, LOCKER)]));
    // A role of an account that was not read, where others were.
    let mut elsewhere = with(input(), vec![principal(APPLY, LOCKER)]);
    elsewhere.roles.runners.push("arn:aws:iam::444455556666:role/tf");
    let report = judge(&elsewhere);
    assert_eq!(of(&report, "access-not-known")[0].subject, "arn:aws:iam::444455556666:role/tf");
    assert_eq!(of(&report, "cross-account-one-sided").len(), 1);
}

#[test]
fn exemptions_that_name_nobody() {
    let all = || vec![principal(APPLY, LOCKER), principal(PLAN, LOCKER), principal(BREAK_GLASS, EVERYTHING)];
    let mut input = input();
    input.roles.admins.clear();
    let typo = LIMIT_ALL.replace("role/ci/tf-plan", "role/ci/tf-plam");
    fires(
        "exemption-names-nobody",
        &with(with_policy(input.clone(), &typo), all()),
        &with(with_policy(input.clone(), LIMIT_ALL), all()),
    );
    // Nobody knows where principals were not read.
    assert!(!found(&with_policy(input.clone(), &typo)).contains(&"exemption-names-nobody"));
    input.roles.admins.push("arn:aws:iam::111122223333:role/gone");
    let report = judge(&with(with_policy(input, LIMIT_ALL), all()));
    assert_eq!(of(&report, "exemption-names-nobody")[0].subject, "arn:aws:iam::111122223333:role/gone");
}

#[test]
fn directory_buckets_are_not_judged() {
    let mut bad = input();
    bad.bucket.name = "acme--euw1-az1--x-s3";
    assert_eq!(found(&bad), ["directory-bucket"]);
    let mut good = input();
    good.bucket.name = "acme-x-s3";
    assert!(!found(&good).contains(&"directory-bucket"));
}

#[test]
fn workspaces_that_nobody_has_are_less_urgent() {
    let own = r#"{"Statement": [{"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
        "Resource": "arn:aws:s3:::acme-tfstate/prod/*"}]}"#;
    for (workspaces, expected) in [
        (None, Severity::Medium),
        (Some(vec!["default"]), Severity::Low),
        (Some(vec!["default", "stg"]), Severity::Medium),
    ] {
        let mut input = with(input(), vec![principal(APPLY, own)]);
        input.states[0].workspaces = workspaces;
        let report = judge(&input);
        assert_eq!(of(&report, "workspace-locks-not-covered")[0].severity, expected);
    }
}

#[test]
fn a_lock_with_an_acl_needs_the_right_to_set_it() {
    let mut bad = with(input(), vec![principal(APPLY, LOCKER)]);
    bad.states[0].acl = true;
    fires("lock-tags-not-allowed", &bad, &with(input(), vec![principal(APPLY, LOCKER)]));
}

#[test]
fn a_guess_is_never_worse_than_medium() {
    let narrow = r#"{"Statement": [{"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"],
        "Resource": "arn:aws:s3:::acme-tfstate/*"}]}"#;
    let mut input = with(input(), vec![principal(APPLY, narrow)]);
    assert_eq!(of(&judge(&input), "runner-cannot-delete-lock")[0].severity, Severity::Critical);
    input.roles = RolePatterns::default();
    let report = judge(&input);
    let found = of(&report, "runner-cannot-delete-lock");
    assert_eq!(found[0].severity, Severity::Medium);
    assert!(found[0].message.contains("(it looks like a runner)"), "{}", found[0].message);
}

#[test]
fn an_exempt_principal_without_a_part_is_named() {
    let wide = LIMIT_ALL.replace("role/break-glass", "role/ops/*");
    let everybody = |arn| {
        let mut input =
            with(with_policy(input(), &wide), vec![principal(APPLY, LOCKER), principal(arn, EVERYTHING)]);
        input.roles.break_glass.clear();
        input
    };
    fires(
        "lock-delete-exemption-broad",
        &everybody("arn:aws:iam::111122223333:role/ops/anna"),
        &everybody("arn:aws:iam::111122223333:role/dev/anna"),
    );
}

#[test]
fn a_runners_statement_that_never_applies() {
    let inert = r#"{"Statement": [{"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::acme-tfstate"}]}"#;
    fires(
        "statement-never-applies",
        &with(input(), vec![principal(APPLY, inert)]),
        &with(input(), vec![principal(APPLY, LOCKER)]),
    );
}

#[test]
fn a_role_that_may_not_create_the_lock_is_told_by_which_statement() {
    let limit = |names: &str| {
        format!(
            r#"{{"Statement": [{{"Sid": "Planted", "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject",
            "Resource": "arn:aws:s3:::acme-tfstate/*.tflock",
            "Condition": {{"ArnNotLike": {{"aws:PrincipalArn": [{names}]}}}}}}]}}"#
        )
    };
    let (one, both) = (limit(&format!("\"{APPLY}\"")), limit(&format!("\"{APPLY}\", \"{PLAN}\"")));
    fires("runner-without-lock-rights", &with_policy(input(), &one), &with_policy(input(), &both));
    let report = judge(&with_policy(input(), &one));
    let found = of(&report, "runner-without-lock-rights");
    assert_eq!((found.len(), found[0].subject.as_str()), (1, PLAN));
    assert_eq!(found[0].statement.as_deref(), Some("the bucket policy, statement 1 (Planted)"));
}

#[test]
fn a_role_is_not_asked_about_states_of_others() {
    let own = r#"{"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::acme-tfstate/prod/*"}]}"#;
    let policy = r#"{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject",
        "Resource": "arn:aws:s3:::acme-tfstate/other/*.tflock", "Condition": {"ArnNotLike":
        {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/ci/other"}}}]}"#;
    let mut good = with(with_policy(input(), policy), vec![principal(APPLY, own)]);
    good.states.push(state("other/terraform.tfstate"));
    let mut bad = good.clone();
    bad.principals = Reading::Known(vec![principal(APPLY, EVERYTHING)]);
    fires("lock-delete-denies-runner", &bad, &good);
}

#[test]
fn usual_statements_about_transport_and_encryption_say_nothing_of_callers() {
    let policy = r#"{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}}}, {"Effect": "Deny", "Principal": "*",
        "Action": "s3:PutObject", "Resource": "arn:aws:s3:::acme-tfstate/*",
        "Condition": {"StringNotEquals": {"s3:x-amz-server-side-encryption": "aws:kms"}}}]}"#;
    let report = judge(&with_policy(input(), policy));
    assert_eq!(
        ids(&report),
        [
            "break-glass-deletes-blindly",
            "bucket-lifecycle-unprotected",
            "bucket-policy-unprotected",
            "bucket-settings-unprotected",
            "lock-delete-unlimited",
            "lock-overwrite-possible",
            "lock-planting-possible",
        ]
    );
    let overwrite = of(&report, "lock-overwrite-possible")[0].message.clone();
    assert!(
        overwrite.contains("(if not s3:x-amz-server-side-encryption (StringNotEquals aws:kms))"),
        "{overwrite}"
    );
}
