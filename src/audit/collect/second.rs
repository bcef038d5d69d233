//! The second look. A lock on one side only may be one that is just being taken or released, and a digest is written
//! after its state: after a pause these are read again, consistently, and the snapshot holds what was seen then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::types::ServerSideEncryption;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::bodies::{self, Fetched, Wanted, md5_of};
use super::bucket::{BucketRead, Shared, gone, local_now};
use super::failure::Failure;
use super::table::TableRead;
use super::tables;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{
    DIGEST_SUFFIX, LOCK_SUFFIX, LockObject, Md5, Settled, StateObject, TableItem, Unread,
};
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
    let digests = compare_digests(buckets, tables);
    let states = digests.iter().map(|(bucket, path, ..)| Look::State(*bucket, path.clone()));
    let mut looks: BTreeSet<Look> = states.collect();
    if let Some(pause) = shared.options.settle {
        looks.extend(digests.iter().map(|(_, _, table, lock_id)| Look::Item(*table, lock_id.clone())));
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
                unread.extend(settle_item(table, lock_id, seen));
            }
            (Look::State(at, path), Seen::State(seen)) => {
                let Some(bucket) = buckets.get_mut(at) else { continue };
                if let Err(failure) = settle_state(bucket, &path, seen) {
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
        unread.extend(read_states(buckets, tables).await);
    }
    unread
}

/// Where a digest is the ETag, the ETag is the MD5: that is certain, and nobody need be asked. The others are
/// returned: bucket, path, table, `LockID`. Whether an ETag is an MD5 depends on how the single object is encrypted
/// (a backend may ask for a KMS key whatever the bucket's default is), so those are asked for.
fn compare_digests(buckets: &mut [BucketRead], tables: &[TableRead]) -> Vec<(usize, String, usize, String)> {
    let mut differ = Vec::new();
    for (table, item, digest) in digests(tables) {
        for (at, bucket) in buckets.iter_mut().enumerate() {
            let Some(path) = state_path(&item.lock_id, &bucket.snapshot.name) else { continue };
            let Some(state) = state_mut(bucket, &path) else { continue };
            match &state.etag {
                Some(etag) if etag.eq_ignore_ascii_case(digest) && is_md5(etag) => {
                    state.md5 = Some(Md5::Etag(etag.to_ascii_lowercase()));
                }
                _ => differ.push((at, path, table, item.lock_id.clone())),
            }
        }
    }
    differ
}

fn digests(tables: &[TableRead]) -> impl Iterator<Item = (usize, &TableItem, &str)> {
    let items = tables.iter().enumerate();
    let items = items.flat_map(|(at, table)| table.snapshot.items.iter().map(move |item| (at, item)));
    items.filter_map(|(at, item)| Some((at, item, item.digest.as_deref()?)))
}

/// The path of the state in this bucket that a digest's `LockID` means.
fn state_path(lock_id: &str, bucket: &str) -> Option<String> {
    let path = lock_id.strip_prefix(bucket)?.strip_prefix('/')?.strip_suffix(DIGEST_SUFFIX)?;
    Some(path.to_owned())
}

fn state_mut<'b>(bucket: &'b mut BucketRead, path: &str) -> Option<&'b mut StateObject> {
    let states = &mut bucket.snapshot.states;
    let at = states.binary_search_by(|state| state.key.as_str().cmp(path)).ok()?;
    states.get_mut(at)
}

