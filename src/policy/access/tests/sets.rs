//! The sets, for policies whose answer is known.

use super::*;
use crate::policy::access::{Certainty, Holder, Part, ScpInput};

fn names(holders: &[Holder]) -> Vec<&str> {
    holders.iter().map(|holder| holder.principal.as_str()).collect()
}

const ROOT: &str = "arn:aws:iam::111122223333:root";

fn everybody<'a>(policy: &'a str) -> AccessInput<'a> {
    let mut input = with_policy(input(), policy);
    input.scps = vec![ScpInput { account: None, levels: Vec::new() }];
    input.rcps = Some(Vec::new());
    with(
        input,
        vec![
            principal(ADMIN, EVERYTHING),
            principal(APPLY, LOCKER),
            principal(PLAN, LOCKER),
            principal(BREAK_GLASS, EVERYTHING),
            principal(STATE_ADMIN, EVERYTHING),
            principal("arn:aws:iam::111122223333:role/reader", r#"{"Statement": []}"#),
        ],
    )
}

#[test]
fn the_recommended_policy_leaves_locks_to_those_it_names() {
    let report = judge(&everybody(RECOMMENDED));
    let [group] = report.access.locks.as_slice() else { panic!("{:#?}", report.access.locks) };
    assert_eq!(group.keys, ["any-state.tflock", "env:/any-workspace/prod/terraform.tfstate.tflock", LOCK]);
    assert_eq!(names(&group.can_delete), [BREAK_GLASS, APPLY, PLAN]);
    assert_eq!(names(&group.can_delete_version), [BREAK_GLASS]);
    assert_eq!(names(&group.can_overwrite), [""; 0]);
    assert_eq!(names(&group.can_create), [APPLY, PLAN]);
    assert_eq!(names(&group.cannot_release), [""; 0]);
    assert_eq!(
        group.can_delete[0].certainty,
        Certainty::Conditional {
            conditions: vec!["only with `If-Match`".to_owned()],
            statements: Vec::new()
        }
    );
    assert_eq!(
        (group.can_delete[1].certainty.clone(), group.can_delete[1].part),
        (Certainty::Certain, Part::Runner)
    );
    let strip: Vec<(&str, usize)> = report
        .access
        .can_strip
        .iter()
        .map(|holder| (holder.principal.as_str(), holder.actions.len()))
        .collect();
    // Public access and ownership are not among what that policy guards; root keeps the policy.
    assert_eq!(strip, [(ADMIN, 2), (BREAK_GLASS, 7), (STATE_ADMIN, 7), (ROOT, 4)]);
    let findings: Vec<(&str, &str)> =
        report.findings.iter().map(|found| (found.rule, found.subject.as_str())).collect();
    assert_eq!(
        findings,
        [
            ("exempt-role-open-to-others", BREAK_GLASS),
            ("exempt-role-open-to-others", APPLY),
            ("exempt-role-open-to-others", PLAN),
        ]
    );
    assert!(report.findings[0].message.contains(ADMIN), "{:?}", report.findings[0]);
}

#[test]
fn without_a_policy_whoever_has_rights_can_do_everything() {
    let mut input = everybody("{}");
    input.bucket.policy = Reading::Absent;
    let report = judge(&input);
    let [group] = report.access.locks.as_slice() else { panic!() };
    assert_eq!(names(&group.can_delete), [ADMIN, BREAK_GLASS, APPLY, PLAN, STATE_ADMIN, ROOT]);
    assert_eq!(names(&group.can_overwrite), [ADMIN, BREAK_GLASS, APPLY, PLAN, STATE_ADMIN, ROOT]);
    assert_eq!(names(&group.can_delete_version), [ADMIN, BREAK_GLASS, STATE_ADMIN, ROOT]);
    let unlimited = of(&report, "lock-delete-unlimited");
    assert_eq!(unlimited.len(), 1);
    assert!(unlimited[0].message.contains("(now `arn:aws:iam::111122223333:role/AdministratorAccess`)"));
}

