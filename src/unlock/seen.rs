//! What both stores hold for one state, and by what a conditional delete would know it again.

use std::fmt;

use serde::Serialize;

use crate::audit::lock_info::{LockBody, LockInfo};
use crate::moment::Moment;

/// A store that can hold a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// The `.tflock` object.
    S3,
    /// The lock item.
    DynamoDb,
}

impl Store {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::S3 => Self::DynamoDb,
            Self::DynamoDb => Self::S3,
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::S3 => "S3",
            Self::DynamoDb => "DynamoDB",
        })
    }
}

/// One state: the thing that a lock is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct State {
    /// Its bucket.
    pub bucket: String,
    /// Its path: key, workspace included.
    pub state_path: String,
}

impl State {
    /// What a lock document's `Path` must say, and the lock item's `LockID`.
    pub fn lock_id(&self) -> String {
        format!("{}/{}", self.bucket, self.state_path)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.bucket, self.state_path)
    }
}

/// What one store said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// It was not asked: there is no such store for this state.
    NotAsked,
    /// No lock is there.
    Free,
    /// A lock is there.
    Held(Box<Held>),
    /// It could not be read: why.
    Unread(String),
}

/// A lock in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The document, or what is wrong with it.
    pub body: LockBody,
    /// By what a conditional delete knows it.
    pub proof: Proof,
    /// When the store took it in; DynamoDB does not say.
    pub stored_at: Option<Moment>,
}

/// By what a conditional delete knows the lock that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// S3: `If-Match` with this ETag.
    Etag(String),
    /// DynamoDB: `Info` is this very text.
    InfoIs(String),
    /// DynamoDB: there is no attribute `Info` (and so no ID to compare with).
    NoInfo,
    /// Nothing that the store said can serve as a condition: such a lock is not removed here.
    Nothing,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Etag(etag) => write!(f, "If-Match: {etag}"),
            Self::InfoIs(_) => f.write_str("Info = the text that was read"),
            Self::NoInfo => f.write_str("attribute_exists(LockID) AND attribute_not_exists(Info)"),
            Self::Nothing => f.write_str("none"),
        }
    }
}

impl Held {
    /// The document, when it is one and speaks of this state.
    pub fn lock_on(&self, state: &State) -> Option<&LockInfo> {
        self.body.lock().filter(|lock| lock.path == state.lock_id())
    }

    /// When it was made: by its own word, else by the store's. [`Seen::taken_at`] says how old it counts as.
    pub fn made_at(&self) -> Option<Moment> {
        self.body.lock().and_then(LockInfo::created_at).or(self.stored_at)
    }

    /// What is wrong with it: why `force-unlock` could not release it, or would release another state's lock.
    pub fn fault(&self, state: &State) -> Option<String> {
        match &self.body {
            LockBody::Lock { lock, .. } if lock.path != state.lock_id() => {
                Some(format!("its document speaks of `{}`, not of `{}`", lock.path, state.lock_id()))
            }
            LockBody::Lock { .. } => None,
            LockBody::Empty => Some("it is empty".to_owned()),
            LockBody::Foreign { why, .. } => Some(format!("it is no lock document: {why}")),
            LockBody::Unread { why } => Some(format!("it could not be read: {why}")),
        }
    }
}

/// Both stores, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The state.
    pub state: State,
    /// The `.tflock` object.
    pub s3: Side,
    /// The lock item.
    pub dynamodb: Side,
    /// When, by the servers' clocks.
    pub at: Moment,
}

impl Seen {
    /// One store's answer.
    pub fn side(&self, store: Store) -> &Side {
        match store {
            Store::S3 => &self.s3,
            Store::DynamoDb => &self.dynamodb,
        }
    }

    /// When a lock was taken, by the youngest word there is: a client that waits for a lock writes the document first
    /// and takes the lock later, and its clock may be behind; S3's is not. The same lock in S3 speaks for the item as
    /// well.
    pub fn taken_at(&self, lock: &Held) -> Option<Moment> {
        let id = lock.lock_on(&self.state).map(|lock| &lock.id);
        let same = self
            .held(Store::S3)
            .filter(|s3| id.is_some() && s3.lock_on(&self.state).map(|lock| &lock.id) == id);
        let created = lock.body.lock().and_then(LockInfo::created_at);
        [created, lock.stored_at, same.and_then(|s3| s3.stored_at)].into_iter().flatten().max()
    }

    /// The lock in one store.
    pub fn held(&self, store: Store) -> Option<&Held> {
        match self.side(store) {
            Side::Held(held) => Some(held),
            _ => None,
        }
    }
}
