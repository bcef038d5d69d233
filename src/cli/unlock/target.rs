//! Which state is meant, which table it has, and how both are reached: from an address, from a directory, or from an
//! audit's findings.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::audit_file;
use super::super::failure::Failure;
use super::super::tree::{TreeArgs, scanned};
use super::Args;
use crate::audit::expected::{Access, Expected, ExpectedState, TableRef};
use crate::config::Config;
use crate::repo::inventory::LockMode;
use crate::rules;
use crate::unlock::decide::WhichLock;
use crate::unlock::seen::{State, Store};

/// One state whose lock shall go.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct Target {
    pub state: State,
    pub access: Access,
    pub table: Option<TableRef>,
    pub lock: WhichLock,
    /// The one store in which its runs lock, where the repository says so.
    pub locks_in: Option<Store>,
}

/// Named by each flag: a heading for what follows would not end with them.
const HEADING: &str = "Which state";

/// Which of several states, and which table: flags that every command about one state shares.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Choice {
    /// Workspace, with a directory.
    #[arg(long, value_name = "NAME", default_value = "default", help_heading = HEADING)]
    pub workspace: String,
    /// Which bucket, where a directory's backend can be in several.
    #[arg(long, value_name = "BUCKET", value_parser = crate::cli::names::bucket, help_heading = HEADING)]
    pub bucket: Option<String>,
    /// The lock table, by name or ARN [default: what the scanned directory says].
    #[arg(long, value_name = "TABLE", value_parser = crate::cli::names::table, help_heading = HEADING)]
    pub table: Option<String>,
    /// There is no lock table: runs lock in S3 alone.
    #[arg(long, conflicts_with = "table", help_heading = HEADING)]
    pub no_table: bool,
    /// Where to look for the backend of an `s3://…` state [default: the current directory].
    #[arg(long = "in", value_name = "PATH", help_heading = HEADING)]
    pub within: Vec<PathBuf>,
}

/// Every target, in order; what can't be one says why, and stops no other.
pub(super) fn targets(args: &Args, config: &Config) -> Result<Vec<Result<Target, Failure>>, Failure> {
    if let (Some(file), Some(rule)) = (&args.from_audit, &args.rule) {
        return from_audit(args, config, file, rule);
    }
    let Some(state) = &args.state else { return Ok(Vec::new()) };
    let lock = match &args.id {
        Some(id) => WhichLock::Id(id.clone()),
        None => WhichLock::Unreadable,
    };
    Ok(vec![Ok(named(state, &args.choice, lock, args.only == Some(super::Only::S3), config)?)])
}

/// The state that an address or a directory names. `s3_only`: nothing is asked or said of a table.
pub(in crate::cli) fn named(
    named: &str,
    choice: &Choice,
    lock: WhichLock,
    s3_only: bool,
    config: &Config,
) -> Result<Target, Failure> {
    let (state, found) = match address(named)? {
        Some(state) => {
            // A state that is named with its table needs no repository; where we stand in one, it says the way there
            // (profile, region, endpoint).
            let told = choice.table.is_some() || choice.no_table || s3_only;
            let found = if choice.within.is_empty() && told && !in_repository() {
                Vec::new()
            } else {
                let expected = expected(&choice.within, config)?;
                let index = expected.index();
                index
                    .at(&state.bucket, &state.state_path)
                    .into_iter()
                    .map(|(state, _)| state.clone())
                    .collect()
            };
            (state, found)
        }
        None => of_directory(choice, config, named)?,
    };
    let table = table(choice, s3_only, &state, &found)?;
    let access = found.first().map(|found| found.access.clone()).unwrap_or_default();
    Ok(Target { state, access, table, lock, locks_in: locks_in(&found) })
}

/// `s3://BUCKET/STATE-PATH`; none for what is no address.
fn address(named: &str) -> Result<Option<State>, Failure> {
    let Some(rest) = named.strip_prefix("s3://") else { return Ok(None) };
    let wrong = || {
        Failure::new(format!("`{named}` is no state"))
            .help("write it as s3://BUCKET/STATE-PATH, without `.tflock`")
    };
    let (bucket, path) = rest.split_once('/').ok_or_else(wrong)?;
    if bucket.is_empty() || path.is_empty() {
        return Err(wrong());
    }
    // People copy what they see in the bucket.
    let path = path.strip_suffix(crate::audit::snapshot::LOCK_SUFFIX).unwrap_or(path);
    Ok(Some(State { bucket: bucket.to_owned(), state_path: path.to_owned() }))
}

