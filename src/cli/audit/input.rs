//! What an audit is about: states from a repository or named by hand, and a snapshot from AWS, from a file or from
//! exports.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::{Args, Failure};
use crate::audit::access::{AccessOptions, questions};
use crate::audit::collect::probe::probe;
use crate::audit::collect::{CollectOptions, collect, simulate};
use crate::audit::expected::{Expected, Named};
use crate::audit::import::{Export, Exports, import};
use crate::audit::lock_info::MAX_BYTES;
use crate::audit::snapshot::{SCHEMA_VERSION, Snapshot, Unread};
use crate::cli::nonce;
use crate::cli::progress::Line;
use crate::cli::tree::{is_nothing, scanned, where_};
use crate::config::Config;
use crate::moment::Moment;
use crate::repo::bounded;
use crate::repo::inventory::Inventory;

/// What should be there, and what of the repository could not be read.
pub(super) struct World {
    /// States, buckets and tables.
    pub expected: Expected,
    /// Files that could hide a backend.
    pub unread: Vec<Unread>,
    /// What was scanned; none where everything was named by hand.
    pub inventory: Option<Inventory>,
}

/// Days for which `--retire` asks who wrote to a table.
const DAYS_OF_WRITES: u32 = 14;

/// `NAME=FILE`. A bucket's name and a table's ARN hold no `=`.
pub(super) fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("write NAME=FILE: what was exported, and where to".to_owned()),
    }
}

/// A file that the user named.
pub(super) fn read_file(file: &Path) -> Result<Vec<u8>, Failure> {
    bounded::read_named(file)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", file.display())))
}

/// The snapshot to judge, and what to hold it against.
pub(super) fn read(
    args: &Args,
    config: &Config,
    access: &AccessOptions,
) -> Result<(Snapshot, World), Failure> {
    let saved = args.snapshot.as_deref().map(saved).transpose()?;
    let exports = !args.s3_export.is_empty() || !args.dynamodb_export.is_empty();
    let by_hand = saved.is_some() || exports || !args.bucket.is_empty() || !args.table.is_empty();
    let mut world = if args.tree.paths.is_empty() && by_hand {
        World { expected: Expected::default(), unread: Vec::new(), inventory: None }
    } else {
        repository(args, config)?
    };
    let options = options(args, config);
    options.apply(&mut world.expected);
    world.expected.named = named(args, saved.as_ref());
    let snapshot = match saved {
        Some(snapshot) => snapshot,
        None if exports => exported(args, &world.expected)?,
        None => {
            if names_nothing(&world) {
                return Err(nothing(args));
            }
            let line = Line::new(args.quiet);
            let say = |text: &str| line.say(text);
            let mut read = collect(&world.expected, &options, &say);
            if let (Ok(read), true) = (&mut read, args.simulate) {
                let asked = questions(read, &world.expected, access);
                simulate(&world.expected, &options, &asked, read, &say)
                    .map_err(|error| Failure::new(error.to_string()))?;
            }
            line.finish();
            let mut read = read.map_err(|error| Failure::new(error.to_string()))?;
            if args.probe {
                probed(args, &world, &options, &mut read)?;
            }
            read
        }
    };
    if names_nothing(&world) && snapshot.buckets.is_empty() && snapshot.tables.is_empty() {
        return Err(nothing(args));
    }
    Ok((snapshot, world))
}

fn names_nothing(world: &World) -> bool {
    let expected = &world.expected;
    expected.states.is_empty()
        && expected.unplaced.is_empty()
        && expected.named == Named::default()
        && world.unread.is_empty()
}

fn nothing(args: &Args) -> Failure {
    let place = where_(&args.tree.paths);
    Failure::new(format!("nothing to look at: no s3 backend is configured {place}, and no bucket is named"))
        .help(
            "name the directory that holds the configuration, or a bucket: `lockshift audit --bucket BUCKET`",
        )
}

/// What the repository says.
fn repository(args: &Args, config: &Config) -> Result<World, Failure> {
    let options = args.tree.options(config);
    let inventory = scanned(&options, args.quiet)?;
    if is_nothing(&inventory, &options)? {
        return Err(nothing(args));
    }
    let (expected, unread) = (Expected::of(&inventory), unread(&inventory));
    Ok(World { expected, unread, inventory: Some(inventory) })
}

/// A file that could not be read may hold a backend that nobody looks for now.
fn unread(inventory: &Inventory) -> Vec<Unread> {
    let problems = inventory.problems.iter().filter(|problem| problem.kind.hides_something());
    problems
        .map(|problem| Unread {
            resource: problem.place.to_string(),
            operation: "scan".to_owned(),
            reason: format!("{}: {}", problem.kind.id(), problem.message),
            missing_action: None,
            hides_locks: true,
        })
        .collect()
}

/// What was named by hand. A saved snapshot names what it holds.
fn named(args: &Args, saved: Option<&Snapshot>) -> Named {
    let mut named =
        Named { buckets: args.bucket.clone(), tables: args.table.clone(), prefixes: args.prefix.clone() };
    named.buckets.extend(args.s3_export.iter().map(|(bucket, _)| bucket.clone()));
    named.tables.extend(args.dynamodb_export.iter().map(|(table, _)| table.clone()));
    named.tables.extend(args.retire.iter().cloned());
    // With a repository it is the repository that says what should be there.
    if let Some(snapshot) = saved.filter(|_| args.tree.paths.is_empty()) {
        named.buckets.extend(snapshot.buckets.iter().map(|bucket| bucket.name.clone()));
        let name =
            |table: &crate::audit::snapshot::TableSnapshot| table.arn.clone().unwrap_or(table.name.clone());
        named.tables.extend(snapshot.tables.iter().map(name));
    }
    for names in [&mut named.buckets, &mut named.tables, &mut named.prefixes] {
        names.sort();
        names.dedup();
    }
    named
}

