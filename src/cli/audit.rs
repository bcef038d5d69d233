//! `lockshift audit`: what DynamoDB and S3 really hold. Joins scanning, reading, judging and reporting.

mod input;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;

use super::Outcome;
use super::audit_file;
use super::fail_on::{self, FailOn};
use super::failure::Failure;
use super::names;
use super::output::{self, OutArgs, Terminal};
use super::past::{PastArgs, name_of};
use super::reach::Reach;
use super::scan::rule_texts;
use super::tree::{ConfigArgs, TreeArgs, with_line};
use crate::audit::accept::{Baseline, accept};
use crate::audit::access;
use crate::audit::expected::{Access, ExpectedState, TableRef};
use crate::audit::judge::{JudgeOptions, judge};
use crate::audit::outcome::Audit;
use crate::audit::retire::{Scanned, Verdict, retire as retirement};
use crate::audit::snapshot::Snapshot;
use crate::config::{Config, Date, duration};
use crate::moment::Moment;
use crate::repo::mentions;
use crate::report::ScanReport;
use crate::report::audit::table::AuditTableOptions;
use crate::report::audit::{self as report, AuditReport};
use crate::report::html::{self, Page};
use input::World;

const EXIT_CODES: &str = "\
Exit codes:
  0  everything was read, and no finding reaches --fail-on
  1  findings reach --fail-on
  2  could not run: usage, configuration, nothing to look at
  3  something could not be read, and no finding decides otherwise

Examples:
  lockshift audit
  lockshift audit --bucket acme-tfstate --table acme-locks
  lockshift audit --save-snapshot monday.json --format json --output audit.json
  lockshift audit . --snapshot monday.json --baseline audit.json
  lockshift audit --s3-export acme-tfstate=versions.json --dynamodb-export acme-locks=items.json --lock-bodies locks";

/// What the paths are for, besides what they are for every command.
const PATHS: &str = "Directories or files that say which states there are [default: the current directory, unless \
                     buckets, a snapshot or exports are named]";

