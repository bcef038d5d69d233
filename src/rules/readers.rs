//! The rule about `terraform_remote_state` readers: they take no lock, and still depend on the table's digest.

use std::collections::BTreeSet;

use super::parts::backends;
use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::{Inventory, LockMode};

/// A reader that checks the digest.
pub static READER_NAMES_TABLE: Rule = Rule {
    id: "reader-names-table",
    severity: Severity::Medium,
    summary: "a remote-state reader names a lock table: it fails once writers stop using that",
    page: include_str!("../../docs/rules/reader-names-table.md"),
    check: Check::Inventory(reader_names_table),
};

fn reader_names_table(inventory: &Inventory) -> Vec<Finding> {
    let lockfile_only: BTreeSet<(&str, &str)> = backends(inventory)
        .filter(|(_, backend)| backend.mode == LockMode::Lockfile)
        .filter_map(|(_, b)| Some((b.bucket.known()?.as_str(), b.key.known()?.as_str())))
        .collect();
    let mut findings = Vec::new();
    for reader in &inventory.readers {
        let table = match (&reader.dynamodb_table, &reader.dynamodb_table_unknown) {
            (Some(table), _) => format!("names the table `{table}`"),
            (None, Some(why)) => format!("may name a table ({why})"),
            (None, None) => continue,
        };
        let state = reader.bucket.as_deref().zip(reader.key.as_deref());
        let fails = state.is_some_and(|state| lockfile_only.contains(&state));
        let consequence = if fails {
            "the state's writer uses the lockfile alone, so the digest there goes stale and this read fails"
        } else {
            "once the state's writer uses the lockfile alone, this read fails"
        };
        let message = format!("the reader `{}` {table}: {consequence}", reader.name);
        let finding = READER_NAMES_TABLE.finding(&reader.name, reader.place.clone(), message);
        let severity = if fails { Severity::High } else { finding.severity };
        let help = "remove the table here before the writer's final phase; a reader takes no lock";
        findings.push(Finding { severity, help: Some(help.to_owned()), ..finding });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::Reader;
    use crate::rules::testing::{Build, block, run, spot, text, yes};

    fn found(writer_has_table: bool, key: &str, table: Option<&str>, unknown: Option<&str>) -> Vec<Severity> {
        let mut writer = vec![("bucket", text("b")), ("key", text("net")), ("use_lockfile", yes())];
        if writer_has_table {
            writer.push(("dynamodb_table", text("t")));
        }
        let mut inventory = Build::new().root("net", vec![vec![block("net/main.tf", 1, &writer)]]).done();
        inventory.readers.push(Reader {
            name: "network".into(),
            place: spot("app/data.tf", 7),
            bucket: Some("b".into()),
            key: Some(key.into()),
            dynamodb_table: table.map(str::to_owned),
            dynamodb_table_unknown: unknown.map(str::to_owned),
            source: 0,
        });
        run(&READER_NAMES_TABLE, &inventory)
            .into_iter()
            .inspect(|finding| assert_eq!(finding.place.to_string(), "app/data.tf:7:1"))
            .map(|finding| finding.severity)
            .collect()
    }

    #[test]
    fn a_table_in_a_reader_is_worse_when_its_writer_has_none() {
        assert_eq!(found(false, "net", Some("t"), None), [Severity::High]);
        assert_eq!(found(true, "net", Some("t"), None), [Severity::Medium]);
        assert_eq!(found(false, "other", Some("t"), None), [Severity::Medium]);
        assert_eq!(found(false, "net", None, Some("`var.t` needs a run")), [Severity::High]);
        assert_eq!(found(false, "net", None, None), []);
    }
}
