//! Exact bytes before and after in JSON, YAML and on command lines; sources as their readers give them; refusals.

use super::*;
use crate::repo::syntax::{atmos, json as json_syntax, terragrunt as terragrunt_syntax};

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
    let mut quoted = flag(text, "-backend-config=use_lockfile='false'", "use_lockfile");
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
    read.editability = crate::repo::source::Editability::ReportOnly("a copy".into());
    assert_eq!(try_change(text, &read, &dual()), Err(Refusal::ReportOnly("a copy".into())));
    read.editability = crate::repo::source::Editability::Safe;
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
