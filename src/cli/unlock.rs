//! `lockshift unlock`: releases a lock that nobody holds any more, on condition. Joins finding the state, reading both
//! stores, deciding, asking, removing and reading back.

pub(super) mod target;

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, ValueEnum};

use super::failure::Failure;
use super::output::{self, Terminal};
use super::reach::Reach;
use super::rule_id::RuleId;
use super::tree::ConfigArgs;
use super::{Outcome, nonce};
use crate::config::duration;
use crate::report::unlock as report;
use crate::unlock::decide::{Decision, Wanted, decide};
use crate::unlock::digest::{self, DigestDecision, WantedDigest};
use crate::unlock::perform::Session;
use crate::unlock::record::{After, Record, SCHEMA_VERSION};
use crate::unlock::seen::{Side, Store};
use crate::unlock::stores::Stores;
use target::{Choice, Target};

const EXIT_CODES: &str = "\
Exit codes:
  0  the lock is gone (or was not there), the digest is as wanted; with --dry-run: it would be
  1  refused, or kept because something changed: nothing was removed that was not shown; no such state
  2  could not run: usage, configuration
  3  something could not be read

Examples:
  lockshift unlock s3://acme-state/net/terraform.tfstate --id fd7c2461-cb87-2db7-062f-a80e23e8cd7e --table locks
  lockshift unlock envs/prod --workspace blue --id fd7c2461-cb87-2db7-062f-a80e23e8cd7e
  lockshift unlock --from-audit audit.json --rule lock-stale --yes --record removed.json
  lockshift unlock s3://acme-state/net/terraform.tfstate --table locks --digest set";

/// What says which lock or digest is meant: an error about none of them names them all.
const WHICH: [&str; 4] = ["id", "unreadable", "digest", "from_audit"];

/// Release a lock that nobody holds any more, in both stores and on condition
///
/// Reads the `.tflock` object and the lock item, shows both, and removes them only while they are what was shown: with
/// `If-Match` in S3, with the condition that `Info` is the same text in DynamoDB. A lock that was released and taken
/// anew in between stays. Then it reads both stores again and says what is true.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES, group = ArgGroup::new("which").required(true).multiple(true).args(WHICH))]
pub(super) struct Args {
    /// `s3://BUCKET/STATE-PATH`, or the directory of a root module.
    #[arg(value_name = "STATE", required_unless_present = "from_audit", conflicts_with = "from_audit")]
    state: Option<String>,
    /// The lock's ID, as Terraform and `lockshift audit` show it.
    #[arg(long, value_name = "ID", conflicts_with_all = ["unreadable", "from_audit", "digest"])]
    id: Option<String>,
    /// The lock has no ID that can be read (empty, foreign, another state's).
    #[arg(long, conflicts_with = "digest")]
    unreadable: bool,
    /// Only in this store.
    #[arg(long, value_enum, value_name = "STORE")]
    only: Option<Only>,
    /// Set or remove the state's `-md5` item instead, after comparing it with the state.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["from_audit", "only"])]
    digest: Option<WhatDigest>,
    /// Read the state's body where only that tells its MD5.
    #[arg(long, requires = "digest")]
    read_state: bool,

    #[command(flatten)]
    choice: Choice,
    /// An audit's JSON: every lock that the rule found in it.
    #[arg(long, value_name = "FILE", requires = "rule", help_heading = "Which state")]
    from_audit: Option<PathBuf>,
    /// Which of the audit's findings.
    #[arg(long, value_name = "RULE", value_parser = RuleId, hide_possible_values = true, requires = "from_audit", help_heading = "Which state")]
    rule: Option<String>,

    /// From what age on a lock counts as left behind [default: lockshift.toml, else 2h].
    #[arg(long, value_name = "AGE", value_parser = age)]
    stale_after: Option<Duration>,
    /// Remove it although it is younger.
    #[arg(long)]
    even_if_young: bool,
    /// Do not ask. Without a terminal nothing is removed otherwise.
    #[arg(long, short)]
    yes: bool,
    /// Show what would be removed, and remove nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Write what was removed to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// The `.tflock` object.
    S3,
    /// The lock item.
    Dynamodb,
}

