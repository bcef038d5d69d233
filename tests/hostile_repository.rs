//! A repository that was made to do harm, before every command that reads one: nothing in it may make the program wait,
//! take all memory, run something, write elsewhere, or send credentials to somebody.
#![cfg(target_os = "linux")]
#![cfg(test)]

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::double::Double;
use support::tree::put;
use tempfile::TempDir;

/// Address space that a run may take. One thread and a debug build take a small part of it.
const MEMORY_KIB: usize = 2 * 1024 * 1024;

/// A run that has not ended by then waits for something that never comes.
const PATIENCE: Duration = Duration::from_secs(120);

struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{}{}", self.stdout, self.stderr))
    }
}

/// The program with little memory and without anything of the user's; stopped when it hangs.
fn lockshift(dir: &Path, args: &[&str]) -> Said {
    lockshift_with(dir, args, &[])
}

fn lockshift_with(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_lockshift"));
    command.args(args).current_dir(dir).env_clear();
    command.env("HOME", dir).env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_COLOR", "1");
    command
        .env("AWS_ACCESS_KEY_ID", "any")
        .env("AWS_SECRET_ACCESS_KEY", "any")
        .env("AWS_SESSION_TOKEN", "any");
    command.env("AWS_REGION", "us-east-1").env("AWS_EC2_METADATA_DISABLED", "true");
    command.envs(variables.iter().copied());
    let out = tempfile::tempfile().unwrap();
    let err = tempfile::tempfile().unwrap();
    command.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let begin = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{args:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Said { code, stdout: text(&out), stderr: text(&err) }
}

fn text(mut file: &fs::File) -> String {
    use std::io::{Read, Seek};
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A file that claims 10 GiB and takes no space.
fn sparse(path: &Path, head: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, head).unwrap();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10 << 30).unwrap();
}

/// Both locks, so that each command has something to do.
const MODULE: &str = "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {\n    bucket         = \"b\"\n    key            = \"k\"\n    region         = \"eu-west-1\"\n    dynamodb_table = \"t\"\n  }\n}\n";

/// The same with a table that a variable names, so that the directory's other files are read, too.
fn by_variable() -> String {
    MODULE.replace("\"t\"", "var.t") + "variable \"t\" {\n  default = \"t\"\n}\n"
}

const SCAN: &[&str] = &["scan", "--threads", "1", "--fail-on", "never", "--format", "json"];

fn problems(said: &Said) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let json = said.json();
    let problems = json["problems"].as_array().unwrap();
    problems.iter().map(|problem| (word(&problem["kind"]), word(&problem["place"]["file"]))).collect()
}

/// Files that are read beside the configuration itself.
const BESIDE: &[&str] = &[
    ".gitignore",
    ".ignore",
    "CODEOWNERS",
    ".github/CODEOWNERS",
    ".git/index",
    ".git/info/exclude",
    "terraform.tfvars",
    "x.auto.tfvars",
    "named.conf",
];

fn around(name: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join(".git/info")).unwrap();
    put(dir.path(), "main.tf", by_variable());
    put(dir.path(), "init.sh", "terraform init -backend-config=named.conf\n");
    if name != "named.conf" {
        put(dir.path(), "named.conf", "bucket = \"b\"\n");
    }
    fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
    dir
}

#[test]
fn pipes_and_devices_beside_the_configuration_are_passed_over() {
    for name in BESIDE {
        let dir = around(name);
        pipe(&dir.path().join(name));
        let said = lockshift(dir.path(), SCAN);
        assert!(matches!(said.code, Some(0 | 3)), "a pipe as {name}: {:?} {}", said.code, said.stderr);
        assert_eq!(said.json()["roots"][0]["path"], ".", "a pipe as {name}");

        let dir = around(name);
        symlink("/dev/zero", dir.path().join(name)).unwrap();
        let said = lockshift(dir.path(), SCAN);
        assert!(matches!(said.code, Some(0 | 3)), "zeros as {name}: {:?} {}", said.code, said.stderr);
        assert_eq!(said.json()["roots"][0]["path"], ".", "zeros as {name}");
    }
}

