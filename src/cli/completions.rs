//! `lockshift completions`: what a shell needs to complete the command line.

use clap_complete::Shell;

use super::failure::Failure;
use super::{Outcome, output};
use crate::rules;

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
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Fish {
        // The generator offers fish nothing for arguments without a flag.
        let ids: Vec<&str> = rules::all().iter().map(|rule| rule.id).collect();
        let on = "complete -c lockshift -n \"__fish_lockshift_using_subcommand explain\"";
        script.push_str(&format!("{on} -f -a \"{}\"\n", ids.join(" ")));
    }
    output::write(&script)?;
    Ok(Outcome::Clean)
}
