//! The last lines of a report for people: modes, how far the migration is, what was not read or can't be told. One
//! wording for the table and for Markdown; no layout here.

use super::ScanReport;
use super::totals::Migration;
use super::words::count;
use crate::repo::inventory::LockMode;

/// The summary, one sentence a line. Holds nothing but our own words and numbers.
pub fn lines(report: &ScanReport<'_>) -> Vec<String> {
    let summary = &report.summary;
    let of = |mode: LockMode| summary.modes.get(mode.as_str()).copied().unwrap_or_default();
    let mut lines = Vec::new();
    if summary.backends == 0 {
        lines.push("No root module with an s3 backend was found.".to_owned());
    } else {
        let modes: Vec<String> = LockMode::ALL
            .into_iter()
            .filter(|mode| of(*mode) > 0)
            .map(|mode| format!("{} {}", of(mode), mode.as_str()))
            .collect();
        lines.push(format!(
            "{} in {}: {}.",
            count(summary.backends, "effective backend", "effective backends"),
            count(summary.roots, "root module", "root modules"),
            modes.join(", ")
        ));
    }
    let migration = Migration::of(&summary.modes);
    if migration.backends > 0 {
        let open: Vec<String> = [(LockMode::None, "without any lock"), (LockMode::Unknown, "not told")]
            .into_iter()
            .filter(|(mode, _)| of(*mode) > 0)
            .map(|(mode, words)| format!("{} {words}", of(mode)))
            .collect();
        let open = if open.is_empty() { String::new() } else { format!("; {}", open.join(", ")) };
        lines.push(format!(
            "Migrated{}: {} of {} take the lockfile ({}%), {} of them alone ({}%){open}.",
            if summary.unread > 0 { ", of what was read" } else { "" },
            migration.on_lockfile,
            count(migration.backends, "effective backend", "effective backends"),
            migration.percent(migration.on_lockfile),
            migration.lockfile_alone,
            migration.percent(migration.lockfile_alone)
        ));
    }
    let readers = report.inventory.readers.len();
    if summary.unattributed + readers > 0 {
        lines.push(format!(
            "Beside them: {} without a root module, {} ({} a table).",
            count(summary.unattributed, "source of settings", "sources of settings"),
            count(readers, "remote-state reader", "remote-state readers"),
            count(summary.readers_with_table, "names", "name"),
        ));
    }
    let (open, all) = (report.open().count(), report.findings.len());
    if all > 0 {
        let ignored =
            if all > open { format!(" ({} more ignored with a reason)", all - open) } else { String::new() };
        lines.push(format!("{}{ignored}.", count(open, "finding", "findings")));
    }
    if of(LockMode::Unknown) > 0 {
        lines.push(format!(
            "Can't be told: the lock mode of {}.",
            count(of(LockMode::Unknown), "effective backend", "effective backends")
        ));
    }
    if summary.unread > 0 {
        lines.push(format!(
            "Could not be read: {}. Nothing is said about what stands there.",
            count(summary.unread, "place", "places")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::Inventory;
    use crate::report::sample;

    #[test]
    fn summary_of_the_sample_and_of_nothing() {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        assert_eq!(
            lines(&ScanReport::new(&inventory, &findings)),
            [
                "5 effective backends in 4 root modules: 1 none, 1 dynamodb, 1 dual, 1 lockfile, 1 unknown.",
                "Migrated, of what was read: 2 of 5 effective backends take the lockfile (40%), 1 of them alone (20%); 1 without any lock, 1 not told.",
                "Beside them: 1 source of settings without a root module, 1 remote-state reader (1 names a table).",
                "2 findings (1 more ignored with a reason).",
                "Can't be told: the lock mode of 1 effective backend.",
                "Could not be read: 1 place. Nothing is said about what stands there.",
            ]
        );
        let nothing = Inventory::default();
        assert_eq!(lines(&ScanReport::new(&nothing, &[])), ["No root module with an s3 backend was found."]);
    }
}
