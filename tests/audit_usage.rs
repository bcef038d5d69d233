//! What `lockshift audit` refuses before it reads anything: wrong names, options that would be ignored, files that can't
//! be written. And whose credentials it takes, against a store made by hand.

// clippy.toml only knows test functions; what helps them may fail loudly, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::indexing_slicing, clippy::string_slice)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::double::{Double, Reply, Request};
use tempfile::TempDir;

/// Exit code, stdout and stderr of an audit in `dir`, with keys in the environment and a profile file of its own.
fn audit(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let credentials = dir.join("credentials");
    let profile = "[prod]\naws_access_key_id = FROMPROFILE\naws_secret_access_key = any\n";
    fs::write(&credentials, profile).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command
        .env("AWS_ACCESS_KEY_ID", "FROMENVIRONMENT")
        .env("AWS_SECRET_ACCESS_KEY", "any")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_SHARED_CREDENTIALS_FILE", &credentials)
        .env("AWS_CONFIG_FILE", dir.join("config"));
    let output = command.arg("audit").args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The access keys that requests were signed with.
fn keys(seen: &[Request]) -> Vec<String> {
    let key = |request: &Request| {
        let scope = request.header("authorization")?.split("Credential=").nth(1)?;
        scope.split('/').next().map(str::to_owned)
    };
    let mut keys: Vec<String> = seen.iter().filter_map(key).collect();
    keys.sort();
    keys.dedup();
    keys
}

#[test]
fn a_profile_that_is_named_wins_over_keys_in_the_environment() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|_| None);
    let url = double.url();
    let args =
        ["--bucket", "b", "--table", "locks", "--settle", "0", "--endpoint-url", &url, "--profile", "prod"];
    let (_, _, stderr) = audit(dir.path(), &args);
    assert_eq!(keys(&double.seen()), ["FROMPROFILE"], "{stderr}");

    // The backend's own profile, too.
    let module = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"us-east-1\"\n    \
                  profile = \"prod\"\n    dynamodb_table = \"locks\"\n  }\n}\n";
    fs::write(dir.path().join("main.tf"), module).unwrap();
    let double = Double::start(|_| None);
    let (_, _, stderr) = audit(dir.path(), &[".", "--settle", "0", "--endpoint-url", &double.url()]);
    assert_eq!(keys(&double.seen()), ["FROMPROFILE"], "{stderr}");

    // Without one, the environment's.
    let double = Double::start(|_| None);
    let url = double.url();
    audit(dir.path(), &["--bucket", "b", "--settle", "0", "--endpoint-url", &url]);
    assert_eq!(keys(&double.seen()), ["FROMENVIRONMENT"]);
}

#[test]
fn a_profile_that_is_not_there_is_unread() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|_| None);
    let url = double.url();
    let args =
        ["--bucket", "b", "--settle", "0", "--endpoint-url", &url, "--profile", "nobody", "--format", "json"];
    let (code, stdout, stderr) = audit(dir.path(), &args);
    assert_eq!(code, 3, "{stdout}{stderr}");
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["unread"][0]["resource"], "s3://b");
    assert!(json["unread"][0]["reason"].as_str().unwrap().contains("nobody"), "{}", json["unread"]);
    assert_eq!(keys(&double.seen()), [] as [&str; 0], "nothing was asked with other credentials");
}

#[test]
fn a_role_is_assumed_at_the_endpoint_that_is_named() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|request| {
        request.body.contains("Action=AssumeRole").then(|| {
            Reply::ok(
                "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><Credentials>\
                 <AccessKeyId>FROMROLE</AccessKeyId><SecretAccessKey>any</SecretAccessKey><SessionToken>t</SessionToken>\
                 <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials><AssumedRoleUser><AssumedRoleId>A:s\
                 </AssumedRoleId><Arn>arn:aws:sts::123456789012:assumed-role/r/s</Arn></AssumedRoleUser>\
                 </AssumeRoleResult></AssumeRoleResponse>",
            )
        })
    });
    let url = double.url();
    let role = "arn:aws:iam::123456789012:role/r";
    let args =
        ["--bucket", "b", "--settle", "0", "--endpoint-url", &url, "--role-arn", role, "--profile", "prod"];
    let (_, stdout, stderr) = audit(dir.path(), &args);
    let seen = double.seen();
    let (sts, stores): (Vec<Request>, Vec<Request>) =
        seen.into_iter().partition(|request| request.body.contains("Action=AssumeRole"));
    assert_eq!(keys(&sts), ["FROMPROFILE"], "{stdout}{stderr}");
    assert_eq!(keys(&stores), ["FROMROLE"], "{stdout}{stderr}");
}

