//! The JSON Schema of `lockshift.toml`: for editors that complete and check it, and for checks in a pipeline.

use schemars::Schema;
use serde_json::{Value, json};

use super::raw::Raw;
use crate::finding::Severity;
use crate::rules;

/// What [`super::duration`] takes.
pub(super) const LENGTH_OF_TIME: &str = r"^\s*[0-9]+\s*[smhd]\s*$";
/// What [`super::Date::parse`] takes, but for the number of days in a month.
pub(super) const DATE: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";

/// The JSON Schema of `lockshift.toml`; committed as `docs/schema/config.schema.json`.
pub fn schema() -> Schema {
    // TOML has no null: a key that may be left out is not one that may be null.
    let settings = schemars::generate::SchemaSettings::draft2020_12()
        .with_transform(schemars::transform::RecursiveTransform(|schema: &mut Schema| without_null(schema)));
    settings.into_generator().into_root_schema_for::<Raw>()
}

fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get("type")
        && let [only, Value::String(null)] = types.as_slice()
        && null == "null"
    {
        let only = only.clone();
        schema.insert("type".to_owned(), only);
    }
    // An option's default is null, too, and says nothing.
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}

/// The rules that a configuration can speak of: those that judge.
fn settable() -> Value {
    let judges = |rule: &&&rules::Rule| !matches!(rule.check, rules::Check::Unread);
    rules::all().iter().filter(judges).map(|rule| rule.id).collect()
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
