//! Who a finding belongs to: the owners of the root module that it is about, of the directory that it stands in, or of
//! the root modules that use the state.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::outcome::Audit;
use crate::repo::inventory::Inventory;

/// Owners by root module and by state.
#[derive(Debug, Default)]
pub(super) struct Owners<'a> {
    of_root: BTreeMap<&'a str, &'a [String]>,
    /// Root modules by `s3://BUCKET/STATE-PATH`.
    of_state: BTreeMap<String, &'a [String]>,
}

impl<'a> Owners<'a> {
    /// Everything that is known.
    pub fn of(inventory: Option<&'a Inventory>, audit: Option<&'a Audit>) -> Self {
        let roots = inventory.into_iter().flat_map(|inventory| &inventory.roots);
        let states = audit.into_iter().flat_map(|audit| &audit.states);
        Self {
            of_root: roots.map(|root| (root.path.as_str(), root.owners.as_slice())).collect(),
            of_state: states
                .map(|state| (format!("s3://{}/{}", state.bucket, state.state_path), state.roots.as_slice()))
                .collect(),
        }
    }

    /// Owners of one root module.
    pub fn of_root(&self, path: &str) -> &'a [String] {
        self.of_root.get(path).copied().unwrap_or_default()
    }

    /// Owners of several root modules, each once, in order.
    pub fn of_roots(&self, roots: &[String]) -> Vec<&'a str> {
        let owners: BTreeSet<&str> =
            roots.iter().flat_map(|root| self.of_root(root)).map(String::as_str).collect();
        owners.into_iter().collect()
    }

    /// Owners of what a finding is about.
    pub fn of_finding(&self, subject: &str, file: Option<&str>) -> Vec<&'a str> {
        if let Some(roots) = self.of_state.get(subject) {
            return self.of_roots(roots);
        }
        // The nearest root module around the file.
        let file = file.unwrap_or_default();
        let above = std::iter::successors(Some(file), |path| path.rsplit_once('/').map(|(dir, _)| dir));
        // A file at the top belongs to the root module there.
        let top = (!file.contains('/') && !file.is_empty()).then_some(".");
        std::iter::once(subject)
            .chain(above)
            .chain(top)
            .find_map(|path| self.of_root.get(path))
            .map(|owners| owners.iter().map(String::as_str).collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{audit, sample};

    #[test]
    fn owners_are_found_by_root_module_file_and_state() {
        let (inventory, mut audit) = (sample::inventory(), audit::sample::audit());
        audit.states[0].roots = vec!["envs/prod".to_owned(), "apps/web".to_owned()];
        let owners = Owners::of(Some(&inventory), Some(&audit));
        assert_eq!(owners.of_finding("apps/web", None), ["@acme/web"]);
        assert_eq!(owners.of_finding("x", Some("apps/web/env/dev.tfbackend")), ["@acme/web"]);
        assert_eq!(owners.of_finding("s3://acme-tfstate/dns", None), ["@acme/platform", "@acme/web"]);
        assert_eq!(owners.of_finding("x", Some("apps/other/main.tf")), [""; 0]);
        let mut inventory = inventory.clone();
        inventory.roots[0].path = ".".to_owned();
        let owners = Owners::of(Some(&inventory), None);
        assert_eq!(owners.of_finding("x", Some("main.tf")), ["@acme/web"]);
        assert_eq!(owners.of_finding("x", Some("apps/other/main.tf")), [""; 0]);
    }
}