/// Compare what DynamoDB and S3 hold with what the repositories say
///
/// Finds stale, split and foreign locks, digests that block the next run, states that are written outside of any lock,
/// and bucket settings that break locking. Only reads: never a state's body without --read-states, and it changes
/// nothing. What can't be read is said, with the permission that is missing, and never passes for clean.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES, mut_arg("paths", |paths| paths.help(PATHS)))]
pub(super) struct Args {
    /// Look at this bucket, with or without a repository (repeatable).
    #[arg(long, value_name = "BUCKET", value_parser = names::bucket, help_heading = "What to read")]
    bucket: Vec<String>,
    /// Look at this lock table, by name or ARN (repeatable).
    #[arg(long, value_name = "TABLE", value_parser = names::table, help_heading = "What to read")]
    table: Vec<String>,
    /// Only keys below this prefix (repeatable). With exports: the prefixes that were listed.
    #[arg(long, value_name = "PREFIX", help_heading = "What to read")]
    prefix: Vec<String>,
    /// Judge a saved snapshot instead of reading from AWS.
    #[arg(long, value_name = "FILE", help_heading = "What to read", conflicts_with_all = ["bucket", "table", "prefix", "dynamodb_export", "s3_export", "lock_bodies", "exported_at", "read_states", "iam"])]
    snapshot: Option<PathBuf>,
    /// Keep what was read, to judge it again later.
    #[arg(long, value_name = "FILE", help_heading = "What to read")]
    save_snapshot: Option<PathBuf>,
    /// Take the output of `aws dynamodb scan` instead of reading from AWS (repeatable).
    #[arg(long, value_name = "TABLE=FILE", value_parser = input::named_file, help_heading = "What to read", conflicts_with_all = ["bucket", "table"])]
    dynamodb_export: Vec<(String, PathBuf)>,
    /// Take the output of `aws s3api list-object-versions` or `list-objects-v2` (repeatable).
    #[arg(long, value_name = "BUCKET=FILE", value_parser = input::named_file, help_heading = "What to read", conflicts_with_all = ["bucket", "table"])]
    s3_export: Vec<(String, PathBuf)>,
    /// Bodies of `.tflock` objects beside an export, as DIR/BUCKET/KEY.
    #[arg(long, value_name = "DIR", help_heading = "What to read", requires = "s3_export")]
    lock_bodies: Option<PathBuf>,
    /// When the exports were made, in RFC 3339 [default: when the oldest of the files was written].
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "What to read")]
    exported_at: Option<Moment>,
    /// Read the states whose digest the listing does not tell. States hold secrets; only their MD5 is kept.
    #[arg(long, help_heading = "What to read", conflicts_with_all = ["dynamodb_export", "s3_export"])]
    read_states: bool,

    /// Read the account's identity policies, too: who may delete a lock (`iam:GetAccountAuthorizationDetails`).
    #[arg(long, help_heading = "What to read", conflicts_with_all = ["dynamodb_export", "s3_export"])]
    iam: bool,
    /// Ask IAM's policy simulator about the roles and about who may delete a lock, too, and say where it differs
    /// (`iam:SimulatePrincipalPolicy`).
    #[arg(long, help_heading = "What to read", requires = "iam")]
    simulate: bool,
    /// A service control policy, a JSON document or a list of them: one file for each level, from the organization's
    /// root down (repeatable).
    #[arg(long, value_name = "FILE", help_heading = "What to read")]
    scp: Vec<PathBuf>,
    /// A resource control policy of the buckets' account, as --scp.
    #[arg(long, value_name = "FILE", help_heading = "What to read")]
    rcp: Vec<PathBuf>,
    /// Ask each store whether it honours the conditions that locks depend on. Writes one small object of its own below
    /// --probe-prefix, and removes it again: the only part of an audit that writes.
    #[arg(long, help_heading = "What to read", conflicts_with_all = ["snapshot", "dynamodb_export", "s3_export"])]
    probe: bool,
    /// Where --probe writes.
    #[arg(long, value_name = "PREFIX", default_value = crate::audit::collect::probe::PREFIX, help_heading = "What to read")]
    probe_prefix: String,
    /// May this lock table be deleted? Says what speaks for it and against it, and deletes nothing.
    #[arg(long, value_name = "TABLE", value_parser = names::table, help_heading = "What to read")]
    retire: Option<String>,

    #[command(flatten)]
    reach: Reach,
    /// Requests at one time.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "How stores are reached")]
    concurrency: u16,

    /// How far back every write must lie inside an S3 lock.
    #[arg(long, value_name = "TIME", default_value = "14d", value_parser = span, help_heading = "How to judge")]
    window: Duration,
    /// From what age on a lock is stale [default: `stale_after` of lockshift.toml, else 2h].
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "How to judge")]
    stale_after: Option<Duration>,
    /// Pause before the second look at what could be a lock just being taken or released; 0 for none.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = span, help_heading = "How to judge")]
    settle: Duration,
    /// Exit with 1 for findings of this severity or more, or of these rules: a comma list, or `never`.
    #[arg(long, value_parser = fail_on::Parser, hide_possible_values = true, default_value = "medium", value_name = "SEVERITY|RULE,...", help_heading = "How to judge")]
    fail_on: FailOn,
    /// Findings of this earlier audit (its JSON) do not fail the run again.
    #[arg(long, value_name = "FILE", help_heading = "How to judge")]
    baseline: Option<PathBuf>,
    /// Write the result as JSON to this file, too: the next run's --baseline.
    #[arg(long, value_name = "FILE", help_heading = "How to judge")]
    write_baseline: Option<PathBuf>,

    /// How to say it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    out: OutArgs,
    /// Say how many requests were made.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    past: PastArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// No progress, and (format table) only what needs doing.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Table,
    /// Everything, in a stable form (see docs/schema); what `migrate --evidence` takes.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations in GitHub Actions.
    Github,
    /// For a comment, an issue or a step summary.
    Markdown,
    /// For CI servers that show tests.
    Junit,
    /// For the node exporter's textfile collector.
    Prometheus,
    /// One row for each state, and for whatever else has a finding.
    Csv,
    /// One page for whoever leads the migration: locks and writes, findings, access, states. Needs nothing else.
    Html,
}

