//! Exports as the AWS CLI prints them, whole and cut off.

use super::*;
use crate::audit::expected::Named;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{BucketSnapshot, Md5, Read};

const LOCK: &str = r#"{"ID":"1-2","Operation":"OperationTypeApply","Info":"","Who":"ci@runner","Version":"1.11.4","Created":"2026-06-01T10:00:00Z","Path":"b/k"}"#;
const DIGEST: &str = "0123456789abcdef0123456789abcdef";

fn at(text: &str) -> Moment {
    Moment::parse(&format!("2026-06-01T{text}Z")).unwrap()
}

fn export(of: &str, text: &str) -> Export {
    Export { of: of.into(), file: "export.json".into(), bytes: text.as_bytes().to_vec() }
}

fn exports(tables: &[(&str, &str)], buckets: &[(&str, &str)]) -> Exports {
    let all = |of: &[(&str, &str)]| of.iter().map(|(name, text)| export(name, text)).collect();
    Exports {
        tables: all(tables),
        buckets: all(buckets),
        taken_at: at("12:00:00"),
        region: Some("eu-west-1".into()),
        ..Exports::default()
    }
}

fn imported(exports: &Exports) -> Snapshot {
    let body =
        |bucket: &str, key: &str| (bucket == "b" && key == "k.tflock").then(|| LOCK.as_bytes().to_vec());
    import(exports, &body, &Expected::default(), Duration::from_secs(14 * 86_400)).unwrap()
}

fn refused(exports: &Exports) -> String {
    import(exports, &|_, _| None, &Expected::default(), Duration::MAX).unwrap_err().to_string()
}

fn scan(items: &str, rest: &str) -> String {
    format!("{{\"Items\":[{items}]{rest}}}")
}

/// A version in the listing: key, time, version, latest.
fn version(key: &str, time: &str, id: &str, latest: bool, size: usize) -> String {
    format!(
        "{{\"Key\":\"{key}\",\"LastModified\":\"2026-06-01T{time}+00:00\",\"VersionId\":\"{id}\",\"IsLatest\":{latest},\
         \"ETag\":\"\\\"{DIGEST}\\\"\",\"Size\":{size}}}"
    )
}

fn versions(versions: &[String], markers: &[String], rest: &str) -> String {
    format!("{{\"Versions\":[{}],\"DeleteMarkers\":[{}]{rest}}}", versions.join(","), markers.join(","))
}

#[test]
fn locks_digests_and_strangers_of_a_table() {
    let info = LOCK.replace('"', "\\\"");
    let items = [
        format!("{{\"LockID\":{{\"S\":\"b/k\"}},\"Info\":{{\"S\":\"{info}\"}}}}"),
        format!("{{\"LockID\":{{\"S\":\"b/k-md5\"}},\"Digest\":{{\"S\":\"{DIGEST}\"}}}}"),
        "{\"LockID\":{\"S\":\"b/bare\"}}".to_owned(),
        "{\"LockID\":{\"S\":\"b/odd\"},\"Info\":{\"N\":\"1\"}}".to_owned(),
        "{\"LockID\":{\"N\":\"7\"}}".to_owned(),
        "{\"pk\":{\"S\":\"x\"}}".to_owned(),
    ];
    let text = scan(&items.join(","), ",\"Count\":6,\"ScannedCount\":6,\"ConsumedCapacity\":null");
    let snapshot = imported(&exports(&[("arn:aws:dynamodb:eu-west-2:111122223333:table/locks", &text)], &[]));
    let table = &snapshot.tables[0];
    assert_eq!((table.name.as_str(), table.region.as_deref()), ("locks", Some("eu-west-2")));
    assert!(table.complete && snapshot.unread.is_empty());
    assert_eq!((table.items.len(), table.other_items), (4, 2));
    assert_eq!(table.item("b/k").unwrap().body.as_ref().unwrap().lock().unwrap().id, "1-2");
    assert_eq!(table.item("b/k-md5").unwrap().digest.as_deref(), Some(DIGEST));
    assert_eq!(table.item("b/bare").unwrap().body, None);
    assert!(matches!(table.item("b/odd").unwrap().body, Some(LockBody::Foreign { .. })));
}

