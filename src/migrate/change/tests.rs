//! Exact bytes before and after, one test a behaviour.

use super::*;
use crate::repo::syntax::{atmos, hcl, json as json_syntax, terragrunt as terragrunt_syntax};
use crate::repo::text::{Place, Position};
use proptest::prelude::*;

fn source(kind: SourceKind, syntax: Syntax, span: Span, body: Span, settings: Vec<Setting>) -> Source {
    Source {
        kind,
        syntax,
        place: Place { file: "f".into(), line: 1, column: 1 },
        span,
        body,
        settings,
        editability: Editability::Safe,
        label: None,
        git_ignored: false,
    }
}

/// The backend block of a module file.
fn backend(text: &str) -> Source {
    let (facts, problems) = hcl::read_module_file("main.tf", Text::new(text.as_bytes()), false);
    assert_eq!(problems, [], "{text}");
    facts.backends.into_iter().next().unwrap().source
}

fn flat(text: &str) -> Source {
    hcl::read_flat("backend.hcl", Text::new(text.as_bytes())).0.unwrap()
}

/// The object that follows `before`, read as an HCL object (whose items JSON members are, too).
fn object(text: &str, before: &str, syntax: Syntax) -> Source {
    let start = text.find(before).unwrap() + before.len();
    let mut depth = 0;
    let length = text[start..].find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    let span = Span::new(start, start + length.unwrap() + 1);
    let settings = hcl::object_settings(Text::new(text.as_bytes()), span).unwrap();
    source(SourceKind::TerragruntRemoteState, syntax, span, Span::new(span.start + 1, span.end - 1), settings)
}

fn terragrunt(text: &str) -> Source {
    object(text, "config = ", Syntax::HclObject)
}

fn json(text: &str) -> Source {
    let before = if text.contains("\"s3\": ") { "\"s3\": " } else { "\"s3\":" };
    object(text, before, Syntax::Json)
}

/// Lines `name: value` from the first that is deeper than its parent.
fn yaml(text: &str) -> Source {
    let mut settings = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some((name, value)) = line.split_once(": ") {
            let start = at + name.len() - name.trim_start_matches([' ', '-']).len();
            let value_start = at + name.len() + 2;
            let value_text = value.split(" #").next().unwrap().trim_end();
            let span = Span::new(start, value_start + value_text.len());
            settings.push(Setting {
                name: name.trim_start_matches([' ', '-']).to_owned(),
                at: Position::default(),
                span,
                name_span: Span::new(start, at + name.len()),
                value_span: Span::new(value_start, span.end),
                value: Value::Text(value_text.to_owned()),
                via: Vec::new(),
            });
        }
        at += line.len();
    }
    let all = Span::new(0, text.len());
    source(SourceKind::Atmos, Syntax::Yaml, all, all, settings)
}

/// The word that holds `name`; `word` is its text.
fn flag(text: &str, word: &str, name: &str) -> Source {
    let start = text.find(word).unwrap();
    let span = Span::new(start, start + word.len());
    let name_start = start + word.find(name).unwrap();
    let value_start = name_start + name.len() + 1;
    let closing = if word.ends_with(['"', '\'']) { 1 } else { 0 };
    let value_span = Span::new(value_start, span.end - closing);
    let setting = Setting {
        name: name.to_owned(),
        at: Position::default(),
        span,
        name_span: Span::new(name_start, name_start + name.len()),
        value_span,
        value: Value::Text(text[value_span.start..value_span.end].to_owned()),
        via: Vec::new(),
    };
    source(SourceKind::BackendConfigFlag, Syntax::Flag, span, span, vec![setting])
}

fn try_change(text: &str, source: &Source, changes: &[Change]) -> Result<String, Refusal> {
    let edits = plan_changes(Text::new(text.as_bytes()), source, changes)?;
    Ok(String::from_utf8(edits.apply(text.as_bytes())).unwrap())
}

fn dual() -> Vec<Change> {
    vec![Change::set_lockfile(Some("dynamodb_table"))]
}

fn rollback() -> Vec<Change> {
    vec![Change::remove("use_lockfile")]
}

fn last() -> Vec<Change> {
    ["dynamodb_table", "dynamodb_endpoint", "endpoints.dynamodb"].map(Change::remove).to_vec()
}

fn both() -> Vec<Change> {
    dual().into_iter().chain(last()).collect()
}

/// dual, then what must hold of every edit: idempotent, rolled back to the same bytes, and final in two steps equal
/// to final in one. Returns the texts after dual and after final.
fn all_ways(text: &str, read: fn(&str) -> Source) -> (String, String) {
    let changed = |text: &str, changes: &[Change]| try_change(text, &read(text), changes).unwrap();
    let in_dual = changed(text, &dual());
    assert_eq!(changed(&in_dual, &dual()), in_dual, "dual again");
    assert_eq!(changed(&in_dual, &rollback()), text, "rolled back");
    let at_last = changed(&in_dual, &last());
    assert_eq!(changed(text, &both()), at_last, "in one step");
    (in_dual, at_last)
}