/// Whether the current directory belongs to a repository: only then it is worth reading without being asked to.
fn in_repository() -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().any(|above| above.join(".git").exists())
}

fn expected(paths: &[PathBuf], config: &Config) -> Result<Expected, Failure> {
    Ok(Expected::of(&scanned(&TreeArgs::of(paths).options(config), false)?))
}

/// The states of a directory: all of one place, else the user has to choose.
fn of_directory(
    choice: &Choice,
    config: &Config,
    named: &str,
) -> Result<(State, Vec<ExpectedState>), Failure> {
    let dir = Path::new(named);
    if !dir.is_dir() {
        return Err(Failure::new(format!("`{named}` is neither s3://BUCKET/STATE-PATH nor a directory"))
            .help("write s3:// in front of the bucket, or name a root module's directory"));
    }
    let expected = expected(&[dir.to_owned()], config)?;
    let shown = named.trim_end_matches('/');
    let shown = shown.strip_prefix("./").unwrap_or(shown);
    let states: Vec<ExpectedState> = expected
        .states
        .iter()
        .filter(|state| state.root == shown || (shown.is_empty() && state.root == "."))
        .filter(|state| choice.bucket.as_ref().is_none_or(|bucket| *bucket == state.bucket))
        .cloned()
        .collect();
    let Some(first) = states.first() else {
        let why = expected.unplaced.iter().find(|unplaced| unplaced.root == shown);
        let why =
            why.map_or_else(|| "no S3 backend was found there".to_owned(), |unplaced| unplaced.why.clone());
        return Err(Failure::new(format!("which state `{named}` has is not known: {why}"))
            .help("name the state itself: lockshift unlock s3://BUCKET/STATE-PATH"));
    };
    if let Some(other) =
        states.iter().find(|state| (&state.bucket, &state.key) != (&first.bucket, &first.key))
    {
        return Err(Failure::new(format!(
            "`{named}` has several states: s3://{}/{} and s3://{}/{}",
            first.bucket, first.key, other.bucket, other.key
        ))
        .help("choose with --bucket, or name the state itself: lockshift unlock s3://BUCKET/STATE-PATH"));
    }
    let state = State { bucket: first.bucket.clone(), state_path: first.path_of(&choice.workspace) };
    Ok((state, states))
}

/// The table that holds the state's other lock. Never guessed: a lock that is left in a table that nobody looked at
/// stops the next run.
fn table(
    choice: &Choice,
    s3_only: bool,
    state: &State,
    found: &[ExpectedState],
) -> Result<Option<TableRef>, Failure> {
    // Nothing is asked or said of a table that nobody names when only the other store is meant.
    if choice.no_table || (s3_only && choice.table.is_none() && found.is_empty()) {
        return Ok(None);
    }
    if let Some(table) = &choice.table {
        let access = found.first().map(|found| found.access.clone()).unwrap_or_default();
        return Ok(Some(TableRef::of(table, &access)));
    }
    if found.is_empty() {
        return Err(Failure::new(format!("whether {state} has a lock table is not known"))
            .help("name it with --table, say --no-table, or name the repository with --in PATH"));
    }
    if let Some(unknown) = found.iter().find(|found| found.mode == LockMode::Unknown) {
        return Err(Failure::new(format!("how {} locks {state} is not known", unknown.root))
            .help("name the table with --table, or say --no-table"));
    }
    let mut tables: Vec<TableRef> = found.iter().filter_map(ExpectedState::table_ref).collect();
    tables.sort();
    tables.dedup();
    match tables.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [one, other, ..] => Err(Failure::new(format!(
            "the repository names several tables for {state}: `{}` and `{}`",
            one.name, other.name
        ))
        .help("choose with --table")),
    }
}

/// The one store in which all of a state's root modules lock; none where they take both, or differ.
fn locks_in(found: &[ExpectedState]) -> Option<Store> {
    let mut stores = found.iter().map(|state| match state.mode {
        LockMode::Dynamodb => Some(Store::DynamoDb),
        LockMode::Lockfile => Some(Store::S3),
        LockMode::Dual | LockMode::None | LockMode::Unknown => None,
    });
    let first = stores.next()??;
    stores.all(|store| store == Some(first)).then_some(first)
}

