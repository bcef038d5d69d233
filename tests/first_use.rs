//! What a first hour with the program meets: typing errors, broken files, `-v`, full disks, closed pipes.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::double::Double;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockshift");

/// A root module that is clean.
const MODULE: &str = "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {\n    bucket = \"b\"\n    key    = \"k\"\n    region = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n";

/// A directory with a clean root module and these files.
fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("main.tf"), MODULE).unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// The program, cut off from the environment.
fn lockshift(dir: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", dir);
    command
}

/// Exit code, stdout, stderr.
fn said(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn near_misses_are_suggested() {
    let dir = dir(&[
        ("key.toml", "exlude = [\"a\"]\n"),
        ("rule.toml", "[rules.no-loking]\nseverity = \"off\"\nreason = \"x\"\n"),
        ("severity.toml", "[rules.no-locking]\nseverity = \"hihg\"\nreason = \"x\"\n"),
        ("roles.toml", "[roles]\nrunner = [\"arn:aws:iam::111122223333:role/ci\"]\n"),
    ]);
    let cases: &[(&[&str], &str)] = &[
        (&["scna"], "'scan'"),
        (&["scan", "--fromat", "json"], "'--format'"),
        (&["scan", "--format", "jsno"], "'json'"),
        (&["scan", "--by", "ownr"], "'owner'"),
        (&["scan", "--engine", "terrafrm"], "'terraform'"),
        (&["migrate", "--phase", "duel"], "'dual'"),
        (&["migrate", "--phase", "dual", "--waive", "soak-to-short=x"], "did you mean `soak-too-short`?"),
        (&["scan", "--fail-on", "dynamo-only"], "did you mean `dynamodb-only`?"),
        (&["audit", "--fail-on", "lock-stael"], "did you mean `lock-stale`?"),
        (&["explain", "No_Loking"], "did you mean `no-locking`?"),
        (&["man", "scna"], "did you mean `scan`?"),
        (&["completions", "bsh"], "'bash'"),
        (&["scan", "--config", "key.toml"], "did you mean `exclude`?"),
        (&["scan", "--config", "rule.toml"], "did you mean `no-locking`?"),
        (&["scan", "--config", "severity.toml"], "did you mean `high`?"),
        (&["scan", "--config", "roles.toml"], "did you mean `runners`?"),
    ];
    for (args, near) in cases {
        let (code, stdout, stderr) = said(lockshift(dir.path()).args(*args));
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(near), "{args:?}: {stderr}");
    }
}

#[test]
fn errors_about_a_file_show_its_line_and_a_mark() {
    let dir = dir(&[
        ("bad.toml", "# ours\n\tstale_after = \"soon\"\n"),
        ("list.json", "\n\n}\n"),
        ("policy.json", "{\"Statement\": [}"),
        ("long.json", &format!("{{\"a\": \"{}\", }}", "\u{202e}ab".repeat(100))),
        ("cases.jsonl", "{\"principal\": \"anonymous\",}\n"),
        ("ok.jsonl", ""),
    ]);
    let request = ["--principal=anonymous", "--action=s3:GetObject", "--resource=arn:aws:s3:::b/k"];
    let json = "  3 | }\n    | ^\n";
    let cases: &[(&[&str], &str)] = &[
        (
            &["scan", "--config", "bad.toml"],
            "error: bad.toml:2:16: `soon` is no length of time\n  2 |     stale_after = \"soon\"\n    |                   ^\n",
        ),
        (
            &["audit", "--snapshot", "list.json"],
            &format!("error: list.json:3:1: no snapshot: expected value\n{json}"),
        ),
        (
            &["audit", "--baseline", "list.json"],
            &format!("error: list.json:3:1: no audit's JSON: expected value\n{json}"),
        ),
        (
            &["migrate", "--phase", "final", "--evidence", "list.json"],
            &format!("error: list.json:3:1: no audit's JSON: expected value\n{json}"),
        ),
        (
            &["unlock", "--from-audit", "list.json", "--rule", "lock-stale"],
            &format!("error: list.json:3:1: no audit's JSON: expected value\n{json}"),
        ),
        (&["audit", "--s3-export", "b=list.json"], &format!("error: list.json:3:1: not JSON\n{json}")),
        (
            &["policy", "decide", request[0], request[1], request[2], "--resource-policy", "policy.json"],
            "error: policy.json:1:16: expected value\n  1 | {\"Statement\": [}\n    |                ^\n",
        ),
        (
            &["policy", "decide", "--batch", "cases.jsonl"],
            "error: cases.jsonl:1:27: case 1: trailing comma\n  1 | {\"principal\": \"anonymous\",}\n    |                           ^\n",
        ),
    ];
    for (args, start) in cases {
        let (code, stdout, stderr) = said(lockshift(dir.path()).args(*args));
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.starts_with(start), "{args:?}:\n{stderr}");
    }
    // A long, hostile line is cut and harmless.
    let (_, _, stderr) = said(lockshift(dir.path()).args(["audit", "--baseline", "long.json"]));
    assert!(stderr.contains("  1 | …"), "{stderr}");
    assert!(stderr.lines().all(|line| line.chars().count() < 130), "{stderr}");
    assert!(!stderr.contains('\u{202e}'), "{stderr:?}");
}

