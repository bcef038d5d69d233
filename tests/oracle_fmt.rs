//! `terraform fmt` as the judge of edits: what it called clean before an edit it must call clean afterwards, on
//! thousands of generated files. It fails where `terraform` is missing: an oracle that is skipped proves nothing.

#![cfg(test)]

use std::fs;
use std::path::Path;
use std::process::Command;

use lockshift::migrate::change::Change;
use lockshift::migrate::source_edits::plan_changes;
use lockshift::repo::source::Source;
use lockshift::repo::syntax::hcl;
use lockshift::repo::text::{BOM, Text};

const FILES: usize = 6000;

/// A small generator of numbers, the same on every run (Knuth's MMIX constants).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const NAMES: &[&str] = &[
    "bucket",
    "key",
    "region",
    "encrypt",
    "kms_key_id",
    "profile",
    "acl",
    "workspace_key_prefix",
    "role_arn",
    "skip_metadata_api_check",
    "use_path_style",
    "größe",
    "名前",
];

const VALUES: &[&str] = &[
    "\"b\"",
    "true",
    "12",
    "\"a-longer-value-than-others\"",
    "\"é e\u{301} 👩‍👩‍👧 名前 # = { no comment\"",
    "\"esc \\\" $${x} %%{y} \\\\\"",
    "\"${var.env}-${lower(\"X\")}\"",
    "[\"a\", \"b\"]",
    "{ a = 1, b = \"}\" }",
    "null",
    "[]",
    "var.a == \"x\" ? 1 : 2",
    "{\n  role_arn = \"x\" # inner\n  a = 1 # other\n  session = \"y\"\n}",
    "[\n  \"a\", # first\n  \"bcd\", # second\n]",
    "<<EOT\n  = text # no comment\n}\nEOT",
    "<<-EOT\n    dynamodb_table = \"no\"\n    ${var.x}\n    EOT",
    "join(\"-\", [\n  \"a\",\n  \"b\",\n])",
];

const COMMENTS: &[&str] = &["# x", "# the bucket é", "// slashes", "# 名前 👩‍👩‍👧", "#"];

const LINES: &[&str] = &[
    "# a comment line",
    "// dynamodb_table = \"old\"",
    "# The DynamoDB table that holds locks",
    "# State locking",
    "/* block\n   comment */",
    "/* on one line */",
];

fn comment(dice: &mut Dice, out: &mut String) {
    if dice.one_in(2) {
        out.push(' ');
        out.push_str(dice.pick(COMMENTS));
    }
}

fn attribute(dice: &mut Dice, name: &str, value: &str) -> String {
    let mut line = String::new();
    if dice.one_in(12) {
        line.push_str("/* c */ ");
    }
    line.push_str(&format!("{name} = {value}"));
    // Nothing may follow a heredoc's marker.
    if !value.starts_with("<<") {
        if dice.one_in(12) {
            line.push_str(" /* d */");
        } else {
            comment(dice, &mut line);
        }
    }
    line
}

fn items(dice: &mut Dice, with_table: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut names: Vec<&str> = NAMES.to_vec();
    for _ in 0..dice.roll(6) {
        let name = names.remove(dice.roll(names.len()));
        let value = VALUES[if dice.one_in(3) { dice.roll(VALUES.len()) } else { dice.roll(4) }];
        lines.push(attribute(dice, name, value));
        if dice.one_in(4) {
            lines.push(String::new());
        }
        if dice.one_in(6) {
            lines.push(dice.pick(LINES).to_owned());
        }
    }
    if dice.one_in(6) {
        lines.push(
            dice.pick(&[
                "endpoints = { dynamodb = \"d\", s3 = \"s\" }",
                "endpoints = { dynamodb = \"d\" } # gone",
                "endpoints = {\n  s3 = \"s\" # s\n  dynamodb = \"d\" # d\n  iam = \"i\"\n}",
                "endpoints = {\n  dynamodb = \"d\"\n}",
                "dynamodb_endpoint = \"d\" # e",
            ])
            .to_owned(),
        );
    }
    if dice.one_in(8) {
        let value = dice.pick(&["false", "null", "true", "\"\""]);
        lines.push(attribute(dice, "use_lockfile", value));
    }
    if with_table {
        let value = match dice.roll(12) {
            0 => "\"arn:aws:dynamodb:eu-west-1:123456789012:table/locks\"",
            1 => "<<EOT\nlocks\nEOT",
            2 => "join(\"-\", [\n  \"a\",\n])",
            3 => "\"${var.table}\"",
            _ => "\"locks\"",
        };
        let mut block = Vec::new();
        if dice.one_in(3) {
            block.push(dice.pick(LINES).to_owned());
        }
        // A comment before the name would be lost with the line, so such a line is refused.
        let mut line = format!("dynamodb_table = {value}");
        if !value.starts_with("<<") {
            comment(dice, &mut line);
        }
        block.push(line);
        let at = dice.roll(lines.len() + 1);
        lines.splice(at..at, block);
    }
    lines
}

