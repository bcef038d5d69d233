//! Reads lock tables: what they are, and their items, as a parallel scan that asks for three attributes only.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, KeyType, TableDescription};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::clients::Clients;
use super::failure::Failure;
use super::meter::Meter;
use crate::audit::lock_info::LockBody;
use crate::audit::snapshot::{Settled, TableFacts, TableItem};

/// Items for which one more segment of a scan is worth its request.
const ITEMS_PER_SEGMENT: u64 = 5_000;

/// What is asked of each item, by names that are no reserved words.
const PROJECTION: &str = "#lock, #info, #digest";

/// The names behind [`PROJECTION`].
const NAMES: [(&str, &str); 3] = [("#lock", "LockID"), ("#info", "Info"), ("#digest", "Digest")];

/// `DescribeTable`: the ARN and what matters of the rest.
///
/// # Errors
/// What the server said; `ResourceNotFoundException` for no such table.
pub(super) async fn describe(
    clients: &Clients<'_>,
    client: &Client,
    name: &str,
) -> Result<(Option<String>, TableFacts), Failure> {
    let _permit = clients.permit().await;
    let answer = client.describe_table().table_name(name).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    let table = answer.table().ok_or_else(|| Failure::own("the answer describes no table"))?;
    Ok((table.table_arn().map(str::to_owned), facts(table)))
}

fn facts(table: &TableDescription) -> TableFacts {
    let mut keys = table.key_schema().iter();
    let hash = keys.clone().find(|key| *key.key_type() == KeyType::Hash);
    let own_region = table.table_arn().and_then(|arn| arn.split(':').nth(3));
    let mut replicas: Vec<String> =
        table.replicas().iter().filter_map(|replica| replica.region_name()).map(str::to_owned).collect();
    replicas.retain(|region| Some(region.as_str()) != own_region);
    replicas.sort();
    TableFacts {
        hash_key_is_lock_id: hash.is_some_and(|hash| hash.attribute_name() == "LockID")
            && !keys.any(|key| *key.key_type() == KeyType::Range),
        deletion_protection: table.deletion_protection_enabled().unwrap_or_default(),
        kms_key: table.sse_description().and_then(|sse| sse.kms_master_key_arn()).map(str::to_owned),
        replicas,
        stream: table.stream_specification().is_some_and(|stream| stream.stream_enabled()),
        item_count: table.item_count().and_then(|count| u64::try_from(count).ok()),
    }
}

/// What a scan brought.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    pub items: Vec<TableItem>,
    pub other: u64,
    /// Why it did not come to its end; empty when it did.
    pub failures: Vec<Failure>,
}

/// Scans a table in as many segments as its size is worth.
pub(super) async fn scan(
    client: &Client,
    gate: &Arc<Semaphore>,
    meter: &Meter,
    name: &str,
    item_count: Option<u64>,
    shards: usize,
) -> Scanned {
    let worth = item_count.unwrap_or_default() / ITEMS_PER_SEGMENT + 1;
    let segments = usize::try_from(worth).unwrap_or(usize::MAX).min(shards.max(1));
    let segments = i32::try_from(segments).unwrap_or(1);
    let mut tasks = JoinSet::new();
    for segment in 0..segments {
        let (client, gate, meter, name) = (client.clone(), Arc::clone(gate), meter.clone(), name.to_owned());
        tasks.spawn(async move { scan_segment(&client, &gate, &meter, &name, segment, segments).await });
    }
    let mut scanned = Scanned::default();
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(part) => {
                scanned.items.extend(part.items);
                scanned.other += part.other;
                scanned.failures.extend(part.failures);
            }
            Err(error) => scanned.failures.push(Failure::own(format!("the scan broke off: {error}"))),
        }
    }
    scanned.items.sort_by(|a, b| a.lock_id.cmp(&b.lock_id));
    scanned
}

async fn scan_segment(
    client: &Client,
    gate: &Semaphore,
    meter: &Meter,
    name: &str,
    segment: i32,
    segments: i32,
) -> Scanned {
    let mut scanned = Scanned::default();
    let mut from: Option<HashMap<String, AttributeValue>> = None;
    loop {
        let mut request = client
            .scan()
            .table_name(name)
            .projection_expression(PROJECTION)
            .set_expression_attribute_names(Some(names()))
            .set_exclusive_start_key(from.clone());
        if segments > 1 {
            request = request.segment(segment).total_segments(segments);
        }
        let answer = {
            let _permit = gate.acquire().await.ok();
            request.send().await
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                scanned.failures.push(Failure::of(&error));
                return scanned;
            }
        };
        meter.scanned(answer.items().len());
        for found in answer.items.unwrap_or_default() {
            match item(found) {
                Some(item) => scanned.items.push(item),
                None => scanned.other += 1,
            }
        }
        match answer.last_evaluated_key.filter(|key| !key.is_empty()) {
            None => return scanned,
            Some(next) if from.as_ref() == Some(&next) => {
                scanned
                    .failures
                    .push(Failure::own("the scan does not end: the page after this key names the same key"));
                return scanned;
            }
            next => from = next,
        }
    }
}

/// Reads one item, consistently; none when it is not there.
///
/// # Errors
/// What the server said.
pub(super) async fn get(
    client: &Client,
    gate: &Semaphore,
    table: &str,
    lock_id: &str,
) -> Result<Option<TableItem>, Failure> {
    let _permit = gate.acquire().await.ok();
    let request = client
        .get_item()
        .table_name(table)
        .key("LockID", AttributeValue::S(lock_id.to_owned()))
        .projection_expression(PROJECTION)
        .set_expression_attribute_names(Some(names()))
        .consistent_read(true);
    let answer = request.send().await.map_err(|error| Failure::of(&error))?;
    Ok(answer.item.and_then(item))
}

fn names() -> HashMap<String, String> {
    NAMES.iter().map(|(short, name)| ((*short).to_owned(), (*name).to_owned())).collect()
}

/// An item as a lock or a digest; none without a textual `LockID`. One with nothing but a `LockID` still locks.
fn item(mut attributes: HashMap<String, AttributeValue>) -> Option<TableItem> {
    let Some(AttributeValue::S(lock_id)) = attributes.remove("LockID") else { return None };
    let body = attributes.remove("Info").map(|info| match info {
        AttributeValue::S(text) => LockBody::read(text.as_bytes()),
        _ => LockBody::Foreign { why: "`Info` is no text".to_owned(), text: None },
    });
    let digest = match attributes.remove("Digest") {
        Some(AttributeValue::S(text)) => Some(text),
        // Something is there that no client can compare: an empty digest says so and shows nothing.
        Some(_) => Some(String::new()),
        None => None,
    };
    Some(TableItem { lock_id, body, digest, settled: Settled::NotAsked })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(list: &[(&str, AttributeValue)]) -> HashMap<String, AttributeValue> {
        list.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn an_item_is_what_its_lock_id_says() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        assert_eq!(item(attributes(&[("LockID", AttributeValue::N("1".into()))])), None);
        assert_eq!(item(attributes(&[("Info", text("{}"))])), None);
        let bare = item(attributes(&[("LockID", text("b/k"))])).unwrap();
        assert_eq!((bare.body, bare.digest), (None, None));
        let digest = item(attributes(&[("LockID", text("b/k-md5")), ("Digest", text("00ff"))])).unwrap();
        assert_eq!(digest.digest.as_deref(), Some("00ff"));
        let odd = item(attributes(&[("LockID", text("b/k")), ("Info", AttributeValue::Bool(true))])).unwrap();
        assert!(matches!(odd.body, Some(LockBody::Foreign { text: None, .. })));
    }
}
