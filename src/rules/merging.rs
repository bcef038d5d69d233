//! Rules about how one root module's sources come together: overrides, backend-config files, engines.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{
    LOCKFILE, TABLE, backends, called, deciding, may_lock_file, may_lock_table, place_in, place_of,
    place_of_root, quoted, source,
};
use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::{EffectiveBackend, Engine, Inventory, LockMode};
use crate::repo::source::{Source, SourceKind};

/// One root module, several lock modes.
pub static MIXED_BACKEND_CONFIG: Rule = Rule {
    id: "mixed-backend-config",
    severity: Severity::Medium,
    summary: "the backend-config choices of one root module lock in different ways",
    page: include_str!("../../docs/rules/mixed-backend-config.md"),
    check: Check::Inventory(mixed_backend_config),
};

/// Two files, one lock each.
pub static STILL_DUAL: Rule = Rule {
    id: "still-dual",
    severity: Severity::Medium,
    summary: "one source sets the lockfile, another one still sets the table",
    page: include_str!("../../docs/rules/still-dual.md"),
    check: Check::Inventory(still_dual),
};

/// An override dropped a lock.
pub static OVERRIDE_UNSET: Rule = Rule {
    id: "override-unset",
    severity: Severity::High,
    summary: "an override file replaces the backend block and drops a lock",
    page: include_str!("../../docs/rules/override-unset.md"),
    check: Check::Inventory(override_unset),
};

/// Terraform and OpenTofu do not agree.
pub static ENGINES_DIFFER: Rule = Rule {
    id: "engines-differ",
    severity: Severity::Medium,
    summary: "Terraform and OpenTofu would use different backends here",
    page: include_str!("../../docs/rules/engines-differ.md"),
    check: Check::Inventory(engines_differ),
};

/// A backend that is ignored.
pub static CHILD_MODULE_BACKEND: Rule = Rule {
    id: "child-module-backend",
    severity: Severity::Info,
    summary: "a backend block in a directory that is called as a child module",
    page: include_str!("../../docs/rules/child-module-backend.md"),
    check: Check::Inventory(child_module_backend),
};

/// A source that is not in git.
pub static GIT_IGNORED_SOURCE: Rule = Rule {
    id: "git-ignored-source",
    severity: Severity::Low,
    summary: "a file that git ignores contributes to a backend",
    page: include_str!("../../docs/rules/git-ignored-source.md"),
    check: Check::Inventory(git_ignored_source),
};

fn mixed_backend_config(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in inventory.roots.iter().filter(|root| root.backends.len() > 1) {
        // What differs between the engines only is ENGINES_DIFFER's.
        let choices: BTreeSet<&[String]> =
            root.backends.iter().map(|b| b.backend_config.as_slice()).collect();
        let mut modes: BTreeMap<LockMode, Vec<String>> = BTreeMap::new();
        for backend in &root.backends {
            let choice = match backend.backend_config.as_slice() {
                [] => "no backend-config".to_owned(),
                choice => quoted(choice.iter().map(String::as_str)),
            };
            let names = modes.entry(backend.mode).or_default();
            if !names.contains(&choice) {
                names.push(choice);
            }
        }
        if choices.len() < 2 || modes.len() < 2 {
            continue;
        }
        let modes: Vec<String> = modes
            .iter()
            .map(|(mode, choices)| format!("{} ({})", mode.as_str(), choices.join("; ")))
            .collect();
        let message = format!("`{}` locks in different ways: {}", root.path, modes.join(", "));
        let help = "bring every choice of backend-config to the same phase";
        findings.push(Finding {
            help: Some(help.to_owned()),
            ..MIXED_BACKEND_CONFIG.finding(&root.path, place_of_root(root), message)
        });
    }
    findings
}

fn still_dual(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, backend) in backends(inventory).filter(|(_, backend)| backend.mode == LockMode::Dual) {
        let (Some((table, setting)), Some((lockfile, _))) =
            (deciding(inventory, backend, TABLE), deciding(inventory, backend, LOCKFILE))
        else {
            continue;
        };
        // Flags of one script stand as near each other as lines of one file.
        let both_flags = [table, lockfile].iter().all(|at| at.kind == SourceKind::BackendConfigFlag);
        if table.source == lockfile.source || (both_flags && table.file == lockfile.file) {
            continue;
        }
        let message = format!(
            "{} still takes both locks: `{}:{}` sets `use_lockfile`, and the table comes from here",
            called(root, backend),
            lockfile.file,
            lockfile.line
        );
        let help = "take the table out of this source, too, once the final phase is due";
        findings.push(Finding {
            help: Some(help.to_owned()),
            ..STILL_DUAL.finding(&root.path, place_in(table, setting), message)
        });
    }
    findings
}

