//! From a snapshot to who can do what to the locks: one judgement of [`crate::policy::access`] for each bucket whose
//! policy was read. Pure.
//!
//! Only buckets of AWS are judged without a policy: elsewhere nothing says that AWS's order of evaluation holds, so
//! only a policy that is there is. Where IAM was asked, each bucket that is left out is told.

mod input;

use super::endpoint::is_aws;
use super::expected::Expected;
use super::outcome::{Area, Audit, AuditFinding};
use super::snapshot::{BucketSnapshot, Read, Snapshot};
use crate::policy::access::rules::ACCESS_NOT_KNOWN;
use crate::policy::access::{AccessFinding, Answer, Compared, Question, compare, judge};

pub use input::AccessOptions;
use input::input;

/// Judges every bucket, and adds what follows to the audit: sets and findings.
pub fn add(audit: &mut Audit, snapshot: &Snapshot, expected: &Expected, options: &AccessOptions) {
    let index = expected.index();
    for bucket in snapshot.buckets.iter().filter(|bucket| is_judged(bucket)) {
        let input = input(snapshot, bucket, expected, &index, options);
        let mut report = judge(&input);
        let answers = answers(snapshot, &bucket.name);
        if !answers.is_empty() {
            let Compared { findings, not_compared } = compare(&input, &answers);
            report.findings.extend(findings);
            report.access.limits.extend(not_compared);
        }
        audit.findings.extend(report.findings.into_iter().map(|found| finding(&bucket.name, found)));
        audit.access.push(report.access);
    }
    // Who asked for users and roles asked for this, too: silence would read as "nothing is wrong".
    if !snapshot.accounts.is_empty() {
        audit.findings.extend(snapshot.buckets.iter().filter_map(not_judged));
    }
    audit.sort_findings();
}

/// Why nothing is said of who can do what in a bucket.
fn not_judged(bucket: &BucketSnapshot) -> Option<AuditFinding> {
    if is_judged(bucket) {
        return None;
    }
    let why = match (&bucket.policy, &bucket.endpoint) {
        (Read::NotAsked, _) => "its policy was not asked for".to_owned(),
        (policy, Some(endpoint)) => {
            let policy = match policy {
                Read::Failed(why) => format!("its policy could not be read: {why}"),
                _ => "it has no policy".to_owned(),
            };
            format!(
                "it lies behind `{endpoint}`, which is not AWS's own, and {policy}: what IAM says does not count there"
            )
        }
        (_, None) => return None,
    };
    let found = AccessFinding {
        rule: ACCESS_NOT_KNOWN.id,
        severity: ACCESS_NOT_KNOWN.severity,
        subject: format!("s3://{}", bucket.name),
        message: format!("who can do what to locks was not judged: {why}"),
        help: "ask that store who may delete objects in the bucket".to_owned(),
        statement: None,
    };
    Some(finding(&bucket.name, found))
}

/// What IAM's policy simulator is to be asked, for each bucket that is judged.
pub fn questions(
    snapshot: &Snapshot,
    expected: &Expected,
    options: &AccessOptions,
) -> Vec<(String, Vec<Question>)> {
    let index = expected.index();
    let judged = snapshot.buckets.iter().filter(|bucket| is_judged(bucket));
    let asked = judged.map(|bucket| {
        let input = input(snapshot, bucket, expected, &index, options);
        (bucket.name.clone(), crate::policy::access::questions(&input))
    });
    asked.collect()
}

fn answers<'a>(snapshot: &'a Snapshot, bucket: &str) -> Vec<Answer<'a>> {
    let of_bucket = snapshot.simulations.iter().filter(|simulation| simulation.bucket == bucket);
    of_bucket
        .flat_map(|simulation| {
            simulation.answers.iter().map(|answer| Answer {
                principal: &simulation.principal,
                action: &answer.action,
                resource: &answer.resource,
                decision: &answer.decision,
                missing: &answer.missing_context,
                by_organization: answer.by_organization,
            })
        })
        .collect()
}

fn is_judged(bucket: &BucketSnapshot) -> bool {
    match &bucket.policy {
        Read::Known(_) => true,
        Read::Absent | Read::Failed(_) => bucket.endpoint.as_deref().is_none_or(is_aws),
        Read::NotAsked => false,
    }
}

fn finding(bucket: &str, found: AccessFinding) -> AuditFinding {
    let statement = found.statement.map(|statement| format!(" ({statement})")).unwrap_or_default();
    AuditFinding {
        rule: found.rule.to_owned(),
        area: Area::Access,
        severity: found.severity,
        bucket: found.subject.starts_with("arn:").then(|| bucket.to_owned()),
        subject: found.subject,
        place: None,
        message: format!("{}{statement}", found.message),
        help: Some(found.help),
        locks: None,
        commands: Vec::new(),
        consequence: None,
        ignored: None,
    }
}

#[cfg(test)]
mod tests;
