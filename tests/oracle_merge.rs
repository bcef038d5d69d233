//! The real terraform is the judge: `terraform init` records the backend that it took, and scan must say the
//! same of the same directory. Cases that terraform refuses must be reported as problems.
#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::emulator::Emulator;

/// What the case is meant to show. It guards the oracle: a broken set-up, in which terraform refuses
/// everything, can't pass for agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An s3 backend is taken.
    S3,
    /// An s3 backend is taken; scan may say that it can't tell the mode, and must not say another one.
    S3OrUnknown,
    /// Another backend, a cloud block, or none.
    NotS3,
    /// `init` stops because of the configuration.
    Refused,
}

struct Case {
    name: String,
    kind: Kind,
    files: Vec<(String, Vec<u8>)>,
    /// Arguments of `init`, as the script in the directory gives them.
    init: Vec<String>,
}

fn case(name: impl Into<String>, kind: Kind, files: &[(&str, String)]) -> Case {
    let files = files.iter().map(|(file, text)| ((*file).to_owned(), text.clone().into_bytes())).collect();
    Case { name: name.into(), kind, files, init: Vec::new() }
}

impl Case {
    fn init(mut self, arguments: &[&str]) -> Self {
        self.init = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self
    }

    fn file(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), bytes.into()));
        self
    }
}

/// The settings of every bucket here: `key` tells which block won.
const COMMON: &str = "bucket = \"oracle\"\n region = \"us-east-1\"\n use_path_style = true\n";

fn block(label: &str, settings: &str) -> String {
    format!("terraform {{\n  backend {label} {{\n {COMMON} {settings}\n  }}\n}}\n")
}

fn s3(key: &str, settings: &str) -> String {
    block("\"s3\"", &format!("key = \"{key}\"\n {settings}"))
}

fn json(key: &str, settings: &str) -> String {
    let comma = if settings.is_empty() { "" } else { "," };
    format!(
        r#"{{"terraform": {{"backend": {{"s3": {{"bucket": "oracle", "region": "us-east-1", "use_path_style": true, "key": "{key}"{comma} {settings}}}}}}}}}"#
    )
}

fn cloud() -> String {
    // A port that nobody listens on: terraform stops at service discovery, without any name lookup.
    "terraform {\n  cloud {\n    hostname     = \"localhost:1\"\n    organization = \"acme\"\n    workspaces {\n      \
     name = \"x\"\n    }\n  }\n}\n"
        .to_owned()
}

fn local() -> String {
    "terraform {\n  backend \"local\" {\n    path = \"elsewhere.tfstate\"\n  }\n}\n".to_owned()
}

