//! Locks, in every mode.

use crate::audit::judge::testing::*;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::Settled;
use crate::finding::Severity::{Critical, High, Info, Low, Medium};
use crate::repo::inventory::LockMode::{self, Dual, Dynamodb, Lockfile};

const OLD: i64 = 3 * 3600;

fn settled(settled: Settled, lock: Lock) -> Lock {
    Lock { settled, ..lock }
}

fn by(who: &'static str, lock: Lock) -> Lock {
    Lock { who, ..lock }
}

fn plan(lock: Lock) -> Lock {
    Lock { operation: "OperationTypePlan", ..lock }
}

#[test]
fn nothing_is_wrong_with_a_healthy_state_or_a_running_apply() {
    for mode in [LockMode::None, Dynamodb, Dual, Lockfile] {
        assert_says(mode.as_str(), &Scene::of(mode), &[]);
    }
    let running = lock("1", 30);
    assert_says("dual", &Scene::of(Dual).s3(running).item(running), &[]);
    assert_says("table", &Scene::of(Dynamodb).item(running), &[]);
    assert_says("lockfile", &Scene::of(Lockfile).s3(running), &[]);
}

#[test]
fn a_lock_is_stale_when_it_is_older_than_the_limit_and_not_at_it() {
    let limit = 2 * 3600;
    let locked = |age| Scene::of(Dual).s3(plan(lock("1", age))).item(plan(lock("1", age)));
    assert_says("at the limit", &locked(limit), &[]);
    assert_says("over it", &locked(limit + 1), &[("lock-stale", High)]);
    let finding = locked(OLD).finding("lock-stale");
    assert_eq!(
        finding.message,
        "locked for 3 h by ann@laptop (plan, version 1.11.4), in S3 and in table `t`"
    );
    assert_eq!(finding.subject, "s3://b/app/s");
    assert_eq!(finding.place.unwrap().file, "envs/app/main.tf");
    assert_eq!(
        finding.commands,
        ["terraform -chdir=envs/app force-unlock 1", "lockshift unlock s3://b/app/s --id 1"]
    );
    let locks = finding.locks.unwrap();
    assert_eq!(locks.s3.unwrap().age_seconds, Some(OLD));
    assert_eq!(locks.dynamodb.unwrap().table.as_deref(), Some("t"));
    assert_says("table", &Scene::of(Dynamodb).item(plan(lock("1", OLD))), &[("lock-stale", High)]);
    let raised = Scene::of(Lockfile).s3(plan(lock("1", OLD))).with(|scene| {
        scene.options.stale_after = std::time::Duration::from_secs(4 * 3600);
    });
    assert_says("a longer limit", &raised, &[]);
}

#[test]
fn a_lock_that_s3_took_in_lately_may_belong_to_a_run_at_work() {
    let scene = Scene::of(Lockfile).with(|scene| {
        let mut object = plan(lock("1", OLD)).object();
        object.last_modified = ago(180);
        scene.bucket().locks.push(object);
    });
    assert_says("late", &scene, &[("lock-stale", Medium)]);
    let finding = scene.finding("lock-stale");
    assert!(finding.message.ends_with("; but S3 took the lock in only 3 min ago"));
    assert!(finding.help.unwrap().contains("release nothing before"));
    assert_eq!(finding.commands, [""; 0]);
    // Nor does another finding tell how to release it, or take it for lost.
    let dual = Scene::of(Dual).item(lock("1", OLD)).with(|scene| {
        let mut object = lock("1", OLD).object();
        object.last_modified = ago(180);
        scene.bucket().locks.push(object);
    });
    assert_says("dual", &dual, &[("lock-stale", Medium)]);
    assert_eq!(dual.finding("lock-stale").commands, [""; 0]);
    // Another lock that S3 took in lately says nothing about the one in the table.
    let other = Scene::of(Dual).item(plan(lock("1", OLD))).s3(lock("2", 180));
    let finding = other.finding("lock-stale");
    assert_eq!((finding.severity, finding.commands.len()), (High, 2), "{}", finding.message);
}

