//! When locks were held and states were written: one lane for each state, from the audit's proof of coverage. A write
//! outside of any lock has its own colour, its own shape and its own line of text.

use super::escape::{code, text, time};
use super::table::{Row, drawings, numbers, table, words};
use crate::audit::outcome::{Audit, HeldLock, StateReport, TracedWrite};
use crate::moment::Moment;
use crate::report::words::count;

/// States that are drawn; the table of states has all of them.
const LANES: usize = 60;

/// Writes outside of locks that are told by name for one state.
const NAMED: usize = 20;

/// The span that is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    from: Moment,
    to: Moment,
}

impl Span {
    /// The window of an audit.
    fn of(audit: &Audit) -> Self {
        let window = std::time::Duration::from_secs(audit.window_seconds);
        Self { from: audit.generated_at.before(window), to: audit.generated_at }
    }

    /// Where a moment lies, in hundredths of a percent; moments outside lie at the ends.
    fn at(self, moment: Moment) -> i64 {
        let whole = i128::from(self.to.millis()) - i128::from(self.from.millis());
        let part = (i128::from(moment.millis()) - i128::from(self.from.millis())).clamp(0, whole.max(0));
        let share = (part * 10_000).checked_div(whole).unwrap_or_default();
        i64::try_from(share).unwrap_or_default()
    }
}