#[test]
fn what_depends_on_the_request_is_conditional_and_names_its_statement() {
    let policy = r#"{"Statement": [{"Sid": "Net", "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject*",
        "Resource": "arn:aws:s3:::acme-tfstate/*", "Condition": {"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}}]}"#;
    let report = judge(&everybody(policy));
    let holder = report.access.locks[0].can_delete.iter().find(|holder| holder.principal == ADMIN).unwrap();
    assert_eq!(
        holder.certainty,
        Certainty::Conditional {
            conditions: vec!["not aws:SourceVpce (StringNotEquals vpce-1)".to_owned()],
            statements: vec!["the bucket policy, statement 1 (Net)".to_owned()],
        }
    );
    let found = of(&report, "lock-delete-exemption-not-a-principal");
    assert_eq!(found[0].statement.as_deref(), Some("the bucket policy, statement 1 (Net)"));
    assert!(of(&report, "lock-delete-denies-runner").is_empty());
}

#[test]
fn control_policies_that_nobody_supplied_make_certain_answers_conditional() {
    let mut input = everybody(RECOMMENDED);
    input.scps.clear();
    input.rcps = None;
    let report = judge(&input);
    let holder = &report.access.locks[0].can_create[0];
    let Certainty::Conditional { conditions, .. } = &holder.certainty else { panic!("{holder:?}") };
    assert_eq!(conditions, &["no service or resource control policy forbids it (none was supplied)"]);
    assert!(report.access.limits.iter().any(|limit| limit.contains("were not supplied")));
    // One kind alone is named alone.
    let mut input = everybody(RECOMMENDED);
    input.rcps = None;
    let holder = judge(&input).access.locks[0].can_create[0].clone();
    let Certainty::Conditional { conditions, .. } = &holder.certainty else { panic!("{holder:?}") };
    assert_eq!(conditions, &["no resource control policy forbids it (none was supplied)"]);
    // It is said once, and is no finding.
    assert!(of(&report, "access-not-known").is_empty());
}

#[test]
fn a_service_control_policy_takes_rights_from_a_runner() {
    let deny = r#"{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": "s3:DeleteObject", "Resource": "*"}]}"#;
    let mut input = everybody(RECOMMENDED);
    input.scps = vec![ScpInput {
        account: Some(ACCOUNT),
        levels: vec![vec![NamedPolicy { name: "p-1", text: deny }]],
    }];
    let report = judge(&input);
    assert_eq!(names(&report.access.locks[0].can_delete), [""; 0]);
    assert_eq!(names(&report.access.locks[0].cannot_release), [APPLY, PLAN]);
    let found = of(&report, "runner-limited-by-boundary");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].statement.as_deref(), Some("service control policy p-1, statement 2"));
    assert!(found[0].message.contains("can't delete"), "{}", found[0].message);
}

#[test]
fn a_limit_does_not_hide_what_the_role_itself_lacks() {
    let locker = LOCKER.replace("\"s3:DeleteObject\"", "\"s3:GetObject\"");
    let deny = r#"{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": "s3:DeleteObject*", "Resource": "*"}]}"#;
    let found = |own: &str| {
        let mut input = with(everybody(RECOMMENDED), vec![principal(APPLY, own)]);
        input.scps = vec![ScpInput {
            account: Some(ACCOUNT),
            levels: vec![vec![NamedPolicy { name: "p-1", text: deny }]],
        }];
        let report = judge(&input);
        (of(&report, "runner-cannot-delete-lock").len(), of(&report, "runner-limited-by-boundary").len())
    };
    assert_eq!(found(&locker), (1, 0), "its own policies have to change first");
    assert_eq!(found(LOCKER), (0, 1), "its own policies allow it");
}

#[test]
fn roles_for_single_states_make_groups() {
    let own = r#"{"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::acme-tfstate/b/*"}]}"#;
    let mut input = with(input(), vec![principal("arn:aws:iam::111122223333:role/b", own)]);
    input.states = vec![state("a/s"), state("b/s")];
    let report = judge(&input);
    let groups: Vec<Vec<&str>> =
        report.access.locks.iter().map(|group| group.keys.iter().map(String::as_str).collect()).collect();
    assert_eq!(
        groups,
        [
            vec![
                "a/s.tflock",
                "any-state.tflock",
                "env:/any-workspace/a/s.tflock",
                "env:/any-workspace/b/s.tflock"
            ],
            vec!["b/s.tflock"]
        ]
    );
    assert_eq!(names(&report.access.locks[1].can_delete), ["arn:aws:iam::111122223333:role/b", ROOT]);
}