/// Files of the system that are regular ones by what it says of them, and whose readers may wait for ever.
const SHOWN_ONLY: [&str; 2] = ["/proc/kmsg", "/sys/kernel/uevent_seqnum"];

#[test]
fn what_the_system_shows_of_itself_is_not_read_beside_the_configuration() {
    let scan = ["scan", "--threads", "1", "--fail-on", "never", "--format", "json"];
    let plan = ["migrate", "--phase", "dual", "--format", "json"];
    for name in BESIDE.iter().chain(&["lockshift.toml"]) {
        for target in SHOWN_ONLY {
            let dir = around(name);
            symlink(target, dir.path().join(name)).unwrap();
            for run in [&scan[..], &plan] {
                let said = lockshift(dir.path(), run);
                let case = format!("{target} as {name}: {run:?} {}", said.stderr);
                if *name == "lockshift.toml" {
                    assert_eq!((said.code, said.stderr.contains("is not read")), (Some(2), true), "{case}");
                    continue;
                }
                assert!(matches!(said.code, Some(0 | 1 | 3)), "{case}");
                // What could hold settings is a problem, and then no edit is planned.
                if run == scan {
                    assert_eq!(said.json()["roots"][0]["path"], ".", "{case}");
                }
            }
        }
    }
}

#[test]
fn a_link_to_what_the_system_shows_of_itself_is_unreadable() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "a/main.tf", MODULE);
    for (link, target) in [
        ("a/x.tf", "/proc/kmsg"),
        ("b/x.tf", "/proc/self/../kmsg"),
        ("c/x.tf.json", "/sys/kernel/uevent_seqnum"),
        ("a/proc", "/proc"),
        ("sys", "/sys/kernel"),
        ("dev", "/dev/pts"),
    ] {
        fs::create_dir_all(dir.path().join(link).parent().unwrap()).unwrap();
        symlink(target, dir.path().join(link)).unwrap();
    }
    let said = lockshift(dir.path(), SCAN);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let expected = ["a/proc", "a/x.tf", "b/x.tf", "c/x.tf.json", "dev", "sys"];
    let expected: Vec<(String, String)> =
        expected.iter().map(|file| ("unreadable".to_owned(), (*file).to_owned())).collect();
    assert_eq!(problems(&said), expected);
    for problem in said.json()["problems"].as_array().unwrap() {
        let message = problem["message"].as_str().unwrap();
        assert!(message.contains("it lies where the system shows itself as files"), "{message}");
    }
    // Named by itself, and by a script that goes through the link.
    for start in ["a/proc", "a/x.tf", "sys", "/proc/self"] {
        let said = lockshift(dir.path(), &["scan", "--fail-on", "never", start]);
        assert_eq!(said.code, Some(3), "{start}: {}", said.stderr);
    }
    put(dir.path(), "d/main.tf", MODULE);
    put(dir.path(), "d/init.sh", "terraform init -backend-config=../a/proc/kmsg\n");
    let said = lockshift(dir.path(), SCAN);
    assert!(
        problems(&said).contains(&("unreadable".to_owned(), "a/proc/kmsg".to_owned())),
        "{}",
        said.stdout
    );
}

#[test]
fn a_file_that_the_user_names_is_not_read_through_a_link_to_what_never_ends() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "main.tf", MODULE);
    fs::create_dir(dir.path().join(".git")).unwrap();
    symlink("/proc/kmsg", dir.path().join("kmsg")).unwrap();
    symlink("/dev/zero", dir.path().join("zero")).unwrap();
    symlink("/dev", dir.path().join("devices")).unwrap();
    for file in ["kmsg", "zero", "devices/zero"] {
        let runs: [&[&str]; 5] = [
            &["scan", "--config", file],
            &["migrate", "--phase", "final", "--evidence", file],
            &["audit", "--snapshot", file],
            &["policy", "--existing-policy", file],
            &["unlock", "--from-audit", file],
        ];
        for run in runs {
            let said = lockshift(dir.path(), run);
            assert_eq!(said.code, Some(2), "{run:?}: {}", said.stderr);
        }
    }
}

