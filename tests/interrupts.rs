//! Signals to a run that is at work: what was begun becomes whole, nothing stays behind, and it is said what was done.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use support::tree::put;
use tempfile::TempDir;

/// Whatever has not happened by then never does.
const PATIENCE: Duration = Duration::from_secs(120);

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// A run whose temporary directories stand in `temporary`.
fn start(dir: &Path, temporary: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.args(args).current_dir(dir).env("NO_COLOR", "1").env("TMPDIR", temporary);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for (name, value) in [("NAME", "n"), ("EMAIL", "e@example.com")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until something is there. Whether it came before the run ended.
fn wait(child: &mut Child, happened: &dyn Fn() -> bool) -> bool {
    let began = Instant::now();
    while !happened() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(began.elapsed() < PATIENCE, "it never comes");
        std::thread::sleep(Duration::from_micros(200));
    }
    true
}

fn send(child: &Child, signal: i32) {
    let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn end(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir);
    command.args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgSign=false"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn module(lock: &str) -> String {
    format!(
        "terraform {{\n  required_version = \">= 1.11\"\n  backend \"s3\" {{\n    bucket = \"b\"\n    key    = \"k\"\n    region = \"eu-west-1\"\n{lock}  }}\n}}\n"
    )
}

fn hook(dir: &Path, name: &str, text: &str) {
    let path = dir.join(".git/hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Names in a directory that begin so.
fn names(dir: &Path, begin: &str) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(begin)).collect()
}

const ROOTS: usize = 400;

/// Root modules that all take their table from one file, and repeat it: they can only change together.
fn together() -> TempDir {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "s.tfbackend", "dynamodb_table = \"t\"\nuse_lockfile   = true\n");
    let mut script = String::new();
    for number in 0..ROOTS {
        put(dir.path(), &format!("r{number}/main.tf"), module("    dynamodb_table = \"t\"\n"));
        script.push_str(&format!("(cd r{number} && terraform init -backend-config=../s.tfbackend)\n"));
    }
    put(dir.path(), "init.sh", script);
    dir
}

const FINAL: [&str; 7] = ["migrate", "--phase", "final", "--soak-days", "0", "--write", "-q"];

/// How many roots hold their new text, and how many temporary files there are.
fn state(dir: &Path) -> (usize, usize) {
    let mut state = (0, 0);
    for number in 0..ROOTS {
        let root = dir.join(format!("r{number}"));
        state.0 += usize::from(!fs::read_to_string(root.join("main.tf")).unwrap().contains("dynamodb_table"));
        state.1 += names(&root, ".lockshift-").len();
    }
    (state.0, state.1 + names(dir, ".lockshift-").len())
}

#[test]
fn a_group_of_which_one_file_was_replaced_becomes_whole() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (dir, temporary) = (together(), TempDir::new().unwrap());
        let inode = || fs::metadata(dir.path().join("r1/main.tf")).unwrap().ino();
        let before = inode();
        let mut child = start(dir.path(), temporary.path(), &FINAL);
        assert!(wait(&mut child, &|| inode() != before), "it ended before");
        send(&child, signal);
        let (output, said) = end(child);
        assert_eq!(state(dir.path()), (ROOTS, 0), "{said}");
        assert!(!fs::read_to_string(dir.path().join("s.tfbackend")).unwrap().contains("dynamodb_table"));
        assert!(said.contains(&format!("Wrote {} files.", ROOTS + 1)), "{said}");
        assert_eq!(output.status.signal(), Some(signal), "{said}");
    }
}

#[test]
fn while_files_are_prepared_nothing_is_written_and_nothing_stays() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (dir, temporary) = (together(), TempDir::new().unwrap());
        let mut child = start(dir.path(), temporary.path(), &FINAL);
        let begun = wait(&mut child, &|| !names(&dir.path().join("r0"), ".lockshift-").is_empty());
        assert!(begun, "it ended before");
        send(&child, signal);
        let (output, said) = end(child);
        assert_eq!(output.status.signal(), Some(signal), "{said}");
        // A busy machine may deliver the signal when the last was prepared already: then all is written.
        match state(dir.path()) {
            (0, 0) => {
                assert!(said.contains("Wrote 0 files."), "{said}");
                assert!(said.contains("was not begun: the run was interrupted"), "{said}");
                assert!(
                    fs::read_to_string(dir.path().join("s.tfbackend")).unwrap().contains("dynamodb_table")
                );
            }
            other => assert_eq!(other, (ROOTS, 0), "{said}"),
        }
    }
}

/// Who was started with `nohup` is not ended by what it shall not hear.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_is_ignored_stays_ignored() {
    let (dir, temporary) = (together(), TempDir::new().unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_lockshift")]);
    command.args(FINAL).current_dir(dir.path()).env("TMPDIR", temporary.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait(&mut child, &|| !names(&dir.path().join("r0"), ".lockshift-").is_empty()));
    send(&child, SIGHUP);
    let (output, said) = end(child);
    assert_eq!((output.status.code(), state(dir.path())), (Some(0), (ROOTS, 0)), "{said}");
}

