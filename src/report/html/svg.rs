//! Charts as inline SVG: small pure functions from numbers to markup. Colours come from the page's style by class; no
//! mode is told by its colour alone: order, patterns and words say the same. Numbers have one decimal at most, so that
//! the same input is the same bytes everywhere.

use super::escape::text;
use crate::repo::inventory::LockMode;
use crate::report::history::{Modes, Point};
use crate::report::totals::Migration;
use crate::report::words::count;

/// How many of a mode.
pub(super) fn count_of(modes: &Modes, mode: LockMode) -> usize {
    modes.get(mode.as_str()).copied().unwrap_or_default()
}

/// `12 dynamodb, 3 dual`: modes that occur, in the order of the migration.
pub(super) fn in_words(modes: &Modes) -> String {
    let words: Vec<String> = LockMode::ALL
        .into_iter()
        .map(|mode| (count_of(modes, mode), mode))
        .filter(|(n, _)| *n > 0)
        .map(|(n, mode)| format!("{n} {}", mode.as_str()))
        .collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

/// How many take the lockfile, and of how many backends.
pub(super) fn on_lockfile(modes: &Modes) -> (usize, usize) {
    let migration = Migration::of(modes);
    (migration.on_lockfile, migration.backends)
}

/// Whole percent, rounded down; a dash where there is nothing to divide by.
pub(super) fn percent((part, whole): (usize, usize)) -> String {
    (part * 100).checked_div(whole).map_or_else(|| "–".to_owned(), |share| format!("{share}%"))
}

/// A part of the whole width, as SVG writes it: percent with one decimal.
fn share(part: usize, whole: usize) -> String {
    format!("{}%", tenths((part * 1000).checked_div(whole).unwrap_or_default()))
}

fn tenths(n: usize) -> String {
    if n.is_multiple_of(10) { (n / 10).to_string() } else { format!("{}.{}", n / 10, n % 10) }
}

/// One bar that is cut into modes. Lengths are percent of wherever it stands, so that neither its patterns nor anything
/// else in it is stretched.
pub(super) fn bar(modes: &Modes) -> String {
    let all: usize = modes.values().sum();
    let words = in_words(modes);
    let mut out = format!(
        "<svg class=\"bar\" width=\"100%\" height=\"10\" role=\"img\" aria-label=\"{words}\"><title>{words}</title>"
    );
    let mut before = 0;
    for mode in LockMode::ALL {
        let n = count_of(modes, mode);
        if n > 0 {
            out.push_str(&format!(
                "<rect class=\"m-{}\" x=\"{}\" width=\"{}\" height=\"100%\"/>",
                mode.as_str(),
                share(before, all),
                share(n, all)
            ));
        }
        before += n;
    }
    out.push_str("</svg>");
    out
}

/// The share on the lockfile over time, as a line: one point for each commit in which the group had backends.
pub(super) fn spark(points: &[Option<(usize, usize)>]) -> String {
    const WIDTH: usize = 96;
    const HEIGHT: usize = 20;
    let known: Vec<(usize, (usize, usize))> = points
        .iter()
        .enumerate()
        .filter_map(|(at, point)| Some((at, (*point)?)))
        .filter(|(_, (_, whole))| *whole > 0)
        .collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return "–".to_owned() };
    let words = format!("{} → {}", percent(first.1), percent(last.1));
    let slots = points.len().saturating_sub(1).max(1);
    let at: Vec<String> = known
        .iter()
        .map(|(at, (part, whole))| {
            let x = 20 + at * (WIDTH - 4) * 10 / slots;
            let y = (HEIGHT - 2) * 10 - part * (HEIGHT - 4) * 10 / whole;
            format!("{},{}", tenths(x), tenths(y))
        })
        .collect();
    let end = at.last().and_then(|point| point.split_once(',')).unwrap_or(("0", "0"));
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"on the lockfile: {words}\">\
         <title>{words}</title><polyline points=\"{}\"/><circle cx=\"{}\" cy=\"{}\" r=\"2\"/></svg> {words}",
        at.join(" "),
        end.0,
        end.1
    )
}

