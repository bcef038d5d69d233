//! `--format html`: one page that needs nothing else, for whoever leads a migration. It shows what a command has: a
//! scan the backends, an audit the states, both what is wrong, what was not read, and how far things are.
//!
//! No network, no cookies, no fonts: style and script stand in the page and are named by their hash in its content
//! security policy, so that nothing else can run, whatever a file or a lock says. Without the script everything is there; the
//! script filters, sorts and switches between light and dark.

mod access;
mod escape;
mod findings;
mod lists;
mod owners;
mod pages;
mod progress;
mod svg;
mod table;
mod timeline;

use std::collections::BTreeSet;

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use super::audit::{AuditReport, summary as audit_summary};
use super::summary as scan_summary;
use super::words::{count, plural};
use super::{RuleText, ScanReport};
use crate::audit::outcome::StateReport;
use crate::finding::Severity;
use crate::moment::Moment;
use crate::repo::inventory::LockMode;
use escape::{code, prose_about, text, time};
use findings::Open;
use owners::Owners;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How a command ends, as its exit code says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Everything was read, and no finding reaches `--fail-on`.
    Clean,
    /// Findings reach it.
    Findings,
    /// Something could not be read or judged.
    Unjudged,
}

/// What the page is about.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// From when what it says is: nothing here reads a clock.
    pub at: Moment,
    /// How the command ends: the page says the same of what was found as the exit code does.
    pub ends: Ends,
    /// What was scanned, as people call it.
    pub of: &'a str,
    /// The repository. With an audit it brings owners and modes, and no findings of its own.
    pub scan: Option<&'a ScanReport<'a>>,
    /// The audit.
    pub audit: Option<&'a AuditReport<'a>>,
    /// All rules: the pages of those that are named are in the page.
    pub rules: &'a [RuleText<'a>],
}

/// A part of the page: its name in links, its heading, its content.
struct Section {
    id: &'static str,
    title: String,
    content: String,
}

/// One thing that was not read.
struct Unread<'a> {
    what: String,
    operation: &'a str,
    why: &'a str,
    action: Option<&'a str>,
    /// The kind of problem, whose page tells more.
    kind: Option<&'a str>,
    hides_locks: bool,
}