/// A repository with one root module to be changed, and a place for temporary directories.
fn repository() -> (TempDir, TempDir) {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    put(dir.path(), "a/main.tf", module("    dynamodb_table = \"t\"\n"));
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-q", "-m", "x"]);
    (dir, TempDir::new().unwrap())
}

const COMMIT: [&str; 4] = ["migrate", "--phase", "dual", "--commit"];

/// A hook that says that it runs, and then does so for ever.
fn waiting_hook(dir: &Path) -> PathBuf {
    let begun = dir.join(".git/begun");
    hook(
        dir,
        "pre-commit",
        &format!("#!/bin/sh\necho $$ > '{0}.new'\nmv '{0}.new' '{0}'\nexec sleep 1000\n", begun.display()),
    );
    begun
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_interrupted_commit_leaves_neither_branch_nor_worktree() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (dir, temporary) = repository();
        let begun = waiting_hook(dir.path());
        let mut child = start(dir.path(), temporary.path(), &COMMIT);
        assert!(wait(&mut child, &|| begun.exists()), "{:?}", end(child));
        let scratch = names(temporary.path(), "lockshift-");
        assert_eq!(scratch.len(), 1);
        assert_eq!(mode(&temporary.path().join(&scratch[0])), 0o700);
        send(&child, signal);
        let (output, said) = end(child);
        assert_eq!(output.status.signal(), Some(signal), "{said}");
        assert_eq!(names(temporary.path(), ""), [""; 0]);
        assert_eq!(git(dir.path(), &["branch", "--format=%(refname:short)"]), "main\n");
        assert_eq!(git(dir.path(), &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
        assert_eq!(git(dir.path(), &["status", "--porcelain"]), "");
        // The next run has nothing in its way.
        fs::remove_file(dir.path().join(".git/hooks/pre-commit")).unwrap();
        let (output, said) = end(start(dir.path(), temporary.path(), &COMMIT));
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

/// What can't be cleared away, since nobody hears SIGKILL: the next run says the commands, and they work.
#[test]
fn what_a_killed_commit_left_is_known_and_the_commands_clear_it_away() {
    // Whether the directory is still there, as it is not after a restart of the machine.
    for is_gone in [false, true] {
        let (dir, temporary) = repository();
        let begun = waiting_hook(dir.path());
        let mut child = start(dir.path(), temporary.path(), &COMMIT);
        assert!(wait(&mut child, &|| begun.exists()), "{:?}", end(child));
        child.kill().unwrap();
        child.wait().unwrap();
        let hook = fs::read_to_string(&begun).unwrap();
        let _ = Command::new("kill").arg(hook.trim()).status();
        fs::remove_file(dir.path().join(".git/hooks/pre-commit")).unwrap();
        let left = temporary.path().join(&names(temporary.path(), "lockshift-")[0]);
        // As a run leaves it that is killed while the working tree is being filled.
        git(dir.path(), &["worktree", "lock", left.join("tree").to_str().unwrap()]);
        if is_gone {
            fs::remove_dir_all(&left).unwrap();
        }
        let (output, said) = end(start(dir.path(), temporary.path(), &COMMIT));
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the branch `lockshift/dual` is being made in "), "{said}");
        let commands: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(commands.len(), 3, "{said}");
        let ran =
            Command::new("sh").args(["-ec", &commands.join("\n")]).current_dir(dir.path()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert!(!left.exists());
        let (output, said) = end(start(dir.path(), temporary.path(), &COMMIT));
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

/// A branch that somebody works on is not called one of ours.
#[test]
fn a_branch_in_a_working_tree_of_the_user_s_is_said_so() {
    let (dir, temporary) = repository();
    let own = temporary.path().join("mine");
    git(dir.path(), &["worktree", "add", "-q", "-b", "lockshift/dual", own.to_str().unwrap()]);
    let (output, said) = end(start(dir.path(), temporary.path(), &COMMIT));
    assert_eq!(output.status.code(), Some(2));
    let expected = format!(
        "error: the branch `lockshift/dual` exists already and is checked out in {}: name another one with --branch\n",
        fs::canonicalize(own).unwrap().display()
    );
    assert!(said.ends_with(&expected), "{said}");
}

#[test]
fn interrupted_looks_at_history_leave_no_copies() {
    let dir = TempDir::new().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    for number in 0..40 {
        for root in 0..10 {
            put(dir.path(), &format!("r{root}/main.tf"), module(&format!("# {number}\n")));
        }
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "-q", "-m", "x"]);
    }
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let temporary = TempDir::new().unwrap();
        let args = ["scan", "--history=200", "--format", "json", "--fail-on", "never"];
        let mut child = start(dir.path(), temporary.path(), &args);
        let laid = || {
            let scratch = names(temporary.path(), "lockshift-");
            scratch.first().is_some_and(|name| temporary.path().join(name).join("r9/main.tf").exists())
        };
        assert!(wait(&mut child, &laid), "it ended before");
        if let Some(scratch) = names(temporary.path(), "lockshift-").first() {
            assert_eq!(mode(&temporary.path().join(scratch)), 0o700);
        }
        send(&child, signal);
        let (output, said) = end(child);
        assert_eq!(output.status.signal(), Some(signal), "{said}");
        assert_eq!(output.stdout, b"");
        assert_eq!(names(temporary.path(), ""), [""; 0]);
    }
}