#[track_caller]
fn expect(text: &str, read: fn(&str) -> Source, in_dual: &str, at_last: &str) {
    let (was_dual, was_last) = all_ways(text, read);
    assert_eq!(was_dual, in_dual);
    assert_eq!(was_last, at_last);
}

const HEAD: &str = "terraform {\n  backend \"s3\" {\n";

#[test]
fn block_with_columns_and_comments() {
    expect(
        "terraform {\n  backend \"s3\" {             # where\n    bucket         = \"b\"     # the bucket\n    dynamodb_table = \"locks\" # the table\n    encrypt        = true    # yes\n  }\n}\n",
        backend,
        "terraform {\n  backend \"s3\" {             # where\n    bucket         = \"b\"     # the bucket\n    dynamodb_table = \"locks\" # the table\n    use_lockfile   = true\n    encrypt        = true # yes\n  }\n}\n",
        "terraform {\n  backend \"s3\" {       # where\n    bucket       = \"b\" # the bucket\n    use_lockfile = true\n    encrypt      = true # yes\n  }\n}\n",
    );
}

#[test]
fn columns_that_were_not_kept_are_left() {
    expect(
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"locks\"\n    key=\"k\"\n  }\n}\n",
        backend,
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    dynamodb_table = \"locks\"\n    use_lockfile = true\n    key=\"k\"\n  }\n}\n",
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    use_lockfile = true\n    key=\"k\"\n  }\n}\n",
    );
}

#[test]
fn a_wider_column_of_its_own_is_kept() {
    expect(
        "bucket              = \"b\"\ndynamodb_table      = \"locks\"\n",
        flat,
        "bucket              = \"b\"\ndynamodb_table      = \"locks\"\nuse_lockfile        = true\n",
        "bucket              = \"b\"\nuse_lockfile        = true\n",
    );
}

#[test]
fn crlf_tabs_and_bom_are_kept() {
    expect(
        "\u{feff}bucket = \"b\"\r\n\r\n\tdynamodb_table = \"t\" // x\r\n",
        flat,
        "\u{feff}bucket = \"b\"\r\n\r\n\tdynamodb_table = \"t\" // x\r\n\tuse_lockfile   = true\r\n",
        "\u{feff}bucket = \"b\"\r\n\r\n\tuse_lockfile = true\r\n",
    );
}

#[test]
fn a_missing_last_line_feed_stays_missing() {
    expect(
        "bucket         = \"b\"\ndynamodb_table = \"t\" # x",
        flat,
        "bucket         = \"b\"\ndynamodb_table = \"t\" # x\nuse_lockfile   = true",
        "bucket       = \"b\"\nuse_lockfile = true",
    );
    let text = "bucket         = \"b\"\r\ndynamodb_table = \"t\"";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "bucket = \"b\"");
    let text = "\u{feff}dynamodb_table = \"t\"";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "\u{feff}");
}

#[test]
fn a_one_line_block_is_opened() {
    let text = "terraform {\n  backend \"s3\" { dynamodb_table = \"t\" }\n}\n";
    let read = |text: &str| backend(text);
    let in_dual = try_change(text, &read(text), &dual()).unwrap();
    assert_eq!(in_dual, format!("{HEAD}    dynamodb_table = \"t\"\n    use_lockfile   = true\n  }}\n}}\n"));
    assert_eq!(try_change(&in_dual, &read(&in_dual), &dual()).unwrap(), in_dual);
    let at_last = format!("{HEAD}    use_lockfile = true\n  }}\n}}\n");
    assert_eq!(try_change(&in_dual, &read(&in_dual), &last()).unwrap(), at_last);
    assert_eq!(try_change(text, &read(text), &both()).unwrap(), at_last);
    assert_eq!(try_change(text, &read(text), &last()).unwrap(), "terraform {\n  backend \"s3\" {}\n}\n");
}

