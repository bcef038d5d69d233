//! Who can become, or change, a role that may delete locks.

use super::super::decision::Verdict;
use super::super::pattern::arn_parts;
use super::actor::Actor;
use super::bench::{Bench, names, say};
use super::output::Part;
use super::rules;
use super::shape::Shape;
use super::world::World;
use crate::severity::Severity;

/// With one of these on a role, somebody else can use it.
const CHANGES: [&str; 3] = ["iam:UpdateAssumeRolePolicy", "iam:PutRolePolicy", "iam:AttachRolePolicy"];

const HELP: &str = "trust the one provider and the one subject, or the one principal, that must use the role";

/// All of it.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let exempt: Vec<usize> = world
        .real()
        .filter(|(_, actor)| matches!(actor.part, Part::Runner | Part::Plan | Part::BreakGlass))
        .map(|(at, _)| at)
        .collect();
    for at in exempt {
        let Some(actor) = bench.actor(at) else { continue };
        let Some(read) = world.read(actor) else { continue };
        if let Some(text) = read.trust.known() {
            for shape in Shape::all(text).iter().filter(|shape| shape.allow) {
                let Some((why, severity)) = wide(shape, actor.account.as_deref()) else { continue };
                let message = format!(
                    "`{}` is trusted with locks, and its trust policy lets {why} take it",
                    actor.shown
                );
                let finding = say(rules::EXEMPT_ROLE_OPEN_TO_OTHERS, message, HELP);
                let finding = finding.at(Some(shape.reference("its trust policy"))).rated(severity);
                bench.about(&actor.shown, finding.at_most_if(actor.guess.is_some(), Severity::Medium));
            }
        }
        editors(bench, at);
    }
}

/// Who is let in that should not be.
fn wide(shape: &Shape, own: Option<&str>) -> Option<(String, Severity)> {
    let assumes = ["sts:assumerole", "sts:assumerolewithwebidentity", "sts:assumerolewithsaml"];
    if !assumes.iter().any(|action| shape.about_action(action)) {
        return None;
    }
    let narrowed = shape.conditions.iter().any(|asked| {
        let key = asked.name.as_str();
        let says_who = key.starts_with("aws:principal")
            || matches!(key, "aws:userid" | "aws:username" | "sts:externalid");
        says_who && !asked.negated() && !asked.if_exists && asked.values.iter().all(|value| value != "*")
    });
    if shape.everyone && !narrowed {
        return Some(("anybody with an AWS account".to_owned(), Severity::High));
    }
    for principal in &shape.principals {
        if let Some([_, _, "iam", _, account, "root"]) = arn_parts(principal) {
            if narrowed {
                continue;
            }
            // One's own account is the usual way to leave it to the account's own policies.
            let severity = if Some(account) == own { Severity::Low } else { Severity::High };
            return Some((format!("any principal of account {account} with sts:AssumeRole"), severity));
        }
        if let Some((_, provider)) = principal.split_once(":oidc-provider/")
            && let Some(why) = any_subject(shape, provider)
        {
            return Some((why, Severity::High));
        }
    }
    None
}

/// Whether tokens for others will do: `sub` is not asked for, or has a wildcard that crosses repositories.
fn any_subject(shape: &Shape, provider: &str) -> Option<String> {
    let subject = format!("{}:sub", provider.to_ascii_lowercase());
    let mut asked =
        shape.conditions.iter().filter(|asked| asked.name == subject && !asked.negated()).peekable();
    if asked.peek().is_none() {
        return Some(format!("every token of `{provider}`"));
    }
    // `repo:acme/infra:*` is one repository; `repo:acme/*` is all of them.
    let open = |value: &&String| {
        let fixed = value.split(['*', '?']).next().unwrap_or_default();
        value.contains(['*', '?']) && fixed.matches(':').count() < 2
    };
    let wide: Vec<&String> = asked
        .filter(|asked| asked.base == "stringlike")
        .flat_map(|asked| &asked.values)
        .filter(open)
        .collect();
    (!wide.is_empty()).then(|| format!("tokens of `{provider}` with {} in `sub`", names(&wide)))
}

/// Whether somebody's own policies say anything of changing roles.
fn speaks_of_changes(world: &World<'_>, actor: &Actor<'_>) -> bool {
    world.docs.shapes(&actor.identity).any(|(_, shape)| {
        !shape.deny && CHANGES.iter().any(|action| shape.about_action(&action.to_ascii_lowercase()))
    })
}

/// Principals without a part that can change the role.
fn editors(bench: &mut Bench<'_, '_>, at: usize) {
    let world = bench.world;
    let Some(role) = bench.actor(at) else { return };
    let Some(arn) = role.arn.as_deref() else { return };
    let mut able: Vec<&str> = Vec::new();
    for (_, actor) in world.real() {
        if !speaks_of_changes(world, actor) {
            continue;
        }
        let same = actor.account == role.account && actor.part == Part::Other && actor.of.is_some();
        let may = |action: &&str| world.ask_elsewhere(actor, action, arn, None).verdict == Verdict::Allowed;
        if same && CHANGES.iter().any(may) {
            able.push(&actor.shown);
        }
    }
    if able.is_empty() {
        return;
    }
    let message =
        format!("`{arn}` is trusted with locks, and {} can change its trust or its policies", names(&able));
    let help = "keep those who may call iam:UpdateAssumeRolePolicy, iam:PutRolePolicy and iam:AttachRolePolicy on it few";
    let finding = say(rules::EXEMPT_ROLE_OPEN_TO_OTHERS, message, help).rated(Severity::Medium);
    bench.about(arn, finding);
}
