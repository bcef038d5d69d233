//! A small hand-made inventory for the tests of formats. Only compiled for tests.

use std::collections::BTreeMap;

use super::history::{History, Modes, Point};
use crate::finding::{Finding, Severity};
use crate::moment::Moment;
use crate::repo::facts::{LockTable, Tool};
use crate::repo::inventory::{
    EffectiveBackend, Engine, Inventory, Knowable, LockMode, Reader, RootKind, RootModule, SourceRef,
    Unattributed, VersionEvidence, VersionVerdict, Versions,
};
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::source::SourceKind;
use crate::repo::text::Place;

/// `file:line:column`.
pub fn place(file: &str, line: usize, column: usize) -> Place {
    Place { file: file.to_owned(), line, column }
}

/// A known text; `""` is absent, `?why` is unknown.
pub fn text(value: &str) -> Knowable<String> {
    match value.strip_prefix('?') {
        Some(why) => Knowable::Unknown(why.to_owned()),
        None if value.is_empty() => Knowable::Absent,
        None => Knowable::Known(value.to_owned()),
    }
}

/// An effective backend that stands in `file`, line 2.
pub fn backend(file: &str, bucket: &str, key: &str, table: &str, lockfile: bool) -> EffectiveBackend {
    let dynamodb_table = text(table);
    let use_lockfile = if lockfile { Knowable::Known(true) } else { Knowable::Absent };
    EffectiveBackend {
        mode: LockMode::of(&dynamodb_table, &use_lockfile),
        bucket: text(bucket),
        key: text(key),
        region: text("eu-west-1"),
        dynamodb_table,
        use_lockfile,
        workspace_key_prefix: Knowable::Absent,
        endpoint: Knowable::Absent,
        backend_config: Vec::new(),
        engine: Engine::Any,
        sources: vec![SourceRef {
            file: file.to_owned(),
            line: 2,
            column: 3,
            kind: SourceKind::Backend,
            shadowed: false,
            git_ignored: false,
            report_only: None,
            source: 0,
        }],
    }
}

/// A root module without version evidence.
pub fn root(path: &str, backends: Vec<EffectiveBackend>) -> RootModule {
    RootModule {
        path: path.to_owned(),
        kind: RootKind::Terraform,
        backends,
        versions: Versions {
            verdict: VersionVerdict::Unknown,
            reason: "nothing says which version runs".to_owned(),
            evidence: Vec::new(),
        },
        owners: Vec::new(),
        called_by: Vec::new(),
        not_s3: None,
        link_of: None,
    }
}

/// One of each: four root modules in four modes, one of them with two backend-config files.
pub fn inventory() -> Inventory {
    let mut app = root(
        "apps/web",
        vec![
            backend("apps/web/main.tf", "tf-dev", "web.tfstate", "locks", true),
            backend("apps/web/main.tf", "tf-prod", "web.tfstate", "locks", false),
        ],
    );
    for (backend, file) in app.backends.iter_mut().zip(["env/dev.tfbackend", "env/prod.tfbackend"]) {
        backend.backend_config = vec![file.to_owned()];
    }
    app.owners = vec!["@acme/web".to_owned()];
    app.versions = Versions {
        verdict: VersionVerdict::AdmitsOlder,
        reason: "`>= 1.5` admits 1.9, which does not know use_lockfile".to_owned(),
        evidence: vec![VersionEvidence {
            tool: Tool::Terraform,
            text: ">= 1.5".to_owned(),
            origin: "required_version".to_owned(),
            place: place("apps/web/versions.tf", 2, 3),
            verdict: VersionVerdict::AdmitsOlder,
        }],
    };
    let mut done = root("envs/prod", vec![backend("envs/prod/main.tf", "tf-prod", "prod.tfstate", "", true)]);
    done.versions.verdict = VersionVerdict::Can;
    done.owners = vec!["@acme/platform".to_owned(), "@acme/web".to_owned()];
    Inventory {
        roots: vec![
            app,
            root("envs/lab", vec![backend("envs/lab/main.tf", "tf-dev", "lab.tfstate", "", false)]),
            done,
            root(
                "envs/stage",
                vec![backend(
                    "envs/stage/main.tf",
                    "tf-dev",
                    "?`var.key` has no default",
                    "?`var.table` has no default",
                    true,
                )],
            ),
        ],
        readers: vec![Reader {
            name: "network".to_owned(),
            place: place("envs/prod/data.tf", 1, 1),
            bucket: Some("tf-prod".to_owned()),
            key: Some("net.tfstate".to_owned()),
            dynamodb_table: Some("locks".to_owned()),
            dynamodb_table_unknown: None,
            source: 1,
        }],
        unattributed: vec![Unattributed {
            kind: SourceKind::Template,
            place: place("templates/backend.tf.j2", 1, 1),
            mode: LockMode::Dynamodb,
            bucket: None,
            dynamodb_table: Some("locks".to_owned()),
            reason: "a template: what is made of it is read where it lands".to_owned(),
            source: 2,
        }],
        lock_tables: vec![LockTable {
            address: "aws_dynamodb_table.locks".to_owned(),
            name: Some("locks".to_owned()),
            place: place("bootstrap/main.tf", 4, 1),
        }],
        problems: vec![
            Problem {
                kind: ProblemKind::Encrypted,
                place: place("secrets/backend.tf", 1, 1),
                message: "encrypted with git-crypt; unlock it and scan again".to_owned(),
                excerpt: None,
            },
            // Terraform refuses it, but it was read: a finding says so, no format for people says it twice.
            Problem {
                kind: ProblemKind::DuplicateBackend,
                place: place("twice/main.tf", 9, 3),
                message: "a second backend".to_owned(),
                excerpt: None,
            },
        ],
        ..Inventory::default()
    }
}