#[test]
fn what_could_not_be_read_is_shown_with_its_line_unless_it_could_hold_a_secret() {
    let open = "terraform {\n  backend \"s3\" {\n    bucket = \"acme\n  }\n}\n";
    let secret = "terraform {\n  backend \"s3\" {\n    secret_key = \"hunter2\n  }\n}\n";
    let dir = dir(&[("open.tf", open), ("secret.tf", secret)]);
    let (code, stdout, _) = said(lockshift(dir.path()).args(["scan", "--fail-on", "never"]));
    assert_eq!(code, 3);
    let shown = "  open.tf:3:19: parse-error: a quoted string does not end on its line; correct it, or check this file by hand\n    3 |     bucket = \"acme\n      |                   ^\n";
    assert!(stdout.contains(shown), "{stdout}");
    assert!(stdout.contains("\n    3 | (not shown: the line could hold a secret)\n"), "{stdout}");
    assert!(!stdout.contains("hunter2"), "{stdout}");
}

#[test]
fn verbose_says_what_is_read_and_run_and_only_on_stderr() {
    let dir = dir(&[("lockshift.toml", "stale_after = \"4h\"\n")]);
    let quiet = said(lockshift(dir.path()).args(["scan"]));
    assert_eq!((quiet.0, quiet.2.as_str()), (0, ""));
    let (code, stdout, stderr) = said(lockshift(dir.path()).args(["scan", "-v"]));
    assert_eq!((code, &stdout), (0, &quiet.1));
    assert!(stderr.contains(" INFO lockshift::config: read the configuration file="), "{stderr}");
    assert!(!stderr.contains("main.tf"), "{stderr}");
    let (_, _, stderr) = said(lockshift(dir.path()).args(["-vv", "scan"]));
    let read = format!("DEBUG lockshift::repo::visit: read file=\"main.tf\" bytes={}\n", MODULE.len());
    assert!(stderr.contains(&read), "{stderr}");

    for args in [&["init", "--quiet"][..], &["add", "."]] {
        assert!(Command::new("git").args(args).current_dir(dir.path()).status().unwrap().success());
    }
    let (_, _, stderr) = said(lockshift(dir.path()).args(["migrate", "--phase", "final", "-v"]));
    assert!(
        stderr.contains(" INFO lockshift::migrate::program: ran a program command=\"git -C "),
        "{stderr}"
    );
}

#[test]
fn the_log_s_filter_is_taken_from_the_variable() {
    let dir = dir(&[]);
    let with = |filter: &str| said(lockshift(dir.path()).args(["scan"]).env("LOCKSHIFT_LOG", filter));
    assert!(with("lockshift=debug").2.contains("read file=\"main.tf\""));
    assert_eq!(with("aws_config=debug").2, "");
    assert_eq!(with("").2, "");
    let (code, _, stderr) = with("lockshift=loud");
    assert_eq!(code, 2);
    assert!(stderr.starts_with("error: LOCKSHIFT_LOG: `lockshift=loud` is no filter: "), "{stderr}");
}

