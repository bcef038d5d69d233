//! Coverage: which writes lay inside a lock, and what can't be told.

use crate::audit::judge::testing::*;
use crate::audit::outcome::Coverage;
use crate::audit::snapshot::{LifecycleRule, Read, StateHistory};
use crate::finding::Severity::{Critical, High, Low};
use crate::moment::Moment;
use crate::repo::inventory::LockMode::{Dual, Dynamodb, Lockfile};

/// A state with these locks and writes; the last write is the state's own date.
fn past(locks: &[(u64, Option<u64>)], writes: &[u64]) -> Scene {
    Scene::of(Dual).with(|scene| {
        let history = StateHistory {
            locks: locks.iter().map(|(from, to)| held(*from, *to)).collect(),
            writes: writes.iter().map(|at| write(*at)).collect(),
        };
        let last = writes.iter().min().copied().unwrap_or(20 * DAY);
        scene.bucket().states = vec![state(PATH, last)];
        scene.bucket().history = [(PATH.to_owned(), history)].into();
    })
}

fn coverage(scene: &Scene) -> Coverage {
    scene.report().coverage
}

fn verdict(scene: &Scene) -> (String, usize) {
    let coverage = coverage(scene);
    (coverage.verdict, coverage.outside.len())
}

#[track_caller]
fn assert_verdict(what: &str, scene: &Scene, wanted: &str, outside: usize) {
    assert_eq!(verdict(scene), (wanted.to_owned(), outside), "{what}: {:?}", coverage(scene).reason);
}

#[test]
fn every_write_inside_a_lock_is_the_proof() {
    let scene = past(&[(1000, Some(900)), (500, Some(400))], &[950, 450]);
    let coverage = coverage(&scene);
    assert_eq!(coverage.verdict, "proven");
    assert_eq!((coverage.writes, coverage.intervals), (2, 2));
    assert_eq!(coverage.since, Some(ago(14 * DAY)));
    assert_eq!(coverage.who, ["ann@laptop"]);
    assert_eq!(coverage.operations, ["OperationTypeApply"]);
    assert_eq!(coverage.versions, ["1.11.4"]);
    assert_eq!(coverage.reason, None);
}

#[test]
fn both_ends_of_a_lock_count_by_the_second() {
    for (at, inside) in [(901, true), (900, true), (899, false), (1000, true), (1001, false)] {
        let scene = past(&[(1000, Some(900))], &[at]);
        let wanted = if inside { "proven" } else { "contradicted" };
        assert_verdict(&at.to_string(), &scene, wanted, usize::from(!inside));
    }
    // Milliseconds of whoever wrote the snapshot decide nothing.
    let scene = past(&[(1000, Some(900))], &[900]).with(|scene| {
        let write = &mut scene.bucket().history.get_mut(PATH).unwrap().writes[0];
        write.at = Moment::from_millis(write.at.millis() + 999);
    });
    assert_verdict("999 ms later", &scene, "proven", 0);
}

#[test]
fn locks_may_be_open_nested_or_begin_before_the_window() {
    assert_verdict("open", &past(&[(1000, None)], &[10]), "proven", 0);
    assert_verdict("before an open one", &past(&[(1000, None)], &[1001]), "contradicted", 1);
    assert_verdict(
        "a short one in a long one",
        &past(&[(1000, Some(100)), (900, Some(800))], &[200]),
        "proven",
        0,
    );
    let edge = past(&[(14 * DAY + 50, Some(14 * DAY - 50))], &[14 * DAY - 10]);
    assert_verdict("over the edge", &edge, "proven", 0);
    // The lock that is held now counts, even if it is not among the versions.
    let now = past(&[], &[10]).s3(Lock { age: 20, ..lock("1", 20) }).item(lock("1", 20));
    assert_verdict("held now", &now, "proven", 0);
}

#[test]
fn writes_outside_are_named_each() {
    let scene = past(&[(1000, Some(900)), (500, Some(400))], &[950, 800, 450, 100]);
    let coverage = coverage(&scene);
    assert_eq!(coverage.verdict, "contradicted");
    let named: Vec<&str> = coverage.outside.iter().map(|write| write.version_id.as_str()).collect();
    assert_eq!(named, ["w800", "w100"]);
    let finding = scene.finding("coverage-contradicted");
    assert_eq!(
        finding.message,
        "2 of 4 writes since 2026-11-16T12:00:00Z lay outside of every S3 lock: 2026-11-30T11:46:40Z (version w800), \
         2026-11-30T11:58:20Z (version w100)"
    );
}

#[test]
fn the_mode_decides_how_much_a_contradiction_matters() {
    let in_mode = |mode| {
        past(&[], &[1000]).with(|scene| {
            scene.expected.states = vec![backend("envs/app", PATH, mode)];
            if mode == Lockfile {
                scene.table().items.clear();
            }
        })
    };
    assert_says("dual", &in_mode(Dual), &[("coverage-contradicted", High)]);
    assert_says("lockfile", &in_mode(Lockfile), &[("coverage-contradicted", Critical)]);
    assert_says("table", &in_mode(Dynamodb), &[]);
    assert_eq!(verdict(&in_mode(Dynamodb)).0, "contradicted");
    let no_repository = |scene: Scene| scene.with(|scene| scene.expected = Default::default());
    assert_says("nobody knows", &no_repository(past(&[], &[1000])), &[("coverage-contradicted", Low)]);
    let used = past(&[(500, Some(400))], &[1000, 450]);
    assert_says("nobody knows, but used", &no_repository(used), &[("coverage-contradicted", High)]);
    assert_says("all inside", &past(&[(1000, Some(900))], &[950]), &[]);
}

