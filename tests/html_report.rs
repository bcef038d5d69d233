//! The HTML report in a real browser: it loads nothing, complains about nothing, works with the keyboard, without
//! script, in light and dark and on paper, and stays usable with thousands of root modules. `scripts/test` installs
//! Chromium and what drives it; set LOCKSHIFT_SCREENSHOTS to a directory to keep pictures of what was seen.

#![cfg(test)]

mod support;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use support::repository;
use support::tree::git;

/// Drives the browser over a page and returns what its steps answered. Whatever the page, it may neither ask for
/// anything nor say anything on the console.
fn browse(page: &Path, steps: &Value) -> Value {
    let modules = std::env::var_os("LOCKSHIFT_NODE_DEPS")
        .map_or_else(|| repository().join("target/ci-node"), PathBuf::from);
    let mut child = Command::new("node")
        .arg(repository().join("tests/support/browser.mjs"))
        .arg(&modules)
        .arg(page)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node starts: install Node.js 18 or newer");
    child.stdin.take().unwrap().write_all(steps.to_string().as_bytes()).expect("node reads");
    let output = child.wait_with_output().expect("node ends");
    assert!(
        output.status.success(),
        "the browser failed; run `scripts/test`, which installs Chromium and its driver into {}:\n{}",
        modules.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let seen: Value = serde_json::from_slice(&output.stdout).expect("browser.mjs prints JSON");
    assert_eq!(seen["console"], json!([]), "the page has complaints");
    assert_eq!(seen["requests"], json!([]), "the page asks for more than itself");
    seen["said"].clone()
}

/// `lockshift ARGS --format html` into a file of its own.
fn page(dir: &Path, home: &Path, args: &[&str]) -> PathBuf {
    let file = dir.join("report.html");
    let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(args)
        .args(["--format", "html", "--fail-on", "never", "--output"])
        .arg(&file)
        .current_dir(home)
        .env("SOURCE_DATE_EPOCH", "1796040000")
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

/// Where a picture goes; null where none is kept.
fn shot(name: &str) -> Value {
    let dir = std::env::var_os("LOCKSHIFT_SCREENSHOTS").map(PathBuf::from);
    dir.map_or(Value::Null, |dir| json!(dir.join(format!("{name}.png"))))
}

/// A step that takes a picture where pictures are kept.
fn picture(name: &str, whole: bool) -> Value {
    json!({ "do": "shot", "path": shot(name), "whole": whole })
}

const FINDINGS: &str = "#findings tbody tr";
const SAID: &str = "form[data-table=findings] output";

#[test]
fn a_scan_is_filtered_sorted_and_coloured_by_keyboard() {
    let dir = TempDir::new().unwrap();
    let scan = support::scan(&repository().join("fixtures/monorepo")).json;
    let open: Vec<&Value> =
        scan["findings"].as_array().unwrap().iter().filter(|one| one["ignored"].is_null()).collect();
    let of_rule = |rule: &str| open.iter().filter(|one| one["rule"] == rule).count();
    let (all, unlocked) = (open.len(), of_rule("no-locking"));
    assert!(unlocked > 0 && unlocked < all);
    let path = "values/empty-table";
    let about = open.iter().filter(|one| one.to_string().contains(path)).count();
    assert!(about > 0 && about < all);
    let file = page(dir.path(), &repository().join("fixtures/monorepo"), &["scan"]);
    let said = browse(
        &file,
        &json!([
            { "do": "media", "scheme": "light" },
            { "do": "open" },
            picture("scan-light", true),
            { "do": "axe", "as": "axe-light" },
            // The first stop of the tab key skips what every page begins with.
            { "do": "key", "key": "Tab" },
            { "do": "focused", "as": "first" },
            { "do": "key", "key": "Enter" },
            { "do": "focused", "as": "skipped" },
            { "do": "count", "selector": FINDINGS, "as": "all" },
            { "do": "focus", "selector": "form[data-table=findings] input" },
            { "do": "type", "text": path.to_uppercase() },
            { "do": "until", "selector": SAID, "text": format!("{about} of {all}") },
            { "do": "key", "key": "Backspace", "times": path.len() },
            { "do": "until", "selector": SAID, "text": format!("{all} of {all}") },
            { "do": "choose", "selector": "form[data-table=findings] select[data-key=rule]", "value": "=no-locking" },
            { "do": "until", "selector": SAID, "text": format!("{unlocked} of {all}") },
            { "do": "texts", "selector": format!("{FINDINGS} td.rule"), "as": "rules" },
            { "do": "click", "selector": "form[data-table=findings] button[type=reset]" },
            { "do": "until", "selector": SAID, "text": format!("{all} of {all}") },
            { "do": "focus", "selector": "#backends thead th:nth-child(1) button" },
            { "do": "key", "key": "Enter" },
            { "do": "key", "key": "Enter" },
            { "do": "attribute", "selector": "#backends thead th:nth-child(1)", "name": "aria-sort", "as": "sorted" },
            { "do": "texts", "selector": "#backends tbody tr th > code", "as": "roots" },
            { "do": "style", "selector": "body", "property": "backgroundColor", "as": "light" },
            { "do": "focus", "selector": "#theme" },
            { "do": "key", "key": "Enter" },
            { "do": "key", "key": "Enter" },
            { "do": "texts", "selector": "#theme", "as": "theme" },
            { "do": "style", "selector": "body", "property": "backgroundColor", "as": "dark" },
            { "do": "axe", "as": "axe-dark" },
            picture("scan-dark", true)
        ]),
    );
    assert_eq!(said["axe-light"], json!([]));
    assert_eq!(said["axe-dark"], json!([]));
    assert_eq!((&said["first"], &said["skipped"]), (&json!("a"), &json!("main#main")));
    assert_eq!(said["all"], all);
    assert_eq!(said["rules"], json!(vec!["no-locking"; unlocked]));
    assert_eq!(said["sorted"], "descending");
    let roots: Vec<String> = serde_json::from_value(said["roots"].clone()).unwrap();
    assert!(roots.len() > 60 && roots.is_sorted_by(|a, b| a.to_lowercase() >= b.to_lowercase()), "{roots:?}");
    assert_eq!((&said["light"], &said["dark"]), (&json!("rgb(255, 255, 255)"), &json!("rgb(18, 22, 27)")));
    assert_eq!(said["theme"], json!(["Theme: dark"]));
}

#[test]
fn an_audit_is_there_without_script_in_the_dark_and_on_paper() {
    let dir = TempDir::new().unwrap();
    let args = ["audit", "fixtures/monorepo", "--snapshot", "fixtures/audit/snapshot.json"];
    let file = page(dir.path(), &repository(), &args);
    let said = browse(
        &file,
        &json!([
            { "do": "media", "scheme": "dark" },
            { "do": "open" },
            { "do": "axe", "as": "axe" },
            { "do": "style", "selector": "body", "property": "backgroundColor", "as": "dark" },
            picture("audit-dark", false),
            { "do": "texts", "selector": ".verdict", "as": "verdict" },
            { "do": "count", "selector": "ul.unread > li", "as": "unread" },
            { "do": "count", "selector": "#states tbody tr", "as": "states" },
            { "do": "count", "selector": "#timeline path.outside", "as": "outside" },
            { "do": "count", "selector": "form.filter", "as": "filters" },
            // A link to a rule opens its page.
            { "do": "count", "selector": "#rule-two-writers p", "as": "closed" },
            { "do": "focus", "selector": "a[href='#rule-two-writers']" },
            { "do": "key", "key": "Enter" },
            { "do": "until", "selector": "details.page[open] summary code", "text": "two-writers" },
            { "do": "count", "selector": "#rule-two-writers h3", "as": "opened" },
            { "do": "media", "scheme": "dark", "type": "print" },
            { "do": "style", "selector": "body", "property": "backgroundColor", "as": "paper" },
            { "do": "count", "selector": "nav, form.filter, #theme", "as": "controls" },
            { "do": "count", "selector": "#states tbody tr", "as": "printed" },
            { "do": "media", "scheme": "light" },
            { "do": "width", "width": 390 },
            { "do": "axe", "as": "narrow" },
            // What is folded is read on a phone, too; lock records stay a table in their card.
            { "do": "open-all" },
            { "do": "style", "selector": "#findings table.records tr", "property": "display", "as": "records" },
            { "do": "overflow", "selector": "html, .scroll", "as": "narrow-page" },
            { "do": "smallest", "selector": "main *", "as": "narrow-text" },
            picture("audit-narrow", false),
            { "do": "width", "width": 1360 },
            picture("audit-light", false),
            { "do": "script", "on": false },
            { "do": "open" },
            { "do": "count", "selector": "form.filter, #theme", "as": "dead" },
            { "do": "count", "selector": "#states tbody tr", "as": "still" }
        ]),
    );
    assert_eq!((&said["axe"], &said["narrow"]), (&json!([]), &json!([])));
    assert_eq!((&said["records"], &said["narrow-page"]), (&json!("table-row"), &json!(0)));
    assert!(said["narrow-text"].as_f64().unwrap() >= 11.0, "{}", said["narrow-text"]);
    assert_eq!((&said["dark"], &said["paper"]), (&json!("rgb(18, 22, 27)"), &json!("rgb(255, 255, 255)")));
    let verdict = said["verdict"][0].as_str().unwrap();
    assert!(verdict.starts_with("Not clean: 5 things could not be read, "), "{verdict}");
    assert_eq!((&said["unread"], &said["states"]), (&json!(5), &json!(68)));
    assert_eq!((&said["printed"], &said["still"]), (&json!(68), &json!(68)));
    assert!(said["outside"].as_u64().unwrap() > 0);
    assert_eq!(said["filters"], 3);
    assert_eq!((&said["closed"], &said["opened"]), (&json!(0), &json!(3)));
    assert_eq!((&said["controls"], &said["dead"]), (&json!(0), &json!(0)));
}

/// A repository whose history goes from the table to both locks, with long names in it.
fn with_history(dir: &Path) {
    git(dir, 1, &["init", "-q", "-b", "main"]);
    fs::write(dir.join("CODEOWNERS"), "* @acme/platform-engineering\n").unwrap();
    for day in 1..=14 {
        for stack in 0..14 {
            let path =
                dir.join(format!("services/payments-platform/stack-{stack:02}/environments/production"));
            fs::create_dir_all(&path).unwrap();
            let both = if stack < day { "\n    use_lockfile = true" } else { "" };
            let text = format!(
                "terraform {{\n  backend \"s3\" {{\n    bucket = \"acme-terraform-state-production\"\n    key = \"services/{stack}/terraform.tfstate\"\n    \
                 dynamodb_table = \"acme-terraform-locks\"{both}\n  }}\n}}\n"
            );
            fs::write(path.join("main.tf"), text).unwrap();
        }
        git(dir, day, &["add", "-A"]);
        git(dir, day, &["commit", "-q", "-m", "x"]);
    }
}

#[test]
fn on_a_phone_everything_can_be_read_and_nothing_is_wider_than_the_window() {
    let dir = TempDir::new().unwrap();
    let home = dir.path().join("acme");
    fs::create_dir(&home).unwrap();
    with_history(&home);
    let file = page(dir.path(), &home, &["scan", "--history"]);
    let said = browse(
        &file,
        &json!([
            { "do": "width", "width": 420 },
            { "do": "open" },
            { "do": "overflow", "as": "page" },
            { "do": "overflow", "selector": ".scroll", "as": "tables" },
            { "do": "smallest", "selector": "main *", "as": "text" },
            { "do": "count", "selector": "svg.history", "as": "chart" },
            { "do": "texts", "selector": ".history-lines li", "as": "lines" },
            { "do": "style", "selector": "#findings tbody tr", "property": "display", "as": "card" },
            { "do": "axe", "as": "axe" },
            { "do": "focus", "selector": "form[data-table=findings] input" },
            { "do": "type", "text": "stack-03" },
            { "do": "until", "selector": SAID, "text": "1 of 14" },
            { "do": "count", "selector": FINDINGS, "as": "filtered" },
            picture("phone-light", true),
            { "do": "media", "scheme": "dark" },
            picture("phone-dark", true),
            // The narrowest window that has the chart, and a large one.
            { "do": "width", "width": 701 },
            { "do": "smallest", "selector": "svg.history text", "as": "chart-small" },
            { "do": "count", "selector": ".history-lines li", "as": "no-lines" },
            { "do": "width", "width": 1280 },
            { "do": "smallest", "selector": "main *", "as": "large" },
            { "do": "overflow", "selector": "html, .scroll", "as": "large-page" },
            // Paper is narrow, too, and keeps its tables.
            { "do": "media", "type": "print" },
            { "do": "width", "width": 718 },
            { "do": "style", "selector": "#findings tr:not([hidden])", "property": "display", "as": "paper" },
            { "do": "overflow", "as": "paper-page" }
        ]),
    );
    assert_eq!((&said["page"], &said["tables"]), (&json!(0), &json!(0)));
    assert!(said["text"].as_f64().unwrap() >= 11.0, "{}", said["text"]);
    assert_eq!((&said["chart"], &said["card"]), (&json!(0), &json!("grid")));
    let lines: Vec<String> = serde_json::from_value(said["lines"].clone()).unwrap();
    assert_eq!(lines.len(), 12);
    let (newest, oldest) = (lines.first().unwrap(), lines.last().unwrap());
    assert!(newest.starts_with("2026-01-14") && newest.ends_with("100%"), "{newest}");
    assert!(oldest.starts_with("2026-01-01") && oldest.ends_with("7%"), "{oldest}");
    assert_eq!((&said["axe"], &said["filtered"]), (&json!([]), &json!(1)));
    assert!(said["chart-small"].as_f64().unwrap() >= 11.0, "{}", said["chart-small"]);
    assert_eq!(said["no-lines"], 0);
    assert!(said["large"].as_f64().unwrap() >= 11.0, "{}", said["large"]);
    assert_eq!(said["large-page"], 0);
    assert_eq!((&said["paper"], &said["paper-page"]), (&json!("table-row"), &json!(0)));
}

#[test]
fn nothing_that_a_file_or_a_lock_says_runs() {
    let evil = "</script><script>console.log('owned')</script><img src=x onerror=\"alert(1)\">]]></style>";
    let dir = TempDir::new().unwrap();
    let module = format!(
        "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = {}\n    dynamodb_table = \"javascript:alert(1)\"\n  }}\n}}\n",
        json!(evil)
    );
    for name in ["a<b>\"'", "x"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("main.tf"), &module).unwrap();
    }
    fs::write(dir.path().join("CODEOWNERS"), "* @<script>alert(1)</script>\n").unwrap();
    fs::write(dir.path().join("broken.tf"), "terraform {\n  backend \"s3\" {\n    <script> = \n").unwrap();
    let file = page(dir.path(), dir.path(), &["scan", "."]);
    let said = browse(
        &file,
        &json!([
            { "do": "open" },
            { "do": "texts", "selector": "#backends tbody tr td:nth-child(4)", "as": "keys" },
            { "do": "count", "selector": "img, iframe, object, a[href^='javascript']", "as": "strange" },
            { "do": "choose", "selector": "form[data-table=findings] select[data-key=owner]", "value": "=@<script>alert(1)</script>" },
            { "do": "count", "selector": FINDINGS, "as": "owned" },
            { "do": "attribute", "selector": "html", "name": "lang", "as": "lang" }
        ]),
    );
    assert_eq!(said["keys"], json!([evil, evil]));
    assert_eq!(said["strange"], 0);
    assert!(said["owned"].as_u64().unwrap() >= 2, "{said}");
    assert_eq!(said["lang"], "en");
}

#[test]
fn five_thousand_root_modules() {
    let dir = TempDir::new().unwrap();
    for n in 0..5_000 {
        let (team, lockfile) = (n % 100, n % 4 == 0);
        let path = dir.path().join(format!("team-{team:02}/stack-{n:04}"));
        fs::create_dir_all(&path).unwrap();
        let lock = if lockfile { "use_lockfile = true" } else { "dynamodb_table = \"acme-locks\"" };
        let text = format!(
            "terraform {{\n  required_version = \">= 1.11\"\n  backend \"s3\" {{\n    bucket = \"acme-{}\"\n    key = \"{n}\"\n    region = \"eu-west-1\"\n    {lock}\n  }}\n}}\n",
            n % 12
        );
        fs::write(path.join("main.tf"), text).unwrap();
    }
    let owners: String = (0..100).map(|team| format!("/team-{team:02}/ @acme/team-{team:02}\n")).collect();
    fs::write(dir.path().join("CODEOWNERS"), owners).unwrap();
    let file = page(dir.path(), dir.path(), &["scan", "."]);
    let said = browse(
        &file,
        &json!([
            { "do": "open" },
            { "do": "count", "selector": "#backends tbody tr", "as": "all" },
            picture("five-thousand", false),
            { "do": "focus", "selector": "form[data-table=backends] input" },
            { "do": "type", "text": "team-42/ LOCKFILE" },
            { "do": "until", "selector": "form[data-table=backends] output", "text": "0 of 5000" },
            { "do": "key", "key": "Backspace", "times": 9 },
            { "do": "until", "selector": "form[data-table=backends] output", "text": "50 of 5000" },
            { "do": "choose", "selector": "form[data-table=backends] select[data-key=mode]", "value": "=lockfile" },
            { "do": "until", "selector": "form[data-table=backends] output", "text": "0 of 5000" },
            { "do": "choose", "selector": "form[data-table=findings] select[data-key=owner]", "value": "=@acme/team-43" },
            { "do": "until", "selector": SAID, "text": "50 of 3750" },
            { "do": "count", "selector": FINDINGS, "as": "findings" },
            picture("five-thousand-filtered", false)
        ]),
    );
    assert_eq!((&said["all"], &said["findings"]), (&json!(5_000), &json!(50)));
}
