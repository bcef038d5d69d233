//! Tests of [`super`]: the shapes in which scripts, CI files and wrappers call terraform.

use proptest::prelude::*;

use super::super::language::is_code_file;
use super::*;
use crate::repo::patience::processor_time;
use crate::repo::setting::Value;

fn read(file: &str, text: &str) -> Vec<Call> {
    read_calls(file, Text::new(text.as_bytes()))
}

fn one(file: &str, text: &str) -> Call {
    let mut calls = read(file, text);
    assert_eq!(calls.len(), 1, "{calls:#?}");
    calls.remove(0)
}

/// `name=value` (`name?expression` for unknown ones) of every flag, in order.
fn flags(call: &Call) -> Vec<String> {
    call.config_flags
        .iter()
        .flat_map(|flag| &flag.settings)
        .map(|setting| match &setting.value {
            Value::Text(text) => format!("{}={text}", setting.name),
            Value::Unknown { expression, .. } => format!("{}?{expression}", setting.name),
            other => format!("{}:{other:?}", setting.name),
        })
        .collect()
}

fn files(call: &Call) -> Vec<&str> {
    call.config_files.iter().map(|(file, _)| file.as_str()).collect()
}

fn slice(text: &str, span: Span) -> &str {
    &text[span.start..span.end]
}

#[test]
fn a_continued_command_with_every_form_of_the_flag() {
    let text = r#"#!/bin/bash
set -e
cd infra/network
terraform init -input=false \
  -backend-config=envs/prod.tfbackend \
  -backend-config "region=eu-west-1" \
  --backend-config='key=net/terraform.tfstate' \
  -backend-config=dynamodb_table="locks" \
  "-backend-config=bucket=acme-state" \
  -backend-config backend.hcl \
  -reconfigure   # done
"#;
    let call = one("run.sh", text);
    assert_eq!(call.subcommand, "init");
    assert_eq!(call.place.to_string(), "run.sh:4:1");
    assert_eq!(call.dir.as_deref(), Some("infra/network"));
    assert!(call.reconfigure);
    assert_eq!(files(&call), ["envs/prod.tfbackend", "backend.hcl"]);
    assert_eq!(slice(text, call.config_files[0].1), "-backend-config=envs/prod.tfbackend");
    assert_eq!(slice(text, call.config_files[1].1), "-backend-config backend.hcl");
    assert_eq!(
        flags(&call),
        ["region=eu-west-1", "key=net/terraform.tfstate", "dynamodb_table=locks", "bucket=acme-state"]
    );
    let spans: Vec<[&str; 3]> = call
        .config_flags
        .iter()
        .map(|flag| {
            assert!(flag.editability.is_safe(), "{flag:?}");
            let setting = &flag.settings[0];
            assert_eq!(setting.span, flag.span);
            [slice(text, flag.span), slice(text, setting.name_span), slice(text, setting.value_span)]
        })
        .collect();
    assert_eq!(
        spans,
        [
            ["-backend-config \"region=eu-west-1\"", "region", "eu-west-1"],
            ["--backend-config='key=net/terraform.tfstate'", "key", "net/terraform.tfstate"],
            ["-backend-config=dynamodb_table=\"locks\"", "dynamodb_table", "\"locks\""],
            ["\"-backend-config=bucket=acme-state\"", "bucket", "acme-state"],
        ]
    );
}

#[test]
fn comments_and_printed_text_are_no_calls() {
    let text = "# terraform init -backend-config=a=b\n\
        echo \"terraform init -backend-config=c=d -reconfigure\"\n\
        cat <<EOF\nusage: terraform init -backend-config=e=f, don't\nEOF\n\
        apt-get install terraform\n\
        terraform plan -var 'x=# no comment' -lock=false # -backend-config=g=h\n";
    let call = one("x.sh", text);
    assert_eq!(call.subcommand, "plan");
    assert_eq!(call.lock_false.as_ref().map(ToString::to_string).as_deref(), Some("x.sh:7:38"));
    assert_eq!(flags(&call), Vec::<String>::new());
}

