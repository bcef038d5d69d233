//! `lockshift policy`: the policies that the states here need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueEnum;

use super::decide::condition_key;
use super::documents::{Format, Report, Statement, Unplaced, files, hcl, json};
use crate::audit::expected::{Expected, partition_of};
use crate::audit::policies::{BucketStates, buckets};
use crate::cli::Outcome;
use crate::cli::failure::Failure;
use crate::cli::output::{self, OutArgs};
use crate::cli::tree::{ConfigArgs, TreeArgs, is_nothing, nothing_to_look_at, scanned};
use crate::policy::is_account;
use crate::policy::recommend::{Advice, Refusal, Roles, Wanted, recommend};
use crate::repo::bounded;
use crate::repo::facts::GrantKind;
use crate::repo::inventory::Inventory;
use crate::report::words::{visible, visible_lines};

/// What `--help` says at its end.
pub(super) const MORE: &str = "\
Exit codes:
  0  the documents were written and proven, for everything that is here
  1  a gate refused: nothing was written
  2  could not run: usage, configuration, roles that are not named, nothing to look at
  3  the documents were written and proven, but something here could not be read or placed: they may lack states";

/// What to look at, for whom, and how to say it.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Role that applies (repeatable). Roles of lockshift.toml count when no flag names one of the same kind.
    #[arg(long, value_name = "ARN")]
    runner: Vec<String>,
    /// Role that only plans (repeatable); it takes locks, too.
    #[arg(long, value_name = "ARN")]
    plan_role: Vec<String>,
    /// Role that releases stuck locks in an emergency (repeatable).
    #[arg(long, value_name = "ARN")]
    break_glass: Vec<String>,
    /// Role that manages the bucket (repeatable).
    #[arg(long, value_name = "ARN")]
    state_admin: Vec<String>,
    /// Account that owns the buckets [default: that of the state-admin and break-glass roles].
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only this bucket (repeatable).
    #[arg(long, value_name = "BUCKET")]
    bucket: Vec<String>,
    /// The bucket's present policy, as `aws s3api get-bucket-policy` prints it: needs one bucket.
    #[arg(long, value_name = "FILE")]
    existing_policy: Option<PathBuf>,
    /// KMS key that encrypts states and locks (repeatable), besides those that backends name by ARN.
    #[arg(long, value_name = "ARN")]
    kms_key: Vec<String>,
    /// Who will put the bucket policy, as `aws sts get-caller-identity` says it: must not be locked out.
    #[arg(long, value_name = "ARN")]
    caller: Option<String>,
    /// What every request of the named roles carries (repeatable), such as aws:SourceVpce=vpce-1.
    #[arg(long, value_name = "KEY=VALUE")]
    context: Vec<String>,
    /// The buckets are versioned: break-glass may then not delete single versions of a lock.
    #[arg(long)]
    versioned: bool,
    /// Whether runs still take the DynamoDB table's lock.
    #[arg(long, value_enum, default_value_t, value_name = "PHASE")]
    phase: Phase,
    /// JSON documents, or Terraform data sources.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Write one file for each document into this directory, instead of all to stdout.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    out_dir: Option<PathBuf>,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    config: ConfigArgs,
    /// No progress, and nothing said besides errors and what was not read.
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Phase {
    /// Both locks: the table's permissions are part of it.
    #[default]
    Dual,
    /// The lockfile alone.
    Final,
}

