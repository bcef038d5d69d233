//! Rules about how a statement is written: why it does not do what it looks like. They need no request.

use super::super::pattern::{Glob, arn_parts};
use super::bench::{Bench, names, say};
use super::output::AccessFinding;
use super::rules;
use super::shape::{Asked, Pattern, Shape};
use super::world::{BUCKET_POLICY, World};

/// What a lock's life is made of.
const LOCK_ACTIONS: [&str; 4] = ["s3:getobject", "s3:putobject", "s3:deleteobject", "s3:deleteobjectversion"];

/// Actions on the bucket itself that have to do with locks.
const BUCKET_ACTIONS: [&str; 12] = [
    "s3:deletebucket",
    "s3:getbucketlocation",
    "s3:getbucketpolicy",
    "s3:getlifecycleconfiguration",
    "s3:listbucketversions",
    "s3:listbucket",
    "s3:putbucketpolicy",
    "s3:deletebucketpolicy",
    "s3:putlifecycleconfiguration",
    "s3:putbucketversioning",
    "s3:putreplicationconfiguration",
    "s3:putbucketpublicaccessblock",
];

/// All of them.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    let mut found: Vec<AccessFinding> = Vec::new();
    for shape in world.statements() {
        let statement = || Some(shape.reference(BUCKET_POLICY));
        let mut add = |finding: AccessFinding| found.push(finding.at(statement()));
        for asked in &shape.conditions {
            condition(world, shape, asked, &mut add);
        }
        principals(world, shape, &mut add);
        if let Some(message) = never_applies(world, shape) {
            let help =
                "object actions need `BUCKET/*`, bucket actions the bucket alone: write two statements";
            add(say(rules::STATEMENT_NEVER_APPLIES, message, help));
        }
    }
    for finding in found {
        bench.bucket(finding);
    }
    runner_statements(bench);
}

fn condition(world: &World<'_>, shape: &Shape, asked: &Asked, add: &mut impl FnMut(AccessFinding)) {
    let words = asked.words();
    let wild = |value: &&String| value.contains(['*', '?']) && !value.contains("${");
    // `If-None-Match: *` is a star and no wildcard.
    let literal: Vec<&String> = asked.values.iter().filter(wild).collect();
    if asked.is_literal() && !literal.is_empty() && !asked.is_manner() {
        let effect = if asked.negated() && shape.deny { "everybody is denied" } else { "nobody matches" };
        let message =
            format!("{words} takes no wildcards, {} is compared as it stands: {effect}", names(&literal));
        let help = "use ArnLike / ArnNotLike, or StringLike / StringNotLike for other keys";
        add(say(rules::CONDITION_WILDCARD_LITERAL, message, help));
    }
    if asked.name == "aws:principalarn" {
        principal_arn(world, asked, add);
    }
    if asked.name == "aws:userid" {
        unique_ids(world, asked, add);
    }
    if shape.allow && asked.for_all && LOCK_ACTIONS.iter().any(|action| shape.about_action(action)) {
        let message =
            format!("{words} holds for requests without that key, too, so the Allow is wider than it looks");
        let help = "add `Null: {KEY: false}` beside it, or use an operator for single values";
        add(say(rules::CONDITION_SKIPPABLE, message, help));
    }
}

fn principal_arn(world: &World<'_>, asked: &Asked, add: &mut impl FnMut(AccessFinding)) {
    let words = asked.words();
    let session = |value: &&String| value.contains(":sts:") && value.contains(":assumed-role/");
    let sessions: Vec<&String> = asked.values.iter().filter(session).collect();
    if !sessions.is_empty() {
        let message = format!(
            "{words} is compared with {}, and a role's session has its role's ARN there",
            names(&sessions)
        );
        let help = "write the role's ARN with its path: `arn:aws:iam::ACCOUNT:role/PATH/NAME`";
        add(say(rules::CONDITION_SESSION_ARN, message, help));
    }
    let known: Vec<&str> = world.real().filter_map(|(_, actor)| actor.arn.as_deref()).collect();
    for value in &asked.values {
        let Some([_, _, "iam", _, account, resource]) = arn_parts(value) else { continue };
        let pattern = Pattern::new(value);
        if known.iter().any(|arn| pattern.matches(arn)) {
            continue;
        }
        if let Some(meant) = without_path(&known, account, resource) {
            let message = format!("{words} names `{value}`, and the role is `{meant}`: the path is missing");
            let help = "write the whole ARN; roles of IAM Identity Center are \
                        `role/aws-reserved/sso.amazonaws.com/*AWSReservedSSO_NAME_*`";
            add(say(rules::CONDITION_ROLE_PATH_MISSING, message, help));
            continue;
        }
        if resource.starts_with("role/AWSReservedSSO_") {
            let message = format!(
                "{words} names `{value}`, and roles of IAM Identity Center have the path \
                 `aws-reserved/sso.amazonaws.com/`"
            );
            let help = "write `role/aws-reserved/sso.amazonaws.com/*AWSReservedSSO_NAME_*`";
            add(say(rules::CONDITION_ROLE_PATH_MISSING, message, help));
            continue;
        }
        if world.has_read(account) && (resource.starts_with("role/") || resource.starts_with("user/")) {
            let what =
                if value.contains(['*', '?']) { "which matches nobody" } else { "which does not exist" };
            let message = format!("{words} names `{value}`, {what} in account {account}");
            let help = "correct the ARN, or take it out: whoever creates that name later gets what it grants";
            add(say(rules::EXEMPTION_NAMES_NOBODY, message, help));
        }
    }
}