/// 32 hex digits: not the ETag of a multipart upload (`…-2`).
fn is_md5(etag: &str) -> bool {
    etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
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
    let mut tasks = JoinSet::new();
    for look in looks {
        let gate = Arc::clone(gate);
        match &look {
            Look::Lock(at, path) => {
                let Some(read) = buckets.get(*at) else { continue };
                let Some(client) = read.client.clone() else { continue };
                let bucket = read.snapshot.name.clone();
                let wanted = Wanted { key: format!("{path}{LOCK_SUFFIX}"), version: None };
                tasks.spawn(async move {
                    let _permit = gate.acquire().await.ok();
                    (look, Seen::Lock(bodies::lock(&client, &bucket, &wanted).await))
                });
            }
            Look::State(at, path) => {
                let Some(read) = buckets.get(*at) else { continue };
                let Some(client) = read.client.clone() else { continue };
                let (bucket, path) = (read.snapshot.name.clone(), path.clone());
                tasks.spawn(async move {
                    let _permit = gate.acquire().await.ok();
                    (look, Seen::State(head(&client, &bucket, &path).await))
                });
            }
            Look::Item(at, lock_id) => {
                let Some(read) = tables.get(*at) else { continue };
                let Some(client) = read.client.clone() else { continue };
                let (ask, lock_id) = (read.ask.clone(), lock_id.clone());
                tasks.spawn(async move {
                    let seen = tables::get(&client, &gate, &ask, &lock_id).await;
                    (look, Seen::Item(seen))
                });
            }
        }
    }
    let mut seen = Vec::new();
    while let Some(done) = tasks.join_next().await {
        seen.extend(done.ok());
    }
    seen.sort_by(|(a, _), (b, _)| a.cmp(b));
    seen
}

/// `HeadObject`: the state as it is now, and whether its ETag is the MD5 of its body, which it is in one part without
/// a KMS or customer's key.
/// Source: "Checking object integrity", Amazon S3 User Guide.
async fn head(client: &Client, bucket: &str, key: &str) -> Result<(StateObject, bool), Failure> {
    let answer = client.head_object().bucket(bucket).key(key).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    let etag = answer.e_tag().map(|etag| etag.trim_matches('"').to_owned());
    let plain = matches!(answer.server_side_encryption(), None | Some(ServerSideEncryption::Aes256))
        && answer.sse_customer_algorithm().is_none()
        && etag.as_deref().is_some_and(is_md5);
    let modified = answer.last_modified().and_then(|time| time.to_millis().ok());
    let state = StateObject {
        key: key.to_owned(),
        last_modified: modified.map(Moment::from_millis).unwrap_or_default(),
        size: answer.content_length().and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
        md5: None,
        etag,
    };
    Ok((state, plain))
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
    lock_id: String,
    seen: Result<Option<TableItem>, Failure>,
) -> Option<Unread> {
    let items = &mut table.snapshot.items;
    let place = items.binary_search_by(|item| item.lock_id.cmp(&lock_id));
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

/// The failure is the caller's to report, once for a bucket.
fn settle_state(
    bucket: &mut BucketRead,
    path: &str,
    seen: Result<(StateObject, bool), Failure>,
) -> Result<(), Failure> {
    let Some(before) = state_mut(bucket, path) else { return Ok(()) };
    match seen {
        Ok((now, plain)) => {
            let md5 = now.etag.as_ref().filter(|_| plain).map(|etag| Md5::Etag(etag.to_ascii_lowercase()));
            // The listing's time is finer than the header's.
            if now.etag != before.etag {
                *before = now;
            }
            before.md5 = md5;
        }
        Err(failure) if gone(&failure) => {
            bucket.snapshot.states.retain(|state| state.key != path);
        }
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Bodies of states that have a digest and whose MD5 nothing else tells. One at a time: they may be large.
async fn read_states(buckets: &mut [BucketRead], tables: &[TableRead]) -> Vec<Unread> {
    let mut unread = Vec::new();
    let lock_ids: BTreeSet<&str> = digests(tables).map(|(_, item, _)| item.lock_id.as_str()).collect();
    for bucket in buckets {
        let Some(client) = bucket.client.clone() else { continue };
        let name = bucket.snapshot.name.clone();
        for path in lock_ids.iter().filter_map(|lock_id| state_path(lock_id, &name)) {
            let Some(state) = state_mut(bucket, &path).filter(|state| state.md5.is_none()) else { continue };
            match md5_of(&client, &name, &path).await {
                Ok(hex) => state.md5 = Some(Md5::Body(hex)),
                Err(failure) => {
                    unread.push(failure.unread(&format!("s3://{name}/{path}"), "GetObject", false));
                }
            }
        }
    }
    unread
}
