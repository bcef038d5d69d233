//! What may be removed, on which condition, and why not. Pure: everything was read before, nothing is removed here.
//!
//! The order of removals is the order in which Terraform unlocks: S3, then DynamoDB. If the first fails, the second is
//! not tried: what is left then is what `unlock` handles best, a lock on one side whose ID is known.

use std::time::Duration;

use super::seen::{Held, Proof, Seen, Side, Store};

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Which lock.
    pub lock: WhichLock,
    /// One side alone; none for whatever is there.
    pub only: Option<Store>,
    /// The one store in which this state's runs lock, where the repository says so: then a lock there alone is no half
    /// of anything.
    pub locks_in: Option<Store>,
    /// From what age on a lock counts as left behind.
    pub stale_after: Duration,
    /// Remove it although it is younger.
    pub even_if_young: bool,
}

/// Which lock is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichLock {
    /// The lock with this ID.
    Id(String),
    /// One that has no ID that can be read: empty, foreign, or another state's.
    Unreadable,
}

/// One conditional delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Where.
    pub store: Store,
    /// On what condition.
    pub proof: Proof,
}

/// Why nothing is removed. Each has a page: `lockshift explain ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Kebab-case id.
    pub gate: &'static str,
    /// What is the case.
    pub reason: String,
    /// What to do next.
    pub help: String,
}

/// What follows from what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Neither store holds a lock.
    Free,
    /// Remove these, in this order.
    Remove(Vec<Removal>),
    /// Remove nothing.
    Refuse(Refusal),
}

/// By so much clocks may differ without a word: a lock from further ahead is from the future.
const CLOCKS_DIFFER: Duration = Duration::from_secs(5 * 60);

/// Something could not be read.
pub const UNREAD: &str = "unlock-unread";
/// Another ID.
pub const ID_DIFFERS: &str = "unlock-id-differs";
/// Younger than the stale age.
pub const TOO_YOUNG: &str = "unlock-too-young";
/// One store holds it, the other does not, or holds another.
pub const ONE_SIDED: &str = "unlock-one-sided";
/// No ID can be read.
pub const UNREADABLE: &str = "unlock-unreadable-lock";
/// Nothing to hang a condition on.
pub const NO_CONDITION: &str = "unlock-no-condition";

/// Decides.
pub fn decide(seen: &Seen, wanted: &Wanted) -> Decision {
    let sides = [Store::S3, Store::DynamoDb].map(|store| (store, seen.side(store)));
    // With `--only`, the other side's silence is no obstacle: nothing is said or done about it.
    let asked = sides.iter().filter(|(store, _)| wanted.only.is_none_or(|only| only == *store));
    let unread: Vec<String> = asked
        .filter(|(_, side)| matches!(side, Side::Unread(_)))
        .map(|(store, _)| store.to_string())
        .collect();
    if !unread.is_empty() {
        return refuse(
            UNREAD,
            // Why stands with the records.
            format!("{} could not be read", unread.join(" and ")),
            "make it readable; what can't be read can't be compared, and is not removed",
        );
    }
    let held: Vec<(Store, &Held)> = [Store::S3, Store::DynamoDb]
        .into_iter()
        .filter_map(|store| Some((store, seen.held(store)?)))
        .collect();
    let chosen: Vec<(Store, &Held)> =
        held.iter().copied().filter(|(store, _)| wanted.only.is_none_or(|only| only == *store)).collect();
    if chosen.is_empty() {
        return match (held.first(), wanted.only) {
            (Some((store, _)), Some(only)) => refuse(
                ONE_SIDED,
                format!("{only} holds no lock on it, {store} does"),
                &format!("look again without `--only`, or say `--only {}`", word(*store)),
            ),
            _ => Decision::Free,
        };
    }
    let mut removals = Vec::new();
    for (store, lock) in &chosen {
        if let Some(refusal) = check(seen, wanted, *store, lock) {
            return Decision::Refuse(refusal);
        }
        removals.push(Removal { store: *store, proof: lock.proof.clone() });
    }
    match one_sided(seen, wanted) {
        Some(refusal) => Decision::Refuse(refusal),
        None => Decision::Remove(removals),
    }
}

