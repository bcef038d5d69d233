//! Putting a state's digest right. The `-md5` item is no lock: Terraform writes it after each state write and checks it
//! at each read, but only while the backend names a table. Where the last writers used the lockfile alone it is stale,
//! and every run and reader that still names the table fails until it is set or removed. Pure.
//!
//! Source: `client.go` (`Get`, `getMD5`, `putMD5`) of the S3 backend in Terraform and OpenTofu.

use super::decide::{Refusal, word};
use super::seen::{Seen, Side, Store};

/// What is known of a state's digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestSeen {
    /// Both stores' locks: a digest is only touched while nobody is at work.
    pub locks: Seen,
    /// The digest item.
    pub item: Item,
    /// The MD5 of the state's body in hex.
    pub state: StateMd5,
}

/// The digest item as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// There is none.
    Absent,
    /// It says this; anything, also no digest at all.
    Says(String),
    /// There is an item without a text `Digest`.
    WithoutDigest,
    /// It could not be read: why.
    Unread(String),
}

/// What is known of the state's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateMd5 {
    /// There is no state.
    NoState,
    /// Its MD5, in hex.
    Is(String),
    /// It is there, its MD5 is not known: why.
    Unknown(String),
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedDigest {
    /// Make it what the state's body says.
    Set,
    /// Take it away: then nothing is checked until the next write through the table.
    Remove,
}

/// What may be done, with its condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestDecision {
    /// It is as wanted.
    Done,
    /// Write this digest where the item is still as it was read.
    Write {
        /// Hex MD5 of the state.
        digest: String,
        /// What the item must still be.
        while_it: Item,
    },
    /// Remove the item while it is as it was read.
    Delete {
        /// What the item must still be.
        while_it: Item,
    },
    /// Do nothing.
    Refuse(Refusal),
}

/// Somebody is at work.
pub const LOCKED: &str = "unlock-digest-locked";
/// It is right as it is.
pub const RIGHT: &str = "unlock-digest-right";
/// Nothing to compare with.
pub const NOT_COMPARABLE: &str = "unlock-digest-not-comparable";

/// Decides.
pub fn decide(seen: &DigestSeen, wanted: WantedDigest) -> DigestDecision {
    for store in [Store::S3, Store::DynamoDb] {
        let refusal = match seen.locks.side(store) {
            Side::Free | Side::NotAsked => continue,
            Side::Held(_) => refusal(
                LOCKED,
                format!(
                    "{store} holds a lock on the state: a run may write the state and its digest right now"
                ),
                &format!("wait for it, or release it first: `lockshift unlock … --only {}`", word(store)),
            ),
            Side::Unread(why) => refusal(
                super::decide::UNREAD,
                // What is said of the item already is not said again.
                match &seen.item {
                    Item::Unread(same) if same == why => format!("{store} could not be read"),
                    _ => format!("{store} could not be read: {why}"),
                },
                "a digest is only touched while it is certain that nobody is at work",
            ),
        };
        return DigestDecision::Refuse(refusal);
    }
    if let Item::Unread(why) = &seen.item {
        return DigestDecision::Refuse(refusal(
            super::decide::UNREAD,
            format!("the digest item could not be read: {why}"),
            "make it readable (`dynamodb:GetItem`) and try again",
        ));
    }
    match wanted {
        WantedDigest::Set => set(seen),
        WantedDigest::Remove => remove(seen),
    }
}

fn set(seen: &DigestSeen) -> DigestDecision {
    match (&seen.state, &seen.item) {
        (StateMd5::Is(actual), Item::Says(digest)) if actual == digest => DigestDecision::Done,
        (StateMd5::Is(actual), item) => {
            DigestDecision::Write { digest: actual.clone(), while_it: item.clone() }
        }
        (StateMd5::NoState, _) => DigestDecision::Refuse(refusal(
            NOT_COMPARABLE,
            "there is no state whose digest could be written".to_owned(),
            "a digest without a state is removed: `--digest remove`",
        )),
        (StateMd5::Unknown(why), _) => DigestDecision::Refuse(refusal(
            NOT_COMPARABLE,
            format!("the MD5 of the state is not known: {why}"),
            "allow its body to be read with `--read-state`",
        )),
    }
}

