//! Against doubles that fail: nothing is lost but what failed, and that is said.

use std::sync::atomic::{AtomicUsize, Ordering};

use lockshift::audit::lock_info::LockBody;
use lockshift::audit::snapshot::Read;
use lockshift::moment::Moment;
use lockshift::repo::inventory::LockMode;

use super::support::double::{Double, Reply, Request};
use super::support::isolated;
use super::support::listing::{lock_document, objects};
use super::*;

/// The first so many requests of a kind fail, the others don't.
fn first(count: usize, which: fn(&Request) -> bool, reply: Reply) -> impl Fn(&Request) -> Option<Reply> {
    let seen = AtomicUsize::new(0);
    move |request| (which(request) && seen.fetch_add(1, Ordering::SeqCst) < count).then(|| reply.clone())
}

fn always(which: fn(&Request) -> bool, reply: Reply) -> impl Fn(&Request) -> Option<Reply> {
    first(usize::MAX, which, reply)
}

/// One lock on `k`, beside its state.
fn one_lock(request: &Request) -> Option<Reply> {
    match (request.lists(), request.key()) {
        (true, _) => Some(objects(&["k".to_owned(), "k.tflock".to_owned()], request)),
        (_, "k.tflock") => Some(Reply::ok(lock_document("id-1", "b/k"))),
        _ => None,
    }
}

fn versioned(request: &Request) -> Option<Reply> {
    let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    request.parameter("versioning").is_some().then(|| Reply::ok(on))
}

#[test]
fn throttling_is_survived_and_counted() {
    if !isolated(throttling_is_survived_and_counted) {
        return;
    }
    let s3 = first(2, Request::lists, Reply::error(503, "SlowDown"));
    let throttled = Reply::dynamodb_error("ProvisionedThroughputExceededException");
    let dynamodb = first(1, |request| request.target() == "Scan", throttled);
    let double =
        Double::start(move |request| s3(request).or_else(|| dynamodb(request)).or_else(|| one_lock(request)));
    let snapshot = read(&named(&["b"], &["locks"]), &options(&double.url()));
    assert_eq!(unread(&snapshot), []);
    assert!(bucket(&snapshot, "b").complete && table(&snapshot, "locks").complete);
    assert_eq!(bucket(&snapshot, "b").locks.len(), 1);
    assert_eq!((snapshot.stats.requests["ListObjectsV2"], snapshot.stats.requests["Scan"]), (3, 2));
    assert_eq!((snapshot.stats.retries, snapshot.stats.pages), (3, 2));
    assert_eq!(snapshot.taken_at, Moment::parse("2026-11-30T12:00:00Z").unwrap(), "the server's clock");
}

#[test]
fn a_server_that_keeps_failing_hides_locks() {
    if !isolated(a_server_that_keeps_failing_hides_locks) {
        return;
    }
    let broken = always(Request::lists, Reply::error(500, "InternalError"));
    let scan = always(|request| request.target() == "Scan", Reply::Cut);
    let double = Double::start(move |request| broken(request).or_else(|| scan(request)));
    let snapshot = read(&named(&["b"], &["locks"]), &options(&double.url()));
    let arn = "arn:aws:dynamodb:us-east-1:111122223333:table/locks";
    assert_eq!(unread(&snapshot), [(arn, "Scan", None, true), ("s3://b", "ListObjectsV2", None, true)]);
    assert_eq!(snapshot.unread[1].reason, "InternalError: made by the test");
    assert!(!snapshot.unread[0].reason.is_empty());
    assert!(!bucket(&snapshot, "b").complete && !table(&snapshot, "locks").complete);
    assert_eq!(snapshot.stats.requests["ListObjectsV2"], 3, "as many attempts as allowed");
}

#[test]
fn a_connection_that_is_cut_within_a_page_is_tried_again() {
    if !isolated(a_connection_that_is_cut_within_a_page_is_tried_again) {
        return;
    }
    let cut = first(1, Request::lists, Reply::CutWithin(b"<ListBucketResult>".to_vec()));
    let double = Double::start(move |request| cut(request).or_else(|| one_lock(request)));
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(unread(&snapshot), []);
    assert_eq!(bucket(&snapshot, "b").locks.len(), 1);
}

