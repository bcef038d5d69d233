//! One file per command: arguments, and the few lines that join the rooms below. What may come in: command lines. The only
//! room that prints, reads the environment and knows exit codes.

mod audit;
mod audit_file;
mod completions;
mod explain;
mod fail_on;
mod failure;
mod help;
mod log;
mod man;
mod migrate;
mod names;
mod output;
mod past;
mod policy;
mod progress;
mod reach;
mod rule_id;
mod scan;
mod tree;
mod unlock;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::migrate::program;
use crate::report::html::Ends;
use failure::Failure;
use output::{Colour, Terminal};

/// What `--help` says of exit codes; the same for every command.
const EXIT_CODES: &str = "\
Exit codes:
  0  everything was read, and no finding reaches --fail-on
  1  findings reach --fail-on
  2  could not run: usage, configuration, nothing to look at
  3  something could not be read or judged, and no finding decides otherwise";

/// The variable that says how many seconds `git` has for an answer.
const GIT_TIMEOUT: &str = "LOCKSHIFT_GIT_TIMEOUT";

/// What a bare `lockshift` says: where to go next.
const WELCOME: &str = "\
Move Terraform, OpenTofu and Terragrunt state locking from DynamoDB to S3's own lockfile.

  lockshift scan          what every root module here really uses
  lockshift migrate       edits towards the lockfile: `--phase dual` first
  lockshift unlock        release a lock that nobody holds any more, on condition
  lockshift audit         what DynamoDB and S3 hold: stale, split and missing locks
  lockshift policy        the bucket and IAM policies that these states need
  lockshift explain       all rules; `lockshift explain ID` says what to do about one
  lockshift --help        everything else
";

/// Move Terraform, OpenTofu and Terragrunt state locking from DynamoDB to S3's own lockfile.
#[derive(Debug, Parser)]
#[command(name = "lockshift", version, after_help = EXIT_CODES)]
struct Cli {
    /// When to colour the output. NO_COLOR and CLICOLOR_FORCE are respected.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Colour,
    /// Say on stderr which files are read, programs run and requests sent; -vv says more. LOCKSHIFT_LOG takes a filter.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Scan(scan::Args),
    Migrate(migrate::Args),
    Unlock(Box<unlock::Args>),
    Watch(Box<watch::Args>),
    Audit(Box<audit::Args>),
    Policy(policy::Args),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// How a command ended that could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All was read, and nothing reaches `--fail-on`.
    Clean,
    /// Findings reach it; changes are pending, or refused.
    Findings,
    /// Something could not be read or judged.
    Unjudged,
}

impl From<Outcome> for Ends {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Clean => Self::Clean,
            Outcome::Findings => Self::Findings,
            Outcome::Unjudged => Self::Unjudged,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(match outcome {
            Outcome::Clean => 0,
            Outcome::Findings => 1,
            Outcome::Unjudged => 3,
        })
    }
}

/// The exit code of everything that could not run.
const COULD_NOT_RUN: u8 = 2;

/// Runs the command that `args` (the program's name first) ask for. All errors are printed here and nowhere else.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let wanted = Colour::wanted_by(&args);
    let parsed = command().color(wanted.into()).try_get_matches_from(&args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // clap's own errors, and help and version, which it hands over as errors.
        Err(error) => {
            if let Err(failure) = output::said(error.print()) {
                output::to_stderr(&failure.shown(false));
                return ExitCode::from(COULD_NOT_RUN);
            }
            if let Some(help) = help::beside(&error, &args) {
                output::to_stderr(&format!("help: {help}\n"));
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(COULD_NOT_RUN));
        }
    };
    let terminal = Terminal::new(cli.color);
    let Some(command) = cli.command else {
        // Never 0: a pipeline whose arguments came out empty must not look as if it had checked anything.
        output::to_stderr(WELCOME);
        return ExitCode::from(COULD_NOT_RUN);
    };
    let ran = log::start(cli.verbose).and_then(|()| limit_git()).and_then(|()| match command {
        Command::Scan(args) => scan::run(&args, terminal),
        Command::Migrate(args) => migrate::run(&args, terminal),
        Command::Unlock(args) => unlock::run(&args, terminal),
        Command::Watch(args) => watch::run(&args, terminal),
        Command::Audit(args) => audit::run(&args, terminal),
        Command::Policy(args) => policy::run(&args, terminal),
        Command::Explain(args) => explain::run(&args, terminal),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    });
    match ran {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            output::to_stderr(&failure.shown(terminal.colour_stderr));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// How long `git` may take for an answer, where the environment says it.
fn limit_git() -> Result<(), Failure> {
    let Some(text) = std::env::var_os(GIT_TIMEOUT).filter(|text| !text.is_empty()) else { return Ok(()) };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
    let seconds: u32 = seconds.ok_or_else(|| {
        Failure::new(format!("{GIT_TIMEOUT}: `{}` is no number of seconds", text.to_string_lossy()))
            .help("write how long git may take for an answer, or leave it out: 120")
    })?;
    program::set_limit(Duration::from_secs(seconds.into()));
    Ok(())
}

/// A number that no other run has: for keys that must not be anybody's.
fn nonce() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    nanos ^ u64::from(std::process::id()).rotate_left(32)
}

/// The whole command line as clap knows it: help, completions and the man page come from this one table, and the
/// commands in `docs/` are held against it.
pub fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_sound() {
        super::command().debug_assert();
    }
}
