//! The states behind root modules: which objects their locks are, and which rights runs need on them. Pure.

use std::collections::BTreeSet;

use crate::repo::inventory::{Inventory, Knowable};
use crate::workspace::{WORKSPACE_PREFIX, join, state_path};

/// One state and its workspaces.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The bucket; none when it can't be told from the files.
    pub bucket: Option<String>,
    /// The default workspace's state path; none when it can't be told.
    pub key: Option<String>,
    /// `workspace_key_prefix`; none when it can't be told.
    pub prefix: Option<String>,
    /// The region, when it can be told.
    pub region: Option<String>,
}

/// The states of these root modules, each once, sorted.
pub fn of_roots(inventory: &Inventory, roots: &[String]) -> Vec<State> {
    let wanted: BTreeSet<&str> = roots.iter().map(String::as_str).collect();
    let mut states = BTreeSet::new();
    for root in inventory.roots.iter().filter(|root| wanted.contains(root.path.as_str())) {
        for backend in &root.backends {
            states.insert(State {
                bucket: backend.bucket.known().cloned(),
                key: backend.key.known().cloned(),
                prefix: match &backend.workspace_key_prefix {
                    Knowable::Known(prefix) => Some(prefix.clone()),
                    Knowable::Absent => Some(WORKSPACE_PREFIX.to_owned()),
                    Knowable::Unknown(_) => None,
                },
                region: backend.region.known().cloned(),
            });
        }
    }
    states.into_iter().collect()
}

impl State {
    /// ARNs of its lock objects, in the default workspace and in all others. Where the key can't be told, all lock
    /// objects of the bucket; none where the bucket can't be told.
    pub fn lock_arns(&self) -> Vec<String> {
        let Some(bucket) = &self.bucket else { return Vec::new() };
        let partition = match self.region.as_deref() {
            Some(region) if region.starts_with("cn-") => "aws-cn",
            Some(region) if region.starts_with("us-gov-") => "aws-us-gov",
            _ => "aws",
        };
        let arn = |path: &str| format!("arn:{partition}:s3:::{bucket}/{path}.tflock");
        match (&self.key, &self.prefix) {
            (Some(key), Some(prefix)) => vec![arn(key), arn(&state_path(prefix, "*", key))],
            // What leads above the prefix leads to where nobody can tell; the key's end is the same there.
            (Some(key), None) => {
                vec![arn(key), arn(&format!("*/{}", join(&[key.as_str()]).trim_start_matches("../")))]
            }
            (None, _) => vec![arn("*")],
        }
    }
}

/// The rights that every role which plans or applies needs on the lock objects, as a policy document. `None` where
/// no bucket can be told.
pub fn lock_policy(states: &[State]) -> Option<String> {
    let arns: BTreeSet<String> = states.iter().flat_map(State::lock_arns).collect();
    if arns.is_empty() {
        return None;
    }
    let policy = serde_json::json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "StateLocks",
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
            "Resource": arns,
        }],
    });
    serde_json::to_string_pretty(&policy).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(key: Option<&str>, prefix: Option<&str>, region: &str) -> State {
        State {
            bucket: Some("b".to_owned()),
            key: key.map(str::to_owned),
            prefix: prefix.map(str::to_owned),
            region: Some(region.to_owned()),
        }
    }

    #[test]
    fn locks_of_all_workspaces_are_named_exactly() {
        assert_eq!(
            state(Some("a/t.tfstate"), Some("env:"), "eu-west-1").lock_arns(),
            ["arn:aws:s3:::b/a/t.tfstate.tflock", "arn:aws:s3:::b/env:/*/a/t.tfstate.tflock"]
        );
        assert_eq!(
            state(Some("./d"), Some(""), "eu-west-1").lock_arns(),
            ["arn:aws:s3:::b/./d.tflock", "arn:aws:s3:::b/*/d.tflock"]
        );
        assert_eq!(
            state(Some("../x/./d"), None, "eu-west-1").lock_arns(),
            ["arn:aws:s3:::b/../x/./d.tflock", "arn:aws:s3:::b/*/x/d.tflock"]
        );
        assert_eq!(
            state(Some("t"), None, "cn-north-1").lock_arns(),
            ["arn:aws-cn:s3:::b/t.tflock", "arn:aws-cn:s3:::b/*/t.tflock"]
        );
        assert_eq!(state(None, None, "us-gov-west-1").lock_arns(), ["arn:aws-us-gov:s3:::b/*.tflock"]);
        let policy =
            lock_policy(&[state(Some("k"), Some("w"), "x"), state(Some("k"), Some("w"), "x")]).unwrap();
        let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
        assert_eq!(
            policy["Statement"][0]["Resource"],
            serde_json::json!(["arn:aws:s3:::b/k.tflock", "arn:aws:s3:::b/w/*/k.tflock"])
        );
        assert_eq!(lock_policy(&[State { bucket: None, ..state(None, None, "x") }]), None);
    }
}
