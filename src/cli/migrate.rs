//! `lockshift migrate`: plans a phase, and prints, writes or commits it. Joins scanning, planning and handing over.

mod deliver;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use globset::GlobMatcher;

use super::Outcome;
use super::audit_file;
use super::failure::Failure;
use super::output::{self, OutArgs, Terminal};
use super::tree::{ConfigArgs, TreeArgs, is_nothing, nothing_to_look_at, with_line};
use crate::migrate::evidence::Evidence;
use crate::migrate::group;
use crate::migrate::options::{Context, History, Options, path_glob};
use crate::migrate::plan::Plan;
use crate::migrate::{gate, git, phase, planner};
use crate::repo::bounded;
use crate::repo::inventory::Inventory;
use crate::repo::scan::{Collected, MAX_FILE, collect};
use crate::report::plan_table;

const EXIT_CODES: &str = "\
Exit codes:
  0  everything asked for is planned (or written, or committed), or there is nothing to do
  1  some root module was refused; with --check also: changes are pending
  2  could not run: usage, configuration, nothing to look at
  3  something could not be read, and nothing was refused

Examples:
  lockshift migrate --phase dual | git apply
  lockshift migrate --phase dual --commit --group-by owner
  lockshift audit --format json --output audit.json
  lockshift migrate --phase final --evidence audit.json --pr-dir prs";

/// Plan the edits that lead to the lockfile, and print, write or commit them
///
/// Prints a diff that `git apply` takes, and on stderr what is refused and what people must do. Each edited file is
/// parsed and merged again before anything is handed over. Changes no file without --write, and never touches the
/// network without --open-pr. `git` has 120 seconds for each answer; LOCKSHIFT_GIT_TIMEOUT sets them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Where to: both locks, the lockfile alone, or one step back.
    #[arg(long, value_enum, value_name = "PHASE")]
    phase: Phase,

    /// Write the files: each atomically, and all or none of those that root modules share, also when interrupted.
    #[arg(long, help_heading = "What to do", conflicts_with_all = ["check", "commit"])]
    write: bool,
    /// Change nothing; exit with 1 when changes are pending.
    #[arg(long, help_heading = "What to do", conflicts_with_all = ["commit", "pr_dir", "open_pr"])]
    check: bool,
    /// Commit to a new branch, in a worktree of its own: the working tree stays as it is. Your hooks run. An interrupt removes
    /// both.
    #[arg(long, help_heading = "What to do")]
    commit: bool,
    /// The branch [default: lockshift/PHASE]. With --open-pr and several groups, each has BRANCH-GROUP.
    #[arg(long, value_name = "NAME", requires = "commit", help_heading = "What to do")]
    branch: Option<String>,
    /// One commit (and one pull request) for each of these [default: one for all].
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "What to do")]
    group_by: Option<GroupBy>,
    /// Write patch, title and body of each pull request to this directory.
    #[arg(long, value_name = "DIR", help_heading = "What to do")]
    pr_dir: Option<PathBuf>,
    /// Push, and open pull requests with `gh` or `glab`; where it is missing, print the commands.
    #[arg(long, requires = "commit", requires = "pr_dir", help_heading = "What to do")]
    open_pr: bool,
    /// Write a script that initialises every changed root module again.
    #[arg(long, value_name = "FILE", help_heading = "What to do")]
    reinit: Option<PathBuf>,

    /// Only root modules whose path matches this glob (repeatable).
    #[arg(long = "path", value_name = "GLOB", value_parser = path_glob, help_heading = "What to plan")]
    globs: Vec<GlobMatcher>,
    /// Only states in this bucket (repeatable).
    #[arg(long, value_name = "BUCKET", help_heading = "What to plan")]
    bucket: Vec<String>,
    /// Only states locked with this table (repeatable).
    #[arg(long, value_name = "TABLE", help_heading = "What to plan")]
    table: Vec<String>,
    /// Change at most so many root modules.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What to plan")]
    limit: Option<u32>,
    /// Which root modules a limit takes first.
    #[arg(long, value_enum, default_value_t, value_name = "ORDER", help_heading = "What to plan")]
    order: Order,
    /// Give the lockfile to root modules without any lock, too.
    #[arg(long, help_heading = "What to plan")]
    include_unlocked: bool,
    /// Raise `required_version` where it admits versions without the lockfile.
    #[arg(long, help_heading = "What to plan")]
    bump_required_version: bool,
    /// The table that a rollback brings back to root modules without one.
    #[arg(long, value_name = "TABLE", help_heading = "What to plan")]
    rollback_table: Option<String>,

    /// Go on although a gate is not met, for this reason; the pull request says so (repeatable).
    #[arg(long, value_name = "GATE=REASON", value_parser = waiver, help_heading = "Gates")]
    waive: Vec<(String, String)>,
    /// Days for which both locks must have been taken before the table goes.
    #[arg(long, value_name = "N", default_value_t = 14, help_heading = "Gates")]
    soak_days: u32,
    /// What `lockshift audit --format json --output FILE` said of the locks.
    #[arg(long, value_name = "FILE", help_heading = "Gates")]
    evidence: Option<PathBuf>,

    /// How to say it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten, next_help_heading = "What to plan")]
    tree: TreeArgs,
    // A heading holds until the next one.
    #[command(flatten, next_help_heading = None)]
    config: ConfigArgs,
    /// No progress, and no summary.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Phase {
    /// Both locks: old and new clients exclude each other.
    Dual,
    /// The lockfile alone.
    Final,
    /// One step back: lockfile to both, both to DynamoDB alone.
    Rollback,
}