#[test]
fn nobody_there_is_said_once() {
    if !isolated(nobody_there_is_said_once) {
        return;
    }
    let double = Double::start(always(|_| true, Reply::Cut));
    let snapshot = read(&named(&["b"], &["locks"]), &options(&double.url()));
    assert_eq!(
        unread(&snapshot),
        [
            ("dynamodb://us-east-1/locks", "DescribeTable", None, true),
            ("s3://b", "GetBucketVersioning", None, true)
        ]
    );
    assert_eq!(snapshot.stats.requests.len(), 2, "nothing else was asked");
}

#[test]
fn pages_that_lead_nowhere_end_the_listing_and_not_the_audit() {
    if !isolated(pages_that_lead_nowhere_end_the_listing_and_not_the_audit) {
        return;
    }
    let pages = [
        ("half", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
        (
            "circle",
            "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
        ),
        (
            "disorder",
            "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>b</Key><LastModified>2026-11-30T11:00:00Z</LastModified><Size>1</Size></Contents><Contents><Key>a</Key><LastModified>2026-11-30T11:00:00Z</LastModified><Size>1</Size></Contents></ListBucketResult>",
        ),
    ];
    let double = Double::start(move |request| {
        let (_, page) = pages.iter().find(|(bucket, _)| *bucket == request.bucket())?;
        request.lists().then(|| Reply::ok(*page))
    });
    let snapshot = read(&named(&["circle", "disorder", "half", "whole"], &[]), &options(&double.url()));
    let lines: Vec<(&str, &str)> = snapshot
        .unread
        .iter()
        .map(|unread| (unread.resource.as_str(), unread.reason.split(':').next().unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            ("s3://circle", "the listing does not end"),
            ("s3://disorder", "the listing is not in order, or goes round in circles"),
            ("s3://half", "the page is cut off"),
        ]
    );
    let complete: Vec<bool> = snapshot.buckets.iter().map(|bucket| bucket.complete).collect();
    assert_eq!(complete, [false, false, false, true]);
}

#[test]
fn a_listing_that_never_comes_to_another_key_ends() {
    if !isolated(a_listing_that_never_comes_to_another_key_ends) {
        return;
    }
    let pages = AtomicUsize::new(0);
    let double = Double::start(move |request| {
        let token = pages.fetch_add(1, Ordering::SeqCst);
        request.lists().then(|| {
            Reply::ok(format!(
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{token}\
                 </NextContinuationToken></ListBucketResult>"
            ))
        })
    });
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(unread(&snapshot), [("s3://b", "ListObjectsV2", None, true)]);
    assert_eq!(snapshot.unread[0].reason, "the listing does not end: page after page brings no other key");
    assert!(!bucket(&snapshot, "b").complete);
}

/// Entities that grow on each other, nesting without end, and packed answers: nothing is unfolded.
#[test]
fn bombs_are_no_answers() {
    if !isolated(bombs_are_no_answers) {
        return;
    }
    let entities: String = (1..40).map(|n| format!("<!ENTITY e{n} \"&e{};&e{};\">", n - 1, n - 1)).collect();
    let laughs = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e0 \"ha\">{entities}]><ListBucketResult><Contents><Key>&e39;\
         </Key></Contents><IsTruncated>false</IsTruncated></ListBucketResult>"
    );
    let deep = format!("<ListBucketResult>{}", "<a>".repeat(1_000_000));
    let packed =
        Reply::Http(200, vec![("Content-Encoding".into(), "gzip".into())], b"\x1f\x8b\x08\0".to_vec());
    let item = format!("{{\"Items\":[{{\"LockID\":{}", "{\"M\":{\"a\":".repeat(200_000));
    let info = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let double = Double::start(move |request| match (request.bucket(), request.target()) {
        ("laughs", _) if request.lists() => Some(Reply::ok(laughs.clone())),
        ("deep", _) if request.lists() => Some(Reply::ok(deep.clone())),
        ("packed", _) if request.lists() => Some(packed.clone()),
        ("lock", _) if request.lists() => Some(objects(&["k".to_owned(), "k.tflock".to_owned()], request)),
        ("lock", _) if request.key() == "k.tflock" => Some(Reply::ok(info.clone())),
        (_, "Scan") => Some(Reply::ok(item.clone())),
        _ => None,
    });
    let snapshot = read(&named(&["deep", "laughs", "lock", "packed"], &["t"]), &options(&double.url()));
    let complete: Vec<(&str, bool)> =
        snapshot.buckets.iter().map(|bucket| (bucket.name.as_str(), bucket.complete)).collect();
    assert_eq!(complete, [("deep", false), ("laughs", false), ("lock", true), ("packed", false)]);
    assert!(!table(&snapshot, "t").complete);
    assert!(matches!(bucket(&snapshot, "lock").locks[0].body, LockBody::Foreign { .. }));
}

