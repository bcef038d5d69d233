//! The evaluator: decides every case, the same each time, and another Deny never allows more.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift::policy::{Verdict, answer, read_cases};
use serde_json::{Value, json};

/// Where a case's policies stand that one may be added to.
const PLACES: &[&str] = &["identityPolicies", "resourcePolicy"];

/// How much a verdict lets through.
fn reach(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::ExplicitlyDenied | Verdict::ImplicitlyDenied => 0,
        Verdict::Unknown => 1,
        Verdict::Allowed => 2,
    }
}

fn statements(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| statements(item, into)),
        Value::Object(members) => {
            if members.contains_key("Effect") {
                into.push(value.clone());
            }
            members.values().for_each(|member| statements(member, into));
        }
        _ => {}
    }
}

/// The case with a statement more, as a policy of its own.
fn with_statement(case: &Value, place: &str, statement: &Value) -> Option<String> {
    let mut case = case.clone();
    let policies = case.as_object_mut()?.entry(place).or_insert(Value::Null);
    let mut all = match policies.take() {
        Value::Null => Vec::new(),
        Value::Array(all) => all,
        one => vec![one],
    };
    all.push(json!({"Version": "2012-10-17", "Statement": [statement]}));
    *policies = Value::Array(all);
    Some(case.to_string())
}

fuzz_target!(|text: &str| {
    let Ok(cases) = read_cases(text) else { return };
    for case in &cases {
        let decision = case.decide();
        assert_eq!(answer(None, &decision), answer(None, &case.decide()));
    }
    // One case by itself, so that another can be made of it.
    let ([case], Ok(json @ Value::Object(_))) = (cases.as_slice(), serde_json::from_str::<Value>(text))
    else {
        return;
    };
    // A number that JSON values can't hold exactly would be another case.
    let Some(before) = read_cases(&json.to_string()).ok().and_then(|cases| Some(cases.first()?.decide()))
    else {
        return;
    };
    if before.verdict != case.decide().verdict {
        return;
    }
    let mut denies = Vec::new();
    statements(&json, &mut denies);
    denies.truncate(4);
    for deny in &mut denies {
        deny["Effect"] = json!("Deny");
    }
    denies.push(json!({"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}));
    for place in PLACES {
        for deny in &denies {
            let Some(more) = with_statement(&json, place, deny) else { continue };
            let Ok(more) = read_cases(&more) else { continue };
            for case in more {
                let after = case.decide();
                assert!(
                    reach(after.verdict) <= reach(before.verdict),
                    "{place} with {deny}: {:?} became {:?}",
                    before.verdict,
                    after.verdict
                );
            }
        }
    }
});