#[test]
fn an_empty_block_is_opened_and_closed_again() {
    for (empty, full) in [
        ("{}", "{\n    use_lockfile = true\n  }"),
        ("{ /* see x */ }", "{\n    /* see x */\n    use_lockfile = true\n  }"),
        ("{ # see x\n  }", "{ # see x\n    use_lockfile = true\n  }"),
    ] {
        let text = format!("terraform {{\n  backend \"s3\" {empty}\n}}\n");
        let in_dual = try_change(&text, &backend(&text), &dual()).unwrap();
        assert_eq!(in_dual, format!("terraform {{\n  backend \"s3\" {full}\n}}\n"));
    }
    let text = "\tbackend \"s3\" {}\r\n";
    let (sources, _) = hcl::backends_in_region(
        "x.sh",
        Text::new(text.as_bytes()),
        Span::new(0, text.len()),
        SourceKind::Heredoc,
    );
    let opened = try_change(text, &sources[0], &dual()).unwrap();
    assert_eq!(opened, "\tbackend \"s3\" {\r\n\t\tuse_lockfile = true\r\n\t}\r\n");
    let (sources, _) = hcl::backends_in_region(
        "x.sh",
        Text::new(opened.as_bytes()),
        Span::new(0, opened.len()),
        SourceKind::Heredoc,
    );
    assert_eq!(try_change(&opened, &sources[0], &rollback()).unwrap(), text);
}

#[test]
fn what_stands_is_replaced_or_left() {
    for (stands, becomes) in [
        ("false", "true"),
        ("null", "true"),
        ("\"\"", "true"),
        ("\"true\"", "\"true\""),
        ("\"1\"", "\"1\""),
        ("true", "true"),
    ] {
        let text =
            |value| format!("{HEAD}    dynamodb_table = \"t\"\n    use_lockfile   = {value} # x\n  }}\n}}\n");
        let before = text(stands);
        assert_eq!(try_change(&before, &backend(&before), &dual()).unwrap(), text(becomes));
    }
    let text = format!("{HEAD}    use_lockfile = var.x\n  }}\n}}\n");
    let refused = try_change(&text, &backend(&text), &dual());
    assert_eq!(refused, Err(Refusal::UnknownValue { name: "use_lockfile".into() }));
}

#[test]
fn replacing_a_value_moves_the_comments_of_its_chain() {
    let text = "a            = 1     # x\nuse_lockfile = false # y\n";
    assert_eq!(
        try_change(text, &flat(text), &dual()).unwrap(),
        "a            = 1    # x\nuse_lockfile = true # y\n"
    );
}

#[test]
fn a_value_of_several_lines_stays_whole() {
    expect(
        "bucket = \"b\"\ndynamodb_table = <<EOT\nuse_lockfile = # no\n  }\nEOT\nkey = \"k\"\n",
        flat,
        "bucket = \"b\"\ndynamodb_table = <<EOT\nuse_lockfile = # no\n  }\nEOT\nuse_lockfile = true\nkey = \"k\"\n",
        "bucket = \"b\"\nuse_lockfile = true\nkey = \"k\"\n",
    );
    expect(
        "bucket = \"b\"\ndynamodb_table = join(\"-\", [\n  \"a\",\n])\nkey = \"k\"\n",
        flat,
        "bucket = \"b\"\ndynamodb_table = join(\"-\", [\n  \"a\",\n])\nuse_lockfile = true\nkey          = \"k\"\n",
        "bucket       = \"b\"\nuse_lockfile = true\nkey          = \"k\"\n",
    );
}

#[test]
fn comments_about_the_table_go_and_others_stay() {
    let cases = [
        ("  # the DynamoDB table\n", ""),
        ("  # bucket and key\n  # Lock table for all teams\n", "  # bucket and key\n"),
        ("  # made by ops\n", "  # made by ops\n"),
        ("  # dynamodb, far away\n\n", "  # dynamodb, far away\n\n"),
        ("# dynamodb, other indentation\n", "# dynamodb, other indentation\n"),
        (
            "  # The state lives in s3 and\n  # the dynamodb table\n",
            "  # The state lives in s3 and\n  # the dynamodb table\n",
        ),
        ("  /* dynamodb */\n", ""),
        ("  // dynamodb_table = \"old\"\n", ""),
    ];
    for (above, left) in cases {
        let text = format!("  key = 1\n{above}  dynamodb_table = \"t\" # gone\n  region = 2\n");
        let (_, at_last) = (0, try_change(&text, &flat(&text), &last()).unwrap());
        let (left, right) = (format!("  key = 1\n{left}  region = 2\n"), at_last);
        // Chains are joined where the comment between them went.
        assert_eq!(right.replace("key    =", "key ="), left);
    }
}

#[test]
fn a_comment_about_locking_stays_while_something_locks() {
    let text = "  # State locking\n  dynamodb_table = \"t\"\n";
    assert_eq!(try_change(text, &flat(text), &both()).unwrap(), "  # State locking\n  use_lockfile = true\n");
    let (_, at_last) = all_ways(text, flat);
    assert_eq!(at_last, "  # State locking\n  use_lockfile = true\n");
    let text = "  a = 1\n  # State locking\n  dynamodb_table = \"t\"\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "  a = 1\n");
}

