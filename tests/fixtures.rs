//! `fixtures/monorepo` holds every shape that scan knows; `EXPECTED.json` beside it says what must be found.
//! `fixtures/broken` holds what can't be read; each of its files must be named.
#![cfg(test)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};
use support::Scan;

static MONOREPO: LazyLock<Scan> =
    LazyLock::new(|| support::scan(&support::repository().join("fixtures/monorepo")));
static EXPECTED: LazyLock<Value> = LazyLock::new(|| {
    let file = support::repository().join("fixtures/monorepo/EXPECTED.json");
    serde_json::from_slice(&fs::read(file).expect("EXPECTED.json is readable"))
        .expect("EXPECTED.json is JSON")
});

fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn object<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value[name].as_object().unwrap_or_else(|| panic!("{name} is an object")).iter()
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value of the scan as `EXPECTED.json` writes it: `null` absent, `"?"` unknown.
fn known(of: &Value, name: &str) -> Value {
    if of[format!("{name}_unknown")].is_string() { json!("?") } else { of[name].clone() }
}

/// One backend in the words of `EXPECTED.json`, backend-config files relative to the root module.
fn backend(root: &str, found: &Value) -> Value {
    let mut told = json!({
        "mode": found["mode"],
        "bucket": known(found, "bucket"),
        "key": known(found, "key"),
        "table": known(found, "dynamodb_table"),
    });
    if found["engine"] != "any" {
        told["engine"] = found["engine"].clone();
    }
    let below = format!("{root}/");
    let config: Vec<String> = array(found, "backend_config")
        .iter()
        .map(word)
        .map(|choice| choice.strip_prefix(&below).map_or(choice.clone(), str::to_owned))
        .collect();
    if !config.is_empty() {
        told["config"] = json!(config);
    }
    told
}

