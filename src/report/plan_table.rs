//! A migration plan for people: a table of root modules (`migrate --format table`), and the summary that goes to
//! stderr beside a diff. Everything from files goes through [`super::words`].

use super::columns::{self, Item};
use super::palette::Palette;
use super::words::{clip, count, visible, visible_lines};
use crate::migrate::phase::Phase;
use crate::migrate::plan::Plan;
use crate::repo::inventory::LockMode;
use crate::repo::secret::without_secret_values;

/// How to lay it out.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions {
    /// Width of the terminal; none where there is none: nothing is cut then.
    pub width: Option<u16>,
    /// Colours.
    pub colour: bool,
}

/// Characters of one name on a terminal; elsewhere names stay whole.
const VALUE: usize = 120;

/// Entries of a list of names on the screen.
const NAMES: usize = 20;

/// One row for each root module that changes.
pub fn table(plan: &Plan, options: PlanOptions) -> String {
    if plan.roots.is_empty() && plan.files.is_empty() {
        return "Nothing to change.\n".to_owned();
    }
    let palette = Palette { colour: options.colour };
    let cut = |text: &str| {
        let shown = visible(text);
        if options.width.is_some() { clip(&shown, VALUE).into_owned() } else { shown.into_owned() }
    };
    let mut rows: Vec<[Item; 4]> = Vec::new();
    for root in &plan.roots {
        let files: Vec<String> = root.files.iter().map(|file| cut(file)).collect();
        rows.push([cut(&root.path).into(), modes(&root.before), modes(&root.after), files.join(" ").into()]);
    }
    let readers: Vec<String> =
        plan.files.iter().filter(|file| file.roots.is_empty()).map(|file| cut(&file.file)).collect();
    if !readers.is_empty() {
        let none = || Item::from("-".to_owned());
        rows.push(["(readers)".to_owned().into(), none(), none(), readers.join(" ").into()]);
    }
    let header = ["root", "before", "after", "files"];
    let listed = |[root, before, after, files]: &[Item; 4]| {
        let told = [("before", before), ("after", after), ("files", files)]
            .map(|(name, item)| (name, item.text().to_owned()));
        columns::listed(root.text(), &told, options.width, palette)
    };
    let as_rows: Vec<Vec<Item>> = rows.iter().map(|row| row.to_vec()).collect();
    columns::table(&header, &as_rows, options.width, palette)
        .unwrap_or_else(|| rows.iter().map(listed).collect())
}

fn modes(modes: &[LockMode]) -> Item {
    let mut words: Vec<LockMode> = modes.to_vec();
    words.sort();
    words.dedup();
    let text: Vec<&str> = words.iter().map(|mode| mode.as_str()).collect();
    match words.as_slice() {
        [mode] => Item::coloured(text.join(", "), Palette::mode_cell(*mode)),
        _ => text.join(", ").into(),
    }
}

/// What a plan comes to: refusals with gate, place and reason, manual steps, waived gates, what is not touched, and
/// the counts.
pub fn summary(plan: &Plan, colour: bool) -> String {
    let palette = Palette { colour };
    let mut parts = Vec::new();
    if !plan.refusals.is_empty() {
        let mut text = format!("{}\n", palette.bold(&format!("Refused ({})", plan.refusals.len())));
        for refusal in &plan.refusals {
            text.push_str(&format!(
                "  {} {}\n    {}:{}: {}\n    help: lockshift explain {}\n",
                palette.bold(&visible(&refusal.root)),
                visible(&refusal.gate),
                visible(&refusal.file),
                refusal.line,
                visible(&refusal.reason),
                visible(&refusal.gate),
            ));
        }
        parts.push(text);
    }
    if !plan.manual.is_empty() {
        let mut text = format!("{}\n", palette.bold(&format!("By hand ({})", plan.manual.len())));
        for step in &plan.manual {
            text.push_str(&format!("  {}:{}: {}\n", visible(&step.file), step.line, visible(&step.reason)));
            for line in visible_lines(&step.write).lines() {
                text.push_str(&format!("    | {line}\n"));
            }
        }
        parts.push(text);
    }
    if !plan.waived.is_empty() {
        let mut text = format!("{}\n", palette.bold("Waived"));
        for waived in &plan.waived {
            text.push_str(&format!(
                "  {} ({}): {}\n",
                visible(&waived.gate),
                count(waived.roots.len(), "root module", "root modules"),
                visible(&waived.reason)
            ));
        }
        parts.push(text);
    }
    if !plan.unlocked.is_empty() {
        parts.push(format!(
            "{}\n{}  help: --include-unlocked gives them the lockfile\n",
            palette.bold(&format!("Without any lock, not touched ({})", plan.unlocked.len())),
            names(&plan.unlocked)
        ));
    }
    parts.push(counts(plan));
    parts.join("\n")
}

