//! `lockshift audit` as its users run it, on the saved snapshot of `fixtures/audit` and on exports: no network.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::said::Said;
use support::tree::tree;
use tempfile::TempDir;

/// The program in a directory and an environment that decide nothing, and that lead to no AWS.
fn run(dir: &Path, args: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.current_dir(dir).arg("audit").args(args);
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "AWS_PROFILE"] {
        command.env_remove(variable);
    }
    Said::of(&mut command)
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

const SNAPSHOT: &str = "fixtures/audit/snapshot.json";

/// The audit of README: the made-up company's repository against a snapshot of its stores.
fn fixture(more: &[&str]) -> Said {
    run(repository(), &[&["fixtures/monorepo", "--snapshot", SNAPSHOT], more].concat())
}

/// A root module whose state is `b/k`, locked in S3 alone.
const MODULE: &str = "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {\n    bucket       = \"b\"\n    \
                      key          = \"k\"\n    region       = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n";

/// Settings of a bucket in which nothing is wrong, and everything was asked.
fn bucket(name: &str, more: &Value) -> Value {
    let absent = json!({ "is": "absent" });
    let mut bucket = json!({
        "name": name, "region": "eu-west-1", "complete": true,
        "versioning": { "is": "known", "value": "Enabled" },
        "object_lock": absent, "lifecycle": absent, "policy": absent,
        "public_access_block": { "is": "known", "value": {
            "block_public_acls": true, "ignore_public_acls": true, "block_public_policy": true,
            "restrict_public_buckets": true,
        }},
        "ownership": { "is": "known", "value": "BucketOwnerEnforced" },
        "encryption": { "is": "known", "value": { "algorithm": "AES256" } },
        "replication": absent, "access_points": absent,
    });
    for (name, value) in more.as_object().unwrap() {
        bucket[name] = value.clone();
    }
    bucket
}

fn snapshot(buckets: &[Value], unread: &[Value]) -> String {
    let taken_at = "2026-11-30T12:00:00Z";
    json!({
        "schema_version": 1, "taken_at": taken_at, "buckets": buckets, "tables": [], "unread": unread, "stats": {},
    })
    .to_string()
}

/// A `.tflock` on `b/k`, taken on the day of the snapshot.
fn lock(created: &str, who: &str) -> Value {
    let document = json!({
        "ID": "0b5f6c4e-0000-4000-8000-000000000001", "Operation": "OperationTypeApply", "Info": "", "Who": who,
        "Version": "1.11.4", "Created": created, "Path": "b/k",
    });
    json!({
        "key": "k.tflock", "last_modified": created, "etag": "\"e\"", "size": document.to_string().len(),
        "body": { "is": "lock", "lock": document, "text": document.to_string() }, "settled": "same",
    })
}

fn state() -> Value {
    json!({ "key": "k", "last_modified": "2026-11-01T10:00:00Z", "etag": "e", "size": 9 })
}

fn refused(resource: &str, hides_locks: bool) -> Value {
    json!({
        "resource": resource, "operation": "GetBucketPolicy", "reason": "AccessDenied",
        "missing_action": "s3:GetBucketPolicy", "hides_locks": hides_locks,
    })
}