#[test]
fn no_blank_line_is_left_too_many() {
    let block = |inner: &str| format!("{HEAD}{inner}  }}\n}}\n");
    let table = "    dynamodb_table = \"t\"\n";
    for (before, after) in [
        (format!("    a = 1\n\n{table}\n    b = 2\n"), "    a = 1\n\n    b = 2\n"),
        (format!("{table}\n    b = 2\n"), "    b = 2\n"),
        (format!("    a = 1\n\n{table}"), "    a = 1\n"),
        (format!("    a = 1\n\n{table}    b = 2\n"), "    a = 1\n\n    b = 2\n"),
    ] {
        let text = block(&before);
        assert_eq!(try_change(&text, &backend(&text), &last()).unwrap(), block(after));
    }
    let text = "dynamodb_table = \"t\"\n\nb = 2\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "b = 2\n");
    let text = "b = 2\n\ndynamodb_table = \"t\"\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "b = 2\n");
}

#[test]
fn nested_endpoints_go_alone_or_with_their_object() {
    let one = |inner: &str| format!("{HEAD}    bucket    = \"b\"\n    endpoints = {inner}\n  }}\n}}\n");
    let gone = format!("{HEAD}    bucket = \"b\"\n  }}\n}}\n");
    for (before, after) in [
        ("{ s3 = \"x\", dynamodb = \"y\" }", one("{ s3 = \"x\" }")),
        ("{ dynamodb = \"y\", s3 = \"x\" }", one("{ s3 = \"x\" }")),
        ("{\n      s3       = \"x\"\n      dynamodb = \"y\"\n    }", one("{\n      s3 = \"x\"\n    }")),
        (
            "{\n      \"s3\" : \"x\",\n      \"dynamodb\" : \"y\"\n    }",
            one("{\n      \"s3\" : \"x\"\n    }"),
        ),
        ("{ dynamodb = \"y\" }", gone.clone()),
    ] {
        let text = one(before);
        assert_eq!(try_change(&text, &backend(&text), &last()).unwrap(), after);
    }
    let text = format!(
        "{HEAD}    bucket = \"b\"\n    endpoints = {{\n      dynamodb = \"y\" # z\n    }}\n  }}\n}}\n"
    );
    assert_eq!(try_change(&text, &backend(&text), &last()).unwrap(), gone);
}

#[test]
fn a_name_that_stands_twice_goes_twice() {
    let text = "dynamodb_table = \"t\"\nkey = 1\ndynamodb_table = \"u\"\n";
    assert_eq!(try_change(text, &flat(text), &last()).unwrap(), "key = 1\n");
}

#[test]
fn terragrunt_objects() {
    expect(
        "remote_state {\n  config = {\n    bucket         = \"b\"\n    dynamodb_table = \"t\"\n  }\n}\n",
        terragrunt,
        "remote_state {\n  config = {\n    bucket         = \"b\"\n    dynamodb_table = \"t\"\n    use_lockfile   = true\n  }\n}\n",
        "remote_state {\n  config = {\n    bucket       = \"b\"\n    use_lockfile = true\n  }\n}\n",
    );
    expect(
        "config = {\n  \"bucket\"         : \"b\", # x\n  \"dynamodb_table\" : \"t\"  # y\n}\n",
        terragrunt,
        "config = {\n  \"bucket\"         : \"b\", # x\n  \"dynamodb_table\" : \"t\", # y\n  \"use_lockfile\"   : true\n}\n",
        "config = {\n  \"bucket\"         : \"b\", # x\n  \"use_lockfile\"   : true\n}\n",
    );
    expect(
        "config = {\n  dynamodb_table = \"t\",\n  key = \"k\",\n}\n",
        terragrunt,
        "config = {\n  dynamodb_table = \"t\",\n  use_lockfile = true,\n  key = \"k\",\n}\n",
        "config = {\n  use_lockfile = true,\n  key = \"k\",\n}\n",
    );
    expect(
        "config = { bucket = \"b\", dynamodb_table = \"t\" }\n",
        terragrunt,
        "config = { bucket = \"b\", dynamodb_table = \"t\", use_lockfile = true }\n",
        "config = { bucket = \"b\", use_lockfile = true }\n",
    );
    expect(
        "config = { dynamodb_table = \"t\" }\n",
        terragrunt,
        "config = { dynamodb_table = \"t\", use_lockfile = true }\n",
        "config = { use_lockfile = true }\n",
    );
    expect(
        "config = { a = 1\n  dynamodb_table = \"t\" }\n",
        terragrunt,
        "config = { a = 1\n  dynamodb_table = \"t\", use_lockfile = true }\n",
        "config = { a = 1\n  use_lockfile = true }\n",
    );
    expect(
        "config = {}\n",
        terragrunt,
        "config = {\n  use_lockfile = true\n}\n",
        "config = {\n  use_lockfile = true\n}\n",
    );
}

