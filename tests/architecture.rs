//! Holds the map in `src/lib.rs`: which room may know which. Reads the source as text, so it needs no tool and sees
//! code that is only compiled for tests, too.

#![cfg(test)]
#![allow(clippy::string_slice, reason = "cut at offsets that were just found")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Each room and the rooms that it may know. `cli` joins them all; nobody knows `cli`.
const MAY_KNOW: &[(&str, &[&str])] = &[
    (
        "cli",
        &["audit", "config", "finding", "migrate", "moment", "policy", "repo", "report", "rules", "unlock"],
    ),
    ("audit", &["config", "finding", "moment", "policy", "repo", "rules", "shell", "workspace"]),
    ("config", &["finding", "repo", "rules"]),
    ("finding", &["repo", "severity"]),
    ("migrate", &["moment", "repo", "shell", "workspace"]),
    ("moment", &[]),
    ("policy", &["severity", "workspace"]),
    ("repo", &["shell"]),
    ("report", &["audit", "finding", "migrate", "moment", "policy", "repo", "shell", "unlock"]),
    ("rules", &["config", "finding", "policy", "repo"]),
    ("severity", &[]),
    ("shell", &[]),
    ("unlock", &["audit", "moment"]),
    ("workspace", &[]),
];

/// Rooms that compute and nothing else.
const PURE: &[&str] = &["finding", "moment", "policy", "report", "rules", "severity", "shell", "workspace"];

/// What a pure room may not say outside of its tests.
const WORLD: &[&str] =
    &["std::fs", "std::net", "std::process", "std::env", "SystemTime::now", "Instant::now"];

/// The room of a file below `src`; none for the crate's own front page and the program's entry.
fn room(file: &str) -> Option<&str> {
    match file.split_once('/') {
        Some((room, _)) => Some(room),
        None => file.strip_suffix(".rs").filter(|name| !matches!(*name, "lib" | "main")),
    }
}

/// How many modules lie between the crate's root and the code of a file: `repo/syntax/hcl.rs` is three deep.
fn depth(file: &str) -> usize {
    let parts = file.split('/').count();
    if file.ends_with("/mod.rs") { parts - 1 } else { parts }
}

/// Source without comments, strings and characters: only code can know a room.
fn code_of(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    let starts = |at: usize, text: &str| text.chars().enumerate().all(|(n, c)| chars.get(at + n) == Some(&c));
    let end_of =
        |from: usize, text: &str| (from..chars.len()).find(|at| starts(*at, text)).unwrap_or(chars.len());
    while at < chars.len() {
        let c = chars[at];
        let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
        if starts(at, "//") {
            at = end_of(at, "\n");
        } else if starts(at, "/*") {
            at = end_of(at + 2, "*/") + 2;
        } else if c == 'r' && !word_before && (starts(at, "r\"") || starts(at, "r#")) {
            let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
            if chars.get(at + 1 + hashes) == Some(&'"') {
                let close = format!("\"{}", "#".repeat(hashes));
                at = end_of(at + 2 + hashes, &close) + close.len();
            } else {
                // A raw identifier.
                out.push(c);
                at += 1;
            }
        } else if c == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' && (chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'')) {
            // A character, not a lifetime.
            at = end_of(at + if chars[at + 1] == '\\' { 3 } else { 2 }, "'") + 1;
        } else {
            out.push(c);
            at += 1;
        }
    }
    out
}

/// Rooms that a file's code names: `crate::room`, `crate::{a, b::{c}}`, and `super::super::room` as far as it climbs.
fn known_rooms(file: &str, source: &str) -> Vec<String> {
    let code: String = code_of(source).split_whitespace().collect::<Vec<_>>().join(" ");
    let code = code.replace(" ::", "::").replace(":: ", "::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        found.extend(heads(&code[at + "crate::".len()..]));
    }
    // Inline modules (`mod tests`) may climb one further; naming fewer rooms than they reach would hide nothing
    // here, since a room's own name is always allowed.
    let up = "super::".repeat(depth(file));
    for (at, _) in code.match_indices(&up) {
        let first_of_chain = !code[..at].ends_with("super::");
        let rest = &code[at + up.len()..];
        if first_of_chain {
            found.extend(heads(rest.trim_start_matches("super::")));
        }
    }
    found
}

