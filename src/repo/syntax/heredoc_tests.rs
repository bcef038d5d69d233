//! Tests of [`super`]: the ways in which scripts write a backend.

use proptest::prelude::*;

use super::*;
use crate::repo::patience::processor_time;
use crate::repo::setting::Value;

fn read(file: &str, text: &str) -> Vec<Source> {
    let (sources, problems) = read_heredocs(file, Text::new(text.as_bytes()));
    assert_eq!(problems, []);
    sources
}

fn one(file: &str, text: &str) -> Source {
    let mut sources = read(file, text);
    assert_eq!(sources.len(), 1, "{sources:#?}");
    sources.remove(0)
}

fn settings(text: &str, source: &Source) -> Vec<String> {
    source
        .settings
        .iter()
        .map(|setting| {
            let slice = |span: Span| &text[span.start..span.end];
            assert_eq!(slice(setting.name_span), setting.name);
            assert!(
                slice(setting.span).starts_with(&setting.name)
                    && slice(setting.span).ends_with(slice(setting.value_span))
            );
            match &setting.value {
                Value::Text(value) => format!("{}={value}", setting.name),
                Value::Bool(value) => format!("{}={value}", setting.name),
                Value::Unknown { expression, .. } => format!("{}?{expression}", setting.name),
                other => format!("{}:{other:?}", setting.name),
            }
        })
        .collect()
}

#[test]
fn a_shell_heredoc_with_variables_in_strings_is_safe() {
    let text = "#!/bin/sh\ncat > \"$DIR/backend.tf\" <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"${BUCKET}\"\n    key    = \"$NAME/tf\"\n    # dynamodb_table = \"no\"\n    dynamodb_table = \"locks\"\n    encrypt = true\n  }\n}\nEOF\n";
    let source = one("x.sh", text);
    assert_eq!(source.kind, SourceKind::Heredoc);
    assert!(source.editability.is_safe(), "{:?}", source.editability);
    assert_eq!(source.place.to_string(), "x.sh:4:3");
    assert_eq!(source.label.as_deref(), Some("$DIR/backend.tf"));
    let found = settings(text, &source);
    assert_eq!(found.len(), 4);
    assert!(found[0].starts_with("bucket?"), "{found:?}");
    assert_eq!(found[1..], ["key?$NAME/tf", "dynamodb_table=locks", "encrypt=true"]);
    assert_eq!(&text[source.span.start..source.span.start + 14], "backend \"s3\" {");
}

#[test]
fn bare_variables_are_reported_only() {
    let text = "cat <<-'END' | tee backend.tf\n\tterraform {\n\t  backend \"s3\" {\n\t    encrypt = $ENC\n\t    dynamodb_table = \"locks\"\n\t  }\n\t}\n\tEND\n";
    let source = one("x.sh", text);
    assert!(!source.editability.is_safe());
    assert!(settings(text, &source).contains(&"dynamodb_table=locks".to_owned()), "{source:#?}");
}

#[test]
fn flat_files_by_name_or_by_call() {
    let text = "cat > prod.tfbackend <<EOF\nbucket = \"b\"\ndynamodb_table = \"t\"\nEOF\ncat > my.vars <<EOF\nlock_table = \"x\"\nEOF\ncat > other.vars <<EOF\ndynamodb_table = \"no\"\nEOF\nterraform init -backend-config=my.vars\n";
    let sources = read("x.sh", text);
    assert_eq!(sources.len(), 2, "{sources:#?}");
    assert_eq!(settings(text, &sources[0]), ["bucket=b", "dynamodb_table=t"]);
    assert_eq!(sources[0].label.as_deref(), Some("prod.tfbackend"));
    assert!(sources[0].editability.is_safe());
    assert_eq!(settings(text, &sources[1]), ["lock_table=x"]);
}

#[test]
fn a_flat_file_under_a_variable_name_is_known_by_its_shape() {
    let text = "cat > \"$CONFIG_FILE\" <<EOF\nbucket = \"${BUCKET}\"\nkey = \"a.tfstate\"\ndynamodb_table = \"locks\"\nEOF\n";
    let source = one("bootstrap.sh", text);
    assert_eq!(source.label.as_deref(), Some("$CONFIG_FILE"));
    assert_eq!(settings(text, &source), ["bucket?\"${BUCKET}\"", "key=a.tfstate", "dynamodb_table=locks"]);
    assert_eq!(source.editability, Editability::Safe);
    // Another program's settings among them, or a file that is no backend-config: told, and not edited.
    for other in [text.replace("key =", "colour ="), text.replace("$CONFIG_FILE", "notes.ini")] {
        assert!(!one("bootstrap.sh", &other).editability.is_safe(), "{other}");
    }
}

