//! Rules about tables and rights that stand in code next to the backends.

use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::facts::GrantKind;
use crate::repo::inventory::Inventory;

/// A lock table in code.
pub static LOCK_TABLE_IN_CODE: Rule = Rule {
    id: "lock-table-in-code",
    severity: Severity::Info,
    summary: "a lock table is declared in this repository",
    page: include_str!("../../docs/rules/lock-table-in-code.md"),
    check: Check::Inventory(lock_table_in_code),
};

/// Rights on a lock table.
pub static GRANT_ON_LOCK_TABLE: Rule = Rule {
    id: "grant-on-lock-table",
    severity: Severity::Info,
    summary: "an IAM statement grants on a lock table",
    page: include_str!("../../docs/rules/grant-on-lock-table.md"),
    check: Check::Inventory(grant_on_lock_table),
};

/// Rights on a state alone.
pub static STATE_GRANT_WITHOUT_LOCK: Rule = Rule {
    id: "state-grant-without-lock",
    severity: Severity::Medium,
    summary: "an IAM statement grants on a state, and not on its `.tflock`",
    page: include_str!("../../docs/rules/state-grant-without-lock.md"),
    check: Check::Inventory(state_grant_without_lock),
};

fn lock_table_in_code(inventory: &Inventory) -> Vec<Finding> {
    inventory
        .lock_tables
        .iter()
        .map(|table| {
            let name = table.name.as_ref().map(|name| format!(" (`{name}`)")).unwrap_or_default();
            let message = format!("`{}`{name} is a lock table", table.address);
            let help = "keep it until nothing anywhere uses it: tables are shared between repositories";
            Finding {
                help: Some(help.to_owned()),
                ..LOCK_TABLE_IN_CODE.finding(&table.address, table.place.clone(), message)
            }
        })
        .collect()
}

fn grants(inventory: &Inventory, kind: GrantKind, rule: &Rule, says: &str, help: &str) -> Vec<Finding> {
    inventory
        .grants
        .iter()
        .filter(|grant| grant.kind == kind)
        .map(|grant| Finding {
            help: Some(help.to_owned()),
            ..rule.finding(
                &grant.resource,
                grant.place.clone(),
                format!("this statement {says} `{}`", grant.resource),
            )
        })
        .collect()
}

fn grant_on_lock_table(inventory: &Inventory) -> Vec<Finding> {
    let help = "needed until the final phase is everywhere; then it can go";
    grants(inventory, GrantKind::LockTable, &GRANT_ON_LOCK_TABLE, "grants on the lock table", help)
}

fn state_grant_without_lock(inventory: &Inventory) -> Vec<Finding> {
    let help =
        "grant s3:GetObject, s3:PutObject and s3:DeleteObject on the same path with `.tflock` appended";
    let says = "leaves out the lockfile beside";
    grants(inventory, GrantKind::StateWithoutLock, &STATE_GRANT_WITHOUT_LOCK, says, help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::facts::{Grant, LockTable};
    use crate::rules::testing::{at, run, spot};

    #[test]
    fn grants_are_told_apart_by_kind() {
        let grant = |kind, resource: &str, line| Grant {
            kind,
            resource: resource.into(),
            place: spot("iam.tf", line),
        };
        let inventory = Inventory {
            grants: vec![
                grant(GrantKind::LockTable, "table/locks", 3),
                grant(GrantKind::StateWithoutLock, "arn:aws:s3:::b/k", 9),
            ],
            ..Inventory::default()
        };
        assert_eq!(at(&GRANT_ON_LOCK_TABLE, &inventory), ["iam.tf:3:1"]);
        assert_eq!(at(&STATE_GRANT_WITHOUT_LOCK, &inventory), ["iam.tf:9:1"]);
        assert_eq!(at(&LOCK_TABLE_IN_CODE, &inventory), [""; 0]);
    }

    #[test]
    fn a_table_is_named_by_its_address_and_its_name() {
        let table = LockTable {
            address: "aws_dynamodb_table.lock".into(),
            name: Some("t".into()),
            place: spot("a.tf", 1),
        };
        let inventory = Inventory { lock_tables: vec![table], ..Inventory::default() };
        let findings = run(&LOCK_TABLE_IN_CODE, &inventory);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].message, "`aws_dynamodb_table.lock` (`t`) is a lock table");
        assert_eq!(at(&GRANT_ON_LOCK_TABLE, &inventory), [""; 0]);
    }
}