fn override_unset(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, backend) in backends(inventory) {
        let winner = backend.sources.iter().find(|at| !at.shadowed && at.kind == SourceKind::BackendOverride);
        let Some(winner) = winner else { continue };
        let shadowed: Vec<&Source> =
            backend.sources.iter().filter(|at| at.shadowed).filter_map(|at| source(inventory, at)).collect();
        let had = |names: &[&str], locks: fn(&crate::repo::setting::Value) -> bool| {
            shadowed
                .iter()
                .any(|s| names.iter().any(|name| s.setting(name).is_some_and(|set| locks(&set.value))))
        };
        let had_table = had(TABLE, may_lock_table);
        let had_lockfile = had(LOCKFILE, may_lock_file);
        // From the table to the lockfile is the migration itself; the other way round, or to nothing, is a loss.
        let lost = match backend.mode {
            LockMode::None if had_table && had_lockfile => "both locks",
            LockMode::None if had_table => "the lock table",
            LockMode::None | LockMode::Dynamodb if had_lockfile => "the lockfile",
            _ => continue,
        };
        let message = format!(
            "this override replaces the whole backend block of {}: {lost} of the block underneath is gone",
            called(root, backend)
        );
        let help = "repeat the lock settings in the override: nothing is merged into it";
        let finding = OVERRIDE_UNSET.finding(&root.path, place_of(winner), message);
        let severity = if backend.mode == LockMode::None { finding.severity } else { Severity::Medium };
        findings.push(Finding { severity, help: Some(help.to_owned()), ..finding });
    }
    findings
}

fn engines_differ(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in &inventory.roots {
        let of = |engine: Engine| root.backends.iter().filter(move |backend| backend.engine == engine);
        let differs = |a: &EffectiveBackend, b: &EffectiveBackend| {
            a.backend_config == b.backend_config && (a.mode, &a.bucket, &a.key) != (b.mode, &b.bucket, &b.key)
        };
        let pair =
            of(Engine::Terraform).find_map(|a| of(Engine::OpenTofu).find(|b| differs(a, b)).map(|b| (a, b)));
        let help = "make both see the same backend, or remove the files of the engine that is not used";
        if let Some(other) = &root.not_s3 {
            let (one, another) = match other.engine {
                Engine::Terraform => ("OpenTofu", "Terraform"),
                Engine::OpenTofu | Engine::Any => ("Terraform", "OpenTofu"),
            };
            let message = format!(
                "{one} would keep the state of `{}` in S3, {another} would not (`{}`)",
                root.path, other.uses
            );
            let finding = ENGINES_DIFFER.finding(&root.path, place_of_root(root), message);
            findings.push(Finding { help: Some(help.to_owned()), ..finding });
        }
        if let Some((terraform, tofu)) = pair {
            let message = format!(
                "Terraform would lock `{}` as {}, OpenTofu as {}{}",
                root.path,
                terraform.mode.as_str(),
                tofu.mode.as_str(),
                if terraform.mode == tofu.mode { ", and their states differ" } else { "" }
            );
            let at =
                tofu.sources.iter().find(|at| !at.shadowed).map_or_else(|| place_of_root(root), place_of);
            findings.push(Finding {
                help: Some(help.to_owned()),
                ..ENGINES_DIFFER.finding(&root.path, at, message)
            });
        }
    }
    findings
}

fn child_module_backend(inventory: &Inventory) -> Vec<Finding> {
    inventory
        .roots
        .iter()
        .filter(|root| !root.called_by.is_empty() && !root.backends.is_empty())
        .map(|root| {
            let callers = quoted(root.called_by.iter().map(String::as_str));
            let message =
                format!("`{}` is called as a module by {callers}: its backend is ignored there", root.path);
            CHILD_MODULE_BACKEND.finding(&root.path, place_of_root(root), message)
        })
        .collect()
}

