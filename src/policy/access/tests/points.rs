//! Requests through access points: what they open, and what they don't.

use super::*;
use crate::policy::access::{AccessPointInput, BlockPublicAccess, Certainty, Holder};

const ARN: &str = "arn:aws:s3:eu-west-1:111122223333:accesspoint/reports";
const APP: &str = "arn:aws:iam::111122223333:role/app";
const FOREIGN: &str = "arn:aws:iam::444455556666:role/partner";

/// Keeps everybody but the runners from deleting locks; says nothing of how they come.
const CLOSED: &str = r#"{"Statement": [{"Effect": "Deny", "Principal": "*",
    "Action": ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:PutObject"], "Resource": "arn:aws:s3:::acme-tfstate/*.tflock",
    "Condition": {"ArnNotLike": {"aws:PrincipalArn": ["arn:aws:iam::111122223333:role/ci/*",
        "arn:aws:iam::111122223333:role/break-glass"]}}}]}"#;

/// The same, but for requests through access points of the account.
fn ajar() -> String {
    let exception = r#""Condition": {"StringNotEquals": {"s3:DataAccessPointAccount": "111122223333"}, "#;
    CLOSED.replace(r#""Condition": {"#, exception)
}

/// Hands everything to the account's access points, as AWS's guide recommends.
const DELEGATED: &str = r#"{"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "*",
    "Resource": ["arn:aws:s3:::acme-tfstate", "arn:aws:s3:::acme-tfstate/*"],
    "Condition": {"StringEquals": {"s3:DataAccessPointAccount": "111122223333"}}}]}"#;

/// On locks through the access point.
fn letting(who: &str, action: &str) -> String {
    format!(
        r#"{{"Statement": [{{"Effect": "Allow", "Principal": {who}, "Action": "{action}",
        "Resource": "{ARN}/object/*"}}]}}"#
    )
}

fn with_point<'a>(mut input: AccessInput<'a>, policy: Reading<&'a str>) -> AccessInput<'a> {
    let point = AccessPointInput { name: "reports", arn: ARN, policy, ..AccessPointInput::default() };
    input.bucket.region = Some("eu-west-1");
    input.bucket.access_points = Reading::Known(vec![point]);
    input
}

/// Without policies of an organization what is sure stays sure.
fn judged(input: &AccessInput<'_>) -> AccessReport {
    let mut input = input.clone();
    input.scps = vec![crate::policy::access::ScpInput::default()];
    input.rcps = Some(Vec::new());
    judge(&input)
}

/// Who can delete the expected lock, and under which conditions.
fn deleting<'r>(report: &'r AccessReport, who: &str) -> Vec<&'r Certainty> {
    let group = report.access.locks.iter().find(|group| group.keys.iter().any(|key| key == LOCK)).unwrap();
    let of = |holder: &&Holder| holder.principal == who;
    group.can_delete.iter().filter(of).map(|holder| &holder.certainty).collect()
}

fn only_through(condition: &str) -> Certainty {
    Certainty::Conditional { conditions: vec![condition.to_owned()], statements: Vec::new() }
}

#[test]
fn a_deny_that_makes_an_exception_for_access_points_is_found_and_one_without_is_not() {
    let ajar = ajar();
    let roles = || vec![principal(APPLY, LOCKER), principal(ADMIN, EVERYTHING)];
    let open = with_point(with(with_policy(input(), &ajar), roles()), Reading::Absent);
    let report = judged(&open);
    let found = of(&report, "access-point-opens-locks");
    assert_eq!(found.len(), 2, "deletes and overwrites: {found:?}");
    assert_eq!(found[0].severity, Severity::High);
    assert!(
        found[0].message.contains("access point `reports`")
            && found[0].message.contains("AdministratorAccess")
    );
    assert_eq!(found[0].statement.as_deref(), Some("the bucket policy, statement 1"));
    assert_eq!(deleting(&report, ADMIN), [&only_through("through access point `reports`")]);
    assert_eq!(deleting(&report, APPLY), [&Certainty::Certain], "directly: no detour is told");
    // The Deny holds for requests through access points, too.
    let closed = with_point(with(with_policy(input(), CLOSED), roles()), Reading::Absent);
    let report = judged(&closed);
    assert!(of(&report, "access-point-opens-locks").is_empty());
    assert!(deleting(&report, ADMIN).is_empty());
    // Nobody made an access point.
    let none = with(with_policy(input(), &ajar), roles());
    assert!(of(&judged(&none), "access-point-opens-locks").is_empty());
    // The access point's own policy closes it.
    let deny = letting(r#""*""#, "s3:*").replace("Allow", "Deny");
    let shut = with_point(with(with_policy(input(), &ajar), roles()), Reading::Known(&deny));
    assert!(of(&judged(&shut), "access-point-opens-locks").is_empty());
}

#[test]
fn an_access_points_grant_counts_as_far_as_the_bucket_policy_gives_the_same() {
    let nothing = r#"{"Statement": []}"#;
    let grant = letting(&format!(r#"{{"AWS": "{APP}"}}"#), "s3:DeleteObject");
    let of_app = |bucket| {
        let input = with(with_policy(input(), bucket), vec![principal(APP, nothing)]);
        judged(&with_point(input, Reading::Known(&grant)))
    };
    assert_eq!(deleting(&of_app(DELEGATED), APP), [&only_through("through access point `reports`")]);
    assert!(deleting(&of_app(nothing), APP).is_empty(), "the access point's policy alone is not enough");
    // The role's own policy names the access point: in one account that is enough where the bucket policy is silent.
    let own = format!(
        r#"{{"Statement": [{{"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "{ARN}/object/*"}}]}}"#
    );
    let input = with(with_policy(input(), nothing), vec![principal(APP, &own)]);
    let report = judged(&with_point(input.clone(), Reading::Absent));
    assert_eq!(deleting(&report, APP), [&only_through("through access point `reports`")]);
    assert!(deleting(&judged(&input), APP).is_empty());
}

#[test]
fn across_accounts_all_three_must_allow() {
    let own = format!(
        r#"{{"Statement": [{{"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "{ARN}/object/*"}}]}}"#
    );
    let grant = letting(&format!(r#"{{"AWS": "{FOREIGN}"}}"#), "s3:DeleteObject");
    let nothing = r#"{"Statement": []}"#;
    for (bucket, point, identity, may) in [
        (DELEGATED, grant.as_str(), own.as_str(), true),
        (nothing, &grant, &own, false),
        (DELEGATED, nothing, &own, false),
        (DELEGATED, &grant, nothing, false),
    ] {
        let input = with(with_policy(input(), bucket), vec![principal(FOREIGN, identity)]);
        let report = judged(&with_point(input, Reading::Known(point)));
        assert_eq!(deleting(&report, FOREIGN).len(), usize::from(may), "{bucket} {point} {identity}");
    }
}

#[test]
fn a_public_access_point_is_critical_unless_its_block_or_the_accounts_restricts_it() {
    let public = letting(r#""*""#, "s3:DeleteObject");
    let off = Reading::Known(BlockPublicAccess::default());
    let on =
        Reading::Known(BlockPublicAccess { restrict_public_buckets: true, ..BlockPublicAccess::default() });
    let severities =
        |block: &Reading<BlockPublicAccess>, account: &Reading<BlockPublicAccess>| -> Vec<Severity> {
            let mut input = with_point(with_policy(input(), DELEGATED), Reading::Known(&public));
            if let Reading::Known(points) = &mut input.bucket.access_points {
                points[0].public_access_block = block.clone();
            }
            input.bucket.account_public_access_block = account.clone();
            let report = judged(&input);
            of(&report, "access-point-opens-locks").iter().map(|finding| finding.severity).collect()
        };
    assert_eq!(severities(&off, &Reading::Absent), [Severity::Critical]);
    assert_eq!(severities(&on, &Reading::Absent), []);
    assert_eq!(severities(&off, &on), []);
    assert_eq!(severities(&Reading::Failed("AccessDenied".into()), &Reading::Absent), [], "not sure");
}

#[test]
fn a_vpc_is_a_condition_and_what_was_not_read_is_not_certain() {
    let ajar = ajar();
    let mut vpc =
        with_point(with(with_policy(input(), &ajar), vec![principal(ADMIN, EVERYTHING)]), Reading::Absent);
    if let Reading::Known(points) = &mut vpc.bucket.access_points {
        points[0].vpc = Some("vpc-1");
    }
    assert_eq!(deleting(&judged(&vpc), ADMIN), [&only_through("through access point `reports`, from vpc-1")]);
    let failed = Reading::Failed("AccessDenied".to_owned());
    let unread = with_point(with(with_policy(input(), &ajar), vec![principal(ADMIN, EVERYTHING)]), failed);
    let report = judged(&unread);
    assert!(matches!(deleting(&report, ADMIN).as_slice(), [Certainty::Unknown { .. }]), "{report:?}");
    let messages: Vec<&str> =
        of(&report, "access-not-known").iter().map(|finding| finding.message.as_str()).collect();
    assert!(
        messages.iter().any(|message| message.contains("reports could not be read: AccessDenied")),
        "{messages:?}"
    );
    let mut unlisted = input();
    unlisted.bucket.access_points = Reading::Failed("AccessDenied".into());
    let report = judged(&unlisted);
    let message = "which access points lead to locks is not known: AccessDenied";
    assert!(of(&report, "access-not-known").iter().any(|finding| finding.message == message));
}
