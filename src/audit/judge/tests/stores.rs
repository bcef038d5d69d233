//! Buckets' and tables' settings.

use crate::audit::judge::testing::*;
use crate::audit::snapshot::{Encryption, LifecycleRule, Read, ReplicationRule, TableFacts};
use crate::finding::Severity::{High, Info, Low, Medium};
use crate::repo::inventory::LockMode::{Dual, Dynamodb, Lockfile};

fn rule(change: impl FnOnce(&mut LifecycleRule)) -> Scene {
    Scene::of(Lockfile).with(|scene| {
        let mut rule = LifecycleRule { id: "tidy".into(), enabled: true, ..LifecycleRule::default() };
        change(&mut rule);
        let Read::Known(rules) = &mut scene.bucket().lifecycle else { panic!("no rules") };
        rules.push(rule);
    })
}

#[test]
fn versioning() {
    let versioning = |value| Scene::of(Lockfile).with(|scene| scene.bucket().versioning = value);
    assert_says("never", &versioning(Read::Absent), &[("bucket-unversioned", Medium)]);
    let suspended = versioning(Read::Known("Suspended".into()));
    assert_says("suspended", &suspended, &[("bucket-versioning-suspended", Medium)]);
    assert_says("enabled", &versioning(Read::Known("Enabled".into())), &[]);
    assert_says("denied", &versioning(Read::Failed("AccessDenied".into())), &[]);
}

#[test]
fn object_lock() {
    let with = |value| Scene::of(Lockfile).with(|scene| scene.bucket().object_lock = value);
    let retention = with(Read::Known(Some("COMPLIANCE 30 days".into())));
    assert_says("retention", &retention, &[("bucket-object-lock-retention", Info)]);
    assert_says("none by default", &with(Read::Known(None)), &[]);
}

#[test]
fn expiry() {
    assert_says("7 days", &rule(|rule| rule.expire_days = Some(7)), &[("bucket-lock-expiry", High)]);
    assert_says("8 days", &rule(|rule| rule.expire_days = Some(8)), &[("bucket-lock-expiry", Medium)]);
    let date = |date: &str| rule(|rule| rule.expire_date = Some(date.to_owned()));
    assert_says("a date that has passed", &date("2026-11-30T00:00:00Z"), &[("bucket-lock-expiry", High)]);
    assert_says("a date to come", &date("2026-12-01T00:00:00Z"), &[("bucket-lock-expiry", Medium)]);
    let own = rule(|rule| {
        rule.expire_days = Some(1);
        rule.prefix = "app/".into();
    });
    assert_says("its prefix", &own, &[("bucket-lock-expiry", High)]);
    let lock = rule(|rule| {
        rule.expire_days = Some(1);
        rule.prefix = "app/s.tfl".into();
    });
    assert_says("the lock's own prefix", &lock, &[("bucket-lock-expiry", High)]);
    for (what, scene) in [
        (
            "another prefix",
            rule(|rule| {
                rule.expire_days = Some(1);
                rule.prefix = "logs/".into();
            }),
        ),
        (
            "off",
            rule(|rule| {
                rule.expire_days = Some(1);
                rule.enabled = false;
            }),
        ),
        (
            "a tag",
            rule(|rule| {
                rule.expire_days = Some(1);
                rule.tags = vec![("k".into(), "v".into())];
            }),
        ),
        (
            "large objects",
            rule(|rule| {
                rule.expire_days = Some(1);
                rule.larger_than = Some(1024);
            }),
        ),
        ("old versions", rule(|rule| rule.noncurrent_days = Some(40))),
        ("delete markers", rule(|rule| rule.expired_delete_markers = true)),
    ] {
        assert_says(what, &scene, &[]);
    }
}

#[test]
fn transition() {
    let to = |class: &str, larger_than| {
        rule(|rule| {
            rule.transitions = vec![(Some(30), class.to_owned())];
            rule.larger_than = larger_than;
        })
    };
    assert_says("any size", &to("GLACIER", Some(0)), &[("bucket-lock-transition", Medium)]);
    assert_says("the default size", &to("DEEP_ARCHIVE", None), &[("bucket-lock-transition", Low)]);
    assert_says("still readable", &to("GLACIER_IR", Some(0)), &[]);
    assert_says("large objects", &to("GLACIER", Some(131_072)), &[]);
}

