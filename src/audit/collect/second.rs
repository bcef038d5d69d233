//! The second look. A lock on one side only may be one that is just being taken or released, and a digest is written
//! after its state: after a pause these are read again, consistently, and the snapshot holds what was seen then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::all::pool;
use super::bodies::{self, Fetched, Wanted};
use super::bucket::{BucketRead, Shared, gone, local_now};
use super::digests;
use super::failure::Failure;
use super::table::TableRead;
use super::tables;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{LOCK_SUFFIX, LockObject, Settled, StateObject, TableItem, Unread};
use crate::moment::Moment;
use crate::repo::inventory::LockMode;

/// A lock that is younger may still be on its way.
const YOUNG: Duration = Duration::from_secs(120);

/// What is looked at again. Buckets and tables are named by their place among those that were read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    /// The lock on a state.
    Lock(usize, String),
    /// An item.
    Item(usize, String),
    /// A state: what it is, never its body.
    State(usize, String),
}

/// What was seen.
enum Seen {
    Lock(Fetched),
    Item(Result<Option<TableItem>, Failure>),
    State(Result<(StateObject, bool), Failure>),
}

/// Compares digests, waits, and looks again at what is not plainly one thing. Returns what could not be read.
pub(super) async fn look(
    shared: &Shared<'_>,
    buckets: &mut [BucketRead],
    tables: &mut [TableRead],
) -> Vec<Unread> {
    let differing = digests::compare(buckets, tables);
    let states = differing.iter().map(|(bucket, path, ..)| Look::State(*bucket, path.clone()));
    let mut looks: BTreeSet<Look> = states.collect();
    if let Some(pause) = shared.options.settle {
        looks.extend(differing.iter().map(|(_, _, table, lock_id)| Look::Item(*table, lock_id.clone())));
        looks.extend(unsettled(shared, buckets, tables));
        if !looks.is_empty() {
            (shared.progress)(&format!("a second look at {} things", looks.len()));
            tokio::time::sleep(pause).await;
        }
    }
    let mut unread = Vec::new();
    let mut heads: BTreeMap<usize, (Failure, u64)> = BTreeMap::new();
    for (look, seen) in run(looks, buckets, tables, &shared.clients.gate()).await {
        match (look, seen) {
            (Look::Lock(at, path), Seen::Lock(seen)) => {
                let Some(bucket) = buckets.get_mut(at) else { continue };
                unread.extend(settle_lock(bucket, &path, seen));
            }
            (Look::Item(at, lock_id), Seen::Item(seen)) => {
                let Some(table) = tables.get_mut(at) else { continue };
                unread.extend(settle_item(table, &lock_id, seen));
            }
            (Look::State(at, path), Seen::State(seen)) => {
                let Some(bucket) = buckets.get_mut(at) else { continue };
                if let Err(failure) = digests::settle(bucket, &path, seen) {
                    heads.entry(at).or_insert((failure, 0)).1 += 1;
                }
            }
            _ => {}
        }
    }
    for (at, (mut failure, count)) in heads {
        let Some(bucket) = buckets.get(at) else { continue };
        failure.reason = format!(
            "{} (whether the ETag is the MD5 is not known for {count} states whose digest differs)",
            failure.reason
        );
        unread.push(failure.unread(&format!("s3://{}", bucket.snapshot.name), "HeadObject", false));
    }
    if shared.options.read_states {
        unread.extend(digests::read_bodies(buckets, tables).await);
    }
    unread
}

