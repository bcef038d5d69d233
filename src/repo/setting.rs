//! A setting: one lock-related or identifying argument, where it stands, and what it is worth.

use std::borrow::Cow;

use serde::Serialize;

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

/// Arguments whose values are never kept: they are credentials or keys.
/// Source: the S3 backend's schema in Terraform and OpenTofu, and the `http`-style credentials of wrappers.
const SECRETS: &[&str] = &[
    "access_key",
    "secret_key",
    "token",
    "sse_customer_key",
    "assume_role.external_id",
    "external_id",
    "assume_role_with_web_identity.web_identity_token",
    "web_identity_token",
    "password",
];

/// Whether an argument's value must be dropped where it is read.
pub fn is_secret(name: &str) -> bool {
    SECRETS.contains(&name)
}

/// What stands in place of an expression that names a secret.
pub const NOT_SHOWN: &str = "(not shown: it names a secret)";

/// Whether a secret argument is named anywhere in an expression's text.
pub fn names_a_secret(expression: &str) -> bool {
    expression.split(|character: char| !character.is_alphanumeric() && character != '_').any(is_secret)
}

/// One line of a file, fit to be shown: what follows a secret argument's name and its sign is left out, and so are
/// credentials in URLs. A secret on a line that does not name it can't be known.
pub fn without_secret_values(line: &str) -> Cow<'_, str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut start = 0;
    for word in line.split(|character: char| !is_word(character)) {
        let end = start + word.len();
        let rest = line.get(end..).unwrap_or_default();
        let sign = rest.trim_start_matches([' ', '\t', '"', '\'']);
        if is_secret(word) && sign.starts_with(['=', ':']) {
            let kept = line.len() - sign.len() + 1;
            return Cow::Owned(format!("{} {NOT_SHOWN}", line.get(..kept).unwrap_or_default()));
        }
        start = end + rest.chars().next().map_or(0, char::len_utf8);
    }
    let plain = without_credentials(line.to_owned());
    if plain == line { Cow::Borrowed(line) } else { Cow::Owned(plain) }
}

/// A value fit to be kept: secrets dropped, credentials cut out of URLs.
pub fn without_secrets(name: &str, value: Value) -> Value {
    if is_secret(name) && !matches!(value, Value::Null) {
        return Value::Secret;
    }
    match value {
        Value::Text(text) => Value::Text(without_credentials(text)),
        // `merge(local.x, { secret_key = "…" })` holds a secret under any name.
        Value::Unknown { expression, reason } if names_a_secret(&expression) => {
            Value::Unknown { expression: NOT_SHOWN.to_owned(), reason }
        }
        Value::Unknown { expression, reason } => {
            Value::Unknown { expression: without_credentials(expression), reason }
        }
        other => other,
    }
}

/// `https://user:password@host` becomes `https://***@host`; any other text stays as it is.
pub fn without_credentials(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let authority_end = rest.find(['/', '?', '#', '"', ' ']).unwrap_or(rest.len());
    let Some((authority, tail)) = rest.split_at_checked(authority_end) else { return text };
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{}", without_credentials(tail.to_owned())),
        None => format!("{scheme}://{authority}{}", without_credentials(tail.to_owned())),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_line_is_shown_up_to_its_secret() {
        for (line, shown) in [
            ("  secret_key = \"s3cr3t\"", "  secret_key = (not shown: it names a secret)"),
            ("\"token\": \"s3cr3t\", \"bucket\": \"b\"", "\"token\": (not shown: it names a secret)"),
            (
                "ünit -backend-config='token=s3cr3t'",
                "ünit -backend-config='token= (not shown: it names a secret)",
            ),
            ("  token_id = \"1\" # no token here", "  token_id = \"1\" # no token here"),
            ("  endpoint = \"https://me:pw@h/\"", "  endpoint = \"https://***@h/\""),
            ("  bucket = \"b\"", "  bucket = \"b\""),
        ] {
            assert_eq!(without_secret_values(line), shown);
        }
    }
}
