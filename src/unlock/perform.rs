//! Carries a decision out: one conditional write after the other, then reads both stores again. Blocking; what the
//! caller prints comes from what is returned.
//!
//! Once the first write is on its way, an interrupt (Ctrl-C) no longer ends the program: it takes one moment to
//! finish and to say what is true. So nothing is ever left half done without a word.

use tokio::runtime::Runtime;

use super::decide::{self, Refusal, Removal};
use super::digest::{DigestDecision, DigestSeen, Item};
use super::record::{Action, After};
use super::seen::{Proof, Seen, Side, State, Store};
use super::stores::{Conditions, Stores, Written};
use crate::audit::collect::CollectOptions;
use crate::audit::collect::clients::Clients;
use crate::audit::collect::meter::Meter;
use crate::audit::expected::{Access, TableRef};
use crate::audit::lock_info::LockBody;
use crate::interrupts;

/// The store deletes without looking at the condition.
pub const UNCONDITIONAL: &str = "unlock-store-unconditional";

/// A blocking way to states and their locks.
pub struct Session {
    runtime: Runtime,
    options: CollectOptions,
}

/// What was done, and what is true now.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Each conditional write, in order.
    pub actions: Vec<Action>,
    /// Both stores, read again.
    pub after: Seen,
}

impl Session {
    /// Ready; nothing is asked yet.
    ///
    /// # Errors
    /// Why there can be no session.
    pub fn new(options: CollectOptions) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        // Found out before anything is shown or asked: nothing is removed where an interrupt could cut it in half.
        interrupts::listen().map_err(|error| error.to_string())?;
        Ok(Self { runtime: runtime.map_err(|error| error.to_string())?, options })
    }

    /// The way to one state. `table` is none where its runs lock in S3 alone.
    ///
    /// # Errors
    /// Why there is no way: no region, no external ID.
    pub fn open(&self, state: State, access: &Access, table: Option<&TableRef>) -> Result<Stores, String> {
        let access = self.options.access(Some(&state.bucket), access);
        let table =
            table.map(|table| TableRef { endpoint: access.dynamodb_endpoint.clone(), ..table.clone() });
        self.runtime.block_on(async {
            let clients = Clients::new(&self.options, Meter::default());
            Stores::open(&clients, state, &access, table.as_ref()).await
        })
    }

    /// Both stores' locks now.
    pub fn read(&self, stores: &Stores) -> Seen {
        self.runtime.block_on(stores.read())
    }

    /// Whether the state itself is there.
    ///
    /// # Errors
    /// Why it could not be looked up.
    pub fn state_exists(&self, stores: &Stores) -> Result<bool, String> {
        self.runtime.block_on(stores.state_exists())
    }

    /// Why nothing may be removed in S3: the store does not check conditions. Removes and writes nothing.
    pub fn unconditional(&self, stores: &Stores, nonce: u64) -> Option<Refusal> {
        let (reason, help) = match self.runtime.block_on(stores.conditions(nonce)) {
            Conditions::Checked => return None,
            Conditions::Ignored => (
                "this store deletes an object whatever `If-Match` says: a lock that was taken anew in between would \
                 be lost"
                    .to_owned(),
                "make sure that nobody can run, then delete the lock object by hand; and do not lock with S3 here \
                 (`lockshift audit --probe` says whether the store honours `If-None-Match`)",
            ),
            Conditions::Refused(why) => (
                format!("this store refuses a conditional delete: {why}"),
                "make sure that nobody can run, then delete the lock object by hand",
            ),
            Conditions::Unknown(why) => (
                format!("whether this store checks conditions is not known: {why}"),
                "give the caller `s3:DeleteObject` on `*.tflock`, and try again",
            ),
        };
        Some(Refusal { gate: UNCONDITIONAL, reason, help: help.to_owned() })
    }

    /// Whether an interrupt came during a write: nothing new should be begun.
    pub fn interrupted(&self) -> bool {
        interrupts::heard()
    }

    fn held<T>(&self, work: impl Future<Output = T>) -> T {
        // `new` made sure that there are handlers.
        let held = interrupts::hold().ok();
        let done = self.runtime.block_on(work);
        // The caller says first what was done.
        if let Some(held) = held {
            held.and_go_on();
        }
        done
    }

    /// Removes what was decided on, while it is what was read.
    pub fn remove(&self, stores: &Stores, seen: &Seen, removals: &[Removal]) -> Done {
        self.held(async {
            let mut actions = Vec::new();
            let mut going = true;
            for removal in removals {
                let written =
                    if going { Some(stores.remove(removal.store, &removal.proof).await) } else { None };
                going &= written == Some(Written::Done);
                actions.push(action(stores, seen, removal, written.as_ref()));
            }
            let after = stores.read().await;
            Done { actions, after }
        })
    }

    /// What is known of a state's digest.
    pub fn read_digest(&self, stores: &Stores, read_state: bool) -> DigestSeen {
        self.runtime.block_on(async {
            let (locks, item, state) =
                tokio::join!(stores.read(), stores.read_digest(), stores.state_md5(read_state));
            DigestSeen { locks, item, state }
        })
    }

    /// Sets or removes a digest, while it is what was read; then reads it again.
    pub fn write_digest(&self, stores: &Stores, decision: &DigestDecision) -> (Option<Action>, Item) {
        self.held(async {
            let (operation, while_it, written) = match decision {
                DigestDecision::Write { digest, while_it } => {
                    ("PutItem", while_it, stores.write_digest(digest, while_it).await)
                }
                DigestDecision::Delete { while_it } => {
                    ("DeleteItem", while_it, stores.remove_digest(while_it).await)
                }
                DigestDecision::Done | DigestDecision::Refuse(_) => {
                    return (None, stores.read_digest().await);
                }
            };
            let (done, reason) =
                outcome(&written, if operation == "PutItem" { "written" } else { "removed" });
            let (condition, text) = match while_it {
                Item::Says(old) => (format!("Digest = {old}"), Some(old.clone())),
                Item::WithoutDigest => ("attribute_not_exists(Digest)".to_owned(), None),
                Item::Absent | Item::Unread(_) => ("attribute_not_exists(LockID)".to_owned(), None),
            };
            let action = Action {
                resource: stores.item(&stores.digest_id()),
                operation: operation.to_owned(),
                condition,
                result: done.to_owned(),
                reason,
                lock: None,
                text,
            };
            let after = stores.read_digest().await;
            (Some(action), after)
        })
    }
}

