//! What `lockshift policy` says on stderr: what was refused; what was proven, what changes for whom, and what a reader must
//! know. Texts alone.

use super::documents::Report;
use crate::policy::recommend::{Advice, Refusal};
use crate::report::words::{visible, visible_lines};

pub(super) fn told(refused: &[(String, Refusal)]) -> String {
    let mut out = String::new();
    for (bucket, refusal) in refused {
        out.push_str(&format!("refused  {}  {}\n", visible(bucket), refusal.gate.id()));
        for line in refusal.reason.lines() {
            out.push_str(&format!("  {}\n", visible(line)));
        }
        out.push_str(&format!("  help: {}\n", visible(&refusal.next)));
    }
    out.push_str("nothing was written; `lockshift explain GATE` says more\n");
    out
}

/// What was proven, what changes for whom, and what a reader must know. What is the same for several buckets is said
/// once.
pub(super) fn said(quiet: bool, report: &Report, unread: usize) -> String {
    let mut out = String::new();
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut seen: Vec<(String, &str)> = Vec::new();
    for advice in report.buckets.iter().filter(|_| !quiet) {
        let bucket = visible(&advice.bucket);
        out.push_str(&format!("{bucket}: {} requests decided, each as it must be\n", advice.proven));
        if !advice.changed {
            out.push_str("  the bucket policy is as it must be already\n");
        }
        let changes = changes(advice);
        match seen.iter().find(|(earlier, _)| *earlier == changes && !changes.is_empty()) {
            Some((_, same)) => out.push_str(&format!("  the same changes as for {}\n", visible(same))),
            None => out.push_str(&changes),
        }
        seen.push((changes, &advice.bucket));
        for note in &advice.notes {
            match notes.iter_mut().find(|(known, _)| known == note) {
                Some((_, buckets)) => buckets.push(&advice.bucket),
                None => notes.push((note, vec![&advice.bucket])),
            }
        }
    }
    for (note, buckets) in notes {
        let whose = if buckets.len() == report.buckets.len() {
            String::new()
        } else {
            format!("{}: ", visible(&buckets.join(", ")))
        };
        out.push_str(&format!("note: {whose}{}\n", visible_lines(note)));
    }
    for unplaced in &report.unplaced {
        let place = format!("{}:{}", unplaced.file, unplaced.line);
        out.push_str(&format!(
            "not placed: {} ({place}): {}\n",
            visible(&unplaced.root),
            visible_lines(&unplaced.why)
        ));
    }
    if unread > 0 {
        out.push_str(&format!("{unread} places could not be read; `lockshift scan` names them\n"));
    }
    out
}

/// A line for each principal whose place in the four sets changes.
fn changes(advice: &Advice) -> String {
    let mut out = String::new();
    for reach in advice.reach.iter().filter(|reach| reach.differs()) {
        let (before, after) = (&reach.before, &reach.after);
        let sets = [
            ("delete", &before.delete, &after.delete),
            ("overwrite", &before.overwrite, &after.overwrite),
            ("create", &before.create, &after.create),
        ];
        let mut differences: Vec<String> = sets
            .iter()
            .filter(|(_, before, after)| before != after)
            .map(|(set, before, after)| format!("{set} {before} -> {after}"))
            .collect();
        if (&before.strip, &before.strip_actions) != (&after.strip, &after.strip_actions) {
            let left = match after.strip_actions.join(", ") {
                none if none.is_empty() => none,
                actions => format!(" (by {actions})"),
            };
            differences.push(format!("strip {} -> {}{left}", before.strip, after.strip));
        }
        out.push_str(&format!("  {}: {}\n", visible(&reach.who), visible_lines(&differences.join(", "))));
    }
    out
}
