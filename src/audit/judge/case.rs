//! One state with everything that was read about it: what the repositories say, what lies on both sides, and how much
//! may be concluded from what is not there.

use std::collections::BTreeSet;
use std::time::Duration;

use super::world::{Found, StatePath, World, of_digest, s3};
use crate::audit::expected::ExpectedState;
use crate::audit::lock_info::{LockBody, LockInfo};
use crate::audit::outcome::{AuditFinding, LockRecord, Locks};
use crate::audit::snapshot::{
    BucketSnapshot, DIGEST_SUFFIX, LOCK_SUFFIX, LockObject, Read, Settled, StateObject, TableSnapshot,
};
use crate::moment::Moment;
use crate::repo::inventory::LockMode;
use crate::repo::text::Place;
use crate::rules::Rule;

/// How far a client's clock may run ahead.
pub(super) const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);

/// One state.
pub(super) struct Case<'a> {
    /// Its bucket's name.
    pub(super) bucket_name: &'a str,
    /// Its bucket, where it is in the snapshot.
    pub(super) bucket: Option<&'a BucketSnapshot>,
    /// Its path.
    pub(super) path: &'a str,
    /// Backends that use it, with the workspace.
    pub(super) states: Vec<(&'a ExpectedState, &'a str)>,
    /// The mode that they agree on.
    pub(super) mode: LockMode,
    /// Why there is none.
    pub(super) mode_unknown: Option<String>,
    /// The S3 side.
    pub(super) s3: Side<'a>,
    /// The DynamoDB side: the item in the table that the backend names, else in any.
    pub(super) dynamodb: Side<'a>,
    /// Lock items on it in further tables.
    pub(super) elsewhere: Vec<Held<'a>>,
    /// Digest items, the named table's first.
    pub(super) digests: Vec<Found<'a>>,
    /// Tables that its backends name, as far as they are in the snapshot.
    pub(super) tables: Vec<&'a TableSnapshot>,
    stale_after: Duration,
    now: Moment,
}

/// One store's side of a lock.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'a> {
    /// A lock is there.
    Held(Held<'a>),
    /// None is there, and one would have been seen.
    Free,
    /// One was there, and was gone at the second look: the other side may not have been read at the same moment.
    Gone,
    /// This state has no such store.
    NoStore,
    /// Nothing can be said: why.
    Unknown(&'static str),
}

/// A lock in one store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'a> {
    /// The `.tflock`; none for an item.
    pub(super) object: Option<&'a LockObject>,
    /// The table that holds the item; none for an object.
    pub(super) table: Option<&'a TableSnapshot>,
    /// What it holds; none for an item without `Info`.
    pub(super) body: Option<&'a LockBody>,
    /// What the second look saw.
    pub(super) settled: Settled,
}

impl<'a> Side<'a> {
    /// The lock, where there is one.
    pub(super) fn held(&self) -> Option<&Held<'a>> {
        match self {
            Side::Held(held) => Some(held),
            Side::Free | Side::Gone | Side::NoStore | Side::Unknown(_) => None,
        }
    }

    /// Whether it is known that there is none.
    pub(super) fn is_free(&self) -> bool {
        matches!(self, Side::Free)
    }

    /// Why nothing can be said.
    fn unknown(&self) -> Option<String> {
        match self {
            Side::Unknown(why) => Some((*why).to_owned()),
            Side::Held(_) | Side::Free | Side::Gone | Side::NoStore => None,
        }
    }
}

