//! Where findings are collected: what all families of rules share.

use super::actor::Actor;
use super::keys::{Key, Kind};
use super::output::{AccessFinding, Part};
use super::rights::{Can, Rights};
use super::rules::AccessRule;
use super::sets::Row;
use super::world::World;
use crate::severity::Severity;

/// The judged world and the findings so far.
pub(super) struct Bench<'w, 'a> {
    pub(super) world: &'w World<'a>,
    pub(super) rows: &'w [Row],
    pub(super) findings: Vec<AccessFinding>,
}

impl<'w, 'a> Bench<'w, 'a> {
    /// Keeps a finding about something.
    pub(super) fn about(&mut self, subject: &str, finding: AccessFinding) {
        self.findings.push(AccessFinding { subject: subject.to_owned(), ..finding });
    }

    /// Keeps a finding about the bucket as a whole.
    pub(super) fn bucket(&mut self, finding: AccessFinding) {
        let subject = self.world.bucket_subject();
        self.about(&subject, finding);
    }

    pub(super) fn row(&self, actor: usize) -> Option<&'w Row> {
        self.rows.get(actor)
    }

    pub(super) fn rights(&self, actor: usize, key: usize) -> Option<&'w Rights> {
        self.rows.get(actor)?.rights(key)
    }

    /// What somebody can do with each lock; alike ones once.
    pub(super) fn all_rights(&self, actor: usize) -> impl Iterator<Item = &'w Rights> + use<'w> {
        self.rows.get(actor).into_iter().flat_map(Row::all_rights)
    }

    pub(super) fn actor(&self, at: usize) -> Option<&'w Actor<'a>> {
        self.world.actors.get(at)
    }

    /// For each key what somebody can do, by one way of looking at it.
    pub(super) fn keys(&self, actor: usize, can: impl Fn(&Rights) -> Can) -> Vec<(&'w Key, Can)> {
        let keys = self.world.keys.iter().enumerate();
        keys.map(|(at, key)| (key, self.rights(actor, at).map(&can).unwrap_or_default())).collect()
    }

    /// Roles that take locks.
    pub(super) fn lockers(&self) -> Vec<(usize, &'w Actor<'a>)> {
        let real = self.world.real();
        real.filter(|(_, actor)| matches!(actor.part, Part::Runner | Part::Plan)).collect()
    }
}

/// A finding at the rule's own severity; the bench adds what it is about.
pub(super) fn say(rule: AccessRule, message: String, help: &str) -> AccessFinding {
    AccessFinding {
        rule: rule.id,
        severity: rule.severity,
        subject: String::new(),
        message,
        help: help.to_owned(),
        statement: None,
    }
}

impl AccessFinding {
    /// Names the statement that is meant.
    pub(super) fn at(self, statement: Option<String>) -> AccessFinding {
        AccessFinding { statement, ..self }
    }

    /// At another severity than the rule's.
    pub(super) fn rated(self, severity: Severity) -> AccessFinding {
        AccessFinding { severity, ..self }
    }

    /// No more than this severity, where the condition holds.
    pub(super) fn at_most_if(self, condition: bool, most: Severity) -> AccessFinding {
        let severity = if condition { self.severity.min(most) } else { self.severity };
        AccessFinding { severity, ..self }
    }
}

/// Up to three names, and how many more.
pub(super) fn names<T: AsRef<str>>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(3).map(|name| format!("`{}`", name.as_ref())).collect();
    match all.len().saturating_sub(3) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Locks in words: those that a state surely has come first.
pub(super) fn lock_names(keys: &[&Key]) -> String {
    let mut keys: Vec<&Key> = keys.to_vec();
    keys.sort_by(|a, b| a.kind.cmp(&b.kind).then(a.lock.cmp(&b.lock)));
    let unexpected = keys.iter().filter(|key| key.kind == Kind::Unexpected).count();
    if keys.len() > unexpected {
        keys.retain(|key| key.kind != Kind::Unexpected);
    }
    let locks: Vec<&str> = keys.iter().map(|key| key.lock.as_str()).collect();
    names(&locks)
}

/// Conditions in words, to stand after a sentence.
pub(super) fn condition_words(can: &Can) -> String {
    match can {
        Can::If(conditions, _) => format!(" (if {})", conditions.join(" and ")),
        _ => String::new(),
    }
}
