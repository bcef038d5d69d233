use super::*;
use proptest::prelude::*;

fn read(text: &str) -> TerragruntFacts {
    let (facts, problems) = read_terragrunt("live/terragrunt.hcl", Text::new(text.as_bytes()));
    assert_eq!(problems, [], "{text}");
    facts
}

fn at(text: &str, span: Span) -> &str {
    &text[span.start..span.end]
}

fn values<'a>(text: &'a str, source: &Source) -> Vec<(String, &'a str, &'a str)> {
    source.settings.iter().map(|s| (s.name.clone(), at(text, s.span), at(text, s.value_span))).collect()
}

#[test]
fn names_that_may_be_terragrunts() {
    for yes in [
        "terragrunt.hcl",
        "a/b/terragrunt.hcl",
        "terragrunt.hcl.json",
        "root.hcl",
        "terragrunt.stack.hcl",
        "live/account.hcl",
        "_envcommon/vpc.hcl",
        "backend.hcl",
    ] {
        assert!(is_terragrunt(yes), "{yes}");
    }
    for no in [
        ".terraform.lock.hcl",
        "a/.terraform.lock.hcl",
        ".tflint.hcl",
        "image.pkr.hcl",
        "x.pkrvars.hcl",
        "job.nomad.hcl",
        "stack.tm.hcl",
        "main.tftest.hcl",
        "x.tfmock.hcl",
        "docker-bake.hcl",
        "main.tf",
        "x.hcl.tmpl",
        ".hcl",
        "terragrunt.hcl/readme.md",
        "x.json",
    ] {
        assert!(!is_terragrunt(no), "{no}");
    }
}

#[test]
fn a_remote_state_block_is_read_with_exact_places() {
    let text = "# c\nremote_state {\n  backend = \"s3\"\n  generate = {\n    path = \"backend.tf\"\n    if_exists = \"overwrite\"\n  }\n  config = {\n    bucket = \"b\", key : \"${path_relative_to_include()}/t\"\n    \"dynamodb_table\" = \"locks\" # why\n    lock_table = \"old\"\n    use_lockfile = true\n    secret_key = \"hush\"\n    endpoints = { dynamodb = \"d\" }\n  }\n}\n";
    let facts = read(text);
    let [source] = facts.remote_states.as_slice() else { panic!("{facts:?}") };
    assert_eq!(source.kind, SourceKind::TerragruntRemoteState);
    assert_eq!(source.syntax, Syntax::HclObject);
    assert_eq!(source.place.to_string(), "live/terragrunt.hcl:2:1");
    assert!(at(text, source.span).starts_with("remote_state {") && at(text, source.span).ends_with("  }\n}"));
    assert!(
        at(text, source.body).starts_with("\n    bucket = ")
            && at(text, source.body).ends_with("\"d\" }\n  ")
    );
    assert_eq!(source.editability, Editability::Safe);
    assert_eq!(
        values(text, source),
        [
            ("bucket".into(), "bucket = \"b\"", "\"b\""),
            (
                "key".into(),
                "key : \"${path_relative_to_include()}/t\"",
                "\"${path_relative_to_include()}/t\""
            ),
            ("dynamodb_table".into(), "\"dynamodb_table\" = \"locks\"", "\"locks\""),
            ("lock_table".into(), "lock_table = \"old\"", "\"old\""),
            ("use_lockfile".into(), "use_lockfile = true", "true"),
            ("secret_key".into(), "secret_key = \"hush\"", "\"hush\""),
            ("endpoints".into(), "endpoints = { dynamodb = \"d\" }", "{ dynamodb = \"d\" }"),
            ("endpoints.dynamodb".into(), "dynamodb = \"d\"", "\"d\""),
        ]
    );
    assert_eq!(source.setting("lock_table").map(|s| &s.value), Some(&Value::Text("old".into())));
    assert_eq!(source.setting("use_lockfile").map(|s| &s.value), Some(&Value::Bool(true)));
    assert_eq!(source.setting("secret_key").map(|s| &s.value), Some(&Value::Secret));
    let key = source.setting("key").unwrap();
    assert!(key.value.is_unknown());
    assert_eq!(
        facts.expressions,
        [(key.value_span.start, "\"${path_relative_to_include()}/t\"".to_owned())].into()
    );
}

