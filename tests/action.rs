//! `action.yml`: its shell steps, run as a runner would run them, with stand-ins for what they call. How steps are
//! joined, and the actions of others, are not run here.
#![cfg(unix)]
#![cfg(test)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A stand-in: writes down each of its arguments on a line, and ends as it is told.
const STAND_IN: &str =
    "#!/bin/sh\nprintf '%s\\n' \"$@\" >>\"$SAID/$(basename \"$0\")\"\nexit \"${ENDS:-0}\"\n";

/// The text of a step's `run`, by the step's name.
fn script(step: &str) -> String {
    let action = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml")).unwrap();
    let mut lines = action.lines().skip_while(|line| line.trim() != format!("- name: {step}"));
    let run = lines.find(|line| line.trim_start().starts_with("run: ")).unwrap();
    let written = run.trim_start().trim_start_matches("run: ");
    if written != "|" {
        return written.to_owned();
    }
    let indent = run.len() - run.trim_start().len() + 2;
    let inside = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() >= indent;
    lines.take_while(inside).map(|line| line.get(indent..).unwrap_or("").to_owned() + "\n").collect()
}

/// A runner's directories.
struct Runner {
    dir: TempDir,
}

impl Runner {
    fn new() -> Self {
        let runner = Self { dir: TempDir::new().unwrap() };
        for program in ["lockshift/bin/lockshift", "path/rustup", "path/cargo"] {
            let path = runner.at(program);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, STAND_IN).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir(runner.at("said")).unwrap();
        runner
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a step as a runner does, and gives its exit code.
    fn run(&self, step: &str, variables: &[(&str, &str)]) -> i32 {
        let file = self.at("step.sh");
        fs::write(&file, script(step)).unwrap();
        let path = format!("{}:{}", self.at("path").display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-e", "-o", "pipefail"]).arg(file).current_dir(self.dir.path());
        bash.env("PATH", path)
            .env("SAID", self.at("said"))
            .env("RUNNER_TEMP", self.dir.path())
            .env("GITHUB_OUTPUT", self.at("output"))
            .env("ROOT", self.at("lockshift"));
        bash.envs(variables.iter().copied());
        bash.status().unwrap().code().unwrap()
    }

    /// What a stand-in was called with, and nothing that it was called with before.
    fn said(&self, program: &str) -> Vec<String> {
        let file = self.at("said").join(program);
        let text = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
        text.lines().map(str::to_owned).collect()
    }

    /// What a step hands on, and nothing that one handed on before.
    fn output(&self) -> String {
        let text = fs::read_to_string(self.at("output")).unwrap_or_default();
        let _ = fs::remove_file(self.at("output"));
        text
    }
}

/// The `Run` step with inputs: command, path, args, format, sarif.
fn run_with(runner: &Runner, inputs: [&str; 5], ends: &str) -> i32 {
    let names = ["COMMAND", "TREE", "ARGS", "FORMAT", "SARIF"];
    let mut variables: Vec<(&str, &str)> = names.into_iter().zip(inputs).collect();
    variables.push(("ENDS", ends));
    runner.run("Run", &variables)
}

#[test]
fn inputs_become_arguments_and_nothing_else() {
    let runner = Runner::new();
    let args = "--fail-on\r\nhigh\n\n$(touch made)\n`touch made`; touch made\n";
    assert_eq!(run_with(&runner, ["scan", "a dir", args, "github", "false"], "0"), 0);
    let expected = [
        "scan",
        "a dir",
        "--fail-on",
        "high",
        "$(touch made)",
        "`touch made`; touch made",
        "--format",
        "github",
    ];
    assert_eq!(runner.said("lockshift"), expected);
    assert!(!runner.at("made").exists());
}

#[test]
fn without_a_path_and_with_sarif() {
    let runner = Runner::new();
    assert_eq!(run_with(&runner, ["audit", "", "--bucket\nb", "json", "true"], "0"), 0);
    let sarif = runner.at("lockshift.sarif").display().to_string();
    // SARIF wins over a format: it is what is uploaded.
    assert_eq!(
        runner.said("lockshift"),
        ["audit", "--bucket", "b", "--format", "sarif", "--output", sarif.as_str()]
    );
    assert_eq!(run_with(&runner, ["scan", ".", "", "", "false"], "0"), 0);
    assert_eq!(runner.said("lockshift"), ["scan", "."]);
}

#[test]
fn the_exit_code_is_handed_on_and_ends_the_job_at_last() {
    let runner = Runner::new();
    for code in [0, 1, 2, 3] {
        // The step itself passes, so that a report can be uploaded first.
        assert_eq!(run_with(&runner, ["scan", ".", "", "", "false"], &code.to_string()), 0);
        assert_eq!(runner.output(), format!("exit-code={code}\n"));
        assert_eq!(runner.run("Result", &[("CODE", &code.to_string())]), code);
    }
}

#[test]
fn only_what_has_a_form_for_code_scanning_is_asked_for_it() {
    let runner = Runner::new();
    let asked = |command: &str, sarif: &str| {
        runner.run("What was asked for", &[("COMMAND", command), ("SARIF", sarif)])
    };
    assert_eq!((asked("scan", "true"), asked("audit", "true")), (0, 0));
    assert_eq!((asked("migrate", "true"), asked("policy", "true"), asked("", "true")), (2, 2, 2));
    assert_eq!((asked("migrate", "false"), asked("migrate", "")), (0, 0));
    // The program agrees.
    for (command, takes) in [("scan", true), ("audit", true), ("migrate", false), ("policy", false)] {
        let program =
            Command::new(env!("CARGO_BIN_EXE_lockshift")).args([command, "--help"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&program.stdout).contains("sarif"), takes, "{command}");
    }
}

/// A job that ends with findings has failed, and `actions/cache` keeps nothing of such a job.
#[test]
fn what_was_built_is_kept_before_anything_can_find_something() {
    let action = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml")).unwrap();
    let steps: Vec<&str> = action.split("    - name: ").skip(1).collect();
    let names: Vec<&str> = steps.iter().filter_map(|step| step.lines().next()).collect();
    assert_eq!(
        names,
        [
            "What was asked for",
            "Which version",
            "What was built before",
            "Build",
            "Keep what was built",
            "Run",
            "To code scanning",
            "Result"
        ]
    );
    let uses = |step: &str| {
        let uses = step.lines().find_map(|line| line.trim().strip_prefix("uses: ")).unwrap_or_default();
        uses.split_once('@').map_or("", |(action, _)| action).to_owned()
    };
    assert_eq!(uses(steps[2]), "actions/cache/restore");
    assert_eq!(uses(steps[4]), "actions/cache/save");
    let path = "path: ${{ runner.temp }}/lockshift\n";
    let missed = "if: steps.cache.outputs.cache-hit != 'true'\n";
    assert!(steps[2].contains(path) && steps[4].contains(path));
    assert!(steps[3].contains(missed) && steps[4].contains(missed));
}

#[test]
fn the_build_is_of_this_checkout_and_pinned_by_its_lock_file() {
    let runner = Runner::new();
    assert_eq!(runner.run("Build", &[("ACTION_PATH", "/action")]), 0);
    assert_eq!(runner.said("rustup")[..3], ["toolchain", "install", "stable"]);
    let root = runner.at("lockshift").display().to_string();
    assert_eq!(
        runner.said("cargo")[..7],
        ["+stable", "install", "--locked", "--path", "/action", "--root", root.as_str()]
    );
    assert_eq!(runner.run("Build", &[("ACTION_PATH", "/action"), ("ENDS", "101")]), 101);
}

#[test]
fn the_key_of_what_is_kept_follows_the_source() {
    let runner = Runner::new();
    let action = runner.at("action");
    for file in ["Cargo.toml", "Cargo.lock", "src/main.rs", "docs/rules/a page.md", "docs/running.md"] {
        fs::create_dir_all(action.join(file).parent().unwrap()).unwrap();
        fs::write(action.join(file), file).unwrap();
    }
    let sum = || {
        assert_eq!(runner.run("Which version", &[("ACTION_PATH", action.to_str().unwrap())]), 0);
        let said = runner.output();
        let sum = said.trim_end().strip_prefix("sum=").unwrap_or_else(|| panic!("{said:?}")).to_owned();
        assert_eq!(sum.len(), 64, "{sum}");
        assert!(sum.chars().all(|c| c.is_ascii_hexdigit()), "{sum}");
        sum
    };
    let first = sum();
    fs::write(action.join("docs/running.md"), "another text, which is not in the program").unwrap();
    assert_eq!(sum(), first);
    fs::write(action.join("docs/rules/a page.md"), "another text").unwrap();
    let second = sum();
    assert_ne!(second, first);
    fs::write(action.join("src/main.rs"), "another program").unwrap();
    assert_ne!(sum(), second);
}
