//! `audit --retire` over a repository in which the table's name stands in every kind of place, from a saved snapshot.
#![cfg(test)]

#[allow(dead_code, reason = "only one of its functions is needed here")]
#[path = "../src/report/schema_testing.rs"]
mod schema_testing;
mod support;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use support::tree::put;
use tempfile::TempDir;

/// A table that nobody locks with any more.
fn snapshot() -> Value {
    json!({
        "schema_version": 1,
        "taken_at": "2026-11-30T09:00:00Z",
        "buckets": [],
        "tables": [{
            "name": "acme-locks",
            "region": "eu-west-1",
            "endpoint": null,
            "arn": "arn:aws:dynamodb:eu-west-1:111122223333:table/acme-locks",
            "complete": true,
            "exists": { "is": "known", "value": {
                "hash_key_is_lock_id": true, "deletion_protection": true, "kms_key": null,
                "replicas": [], "stream": false, "item_count": 0
            } },
            "items": [],
            "other_items": 0,
            "writes_per_day": { "is": "absent" }
        }],
        "accounts": [],
        "probes": [],
        "unread": [],
        "stats": {}
    })
}

fn retire(dir: &Path) -> (Option<i32>, Value) {
    retire_with(dir, &snapshot())
}

fn retire_with(dir: &Path, snapshot: &Value) -> (Option<i32>, Value) {
    put(dir, "snapshot.json", snapshot.to_string());
    let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .current_dir(dir)
        .env_clear()
        .args(["audit", "repo", "--snapshot", "snapshot.json", "--retire", "acme-locks", "--format", "json"])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let schema = support::repository().join("docs/schema/audit-retire.schema.json");
    let schema: Value = serde_json::from_slice(&std::fs::read(schema).unwrap()).unwrap();
    assert_eq!(schema_testing::mismatch(&schema, &schema, &json, ""), None);
    (output.status.code(), json)
}

