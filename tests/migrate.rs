//! `lockshift migrate` as its users run it: what it prints, writes and commits, and what it does when the disk, the
//! repository or somebody else is in the way.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use support::tree::{put, tree};
use tempfile::TempDir;

/// What a run said and how it ended.
struct Said {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Said {
    fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).unwrap()
    }
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.arg("migrate").args(args).current_dir(dir).env("NO_COLOR", "1");
    // The user's git, without this user's habits.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for (name, value) in [("NAME", "n"), ("EMAIL", "e@example.com")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command
}

fn said(mut command: Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn migrate(dir: &Path, args: &[&str]) -> Said {
    said(command(dir, args))
}

/// `git` in a directory; its output. Panics when it fails.
fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir);
    command.args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgSign=false"]);
    let output = command.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn repository(files: &[(&str, &str)]) -> TempDir {
    let dir = tree(files);
    git(dir.path(), &["init", "-q", "-b", "main"]);
    git(dir.path(), &["add", "-A"]);
    git(dir.path(), &["commit", "-q", "-m", "first"]);
    dir
}

/// A root module that can run the lockfile, aligned as `terraform fmt` does beside a table.
fn module(key: &str, settings: &str) -> String {
    format!(
        "terraform {{\n  required_version = \">= 1.11\"\n  backend \"s3\" {{\n    bucket         = \"states\"\n    \
         key            = \"{key}\"\n    region         = \"eu-west-1\"\n{settings}  }}\n}}\n"
    )
}

const TABLE: &str = "    dynamodb_table = \"locks\"\n";
/// As dual leaves it.
const BOTH: &str = "    dynamodb_table = \"locks\"\n    use_lockfile   = true\n";

fn before(key: &str) -> String {
    module(key, TABLE)
}

