//! Everything that is looked up more than once: which bucket and which table of the snapshot a backend means, which
//! items lie on a state, which state paths there are. Made once, near linear in what was read.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::JudgeOptions;
use crate::audit::expected::{Access, Expected, ExpectedState, Index, TableRef};
use crate::audit::snapshot::{
    BucketSnapshot, DIGEST_SUFFIX, LOCK_SUFFIX, Settled, Snapshot, TableItem, TableSnapshot,
};
use crate::moment::Moment;

/// One state path: bucket name, path, and which bucket of the snapshot.
pub(super) type StatePath<'a> = (&'a str, &'a str, Option<usize>);

/// An item and its table's index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a> {
    /// Index of the table in the snapshot.
    pub(super) table_index: usize,
    /// The table.
    pub(super) table: &'a TableSnapshot,
    /// The item.
    pub(super) item: &'a TableItem,
}

/// A snapshot and what should be there, ready for look-ups.
pub(super) struct World<'a> {
    /// What was read.
    pub(super) snapshot: &'a Snapshot,
    /// What the repositories say.
    pub(super) expected: &'a Expected,
    /// What the user decided.
    pub(super) options: &'a JudgeOptions,
    /// When the snapshot was taken.
    pub(super) now: Moment,
    index: Index<'a>,
    by_name: BTreeMap<&'a str, Vec<usize>>,
    /// Names of buckets that repositories name.
    names: HashSet<&'a str>,
    /// By bucket name and endpoint, as backends say them.
    buckets: BTreeMap<(&'a str, Option<&'a str>), Option<usize>>,
    /// By what backends say: the tables that it may mean, almost always one.
    tables: BTreeMap<TableRef, Vec<usize>>,
    items: HashMap<&'a str, Vec<Found<'a>>>,
    /// Indices of tables that anything in the repositories uses.
    mentioned: HashSet<usize>,
}

