use super::*;
use crate::audit::expected::Access;
use crate::audit::lock_info::LockBody;
use crate::repo::facts::{Grant, LockTable};
use crate::repo::inventory::{
    EffectiveBackend, Engine, Reader, RootKind, RootModule, SourceRef, VersionVerdict, Versions,
};
use crate::repo::mentions::Carrier;
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::source::SourceKind;

const NOW: Moment = Moment::from_seconds(1_800_000_000);

fn place() -> Place {
    Place { file: "main.tf".into(), line: 1, column: 1 }
}

fn table() -> TableRef {
    TableRef::of("locks", &Access { region: Some("eu-west-1".into()), ..Access::default() })
}

fn root(table: Knowable<String>, mode: LockMode) -> RootModule {
    let backend = EffectiveBackend {
        mode,
        bucket: Knowable::Known("b".into()),
        key: Knowable::Known("k".into()),
        region: Knowable::Absent,
        dynamodb_table: table,
        use_lockfile: Knowable::Known(true),
        workspace_key_prefix: Knowable::Absent,
        endpoint: Knowable::Absent,
        backend_config: Vec::new(),
        engine: Engine::Any,
        sources: vec![SourceRef {
            file: "main.tf".into(),
            line: 1,
            column: 1,
            kind: SourceKind::Backend,
            shadowed: false,
            git_ignored: false,
            report_only: None,
            source: 0,
        }],
    };
    RootModule {
        path: "envs/prod".into(),
        kind: RootKind::Terraform,
        backends: vec![backend],
        versions: Versions { verdict: VersionVerdict::Unknown, reason: String::new(), evidence: Vec::new() },
        owners: Vec::new(),
        called_by: Vec::new(),
        not_s3: None,
        link_of: None,
    }
}

fn scanned(inventory: &Inventory) -> Scanned<'_> {
    Scanned { inventory, mentions: &[], unsearched: &[] }
}

fn migrated() -> Inventory {
    Inventory { roots: vec![root(Knowable::Absent, LockMode::Lockfile)], ..Inventory::default() }
}

/// A table that nobody uses: one digest of a known state is left.
fn quiet() -> TableSnapshot {
    let digest = TableItem {
        lock_id: "b/k-md5".into(),
        body: None,
        digest: Some("d41d8cd98f00b204e9800998ecf8427e".into()),
        settled: Settled::NotAsked,
    };
    TableSnapshot {
        name: "locks".into(),
        region: Some("eu-west-1".into()),
        complete: true,
        exists: Read::Known(TableFacts { hash_key_is_lock_id: true, ..TableFacts::default() }),
        items: vec![digest],
        writes_per_day: Read::Known(vec![(NOW, 0.0)]),
        ..TableSnapshot::default()
    }
}

fn judge(inventory: &Inventory, found: TableSnapshot) -> Retirement {
    let snapshot = Snapshot { taken_at: NOW, tables: vec![found], ..Snapshot::default() };
    retire(&table(), Some(scanned(inventory)), &snapshot)
}

fn says(retirement: &Retirement, side: Side) -> Vec<&str> {
    retirement.evidence.iter().filter(|found| found.side == side).map(|found| found.says.as_str()).collect()
}

#[test]
fn a_table_that_nobody_names_writes_or_holds_is_ready() {
    let ready = judge(&migrated(), quiet());
    assert_eq!((ready.verdict, says(&ready, Side::Against).len()), (Verdict::Ready, 0), "{ready:?}");
    assert_eq!(says(&ready, Side::For).len(), 4);
    assert_eq!(
        ready.commands,
        [
            "aws dynamodb create-backup --region eu-west-1 --table-name locks --backup-name locks-retired",
            "aws dynamodb delete-table --region eu-west-1 --table-name locks",
            "# then remove what else goes with it, as listed above",
        ]
    );
}

