//! A root module whose locks the real terraform takes: applies that are held open, killed or let go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::emulator::Emulator;

/// Longer than any step takes; a run that ends is not waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the emulator needs beside every bucket: no checks against the real AWS.
pub const EMULATED: [(&str, &str); 5] = [
    ("skip_credentials_validation", "true"),
    ("skip_metadata_api_check", "true"),
    ("skip_region_validation", "true"),
    ("skip_requesting_account_id", "true"),
    ("use_path_style", "true"),
];

/// A resource whose apply takes as long as the file `hold` is there, and makes `running` when it has begun.
pub const RESOURCE: &str = r#"
variable "round" {
  default = "0"
}

resource "terraform_data" "hold" {
  triggers_replace = var.round
  provisioner "local-exec" {
    command = "touch running; while [ -e hold ]; do sleep 0.1; done"
  }
}
"#;

/// How a root module locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    None,
    Dynamodb,
    Dual,
    Lockfile,
}

/// One root module in a directory of its own, with bucket `states` and table `locks`.
pub struct RootModule {
    top: Option<TempDir>,
    dir: PathBuf,
    key: String,
    workspace: Option<String>,
    prefix: Option<String>,
    user: Option<String>,
}

impl RootModule {
    /// A root module in a temporary directory.
    pub fn new(key: &str, mode: Mode) -> Self {
        let top = TempDir::new().unwrap();
        let dir = top.path().join("app");
        let made = Self { dir, ..Self::at(top.path(), "app", key, mode) };
        Self { top: Some(top), ..made }
    }

    /// A root module in `top/name`.
    pub fn at(top: &Path, name: &str, key: &str, mode: Mode) -> Self {
        let dir = top.join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("hold.tf"), RESOURCE).unwrap();
        let made = Self { top: None, dir, key: key.to_owned(), workspace: None, prefix: None, user: None };
        made.locks_with(mode);
        made
    }

    /// Its workspaces live below another prefix.
    pub fn with_prefix(mut self, prefix: &str, mode: Mode) -> Self {
        self.prefix = Some(prefix.to_owned());
        self.locks_with(mode);
        self
    }

    /// Its runs are this user's, as the lock's `Who` says.
    pub fn run_by(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// The version that lock documents name.
    pub fn terraform_version(&self, emulator: &Emulator) -> String {
        let said = self.run(emulator, &["version", "-json"]);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        said["terraform_version"].as_str().unwrap().to_owned()
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The state's path in its workspace.
    pub fn state_path(&self) -> String {
        match &self.workspace {
            Some(workspace) => {
                format!("{}/{workspace}/{}", self.prefix.as_deref().unwrap_or("env:"), self.key)
            }
            None => self.key.clone(),
        }
    }

    /// Writes the backend block anew.
    pub fn locks_with(&self, mode: Mode) {
        let mut settings =
            format!("    bucket = \"states\"\n    key = \"{}\"\n    region = \"us-east-1\"\n", self.key);
        for (name, value) in EMULATED {
            settings.push_str(&format!("    {name} = {value}\n"));
        }
        if matches!(mode, Mode::Dynamodb | Mode::Dual) {
            settings.push_str("    dynamodb_table = \"locks\"\n");
        }
        if matches!(mode, Mode::Dual | Mode::Lockfile) {
            settings.push_str("    use_lockfile = true\n");
        }
        if let Some(prefix) = &self.prefix {
            settings.push_str(&format!("    workspace_key_prefix = \"{prefix}\"\n"));
        }
        let block = format!(
            "terraform {{\n  required_version = \">= 1.11\"\n  backend \"s3\" {{\n{settings}  }}\n}}\n"
        );
        fs::write(self.dir.join("main.tf"), block).unwrap();
    }

    /// A terraform command in it, in its workspace.
    pub fn terraform(&self, emulator: &Emulator, arguments: &[&str]) -> Command {
        let mut command = super::terraform(&self.dir, emulator);
        command.args(arguments).envs(self.user.iter().map(|user| ("USER", user)));
        if let Some(workspace) = self.workspace.as_ref().filter(|_| arguments.first() != Some(&"init")) {
            command.env("TF_WORKSPACE", workspace);
        }
        command
    }

    /// Runs terraform to its end; panics unless it succeeds.
    pub fn run(&self, emulator: &Emulator, arguments: &[&str]) -> String {
        let output = super::run(&mut self.terraform(emulator, arguments));
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "terraform {arguments:?}: {said}");
        said
    }

    /// `init -reconfigure`.
    pub fn init(&self, emulator: &Emulator) {
        self.run(emulator, &["init", "-reconfigure", "-no-color"]);
    }

    /// Makes a workspace and stays in it.
    pub fn in_workspace(&mut self, emulator: &Emulator, name: &str) {
        self.run(emulator, &["workspace", "new", name]);
        self.workspace = Some(name.to_owned());
    }

    /// Applies to the end.
    pub fn apply(&self, emulator: &Emulator, round: &str) {
        let variable = format!("round={round}");
        self.run(emulator, &["apply", "-auto-approve", "-no-color", "-var", &variable]);
    }

    /// Begins an apply and returns while it holds its lock.
    pub fn hold(&self, emulator: &Emulator, round: &str) -> Holding {
        let (hold, running) = (self.dir.join("hold"), self.dir.join("running"));
        let _ = fs::remove_file(&running);
        fs::write(&hold, "").unwrap();
        let variable = format!("round={round}");
        let log = self.dir.join("apply.log");
        let out = fs::File::create(&log).unwrap();
        let mut command =
            self.terraform(emulator, &["apply", "-auto-approve", "-no-color", "-var", &variable]);
        command.stdout(out.try_clone().unwrap()).stderr(out).stdin(Stdio::null());
        let mut holding = Holding { child: command.spawn().unwrap(), hold, log };
        let began = Instant::now();
        while !running.exists() {
            let ended = holding.child.try_wait().unwrap();
            assert!(
                ended.is_none() && began.elapsed() < PATIENCE,
                "the apply never got to run: {}",
                holding.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        holding
    }
}

/// An apply that holds its lock. It must not outlive its test.
pub struct Holding {
    child: Child,
    hold: PathBuf,
    log: PathBuf,
}

impl Holding {
    /// What it said so far.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Kills it (SIGKILL): its locks stay.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // The provisioner's shell goes on without its parent: it ends with the file.
        let _ = fs::remove_file(&self.hold);
    }

    /// Lets it come to its end, and says whether it succeeded.
    pub fn finish(mut self) -> bool {
        fs::remove_file(&self.hold).unwrap();
        self.child.wait().unwrap().success()
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.hold);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
