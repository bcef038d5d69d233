//! Which states live at a path: made once, asked for every key of a listing.

use std::collections::BTreeMap;

use super::state::ExpectedState;
use crate::workspace::{join, state_path};

/// States by a key.
type ByKey<'a> = BTreeMap<String, Vec<&'a ExpectedState>>;

/// Stands for every workspace other than `default`, where a key leaves no room for its name in the path.
const ANY_WORKSPACE: &str = "*";

/// Expected states by what a listing shows: made once, asked for every key.
#[derive(Debug, Default)]
pub struct Index<'a> {
    /// By bucket, then key.
    keys: BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a ExpectedState>>>,
    /// Of workspaces other than `default`: by bucket, then cleaned prefix, then cleaned key.
    elsewhere: BTreeMap<&'a str, BTreeMap<String, ByKey<'a>>>,
    /// By bucket, then the path that all workspaces other than `default` share.
    shared: BTreeMap<&'a str, ByKey<'a>>,
}

impl<'a> Index<'a> {
    /// Sorts states for looking paths up.
    pub(super) fn of(states: &'a [ExpectedState]) -> Self {
        let mut index = Index::default();
        for state in states {
            let bucket = state.bucket.as_str();
            index.keys.entry(bucket).or_default().entry(state.key.as_str()).or_default().push(state);
            let (prefix, key) = (join(&[&state.workspace_key_prefix]), join(&[&state.key]));
            if key == ".." || key.starts_with("../") {
                // It leads above the workspace's name, so all workspaces share one path.
                let path = state_path(&prefix, ANY_WORKSPACE, &key);
                index.shared.entry(bucket).or_default().entry(path).or_default().push(state);
            } else {
                // `./` is no folder.
                let prefix = if prefix == "." { String::new() } else { prefix };
                index
                    .elsewhere
                    .entry(bucket)
                    .or_default()
                    .entry(prefix)
                    .or_default()
                    .entry(key)
                    .or_default()
                    .push(state);
            }
        }
        index
    }

    /// The states that live at this path, each with the workspace that makes it so.
    pub fn at<'p>(&self, bucket: &str, state_path: &'p str) -> Vec<(&'a ExpectedState, &'p str)> {
        let Some(keys) = self.keys.get(bucket) else { return Vec::new() };
        let mut found: Vec<(&ExpectedState, &str)> =
            keys.get(state_path).into_iter().flatten().map(|state| (*state, "default")).collect();
        // Asked for every key of a listing: the path's own few prefixes are tried, not the many of all backends.
        let known = self.elsewhere.get(bucket);
        let own = state_path.match_indices('/').filter_map(|(at, _)| state_path.get(..at));
        for prefix in std::iter::once("").chain(own) {
            let Some(by_key) = known.and_then(|known| known.get(prefix)) else { continue };
            let Some((workspace, key)) = split_workspace(prefix, state_path) else { continue };
            found.extend(by_key.get(key).into_iter().flatten().map(|state| (*state, workspace)));
        }
        let shared = self.shared.get(bucket).and_then(|by_path| by_path.get(state_path));
        found.extend(shared.into_iter().flatten().map(|state| (*state, ANY_WORKSPACE)));
        found
    }

    /// Whether any expected state lives at this path.
    pub fn knows(&self, bucket: &str, state_path: &str) -> bool {
        !self.at(bucket, state_path).is_empty()
    }
}

/// The workspace and the key of `PREFIX/WORKSPACE/KEY`.
/// Source: `backend_state.go` (`path` and `keyEnv`) of the S3 backend.
fn split_workspace<'a>(prefix: &str, state_path: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = match prefix {
        "" => state_path,
        prefix => state_path.strip_prefix(prefix)?.strip_prefix('/')?,
    };
    rest.split_once('/').filter(|(workspace, key)| !workspace.is_empty() && !key.is_empty())
}
