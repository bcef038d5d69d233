//! How far the migration was at earlier commits: counts for each commit that was looked at. Pure; laying out commits
//! and scanning them happens elsewhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::group::{By, groups};
use crate::moment::Moment;
use crate::repo::inventory::Inventory;

/// Effective backends by lock mode.
pub type Modes = BTreeMap<String, usize>;

/// The past, as far as it was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct History {
    /// Commits that were looked at, the oldest first; null when none could be.
    #[serde(rename = "history")]
    pub points: Option<Vec<Point>>,
    /// Why there is nothing, or what the points do not show.
    #[serde(rename = "history_unknown", skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

impl History {
    /// No history, and why.
    pub fn unknown(why: String) -> Self {
        Self { points: None, unknown: Some(why) }
    }

    /// The points; none where there is no history.
    pub fn points(&self) -> &[Point] {
        self.points.as_deref().unwrap_or_default()
    }
}

/// One commit, and what a scan of it counts. Groups hold only modes that occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Point {
    /// The commit's object name.
    pub commit: String,
    /// When it was committed.
    pub date: Moment,
    /// Root modules.
    pub roots: usize,
    /// Effective backends by mode; every mode is present.
    pub modes: Modes,
    /// The same for each owner.
    pub owners: BTreeMap<String, Modes>,
    /// The same for each bucket.
    pub buckets: BTreeMap<String, Modes>,
    /// The same for each account.
    pub accounts: BTreeMap<String, Modes>,
    /// Places that could not be read in that commit: nothing is said about what stood there.
    pub unread: usize,
}

impl Point {
    /// Counts what was found in a commit; `missing` are its files that could not be laid out.
    pub fn of(commit: String, date: Moment, inventory: &Inventory, missing: usize) -> Self {
        let summary = inventory.summary();
        let by = |by: By| {
            let modes = |group: super::group::Group| -> Modes {
                group.modes.into_iter().map(|(mode, n)| (mode.as_str().to_owned(), n)).collect()
            };
            groups(inventory, by).into_iter().map(|group| (group.name.clone(), modes(group))).collect()
        };
        Self {
            commit,
            date,
            roots: summary.roots,
            modes: summary.modes,
            owners: by(By::Owner),
            buckets: by(By::Bucket),
            accounts: by(By::Account),
            unread: summary.unread + missing,
        }
    }

    /// The group's counts in one of the three ways to group; none where it was not there yet.
    pub fn group(&self, by: By, name: &str) -> Option<&Modes> {
        match by {
            By::Owner => self.owners.get(name),
            By::Bucket => self.buckets.get(name),
            By::Account => self.accounts.get(name),
            By::Root | By::Table | By::Mode => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_commit_is_counted_as_the_scan_itself_counts() {
        let at = Moment::parse("2026-01-05T09:00:00Z").unwrap();
        let point = Point::of("c".to_owned(), at, &sample::inventory(), 2);
        assert_eq!((point.roots, point.unread), (4, 3));
        assert_eq!(point.modes["dual"], 1);
        let owners: Vec<(&str, usize)> =
            point.owners.iter().map(|(name, modes)| (name.as_str(), modes.values().sum())).collect();
        assert_eq!(owners, [("(none)", 2), ("@acme/platform", 1), ("@acme/web", 3)]);
        assert_eq!(point.group(By::Bucket, "tf-prod").map(|modes| modes.values().sum()), Some(2_usize));
        assert_eq!(point.group(By::Bucket, "elsewhere"), None);
        assert_eq!(point.accounts.keys().collect::<Vec<_>>(), ["(none)"]);
    }
}
