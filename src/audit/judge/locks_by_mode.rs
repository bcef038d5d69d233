//! Rules about locks that don't fit the lock mode which the repository gives a state.

use super::case::{Case, Held, Side};
use super::lock_finding::{
    BEING_TAKEN, READING, blocks, ids_agree, ids_differ, is_older, is_settled, owner, releasable, since,
};
use super::world::World;
use crate::audit::outcome::AuditFinding;
use crate::audit::snapshot::Settled;
use crate::finding::Severity;
use crate::repo::inventory::LockMode;
use crate::rules::{Rule, audit_locks as rules};

/// What the mode says about the locks on one state.
pub(super) fn judge(world: &World<'_>, case: &Case<'_>, findings: &mut Vec<AuditFinding>) {
    match case.mode {
        LockMode::Dual => findings.extend(split(world, case)),
        LockMode::Lockfile => findings.extend(
            case.dynamodb
                .held()
                .map(|held| unexpected(world, case, held, &rules::LOCK_IN_TABLE_OF_LOCKFILE_ONLY)),
        ),
        LockMode::Dynamodb => findings.extend(
            case.s3.held().map(|held| unexpected(world, case, held, &rules::LOCK_OBJECT_OF_TABLE_ONLY)),
        ),
        LockMode::None | LockMode::Unknown => {}
    }
    findings.extend(other_table(world, case));
}

/// Dual mode, and one side alone. Terraform locks S3 first and unlocks S3 first, so for a moment each side can be alone.
fn split(world: &World<'_>, case: &Case<'_>) -> Option<AuditFinding> {
    let (rule, held, other) = match (&case.s3, &case.dynamodb) {
        (Side::Held(held), Side::Free) => (&rules::LOCK_SPLIT_S3_ONLY, held, "the table"),
        (Side::Free, Side::Held(held)) => (&rules::LOCK_SPLIT_DYNAMODB_ONLY, held, "S3"),
        _ => return None,
    };
    // What counts as left behind is not being taken.
    let being_taken = BEING_TAKEN.min(world.options.stale_after);
    let certain = is_settled(held);
    let moving = held.settled == Settled::Changed;
    if moving || !is_older(held, world.now, if certain { being_taken } else { READING }) {
        return None;
    }
    let message = format!(
        "locked in {} by {}{}, and not in {other}, although its runs take both locks",
        held.store(),
        owner(held),
        since(held, world.now)
    );
    let mut finding = releasable(case, rule, message, Some(held));
    if !case.is_stale(held) || !certain {
        finding.severity = Severity::Medium;
    }
    if !certain {
        finding.help = Some(
            "this was seen once, and it may have been released between the two readings: look again"
                .to_owned(),
        );
    }
    finding.consequence = Some(format!(
        "runs that take both locks are stopped by it; a client that looks at {other} alone is not, and both would write"
    ));
    Some(finding)
}

/// A lock in the store that the repository's backends don't lock.
fn unexpected(world: &World<'_>, case: &Case<'_>, held: &Held<'_>, rule: &Rule) -> AuditFinding {
    let (says, look) = match case.mode {
        LockMode::Lockfile => ("lockfile only", "an unmigrated client, branch or pipeline"),
        _ => ("the table only", "a client that was migrated ahead of the repository"),
    };
    let message = format!(
        "{} locked it in {}{}, and the repository says {says}",
        owner(held),
        held.store(),
        since(held, world.now)
    );
    let mut finding = releasable(case, rule, message, Some(held));
    if ids_agree(case) {
        // Whoever takes both locks and whoever takes one of them exclude each other.
        finding.severity = Severity::Medium;
        finding.help =
            Some(format!("the same lock lies in both stores: {look} takes both; bring it in line"));
        finding.consequence = Some(blocks(case));
    } else {
        finding.help = Some(format!(
            "look for {look}, such as a branch that was not rebased, and bring it to the dual phase"
        ));
        finding.consequence = Some(
            "clients that lock the table alone and clients that lock S3 alone don't exclude each other: one of two \
             writes is lost"
                .to_owned(),
        );
    }
    finding
}

/// A lock in another table than the one that the backend names, or in two tables.
fn other_table(world: &World<'_>, case: &Case<'_>) -> Option<AuditFinding> {
    let stray = match case.dynamodb.held() {
        Some(held) if is_foreign(case, held) => Some(held),
        _ => case.elsewhere.first(),
    }?;
    let message = format!(
        "{} locked it in {}{}, and not in the table that its backend names",
        owner(stray),
        stray.store(),
        since(stray, world.now)
    );
    let mut finding = releasable(case, &rules::LOCK_IN_OTHER_TABLE, message, Some(stray));
    if case.tables.is_empty() {
        let other = case.dynamodb.held().map(Held::store).unwrap_or_default();
        finding.message = format!("it is locked in two tables: {} and {other}", stray.store());
    }
    // Both take the lockfile, too: that one excludes them.
    if case.mode == LockMode::Dual && !ids_differ(case) && case.s3.held().is_some() {
        finding.severity = Severity::Medium;
    }
    finding.help = Some("find the client whose backend names that table, and give both the same".to_owned());
    finding.consequence = Some(
        "clients that lock different tables don't exclude each other: one of two writes is lost".to_owned(),
    );
    Some(finding)
}

/// Whether the item lies in a table that no backend of this state names, while they name others.
fn is_foreign(case: &Case<'_>, held: &Held<'_>) -> bool {
    let named = |table| case.tables.iter().any(|named| std::ptr::eq(*named, table));
    !case.tables.is_empty() && held.table.is_some_and(|table| !named(table))
}