#[test]
fn comments_over_many_lines_are_no_calls() {
    let off = "terraform plan -lock=false";
    for (file, text) in [
        ("x.rb", format!("=begin\nsystem \"{off}\"\n=end\nputs 1\n")),
        ("x.pl", format!("=pod\n\nsystem(\"{off}\");\n\n=cut\nprint 1;\n")),
        ("x.ps1", format!("<#\n{off}\n#>\nWrite-Host 1\n")),
        ("x.ps1", format!("Get-Date <# {off} #>\n")),
        ("x.sh", format!(": <<'X'\n{off}\nX\n")),
        ("x.sh", format!("true <<X\n{off}\nX\n")),
        ("ci.yml", format!("run: |\n  : <<'X'\n  {off}\n  X\n")),
    ] {
        assert_eq!(read(file, &text), [], "{text}");
        // What stands behind the comment runs.
        let behind = match file {
            "x.rb" | "x.pl" => format!("{text}system \"{off}\"\n"),
            "ci.yml" => format!("{text}  {off}\n"),
            _ => format!("{text}{off}\n"),
        };
        assert_eq!(one(file, &behind).subcommand, "plan", "{behind}");
    }
}

#[test]
fn what_only_looks_like_a_comment_runs() {
    let off = "terraform plan -lock=false";
    for (file, text) in [
        ("x.rb", format!("=begin\nsystem \"{off}\"\n")),
        ("x.rb", format!("x\n =begin\nsystem \"{off}\"\n=end\n")),
        ("x.ps1", format!("<#\n{off}\n")),
        ("x.sh", format!("bash <<'X'\n{off}\nX\n")),
        ("x.sh", format!(": <<X\n$({off})\nX\n")),
        ("x.sh", format!("cat <<X\n\\$(no) $({off})\nX\n")),
    ] {
        assert_eq!(one(file, &text).subcommand, "plan", "{text}");
    }
    assert_eq!(read("x.sh", &format!(": <<'X'\n$({off})\nX\n")), []);
    assert_eq!(read("x.sh", &format!(": <<X\n\\$({off})\nX\n")), []);
}

#[test]
fn on_the_command_line_everything_is_text() {
    let call = one(
        "x.sh",
        "terraform init -backend-config=dynamodb_table=null -backend-config=\"dynamodb_table=\" -backend-config=use_lockfile=true",
    );
    assert_eq!(flags(&call), ["dynamodb_table=null", "dynamodb_table=", "use_lockfile=true"]);
    let empty = &call.config_flags[1].settings[0];
    assert_eq!(empty.value_span, Span::new(empty.span.end - 1, empty.span.end - 1));
}

#[test]
fn placeholders_are_unknown_and_secrets_are_dropped() {
    let call = one(
        "x.sh",
        "tofu init -backend-config=\"key=${ENV}/tf=state\" -backend-config=bucket=$BUCKET \
         -backend-config=secret_key=hunter2 -backend-config=\"$FILE\" -backend-config=envs/${ENV}.hcl \
         -backend-config='assume_role={external_id=\"x\"}'",
    );
    assert_eq!(
        flags(&call),
        ["key?${ENV}/tf=state", "bucket?$BUCKET", "secret_key:Secret", "assume_role?{…}"]
    );
    assert_eq!(files(&call), ["$FILE", "envs/${ENV}.hcl"]);
    let safe: Vec<bool> = call.config_flags.iter().map(|flag| flag.editability.is_safe()).collect();
    assert_eq!(safe, [true, false, true, true]);
}