#[test]
fn a_git_that_is_a_pipe_and_a_socket_among_the_files_change_nothing() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "main.tf", MODULE);
    pipe(&dir.path().join(".git"));
    let _socket = UnixListener::bind(dir.path().join("x.tf")).unwrap();
    let said = lockshift(dir.path(), SCAN);
    assert_eq!(said.json()["roots"][0]["backends"][0]["mode"], "dynamodb");
}

#[test]
fn a_configuration_that_is_no_file_is_an_error() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "main.tf", MODULE);
    let file = dir.path().join("lockshift.toml");
    for (what, make) in [
        ("pipe", pipe as fn(&Path)),
        ("zeros", |path| symlink("/dev/zero", path).unwrap()),
        ("sparse", |path| sparse(path, "")),
    ] {
        make(&file);
        for command in [&["scan"][..], &["migrate", "--phase", "dual"], &["audit", "."], &["policy"]] {
            let said = lockshift(dir.path(), command);
            assert_eq!(said.code, Some(2), "{what}, {command:?}: {}", said.stderr);
            assert!(said.stderr.contains("lockshift.toml"), "{what}, {command:?}: {}", said.stderr);
        }
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn huge_files_are_said_and_never_read_whole() {
    for name in ["main.tf", "override.tf", "named.conf", "terraform.tfvars", "x.auto.tfvars", "other.tf"] {
        let dir = around(name);
        let head =
            if name == "named.conf" { "dynamodb_table = \"u\"\n" } else { "# backend dynamodb_table\n" };
        sparse(&dir.path().join(name), head);
        let said = lockshift(dir.path(), SCAN);
        assert_eq!(said.code, Some(3), "{name}: {}{}", said.stdout, said.stderr);
        let expected = ("too-large".to_owned(), name.to_owned());
        assert!(problems(&said).contains(&expected), "{name}: {:?}", problems(&said));
        let said = lockshift(dir.path(), &["migrate", "--phase", "dual", "--write"]);
        assert!(matches!(said.code, Some(1 | 3)), "{name}: {:?} {}", said.code, said.stderr);
        if name != "main.tf" {
            assert_eq!(fs::read_to_string(dir.path().join("main.tf")).unwrap(), by_variable(), "{name}");
        }
    }
}

/// A variable's value that could be given elsewhere is not known where that can't be read.
#[test]
fn a_default_does_not_stand_in_for_a_file_that_was_not_read() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "main.tf", by_variable());
    let mode = |dir: &Path| lockshift(dir, SCAN).json()["roots"][0]["backends"][0]["mode"].clone();
    assert_eq!(mode(dir.path()), "dynamodb");
    sparse(&dir.path().join("terraform.tfvars"), "t = null\n");
    assert_eq!(mode(dir.path()), "unknown");
}

#[test]
fn four_thousand_levels_end() {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let dir = TempDir::new().unwrap();
    put(dir.path(), "main.tf", MODULE);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(dir.path(), flags, Mode::empty()).unwrap();
    for _ in 0..4000 {
        mkdirat(&at, "d", Mode::from_raw_mode(0o755)).unwrap();
        at = openat(&at, "d", flags, Mode::empty()).unwrap();
    }
    let said = lockshift(dir.path(), SCAN);
    // Paths have an end before the tree has: what lies behind was not read, and that is said.
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert_eq!(said.json()["roots"][0]["backends"][0]["mode"], "dynamodb");
    assert_eq!(problems(&said).iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>(), ["unreadable"]);
    // The library that removes the directory keeps one descriptor open for each level.
    assert!(Command::new("rm").arg("-rf").arg(dir.path().join("d")).status().unwrap().success());
}