#[test]
fn one_side_alone_is_split_once_it_is_settled_and_not_young() {
    let item = |lock: Lock| Scene::of(Dual).item(lock);
    let s3 = |lock: Lock| Scene::of(Dual).s3(lock);
    for (what, scene, wanted) in [
        ("item", item(lock("1", 600)), &[("lock-split-dynamodb-only", Medium)][..]),
        ("object", s3(lock("1", 600)), &[("lock-split-s3-only", Medium)]),
        ("just two minutes", s3(lock("1", 120)), &[("lock-split-s3-only", Medium)]),
        ("younger", s3(lock("1", 119)), &[]),
        ("younger", item(lock("1", 119)), &[]),
        ("one look, and it may have come between", s3(settled(Settled::NotAsked, lock("1", 599))), &[]),
        ("one look", s3(settled(Settled::NotAsked, lock("1", 600))), &[("lock-split-s3-only", Medium)]),
        ("gone", s3(settled(Settled::Gone, lock("1", 600))), &[]),
        ("changed", item(settled(Settled::Changed, lock("1", 600))), &[]),
        ("failed", item(settled(Settled::Failed, lock("1", 599))), &[]),
        ("failed", item(settled(Settled::Failed, lock("1", 600))), &[("lock-split-dynamodb-only", Medium)]),
        ("stale", item(plan(lock("1", OLD))), &[("lock-split-dynamodb-only", High), ("lock-stale", High)]),
        ("s3 unread", item(lock("1", 600)).with(|s| s.bucket().complete = false), &[]),
        ("table unread", s3(lock("1", 600)).with(|s| s.table().complete = false), &[]),
        ("no table", s3(lock("1", 600)).with(|s| s.snapshot.tables.clear()), &[]),
        ("released meanwhile", s3(settled(Settled::Gone, lock("1", 600))).item(lock("1", 600)), &[]),
    ] {
        assert_says(what, &scene, wanted);
    }
    let finding = item(lock("1", 600)).finding("lock-split-dynamodb-only");
    assert_eq!(
        finding.commands,
        ["terraform -chdir=envs/app force-unlock 1", "lockshift unlock s3://b/app/s --id 1 --only dynamodb"]
    );
    assert!(finding.help.unwrap().contains("still exits with 1"));
}

#[test]
fn a_lock_that_is_gone_is_no_lock() {
    let report = Scene::of(Dual).s3(settled(Settled::Gone, lock("1", OLD))).report();
    assert_eq!(report.locks.s3, None);
}

#[test]
fn two_runs_at_once_are_critical_when_both_are_certain_and_alive() {
    let two = |a: Lock, b: Lock| Scene::of(Dual).s3(a).item(b);
    let ann = lock("1", 60);
    let bob = by("bob@ci", lock("2", 30));
    assert_says("two people", &two(ann, bob), &[("two-writers", Critical)]);
    assert_says("one person", &two(ann, lock("2", 30)), &[("lock-ids-differ", High)]);
    assert_says("one look", &two(settled(Settled::NotAsked, ann), bob), &[("lock-ids-differ", Medium)]);
    let long = |lock: Lock| Lock { age: 700, settled: Settled::NotAsked, ..lock };
    assert_says(
        "one look, both older than reading",
        &two(long(ann), long(bob)),
        &[("two-writers", Critical)],
    );
    let stale = plan(Lock { age: OLD, ..ann });
    assert_says("one is stale", &two(stale, bob), &[("lock-ids-differ", High), ("lock-stale", High)]);
    assert_says("the same lock", &two(ann, ann), &[]);
    let commands = two(ann, bob).finding("two-writers").commands;
    assert_eq!(
        commands,
        [
            "terraform -chdir=envs/app force-unlock 1",
            "terraform -chdir=envs/app force-unlock 2",
            "lockshift unlock s3://b/app/s --id 1 --only s3",
            "lockshift unlock s3://b/app/s --id 2 --only dynamodb"
        ]
    );
}

#[test]
fn a_lock_where_the_repository_does_not_lock() {
    let item = Scene::of(Lockfile).item(lock("1", 60));
    assert_says("table", &item, &[("lock-in-table-of-lockfile-only", High)]);
    let both = Scene::of(Lockfile).s3(lock("1", 60)).item(lock("1", 60));
    assert_says("both", &both, &[("lock-in-table-of-lockfile-only", Medium)]);
    assert_says("gone", &Scene::of(Lockfile).item(settled(Settled::Gone, lock("1", 60))), &[]);
    let object = Scene::of(Dynamodb).s3(lock("1", 60));
    assert_says("object", &object, &[("lock-object-of-table-only", High)]);
    let both = Scene::of(Dynamodb).s3(lock("1", 60)).item(lock("1", 60));
    assert_says("both", &both, &[("lock-object-of-table-only", Medium)]);
    assert_says("own store", &Scene::of(Dynamodb).item(lock("1", 60)), &[]);
    // Its own commands reach its own store alone.
    assert_eq!(
        item.finding("lock-in-table-of-lockfile-only").commands,
        ["lockshift unlock s3://b/app/s --id 1 --only dynamodb --table t"]
    );
}

