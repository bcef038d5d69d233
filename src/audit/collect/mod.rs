//! Reads what is really there: from what the repositories say to a [`Snapshot`], with as few requests as that takes.
//! It only reads, save in [`probe`], which is asked for apart. What can't be read is said in the snapshot, and everything else is still read.
//!
//! Tables come first, so that a listing knows which states matter; then each bucket: its settings and one listing,
//! GET of `.tflock` objects only; then a second look at what may just be on its way.

use std::fmt;
use std::time::Instant;

use crate::audit::expected::Expected;
use crate::audit::snapshot::{SCHEMA_VERSION, Snapshot};

mod account;
mod all;
pub(crate) mod bodies;
mod bucket;
pub(crate) mod clients;
mod cloudwatch;
pub(crate) mod digests;
mod facts;
pub(crate) mod failure;
mod history;
mod iam;
mod kms;
mod list;
pub(crate) mod meter;
mod options;
mod page;
mod points;
pub mod probe;
pub(crate) mod profiles;
mod query;
mod second;
mod sieve;
mod simulate;
mod table;
mod tables;
mod trust;

pub use options::CollectOptions;
pub use simulate::simulate;

use account::Callers;
use all::{Boxed, all};
use bucket::{BucketRead, Shared, Target, local_now};
use clients::Clients;
use meter::Meter;

/// Buckets that are read at one time. What a bucket holds in memory while it is read is bounded, so this bounds all.
const BUCKETS_AT_ONCE: usize = 8;

/// Threads for answers: reading XML is what takes processor time.
const THREADS: usize = 4;

/// Why nothing could be read at all. Everything smaller is in [`Snapshot::unread`].
#[derive(Debug)]
pub enum CollectError {
    /// Neither a bucket nor a table is named or expected.
    Nothing,
    /// Threads could not be started.
    Threads(std::io::Error),
}

impl fmt::Display for CollectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is no bucket and no table to read"),
            Self::Threads(error) => write!(f, "threads for reading could not be started: {error}"),
        }
    }
}

impl std::error::Error for CollectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Nothing => None,
            Self::Threads(error) => Some(error),
        }
    }
}

/// Reads everything that is expected or named; blocks until it is done. `progress` is told, often, how far it is.
///
/// Who judges should give `expected` through [`CollectOptions::apply`] first, so that both mean the same stores.
///
/// # Errors
/// Where there is nothing to read, or no threads to read with. Whatever AWS refuses is in the snapshot instead.
pub fn collect(
    expected: &Expected,
    options: &CollectOptions,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Snapshot, CollectError> {
    let tables = expected.states.iter().any(|state| state.table.is_some());
    if expected.buckets().is_empty() && expected.named.tables.is_empty() && !tables {
        return Err(CollectError::Nothing);
    }
    let runtime = runtime()?;
    let snapshot = runtime.block_on(read(expected, options, progress));
    // Connections that are still open are nobody's business any more.
    runtime.shutdown_background();
    Ok(snapshot)
}

fn runtime() -> Result<tokio::runtime::Runtime, CollectError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.map_err(CollectError::Threads)
}

async fn read(expected: &Expected, options: &CollectOptions, progress: &(dyn Fn(&str) + Sync)) -> Snapshot {
    let began = Instant::now();
    let clients = Clients::new(options, Meter::default());
    progress("reading lock tables");
    let mut tables = table::read_all(&clients, options, expected).await;
    let named = table::named_states(&tables);
    let (index, prefixes) = (expected.index(), outermost(&expected.named.prefixes));
    let shared = Shared {
        clients: &clients,
        options,
        expected,
        index: &index,
        named: &named,
        prefixes: &prefixes,
        progress,
    };
    let targets = Target::all(expected, options);
    let turns = tokio::sync::Semaphore::new(BUCKETS_AT_ONCE);
    let reads = targets.iter().map(|target| {
        let (shared, turns) = (&shared, &turns);
        Box::pin(async move {
            let _turn = turns.acquire().await.ok();
            bucket::read(shared, target).await
        }) as Boxed<'_, BucketRead>
    });
    let mut buckets = all(reads.collect()).await;
    let mut unread = second::look(&shared, &mut buckets, &mut tables).await;
    let mut accounts = Vec::new();
    let mut callers = Callers::default();
    if options.iam {
        progress("reading identity policies");
        let (read, failed) = account::accounts(&clients, options, expected, &mut callers).await;
        accounts = read;
        account::keys(&clients, options, expected, &mut buckets).await;
        unread.extend(failed);
    }
    points::read(&clients, options, expected, &mut callers, &mut buckets).await;
    if let Some(days) = options.table_writes {
        let now = clients.meter().now().unwrap_or_else(local_now);
        account::table_writes(&clients, options, &mut tables, now, days).await;
    }
    let mut snapshot = Snapshot {
        schema_version: SCHEMA_VERSION,
        taken_at: clients.meter().now().unwrap_or_else(local_now),
        stats: clients.meter().stats(),
        accounts,
        ..Snapshot::default()
    };
    for bucket in buckets {
        unread.extend(bucket.unread);
        snapshot.buckets.push(bucket.snapshot);
    }
    for table in tables {
        unread.extend(table.unread);
        snapshot.tables.push(table.snapshot);
    }
    snapshot.unread = unread;
    snapshot.stats.millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    snapshot.sort();
    snapshot
}

/// Prefixes that lie within no other one, sorted.
fn outermost(prefixes: &[String]) -> Vec<String> {
    let mut sorted = prefixes.to_vec();
    sorted.sort();
    let mut outer: Vec<String> = Vec::new();
    for prefix in sorted {
        if !outer.last().is_some_and(|last| prefix.starts_with(last.as_str())) {
            outer.push(prefix);
        }
    }
    outer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_within_another_is_not_listed_twice() {
        let given = ["b/", "a", "a/b", "ab", "c"].map(str::to_owned);
        assert_eq!(outermost(&given), ["a", "b/", "c"]);
        assert_eq!(outermost(&["x".to_owned(), String::new()]), [""]);
    }

    #[test]
    fn nothing_to_read_is_an_error() {
        let result = collect(&Expected::default(), &CollectOptions::default(), &|_| {});
        assert_eq!(result.unwrap_err().to_string(), "there is no bucket and no table to read");
    }
}