#[test]
fn credentials_that_expire_on_the_way_leave_what_was_read() {
    if !isolated(credentials_that_expire_on_the_way_leave_what_was_read) {
        return;
    }
    let pages = AtomicUsize::new(0);
    let keys: Vec<String> = (0..1500).map(|n| format!("a{n:04}.tflock")).collect();
    let double = Double::start(move |request| match request.lists() {
        true if pages.fetch_add(1, Ordering::SeqCst) == 0 => Some(objects(&keys, request)),
        true => Some(Reply::error(400, "ExpiredToken")),
        false => request.key().ends_with(".tflock").then(|| Reply::error(400, "ExpiredToken")),
    });
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    let seen = bucket(&snapshot, "b");
    assert!(!seen.complete);
    assert_eq!(seen.locks.len(), 1000, "the first page's");
    let expired =
        |body: &LockBody| matches!(body, LockBody::Unread { why } if why.starts_with("ExpiredToken"));
    assert!(seen.locks.iter().all(|lock| expired(&lock.body)));
    let listing = snapshot.unread.iter().find(|unread| unread.operation == "ListObjectsV2").unwrap();
    assert_eq!((listing.resource.as_str(), listing.missing_action.as_deref()), ("s3://b", None));
    assert!(snapshot.unread.iter().all(|unread| unread.hides_locks && unread.missing_action.is_none()));
}

#[test]
fn one_of_three_buckets_is_forbidden() {
    if !isolated(one_of_three_buckets_is_forbidden) {
        return;
    }
    let forbidden = |request: &Request| request.bucket() == "forbidden" && !request.lists_versions();
    let double = Double::start(move |request| {
        forbidden(request).then(|| Reply::error(403, "AccessDenied")).or_else(|| {
            let refused = request.bucket() == "forbidden";
            if refused { Some(Reply::error(403, "AccessDenied")) } else { one_lock(request) }
        })
    });
    let snapshot = read(&named(&["first", "forbidden", "third"], &[]), &options(&double.url()));
    for name in ["first", "third"] {
        let seen = bucket(&snapshot, name);
        assert!(seen.complete && seen.lock("k").unwrap().body.lock().is_some(), "{name}");
    }
    let seen = bucket(&snapshot, "forbidden");
    assert!(!seen.complete && seen.locks.is_empty());
    let line = |operation, action, hides| ("s3://forbidden", operation, Some(action), hides);
    assert_eq!(
        unread(&snapshot),
        [
            line("GetBucketEncryption", "s3:GetEncryptionConfiguration", false),
            line("GetBucketLifecycleConfiguration", "s3:GetLifecycleConfiguration", false),
            line("GetBucketOwnershipControls", "s3:GetBucketOwnershipControls", false),
            line("GetBucketPolicy", "s3:GetBucketPolicy", false),
            line("GetBucketReplication", "s3:GetReplicationConfiguration", false),
            line("GetBucketVersioning", "s3:GetBucketVersioning", false),
            line("GetObjectLockConfiguration", "s3:GetBucketObjectLockConfiguration", false),
            line("GetPublicAccessBlock", "s3:GetBucketPublicAccessBlock", false),
            line("ListObjectVersions", "s3:ListBucketVersions", false),
            line("ListObjectsV2", "s3:ListBucket", true),
        ]
    );
}

#[test]
fn locks_are_seen_though_versions_are_refused() {
    if !isolated(locks_are_seen_though_versions_are_refused) {
        return;
    }
    let refused = always(Request::lists_versions, Reply::error(403, "AccessDenied"));
    let double = Double::start(move |request| {
        refused(request).or_else(|| versioned(request)).or_else(|| one_lock(request))
    });
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(unread(&snapshot), [("s3://b", "ListObjectVersions", Some("s3:ListBucketVersions"), false)]);
    let seen = bucket(&snapshot, "b");
    assert!(seen.complete && seen.lock("k").is_some());
    assert_eq!(seen.history_from, Some(snapshot.taken_at), "nothing of the past is known");
}

