//! Output: one file per format. Sees findings and the inventory, never files or the network.
//!
//! Every format gets the same [`ScanReport`]; what more than one of them says stands in [`words`] (making text from
//! files safe to show), [`totals`] (counting) and [`group`] (`--by`). A new format is one file and one line here.

pub mod csv;
pub mod github;
pub mod group;
pub mod json;
pub mod markdown;
mod palette;
pub mod sarif;
pub mod summary;
pub mod table;
mod table_sections;
pub mod totals;
pub mod words;

#[cfg(test)]
mod sample;

use crate::finding::{Finding, Severity};
use crate::repo::inventory::{Inventory, Summary};

/// Version of the JSON form. A name that goes or changes its meaning raises it; a new name does not.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that a format may say of one scan.
#[derive(Debug, Clone)]
pub struct ScanReport<'a> {
    /// What was found in the repository.
    pub inventory: &'a Inventory,
    /// What the rules say of it, sorted; ignored findings carry their reason.
    pub findings: &'a [Finding],
    /// Counts over the inventory.
    pub summary: Summary,
}

impl<'a> ScanReport<'a> {
    /// A report over an inventory and its findings.
    pub fn new(inventory: &'a Inventory, findings: &'a [Finding]) -> Self {
        Self { inventory, findings, summary: inventory.summary() }
    }

    /// Findings that count: those that nobody ignored.
    pub fn open(&self) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(|finding| finding.ignored.is_none())
    }
}

/// What a format needs to know of a rule. The registry itself stays unknown here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleText<'a> {
    /// Kebab-case id.
    pub id: &'a str,
    /// Severity when nothing is configured.
    pub severity: Severity,
    /// One line.
    pub summary: &'a str,
    /// The whole page, in Markdown.
    pub page: &'a str,
}
