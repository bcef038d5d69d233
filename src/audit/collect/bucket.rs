//! Reads one bucket: its settings, one listing, the locks in it.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_s3::Client;

use super::bodies::{self, Wanted};
use super::clients::Clients;
use super::facts;
use super::failure::Failure;
use super::history;
use super::list::{Listed, Lister};
use super::options::CollectOptions;
use super::page::{Entry, Listing};
use super::sieve::{Interest, Sifted};
use crate::audit::expected::{Access, Expected, Index, partition_of};
use crate::audit::lock_info::{LockBody, MAX_BYTES};
use crate::audit::snapshot::{BucketSnapshot, LOCK_SUFFIX, LockObject, Read, Settled, Unread};
use crate::moment::Moment;

/// A bucket and the ways into it: different roles of different backends may lead to the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub name: String,
    pub ways: Vec<Access>,
}

/// What all buckets share.
pub(super) struct Shared<'a> {
    pub clients: &'a Clients<'a>,
    pub options: &'a CollectOptions,
    pub expected: &'a Expected,
    pub index: &'a Index<'a>,
    /// State paths that tables name, by bucket.
    pub named: &'a BTreeMap<String, BTreeSet<String>>,
    /// Sorted, none within another; none for whole buckets.
    pub prefixes: &'a [String],
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// One bucket, read.
pub(super) struct BucketRead {
    pub snapshot: BucketSnapshot,
    pub unread: Vec<Unread>,
    /// For the second look; none where the bucket can't be reached.
    pub client: Option<Client>,
}

impl Target {
    /// Whether it is the one at this endpoint.
    pub fn leads_to(&self, endpoint: &Option<String>) -> bool {
        self.ways.iter().any(|way| way.s3_endpoint == *endpoint)
    }

    /// Groups what is expected and named: a bucket at one endpoint is one bucket, whoever leads to it.
    pub fn all(expected: &Expected, options: &CollectOptions) -> Vec<Self> {
        let mut targets: BTreeMap<(String, Option<String>, &str), Vec<Access>> = BTreeMap::new();
        let mut add = |bucket: &str, access: Access| {
            // What only concerns tables must not tell ways apart.
            let access = Access { dynamodb_endpoint: None, ..access };
            let key = (
                bucket.to_owned(),
                access.s3_endpoint.clone(),
                access.region.as_deref().map_or("aws", partition_of),
            );
            let ways = targets.entry(key).or_default();
            if !ways.contains(&access) {
                ways.push(access);
            }
        };
        for state in &expected.states {
            add(&state.bucket, options.access(Some(&state.bucket), &state.access));
        }
        for bucket in &expected.named.buckets {
            if !expected.states.iter().any(|state| state.bucket == *bucket) {
                add(bucket, options.access(Some(bucket), &Access::default()));
            }
        }
        targets.into_iter().map(|((name, ..), ways)| Self { name, ways }).collect()
    }
}

/// Reads a bucket by the first way that shows all of it; where none does, what the first way showed.
pub(super) async fn read(shared: &Shared<'_>, target: &Target) -> BucketRead {
    let mut first: Option<BucketRead> = None;
    for access in &target.ways {
        let read = read_by(shared, &target.name, access).await;
        if read.snapshot.complete {
            return read;
        }
        first.get_or_insert(read);
    }
    first.unwrap_or_else(|| BucketRead {
        snapshot: BucketSnapshot { name: target.name.clone(), ..BucketSnapshot::default() },
        unread: Vec::new(),
        client: None,
    })
}

async fn read_by(shared: &Shared<'_>, bucket: &str, access: &Access) -> BucketRead {
    let resource = format!("s3://{bucket}");
    let mut snapshot = BucketSnapshot {
        name: bucket.to_owned(),
        endpoint: access.s3_endpoint.clone(),
        prefixes: shared.prefixes.to_vec(),
        ..BucketSnapshot::default()
    };
    let (client, region) = match shared.clients.s3(access, None).await {
        Ok(made) => made,
        Err(why) => {
            let unread = vec![Failure::own(why).unread(&resource, "AssumeRole", true)];
            return BucketRead { snapshot, unread, client: None };
        }
    };
    snapshot.region = Some(region);
    let mut client = client;
    let mut versioning = facts::versioning(shared.clients, &client, bucket).await;
    // The store knows better where the bucket is.
    let elsewhere = versioning.as_ref().err().and_then(|failure| failure.region.clone());
    if let Some(elsewhere) = elsewhere.filter(|region| Some(region) != snapshot.region.as_ref())
        && let Ok((moved, region)) = shared.clients.s3(access, Some(&elsewhere)).await
    {
        (client, snapshot.region) = (moved, Some(region));
        versioning = facts::versioning(shared.clients, &client, bucket).await;
    }
    let mut unread = Vec::new();
    match versioning {
        Ok((status, mfa_delete)) => (snapshot.versioning, snapshot.mfa_delete) = (status, mfa_delete),
        Err(failure) => {
            unread.push(failure.unread(&resource, "GetBucketVersioning", failure.hopeless()));
            snapshot.versioning = Read::Failed(failure.reason.clone());
            if failure.hopeless() {
                return BucketRead { snapshot, unread, client: None };
            }
        }
    }
    let (unread_facts, (sifted, versions_seen, failures)) =
        tokio::join!(facts_of(shared, &client, snapshot.clone()), list(shared, &client, &snapshot));
    let (mut snapshot, facts) = unread_facts;
    unread.extend(facts);
    snapshot.complete = !failures.iter().any(|unread| unread.hides_locks);
    unread.extend(failures);
    take_in(shared, &client, &mut snapshot, &mut unread, sifted, versions_seen).await;
    BucketRead { snapshot, unread, client: Some(client) }
}

