//! What the repositories say that there should be: states, their locks, and how to reach them. Made from an
//! inventory or from flags; pure.

mod backend;
mod index;
mod state;

use std::collections::BTreeSet;

use crate::repo::inventory::{Inventory, Knowable};
use crate::repo::text::Place;
use crate::workspace::WORKSPACE_PREFIX;

pub use backend::account_of;
use backend::{access, known, placed};
pub(super) use backend::{acl, setting, tagged};
pub use index::Index;
pub use state::{Access, ExpectedState, TableRef, partition_of};

/// What should be there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected {
    /// One for each effective backend whose bucket and key are known, in the inventory's order.
    pub states: Vec<ExpectedState>,
    /// Backends that can't be placed: the root module and why. An audit can't vouch for them.
    pub unplaced: Vec<Unplaced>,
    /// Buckets and tables that were named by hand (`--bucket`, `--table`), with no repository behind them.
    pub named: Named,
    /// Tables that anything in the repository uses: backends, those that can't be placed included, readers, and sources
    /// without a root module. A table's own resource and grants on it use nothing.
    pub tables_mentioned: BTreeSet<String>,
}

/// Buckets and tables named by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Buckets.
    pub buckets: Vec<String>,
    /// Tables, by name or ARN.
    pub tables: Vec<String>,
    /// Prefixes to list; none for whole buckets.
    pub prefixes: Vec<String>,
}

/// A backend that can't be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// The root module's path.
    pub root: String,
    /// What is not known, and why.
    pub why: String,
    /// Where.
    pub place: Place,
}

impl Expected {
    /// What an inventory says.
    pub fn of(inventory: &Inventory) -> Self {
        let mut expected = Self::default();
        for root in &inventory.roots {
            for backend in &root.backends {
                let Some(place) = backend.sources.first().map(|source| Place {
                    file: source.file.clone(),
                    line: source.line,
                    column: source.column,
                }) else {
                    continue;
                };
                match placed(backend) {
                    Ok((bucket, key)) => expected.states.push(ExpectedState {
                        bucket,
                        key,
                        workspace_key_prefix: match &backend.workspace_key_prefix {
                            Knowable::Known(prefix) => prefix.clone(),
                            _ => WORKSPACE_PREFIX.to_owned(),
                        },
                        mode: backend.mode,
                        table: known(&backend.dynamodb_table).filter(|table| !table.is_empty()),
                        acl: acl(inventory, backend).is_some(),
                        lock_tags: tagged(inventory, backend, "lock_tags"),
                        access: access(inventory, backend),
                        root: root.path.clone(),
                        backend_config: backend.backend_config.clone(),
                        engine: backend.engine,
                        place,
                    }),
                    Err(why) => expected.unplaced.push(Unplaced { root: root.path.clone(), why, place }),
                }
            }
        }
        let mentioned = &mut expected.tables_mentioned;
        let backends = inventory.roots.iter().flat_map(|root| &root.backends);
        mentioned.extend(backends.filter_map(|backend| known(&backend.dynamodb_table)));
        mentioned.extend(inventory.readers.iter().filter_map(|reader| reader.dynamodb_table.clone()));
        mentioned.extend(inventory.unattributed.iter().filter_map(|found| found.dynamodb_table.clone()));
        mentioned.retain(|table| !table.is_empty());
        expected
    }

    /// Prepares for looking paths up.
    pub fn index(&self) -> Index<'_> {
        Index::of(&self.states)
    }

    /// Every bucket, once, in order.
    pub fn buckets(&self) -> BTreeSet<&str> {
        let named = self.named.buckets.iter().map(String::as_str);
        self.states.iter().map(|state| state.bucket.as_str()).chain(named).collect()
    }
}

#[cfg(test)]
mod tests;
