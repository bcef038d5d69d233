//! A setting: one lock-related or identifying argument, where it stands, and what it is worth.

use serde::Serialize;

use super::secret::{is_secret, shown, without_credentials};
use super::text::{Position, Span};

/// What an argument is worth, as far as it can be told without running anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A string, quotes and escapes undone.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// `null`: Terraform treats the argument as absent.
    Null,
    /// A secret (`secret_key`, `token`, …). Its text is dropped where it is read, so that no output can hold it.
    Secret,
    /// An object (or nested block): its parts follow as settings with dotted names.
    Object,
    /// Something that only a run can tell.
    Unknown {
        /// The expression's own text, on one line.
        expression: String,
        /// Why it could not be resolved, for people.
        reason: String,
    },
}

impl Value {
    /// The text of a string value.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether it is an expression with a variable or local in it.
    pub fn refers(&self) -> bool {
        matches!(self, Value::Unknown { expression, .. }
            if expression.contains("var.") || expression.contains("local."))
    }

    /// Whether nothing more can be told without a run.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Value::Unknown { .. })
    }
}

/// One argument of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Argument name as Terraform knows it; a nested one is dotted (`endpoints.dynamodb`).
    pub name: String,
    /// Line and column of the name.
    pub at: Position,
    /// The whole assignment, from the name to the value's last byte; for a command line flag, the whole word.
    pub span: Span,
    /// The name alone (with its quotes in JSON).
    pub name_span: Span,
    /// The value alone (with its quotes).
    pub value_span: Span,
    /// What it is worth.
    pub value: Value,
    /// References that were followed to find the value (`var.table`, `local.table`). Terraform takes none in a
    /// backend block, OpenTofu does since 1.8: a non-empty list says which engine the block is for.
    pub via: Vec<String>,
}

impl Setting {
    /// Whether it names the lock table: `dynamodb_table`, or its old name that Terragrunt still takes.
    pub fn is_table(&self) -> bool {
        matches!(self.name.as_str(), "dynamodb_table" | "lock_table")
    }
}

/// A value fit to be kept: secrets dropped, credentials cut out of URLs.
pub fn without_secrets(name: &str, value: Value) -> Value {
    if is_secret(name) && !matches!(value, Value::Null) {
        return Value::Secret;
    }
    match value {
        Value::Text(text) => Value::Text(without_credentials(text)),
        // `merge(local.x, { secret_key = "…" })` holds a secret under any name.
        Value::Unknown { expression, reason } => {
            Value::Unknown { expression: shown(&expression), reason: without_credentials(reason) }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::secret::NOT_SHOWN;
    use super::*;

    #[test]
    fn secrets_are_dropped_and_urls_lose_their_credentials() {
        assert_eq!(without_secrets("secret_key", Value::Text("s3cr3t".into())), Value::Secret);
        assert_eq!(without_secrets("secret_key", Value::Null), Value::Null);
        assert_eq!(
            without_secrets("endpoint", Value::Text("https://me:pw@minio:9000/x".into())),
            Value::Text("https://***@minio:9000/x".into())
        );
        assert_eq!(without_secrets("bucket", Value::Text("a@b".into())), Value::Text("a@b".into()));
        let unknown =
            |expression: &str| Value::Unknown { expression: expression.into(), reason: "why".into() };
        let merged = unknown("merge(local.x, { \"secret_key\" : \"s3cr3t\" })");
        assert_eq!(without_secrets("config", merged), unknown(NOT_SHOWN));
        assert_eq!(without_secrets("config", unknown("var.tokens")), unknown("var.tokens"));
    }
}