#[test]
fn rules_that_can_t_be_read_leave_no_proof_from_versions() {
    if !isolated(rules_that_can_t_be_read_leave_no_proof_from_versions) {
        return;
    }
    let lifecycle = |request: &Request| request.parameter("lifecycle").is_some();
    let refused = always(lifecycle, Reply::error(403, "AccessDenied"));
    let double = Double::start(move |request| refused(request).or_else(|| versioned(request)));
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    let seen = bucket(&snapshot, "b");
    assert!(seen.complete && matches!(seen.lifecycle, Read::Failed(_)));
    assert_eq!(seen.history_from, Some(snapshot.taken_at));
}

#[test]
fn the_region_that_the_store_names_is_asked() {
    if !isolated(the_region_that_the_store_names_is_asked) {
        return;
    }
    let double = Double::start(|request| {
        let signed_for = request.header("authorization").unwrap_or_default();
        if signed_for.contains("/eu-west-1/s3/") {
            return one_lock(request);
        }
        let region = vec![("x-amz-bucket-region".to_owned(), "eu-west-1".to_owned())];
        Some(Reply::Http(301, region, b"<Error><Code>PermanentRedirect</Code></Error>".to_vec()))
    });
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(unread(&snapshot), []);
    let seen = bucket(&snapshot, "b");
    assert_eq!((seen.region.as_deref(), seen.locks.len()), (Some("eu-west-1"), 1));
    assert_eq!(snapshot.stats.requests["GetBucketVersioning"], 2);
}

#[test]
fn what_is_too_large_to_be_a_lock_is_never_downloaded() {
    if !isolated(what_is_too_large_to_be_a_lock_is_never_downloaded) {
        return;
    }
    let page = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k.tflock</Key><LastModified>2026-11-30T11:00:00Z</LastModified><Size>10737418240</Size></Contents></ListBucketResult>";
    let double = Double::start(always(Request::lists, Reply::ok(page)));
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    let lock = &bucket(&snapshot, "b").locks[0];
    assert_eq!(lock.size, 10_737_418_240);
    assert!(
        matches!(&lock.body, LockBody::Foreign { why, text: None } if why.starts_with("10737418240 bytes"))
    );
    assert!(double.seen().iter().all(|request| request.key().is_empty()), "nothing was read");
}

#[test]
fn a_lock_that_can_t_be_read_is_still_a_lock() {
    if !isolated(a_lock_that_can_t_be_read_is_still_a_lock) {
        return;
    }
    let refused = always(|request| request.key() == "k.tflock", Reply::error(403, "AccessDenied"));
    let double = Double::start(move |request| refused(request).or_else(|| one_lock(request)));
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(unread(&snapshot), [("s3://b/k.tflock", "GetObject", Some("s3:GetObject"), true)]);
    let lock = bucket(&snapshot, "b").lock("k").unwrap();
    assert!(matches!(&lock.body, LockBody::Unread { why } if why.starts_with("AccessDenied")));
}

#[test]
fn a_role_with_an_external_id_is_not_taken_without_it() {
    if !isolated(a_role_with_an_external_id_is_not_taken_without_it) {
        return;
    }
    let double = Double::start(|_| None);
    let mut expected = states(vec![state("b", "k", LockMode::Lockfile, None)]);
    expected.states[0].access.role_arn = Some("arn:aws:iam::111122223333:role/state".into());
    expected.states[0].access.wants_external_id = true;
    let snapshot = read(&expected, &options(&double.url()));
    assert_eq!(unread(&snapshot), [("s3://b", "AssumeRole", None, true)]);
    assert!(snapshot.unread[0].reason.contains("LOCKSHIFT_EXTERNAL_ID"));
    assert!(double.seen().is_empty());
}