/// Scans, recommends, proves, writes.
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let config = args.config.load()?;
    args.tree.start_threads()?;
    let roles = roles(args, &config.roles)?;
    let (partition, account) = owner(args, &roles)?;
    let options = args.tree.options(&config);
    let inventory = scanned(&options, args.quiet)?;
    if is_nothing(&inventory, &options)? {
        return Err(nothing_to_look_at("lockshift policy PATH"));
    }
    let expected = Expected::of(&inventory);
    let (found, impossible): (BTreeMap<_, _>, BTreeMap<_, _>) =
        buckets(&inventory, &expected, &partition, &account)
            .into_iter()
            .partition(|(name, _)| is_bucket(name));
    let chosen = chosen(args, found, &impossible)?;
    partitions(&chosen, &partition)?;
    let existing = existing(args, &chosen)?;
    let context = context(args)?;

    let (mut advised, mut refused) = (Vec::new(), Vec::new());
    for (bucket, found) in chosen {
        let wanted = Wanted {
            bucket: bucket.clone(),
            account: account.clone(),
            partition: partition.clone(),
            states: found.states,
            roles: roles.clone(),
            caller: args.caller.clone(),
            existing: existing.clone(),
            kms_keys: args.kms_key.clone(),
            versioned: args.versioned,
            tables: if args.phase == Phase::Dual { found.tables.into_iter().collect() } else { Vec::new() },
            context: context.clone(),
        };
        match recommend(&wanted) {
            Ok(mut advice) => {
                advice.notes.extend(endpoints(&found.endpoints));
                if existing.is_none() {
                    advice.notes.push(NO_PRESENT_POLICY.to_owned());
                }
                advised.push(advice);
            }
            Err(refusal) => refused.push((bucket, refusal)),
        }
    }
    if !refused.is_empty() {
        output::to_stderr(&told(&refused));
        return Ok(Outcome::Findings);
    }
    let mut report = report(args, &inventory, &expected, advised);
    let impossible = expected.states.iter().filter(|state| impossible.contains_key(&state.bucket));
    report.unplaced.extend(impossible.map(|state| Unplaced {
        root: state.root.clone(),
        why: format!("`{}` can't be a bucket's name", state.bucket),
        file: state.place.file.clone(),
        line: state.place.line,
    }));
    // Settings that somebody hands over when a run begins: they name states that no root module here has.
    report.unplaced.extend(inventory.unattributed.iter().map(|found| Unplaced {
        root: "(none)".to_owned(),
        why: found.reason.clone(),
        file: found.place.file.clone(),
        line: found.place.line,
    }));
    write(args, &report)?;
    let unread = inventory.problems.iter().filter(|problem| problem.kind.hides_something()).count();
    output::to_stderr(&said(args, &report, unread));
    let whole = unread == 0 && report.unplaced.is_empty();
    Ok(if whole { Outcome::Clean } else { Outcome::Unjudged })
}

const NO_PRESENT_POLICY: &str = "the bucket is taken to have no policy today: putting this one replaces whatever it has. \
                                 Give the present one with `--existing-policy FILE`";

/// Flags win over the configuration, kind by kind.
fn roles(args: &Args, config: &crate::config::Roles) -> Result<Roles, Failure> {
    let pick =
        |flags: &Vec<String>, file: &Vec<String>| if flags.is_empty() { file.clone() } else { flags.clone() };
    let roles = Roles {
        runners: pick(&args.runner, &config.runners),
        plan: pick(&args.plan_role, &config.plan),
        break_glass: pick(&args.break_glass, &config.break_glass),
        state_admin: pick(&args.state_admin, &config.state_admin),
    };
    let mut missing = Vec::new();
    if roles.runners.is_empty() {
        missing.push("the roles that apply (`--runner ARN`, or `runners`)");
    }
    if roles.state_admin.is_empty() && roles.break_glass.is_empty() {
        missing.push("the role that manages the bucket (`--state-admin ARN`, or `state_admin`)");
    }
    if missing.is_empty() {
        return Ok(roles);
    }
    Err(Failure::new(format!("not named: {}", missing.join("; ")))
        .help("roles stand below `[roles]` in lockshift.toml, or in flags; none is guessed"))
}

