//! Tables of one name: in two regions they are two tables, and a lock in either is seen.

use lockshift::audit::snapshot::Snapshot;
use lockshift::repo::inventory::LockMode;

use super::support::double::{Double, Reply, Request};
use super::support::isolated;
use super::support::listing::lock_document;
use super::*;

const EUROPE: &str = "arn:aws:dynamodb:eu-west-1:123456789012:table/tf";
const AMERICA: &str = "arn:aws:dynamodb:us-east-1:123456789012:table/tf";

/// The region that a request was signed for.
fn region(request: &Request) -> &str {
    let scope = request.header("authorization").and_then(|text| text.split("Credential=").nth(1));
    scope.and_then(|scope| scope.split('/').nth(2)).unwrap_or_default()
}

/// A table `tf` in every region; only that of us-east-1 holds a lock.
fn everywhere(request: &Request) -> Option<Reply> {
    let region = region(request);
    match request.target() {
        "DescribeTable" => Some(Reply::ok(format!(
            r#"{{"Table":{{"TableName":"tf","TableArn":"arn:aws:dynamodb:{region}:123456789012:table/tf","ItemCount":1,"KeySchema":[{{"AttributeName":"LockID","KeyType":"HASH"}}]}}}}"#
        ))),
        "Scan" if region == "us-east-1" => {
            let item =
                serde_json::json!({ "LockID": { "S": "b/k" }, "Info": { "S": lock_document("1", "b/k") } });
            let answer = serde_json::json!({ "Items": [item], "Count": 1, "ScannedCount": 1 });
            Some(Reply::ok(answer.to_string()))
        }
        _ => None,
    }
}

/// Region and items of each table.
fn tables(snapshot: &Snapshot) -> Vec<(&str, usize)> {
    let tables = snapshot.tables.iter();
    tables.map(|table| (table.region.as_deref().unwrap_or_default(), table.items.len())).collect()
}

#[test]
fn one_name_in_two_regions_is_two_tables() {
    if !isolated(one_name_in_two_regions_is_two_tables) {
        return;
    }
    let double = Double::start(everywhere);
    let options = options(&double.url());
    let both = [("eu-west-1", 0), ("us-east-1", 1)];
    for names in [["tf", EUROPE], [AMERICA, EUROPE]] {
        let snapshot = read(&named(&["b"], &names), &options);
        assert_eq!((tables(&snapshot), unread(&snapshot)), (both.to_vec(), Vec::new()), "{names:?}");
    }
    let mut backend = state("b", "k", LockMode::Dual, Some("tf"));
    backend.access.region = Some("eu-west-1".into());
    let expected = Expected { named: named(&[], &["tf"]).named, ..states(vec![backend]) };
    assert_eq!(tables(&read(&expected, &options)), both, "the backend's and the one named by hand");
}

#[test]
fn one_table_by_two_names_is_scanned_once() {
    if !isolated(one_table_by_two_names_is_scanned_once) {
        return;
    }
    let double = Double::start(everywhere);
    let options = options(&double.url());
    let snapshot = read(&named(&["b"], &["tf", AMERICA]), &options);
    assert_eq!(tables(&snapshot), [("us-east-1", 1)]);
    assert_eq!(snapshot.stats.requests["Scan"], 1);
    let expected = Expected {
        named: named(&[], &["tf"]).named,
        ..states(vec![state("b", "k", LockMode::Dual, Some("tf"))])
    };
    let snapshot = read(&expected, &options);
    assert_eq!(tables(&snapshot), [("us-east-1", 1)]);
    assert_eq!((snapshot.stats.requests["DescribeTable"], snapshot.stats.requests["Scan"]), (1, 1));
}

#[test]
fn a_table_that_is_missing_in_one_region_is_said() {
    if !isolated(a_table_that_is_missing_in_one_region_is_said) {
        return;
    }
    let double = Double::start(|request| match (request.target(), region(request)) {
        ("DescribeTable", "eu-west-1") => Some(Reply::dynamodb_error("ResourceNotFoundException")),
        _ => everywhere(request),
    });
    let snapshot = read(&named(&["b"], &["tf", EUROPE]), &options(&double.url()));
    assert_eq!(unread(&snapshot), [(EUROPE, "DescribeTable", None, true)]);
    assert_eq!(snapshot.tables.len(), 2);
}
