//! Our statements beside those that a bucket's policy has. A statement that is not ours stays as it is and where it is.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Wanted;
use super::refusal::{Gate, Refusal, not_mergeable};
use super::roles::filled;
use super::statements::SIDS;
use crate::policy::is_account;
use crate::policy::json::Json;
use crate::policy::pattern::{Glob, arn_parts};

/// The policy's version that knows variables.
const CURRENT: &str = "2012-10-17";

/// Both together.
#[derive(Debug, Clone)]
pub(super) struct Merged {
    /// The new policy.
    pub policy: Value,
    /// The present one, without a word changed.
    pub before: Option<Value>,
    pub notes: Vec<String>,
    /// ARNs of the principals that the present policy speaks of: who else may reach a lock.
    pub mentioned: BTreeSet<String>,
}

pub(super) fn merge(wanted: &Wanted, ours: Vec<Value>, variables: bool) -> Result<Merged, Refusal> {
    let Some(text) = wanted.existing.as_deref().filter(|text| !text.trim().is_empty()) else {
        let policy = json!({"Version": CURRENT, "Id": "tflock-protection", "Statement": ours});
        return Ok(Merged { policy, before: None, notes: Vec::new(), mentioned: BTreeSet::new() });
    };
    let before = read(text)?;
    let mut notes = Vec::new();
    let mut members = before.clone();
    if variables && members.get("Version").and_then(Value::as_str) != Some(CURRENT) {
        if before.values().any(|value| value.to_string().contains("${")) {
            return Err(Refusal::new(
                Gate::NotMergeable,
                "a state key with `*`, `?` or `$` needs policy version 2012-10-17; the present policy has an older \
                 one and holds `${`, which would turn from text into a variable",
                "raise the present policy's `Version` yourself, and look at each `${` in it",
            ));
        }
        notes.push(format!(
            "the policy's `Version` was raised to {CURRENT}; nothing in it reads otherwise then"
        ));
        members.shift_remove("Version");
        members = std::iter::once(("Version".to_owned(), Value::from(CURRENT))).chain(members).collect();
    }
    let mut statements = listed(&before)?;
    for (n, statement) in statements.iter().enumerate() {
        if let Some(resource) = elsewhere(statement, &wanted.bucket) {
            return Err(not_mergeable(&format!(
                "statement {} names `{resource}`, which is not in bucket `{}`: S3 takes no such policy, and it may be \
                 another bucket's",
                n + 1,
                wanted.bucket
            )));
        }
    }
    let mentioned = statements.iter().flat_map(mentions).collect();
    let count = statements.len();
    let mut taken: BTreeSet<String> = statements.iter().filter_map(sid).map(str::to_owned).collect();
    let mut used = BTreeSet::new();
    for our in ours {
        let place = statements.iter().take(count).position(|theirs| is_ours(theirs, &our));
        let place = place.filter(|place| used.insert(*place));
        match place.and_then(|place| statements.get_mut(place)) {
            Some(theirs) => {
                let mut our = our;
                // Whatever number it got earlier.
                if let (Some(members), Some(sid)) = (our.as_object_mut(), theirs.get("Sid")) {
                    members.insert("Sid".to_owned(), sid.clone());
                }
                if *theirs != our {
                    notes.push(format!(
                        "statement `{}` was brought up to date",
                        sid(&our).unwrap_or_default()
                    ));
                    *theirs = our;
                }
            }
            None => statements.push(with_free_sid(our, &mut taken, &mut notes)),
        }
    }
    let left = statements.iter().take(count).enumerate().filter(|(place, _)| !used.contains(place));
    notes.extend(left.filter_map(|(_, statement)| outlived(statement)));
    members.insert("Statement".to_owned(), Value::Array(statements));
    Ok(Merged { policy: Value::Object(members), before: Some(Value::Object(before)), notes, mentioned })
}

