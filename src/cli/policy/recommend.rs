//! `lockshift policy`: the policies that the states here need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::documents::{Format, Report, Statement, Unplaced, files, hcl, json};
use super::said::{said, told};
use super::wanted::{Args, Phase, chosen, context, existing, is_bucket, owner, partitions, roles};
use crate::audit::expected::Expected;
use crate::audit::policies::buckets;
use crate::cli::Outcome;
use crate::cli::failure::Failure;
use crate::cli::help;
use crate::cli::output;
use crate::cli::tree::{is_nothing, nothing_to_look_at, scanned};
use crate::policy::recommend::{Advice, Wanted, recommend};
use crate::repo::facts::GrantKind;
use crate::repo::inventory::Inventory;

/// What `--help` says at its end.
pub(super) const MORE: &str = "\
Exit codes:
  0  the documents were written and proven, for everything that is here
  1  a gate refused: nothing was written
  2  could not run: usage, configuration, roles that are not named, nothing to look at
  3  the documents were written and proven, but something here could not be read or placed: they may lack states";

/// Scans, recommends, proves, writes.
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    if let [word] = args.tree.paths.as_slice()
        && let Some(near) = mistyped(word)
    {
        return Err(Failure::new(format!("there is no path `{}`", word.display()))
            .help(format!("did you mean `lockshift policy {near}`?")));
    }
    let config = args.config.load()?;
    args.tree.start_threads()?;
    let roles = roles(args, &config.roles)?;
    let (partition, account) = owner(args, &roles)?;
    let options = args.tree.options(&config);
    let inventory = scanned(&options, args.quiet)?;
    if is_nothing(&inventory, &options)? {
        return Err(nothing_to_look_at(&args.tree.paths, "lockshift policy PATH"));
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
    output::to_stderr(&said(args.quiet, &report, unread));
    let whole = unread == 0 && report.unplaced.is_empty();
    Ok(if whole { Outcome::Clean } else { Outcome::Unjudged })
}

/// The command that a path was probably meant to be which is not there.
fn mistyped(path: &Path) -> Option<String> {
    let program = crate::cli::command();
    let policy = program.find_subcommand("policy")?;
    path.to_str().filter(|_| !path.exists()).and_then(|word| help::mistyped(policy, word))
}

const NO_PRESENT_POLICY: &str = "the bucket is taken to have no policy today: putting this one replaces whatever it has. \
                                 Give the present one with `--existing-policy FILE`";

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
