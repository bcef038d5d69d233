//! The exact commands that release a lock or mend a digest. Names, IDs and documents come from servers: every word is
//! quoted for a POSIX shell, and no control character is ever printed raw.

use std::fmt::Write as _;

use super::case::{Case, Held};
use super::world::s3;
use crate::audit::expected::ExpectedState;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::TableSnapshot;
use crate::repo::inventory::{Engine, LockMode};

/// A word for a shell: plain where it can be, in single quotes, or in `$'…'` where it holds characters that a terminal
/// would obey or that turn the text's direction.
pub(super) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    if !text.contains(is_odd) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut out = "$'".to_owned();
    for c in text.chars() {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            c if is_odd(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Octal ends after three digits; hexadecimal would run on into the next letter.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Whether a character had better not reach a terminal.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The commands that release the locks on a state: the engine's own where it can do it, then ours, which compares both
/// stores first.
pub(super) fn release(case: &Case<'_>) -> Vec<String> {
    let mut commands = Vec::new();
    let ids = ids(case);
    let reaches = |held: &Held<'_>| match case.mode {
        LockMode::Dual => true,
        LockMode::Lockfile => held.table.is_none(),
        LockMode::Dynamodb => held.table.is_some(),
        LockMode::None | LockMode::Unknown => false,
    };
    let mut own: Vec<&str> = case.held().filter(|held| reaches(held)).filter_map(Held::id).collect();
    own.dedup();
    if let Some((state, workspace)) = case.states.first().filter(|_| !own.is_empty()) {
        if *workspace != "default" {
            commands.push(engine(state, &["workspace", "select", &after_flags(workspace)]));
        }
        commands.extend(own.iter().map(|id| engine(state, &["force-unlock", &after_flags(id)])));
    }
    let url = word(&s3(case.bucket_name, case.path));
    for (id, only) in ids {
        // A lock on one side, or another on each: the side has to be named.
        let only = only.map(|side| format!(" --only {side}")).unwrap_or_default();
        commands.push(match id {
            Some(id) if id.starts_with('-') => format!("lockshift unlock {url} --id={}{only}", word(id)),
            Some(id) => format!("lockshift unlock {url} --id {}{only}", word(id)),
            None => format!("lockshift unlock {url} --unreadable{only}"),
        });
    }
    commands
}

/// An argument that could look like a flag is put after `--`.
fn after_flags(argument: &str) -> String {
    if argument.starts_with('-') { format!("-- {}", word(argument)) } else { word(argument) }
}

/// Each lock to release: its ID, and the side when it must be said.
fn ids<'a>(case: &Case<'a>) -> Vec<(Option<&'a str>, Option<&'static str>)> {
    match (case.s3.held().map(Held::id), case.dynamodb.held().map(Held::id)) {
        (Some(Some(s3)), Some(Some(item))) if s3 == item => vec![(Some(s3), None)],
        (s3, item) => {
            let s3 = s3.map(|id| (id, Some("s3")));
            s3.into_iter().chain(item.map(|id| (id, Some("dynamodb")))).collect()
        }
    }
}

/// A command of the program that reads this root module. The arguments are quoted already.
fn engine(state: &ExpectedState, arguments: &[&str]) -> String {
    let arguments = arguments.join(" ");
    if state.place.file.ends_with(".hcl") {
        // Only Terragrunt writes its settings in such a file; it runs Terraform in a directory of its own.
        return format!("(cd {} && terragrunt {arguments})", word(&state.root));
    }
    let program = if state.engine == Engine::OpenTofu { "tofu" } else { "terraform" };
    if state.root == "." {
        return format!("{program} {arguments}");
    }
    format!("{program} -chdir={} {arguments}", word(&state.root))
}

/// The command that deletes a lock which no program can name, on condition that it is still the same.
pub(super) fn delete_unreadable(case: &Case<'_>, held: &Held<'_>) -> Option<String> {
    if let Some(object) = held.object {
        let etag = object.etag.as_deref()?;
        return Some(format!(
            "aws s3api delete-object --bucket {} --key {} --if-match {}",
            word(case.bucket_name),
            word(&object.key),
            word(etag)
        ));
    }
    let table = held.table?;
    let lock_id = format!("{}/{}", case.bucket_name, case.path);
    let (condition, values) = match held.body {
        None => ("attribute_not_exists(Info)".to_owned(), String::new()),
        Some(LockBody::Empty) => return None,
        Some(body) => {
            let values = serde_json::json!({ ":seen": { "S": body.text()? } }).to_string();
            ("Info = :seen".to_owned(), format!(" --expression-attribute-values {}", word(&values)))
        }
    };
    Some(format!("{} --condition-expression {}{values}", delete_item(table, &lock_id), word(&condition)))
}

/// The command that deletes a digest, on condition that it is still the one that was seen.
pub(super) fn delete_digest(table: &TableSnapshot, lock_id: &str, seen: Option<&str>) -> String {
    let command = delete_item(table, lock_id);
    match seen {
        None => command,
        Some(seen) => {
            let values = serde_json::json!({ ":seen": { "S": seen } }).to_string();
            format!(
                "{command} --condition-expression 'Digest = :seen' --expression-attribute-values {}",
                word(&values)
            )
        }
    }
}

fn delete_item(table: &TableSnapshot, lock_id: &str) -> String {
    let key = serde_json::json!({ "LockID": { "S": lock_id } }).to_string();
    let option = |name: &str, value: Option<&str>| {
        value.map(|value| format!(" --{name} {}", word(value))).unwrap_or_default()
    };
    format!(
        "aws dynamodb delete-item --table-name {}{}{} --key {}",
        word(&table.name),
        option("region", table.region.as_deref()),
        option("endpoint-url", table.endpoint.as_deref()),
        word(&key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (text, quoted) in [
            ("envs/prod", "envs/prod"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("\"e-tag\"", "'\"e-tag\"'"),
            ("a\u{1b}[31m'b\\c", "$'a\\033[31m\\'b\\\\c'"),
            ("x\ny", "$'x\\012y'"),
            ("r\u{202e}l", "$'r\\342\\200\\256l'"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }

    #[test]
    #[cfg(unix)]
    fn bash_reads_back_what_was_quoted() {
        for text in ["plain", "a b'c\"d\\e", "\u{1b}[0m\t\n'x", "grün $HOME `id` !!", "\u{202e}9"] {
            let script = format!("printf %s {}", word(text));
            let out = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
        }
    }
}
