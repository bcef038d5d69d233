//! Rules about the lock mode of one effective backend. What several backends have to do with each other is
//! judged in `merging` and `states`.

use std::collections::BTreeSet;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::parts::{LOCKFILE, LOCKS, TABLE, backends, called, deciding, place, place_of};
use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, LockMode, RootKind, RootModule};
use crate::repo::problem::ProblemKind;
use crate::repo::text::Place;

/// Locks in DynamoDB alone.
pub static DYNAMODB_ONLY: Rule = Rule {
    id: "dynamodb-only",
    severity: Severity::Medium,
    summary: "a root module locks in DynamoDB alone",
    page: include_str!("../../docs/rules/dynamodb-only.md"),
    check: Check::Inventory(dynamodb_only),
};

/// Takes no lock.
pub static NO_LOCKING: Rule = Rule {
    id: "no-locking",
    severity: Severity::High,
    summary: "a root module takes no lock at all",
    page: include_str!("../../docs/rules/no-locking.md"),
    check: Check::Inventory(no_locking),
};

/// Half way.
pub static DUAL_LOCKING: Rule = Rule {
    id: "dual-locking",
    severity: Severity::Info,
    summary: "a root module takes both locks: half way",
    page: include_str!("../../docs/rules/dual-locking.md"),
    check: Check::Inventory(dual_locking),
};

/// The mode can't be told.
pub static UNRESOLVED_SETTING: Rule = Rule {
    id: "unresolved-setting",
    severity: Severity::Medium,
    summary: "a lock setting that only a run can tell",
    page: include_str!("../../docs/rules/unresolved-setting.md"),
    check: Check::Inventory(unresolved_setting),
};

/// Settings are missing that `init` must get from somewhere.
pub static INCOMPLETE_BACKEND: Rule = Rule {
    id: "incomplete-backend",
    severity: Severity::Medium,
    summary: "the rest of a backend comes from somewhere that the scan did not find",
    page: include_str!("../../docs/rules/incomplete-backend.md"),
    check: Check::Inventory(incomplete_backend),
};

/// Backends of a mode that most of a large repository may have.
fn of_mode(
    inventory: &Inventory,
    mode: LockMode,
) -> impl ParallelIterator<Item = (&RootModule, &EffectiveBackend)> {
    let roots = inventory.roots.par_iter().with_min_len(64);
    let backends = roots.flat_map_iter(|root| root.backends.iter().map(move |backend| (root, backend)));
    backends.filter(move |(_, backend)| backend.mode == mode)
}

fn dynamodb_only(inventory: &Inventory) -> Vec<Finding> {
    of_mode(inventory, LockMode::Dynamodb)
        .map(|(root, backend)| {
            let table = backend.dynamodb_table.known().map_or("?", String::as_str);
            let message = format!("{} locks in the DynamoDB table `{table}` alone", called(root, backend));
            let finding = DYNAMODB_ONLY.finding(&root.path, place(inventory, root, backend, TABLE), message);
            let help = "add `use_lockfile = true` beside the table: `lockshift migrate --phase dual`";
            Finding { help: Some(help.to_owned()), ..finding }
        })
        .collect()
}

fn no_locking(inventory: &Inventory) -> Vec<Finding> {
    let hiding = inventory.problems.iter().filter(|problem| problem.kind.hides_something());
    let broken: BTreeSet<&str> = hiding.map(|problem| problem.place.file.as_str()).collect();
    of_mode(inventory, LockMode::None)
        // Nothing can be said of a backend whose other half was not found: INCOMPLETE_BACKEND says that.
        .filter(|(_, backend)| missing(backend).is_empty())
        // Nor of one that was read in part: the lock may stand in the other part, and the problem says that.
        .filter(|(_, backend)| !backend.sources.iter().any(|at| broken.contains(at.file.as_str())))
        .map(|(root, backend)| {
            let why = match deciding(inventory, backend, LOCKS) {
                Some((_, setting)) => format!("`{}` is set to a value that switches it off", setting.name),
                None => "neither `dynamodb_table` nor `use_lockfile` is set".to_owned(),
            };
            let message = format!("{} takes no lock: {why}", called(root, backend));
            let finding = NO_LOCKING.finding(&root.path, place(inventory, root, backend, LOCKS), message);
            let help = "set `use_lockfile = true`: `lockshift migrate --phase dual --include-unlocked`";
            Finding { help: Some(help.to_owned()), ..finding }
        })
        .collect()
}

