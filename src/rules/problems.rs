//! Problems as rules. What hid something stays a problem: it has a page, and can't be switched off. What Terraform
//! itself would refuse, and what hides nothing, becomes a finding.

use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::inventory::Inventory;
use crate::repo::problem::ProblemKind;

/// A file that could not be read.
pub static UNREADABLE: Rule = Rule {
    id: "unreadable",
    severity: Severity::High,
    summary: "a file or directory could not be opened or read",
    page: include_str!("../../docs/rules/unreadable.md"),
    check: Check::Unread,
};

/// Text that could not be parsed.
pub static PARSE_ERROR: Rule = Rule {
    id: "parse-error",
    severity: Severity::High,
    summary: "text that matters could not be parsed",
    page: include_str!("../../docs/rules/parse-error.md"),
    check: Check::Unread,
};

/// An encrypted file.
pub static ENCRYPTED: Rule = Rule {
    id: "encrypted",
    severity: Severity::High,
    summary: "a file is encrypted in this checkout",
    page: include_str!("../../docs/rules/encrypted.md"),
    check: Check::Unread,
};

/// A link that leads back.
pub static SYMLINK_LOOP: Rule = Rule {
    id: "symlink-loop",
    severity: Severity::Low,
    summary: "a symbolic link leads back to one of its parents",
    page: include_str!("../../docs/rules/symlink-loop.md"),
    check: Check::Inventory(symlink_loop),
};

/// A file beyond the limit.
pub static TOO_LARGE: Rule = Rule {
    id: "too-large",
    severity: Severity::High,
    summary: "a file that matters is larger than the limit",
    page: include_str!("../../docs/rules/too-large.md"),
    check: Check::Unread,
};

/// Two backend blocks.
pub static DUPLICATE_BACKEND: Rule = Rule {
    id: "duplicate-backend",
    severity: Severity::High,
    summary: "two backend blocks where one is allowed: Terraform stops",
    page: include_str!("../../docs/rules/duplicate-backend.md"),
    check: Check::Inventory(duplicate_backend),
};

/// A backend and its rival.
pub static BACKEND_AND_CLOUD: Rule = Rule {
    id: "backend-and-cloud",
    severity: Severity::High,
    summary: "a backend and a `cloud` or `state_store` block in one root module: Terraform stops",
    page: include_str!("../../docs/rules/backend-and-cloud.md"),
    check: Check::Inventory(backend_and_cloud),
};

/// A value that the backend refuses.
pub static INVALID_VALUE: Rule = Rule {
    id: "invalid-value",
    severity: Severity::High,
    summary: "a value that the backend does not take: `init` stops",
    page: include_str!("../../docs/rules/invalid-value.md"),
    check: Check::Inventory(invalid_value),
};

/// The rule that belongs to a kind of problem. Exhaustive: a new kind does not compile without its page.
pub(super) fn rule_of(kind: ProblemKind) -> &'static Rule {
    match kind {
        ProblemKind::Unreadable => &UNREADABLE,
        ProblemKind::ParseError => &PARSE_ERROR,
        ProblemKind::Encrypted => &ENCRYPTED,
        ProblemKind::SymlinkLoop => &SYMLINK_LOOP,
        ProblemKind::TooLarge => &TOO_LARGE,
        ProblemKind::DuplicateBackend => &DUPLICATE_BACKEND,
        ProblemKind::BackendAndCloud => &BACKEND_AND_CLOUD,
        ProblemKind::InvalidValue => &INVALID_VALUE,
    }
}

fn found(inventory: &Inventory, kind: ProblemKind) -> Vec<Finding> {
    inventory
        .problems
        .iter()
        .filter(|problem| problem.kind == kind)
        .map(|problem| rule_of(kind).finding(&problem.place.file, problem.place.clone(), &problem.message))
        .collect()
}

fn symlink_loop(inventory: &Inventory) -> Vec<Finding> {
    found(inventory, ProblemKind::SymlinkLoop)
}

fn duplicate_backend(inventory: &Inventory) -> Vec<Finding> {
    found(inventory, ProblemKind::DuplicateBackend)
}

fn backend_and_cloud(inventory: &Inventory) -> Vec<Finding> {
    found(inventory, ProblemKind::BackendAndCloud)
}

fn invalid_value(inventory: &Inventory) -> Vec<Finding> {
    found(inventory, ProblemKind::InvalidValue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Date};
    use crate::repo::problem::Problem;
    use crate::rules::testing::spot;

    #[test]
    fn what_terraform_refuses_is_found_once_and_what_hides_something_stays_a_problem() {
        let problem = |kind, line| Problem {
            kind,
            place: spot("a/main.tf", line),
            message: "why".into(),
            excerpt: None,
        };
        let inventory = Inventory {
            problems: vec![
                problem(ProblemKind::Unreadable, 1),
                problem(ProblemKind::ParseError, 2),
                problem(ProblemKind::DuplicateBackend, 3),
                problem(ProblemKind::BackendAndCloud, 4),
                problem(ProblemKind::InvalidValue, 5),
            ],
            ..Inventory::default()
        };
        let findings =
            crate::rules::check(&inventory, &Config::default(), Date::parse("2026-01-01").unwrap());
        let found: Vec<_> = findings.iter().map(|f| (f.rule.as_str(), f.place.line, f.severity)).collect();
        assert_eq!(
            found,
            [
                ("duplicate-backend", 3, Severity::High),
                ("backend-and-cloud", 4, Severity::High),
                ("invalid-value", 5, Severity::High)
            ]
        );
    }
}
