//! What is secret, and what is shown in its place. Pure: texts in, texts out. Two measures, one place: a setting that was
//! understood is judged by its name, a line that was not by every word that secrets are called by.

use std::borrow::Cow;

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

/// Words that make a text worth hiding whole. Wider than what a backend takes: a file that can't be parsed can hold
/// anything.
const SECRET_WORDS: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "private_key",
    "access_key",
    "api_key",
    "apikey",
    "customer_key",
    "external_id",
    "begin ",
    "authorization",
    // Hashes of passwords, as `crypt` writes them.
    "$1$",
    "$2a$",
    "$2b$",
    "$2y$",
    "$5$",
    "$6$",
    "$y$",
    "$apr1$",
    "$argon2",
];

/// Whether a text could hold a secret: it names one, however it is called, or has an address with credentials. For what
/// was not understood; of what was, [`is_secret`] knows the names.
pub fn could_be_in(text: &str) -> bool {
    let lower = text.to_lowercase();
    SECRET_WORDS.iter().any(|word| lower.contains(word))
        || names_a_secret(&lower)
        || without_credentials(text.to_owned()) != text
}

#[cfg(test)]
mod tests {
    use super::*;

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
