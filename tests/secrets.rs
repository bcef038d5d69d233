//! Secrets planted wherever a backend can be written never reach any output, in any format.

// clippy.toml only knows test functions; what helps them may fail loudly, too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

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
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for format in ["json", "table", "sarif", "github", "markdown", "csv", "html"] {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["scan", "--format", format, "--fail-on", "never"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        for place in ["hcl", "expression", "json", "partial", "flags", "grunt", "broken"] {
            // CSV has rows for effective backends alone.
            let expected = place != "broken" || format != "csv";
            assert!(said.contains(place) || !expected, "{format} says nothing of {place}:\n{said}");
        }
        let seen: Vec<&str> = said.lines().filter(|line| line.contains(SECRET)).collect();
        assert!(seen.is_empty(), "{format}:\n{}", seen.join("\n"));
        assert!(!String::from_utf8_lossy(&output.stderr).contains(SECRET), "{format}, stderr");
    }
}