fn sorted(values: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut lines: Vec<String> = values
        .into_iter()
        .map(|value| {
            // Keys in one order, whatever the file's.
            let fields: Option<BTreeMap<String, Value>> =
                value.as_object().map(|object| object.clone().into_iter().collect());
            fields.map_or_else(|| value.to_string(), |fields| format!("{fields:?}"))
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn every_root_module_has_the_backends_that_its_readme_says() {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for root in array(&MONOREPO.json, "roots") {
        let path = word(&root["path"]);
        let backends = array(root, "backends").iter().map(|found| backend(&path, found)).collect();
        found.insert(path, backends);
    }
    assert!(!found.is_empty(), "scan found nothing: {}", MONOREPO.stderr);
    let mut wrong = Vec::new();
    for (path, expected) in object(&EXPECTED, "roots") {
        let ours = found.remove(path).unwrap_or_default();
        if let Some(expected) = expected.as_array()
            && sorted(expected.clone()) != sorted(ours.clone())
        {
            wrong.push(format!(
                "{path}\n  expected {}\n  found    {}",
                json!(expected),
                if ours.is_empty() { "nothing".into() } else { json!(ours).to_string() }
            ));
        }
    }
    // A directory whose backend is unset or not s3 may be listed, without backends.
    for (path, backends) in found {
        if !backends.is_empty() {
            wrong.push(format!("{path}\n  not expected, found {}", json!(backends)));
        }
    }
    assert!(wrong.is_empty(), "{} root modules differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every place that contributes settings or is reported by itself: file, kind, and the reference.
fn places() -> Vec<(String, String, Value)> {
    let scan = &MONOREPO.json;
    let of_roots = array(scan, "roots")
        .iter()
        .flat_map(|root| array(root, "backends"))
        .flat_map(|backend| array(backend, "sources"))
        .map(|source| (word(&source["file"]), word(&source["kind"]), source.clone()));
    let alone = array(scan, "unattributed")
        .iter()
        .map(|source| (word(&source["place"]["file"]), word(&source["kind"]), source.clone()));
    of_roots.chain(alone).collect()
}

#[test]
fn every_other_source_is_found_with_its_kind() {
    let places = places();
    let missing: Vec<String> = array(&EXPECTED, "sources")
        .iter()
        .filter(|expected| {
            !places.iter().any(|(file, kind, _)| {
                expected[0] == **file && (expected[1] == "any" || expected[1] == **kind)
            })
        })
        .map(|expected| {
            let kinds: BTreeSet<&str> = places
                .iter()
                .filter(|(file, ..)| expected[0] == **file)
                .map(|(_, kind, _)| kind.as_str())
                .collect();
            format!("{expected}, found as {kinds:?}")
        })
        .collect();
    assert!(missing.is_empty(), "not found:\n{}", missing.join("\n"));
}

#[test]
fn shadowed_ignored_and_generated_places_are_marked() {
    let places = places();
    let marked = |mark: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        places.iter().filter(|(.., source)| mark(source)).map(|(file, ..)| file.clone()).collect()
    };
    let expected = |name| -> BTreeSet<String> { array(&EXPECTED, name).iter().map(word).collect() };
    let shadowed = marked(&|source| source["shadowed"] == true);
    // Where Terraform stops, nothing wins; which block is listed as shadowed there says nothing.
    let stopped: Vec<String> = array(&EXPECTED, "problems").iter().map(|problem| word(&problem[0])).collect();
    let shadowed: BTreeSet<String> =
        shadowed.into_iter().filter(|file| !stopped.contains(&dir(&json!(file)))).collect();
    assert_eq!(expected("shadowed"), shadowed);
    let report_only = marked(&|source| source["report_only"].is_string() || source["reason"].is_string());
    let unmarked: Vec<_> = expected("report_only").difference(&report_only).cloned().collect();
    assert!(unmarked.is_empty(), "would be edited: {unmarked:?}");
}

/// The fixture's ignored override is tracked here, or a clone would lack it, and what git tracks it does not ignore.
/// So this one is asked of a copy that git has never seen a commit of.
#[test]
fn an_override_that_git_ignores_counts_and_is_marked() {
    let copy = tempfile::tempdir().unwrap();
    let from = support::repository().join("fixtures/monorepo/overrides/git-ignored");
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    assert!(support::run(Command::new("git").args(["init", "-q"]).current_dir(copy.path())).status.success());
    let scan = support::scan(copy.path()).json;
    let sources = array(&scan["roots"][0]["backends"][0], "sources");
    let ignored: Vec<String> = sources
        .iter()
        .filter(|source| source["git_ignored"] == true)
        .map(|source| word(&source["file"]))
        .collect();
    assert_eq!(ignored, ["backend_override.tf"]);
    assert_eq!(scan["roots"][0]["backends"][0]["mode"], "lockfile");
}

/// The `[file, …]` rows of one list, as `EXPECTED.json` writes them.
fn rows(name: &str, row: impl Fn(&Value) -> Value) -> Vec<String> {
    sorted(array(&MONOREPO.json, name).iter().map(row))
}

fn expected_rows(name: &str) -> Vec<String> {
    sorted(array(&EXPECTED, name).to_vec())
}

#[test]
fn readers_and_the_tables_that_they_check() {
    let found = rows("readers", |reader| {
        json!([reader["place"]["file"], reader["name"], known(reader, "dynamodb_table")])
    });
    assert_eq!(expected_rows("readers"), found);
}

#[test]
fn lock_tables_in_code() {
    let found = rows("lock_tables", |table| json!([table["place"]["file"], table["address"], table["name"]]));
    assert_eq!(expected_rows("lock_tables"), found);
}

#[test]
fn permissions_in_code() {
    let found = rows("grants", |grant| json!([grant["place"]["file"], grant["kind"]]));
    assert_eq!(expected_rows("grants"), found);
}

#[test]
fn files_with_two_uses() {
    let found = rows("shared_var_files", |file| file["file"].clone());
    assert_eq!(expected_rows("shared_var_files"), found);
}

#[test]
fn habits_of_pipelines() {
    let found = rows("habits", |habit| json!([habit["place"]["file"], habit["kind"]]));
    let missing: Vec<String> =
        expected_rows("habits").into_iter().filter(|expected| !found.contains(expected)).collect();
    assert!(missing.is_empty(), "missing {missing:?}, found {found:?}");
}

#[test]
fn problems_are_those_that_terraform_would_refuse() {
    let found: BTreeSet<String> =
        rows("problems", |problem| json!([dir(&problem["place"]["file"]), problem["kind"]]))
            .into_iter()
            .collect();
    let expected: BTreeSet<String> = expected_rows("problems").into_iter().collect();
    assert_eq!(expected, found);
    assert_ne!(MONOREPO.code, Some(3), "everything here can be read");
}

fn dir(file: &Value) -> String {
    let file = word(file);
    file.rsplit_once('/').map_or(".", |(dir, _)| dir).to_owned()
}

fn root(path: &str) -> &'static Value {
    array(&MONOREPO.json, "roots")
        .iter()
        .find(|root| root["path"] == path)
        .unwrap_or_else(|| panic!("{path} is no root module"))
}

#[test]
fn links_and_child_modules_are_told_apart() {
    for (path, target) in object(&EXPECTED, "links") {
        assert_eq!(&root(path)["link_of"], target, "{path}");
    }
    for (path, callers) in object(&EXPECTED, "called_by") {
        assert_eq!(&root(path)["called_by"], callers, "{path}");
    }
}

#[test]
fn versions_and_their_evidence() {
    let mut wrong = Vec::new();
    for (path, verdict) in object(&EXPECTED, "versions") {
        if &root(path)["versions"]["verdict"] != verdict {
            wrong.push(format!("{path}: expected {verdict}, found {}", root(path)["versions"]));
        }
    }
    for expected in array(&EXPECTED, "evidence") {
        let versions = &root(&word(&expected[0]))["versions"];
        let found = array(versions, "evidence").iter().any(|evidence| {
            evidence["text"] == expected[1] && (expected[2].is_null() || evidence["verdict"] == expected[2])
        });
        if !found {
            wrong.push(format!("{expected} is missing in {versions}"));
        }
    }
    // A version manager's file holds for its own directory and what is below it.
    for root in array(&MONOREPO.json, "roots") {
        let path = word(&root["path"]);
        for evidence in array(&root["versions"], "evidence") {
            let file = word(&evidence["place"]["file"]);
            let local = [".terraform-version", ".opentofu-version", ".tool-versions", "mise.toml"];
            let pinned = local.iter().any(|name| file.ends_with(name));
            if pinned && !Path::new(&path).starts_with(dir(&evidence["place"]["file"])) {
                wrong.push(format!("{path}: {file} does not hold there"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn owners_come_from_codeowners() {
    assert_eq!(root("partial/orders")["owners"], json!(["@acme/commerce"]));
    assert_eq!(root("terragrunt/live/prod/vpc")["owners"], json!(["@acme/live-ops", "@acme/platform"]));
    assert_eq!(root("platform/network")["owners"], json!(["@acme/platform"]));
}

#[test]
fn secrets_and_ignored_directories_are_in_no_output() {
    let whole = MONOREPO.json.to_string();
    for never in ["not-a-real-secret", "AKIAIOSFODNN7EXAMPLE", "not-ours", ".terraform/modules"] {
        assert!(!whole.contains(never) && !MONOREPO.stderr.contains(never), "{never} is in the output");
    }
}

#[test]
fn every_folder_of_a_root_module_says_what_it_shows() {
    let monorepo = support::repository().join("fixtures/monorepo");
    for (path, _) in object(&EXPECTED, "roots") {
        let told = Path::new(path).ancestors().take_while(|folder| !folder.as_os_str().is_empty());
        let readme =
            told.map(|folder| monorepo.join(folder).join("README.md")).find(|readme| readme.exists());
        let readme = readme.unwrap_or_else(|| panic!("{path} has no README.md in or above it"));
        let text = fs::read_to_string(&readme).expect("README.md is readable");
        assert!(text.contains("Shows:") && text.contains("Expected:"), "{}", readme.display());
    }
}

#[test]
fn what_cannot_be_read_is_named_and_never_clean() {
    let scan = support::scan(&support::repository().join("fixtures/broken"));
    let found: BTreeSet<(String, String)> = array(&scan.json, "problems")
        .iter()
        .map(|problem| (word(&problem["place"]["file"]), word(&problem["kind"])))
        .collect();
    let mut missing = Vec::new();
    for (file, kind) in [
        ("git-crypt/backend.tf", "encrypted"),
        ("unclosed/main.tf", "parse-error"),
        ("one-line/main.tf", "parse-error"),
        ("unterminated-string/main.tf", "parse-error"),
        ("json/main.tf.json", "parse-error"),
        ("backend-config/prod.tfbackend", "parse-error"),
    ] {
        if !found.contains(&(file.into(), kind.into())) {
            missing.push(format!("{file}: {kind}"));
        }
    }
    if !found.iter().any(|(file, kind)| file.starts_with("loop/") && kind == "symlink-loop") {
        missing.push("loop/: symlink-loop".into());
    }
    assert!(missing.is_empty(), "not reported: {missing:?}; found {found:?}");
    assert!(
        array(&scan.json, "problems").iter().all(|problem| problem["place"]["line"].as_u64() >= Some(1)),
        "every problem has a line"
    );
    let healthy = array(&scan.json, "roots").iter().find(|root| root["path"] == "healthy");
    let healthy = healthy.unwrap_or_else(|| panic!("the healthy neighbour is lost"));
    assert_eq!(healthy["backends"][0]["mode"], "lockfile");
    assert!(matches!(scan.code, Some(1 | 3)), "exit code {:?}", scan.code);
}