/// Reads, judges, reports.
pub(super) fn run(args: &Args, terminal: Terminal) -> Result<Outcome, Failure> {
    if !args.prefix.is_empty() && args.bucket.is_empty() && args.s3_export.is_empty() {
        return Err(Failure::new("--prefix needs a bucket to which it belongs")
            .help("add `--bucket BUCKET`, or leave --prefix away: the repository says which keys matter"));
    }
    if args.past.history.is_some() && args.format != Format::Html {
        return Err(Failure::new("an audit tells --history as HTML")
            .help("add `--format html`, or ask `lockshift scan --history --format json`"));
    }
    args.past.check(&args.tree.paths)?;
    if args.snapshot.is_none() && args.s3_export.is_empty() && args.dynamodb_export.is_empty() {
        args.reach.check()?;
    }
    let config = args.config.load()?;
    args.tree.start_threads()?;
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    // Before the audit, which may take long.
    for (flag, file) in [("--save-snapshot", &args.save_snapshot), ("--write-baseline", &args.write_baseline)]
    {
        file.as_deref().map_or(Ok(()), |file| output::writable(flag, file))?;
    }
    args.out.writable()?;
    let access_options = input::access(args, &config)?;
    let (snapshot, world) = input::read(args, &config, &access_options)?;
    if let Some(file) = &args.save_snapshot {
        let json = report::json::snapshot(&snapshot).map_err(|error| unwritten(&error.to_string()))?;
        output::write_file(json.as_bytes(), "--save-snapshot", file)?;
    }
    let stale_after = args.stale_after.or(config.stale_after).unwrap_or(crate::audit::STALE_AFTER);
    let options = JudgeOptions { stale_after, window: args.window };
    let mut audit = judge(&snapshot, &world.expected, &options);
    access::add(&mut audit, &snapshot, &world.expected, &access_options);
    audit.unread.extend(world.unread.iter().cloned());
    audit.unread.sort();
    audit.unread.dedup();
    accept(&mut audit, &config, baseline.as_ref(), Date::of(SystemTime::now()));
    if let Some(table) = &args.retire {
        let table = table_ref(args, &config, table, &world);
        return retire(args, &config, &table, &snapshot, &world, terminal);
    }
    let report = AuditReport { audit: &audit, stats: args.stats };
    say(args, &report, &render(args, &report, terminal, &|| page(args, &config, &report, &world))?)?;
    Ok(outcome(&audit, &args.fail_on))
}

/// The table that `--retire` names: reached as the backends that name it are, else as the flags say.
fn table_ref(args: &Args, config: &Config, named: &str, world: &World) -> TableRef {
    let flags = args.reach.options(config).access(None, &Access::default());
    let own = TableRef::of(named, &flags);
    let may_be =
        |a: &Option<String>, b: &Option<String>| a.as_ref().zip(b.as_ref()).is_none_or(|(a, b)| a == b);
    let fits = |table: &TableRef| {
        table.name == own.name && may_be(&table.region, &own.region) && may_be(&table.account, &own.account)
    };
    let of_states = world.expected.states.iter().filter_map(ExpectedState::table_ref).filter(fits);
    let of_states: BTreeSet<TableRef> = of_states.collect();
    let mut of_states = of_states.into_iter();
    match (of_states.next(), of_states.next()) {
        (Some(only), None) => {
            TableRef { region: own.region.or(only.region), account: own.account.or(only.account), ..only }
        }
        _ => own,
    }
}

/// `--retire`: the evidence for and against one table instead of the audit's own report.
fn retire(
    args: &Args,
    config: &Config,
    table: &TableRef,
    snapshot: &Snapshot,
    world: &World,
    terminal: Terminal,
) -> Result<Outcome, Failure> {
    let (mentions, unsearched) = match &world.inventory {
        Some(inventory) => {
            let options = args.tree.options(config);
            with_line(args.quiet, |line| mentions::find(&table.name, inventory, &options, line))?
        }
        None => (Vec::new(), Vec::new()),
    };
    let scanned = world.inventory.as_ref().map(|inventory| Scanned {
        inventory,
        mentions: &mentions,
        unsearched: &unsearched,
    });
    let judged = retirement(table, scanned, snapshot);
    let text = match args.format {
        Format::Table => report::retire::table(&judged, args.out.terminal(terminal).colour_stdout),
        Format::Json => report::retire::json(&judged).map_err(|error| unwritten(&error.to_string()))?,
        _ => {
            return Err(Failure::new("--retire is told as a table or as JSON")
                .help("leave --format away, or say `--format json`"));
        }
    };
    args.out.write(&text)?;
    Ok(match judged.verdict {
        Verdict::Ready => Outcome::Clean,
        Verdict::NotReady => Outcome::Findings,
        Verdict::CantTell => Outcome::Unjudged,
    })
}

