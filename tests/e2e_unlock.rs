//! `unlock` against an emulator of S3 and DynamoDB, on locks that the real terraform made: left behind by a killed
//! apply, by `force-unlock` in the wrong mode, taken anew between reading and removing. What is left is read from the
//! stores, never taken from the program's own word.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use support::emulator::Emulator;
use support::root_module::{Mode, RootModule};
use tempfile::TempDir;

/// Both stores' lock IDs.
fn held(emulator: &Emulator, state_path: &str) -> (Option<String>, Option<String>) {
    let item = emulator.lock_in_dynamodb("locks", &format!("states/{state_path}"));
    (emulator.lock_in_s3("states", state_path), item)
}

fn unlock(dir: &Path, emulator: &Emulator, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = support::lockshift(dir, emulator);
    let Output { status, stdout, stderr } = command.arg("unlock").args(arguments).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    (status.code(), said)
}

#[test]
fn a_killed_apply_s_lock_goes_from_both_stores_and_is_recorded() {
    let (emulator, _alone) = Emulator::alone();
    let stack = RootModule::new("killed/terraform.tfstate", Mode::Dual);
    stack.init(&emulator);
    stack.apply(&emulator, "first");
    stack.hold(&emulator, "second").kill();
    let (s3, item) = held(&emulator, "killed/terraform.tfstate");
    let id = s3.clone().unwrap();
    assert_eq!(s3, item, "both hold the same lock");

    // Named by its directory: bucket, key and table come from the configuration.
    let top = stack.dir().parent().unwrap();
    let (code, said) = unlock(top, &emulator, &["app", "--id", &id, "--yes"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("refused unlock-too-young"), "{said}");
    let (code, said) = unlock(top, &emulator, &["app", "--id", "another", "--yes", "--even-if-young"]);
    assert_eq!((code, said.contains("unlock-id-differs")), (Some(1), true), "{said}");
    // Nobody is there to ask.
    let (code, said) = unlock(top, &emulator, &["app", "--id", &id, "--even-if-young"]);
    assert_eq!((code, said.contains("nobody is there to ask")), (Some(2), true), "{said}");
    let (code, said) = unlock(top, &emulator, &["app", "--id", &id, "--even-if-young", "--dry-run"]);
    assert_eq!((code, said.contains("would be removed from S3 and DynamoDB")), (Some(0), true), "{said}");
    assert_eq!(held(&emulator, "killed/terraform.tfstate"), (s3, item), "all of it only looked");

    let (code, said) =
        unlock(top, &emulator, &["app", "--id", &id, "--even-if-young", "--yes", "--record", "removed.json"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("now: S3 holds no lock, DynamoDB holds no lock"), "{said}");
    assert_eq!(held(&emulator, "killed/terraform.tfstate"), (None, None));
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(top.join("removed.json")).unwrap()).unwrap();
    let actions = record[0]["actions"].as_array().unwrap();
    let resources: Vec<&str> = actions.iter().map(|action| action["resource"].as_str().unwrap()).collect();
    assert_eq!(
        resources,
        ["s3://states/killed/terraform.tfstate.tflock", "dynamodb://locks/states/killed/terraform.tfstate"]
    );
    assert!(
        actions.iter().all(|action| action["result"] == "removed" && action["lock"]["ID"] == id.as_str())
    );
    assert!(record[0]["by"].as_str().unwrap().starts_with("tester@"));
    // And terraform goes on.
    stack.apply(&emulator, "third");
    // A second time there is nothing to do; the record of the first is not overwritten.
    let (code, said) = unlock(top, &emulator, &["app", "--id", &id, "--yes"]);
    assert_eq!((code, said.contains("nothing to do")), (Some(0), true), "{said}");
    let again = unlock(top, &emulator, &["app", "--id", &id, "--yes", "--record", "removed.json"]);
    assert_eq!(again.0, Some(2), "{}", again.1);
}

#[test]
fn one_side_is_left_by_force_unlock_in_the_wrong_mode() {
    let (emulator, _alone) = Emulator::alone();
    let mut stack = RootModule::new("split/terraform.tfstate", Mode::Dual).with_prefix("spaces", Mode::Dual);
    stack.init(&emulator);
    stack.in_workspace(&emulator, "blue");
    let path = stack.state_path();
    assert_eq!(path, "spaces/blue/split/terraform.tfstate");
    stack.apply(&emulator, "first");
    stack.hold(&emulator, "second").kill();
    let id = emulator.lock_in_s3("states", &path).unwrap();
    // A client that knows only the lockfile releases its own side and leaves the other: exit 0.
    stack.locks_with(Mode::Lockfile);
    stack.init(&emulator);
    stack.run(&emulator, &["force-unlock", "-force", &id]);
    assert_eq!(held(&emulator, &path), (None, Some(id.clone())));

    let state = format!("s3://states/{path}");
    let here = TempDir::new().unwrap();
    // Without a repository the table is not known, and never guessed.
    let (code, said) = unlock(here.path(), &emulator, &[&state, "--id", &id, "--yes"]);
    assert_eq!((code, said.contains("lock table is not known")), (Some(2), true), "{said}");
    let common = [state.as_str(), "--id", id.as_str(), "--table", "locks", "--even-if-young", "--yes"];
    let (code, said) = unlock(here.path(), &emulator, &common);
    assert_eq!((code, said.contains("unlock-one-sided")), (Some(1), true), "{said}");
    let (code, said) = unlock(here.path(), &emulator, &[&common[..], &["--only", "s3"]].concat());
    assert_eq!((code, said.contains("unlock-one-sided")), (Some(1), true), "{said}");
    assert_eq!(held(&emulator, &path), (None, Some(id.clone())));
    let (code, said) = unlock(here.path(), &emulator, &[&common[..], &["--only", "dynamodb"]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(held(&emulator, &path), (None, None));
}

#[test]
fn a_lock_that_is_taken_anew_between_reading_and_removing_survives() {
    let (emulator, _alone) = Emulator::alone();
    let stack = RootModule::new("race/terraform.tfstate", Mode::Dual);
    stack.init(&emulator);
    stack.apply(&emulator, "first");
    stack.hold(&emulator, "second").kill();
    let (Some(old), _) = held(&emulator, "race/terraform.tfstate") else { panic!() };

    let top = stack.dir().parent().unwrap().to_owned();
    let both = Asked::new(&top, &emulator, &["app", "--id", &old, "--even-if-young"]);
    let item_only =
        Asked::new(&top, &emulator, &["app", "--id", &old, "--even-if-young", "--only", "dynamodb"]);

    // While it asks, the lock's owner releases it and the next run takes the lock.
    stack.run(&emulator, &["force-unlock", "-force", &old]);
    let next = stack.hold(&emulator, "third");
    let (new, item) = held(&emulator, "race/terraform.tfstate");
    assert!(new.is_some() && new != Some(old) && new == item);

    let (code, said) = both.answer("y");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("kept s3://states/race/terraform.tfstate.tflock"), "{said}");
    assert!(said.contains("not-tried dynamodb://locks/states/race/terraform.tfstate"), "{said}");
    assert!(said.contains(&format!("now: S3 holds a lock {}", new.as_deref().unwrap())), "{said}");
    // The other side on its own: the condition of the table holds, too.
    let (code, said) = item_only.answer("y");
    assert_eq!((code, said.contains("kept dynamodb://locks/")), (Some(1), true), "{said}");
    assert_eq!(held(&emulator, "race/terraform.tfstate"), (new, item), "the new lock stays in both stores");
    assert!(next.finish(), "and its run comes to its end");
}

#[test]
fn a_no_removes_nothing_and_ctrl_c_at_the_question_neither() {
    let (emulator, _alone) = Emulator::alone();
    let lock = r#"{"ID":"1","Created":"2020-01-01T00:00:00Z","Path":"states/k"}"#;
    emulator.put("states", "k.tflock", lock);
    let here = TempDir::new().unwrap();
    let arguments = ["s3://states/k", "--id", "1", "--no-table", "--even-if-young"];
    let (code, said) = Asked::new(here.path(), &emulator, &arguments).answer("n");
    assert_eq!((code, said.contains("nothing was removed")), (Some(1), true), "{said}");
    // Ctrl-C, as a terminal sends it.
    let (code, said) = Asked::new(here.path(), &emulator, &arguments).answer("\u{3}");
    assert_ne!(code, Some(0), "{said}");
    assert_eq!(emulator.lock_in_s3("states", "k").as_deref(), Some("1"));
    let (code, said) = Asked::new(here.path(), &emulator, &arguments).answer("yes");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(emulator.lock_in_s3("states", "k"), None);
}

/// An `unlock` on a terminal, that has shown the lock and waits for an answer.
struct Asked {
    child: Child,
    said: String,
    stdout: ChildStdout,
}

impl Asked {
    /// `script` makes the terminal.
    fn new(dir: &Path, emulator: &Emulator, arguments: &[&str]) -> Self {
        let quoted: Vec<String> = arguments.iter().map(|argument| format!("'{argument}'")).collect();
        let line = format!("'{}' unlock {}", env!("CARGO_BIN_EXE_lockshift"), quoted.join(" "));
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]).current_dir(dir);
        let template = support::lockshift(dir, emulator);
        command.env_clear().envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("`script` (Debian's bsdutils) makes a terminal");
        let mut stdout = child.stdout.take().unwrap();
        let mut said = Vec::new();
        while !String::from_utf8_lossy(&said).contains("[y/N]") {
            let mut byte = [0];
            assert_eq!(stdout.read(&mut byte).unwrap(), 1, "it ended: {}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
        Self { child, said: String::from_utf8_lossy(&said).into_owned(), stdout }
    }

    fn answer(mut self, answer: &str) -> (Option<i32>, String) {
        let mut stdin = self.child.stdin.take().unwrap();
        stdin.write_all(format!("{answer}\n").as_bytes()).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), format!("{}{rest}", self.said))
    }
}

