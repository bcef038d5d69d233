//! What `lockshift audit` refuses before it reads anything: wrong names, options that would be ignored, files that can't
//! be written. And whose credentials it takes, against a store made by hand.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::double::{Double, Reply, Request};
use tempfile::TempDir;

/// Exit code, stdout and stderr of an audit in `dir`, with keys in the environment and a profile file of its own.
fn audit(dir: &Path, args: &[&str]) -> (i32, String, String) {
    audit_with(dir, args, &[])
}

/// The same, with more in the environment.
fn audit_with(dir: &Path, args: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
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
    command.envs(environment.iter().copied());
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
fn a_profile_that_is_not_there_is_a_usage_error_and_nothing_is_asked() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|_| None);
    let url = double.url();
    let args =
        ["--bucket", "b", "--settle", "0", "--endpoint-url", &url, "--profile", "nobody", "--format", "json"];
    let (code, stdout, stderr) = audit(dir.path(), &args);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.starts_with("error: there is no profile `nobody` in "), "{stderr}");
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

#[test]
fn an_organizations_policy_is_taken_as_people_have_it_or_refused_with_its_place() {
    let dir = TempDir::new().unwrap();
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/audit/snapshot.json");
    let run = |text: &str| {
        fs::write(dir.path().join("scp.json"), text).unwrap();
        let args = ["--snapshot", snapshot.to_str().unwrap(), "--scp", "scp.json", "--fail-on", "never"];
        audit(dir.path(), &[&args[..], &["--format", "json"]].concat())
    };
    let full = r#"{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"#;
    let plain = run(full);
    assert_eq!(plain.0, 3, "{}", plain.2);
    // With a byte order mark, as a list, and as `aws organizations describe-policy` prints it.
    let printed =
        serde_json::json!({"Policy": {"PolicySummary": {"Name": "FullAWSAccess"}, "Content": full}});
    for text in [format!("\u{feff}{full}"), format!("[{full}]"), printed.to_string()] {
        assert_eq!(run(&text).1, plain.1, "{text}");
    }
    for (text, said) in [
        ("{\n \"Statement\":", "error: scp.json:2:1"),
        ("\"x\"", "error: scp.json[0]: no policy: it is no JSON object\n"),
        ("{\"oops\": 1}", "error: scp.json[0]: no policy: it has no `Statement`\n"),
        (
            "{\"Policies\": [{\"Id\": \"p-FullAWSAccess\", \"Type\": \"SERVICE_CONTROL_POLICY\"}]}",
            "error: scp.json[0]: no policy: it has no `Statement`\n",
        ),
        ("[{\"Statement\": []}, 1]", "error: scp.json[1]: no policy: it is no JSON object\n"),
    ] {
        let (code, stdout, stderr) = run(text);
        assert_eq!((code, stdout.len()), (2, 0), "{text}");
        assert!(stderr.starts_with(said), "{text}: {stderr}");
    }
}

#[test]
fn without_iam_an_accounts_block_that_may_not_be_read_is_no_reason_for_another_exit_code() {
    let dir = TempDir::new().unwrap();
    let double = Double::start(|request| {
        if request.body.contains("Action=GetCallerIdentity") {
            let caller =
                "<R><GetCallerIdentityResult><Account>111122223333</Account></GetCallerIdentityResult></R>";
            return Some(Reply::ok(caller));
        }
        if request.path.starts_with("/v20180820/") {
            return Some(Reply::error(403, "AccessDenied"));
        }
        (request.method == "HEAD").then(|| Reply::ok(""))
    });
    let args = ["--bucket", "b", "--settle", "0", "--format", "json", "--stats", "--fail-on", "never"];
    let url = double.url();
    let environment = [("AWS_ENDPOINT_URL", url.as_str())];
    let (code, stdout, stderr) = audit_with(dir.path(), &args, &environment);
    assert_eq!(code, 0, "{stderr}{stdout}");
    let said: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let findings = said["findings"].as_array().unwrap();
    let open = findings.iter().find(|finding| finding["rule"] == "bucket-public-access-not-blocked").unwrap();
    assert_eq!(open["severity"], "medium");
    let message = open["message"].as_str().unwrap();
    assert!(
        message.ends_with("(the account's could not be read: AccessDenied: made by the test)"),
        "{message}"
    );
    let requests = &said["stats"]["requests"];
    assert_eq!(
        (&requests["GetAccountPublicAccessBlock"], &requests["ListAccessPoints"]),
        (&1.into(), &serde_json::Value::Null)
    );
    // Who asked for identities is told what is missing.
    let (code, stdout, _) = audit_with(dir.path(), &[&args[..], &["--iam"]].concat(), &environment);
    assert_eq!(code, 3);
    for action in ["s3:GetAccountPublicAccessBlock", "s3:ListAccessPoints"] {
        assert!(stdout.contains(action), "{action}: {stdout}");
    }
}

