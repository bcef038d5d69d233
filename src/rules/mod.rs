//! The registry of rules: each rule is one file that can be read whole, with its page in `docs/rules`.

use crate::config::Config;
use crate::finding::{Finding, Severity};
use crate::repo::inventory::Inventory;

/// One rule.
pub struct Rule {
    /// Kebab-case id.
    pub id: &'static str,
    /// How much its findings matter.
    pub severity: Severity,
    /// One line.
    pub summary: &'static str,
    /// Its page, in Markdown.
    pub page: &'static str,
}

static STAND_IN: Rule = Rule {
    id: "dynamodb-only",
    severity: Severity::Medium,
    summary: "The state is locked in DynamoDB alone",
    page: "# dynamodb-only\n\nStand-in.\n",
};

/// All rules.
pub fn all() -> &'static [&'static Rule] {
    static ALL: [&Rule; 1] = [&STAND_IN];
    &ALL
}

/// The rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    all().iter().copied().find(|rule| rule.id == id)
}

/// All findings.
pub fn check(_inventory: &Inventory, _config: &Config, _today: crate::config::Date) -> Vec<Finding> {
    Vec::new()
}

/// The id that was probably meant.
pub fn suggest(id: &str) -> Option<&'static str> {
    let ids: Vec<&'static str> = all().iter().map(|rule| rule.id).collect();
    similar::get_close_matches(id, &ids, 1, 0.7).first().copied()
}