#[test]
fn help_names_every_option() {
    let said = run(repository(), &["--help"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    for option in [
        "--bucket",
        "--table",
        "--prefix",
        "--snapshot",
        "--save-snapshot",
        "--dynamodb-export",
        "--s3-export",
        "--lock-bodies",
        "--exported-at",
        "--read-states",
        "--profile",
        "--role-arn",
        "--region",
        "--endpoint-url",
        "--concurrency",
        "--window",
        "--stale-after",
        "--settle",
        "--fail-on",
        "--baseline",
        "--write-baseline",
        "--format",
        "--output",
        "--stats",
        "--exclude",
        "--no-ignore",
        "--threads",
        "--config",
        "--quiet",
        "Exit codes:",
    ] {
        assert!(said.stdout.contains(option), "{option} is missing:\n{}", said.stdout);
    }
}

#[test]
fn what_can_t_be_meant_is_2_and_says_so() {
    let dir = tree(&[("main.tf", MODULE), ("empty/README.md", ""), ("no.json", "{}"), ("list.json", "[")]);
    for (args, start) in [
        (&["--prefix", "a/"][..], "error: --prefix needs a bucket"),
        (&["--snapshot", "missing.json"], "error: could not read missing.json"),
        (&["--snapshot", "no.json"], "error: no.json:1:2: no snapshot: missing field"),
        (&["--snapshot", "list.json"], "error: list.json:1:1: no snapshot: EOF"),
        (&["--s3-export", "b=no.json"], "error: no.json: neither Versions nor Contents"),
        (
            &["--baseline", "no.json"],
            "error: no.json: no audit's JSON: it is a JSON object without `schema_version`",
        ),
        (&["empty"], "error: nothing to look at"),
        (&["--s3-export", "no-file"], "error: invalid value"),
        (&["--endpoint-url", "https://me:hunter2@host"], "error: "),
        (&["--window", "soon"], "error: invalid value"),
        (&["--settle", "-1s"], "error: "),
        (&["--exported-at", "today"], "error: invalid value"),
        (&["--snapshot", "no.json", "--bucket", "b"], "error: the argument"),
    ] {
        let said = run(dir.path(), args);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}: {}", said.stderr);
        assert!(said.stderr.starts_with(start), "{args:?}: {}", said.stderr);
        assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
    }
    let newer = snapshot(&[], &[]).replace("\"schema_version\":1", "\"schema_version\":9");
    fs::write(dir.path().join("newer.json"), newer).unwrap();
    let said = run(dir.path(), &["--snapshot", "newer.json"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("a snapshot of version 9"), "{}", said.stderr);
    fs::write(dir.path().join("none.json"), snapshot(&[], &[])).unwrap();
    let said = run(dir.path(), &["--snapshot", "none.json"]);
    assert!(said.stderr.starts_with("error: nothing to look at"), "{}", said.stderr);
}

#[test]
fn a_saved_snapshot_is_saved_again_as_it_was() {
    let before = fs::read_to_string(repository().join(SNAPSHOT)).unwrap();
    let copy = lockshift::report::audit::json::snapshot(&serde_json::from_str(&before).unwrap()).unwrap();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(read(&copy), read(&before));
    // One that was saved before accounts' blocks and the simulator were asked.
    let mut older = read(&before);
    older.as_object_mut().unwrap().remove("simulations").unwrap();
    for bucket in older["buckets"].as_array_mut().unwrap() {
        bucket.as_object_mut().unwrap().remove("account_public_access_block").unwrap();
    }
    let copy = lockshift::report::audit::json::snapshot(&serde_json::from_value(older).unwrap()).unwrap();
    assert_eq!(read(&copy), read(&before));
}

#[test]
fn every_format_is_well_formed() {
    let said = |format: &str| fixture(&["--format", format, "--fail-on", "never"]);
    for format in ["table", "json", "sarif", "github", "markdown", "junit", "prometheus", "csv", "html"] {
        let said = said(format);
        // The snapshot holds things that could not be read: never 0.
        assert_eq!((said.code, said.stderr.as_str()), (3, ""), "{format}");
        let raw = said.stdout.find(|c: char| c.is_control() && c != '\n' && c != '\r');
        assert_eq!(raw, None, "{format}");
        assert!(
            said.stdout.contains("acme-legacy-locks") || format == "prometheus",
            "{format}: {}",
            said.stdout
        );
    }
    let json: Value = said("json").json();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["generated_at"], "2026-11-30T09:00:00Z");
    assert!(json["unread"].as_array().unwrap().iter().any(|one| one["missing_action"] == "dynamodb:Scan"));
    let sarif: Value = said("sarif").json();
    assert_eq!(sarif["version"], "2.1.0");
    for result in sarif["runs"][0]["results"].as_array().unwrap() {
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert!(!uri.as_str().unwrap().is_empty(), "{result}");
    }
    assert!(said("markdown").stdout.starts_with("## lockshift audit\n"));
    assert!(said("junit").stdout.starts_with("<?xml version=\"1.0\""));
    assert!(said("prometheus").stdout.contains("\nlockshift_unread{hides_locks=\"true\"} "));
    assert!(!said("prometheus").stdout.contains("last_success"));
    let rows = said("csv").stdout;
    assert!(rows.starts_with("subject,mode,roots,"), "{rows}");
}

#[test]
fn requests_are_told_when_asked_for() {
    let said = fixture(&["--stats", "--fail-on", "never"]);
    assert!(said.stdout.contains("  Requests: "), "{}", said.stdout);
    let said = fixture(&["--stats", "--fail-on", "never", "--format", "csv"]);
    assert!(said.stderr.starts_with("Requests: "), "{}", said.stderr);
    let said = fixture(&["--fail-on", "never"]);
    assert!(!said.stdout.contains("Requests: "), "{}", said.stdout);
}

#[test]
fn output_goes_to_the_file_and_stdout_stays_empty() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("audit.json");
    let said = fixture(&["--format", "json", "--fail-on", "never", "--output", out.to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (3, "", ""));
    let json: Value = serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(json["summary"]["states"], json["states"].as_array().unwrap().len());
}

#[test]
fn a_file_of_the_repository_that_was_not_read_is_unread_here_too() {
    let dir = tree(&[
        ("main.tf", MODULE),
        ("s.json", &snapshot(&[bucket("b", &json!({ "states": [state()] }))], &[])),
    ]);
    fs::write(dir.path().join("secret.tf"), b"\0GITCRYPT\0 backend \"s3\" \x01\x02").unwrap();
    let said = run(dir.path(), &[".", "--snapshot", "s.json", "--format", "json", "--fail-on", "never"]);
    assert_eq!(said.code, 3, "{}", said.stdout);
    let unread = said.json()["unread"].clone();
    assert!(
        unread.as_array().unwrap().iter().any(|one| one["operation"] == "scan" && one["hides_locks"] == true),
        "{unread}"
    );
}

#[test]
fn exports_become_a_snapshot() {
    let document = r#"{"ID":"7","Operation":"OperationTypeApply","Info":"","Who":"a@b","Version":"1.11.4","Created":"2026-11-30T11:00:00Z","Path":"b/k"}"#;
    let version = |key: &str, size: usize| {
        json!({
            "Key": key, "VersionId": "v1", "IsLatest": true, "LastModified": "2026-11-30T11:00:00+00:00",
            "ETag": "\"e\"", "Size": size,
        })
    };
    let versions =
        json!({ "Versions": [version("k", 9), version("k.tflock", document.len())], "RequestCharged": null });
    let items = json!({
        "Items": [{ "LockID": { "S": "b/k" }, "Info": { "S": document } }], "Count": 1, "ScannedCount": 1,
        "ConsumedCapacity": null,
    });
    let dir = tree(&[
        ("versions.json", &versions.to_string()),
        ("items.json", &items.to_string()),
        ("locks/b/k.tflock", document),
    ]);
    let args = [
        "--s3-export",
        "b=versions.json",
        "--dynamodb-export",
        "arn:aws:dynamodb:eu-west-1:111122223333:table/locks=items.json",
        "--lock-bodies",
        "locks",
        "--exported-at",
        "2026-11-30T12:00:00Z",
        "--save-snapshot",
        "out.json",
        "--format",
        "json",
    ];
    let said = run(dir.path(), &args);
    assert_ne!(said.code, 2, "{}", said.stderr);
    let saved: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(saved["taken_at"], "2026-11-30T12:00:00Z");
    assert_eq!(saved["buckets"][0]["locks"][0]["body"]["lock"]["Who"], "a@b");
    assert_eq!(saved["tables"][0]["items"][0]["body"]["lock"]["ID"], "7");
    assert_eq!(saved["unread"], json!([]));
    assert_eq!(said.json()["generated_at"], "2026-11-30T12:00:00Z");
    // Without the bodies nobody knows whose lock it is.
    let without: Vec<&str> =
        args.iter().copied().filter(|arg| !matches!(*arg, "--lock-bodies" | "locks")).collect();
    let said = run(dir.path(), &[&without[..], &["--fail-on", "never"]].concat());
    assert_eq!(said.code, 3);
    assert!(said.stdout.contains("its body was not exported"), "{}", said.stdout);
}

/// The role of docs/running.md reads and does nothing else.
#[test]
fn the_auditor_s_role_only_reads() {
    let text = fs::read_to_string(repository().join("docs/roles/auditor-role-policy.json")).unwrap();
    let policy: Value = serde_json::from_str(&text).unwrap();
    let mut actions = Vec::new();
    for statement in policy["Statement"].as_array().unwrap() {
        assert_eq!(statement["Effect"], "Allow");
        match &statement["Action"] {
            Value::String(one) => actions.push(one.clone()),
            many => {
                actions.extend(many.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()));
            }
        }
    }
    assert!(actions.contains(&"s3:ListBucketVersions".to_owned()));
    for action in actions {
        let (_, name) = action.split_once(':').unwrap();
        let reads = ["Get", "List", "Describe"].iter().any(|verb| name.starts_with(verb));
        assert!(reads || matches!(name, "Scan" | "Decrypt" | "SimulatePrincipalPolicy"), "{action}");
        assert!(!name.contains('*'), "{action}");
    }
    let page = fs::read_to_string(repository().join("docs/running.md")).unwrap();
    for statement in policy["Statement"].as_array().unwrap() {
        let sid = statement["Sid"].as_str().unwrap();
        assert!(page.contains(&format!("`{sid}`")), "docs/running.md does not explain {sid}");
    }
}

