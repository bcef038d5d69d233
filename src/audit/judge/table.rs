//! Rules about lock tables themselves: missing ones, unusable ones, and those that nobody names any more.

use std::collections::BTreeSet;

use super::world::{World, count, dynamodb, may_be, of_digest};
use crate::audit::expected::{Access, ExpectedState, TableRef};
use crate::audit::outcome::AuditFinding;
use crate::audit::snapshot::{Read, Settled, TableItem, TableSnapshot};
use crate::finding::Severity;
use crate::repo::inventory::LockMode;
use crate::rules::audit_table as rules;

/// All that can be said about the tables.
pub(super) fn judge(world: &World<'_>, findings: &mut Vec<AuditFinding>) {
    let mut users: Vec<Vec<&ExpectedState>> = Vec::new();
    users.resize_with(world.snapshot.tables.len(), Vec::new);
    for state in &world.expected.states {
        if let Some(users) = world.table_of(state).and_then(|index| users.get_mut(index)) {
            users.push(state);
        }
    }
    for (index, (table, users)) in world.snapshot.tables.iter().zip(&users).enumerate() {
        let subject = dynamodb(&table.name, table.region.as_deref());
        let place = users.first().map(|state| state.place.clone());
        if table.exists == Read::Absent {
            if let Some(first) = users.first() {
                let message = format!(
                    "{} (`{}` first), and there is none",
                    count(users.len(), "backend names this table", "backends name this table"),
                    first.root
                );
                findings.push(AuditFinding {
                    place,
                    help: Some(
                        "make the table, or correct its name, region or account in the backend".to_owned(),
                    ),
                    consequence: Some("every run that locks there fails".to_owned()),
                    ..AuditFinding::new(&rules::TABLE_MISSING, subject, message)
                });
            }
            continue;
        }
        let facts = table.exists.known();
        let in_use =
            !users.is_empty() || world.expected.named.tables.iter().any(|name| is_called(table, name));
        if in_use && facts.is_some_and(|facts| !facts.hash_key_is_lock_id) {
            let message = "its key is not the hash key `LockID` alone".to_owned();
            findings.push(AuditFinding {
                place: place.clone(),
                help: Some(
                    "give the backend a table whose hash key is `LockID` (S), without a range key".to_owned(),
                ),
                consequence: Some("every run that locks there fails".to_owned()),
                ..AuditFinding::new(&rules::TABLE_KEY_WRONG, subject.clone(), message)
            });
        }
        if world.has_repository() && users.is_empty() && !world.is_mentioned(index) {
            findings.push(unreferenced(world, table, subject));
        }
    }
}

/// Whether a name or an ARN means this table.
fn is_called(table: &TableSnapshot, name: &str) -> bool {
    may_be(table, &TableRef::of(name, &Access::default()))
}

/// Nobody names it: what speaks for and against retiring it.
fn unreferenced(world: &World<'_>, table: &TableSnapshot, subject: String) -> AuditFinding {
    let (locks, digests): (Vec<&TableItem>, Vec<&TableItem>) = table
        .items
        .iter()
        .filter(|item| item.settled != Settled::Gone)
        .partition(|item| of_digest(item).is_none());
    let mut against = Vec::new();
    let mut open = Vec::new();
    if !locks.is_empty() {
        against.push(count(locks.len(), "lock lies in it", "locks lie in it"));
    }
    if table.other_items > 0 {
        against.push(format!("{} items are neither locks nor digests", table.other_items));
    }
    let days = table.writes_per_day.known().map(Vec::as_slice).unwrap_or_default();
    let writes: f64 = days.iter().map(|(_, count)| count).filter(|count| count.is_finite()).sum();
    if writes > 0.0 {
        against.push(format!("{writes:.0} writes in the last {}", count(days.len(), "day", "days")));
    }
    if matches!(table.writes_per_day, Read::NotAsked | Read::Failed(_)) {
        open.push("how often it is written is not known".to_owned());
    }
    match table.exists.known() {
        Some(facts) => {
            if facts.stream {
                against.push("a stream is on, so somebody may be listening".to_owned());
            }
            if !facts.replicas.is_empty() {
                against.push(format!("it has replicas in {}", facts.replicas.join(", ")));
            }
            if facts.deletion_protection {
                open.push("deletion protection is on".to_owned());
            }
        }
        None => open.push("it could not be described".to_owned()),
    }
    let strangers = table.items.iter().filter(|item| !is_known(world, item)).count();
    if strangers > 0 {
        against.push(format!("{strangers} items are about states that no repository names"));
    }
    if !table.complete {
        open.push("it was not read to its end".to_owned());
    }
    let unresolved = unresolved(world);
    if unresolved > 0 {
        open.push(format!("{unresolved} backends can't be resolved and may name it"));
    }
    let message = format!(
        "no backend and no reader that was read names this table; it holds {} and {}",
        count(locks.len(), "lock", "locks"),
        count(digests.len(), "digest", "digests")
    );
    let verdict = match (against.is_empty(), open.is_empty()) {
        (true, true) => "nothing speaks against retiring it; another repository may still name it".to_owned(),
        (true, false) => format!("not known yet: {}", open.join("; ")),
        (false, _) => {
            let all: Vec<String> = against.iter().chain(&open).cloned().collect();
            format!("against retiring it: {}", all.join("; "))
        }
    };
    let used = !locks.is_empty() || writes > 0.0;
    AuditFinding {
        severity: if used { Severity::Medium } else { Severity::Low },
        help: Some(verdict),
        consequence: Some(if used {
            "somebody who was not migrated still locks here".to_owned()
        } else {
            "it costs money, and a rollback or an old branch can still find it".to_owned()
        }),
        ..AuditFinding::new(&rules::TABLE_UNREFERENCED, subject, message)
    }
}

/// Backends of which nobody can tell whether they name a table, or where they are.
fn unresolved(world: &World<'_>) -> usize {
    let unknown: BTreeSet<&str> = world
        .expected
        .states
        .iter()
        .filter(|state| state.mode == LockMode::Unknown)
        .map(|state| state.root.as_str())
        .chain(world.expected.unplaced.iter().map(|unplaced| unplaced.root.as_str()))
        .collect();
    unknown.len()
}

fn is_known(world: &World<'_>, item: &TableItem) -> bool {
    world.knows(of_digest(item).unwrap_or(&item.lock_id))
}
