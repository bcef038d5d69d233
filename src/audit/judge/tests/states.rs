//! Digests, and which states there are.

use crate::audit::expected::Unplaced;
use crate::audit::judge::testing::*;
use crate::audit::snapshot::{Md5, Settled, Unread};
use crate::finding::Severity::{High, Info, Low, Medium};
use crate::repo::inventory::LockMode::{self, Dual, Dynamodb, Lockfile};
use crate::repo::text::Place;

fn digested(mode: LockMode, hex: Option<&str>) -> Scene {
    Scene::of(mode).with(|scene| scene.table().items = vec![digest(hex)])
}

fn gone(scene: Scene) -> Scene {
    scene.with(|scene| {
        scene.bucket().states.clear();
        scene.bucket().history.clear();
    })
}

fn verdict(scene: &Scene) -> String {
    scene.report().digest.verdict
}

#[test]
fn a_digest_that_is_not_the_states() {
    let stale = |mode| digested(mode, Some(OTHER_MD5));
    assert_says("dual", &stale(Dual), &[("digest-stale", High)]);
    assert_says("table", &stale(Dynamodb), &[("digest-stale", High)]);
    assert_says("lockfile, read by others", &stale(Lockfile), &[("digest-stale", Medium)]);
    let alone = stale(Lockfile).with(|scene| scene.expected.tables_mentioned.clear());
    assert_says("lockfile alone", &alone, &[("table-unreferenced", Low), ("digest-stale", Low)]);
    assert_eq!(verdict(&stale(Dual)), "stale");
    assert_says("upper case", &digested(Dual, Some(&MD5.to_uppercase())), &[]);
    let finding = stale(Dual).finding("digest-stale");
    assert_eq!(
        finding.commands,
        [format!(
            "aws dynamodb delete-item --table-name t --region eu-west-1 --key '{{\"LockID\":{{\"S\":\"b/app/s-md5\"}}}}' \
             --condition-expression 'Digest = :seen' --expression-attribute-values '{{\":seen\":{{\"S\":\"{OTHER_MD5}\"}}}}'"
        )]
    );
}

#[test]
fn a_digest_that_is_being_written_is_not_compared() {
    let written = |age| {
        digested(Dual, Some(OTHER_MD5)).with(|scene| {
            scene.bucket().states = vec![state(PATH, age)];
            let history = scene.bucket().history.get_mut(PATH).unwrap();
            history.locks.push(held(age + 1, Some(age - 1)));
            history.writes.push(write(age));
        })
    };
    assert_eq!(verdict(&written(60)), "not-comparable");
    assert_eq!(verdict(&written(121)), "stale");
    let settled = written(60).with(|scene| scene.table().items[0].settled = Settled::Same);
    assert_eq!(verdict(&settled), "stale");
    let busy = digested(Dual, Some(OTHER_MD5)).s3(lock("1", 30)).item(lock("1", 30));
    assert_says("busy", &busy, &[]);
    assert_eq!(verdict(&busy), "not-comparable");
}

#[test]
fn a_digest_that_is_not_to_be_compared_is_no_finding() {
    let encrypted = digested(Dual, Some(OTHER_MD5)).with(|scene| scene.bucket().states[0].md5 = None);
    assert_says("no MD5", &encrypted, &[]);
    assert_eq!(verdict(&encrypted), "not-comparable");
    assert!(encrypted.report().digest.reason.is_some());
    let read = encrypted.with(|scene| scene.bucket().states[0].md5 = Some(Md5::Body(OTHER_MD5.into())));
    assert_eq!(verdict(&read), "matches");
}

#[test]
fn a_digest_that_is_missing() {
    let none = || Scene::of(Dual).with(|scene| scene.table().items.clear());
    assert_says("missing", &none(), &[("digest-missing", Info)]);
    assert_eq!(verdict(&none()), "missing");
    assert_says("no state", &gone(none()), &[]);
    assert_says("table not read", &none().with(|scene| scene.table().complete = false), &[]);
    assert_says("no table", &Scene::of(Lockfile), &[]);
    assert_eq!(verdict(&Scene::of(Lockfile)), "none");
    let released = digested(Dual, Some(MD5)).with(|scene| scene.table().items[0].settled = Settled::Gone);
    assert_says("gone meanwhile", &released, &[]);
}