/// The partition and account that own the buckets.
fn owner(args: &Args, roles: &Roles) -> Result<(String, String), Failure> {
    let of = |arn: &String| {
        let mut parts = arn.split(':').skip(1);
        let (partition, account) = (parts.next()?, parts.nth(2)?);
        is_account(account).then(|| (partition.to_owned(), account.to_owned()))
    };
    let guards: BTreeSet<(String, String)> =
        roles.state_admin.iter().chain(&roles.break_glass).filter_map(of).collect();
    let partition = guards.first().map_or("aws", |(partition, _)| partition.as_str()).to_owned();
    if let Some(account) = &args.account {
        if !is_account(account) {
            return Err(Failure::new(format!("--account: `{account}` is no account"))
                .help("an account is twelve digits"));
        }
        return Ok((partition, account.clone()));
    }
    let mut accounts = guards.into_iter();
    match (accounts.next(), accounts.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Failure::new(
            "which account owns the buckets can't be told from the state-admin and break-glass roles",
        )
        .help("say it: `--account 111122223333`")),
    }
}

/// Whether S3 takes it for a bucket's name (S3 user guide, "bucket naming rules"; the old, wider rules). A template's
/// placeholder is none.
fn is_bucket(name: &str) -> bool {
    let sound = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    (3..=255).contains(&name.len()) && name.chars().all(sound)
}

fn chosen(
    args: &Args,
    mut found: BTreeMap<String, BucketStates>,
    impossible: &BTreeMap<String, BucketStates>,
) -> Result<BTreeMap<String, BucketStates>, Failure> {
    let names_no_bucket = |names: &str| {
        Failure::new(format!("nothing to write: {names} can't be a bucket's name"))
            .help("correct `bucket` in the backend: `lockshift scan --by bucket` says where it stands")
    };
    if let Some(odd) = args.bucket.iter().find(|bucket| impossible.contains_key(*bucket)) {
        return Err(names_no_bucket(&format!("`{odd}`")));
    }
    if let Some(odd) = args.bucket.iter().find(|bucket| !found.contains_key(*bucket)) {
        return Err(Failure::new(format!("no state here is in bucket `{odd}`"))
            .help("`lockshift scan --by bucket` lists the buckets"));
    }
    if !args.bucket.is_empty() {
        found.retain(|bucket, _| args.bucket.contains(bucket));
    }
    if found.is_empty() && !impossible.is_empty() {
        let names: Vec<String> = impossible.keys().map(|name| format!("`{name}`")).collect();
        return Err(names_no_bucket(&names.join(", ")));
    }
    if found.is_empty() {
        return Err(Failure::new("nothing to write: no state's bucket and key are known here")
            .help("`lockshift scan` says what is not known, and why"));
    }
    // S3 Express knows none of these actions: `s3express:CreateSession` decides there.
    if let Some(directory) = found.keys().find(|bucket| bucket.ends_with("--x-s3")) {
        return Err(Failure::new(format!(
            "`{directory}` is a directory bucket, which has policies of another kind"
        ))
        .help("name the others with `--bucket`"));
    }
    Ok(found)
}

fn existing(args: &Args, chosen: &BTreeMap<String, BucketStates>) -> Result<Option<String>, Failure> {
    let Some(file) = &args.existing_policy else { return Ok(None) };
    if chosen.len() > 1 {
        return Err(Failure::new(format!(
            "`--existing-policy` is one bucket's policy; here are {}",
            chosen.len()
        ))
        .help("name the bucket: `--bucket BUCKET`"));
    }
    let bytes = bounded::read_named(file)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", file.display())))?;
    let text = Failure::utf8(file.display(), bytes)?;
    if text.trim().is_empty() {
        return Err(Failure::new(format!("{}: it is empty", file.display()))
            .help("leave `--existing-policy` out where the bucket has no policy"));
    }
    let json = text.trim_start_matches('\u{feff}');
    let no_json = |of: String, json: &str, error: &serde_json::Error| {
        Failure::json(of, json.as_bytes(), "no JSON", error)
            .help("give the policy as `aws s3api get-bucket-policy` prints it")
    };
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| no_json(file.display().to_string(), json, &error))?;
    // The policy is a text inside: places count from its own first line.
    if let Some(inside) = value.get("Policy").and_then(serde_json::Value::as_str)
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(inside)
    {
        return Err(no_json(format!("{} (the text of `Policy`)", file.display()), inside, &error));
    }
    Ok(Some(text))
}