impl From<Only> for Store {
    fn from(only: Only) -> Self {
        match only {
            Only::S3 => Store::S3,
            Only::Dynamodb => Store::DynamoDb,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WhatDigest {
    /// Write the MD5 of the state.
    Set,
    /// Take the item away.
    Remove,
}

fn age(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| "a number and a unit: 45m, 24h, 7d".to_owned())
}

/// What every target shares.
struct Run<'a> {
    args: &'a Args,
    session: Session,
    stale_after: Duration,
    terminal: Terminal,
    records: Vec<Record>,
}

/// Finds, shows, asks, removes, says.
pub(super) fn run(args: &Args, terminal: Terminal) -> Result<Outcome, Failure> {
    let config = args.config.load()?;
    args.reach.check()?;
    let targets = target::targets(args, &config)?;
    if targets.is_empty() {
        output::write("nothing to release\n")?;
        return Ok(Outcome::Clean);
    }
    // Made before anything is removed: a record that can't be written is found out now.
    let record = args.record.as_deref().map(|path| open_record(path).map(|file| (path, file))).transpose()?;
    let session = Session::new(args.reach.options(&config)).map_err(Failure::new)?;
    let stale_after = args.stale_after.or(config.stale_after).unwrap_or(crate::audit::STALE_AFTER);
    let mut run = Run { args, session, stale_after, terminal, records: Vec::new() };
    let mut outcomes = Vec::new();
    for target in &targets {
        if run.session.interrupted() {
            output::to_stderr("interrupted: the states after this one were not looked at\n");
            outcomes.push(Outcome::Unjudged);
            break;
        }
        outcomes.push(match target {
            Ok(target) => run.one(target)?,
            Err(why) => {
                output::to_stderr(&why.shown(terminal.colour_stderr));
                Outcome::Unjudged
            }
        });
    }
    if let Some((path, file)) = record {
        write_record(path, file, &run.records)?;
    }
    let worst = [Outcome::Findings, Outcome::Unjudged].into_iter().find(|worst| outcomes.contains(worst));
    Ok(worst.unwrap_or(Outcome::Clean))
}

impl Run<'_> {
    fn one(&mut self, target: &Target) -> Result<Outcome, Failure> {
        let stores = self.session.open(target.state.clone(), &target.access, target.table.as_ref());
        let stores = stores.map_err(|why| Failure::new(format!("{}: {why}", target.state)))?;
        match self.args.digest {
            Some(wanted) => self.digest(&stores, wanted),
            None => self.lock(&stores, target),
        }
    }

    fn lock(&mut self, stores: &Stores, target: &Target) -> Result<Outcome, Failure> {
        let colour = self.terminal.colour_stdout;
        let seen = self.session.read(stores);
        output::write(&report::records(&seen, self.terminal.width, colour))?;
        let wanted = Wanted {
            lock: target.lock.clone(),
            only: self.args.only.map(Into::into),
            locks_in: target.locks_in,
            stale_after: self.stale_after,
            even_if_young: self.args.even_if_young,
        };
        let removals = match decide(&seen, &wanted) {
            Decision::Free => {
                // Nothing is locked where nothing is: the path may be mistyped.
                let exists = self.session.state_exists(stores);
                output::write(&report::no_lock(exists.as_ref()))?;
                return Ok(if exists == Ok(false) { Outcome::Findings } else { Outcome::Clean });
            }
            Decision::Refuse(refusal) => {
                output::write(&report::refusal(&refusal, self.terminal.width, colour))?;
                let unread = refusal.gate == crate::unlock::decide::UNREAD;
                return Ok(if unread { Outcome::Unjudged } else { Outcome::Findings });
            }
            Decision::Remove(removals) => removals,
        };
        if removals.iter().any(|removal| removal.store == Store::S3)
            && let Some(refusal) = self.session.unconditional(stores, nonce())
        {
            output::write(&report::refusal(&refusal, self.terminal.width, colour))?;
            return Ok(Outcome::Findings);
        }
        let stores_named: Vec<String> = removals.iter().map(|removal| removal.store.to_string()).collect();
        if self.args.dry_run {
            output::write(&format!("would be removed from {}\n", stores_named.join(" and ")))?;
            return Ok(Outcome::Clean);
        }
        if !self.confirmed(&format!("Remove this lock from {}?", stores_named.join(" and ")))? {
            return Ok(Outcome::Findings);
        }
        let done = self.session.remove(stores, &seen, &removals);
        output::write(&report::actions(&done.actions, colour))?;
        output::write(&report::after(&done.after))?;
        let free = |store: Store| matches!(done.after.side(store), Side::Free | Side::NotAsked);
        let unread = |store: Store| matches!(done.after.side(store), Side::Unread(_));
        let all_removed = done.actions.iter().all(|action| action.result == "removed");
        let gone = removals.iter().all(|removal| free(removal.store));
        let unknown = removals.iter().any(|removal| unread(removal.store));
        self.records.push(Record {
            schema_version: SCHEMA_VERSION,
            state: seen.state.to_string(),
            by: who(),
            read_at: seen.at,
            actions: done.actions,
            now: After::of(&done.after),
        });
        Ok(match (all_removed, gone, unknown) {
            (_, true, _) | (true, _, false) => Outcome::Clean,
            (true, _, true) => Outcome::Unjudged,
            _ => Outcome::Findings,
        })
    }