/// Names of files that lead out of the repository: read as Terraform would read them, never written.
#[test]
fn what_lies_outside_is_never_written() {
    let outer = TempDir::new().unwrap();
    let settings =
        "bucket         = \"b\"\nkey            = \"k\"\nregion         = \"r\"\ndynamodb_table = \"t\"\n";
    put(outer.path(), "outside/x.conf", settings);
    let grunt = "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket         = \"b\"\n    key            = \"g\"\n    dynamodb_table = \"t\"\n  }\n}\n";
    put(outer.path(), "outside/terragrunt.hcl", grunt);
    put(outer.path(), "outside/module/main.tf", MODULE);
    let repository = outer.path().join("repository");
    put(&repository, "a/main.tf", "terraform {\n  required_version = \">= 1.11\"\n  backend \"s3\" {}\n}\n");
    put(&repository, "a/init.sh", "terraform init -backend-config=../../outside/x.conf\n");
    put(&repository, "etc/init.sh", "terraform init -backend-config=../../../../../../../../etc/passwd\n");
    put(
        &repository,
        "g/terragrunt.hcl",
        "include \"up\" {\n  path = \"../../outside/terragrunt.hcl\"\n}\ninclude \"etc\" {\n  path = \"../../../../../../../etc/passwd\"\n}\n",
    );
    symlink("../../outside/module", repository.join("linked")).unwrap();
    symlink("../outside/module/main.tf", repository.join("main.tf")).unwrap();
    let before: Vec<String> =
        ["x.conf", "terragrunt.hcl", "module/main.tf"].iter().map(|name| read(outer.path(), name)).collect();
    let said = lockshift(&repository, &["migrate", "--phase", "dual", "--write"]);
    assert!(matches!(said.code, Some(1 | 3)), "{:?} {}", said.code, said.stderr);
    let after: Vec<String> =
        ["x.conf", "terragrunt.hcl", "module/main.tf"].iter().map(|name| read(outer.path(), name)).collect();
    assert_eq!(before, after, "{}", said.stderr);
    assert_eq!(fs::read_dir(outer.path().join("outside")).unwrap().count(), 3);
}

fn read(outer: &Path, name: &str) -> String {
    fs::read_to_string(outer.join("outside").join(name)).unwrap()
}

const POLICY: [&str; 6] = [
    "policy",
    "--runner",
    "arn:aws:iam::111122223333:role/runner",
    "--state-admin",
    "arn:aws:iam::111122223333:role/admin",
    "--out-dir",
];