#[test]
fn another_way_into_the_same_bucket_is_tried_where_one_is_refused() {
    if !isolated(another_way_into_the_same_bucket_is_tried_where_one_is_refused) {
        return;
    }
    // Two backends reach the bucket differently; here it is the region that they sign for that tells them apart.
    let double = Double::start(|request| {
        let refused = request.header("authorization").is_some_and(|signed| signed.contains("/us-east-1/s3/"));
        if refused { Some(Reply::error(403, "AccessDenied")) } else { one_lock(request) }
    });
    let mut expected = states(vec![
        state("b", "k", LockMode::Lockfile, None),
        state("b", "l", LockMode::Lockfile, None),
        state("b", "m", LockMode::Lockfile, None),
    ]);
    expected.states[1].access.region = Some("eu-west-1".into());
    let snapshot = read(&expected, &options(&double.url()));
    assert_eq!(unread(&snapshot), [], "one of the two ways shows everything");
    assert_eq!(snapshot.buckets.len(), 1);
    assert_eq!(snapshot.buckets[0].region.as_deref(), Some("eu-west-1"));
    assert_eq!(snapshot.buckets[0].locks.len(), 1);
}

#[test]
fn prefixes_bound_what_is_listed_and_what_is_covered() {
    if !isolated(prefixes_bound_what_is_listed_and_what_is_covered) {
        return;
    }
    let keys = ["a/k", "a/k.tflock", "b/k.tflock", "c/k.tflock"].map(str::to_owned);
    let double = Double::start(move |request| request.lists().then(|| objects(&keys, request)));
    let mut expected = named(&["bucket"], &[]);
    expected.named.prefixes = vec!["c/".into(), "a/".into(), "a/k".into()];
    let snapshot = read(&expected, &options(&double.url()));
    let seen = bucket(&snapshot, "bucket");
    let locks: Vec<&str> = seen.locks.iter().map(|lock| lock.key.as_str()).collect();
    assert_eq!(locks, ["a/k.tflock", "c/k.tflock"]);
    assert_eq!(seen.prefixes, ["a/", "c/"]);
    assert!(seen.covers("a/x") && !seen.covers("b/k"));
    assert_eq!(snapshot.stats.requests["ListObjectsV2"], 2);
}

#[test]
fn a_table_that_may_not_be_described_is_still_scanned() {
    if !isolated(a_table_that_may_not_be_described_is_still_scanned) {
        return;
    }
    let refused = Reply::dynamodb_error("AccessDeniedException");
    let describe = always(|request| request.target() == "DescribeTable", refused.clone());
    let forbidden = always(|request| request.body.contains("forbidden"), refused);
    let double = Double::start(move |request| forbidden(request).or_else(|| describe(request)));
    let snapshot = read(&named(&[], &["forbidden", "locks"]), &options(&double.url()));
    let of = |name: &str| format!("dynamodb://us-east-1/{name}");
    let (forbidden, locks) = (of("forbidden"), of("locks"));
    assert_eq!(
        unread(&snapshot),
        [
            (forbidden.as_str(), "DescribeTable", Some("dynamodb:DescribeTable"), false),
            (forbidden.as_str(), "Scan", Some("dynamodb:Scan"), true),
            (locks.as_str(), "DescribeTable", Some("dynamodb:DescribeTable"), false),
        ]
    );
    assert!(table(&snapshot, "locks").complete && !table(&snapshot, "forbidden").complete);
}

#[test]
fn an_empty_lock_is_read_though_no_range_lies_in_it() {
    if !isolated(an_empty_lock_is_read_though_no_range_lies_in_it) {
        return;
    }
    // It held a document when it was listed.
    let double = Double::start(|request| match (request.lists(), request.key(), request.header("range")) {
        (true, ..) => Some(objects(&["k".to_owned(), "k.tflock".to_owned()], request)),
        (_, "k.tflock", Some(_)) => Some(Reply::error(416, "InvalidRange")),
        (_, "k.tflock", None) => {
            let headers = [("ETag", "\"empty\""), ("Last-Modified", "Mon, 30 Nov 2026 11:30:00 GMT")];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            Some(Reply::Http(200, headers.to_vec(), Vec::new()))
        }
        _ => None,
    });
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    assert_eq!(unread(&snapshot), []);
    let lock = bucket(&snapshot, "b").lock("k").unwrap();
    assert_eq!((&lock.body, lock.size, lock.etag.as_deref()), (&LockBody::Empty, 0, Some("\"empty\"")));
    assert_eq!(lock.last_modified, Moment::parse("2026-11-30T11:30:00Z").unwrap());
}
