//! `--history`: earlier commits are scanned as the working tree is, and nothing of the user's is touched or run.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::tree::{git, put};
use tempfile::TempDir;

const TABLE: &str = "dynamodb_table = \"arn:aws:dynamodb:eu-west-1:111122223333:table/locks\"";
const DUAL: &str =
    "use_lockfile = true\n    dynamodb_table = \"arn:aws:dynamodb:eu-west-1:111122223333:table/locks\"";
const LOCKFILE: &str = "use_lockfile = true";

fn module(dir: &Path, path: &str, lock: &str) {
    let text = format!(
        "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = \"{path}\"\n    region = \"r\"\n    {lock}\n  }}\n}}\n"
    );
    put(dir, &format!("{path}/main.tf"), &text);
}

fn commit(dir: &Path, day: u32) {
    git(dir, day, &["add", "-A"]);
    git(dir, day, &["commit", "-q", "-m", "x"]);
}

fn run(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .arg("scan")
        .args(args)
        .args(["--fail-on", "never"])
        .current_dir(dir)
        .env("SOURCE_DATE_EPOCH", "1796040000")
        .output()
        .unwrap()
}

fn scan(dir: &Path, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
    let output = run(dir, &args);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Modes that occur, by commit.
fn modes(scan: &Value) -> Vec<Vec<(String, u64)>> {
    let of = |point: &Value| -> Vec<(String, u64)> {
        let modes = point["modes"].as_object().unwrap().iter();
        modes.map(|(mode, n)| (mode.clone(), n.as_u64().unwrap())).filter(|(_, n)| *n > 0).collect()
    };
    scan["history"].as_array().unwrap().iter().map(of).collect()
}

fn own(points: &[&[(&str, u64)]]) -> Vec<Vec<(String, u64)>> {
    points.iter().map(|point| point.iter().map(|(mode, n)| ((*mode).to_owned(), *n)).collect()).collect()
}

/// Two stacks on their way: table, one of them dual, both dual, one done.
fn repository() -> TempDir {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    git(at, 1, &["init", "-q", "-b", "main"]);
    put(at, ".github/CODEOWNERS", "/net/ @acme/net\n/app/ @acme/app\n");
    // Tracked, whatever the rules say: it counts at every commit, as it does now.
    put(at, ".gitignore", "app/\n");
    module(at, "net", TABLE);
    module(at, "app", TABLE);
    git(at, 1, &["add", "-A", "-f"]);
    commit(at, 1);
    module(at, "net", DUAL);
    commit(at, 2);
    put(at, "README.md", "words\n");
    module(at, "app", DUAL);
    commit(at, 3);
    module(at, "net", LOCKFILE);
    commit(at, 4);
    dir
}

#[test]
fn each_commit_counts_as_a_scan_of_it_would() {
    let dir = repository();
    let said = scan(dir.path(), &["--history"]);
    let expected: [&[(&str, u64)]; 4] = [
        &[("dynamodb", 2)],
        &[("dual", 1), ("dynamodb", 1)],
        &[("dual", 2)],
        &[("dual", 1), ("lockfile", 1)],
    ];
    assert_eq!(modes(&said), own(&expected));
    assert_eq!(said["history_unknown"], Value::Null);
    let first = &said["history"][0];
    assert_eq!(first["date"], "2026-01-01T00:00:00Z");
    assert_eq!(first["owners"], json!({ "@acme/app": { "dynamodb": 1 }, "@acme/net": { "dynamodb": 1 } }));
    assert_eq!(first["accounts"], json!({ "111122223333": { "dynamodb": 2 } }));
    assert_eq!(first["buckets"], json!({ "b": { "dynamodb": 2 } }));
    let head = git(dir.path(), 9, &["rev-parse", "HEAD"]).stdout;
    assert_eq!(said["history"][3]["commit"], String::from_utf8(head).unwrap().trim());

    // Fewer points: the first and the last stay. From a day on. From a directory below, and of one path.
    assert_eq!(modes(&scan(dir.path(), &["--history=2"])), own(&[expected[0], expected[3]]));
    assert_eq!(modes(&scan(dir.path(), &["--history", "--since", "2026-01-03"])), own(&expected[2..]));
    let net: [&[(&str, u64)]; 3] = [&[("dynamodb", 1)], &[("dual", 1)], &[("lockfile", 1)]];
    assert_eq!(modes(&scan(dir.path(), &["--history", "net"])), own(&net));
    assert_eq!(modes(&scan(&dir.path().join("net"), &["--history"])), own(&net));
    assert_eq!(modes(&scan(&dir.path().join("app"), &["--history", "../net"])), own(&net));
    let absolute = dir.path().join("net");
    assert_eq!(modes(&scan(Path::new("/"), &["--history", absolute.to_str().unwrap()])), own(&net));
    // Without the flag nothing is said of the past.
    assert!(scan(dir.path(), &[]).get("history").is_none());
}

#[test]
fn a_script_at_the_top_counts_from_a_directory_below() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    git(at, 1, &["init", "-q", "-b", "main"]);
    put(at, "app/main.tf", "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n  }\n}\n");
    put(at, "ci.sh", "terraform -chdir=app init -reconfigure -backend-config=use_lockfile=true\n");
    commit(at, 1);
    put(at, "ci.sh", "terraform -chdir=app init -reconfigure -backend-config=dynamodb_table=t\n");
    commit(at, 2);
    let said = scan(at, &["--history"]);
    assert_eq!(modes(&said), own(&[&[("lockfile", 1)], &[("dynamodb", 1)]]));
    assert_eq!(said["summary"]["modes"]["dynamodb"], 1);
}