/// What needs judging.
mod judged {
    use super::*;

    fn rules(said: &Said) -> Vec<(String, String)> {
        let json = said.json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let findings = json["findings"].as_array().unwrap();
        findings.iter().map(|found| (text(&found["rule"]), text(&found["subject"]))).collect()
    }

    #[test]
    fn the_fixture_holds_what_it_is_meant_to_show() {
        let said = fixture(&["--format", "json"]);
        assert_eq!(said.code, 1, "{}", said.stderr);
        let found = rules(&said);
        for (rule, subject) in [
            ("two-writers", "s3://acme-tfstate-commerce-green/warehouse/terraform.tfstate"),
            ("lock-stale", "s3://acme-tfstate-platform/platform/invoices/terraform.tfstate"),
            ("lock-object-of-table-only", "s3://acme-tfstate-platform/platform/billing/terraform.tfstate"),
            (
                "lock-in-table-of-lockfile-only",
                "s3://acme-tfstate-platform/platform/audit-log/terraform.tfstate",
            ),
            ("coverage-contradicted", "s3://acme-tfstate-platform/platform/audit-log/terraform.tfstate"),
            ("lock-split-s3-only", "s3://acme-tfstate-commerce-test/orders/terraform.tfstate"),
            ("digest-stale", "s3://acme-tfstate-overrides/overrides/json-override/terraform.tfstate"),
            ("lock-unreadable", "s3://acme-tfstate-values/values/lockfile-one.tfstate"),
            ("bucket-unversioned", "s3://acme-tfstate-sandbox"),
            ("bucket-versioning-suspended", "s3://acme-tfstate-legacy"),
            ("bucket-lock-expiry", "s3://acme-tfstate-live"),
            ("bucket-object-lock-retention", "s3://acme-tfstate-commerce-payments"),
        ] {
            let both = (rule.to_owned(), subject.to_owned());
            assert!(found.contains(&both), "{rule} of {subject} is missing: {found:#?}");
        }
        // A running apply holds both locks, and nothing is wrong with it.
        let healthy = "s3://acme-tfstate-platform/platform/dns/terraform.tfstate";
        assert!(!found.iter().any(|(_, subject)| subject == healthy), "{found:#?}");
        let json = said.json();
        let states = json["states"].as_array().unwrap();
        let dns =
            states.iter().find(|state| state["state_path"] == "platform/dns/terraform.tfstate").unwrap();
        assert_eq!(dns["locks"]["s3"]["id"], dns["locks"]["dynamodb"]["id"]);
        assert_eq!(dns["coverage"]["verdict"], "proven");
    }

