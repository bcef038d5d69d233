//! Rules about one state that several backends use. Locks only work among those who take the same one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::parts::{LOCKS, backends, called, place};
use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::{EffectiveBackend, Inventory, LockMode, RootModule};

/// Writers of one state that do not see each other's locks.
pub static SPLIT_LOCKING: Rule = Rule {
    id: "split-locking",
    severity: Severity::Critical,
    summary: "one state is locked in two ways that do not block each other",
    page: include_str!("../../docs/rules/split-locking.md"),
    check: Check::Inventory(split_locking),
};

/// Two root modules write one state.
pub static SHARED_STATE: Rule = Rule {
    id: "shared-state",
    severity: Severity::Medium,
    summary: "several root modules write the same state",
    page: include_str!("../../docs/rules/shared-state.md"),
    check: Check::Inventory(shared_state),
};

/// Endpoint, bucket and key: the same words at another store are another state.
type State<'a> = (Option<&'a String>, &'a String, &'a String);
type Members<'a> = Vec<(&'a RootModule, &'a EffectiveBackend)>;

/// Backends that write, each with its state. Called modules do not (their backend is ignored), and a linked directory is
/// the same root module once more.
fn writers(inventory: &Inventory) -> impl Iterator<Item = (State<'_>, (&RootModule, &EffectiveBackend))> {
    let writes =
        |(root, _): &(&RootModule, &EffectiveBackend)| root.called_by.is_empty() && root.link_of.is_none();
    backends(inventory).filter(writes).filter_map(|(root, backend)| {
        let (bucket, key) = (backend.bucket.known()?, backend.key.known()?);
        Some(((backend.endpoint.known(), bucket, key), (root, backend)))
    })
}

/// The states that several backends write, with those. Nearly every state has one writer: of these nothing is made.
fn shared(inventory: &Inventory) -> BTreeMap<State<'_>, Members<'_>> {
    let mut counts: HashMap<State<'_>, usize> = HashMap::with_capacity(inventory.roots.len());
    for (state, _) in writers(inventory) {
        *counts.entry(state).or_default() += 1;
    }
    let mut states: BTreeMap<State<'_>, Members<'_>> = BTreeMap::new();
    if counts.values().any(|count| *count > 1) {
        for (state, writer) in writers(inventory).filter(|(state, _)| counts.get(state) > Some(&1)) {
            states.entry(state).or_default().push(writer);
        }
    }
    states
}

/// The locks that a run takes. Tables are compared by name: an ARN and a plain name can mean the same table.
fn locks(backend: &EffectiveBackend) -> BTreeSet<&str> {
    let table = backend
        .dynamodb_table
        .known()
        .map(|table| table.rsplit_once(":table/").map_or(table.as_str(), |(_, name)| name));
    match backend.mode {
        LockMode::Dynamodb => table.into_iter().collect(),
        // No table name holds a slash, so this names nothing else.
        LockMode::Dual => table.into_iter().chain(["/lockfile"]).collect(),
        LockMode::Lockfile => BTreeSet::from(["/lockfile"]),
        LockMode::None | LockMode::Unknown => BTreeSet::new(),
    }
}

fn split_locking(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ((_, bucket, key), members) in shared(inventory) {
        // Two root modules as examples for each set of locks: one of them is another one than whoever is compared,
        // and ten thousand members still make a handful.
        let mut examples: Vec<(BTreeSet<&str>, &RootModule, &EffectiveBackend)> = Vec::new();
        for (root, backend) in members {
            let own = locks(backend);
            if own.is_empty() {
                continue;
            }
            // What two programs see in one directory is ENGINES_DIFFER's: mostly, only one of them is in use.
            let other_program = |other_root: &RootModule, other: &EffectiveBackend| {
                other_root.path == root.path && other.engine != backend.engine
            };
            let stranger = examples.iter().find(|(locks, other_root, other)| {
                locks.is_disjoint(&own) && !other_program(other_root, other)
            });
            if let Some((_, other_root, other)) = stranger {
                let message = format!(
                    "{} locks `s3://{bucket}/{key}` as {}, {} as {}: they do not block each other, and a write \
                     can be lost",
                    called(root, backend),
                    described(backend),
                    called(other_root, other),
                    described(other)
                );
                let help = "bring one of them to the dual phase first: it blocks, and is blocked by, both";
                findings.push(Finding {
                    help: Some(help.to_owned()),
                    ..SPLIT_LOCKING.finding(&root.path, place(inventory, root, backend, LOCKS), message)
                });
            }
            let known: Vec<&str> = examples
                .iter()
                .filter(|(locks, ..)| *locks == own)
                .map(|(_, root, _)| root.path.as_str())
                .collect();
            if known.len() < 2 && !known.contains(&root.path.as_str()) {
                examples.push((own, root, backend));
            }
        }
    }
    findings
}

