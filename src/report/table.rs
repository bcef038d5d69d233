//! `--format table`: for people. The table of root modules, or of groups, and the sections below it
//! (`table_sections`). Everything that comes from a file goes through [`super::words::visible`].

use comfy_table::{Attribute, Cell, ContentArrangement, LineStyle, Table, TableStyle};

use super::ScanReport;
use super::group::{By, groups};
use super::palette::Palette;
use super::table_sections;
use super::words::{choice, clip, value, verdict, visible};
use crate::repo::inventory::{EffectiveBackend, LockMode, RootModule, VersionVerdict};

/// Characters of one value on a terminal; elsewhere values stay whole.
const VALUE: usize = 64;

/// Terminals with fewer columns get one root module below the other instead of a table: cells would be a few letters wide.
const NARROW: u16 = 80;

/// How the table is laid out.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableOptions {
    /// Width of the terminal; none where it is not one: then nothing is wrapped or cut.
    pub width: Option<u16>,
    /// Whether to colour.
    pub colour: bool,
    /// What root modules are put together by.
    pub by: By,
    /// Only what needs doing: findings, what could not be read, and the summary.
    pub quiet: bool,
}

/// The report for people.
pub fn render(report: &ScanReport<'_>, options: TableOptions) -> String {
    let palette = Palette { colour: options.colour };
    let mut parts = Vec::new();
    if !options.quiet && !report.inventory.roots.is_empty() {
        parts.push(match options.by {
            By::Root => roots(report, options),
            by => grouped(report, by, options),
        });
    }
    parts.push(table_sections::findings(report, palette));
    parts.push(table_sections::unread(report, palette));
    if !options.quiet {
        parts.push(table_sections::untold(report, palette));
        parts.push(table_sections::unattributed(report, palette));
        parts.push(table_sections::readers(report, palette));
        parts.push(table_sections::lock_tables(report, palette));
    }
    parts.push(table_sections::summary(report, palette));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// One row for each effective backend. The column `with` (engine, backend-config) is there only where some
/// root module can be read in more than one way.
fn roots(report: &ScanReport<'_>, options: TableOptions) -> String {
    let all =
        || report.inventory.roots.iter().flat_map(|root| root.backends.iter().map(move |one| (root, one)));
    let with_choice = all().any(|(_, backend)| !choice(backend).is_empty());
    let mut header = vec!["root", "mode", "bucket", "key", "table"];
    if with_choice {
        header.push("with");
    }
    header.push("versions");

    if let Some(width) = options.width.filter(|width| *width < NARROW) {
        return all().map(|(root, backend)| stacked(root, backend, usize::from(width), options)).collect();
    }
    let mut table = new_table(&header, options);
    for (root, backend) in all() {
        let mut row = vec![
            text(&name(root), options),
            mode(backend.mode, options),
            text(value(&backend.bucket), options),
            text(value(&backend.key), options),
            text(value(&backend.dynamodb_table), options),
        ];
        if with_choice {
            let choice = choice(backend);
            row.push(text(if choice.is_empty() { "-" } else { &choice }, options));
        }
        row.push(Cell::new(versions(root)));
        table.add_row(row);
    }
    finished(&table)
}

/// One effective backend on lines of its own, absent settings left out.
fn stacked(root: &RootModule, backend: &EffectiveBackend, width: usize, options: TableOptions) -> String {
    let palette = Palette { colour: options.colour };
    let name = name(root);
    let mut out = format!("{}\n", palette.bold(&clip(&visible(&name), width)));
    let (choice, versions) = (choice(backend), versions(root));
    let lines = [
        ("mode", backend.mode.as_str()),
        ("bucket", value(&backend.bucket)),
        ("key", value(&backend.key)),
        ("table", value(&backend.dynamodb_table)),
        ("with", if choice.is_empty() { "-" } else { &choice }),
        ("versions", versions.as_str()),
    ];
    for (name, value) in lines.into_iter().filter(|(_, value)| *value != "-") {
        let room = width.saturating_sub(2 + 8 + 2);
        out.push_str(&format!(
            "  {} {}\n",
            palette.dim(&format!("{name:8}")),
            clip(&visible(value), room.max(8))
        ));
    }
    out
}

fn grouped(report: &ScanReport<'_>, by: By, options: TableOptions) -> String {
    let mut header = vec![by.as_str(), "root modules"];
    header.extend(LockMode::ALL.map(LockMode::as_str));
    let mut table = new_table(&header, options);
    for group in groups(report.inventory, by) {
        let mut row = vec![text(&group.name, options), Cell::new(group.roots)];
        for mode in LockMode::ALL {
            let n = group.modes.get(&mode).copied().unwrap_or_default();
            let cell = Cell::new(if n == 0 { "-".to_owned() } else { n.to_string() });
            row.push(if n > 0 && options.colour { cell.fg(Palette::mode_cell(mode)) } else { cell });
        }
        table.add_row(row);
    }
    finished(&table)
}

/// The path, and where a link leads: what is edited stands there.
fn name(root: &RootModule) -> String {
    match &root.link_of {
        Some(target) => format!("{} -> {target}", root.path),
        None => root.path.clone(),
    }
}

/// The verdict, and the nearest evidence for it.
fn versions(root: &RootModule) -> String {
    let word = match root.versions.verdict {
        // Nothing to say twice: there is no evidence to show.
        VersionVerdict::Unknown if root.versions.evidence.is_empty() => return "-".to_owned(),
        other => verdict(other),
    };
    match root.versions.evidence.first() {
        Some(evidence) => format!("{word} ({})", visible(&clip(&evidence.text, 24))),
        None => word.to_owned(),
    }
}

fn new_table(header: &[&str], options: TableOptions) -> Table {
    let mut table = Table::new();
    // Only what was asked for decides, never the stream that the text may end up in.
    table.force_no_tty();
    if options.colour {
        table.enforce_styling();
    }
    if let Some(width) = options.width {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
    table.set_header(header.iter().map(|name| {
        let cell = Cell::new(name.to_uppercase());
        if options.colour { cell.add_attribute(Attribute::Bold) } else { cell }
    }));
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table
}

/// The table's lines without blanks at their ends.
fn finished(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn text(value: &str, options: TableOptions) -> Cell {
    let shown = visible(value);
    Cell::new(if options.width.is_some() { clip(&shown, VALUE) } else { shown })
}

fn mode(mode: LockMode, options: TableOptions) -> Cell {
    let cell = Cell::new(mode.as_str());
    if options.colour { cell.fg(Palette::mode_cell(mode)) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::Inventory;
    use crate::report::sample;

    fn shown(options: TableOptions) -> String {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        render(&ScanReport::new(&inventory, &findings), options)
    }

    #[test]
    fn the_whole_screen() {
        insta::assert_snapshot!(shown(TableOptions::default()));
    }

    #[test]
    fn grouped_by_owner() {
        insta::assert_snapshot!(
            shown(TableOptions { by: By::Owner, ..TableOptions::default() }).split("\n\n").next().unwrap()
        );
    }

    #[test]
    fn quiet_leaves_what_needs_doing() {
        insta::assert_snapshot!(shown(TableOptions { quiet: true, ..TableOptions::default() }));
    }

    #[test]
    fn nothing_is_said_twice() {
        let (inventory, mut findings) = (sample::inventory(), sample::findings());
        let mut finding = findings.remove(0);
        finding.place = inventory.unattributed[0].place.clone();
        let said = [finding.clone()];
        let out = render(&ScanReport::new(&inventory, &said), TableOptions::default());
        assert_eq!(out.matches("templates/backend.tf.j2").count(), 1, "{out}");
        // An ignored finding is not shown, so the source must be.
        finding.ignored = Some("why".to_owned());
        let ignored = [finding];
        let out = render(&ScanReport::new(&inventory, &ignored), TableOptions::default());
        assert!(out.contains("Settings without a root module\n  templates/backend.tf.j2"), "{out}");
    }

    #[test]
    fn colour_only_when_asked_for() {
        assert!(!shown(TableOptions::default()).contains('\u{1b}'));
        let coloured = shown(TableOptions { colour: true, ..TableOptions::default() });
        assert!(coloured.contains("\u{1b}[38;5;10mlockfile"), "{coloured:?}");
    }

    #[test]
    fn a_narrow_terminal_is_not_overrun_and_elsewhere_nothing_is_cut() {
        let key = "k".repeat(300);
        let inventory = Inventory {
            roots: vec![sample::root("envs/prod", vec![sample::backend("m.tf", "b", &key, "", true)])],
            ..Inventory::default()
        };
        let report = ScanReport::new(&inventory, &[]);
        let narrow = render(&report, TableOptions { width: Some(60), ..TableOptions::default() });
        let table: Vec<&str> = narrow.lines().take_while(|line| !line.is_empty()).collect();
        assert!(table.iter().all(|line| line.chars().count() <= 60), "{narrow}");
        assert!(narrow.contains('…'));
        assert!(render(&report, TableOptions::default()).contains(&key));
    }

    #[test]
    fn a_very_narrow_terminal_has_no_columns() {
        let out = shown(TableOptions { width: Some(40), ..TableOptions::default() });
        let first = out.split_once("\n\n").unwrap().0;
        assert!(first.lines().all(|line| line.chars().count() <= 40), "{first}");
        assert!(first.starts_with("apps/web\n  mode     dual\n  bucket   tf-dev\n"), "{first}");
        assert!(!first.contains(" -\n"), "{first}");
    }

    #[test]
    fn no_raw_control_reaches_a_terminal() {
        let (inventory, findings) = sample::hostile();
        let out = render(&ScanReport::new(&inventory, &findings), TableOptions::default());
        assert_eq!(out.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), None);
        assert!(out.contains("\\u{1b}[2J"));
    }
}
