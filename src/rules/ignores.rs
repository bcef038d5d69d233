//! Rules about ignores themselves: an exception must say why, name something that exists, and still be needed.

use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::Inventory;

/// No reason given.
pub static IGNORE_WITHOUT_REASON: Rule = Rule {
    id: "ignore-without-reason",
    severity: Severity::Low,
    summary: "an inline ignore gives no reason, and so has no effect",
    page: include_str!("../../docs/rules/ignore-without-reason.md"),
    check: Check::Inventory(ignore_without_reason),
};

/// No such rule.
pub static IGNORE_UNKNOWN_RULE: Rule = Rule {
    id: "ignore-unknown-rule",
    severity: Severity::Low,
    summary: "an inline ignore names a rule that does not exist",
    page: include_str!("../../docs/rules/ignore-unknown-rule.md"),
    check: Check::Inventory(ignore_unknown_rule),
};

/// Its last day is over.
pub static IGNORE_EXPIRED: Rule = Rule {
    id: "ignore-expired",
    severity: Severity::Low,
    summary: "an ignore in lockshift.toml has expired",
    page: include_str!("../../docs/rules/ignore-expired.md"),
    check: Check::Applying,
};

/// Nothing to ignore.
pub static IGNORE_UNUSED: Rule = Rule {
    id: "ignore-unused",
    severity: Severity::Info,
    summary: "an inline ignore silences nothing",
    page: include_str!("../../docs/rules/ignore-unused.md"),
    check: Check::Applying,
};

fn ignore_without_reason(inventory: &Inventory) -> Vec<Finding> {
    inventory
        .ignores
        .iter()
        .filter(|ignore| ignore.reason.trim().is_empty())
        .map(|ignore| {
            let message = format!("this ignore of `{}` gives no reason, and so has no effect", ignore.rule);
            let help = format!("write it behind the bracket: `lockshift: ignore[{}] because …`", ignore.rule);
            Finding {
                help: Some(help),
                ..IGNORE_WITHOUT_REASON.finding(&ignore.place.file, ignore.place.clone(), message)
            }
        })
        .collect()
}

fn ignore_unknown_rule(inventory: &Inventory) -> Vec<Finding> {
    inventory
        .ignores
        .iter()
        .filter(|ignore| super::find(&ignore.rule).is_none())
        .map(|ignore| {
            let message = format!("there is no rule `{}`", ignore.rule);
            Finding {
                help: super::suggest(&ignore.rule).map(|near| format!("did you mean `{near}`?")),
                ..IGNORE_UNKNOWN_RULE.finding(&ignore.place.file, ignore.place.clone(), message)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{at, inline, run};

    #[test]
    fn a_reason_and_a_real_rule_are_needed() {
        let inventory = Inventory {
            ignores: vec![
                inline("a.tf", 1, "no-locking", "a sandbox"),
                inline("a.tf", 5, "no-locking", " "),
                inline("a.tf", 9, "no-lokcing", "a sandbox"),
            ],
            ..Inventory::default()
        };
        assert_eq!(at(&IGNORE_WITHOUT_REASON, &inventory), ["a.tf:5:1"]);
        let unknown = run(&IGNORE_UNKNOWN_RULE, &inventory);
        assert_eq!(unknown.len(), 1);
        assert_eq!(unknown[0].place.to_string(), "a.tf:9:1");
        assert_eq!(unknown[0].help.as_deref(), Some("did you mean `no-locking`?"));
    }
}
