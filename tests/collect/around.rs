//! What lies around a bucket: access points, the account's public access block, and the policy simulator.

use lockshift::audit::collect::simulate;
use lockshift::audit::snapshot::{AccessPoint, PublicAccessBlock, Read};
use lockshift::policy::access::Question;

use super::support::double::{Double, Reply, Request};
use super::support::emulator::Emulator;
use super::support::isolated;
use super::*;

const ACCOUNT: &str = "111122223333";
const CONTROL: [(&str, &str); 1] =
    [("Authorization", "AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/s3/aws4_request")];

fn with_iam(url: &str) -> CollectOptions {
    CollectOptions { iam: true, ..options(url) }
}

/// STS and IAM of an account without anybody in it.
fn account(request: &Request) -> Option<Reply> {
    if request.body.contains("Action=GetCallerIdentity") {
        return Some(Reply::ok(format!(
            "<R><GetCallerIdentityResult><Account>{ACCOUNT}</Account></GetCallerIdentityResult></R>"
        )));
    }
    let nobody = "<R><GetAccountAuthorizationDetailsResult><IsTruncated>false</IsTruncated>\
                  </GetAccountAuthorizationDetailsResult></R>";
    if request.body.contains("Action=GetAccountAuthorizationDetails") {
        return Some(Reply::ok(nobody));
    }
    // `HEAD` of the bucket, with its expected owner.
    (request.method == "HEAD" && request.key().is_empty()).then(|| Reply::ok(""))
}

fn control(request: &Request) -> Option<&str> {
    request.path.strip_prefix("/v20180820/")
}