#[test]
fn variables_arrays_and_nested_shells() {
    let text = "ARGS+=(\"-backend-config=bucket=b\" -backend-config=key=k)\n\
        export TF_CLI_ARGS_init=\"-backend-config=dynamodb_table=t -lock=false\"\n\
        bash -c \"cd infra && terraform init -backend-config=region=r\"\n\
        terraform init ${TABLE:+-backend-config=dynamodb_table=$TABLE}\n\
        OUT=$(terraform -chdir=envs/dev output -raw x)\n";
    let calls = read("x.sh", text);
    let seen: Vec<(String, Option<&str>, Vec<String>)> =
        calls.iter().map(|call| (call.subcommand.clone(), call.dir.as_deref(), flags(call))).collect();
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        seen,
        [
            (String::new(), None, own(&["bucket=b", "key=k"])),
            (String::new(), None, own(&["dynamodb_table=t"])),
            ("init".to_owned(), Some("infra"), own(&["region=r"])),
            ("init".to_owned(), None, own(&[])),
            (String::new(), None, own(&["dynamodb_table?$TABLE"])),
            ("output".to_owned(), Some("envs/dev"), own(&[])),
        ]
    );
    assert!(calls[1].lock_false.is_some());
    assert!(calls[1].config_flags[0].editability.is_safe());
    assert!(!calls[4].config_flags[0].editability.is_safe());
}

#[test]
fn directories_follow_cd_subshells_and_pushd() {
    let text = "(cd a && terraform init)\nterraform plan\npushd b\nterraform apply\npopd\ncd \"$(dirname \"$0\")/../c\"\n\
        tofu init\ncd $ENV\nterragrunt run-all plan\nterraform -chdir=../d init -backend=false\nmake -C e init ARGS=\"-backend-config=x=y\"";
    let seen: Vec<(String, Option<String>)> =
        read("s/x.sh", text).into_iter().map(|call| (call.subcommand, call.dir)).collect();
    let expected = [
        ("init", Some("a")),
        ("plan", None),
        ("apply", Some("b")),
        ("init", Some("../c")),
        ("plan", Some("$ENV")),
        ("", Some("$ENV")),
    ];
    assert_eq!(seen, expected.map(|(sub, dir)| (sub.to_owned(), dir.map(str::to_owned))));
}

#[test]
fn github_workflow_steps() {
    let text = r#"on: push
defaults:
  run:
    working-directory: infra
jobs:
  plan:
    steps:
      - name: terraform init -backend-config=no=call
        run: terraform init -backend-config="envs/${{ matrix.env }}.tfbackend" -backend-config=key=${{ inputs.key || 'x=y' }}
      # - run: terraform init -backend-config=a=b
      - run: |
          cd sub
          terraform plan \
            -lock=false
        working-directory: other/dir
      - name: Apply
        run: >-
          terraform init
          -backend-config=dynamodb_table=locks
          -reconfigure
        env:
          TF_CLI_ARGS_init: "-backend-config=region=eu-west-1"
  unlock:
    steps:
      - { run: "terraform force-unlock -force 1" }
"#;
    let calls = read(".github/workflows/x.yml", text);
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (call.subcommand.as_str(), call.dir.as_deref(), files(call), flags(call)))
        .collect();
    let none = Vec::<String>::new;
    assert_eq!(
        seen,
        [
            (
                "init",
                Some("infra"),
                vec!["envs/${{ matrix.env }}.tfbackend"],
                vec!["key?${{ inputs.key || 'x=y' }}".to_owned()]
            ),
            ("plan", Some("other/dir/sub"), vec![], none()),
            ("init", Some("infra"), vec![], vec!["dynamodb_table=locks".to_owned()]),
            ("", Some("infra"), vec![], vec!["region=eu-west-1".to_owned()]),
            ("force-unlock", Some("infra"), vec![], none()),
        ]
    );
    assert!(calls[2].reconfigure && calls[1].lock_false.is_some());
    let flag = &calls[2].config_flags[0];
    assert_eq!(slice(text, flag.span), "-backend-config=dynamodb_table=locks");
    assert!(flag.editability.is_safe());
    assert_eq!(calls[2].place.line, 18);
}