#[test]
fn json_members() {
    expect(
        "{\n    \"s3\": {\n        \"bucket\": \"b\",\n        \"dynamodb_table\": \"t\"\n    }\n}\n",
        json,
        "{\n    \"s3\": {\n        \"bucket\": \"b\",\n        \"dynamodb_table\": \"t\",\n        \"use_lockfile\": true\n    }\n}\n",
        "{\n    \"s3\": {\n        \"bucket\": \"b\",\n        \"use_lockfile\": true\n    }\n}\n",
    );
    expect(
        "{\"s3\": {\r\n\t\"dynamodb_table\" :\"t\",\r\n\t\"key\": \"k\"\r\n}}",
        json,
        "{\"s3\": {\r\n\t\"dynamodb_table\" :\"t\",\r\n\t\"use_lockfile\" :true,\r\n\t\"key\": \"k\"\r\n}}",
        "{\"s3\": {\r\n\t\"use_lockfile\" :true,\r\n\t\"key\": \"k\"\r\n}}",
    );
    expect(
        "{\"s3\":{\"a\":1,\"dynamodb_table\":\"t\",\"key\":\"k\"}}",
        json,
        "{\"s3\":{\"a\":1,\"dynamodb_table\":\"t\",\"use_lockfile\":true,\"key\":\"k\"}}",
        "{\"s3\":{\"a\":1,\"use_lockfile\":true,\"key\":\"k\"}}",
    );
    expect("{\"s3\":{}}", json, "{\"s3\":{\"use_lockfile\":true}}", "{\"s3\":{\"use_lockfile\":true}}");
    expect(
        "{\n   \"s3\": {}\n}\n",
        json,
        "{\n   \"s3\": {\n      \"use_lockfile\": true\n   }\n}\n",
        "{\n   \"s3\": {\n      \"use_lockfile\": true\n   }\n}\n",
    );
    for (text, left) in [
        ("{\n  \"s3\": {\n    \"dynamodb_table\": \"t\"\n  }\n}\n", "{\n  \"s3\": {}\n}\n"),
        ("{\"s3\": {\"a\": 1, \"dynamodb_table\": \"t\"}}", "{\"s3\": {\"a\": 1}}"),
        (
            "{\"s3\": {\"a\": 1\n  , \"dynamodb_table\": \"t\"\n  , \"b\": 2\n}}",
            "{\"s3\": {\"a\": 1\n  , \"b\": 2\n}}",
        ),
        ("{\"s3\": {\"a\": 1, \"endpoints\": {\"dynamodb\": \"t\"}}}", "{\"s3\": {\"a\": 1}}"),
        (
            "{\"s3\": {\n  \"a\": 1,\n  \"endpoints\": {\n    \"s3\": 2,\n    \"dynamodb\": \"t\"\n  }\n}}",
            "{\"s3\": {\n  \"a\": 1,\n  \"endpoints\": {\n    \"s3\": 2\n  }\n}}",
        ),
    ] {
        assert_eq!(try_change(text, &json(text), &last()).unwrap(), left);
    }
}

fn json_module(text: &str) -> Source {
    let (facts, problems) = json_syntax::read_module_file("main.tf.json", Text::new(text.as_bytes()), false);
    assert_eq!(problems, []);
    facts.backends.into_iter().next().unwrap().source
}

#[test]
fn json_as_it_is_read() {
    expect(
        "{\n  \"terraform\": {\n    \"backend\": {\n      \"s3\": {\n        \"bucket\": \"b\",\n        \"//\": \"dynamodb\",\n        \"dynamodb_table\": \"t\"\n      }\n    }\n  }\n}\n",
        json_module,
        "{\n  \"terraform\": {\n    \"backend\": {\n      \"s3\": {\n        \"bucket\": \"b\",\n        \"//\": \"dynamodb\",\n        \"dynamodb_table\": \"t\",\n        \"use_lockfile\": true\n      }\n    }\n  }\n}\n",
        "{\n  \"terraform\": {\n    \"backend\": {\n      \"s3\": {\n        \"bucket\": \"b\",\n        \"//\": \"dynamodb\",\n        \"use_lockfile\": true\n      }\n    }\n  }\n}\n",
    );
    let text = "{\"terraform\":[{\"backend\":[{\"s3\":{\"a\":1,\"//\":\"x\",\"endpoints\":{\"dynamodb\":\"d\"},\"dynamodb_table\":\"t\"}}]}]}";
    let left = "{\"terraform\":[{\"backend\":[{\"s3\":{\"a\":1,\"//\":\"x\"}}]}]}";
    assert_eq!(try_change(text, &json_module(text), &last()).unwrap(), left);
}

