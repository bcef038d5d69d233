use super::*;
use crate::audit::lock_info::{LockBody, LockInfo};
use crate::moment::Moment;
use crate::unlock::seen::State;

const NOW: Moment = Moment::from_seconds(1_800_000_000);

fn lock(id: &str, age: u64, store: Store) -> Side {
    let info = LockInfo {
        id: id.into(),
        who: "ci@runner".into(),
        path: "b/k".into(),
        created: NOW.before(Duration::from_secs(age)).to_string(),
        ..LockInfo::default()
    };
    let text = serde_json::to_string(&info).unwrap();
    let proof = match store {
        Store::S3 => Proof::Etag(format!("\"{id}\"")),
        Store::DynamoDb => Proof::InfoIs(text.clone()),
    };
    Side::Held(Box::new(Held { body: LockBody::Lock { lock: info, text }, proof, stored_at: None }))
}

fn broken(body: LockBody, proof: Proof, age: Option<u64>) -> Side {
    Side::Held(Box::new(Held { body, proof, stored_at: age.map(|age| NOW.before(Duration::from_secs(age))) }))
}

fn seen(s3: Side, dynamodb: Side) -> Seen {
    Seen { state: State { bucket: "b".into(), state_path: "k".into() }, s3, dynamodb, at: NOW }
}

fn id(id: &str) -> Wanted {
    Wanted {
        lock: WhichLock::Id(id.into()),
        only: None,
        locks_in: None,
        stale_after: Duration::from_secs(7200),
        even_if_young: false,
    }
}

