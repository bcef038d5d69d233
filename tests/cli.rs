//! The program as its users run it: arguments in, text and exit code out.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::said::Said;
use support::tree::tree;

/// The program, in a directory and an environment that decide nothing.
fn lockshift(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.current_dir(dir);
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
        command.env_remove(variable);
    }
    command
}

fn run(dir: &Path, args: &[&str]) -> Said {
    Said::of(lockshift(dir).args(args))
}

/// A root module with `required_version`, so that no version rule fires.
fn module(settings: &str) -> String {
    format!(
        "terraform {{\n  required_version = \">= 1.11\"\n  backend \"s3\" {{\n    bucket = \"b\"\n    key    = \"k\"\n    region = \"eu-west-1\"\n{settings}  }}\n}}\n"
    )
}

const LOCKFILE: &str = "    use_lockfile = true\n";
const TABLE: &str = "    dynamodb_table = \"locks\"\n";

#[test]
fn alone_it_says_where_to_go_and_does_not_pass_for_a_check() {
    let dir = tree(&[]);
    let said = run(dir.path(), &[]);
    assert_eq!(said.code, 2);
    assert_eq!(said.stdout, "");
    assert!(said.stderr.contains("lockshift scan "), "{}", said.stderr);
    assert!(said.stderr.contains("lockshift explain "), "{}", said.stderr);
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let dir = tree(&[]);
    let said = run(dir.path(), &["--help"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    for word in ["scan", "audit", "explain", "completions", "man", "--color", "Exit codes:", "  3  "] {
        assert!(said.stdout.contains(word), "{word} is missing:\n{}", said.stdout);
    }
    let scan = run(dir.path(), &["scan", "--help"]).stdout;
    for option in [
        "--format",
        "--output",
        "--by",
        "--fail-on",
        "--engine",
        "--exclude",
        "--no-ignore",
        "--threads",
        "--config",
        "--quiet",
        "[default: medium]",
    ] {
        assert!(scan.contains(option), "{option} is missing:\n{scan}");
    }
    assert_eq!(run(dir.path(), &["--version"]).stdout, format!("lockshift {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn usage_errors_are_2_and_say_what_was_meant() {
    let dir = tree(&[]);
    let said = run(dir.path(), &["scam"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.contains("'scan'"), "{}", said.stderr);
    let said = run(dir.path(), &["scan", "--fail-on", "hgih"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("did you mean `high`?"), "{}", said.stderr);
    assert_eq!(run(dir.path(), &["scan", "--threads", "0"]).code, 2);
}

#[test]
fn explain_prints_a_page_lists_all_and_suggests() {
    let dir = tree(&[]);
    let page = run(dir.path(), &["explain", "dynamodb-only"]);
    assert_eq!((page.code, page.stderr.as_str()), (0, ""));
    assert!(page.stdout.starts_with("# "), "{}", page.stdout);
    let list = run(dir.path(), &["explain"]);
    assert_eq!(list.code, 0);
    assert!(list.stdout.lines().any(|line| line.starts_with("dynamodb-only ")), "{}", list.stdout);
    assert_eq!(run(dir.path(), &["explain", "--list"]).stdout, list.stdout);
    let near = run(dir.path(), &["explain", "dynamo-only"]);
    assert_eq!((near.code, near.stdout.as_str()), (2, ""));
    assert_eq!(near.stderr, "error: no rule is called `dynamo-only`\nhelp: did you mean `dynamodb-only`?\n");
    let far = run(dir.path(), &["explain", "\u{1b}[2J"]);
    assert_eq!(
        far.stderr,
        "error: no rule is called `\\u{1b}[2J`\nhelp: `lockshift explain` lists all rules\n"
    );
}

#[test]
fn completions_and_manual_pages() {
    let dir = tree(&[]);
    for (shell, word) in
        [("bash", "_lockshift()"), ("zsh", "#compdef lockshift"), ("fish", "complete -c lockshift")]
    {
        let said = run(dir.path(), &["completions", shell]);
        assert_eq!(said.code, 0);
        assert!(said.stdout.contains(word), "{shell}:\n{}", said.stdout);
        assert!(said.stdout.contains("fail-on"), "{shell} knows no options");
    }
    let said = run(dir.path(), &["man"]);
    assert_eq!(said.code, 0);
    assert!(said.stdout.contains(".TH lockshift 1  \"lockshift 0."), "{}", said.stdout);
    let said = run(dir.path(), &["man", "scan"]);
    assert!(said.stdout.contains(".TH lockshift-scan 1"), "{}", said.stdout);
    assert!(said.stdout.contains("fail\\-on"), "{}", said.stdout);
    assert_eq!(
        run(dir.path(), &["man", "nothing"]).stderr.lines().next(),
        Some("error: no command is called `nothing`")
    );
    let said = run(dir.path(), &["man", "policy", "decide"]);
    assert!(said.stdout.contains(".TH lockshift-policy-decide 1"), "{}", said.stdout);
    assert_eq!(
        run(dir.path(), &["man", "scan", "decide"]).stderr,
        "error: no command is called `decide`\nhelp: `lockshift scan` has no commands of its own\n"
    );
}

#[test]
fn all_manual_pages_are_written_into_a_directory() {
    let dir = tree(&[("file", "")]);
    let said = run(dir.path(), &["man", "--dir", "share/man1"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
    let pages = dir.path().join("share/man1");
    let mut names: Vec<String> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in ["lockshift.1", "lockshift-scan.1", "lockshift-policy.1", "lockshift-policy-decide.1"] {
        assert!(names.iter().any(|have| have == name), "{name} is missing: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
    for name in &names {
        let page = std::fs::read_to_string(pages.join(name)).unwrap();
        let title = format!(".TH {} 1 ", name.strip_suffix(".1").unwrap());
        assert!(page.contains(&title), "{name} has no title {title:?}");
    }
    let refused = run(dir.path(), &["man", "--dir", "file/man1"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.starts_with("error: could not make file/man1: "), "{}", refused.stderr);
}

#[test]
fn nothing_to_look_at_is_2() {
    let dir = tree(&[("README.md", "# hello\n")]);
    let said = run(dir.path(), &["scan"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.starts_with("error: nothing to look at"), "{}", said.stderr);
    let said = run(dir.path(), &["scan", "missing"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.starts_with("error: missing"), "{}", said.stderr);
}

#[test]
fn terraform_without_an_s3_backend_was_looked_at() {
    let dir = tree(&[("main.tf", "resource \"terraform_data\" \"x\" {}\n")]);
    let said = run(dir.path(), &["scan"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.contains("No root module with an s3 backend was found."), "{}", said.stdout);
}

#[test]
fn clean_is_0() {
    let dir = tree(&[("envs/a/main.tf", &module(LOCKFILE))]);
    let said = run(dir.path(), &["scan"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    assert!(said.stdout.contains("envs/a  lockfile  b"), "{}", said.stdout);
}

#[test]
fn findings_are_1_as_far_as_fail_on_says() {
    let dir = tree(&[("main.tf", &module(TABLE))]);
    let code = |fail_on: &str| run(dir.path(), &["scan", "--fail-on", fail_on]).code;
    assert_eq!(code("dynamodb-only"), 1);
    assert_eq!(code("info"), 1);
    assert_eq!(code("no-locking"), 0);
    assert_eq!(code("never"), 0);
}

#[test]
fn what_was_not_read_or_told_is_3_unless_findings_decide() {
    let encrypted = tree(&[("a/main.tf", &module(LOCKFILE))]);
    fs::write(encrypted.path().join("a/secret.tf"), b"\0GITCRYPT\0 backend \"s3\" \x01\x02").unwrap();
    assert_eq!(run(encrypted.path(), &["scan", "--fail-on", "never"]).code, 3);

    let unknown = tree(&[("main.tf", &module("    dynamodb_table = var.table\n"))]);
    let said = run(unknown.path(), &["scan", "--fail-on", "never"]);
    assert_eq!(said.code, 3, "{}", said.stdout);
    assert!(said.stdout.contains("Can't be told: the lock mode of 1 effective backend."), "{}", said.stdout);

    let both =
        tree(&[("a/main.tf", &module("    dynamodb_table = var.table\n")), ("b/main.tf", &module(TABLE))]);
    assert_eq!(run(both.path(), &["scan", "--fail-on", "dynamodb-only"]).code, 1);
}

#[test]
fn every_format_is_well_formed() {
    let dir = tree(&[("a/main.tf", &module(TABLE)), ("b/main.tf", &module(LOCKFILE))]);
    let said = |format: &str| run(dir.path(), &["scan", "--format", format, "--fail-on", "never"]);
    let json: Value = serde_json::from_str(&said("json").stdout).unwrap();
    assert_eq!(json["roots"][0]["path"], "a");
    assert_eq!(json["roots"][0]["backends"][0]["mode"], "dynamodb");
    assert_eq!(json["summary"]["modes"]["lockfile"], 1);
    let sarif: Value = serde_json::from_str(&said("sarif").stdout).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(
        sarif["runs"][0]["results"]
            .as_array()
            .unwrap()
            .iter()
            .any(|result| result["ruleId"] == "dynamodb-only")
    );
    assert!(said("github").stdout.contains("dynamodb-only::"), "{}", said("github").stdout);
    assert!(said("markdown").stdout.starts_with("## lockshift scan\n"));
    assert_eq!(said("csv").stdout.lines().count(), 3);
    let page = said("html").stdout;
    assert!(page.starts_with("<!DOCTYPE html>\n") && page.ends_with("</html>\n"), "{page}");
    let verdict = "<b>Passes</b>: everything was read; <a href=\"#open\">4 open findings</a>, none of which reaches \
                   <code>--fail-on</code>.";
    assert!(page.contains(verdict), "{page}");
}

#[test]
fn output_goes_to_the_file_and_stdout_stays_empty() {
    let dir = tree(&[("a/main.tf", &module(LOCKFILE))]);
    let said = run(dir.path(), &["scan", "--format", "json", "--output", "out.json"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{}", said.stderr);
    let json: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(json["schema_version"], 1);
    let said = run(dir.path(), &["scan", "--output", "no/such/dir/out"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.starts_with("error: could not write no/such/dir/out"), "{}", said.stderr);
}

#[test]
fn colour_follows_the_flag_and_the_environment() {
    let dir = tree(&[("a/main.tf", &module(LOCKFILE))]);
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let said = Said::of(lockshift(dir.path()).args(args).envs(variables.iter().copied()));
        said.stdout.contains('\u{1b}')
    };
    assert!(!coloured(&["scan"], &[]));
    assert!(coloured(&["scan", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(coloured(&["scan"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["scan"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&["--color", "never", "--help"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn groups_and_quiet() {
    let dir = tree(&[("a/main.tf", &module(TABLE)), ("b/main.tf", &module(LOCKFILE))]);
    let said = run(dir.path(), &["scan", "--by", "mode", "--fail-on", "never"]);
    assert!(said.stdout.starts_with("MODE      ROOT MODULES"), "{}", said.stdout);
    let role = "    assume_role = { role_arn = \"arn:aws:iam::444455556666:role/tf\" }\n";
    let dir = tree(&[("a/main.tf", &module(&format!("{TABLE}{role}"))), ("b/main.tf", &module(LOCKFILE))]);
    let said = run(dir.path(), &["scan", "--by", "account", "--fail-on", "never"]);
    let rows: Vec<&str> = said.stdout.lines().skip(2).take(2).collect();
    assert!(rows[0].starts_with("444455556666  1") && rows[1].starts_with("(none)"), "{}", said.stdout);
    let said = run(dir.path(), &["scan", "--quiet", "--fail-on", "never"]);
    assert!(said.stdout.starts_with("Findings\n"), "{}", said.stdout);
}

#[test]
fn configuration_errors_are_2() {
    let dir = tree(&[("main.tf", &module(LOCKFILE)), ("bad.toml", "nonsense = 1\n")]);
    let said = run(dir.path(), &["scan", "--config", "bad.toml"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(said.stderr.starts_with("error: bad.toml:1:1"), "{}", said.stderr);
    let said = run(dir.path(), &["scan", "--config", "missing.toml"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.starts_with("error: could not read missing.toml"), "{}", said.stderr);
}

/// `lockshift scan | head -0`: nobody reads, and that is no error; the exit code still says what was found.
#[test]
#[cfg(unix)]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let names: Vec<String> = (0..500).map(|n| format!("envs/{n}/main.tf")).collect();
    let text = module(LOCKFILE);
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let dir = tree(&files);
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(["scan", "--format", "json", "--fail-on", "never"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Terragrunt copies a unit's own files over the module that it downloads: the empty block beside the unit's file is
/// filled by the unit, wherever its module comes from.
#[test]
fn a_terragrunt_unit_fills_the_empty_block_beside_it() {
    let unit = "terraform {\n  source = \"git::https://example.com/vpc.git\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n";
    let dir = tree(&[
        ("vpc/terragrunt.hcl", unit),
        ("vpc/versions.tf", "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {}\n}\n"),
    ]);
    let said = run(dir.path(), &["scan", "--format", "csv", "--fail-on", "never"]);
    let rows: Vec<&str> = said.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), 1, "{}", said.stdout);
    assert!(rows[0].contains("lockfile"), "{}", said.stdout);
}