/// The whole page.
pub fn render(page: &Page<'_>) -> String {
    let owners = Owners::of(page.scan.map(|scan| scan.inventory), page.audit.map(|audit| audit.audit));
    let open = open(page, &owners);
    let unread = unread(page);
    let untold = untold(page);
    let kinds = unread.iter().filter_map(|unread| unread.kind);
    let named: BTreeSet<&str> = open.iter().map(|finding| finding.rule).chain(kinds).collect();
    let known: BTreeSet<&str> =
        page.rules.iter().map(|rule| rule.id).filter(|id| named.contains(id)).collect();
    let sections = sections(page, &owners, &open, &unread, &known);

    let command = if page.audit.is_some() { "audit" } else { "scan" };
    let mut out = head(&format!("lockshift {command}: {}", page.of));
    out.push_str(
        "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n<svg class=\"defs\" aria-hidden=\"true\"><defs>\
         <pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <rect class=\"base-none\" width=\"6\" height=\"6\"/><rect class=\"cut\" width=\"2\" height=\"6\"/></pattern>\
         <pattern id=\"dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><rect class=\"base-unknown\" width=\"5\" \
         height=\"5\"/><circle class=\"cut\" cx=\"2.5\" cy=\"2.5\" r=\"1\"/></pattern></defs></svg>\n",
    );
    out.push_str(&format!(
        "<header><div class=\"bar-top\"><p class=\"brand\">lockshift <b>{command}</b></p>\
         <nav aria-label=\"Sections\"><ul>{}</ul></nav>\
         <button type=\"button\" id=\"theme\" hidden>Theme: auto</button></div></header>\n<main id=\"main\" tabindex=\"-1\">\n",
        sections
            .iter()
            .map(|section| format!("<li><a href=\"#{}\">{}</a></li>", section.id, section.title))
            .collect::<String>()
    ));
    out.push_str(&format!(
        "<h1>State locks of {}</h1>\n<p class=\"meta\">As of {} UTC, by lockshift {}.</p>\n",
        code(page.of),
        time(page.at),
        env!("CARGO_PKG_VERSION")
    ));
    out.push_str(&verdict(page, &open, &unread, untold));
    out.push_str(&numbers(page, &open, unread.len(), untold));
    for section in &sections {
        out.push_str(&format!(
            "<section aria-labelledby=\"{0}\"><h2 id=\"{0}\" tabindex=\"-1\">{1}</h2>\n{2}</section>\n",
            section.id, section.title, section.content
        ));
    }
    out.push_str(&format!("</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

fn head(title: &str) -> String {
    let hash = |text: &str| {
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text.as_bytes()));
        format!("'sha256-{hash}'")
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        hash(STYLE),
        hash(SCRIPT),
        text(title)
    )
}

fn open<'a>(page: &Page<'a>, owners: &Owners<'a>) -> Vec<Open<'a>> {
    let of_audit = page.audit.into_iter().flat_map(AuditReport::open).map(|one| Open::of_audit(one, owners));
    let of_scan = page.scan.into_iter().flat_map(ScanReport::open).map(|one| Open::of_scan(one, owners));
    of_audit.chain(of_scan).collect()
}

/// What was not read. An audit has the repository's problems among its own.
fn unread<'a>(page: &Page<'a>) -> Vec<Unread<'a>> {
    if let Some(report) = page.audit {
        let all = report.audit.unread.iter();
        return all
            .map(|unread| Unread {
                what: unread.resource.clone(),
                operation: &unread.operation,
                why: &unread.reason,
                action: unread.missing_action.as_deref(),
                kind: None,
                hides_locks: unread.hides_locks,
            })
            .collect();
    }
    let problems = page.scan.into_iter().flat_map(ScanReport::unread);
    problems
        .map(|problem| Unread {
            what: problem.place.to_string(),
            operation: "read",
            why: &problem.message,
            action: None,
            kind: Some(problem.kind.id()),
            hides_locks: true,
        })
        .collect()
}

/// Effective backends whose mode can't be told, as far as the command judges them.
fn untold(page: &Page<'_>) -> usize {
    let unknown = |scan: &ScanReport<'_>| scan.summary.modes.get(LockMode::Unknown.as_str()).copied();
    page.scan.and_then(unknown).unwrap_or_default()
}

fn sections(
    page: &Page<'_>,
    owners: &Owners<'_>,
    open: &[Open<'_>],
    unread: &[Unread<'_>],
    known: &BTreeSet<&str>,
) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut add = |id, title: String, content: String| {
        if !content.is_empty() {
            sections.push(Section { id, title, content });
        }
    };
    add("unread", format!("Could not be read ({})", unread.len()), not_read(unread, known));
    if let Some(scan) = page.scan.filter(|scan| scan.summary.backends > 0 || scan.history.is_some()) {
        add("progress", "Migration".to_owned(), progress::render(scan));
    }
    if let Some(report) = page.audit {
        add("locks", "Locks and writes".to_owned(), timeline::render(report.audit));
    }
    let mut found = findings::render(open, known);
    found.push_str(&findings::ignored(&ignored(page)));
    add("open", format!("Findings ({})", open.len()), found);
    if let Some(report) = page.audit {
        add("who", "Access".to_owned(), access::render(&report.audit.access));
        add("all", format!("States ({})", report.audit.states.len()), lists::states(report.audit, owners));
    }
    if let Some(scan) = page.scan {
        let title = format!("Root modules ({})", scan.summary.roots);
        add("roots", title, lists::backends(scan.inventory));
    }
    add("rules", "Rules".to_owned(), pages::render(page.rules, known));
    sections
}

fn ignored<'a>(page: &Page<'a>) -> Vec<(&'a str, &'a str, &'a str)> {
    let of_audit = page.audit.into_iter().flat_map(|report| &report.audit.findings);
    let of_scan = page.scan.into_iter().flat_map(|report| report.findings);
    of_audit
        .filter_map(|one| Some((one.rule.as_str(), one.subject.as_str(), one.ignored.as_deref()?)))
        .chain(
            of_scan
                .filter_map(|one| Some((one.rule.as_str(), one.subject.as_str(), one.ignored.as_deref()?))),
        )
        .collect()
}