impl<'a> World<'a> {
    /// Prepares the look-ups.
    pub(super) fn new(snapshot: &'a Snapshot, expected: &'a Expected, options: &'a JudgeOptions) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, bucket) in snapshot.buckets.iter().enumerate() {
            by_name.entry(bucket.name.as_str()).or_default().push(index);
        }
        let mut items: HashMap<&str, Vec<Found<'_>>> = HashMap::new();
        for (table_index, table) in snapshot.tables.iter().enumerate() {
            for item in table.items.iter().filter(|item| item.settled != Settled::Gone) {
                items.entry(item.lock_id.as_str()).or_default().push(Found { table_index, table, item });
            }
        }
        let mut world = Self {
            snapshot,
            expected,
            options,
            now: snapshot.taken_at,
            index: expected.index(),
            by_name,
            names: expected.states.iter().map(|state| state.bucket.as_str()).collect(),
            buckets: BTreeMap::new(),
            tables: BTreeMap::new(),
            items,
            mentioned: HashSet::new(),
        };
        world.place_buckets();
        world.place_tables();
        world
    }

    /// A bucket's name and endpoint say which it is. Where no endpoint of any backend fits, one was given by hand
    /// (`--endpoint-url`, `lockshift.toml`): then the only bucket of that name is meant.
    fn place_buckets(&mut self) {
        let mut claimed: BTreeMap<&str, bool> = BTreeMap::new();
        for state in &self.expected.states {
            let key = (state.bucket.as_str(), endpoint(state.access.s3_endpoint.as_deref()));
            let candidates = self.by_name.get(key.0).map(Vec::as_slice).unwrap_or_default();
            let exact = candidates.iter().copied().find(|index| {
                let bucket = self.snapshot.buckets.get(*index);
                bucket.is_some_and(|bucket| endpoint(bucket.endpoint.as_deref()) == key.1)
            });
            *claimed.entry(key.0).or_default() |= exact.is_some();
            self.buckets.insert(key, exact);
        }
        for ((name, _), index) in &mut self.buckets {
            if let (None, Some([only]), Some(false)) =
                (&index, self.by_name.get(name).map(Vec::as_slice), claimed.get(name))
            {
                *index = Some(*only);
            }
        }
    }

    fn place_tables(&mut self) {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, table) in self.snapshot.tables.iter().enumerate() {
            by_name.entry(table.name.as_str()).or_default().push(index);
        }
        for wanted in self.expected.states.iter().filter_map(ExpectedState::table_ref) {
            if self.tables.contains_key(&wanted) {
                continue;
            }
            let fitting: Vec<(usize, &TableSnapshot)> = by_name
                .get(wanted.name.as_str())
                .into_iter()
                .flatten()
                .filter_map(|index| Some((*index, self.snapshot.tables.get(*index)?)))
                .filter(|(_, table)| may_be(table, &wanted))
                .collect();
            let own = endpoint(wanted.endpoint.as_deref());
            let at = |exact: bool| {
                let fitting =
                    fitting.iter().filter(|(_, table)| !exact || endpoint(table.endpoint.as_deref()) == own);
                fitting.map(|(index, _)| *index).collect::<Vec<usize>>()
            };
            let mut found = at(true);
            if found.is_empty() && fitting.len() == 1 {
                found = at(false);
            }
            self.tables.insert(wanted, found);
        }
        for name in &self.expected.tables_mentioned {
            let wanted = TableRef::of(name, &Access::default());
            let named = by_name.get(wanted.name.as_str()).into_iter().flatten().copied();
            let snapshot = self.snapshot;
            self.mentioned.extend(
                named.filter(|index| snapshot.tables.get(*index).is_some_and(|table| may_be(table, &wanted))),
            );
        }
    }

    /// Whether anything in the repositories uses this table, readers included. A name without a region means every
    /// table of that name.
    pub(super) fn is_mentioned(&self, table: usize) -> bool {
        self.mentioned.contains(&table)
    }

    /// Which bucket of the snapshot this state lives in.
    pub(super) fn bucket_of(&self, state: &ExpectedState) -> Option<usize> {
        let key = (state.bucket.as_str(), endpoint(state.access.s3_endpoint.as_deref()));
        self.buckets.get(&key).copied().flatten()
    }

    /// Which table of the snapshot this state's backend names; none when it names none, it was not read, or a name
    /// without region or account fits several.
    pub(super) fn table_of(&self, state: &ExpectedState) -> Option<usize> {
        match self.tables_of(state) {
            [only] => Some(*only),
            _ => None,
        }
    }

    /// Every table of the snapshot that this state's backend may mean: what it does not say does not tell tables of
    /// one name apart.
    pub(super) fn tables_of(&self, state: &ExpectedState) -> &[usize] {
        let found = state.table_ref().and_then(|table| self.tables.get(&table));
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Tables that backends name and the snapshot does not hold.
    pub(super) fn tables_absent(&self) -> impl Iterator<Item = &TableRef> {
        self.tables.iter().filter(|(_, found)| found.is_empty()).map(|(table, _)| table)
    }

    /// A bucket of the snapshot.
    pub(super) fn bucket(&self, index: Option<usize>) -> Option<&'a BucketSnapshot> {
        self.snapshot.buckets.get(index?)
    }

    /// Whether a repository was read at all.
    pub(super) fn has_repository(&self) -> bool {
        !self.expected.states.is_empty() || !self.expected.unplaced.is_empty()
    }

    /// The expected states that live at this path of this bucket, with their workspace.
    pub(super) fn states_at(&self, at: StatePath<'a>) -> Vec<(&'a ExpectedState, &'a str)> {
        let (bucket, path, index) = at;
        let mut found = self.index.at(bucket, path);
        found.retain(|(state, _)| self.bucket_of(state) == index);
        found
    }

    /// Items with this `LockID` that belong to this bucket of the snapshot.
    pub(super) fn items_at(&self, lock_id: &str, at: StatePath<'a>) -> Vec<Found<'a>> {
        let mut found = self.items.get(lock_id).cloned().unwrap_or_default();
        found.retain(|found| self.bucket_of_item(at.0, at.1, found.table_index) == at.2);
        found
    }

    /// Which bucket of the snapshot an item speaks of: an item holds a name, no endpoint. Where several have the
    /// name, backends that name this table decide.
    fn bucket_of_item(&self, name: &str, path: &str, table: usize) -> Option<usize> {
        match self.by_name.get(name).map(Vec::as_slice).unwrap_or_default() {
            [] => None,
            [only] => Some(*only),
            [first, ..] => {
                let states = self.index.at(name, path);
                let by_table = states.iter().find(|(state, _)| self.tables_of(state).contains(&table));
                by_table.and_then(|(state, _)| self.bucket_of(state)).or(Some(*first))
            }
        }
    }

    /// Splits a `LockID` without its digest suffix. A bucket may be an access point's ARN, which holds a slash.
    fn split<'t>(&self, lock_id: &'t str) -> Option<(&'t str, &'t str)> {
        let known = lock_id.match_indices('/').find_map(|(at, _)| {
            let (bucket, path) = (lock_id.get(..at)?, lock_id.get(at + 1..)?);
            (self.by_name.contains_key(bucket) || self.names.contains(bucket)).then_some((bucket, path))
        });
        known
            .or_else(|| lock_id.split_once('/'))
            .filter(|(bucket, path)| !bucket.is_empty() && !path.is_empty())
    }

    /// Whether a repository names the state with this `LockID`.
    pub(super) fn knows(&self, lock_id: &str) -> bool {
        self.split(lock_id).is_some_and(|(bucket, path)| self.index.knows(bucket, path))
    }

    /// Whether a path is among those that were listed, complete or not.
    pub(super) fn is_listed(&self, index: Option<usize>, path: &str) -> bool {
        self.bucket(index).is_none_or(|bucket| {
            bucket.prefixes.is_empty()
                || bucket.prefixes.iter().any(|prefix| path.starts_with(prefix.as_str()))
        })
    }

    /// Every state path, once, by bucket and path: what repositories name, what buckets and tables hold.
    pub(super) fn paths(&self) -> Vec<StatePath<'a>> {
        let mut paths: Vec<StatePath<'a>> = Vec::new();
        for state in &self.expected.states {
            let bucket = self.bucket_of(state);
            // Prefixes that were given by hand leave the rest out on purpose.
            if self.expected.named.prefixes.is_empty() || self.is_listed(bucket, &state.key) {
                paths.push((&state.bucket, &state.key, bucket));
            }
        }
        for (index, bucket) in self.snapshot.buckets.iter().enumerate() {
            let locks = bucket.locks.iter().filter(|lock| lock.settled != Settled::Gone);
            let locks = locks.filter_map(|lock| lock.key.strip_suffix(LOCK_SUFFIX));
            let states = bucket.states.iter().map(|state| state.key.as_str());
            let history = bucket.history.keys().map(String::as_str);
            let all = locks.chain(states).chain(history).filter(|path| !path.is_empty());
            paths.extend(all.map(|path| (bucket.name.as_str(), path, Some(index))));
        }
        for found in self.items.values().flatten() {
            let lock_id = match of_digest(found.item) {
                Some(lock_id) => lock_id,
                None => found.item.lock_id.as_str(),
            };
            if let Some((bucket, path)) = self.split(lock_id) {
                paths.push((bucket, path, self.bucket_of_item(bucket, path, found.table_index)));
            }
        }
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