/// The exit code's meaning: findings decide first; then nothing that was not read may pass for clean, be it a lock or a
/// setting.
fn outcome(audit: &Audit, fail_on: &FailOn) -> Outcome {
    if audit.findings.iter().any(|finding| fail_on.reached_by_audit(finding)) {
        Outcome::Findings
    } else if !audit.unread.is_empty() {
        Outcome::Unjudged
    } else {
        Outcome::Clean
    }
}

/// The page. A repository brings owners, modes and the past; its own findings are the scan's business.
fn page(args: &Args, config: &Config, report: &AuditReport<'_>, world: &World) -> String {
    let history =
        world.inventory.as_ref().and_then(|_| args.past.look(&args.tree.options(config), args.quiet));
    let scan = world
        .inventory
        .as_ref()
        .map(|inventory| ScanReport { history: history.as_ref(), ..ScanReport::new(inventory, &[]) });
    let of = if world.inventory.is_some() {
        name_of(&args.tree.paths)
    } else {
        world.expected.buckets().into_iter().collect::<Vec<_>>().join(", ")
    };
    html::render(&Page {
        at: report.audit.generated_at,
        ends: outcome(report.audit, &args.fail_on).into(),
        of: &of,
        scan: scan.as_ref(),
        audit: Some(report),
        rules: &rule_texts(),
    })
}

fn say(args: &Args, report: &AuditReport<'_>, text: &str) -> Result<(), Failure> {
    if let Some(file) = &args.write_baseline {
        let json = report::json::render(report).map_err(|error| unwritten(&error.to_string()))?;
        output::write_file(json.as_bytes(), "--write-baseline", file)?;
    }
    args.out.write(text)?;
    // Formats for people say it in their summary.
    if args.stats && !matches!(args.format, Format::Table | Format::Markdown | Format::Html) {
        let lines = report::summary::stats(report);
        output::to_stderr(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
    Ok(())
}

/// The result; `page` makes the one format that needs more than the audit.
fn render(
    args: &Args,
    report: &AuditReport<'_>,
    terminal: Terminal,
    page: &dyn Fn() -> String,
) -> Result<String, Failure> {
    Ok(match args.format {
        Format::Table => {
            let terminal = args.out.terminal(terminal);
            let (width, colour) = (terminal.width, terminal.colour_stdout);
            report::table::render(report, AuditTableOptions { width, colour, quiet: args.quiet })
        }
        Format::Json => report::json::render(report).map_err(|error| unwritten(&error.to_string()))?,
        Format::Sarif => {
            report::sarif::render(report, &rule_texts()).map_err(|error| unwritten(&error.to_string()))?
        }
        Format::Github => report::github::render(report),
        Format::Markdown => report::markdown::render(report),
        Format::Junit => report::junit::render(report, &|finding| args.fail_on.reached_by_audit(finding)),
        Format::Prometheus => report::prometheus::render(report),
        Format::Csv => report::csv::render(report).map_err(|error| unwritten(&error.to_string()))?,
        Format::Html => page(),
    })
}

fn unwritten(error: &str) -> Failure {
    Failure::new(format!("could not write the result: {error}"))
}

fn read_baseline(file: &Path) -> Result<Baseline, Failure> {
    let bytes = input::read_file(file)?;
    audit_file::check(file, &bytes)?;
    Baseline::parse(&bytes).map_err(|error| {
        Failure::json(file.display(), &bytes, "no audit's JSON", &error)
            .help("a baseline is made with `lockshift audit --write-baseline FILE` or `--format json`")
    })
}

/// A length of time on the command line: `45m`, `24h`, `14d`, and `0`.
fn span(text: &str) -> Result<Duration, String> {
    match text {
        "0" => Ok(Duration::ZERO),
        text => duration(text).ok_or_else(|| "write a number and a unit: 45m, 24h, 14d".to_owned()),
    }
}

fn time(text: &str) -> Result<Moment, String> {
    Moment::parse(text).ok_or_else(|| "write it in RFC 3339: 2026-11-30T12:00:00Z".to_owned())
}