#[test]
fn pieces_printed_and_lines_rewritten() {
    let text = "echo \"terraform {\" > b.tf\necho \"  backend \\\"s3\\\" {\" >> b.tf\necho \"    dynamodb_table = \\\"locks\\\"\" >> b.tf\necho \"    key = \\\"$KEY\\\"\" >> b.tf\necho \"  }\" >> b.tf\nsed -i 's/dynamodb_table *= \".*\"/use_lockfile = true/' main.tf\n# sed 's/dynamodb_table/x/'\nprintf 'use_lockfile = true\\n' >> backend.hcl\necho \"terraform init -backend-config=dynamodb_table=x\"\n";
    let sources = read("x.sh", text);
    let seen: Vec<(SourceKind, Vec<String>, bool)> = sources
        .iter()
        .map(|source| (source.kind, settings(text, source), source.editability.is_safe()))
        .collect();
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        seen,
        [
            (SourceKind::Echo, own(&["dynamodb_table=locks", "key?$KEY"]), false),
            (SourceKind::Echo, own(&["use_lockfile?true/"]), false),
            (SourceKind::Echo, own(&["use_lockfile=true"]), false),
        ]
    );
    assert_eq!(sources[0].place.to_string(), "x.sh:2:9");
}

#[test]
fn yaml_powershell_and_program_code() {
    let block = "terraform {\n  backend \"s3\" {\n    dynamodb_table = \"t\"\n  }\n}\n";
    let indent = |by: &str| block.lines().map(|line| format!("{by}{line}\n")).collect::<String>();

    let text = format!("data:\n  backend.tf: |\n{}", indent("    "));
    let source = one("map.yaml", &text);
    assert_eq!((source.kind, source.label.as_deref()), (SourceKind::Heredoc, Some("backend.tf")));
    assert_eq!(settings(&text, &source), ["dynamodb_table=t"]);
    assert!(source.editability.is_safe());

    let text = format!(
        "steps:\n  - run: |\n      cat > b.tf <<EOF\n{}      EOF\n      terraform init\n",
        indent("      ")
    );
    let source = one(".github/workflows/a.yml", &text);
    assert!(source.editability.is_safe(), "{source:#?}");
    assert_eq!(source.label.as_deref(), Some("b.tf"));

    let text = format!("$x = @\"\n{block}\"@ | Out-File -FilePath b.tf\n");
    assert!(one("x.ps1", &text).editability.is_safe());

    let text = format!("open('b.tf', 'w').write('''\n{block}''')\nHELP = \"\"\"x\"\"\"\n");
    let source = one("x.py", &text);
    assert_eq!(
        (source.kind, settings(&text, &source)),
        (SourceKind::Heredoc, vec!["dynamodb_table=t".to_owned()])
    );

    let text = "f.write(f'''\nterraform {{\n  backend \"s3\" {{\n    dynamodb_table = \"{table}\"\n    key = \"k\"\n  }}\n}}\n''')\n";
    let source = one("x.py", text);
    assert!(!source.editability.is_safe());

    let text = format!("File.write('b.tf', <<~HCL)\n{}HCL\n", indent("  "));
    assert_eq!(one("x.rb", &text).kind, SourceKind::Heredoc);
}

#[test]
fn what_is_no_backend() {
    for (file, text) in [
        ("x.sh", "# backend \"s3\" {\n"),
        ("x.sh", "grep 'backend \"s3\"' *.tf\n"),
        ("x.sh", "cat <<EOF\n# backend \"s3\" {\n# }\nEOF\n"),
        ("README.md", "```\nbackend \"s3\" {\n}\n```\n"),
        ("main.tf", "terraform {\n  backend \"s3\" {\n  }\n}\n"),
        ("x.sh", "lock_table=$(grep x | sed 's/a/b/')\necho \"old dynamodb_table found\"\n"),
        ("x.sh", "aws dynamodb create-table --table-name dynamodb_table\n"),
    ] {
        assert_eq!(read(file, text), [], "{file} {text}");
    }
}

