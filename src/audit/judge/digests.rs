//! Rules about digests: the MD5 of a state in the table. It is no lock; who names the table checks it at every read.
//!
//! Source: `Get` and `getMD5` in `client.go` of the S3 backend. A digest that differs fails the run after 10 seconds, a
//! state that is gone counts as one that differs; no digest, and one that is no MD5 in hex, is a warning in the log.

use std::time::Duration;

use super::case::Case;
use super::commands;
use super::world::{Found, World};
use crate::audit::outcome::{AuditFinding, Digest};
use crate::audit::snapshot::{DIGEST_SUFFIX, Md5, Settled, TableSnapshot};
use crate::finding::Severity;
use crate::repo::inventory::LockMode;
use crate::rules::audit_digests as rules;

/// The digest follows the state: what was written so lately may not have one yet.
const BEING_WRITTEN: Duration = Duration::from_secs(120);

/// The digest of one state, and what is wrong with it.
pub(super) fn judge(world: &World<'_>, case: &Case<'_>, findings: &mut Vec<AuditFinding>) -> Digest {
    let locks_table = matches!(case.mode, LockMode::Dynamodb | LockMode::Dual);
    let Some(found) = case.digests.first() else {
        return missing(case, locks_table, findings);
    };
    let written = found.item.digest.as_deref().unwrap_or_default();
    let actual = case.state().and_then(|state| state.md5.as_ref()).map(|md5| md5.hex().to_lowercase());
    let digest = Digest {
        expected: (!written.is_empty()).then(|| written.to_owned()),
        actual,
        table: Some(found.table.name.clone()),
        ..Digest::default()
    };
    let verdict = |verdict: &str| Digest { verdict: verdict.to_owned(), ..digest.clone() };
    let not_comparable = |why: &str| Digest { reason: Some(why.to_owned()), ..verdict("not-comparable") };
    if !is_md5(written) {
        findings.push(malformed(case, found));
        return verdict("malformed");
    }
    match (case.exists(), &digest.actual) {
        (None, _) => not_comparable("the listing did not come to its end, so the state may be there or not"),
        (Some(false), _) if !is_certain(world, case, found) => not_comparable("a run is at work"),
        (Some(false), _) => {
            findings.push(without_state(case, found));
            verdict("orphan")
        }
        (Some(true), None) => not_comparable(
            "the state's ETag is no MD5 (SSE-KMS, SSE-C or several parts), and states were not read",
        ),
        (Some(true), Some(actual)) if *actual == written.to_lowercase() => {
            findings.extend(leftover(case, found));
            verdict("matches")
        }
        (Some(true), Some(_)) if !is_certain(world, case, found) => {
            not_comparable("a run is at work, or the state was just written")
        }
        (Some(true), Some(actual)) => {
            findings.push(stale(world, case, found, actual));
            verdict("stale")
        }
    }
}