/// A module file with one backend.
fn module(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.one_in(3) {
        text.push_str("locals {\n  a = 1 # x\n  long_name = 2 # y\n} # end\n");
    }
    text.push_str("terraform {");
    comment(dice, &mut text);
    text.push('\n');
    if dice.one_in(3) {
        text.push_str("required_version = \">= 1.10\"");
        comment(dice, &mut text);
        text.push('\n');
    }
    text.push_str("backend \"s3\" {");
    match dice.roll(12) {
        0 => text.push('}'),
        1 => text.push_str(" dynamodb_table = \"locks\" }"),
        _ => {
            comment(dice, &mut text);
            text.push('\n');
            for line in items(dice, true) {
                text.push_str(&line);
                text.push('\n');
            }
            text.push('}');
        }
    }
    comment(dice, &mut text);
    text.push('\n');
    if dice.one_in(3) {
        text.push_str("required_providers {\n aws = \"1\" # z\n}\n");
    }
    text.push('}');
    comment(dice, &mut text);
    finish(dice, text)
}

/// A flat file. fmt visits `.tfvars`, so the rules for backend-config files are tried there.
fn flat(dice: &mut Dice) -> String {
    let lines = items(dice, true);
    let text = lines.join("\n");
    finish(dice, text)
}

/// A remote-state reader: its `config` is an object, as Terragrunt's is. Commas, colons, quotes, one line or many.
fn reader(dice: &mut Dice) -> String {
    let one_line = dice.one_in(4);
    let quoted = dice.one_in(3);
    let sign = if dice.one_in(4) { ":" } else { "=" };
    let commas = one_line || dice.one_in(2);
    let last_comma = dice.one_in(2);
    let mut items: Vec<(&str, &str)> = Vec::new();
    let mut names: Vec<&str> = NAMES.to_vec();
    for _ in 0..dice.roll(5) {
        // The first nine values stand on one line.
        let limit = if one_line { 9 } else { 14 };
        items.push((names.remove(dice.roll(names.len())), VALUES[dice.roll(limit)]));
    }
    items.insert(dice.roll(items.len() + 1), ("dynamodb_table", "\"locks\""));
    let count = items.len();
    let mut config = String::new();
    for (index, (name, value)) in items.into_iter().enumerate() {
        let name = if quoted { format!("\"{name}\"") } else { name.to_owned() };
        let last = index + 1 == count;
        if !one_line && dice.one_in(6) {
            config.push_str(dice.pick(LINES));
            config.push('\n');
        }
        config.push_str(&format!("{name} {sign} {value}"));
        if commas && (!last || (last_comma && !one_line)) {
            config.push(',');
        }
        if one_line {
            config.push(' ');
        } else {
            comment(dice, &mut config);
            config.push_str(if dice.one_in(5) { "\n\n" } else { "\n" });
        }
    }
    let (open, close) = if one_line { ("{ ", "}") } else { ("{\n", "}") };
    let mut text = format!(
        "data \"terraform_remote_state\" \"x\" {{\n  backend = \"s3\" # b\n  config = {open}{config}{close}"
    );
    comment(dice, &mut text);
    text.push_str("\n}");
    finish(dice, text)
}

fn finish(dice: &mut Dice, mut text: String) -> String {
    if !dice.one_in(8) || text.contains("<<") {
        text.push('\n');
    }
    if dice.one_in(6) {
        text = text.replace('\n', "\r\n");
    }
    text
}