#[test]
fn results_are_not_written_through_links_that_the_repository_holds() {
    let outer = TempDir::new().unwrap();
    let repository = outer.path().join("repository");
    put(&repository, "main.tf", MODULE.replace("\"b\"", "\"states\""));
    put(outer.path(), "victim", "mine\n");
    for name in ["out.json", "all.patch", "pr/all.patch", "pr/all.md", "init.sh"] {
        fs::create_dir_all(repository.join(name).parent().unwrap()).unwrap();
        symlink(outer.path().join("victim"), repository.join(name)).unwrap();
    }
    symlink(outer.path().join("nothing-yet"), repository.join("new.json")).unwrap();
    let runs: [&[&str]; 6] = [
        &["scan", "--output", "out.json"],
        &["scan", "--output", "new.json"],
        &["migrate", "--phase", "dual", "--output", "all.patch"],
        &["migrate", "--phase", "dual", "--pr-dir", "pr"],
        &["migrate", "--phase", "dual", "--reinit", "init.sh"],
        &["audit", "--bucket", "b", "--save-snapshot", "out.json"],
    ];
    for run in runs {
        let said = lockshift(&repository, run);
        assert_eq!(said.code, Some(2), "{run:?}: {}", said.stderr);
        assert!(said.stderr.contains("it is a link to"), "{run:?}: {}", said.stderr);
    }
    assert_eq!(fs::read_to_string(outer.path().join("victim")).unwrap(), "mine\n");
    assert!(!outer.path().join("nothing-yet").exists());
    // Directories lead elsewhere as well, and a device would take what is written.
    fs::create_dir(outer.path().join("elsewhere")).unwrap();
    symlink("../elsewhere", repository.join("link")).unwrap();
    symlink("/dev/null", repository.join("device")).unwrap();
    put(outer.path(), "policy.json", "{}\n");
    let runs: [&[&str]; 12] = [
        &["scan", "--output", "link/out.json"],
        &["scan", "--output", "device"],
        &["audit", "--bucket", "b", "--write-baseline", "link/b.json"],
        &["migrate", "--phase", "dual", "--output", "link/all.patch"],
        &["migrate", "--phase", "dual", "--pr-dir", "link"],
        &["migrate", "--phase", "dual", "--pr-dir", "./link/below"],
        &["migrate", "--phase", "dual", "--reinit", "link/init.sh"],
        &["audit", "--bucket", "b", "--save-snapshot", "link/out.json"],
        &[&POLICY[..], &["link"]].concat(),
        &[&POLICY[..], &["link/below"]].concat(),
        &[&POLICY[..], &["out"]].concat(),
        &["man", "--dir", "link/man"],
    ];
    fs::create_dir(repository.join("out")).unwrap();
    symlink(outer.path().join("victim"), repository.join("out/states.runner.json")).unwrap();
    for run in runs {
        let said = lockshift(&repository, run);
        assert_eq!(said.code, Some(2), "{run:?}: {}", said.stderr);
        assert!(said.stderr.contains(" is a link to "), "{run:?}: {}", said.stderr);
    }
    assert_eq!(fs::read_dir(outer.path().join("elsewhere")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(outer.path().join("victim")).unwrap(), "mine\n");
    // From elsewhere the repository's links are its own all the same, where it is one.
    fs::create_dir(repository.join(".git")).unwrap();
    let through = repository.join("link/out.json");
    let said = lockshift(outer.path(), &["scan", "repository", "--output", through.to_str().unwrap()]);
    assert_eq!((said.code, said.stderr.contains(" is a link to ")), (Some(2), true), "{}", said.stderr);
    fs::remove_dir(repository.join(".git")).unwrap();
    // A device is no file, and a directory is none either.
    let said = lockshift(&repository, &["scan", "--output", "/dev/stdout", "--format", "json"]);
    assert_eq!((said.code, said.json()["roots"][0]["path"].as_str()), (Some(1), Some(".")));
    assert_eq!(lockshift(&repository, &["scan", "--output", "/dev/null"]).code, Some(1));
    let said = lockshift(&repository, &["scan", "--output", "pr"]);
    assert_eq!((said.code, said.stderr.contains("could not write pr")), (Some(2), true), "{}", said.stderr);
}

/// `0.0.0.0` leads to this machine, too, and does not look like it.
fn elsewhere(double: &Double) -> String {
    double.url().replace("127.0.0.1", "0.0.0.0")
}

#[test]
fn endpoints_that_only_the_repository_names_get_no_request() {
    let double = Double::start(|_| None);
    let url = elsewhere(&double);
    let mut asked = 0;
    let by_backend = MODULE.replace(
        "    region ",
        &format!(
            "    endpoints = {{\n      s3       = \"{url}\"\n      dynamodb = \"{url}\"\n    }}\n    region "
        ),
    );
    let toml = format!("[buckets.b]\nendpoint = \"{url}\"\ndynamodb_endpoint = \"{url}\"\n");
    for (what, files) in [
        ("backend", vec![("main.tf", by_backend.as_str())]),
        ("lockshift.toml", vec![("main.tf", MODULE), ("lockshift.toml", toml.as_str())]),
    ] {
        let dir = TempDir::new().unwrap();
        for (name, text) in files {
            put(dir.path(), name, text);
        }
        let runs: [&[&str]; 4] = [
            &["audit", ".", "--settle", "0", "--format", "json"],
            &["audit", ".", "--settle", "0", "--format", "json", "--probe"],
            &["unlock", ".", "--id", "1", "--yes"],
            &["watch", "."],
        ];
        for run in runs {
            let said = lockshift(dir.path(), run);
            assert_ne!(said.code, Some(0), "{what}, {run:?}: {}{}", said.stdout, said.stderr);
            let text = format!("{}{}", said.stdout, said.stderr);
            assert!(text.contains(&format!("--trust-endpoint {url}")), "{what}, {run:?}: {text}");
        }
        assert_eq!(double.seen().len(), asked, "{what}");
        let trusted = ["audit", ".", "--settle", "0", "--format", "json", "--trust-endpoint", &url];
        let said = lockshift(dir.path(), &trusted);
        assert_eq!(said.json()["unread"], serde_json::json!([]), "{what}: {}", said.stderr);
        assert!(double.seen().len() > asked, "{what}");
        asked = double.seen().len();
    }
}

/// A region becomes a part of a host's name.
#[test]
fn a_region_leads_to_no_other_host() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "main.tf", MODULE.replace("eu-west-1", "example.com/"));
    let said = lockshift(dir.path(), &["audit", ".", "--settle", "0", "--iam", "--format", "json"]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    let json = said.json();
    for unread in json["unread"].as_array().unwrap() {
        assert!(unread["reason"].as_str().unwrap().contains("is no region"), "{unread}");
    }
    assert_eq!(json["stats"]["requests"], serde_json::json!({}));
}