/// A bucket's region says its partition; no policy names principals of another one.
fn partitions(chosen: &BTreeMap<String, BucketStates>, partition: &str) -> Result<(), Failure> {
    for (bucket, found) in chosen {
        let odd = found.regions.iter().find(|region| partition_of(region) != partition);
        if let Some(region) = odd {
            let of = partition_of(region);
            let message = format!(
                "bucket `{bucket}` is in region {region} of partition `{of}`, and the roles are of partition `{partition}`"
            );
            return Err(
                Failure::new(message).help(format!("name roles as `arn:{of}:iam::ACCOUNT:role/NAME`"))
            );
        }
    }
    Ok(())
}

fn context(args: &Args) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let (key, value) = condition_key(text)?;
        Ok((key.to_owned(), value.to_owned()))
    };
    args.context.iter().map(pair).collect()
}

fn endpoints(endpoints: &BTreeSet<String>) -> Option<String> {
    let first = endpoints.first()?;
    Some(format!(
        "the store at {first} may not be AWS: whether it knows these condition keys was not looked at, and one that does \
         not know them enforces less"
    ))
}

fn report(args: &Args, inventory: &Inventory, expected: &Expected, buckets: Vec<Advice>) -> Report {
    let grants = inventory.grants.iter().filter(|grant| grant.kind == GrantKind::LockTable);
    Report {
        schema_version: 1,
        phase: if args.phase == Phase::Final { "final" } else { "dual" },
        buckets,
        dynamodb_statements: match args.phase {
            Phase::Dual => Vec::new(),
            Phase::Final => grants.map(Statement::of).collect(),
        },
        unplaced: expected.unplaced.iter().map(Unplaced::of).collect(),
    }
}

fn write(args: &Args, report: &Report) -> Result<(), Failure> {
    let Some(dir) = &args.out_dir else {
        let text = match args.format {
            Format::Json => json(report)?,
            Format::Hcl => hcl(report)?,
        };
        return args.out.write(&text);
    };
    if dir.exists() && !dir.is_dir() {
        return Err(Failure::new(format!("--out-dir: {} is a file", dir.display()))
            .help("name a directory; it is made where there is none"));
    }
    // All of it is made before any of it is written.
    let files = files(report, args.format)?;
    output::make_dir("--out-dir", dir)?;
    for (name, text) in files {
        output::write_file(text.as_bytes(), "--out-dir", &dir.join(name))?;
    }
    Ok(())
}

fn told(refused: &[(String, Refusal)]) -> String {
    let mut out = String::new();
    for (bucket, refusal) in refused {
        out.push_str(&format!("refused  {}  {}\n", visible(bucket), refusal.gate.id()));
        for line in refusal.reason.lines() {
            out.push_str(&format!("  {}\n", visible(line)));
        }
        out.push_str(&format!("  help: {}\n", visible(&refusal.next)));
    }
    out.push_str("nothing was written; `lockshift explain GATE` says more\n");
    out
}