#[test]
fn text_in_comments_over_many_lines_is_written_nowhere() {
    let block = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"t\"\n  }\n}\n";
    for (file, open, close) in [
        ("x.sh", ": <<'X'\n", "X\n"),
        ("x.rb", "=begin\n", "=end\n"),
        ("x.ps1", "<#\n", "#>\n"),
        ("x.js", "/*\n", "*/\n"),
    ] {
        assert_eq!(read(file, &format!("{open}{block}{close}")), [], "{file}");
        let line = "echo 'dynamodb_table = \"t\"' > a.tfbackend\n";
        assert_eq!(read(file, &format!("{open}{line}{close}")), [], "{file}");
        let heredoc = format!("cat > b.tf <<'B'\n{block}B\n");
        assert_eq!(read(file, &format!("{open}{heredoc}{close}")), [], "{file}");
    }
    let text = format!(": <<'X'\nno\nX\ncat > b.tf <<'B'\n{block}B\n");
    assert_eq!(settings(&text, &one("x.sh", &text)), ["bucket=b", "dynamodb_table=t"]);
}

proptest! {
    #[test]
    fn any_bytes(
        name in proptest::sample::select(vec!["x.sh", "x.yml", "x.py", "x.ps1", "x.js"]),
        parts in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(vec![
                    "backend \"s3\" {", "backend \\\"s3\\\" {", "dynamodb_table = ", "\"t\"", "}", "\n", "cat > b.tf <<EOF\n", "EOF\n",
                    "@\"\n", "\n\"@", "'''", "`", "x: |\n  ", "echo ", "sed ", "\\", "é", "# ", "terraform {\n",
                ]).prop_map(|text| text.as_bytes().to_vec()),
                any::<u8>().prop_map(|byte| vec![byte]),
            ],
            0..40,
        ),
    ) {
        let bytes = parts.concat();
        for source in read_heredocs(name, Text::new(&bytes)).0 {
            prop_assert!(source.span.end <= bytes.len());
            for setting in &source.settings {
                prop_assert!(source.span.contains(setting.span));
            }
        }
    }
}

#[test]
fn hostile_text_costs_linear_time() {
    for part in [
        "backend \"s3\" {\n",
        "<<EOF\n",
        "@\"\n",
        "x: |\n",
        "echo dynamodb_table=\n",
        "'''\n",
        "backend \\\"s3\\\" {",
    ] {
        for name in ["x.sh", "x.yml", "x.py", "x.ps1"] {
            let text = format!("use_lockfile\n{}", part.repeat(100_000 / part.len()));
            let start = processor_time();
            read_heredocs(name, Text::new(text.as_bytes()));
            let spent = processor_time() - start;
            assert!(spent.as_secs() < 5, "{name} {part:?} {spent:?}");
        }
    }
}

#[test]
fn settings_without_a_backend_block_in_written_text() {
    let python = "ROOT = '''# Root\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket         = \"${local.id}-states\"\n    dynamodb_table = \"locks\"\n  }\n}\n'''\n";
    let source = one("generate.py", python);
    assert_eq!(source.kind, SourceKind::Heredoc);
    assert_eq!(source.place.line, 5);
    assert_eq!(settings(python, &source), ["bucket?${local.id}-states", "dynamodb_table=locks"]);
    assert!(!source.editability.is_safe());

    let yaml = "cat > stack.yaml <<EOF\nterraform:\n  backend:\n    s3:\n      bucket: \"b\"\n\n      # Locks\n      dynamodb_table: \"t\"\nvars:\n  region: x\nEOF\n";
    let source = one("new.sh", yaml);
    assert_eq!(settings(yaml, &source), ["bucket=b", "dynamodb_table=t"]);

    // A sentence about a setting, and a table of another kind of program.
    assert_eq!(read("doc.py", "X = '''\nbucket: the bucket\ndynamodb_table: name of the table\n'''\n"), []);
    assert_eq!(read("app.py", "X = '''\ndynamodb_table: orders\n'''\n"), []);
}

#[test]
fn many_lock_settings_without_a_bucket_cost_no_more_than_their_length() {
    let rows = "  dynamodb_table = \"t\"\n".repeat(40_000);
    let one_line = "dynamodb_table x ".repeat(60_000);
    let started = processor_time();
    assert_eq!(read("a.py", &format!("X = '''\n{rows}'''\n")), []);
    assert_eq!(read("a.py", &format!("X = '''\n{one_line}\n'''\n")), []);
    let spent = processor_time() - started;
    assert!(spent.as_secs() < 20, "{spent:?}");
}
