//! `aws s3api list-object-versions` and `list-objects-v2`: locks, states and lock intervals of one bucket.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::pages::{Continuation, documents, incomplete};
use super::{Digests, Export, ImportError};
use crate::audit::expected::{Expected, Index};
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{
    BucketSnapshot, LOCK_SUFFIX, LockInterval, LockObject, Md5, Read, Settled, Snapshot, StateObject,
    StateWrite, Unread,
};
use crate::moment::Moment;

/// What decides which objects matter.
pub struct Keep<'a> {
    /// The bucket.
    pub bucket: &'a str,
    /// States that repositories name.
    pub index: &'a Index<'a>,
    /// States that tables name.
    pub digests: &'a Digests,
    /// Begin of the window.
    pub from: Moment,
    /// The prefixes that were listed, when the user says so.
    pub prefixes: &'a [String],
}

/// One page of either command.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    versions: Option<Vec<Entry>>,
    #[serde(default)]
    delete_markers: Option<Vec<Entry>>,
    #[serde(default)]
    contents: Option<Vec<Entry>>,
    #[serde(default)]
    prefix: Option<String>,
    /// What an empty listing still says.
    #[serde(default)]
    key_count: Option<u64>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    request_charged: bool,
    #[serde(flatten)]
    continuation: Continuation,
}

/// Whether the name is there at all: the AWS CLI prints `"RequestCharged": null` even for an empty bucket.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// A version, a delete marker or an object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    key: String,
    last_modified: Moment,
    #[serde(default, rename = "ETag")]
    etag: Option<String>,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    version_id: Option<String>,
    #[serde(default)]
    is_latest: bool,
}

/// One key's past, newest first.
struct Past {
    entry: Entry,
    is_marker: bool,
}

