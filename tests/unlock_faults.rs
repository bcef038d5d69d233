//! `unlock` and `audit --probe` before stores that do what no emulator does: refuse conditions, cut connections, are
//! interrupted in the middle of a write.
#![cfg(unix)]
#![cfg(test)]

mod support;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::double::{Double, Reply, Request};
use tempfile::TempDir;

const LOCK: &str = r#"{"ID":"1","Who":"a@b","Created":"2020-01-01T00:00:00Z","Path":"b/k"}"#;

fn lockshift(dir: &TempDir, double: &Double, arguments: &[&str]) -> Command {
    support::lockshift_at(dir.path(), &double.url(), arguments)
}

const UNLOCK: [&str; 6] = ["unlock", "s3://b/k", "--id", "1", "--no-table", "--yes"];

/// The lock, as S3 gives it.
fn held() -> Reply {
    Reply::Http(200, vec![("ETag".into(), "\"e\"".into())], LOCK.into())
}

fn error(status: u16, code: &str) -> Reply {
    Reply::Http(
        status,
        Vec::new(),
        format!("<Error><Code>{code}</Code><Message>no</Message></Error>").into_bytes(),
    )
}

/// A conditional delete of a key that is nobody's: how `unlock` asks whether conditions are checked.
fn is_question(request: &Request) -> bool {
    request.method == "DELETE" && request.key() != "k.tflock"
}

fn ran(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_store_that_refuses_conditional_deletes_loses_nothing() {
    let double = Double::start(|request| match request.method.as_str() {
        "DELETE" => Some(error(501, "NotImplemented")),
        "GET" if request.key() == "k.tflock" => Some(held()),
        _ => None,
    });
    let dir = TempDir::new().unwrap();
    let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
    assert_eq!((code, said.contains("refused unlock-store-unconditional")), (Some(1), true), "{said}");
    assert!(!double.seen().iter().any(|request| request.method == "DELETE" && !is_question(request)));
}

#[test]
fn every_delete_of_a_lock_carries_its_condition() {
    let gone = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&gone);
    let double = Double::start(move |request| match request.method.as_str() {
        "DELETE" if is_question(request) => Some(error(412, "PreconditionFailed")),
        "DELETE" => {
            there.store(true, Ordering::SeqCst);
            Some(Reply::Http(204, Vec::new(), Vec::new()))
        }
        "GET" if request.key() == "k.tflock" && !there.load(Ordering::SeqCst) => Some(held()),
        "GET" if request.key() == "k.tflock" => Some(error(404, "NoSuchKey")),
        _ => None,
    });
    let dir = TempDir::new().unwrap();
    let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
    assert_eq!(code, Some(0), "{said}");
    let deletes: Vec<Request> = double
        .seen()
        .into_iter()
        .filter(|request| request.method == "DELETE" && !is_question(request))
        .collect();
    assert_eq!(deletes.len(), 1);
    assert_eq!(deletes[0].header("if-match"), Some("\"e\""));
}

#[test]
fn a_delete_whose_answer_is_lost_is_told_by_what_is_there_afterwards() {
    let gone = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&gone);
    let double = Double::start(move |request| match request.method.as_str() {
        "DELETE" if is_question(request) => Some(error(412, "PreconditionFailed")),
        // Done, and the answer is cut off; asked again, it is gone.
        "DELETE" if !there.swap(true, Ordering::SeqCst) => Some(Reply::Cut),
        "DELETE" => Some(error(404, "NoSuchKey")),
        "GET" if request.key() == "k.tflock" && !there.load(Ordering::SeqCst) => Some(held()),
        "GET" if request.key() == "k.tflock" => Some(error(404, "NoSuchKey")),
        _ => None,
    });
    let dir = TempDir::new().unwrap();
    let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
    assert_eq!((code, said.contains("now: S3 holds no lock")), (Some(0), true), "{said}");
}

/// Starts a program, and interrupts it as soon as `when` has happened.
fn interrupted(mut child: Child, when: &AtomicBool) -> (Option<i32>, String) {
    while !when.load(Ordering::SeqCst) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn an_interrupt_during_the_delete_waits_until_it_is_known_what_was_done() {
    let (begun, gone) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (in_delete, there) = (Arc::clone(&begun), Arc::clone(&gone));
    let double = Double::start(move |request| match request.method.as_str() {
        "DELETE" if is_question(request) => Some(error(412, "PreconditionFailed")),
        "DELETE" => {
            in_delete.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1500));
            there.store(true, Ordering::SeqCst);
            Some(Reply::Http(204, Vec::new(), Vec::new()))
        }
        "GET" if request.key() == "k.tflock" && !there.load(Ordering::SeqCst) => Some(held()),
        "GET" if request.key() == "k.tflock" => Some(error(404, "NoSuchKey")),
        _ => None,
    });
    let dir = TempDir::new().unwrap();
    let record = dir.path().join("record.json");
    let mut command = lockshift(&dir, &double, &UNLOCK);
    command.args(["--record", "record.json"]).stdout(Stdio::piped());
    let (code, said) = interrupted(command.spawn().unwrap(), &begun);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("now: S3 holds no lock"), "{said}");
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    assert_eq!(record[0]["actions"][0]["result"], "removed");
}