/// The role that was meant by an ARN without path.
fn without_path<'k>(known: &[&'k str], account: &str, resource: &str) -> Option<&'k str> {
    let name = resource.strip_prefix("role/").filter(|name| !name.contains('/') && *name != "*")?;
    let (account, name) = (Glob::new(account), Glob::new(name));
    known.iter().copied().find(|arn| {
        let Some([.., of, own]) = arn_parts(arn) else { return false };
        let Some((path, last)) = own.strip_prefix("role/").and_then(|rest| rest.rsplit_once('/')) else {
            return false;
        };
        !path.is_empty() && account.matches(of) && name.matches(last)
    })
}

/// `AROA…:*` of a role that is gone.
fn unique_ids(world: &World<'_>, asked: &Asked, add: &mut impl FnMut(AccessFinding)) {
    let Some(principals) = world.input.principals.known() else { return };
    // Principals of other accounts have IDs that were not read.
    if !world.has_read(&world.owner) {
        return;
    }
    let gone = |value: &&String| {
        let id = value.split(':').next().unwrap_or_default();
        is_unique_id(id) && !principals.iter().any(|principal| principal.unique_id == id)
    };
    let gone: Vec<&String> = asked.values.iter().filter(gone).collect();
    if !gone.is_empty() {
        let message =
            format!("{} names {}, and no principal that was read has that ID", asked.words(), names(&gone));
        let help =
            "name the role by `aws:PrincipalArn`: an ID is never used again, not even for the same name";
        add(say(rules::DELETED_PRINCIPAL_NAMED, message, help));
    }
}

fn is_unique_id(text: &str) -> bool {
    ["AROA", "AIDA"].iter().any(|prefix| text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn principals(world: &World<'_>, shape: &Shape, add: &mut impl FnMut(AccessFinding)) {
    if shape.has_not_principal {
        let message = "`NotPrincipal` excepts only principals whose account, role and session are all listed, and never \
                       one with a permissions boundary"
            .to_owned();
        let help = "use `Principal: \"*\"` with ArnNotLike on `aws:PrincipalArn`";
        add(say(rules::NOT_PRINCIPAL_USED, message, help));
    }
    let gone: Vec<&String> = shape.principals.iter().filter(|text| is_unique_id(text)).collect();
    if !gone.is_empty() {
        let message =
            format!("`Principal` holds {}: the principal was deleted, and matches nobody", names(&gone));
        let help = "name the principal that exists now by its ARN";
        add(say(rules::DELETED_PRINCIPAL_NAMED, message, help));
    }
    let missing = |arn: &&String| {
        let Some([_, _, "iam", _, account, resource]) = arn_parts(arn) else { return false };
        let exists = || world.real().any(|(_, actor)| actor.arn.as_deref() == Some(arn.as_str()));
        resource != "root" && world.has_read(account) && !exists()
    };
    let missing: Vec<&String> = shape.principals.iter().filter(missing).collect();
    if !missing.is_empty() {
        let message = format!("`Principal` names {}, which was not found in its account", names(&missing));
        add(say(rules::EXEMPTION_NAMES_NOBODY, message, "correct the ARN, or take it out"));
    }
}

/// What is wrong with a statement whose actions and resources don't meet.
fn never_applies(world: &World<'_>, shape: &Shape) -> Option<String> {
    if shape.not_action || shape.not_resource || shape.resources.is_empty() {
        return None;
    }
    let object = world.object("k");
    let on_bucket = shape.resources.iter().any(|pattern| pattern.matches(&world.bucket_arn));
    let on_objects = shape.resources.iter().any(|pattern| {
        pattern.matches(&object)
            || pattern.text.split_once('/').is_some_and(|(bucket, _)| bucket == world.bucket_arn)
    });
    let about = |actions: &[&str]| actions.iter().any(|action| shape.about_action(action));
    let any_bucket_action = about(&BUCKET_ACTIONS);
    let any_object_action = about(&LOCK_ACTIONS);
    if any_object_action && on_bucket && !on_objects && !any_bucket_action {
        return Some(
            "its actions are about objects, and its resource is the bucket: it never applies".to_owned(),
        );
    }
    if any_bucket_action && on_objects && !on_bucket && !any_object_action {
        return Some(
            "its actions are about the bucket, and its resource is objects: it never applies".to_owned(),
        );
    }
    None
}

/// The same in the policies of roles that take locks.
fn runner_statements(bench: &mut Bench<'_, '_>) {
    let world = bench.world;
    for (_, actor) in bench.lockers() {
        for (name, shape) in world.docs.shapes(&actor.identity) {
            let Some(message) = never_applies(world, shape) else { continue };
            let help =
                "object actions need `BUCKET/*`, bucket actions the bucket alone: write two statements";
            let statement = shape.reference(&format!("policy {name}"));
            bench.about(&actor.shown, say(rules::STATEMENT_NEVER_APPLIES, message, help).at(Some(statement)));
        }
    }
}
