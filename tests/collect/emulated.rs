//! Against the emulator of S3 and DynamoDB.

use std::time::Duration;

use lockshift::audit::lock_info::LockBody;
use lockshift::audit::snapshot::{Md5, Read, Settled};
use lockshift::repo::inventory::LockMode;

use super::support::emulator::Emulator;
use super::support::isolated;
use super::support::listing::lock_document;
use super::*;

/// MD5 of `state`.
const MD5_OF_STATE: &str = "9ed39e2ea931586b6a985a6942ef573e";

const FACTS: [(&str, u64); 8] = [
    ("GetBucketEncryption", 1),
    ("GetBucketLifecycleConfiguration", 1),
    ("GetBucketOwnershipControls", 1),
    ("GetBucketPolicy", 1),
    ("GetBucketReplication", 1),
    ("GetBucketVersioning", 1),
    ("GetObjectLockConfiguration", 1),
    ("GetPublicAccessBlock", 1),
];

/// The constants of one bucket and these.
fn with_facts(more: &[(&'static str, u64)]) -> Vec<(&'static str, u64)> {
    let mut all: Vec<(&str, u64)> = FACTS.iter().chain(more).copied().collect();
    all.sort();
    all
}

#[test]
fn locks_and_digests_are_found_with_no_request_too_many() {
    if !isolated() {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    emulator.create_lock_table("locks");
    for key in ["a/terraform.tfstate", "b/terraform.tfstate", "c/terraform.tfstate", "c/notes.txt"] {
        emulator.put("tfstate", key, "state");
    }
    let document = lock_document("id-1", "tfstate/a/terraform.tfstate");
    emulator.put("tfstate", "a/terraform.tfstate.tflock", &document);
    emulator.put_item("locks", "tfstate/a/terraform.tfstate", "Info", &document);
    emulator.put("tfstate", "gone/terraform.tfstate.tflock", "");
    emulator.put_item("locks", "tfstate/a/terraform.tfstate-md5", "Digest", MD5_OF_STATE);
    emulator.put_item(
        "locks",
        "tfstate/b/terraform.tfstate-md5",
        "Digest",
        "00000000000000000000000000000000",
    );
    let expected = states(vec![
        state("tfstate", "a/terraform.tfstate", LockMode::Dual, Some("locks")),
        state("tfstate", "b/terraform.tfstate", LockMode::Dual, Some("locks")),
    ]);
    let snapshot = read(&expected, &options(&emulator.url()));
    assert_eq!(unread(&snapshot), []);

    let seen = bucket(&snapshot, "tfstate");
    assert!(seen.complete);
    assert_eq!(seen.versioning, Read::Absent);
    assert_eq!(seen.policy, Read::Absent);
    assert_eq!((seen.history.len(), seen.history_from), (0, None));
    let keys: Vec<&str> = seen.states.iter().map(|state| state.key.as_str()).collect();
    assert_eq!(keys, ["a/terraform.tfstate", "b/terraform.tfstate"]);
    assert_eq!(seen.other_objects, 2, "a state that nobody names, and no state");
    let lock = seen.lock("a/terraform.tfstate").unwrap();
    assert_eq!(lock.body, LockBody::read(document.as_bytes()));
    assert!(lock.etag.as_deref().unwrap().starts_with('"'));
    assert_eq!(seen.lock("gone/terraform.tfstate").unwrap().body, LockBody::Empty);
    let md5 = |key: &str| seen.state(key).unwrap().md5.clone();
    assert_eq!(md5("a/terraform.tfstate"), Some(Md5::Etag(MD5_OF_STATE.into())), "the digest is the ETag");
    assert_eq!(md5("b/terraform.tfstate"), Some(Md5::Etag(MD5_OF_STATE.into())), "HEAD says: not by KMS");

    let locks = table(&snapshot, "locks");
    assert!(locks.complete);
    assert!(locks.exists.known().unwrap().hash_key_is_lock_id);
    assert_eq!(locks.items.len(), 3);
    let item = locks.item("tfstate/a/terraform.tfstate").unwrap();
    assert_eq!(item.body.as_ref(), Some(&lock.body));
    assert_eq!(locks.item("tfstate/b/terraform.tfstate-md5").unwrap().digest.as_deref().unwrap().len(), 32);

    // One page each, one GET for the lock with a body, one HEAD for the digest that differs, and constants.
    assert_eq!(
        requests(&snapshot),
        with_facts(&[
            ("DescribeTable", 1),
            ("GetObject", 1),
            ("HeadObject", 1),
            ("ListObjectsV2", 1),
            ("Scan", 1)
        ])
    );
    assert_eq!((snapshot.stats.pages, snapshot.stats.objects, snapshot.stats.items), (2, 6, 3));
    assert_eq!(snapshot.stats.retries, 0);
}

#[test]
fn versions_tell_who_held_the_lock_and_when_the_state_was_written() {
    if !isolated() {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    emulator.set_versioning("tfstate", "Enabled");
    let key = "a/terraform.tfstate";
    let lock_key = format!("{key}.tflock");
    for run in 1..=3 {
        emulator.put(
            "tfstate",
            &lock_key,
            &lock_document(&format!("id-{run}"), "tfstate/a/terraform.tfstate"),
        );
        std::thread::sleep(Duration::from_millis(20));
        emulator.put("tfstate", key, &format!("state {run}"));
        std::thread::sleep(Duration::from_millis(20));
        emulator.delete("tfstate", &lock_key);
        std::thread::sleep(Duration::from_millis(20));
    }
    emulator.put("tfstate", key, "around the lock");
    emulator.put("tfstate", "unknown/terraform.tfstate", "written in the window");
    emulator.put("tfstate", "unknown/notes.txt", "not a state");
    let expected = states(vec![state("tfstate", key, LockMode::Lockfile, None)]);
    let mut settings = options(&emulator.url());
    settings.lock_history = 2;
    let snapshot = read(&expected, &settings);
    assert_eq!(unread(&snapshot), []);
    let seen = bucket(&snapshot, "tfstate");
    assert_eq!((&seen.versioning, seen.history_from), (&Read::Known("Enabled".to_owned()), None));
    assert!(seen.locks.is_empty());
    let history = &seen.history[key];
    let bodies: Vec<Option<&str>> = history
        .locks
        .iter()
        .map(|lock| lock.body.as_ref().and_then(LockBody::lock).map(|lock| lock.id.as_str()))
        .collect();
    assert_eq!(bodies, [None, Some("id-2"), Some("id-3")], "the newest two were read");
    assert!(history.locks.iter().all(|lock| !lock.overwritten && lock.to > Some(lock.from)));
    assert_eq!(history.writes.len(), 4);
    let covered = |at| history.locks.iter().any(|lock| lock.from <= at && Some(at) <= lock.to);
    let covered: Vec<bool> = history.writes.iter().map(|write| covered(write.at)).collect();
    assert_eq!(covered, [true, true, true, false]);
    assert_eq!(seen.history["unknown/terraform.tfstate"].writes.len(), 1);
    assert_eq!((seen.states.len(), seen.other_objects), (2, 1));
    assert_eq!(requests(&snapshot), with_facts(&[("GetObject", 2), ("ListObjectVersions", 1)]));
    assert_eq!(snapshot.stats.objects, 12);
}

#[test]
fn a_lock_that_was_overwritten_says_so_and_one_that_is_held_has_no_end() {
    if !isolated() {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    emulator.set_versioning("tfstate", "Enabled");
    emulator.put("tfstate", "k.tflock", &lock_document("id-1", "tfstate/k"));
    std::thread::sleep(Duration::from_millis(20));
    emulator.put("tfstate", "k.tflock", &lock_document("id-2", "tfstate/k"));
    let snapshot = read(&named(&["tfstate"], &[]), &options(&emulator.url()));
    let seen = bucket(&snapshot, "tfstate");
    let intervals: Vec<(bool, bool, &str)> = seen.history["k"]
        .locks
        .iter()
        .map(|lock| {
            let id = lock.body.as_ref().and_then(LockBody::lock).unwrap().id.as_str();
            (lock.to.is_some(), lock.overwritten, id)
        })
        .collect();
    assert_eq!(intervals, [(true, true, "id-1"), (false, false, "id-2")]);
    assert_eq!(seen.locks[0].version_id.as_ref(), Some(&seen.history["k"].locks[1].version_id));
}

#[test]
fn what_is_not_there_is_said_and_the_rest_is_read() {
    if !isolated() {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    emulator.put("tfstate", "k.tflock", &lock_document("id-1", "tfstate/k"));
    let snapshot =
        read(&named(&["no-such-bucket", "tfstate"], &["no-such-table"]), &options(&emulator.url()));
    let missing = "dynamodb://us-east-1/no-such-table";
    assert_eq!(
        unread(&snapshot),
        [(missing, "DescribeTable", None, true), ("s3://no-such-bucket", "GetBucketVersioning", None, true)]
    );
    assert!(snapshot.unread[1].reason.starts_with("NoSuchBucket"), "{}", snapshot.unread[1].reason);
    let absent = table(&snapshot, "no-such-table");
    assert_eq!((&absent.exists, absent.complete), (&Read::Absent, false));
    assert!(!bucket(&snapshot, "no-such-bucket").complete);
    let seen = bucket(&snapshot, "tfstate");
    assert!(seen.complete && seen.lock("k").is_some());
}

#[test]
fn a_lock_that_is_taken_between_the_looks_is_no_split_one() {
    if !isolated() {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    emulator.create_lock_table("locks");
    for key in ["taken", "released", "kept"] {
        emulator.put("tfstate", key, "state");
        emulator.put("tfstate", &format!("{key}.tflock"), &lock_document(key, &format!("tfstate/{key}")));
    }
    let all = ["taken", "released", "kept"].map(|key| state("tfstate", key, LockMode::Dual, Some("locks")));
    let mut settings = options(&emulator.url());
    settings.settle = Some(Duration::from_secs(4));
    // The second look is announced, then comes the pause: that is when the world moves on.
    let snapshot = std::thread::scope(|scope| {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let emulator = &emulator;
        scope.spawn(move || {
            if wait.recv().is_ok() {
                emulator.put_item("locks", "tfstate/taken", "Info", &lock_document("taken", "tfstate/taken"));
                emulator.delete("tfstate", "released.tflock");
            }
        });
        let go = std::sync::Mutex::new(go);
        let progress = |text: &str| {
            if text.starts_with("a second look") {
                let _ = go.lock().unwrap().send(());
            }
        };
        collect(&states(all.to_vec()), &settings, &progress).unwrap()
    });
    assert_eq!(unread(&snapshot), []);
    let (seen, locks) = (bucket(&snapshot, "tfstate"), table(&snapshot, "locks"));
    let settled = |key: &str| seen.lock(key).unwrap().settled;
    assert_eq!(
        (settled("taken"), settled("released"), settled("kept")),
        (Settled::Same, Settled::Gone, Settled::Same)
    );
    let items: Vec<(&str, Settled)> =
        locks.items.iter().map(|item| (item.lock_id.as_str(), item.settled)).collect();
    assert_eq!(items, [("tfstate/taken", Settled::Changed)]);
    // Three locks read, three again, three items asked for.
    let count = |name: &str| snapshot.stats.requests[name];
    assert_eq!((count("GetObject"), count("GetItem")), (6, 3));
}

#[test]
fn only_a_body_tells_the_md5_of_a_state_in_parts_and_only_when_asked() {
    if !isolated() {
        return;
    }
    let emulator = Emulator::start();
    emulator.create_bucket("tfstate");
    emulator.create_lock_table("locks");
    let kms = [("x-amz-server-side-encryption", "aws:kms")];
    assert_eq!(emulator.request("PUT", "/tfstate/k", &kms, b"state").0, 200);
    emulator.put_item("locks", "tfstate/k-md5", "Digest", "00000000000000000000000000000000");
    let expected = states(vec![state("tfstate", "k", LockMode::Dual, Some("locks"))]);
    let mut settings = options(&emulator.url());
    let snapshot = read(&expected, &settings);
    assert_eq!(bucket(&snapshot, "tfstate").state("k").unwrap().md5, None, "its ETag may be anything");
    assert_eq!(snapshot.stats.requests.get("GetObject"), None);
    settings.read_states = true;
    let snapshot = read(&expected, &settings);
    let md5 = bucket(&snapshot, "tfstate").state("k").unwrap().md5.clone();
    assert_eq!(md5, Some(Md5::Body(MD5_OF_STATE.into())));
    assert!(!serde_json::to_string(&snapshot).unwrap().contains("\"state\""), "no body is kept");
}
