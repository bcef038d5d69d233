//! The whole way with the real terraform against an emulator of S3 and DynamoDB: from the table to both locks to the
//! lockfile alone, and back. What is held while an apply runs is read from both stores, never taken from a log.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::emulator::Emulator;
use support::root_module::{EMULATED, RESOURCE};
use support::tree::put;
use tempfile::TempDir;

/// Longer than any step here takes; a run that ends is not waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// One root module below a directory that is given to `lockshift`, and its state's key.
struct Stack {
    top: TempDir,
    dir: PathBuf,
    key: String,
    workspace: Option<&'static str>,
    init: Vec<&'static str>,
}

/// Which locks a running apply holds.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    s3: Option<String>,
    dynamodb: Option<String>,
}

impl Held {
    /// Both stores hold the same lock.
    fn is_dual(&self) -> bool {
        self.s3.is_some() && self.s3 == self.dynamodb
    }
}

impl Stack {
    /// A root module `app` with these files; `KEY` stands for its key, `EMULATED` for what the emulator needs.
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let top = TempDir::new().unwrap();
        let dir = top.path().join("app");
        let key = format!("{name}/terraform.tfstate");
        let emulated: String =
            EMULATED.iter().map(|(setting, value)| format!("    {setting} = {value}\n")).collect();
        put(&dir, "hold.tf", RESOURCE);
        for (file, text) in files {
            put(top.path(), file, text.replace("EMULATED\n", &emulated).replace("KEY", &key));
        }
        Self { top, dir, key, workspace: None, init: Vec::new() }
    }

    fn init_with(mut self, arguments: &[&'static str]) -> Self {
        self.init = arguments.to_vec();
        self
    }

    fn in_workspace(mut self, name: &'static str) -> Self {
        self.workspace = Some(name);
        self
    }

    fn terraform(&self, emulator: &Emulator, arguments: &[&str]) -> Command {
        let mut command = support::terraform(&self.dir, emulator);
        command.args(arguments);
        if let Some(workspace) = self.workspace.filter(|_| arguments.first() != Some(&"init")) {
            command.env("TF_WORKSPACE", workspace);
        }
        command
    }

    /// Runs terraform to its end; panics unless it succeeds.
    fn run(&self, emulator: &Emulator, arguments: &[&str]) -> String {
        let output = support::run(&mut self.terraform(emulator, arguments));
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "terraform {arguments:?}: {said}");
        said
    }

    fn init(&self, emulator: &Emulator, more: &[&str]) {
        let mut arguments = vec!["init", "-no-color"];
        arguments.extend(&self.init);
        arguments.extend(more);
        self.run(emulator, &arguments);
    }

    fn migrate(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .arg("migrate")
            .args(arguments)
            .current_dir(self.top.path())
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "migrate {arguments:?}: {said}");
        said
    }

    /// The mode that scan sees.
    fn mode(&self) -> String {
        let scan = support::scan(self.top.path());
        let modes: Vec<&str> = scan.json["roots"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|root| root["backends"].as_array().unwrap())
            .map(|backend| backend["mode"].as_str().unwrap())
            .collect();
        modes.join(" ")
    }

    fn state_path(&self) -> String {
        match self.workspace {
            Some(workspace) => format!("env:/{workspace}/{}", self.key),
            None => self.key.clone(),
        }
    }

    /// Applies, looks at both stores while the apply runs, and lets it end.
    fn held_while_applying(&self, emulator: &Emulator, round: &str) -> Held {
        let (hold, running) = (self.dir.join("hold"), self.dir.join("running"));
        let _ = fs::remove_file(&running);
        fs::write(&hold, "").unwrap();
        let variable = format!("round={round}");
        let log = fs::File::create(self.dir.join("apply.log")).unwrap();
        let mut command =
            self.terraform(emulator, &["apply", "-auto-approve", "-no-color", "-var", &variable]);
        command.stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
        let mut child = Running(command.spawn().unwrap());
        let began = Instant::now();
        while !running.exists() {
            let ended = child.0.try_wait().unwrap();
            let log = || fs::read_to_string(self.dir.join("apply.log")).unwrap_or_default();
            assert!(ended.is_none() && began.elapsed() < PATIENCE, "the apply never got to run: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        let held = Held {
            s3: emulator.lock_in_s3("states", &self.state_path()),
            dynamodb: emulator.lock_in_dynamodb("locks", &format!("states/{}", self.state_path())),
        };
        fs::remove_file(&hold).unwrap();
        let status = child.0.wait().unwrap();
        assert!(status.success(), "{}", fs::read_to_string(self.dir.join("apply.log")).unwrap());
        let left = (
            emulator.lock_in_s3("states", &self.state_path()),
            emulator.lock_in_dynamodb("locks", &format!("states/{}", self.state_path())),
        );
        assert_eq!(left, (None, None), "a lock stayed behind");
        held
    }
}

/// A terraform that must not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const TO_DUAL: [&str; 5] = ["--phase", "dual", "--write", "--waive", "version-unproven=test"];

const TO_FINAL: [&str; 9] = [
    "--phase",
    "final",
    "--write",
    "--waive",
    "version-unproven=test",
    "--waive",
    "soak-too-short=test",
    "--waive",
    "endpoint-unproven=test",
];

