//! Where text goes: stdout carries the result alone, stderr everything said about the run. A closed pipe is no error.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{ColorChoice, ValueEnum};

use super::failure::Failure;
use crate::repo::link::{self, Link};

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Colour {
    /// On a terminal that can show it.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl Colour {
    /// What `--color` says, before anything is parsed: help and usage errors want to know, too.
    pub fn wanted_by(args: &[OsString]) -> Self {
        let mut values =
            args.iter().enumerate().filter_map(|(n, arg)| match arg.to_str()?.strip_prefix("--color")? {
                "" => args.get(n + 1).and_then(|next| next.to_str()),
                glued => glued.strip_prefix('='),
            });
        values.next_back().and_then(|value| Colour::from_str(value, false).ok()).unwrap_or_default()
    }

    /// Whether to colour a stream. The flag decides, then NO_COLOR (no-color.org), then CLICOLOR_FORCE and CLICOLOR
    /// (bixense.com/clicolors), then whether it is a terminal that knows colours.
    fn on(self, is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto if set("NO_COLOR").is_some() => false,
            Colour::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Colour::Auto => {
                is_terminal
                    && set("CLICOLOR").is_none_or(|value| value != "0")
                    && set("TERM").is_none_or(|value| value != OsStr::new("dumb"))
            }
        }
    }
}

impl From<Colour> for ColorChoice {
    fn from(colour: Colour) -> Self {
        match colour {
            Colour::Auto => ColorChoice::Auto,
            Colour::Always => ColorChoice::Always,
            Colour::Never => ColorChoice::Never,
        }
    }
}

/// What is known of the two streams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    /// What was asked for.
    pub colour: Colour,
    /// Whether to colour stdout.
    pub colour_stdout: bool,
    /// Whether to colour stderr.
    pub colour_stderr: bool,
    /// Width of the terminal that stdout is; none where it is not one.
    pub width: Option<u16>,
}

impl Terminal {
    /// Looks at the streams and the environment, once.
    pub fn new(colour: Colour) -> Self {
        let variable = |name: &str| std::env::var_os(name);
        Self {
            colour,
            colour_stdout: colour.on(io::stdout().is_terminal(), variable),
            colour_stderr: colour.on(io::stderr().is_terminal(), variable),
            width: width(
                io::stdout().is_terminal(),
                variable("COLUMNS"),
                // An empty table measures the terminal as a full one would.
                comfy_table::Table::new().width(),
            ),
        }
    }

    /// The same for a file: no width, and colour only when it was asked for in so many words.
    fn for_file(self) -> Self {
        Self { colour_stdout: self.colour == Colour::Always, width: None, ..self }
    }
}

/// The width to lay out for; none where stdout is no terminal: then nothing is cut. COLUMNS wins over what the terminal
/// says, and one that says nothing (0) is taken to be as wide as terminals used to be.
fn width(is_terminal: bool, columns: Option<OsString>, measured: Option<u16>) -> Option<u16> {
    let asked = columns.and_then(|text| text.to_str()?.parse().ok());
    let wide = |width: &u16| *width > 0;
    is_terminal.then(|| asked.filter(wide).or(measured.filter(wide)).unwrap_or(80))
}

/// Where the result goes.
#[derive(Debug, clap::Args)]
pub(super) struct OutArgs {
    /// Write the result to a file instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutArgs {
    /// Writes the result to stdout, or to the file that `--output` names.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        self.write_bytes(text.as_bytes())
    }

    /// [`OutArgs::write`] for what need not be UTF-8: a diff has the bytes of its files.
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_with(|to| to.write_all(bytes))
    }

    /// [`OutArgs::write`] for a text in parts: a long one need not be put together first.
    pub fn write_with(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let Some(path) = &self.output else {
            return said(buffered(io::stdout().lock(), write));
        };
        no_link("--output", path)?;
        let written = std::fs::File::create(path).and_then(|file| buffered(file, write));
        written.map_err(|error| unwritable("--output", path, &error))
    }

    /// Whether the file can be written, where one is named.
    pub fn writable(&self) -> Result<(), Failure> {
        self.output.as_deref().map_or(Ok(()), |path| writable("--output", path))
    }

    /// What the result is laid out for.
    pub fn terminal(&self, terminal: Terminal) -> Terminal {
        if self.output.is_some() { terminal.for_file() } else { terminal }
    }
}

/// Writes to stdout, for a command that knows no `--output`.
pub(super) fn write(text: &str) -> Result<(), Failure> {
    said(buffered(io::stdout().lock(), |to| to.write_all(text.as_bytes())))
}