fn terraform(arguments: &[&str], dir: &Path) -> (bool, String) {
    let output = Command::new("terraform")
        .arg("fmt")
        .args(arguments)
        .arg(dir)
        .output()
        .expect("terraform must be installed for this test");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

fn read(name: &str, bytes: &[u8]) -> Source {
    let text = Text::new(bytes);
    if name.ends_with(".tf") {
        let (facts, problems) = hcl::read_module_file(name, text, false);
        assert_eq!(problems, [], "{name}: {}", String::from_utf8_lossy(bytes));
        let backends = facts.backends.into_iter().map(|block| block.source);
        backends.chain(facts.readers).next().expect("a backend or a reader")
    } else {
        let (source, problems) = hcl::read_flat(name, text);
        assert_eq!(problems, [], "{name}: {}", String::from_utf8_lossy(bytes));
        source.expect("a table")
    }
}

fn changed(name: &str, bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    match plan_changes(Text::new(bytes), &read(name, bytes), changes) {
        Ok(edits) => edits.apply(bytes),
        Err(refusal) => panic!("{name}: {refusal}\n{}", String::from_utf8_lossy(bytes)),
    }
}

#[test]
fn clean_before_is_clean_after() {
    let dir = tempfile::tempdir().expect("a directory");
    let clean = dir.path().join("clean");
    fs::create_dir(&clean).expect("a directory");
    let mut dice = Dice(20_240_611);
    for number in 0..FILES {
        let (name, text) = match number % 4 {
            0 => (format!("{number}.tfvars"), flat(&mut dice)),
            1 => (format!("{number}.tf"), reader(&mut dice)),
            _ => (format!("{number}.tf"), module(&mut dice)),
        };
        fs::write(clean.join(name), text).expect("written");
    }
    let (formatted, output) = terraform(&["-list=false"], &clean);
    assert!(formatted, "the generator made what terraform refuses:\n{output}");

    let set = vec![Change::set_lockfile(Some("dynamodb_table"))];
    let gone = ["dynamodb_table", "dynamodb_endpoint", "endpoints.dynamodb"].map(Change::remove).to_vec();
    let both: Vec<Change> = set.iter().chain(&gone).cloned().collect();
    let table: Vec<Change> = vec![Change::remove("dynamodb_table")];
    let undo = vec![Change::remove("use_lockfile")];
    let wanted = [("set", &set), ("gone", &gone), ("both", &both), ("table", &table)];
    for (way, _) in wanted {
        fs::create_dir(dir.path().join(way)).expect("a directory");
    }
    let mut rolled_back = 0;
    for entry in fs::read_dir(&clean).expect("listed") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let before = fs::read(&path).expect("read");
        let mut results = Vec::new();
        for (way, changes) in wanted {
            let after = changed(&name, &before, changes);
            fs::write(dir.path().join(way).join(&name), &after).expect("written");
            results.push(after);
        }
        let [in_dual, _, at_last, _] = results.try_into().expect("four ways");
        assert_eq!(changed(&name, &in_dual, &set), in_dual, "{name}: dual again");
        assert_eq!(text(&changed(&name, &in_dual, &gone)), text(&at_last), "{name}: final in two steps");
        let had_one = read(&name, &before).setting("use_lockfile").is_some();
        let one_line =
            before.windows(8).any(|part| part == b"\"s3\" { d") || text(&before).contains("\"s3\" {}");
        if !had_one && !one_line {
            rolled_back += 1;
            assert_eq!(text(&changed(&name, &in_dual, &undo)), text(&before), "{name}: rolled back");
        }
        // A mark that fmt would drop must not trouble the edit.
        let marked = [BOM, before.as_slice()].concat();
        assert_eq!(changed(&name, &marked, &both), [BOM, at_last.as_slice()].concat(), "{name}: with a BOM");
    }
    assert!(rolled_back > FILES / 2, "only {rolled_back} files were rolled back");
    for (way, _) in wanted {
        let (is_clean, output) = terraform(&["-check", "-diff"], &dir.path().join(way));
        assert!(is_clean, "{way}: not clean any more:\n{}", output.chars().take(4000).collect::<String>());
    }
}

#[test]
fn the_oracle_sees_a_line_out_of_column() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("main.tf"), "locals {\n  a = 1\n  bc = 2\n}\n").expect("written");
    assert!(!terraform(&["-check"], dir.path()).0);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