#[test]
fn terragrunt_as_it_is_read() {
    fn read(text: &str) -> Source {
        let (facts, problems) =
            terragrunt_syntax::read_terragrunt("terragrunt.hcl", Text::new(text.as_bytes()));
        assert_eq!(problems, []);
        facts.remote_states.into_iter().chain(facts.generates).next().unwrap()
    }
    expect(
        "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket         = \"b\"\n    dynamodb_table = \"t-${local.x}\" # the table\n  }\n}\n",
        read,
        "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket         = \"b\"\n    dynamodb_table = \"t-${local.x}\" # the table\n    use_lockfile   = true\n  }\n}\n",
        "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket       = \"b\"\n    use_lockfile = true\n  }\n}\n",
    );
    expect(
        "generate \"b\" {\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket         = \"b\"\n    dynamodb_table = \"t\"\n  }\n}\nEOF\n}\n",
        read,
        "generate \"b\" {\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket         = \"b\"\n    dynamodb_table = \"t\"\n    use_lockfile   = true\n  }\n}\nEOF\n}\n",
        "generate \"b\" {\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket       = \"b\"\n    use_lockfile = true\n  }\n}\nEOF\n}\n",
    );
}

#[test]
fn atmos_as_it_is_read() {
    fn read(text: &str) -> Source {
        let (sources, problems) = atmos::read_atmos("stacks/a.yaml", Text::new(text.as_bytes()));
        assert_eq!(problems, []);
        sources.into_iter().next().unwrap()
    }
    expect(
        "terraform:\n  backend:\n    s3:\n      bucket: b\n      dynamodb_table: \"t\" # x\n      endpoints:\n        dynamodb: d\n  vars: {}\n",
        read,
        "terraform:\n  backend:\n    s3:\n      bucket: b\n      dynamodb_table: \"t\" # x\n      use_lockfile: true\n      endpoints:\n        dynamodb: d\n  vars: {}\n",
        "terraform:\n  backend:\n    s3:\n      bucket: b\n      use_lockfile: true\n  vars: {}\n",
    );
    expect(
        "terraform:\n  backend:\n    s3:\n      dynamodb_table: t",
        read,
        "terraform:\n  backend:\n    s3:\n      dynamodb_table: t\n      use_lockfile: true",
        "terraform:\n  backend:\n    s3:\n      use_lockfile: true",
    );
}

#[test]
fn yaml_entries() {
    expect(
        "s3:\n  bucket: b # x\n  # the dynamodb table\n  dynamodb_table: t # y\n  key: k\n",
        yaml,
        "s3:\n  bucket: b # x\n  # the dynamodb table\n  dynamodb_table: t # y\n  use_lockfile: true\n  key: k\n",
        "s3:\n  bucket: b # x\n  use_lockfile: true\n  key: k\n",
    );
    let text = "- dynamodb_table: t\n  key: k";
    assert_eq!(
        try_change(text, &yaml(text), &dual()).unwrap(),
        "- dynamodb_table: t\n  use_lockfile: true\n  key: k"
    );
    assert_eq!(
        try_change(text, &yaml(text), &last()),
        Err(Refusal::SharedLine { name: "dynamodb_table".into() })
    );
    let text = "s3:\n  dynamodb_table: t\n";
    assert_eq!(
        try_change(text, &yaml(text), &last()),
        Err(Refusal::LeavesNothing { name: "dynamodb_table".into() })
    );
    let text = "s3: {\n  dynamodb_table: t\n}\n";
    assert_eq!(
        try_change(text, &yaml(text), &dual()),
        Err(Refusal::SharedLine { name: "dynamodb_table".into() })
    );
}

