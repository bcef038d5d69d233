//! What is nearly right on the command line or in a file, and what a run says that lacks something: each is told what is
//! wrong, where, and what to write instead.

#![cfg(test)]
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A root module with both locks, which no pinned version takes: one finding, of severity info.
const DUAL: &str = "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {\n    bucket = \"acme-state\"\n    key    = \"k\"\n    region = \"eu-west-1\"\n    dynamodb_table = \"locks\"\n    use_lockfile = true\n  }\n}\n";

fn dir(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("a/main.tf"), DUAL).unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// Exit code, stdout, stderr of the program in a directory, cut off from the environment but for these variables.
fn run(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", dir);
    // Nobody asks this machine's own metadata.
    command.env("AWS_EC2_METADATA_DISABLED", "true").envs(variables.iter().copied());
    let output = command.args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn what_is_wrong_is_said_with_what_to_write() {
    let dir = dir(&[("ev.json", "{}"), ("file", "")]);
    let runner = ["--runner", "arn:aws:iam::111122223333:role/r"];
    let admin = ["--state-admin", "arn:aws:iam::111122223333:role/a"];
    let cases: &[(&[&str], &str)] = &[
        (
            &["scan", "ev.json"],
            "error: nothing to look at: no Terraform, OpenTofu or Terragrunt files in `ev.json`\n",
        ),
        (
            &["audit", "ev.json"],
            "error: nothing to look at: no s3 backend is configured in `ev.json`, and no bucket is named\n",
        ),
        (
            &["scan", "a", "--history", "5", "--format", "html"],
            "error: there is no path `5`\nhelp: the number of commits is joined with `=`: `--history=5`\n",
        ),
        (
            &["audit", "a", "--history", "5", "--format", "html"],
            "error: there is no path `5`\nhelp: the number of commits is joined with `=`: `--history=5`\n",
        ),
        (
            &["policy", "decid"],
            "error: there is no path `decid`\nhelp: did you mean `lockshift policy decide`?\n",
        ),
        (
            &["policy", "a", "--runner", "foo", "--state-admin", "bar"],
            "error: --runner: `foo` is no ARN\nhelp: a role's is `arn:aws:iam::ACCOUNT:role/NAME`",
        ),
        (
            &["policy", "a", runner[0], runner[1], "--state-admin", "bar"],
            "error: --state-admin: `bar` is no ARN\n",
        ),
        (
            &["policy", "a", runner[0], runner[1], "--break-glass", "bar"],
            "error: --break-glass: `bar` is no ARN\n",
        ),
        (
            &["policy", "a", runner[0], runner[1], admin[0], admin[1], "--plan-role", "p"],
            "error: --plan-role: `p` is no ARN\n",
        ),
        (
            &["policy", "a", runner[0], runner[1], admin[0], admin[1], "--caller", "me"],
            "error: --caller: `me` is no ARN\n",
        ),
        (
            &["policy", "a", runner[0], runner[1], admin[0], admin[1], "--kms-key", "alias/x"],
            "error: --kms-key: `alias/x` is no ARN\n",
        ),
    ];
    for (args, start) in cases {
        let (code, stdout, stderr) = run(dir.path(), args, &[]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert!(stderr.starts_with(start), "{args:?}:\n{stderr}");
    }
    let (code, _, stderr) = run(dir.path(), &["migrate"], &[]);
    assert!(
        code == 2
            && stderr.ends_with("`rollback` (One step back: lockfile to both, both to DynamoDB alone)\n"),
        "{stderr}"
    );
    let (code, _, stderr) = run(dir.path(), &["unlock"], &[]);
    assert_eq!(code, 2);
    for way in ["--id <ID>", "--unreadable", "--digest <WHAT>", "--from-audit <FILE>"] {
        assert!(stderr.contains(way), "{way}: {stderr}");
    }
}

#[test]
fn other_spellings_of_the_same_are_taken() {
    let dir = dir(&[]);
    let scan = |args: &[&str]| run(dir.path(), &[&["scan", "a"], args].concat(), &[]);
    assert_eq!(scan(&["--engine", "tofu"]), scan(&["--engine", "opentofu"]));
    assert_eq!(scan(&["--fail-on", "INFO"]).0, 1);
    assert_eq!(scan(&["--fail-on", "High"]).0, 0);
    let (code, _, stderr) = run(dir.path(), &["scan", "a"], &[("LOCKSHIFT_LOG", "trcae")]);
    assert_eq!(
        (code, stderr.as_str()),
        (
            0,
            "note: LOCKSHIFT_LOG: no part is called `trcae`, so nothing is said of it; did you mean `trace`?\n"
        )
    );
}

#[test]
fn groups_are_for_the_formats_that_show_them() {
    let dir = dir(&[]);
    for format in ["csv", "json", "sarif", "github", "html"] {
        for by in ["bucket", "table", "mode", "owner", "account"] {
            let (code, stdout, stderr) = run(dir.path(), &["scan", "a", "--by", by, "--format", format], &[]);
            assert_eq!((code, stdout.as_str()), (2, ""), "{by} {format}");
            assert!(
                stderr
                    .starts_with("error: --by groups root modules in the formats table and markdown alone\n"),
                "{stderr}"
            );
        }
        assert_eq!(run(dir.path(), &["scan", "a", "--by", "root", "--format", format], &[]).0, 0, "{format}");
    }
    for format in ["table", "markdown"] {
        assert_eq!(
            run(dir.path(), &["scan", "a", "--by", "owner", "--format", format], &[]).0,
            0,
            "{format}"
        );
    }
}

#[test]
fn what_can_t_be_written_is_helped_with_the_right_reason() {
    let dir = dir(&[]);
    let help = |to: &str| {
        let (code, stdout, stderr) = run(dir.path(), &["scan", "a", "-o", to], &[]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{to}");
        stderr.lines().find_map(|line| line.strip_prefix("help: ")).unwrap_or_default().to_owned()
    };
    assert_eq!(help("a"), "`--output` takes a file, not a directory: name a file in it");
    assert_eq!(help("nowhere/x"), "`--output` takes a file in a directory that exists");
    assert_eq!(help("a/main.tf/x"), "`--output` takes a file in a directory that exists");
    assert_eq!(
        help("/dev/full"),
        "`--output` takes a file where there is room: make some, or name another place"
    );
}

#[test]
fn a_text_that_ends_too_early_is_shown_where_it_ends() {
    let dir = dir(&[
        ("short.json", "{\n  \"buckets\": [\n"),
        ("case.json", "[\n  {\"principl\": \"anonymous\"}\n]\n"),
    ]);
    let (code, _, stderr) = run(dir.path(), &["audit", "a", "--snapshot", "short.json"], &[]);
    assert_eq!(code, 2);
    assert!(
        stderr.starts_with("error: short.json:2:15: no snapshot: EOF while parsing a list\n  2 |   \"buckets\": [\n    |               ^\n"),
        "{stderr}"
    );
    let (code, _, stderr) = run(dir.path(), &["policy", "decide", "--batch", "case.json"], &[]);
    assert_eq!(code, 2);
    assert!(
        stderr.starts_with(
            "error: case.json:2:4: case 1: `principl` is no member of a case; did you mean `principal`?\n  \
             2 |   {\"principl\": \"anonymous\"}\n    |    ^\n"
        ),
        "{stderr}"
    );
}

#[test]
fn what_is_no_bucket_policy_at_all_could_not_run() {
    let dir = dir(&[]);
    for (text, says) in [
        (r#"{"Policy": "{\"Version\": "}"#, "(the text of `Policy`):1:12: no JSON: EOF"),
        (r#"{"Policy": "[1]"}"#, "(the text of `Policy`): no bucket policy: it is no JSON object"),
        (r#"{"Policy": {"Statement": []}}"#, "(the text of `Policy`): no bucket policy: it is no text"),
        (
            r#"{"Policy": "{\"Policy\": \"{\"}"}"#,
            "(the text of `Policy`): no bucket policy: it has no `Statement`",
        ),
        ("[]", "p.json: no bucket policy: it is no JSON object"),
        (r#"{"Version": "2012-10-17"}"#, "p.json: no bucket policy: it has no `Statement`"),
    ] {
        fs::write(dir.path().join("p.json"), text).unwrap();
        let role = |name: &str| format!("arn:aws:iam::111122223333:role/{name}");
        let (runner, admin) = (role("r"), role("a"));
        let args =
            ["policy", "a", "--runner", &runner, "--state-admin", &admin, "--existing-policy", "p.json"];
        let (code, stdout, stderr) = run(dir.path(), &args, &[]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{text}: {stderr}");
        assert!(stderr.contains(says), "{text}: {stderr}");
    }
}

const NO_CREDENTIALS: &str = "there are no AWS credentials here: name a profile (`--profile NAME`, or AWS_PROFILE), sign in (`aws \
                              sso login`), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

#[test]
fn without_credentials_each_command_says_what_to_do_once() {
    let dir = dir(&[]);
    let state = "s3://acme-state/k";
    let commands: [(&[&str], usize); 4] = [
        (&["audit", "a", "--settle", "0"], 2),
        (&["unlock", state, "--table", "locks", "--region", "eu-west-1", "--id", "x"], 1),
        (&["unlock", state, "--table", "locks", "--region", "eu-west-1", "--digest", "set"], 1),
        (&["watch", state, "--table", "locks", "--region", "eu-west-1"], 1),
    ];
    for (args, times) in commands {
        let (code, stdout, stderr) = run(dir.path(), args, &[]);
        assert_eq!(code, 3, "{args:?}: {stdout}{stderr}");
        let all = format!("{stdout}{stderr}");
        assert_eq!(all.matches(NO_CREDENTIALS).count(), times, "{args:?}: {all}");
        assert!(!all.contains("provider") && !all.contains("IMDS"), "{args:?}: {all}");
    }
}

#[test]
fn a_profile_that_does_not_exist_is_said_with_where_it_was_looked_for() {
    let dir = dir(&[("config", "[profile prod]\nregion = eu-west-1\n"), ("keys", "[other]\n")]);
    let files = [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "keys")];
    let state = ["s3://acme-state/k", "--table", "locks", "--region", "eu-west-1"];
    let unlock = [&["unlock"], &state[..], &["--id", "x"]].concat();
    let watch = [&["watch"], &state[..]].concat();
    for args in [vec!["audit", "a"], unlock, watch] {
        let (code, stdout, stderr) = run(dir.path(), &[&args[..], &["--profile", "nope"]].concat(), &files);
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}: {stderr}");
        assert_eq!(
            stderr,
            "error: there is no profile `nope` in config or keys\nhelp: `aws configure list-profiles` lists them\n"
        );
    }
    // One that the environment or the repository names is no usage error: other stores may be reached another way.
    let named = [files[0], files[1], ("AWS_PROFILE", "prd")];
    let (code, stdout, _) = run(dir.path(), &["audit", "a", "--settle", "0"], &named);
    assert_eq!(code, 3);
    let said = "there is no profile `prd` in config or keys; did you mean `prod`? (AWS_PROFILE names it)";
    assert!(stdout.contains(said), "{stdout}");
    fs::write(dir.path().join("a/main.tf"), DUAL.replace("    key ", "    profile = \"gone\"\n    key "))
        .unwrap();
    let (code, stdout, _) = run(dir.path(), &["audit", "a", "--settle", "0"], &files);
    assert_eq!(code, 3);
    assert!(stdout.contains("there is no profile `gone` in config or keys"), "{stdout}");
}

#[test]
fn the_page_says_what_the_exit_code_says() {
    let dir = dir(&[]);
    let page = |args: &[&str]| {
        let (code, page, stderr) = run(dir.path(), &[&["scan", "a", "--format", "html"], args].concat(), &[]);
        let verdict = page.split("<div class=\"verdict ").nth(1).unwrap_or_else(|| panic!("{stderr}"));
        (code, verdict.split("</b>").next().unwrap().to_owned())
    };
    assert_eq!(page(&[]), (0, "good\"><p><b>Passes".to_owned()));
    assert_eq!(page(&["--fail-on", "info"]), (1, "bad\"><p><b>Not clean".to_owned()));
    fs::write(dir.path().join("a/broken.tf"), "terraform {\n  backend \"s3\" {\n").unwrap();
    assert_eq!(page(&["--fail-on", "never"]), (3, "bad\"><p><b>Not clean".to_owned()));
}

#[test]
fn shells_are_offered_rules_and_severities() {
    let dir = dir(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let (_, script, _) = run(dir.path(), &["completions", shell], &[]);
        // scan, audit: --fail-on; explain; unlock: --rule.
        let offered = script.matches("lock-stale").count();
        assert!(offered >= 4, "{shell}: {offered}");
        assert!(script.contains("critical"), "{shell}");
    }
    // Help does not list a hundred rules.
    for command in [&["explain", "--help"][..], &["scan", "--help"], &["audit", "--help"], &["man", "scan"]] {
        assert!(!run(dir.path(), command, &[]).1.contains("two-writers"), "{command:?}");
    }
}