#[test]
fn an_audit_s_findings_are_released_each_judged_anew() {
    let (emulator, _alone) = Emulator::alone();
    let top = TempDir::new().unwrap();
    let stacks: Vec<RootModule> = ["one", "two"]
        .iter()
        .map(|name| RootModule::at(top.path(), name, &format!("{name}/terraform.tfstate"), Mode::Dual))
        .collect();
    for stack in &stacks {
        stack.init(&emulator);
        stack.hold(&emulator, "first").kill();
    }
    std::thread::sleep(Duration::from_secs(2));
    let mut audit = support::lockshift(top.path(), &emulator);
    audit.args(["audit", ".", "--format", "json", "--output", "audit.json"]);
    let audited = audit.args(["--stale-after", "1s", "--settle", "0"]).output().unwrap();
    assert_eq!(audited.status.code(), Some(1), "{}", String::from_utf8_lossy(&audited.stderr));
    // Meanwhile the second one is released, and another run holds the lock.
    let old = emulator.lock_in_s3("states", "two/terraform.tfstate").unwrap();
    stacks[1].run(&emulator, &["force-unlock", "-force", &old]);
    let running = stacks[1].hold(&emulator, "second");
    let new = held(&emulator, "two/terraform.tfstate");

    let arguments = ["--from-audit", "audit.json", "--rule", "lock-stale", "--yes", "--stale-after", "1s"];
    let wrong =
        unlock(top.path(), &emulator, &["--from-audit", "audit.json", "--rule", "lock-stael", "--yes"]);
    assert_eq!((wrong.0, wrong.1.contains("did you mean `lock-stale`?")), (Some(2), true), "{}", wrong.1);
    let (code, said) = unlock(top.path(), &emulator, &arguments);
    assert_eq!(code, Some(1), "one was refused: {said}");
    assert_eq!(held(&emulator, "one/terraform.tfstate"), (None, None), "{said}");
    assert!(said.contains("refused unlock-id-differs"), "{said}");
    assert_eq!(held(&emulator, "two/terraform.tfstate"), new, "the new run keeps its lock");

    // Whoever waits for it is told when it ends.
    let mut watch = support::lockshift(top.path(), &emulator);
    let mut watching = watch.args(["watch", "two", "--every", "1s"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    if let Some(ended) = watching.try_wait().unwrap() {
        let mut said = String::new();
        watching.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("it waits while the run is at work, and ended with {ended}: {said}");
    }
    assert!(running.finish());
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    let mut watch = support::lockshift(top.path(), &emulator);
    let free = watch.args(["watch", "two", "--every", "1s"]).output().unwrap();
    assert!(String::from_utf8_lossy(&free.stdout).ends_with("released\n"));
}

#[test]
fn what_terraform_can_t_remove_goes_when_it_is_named() {
    let (emulator, _alone) = Emulator::alone();
    emulator.put("states", "broken/a.tfstate.tflock", "");
    emulator.put_item("locks", "states/broken/a.tfstate", "Other", "x");
    let here = TempDir::new().unwrap();
    let state = ["s3://states/broken/a.tfstate", "--table", "locks", "--yes", "--even-if-young"];
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--id", "x"]].concat());
    assert_eq!((code, said.contains("unlock-unreadable-lock")), (Some(1), true), "{said}");
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--unreadable"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let gone = emulator.item("locks", "GetItem", "states/broken/a.tfstate");
    assert!(gone["Item"].is_null(), "{gone}");
    assert_eq!(emulator.lock_in_s3("states", "broken/a.tfstate"), None);
    // A bucket that is not there is not "free".
    let missing = ["s3://nowhere/k", "--no-table", "--yes", "--unreadable"];
    let (code, said) = unlock(here.path(), &emulator, &missing);
    assert_eq!((code, said.contains("NoSuchBucket")), (Some(3), true), "{said}");
    let table = ["s3://states/broken/a.tfstate", "--table", "nothere", "--yes", "--id", "x"];
    let (code, said) = unlock(here.path(), &emulator, &table);
    assert_eq!((code, said.contains("ResourceNotFoundException")), (Some(3), true), "{said}");
}

#[test]
fn a_stale_digest_is_set_right_and_terraform_goes_on() {
    let (emulator, _alone) = Emulator::alone();
    let stack = RootModule::new("digest/terraform.tfstate", Mode::Dynamodb);
    stack.init(&emulator);
    stack.apply(&emulator, "first");
    stack.locks_with(Mode::Lockfile);
    stack.init(&emulator);
    stack.apply(&emulator, "second");
    // Back to the table: terraform refuses the state, since the digest is the first apply's.
    stack.locks_with(Mode::Dual);
    let refused = support::run(&mut stack.terraform(&emulator, &["init", "-reconfigure", "-no-color"]));
    assert!(!refused.status.success());

    let state = ["s3://states/digest/terraform.tfstate", "--table", "locks", "--yes"];
    let here = TempDir::new().unwrap();
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--digest", "set"]].concat());
    assert_eq!(code, Some(0), "{said}");
    stack.init(&emulator);
    stack.run(&emulator, &["plan", "-no-color"]);
    // Right as it is: neither set again nor removed.
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--digest", "set"]].concat());
    assert_eq!((code, said.contains("nothing to do")), (Some(0), true), "{said}");
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--digest", "remove"]].concat());
    assert_eq!((code, said.contains("unlock-digest-right")), (Some(1), true), "{said}");
    // While a run holds the lock, nothing is touched.
    emulator.put_item("locks", "states/digest/terraform.tfstate-md5", "Digest", "0000");
    let running = {
        stack.locks_with(Mode::Lockfile);
        stack.init(&emulator);
        stack.hold(&emulator, "third")
    };
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--digest", "remove"]].concat());
    assert_eq!((code, said.contains("unlock-digest-locked")), (Some(1), true), "{said}");
    assert!(running.finish());
    let (code, said) = unlock(here.path(), &emulator, &[&state[..], &["--digest", "remove"]].concat());
    assert_eq!(code, Some(0), "{said}");
    let item = emulator.item("locks", "GetItem", "states/digest/terraform.tfstate-md5");
    assert!(item["Item"].is_null(), "{item}");
}