#[derive(Deserialize)]
struct AuditJson {
    findings: Vec<FindingJson>,
    #[serde(default)]
    states: Vec<StateJson>,
}

#[derive(Deserialize)]
struct StateJson {
    bucket: String,
    state_path: String,
    mode: String,
}

#[derive(Deserialize)]
struct FindingJson {
    rule: String,
    subject: String,
    #[serde(default)]
    ignored: Option<String>,
    #[serde(default)]
    locks: Option<LocksJson>,
}

#[derive(Deserialize, Default)]
struct LocksJson {
    s3: Option<LockJson>,
    dynamodb: Option<LockJson>,
}

#[derive(Deserialize)]
struct LockJson {
    id: Option<String>,
    table: Option<String>,
    #[serde(default)]
    table_arn: Option<String>,
}

/// One finding's lock. `mode` is how the audit said that the state's runs lock.
fn of_finding(
    args: &Args,
    state: State,
    locks: &LocksJson,
    found: &[ExpectedState],
    mode: Option<&str>,
) -> Result<Target, Failure> {
    let id = [&locks.s3, &locks.dynamodb].into_iter().flatten().find_map(|lock| lock.id.clone());
    let access = found.first().map(|found| found.access.clone()).unwrap_or_default();
    // The ARN says region and account, too.
    let item = locks.dynamodb.as_ref();
    let named = item.and_then(|lock| lock.table_arn.clone().or_else(|| lock.table.clone()));
    let table = match named.or_else(|| args.choice.table.clone()) {
        Some(name) => Some(TableRef::of(&name, &access)),
        // The audit knew how its runs lock, where this place does not.
        None if found.is_empty() && mode == Some("lockfile") => None,
        None => table(&args.choice, args.only == Some(super::Only::S3), &state, found)?,
    };
    // A document of another state has an ID that counts for nothing here.
    let foreign = args.rule.as_deref() == Some("lock-path-mismatch");
    let lock = id.filter(|_| !foreign).map_or(WhichLock::Unreadable, WhichLock::Id);
    Ok(Target { state, access, table, lock, locks_in: locks_in(found) })
}

/// The locks of an audit's findings. What the audit says of them is not believed: each is read and judged again.
fn from_audit(
    args: &Args,
    config: &Config,
    file: &Path,
    rule: &str,
) -> Result<Vec<Result<Target, Failure>>, Failure> {
    if rules::find(rule).is_none() {
        let failure = Failure::new(format!("there is no rule `{rule}`"));
        return Err(match rules::suggest(rule) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help("`lockshift explain` lists all rules"),
        });
    }
    let text = audit_file::read(file)?;
    let audit: AuditJson = serde_json::from_slice(&text).map_err(|error| {
        Failure::json(file.display(), &text, "no audit's JSON", &error)
            .help("make one: lockshift audit --format json --output audit.json")
    })?;
    if !rules::names_a_lock(rule) {
        let mut named: Vec<&str> = audit.findings.iter().map(|finding| finding.rule.as_str()).collect();
        named.retain(|rule| rules::names_a_lock(rule));
        named.sort_unstable();
        named.dedup();
        let help = match named.as_slice() {
            [] => "this audit has no finding about a lock".to_owned(),
            named => format!("this audit has findings about locks of: {}", named.join(", ")),
        };
        return Err(Failure::new(format!("`{rule}` names no lock that could be released")).help(help));
    }
    // Where the audit ran is where its states are configured, unless another place is named.
    let expected = expected(&args.choice.within, config)?;
    let index = expected.index();
    let mut targets: Vec<Result<Target, Failure>> = Vec::new();
    for finding in audit.findings.iter().filter(|finding| finding.rule == rule && finding.ignored.is_none()) {
        let (Ok(Some(state)), Some(locks)) = (address(&finding.subject), &finding.locks) else { continue };
        let at = index.at(&state.bucket, &state.state_path);
        let found: Vec<ExpectedState> = at.into_iter().map(|(state, _)| state.clone()).collect();
        let said = audit
            .states
            .iter()
            .find(|said| said.bucket == state.bucket && said.state_path == state.state_path);
        let target = of_finding(args, state, locks, &found, said.map(|said| said.mode.as_str()));
        if !targets.iter().any(|known| matches!((known, &target), (Ok(a), Ok(b)) if a == b)) {
            targets.push(target);
        }
    }
    Ok(targets)
}
