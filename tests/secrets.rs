//! Secrets planted wherever a backend can be written never reach any output, of any command in any format; save a
//! diff that is to be applied, which has the files' own lines and says so.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::tree::put;
use tempfile::TempDir;

/// What must not be seen; every planted value holds it.
const SECRET: &str = "hunter2";

/// Places, each with secrets in it and something that makes it worth reporting.
const PLANTED: &[(&str, &str)] = &[
    (
        "hcl/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"hcl\"\n    secret_key = \"hunter2-a\"\n    access_key = \"AKIA\"\n    token = \"hunter2-b\"\n    sse_customer_key = \"hunter2-c\"\n    endpoint = \"https://u:hunter2-d@s3.example.com\"\n    dynamodb_endpoint = \"https://u:hunter2-e@d.example.com/\"\n    endpoints = {\n      s3 = \"https://u:hunter2-f@s3.example.com\"\n    }\n    http_proxy = \"http://u:hunter2-g@proxy\"\n    dynamodb_table = \"https://u:hunter2-h@t\"\n    assume_role = {\n      external_id = \"x\"\n      token = \"hunter2-i\"\n    }\n  }\n}\n",
    ),
    (
        "expression/main.tf",
        "variable \"s\" {\n  default = \"hunter2-a\"\n}\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"x\"\n    secret_key = coalesce(var.s, \"hunter2-b\")\n    token = <<EOF\nhunter2-c\nEOF\n    sse_customer_key = \"${var.x}hunter2-d\"\n    dynamodb_table = format(\"https://u:hunter2-e@%s\", var.s)\n  }\n}\n",
    ),
    (
        "json/main.tf.json",
        "{\"terraform\": {\"backend\": {\"s3\": {\"bucket\": \"b\", \"key\": \"j\", \"secret_key\": \"hunter2-a\", \"token\": \"${hunter2}\", \"sse_customer_key\": [\"hunter2\"], \"dynamodb_table\": \"t\", \"endpoints\": {\"s3\": \"https://u:hunter2-b@h\"}}}}}\n",
    ),
    ("partial/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
    (
        "partial/dev.tfbackend",
        "bucket = \"b\"\nkey = \"p\"\nsecret_key = \"hunter2-a\"\ntoken = \"hunter2-b\"\nendpoint = \"https://u:hunter2-c@h\"\n",
    ),
    ("flags/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
    (
        "flags/init.sh",
        "terraform init -backend-config=bucket=b -backend-config=\"key=f\" -backend-config=\"secret_key=hunter2-a\" -backend-config=token=hunter2-b -backend-config 'endpoint=https://u:hunter2-c@h' -backend-config=\"sse_customer_key=hunter2-d\" -backend-config=\"endpoints={s3=\\\"https://u:hunter2-e@h\\\"}\"\n",
    ),
    (
        ".github/workflows/ci.yaml",
        "jobs:\n  a:\n    steps:\n      - run: terraform init -backend-config=\"secret_key=hunter2-a\" -backend-config=\"dynamodb_table=t\" -lock=false\n        working-directory: nowhere\n",
    ),
    (
        "grunt/terragrunt.hcl",
        "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"g\"\n    dynamodb_table = \"t\"\n    secret_key = \"hunter2-a\"\n    token = get_env(\"T\", \"hunter2-b\")\n    endpoint = \"https://u:hunter2-c@h\"\n  }\n}\nterraform {\n  source = \"git::https://u:hunter2-d@git.example.com/x\"\n}\n",
    ),
    (
        "grunt2/terragrunt.hcl",
        "generate \"backend\" {\n  path = \"backend.tf\"\n  if_exists = \"overwrite\"\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"g2\"\n    dynamodb_table = \"t\"\n    secret_key = \"hunter2-a\"\n  }\n}\nEOF\n}\n",
    ),
    (
        "script.sh",
        "cat > x/backend.tf <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"t\"\n    secret_key = \"hunter2-a\"\n    token = $hunter2\n  }\n}\nEOF\n",
    ),
    (
        "backend.tf.tftpl",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"t\"\n    secret_key = \"hunter2-a${x}\"\n  }\n}\n",
    ),
    (
        "stacks/atmos.yaml",
        "terraform:\n  backend_type: s3\n  backend:\n    s3:\n      bucket: b\n      dynamodb_table: t\n      secret_key: hunter2-a\n      token: \"hunter2-b\"\n      endpoint: https://u:hunter2-c@h\n",
    ),
    (
        "cdktf/main.ts",
        "new S3Backend(this, { bucket: \"b\", key: \"c\", dynamodbTable: \"t\", secretKey: \"hunter2-a\", token: \"hunter2-b\" });\n",
    ),
    (
        "reader/main.tf",
        "data \"terraform_remote_state\" \"n\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n    secret_key = \"hunter2-a\"\n    endpoint = \"https://u:hunter2-b@h\"\n  }\n}\ndata \"terraform_remote_state\" \"m\" {\n  backend = \"s3\"\n  config = merge(local.x, { secret_key = \"hunter2-c\" })\n}\n",
    ),
    (
        "command/init.sh",
        "terraform init -backend-config=\"bucket=$(curl -H \"Authorization: Bearer hunter2-a\" x)\" -backend-config='region=$(curl -u me:hunter2-b x)' -backend-config=\"$(curl -H 'X-Api-Key: hunter2-c' x)/be.tfbackend\" -lock=$(curl -u me:hunter2-d x)\n",
    ),
    ("command/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
    (
        "named/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = foo(\"aws_secret_access_key=hunter2-a\")\n    key = file(\"/x?X-Amz-Signature=hunter2-b&a\")\n    region = \"x?X-Amz-Signature=hunter2-c&a\"\n    dynamodb_table = templatefile(\"x\", {db_password = \"hunter2-d\"})\n  }\n}\n",
    ),
    (
        "sensitive/main.tofu",
        "variable \"secret\" {\n  default = \"hunter2-a\"\n  sensitive = true\n}\nvariable \"suffix\" {\n  default = \"hunter2-b\"\n  sensitive = true\n}\nvariable \"db_password\" {\n  default = \"hunter2-c\"\n}\nlocals {\n  table = \"t-${var.suffix}\"\n  token = \"hunter2-d\"\n}\nterraform {\n  backend \"s3\" {\n    bucket = local.table\n    key = \"s-${local.token}\"\n    region = var.db_password\n    dynamodb_table = \"t-${var.secret}\"\n  }\n}\n",
    ),
    ("sensitive/terraform.tfvars", "suffix = \"hunter2-e\"\n"),
    (
        "grunt3/terragrunt.hcl",
        "locals {\n  db_password = \"hunter2-a\"\n  table = \"t-${local.db_password}\"\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = get_env(\"LOCK_TOKEN\", \"hunter2-b\")\n    key = file(\"/x?X-Amz-Signature=hunter2-c\")\n    region = local.db_password\n    dynamodb_table = local.table\n  }\n}\n",
    ),
    (
        "broken/main.tf",
        "terraform {\n  backend \"s3\" {\n    secret_key = \"hunter2-a\" token = \"hunter2-b\"\n    token = \"hunter2-c\n  }\n}\n",
    ),
    (
        "invalid/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"i\"\n    use_lockfile = \"https://u:hunter2-a@h\"\n  }\n}\n",
    ),
];

#[test]
fn no_secret_reaches_any_output() {
    let dir = TempDir::new().unwrap();
    for (name, text) in PLANTED {
        assert!(text.contains(SECRET) || name.ends_with("main.tf"), "{name}");
        put(dir.path(), name, text);
    }
    for format in ["json", "table", "sarif", "github", "markdown", "csv", "html"] {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["scan", "--format", format, "--fail-on", "never"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        for place in [
            "hcl",
            "expression",
            "json",
            "partial",
            "flags",
            "grunt",
            "grunt3",
            "broken",
            "command",
            "named",
            "sensitive",
        ] {
            // CSV has rows for effective backends alone.
            let expected = place != "broken" || format != "csv";
            assert!(said.contains(place) || !expected, "{format} says nothing of {place}:\n{said}");
        }
        let seen: Vec<&str> = said.lines().filter(|line| line.contains(SECRET)).collect();
        assert!(seen.is_empty(), "{format}:\n{}", seen.join("\n"));
        assert!(!String::from_utf8_lossy(&output.stderr).contains(SECRET), "{format}, stderr");
    }
}

/// Exit code, stdout and stderr of a run whose environment holds secrets, too.
fn said(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.args(args).current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AWS_ACCESS_KEY_ID", "hunter2-id").env("AWS_SECRET_ACCESS_KEY", "hunter2-env");
    command.env("AWS_SESSION_TOKEN", "hunter2-session").env("LOCKSHIFT_EXTERNAL_ID", "hunter2-external");
    command.env("AWS_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn tells_no_secret(dir: &Path, args: &[&str]) -> String {
    let (code, stdout, stderr) = said(dir, args);
    assert!((0..=3).contains(&code), "{args:?}: {stderr}");
    for (stream, text) in [("stdout", &stdout), ("stderr", &stderr)] {
        let seen: Vec<&str> = text.lines().filter(|line| line.contains(SECRET)).collect();
        assert!(seen.is_empty(), "{args:?}, {stream}:\n{}", seen.join("\n"));
    }
    stdout + &stderr
}

fn planted() -> TempDir {
    let dir = TempDir::new().unwrap();
    let snapshot = r#"{"schema_version": 1, "taken_at": "2026-11-30T12:00:00Z", "tables": [], "unread": [], "stats": {},
        "buckets": [{"name": "b", "region": "eu-west-1", "complete": true, "locks": [{"key": "hcl.tflock",
        "last_modified": "2026-11-01T12:00:00Z", "etag": "e", "size": 99, "settled": "same", "body": {"is": "foreign",
        "why": "not JSON (line 1, column 1)", "text": "secret_key = hunter2-body"}}]}]}"#;
    let beside = [
        ("lockshift.toml", "# secret_key = \"hunter2-comment\"\nstale_after = \"2h\"\n"),
        ("beside/snapshot.json", snapshot),
        ("beside/secrets.env", "AWS_SECRET_ACCESS_KEY=hunter2-file\n"),
        ("beside/odd.toml", "[buckets.b]\ntoken = \"hunter2-odd\"\n"),
        ("beside/url.toml", "[buckets.b]\nendpoint = \"https://u:hunter2-url@h\"\n"),
    ];
    for (name, text) in PLANTED.iter().chain(&beside) {
        put(dir.path(), name, text);
    }
    dir
}

#[test]
fn no_command_tells_a_secret() {
    let dir = planted();
    let dir = dir.path();
    for phase in ["dual", "final", "rollback"] {
        for format in ["table", "json"] {
            let args = ["migrate", "--phase", phase, "--format", format, "--rollback-table", "t"];
            let used = if phase == "rollback" { &args[..] } else { &args[..5] };
            let text = tells_no_secret(dir, used);
            assert!(text.contains("hcl") || phase == "rollback" && !text.is_empty(), "{used:?}: {text}");
        }
    }
    tells_no_secret(dir, &["migrate", "--phase", "dual", "--format", "json", "--reinit", "beside/reinit.sh"]);
    assert!(!fs::read_to_string(dir.join("beside/reinit.sh")).unwrap().contains(SECRET));

    let snapshot = "beside/snapshot.json";
    for format in ["table", "json", "sarif", "github", "markdown", "junit", "prometheus", "csv", "html"] {
        let args = ["audit", ".", "--snapshot", snapshot, "--format", format];
        assert!(!tells_no_secret(dir, &args).is_empty(), "{format}");
    }
    tells_no_secret(dir, &["audit", ".", "--snapshot", snapshot, "--write-baseline", "beside/baseline.json"]);
    assert!(!fs::read_to_string(dir.join("beside/baseline.json")).unwrap().contains(SECRET));
    // Nobody answers at these addresses, and nothing is sent to most of them.
    tells_no_secret(dir, &["audit", "hcl", "--settle", "0", "--endpoint-url", "http://127.0.0.1:9"]);
    for path in ["hcl", "json", "partial", "grunt", "expression"] {
        tells_no_secret(dir, &["unlock", path, "--id", "1", "--yes"]);
    }
    for format in ["json", "hcl"] {
        let role = "arn:aws:iam::111122223333:role/ci";
        let args = [
            "policy",
            ".",
            "--runner",
            role,
            "--break-glass",
            role,
            "--state-admin",
            role,
            "--format",
            format,
        ];
        tells_no_secret(dir, &args);
    }
    tells_no_secret(dir, &["explain", "no-locking"]);
}

#[test]
fn no_error_tells_a_secret() {
    let dir = planted();
    let dir = dir.path();
    for (args, says) in [
        (&["scan", "--config", "beside/odd.toml"][..], "unknown field `token`"),
        (&["scan", "--config", "beside/url.toml"], "the endpoint holds credentials"),
        (
            &["audit", "--bucket", "b", "--endpoint-url", "https://u:hunter2@h"],
            "--endpoint-url holds credentials",
        ),
        (
            &["audit", "--bucket", "b", "--trust-endpoint", "https://u:hunter2@h"],
            "--trust-endpoint holds credentials",
        ),
        (&["audit", "--snapshot", "beside/secrets.env"], "secrets.env"),
        (
            &["audit", ".", "--snapshot", "beside/snapshot.json", "--baseline", "beside/secrets.env"],
            "secrets.env",
        ),
        (&["migrate", "--phase", "final", "--evidence", "beside/secrets.env"], "secrets.env"),
        (&["unlock", "--from-audit", "beside/secrets.env", "--rule", "lock-stale"], "secrets.env"),
        (&["policy", "decide", "--batch", "beside/secrets.env"], "beside/secrets.env:1:1"),
    ] {
        let text = tells_no_secret(dir, args);
        assert!(text.contains(says), "{args:?}: {text}");
    }
}

/// `git apply` takes only the lines that the files have: those come out as they are, and that is said.
#[test]
fn a_diff_has_the_files_own_lines_and_no_other_secret() {
    let dir = planted();
    let dir = dir.path();
    let is_of_a_file = |line: &str| PLANTED.iter().any(|(_, text)| text.lines().any(|own| own == line));
    let holds = |diff: &str| {
        let seen: Vec<&str> = diff.lines().filter(|line| line.contains(SECRET)).collect();
        for line in &seen {
            let (sign, own) = line.split_at(1);
            // A line that is only moved to another column comes with its new columns, too.
            assert!(is_of_a_file(own) || sign == "+", "{line}");
        }
        seen.len()
    };
    let (_, stdout, stderr) = said(dir, &["migrate", "--phase", "dual"]);
    let count = holds(&stdout);
    assert!(count > 0 && stderr.contains("with a secret in it: mind where it goes"), "{count}: {stderr}");
    assert!(!stderr.contains(SECRET), "{stderr}");

    let (_, stdout, stderr) = said(dir, &["migrate", "--phase", "dual", "--pr-dir", "beside/pr"]);
    assert!(stderr.contains("with a secret in it"), "{stderr}");
    assert!(!stdout.contains(SECRET) && !stderr.contains(SECRET));
    for entry in fs::read_dir(dir.join("beside/pr")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let is_patch = path.extension().is_some_and(|end| end == "patch");
        assert!(is_patch == text.contains(SECRET), "{}", path.display());
    }
}

/// What is not shown says why; what is near it is shown as it stands.
#[test]
fn a_setting_that_names_a_secret_says_so() {
    let dir = planted();
    put(
        dir.path(),
        "plain/main.tofu",
        "variable \"suffix\" {\n  default = \"locks\"\n  sensitive = false\n}\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"r\"\n    dynamodb_table = \"t-${var.suffix}\"\n  }\n}\n",
    );
    let (_, stdout, _) = said(dir.path(), &["scan", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let roots = said["roots"].as_array().unwrap();
    let backend = |path: &str| &roots.iter().find(|root| root["path"] == path).unwrap()["backends"][0];
    assert_eq!(backend("plain")["dynamodb_table"], "t-locks");
    assert_eq!(backend("plain")["mode"], "dynamodb");
    assert_eq!(backend("sensitive")["mode"], "unknown");
    let text = |path: &str, name: &str| backend(path)[name].to_string();
    assert!(text("sensitive", "dynamodb_table_unknown").contains("`var.secret` names a secret"));
    assert!(text("sensitive", "bucket_unknown").contains("only a run can tell `local.table`"));
    assert!(stdout.contains("(not shown: it names a secret)"));
}
