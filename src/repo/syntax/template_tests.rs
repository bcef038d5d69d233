//! Tests of [`super`]: placeholders of each kind, inside and outside of quotes.

use proptest::prelude::*;

use super::*;
use crate::repo::patience::processor_time;
use crate::repo::setting::Value;

fn read(file: &str, text: &str) -> Vec<Source> {
    let (sources, problems) = read_template(file, Text::new(text.as_bytes()));
    assert_eq!(problems, []);
    sources
}

fn one(file: &str, text: &str) -> Source {
    let mut sources = read(file, text);
    assert_eq!(sources.len(), 1, "{sources:#?}");
    sources.remove(0)
}

fn settings(source: &Source) -> Vec<String> {
    source
        .settings
        .iter()
        .map(|setting| match &setting.value {
            Value::Text(value) => format!("{}={value}", setting.name),
            Value::Bool(value) => format!("{}={value}", setting.name),
            Value::Unknown { .. } => format!("{}?", setting.name),
            other => format!("{}:{other:?}", setting.name),
        })
        .collect()
}

fn reason(source: &Source) -> &str {
    match &source.editability {
        Editability::Safe => "",
        Editability::ReportOnly(reason) | Editability::Generated(reason) => reason,
    }
}

#[test]
fn placeholders_in_quotes_are_safe() {
    for placeholder in [
        "{{ bucket }}",
        "${bucket}",
        "<%= @bucket %>",
        "###BUCKET###",
        "<BUCKET>",
        "{{cookiecutter.b}}",
        "__BUCKET__",
        "@@B@@",
    ] {
        let text = format!(
            "terraform {{\n  backend \"s3\" {{\n    bucket = \"{placeholder}\"\n    dynamodb_table = \"locks\"\n    encrypt = true\n  }}\n}}\n"
        );
        let source = one("backend.tf.tpl", &text);
        assert_eq!(reason(&source), "", "{placeholder}");
        assert_eq!(settings(&source), ["bucket?", "dynamodb_table=locks", "encrypt=true"], "{placeholder}");
        assert_eq!((source.kind, source.syntax), (SourceKind::Template, Syntax::HclBody));
        assert_eq!(&text[source.span.start..source.span.start + 12], "backend \"s3\"");
        assert_eq!(source.place.to_string(), "backend.tf.tpl:2:3");
    }
}

#[test]
fn bare_placeholders_and_control_tags_are_reported_only() {
    for line in [
        "bucket = {{ bucket }}",
        "bucket = <BUCKET>",
        "bucket = ###BUCKET###",
        "bucket = <%= b %>",
        "encrypt = ${e}",
    ] {
        let text = format!(
            "terraform {{\n  backend \"s3\" {{\n    {line}\n    dynamodb_table = \"locks\"\n  }}\n}}\n"
        );
        let source = one("backend.tf.j2", &text);
        assert!(!source.editability.is_safe(), "{line}");
        assert!(settings(&source).contains(&"dynamodb_table=locks".to_owned()), "{line}: {source:#?}");
    }
    for tag in ["{% if table %}", "{{- if .Table }}", "%{ if table }", "<% if t %>", "{{#table}}"] {
        let text = format!("  backend \"s3\" {{\n{tag}\n    dynamodb_table = \"locks\"\n  }}\n");
        let source = one("backend.tf.j2", &text);
        assert!(!source.editability.is_safe(), "{tag}");
        assert!(settings(&source).contains(&"dynamodb_table=locks".to_owned()), "{tag}: {source:#?}");
    }
}

#[test]
fn tags_around_the_block_do_not_touch_it() {
    let text = "{% if s3 %}\nterraform {\n  backend \"s3\" {\n    key = \"{{ k }}\"\n  }\n}\n{% endif %}\n";
    let source = one("main.tf.j2", text);
    assert!(source.editability.is_safe(), "{}", reason(&source));
    assert_eq!(settings(&source), ["key?"]);
}

#[test]
fn flat_files_and_remote_state() {
    let source =
        one("prod.tfbackend.example", "# copy me\nbucket = \"<your-bucket>\"\ndynamodb_table = \"locks\"\n");
    assert_eq!(settings(&source), ["bucket?", "dynamodb_table=locks"]);
    assert!(source.editability.is_safe());
    assert_eq!(source.place.line, 2);
    assert_eq!(one("x.hcl.tmpl", "bucket = \"b\"\nkey = \"{{ .Key }}\"\n").settings.len(), 2);
    assert_eq!(read("terraform.tfvars.example", "region = \"r\"\nname = \"n\"\n"), []);
    assert_eq!(read("terraform.tfvars.example", "bucket = \"r\"\nname = \"n\"\n"), []);

    let text = "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"{{ cookiecutter.bucket }}\"\n    dynamodb_table = \"locks\"\n  }\n}\n";
    let source = one("{{cookiecutter.name}}/terragrunt.hcl", text);
    assert_eq!(
        (source.syntax, settings(&source)),
        (Syntax::HclObject, vec!["bucket?".into(), "dynamodb_table=locks".into()])
    );
    assert!(source.editability.is_safe());
    assert_eq!(&text[source.body.start - 1..source.body.start], "{");
}