/// The first names of what follows a `::`: one, or those of a `{…}` group.
fn heads(rest: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut depth, mut names, mut begin) = (0_usize, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(&group[begin..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(&group[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// Everything in `files` (path below `src`, text) that the map does not allow.
fn violations(files: &BTreeMap<String, String>) -> Vec<String> {
    let rooms: BTreeMap<&str, &[&str]> = MAY_KNOW.iter().copied().collect();
    let mut found = Vec::new();
    for (file, source) in files {
        let Some(own) = room(file) else { continue };
        let Some(allowed) = rooms.get(own) else {
            found.push(format!("src/{file}: the room `{own}` is not on the map"));
            continue;
        };
        for known in known_rooms(file, source) {
            if known != own && rooms.contains_key(known.as_str()) && !allowed.contains(&known.as_str()) {
                found.push(format!("src/{file}: `{own}` must not know `{known}`"));
            }
        }
        // The part that ships: tests may look into the world.
        let shipped = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        if PURE.contains(&own) && !file.contains("test") {
            let code = code_of(shipped);
            for word in WORLD.iter().filter(|word| code.contains(**word)) {
                found.push(format!("src/{file}: `{own}` is pure and must not use {word}"));
            }
        }
    }
    found
}

fn read(dir: &Path, below: &str, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{below}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), into);
        } else if name.ends_with(".rs") {
            into.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_room_knows_only_what_the_map_allows() {
    let mut files = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut files);
    assert!(files.contains_key("report/table.rs") && files.len() > 20, "the source was not found");
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn the_program_s_entry_only_knows_the_command_line() {
    let main = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs")).unwrap();
    let main = code_of(&main);
    let rooms: Vec<String> =
        main.match_indices("lockshift::").flat_map(|(at, found)| heads(&main[at + found.len()..])).collect();
    assert_eq!(rooms, ["cli"]);
}

#[test]
fn violations_are_seen_in_every_spelling_and_only_in_code() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("report/x.rs", "use crate::cli::run;", &["`report` must not know `cli`"]),
        (
            "repo/syntax/x.rs",
            "use crate::{finding::{self, cli}, report::words};",
            &["`repo` must not know `finding`", "`repo` must not know `report`"],
        ),
        ("repo/x.rs", "fn f() { crate :: policy :: evaluate() }", &["`repo` must not know `policy`"]),
        ("repo/syntax/x.rs", "use super::super::super::migrate::plan;", &["`repo` must not know `migrate`"]),
        ("repo/syntax/x.rs", "use super::super::report;", &[]),
        ("policy/mod.rs", "use super::finding::Finding;", &["`policy` must not know `finding`"]),
        ("finding.rs", "use crate::rules;", &["`finding` must not know `rules`"]),
        ("cellar/x.rs", "", &["the room `cellar` is not on the map"]),
        (
            "report/x.rs",
            "fn f() { let _ = std::fs::read(\"x\"); }",
            &["`report` is pure and must not use std::fs"],
        ),
        (
            "report/x.rs",
            "//! [`crate::cli`]\n/* crate::cli */ const A: &str = \"crate::cli\"; // crate::cli",
            &[],
        ),
        (
            "report/x.rs",
            "const A: &str = r#\"crate::cli \"x\"#; const B: char = '\"'; use crate::repo::text;",
            &[],
        ),
        (
            "report/x.rs",
            "fn f<'a>(x: &'a str) -> char { '\\'' }\nuse crate::rules::x;",
            &["`report` must not know `rules`"],
        ),
        ("lib.rs", "pub use crate::cli;", &[]),
    ];
    for (file, source, expected) in cases {
        let found = violations(&BTreeMap::from([((*file).to_owned(), (*source).to_owned())]));
        let expected: Vec<String> = expected.iter().map(|text| format!("src/{file}: {text}")).collect();
        assert_eq!(found, expected, "{source}");
    }
}

/// Rows of the walks in `docs/architecture.md`: number, file, function.
fn steps(page: &str) -> Vec<(String, String)> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, number, file, function, ..] = cells.as_slice() else { return None };
        let bare = |cell: &str| cell.trim_matches('`').to_owned();
        number.parse::<u32>().is_ok().then(|| (bare(file), bare(function)))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn the_page_on_architecture_names_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let steps = steps(&page);
    assert_eq!(steps.len(), 16 + 9);
    for (file, function) in steps {
        let source = fs::read_to_string(root.join("src").join(&file)).unwrap_or_default();
        let has =
            [format!("fn {function}("), format!("fn {function}<")].iter().any(|text| source.contains(text));
        assert!(has, "docs/architecture.md: src/{file} has no `{function}`");
    }
    // Files that are named in passing.
    for word in page.split('`').filter(|word| word.ends_with(".rs")) {
        let below = if word.starts_with("tests/") { root.join(word) } else { root.join("src").join(word) };
        assert!(below.is_file(), "docs/architecture.md: there is no {word}");
    }
    // The table of rooms is the one that the code is held against.
    for (room, _) in MAY_KNOW {
        assert!(page.contains(&format!("`{room}`")), "docs/architecture.md says nothing of `{room}`");
    }
}