    #[test]
    fn clean_is_0_and_a_setting_that_was_not_read_is_3() {
        let clean = bucket("b", &json!({ "states": [state()] }));
        let dir = tree(&[("main.tf", MODULE)]);
        let code = |text: String, args: &[&str]| {
            fs::write(dir.path().join("s.json"), text).unwrap();
            let said = run(dir.path(), &[&[".", "--snapshot", "s.json"], args].concat());
            (said.code, said.stdout)
        };
        // Without a bucket policy everybody may delete a lock: that is found, and is no matter of this test.
        let locks = ["--fail-on", "critical"];
        let (rc, out) = code(snapshot(std::slice::from_ref(&clean), &[]), &locks);
        assert_eq!(rc, 0, "{out}");
        for hides_locks in [false, true] {
            let (rc, out) =
                code(snapshot(std::slice::from_ref(&clean), &[refused("s3://b", hides_locks)]), &locks);
            assert_eq!(rc, 3, "{out}");
            assert!(out.contains("the role lacks s3:GetBucketPolicy"), "{out}");
        }
        // Another bucket's snapshot says nothing about this one.
        let (rc, out) = code(snapshot(&[bucket("other", &json!({}))], &[]), &locks);
        assert_eq!(rc, 3, "{out}");
        let held =
            bucket("b", &json!({ "states": [state()], "locks": [lock("2026-11-30T02:00:00Z", "a@b")] }));
        let both = snapshot(&[held], &[refused("s3://b", true)]);
        let (rc, out) = code(both.clone(), &["--fail-on", "lock-stale"]);
        assert_eq!(rc, 1, "findings decide first: {out}");
        assert_eq!(code(both, &["--fail-on", "never"]).0, 3);
    }

