//! What an audit can't vouch for: what could not be read, backends that can't be placed, and what the snapshot lacks
//! without saying why. A bucket that does not exist belongs here, too: nobody can tell it from one that is hidden.

use std::collections::BTreeSet;

use super::world::{World, dynamodb, s3};
use crate::audit::expected::{Access, TableRef};
use crate::audit::snapshot::{LOCK_SUFFIX, Read, Unread};

/// All of it, sorted, each thing once.
pub(super) fn all(world: &World<'_>) -> Vec<Unread> {
    let mut unread = world.snapshot.unread.clone();
    // An entry about one object, or one that hides no locks, does not speak for a bucket.
    let told: BTreeSet<String> =
        unread.iter().filter(|entry| entry.hides_locks).map(|entry| entry.resource.clone()).collect();
    let told = |resource: &str| told.contains(resource);
    unread.extend(world.expected.unplaced.iter().map(|unplaced| {
        entry(unplaced.root.clone(), "place", format!("its state can't be placed: {}", unplaced.why))
    }));
    for state in &world.expected.states {
        let Some(bucket) = world.bucket(world.bucket_of(state)) else {
            let resource = format!("s3://{}", state.bucket);
            if !told(&resource) {
                unread.push(entry(resource, "ListObjectsV2", "the snapshot does not hold this bucket"));
            }
            continue;
        };
        let lock = format!("{}{LOCK_SUFFIX}", state.key);
        let missed = bucket.complete && !(bucket.covers(&state.key) && bucket.covers(&lock));
        if missed && world.expected.named.prefixes.is_empty() {
            let resource = s3(&state.bucket, &state.key);
            unread.push(entry(
                resource,
                "ListObjectsV2",
                "it lies under none of the prefixes that were listed",
            ));
        }
    }
    for name in &world.expected.named.buckets {
        let resource = format!("s3://{name}");
        if !world.snapshot.buckets.iter().any(|bucket| bucket.name == *name) && !told(&resource) {
            unread.push(entry(resource, "ListObjectsV2", "the snapshot does not hold this bucket"));
        }
    }
    for bucket in world.snapshot.buckets.iter().filter(|bucket| !bucket.complete) {
        let resource = format!("s3://{}", bucket.name);
        if !told(&resource) {
            unread.push(entry(resource, "ListObjectsV2", "the listing did not come to its end"));
        }
    }
    unread.extend(tables(world, &told));
    unread.sort();
    unread.dedup();
    unread
}

fn tables(world: &World<'_>, told: &dyn Fn(&str) -> bool) -> Vec<Unread> {
    let mut unread = Vec::new();
    let by_hand = world.expected.named.tables.iter().map(|name| TableRef::of(name, &Access::default()));
    let by_hand =
        by_hand.filter(|table| !world.snapshot.tables.iter().any(|found| super::world::may_be(found, table)));
    for table in world.tables_absent().cloned().chain(by_hand) {
        let resource = dynamodb(&table.name, table.region.as_deref());
        let arn = world.snapshot.unread.iter().any(|entry| {
            let told = TableRef::of(&entry.resource, &Access::default());
            entry.hides_locks && told.account.is_some() && may_be_one(&told, &table)
        });
        if !told(&resource) && !arn {
            unread.push(entry(resource, "Scan", "the snapshot does not hold this table"));
        }
    }
    for table in world.snapshot.tables.iter().filter(|table| !table.complete && table.exists != Read::Absent)
    {
        let resource = dynamodb(&table.name, table.region.as_deref());
        let arn = table.arn.as_deref().is_some_and(told);
        if !told(&resource) && !arn {
            unread.push(entry(resource, "Scan", "the scan did not come to its end"));
        }
    }
    unread
}

/// Whether two ways to say a table do not speak of different ones.
fn may_be_one(a: &TableRef, b: &TableRef) -> bool {
    let differs =
        |a: &Option<String>, b: &Option<String>| a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a != b);
    a.name == b.name && !differs(&a.region, &b.region) && !differs(&a.account, &b.account)
}

fn entry(resource: String, operation: &str, reason: impl Into<String>) -> Unread {
    Unread {
        resource,
        operation: operation.to_owned(),
        reason: reason.into(),
        missing_action: None,
        hides_locks: true,
    }
}
