//! `--format table`: for people. The table of root modules, or of groups, and the sections below it
//! (`table_sections`). Everything that comes from a file goes through [`super::words::visible`].

use super::ScanReport;
use super::columns::{Item, folded, listed, table};
use super::group::{By, Group, groups};
use super::palette::Palette;
use super::table_sections;
use super::words::{choice, clip, value, verdict, visible};
use crate::repo::inventory::{EffectiveBackend, LockMode, RootModule, VersionVerdict};

/// Characters of one value on a terminal; elsewhere values stay whole.
const VALUE: usize = 120;

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
    let mut below = Vec::new();
    below.push(table_sections::findings(report, palette));
    below.push(table_sections::unread(report, palette));
    if !options.quiet {
        below.push(table_sections::untold(report, palette));
        below.push(table_sections::unattributed(report, palette));
        below.push(table_sections::readers(report, palette));
        below.push(table_sections::lock_tables(report, palette));
    }
    below.push(table_sections::summary(report, palette));
    parts.extend(below.iter().map(|part| folded(part, options.width)));
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

    let palette = Palette { colour: options.colour };
    let row = |(root, backend): (&RootModule, &EffectiveBackend)| {
        let mut row = vec![
            text(&name(root), options).into(),
            Item::coloured(backend.mode.as_str().to_owned(), Palette::mode_cell(backend.mode)),
            text(value(&backend.bucket), options).into(),
            text(value(&backend.key), options).into(),
            text(value(&backend.dynamodb_table), options).into(),
        ];
        if with_choice {
            let choice = choice(backend);
            row.push(text(if choice.is_empty() { "-" } else { &choice }, options).into());
        }
        row.push(versions(root).into());
        row
    };
    let rows: Vec<Vec<Item>> = all().map(row).collect();
    table(&header, &rows, options.width, palette)
        .unwrap_or_else(|| all().map(|(root, backend)| stacked(root, backend, options)).collect())
}

/// One effective backend on lines of its own, absent settings left out.
fn stacked(root: &RootModule, backend: &EffectiveBackend, options: TableOptions) -> String {
    let (choice, versions) = (choice(backend), versions(root));
    let lines = [
        ("mode", backend.mode.as_str()),
        ("bucket", value(&backend.bucket)),
        ("key", value(&backend.key)),
        ("table", value(&backend.dynamodb_table)),
        ("with", if choice.is_empty() { "-" } else { &choice }),
        ("versions", versions.as_str()),
    ];
    let told: Vec<(&str, String)> = lines
        .into_iter()
        .filter(|(_, value)| *value != "-")
        .map(|(name, value)| (name, text(value, options)))
        .collect();
    listed(&text(&name(root), options), &told, options.width, Palette { colour: options.colour })
}

fn grouped(report: &ScanReport<'_>, by: By, options: TableOptions) -> String {
    let palette = Palette { colour: options.colour };
    let mut header = vec![by.as_str(), "root modules"];
    header.extend(LockMode::ALL.map(LockMode::as_str));
    let groups = groups(report.inventory, by);
    let of = |group: &Group, mode: LockMode| group.modes.get(&mode).copied().unwrap_or_default();
    let row = |group: &Group| {
        let mut row = vec![text(&group.name, options).into(), group.roots.to_string().into()];
        row.extend(LockMode::ALL.map(|mode| match of(group, mode) {
            0 => "-".to_owned().into(),
            n => Item::coloured(n.to_string(), Palette::mode_cell(mode)),
        }));
        row
    };
    let rows: Vec<Vec<Item>> = groups.iter().map(row).collect();
    let stacked = |group: &Group| {
        let modes = LockMode::ALL.map(|mode| (of(group, mode), mode)).into_iter().filter(|(n, _)| *n > 0);
        let modes: Vec<String> = modes.map(|(n, mode)| format!("{n} {}", mode.as_str())).collect();
        let told = [("root modules", group.roots.to_string()), ("lock modes", modes.join(", "))];
        listed(&text(&group.name, options), &told, options.width, palette)
    };
    table(&header, &rows, options.width, palette).unwrap_or_else(|| groups.iter().map(stacked).collect())
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

/// Safe to show, and on a terminal not without end.
fn text(value: &str, options: TableOptions) -> String {
    let shown = visible(value);
    if options.width.is_some() { clip(&shown, VALUE).into_owned() } else { shown.into_owned() }
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

    /// Whatever the width: no line is wider, no word of a value is broken, and all values are there.
    #[test]
    fn no_word_is_broken_at_any_width() {
        let path = "teams/payments-platform/environments/production";
        let key = "payments-platform/production/terraform.tfstate";
        let arn = "arn:aws:dynamodb:eu-west-1:111122223333:table/acme-terraform-locks";
        let mut root =
            sample::root(path, vec![sample::backend("m.tf", "acme-terraform-state", key, arn, true)]);
        root.owners = vec!["@acme/payments-platform".to_owned()];
        let inventory = Inventory { roots: vec![root], ..Inventory::default() };
        let report = ScanReport::new(&inventory, &[]);
        let words: Vec<&str> =
            [path, key, arn].iter().flat_map(|value| value.split_inclusive(['/', ':'])).collect();
        for width in 50..=200 {
            let out = render(&report, TableOptions { width: Some(width), ..TableOptions::default() });
            let first = out.split_once("\n\n").unwrap().0;
            for line in first.lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
            for word in &words {
                assert!(first.contains(word), "{word} is broken at {width}:\n{first}");
            }
            for by in [By::Mode, By::Owner, By::Table] {
                let out = render(&report, TableOptions { width: Some(width), by, ..TableOptions::default() });
                let first = out.split_once("\n\n").unwrap().0;
                let name = match by {
                    By::Mode => "dual",
                    By::Owner => "payments-platform",
                    _ => "acme-terraform-locks",
                };
                assert!(first.contains(name), "{width}: {first}");
                assert!(first.lines().all(|line| line.chars().count() <= usize::from(width)), "{first}");
            }
        }
    }

    #[test]
    fn groups_without_room_for_columns_stand_below_each_other() {
        let out = shown(TableOptions { width: Some(50), by: By::Owner, ..TableOptions::default() });
        let first = out.split_once("\n\n").unwrap().0;
        assert_eq!(
            first,
            "@acme/platform\n  root modules 1\n  lock modes   1 lockfile\n@acme/web\n  root modules 2\n  \
             lock modes   1 dynamodb, 1 dual, 1 lockfile\n(none)\n  root modules 2\n  lock modes   1 none, 1 unknown"
        );
    }

    #[test]
    fn prose_goes_on_below_its_beginning() {
        let out = shown(TableOptions { width: Some(60), ..TableOptions::default() });
        let findings = out.split_once("Findings\n").unwrap().1;
        assert!(findings.lines().all(|line| line.chars().count() <= 60), "{findings}");
    }

    #[test]
    fn no_raw_control_reaches_a_terminal() {
        let (inventory, findings) = sample::hostile();
        let out = render(&ScanReport::new(&inventory, &findings), TableOptions::default());
        assert_eq!(out.find(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), None);
        assert!(out.contains("\\u{1b}[2J"));
    }
}
