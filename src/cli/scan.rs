//! `lockshift scan`: what every root module really uses.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::ValueEnum;

use super::fail_on::{self, FailOn};
use super::failure::Failure;
use super::output::{self, Terminal};
use super::past::{PastArgs, name_of, report_time};
use super::progress::Line;
use super::{EXIT_CODES, Outcome};
use crate::config::{Config, Date};
use crate::repo::inventory::{self, Inventory, LockMode};
use crate::repo::scan::{ScanError, ScanOptions, Silent, scan};
use crate::repo::shown::Home;
use crate::repo::walk::{WalkOptions, walk};
use crate::report::group::By;
use crate::report::html::Page;
use crate::report::table::TableOptions;
use crate::report::{self, RuleText, ScanReport};
use crate::rules;

/// Say which locks every root module really takes
///
/// Reads Terraform, OpenTofu and Terragrunt configuration, backend-config files, scripts and CI files, and merges
/// them as the programs themselves would. Touches no network and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Directories or files [default: the current directory].
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How to say it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write the result to a file instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Count root modules together (formats table and markdown).
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    by: GroupBy,
    /// Exit with 1 for findings of this severity or more, or of these rules: a comma list, or `never`.
    #[arg(long, value_parser = fail_on::parse, default_value = "medium", value_name = "SEVERITY|RULE,...")]
    fail_on: FailOn,
    /// Say only what this program sees.
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Option<Engine>,
    /// Leave out paths that match this glob (repeatable).
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Look into what git ignores, too.
    #[arg(long)]
    no_ignore: bool,
    /// Threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    past: PastArgs,
    /// Configuration file [default: lockshift.toml, here or further up in the repository].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// No progress, and (format table) only what needs doing: findings, what was not read, the summary.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Table,
    /// Everything, in a stable form (see docs/schema).
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations in GitHub Actions.
    Github,
    /// For a pull request's comment.
    Markdown,
    /// One row for each effective backend.
    Csv,
    /// One page for whoever leads the migration: progress, findings, root modules. Needs nothing else.
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum GroupBy {
    /// One row for each effective backend.
    #[default]
    Root,
    /// By state bucket.
    Bucket,
    /// By lock table.
    Table,
    /// By lock mode.
    Mode,
    /// By owner (CODEOWNERS).
    Owner,
    /// By the AWS account that the table's ARN or the assumed role names.
    Account,
}

impl From<GroupBy> for By {
    fn from(by: GroupBy) -> Self {
        match by {
            GroupBy::Root => By::Root,
            GroupBy::Bucket => By::Bucket,
            GroupBy::Table => By::Table,
            GroupBy::Mode => By::Mode,
            GroupBy::Owner => By::Owner,
            GroupBy::Account => By::Account,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// HashiCorp Terraform.
    Terraform,
    /// OpenTofu.
    Opentofu,
}

impl From<Engine> for inventory::Engine {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Terraform => inventory::Engine::Terraform,
            Engine::Opentofu => inventory::Engine::OpenTofu,
        }
    }
}

/// Scans, judges, reports.
pub(super) fn run(args: &Args, terminal: Terminal) -> Result<Outcome, Failure> {
    if args.past.history.is_some() && !matches!(args.format, Format::Html | Format::Json) {
        return Err(Failure::new("--history is told as HTML or as JSON").help("add `--format html`"));
    }
    let config = load_config(args.config.as_deref())?;
    start_threads(args.threads)?;
    // All of it on the threads that do the work: handing each step over to them takes longer than some of the steps.
    rayon::scope(|_| look(args, &config, terminal))
}

fn look(args: &Args, config: &Config, terminal: Terminal) -> Result<Outcome, Failure> {
    let options = ScanOptions {
        paths: args.paths.clone(),
        exclude: args.exclude.iter().cloned().chain(config.shown_excludes()).collect(),
        no_ignore: args.no_ignore,
        threads: None,
        engine: args.engine.map(Into::into),
        base: None,
    };
    let line = Line::new(args.quiet);
    let found = scan(&options, &line);
    line.finish();
    let inventory = found.map_err(|error| could_not_walk(&error))?;
    if is_empty(&inventory) && !has_configuration(&options)? {
        return Err(Failure::new("nothing to look at: no Terraform, OpenTofu or Terragrunt files here")
            .help("name the directory that holds them: `lockshift scan PATH`"));
    }
    let findings = rules::check(&inventory, config, Date::of(SystemTime::now()));
    let history = args.past.look(&options, args.quiet);
    let report = ScanReport { history: history.as_ref(), ..ScanReport::new(&inventory, &findings) };
    output::write_parts(&render(args, &report, terminal)?, args.output.as_deref())?;
    let outcome = outcome(&report, &args.fail_on);
    // The program ends here: giving back every single text would only cost time.
    std::mem::forget((inventory, findings));
    Ok(outcome)
}