#[test]
fn a_remote_state_attribute_is_read_alike() {
    let text = "remote_state = {\n  backend = \"s3\"\n  config = { bucket = \"b\" }\n}\n";
    let facts = read(text);
    let [source] = facts.remote_states.as_slice() else { panic!("{facts:?}") };
    assert_eq!(at(text, source.span), text.trim_end());
    assert_eq!(at(text, source.body), " bucket = \"b\" ");
    assert_eq!(values(text, source), [("bucket".into(), "bucket = \"b\"", "\"b\"")]);
    assert_eq!(source.editability, Editability::Safe);
}

#[test]
fn a_computed_config_is_unknown_under_every_name_that_decides() {
    let text =
        "remote_state {\n  backend = \"s3\"\n  config = merge(local.common, {\n    key = \"k\"\n  })\n}\n";
    let facts = read(text);
    let [source] = facts.remote_states.as_slice() else { panic!("{facts:?}") };
    let names: Vec<&str> = source.settings.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["bucket", "key", "region", "dynamodb_table", "use_lockfile"]);
    assert_eq!(
        source.settings[0].value,
        Value::Unknown {
            expression: "merge(local.common, { key = \"k\" })".into(),
            reason: "`config` is computed: it is not an object in braces".into()
        }
    );
    assert_eq!(
        source.editability,
        Editability::ReportOnly("`config` is computed: it is not an object in braces".into())
    );
    assert_eq!(crate::repo::terragrunt::opaque(source).map(|s| s.name.as_str()), Some("bucket"));
    let facts = read("remote_state = read_terragrunt_config(\"x.hcl\").remote_state\n");
    assert_eq!(
        facts.remote_states[0].editability,
        Editability::ReportOnly("`remote_state` is computed".into())
    );
}

#[test]
fn a_secret_in_a_computed_config_is_not_shown() {
    let facts =
        read("remote_state {\n  backend = \"s3\"\n  config = merge({ secret_key = \"hush\" }, local.x)\n}\n");
    assert!(!format!("{:?}", facts.remote_states).contains("hush"));
}

#[test]
fn other_backends_and_untold_ones() {
    let facts = read("remote_state {\n  backend = \"gcs\"\n  config = {\n    bucket = \"b\"\n  }\n}\n");
    assert_eq!((facts.remote_states.len(), facts.other_backend.as_deref()), (0, Some("gcs")));
    let facts = read("remote_state {\n  backend = local.kind\n  config = {\n    bucket = \"b\"\n  }\n}\n");
    assert_eq!(facts.remote_states[0].settings.len(), 1);
    assert!(!facts.remote_states[0].editability.is_safe());
    assert_eq!(facts.expressions.get(&0).map(String::as_str), Some("local.kind"));
}

#[test]
fn commented_out_and_nested_remote_states_are_none() {
    let facts = read(
        "# remote_state {\n#   backend = \"s3\"\n# }\n/*\nremote_state {\n}\n*/\ninputs = {\n  remote_state = { backend = \"s3\" }\n}\nlocals {\n  remote_state = 1\n}\n",
    );
    assert_eq!((facts.remote_states.len(), facts.generates.len()), (0, 0));
    assert_eq!(facts.inputs.as_deref(), Some("{\n  remote_state = { backend = \"s3\" }\n}"));
    assert_eq!(facts.locals, [("remote_state".to_owned(), "1".to_owned())]);
}