#[test]
fn retire_tells_tables_of_one_name_in_two_regions_apart() {
    let dir = TempDir::new().unwrap();
    let module = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n    \
                  dynamodb_table = \"tf\"\n  }\n}\n";
    fs::write(dir.path().join("main.tf"), module).unwrap();
    let double = Double::start(|request| {
        let scope = request.header("authorization")?.split("Credential=").nth(1)?;
        let region = scope.split('/').nth(2)?;
        (request.target() == "DescribeTable").then(|| {
            Reply::ok(format!(
                r#"{{"Table":{{"TableName":"tf","TableArn":"arn:aws:dynamodb:{region}:123456789012:table/tf","KeySchema":[{{"AttributeName":"LockID","KeyType":"HASH"}}]}}}}"#
            ))
        })
    });
    let url = double.url();
    for (region, used) in [("us-east-1", false), ("eu-west-1", true)] {
        let arn = format!("arn:aws:dynamodb:{region}:123456789012:table/tf");
        let (code, stdout, stderr) =
            audit(dir.path(), &[".", "--retire", &arn, "--settle", "0", "--endpoint-url", &url]);
        assert!(code == 1 || code == 3, "{stdout}{stderr}");
        assert_eq!(stdout.contains("locks with it"), used, "{region}: {stdout}{stderr}");
        assert!(!stdout.contains("was not read"), "{region}: {stdout}");
    }
}

#[test]
fn what_is_no_name_is_a_usage_error() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|_| None);
    let url = double.url();
    for (flag, value, says) in [
        ("--bucket", "s3://x", "write the bucket's name alone: x"),
        ("--bucket", "x/key", "`--prefix` says which keys: key"),
        ("--table", "arn:aws:dynamodb:foo", "arn:aws:dynamodb:REGION:ACCOUNT:table/NAME"),
        ("--retire", "arn:aws:dynamodb:foo", "arn:aws:dynamodb:REGION:ACCOUNT:table/NAME"),
    ] {
        let (code, _, stderr) = audit(dir.path(), &[flag, value, "--endpoint-url", &url]);
        assert_eq!(code, 2, "{flag} {value}: {stderr}");
        assert!(stderr.contains(says), "{flag} {value}: {stderr}");
    }
    assert_eq!(double.seen().len(), 0);
}

#[test]
fn a_file_that_can_t_be_written_is_said_before_anything_is_read() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|_| None);
    let url = double.url();
    for flag in ["--save-snapshot", "--write-baseline", "--output"] {
        let (code, _, stderr) =
            audit(dir.path(), &["--bucket", "b", flag, "nowhere/file.json", "--endpoint-url", &url]);
        assert_eq!(code, 2, "{flag}: {stderr}");
        assert!(stderr.contains(&format!("`{flag}` takes a file")), "{flag}: {stderr}");
    }
    assert_eq!(double.seen().len(), 0, "nothing was asked");
    let (code, ..) = audit(dir.path(), &["--bucket", "b", "--table", "arn:x", "--output", "out.json"]);
    assert_eq!((code, dir.path().join("out.json").exists()), (2, false));
}

#[test]
fn what_a_snapshot_would_ignore_is_a_usage_error() {
    let dir = TempDir::new().unwrap();
    let ignored: [&[&str]; 4] = [
        &["--iam"],
        &["--read-states"],
        &["--lock-bodies", "locks"],
        &["--exported-at", "2026-11-30T12:00:00Z"],
    ];
    for flags in ignored {
        let (code, _, stderr) = audit(dir.path(), &[&["--snapshot", "a.json"], flags].concat());
        assert_eq!(code, 2, "{flags:?}");
        assert!(stderr.contains("cannot be used with") && stderr.contains(flags[0]), "{flags:?}: {stderr}");
    }
    for flag in ["--iam", "--read-states"] {
        let (code, _, stderr) = audit(dir.path(), &["--dynamodb-export", "locks=items.json", flag]);
        assert!(code == 2 && stderr.contains("cannot be used with"), "{flag}: {stderr}");
    }
}