fn names(list: &[String]) -> String {
    let mut out: String = list.iter().take(NAMES).map(|name| format!("  {}\n", visible(name))).collect();
    if let Some(more) = list.len().checked_sub(NAMES).filter(|more| *more > 0) {
        out.push_str(&format!("  and {more} more (--format json has all)\n"));
    }
    out
}

fn counts(plan: &Plan) -> String {
    let what = match plan.phase {
        Phase::Dual => "to take both locks",
        Phase::Final => "to take the lockfile alone",
        Phase::Rollback => "to go one step back",
    };
    let unlocked = plan.roots.iter().filter(|root| root.was_unlocked()).count();
    let modules = |n: usize| count(n, "root module", "root modules");
    let taken = match plan.roots.len() - unlocked {
        locked if unlocked == 0 || plan.phase == Phase::Final => {
            format!("{} {what}", modules(locked + unlocked))
        }
        0 => format!("{} to take the lockfile alone", modules(unlocked)),
        locked => format!("{} {what}, {unlocked} to take the lockfile alone", modules(locked)),
    };
    let mut roots: Vec<&str> = plan.refusals.iter().map(|refusal| refusal.root.as_str()).collect();
    roots.sort_unstable();
    roots.dedup();
    format!(
        "{taken}, {}; {} refused, {} done before, {}.\n",
        count(plan.files.len(), "file changes", "files change"),
        roots.len(),
        plan.done.len(),
        count(plan.manual.len(), "step by hand", "steps by hand"),
    )
}

/// A diff as a terminal shows it: nothing in it acts there, and lines that name a secret end before it. It is for
/// reading; what is applied goes through a pipe.
pub fn screen_diff(diff: &[u8], colour: bool) -> String {
    let palette = Palette { colour };
    let mut out = String::with_capacity(diff.len() + 64);
    for line in String::from_utf8_lossy(diff).lines() {
        // Tabs indent, and the carriage return of a CRLF file would only be noise.
        let line = without_secret_values(line.trim_end_matches('\r'));
        let shown = line.split('\t').map(visible).collect::<Vec<_>>().join("\t");
        out.push_str(&match shown.as_bytes().first() {
            _ if shown.starts_with("diff --git ")
                || shown.starts_with("+++ ")
                || shown.starts_with("--- ") =>
            {
                palette.bold(&shown)
            }
            Some(b'+') => palette.added(&shown),
            Some(b'-') => palette.removed(&shown),
            Some(b'@') => palette.dim(&shown),
            _ => shown,
        });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_on_a_terminal_acts_not_and_tells_no_secret() {
        let diff =
            b"--- a/main.tf\n@@ -1 +1 @@\n     secret_key     = \"s3cr3t\"\n-    x = \"\x1b[2J\"\r\n+\ty\n";
        assert_eq!(
            screen_diff(diff, false),
            "--- a/main.tf\n@@ -1 +1 @@\n     secret_key     = (not shown: it names a secret)\n-    x = \"\\u{1b}[2J\"\n+\ty\n"
        );
    }
}