/// What Terraform takes for a digest.
fn is_md5(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether this is no moment between the write of a state and the write of its digest.
fn is_certain(world: &World<'_>, case: &Case<'_>, found: &Found<'_>) -> bool {
    let age = case.state().and_then(|state| world.now.since(state.last_modified));
    let settled = case.state().is_none() || age.is_some_and(|age| age > BEING_WRITTEN);
    found.item.settled == Settled::Same || settled && !case.is_busy()
}

fn missing(case: &Case<'_>, locks_table: bool, findings: &mut Vec<AuditFinding>) -> Digest {
    let Some(table) = case.tables.first().filter(|_| locks_table) else {
        return Digest { verdict: "none".to_owned(), ..Digest::default() };
    };
    let digest = Digest { table: Some(table.name.clone()), ..Digest::default() };
    // One that was there at the first look, or that a scan did not come to, is not missing.
    let lock_id = format!("{}/{}{DIGEST_SUFFIX}", case.bucket_name, case.path);
    if !table.complete || table.item(&lock_id).is_some() {
        let reason = "the table was not read to its end, or was changing";
        return Digest { verdict: "not-comparable".to_owned(), reason: Some(reason.to_owned()), ..digest };
    }
    if case.exists() != Some(true) {
        return Digest { verdict: "none".to_owned(), ..digest };
    }
    if !case.is_busy() {
        let message = format!("table `{}` holds no digest of this state", table.name);
        let mut finding = case.finding(&rules::DIGEST_MISSING, message);
        finding.help = Some("nothing: the next write of the state makes it".to_owned());
        finding.consequence = Some("until then nobody notices a state that was changed by hand".to_owned());
        findings.push(finding);
    }
    Digest { verdict: "missing".to_owned(), ..digest }
}

fn malformed(case: &Case<'_>, found: &Found<'_>) -> AuditFinding {
    let message = match &found.item.digest {
        None => format!("the digest item in table `{}` has no `Digest`", found.table.name),
        Some(_) => format!("the digest in table `{}` is no MD5 in hex", found.table.name),
    };
    let mut finding = case.finding(&rules::DIGEST_MALFORMED, message);
    finding.help = Some("delete it; the next write of the state makes a good one".to_owned());
    finding.consequence = Some("Terraform warns in its log and checks nothing".to_owned());
    finding.commands = vec![delete(found, found.item.digest.as_deref())];
    finding
}

fn without_state(case: &Case<'_>, found: &Found<'_>) -> AuditFinding {
    let message = format!("table `{}` holds a digest, and there is no such state", found.table.name);
    let mut finding = case.finding(&rules::DIGEST_WITHOUT_STATE, message);
    let default = case.states.iter().any(|(_, workspace)| *workspace == "default");
    let (severity, consequence) = match (names_table(case, found.table), default) {
        (true, true) => (
            Severity::High,
            "every run fails: \"state data in S3 does not have the expected content\"; a state that was deleted by \
             mistake must come back first",
        ),
        (true, false) => (Severity::Medium, "who makes this workspace again fails on it"),
        (false, _) => {
            (Severity::Low, "nothing, until a client names the table for this state again: then it fails")
        }
    };
    finding.severity = severity;
    finding.consequence = Some(consequence.to_owned());
    finding.help =
        Some("if the state was deleted on purpose, delete the digest; else restore the state".to_owned());
    finding.commands = vec![delete(found, found.item.digest.as_deref())];
    finding
}

fn stale(world: &World<'_>, case: &Case<'_>, found: &Found<'_>, actual: &str) -> AuditFinding {
    let written = found.item.digest.as_deref();
    let message = format!(
        "the digest in table `{}` is {}, the state's is {actual}",
        found.table.name,
        written.unwrap_or_default()
    );
    let mut finding = case.finding(&rules::DIGEST_STALE, message);
    let by_body = matches!(case.state().and_then(|state| state.md5.as_ref()), Some(Md5::Body(_)));
    let source = if by_body { "its body" } else { "its ETag" };
    let read_by_others = world.is_mentioned(found.table_index);
    let (severity, consequence) = if names_table(case, found.table) {
        (Severity::High, "the next run fails: \"state data in S3 does not have the expected content\"")
    } else if case.mode == LockMode::Unknown || read_by_others {
        (
            Severity::Medium,
            "readers (`terraform_remote_state`) and clients that still name the table fail on it, and so does a rollback",
        )
    } else {
        (Severity::Low, "a rollback to the table, or a branch that still names it, fails on it")
    };
    finding.severity = severity;
    finding.consequence = Some(consequence.to_owned());
    finding.help = Some(format!(
        "make sure that the state (by {source}) is the right one, not one that somebody overwrote; then delete the \
         digest: the next write makes it anew"
    ));
    finding.commands = vec![delete(found, written)];
    finding
}

/// After the final phase a digest only waits to go stale.
fn leftover(case: &Case<'_>, found: &Found<'_>) -> Option<AuditFinding> {
    if case.mode != LockMode::Lockfile {
        return None;
    }
    let message =
        format!("table `{}` still holds a digest, and the repository says lockfile only", found.table.name);
    let mut finding = case.finding(&rules::DIGEST_LEFTOVER, message);
    finding.help = Some("once nobody reads by this table any more, delete it".to_owned());
    finding.consequence =
        Some("it goes stale at the next write, and then stops whoever still names the table".to_owned());
    finding.commands = vec![delete(found, found.item.digest.as_deref())];
    Some(finding)
}

/// Whether the backend of this state checks digests in this table.
fn names_table(case: &Case<'_>, table: &TableSnapshot) -> bool {
    matches!(case.mode, LockMode::Dynamodb | LockMode::Dual)
        && case.tables.iter().any(|named| std::ptr::eq(*named, table))
}

fn delete(found: &Found<'_>, seen: Option<&str>) -> String {
    commands::delete_digest(found.table, &found.item.lock_id, seen)
}
