//! The object ARNs of states and locks: exact ones, and wider ones for when a policy would be too long.

use std::collections::{BTreeMap, BTreeSet};

use super::{State, Wanted};
use crate::workspace::{join, state_path};

/// What Terraform appends to a state's path for its lock. Source: `client.go` of the S3 backend.
pub(super) const LOCK_SUFFIX: &str = ".tflock";

/// A workspace that no repository has: the proof asks for it.
pub(super) const MADE_UP_WORKSPACE: &str = "lockshift-proof";

/// State paths in IAM's spelling, for the default workspace and for all others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pattern(pub Vec<String>);

/// How far keys are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Every key by itself.
    Exact,
    /// Keys that share this many first folders are one pattern.
    Folders(usize),
}

impl Width {
    /// What a reader must know of it.
    pub(super) fn note(self) -> Option<String> {
        let Width::Folders(depth) = self else { return None };
        Some(format!(
            "there are too many states to name each: those that share their first {depth} folder(s) are one pattern, \
             which also covers states that no repository here has"
        ))
    }
}

/// From exact to as wide as is tolerable: never a whole bucket.
pub(super) fn widths(states: &[State]) -> impl Iterator<Item = Width> + use<> {
    let deepest = states.iter().map(|state| state.key.matches('/').count()).max().unwrap_or(0);
    std::iter::once(Width::Exact).chain((1..=deepest).rev().map(Width::Folders))
}

/// The patterns of all states, sorted, each once.
pub(super) fn patterns(states: &[State], width: Width) -> Vec<Pattern> {
    let mut groups: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for state in states {
        let folder = match width {
            // The folders of a key that Terraform cleans are others in each workspace: such a key stays by itself.
            Width::Folders(depth)
                if state.key.matches('/').count() >= depth && join(&[&state.key]) == state.key =>
            {
                state.key.split('/').take(depth).collect::<Vec<_>>().join("/")
            }
            // A key can't be a folder: it would end in a slash then.
            _ => format!("{}/", state.key),
        };
        groups.entry((&state.workspace_prefix, folder)).or_default().insert(&state.key);
    }
    let mut found: Vec<Pattern> =
        groups.iter().map(|((prefix, folder), keys)| pattern(prefix, folder, keys)).collect();
    found.sort();
    found.dedup();
    found
}

fn pattern(prefix: &str, folder: &str, keys: &BTreeSet<&str>) -> Pattern {
    let mut only = keys.iter();
    let path = match (only.next(), only.next()) {
        (Some(key), None) => escaped(key),
        _ => {
            let names: BTreeSet<&str> = keys.iter().filter_map(|key| key.rsplit('/').next()).collect();
            let below = keys.iter().all(|key| key.matches('/').count() > folder.matches('/').count() + 1);
            let mut names = names.into_iter();
            match (names.next(), names.next()) {
                (Some(name), None) if below => format!("{}/*/{}", escaped(folder), escaped(name)),
                (Some(name), None) => format!("{}/*{}", escaped(folder), escaped(name)),
                _ => format!("{}/*", escaped(folder)),
            }
        }
    };
    let workspaces = state_path(&escaped(prefix), "*", &path);
    Pattern(vec![path, workspaces])
}

/// Whether a key needs a spelling that only policies of version 2012-10-17 know.
pub(super) fn need_variables(states: &[State]) -> bool {
    let special = |text: &str| text.contains(['*', '?', '$']);
    states.iter().any(|state| special(&state.key) || special(&state.workspace_prefix))
}

/// Text in a `Resource`: what would be a wildcard or a variable is spelt out (IAM user guide, "policy variables").
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '*' | '?' | '$' => out.extend(['$', '{', letter, '}']),
            other => out.push(other),
        }
    }
    out
}

/// The bucket's ARN.
pub(super) fn bucket_arn(wanted: &Wanted) -> String {
    format!("arn:{}:s3:::{}", wanted.partition, wanted.bucket)
}

/// The ARN of an object, or of a pattern of objects.
pub(super) fn object_arn(wanted: &Wanted, path: &str) -> String {
    format!("{}/{path}", bucket_arn(wanted))
}

/// The states' paths in the default workspace and in one that is made up.
pub(super) fn paths(state: &State) -> [String; 2] {
    [state.key.clone(), state_path(&state.workspace_prefix, MADE_UP_WORKSPACE, &state.key)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(keys: &[&str]) -> Vec<State> {
        let state = |key: &&str| State {
            key: (*key).to_owned(),
            workspace_prefix: "env:".to_owned(),
            ..State::default()
        };
        keys.iter().map(state).collect()
    }

    fn shown(keys: &[&str], width: Width) -> Vec<String> {
        patterns(&states(keys), width).into_iter().flat_map(|pattern| pattern.0).collect()
    }

    #[test]
    fn exact_patterns_hold_every_workspace_and_no_wildcard_of_a_key() {
        assert_eq!(shown(&["a/b*c"], Width::Exact), ["a/b${*}c", "env:/*/a/b${*}c"]);
        let mut plain = states(&["k"]);
        plain[0].workspace_prefix.clear();
        assert_eq!(shown(&["./d", "./e"], Width::Folders(1)), ["./d", "env:/*/d", "./e", "env:/*/e"]);
        assert_eq!(paths(&states(&["x/../h"])[0]), ["x/../h", "env:/lockshift-proof/h"]);
        assert_eq!(patterns(&plain, Width::Exact), [Pattern(vec!["k".into(), "*/k".into()])]);
        assert!(!need_variables(&plain));
        assert!(need_variables(&states(&["a$"])));
    }

    #[test]
    fn wider_patterns_keep_as_much_as_the_keys_share() {
        let keys = ["p/a/terraform.tfstate", "p/b/terraform.tfstate", "q/x.tfstate", "top.tfstate"];
        assert_eq!(
            shown(&keys, Width::Folders(1)),
            [
                "p/*/terraform.tfstate",
                "env:/*/p/*/terraform.tfstate",
                "q/x.tfstate",
                "env:/*/q/x.tfstate",
                "top.tfstate",
                "env:/*/top.tfstate"
            ]
        );
        assert_eq!(
            shown(&["p/terraform.tfstate", "p/a/terraform.tfstate"], Width::Folders(1))[0],
            "p/*terraform.tfstate"
        );
        assert_eq!(shown(&["p/a", "p/b"], Width::Folders(1))[0], "p/*");
        assert_eq!(shown(&keys, Width::Folders(2)).len(), 8);
        let widths: Vec<Width> = widths(&states(&keys)).collect();
        assert_eq!(widths, [Width::Exact, Width::Folders(2), Width::Folders(1)]);
    }
}
