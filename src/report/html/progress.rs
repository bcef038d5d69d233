//! How far the migration is: overall, by owner, bucket and account, now and at earlier commits.

use super::escape::{code, prose};
use super::svg::{bar, count_of, day, history, history_lines, in_words, on_lockfile, percent, short, spark};
use super::table::{Row, drawings, numbers, table, words};
use crate::repo::inventory::LockMode;
use crate::report::ScanReport;
use crate::report::group::{By, Group, groups};
use crate::report::history::{History, Modes, Point};
use crate::report::words::count;

/// Groups that are listed of one kind; `scan --by` has all of them.
const GROUPS: usize = 200;

/// What each mode means, for whoever sees the words for the first time.
const MEANINGS: [(LockMode, &str); 5] = [
    (LockMode::None, "no lock at all"),
    (LockMode::Dynamodb, "the table alone"),
    (LockMode::Dual, "both: the way across"),
    (LockMode::Lockfile, "the lockfile alone: done"),
    (LockMode::Unknown, "it can't be told"),
];

/// The section's content.
pub(super) fn render(report: &ScanReport<'_>) -> String {
    let modes = &report.summary.modes;
    let mut out = format!("<div class=\"overall\">{}</div>\n{}", bar(modes), legend(modes));
    if let Some(history) = report.history {
        out.push_str(&past(history));
    }
    for (by, title, column, note) in [
        (
            By::Owner,
            "By owner",
            "Owner",
            "Owners are CODEOWNERS' word; a root module with two owners counts for both.",
        ),
        (By::Bucket, "By bucket", "Bucket", ""),
        (
            By::Account,
            "By account",
            "Account",
            "The account that the table's ARN or the assumed role names; the bucket may belong to another one.",
        ),
    ] {
        out.push_str(&grouped(report, by, title, column, note));
    }
    out
}

fn legend(modes: &Modes) -> String {
    let all: usize = modes.values().sum();
    let mut out = String::from("<dl class=\"legend\">");
    for (mode, meaning) in MEANINGS {
        let n = count_of(modes, mode);
        let name = mode.as_str();
        out.push_str(&format!(
            "<div><dt><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><rect class=\"m-{name}\" width=\"14\" height=\"14\" \
             rx=\"2\"/></svg> {name}</dt><dd><b>{n}</b> {} <span>{meaning}</span></dd></div>",
            percent((n, all))
        ));
    }
    out.push_str("</dl>\n");
    out
}

/// The chart of earlier commits, and the same as a table.
fn past(history_of: &History) -> String {
    let mut out = String::from("<h3 id=\"history\">Over the git history</h3>\n");
    if let Some(why) = &history_of.unknown {
        out.push_str(&format!(
            "<p class=\"note\"><b>{}:</b> {}.</p>\n",
            if history_of.points.is_none() { "The past is not known" } else { "Not shown" },
            prose(why)
        ));
    }
    let points = history_of.points();
    if points.is_empty() {
        return out;
    }
    out.push_str(&format!(
        "<figure>{}{}<figcaption>Each bar is one commit that was looked at, with the part of all backends that takes the \
         lockfile; those without a lock and those that can't be told count, too. Nothing is said about the commits between. A question mark: something in that commit could not be read. \
         What is not committed yet is not in it.</figcaption></figure>\n",
        history(points),
        history_lines(points)
    ));
    let mut columns = vec![words("Commit", "word"), words("Committed", "word"), numbers("Root modules")];
    columns.extend(LockMode::ALL.map(|mode| numbers(mode.as_str())));
    columns.extend([numbers("On the lockfile"), numbers("Not read")]);
    let rows: Vec<Row> = points.iter().rev().map(point).collect();
    out.push_str(&format!(
        "<details><summary>{}, in numbers</summary>{}</details>\n",
        count(points.len(), "commit", "commits"),
        table("commits", "Effective backends by lock mode at each commit", &columns, &rows)
    ));
    out
}

fn point(point: &Point) -> Row {
    let mut cells = vec![code(short(point)), day(point), point.roots.to_string()];
    cells.extend(LockMode::ALL.map(|mode| count_of(&point.modes, mode).to_string()));
    cells.extend([percent(on_lockfile(&point.modes)), point.unread.to_string()]);
    Row { keys: Vec::new(), cells }
}