    #[test]
    fn stale_after_comes_from_the_flag_then_the_file_then_two_hours() {
        let held =
            bucket("b", &json!({ "states": [state()], "locks": [lock("2026-11-30T09:00:00Z", "a@b")] }));
        let dir = tree(&[("main.tf", MODULE), ("s.json", &snapshot(&[held], &[]))]);
        let code = |args: &[&str]| {
            let always = [".", "--snapshot", "s.json", "--fail-on", "lock-stale"];
            run(dir.path(), &[&always, args].concat()).code
        };
        assert_eq!(code(&[]), 1, "three hours");
        assert_eq!(code(&["--stale-after", "4h"]), 0);
        fs::write(dir.path().join("lockshift.toml"), "stale_after = \"4h\"\n").unwrap();
        assert_eq!(code(&[]), 0);
        assert_eq!(code(&["--stale-after", "1h"]), 1);
    }

    #[test]
    fn an_ignore_and_a_baseline_accept_what_is_known_and_nothing_else() {
        let held = |created: &str| {
            let locks = json!({ "states": [state()], "locks": [lock(created, "a@b")] });
            snapshot(&[bucket("b", &locks)], &[])
        };
        let dir = tree(&[("main.tf", MODULE), ("s.json", &held("2026-11-30T02:00:00Z"))]);
        let code = |args: &[&str]| {
            let always = [".", "--snapshot", "s.json"];
            run(dir.path(), &[&always, args].concat()).code
        };
        assert_eq!(code(&["--write-baseline", "base.json"]), 1);
        assert_eq!(code(&["--baseline", "base.json"]), 0);
        // The same fault, an hour older.
        fs::write(dir.path().join("s.json"), held("2026-11-30T01:00:00Z")).unwrap();
        assert_eq!(code(&["--baseline", "base.json"]), 0);
        let other = held("2026-11-30T02:00:00Z").replace("000000000001", "000000000002");
        fs::write(dir.path().join("s.json"), other).unwrap();
        assert_eq!(code(&["--baseline", "base.json"]), 1, "another lock");

        let ignore = "[[ignore]]\nrule = \"lock-stale\"\nsubject = \"s3://b/**\"\nreason = \"known\"\n";
        fs::write(dir.path().join("lockshift.toml"), ignore).unwrap();
        assert_eq!(code(&["--fail-on", "lock-stale"]), 0);
        let said = run(dir.path(), &[".", "--snapshot", "s.json"]);
        assert!(said.stdout.contains("lock-stale s3://b/k: known"), "{}", said.stdout);
        fs::write(dir.path().join("lockshift.toml"), format!("{ignore}expires = \"2020-01-01\"\n")).unwrap();
        assert_eq!(code(&["--fail-on", "lock-stale"]), 1);
        assert_eq!(code(&["--fail-on", "ignore-expired"]), 1);
        let off = "[rules.lock-stale]\nseverity = \"off\"\nreason = \"r\"\n";
        fs::write(dir.path().join("lockshift.toml"), off).unwrap();
        assert_eq!(code(&["--fail-on", "lock-stale"]), 0);
    }

    #[test]
    fn what_a_client_wrote_drives_neither_a_terminal_nor_a_runner() {
        let who = "x\u{1b}[2J\n::error::gotcha\u{202e}<script>|`@team";
        let held = bucket("b", &json!({ "states": [state()], "locks": [lock("2026-11-30T02:00:00Z", who)] }));
        let dir = tree(&[("main.tf", MODULE), ("s.json", &snapshot(&[held], &[]))]);
        for format in ["table", "json", "sarif", "github", "markdown", "junit", "prometheus", "csv", "html"] {
            let said = run(dir.path(), &[".", "--snapshot", "s.json", "--format", format]);
            assert_eq!(said.code, 1, "{format}: {}", said.stderr);
            let raw = said.stdout.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
            assert_eq!(raw, None, "{format}");
            assert!(!said.stdout.lines().any(|line| line.starts_with("::error::")), "{format}");
        }
    }
}
