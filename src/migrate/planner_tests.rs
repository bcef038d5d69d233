//! Whole plans over small repositories and over the fixtures. Tests only.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;

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
        Self::scan(dir.path().to_owned(), Some(dir))
    }

    fn scan(path: std::path::PathBuf, dir: Option<tempfile::TempDir>) -> Self {
        let options = ScanOptions { paths: vec![path.clone()], ..ScanOptions::default() };
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
    Repo::scan("fixtures/monorepo".into(), None)
}

#[test]
fn show() {
    let mut repo = monorepo();
    for options in
        [Options::new(Phase::Dual), lenient(Phase::Dual), lenient(Phase::Final), lenient(Phase::Rollback)]
    {
        let plan = repo.step(&options);
        println!("==== {:?}", plan.phase);
        for root in &plan.roots {
            println!(
                "root {} {:?} -> {:?} {:?}",
                repo.short(&root.path),
                root.before,
                root.after,
                root.files.iter().map(|f| repo.short(f)).collect::<Vec<_>>()
            );
        }
        for refusal in &plan.refusals {
            println!(
                "REFUSED {} {} {}:{} {}",
                repo.short(&refusal.root),
                refusal.gate,
                repo.short(&refusal.file),
                refusal.line,
                refusal.reason
            );
        }
        for step in &plan.manual {
            println!(
                "MANUAL {:?} {}:{} {} => {:?}",
                step.roots,
                repo.short(&step.file),
                step.line,
                step.reason,
                step.write
            );
        }
        println!("done {:?}", plan.done.iter().map(|f| repo.short(f)).collect::<Vec<_>>());
        println!("unlocked {:?}", plan.unlocked.iter().map(|f| repo.short(f)).collect::<Vec<_>>());
        println!("files {:?}", plan.files.iter().map(|f| repo.short(&f.file)).collect::<Vec<_>>());
    }
}
