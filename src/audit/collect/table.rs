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
    let mut described = describe_all(clients, &of_backends(expected, options)).await;
    let by_hand = by_hand(clients, options, expected, &described).await;
    let by_hand = describe_all(clients, &by_hand).await;
    let by_hand: Vec<TableRead> =
        by_hand.into_iter().filter(|read| !is_reached_otherwise(read, &described)).collect();
    described.extend(by_hand);
    let mut groups: BTreeMap<(String, Option<String>), Vec<TableRead>> = BTreeMap::new();
    let mut reads = Vec::new();
    for read in described {
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

async fn describe_all(clients: &Clients<'_>, targets: &BTreeSet<Target>) -> Vec<TableRead> {
    let described: Vec<Boxed<'_, TableRead>> =
        targets.iter().map(|target| Box::pin(described(clients, target)) as Boxed<'_, TableRead>).collect();
    all(described).await
}

fn target(table: &str, access: Access) -> Target {
    let reference = TableRef::of(table, &access);
    let ask = if reference.account.is_some() { table.to_owned() } else { reference.name.clone() };
    // What only concerns buckets must not tell ways apart.
    let way = Access { s3_endpoint: None, path_style: false, ..access };
    Target { table: reference, ask, way }
}

fn of_backends(expected: &Expected, options: &CollectOptions) -> BTreeSet<Target> {
    let of_states = expected.states.iter().filter_map(|state| {
        let table = state.table.as_deref()?;
        Some(target(table, options.access(Some(&state.bucket), &state.access)))
    });
    of_states.collect()
}

/// Tables named by hand that no backend's way leads to already. A name without a region means the region that its own
/// client asks: the same name elsewhere is another table.
async fn by_hand(
    clients: &Clients<'_>,
    options: &CollectOptions,
    expected: &Expected,
    described: &[TableRead],
) -> BTreeSet<Target> {
    let mut targets = BTreeSet::new();
    for table in &expected.named.tables {
        let mut own = target(table, options.access(None, &Access::default()));
        if own.table.region.is_none() {
            let config = clients.config(&own.way).await.ok();
            own.table.region = config.and_then(|config| config.region().map(ToString::to_string));
        }
        let led_to = |read: &TableRead| match own.table.account {
            Some(_) => read.snapshot.arn.as_deref() == Some(own.ask.as_str()),
            None => read.ask == own.ask && may_be_one_region(read, own.table.region.as_deref()),
        };
        let same_way = |read: &TableRead| {
            let who = |way: &Access| (way.profile.clone(), way.role_arn.clone());
            // Without any region nothing can be asked.
            own.table.region.is_none() || own.table.account.is_some() || who(&read.way) == who(&own.way)
        };
        let same_endpoint = |read: &TableRead| read.snapshot.endpoint == own.table.endpoint;
        if !described.iter().any(|read| led_to(read) && same_way(read) && same_endpoint(read)) {
            targets.insert(own);
        }
    }
    targets
}

/// What is not known does not tell regions apart.
fn may_be_one_region(read: &TableRead, region: Option<&str>) -> bool {
    read.snapshot.region.as_deref().zip(region).is_none_or(|(a, b)| a == b)
}

/// A name given by hand that only a backend's own credentials lead to: asked with others it may well be missing.
fn is_reached_otherwise(by_hand: &TableRead, of_backends: &[TableRead]) -> bool {
    by_hand.snapshot.exists.known().is_none()
        && by_hand.ask == by_hand.snapshot.name
        && of_backends.iter().any(|read| {
            read.ask == by_hand.ask
                && read.snapshot.endpoint == by_hand.snapshot.endpoint
                && may_be_one_region(read, by_hand.snapshot.region.as_deref())
        })
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
        // Also where it can't be described: tables of one name are told apart.
        arn: table.account.is_some().then(|| target.ask.clone()),
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
            read.snapshot.arn = arn.or(read.snapshot.arn);
            read.snapshot.exists = Read::Known(facts);
            read.client = Some(client);
        }
        Err(failure) => {
            let missing = failure.is("ResourceNotFoundException");
            let over = missing || failure.hopeless();
            read.unread.push(failure.unread(&resource(&read.snapshot), "DescribeTable", over));
            read.snapshot.exists = if missing { Read::Absent } else { Read::Failed(failure.reason) };
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