#[test]
fn tables_in_unreadable_text_are_still_said() {
    let text = "{{ if .X }}\nremote_state {\n  config = {\n    dynamodb_table = \"locks\"\n    # dynamodb_table = \"no\"\n";
    let source = one("terragrunt.hcl.tmpl", text);
    assert_eq!(settings(&source), ["dynamodb_table=locks"]);
    assert!(!source.editability.is_safe());
    assert_eq!(&text[source.span.start..source.span.end], "dynamodb_table = \"locks\"");
}

#[test]
fn comments_are_no_backends() {
    assert_eq!(
        read(
            "x.tf.j2",
            "# backend \"s3\" {\n# }\n/*\nbackend \"s3\" {\n}\n*/\n{#\n  backend \"s3\" {\n dynamodb_table = \"t\"\n}\n#}\n"
        ),
        []
    );
}

#[test]
fn comments_of_mustache_and_handlebars_are_no_backends() {
    let block = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"t\"\n  }\n}";
    assert_eq!(read("w.tf.mustache", &format!("{{{{!\n{block}\n}}}}\n")), []);
    assert_eq!(read("w.tf.mustache", &format!("{{{{! {block} }}}}\n")), []);
    assert_eq!(read("w.tf.hbs", &format!("{{{{!--\n{{{{x}}}}\n{block}\n--}}}}\n")), []);
    let behind = one("w.tf.mustache", &format!("{{{{! no\n}}}}\n{block}\n"));
    assert_eq!(settings(&behind), ["bucket=b", "dynamodb_table=t"]);
    // Nothing closes it.
    assert_eq!(read("w.tf.mustache", &format!("{{{{! no\n{block}\n")).len(), 1);
    // In a file that is flat, and inside of a block.
    let flat =
        one("prod.tfbackend.mustache", "bucket = \"b\"\n{{!\ndynamodb_table = \"t\"\n}}\nkey = \"k\"\n");
    assert_eq!(settings(&flat), ["bucket=b", "key=k"]);
    let inside = block.replace("    dynamodb_table = \"t\"\n", "{{!\n    dynamodb_table = \"t\"\n}}\n");
    assert_eq!(settings(&one("w.tf.mustache", &inside)), ["bucket=b"]);
}

#[test]
fn which_files_are_templates() {
    for yes in [
        "a.tftpl",
        "backend.tf.j2",
        "x.tf.example",
        "a.tpl.tf",
        "b.erb",
        "{{cookiecutter.x}}/main.tf",
        "c.tf.dist",
    ] {
        assert!(is_template(yes), "{yes}");
    }
    for no in ["main.tf", "template.tf", "example.tf", "backend.hcl", "a/example/main.tf"] {
        assert!(!is_template(no), "{no}");
    }
    assert!(
        looks_like_template(b"bucket = \"###BUCKET###\"") && looks_like_template(b"{{ cookiecutter.x }}")
    );
    assert!(!looks_like_template(b"######### head #########\n### x ###"));
}

proptest! {
    #[test]
    fn any_bytes(parts in proptest::collection::vec(
        prop_oneof![
            proptest::sample::select(vec![
                "backend \"s3\" {", "remote_state {", "config = {", "backend = \"s3\"", "dynamodb_table = ", "\"t\"", "{{", "}}", "{%", "%}", "<%",
                "###X###", "}", "\n", "/*", "*/", "{#", "é", "${", "%{",
            ]).prop_map(|text| text.as_bytes().to_vec()),
            any::<u8>().prop_map(|byte| vec![byte]),
        ],
        0..40,
    )) {
        let bytes = parts.concat();
        for file in ["backend.hcl.tpl", "terragrunt.hcl.j2"] {
            for source in read_template(file, Text::new(&bytes)).0 {
                prop_assert!(source.span.end <= bytes.len());
            }
        }
    }
}

#[test]
fn hostile_text_costs_linear_time() {
    for part in
        ["backend \"s3\" {\n", "dynamodb_table = \"x\" ", "/*\n", "remote_state {\n", "###X###", "{{ if"]
    {
        let text = part.repeat(100_000 / part.len());
        let start = processor_time();
        read_template("backend.hcl.tpl", Text::new(text.as_bytes()));
        let spent = processor_time() - start;
        assert!(spent.as_secs() < 5, "{part:?} {spent:?}");
    }
}
