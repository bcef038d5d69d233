//! `lockshift policy`: what policies around a lock say. One file per subcommand.

mod decide;

use super::Outcome;
use super::failure::Failure;
use super::output::Terminal;

/// Say what AWS policies allow around a lock
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Decide(Box<decide::Args>),
}

/// Runs the subcommand.
pub(super) fn run(args: &Args, _terminal: Terminal) -> Result<Outcome, Failure> {
    match &args.command {
        Some(Command::Decide(args)) => decide::run(args),
        None => Err(Failure::new("`lockshift policy` needs a subcommand")
            .help("`lockshift policy decide --help` says how to decide requests")),
    }
}
