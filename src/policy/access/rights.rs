//! Whether somebody can do something, and what somebody can do with one lock. Made of the evaluator's decisions.

use std::collections::BTreeSet;

use super::super::decision::{Decision, Effect, Verdict};
use super::super::missing::Missing;
use super::actor::Actor;
use super::world::World;

/// Whether somebody can do something.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Can {
    /// Certainly not.
    #[default]
    No,
    /// Something is not known that is no condition of the request.
    Unknown(Vec<String>),
    /// Under conditions, with the statements that ask for them.
    If(Vec<String>, Vec<String>),
    /// Certainly, as far as policies were supplied.
    Yes,
}

/// What must hold for it to be allowed: what an Allow asks for, and the opposite of what a Deny asks for.
fn conditions(decision: &Decision) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for open in decision.open() {
        let asked: Vec<String> = open.missing.iter().map(ToString::to_string).collect();
        match (open.effect, asked.as_slice()) {
            (Effect::Deny, [only]) => all.push(format!("not {only}")),
            (Effect::Deny, several) => all.push(format!("not ({})", several.join(" and "))),
            (Effect::Allow | Effect::NotUnderstood, _) => all.extend(asked),
        }
    }
    let told = |missing: &&Missing| decision.open().any(|open| open.missing.contains(missing));
    all.extend(decision.missing.iter().filter(|missing| !told(missing)).map(ToString::to_string));
    let mut seen = BTreeSet::new();
    all.retain(|condition| seen.insert(condition.clone()));
    all
}

impl Can {
    pub(super) fn of(world: &World<'_>, actor: &Actor<'_>, decision: &Decision) -> Can {
        match decision.verdict {
            Verdict::ExplicitlyDenied | Verdict::ImplicitlyDenied => Can::No,
            Verdict::Allowed => Can::Yes,
            Verdict::Unknown => {
                if !decision.is_conditional() {
                    return Can::Unknown(decision.missing.iter().map(ToString::to_string).collect());
                }
                Can::If(conditions(decision), decision.open().map(|open| world.name(actor, open)).collect())
            }
        }
    }

    pub(super) fn is_no(&self) -> bool {
        *self == Can::No
    }

    /// Certainly or under conditions.
    pub(super) fn is_real(&self) -> bool {
        matches!(self, Can::Yes | Can::If(..))
    }

    pub(super) fn rank(&self) -> u8 {
        match self {
            Can::No => 0,
            Can::Unknown(_) => 1,
            Can::If(..) => 2,
            Can::Yes => 3,
        }
    }

    /// Either way will do.
    fn or(&self, other: &Can) -> Can {
        if other.rank() > self.rank() { other.clone() } else { self.clone() }
    }

    /// Both must be so.
    pub(super) fn and(self, other: &Can) -> Can {
        match (self, other) {
            (Can::No, _) | (_, Can::No) => Can::No,
            (Can::Unknown(mut why), Can::Unknown(more)) => {
                why.extend(more.iter().filter(|more| !why.contains(more)).cloned().collect::<Vec<_>>());
                Can::Unknown(why)
            }
            (Can::Unknown(why), _) => Can::Unknown(why),
            (_, Can::Unknown(why)) => Can::Unknown(why.clone()),
            (Can::If(mut conditions, mut statements), Can::If(more, by)) => {
                conditions.extend(
                    more.iter().filter(|more| !conditions.contains(more)).cloned().collect::<Vec<_>>(),
                );
                statements
                    .extend(by.iter().filter(|by| !statements.contains(by)).cloned().collect::<Vec<_>>());
                Can::If(conditions, statements)
            }
            (Can::Yes, other) => other.clone(),
            (own, Can::Yes) => own,
        }
    }

    pub(super) fn only(self, condition: &str) -> Can {
        match self {
            Can::Yes => Can::If(vec![condition.to_owned()], Vec::new()),
            Can::If(mut conditions, statements) => {
                conditions.push(condition.to_owned());
                Can::If(conditions, statements)
            }
            other => other,
        }
    }
}

/// What somebody can do with one lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rights {
    pub(super) get: Can,
    /// With `If-None-Match: *`.
    pub(super) create: Can,
    /// Without a precondition.
    pub(super) put: Can,
    /// With `If-Match`.
    pub(super) put_match: Can,
    /// Without a precondition.
    pub(super) delete: Can,
    /// With `If-Match`.
    pub(super) delete_match: Can,
    pub(super) delete_version: Can,
}

impl Rights {
    pub(super) fn can_delete(&self) -> Can {
        match (&self.delete, &self.delete_match) {
            (Can::No, matched) => matched.clone().only("only with `If-Match`"),
            (blind, matched) => blind.or(matched),
        }
    }

    pub(super) fn can_overwrite(&self) -> Can {
        match (&self.put, &self.put_match) {
            (Can::No, matched) => matched.clone().only("only with `If-Match`"),
            (blind, matched) => blind.or(matched),
        }
    }

    pub(super) fn can_create(&self) -> Can {
        self.create.or(&self.put)
    }

    /// Creates as Terraform does, and then can't read or delete as Terraform does. `decrypts` is about the key.
    pub(super) fn cannot_release(&self, decrypts: &Can) -> Can {
        let parts = [&self.get, &self.delete, decrypts];
        if parts.iter().any(|part| part.is_no()) {
            return self.create.clone();
        }
        match parts.into_iter().find(|part| matches!(part, Can::Unknown(_))) {
            Some(unknown) if !self.create.is_no() => unknown.clone(),
            _ => Can::No,
        }
    }
}