fn not_read(unread: &[Unread<'_>], known: &BTreeSet<&str>) -> String {
    if unread.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<p>Nothing is said about what they hold: it may be anything.</p>\n<ul class=\"unread\">",
    );
    for one in unread {
        let kind =
            one.kind.map(|kind| format!("{}: ", pages::link(kind, known.contains(kind)))).unwrap_or_default();
        let hides = if one.hides_locks { " <b>can hide locks</b>" } else { "" };
        let action =
            one.action.map(|action| format!("<p>The role lacks {}.</p>", code(action))).unwrap_or_default();
        out.push_str(&format!(
            "<li>{} <span>{}</span>{hides}<p>{kind}{}</p>{action}</li>\n",
            code(&one.what),
            text(one.operation),
            prose_about(one.why, &[&one.what])
        ));
    }
    out.push_str("</ul>\n");
    out
}

/// The first thing to see: clean or not, and why not. What was not read comes before what was found.
fn verdict(page: &Page<'_>, open: &[Open<'_>], unread: &[Unread<'_>], untold: usize) -> String {
    let mut why = Vec::new();
    if !unread.is_empty() {
        let things = count(unread.len(), "thing could not be read", "things could not be read");
        why.push(format!("<a href=\"#unread\">{things}</a>"));
    }
    if untold > 0 {
        why.push(format!(
            "the lock mode of {} can't be told",
            count(untold, "effective backend", "effective backends")
        ));
    }
    if !open.is_empty() {
        why.push(format!("<a href=\"#open\">{}</a>", count(open.len(), "open finding", "open findings")));
    }
    let nothing = page.audit.map_or_else(
        || page.scan.is_none_or(|scan| scan.summary.backends == 0),
        |report| report.audit.states.is_empty(),
    );
    let (class, word, words) = if page.ends != Ends::Clean {
        ("bad", "Not clean", why.join(", "))
    } else if !why.is_empty() {
        // Whoever says `--fail-on never` is not told in green of a grave finding.
        let grave = open.iter().any(|finding| finding.severity >= Severity::High);
        let none = if open.is_empty() { "" } else { ", none of which reaches <code>--fail-on</code>" };
        let words = format!("everything was read; {}{none}", why.join(", "));
        (if grave { "none" } else { "good" }, "Passes", words)
    } else if nothing {
        ("none", "Nothing to judge", "no state with an s3 backend was found".to_owned())
    } else {
        let unproven = page.audit.into_iter().flat_map(|report| &report.audit.states);
        let unproven = unproven.filter(|state| state.coverage.verdict == "not-provable").count();
        let proof = match unproven {
            0 => String::new(),
            n => format!("; whether S3 locks are in use can't be proven for {}", count(n, "state", "states")),
        };
        ("good", "Clean", format!("everything was read, and nothing was found{proof}"))
    };
    let mut lines = Vec::new();
    if let Some(report) = page.audit {
        lines.extend(audit_summary::lines(report));
    } else if let Some(scan) = page.scan {
        lines.extend(scan_summary::lines(scan));
    }
    let lines: String = lines.iter().map(|line| format!("<li>{}</li>", text(line))).collect();
    format!(
        "<div class=\"verdict {class}\"><p><b>{word}</b>: {words}.</p></div>\n\
         <details class=\"summary\"><summary>In words</summary><ul>{lines}</ul></details>\n"
    )
}