#[test]
fn gitlab_lists_share_a_shell_and_atlantis_items_are_single_words() {
    let text = "before_script:\n  - cd infra\nplan:\n  script:\n    - cd net\n    - terraform init\n      -backend-config=bucket=b\n    - terraform plan\napply:\n  script:\n  - terraform apply\n";
    let seen: Vec<(String, Option<String>, Vec<String>)> = read(".gitlab-ci.yml", text)
        .iter()
        .map(|call| (call.subcommand.clone(), call.dir.clone(), flags(call)))
        .collect();
    assert_eq!(seen[0], ("init".into(), Some("infra/net".into()), vec!["bucket=b".into()]));
    assert_eq!(seen[1], ("plan".into(), Some("infra/net".into()), vec![]));
    assert_eq!(seen[2], ("apply".into(), Some("infra".into()), vec![]));

    let text = "workflows:\n  x:\n    plan:\n      steps:\n      - init:\n          extra_args: [\"-backend-config=envs/dev.hcl\", \"-lock=false\"]\n      - init:\n          extra_args:\n          - -backend-config=dynamodb_table=t\n      - run: terraform plan -backend-config key=k\n";
    let calls = read("atlantis.yaml", text);
    assert_eq!(files(&calls[0]), ["envs/dev.hcl"]);
    assert!(calls[0].lock_false.is_some());
    assert_eq!(flags(&calls[1]), ["dynamodb_table=t"]);
    assert!(!calls[1].config_flags[0].editability.is_safe());
    assert_eq!(flags(&calls[2]), ["key=k"]);
}