/// What was proven, what changes for whom, and what a reader must know. What is the same for several buckets is said
/// once.
fn said(args: &Args, report: &Report, unread: usize) -> String {
    let mut out = String::new();
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut seen: Vec<(String, &str)> = Vec::new();
    for advice in report.buckets.iter().filter(|_| !args.quiet) {
        let bucket = visible(&advice.bucket);
        out.push_str(&format!("{bucket}: {} requests decided, each as it must be\n", advice.proven));
        if !advice.changed {
            out.push_str("  the bucket policy is as it must be already\n");
        }
        let changes = changes(advice);
        match seen.iter().find(|(earlier, _)| *earlier == changes && !changes.is_empty()) {
            Some((_, same)) => out.push_str(&format!("  the same changes as for {}\n", visible(same))),
            None => out.push_str(&changes),
        }
        seen.push((changes, &advice.bucket));
        for note in &advice.notes {
            match notes.iter_mut().find(|(known, _)| known == note) {
                Some((_, buckets)) => buckets.push(&advice.bucket),
                None => notes.push((note, vec![&advice.bucket])),
            }
        }
    }
    for (note, buckets) in notes {
        let whose = if buckets.len() == report.buckets.len() {
            String::new()
        } else {
            format!("{}: ", visible(&buckets.join(", ")))
        };
        out.push_str(&format!("note: {whose}{}\n", visible_lines(note)));
    }
    for unplaced in &report.unplaced {
        let place = format!("{}:{}", unplaced.file, unplaced.line);
        out.push_str(&format!(
            "not placed: {} ({place}): {}\n",
            visible(&unplaced.root),
            visible_lines(&unplaced.why)
        ));
    }
    if unread > 0 {
        out.push_str(&format!("{unread} places could not be read; `lockshift scan` names them\n"));
    }
    out
}

/// A line for each principal whose place in the four sets changes.
fn changes(advice: &Advice) -> String {
    let mut out = String::new();
    for reach in advice.reach.iter().filter(|reach| reach.differs()) {
        let (before, after) = (&reach.before, &reach.after);
        let sets = [
            ("delete", &before.delete, &after.delete),
            ("overwrite", &before.overwrite, &after.overwrite),
            ("create", &before.create, &after.create),
        ];
        let mut differences: Vec<String> = sets
            .iter()
            .filter(|(_, before, after)| before != after)
            .map(|(set, before, after)| format!("{set} {before} -> {after}"))
            .collect();
        if (&before.strip, &before.strip_actions) != (&after.strip, &after.strip_actions) {
            let left = match after.strip_actions.join(", ") {
                none if none.is_empty() => none,
                actions => format!(" (by {actions})"),
            };
            differences.push(format!("strip {} -> {}{left}", before.strip, after.strip));
        }
        out.push_str(&format!("  {}: {}\n", visible(&reach.who), visible_lines(&differences.join(", "))));
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_name_that_is_no_bucket_s_is_told_alone_and_when_it_is_asked_for() {
        let said = |found: &[&str], impossible: &[&str], flags: &[&str]| {
            let args = Line::parse_from([&["policy"], flags].concat()).args;
            let named = |names: &[&str]| -> BTreeMap<String, BucketStates> {
                names.iter().map(|name| ((*name).to_owned(), BucketStates::default())).collect()
            };
            let chosen = chosen(&args, named(found), &named(impossible));
            chosen.map(|chosen| chosen.into_keys().collect::<Vec<_>>()).map_err(|failure| {
                let shown = failure.shown(false);
                shown.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
            })
        };
        let refused = |text: &str| Err(text.to_owned());
        assert_eq!(said(&[], &["st"], &[]), refused("nothing to write: `st` can't be a bucket's name"));
        assert_eq!(
            said(&[], &["a", "st"], &[]),
            refused("nothing to write: `a`, `st` can't be a bucket's name")
        );
        assert_eq!(
            said(&["acme"], &["st"], &["--bucket", "st"]),
            refused("nothing to write: `st` can't be a bucket's name")
        );
        assert_eq!(said(&["acme"], &["st"], &[]), Ok(vec!["acme".to_owned()]));
        assert_eq!(
            said(&[], &[], &[]),
            refused("nothing to write: no state's bucket and key are known here")
        );
        assert_eq!(said(&["acme"], &[], &["--bucket", "x"]), refused("no state here is in bucket `x`"));
    }
}