#[test]
fn whatever_speaks_against_it_says_so() {
    let against = |inventory: &Inventory, found: TableSnapshot, text: &str| {
        let judged = judge(inventory, found);
        assert_eq!(judged.verdict, Verdict::NotReady, "{text}");
        let reasons = says(&judged, Side::Against);
        assert!(reasons.iter().any(|reason| reason.contains(text)), "{text}: {reasons:?}");
        assert!(judged.commands.iter().all(|command| command.starts_with('#')), "{text}");
    };
    let uses = Inventory { roots: vec![root(Knowable::Known("locks".into()), LockMode::Dual)], ..migrated() };
    against(&uses, quiet(), "envs/prod locks with it (dual)");
    let mut reads = migrated();
    reads.readers.push(Reader {
        name: "network".into(),
        place: place(),
        bucket: None,
        key: None,
        dynamodb_table: Some("arn:aws:dynamodb:eu-west-1:111122223333:table/locks".into()),
        dynamodb_table_unknown: None,
        source: 0,
    });
    against(&reads, quiet(), "reader `network`");
    let mut held = quiet();
    held.items.push(TableItem {
        lock_id: "b/k".into(),
        body: Some(LockBody::read(br#"{"ID":"1","Who":"ci@x","Path":"b/k"}"#)),
        digest: None,
        settled: Settled::Same,
    });
    against(&migrated(), held.clone(), "`b/k` is locked in it by ci@x");
    held.items.iter_mut().for_each(|item| item.settled = Settled::Gone);
    assert_eq!(judge(&migrated(), held).verdict, Verdict::Ready);
    let mut shared = quiet();
    shared.items.push(TableItem {
        lock_id: "other/k-md5".into(),
        body: None,
        digest: Some("x".into()),
        settled: Settled::NotAsked,
    });
    against(&migrated(), shared, "no scanned repository knows (`other/k`, …)");
    against(&migrated(), TableSnapshot { other_items: 2, ..quiet() }, "2 of its items");
    let written = Read::Known(vec![(NOW.before(std::time::Duration::from_secs(86_400)), 3.0)]);
    against(&migrated(), TableSnapshot { writes_per_day: written, ..quiet() }, "(1 d before the audit)");
    let listened = Read::Known(TableFacts { stream: true, ..TableFacts::default() });
    against(&migrated(), TableSnapshot { exists: listened, ..quiet() }, "a stream is on");
}

#[test]
fn tables_of_one_name_in_two_regions_are_two() {
    let arn = |region: &str| format!("arn:aws:dynamodb:{region}:111122223333:table/locks");
    let uses = |table: &str, region: Knowable<String>| {
        let mut root = root(Knowable::Known(table.into()), LockMode::Dual);
        root.backends[0].region = region;
        Inventory { roots: vec![root], ..Inventory::default() }
    };
    let known = |text: &str| Knowable::Known(text.to_owned());
    let says_it_is_used = |inventory: &Inventory| {
        let found = TableSnapshot { arn: Some(arn("eu-west-1")), ..quiet() };
        let judged = judge(inventory, found);
        says(&judged, Side::Against).iter().any(|reason| reason.contains("envs/prod locks with it"))
    };
    assert!(says_it_is_used(&uses("locks", known("eu-west-1"))));
    assert!(says_it_is_used(&uses("locks", Knowable::Absent)), "an unknown region tells nothing apart");
    assert!(says_it_is_used(&uses(&arn("eu-west-1"), known("us-east-1"))), "the ARN's region counts");
    assert!(!says_it_is_used(&uses("locks", known("us-east-1"))));
    assert!(!says_it_is_used(&uses(&arn("us-east-1"), known("eu-west-1"))));
    assert!(!says_it_is_used(&uses("arn:aws:dynamodb:eu-west-1:444455556666:table/locks", Knowable::Absent)));

    // A bare name takes its region from what was read, and is open where several were.
    let bare = TableRef::of("locks", &Access::default());
    let elsewhere = TableSnapshot { region: Some("us-east-1".into()), ..quiet() };
    let one = Snapshot { taken_at: NOW, tables: vec![elsewhere.clone()], ..Snapshot::default() };
    let ready = retire(&bare, Some(scanned(&migrated())), &one);
    assert_eq!(ready.verdict, Verdict::Ready, "{ready:?}");
    assert_eq!(ready.commands[1], "aws dynamodb delete-table --region us-east-1 --table-name locks");
    let two = Snapshot { tables: vec![quiet(), elsewhere], ..one };
    let open = retire(&bare, Some(scanned(&migrated())), &two);
    assert_eq!(open.verdict, Verdict::CantTell);
    assert!(says(&open, Side::Missing).iter().any(|reason| reason.contains("several tables")), "{open:?}");
}

#[test]
fn a_lock_that_is_held_was_written_whatever_cloudwatch_says() {
    let mut held = quiet();
    held.items.push(TableItem {
        lock_id: "b/k".into(),
        body: Some(LockBody::read(br#"{"ID":"1","Who":"ci@x","Path":"b/k"}"#)),
        digest: None,
        settled: Settled::Same,
    });
    for writes in [Read::Known(vec![(NOW, 0.0)]), Read::Absent] {
        let judged = judge(&migrated(), TableSnapshot { writes_per_day: writes, ..held.clone() });
        let speaks_for = says(&judged, Side::For);
        assert_eq!(speaks_for.len(), 2, "{speaks_for:?}");
        assert!(!speaks_for.iter().any(|reason| reason.contains("wrote") || reason.contains("write")));
    }
}

#[test]
fn what_is_missing_is_never_ready() {
    let missing = |retirement: Retirement, text: &str| {
        assert_eq!(retirement.verdict, Verdict::CantTell, "{text}");
        let reasons = says(&retirement, Side::Missing);
        assert!(reasons.iter().any(|reason| reason.contains(text)), "{text}: {reasons:?}");
    };
    missing(judge(&migrated(), TableSnapshot { writes_per_day: Read::NotAsked, ..quiet() }), "CloudWatch");
    missing(judge(&migrated(), TableSnapshot { complete: false, ..quiet() }), "not all read");
    missing(judge(&migrated(), TableSnapshot { exists: Read::Failed("denied".into()), ..quiet() }), "denied");
    missing(
        judge(&migrated(), TableSnapshot { name: "another".into(), ..quiet() }),
        "the table was not read",
    );
    let snapshot = Snapshot { taken_at: NOW, tables: vec![quiet()], ..Snapshot::default() };
    missing(retire(&table(), None, &snapshot), "no repository was scanned");
    let hidden = Inventory {
        roots: vec![root(Knowable::Unknown("var.table".into()), LockMode::Unknown)],
        ..migrated()
    };
    missing(judge(&hidden, quiet()), "var.table");
    let unread =
        Problem { kind: ProblemKind::Encrypted, place: place(), message: "encrypted".into(), excerpt: None };
    missing(judge(&Inventory { problems: vec![unread], ..migrated() }, quiet()), "encrypted");
}

#[test]
fn what_terraform_made_is_deleted_by_terraform() {
    let mut inventory = migrated();
    inventory.lock_tables.push(LockTable {
        address: "aws_dynamodb_table.locks".into(),
        name: Some("locks".into()),
        place: place(),
    });
    inventory.grants.push(Grant {
        kind: GrantKind::LockTable,
        resource: "arn:aws:dynamodb:*:*:table/locks".into(),
        place: place(),
    });
    let facts = TableFacts { deletion_protection: true, ..TableFacts::default() };
    let ready = judge(&inventory, TableSnapshot { exists: Read::Known(facts), ..quiet() });
    assert_eq!(ready.verdict, Verdict::Ready);
    assert_eq!(ready.goes_with_it.len(), 4, "{:?}", ready.goes_with_it);
    assert_eq!(
        ready.commands[1],
        "aws dynamodb update-table --region eu-west-1 --table-name locks --no-deletion-protection-enabled"
    );
    assert!(ready.commands[2].contains("aws_dynamodb_table.locks"));
    assert!(!ready.commands.iter().any(|command| command.contains("delete-table")));
}

fn mention(file: &str, line: usize, carrier: Carrier, sure: bool) -> Mention {
    Mention { place: Place { file: file.into(), line, column: 3 }, carrier, sure }
}

#[test]
fn carriers_go_with_it_once_for_each_file_and_say_what_is_not_sure() {
    let mut inventory = migrated();
    inventory.lock_tables.push(LockTable {
        address: "aws_dynamodb_table.locks".into(),
        name: Some("locks".into()),
        place: Place { file: "tables.tf".into(), line: 1, column: 1 },
    });
    let mentions = [
        mention("ci.yml", 4, Carrier::CiSecret("LOCK_TABLE".into()), false),
        mention("docs.md", 3, Carrier::Line, true),
        mention("docs.md", 9, Carrier::Line, true),
        mention("tables.tf", 2, Carrier::Block("aws_dynamodb_table.locks".into()), true),
        mention("vars.tf", 2, Carrier::Variable("table".into()), true),
    ];
    let unreadable = Problem {
        kind: ProblemKind::Unreadable,
        place: Place { file: "deploy.sh".into(), line: 1, column: 1 },
        message: "could not be read".into(),
        excerpt: None,
    };
    let snapshot = Snapshot { tables: vec![quiet()], taken_at: NOW, ..Snapshot::default() };
    let all =
        Scanned { inventory: &inventory, mentions: &mentions, unsearched: std::slice::from_ref(&unreadable) };
    let judged = retire(&table(), Some(all), &snapshot);
    let gone: Vec<String> = judged
        .goes_with_it
        .iter()
        .filter_map(|left| Some(format!("{} {}", left.place.as_ref()?, left.what)))
        .collect();
    assert_eq!(
        gone,
        [
            "tables.tf:1:1 the resource `aws_dynamodb_table.locks`",
            "ci.yml:4:3 the CI service's secret `LOCK_TABLE` (it may hold the name: its value is not known here)",
            "docs.md:3:3 2 lines that name it",
            "vars.tf:2:3 the variable `table`",
        ]
    );
    // What was not searched may name it.
    assert_eq!(judged.verdict, Verdict::CantTell);
    let searched = Scanned { unsearched: &[], ..all };
    let judged = retire(&table(), Some(searched), &snapshot);
    assert_eq!(judged.verdict, Verdict::Ready);
    assert_eq!(
        judged.commands.last().map(String::as_str),
        Some("# and, where nothing else uses them, the CI service's secret `LOCK_TABLE`")
    );
}
