//! What `unlock` says to people: both lock records side by side, why nothing is removed, and what is true afterwards.

use super::audit::wording::operation;
use super::columns::{beside, folded};
use super::palette::Palette;
use super::words::visible;
use crate::moment::{Moment, in_words};
use crate::unlock::decide::Refusal;
use crate::unlock::digest::{DigestSeen, Item, StateMd5};
use crate::unlock::record::Action;
use crate::unlock::seen::{Held, Seen, Side, Store};

/// What one row says of a lock.
type Cell = fn(&Seen, &Held) -> Option<String>;

/// Both stores' records, side by side, and below them what is wrong with one or why it could not be read: such words
/// are longer than a column is wide.
pub fn records(seen: &Seen, width: Option<u16>, colour: bool) -> String {
    let palette = Palette { colour };
    let stores = [Store::S3, Store::DynamoDb];
    let sides = stores.map(|store| seen.side(store));
    let shown = |cell: String| visible(&cell).into_owned();
    let states = sides.map(|side| {
        let word = match side {
            Side::NotAsked => "not asked",
            Side::Free => "no lock",
            Side::Held(_) => "locked",
            Side::Unread(_) => "not read",
        };
        word.to_owned()
    });
    let mut rows = vec![("now", states)];
    let named: [(&str, Cell); 7] = [
        ("ID", |_, held| Some(held.body.lock()?.id.clone())),
        ("who", |_, held| Some(held.body.lock()?.who.clone())),
        ("operation", |_, held| Some(operation(&held.body.lock()?.operation))),
        ("version", |_, held| Some(held.body.lock()?.version.clone())),
        ("created", |seen, held| held.made_at().map(|taken| format!("{taken} ({})", age(seen.at, taken)))),
        ("path", |_, held| Some(held.body.lock()?.path.clone())),
        ("condition", |_, held| Some(held.proof.to_string())),
    ];
    for (name, value) in named {
        let cells = sides.map(|side| match side {
            Side::Held(held) => value(seen, held).map(shown).unwrap_or_default(),
            _ => String::new(),
        });
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push((name, cells));
        }
    }
    let mut words = String::new();
    let same = match sides {
        [Side::Unread(s3), Side::Unread(dynamodb)] if s3 == dynamodb => Some(s3),
        _ => None,
    };
    if let Some(why) = same {
        words.push_str(&format!("  S3 and DynamoDB could not be read: {}\n", visible(why)));
    }
    for (store, side) in stores.into_iter().zip(sides).filter(|_| same.is_none()) {
        let said = match side {
            Side::Held(held) => held.fault(&seen.state).map(|fault| format!("the lock in {store}: {fault}")),
            Side::Unread(why) => Some(format!("{store} could not be read: {why}")),
            Side::NotAsked | Side::Free => None,
        };
        if let Some(said) = said {
            words.push_str(&format!("  {}\n", visible(&said)));
        }
    }
    let heads = stores.map(|store| store.to_string());
    format!(
        "{}\n{}{}",
        palette.bold(&visible(&seen.state.to_string())),
        beside([&heads[0], &heads[1]], &rows, 2, width, palette),
        folded(&words, width)
    )
}

fn age(now: Moment, taken: Moment) -> String {
    now.since(taken).map_or_else(|| "in the future".to_owned(), |age| format!("{} ago", in_words(age)))
}

/// Why nothing is done.
pub fn refusal(refusal: &Refusal, width: Option<u16>, colour: bool) -> String {
    let palette = Palette { colour };
    let said = format!(
        "{} {}\n  {}\n  help: {}\n",
        palette.removed("refused"),
        palette.bold(refusal.gate),
        visible(&refusal.reason),
        visible(&refusal.help)
    );
    folded(&said, width)
}

/// No lock is held, on a state that is there, is not, or could not be looked up (why).
pub fn no_lock(state_exists: Result<&bool, &String>) -> String {
    match state_exists {
        Ok(true) => "no lock is held: nothing to do\n".to_owned(),
        Ok(false) => {
            "no lock is held, and there is no such state\n  help: check bucket and path, workspace included\n"
                .to_owned()
        }
        Err(why) => format!(
            "no lock is held: nothing to do; whether there is such a state could not be looked up: {}\n",
            visible(why)
        ),
    }
}

/// Each conditional write: what, on what condition, how it ended.
pub fn actions(actions: &[Action], colour: bool) -> String {
    let palette = Palette { colour };
    let mut out = String::new();
    for action in actions {
        let result = match action.result.as_str() {
            "removed" | "written" => palette.added(&action.result),
            other => palette.removed(other),
        };
        out.push_str(&format!(
            "{result} {} ({} while {})\n",
            visible(&action.resource),
            action.operation,
            visible(&action.condition)
        ));
        if let Some(reason) = &action.reason {
            out.push_str(&format!("  {}\n", visible(reason)));
        }
    }
    out
}