/// The exit code's meaning: findings decide first; then nothing that was not read or judged may pass for clean.
fn outcome(report: &ScanReport<'_>, fail_on: &FailOn) -> Outcome {
    let mut modes = report.inventory.roots.iter().flat_map(|root| &root.backends).map(|backend| backend.mode);
    if report.findings.iter().any(|finding| fail_on.reached_by(finding)) {
        Outcome::Findings
    } else if report.summary.unread > 0 || modes.any(|mode| mode == LockMode::Unknown) {
        Outcome::Unjudged
    } else {
        Outcome::Clean
    }
}

/// The result, in parts that follow one another.
fn render(args: &Args, report: &ScanReport<'_>, terminal: Terminal) -> Result<Vec<String>, Failure> {
    let failed = |error: String| Failure::new(format!("could not write the result: {error}"));
    let whole = match args.format {
        Format::Table => {
            let terminal = if args.output.is_some() { terminal.for_file() } else { terminal };
            let options = TableOptions {
                width: terminal.width,
                colour: terminal.colour_stdout,
                by: args.by.into(),
                quiet: args.quiet,
            };
            report::table::render(report, options)
        }
        Format::Json => {
            return report::json::render_parts(report).map_err(|error| failed(error.to_string()));
        }
        Format::Sarif => {
            let rules = rule_texts();
            report::sarif::render(report, &rules).map_err(|error| failed(error.to_string()))?
        }
        Format::Github => report::github::render(report),
        Format::Markdown => report::markdown::render(report, args.by.into()),
        Format::Csv => report::csv::render(report).map_err(|error| failed(error.to_string()))?,
        Format::Html => report::html::render(&Page {
            at: report_time(),
            of: &name_of(&args.paths),
            scan: Some(report),
            audit: None,
            rules: &rule_texts(),
        }),
    };
    Ok(vec![whole])
}

/// All rules, as formats need them.
pub(super) fn rule_texts() -> Vec<RuleText<'static>> {
    let text = |rule: &&'static rules::Rule| RuleText {
        id: rule.id,
        severity: rule.severity,
        summary: rule.summary,
        page: rule.page,
    };
    rules::all().iter().map(text).collect()
}

/// The file that `--config` names, or the one that holds for the current directory.
pub(super) fn load_config(file: Option<&Path>) -> Result<Config, Failure> {
    let Some(path) = file else {
        let found = Config::load(Path::new(".")).map_err(|error| Failure::new(error.to_string()))?;
        return Ok(found.unwrap_or_default());
    };
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", path.display())))?;
    let text = Failure::utf8(path.display(), bytes)?;
    tracing::info!(file = %path.display(), "read the configuration");
    let mut config =
        Config::parse(&path.display().to_string(), &text).map_err(|error| Failure::new(error.to_string()))?;
    // Its globs are relative to its own directory where that one holds the current directory.
    let here = Path::new(".").canonicalize().unwrap_or_default();
    let home =
        path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    config.home = Home::new(&home, &here);
    Ok(config)
}

/// As many threads as `--threads` says, for everything that follows; without it, one per core.
pub(super) fn start_threads(count: Option<u16>) -> Result<(), Failure> {
    let Some(count) = count else { return Ok(()) };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(usize::from(count));
    threads.build_global().map_err(|error| could_not_walk(&ScanError::Threads(error)))
}

pub(super) fn could_not_walk(error: &ScanError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ScanError::NoSuchPath { .. } => failure.help("paths are relative to the current directory"),
        ScanError::BadGlob { .. } => {
            failure.help("quote the glob, so that the shell leaves it alone: --exclude 'old/**'")
        }
        ScanError::Threads(_) => failure.help("try fewer: --threads 1"),
    }
}

/// Whether scanning found nothing at all, neither something to say nor something that it could not read.
pub(super) fn is_empty(inventory: &Inventory) -> bool {
    inventory.roots.is_empty()
        && inventory.readers.is_empty()
        && inventory.unattributed.is_empty()
        && inventory.lock_tables.is_empty()
        && inventory.grants.is_empty()
        && inventory.habits.is_empty()
        && inventory.shared_var_files.is_empty()
        && inventory.problems.is_empty()
}

/// Whether there is any configuration below the paths. Only asked when scanning found nothing: a directory without a
/// single file of ours is a wrong path or an empty checkout, and must not pass for clean.
pub(super) fn has_configuration(options: &ScanOptions) -> Result<bool, Failure> {
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