const BLOCK: &str = r#"terraform {
  required_version = ">= 1.11"
  backend "s3" {
    bucket = "states"
    key    = "KEY"
    region = "us-east-1"
EMULATED
    dynamodb_table = "locks"
  }
}
"#;

/// From the table to the lockfile, what is held at each step.
fn there(stack: &Stack, emulator: &Emulator) {
    assert_eq!(stack.mode(), "dynamodb");
    stack.init(emulator, &[]);
    if let Some(workspace) = stack.workspace {
        support::run(support::terraform(&stack.dir, emulator).args(["workspace", "new", workspace]));
    }
    let held = stack.held_while_applying(emulator, "table");
    assert!(held.s3.is_none() && held.dynamodb.is_some(), "the table alone: {held:?}");

    stack.migrate(&TO_DUAL);
    assert_eq!(stack.mode(), "dual");
    stack.init(emulator, &["-reconfigure"]);
    let held = stack.held_while_applying(emulator, "dual");
    assert!(held.is_dual(), "both, and the same lock: {held:?}");

    stack.migrate(&TO_FINAL);
    assert_eq!(stack.mode(), "lockfile");
    stack.init(emulator, &["-reconfigure"]);
    let held = stack.held_while_applying(emulator, "final");
    assert!(held.s3.is_some() && held.dynamodb.is_none(), "the lockfile alone: {held:?}");
}

#[test]
fn a_block_there_and_back() {
    let (emulator, _alone) = Emulator::alone();
    let stack = Stack::new("block", &[("app/main.tf", BLOCK)]);
    let written = fs::read_to_string(stack.dir.join("main.tf")).unwrap();
    there(&stack, &emulator);

    // Back to both: the digest of the last write with a table does not fit any more, and terraform says so.
    let said = stack.migrate(&["--phase", "rollback", "--write", "--rollback-table", "locks"]);
    assert_eq!(stack.mode(), "dual");
    let digest = format!("states/{}-md5", stack.key);
    assert!(said.contains(&digest) && said.contains("aws dynamodb delete-item"), "{said}");
    let stale = support::run(&mut stack.terraform(&emulator, &["init", "-reconfigure", "-no-color"]));
    let complaint = String::from_utf8_lossy(&stale.stderr).into_owned();
    assert!(!stale.status.success() && complaint.contains("does not have the expected"), "{complaint}");
    // The step that was printed.
    emulator.item("locks", "DeleteItem", &digest);
    stack.init(&emulator, &["-reconfigure"]);
    stack.run(&emulator, &["plan", "-no-color"]);
    let held = stack.held_while_applying(&emulator, "back");
    assert!(held.is_dual(), "{held:?}");

    // And to the table alone: the very bytes of the beginning, and no step in between.
    stack.migrate(&["--phase", "rollback", "--write"]);
    assert_eq!(stack.mode(), "dynamodb");
    assert_eq!(fs::read_to_string(stack.dir.join("main.tf")).unwrap(), written);
    stack.init(&emulator, &["-reconfigure"]);
    stack.run(&emulator, &["plan", "-no-color"]);
    let held = stack.held_while_applying(&emulator, "home");
    assert!(held.s3.is_none() && held.dynamodb.is_some(), "{held:?}");
}

#[test]
fn a_workspace() {
    there(&Stack::new("workspace", &[("app/main.tf", BLOCK)]).in_workspace("blue"), &Emulator::alone().0);
}

#[test]
fn an_override_file() {
    // The override replaces the whole block: only what stands there counts.
    let shadowed = "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {\n    bucket = \"elsewhere\"\n    \
                    key    = \"KEY\"\n    region = \"us-east-1\"\n    dynamodb_table = \"other\"\n  }\n}\n";
    let stack = Stack::new("override", &[("app/main.tf", shadowed), ("app/backend_override.tf", BLOCK)]);
    there(&stack, &Emulator::alone().0);
}

#[test]
fn json_syntax() {
    let settings: String =
        EMULATED.iter().map(|(name, value)| format!("        \"{name}\": {value},\n")).collect();
    let text = format!(
        "{{\n  \"terraform\": {{\n    \"required_version\": \">= 1.11\",\n    \"backend\": {{\n      \"s3\": {{\n\
         {settings}        \"bucket\": \"states\",\n        \"key\": \"KEY\",\n        \"region\": \"us-east-1\",\n\
         \x20       \"dynamodb_table\": \"locks\"\n      }}\n    }}\n  }}\n}}\n"
    );
    there(&Stack::new("json", &[("app/backend.tf.json", &text)]), &Emulator::alone().0);
}

#[test]
fn a_backend_config_file() {
    let block = "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {}\n}\n";
    let flat =
        "bucket = \"states\"\nkey = \"KEY\"\nregion = \"us-east-1\"\nEMULATED\ndynamodb_table = \"locks\"\n";
    let stack = Stack::new(
        "config",
        &[
            ("app/main.tf", block),
            ("app/env/dev.tfbackend", flat),
            ("deploy.sh", "cd app\nterraform init -reconfigure -backend-config=env/dev.tfbackend\n"),
        ],
    )
    .init_with(&["-backend-config=env/dev.tfbackend"]);
    there(&stack, &Emulator::alone().0);
}
