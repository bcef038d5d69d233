//! `lockshift policy decide` as a program: flags, batches, exit codes, and what it says of input that it cannot read.

#![cfg(test)]

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy").join(name)
}

/// Exit code, answers and stderr of `policy decide ARGS`.
fn decide(args: &[&str], input: &str, dir: &TempDir) -> (i32, Vec<Value>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(["policy", "decide"])
        .args(args)
        .current_dir(dir.path())
        .write_stdin(input)
        .output()
        .unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code().unwrap(), answers, String::from_utf8(output.stderr).unwrap())
}

const REQUEST: &[&str] = &[
    "--principal=arn:aws:iam::111122223333:role/break-glass",
    "--context=aws:PrincipalArn=arn:aws:iam::111122223333:role/break-glass",
    "--action=s3:DeleteObject",
    "--resource=arn:aws:s3:::acme-tfstate/prod/terraform.tfstate.tflock",
    "--resource-account=111122223333",
    "--identity-policy=all.json",
];

#[test]
fn one_request_from_flags_and_files() {
    let dir = TempDir::new().unwrap();
    let all = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}"#;
    fs::write(dir.path().join("all.json"), all).unwrap();
    fs::write(dir.path().join("level.json"), format!("[{all}, {all}]")).unwrap();
    let bucket = format!("--resource-policy={}", fixture("recommended-bucket-policy.json").display());
    let run = |more: &[&str]| {
        let args: Vec<&str> =
            REQUEST.iter().copied().chain([bucket.as_str()]).chain(more.iter().copied()).collect();
        decide(&args, "", &dir)
    };
    let (code, answers, said) = run(&[]);
    assert_eq!((code, said.as_str()), (0, ""));
    let sid = "BreakGlassDeletesOnlyTheInspectedLock";
    assert_eq!(
        answers,
        [json!({"id": null, "decision": "ExplicitlyDenied", "missing": [], "statements": [
            {"policy": "resource", "level": 0, "number": 0, "index": 3, "sid": sid, "effect": "Deny"}]})]
    );
    let (code, answers, _) = run(&["--context", "s3:if-match=\"abc\"", "--scp=level.json", "--scp=all.json"]);
    assert_eq!((code, &answers[0]["decision"]), (0, &json!("Allowed")));
    let (code, answers, _) = run(&["--unknown", "s3:if-match"]);
    assert_eq!(
        (code, &answers[0]["decision"], &answers[0]["missing"]),
        (3, &json!("Unknown"), &json!(["s3:if-match"]))
    );
    let open = answers[0]["statements"].as_array().unwrap().iter().find(|found| found["sid"] == sid).unwrap();
    assert_eq!(open["missing"], json!(["s3:if-match (Null true)"]));
    fs::write(dir.path().join("narrow.json"), all.replace("\"*\"", "\"s3:GetObject\"")).unwrap();
    let (_, answers, _) = run(&["--context", "s3:if-match=\"abc\"", "--permissions-boundary=narrow.json"]);
    assert_eq!(
        (&answers[0]["decision"], &answers[0]["withheld"]),
        (&json!("ImplicitlyDenied"), &json!(["boundary"]))
    );
}

#[test]
fn batches_from_a_file_and_from_stdin() {
    let dir = TempDir::new().unwrap();
    let cases = fixture("rule-cases.json").display().to_string();
    let (code, answers, said) = decide(&["--check", "--batch", &cases], "", &dir);
    assert_eq!((code, answers.len(), said.as_str()), (0, 70, ""));
    assert_eq!(answers[0]["id"], json!("TFL101/bad"));
    let case = json!({"id": "a", "principal": "anonymous", "action": "s3:GetObject", "resource": "arn:aws:s3:::b/k",
        "expect": "Allowed", "resourcePolicy": {"Statement": {"Effect": "Allow", "Principal": "*", "Action": "*",
        "Resource": "*", "Condition": {"Bool": {"aws:SecureTransport": true}}}}});
    let (code, answers, said) = decide(&["--batch", "-", "--check"], &format!("{case}\n\n{case}\n"), &dir);
    assert_eq!((code, answers.len()), (1, 2));
    assert_eq!(said.lines().next(), Some("case 1 (`a`): ImplicitlyDenied, expected Allowed"));
    let (code, answers, _) =
        decide(&["--batch", "-", "--unknown", "AWS:SecureTransport"], &case.to_string(), &dir);
    assert_eq!((code, &answers[0]["missing"]), (3, &json!(["aws:SecureTransport"])));
}

