//! What AWS's own simulator says of the same principals, against what was decided here. Only the principal's side is
//! compared: its own policies, its boundary and the organization's service control policies. For roles the simulator
//! takes no bucket policy, and it knows neither resource control policies nor session policies.
//! Source: `SimulatePrincipalPolicy` in the API reference of IAM.

use std::collections::{BTreeMap, BTreeSet};

use super::super::context::Context;
use super::super::decision::Verdict;
use super::super::evaluate::{Policies, decide};
use super::super::request::Request;
use super::actor::Actor;
use super::bench::{names, say};
use super::input::AccessInput;
use super::output::{AccessFinding, Part};
use super::rights::Can;
use super::rules;
use super::sets::{Row, groups};
use super::world::World;
use crate::severity::Severity;

/// Principals of one bucket that the simulator is asked about: each is a request, and IAM answers few in a second.
const MOST_PRINCIPALS: usize = 20;

/// Locks of each. Alike ones are asked about once.
const MOST_LOCKS: usize = 10;

/// What is asked about each lock.
const ACTIONS: [&str; 4] = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:PutObject"];

/// What the simulator is to be asked about one principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The user's or role's ARN.
    pub principal: String,
    /// Actions.
    pub actions: Vec<String>,
    /// ARNs of locks.
    pub resources: Vec<String>,
    /// Condition keys that every request carries: name, type as IAM calls it, value.
    pub context: Vec<(String, String, String)>,
}

/// One answer of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer<'a> {
    /// The user's or role's ARN.
    pub principal: &'a str,
    /// The action.
    pub action: &'a str,
    /// The lock's ARN.
    pub resource: &'a str,
    /// `allowed`, `explicitDeny` or `implicitDeny`.
    pub decision: &'a str,
    /// Condition keys that policies ask for and the question did not give: it was decided as if they were absent.
    pub missing: &'a [String],
    /// Whether service control policies allow it, where there are any.
    pub by_organization: Option<bool>,
}

/// The differences, and what was not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// One for each principal and kind of difference.
    pub findings: Vec<AccessFinding>,
    /// In words; none where everything was compared.
    pub not_compared: Option<String>,
}

/// What to ask: about roles with a part, and about principals that surely may delete a lock, as far as they were read.
#[must_use]
pub fn questions(input: &AccessInput<'_>) -> Vec<Question> {
    let world = World::new(input);
    let asked = asked(&world);
    let resources = resources(&world, &asked);
    let asked = asked.into_iter().take(MOST_PRINCIPALS).filter_map(|(actor, _)| {
        let arn = actor.arn.clone()?;
        let given = given(actor).into_iter();
        Some(Question {
            context: given.map(|(key, kind, value)| (key.to_owned(), kind.to_owned(), value)).collect(),
            principal: arn,
            actions: ACTIONS.map(str::to_owned).to_vec(),
            resources: resources.clone(),
        })
    });
    asked.collect()
}

/// Compares answers with what is decided here.
#[must_use]
pub fn compare(input: &AccessInput<'_>, answers: &[Answer<'_>]) -> Compared {
    let world = World::new(input);
    let mut open = 0;
    let mut found: BTreeMap<Difference<'_>, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for answer in answers {
        let actor =
            world.real().map(|(_, actor)| actor).find(|actor| actor.arn.as_deref() == Some(answer.principal));
        let Some(verdict) = actor.map(|actor| own(&world, actor, answer)) else {
            open += 1;
            continue;
        };
        match (verdict, answer.decision) {
            (Verdict::Unknown, _) => open += 1,
            (Verdict::Allowed, "allowed") => {}
            (Verdict::ImplicitlyDenied | Verdict::ExplicitlyDenied, "explicitDeny" | "implicitDeny") => {}
            (verdict, said) => {
                let (principal, by_organization) = (answer.principal, answer.by_organization);
                let key = Difference { principal, own: verdict.as_str(), said, by_organization };
                let (actions, locks) = found.entry(key).or_default();
                actions.insert(answer.action);
                locks.insert(answer.resource);
            }
        }
    }
    let left = asked(&world).len().saturating_sub(MOST_PRINCIPALS);
    let mut notes = Vec::new();
    if open > 0 {
        notes.push(format!(
            "{open} of {} answers of the simulator depend on what is not known",
            answers.len()
        ));
    }
    if left > 0 {
        notes.push(format!("the simulator was not asked about {left} more principals that may delete locks"));
    }
    Compared {
        findings: found
            .into_iter()
            .map(|(key, (actions, locks))| {
                let (actions, locks): (Vec<_>, Vec<_>) = (Vec::from_iter(actions), Vec::from_iter(locks));
                finding(&world, key, &actions, &locks)
            })
            .collect(),
        not_compared: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// What one finding is about, for however many actions and locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Difference<'a> {
    principal: &'a str,
    own: &'static str,
    said: &'a str,
    by_organization: Option<bool>,
}