#[test]
fn a_policy_that_was_not_read_makes_nothing_certain_but_what_others_deny() {
    let mut input = everybody("{}");
    input.bucket.policy = Reading::Failed("AccessDenied".to_owned());
    let report = judge(&input);
    let admin = report.access.locks[0].can_delete.iter().find(|holder| holder.principal == ADMIN).unwrap();
    assert_eq!(
        admin.certainty,
        Certainty::Unknown { why: vec!["not read: the resource's policy".to_owned()] }
    );
    let found = of(&report, "access-not-known");
    assert!(found[0].message.contains("could not be read: AccessDenied"), "{found:?}");
    // Nothing is said that would need it.
    assert!(!ids(&report).contains(&"lock-delete-unlimited"));
}

#[test]
fn runners_are_guessed_from_names_and_rights_and_marked() {
    let mut input = everybody(RECOMMENDED);
    input.roles = RolePatterns::default();
    let report = judge(&input);
    let roles: Vec<(&str, Part, Option<&str>)> = report
        .access
        .roles
        .iter()
        .map(|role| (role.arn.as_str(), role.part, role.guess.as_deref()))
        .collect();
    assert_eq!(
        roles,
        [
            (BREAK_GLASS, Part::BreakGlass, Some("its name")),
            (APPLY, Part::Runner, Some("its name, it may create and delete locks")),
            (PLAN, Part::Plan, Some("its name, it may create and delete locks")),
        ]
    );
}

#[test]
fn without_principals_configured_roles_are_asked_with_assumed_rights() {
    let mut input = with_policy(input(), RECOMMENDED);
    input.roles.runners.push("arn:aws:iam::111122223333:role/other/*");
    let report = judge(&input);
    assert!(!report.access.principals_read);
    let create = &report.access.locks[0].can_create;
    assert_eq!(names(create), [APPLY, PLAN]);
    assert!(create.iter().all(|holder| holder.assumed));
    assert!(
        report.access.limits.iter().any(|limit| limit.contains("role/other/*")),
        "{:?}",
        report.access.limits
    );
    assert_eq!(found(&with_policy(super::input(), RECOMMENDED)), [""; 0]);
}

#[test]
fn unique_ids_decide_for_known_roles_and_session_names_stay_open() {
    let policy = |values: &str| {
        format!(
            r#"{{"Statement": [{{"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject",
            "Resource": "arn:aws:s3:::acme-tfstate/*", "Condition": {{"StringNotLike": {{"aws:userid": "{values}"}}}}}}]}}"#
        )
    };
    let all = policy("AROAEXAMPLEROLE:*");
    let report = judge(&everybody(&all));
    assert!(names(&report.access.locks[0].can_delete).contains(&APPLY));
    let one = policy("AROAEXAMPLEROLE:deploy");
    let report = judge(&everybody(&one));
    let apply = report.access.locks[0].can_delete.iter().find(|holder| holder.principal == APPLY).unwrap();
    assert!(matches!(apply.certainty, Certainty::Conditional { .. }), "{apply:?}");
}

