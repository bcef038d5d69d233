//! `lockshift completions`: what a shell needs to complete the command line.

use clap_complete::Shell;

use super::failure::Failure;
use super::{Outcome, output};

/// Print a shell's completions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lockshift completions bash > ~/.local/share/bash-completion/completions/lockshift
  lockshift completions zsh > ~/.zfunc/_lockshift
  lockshift completions fish > ~/.config/fish/completions/lockshift.fish")]
pub(super) struct Args {
    /// Which shell.
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Prints them.
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "lockshift", &mut script);
    output::write(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Clean)
}
