//! `--format markdown`: fit for a pull request's comment. Nothing that a file says may become markup, a mention or a
//! link here, and the whole stays below the length that a comment may have.

use super::ScanReport;
use super::group::{By, groups};
use super::summary;
use super::totals::{SEVERITIES, untold};
use super::words::{Part, choice, clip, parts_about, value, verdict, visible};
use crate::repo::inventory::{Knowable, LockMode};

/// GitHub takes 65,536 characters, GitLab more. The rest is room for the lines around the tables.
const LIMIT: usize = 60_000;

/// Characters of one value. A longer one is cut in the middle; `--format json` has it whole.
const VALUE: usize = 200;

/// A section of rows: written while they fit, counted when they do not.
struct Section<'a> {
    title: String,
    /// Folded away behind its title.
    folded: bool,
    header: &'a [&'a str],
    rows: Vec<Vec<String>>,
}

/// The report as Markdown. What matters most comes first, so that it is what fits.
pub fn render(report: &ScanReport<'_>, by: By) -> String {
    let mut out = String::from("## lockshift scan\n\n");
    for line in summary::lines(report) {
        out.push_str(&format!("- {line}\n"));
    }
    for section in
        [unread(report), findings(report), cannot_be_told(report), modules(report, by), strays(report)]
    {
        write(&mut out, &section);
    }
    out
}

fn write(out: &mut String, section: &Section<'_>) {
    if section.rows.is_empty() {
        return;
    }
    let title = format!("{} ({})", section.title, section.rows.len());
    if section.folded {
        out.push_str(&format!("\n<details><summary>{title}</summary>\n\n"));
    } else {
        out.push_str(&format!("\n### {title}\n\n"));
    }
    out.push_str(&format!("| {} |\n|{}\n", section.header.join(" | "), "---|".repeat(section.header.len())));
    let mut written = 0;
    for row in &section.rows {
        let line = format!("| {} |\n", row.join(" | "));
        // Characters are at most bytes, so this is on the safe side.
        if out.len() + line.len() > LIMIT {
            break;
        }
        out.push_str(&line);
        written += 1;
    }
    if written < section.rows.len() {
        out.push_str(&format!(
            "\n{} more left out: a comment has a limit. `--format json` has them all.\n",
            section.rows.len() - written
        ));
    }
    if section.folded {
        out.push_str("\n</details>\n");
    }
}

fn unread<'a>(report: &ScanReport<'_>) -> Section<'a> {
    let rows = report
        .unread()
        .map(|problem| {
            let place = problem.place.to_string();
            vec![problem.kind.id().to_owned(), code(&place), plain_about(&problem.message, &[&place])]
        })
        .collect();
    Section { title: "Could not be read".to_owned(), folded: false, header: &["kind", "place", "why"], rows }
}

fn findings<'a>(report: &ScanReport<'_>) -> Section<'a> {
    let mut rows = Vec::new();
    for severity in SEVERITIES {
        for finding in report.open().filter(|finding| finding.severity == severity) {
            let about = [finding.subject.as_str(), finding.place.file.as_str()];
            let help = finding.help.as_deref().map(|help| format!("<br>→ {}", plain_about(help, &about)));
            rows.push(vec![
                severity.as_str().to_owned(),
                code(&finding.rule),
                code(&finding.place.to_string()),
                format!("{}{}", plain_about(&finding.message, &about), help.unwrap_or_default()),
            ]);
        }
    }
    Section {
        title: "Findings".to_owned(),
        folded: false,
        header: &["severity", "rule", "place", "what"],
        rows,
    }
}

fn cannot_be_told<'a>(report: &ScanReport<'_>) -> Section<'a> {
    let rows = untold(report)
        .into_iter()
        .map(|entry| {
            let some: Vec<String> = entry.roots.iter().take(3).map(|root| code(root)).collect();
            let more = entry.roots.len() - some.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            vec![code(entry.setting), plain(entry.why), format!("{}{more}", some.join(", "))]
        })
        .collect();
    Section {
        title: "Can't be told".to_owned(),
        folded: true,
        header: &["setting", "why", "root modules"],
        rows,
    }
}

fn modules<'a>(report: &ScanReport<'_>, by: By) -> Section<'a> {
    if by != By::Root {
        return grouped(report, by);
    }
    let cell = |of: &Knowable<String>| match of {
        Knowable::Known(text) => code(text),
        other => value(other).to_owned(),
    };
    let mut rows = Vec::new();
    for root in &report.inventory.roots {
        for backend in &root.backends {
            let choice = choice(backend);
            rows.push(vec![
                code(&root.path),
                backend.mode.as_str().to_owned(),
                cell(&backend.bucket),
                cell(&backend.key),
                cell(&backend.dynamodb_table),
                if choice.is_empty() { "-".to_owned() } else { code(&choice) },
                verdict(root.versions.verdict).to_owned(),
            ]);
        }
    }
    let header = &["root module", "mode", "bucket", "key", "table", "with", "versions"];
    Section { title: "Effective backends".to_owned(), folded: true, header, rows }
}