/// Whether this very lock may go.
fn check(seen: &Seen, wanted: &Wanted, store: Store, lock: &Held) -> Option<Refusal> {
    let fault = lock.fault(&seen.state);
    match (&wanted.lock, &fault) {
        (WhichLock::Id(_), Some(fault)) => {
            return Some(refusal(
                UNREADABLE,
                format!("the lock in {store} has no ID that counts: {fault}"),
                &format!("if nobody is at work, say `--unreadable --only {}`", word(store)),
            ));
        }
        (WhichLock::Id(id), None) => {
            let found = lock.lock_on(&seen.state).map(|lock| lock.id.as_str()).unwrap_or_default();
            if found != id {
                let other = seen.held(store.other()).and_then(|held| held.lock_on(&seen.state));
                let help = match other {
                    Some(other) if other.id == *id => {
                        format!(
                            "{} holds the lock that you mean: say `--only {}`",
                            store.other(),
                            word(store.other())
                        )
                    }
                    _ => "look again who holds it now: somebody may be at work".to_owned(),
                };
                return Some(refusal(ID_DIFFERS, format!("the lock in {store} has the ID `{found}`"), &help));
            }
        }
        (WhichLock::Unreadable, None) => {
            return Some(refusal(
                ID_DIFFERS,
                format!("the lock in {store} can be read: it is somebody's"),
                "name it with `--id`",
            ));
        }
        (WhichLock::Unreadable, Some(_)) => {}
    }
    if lock.proof == Proof::Nothing {
        return Some(refusal(
            NO_CONDITION,
            format!("{store} gave nothing that a conditional delete could compare with"),
            "remove it by hand, after making sure that nobody is at work",
        ));
    }
    if wanted.even_if_young {
        return None;
    }
    let Some(taken) = seen.taken_at(lock) else {
        return Some(refusal(
            TOO_YOUNG,
            format!("the lock in {store} does not say how old it is"),
            "if nobody is at work, say `--even-if-young`",
        ));
    };
    // Servers tell the time in whole seconds, and no two clocks are the same.
    match seen.at.after(CLOCKS_DIFFER).since(taken).map(|age| age.saturating_sub(CLOCKS_DIFFER)) {
        Some(age) if age >= wanted.stale_after => None,
        Some(age) => Some(refusal(
            TOO_YOUNG,
            format!(
                "the lock in {store} is {} old; from {} on it counts as left behind",
                crate::moment::in_words(age),
                crate::moment::in_words(wanted.stale_after)
            ),
            "if its owner is gone for certain, say `--even-if-young`",
        )),
        None => Some(refusal(
            TOO_YOUNG,
            format!("the lock in {store} was made in the future, by its own clock"),
            "if its owner is gone for certain, say `--even-if-young`",
        )),
    }
}

/// Both stores were asked and only one holds the lock: it may be one that is being taken or released right now, so
/// the user has to say that this side is meant.
fn one_sided(seen: &Seen, wanted: &Wanted) -> Option<Refusal> {
    if wanted.only.is_some() {
        return None;
    }
    let (store, free) = match (&seen.s3, &seen.dynamodb) {
        (Side::Held(_), Side::Free) => (Store::S3, Store::DynamoDb),
        (Side::Free, Side::Held(_)) => (Store::DynamoDb, Store::S3),
        _ => return None,
    };
    if wanted.locks_in == Some(store) {
        return None;
    }
    Some(refusal(
        ONE_SIDED,
        format!("{store} holds it and {free} does not"),
        &format!("if this side was left behind, say `--only {}`", word(store)),
    ))
}

/// How a store is called on the command line.
pub fn word(store: Store) -> &'static str {
    match store {
        Store::S3 => "s3",
        Store::DynamoDb => "dynamodb",
    }
}

fn refusal(gate: &'static str, reason: String, help: &str) -> Refusal {
    Refusal { gate, reason, help: help.to_owned() }
}

fn refuse(gate: &'static str, reason: String, help: &str) -> Decision {
    Decision::Refuse(refusal(gate, reason, help))
}

#[cfg(test)]
mod tests;
