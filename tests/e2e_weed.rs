//! The written bucket policy on a server that enforces bucket policies: seaweedfs' `weed`, with the real terraform as
//! the runner and a second user as the intruder.
//!
//! What this server can't check, and so is not checked here: it refuses `ArnNotLike` (the same exemptions are put as
//! `StringNotEquals aws:username`), it has no `aws:PrincipalArn`, and no `s3:if-none-match` and `s3:if-match`, which
//! it takes for absent: the two statements with them would stop every lock, and are left out. Its users are IAM users,
//! never roles; there is one account.
#![cfg(test)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod support;

use support::stores::Store;

const BUCKET: &str = "acme-tfstate";
const LOCK: &str = "acme-tfstate/prod/terraform.tfstate.tflock";

/// The server, with four users.
struct Weed(Store);

impl Weed {
    fn start() -> Self {
        let users = ["admin", "runner", "rescuer", "intruder"].map(|name| {
            let actions =
                if name == "admin" { json!(["Admin", "Read", "Write", "List"]) } else { json!(["Read", "Write", "List"]) };
            json!({"name": name, "credentials": [{"accessKey": name, "secretKey": format!("{name}-secret")}], "actions": actions})
        });
        let weed = Self(Store::seaweedfs(Some(&json!({"identities": users}).to_string())));
        // It answers before all of its parts are there.
        let begun = Instant::now();
        while weed.request("admin", "PUT", BUCKET, None) != 200 {
            assert!(begun.elapsed() < Duration::from_secs(120), "no bucket was made: {}", weed.0.log());
            std::thread::sleep(Duration::from_millis(250));
        }
        weed
    }

    /// A signed request: the status, 0 where nobody answers.
    fn request(&self, who: &str, method: &str, path: &str, body: Option<&str>) -> u16 {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "20"])
            .args([
                "--noproxy",
                "*",
                "--aws-sigv4",
                "aws:amz:us-east-1:s3",
                "--user",
                &format!("{who}:{who}-secret"),
            ])
            .args(["--request", method, "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]);
        if let Some(body) = body {
            curl.args(["--data-binary", body, "--header", "Content-Type: application/octet-stream"]);
        }
        let output = curl.arg(format!("{}/{path}", self.0.url())).output();
        let output = output.expect("curl starts: install the package curl");
        String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0)
    }

    fn terraform(&self, dir: &Path, who: &str, args: &[&str]) -> Command {
        let mut command = Command::new(support::terraform_program());
        command.current_dir(dir).args(args).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("HOME", dir)
            .env("TF_CLI_CONFIG_FILE", "/dev/null")
            .env("TF_IN_AUTOMATION", "1")
            .env("TF_INPUT", "0")
            .env("CHECKPOINT_DISABLE", "1")
            .env("AWS_ACCESS_KEY_ID", who)
            .env("AWS_SECRET_ACCESS_KEY", format!("{who}-secret"))
            .env("AWS_REGION", "us-east-1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL_S3", self.0.url());
        command
    }
}

/// One root module whose apply holds its lock until the file `go` is there.
fn stack(dir: &Path) {
    let text = r#"terraform {
  backend "s3" {
    bucket                      = "acme-tfstate"
    key                         = "prod/terraform.tfstate"
    region                      = "us-east-1"
    use_lockfile                = true
    use_path_style              = true
    skip_credentials_validation = true
    skip_metadata_api_check     = true
    skip_region_validation      = true
    skip_requesting_account_id  = true
    skip_s3_checksum            = true
  }
}

resource "terraform_data" "held" {
  provisioner "local-exec" {
    command = "n=0; while [ ! -e go ] && [ $n -lt 600 ]; do sleep 0.2; n=$((n+1)); done"
  }
}
"#;
    fs::write(dir.join("main.tf"), text).unwrap();
}

/// What `lockshift policy` writes for it.
fn written(dir: &Path) -> Value {
    let user = |name: &str| format!("arn:aws:iam::000000000000:user/{name}");
    let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(["policy", "--phase", "final", "--runner", &user("runner"), "--break-glass", &user("rescuer")])
        .args(["--state-admin", &user("admin")])
        .current_dir(dir)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["buckets"][0]["bucket_policy"].clone()
}

