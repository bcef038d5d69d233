use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Vec<Source> {
    let (sources, problems) = read_terramate("stacks/backend.tm.hcl", Text::new(text.as_bytes()));
    assert_eq!(problems, [], "{text}");
    sources
}

fn at(text: &str, span: Span) -> &str {
    &text[span.start..span.end]
}

#[test]
fn names_that_are_terramates() {
    for yes in ["a.tm", "stacks/a.tm.hcl"] {
        assert!(is_terramate(yes), "{yes}");
    }
    for no in ["a.tf", ".tm", ".tm.hcl", "a.hcl", "a.tm.bak", "tm"] {
        assert!(!is_terramate(no), "{no}");
    }
}

#[test]
fn generate_hcl_is_the_origin_and_may_be_edited() {
    let text = "generate_hcl \"_backend.tf\" {\n  condition = true\n  content {\n    terraform {\n      backend \"s3\" {\n        bucket         = global.bucket\n        key            = \"${terramate.stack.path.relative}/t\"\n        dynamodb_table = \"locks\"\n        encrypt        = true\n      }\n    }\n  }\n}\n";
    let sources = read(text);
    let [source] = sources.as_slice() else { panic!("{sources:?}") };
    assert_eq!(source.kind, SourceKind::Terramate);
    assert_eq!(source.syntax, Syntax::HclBody);
    assert_eq!(source.label.as_deref(), Some("_backend.tf"));
    assert_eq!(source.editability, Editability::Safe);
    assert_eq!(source.place.to_string(), "stacks/backend.tm.hcl:5:7");
    assert_eq!(
        source.settings.iter().map(|s| (s.name.as_str(), at(text, s.value_span))).collect::<Vec<_>>(),
        [
            ("bucket", "global.bucket"),
            ("key", "\"${terramate.stack.path.relative}/t\""),
            ("dynamodb_table", "\"locks\""),
            ("encrypt", "true"),
        ]
    );
    assert!(source.settings[0].value.is_unknown() && source.settings[1].value.is_unknown());
    assert_eq!(source.settings[2].value, Value::Text("locks".into()));
}

#[test]
fn generate_file_holds_a_backend_in_its_heredoc() {
    let text = "generate_file \"backend.tf\" {\n  content = <<-EOT\n    terraform {\n      backend \"s3\" {\n        bucket = \"${global.bucket}\"\n        dynamodb_table = \"t\"\n      }\n    }\n  EOT\n}\n";
    let sources = read(text);
    let [source] = sources.as_slice() else { panic!("{sources:?}") };
    assert_eq!(at(text, source.settings[1].span), "dynamodb_table = \"t\"");
    assert_eq!(source.editability, Editability::Safe);
    assert_eq!(source.label.as_deref(), Some("backend.tf"));
    let computed =
        read("generate_file \"backend.tf\" {\n  content = tm_join(\"\\n\", [\"backend s3 {\", \"}\"])\n}\n");
    assert!(!computed[0].editability.is_safe());
    assert!(computed[0].setting("dynamodb_table").is_some_and(|s| s.value.is_unknown()));
}

#[test]
fn a_dynamic_backend_is_told_and_unknown() {
    let dynamic = |labels: &str| {
        format!(
            "generate_hcl \"b.tf\" {{\n  content {{\n    terraform {{\n      tm_dynamic \"backend\" {{\n        labels = {labels}\n        content {{\n          secret_key = \"hush\"\n        }}\n      }}\n    }}\n  }}\n}}\n"
        )
    };
    for labels in ["[\"s3\"]", "[global.kind]"] {
        let sources = read(&dynamic(labels));
        assert_eq!(sources.len(), 1, "{labels}");
        assert_eq!(
            sources[0].editability,
            Editability::ReportOnly("a tm_dynamic block decides what stands here".into())
        );
        assert!(!format!("{sources:?}").contains("hush"));
    }
    assert_eq!(read(&dynamic("[\"gcs\"]")), []);
}

#[test]
fn near_misses_are_nothing() {
    for text in [
        "globals {\n  backend = \"s3\"\n}\n",
        "generate_hcl \"a.tf\" {\n  content {\n    terraform {\n      backend \"gcs\" {\n      }\n    }\n  }\n}\n",
        "generate_hcl \"a.tf\" {\n  content {\n    # backend \"s3\" {}\n  }\n}\n",
        "stack {\n  name = \"backend s3\"\n}\n",
        "terraform {\n  backend \"s3\" {\n  }\n}\n",
        "generate_file \"a.md\" {\n  content = \"backend\"\n}\n",
    ] {
        assert_eq!(read(text), [], "{text}");
    }
}

#[test]
fn broken_text_is_told() {
    let (_, problems) = read_terramate("a.tm", Text::new(b"generate_hcl \"x\" {\n  content {\n"));
    assert_eq!(problems.len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_terramate("a.tm", Text::new(&bytes));
    }

    #[test]
    fn any_terramate_like_text_gives_places_inside_it(
        text in r#"(generate_hcl "b"|generate_file "b"|content|content = |terraform|backend "s3"|tm_dynamic "backend"|<<EOF\n|\nEOF\n| \{\n|\n\}\n|a = 1\n|"|\$\{|\n){0,40}"#
    ) {
        let whole = Span::new(0, text.len());
        for source in read_terramate("a.tm", Text::new(text.as_bytes())).0 {
            prop_assert!(whole.contains(source.span) && whole.contains(source.body));
        }
    }
}