#[test]
fn what_cannot_be_read_is_named_and_nothing_is_printed() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("all.json"), "{\"Statement\": [}").unwrap();
    let good = r#"{"id":"a","principal":"anonymous","action":"s3:GetObject","resource":"arn:aws:s3:::b/k"}"#;
    let cases: &[(&[&str], String, &str)] = &[
        (REQUEST, String::new(), "error: all.json:1:16: expected value"),
        (&["--batch", "-"], format!("{good}\n{{"), "error: stdin:2:1: case 2: EOF while parsing an object"),
        (&["--batch", "-"], String::new(), "error: stdin: no case to decide"),
        (
            &["--batch", "none.json"],
            String::new(),
            "error: could not read none.json: No such file or directory (os error 2)",
        ),
        (
            &["--batch", "-", "--action=s3:GetObject"],
            String::new(),
            "error: the argument '--batch <FILE>' cannot be used with:",
        ),
        (
            &["--principal=x", "--action=s3:GetObject", "--resource=arn:aws:s3:::b"],
            String::new(),
            "error: --principal: `x` is no principal; expected the ARN of a user, role, session, federated user or root, a service's name, or `anonymous`",
        ),
    ];
    // What the flags say twice, and not the same.
    let key = "--resource=arn:aws:kms:eu-west-1:111122223333:key/k";
    let session = "--principal=arn:aws:sts::111122223333:assumed-role/tf/x";
    let contradictions: [(&[&str], &str); 2] = [
        (
            &["--principal=anonymous", "--action=kms:Decrypt", key, "--resource-account=444455556666"],
            "error: --resource-account: `arn:aws:kms:eu-west-1:111122223333:key/k` is of account 111122223333, and account 444455556666 is said to own it",
        ),
        (
            &[
                session,
                "--action=kms:Decrypt",
                key,
                "--context=aws:PrincipalArn=arn:aws:iam::111122223333:role/other",
            ],
            "error: --context: aws:PrincipalArn is `arn:aws:iam::111122223333:role/other`, and the principal's is the ARN of role `tf` of account 111122223333, with its path",
        ),
    ];
    for (args, expected) in contradictions {
        let (code, answers, said) = decide(args, "", &dir);
        assert_eq!((code, answers.len(), said.lines().next()), (2, 0, Some(expected)), "{args:?}");
    }
    for (args, input, expected) in cases {
        let (code, answers, said) = decide(args, input, &dir);
        assert_eq!((code, answers.len(), said.lines().next()), (2, 0, Some(*expected)), "{args:?}");
    }
}

/// What a newcomer may give, and what is said of it.
#[test]
fn odd_input_is_taken_as_it_is_meant_or_refused_with_the_reason() {
    let dir = TempDir::new().unwrap();
    let all = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}"#;
    fs::write(dir.path().join("all.json"), format!("\u{feff}{all}\r\n")).unwrap();
    let printed = json!({ "Policy": all.replace("Allow", "Deny").replace("\"Action\"", "\"Principal\":\"*\",\"Action\"") });
    fs::write(dir.path().join("printed.json"), printed.to_string()).unwrap();
    // What the AWS CLI prints is taken as the policy inside.
    let (code, answers, _) = decide(&[REQUEST, &["--resource-policy=printed.json"]].concat(), "", &dir);
    assert_eq!((code, answers[0]["decision"].as_str()), (0, Some("ExplicitlyDenied")));
    // One case over several lines.
    let case = json!({"id": "one", "principal": "arn:aws:iam::111122223333:user/u", "action": "s3:GetObject",
        "resource": "arn:aws:s3:::b/k", "resourceAccount": "111122223333"});
    let (code, answers, _) = decide(&["--batch=-"], &serde_json::to_string_pretty(&case).unwrap(), &dir);
    assert_eq!((code, answers[0]["id"].as_str()), (0, Some("one")));
    // Lines may end as on Windows.
    let lines = format!("{case}\r\n\r\n{case}\r\n");
    let (code, answers, _) = decide(&["--batch=-"], &lines, &dir);
    assert_eq!((code, answers.len()), (0, 2));
    // Nothing to compare is no success.
    let (code, answers, said) = decide(&["--batch=-", "--check"], &lines, &dir);
    assert_eq!((code, answers.len()), (2, 0));
    assert!(said.starts_with("error: stdin: no case says what it expects"), "{said}");
    // No request crosses partitions.
    let across = case.to_string().replace("arn:aws:iam", "arn:aws-cn:iam");
    let (code, _, said) = decide(&["--batch=-"], &across, &dir);
    assert_eq!(code, 2);
    let why =
        "the principal is of partition `aws-cn` and the resource of `aws`: no request crosses partitions";
    assert!(said.starts_with(&format!("error: stdin:1:1: case 1 (`one`): {why}\n")), "{said}");
    let flags: Vec<String> =
        REQUEST.iter().map(|flag| flag.replace("arn:aws:s3", "arn:aws-us-gov:s3")).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (code, _, said) = decide(&flags, "", &dir);
    assert_eq!(code, 2);
    assert!(said.contains("the resource of `aws-us-gov`"), "{said}");
    // A request names one resource.
    let flags: Vec<String> =
        REQUEST.iter().map(|flag| flag.replace("prod/terraform.tfstate.tflock", "*")).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (code, _, said) = decide(&flags, "", &dir);
    assert_eq!(code, 0);
    assert!(said.contains("a request names one resource"), "{said}");
    // A condition key has its service in front.
    for context in ["--context=foo=bar", "--context=aws:SourceVpce", "--context=:x=y"] {
        let (code, _, said) = decide(&[REQUEST, &[context]].concat(), "", &dir);
        assert_eq!(code, 2, "{context}");
        assert!(said.contains("help: a condition key has its service's name in front"), "{said}");
    }
}