#[test]
fn flags() {
    let cases = [
        (
            "terraform init -backend-config=\"dynamodb_table=t\" -upgrade\n",
            "-backend-config=\"dynamodb_table=t\"",
            "terraform init -backend-config=\"dynamodb_table=t\" -backend-config=\"use_lockfile=true\" -upgrade\n",
            "terraform init -backend-config=\"use_lockfile=true\" -upgrade\n",
        ),
        (
            "terraform init '-backend-config=dynamodb_table=t'",
            "'-backend-config=dynamodb_table=t'",
            "terraform init '-backend-config=dynamodb_table=t' '-backend-config=use_lockfile=true'",
            "terraform init '-backend-config=use_lockfile=true'",
        ),
        (
            "terraform init \\\r\n\t-backend-config=dynamodb_table=t  \\\r\n\t-upgrade\r\n",
            "-backend-config=dynamodb_table=t",
            "terraform init \\\r\n\t-backend-config=dynamodb_table=t  \\\r\n\t-backend-config=use_lockfile=true  \\\r\n\t-upgrade\r\n",
            "terraform init \\\r\n\t-backend-config=use_lockfile=true  \\\r\n\t-upgrade\r\n",
        ),
        (
            "terraform init \\\n  -backend-config=dynamodb_table=t\necho\n",
            "-backend-config=dynamodb_table=t",
            "terraform init \\\n  -backend-config=dynamodb_table=t \\\n  -backend-config=use_lockfile=true\necho\n",
            "terraform init \\\n  -backend-config=use_lockfile=true\necho\n",
        ),
        (
            "run: >-\n  terraform init\n  -backend-config=dynamodb_table=t\n",
            "-backend-config=dynamodb_table=t",
            "run: >-\n  terraform init\n  -backend-config=dynamodb_table=t -backend-config=use_lockfile=true\n",
            "run: >-\n  terraform init\n  -backend-config=use_lockfile=true\n",
        ),
    ];
    for (text, word, in_dual, at_last) in cases {
        let read = flag(text, word, "dynamodb_table");
        assert_eq!(try_change(text, &read, &dual()).unwrap(), in_dual);
        assert_eq!(try_change(text, &read, &both()).unwrap(), at_last);
        let new = word.replace("dynamodb_table=t", "use_lockfile=true");
        assert_eq!(try_change(in_dual, &flag(in_dual, &new, "use_lockfile"), &rollback()).unwrap(), text);
        assert_eq!(try_change(in_dual, &flag(in_dual, &new, "use_lockfile"), &dual()).unwrap(), in_dual);
    }
    let text = "x -backend-config=use_lockfile='false' y";
    let read = flag(text, "-backend-config=use_lockfile='false'", "use_lockfile");
    let mut quoted = read.clone();
    quoted.settings[0].value_span.end += 1;
    assert_eq!(try_change(text, &quoted, &dual()).unwrap(), "x -backend-config=use_lockfile='true' y");
    for list in ["  - -backend-config=dynamodb_table=t\n", "[\"init\", -backend-config=dynamodb_table=t]"] {
        let read = flag(list, "-backend-config=dynamodb_table=t", "dynamodb_table");
        assert_eq!(try_change(list, &read, &dual()), Err(Refusal::ListElement));
        assert_eq!(try_change(list, &read, &last()), Err(Refusal::ListElement));
    }
}

#[test]
fn refusals_say_why() {
    let text = "dynamodb_table = \"t\"\n";
    let mut read = flat(text);
    read.editability = Editability::ReportOnly("a copy".into());
    assert_eq!(try_change(text, &read, &dual()), Err(Refusal::ReportOnly("a copy".into())));
    read.editability = Editability::Safe;
    read.syntax = Syntax::Other;
    assert_eq!(try_change(text, &read, &dual()), Err(Refusal::Syntax));
    let set = |text: &str| {
        vec![Change::Set { name: "dynamodb_table".into(), value: Literal::Text(text.into()), beside: None }]
    };
    let text = "use_lockfile = true\n";
    assert_eq!(
        try_change(text, &flat(text), &set("a\"${b}")).unwrap(),
        "use_lockfile   = true\ndynamodb_table = \"a\\\"$${b}\"\n"
    );
    assert_eq!(
        try_change(text, &flat(text), &set("a\nb")),
        Err(Refusal::Unspellable { text: "a\nb".into() })
    );
    let mut embedded = flat(text);
    embedded.kind = SourceKind::Heredoc;
    assert_eq!(try_change(text, &embedded, &set("a$b")), Err(Refusal::Unspellable { text: "a$b".into() }));
}

#[test]
fn what_a_person_would_write() {
    let on = Literal::Bool(true);
    assert_eq!(written(Syntax::HclBody, "use_lockfile", &on), "use_lockfile = true");
    assert_eq!(written(Syntax::Json, "use_lockfile", &on), "\"use_lockfile\": true");
    assert_eq!(written(Syntax::Yaml, "use_lockfile", &on), "use_lockfile: true");
    assert_eq!(written(Syntax::Flag, "use_lockfile", &on), "-backend-config=\"use_lockfile=true\"");
    let table = Literal::Text("locks".into());
    assert_eq!(written(Syntax::HclObject, "dynamodb_table", &table), "dynamodb_table = \"locks\"");
}

#[test]
fn several_sources_of_one_file_are_changed_together() {
    let text =
        "a -backend-config=dynamodb_table=t b -backend-config=key=k\nbucket = 1\ndynamodb_table = \"t\"\n";
    let first = flag(text, "-backend-config=dynamodb_table=t", "dynamodb_table");
    let start = text.find("bucket").unwrap();
    let settings = hcl::settings(Text::new(text.as_bytes()), Span::new(start, text.len())).0;
    let span = Span::new(start, text.len());
    let second = source(SourceKind::Heredoc, Syntax::HclBody, span, span, settings);
    let edits = plan_file(Text::new(text.as_bytes()), &[(&first, &dual()), (&second, &both())]).unwrap();
    assert_eq!(
        String::from_utf8(edits.apply(text.as_bytes())).unwrap(),
        "a -backend-config=dynamodb_table=t -backend-config=use_lockfile=true b -backend-config=key=k\nbucket = 1\nuse_lockfile = true\n"
    );
}

