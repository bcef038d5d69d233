//! `--by`: root modules counted together by bucket, table, mode, owner or account. Pure counting; formats lay it out.

use std::collections::BTreeMap;

use crate::audit::expected::account_of;
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode, RootModule};

/// What root modules are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// Not at all: one row for each effective backend.
    #[default]
    Root,
    /// The state bucket.
    Bucket,
    /// The lock table.
    Table,
    /// The lock mode.
    Mode,
    /// Who owns the root module, by CODEOWNERS.
    Owner,
    /// The AWS account that the backend's table or role names.
    Account,
}

impl By {
    /// The word used in headings.
    pub fn as_str(self) -> &'static str {
        match self {
            By::Root => "root",
            By::Bucket => "bucket",
            By::Table => "table",
            By::Mode => "mode",
            By::Owner => "owner",
            By::Account => "account",
        }
    }
}

/// One group and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What its members share; `(none)` and `(unknown)` for those without.
    pub name: String,
    /// Root modules in it, each once.
    pub roots: usize,
    /// Effective backends in it, by mode.
    pub modes: BTreeMap<LockMode, usize>,
}

/// All groups by name; those without a name come last. A root module with two owners counts for both.
pub fn groups(inventory: &Inventory, by: By) -> Vec<Group> {
    let mut found: BTreeMap<(u8, String), Group> = BTreeMap::new();
    for root in &inventory.roots {
        let mut seen: Vec<(u8, String)> = Vec::new();
        for backend in &root.backends {
            for key in keys(inventory, root, backend, by) {
                let group = found.entry(key.clone()).or_insert_with(|| Group {
                    name: key.1.clone(),
                    roots: 0,
                    modes: BTreeMap::new(),
                });
                *group.modes.entry(backend.mode).or_default() += 1;
                if !seen.contains(&key) {
                    group.roots += 1;
                    seen.push(key);
                }
            }
        }
    }
    found.into_values().collect()
}

/// The groups that a backend belongs to, each with its rank in the order of groups.
fn keys(inventory: &Inventory, root: &RootModule, backend: &EffectiveBackend, by: By) -> Vec<(u8, String)> {
    let of = |value: &Knowable<String>| match value {
        Knowable::Known(value) => vec![(0, value.clone())],
        Knowable::Absent => vec![(u8::MAX - 1, "(none)".to_owned())],
        Knowable::Unknown(_) => vec![(u8::MAX, "(unknown)".to_owned())],
    };
    match by {
        By::Root => vec![(0, root.path.clone())],
        By::Bucket => of(&backend.bucket),
        By::Table => of(&backend.dynamodb_table),
        // The enum's order is the order of the migration.
        By::Mode => vec![(backend.mode as u8, backend.mode.as_str().to_owned())],
        By::Owner if root.owners.is_empty() => of(&Knowable::Absent),
        By::Owner => root.owners.iter().map(|owner| (0, owner.clone())).collect(),
        By::Account => of(&account_of(inventory, backend).map_or(Knowable::Absent, Knowable::Known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn names(by: By) -> Vec<(String, usize, usize)> {
        groups(&sample::inventory(), by)
            .into_iter()
            .map(|group| (group.name, group.roots, group.modes.values().sum()))
            .collect()
    }

    #[test]
    fn groups_count_roots_once_and_backends_each() {
        let own = |rows: &[(&str, usize, usize)]| {
            rows.iter().map(|(name, a, b)| ((*name).to_owned(), *a, *b)).collect::<Vec<_>>()
        };
        assert_eq!(names(By::Bucket), own(&[("tf-dev", 3, 3), ("tf-prod", 2, 2)]));
        assert_eq!(names(By::Table), own(&[("locks", 1, 2), ("(none)", 2, 2), ("(unknown)", 1, 1)]));
        assert_eq!(
            names(By::Mode),
            own(&[("none", 1, 1), ("dynamodb", 1, 1), ("dual", 1, 1), ("lockfile", 1, 1), ("unknown", 1, 1)])
        );
        assert_eq!(names(By::Owner), own(&[("@acme/platform", 1, 1), ("@acme/web", 2, 3), ("(none)", 2, 2)]));
    }

    #[test]
    fn an_account_is_what_the_table_s_arn_names_and_nothing_else_is_guessed() {
        let mut inventory = sample::inventory();
        let arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/locks";
        inventory.roots[0].backends = vec![sample::backend("a/main.tf", "b", "k", arn, false)];
        let found: Vec<(String, usize)> =
            groups(&inventory, By::Account).into_iter().map(|group| (group.name, group.roots)).collect();
        assert_eq!(found, [("111122223333".to_owned(), 1), ("(none)".to_owned(), 3)]);
    }
}