/// The numbers at the top.
fn numbers(page: &Page<'_>, open: &[Open<'_>], unread: usize, untold: usize) -> String {
    let mut cards: Vec<(String, &str, String)> = Vec::new();
    if let Some(scan) = page.scan.filter(|scan| scan.summary.backends > 0) {
        let modes = &scan.summary.modes;
        let (on, all) = svg::on_lockfile(modes);
        let alone = svg::count_of(modes, LockMode::Lockfile);
        let backends = count(scan.summary.backends, "effective backend", "effective backends");
        let name = plural(scan.summary.roots, "root module", "root modules");
        cards.push((scan.summary.roots.to_string(), name, backends));
        cards.push((
            svg::percent((on, all)),
            "on the lockfile",
            format!("{on} of {}", count(all, "effective backend", "effective backends")),
        ));
        cards.push((svg::percent((alone, all)), "migrated", format!("{alone} take the lockfile alone")));
        let none = svg::count_of(modes, LockMode::None);
        cards.push((none.to_string(), "without a lock", format!("{untold} can't be told")));
    }
    if let Some(report) = page.audit {
        let states = &report.audit.states;
        let held = states.iter().filter(|state| state.locks.is_held()).count();
        let outside: usize = states.iter().map(|state| state.coverage.outside.len()).sum();
        let proven = states.iter().filter(|state| state.coverage.verdict == "proven").count();
        let name = plural(states.len(), "state", "states");
        cards.push((states.len().to_string(), name, format!("{proven} proven to lock in S3")));
        // A store that was not read may hold a lock, and a state that can't be judged may have such writes.
        let dark = |state: &&StateReport| {
            let locks = &state.locks;
            !locks.is_held() && (locks.s3_unknown.is_some() || locks.dynamodb_unknown.is_some())
        };
        let number = |seen: usize, unknown: usize| {
            if seen == 0 && unknown > 0 && unknown == states.len() {
                "?".to_owned()
            } else {
                seen.to_string()
            }
        };
        let unknown = states.iter().filter(dark).count();
        let more = if unknown > 0 { format!("not known for {unknown}") } else { String::new() };
        cards.push((number(held, unknown), "locked now", more));
        let unproven = states.iter().filter(|state| state.coverage.verdict == "not-provable").count();
        let more = match unproven {
            0 => "outside of any S3 lock".to_owned(),
            n => format!("outside of any S3 lock; not known for {n}"),
        };
        let name = plural(outside, "unlocked write", "unlocked writes");
        cards.push((number(outside, unproven), name, more));
    }
    let kinds: Vec<String> = findings::by_severity(open)
        .into_iter()
        .map(|(severity, n)| format!("{n} {}", severity.as_str()))
        .collect();
    let name = plural(open.len(), "open finding", "open findings");
    cards.push((open.len().to_string(), name, kinds.join(", ")));
    cards.push((unread.to_string(), "not read", String::new()));
    let alarming = open.iter().any(|finding| finding.severity >= Severity::High);
    let cards: String = cards
        .iter()
        .map(|(number, name, more)| {
            let alarm = (name.starts_with("open finding") && alarming)
                || (*name == "not read" && number != "0")
                || (name.starts_with("unlocked write") && number != "0" && number != "?");
            let class = if alarm { " class=\"alarm\"" } else { "" };
            format!("<div{class}><dt>{name}</dt><dd><b>{number}</b> <span>{more}</span></dd></div>")
        })
        .collect();
    format!("<dl class=\"cards\">{cards}</dl>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::outcome::Audit;
    use crate::report::history::History;
    use crate::report::{audit, sample};

    fn at() -> Moment {
        Moment::parse("2026-11-30T12:00:00Z").unwrap()
    }

    fn scan_page(report: &ScanReport<'_>) -> String {
        scan_ends(report, if report.findings.is_empty() { Ends::Clean } else { Ends::Findings })
    }

    fn scan_ends(report: &ScanReport<'_>, ends: Ends) -> String {
        let rules = [RuleText {
            id: "no-locking",
            severity: Severity::High,
            summary: "no lock",
            page: "# no-locking\n\nA text.\n",
        }];
        render(&Page { at: at(), ends, of: ".", scan: Some(report), audit: None, rules: &rules })
    }

    fn audit_page(audit: &Audit) -> String {
        let ends = match (audit.findings.is_empty(), audit.unread.is_empty()) {
            (false, _) => Ends::Findings,
            (true, false) => Ends::Unjudged,
            (true, true) => Ends::Clean,
        };
        audit_ends(audit, ends)
    }

    fn audit_ends(audit: &Audit, ends: Ends) -> String {
        let report = AuditReport { audit, stats: false };
        render(&Page { at: at(), ends, of: "b", scan: None, audit: Some(&report), rules: &[] })
    }

    /// Attributes and elements of the page that are markup: text can't hold a raw `<`.
    fn tags(page: &str) -> BTreeSet<String> {
        let body = page.split("</head>").nth(1).unwrap().split("<script>").next().unwrap();
        let name = |tag: &str| tag.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '/').collect();
        body.split('<').skip(1).map(name).collect()
    }

    #[test]
    fn what_was_not_read_comes_first_and_the_page_is_not_clean() {
        let (inventory, findings) = (sample::inventory(), sample::findings());
        let page = scan_page(&ScanReport::new(&inventory, &findings));
        let verdict = "<b>Not clean</b>: <a href=\"#unread\">1 thing could not be read</a>, the lock mode of 1 \
                       effective backend can't be told, <a href=\"#open\">2 open findings</a>.";
        assert!(page.contains(verdict), "{page}");
        assert!(page.contains("encrypted with git-crypt"), "{page}");
        let order: Vec<Option<usize>> = ["unread", "progress", "open", "roots", "rules"]
            .map(|id| page.find(&format!("<h2 id=\"{id}\"")))
            .to_vec();
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}");
        assert!(
            page.contains("<dt>on the lockfile</dt><dd><b>40%</b> <span>2 of 5 effective backends</span>"),
            "{page}"
        );
        assert!(page.contains("goes with the final phase"), "{page}");
    }

    #[test]
    fn clean_is_said_of_what_was_read_alone() {
        let mut inventory = sample::inventory();
        inventory.roots.truncate(1);
        inventory.problems.clear();
        assert!(scan_page(&ScanReport::new(&inventory, &[])).contains("<b>Clean</b>: everything was read"));
        inventory.roots.clear();
        assert!(scan_page(&ScanReport::new(&inventory, &[])).contains("<b>Nothing to judge</b>"));
        assert!(audit_page(&audit::sample::empty()).contains("<b>Nothing to judge</b>"));
        let mut quiet = audit::sample::empty();
        quiet.states = vec![audit::sample::state("a", LockMode::Dual, "not-provable")];
        let page = audit_page(&quiet);
        let verdict = "<b>Clean</b>: everything was read, and nothing was found; whether S3 locks are in use \
                       can't be proven for 1 state.";
        assert!(page.contains(verdict), "{page}");
        let mut blind = audit::sample::empty();
        blind.unread = vec![audit::sample::unread("t", "Scan", "dynamodb:Scan", true)];
        let page = audit_page(&blind);
        assert!(page.contains("<b>Not clean</b>: <a href=\"#unread\">1 thing"), "{page}");
        assert!(page.contains("<p>The role lacks <code>dynamodb:Scan</code>.</p>"), "{page}");
    }

    #[test]
    fn findings_that_fail_nothing_do_not_make_the_page_red() {
        let mut inventory = sample::inventory();
        inventory.roots.truncate(1);
        inventory.problems.clear();
        let mut findings = sample::findings();
        findings.truncate(1);
        findings[0].severity = Severity::Info;
        let verdict = |findings: &[crate::finding::Finding], ends| {
            let page = scan_ends(&ScanReport::new(&inventory, findings), ends);
            page.split("<div class=\"verdict ").nth(1).unwrap().split("</p>").next().unwrap().to_owned()
        };
        assert_eq!(
            verdict(&findings, Ends::Clean),
            "good\"><p><b>Passes</b>: everything was read; <a href=\"#open\">1 open finding</a>, none of which reaches \
             <code>--fail-on</code>."
        );
        assert!(
            verdict(&findings, Ends::Findings)
                .starts_with("bad\"><p><b>Not clean</b>: <a href=\"#open\">1 open")
        );
        findings[0].severity = Severity::High;
        assert!(verdict(&findings, Ends::Clean).starts_with("none\"><p><b>Passes</b>: "));
        let mut audit = audit::sample::audit();
        audit.unread.clear();
        audit.findings.iter_mut().for_each(|finding| finding.severity = Severity::Low);
        let page = audit_ends(&audit, Ends::Clean);
        assert!(
            page.contains("<div class=\"verdict good\"><p><b>Passes</b>: everything was read; <a"),
            "{page}"
        );
    }

    #[test]
    fn a_store_that_was_not_read_holds_no_known_number_of_locks() {
        let card = |audit: &Audit| {
            let page = audit_page(audit);
            page.split("<dt>locked now</dt><dd>").nth(1).unwrap().split("</dd>").next().unwrap().to_owned()
        };
        let mut audit = audit::sample::audit();
        audit.states.iter_mut().for_each(|state| state.locks = Default::default());
        assert_eq!(card(&audit), "<b>0</b> <span></span>");
        audit.states[0].locks.s3_unknown = Some("denied".to_owned());
        assert_eq!(card(&audit), "<b>0</b> <span>not known for 1</span>");
        audit.states.truncate(1);
        assert_eq!(card(&audit), "<b>?</b> <span>not known for 1</span>");
        let unproven = audit_page(&Audit {
            states: vec![audit::sample::state("a", LockMode::Dual, "not-provable")],
            ..audit::sample::empty()
        });
        let said =
            "<dt>unlocked writes</dt><dd><b>?</b> <span>outside of any S3 lock; not known for 1</span>";
        assert!(unproven.contains(said), "{unproven}");
    }

    #[test]
    fn style_and_script_are_named_by_their_hash_and_nothing_else_may_run() {
        let inventory = sample::inventory();
        let page = scan_page(&ScanReport::new(&inventory, &[]));
        let policy = page.split("content=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        // No attribute that the policy would forbid, and nothing to load.
        for forbidden in [" style=", " onclick=", " src=", "@import", "url(http", "<link", "<img", "<iframe"]
        {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("<style>").count(), 1);
    }

    #[test]
    fn hostile_text_stays_text() {
        let (inventory, findings) = sample::hostile();
        let mut history = sample::history();
        history.unknown = Some("</style><script>alert(1)</script>".to_owned());
        let mut scan = ScanReport::new(&inventory, &findings);
        scan.history = Some(&history);
        let mut hostile = audit::sample::hostile();
        hostile.findings[0].message =
            "<script>alert(1)</script><a href=\"javascript:alert(1)\">x</a>".to_owned();
        let report = AuditReport { audit: &hostile, stats: true };
        let rules = [RuleText {
            id: audit::sample::EVIL,
            severity: Severity::Low,
            summary: "</style>",
            page: "# x\n\n<script>\n",
        }];
        let page = render(&Page {
            at: at(),
            ends: Ends::Findings,
            of: audit::sample::EVIL,
            scan: Some(&scan),
            audit: Some(&report),
            rules: &rules,
        });
        assert_eq!(audit::sample::raw_control(&page), None);
        assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (1, 1));
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(!page.contains("href=\"javascript"), "a link that runs");
        let sample = tags(&{
            let (inventory, findings, audit) =
                (sample::inventory(), sample::findings(), audit::sample::audit());
            let mut scan = ScanReport::new(&inventory, &findings);
            let history = sample::history();
            scan.history = Some(&history);
            let report = AuditReport { audit: &audit, stats: true };
            let rules =
                [RuleText { id: "no-locking", severity: Severity::High, summary: "s", page: "# x\n\ny\n" }];
            render(&Page {
                at: at(),
                ends: Ends::Findings,
                of: ".",
                scan: Some(&scan),
                audit: Some(&report),
                rules: &rules,
            })
        });
        let strange: Vec<String> = tags(&page).difference(&sample).cloned().collect();
        assert!(strange.iter().all(|tag| ["i", "/i"].contains(&tag.as_str())), "{strange:?}");
    }

    #[test]
    fn the_same_input_is_the_same_bytes() {
        let audit = audit::sample::audit();
        assert_eq!(audit_page(&audit), audit_page(&audit));
        let inventory = sample::inventory();
        let mut report = ScanReport::new(&inventory, &[]);
        let history = History::unknown("no repository".to_owned());
        report.history = Some(&history);
        assert!(scan_page(&report).contains("The past is not known"));
    }
}