/// Everything in a repository that makes git run programs, before every command that asks git something.
#[test]
fn git_runs_nothing_that_the_repository_names() {
    use std::os::unix::fs::PermissionsExt;
    let outer = TempDir::new().unwrap();
    let repository = outer.path().join("repository");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&repository).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(command.args(args).output().unwrap().status.success(), "{args:?}");
    };
    put(
        &repository,
        "main.tf",
        MODULE.replace("    dynamodb_table", "    use_lockfile   = true\n    dynamodb_table"),
    );
    put(&repository, ".gitattributes", "* diff=trap filter=trap merge=trap\n");
    // The directory of the repository lies elsewhere, and a file says so.
    let elsewhere = outer.path().join("elsewhere");
    git(&["init", "-q", "--separate-git-dir", elsewhere.to_str().unwrap()]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "all"]);
    let (trap, sprung) = (outer.path().join("trap"), outer.path().join("sprung"));
    fs::write(&trap, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexec cat\n", sprung.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    for hook in
        ["post-checkout", "post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"]
    {
        fs::copy(&trap, elsewhere.join("hooks").join(hook)).unwrap();
    }
    let trap = trap.to_str().unwrap();
    for key in [
        "core.pager",
        "pager.log",
        "core.fsmonitor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "core.editor",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "filter.trap.smudge",
        "filter.trap.clean",
        "filter.trap.process",
        "merge.trap.driver",
        "gpg.program",
        "credential.helper",
    ] {
        git(&["config", key, trap]);
    }
    for alias in ["log", "grep", "rev-parse", "for-each-ref"] {
        git(&["config", &format!("alias.{alias}"), &format!("!{trap}")]);
    }
    git(&["config", "log.showSignature", "true"]);
    let runs: [&[&str]; 5] = [
        &["scan"],
        &["migrate", "--phase", "final"],
        &["migrate", "--phase", "final", "--waive", "soak-too-short=test", "--pr-dir", "../pr"],
        &["migrate", "--phase", "rollback", "--write"],
        &["audit", ".", "--settle", "0", "--endpoint-url", "http://127.0.0.1:9"],
    ];
    for run in runs {
        let said = lockshift(&repository, run);
        assert!(said.code.is_some_and(|code| code <= 3), "{run:?}: {}", said.stderr);
        let ran = fs::read_to_string(&sprung).unwrap_or_default();
        assert_eq!(ran, "", "{run:?}");
    }
}