#[test]
fn an_owner_that_nobody_knows_is_not_taken_for_another_account() {
    let mut input = everybody(r#"{"Statement": []}"#);
    input.bucket.account = None;
    input.roles = RolePatterns::default();
    input.accounts = vec![ACCOUNT, "444455556666"];
    let report = judge(&input);
    let group = &report.access.locks[0];
    let admin = group.can_delete.iter().find(|holder| holder.principal == ADMIN).unwrap();
    assert_eq!(
        admin.certainty,
        Certainty::Unknown { why: vec!["the account that owns the resource".to_owned()] }
    );
    assert_eq!(of(&report, "lock-delete-unlimited").len(), 1);
    // One account alone is taken for the owner, and that is said.
    input.accounts = vec![ACCOUNT];
    let report = judge(&input);
    let admin = report.access.locks[0].can_delete.iter().find(|holder| holder.principal == ADMIN).unwrap();
    assert_eq!(admin.certainty, Certainty::Certain);
    assert!(
        report.access.limits.iter().any(|limit| limit.contains("taken to belong to account 111122223333"))
    );
}

#[test]
fn the_statement_that_is_named_is_about_callers() {
    let policy = r#"{"Statement": [{"Sid": "Tls", "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}}}, {"Sid": "Limit", "Effect": "Deny",
        "Principal": "*", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::acme-tfstate/prod/*",
        "Condition": {"ArnNotLike": {"aws:PrincipalArn": "arn:aws:iam::111122223333:role/ci/tf-*"}}}]}"#;
    let report = judge(&everybody(policy));
    let found = of(&report, "lock-delete-limit-misses-keys");
    assert_eq!(found[0].statement.as_deref(), Some("the bucket policy, statement 2 (Limit)"));
    assert_eq!(
        found[0].message,
        "deleting locks is limited, but not for `env:/any-workspace/prod/terraform.tfstate.tflock`"
    );
}

#[test]
fn principals_of_other_accounts_that_the_policy_names_are_in_the_sets() {
    let policy = |allowed: &str| {
        format!(
            r#"{{"Statement": [{{"Sid": "NoDelete", "Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject*",
            "Resource": "arn:aws:s3:::acme-tfstate/*.tflock", "Condition": {{"ArnNotLike": {{"aws:PrincipalArn":
            ["{APPLY}", "arn:aws:iam::444455556666:role/contractor"]}}}}}},
            {{"Sid": "Guest", "Effect": "Allow", "Principal": {{"AWS": "{allowed}"}}, "Action": "s3:*",
            "Resource": ["arn:aws:s3:::acme-tfstate", "arn:aws:s3:::acme-tfstate/*"]}}]}}"#
        )
    };
    let who = |policy: &str, delete: bool| -> Vec<String> {
        let report = judge(&everybody(policy));
        let lock = &report.access.locks[0];
        let holders = if delete { &lock.can_delete } else { &lock.can_overwrite };
        holders.iter().map(|holder| holder.principal.clone()).filter(|name| name.contains("4444")).collect()
    };
    // Let in and exempt: it may delete. The rest of its account is not let in.
    let contractor = policy("arn:aws:iam::444455556666:role/contractor");
    assert_eq!(who(&contractor, true), ["arn:aws:iam::444455556666:role/contractor"]);
    let report = judge(&everybody(&contractor));
    let broad = of(&report, "lock-delete-exemption-broad");
    assert!(broad.iter().any(|finding| finding.message.contains("444455556666")), "{broad:#?}");
    // Its whole account is let in: the exempt role may delete, any other may write and not delete.
    let root = policy("arn:aws:iam::444455556666:root");
    assert_eq!(who(&root, true), ["arn:aws:iam::444455556666:role/contractor"]);
    assert_eq!(
        who(&root, false),
        ["any role of account 444455556666", "arn:aws:iam::444455556666:role/contractor"]
    );
    // Exempt alone lets nobody of another account in.
    assert_eq!(who(&policy("arn:aws:iam::111122223333:role/other"), true), [] as [&str; 0]);
}

#[test]
fn a_policy_that_exempts_only_who_is_not_there_is_left_to_the_root_user() {
    let policy = |admin: &str| {
        format!(
            r#"{{"Statement": [{{"Sid": "Guard", "Effect": "Deny", "Principal": "*",
            "Action": ["s3:PutBucketPolicy", "s3:DeleteBucketPolicy"], "Resource": "arn:aws:s3:::acme-tfstate",
            "Condition": {{"ArnNotLike": {{"aws:PrincipalArn": "{admin}"}}}}}}]}}"#
        )
    };
    let found = |admin: &str| {
        let text = policy(admin);
        let mut input = everybody(&text);
        input.roles.admins = Vec::new();
        of(&judge(&input), "bucket-policy-locks-everyone-out").len()
    };
    assert_eq!(found("arn:aws:iam::111122223333:role/typo-admin"), 1);
    assert_eq!(found(ADMIN), 0, "the administrator can");
}