#[test]
fn makefiles_dockerfiles_and_powershell() {
    let text = "TF ?= terraform\ninit: ## terraform init\n\t@cd envs/$(ENV) && $(TF) init -backend-config=backend.$(ENV).hcl \\\n\t  -backend-config=\"bucket=b\"\n\nplan:\n\t-terraform plan -lock=false\n";
    let calls = read("Makefile", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!(calls[0].dir.as_deref(), Some("envs/$(ENV)"));
    assert_eq!(files(&calls[0]), ["backend.$(ENV).hcl"]);
    assert_eq!(flags(&calls[0]), ["bucket=b"]);
    assert_eq!((calls[1].dir.as_deref(), calls[1].lock_false.is_some()), (None, true));

    let text = "FROM x\nWORKDIR infra\nRUN terraform init \\\n# why\n  -backend-config=key=k\nCMD [\"terraform\", \"init\", \\\n  \"-backend-config=dynamodb_table=t\"]\n";
    let calls = read("Dockerfile", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!((calls[0].dir.as_deref(), flags(&calls[0])), (Some("infra"), vec!["key=k".to_owned()]));
    assert_eq!(calls[1].subcommand, "init");
    let flag = &calls[1].config_flags[0];
    assert_eq!(slice(text, flag.span), "\"-backend-config=dynamodb_table=t\"");
    assert!(flag.editability.is_safe());
    assert_eq!(flag.label.as_deref(), Some("argument list"));

    let text = "Set-Location .\\infra\nterraform init `\n  -backend-config=\"key=$env:KEY\" `\n  \"-backend-config=bucket=b\"\n";
    let call = one("x.ps1", text);
    assert_eq!(call.dir.as_deref(), Some("infra"));
    assert_eq!(flags(&call), ["key?$env:KEY", "bucket=b"]);
}

#[test]
fn program_code() {
    let text = r#"
# ["terraform", "init", "-backend-config=no=no"]
def init(env):
    """Runs terraform init -backend-config=doc=string"""
    subprocess.run(
        ["terraform", "init",
         f"-backend-config=key={env}/tfstate", "-backend-config=" + path,
         "-backend-config", "bucket=b", "-reconfigure"],
        cwd="infra", check=True,
    )
    print("now run terraform init -backend-config=x=y")
    os.system("cd x && terraform plan -lock=false")
"#;
    let calls = read("tool.py", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!(calls[0].dir.as_deref(), Some("infra"));
    assert_eq!(flags(&calls[0]), ["key?{env}/tfstate", "bucket=b"]);
    assert_eq!(files(&calls[0]), ["${path}"]);
    assert!(calls[0].reconfigure && !calls[0].config_flags[1].editability.is_safe());
    assert_eq!(slice(text, calls[0].config_flags[1].span), "\"-backend-config\", \"bucket=b\"");
    assert_eq!((calls[1].subcommand.as_str(), calls[1].dir.as_deref()), ("plan", Some("x")));

    let text = "cmd = []\ncmd << \"-backend-config=dynamodb_table=locks\"\nsystem(\"terraform init -backend-config='key=#{name}' #{args.join(' ')}\")\nsystem 'tofu', 'init', '-backend-config=a.hcl'\nx = %w[terraform init -backend-config=bucket=b]\n";
    let calls = read("lib/x.rb", text);
    let seen: Vec<(Vec<String>, Vec<&str>)> = calls.iter().map(|call| (flags(call), files(call))).collect();
    assert_eq!(
        seen,
        [
            (vec!["dynamodb_table=locks".to_owned()], vec![]),
            (vec!["key?#{name}".to_owned()], vec![]),
            (vec![], vec!["a.hcl"]),
            (vec!["bucket=b".to_owned()], vec![]),
        ]
    );

    let text = "cmd = [\n  \"terraform init\",\n  %(-backend-config=\"key=#{key}\"),\n  %(-backend-config=\"dynamodb_table=locks\")\n].join(\" \")\nrun \"cd #{dir}; terraform plan -lock=false\"\n";
    let calls = read("x.rb", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!(
        (calls[0].subcommand.as_str(), flags(&calls[0])),
        ("init", vec!["key?#{key}".to_owned(), "dynamodb_table=locks".to_owned()])
    );
    let setting = &calls[0].config_flags[1].settings[0];
    assert_eq!(
        (slice(text, setting.name_span), slice(text, setting.value_span)),
        ("dynamodb_table", "locks")
    );
    assert_eq!((calls[1].subcommand.as_str(), calls[1].dir.as_deref()), ("plan", Some("#{dir}")));

    let text = "node {\n  dir('infra') {\n    sh \"\"\"\n      terraform init \\\\\n        -backend-config=\"key=${env.KEY}\" \\\\\n        -backend-config=\"bucket=b\"\n    \"\"\"\n    // sh 'terraform init -backend-config=no=no'\n    echo 'terraform init -backend-config=no=no'\n  }\n  sh 'terraform plan -lock=false'\n}\n";
    let calls = read("Jenkinsfile", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!(flags(&calls[0]), ["key?${env.KEY}", "bucket=b"]);
    assert_eq!((calls[0].dir.as_deref(), calls[1].dir.as_deref()), (Some("infra"), None));

    let text = "spawn('terraform', ['init', '-backend-config=key=k'], { cwd: 'infra' });\n";
    let call = one("x.js", text);
    assert_eq!(
        (call.subcommand.as_str(), call.dir.as_deref(), flags(&call)),
        ("init", Some("infra"), vec!["key=k".to_owned()])
    );

    let text = "{\"scripts\": {\"init\": \"terraform init -backend-config=\\\"key=k\\\" -backend-config=bucket=b\"}}";
    let call = one("package.json", text);
    assert_eq!(flags(&call), ["key=k", "bucket=b"]);
    assert_eq!(call.config_flags.iter().map(|f| f.editability.is_safe()).collect::<Vec<_>>(), [false, true]);

    let text = "terraform {\n  extra_arguments \"init\" {\n    commands  = [\"init\"]\n    arguments = [\n      \"-backend-config=${get_terragrunt_dir()}/b.hcl\", # no\n      \"-lock=false\",\n    ]\n  }\n}\n";
    let call = one("terragrunt.hcl", text);
    assert_eq!(files(&call), ["${get_terragrunt_dir()}/b.hcl"]);
    assert!(call.lock_false.is_some());
}

#[test]
fn formatted_words_and_variables_with_one_value() {
    let text = "cmd := exec.Command(\"terraform\", \"init\",\n\tfmt.Sprintf(\"-backend-config=bucket=%s\", c.Bucket),\n\tfmt.Sprintf(\"-backend-config=dynamodb_table=%s\", c.Table),\n\t\"-reconfigure\")\n";
    let call = one("x.go", text);
    assert_eq!(
        (flags(&call), call.reconfigure),
        (vec!["bucket?%s".to_owned(), "dynamodb_table?%s".to_owned()], true)
    );

    let text = "NET_DIR := ./network\nnet:\n\tcd $(NET_DIR) && terraform init -backend-config=$(ENV).hcl\n";
    assert_eq!(one("Makefile", text).dir.as_deref(), Some("network"));
    let text = "env:\n  TF_DIR: ./infra\njobs:\n  a:\n    steps:\n      - run: terraform init\n        working-directory: ${{ env.TF_DIR }}\n";
    assert_eq!(one("a.yml", text).dir.as_deref(), Some("infra"));

    let text = "resource \"x\" \"y\" {\n  # terraform init -backend-config=a=b\n  description = \"terraform init -backend-config=a=b\"\n  buildspec = <<EOT\n      - terraform init -backend-config=key=k\nEOT\n}\n";
    let call = one("main.tf", text);
    assert_eq!(flags(&call), ["key=k"]);
    assert!(!call.config_flags[0].editability.is_safe());
}

#[test]
fn inputs_of_an_action_that_runs_the_command() {
    let text = "steps:\n  - uses: x/terraform-plan@v1\n    with:\n      path: infra\n      backend_config: |\n        bucket=b\n        dynamodb_table=${{ vars.TABLE }}\n      backend_config_file: prod.hcl\n# terraform\n";
    let calls = read(".github/workflows/a.yml", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!((calls[0].dir.as_deref(), flags(&calls[0])[0].as_str()), (Some("infra"), "bucket=b"));
    assert_eq!(flags(&calls[0])[1], "dynamodb_table?${{ vars.TABLE }}");
    assert_eq!(slice(text, calls[0].config_flags[0].span), "bucket=b");
    assert!(!calls[0].config_flags[0].editability.is_safe());
    assert_eq!((calls[1].dir.as_deref(), files(&calls[1])), (Some("infra"), vec!["prod.hcl"]));
}

#[test]
fn escapes_of_strings_around_a_command() {
    let text = "{\"run\": \"cd infra\\nterraform init \\\\\\n  -backend-config=\\\"key=k\\\"\\nterraform plan -lock=false\"}";
    let calls = read("x.json", text);
    assert_eq!(calls.len(), 2, "{text} {calls:#?}");
    assert_eq!((calls[0].dir.as_deref(), flags(&calls[0])), (Some("infra"), vec!["key=k".to_owned()]));
    assert_eq!(slice(text, calls[0].config_flags[0].span), "-backend-config=\\\"key=k\\\"");
    assert_eq!(slice(text, calls[0].config_flags[0].settings[0].value_span), "k");
    assert!(calls[1].lock_false.is_some());

    let text =
        "cd infra\r\nterraform init \\\r\n  -backend-config=key=k \\\r\n  -reconfigure\r\nterraform plan\r\n";
    let calls = read("x.sh", text);
    assert_eq!(calls.len(), 2, "{calls:#?}");
    assert_eq!((flags(&calls[0]), calls[0].reconfigure), (vec!["key=k".to_owned()], true));
    assert_eq!(calls[0].dir.as_deref(), Some("infra"));
}

#[test]
fn which_files_are_read() {
    for yes in [
        "x.sh",
        "ci/Makefile",
        "Dockerfile.dev",
        ".github/workflows/a.yml",
        "bin/deploy",
        "Jenkinsfile",
        "a.yml.j2",
        "justfile",
        "main.tf",
        ".envrc",
    ] {
        assert!(is_code_file(yes), "{yes}");
    }
    for no in ["README.md", "docs/a.rst", "a.adoc", "notes.txt", "prod.tfbackend", "LICENSE", "README"] {
        assert!(!is_code_file(no), "{no}");
    }
}

const NAMES: &[&str] =
    &["x.sh", "Makefile", "Dockerfile", "x.ps1", "x.bat", "x.yml", "x.py", "x.js", "x.json", "x.hcl"];

proptest! {
    #[test]
    fn any_bytes_any_language(
        name in proptest::sample::select(NAMES),
        bytes in proptest::collection::vec(
            prop_oneof![
                proptest::sample::select(vec![
                    "terraform init ", "-backend-config", "=", "\"", "'", "`", "\\", "\n", "$(", "${", "${{", "}}", ")", "}", "]",
                    "[", "{", "(", ",", ": ", "- ", "run: |\n  ", "<<EOF\n", "EOF\n", "#", "cd ", "\"\"\"", " ", "é", "a=b", "|", "%w[",
                ]).prop_map(|text| text.as_bytes().to_vec()),
                any::<u8>().prop_map(|byte| vec![byte]),
            ],
            0..60,
        ).prop_map(|parts| parts.concat()),
    ) {
        let mut bytes = bytes;
        bytes.extend_from_slice(b"\nterraform ");
        for call in read_calls(name, Text::new(&bytes)) {
            for flag in &call.config_flags {
                prop_assert!(flag.span.end <= bytes.len() && flag.settings.len() == 1);
                let setting = &flag.settings[0];
                prop_assert!(flag.span.contains(setting.name_span));
            }
        }
    }
}

#[test]
fn hostile_text_costs_linear_time() {
    let parts = [
        "terraform $(",
        "\"terraform ${{ ",
        "a: \"terraform\n",
        "<<EOF\n",
        "`'",
        "[{(",
        "terraform init -backend-config=\"",
        "'\\",
        "\"\"\"",
    ];
    for name in NAMES {
        for part in parts {
            let text = format!("terraform\n{}", part.repeat(300_000 / part.len()));
            let start = processor_time();
            read(name, &text);
            let spent = processor_time() - start;
            assert!(spent.as_secs() < 5, "{name} {part:?} took {spent:?}");
        }
    }
}

/// A second flag behind it would be a command of its own.
#[test]
fn a_flag_given_to_a_variable_without_quotes_is_not_edited() {
    for (name, text) in [
        ("a.sh", "ARGS=-backend-config=dynamodb_table=t\n"),
        ("a.sh", "ARGS=-backend-config=dynamodb_table=t terraform init $ARGS\n"),
        (".env", "TF_CLI_ARGS_init=-backend-config=dynamodb_table=t\n"),
        ("a.yml", "env: [A=-backend-config=dynamodb_table=t]\n"),
    ] {
        let calls = read_calls(name, Text::new(text.as_bytes()));
        let flags: Vec<_> = calls.iter().flat_map(|call| &call.config_flags).collect();
        let [flag] = flags.as_slice() else { panic!("{text}: {flags:?}") };
        assert_eq!(flag.settings[0].name, "dynamodb_table");
        assert_eq!(flag.settings[0].value.as_text(), Some("t"), "{text}");
        assert!(!flag.editability.is_safe(), "{text}");
    }
}

/// What closes at its end only: each part is looked at, not the rest behind it.
#[test]
fn hostile_flow_style_costs_linear_time() {
    for part in
        ["terraform {x ", "a \" ", "a ' ", "\"a\" ", " ", "a # b\n", "a: ", "{{ x", "a: {b} ", "&a *", "a [b"]
    {
        let text = format!("terraform: [{}\n]\n", part.repeat(300_000 / part.len()));
        let start = processor_time();
        read("x.yml", &text);
        let spent = processor_time() - start;
        assert!(spent.as_secs() < 5, "{part:?} took {spent:?}");
    }
}

#[test]
fn arguments_of_another_backend_configure_no_s3_backend() {
    let text = "terraform init -backend-config=resource_group_name=g -backend-config=key=k\n";
    let calls = read_calls("a.sh", Text::new(text.as_bytes()));
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].config_flags, []);
    let calls = read_calls("a.sh", Text::new(text.replace("resource_group_name", "bucket").as_bytes()));
    assert_eq!(calls[0].config_flags.len(), 2);
}
