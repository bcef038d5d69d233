//! Runs all rules and applies what the repository decides: severities, ignores in the configuration and inline.
//! No rule is judged here, save those about ignores, which only exist once ignores are applied.

use std::collections::{BTreeMap, BTreeSet};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;

use super::ignores::{IGNORE_EXPIRED, IGNORE_UNUSED};
use super::{ALL, Check};
use crate::config::{Config, Date, Ignore};
use crate::finding::Finding;
use crate::repo::inventory::Inventory;

/// Everything that the rules say about an inventory, sorted by place, then rule. `today` decides which of the
/// configuration's ignores have expired.
///
/// An ignored finding stays, with its reason; a rule that is switched off says nothing.
pub fn check(inventory: &Inventory, config: &Config, today: Date) -> Vec<Finding> {
    let said: Vec<Vec<Finding>> = ALL
        .par_iter()
        .map(|rule| match rule.check {
            Check::Inventory(check) => check(inventory),
            _ => Vec::new(),
        })
        .collect();
    let mut findings: Vec<Finding> = said.into_iter().flatten().collect();
    findings.extend(expired(config, today));

    let inline = Inline::of(inventory);
    let mut used = BTreeSet::new();
    for finding in &mut findings {
        if let Some((index, reason)) = inline.covering(finding) {
            used.insert(index);
            finding.ignored = Some(reason.to_owned());
        } else {
            let ignore = config
                .ignores
                .iter()
                .find(|ignore| !ignore.is_expired(today) && ignore.covers(&config.home, finding));
            finding.ignored = ignore.map(|ignore| ignore.reason.clone());
        }
    }
    findings.extend(unused(inventory, &used));

    findings.retain_mut(|finding| match config.rules.get(&finding.rule) {
        None => true,
        Some(setting) => match setting.severity {
            None => false,
            Some(severity) => {
                finding.severity = severity;
                true
            }
        },
    });
    findings.par_sort_by(|a, b| {
        (&a.place, &a.rule, &a.subject, &a.message).cmp(&(&b.place, &b.rule, &b.subject, &b.message))
    });
    // Two backends of one root module can say the very same, word for word.
    findings.dedup();
    findings
}

fn expired(config: &Config, today: Date) -> impl Iterator<Item = Finding> {
    // What only an audit can need, an audit speaks of.
    let ours = config.ignores.iter().filter(|ignore| !ignore.is_for_audit());
    ours.filter_map(move |ignore| expiry(ignore, today))
}

/// What there is to say of an ignore whose last day is over.
pub fn expiry(ignore: &Ignore, today: Date) -> Option<Finding> {
    let last = ignore.expires.filter(|_| ignore.is_expired(today))?;
    let globs = ignore.globs();
    let message = format!("the ignore of `{}` in `{globs}` expired on {last}", ignore.rule);
    let help = "mend what it hid, or give it a new date and a reason that still holds".to_owned();
    let finding = IGNORE_EXPIRED.finding(globs, ignore.place.clone(), message);
    Some(Finding { help: Some(help), ..finding })
}

/// Ignores that could have silenced something and did not.
fn unused<'a>(inventory: &'a Inventory, used: &'a BTreeSet<usize>) -> impl Iterator<Item = Finding> + 'a {
    inventory
        .ignores
        .iter()
        .enumerate()
        .filter(|(index, ignore)| {
            let works = !ignore.reason.trim().is_empty() && super::find(&ignore.rule).is_some();
            works && !used.contains(index)
        })
        .map(|(_, ignore)| {
            let message = format!("there is no `{}` here for it to silence", ignore.rule);
            let help = "remove it, or move it to the line that the finding names".to_owned();
            let finding = IGNORE_UNUSED.finding(&ignore.place.file, ignore.place.clone(), message);
            Finding { help: Some(help), ..finding }
        })
}

/// Inline ignores by file and rule. One covers its own line and the next; where a backend (or any other source)
/// begins on one of these, it covers all of that source's settings.
struct Inline<'a> {
    at: BTreeMap<(&'a str, &'a str), Vec<Cover<'a>>>,
}

/// Lines that one ignore covers, both included.
struct Cover<'a> {
    first: usize,
    last: usize,
    index: usize,
    reason: &'a str,
}

impl<'a> Inline<'a> {
    fn of(inventory: &'a Inventory) -> Self {
        let mut at: BTreeMap<_, Vec<Cover<'a>>> = BTreeMap::new();
        if inventory.ignores.is_empty() {
            return Self { at };
        }
        // The last line with a setting, for each line on which a source begins.
        let mut ends: BTreeMap<(&str, usize), usize> = BTreeMap::new();
        for source in &inventory.sources {
            let last = source.settings.iter().map(|setting| setting.at.line).max().unwrap_or_default();
            let end = ends.entry((source.place.file.as_str(), source.place.line)).or_default();
            *end = last.max(*end);
        }
        for (index, it) in inventory.ignores.iter().enumerate() {
            let reason = it.reason.trim();
            if reason.is_empty() {
                continue;
            }
            let (file, first) = (it.place.file.as_str(), it.place.line);
            let next = first.saturating_add(1);
            let end = |line| ends.get(&(file, line)).copied().unwrap_or_default();
            let last = next.max(end(first)).max(end(next));
            at.entry((file, it.rule.as_str())).or_default().push(Cover { first, last, index, reason });
        }
        Self { at }
    }

