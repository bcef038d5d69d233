//! Which lock keys are judged: of each expected state the default workspace's lock, the locks of the workspaces that
//! were seen and one of a workspace that nobody named, and one lock that no state expects.

use super::input::StateInput;
use crate::workspace::state_path;

/// A made-up workspace: it stands for any that nobody has seen yet.
pub const ANY_WORKSPACE: &str = "any-workspace";

/// A made-up state at the bucket's top: a policy that is about `*.tflock` is about its lock, too.
pub const ANY_STATE: &str = "any-state";

/// More keys than this are not judged; [`super::Access::limits`] says so.
const MOST: usize = 600;

/// One lock key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// With `.tflock`.
    pub(super) lock: String,
    /// The state's path.
    pub(super) state: String,
    pub(super) kind: Kind,
    /// Which of the input's states.
    pub(super) of: Option<usize>,
}

/// Which lock it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The default workspace's.
    Default,
    /// No state's.
    Unexpected,
    /// Another workspace's.
    Workspace {
        /// Somebody saw this one.
        seen: bool,
    },
}

/// The keys, sorted and each once, and what was left out.
pub(super) fn keys(states: &[StateInput<'_>]) -> (Vec<Key>, Option<String>) {
    let mut keys = Vec::new();
    let mut push = |state: String, kind, of| {
        keys.push(Key { lock: format!("{state}.tflock"), state, kind, of });
    };
    for (of, state) in states.iter().enumerate().filter(|(_, state)| !state.key.is_empty()) {
        push(state.key.to_owned(), Kind::Default, Some(of));
        let path = |workspace: &str| state_path(state.workspace_key_prefix, workspace, state.key);
        push(path(ANY_WORKSPACE), Kind::Workspace { seen: false }, Some(of));
        for workspace in state.workspaces.iter().flatten().filter(|name| **name != "default") {
            push(path(workspace), Kind::Workspace { seen: true }, Some(of));
        }
    }
    push(ANY_STATE.to_owned(), Kind::Unexpected, None);
    keys.sort_by(|a, b| a.lock.cmp(&b.lock).then(a.of.is_none().cmp(&b.of.is_none())));
    keys.dedup_by(|a, b| a.lock == b.lock);
    let left = keys.len().saturating_sub(MOST);
    let note =
        (left > 0).then(|| format!("{left} of {} lock keys are not judged, to stay quick", keys.len()));
    if left > 0 {
        // The locks that surely exist come first.
        keys.sort_by_key(|key| key.kind);
        keys.truncate(MOST);
        keys.sort_by(|a, b| a.lock.cmp(&b.lock));
    }
    (keys, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_a_lock_in_each_workspace() {
        let state = StateInput {
            key: "prod/terraform.tfstate",
            workspace_key_prefix: "env:",
            workspaces: Some(vec!["default", "stg"]),
            ..StateInput::default()
        };
        let bare = StateInput { key: "a", workspace_key_prefix: "", ..StateInput::default() };
        let (found, note) = keys(&[state.clone(), bare, state]);
        let locks: Vec<&str> = found.iter().map(|key| key.lock.as_str()).collect();
        assert_eq!(
            locks,
            [
                "a.tflock",
                "any-state.tflock",
                "any-workspace/a.tflock",
                "env:/any-workspace/prod/terraform.tfstate.tflock",
                "env:/stg/prod/terraform.tfstate.tflock",
                "prod/terraform.tfstate.tflock",
            ]
        );
        assert_eq!(note, None);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let names: Vec<String> = (0..400).map(|n| format!("s{n}")).collect();
        let states: Vec<StateInput<'_>> =
            names.iter().map(|key| StateInput { key, ..StateInput::default() }).collect();
        let (found, note) = keys(&states);
        assert_eq!(found.len(), 600);
        assert_eq!(note.unwrap(), "201 of 801 lock keys are not judged, to stay quick");
    }
}
