//! `lockshift policy` as a program: what it writes for the fixtures, that nothing of a present policy is lost, that it
//! refuses instead of locking somebody out, and that its HCL is what `terraform fmt` would write.
#![cfg(test)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

mod support;

const ROLES: [&str; 8] = [
    "--runner",
    "arn:aws:iam::111122223333:role/ci/tf-apply",
    "--plan-role",
    "arn:aws:iam::111122223333:role/ci/tf-plan",
    "--break-glass",
    "arn:aws:iam::111122223333:role/break-glass",
    "--state-admin",
    "arn:aws:iam::111122223333:role/state-admin",
];

fn lockshift(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .arg("policy")
        .args(args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .output()
        .expect("lockshift starts")
}

fn with_roles(dir: &Path, args: &[&str]) -> Output {
    lockshift(dir, &[&ROLES[..], args].concat())
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One root module with one state.
fn small() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("main.tf"),
        "terraform {\n  backend \"s3\" {\n    bucket         = \"acme-tfstate\"\n    key            = \
         \"prod/terraform.tfstate\"\n    region         = \"eu-west-1\"\n    dynamodb_table = \"locks\"\n    \
         use_lockfile   = true\n    encrypt        = true\n  }\n}\n",
    )
    .unwrap();
    dir
}

/// `terraform fmt` of a text, which must change nothing.
fn assert_formatted(text: &str) {
    let mut fmt = Command::new(support::terraform_program())
        .args(["fmt", "-check", "-diff", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("terraform starts");
    fmt.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = fmt.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_small_repository_reads_as_accepted() {
    let dir = small();
    let output = with_roles(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    insta::assert_json_snapshot!("small", document(&output));
    insta::assert_snapshot!("small-said", stderr(&output));
}

#[test]
fn the_monorepo_gets_proven_documents_for_each_bucket_and_says_what_it_could_not_place() {
    let output = with_roles(&support::repository().join("fixtures"), &["monorepo", "--kms-key", KEY]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let report = document(&output);
    let buckets: Vec<String> = report["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| {
            let documents =
                ["runner", "plan", "break_glass"].map(|kind| bucket[kind].as_array().unwrap().len());
            format!("{} {} {documents:?}", bucket["bucket"].as_str().unwrap(), bucket["proven"])
        })
        .collect();
    insta::assert_json_snapshot!("monorepo-buckets", buckets);
    insta::assert_json_snapshot!("monorepo-unplaced", report["unplaced"]);
}

const KEY: &str = "arn:aws:kms:eu-west-1:111122223333:key/00000000-0000-0000-0000-000000000000";

#[test]
fn the_final_phase_drops_the_table_and_lists_the_statements_that_can_go() {
    let dir = small();
    let tables = |output: &Output| {
        document(output)["buckets"][0]["runner"][0]["Statement"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|statement| statement["Sid"] == "LockTable")
            .map(|statement| statement["Resource"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        tables(&with_roles(dir.path(), &["--phase", "dual"])),
        [json!("arn:aws:dynamodb:eu-west-1:111122223333:table/locks")]
    );
    assert!(tables(&with_roles(dir.path(), &["--phase", "final"])).is_empty());
    let output = with_roles(
        &support::repository().join("fixtures"),
        &["monorepo", "--kms-key", KEY, "--phase", "final"],
    );
    insta::assert_json_snapshot!("monorepo-dynamodb-statements", document(&output)["dynamodb_statements"]);
}

#[test]
fn hcl_is_what_terraform_fmt_writes() {
    let dir = small();
    let output = with_roles(dir.path(), &["--format", "hcl"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let small = String::from_utf8(output.stdout).unwrap();
    assert_formatted(&small);
    assert!(small.contains("data \"aws_iam_policy_document\" \"acme_tfstate_bucket_policy\" {"), "{small}");

    let monorepo = with_roles(
        &support::repository().join("fixtures"),
        &["monorepo", "--kms-key", KEY, "--phase", "final", "--format", "hcl"],
    );
    let text = String::from_utf8(monorepo.stdout).unwrap();
    assert!(text.matches("data \"aws_iam_policy_document\"").count() > 20);
    assert_formatted(&text);

    let present = dir.path().join("present.json");
    let statement = json!({
        "Effect": "Allow",
        "Principal": {"AWS": ["111122223333"], "Service": "logging.s3.amazonaws.com"},
        "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::acme-tfstate/home/${aws:username}/*",
        "Condition": {"StringLike": {"aws:userid": ["${aws:PrincipalTag/a, 'b'}", "x\"y\\z"]}},
    });
    fs::write(&present, json!({"Version": "2012-10-17", "Statement": statement}).to_string()).unwrap();
    let output = with_roles(dir.path(), &["--format", "hcl", "--existing-policy", "present.json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"arn:aws:s3:::acme-tfstate/home/$${aws:username}/*\""), "{text}");
    assert_formatted(&text);
}

#[test]
fn one_file_for_each_document() {
    let dir = small();
    let output = with_roles(dir.path(), &["--out-dir", "policies"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    let mut names: Vec<String> = fs::read_dir(dir.path().join("policies"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "acme-tfstate.auditor.json",
            "acme-tfstate.break-glass.json",
            "acme-tfstate.bucket-policy.json",
            "acme-tfstate.plan.json",
            "acme-tfstate.runner.json"
        ]
    );
    let whole = document(&with_roles(dir.path(), &[]));
    let policy = fs::read(dir.path().join("policies/acme-tfstate.bucket-policy.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&policy).unwrap(), whole["buckets"][0]["bucket_policy"]);
}

#[test]
fn roles_that_are_not_named_are_asked_for_and_not_guessed() {
    let dir = small();
    let none = lockshift(dir.path(), &[]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(2), 0));
    assert_eq!(
        stderr(&none),
        "error: not named: the roles that apply (`--runner ARN`, or `runners`); the role that manages the bucket \
         (`--state-admin ARN`, or `state_admin`)\nhelp: roles stand below `[roles]` in lockshift.toml, or in flags; \
         none is guessed\n"
    );
    fs::write(
        dir.path().join("lockshift.toml"),
        "[roles]\nrunners = [\"arn:aws:iam::111122223333:role/r\"]\nstate_admin = [\"arn:aws:iam::111122223333:role/s\"]\n",
    )
    .unwrap();
    let named = lockshift(dir.path(), &[]);
    assert_eq!(named.status.code(), Some(0), "{}", stderr(&named));
    assert_eq!(document(&named)["buckets"][0]["account"], "111122223333");
}

#[test]
fn a_gate_refuses_and_nothing_is_written() {
    let dir = small();
    let caller = with_roles(
        dir.path(),
        &["--caller", "arn:aws:sts::111122223333:assumed-role/tf-apply/me", "--out-dir", "policies"],
    );
    assert_eq!((caller.status.code(), caller.stdout.len()), (Some(1), 0));
    assert!(stderr(&caller).starts_with("refused  acme-tfstate  policy-locks-out\n"), "{}", stderr(&caller));
    assert!(!dir.path().join("policies").exists());

    let large = json!({"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"AWS": "111122223333"}, "Action": "s3:GetObject",
        "Resource": (0..400).map(|n| format!("arn:aws:s3:::acme-tfstate/some/long/prefix/{n:05}")).collect::<Vec<_>>(),
    }]});
    fs::write(dir.path().join("large.json"), large.to_string()).unwrap();
    let large = with_roles(dir.path(), &["--existing-policy", "large.json"]);
    assert_eq!(large.status.code(), Some(1));
    assert!(stderr(&large).contains("policy-too-large"), "{}", stderr(&large));
    for gate in ["locks-out", "not-mergeable", "not-proven", "role-unusable", "too-large"] {
        let page = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["explain", &format!("policy-{gate}")])
            .output()
            .unwrap();
        assert!(page.status.success(), "{gate}");
    }
}

#[test]
fn a_present_policy_keeps_every_statement() {
    let dir = small();
    let statements = json!([
        {"Sid": "Tls", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
         "Resource": ["arn:aws:s3:::acme-tfstate", "arn:aws:s3:::acme-tfstate/*"],
         "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        {"Sid": "TflockCreateOnlyByRunners", "Effect": "Allow", "Principal": {"Service": "logging.s3.amazonaws.com"},
         "Action": "s3:PutObject", "Resource": "arn:aws:s3:::acme-tfstate/logs/*"},
        {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::acme-tfstate/*",
         "Condition": {"Null": {"s3:x-amz-server-side-encryption": "true"}}},
    ]);
    let policy = json!({"Id": "theirs", "Version": "2012-10-17", "Statement": statements});
    fs::write(dir.path().join("present.json"), policy.to_string()).unwrap();
    let output = with_roles(dir.path(), &["--existing-policy", "present.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let new = document(&output)["buckets"][0]["bucket_policy"].clone();
    assert_eq!(new["Id"], "theirs");
    assert_eq!(new["Statement"].as_array().unwrap()[..3], statements.as_array().unwrap()[..]);
    assert!(stderr(&output).contains("ours is `TflockCreateOnlyByRunners2`"), "{}", stderr(&output));

    // Without `encrypt`, that policy refuses every write: the proof says so.
    let main = fs::read_to_string(dir.path().join("main.tf")).unwrap();
    fs::write(dir.path().join("main.tf"), main.replace("    encrypt        = true\n", "")).unwrap();
    let refused = with_roles(dir.path(), &["--existing-policy", "present.json"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("s3:PutObject with If-None-Match")
            && stderr(&refused).contains("policy-not-proven"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn usage_that_would_mislead_is_an_error() {
    let fixtures = support::repository().join("fixtures");
    let dir = small();
    fs::write(dir.path().join("present.json"), "{}").unwrap();
    let present = dir.path().join("present.json");
    let present = present.to_str().unwrap();
    for (args, says) in [
        (vec!["monorepo", "--existing-policy", present], "is one bucket's policy"),
        (vec!["monorepo", "--bucket", "nowhere"], "no state here is in bucket `nowhere`"),
        (vec!["monorepo", "--account", "12"], "`12` is no account"),
        (vec!["monorepo", "--context", "x"], "is not KEY=VALUE"),
        (vec!["no-such-directory"], "No such file"),
    ] {
        let output = with_roles(&fixtures, &args);
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn a_present_policy_that_can_not_be_read_is_shown_where_it_is_wrong() {
    let dir = small();
    for (present, says) in [
        (
            &b"{\n  \"Statement\": [\n    {,}\n  ]\n}\n"[..],
            "error: present.json:3:6: no JSON: key must be a string\n  3 |     {,}\n",
        ),
        (
            b"{\"Policy\": \"{\\n  \\\"Statement\\\": ,\\n}\"}",
            "error: present.json (the text of `Policy`):2:16: no JSON: expected value\n  2 |   \"Statement\": ,\n",
        ),
        (b"{\n\"Id\": \"\xFC\"}", "error: present.json:2:8: not UTF-8\n"),
        (b"\xFF\xFE{\0}\0", "error: present.json:1:1: UTF-16 or UTF-32 text, which is not read\n"),
    ] {
        fs::write(dir.path().join("present.json"), present).unwrap();
        let output = with_roles(dir.path(), &["--existing-policy", "present.json"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        assert!(stderr(&output).starts_with(says), "{}", stderr(&output));
    }
}

#[test]
fn partitions_are_not_mixed() {
    let dir = small();
    let mixed = lockshift(
        dir.path(),
        &[
            "--runner",
            "arn:aws:iam::111122223333:role/tf",
            "--state-admin",
            "arn:aws-cn:iam::111122223333:role/admin",
        ],
    );
    // The backend is in eu-west-1.
    assert_eq!((mixed.status.code(), mixed.stdout.len()), (Some(2), 0));
    let said = stderr(&mixed);
    assert!(
        said.starts_with(
            "error: bucket `acme-tfstate` is in region eu-west-1 of partition `aws`, and the roles are of partition \
             `aws-cn`\n"
        ),
        "{said}"
    );
    let text = fs::read_to_string(dir.path().join("main.tf")).unwrap();
    fs::write(dir.path().join("main.tf"), text.replace("eu-west-1", "cn-north-1")).unwrap();
    let mixed = lockshift(
        dir.path(),
        &[
            "--runner",
            "arn:aws:iam::111122223333:role/tf",
            "--state-admin",
            "arn:aws-cn:iam::111122223333:role/admin",
        ],
    );
    assert_eq!(mixed.status.code(), Some(1));
    let said = stderr(&mixed);
    assert!(said.starts_with("refused  acme-tfstate  policy-role-unusable\n"), "{said}");
    assert!(
        said.contains(
            "`arn:aws:iam::111122223333:role/tf` is of another partition than the bucket's `aws-cn`"
        )
    );
    let china: Vec<String> = ROLES.iter().map(|text| text.replace("arn:aws:", "arn:aws-cn:")).collect();
    let china: Vec<&str> = china.iter().map(String::as_str).collect();
    let written = lockshift(dir.path(), &china);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    let text = String::from_utf8(written.stdout).unwrap();
    assert!(text.contains("arn:aws-cn:s3:::acme-tfstate/*.tflock") && !text.contains("\"arn:aws:"), "{text}");
}

#[test]
fn a_present_policy_that_can_t_be_used_is_told_with_its_place() {
    let dir = small();
    let run = |text: &str| {
        fs::write(dir.path().join("present.json"), text).unwrap();
        let output = with_roles(dir.path(), &["--existing-policy", "present.json"]);
        (output.status.code().unwrap(), stderr(&output))
    };
    let (code, said) = run("{\n  \"Version\":");
    assert_eq!(code, 2);
    assert!(said.starts_with("error: present.json:2:1") && said.contains(": no JSON: EOF"), "{said}");
    // Another bucket's policy: S3 would refuse it, after everything else was believed.
    let (code, said) = run(
        r#"{"Statement": {"Effect": "Allow", "Principal": {"AWS": "111122223333"}, "Action": "s3:GetObject",
            "Resource": ["arn:aws:s3:::acme-*/*", "arn:aws:s3:::acme-logs/*"]}}"#,
    );
    assert_eq!(code, 1);
    assert!(said.starts_with("refused  acme-tfstate  policy-not-mergeable\n"), "{said}");
    assert!(
        said.contains("statement 1 names `arn:aws:s3:::acme-logs/*`, which is not in bucket `acme-tfstate`"),
        "{said}"
    );
    let (code, said) = run(
        r#"{"Statement": {"Effect": "Allow", "Principal": {"AWS": "111122223333"}, "Action": "s3:GetObject",
            "Resource": ["arn:aws:s3:::acme-*/*", "arn:aws:s3:::acme-tfstate/*"]}}"#,
    );
    assert_eq!(code, 0, "{said}");
    let file = with_roles(dir.path(), &["--out-dir", "present.json"]);
    assert_eq!(file.status.code(), Some(2));
    assert!(stderr(&file).starts_with("error: --out-dir: present.json is a file\n"), "{}", stderr(&file));
}

#[test]
fn who_comes_by_identity_center_is_not_locked_out() {
    let dir = small();
    let admin = "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/*AWSReservedSSO_StateAdmin_*";
    let session =
        "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_StateAdmin_0123456789abcdef/ada@example.com";
    let run = |caller: &str| {
        let roles = ["--runner", "arn:aws:iam::111122223333:role/ci/tf-apply", "--state-admin", admin];
        let output = lockshift(dir.path(), &[&roles[..], &["--caller", caller]].concat());
        (output.status.code().unwrap(), stderr(&output))
    };
    assert_eq!(run(session).0, 0, "{}", run(session).1);
    let role = "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_StateAdmin_0123456789abcdef";
    assert_eq!(run(role).0, 0);
    let (code, said) = run(&session.replace("StateAdmin", "ReadOnly"));
    assert_eq!(code, 1);
    assert!(said.starts_with("refused  acme-tfstate  policy-locks-out\n"), "{said}");
}
