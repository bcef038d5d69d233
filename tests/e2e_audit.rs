//! `audit` against an emulator of S3 and DynamoDB, on locks, digests and versions that the real terraform made.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use support::emulator::Emulator;
use support::root_module::{Mode, RootModule};
use tempfile::TempDir;

/// One audit's JSON and exit code.
struct Audited {
    code: Option<i32>,
    json: Value,
}

fn audit(dir: &Path, emulator: &Emulator, arguments: &[&str]) -> Audited {
    let mut command = support::lockshift(dir, emulator);
    let output =
        command.args(["audit", "--format", "json", "--settle", "1s"]).args(arguments).output().unwrap();
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("no JSON ({error}): {}", String::from_utf8_lossy(&output.stderr));
    });
    Audited { code: output.status.code(), json }
}

impl Audited {
    /// Rules of the findings about one state, sorted.
    fn rules(&self, state_path: &str) -> Vec<String> {
        let subject = format!("s3://states/{state_path}");
        let mut rules: Vec<String> = self.json["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| finding["subject"] == subject.as_str())
            .map(|finding| finding["rule"].as_str().unwrap().to_owned())
            .collect();
        rules.sort();
        rules
    }

    fn finding(&self, rule: &str) -> &Value {
        let findings = self.json["findings"].as_array().unwrap();
        findings
            .iter()
            .find(|finding| finding["rule"] == rule)
            .unwrap_or_else(|| panic!("no {rule}: {findings:?}"))
    }

    fn state(&self, state_path: &str) -> &Value {
        let states = self.json["states"].as_array().unwrap();
        states.iter().find(|state| state["state_path"] == state_path).unwrap_or_else(|| panic!("{states:?}"))
    }

    fn assert_all_read(&self) {
        assert_eq!(self.json["unread"], serde_json::json!([]), "everything was read");
    }
}

#[test]
fn a_running_apply_is_healthy_and_a_killed_one_is_stale_in_both_stores() {
    let (emulator, _alone) = Emulator::alone();
    let top = TempDir::new().unwrap();
    let mut stack = RootModule::at(top.path(), "app", "app/terraform.tfstate", Mode::Dual)
        .with_prefix("spaces", Mode::Dual);
    stack.init(&emulator);
    stack.in_workspace(&emulator, "blue");
    let path = stack.state_path();
    stack.apply(&emulator, "first");

    let running = stack.hold(&emulator, "second");
    let healthy = audit(top.path(), &emulator, &["."]);
    healthy.assert_all_read();
    assert_eq!(healthy.rules(&path), [] as [&str; 0], "a run at work is no finding");
    let state = healthy.state(&path);
    assert_eq!((state["mode"].as_str(), state["workspace"].as_str()), (Some("dual"), Some("blue")));
    let id = emulator.lock_in_s3("states", &path).unwrap();
    assert_eq!(state["locks"]["s3"]["id"], id.as_str());
    assert_eq!(state["locks"]["dynamodb"]["id"], id.as_str());
    assert_eq!(state["locks"]["s3"]["operation"], "OperationTypeApply");
    assert_eq!(state["digest"]["verdict"], "matches", "{state}");

    running.kill();
    std::thread::sleep(Duration::from_secs(2));
    let stale = audit(top.path(), &emulator, &[".", "--stale-after", "1s"]);
    assert_eq!(stale.code, Some(1));
    stale.assert_all_read();
    assert!(stale.rules(&path).contains(&"lock-stale".to_owned()), "{:?}", stale.rules(&path));
    let finding = stale.finding("lock-stale");
    assert_eq!(finding["locks"]["s3"]["id"], id.as_str());
    assert_eq!(finding["locks"]["dynamodb"]["id"], id.as_str());
    let commands: Vec<&str> =
        finding["commands"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(
        commands.iter().any(|command| command.contains("terraform -chdir=app force-unlock")),
        "{commands:?}"
    );
    let ours = commands.iter().find(|command| command.starts_with("lockshift unlock")).unwrap();
    // The very command that is shown releases it.
    let mut words: Vec<&str> = ours.split_whitespace().skip(1).collect();
    words.push("--yes");
    let output = support::lockshift(top.path(), &emulator).args(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(emulator.lock_in_s3("states", &path), None);
    assert_eq!(emulator.lock_in_dynamodb("locks", &format!("states/{path}")), None);
    let clean = audit(top.path(), &emulator, &[".", "--stale-after", "1s"]);
    assert_eq!(clean.rules(&path), [] as [&str; 0]);
}

#[test]
fn force_unlock_in_the_wrong_mode_leaves_an_orphan() {
    let (emulator, _alone) = Emulator::alone();
    let top = TempDir::new().unwrap();
    let stack = RootModule::at(top.path(), "app", "orphan/terraform.tfstate", Mode::Dual);
    stack.init(&emulator);
    stack.apply(&emulator, "first");
    stack.hold(&emulator, "second").kill();
    let id = emulator.lock_in_s3("states", "orphan/terraform.tfstate").unwrap();
    // Released by a client that knows the table alone: the `.tflock` stays.
    stack.locks_with(Mode::Dynamodb);
    stack.init(&emulator);
    stack.run(&emulator, &["force-unlock", "-force", &id]);
    stack.locks_with(Mode::Dual);
    std::thread::sleep(Duration::from_secs(2));
    let audited = audit(top.path(), &emulator, &[".", "--stale-after", "1s"]);
    let rules = audited.rules("orphan/terraform.tfstate");
    assert!(rules.contains(&"lock-split-s3-only".to_owned()), "{rules:?}");
    assert!(audited.state("orphan/terraform.tfstate")["locks"]["dynamodb"].is_null());
    // And the other way round, in the repository of a client that was migrated: an item that nobody should make.
    let item = format!(
        r#"{{"ID":"{id}","Who":"old@client","Created":"2020-01-01T00:00:00Z","Path":"states/orphan/terraform.tfstate"}}"#
    );
    emulator.put_item("locks", "states/orphan/terraform.tfstate", "Info", &item);
    stack.locks_with(Mode::Lockfile);
    let audited = audit(top.path(), &emulator, &[".", "--table", "locks", "--stale-after", "1s"]);
    let rules = audited.rules("orphan/terraform.tfstate");
    assert!(rules.contains(&"lock-in-table-of-lockfile-only".to_owned()), "{rules:?}");
}

#[test]
fn two_clients_of_different_modes_hold_one_state_at_once() {
    let (emulator, _alone) = Emulator::alone();
    let top = TempDir::new().unwrap();
    let key = "shared/terraform.tfstate";
    let old = RootModule::at(top.path(), "old", key, Mode::Dynamodb).run_on("alice");
    let new = RootModule::at(top.path(), "new", key, Mode::Lockfile).run_on("bob");
    old.init(&emulator);
    old.apply(&emulator, "first");
    new.init(&emulator);
    let first = old.hold(&emulator, "second");
    let second = new.hold(&emulator, "third");
    let audited = audit(top.path(), &emulator, &["."]);
    assert_eq!(audited.code, Some(1));
    let finding = audited.finding("two-writers");
    assert_eq!(finding["severity"], "critical");
    let who = |store: &str| finding["locks"][store]["who"].as_str().unwrap().to_owned();
    assert!(who("dynamodb").ends_with("@alice") && who("s3").ends_with("@bob"), "{finding}");
    // Neither excluded the other: both come to their end, and one write is lost.
    assert!(first.finish() && second.finish());
}

#[test]
fn a_rolled_back_backend_meets_a_stale_digest() {
    let (emulator, _alone) = Emulator::alone();
    let top = TempDir::new().unwrap();
    let path = "back/terraform.tfstate";
    let stack = RootModule::at(top.path(), "app", path, Mode::Dynamodb);
    stack.init(&emulator);
    stack.apply(&emulator, "first");
    stack.locks_with(Mode::Lockfile);
    stack.init(&emulator);
    stack.apply(&emulator, "second");
    // The table is no longer named by anything, and still holds the digest.
    let left = audit(top.path(), &emulator, &[".", "--table", "locks"]);
    assert_eq!(left.state(path)["digest"]["verdict"], "stale", "{}", left.state(path));
    stack.locks_with(Mode::Dual);
    let audited = audit(top.path(), &emulator, &["."]);
    assert!(audited.rules(path).contains(&"digest-stale".to_owned()), "{:?}", audited.rules(path));
    assert_eq!(audited.code, Some(1));
    // Terraform says the same in its own way.
    let refused = support::run(&mut stack.terraform(&emulator, &["init", "-reconfigure", "-no-color"]));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("does not have the expected"));
}

#[test]
fn of_thirty_applies_the_two_that_went_around_the_lock_are_named() {
    let (emulator, _alone) = Emulator::alone();
    emulator.set_versioning("states", "Enabled");
    let top = TempDir::new().unwrap();
    let path = "covered/terraform.tfstate";
    let stack = RootModule::at(top.path(), "app", path, Mode::Dual);
    stack.init(&emulator);
    let mut around = Vec::new();
    for round in 0..30 {
        if [9, 21].contains(&round) {
            // S3 dates in whole seconds: a write in the same second as a lock can't be told from one inside it.
            std::thread::sleep(Duration::from_secs(2));
            stack.run(
                &emulator,
                &["apply", "-auto-approve", "-no-color", "-lock=false", "-var", &format!("round={round}")],
            );
            around.push(emulator.newest_version("states", path));
            std::thread::sleep(Duration::from_secs(2));
        } else {
            stack.apply(&emulator, &round.to_string());
        }
    }
    let audited = audit(top.path(), &emulator, &["."]);
    let coverage = &audited.state(path)["coverage"];
    assert_eq!(coverage["verdict"], "contradicted", "{coverage}");
    assert_eq!(coverage["writes"], 30, "{coverage}");
    assert_eq!(coverage["intervals"], 28, "{coverage}");
    let outside: Vec<&str> = coverage["outside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|write| write["version_id"].as_str().unwrap())
        .collect();
    assert_eq!(outside, around);
    assert!(audited.rules(path).contains(&"coverage-contradicted".to_owned()));
    assert_eq!(audited.code, Some(1));
    // The window decides what counts: nothing happened in the last second.
    std::thread::sleep(Duration::from_secs(3));
    let narrow = audit(top.path(), &emulator, &[".", "--window", "1s"]);
    assert_eq!(narrow.state(path)["coverage"]["verdict"], "no-writes-seen");
    // And the next step of the migration hears of it.
    let evidence = top.path().join("audit.json");
    std::fs::write(&evidence, serde_json::to_vec(&audited.json).unwrap()).unwrap();
    let output = support::lockshift(top.path(), &emulator)
        .args(["migrate", "--phase", "final", "--evidence", "audit.json", "."])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("evidence-contradicts") && said.contains("outside of an S3 lock"), "{said}");
}

#[test]
fn a_covered_state_is_proven_and_lets_the_final_phase_pass() {
    let (emulator, _alone) = Emulator::alone();
    emulator.set_versioning("states", "Enabled");
    let top = TempDir::new().unwrap();
    let path = "proven/terraform.tfstate";
    let stack = RootModule::at(top.path(), "app", path, Mode::Dual);
    stack.init(&emulator);
    for round in ["1", "2", "3"] {
        stack.apply(&emulator, round);
    }
    let audited =
        audit(top.path(), &emulator, &[".", "--fail-on", "lock-stale,coverage-contradicted,digest-stale"]);
    assert_eq!((audited.code, audited.rules(path).len()), (Some(0), 0), "{}", audited.json["findings"]);
    audited.assert_all_read();
    let coverage = &audited.state(path)["coverage"];
    assert_eq!(
        (coverage["verdict"].as_str(), coverage["writes"].as_u64()),
        (Some("proven"), Some(3)),
        "{coverage}"
    );
    assert_eq!(coverage["operations"], serde_json::json!(["OperationTypeApply"]));
    assert_eq!(coverage["versions"], serde_json::json!([stack.terraform_version(&emulator)]));
    std::fs::write(top.path().join("audit.json"), serde_json::to_vec(&audited.json).unwrap()).unwrap();
    let output = support::lockshift(top.path(), &emulator)
        .args(["migrate", "--phase", "final", "--evidence", "audit.json", "--waive", "soak-too-short=test"])
        .args(["--waive", "endpoint-unproven=test", "--waive", "version-unproven=test", "."])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("-    dynamodb_table = \"locks\""), "{said}");
}

#[test]
fn a_role_that_can_t_release_its_lock_is_found_and_holds_the_dual_phase_back() {
    let (emulator, _alone) = Emulator::alone();
    let top = TempDir::new().unwrap();
    let stack = RootModule::at(top.path(), "app", "app/terraform.tfstate", Mode::Dynamodb);
    let config = "[roles]\nrunners = [\"arn:aws:iam::*:role/ci/tf-apply\"]\n";
    std::fs::write(top.path().join("lockshift.toml"), config).unwrap();
    emulator.iam(&[
        ("Action", "CreateRole"),
        ("RoleName", "tf-apply"),
        ("Path", "/ci/"),
        ("AssumeRolePolicyDocument", r#"{"Version":"2012-10-17","Statement":[]}"#),
    ]);
    // The commonest policy: put and get on everything in the bucket, and nothing that deletes.
    let policy = |actions: &str| {
        format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":[{actions}],"Resource":"arn:aws:s3:::states/*"}}]}}"#
        )
    };
    let put = |actions: &str| {
        let document = policy(actions);
        emulator.iam(&[
            ("Action", "PutRolePolicy"),
            ("RoleName", "tf-apply"),
            ("PolicyName", "state"),
            ("PolicyDocument", &document),
        ]);
    };
    put(r#""s3:GetObject","s3:PutObject""#);
    let migrate = |audited: &Audited| {
        std::fs::write(top.path().join("audit.json"), serde_json::to_vec(&audited.json).unwrap()).unwrap();
        let output = support::lockshift(top.path(), &emulator)
            .args([
                "migrate",
                "--phase",
                "dual",
                "--evidence",
                "audit.json",
                "--waive",
                "version-unproven=test",
                ".",
            ])
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let audited = audit(top.path(), &emulator, &[".", "--iam"]);
    let finding = audited.finding("runner-cannot-delete-lock");
    assert!(finding["subject"].as_str().unwrap().ends_with(":role/ci/tf-apply"), "{finding}");
    assert_eq!((finding["area"].as_str(), finding["bucket"].as_str()), (Some("access"), Some("states")));
    let access = &audited.json["access"][0];
    assert_eq!(
        (access["bucket"].as_str(), access["principals_read"].as_bool()),
        (Some("states"), Some(true))
    );
    let (code, said) = migrate(&audited);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("runner-would-break") && said.contains("role/ci/tf-apply"), "{said}");
    assert_eq!(audited.json["stats"]["requests"]["GetAccountAuthorizationDetails"], 1);

    put(r#""s3:GetObject","s3:PutObject","s3:DeleteObject""#);
    let audited = audit(top.path(), &emulator, &[".", "--iam"]);
    let rules: Vec<&str> = audited.json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap())
        .collect();
    assert!(!rules.contains(&"runner-cannot-delete-lock"), "{rules:?}");
    let (code, said) = migrate(&audited);
    assert_eq!(code, Some(0), "{said}");
    drop(stack);
}

#[test]
fn the_key_that_encrypts_the_locks_is_read_with_the_identities() {
    let (emulator, _alone) = Emulator::alone();
    let key =
        emulator.kms("CreateKey", &serde_json::json!({}))["KeyMetadata"]["Arn"].as_str().unwrap().to_owned();
    let grant = serde_json::json!({
        "KeyId": key, "GranteePrincipal": "arn:aws:iam::123456789012:role/ci", "Operations": ["Decrypt"]
    });
    emulator.kms("CreateGrant", &grant);
    let encryption = format!(
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>aws:kms\
         </SSEAlgorithm><KMSMasterKeyID>{key}</KMSMasterKeyID></ApplyServerSideEncryptionByDefault></Rule>\
         </ServerSideEncryptionConfiguration>"
    );
    emulator.configure("states", "encryption", &encryption);
    let dir = TempDir::new().unwrap();
    let audited = audit(dir.path(), &emulator, &["--bucket", "states", "--iam", "--save-snapshot", "s.json"]);
    audited.assert_all_read();
    let requests = &audited.json["stats"]["requests"];
    for operation in ["DescribeKey", "GetKeyPolicy", "ListGrants", "GetAccountAuthorizationDetails"] {
        assert_eq!(requests[operation], 1, "{requests}");
    }
    let saved: Value = serde_json::from_slice(&std::fs::read(dir.path().join("s.json")).unwrap()).unwrap();
    let read = &saved["buckets"][0]["key"]["value"];
    assert_eq!(read["arn"], key.as_str());
    assert!(read["policy"]["value"].as_str().unwrap().contains("kms:*"), "{read}");
    assert_eq!(read["grants"]["value"][0]["operations"], serde_json::json!(["Decrypt"]));
}