#[test]
fn an_interrupted_probe_removes_what_it_wrote() {
    let begun = Arc::new(AtomicBool::new(false));
    let second = Arc::clone(&begun);
    let puts = Arc::new(std::sync::Mutex::new(0));
    let double = Double::start(move |request| match request.method.as_str() {
        "PUT" => {
            let mut puts = puts.lock().unwrap();
            *puts += 1;
            if *puts == 2 {
                second.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_secs(3));
            }
            Some(Reply::Http(200, vec![("ETag".into(), "\"p\"".into())], Vec::new()))
        }
        "DELETE" => Some(Reply::Http(204, Vec::new(), Vec::new())),
        "HEAD" if request.key().is_empty() => Some(Reply::Http(200, Vec::new(), Vec::new())),
        "HEAD" => Some(error(404, "NoSuchKey")),
        _ => None,
    });
    let dir = TempDir::new().unwrap();
    let arguments =
        ["audit", "--bucket", "b", "--probe", "--settle", "0", "--format", "json", "--fail-on", "never"];
    let mut command = lockshift(&dir, &double, &arguments);
    let (code, said) = interrupted(command.stdout(Stdio::piped()).spawn().unwrap(), &begun);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    let seen = double.seen();
    let key = seen.iter().find(|request| request.method == "PUT").unwrap().key().to_owned();
    assert!(key.starts_with("lockshift-probe/") && key.ends_with(".tflock"), "{key}");
    assert!(
        seen.iter().any(|request| request.method == "DELETE" && request.key() == key),
        "it is removed again"
    );
}

#[test]
fn a_refusal_names_the_action_that_the_role_lacks() {
    let dir = TempDir::new().unwrap();
    // The lock can be read, and not removed.
    let double = Double::start(|request| match request.method.as_str() {
        "DELETE" if is_question(request) => Some(error(412, "PreconditionFailed")),
        "DELETE" => Some(error(403, "AccessDenied")),
        "GET" if request.key() == "k.tflock" => Some(held()),
        _ => None,
    });
    let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the role lacks s3:DeleteObject"), "{said}");

    // Neither read nor listed.
    let double = Double::start(|_| Some(error(403, "AccessDenied")));
    let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("the role lacks s3:GetObject"), "{said}");

    // The item.
    let double = Double::start(|request| match request.target() {
        "GetItem" => Some(Reply::dynamodb_error("AccessDeniedException")),
        _ => Some(error(404, "NoSuchKey")),
    });
    let arguments = ["unlock", "s3://b/k", "--id", "1", "--table", "locks", "--yes"];
    let (code, said) = ran(&mut lockshift(&dir, &double, &arguments));
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("the role lacks dynamodb:GetItem"), "{said}");
}

#[test]
fn no_lock_on_a_state_that_is_not_there_is_told() {
    let dir = TempDir::new().unwrap();
    let run = |status: u16| {
        let double = Double::start(move |request| match request.method.as_str() {
            "HEAD" if request.key() == "k" => Some(Reply::Http(status, Vec::new(), Vec::new())),
            "GET" if request.key() == "k.tflock" => Some(error(404, "NoSuchKey")),
            _ => None,
        });
        let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
        (code, said, double.seen().iter().filter(|request| request.method == "HEAD").count())
    };
    let (code, said, heads) = run(404);
    assert_eq!((code, heads), (Some(1), 1), "{said}");
    assert!(said.contains("no lock is held, and there is no such state"), "{said}");
    let (code, said, heads) = run(200);
    assert_eq!((code, heads), (Some(0), 1), "{said}");
    assert!(said.ends_with("no lock is held: nothing to do\n"), "{said}");
    let (code, said, _) = run(403);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("could not be looked up: "), "{said}");
    // With a lock nobody asks for the state.
    let double = Double::start(|request| (request.key() == "k.tflock").then(held));
    let (_, said) = ran(&mut lockshift(&dir, &double, &["unlock", "s3://b/k", "--id", "2", "--no-table"]));
    assert!(said.contains("refused unlock-id-differs"), "{said}");
    assert!(double.seen().iter().all(|request| request.method != "HEAD"));
}

#[test]
fn the_size_of_what_is_no_lock_is_the_whole_size() {
    let double = Double::start(|request| {
        let headers = vec![("ETag".into(), "\"e\"".into())];
        (request.key() == "k.tflock").then(|| Reply::Http(200, headers, vec![b'x'; 200_009]))
    });
    let dir = TempDir::new().unwrap();
    let (code, said) = ran(&mut lockshift(&dir, &double, &UNLOCK));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is no lock document: 200009 bytes: no lock document is so large"), "{said}");
}