#[test]
fn a_digest_that_is_malformed() {
    for hex in [None, Some(""), Some("xyz"), Some("5d41402abc4b2a76b9719d911017c59"), Some("é")] {
        assert_says("malformed", &digested(Dual, hex), &[("digest-malformed", Low)]);
    }
    assert_eq!(verdict(&digested(Dual, None)), "malformed");
    assert_says("good", &digested(Dual, Some(MD5)), &[]);
}

#[test]
fn a_digest_without_a_state() {
    let bare = |mode| gone(digested(mode, Some(MD5)));
    assert_says("dual", &bare(Dual), &[("digest-without-state", High)]);
    assert_says("lockfile", &bare(Lockfile), &[("digest-without-state", Low)]);
    assert_eq!(verdict(&bare(Dual)), "orphan");
    assert_says("half a listing", &bare(Dual).with(|scene| scene.bucket().complete = false), &[]);
    let busy = bare(Dual).s3(lock("1", 30)).item(lock("1", 30));
    assert_says("first apply", &busy, &[("lock-without-state", Info)]);
    let workspace = Scene::of(Dual).with(|scene| {
        let mut item = digest(Some(MD5));
        item.lock_id = "b/env:/w/app/s-md5".into();
        scene.table().items.push(item);
    });
    assert_says("a deleted workspace", &workspace, &[("digest-without-state", Medium)]);
}

#[test]
fn a_digest_that_is_left_over() {
    assert_says("lockfile", &digested(Lockfile, Some(MD5)), &[("digest-leftover", Low)]);
    assert_says("dual", &digested(Dual, Some(MD5)), &[]);
}

#[test]
fn a_state_may_end_as_a_digest_does() {
    let scene = Scene::of(Dynamodb).with(|scene| {
        let mut item = lock("1", 60).item();
        item.lock_id = "b/app/x-md5".into();
        scene.table().items.push(item);
        scene.also("app/x-md5");
        scene.expected.states.push(backend("envs/x", "app/x-md5", Dynamodb));
    });
    let states = scene.judge().states;
    let x = states.iter().find(|state| state.state_path == "app/x-md5").unwrap();
    assert!(x.locks.dynamodb.is_some());
    assert!(states.iter().all(|state| state.state_path != "app/x"));
}

#[test]
fn states_come_from_repositories_buckets_and_tables() {
    let scene = Scene::of(Dual).with(|scene| {
        scene.expected.states.push(backend("envs/new", "new/s", Dual));
        scene.also("env:/w/app/s");
        let mut item = lock("1", 60).item();
        item.lock_id = "elsewhere/y".into();
        scene.table().items.push(item);
    });
    let states = scene.judge().states;
    let paths: Vec<(&str, &str, LockMode, Option<bool>)> = states
        .iter()
        .map(|state| (state.bucket.as_str(), state.state_path.as_str(), state.mode, state.exists))
        .collect();
    assert_eq!(
        paths,
        [
            ("b", "app/s", Dual, Some(true)),
            ("b", "env:/w/app/s", Dual, Some(true)),
            ("b", "new/s", Dual, Some(false)),
            ("elsewhere", "y", LockMode::Unknown, None),
        ]
    );
    assert_eq!(states[0].last_written, Some(ago(10 * DAY)));
    assert_eq!(states[1].workspace.as_deref(), Some("w"));
    assert_eq!(states[3].mode_unknown.as_deref(), Some("no repository names this state"));
}

