//! For tests: whether a JSON document has the shape that a JSON Schema describes.

#![allow(clippy::indexing_slicing, reason = "`serde_json` gives `Null` for what is not there")]

use std::path::Path;

use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of something that is only written: names that are left out when empty are not required.
pub fn of_output<T: JsonSchema>() -> Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Holds a schema to the file of `docs/schema`; writes it instead where `LOCKSHIFT_UPDATE` is set.
pub fn committed(file: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(file);
    let current = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("LOCKSHIFT_UPDATE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "run the tests with LOCKSHIFT_UPDATE=1 and review {}", path.display());
}

/// The first place where `value` is not what `schema` says. Knows the keywords that our schema uses.
pub fn mismatch(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let target = root.pointer(name.trim_start_matches('#')).unwrap_or(&Value::Null);
        assert!(target.is_object(), "{name} leads nowhere");
        return mismatch(root, target, value, at);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[keyword].as_array()
            && !choices.iter().any(|choice| mismatch(root, choice, value, at).is_none())
        {
            return Some(format!("{at}: none of {keyword}"));
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !types.is_empty() && !types.contains(&own) {
        return Some(format!("{at}: {own} is not {types:?}"));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return Some(format!("{at}: {value} is not one of {words:?}"));
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        return Some(format!("{at}: {value} is not {}", schema["const"]));
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .enumerate()
            .find_map(|(n, item)| mismatch(root, &schema["items"], item, &format!("{at}/{n}")));
    }
    let fields = value.as_object()?;
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.into_iter().find(|name| !fields.contains_key(*name)) {
        return Some(format!("{at}: {missing} is missing"));
    }
    fields.iter().find_map(|(name, field)| {
        let known = &schema["properties"][name];
        let described = if known.is_null() { &schema["additionalProperties"] } else { known };
        if described.is_null() && schema["properties"].is_object() {
            return Some(format!("{at}: {name} is not described"));
        }
        mismatch(root, described, field, &format!("{at}/{name}"))
    })
}
