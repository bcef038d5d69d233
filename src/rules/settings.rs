//! Rules about single settings and sources: old names, other stores, places where an edit would not last.

use std::collections::BTreeMap;

use super::parts::{LOCKFILE, backends, called, place, place_of};
use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::{Inventory, Knowable, LockMode};
use crate::repo::source::SourceKind;
use crate::repo::text::Place;

/// Old names, and names that are dead without a table.
pub static DEPRECATED_SETTING: Rule = Rule {
    id: "deprecated-setting",
    severity: Severity::Low,
    summary: "an old name, or a setting that does nothing without a lock table",
    page: include_str!("../../docs/rules/deprecated-setting.md"),
    check: Check::Inventory(deprecated_setting),
};

/// The lockfile in a store that may not honour conditional writes.
pub static ENDPOINT_UNPROVEN: Rule = Rule {
    id: "endpoint-unproven",
    severity: Severity::Medium,
    summary: "`use_lockfile` in a store that may ignore conditional writes",
    page: include_str!("../../docs/rules/endpoint-unproven.md"),
    check: Check::Inventory(endpoint_unproven),
};

/// Editing here is undone.
pub static GENERATED_COPY: Rule = Rule {
    id: "generated-copy",
    severity: Severity::Info,
    summary: "a backend stands in a generated file: an edit there is undone",
    page: include_str!("../../docs/rules/generated-copy.md"),
    check: Check::Inventory(generated_copy),
};

/// Nobody's source.
pub static UNATTRIBUTED_SOURCE: Rule = Rule {
    id: "unattributed-source",
    severity: Severity::Low,
    summary: "backend settings that could not be given to any root module",
    page: include_str!("../../docs/rules/unattributed-source.md"),
    check: Check::Inventory(unattributed_source),
};

/// Settings that serve the table alone. Source: the S3 backend's schema, and Terragrunt's `remote_state` keys.
const TABLE_ONLY: &[&str] = &["endpoints.dynamodb", "dynamodb_table_tags", "enable_lock_table_ssencryption"];

fn deprecated_setting(inventory: &Inventory) -> Vec<Finding> {
    // A source shared by many root modules is named once; it is dead only where no user of it has a table.
    let mut used_with_table: Vec<Option<bool>> = vec![None; inventory.sources.len()];
    for (_, backend) in backends(inventory) {
        let with_table = backend.dynamodb_table != Knowable::Absent || backend.mode == LockMode::Unknown;
        for at in backend.sources.iter().filter(|at| !at.shadowed) {
            if let Some(used) = used_with_table.get_mut(at.source) {
                *used = Some(with_table || *used == Some(true));
            }
        }
    }
    let mut findings = Vec::new();
    for (source, used) in inventory.sources.iter().zip(used_with_table) {
        let Some(with_table) = used else { continue };
        let mut say = |name: &str, what: &str, help: &str| {
            let Some(setting) = source.setting(name) else { return };
            findings.push(Finding {
                help: Some(help.to_owned()),
                ..DEPRECATED_SETTING.finding(
                    &source.place.file,
                    Place::new(&source.place.file, setting.at),
                    format!("`{name}` {what}"),
                )
            });
        };
        say("lock_table", "is the old name of `dynamodb_table`", "write `dynamodb_table`, or remove both");
        let help = if with_table { "write `endpoints = { dynamodb = … }`" } else { "remove it" };
        say("dynamodb_endpoint", "is the old name of `endpoints.dynamodb`", help);
        for name in TABLE_ONLY.iter().filter(|_| !with_table) {
            say(name, "does nothing here: no lock table is set", "remove it");
        }
    }
    findings
}

