//! Whole plans over small repositories and over the fixtures. Tests only.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::migrate::evidence::Evidence;
use crate::migrate::options::{History, path_glob};
use crate::repo::scan::{Collected, ScanOptions, Silent, collect};

const NOW: i64 = 1_790_000_000;
const DAY: i64 = 86_400;

/// A repository in a temporary directory, with what a plan is told about it.
struct Repo {
    _dir: Option<tempfile::TempDir>,
    collected: Collected,
    bytes: BTreeMap<String, Vec<u8>>,
    history: BTreeMap<String, History>,
    evidence: Option<Evidence>,
    prefix: String,
}

impl Repo {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if let Some(target) = text.strip_prefix("-> ") {
                std::os::unix::fs::symlink(target, path).unwrap();
            } else {
                fs::write(path, text).unwrap();
            }
        }
        let path = dir.path().to_owned();
        Self::scan(&path, Some(dir))
    }

    fn scan(path: &std::path::Path, dir: Option<tempfile::TempDir>) -> Self {
        let options = ScanOptions { paths: vec![path.to_owned()], ..ScanOptions::default() };
        let collected = collect(&options, &Silent).unwrap();
        let inventory = collected.inventory();
        let bytes: BTreeMap<String, Vec<u8>> = inventory
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.clone(), fs::read(&file.os_path).ok()?)))
            .collect();
        let history = bytes.keys().map(|path| (path.clone(), History::Since(NOW - 30 * DAY))).collect();
        let prefix = format!("{}/", path.to_str().unwrap());
        Self { _dir: dir, collected, bytes, history, evidence: None, prefix }
    }

    fn inventory(&self) -> Inventory {
        self.collected.inventory()
    }

    fn plan(&self, options: &Options) -> Plan {
        let context = Context {
            collected: &self.collected,
            bytes: &self.bytes,
            history: &self.history,
            evidence: self.evidence.as_ref(),
            now: NOW,
        };
        plan(&self.inventory(), &context, options)
    }

    /// The repository with a plan carried out.
    fn after(&self, plan: &Plan) -> BTreeMap<String, Vec<u8>> {
        let mut bytes = self.bytes.clone();
        let links = self.inventory().files;
        for file in &plan.files {
            assert_eq!(self.bytes[&file.file], file.before);
            bytes.insert(file.file.clone(), file.after.clone());
            for (path, _) in links.iter().filter(|(_, found)| found.link_target.as_ref() == Some(&file.file))
            {
                bytes.insert(path.clone(), file.after.clone());
            }
        }
        bytes
    }

    fn step(&mut self, options: &Options) -> Plan {
        let plan = self.plan(options);
        self.bytes = self.after(&plan);
        self.collected = self.collected.with_bytes(&self.bytes);
        plan
    }

    fn short<'a>(&self, path: &'a str) -> &'a str {
        let path = path.strip_prefix(self.prefix.as_str()).unwrap_or(path);
        path.strip_prefix(self.prefix.trim_start_matches('/')).unwrap_or(path)
    }

    fn gates(&self, plan: &Plan) -> Vec<String> {
        plan.refusals
            .iter()
            .map(|refusal| format!("{} {}", self.short(&refusal.root), refusal.gate))
            .collect()
    }

    fn text(&self, path: &str) -> String {
        let found = self.bytes.iter().find(|(shown, _)| self.short(shown) == path);
        String::from_utf8(found.unwrap_or_else(|| panic!("no {path}")).1.clone()).unwrap()
    }
}

fn waiving(phase: Phase, gates: &[&str]) -> Options {
    let waive = gates.iter().map(|gate| ((*gate).to_owned(), "a reason".to_owned())).collect();
    Options { waive, ..Options::new(phase) }
}

/// Everything that can be waived.
fn lenient(phase: Phase) -> Options {
    let gates: Vec<&str> = gate::ALL.iter().filter(|gate| gate.waivable).map(|gate| gate.id).collect();
    Options { rollback_table: Some("locks".to_owned()), ..waiving(phase, &gates) }
}

/// The fixtures where they stand: plans are carried out in memory. The path is relative, as on a command line.
fn monorepo() -> Repo {
    Repo::scan("fixtures/monorepo".as_ref(), None)
}

/// A backend block with these lines.
fn block(lines: &str) -> String {
    format!("terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key    = \"k\"\n\n{lines}  }}\n}}\n")
}

const TABLE_LINE: &str = "    dynamodb_table = \"t\"\n";
const BOTH_LINES: &str = "    dynamodb_table = \"t\"\n    use_lockfile   = true\n";

fn dynamodb() -> String {
    block(TABLE_LINE)
}

fn dual() -> String {
    block(BOTH_LINES)
}

/// The gates that stop a phase in a repository.
fn stops(files: &[(&str, &str)], options: &Options) -> Vec<String> {
    let repo = Repo::new(files);
    repo.gates(&repo.plan(options))
}

const NONE: [&str; 0] = [];