impl From<Phase> for phase::Phase {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Dual => phase::Phase::Dual,
            Phase::Final => phase::Phase::Final,
            Phase::Rollback => phase::Phase::Rollback,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupBy {
    /// Each root module (those that share a file stay together).
    Root,
    /// Owners (CODEOWNERS).
    Owner,
    /// State bucket.
    Bucket,
    /// Lock table.
    Table,
}

impl From<GroupBy> for group::GroupBy {
    fn from(by: GroupBy) -> Self {
        match by {
            GroupBy::Root => group::GroupBy::Root,
            GroupBy::Owner => group::GroupBy::Owner,
            GroupBy::Bucket => group::GroupBy::Bucket,
            GroupBy::Table => group::GroupBy::Table,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Order {
    /// By path.
    #[default]
    Path,
    /// Those with remote-state readers first.
    ReadersFirst,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// A unified diff that `git apply` takes.
    #[default]
    Diff,
    /// Root modules, for people.
    Table,
    /// Everything, in a stable form (see docs/schema).
    Json,
}

/// `GATE=REASON`, for a gate that may be waived.
fn waiver(text: &str) -> Result<(String, String), String> {
    let (id, reason) = text.split_once('=').ok_or("a reason is missing: --waive GATE=REASON")?;
    let (id, reason) = (id.trim(), reason.trim());
    match gate::find(id) {
        None => {
            let known: Vec<&str> =
                gate::ALL.iter().filter(|gate| gate.waivable).map(|gate| gate.id).collect();
            let short: String = id.chars().take(64).collect();
            match similar::get_close_matches(short.as_str(), &known, 1, 0.6).first() {
                Some(near) => Err(format!("no gate is called `{id}`; did you mean `{near}`?")),
                None => Err(format!(
                    "no gate is called `{id}`; those that can be waived are {}",
                    known.join(", ")
                )),
            }
        }
        Some(gate) if !gate.waivable => Err(format!("`{id}` can't be waived")),
        Some(_) if reason.is_empty() => Err("the reason is empty: say why, the pull request will".to_owned()),
        Some(_) => Ok((id.to_owned(), reason.to_owned())),
    }
}

/// Everything that is known when the plan is made.
struct Planned {
    collected: Collected,
    before: Inventory,
    plan: Plan,
}

impl Planned {
    /// The repository with the whole plan carried out.
    fn after(&self) -> Inventory {
        let changed = self.plan.files.iter().map(|file| (file.file.clone(), file.after.clone())).collect();
        self.collected.with_bytes(&changed).inventory()
    }
}

/// Plans, hands over, says what is left.
pub(super) fn run(args: &Args, terminal: Terminal) -> Result<Outcome, Failure> {
    let planned = plan(args)?;
    if !args.quiet {
        output::to_stderr(&plan_table::summary(&planned.plan, terminal.colour_stderr));
    }
    let all_done = deliver::deliver(args, &planned, terminal)?;
    let pending = args.check && !planned.plan.files.is_empty();
    Ok(if !all_done || pending || !planned.plan.refusals.is_empty() {
        Outcome::Findings
    } else if planned.before.summary().unread > 0 {
        Outcome::Unjudged
    } else {
        Outcome::Clean
    })
}

fn plan(args: &Args) -> Result<Planned, Failure> {
    let config = args.config.load()?;
    args.tree.start_threads()?;
    let scanning = args.tree.options(&config);
    let evidence = args.evidence.as_deref().map(read_evidence).transpose()?;
    let collected = with_line(args.quiet, |line| collect(&scanning, line))?;
    let before = collected.inventory();
    if is_nothing(&before, &scanning)? {
        return Err(nothing_to_look_at(&args.tree.paths, "lockshift migrate --phase dual PATH"));
    }
    let options = options(args);
    if !planner::selects_anything(&before, &options) {
        return Err(matches_nothing(args));
    }
    let bytes = read_bytes(&before);
    let history = history(&before, options.phase);
    let context = Context {
        collected: &collected,
        bytes: &bytes,
        history: &history,
        evidence: evidence.as_ref(),
        now: now(),
    };
    let plan = planner::plan(&before, &context, &options);
    Ok(Planned { collected, before, plan })
}

/// Says which of the flags that choose root modules were given.
fn matches_nothing(args: &Args) -> Failure {
    let globs = args.globs.iter().map(|glob| format!("`--path {}`", glob.glob()));
    let buckets = args.bucket.iter().map(|bucket| format!("`--bucket {bucket}`"));
    let tables = args.table.iter().map(|table| format!("`--table {table}`"));
    let flags: Vec<String> = globs.chain(buckets).chain(tables).collect();
    Failure::new(format!("no root module matches {}", flags.join(" and ")))
        .help("`lockshift scan` lists root modules with their buckets and tables; one that no longer has the table is done")
}

fn options(args: &Args) -> Options {
    Options {
        waive: args.waive.iter().cloned().collect(),
        include_unlocked: args.include_unlocked,
        bump_required_version: args.bump_required_version,
        paths: args.globs.clone(),
        buckets: args.bucket.clone(),
        tables: args.table.clone(),
        rollback_table: args.rollback_table.clone(),
        limit: args.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        readers_first: args.order == Order::ReadersFirst,
        soak_days: args.soak_days,
        ..Options::new(args.phase.into())
    }
}

fn read_evidence(file: &Path) -> Result<Evidence, Failure> {
    let json = audit_file::read(file)?;
    Evidence::parse(&json).map_err(|error| {
        Failure::json(file.display(), &json, "no audit's JSON", &error)
            .help("it is a JSON file: `generated_at`, `states`, `findings`, `unread`, `probes`")
    })
}

/// The bytes of every file that was read, by shown path. One that is gone by now is planned without, and refused
/// there.
fn read_bytes(inventory: &Inventory) -> BTreeMap<String, Vec<u8>> {
    inventory
        .files
        .iter()
        .filter_map(|(shown, file)| Some((shown.clone(), bounded::read(&file.os_path, MAX_FILE).ok()?)))
        .collect()
}

/// Only the last step asks how long the lockfile has been in use.
fn history(inventory: &Inventory, phase: phase::Phase) -> BTreeMap<String, History> {
    if phase != phase::Phase::Final {
        return BTreeMap::new();
    }
    let files: BTreeMap<String, PathBuf> = inventory
        .sources
        .iter()
        .filter(|source| source.setting("use_lockfile").is_some())
        .filter_map(|source| {
            let file = &source.place.file;
            Some((file.clone(), inventory.files.get(file)?.os_path.clone()))
        })
        .collect();
    git::history(&files)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