/// What both stores hold now, in one line.
pub fn after(seen: &Seen) -> String {
    let side = |store: Store| match seen.side(store) {
        Side::NotAsked => None,
        Side::Free => Some(format!("{store} holds no lock")),
        Side::Held(held) => {
            let whose =
                held.body.lock().map(|lock| format!(" {} of {}", lock.id, lock.who)).unwrap_or_default();
            Some(format!("{store} holds a lock{}", visible(&whose)))
        }
        Side::Unread(why) => Some(format!("{store} could not be read ({})", visible(why))),
    };
    let said: Vec<String> = [Store::S3, Store::DynamoDb].into_iter().filter_map(side).collect();
    format!("now: {}\n", said.join(", "))
}

/// A state's digest: what the table says and what the state says.
pub fn digest(seen: &DigestSeen, colour: bool) -> String {
    let palette = Palette { colour };
    let item = match &seen.item {
        Item::Absent => "none".to_owned(),
        Item::Says(digest) => digest.clone(),
        Item::WithoutDigest => "an item without a digest".to_owned(),
        Item::Unread(why) => format!("could not be read: {why}"),
    };
    let state = match &seen.state {
        StateMd5::NoState => "there is no state".to_owned(),
        StateMd5::Is(md5) => md5.clone(),
        StateMd5::Unknown(why) if matches!(&seen.item, Item::Unread(same) if same == why) => {
            "not known, for the same reason".to_owned()
        }
        StateMd5::Unknown(why) => format!("not known: {why}"),
    };
    format!(
        "{}\n  digest in the table  {}\n  MD5 of the state     {}\n",
        palette.bold(&visible(&seen.locks.state.to_string())),
        visible(&item),
        visible(&state)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::lock_info::LockBody;
    use crate::unlock::seen::{Proof, State};

    fn seen() -> Seen {
        let text = r#"{"ID":"fd7c","Operation":"OperationTypeApply","Who":"ci\u001b[2J@runner","Version":"1.11.4","Created":"2026-11-29T23:11:24.136Z","Path":"b/k"}"#;
        let body = LockBody::read(text.as_bytes());
        Seen {
            state: State { bucket: "b".into(), state_path: "k".into() },
            s3: Side::Held(Box::new(Held { body, proof: Proof::Etag("\"e\"".into()), stored_at: None })),
            dynamodb: Side::Free,
            at: Moment::parse("2026-11-30T02:26:24.136Z").unwrap(),
        }
    }

    #[test]
    fn both_records_stand_side_by_side_and_no_escape_gets_through() {
        assert_eq!(
            records(&seen(), None, false),
            "s3://b/k\n  \
             \x20          S3                                         DynamoDB\n  \
             now        locked                                     no lock\n  \
             ID         fd7c\n  \
             who        ci\\u{1b}[2J@runner\n  \
             operation  apply\n  \
             version    1.11.4\n  \
             created    2026-11-29T23:11:24.136Z (3 h 15 min ago)\n  \
             path       b/k\n  \
             condition  If-Match: \"e\"\n"
        );
        assert_eq!(
            after(&seen()),
            "now: S3 holds a lock fd7c of ci\\u{1b}[2J@runner, DynamoDB holds no lock\n"
        );
    }

    #[test]
    fn why_a_store_was_not_read_is_no_cell_and_a_narrow_terminal_has_one_record_below_the_other() {
        let why = "AccessDeniedException: arn:aws:sts::111122223333:assumed-role/ci/run is not authorized to perform: \
                   dynamodb:GetItem; the role lacks dynamodb:GetItem";
        let seen = Seen { dynamodb: Side::Unread(why.to_owned()), ..seen() };
        let out = records(&seen, Some(80), false);
        assert!(out.contains("now        locked                                     not read\n"), "{out}");
        assert!(
            out.contains("\n  DynamoDB could not be read: AccessDeniedException:\n      arn:aws:sts"),
            "{out}"
        );
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
        let narrow = records(&seen, Some(50), false);
        assert!(narrow.contains("  S3\n    now        locked\n    ID         fd7c\n"), "{narrow}");
        assert!(narrow.contains("  DynamoDB\n    now        not read\n"), "{narrow}");
        let broken = Held { body: LockBody::Empty, proof: Proof::Nothing, stored_at: None };
        let seen = Seen { s3: Side::Held(Box::new(broken)), ..seen };
        assert!(records(&seen, None, false).contains("\n  the lock in S3: it is empty\n"));
    }
}
