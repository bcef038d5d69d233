//! `audit --format csv`: one row for each subject, for spreadsheets. States come first, then whatever else has a finding
//! or could not be read, so that no filter on a column makes the sheet look cleaner than the audit.

use std::collections::{BTreeMap, BTreeSet};

use super::AuditReport;
use super::wording::operation;
use crate::audit::outcome::{AuditFinding, LockRecord, StateReport};
use crate::report::csv::guarded;

/// The first row.
const HEADER: [&str; 38] = [
    "subject",
    "mode",
    "roots",
    "workspace",
    "exists",
    "last_written",
    "s3_lock",
    "s3_id",
    "s3_who",
    "s3_operation",
    "s3_version",
    "s3_created",
    "s3_age_seconds",
    "s3_unreadable",
    "s3_unknown",
    "dynamodb_lock",
    "dynamodb_id",
    "dynamodb_who",
    "dynamodb_operation",
    "dynamodb_version",
    "dynamodb_created",
    "dynamodb_age_seconds",
    "dynamodb_unreadable",
    "dynamodb_unknown",
    "dynamodb_table",
    "dynamodb_table_arn",
    "digest",
    "digest_reason",
    "coverage",
    "coverage_reason",
    "coverage_since",
    "writes",
    "intervals",
    "outside",
    "severity",
    "findings",
    "accepted",
    "unread",
];

/// Columns that say something about a state.
const STATE: usize = 33;