/// A resource that is in another bucket, or no resource of S3 at all. What is no ARN is the evaluator's to refuse.
fn elsewhere<'s>(statement: &'s Value, bucket: &str) -> Option<&'s str> {
    let resource = statement.get("Resource")?;
    let all = resource.as_array().map_or(std::slice::from_ref(resource), Vec::as_slice);
    all.iter().filter_map(Value::as_str).find(|resource| {
        arn_parts(resource).is_some_and(|[_, _, service, _, _, name]| {
            let of = name.split('/').next().unwrap_or_default();
            // A variable stands for whatever the request brings.
            let here = Glob::new(of).matches(bucket) || of.contains("${");
            service != "s3" || !here
        })
    })
}

/// The present policy: an object whose every member is kept.
fn read(text: &str) -> Result<Map<String, Value>, Refusal> {
    let text = text.trim_start_matches('\u{feff}');
    let json: Json = serde_json::from_str(text).map_err(|error| not_mergeable(&error.to_string()))?;
    if let Some(name) = repeated(&json) {
        return Err(not_mergeable(&format!("`{name}` stands twice in one object")));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| not_mergeable(&error.to_string()))?;
    let Value::Object(mut members) = value else { return Err(not_mergeable("it is no JSON object")) };
    // What `aws s3api get-bucket-policy` prints: the policy is a text inside.
    if members.len() == 1
        && let Some(Value::String(inside)) = members.get("Policy")
    {
        return read(&inside.clone());
    }
    if has_fraction(&Value::Object(members.clone())) {
        return Err(not_mergeable("it holds a number that is no whole number; write it as a text"));
    }
    if members.get("Statement").is_none() {
        return Err(not_mergeable("it has no `Statement`"));
    }
    // An empty element is legal for nobody; leaving it out changes nothing.
    if members.get("Id").is_some_and(Value::is_null) {
        members.shift_remove("Id");
    }
    Ok(members)
}

fn repeated(json: &Json) -> Option<&str> {
    match json {
        Json::List(items) => items.iter().find_map(repeated),
        Json::Object(members) => {
            let mut seen = BTreeSet::new();
            let twice = members.iter().find(|(name, _)| !seen.insert(name.as_str()));
            twice
                .map(|(name, _)| name.as_str())
                .or_else(|| members.iter().find_map(|(_, value)| repeated(value)))
        }
        _ => None,
    }
}

/// Numbers that reading and writing might not keep.
fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(members) => members.values().any(has_fraction),
        _ => false,
    }
}

/// The statements of a policy, which may be one alone.
fn listed(members: &Map<String, Value>) -> Result<Vec<Value>, Refusal> {
    let statements = match members.get("Statement") {
        Some(Value::Array(items)) => items.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    match statements.iter().position(|statement| !statement.is_object()) {
        Some(n) => Err(not_mergeable(&format!("statement {} is no object", n + 1))),
        None => Ok(statements),
    }
}

fn sid(statement: &Value) -> Option<&str> {
    statement.get("Sid").and_then(Value::as_str)
}

/// Whether a statement is one that was written by us before: the same in everything but the roles that it names. An
/// Allow must be for the same roles as well, or somebody would lose what they were given.
fn is_ours(theirs: &Value, our: &Value) -> bool {
    let (Some(their_sid), Some(our_sid)) = (sid(theirs), sid(our)) else { return false };
    let same_sid = is_numbered(their_sid, our_sid);
    let (Some(theirs), Some(our)) = (theirs.as_object(), our.as_object()) else { return false };
    let same_elements = theirs.len() == our.len() && our.keys().all(|name| theirs.contains_key(name));
    let same = |name: &str| theirs.get(name).map(texts) == our.get(name).map(texts);
    let allow = our.get("Effect").and_then(Value::as_str) == Some("Allow");
    same_sid
        && same_elements
        && ["Effect", "Action"].into_iter().all(same)
        && theirs.get("Principal").map(principals) == our.get("Principal").map(principals)
        && (allow || same("Resource"))
        && theirs.get("Condition").map(condition_keys) == our.get("Condition").map(condition_keys)
        && (!allow || covers(our.get("Resource"), theirs.get("Resource")))
}

/// Whether a `Sid` is this one, or this one with the number that made it free.
fn is_numbered(sid: &str, name: &str) -> bool {
    sid.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What to say of a present statement that has a name of ours and is none that the roles need now. It stays: only who
/// wrote it knows whether it is still wanted.
fn outlived(statement: &Value) -> Option<String> {
    let sid = sid(statement).filter(|sid| SIDS.iter().any(|name| is_numbered(sid, name)))?;
    let named = names(statement);
    let says = match statement.get("Effect").and_then(Value::as_str) {
        Some("Allow") if named.is_empty() => "and still lets somebody in".to_owned(),
        Some("Allow") => format!("and still lets in {}", named.join(", ")),
        _ => "and still denies".to_owned(),
    };
    Some(format!(
        "statement `{sid}` has a name of ours, {says}; none of the roles that are named now needs it: take it out where \
         nobody else does"
    ))
}

/// Whether the first list holds all of the second.
fn covers(more: Option<&Value>, less: Option<&Value>) -> bool {
    let (more, less) = (more.map(texts).unwrap_or_default(), less.map(texts).unwrap_or_default());
    less.is_subset(&more)
}

/// One text or a list of them, without regard to order.
fn texts(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(items) => items.iter().map(Value::to_string).collect(),
        one => BTreeSet::from([one.to_string()]),
    }
}

fn principals(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(kind, value)| texts(value).into_iter().map(move |text| format!("{kind} {text}")))
            .collect(),
        other => texts(other),
    }
}