fn dual_locking(inventory: &Inventory) -> Vec<Finding> {
    of_mode(inventory, LockMode::Dual)
        .map(|(root, backend)| {
            let table = backend.dynamodb_table.known().map_or("?", String::as_str);
            let message =
                format!("{} takes both locks, the lockfile and the table `{table}`", called(root, backend));
            let finding = DUAL_LOCKING.finding(&root.path, place(inventory, root, backend, TABLE), message);
            let help = "once everything that uses this state locks so: `lockshift migrate --phase final`";
            Finding { help: Some(help.to_owned()), ..finding }
        })
        .collect()
}

fn unresolved_setting(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, backend) in backends(inventory).filter(|(_, backend)| backend.mode == LockMode::Unknown) {
        let unknown = [
            ("dynamodb_table", TABLE, backend.dynamodb_table.unknown()),
            ("use_lockfile", LOCKFILE, backend.use_lockfile.unknown()),
        ];
        let mut named = false;
        // What is set nowhere because half of the backend was not found: INCOMPLETE_BACKEND says that, once.
        let incomplete = root.kind != RootKind::Atmos && !missing(backend).is_empty();
        for (name, names, why) in unknown {
            let Some(why) = why else { continue };
            named = true;
            if incomplete && deciding(inventory, backend, names).is_none() {
                continue;
            }
            let at = place(inventory, root, backend, names);
            // `init` refuses the value: INVALID_VALUE says that, and more about it can't be known.
            if refused(inventory, &at) {
                continue;
            }
            let message = format!("`{name}` of {} can't be told: {why}", called(root, backend));
            let help = "write the value as a literal, or in a file given to `-backend-config`";
            findings.push(Finding {
                help: Some(help.to_owned()),
                ..UNRESOLVED_SETTING.finding(&root.path, at, message)
            });
        }
        if !named {
            let message = format!("the lock mode of {} can't be told", called(root, backend));
            let at = place(inventory, root, backend, LOCKS);
            findings.push(UNRESOLVED_SETTING.finding(&root.path, at, message));
        }
    }
    findings
}

fn refused(inventory: &Inventory, at: &Place) -> bool {
    inventory.problems.iter().any(|it| it.kind == ProblemKind::InvalidValue && it.place == *at)
}

/// Arguments that the S3 backend requires, and that stand nowhere.
fn missing(backend: &EffectiveBackend) -> Vec<&'static str> {
    [("bucket", &backend.bucket), ("key", &backend.key)]
        .into_iter()
        .filter(|(_, value)| **value == Knowable::Absent)
        .map(|(name, _)| name)
        .collect()
}