/// Whatever the filter says, and however much the SDK says.
#[test]
fn requests_are_logged_without_credentials() {
    let store = Double::start(|_| None);
    let dir = dir(&[]);
    let audit = |flag: &str, filter: Option<&str>| {
        let mut command = lockshift(dir.path());
        command
            .args(["audit", "--bucket", "acme", "--region", "eu-west-1", "--settle", "0", "--endpoint-url"])
            .args([&store.url(), flag])
            .env("AWS_ACCESS_KEY_ID", "AKIAHUNTER2")
            .env("AWS_SECRET_ACCESS_KEY", "hunter2-secret")
            .env("AWS_SESSION_TOKEN", "hunter2-session");
        if let Some(filter) = filter {
            command.env("LOCKSHIFT_LOG", filter);
        }
        said(&mut command).2
    };
    let short = audit("-v", None);
    let line = format!(
        " INFO lockshift::audit::collect::meter: asked operation=\"GetBucketVersioning\" method=\"GET\" url=\"{}/acme/\" status=\"200\" milliseconds=",
        store.url()
    );
    assert!(short.contains(&line), "{short}");
    assert!(short.lines().all(|line| line.starts_with(" INFO lockshift::")), "{short}");
    let long = audit("-vv", None);
    assert!(long.contains(": aws_smithy_runtime::"), "{long}");
    let all = audit("-q", Some("trace"));
    assert!(all.contains(": aws_smithy_runtime::"), "{all}");
    for said in [short, long, all] {
        let lower = said.to_lowercase();
        assert!(
            !lower.contains("hunter2"),
            "{}",
            said.lines().filter(|l| l.to_lowercase().contains("hunter2")).collect::<String>()
        );
        assert!(!lower.contains("signature=") && !lower.contains("aws4-hmac"), "{said}");
    }
    assert!(
        store.seen().iter().any(|request| request.header("x-amz-security-token") == Some("hunter2-session"))
    );
}

/// `/dev/full` is a full disk: every command says so, and the exit code is not the one of a result that nobody got.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let dir = dir(&[]);
    for args in [
        &["scan"][..],
        &["scan", "--format", "json"],
        &["migrate", "--phase", "rollback", "--rollback-table", "t"],
        &["explain"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = lockshift(dir.path()).args(args).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(
            stderr.contains("error: could not write the result: No space left on device"),
            "{args:?}: {stderr}"
        );
    }
    let (code, _, stderr) = said(lockshift(dir.path()).args(["scan", "--output", "/dev/full"]));
    assert_eq!(code, 2);
    assert!(stderr.starts_with("error: could not write /dev/full: No space left on device"), "{stderr}");
}

/// Nobody listens: no noise, and the exit code of the result all the same.
#[test]
#[cfg(unix)]
fn closed_streams_are_no_error() {
    let dir = dir(&[]);
    for (shell, code) in [
        ("\"$0\" scan >&-", 0),
        ("\"$0\" scan --fail-on never 2>&-", 0),
        ("\"$0\" nonsense 2>&-", 2),
        ("\"$0\" >&- 2>&-", 2),
        ("\"$0\" explain | head -n 0; \"$0\" scan --help | head -n 0", 0),
    ] {
        let (ended, _, stderr) =
            said(Command::new("sh").args(["-c", shell, PROGRAM]).current_dir(dir.path()));
        assert_eq!((ended, stderr.as_str()), (code, ""), "{shell}");
    }
}

/// Two runs can be compared line by line, whatever the number of threads and the width of some terminal.
#[test]
fn output_is_the_same_each_time() {
    let dir = TempDir::new().unwrap();
    for n in 0..40 {
        let below = dir.path().join(format!("envs/{n}"));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("main.tf"), MODULE.replace("use_lockfile = true", "dynamodb_table = \"t\""))
            .unwrap();
    }
    for format in ["table", "json", "sarif", "github", "markdown", "csv", "html"] {
        let run = |threads: &str, columns: &str| {
            said(
                lockshift(dir.path())
                    .args(["scan", "--format", format, "--threads", threads])
                    // The page tells when it was made.
                    .env("SOURCE_DATE_EPOCH", "1796040000")
                    .env("COLUMNS", columns),
            )
        };
        let first = run("1", "200");
        assert_eq!(first.0, 1);
        assert_eq!(first, run("8", "40"), "{format}");
    }
}