async fn facts_of(
    shared: &Shared<'_>,
    client: &Client,
    mut snapshot: BucketSnapshot,
) -> (BucketSnapshot, Vec<Unread>) {
    let unread = facts::read(shared.clients, client, &mut snapshot).await;
    (snapshot, unread)
}

/// One listing: with versions where there are any, or where nobody knows. Where versions are refused, what is current
/// can still be seen. Also says whether versions were seen.
async fn list(
    shared: &Shared<'_>,
    client: &Client,
    snapshot: &BucketSnapshot,
) -> (Sifted, bool, Vec<Unread>) {
    let resource = format!("s3://{}", snapshot.name);
    let none = BTreeSet::new();
    let now = shared.clients.meter().now().unwrap_or_else(local_now);
    let run = async |listing: Listing| {
        let interest = Interest {
            bucket: &snapshot.name,
            expected: shared.index,
            named: shared.named.get(&snapshot.name).unwrap_or(&none),
            from: now.before(shared.options.window),
            versioned: listing == Listing::Versions,
        };
        let lister = Lister {
            client: client.clone(),
            meter: shared.clients.meter().clone(),
            gate: shared.clients.gate(),
            listing,
            interest,
            shards: shared.options.shards.max(1),
            progress: shared.progress,
        };
        lister.run(shared.prefixes).await
    };
    let lines = |failures: &[Failure], listing: Listing, hides: bool| -> Vec<Unread> {
        failures.iter().map(|failure| failure.unread(&resource, listing.operation(), hides)).collect()
    };
    if snapshot.versioning == Read::Absent {
        let Listed { sifted, failures } = run(Listing::Objects).await;
        return (sifted, false, lines(&failures, Listing::Objects, true));
    }
    let Listed { sifted, failures } = run(Listing::Versions).await;
    let no_versions = |failure: &Failure| failure.refused() || failure.absent(&[]);
    if failures.is_empty() || !failures.iter().all(no_versions) {
        return (sifted, true, lines(&failures, Listing::Versions, true));
    }
    let mut unread = lines(&failures, Listing::Versions, false);
    let Listed { sifted, failures } = run(Listing::Objects).await;
    unread.extend(lines(&failures, Listing::Objects, true));
    (sifted, false, unread)
}

/// Puts what the listing left into the snapshot, and reads the locks.
async fn take_in(
    shared: &Shared<'_>,
    client: &Client,
    snapshot: &mut BucketSnapshot,
    unread: &mut Vec<Unread>,
    sifted: Sifted,
    versions_seen: bool,
) {
    let now = shared.clients.meter().now().unwrap_or_else(local_now);
    (snapshot.states, snapshot.history, snapshot.other_objects) =
        (sifted.states, sifted.history, sifted.other);
    let enabled = snapshot.versioning.known().is_some_and(|status| status == "Enabled");
    snapshot.history_from = match (versions_seen, &snapshot.versioning) {
        (true, _) => {
            let expected = shared.expected.states.iter();
            let expected = expected.filter(|state| state.bucket == snapshot.name).map(|state| &state.key);
            let seen = snapshot.states.iter().map(|state| &state.key).chain(snapshot.history.keys());
            let locks = sifted.locks.iter().map(|lock| &lock.key);
            let keys = expected.chain(seen).chain(locks).map(String::as_str);
            let null_version = sifted.null_version.filter(|_| enabled);
            history::complete_since(&snapshot.lifecycle, null_version, &keys, now, shared.options.window)
        }
        // There are versions, and they can't be seen.
        (false, Read::Known(_) | Read::Failed(_)) => Some(now),
        (false, _) => None,
    };
    read_locks(shared, client, snapshot, unread, sifted.locks).await;
    read_past_locks(shared, client, snapshot, unread).await;
}

