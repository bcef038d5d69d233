//! The JSON Schema of `lockshift.toml`: for editors that complete and check it, and for checks in a pipeline.

use schemars::Schema;
use serde_json::Value;

use super::raw::Raw;

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
