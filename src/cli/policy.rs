//! `lockshift policy`: the policies that locks need, and what policies say. One file per subcommand.

mod decide;
mod documents;
mod recommend;
mod said;
mod wanted;

use super::Outcome;
use super::failure::Failure;
use super::output::Terminal;

/// Write the bucket and IAM policies that the states here need
///
/// For every bucket that a backend names: the bucket policy (the present one's statements stay), and policies for
/// the roles that apply, plan, release stuck locks and audit. Each is proven by deciding requests before it is written.
/// Touches no network and applies nothing.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = recommend::MORE)]
pub(super) struct Args {
    #[command(flatten)]
    recommend: Box<wanted::Args>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Decide(Box<decide::Args>),
}

/// Runs the subcommand; without one, recommends.
pub(super) fn run(args: &Args, _terminal: Terminal) -> Result<Outcome, Failure> {
    match &args.command {
        Some(Command::Decide(args)) => decide::run(args),
        None => recommend::run(&args.recommend),
    }
}