/// A backend block as people write it, aligned or not.
fn any_block() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "(bucket|key|region|profile|kms_key_id)( |  |    )?= ?(\"[a-zé#=/]{0,8}\"|true|12)( # [a-z]{0,6}| // x)?",
        1 => "# (the dynamodb table|State locking|other|Also dynamodb)",
        1 => Just(String::new()),
        1 => Just("assume_role = {\n      role_arn = \"x\" # y\n    }".to_owned()),
        1 => Just("acl = <<E\n dynamodb_table = 1 # \"\nE".to_owned()),
    ];
    let lines = proptest::collection::vec(line, 0..7);
    let comment = prop_oneof![Just(String::new()), Just(" # table".to_owned())];
    (lines.clone(), lines, comment, any::<bool>()).prop_map(|(before, after, comment, crlf)| {
        let mut text = "terraform {\n  backend \"s3\" { # c\n".to_owned();
        let table = format!("dynamodb_table = \"t\"{comment}");
        for line in before.iter().chain([&table]).chain(&after) {
            if line.is_empty() {
                text.push('\n');
            } else {
                text.push_str(&format!("    {line}\n"));
            }
        }
        text.push_str("  }\n}\nlocals {\n  a = 1 # x\n}\n");
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// The text without the white space that only makes columns.
fn squeezed(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// Spans that have nothing to do with the bytes, as after a file changed.
fn any_source() -> impl Strategy<Value = Source> {
    let span = (0..60usize, 0..20usize).prop_map(|(start, length)| Span::new(start, start + length));
    let name = prop_oneof![
        Just("dynamodb_table"),
        Just("use_lockfile"),
        Just("endpoints"),
        Just("endpoints.dynamodb"),
        Just("key"),
    ];
    let setting =
        (name, span.clone(), span.clone(), span.clone()).prop_map(|(name, all, name_span, value_span)| {
            let value = if name == "endpoints" { Value::Object } else { Value::Text("x".into()) };
            Setting {
                name: name.into(),
                at: Position::default(),
                span: all,
                name_span,
                value_span,
                value,
                via: Vec::new(),
            }
        });
    let syntax = prop_oneof![
        Just(Syntax::HclBody),
        Just(Syntax::HclObject),
        Just(Syntax::Json),
        Just(Syntax::Yaml),
        Just(Syntax::Flag),
    ];
    (syntax, span.clone(), span, proptest::collection::vec(setting, 0..4), any::<bool>()).prop_map(
        |(syntax, all, body, settings, whole)| {
            let kind = if whole { SourceKind::Backend } else { SourceKind::Heredoc };
            source(kind, syntax, all, body, settings)
        },
    )
}

proptest! {
    #[test]
    fn spans_that_do_not_fit_never_panic(text in "[a={}\"#,:\\\\ \n\r]{0,60}", read in any_source()) {
        let text = Text::new(text.as_bytes());
        for changes in [dual(), last(), both(), rollback()] {
            if let Ok(edits) = plan_changes(text, &read, &changes) {
                prop_assert!(edits.iter().all(|edit| edit.span.end <= text.bytes().len()));
            }
        }
    }

    #[test]
    fn edits_are_the_same_in_one_run_or_two_and_stay_inside(text in any_block()) {
        let read = backend(&text);
        let edits = plan_changes(Text::new(text.as_bytes()), &read, &dual()).unwrap();
        let in_dual = String::from_utf8(edits.apply(text.as_bytes())).unwrap();
        prop_assert!(plan_changes(Text::new(in_dual.as_bytes()), &backend(&in_dual), &dual()).unwrap().is_empty());
        // Nothing but a line came, and nothing but columns moved.
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let (head, tail) = in_dual.split_once("    use_lockfile").unwrap();
        let tail = tail.split_once(eol).unwrap().1;
        prop_assert_eq!(squeezed(&format!("{head}{tail}")), squeezed(&text));
        let outside = edits.iter().filter(|edit| !read.span.contains(edit.span));
        for edit in outside {
            prop_assert!(edit.span.of(text.as_bytes()).iter().all(|byte| *byte == b' '));
        }
        let at_last = try_change(&in_dual, &backend(&in_dual), &last()).unwrap();
        prop_assert_eq!(&try_change(&text, &backend(&text), &both()).unwrap(), &at_last);
        let after = backend(&at_last);
        prop_assert!(after.setting("dynamodb_table").is_none());
        let kept = |source: &Source| source.settings.iter()
            .filter(|setting| setting.name != "dynamodb_table" && setting.name != "use_lockfile")
            .map(|setting| (setting.name.clone(), setting.value.clone())).collect::<Vec<_>>();
        prop_assert_eq!(kept(&after), kept(&read));
    }
}
