//! `lockshift man`: the manual page, made from the same table as the help.

use clap_mangen::Man;

use super::failure::Failure;
use super::{Outcome, output};

/// Print the manual page
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A command; without one, the page of lockshift itself.
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints it as roff: `lockshift man | man -l -`.
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut program = super::command();
    // Fills in what subcommands inherit: global options, and their full names.
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let known: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
                let short: String = name.chars().take(64).collect();
                let help = match similar::get_close_matches(short.as_str(), &known, 1, 0.6).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("commands are {}", known.join(", ")),
                };
                return Err(Failure::new(format!("no command is called `{name}`")).help(help));
            }
        },
    };
    let mut roff = Vec::new();
    // Writing to memory can't fail.
    let _ = Man::new(page).source(concat!("lockshift ", env!("CARGO_PKG_VERSION"))).render(&mut roff);
    output::write(&String::from_utf8_lossy(&roff), None)?;
    Ok(Outcome::Clean)
}