/// The report as CSV (RFC 4180, line breaks `\n`). What is absent or not known is empty.
///
/// # Errors
/// None that an audit can cause.
pub fn render(report: &AuditReport<'_>) -> Result<String, csv::Error> {
    let audit = report.audit;
    let mut findings: BTreeMap<&str, Vec<&AuditFinding>> = BTreeMap::new();
    for finding in &audit.findings {
        findings.entry(&finding.subject).or_default().push(finding);
    }
    let mut unread: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in &audit.unread {
        let action = one.missing_action.as_ref().map(|action| format!(" (lacks {action})"));
        let text = format!("{}: {}{}", one.operation, one.reason, action.unwrap_or_default());
        unread.entry(&one.resource).or_default().push(text);
    }
    let states: BTreeMap<String, &StateReport> = audit
        .states
        .iter()
        .map(|state| (format!("s3://{}/{}", state.bucket, state.state_path), state))
        .collect();
    let others: BTreeSet<&str> = findings
        .keys()
        .chain(unread.keys())
        .copied()
        .filter(|subject| !states.contains_key(*subject))
        .collect();

    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    let subjects = states.iter().map(|(subject, state)| (subject.as_str(), Some(*state)));
    for (subject, state) in subjects.chain(others.into_iter().map(|subject| (subject, None))) {
        let mut row = vec![subject.to_owned()];
        row.extend(state.map_or(vec![String::new(); STATE], of_state));
        let found = findings.get(subject).map(Vec::as_slice).unwrap_or_default();
        let open: Vec<&&AuditFinding> = found.iter().filter(|finding| finding.ignored.is_none()).collect();
        let accepted = found.iter().filter_map(|one| Some((one, one.ignored.as_ref()?)));
        row.push(
            open.iter().map(|one| one.severity).max().map(|it| it.as_str().to_owned()).unwrap_or_default(),
        );
        row.push(joined(open.iter().map(|one| format!("{}: {}", one.rule, one.message))));
        row.push(joined(accepted.map(|(one, reason)| format!("{}: {reason}", one.rule))));
        row.push(joined(unread.get(subject).into_iter().flatten().cloned()));
        writer.write_record(row.iter().map(|field| guarded(field)))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("; ")
}

fn of_state(state: &StateReport) -> Vec<String> {
    let coverage = &state.coverage;
    let mut row = vec![
        state.mode.as_str().to_owned(),
        state.roots.join("; "),
        state.workspace.clone().unwrap_or_default(),
        state.exists.map(|exists| exists.to_string()).unwrap_or_default(),
        state.last_written.map(|at| at.to_string()).unwrap_or_default(),
    ];
    row.extend(of_lock(state.locks.s3.as_ref(), state.locks.s3_unknown.as_deref()));
    row.extend(of_lock(state.locks.dynamodb.as_ref(), state.locks.dynamodb_unknown.as_deref()));
    row.extend([
        state.locks.dynamodb.as_ref().and_then(|lock| lock.table.clone()).unwrap_or_default(),
        state.locks.dynamodb.as_ref().and_then(|lock| lock.table_arn.clone()).unwrap_or_default(),
        state.digest.verdict.clone(),
        state.digest.reason.clone().unwrap_or_default(),
        coverage.verdict.clone(),
        coverage.reason.clone().unwrap_or_default(),
        coverage.since.map(|at| at.to_string()).unwrap_or_default(),
        coverage.writes.to_string(),
        coverage.intervals.to_string(),
        joined(coverage.outside.iter().map(|write| format!("{} {}", write.at, write.version_id))),
    ]);
    row
}

/// `unknown`: why nobody can say whether there is one. Then the first column is empty, not `false`.
fn of_lock(lock: Option<&LockRecord>, unknown: Option<&str>) -> [String; 9] {
    let Some(lock) = lock else {
        let mut row: [String; 9] = Default::default();
        let [held, .., why] = &mut row;
        *held = unknown.map_or("false", |_| "").to_owned();
        *why = unknown.unwrap_or_default().to_owned();
        return row;
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    [
        "true".to_owned(),
        text(&lock.id),
        text(&lock.who),
        lock.operation.as_deref().map(operation).unwrap_or_default(),
        text(&lock.version),
        lock.created.map(|at| at.to_string()).unwrap_or_default(),
        lock.age_seconds.map(|age| age.to_string()).unwrap_or_default(),
        text(&lock.unreadable),
        String::new(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::outcome::Audit;
    use crate::report::audit::sample;

    fn rows(audit: &Audit) -> Vec<BTreeMap<String, String>> {
        let text = render(&AuditReport { audit, stats: false }).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        reader.deserialize().map(|row| row.unwrap()).collect()
    }

    #[test]
    fn one_row_for_each_subject() {
        let rows = rows(&sample::audit());
        let subjects: Vec<&str> = rows.iter().map(|row| row["subject"].as_str()).collect();
        assert_eq!(
            subjects,
            [
                "s3://acme-tfstate/dns",
                "s3://acme-tfstate/lost",
                "s3://acme-tfstate/network",
                "s3://acme-tfstate/search",
                "arn:aws:dynamodb:eu-west-1:111122223333:table/other",
                "s3://acme-scratch",
                "s3://acme-tfstate",
                "s3://acme-tfstate/other",
            ]
        );
        let network = &rows[2];
        for (column, value) in [
            ("mode", "dual"),
            ("s3_lock", "true"),
            ("s3_who", "ada@laptop"),
            ("s3_operation", "apply"),
            ("dynamodb_id", "bbbb"),
            ("dynamodb_table", "acme-locks"),
            ("digest", "stale"),
            ("coverage", "contradicted"),
            ("outside", "2026-11-29T10:00:00Z v7"),
            ("severity", "critical"),
            (
                "findings",
                "two-writers: two people hold a lock on this state at once; digest-stale: the table's digest is not the \
                 state's",
            ),
        ] {
            assert_eq!(network[column], value, "{column}");
        }
        assert_eq!(rows[1]["exists"], "");
        assert_eq!(rows[1]["s3_lock"], "false");
        assert_eq!(
            (rows[3]["s3_lock"].as_str(), rows[3]["s3_unknown"].as_str()),
            ("", "the listing did not come to its end")
        );
        assert_eq!(
            (rows[3]["dynamodb_lock"].as_str(), rows[3]["dynamodb_table"].as_str()),
            ("true", "acme-locks")
        );
        assert_eq!(rows[4]["unread"], "Scan: AccessDenied: not authorized (lacks dynamodb:Scan)");
        assert_eq!(
            (rows[5]["accepted"].as_str(), rows[5]["findings"].as_str()),
            ("bucket-unversioned: a scratch bucket", "")
        );
    }

    #[test]
    fn no_field_begins_a_formula_or_breaks_its_row() {
        for row in rows(&sample::hostile()) {
            assert_eq!(row.len(), HEADER.len());
            for (column, field) in row {
                // Ages below zero are numbers of ours, and guarded all the same.
                assert!(!field.starts_with(['=', '+', '-', '@', '\t']), "{column}: {field}");
                assert!(!field.contains(char::is_control), "{column}: {field}");
            }
        }
    }
}
