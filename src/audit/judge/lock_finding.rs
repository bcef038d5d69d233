//! Wording and timing that several rules about locks share. No rule lives here.

use std::time::Duration;

use super::case::{Case, Held, Side};
use super::commands;
use crate::audit::outcome::AuditFinding;
use crate::audit::snapshot::Settled;
use crate::moment::{Moment, in_words};
use crate::repo::inventory::LockMode;
use crate::rules::Rule;

/// A younger lock on one side can be one that is just being taken.
pub(super) const BEING_TAKEN: Duration = Duration::from_secs(120);

/// Both sides of a snapshot are read within this time, as a rule; what is older did not come in between.
pub(super) const READING: Duration = Duration::from_secs(600);

/// `root@vm (apply, version 1.11.4)`; what is not known is left out.
pub(super) fn owner(held: &Held<'_>) -> String {
    let Some(lock) = held.lock() else { return "somebody whose lock can't be read".to_owned() };
    let who = if lock.who.is_empty() { "somebody without a name" } else { lock.who.as_str() };
    let operation = lock.operation.strip_prefix("OperationType").unwrap_or(&lock.operation).to_lowercase();
    let version = if lock.version.is_empty() { String::new() } else { format!("version {}", lock.version) };
    let facts: Vec<String> = [operation, version].into_iter().filter(|fact| !fact.is_empty()).collect();
    if facts.is_empty() { who.to_owned() } else { format!("{who} ({})", facts.join(", ")) }
}

/// `for 3 h 2 min`, or nothing where no clock tells.
pub(super) fn since(held: &Held<'_>, now: Moment) -> String {
    held.age(now).map(|age| format!(" for {}", in_words(age))).unwrap_or_default()
}

/// Whether the second look saw the same.
pub(super) fn is_settled(held: &Held<'_>) -> bool {
    held.settled == Settled::Same
}

/// Whether it is too old to have come while the stores were read.
pub(super) fn is_older(held: &Held<'_>, now: Moment, than: Duration) -> bool {
    held.age(now).is_some_and(|age| age >= than)
}

/// A finding about one lock, or with none about all that are on the state, with the commands that release it and what
/// they are to be used for.
pub(super) fn releasable(
    case: &Case<'_>,
    rule: &Rule,
    message: String,
    of: Option<&Held<'_>>,
) -> AuditFinding {
    let commands = commands::release(case, of);
    if commands.is_empty() {
        let help = "the client's clock is behind, or it waited for the lock for so long: the run is probably at work; \
                    release nothing before you have seen that it is over";
        return AuditFinding { help: Some(help.to_owned()), ..case.finding(rule, message) };
    }
    let one_sided = case.mode == LockMode::Dual
        && (case.s3.held().is_none() || case.dynamodb.held().is_none() || ids_differ(case));
    let mut help =
        "make sure that the run which took it is over (its pipeline, its process); then release it"
            .to_owned();
    let terraform = commands.iter().any(|command| command.contains("force-unlock"));
    if one_sided && terraform {
        help.push_str(
            "; where the stores differ, force-unlock removes the side with this ID and still exits with 1",
        );
    }
    let choices = case.states.first().map(|(state, _)| state.backend_config.as_slice()).unwrap_or_default();
    if terraform && !choices.is_empty() {
        help.push_str(&format!("; the directory must be initialised with {} for it", choices.join(", ")));
    }
    // `unlock` never guesses a table.
    if case.states.is_empty() && matches!(case.dynamodb, Side::Unknown(_)) {
        help.push_str("; say which lock table it has with --table, or --no-table");
    }
    AuditFinding { help: Some(help), commands, ..case.finding(rule, message) }
}

/// Whether both sides can be read and hold different locks.
pub(super) fn ids_differ(case: &Case<'_>) -> bool {
    let ids = case.s3.held().and_then(Held::id).zip(case.dynamodb.held().and_then(Held::id));
    ids.is_some_and(|(s3, item)| s3 != item)
}

/// Whether both sides can be read and hold the same lock.
pub(super) fn ids_agree(case: &Case<'_>) -> bool {
    let ids = case.s3.held().and_then(Held::id).zip(case.dynamodb.held().and_then(Held::id));
    ids.is_some_and(|(s3, item)| s3 == item)
}

/// Whom the locks on a state keep out.
pub(super) fn blocks(case: &Case<'_>) -> String {
    let (s3, item) = (case.s3.held().is_some(), case.dynamodb.held().is_some());
    let nobody = |store: &str| {
        format!(
            "it keeps out nobody whom this repository runs: its backend does not look at {store}; clients that do \
             are stopped by it"
        )
    };
    match case.mode {
        LockMode::Dynamodb if s3 && !item => nobody("the `.tflock`"),
        LockMode::Lockfile if item && !s3 => nobody("the table"),
        LockMode::None => {
            "it keeps out nobody whom this repository runs: its backend takes no lock".to_owned()
        }
        _ => "every plan and apply of this state fails until it is released".to_owned(),
    }
}