fn grouped<'a>(report: &ScanReport<'_>, by: By) -> Section<'a> {
    let rows = groups(report.inventory, by)
        .into_iter()
        .map(|group| {
            let modes = LockMode::ALL
                .iter()
                .map(|mode| group.modes.get(mode).copied().unwrap_or_default().to_string());
            [code(&group.name), group.roots.to_string()].into_iter().chain(modes).collect()
        })
        .collect();
    let header = &["group", "root modules", "none", "dynamodb", "dual", "lockfile", "unknown"];
    Section { title: format!("By {}", by.as_str()), folded: false, header, rows }
}

fn strays<'a>(report: &ScanReport<'_>) -> Section<'a> {
    let readers = report.unsaid_readers().map(|reader| {
        let table = match (&reader.dynamodb_table, &reader.dynamodb_table_unknown) {
            (Some(table), _) => format!("names the table {}", code(table)),
            (None, Some(why)) => format!("its table can't be told: {}", plain(why)),
            (None, None) => "names no table".to_owned(),
        };
        vec!["reader".to_owned(), code(&reader.place.to_string()), table]
    });
    let sources = report.unsaid_sources().map(|source| {
        vec![source.kind.as_str().to_owned(), code(&source.place.to_string()), plain(&source.reason)]
    });
    let rows = readers.chain(sources).collect();
    Section {
        title: "Readers, and settings without a root module".to_owned(),
        folded: true,
        header: &["kind", "place", "what"],
        rows,
    }
}

/// A value as a code span inside a table cell: a `|` ends a cell even there, so it is escaped (GitHub's table
/// extension).
pub(super) fn code(text: &str) -> String {
    span(text).replace('|', "\\|")
}

/// A value as a code span outside of tables: no markup, mention or link is read in it, and its fence is longer than
/// any row of backticks in it.
pub(super) fn span(text: &str) -> String {
    whole(&clip(text, VALUE))
}

/// [`span`] that is never shortened: for commands, which have to be copied whole.
pub(super) fn whole(text: &str) -> String {
    let shown = visible(text);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad =
        if shown.starts_with('`') || shown.ends_with('`') || shown.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

/// Text as text: every character that could begin markup is escaped, mentions and issue references are split by an
/// empty comment, since they are found after the escapes are undone. Names in backticks stay code spans.
pub(super) fn plain(text: &str) -> String {
    plain_about(text, &[])
}

/// [`plain`] of a message about `names`, whose own backticks stay.
pub(super) fn plain_about(text: &str, names: &[&str]) -> String {
    let markdown = |part| match part {
        Part::Words(words) => literal(words),
        Part::Name(name) => code(name),
    };
    parts_about(text, names).into_iter().map(markdown).collect()
}

/// Text in which a backtick is a backtick: names that nobody put into any.
pub(super) fn literal(text: &str) -> String {
    escaped(&visible(text))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' | '#' => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // Bare addresses become links even so; split ones do not.
    out.replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn markdown_of_the_sample() {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        insta::assert_snapshot!(render(&ScanReport::new(&inventory, &findings), By::Root));
    }

    #[test]
    fn groups_take_the_place_of_the_rows() {
        let inventory = sample::inventory();
        let out = render(&ScanReport::new(&inventory, &[]), By::Table);
        assert!(out.contains("### By table (3)\n"), "{out}");
        assert!(out.contains("| `locks` | 1 | 0 | 1 | 1 | 0 | 0 |\n"), "{out}");
        assert!(!out.contains("Effective backends"), "{out}");
    }

    #[test]
    fn nothing_becomes_markup_a_mention_or_a_link() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("`x``y"), "``` `x``y ```");
        assert_eq!(
            plain("set `use_lockfile = true` for @me, see #1"),
            "set `use_lockfile = true` for @<!-- -->me, see #<!-- -->1"
        );
        assert_eq!(plain("odd ` <b> [x](y)"), "odd \\` &lt;b&gt; \\[x\\](y)");
        assert_eq!(plain("at http://e/x: no"), "at http:<!-- -->//e/x: no");
        assert_eq!(plain("a``b"), "a\\`\\`b");
        assert_eq!(plain("`a`b` is"), "``a`b`` is");
        assert_eq!(plain_about("`a` `b` is", &["a` `b"]), "\\`a\\` \\`b\\` is");
        assert_eq!(literal("`a`.tflock"), "\\`a\\`.tflock");
        let (inventory, findings) = sample::hostile();
        let out = render(&ScanReport::new(&inventory, &findings), By::Root);
        assert_eq!(out.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), None);
        // Each row keeps its number of cells: an unescaped bar would add one.
        for line in out.lines().filter(|line| line.starts_with("| ")) {
            let bars = line.replace("\\|", "").matches('|').count();
            assert!([4, 5, 8].contains(&bars), "{bars}: {line}");
        }
    }

    #[test]
    fn a_long_report_stays_below_the_limit_and_says_so() {
        let mut inventory = sample::inventory();
        let root = inventory.roots[0].clone();
        inventory.roots =
            (0..3_000).map(|n| sample::root(&format!("envs/{n:04}"), root.backends.clone())).collect();
        let out = render(&ScanReport::new(&inventory, &[]), By::Root);
        assert!(out.len() < 65_000, "{}", out.len());
        assert!(out.contains(" more left out: a comment has a limit."), "the cut is not said");
        assert!(out.ends_with("</details>\n"));
    }
}