    fn covering(&self, finding: &Finding) -> Option<(usize, &'a str)> {
        let covers = self.at.get(&(finding.place.file.as_str(), finding.rule.as_str()))?;
        let line = finding.place.line;
        // The nearest one above answers.
        let covering = covers.iter().filter(|cover| (cover.first..=cover.last).contains(&line));
        covering.max_by_key(|cover| cover.first).map(|cover| (cover.index, cover.reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Severity;
    use crate::rules::testing::{Build, block, inline, text};

    fn today() -> Date {
        Date::parse("2026-06-01").unwrap()
    }

    fn config(text: &str) -> Config {
        Config::parse("lockshift.toml", text).unwrap()
    }

    /// Two root modules that lock in DynamoDB alone, the second before the first in the alphabet.
    fn inventory() -> Inventory {
        let table = |file: &str, key: &str| {
            let settings = [("bucket", text("b")), ("key", text(key)), ("dynamodb_table", text("t"))];
            vec![vec![block(file, 4, &settings)]]
        };
        Build::new().root("b", table("b/main.tf", "b")).root("a", table("a/main.tf", "a")).done()
    }

    fn said(findings: &[Finding]) -> Vec<(String, &str, Severity, Option<&str>)> {
        findings
            .iter()
            .map(|f| (f.place.to_string(), f.rule.as_str(), f.severity, f.ignored.as_deref()))
            .collect()
    }

    #[test]
    fn findings_are_sorted_by_place_and_unchanged_without_a_configuration() {
        assert_eq!(
            said(&check(&inventory(), &Config::default(), today())),
            [
                ("a/main.tf:7:3".to_owned(), "dynamodb-only", Severity::Medium, None),
                ("b/main.tf:7:3".to_owned(), "dynamodb-only", Severity::Medium, None),
            ]
        );
    }

    #[test]
    fn a_rule_is_lowered_or_switched_off() {
        let low = config("[rules.dynamodb-only]\nseverity = \"low\"\nreason = \"next year\"\n");
        let findings = check(&inventory(), &low, today());
        assert_eq!(findings.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Low; 2]);
        let off = config("[rules.dynamodb-only]\nseverity = \"off\"\nreason = \"next year\"\n");
        assert_eq!(check(&inventory(), &off, today()), []);
    }

    #[test]
    fn a_configured_ignore_holds_until_its_last_day() {
        let ignore = "[[ignore]]\nrule = \"dynamodb-only\"\npath = \"b/**\"\nreason = \"leaves soon\"\n";
        let findings = check(&inventory(), &config(&format!("{ignore}expires = \"2026-06-01\"\n")), today());
        assert_eq!(
            findings.iter().map(|f| f.ignored.as_deref()).collect::<Vec<_>>(),
            [None, Some("leaves soon")]
        );
        let findings = check(&inventory(), &config(&format!("{ignore}expires = \"2026-05-31\"\n")), today());
        assert_eq!(
            said(&findings).into_iter().map(|(at, rule, _, ignored)| (at, rule, ignored)).collect::<Vec<_>>(),
            [
                ("a/main.tf:7:3".to_owned(), "dynamodb-only", None),
                ("b/main.tf:7:3".to_owned(), "dynamodb-only", None),
                ("lockshift.toml:2:8".to_owned(), "ignore-expired", None),
            ]
        );
    }

    #[test]
    fn an_inline_ignore_covers_its_line_the_next_and_a_block_that_begins_there() {
        // The block begins on line 4, its table stands on line 7.
        for (line, covers) in [(2, false), (3, true), (4, true), (5, false), (6, true), (7, true), (8, false)]
        {
            let mut inventory = inventory();
            inventory.ignores.push(inline("a/main.tf", line, "dynamodb-only", "frozen"));
            let findings = check(&inventory, &Config::default(), today());
            let ignored = findings.iter().any(|f| f.ignored.as_deref() == Some("frozen"));
            assert_eq!(ignored, covers, "line {line}");
            let unused: Vec<_> = findings.iter().filter(|f| f.rule == "ignore-unused").collect();
            assert_eq!(unused.len(), usize::from(!covers), "line {line}");
        }
    }

    #[test]
    fn an_inline_ignore_of_another_rule_or_without_reason_has_no_effect() {
        for (rule, reason, said_too) in
            [("no-locking", "frozen", "ignore-unused"), ("dynamodb-only", "", "ignore-without-reason")]
        {
            let mut inventory = inventory();
            inventory.ignores.push(inline("a/main.tf", 3, rule, reason));
            let findings = check(&inventory, &Config::default(), today());
            assert_eq!(findings.len(), 3);
            assert!(findings.iter().all(|f| f.ignored.is_none()), "{rule}");
            assert!(findings.iter().any(|f| f.rule == said_too), "{said_too}");
        }
    }

    #[test]
    fn the_same_words_are_said_once() {
        let mut inventory = inventory();
        let again = inventory.roots[0].backends[0].clone();
        inventory.roots[0].backends.push(again);
        assert_eq!(check(&inventory, &Config::default(), today()).len(), 2);
    }
}