/// Whether an endpoint is one of AWS itself.
fn is_aws(endpoint: &str) -> bool {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = host.split(['/', ':', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"].iter().any(|suffix| host.ends_with(suffix))
}

fn endpoint_unproven(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, backend) in backends(inventory).filter(|(_, b)| b.use_lockfile == Knowable::Known(true)) {
        let store = match &backend.endpoint {
            Knowable::Known(endpoint) if !is_aws(endpoint) => format!("`{endpoint}`"),
            _ => continue,
        };
        let message = format!(
            "{} keeps its lockfile in {store}: a store that ignores `If-None-Match` gives the lock to everybody",
            called(root, backend)
        );
        let help = "prove it once with two conditional writes: the second must be refused with 412";
        findings.push(Finding {
            help: Some(help.to_owned()),
            ..ENDPOINT_UNPROVEN.finding(&root.path, place(inventory, root, backend, LOCKFILE), message)
        });
    }
    findings
}

fn generated_copy(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = BTreeMap::new();
    for (root, backend) in backends(inventory) {
        for at in &backend.sources {
            let blocks = matches!(at.kind, SourceKind::Backend | SourceKind::BackendOverride);
            let source = inventory.sources.get(at.source).map(|source| &source.editability);
            let Some(why) =
                source.filter(|edit| blocks && edit.is_generated()).and_then(|edit| edit.reason())
            else {
                continue;
            };
            let message = format!("the backend of `{}` stands in a generated file: {why}", root.path);
            let help = "change what generates it, then generate again";
            let finding = GENERATED_COPY.finding(&root.path, place_of(at), message);
            findings.entry(place_of(at)).or_insert(Finding { help: Some(help.to_owned()), ..finding });
        }
    }
    findings.into_values().collect()
}

fn unattributed_source(inventory: &Inventory) -> Vec<Finding> {
    inventory
        .unattributed
        .iter()
        .map(|it| {
            let locks = match it.mode {
                LockMode::None => "sets no lock",
                LockMode::Dynamodb => "sets a lock table",
                LockMode::Dual => "sets both locks",
                LockMode::Lockfile => "sets the lockfile",
                LockMode::Unknown => "sets locks that can't be told",
            };
            let kind = it.kind.as_str();
            let message =
                format!("a source here ({kind}) {locks} and belongs to no root module: {}", it.reason);
            let finding = UNATTRIBUTED_SOURCE.finding(&it.place.file, it.place.clone(), message);
            // It adds a bucket or a region; no lock can come back from there.
            let severity = if it.mode == LockMode::None { Severity::Info } else { finding.severity };
            Finding { severity, ..finding }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::Unattributed;
    use crate::repo::setting::Value;
    use crate::repo::source::Editability;
    use crate::rules::testing::{Build, at, block, run, spot, text, unknown, yes};

    fn with(settings: &[(&str, Value)]) -> Inventory {
        Build::new().root("a", vec![vec![block("a/main.tf", 2, settings)]]).done()
    }

    #[test]
    fn old_names_and_dead_settings() {
        let table = ("dynamodb_table", text("t"));
        for (settings, count) in [
            (vec![("lock_table", text("t"))], 1),
            (vec![("dynamodb_endpoint", text("http://x")), table.clone()], 1),
            (vec![("endpoints.dynamodb", text("http://x"))], 1),
            (vec![("endpoints.dynamodb", text("http://x")), table.clone()], 0),
            (vec![("endpoints.dynamodb", text("http://x")), ("dynamodb_table", unknown("var.t"))], 0),
            (vec![("dynamodb_table_tags", text("x")), ("enable_lock_table_ssencryption", yes())], 2),
            (vec![("endpoints.s3", text("http://x")), table], 0),
        ] {
            assert_eq!(run(&DEPRECATED_SETTING, &with(&settings)).len(), count, "{settings:?}");
        }
    }

    #[test]
    fn a_lockfile_in_another_store() {
        for (endpoint, lockfile, fires) in [
            ("http://minio:9000", yes(), true),
            ("http://minio:9000", Value::Bool(false), false),
            ("https://s3.eu-central-1.amazonaws.com", yes(), false),
            ("https://bucket.vpce-1.s3.cn-north-1.vpce.amazonaws.com.cn/", yes(), false),
            ("https://s3.amazonaws.com.evil.example", yes(), true),
        ] {
            let settings = [("endpoints.s3", text(endpoint)), ("use_lockfile", lockfile)];
            assert_eq!(run(&ENDPOINT_UNPROVEN, &with(&settings)).len(), usize::from(fires), "{endpoint}");
        }
        assert_eq!(at(&ENDPOINT_UNPROVEN, &with(&[("use_lockfile", yes())])), [""; 0]);
    }

    #[test]
    fn only_generated_files_are_called_generated() {
        let mut inventory = with(&[]);
        assert_eq!(at(&GENERATED_COPY, &inventory), [""; 0]);
        inventory.sources[0].editability = Editability::ReportOnly("text that is not generated".into());
        assert_eq!(at(&GENERATED_COPY, &inventory), [""; 0]);
        inventory.sources[0].editability = Editability::Generated("written by Terramate".into());
        assert_eq!(at(&GENERATED_COPY, &inventory), ["a/main.tf:2:1"]);
    }

    #[test]
    fn nobodys_source_is_listed() {
        let mut inventory = with(&[]);
        assert_eq!(at(&UNATTRIBUTED_SOURCE, &inventory), [""; 0]);
        inventory.unattributed.push(Unattributed {
            kind: SourceKind::Template,
            place: spot("templates/backend.tf.tpl", 3),
            mode: LockMode::Dynamodb,
            bucket: None,
            dynamodb_table: Some("t".into()),
            reason: "a template".into(),
            source: 0,
        });
        let findings = run(&UNATTRIBUTED_SOURCE, &inventory);
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].message,
            "a source here (template) sets a lock table and belongs to no root module: a template"
        );
        assert_eq!(findings[0].severity, Severity::Low);
        inventory.unattributed[0].mode = LockMode::None;
        assert_eq!(run(&UNATTRIBUTED_SOURCE, &inventory)[0].severity, Severity::Info);
    }
}