impl<'a> Held<'a> {
    /// The document, where it could be read.
    pub(super) fn lock(&self) -> Option<&'a LockInfo> {
        self.body.and_then(LockBody::lock)
    }

    /// The ID, where it could be read.
    pub(super) fn id(&self) -> Option<&'a str> {
        self.lock().map(|lock| lock.id.as_str())
    }

    /// Whether both are one lock: they have the same ID, or lie in the same place.
    pub(super) fn is_same(&self, other: &Held<'_>) -> bool {
        let table = |held: &Held<'_>| held.table.map(std::ptr::from_ref::<TableSnapshot>);
        table(self) == table(other) || self.id().is_some() && self.id() == other.id()
    }

    /// When the store took it in; only S3 tells.
    pub(super) fn stored(&self) -> Option<Moment> {
        self.object.map(|object| object.last_modified)
    }

    /// When it was made: by the client's clock; by the store's where the document does not say, or says a moment that
    /// has not come yet.
    pub(super) fn made(&self, now: Moment) -> Option<Moment> {
        let created = self.lock().and_then(LockInfo::created_at);
        created.filter(|at| *at <= now.after(CLOCK_TOLERANCE)).or(self.stored())
    }

    /// How old it is; nothing where no clock tells.
    pub(super) fn age(&self, now: Moment) -> Option<Duration> {
        self.made(now).map(|at| now.since(at).unwrap_or_default())
    }

    /// Why its document can't be read; nothing when it can.
    pub(super) fn unreadable(&self) -> Option<String> {
        match self.body {
            None => Some("the item has no `Info`".to_owned()),
            Some(LockBody::Lock { .. }) => None,
            Some(LockBody::Empty) => Some("it is empty".to_owned()),
            Some(LockBody::Foreign { why, .. } | LockBody::Unread { why }) => Some(why.clone()),
        }
    }

    /// `S3`, or the table.
    pub(super) fn store(&self) -> String {
        match self.table {
            Some(table) => format!("table `{}`", table.name),
            None => "S3".to_owned(),
        }
    }

    /// The record for reports.
    pub(super) fn record(&self, now: Moment) -> LockRecord {
        let lock = self.lock();
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let created = lock.and_then(LockInfo::created_at);
        let since = created.or(self.stored());
        LockRecord {
            id: lock.and_then(|lock| text(&lock.id)),
            who: lock.and_then(|lock| text(&lock.who)),
            operation: lock.and_then(|lock| text(&lock.operation)),
            version: lock.and_then(|lock| text(&lock.version)),
            created,
            age_seconds: since.map(|at| now.millis().saturating_sub(at.millis()).div_euclid(1000)),
            unreadable: self.unreadable(),
            etag: self.object.and_then(|object| object.etag.clone()),
            table: self.table.map(|table| table.name.clone()),
            table_arn: self.table.and_then(|table| table.arn.clone()),
        }
    }
}

impl<'a> Case<'a> {
    /// Gathers what there is about one path.
    pub(super) fn of(world: &World<'a>, bucket_name: &'a str, path: &'a str, index: Option<usize>) -> Self {
        let at: StatePath<'a> = (bucket_name, path, index);
        let bucket = world.bucket(index);
        let states = world.states_at(at);
        let (mode, mode_unknown) = mode_of(world, &states);
        let named: BTreeSet<usize> =
            states.iter().flat_map(|(state, _)| world.tables_of(state)).copied().collect();
        let lock_id = format!("{bucket_name}/{path}");
        let mut items = world.items_at(&lock_id, at);
        items.retain(|found| of_digest(found.item).is_none());
        let mut digests = world.items_at(&format!("{lock_id}{DIGEST_SUFFIX}"), at);
        digests.retain(|found| of_digest(found.item).is_some());
        // Stable: within both halves the snapshot's order of tables stays.
        items.sort_by_key(|found| !named.contains(&found.table_index));
        digests.sort_by_key(|found| !named.contains(&found.table_index));
        let mut held = items.iter().map(|found| Held {
            object: None,
            table: Some(found.table),
            body: found.item.body.as_ref(),
            settled: found.item.settled,
        });
        let tables: Vec<&TableSnapshot> =
            named.iter().filter_map(|index| world.snapshot.tables.get(*index)).collect();
        let dynamodb = match held.next() {
            Some(held) => Side::Held(held),
            None => free_table(world, &states, &tables, &lock_id),
        };
        Self {
            bucket_name,
            bucket,
            path,
            mode,
            mode_unknown,
            s3: s3_side(bucket, path),
            dynamodb,
            elsewhere: held.collect(),
            digests,
            tables,
            states,
            stale_after: world.options.stale_after,
            now: world.now,
        }
    }

    /// `s3://BUCKET/PATH`.
    pub(super) fn subject(&self) -> String {
        s3(self.bucket_name, self.path)
    }

    /// Where the repository configures it.
    pub(super) fn place(&self) -> Option<Place> {
        self.states.first().map(|(state, _)| state.place.clone())
    }

