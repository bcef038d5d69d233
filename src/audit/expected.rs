//! What the repositories say that there should be: states, their locks, and how to reach them. Made from an
//! inventory or from flags; pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::inventory::{EffectiveBackend, Engine, Inventory, Knowable, LockMode};
use crate::repo::setting::Value;
use crate::repo::source::{Source, SourceKind};
use crate::repo::text::Place;
use crate::workspace::{WORKSPACE_PREFIX, join, state_path};

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

/// One state (its default workspace), as one root module's backend names it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedState {
    /// Its bucket.
    pub bucket: String,
    /// Its key: the default workspace's state path.
    pub key: String,
    /// Where its other workspaces live; `env:` when the backend says nothing. Empty means `WORKSPACE/KEY`.
    pub workspace_key_prefix: String,
    /// Which locks its runs take.
    pub mode: LockMode,
    /// Its table, by name or ARN, when it has one.
    pub table: Option<String>,
    /// The backend sets `acl`, so the lock is written with one.
    pub acl: bool,
    /// The backend sets `lock_tags` (OpenTofu).
    pub lock_tags: bool,
    /// How to reach it.
    pub access: Access,
    /// The root module's path.
    pub root: String,
    /// The choice of backend-config that leads here.
    pub backend_config: Vec<String>,
    /// Which program reads it so.
    pub engine: Engine,
    /// Where it stands, for findings.
    pub place: Place,
}

/// How a backend says that its stores are reached. Credentials are never kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// `region`.
    pub region: Option<String>,
    /// `profile`.
    pub profile: Option<String>,
    /// `assume_role.role_arn` or the old `role_arn`.
    pub role_arn: Option<String>,
    /// `assume_role.external_id` or the old `external_id` is set: it is a secret that must come from elsewhere.
    pub wants_external_id: bool,
    /// `endpoints.s3` or the old `endpoint`.
    pub s3_endpoint: Option<String>,
    /// `endpoints.dynamodb` or the old `dynamodb_endpoint`.
    pub dynamodb_endpoint: Option<String>,
    /// `use_path_style` or the old `force_path_style`.
    pub path_style: bool,
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
        let mut index = Index::default();
        for state in &self.states {
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

    /// Every bucket, once, in order.
    pub fn buckets(&self) -> BTreeSet<&str> {
        let named = self.named.buckets.iter().map(String::as_str);
        self.states.iter().map(|state| state.bucket.as_str()).chain(named).collect()
    }
}

/// A lock table, as a backend names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableRef {
    /// Its name, without account and region.
    pub name: String,
    /// Its region: the ARN's, else the backend's; none when neither says.
    pub region: Option<String>,
    /// The account, when an ARN says it.
    pub account: Option<String>,
    /// The endpoint; none for AWS itself.
    pub endpoint: Option<String>,
}

impl TableRef {
    /// Reads a name or a full ARN (`arn:aws:dynamodb:REGION:ACCOUNT:table/NAME`).
    pub fn of(table: &str, access: &Access) -> Self {
        let (region, endpoint) = (access.region.clone(), access.dynamodb_endpoint.clone());
        let mut parts = table.splitn(6, ':');
        let arn = (parts.next() == Some("arn")).then(|| (parts.nth(2), parts.next(), parts.next()));
        let Some((Some(arn_region), Some(account), Some(resource))) = arn else {
            return Self { name: table.to_owned(), region, account: None, endpoint };
        };
        let text = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        Self {
            name: resource.strip_prefix("table/").unwrap_or(resource).to_owned(),
            region: text(arn_region).or(region),
            account: text(account),
            endpoint,
        }
    }
}

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

/// The partition of a region: names are unique within one only, and no request crosses them.
pub fn partition_of(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "aws-cn"
    } else if region.starts_with("us-gov-") {
        "aws-us-gov"
    } else if region.starts_with("us-isob-") {
        "aws-iso-b"
    } else if region.contains("-iso") {
        "aws-iso"
    } else {
        "aws"
    }
}

impl ExpectedState {
    /// Its table, where it has one.
    pub fn table_ref(&self) -> Option<TableRef> {
        self.table.as_deref().map(|table| TableRef::of(table, &self.access))
    }

