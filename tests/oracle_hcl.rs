//! HashiCorp's own HCL parser is the judge: the backend blocks and literal arguments that it finds in every
//! `.tf` fixture are the ones that our reader finds, and a file that it refuses is a problem for us, too.
#![cfg(test)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lockshift::repo::setting::{Setting, Value as Ours};
use lockshift::repo::syntax::hcl::read_module_file;
use lockshift::repo::text::Text;
use serde_json::Value;

/// One backend block: its label, and its arguments by (dotted) name.
type Block = (String, BTreeMap<String, Worth>);

/// What an argument is worth, as far as both sides can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Worth {
    Literal(String),
    /// An expression: ours may resolve it, hcl2json never does.
    Expression,
    Secret,
}

fn fixtures(below: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(below)
        .unwrap_or_else(|error| panic!("{}: {error}", below.display()))
        .map(|entry| entry.expect("directory entry is readable").path())
        .collect();
    entries.sort();
    for path in entries {
        let kind = fs::symlink_metadata(&path).expect("entry has metadata").file_type();
        if kind.is_dir() {
            fixtures(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "tf") {
            found.push(path);
        }
    }
}

/// Reads all files in one run of node: starting the WebAssembly module is the dear part.
fn hcl2json(files: &[PathBuf]) -> Value {
    let modules = std::env::var_os("LOCKSHIFT_NODE_DEPS")
        .map_or_else(|| support::repository().join("target/ci-node"), PathBuf::from);
    let mut child = Command::new("node")
        .arg(support::repository().join("tests/support/hcl2json.mjs"))
        .arg(&modules)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node starts: install Node.js 18 or newer");
    let list: Vec<&str> = files.iter().map(|file| file.to_str().expect("fixture paths are UTF-8")).collect();
    child.stdin.take().expect("stdin is piped").write_all(list.join("\n").as_bytes()).expect("node reads");
    let output = child.wait_with_output().expect("node ends");
    assert!(
        output.status.success(),
        "hcl2json failed; run `scripts/test`, which installs the pinned parser into {}:\n{}",
        modules.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("hcl2json prints JSON")
}

/// Literal worth of a parsed string. hcl2json keeps templates as written, `$${` included.
fn string_worth(text: &str) -> Worth {
    let plain = text.replace("$${", "").replace("%%{", "");
    if plain.contains("${") || plain.contains("%{") {
        Worth::Expression
    } else {
        Worth::Literal(text.replace("$${", "${").replace("%%{", "%{"))
    }
}

fn flatten(prefix: &str, value: &Value, into: &mut BTreeMap<String, Worth>) {
    match value {
        Value::Object(items) => {
            for (name, item) in items {
                let dotted = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&dotted, item, into);
            }
        }
        // A nested block is an array of bodies; an argument's list is one of scalars.
        Value::Array(items) if items.iter().all(Value::is_object) => {
            for item in items {
                flatten(prefix, item, into);
            }
        }
        Value::Array(_) => {
            into.insert(prefix.to_owned(), Worth::Expression);
        }
        Value::String(text) => {
            into.insert(prefix.to_owned(), string_worth(text));
        }
        other => {
            into.insert(prefix.to_owned(), Worth::Literal(other.to_string()));
        }
    }
}

fn theirs(document: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    for terraform in document["terraform"].as_array().into_iter().flatten() {
        for (label, bodies) in terraform["backend"].as_object().into_iter().flatten() {
            for body in bodies.as_array().into_iter().flatten() {
                let mut settings = BTreeMap::new();
                // Settings are read of s3 backends only.
                if label == "s3" {
                    flatten("", body, &mut settings);
                }
                blocks.push((label.clone(), settings));
            }
        }
    }
    blocks
}

fn worth(setting: &Setting) -> Worth {
    if !setting.via.is_empty() {
        return Worth::Expression;
    }
    match &setting.value {
        Ours::Text(text) => Worth::Literal(text.clone()),
        Ours::Bool(value) => Worth::Literal(value.to_string()),
        Ours::Number(number) => Worth::Literal(number.clone()),
        Ours::Null => Worth::Literal("null".into()),
        Ours::Secret => Worth::Secret,
        Ours::Unknown { .. } | Ours::Object => Worth::Expression,
    }
}

/// Bodies of a backend block that are easy to read wrongly: strings and templates with braces and quotes in them,
/// heredocs, comments in odd places, objects in both spellings.
const BODIES: &[&str] = &[
    r#"key = "a{b}c" "#,
    r#"key = "}" "#,
    r#"key = "\"}\"" "#,
    r#"key = "a\\" "#,
    r#"key = "tab\there \u00e9 \U0001F600" "#,
    r#"key = "$${literal} %%{literal}" "#,
    r#"key = "${var.a}/${lookup({ "}" = "{" }, "}")}" "#,
    r#"key = "%{ if true }x%{ else }}%{ endif }" "#,
    r#"key = "a#b//c/*d*/" "#,
    "key = \"k\" # dynamodb_table = \"x\"",
    "key = \"k\" // use_lockfile = true }",
    "key = /* } */ \"k\" /* { */",
    "/* key = \"x\" */ key = \"k\"",
    "# }\n// }\n/* } */\nkey = \"k\"",
    "key = <<EOT\n}\nEOT",
    "key = <<-EOT\n    a\n      b\n    EOT\nuse_lockfile = true",
    "key = <<EOT\ndynamodb_table = \"x\"\n# EOT\nEOT\ndynamodb_table = \"t\"",
    "key = <<EOT\n${\"}\"}\nEOT",
    "key\t=\t\"k\"\r",
    "use_lockfile=true\ndynamodb_table=null",
    "use_lockfile = !true",
    "use_lockfile = (true)",
    "use_lockfile = true ? true : false",
    "use_lockfile = var.dynamodb_table",
    "max_retries = 5\nskip_region_validation = false",
    "endpoints = { s3 = \"http://s3\", dynamodb = \"http://d\" }",
    "endpoints = {\n s3 = \"http://s3\"\n \"dynamodb\" : \"http://d\",\n}",
    "endpoints {\n s3 = \"http://s3\"\n}",
    "assume_role = {\n role_arn = \"arn:aws:iam::111122223333:role/x\"\n}",
    "assume_role {\n role_arn = \"arn:aws:iam::111122223333:role/x\"\n}\nkey = \"k\"",
    "key = join(\"/\", [\"a\", \"b\"])",
    "key = trimspace(<<EOT\n)}\nEOT\n)",
    "key = \"k\"\n\n\n\ndynamodb_table = \"t\"",
    "dynamodb-table = \"not the argument\"",
    "dynamodb_table_name = \"not the argument\"",
    // Refused by HashiCorp's parser: a problem for us, too.
    "key = \"k\" dynamodb_table = \"t\"",
    "key = \"unterminated",
    "key = <<EOT\nnever closed",
    "key = ",
    "= \"k\"",
    "key = \"k\" }",
    "key = { a = 1",
    "key : \"k\"",
    "/* never closed",
    "key = \"a\nb\"",
];

#[test]
fn awkward_bodies_are_read_as_hashicorps_parser_reads_them() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let files: Vec<PathBuf> = BODIES
        .iter()
        .enumerate()
        .map(|(number, body)| {
            let file = dir.path().join(format!("{number:02}.tf"));
            let text = format!("locals {{}}\nterraform {{\n  backend \"s3\" {{\n{body}\n  }}\n}}\n");
            fs::write(&file, text).expect("file is written");
            file
        })
        .collect();
    let (wrong, compared) = compare(&files, agree_or_unknown);
    let wrong: Vec<String> =
        wrong.iter().map(|line| line.replace(&dir.path().display().to_string(), "")).collect();
    assert!(compared >= 30, "only {compared} backend blocks were compared");
    assert!(wrong.is_empty(), "{} of {} bodies differ:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

#[test]
fn blocks_and_literals_are_those_of_hashicorps_parser() {
    let mut files = Vec::new();
    fixtures(&support::repository().join("fixtures"), &mut files);
    assert!(files.len() >= 40, "only {} .tf fixtures were found", files.len());
    let (wrong, compared) = compare(&files, agree);
    assert!(compared >= 60, "only {compared} backend blocks were compared");
    assert!(wrong.is_empty(), "{} of {} files differ:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

/// Where we differ, and how many backend blocks were compared.
fn compare(files: &[PathBuf], agree: fn(&Block, &Block) -> bool) -> (Vec<String>, usize) {
    let answers = hcl2json(files);
    let mut wrong = Vec::new();
    let mut compared = 0;
    for file in files {
        let name = file.to_str().expect("fixture paths are UTF-8");
        let bytes = fs::read(file).expect("fixture is readable");
        let is_override = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .is_some_and(|stem| stem == "override" || stem.ends_with("_override"));
        let (facts, problems) = read_module_file(name, Text::new(&bytes), is_override);
        let answer = &answers[name];
        let Some(document) = answer.get("ok") else {
            if problems.is_empty() {
                wrong.push(format!("{name}: HashiCorp's parser refuses it, we do not: {}", answer["error"]));
            }
            continue;
        };
        if !problems.is_empty() {
            wrong.push(format!("{name}: HashiCorp's parser takes it, we do not: {problems:?}"));
        }
        // hcl2json groups blocks by label, so order between labels is not comparable: sort both.
        let mut expected = theirs(document);
        let mut ours: Vec<Block> = facts
            .backends
            .iter()
            .map(|block| {
                // A nested block or object is there twice: itself, and its items by dotted names.
                let settings = block.source.settings.iter().filter(|setting| setting.value != Ours::Object);
                let settings = settings.map(|setting| (setting.name.clone(), worth(setting))).collect();
                (block.backend_type.clone(), settings)
            })
            .collect();
        compared += expected.len();
        let order = |block: &Block| format!("{block:?}");
        expected.sort_by_key(order);
        ours.sort_by_key(order);
        let same = expected.len() == ours.len()
            && expected.iter().zip(&ours).all(|(expected, ours)| agree(expected, ours));
        if !same {
            wrong.push(format!("{name}:\n  parser {expected:?}\n  ours   {ours:?}"));
        }
    }
    (wrong, compared)
}

/// Same label, same names, same literals; a secret's text is not kept, and an expression's value may be resolved.
fn agree(expected: &Block, ours: &Block) -> bool {
    expected.0 == ours.0
        && expected.1.keys().eq(ours.1.keys())
        && expected.1.iter().all(|(name, expected)| match (expected, ours.1.get(name)) {
            (_, Some(Worth::Secret)) => true,
            // `!false` is computed by hcl2json and may be by us.
            (expected, Some(ours)) => expected == ours,
            (_, None) => false,
        })
}

/// The same, but a heredoc may be unknown to us, and what hcl2json leaves an expression may be known.
fn agree_or_unknown(expected: &Block, ours: &Block) -> bool {
    let mut expected = expected.clone();
    for (name, worth) in &mut expected.1 {
        match (&*worth, ours.1.get(name)) {
            (Worth::Literal(text), Some(Worth::Expression)) if text.contains('\n') => {
                *worth = Worth::Expression;
            }
            (Worth::Expression, Some(Worth::Literal(text))) if text == "true" => {
                *worth = Worth::Literal(text.clone());
            }
            _ => {}
        }
    }
    agree(&expected, ours)
}