#[test]
fn a_table_that_was_cut_off_or_filtered_is_unread() {
    let whole = scan("", ",\"Count\":0,\"ScannedCount\":0");
    let more = scan("", ",\"Count\":0,\"ScannedCount\":0,\"NextToken\":\"eyJ\"");
    let key = scan("", ",\"LastEvaluatedKey\":{\"LockID\":{\"S\":\"x\"}}");
    let why = |text: &str| {
        let snapshot = imported(&exports(&[("locks", text)], &[]));
        assert_eq!(snapshot.tables[0].complete, snapshot.unread.is_empty());
        snapshot.unread.first().map(|unread| {
            assert_eq!((unread.resource.as_str(), unread.hides_locks), ("dynamodb://eu-west-1/locks", true));
            unread.reason.clone()
        })
    };
    assert_eq!(why(&whole), None);
    assert_eq!(why(&format!("{more}\n{whole}")), None, "pages one after the other");
    let cut = Some("export.json: stops in the middle: its last page says that there is more".to_owned());
    assert_eq!(why(&more), cut);
    assert_eq!(why(&key), cut);
    assert_eq!(why(&format!("{whole}{more}")), cut);
    assert_eq!(
        why(&scan("", ",\"Count\":0,\"ScannedCount\":9")).as_deref(),
        Some("export.json: filtered: 0 items of 9 are in it")
    );
}

fn bucket(text: &str) -> BucketSnapshot {
    imported(&exports(&[], &[("b", text)])).buckets.remove(0)
}

#[test]
fn versions_become_lock_intervals_and_writes() {
    let text = versions(
        &[
            version("k", "11:00:05", "s2", true, 9),
            version("k", "10:00:05", "s1", false, 9),
            version("k.tflock", "11:30:00", "l3", true, LOCK.len()),
            version("k.tflock", "11:00:00", "l2", false, 9),
            version("k.tflock", "10:00:00", "l1", false, 9),
            version("other", "10:00:00", "o1", true, 9),
        ],
        &[version("k.tflock", "11:00:10", "d2", false, 0), version("k.tflock", "10:00:10", "d1", false, 0)],
        "",
    );
    let bucket = bucket(&text);
    let history = &bucket.history["k"];
    let spans: Vec<(Moment, Option<Moment>, &str)> =
        history.locks.iter().map(|lock| (lock.from, lock.to, lock.version_id.as_str())).collect();
    assert_eq!(
        spans,
        [
            (at("10:00:00"), Some(at("10:00:10")), "l1"),
            (at("11:00:00"), Some(at("11:00:10")), "l2"),
            (at("11:30:00"), None, "l3"),
        ]
    );
    assert!(history.locks.iter().all(|lock| !lock.overwritten));
    let writes: Vec<&str> = history.writes.iter().map(|write| write.version_id.as_str()).collect();
    assert_eq!(writes, ["s1", "s2"]);
    assert_eq!(bucket.lock("k").unwrap().body.lock().unwrap().who, "ci@runner");
    assert_eq!(bucket.lock("k").unwrap().version_id.as_deref(), Some("l3"));
    assert_eq!(bucket.state("k").unwrap().md5, None, "an ETag alone is no proof");
    assert_eq!((bucket.other_objects, bucket.states.len()), (1, 1));
    assert_eq!(bucket.versioning, Read::Known("Enabled".to_owned()));
    assert_eq!(bucket.history_from, Some(at("10:00:10")), "when the oldest version became old");
}

