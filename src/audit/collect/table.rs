//! Reads the lock tables that backends and flags name. The same name in two accounts is two tables; the same ARN by
//! two ways is one, and is scanned once.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::Client;

use super::all::{Boxed, all};
use super::clients::Clients;
use super::failure::Failure;
use super::options::CollectOptions;
use super::tables::{describe, scan};
use crate::audit::expected::{Access, Expected, TableRef};
use crate::audit::snapshot::{DIGEST_SUFFIX, Read, TableSnapshot, Unread};

/// A table by one way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    table: TableRef,
    /// What requests name: its name, or its ARN where a backend says it, which reaches other accounts, too.
    ask: String,
    way: Access,
}

/// One table, read.
pub(super) struct TableRead {
    pub snapshot: TableSnapshot,
    pub unread: Vec<Unread>,
    /// For the second look; none where it can't be reached.
    pub client: Option<Client>,
    /// What requests name.
    pub ask: String,
    /// The way in.
    pub way: Access,
}

/// Reads all tables.
pub(super) async fn read_all(
    clients: &Clients<'_>,
    options: &CollectOptions,
    expected: &Expected,
) -> Vec<TableRead> {
    let targets = targets(expected, options);
    let described: Vec<Boxed<'_, TableRead>> =
        targets.iter().map(|target| Box::pin(described(clients, target)) as Boxed<'_, TableRead>).collect();
    let mut groups: BTreeMap<(String, Option<String>), Vec<TableRead>> = BTreeMap::new();
    let mut reads = Vec::new();
    for read in all(described).await {
        match &read.snapshot.arn {
            Some(arn) => {
                let key = (arn.clone(), read.snapshot.endpoint.clone());
                groups.entry(key).or_default().push(read);
            }
            None => reads.push(vec![read]),
        }
    }
    reads.extend(groups.into_values());
    let scans = reads.into_iter().map(|ways| Box::pin(scanned(clients, options, ways)) as Boxed<'_, _>);
    all(scans.collect()).await.into_iter().flatten().collect()
}

fn targets(expected: &Expected, options: &CollectOptions) -> BTreeSet<Target> {
    let target = |table: &str, access: Access| {
        let reference = TableRef::of(table, &access);
        let ask = if reference.account.is_some() { table.to_owned() } else { reference.name.clone() };
        // What only concerns buckets must not tell ways apart.
        let way = Access { s3_endpoint: None, path_style: false, ..access };
        Target { table: reference, ask, way }
    };
    let of_states = expected.states.iter().filter_map(|state| {
        let table = state.table.as_deref()?;
        Some(target(table, options.access(Some(&state.bucket), &state.access)))
    });
    let mut targets: BTreeSet<Target> = of_states.collect();
    for table in &expected.named.tables {
        let own = target(table, options.access(None, &Access::default()));
        if !targets.iter().any(|target| target.table.name == own.table.name) {
            targets.insert(own);
        }
    }
    targets
}

/// `dynamodb://REGION/TABLE`, or its ARN.
pub(super) fn resource(snapshot: &TableSnapshot) -> String {
    let region = snapshot.region.as_deref().unwrap_or("unknown-region");
    snapshot.arn.clone().unwrap_or_else(|| format!("dynamodb://{region}/{}", snapshot.name))
}

async fn described(clients: &Clients<'_>, target: &Target) -> TableRead {
    let table = &target.table;
    let snapshot = TableSnapshot {
        name: table.name.clone(),
        region: table.region.clone(),
        endpoint: table.endpoint.clone(),
        ..TableSnapshot::default()
    };
    let mut read = TableRead {
        snapshot,
        unread: Vec::new(),
        client: None,
        ask: target.ask.clone(),
        way: target.way.clone(),
    };
    let client = match clients.dynamodb(&target.way, table.region.as_deref()).await {
        Ok((client, region)) => {
            read.snapshot.region = Some(region);
            client
        }
        Err(why) => {
            let failure = Failure::own(why);
            read.snapshot.exists = Read::Failed(failure.reason.clone());
            read.unread.push(failure.unread(&resource(&read.snapshot), "DescribeTable", true));
            return read;
        }
    };
    match describe(clients, &client, &read.ask).await {
        Ok((arn, facts)) => {
            (read.snapshot.arn, read.snapshot.exists) = (arn, Read::Known(facts));
            read.client = Some(client);
        }
        Err(failure) => {
            let missing = failure.is("ResourceNotFoundException");
            let over = missing || failure.hopeless();
            read.unread.push(failure.unread(&resource(&read.snapshot), "DescribeTable", over));
            read.snapshot.exists = if missing { Read::Absent } else { Read::Failed(failure.reason.clone()) };
            read.client = (!over).then_some(client);
        }
    }
    read
}

/// Scans one table by the first way that shows all of it.
async fn scanned(clients: &Clients<'_>, options: &CollectOptions, ways: Vec<TableRead>) -> Option<TableRead> {
    let mut first = None;
    for mut read in ways {
        if let Some(client) = &read.client {
            let facts = read.snapshot.exists.known();
            let count = facts.and_then(|facts| facts.item_count);
            let (gate, meter) = (clients.gate(), clients.meter());
            let scanned = scan(client, &gate, meter, &read.ask, count, options.shards).await;
            (read.snapshot.items, read.snapshot.other_items) = (scanned.items, scanned.other);
            read.snapshot.complete = scanned.failures.is_empty();
            let resource = resource(&read.snapshot);
            read.unread
                .extend(scanned.failures.iter().map(|failure| failure.unread(&resource, "Scan", true)));
        }
        if read.snapshot.complete {
            return Some(read);
        }
        first.get_or_insert(read);
    }
    first
}

/// State paths that items of these tables name, by bucket: of locks and of digests.
pub(super) fn named_states(tables: &[TableRead]) -> BTreeMap<String, BTreeSet<String>> {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in tables.iter().flat_map(|table| &table.snapshot.items) {
        let Some((bucket, path)) = item.lock_id.split_once('/') else { continue };
        let paths = named.entry(bucket.to_owned()).or_default();
        // A state whose own name ends like a digest's is possible, so both are looked for.
        paths.extend(path.strip_suffix(DIGEST_SUFFIX).map(str::to_owned));
        if item.digest.is_none() || !path.ends_with(DIGEST_SUFFIX) {
            paths.insert(path.to_owned());
        }
    }
    named
}
