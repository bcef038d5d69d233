//! Rules about what scripts and CI do around locks.

use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::{HabitKind, Inventory};

/// `-lock=false`.
pub static LOCK_DISABLED_IN_CI: Rule = Rule {
    id: "lock-disabled-in-ci",
    severity: Severity::High,
    summary: "a script or pipeline runs with `-lock=false`",
    page: include_str!("../../docs/rules/lock-disabled-in-ci.md"),
    check: Check::Inventory(lock_disabled_in_ci),
};

/// `init` that stops after a change.
pub static INIT_WITHOUT_RECONFIGURE: Rule = Rule {
    id: "init-without-reconfigure",
    severity: Severity::Info,
    summary: "`init` in automation stops when the backend block changes",
    page: include_str!("../../docs/rules/init-without-reconfigure.md"),
    check: Check::Inventory(init_without_reconfigure),
};

/// `force-unlock` without a human.
pub static FORCE_UNLOCK_IN_AUTOMATION: Rule = Rule {
    id: "force-unlock-in-automation",
    severity: Severity::Medium,
    summary: "a script or pipeline breaks locks by itself",
    page: include_str!("../../docs/rules/force-unlock-in-automation.md"),
    check: Check::Inventory(force_unlock_in_automation),
};

/// Variables and backend-config in one file.
pub static SHARED_VAR_FILE: Rule = Rule {
    id: "shared-var-file",
    severity: Severity::Low,
    summary: "one file is both `-var-file` and `-backend-config`",
    page: include_str!("../../docs/rules/shared-var-file.md"),
    check: Check::Inventory(shared_var_file),
};

fn habits(inventory: &Inventory, kind: HabitKind, rule: &Rule, message: &str, help: &str) -> Vec<Finding> {
    inventory
        .habits
        .iter()
        .filter(|habit| habit.kind == kind)
        .map(|habit| Finding {
            help: Some(help.to_owned()),
            ..rule.finding(&habit.place.file, habit.place.clone(), message)
        })
        .collect()
}

fn lock_disabled_in_ci(inventory: &Inventory) -> Vec<Finding> {
    let message = "`-lock=false` takes no lock, whatever the backend says";
    let help = "remove it; where runs wait for each other, `-lock-timeout=5m` is the setting";
    let mut findings = habits(inventory, HabitKind::LockFalse, &LOCK_DISABLED_IN_CI, message, help);
    let message = "the value of `-lock=` is only known when it runs: where it is false, no lock is taken";
    let help = "look what is put in; where that is never false, leave the flag out";
    let maybe = habits(inventory, HabitKind::LockUnknown, &LOCK_DISABLED_IN_CI, message, help);
    findings.extend(maybe.into_iter().map(|finding| Finding { severity: Severity::Low, ..finding }));
    findings
}

fn init_without_reconfigure(inventory: &Inventory) -> Vec<Finding> {
    let message =
        "this `init` stops with an error in a working directory that was initialised before the change";
    let help = "add `-reconfigure` until every working directory has seen the new backend";
    habits(inventory, HabitKind::InitWithoutReconfigure, &INIT_WITHOUT_RECONFIGURE, message, help)
}

fn force_unlock_in_automation(inventory: &Inventory) -> Vec<Finding> {
    let message = "this breaks a lock without anybody looking who holds it";
    let help = "let a person decide, with the lock's owner, operation and age in view";
    habits(inventory, HabitKind::ForceUnlock, &FORCE_UNLOCK_IN_AUTOMATION, message, help)
}

fn shared_var_file(inventory: &Inventory) -> Vec<Finding> {
    inventory
        .shared_var_files
        .iter()
        .map(|shared| {
            let message = format!(
                "`{}` is given to `-backend-config` and to `-var-file`: taking the table out of it leaves a \
                 variable of that name unset",
                shared.file
            );
            let help = "look for `variable \"dynamodb_table\"` before the final phase, or split the file";
            Finding {
                help: Some(help.to_owned()),
                ..SHARED_VAR_FILE.finding(&shared.file, shared.place.clone(), message)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::SharedVarFile;
    use crate::rules::testing::{at, habit, spot};

    #[test]
    fn each_habit_fires_its_own_rule() {
        let inventory = Inventory {
            habits: vec![
                habit(HabitKind::LockFalse, "ci.yml", 1),
                habit(HabitKind::InitWithoutReconfigure, "ci.yml", 2),
                habit(HabitKind::ForceUnlock, "ci.yml", 3),
            ],
            ..Inventory::default()
        };
        assert_eq!(at(&LOCK_DISABLED_IN_CI, &inventory), ["ci.yml:1:1"]);
        assert_eq!(at(&INIT_WITHOUT_RECONFIGURE, &inventory), ["ci.yml:2:1"]);
        assert_eq!(at(&FORCE_UNLOCK_IN_AUTOMATION, &inventory), ["ci.yml:3:1"]);
        assert_eq!(at(&SHARED_VAR_FILE, &inventory), [""; 0]);
    }

    #[test]
    fn a_lock_that_a_variable_switches_weighs_less() {
        let habits = vec![habit(HabitKind::LockFalse, "a.sh", 1), habit(HabitKind::LockUnknown, "a.sh", 2)];
        let findings = lock_disabled_in_ci(&Inventory { habits, ..Inventory::default() });
        let said: Vec<_> = findings.iter().map(|finding| (finding.place.line, finding.severity)).collect();
        assert_eq!(said, [(1, Severity::High), (2, Severity::Low)]);
    }

    #[test]
    fn a_shared_file_is_named_at_the_call() {
        let shared = SharedVarFile { file: "prod.tfvars".into(), place: spot("Makefile", 9) };
        let inventory = Inventory { shared_var_files: vec![shared], ..Inventory::default() };
        assert_eq!(at(&SHARED_VAR_FILE, &inventory), ["Makefile:9:1"]);
        assert_eq!(at(&LOCK_DISABLED_IN_CI, &inventory), [""; 0]);
    }
}