fn remove(seen: &DigestSeen) -> DigestDecision {
    match (&seen.state, &seen.item) {
        (_, Item::Absent) => DigestDecision::Done,
        (StateMd5::Is(actual), Item::Says(digest)) if actual == digest => DigestDecision::Refuse(refusal(
            RIGHT,
            "the digest is right: whoever names the table reads the state without fault".to_owned(),
            "leave it, or delete it with the table",
        )),
        (StateMd5::Unknown(why), Item::Says(_)) => DigestDecision::Refuse(refusal(
            NOT_COMPARABLE,
            format!("whether the digest is stale is not known: {why}"),
            "allow the state's body to be read with `--read-state`",
        )),
        (_, item) => DigestDecision::Delete { while_it: item.clone() },
    }
}

fn refusal(gate: &'static str, reason: String, help: &str) -> Refusal {
    Refusal { gate, reason, help: help.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;
    use crate::unlock::seen::State;

    fn seen(item: Item, state: StateMd5) -> DigestSeen {
        let locks = Seen {
            state: State { bucket: "b".into(), state_path: "k".into() },
            s3: Side::Free,
            dynamodb: Side::Free,
            at: Moment::from_seconds(0),
        };
        DigestSeen { locks, item, state }
    }

    fn gate(decision: DigestDecision) -> &'static str {
        match decision {
            DigestDecision::Refuse(refusal) => refusal.gate,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_stale_digest_is_set_or_removed_while_it_is_as_it_was_read() {
        let stale = || seen(Item::Says("old".into()), StateMd5::Is("new".into()));
        assert_eq!(
            decide(&stale(), WantedDigest::Set),
            DigestDecision::Write { digest: "new".into(), while_it: Item::Says("old".into()) }
        );
        assert_eq!(
            decide(&stale(), WantedDigest::Remove),
            DigestDecision::Delete { while_it: Item::Says("old".into()) }
        );
        let missing = seen(Item::Absent, StateMd5::Is("new".into()));
        assert_eq!(
            decide(&missing, WantedDigest::Set),
            DigestDecision::Write { digest: "new".into(), while_it: Item::Absent }
        );
        assert_eq!(decide(&missing, WantedDigest::Remove), DigestDecision::Done);
        let orphan = seen(Item::Says("old".into()), StateMd5::NoState);
        assert_eq!(
            decide(&orphan, WantedDigest::Remove),
            DigestDecision::Delete { while_it: Item::Says("old".into()) }
        );
        assert_eq!(gate(decide(&orphan, WantedDigest::Set)), NOT_COMPARABLE);
    }

    #[test]
    fn a_right_digest_stays() {
        let right = seen(Item::Says("new".into()), StateMd5::Is("new".into()));
        assert_eq!(decide(&right, WantedDigest::Set), DigestDecision::Done);
        assert_eq!(gate(decide(&right, WantedDigest::Remove)), RIGHT);
    }

    #[test]
    fn what_is_not_known_or_locked_stays() {
        let unknown = || seen(Item::Says("x".into()), StateMd5::Unknown("KMS".into()));
        assert_eq!(gate(decide(&unknown(), WantedDigest::Set)), NOT_COMPARABLE);
        assert_eq!(gate(decide(&unknown(), WantedDigest::Remove)), NOT_COMPARABLE);
        let unread = seen(Item::Unread("denied".into()), StateMd5::Is("new".into()));
        assert_eq!(gate(decide(&unread, WantedDigest::Set)), super::super::decide::UNREAD);
        let mut hidden = seen(Item::Says("old".into()), StateMd5::Is("new".into()));
        hidden.locks.s3 = Side::Unread("denied".into());
        assert_eq!(gate(decide(&hidden, WantedDigest::Set)), super::super::decide::UNREAD);
        let mut locked = seen(Item::Says("old".into()), StateMd5::Is("new".into()));
        locked.locks.dynamodb = Side::Held(Box::new(crate::unlock::seen::Held {
            body: crate::audit::lock_info::LockBody::Empty,
            proof: crate::unlock::seen::Proof::NoInfo,
            stored_at: None,
        }));
        assert_eq!(gate(decide(&locked, WantedDigest::Set)), LOCKED);
    }
}
