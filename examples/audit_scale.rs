//! How reading scales: `serve` is a store with many states and a large lock table, made up as it is asked; `read URL`
//! reads it as an audit does and prints time, peak memory and requests. `scripts/bench_audit` runs both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::exit)]
#![allow(clippy::indexing_slicing, clippy::string_slice, clippy::print_stderr)]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/support/double.rs"]
mod double;
#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/support/listing.rs"]
mod listing;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use double::{Double, Reply, Request};
use lockshift::audit::collect::{CollectOptions, collect};
use lockshift::audit::expected::{Expected, Named};

/// Items on a page of a scan: about a megabyte of real digest and lock items.
const ITEMS: usize = 5_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    match arguments.first().map(String::as_str) {
        Some("serve") => serve(number(1).unwrap_or(1_000_000), number(2).unwrap_or(100_000)),
        Some("read") => read(arguments.get(1).map_or("", String::as_str)),
        _ => {
            eprintln!("usage: audit_scale serve [OBJECTS] [ITEMS] | audit_scale read URL");
            std::process::exit(2);
        }
    }
}

/// Path of the state with this number: 200 directories of 5,000 in a million.
fn path(number: usize, of: usize) -> String {
    let each = of.div_ceil(200).max(1);
    format!("live/env{:03}/app{:06}/terraform.tfstate", number / each, number)
}

fn serve(objects: usize, items: usize) {
    let mut keys: Vec<String> = Vec::with_capacity(objects);
    let mut number = 0;
    while keys.len() < objects {
        let state = path(number, objects);
        // One lock in ten thousand states.
        if number % 10_000 == 5_000 {
            keys.push(format!("{state}.tflock"));
        }
        keys.push(state);
        number += 1;
    }
    keys.sort();
    let double = Double::start(move |request| answer(&keys, objects, items, request));
    println!("{}", double.url());
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn answer(keys: &[String], objects: usize, items: usize, request: &Request) -> Option<Reply> {
    if request.lists() {
        return Some(listing::objects(keys, request));
    }
    match request.target() {
        "DescribeTable" => Some(Reply::ok(format!(
            r#"{{"Table":{{"TableName":"locks","TableArn":"arn:aws:dynamodb:us-east-1:111122223333:table/locks","ItemCount":{items},"KeySchema":[{{"AttributeName":"LockID","KeyType":"HASH"}}]}}}}"#
        ))),
        "Scan" => Some(scan(objects, items, request)),
        _ => {
            let state = request.key().strip_suffix(".tflock")?;
            Some(Reply::ok(listing::lock_document(state, &format!("scale/{state}"))))
        }
    }
}

/// A page of digests: item numbers are dealt out to the segments in turn.
fn scan(objects: usize, items: usize, request: &Request) -> Reply {
    let asked: serde_json::Value = serde_json::from_str(&request.body).unwrap_or_default();
    let number = |name: &str| asked[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (segment, segments) = (number("Segment").unwrap_or(0), number("TotalSegments").unwrap_or(1));
    let last = asked["ExclusiveStartKey"]["LockID"]["S"].as_str();
    let last = last.and_then(|id| id.split("/app").nth(1)?.get(..6)?.parse::<usize>().ok());
    let mut at = last.map_or(segment, |last| last + segments);
    let (mut body, mut count) = (String::from("{\"Items\":["), 0);
    let mut last = None;
    while at < items && count < ITEMS {
        let id = format!("scale/{}-md5", path(at, objects));
        let comma = if count > 0 { "," } else { "" };
        let _ = write!(
            body,
            r#"{comma}{{"LockID":{{"S":"{id}"}},"Digest":{{"S":"0123456789abcdef0123456789abcdef"}}}}"#
        );
        (last, count, at) = (Some(id), count + 1, at + segments);
    }
    body.push(']');
    if let Some(last) = last.filter(|_| at < items) {
        let _ = write!(body, r#","LastEvaluatedKey":{{"LockID":{{"S":"{last}"}}}}"#);
    }
    let _ = write!(body, r#","Count":{count},"ScannedCount":{count}}}"#);
    Reply::ok(body)
}

fn read(url: &str) {
    let named = Named { buckets: vec!["scale".into()], tables: vec!["locks".into()], prefixes: Vec::new() };
    let expected = Expected { named, ..Expected::default() };
    let options =
        CollectOptions { endpoint_url: Some(url.to_owned()), settle: None, ..CollectOptions::default() };
    let began = Instant::now();
    let snapshot = collect(&expected, &options, &|_| {}).expect("there is something to read");
    let elapsed = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("not known").trim();
    println!("seconds {elapsed:.1}");
    println!("peak memory {peak}");
    println!("objects {}, items {}", snapshot.stats.objects, snapshot.stats.items);
    println!("requests {:?}", snapshot.stats.requests);
    let bucket = snapshot.buckets.first().expect("the bucket was read");
    println!("locks {}, states kept {}", bucket.locks.len(), bucket.states.len());
    println!("not read {}", snapshot.unread.len());
}