#[test]
fn old_versions_of_locks() {
    let rules = |value| Scene::of(Lockfile).with(|scene| scene.bucket().lifecycle = value);
    assert_says("no rules", &rules(Read::Absent), &[("bucket-lock-versions-kept", Low)]);
    let kept = |prefixes: &[&str]| {
        let rules = prefixes.iter().map(|prefix| LifecycleRule {
            enabled: true,
            prefix: (*prefix).to_owned(),
            noncurrent_days: Some(30),
            ..LifecycleRule::default()
        });
        let lifecycle = Read::Known(rules.collect());
        Scene::of(Lockfile).with(|scene| {
            scene.also("env:/w/app/s");
            scene.bucket().lifecycle = lifecycle;
        })
    };
    let finding = kept(&["env:/"]).finding("bucket-lock-versions-kept");
    assert_eq!(finding.message, "no lifecycle rule removes old versions of locks (1 of 2 states)");
    assert_says("nested", &kept(&["app/", "app/s"]), &[("bucket-lock-versions-kept", Low)]);
    assert_says("each prefix", &kept(&["env:/", "env:/w/", "app/"]), &[]);
    assert_says("all", &kept(&[""]), &[]);
    assert_says("not known", &rules(Read::Failed("AccessDenied".into())), &[]);
}

#[test]
fn replication() {
    let replicated = |prefix: &str, enabled| {
        Scene::of(Lockfile).with(|scene| {
            scene.bucket().replication = Read::Known(vec![ReplicationRule {
                id: "dr".into(),
                enabled,
                prefix: prefix.to_owned(),
                destination: "arn:aws:s3:::dr".into(),
                delete_markers: false,
            }]);
        })
    };
    assert_says("all", &replicated("", true), &[("bucket-replication-touches-locks", Low)]);
    assert_says("its prefix", &replicated("app/", true), &[("bucket-replication-touches-locks", Low)]);
    assert_says("another", &replicated("logs/", true), &[]);
    assert_says("off", &replicated("", false), &[]);
}

#[test]
fn encryption() {
    let with = |algorithm: &str| {
        let encryption = Encryption { algorithm: algorithm.to_owned(), kms_key: None };
        Scene::of(Lockfile).with(|scene| scene.bucket().encryption = Read::Known(encryption))
    };
    assert_says("KMS", &with("aws:kms"), &[("bucket-kms-encryption", Info)]);
    assert_says("two layers", &with("aws:kms:dsse"), &[("bucket-kms-encryption", Info)]);
    assert_says("S3's own", &with("AES256"), &[]);
}

#[test]
fn a_table_that_is_missing() {
    let missing = |mode| {
        Scene::of(mode).with(|scene| {
            scene.table().exists = Read::Absent;
            scene.table().items.clear();
            scene.table().complete = false;
        })
    };
    assert_says("dual", &missing(Dual), &[("table-missing", High)]);
    assert_eq!(missing(Dual).finding("table-missing").subject, "dynamodb://eu-west-1/t");
    assert_says("nobody needs it", &missing(Lockfile), &[]);
    let denied = Scene::of(Dual).with(|scene| scene.table().exists = Read::Failed("AccessDenied".into()));
    assert_says("denied", &denied, &[]);
}

#[test]
fn a_table_with_another_key() {
    let keyed =
        |mode| Scene::of(mode).with(|scene| scene.table().exists = Read::Known(TableFacts::default()));
    assert_says("in use", &keyed(Dynamodb), &[("table-key-wrong", High)]);
    assert_says("not in use", &keyed(Lockfile), &[]);
    let named = keyed(Lockfile).with(|scene| scene.expected.named.tables = vec!["t".into()]);
    assert_says("asked for", &named, &[("table-key-wrong", High)]);
}