fn incomplete_backend(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, backend) in backends(inventory) {
        // A stack may leave these to the component or to the wrapper's own naming.
        if root.kind == RootKind::Atmos {
            continue;
        }
        let missing = missing(backend);
        if missing.is_empty() {
            continue;
        }
        let at = backend.sources.iter().find(|at| !at.shadowed).map(place_of);
        let at = at.unwrap_or_else(|| place(inventory, root, backend, LOCKS));
        let message = format!(
            "{} sets no {}: `init` gets more settings from somewhere, and they may decide about locks",
            called(root, backend),
            super::parts::quoted(missing.into_iter())
        );
        let help = "find the `-backend-config` that completes it and scan that place, too";
        findings.push(Finding {
            help: Some(help.to_owned()),
            ..INCOMPLETE_BACKEND.finding(&root.path, at, message)
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::setting::Value;
    use crate::repo::source::SourceKind;
    use crate::rules::testing::{Build, at, block, off, source, text, unknown, yes};

    fn with(settings: &[(&str, Value)]) -> Inventory {
        let mut all = vec![("bucket", text("b")), ("key", text("k"))];
        all.extend_from_slice(settings);
        Build::new().root("envs/prod", vec![vec![block("envs/prod/main.tf", 3, &all)]]).done()
    }

    #[test]
    fn each_mode_fires_its_rule_and_no_other() {
        let table = ("dynamodb_table", text("locks"));
        for (settings, fires) in [
            (vec![table.clone()], "dynamodb-only"),
            (vec![table.clone(), ("use_lockfile", off())], "dynamodb-only"),
            (vec![], "no-locking"),
            (vec![("use_lockfile", off()), ("dynamodb_table", text(""))], "no-locking"),
            (vec![table.clone(), ("use_lockfile", yes())], "dual-locking"),
            (vec![table, ("use_lockfile", unknown("var.x"))], "unresolved-setting"),
            (vec![("use_lockfile", yes())], ""),
        ] {
            let inventory = with(&settings);
            for rule in [&DYNAMODB_ONLY, &NO_LOCKING, &DUAL_LOCKING, &UNRESOLVED_SETTING, &INCOMPLETE_BACKEND]
            {
                let found = at(rule, &inventory);
                assert_eq!(found.len(), usize::from(rule.id == fires), "{} on {settings:?}", rule.id);
            }
        }
    }

    #[test]
    fn half_a_backend_is_said_once_and_an_unknown_setting_in_it_too() {
        let half = |settings: &[(&str, Value)]| {
            let mut all = vec![("key", text("k"))];
            all.extend_from_slice(settings);
            let mut inventory = Build::new().root("a", vec![vec![block("a/main.tf", 3, &all)]]).done();
            let backend = &mut inventory.roots[0].backends[0];
            backend.mode = LockMode::Unknown;
            backend.dynamodb_table = Knowable::Unknown("half of it".into());
            backend.use_lockfile = Knowable::Unknown("half of it".into());
            inventory
        };
        let inventory = half(&[]);
        assert_eq!(at(&INCOMPLETE_BACKEND, &inventory), ["a/main.tf:3:1"]);
        assert_eq!(at(&UNRESOLVED_SETTING, &inventory), [""; 0]);
        let inventory = half(&[("dynamodb_table", unknown("var.t"))]);
        assert_eq!(at(&UNRESOLVED_SETTING, &inventory), ["a/main.tf:5:3"]);
    }

    #[test]
    fn what_is_set_nowhere_is_said_of_the_block() {
        assert_eq!(at(&NO_LOCKING, &with(&[])), ["envs/prod/main.tf:3:1"]);
        assert_eq!(at(&NO_LOCKING, &with(&[("use_lockfile", off())])), ["envs/prod/main.tf:6:3"]);
    }

    #[test]
    fn the_finding_stands_where_the_table_is_set() {
        let inventory = Build::new()
            .root(
                "envs/prod",
                vec![vec![
                    block("envs/prod/main.tf", 3, &[("bucket", text("b")), ("key", text("k"))]),
                    source(
                        SourceKind::BackendConfigFile,
                        "envs/prod/p.tfbackend",
                        1,
                        &[("dynamodb_table", text("t"))],
                    ),
                ]],
            )
            .done();
        let findings = dynamodb_only(&inventory);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place.to_string(), "envs/prod/p.tfbackend:2:3");
        assert_eq!(
            findings[0].message,
            "`envs/prod` with `envs/prod/p.tfbackend` locks in the DynamoDB table `t` alone"
        );
    }

    #[test]
    fn an_unknown_setting_is_named_with_its_reason() {
        let findings = unresolved_setting(&with(&[("dynamodb_table", unknown("var.table"))]));
        assert_eq!(findings.len(), 1);
        assert_eq!(
            findings[0].message,
            "`dynamodb_table` of `envs/prod` can't be told: `var.table` needs a run"
        );
    }

    #[test]
    fn a_value_that_init_refuses_is_not_also_unresolved() {
        let mut inventory = with(&[("use_lockfile", unknown("\"yes\""))]);
        let mut problem = crate::repo::problem::Problem {
            kind: ProblemKind::InvalidValue,
            place: unresolved_setting(&inventory)[0].place.clone(),
            message: String::new(),
            excerpt: None,
        };
        inventory.problems.push(problem.clone());
        assert_eq!(at(&UNRESOLVED_SETTING, &inventory), [""; 0]);
        problem.place.line += 1;
        inventory.problems = vec![problem];
        assert_eq!(at(&UNRESOLVED_SETTING, &inventory).len(), 1);
    }

    #[test]
    fn a_file_that_was_read_in_part_is_not_called_unlocked() {
        let mut inventory = with(&[]);
        let mut problem = crate::repo::problem::Problem {
            kind: ProblemKind::ParseError,
            place: crate::rules::testing::spot("envs/prod/main.tf", 9),
            message: String::new(),
            excerpt: None,
        };
        inventory.problems.push(problem.clone());
        assert_eq!(at(&NO_LOCKING, &inventory), [""; 0]);
        problem.place.file = "envs/prod/other.tf".into();
        inventory.problems = vec![problem];
        assert_eq!(at(&NO_LOCKING, &inventory).len(), 1);
    }

    #[test]
    fn half_a_backend_is_not_called_unlocked() {
        let inventory =
            Build::new().root("a", vec![vec![block("a/main.tf", 1, &[("bucket", text("b"))])]]).done();
        assert_eq!(at(&NO_LOCKING, &inventory), [""; 0]);
        let findings = incomplete_backend(&inventory);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.starts_with("`a` sets no `key`: "), "{}", findings[0].message);
    }

    #[test]
    fn atmos_may_leave_the_key_to_the_component() {
        let mut inventory = Build::new().root("a", vec![vec![block("a/main.tf", 1, &[])]]).done();
        assert_eq!(at(&INCOMPLETE_BACKEND, &inventory), ["a/main.tf:1:1"]);
        inventory.roots[0].kind = RootKind::Atmos;
        assert_eq!(at(&INCOMPLETE_BACKEND, &inventory), [""; 0]);
    }
}