/// A repository with a history, whose git waits for ever where it is not ended.
fn waiting(what: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir.path()).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    put(
        dir.path(),
        "main.tf",
        MODULE.replace("    dynamodb_table", "    use_lockfile   = true\n    dynamodb_table"),
    );
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "all"]);
    let trap = dir.path().join(".git/trap");
    match what {
        "a blob" => {
            let id = git(&["rev-parse", "HEAD:main.tf"]);
            let (start, end) = id.trim().split_at(2);
            let blob = dir.path().join(".git/objects").join(start).join(end);
            fs::remove_file(&blob).unwrap();
            pipe(&blob);
        }
        "diff.orderFile" => drop(git(&["config", what, "/dev/zero"])),
        "include.path" | "core.excludesFile" | "core.attributesFile" | "mailmap.file" => {
            pipe(&trap);
            git(&["config", what, trap.to_str().unwrap()]);
        }
        file => {
            let _ = fs::remove_file(dir.path().join(file));
            pipe(&dir.path().join(file));
        }
    }
    dir
}

const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "n"),
    ("GIT_AUTHOR_EMAIL", "e@example.com"),
    ("GIT_COMMITTER_NAME", "n"),
    ("GIT_COMMITTER_EMAIL", "e@example.com"),
];

const PAST: [&str; 6] = ["scan", "--history", "--fail-on", "never", "--format", "json"];

/// Programs that are at work in a directory.
fn at_work(dir: &Path) -> Vec<String> {
    let dir = dir.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    let lines = processes.filter_map(|path| fs::read(path).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).filter(|line| line.contains(dir)).collect()
}

#[test]
fn a_git_that_never_answers_is_ended_and_what_it_would_have_said_is_unknown() {
    let late = |command: &str| format!("`git {command}` did not answer within 1 s and was ended");
    let cases = [
        (".git/HEAD", "rev-parse", "rev-parse", "rev-parse"),
        (".git/config", "rev-parse", "rev-parse", "rev-parse"),
        (".git/packed-refs", "rev-parse", "grep", "rev-parse"),
        (".git/commondir", "rev-parse", "rev-parse", "rev-parse"),
        (".git/objects/info/alternates", "rev-list", "grep", "rev-parse"),
        (".git/refs/heads/main", "rev-parse", "grep", "rev-parse"),
        ("a blob", "cat-file", "grep", "worktree add"),
        ("include.path", "rev-parse", "rev-parse", "rev-parse"),
    ];
    let variables: Vec<(&str, &str)> = AUTHOR.into_iter().chain([("LOCKSHIFT_GIT_TIMEOUT", "1")]).collect();
    let case = |(what, past, history, commit): (&str, &str, &str, &str)| {
        let dir = waiting(what);
        let said = lockshift_with(dir.path(), &PAST, &variables);
        let unknown = said.json()["history_unknown"].as_str().unwrap_or_default().to_owned();
        assert!(unknown.starts_with(&late(past)), "{what}: {unknown}");
        let said = lockshift_with(dir.path(), &["migrate", "--phase", "final"], &variables);
        assert_eq!(said.code, Some(1), "{what}: {}", said.stderr);
        assert!(said.stderr.contains(&late(history)), "{what}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{what}");
        let said = lockshift_with(dir.path(), &["migrate", "--phase", "rollback", "--commit"], &variables);
        assert_eq!(said.code, Some(2), "{what}: {}", said.stderr);
        assert!(said.stderr.contains(&late(commit)), "{what}: {}", said.stderr);
        assert_eq!(at_work(dir.path()), [""; 0], "{what}");
    };
    std::thread::scope(|scope| {
        for it in cases {
            scope.spawn(move || case(it));
        }
    });
    // A file that we read ourselves.
    let dir = waiting(".git/shallow");
    let said = lockshift_with(dir.path(), &["migrate", "--phase", "final"], &variables);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("where the history ends could not be read"), "{}", said.stderr);
    // What a pull request says of branches.
    let args = ["migrate", "--phase", "final", "--waive", "soak-too-short=test", "--pr-dir", "pr"];
    let dir = waiting(".git/packed-refs");
    let said = lockshift_with(dir.path(), &args, &variables);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let body = fs::read_to_string(dir.path().join("pr/all.md")).unwrap();
    assert!(body.contains("Which branches have commits that are not merged is not known"), "{body}");
}