/// The lock settings that every product below runs through: name, HCL, JSON.
const LOCKS: [(&str, &str, &str); 4] = [
    ("none", "", ""),
    ("table", "dynamodb_table = \"locks\"", r#""dynamodb_table": "locks""#),
    (
        "dual",
        "dynamodb_table = \"locks\"\n use_lockfile = true",
        r#""dynamodb_table": "locks", "use_lockfile": true"#,
    ),
    ("lockfile", "use_lockfile = true", r#""use_lockfile": true"#),
];

/// Every primary syntax and lock mode, alone and under every override syntax and lock mode.
fn overrides() -> Vec<Case> {
    let mut cases = Vec::new();
    for (base, hcl, json_settings) in LOCKS {
        cases.push(case(format!("{base}.tf alone"), Kind::S3, &[("main.tf", s3("base", hcl))]));
        cases.push(case(
            format!("{base}.tf.json alone"),
            Kind::S3,
            &[("main.tf.json", json("base", json_settings))],
        ));
        for (over, over_hcl, over_json) in LOCKS {
            cases.push(case(
                format!("{base}.tf, override.tf {over}"),
                Kind::S3,
                &[("main.tf", s3("base", hcl)), ("override.tf", s3("over", over_hcl))],
            ));
            cases.push(case(
                format!("{base}.tf.json, backend_override.tf.json {over}"),
                Kind::S3,
                &[
                    ("main.tf.json", json("base", json_settings)),
                    ("backend_override.tf.json", json("over", over_json)),
                ],
            ));
        }
        cases.push(case(
            format!("{base}.tf, local_override.tf local"),
            Kind::NotS3,
            &[("main.tf", s3("base", hcl)), ("local_override.tf", local())],
        ));
    }
    let table = LOCKS[1].1;
    let lockfile = LOCKS[3].1;
    let by_order = [
        ("a_override.tf", "b_override.tf"),
        ("a_override.tf", "override.tf"),
        ("override.tf", "z_override.tf"),
        ("Z_override.tf", "a_override.tf"),
        ("a_override.tf", "a_override.tf.json"),
        ("override.tf", "override.tf.json"),
        ("1_override.tf.json", "2_override.tf"),
        ("a-b_override.tf", "a_override.tf"),
    ];
    for (first, second) in by_order {
        let text = |file: &str, key: &str, hcl: &str, json_settings: &str| {
            if file.ends_with(".json") { json(key, json_settings) } else { s3(key, hcl) }
        };
        cases.push(case(
            format!("order of {first} and {second}"),
            Kind::S3,
            &[
                ("main.tf", s3("base", table)),
                (first, text(first, "first", lockfile, LOCKS[3].2)),
                (second, text(second, "second", table, LOCKS[1].2)),
            ],
        ));
    }
    cases.push(case(
        "cloud in an override unsets the backend",
        Kind::NotS3,
        &[("main.tf", s3("base", table)), ("cloud_override.tf", cloud())],
    ));
    cases.push(case(
        "a backend in an override unsets cloud",
        Kind::S3,
        &[("main.tf", cloud()), ("backend_override.tf", s3("over", lockfile))],
    ));
    cases.push(case(
        "cloud, then a backend in a later override",
        Kind::S3,
        &[("main.tf", local()), ("a_override.tf", cloud()), ("b_override.tf", s3("over", table))],
    ));
    cases.push(case(
        "an override brings the only backend",
        Kind::S3,
        &[("main.tf", "locals {}\n".into()), ("override.tf", s3("over", lockfile))],
    ));
    cases.push(case(
        "an override without a backend changes nothing",
        Kind::S3,
        &[
            ("main.tf", s3("base", table)),
            ("override.tf", "terraform {\n required_version = \">= 1.0\"\n}\n".into()),
        ],
    ));
    cases.push(case("no backend at all", Kind::NotS3, &[("main.tf", "locals {}\n".into())]));
    cases
}

/// Values in all spellings.
fn values() -> Vec<Case> {
    let mut cases = Vec::new();
    for (value, kind) in [
        ("true", Kind::S3),
        ("\"true\"", Kind::S3),
        ("\"1\"", Kind::S3),
        ("!false", Kind::S3),
        ("(true)", Kind::S3),
        ("false", Kind::S3),
        ("\"false\"", Kind::S3),
        ("\"0\"", Kind::S3),
        ("null", Kind::S3),
        ("\"yes\"", Kind::Refused),
        ("\"\"", Kind::Refused),
        ("1", Kind::Refused),
        ("\"True\"", Kind::Refused),
        ("var.lockfile", Kind::Refused),
    ] {
        let text = s3("k", &format!("dynamodb_table = \"locks\"\n use_lockfile = {value}"));
        let variable = "variable \"lockfile\" {\n  default = true\n}\n".to_owned();
        cases.push(case(
            format!("use_lockfile = {value}"),
            kind,
            &[("main.tf", text), ("variables.tf", variable)],
        ));
    }
    for value in [
        "null",
        "\"\"",
        "\"locks\"",
        "\"arn:aws:dynamodb:eu-west-1:111122223333:table/locks\"",
        "\"caf\\u00e9-locks\"",
    ] {
        cases.push(case(
            format!("dynamodb_table = {value}"),
            Kind::S3,
            &[("main.tf", s3("k", &format!("dynamodb_table = {value}\n")))],
        ));
    }
    cases.push(case(
        "dynamodb_table in a heredoc",
        Kind::S3OrUnknown,
        &[(
            "main.tf",
            s3(
                "k",
                "dynamodb_table = <<EOT
locks
EOT
",
            ),
        )],
    ));
    for value in ["join(\"-\", [\"acme\", \"locks\"])", "local.table", "\"acme-${terraform.workspace}\""] {
        let local = "locals {
  table = \"locks\"
}
"
        .to_owned();
        cases.push(case(
            format!("dynamodb_table = {value}"),
            Kind::Refused,
            &[
                (
                    "main.tf",
                    s3(
                        "k",
                        &format!(
                            "dynamodb_table = {value}
"
                        ),
                    ),
                ),
                ("locals.tf", local),
            ],
        ));
    }
    for (value, kind) in [
        ("true", Kind::S3),
        ("\"true\"", Kind::S3),
        ("false", Kind::S3),
        ("null", Kind::S3),
        ("\"yes\"", Kind::Refused),
        ("0", Kind::Refused),
    ] {
        let text = json("k", &format!(r#""use_lockfile": {value}, "dynamodb_table": null"#));
        cases.push(case(format!("JSON use_lockfile: {value}"), kind, &[("main.tf.json", text)]));
    }
    cases
}

/// Block backend-config choices, told to scan by the script in the directory.
fn partial() -> Vec<Case> {
    let empty = || "terraform {\n  backend \"s3\" {}\n}\n".to_owned();
    let file = format!("{COMMON} key = \"from-file\"\n dynamodb_table = \"locks\"\n");
    let lockfile = format!("{COMMON} key = \"from-file\"\n use_lockfile = true\n");
    let s3_case = |name: &str, main: String| case(name, Kind::S3, &[("main.tf", main)]);
    vec![
        s3_case("empty block, one file", empty())
            .file("prod.tfbackend", file.clone())
            .init(&["-backend-config=prod.tfbackend"]),
        s3_case("empty block, file under config/", empty())
            .file("config/backend.hcl", lockfile)
            .init(&["-backend-config=config/backend.hcl"]),
        s3_case("two files, later wins", empty())
            .file("common.tfbackend", file.clone())
            .file("prod.tfbackend", "key = \"prod\"\ndynamodb_table = \"prod-locks\"\n")
            .init(&["-backend-config=common.tfbackend", "-backend-config=prod.tfbackend"]),
        s3_case("two files, the other way round", empty())
            .file("common.tfbackend", file.clone())
            .file("prod.tfbackend", "key = \"prod\"\ndynamodb_table = \"prod-locks\"\n")
            .init(&["-backend-config=prod.tfbackend", "-backend-config=common.tfbackend"]),
        s3_case("file then flag", empty())
            .file("prod.tfbackend", file.clone())
            .init(&["-backend-config=prod.tfbackend", "-backend-config=key=from-flag"]),
        s3_case("flag then file", empty())
            .file("prod.tfbackend", file)
            .init(&["-backend-config=key=from-flag", "-backend-config=prod.tfbackend"]),
        s3_case("flag adds the lockfile", s3("k", LOCKS[1].1)).init(&["-backend-config=use_lockfile=true"]),
        s3_case("flag sets the lockfile to 1", s3("k", "")).init(&["-backend-config=use_lockfile=1"]),
        s3_case("flag turns the lockfile off", s3("k", LOCKS[2].1))
            .init(&["-backend-config=use_lockfile=false"]),
        s3_case("flag with an empty table turns it off", s3("k", LOCKS[1].1))
            .init(&["-backend-config=dynamodb_table="]),
        s3_case("flag null is a table of that name", s3("k", "")).init(&["-backend-config=dynamodb_table=null"]),
        s3_case("flag replaces the table", s3("k", LOCKS[1].1))
            .init(&["-backend-config=dynamodb_table=other-locks"]),
        s3_case("same flag twice, later wins", s3("k", "")).init(&[
            "-backend-config=dynamodb_table=first",
            "-backend-config=dynamodb_table=second",
        ]),
        s3_case("double dash", s3("k", "")).init(&["--backend-config=dynamodb_table=locks"]),
        s3_case("separate word", s3("k", "")).init(&["-backend-config", "dynamodb_table=locks"]),
        s3_case("file with null", s3("k", LOCKS[1].1))
            .file("prod.tfbackend", "dynamodb_table = null\n")
            .init(&["-backend-config=prod.tfbackend"]),
        s3_case("file with an empty table", s3("k", LOCKS[1].1))
            .file("prod.tfbackend", "dynamodb_table = \"\"\nuse_lockfile = true\n")
            .init(&["-backend-config=prod.tfbackend"]),
        s3_case("file in JSON", s3("k", ""))
            .file("prod.tfbackend.json", r#"{"dynamodb_table": "locks", "use_lockfile": true}"#)
            .init(&["-backend-config=prod.tfbackend.json"]),
        s3_case("file with comments, CRLF and no last newline", empty())
            .file(
                "prod.tfbackend",
                "# dynamodb_table = \"old\"\r\nbucket = \"oracle\"\r\nregion = \"us-east-1\"\r\nuse_path_style = \
                 true\r\nkey = \"crlf\" // c\r\nuse_lockfile = true",
            )
            .init(&["-backend-config=prod.tfbackend"]),
        case(
            "flag onto an override's block",
            Kind::S3,
            &[("main.tf", s3("base", LOCKS[1].1)), ("override.tf", s3("over", ""))],
        )
        .init(&["-backend-config=use_lockfile=true"]),
        case(
            "file onto a JSON block",
            Kind::S3,
            &[("main.tf.json", json("base", LOCKS[1].2)), ("prod.tfbackend", "use_lockfile = true\n".into())],
        )
        .init(&["-backend-config=prod.tfbackend"]),
        case("flag with a wrong lockfile", Kind::Refused, &[("main.tf", s3("k", ""))])
            .init(&["-backend-config=use_lockfile=yes"]),
        case("file with a wrong lockfile", Kind::Refused, &[("main.tf", s3("k", ""))])
            .file("prod.tfbackend", "use_lockfile = \"on\"\n")
            .init(&["-backend-config=prod.tfbackend"]),
        case("file that is no HCL", Kind::Refused, &[("main.tf", s3("k", ""))])
            .file("prod.tfbackend", "dynamodb_table = \"locks\nuse_lockfile = true\n")
            .init(&["-backend-config=prod.tfbackend"]),
    ]
}

/// Syntax: labels, comments, encodings, the JSON shapes, file names that terraform passes over.
fn syntax() -> Vec<Case> {
    let table = LOCKS[1].1;
    let s3_json = r#"{"bucket": "oracle", "region": "us-east-1", "use_path_style": true, "key": "k", "use_lockfile": true}"#;
    let commented = "# dynamodb_table = \"old\"\n // use_lockfile = true\n /* use_lockfile = true */\n \
                     dynamodb_table = \"locks\" # use_lockfile = true\n";
    let ignored = s3("ignored", LOCKS[3].1);
    let crlf = s3("k", table).replace('\n', "\r\n");
    vec![
        case("unquoted label", Kind::S3, &[("main.tf", block("s3", &format!("key = \"k\"\n{table}")))]),
        case(
            "escaped label",
            Kind::S3,
            &[("main.tf", block("\"\\u0073\\u0033\"", &format!("key = \"k\"\n{table}")))],
        ),
        case("comments are no settings", Kind::S3, &[("main.tf", s3("k", commented))]),
        case(
            "a commented-out block is none",
            Kind::S3,
            &[("main.tf", format!("/*\n{ignored}*/\n{}", s3("k", table)))],
        ),
        case(
            "a block inside a heredoc is none",
            Kind::S3,
            &[("main.tf", format!("locals {{\n  x = <<EOT\n{ignored}\nEOT\n}}\n{}", s3("k", table)))],
        ),
        case("CRLF", Kind::S3, &[("main.tf", crlf)]),
        case("BOM", Kind::S3, &[("main.tf", format!("\u{feff}{}", s3("k", table)))]),
        case("no newline at the end", Kind::S3, &[("main.tf", s3("k", table).trim_end().to_owned())]),
        case("Latin-1 in a comment", Kind::S3, &[("other.tf", "locals {}\n".into())])
            .file("main.tf", [b"# caf\xe9\n".as_slice(), s3("k", table).as_bytes()].concat()),
        case(
            "two terraform blocks, one backend",
            Kind::S3,
            &[("main.tf", format!("terraform {{\n required_version = \">= 1.0\"\n}}\n{}", s3("k", table)))],
        ),
        case(
            "nested arguments do not leak",
            Kind::S3,
            &[(
                "main.tf",
                s3("k", "endpoints = {\n   iam = \"http://127.0.0.1:9\"\n }\n use_lockfile = true"),
            )],
        ),
        case(
            "JSON arrays at every level",
            Kind::S3,
            &[("main.tf.json", format!(r#"{{"terraform": [{{"backend": [{{"s3": [{s3_json}]}}]}}]}}"#))],
        ),
        case(
            "JSON comment keys",
            Kind::S3,
            &[(
                "main.tf.json",
                format!(
                    r#"{{"//": "top", "terraform": {{"//": "x", "required_version": ">= 1.0", "backend": {{"s3": {s3_json}}}}}}}"#
                ),
            )],
        ),
        case(
            "JSON escapes",
            Kind::S3,
            &[(
                "main.tf.json",
                json("k", r#""dynam\u006fdb_table": "l\u006fcks""#).replace("\"s3\"", "\"\\u00733\""),
            )],
        ),
        case(
            "names that terraform passes over",
            Kind::S3,
            &[
                ("main.tf", s3("k", table)),
                (".hidden.tf", ignored.clone()),
                ("main.tf~", ignored.clone()),
                ("#main.tf#", ignored.clone()),
                ("main.tf.bak", ignored.clone()),
                ("main.tf.tofu~", ignored.clone()),
                (".x_override.tf", ignored.clone()),
                ("override.tf.disabled", ignored.clone()),
                ("myoverride.txt", ignored.clone()),
            ],
        ),
        case(
            "myoverride.tf is a primary file",
            Kind::Refused,
            &[("main.tf", s3("k", table)), ("myoverride.tf", ignored)],
        ),
        case(
            "subdirectories are other modules",
            Kind::S3,
            &[("main.tf", s3("k", table)), ("modules/x/main.tf", "locals {}\n".into())],
        ),
        case(
            "two blocks in one file",
            Kind::Refused,
            &[("main.tf", format!("{}{}", s3("a", table), s3("b", "")))],
        ),
        case("two files", Kind::Refused, &[("a.tf", s3("a", table)), ("b.tf", s3("b", ""))]),
        case("both syntaxes", Kind::Refused, &[("a.tf", s3("a", table)), ("b.tf.json", json("b", ""))]),
        case(
            "two in one override",
            Kind::Refused,
            &[("main.tf", s3("a", table)), ("override.tf", format!("{}{}", s3("b", table), s3("c", "")))],
        ),
        case("backend and cloud", Kind::Refused, &[("main.tf", s3("a", table)), ("cloud.tf", cloud())]),
        case("s3 and local", Kind::Refused, &[("a.tf", s3("a", table)), ("b.tf", local())]),
        case(
            "unclosed block",
            Kind::Refused,
            &[("main.tf", s3("a", table).trim_end().trim_end_matches('}').to_owned())],
        ),
        case("same argument twice", Kind::Refused, &[("main.tf", s3("a", &format!("{table}\n {table}")))]),
        case("broken JSON", Kind::Refused, &[("main.tf.json", json("a", LOCKS[1].2) + "}")]),
        case(
            "another file is broken",
            Kind::Refused,
            &[
                ("main.tf", s3("a", table)),
                ("versions.tf", "terraform {\n  required_version = \">= 1.0\"\n".into()),
            ],
        ),
    ]
}

/// What terraform did.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    S3(Backend),
    NotS3(String),
    Refused(String),
}

#[derive(Debug, PartialEq, Eq)]
struct Backend {
    mode: String,
    bucket: Option<String>,
    key: Option<String>,
    table: Option<String>,
    lockfile: bool,
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn ask_terraform(dir: &Path, case: &Case, emulator: &Emulator) -> Verdict {
    let mut command = support::terraform(dir, emulator);
    let output = support::run(command.args(["init", "-input=false", "-no-color"]).args(&case.init));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let record: Value = fs::read(dir.join(".terraform/terraform.tfstate"))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or(Value::Null);
    if !output.status.success() {
        // Terraform took the cloud block: it got as far as looking for the service, which is not there. (With an
        // invalid configuration it says both.)
        let invalid = stderr.contains("including problems\nwith the configuration");
        return if stderr.contains("Failed to request discovery document") && !invalid {
            Verdict::NotS3("cloud".into())
        } else {
            Verdict::Refused(stderr)
        };
    }
    let backend = &record["backend"];
    if backend["type"] != "s3" {
        return Verdict::NotS3(text(&backend["type"]).unwrap_or_else(|| "no backend".into()));
    }
    let config = &backend["config"];
    let table = text(&config["dynamodb_table"]);
    let lockfile = config["use_lockfile"].as_bool().unwrap_or(false);
    let mode = match (&table, lockfile) {
        (Some(_), true) => "dual",
        (Some(_), false) => "dynamodb",
        (None, true) => "lockfile",
        (None, false) => "none",
    };
    Verdict::S3(Backend {
        mode: mode.into(),
        bucket: text(&config["bucket"]),
        key: text(&config["key"]),
        table,
        lockfile,
    })
}

/// What scan says that Terraform sees in the directory itself.
fn ask_scan(dir: &Path) -> (Vec<Backend>, Value, Value) {
    let scan = support::scan(dir);
    let backends = scan.json["roots"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|root| root["path"] == ".")
        .flat_map(|root| root["backends"].as_array().cloned().unwrap_or_default())
        .filter(|backend| backend["engine"] != "opentofu")
        .map(|backend| Backend {
            mode: text(&backend["mode"]).unwrap_or_default(),
            bucket: text(&backend["bucket"]),
            key: text(&backend["key"]),
            table: text(&backend["dynamodb_table"]),
            lockfile: backend["use_lockfile"].as_bool().unwrap_or(false),
        })
        .collect();
    (backends, scan.json["problems"].clone(), scan.json)
}

/// Whether scan says of every backend that it can't be told: that is no "clean".
fn all_unknown(backends: &[Backend]) -> bool {
    !backends.is_empty() && backends.iter().all(|backend| backend.mode == "unknown")
}

/// Whether scan gives the directory's backends to OpenTofu alone: references in a block are an error to
/// Terraform and none to OpenTofu.
fn only_opentofu(scan: &Value) -> bool {
    let backends = scan["roots"][0]["backends"].as_array();
    backends.is_some_and(|all| !all.is_empty() && all.iter().all(|backend| backend["engine"] == "opentofu"))
}

fn lay(case: &Case, dir: &Path) {
    for (name, bytes) in &case.files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directory is made");
        fs::write(path, bytes).expect("file is written");
    }
    if !case.init.is_empty() {
        let words: Vec<String> = case.init.iter().map(|word| format!("\"{word}\"")).collect();
        let script = format!("#!/bin/sh\nset -e\nterraform init -input=false {}\n", words.join(" "));
        fs::write(dir.join("init.sh"), script).expect("script is written");
    }
}

#[test]
fn scan_agrees_with_terraform_init() {
    let emulator = Emulator::start();
    emulator.create_bucket("oracle");
    let cases: Vec<Case> = [overrides(), values(), partial(), syntax()].into_iter().flatten().collect();
    let mut wrong = Vec::new();
    for case in &cases {
        let dir = tempfile::tempdir().expect("temporary directory");
        lay(case, dir.path());
        // Scan first: terraform leaves files behind.
        let (backends, problems, whole) = ask_scan(dir.path());
        let verdict = ask_terraform(dir.path(), case, &emulator);
        let kind = match &verdict {
            Verdict::S3(_) => Kind::S3,
            Verdict::NotS3(_) => Kind::NotS3,
            Verdict::Refused(_) => Kind::Refused,
        };
        if kind != case.kind && !(kind == Kind::S3 && case.kind == Kind::S3OrUnknown) {
            wrong.push(format!("{}: the case is wrong, terraform said {verdict:?}", case.name));
            continue;
        }
        let honest = case.kind == Kind::S3OrUnknown && backends.len() == 1 && backends[0].mode == "unknown";
        if honest {
            continue;
        }
        let no_problems = problems.as_array().is_none_or(Vec::is_empty);
        match &verdict {
            Verdict::S3(expected) if backends.len() != 1 || backends.first() != Some(expected) => {
                wrong.push(format!(
                    "{}:\n  terraform {expected:?}\n  scan      {backends:?}\n  problems  {problems}",
                    case.name
                ));
            }
            Verdict::S3(_) if !no_problems => {
                wrong.push(format!("{}: terraform takes it, scan has problems: {problems}", case.name));
            }
            Verdict::NotS3(what) if !backends.is_empty() => {
                wrong.push(format!("{}: terraform uses {what}, scan says {backends:?}", case.name));
            }
            Verdict::Refused(stderr) if no_problems && !only_opentofu(&whole) && !all_unknown(&backends) => {
                wrong.push(format!(
                    "{}: terraform refuses, scan reports no problem\n  {}\n  scan {}",
                    case.name,
                    stderr.lines().find(|line| line.contains("Error")).unwrap_or_default(),
                    whole["roots"]
                ));
            }
            _ => {}
        }
    }
    assert!(cases.len() >= 100, "the matrix shrank to {} cases", cases.len());
    assert!(wrong.is_empty(), "{} of {} cases disagree:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