#[test]
fn a_lock_in_another_table() {
    let elsewhere = |mode| {
        Scene::of(mode).with(|scene| {
            let mut other = scene.table().clone();
            other.name = "old".into();
            other.items = vec![lock("1", 60).item()];
            scene.snapshot.tables.push(other);
            scene.expected.tables_mentioned.insert("old".into());
        })
    };
    assert_says("dynamodb", &elsewhere(Dynamodb), &[("lock-in-other-table", High)]);
    assert_says(
        "dual, with the lockfile",
        &elsewhere(Dual).s3(lock("1", 60)),
        &[("lock-in-other-table", Medium)],
    );
    let region = elsewhere(Dynamodb).with(|scene| {
        let old = scene.snapshot.tables.iter_mut().find(|table| table.name == "old").unwrap();
        old.name = "t".into();
        old.region = Some("us-east-1".into());
    });
    assert_says("another region", &region, &[("lock-in-other-table", High)]);
    assert_says("its own", &Scene::of(Dynamodb).item(lock("1", 60)), &[]);
}

#[test]
fn a_lock_that_is_no_lock_document() {
    let object = |body: LockBody, age: i64| {
        Scene::of(Lockfile).with(|scene| {
            let object = lock("1", age).object();
            scene.bucket().locks.push(crate::audit::snapshot::LockObject { body, ..object });
        })
    };
    let unread = LockBody::Unread { why: "AccessDenied".into() };
    assert_says("empty", &object(LockBody::Empty, 60), &[("lock-unreadable", High)]);
    assert_says("garbage", &object(LockBody::read(b"{"), 60), &[("lock-unreadable", High)]);
    assert_says("not to be decrypted", &object(unread.clone(), 60), &[("lock-unreadable", Medium)]);
    let old = object(unread, OLD).says();
    assert!(old.contains(&("lock-unreadable".to_owned(), High)), "{old:?}");
    assert_says("a document", &Scene::of(Lockfile).s3(lock("1", 60)), &[]);
    let finding = object(LockBody::Empty, 60).finding("lock-unreadable");
    assert_eq!(
        finding.commands,
        [
            "lockshift unlock s3://b/app/s --unreadable",
            "aws s3api delete-object --bucket b --key app/s.tflock --if-match '\"e1\"'"
        ]
    );
    let item = |body| {
        Scene::of(Dynamodb).with(|scene| {
            let item = lock("1", 60).item();
            scene.table().items.push(crate::audit::snapshot::TableItem { body, ..item });
        })
    };
    assert_says("no Info", &item(None), &[("lock-unreadable", High)]);
    let command = item(None).finding("lock-unreadable").commands.pop().unwrap();
    assert_eq!(
        command,
        "aws dynamodb delete-item --table-name t --region eu-west-1 --key '{\"LockID\":{\"S\":\"b/app/s\"}}' \
         --condition-expression 'attribute_not_exists(Info)'"
    );
    let command = item(Some(LockBody::read(b"it's"))).finding("lock-unreadable").commands.pop().unwrap();
    assert!(
        command.ends_with("--expression-attribute-values '{\":seen\":{\"S\":\"it'\\''s\"}}'"),
        "{command}"
    );
}

#[test]
fn a_lock_of_another_path() {
    let copied = Lock { path: "other/app/s", ..lock("1", 60) };
    assert_says("copied", &Scene::of(Lockfile).s3(copied), &[("lock-path-mismatch", Medium)]);
    let nameless = Lock { path: "", ..lock("1", 60) };
    assert_says("no path", &Scene::of(Lockfile).s3(nameless), &[("lock-path-mismatch", Medium)]);
    assert_says("its own", &Scene::of(Lockfile).s3(lock("1", 60)), &[]);
}