/// The `LockID` of the state that a digest item speaks of; none for a lock item. A state's own name may end in `-md5`,
/// too: then `Info` tells.
pub(super) fn of_digest(item: &TableItem) -> Option<&str> {
    item.lock_id.strip_suffix(DIGEST_SUFFIX).filter(|_| item.body.is_none())
}

/// `1 lock`, `2 locks`.
pub(super) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `s3://BUCKET/PATH`.
pub(super) fn s3(bucket: &str, path: &str) -> String {
    format!("s3://{bucket}/{path}")
}

/// `dynamodb://REGION/TABLE`, without a region where none is known.
pub(super) fn dynamodb(name: &str, region: Option<&str>) -> String {
    match region {
        Some(region) => format!("dynamodb://{region}/{name}"),
        None => format!("dynamodb://{name}"),
    }
}

fn endpoint(endpoint: Option<&str>) -> Option<&str> {
    endpoint.map(|endpoint| endpoint.trim_end_matches('/'))
}

/// Whether name, region and account do not speak against it.
pub(super) fn may_be(table: &TableSnapshot, wanted: &TableRef) -> bool {
    let differs = |a: Option<&str>, b: Option<&str>| a.zip(b).is_some_and(|(a, b)| a != b);
    let account = table.arn.as_deref().and_then(|arn| arn.split(':').nth(4)).filter(|id| !id.is_empty());
    table.name == wanted.name
        && !differs(table.region.as_deref(), wanted.region.as_deref())
        && !differs(account, wanted.account.as_deref())
}
