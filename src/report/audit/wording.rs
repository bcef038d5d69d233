//! What formats call things: ages, operations, the two lock records. No layout here.

use crate::audit::outcome::{LockRecord, Locks};

/// A span of seconds in two units: `3 days 4 hours`, `2 hours 10 minutes`, `40 seconds`.
pub(in crate::report) fn span(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let mut rest = seconds;
    let mut said = Vec::new();
    for (size, name) in units {
        let n = rest / size;
        rest %= size;
        if n > 0 {
            said.push(format!("{n} {name}{}", if n == 1 { "" } else { "s" }));
        } else if !said.is_empty() {
            break;
        }
        if said.len() == 2 {
            break;
        }
    }
    if said.is_empty() { "0 seconds".to_owned() } else { said.join(" ") }
}

/// An age; one below zero is a time in the future.
pub(in crate::report) fn age(seconds: i64) -> String {
    if seconds < 0 {
        format!("{} in the future", span(seconds.unsigned_abs()))
    } else {
        span(seconds.unsigned_abs())
    }
}

/// `OperationTypeApply` is Terraform's name for `apply`.
pub(in crate::report) fn operation(name: &str) -> String {
    match name.strip_prefix("OperationType") {
        Some(short) if !short.is_empty() => short.to_lowercase(),
        _ => name.to_owned(),
    }
}

/// The lines of two lock records: a name, the S3 value, the DynamoDB value; absent values are empty. A store without
/// a record is told apart from one that was not read, and why it was not. Values are as the stores have them: whoever
/// shows them makes them safe.
pub(in crate::report) fn side_by_side(locks: &Locks) -> Vec<(&'static str, String, String)> {
    let both = [&locks.s3, &locks.dynamodb];
    let row = |name: &'static str, value: &dyn Fn(&LockRecord) -> Option<String>| {
        let [s3, dynamodb] = both.map(|record| record.as_ref().and_then(value).unwrap_or_default());
        (name, s3, dynamodb)
    };
    let held = |record: &Option<LockRecord>, unknown: &Option<String>| {
        let word = match (record, unknown) {
            (Some(_), _) => "held",
            (None, Some(_)) => "not read",
            (None, None) => "none seen",
        };
        word.to_owned()
    };
    let why = |unknown: &Option<String>| unknown.clone().unwrap_or_default();
    let mut rows = vec![
        ("lock", held(&locks.s3, &locks.s3_unknown), held(&locks.dynamodb, &locks.dynamodb_unknown)),
        ("why", why(&locks.s3_unknown), why(&locks.dynamodb_unknown)),
        row("id", &|record| record.id.clone()),
        row("who", &|record| record.who.clone()),
        row("operation", &|record| record.operation.as_deref().map(operation)),
        row("version", &|record| record.version.clone()),
        row("created", &|record| record.created.map(|at| at.to_string())),
        row("age", &|record| record.age_seconds.map(age)),
        row("unreadable", &|record| record.unreadable.clone()),
        row("table", &|record| record.table.clone()),
    ];
    rows.retain(|(_, s3, dynamodb)| !s3.is_empty() || !dynamodb.is_empty());
    rows
}

/// Both records in a line each, for formats without room: `S3: held by ci@runner (apply, 1.11.4), age 3 days, id …`.
pub(in crate::report) fn in_lines(locks: Option<&Locks>) -> Vec<String> {
    let Some(locks) = locks else { return Vec::new() };
    let s3 = ("S3", &locks.s3, &locks.s3_unknown);
    let dynamodb = ("DynamoDB", &locks.dynamodb, &locks.dynamodb_unknown);
    [s3, dynamodb]
        .map(|(store, record, unknown)| match (record, unknown) {
            (Some(record), _) => format!("{store}: {}", in_a_line(record)),
            (None, Some(why)) => format!("{store}: not read: {why}"),
            (None, None) => format!("{store}: no lock seen"),
        })
        .to_vec()
}

fn in_a_line(record: &LockRecord) -> String {
    if let Some(why) = &record.unreadable {
        return format!("a lock that can't be read: {why}");
    }
    let mut said = format!("held by {}", record.who.as_deref().unwrap_or("?"));
    let how: Vec<String> = [record.operation.as_deref().map(operation), record.version.clone()]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .collect();
    if !how.is_empty() {
        said.push_str(&format!(" ({})", how.join(", ")));
    }
    if let Some(seconds) = record.age_seconds {
        said.push_str(&format!(", age {}", age(seconds)));
    }
    if let Some(id) = &record.id {
        said.push_str(&format!(", id {id}"));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_units_at_most() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (61, "1 minute 1 second"),
            (3600, "1 hour"),
            (3601, "1 hour"),
            (7_800, "2 hours 10 minutes"),
            (273_600, "3 days 4 hours"),
            (-90, "1 minute 30 seconds in the future"),
            (i64::MIN, "106751991167300 days 15 hours in the future"),
        ] {
            assert_eq!(age(seconds), words);
        }
    }

    #[test]
    fn operations_lose_their_prefix() {
        assert_eq!(operation("OperationTypeApply"), "apply");
        assert_eq!(operation("migration destination state"), "migration destination state");
        assert_eq!(operation("OperationType"), "OperationType");
    }

    #[test]
    fn a_store_that_was_not_read_is_not_shown_as_empty() {
        let locks = Locks {
            s3_unknown: Some("its bucket was not read".into()),
            dynamodb: Some(LockRecord::default()),
            ..Locks::default()
        };
        assert_eq!(
            side_by_side(&locks),
            [
                ("lock", "not read".to_owned(), "held".to_owned()),
                ("why", "its bucket was not read".to_owned(), String::new())
            ]
        );
        assert_eq!(in_lines(Some(&locks))[0], "S3: not read: its bucket was not read");
        let free = Locks { s3_unknown: None, ..locks };
        assert_eq!(side_by_side(&free), [("lock", "none seen".to_owned(), "held".to_owned())]);
        assert_eq!(in_lines(Some(&free))[0], "S3: no lock seen");
    }

    #[test]
    fn a_record_in_a_line() {
        let record = LockRecord {
            id: Some("1".into()),
            who: Some("a@b".into()),
            operation: Some("OperationTypePlan".into()),
            age_seconds: Some(60),
            ..LockRecord::default()
        };
        assert_eq!(in_a_line(&record), "held by a@b (plan), age 1 minute, id 1");
        let foreign = LockRecord { unreadable: Some("not JSON".into()), ..LockRecord::default() };
        assert_eq!(in_a_line(&foreign), "a lock that can't be read: not JSON");
    }
}
