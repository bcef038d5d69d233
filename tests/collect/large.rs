//! Listings of many pages: the same result however many listers share the work, and hardly more requests.

use std::sync::Arc;

use lockshift::repo::inventory::LockMode;

use super::support::double::{Double, Request};
use super::support::isolated;
use super::support::listing::{PAGE, lock_document, objects};
use super::*;

/// Directories of applications, each with a state and every hundredth with a lock, in the order of bytes.
fn keys(environments: usize, applications: usize) -> Vec<String> {
    let mut keys = Vec::new();
    for environment in 0..environments {
        for application in 0..applications {
            let key = format!("live/env{environment:03}/app{application:05}/terraform.tfstate");
            keys.extend((application % 100 == 0).then(|| format!("{key}.tflock")));
            keys.push(key);
        }
    }
    keys.sort();
    keys
}

fn serve(keys: Vec<String>) -> Double {
    let keys = Arc::new(keys);
    Double::start(move |request: &Request| match request.lists() {
        true => Some(objects(&keys, request)),
        false => {
            let state = request.key().strip_suffix(".tflock")?;
            Some(super::support::double::Reply::ok(lock_document("id", &format!("b/{state}"))))
        }
    })
}

#[test]
fn listers_share_the_work_and_change_nothing() {
    if !isolated() {
        return;
    }
    let keys = keys(20, 1200);
    let (count, locks) = (keys.len(), keys.iter().filter(|key| key.ends_with(".tflock")).count());
    let double = serve(keys.clone());
    let expected =
        states(vec![state("b", "live/env003/app00001/terraform.tfstate", LockMode::Lockfile, None)]);
    let read_with = |shards: usize| {
        let mut settings = options(&double.url());
        settings.shards = shards;
        read(&expected, &settings)
    };
    let (alone, shared) = (read_with(1), read_with(6));
    assert_eq!(alone.buckets, shared.buckets);
    assert_eq!(unread(&shared), []);
    let seen = bucket(&shared, "b");
    assert_eq!(seen.locks.len(), locks);
    assert_eq!(seen.states.len(), locks + 1, "of each lock, and the expected one");
    assert_eq!(seen.other_objects as usize, count - locks - seen.states.len());
    let pages = count.div_ceil(PAGE) as u64;
    assert_eq!(alone.stats.requests["ListObjectsV2"], pages);
    assert_eq!(alone.stats.objects as usize, count);
    let listed = shared.stats.requests["ListObjectsV2"];
    // Each part may begin within what another one's last page showed, and borders were looked for.
    assert!((pages..=pages + 24).contains(&listed), "{listed} requests for {pages} pages");
    let parts = double.seen().iter().filter(|request| request.parameter("start-after").is_some()).count();
    assert!(parts >= 6, "the work was shared: {parts}");
}

#[test]
fn a_directory_without_directories_has_one_lister() {
    if !isolated() {
        return;
    }
    let mut keys: Vec<String> = (0..12_000).map(|n| format!("flat-{n:05}.tfstate")).collect();
    keys.push("flat-07777.tfstate.tflock".to_owned());
    keys.sort();
    let double = serve(keys);
    let snapshot = read(&named(&["b"], &[]), &options(&double.url()));
    let seen = bucket(&snapshot, "b");
    assert_eq!((seen.locks.len(), seen.states.len(), seen.other_objects), (1, 1, 11_999));
    assert!(snapshot.stats.requests["ListObjectsV2"] <= 13 + 2);
}
