//! What several tests share: the program under test, `terraform` cut off from the machine it runs on, and the
//! emulator of S3 and DynamoDB. No assertions live here.
#![allow(dead_code, reason = "each test binary uses its own part of this module")]

pub mod double;
pub mod emulator;
pub mod listing;
pub mod ports;
pub mod root_module;
pub mod said;
pub mod stores;
pub mod tree;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use emulator::Emulator;
use serde_json::Value;

/// The repository's root.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What one `lockshift scan --format json` said.
pub struct Scan {
    /// Exit code.
    pub code: Option<i32>,
    /// The document; `Null` when stdout was empty (nothing to look at).
    pub json: Value,
    /// Messages for people.
    pub stderr: String,
}

/// Runs `lockshift scan --format json .` in `dir`.
pub fn scan(dir: &Path) -> Scan {
    let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(["scan", "--format", "json", "."])
        .current_dir(dir)
        .env_remove("GITHUB_ACTIONS")
        .env("NO_COLOR", "1")
        .output()
        .expect("lockshift starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let json = if output.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!(
                "scan printed no JSON ({error}), exit {:?}: {}\n{stderr}",
                output.status.code(),
                String::from_utf8_lossy(&output.stdout)
            )
        })
    };
    Scan { code: output.status.code(), json, stderr }
}

/// A `terraform` command in `dir` that sees nothing of this machine: no CLI configuration, no credentials but
/// dummies, every AWS endpoint at the emulator, no version check over the network. State, backend record and
/// home stay under `dir`, so two of them never meet.
pub fn terraform(dir: &Path, emulator: &Emulator) -> Command {
    let mut command = Command::new(terraform_program());
    command.current_dir(dir).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let no_configuration = dir.join("no.terraformrc");
    // Terraform warns about a named file that is missing; an empty one is silent.
    if !no_configuration.exists() {
        std::fs::write(&no_configuration, "").expect("temporary directory is writable");
    }
    command
        .env("HOME", dir)
        .env("TF_CLI_CONFIG_FILE", &no_configuration)
        .env("TF_IN_AUTOMATION", "1")
        .env("TF_INPUT", "0")
        .env("CHECKPOINT_DISABLE", "1")
        .env("AWS_ACCESS_KEY_ID", "emulator")
        .env("AWS_SECRET_ACCESS_KEY", "emulator")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_ENDPOINT_URL_S3", emulator.url())
        .env("AWS_ENDPOINT_URL_DYNAMODB", emulator.url())
        .env("AWS_ENDPOINT_URL_STS", emulator.url())
        .env("AWS_ENDPOINT_URL_IAM", emulator.url());
    command
}

/// The `terraform` program: `LOCKSHIFT_TERRAFORM`, or the one on `PATH`.
pub fn terraform_program() -> std::ffi::OsString {
    std::env::var_os("LOCKSHIFT_TERRAFORM").unwrap_or_else(|| "terraform".into())
}

/// A `lockshift` command in `dir` that sees nothing of this machine, with dummy credentials.
fn secluded(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockshift"));
    command.current_dir(dir).env_clear().env("HOME", dir).env("NO_COLOR", "1");
    command
        .env("AWS_ACCESS_KEY_ID", "emulator")
        .env("AWS_SECRET_ACCESS_KEY", "emulator")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

/// A `lockshift` command in `dir` that reaches nothing but the emulator.
pub fn lockshift(dir: &Path, emulator: &Emulator) -> Command {
    let mut command = secluded(dir);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.env("USER", "tester").env("AWS_ENDPOINT_URL", emulator.url());
    command
}

/// A `lockshift` command that reaches one store, by `--endpoint-url`, and nothing else.
pub fn lockshift_at(dir: &Path, url: &str, arguments: &[&str]) -> Command {
    let mut command = secluded(dir);
    command.args(arguments).args(["--endpoint-url", url]);
    command
}

/// Runs a command, with a message that says what to install when it is missing.
pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| {
        panic!(
            "{:?} did not start ({error}). These tests compare with the real terraform (1.11 or newer): put it \
             on PATH or name it in LOCKSHIFT_TERRAFORM.",
            command.get_program()
        )
    })
}

/// Whether this is the process in which a test of reading AWS may run: one with dummy credentials and nothing of this
/// machine's own. In any other it runs the test there, by its name, and says no.
pub fn isolated<F: Fn()>(_test: F) -> bool {
    const MARK: &str = "LOCKSHIFT_TEST_ISOLATED";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    // `crate::module::test`; the harness leaves the crate away.
    let path = std::any::type_name::<F>();
    let test = path.split_once("::").map_or(path, |(_, test)| test);
    let output = Command::new(std::env::current_exe().expect("a test has a program"))
        .args([test, "--exact", "--nocapture"])
        .env(MARK, "1")
        .env("AWS_ACCESS_KEY_ID", "emulator")
        .env("AWS_SECRET_ACCESS_KEY", "emulator")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/nonexistent")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        .env_remove("AWS_PROFILE")
        .env_remove("AWS_SESSION_TOKEN")
        .env_remove("AWS_ENDPOINT_URL")
        .output()
        .expect("a test's program starts");
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{test}:\n{text}");
    false
}
