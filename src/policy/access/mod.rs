//! Who can do what to the locks of one bucket, and which rules that breaks. Pure: policies and settings in, sets and
//! findings out.
//!
//! First the sets: for each lock key who can delete, overwrite or create the lock, who can't release what it created,
//! and who can change what protects it. They come from decisions of the evaluator about real principals, where they
//! were read, and about made-up ones that show what the bucket's policy lets anybody do. Most findings follow from the
//! sets; some from how a statement is written, to say why it does not do what it looks like. `docs/access.md` lists
//! them.

mod actor;
mod asker;
mod bench;
mod build;
mod deletes;
mod docs;
mod explain;
mod guards;
mod guess;
mod input;
mod keys;
mod output;
mod point;
mod points;
mod rights;
pub mod rules;
mod runners;
mod sets;
mod setup;
mod shape;
mod simulate;
#[cfg(test)]
mod tests;
mod trust;
mod ways;
mod world;
mod writes;

pub use input::{
    AccessInput, AccessPointInput, BlockPublicAccess, BucketInput, GrantInput, KmsInput, NamedPolicy,
    PrincipalInput, Reading, RolePatterns, ScpInput, StateInput,
};
pub use keys::{ANY_STATE, ANY_WORKSPACE};
pub use output::{Access, AccessFinding, AccessReport, Certainty, Holder, LockAccess, Part, RoleUse};
pub use rules::AccessRule;
pub(super) use sets::STRIP;
pub use simulate::{Answer, Compared, Question, compare, questions};

use bench::{Bench, say};
use sets::Row;
use world::World;

/// Judges one bucket. The same input gives the same output, in the same order.
#[must_use]
pub fn judge(input: &AccessInput<'_>) -> AccessReport {
    if setup::is_directory_bucket(input.bucket.name) {
        return directory_bucket(input);
    }
    let mut world = World::new(input);
    let rows: Vec<Row> = world.actors.iter().map(|actor| Row::new(&world, actor)).collect();
    let (guesses, left) = guess::guesses(&world, &rows);
    if left > 0 {
        world.limits.push(format!(
            "{left} more roles look as if they took locks: configure runners to name the right ones"
        ));
    }
    for guess in guesses {
        if let Some(actor) = world.actors.get_mut(guess.actor) {
            (actor.part, actor.guess) = (guess.part, Some(guess.why));
        }
    }
    let (locks, can_strip) = sets::sets(&world, &rows);
    let mut bench = Bench { world: &world, rows: &rows, findings: Vec::new() };
    if world.policy_is_known() {
        deletes::judge(&mut bench);
        deletes::denied_roles(&mut bench);
        writes::judge(&mut bench);
        guards::judge(&mut bench);
        explain::judge(&mut bench);
        points::judge(&mut bench);
    }
    runners::judge(&mut bench);
    trust::judge(&mut bench);
    setup::judge(&mut bench);
    let mut findings = bench.findings;
    findings.sort_by(|a, b| (&a.subject, a.rule, &a.message).cmp(&(&b.subject, b.rule, &b.message)));
    findings.dedup();
    let access = Access {
        bucket: input.bucket.name.to_owned(),
        account: world.account.clone(),
        principals_read: input.principals.known().is_some(),
        roles: roles(&world),
        locks,
        can_strip,
        limits: limits(&world),
    };
    AccessReport { access, findings }
}

fn roles(world: &World<'_>) -> Vec<RoleUse> {
    let parts = world.real().filter(|(_, actor)| actor.part != Part::Other);
    let mut roles: Vec<RoleUse> = parts
        .map(|(_, actor)| RoleUse { arn: actor.shown.clone(), part: actor.part, guess: actor.guess.clone() })
        .collect();
    roles.sort();
    roles.dedup();
    roles
}

/// What the sets say nothing about.
fn limits(world: &World<'_>) -> Vec<String> {
    let mut limits = world.limits.clone();
    let input = world.input;
    match &input.principals {
        Reading::Known(_) => {}
        Reading::Failed(why) => {
            limits
                .push(format!("users and roles could not be read ({why}): the sets hold made-up principals"));
        }
        Reading::NotAsked | Reading::Absent => {
            limits.push("users and roles were not read: the sets hold made-up principals".to_owned());
        }
    }
    let unsupplied = match (input.scps.is_empty(), input.rcps.is_none()) {
        (true, true) => Some("service and resource control policies"),
        (true, false) => Some("service control policies"),
        (false, true) => Some("resource control policies"),
        (false, false) => None,
    };
    limits
        .extend(unsupplied.map(|what| {
            format!("{what} were not supplied: they can only take rights away, never give them")
        }));
    match &world.account {
        None => limits.push(
            "the account that owns the bucket is not known, so what its own principals may do is not either"
                .to_owned(),
        ),
        Some(account) if input.bucket.account.is_none() => {
            limits
                .push(format!("the bucket is taken to belong to account {account}, which its policy names"));
        }
        Some(_) => {}
    }
    if matches!(input.bucket.access_points, Reading::NotAsked) {
        limits.push("access points were not read: requests through them are not decided".to_owned());
    }
    limits.sort();
    limits.dedup();
    limits
}

fn directory_bucket(input: &AccessInput<'_>) -> AccessReport {
    let message =
        "this is a directory bucket: `s3express:CreateSession` decides who may use it, and nothing here is \
                   judged"
            .to_owned();
    let help =
        "check who may call s3express:CreateSession on it; a session may do everything it was made for";
    let subject = format!("s3://{}", input.bucket.name);
    let finding = AccessFinding { subject, ..say(rules::DIRECTORY_BUCKET, message, help) };
    let access = Access {
        bucket: input.bucket.name.to_owned(),
        account: input.bucket.account.map(str::to_owned),
        principals_read: input.principals.known().is_some(),
        limits: vec!["directory buckets are not judged".to_owned()],
        ..Access::default()
    };
    AccessReport { access, findings: vec![finding] }
}