#[test]
fn root_modules_that_disagree_make_no_mode() {
    let scene = Scene::of(Dual).item(lock("1", 600)).with(|scene| {
        scene.expected.states.push(backend("envs/b", PATH, Lockfile));
    });
    let report = scene.report();
    assert_eq!(report.mode, LockMode::Unknown);
    assert_eq!(
        report.mode_unknown.as_deref(),
        Some("root modules disagree: `envs/app` says dual, `envs/b` says lockfile")
    );
    assert_eq!(report.roots, ["envs/app", "envs/b"]);
    assert_says("no split is said", &scene, &[]);
}

#[test]
fn what_nobody_can_vouch_for_is_unread() {
    let resources = |scene: &Scene| -> Vec<String> {
        let unread = scene.judge().unread;
        assert!(unread.iter().all(|entry| entry.hides_locks));
        unread.into_iter().map(|entry| entry.resource).collect()
    };
    assert!(resources(&Scene::of(Dual)).is_empty());
    let unplaced = Scene::of(Dual).with(|scene| {
        scene.expected.unplaced.push(Unplaced {
            root: "envs/x".into(),
            why: "`key` is not known: var.key".into(),
            place: Place { file: "envs/x/main.tf".into(), line: 1, column: 1 },
        });
    });
    assert_eq!(resources(&unplaced), ["envs/x"]);
    let no_bucket = Scene::of(Lockfile).with(|scene| scene.snapshot.buckets.clear());
    assert_eq!(resources(&no_bucket), ["s3://b"]);
    let no_table = Scene::of(Dual).with(|scene| scene.snapshot.tables.clear());
    assert_eq!(resources(&no_table), ["dynamodb://eu-west-1/t"]);
    let half = Scene::of(Dual).with(|scene| {
        scene.bucket().complete = false;
        scene.table().complete = false;
    });
    assert_eq!(resources(&half), ["dynamodb://eu-west-1/t", "s3://b"]);
    let outside = Scene::of(Dual).with(|scene| scene.bucket().prefixes = vec!["x/".into()]);
    assert_eq!(resources(&outside), ["s3://b/app/s"]);
    let by_hand = outside.with(|scene| scene.expected.named.prefixes = vec!["x/".into()]);
    assert!(resources(&by_hand).is_empty());
    let named = Scene::of(Dual).with(|scene| {
        scene.expected.named.buckets = vec!["b".into(), "c".into()];
        scene.expected.named.tables = vec!["t".into(), "u".into()];
    });
    assert_eq!(resources(&named), ["dynamodb://u", "s3://c"]);
    let told = Scene::of(Dual).with(|scene| {
        scene.bucket().complete = false;
        scene.snapshot.unread.push(Unread {
            resource: "s3://b".into(),
            operation: "ListObjectVersions".into(),
            reason: "AccessDenied".into(),
            missing_action: Some("s3:ListBucketVersions".into()),
            hides_locks: true,
        });
    });
    assert_eq!(resources(&told), ["s3://b"]);
}

#[test]
fn endpoints_tell_buckets_of_one_name_apart() {
    let two = Scene::of(Lockfile).s3(lock("1", 60)).with(|scene| {
        let mut other = scene.bucket().clone();
        other.endpoint = Some("https://objects.example".into());
        other.locks.clear();
        scene.snapshot.buckets.push(other);
        let mut state = backend("envs/own", PATH, Lockfile);
        state.access.s3_endpoint = Some("https://objects.example/".into());
        scene.expected.states.push(state);
    });
    let states = two.judge().states;
    let roots: Vec<(&str, bool)> =
        states.iter().map(|state| (state.roots[0].as_str(), state.locks.s3.is_some())).collect();
    assert_eq!(roots, [("envs/app", true), ("envs/own", false)]);
    let by_hand =
        Scene::of(Lockfile).with(|scene| scene.bucket().endpoint = Some("http://localhost:5000".into()));
    assert!(by_hand.judge().unread.is_empty());
    let third = two.with(|scene| scene.expected.states[1].access.s3_endpoint = Some("https://third".into()));
    assert_eq!(third.judge().unread[0].resource, "s3://b");
}