/// A round number that is not below `n`: 1, 2 or 5 with zeros.
fn nice(n: usize) -> usize {
    let mut unit: usize = 1;
    loop {
        for step in [1, 2, 5] {
            let round = unit.saturating_mul(step);
            if round >= n {
                return round;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// One bar for each commit, modes upon each other, the share on the lockfile above. Bars stand side by side and not to
/// the scale of time: between two commits nothing is known, so nothing is drawn. What goes across is in percent of the
/// width, what goes up in pixels: text keeps its size, however narrow the window is.
pub(super) fn history(points: &[Point]) -> String {
    // Across: tenths of a percent.
    const WIDTH: usize = 1000;
    const LEFT: usize = 50;
    const TOP: usize = 22;
    const BOTTOM: usize = 232;
    let most = points.iter().map(|point| point.modes.values().sum::<usize>()).max().unwrap_or_default();
    let scale = nice(most.max(1));
    let y = |n: usize| BOTTOM * 10 - n * (BOTTOM - TOP) * 10 / scale;
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let words = format!(
        "Effective backends by lock mode in {}. {}: {}. {}: {}.",
        count(points.len(), "commit", "commits"),
        day(first),
        in_words(&first.modes),
        day(last),
        in_words(&last.modes)
    );
    let mut out = format!(
        "<svg class=\"history\" width=\"100%\" height=\"274\" role=\"img\" \
         aria-labelledby=\"history-title history-desc\"><title id=\"history-title\">Lock modes over the git history</title>\
         <desc id=\"history-desc\">{}</desc>\n",
        text(&words)
    );
    let ticks: &[usize] = if scale >= 2 { &[0, 1, 2] } else { &[0, 2] };
    for tick in ticks {
        let n = scale * tick / 2;
        let at = tenths(y(n));
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{}%\" x2=\"100%\" y1=\"{at}\" y2=\"{at}\"/>\
             <text class=\"tick\" x=\"{}%\" y=\"{at}\" dy=\"4\" text-anchor=\"end\">{n}</text>\n",
            tenths(LEFT),
            tenths(LEFT - 10)
        ));
    }
    // Hundredths of a percent from here on.
    let slot = (WIDTH - LEFT) * 10 / points.len().max(1);
    let thick = (slot * 7 / 10).min(560);
    let percents = |hundredths: usize| format!("{}%", tenths(hundredths / 10));
    // Labels take about 6% of the narrowest chart; more than fit are left out, the newest never.
    let every = (620 / slot.max(1)) + 1;
    let mut year = String::new();
    for (n, point) in points.iter().enumerate() {
        let x = LEFT * 10 + n * slot + (slot - thick) / 2;
        out.push_str(&format!(
            "<g><title>{} {}: {}{}</title>",
            day(point),
            text(short(point)),
            in_words(&point.modes),
            unread(point)
        ));
        let mut before = 0;
        for mode in LockMode::ALL.into_iter().rev() {
            let n = count_of(&point.modes, mode);
            if n > 0 {
                let (low, high) = (y(before), y(before + n));
                out.push_str(&format!(
                    "<rect class=\"m-{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                    mode.as_str(),
                    percents(x),
                    tenths(high),
                    percents(thick),
                    tenths(low.saturating_sub(high))
                ));
            }
            before += n;
        }
        let middle = percents(x + thick / 2);
        if (points.len() - 1 - n).is_multiple_of(every) {
            let date = day(point);
            let (its_year, day) = date.split_once('-').unwrap_or((&date, ""));
            out.push_str(&format!(
                "<text class=\"share\" x=\"{middle}\" y=\"{}\" dy=\"-5\" text-anchor=\"middle\">{}{}</text>\
                 <text class=\"tick\" x=\"{middle}\" y=\"250\" text-anchor=\"middle\">{day}</text>",
                tenths(y(before)),
                percent(on_lockfile(&point.modes)),
                flag(point)
            ));
            // Said once, and again when it is another one: there is no room for it at each bar.
            if its_year != year {
                out.push_str(&format!(
                    "<text class=\"tick\" x=\"{middle}\" y=\"266\" text-anchor=\"middle\">{its_year}</text>"
                ));
                its_year.clone_into(&mut year);
            }
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Commits that are listed where the chart would be too narrow; the table of numbers has all of them.
const LISTED: usize = 24;

/// The same for a narrow window: a line for each commit with its day, its bar and its share, the newest first.
pub(super) fn history_lines(points: &[Point]) -> String {
    // Evenly spread, and the newest among them, as in the chart.
    let every = points.len().div_ceil(LISTED).max(1);
    let lines: String = points
        .iter()
        .rev()
        .step_by(every)
        .map(|point| {
            format!(
                "<li><span>{}</span>{}<b>{}{}</b></li>\n",
                day(point),
                bar(&point.modes),
                percent(on_lockfile(&point.modes)),
                flag(point)
            )
        })
        .collect();
    format!("<ol class=\"history-lines\">\n{lines}</ol>\n")
}

/// A question mark where something could not be read.
fn flag(point: &Point) -> &'static str {
    if point.unread > 0 { " ?" } else { "" }
}

/// The commit's day.
pub(super) fn day(point: &Point) -> String {
    point.date.to_string().chars().take(10).collect()
}

/// The commit's name as people write it.
pub(super) fn short(point: &Point) -> &str {
    point.commit.get(..10).unwrap_or(&point.commit)
}

fn unread(point: &Point) -> String {
    if point.unread > 0 { format!("; {} could not be read", point.unread) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn modes(counts: &[(&str, usize)]) -> Modes {
        counts.iter().map(|(mode, n)| ((*mode).to_owned(), *n)).collect()
    }

    #[test]
    fn a_bar_has_a_part_for_each_mode_and_says_it_in_words() {
        let out = bar(&modes(&[("dynamodb", 1), ("lockfile", 2), ("none", 0)]));
        assert!(out.contains("aria-label=\"1 dynamodb, 2 lockfile\""), "{out}");
        assert!(out.contains("<rect class=\"m-dynamodb\" x=\"0%\" width=\"33.3%\""), "{out}");
        assert!(out.contains("<rect class=\"m-lockfile\" x=\"33.3%\" width=\"66.6%\""), "{out}");
        assert_eq!(out.matches("<rect").count(), 2);
        assert!(bar(&Modes::new()).contains("aria-label=\"nothing\""));
    }

    #[test]
    fn shares_are_rounded_down_and_nothing_is_no_share() {
        assert_eq!(on_lockfile(&modes(&[("dynamodb", 1), ("dual", 1), ("none", 5), ("unknown", 1)])), (1, 8));
        assert_eq!(percent((199, 200)), "99%");
        assert_eq!(percent((0, 0)), "–");
    }

    #[test]
    fn a_spark_leaves_out_commits_without_locks() {
        let out = spark(&[None, Some((0, 4)), Some((0, 0)), Some((2, 4)), Some((4, 4))]);
        assert!(out.contains("<polyline points=\"25,18 71,10 94,2\"/>"), "{out}");
        assert!(out.ends_with("</svg> 0% → 100%"), "{out}");
        assert_eq!(spark(&[None, None]), "–");
    }

    #[test]
    fn the_scale_is_round() {
        assert_eq!([1, 2, 3, 7, 10, 11, 499, 501].map(nice), [1, 2, 5, 10, 10, 20, 500, 1000]);
    }

    #[test]
    fn the_history_has_a_bar_for_each_commit() {
        let history = sample::history();
        let out = history_of(history.points());
        assert!(out.contains("2026-01-05: 2 dynamodb. 2026-03-02: 2 dual, 1 lockfile."), "{out}");
        // A scale of 5 over 210 units: two are 84 high, and stand on the ground.
        assert!(
            out.contains("<rect class=\"m-dynamodb\" x=\"25.9%\" y=\"148\" width=\"5.6%\" height=\"84\"/>"),
            "{out}"
        );
        assert!(
            out.contains("<rect class=\"m-lockfile\" x=\"73.4%\" y=\"190\" width=\"5.6%\" height=\"42\"/>"),
            "{out}"
        );
        assert!(
            out.contains("<rect class=\"m-dual\" x=\"73.4%\" y=\"106\" width=\"5.6%\" height=\"84\"/>"),
            "{out}"
        );
        assert!(out.contains(">0%</text>") && out.contains(">100% ?</text>"), "{out}");
        assert!(out.contains("2222222222: 2 dual, 1 lockfile; 1 could not be read</title>"), "{out}");
        // The year once for both.
        assert!(out.contains(">01-05</text>") && out.contains(">03-02</text>"), "{out}");
        assert_eq!(out.matches(">2026</text>").count(), 1, "{out}");
        assert_eq!(history_of(&[]), "");
        let one = history_of(&history.points()[..1]);
        assert!(one.contains("by lock mode in 1 commit. 2026-01-05"), "{one}");
    }

    #[test]
    fn a_narrow_window_gets_a_line_for_each_commit_the_newest_first() {
        let history = sample::history();
        let out = history_lines(history.points());
        let (newest, oldest) =
            (out.find("<li><span>2026-03-02").unwrap(), out.find("<li><span>2026-01-05").unwrap());
        assert!(newest < oldest, "{out}");
        assert!(out.contains("<b>100% ?</b>") && out.contains("<b>0%</b>"), "{out}");
        let many: Vec<Point> = history.points().iter().cycle().take(60).cloned().collect();
        assert_eq!(history_lines(&many).matches("<li>").count(), 20);
    }

    fn history_of(points: &[Point]) -> String {
        super::history(points)
    }

    #[test]
    fn many_commits_keep_the_label_of_the_newest() {
        let points = sample::history().points().iter().cycle().take(60).cloned().collect::<Vec<_>>();
        let out = history_of(&points);
        assert_eq!(out.matches("<g>").count(), 60);
        assert_eq!(out.matches("class=\"share\"").count(), 15);
        assert!(out.trim_end().ends_with(">03-02</text></g>\n</svg>"), "{out}");
    }
}