    fn digest(&mut self, stores: &Stores, wanted: WhatDigest) -> Result<Outcome, Failure> {
        let colour = self.terminal.colour_stdout;
        let seen = self.session.read_digest(stores, self.args.read_state);
        output::write(&report::digest(&seen, colour))?;
        let wanted = match wanted {
            WhatDigest::Set => WantedDigest::Set,
            WhatDigest::Remove => WantedDigest::Remove,
        };
        let decision = digest::decide(&seen, wanted);
        match &decision {
            DigestDecision::Done => {
                output::write("it is as wanted: nothing to do\n")?;
                return Ok(Outcome::Clean);
            }
            DigestDecision::Refuse(refusal) => {
                output::write(&report::refusal(refusal, self.terminal.width, colour))?;
                let unread = refusal.gate == crate::unlock::decide::UNREAD;
                return Ok(if unread { Outcome::Unjudged } else { Outcome::Findings });
            }
            DigestDecision::Write { .. } | DigestDecision::Delete { .. } => {}
        }
        let question = match wanted {
            WantedDigest::Set => "Write the MD5 of the state into the digest item?",
            WantedDigest::Remove => "Remove the digest item?",
        };
        if self.args.dry_run {
            output::write("would be done\n")?;
            return Ok(Outcome::Clean);
        }
        if !self.confirmed(question)? {
            return Ok(Outcome::Findings);
        }
        let (action, after) = self.session.write_digest(stores, &decision);
        let actions: Vec<_> = action.into_iter().collect();
        output::write(&report::actions(&actions, colour))?;
        let done = actions.iter().all(|action| matches!(action.result.as_str(), "written" | "removed"));
        let seen_after = digest::DigestSeen { item: after, ..seen.clone() };
        output::write(&report::digest(&seen_after, colour))?;
        self.records.push(Record {
            schema_version: SCHEMA_VERSION,
            state: seen.locks.state.to_string(),
            by: who(),
            read_at: seen.locks.at,
            actions,
            now: After::of(&seen.locks),
        });
        Ok(if done { Outcome::Clean } else { Outcome::Findings })
    }

    /// Whether the user agrees to what was just shown.
    fn confirmed(&self, question: &str) -> Result<bool, Failure> {
        if self.args.yes {
            return Ok(true);
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::new("nobody is there to ask, so nothing was removed")
                .help("say `--yes` when what is shown above may go"));
        }
        output::to_stderr(&format!("{question} [y/N] "));
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        read.map_err(|error| Failure::new(format!("could not read the answer: {error}")))?;
        let agreed = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
        if !agreed {
            output::write("nothing was removed\n")?;
        }
        Ok(agreed)
    }
}

fn open_record(path: &Path) -> Result<std::fs::File, Failure> {
    output::no_link("--record", path)?;
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        Failure::new(format!("could not make the record {}: {error}", path.display()))
            .help("nothing was removed; name a file that does not exist yet, in a directory that does")
    })
}

fn write_record(path: &Path, mut file: std::fs::File, records: &[Record]) -> Result<(), Failure> {
    use std::io::Write;
    let text = serde_json::to_string_pretty(records).unwrap_or_default();
    file.write_all(format!("{text}\n").as_bytes()).map_err(|error| {
        Failure::new(format!("could not write the record {}: {error}", path.display()))
            .help("what was removed is shown above")
    })
}

/// `USER@HOST`, as lock documents say it.
fn who() -> String {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok());
    format!("{}@{}", user.as_deref().unwrap_or("unknown"), host.as_deref().map_or("unknown", str::trim))
}
