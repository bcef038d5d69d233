//! A small hand-made audit for the tests of formats. Only compiled for tests.

use std::collections::BTreeMap;

use crate::audit::outcome::{
    Area, Audit, AuditFinding, Coverage, Digest, LockRecord, Locks, OutsideWrite, SCHEMA_VERSION, StateReport,
};
use crate::audit::snapshot::{ProbeResult, ProbeVerdict, Stats, Unread};
use crate::finding::Severity;
use crate::moment::Moment;
use crate::repo::inventory::LockMode;
use crate::report::sample::place;

/// When the sample was taken.
pub fn now() -> Moment {
    Moment::parse("2026-11-30T12:00:00Z").unwrap()
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

/// An audit that looked at nothing.
pub fn empty() -> Audit {
    Audit {
        schema_version: SCHEMA_VERSION,
        generated_at: now(),
        window_seconds: 14 * 86_400,
        stale_after_seconds: 7_200,
        states: Vec::new(),
        findings: Vec::new(),
        unread: Vec::new(),
        probes: Vec::new(),
        access: Vec::new(),
        stats: Stats::default(),
    }
}

/// A lock of some age in seconds.
pub fn lock(id: &str, who: &str, age: i64) -> LockRecord {
    LockRecord {
        id: Some(id.to_owned()),
        who: Some(who.to_owned()),
        operation: Some("OperationTypeApply".to_owned()),
        version: Some("1.11.4".to_owned()),
        created: Some(Moment::from_seconds(now().seconds() - age)),
        age_seconds: Some(age),
        ..LockRecord::default()
    }
}

/// The same lock as the table holds it.
pub fn in_table(record: LockRecord) -> LockRecord {
    LockRecord { table: Some("acme-locks".to_owned()), ..record }
}

/// A state.
pub fn state(path: &str, mode: LockMode, verdict: &str) -> StateReport {
    StateReport {
        bucket: "acme-tfstate".to_owned(),
        state_path: path.to_owned(),
        mode,
        mode_unknown: None,
        roots: vec![format!("stacks/{path}")],
        workspace: Some("default".to_owned()),
        exists: Some(true),
        last_written: Some(moment("2026-11-30T07:30:00Z")),
        locks: Locks::default(),
        digest: Digest { verdict: "matches".to_owned(), ..Digest::default() },
        coverage: Coverage { verdict: verdict.to_owned(), writes: 3, intervals: 5, ..Coverage::default() },
    }
}

/// A finding without locks.
pub fn finding(rule: &str, severity: Severity, subject: &str, message: &str) -> AuditFinding {
    AuditFinding {
        rule: rule.to_owned(),
        severity,
        subject: subject.to_owned(),
        place: None,
        message: message.to_owned(),
        help: None,
        locks: None,
        commands: Vec::new(),
        consequence: None,
        bucket: None,
        area: Area::Locks,
        ignored: None,
    }
}

/// Something that was refused.
pub fn unread(resource: &str, operation: &str, action: &str, hides_locks: bool) -> Unread {
    Unread {
        resource: resource.to_owned(),
        operation: operation.to_owned(),
        reason: "AccessDenied: not authorized".to_owned(),
        missing_action: Some(action.to_owned()),
        hides_locks,
    }
}

/// One of each.
pub fn audit() -> Audit {
    let stale = lock("fd7c2461-cb87-2db7-062f-a80e23e8cd7e", "ci@runner-7", 273_600);
    let both = Locks { s3: Some(stale.clone()), dynamodb: Some(in_table(stale)), ..Locks::default() };
    let writers = Locks {
        s3: Some(lock("aaaa", "ada@laptop", 600)),
        dynamodb: Some(in_table(lock("bbbb", "grace@ci", 540))),
        ..Locks::default()
    };
    let half = Locks {
        s3_unknown: Some("the listing did not come to its end".to_owned()),
        dynamodb: Some(in_table(lock("cccc", "old@client", 7_800))),
        ..Locks::default()
    };

    let mut dns = state("dns", LockMode::Dual, "proven");
    dns.locks = both.clone();
    dns.coverage.who = vec!["ci@runner-7".to_owned()];
    let mut network = state("network", LockMode::Dual, "contradicted");
    network.locks = writers.clone();
    network.digest = Digest {
        verdict: "stale".to_owned(),
        expected: Some("0".repeat(32)),
        actual: Some("1".repeat(32)),
        table: Some("acme-locks".to_owned()),
        reason: None,
    };
    network.coverage.outside =
        vec![OutsideWrite { at: moment("2026-11-29T10:00:00Z"), version_id: "v7".to_owned() }];
    let mut search = state("search", LockMode::Lockfile, "no-writes-seen");
    search.locks = half.clone();
    search.digest.verdict = "none".to_owned();
    let mut lost = state("lost", LockMode::Unknown, "not-provable");
    lost.mode_unknown = Some("no repository names it".to_owned());
    lost.roots = Vec::new();
    lost.workspace = None;
    lost.exists = None;
    lost.last_written = None;
    lost.coverage.reason = Some("the bucket is not versioned".to_owned());

    let mut two = finding(
        "two-writers",
        Severity::Critical,
        "s3://acme-tfstate/network",
        "two people hold a lock on this state at once",
    );
    two.locks = Some(writers);
    two.place = Some(place("stacks/network/backend.tf", 3, 5));
    two.consequence = Some("whoever writes last overwrites the other's changes".to_owned());
    two.help = Some("stop one of the runs, then compare the state with what is there".to_owned());
    let mut old = finding(
        "stale-lock",
        Severity::High,
        "s3://acme-tfstate/dns",
        "held for longer than 2 hours in both stores",
    );
    old.locks = Some(both);
    old.consequence = Some("every plan and apply of this state fails".to_owned());
    old.commands = vec![
        "cd stacks/dns && terraform force-unlock fd7c2461-cb87-2db7-062f-a80e23e8cd7e".to_owned(),
        "lockshift unlock s3://acme-tfstate/dns --id fd7c2461-cb87-2db7-062f-a80e23e8cd7e".to_owned(),
    ];
    let mut split = finding(
        "dynamodb-lock-on-lockfile-state",
        Severity::High,
        "s3://acme-tfstate/search",
        "a client that only knows the table locks a state that is lockfile-only",
    );
    split.locks = Some(half);
    let digest = |path: &str| {
        let mut found = finding(
            "digest-stale",
            Severity::Medium,
            &format!("s3://acme-tfstate/{path}"),
            "the table's digest is not the state's",
        );
        found.help = Some("delete the digest item".to_owned());
        found.consequence = Some("the next run that names the table fails".to_owned());
        found
    };
    let mut accepted = finding(
        "bucket-unversioned",
        Severity::Medium,
        "s3://acme-scratch",
        "versioning was never switched on",
    );
    accepted.ignored = Some("a scratch bucket".to_owned());
    Audit {
        states: vec![dns, lost, network, search],
        findings: vec![two, old, split, digest("network"), digest("other"), accepted],
        unread: vec![
            unread("arn:aws:dynamodb:eu-west-1:111122223333:table/other", "Scan", "dynamodb:Scan", true),
            unread("s3://acme-tfstate", "GetBucketPolicy", "s3:GetBucketPolicy", false),
        ],
        probes: vec![ProbeResult {
            bucket: "acme-tfstate".to_owned(),
            endpoint: None,
            honoured: true,
            verdict: ProbeVerdict::Enforced,
            conditional_delete: Some(true),
            steps: Vec::new(),
            at: now(),
        }],
        access: Vec::new(),
        stats: Stats {
            requests: BTreeMap::from([
                ("ListObjectVersions".to_owned(), 3),
                ("GetObject".to_owned(), 2),
                ("Scan".to_owned(), 1),
                ("GetBucketPolicy".to_owned(), 1),
            ]),
            pages: 4,
            retries: 1,
            objects: 41,
            items: 6,
            millis: 820,
        },
        ..empty()
    }
}

/// Text that tries to break out of every format.
pub const EVIL: &str = "=x|`\u{1b}[2J\"<b>&'],::%\n::error::x\r@me\u{202e}\u{9b}K](http://e){}\u{fffe}]]>\\";

/// An audit in which every text is [`EVIL`].
pub fn hostile() -> Audit {
    let evil = || EVIL.to_owned();
    let record = LockRecord {
        id: Some(evil()),
        who: Some(evil()),
        operation: Some(evil()),
        version: Some(evil()),
        created: None,
        age_seconds: Some(i64::MIN),
        unreadable: None,
        etag: Some(evil()),
        table: Some(evil()),
        table_arn: Some(evil()),
    };
    let broken = LockRecord { unreadable: Some(evil()), ..record.clone() };
    let locks = Locks { s3: Some(record), dynamodb: Some(broken), ..Locks::default() };
    let mut state = state(EVIL, LockMode::Unknown, EVIL);
    state.bucket = evil();
    state.mode_unknown = Some(evil());
    state.roots = vec![evil()];
    state.workspace = Some(evil());
    state.locks = locks.clone();
    let mut dark = state.clone();
    dark.state_path.push('2');
    dark.locks = Locks { s3_unknown: Some(evil()), dynamodb_unknown: Some(evil()), ..Locks::default() };
    state.digest = Digest {
        verdict: evil(),
        expected: Some(evil()),
        actual: None,
        table: Some(evil()),
        reason: Some(evil()),
    };
    state.coverage.reason = Some(evil());
    state.coverage.who = vec![evil()];
    state.coverage.outside = vec![OutsideWrite { at: now(), version_id: evil() }];
    let mut one = finding(EVIL, Severity::High, EVIL, EVIL);
    one.place = Some(place(EVIL, 2, 3));
    one.help = Some(evil());
    one.consequence = Some(evil());
    one.commands = vec![evil()];
    one.locks = Some(locks);
    let mut two = one.clone();
    two.place = None;
    two.locks = None;
    let mut accepted = two.clone();
    accepted.ignored = Some(evil());
    let mut unread = unread(EVIL, EVIL, EVIL, true);
    unread.reason = evil();
    Audit {
        states: vec![state, dark],
        findings: vec![one, two, accepted],
        unread: vec![unread],
        probes: vec![ProbeResult {
            bucket: evil(),
            endpoint: Some(evil()),
            honoured: false,
            verdict: ProbeVerdict::Ignored,
            conditional_delete: None,
            steps: Vec::new(),
            at: now(),
        }],
        access: Vec::new(),
        stats: Stats { requests: BTreeMap::from([(evil(), 1)]), ..Stats::default() },
        ..empty()
    }
}

/// The first character that no format for people may write raw.
pub fn raw_control(text: &str) -> Option<char> {
    text.chars().find(|c| c.is_control() && *c != '\n' || matches!(c, '\u{202e}'))
}