#[test]
fn a_table_that_nobody_names() {
    let free = || {
        Scene::of(Lockfile).with(|scene| {
            scene.expected.tables_mentioned.clear();
            scene.table().writes_per_day = Read::Known(vec![(ago(DAY), 0.0), (ago(2 * DAY), 0.0)]);
        })
    };
    assert_says("unreferenced", &free(), &[("table-unreferenced", Low)]);
    let help = |scene: &Scene| scene.finding("table-unreferenced").help.unwrap();
    assert_eq!(help(&free()), "nothing speaks against retiring it; another repository may still name it");
    let written = free().with(|scene| scene.table().writes_per_day = Read::Known(vec![(ago(DAY), 3.0)]));
    assert_says("still written", &written, &[("table-unreferenced", Medium)]);
    assert_eq!(help(&written), "against retiring it: 3 writes in the last 1 day");
    let locked = free().item(lock("1", 60));
    assert_says(
        "locked",
        &locked,
        &[("lock-in-table-of-lockfile-only", High), ("table-unreferenced", Medium)],
    );
    let unknown = free().with(|scene| {
        scene.table().complete = false;
        scene.table().writes_per_day = Read::NotAsked;
    });
    assert_eq!(
        help(&unknown),
        "not known yet: how often it is written is not known; it was not read to its end"
    );
    let by_arn = free().with(|scene| {
        let arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/t";
        scene.expected.tables_mentioned.insert(arn.into());
    });
    assert_says("named by ARN", &by_arn, &[]);
    let elsewhere = free().with(|scene| {
        let arn = "arn:aws:dynamodb:us-east-1:111122223333:table/t";
        scene.expected.tables_mentioned.insert(arn.into());
    });
    assert_says("named in another region", &elsewhere, &[("table-unreferenced", Low)]);
    assert_says("no repository", &free().with(|scene| scene.expected = Default::default()), &[]);
}

#[test]
fn tables_of_one_name_are_told_apart() {
    let arn = |region: &str| format!("arn:aws:dynamodb:{region}:123456789012:table/t");
    let twins = |change: &dyn Fn(&mut Scene)| {
        Scene::of(Dual).with(|scene| {
            let mut twin = scene.table().clone();
            scene.table().arn = Some(arn("eu-west-1"));
            (twin.region, twin.arn) = (Some("us-east-1".into()), Some(arn("us-east-1")));
            twin.items.clear();
            scene.snapshot.tables.push(twin);
            change(scene);
        })
    };
    // The second one's lock, the backend's own table in the other region.
    let foreign = twins(&|scene| scene.snapshot.tables[1].items.push(lock("1", 60).item()));
    let held = foreign.report().locks.dynamodb.unwrap();
    assert_eq!(held.id.as_deref(), Some("1"));
    assert!(foreign.judge().unread.is_empty());
    assert!(foreign.says().iter().any(|(rule, _)| rule == "lock-in-other-table"), "{:?}", foreign.says());

    // A saved snapshot without a repository: the lock of either table is one.
    let by_hand = |scene: &mut Scene| {
        scene.expected = crate::audit::expected::Expected::default();
        scene.expected.named.tables = vec![arn("eu-west-1"), arn("us-east-1")];
    };
    for index in [0, 1] {
        let scene = twins(&|scene| {
            by_hand(scene);
            scene.snapshot.tables[index].items.push(lock("1", 60).item());
            scene.snapshot.sort();
        });
        assert!(scene.report().locks.dynamodb.is_some(), "{index}");
        assert!(scene.judge().unread.is_empty(), "{:?}", scene.judge().unread);
    }

    // One is missing from the snapshot, and what is said of the other says nothing of it.
    let lost = twins(&|scene| {
        by_hand(scene);
        scene.snapshot.tables.pop();
        scene.snapshot.unread.push(crate::audit::snapshot::Unread {
            resource: arn("eu-west-1"),
            operation: "Scan".into(),
            reason: "AccessDenied".into(),
            missing_action: None,
            hides_locks: true,
        });
    });
    let unread = lost.judge().unread;
    assert!(unread.iter().any(|entry| entry.resource == "dynamodb://us-east-1/t"), "{unread:?}");

    // A backend without a region may mean either: only both together tell that it is free.
    let either = twins(&|scene| scene.expected.states[0].access.region = None);
    assert!(either.judge().unread.is_empty());
    let half = twins(&|scene| {
        scene.expected.states[0].access.region = None;
        scene.snapshot.tables[1].complete = false;
    });
    assert!(!half.judge().unread.is_empty());
}
