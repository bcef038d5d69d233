//! What `unlock` says to people: both lock records side by side, why nothing is removed, and what is true afterwards.

use comfy_table::{Table, TableStyle};

use super::audit::wording::operation;
use super::palette::Palette;
use super::words::visible;
use crate::moment::{Moment, in_words};
use crate::unlock::decide::Refusal;
use crate::unlock::digest::{DigestSeen, Item, StateMd5};
use crate::unlock::record::Action;
use crate::unlock::seen::{Held, Seen, Side, Store};

/// What one row says of a lock.
type Cell = fn(&Seen, &Held) -> Option<String>;

/// Both stores' records, side by side.
pub fn records(seen: &Seen, colour: bool) -> String {
    let palette = Palette { colour };
    let mut table = Table::new();
    table.force_no_tty();
    table.load_style(TableStyle::new());
    row(&mut table, "", [Store::S3, Store::DynamoDb].map(|store| store.to_string()));
    let sides = [seen.side(Store::S3), seen.side(Store::DynamoDb)];
    let states = sides.map(|side| match side {
        Side::NotAsked => "not asked".to_owned(),
        Side::Free => "no lock".to_owned(),
        Side::Held(held) => {
            held.fault(&seen.state).map_or_else(|| "locked".to_owned(), |fault| format!("locked: {fault}"))
        }
        Side::Unread(why) => format!("could not be read: {why}"),
    });
    row(&mut table, "now", states);
    let rows: [(&str, Cell); 7] = [
        ("ID", |_, held| Some(held.body.lock()?.id.clone())),
        ("who", |_, held| Some(held.body.lock()?.who.clone())),
        ("operation", |_, held| Some(operation(&held.body.lock()?.operation))),
        ("version", |_, held| Some(held.body.lock()?.version.clone())),
        ("created", |seen, held| held.made_at().map(|taken| format!("{taken} ({})", age(seen.at, taken)))),
        ("path", |_, held| Some(held.body.lock()?.path.clone())),
        ("condition", |_, held| Some(held.proof.to_string())),
    ];
    for (name, value) in rows {
        let cells = sides.map(|side| match side {
            Side::Held(held) => value(seen, held).unwrap_or_default(),
            _ => String::new(),
        });
        if cells.iter().any(|cell| !cell.is_empty()) {
            row(&mut table, name, cells);
        }
    }
    let body: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
    format!("{}\n{}\n", palette.bold(&visible(&seen.state.to_string())), body.join("\n"))
}

fn row(table: &mut Table, name: &str, cells: [String; 2]) {
    let [s3, dynamodb] = cells.map(|cell| visible(&cell).into_owned());
    table.add_row([name.to_owned(), s3, dynamodb]);
}

fn age(now: Moment, taken: Moment) -> String {
    now.since(taken).map_or_else(|| "in the future".to_owned(), |age| format!("{} ago", in_words(age)))
}

/// Why nothing is done.
pub fn refusal(refusal: &Refusal, colour: bool) -> String {
    let palette = Palette { colour };
    format!(
        "{} {}\n  {}\n  help: {}\n",
        palette.removed("refused"),
        palette.bold(refusal.gate),
        visible(&refusal.reason),
        visible(&refusal.help)
    )
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
            records(&seen(), false),
            "s3://b/k\n  \
             \x20           S3                                         DynamoDB\n  \
             \x20now        locked                                     no lock\n  \
             \x20ID         fd7c\n  \
             \x20who        ci\\u{1b}[2J@runner\n  \
             \x20operation  apply\n  \
             \x20version    1.11.4\n  \
             \x20created    2026-11-29T23:11:24.136Z (3 h 15 min ago)\n  \
             \x20path       b/k\n  \
             \x20condition  If-Match: \"e\"\n"
        );
        assert_eq!(
            after(&seen()),
            "now: S3 holds a lock fd7c of ci\\u{1b}[2J@runner, DynamoDB holds no lock\n"
        );
    }
}
