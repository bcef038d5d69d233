//! Commands that release locks: each works when it is pasted, none touches what was not looked at or is somebody's.

use std::time::Duration;

use crate::audit::judge::testing::*;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{LockObject, Settled, TableItem, TableSnapshot};
use crate::repo::inventory::LockMode::{self, Dual, Dynamodb, Lockfile};

const OLD: i64 = 3 * 3600;

/// Our own commands of one finding, without `lockshift unlock s3://b/app/s`.
fn ours(scene: &Scene, rule: &str) -> Vec<String> {
    let commands = scene.finding(rule).commands;
    let ours = commands.iter().filter_map(|command| command.strip_prefix("lockshift unlock s3://b/app/s "));
    ours.map(str::to_owned).collect()
}

fn stale(mode: LockMode) -> Scene {
    let scene = Scene::of(mode);
    if mode == Lockfile { scene.s3(lock("1", OLD)) } else { scene.item(lock("1", OLD)) }
}

fn unknown(scene: &Scene) -> (Option<String>, Option<String>) {
    let locks = scene.report().locks;
    (locks.s3_unknown, locks.dynamodb_unknown)
}

#[test]
fn a_side_is_left_aside_only_when_it_was_read() {
    let why = |text: &str| Some(text.to_owned());
    let no_bucket = stale(Dual).with(|scene| scene.snapshot.buckets.clear());
    assert_eq!(unknown(&no_bucket), (why("its bucket was not read"), None));
    assert_eq!(ours(&no_bucket, "lock-stale"), ["--id 1"]);
    assert!(!no_bucket.finding("lock-stale").message.contains("alone"));

    let cut = stale(Dual).with(|scene| scene.bucket().complete = false);
    assert_eq!(unknown(&cut), (why("the listing did not come to its end"), None));
    assert_eq!(ours(&cut, "lock-stale"), ["--id 1"]);

    let prefix = stale(Dual).with(|scene| scene.bucket().prefixes = vec!["net/".into()]);
    assert_eq!(unknown(&prefix), (why("it lies under none of the prefixes that were listed"), None));
    assert_eq!(ours(&prefix, "lock-stale"), ["--id 1"]);

    let s3 = || Scene::of(Dual).s3(lock("1", OLD));
    let no_table = s3().with(|scene| scene.snapshot.tables.clear());
    assert_eq!(unknown(&no_table), (None, why("its table was not read")));
    assert_eq!(ours(&no_table, "lock-stale"), ["--id 1"]);
    let cut = s3().with(|scene| scene.table().complete = false);
    assert_eq!(unknown(&cut), (None, why("the scan of the table did not come to its end")));
    assert_eq!(ours(&cut, "lock-stale"), ["--id 1"]);

    for (what, scene, command) in [
        ("the table is free", s3(), "--id 1 --only s3"),
        ("S3 is free", stale(Dual), "--id 1 --only dynamodb"),
        ("S3 is free", stale(Dynamodb), "--id 1 --only dynamodb"),
        ("there is no table", stale(Lockfile), "--id 1"),
    ] {
        assert_eq!(ours(&scene, "lock-stale"), [command], "{what}");
        assert_eq!(unknown(&scene), (None, None), "{what}");
    }
    // Gone at the second look: read, but not at the same moment.
    let gone = stale(Dual).s3(Lock { settled: Settled::Gone, ..lock("1", 60) });
    assert_eq!((unknown(&gone), ours(&gone, "lock-stale")), ((None, None), vec!["--id 1".to_owned()]));
}

#[test]
fn without_a_repository_the_command_names_the_table() {
    let arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/t";
    let alone = |scene: Scene| scene.with(|scene| scene.expected = Default::default());
    // `audit --table t`: no bucket at all.
    let table_alone = alone(stale(Dual)).with(|scene| {
        scene.snapshot.buckets.clear();
        scene.table().arn = Some(arn.into());
    });
    assert_eq!(ours(&table_alone, "lock-stale"), [format!("--id 1 --table {arn}")]);
    let record = table_alone.report().locks.dynamodb.unwrap();
    assert_eq!((record.table.as_deref(), record.table_arn.as_deref()), (Some("t"), Some(arn)));
    assert_eq!(ours(&alone(stale(Dual)), "lock-stale"), ["--id 1 --only dynamodb --table t"]);
    let dashed = alone(stale(Dual)).with(|scene| scene.table().name = "-t".into());
    assert_eq!(ours(&dashed, "lock-stale"), ["--id 1 --only dynamodb --table=-t"]);
    // `audit --bucket b`: nobody knows of a table.
    let bucket_alone = alone(stale(Lockfile)).with(|scene| scene.snapshot.tables.clear());
    assert_eq!(unknown(&bucket_alone), (None, Some("no table was read".to_owned())));
    assert_eq!(ours(&bucket_alone, "lock-stale"), ["--id 1"]);
    assert!(bucket_alone.finding("lock-stale").help.unwrap().contains("--no-table"));
    // Every table that was read is free of it.
    assert_eq!(ours(&alone(stale(Lockfile)), "lock-stale"), ["--id 1 --only s3"]);
}

#[test]
fn a_table_that_the_repository_does_not_name_is_named() {
    let item = Scene::of(Lockfile).item(lock("1", OLD));
    let rule = "lock-in-table-of-lockfile-only";
    assert_eq!(ours(&item, rule), ["--id 1 --only dynamodb --table t"]);
    let both = Scene::of(Lockfile).item(lock("1", OLD)).s3(lock("1", OLD));
    assert_eq!(ours(&both, rule), ["--id 1 --table t"]);
    let stray = Scene::of(Dynamodb).item(lock("1", 60)).with(|scene| {
        let table = TableSnapshot {
            name: "old".into(),
            items: vec![lock("2", 60).item()],
            complete: true,
            ..TableSnapshot::default()
        };
        scene.snapshot.tables.push(table);
    });
    assert_eq!(ours(&stray, "lock-in-other-table"), ["--id 2 --only dynamodb --table old"]);
}

