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

/// How names of secrets end, without `-`, `_` and capitals: `db_password`, `awsSecretAccessKey`, `X-Amz-Signature`.
const SECRET_ENDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "credentials",
    "accesskey",
    "secretkey",
    "privatekey",
    "apikey",
    "customerkey",
    "authkey",
    "signature",
    "authorization",
    "externalid",
];

/// How well-known tokens begin, whatever they are called.
const SECRET_STARTS: &[&str] = &["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "hvs."];

/// Whether what goes by this name is a secret: an argument's, a variable's, an environment's, a header's.
pub fn is_secret_name(name: &str) -> bool {
    if is_secret(name) {
        return true;
    }
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let last = name.rsplit(['_', '-']).next().unwrap_or(name);
    SECRET_ENDS.iter().any(|end| plain.ends_with(end))
        // `db_pass`; alone, `pwd` is the working directory.
        || (last.len() < name.len() && matches!(last.to_ascii_lowercase().as_str(), "pwd" | "pass"))
}

/// Whether a secret is named anywhere in an expression's text.
pub fn names_a_secret(expression: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    expression.split(|c: char| !is_word(c)).any(is_secret)
        || expression.split(|c: char| !is_word(c) && c != '-').any(|word| {
            is_secret_name(word) || matches!(word.to_ascii_lowercase().as_str(), "bearer" | "sensitive")
        })
        || SECRET_STARTS.iter().any(|start| expression.contains(start))
        || gives_a_password(expression)
}

/// `curl -u me:password`, `--user me:password`.
fn gives_a_password(command: &str) -> bool {
    let words = command.split_whitespace();
    words.clone().zip(words.skip(1)).any(|(flag, user)| matches!(flag, "-u" | "--user") && user.contains(':'))
}

/// Text from a file, fit to be shown: not when it names a secret, and without credentials in URLs.
pub fn shown(text: &str) -> String {
    if names_a_secret(text) { NOT_SHOWN.to_owned() } else { without_credentials(text.to_owned()) }
}

/// Text in which what follows a secret's name and `=` is left out, up to where the next thing begins.
fn without_assigned(text: String) -> String {
    if !text.contains('=') {
        return text;
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let ends = |c: char| c.is_whitespace() || matches!(c, '&' | ';' | ',' | '"' | '\'' | '#' | ')' | '}');
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('=') {
        out.push_str(before);
        out.push('=');
        let start = before.trim_end().rfind(|c| !is_word(c)).map_or(0, |at| {
            at + before.get(at..).and_then(|text| text.chars().next()).map_or(0, char::len_utf8)
        });
        let name = before.trim_end().get(start..).unwrap_or_default();
        rest = after;
        if is_secret_name(name) && !after.starts_with('=') {
            let open = after.len() - after.trim_start_matches([' ', '"', '\'']).len();
            let value = after.get(open..).unwrap_or_default();
            let end = open + value.find(ends).unwrap_or(value.len());
            if end > open {
                out.push_str(after.get(..open).unwrap_or_default());
                out.push_str("***");
            }
            rest = after.get(end..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}

/// One line of a file, fit to be shown: what follows a secret's name and its sign is left out, and so are
/// credentials in URLs. A secret on a line that does not name it can't be known.
pub fn without_secret_values(line: &str) -> Cow<'_, str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut start = 0;
    for word in line.split(|character: char| !is_word(character)) {
        let end = start + word.len();
        let rest = line.get(end..).unwrap_or_default();
        let sign = rest.trim_start_matches([' ', '\t', '"', '\'']);
        if is_secret_name(word) && sign.starts_with(['=', ':']) {
            let kept = line.len() - sign.len() + 1;
            return Cow::Owned(format!("{} {NOT_SHOWN}", line.get(..kept).unwrap_or_default()));
        }
        start = end + rest.chars().next().map_or(0, char::len_utf8);
    }
    if SECRET_STARTS.iter().any(|start| line.contains(start)) {
        return Cow::Owned(NOT_SHOWN.to_owned());
    }
    let plain = without_credentials(line.to_owned());
    if plain == line { Cow::Borrowed(line) } else { Cow::Owned(plain) }
}

/// `https://user:password@host` becomes `https://***@host`, `?X-Amz-Signature=abc` becomes `?X-Amz-Signature=***`; any
/// other text stays as it is.
pub fn without_credentials(text: String) -> String {
    without_users(without_assigned(text))
}

fn without_users(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let authority_end = rest.find(['/', '?', '#', '"', ' ']).unwrap_or(rest.len());
    let Some((authority, tail)) = rest.split_at_checked(authority_end) else { return text };
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{}", without_users(tail.to_owned())),
        None => format!("{scheme}://{authority}{}", without_users(tail.to_owned())),
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
    "bearer ",
    "signature",
    "sensitive",
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
    fn what_names_a_secret_is_not_shown_and_what_nearly_does_is() {
        for text in [
            r#"$(curl -H "Authorization: Bearer s3cr3t" x)"#,
            r#"$(curl -H "x-api-key: s3cr3t" x)"#,
            "$(curl -u me:s3cr3t x)",
            r#"templatefile("x", {db_password = "s3cr3t"})"#,
            r#"templatefile("x", {dbPassword = "s3cr3t"})"#,
            r#"templatefile("x", {"db-pwd" = "s3cr3t"})"#,
            r#"foo("aws_secret_access_key=s3cr3t")"#,
            r#"file("/x?X-Amz-Signature=s3cr3t&a")"#,
            r#"sensitive("s3cr3t")"#,
            r#"format("%s", "ghp_s3cr3t")"#,
            "$AWS_SESSION_TOKEN",
            "t-${var.secret}",
        ] {
            assert_eq!(shown(text), NOT_SHOWN, "{text}");
        }
        for text in [
            "$(pwd)",
            "${PWD}/x",
            "$(git rev-parse --abbrev-ref HEAD)",
            "${{ secrets.LOCK_TABLE }}",
            "var.tokens",
            "data.aws_kms_key.state.arn",
            "data.aws_secretsmanager_secret_version.t.arn",
            "module.password_policy.table",
            "local.lock_key",
            "docker run -u 1000 x",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn what_is_assigned_to_a_secrets_name_is_cut_out() {
        let text = |text: &str| without_credentials(text.to_owned());
        assert_eq!(text("https://h/x?X-Amz-Signature=abc&a=b#c"), "https://h/x?X-Amz-Signature=***&a=b#c");
        assert_eq!(text("aws_secret_access_key=abc d=e"), "aws_secret_access_key=*** d=e");
        assert_eq!(text("password = \"abc\", x = \"y\""), "password = \"***\", x = \"y\"");
        assert_eq!(text("https://u:p@h/?token=a"), "https://***@h/?token=***");
        for plain in ["key=a", "é=ü", "var.token == null", "token=", "a=b=c", "=x", "lock_key = \"k\""] {
            assert_eq!(text(plain), plain);
        }
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
            ("db_password = \"s3cr3t\"", "db_password = (not shown: it names a secret)"),
            ("git clone https://x ghp_s3cr3t", NOT_SHOWN),
        ] {
            assert_eq!(without_secret_values(line), shown);
        }
    }
}