/// `12.34%`.
fn percent(hundredths: i64) -> String {
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// The section's content; empty where no state has anything to draw.
pub(super) fn render(audit: &Audit) -> String {
    let mut states: Vec<&StateReport> = audit.states.iter().filter(|state| has_something(state)).collect();
    if states.is_empty() {
        return String::new();
    }
    // What is wrong first, then what is held, then what was written last.
    states.sort_by_key(|state| {
        (state.coverage.outside.is_empty(), !state.locks.is_held(), std::cmp::Reverse(state.last_written))
    });
    let span = Span::of(audit);
    let all = states.len();
    let axis = axis(span);
    let columns = [
        words("State", "state"),
        words("Proof", "proof"),
        numbers("Writes"),
        numbers("Outside"),
        drawings("Locks and writes", "lane", &axis),
    ];
    let rows: Vec<Row> = states.iter().take(LANES).map(|state| row(state, span)).collect();
    let mut out = format!(
        "<p class=\"key\"><span><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\"><rect class=\"held\" y=\"2\" width=\"22\" \
         height=\"8\" rx=\"2\"/></svg> S3 lock held</span> <span><svg viewBox=\"0 0 8 12\" aria-hidden=\"true\"><line \
         class=\"inside\" x1=\"4\" x2=\"4\" y1=\"0\" y2=\"12\"/></svg> write inside a lock</span> <span><svg viewBox=\"0 0 12 \
         12\" aria-hidden=\"true\"><path class=\"outside\" d=\"M6 0L12 12H0z\"/></svg> write outside of any lock</span> \
         <span><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\"><rect class=\"over\" y=\"2\" width=\"22\" height=\"8\" \
         rx=\"2\"/></svg> lock that was overwritten</span></p>\n\
         <p>From {} to {} UTC. Locks of DynamoDB leave no trace, and are not in it.</p>\n",
        time(span.from),
        time(span.to)
    );
    out.push_str(&table("timeline", "S3 locks and writes of each state in the window", &columns, &rows));
    if all > LANES {
        out.push_str(&format!(
            "<p>{} not drawn: those with writes outside of locks, held locks and the latest writes come first.</p>\n",
            count(all - LANES, "more state is", "more states are")
        ));
    }
    out
}

fn has_something(state: &StateReport) -> bool {
    !state.coverage.trace.locks.is_empty() || !state.coverage.trace.writes.is_empty()
}

fn row(state: &StateReport, span: Span) -> Row {
    let coverage = &state.coverage;
    let subject = format!("s3://{}/{}", state.bucket, state.state_path);
    let mut lane = lane(state, span);
    let left_out = [
        (coverage.trace.more_locks, "older lock is not drawn", "older locks are not drawn"),
        (coverage.trace.more_writes, "more write is not drawn", "more writes are not drawn"),
    ];
    for (n, one, many) in left_out.into_iter().filter(|(n, ..)| *n > 0) {
        lane.push_str(&format!("<p>{}.</p>", count(n, one, many)));
    }
    if !coverage.outside.is_empty() {
        let mut named: Vec<String> = coverage
            .outside
            .iter()
            .take(NAMED)
            .map(|write| format!("<li>{} (version {})</li>", write.at, code(&write.version_id)))
            .collect();
        if let Some(more) = coverage.outside.len().checked_sub(NAMED).filter(|more| *more > 0) {
            named.push(format!("<li>and {more} more</li>"));
        }
        lane.push_str(&format!(
            "<details><summary>{} outside of any lock</summary><ul>{}</ul></details>",
            count(coverage.outside.len(), "write", "writes"),
            named.concat()
        ));
    }
    Row {
        keys: Vec::new(),
        cells: vec![
            code(&subject),
            format!("<span class=\"v v-{0}\">{0}</span>", text(&coverage.verdict)),
            coverage.writes.to_string(),
            coverage.outside.len().to_string(),
            lane,
        ],
    }
}

/// Days below the column's name: both ends of the window, and the quarters between.
fn axis(span: Span) -> String {
    let length = span.to.millis().saturating_sub(span.from.millis());
    let days: String = (0..=4)
        .map(|quarter| {
            let at = Moment::from_millis(span.from.millis().saturating_add(length / 4 * quarter));
            // Between the ends there is no room for the year.
            let (anchor, from) = match quarter {
                0 => ("start", 0),
                4 => ("end", 0),
                _ => ("middle", 5),
            };
            let day: String = at.to_string().chars().take(10).skip(from).collect();
            // Where there is room for the middle alone, these two give way.
            let class = if quarter % 2 == 1 { " class=\"quarter\"" } else { "" };
            format!("<text{class} x=\"{}%\" y=\"11\" text-anchor=\"{anchor}\">{day}</text>", quarter * 25)
        })
        .collect();
    format!("<svg class=\"lane axis\" width=\"100%\" height=\"14\" aria-hidden=\"true\">{days}</svg>")
}

/// One state's lane.
fn lane(state: &StateReport, span: Span) -> String {
    let trace = &state.coverage.trace;
    let words = format!(
        "{}, {}, {} outside of any lock",
        count(state.coverage.intervals, "lock", "locks"),
        count(state.coverage.writes, "write", "writes"),
        state.coverage.outside.len()
    );
    let mut out = format!(
        "<svg class=\"lane\" width=\"100%\" height=\"26\" role=\"img\" aria-label=\"{words}\"><title>{words}</title>\
         <line class=\"grid\" x1=\"0%\" x2=\"100%\" y1=\"13\" y2=\"13\"/>"
    );
    for lock in &trace.locks {
        out.push_str(&held(lock, span));
    }
    // What is wrong is drawn last, above everything else.
    let (outside, inside): (Vec<&TracedWrite>, Vec<&TracedWrite>) =
        trace.writes.iter().partition(|write| write.outside);
    for write in inside {
        let x = percent(span.at(write.at));
        out.push_str(&format!(
            "<line class=\"inside\" x1=\"{x}\" x2=\"{x}\" y1=\"6\" y2=\"20\"><title>written {}, inside a lock</title></line>",
            write.at
        ));
    }
    for write in outside {
        out.push_str(&format!(
            "<svg x=\"{}\" y=\"0\" overflow=\"visible\"><path class=\"outside\" d=\"M0 1l6 11h-12z\"><title>written {} \
             outside of any lock (version {})</title></path></svg>",
            percent(span.at(write.at)),
            write.at,
            text(&write.version_id)
        ));
    }
    out.push_str("</svg>");
    out
}

fn held(lock: &HeldLock, span: Span) -> String {
    let (from, to) = (span.at(lock.from), lock.to.map_or(10_000, |to| span.at(to)));
    let who = lock.who.as_deref().map(|who| format!(" by {}", text(who))).unwrap_or_default();
    let until = lock.to.map_or_else(|| "still held".to_owned(), |to| format!("until {to}"));
    let (class, end) = if lock.overwritten { ("over", ", overwritten") } else { ("held", "") };
    // A run takes seconds, the window days: the stroke keeps the shortest lock to be seen.
    format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"9\" width=\"{}\" height=\"8\"><title>locked{who} from {} {until}{end}</title>\
         </rect>",
        percent(from),
        percent((to - from).max(0)),
        lock.from
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::audit::sample;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).unwrap()
    }

    /// The window is 14 days and ends on 30 November at 12:00.
    fn traced() -> Audit {
        let mut audit = sample::audit();
        let network = audit.states.iter_mut().find(|state| state.state_path == "network").unwrap();
        let trace = &mut network.coverage.trace;
        trace.locks = vec![
            HeldLock {
                from: moment("2026-11-23T12:00:00Z"),
                to: Some(moment("2026-11-23T13:00:00Z")),
                who: Some("<ci>".to_owned()),
                overwritten: false,
            },
            HeldLock { from: moment("2026-11-30T11:00:00Z"), to: None, who: None, overwritten: true },
        ];
        trace.writes = vec![
            TracedWrite { at: moment("2026-11-23T12:30:00Z"), version_id: "v6".to_owned(), outside: false },
            TracedWrite { at: moment("2026-11-29T10:00:00Z"), version_id: "v7".to_owned(), outside: true },
        ];
        trace.more_locks = 3;
        audit
    }

    #[test]
    fn locks_and_writes_stand_where_they_were() {
        let out = render(&traced());
        assert!(out.contains("<text x=\"50%\" y=\"11\" text-anchor=\"middle\">11-23</text>"), "{out}");
        // Seven days into fourteen: the middle; an hour is 0.29% of the window.
        assert!(out.contains("<rect class=\"held\" x=\"50.00%\" y=\"9\" width=\"0.29%\""), "{out}");
        assert!(out.contains(
            "<title>locked by &lt;ci&gt; from 2026-11-23T12:00:00Z until 2026-11-23T13:00:00Z</title>"
        ));
        assert!(out.contains("<rect class=\"over\" x=\"99.70%\" y=\"9\" width=\"0.30%\""), "{out}");
        assert!(out.contains("still held, overwritten</title>"), "{out}");
        assert!(out.contains("<line class=\"inside\" x1=\"50.14%\" x2=\"50.14%\""), "{out}");
        assert!(out.contains("3 older locks are not drawn."), "{out}");
    }

    #[test]
    fn a_write_outside_of_locks_has_its_own_shape_and_line() {
        let out = render(&traced());
        assert!(
            out.contains("<svg x=\"92.26%\" y=\"0\" overflow=\"visible\"><path class=\"outside\""),
            "{out}"
        );
        assert!(out.contains("<li>2026-11-29T10:00:00Z (version <code>v7</code>)</li>"), "{out}");
        assert!(out.contains("1 write outside of any lock</summary>"), "{out}");
    }

    #[test]
    fn what_is_not_drawn_is_counted() {
        let mut audit = traced();
        let one = audit.states.iter().find(|state| state.state_path == "network").unwrap().clone();
        audit.states =
            (0..70).map(|n| StateReport { state_path: format!("s{n:02}"), ..one.clone() }).collect();
        let out = render(&audit);
        assert_eq!(out.matches("<svg class=\"lane\"").count(), 60);
        assert!(out.contains("<p>10 more states are not drawn"), "{out}");
        assert_eq!(render(&sample::empty()), "");
    }
}