#[test]
fn the_simulator_is_asked_about_the_runners_and_what_differs_is_found() {
    let dir = TempDir::new().unwrap();
    let runner = "arn:aws:iam::111122223333:role/ci/tf-apply";
    fs::write(dir.path().join("lockshift.toml"), format!("[roles]\nrunners = [\"{runner}\"]\n")).unwrap();
    let policy = "%7B%22Statement%22%3A%7B%22Effect%22%3A%22Allow%22%2C%22Action%22%3A%22s3%3A%2A%22%2C%22Resource%22\
                  %3A%22%2A%22%7D%7D";
    let double = Double::start(move |request| {
        let body = &request.body;
        if body.contains("Action=GetCallerIdentity") {
            let caller =
                "<R><GetCallerIdentityResult><Account>111122223333</Account></GetCallerIdentityResult></R>";
            return Some(Reply::ok(caller));
        }
        if body.contains("Action=GetAccountAuthorizationDetails") {
            return Some(Reply::ok(format!(
                "<R><GetAccountAuthorizationDetailsResult><IsTruncated>false</IsTruncated><RoleDetailList><member>\
                 <Arn>arn:aws:iam::111122223333:role/ci/tf-apply</Arn><RoleId>AROA1</RoleId><RolePolicyList><member>\
                 <PolicyName>own</PolicyName><PolicyDocument>{policy}</PolicyDocument></member></RolePolicyList>\
                 </member></RoleDetailList></GetAccountAuthorizationDetailsResult></R>"
            )));
        }
        if body.contains("Action=SimulatePrincipalPolicy") {
            let result = |action: &str, decision: &str| {
                format!(
                    "<member><EvalActionName>{action}</EvalActionName><EvalDecision>{decision}</EvalDecision>\
                     <EvalResourceName>arn:aws:s3:::b/any-state.tflock</EvalResourceName></member>"
                )
            };
            return Some(Reply::ok(format!(
                "<R><SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated><EvaluationResults>{}{}\
                 </EvaluationResults></SimulatePrincipalPolicyResult></R>",
                result("s3:DeleteObject", "explicitDeny"),
                result("s3:PutObject", "allowed")
            )));
        }
        // Without a policy, a store that is not AWS is not judged.
        if request.parameter("policy").is_some() {
            return Some(Reply::ok(r#"{"Statement": []}"#));
        }
        if request.path == "/v20180820/accesspoint" {
            return Some(Reply::ok("<ListAccessPointsResult/>"));
        }
        if request.path.starts_with("/v20180820/") {
            return Some(Reply::error(404, "NoSuchPublicAccessBlockConfiguration"));
        }
        None
    });
    let url = double.url();
    let args =
        ["--bucket", "b", "--settle", "0", "--format", "json", "--fail-on", "never", "--endpoint-url", &url];
    let (code, stdout, stderr) =
        audit(dir.path(), &[&args[..], &["--iam", "--simulate", "--save-snapshot", "s.json"]].concat());
    assert_eq!(code, 0, "{stderr}{stdout}");
    let differs = |stdout: &str| -> Vec<String> {
        let said: serde_json::Value = serde_json::from_str(stdout).unwrap();
        let findings = said["findings"].as_array().unwrap().iter();
        let differs = findings.filter(|finding| finding["rule"] == "simulator-differs");
        differs.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
    };
    let expected = "AWS's simulator says explicitDeny where the principal's policies were judged Allowed, for \
                    `s3:DeleteObject` on `arn:aws:s3:::b/any-state.tflock`: one of the two is wrong about it";
    assert_eq!(differs(&stdout), [expected]);
    let asked = double
        .seen()
        .iter()
        .filter(|request| request.body.contains("Action=SimulatePrincipalPolicy"))
        .count();
    assert_eq!(asked, 1);
    // A saved snapshot says the same later, without asking.
    let (_, stdout, _) =
        audit(dir.path(), &["--snapshot", "s.json", "--format", "json", "--fail-on", "never"]);
    assert_eq!(differs(&stdout), [expected]);
    let (code, _, stderr) = audit(dir.path(), &[&args[..], &["--simulate"]].concat());
    assert!(code == 2 && stderr.contains("--iam"), "{stderr}");
}
