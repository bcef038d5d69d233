//! `aws dynamodb scan`: lock items and digests of one table.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::pages::{Continuation, documents, incomplete};
use super::{Export, Exports, ImportError};
use crate::audit::expected::{Access, Expected, TableRef};
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{Settled, Snapshot, TableItem, TableSnapshot, Unread};

/// One page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    items: Vec<Map<String, Value>>,
    #[serde(default)]
    count: Option<u64>,
    #[serde(default)]
    scanned_count: Option<u64>,
    #[serde(flatten)]
    continuation: Continuation,
}

/// Adds one table to the snapshot.
pub fn import(
    snapshot: &mut Snapshot,
    name: &str,
    files: &[&Export],
    exports: &Exports,
    expected: &Expected,
) -> Result<(), ImportError> {
    let table = TableRef::of(name, &Access { region: exports.region.clone(), ..Access::default() });
    let arn = name.starts_with("arn:").then(|| name.to_owned());
    let resource = arn
        .clone()
        .unwrap_or_else(|| format!("dynamodb://{}/{}", table.region.as_deref().unwrap_or("-"), table.name));
    let mut read = TableSnapshot {
        name: table.name.clone(),
        region: table.region.clone(),
        endpoint: endpoint(&table.name, expected),
        arn,
        complete: true,
        ..TableSnapshot::default()
    };
    for file in files {
        let pages: Vec<Page> = documents(file)?;
        let why = incomplete(pages.iter().map(|page| &page.continuation)).or_else(|| filtered(&pages));
        if let Some(why) = why {
            read.complete = false;
            snapshot.unread.push(Unread {
                resource: resource.clone(),
                operation: "Scan".to_owned(),
                reason: format!("{}: {why}", file.file),
                missing_action: None,
                hides_locks: true,
            });
        }
        snapshot.stats.pages += pages.len() as u64;
        for item in pages.into_iter().flat_map(|page| page.items) {
            snapshot.stats.items += 1;
            match table_item(&item) {
                Some(item) => read.items.push(item),
                None => read.other_items += 1,
            }
        }
    }
    read.items.sort_by(|a, b| a.lock_id.cmp(&b.lock_id));
    // The same export given twice.
    read.items.dedup_by(|a, b| a == b);
    snapshot.tables.push(read);
    Ok(())
}

/// A filter or a query hides items: the counts tell.
fn filtered(pages: &[Page]) -> Option<String> {
    pages.iter().find_map(|page| {
        let items = page.items.len() as u64;
        let short = page.count.is_some_and(|count| count != items)
            || page.scanned_count.is_some_and(|scanned| scanned != items);
        short.then(|| {
            format!("filtered: {items} items of {} are in it", page.scanned_count.unwrap_or_default())
        })
    })
}

/// A lock item or a digest. An item with nothing but a `LockID` that names a state is a lock all the same: it makes
/// `attribute_not_exists(LockID)` fail.
fn table_item(item: &Map<String, Value>) -> Option<TableItem> {
    let text = |name: &str| item.get(name).map(|value| value.get("S").and_then(Value::as_str));
    let lock_id = text("LockID")??.to_owned();
    let body = text("Info").map(|info| match info {
        Some(info) => LockBody::read(info.as_bytes()),
        None => LockBody::Foreign { why: "`Info` is no string".to_owned(), text: None },
    });
    let digest = text("Digest").map(|digest| digest.unwrap_or_default().to_owned());
    let is_ours = body.is_some() || digest.is_some() || lock_id.contains('/');
    is_ours.then_some(TableItem { lock_id, body, digest, settled: Settled::NotAsked })
}

/// The endpoint that the backends name for this table: an export does not say where it came from.
fn endpoint(name: &str, expected: &Expected) -> Option<String> {
    let states = expected.states.iter().filter_map(|state| state.table_ref());
    states.filter(|table| table.name == name).find_map(|table| table.endpoint)
}