/// What writing to stdout came to. Nobody may listen any more (`| head`): the exit code still says what was found.
pub(super) fn said(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("could not write the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes the file that `flag` names.
pub(super) fn write_file(bytes: &[u8], flag: &str, path: &Path) -> Result<(), Failure> {
    no_link(flag, path)?;
    std::fs::write(path, bytes).map_err(|error| unwritable(flag, path, &error))
}

/// Whether the file that `flag` names can be written; changes nothing. A pipe or a device is not tried: whoever reads it
/// would see its end.
pub(super) fn writable(flag: &str, path: &Path) -> Result<(), Failure> {
    no_link(flag, path)?;
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(());
    }
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| unwritable(flag, path, &error))?;
    if there.is_none() {
        // An empty file would look like a result where the run then fails.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// A link may have been put there by the repository, on the way or at the end, and would have something written where
/// nobody said. Elsewhere only a link to a file, or to nothing yet, is refused. `/dev/stdout` is a link, too.
pub(super) fn no_link(flag: &str, path: &Path) -> Result<(), Failure> {
    let (shown, help) = (path.display(), format!("name with `{flag}` the place itself, or another one"));
    if let Some(Link { path: link, target }) = link::on_the_way(path) {
        let what = if link == path { "it".to_owned() } else { format!("`{}`", link.display()) };
        let target = target.display();
        return Err(Failure::new(format!("could not write {shown}: {what} is a link to {target}")).help(help));
    }
    let Ok(target) = std::fs::read_link(path) else { return Ok(()) };
    if link::is_the_system_s(path) || std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(());
    }
    Err(Failure::new(format!("could not write {shown}: it is a link to {}", target.display())).help(help))
}

/// Makes the directory that `flag` names, where it is missing.
pub(super) fn make_dir(flag: &str, dir: &Path) -> Result<(), Failure> {
    no_link(flag, dir)?;
    std::fs::create_dir_all(dir)
        .map_err(|error| Failure::new(format!("could not make {}: {error}", dir.display())))
}

fn unwritable(flag: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::new(format!("could not write {}: {error}", path.display()));
    match what_to_do(error.kind()) {
        Some(help) => failure.help(format!("`{flag}` takes {help}")),
        None => failure,
    }
}

/// What can be written to, where the reason says what is wrong with a path; the reason itself is all there is to say of a
/// disk that breaks.
fn what_to_do(reason: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as Kind;
    match reason {
        Kind::NotFound | Kind::NotADirectory => Some("a file in a directory that exists"),
        Kind::IsADirectory => Some("a file, not a directory: name a file in it"),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Some("a file where you may write"),
        Kind::StorageFull | Kind::QuotaExceeded => {
            Some("a file where there is room: make some, or name another place")
        }
        _ => None,
    }
}

fn buffered(to: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut to = io::BufWriter::new(to);
    write(&mut to)?;
    to.flush()
}

/// Says something about the run. When stderr is gone there is nobody left to tell.
pub(super) fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(colour: Colour, terminal: bool, set: &[(&str, &str)]) -> bool {
        colour.on(terminal, |name| set.iter().find(|(have, _)| *have == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn the_flag_wins_then_no_color_then_force_then_the_terminal() {
        assert!(on(Colour::Always, false, &[("NO_COLOR", "1")]));
        assert!(!on(Colour::Never, true, &[("CLICOLOR_FORCE", "1")]));
        assert!(!on(Colour::Auto, true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(on(Colour::Auto, true, &[("NO_COLOR", "")]));
        assert!(on(Colour::Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!on(Colour::Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!on(Colour::Auto, true, &[("CLICOLOR", "0")]));
        assert!(!on(Colour::Auto, true, &[("TERM", "dumb")]));
        assert!(on(Colour::Auto, true, &[]));
        assert!(!on(Colour::Auto, false, &[]));
    }

    #[test]
    fn the_width_is_asked_for_measured_or_usual_and_only_a_terminals() {
        let of = |columns: &str, measured| width(true, Some(columns.into()), measured);
        assert_eq!(of("40", Some(120)), Some(40));
        assert_eq!(of("0", Some(120)), Some(120));
        assert_eq!(of("wide", None), Some(80));
        assert_eq!(width(true, None, Some(0)), Some(80));
        assert_eq!(width(false, Some("40".into()), None), None);
    }

    #[test]
    fn the_flag_is_seen_before_parsing() {
        let wanted = |args: &[&str]| Colour::wanted_by(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(wanted(&["lockshift", "--color", "never", "--help"]), Colour::Never);
        assert_eq!(wanted(&["lockshift", "scan", "--color=always"]), Colour::Always);
        assert_eq!(wanted(&["lockshift", "--color"]), Colour::Auto);
        assert_eq!(wanted(&["lockshift", "--color=pink"]), Colour::Auto);
    }
}
