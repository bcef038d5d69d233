//! The long tables: every effective backend of a scan, every state of an audit.

use std::collections::BTreeSet;

use super::escape::{code, prose, text, time};
use super::owners::Owners;
use super::table::{Choice, Row, filter, numbers, table, words};
use crate::audit::outcome::{Audit, LockRecord, StateReport};
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode, RootModule};
use crate::report::audit::wording::{age, operation};
use crate::report::words::{choice, count, unknowns, verdict};

/// A mode as a word with its colour beside it.
pub(super) fn mode(mode: LockMode) -> String {
    let name = mode.as_str();
    format!(
        "<span class=\"m\"><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"m-{name}\" width=\"10\" \
         height=\"10\" rx=\"2\"/></svg>{name}</span>"
    )
}

/// Every effective backend.
pub(super) fn backends(inventory: &Inventory) -> String {
    let rows: Vec<Row> = inventory
        .roots
        .iter()
        .flat_map(|root| root.backends.iter().map(move |backend| backend_row(root, backend)))
        .collect();
    if rows.is_empty() {
        return "<p>No root module with an s3 backend was found.</p>\n".to_owned();
    }
    let owners: BTreeSet<&str> =
        inventory.roots.iter().flat_map(|root| &root.owners).map(String::as_str).collect();
    let present: BTreeSet<LockMode> =
        inventory.roots.iter().flat_map(|root| &root.backends).map(|backend| backend.mode).collect();
    let columns = [
        words("Root module", "wide"),
        words("Mode", "mode"),
        words("Bucket", "name"),
        words("Key", "wide"),
        words("Table", "name"),
        words("With", "name"),
        words("Versions", "word"),
        words("Owner", "owner"),
    ];
    let caption = format!(
        "{} in {}",
        count(rows.len(), "effective backend", "effective backends"),
        count(inventory.roots.len(), "root module", "root modules")
    );
    format!(
        "{}{}",
        filter("backends", rows.len(), &choices(present, owners)),
        table("backends", &caption, &columns, &rows)
    )
}

fn choices(modes: BTreeSet<LockMode>, owners: BTreeSet<&str>) -> [Choice; 2] {
    [
        Choice {
            key: "mode",
            label: "Mode",
            values: modes.into_iter().map(|mode| mode.as_str().to_owned()).collect(),
        },
        Choice { key: "owner", label: "Owner", values: owners.into_iter().map(str::to_owned).collect() },
    ]
}

fn backend_row(root: &RootModule, backend: &EffectiveBackend) -> Row {
    let mut first = code(&root.path);
    let whys: String = unknowns(backend)
        .into_iter()
        .map(|(setting, why)| {
            format!("<p class=\"why\"><code>{setting}</code> can't be told: {}</p>", prose(why))
        })
        .collect();
    first.push_str(&whys);
    let owners: Vec<String> = root.owners.iter().map(|owner| text(owner)).collect();
    Row {
        keys: vec![("mode", backend.mode.as_str().to_owned()), ("owner", root.owners.join(" "))],
        cells: vec![
            first,
            mode(backend.mode),
            cell(&backend.bucket),
            cell(&backend.key),
            cell(&backend.dynamodb_table),
            text(&choice(backend)),
            verdict(root.versions.verdict).to_owned(),
            owners.join("<br>"),
        ],
    }
}

fn cell(value: &Knowable<String>) -> String {
    match value {
        Knowable::Known(value) => text(value),
        Knowable::Absent => "–".to_owned(),
        Knowable::Unknown(_) => "?".to_owned(),
    }
}

/// Every state.
pub(super) fn states(audit: &Audit, owners: &Owners<'_>) -> String {
    if audit.states.is_empty() {
        return "<p>No state was looked at.</p>\n".to_owned();
    }
    let rows: Vec<Row> = audit.states.iter().map(|state| state_row(state, owners)).collect();
    let present: BTreeSet<LockMode> = audit.states.iter().map(|state| state.mode).collect();
    let of_all: BTreeSet<&str> =
        audit.states.iter().flat_map(|state| owners.of_roots(&state.roots)).collect();
    let columns = [
        words("State", "wide"),
        words("Mode", "mode"),
        words("Lock in S3", "lock"),
        words("Lock in DynamoDB", "lock"),
        words("Digest", "word"),
        words("S3 locking", "proof"),
        numbers("Writes"),
        words("Last written (UTC)", "when"),
    ];
    format!(
        "{}{}",
        filter("states", rows.len(), &choices(present, of_all)),
        table("states", &count(rows.len(), "state", "states"), &columns, &rows)
    )
}