fn action(stores: &Stores, seen: &Seen, removal: &Removal, written: Option<&Written>) -> Action {
    let (resource, operation) = match removal.store {
        Store::S3 => (stores.lock_object(), "DeleteObject"),
        Store::DynamoDb => (stores.item(&seen.state.lock_id()), "DeleteItem"),
    };
    let (result, reason) = match written {
        None => ("not-tried", Some("the removal before it was not done".to_owned())),
        Some(written) => outcome(written, "removed"),
    };
    let held = seen.held(removal.store);
    Action {
        resource,
        operation: operation.to_owned(),
        condition: removal.proof.to_string(),
        result: result.to_owned(),
        reason,
        lock: held.and_then(|held| held.body.lock()).cloned(),
        text: match &removal.proof {
            Proof::InfoIs(text) => Some(text.clone()),
            _ => held.and_then(|held| LockBody::text(&held.body)).map(str::to_owned),
        },
    }
}

fn outcome<'a>(written: &Written, done: &'a str) -> (&'a str, Option<String>) {
    match written {
        Written::Done => (done, None),
        Written::Changed(why) => ("kept", Some(why.clone())),
        Written::Unsupported(why) | Written::Failed(why) => ("failed", Some(why.clone())),
    }
}

impl After {
    /// What both stores hold, in a word each.
    pub fn of(seen: &Seen) -> Self {
        let word = |side: &Side| {
            match side {
                Side::NotAsked => "not-asked",
                Side::Free => "free",
                Side::Held(_) => "held",
                Side::Unread(_) => "unread",
            }
            .to_owned()
        };
        Self { s3: word(&seen.s3), dynamodb: word(&seen.dynamodb) }
    }
}

/// Every gate of this room, for the registry's test.
pub const GATES: &[&str] = &[
    super::digest::LOCKED,
    super::digest::NOT_COMPARABLE,
    super::digest::RIGHT,
    decide::ID_DIFFERS,
    decide::NO_CONDITION,
    decide::ONE_SIDED,
    UNCONDITIONAL,
    decide::TOO_YOUNG,
    decide::UNREAD,
    decide::UNREADABLE,
];