    /// The state path of a workspace.
    pub fn path_of(&self, workspace: &str) -> String {
        state_path(&self.workspace_key_prefix, workspace, &self.key)
    }
}

/// The text of a literal, as the backend's schema would convert it.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Secret | Value::Object | Value::Unknown { .. } => None,
    }
}

fn known(value: &Knowable<String>) -> Option<String> {
    match value {
        Knowable::Known(value) => Some(value.clone()),
        _ => None,
    }
}

fn placed(backend: &EffectiveBackend) -> Result<(String, String), String> {
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
pub(super) fn setting<'i>(
    inventory: &'i Inventory,
    backend: &'i EffectiveBackend,
    name: &str,
) -> Option<&'i Value> {
    live(inventory, backend).rev().find_map(|source| source.setting(name)).map(|set| &set.value)
}

/// `acl`, where it is set; empty where it is set to what is not known.
pub(super) fn acl(inventory: &Inventory, backend: &EffectiveBackend) -> Option<String> {
    match setting(inventory, backend, "acl") {
        Some(Value::Text(acl)) if !acl.is_empty() => Some(acl.clone()),
        Some(Value::Unknown { .. } | Value::Secret) => Some(String::new()),
        _ => None,
    }
}

/// Whether a map of tags is set, `lock_tags` or `state_tags`. A map's parts have dotted names.
pub(super) fn tagged(inventory: &Inventory, backend: &EffectiveBackend, name: &str) -> bool {
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
fn access(inventory: &Inventory, backend: &EffectiveBackend) -> Access {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn state(key: &str, prefix: &str) -> ExpectedState {
        ExpectedState {
            bucket: "b".into(),
            key: key.into(),
            workspace_key_prefix: prefix.into(),
            mode: LockMode::Dual,
            table: None,
            acl: false,
            lock_tags: false,
            access: Access { region: Some("eu-west-1".into()), ..Access::default() },
            root: "root".into(),
            backend_config: Vec::new(),
            engine: Engine::Any,
            place: Place { file: "main.tf".into(), line: 1, column: 1 },
        }
    }

    #[test]
    fn a_region_says_its_partition() {
        for (region, partition) in [
            ("eu-west-1", "aws"),
            ("cn-north-1", "aws-cn"),
            ("us-gov-west-1", "aws-us-gov"),
            ("us-iso-east-1", "aws-iso"),
            ("us-isob-east-1", "aws-iso-b"),
        ] {
            assert_eq!(partition_of(region), partition);
        }
    }

    #[test]
    fn a_path_finds_its_state_and_workspace() {
        let states = vec![state("a/terraform.tfstate", "env:"), state("k", ""), state("k", "deep/prefix")];
        let expected = Expected { states, ..Expected::default() };
        let index = expected.index();
        let at = |path: &str| -> Vec<(String, String)> {
            let found = index.at("b", path);
            found
                .into_iter()
                .map(|(state, workspace)| (state.path_of(workspace), workspace.to_owned()))
                .collect()
        };
        let own = |path: &str, workspace: &str| vec![(path.to_owned(), workspace.to_owned())];
        assert_eq!(at("a/terraform.tfstate"), own("a/terraform.tfstate", "default"));
        assert_eq!(at("env:/stg/a/terraform.tfstate"), own("env:/stg/a/terraform.tfstate", "stg"));
        assert_eq!(at("stg/k"), own("stg/k", "stg"));
        assert_eq!(at("deep/prefix/stg/k"), own("deep/prefix/stg/k", "stg"));
        assert_eq!(at("k").len(), 2);
        for other in ["env:/stg/k", "env:/a/terraform.tfstate", "env:/x/y/k", "other", "deep/prefix/k/", ""] {
            assert!(at(other).is_empty(), "{other}");
        }
        assert!(!index.knows("other", "k"));
    }

    /// The paths are those where Terraform 1.11.4 put state and lock.
    #[test]
    fn workspaces_are_found_where_terraform_puts_them() {
        let states = vec![
            state("./d.tfstate", "env:"),
            state("x/../h.tfstate", ""),
            state("e/f.tfstate", "w//s"),
            state("../up.tfstate", "env:"),
            state("dot.tfstate", "./"),
        ];
        let expected = Expected { states, ..Expected::default() };
        let index = expected.index();
        for (path, key, workspace) in [
            ("./d.tfstate", "./d.tfstate", "default"),
            ("env:/dev/d.tfstate", "./d.tfstate", "dev"),
            ("dev/h.tfstate", "x/../h.tfstate", "dev"),
            ("w/s/dev/e/f.tfstate", "e/f.tfstate", "dev"),
            ("env:/up.tfstate", "../up.tfstate", "*"),
            ("dev/dot.tfstate", "dot.tfstate", "dev"),
        ] {
            let found: Vec<(&str, &str)> = index
                .at("b", path)
                .iter()
                .map(|(state, workspace)| (state.key.as_str(), *workspace))
                .collect();
            assert_eq!(found, [(key, workspace)], "{path}");
            assert_eq!(index.at("b", path)[0].0.path_of(workspace), path);
        }
        for other in ["d.tfstate", "env:/dev/./d.tfstate", "dev/x/../h.tfstate", "w//s/dev/e/f.tfstate"] {
            assert!(!index.knows("b", other), "{other}");
        }
    }

    #[test]
    fn a_prefix_that_is_set_to_nothing_is_nothing() {
        let of = |more: &str| {
            let dir = tempfile::tempdir().unwrap();
            let text = format!(
                "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = \"e/f\"\n{more}\n  }}\n}}\n"
            );
            std::fs::write(dir.path().join("main.tf"), text).unwrap();
            let options = crate::repo::scan::ScanOptions {
                paths: vec![dir.path().to_owned()],
                ..crate::repo::scan::ScanOptions::default()
            };
            let inventory = crate::repo::scan::scan(&options, &crate::repo::walk::Silent).unwrap();
            Expected::of(&inventory).states[0].path_of("dev")
        };
        assert_eq!(of("workspace_key_prefix = \"\""), "dev/e/f");
        assert_eq!(of("workspace_key_prefix = null"), "env:/dev/e/f");
        assert_eq!(of(""), "env:/dev/e/f");
    }

    #[test]
    fn a_table_is_a_name_or_an_arn() {
        let access = Access { region: Some("eu-west-1".into()), ..Access::default() };
        let plain = TableRef::of("locks", &access);
        assert_eq!(
            (plain.name.as_str(), plain.region.as_deref(), plain.account),
            ("locks", Some("eu-west-1"), None)
        );
        let arn = TableRef::of("arn:aws:dynamodb:us-east-2:111122223333:table/locks", &access);
        assert_eq!((arn.name.as_str(), arn.region.as_deref()), ("locks", Some("us-east-2")));
        assert_eq!(arn.account.as_deref(), Some("111122223333"));
        assert_eq!(TableRef::of("arn:odd", &access).name, "arn:odd");
    }

    #[test]
    fn what_a_lock_is_written_with_comes_from_the_sources_that_count() {
        let of = |text: &str| {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("main.tf"), text).unwrap();
            let options = crate::repo::scan::ScanOptions {
                paths: vec![dir.path().to_owned()],
                ..crate::repo::scan::ScanOptions::default()
            };
            let inventory = crate::repo::scan::scan(&options, &crate::repo::walk::Silent).unwrap();
            let states = Expected::of(&inventory).states;
            states.iter().map(|state| (state.acl, state.lock_tags)).collect::<Vec<_>>()
        };
        let backend = |more: &str| {
            format!(
                "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = \"k\"\n{more}\n  }}\n}}\n"
            )
        };
        assert_eq!(of(&backend("")), [(false, false)]);
        assert_eq!(of(&backend("acl = \"private\"")), [(true, false)]);
        assert_eq!(of(&backend("acl = \"\"")), [(false, false)]);
        assert_eq!(of(&backend("acl = var.acl")), [(true, false)], "set, and to what is not known");
        assert_eq!(of(&backend("lock_tags = {\n team = \"x\"\n}")), [(false, true)]);
        assert_eq!(
            of(&backend("state_tags = {\n team = \"x\"\n}")),
            [(false, false)],
            "on the state, not the lock"
        );
    }
}