#[test]
fn includes_source_constraints_and_arguments() {
    let text = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n  expose = true\n}\ninclude {\n  path           = \"../x.hcl\"\n  merge_strategy = \"deep\"\n}\ninclude \"c\" {\n  path = \"c.hcl\"\n  merge_strategy = local.how\n}\nterraform_version_constraint  = \">= 1.11\"\nterragrunt_version_constraint = local.v\nterraform {\n  source = \"${get_repo_root()}/m\"\n  extra_arguments \"init\" {\n    commands  = [\"init\", \"plan\"]\n    arguments = [\"-backend-config=bucket=b\", \"-backend-config=x.hcl\", \"-backend-config=key=${local.k}\", \"-lock=false\", \"-reconfigure\", \"-var-file=a.tfvars\"]\n  }\n  extra_arguments \"dull\" {\n    commands  = [\"apply\"]\n    arguments = [\"-lock-timeout=5m\"]\n  }\n}\ndependency \"vpc\" {\n  config_path = \"../vpc\"\n}\n";
    let facts = read(text);
    let includes: Vec<(&str, &str, Option<&str>, usize)> = facts
        .includes
        .iter()
        .map(|i| (i.label.as_str(), i.path.as_str(), i.merge_strategy.as_deref(), i.place.line))
        .collect();
    assert_eq!(
        includes,
        [
            ("root", "find_in_parent_folders(\"root.hcl\")", None, 1),
            ("", "\"../x.hcl\"", Some("deep"), 5),
            ("c", "\"c.hcl\"", Some("local.how"), 9),
        ]
    );
    let pins: Vec<(Tool, &str, &str, &str)> =
        facts.pins.iter().map(|p| (p.tool, p.text.as_str(), p.origin, p.scope.as_str())).collect();
    assert_eq!(
        pins,
        [
            (Tool::Terraform, ">= 1.11", "terraform_version_constraint", "live"),
            (Tool::Terragrunt, "local.v", "terragrunt_version_constraint", "live"),
        ]
    );
    assert!(facts.has_terraform_source);
    assert_eq!(facts.terraform_source.as_deref(), Some("\"${get_repo_root()}/m\""));
    let [call] = facts.extra_arguments.as_slice() else { panic!("{:?}", facts.extra_arguments) };
    assert_eq!(call.subcommand, "init");
    assert_eq!(
        call.config_files.iter().map(|(f, s)| (f.as_str(), at(text, *s))).collect::<Vec<_>>(),
        [("x.hcl", "-backend-config=x.hcl")]
    );
    let flags: Vec<(&str, &str, &str)> = call
        .config_flags
        .iter()
        .flat_map(|source| &source.settings)
        .map(|s| (s.name.as_str(), at(text, s.span), at(text, s.value_span)))
        .collect();
    assert_eq!(
        flags,
        [
            ("bucket", "-backend-config=bucket=b", "b"),
            ("key", "-backend-config=key=${local.k}", "${local.k}")
        ]
    );
    assert!(call.config_flags[1].settings[0].value.is_unknown());
    assert_eq!(call.lock_false.as_ref().map(|place| place.line), Some(19));
    assert!(call.reconfigure && !call.migrate_state);
    assert_eq!(call.var_files, ["a.tfvars"]);
}

#[test]
fn terraform_binary_names_the_program() {
    let facts = read("terraform_binary = \"/usr/bin/tofu\"\nterraform_version_constraint = \"1.10.0\"\n");
    assert_eq!(facts.pins[0].tool, Tool::OpenTofu);
}

#[test]
fn a_backend_in_a_heredoc_has_exact_places() {
    for (opener, end) in [("<<EOF", "EOF"), ("<<-EOT", "  EOT")] {
        let text = format!(
            "generate \"backend\" {{\n  path = \"backend.tf\"\n  contents = {opener}\n    terraform {{\r\n      backend \"s3\" {{\n        bucket         = \"${{local.bucket}}\"\n        dynamodb_table = \"locks\" # c\n        use_lockfile   = ${{local.lock}}\n        kms_key_id     = \"$${{var.k}}\"\n      }}\n    }}\n{end}\n}}\n"
        );
        let facts = read(&text);
        let [source] = facts.generates.as_slice() else { panic!("{facts:?}") };
        assert_eq!(source.kind, SourceKind::TerragruntGenerate);
        assert_eq!(source.syntax, Syntax::HclBody);
        assert_eq!(source.label.as_deref(), Some("backend"));
        assert_eq!(source.editability, Editability::Safe);
        assert_eq!(source.place.to_string(), "live/terragrunt.hcl:5:7");
        assert!(at(&text, source.span).starts_with("backend \"s3\" {\n"));
        assert_eq!(
            values(&text, source),
            [
                ("bucket".into(), "bucket         = \"${local.bucket}\"", "\"${local.bucket}\""),
                ("dynamodb_table".into(), "dynamodb_table = \"locks\"", "\"locks\""),
                ("use_lockfile".into(), "use_lockfile   = ${local.lock}", "${local.lock}"),
                ("kms_key_id".into(), "kms_key_id     = \"$${var.k}\"", "\"$${var.k}\""),
            ]
        );
        assert!(source.settings[3].value.is_unknown(), "the generated file holds a variable");
        assert_eq!(source.settings[1].value, Value::Text("locks".into()));
        assert_eq!(facts.other_generates, [""; 0]);
    }
}

