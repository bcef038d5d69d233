//! Whether a JSON document is an audit's, and what it is where it is none: another command's JSON must not pass for an
//! audit in which nothing was found. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::outcome::SCHEMA_VERSION;

/// Why a document is no audit that can be used.
#[derive(Debug)]
pub enum NoAudit {
    /// No JSON object.
    Form(serde_json::Error),
    /// Another document: what it is.
    Other(String),
    /// An audit's JSON of another version, as it stands there.
    Version(String),
}

/// What every audit's JSON has.
const NAMES: &[&str] = &["schema_version", "generated_at", "states", "findings", "unread"];

/// Other documents of ours, each by names that only it has.
const OTHERS: &[(&[&str], &str)] = &[
    (&["steps", "refusals"], "the plan that `lockshift migrate` prints as JSON"),
    (&["roots", "findings"], "what `lockshift scan --format json` prints"),
    (&["taken_at", "buckets"], "a snapshot that `lockshift audit --save-snapshot FILE` made, not yet judged"),
];

/// Whether the text is an audit's JSON of this version.
///
/// # Errors
/// What it is instead.
pub fn check(json: &[u8]) -> Result<(), NoAudit> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: serde_json::Value,
    }
    let names: BTreeMap<String, IgnoredAny> = serde_json::from_slice(json).map_err(NoAudit::Form)?;
    let has = |wanted: &[&str]| wanted.iter().all(|name| names.contains_key(*name));
    if let Some((_, what)) = OTHERS.iter().find(|(wanted, _)| has(wanted)) {
        return Err(NoAudit::Other((*what).to_owned()));
    }
    let missing: Vec<String> =
        NAMES.iter().filter(|name| !has(&[*name])).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        return Err(NoAudit::Other(format!("a JSON object without {}", missing.join(", "))));
    }
    let version: Version = serde_json::from_slice(json).map_err(NoAudit::Form)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(NoAudit::Version(version.schema_version.to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(json: &str) -> String {
        match check(json.as_bytes()) {
            Ok(()) => "an audit".to_owned(),
            Err(NoAudit::Form(error)) => error.to_string(),
            Err(NoAudit::Other(what)) => what,
            Err(NoAudit::Version(version)) => format!("version {version}"),
        }
    }

    #[test]
    fn an_audit_is_told_from_everything_else() {
        let audit =
            r#"{"schema_version":1,"generated_at":"x","states":[],"findings":[],"unread":[],"more":1}"#;
        assert_eq!(said(audit), "an audit");
        assert_eq!(said(&audit.replace(":1,\"gen", ":9,\"gen")), "version 9");
        assert_eq!(said(&audit.replace(":1,\"gen", ":\"1\",\"gen")), "version \"1\"");
        assert_eq!(
            said(r#"{"schema_version":9,"findings":[]}"#),
            "a JSON object without `generated_at`, `states`, `unread`"
        );
        assert!(said("[]").starts_with("invalid type: sequence"));
        assert!(said("{").starts_with("EOF"));
        for (json, what) in [
            (r#"{"schema_version":1,"roots":[],"findings":[]}"#, "lockshift scan"),
            (r#"{"schema_version":1,"roots":[],"steps":[],"refusals":[]}"#, "lockshift migrate"),
            (r#"{"schema_version":1,"taken_at":"x","buckets":[]}"#, "not yet judged"),
        ] {
            assert!(said(json).contains(what), "{json}");
        }
    }
}
