//! What one effective backend of an inventory says: where its state lies, what its locks are written with, and how the
//! stores are reached.

use super::state::{Access, TableRef};
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable};
use crate::repo::setting::Value;
use crate::repo::source::{Source, SourceKind};

/// The text of a literal, as the backend's schema would convert it.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Secret | Value::Object | Value::Unknown { .. } => None,
    }
}

pub(super) fn known(value: &Knowable<String>) -> Option<String> {
    match value {
        Knowable::Known(value) => Some(value.clone()),
        _ => None,
    }
}

pub(super) fn placed(backend: &EffectiveBackend) -> Result<(String, String), String> {
    let one = |name: &str, value: &Knowable<String>| match value {
        Knowable::Known(value) if !value.is_empty() => Ok(value.clone()),
        Knowable::Unknown(why) => Err(format!("`{name}` is not known: {why}")),
        _ => Err(format!("`{name}` is not set in what the repository holds")),
    };
    let bucket = one("bucket", &backend.bucket)?;
    let key = one("key", &backend.key)?;
    if let Knowable::Unknown(why) = &backend.workspace_key_prefix {
        return Err(format!("`workspace_key_prefix` is not known: {why}"));
    }
    Ok((bucket, key))
}

/// The sources of a backend that count, in merging order.
fn live<'i>(
    inventory: &'i Inventory,
    backend: &'i EffectiveBackend,
) -> impl DoubleEndedIterator<Item = &'i Source> {
    let live = backend.sources.iter().filter(|source| !source.shadowed && source.kind != SourceKind::Reader);
    live.filter_map(|source| inventory.sources.get(source.source))
}

/// What one argument of a backend is set to; a later source wins.
pub(in crate::audit) fn setting<'i>(
    inventory: &'i Inventory,
    backend: &'i EffectiveBackend,
    name: &str,
) -> Option<&'i Value> {
    live(inventory, backend).rev().find_map(|source| source.setting(name)).map(|set| &set.value)
}

/// `acl`, where it is set; empty where it is set to what is not known.
pub(in crate::audit) fn acl(inventory: &Inventory, backend: &EffectiveBackend) -> Option<String> {
    match setting(inventory, backend, "acl") {
        Some(Value::Text(acl)) if !acl.is_empty() => Some(acl.clone()),
        Some(Value::Unknown { .. } | Value::Secret) => Some(String::new()),
        _ => None,
    }
}

/// Whether a map of tags is set, `lock_tags` or `state_tags`. A map's parts have dotted names.
pub(in crate::audit) fn tagged(inventory: &Inventory, backend: &EffectiveBackend, name: &str) -> bool {
    let part = format!("{name}.");
    live(inventory, backend)
        .flat_map(|source| &source.settings)
        .any(|set| (set.name == name && set.value != Value::Null) || set.name.starts_with(&part))
}

/// The account that a backend's settings name: the table's, by its ARN, else that of the role that is assumed. The
/// bucket may belong to another one; none where no setting names any.
pub fn account_of(inventory: &Inventory, backend: &EffectiveBackend) -> Option<String> {
    let access = access(inventory, backend);
    let table = known(&backend.dynamodb_table).and_then(|table| TableRef::of(&table, &access).account);
    // arn:aws:iam::ACCOUNT:role/NAME
    let role = || access.role_arn.as_deref()?.split(':').nth(4).map(str::to_owned);
    table
        .or_else(role)
        .filter(|account| account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The settings that say how to reach the stores. They are merged as the backend's others are: a later source wins;
/// a shadowed one says nothing.
pub(super) fn access(inventory: &Inventory, backend: &EffectiveBackend) -> Access {
    let mut access = Access { region: known(&backend.region), ..Access::default() };
    for source in live(inventory, backend) {
        let text = |names: &[&str]| {
            let set = names.iter().find_map(|name| source.setting(name))?;
            literal(&set.value).filter(|text| !text.is_empty())
        };
        let update = |slot: &mut Option<String>, names: &[&str]| {
            if let Some(found) = text(names) {
                *slot = Some(found);
            }
        };
        update(&mut access.profile, &["profile"]);
        update(&mut access.role_arn, &["assume_role.role_arn", "role_arn"]);
        update(&mut access.s3_endpoint, &["endpoints.s3", "endpoint"]);
        update(&mut access.dynamodb_endpoint, &["endpoints.dynamodb", "dynamodb_endpoint"]);
        access.wants_external_id |=
            ["assume_role.external_id", "external_id"].iter().any(|name| source.setting(name).is_some());
        if let Some(style) = text(&["use_path_style", "force_path_style"]) {
            access.path_style = style == "true";
        }
    }
    access
}