#[test]
fn files_that_no_answer_depends_on_are_not_waited_for() {
    for what in [".mailmap", "mailmap.file", "core.excludesFile", "diff.orderFile", "core.attributesFile"] {
        let dir = waiting(what);
        let said = lockshift_with(dir.path(), &PAST, &AUTHOR);
        assert_eq!(said.json()["history"][0]["modes"]["dual"], 1, "{what}: {}", said.stderr);
        let said = lockshift_with(dir.path(), &["migrate", "--phase", "final"], &AUTHOR);
        assert!(said.stderr.contains("soak-too-short"), "{what}: {}", said.stderr);
        assert!(!said.stderr.contains("answer"), "{what}: {}", said.stderr);
        if what != "core.attributesFile" {
            let said = lockshift_with(dir.path(), &["migrate", "--phase", "rollback", "--commit"], &AUTHOR);
            assert_eq!(said.code, Some(0), "{what}: {}", said.stderr);
        }
    }
}

#[test]
fn the_time_for_an_answer_is_a_number_of_seconds() {
    let dir = around("named.conf");
    for wrong in ["soon", "0", "-1", "1.5"] {
        let said = lockshift_with(dir.path(), SCAN, &[("LOCKSHIFT_GIT_TIMEOUT", wrong)]);
        assert_eq!(said.code, Some(2), "{wrong}");
        assert!(said.stderr.contains(&format!("LOCKSHIFT_GIT_TIMEOUT: `{wrong}` is no number of seconds")));
    }
}

#[test]
fn lines_of_files_that_lie_elsewhere_are_not_shown() {
    let outer = TempDir::new().unwrap();
    put(outer.path(), "elsewhere/private", "terraform { backend \"s3\" { # first line of mine\n");
    put(outer.path(), "elsewhere/module/main.tf", "terraform { backend \"s3\" { # second line of mine\n");
    put(outer.path(), "elsewhere/of.tfbackend", "third line of mine {\n");
    let dir = outer.path().join("repository");
    put(&dir, ".git/config", "terraform { backend \"s3\" { # fourth line of mine\n");
    put(&dir, "own/broken.tf", "terraform { backend \"s3\" { # line of its own\n");
    put(&dir, "run.sh", "terraform init -backend-config=../elsewhere/of.tfbackend\n");
    put(&dir, "main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    symlink("../elsewhere/private", dir.join("x.tf")).unwrap();
    symlink("../elsewhere/module", dir.join("module")).unwrap();
    symlink(".git/config", dir.join("y.tf")).unwrap();
    symlink("own/broken.tf", dir.join("z.tf")).unwrap();
    for arguments in [&["scan", "--fail-on", "never"][..], &["scan", "--fail-on", "never", "x.tf"]] {
        let said = lockshift(&dir, arguments);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert_eq!(said.code, Some(3), "{all}");
        assert!(all.contains("x.tf:1"), "{all}");
        assert!(!all.contains("of mine"), "{arguments:?}: {all}");
        // A link to what was asked for itself is no way out.
        assert!(all.contains("# line of its own"), "{arguments:?}: {all}");
    }
    symlink("../elsewhere/private", dir.join("lockshift.toml")).unwrap();
    let said = lockshift(&dir, &["scan"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("lockshift.toml:1"), "{}", said.stderr);
    assert!(said.stderr.contains("(not shown: the file lies outside of the repository)"), "{}", said.stderr);
    assert!(!said.stderr.contains("of mine"), "{}", said.stderr);
}