fn grouped(report: &ScanReport<'_>, by: By, title: &str, column: &str, note: &str) -> String {
    let groups = groups(report.inventory, by);
    // One group that says nothing is no grouping.
    if groups.is_empty() || matches!(groups.as_slice(), [only] if only.name == "(none)") {
        return String::new();
    }
    let points = report.history.map(History::points).unwrap_or_default();
    let mut columns = vec![
        words(column, "wide"),
        numbers("Root modules"),
        drawings("Lock modes", "bars", ""),
        numbers("On the lockfile"),
        numbers("Still to do"),
    ];
    if !points.is_empty() {
        columns.push(drawings("Over time", "sparks", ""));
    }
    let all = groups.len();
    let mut rows: Vec<(usize, Row)> = groups.iter().map(|group| row(group, by, points)).collect();
    // The most work first; equal ones stay in the order of their names.
    rows.sort_by_key(|(left, _)| std::cmp::Reverse(*left));
    let rows: Vec<Row> = rows.into_iter().take(GROUPS).map(|(_, row)| row).collect();
    let caption = format!("{title}: {}, the most left to do first", count(all, "group", "groups"));
    let mut out =
        format!("<h3>{title}</h3>\n{}", table(&format!("by-{}", by.as_str()), &caption, &columns, &rows));
    if all > GROUPS {
        out.push_str(&format!(
            "<p>{} not listed; <code>lockshift scan --by {}</code> has all of them.</p>\n",
            count(all - GROUPS, "more is", "more are"),
            by.as_str()
        ));
    }
    if !note.is_empty() {
        out.push_str(&format!("<p class=\"small\">{note}</p>\n"));
    }
    out
}

/// A group's row, and how many of its backends do not take the lockfile alone.
fn row(group: &Group, by: By, points: &[Point]) -> (usize, Row) {
    let modes: Modes = group.modes.iter().map(|(mode, n)| (mode.as_str().to_owned(), *n)).collect();
    let left = modes.values().sum::<usize>() - count_of(&modes, LockMode::Lockfile);
    let mut cells = vec![
        code(&group.name),
        group.roots.to_string(),
        format!("{} <span>{}</span>", bar(&modes), in_words(&modes)),
        percent(on_lockfile(&modes)),
        left.to_string(),
    ];
    if !points.is_empty() {
        let shares: Vec<Option<(usize, usize)>> =
            points.iter().map(|point| point.group(by, &group.name).map(on_lockfile)).collect();
        cells.push(spark(&shares));
    }
    (left, Row { keys: Vec::new(), cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn groups_stand_by_what_is_left_to_do() {
        let inventory = sample::inventory();
        let out = render(&ScanReport::new(&inventory, &[]));
        let order: Vec<usize> = ["@acme/web", "(none)</code>", "@acme/platform"]
            .iter()
            .map(|name| {
                out.find(&format!("<th scope=\"row\"><code>{name}"))
                    .unwrap_or_else(|| panic!("{name}: {out}"))
            })
            .collect();
        assert!(order.is_sorted(), "{order:?}");
        // Nobody names an account: that is no grouping.
        assert!(!out.contains("By account"), "{out}");
        assert!(!out.contains("Over the git history"), "{out}");
        assert!(out.contains("<dd><b>1</b> 20% <span>no lock at all</span>"), "{out}");
    }

    #[test]
    fn the_past_is_drawn_and_what_is_not_known_of_it_is_said() {
        let (inventory, mut history) = (sample::inventory(), sample::history());
        let mut report = ScanReport::new(&inventory, &[]);
        report.history = Some(&history);
        let out = render(&report);
        assert!(out.contains("<svg class=\"history\""), "{out}");
        assert!(out.contains("2 commits, in numbers"), "{out}");
        // The owner's own line: nothing of two, then three of three.
        assert!(out.contains("0% → 100%"), "{out}");

        history.unknown = Some("the clone is <shallow>".to_owned());
        let mut report = ScanReport::new(&inventory, &[]);
        report.history = Some(&history);
        assert!(render(&report).contains("<b>Not shown:</b> the clone is &lt;shallow&gt;."));
        let unknown = History::unknown("no repository".to_owned());
        report.history = Some(&unknown);
        let out = render(&report);
        assert!(
            out.contains("<b>The past is not known:</b> no repository.") && !out.contains("<figure>"),
            "{out}"
        );
    }
}