#[test]
fn a_lock_without_a_state() {
    let bare = |age| {
        Scene::of(Lockfile).s3(plan(lock("1", age))).with(|scene| {
            scene.bucket().states.clear();
            scene.bucket().history.clear();
        })
    };
    assert_says("first apply", &bare(60), &[("lock-without-state", Info)]);
    assert_says("left over", &bare(OLD), &[("lock-stale", High), ("lock-without-state", Low)]);
    assert_says("listing incomplete", &bare(60).with(|scene| scene.bucket().complete = false), &[]);
}

#[test]
fn a_lock_of_a_state_that_nobody_names() {
    let stray = Scene::of(Lockfile).with(|scene| {
        scene.also("x/s");
        let object = Lock { path: "b/x/s", ..lock("1", 60) }.object();
        let key = "x/s.tflock".into();
        scene.bucket().locks.push(crate::audit::snapshot::LockObject { key, ..object });
    });
    assert_says("stray", &stray, &[("lock-of-unknown-state", Low)]);
    let no_repository = stray.with(|scene| scene.expected = Default::default());
    assert_says("no repository", &no_repository, &[]);
    let workspace = Scene::of(Lockfile).with(|scene| {
        scene.also("env:/w/app/s");
        let object = Lock { path: "b/env:/w/app/s", ..lock("1", 60) }.object();
        let key = "env:/w/app/s.tflock".into();
        scene.bucket().locks.push(crate::audit::snapshot::LockObject { key, ..object });
    });
    assert_says("a workspace", &workspace, &[]);
}

#[test]
fn a_stale_lock_that_is_newer_than_the_state() {
    let scene = |written: u64, lock: Lock| {
        Scene::of(Lockfile).s3(lock).with(|scene| {
            scene.bucket().states[0].last_modified = ago(written);
            scene.bucket().history.get_mut(PATH).unwrap().writes.push(write(written));
        })
    };
    // Written at day 10, long before the lock.
    assert_says(
        "nothing written",
        &scene(10 * DAY, lock("1", OLD)),
        &[("lock-after-last-write", High), ("lock-stale", High)],
    );
    let own = u64::try_from(OLD).unwrap();
    assert_says("written since", &scene(own - 60, lock("1", OLD)), &[("lock-stale", High)]);
    assert_says("in the same second", &scene(own, lock("1", OLD)), &[("lock-stale", High)]);
    assert_says("a plan", &scene(10 * DAY, plan(lock("1", OLD))), &[("lock-stale", High)]);
    assert_says("at work", &scene(10 * DAY, lock("1", 600)), &[]);
}

#[test]
fn a_lock_from_the_future() {
    let ahead = |age| Scene::of(Dynamodb).item(lock("1", age));
    assert_says("six minutes", &ahead(-360), &[("lock-from-the-future", Medium)]);
    assert_says("at the tolerance", &ahead(-300), &[]);
    // S3's own date says how old it is.
    let s3 = Scene::of(Lockfile).with(|scene| {
        let mut object = plan(lock("1", -360)).object();
        object.last_modified = ago(3 * 3600);
        scene.bucket().locks.push(object);
    });
    assert_says("by S3's clock", &s3, &[("lock-stale", High), ("lock-from-the-future", Medium)]);
}

#[test]
fn commands_name_workspace_engine_and_directory_safely() {
    let scene = |change: fn(&mut crate::audit::expected::ExpectedState)| {
        Scene::of(Lockfile).with(|scene| {
            change(&mut scene.expected.states[0]);
            let path = scene.expected.states[0].path_of("stg");
            scene.also(&path);
            let object = Lock { path: "b/env:/stg/app/s", ..lock("-x 'y", OLD) }.object();
            let key = format!("{path}.tflock");
            scene.bucket().locks.push(crate::audit::snapshot::LockObject { key, ..object });
        })
    };
    let commands = scene(|state| state.root = "en v".into()).finding("lock-stale").commands;
    assert_eq!(
        commands,
        [
            "terraform -chdir='en v' workspace select stg",
            "terraform -chdir='en v' force-unlock -- '-x '\\''y'",
            "lockshift unlock s3://b/env:/stg/app/s --id='-x '\\''y'"
        ]
    );
    let commands = scene(|state| state.engine = crate::repo::inventory::Engine::OpenTofu);
    assert!(commands.finding("lock-stale").commands[0].starts_with("tofu -chdir=envs/app workspace select"));
    let commands = scene(|state| state.place.file = "envs/app/terragrunt.hcl".into());
    assert_eq!(
        commands.finding("lock-stale").commands[0],
        "(cd envs/app && terragrunt workspace select stg)"
    );
}