#[test]
fn generate_blocks_that_write_no_backend_keep_their_label() {
    for contents in [
        "<<EOF\nprovider \"aws\" {\n}\nEOF",
        "<<EOF\nterraform {\n  backend \"gcs\" {\n  }\n}\nEOF",
        "<<EOF\n# backend \"s3\" {}\nEOF",
        "\"\"",
        "\"some words about a backend\"",
        "<<EOF\n#!/bin/sh\necho 'backend' {\nEOF",
        "\"provider \\\"aws\\\" {}\"",
        "file(\"provider.tf\")",
    ] {
        let facts = read(&format!("generate \"x\" {{\n  path = \"x.tf\"\n  contents = {contents}\n}}\n"));
        assert_eq!((facts.generates.len(), facts.other_generates.len()), (0, 1), "{contents}");
    }
    let facts = read(
        "generate \"x\" {\n  path = \"x.tf\"\n  disable = true\n  contents = <<E\nterraform {\n  backend \"s3\" {\n  }\n}\nE\n}\n",
    );
    assert_eq!((facts.generates.len(), facts.other_generates.len()), (0, 1));
}

#[test]
fn a_generated_backend_that_cannot_be_placed_is_told() {
    for (contents, reason) in [
        ("templatefile(\"backend.tftpl\", {})", "the generated backend is computed"),
        ("local.backend", "the generated backend is computed"),
        (
            "\"terraform {\\n  backend \\\"s3\\\" {\\n bucket = \\\"b\\\"\\n  }\\n}\\n\"",
            "the backend stands in a quoted string",
        ),
    ] {
        let facts = read(&format!("generate \"x\" {{\n  path = \"x.tf\"\n  contents = {contents}\n}}\n"));
        let [source] = facts.generates.as_slice() else { panic!("{contents}: {facts:?}") };
        assert_eq!(source.editability, Editability::ReportOnly(reason.into()), "{contents}");
        assert!(source.setting("dynamodb_table").is_some_and(|s| s.value.is_unknown()));
    }
    let facts = read(
        "generate = {\n  backend = {\n    path = \"b.tf\"\n    contents = \"backend \\\"s3\\\" {}\"\n  }\n}\n",
    );
    assert!(!facts.generates[0].editability.is_safe());
}

#[test]
fn directives_make_a_generated_backend_unknown() {
    let text = "generate \"b\" {\n  path = \"b.tf\"\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    %{ if local.lock }\n    dynamodb_table = \"t\"\n    %{ endif }\n  }\n}\nEOF\n}\n";
    let facts = read(text);
    let [source] = facts.generates.as_slice() else { panic!("{facts:?}") };
    assert_eq!(
        source.editability,
        Editability::ReportOnly("a template directive decides what stands here".into())
    );
    assert!(source.setting("dynamodb_table").is_some_and(|s| s.value.is_unknown()));
}

#[test]
fn broken_text_is_told_where_it_matters() {
    let broken = "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\n  }\n}\n";
    let (_, problems) = read_terragrunt("a/terragrunt.hcl", Text::new(broken.as_bytes()));
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].place.line, 4);
    let (_, problems) = read_terragrunt("a/policy.hcl", Text::new(b"path \"x\" {\n  {{ y }}\n}\n}\n"));
    assert_eq!(problems, [], "another program's file");
    let (_, problems) = read_terragrunt("a/terragrunt.hcl", Text::new(b"}\n"));
    assert_eq!(problems.len(), 1);
    let heredoc = "generate \"b\" {\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"b\n  }\nEOF\n}\n";
    let (_, problems) = read_terragrunt("a/terragrunt.hcl", Text::new(heredoc.as_bytes()));
    assert!(!problems.is_empty());
}

#[test]
fn a_file_without_facts_is_empty() {
    assert!(read("").is_empty());
    assert!(read("path \"secret/*\" {\n  capabilities = [\"read\"]\n}\n").is_empty());
    assert!(!read("locals {\n  a = 1\n}\n").is_empty());
}

