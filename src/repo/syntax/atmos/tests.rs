//! Each YAML shape with its exact spans and values, and the near misses.

use proptest::prelude::*;

use super::*;

fn read(yaml: &str) -> (Vec<Source>, Vec<Problem>) {
    read_atmos("stacks/dev.yaml", Text::new(yaml.as_bytes()))
}

fn sources(yaml: &str) -> Vec<Source> {
    let (sources, problems) = read(yaml);
    assert_eq!(problems, vec![]);
    sources
}

fn at(yaml: &str, span: Span) -> &str {
    yaml.get(span.start..span.end).unwrap()
}

fn named(source: &Source) -> Vec<(&str, Value)> {
    source.settings.iter().map(|setting| (setting.name.as_str(), setting.value.clone())).collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

/// Reason of the only source of `yaml`.
fn reason(yaml: &str) -> String {
    match sources(yaml).as_slice() {
        [Source { editability: Editability::ReportOnly(reason), .. }] => reason.clone(),
        other => panic!("{other:?}"),
    }
}

const STACK: &str = "# dynamodb_table: no\r
import: [a]\r
terraform:\r
  vars: {stage: é}\r
  backend_type: s3\r
  backend:\r
    s3: # ours\r
      bucket: \"acmé \\\"x\"   # dynamodb_table: no\r
      dynamodb_table: 'it''s'\r
      encrypt: true\r
      max_retries: 5  \r
      key: \r
      secret_key: hush\r
      assume_role:\r
        role_arn: arn:aws:iam::1:role/x\r
      allowed_account_ids:\r
        - \"1\"\r
        # last\r
    gcs:\r
      dynamodb_table: not-ours\r
components:\r
  terraform:\r
    vpc/é:\r
      remote_state_backend:\r
        s3:\r
          use_lockfile: \"true\"\r
      vars:\r
        backend: {s3: {bucket: no}}\r
";

#[test]
fn stacks_and_components_with_exact_spans_and_values() {
    let sources = sources(STACK);
    let [stack, component] = sources.as_slice() else { panic!("{sources:?}") };
    assert_eq!((stack.kind, stack.syntax), (SourceKind::Atmos, Syntax::Yaml));
    assert_eq!(stack.label.as_deref(), Some("terraform.backend.s3"));
    assert_eq!(stack.place.to_string(), "stacks/dev.yaml:7:5");
    assert_eq!(stack.editability, Editability::Safe);
    assert_eq!(
        named(stack),
        vec![
            ("bucket", text("acmé \"x")),
            ("dynamodb_table", text("it's")),
            ("encrypt", Value::Bool(true)),
            ("max_retries", Value::Number("5".into())),
            ("key", Value::Null),
            ("secret_key", Value::Secret),
            ("assume_role", Value::Object),
            ("assume_role.role_arn", text("arn:aws:iam::1:role/x")),
            ("allowed_account_ids", Value::Unknown { expression: "- \"1\"".into(), reason: "a list".into() }),
        ]
    );
    let whole = |name: &str| at(STACK, stack.setting(name).unwrap().span);
    assert_eq!(whole("bucket"), r#"bucket: "acmé \"x""#);
    assert_eq!(whole("dynamodb_table"), "dynamodb_table: 'it''s'");
    assert_eq!(at(STACK, stack.setting("dynamodb_table").unwrap().value_span), "'it''s'");
    assert_eq!(at(STACK, stack.setting("dynamodb_table").unwrap().name_span), "dynamodb_table");
    assert_eq!(whole("max_retries"), "max_retries: 5");
    assert_eq!(whole("key"), "key:");
    assert_eq!(whole("assume_role.role_arn"), "role_arn: arn:aws:iam::1:role/x");
    assert!(at(STACK, stack.span).starts_with("s3: # ours") && at(STACK, stack.span).ends_with("- \"1\""));
    assert!(at(STACK, stack.body).starts_with("bucket:") && at(STACK, stack.body).ends_with("- \"1\""));

    assert_eq!(component.label.as_deref(), Some("components.terraform.vpc/é.remote_state_backend.s3"));
    assert_eq!(named(component), vec![("use_lockfile", text("true"))]);
    assert_eq!(at(STACK, component.span), "s3:\r\n          use_lockfile: \"true\"");
    assert_eq!(at(STACK, component.body), "use_lockfile: \"true\"");
}

#[test]
fn the_bom_and_several_documents_keep_the_offsets() {
    let yaml = "\u{feff}a: 1\n---\nterraform: \n  backend:\n    s3:\n      key: k\n";
    let found = sources(yaml);
    assert_eq!(at(yaml, found[0].body), "key: k");
    assert_eq!(found[0].place.to_string(), "stacks/dev.yaml:5:5");
}

#[test]
fn near_misses_are_no_sources() {
    for yaml in [
        "terraform:\n  backend:\n    gcs:\n      dynamodb_table: s3\n",
        "terraform:\n  backend_type: s3\n  backends:\n    s3:\n      dynamodb_table: t\n",
        "terraform:\n  - backend:\n      s3:\n        dynamodb_table: t\n",
        "x:\n  y:\n    backend:\n      s3:\n        dynamodb_table: t\n",
        "components:\n  helmfile:\n    a:\n      backend:\n        s3:\n          dynamodb_table: t\n",
        "components:\n  terraform:\n    base_path: backend/s3\n",
        "# terraform:\n#   backend:\n#     s3:\n#       dynamodb_table: t\na: b\n",
        "run: |\n  terraform:\n    backend:\n      s3:\n        dynamodb_table: t\n",
        "terraform:\n  backend:\n    s3:\n",
    ] {
        assert_eq!(read(yaml), (vec![], vec![]), "{yaml}");
    }
}

#[test]
fn flow_style_is_read_and_only_reported() {
    let yaml = "terraform: {backend: {s3: {bucket: b, dynamodb_table: \"t\"}}}\n";
    let found = sources(yaml);
    assert_eq!(named(&found[0]), vec![("bucket", text("b")), ("dynamodb_table", text("t"))]);
    assert_eq!(at(yaml, found[0].span), "s3: {bucket: b, dynamodb_table: \"t\"}");
    assert_eq!(at(yaml, found[0].body), "bucket: b, dynamodb_table: \"t\"");
    assert_eq!(at(yaml, found[0].settings[1].span), "dynamodb_table: \"t\"");
    assert_eq!(reason(yaml), FLOW);
}

#[test]
fn templates_and_functions_are_unknown() {
    let yaml = "terraform:\n  backend:\n    s3:\n      key: k\n      dynamodb_table: \"{{ .vars.table }}\"\n";
    let found = sources(yaml);
    assert!(
        matches!(&found[0].settings[1].value, Value::Unknown { expression, .. } if expression == "{{ .vars.table }}")
    );
    assert_eq!(reason(yaml), TEMPLATE);

    let yaml = "terraform:\n  backend:\n    s3:\n      dynamodb_table: {{ .table }}\n      key: k\n";
    let found = sources(yaml);
    let [table, key] = found[0].settings.as_slice() else { panic!("{found:?}") };
    assert!(matches!(&table.value, Value::Unknown { expression, .. } if expression == "{{ .table }}"));
    assert_eq!((at(yaml, table.span), at(yaml, key.span)), ("dynamodb_table: {{ .table }}", "key: k"));
    assert_eq!(reason(yaml), TEMPLATE);

    let yaml = "terraform:\n  backend:\n    s3:\n      dynamodb_table: !env TABLE\n";
    assert!(
        matches!(&sources(yaml)[0].settings[0].value, Value::Unknown { expression, .. } if expression == "!env TABLE")
    );
    assert_eq!(reason(yaml), FUNCTION);

    let yaml = "terraform:\n  backend: !include backend/s3.yaml\n";
    assert!(sources(yaml)[0].setting("dynamodb_table").unwrap().value.is_unknown());
    assert_eq!(reason(yaml), FUNCTION);
}

#[test]
fn aliases_are_never_taken_for_absent_settings() {
    let yaml = "x: &t locks\nterraform:\n  backend:\n    s3:\n      dynamodb_table: *t\n";
    assert_eq!(named(&sources(yaml)[0]), vec![("dynamodb_table", text("locks"))]);
    assert_eq!(reason(yaml), ALIAS);

    let yaml = "x: &d\n  dynamodb_table: t\nterraform:\n  backend:\n    s3:\n      <<: *d\n      key: k\n";
    let found = sources(yaml);
    assert_eq!(found[0].setting("key").unwrap().value, text("k"));
    assert!(found[0].setting("dynamodb_table").unwrap().value.is_unknown());
    assert_eq!(at(yaml, found[0].body), "<<: *d\n      key: k");
    assert_eq!(reason(yaml), ALIAS);

    for yaml in [
        "x: &b {y: 1}\nterraform:\n  backend:\n    s3: *b\n",
        "x: &b {s3: {}}\nterraform:\n  backend: *b\n",
        "x: &b\n  backend: {s3: {}}\ncomponents:\n  terraform:\n    vpc:\n      <<: [*b]\n",
    ] {
        let found = sources(yaml);
        assert!(found[0].setting("use_lockfile").unwrap().value.is_unknown(), "{yaml}");
        assert_eq!(reason(yaml), ALIAS);
    }
    // An alias of something else says nothing of a backend.
    assert_eq!(sources("x: &b {y: s3}\ncomponents:\n  terraform:\n    backend:\n      <<: *b\n"), vec![]);
    assert_eq!(reason("terraform: &t\n  backend:\n    s3:\n      key: k\n"), ALIAS);
    assert_eq!(reason("terraform:\n  backend:\n    s3: &t\n      key: k\n"), ALIAS);
}

#[test]
fn settings_over_several_lines_are_only_reported() {
    for yaml in [
        "terraform:\n  backend:\n    s3:\n      key: a\n       b\n",
        "terraform:\n  backend:\n    s3:\n      key:\n        a\n",
        "terraform:\n  backend:\n    s3:\n      ? key\n      : a\n",
        "terraform:\n  backend:\n    s3:\n      key: >\n        a\n",
    ] {
        assert_eq!(reason(yaml), SHAPE, "{yaml}");
    }
}

#[test]
fn broken_yaml_is_a_problem_only_where_it_names_a_lock() {
    let broken =
        |name: &str| format!("terraform:\n  backend:\n    s3:\n      {name}: t\n{{{{ if x }}}}\n  - é: [\n");
    assert_eq!(read(&broken("bucket")).1, vec![]);
    let (found, problems) = read(&broken("dynamodb_table"));
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((problem.kind, problem.place.line), (ProblemKind::ParseError, 6));
    // What was read before stays, and is not edited.
    assert_eq!(named(&found[0]), vec![("dynamodb_table", text("t"))]);
    assert_eq!(found[0].editability, Editability::ReportOnly(BROKEN.to_owned()));

    let (found, problems) = read_atmos("x", Text::new(b"backend: s3 dynamodb_table \xff"));
    assert_eq!((found.len(), problems[0].place.column), (0, 28));
}

#[test]
fn an_alias_bomb_costs_nothing() {
    let mut yaml = "terraform:\n  backend:\n    s3:\n      dynamodb_table: t\na0: &a0 [x, x]\n".to_owned();
    for level in 1..200 {
        let below = level - 1;
        yaml.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}, *a{below}, *a{below}]\n"));
    }
    assert_eq!(sources(&yaml).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut text = b"backend: s3\n".to_vec();
        text.extend(bytes);
        read_atmos("x.yaml", Text::new(&text));
    }

    #[test]
    fn yaml_like_text_keeps_spans_inside_the_source(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "a: b\n", "      ", "  ", "\n", "é", "- ", ": ", "? ", "&a ", "*a", "<<", "!t ", "{", "}", "[", "]",
                ", ", "'", "\"", "|\n", ">-\n", "# c", "{{", "}}", "---\n", "...\n", "\t", "\\", "\r\n", "%", "key",
            ]),
            0..30,
        )
    ) {
        let text = format!("terraform:\n  backend:\n    s3:\n      {}", words.concat());
        let (sources, _) = read(&text);
        for source in &sources {
            prop_assert!(source.span.contains(source.body) && source.span.end <= text.len());
            for setting in &source.settings {
                prop_assert!(source.span.contains(setting.span), "{text:?} {source:?}");
                prop_assert!(setting.span.contains(setting.value_span), "{text:?} {setting:?}");
                prop_assert!(text.is_char_boundary(setting.value_span.end));
            }
        }
    }
}

#[test]
fn the_shape_of_a_backend_elsewhere_is_told_when_it_names_a_lock() {
    let yaml = "components:\n  terraform:\n    vpc:\n      settings:\n        terraform:\n          backend:\n            s3:\n              bucket: b\n              dynamodb_table: t\n";
    let [source] = sources(yaml).try_into().unwrap();
    assert_eq!(named(&source), [("bucket", text("b")), ("dynamodb_table", text("t"))]);
    assert_eq!(source.label.as_deref(), Some("components.terraform.vpc.settings.terraform.backend.s3"));
    assert_eq!(source.editability, Editability::ReportOnly(STRAY.to_owned()));
    assert_eq!(sources(&yaml.replace("dynamodb_table", "region")), []);
    assert_eq!(sources(&yaml.replace("terraform:\n          backend", "other:\n          backend")), []);
}
