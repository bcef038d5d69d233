//! `audit --probe` and `unlock` against stores that honour conditions (moto, SeaweedFS) and one that ignores them
//! (rclone): only running them tells.
#![cfg(unix)]
#![cfg(test)]

mod support;

use serde_json::{Value, json};
use support::double::{Double, Reply};
use support::emulator::Emulator;
use support::lockshift_at;
use support::stores::Store;
use tempfile::TempDir;

/// Makes a bucket, with versions or without, through the store's own API.
fn s3(url: &str, method: &str, path: &str, body: &str) -> u16 {
    let address = url.strip_prefix("http://").unwrap();
    support::emulator::request(address.parse().unwrap(), method, path, &[], body.as_bytes()).0
}

/// Probes a bucket: exit code, and the audit's JSON.
fn probe(url: &str, bucket: &str) -> (Option<i32>, Value) {
    let dir = TempDir::new().unwrap();
    let arguments = ["audit", "--bucket", bucket, "--probe", "--settle", "0", "--format", "json"];
    let output = lockshift_at(dir.path(), url, &arguments).output().unwrap();
    let json = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), json)
}

fn rules(json: &Value) -> Vec<&str> {
    let findings = json["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .filter(|rule| rule.starts_with("probe-"))
        .collect()
}

/// The honest answers, and nothing of ours left behind.
fn assert_honoured(json: &Value, url: &str) {
    let probe = &json["probes"][0];
    assert_eq!(
        (probe["honoured"].as_bool(), probe["verdict"].as_str()),
        (Some(true), Some("enforced")),
        "{probe}"
    );
    assert_eq!(probe["conditional_delete"], true, "{probe}");
    assert_eq!(probe["endpoint"], url);
    let steps: Vec<(&str, &str)> = probe["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["ask"].as_str().unwrap(), step["answer"].as_str().unwrap()))
        .collect();
    assert_eq!(
        steps,
        [
            ("look for the bucket", "200"),
            ("create", "200"),
            ("create again", "412"),
            ("delete with a wrong ETag", "412"),
            ("delete", "204"),
            ("create after the delete", "200")
        ]
    );
    assert_eq!(rules(json), [] as [&str; 0]);
}

#[test]
fn stores_that_honour_conditions_are_said_to_and_nothing_is_left_there() {
    let moto = Emulator::start();
    let weed = Store::seaweedfs(None);
    for url in [moto.url(), weed.url()] {
        for (bucket, versions) in [("plain", false), ("versioned", true)] {
            assert_eq!(s3(&url, "PUT", &format!("/{bucket}"), ""), 200, "{url}");
            if versions {
                let body = "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Status>Enabled\
                            </Status></VersioningConfiguration>";
                assert_eq!(s3(&url, "PUT", &format!("/{bucket}?versioning"), body), 200, "{url}");
            }
            let (_, json) = probe(&url, bucket);
            assert_honoured(&json, &url);
            // A second look at what is there: no object, no version and no delete marker.
            let (_, again) = probe(&url, bucket);
            assert_eq!(again["stats"]["objects"], 0, "{url} {bucket}: {}", again["stats"]);
        }
    }
}

#[test]
fn a_store_that_ignores_conditions_is_critical_and_nothing_is_released_there() {
    let rclone = Store::rclone();
    let url = rclone.url();
    assert_eq!(s3(&url, "PUT", "/states", ""), 200);
    let (code, json) = probe(&url, "states");
    assert_eq!(code, Some(1));
    let probe = &json["probes"][0];
    assert_eq!(
        (probe["honoured"].as_bool(), probe["verdict"].as_str()),
        (Some(false), Some("ignored")),
        "{probe}"
    );
    assert_eq!(rules(&json), ["probe-condition-ignored"]);

    // An old lock there: `unlock` finds the store out without touching the lock, and stops.
    let lock =
        json!({"ID": "1", "Who": "a@b", "Created": "2020-01-01T00:00:00Z", "Path": "states/k"}).to_string();
    assert_eq!(s3(&url, "PUT", "/states/k.tflock", &lock), 200);
    let dir = TempDir::new().unwrap();
    let arguments = ["unlock", "s3://states/k", "--id", "1", "--no-table", "--yes", "--even-if-young"];
    let output = lockshift_at(dir.path(), &url, &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("refused unlock-store-unconditional"), "{said}");
    assert_eq!(s3(&url, "GET", "/states/k.tflock", ""), 200, "the lock is still there");
}

#[test]
fn a_bucket_that_is_missing_is_unread_and_never_made() {
    let moto = Emulator::start();
    let weed = Store::seaweedfs(None);
    for url in [moto.url(), weed.url()] {
        let (code, json) = probe(&url, "nowhere");
        assert_eq!(code, Some(3), "{url}");
        let unread = json["unread"].as_array().unwrap();
        assert!(unread.iter().any(|line| line["operation"] == "HeadBucket"), "{url}: {unread:?}");
        assert_eq!(json["probes"], json!([]), "{url}");
        assert_eq!(s3(&url, "HEAD", "/nowhere", ""), 404, "{url}: nothing was made");
    }
}

/// A double that has an empty bucket, refuses conditional writes with 501, and answers others as said.
fn refuses_conditions(plain: u16) -> Double {
    Double::start(move |request| match (request.method.as_str(), request.key()) {
        ("HEAD", "") => Some(Reply::ok("")),
        ("PUT", _) if request.header("if-none-match").is_some() => Some(Reply::error(501, "NotImplemented")),
        ("PUT", _) if plain != 200 => Some(Reply::error(plain, "AccessDenied")),
        ("PUT", _) => Some(Reply::ok("")),
        ("DELETE", _) => Some(Reply::Http(204, Vec::new(), Vec::new())),
        _ => None,
    })
}

#[test]
fn only_a_condition_that_is_refused_is_said_to_be() {
    let double = refuses_conditions(200);
    let (_, json) = probe(&double.url(), "states");
    assert_eq!(json["probes"][0]["verdict"], "rejected", "{json}");
    let asked: Vec<&str> = json["probes"][0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["ask"].as_str().unwrap())
        .collect();
    assert_eq!(asked, ["look for the bucket", "create", "create without a condition"]);
    let seen = double.seen();
    let writes: Vec<&str> = seen
        .iter()
        .map(|request| request.method.as_str())
        .filter(|method| ["PUT", "DELETE"].contains(method))
        .collect();
    assert_eq!(writes.last(), Some(&"DELETE"), "it is cleaned up");

    // No write at all is possible there: that says nothing of conditions.
    let (_, json) = probe(&refuses_conditions(403).url(), "states");
    assert_eq!((&json["probes"], rules(&json).len()), (&json!([]), 0), "{json}");
    assert!(json["unread"].as_array().unwrap().iter().any(|line| line["operation"] == "PutObject"), "{json}");
}