fn git_ignored_source(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = BTreeMap::new();
    for (_, backend) in backends(inventory) {
        for at in backend.sources.iter().filter(|at| at.git_ignored) {
            let message = format!(
                "git ignores this {}, and Terraform reads it all the same: other checkouts may lock otherwise",
                at.kind.as_str()
            );
            findings
                .entry(place_of(at))
                .or_insert_with(|| GIT_IGNORED_SOURCE.finding(&at.file, place_of(at), message));
        }
    }
    findings.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::setting::Value;
    use crate::rules::testing::{Build, at, block, run, source, text, yes};

    fn table() -> (&'static str, Value) {
        ("dynamodb_table", text("t"))
    }

    fn lockfile() -> (&'static str, Value) {
        ("use_lockfile", yes())
    }

    fn file(name: &str, settings: &[(&str, Value)]) -> crate::repo::source::Source {
        source(SourceKind::BackendConfigFile, name, 1, settings)
    }

    fn over(settings: &[(&str, Value)]) -> crate::repo::source::Source {
        source(SourceKind::BackendOverride, "a/backend_override.tf", 2, settings)
    }

    #[test]
    fn choices_of_one_root_module_that_differ_in_mode() {
        let main = || block("a/main.tf", 1, &[]);
        let mixed =
            vec![vec![main(), file("a/dev", &[lockfile()])], vec![main(), file("a/prod", &[table()])]];
        let inventory = Build::new().root("a", mixed).done();
        let findings = run(&MIXED_BACKEND_CONFIG, &inventory);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place.to_string(), "a/main.tf:1:1");
        assert_eq!(
            findings[0].message,
            "`a` locks in different ways: dynamodb (`a/prod`), lockfile (`a/dev`)"
        );

        let same = vec![vec![main(), file("a/dev", &[table()])], vec![main(), file("a/prod", &[table()])]];
        assert_eq!(at(&MIXED_BACKEND_CONFIG, &Build::new().root("a", same).done()), [""; 0]);
    }

    #[test]
    fn a_table_that_comes_back_from_another_source() {
        let split = vec![block("a/main.tf", 1, &[lockfile()]), file("a/prod", &[table()])];
        assert_eq!(at(&STILL_DUAL, &Build::new().root("a", vec![split]).done()), ["a/prod:2:3"]);
        let other_way = vec![block("a/main.tf", 1, &[table()]), file("a/prod", &[lockfile()])];
        assert_eq!(at(&STILL_DUAL, &Build::new().root("a", vec![other_way]).done()), ["a/main.tf:2:3"]);
        let together = vec![block("a/main.tf", 1, &[lockfile(), table()]), file("a/prod", &[])];
        assert_eq!(at(&STILL_DUAL, &Build::new().root("a", vec![together]).done()), [""; 0]);
        let flag = |file, line, setting| source(SourceKind::BackendConfigFlag, file, line, &[setting]);
        let flags =
            |file| vec![block("a/main.tf", 1, &[]), flag("run.sh", 1, table()), flag(file, 2, lockfile())];
        assert_eq!(at(&STILL_DUAL, &Build::new().root("a", vec![flags("run.sh")]).done()), [""; 0]);
        assert_eq!(at(&STILL_DUAL, &Build::new().root("a", vec![flags("b.sh")]).done()), ["run.sh:2:3"]);
    }

    #[test]
    fn an_override_that_drops_a_lock() {
        for (base, replaced, severity) in [
            (vec![table()], vec![], Some(Severity::High)),
            (vec![lockfile()], vec![], Some(Severity::High)),
            (vec![lockfile(), table()], vec![table()], Some(Severity::Medium)),
            (vec![table()], vec![lockfile()], None),
            (vec![table()], vec![table()], None),
            (vec![], vec![], None),
            (vec![("dynamodb_table", text(""))], vec![], None),
        ] {
            let sources = vec![block("a/main.tf", 1, &base), over(&replaced)];
            let findings = run(&OVERRIDE_UNSET, &Build::new().root("a", vec![sources]).done());
            assert_eq!(
                findings.iter().map(|f| (f.severity, f.place.to_string())).collect::<Vec<_>>(),
                severity.map(|s| (s, "a/backend_override.tf:2:1".to_owned())).into_iter().collect::<Vec<_>>(),
                "{base:?} under {replaced:?}"
            );
        }
    }

    #[test]
    fn a_backend_config_file_can_bring_the_lock_back_over_an_override() {
        let sources = vec![block("a/main.tf", 1, &[table()]), over(&[]), file("a/prod", &[table()])];
        assert_eq!(at(&OVERRIDE_UNSET, &Build::new().root("a", vec![sources]).done()), [""; 0]);
    }

    #[test]
    fn engines_that_see_different_backends() {
        let backends =
            vec![vec![block("a/main.tf", 1, &[table()])], vec![block("a/main.tofu", 1, &[lockfile()])]];
        let mut inventory = Build::new().root("a", backends).done();
        inventory.roots[0].backends[0].engine = Engine::Terraform;
        inventory.roots[0].backends[1].engine = Engine::OpenTofu;
        assert_eq!(at(&ENGINES_DIFFER, &inventory), ["a/main.tofu:1:1"]);
        assert_eq!(at(&MIXED_BACKEND_CONFIG, &inventory), [""; 0]);

        inventory.roots[0].backends[1] =
            EffectiveBackend { engine: Engine::OpenTofu, ..inventory.roots[0].backends[0].clone() };
        assert_eq!(at(&ENGINES_DIFFER, &inventory), [""; 0]);
    }

    #[test]
    fn a_child_module_with_a_backend() {
        let mut inventory = Build::new().root("m", vec![vec![block("m/main.tf", 4, &[])]]).done();
        assert_eq!(at(&CHILD_MODULE_BACKEND, &inventory), [""; 0]);
        inventory.roots[0].called_by = vec!["envs/prod".into()];
        assert_eq!(at(&CHILD_MODULE_BACKEND, &inventory), ["m/main.tf:4:1"]);
    }

    #[test]
    fn an_ignored_file_is_named_once() {
        let shared = || vec![block("m/main.tf", 1, &[]), file("local.tfbackend", &[table()])];
        let mut inventory = Build::new().root("a", vec![shared()]).root("b", vec![shared()]).done();
        assert_eq!(at(&GIT_IGNORED_SOURCE, &inventory), [""; 0]);
        for root in &mut inventory.roots {
            root.backends[0].sources[1].git_ignored = true;
        }
        assert_eq!(at(&GIT_IGNORED_SOURCE, &inventory), ["local.tfbackend:1:1"]);
    }
}
