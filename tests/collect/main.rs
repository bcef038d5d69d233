//! Reading S3 and DynamoDB: against the emulator, against doubles that fail in every way, and against large listings.

#![cfg(test)]

#[path = "../support/mod.rs"]
mod support;

mod around;
mod emulated;
mod faults;
mod large;
mod names;

use std::time::Duration;

use lockshift::audit::collect::{CollectOptions, collect};
use lockshift::audit::expected::{Access, Expected, ExpectedState, Named};
use lockshift::audit::snapshot::{BucketSnapshot, Snapshot, TableSnapshot};
use lockshift::repo::inventory::{Engine, LockMode};
use lockshift::repo::text::Place;

/// A state that a repository expects.
fn state(bucket: &str, key: &str, mode: LockMode, table: Option<&str>) -> ExpectedState {
    ExpectedState {
        bucket: bucket.into(),
        key: key.into(),
        workspace_key_prefix: "env:".into(),
        mode,
        table: table.map(str::to_owned),
        acl: false,
        lock_tags: false,
        access: Access { region: Some("us-east-1".into()), ..Access::default() },
        root: "root".into(),
        backend_config: Vec::new(),
        engine: Engine::Any,
        place: Place { file: "main.tf".into(), line: 1, column: 1 },
    }
}

fn states(states: Vec<ExpectedState>) -> Expected {
    Expected { states, ..Expected::default() }
}

fn named(buckets: &[&str], tables: &[&str]) -> Expected {
    let text = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let named = Named { buckets: text(buckets), tables: text(tables), prefixes: Vec::new() };
    Expected { named, ..Expected::default() }
}

/// Quick and without a second look.
fn options(url: &str) -> CollectOptions {
    CollectOptions {
        endpoint_url: Some(url.to_owned()),
        settle: None,
        timeout: Duration::from_secs(20),
        max_attempts: 3,
        backoff: Duration::from_millis(1),
        ..CollectOptions::default()
    }
}

fn read(expected: &Expected, options: &CollectOptions) -> Snapshot {
    collect(expected, options, &|_| {}).unwrap()
}

fn bucket<'s>(snapshot: &'s Snapshot, name: &str) -> &'s BucketSnapshot {
    snapshot.buckets.iter().find(|bucket| bucket.name == name).unwrap()
}

fn table<'s>(snapshot: &'s Snapshot, name: &str) -> &'s TableSnapshot {
    snapshot.tables.iter().find(|table| table.name == name).unwrap()
}

/// What could not be read: resource, operation, missing action, and whether it hides locks.
fn unread(snapshot: &Snapshot) -> Vec<(&str, &str, Option<&str>, bool)> {
    snapshot
        .unread
        .iter()
        .map(|unread| {
            (
                unread.resource.as_str(),
                unread.operation.as_str(),
                unread.missing_action.as_deref(),
                unread.hides_locks,
            )
        })
        .collect()
}

/// Requests by operation.
fn requests(snapshot: &Snapshot) -> Vec<(&str, u64)> {
    snapshot.stats.requests.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}