#[test]
fn within_one_second_lock_and_release_take_turns() {
    let text = versions(
        &[version("k.tflock", "10:00:00", "l2", false, 9), version("k.tflock", "10:00:00", "l1", false, 9)],
        &[version("k.tflock", "10:00:00", "d2", true, 0), version("k.tflock", "10:00:00", "d1", false, 0)],
        "",
    );
    let bucket = bucket(&text);
    assert!(
        bucket.history["k"].locks.iter().all(|lock| !lock.overwritten && lock.to == Some(at("10:00:00")))
    );
    assert!(bucket.locks.is_empty(), "the marker is the latest");
    let over = versions(
        &[version("k.tflock", "10:00:09", "l2", true, 9), version("k.tflock", "10:00:00", "l1", false, 9)],
        &[],
        "",
    );
    let history = imported(&exports(&[], &[("b", &over)])).buckets.remove(0).history.remove("k").unwrap();
    assert_eq!(history.locks.iter().map(|lock| lock.overwritten).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn what_the_window_does_not_reach_is_left_out() {
    let text = versions(
        &[version("k.tflock", "10:00:00", "l1", false, 9), version("k.tflock", "01:00:00", "l0", false, 9)],
        &[version("k.tflock", "11:30:00", "d1", true, 0), version("k.tflock", "01:00:10", "d0", false, 0)],
        "",
    );
    let snapshot =
        import(&exports(&[], &[("b", &text)]), &|_, _| None, &Expected::default(), Duration::from_secs(3600));
    let locks = snapshot.unwrap().buckets.remove(0).history.remove("k").unwrap().locks;
    assert_eq!(locks.iter().map(|lock| lock.version_id.as_str()).collect::<Vec<_>>(), ["l1"]);
}

#[test]
fn an_etag_that_the_table_names_is_the_digest() {
    let items = format!("{{\"LockID\":{{\"S\":\"b/k-md5\"}},\"Digest\":{{\"S\":\"{DIGEST}\"}}}}");
    let listing = format!(
        "{{\"Contents\":[{{\"Key\":\"k\",\"LastModified\":\"2026-06-01T10:00:00+00:00\",\"ETag\":\"\\\"{DIGEST}\\\"\",\
         \"Size\":4}}],\"RequestCharged\":null}}"
    );
    let snapshot = imported(&exports(&[("locks", &scan(&items, ""))], &[("b", &listing)]));
    assert_eq!(snapshot.buckets[0].state("k").unwrap().md5, Some(Md5::Etag(DIGEST.to_owned())));
    assert_eq!(snapshot.buckets[0].versioning, Read::NotAsked);
    assert_eq!(snapshot.buckets[0].history_from, None);
}

#[test]
fn a_lock_without_its_body_is_unread() {
    for (key, size, why) in [
        ("other.tflock", 9, "its body was not exported"),
        ("k.tflock", 9, "the body that was given has 177 bytes, the listing says 9: it is another one"),
    ] {
        let text = versions(&[version(key, "10:00:00", "l1", true, size)], &[], "");
        let snapshot = imported(&exports(&[], &[("b", &text)]));
        assert_eq!(
            snapshot.buckets[0].locks[0].body,
            LockBody::Unread { why: why.replace("177", &LOCK.len().to_string()) }
        );
        assert_eq!(snapshot.unread[0].resource, format!("s3://b/{key}"));
        assert!(snapshot.unread[0].hides_locks);
    }
}

#[test]
fn a_listing_that_was_cut_off_is_unread() {
    let why = |text: &str| imported(&exports(&[], &[("b", text)])).unread.first().map(|it| it.reason.clone());
    let page = |rest: &str| versions(&[], &[], rest);
    assert_eq!(why(&page(",\"RequestCharged\":null")), None);
    assert!(why(&page(",\"IsTruncated\":true,\"NextKeyMarker\":\"m\"")).unwrap().contains("in the middle"));
    assert!(why(&page(",\"NextToken\":\"t\"")).is_some());
    let first = page(",\"IsTruncated\":true,\"KeyMarker\":\"\",\"NextKeyMarker\":\"m\"");
    let last = page(",\"IsTruncated\":false,\"KeyMarker\":\"m\"");
    assert_eq!(why(&format!("{first}{last}")), None);
    let other = page(",\"IsTruncated\":false,\"KeyMarker\":\"z\"");
    assert!(why(&format!("{first}{other}")).unwrap().contains("a page is missing"));
    assert!(why(&page(",\"CommonPrefixes\":[{\"Prefix\":\"a/\"}]")).unwrap().contains("delimiter"));
    let prefixed = imported(&exports(&[], &[("b", &page(",\"Prefix\":\"a/\""))]));
    assert_eq!(prefixed.buckets[0].prefixes, ["a/"]);
}

#[test]
fn what_is_no_export_is_refused() {
    let wrong = |text: &str| refused(&exports(&[], &[("b", text)]));
    assert_eq!(wrong(""), "export.json: empty: a command that failed leaves such a file, too");
    assert_eq!(
        wrong("{\"Versions\":"),
        "export.json:1:12: not JSON\n  1 | {\"Versions\":\n    |            ^"
    );
    assert_eq!(wrong("{}"), "export.json: neither Versions nor Contents: no listing of a bucket");
    assert!(wrong("{\"Name\":\"other\",\"Contents\":[]}").contains("another bucket than b"));
    assert!(wrong("{\"Contents\":[{\"Key\":7}]}").contains("not what the command prints"));
    let mut utf16 = exports(&[], &[("b", "")]);
    utf16.buckets[0].bytes = vec![0xff, 0xfe, b'{', 0];
    assert!(refused(&utf16).contains("UTF-16"));
    let of_table = refused(&exports(&[("t", "{\"Contents\":[]}")], &[]));
    assert!(of_table.starts_with("export.json:1:15: not what"), "{of_table}");
    let two = exports(&[], &[("b", "{\"Versions\":[]}"), ("b", "{\"Contents\":[]}")]);
    assert!(refused(&two).starts_with("bucket b: exports of"));
}

#[test]
fn a_named_bucket_needs_no_repository() {
    let expected =
        Expected { named: Named { buckets: vec!["b".into()], ..Named::default() }, ..Expected::default() };
    let snapshot =
        import(&exports(&[], &[("b", "{\"RequestCharged\":null}")]), &|_, _| None, &expected, Duration::ZERO)
            .unwrap();
    assert!(snapshot.buckets[0].complete && snapshot.unread.is_empty());
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let mut given = exports(&[("t", "")], &[("b", "")]);
        given.tables[0].bytes = bytes.clone();
        let _ = import(&given, &|_, _| None, &Expected::default(), Duration::ZERO);
        given.tables.clear();
        given.buckets[0].bytes = bytes;
        let _ = import(&given, &|_, _| None, &Expected::default(), Duration::ZERO);
    }
}
