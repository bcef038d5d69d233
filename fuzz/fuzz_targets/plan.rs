//! Bytes to a plan to edits. Whatever is planned keeps every byte outside of its spans, comes to the mode that it
//! promises when it is read again, and leaves nothing to do for a second run.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use lockshift::migrate::options::{Context, Options};
use lockshift::migrate::phase::Phase;
use lockshift::migrate::plan::{FileChange, Plan};
use lockshift::migrate::planner::plan;
use lockshift::repo::inventory::LockMode;
use lockshift::repo::scan::{Collected, ScanOptions, Silent, collect};

/// Files of a small repository; an input replaces one of them.
const FILES: &[(&str, &str)] = &[
    (
        "a/main.tf",
        "terraform {\n  required_version = \">= 1.5\"\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n",
    ),
    ("a/b_override.tf", "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n"),
    ("j/main.tf.json", "{\"terraform\": {\"backend\": {\"s3\": {\"bucket\": \"b\"}}}}\n"),
    ("p/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
    ("p/dev.tfbackend", "bucket = \"b\"\nkey = \"k\"\nregion = \"r\"\n"),
    ("p/init.sh", "terraform init -backend-config=dev.tfbackend -backend-config=\"key=k\"\n"),
    ("live/terragrunt.hcl", "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n  }\n}\n"),
    ("stacks/atmos.yaml", "terraform:\n  backend_type: s3\n  backend:\n    s3:\n      bucket: b\n"),
];

/// The repository as it is read once, and its shown paths in the order of `FILES`.
static REPOSITORY: LazyLock<(Collected, Vec<String>)> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in FILES {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let options =
        ScanOptions { paths: vec![dir.path().to_owned()], threads: Some(1), ..ScanOptions::default() };
    let collected = collect(&options, &Silent).expect("a scan");
    let inventory = collected.inventory();
    let shown = |name: &str| inventory.files.keys().find(|shown| shown.ends_with(name)).cloned();
    let names = FILES
        .iter()
        .map(|(name, _)| shown(name).unwrap_or_else(|| dir.path().join(name).display().to_string()));
    (collected.clone(), names.collect())
});

/// Every byte outside of the edits' spans, by a way of its own.
fn keeps_the_rest(change: &FileChange) {
    let (mut rest, mut built) = (change.before.as_slice(), Vec::new());
    let mut at = 0;
    for edit in change.edits.iter() {
        let (kept, after) = rest.split_at(edit.span.start - at);
        built.extend_from_slice(kept);
        built.extend_from_slice(&edit.text);
        rest = &after[edit.span.end - edit.span.start..];
        at = edit.span.end;
    }
    built.extend_from_slice(rest);
    assert_eq!(built, change.after, "{}", change.file);
}

fn planned(collected: &Collected, bytes: &BTreeMap<String, Vec<u8>>, options: &Options) -> Plan {
    let history = BTreeMap::new();
    let context = Context { collected, bytes, history: &history, evidence: None, now: 1_800_000_000 };
    plan(&collected.inventory(), &context, options)
}

fuzz_target!(|data: &[u8]| {
    let Some(([choice, how], given)) = data.split_first_chunk::<2>() else { return };
    let (on_disk, names) = &*REPOSITORY;
    let chosen = usize::from(*choice) % names.len();
    let mut bytes: BTreeMap<String, Vec<u8>> =
        names.iter().zip(FILES).map(|(name, (_, text))| (name.clone(), text.as_bytes().to_vec())).collect();
    bytes.insert(names[chosen].clone(), given.to_vec());
    let collected = on_disk.with_bytes(&bytes);

    let phase = [Phase::Dual, Phase::Final, Phase::Rollback][usize::from(*how) % 3];
    let mut options = Options::new(phase);
    options.soak_days = 0;
    options.include_unlocked = how & 4 != 0;
    options.bump_required_version = how & 8 != 0;
    options.rollback_table = (phase == Phase::Rollback).then(|| "locks".to_owned());
    for gate in lockshift::migrate::gate::ALL.iter().filter(|gate| gate.waivable && how & 16 != 0) {
        options.waive.insert(gate.id.to_owned(), "fuzzing".to_owned());
    }
    let first = planned(&collected, &bytes, &options);
    for change in &first.files {
        assert_eq!(bytes.get(&change.file), Some(&change.before), "{}", change.file);
        assert_ne!(change.before, change.after, "{}", change.file);
        keeps_the_rest(change);
    }

    bytes.extend(first.files.iter().map(|change| (change.file.clone(), change.after.clone())));
    // From the disk's facts again: what a file was read as before decides how its new bytes are read.
    let collected = on_disk.with_bytes(&bytes);
    let inventory = collected.inventory();
    for root in &first.roots {
        let read = inventory.roots.iter().find(|read| read.path == root.path).expect("the root module");
        let modes: Vec<LockMode> = read.backends.iter().map(|backend| backend.mode).collect();
        assert_eq!(modes, root.after, "{}", root.path);
    }
    // A rollback goes one step back each time.
    if phase != Phase::Rollback {
        let second = planned(&collected, &bytes, &options);
        assert!(second.files.is_empty(), "a second run would change {:?}", second.files);
    }
});