/// The operators and keys of a condition, with the values of all keys but the principal's.
fn condition_keys(value: &Value) -> BTreeSet<String> {
    let Value::Object(operators) = value else { return texts(value) };
    let mut found = BTreeSet::new();
    for (operator, keys) in operators {
        for (key, value) in keys.as_object().into_iter().flatten() {
            let values = if key == "aws:PrincipalArn" { BTreeSet::new() } else { texts(value) };
            found.insert(format!("{operator} {key} {values:?}"));
        }
    }
    found
}

fn with_free_sid(mut our: Value, taken: &mut BTreeSet<String>, notes: &mut Vec<String>) -> Value {
    let Some(wanted) = sid(&our).map(str::to_owned) else { return our };
    let numbered = (2..).map(|n: usize| format!("{wanted}{n}"));
    let free = std::iter::once(wanted.clone()).chain(numbered).find(|sid| !taken.contains(sid));
    let free = free.unwrap_or_default();
    if free != wanted {
        notes.push(format!("`{wanted}` is the `Sid` of a statement that is not ours: ours is `{free}`"));
        if let Some(members) = our.as_object_mut() {
            members.insert("Sid".to_owned(), Value::String(free.clone()));
        }
    }
    taken.insert(free);
    our
}

/// Principals that a statement names: in `Principal`, and by `aws:PrincipalArn`. Wildcards are filled in.
fn mentions(statement: &Value) -> Vec<String> {
    names(statement).iter().filter_map(|text| somebody(text)).collect()
}

/// The same as they are written.
fn names(statement: &Value) -> Vec<String> {
    let strings = |value: &Value| -> Vec<String> {
        match value {
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Value::String(one) => vec![one.clone()],
            _ => Vec::new(),
        }
    };
    let mut found = Vec::new();
    for element in ["Principal", "NotPrincipal"] {
        found.extend(
            statement.get(element).and_then(|value| value.get("AWS")).map(strings).unwrap_or_default(),
        );
    }
    for (_, keys) in statement.get("Condition").and_then(Value::as_object).into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            if key.eq_ignore_ascii_case("aws:PrincipalArn") {
                found.extend(strings(value));
            }
        }
    }
    found
}

/// The ARN of somebody whom this names: for a whole account a role that is made up.
fn somebody(text: &str) -> Option<String> {
    if is_account(text) {
        return Some(format!("arn:aws:iam::{text}:role/lockshift-proof"));
    }
    let [_, partition, _, _, account, resource] = arn_parts(text)?;
    if resource == "root" && is_account(account) {
        return Some(format!("arn:{partition}:iam::{account}:role/lockshift-proof"));
    }
    let arn = filled(text);
    crate::policy::Principal::parse(&arn).is_ok().then_some(arn)
}