async fn read_locks(
    shared: &Shared<'_>,
    client: &Client,
    snapshot: &mut BucketSnapshot,
    unread: &mut Vec<Unread>,
    entries: Vec<Entry>,
) {
    let readable = |entry: &Entry| entry.size > 0 && entry.size <= MAX_BYTES as u64;
    let wanted = entries.iter().filter(|entry| readable(entry));
    let wanted = wanted.map(|entry| Wanted { key: entry.key.clone(), version: None }).collect();
    let gate = shared.clients.gate();
    let mut bodies: BTreeMap<String, bodies::Fetched> = BTreeMap::new();
    for (wanted, fetched) in bodies::locks(client, &gate, &snapshot.name, wanted).await {
        bodies.insert(wanted.key, fetched);
    }
    for entry in entries {
        let fetched = bodies.remove(&entry.key);
        let mut lock = LockObject {
            key: entry.key,
            last_modified: entry.modified,
            etag: entry.etag,
            version_id: entry.version,
            size: entry.size,
            body: match entry.size {
                0 => LockBody::Empty,
                size if size > MAX_BYTES as u64 => bodies::too_large(size),
                _ => LockBody::Unread { why: "it was not read".to_owned() },
            },
            settled: Settled::NotAsked,
        };
        match fetched {
            // The listing's time is finer than the header's.
            Some(Ok(same)) if same.etag == lock.etag => (lock.body, lock.size) = (same.body, same.size),
            // Released and taken again between listing and reading.
            Some(Ok(newer)) => lock = newer,
            Some(Err(failure)) if gone(&failure) => {
                lock.body = LockBody::Unread { why: "it was gone when it was to be read".to_owned() };
                lock.settled = Settled::Gone;
            }
            Some(Err(failure)) => {
                let resource = format!("s3://{}/{}", snapshot.name, lock.key);
                unread.push(failure.unread(&resource, "GetObject", true));
                lock.body = LockBody::Unread { why: failure.reason };
            }
            None => {}
        }
        // A lock that is held is the last interval of its state's history.
        let state = lock.key.strip_suffix(LOCK_SUFFIX).unwrap_or(&lock.key);
        let intervals = snapshot.history.get_mut(state).map(|history| history.locks.iter_mut());
        let own = intervals.and_then(|mut intervals| {
            intervals.find(|interval| Some(&interval.version_id) == lock.version_id.as_ref())
        });
        if let Some(own) = own {
            own.body = Some(lock.body.clone());
        }
        snapshot.locks.push(lock);
    }
}

/// Who held past locks. That nobody knows hides no lock; it is said once for a bucket.
async fn read_past_locks(
    shared: &Shared<'_>,
    client: &Client,
    snapshot: &mut BucketSnapshot,
    unread: &mut Vec<Unread>,
) {
    let mut wanted = history::past_locks(&snapshot.history, shared.options.lock_history);
    let gate = shared.clients.gate();
    // The first one alone: where it is refused, so are the others.
    let rest = wanted.split_off(wanted.len().min(1));
    let mut read = bodies::locks(client, &gate, &snapshot.name, wanted).await;
    if !read.iter().any(|(_, fetched)| fetched.as_ref().is_err_and(|failure| failure.refused())) {
        read.extend(bodies::locks(client, &gate, &snapshot.name, rest).await);
    }
    let mut failed: Option<(Failure, u64)> = None;
    for (wanted, fetched) in read {
        let state = wanted.key.strip_suffix(LOCK_SUFFIX).unwrap_or(&wanted.key);
        let interval = snapshot.history.get_mut(state).and_then(|history| {
            history.locks.iter_mut().find(|lock| Some(&lock.version_id) == wanted.version.as_ref())
        });
        let Some(interval) = interval else { continue };
        interval.body = Some(match fetched {
            Ok(lock) => lock.body,
            Err(failure) => {
                let why = failure.reason.clone();
                failed.get_or_insert((failure, 0)).1 += 1;
                LockBody::Unread { why }
            }
        });
    }
    if let Some((mut failure, count)) = failed {
        if count > 1 {
            failure.reason = format!("{} (and {} more)", failure.reason, count - 1);
        }
        unread.push(failure.unread(&format!("s3://{}", snapshot.name), "GetObjectVersion", false));
    }
}

/// The object is not there any more.
pub(super) fn gone(failure: &Failure) -> bool {
    failure.is("NoSuchKey") || failure.is("NoSuchVersion") || failure.is("NotFound") || failure.is("HTTP 404")
}

/// Only where no server has answered yet.
pub(super) fn local_now() -> Moment {
    Moment::of(std::time::SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::expected::Named;

    #[test]
    fn a_bucket_is_one_bucket_whoever_leads_to_it() {
        let named = Named { buckets: vec!["b".into(), "a".into(), "b".into()], ..Named::default() };
        let expected = Expected { named, ..Expected::default() };
        let targets = Target::all(&expected, &CollectOptions::default());
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(targets.iter().all(|target| target.ways == [Access::default()]));
    }
}
