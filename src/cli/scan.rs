//! `lockshift scan`: what every root module really uses.

use std::io::Write;
use std::time::SystemTime;

use clap::ValueEnum;

use super::fail_on::{self, FailOn};
use super::failure::Failure;
use super::output::{self, OutArgs, Terminal};
use super::past::{PastArgs, name_of, report_time};
use super::tree::{ConfigArgs, TreeArgs, is_nothing, nothing_to_look_at, scanned};
use super::{EXIT_CODES, Outcome};
use crate::config::{Config, Date};
use crate::repo::inventory::{self, LockMode};
use crate::repo::scan::ScanOptions;
use crate::report::group::By;
use crate::report::html::Page;
use crate::report::table::TableOptions;
use crate::report::words::count;
use crate::report::{self, RuleText, ScanReport};
use crate::rules;

/// Say which locks every root module really takes
///
/// Reads Terraform, OpenTofu and Terragrunt configuration, backend-config files, scripts and CI files, and merges
/// them as the programs themselves would. Touches no network and changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// How to say it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    out: OutArgs,
    /// Count root modules together (formats table and markdown).
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    by: GroupBy,
    /// Exit with 1 for findings of this severity or more, or of these rules: a comma list, or `never`.
    #[arg(long, value_parser = fail_on::Parser, hide_possible_values = true, default_value = "medium", value_name = "SEVERITY|RULE,...")]
    fail_on: FailOn,
    /// Say only what this program sees.
    #[arg(long, value_enum, value_name = "ENGINE")]
    engine: Option<Engine>,
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    past: PastArgs,
    #[command(flatten)]
    config: ConfigArgs,
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
    #[value(alias = "tofu")]
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
    if args.by != GroupBy::Root && !matches!(args.format, Format::Table | Format::Markdown) {
        return Err(Failure::new("--by groups root modules in the formats table and markdown alone")
            .help("leave --by away, or say `--format table` or `--format markdown`"));
    }
    args.past.check(&args.tree.paths)?;
    let config = args.config.load()?;
    args.tree.start_threads()?;
    // All of it on the threads that do the work: handing each step over to them takes longer than some of the steps.
    rayon::scope(|_| look(args, &config, terminal))
}

fn look(args: &Args, config: &Config, terminal: Terminal) -> Result<Outcome, Failure> {
    let options = ScanOptions { engine: args.engine.map(Into::into), ..args.tree.options(config) };
    let inventory = scanned(&options, args.quiet)?;
    if is_nothing(&inventory, &options)? {
        return Err(nothing_to_look_at(&args.tree.paths, "lockshift scan PATH"));
    }
    let findings = rules::check(&inventory, config, Date::of(SystemTime::now()));
    let history = args.past.look(&options, args.quiet);
    let report = ScanReport { history: history.as_ref(), ..ScanReport::new(&inventory, &findings) };
    write(args, &report, terminal)?;
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

/// Says the result.
fn write(args: &Args, report: &ScanReport<'_>, terminal: Terminal) -> Result<(), Failure> {
    let failed = |error: String| Failure::new(format!("could not write the result: {error}"));
    let whole = match args.format {
        Format::Table => {
            let terminal = args.out.terminal(terminal);
            let options = TableOptions {
                width: terminal.width,
                colour: terminal.colour_stdout,
                by: args.by.into(),
                quiet: args.quiet,
            };
            report::table::render(report, options)
        }
        // By far the longest.
        Format::Json => {
            let json = |to: &mut dyn Write| report::json::write(report, |part| to.write_all(part.as_bytes()));
            return args.out.write_with(json);
        }
        Format::Sarif => {
            let rules = rule_texts();
            report::sarif::render(report, &rules).map_err(|error| failed(error.to_string()))?
        }
        Format::Github => report::github::render(report),
        Format::Markdown => report::markdown::render(report, args.by.into()),
        Format::Csv => {
            // Its rows are root modules: what was not read has no place among them.
            if report.summary.unread > 0 {
                output::to_stderr(&format!(
                    "note: {} could not be read, and no row says so; --format table names them\n",
                    count(report.summary.unread, "place", "places")
                ));
            }
            report::csv::render(report).map_err(|error| failed(error.to_string()))?
        }
        Format::Html => report::html::render(&Page {
            at: report_time(),
            ends: outcome(report, &args.fail_on).into(),
            of: &name_of(&args.tree.paths),
            scan: Some(report),
            audit: None,
            rules: &rule_texts(),
        }),
    };
    args.out.write(&whole)
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
