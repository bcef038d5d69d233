//! `lockshift man`: the manual pages, made from the same table as the help.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use super::failure::Failure;
use super::{Outcome, output};

/// Print a manual page, or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  lockshift man | man -l -
  lockshift man policy decide | man -l -
  lockshift man --dir /usr/local/share/man/man1")]
pub(super) struct Args {
    /// A command; without one, the page of lockshift itself.
    #[arg(value_name = "COMMAND", num_args = 0..)]
    command: Vec<String>,
    /// Write the pages of lockshift and of every command into this directory; it is made where it is missing.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Prints one page as roff, or writes all of them.
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut program = super::command();
    // Fills in what subcommands inherit: global options, and their full names.
    program.build();
    if let Some(dir) = &args.dir {
        output::make_dir("--dir", dir)?;
        write_all(&program, "lockshift", dir)?;
        return Ok(Outcome::Clean);
    }
    let (mut wanted, mut path) = (&program, String::from("lockshift"));
    for name in &args.command {
        let Some(command) = wanted.find_subcommand(name) else {
            let known: Vec<&str> = pages_below(wanted).map(Command::get_name).collect();
            let failure = Failure::new(format!("no command is called `{name}`"));
            let short: String = name.chars().take(64).collect();
            if let Some(near) = similar::get_close_matches(short.as_str(), &known, 1, 0.6).first() {
                return Err(failure.help(format!("did you mean `{near}`?")));
            }
            return Err(match known.as_slice() {
                [] => failure.help(format!("`{}` has no commands of its own", path.replace('-', " "))),
                known => failure.help(format!("commands are {}", known.join(", "))),
            });
        };
        wanted = command;
        path = format!("{path}-{name}");
    }
    output::write(&String::from_utf8_lossy(&page(wanted)))?;
    Ok(Outcome::Clean)
}

/// Writes a command's page and those of the commands below it: `lockshift-policy-decide.1`.
fn write_all(command: &Command, name: &str, dir: &Path) -> Result<(), Failure> {
    output::write_file(&page(command), "--dir", &dir.join(format!("{name}.1")))?;
    for below in pages_below(command) {
        write_all(below, &format!("{name}-{}", below.get_name()), dir)?;
    }
    Ok(())
}

/// The commands that have a page; clap's own `help` has none.
fn pages_below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set())
}

/// Everything outside of ASCII as groff's escape: what a formatter takes other bytes for hangs on its locale.
fn ascii(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for c in page.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            c => out.push_str(&format!("\\[u{:04X}]", u32::from(c))),
        }
    }
    out
}

fn page(command: &Command) -> Vec<u8> {
    let mut roff = Vec::new();
    // Writing to memory can't fail.
    let _ =
        Man::new(command.clone()).source(concat!("lockshift ", env!("CARGO_PKG_VERSION"))).render(&mut roff);
    ascii(&String::from_utf8_lossy(&roff)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_ascii_and_keeps_its_words() {
        assert_eq!(ascii("a … é \u{1f512}"), "a \\[u2026] \\[u00E9] \\[u1F512]");
        let mut program = crate::cli::command();
        program.build();
        let mut left = vec![&program];
        let (mut pages, mut escaped) = (0, 0);
        while let Some(command) = left.pop() {
            let page = String::from_utf8(page(command)).unwrap();
            assert!(page.is_ascii(), "{}", command.get_name());
            pages += 1;
            escaped += usize::from(page.contains("s3://\\[u2026]"));
            left.extend(pages_below(command));
        }
        assert_eq!((pages, escaped), (11, 2), "unlock and watch speak of `s3://…`");
    }
}
