//! The real terraform judges what `fixtures/monorepo/EXPECTED.json` says: every root module that terraform can
//! initialise must record exactly the backend that is expected of scan. So the expectations can't be wrong in the
//! same way as the program.
#![cfg(test)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use support::emulator::Emulator;

/// Copies a directory, links followed, without what terraform wrote there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("directory is made");
    for entry in fs::read_dir(from).expect("directory is readable") {
        let path = entry.expect("entry is readable").path();
        let name = path.file_name().expect("an entry has a name");
        if name == ".terraform" {
            continue;
        }
        let target = to.join(name);
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("file is copied");
        }
    }
}

/// Whether terraform would load anything here.
fn has_configuration(dir: &Path) -> bool {
    fs::read_dir(dir).expect("directory is readable").any(|entry| {
        let name = entry.expect("entry is readable").file_name().to_string_lossy().into_owned();
        name.ends_with(".tf") || name.ends_with(".tf.json")
    })
}

/// What terraform recorded, in the words of `EXPECTED.json`.
fn recorded(dir: &Path) -> Option<Value> {
    let record: Value =
        serde_json::from_slice(&fs::read(dir.join(".terraform/terraform.tfstate")).ok()?).ok()?;
    let config = &record["backend"]["config"];
    let text = |name: &str| config[name].as_str().filter(|text| !text.is_empty());
    let table = text("dynamodb_table");
    let mode = match (table, config["use_lockfile"].as_bool().unwrap_or(false)) {
        (Some(_), true) => "dual",
        (Some(_), false) => "dynamodb",
        (None, true) => "lockfile",
        (None, false) => "none",
    };
    (record["backend"]["type"] == "s3")
        .then(|| json!({ "mode": mode, "bucket": text("bucket"), "key": text("key"), "table": table }))
}

#[test]
fn terraform_records_what_is_expected_of_the_fixtures() {
    let monorepo = support::repository().join("fixtures/monorepo");
    let expected: Value =
        serde_json::from_slice(&fs::read(monorepo.join("EXPECTED.json")).expect("EXPECTED.json is readable"))
            .expect("EXPECTED.json is JSON");
    let emulator = Emulator::start();
    let mut buckets = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut agreed = 0;
    for (path, backends) in expected["roots"].as_object().expect("roots is an object") {
        let from = monorepo.join(path);
        let terragrunt = from.join("terragrunt.hcl").exists();
        if terragrunt || !has_configuration(&from) {
            continue;
        }
        for backend in backends.as_array().into_iter().flatten() {
            if backend["engine"] == "opentofu" {
                continue;
            }
            let bucket = backend["bucket"].as_str().expect("a bucket is expected").to_owned();
            if buckets.insert(bucket.clone()) {
                emulator.create_bucket(&bucket);
            }
            let dir = tempfile::tempdir().expect("temporary directory");
            copy(&from, dir.path());
            let config = backend["config"].as_array().into_iter().flatten();
            let config =
                config.map(|choice| format!("-backend-config={}", choice.as_str().unwrap_or_default()));
            let mut command = support::terraform(dir.path(), &emulator);
            // The emulator knows no bucket by host name.
            command.args(["init", "-input=false", "-no-color", "-backend-config=use_path_style=true"]);
            let output = support::run(command.args(config));
            let stderr = String::from_utf8_lossy(&output.stderr);
            if stderr.contains("Unsupported Terraform Core version") {
                continue; // a fixture that pins an older one, on purpose
            }
            let ours = json!({
                "mode": backend["mode"], "bucket": backend["bucket"],
                "key": backend["key"], "table": backend["table"],
            });
            match recorded(dir.path()) {
                Some(record) if record == ours => agreed += 1,
                record => {
                    wrong.push(format!("{path}\n  expected  {ours}\n  terraform {record:?}\n{stderr}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} expectations are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agreed >= 45, "only {agreed} backends were compared");
}