#[test]
fn a_lock_of_another_state_has_no_id_that_unlock_takes() {
    let copied = Lock { path: "other/app/s", ..lock("1", 60) };
    let scene = Scene::of(Dual).s3(copied);
    assert_eq!(ours(&scene, "lock-path-mismatch"), ["--unreadable --only s3"]);
    // The other store holds this state's own: it is somebody's, and stays.
    let beside = Scene::of(Dual).s3(copied).item(lock("2", 60));
    assert_eq!(
        beside.finding("lock-path-mismatch").commands,
        ["terraform -chdir=envs/app force-unlock 1", "lockshift unlock s3://b/app/s --unreadable --only s3"]
    );
}

#[test]
fn the_stale_age_of_the_audit_is_handed_on() {
    for (seconds, flag) in [
        (7_200, ""),
        (1, " --stale-after 1s"),
        (90, " --stale-after 90s"),
        (1_800, " --stale-after 30m"),
        (10_800, " --stale-after 3h"),
        (172_800, " --stale-after 2d"),
        (0, " --stale-after 0s"),
    ] {
        let scene = Scene::of(Dual).s3(lock("1", 200_000)).item(lock("1", 200_000));
        let scene = scene.with(|scene| scene.options.stale_after = Duration::from_secs(seconds));
        assert_eq!(ours(&scene, "lock-stale"), [format!("--id 1{flag}")]);
        assert_eq!(scene.judge().stale_after_seconds, seconds);
        assert_eq!(scene.judge().window_seconds, 14 * DAY);
    }
}

#[test]
fn a_lock_without_an_age_is_released_all_the_same() {
    let item = |body: Option<LockBody>| {
        Scene::of(Dynamodb).with(|scene| {
            let item = lock("1", 60).item();
            scene.table().items.push(TableItem { body, ..item });
            scene.options.stale_after = Duration::from_secs(1_800);
        })
    };
    for body in [None, Some(LockBody::read(b"no JSON")), Some(LockBody::Empty)] {
        let command = "--unreadable --only dynamodb --even-if-young";
        assert_eq!(ours(&item(body), "lock-unreadable"), [command]);
    }
    let future = Lock { path: "", ..lock("1", -3_600) };
    let future = Scene::of(Dynamodb).item(future);
    // A run whose clock is ahead may be at work: that is for the user to say.
    assert_eq!(ours(&future, "lock-path-mismatch"), ["--unreadable --only dynamodb"]);
    let object = |stored: u64| {
        Scene::of(Lockfile).with(|scene| {
            scene.bucket().states.clear();
            let mut object = lock("1", -3_600).object();
            object.last_modified = ago(stored);
            scene.bucket().locks.push(object);
        })
    };
    assert_eq!(ours(&object(10_800), "lock-stale"), ["--id 1 --even-if-young"], "S3 knows its age");
    assert_eq!(ours(&object(60), "lock-without-state"), ["--id 1"], "S3 knows that it is young");
    // S3 says when it took an object in.
    let object = Scene::of(Lockfile).with(|scene| {
        let object = lock("1", OLD).object();
        scene.bucket().locks.push(LockObject { body: LockBody::Empty, ..object });
    });
    assert_eq!(ours(&object, "lock-unreadable"), ["--unreadable"]);
}

#[test]
fn a_stale_lock_is_told_without_the_young_one_of_somebody_else() {
    let young = Lock { who: "bob@ci", ..lock("2", 60) };
    let scene = Scene::of(Dual).s3(lock("1", 2 * 86_400)).item(young);
    let finding = scene.finding("lock-stale");
    assert_eq!(finding.message, "locked for 2 d by ann@laptop (apply, version 1.11.4), in S3");
    for rule in ["lock-stale", "lock-ids-differ", "lock-after-last-write"] {
        assert_eq!(
            scene.finding(rule).commands,
            ["terraform -chdir=envs/app force-unlock 1", "lockshift unlock s3://b/app/s --id 1 --only s3"],
            "{rule}"
        );
    }
    let table = Scene::of(Dual).s3(young).item(lock("1", 2 * 86_400)).finding("lock-stale");
    assert!(table.message.ends_with(", in table `t`"), "{}", table.message);
}

#[test]
fn what_begins_with_a_dash_is_no_flag() {
    let scene = Scene::of(Lockfile).with(|scene| {
        scene.also("-s");
        scene.expected.states[0].key = "-s".into();
        let object = lock("1", OLD).object();
        scene.bucket().locks.push(LockObject { key: "-s.tflock".into(), body: LockBody::Empty, ..object });
    });
    assert_eq!(
        scene.finding("lock-unreadable").commands,
        [
            "lockshift unlock s3://b/-s --unreadable",
            "aws s3api delete-object --bucket b --key=-s.tflock --if-match '\"e1\"'"
        ]
    );
    let terragrunt = stale(Lockfile).with(|scene| {
        scene.expected.states[0].root = "-r".into();
        scene.expected.states[0].place.file = "-r/terragrunt.hcl".into();
    });
    assert_eq!(terragrunt.finding("lock-stale").commands[0], "(cd -- -r && terragrunt force-unlock 1)");
}