/// Every lock that could be one that is just being taken or released, on both sides.
fn unsettled(shared: &Shared<'_>, buckets: &[BucketRead], tables: &[TableRead]) -> Vec<Look> {
    let now = shared.clients.meter().now().unwrap_or_else(local_now);
    // Locks by bucket and path: the object, and the items with their tables.
    type Sides<'s> = (Option<&'s LockObject>, Vec<(usize, &'s TableItem)>);
    let mut locked: BTreeMap<(&str, &str), Sides<'_>> = BTreeMap::new();
    for bucket in buckets {
        for lock in &bucket.snapshot.locks {
            let path = lock.key.strip_suffix(LOCK_SUFFIX).unwrap_or(&lock.key);
            locked.entry((&bucket.snapshot.name, path)).or_default().0 = Some(lock);
        }
    }
    for (at, table) in tables.iter().enumerate() {
        for item in table.snapshot.items.iter().filter(|item| item.digest.is_none()) {
            let Some(place) = item.lock_id.split_once('/') else { continue };
            locked.entry(place).or_default().1.push((at, item));
        }
    }
    let mut looks = Vec::new();
    for ((bucket, path), (lock, items)) in locked {
        let states = shared.index.at(bucket, path);
        let wants = |one: LockMode| {
            states.is_empty()
                || states.iter().any(|(state, _)| {
                    state.mode == one || matches!(state.mode, LockMode::Dual | LockMode::Unknown)
                })
        };
        let wants_s3 = wants(LockMode::Lockfile);
        let wants_table = wants(LockMode::Dynamodb) && !tables.is_empty();
        if is_settled(lock, &items, wants_s3, wants_table, now) {
            continue;
        }
        let mut readers =
            buckets.iter().enumerate().filter(|(_, read)| read.snapshot.name == bucket).peekable();
        // A table may serve buckets that are not this audit's: of their locks nothing can be said anyway.
        if readers.peek().is_none() {
            continue;
        }
        looks.extend(readers.map(|(at, _)| Look::Lock(at, path.to_owned())));
        let lock_id = format!("{bucket}/{path}");
        let here = items.iter().map(|(at, _)| *at);
        let expected = tables.iter().enumerate().filter(|(_, table)| {
            let refs = states.iter().filter_map(|(state, _)| state.table_ref());
            states.is_empty() || refs.into_iter().any(|reference| table.snapshot.is(&reference))
        });
        let at: BTreeSet<usize> = here.chain(expected.map(|(at, _)| at)).collect();
        looks.extend(at.into_iter().map(|at| Look::Item(at, lock_id.clone())));
    }
    looks
}

/// Nothing about this lock is on its way.
fn is_settled(
    lock: Option<&LockObject>,
    items: &[(usize, &TableItem)],
    wants_s3: bool,
    wants_table: bool,
    now: Moment,
) -> bool {
    let body_age = |body: &LockBody| body.lock().and_then(|lock| lock.created_at());
    let begun = lock.map(|lock| Some(lock.last_modified)).into_iter();
    let begun = begun.chain(items.iter().map(|(_, item)| item.body.as_ref().and_then(body_age)));
    // What does not say when it began may have begun just now.
    let old =
        |begun: Option<Moment>| begun.is_some_and(|begun| now.since(begun).is_some_and(|age| age > YOUNG));
    if !begun.into_iter().all(old) {
        return false;
    }
    let id = |body: Option<&LockBody>| body.and_then(LockBody::lock).map(|lock| lock.id.clone());
    match lock {
        Some(_) if items.is_empty() => !wants_table,
        Some(lock) => {
            let own = id(Some(&lock.body));
            own.is_some() && items.iter().all(|(_, item)| id(item.body.as_ref()) == own)
        }
        None => !wants_s3,
    }
}

async fn run(
    looks: BTreeSet<Look>,
    buckets: &[BucketRead],
    tables: &[TableRead],
    gate: &Arc<Semaphore>,
) -> Vec<(Look, Seen)> {
    let jobs = looks.into_iter().filter_map(|look| job(look, buckets, tables, Arc::clone(gate)));
    let mut seen = pool(jobs).await;
    seen.sort_by(|(a, _), (b, _)| a.cmp(b));
    seen
}

/// One look, as something that can be done anywhere; none where there is no client to ask.
fn job(
    look: Look,
    buckets: &[BucketRead],
    tables: &[TableRead],
    gate: Arc<Semaphore>,
) -> Option<impl Future<Output = (Look, Seen)> + Send + use<>> {
    let (Look::Lock(at, _) | Look::Item(at, _) | Look::State(at, _)) = &look;
    let s3 = buckets.get(*at).and_then(|read| Some((read.client.clone()?, read.snapshot.name.clone())));
    let dynamodb = tables.get(*at).and_then(|read| Some((read.client.clone()?, read.ask.clone())));
    match &look {
        Look::Lock(..) | Look::State(..) if s3.is_none() => return None,
        Look::Item(..) if dynamodb.is_none() => return None,
        _ => {}
    }
    Some(async move {
        let seen = match (&look, s3, dynamodb) {
            (Look::Lock(_, path), Some((client, bucket)), _) => {
                let _permit = gate.acquire().await.ok();
                let wanted = Wanted { key: format!("{path}{LOCK_SUFFIX}"), version: None };
                Seen::Lock(bodies::lock(&client, &bucket, &wanted).await)
            }
            (Look::State(_, path), Some((client, bucket)), _) => {
                let _permit = gate.acquire().await.ok();
                Seen::State(digests::head(&client, &bucket, path).await)
            }
            (Look::Item(_, lock_id), _, Some((client, ask))) => {
                Seen::Item(tables::get(&client, &gate, &ask, lock_id).await)
            }
            // Ruled out above.
            _ => Seen::Item(Err(Failure::own("there is no client to ask"))),
        };
        (look, seen)
    })
}

fn settle_lock(bucket: &mut BucketRead, path: &str, seen: Fetched) -> Option<Unread> {
    let key = format!("{path}{LOCK_SUFFIX}");
    let locks = &mut bucket.snapshot.locks;
    let place = locks.binary_search_by(|lock| lock.key.as_str().cmp(&key));
    let known = place.ok().and_then(|at| locks.get_mut(at));
    match (seen, known) {
        (Ok(now), Some(before)) if now.etag == before.etag && before.settled != Settled::Gone => {
            before.settled = Settled::Same;
        }
        (Ok(now), Some(before)) => *before = LockObject { settled: Settled::Changed, ..now },
        (Ok(now), None) => {
            let at = place.unwrap_or_else(|at| at);
            locks.insert(at, LockObject { settled: Settled::Changed, ..now });
        }
        (Err(failure), known) if gone(&failure) => {
            if let Some(before) = known {
                before.settled = Settled::Gone;
            }
        }
        (Err(failure), known) => {
            if let Some(before) = known {
                before.settled = Settled::Failed;
            }
            let resource = format!("s3://{}/{key}", bucket.snapshot.name);
            return Some(failure.unread(&resource, "GetObject", true));
        }
    }
    None
}

fn settle_item(
    table: &mut TableRead,
    lock_id: &str,
    seen: Result<Option<TableItem>, Failure>,
) -> Option<Unread> {
    let items = &mut table.snapshot.items;
    let place = items.binary_search_by(|item| item.lock_id.as_str().cmp(lock_id));
    let known = place.ok().and_then(|at| items.get_mut(at));
    match (seen, known) {
        (Ok(Some(now)), Some(before)) => {
            let same = now.body == before.body && now.digest == before.digest;
            let settled = if same { Settled::Same } else { Settled::Changed };
            *before = TableItem { settled, ..now };
        }
        (Ok(Some(now)), None) => {
            let at = place.unwrap_or_else(|at| at);
            items.insert(at, TableItem { settled: Settled::Changed, ..now });
        }
        (Ok(None), Some(before)) => before.settled = Settled::Gone,
        (Ok(None), None) => {}
        (Err(failure), known) => {
            if let Some(before) = known {
                before.settled = Settled::Failed;
            }
            let arn = table.snapshot.arn.clone();
            let region = table.snapshot.region.as_deref().unwrap_or("unknown-region");
            let resource = arn.unwrap_or_else(|| format!("dynamodb://{region}/{}", table.snapshot.name));
            return Some(failure.unread(&resource, "GetItem", true));
        }
    }
    None
}
