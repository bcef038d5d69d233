//! Counting over a report: findings by severity, how far the migration is, what can't be told. Pure; no wording.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ScanReport;
use super::history::Modes;
use super::words::unknowns;
use crate::finding::Severity;
use crate::repo::inventory::LockMode;

/// Severities, the gravest first: the order in which findings are shown.
pub const SEVERITIES: [Severity; 5] =
    [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

/// How far the migration is, over all effective backends: one without a lock, and one whose mode can't be told, is not
/// where the migration leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Migration {
    /// All effective backends, whatever they lock with: the whole of which the others are parts.
    pub backends: usize,
    /// Of these, those that take a lock: `dynamodb`, `dual` and `lockfile`.
    pub locking: usize,
    /// Those that take the lockfile: `dual` and `lockfile`.
    pub on_lockfile: usize,
    /// Those that take nothing else: `lockfile`.
    pub lockfile_alone: usize,
}

impl Migration {
    /// The state of things by how many backends have which mode.
    pub fn of(modes: &Modes) -> Self {
        let count = |mode: LockMode| modes.get(mode.as_str()).copied().unwrap_or_default();
        let (dual, alone) = (count(LockMode::Dual), count(LockMode::Lockfile));
        let locking = count(LockMode::Dynamodb) + dual + alone;
        Self {
            backends: locking + count(LockMode::None) + count(LockMode::Unknown),
            locking,
            on_lockfile: dual + alone,
            lockfile_alone: alone,
        }
    }

    /// A part of all backends, in whole percent, rounded down: 100% is said only when it is true.
    pub fn percent(self, part: usize) -> usize {
        (part * 100).checked_div(self.backends).unwrap_or_default()
    }
}

/// Open findings by severity; every severity is present.
pub fn by_severity(report: &ScanReport<'_>) -> BTreeMap<&'static str, usize> {
    let mut counts: BTreeMap<&str, usize> =
        SEVERITIES.iter().map(|severity| (severity.as_str(), 0)).collect();
    for finding in report.open() {
        *counts.entry(finding.severity.as_str()).or_default() += 1;
    }
    counts
}

/// One thing that can't be told, and the root modules where it is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untold<'a> {
    /// The setting's name.
    pub setting: &'static str,
    /// Why only a run can tell.
    pub why: &'a str,
    /// Whether the lock mode hangs on it.
    pub decides_mode: bool,
    /// Paths of root modules, in order, each once.
    pub roots: Vec<&'a str>,
}

/// What can't be told, equal reasons together; what the lock mode hangs on comes first.
pub fn untold<'a>(report: &ScanReport<'a>) -> Vec<Untold<'a>> {
    let mut found: Vec<Untold<'a>> = Vec::new();
    let mut index: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for root in &report.inventory.roots {
        for (setting, why) in root.backends.iter().flat_map(unknowns) {
            let at = *index.entry((setting, why)).or_insert_with(|| {
                let decides_mode = matches!(setting, "dynamodb_table" | "use_lockfile");
                found.push(Untold { setting, why, decides_mode, roots: Vec::new() });
                found.len() - 1
            });
            if let Some(entry) = found.get_mut(at)
                && entry.roots.last() != Some(&root.path.as_str())
            {
                entry.roots.push(&root.path);
            }
        }
    }
    found.sort_by_key(|entry| !entry.decides_mode);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn percent_is_rounded_down_and_nothing_is_no_percent() {
        let modes = |counts: &[(&str, usize)]| -> Modes {
            counts.iter().map(|(mode, n)| ((*mode).to_owned(), *n)).collect()
        };
        let nearly = Migration::of(&modes(&[("lockfile", 199), ("dynamodb", 1)]));
        assert_eq!((nearly.percent(199), nearly.percent(1), nearly.percent(200)), (99, 0, 100));
        assert_eq!(Migration::of(&modes(&[])).percent(0), 0);
        for (open, percent) in [("none", 50), ("unknown", 50), ("dynamodb", 50), ("lockfile", 200)] {
            let half =
                Migration::of(&modes(&[("lockfile", 1), (open, if open == "lockfile" { 2 } else { 1 })]));
            assert_eq!(half.percent(half.lockfile_alone), percent.min(100), "{open}");
        }
    }

    #[test]
    fn totals_of_the_sample() {
        let inventory = sample::inventory();
        let findings = sample::findings();
        let report = ScanReport::new(&inventory, &findings);
        assert_eq!(
            Migration::of(&report.summary.modes),
            Migration { backends: 5, locking: 3, on_lockfile: 2, lockfile_alone: 1 }
        );
        assert_eq!(
            by_severity(&report).into_iter().filter(|(_, n)| *n > 0).collect::<Vec<_>>(),
            [("high", 1), ("medium", 1)]
        );
        let untold = untold(&report);
        assert_eq!(untold.len(), 2);
        assert_eq!(
            (untold[0].setting, untold[0].roots.as_slice()),
            ("dynamodb_table", ["envs/stage"].as_slice())
        );
        assert_eq!((untold[1].setting, untold[1].decides_mode), ("key", false));
    }
}