#[test]
fn dual_puts_the_lockfile_beside_the_table() {
    let mut repo = Repo::new(&[("a/main.tf", &dynamodb()), ("b/main.tf", &block(""))]);
    let plan = repo.step(&Options::new(Phase::Dual));
    assert_eq!(repo.text("a/main.tf"), dual());
    assert_eq!(plan.roots.len(), 1);
    let root = &plan.roots[0];
    assert_eq!((&root.before[..], &root.after[..]), (&[LockMode::Dynamodb][..], &[LockMode::Dual][..]));
    assert_eq!((&root.buckets[..], &root.tables[..]), (&["b".to_owned()][..], &["t".to_owned()][..]));
    assert_eq!(plan.unlocked.iter().map(|path| repo.short(path)).collect::<Vec<_>>(), ["b"]);
    assert_eq!(repo.gates(&plan), NONE);
    let again = repo.plan(&Options::new(Phase::Dual));
    assert_eq!((again.files.len(), again.roots.len()), (0, 0));
    assert_eq!(again.done.iter().map(|path| repo.short(path)).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn unlocked_backends_get_a_lock_when_asked_for() {
    let mut repo = Repo::new(&[("b/main.tf", &block(""))]);
    let options = Options { include_unlocked: true, ..Options::new(Phase::Dual) };
    let plan = repo.step(&options);
    assert_eq!(plan.roots[0].after, [LockMode::Lockfile]);
    assert!(repo.text("b/main.tf").contains("use_lockfile = true"));
    assert_eq!(repo.plan(&options).files, []);
}

#[test]
fn final_takes_the_table_from_every_source_with_what_is_dead_without_it() {
    let dead =
        "\n    dynamodb_endpoint = \"https://d\"\n    endpoints = {\n      dynamodb = \"https://d\"\n    }\n";
    let over = block(&format!("{BOTH_LINES}{dead}"));
    let mut repo = Repo::new(&[("a/main.tf", &dynamodb()), ("a/override.tf", &over)]);
    let plan = repo.step(&Options::new(Phase::Final));
    assert_eq!(repo.gates(&plan), NONE);
    let lockfile = block("    use_lockfile = true\n");
    assert_eq!(repo.text("a/main.tf"), lockfile);
    assert_eq!(repo.text("a/override.tf"), lockfile);
    assert_eq!(repo.plan(&Options::new(Phase::Final)).files, []);
}

#[test]
fn readers_lose_the_table_and_get_nothing() {
    let reader = "data \"terraform_remote_state\" \"n\" {\n  backend = \"s3\"\n  config = {\n    bucket         = \"b\"\n    \
                  key            = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n";
    let mut repo = Repo::new(&[("a/main.tf", &dual()), ("app/data.tf", reader)]);
    assert_eq!(repo.plan(&Options::new(Phase::Dual)).files, []);
    let plan = repo.step(&Options::new(Phase::Final));
    assert_eq!(repo.gates(&plan), NONE);
    assert_eq!(plan.files.len(), 2);
    assert_eq!(plan.files[1].roots, NONE);
    assert_eq!(
        repo.text("app/data.tf"),
        "data \"terraform_remote_state\" \"n\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key    = \
         \"k\"\n  }\n}\n"
    );
}

#[test]
fn rollback_goes_back_one_step_and_names_the_digests() {
    let lockfile = block("    region = \"eu-west-1\"\n    use_lockfile = true\n");
    let mut repo = Repo::new(&[("a/main.tf", &lockfile), ("b/main.tf", &dual())]);
    let unnamed = repo.plan(&Options::new(Phase::Rollback));
    assert_eq!(repo.gates(&unnamed), ["a table-unnamed"]);
    assert_eq!(unnamed.roots.len(), 1);
    let options = Options { rollback_table: Some("t".into()), ..Options::new(Phase::Rollback) };
    let plan = repo.step(&options);
    assert_eq!(
        plan.roots.iter().map(|root| root.after[0]).collect::<Vec<_>>(),
        [LockMode::Dual, LockMode::Dynamodb]
    );
    assert_eq!(repo.text("b/main.tf"), dynamodb());
    assert_eq!(plan.manual.len(), 1);
    assert_eq!(
        plan.manual[0].write,
        "aws dynamodb delete-item --table-name t --region eu-west-1 --key '{\"LockID\":{\"S\":\"b/k-md5\"}}'"
    );
}

#[test]
fn versions() {
    let with =
        |version: &str| format!("terraform {{\n  required_version = \"{version}\"\n}}\n{}", dynamodb());
    let run = |version: &str, options: &Options| stops(&[("a/main.tf", &with(version))], options);
    let dual = Options::new(Phase::Dual);
    assert_eq!(run("~> 1.5.0", &dual), ["a version-too-old"]);
    assert_eq!(run(">= 1.5", &dual), ["a version-unproven"]);
    assert_eq!(run(">= 1.11", &dual), NONE);
    assert_eq!(run(">= 1.5", &Options::new(Phase::Rollback)), NONE);
    let mut repo = Repo::new(&[("a/main.tf", &with(">= 1.5, < 2.0"))]);
    let bump = Options { bump_required_version: true, ..dual };
    let plan = repo.step(&bump);
    assert_eq!(repo.gates(&plan), NONE);
    assert!(repo.text("a/main.tf").contains("required_version = \">= 1.11, < 2.0\"\n"));
    assert_eq!(repo.plan(&bump).files, []);
    assert_eq!(run("1.5.7", &bump), ["a version-too-old"]);
    let repo = Repo::new(&[("a/main.tf", &with(">= 1.5, != 1.12.0-rc1"))]);
    assert_eq!(repo.plan(&bump).roots.len(), repo.plan(&Options::new(Phase::Dual)).roots.len());
}

#[test]
fn a_waived_gate_lands_in_the_plan_and_a_firm_one_stays() {
    let old = format!("terraform {{\n  required_version = \">= 1.5\"\n}}\n{}", dynamodb());
    let repo = Repo::new(&[("a/main.tf", &old), ("b/main.tf", &block("    dynamodb_table = var.t\n"))]);
    let options = waiving(Phase::Dual, &["version-unproven", "unresolved-setting"]);
    let plan = repo.plan(&options);
    assert_eq!(repo.gates(&plan), ["b unresolved-setting"]);
    assert_eq!(plan.waived.len(), 1);
    assert_eq!(
        (plan.waived[0].gate.as_str(), plan.waived[0].reason.as_str()),
        ("version-unproven", "a reason")
    );
    assert_eq!(plan.waived[0].roots.iter().map(|path| repo.short(path)).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_dual_phase_comes_first() {
    assert_eq!(stops(&[("a/main.tf", &dynamodb())], &Options::new(Phase::Final)), ["a dual-phase-skipped"]);
    assert_eq!(stops(&[("a/main.tf", &dual())], &Options::new(Phase::Final)), NONE);
    assert_eq!(stops(&[("a/main.tf", &dynamodb())], &Options::new(Phase::Dual)), NONE);
}

#[test]
fn soak_time() {
    let mut repo = Repo::new(&[("a/main.tf", &dual())]);
    let mut gates = |history: Option<History>, days| {
        match history {
            Some(history) => repo.history.values_mut().for_each(|value| *value = history.clone()),
            None => repo.history.clear(),
        }
        repo.gates(&repo.plan(&Options { soak_days: days, ..Options::new(Phase::Final) }))
    };
    assert_eq!(gates(Some(History::Since(NOW - 14 * DAY)), 14), NONE);
    assert_eq!(gates(Some(History::Since(NOW - 14 * DAY + 1)), 14), ["a soak-too-short"]);
    assert_eq!(gates(Some(History::Unknown("shallow clone".into())), 14), ["a soak-too-short"]);
    assert_eq!(gates(None, 14), ["a soak-too-short"]);
    assert_eq!(gates(None, 0), NONE);
}

#[test]
fn endpoints() {
    let at = |endpoint: &str| block(&format!("    endpoints = {{ s3 = \"{endpoint}\" }}\n{TABLE_LINE}"));
    let options = Options::new(Phase::Dual);
    assert_eq!(
        stops(&[("a/main.tf", &at("https://minio.acme.test:9000"))], &options),
        ["a endpoint-unproven"]
    );
    assert_eq!(
        stops(&[("a/main.tf", &at("https://amazonaws.com.evil.test"))], &options),
        ["a endpoint-unproven"]
    );
    assert_eq!(stops(&[("a/main.tf", &at("https://s3.eu-west-1.amazonaws.com/"))], &options), NONE);
    assert_eq!(stops(&[("a/main.tf", &at("https://minio.acme.test"))], &Options::new(Phase::Rollback)), NONE);
    let mut repo = Repo::new(&[("a/main.tf", &at("https://minio.acme.test"))]);
    for (honoured, gates) in [(true, &[][..]), (false, &["a endpoint-unproven"][..])] {
        let json = format!("{{\"probes\":[{{\"bucket\":\"b\",\"honoured\":{honoured}}}]}}");
        repo.evidence = Some(Evidence::parse(json.as_bytes()).unwrap());
        assert_eq!(repo.gates(&repo.plan(&options)), gates);
    }
}

#[test]
fn runs_without_a_lock() {
    let script = "#!/bin/sh\nterraform apply -lock=false\n";
    let table = dynamodb();
    let files = |path: &'static str| [("envs/a/main.tf", table.clone()), (path, script.to_owned())];
    let run = |path: &'static str, phase| {
        let files = files(path);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        stops(&files, &Options::new(phase))
    };
    for script in ["envs/a/run.sh", "run.sh", "scripts/run.sh", "envs/.ci/run.sh"] {
        assert_eq!(run(script, Phase::Dual), ["envs/a lock-disabled-in-ci"], "{script}");
        assert_eq!(run(script, Phase::Rollback), NONE);
    }
    let other = [("envs/a/main.tf", table.as_str()), ("x/main.tf", &block("")), ("x/run.sh", script)];
    assert_eq!(stops(&other, &Options::new(Phase::Dual)), NONE);
}

#[test]
fn overrides_that_drop_a_lock() {
    let dropped = block("");
    let run = |over: &str| {
        stops(&[("a/main.tf", &dynamodb()), ("a/override.tf", over)], &Options::new(Phase::Dual))
    };
    assert_eq!(run(&dropped), ["a override-unset"]);
    assert_eq!(run(&block("    use_lockfile = true\n")), NONE);
    assert_eq!(run(&dynamodb()), NONE);
}

#[test]
fn readers_that_keep_the_table() {
    let reader = |config: &str| {
        format!("data \"terraform_remote_state\" \"n\" {{\n  backend = \"s3\"\n  config = {config}\n}}\n")
    };
    let run = |config: &str, phase| {
        stops(&[("a/main.tf", &dual()), ("app/data.tf", &reader(config))], &Options::new(phase))
    };
    let computed = "merge(local.x, { dynamodb_table = \"t\" })";
    assert_eq!(run(computed, Phase::Final), ["a reader-names-table"]);
    assert_eq!(run(computed, Phase::Dual), NONE);
    assert_eq!(
        run("{\n    bucket = \"b\"\n    key    = \"k\"\n    dynamodb_table = \"t\"\n  }", Phase::Final),
        NONE
    );
    // Outside of the paths that were asked for it is not edited.
    let repo = Repo::new(&[
        ("a/main.tf", &dual()),
        ("app/data.tf", &reader("{\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }")),
        ("app/more.tf", &reader("{\n    bucket = \"c\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }")),
    ]);
    let glob = path_glob(&format!("{}a", repo.prefix)).unwrap();
    let options = Options { paths: vec![glob], ..Options::new(Phase::Final) };
    let plan = repo.plan(&options);
    assert_eq!(repo.gates(&plan), ["a reader-names-table"]);
    assert_eq!(repo.short(&plan.refusals[0].file), "app/data.tf");
}

#[test]
fn what_terraform_refuses_and_what_could_not_be_read() {
    let both = [("a/main.tf", dynamodb()), ("a/other.tf", dynamodb())];
    let both: Vec<(&str, &str)> = both.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(stops(&both, &Options::new(Phase::Dual)), ["a not-initialisable", "a unresolved-setting"]);
    let yes = block("    use_lockfile = \"yes\"\n    dynamodb_table = \"t\"\n");
    assert_eq!(
        stops(&[("a/main.tf", &yes)], &Options::new(Phase::Dual)),
        ["a not-initialisable", "a unresolved-setting"]
    );
    let broken = "terraform {\n  backend \"s3\" {\n    bucket = \"b\n";
    let files = [("a/main.tf", &dynamodb()[..]), ("a/z_override.tf", broken), ("b/main.tf", &dynamodb())];
    assert_eq!(stops(&files, &Options::new(Phase::Dual)), ["a unread"]);
}

#[test]
fn evidence() {
    let mut repo = Repo::new(&[("a/main.tf", &dual())]);
    let mut gates = |date: &str, verdict: &str, phase| {
        let json = format!(
            "{{\"generated_at\":\"{date}\",\"states\":[{{\"bucket\":\"b\",\"state_path\":\"k\",\"locks\":{{}},\
             \"coverage\":{{\"verdict\":\"{verdict}\"}}}}]}}"
        );
        repo.evidence = Some(Evidence::parse(json.as_bytes()).unwrap());
        repo.gates(&repo.plan(&Options::new(phase)))
    };
    // NOW is 2026-09-21T14:13:20Z.
    assert_eq!(gates("2026-09-21T10:00:00Z", "proven", Phase::Final), NONE);
    assert_eq!(gates("2026-09-20T10:00:00Z", "proven", Phase::Final), ["a evidence-stale"]);
    assert_eq!(gates("2026-09-21T10:00:00Z", "contradicted", Phase::Final), ["a evidence-contradicts"]);
    assert_eq!(gates("2026-09-20T10:00:00Z", "contradicted", Phase::Rollback), NONE);
}

#[test]
fn one_shared_source_is_all_or_nothing() {
    let version = "terraform {\n  required_version = \"~> 1.5.0\"\n}\n";
    let files = [
        ("a/main.tf", "-> ../shared/main.tf"),
        ("b/main.tf", "-> ../shared/main.tf"),
        ("shared/main.tf", &dynamodb()),
    ];
    let mut repo = Repo::new(&files);
    let plan = repo.step(&Options::new(Phase::Dual));
    assert_eq!(repo.gates(&plan), NONE);
    assert_eq!(plan.files.len(), 1);
    assert_eq!(repo.short(&plan.files[0].file), "shared/main.tf");
    assert_eq!(plan.files[0].roots.len(), 3);
    assert_eq!(repo.text("a/main.tf"), dual());
    assert_eq!(repo.plan(&Options::new(Phase::Dual)).files, []);

    let table = dynamodb();
    let mut refused = files.to_vec();
    refused.push(("a/versions.tf", version));
    refused.push(("c/main.tf", &table));
    let repo = Repo::new(&refused);
    let plan = repo.plan(&Options::new(Phase::Dual));
    assert_eq!(
        repo.gates(&plan),
        ["a version-too-old", "b shared-file-refused", "shared shared-file-refused"]
    );
    assert_eq!(plan.files.iter().map(|file| repo.short(&file.file)).collect::<Vec<_>>(), ["c/main.tf"]);

    // One that was left out holds the others, too.
    let repo = Repo::new(&files);
    let options = Options {
        paths: vec![path_glob(&format!("{}b", repo.prefix)).unwrap()],
        ..Options::new(Phase::Dual)
    };
    assert_eq!(repo.gates(&repo.plan(&options)), ["b shared-file-refused"]);
}

#[test]
fn what_is_there_already_is_not_refused_for_what_others_lack() {
    let remote = |lines: &str| {
        format!(
            "remote_state {{\n  backend = \"s3\"\n  config = {{\n    bucket = \"b\"\n    key = \"k\"\n{lines}  }}\n}}\n"
        )
    };
    let include = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n";
    let (root, own) = (remote(BOTH_LINES), remote("    use_lockfile = true\n"));
    let over = format!("{include}{own}");
    let files =
        [("root.hcl", root.as_str()), ("a/terragrunt.hcl", over.as_str()), ("b/terragrunt.hcl", include)];
    let strict = Options::new(Phase::Final);

    // Nothing stands against either: what is hidden goes, too.
    let repo = Repo::new(&files);
    let plan = repo.plan(&strict);
    assert_eq!(repo.gates(&plan), NONE);
    assert_eq!(plan.files.iter().map(|file| repo.short(&file.file)).collect::<Vec<_>>(), ["root.hcl"]);

    // The one that needs the change waits; the other is done, and the file they share stays.
    let mut repo = Repo::new(&files);
    repo.history.clear();
    let plan = repo.plan(&strict);
    assert_eq!(repo.gates(&plan), ["b soak-too-short"]);
    assert_eq!(plan.done.iter().map(|root| repo.short(root)).collect::<Vec<_>>(), ["a"]);
    assert_eq!(plan.files, []);

    // The same where the other one was not asked for.
    let repo = Repo::new(&files);
    let only = |dir: &str, phase: Phase| Options {
        paths: vec![path_glob(&format!("{}{dir}", repo.prefix)).unwrap()],
        ..Options::new(phase)
    };
    let plan = repo.plan(&only("a", Phase::Final));
    assert_eq!(repo.gates(&plan), NONE);
    assert_eq!(plan.done.iter().map(|root| repo.short(root)).collect::<Vec<_>>(), ["a"]);
    assert_eq!(plan.files, []);
    let plan = repo.plan(&only("b", Phase::Final));
    assert_eq!(repo.gates(&plan), NONE);
    assert_eq!(plan.files.len(), 1);

    // A unit that does change is not held by a hidden file of others either.
    let own = remote(BOTH_LINES);
    let over = format!("{include}{own}");
    let files =
        [("root.hcl", root.as_str()), ("a/terragrunt.hcl", over.as_str()), ("b/terragrunt.hcl", include)];
    let mut repo = Repo::new(&files);
    repo.history.retain(|path, _| !path.ends_with("root.hcl"));
    let plan = repo.plan(&strict);
    assert_eq!(repo.gates(&plan), ["b soak-too-short"]);
    assert_eq!(
        plan.files.iter().map(|file| repo.short(&file.file)).collect::<Vec<_>>(),
        ["a/terragrunt.hcl"]
    );

    // What could not be read may be what hides the file: that one holds the others as before.
    let own = remote("    use_lockfile = true\n");
    let broken = format!("{include}{own}locals {{\n  x = \"\n");
    let files =
        [("root.hcl", root.as_str()), ("a/terragrunt.hcl", broken.as_str()), ("b/terragrunt.hcl", include)];
    let repo = Repo::new(&files);
    let plan = repo.plan(&strict);
    assert_eq!(plan.files, []);
    assert!(repo.gates(&plan).contains(&"a unread".to_owned()), "{:?}", repo.gates(&plan));
}

#[test]
fn a_unit_that_is_made_from_a_shared_file_holds_it() {
    let root = "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n";
    let include = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n";
    let unit = |strategy: &str, from: &str| {
        format!(
            "include \"root\" {{\n  path = find_in_parent_folders(\"root.hcl\")\n  expose = true\n{strategy}}}\nremote_state {{\n  backend = \"s3\"\n  config = {from}\n}}\n"
        )
    };
    let made = "merge(include.root.remote_state.config, { region = \"r\" })";
    for (strategy, from, expected) in [
        ("", made, &["a shared-file-refused", "d unresolved-setting"][..]),
        ("  merge_strategy = \"no_merge\"\n", made, &["a shared-file-refused", "d unresolved-setting"]),
        ("", "get_env(\"CONFIG\")", &["d unresolved-setting"]),
        ("  merge_strategy = \"no_merge\"\n", "get_env(\"CONFIG\")", &["d unresolved-setting"]),
    ] {
        let own = unit(strategy, from);
        let repo =
            Repo::new(&[("root.hcl", root), ("a/terragrunt.hcl", include), ("d/terragrunt.hcl", &own)]);
        let plan = repo.plan(&Options::new(Phase::Dual));
        assert_eq!(repo.gates(&plan), expected, "{own}");
        assert_eq!(plan.files.is_empty(), expected.len() == 2);
    }
}

#[test]
fn a_file_that_a_flag_overrides_holds_nobody() {
    // `common.tfbackend` names the table; `a` switches it off in a later file, and takes the lockfile alone.
    let part = "terraform {\n  backend \"s3\" {\n    key = \"k\"\n  }\n}\n";
    let common = "bucket         = \"b\"\ndynamodb_table = \"t\"\nuse_lockfile   = true\n";
    let files = [
        ("common.tfbackend", common),
        ("a/main.tf", part),
        ("a/off.tfbackend", "dynamodb_table = \"\"\n"),
        ("a/run.sh", "terraform init -backend-config=../common.tfbackend -backend-config=off.tfbackend\n"),
        ("b/main.tf", part),
        ("b/run.sh", "terraform init -backend-config=../common.tfbackend\n"),
    ];
    let mut repo = Repo::new(&files);
    repo.history.clear();
    let plan = repo.plan(&Options::new(Phase::Final));
    assert_eq!(repo.gates(&plan), ["b soak-too-short"]);
    assert_eq!(plan.done.iter().map(|root| repo.short(root)).collect::<Vec<_>>(), ["a"]);

    // A var-file that need not change asks for nothing.
    let mut shared = files.to_vec();
    let both = format!("{}terraform plan -var-file=../common.tfbackend\n", files[3].1);
    shared.retain(|(path, _)| !path.starts_with("b/") && *path != "a/run.sh");
    shared.push(("a/run.sh", &both));
    let repo = Repo::new(&shared);
    assert_eq!(repo.inventory().shared_var_files.len(), 1);
    let plan = repo.plan(&Options::new(Phase::Final));
    assert_eq!((repo.gates(&plan), plan.files.len()), (Vec::new(), 0));
    assert_eq!(plan.done.iter().map(|root| repo.short(root)).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_choice_without_a_lock_holds_the_block_that_it_shares() {
    let files = [
        (
            "a/main.tf",
            "terraform {\n  backend \"s3\" {\n    key            = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n",
        ),
        ("a/on.tfbackend", "bucket = \"on\"\n"),
        ("a/off.tfbackend", "bucket         = \"off\"\ndynamodb_table = \"\"\n"),
    ];
    let mut repo = Repo::new(&files);
    assert_eq!(repo.gates(&repo.plan(&Options::new(Phase::Dual))), ["a shared-file-refused"]);
    let options = Options { include_unlocked: true, ..Options::new(Phase::Dual) };
    let plan = repo.step(&options);
    assert_eq!(repo.gates(&plan), NONE);
    assert_eq!(plan.roots[0].after.iter().map(|mode| mode.as_str()).collect::<BTreeSet<_>>().len(), 2);
}

#[test]
fn what_can_not_be_proven_is_refused_and_the_rest_goes_on() {
    // One choice would need the block's lockfile, the other one would need it gone.
    let files = [
        (
            "a/main.tf",
            "terraform {\n  backend \"s3\" {\n    key          = \"k\"\n    use_lockfile = true\n  }\n}\n",
        ),
        ("a/on.tfbackend", "bucket         = \"on\"\ndynamodb_table = \"t\"\n"),
        ("a/off.tfbackend", "bucket = \"off\"\n"),
        ("b/main.tf", &dual()),
    ];
    let repo = Repo::new(&files);
    let options = Options { rollback_table: Some("t".into()), ..Options::new(Phase::Rollback) };
    let plan = repo.plan(&options);
    assert_eq!(repo.gates(&plan), ["a edit-not-proven"]);
    assert_eq!(plan.files.iter().map(|file| repo.short(&file.file)).collect::<Vec<_>>(), ["b/main.tf"]);
}

#[test]
fn links_that_lead_out_and_generated_copies_are_for_people() {
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("main.tf");
    fs::write(&target, dynamodb()).unwrap();
    let repo = Repo::new(&[("a/main.tf", &format!("-> {}", target.display()))]);
    let plan = repo.plan(&Options::new(Phase::Dual));
    assert_eq!(repo.gates(&plan), ["a source-not-editable"]);
    assert_eq!(plan.manual.len(), 1);
    assert_eq!((plan.manual[0].line, plan.manual[0].write.as_str()), (6, "use_lockfile = true"));

    let generated = format!("// TERRAMATE: GENERATED AUTOMATICALLY DO NOT EDIT\n\n{}", dynamodb());
    let repo = Repo::new(&[("a/_backend.tf", &generated)]);
    let plan = repo.plan(&Options::new(Phase::Dual));
    assert_eq!(repo.gates(&plan), ["a generated-copy"]);
    assert_eq!(plan.files, []);
}

#[test]
fn a_source_of_nobody_that_keeps_the_table() {
    let flat = |lines: &str| format!("bucket = \"b\"\nkey    = \"k\"\n{lines}");
    let run = |lines: &str| {
        let repo = Repo::new(&[("a/main.tf", &dual()), ("a/x.conf", &flat(lines))]);
        let plan = repo.plan(&Options::new(Phase::Final));
        (repo.gates(&plan), plan.files.len())
    };
    let (gates, files) = run("dynamodb_table = \"t\"\n");
    assert_eq!(
        (gates.iter().map(String::as_str).collect::<Vec<_>>(), files),
        (vec!["a dual-phase-skipped", "a still-dual"], 0)
    );
    let (gates, files) = run("dynamodb_table = \"t\"\nuse_lockfile = true\n");
    assert_eq!((gates, files), (Vec::new(), 2));
}

#[test]
fn a_source_of_nobody_asks_the_versions_of_those_it_may_be_meant_for() {
    let script = "terraform init -backend-config=\"bucket=b\" -backend-config=\"dynamodb_table=t\"\n";
    let flags = |version: &str| {
        let files = [
            ("a/main.tf", dynamodb()),
            ("a/.terraform-version", format!("{version}\n")),
            ("shared/init.sh", script.to_owned()),
        ];
        let repo = Repo::new(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
        let plan = repo.plan(&waiving(Phase::Final, &["dual-phase-skipped"]));
        let edited: Vec<String> = plan.files.iter().map(|file| repo.short(&file.file).to_owned()).collect();
        (repo.gates(&plan), edited)
    };
    assert_eq!(flags("1.11.0"), (vec![], vec!["a/main.tf".to_owned(), "shared/init.sh".to_owned()]));
    let (gates, edited) = flags("1.4.6");
    assert_eq!(edited, Vec::<String>::new(), "{gates:?}");
    assert!(gates.iter().any(|gate| gate.contains("version-too-old")), "{gates:?}");

    let origin = "generate_hcl \"backend.tf\" {\n  content {\n    terraform {\n      backend \"s3\" {\n        \
                  bucket = \"b\"\n        key = \"k\"\n        dynamodb_table = \"t\"\n      }\n    }\n  }\n}\n";
    let copy = format!("// TERRAMATE: GENERATED AUTOMATICALLY DO NOT EDIT\n\n{}", dynamodb());
    let generated = |version: &str| {
        let files = [
            ("backend.tm.hcl", origin),
            ("new/backend.tf", copy.as_str()),
            ("new/.terraform-version", "1.11.0\n"),
            ("old/backend.tf", copy.as_str()),
            ("old/.terraform-version", version),
        ];
        let repo = Repo::new(&files);
        let plan = repo.plan(&waiving(Phase::Final, &["dual-phase-skipped"]));
        plan.files.iter().map(|file| repo.short(&file.file).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(generated("1.11.0\n"), ["backend.tm.hcl"]);
    assert_eq!(generated("1.9.0\n"), Vec::<String>::new());
}

#[test]
fn a_limit_takes_whole_groups_in_order() {
    let reader = "data \"terraform_remote_state\" \"n\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"z\"\n    key = \
                  \"z\"\n    dynamodb_table = \"t\"\n  }\n}\n";
    let repo = Repo::new(&[
        ("a/main.tf", &dual()),
        ("b/main.tf", &dual()),
        ("c/main.tf", &dual()),
        ("c/data.tf", reader),
        ("d/main.tf", "-> ../a/main.tf"),
    ]);
    let roots = |options: &Options| {
        let plan = repo.plan(options);
        plan.roots.iter().map(|root| repo.short(&root.path).to_owned()).collect::<Vec<_>>()
    };
    let one = Options { limit: Some(1), ..Options::new(Phase::Final) };
    assert_eq!(roots(&one), ["a", "d"]);
    assert_eq!(roots(&Options { readers_first: true, ..one.clone() }), ["c"]);
    assert_eq!(repo.plan(&one).files.len(), 1);
    assert_eq!(roots(&Options { limit: Some(3), ..one }), ["a", "b", "d"]);
    let other = Options { buckets: vec!["other".into()], ..Options::new(Phase::Final) };
    assert_eq!(roots(&other), NONE);
    let by_table = Options { tables: vec!["t".into()], ..Options::new(Phase::Final) };
    assert_eq!(roots(&by_table), ["a", "b", "c", "d"]);
}

#[test]
fn the_fixtures_go_through_all_phases() {
    let mut repo = monorepo();
    let at_first = repo.bytes.clone();
    let plan = repo.step(&lenient(Phase::Dual));
    assert!(plan.roots.len() > 30, "{}", plan.roots.len());
    let gates: BTreeSet<&str> = plan.refusals.iter().map(|refusal| refusal.gate.as_str()).collect();
    assert_eq!(
        gates.into_iter().collect::<Vec<_>>(),
        ["generated-copy", "not-initialisable", "unresolved-setting"]
    );
    let again = repo.plan(&lenient(Phase::Dual));
    assert_eq!(again.files, [], "dual twice is dual");
    assert_eq!(again.manual, plan.manual);

    // What was in dual mode before is not restored by a step back, so only what dual changed is asked for.
    let changed: BTreeSet<String> = plan.files.iter().map(|file| file.file.clone()).collect();
    let roots = plan.roots.iter().map(|root| path_glob(&globset::escape(&root.path)).unwrap()).collect();
    let after_dual = repo.bytes.clone();
    let back = repo.plan(&Options { paths: roots, ..lenient(Phase::Rollback) });
    let restored = repo.after(&back);
    for file in back.files.iter().map(|file| &file.file).filter(|file| changed.contains(*file)) {
        let literal = !String::from_utf8_lossy(&at_first[file]).contains("use_lockfile");
        assert!(!literal || restored[file] == at_first[file], "{file}");
    }

    let plan = repo.step(&lenient(Phase::Final));
    assert!(plan.roots.len() > 40, "{}", plan.roots.len());
    assert_eq!(repo.plan(&lenient(Phase::Final)).files, [], "final twice is final");
    let mut direct = monorepo();
    direct.step(&lenient(Phase::Final));
    for (file, bytes) in &direct.bytes {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(bytes), text(&repo.bytes[file]), "{file}: final after dual is final");
    }
    assert!(after_dual != repo.bytes);
    for root in
        repo.inventory().roots.iter().filter(|root| plan.roots.iter().any(|done| done.path == root.path))
    {
        assert!(
            root.backends.iter().all(|backend| matches!(backend.mode, LockMode::Lockfile | LockMode::None)),
            "{}",
            root.path
        );
    }
}

#[test]
fn a_var_file_keeps_its_root_module_from_the_final_phase() {
    let mut repo = monorepo();
    repo.step(&lenient(Phase::Dual));
    let mut options = lenient(Phase::Final);
    options.waive.remove("required-variable-left");
    let gates = repo.gates(&repo.plan(&options));
    let gates: Vec<&String> = gates.iter().filter(|gate| gate.contains("required-variable-left")).collect();
    assert_eq!(gates, ["partial/loyalty required-variable-left"]);
}

#[test]
#[ignore = "writes 10,000 files; run it to measure"]
fn ten_thousand_root_modules() {
    let text = dynamodb();
    let paths: Vec<String> = (0..10_000).map(|at| format!("r{at:05}/main.tf")).collect();
    let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), text.as_str())).collect();
    let version = "terraform {\n  required_version = \"~> 1.5.0\"\n}\n";
    files.push(("r00007/versions.tf", version));
    let repo = Repo::new(&files);
    let began = std::time::Instant::now();
    let plan = repo.plan(&Options::new(Phase::Dual));
    assert_eq!(plan.roots.len(), 9_999);
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    println!("{:?}", began.elapsed());
}

#[test]
fn what_git_ignores_here_is_absent_elsewhere() {
    let mut repo = monorepo();
    let mut options = lenient(Phase::Final);
    options.waive.remove("dual-phase-skipped");
    let stopped = |repo: &Repo| {
        let plan = repo.plan(&options);
        plan.refusals.iter().any(|refusal| {
            refusal.root.ends_with("overrides/git-ignored") && refusal.gate == "dual-phase-skipped"
        })
    };
    assert!(stopped(&repo), "the block that counts elsewhere names the table alone");
    let plan = repo.step(&Options::new(Phase::Dual));
    let root = plan.roots.iter().find(|root| root.path.ends_with("overrides/git-ignored")).unwrap();
    assert_eq!(
        root.files.iter().map(|file| repo.short(file)).collect::<Vec<_>>(),
        ["overrides/git-ignored/main.tf"]
    );
    assert!(!stopped(&repo));
}

#[test]
fn flags_of_one_command_are_judged_together() {
    let script = "cd \"$1\"\nterraform init -backend-config=bucket=b -backend-config=dynamodb_table=t\n";
    let mut repo = Repo::new(&[("run.sh", script)]);
    let dual = repo.step(&Options::new(Phase::Dual));
    assert_eq!((dual.files.len(), dual.roots.len()), (1, 0));
    assert_eq!(repo.text("run.sh"), script.replace("table=t", "table=t -backend-config=use_lockfile=true"));
    assert_eq!(repo.plan(&Options::new(Phase::Dual)).files, []);
    repo.step(&Options::new(Phase::Final));
    assert!(!repo.text("run.sh").contains("dynamodb") && repo.text("run.sh").contains("use_lockfile=true"));
}

/// What one source says about locks: table, lockfile.
fn lines() -> impl Strategy<Value = String> {
    let table = prop_oneof![
        Just(""),
        Just(TABLE_LINE),
        Just("    dynamodb_table = \"\"\n"),
        Just("    dynamodb_table = var.t\n")
    ];
    let lockfile = prop_oneof![
        3 => Just(""),
        2 => Just("    use_lockfile   = true\n"),
        1 => Just("    use_lockfile   = false\n"),
        1 => Just("    use_lockfile   = \"yes\"\n"),
    ];
    (table, lockfile).prop_map(|(table, lockfile)| format!("{table}{lockfile}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn phases_are_idempotent_and_two_steps_are_one(
        main in lines(),
        over in proptest::option::of(lines()),
        first in proptest::option::of(lines()),
        second in proptest::option::of(lines()),
    ) {
        let flat = |bucket: &str, lines: &str| format!("bucket         = \"{bucket}\"\n{}", lines.replace("    ", ""));
        let mut files = vec![("a/main.tf", block(&main)), ("b/main.tf", block(TABLE_LINE))];
        files.extend(over.map(|lines| ("a/override.tf", block(&lines))));
        files.extend(first.map(|lines| ("a/one.tfbackend", flat("one", &lines))));
        files.extend(second.map(|lines| ("a/two.tfbackend", flat("two", &lines))));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let mut repo = Repo::new(&files);
        let direct = repo.after(&repo.plan(&lenient(Phase::Final)));
        let dual = repo.step(&lenient(Phase::Dual));
        // Whatever becomes of `a`, nothing holds `b` back.
        prop_assert!(dual.roots.iter().any(|root| repo.short(&root.path) == "b"));
        prop_assert_eq!(repo.plan(&lenient(Phase::Dual)).files, []);
        let last = repo.step(&lenient(Phase::Final));
        prop_assert_eq!(repo.plan(&lenient(Phase::Final)).files, []);
        if dual.refusals.is_empty() && last.refusals.is_empty() {
            prop_assert_eq!(&direct, &repo.bytes);
        }
    }
}