fn finding(
    world: &World<'_>,
    Difference { principal, own, said, by_organization }: Difference<'_>,
    actions: &[&str],
    locks: &[&str],
) -> AccessFinding {
    let what = format!("{} on {}", names(actions), names(locks));
    let unsupplied = by_organization == Some(false) && world.input.scps.is_empty();
    let (message, help) = if unsupplied {
        let message = format!(
            "AWS's simulator says {said} where the principal's policies say {own}: a service control policy, which was \
             not supplied, takes from it {what}"
        );
        (message, "supply the organization's policies with --scp, so that what follows from them is judged")
    } else {
        let message = format!(
            "AWS's simulator says {said} where the principal's policies were judged {own}, for {what}: one of the two is \
             wrong about it"
        );
        let help = "look at the principal's policies by hand, trust neither answer until they agree, and report it as a \
                    defect of this program where AWS is right";
        (message, help)
    };
    let found = say(rules::SIMULATOR_DIFFERS, message, help).at_most_if(unsupplied, Severity::Low);
    AccessFinding { subject: principal.to_owned(), ..found }
}

/// Principals to ask about, those with a part first, and whether each may delete some lock.
fn asked<'w, 'a>(world: &'w World<'a>) -> Vec<(&'w Actor<'a>, Row)> {
    let read = world.real().filter(|(_, actor)| actor.of.is_some());
    let mut asked: Vec<(&Actor<'_>, Row)> = read
        .map(|(_, actor)| (actor, Row::new(world, actor)))
        .filter(|(actor, row)| {
            let part = matches!(actor.part, Part::Runner | Part::Plan | Part::BreakGlass);
            part || row.all_rights().any(|rights| rights.can_delete() == Can::Yes)
        })
        .collect();
    asked.sort_by(|(a, _), (b, _)| (a.part == Part::Other, &a.arn).cmp(&(b.part == Part::Other, &b.arn)));
    asked
}

/// One lock of each group that is alike for all of them.
fn resources(world: &World<'_>, asked: &[(&Actor<'_>, Row)]) -> Vec<String> {
    let rows: Vec<&Row> = asked.iter().map(|(_, row)| row).collect();
    let firsts = groups(world, &rows).into_iter().filter_map(|group| group.first().copied());
    firsts.take(MOST_LOCKS).filter_map(|first| world.lock_arns.get(first).cloned()).collect()
}

/// What every request of a principal surely carries.
fn given(actor: &Actor<'_>) -> Vec<(&'static str, &'static str, String)> {
    let arn = actor.arn.clone().unwrap_or_default();
    let mut given =
        vec![("aws:PrincipalArn", "string", arn), ("aws:SecureTransport", "boolean", "true".to_owned())];
    given.extend(actor.account.clone().map(|account| ("aws:PrincipalAccount", "string", account)));
    given
}

/// The verdict of the principal's side here, under what the simulator assumed.
fn own(world: &World<'_>, actor: &Actor<'_>, answer: &Answer<'_>) -> Verdict {
    let mut context = Context::of_unknown_origin();
    for key in answer.missing {
        context = context.without(key);
    }
    for (key, _, value) in given(actor) {
        context = context.with(key, &value);
    }
    let account = actor.account.clone().unwrap_or_default();
    let request =
        Request::new(actor.principal.clone(), answer.action, answer.resource, context).owned_by(&account);
    let scps = actor.scps.as_deref().unwrap_or_default();
    let policies = Policies {
        identity: world.docs.layer(&actor.identity),
        boundary: world.docs.layer(&actor.boundary),
        scps: scps.iter().map(|level| world.docs.layer(level)).collect(),
        ..Policies::default()
    };
    decide(&request, &policies).verdict
}