    /// The state object.
    pub(super) fn state(&self) -> Option<&'a StateObject> {
        self.bucket?.state(self.path)
    }

    /// Whether the state object is there; not known when the listing would not have shown it.
    pub(super) fn exists(&self) -> Option<bool> {
        match self.state() {
            Some(_) => Some(true),
            None => self.bucket?.covers(self.path).then_some(false),
        }
    }

    /// Both records.
    pub(super) fn locks(&self, now: Moment) -> Locks {
        Locks {
            s3: self.s3.held().map(|held| held.record(now)),
            s3_unknown: self.s3.unknown(),
            dynamodb: self.dynamodb.held().map(|held| held.record(now)),
            dynamodb_unknown: self.dynamodb.unknown(),
        }
    }

    /// Both sides' locks, S3 first.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held<'a>> {
        self.s3.held().into_iter().chain(self.dynamodb.held())
    }

    /// Whether a lock is older than the stale age.
    pub(super) fn is_stale(&self, held: &Held<'_>) -> bool {
        held.age(self.now).is_some_and(|age| age > self.stale_after)
    }

    /// Whether its document says that it is this state's lock. `unlock` goes by the ID of no other.
    pub(super) fn is_own(&self, held: &Held<'_>) -> bool {
        let own = held.lock().and_then(|lock| lock.path.strip_prefix(self.bucket_name)?.strip_prefix('/'));
        own == Some(self.path)
    }

    /// How long ago S3 took in a lock that is stale by its own word, where that is shorter than the stale age: the
    /// client's clock is behind, or the client waited for its turn (`-lock-timeout` keeps the document that it made
    /// before). The run may well be alive. A lock that was copied with its bucket speaks of another state.
    pub(super) fn taken_lately(&self, held: &Held<'_>) -> Option<Duration> {
        let s3 = self.s3.held().filter(|s3| s3.is_same(held) && self.is_own(s3) && self.is_stale(held))?;
        s3.stored().and_then(|at| self.now.since(at)).filter(|taken| *taken <= self.stale_after)
    }

    /// From what age on a lock is stale.
    pub(super) fn stale_after(&self) -> Duration {
        self.stale_after
    }

    /// When the snapshot was taken.
    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// Whether somebody seems to be at work: any lock that is not stale.
    pub(super) fn is_busy(&self) -> bool {
        self.held().chain(&self.elsewhere).any(|held| !self.is_stale(held))
    }

    /// A finding about this state, both lock records with it when it is locked.
    pub(super) fn finding(&self, rule: &Rule, message: impl Into<String>) -> AuditFinding {
        let locks = self.locks(self.now);
        let finding = AuditFinding::new(rule, self.subject(), message);
        AuditFinding { place: self.place(), locks: locks.is_held().then_some(locks), ..finding }
    }
}

fn s3_side<'a>(bucket: Option<&'a BucketSnapshot>, path: &str) -> Side<'a> {
    let Some(bucket) = bucket else { return Side::Unknown("its bucket was not read") };
    match bucket.lock(path) {
        Some(lock) if lock.settled != Settled::Gone => Side::Held(Held {
            object: Some(lock),
            table: None,
            body: Some(&lock.body),
            settled: lock.settled,
        }),
        Some(_) => Side::Gone,
        None if bucket.covers(&format!("{path}{LOCK_SUFFIX}")) => Side::Free,
        None if bucket.complete => Side::Unknown("it lies under none of the prefixes that were listed"),
        None => Side::Unknown("the listing did not come to its end"),
    }
}

/// The table's side where no lock item was seen. Free is only what was scanned to the end: every table that its
/// backends name. Of a state that no repository names, every table that was read could hold the lock.
fn free_table<'a>(
    world: &World<'a>,
    states: &[(&ExpectedState, &str)],
    named: &[&TableSnapshot],
    lock_id: &str,
) -> Side<'a> {
    let all: Vec<&TableSnapshot> = world.snapshot.tables.iter().collect();
    let tables = if states.is_empty() { &all } else { named };
    if states.iter().any(|(state, _)| state.mode == LockMode::Unknown && state.table.is_none()) {
        return Side::Unknown("which table it has can't be told from the repository");
    }
    if !states.is_empty() && states.iter().all(|(state, _)| state.table.is_none()) {
        return Side::NoStore;
    }
    if states.iter().any(|(state, _)| state.table.is_some() && world.tables_of(state).is_empty()) {
        return Side::Unknown("its table was not read");
    }
    if tables.is_empty() {
        return Side::Unknown("no table was read");
    }
    if tables.iter().any(|table| !table.complete && table.exists != Read::Absent) {
        return Side::Unknown("the scan of the table did not come to its end");
    }
    if tables.iter().any(|table| table.item(lock_id).is_some()) { Side::Gone } else { Side::Free }
}

fn mode_of(world: &World<'_>, states: &[(&ExpectedState, &str)]) -> (LockMode, Option<String>) {
    let modes: BTreeSet<LockMode> = states.iter().map(|(state, _)| state.mode).collect();
    let mut modes = modes.into_iter();
    let why = match (modes.next(), modes.next()) {
        (Some(LockMode::Unknown), None) => "its lock settings can't be told from the repository".to_owned(),
        (Some(mode), None) => return (mode, None),
        (None, _) if world.has_repository() => "no repository names this state".to_owned(),
        (None, _) => "no repository was read".to_owned(),
        (Some(_), Some(_)) => {
            let mut says: Vec<String> = states
                .iter()
                .map(|(state, _)| format!("`{}` says {}", state.root, state.mode.as_str()))
                .collect();
            says.sort();
            says.dedup();
            const SHOWN: usize = 4;
            let more = says.len().saturating_sub(SHOWN);
            says.truncate(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("root modules disagree: {}{more}", says.join(", "))
        }
    };
    (LockMode::Unknown, Some(why))
}