/// A finding of `rule` at `file:2:3`.
pub fn finding(rule: &str, severity: Severity, subject: &str, file: &str, message: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity,
        subject: subject.to_owned(),
        place: place(file, 2, 3),
        message: message.to_owned(),
        help: None,
        ignored: None,
    }
}

/// Two open findings and an ignored one.
pub fn findings() -> Vec<Finding> {
    let mut locks = finding(
        "dynamodb-only",
        Severity::Medium,
        "apps/web",
        "apps/web/main.tf",
        "state is locked in DynamoDB alone",
    );
    locks.help = Some("run `lockshift migrate --phase dual apps/web`".to_owned());
    let mut lab =
        finding("no-locking", Severity::High, "envs/lab", "envs/lab/main.tf", "no lock is taken at all");
    lab.help = Some("set `use_lockfile = true`".to_owned());
    let mut ignored = finding(
        "reader-names-table",
        Severity::Medium,
        "network",
        "envs/prod/data.tf",
        "checks the digest in `locks`",
    );
    ignored.ignored = Some("goes with the final phase".to_owned());
    vec![locks, lab, ignored]
}

/// An inventory and findings in which every text tries to break out of its format.
pub fn hostile() -> (Inventory, Vec<Finding>) {
    let evil = "=x|`\u{1b}[2J\"<b>,::%\n@me\u{202e}\u{9b}K](http://e)";
    let mut bad = root(evil, vec![backend(evil, evil, evil, evil, false)]);
    bad.owners = vec![evil.to_owned()];
    if let Some(backend) = bad.backends.first_mut() {
        backend.region = Knowable::Unknown(evil.to_owned());
        backend.backend_config = vec![evil.to_owned()];
    }
    let mut finding = finding("dynamodb-only", Severity::Medium, evil, evil, evil);
    finding.help = Some(evil.to_owned());
    let mut inventory = inventory();
    inventory.roots = vec![bad];
    for problem in &mut inventory.problems {
        problem.message = evil.to_owned();
        problem.place.file = evil.to_owned();
    }
    for reader in &mut inventory.readers {
        reader.name = evil.to_owned();
        reader.bucket = Some(evil.to_owned());
    }
    for source in &mut inventory.unattributed {
        source.reason = evil.to_owned();
        source.place.file = evil.to_owned();
    }
    (inventory, vec![finding])
}

/// Two commits that were looked at.
pub fn history() -> History {
    let counts = |modes: &[(&str, usize)]| -> Modes {
        modes.iter().map(|(mode, n)| ((*mode).to_owned(), *n)).collect()
    };
    let named = |name: &str, modes: &[(&str, usize)]| BTreeMap::from([(name.to_owned(), counts(modes))]);
    let all = |some: &[(&str, usize)]| {
        let mut all: Modes = LockMode::ALL.iter().map(|mode| (mode.as_str().to_owned(), 0)).collect();
        all.extend(counts(some));
        all
    };
    let point = |commit: &str, date: &str, modes: &[(&str, usize)], unread: usize| Point {
        commit: commit.repeat(40),
        date: Moment::parse(date).unwrap(),
        roots: modes.iter().map(|(_, n)| n).sum(),
        modes: all(modes),
        owners: named("@acme/web", modes),
        buckets: named("tf-dev", modes),
        accounts: named("(none)", modes),
        unread,
    };
    History {
        points: Some(vec![
            point("1", "2026-01-05T09:00:00Z", &[("dynamodb", 2)], 0),
            point("2", "2026-03-02T09:00:00Z", &[("dual", 2), ("lockfile", 1)], 1),
        ]),
        unknown: None,
    }
}
