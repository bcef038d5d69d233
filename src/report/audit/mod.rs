//! Formats of an audit: one file for each. Sees the audit's result and nothing else; wording that several formats
//! share stands in `wording` and `summary`. A new format is one file and one line here.

pub(in crate::report) mod access;
pub mod csv;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod prometheus;
pub mod retire;
pub mod sarif;
mod subjects;
pub mod summary;
pub mod table;
mod table_sections;
pub(in crate::report) mod wording;

#[cfg(test)]
pub(in crate::report) mod sample;

use crate::audit::outcome::{Audit, AuditFinding};
use crate::finding::Severity;

/// What a format may say of one audit.
#[derive(Debug, Clone, Copy)]
pub struct AuditReport<'a> {
    /// What the audit says. Accepted findings carry their reason.
    pub audit: &'a Audit,
    /// Whether requests are told to people (`--stats`); formats for machines always hold them.
    pub stats: bool,
}

impl<'a> AuditReport<'a> {
    /// Findings that count: those that nobody accepted.
    pub fn open(&self) -> impl Iterator<Item = &'a AuditFinding> {
        self.audit.findings.iter().filter(|finding| finding.ignored.is_none())
    }

    /// Those of one severity.
    fn of(&self, severity: Severity) -> impl Iterator<Item = &'a AuditFinding> {
        self.open().filter(move |finding| finding.severity == severity)
    }
}