/// Adds one bucket to the snapshot.
pub fn import(
    snapshot: &mut Snapshot,
    files: &[&Export],
    body: &dyn Fn(&str, &str) -> Option<Vec<u8>>,
    keep: &Keep<'_>,
    expected: &Expected,
) -> Result<(), ImportError> {
    let mut read = BucketSnapshot {
        name: keep.bucket.to_owned(),
        endpoint: endpoint(keep.bucket, expected),
        complete: true,
        ..BucketSnapshot::default()
    };
    let (mut versions, mut markers, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    let mut prefixes: BTreeSet<String> = keep.prefixes.iter().cloned().collect();
    let mut is_versions = BTreeSet::new();
    for file in files {
        let pages: Vec<Page> = documents(file)?;
        for page in &pages {
            let is_listing = page.versions.is_some()
                || page.delete_markers.is_some()
                || page.contents.is_some()
                || page.key_count.is_some()
                || page.name.is_some()
                || page.request_charged;
            if !is_listing {
                let why = "neither Versions nor Contents: no listing of a bucket".to_owned();
                return Err(ImportError::Invalid { file: file.file.clone(), why });
            }
            if page.name.as_ref().is_some_and(|name| name != keep.bucket) {
                let why = format!("a listing of another bucket than {}", keep.bucket);
                return Err(ImportError::Invalid { file: file.file.clone(), why });
            }
            if page.versions.is_some() || page.delete_markers.is_some() {
                is_versions.insert(true);
            } else if page.contents.is_some() || page.key_count.is_some() {
                is_versions.insert(false);
            }
        }
        let operation = if is_versions.contains(&true) { "ListObjectVersions" } else { "ListObjectsV2" };
        if let Some(why) = incomplete(pages.iter().map(|page| &page.continuation)) {
            read.complete = false;
            snapshot.unread.push(Unread {
                resource: format!("s3://{}", keep.bucket),
                operation: operation.to_owned(),
                reason: format!("{}: {why}", file.file),
                missing_action: None,
                hides_locks: true,
            });
        }
        snapshot.stats.pages += pages.len() as u64;
        for page in pages {
            prefixes.extend(page.prefix.filter(|prefix| !prefix.is_empty()));
            versions.extend(page.versions.into_iter().flatten());
            markers.extend(page.delete_markers.into_iter().flatten());
            contents.extend(page.contents.into_iter().flatten());
        }
    }
    if is_versions.len() > 1 {
        return Err(ImportError::TwoKinds { bucket: keep.bucket.to_owned() });
    }
    read.prefixes = prefixes.into_iter().collect();
    if is_versions.contains(&true) {
        read.versioning = versioning(&versions, &markers);
    }
    for entry in &mut contents {
        entry.is_latest = true;
    }
    versions.extend(contents);
    snapshot.stats.objects += (versions.len() + markers.len()) as u64;
    let pasts = pasts(versions, markers);
    if is_versions.contains(&true) {
        read.history_from = Some(history_from(&pasts).unwrap_or(snapshot.taken_at));
    }
    locks(&mut read, &pasts, body, keep, &mut snapshot.unread);
    states(&mut read, &pasts, keep);
    snapshot.buckets.push(read);
    Ok(())
}

/// Whether the versions show that versioning is on. Writes of a bucket without it, or with it suspended, have the
/// version `null`.
fn versioning(versions: &[Entry], markers: &[Entry]) -> Read<String> {
    let is_null = |entry: &&Entry| entry.version_id.as_deref().is_none_or(|id| id == "null");
    let all = || versions.iter().chain(markers);
    let newest_null = all().filter(is_null).map(|entry| entry.last_modified).max();
    let oldest_real = all().filter(|entry| !is_null(entry)).map(|entry| entry.last_modified).min();
    match (newest_null, oldest_real) {
        (None, None) => Read::NotAsked,
        (Some(_), None) => Read::Absent,
        (Some(null), Some(real)) if null > real => Read::Known("Suspended".to_owned()),
        (_, Some(_)) => Read::Known("Enabled".to_owned()),
    }
}

/// From when on the past is to be seen: an export does not tell whether a lifecycle rule expires old versions. Such a
/// rule counts from when a version became old, so all is there that became old after the first one that still is.
fn history_from(pasts: &BTreeMap<String, Vec<Past>>) -> Option<Moment> {
    let became_old = pasts.values().flat_map(|past| past.windows(2).filter_map(|pair| pair.first()));
    became_old.map(|newer| newer.entry.last_modified).min()
}

/// Each key's versions and markers, newest first.
///
/// S3 lists whole seconds, and the command puts markers apart from versions: within one second their order is lost.
/// A lock and its release take turns, so of two that are equal the other kind than the newer neighbour goes first.
fn pasts(versions: Vec<Entry>, markers: Vec<Entry>) -> BTreeMap<String, Vec<Past>> {
    let mut kinds: BTreeMap<String, [Vec<Entry>; 2]> = BTreeMap::new();
    for entry in versions {
        let [into, _] = kinds.entry(entry.key.clone()).or_default();
        into.push(entry);
    }
    for entry in markers {
        let [_, into] = kinds.entry(entry.key.clone()).or_default();
        into.push(entry);
    }
    let mut found = BTreeMap::new();
    for (key, mut kinds) in kinds {
        for entries in &mut kinds {
            // Stable: S3 lists the newest first. Overlapping exports bring the same version twice.
            entries.sort_by_key(|entry| (Reverse(entry.is_latest), Reverse(entry.last_modified)));
            let mut seen = BTreeSet::new();
            entries.retain(|entry| seen.insert(entry.version_id.clone()));
            entries.reverse();
        }
        let [mut versions, mut markers] = kinds;
        let mut past: Vec<Past> = Vec::with_capacity(versions.len() + markers.len());
        loop {
            let after_version = past.last().is_some_and(|newer| !newer.is_marker);
            let rank = |entry: &Entry| (entry.is_latest, entry.last_modified);
            let is_marker = match (versions.last(), markers.last()) {
                (None, None) => break,
                (Some(_), None) => false,
                (None, Some(_)) => true,
                (Some(version), Some(marker)) => match rank(marker).cmp(&rank(version)) {
                    std::cmp::Ordering::Greater => true,
                    std::cmp::Ordering::Less => false,
                    std::cmp::Ordering::Equal => after_version,
                },
            };
            let next = if is_marker { markers.pop() } else { versions.pop() };
            past.extend(next.map(|entry| Past { entry, is_marker }));
        }
        found.insert(key, past);
    }
    found
}

/// The object itself, where it is current.
fn current(past: &[Past]) -> Option<&Entry> {
    past.first().filter(|newest| !newest.is_marker && newest.entry.is_latest).map(|newest| &newest.entry)
}

fn version(entry: &Entry) -> Option<String> {
    entry.version_id.clone().filter(|id| id != "null")
}

fn locks(
    read: &mut BucketSnapshot,
    pasts: &BTreeMap<String, Vec<Past>>,
    body: &dyn Fn(&str, &str) -> Option<Vec<u8>>,
    keep: &Keep<'_>,
    unread: &mut Vec<Unread>,
) {
    for (key, past) in pasts {
        let Some(state) = key.strip_suffix(LOCK_SUFFIX) else { continue };
        if let Some(entry) = current(past) {
            let given = match body(keep.bucket, key) {
                None => Err("its body was not exported".to_owned()),
                Some(bytes) if bytes.len() as u64 != entry.size => Err(format!(
                    "the body that was given has {} bytes, the listing says {}: it is another one",
                    bytes.len(),
                    entry.size
                )),
                Some(bytes) => Ok(LockBody::read(&bytes)),
            };
            let body = given.unwrap_or_else(|why| {
                unread.push(Unread {
                    resource: format!("s3://{}/{key}", keep.bucket),
                    operation: "GetObject".to_owned(),
                    reason: why.clone(),
                    missing_action: None,
                    hides_locks: true,
                });
                LockBody::Unread { why }
            });
            read.locks.push(LockObject {
                key: key.clone(),
                last_modified: entry.last_modified,
                etag: entry.etag.clone(),
                version_id: version(entry),
                size: entry.size,
                body,
                settled: Settled::NotAsked,
            });
        }
        let intervals = intervals(past, keep.from);
        if !intervals.is_empty() {
            read.history.entry(state.to_owned()).or_default().locks = intervals;
        }
    }
}

/// The times in which the lock was held, as far as they reach into the window.
fn intervals(past: &[Past], from: Moment) -> Vec<LockInterval> {
    let newer = std::iter::once(None).chain(past.iter().map(Some));
    let held = past.iter().zip(newer).filter_map(|(one, newer)| {
        let version_id = version(&one.entry).filter(|_| !one.is_marker)?;
        Some(LockInterval {
            from: one.entry.last_modified,
            to: newer.map(|newer| newer.entry.last_modified),
            version_id,
            body: None,
            overwritten: newer.is_some_and(|newer| !newer.is_marker),
        })
    });
    held.filter(|interval| interval.to.is_none_or(|to| to >= from)).collect()
}

fn states(read: &mut BucketSnapshot, pasts: &BTreeMap<String, Vec<Past>>, keep: &Keep<'_>) {
    for (key, past) in pasts.iter().filter(|(key, _)| !key.ends_with(LOCK_SUFFIX)) {
        let told = keep.digests.get(&format!("{}/{key}", keep.bucket));
        // Locks were put in by key, so that they can be looked up.
        let is_locked = || read.lock(key).is_some() || read.history.contains_key(key);
        if told.is_none() && !keep.index.knows(keep.bucket, key) && !is_locked() {
            read.other_objects += u64::from(current(past).is_some());
            continue;
        }
        let writes: Vec<StateWrite> = past
            .iter()
            .filter(|one| !one.is_marker && one.entry.last_modified >= keep.from)
            .filter_map(|one| {
                Some(StateWrite { at: one.entry.last_modified, version_id: version(&one.entry)? })
            })
            .collect();
        if !writes.is_empty() {
            read.history.entry(key.clone()).or_default().writes = writes;
        }
        if let Some(entry) = current(past) {
            let etag = entry.etag.as_deref().map(|etag| etag.trim_matches('"').to_owned());
            // Whether an ETag is an MD5 depends on the object's encryption, which no listing tells. One that the
            // table names as the digest is.
            let md5 = etag.clone().filter(|etag| told.is_some_and(|told| told.contains(etag))).map(Md5::Etag);
            read.states.push(StateObject {
                key: key.clone(),
                last_modified: entry.last_modified,
                etag,
                size: entry.size,
                md5,
            });
        }
    }
}

/// The endpoint that the backends name for this bucket: an export does not say where it came from.
fn endpoint(bucket: &str, expected: &Expected) -> Option<String> {
    let states = expected.states.iter().filter(|state| state.bucket == bucket);
    states.into_iter().find_map(|state| state.access.s3_endpoint.clone())
}
