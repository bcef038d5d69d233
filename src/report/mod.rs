//! Output: one file per format. What may come in: what is shown (findings, inventory, plan, audit, policies, a release of
//! locks), never files or the network.
//!
//! Every format gets the same [`ScanReport`]; what more than one of them says stands in [`words`] (making text from
//! files safe to show), [`totals`] (counting) and [`group`] (`--by`). A new format is one file and one line here.

pub mod audit;
mod columns;
pub mod csv;
pub mod github;
pub mod group;
pub mod history;
pub mod html;
pub mod json;
pub mod markdown;
mod palette;
pub mod plan_json;
pub mod plan_table;
pub mod pull_request;
pub mod sarif;
pub mod summary;
pub mod table;
mod table_sections;
pub mod totals;
pub mod unlock;
pub mod words;

#[cfg(test)]
mod sample;
#[cfg(test)]
pub(crate) mod schema_testing;

use std::collections::BTreeSet;

pub use history::History;

use crate::finding::{Finding, Severity};
use crate::repo::facts::LockTable;
use crate::repo::inventory::{Inventory, Reader, Summary, Unattributed};
use crate::repo::problem::Problem;
use crate::repo::text::Place;

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
    /// How far the migration was at earlier commits, where that was asked for.
    pub history: Option<&'a History>,
}

impl<'a> ScanReport<'a> {
    /// A report over an inventory and its findings.
    pub fn new(inventory: &'a Inventory, findings: &'a [Finding]) -> Self {
        Self { inventory, findings, summary: inventory.summary(), history: None }
    }

    /// Findings that count: those that nobody ignored.
    pub fn open(&self) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(|finding| finding.ignored.is_none())
    }

    /// Places where a finding stands that counts: what is listed beside the findings leaves these out, so that
    /// nothing is said twice.
    fn said(&self) -> BTreeSet<&'a Place> {
        self.open().map(|finding| &finding.place).collect()
    }

    /// Sources without a root module that no finding speaks of (the rule can be switched off; they stay listed).
    pub fn unsaid_sources(&self) -> impl Iterator<Item = &'a Unattributed> {
        let said = self.said();
        self.inventory.unattributed.iter().filter(move |source| !said.contains(&source.place))
    }

    /// Readers that no finding speaks of.
    pub fn unsaid_readers(&self) -> impl Iterator<Item = &'a Reader> {
        let said = self.said();
        self.inventory.readers.iter().filter(move |reader| !said.contains(&reader.place))
    }

    /// Lock tables in code that no finding speaks of.
    pub fn unsaid_tables(&self) -> impl Iterator<Item = &'a LockTable> {
        let said = self.said();
        self.inventory.lock_tables.iter().filter(move |table| !said.contains(&table.place))
    }

    /// Problems that hide something. What Terraform would refuse is a finding of its own, and is said there.
    pub fn unread(&self) -> impl Iterator<Item = &'a Problem> {
        self.inventory.problems.iter().filter(|problem| problem.kind.hides_something())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;

    /// A directory or a key may be called so; no format for people may take it for its own.
    #[test]
    fn a_name_with_backticks_is_whole_in_every_format() {
        for name in ["a`b", "a``b", "`a`b`c`", "a` and `b"] {
            let (mut inventory, mut findings) = (sample::inventory(), sample::findings());
            inventory.roots.truncate(1);
            inventory.roots[0].path = name.to_owned();
            findings.truncate(1);
            findings[0].subject = name.to_owned();
            findings[0].place.file = format!("{name}/main.tf");
            findings[0].message = format!("`{name}` takes no lock: `use_lockfile` is not set");
            let message = &findings[0].message.clone();
            let report = ScanReport::new(&inventory, &findings);
            let at = Moment::parse("2026-11-30T12:00:00Z").unwrap();
            let ends = html::Ends::Findings;
            let page = html::Page { at, ends, of: ".", scan: Some(&report), audit: None, rules: &[] };
            let shown = [
                ("table", table::render(&report, table::TableOptions::default())),
                ("markdown", markdown::render(&report, group::By::Root)),
                ("github", github::render(&report)),
                ("sarif", sarif::render(&report, &[]).unwrap()),
                ("csv", csv::render(&report).unwrap()),
                ("html", html::render(&page)),
            ];
            for (format, out) in shown {
                // As code without the backticks around it, or the whole message as it is.
                let whole = match format {
                    "html" => {
                        out.contains(&format!("<code>{name}</code> takes no lock")) || out.contains(message)
                    }
                    "markdown" => {
                        out.contains(&format!("{} takes no lock", markdown::span(name)))
                            || out.contains(&markdown::literal(message))
                    }
                    "csv" => out.contains(name),
                    _ => out.contains(message),
                };
                assert!(whole, "{format} lost a part of {message}");
            }
        }
    }
}