fn gate(decision: Decision) -> &'static str {
    match decision {
        Decision::Refuse(refusal) => {
            assert!(!refusal.reason.is_empty() && !refusal.help.is_empty());
            refusal.gate
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn stores(decision: Decision) -> Vec<Store> {
    match decision {
        Decision::Remove(removals) => removals.iter().map(|removal| removal.store).collect(),
        other => panic!("nothing removed: {other:?}"),
    }
}

#[test]
fn the_same_lock_in_both_stores_goes_from_both_on_condition() {
    let seen = seen(lock("1", 7200, Store::S3), lock("1", 7200, Store::DynamoDb));
    let Decision::Remove(removals) = decide(&seen, &id("1")) else { panic!() };
    assert_eq!(removals.len(), 2);
    assert_eq!(removals[0], Removal { store: Store::S3, proof: Proof::Etag("\"1\"".into()) });
    assert_eq!(removals[1].store, Store::DynamoDb);
    assert!(matches!(&removals[1].proof, Proof::InfoIs(text) if text.contains("\"ID\":\"1\"")));
}

#[test]
fn no_lock_is_no_work() {
    assert_eq!(decide(&seen(Side::Free, Side::Free), &id("1")), Decision::Free);
    assert_eq!(decide(&seen(Side::Free, Side::NotAsked), &id("1")), Decision::Free);
}

#[test]
fn another_id_stays() {
    let other = seen(lock("2", 9000, Store::S3), lock("2", 9000, Store::DynamoDb));
    assert_eq!(gate(decide(&other, &id("1"))), ID_DIFFERS);
    // One side has the right one, and must be named.
    let mixed = seen(lock("1", 9000, Store::S3), lock("2", 9000, Store::DynamoDb));
    let Decision::Refuse(refusal) = decide(&mixed, &id("1")) else { panic!() };
    assert_eq!((refusal.gate, refusal.help.contains("--only s3")), (ID_DIFFERS, true));
    assert_eq!(stores(decide(&mixed, &Wanted { only: Some(Store::S3), ..id("1") })), [Store::S3]);
    assert_eq!(gate(decide(&mixed, &Wanted { only: Some(Store::DynamoDb), ..id("1") })), ID_DIFFERS);
}

#[test]
fn a_young_lock_stays_unless_it_is_named_so() {
    let young = || seen(lock("1", 7199, Store::S3), Side::NotAsked);
    assert_eq!(gate(decide(&young(), &id("1"))), TOO_YOUNG);
    assert_eq!(stores(decide(&young(), &Wanted { even_if_young: true, ..id("1") })), [Store::S3]);
    for (ahead, says) in [(1, "0 s old"), (301, "made in the future")] {
        let mut future = seen(lock("1", 0, Store::S3), Side::NotAsked);
        future.at = NOW.before(Duration::from_secs(ahead));
        let Decision::Refuse(refusal) = decide(&future, &id("1")) else { panic!() };
        assert_eq!((refusal.gate, refusal.reason.contains(says)), (TOO_YOUNG, true), "{}", refusal.reason);
    }
}

#[test]
fn one_side_alone_must_be_named() {
    let s3 = seen(lock("1", 9000, Store::S3), Side::Free);
    assert_eq!(gate(decide(&s3, &id("1"))), ONE_SIDED);
    assert_eq!(stores(decide(&s3, &Wanted { only: Some(Store::S3), ..id("1") })), [Store::S3]);
    assert_eq!(gate(decide(&s3, &Wanted { only: Some(Store::DynamoDb), ..id("1") })), ONE_SIDED);
    let item = seen(Side::Free, lock("1", 9000, Store::DynamoDb));
    assert_eq!(gate(decide(&item, &id("1"))), ONE_SIDED);
    // Where the state has one store only, there is no other side to miss.
    assert_eq!(stores(decide(&seen(lock("1", 9000, Store::S3), Side::NotAsked), &id("1"))), [Store::S3]);
}

#[test]
fn what_could_not_be_read_stays() {
    let half = seen(lock("1", 9000, Store::S3), Side::Unread("AccessDenied".into()));
    assert_eq!(gate(decide(&half, &id("1"))), UNREAD);
    assert_eq!(stores(decide(&half, &Wanted { only: Some(Store::S3), ..id("1") })), [Store::S3]);
    let unread = LockBody::Unread { why: "SSE-C".into() };
    let hidden = seen(broken(unread, Proof::Etag("e".into()), Some(9000)), Side::NotAsked);
    assert_eq!(gate(decide(&hidden, &id("1"))), UNREADABLE);
}

#[test]
fn a_broken_lock_goes_only_when_it_is_named_so() {
    let unreadable = Wanted { lock: WhichLock::Unreadable, ..id("") };
    let empty = seen(broken(LockBody::Empty, Proof::Etag("e".into()), Some(9000)), Side::NotAsked);
    assert_eq!(gate(decide(&empty, &id("1"))), UNREADABLE);
    assert_eq!(stores(decide(&empty, &unreadable)), [Store::S3]);
    // A lock that can be read is somebody's.
    assert_eq!(gate(decide(&seen(lock("1", 9000, Store::S3), Side::NotAsked), &unreadable)), ID_DIFFERS);
    // An item without `Info` says no age.
    let item = seen(Side::NotAsked, broken(LockBody::Empty, Proof::NoInfo, None));
    assert_eq!(gate(decide(&item, &unreadable)), TOO_YOUNG);
    assert_eq!(
        stores(decide(&item, &Wanted { even_if_young: true, ..unreadable.clone() })),
        [Store::DynamoDb]
    );
    let nothing = seen(broken(LockBody::Empty, Proof::Nothing, Some(9000)), Side::NotAsked);
    assert_eq!(gate(decide(&nothing, &unreadable)), NO_CONDITION);
}

#[test]
fn a_lock_that_speaks_of_another_state_is_a_broken_one() {
    let mut copied = seen(lock("1", 9000, Store::S3), Side::NotAsked);
    copied.state.state_path = "other".into();
    assert_eq!(gate(decide(&copied, &id("1"))), UNREADABLE);
}

#[test]
fn a_lock_that_waited_for_its_turn_is_as_young_as_s3_says() {
    let mut waited = seen(lock("1", 9000, Store::S3), lock("1", 9000, Store::DynamoDb));
    let Side::Held(held) = &mut waited.s3 else { panic!() };
    held.stored_at = Some(NOW.before(Duration::from_secs(60)));
    assert_eq!(gate(decide(&waited, &id("1"))), TOO_YOUNG);
    // The item says no time of its own: the same lock in S3 speaks for it, another lock does not.
    let item_only = Wanted { only: Some(Store::DynamoDb), ..id("1") };
    assert_eq!(gate(decide(&waited, &item_only)), TOO_YOUNG);
    let Side::Held(held) = &mut waited.s3 else { panic!() };
    held.stored_at = Some(NOW.before(Duration::from_secs(9000)));
    assert_eq!(stores(decide(&waited, &id("1"))), [Store::S3, Store::DynamoDb]);
    let mut other = seen(lock("2", 60, Store::S3), lock("1", 9000, Store::DynamoDb));
    let Side::Held(held) = &mut other.s3 else { panic!() };
    held.stored_at = Some(NOW);
    assert_eq!(stores(decide(&other, &item_only)), [Store::DynamoDb]);
}

#[test]
fn where_runs_lock_in_one_store_that_store_alone_is_whole() {
    let item = seen(Side::Free, lock("1", 9000, Store::DynamoDb));
    let table_only = Wanted { locks_in: Some(Store::DynamoDb), ..id("1") };
    assert_eq!(stores(decide(&item, &table_only)), [Store::DynamoDb]);
    // The other store is the wrong one: somebody else's lock, or one that was left behind.
    let object = seen(lock("1", 9000, Store::S3), Side::Free);
    assert_eq!(gate(decide(&object, &table_only)), ONE_SIDED);
}
