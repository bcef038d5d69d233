//! From what the repositories say to what policies are wanted for: each bucket's states, and how they are written.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::expected::{Expected, ExpectedState, acl, setting, tagged};
use crate::policy::recommend::{Encryption, State};
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable};
use crate::repo::setting::Value;

/// What the repositories say of one bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketStates {
    /// Its states, sorted, each way of writing one once.
    pub states: Vec<State>,
    /// ARNs of the tables that lock them, `*` for a region that is not known.
    pub tables: BTreeSet<String>,
    /// Its region, as each backend says it; none for one that is not AWS's.
    pub regions: BTreeSet<String>,
    /// Endpoints that are not AWS's.
    pub endpoints: BTreeSet<String>,
}

/// Every bucket with its states. Tables without an account of their own are taken to be in `account`.
pub fn buckets(
    inventory: &Inventory,
    expected: &Expected,
    partition: &str,
    account: &str,
) -> BTreeMap<String, BucketStates> {
    let mut found: BTreeMap<String, BucketStates> = BTreeMap::new();
    for state in &expected.states {
        let of_bucket = found.entry(state.bucket.clone()).or_default();
        let backends = inventory.roots.iter().filter(|root| root.path == state.root);
        let backends = backends.flat_map(|root| &root.backends).filter(|backend| is_of(backend, state));
        of_bucket.states.extend(backends.map(|backend| written(inventory, backend, state)));
        if let Some(table) = state.table_ref().filter(|table| table.endpoint.is_none()) {
            let region = table.region.as_deref().unwrap_or("*");
            let owner = table.account.as_deref().unwrap_or(account);
            of_bucket
                .tables
                .insert(format!("arn:{partition}:dynamodb:{region}:{owner}:table/{}", table.name));
        }
        let region = state.access.region.clone();
        of_bucket.regions.extend(region.filter(|_| state.access.s3_endpoint.is_none()));
        of_bucket.endpoints.extend(state.access.s3_endpoint.clone());
    }
    for of_bucket in found.values_mut() {
        of_bucket.states.sort();
        of_bucket.states.dedup();
    }
    found
}

fn is_of(backend: &EffectiveBackend, state: &ExpectedState) -> bool {
    let is = |value: &Knowable<String>, text: &str| matches!(value, Knowable::Known(known) if known == text);
    is(&backend.bucket, &state.bucket)
        && is(&backend.key, &state.key)
        && backend.engine == state.engine
        && backend.backend_config == state.backend_config
}

/// How a backend writes. Source: `client.go` and `backend.go` of the S3 backend.
fn written(inventory: &Inventory, backend: &EffectiveBackend, state: &ExpectedState) -> State {
    let setting = |name: &str| setting(inventory, backend, name);
    State {
        key: state.key.clone(),
        workspace_prefix: state.workspace_key_prefix.clone(),
        encryption: encryption(setting("encrypt"), setting("kms_key_id"), setting("sse_customer_key")),
        acl: acl(inventory, backend),
        lock_tags: tagged(inventory, backend, "lock_tags"),
        state_tags: tagged(inventory, backend, "state_tags"),
    }
}

/// `kms_key_id` and `sse_customer_key` only count with `encrypt`.
fn encryption(encrypt: Option<&Value>, key: Option<&Value>, customer: Option<&Value>) -> Encryption {
    let key = match key {
        Some(Value::Text(id)) if !id.is_empty() => Encryption::Kms(id.clone()),
        Some(Value::Unknown { expression, .. }) => Encryption::Kms(expression.clone()),
        _ => Encryption::Aes256,
    };
    match encrypt {
        Some(Value::Bool(true)) => {}
        Some(Value::Text(text) | Value::Number(text)) if matches!(text.as_str(), "true" | "1") => {}
        // Whether it is encrypted is not known; a key that is named is needed all the same.
        Some(Value::Unknown { .. }) if !matches!(key, Encryption::Kms(_)) => return Encryption::NotKnown,
        Some(Value::Unknown { .. }) => {}
        _ => return Encryption::BucketDefault,
    }
    match customer {
        None | Some(Value::Null) => key,
        Some(_) if matches!(key, Encryption::Kms(_)) => key,
        Some(_) => Encryption::NotKnown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encryption_counts_only_where_it_is_switched_on() {
        let text = |text: &str| Value::Text(text.to_owned());
        let unknown = Value::Unknown { expression: "var.k".into(), reason: "a variable".into() };
        let on = Value::Bool(true);
        let of = encryption;
        assert_eq!(of(None, Some(&text("k")), None), Encryption::BucketDefault);
        assert_eq!(of(Some(&Value::Bool(false)), None, None), Encryption::BucketDefault);
        assert_eq!(of(Some(&on), None, None), Encryption::Aes256);
        assert_eq!(of(Some(&text("true")), Some(&text("k")), None), Encryption::Kms("k".into()));
        assert_eq!(of(Some(&on), Some(&unknown), None), Encryption::Kms("var.k".into()));
        assert_eq!(of(Some(&unknown), None, None), Encryption::NotKnown);
        assert_eq!(of(Some(&on), None, Some(&Value::Secret)), Encryption::NotKnown);
    }
}