#[test]
fn where_there_is_no_past_that_is_said_and_nothing_invented() {
    let none = TempDir::new().unwrap();
    module(none.path(), "a", TABLE);
    let said = scan(none.path(), &["--history"]);
    assert_eq!(said["history"], Value::Null);
    assert_eq!(said["history_unknown"], "`.` lies in no git repository: run this in a clone");

    let dir = repository();
    let elsewhere = repository();
    let paths = ["--history", "net", elsewhere.path().to_str().unwrap()];
    let said = scan(dir.path(), &paths);
    assert!(
        said["history_unknown"]
            .as_str()
            .unwrap()
            .ends_with("lies in another git repository than the first path: take one repository at a time")
    );

    let said = scan(dir.path(), &["--history", "--since", "2027-01-01"]);
    assert_eq!(
        said["history_unknown"],
        "no commit since 2027-01-01 touches these paths: take an earlier day for `--since`"
    );
    module(dir.path(), "new", TABLE);
    let said = scan(dir.path(), &["--history", "new"]);
    assert_eq!(
        said["history_unknown"],
        "no commit of this branch touches these paths: commit them, or name paths that are committed"
    );

    let empty = TempDir::new().unwrap();
    git(empty.path(), 1, &["init", "-q", "-b", "main"]);
    module(empty.path(), "a", TABLE);
    let said = scan(empty.path(), &["--history"]);
    assert_eq!(said["history"], Value::Null);
    assert_eq!(
        said["history_unknown"],
        "this branch has no commit yet: there is something to see after the first ones"
    );

    // Git's own words are told in one line, with what to do.
    let damaged = repository();
    let head = git(damaged.path(), 9, &["rev-parse", "HEAD"]).stdout;
    let head = String::from_utf8(head).unwrap();
    let (first, rest) = head.trim().split_at(2);
    fs::remove_file(damaged.path().join(".git/objects").join(first).join(rest)).unwrap();
    let said = scan(damaged.path(), &["--history"]);
    let why = said["history_unknown"].as_str().unwrap();
    assert!(why.starts_with("this clone lacks objects of its own history, or they are damaged"), "{why}");
    assert!(!why.contains('\n') && !why.contains("fatal"), "{why}");

    let shallow = TempDir::new().unwrap();
    let url = format!("file://{}", dir.path().display());
    git(shallow.path(), 9, &["clone", "-q", "--depth=2", &url, "c"]);
    let said = scan(&shallow.path().join("c"), &["--history"]);
    assert_eq!(said["history"].as_array().unwrap().len(), 2);
    let why = said["history_unknown"].as_str().unwrap();
    assert!(
        why.starts_with(
            "the clone is shallow: nothing is known of the time before 2026-01-03 (`git fetch --unshallow`"
        ),
        "{why}"
    );
    let page = run(&shallow.path().join("c"), &["--history", "--format", "html"]);
    assert!(String::from_utf8(page.stdout).unwrap().contains("<b>Not shown:</b> the clone is shallow"));

    let output = run(dir.path(), &["--history"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--history is told as HTML or as JSON"));
}

#[test]
fn nothing_of_the_user_s_is_touched_and_nothing_of_the_repository_s_is_run() {
    let dir = repository();
    let at = dir.path();
    let (trap, sprung) = (at.join("trap"), at.join("sprung"));
    fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\nexec cat\n", sprung.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    put(at, ".gitattributes", "*.tf filter=trap diff=trap export-ignore working-tree-encoding=UTF-16\n");
    git(at, 5, &["add", ".gitattributes"]);
    git(at, 5, &["commit", "-q", "-m", "x"]);
    for key in
        ["filter.trap.smudge", "filter.trap.clean", "diff.trap.textconv", "core.fsmonitor", "core.pager"]
    {
        git(at, 5, &["config", key, trap.to_str().unwrap()]);
    }
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        fs::copy(&trap, at.join(".git/hooks").join(hook)).unwrap();
    }
    let _ = fs::remove_file(&sprung);
    fs::write(at.join("net/main.tf"), "# not committed\n").unwrap();
    let index = fs::read(at.join(".git/index")).unwrap();
    let said = scan(at, &["--history"]);
    assert_eq!(said["history"].as_array().unwrap().len(), 5);
    assert_eq!(said["history"][4]["modes"]["lockfile"], 1);
    assert!(!sprung.exists(), "something was run");
    assert_eq!(fs::read(at.join(".git/index")).unwrap(), index);
    assert_eq!(fs::read_to_string(at.join("net/main.tf")).unwrap(), "# not committed\n");
}

#[test]
fn a_link_that_leads_out_of_the_commit_is_not_followed_and_counts_as_not_read() {
    let outside = TempDir::new().unwrap();
    module(outside.path(), "secret", LOCKFILE);
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    git(at, 1, &["init", "-q", "-b", "main"]);
    module(at, "real", TABLE);
    symlink("real", at.join("inside")).unwrap();
    symlink(outside.path().join("secret"), at.join("absolute")).unwrap();
    symlink("../../../../../../../../../../etc", at.join("real/up")).unwrap();
    commit(at, 1);
    let said = scan(at, &["--history"]);
    // The link inside is a root module of its own, as it is now; the two others are not there, and that is counted.
    assert_eq!(modes(&said), own(&[&[("dynamodb", 2)]]));
    assert_eq!(said["history"][0]["unread"], 2);
}

#[test]
fn what_a_partial_clone_lacks_is_not_fetched_and_counts_as_not_read() {
    let dir = repository();
    git(dir.path(), 9, &["config", "uploadpack.allowFilter", "true"]);
    let partial = TempDir::new().unwrap();
    let url = format!("file://{}", dir.path().display());
    git(partial.path(), 9, &["clone", "-q", "--filter=blob:none", &url, "c"]);
    let at = partial.path().join("c");
    let objects = || git(&at, 9, &["count-objects", "-v"]).stdout;
    let before = objects();
    let said = scan(&at, &["--history"]);
    // Of the newest commit everything is there, of the oldest neither of the two modules.
    let unread: Vec<u64> =
        said["history"].as_array().unwrap().iter().map(|point| point["unread"].as_u64().unwrap()).collect();
    assert_eq!(unread, [2, 2, 1, 0]);
    assert_eq!(modes(&said)[3], [("dual".to_owned(), 1), ("lockfile".to_owned(), 1)]);
    assert_eq!(objects(), before);
}
