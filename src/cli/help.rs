//! What clap's own errors leave out: the values of an argument that is missing, and a command that was mistyped where a
//! path may stand.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What to say below an error, where there is more to say.
pub(super) fn beside(error: &clap::Error, args: &[OsString]) -> Option<String> {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let program = super::command();
    let command = words.iter().find_map(|word| program.find_subcommand(word))?;
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
                return None;
            };
            missing.iter().find_map(|shown| values(command, shown))
        }
        ErrorKind::UnknownArgument => {
            let below = words.iter().position(|word| *word == command.get_name())?;
            let near = mistyped(command, words.get(below + 1)?)?;
            let meant = ["lockshift", command.get_name(), &near].join(" ");
            Some(format!("did you mean `{meant}`?"))
        }
        _ => None,
    }
}

/// The values of an argument that clap shows as `--phase <PHASE>`.
fn values(command: &Command, shown: &str) -> Option<String> {
    let long = shown.strip_prefix("--")?.split([' ', '=']).next()?;
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long))?;
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), help.to_string().trim_end_matches('.')),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    (!values.is_empty()).then(|| format!("--{long} takes {}", values.join(", ")))
}

/// The command below `command` that a word was probably meant to be.
pub(super) fn mistyped(command: &Command, word: &str) -> Option<String> {
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let short: String = word.chars().take(64).collect();
    let near = similar::get_close_matches(short.as_str(), &names, 1, 0.7);
    near.first().filter(|near| **near != word).map(|near| (*near).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<String> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        beside(&crate::cli::command().try_get_matches_from(&args).unwrap_err(), &args)
    }

    #[test]
    fn what_is_missing_is_listed_with_its_meaning() {
        assert_eq!(
            said("lockshift migrate").unwrap(),
            "--phase takes `dual` (Both locks: old and new clients exclude each other), `final` (The lockfile alone), \
             `rollback` (One step back: lockfile to both, both to DynamoDB alone)"
        );
        assert_eq!(said("lockshift watch"), None);
    }

    #[test]
    fn a_mistyped_command_is_told_from_a_path() {
        assert_eq!(
            said("lockshift policy decid --batch x").unwrap(),
            "did you mean `lockshift policy decide`?"
        );
        assert_eq!(said("lockshift policy envs --batch x"), None);
        assert_eq!(said("lockshift policy decide --bach x"), None);
    }
}