/// The same in this server's words; see the top of this file.
fn in_its_words(policy: &Value) -> Value {
    let mut policy = policy.clone();
    let statements = policy["Statement"].as_array_mut().unwrap();
    statements.retain(|statement| statement["Condition"].get("Null").is_none());
    for statement in statements {
        let exempt = statement["Condition"]["ArnNotLike"]["aws:PrincipalArn"].clone();
        let exempt = if exempt.is_array() { exempt } else { json!([exempt]) };
        let names: Vec<&str> = exempt
            .as_array()
            .unwrap()
            .iter()
            .map(|arn| arn.as_str().unwrap().rsplit('/').next().unwrap())
            .collect();
        statement["Condition"] = json!({"StringNotEquals": {"aws:username": names}});
    }
    policy
}

#[test]
fn the_runner_locks_and_unlocks_and_an_intruder_is_stopped() {
    let weed = Weed::start();
    let dir = tempfile::tempdir().unwrap();
    stack(dir.path());

    // Without a policy the intruder does as it likes: what stops it later is the policy.
    assert_eq!(weed.request("runner", "PUT", LOCK, Some("lock")), 200);
    assert_eq!(weed.request("intruder", "DELETE", LOCK, None), 204);

    let policy = written(dir.path());
    let sids: Vec<&str> = policy["Statement"]
        .as_array()
        .unwrap()
        .iter()
        .map(|statement| statement["Sid"].as_str().unwrap())
        .collect();
    assert_eq!(
        sids,
        [
            "TflockDeleteOnlyByRunnersAndBreakGlass",
            "TflockCreateOnlyConditionally",
            "TflockCreateOnlyByRunners",
            "BreakGlassDeletesOnlyTheInspectedLock",
            "GuardrailsOnlyByStateAdmin",
        ]
    );
    let enforced = in_its_words(&policy);
    assert_eq!(enforced["Statement"].as_array().unwrap().len(), 3);
    let put = weed.request("admin", "PUT", &format!("{BUCKET}?policy="), Some(&enforced.to_string()));
    assert!(matches!(put, 200 | 204), "{put}: {enforced}");

    let run = |who: &str, args: &[&str]| {
        let output = weed.terraform(dir.path(), who, args).output().unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), said)
    };
    let (code, said) = run("runner", &["init", "-no-color"]);
    assert_eq!(code, Some(0), "{said}");
    let mut apply = weed
        .terraform(dir.path(), "runner", &["apply", "-auto-approve", "-no-color"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(dir.path().join("apply.log")).unwrap())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while weed.request("runner", "GET", LOCK, None) != 200 {
        let said = || fs::read_to_string(dir.path().join("apply.log")).unwrap();
        assert!(
            apply.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(60),
            "no lock: {}",
            said()
        );
        std::thread::sleep(Duration::from_millis(100));
    }

    // The lock is held: nobody but the runner has a hand on it.
    for (who, method, body) in [
        ("intruder", "DELETE", None),
        ("intruder", "PUT", Some("mine")),
        ("admin", "DELETE", None),
        ("admin", "PUT", Some("mine")),
        ("rescuer", "PUT", Some("mine")),
    ] {
        assert_eq!(weed.request(who, method, LOCK, body), 403, "{who} {method}");
    }
    assert_eq!(weed.request("runner", "GET", LOCK, None), 200);
    // A second run of the intruder's cannot lock either, and takes nothing away.
    let (code, said) = run("intruder", &["plan", "-no-color", "-lock-timeout=0s"]);
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("Error acquiring the state lock"), "{said}");

    fs::write(dir.path().join("go"), "").unwrap();
    let status = apply.wait().unwrap();
    assert!(status.success(), "{}", fs::read_to_string(dir.path().join("apply.log")).unwrap());
    assert_eq!(weed.request("runner", "GET", LOCK, None), 404, "the lock was released");
    assert_eq!(weed.request("runner", "GET", "acme-tfstate/prod/terraform.tfstate", None), 200);
    let (code, said) = run("runner", &["plan", "-no-color", "-detailed-exitcode"]);
    assert_eq!(code, Some(0), "{said}");

    // A workspace's lock is guarded by the same statements; break-glass may release a stuck one.
    let stuck = "acme-tfstate/env%3A/stage/prod/terraform.tfstate.tflock";
    assert_eq!(weed.request("runner", "PUT", stuck, Some("stuck")), 200);
    assert_eq!(weed.request("intruder", "DELETE", stuck, None), 403);
    assert_eq!(weed.request("rescuer", "DELETE", stuck, None), 204);
}
