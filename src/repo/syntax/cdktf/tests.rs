//! One call in each language with exact spans and values, and the near misses.

use proptest::prelude::*;

use super::*;

/// Reads code with CDKTF's name behind it, where it moves no offset.
fn read<'t>(file: &str, code: &'t str) -> Vec<(Source, &'t str)> {
    let named = format!("{code}\n{} cdktf", if file.ends_with(".py") { "#" } else { "//" });
    let sources = read_cdktf_source(file, Text::new(named.as_bytes()));
    sources
        .into_iter()
        .map(|source| (source.clone(), code.get(source.span.start..source.span.end).unwrap_or(code)))
        .collect()
}

fn at(code: &str, span: Span) -> &str {
    code.get(span.start..span.end).unwrap()
}

fn one(file: &str, code: &str) -> Source {
    let mut found = read(file, code);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0).0
}

fn named(source: &Source) -> Vec<(&str, Value)> {
    source.settings.iter().map(|setting| (setting.name.as_str(), setting.value.clone())).collect()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

#[test]
fn typescript() {
    let code = "// new S3Backend(this, { dynamodbTable: 'old' })
class App extends TerraformStack {
  constructor() {
    new S3Backend(this, {
      bucket: 'acmé', // dynamodbTable: 'no',
      key: `${id}/state`,
      dynamodbTable: \"locks\", /* useLockfile: false, */
      useLockfile: true,
      region,
      secretKey: 'hush',
      profile: undefined,
      assumeRole: { key: 'x', roleArn: 'y' },
      'encrypt': flags.on(1, 2)
    });
  }
}
";
    let source = one("main.ts", code);
    assert_eq!((source.kind, source.syntax), (SourceKind::Cdktf, Syntax::Other));
    assert_eq!(source.place.to_string(), "main.ts:4:9");
    assert!(at(code, source.span).starts_with("S3Backend(this, {") && at(code, source.span).ends_with("})"));
    assert!(at(code, source.body).starts_with("this, {") && at(code, source.body).ends_with("}"));
    assert_eq!(source.editability, Editability::ReportOnly(EDIT_BY_HAND.to_owned()));
    assert_eq!(
        named(&source),
        vec![
            ("bucket", text("acmé")),
            ("key", unknown("`${id}/state`".into(), "an expression in code")),
            ("dynamodb_table", text("locks")),
            ("use_lockfile", Value::Bool(true)),
            ("region", unknown("region".into(), "a name in code")),
            ("secret_key", Value::Secret),
            ("profile", Value::Null),
            ("encrypt", unknown("flags.on(1, 2)".into(), "an expression in code")),
        ]
    );
    let table = source.setting("dynamodb_table").unwrap();
    assert_eq!(at(code, table.span), "dynamodbTable: \"locks\"");
    assert_eq!((at(code, table.name_span), at(code, table.value_span)), ("dynamodbTable", "\"locks\""));
}

#[test]
fn python() {
    let code = "# S3Backend(self, dynamodb_table='old')\n\"\"\"\nS3Backend(self, bucket='doc')\n\"\"\"\n\
                S3Backend(self,\n    bucket='b',  # key='no'\n    key=f'{env}/k',\n    dynamodb_table=\"t\",\n    \
                use_lockfile=False, profile=None)\n";
    let source = one("main.py", code);
    assert_eq!(
        named(&source),
        vec![
            ("bucket", text("b")),
            ("key", unknown("f'{env}/k'".into(), "an expression in code")),
            ("dynamodb_table", text("t")),
            ("use_lockfile", Value::Bool(false)),
            ("profile", Value::Null),
        ]
    );
    assert_eq!(at(code, source.settings[2].span), "dynamodb_table=\"t\"");
}

#[test]
fn go() {
    let code = "cdktf.NewS3Backend(stack, &cdktf.S3BackendConfig{\n\tBucket: jsii.String(\"b\"),\n\tKey: jsii.String(key),\n\t\
                DynamodbTable: jsii.String(`t`),\n\tUseLockfile: jsii.Bool(true),\n})\n";
    let source = one("main.go", code);
    assert_eq!(
        named(&source),
        vec![
            ("bucket", text("b")),
            ("key", unknown("jsii.String(key)".into(), "a name in code")),
            ("dynamodb_table", text("t")),
            ("use_lockfile", Value::Bool(true)),
        ]
    );
    assert_eq!(at(code, source.settings[2].value_span), "jsii.String(`t`)");
}

#[test]
fn java_and_csharp() {
    let code = "new S3Backend(this, S3BackendConfig.builder()\n  .bucket(\"b\").key(name + \"/k\")\n  .dynamodbTable(\"t\").build());";
    let source = one("Main.java", code);
    assert_eq!(
        named(&source),
        vec![
            ("bucket", text("b")),
            ("key", unknown("name + \"/k\"".into(), "an expression in code")),
            ("dynamodb_table", text("t")),
        ]
    );
    assert_eq!(at(code, source.settings[2].span), "dynamodbTable(\"t\"");

    let code = "new S3Backend(this, new S3BackendConfig { Bucket = @\"b\", DynamodbTable = $\"{x}\", UseLockfile = true });";
    assert_eq!(
        named(&one("Main.cs", code)),
        vec![
            ("bucket", text("b")),
            ("dynamodb_table", unknown("$\"{x}\"".into(), "an expression in code")),
            ("use_lockfile", Value::Bool(true)),
        ]
    );
}

#[test]
fn configuration_from_elsewhere_is_unknown_and_not_absent() {
    for (file, code) in [
        ("a.ts", "new S3Backend(this, config);"),
        ("a.ts", "new S3Backend(this, { ...common, key: 'k' });"),
        ("a.py", "S3Backend(self, key='k', **common)"),
        ("a.ts", "new S3Backend(this, { key: 'k', ...common"),
    ] {
        let source = one(file, code);
        assert!(source.setting("dynamodb_table").unwrap().value.is_unknown(), "{code}");
        assert!(source.setting("use_lockfile").unwrap().value.is_unknown(), "{code}");
        assert_eq!(source.setting("key").unwrap().value.is_unknown(), !code.contains("'k'"), "{code}");
    }
    assert_eq!(one("a.ts", "new S3Backend(this, { key: 'k' });").settings.len(), 1);
}

#[test]
fn overrides_of_the_backend_are_settings() {
    let found = |file: &str, code: &str| -> Vec<(String, Value)> {
        let source = one(file, code);
        source.settings.into_iter().map(|setting| (setting.name, setting.value)).collect()
    };
    let lock = |value| vec![("key".to_owned(), text("k")), ("use_lockfile".to_owned(), value)];
    let ts =
        "new S3Backend(this, { key: 'k' });\nthis.addOverride('terraform.backend.s3.use_lockfile', true);";
    assert_eq!(found("a.ts", ts), lock(Value::Bool(true)));
    let py =
        "b = S3Backend(self, key='k')\nb.add_override(\"use_lockfile\", True)\nx.add_override('tags', True)";
    assert_eq!(found("a.py", py), lock(Value::Bool(true)));
    let go = "NewS3Backend(s, &S3BackendConfig{Key: jsii.String(\"k\")})\n\
              s.AddOverride(jsii.String(\"terraform.backend.s3.use_lockfile\"), on)";
    assert_eq!(found("a.go", go), lock(unknown("on".into(), "a name in code")));
    // Without a backend in the file; commented out; half written.
    assert_eq!(
        found("a.ts", "s.addOverride('terraform.backend.s3.dynamodb_table', 't')"),
        vec![("dynamodb_table".to_owned(), text("t"))]
    );
    assert_eq!(read("a.ts", "// s.addOverride('terraform.backend.s3.dynamodb_table', 't')"), vec![]);
    assert_eq!(read("a.ts", "s.addOverride('terraform.backend.s3.dynamodb_table'"), vec![]);
    assert_eq!(read("a.ts", "s.addOverride('terraform.backend.s3.', 't')"), vec![]);
}

#[test]
fn another_programs_s3_backend_is_no_source() {
    let code = "import { S3Backend } from './storage';\nnew S3Backend({ bucket: 'b' });";
    assert_eq!(read_cdktf_source("a.ts", Text::new(code.as_bytes())), vec![]);
    let code = code.replace("./storage", "cdktf");
    assert_eq!(read_cdktf_source("a.ts", Text::new(code.as_bytes())).len(), 1);
    assert!(
        names_cdktf(b"using HashiCorp.Cdktf;") && names_cdktf(b"from 'cdktn'") && !names_cdktf(b"cdk tf")
    );
}

#[test]
fn readers_have_their_own_kind() {
    let source =
        one("a.ts", "new DataTerraformRemoteStateS3(this, 'net', { bucket: 'b', dynamodbTable: 't' })");
    assert_eq!(source.kind, SourceKind::Reader);
    assert_eq!(named(&source), vec![("bucket", text("b")), ("dynamodb_table", text("t"))]);
}

#[test]
fn near_misses_are_no_sources() {
    for (file, code) in [
        ("a.ts", "import { S3Backend } from 'cdktf';"),
        ("a.ts", "class S3Backend extends Base { dynamodbTable = 't' }"),
        ("a.ts", "/* new S3Backend(this, { dynamodbTable: 't' }) */"),
        ("a.ts", "log(\"new S3Backend(this, { dynamodbTable: 't' })\")"),
        ("a.ts", "new MyS3Backend(this, { dynamodbTable: 't' })"),
        ("a.py", "# S3Backend(self, dynamodb_table='t')"),
        ("a.py", "class S3Backend(Base):\n    dynamodb_table = 't'"),
        ("a.go", "func NewS3Backend(scope Construct) {}"),
        ("a.ts", "new GcsBackend(this, { dynamodbTable: 't' })"),
    ] {
        assert_eq!(read(file, code), vec![], "{code}");
    }
}

#[test]
fn an_unclosed_call_ends_where_the_next_begins() {
    let code = "new S3Backend(a, { key: 'k',\nnew S3Backend(b, { bucket: 'b' });".to_owned();
    let found = read("a.ts", &code);
    let settings: Vec<_> = found.iter().map(|(source, _)| named(source)).collect();
    assert_eq!(settings, vec![vec![("key", text("k"))], vec![("bucket", text("b"))]]);
    assert_eq!(read("a.ts", &"S3Backend(".repeat(10_000)).len(), 10_000);
}

#[test]
fn deep_nesting_costs_no_stack() {
    let code = format!("new S3Backend(this, {{ bucket: {}", "([{".repeat(100_000));
    assert!(one("a.ts", &code).setting("bucket").unwrap().value.is_unknown());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_never_panic_and_spans_stay_inside(
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "S3Backend(", "this", ",", "{", "}", "(", ")", "bucket", "key", ":", "=", ".", "'a'", "\"", "`", "${",
                "'''", "//", "/*", "#", "\n", "...", "**", "@", "$", "f", "\\", "jsii.String(", "é", "1", "addOverride(", "'use_lockfile',",
            ]),
            0..40,
        ),
        python in any::<bool>(),
    ) {
        let mut code = b"cdktf S3Backend(".to_vec();
        code.extend_from_slice(words.concat().as_bytes());
        code.extend(bytes);
        let file = if python { "a.py" } else { "a.ts" };
        for source in read_cdktf_source(file, Text::new(&code)) {
            prop_assert!(source.span.contains(source.body) && source.span.end <= code.len());
            for setting in &source.settings {
                prop_assert!(setting.span.end <= code.len(), "{source:?}");
                prop_assert!(setting.span.contains(setting.value_span) && setting.span.contains(setting.name_span));
            }
        }
    }
}