fn described(backend: &EffectiveBackend) -> String {
    match (backend.mode, backend.dynamodb_table.known()) {
        (LockMode::Dynamodb, Some(table)) => format!("dynamodb (`{table}`)"),
        (mode, _) => mode.as_str().to_owned(),
    }
}

fn shared_state(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ((_, bucket, key), members) in shared(inventory) {
        let paths: BTreeSet<&str> = members.iter().map(|(root, _)| root.path.as_str()).collect();
        // Whoever sets a prefix works in workspaces: only those with the same one meet there.
        let mut by_prefix: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
        for (root, backend) in &members {
            if let Some(prefix) = backend.workspace_key_prefix.known() {
                by_prefix.entry(prefix).or_default().insert(root.path.as_str());
            }
        }
        let mut seen = BTreeSet::new();
        for (root, backend) in members {
            let prefix = backend.workspace_key_prefix.known().and_then(|prefix| by_prefix.get(prefix));
            let apart = prefix.is_some_and(|sharing| sharing.len() == 1);
            let other = paths.iter().find(|path| **path != root.path);
            let (Some(other), true) = (other, seen.insert(&root.path)) else { continue };
            let message = format!(
                "{} writes `s3://{bucket}/{key}`, and so does `{other}` ({} root modules in all)",
                called(root, backend),
                paths.len()
            );
            let help = "give each root module a key of its own";
            let finding =
                SHARED_STATE.finding(&root.path, place(inventory, root, backend, &["key"]), message);
            findings.push(if apart {
                Finding {
                    severity: Severity::Info,
                    message: format!(
                        "{}: in the default workspace only, as its `workspace_key_prefix` is its own",
                        finding.message
                    ),
                    help: Some(
                        "never apply in the default workspace, or give each a key of its own".to_owned(),
                    ),
                    ..finding
                }
            } else {
                Finding { help: Some(help.to_owned()), ..finding }
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::Engine;
    use crate::repo::setting::Value;
    use crate::repo::source::Source;
    use crate::rules::testing::{Build, at, block, run, text, unknown, yes};

    fn state(file: &str, key: &str, locks: &[(&str, Value)]) -> Vec<Source> {
        let mut all = vec![("bucket", text("b")), ("key", text(key))];
        all.extend_from_slice(locks);
        vec![block(file, 1, &all)]
    }

    fn two(first: &[(&str, Value)], second: &[(&str, Value)]) -> Inventory {
        Build::new()
            .root("a", vec![state("a/main.tf", "k", first)])
            .root("b", vec![state("b/main.tf", "k", second)])
            .done()
    }

    #[test]
    fn locks_that_do_not_meet() {
        let table = |name: &str| ("dynamodb_table", text(name));
        let lockfile = || ("use_lockfile", yes());
        let arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/t";
        for (first, second, fires) in [
            (vec![table("t")], vec![lockfile()], true),
            (vec![lockfile()], vec![table("t")], true),
            (vec![table("t")], vec![table("u")], true),
            (vec![table("t")], vec![table(arn)], false),
            (vec![table("t"), lockfile()], vec![table("t")], false),
            (vec![table("t"), lockfile()], vec![lockfile()], false),
            (vec![table("t"), lockfile()], vec![table("u")], true),
            (vec![], vec![lockfile()], false),
            (vec![("dynamodb_table", unknown("var.t"))], vec![lockfile()], false),
        ] {
            let found = at(&SPLIT_LOCKING, &two(&first, &second));
            let expected: &[&str] = if fires { &["b/main.tf:4:3"] } else { &[] };
            assert_eq!(found, expected, "{first:?} and {second:?}");
        }
    }

    #[test]
    fn two_choices_of_one_root_module_count_and_two_programs_do_not() {
        let choices = vec![
            state("a/main.tf", "k", &[("dynamodb_table", text("t"))]),
            state("a/main.tf", "k", &[("use_lockfile", yes())]),
        ];
        let mut inventory = Build::new().root("a", choices).done();
        assert_eq!(at(&SPLIT_LOCKING, &inventory), ["a/main.tf:4:3"]);
        inventory.roots[0].backends[0].engine = Engine::Terraform;
        inventory.roots[0].backends[1].engine = Engine::OpenTofu;
        assert_eq!(at(&SPLIT_LOCKING, &inventory), [""; 0]);
    }

    #[test]
    fn a_prefix_of_its_own_leaves_only_the_default_workspace_shared() {
        let prefix = |name: &str| ("workspace_key_prefix", text(name));
        let said = |first: &[&str], second: &[&str]| -> Vec<(Severity, bool)> {
            let settings = |names: &[&str]| names.iter().map(|name| prefix(name)).collect::<Vec<_>>();
            run(&SHARED_STATE, &two(&settings(first), &settings(second)))
                .into_iter()
                .map(|finding| (finding.severity, finding.message.contains("in the default workspace only")))
                .collect()
        };
        assert_eq!(said(&["x"], &["y"]), [(Severity::Info, true); 2]);
        assert_eq!(said(&["x"], &["x"]), [(Severity::Medium, false); 2]);
        assert_eq!(said(&["x"], &[]), [(Severity::Info, true), (Severity::Medium, false)]);
    }

    #[test]
    fn the_message_names_both_sides() {
        let findings =
            run(&SPLIT_LOCKING, &two(&[("dynamodb_table", text("t"))], &[("use_lockfile", yes())]));
        assert_eq!(
            findings[0].message,
            "`b` locks `s3://b/k` as lockfile, `a` as dynamodb (`t`): they do not block each other, and a write \
             can be lost"
        );
        assert_eq!(findings[0].severity, Severity::Critical);
    }

    #[test]
    fn another_store_or_key_is_another_state() {
        let mut inventory = two(&[("dynamodb_table", text("t"))], &[("use_lockfile", yes())]);
        inventory.roots[1].backends[0].endpoint =
            crate::repo::inventory::Knowable::Known("http://minio:9000".into());
        assert_eq!(at(&SPLIT_LOCKING, &inventory), [""; 0]);
        assert_eq!(at(&SHARED_STATE, &inventory), [""; 0]);
    }

    #[test]
    fn two_root_modules_on_one_state_are_both_named() {
        assert_eq!(at(&SHARED_STATE, &two(&[], &[])), ["a/main.tf:3:3", "b/main.tf:3:3"]);
        let apart = Build::new()
            .root("a", vec![state("a/main.tf", "k", &[])])
            .root("b", vec![state("b/main.tf", "l", &[])])
            .done();
        assert_eq!(at(&SHARED_STATE, &apart), [""; 0]);
    }

    #[test]
    fn one_root_module_twice_links_and_called_modules_share_nothing() {
        let twice = vec![state("a/main.tf", "k", &[]), state("a/main.tf", "k", &[])];
        assert_eq!(at(&SHARED_STATE, &Build::new().root("a", twice).done()), [""; 0]);
        let mut inventory = two(&[], &[]);
        inventory.roots[1].link_of = Some("a".into());
        assert_eq!(at(&SHARED_STATE, &inventory), [""; 0]);
        inventory.roots[1].link_of = None;
        inventory.roots[1].called_by = vec!["a".into()];
        assert_eq!(at(&SHARED_STATE, &inventory), [""; 0]);
    }
}