#[test]
fn what_lies_before_the_window_or_the_history_is_not_judged() {
    assert_verdict("long ago", &past(&[], &[15 * DAY]), "no-writes-seen", 0);
    assert_verdict("at the window's begin", &past(&[], &[14 * DAY]), "contradicted", 1);
    let since = |days: u64, writes: &[u64]| {
        past(&[(1000, Some(900))], writes).with(|scene| scene.bucket().history_from = Some(ago(days * DAY)))
    };
    assert_verdict("a short history", &since(7, &[950]), "not-provable", 0);
    assert_eq!(coverage(&since(7, &[950])).since, Some(ago(7 * DAY)));
    assert_verdict("a write before it", &since(7, &[950, 8 * DAY]), "not-provable", 0);
    assert_verdict("a write around the lock after it", &since(7, &[950, 6 * DAY]), "contradicted", 1);
    assert_verdict("a long history", &since(15, &[950]), "proven", 0);
}

#[test]
fn a_lifecycle_rule_for_locks_alone_shortens_the_history() {
    let small = |days| LifecycleRule {
        enabled: true,
        smaller_than: Some(1024),
        noncurrent_days: Some(days),
        ..LifecycleRule::default()
    };
    let ruled = |days| {
        past(&[(1000, Some(900))], &[950, 3 * DAY])
            .with(|scene| scene.bucket().lifecycle = Read::Known(vec![small(days)]))
    };
    assert_verdict("gone already", &ruled(1), "not-provable", 0);
    assert_verdict("kept", &ruled(30), "contradicted", 1);
}

#[test]
fn what_was_not_seen_is_never_proven() {
    let good = || past(&[(1000, Some(900))], &[950]);
    assert_verdict("good", &good(), "proven", 0);
    for (what, scene) in [
        ("never versioned", good().with(|scene| scene.bucket().versioning = Read::Absent)),
        ("suspended", good().with(|scene| scene.bucket().versioning = Read::Known("Suspended".into()))),
        ("not asked", good().with(|scene| scene.bucket().versioning = Read::NotAsked)),
        ("denied", good().with(|scene| scene.bucket().versioning = Read::Failed("AccessDenied".into()))),
        ("half a listing", good().with(|scene| scene.bucket().complete = false)),
        ("another prefix", good().with(|scene| scene.bucket().prefixes = vec!["x/".into()])),
        ("the lock is not listed", good().with(|scene| scene.bucket().prefixes = vec!["app/s/".into()])),
        ("no bucket", good().with(|scene| scene.snapshot.buckets.clear())),
        ("rules not known", good().with(|scene| scene.bucket().lifecycle = Read::NotAsked)),
        ("versions not listed", good().with(|scene| scene.bucket().history.clear())),
    ] {
        let coverage = coverage(&scene);
        assert_eq!(coverage.verdict, "not-provable", "{what}");
        assert!(coverage.reason.is_some(), "{what}");
    }
    let before = past(&[(1000, Some(900))], &[950, 2000]).with(|scene| {
        scene.bucket().history.get_mut(PATH).unwrap().writes[0].version_id = "null".into();
    });
    assert_verdict("written before versioning", &before, "not-provable", 0);
    // No writes, and everything was seen.
    assert_verdict("quiet", &past(&[(1000, Some(900))], &[]), "no-writes-seen", 0);
}

#[test]
fn a_lock_that_was_overwritten() {
    let over = |overwritten, to| {
        past(&[(1000, Some(900)), (900, Some(800))], &[950]).with(|scene| {
            let held = &mut scene.bucket().history.get_mut(PATH).unwrap().locks[0];
            held.overwritten = overwritten;
            held.to = to;
        })
    };
    assert_says("overwritten", &over(true, Some(ago(900))), &[("lock-overwritten", High)]);
    assert_says("deleted", &over(false, Some(ago(900))), &[]);
    let long_ago = past(&[(20 * DAY, Some(19 * DAY)), (1000, Some(900))], &[950]).with(|scene| {
        scene.bucket().history.get_mut(PATH).unwrap().locks[0].overwritten = true;
    });
    assert_says("before the window", &long_ago, &[]);
}

#[test]
fn locks_and_writes_are_kept_for_drawing_the_newest_and_those_outside_first() {
    // A write each ten seconds, each inside a lock of its own, but for the three oldest.
    let locks: Vec<(u64, Option<u64>)> = (0..247).rev().map(|n| (n * 10 + 2, Some(n * 10 + 1))).collect();
    let writes: Vec<u64> = (0..250).rev().map(|n| n * 10 + 1).collect();
    let trace = coverage(&past(&locks, &writes)).trace;
    assert_eq!((trace.locks.len(), trace.more_locks), (200, 47));
    assert_eq!((trace.writes.len(), trace.more_writes), (200, 50));
    assert_eq!(trace.locks.last().map(|lock| (lock.from, lock.to)), Some((ago(2), Some(ago(1)))));
    assert_eq!(trace.locks[0].who.as_deref(), Some("ann@laptop"));
    let outside: Vec<Moment> =
        trace.writes.iter().filter(|write| write.outside).map(|write| write.at).collect();
    assert_eq!(outside, [ago(2491), ago(2481), ago(2471)]);
    assert!(trace.writes.is_sorted_by_key(|write| write.at));
    assert_eq!(trace.writes[3].at, ago(1961));

    // The lock that is held now and is not among the versions is drawn, too.
    let now = past(&[], &[10]).s3(Lock { age: 20, ..lock("1", 20) }).item(lock("1", 20));
    let trace = coverage(&now).trace;
    assert_eq!((trace.locks.len(), trace.locks[0].to), (1, None));
}