fn after(key: &str) -> String {
    module(key, BOTH)
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

/// Every file below a directory that is no link, by name from there; without git's own.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && entry.file_name() != ".git" {
                open.push(entry.path());
            } else if kind.is_file() {
                let name = entry.path().strip_prefix(dir).unwrap().to_owned();
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// `fixtures/monorepo` as a repository of its own.
fn monorepo() -> TempDir {
    let dir = TempDir::new().unwrap();
    let from = support::repository().join("fixtures/monorepo/.");
    let copied = Command::new("cp").arg("-a").arg(from).arg(dir.path()).status().unwrap();
    assert!(copied.success());
    git(dir.path(), &["init", "-q", "-b", "main"]);
    git(dir.path(), &["add", "-A", "-f"]);
    git(dir.path(), &["commit", "-q", "-m", "first"]);
    dir
}

/// Waives everything that can be waived, so that all edits are made.
const WAIVE: [&str; 20] = [
    "--waive",
    "dual-phase-skipped=test",
    "--waive",
    "soak-too-short=test",
    "--waive",
    "version-unproven=test",
    "--waive",
    "version-too-old=test",
    "--waive",
    "override-unset=test",
    "--waive",
    "reader-names-table=test",
    "--waive",
    "lock-disabled-in-ci=test",
    "--waive",
    "endpoint-unproven=test",
    "--waive",
    "still-dual=test",
    "--waive",
    "required-variable-left=test",
];

fn apply(dir: &Path, diff: &[u8]) {
    for args in [&["apply", "--check", "-"][..], &["apply", "-"]] {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(dir)
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(diff).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_git_applies_is_what_is_written_and_a_second_run_has_nothing_to_do() {
    for phase in ["dual", "final"] {
        let (applied, written) = (monorepo(), monorepo());
        let mut args = vec!["--phase", phase];
        args.extend(WAIVE);
        let diff = migrate(applied.path(), &args);
        assert!(diff.stdout.starts_with(b"diff --git a/"), "{}", diff.stderr);
        apply(applied.path(), &diff.stdout);
        args.push("--write");
        let said = migrate(written.path(), &args);
        assert_eq!(said.text(), "", "{}", said.stderr);
        let (applied, written) =
            (snapshot(applied.path()), (written.path().to_owned(), snapshot(written.path())));
        assert!(applied == written.1, "{phase}: the two ways lead to different trees");
        assert!(
            applied != snapshot(&support::repository().join("fixtures/monorepo")),
            "{phase} changes nothing"
        );

        args.pop();
        let again = migrate(&written.0, &args);
        assert_eq!(String::from_utf8_lossy(&again.stdout), "", "{phase} again");
        // Only the root modules that stay refused are left to say.
        args.push("--check");
        assert_eq!(migrate(&written.0, &args).code, again.code);
    }
}

#[test]
fn paths_begin_at_the_top_of_the_repository() {
    let dir = repository(&[("envs/a b/main.tf", &before("a"))]);
    let said = migrate(&dir.path().join("envs"), &["--phase", "dual"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.text().contains("+++ b/envs/a b/main.tf\t\n"), "{}", said.text());
    apply(dir.path(), &said.stdout);
    assert_eq!(read(dir.path(), "envs/a b/main.tf"), after("a"));
    // Outside of any repository they begin where the user stands.
    let dir = tree(&[("x/main.tf", &before("a"))]);
    assert!(migrate(dir.path(), &["--phase", "dual"]).text().contains("+++ b/x/main.tf\n"));
}

#[test]
fn exit_codes_and_the_summary() {
    let dir =
        tree(&[("a/main.tf", &before("a")), ("b/main.tf", &after("b")), ("c/main.tf", &module("c", ""))]);
    let plan = migrate(dir.path(), &["--phase", "dual"]);
    assert_eq!(plan.code, 0);
    assert!(
        plan.stderr.ends_with(
            "1 root module to take both locks, 1 file changes; 0 refused, 1 done before, 0 steps by hand.\n"
        ),
        "{}",
        plan.stderr
    );
    assert!(plan.stderr.starts_with("Without any lock, not touched (1)\n  c\n"), "{}", plan.stderr);
    assert_eq!(migrate(dir.path(), &["--phase", "dual", "--quiet"]).stderr, "");
    assert_eq!(migrate(dir.path(), &["--phase", "dual", "--check"]).code, 1);
    assert_eq!(read(dir.path(), "a/main.tf"), before("a"));
    assert_eq!(migrate(dir.path(), &["--phase", "dual", "--write"]).code, 0);
    assert_eq!(migrate(dir.path(), &["--phase", "dual", "--check"]).code, 0);

    // A refusal is 1, and the others go on.
    put(dir.path(), "d/main.tf", module("d", "    dynamodb_table = var.table\n"));
    put(dir.path(), "e/main.tf", before("e"));
    let said = migrate(dir.path(), &["--phase", "dual", "--write"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("  d unresolved-setting\n    d/main.tf:7: "), "{}", said.stderr);
    assert!(said.stderr.contains("help: lockshift explain unresolved-setting"), "{}", said.stderr);
    assert_eq!(read(dir.path(), "e/main.tf"), after("e"));

    // What could not be read is 3.
    let unread = tree(&[("a/main.tf", &after("a"))]);
    put(unread.path(), "a/secret.txt", "");
    fs::create_dir(unread.path().join("b")).unwrap();
    fs::write(unread.path().join("b/secret.tf"), b"\0GITCRYPT\0 backend \"s3\" \x01\x02").unwrap();
    let said = migrate(unread.path(), &["--phase", "dual"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
}

#[test]
fn what_can_not_run_is_2() {
    let dir = tree(&[("main.tf", &before("a"))]);
    for (args, word) in [
        (&["--write"][..], "--phase"),
        (&["--phase", "dual", "--write", "--check"], "cannot be used with"),
        (&["--phase", "dual", "--write", "--commit"], "cannot be used with"),
        (&["--phase", "dual", "--branch", "x"], "--commit"),
        (&["--phase", "dual", "--commit", "--open-pr"], "--pr-dir"),
        (&["--phase", "dual", "--waive", "soak-too-short"], "GATE=REASON"),
        (&["--phase", "dual", "--waive", "soak-too-short= "], "the reason is empty"),
        (&["--phase", "dual", "--waive", "nonsense=x"], "no gate is called `nonsense`"),
        (&["--phase", "dual", "--waive", "edit-not-proven=x"], "can't be waived"),
        (&["--phase", "dual", "--limit", "0"], "--limit"),
        (&["--phase", "final", "--evidence", "none.json"], "could not read none.json"),
        (&["--phase", "final", "--evidence", "main.tf"], "main.tf:1:2: no audit's JSON: expected"),
        (&["--phase", "dual", "missing"], "missing"),
        (&["--phase", "dual", "--commit"], "--commit needs a git repository"),
    ] {
        let said = migrate(dir.path(), args);
        assert_eq!((said.code, said.stdout.len()), (2, 0), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(word), "{args:?}: {}", said.stderr);
    }
    assert_eq!(migrate(tree(&[("x.md", "")]).path(), &["--phase", "dual"]).code, 2);
    assert_eq!(read(dir.path(), "main.tf"), before("a"));
}

#[test]
fn json_and_table() {
    let dir =
        tree(&[("a/main.tf", &before("a")), ("r/main.tf", &module("r", "    dynamodb_table = var.x\n"))]);
    let said = migrate(dir.path(), &["--phase", "dual", "--format", "json"]);
    let json: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!((json["schema_version"].as_u64(), json["phase"].as_str()), (Some(1), Some("dual")));
    let step = &json["steps"][0];
    assert_eq!((step["root"].as_str(), step["file"].as_str()), (Some("a"), Some("a/main.tf")));
    // Whoever makes the splices gets the planned bytes.
    let mut bytes = before("a").into_bytes();
    for edit in step["edits"].as_array().unwrap().iter().rev() {
        let at = |name: &str| usize::try_from(edit[name].as_u64().unwrap()).unwrap();
        bytes.splice(at("start")..at("end"), edit["new"].as_str().unwrap().bytes());
    }
    assert_eq!(String::from_utf8(bytes).unwrap(), after("a"));
    assert_eq!(json["refusals"][0]["root"], "r");
    assert_eq!(json["refusals"][0]["gate"], "unresolved-setting");
    assert_eq!(json["refusals"][0]["line"], 7);
    let table = migrate(dir.path(), &["--phase", "dual", "--format", "table", "--output", "t"]);
    assert_eq!((table.code, table.text().as_str()), (1, ""));
    assert!(read(dir.path(), "t").contains("a     dynamodb  dual   a/main.tf"), "{}", read(dir.path(), "t"));
}

#[test]
fn staged_rollouts() {
    let other = before("b").replace("states", "other");
    let dir = tree(&[("a/main.tf", &before("a")), ("b/main.tf", &other), ("c/main.tf", &before("c"))]);
    let changed = |args: &[&str]| -> Vec<String> {
        let mut all = vec!["--phase", "dual", "--format", "json"];
        all.extend(args);
        let json: Value = serde_json::from_slice(&migrate(dir.path(), &all).stdout).unwrap();
        json["roots"].as_array().unwrap().iter().map(|r| r["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(changed(&[]), ["a", "b", "c"]);
    assert_eq!(changed(&["--path", "a", "--path", "b*"]), ["a", "b"]);
    assert_eq!(changed(&["--bucket", "other"]), ["b"]);
    assert_eq!(changed(&["--limit", "2"]), ["a", "b"]);
    assert_eq!(changed(&["--exclude", "b/**"]), ["a", "c"]);
    assert_eq!(changed(&["c"]), ["c"]);
}

#[test]
fn a_choice_that_matches_nothing_is_an_error() {
    let dir = tree(&[("a/main.tf", &before("a"))]);
    for (choice, shown) in [
        (&["--path", "typo/**"][..], "`--path typo/**`"),
        (&["--bucket", "typo"], "`--bucket typo`"),
        (&["--table", "typo", "--check"], "`--table typo`"),
        (&["--path", "a", "--table", "typo"], "`--path a` and `--table typo`"),
    ] {
        let said = migrate(dir.path(), &[&["--phase", "dual"], choice].concat());
        assert_eq!((said.code, said.text().as_str()), (2, ""), "{choice:?}");
        let expected = format!("error: no root module matches {shown}\n");
        assert!(said.stderr.starts_with(&expected), "{}", said.stderr);
    }
    let said = migrate(dir.path(), &["--phase", "dual", "--path", "a", "--bucket", "states", "--check"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
}

#[test]
fn writing_stays_below_the_paths_given() {
    let dir = tree(&[("shared/main.tf", &before("s")), ("in/b/main.tf", &before("b"))]);
    fs::create_dir_all(dir.path().join("in/a")).unwrap();
    symlink("../../shared/main.tf", dir.path().join("in/a/main.tf")).unwrap();
    let said = migrate(dir.path(), &["--phase", "dual", "--write", "in"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert_eq!(read(dir.path(), "shared/main.tf"), before("s"));
    assert_eq!(read(dir.path(), "in/b/main.tf"), after("b"));
    assert!(said.stderr.contains("in/a source-not-editable"), "{}", said.stderr);
    // Named, it is changed, and the link stays one.
    let said = migrate(dir.path(), &["--phase", "dual", "--write", "in", "shared"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(read(dir.path(), "shared/main.tf"), after("s"));
    assert!(fs::symlink_metadata(dir.path().join("in/a/main.tf")).unwrap().is_symlink());
}

#[test]
fn a_read_only_file_is_left_alone_and_said() {
    let dir = tree(&[("a/main.tf", &before("a")), ("b/main.tf", &before("b"))]);
    fs::set_permissions(dir.path().join("a/main.tf"), fs::Permissions::from_mode(0o400)).unwrap();
    let said = migrate(dir.path(), &["--phase", "dual", "--write"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("Not written: a/main.tf is read-only"), "{}", said.stderr);
    assert_eq!((read(dir.path(), "a/main.tf"), read(dir.path(), "b/main.tf")), (before("a"), after("b")));
}

/// A file system in memory; gone when dropped. `None` where mounting is not permitted, which CI does not accept.
struct Small(TempDir);

impl Small {
    fn mount(options: &str) -> Option<Self> {
        let dir = TempDir::new().unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        assert!(
            std::env::var_os("CI").is_none(),
            "a small file system could not be mounted: run this as root"
        );
        eprintln!("not checked: mounting a small file system needs root");
        None
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(self.0.path())
            .status()
            .unwrap();
        assert!(status.success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_and_a_read_only_one_change_nothing() {
    let Some(small) = Small::mount("size=256k") else { return };
    let dir = small.0.path();
    put(dir, "a/main.tf", before("a"));
    put(dir, "b/main.tf", before("b"));
    let files = snapshot(dir);
    let mut filler = fs::File::create(dir.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    let said = migrate(dir, &["--phase", "dual", "--write"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("No space left on device"), "{}", said.stderr);
    drop(filler);
    fs::remove_file(dir.join("filler")).unwrap();
    assert!(snapshot(dir) == files, "something changed on a full disk");

    small.remount("ro");
    let said = migrate(dir, &["--phase", "dual", "--write"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("Read-only file system"), "{}", said.stderr);
    small.remount("rw");
    assert!(snapshot(dir) == files);
    assert_eq!(migrate(dir, &["--phase", "dual", "--write"]).code, 0);
    assert_eq!(read(dir, "b/main.tf"), after("b"));
}

/// Killed at any moment, every file is whole, old or new; another run finishes the work.
#[test]
fn a_killed_run_leaves_whole_files_and_another_one_finishes() {
    let names: Vec<String> = (0..150).map(|n| format!("r{n:03}/main.tf")).collect();
    let dir = TempDir::new().unwrap();
    let mut halfway = 0;
    for wait in [0, 1, 2, 5, 10] {
        for name in &names {
            put(dir.path(), name, before("k"));
        }
        let mut child = command(dir.path(), &["--phase", "dual", "--write", "--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let changed = |name: &String| read(dir.path(), name) != before("k");
        while child.try_wait().unwrap().is_none() && !changed(&names[0]) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().unwrap();
        let texts: Vec<String> = names.iter().map(|name| read(dir.path(), name)).collect();
        assert!(texts.iter().all(|text| *text == before("k") || *text == after("k")), "a file is torn");
        let new = texts.iter().filter(|text| **text == after("k")).count();
        halfway += usize::from(new > 0 && new < names.len());
        assert_eq!(migrate(dir.path(), &["--phase", "dual", "--write"]).code, 0);
        assert!(names.iter().all(|name| read(dir.path(), name) == after("k")));
    }
    assert!(halfway > 0, "no run was killed between two files");
}

#[test]
fn half_a_component_is_finished_by_the_next_run() {
    // The table stands in a backend-config file, the block has the lockfile already: as if the run had been killed
    // between two files.
    let block = module("k", "    use_lockfile = true\n");
    let dir = tree(&[
        ("a/main.tf", &block),
        ("a/dev.tfbackend", "dynamodb_table = \"locks\"\nencrypt        = true\n"),
        ("deploy.sh", "cd a && terraform init -backend-config=dev.tfbackend\n"),
    ]);
    let said = migrate(dir.path(), &["--phase", "final", "--write", "--waive", "soak-too-short=test"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(read(dir.path(), "a/main.tf"), block);
    assert!(!read(dir.path(), "a/dev.tfbackend").contains("dynamodb_table"));
    assert_eq!(migrate(dir.path(), &["--phase", "final", "--check"]).code, 0);
}

#[test]
fn commits_leave_the_working_tree_alone() {
    let dir = repository(&[
        ("ünï a/main.tf", &before("a")),
        ("b/main.tf", &before("b")),
        ("c/main.tf", &before("c")),
        ("notes.txt", "x\n"),
        (".github/CODEOWNERS", "/b/ @org/b\n/c/ @org/c\n"),
    ]);
    // A dirty tree: changed, staged, untracked. None of it is ours.
    put(dir.path(), "notes.txt", "mine\n");
    put(dir.path(), "staged.txt", "mine\n");
    git(dir.path(), &["add", "staged.txt"]);
    put(dir.path(), "untracked.txt", "mine\n");
    let (status, files) = (git(dir.path(), &["status", "--porcelain=v2"]), snapshot(dir.path()));

    let said = migrate(dir.path(), &["--phase", "dual", "--commit", "--group-by", "owner"]);
    assert_eq!((said.code, said.text().as_str()), (0, ""), "{}", said.stderr);
    assert!(said.stderr.contains("3 commits on the new branch lockshift/dual"), "{}", said.stderr);
    assert_eq!(git(dir.path(), &["status", "--porcelain=v2"]), status);
    assert!(snapshot(dir.path()) == files);
    assert_eq!(git(dir.path(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(dir.path(), &["rev-parse", "lockshift/dual~3"]), git(dir.path(), &["rev-parse", "main"]));
    let changed = git(dir.path(), &["diff", "--name-only", "-z", "main", "lockshift/dual"]);
    let changed: Vec<&str> = changed.split_terminator('\0').collect();
    assert_eq!(changed, ["b/main.tf", "c/main.tf", "ünï a/main.tf"]);
    assert_eq!(git(dir.path(), &["show", "lockshift/dual:ünï a/main.tf"]), after("a"));
    let subjects = git(dir.path(), &["log", "--format=%s", "main..lockshift/dual"]);
    assert!(subjects.contains("Take the S3 state lock beside the DynamoDB lock (@org/b)"), "{subjects}");
    let body = git(dir.path(), &["log", "-1", "--format=%b", "lockshift/dual"]);
    assert!(body.contains("init -reconfigure"), "{body}");

    // The branch is there now.
    let again = migrate(dir.path(), &["--phase", "dual", "--commit"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("the branch `lockshift/dual` exists already"), "{}", again.stderr);
    let said = migrate(dir.path(), &["--phase", "dual", "--commit", "--branch", "-f"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    let said = migrate(dir.path(), &["--phase", "dual", "--commit", "--branch=a..b"]);
    assert!(said.stderr.contains("`a..b` is no name for a branch"), "{}", said.stderr);
}

#[test]
fn a_file_that_is_not_as_committed_is_refused() {
    let dir = repository(&[("a/main.tf", &before("a")), ("b/main.tf", &before("b"))]);
    put(dir.path(), "a/main.tf", format!("# mine\n{}", before("a")));
    put(dir.path(), "new/main.tf", before("new"));
    let said = migrate(dir.path(), &["--phase", "dual", "--commit"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("a/main.tf has changes that are not committed"), "{}", said.stderr);
    assert!(said.stderr.contains("new/main.tf is not in the last commit"), "{}", said.stderr);
    assert_eq!(git(dir.path(), &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(git(dir.path(), &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn detached_heads_and_repositories_without_a_commit() {
    let dir = repository(&[("a/main.tf", &before("a"))]);
    git(dir.path(), &["checkout", "-q", "--detach"]);
    let said = migrate(dir.path(), &["--phase", "dual", "--commit", "--branch", "x/y"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(git(dir.path(), &["show", "x/y:a/main.tf"]), after("a"));

    let empty = tree(&[("a/main.tf", &before("a"))]);
    git(empty.path(), &["init", "-q"]);
    let said = migrate(empty.path(), &["--phase", "dual", "--commit"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("has no commit to begin a branch at"), "{}", said.stderr);

    let two = tree(&[]);
    for name in ["one", "two"] {
        put(two.path(), &format!("{name}/main.tf"), before(name));
        git(&two.path().join(name), &["init", "-q"]);
    }
    let said = migrate(two.path(), &["--phase", "dual", "--commit"]);
    assert!(said.stderr.contains("more than one git repository"), "{}", said.stderr);
}

fn hook(dir: &Path, name: &str, text: &str) {
    let path = dir.join(".git/hooks").join(name);
    put(dir, &format!(".git/hooks/{name}"), text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The user's hooks judge the user's commits; what they may not do is change what was proven. Planning runs none.
#[test]
fn hooks_run_for_commits_and_may_refuse_but_not_change_them() {
    let dir = repository(&[("a/main.tf", &before("a"))]);
    hook(dir.path(), "post-checkout", "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/checked-out\"\n");
    hook(dir.path(), "pre-commit", "#!/bin/sh\necho not today >&2\nexit 1\n");
    assert_eq!(migrate(dir.path(), &["--phase", "dual"]).code, 0);
    let said = migrate(dir.path(), &["--phase", "dual", "--commit"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("not today"), "{}", said.stderr);
    hook(dir.path(), "pre-commit", "#!/bin/sh\necho '# more' >>a/main.tf\ngit add a/main.tf\n");
    let said = migrate(dir.path(), &["--phase", "dual", "--commit"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("a hook of this repository changed"), "{}", said.stderr);
    assert_eq!(git(dir.path(), &["branch", "--format=%(refname:short)"]), "main\n");
    hook(dir.path(), "pre-commit", "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/asked\"\n");
    assert_eq!(migrate(dir.path(), &["--phase", "dual", "--commit"]).code, 0);
    assert!(dir.path().join(".git/asked").exists());
    assert!(!dir.path().join(".git/checked-out").exists(), "checking out runs no hook");
}

#[test]
fn pull_requests_say_what_a_colleague_would() {
    let dir = repository(&[
        ("a/main.tf", &before("a/terraform.tfstate")),
        ("b/main.tf", &before("b/terraform.tfstate").replace("states", "others")),
    ]);
    git(dir.path(), &["branch", "merged"]);
    git(dir.path(), &["checkout", "-q", "-b", "topic"]);
    put(dir.path(), "x", "");
    git(dir.path(), &["add", "x"]);
    git(dir.path(), &["commit", "-q", "-m", "x"]);
    git(dir.path(), &["checkout", "-q", "main"]);
    let mut args = vec!["--phase", "final", "--pr-dir", "prs", "--group-by", "bucket"];
    args.extend([
        "--waive",
        "dual-phase-skipped=nobody runs | this",
        "--waive",
        "soak-too-short=@all agreed",
    ]);
    let said = migrate(dir.path(), &args);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let mut names: Vec<String> = fs::read_dir(dir.path().join("prs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["others.md", "others.patch", "others.title", "states.md", "states.patch", "states.title"]
    );
    assert_eq!(read(dir.path(), "prs/states.title"), "Lock state in S3 alone, without DynamoDB (states)\n");
    let body = read(dir.path(), "prs/states.md");
    for text in [
        "## What changes\n",
        "2. **Final** (this change): ",
        "| `a` | dynamodb | lockfile | can: `>= 1.11` | `states` |",
        "(cd a && terraform init -reconfigure)",
        "\"arn:aws:s3:::states/a/terraform.tfstate.tflock\"",
        "\"arn:aws:s3:::states/env:/*/a/terraform.tfstate.tflock\"",
        "\"s3:DeleteObject\"",
        "`dual-phase-skipped`: nobody runs \\| this",
        "## Readers elsewhere\n",
        "- `topic`\n",
        "## Going back\n",
        "Keep the lock table (`locks`) for now.",
        "<https://developer.hashicorp.com/terraform/language/backend/s3>",
    ] {
        assert!(body.contains(text), "{text} is missing:\n{body}");
    }
    assert!(!body.contains("others") && !body.contains("merged`"), "{body}");
    apply(dir.path(), &fs::read(dir.path().join("prs/states.patch")).unwrap());
    assert!(!read(dir.path(), "a/main.tf").contains("dynamodb_table"));
    assert!(read(dir.path(), "b/main.tf").contains("dynamodb_table"));
}

/// `gh` is given branch, title and body of each request; where it is not, the commands are printed.
#[test]
fn requests_are_opened_or_their_commands_printed() {
    let dir = repository(&[("a/main.tf", &before("a")), ("b/main.tf", &before("b").replace("states", "b2"))]);
    let remote = TempDir::new().unwrap();
    git(remote.path(), &["init", "-q", "--bare"]);
    git(dir.path(), &["remote", "add", "origin", remote.path().to_str().unwrap()]);
    let tools = TempDir::new().unwrap();
    let find = |name: &str| {
        let path = std::env::var_os("PATH").unwrap();
        std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.exists()).unwrap()
    };
    for name in ["git", "sh"] {
        symlink(find(name), tools.path().join(name)).unwrap();
    }
    let args =
        ["--phase", "dual", "--commit", "--pr-dir", "prs", "--open-pr", "--group-by", "bucket", "--branch"];
    let run = |branch: &str| {
        let mut all = args.to_vec();
        all.push(branch);
        let mut command = command(dir.path(), &all);
        command.env("PATH", tools.path());
        said(command)
    };
    let printed = run("one");
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(
        printed.stderr.contains("git push -u origin one-b2\ngh pr create --head one-b2 "),
        "{}",
        printed.stderr
    );
    assert_eq!(git(remote.path(), &["branch"]), "");
    assert_eq!(git(dir.path(), &["rev-parse", "one-b2~1"]), git(dir.path(), &["rev-parse", "one-states~1"]));

    let gh = tools.path().join("gh");
    fs::write(&gh, "#!/bin/sh\nprintf '%s\\n' \"$@\" >>gh.log\necho https://example.com/1\n").unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let opened = run("two");
    assert_eq!(opened.code, 0, "{}", opened.stderr);
    assert!(opened.stderr.contains("https://example.com/1"), "{}", opened.stderr);
    let log = read(dir.path(), "gh.log");
    assert!(log.starts_with("pr\ncreate\n--head\ntwo-b2\n--title\nTake the S3"), "{log}");
    assert!(log.contains("prs/states.md\n"), "{log}");
    let pushed = git(remote.path(), &["branch", "--format=%(refname:short)"]);
    assert_eq!(pushed, "two-b2\ntwo-states\n");
}

#[test]
fn the_script_initialises_what_changed() {
    let dir = tree(&[("a b/main.tf", &before("a")), ("c/main.tf", &after("c"))]);
    let said = migrate(dir.path(), &["--phase", "dual", "--reinit", "reinit.sh", "--format", "table"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let script = read(dir.path(), "reinit.sh");
    assert!(script.contains("\n(cd 'a b' && terraform init -reconfigure) || "), "{script}");
    assert!(!script.contains("cd c "), "{script}");
    assert_eq!(fs::metadata(dir.path().join("reinit.sh")).unwrap().permissions().mode() & 0o111, 0o111);
}

/// Names and values from files reach neither the terminal nor Markdown as anything but text.
#[test]
fn hostile_names_stay_text() {
    let nasty = "x\u{1b}[2J`|@team <img>";
    let text = before("a").replace("states", "s</details>\u{202e}");
    let dir = repository(&[
        (&format!("{nasty}/main.tf"), &text),
        ("r\u{9b}1m/main.tf", &module("r", "    dynamodb_table = var.x\n")),
    ]);
    let said = migrate(dir.path(), &["--phase", "dual", "--pr-dir", "prs"]);
    let unsafe_in = |text: &str| text.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
    assert_eq!(unsafe_in(&said.stderr), None, "{:?}", said.stderr);
    let body = read(dir.path(), "prs/all.md");
    assert_eq!(unsafe_in(&body), None, "{body:?}");
    assert!(body.contains("``x\\u{1b}[2J`\\|@team <img>``"), "{body}");
    apply(dir.path(), &fs::read(dir.path().join("prs/all.patch")).unwrap());
    assert!(read(dir.path(), &format!("{nasty}/main.tf")).contains("use_lockfile"));
}

/// Since when the lockfile stands on this branch decides whether the table may go.
#[test]
fn history_decides_how_long_it_soaked() {
    let dir = repository(&[("a/main.tf", &before("a"))]);
    put(dir.path(), "a/main.tf", after("a"));
    git(dir.path(), &["commit", "-qam", "dual"]);
    let young = migrate(dir.path(), &["--phase", "final"]);
    assert_eq!((young.code, young.stdout.len()), (1, 0));
    assert!(young.stderr.contains("soak-too-short"), "{}", young.stderr);
    assert_eq!(migrate(dir.path(), &["--phase", "final", "--soak-days", "0"]).code, 0);

    let old = repository(&[("a/main.tf", &before("a"))]);
    put(old.path(), "a/main.tf", after("a"));
    let mut commit = Command::new("git");
    commit.arg("-C").arg(old.path()).args([
        "-c",
        "user.name=n",
        "-c",
        "user.email=e",
        "commit",
        "-qam",
        "dual",
    ]);
    commit.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_COMMITTER_DATE", "2025-01-01T00:00:00Z");
    assert!(commit.status().unwrap().success());
    let said = migrate(old.path(), &["--phase", "final"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.text().contains("-    dynamodb_table = \"locks\"\n"), "{}", said.text());

    let none = tree(&[("a/main.tf", &after("a"))]);
    let said = migrate(none.path(), &["--phase", "final"]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("it lies in no git repository"), "{}", said.stderr);
}

#[test]
fn a_backend_config_file_of_only_the_table_may_end_empty() {
    let dir = tree(&[
        (
            "a/main.tf",
            "terraform {\n  required_version = \">= 1.11\"\n\n  backend \"s3\" {\n    bucket       = \"b\"\n    key          = \"k\"\n    use_lockfile = true\n  }\n}\n",
        ),
        ("a/lock.tfbackend", "dynamodb_table = \"t\"\n"),
        ("init.sh", "cd a && terraform init -reconfigure -backend-config=lock.tfbackend\n"),
    ]);
    let said = migrate(dir.path(), &["--phase", "final", "--waive", "soak-too-short=a test", "--write", "."]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(read(dir.path(), "a/lock.tfbackend"), "");
    let again = migrate(dir.path(), &["--phase", "final", "--check", "."]);
    assert_eq!(again.code, 0, "{}", again.stderr);
}

#[test]
fn a_rollback_of_a_flag_alone_says_the_digests_too() {
    let dir =
        tree(&[("lib/run.sh", "cd \"$1\"\nterraform init -reconfigure -backend-config=use_lockfile=true\n")]);
    let said = migrate(dir.path(), &["--phase", "rollback", "--rollback-table", "locks", "."]);
    assert!(said.text().contains("-backend-config=dynamodb_table=locks"), "{}", said.text());
    let step = r#"aws dynamodb delete-item --table-name locks --key '{"LockID":{"S":"BUCKET/KEY-md5"}}'"#;
    assert!(said.stderr.contains(step), "{}", said.stderr);
}