fn state_row(state: &StateReport, owners: &Owners<'_>) -> Row {
    let owners = owners.of_roots(&state.roots);
    let mut first = code(&format!("s3://{}/{}", state.bucket, state.state_path));
    if let Some(why) = &state.mode_unknown {
        first.push_str(&format!("<p class=\"why\">mode: {}</p>", prose(why)));
    }
    if !owners.is_empty() {
        let owners: Vec<String> = owners.iter().map(|owner| text(owner)).collect();
        first.push_str(&format!("<p class=\"by\">{}</p>", owners.join(", ")));
    }
    let coverage = &state.coverage;
    let mut proof = format!("<span class=\"v v-{0}\">{0}</span>", text(&coverage.verdict));
    if let Some(why) = &coverage.reason {
        proof.push_str(&format!("<p class=\"why\">{}</p>", prose(why)));
    }
    let mut digest = text(&state.digest.verdict);
    if let Some(why) = &state.digest.reason {
        digest.push_str(&format!("<p class=\"why\">{}</p>", prose(why)));
    }
    Row {
        keys: vec![("mode", state.mode.as_str().to_owned()), ("owner", owners.join(" "))],
        cells: vec![
            first,
            mode(state.mode),
            lock(state.locks.s3.as_ref(), state.locks.s3_unknown.as_deref()),
            lock(state.locks.dynamodb.as_ref(), state.locks.dynamodb_unknown.as_deref()),
            digest,
            proof,
            coverage.writes.to_string(),
            // The column says that it is UTC.
            state.last_written.map_or_else(|| "–".to_owned(), time),
        ],
    }
}

/// One store's lock. A store that was not read is not an empty one.
fn lock(record: Option<&LockRecord>, unknown: Option<&str>) -> String {
    match (record, unknown) {
        (Some(record), _) => {
            let who = record.who.as_deref().unwrap_or("?");
            let how = record.operation.as_deref().map(operation).unwrap_or_default();
            let since = record.age_seconds.map(age).unwrap_or_default();
            let parts: Vec<String> =
                [how, since].iter().filter(|part| !part.is_empty()).map(|part| text(part)).collect();
            format!("<b>held</b> by {} <span>{}</span>", text(who), parts.join(", "))
        }
        (None, Some(why)) => format!("<b>not read</b><p class=\"why\">{}</p>", prose(why)),
        (None, None) => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{audit, sample};

    #[test]
    fn every_backend_has_its_row() {
        let out = backends(&sample::inventory());
        assert_eq!(out.matches("<tr data-mode=").count(), 5);
        assert!(out.contains("5 effective backends in 4 root modules"), "{out}");
        assert!(
            out.contains("<code>dynamodb_table</code> can't be told: <code>var.table</code> has no default"),
            "{out}"
        );
        assert!(out.contains("data-mode=\"lockfile\" data-owner=\"@acme/platform @acme/web\""), "{out}");
        assert!(out.contains("<td class=\"word\" data-of=\"Versions\">admits older</td>"), "{out}");
        assert_eq!(backends(&Inventory::default()), "<p>No root module with an s3 backend was found.</p>\n");
    }

    #[test]
    fn a_store_that_was_not_read_is_not_an_empty_one() {
        let audit = audit::sample::audit();
        let out = states(&audit, &Owners::of(None, Some(&audit)));
        assert_eq!(out.matches("<tr data-mode=").count(), 4);
        assert!(
            out.contains("<b>not read</b><p class=\"why\">the listing did not come to its end</p>"),
            "{out}"
        );
        assert!(out.contains("<b>held</b> by old@client <span>apply, 2 hours 10 minutes</span>"), "{out}");
        assert!(out.contains("<span class=\"v v-contradicted\">contradicted</span>"), "{out}");
        assert!(out.contains(">2026-11-30 07:30:00</td>"), "{out}");
    }
}
