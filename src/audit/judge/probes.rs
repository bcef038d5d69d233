//! Rules about what stores do with the conditions that locks, and their release, depend on: from probes alone.

use super::world::World;
use crate::audit::outcome::AuditFinding;
use crate::audit::snapshot::{ProbeResult, ProbeVerdict};
use crate::rules::audit_probes as rules;

/// What each probe says.
pub(super) fn judge(world: &World<'_>, findings: &mut Vec<AuditFinding>) {
    for probe in &world.snapshot.probes {
        findings.extend(writes(probe));
        findings.extend(deletes(probe));
    }
}

fn subject(probe: &ProbeResult) -> String {
    format!("s3://{}", probe.bucket)
}

fn store(probe: &ProbeResult) -> String {
    probe.endpoint.as_ref().map_or_else(|| "S3".to_owned(), |endpoint| format!("the store at {endpoint}"))
}

fn writes(probe: &ProbeResult) -> Option<AuditFinding> {
    let (rule, message, consequence) = match probe.verdict {
        ProbeVerdict::Enforced => return None,
        ProbeVerdict::Ignored => (
            &rules::PROBE_CONDITION_IGNORED,
            format!("{} overwrites an object although `If-None-Match: *` forbids it", store(probe)),
            "two runs both get the lock, both exit with 0, and one of two writes is lost",
        ),
        ProbeVerdict::Rejected => (
            &rules::PROBE_CONDITION_REJECTED,
            format!("{} takes no write with `If-None-Match: *`", store(probe)),
            "no run that sets `use_lockfile` can take its lock: every plan and apply fails",
        ),
    };
    let mut finding = AuditFinding::new(rule, subject(probe), message);
    finding.help =
        Some("keep the table for states in this bucket; ask again after the store was upgraded".to_owned());
    finding.consequence = Some(consequence.to_owned());
    Some(finding)
}

fn deletes(probe: &ProbeResult) -> Option<AuditFinding> {
    if probe.verdict == ProbeVerdict::Ignored || probe.conditional_delete != Some(false) {
        return None;
    }
    let message = format!("{} does not check `If-Match` when it deletes an object", store(probe));
    let mut finding = AuditFinding::new(&rules::PROBE_DELETE_UNCONDITIONAL, subject(probe), message);
    finding.help =
        Some("release locks here only after making sure that nobody can run; `unlock` refuses to".to_owned());
    finding.consequence = Some(
        "whoever releases a stale lock by hand may release a new one that was taken in between".to_owned(),
    );
    Some(finding)
}

#[cfg(test)]
mod tests {
    use crate::audit::expected::Expected;
    use crate::audit::judge::{JudgeOptions, judge};
    use crate::audit::snapshot::{ProbeResult, ProbeVerdict, Snapshot};
    use crate::moment::Moment;

    fn rules(verdict: ProbeVerdict, conditional_delete: Option<bool>) -> Vec<String> {
        let probe = ProbeResult {
            bucket: "b".into(),
            endpoint: Some("http://127.0.0.1:9000".into()),
            honoured: verdict == ProbeVerdict::Enforced,
            verdict,
            conditional_delete,
            steps: Vec::new(),
            at: Moment::from_seconds(0),
        };
        let snapshot = Snapshot { probes: vec![probe], ..Snapshot::default() };
        let audit = judge(&snapshot, &Expected::default(), &JudgeOptions::default());
        audit.findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_store_that_honours_conditions_is_no_finding() {
        assert!(rules(ProbeVerdict::Enforced, Some(true)).is_empty());
        assert!(rules(ProbeVerdict::Enforced, None).is_empty());
    }

    #[test]
    fn one_that_ignores_or_rejects_them_is() {
        assert_eq!(rules(ProbeVerdict::Ignored, Some(false)), ["probe-condition-ignored"]);
        assert_eq!(rules(ProbeVerdict::Rejected, None), ["probe-condition-rejected"]);
        assert_eq!(rules(ProbeVerdict::Enforced, Some(false)), ["probe-delete-unconditional"]);
    }
}