fn options(args: &Args, config: &Config) -> CollectOptions {
    CollectOptions {
        window: args.window,
        settle: (!args.settle.is_zero()).then_some(args.settle),
        read_states: args.read_states,
        iam: args.iam,
        table_writes: args.retire.is_some().then_some(DAYS_OF_WRITES),
        concurrency: usize::from(args.concurrency),
        ..args.reach.options(config)
    }
}

/// Asks each store whether it honours conditions, and adds what it said.
fn probed(
    args: &Args,
    world: &World,
    options: &CollectOptions,
    snapshot: &mut Snapshot,
) -> Result<(), Failure> {
    let nonce = nonce();
    let probed = probe(&world.expected, options, &args.probe_prefix, nonce)
        .map_err(|error| Failure::new(format!("threads for probing could not be started: {error}")))?;
    snapshot.probes.extend(probed.probes);
    snapshot.unread.extend(probed.unread);
    snapshot.sort();
    Ok(())
}

/// What only the user knows of access: which roles do what, and the organization's policies.
pub(super) fn access(args: &Args, config: &Config) -> Result<AccessOptions, Failure> {
    let levels = |files: &[PathBuf]| -> Result<Vec<Vec<(String, String)>>, Failure> {
        files.iter().map(|file| level(file)).collect()
    };
    let roles = &config.roles;
    Ok(AccessOptions {
        runners: roles.runners.clone(),
        plan: roles.plan.clone(),
        break_glass: roles.break_glass.clone(),
        state_admin: roles.state_admin.clone(),
        scps: levels(&args.scp)?,
        rcps: if args.rcp.is_empty() { None } else { Some(levels(&args.rcp)?) },
    })
}

/// The policies of one level: a file with one document or a list of them, each as it is or as
/// `aws organizations describe-policy` prints it.
fn level(file: &Path) -> Result<Vec<(String, String)>, Failure> {
    const HELP: &str = "write one policy document, or a JSON list of them";
    const DESCRIBE: &str =
        "`aws organizations describe-policy --policy-id ID` prints a policy with its statements";
    let name = file.display().to_string();
    let bytes = read_file(file)?;
    // A byte order mark is no part of the document.
    let json = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let value: Value = serde_json::from_slice(json)
        .map_err(|error| Failure::json(&name, json, "no policy", &error).help(HELP))?;
    let documents = match value {
        Value::Array(documents) => documents,
        document => vec![document],
    };
    let text = |(number, document): (usize, Value)| {
        let name = format!("{name}[{number}]");
        match document.pointer("/Policy/Content") {
            Some(Value::String(content)) => Ok((name, content.clone())),
            // What only names policies (`list-policies-for-target`) would limit nothing, and look as if it did.
            _ if document.is_object() && document.get("Statement").is_none() => {
                Err(Failure::new(format!("{name}: no policy: it has no `Statement`")).help(DESCRIBE))
            }
            _ if document.is_object() => Ok((name, document.to_string())),
            _ => Err(Failure::new(format!("{name}: no policy: it is no JSON object")).help(HELP)),
        }
    };
    documents.into_iter().enumerate().map(text).collect()
}

/// A snapshot from a file.
fn saved(file: &Path) -> Result<Snapshot, Failure> {
    let bytes = read_file(file)?;
    let mut snapshot: Snapshot = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::json(file.display(), &bytes, "no snapshot", &error)
            .help("a snapshot is made with `lockshift audit --save-snapshot FILE`; docs/schema describes it")
    })?;
    if snapshot.schema_version != SCHEMA_VERSION {
        let said = format!("{}: a snapshot of version {}", file.display(), snapshot.schema_version);
        return Err(Failure::new(said).help(format!("this lockshift reads version {SCHEMA_VERSION}")));
    }
    snapshot.sort();
    Ok(snapshot)
}

/// A snapshot from what the AWS CLI printed.
fn exported(args: &Args, expected: &Expected) -> Result<Snapshot, Failure> {
    let files = args.s3_export.iter().chain(&args.dynamodb_export).map(|(_, file)| file);
    let taken_at =
        args.exported_at.or_else(|| oldest(files)).unwrap_or_else(|| Moment::of(SystemTime::now()));
    let all = |named: &[(String, PathBuf)]| -> Result<Vec<Export>, Failure> {
        let one = |(of, file): &(String, PathBuf)| {
            Ok(Export { of: of.clone(), file: file.display().to_string(), bytes: read_file(file)? })
        };
        named.iter().map(one).collect()
    };
    let exports = Exports {
        tables: all(&args.dynamodb_export)?,
        buckets: all(&args.s3_export)?,
        prefixes: args.prefix.clone(),
        region: args.reach.region(),
        taken_at,
    };
    let body = |bucket: &str, key: &str| lock_body(args.lock_bodies.as_deref()?, bucket, key);
    import(&exports, &body, expected, args.window).map_err(|error| {
        Failure::new(error.to_string()).help("docs/running.md has the commands that make these files")
    })
}

/// When the oldest file was written: ages are counted from there.
fn oldest<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Option<Moment> {
    files.filter_map(|file| fs::metadata(file).ok()?.modified().ok()).map(Moment::of).min()
}

/// The file that holds one lock's body. A key is a store's text: one that leads out of the directory is no file there.
fn lock_body(dir: &Path, bucket: &str, key: &str) -> Option<Vec<u8>> {
    let below = Path::new(bucket).join(key);
    if below.components().any(|part| !matches!(part, Component::Normal(_))) {
        return None;
    }
    let path = dir.join(below);
    // No lock document is larger; a byte more is enough to see that it is none.
    bounded::read(&path, MAX_BYTES + 1).ok()
}
