//! What the JSON Schema asks of single values: which names there are, and how they are spelled.

use schemars::Schema;
use serde_json::{Value, json};

use crate::finding::Severity;
use crate::rules;

/// What [`super::duration`] takes.
pub(super) const LENGTH_OF_TIME: &str = r"^\s*[0-9]+\s*[smhd]\s*$";
/// What [`super::Date::parse`] takes, but for the number of days in a month.
pub(super) const DATE: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";

/// The rules that a configuration can speak of: those that make findings.
fn settable() -> Value {
    rules::all().iter().filter(|rule| rule.is_settable()).map(|rule| rule.id).collect()
}

pub(super) fn name_rule(schema: &mut Schema) {
    schema.insert("enum".to_owned(), settable());
}

pub(super) fn name_rules(schema: &mut Schema) {
    schema.insert("propertyNames".to_owned(), json!({ "enum": settable() }));
}

pub(super) fn name_severities(schema: &mut Schema) {
    let words = Severity::ALL.iter().map(|severity| severity.as_str());
    schema.insert("enum".to_owned(), std::iter::once("off").chain(words).collect());
}

pub(super) fn want_path_or_subject(schema: &mut Schema) {
    schema.insert("anyOf".to_owned(), json!([{ "required": ["path"] }, { "required": ["subject"] }]));
}
