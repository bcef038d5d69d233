//! What of a repository is read, and by which `lockshift.toml`: the flags that every command shares which scans, and
//! the scan itself with its progress and its errors.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::progress::Line;
use crate::config::Config;
use crate::repo::bounded;
use crate::repo::inventory::Inventory;
use crate::repo::scan::{ScanError, ScanOptions, Silent, scan};
use crate::repo::shown::Home;
use crate::repo::walk::{WalkOptions, walk};

/// What of the repository is read. A command can give what is left out a heading of its own; paths and threads stand
/// with its arguments and general options in any case.
#[derive(Debug, Default, clap::Args)]
pub(super) struct TreeArgs {
    /// Directories or files [default: the current directory].
    #[arg(value_name = "PATH", help_heading = None)]
    pub paths: Vec<PathBuf>,
    /// Leave out paths that match this glob (repeatable).
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Look into what git ignores, too.
    #[arg(long)]
    no_ignore: bool,
    /// Threads for reading the repository [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = None)]
    threads: Option<u16>,
}

impl TreeArgs {
    /// Everything below these paths that the configuration does not leave out.
    pub fn of(paths: &[PathBuf]) -> Self {
        Self { paths: paths.to_vec(), ..Self::default() }
    }

    /// What to look at, by flags and configuration together.
    pub fn options(&self, config: &Config) -> ScanOptions {
        ScanOptions {
            paths: self.paths.clone(),
            exclude: self.exclude.iter().cloned().chain(config.shown_excludes()).collect(),
            no_ignore: self.no_ignore,
            // The threads that `start_threads` started.
            threads: None,
            engine: None,
            base: None,
        }
    }

    /// As many threads as `--threads` says, for everything that follows; without it, one per core. Once in a run.
    pub fn start_threads(&self) -> Result<(), Failure> {
        let Some(count) = self.threads else { return Ok(()) };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(usize::from(count));
        threads.build_global().map_err(|error| could_not_walk(&ScanError::Threads(error)))
    }
}

/// Which `lockshift.toml` holds.
#[derive(Debug, clap::Args)]
pub(super) struct ConfigArgs {
    /// Configuration file [default: lockshift.toml, here or further up in the repository].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The file that `--config` names, or the one that holds for the current directory.
    pub fn load(&self) -> Result<Config, Failure> {
        let Some(path) = &self.config else {
            let found = Config::load(Path::new(".")).map_err(|error| Failure::new(error.to_string()))?;
            return Ok(found.unwrap_or_default());
        };
        let bytes = bounded::read_named(path)
            .map_err(|error| Failure::new(format!("could not read {}: {error}", path.display())))?;
        let text = Failure::utf8(path.display(), bytes)?;
        tracing::info!(file = %path.display(), "read the configuration");
        let mut config = Config::parse(&path.display().to_string(), &text)
            .map_err(|error| Failure::new(error.to_string()))?;
        // Its globs are relative to its own directory where that one holds the current directory.
        let here = Path::new(".").canonicalize().unwrap_or_default();
        let home =
            path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
        config.home = Home::new(&home, &here);
        Ok(config)
    }
}

/// What the repository says, with a line on stderr while it is read.
pub(super) fn scanned(options: &ScanOptions, quiet: bool) -> Result<Inventory, Failure> {
    with_line(quiet, |line| scan(options, line))
}

/// Reads something of the repository, with a line on stderr while it lasts.
pub(super) fn with_line<T>(
    quiet: bool,
    read: impl FnOnce(&Line) -> Result<T, ScanError>,
) -> Result<T, Failure> {
    let line = Line::new(quiet);
    let found = read(&line);
    line.finish();
    found.map_err(|error| could_not_walk(&error))
}

fn could_not_walk(error: &ScanError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ScanError::NoSuchPath { .. } => failure.help("paths are relative to the current directory"),
        ScanError::BadGlob { .. } => {
            failure.help("quote the glob, so that the shell leaves it alone: --exclude 'old/**'")
        }
        ScanError::Threads(_) => failure.help("try fewer: --threads 1"),
    }
}

/// Whether there was nothing to look at: a directory without a single file of ours is a wrong path or an empty
/// checkout, and must not pass for clean.
pub(super) fn is_nothing(inventory: &Inventory, options: &ScanOptions) -> Result<bool, Failure> {
    Ok(is_empty(inventory) && !has_configuration(options)?)
}

/// What is said then; `example` is a command that names a directory.
pub(super) fn nothing_to_look_at(paths: &[PathBuf], example: &str) -> Failure {
    Failure::new(format!("nothing to look at: no Terraform, OpenTofu or Terragrunt files {}", where_(paths)))
        .help(format!("name the directory that holds them: `{example}`"))
}

/// Where was looked: `here`, or the paths that were named.
pub(super) fn where_(paths: &[PathBuf]) -> String {
    match paths {
        [] => "here".to_owned(),
        paths => {
            let named: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
            format!("in {}", named.join(", "))
        }
    }
}

/// Whether scanning found nothing at all, neither something to say nor something that it could not read.
fn is_empty(inventory: &Inventory) -> bool {
    inventory.roots.is_empty()
        && inventory.readers.is_empty()
        && inventory.unattributed.is_empty()
        && inventory.lock_tables.is_empty()
        && inventory.grants.is_empty()
        && inventory.habits.is_empty()
        && inventory.shared_var_files.is_empty()
        && inventory.problems.is_empty()
}

/// Whether there is any configuration below the paths. Only asked when scanning found nothing.
fn has_configuration(options: &ScanOptions) -> Result<bool, Failure> {
    let here = || vec![PathBuf::from(".")];
    let options = WalkOptions {
        paths: if options.paths.is_empty() { here() } else { options.paths.clone() },
        exclude: options.exclude.clone(),
        no_ignore: options.no_ignore,
        threads: options.threads,
        base: options.base.clone(),
    };
    let ours =
        |name: &str| [".tf", ".tf.json", ".tofu", ".tofu.json", ".hcl"].iter().any(|end| name.ends_with(end));
    let walked = walk(&options, &ours, &Silent, &|files, found| {
        found.kept.extend(files.iter().filter(|file| ours(&file.name())).map(|file| (file.id(), ())));
    })
    .map_err(|error| could_not_walk(&error))?;
    Ok(!walked.kept.is_empty())
}