/// `FILE:LINE WHAT` of everything that goes with the table and stands in a file.
fn goes(judged: &Value) -> Vec<String> {
    let all = judged["goes_with_it"].as_array().unwrap().iter();
    all.filter(|left| left["place"].is_object())
        .map(|left| {
            let place = &left["place"];
            format!(
                "{}:{} {}",
                place["file"].as_str().unwrap(),
                place["line"],
                left["what"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn everything_that_carries_the_name_is_listed_with_its_place() {
    let dir = TempDir::new().unwrap();
    let repo = dir.path();
    put(
        repo,
        "repo/app/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n",
    );
    put(
        repo,
        "repo/base/main.tf",
        "resource \"aws_dynamodb_table\" \"locks\" {\n  name     = var.table\n  hash_key = \"LockID\"\n\n  attribute {\n    name = \"LockID\"\n    type = \"S\"\n  }\n}\n",
    );
    put(repo, "repo/base/variables.tf", "variable \"table\" {\n  default = \"acme-locks\"\n}\n");
    put(
        repo,
        "repo/base/outputs.tf",
        "output \"lock_table\" {\n  value = aws_dynamodb_table.locks.name\n}\n",
    );
    // Another module's variable of the same name is none of it, and neither is a table with a longer name.
    put(
        repo,
        "repo/other/main.tf",
        "output \"x\" {\n  value = var.table\n}\n\nlocals {\n  t = \"acme-locks-2\"\n}\n",
    );
    put(
        repo,
        "repo/base/iam.tf",
        "data \"aws_iam_policy_document\" \"runner\" {\n  statement {\n    actions   = [\"dynamodb:PutItem\"]\n    resources = [\"arn:aws:dynamodb:eu-west-1:111122223333:table/acme-locks\"]\n  }\n}\n",
    );
    put(repo, "repo/.github/workflows/plan.yml", "env:\n  TF_VAR_table: ${{ secrets.STATE_LOCK_TABLE }}\n");
    put(
        repo,
        "repo/docs/state.md",
        "The table acme-locks holds our locks.\n\nAsk before you touch acme-locks.\n",
    );

    let (code, judged) = retire(repo);
    assert_eq!(
        goes(&judged),
        [
            "repo/base/main.tf:1 the resource `aws_dynamodb_table.locks`",
            "repo/base/iam.tf:4 the IAM statement on `arn:aws:dynamodb:eu-west-1:111122223333:table/acme-locks`",
            "repo/.github/workflows/plan.yml:2 the environment variable `TF_VAR_table`",
            "repo/.github/workflows/plan.yml:2 the CI service's secret `STATE_LOCK_TABLE` (it may hold the name: its value is not known here)",
            "repo/base/outputs.tf:2 the output `lock_table`",
            "repo/base/variables.tf:2 the variable `table`",
            "repo/docs/state.md:1 2 lines that name it",
        ]
    );
    assert_eq!((judged["verdict"].as_str(), code), (Some("ready"), Some(0)), "{judged:#}");
    let commands = judged["commands"].as_array().unwrap();
    assert_eq!(
        commands.last().unwrap(),
        "# and, where nothing else uses them, the CI service's secret `STATE_LOCK_TABLE`"
    );
}

#[test]
fn a_setting_that_only_a_run_knows_is_followed_to_the_secret_behind_it() {
    let dir = TempDir::new().unwrap();
    let repo = dir.path();
    put(
        repo,
        "repo/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n  }\n}\n",
    );
    put(
        repo,
        "repo/.github/workflows/apply.yml",
        "jobs:\n  apply:\n    steps:\n      - run: terraform init -backend-config=\"dynamodb_table=${LOCK_TABLE}\"\n        env:\n          LOCK_TABLE: ${{ secrets.LOCK_TABLE_NAME }}\n",
    );
    let (code, judged) = retire(repo);
    let found = goes(&judged);
    let secret = "repo/.github/workflows/apply.yml:6 the CI service's secret `LOCK_TABLE_NAME` (it may hold the name: its value is not known here)";
    assert!(found.iter().any(|line| line == secret), "{found:#?}");
    assert_eq!((judged["verdict"].as_str(), code), (Some("cant-tell"), Some(3)), "{judged:#}");
}

/// Root modules that say nothing of the table, and something beside them that may.
#[test]
fn what_may_lock_with_it_keeps_it() {
    let lockfile = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n";
    for (file, text, says) in [
        (
            ".gitlab-ci.yml",
            "variables: {DDB: acme-locks}\nplan: {script: ['terraform init -backend-config=\"dynamodb_table=${DDB}\"']}\n",
            "what is done with its name is not known: the environment variable `DDB`",
        ),
        (
            "deploy.sh",
            "#!/bin/sh\nLOCK_TABLE=acme-locks\nterraform -chdir=\"$1\" init -backend-config=\"$BACKEND_FILE\"\n",
            "the environment variable `LOCK_TABLE`",
        ),
        (
            "run.sh",
            "#!/bin/sh\ncd $DIR && terraform init -backend-config=dynamodb_table=${LOCKS}\n",
            "which table a source without a root module uses is not known",
        ),
        (
            "root.hcl",
            "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"x\"\n    dynamodb_table = get_env(\"LOCKS\")\n  }\n}\n",
            "which table a source without a root module uses is not known",
        ),
        (
            "backend.tf.tmpl",
            "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"${k}\"\n    dynamodb_table = \"${t}\"\n  }\n}\n",
            "which table a source without a root module uses is not known",
        ),
        (
            "app.ts",
            "const T = \"acme-locks\";\nuse(T);\n",
            "what is done with its name is not known: a line that names it",
        ),
        (
            "settings.yaml",
            "locks: acme-locks\n",
            "what is done with its name is not known: the assignment of `locks`",
        ),
    ] {
        let dir = TempDir::new().unwrap();
        put(dir.path(), "repo/app/main.tf", lockfile);
        put(dir.path(), &format!("repo/{file}"), text);
        let (code, judged) = retire(dir.path());
        assert_eq!((judged["verdict"].as_str(), code), (Some("cant-tell"), Some(3)), "{file}: {judged:#}");
        let evidence = judged["evidence"].as_array().unwrap();
        let missing: Vec<&str> = evidence
            .iter()
            .filter(|evidence| evidence["side"] == "missing")
            .map(|evidence| evidence["says"].as_str().unwrap())
            .collect();
        assert!(missing.iter().any(|reason| reason.contains(says)), "{file}: {missing:#?}");
    }
}

/// A variable that a pipeline hands to Terraform is followed to its declaration.
#[test]
fn a_variable_of_the_environment_leads_to_its_declaration() {
    let dir = TempDir::new().unwrap();
    put(
        dir.path(),
        "repo/base/main.tf",
        "variable \"lock_name\" {}\n\noutput \"o\" {\n  value = var.lock_name\n}\n",
    );
    put(dir.path(), "repo/ci.yml", "env:\n  TF_VAR_lock_name: acme-locks\n");
    put(
        dir.path(),
        "repo/app/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n",
    );
    let (_, judged) = retire(dir.path());
    assert_eq!(
        goes(&judged),
        [
            "repo/base/main.tf:1 the variable `lock_name`",
            "repo/base/main.tf:4 the output `o`",
            "repo/ci.yml:2 the environment variable `TF_VAR_lock_name`",
        ]
    );
}

/// A name that no table has says nothing: the table may be in another region or account.
#[test]
fn a_table_that_is_not_there_is_no_table_that_may_go() {
    let dir = TempDir::new().unwrap();
    put(
        dir.path(),
        "repo/app/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n    use_lockfile = true\n  }\n}\n",
    );
    let mut absent = snapshot();
    absent["tables"][0]["exists"] = json!({ "is": "absent" });
    let (code, judged) = retire_with(dir.path(), &absent);
    assert_eq!((judged["verdict"].as_str(), code), (Some("cant-tell"), Some(3)), "{judged:#}");
    let says = "there is no table of this name in eu-west-1 of account 111122223333";
    let evidence = judged["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|at| at["says"].as_str().unwrap().starts_with(says)), "{evidence:#?}");
    assert!(!judged["commands"].to_string().contains("delete-table"), "{judged:#}");
}

#[test]
fn names_that_are_put_together_and_what_is_handed_to_modules_are_followed() {
    let dir = TempDir::new().unwrap();
    let at = dir.path();
    put(
        at,
        "repo/live/main.tf",
        "terraform {\n  backend \"s3\" {\n    bucket       = \"b\"\n    key          = \"k\"\n    use_lockfile = true\n  }\n}\n\nresource \"aws_dynamodb_table\" \"locks\" {\n  name     = \"${var.prefix}-locks\"\n  hash_key = \"LockID\"\n}\n\nmodule \"x\" {\n  source     = \"../m\"\n  lock_table = aws_dynamodb_table.locks.name\n}\n",
    );
    put(at, "repo/live/variables.tf", "variable \"prefix\" {\n  default = \"acme\"\n}\n");
    put(
        at,
        "repo/live/more.tf.json",
        "{\"output\": {\"lock\": {\"value\": \"${aws_dynamodb_table.locks.arn}\"}}}\n",
    );
    put(
        at,
        "repo/m/main.tf",
        "variable \"lock_table\" {}\n\nresource \"aws_ssm_parameter\" \"t\" {\n  value = var.lock_table\n}\n",
    );
    put(
        at,
        "repo/other/main.tf",
        "resource \"aws_ssm_parameter\" \"t\" {\n  value = \"${var.prefix}-locks\"\n}\n",
    );
    put(
        at,
        "repo/iam/ci.json",
        "{\"Statement\": [\n{\"Action\": \"dynamodb:PutItem\", \"Resource\": \"arn:aws:dynamodb:*:*:table/acme-*\"},\n{\"Action\": \"dynamodb:PutItem\", \"Resource\": \"arn:aws:dynamodb:us-east-1:*:table/*\"}]}\n",
    );
    let (_, judged) = retire(at);
    let mut found = goes(&judged);
    found.sort();
    assert_eq!(
        found,
        [
            "repo/iam/ci.json:2 the statement on `arn:aws:dynamodb:*:*:table/acme-*`: a pattern that matches it, and may match tables that stay",
            "repo/live/main.tf:16 `module.x`, which names it",
            "repo/live/main.tf:9 the resource `aws_dynamodb_table.locks`",
            "repo/live/more.tf.json:1 the output `lock`",
            "repo/m/main.tf:1 the variable `lock_table`",
            "repo/m/main.tf:4 `aws_ssm_parameter.t`, which names it",
            "repo/other/main.tf:2 `aws_ssm_parameter.t`, which names it (it may hold the name: its value is not known here)",
        ]
    );
}
