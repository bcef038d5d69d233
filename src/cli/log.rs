//! `--verbose` and LOCKSHIFT_LOG: which files are read, programs run and requests sent, as lines on stderr. Without
//! them nothing listens, and an event costs one comparison. No line holds a credential, whatever the filter says.

use std::ffi::OsString;
use std::io::{self, Write};
use std::str::FromStr;

use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{FilterFn, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::failure::Failure;
use crate::repo::secret::without_credentials;
use crate::report::words::visible;

/// The variable that says more exactly than `--verbose` what to say.
pub(super) const VARIABLE: &str = "LOCKSHIFT_LOG";

/// Our own events.
const OWN: &str = env!("CARGO_PKG_NAME");

/// Words of which one in a line is enough to leave it out. The SDK writes secret keys as `** redacted **` already;
/// this holds for headers and for whatever a later version might say.
const CREDENTIALS: &[&str] = &[
    "authorization",
    "signature",
    "security-token",
    "access_key",
    "accesskey",
    "secret",
    "session_token",
    "sessiontoken",
    "password",
    "external_id",
    "externalid",
];

/// Starts to listen where something was asked for.
///
/// # Errors
/// A filter that can't be read.
pub(super) fn start(verbose: u8) -> Result<(), Failure> {
    let Some(wanted) = wanted(verbose, std::env::var_os(VARIABLE))? else { return Ok(()) };
    let lines = fmt::layer().without_time().with_ansi(false).with_writer(Lines);
    // Only a second call in one process can fail here; the first one listens already.
    let _ = tracing_subscriber::registry()
        .with(wanted)
        .with(FilterFn::new(may_be_said).with_max_level_hint(LevelFilter::TRACE))
        .with(lines)
        .try_init();
    Ok(())
}

/// What to listen to: the variable decides where it is set, then how often `-v` was given.
fn wanted(verbose: u8, variable: Option<OsString>) -> Result<Option<Targets>, Failure> {
    if let Some(text) = variable.filter(|text| !text.is_empty()) {
        let text = text.to_string_lossy();
        return match Targets::from_str(&text) {
            Ok(targets) => {
                if let Some(note) = names_nothing(&text) {
                    super::output::to_stderr(&format!("note: {note}\n"));
                }
                Ok(Some(targets))
            }
            Err(error) => Err(Failure::new(format!("{VARIABLE}: `{text}` is no filter: {error}")).help(
                "write a level (error, warn, info, debug, trace), or a list such as \
                 `lockshift=debug,aws_config=info`",
            )),
        };
    }
    Ok(match verbose {
        0 => None,
        1 => Some(Targets::new().with_target(OWN, LevelFilter::INFO)),
        _ => Some(Targets::new().with_default(LevelFilter::DEBUG)),
    })
}

/// Words that a filter may name beside our own and those with `_` in them: crates that the SDK sends with.
const OTHERS: &[&str] = &["h2", "hyper", "rustls", "tower", "globset", "ignore"];

/// What a filter says of a part that nobody has: a mistyped level is taken for the name of one, and nothing is said at all.
fn names_nothing(filter: &str) -> Option<String> {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let words = filter.split(',').map(|part| part.split(['=', '[']).next().unwrap_or_default().trim());
    let unknown = |word: &&str| {
        let first = word.split("::").next().unwrap_or_default();
        let known = first.is_empty() || first == OWN || first.contains('_') || OTHERS.contains(&first);
        let level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word)) || word.parse::<u8>().is_ok();
        !known && !level
    };
    let word = words.into_iter().find(unknown)?;
    let short: String = word.to_lowercase().chars().take(64).collect();
    let known: Vec<&str> = LEVELS.into_iter().chain([OWN]).collect();
    Some(match similar::get_close_matches(short.as_str(), &known, 1, 0.6).first() {
        Some(near) => format!(
            "{VARIABLE}: no part is called `{word}`, so nothing is said of it; did you mean `{near}`?"
        ),
        None => format!(
            "{VARIABLE}: no part is called `{word}`, so nothing is said of it; levels are {}",
            LEVELS.join(", ")
        ),
    })
}

/// Others' events only down to `debug`: below that the SDK writes whole requests and answers.
fn may_be_said(of: &Metadata<'_>) -> bool {
    of.target().split("::").next() == Some(OWN) || *of.level() <= Level::DEBUG
}

/// Writes each event as one line.
struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line
    }
}

/// One event's line, made safe to show.
struct Line;

impl Write for Line {
    /// The subscriber hands over an event in one piece.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = harmless(String::from_utf8_lossy(event).trim_end());
        super::output::to_stderr(&format!("{line}\n"));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line without credentials, control characters and line breaks.
fn harmless(line: &str) -> String {
    let lower = line.to_lowercase();
    if CREDENTIALS.iter().any(|word| lower.contains(word)) {
        let level: String = line.trim_start().chars().take_while(char::is_ascii_uppercase).collect();
        return format!("{level:>5} (left out: it could hold a credential)");
    }
    visible(&without_credentials(line.to_owned())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(verbose: u8, variable: &str) -> Option<String> {
        let targets = wanted(verbose, Some(variable.into())).unwrap();
        targets.map(|targets| targets.to_string())
    }

    #[test]
    fn the_variable_wins_over_the_flag() {
        assert_eq!(filter(0, ""), None);
        assert_eq!(filter(1, "").as_deref(), Some("lockshift=info"));
        assert_eq!(filter(2, "").as_deref(), Some("debug"));
        assert_eq!(filter(9, "lockshift=warn").as_deref(), Some("lockshift=warn"));
        let failure = wanted(0, Some("lockshift=loud".into())).unwrap_err().shown(false);
        assert!(failure.starts_with("error: LOCKSHIFT_LOG: `lockshift=loud` is no filter: "), "{failure}");
        assert!(failure.contains("help: write a level"), "{failure}");
    }

    #[test]
    fn a_mistyped_level_is_told() {
        let near = |word: &str, near: &str| {
            Some(format!(
                "LOCKSHIFT_LOG: no part is called `{word}`, so nothing is said of it; did you mean `{near}`?"
            ))
        };
        assert_eq!(names_nothing("trcae"), near("trcae", "trace"));
        assert_eq!(names_nothing("info,lockshfit=debug"), near("lockshfit", "lockshift"));
        assert!(
            names_nothing("verbose").unwrap().ends_with("; levels are error, warn, info, debug, trace, off")
        );
        for right in
            ["trace", "DEBUG", "5", "lockshift=debug,aws_config=info", "lockshift::repo", "hyper=info", ""]
        {
            assert_eq!(names_nothing(right), None, "{right}");
        }
    }

    #[test]
    fn no_line_holds_a_credential_or_drives_the_terminal() {
        let left_out = "DEBUG (left out: it could hold a credential)";
        assert_eq!(harmless("DEBUG aws: headers Authorization: AWS4-HMAC-SHA256 hunter2"), left_out);
        assert_eq!(harmless("DEBUG x: Credentials { access_key_id: \"AKIA\" }"), left_out);
        assert_eq!(harmless(" INFO a: https://me:hunter2@host/"), " INFO a: https://***@host/");
        assert_eq!(harmless("INFO a: \u{1b}[2J\nINFO b"), "INFO a: \\u{1b}[2J\\nINFO b");
    }
}
