//! Each shape of the JSON syntax with its exact spans and values, and the near misses.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> (ModuleFacts, Vec<Problem>) {
    read_module_file("a/main.tf.json", Text::new(text.as_bytes()), false)
}

fn clean(text: &str) -> ModuleFacts {
    let (facts, problems) = read(text);
    assert_eq!(problems, vec![]);
    facts
}

fn at(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap()
}

fn named(source: &Source) -> Vec<(&str, Value)> {
    source.settings.iter().map(|setting| (setting.name.as_str(), setting.value.clone())).collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

const FULL: &str = r#"{
  "//": "our state",
  "terraform": {
    "required_version": ">= 1.10",
    "backend": {
      "s3": {
        "//": "dynamodb_table",
        "bucket": "acme-é",
        "dynamodb_table" : "locks",
        "use_lockfile": true,
        "max_retries": 5,
        "profile": null,
        "secret_key": "hush",
        "key": "${var.key}",
        "endpoints": {"s3": "https://me:pw@s3.example"},
        "assume_role": [{"role_arn": "arn:a"}],
        "allowed_account_ids": ["1",
          "2"]
      }
    }
  }
}
"#;

#[test]
fn a_full_backend_with_exact_spans_and_values() {
    let facts = clean(FULL);
    assert_eq!(facts.generated_by, None);
    let (place, version) = &facts.required_versions[0];
    assert_eq!((place.to_string().as_str(), version.value.clone()), ("a/main.tf.json:4:5", text(">= 1.10")));
    assert_eq!(at(FULL, version.span), r#""required_version": ">= 1.10""#);

    let [backend] = facts.backends.as_slice() else { panic!("{facts:?}") };
    let source = &backend.source;
    assert_eq!(backend.backend_type, "s3");
    assert_eq!((source.kind, source.syntax), (SourceKind::Backend, Syntax::Json));
    assert_eq!(source.place, Place { file: "a/main.tf.json".into(), line: 6, column: 7 });
    assert!(
        at(FULL, source.span).starts_with("{\n        \"//\"")
            && at(FULL, source.span).ends_with("\"2\"]\n      }")
    );
    assert_eq!(source.body, Span::new(source.span.start + 1, source.span.end - 1));
    assert_eq!(source.editability, Editability::Safe);
    let unknown = |expression: &str, reason: &str| unknown(expression.to_owned(), reason);
    assert_eq!(
        named(source),
        vec![
            ("bucket", text("acme-é")),
            ("dynamodb_table", text("locks")),
            ("use_lockfile", Value::Bool(true)),
            ("max_retries", Value::Number("5".into())),
            ("profile", Value::Null),
            ("secret_key", Value::Secret),
            ("key", unknown("var.key", "a template: it needs values that are not in this file")),
            ("endpoints", Value::Object),
            ("endpoints.s3", text("https://***@s3.example")),
            ("assume_role", Value::Object),
            ("assume_role.role_arn", text("arn:a")),
            ("allowed_account_ids", unknown(r#"["1", "2"]"#, "a list")),
        ]
    );
    let table = source.setting("dynamodb_table").unwrap();
    assert_eq!(at(FULL, table.span), r#""dynamodb_table" : "locks""#);
    assert_eq!(at(FULL, table.name_span), r#""dynamodb_table""#);
    assert_eq!(at(FULL, table.value_span), r#""locks""#);
    assert_eq!(at(FULL, source.setting("assume_role.role_arn").unwrap().span), r#""role_arn": "arn:a""#);
}

#[test]
fn bom_and_crlf_keep_the_offsets() {
    let json =
        "\u{feff}{\r\n \"terraform\": {\"backend\": {\"s3\": {\"bucket\": \"é\", \"key\": \"k\"}}}}\r\n";
    let (facts, problems) = read(json);
    let source = &facts.backends[0].source;
    assert_eq!(at(json, source.setting("key").unwrap().span), "\"key\": \"k\"");
    assert_eq!(source.place, Place { file: "a/main.tf.json".into(), line: 2, column: 28 });
    // Terraform 1.11.4: "Invalid start of value".
    assert_eq!(problems.iter().map(|p| p.kind).collect::<Vec<_>>(), vec![ProblemKind::InvalidValue]);
}

#[test]
fn arrays_at_every_level_and_repeated_blocks() {
    let json = r#"[{"terraform": [{"backend": [{"s3": [{"bucket": "a"}]}]}, null]},
        {"terraform": {"backend": {"gcs": {"bucket": "b"}}}, "terraform": {"cloud": {}, "state_store": {"x": {}}}}]"#;
    let facts = clean(json);
    let found: Vec<_> = facts
        .backends
        .iter()
        .map(|b| (b.backend_type.as_str(), named(&b.source), at(json, b.source.span)))
        .collect();
    assert_eq!(
        found,
        vec![
            ("s3", vec![("bucket", text("a"))], r#"{"bucket": "a"}"#),
            ("gcs", vec![], r#"{"bucket": "b"}"#)
        ]
    );
    let rivals: Vec<_> = facts.rivals.iter().map(|r| (r.keyword.as_str(), r.place.line)).collect();
    assert_eq!(rivals, vec![("cloud", 2), ("state_store", 2)]);
}

#[test]
fn null_and_empty_arrays_are_no_blocks_and_two_elements_are_two() {
    let facts = clean(r#"{"terraform": {"backend": {"s3": null}, "cloud": null}}"#);
    assert_eq!((facts.backends.len(), facts.rivals.len()), (0, 0));
    let facts = clean(r#"{"terraform": {"backend": {"s3": []}, "cloud": []}}"#);
    assert_eq!((facts.backends.len(), facts.rivals.len()), (0, 0));
    let facts = clean(r#"{"terraform": {"backend": {"s3": [{}, {"key": "k"}]}}}"#);
    assert_eq!(facts.backends.len(), 2);
    // Terraform takes an array of arrays for one body; an edit would not know which object to change.
    let facts = clean(r#"{"terraform": {"backend": {"s3": [[{"key": "k"}, {"bucket": "b"}]]}}}"#);
    assert_eq!(named(&facts.backends[0].source), vec![("key", text("k")), ("bucket", text("b"))]);
    assert!(!facts.backends[0].source.editability.is_safe());
}

#[test]
fn override_files_have_their_own_kind() {
    let json = br#"{"terraform": {"backend": {"s3": {}}}}"#;
    let (facts, _) = read_module_file("override.tf.json", Text::new(json), true);
    assert_eq!(facts.backends[0].source.kind, SourceKind::BackendOverride);
    assert_eq!(facts.backends[0].source.settings, vec![]);
}

#[test]
fn readers_and_local_modules() {
    let json = r#"{
  "data": {"terraform_remote_state": {
    "net": {"backend": "s3", "config": {"bucket": "b", "dynamodb_table": "t", "assume_role": {"role_arn": "r"}}},
    "gone": {"backend": "local", "config": {"path": "x"}},
    "made": [{"backend": "s3", "config": "${local.state}"}],
    "some": {"backend": "${var.kind}", "config": {"bucket": "b"}},
    "bare": {"backend": "s3", "workspace": "w"}
  }, "aws_s3_bucket": {"s3": {"backend": "s3"}}},
  "module": {"a": {"source": "./a"}, "b": [{"source": "../b"}], "c": {"source": "acme/c/aws"}, "d": {"source": "./${x}"}}
}"#;
    let facts = clean(json);
    assert_eq!(facts.backends, vec![]);
    let labels: Vec<_> = facts.readers.iter().map(|r| r.label.as_deref().unwrap()).collect();
    assert_eq!(labels, vec!["net", "made", "some", "bare"]);
    let net = &facts.readers[0];
    assert_eq!((net.kind, net.place.to_string().as_str()), (SourceKind::Reader, "a/main.tf.json:3:5"));
    assert_eq!(
        named(net),
        vec![
            ("bucket", text("b")),
            ("dynamodb_table", text("t")),
            ("assume_role", Value::Object),
            ("assume_role.role_arn", text("r"))
        ]
    );
    assert!(at(json, net.span).starts_with(r#"{"bucket""#) && net.editability.is_safe());
    assert!(
        matches!(&facts.readers[1].settings[0], Setting { name, value: Value::Unknown { expression, .. }, .. }
        if name == "dynamodb_table" && expression == "local.state")
    );
    let safe: Vec<_> = facts.readers.iter().map(|reader| reader.editability.is_safe()).collect();
    assert_eq!(safe, vec![true, false, false, true]);
    assert_eq!(facts.readers[3].settings, vec![]);
    let modules: Vec<_> =
        facts.local_modules.iter().map(|(place, path)| (place.line, path.as_str())).collect();
    assert_eq!(modules, vec![(9, "./a"), (9, "../b")]);
}

#[test]
fn cdktf_output_is_only_reported() {
    let facts = clean(
        r#"{"//": {"metadata": {"backend": "s3", "version": "0.20"}}, "terraform": {"backend": {"s3": {"key": "k"}}}}"#,
    );
    assert_eq!(facts.generated_by.as_deref(), Some("cdktf"));
    assert!(
        matches!(&facts.backends[0].source.editability, Editability::Generated(why) if why.contains("synth"))
    );
    // Near misses: a comment of another shape, or metadata elsewhere.
    for json in
        [r#"{"//": {"note": "metadata"}}"#, r#"{"//": "metadata"}"#, r#"{"x": {"//": {"metadata": {}}}}"#]
    {
        assert_eq!(clean(json).generated_by, None);
    }
}

#[test]
fn an_argument_that_stands_twice_is_a_problem_and_not_edited() {
    let json = r#"{"terraform": {"backend": {"s3": {"key": "a", "key": "b"}}}}"#;
    let (facts, problems) = read(json);
    assert_eq!(facts.backends[0].source.setting("key").unwrap().value, text("b"));
    assert!(!facts.backends[0].source.editability.is_safe());
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((problem.kind, problem.place.column), (ProblemKind::InvalidValue, 47));
}

#[test]
fn what_terraform_refuses_is_a_problem_at_its_place() {
    for (json, place) in [
        ("", "a/main.tf.json:1:1"),
        ("{\n  \"terraform\": {},\n}", "a/main.tf.json:2:18"),
        ("{\n  // no\n}", "a/main.tf.json:2:3"),
        ("{\"a\": 1 \"b\": 2}", "a/main.tf.json:1:8"),
        ("{'a': 1}", "a/main.tf.json:1:2"),
        ("{\"a\": 1", "a/main.tf.json:1:1"),
        ("{\"terraform\": \"x\"}", "a/main.tf.json:1:15"),
        ("{\"terraform\": {\"backend\": \"s3\"}}", "a/main.tf.json:1:27"),
        ("{\"terraform\": {\"backend\": {\"s3\": \"b\"}}}", "a/main.tf.json:1:34"),
        ("3", "a/main.tf.json:1:1"),
    ] {
        let (facts, problems) = read(json);
        assert_eq!(facts, ModuleFacts::default());
        let found: Vec<_> = problems.iter().map(|p| (p.kind, p.place.to_string())).collect();
        assert_eq!(found, vec![(ProblemKind::ParseError, place.to_owned())], "{json}");
    }
    // Terraform takes a comment key among labels for a backend type: both are seen here, as there.
    assert_eq!(clean(r#"{"terraform": {"backend": {"//": {}, "s3": {}}}}"#).backends.len(), 2);
}

#[test]
fn depth_is_bounded_and_brackets_in_strings_do_not_count() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let place = |text: &str| read(text).1.first().map(|p| (p.place.column, p.message.contains("deeper")));
    assert_eq!(place(&format!("{{\"a\": {}}}", deep(99))), None);
    assert_eq!(place(&format!("{{\"a\": {}}}", deep(100))), Some((106, true)));
    assert_eq!(place(&"{\"a\":".repeat(100_000)), Some((501, true)));
    assert_eq!(place(&format!("{{\"a\": \"\\\"{}\"}}", "[".repeat(1000))), None);
}

#[test]
fn invalid_utf8_is_read_around_and_unknown() {
    let bytes = b"{\"terraform\": {\"backend\": {\"s3\": {\"key\": \"caf\xe9\", \"bucket\": \"b\"}}}}";
    let (facts, problems) = read_module_file("x.tf.json", Text::new(bytes), false);
    assert_eq!(problems, vec![]);
    let source = &facts.backends[0].source;
    assert!(source.setting("key").unwrap().value.is_unknown());
    assert_eq!(source.setting("bucket").unwrap().value_span.of(bytes), b"\"b\"");
}

#[test]
fn many_settings_on_one_line_cost_one_pass() {
    let items: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":[{{\"a\":1}},{{\"a\":2}}]")).collect();
    let json = format!("{{{}}}", items.join(","));
    let (source, problems) = read_flat_json("big.json", Text::new(json.as_bytes()));
    let last = source.unwrap().settings.pop().unwrap();
    assert_eq!((last.at.line, last.at.column), (1, json.rfind("\"k49999").unwrap() + 1));
    // Several objects in an array are a list, not one body in which `a` would stand twice.
    assert_eq!((last.name.as_str(), last.value.is_unknown(), problems), ("k49999", true, vec![]));
}

#[test]
fn flat_files() {
    let json = "{\n  \"//\": \"dev\",\n  \"bucket\": \"b\",\n  \"dynamodb_table\": \"t\"\n}\n";
    let (source, problems) = read_flat_json("dev.json", Text::new(json.as_bytes()));
    let source = source.unwrap();
    assert_eq!((problems, source.kind), (vec![], SourceKind::BackendConfigFile));
    assert_eq!(source.place.to_string(), "dev.json:3:3");
    assert_eq!(named(&source), vec![("bucket", text("b")), ("dynamodb_table", text("t"))]);
    assert_eq!((source.span, source.body), (Span::new(0, json.len() - 1), Span::new(1, json.len() - 2)));
    for (json, kind) in [("\"x\"", ProblemKind::ParseError), ("{\"bucket\": }", ProblemKind::ParseError)] {
        let (source, problems) = read_flat_json("x.json", Text::new(json.as_bytes()));
        assert_eq!((source, problems[0].kind), (None, kind));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_reported(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (facts, problems) = read_module_file("x.tf.json", Text::new(&bytes), false);
        prop_assert!(facts == ModuleFacts::default() || problems.iter().all(|p| p.place.line > 0));
        read_flat_json("x.json", Text::new(&bytes));
    }

    #[test]
    fn json_like_text_keeps_spans_inside_the_file(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "[", "]", ":", ",", "\"terraform\"", "\"backend\"", "\"s3\"", "\"a\"", "1", "null", "true",
                "\"${\"", "\"\\u00e9\"", "\\", "\"", " ", "é", "\u{feff}", "//", "-", "1e", "'",
            ]),
            0..40,
        )
    ) {
        let text = words.concat();
        let (facts, _) = read_module_file("x.tf.json", Text::new(text.as_bytes()), false);
        for backend in &facts.backends {
            for setting in &backend.source.settings {
                prop_assert!(backend.source.span.contains(setting.span));
                prop_assert!(setting.span.contains(setting.name_span) && setting.span.contains(setting.value_span));
            }
        }
    }
}
