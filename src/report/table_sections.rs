//! The sections below the table: findings, problems, what can't be told, settings without a root module, readers,
//! lock tables, and the summary. Each is empty when there is nothing to say.

use super::ScanReport;
use super::palette::Palette;
use super::totals::{self, SEVERITIES};
use super::words::visible;
use crate::finding::Finding;

/// Root modules named for one reason; the rest is counted. The JSON form names all.
const NAMED: usize = 5;

fn heading(out: &mut String, palette: Palette, title: &str) {
    out.push_str(&palette.bold(title));
    out.push('\n');
}

/// Findings by severity, then rule, each at its place. Help that several findings of a rule share is said once.
pub fn findings(report: &ScanReport<'_>, palette: Palette) -> String {
    let mut out = String::new();
    for severity in SEVERITIES {
        let mut rules: Vec<(&str, Vec<&Finding>)> = Vec::new();
        for finding in report.open().filter(|finding| finding.severity == severity) {
            match rules.iter_mut().find(|(rule, _)| *rule == finding.rule) {
                Some((_, group)) => group.push(finding),
                None => rules.push((&finding.rule, vec![finding])),
            }
        }
        rules.sort_by_key(|(rule, _)| *rule);
        for (rule, group) in rules {
            if out.is_empty() {
                heading(&mut out, palette, "Findings");
            }
            let word = palette.severity(severity, severity.as_str());
            out.push_str(&format!("  {word} {}\n", palette.bold(&visible(rule))));
            let shared =
                group.windows(2).all(|pair| pair.first().map(|f| &f.help) == pair.last().map(|f| &f.help));
            for finding in &group {
                out.push_str(&format!(
                    "    {}: {}\n",
                    visible(&finding.place.to_string()),
                    visible(&finding.message)
                ));
                if !shared {
                    help(&mut out, finding, palette);
                }
            }
            if shared && let Some(finding) = group.first() {
                help(&mut out, finding, palette);
            }
        }
    }
    out
}

fn help(out: &mut String, finding: &Finding, palette: Palette) {
    if let Some(help) = &finding.help {
        out.push_str(&format!("    {} {}\n", palette.dim("help:"), visible(help)));
    }
}

/// What could not be read.
pub fn unread(report: &ScanReport<'_>, palette: Palette) -> String {
    section(palette, "Could not be read", report.unread(), |problem| {
        let excerpt = problem.excerpt.as_ref().map(|excerpt| format!("\n{excerpt}")).unwrap_or_default();
        format!(
            "{}: {}: {}{}",
            visible(&problem.place.to_string()),
            problem.kind.id(),
            visible(&problem.message),
            // As far in as the line above it.
            excerpt.replace('\n', "\n  ")
        )
    })
}

/// Settings that only a run can tell, equal reasons together.
pub fn untold(report: &ScanReport<'_>, palette: Palette) -> String {
    section(palette, "Can't be told", totals::untold(report), |entry| {
        let named: Vec<_> = entry.roots.iter().take(NAMED).map(|root| visible(root)).collect();
        let more = entry.roots.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}: {} (in {}{more})", entry.setting, visible(entry.why), named.join(", "))
    })
}

/// Sources that could not be given to a root module.
pub fn unattributed(report: &ScanReport<'_>, palette: Palette) -> String {
    section(palette, "Settings without a root module", report.unsaid_sources(), |source| {
        let table = source.dynamodb_table.as_deref().map(|table| format!(", table {}", visible(table)));
        format!(
            "{}: {}, {}{}: {}",
            visible(&source.place.to_string()),
            source.kind.as_str(),
            source.mode.as_str(),
            table.unwrap_or_default(),
            visible(&source.reason)
        )
    })
}

/// Remote-state readers: they take no lock, but those that name a table fail once it goes stale.
pub fn readers(report: &ScanReport<'_>, palette: Palette) -> String {
    section(palette, "Remote-state readers", report.unsaid_readers(), |reader| {
        let table = match (&reader.dynamodb_table, &reader.dynamodb_table_unknown) {
            (Some(table), _) => format!("names the table {}", visible(table)),
            (None, Some(why)) => format!("its table can't be told: {}", visible(why)),
            (None, None) => "names no table".to_owned(),
        };
        let from = match (&reader.bucket, &reader.key) {
            (Some(bucket), Some(key)) => format!(" from {}/{}", visible(bucket), visible(key)),
            (Some(bucket), None) => format!(" from {}", visible(bucket)),
            (None, _) => String::new(),
        };
        format!("{}: {}{from}: {table}", visible(&reader.place.to_string()), visible(&reader.name))
    })
}

/// Lock tables that code here declares.
pub fn lock_tables(report: &ScanReport<'_>, palette: Palette) -> String {
    section(palette, "Lock tables in code", report.unsaid_tables(), |table| {
        let name = table.name.as_deref().map_or_else(|| "name not known".into(), visible);
        format!("{}: {} ({name})", visible(&table.place.to_string()), visible(&table.address))
    })
}

/// The last lines.
pub fn summary(report: &ScanReport<'_>, palette: Palette) -> String {
    let mut out = String::new();
    heading(&mut out, palette, "Summary");
    for line in super::summary::lines(report) {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

fn section<T>(
    palette: Palette,
    title: &str,
    entries: impl IntoIterator<Item = T>,
    line: impl Fn(&T) -> String,
) -> String {
    let mut out = String::new();
    for entry in entries {
        if out.is_empty() {
            heading(&mut out, palette, title);
        }
        out.push_str(&format!("  {}\n", line(&entry)));
    }
    out
}