#[test]
fn json_is_read_with_exact_places() {
    let text = "\u{feff}{\n  \"remote_state\": {\n    \"backend\": \"s3\",\n    \"config\": {\"bucket\": \"b\", \"key\": \"${path_relative_to_include()}/x\", \"use_lockfile\": true, \"token\": \"hush\", \"endpoints\": {\"s3\": \"e\"}}\n  },\n  \"include\": {\"root\": {\"path\": \"${find_in_parent_folders(\\\"root.hcl\\\")}\"}},\n  \"locals\": {\"a\": \"b\", \"c\": [1]},\n  \"terraform\": [{\"source\": \"./m\"}],\n  \"terraform_version_constraint\": \">= 1.11\",\n  \"generate\": {\"p\": {\"contents\": \"x\"}}\n}\n";
    let (facts, problems) = read_terragrunt("a/terragrunt.hcl.json", Text::new(text.as_bytes()));
    assert_eq!(problems, []);
    let [source] = facts.remote_states.as_slice() else { panic!("{facts:?}") };
    assert_eq!(source.place.to_string(), "a/terragrunt.hcl.json:2:3");
    assert!(at(text, source.body).starts_with("\"bucket\"") && at(text, source.body).ends_with("\"e\"}"));
    assert_eq!(values(text, source)[0], ("bucket".into(), "\"bucket\": \"b\"", "\"b\""));
    assert_eq!(source.setting("use_lockfile").map(|s| &s.value), Some(&Value::Bool(true)));
    assert_eq!(source.setting("token").map(|s| &s.value), Some(&Value::Secret));
    assert_eq!(source.setting("endpoints.s3").map(|s| &s.value), Some(&Value::Text("e".into())));
    let key = source.setting("key").unwrap();
    assert_eq!(
        facts.expressions.get(&key.value_span.start).map(String::as_str),
        Some("\"${path_relative_to_include()}/x\"")
    );
    assert_eq!(facts.includes[0].path, "\"${find_in_parent_folders(\"root.hcl\")}\"");
    assert_eq!(facts.locals, [("a".to_owned(), "\"b\"".to_owned()), ("c".to_owned(), "[1]".to_owned())]);
    assert_eq!(facts.terraform_source.as_deref(), Some("\"./m\""));
    assert_eq!(facts.pins[0].text, ">= 1.11");
    assert_eq!(facts.other_generates, ["p"]);
    let (_, problems) = read_terragrunt("a/terragrunt.hcl.json", Text::new(b"{ \"remote_state\": "));
    assert_eq!(problems.len(), 1);
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let (_, problems) = read_terragrunt("a/terragrunt.hcl.json", Text::new(deep.as_bytes()));
    assert_eq!(problems[0].message, "the JSON nests too deep; correct it, or check this file by hand");
}

#[test]
fn deep_nesting_and_long_values_end() {
    let deep = format!(
        "remote_state {{\n  backend = \"s3\"\n  config = {{\n    key = {}1{}\n  }}\n}}\n",
        "(".repeat(50_000),
        ")".repeat(50_000)
    );
    let (facts, _) = read_terragrunt("terragrunt.hcl", Text::new(deep.as_bytes()));
    assert!(facts.remote_states[0].settings.iter().all(|s| s.value.is_unknown()));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_terragrunt("terragrunt.hcl", Text::new(&bytes));
        read_terragrunt("terragrunt.hcl.json", Text::new(&bytes));
    }

    #[test]
    fn any_terragrunt_like_text_gives_places_inside_it(
        text in r#"(remote_state|generate "b"|include|locals|terraform|backend "s3"|backend = "s3"|config = |contents = |<<EOF\n|\nEOF\n|\{\n|\n\}\n|a = 1\n|"|\$\{|\}|merge\(|\)|é|%\{| = |\n){0,40}"#
    ) {
        let whole = Span::new(0, text.len());
        let (facts, _) = read_terragrunt("terragrunt.hcl", Text::new(text.as_bytes()));
        for source in facts.remote_states.iter().chain(&facts.generates) {
            prop_assert!(whole.contains(source.span) && whole.contains(source.body));
            for setting in &source.settings {
                prop_assert!(whole.contains(setting.span) && setting.span.contains(setting.value_span));
            }
        }
    }
}