#[test]
fn access_points_are_read_with_their_policies_in_pages() {
    if !isolated(access_points_are_read_with_their_policies_in_pages) {
        return;
    }
    let listed = |name: &str, more: &str, token: &str| {
        format!(
            "<ListAccessPointsResult><AccessPointList><AccessPoint><Name>{name}</Name>{more}<Bucket>b</Bucket>\
             <AccessPointArn>arn:aws:s3:us-east-1:{ACCOUNT}:accesspoint/{name}</AccessPointArn></AccessPoint>\
             </AccessPointList>{token}</ListAccessPointsResult>"
        )
    };
    let double = Double::start(move |request| {
        let Some(path) = control(request) else { return account(request) };
        assert_eq!(request.header("x-amz-account-id"), Some(ACCOUNT));
        let signed = request.header("authorization").unwrap();
        assert!(
            signed.contains("/us-east-1/s3/aws4_request") && signed.contains("x-amz-account-id"),
            "{signed}"
        );
        assert!(request.header("x-amz-content-sha256").is_some());
        Some(match (path, request.parameter("nextToken")) {
            ("accesspoint", None) => {
                assert_eq!(request.parameter("bucket"), Some("b"));
                let vpc = "<VpcConfiguration><VpcId>vpc-1</VpcId></VpcConfiguration>";
                Reply::ok(listed("two", vpc, "<NextToken>t/+=</NextToken>"))
            }
            ("accesspoint", Some("t/+=")) => Reply::ok(listed("one", "", "")),
            ("accesspoint/one/policy", _) => Reply::error(404, "NoSuchAccessPointPolicy"),
            ("accesspoint/two/policy", _) => Reply::ok("<R><Policy>{&quot;Statement&quot;: []}</Policy></R>"),
            ("accesspoint/two", _) => Reply::ok(
                "<R><PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls><RestrictPublicBuckets>\
                 true</RestrictPublicBuckets></PublicAccessBlockConfiguration></R>",
            ),
            ("configuration/publicAccessBlock", _) => {
                Reply::error(404, "NoSuchPublicAccessBlockConfiguration")
            }
            other => panic!("{other:?}"),
        })
    });
    let snapshot = read(&named(&["b"], &[]), &with_iam(&double.url()));
    assert_eq!(unread(&snapshot), []);
    let seen = bucket(&snapshot, "b");
    assert_eq!(seen.account.as_deref(), Some(ACCOUNT));
    assert_eq!(seen.account_public_access_block, Read::Absent);
    let arn = |name: &str| format!("arn:aws:s3:us-east-1:{ACCOUNT}:accesspoint/{name}");
    let one =
        AccessPoint { name: "one".into(), arn: arn("one"), policy: Read::Absent, ..AccessPoint::default() };
    let two = AccessPoint {
        name: "two".into(),
        arn: arn("two"),
        vpc: Some("vpc-1".into()),
        policy: Read::Known(r#"{"Statement": []}"#.into()),
        public_access_block: Read::Known(PublicAccessBlock {
            block_public_acls: true,
            restrict_public_buckets: true,
            ..PublicAccessBlock::default()
        }),
    };
    assert_eq!(seen.access_points, Read::Known(vec![one, two]));
    let count = |name: &str| snapshot.stats.requests.get(name).copied().unwrap_or_default();
    assert_eq!(
        (count("ListAccessPoints"), count("GetAccessPointPolicy"), count("GetAccessPoint")),
        (2, 2, 1)
    );
    assert_eq!((count("GetCallerIdentity"), count("GetAccountPublicAccessBlock")), (1, 1));
}

#[test]
fn what_is_refused_is_said_with_the_action_that_is_missing() {
    if !isolated(what_is_refused_is_said_with_the_action_that_is_missing) {
        return;
    }
    let double = Double::start(|request| match control(request) {
        Some(_) => Some(Reply::error(403, "AccessDenied")),
        None => account(request),
    });
    let snapshot = read(&named(&["b"], &[]), &with_iam(&double.url()));
    let root = "arn:aws:iam::111122223333:root";
    assert_eq!(
        unread(&snapshot),
        [
            (root, "GetAccountPublicAccessBlock", Some("s3:GetAccountPublicAccessBlock"), false),
            ("s3://b", "ListAccessPoints", Some("s3:ListAccessPoints"), false),
        ]
    );
    let seen = bucket(&snapshot, "b");
    assert!(matches!(seen.access_points, Read::Failed(_)));
    assert!(matches!(seen.account_public_access_block, Read::Failed(_)));
}

#[test]
fn another_accounts_bucket_has_another_accounts_block_and_a_full_one_asks_for_none() {
    if !isolated(another_accounts_bucket_has_another_accounts_block_and_a_full_one_asks_for_none) {
        return;
    }
    let none = "<ListAccessPointsResult><AccessPointList/></ListAccessPointsResult>";
    let double = Double::start(move |request| match control(request) {
        Some("accesspoint") => Some(Reply::ok(none)),
        Some(other) => panic!("{other}"),
        None if request.method == "HEAD" && request.bucket() == "theirs" => {
            Some(Reply::error(403, "AccessDenied"))
        }
        None if request.parameter("publicAccessBlock").is_some() && request.bucket() == "ours" => {
            Some(Reply::ok(
                "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>true\
             </IgnorePublicAcls><BlockPublicPolicy>true</BlockPublicPolicy><RestrictPublicBuckets>true\
             </RestrictPublicBuckets></PublicAccessBlockConfiguration>",
            ))
        }
        None => account(request),
    });
    let snapshot = read(&named(&["ours", "theirs"], &[]), &with_iam(&double.url()));
    assert_eq!(unread(&snapshot), []);
    let of = |name: &str| bucket(&snapshot, name);
    assert_eq!((of("ours").account.as_deref(), of("theirs").account.as_deref()), (Some(ACCOUNT), None));
    for name in ["ours", "theirs"] {
        assert_eq!(of(name).account_public_access_block, Read::NotAsked);
        assert_eq!(of(name).access_points, Read::Known(Vec::new()));
    }
}

#[test]
fn without_iam_nothing_is_asked_of_a_store_that_is_not_aws() {
    if !isolated(without_iam_nothing_is_asked_of_a_store_that_is_not_aws) {
        return;
    }
    let double = Double::start(|request| {
        assert!(control(request).is_none() && !request.body.contains("GetCallerIdentity"));
        None
    });
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(bucket(&snapshot, "b").access_points, Read::NotAsked);
    assert_eq!(bucket(&snapshot, "b").account_public_access_block, Read::NotAsked);
}

#[test]
fn the_emulators_access_points_and_block_are_read() {
    if !isolated(the_emulators_access_points_and_block_are_read) {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    let own = [CONTROL[0], ("x-amz-account-id", "123456789012")];
    let put = |path: &str, body: &str| {
        let (status, answer) = emulator.request("PUT", &format!("/v20180820/{path}"), &own, body.as_bytes());
        assert!(status < 300, "{status} {answer}");
    };
    put(
        "accesspoint/reports",
        "<CreateAccessPointRequest><Bucket>tfstate</Bucket></CreateAccessPointRequest>",
    );
    let policy = "{\"Statement\": []}";
    put(
        "accesspoint/reports/policy",
        &format!("<PutAccessPointPolicyRequest><Policy>{policy}</Policy></PutAccessPointPolicyRequest>"),
    );
    put(
        "configuration/publicAccessBlock",
        "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls></PublicAccessBlockConfiguration>",
    );
    let snapshot = read(&named(&["tfstate"], &[]), &with_iam(&emulator.url()));
    assert_eq!(unread(&snapshot), []);
    let seen = bucket(&snapshot, "tfstate");
    let points = seen.access_points.known().unwrap();
    assert_eq!((points.len(), points[0].name.as_str()), (1, "reports"));
    assert_eq!(points[0].policy, Read::Known(policy.to_owned()));
    assert_eq!(points[0].vpc, None);
    assert!(seen.account_public_access_block.known().is_some_and(|block| block.block_public_acls));
}

fn question(principal: &str) -> Question {
    Question {
        principal: principal.into(),
        actions: vec!["s3:DeleteObject".into(), "s3:GetObject".into()],
        resources: vec!["arn:aws:s3:::b/k.tflock".into()],
        context: vec![("aws:SecureTransport".into(), "boolean".into(), "true".into())],
    }
}

#[test]
fn the_simulator_is_asked_once_for_each_principal_and_again_when_it_is_busy() {
    if !isolated(the_simulator_is_asked_once_for_each_principal_and_again_when_it_is_busy) {
        return;
    }
    let role = |name: &str| format!("arn:aws:iam::{ACCOUNT}:role/{name}");
    let busy = std::sync::atomic::AtomicBool::new(true);
    let double = Double::start(move |request| {
        if !request.body.contains("Action=SimulatePrincipalPolicy") {
            return account(request);
        }
        if busy.swap(false, std::sync::atomic::Ordering::SeqCst) {
            let body = "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>";
            return Some(Reply::Http(400, Vec::new(), body.into()));
        }
        if request.body.contains("role%2Fgone") {
            let body =
                "<ErrorResponse><Error><Code>NoSuchEntity</Code><Message>x</Message></Error></ErrorResponse>";
            return Some(Reply::Http(404, Vec::new(), body.into()));
        }
        assert!(request.body.contains("ActionNames%2Emember%2E2=s3%3AGetObject"), "{}", request.body);
        assert!(request.body.contains("ResourceArns%2Emember%2E1=arn%3Aaws%3As3%3A%3A%3Ab%2Fk%2Etflock"));
        assert!(request.body.contains("ContextEntries%2Emember%2E1%2EContextKeyType=boolean"));
        let (action, end) = if request.body.contains("Marker=m") {
            ("s3:GetObject", "<IsTruncated>false</IsTruncated>")
        } else {
            ("s3:DeleteObject", "<IsTruncated>true</IsTruncated><Marker>m</Marker>")
        };
        Some(Reply::ok(format!(
            "<R><SimulatePrincipalPolicyResult>{end}<EvaluationResults><member><EvalActionName>{action}\
             </EvalActionName><EvalDecision>allowed</EvalDecision><EvalResourceName>arn:aws:s3:::b/k.tflock\
             </EvalResourceName></member></EvaluationResults></SimulatePrincipalPolicyResult></R>"
        )))
    });
    let expected = named(&["b"], &[]);
    let settings = options(&double.url());
    let mut snapshot = read(&expected, &settings);
    let elsewhere = "arn:aws:iam::444455556666:role/other";
    let asked = [question(&role("gone")), question(&role("ci")), question(elsewhere)];
    simulate(&expected, &settings, &[("b".into(), asked.to_vec())], &mut snapshot, &|_| {}).unwrap();
    assert_eq!(snapshot.simulations.len(), 1);
    let simulation = &snapshot.simulations[0];
    assert_eq!((simulation.bucket.as_str(), simulation.principal.as_str()), ("b", role("ci").as_str()));
    let said: Vec<(&str, &str)> =
        simulation.answers.iter().map(|answer| (answer.action.as_str(), answer.decision.as_str())).collect();
    assert_eq!(said, [("s3:DeleteObject", "allowed"), ("s3:GetObject", "allowed")]);
    assert_eq!(
        unread(&snapshot),
        [
            (role("gone").as_str(), "SimulatePrincipalPolicy", None, false),
            (elsewhere, "SimulatePrincipalPolicy", None, false),
        ]
    );
    // Busy once, gone, two pages.
    assert_eq!(snapshot.stats.requests["SimulatePrincipalPolicy"], 4);
    assert_eq!(snapshot.stats.retries, 1);
}

#[test]
fn a_refused_simulation_is_said_once() {
    if !isolated(a_refused_simulation_is_said_once) {
        return;
    }
    let double = Double::start(|request| {
        if request.body.contains("Action=SimulatePrincipalPolicy") {
            let body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
            return Some(Reply::Http(403, Vec::new(), body.into()));
        }
        account(request)
    });
    let expected = named(&["b"], &[]);
    let settings = options(&double.url());
    let mut snapshot = read(&expected, &settings);
    let role = |n: usize| format!("arn:aws:iam::{ACCOUNT}:role/r{n}");
    let asked: Vec<Question> = (0..5).map(|n| question(&role(n))).collect();
    simulate(&expected, &settings, &[("b".into(), asked)], &mut snapshot, &|_| {}).unwrap();
    assert_eq!(
        unread(&snapshot),
        [(role(0).as_str(), "SimulatePrincipalPolicy", Some("iam:SimulatePrincipalPolicy"), false)]
    );
    assert_eq!(snapshot.stats.requests["SimulatePrincipalPolicy"], 1);
}
