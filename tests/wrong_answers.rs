//! Answers that were once wrong, each on its smallest tree, through the program.

#![cfg(test)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::tree::tree;
use tempfile::TempDir;

/// Exit code and JSON of `scan ARGS`, failing for no finding.
fn scan(dir: &TempDir, args: &[&str]) -> (i32, Value) {
    scan_in(dir.path(), args)
}

fn scan_in(dir: &Path, args: &[&str]) -> (i32, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(["scan", "--format", "json", "--fail-on", "never"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    let said = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), said)
}

fn fires(said: &Value, rule: &str) -> bool {
    said["findings"].as_array().unwrap().iter().any(|finding| finding["rule"] == rule)
}

fn modes(said: &Value) -> Vec<(&str, &str)> {
    let roots = said["roots"].as_array().unwrap();
    roots
        .iter()
        .flat_map(|root| {
            let backends = root["backends"].as_array().unwrap();
            backends.iter().map(|backend| (root["path"].as_str().unwrap(), backend["mode"].as_str().unwrap()))
        })
        .collect()
}

fn module(settings: &str) -> String {
    format!(
        "terraform {{\n  required_version = \">= 1.5\"\n  backend \"s3\" {{\n    bucket = \"b\"\n    key    = \"k\"\n    region = \"r\"\n{settings}  }}\n}}\n"
    )
}

/// The same where every version knows the lockfile.
fn able(module: &str) -> String {
    module.replace(">= 1.5", ">= 1.11")
}

/// Seen with Terraform 1.11.4: of several override files only the last one's `required_version` counts.
#[test]
fn each_override_file_replaces_required_version() {
    let version = |text: &str| format!("terraform {{\n  required_version = \"{text}\"\n}}\n");
    let verdict = |first: &str, last: &str| {
        let dir = tree(&[
            ("main.tf", &module("    use_lockfile = true\n")),
            ("a_override.tf", &version(first)),
            ("b_override.tf", &version(last)),
        ]);
        scan(&dir, &[]).1["roots"][0]["versions"]["verdict"].clone()
    };
    assert_eq!(verdict(">= 1.2", ">= 1.11"), "can");
    assert_ne!(verdict(">= 1.11", ">= 1.2"), "can");
}

/// A default is only what is left when nothing gives a value.
#[test]
fn variables_take_override_files_and_automatic_var_files() {
    let variable = |default: &str| format!("variable \"table\" {{\n  default = {default}\n}}\n");
    let main = module("    dynamodb_table = var.table\n    use_lockfile = true\n");
    let mode = |files: &[(&str, &str)]| {
        let all: Vec<(&str, &str)> = [("main.tf", main.as_str())].iter().chain(files).copied().collect();
        scan(&tree(&all), &[]).1["roots"][0]["backends"][0]["mode"].as_str().unwrap().to_owned()
    };
    let (none, some) = (variable("null"), variable("\"t\""));
    assert_eq!(mode(&[("variables.tf", &none)]), "lockfile");
    assert_eq!(mode(&[("variables.tf", &none), ("terraform.tfvars", "table = \"t\"\n")]), "dual");
    assert_eq!(mode(&[("variables.tf", &none), ("x.auto.tfvars", "table = \"t\"\n")]), "dual");
    assert_eq!(
        mode(&[
            ("variables.tf", &none),
            ("terraform.tfvars", "table = \"t\"\n"),
            ("x.auto.tfvars", "table = null\n")
        ]),
        "lockfile"
    );
    assert_eq!(mode(&[("variables.tf", &none), ("terraform.tfvars.json", "{\"table\": \"t\"}")]), "dual");
    assert_eq!(
        mode(&[
            ("variables.tf", &some),
            ("terraform.tfvars", "table = \"t\"\n"),
            ("x.auto.tfvars.json", "{\"table\": null}")
        ]),
        "lockfile"
    );
    assert_eq!(mode(&[("variables.tf", &some), ("x.auto.tfvars.json", "{\"table\": ")]), "unknown");
    let bare = "variable \"table\" {}\n";
    assert_eq!(mode(&[("variables.tf", bare), ("terraform.tfvars", "table = \"t\"\n")]), "dual");
    assert_eq!(mode(&[("variables.tf", &some), ("a_override.tf", &none)]), "lockfile");
    assert_eq!(mode(&[("variables.tf", &some), ("variables.tofu", &none)]), "lockfile");
}

/// Terraform stops at these; a directory without a backend would be something else.
#[test]
fn blocks_that_terraform_refuses_are_not_clean() {
    for text in [
        "terraform {\n  backend \"s3\" \"x\" {\n    bucket = \"b\"\n  }\n}\n",
        "terraform {\n  backend {\n    bucket = \"b\"\n  }\n}\n",
        "terraform \"x\" {\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n",
        "terraform {\n  backend = \"s3\"\n}\n",
    ] {
        let (code, said) = scan(&tree(&[("main.tf", text)]), &[]);
        assert_eq!((code, said["problems"][0]["kind"].as_str()), (3, Some("parse-error")), "{text}");
    }
}

#[test]
fn a_named_backend_config_that_is_broken_is_said() {
    let dir = tree(&[
        ("main.tf", &module("    use_lockfile = true\n")),
        ("i.sh", "terraform init -backend-config=sub/broken.hcl\n"),
        ("sub/broken.hcl", "dynamodb_table = \"x\n"),
    ]);
    let (code, said) = scan(&dir, &[]);
    assert_eq!((code, modes(&said)), (3, vec![(".", "unknown")]));
    let place = &said["problems"][0]["place"];
    assert_eq!(
        (place["file"].as_str(), place["line"].as_u64(), place["column"].as_u64()),
        (Some("sub/broken.hcl"), Some(1), Some(20))
    );
}

/// What only the other program sees is no stray source.
#[test]
fn an_engine_says_nothing_of_the_other_ones_blocks() {
    let dir = tree(&[
        ("main.tf", &module("    dynamodb_table = \"t\"\n")),
        ("main.tofu", &module("    use_lockfile = true\n")),
    ]);
    for (engine, mode) in [("terraform", "dynamodb"), ("opentofu", "lockfile")] {
        let said = scan(&dir, &["--engine", engine]).1;
        assert_eq!(modes(&said), [(".", mode)]);
        assert_eq!(said["unattributed"].as_array().unwrap().len(), 0, "{engine}");
    }
    assert_eq!(modes(&scan(&dir, &[]).1), [(".", "dynamodb"), (".", "lockfile")]);
}

/// Terraform loads whole directories: a hook that passes the names of changed files must hear the truth.
#[test]
fn a_single_file_stands_for_its_directory() {
    let dir = tree(&[
        ("a/main.tf", &module("    use_lockfile = true\n")),
        ("a/override.tf", &module("    dynamodb_table = \"t\"\n")),
        ("a/sub/main.tf", &module("    use_lockfile = true\n")),
        ("b/main.tf", &module("    use_lockfile = true\n")),
    ]);
    let seen = |args: &[&str]| {
        let said = scan(&dir, args).1;
        modes(&said).iter().map(|(path, mode)| format!("{path} {mode}")).collect::<Vec<_>>()
    };
    assert_eq!(seen(&["a/main.tf"]), ["a dynamodb"]);
    assert_eq!(seen(&["a/main.tf", "a/override.tf"]), ["a dynamodb"]);
    assert_eq!(seen(&["a/main.tf", "a/sub"]), ["a dynamodb", "a/sub lockfile"]);
    assert_eq!(seen(&["a/main.tf", "a"]), ["a dynamodb", "a/sub lockfile"]);
    assert_eq!(seen(&["a/sub/main.tf", "b/main.tf"]), ["a/sub lockfile", "b lockfile"]);
}

#[test]
fn an_exclude_may_begin_with_a_dot() {
    let dir = tree(&[
        ("a/main.tf", &module("    use_lockfile = true\n")),
        ("b/main.tf", &module("    use_lockfile = true\n")),
    ]);
    assert_eq!(modes(&scan(&dir, &["--exclude", "./a"]).1), [("b", "lockfile")]);
    assert_eq!(modes(&scan(&dir, &["--exclude", "./a/"]).1), [("b", "lockfile")]);
}

/// A file that a call names and that sets nothing is read, and found to set nothing: that is not the same as missing.
#[test]
fn a_named_config_file_may_be_empty() {
    let dir = tree(&[
        ("a/main.tf", &module("    use_lockfile = true\n")),
        ("a/empty.conf", "# the table stood here\n"),
        ("a/init.sh", "terraform init -backend-config=empty.conf\n"),
        ("b/main.tf", &module("    use_lockfile = true\n")),
        ("b/init.sh", "terraform init -backend-config=missing.conf\n"),
    ]);
    assert_eq!(modes(&scan(&dir, &[]).1), [("a", "lockfile"), ("b", "unknown")]);
}

/// A workflow's step without a `working-directory` runs at the top: its flags are the top's, complete block or not.
#[test]
fn a_workflow_without_a_directory_runs_at_the_top() {
    let workflow =
        "jobs:\n  a:\n    steps:\n      - run: terraform init -backend-config=\"dynamodb_table=locks\"\n";
    let dir = tree(&[("main.tf", &module("")), (".github/workflows/x.yml", workflow)]);
    assert_eq!(modes(&scan(&dir, &[]).1), [(".", "dynamodb")]);
}

/// What is left out is neither read nor edited: a root module that needs it can't be told.
#[test]
fn an_excluded_config_file_is_left_out_though_a_call_names_it() {
    let dir = tree(&[
        ("a/main.tf", &module("")),
        ("env/p.conf", "dynamodb_table = \"locks\"\n"),
        ("run.sh", "cd a\nterraform init -backend-config=../env/p.conf\n"),
    ]);
    assert_eq!(modes(&scan(&dir, &[]).1), [("a", "dynamodb")]);
    assert_eq!(modes(&scan(&dir, &["--exclude", "env"]).1), [("a", "unknown")]);
}

/// `RULE FILE:LINE` of every finding about how commands run, and why it is ignored where it is.
fn habits(files: &[(&str, &str)]) -> Vec<String> {
    let said = scan(&tree(files), &[]).1;
    let findings = said["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| {
            let place = &finding["place"];
            let ignored =
                finding["ignored"].as_str().map(|why| format!(", ignored: {why}")).unwrap_or_default();
            let (rule, file) = (finding["rule"].as_str().unwrap(), place["file"].as_str().unwrap());
            format!("{rule} {file}:{}{ignored}", place["line"])
        })
        .filter(|line| line.starts_with("lock-") || line.starts_with("ignore-"))
        .collect()
}

/// In YAML a comment ends a plain scalar: what it says is neither key nor value.
#[test]
fn a_colon_in_a_yaml_comment_hides_no_command() {
    let main = module("    use_lockfile = true\n");
    for (file, head, indent) in [
        (".gitlab-ci.yml", "a:\n  script:\n", "    "),
        ("buildspec.yml", "version: 0.2\nphases:\n  build:\n    commands:\n", "      "),
        ("bitbucket-pipelines.yml", "pipelines:\n  default:\n    - step:\n        script:\n", "          "),
        (".drone.yml", "kind: pipeline\nsteps:\n- name: a\n  commands:\n", "  "),
    ] {
        for comment in ["", " # TODO: remove", " #TODO: x", "\t# a: b: c", " # say \"when: now", " # it's: x"]
        {
            let text = format!("{head}{indent}- terraform -chdir=app apply -lock=false{comment}\n");
            let line = text.lines().count();
            assert_eq!(
                habits(&[("app/main.tf", &main), (file, &text)]),
                [format!("lock-disabled-in-ci {file}:{line}")],
                "{text}"
            );
        }
    }
}

/// What stands below a key is still its own where a comment follows the key.
#[test]
fn a_comment_behind_a_yaml_key_is_no_value() {
    let main = module("    use_lockfile = true\n");
    let text = "a: # build: x\n  variables:\n    TF_ROOT: app\n  script: # one: two\n    - terraform init -backend-config=dynamodb_table=t # a: b\n";
    let dir = tree(&[("app/main.tf", &main), (".gitlab-ci.yml", text)]);
    assert_eq!(modes(&scan(&dir, &[]).1), [("app", "dual")]);
}

#[test]
fn an_ignore_in_a_yaml_comment_meets_its_finding() {
    let main = module("    use_lockfile = true\n");
    let text =
        "a:\n  script:\n    - terraform apply -lock=false # lockshift: ignore[lock-disabled-in-ci] why: ok\n";
    assert_eq!(
        habits(&[("main.tf", &main), (".gitlab-ci.yml", text)]),
        ["lock-disabled-in-ci .gitlab-ci.yml:3, ignored: why: ok"]
    );
}

/// Words of YAML's flow style need no quotes, and what is written there runs as well.
#[test]
fn commands_in_flow_style_and_json_are_seen() {
    let main = module("    use_lockfile = true\n");
    for (file, text, line) in [
        (".gitlab-ci.yml", "a:\n  script: [terraform apply -lock=false]\n", 2),
        (".gitlab-ci.yml", "a:\n  script: [ terraform apply -lock=false , x]\n", 2),
        (".gitlab-ci.yml", "a: {script: terraform apply -lock=false}\n", 1),
        (".gitlab-ci.yml", "a: {script: [terraform init, 'terraform apply -lock=false']} # b: c\n", 1),
        (".gitlab-ci.yml", "{a: {stage: b, script: [x, terraform apply -var 'a=b' -lock=false]}}\n", 1),
        (
            ".gitlab-ci.yml",
            "a:\n  script: [ # why: x\n    terraform apply\n      -lock=false, # b\n    x]\n",
            4,
        ),
        (".gitlab-ci.yml", "a:\n  script:\n    [terraform apply ${X[0]} {{ y }} -lock=false]\n", 3),
        (".gitlab-ci.yml", "a:\n  script:\n    terraform apply -lock=false\n", 3),
        ("cloudbuild.yaml", "steps:\n- name: hashicorp/terraform\n  args: [apply, -lock=false]\n", 3),
        ("cloudbuild.yaml", "steps:\n- name: hashicorp/terraform\n  args: [apply, \"-lock=false\"]\n", 3),
        ("cloudbuild.yaml", "steps:\n- {name: hashicorp/terraform, args: [apply, -lock=false]}\n", 2),
        ("package.json", "{\"scripts\":{\"a\":\"terraform apply -lock=false\"}}\n", 1),
        (
            "x.tf.json",
            "{\"resource\":{\"null_resource\":{\"a\":{\"provisioner\":[{\"local-exec\":{\n\"command\":\"terraform apply -lock=false\"}}]}}}}\n",
            2,
        ),
    ] {
        assert_eq!(
            habits(&[("main.tf", &main), (file, text)]),
            [format!("lock-disabled-in-ci {file}:{line}")],
            "{text}"
        );
    }
    for (file, text) in [
        (".gitlab-ci.yml", "a: {name: terraform apply -lock=false}\n"),
        (".gitlab-ci.yml", "a: {script: [terraform apply]} # -lock=false\n"),
        (".gitlab-ci.yml", "a: {script: [terraform apply, # terraform apply -lock=false\n  x]}\n"),
        ("package.json", "{\"description\":\"terraform apply -lock=false\"}\n"),
    ] {
        assert_eq!(habits(&[("main.tf", &main), (file, text)]), [""; 0], "{text}");
    }
}

#[test]
fn backend_config_in_flow_style_finds_its_root_module() {
    let main = module("    use_lockfile = true\n");
    for text in [
        "a:\n  script: [cd app && terraform init -backend-config=dynamodb_table=t]\n",
        "a: {working-directory: app, run: terraform init -backend-config=\"dynamodb_table=t\"}\n",
        "a:\n  script: [terraform, -chdir=app, init, -backend-config=dynamodb_table=t]\n",
    ] {
        let dir = tree(&[("app/main.tf", &main), (".gitlab-ci.yml", text)]);
        assert_eq!(modes(&scan(&dir, &[]).1), [("app", "dual")], "{text}");
    }
}

/// What a variable puts in may be false.
#[test]
fn a_lock_flag_with_a_variable_is_told_as_a_doubt() {
    let main = module("    use_lockfile = true\n");
    for (file, text) in [
        ("run.sh", "terraform apply -lock=$L\n"),
        ("run.sh", "terraform apply -lock=\"$L\"\n"),
        ("run.sh", "terraform apply \"-lock=${L:-true}\"\n"),
        ("Makefile", "a:\n\tterraform apply -lock=$(LOCK)\n"),
        (".gitlab-ci.yml", "a:\n  script:\n    - terraform apply -lock=${LOCK}\n"),
        (
            ".github/workflows/a.yml",
            "jobs:\n  a:\n    steps:\n      - run: terraform apply -lock=${{ inputs.lock }}\n",
        ),
        ("cloudbuild.yaml", "steps:\n- name: hashicorp/terraform\n  args: [apply, -lock=$_LOCK]\n"),
        ("run.ps1", "terraform apply -lock=$lock\n"),
        ("run.cmd", "terraform apply -lock=%LOCK%\n"),
        ("run.py", "run([\"terraform\", \"apply\", f\"-lock={lock}\"])\n"),
        (
            "x.tf",
            "resource \"a\" \"b\" {\n  provisioner \"local-exec\" {\n    command = \"terraform apply -lock=${var.l}\"\n  }\n}\n",
        ),
        (
            "terragrunt.hcl",
            "terraform {\n  extra_arguments \"a\" {\n    commands  = [\"plan\"]\n    arguments = [\"-lock=${local.l}\"]\n  }\n}\n",
        ),
    ] {
        let dir = tree(&[("main.tf", &main), (file, text)]);
        let said = scan(&dir, &[]).1;
        let findings = said["findings"].as_array().unwrap();
        let found: Vec<_> =
            findings.iter().filter(|finding| finding["rule"] == "lock-disabled-in-ci").collect();
        let [finding] = found.as_slice() else { panic!("{file}: {findings:?}") };
        assert_eq!(
            (&finding["severity"], &finding["place"]["file"]),
            (&"low".into(), &file.into()),
            "{text}"
        );
    }
    for text in ["terraform apply -lock=true\n", "terraform apply -lock-timeout=$T\n", "echo -lock=$L\n"] {
        assert_eq!(habits(&[("main.tf", &main), ("run.sh", text)]), [""; 0], "{text}");
    }
}

/// A variable that hands a flag to every run needs neither `export` nor quotes.
#[test]
fn flags_in_variables_are_seen_without_quotes() {
    let main = module("    use_lockfile = true\n");
    for (file, text) in [
        (".env", "TF_CLI_ARGS_plan=-lock=false\n"),
        (".env.prod", "TF_CLI_ARGS_plan=-lock=false\n"),
        ("prod.env", "TF_CLI_ARGS_plan=\"-lock=false\"\n"),
        (".envrc", "export TF_CLI_ARGS_plan=-lock=false\n"),
        ("run.sh", "TF_CLI_ARGS=-lock=false terraform plan\n"),
        ("Dockerfile", "FROM a\nENV TF_CLI_ARGS_plan=-lock=false\n"),
        ("compose.yaml", "services:\n  a:\n    environment:\n      - TF_CLI_ARGS_plan=-lock=false\n"),
        ("compose.yml", "services:\n  a:\n    environment: [TF_CLI_ARGS_plan=-lock=false]\n"),
        ("x.go", "package x\nvar env = []string{\"TF_CLI_ARGS_plan=-lock=false\"} // x\n"),
        ("run.cmd", "set TF_CLI_ARGS_plan=-lock=0\n"),
        ("run.ps1", "$env:TF_CLI_ARGS_plan=\"-lock=false\"\n"),
    ] {
        let line = text.lines().position(|line| line.contains("-lock=")).unwrap() + 1;
        let expected = [format!("lock-disabled-in-ci {file}:{line}")];
        assert_eq!(habits(&[("main.tf", &main), (file, text)]), expected, "{text}");
    }
    assert_eq!(habits(&[("main.tf", &main), (".env", "TF_CLI_ARGS_plan=-lock=true\n")]), [""; 0]);
}

/// Terraform does not read UTF-16, and nothing can be found in it: that is no reason to call it clean.
#[test]
fn text_in_utf_16_is_not_clean() {
    let wide = |text: &str| {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let main = module("    use_lockfile = true\n");
    for (file, text) in [
        ("run.ps1", "terraform -chdir=app apply -lock=false\n"),
        ("run.ps1", "exit 0\n"),
        ("app/backend_override.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
        ("app/other.tf", "locals {}\n"),
        ("lib/main.tf", &main),
        ("app/p.tfbackend", "dynamodb_table = \"t\"\n"),
        ("app/p.tfvars", "a = 1\n"),
        (".gitlab-ci.yml", "a: {}\n"),
        ("package.json", "{}\n"),
    ] {
        let dir = tree(&[
            ("app/main.tf", &main),
            ("init.sh", "terraform -chdir=app init -backend-config=p.tfbackend\n"),
        ]);
        fs::create_dir_all(dir.path().join("lib")).unwrap();
        fs::write(dir.path().join(file), wide(text)).unwrap();
        let (code, said) = scan(&dir, &[]);
        let problems: Vec<_> = said["problems"].as_array().unwrap().iter().collect();
        let [problem] = problems.as_slice() else { panic!("{file}: {problems:?}") };
        assert_eq!((code, problem["kind"].as_str()), (3, Some("unreadable")), "{file}");
        assert_eq!(problem["place"]["file"].as_str(), Some(file));
    }
}

/// OpenTofu reads `main.tofu` in the place of `main.tf`, also where nothing in it matters here.
/// Source: OpenTofu's documentation, "Files and Directories": override by `.tofu` extension.
#[test]
fn a_tofu_file_without_a_backend_takes_the_place_of_the_one_with_it() {
    let main = module("    dynamodb_table = \"t\"\n");
    for hiding in ["# nothing\n", "", "terraform {\n  required_version = \">= 1.8\"\n}\n", "locals {}\n"] {
        let dir = tree(&[("main.tf", &main), ("main.tofu", hiding)]);
        let (_, said) = scan(&dir, &[]);
        let backends = said["roots"][0]["backends"].as_array().unwrap();
        let engines: Vec<_> = backends.iter().map(|backend| backend["engine"].as_str().unwrap()).collect();
        assert_eq!(engines, ["terraform"], "{hiding}");
        let (_, said) = scan(&dir, &["--engine", "opentofu"]);
        assert_eq!(said["roots"].as_array().unwrap().len(), 0, "{hiding}");
        let beside = tree(&[("main.tf", &main), ("other.tofu", hiding)]);
        let (_, said) = scan(&beside, &[]);
        assert_eq!(said["roots"][0]["backends"][0]["engine"].as_str(), Some("any"), "{hiding}");
    }
}

/// Rule and place of every finding about `-lock=`.
fn lock_findings(said: &Value) -> Vec<String> {
    let findings = said["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["rule"] == "lock-disabled-in-ci")
        .map(|finding| {
            let place = &finding["place"];
            format!(
                "{} {}:{}",
                finding["severity"].as_str().unwrap(),
                place["file"].as_str().unwrap(),
                place["line"]
            )
        })
        .collect()
}

/// A tree reads the same from wherever it is named.
#[test]
fn a_tree_that_is_named_absolutely_reads_like_any_other() {
    fn copy(from: &std::path::Path, to: &std::path::Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            let target = to.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
            } else if kind.is_dir() {
                copy(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    let dir = TempDir::new().unwrap();
    // A checkout may lie anywhere.
    let tree = dir.path().join("test/tree");
    copy(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/monorepo"), &tree);
    let scan = |here: &std::path::Path, path: &std::path::Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["scan", "--format", "json", "--fail-on", "never"])
            .arg(path)
            .current_dir(here)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let plain: Value = serde_json::from_str(&scan(&tree, ".".as_ref())).unwrap();
    let absolute = tree.to_str().unwrap();
    for (here, path, prefix) in
        [("/".as_ref(), tree.as_path(), absolute), (dir.path(), "test/tree".as_ref(), "test/tree")]
    {
        let said = scan(here, path).replace(&format!("{prefix}/"), "").replace(prefix, ".");
        let said: Value = serde_json::from_str(&said).unwrap();
        for part in ["roots", "findings", "problems", "habits", "unattributed"] {
            assert_eq!(said[part], plain[part], "{part} of {prefix}");
        }
    }
    assert!(plain["roots"].as_array().unwrap().len() > 50);
}

/// What `get_repo_root()` is does not depend on how the tree is named either.
#[test]
fn the_repository_of_an_absolute_path_is_known() {
    let dir = tree(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (
            "root.hcl",
            "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"${path_relative_to_include()}/k\"\n    dynamodb_table = \"t\"\n  }\n}\n",
        ),
        ("live/a/terragrunt.hcl", "include \"root\" {\n  path = \"${get_repo_root()}/root.hcl\"\n}\n"),
    ]);
    let path = dir.path().join("live");
    for arg in ["live", path.to_str().unwrap(), dir.path().to_str().unwrap()] {
        let (_, said) = scan(&dir, &[arg]);
        let [(root, mode)] = modes(&said)[..] else { panic!("{said}") };
        assert!(root.ends_with("live/a"), "{root}");
        // Below `live` alone, the file that it includes is not read.
        assert_eq!(mode, if arg.ends_with("live") { "unknown" } else { "dynamodb" }, "{arg}");
    }
}

/// `-lock=$LOCK` is what the script says, or a file that it reads in.
#[test]
fn what_switches_the_lock_off_may_stand_in_another_file() {
    for (files, expected) in [
        (
            vec![
                ("Makefile", "include ci/vars.mk\nplan:\n\tterraform plan -lock=$(LOCK)\n"),
                ("ci/vars.mk", "LOCK = false\n"),
            ],
            "high Makefile:3",
        ),
        (
            vec![("plan.sh", ". ./.env\nterraform plan -lock=$TF_LOCK\n"), (".env", "TF_LOCK=false\n")],
            "high plan.sh:2",
        ),
        (vec![("plan.sh", ". ./.env\nterraform plan -lock=$TF_LOCK\n")], "low plan.sh:2"),
        (vec![("plan.sh", "terraform plan -lock=$TF_LOCK\n"), (".env", "TF_LOCK=true\n")], "low plan.sh:1"),
        (
            vec![
                (
                    ".gitlab-ci.yml",
                    "include:\n  - local: /ci/v.yml\nplan:\n  script:\n    - terraform plan -lock=$TF_LOCK\n",
                ),
                ("ci/v.yml", "variables:\n  TF_LOCK: \"false\"\n"),
            ],
            "high .gitlab-ci.yml:5",
        ),
        (
            vec![(
                ".circleci/config.yml",
                "parameters:\n  lock:\n    type: boolean\n    default: false\njobs:\n  a:\n    steps:\n      - run: terraform plan -lock=<< pipeline.parameters.lock >>\n",
            )],
            "high .circleci/config.yml:8",
        ),
        (
            vec![(
                ".circleci/config.yml",
                "jobs:\n  a:\n    steps:\n      - run: |\n          terraform plan -lock=<< parameters.lock >>\n",
            )],
            "low .circleci/config.yml:5",
        ),
    ] {
        let dir = tree(&files);
        fs::write(dir.path().join("main.tf"), "").unwrap();
        let (_, said) = scan(&dir, &["."]);
        assert_eq!(lock_findings(&said), [expected], "{files:?}");
    }
    // What is known to lock is no finding.
    let dir = tree(&[("plan.sh", ". ./.env\nterraform plan -lock=$TF_LOCK\n"), (".env", "TF_LOCK=true\n")]);
    fs::write(dir.path().join("main.tf"), "").unwrap();
    assert_eq!(lock_findings(&scan(&dir, &["."]).1), [""; 0]);
}

/// CircleCI's placeholders stand for a part of a path, and are no heredoc.
#[test]
fn a_parameter_of_circleci_names_files_in_a_flag() {
    let config = "jobs:\n  a:\n    parameters:\n      env:\n        type: string\n    steps:\n      - run: terraform init -backend-config=envs/<< parameters.env >>.tfbackend -backend-config=bucket=<< parameters.env >>\n";
    let dir = tree(&[
        (".circleci/config.yml", config),
        ("main.tf", "terraform {\n  backend \"s3\" {\n    key = \"k\"\n  }\n}\n"),
        ("envs/dev.tfbackend", "dynamodb_table = \"t\"\n"),
        ("envs/prod.tfbackend", "use_lockfile = true\n"),
    ]);
    let (_, said) = scan(&dir, &["."]);
    assert_eq!(modes(&said), [(".", "dynamodb"), (".", "lockfile")]);
    let why = &said["roots"][0]["backends"][0]["bucket_unknown"];
    assert_eq!(why, "<< parameters.env >>: only a run of this command line can tell it");
}

/// Without a byte order mark nothing says that it is UTF-16, but for the zeros.
#[test]
fn utf_16_without_a_mark_is_not_passed_over() {
    let dir = tree(&[]);
    let wide: Vec<u8> =
        module("    dynamodb_table = \"t\"\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for name in ["main.tf", "b/terragrunt.hcl", "c/.gitlab-ci.yml"] {
        fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        fs::write(dir.path().join(name), &wide).unwrap();
    }
    let (_, said) = scan(&dir, &["."]);
    let problems = said["problems"].as_array().unwrap().iter();
    let said: Vec<_> = problems
        .map(|problem| (problem["kind"].as_str().unwrap(), problem["place"]["file"].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [("unreadable", "b/terragrunt.hcl"), ("unreadable", "c/.gitlab-ci.yml"), ("unreadable", "main.tf")]
    );
}

/// A script that changes its directory names a file by a path from there, above what is scanned.
#[test]
fn a_config_file_above_the_scanned_path_is_seen_from_where_the_command_runs() {
    let complete = "bucket = \"b\"\nkey = \"k\"\nregion = \"r\"\ndynamodb_table = \"t\"\n";
    let flag = "terraform init -backend-config=../../common/be.tfbackend";
    for (script, roots) in [
        (format!("cd r5 && {flag}"), &["r5"][..]),
        (flag.replace("terraform", "terraform -chdir=r5"), &["r5"]),
        (format!("pushd r5\n{flag}\npopd"), &["r5"]),
        (format!("for s in r5 r6; do\n  (cd \"$s\" && {flag})\ndone"), &["r5", "r6"]),
    ] {
        let mut files = vec![
            ("common/be.tfbackend", complete.to_owned()),
            ("team/deploy.sh", format!("#!/bin/sh\n{script}\n")),
        ];
        let mains: Vec<String> = roots.iter().map(|root| format!("team/{root}/main.tf")).collect();
        for main in &mains {
            files.push((main, "terraform {\n  backend \"s3\" {}\n}\n".to_owned()));
        }
        let dir = tree(&files.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>());
        let expected = |top: &str| -> Vec<(String, &str)> {
            roots.iter().map(|root| (format!("{top}{root}"), "dynamodb")).collect()
        };
        let seen = |said: &Value| -> Vec<(String, String)> {
            modes(said).iter().map(|(path, mode)| ((*path).to_owned(), (*mode).to_owned())).collect()
        };
        let owned = |all: Vec<(String, &str)>| -> Vec<(String, String)> {
            all.into_iter().map(|(path, mode)| (path, mode.to_owned())).collect()
        };
        let (_, below) = scan_in(&dir.path().join("team"), &[]);
        assert_eq!(seen(&below), owned(expected("")), "{script}");
        for rule in ["mixed-backend-config", "incomplete-backend", "unattributed-source"] {
            assert!(!fires(&below, rule), "{rule}: {script}");
        }
        let (_, whole) = scan(&dir, &[]);
        assert_eq!(seen(&whole), owned(expected("team/")), "{script}");

        // A root module around it does not take the file for its own.
        fs::write(dir.path().join("team/top.tf"), module("    use_lockfile = true\n")).unwrap();
        let (_, below) = scan_in(&dir.path().join("team"), &[]);
        let mut all = expected("");
        all.insert(0, (".".to_owned(), "lockfile"));
        assert_eq!(seen(&below), owned(all), "{script}");
        for rule in ["still-dual", "dual-locking", "incomplete-backend"] {
            assert!(!fires(&below, rule), "{rule}: {script}");
        }
    }
}

/// The same words lead to another file from the script's own directory; that one is named by nobody.
#[test]
fn a_config_file_is_not_also_taken_from_beside_the_script() {
    let complete =
        |table: &str| format!("bucket = \"b\"\nkey = \"k\"\nregion = \"r\"\ndynamodb_table = \"{table}\"\n");
    let dir = tree(&[
        ("out/be.tfbackend", &complete("wrong")),
        ("team/out/be.tfbackend", &complete("right")),
        ("team/deploy.sh", "#!/bin/sh\ncd r5 && terraform init -backend-config=../out/be.tfbackend\n"),
        ("team/r5/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
    ]);
    let (_, said) = scan_in(&dir.path().join("team"), &[]);
    assert_eq!(modes(&said), [("r5", "dynamodb")]);
    assert_eq!(said["roots"][0]["backends"][0]["dynamodb_table"], "right");
}

/// Two names that only differ in bytes that are no UTF-8, or in what stands for them, are two directories.
#[test]
#[cfg(unix)]
fn names_that_are_no_text_are_not_taken_for_one_another() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = TempDir::new().unwrap();
    for name in [&b"a\xff"[..], "a\u{fffd}".as_bytes()] {
        let path = dir.path().join(std::ffi::OsStr::from_bytes(name));
        if fs::create_dir(&path).is_err() {
            return; // Some file systems take no such names.
        }
        fs::write(path.join("main.tf"), able(&module("    dynamodb_table = \"t\"\n"))).unwrap();
    }
    let (_, said) = scan(&dir, &[]);
    assert_eq!(modes(&said), [("a\\xff", "dynamodb"), ("a\u{fffd}", "dynamodb")]);
    assert!(!fires(&said, "duplicate-backend"));
    let written = Command::new(env!("CARGO_BIN_EXE_lockshift"))
        .args(["migrate", "--phase", "dual", "--write", "--quiet", "a\u{fffd}"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(written.status.code(), Some(0), "{}", String::from_utf8_lossy(&written.stderr));
    let (_, said) = scan(&dir, &[]);
    assert_eq!(modes(&said), [("a\\xff", "dynamodb"), ("a\u{fffd}", "dual")]);
}

/// Seen with Terraform 1.11.4: "Missing newline after argument".
#[test]
fn a_brace_behind_the_last_argument_is_an_error() {
    let of = |text: &str| scan(&tree(&[("main.tf", text)]), &[]).1;
    let behind = of(
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\" }\n}\n",
    );
    assert!(fires(&behind, "parse-error") || behind["problems"][0]["kind"] == "parse-error", "{behind}");
    let below = of(
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n",
    );
    assert_eq!(below["problems"].as_array().unwrap().len(), 0);
}

/// Other JSON than an audit's, and rules that name no lock, release nothing and prove nothing; they are refused.
#[test]
fn only_an_audit_passes_for_an_audit() {
    let audit = r#"{"schema_version":1,"generated_at":"2026-11-30T12:00:00Z","window_seconds":1,"stale_after_seconds":1,
        "states":[],"findings":[],"unread":[],"probes":[]}"#;
    let dir = tree(&[
        ("main.tf", &module("    dynamodb_table = \"t\"\n    use_lockfile = true\n")),
        ("list.json", "[]"),
        ("wrong.json", r#"{"schema_version":9,"findings":[]}"#),
        ("newer.json", &audit.replace(":1,\"gen", ":9,\"gen")),
        ("audit.json", audit),
    ]);
    let (_, scanned) = scan(&dir, &[]);
    fs::write(dir.path().join("scan.json"), scanned.to_string()).unwrap();
    let said = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for (file, why) in [
        ("list.json", "no audit's JSON: invalid type: sequence"),
        ("wrong.json", "no audit's JSON: it is a JSON object without `generated_at`"),
        ("newer.json", "an audit's JSON of version 9"),
        ("scan.json", "it is what `lockshift scan --format json` prints"),
    ] {
        for args in [
            &["unlock", "--from-audit", file, "--rule", "lock-stale"][..],
            &["migrate", "--phase", "final", "--evidence", file],
            &["audit", "--bucket", "b", "--baseline", file],
        ] {
            let (code, stderr) = said(args);
            assert_eq!((code, stderr.contains(why)), (2, true), "{args:?}: {stderr}");
        }
    }
    let (code, stderr) = said(&["unlock", "--from-audit", "audit.json", "--rule", "dynamodb-only"]);
    assert_eq!((code, stderr.contains("names no lock")), (2, true), "{stderr}");
    let (code, stderr) = said(&["unlock", "--from-audit", "audit.json", "--rule", "lock-stale"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, stderr) = said(&["migrate", "--phase", "final", "--evidence", "audit.json"]);
    assert!(code != 2 && stderr.contains("Refused"), "{stderr}");
}

/// A root module without a lock gets the lockfile alone, and that is what is said.
#[test]
fn what_had_no_lock_is_not_said_to_take_both() {
    let both = |files: &[(&str, &str)]| {
        let dir = tree(files);
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["migrate", "--phase", "dual", "--include-unlocked"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let (none, table) = (able(&module("")), able(&module("    dynamodb_table = \"t\"\n")));
    let said = both(&[("a/main.tf", &none)]);
    assert!(said.contains("1 root module to take the lockfile alone, 1 file changes"), "{said}");
    let said = both(&[("a/main.tf", &none), ("b/main.tf", &table)]);
    assert!(
        said.contains("1 root module to take both locks, 1 to take the lockfile alone, 2 files"),
        "{said}"
    );
}

/// Roots that take no lock, and those of which it can't be told, are not migrated.
#[test]
fn what_takes_no_lock_is_not_migrated() {
    let dir = tree(&[("a/main.tf", &module("    use_lockfile = true\n")), ("b/main.tf", &module(""))]);
    let (_, said) = scan(&dir, &[]);
    assert_eq!(
        said["summary"]["migration"],
        serde_json::json!({ "backends": 2, "locking": 1, "on_lockfile": 1, "lockfile_alone": 1 })
    );
    for format in ["table", "markdown", "html"] {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["scan", "--fail-on", "never", "--format", format])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("50%") && !text.contains("(100%)"), "{format}: {text}");
    }
}

/// A module that calls another one matters only where that one has a backend, which the walk may come by later.
#[test]
fn callers_of_a_module_with_a_backend_are_found_wherever_they_stand() {
    let call = |source: &str| format!("module \"x\" {{\n  source = \"{source}\"\n}}\n");
    let dir = tree(&[
        ("z/mod/main.tf", &module("")),
        ("a/main.tf", &call("../z/mod")),
        ("b/deep/main.tf", &format!("{}\n{}", call("../../z/other"), call("./../../z/mod/"))),
        ("c/main.tf", &(call("../z/mod") + "locals {\n")),
        ("d/main.tf", &format!("# {}", call("../z/mod").replace('\n', " "))),
        ("e/main.tf", &call(r"../z/\u006dod")),
        ("f/main.tf.json", r#"{"module":{"x":{"source":"../z/mod"}}}"#),
        ("g/main.tf", &call("../z/mod").replace('\n', "\r\n")),
        ("i/main.tf", &format!("{}{}", call("./other"), call(r"..\u002fz/mod"))),
        ("j/main.tf", &call("../${\"z\"}/mod")),
        ("h/main.tf", &call("../z")),
        ("h/broken.tf", &(call("../z") + "locals {\n")),
        ("z/mod/inner/main.tf", &call("..")),
        ("z/mod/inner/deeper/main.tf", &call("../..")),
    ]);
    for threads in ["1", "4"] {
        let (code, said) = scan(&dir, &["--threads", threads]);
        let root = &said["roots"][0];
        assert_eq!(root["path"], "z/mod");
        let callers = serde_json::json!(["a", "b/deep", "c", "e", "f", "g", "i", "j", "z/mod/inner/deeper"]);
        assert_eq!(root["called_by"], callers);
        // What can't be read whole is told where it matters: the caller, not what calls nothing that runs.
        let problems = said["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0]["place"]["file"], "c/main.tf");
        assert_eq!(code, 3);
    }
}

#[cfg(unix)]
#[test]
fn a_module_that_is_called_through_a_link_is_called() {
    let call = |source: &str| format!("module \"x\" {{\n  source = \"{source}\"\n}}\n");
    let dir =
        tree(&[("m/main.tf", &module("")), ("x/main.tf", &call("../lnk")), ("y/main.tf", &call("./in"))]);
    for (link, target) in [("lnk", "m"), ("y/in", "../lnk")] {
        std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
    }
    let (_, said) = scan(&dir, &[]);
    let roots = said["roots"].as_array().unwrap();
    let called: Vec<_> = roots.iter().map(|root| (&root["path"], &root["called_by"])).collect();
    let by = serde_json::json!(["x", "y"]);
    assert_eq!(called, [(&"lnk".into(), &by), (&"m".into(), &by), (&"y/in".into(), &by)]);
}

/// OpenTofu reads `x.tofu` in the place of `x.tf`, whatever it says.
#[test]
fn versions_that_only_opentofu_reads_count_for_it() {
    let versions = |text: &str| format!("terraform {{\n  required_version = \"{text}\"\n}}\n");
    let main = "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    use_lockfile = true\n  }\n}\n";
    let files = |tofu: &str| {
        tree(&[
            ("a/main.tf", main),
            ("a/versions.tf", &versions(">= 1.11")),
            ("a/versions.tofu", &versions(tofu)),
        ])
    };
    for (tofu, args, verdict, files_told) in [
        ("~> 1.6.0", &[][..], "cannot", &["a/versions.tofu", "a/versions.tf"][..]),
        (">= 1.6", &[], "admits-older", &["a/versions.tofu", "a/versions.tf"]),
        (">= 1.6", &["--engine", "opentofu"], "admits-older", &["a/versions.tofu"]),
        ("~> 1.6.0", &["--engine", "terraform"], "can", &["a/versions.tf"]),
        (">= 1.10", &[], "can", &["a/versions.tf", "a/versions.tofu"]),
    ] {
        let (_, said) = scan(&files(tofu), args);
        let versions = &said["roots"][0]["versions"];
        assert_eq!(versions["verdict"], verdict, "{tofu} {args:?}");
        let evidence = versions["evidence"].as_array().unwrap();
        let told: Vec<_> = evidence.iter().map(|piece| piece["place"]["file"].as_str().unwrap()).collect();
        assert_eq!(told, files_told, "{tofu} {args:?}");
    }
}

#[test]
fn a_second_backend_that_only_opentofu_sees_stops_only_opentofu() {
    let json = r#"{"terraform":{"backend":{"s3":{"bucket":"b","key":"k","use_lockfile":true}}}}"#;
    let dir =
        tree(&[("a/main.tf", &able(&module("    dynamodb_table = \"t\"\n"))), ("a/main.tofu.json", json)]);
    let (_, said) = scan(&dir, &[]);
    assert_eq!(modes(&said), [("a", "dynamodb"), ("a", "unknown")]);
    assert_eq!(said["roots"][0]["backends"][1]["engine"], "opentofu");
    assert_eq!(said["unattributed"], serde_json::json!([]));
    assert!(fires(&said, "engines-differ"));
    let (_, said) = scan(&dir, &["--engine", "terraform"]);
    assert_eq!(modes(&said), [("a", "dynamodb")]);
}

#[test]
fn an_engine_that_keeps_the_state_elsewhere_is_told() {
    let cloud = "terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n";
    let main = able(&module("    use_lockfile = true\n"));
    for (hidden, other, uses) in [
        ("backend.tf", ("backend.tofu", "# moved\n"), "local"),
        ("main.tf", ("main_override.tofu", cloud), "cloud"),
    ] {
        let hidden = format!("a/{hidden}");
        let dir = tree(&[(&hidden, &main), (&format!("a/{}", other.0), other.1), ("a/x.tf", "locals {}\n")]);
        let (_, said) = scan(&dir, &[]);
        assert_eq!(modes(&said), [("a", "lockfile")]);
        let not_s3 = serde_json::json!({ "engine": "opentofu", "uses": uses });
        assert_eq!(said["roots"][0]["not_s3"], not_s3);
        assert!(fires(&said, "engines-differ"), "{uses}");
        let (_, said) = scan(&dir, &["--engine", "terraform"]);
        assert!(!fires(&said, "engines-differ"), "{uses}");
    }
}

#[test]
fn what_could_not_be_read_of_a_backend_may_be_its_lock() {
    for (settings, mode) in [
        ("    dynamodb_table \"locks\"\n", "unknown"),
        ("    use_lockfile = true\n    dynamodb_table \"locks\"\n", "unknown"),
        ("    use_lockfile = true\n    dynamodb_table = \"locks\"\n    encrypt true\n", "dual"),
    ] {
        let (code, said) = scan(&tree(&[("a/main.tf", &able(&module(settings)))]), &[]);
        assert_eq!((code, modes(&said)), (3, vec![("a", mode)]), "{settings}");
        assert_eq!(said["problems"][0]["kind"], "parse-error");
    }
}

fn labelled(said: &Value, path: &str) -> Vec<(String, String)> {
    let roots = said["roots"].as_array().unwrap();
    let root = roots.iter().find(|root| root["path"] == path).unwrap();
    let backends = root["backends"].as_array().unwrap();
    let words = |backend: &Value| {
        let words = backend["backend_config"].as_array().unwrap();
        words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    backends.iter().map(|it| (words(it), it["mode"].as_str().unwrap().to_owned())).collect()
}

/// The command line holds a variable only: what is in it stands elsewhere in the script.
#[test]
fn flags_that_a_script_keeps_for_its_init_are_taken_there() {
    let flags = "-backend-config=dynamodb_table=locks -backend-config=use_lockfile=false";
    let gitlab = format!(
        "variables:\n  TF_CLI_ARGS_init: \"{flags}\"\nplan:\n  script:\n    - cd a\n    - terraform init\n"
    );
    for (file, script) in [
        ("run.sh", format!("ARGS=\"{flags}\"\ncd a\nterraform init $ARGS\n")),
        ("run.sh", format!("args=({flags})\ncd a\nterraform init \"${{args[@]}}\"\n")),
        ("run.sh", format!("cd tools\nARGS=\"{flags}\"\ncd ../a\nterraform init $ARGS\n")),
        ("run.sh", format!("export TF_CLI_ARGS_init=\"{flags}\"\nterraform -chdir=a init\n")),
        (".gitlab-ci.yml", gitlab),
    ] {
        let dir = tree(&[("a/main.tf", &module("    use_lockfile = true\n")), (file, &script)]);
        let said = scan(&dir, &[]).1;
        assert_eq!(modes(&said), [("a", "dynamodb")], "{script}");
        assert_eq!(said["unattributed"].as_array().unwrap().len(), 0, "{script}");
    }
}

/// Whether the flag is given can't be told: that it makes a backend better is not taken for granted.
#[test]
fn flags_that_a_script_keeps_do_not_make_a_row_clean() {
    let script = "if [ \"$1\" = new ]; then\n  ARGS=\"-backend-config=use_lockfile=true\"\nfi\nterraform -chdir=a init $ARGS\n";
    let dir = tree(&[("a/main.tf", &module("")), ("run.sh", script)]);
    let said = scan(&dir, &[]).1;
    let row = |words: &str, mode: &str| (words.to_owned(), mode.to_owned());
    assert_eq!(labelled(&said, "a"), [row("", "none"), row("use_lockfile=true", "lockfile")]);
}

#[test]
fn a_file_that_a_script_names_in_an_array_is_read_where_it_runs() {
    let shape = "bucket = \"b\"\nkey = \"k\"\nregion = \"r\"\ndynamodb_table = \"t\"\n";
    let script = "args=(-backend-config=x.foo)\ncd a\nterraform init \"${args[@]}\"\n";
    let dir = tree(&[
        ("a/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
        ("a/x.foo", shape),
        ("run.sh", script),
    ]);
    let said = scan(&dir, &[]).1;
    assert_eq!(labelled(&said, "a"), [("a/x.foo".to_owned(), "dynamodb".to_owned())]);
}

/// A file is found by a pattern whatever its name ends in, as it is by its name.
#[test]
fn patterns_find_files_of_any_extension() {
    let shape = "bucket = \"b\"\nkey = \"k\"\nregion = \"r\"\ndynamodb_table = \"t\"\n";
    for (file, script) in [
        ("a/env/x.txt", "terraform -chdir=a init -backend-config=env/$1.txt\n"),
        ("a/env/x.ini", "cd a\nterraform init -backend-config=env/$ENV.ini\n"),
        ("a/x/y.foo", "terraform -chdir=a init -backend-config=$ENV/y.foo\n"),
        ("a/env/x/y.foo", "terraform -chdir=a init -backend-config=env/$ENV/y.foo\n"),
        (
            "conf/x.foo",
            "ROOT=$(git rev-parse --show-toplevel)\ncd a\nterraform init -backend-config=$ROOT/conf/x.foo\n",
        ),
    ] {
        let dir = tree(&[
            ("a/main.tf", "terraform {\n  backend \"s3\" {}\n}\n"),
            (file, shape),
            ("a/env/notes.txt", "Nothing = to see { here\n"),
            ("run.sh", script),
        ]);
        let (code, said) = scan(&dir, &[]);
        assert_eq!(labelled(&said, "a"), [(file.to_owned(), "dynamodb".to_owned())], "{script}");
        assert_eq!(code, 0, "{script}");
    }
}

#[test]
fn flags_of_one_command_line_are_one_source_to_still_dual() {
    let script = "terraform -chdir=a init -reconfigure -backend-config=dynamodb_table=t -backend-config=use_lockfile=true\n";
    let dir = tree(&[("a/main.tf", &module("")), ("run.sh", script)]);
    let said = scan(&dir, &[]).1;
    assert_eq!(modes(&said), [("a", "dual")]);
    assert_eq!((fires(&said, "still-dual"), fires(&said, "dual-locking")), (false, true));
    let split = script.replace(" -backend-config=use_lockfile=true", "");
    let dir = tree(&[("a/main.tf", &module("    use_lockfile = true\n")), ("run.sh", &split)]);
    assert!(fires(&scan(&dir, &[]).1, "still-dual"));
}

/// What stands in a comment is never run, written or rendered, however many lines it takes.
#[test]
fn text_in_a_comment_over_many_lines_counts_for_nothing() {
    let off = "terraform plan -lock=false";
    let table = module("    dynamodb_table = \"t\"\n");
    for (file, text) in [
        ("x.rb", format!("=begin\nsystem \"{off}\"\n=end\n")),
        ("x.ps1", format!("<#\n{off}\n#>\n")),
        ("x.sh", format!(": <<'X'\n{off}\nX\n")),
        ("w.tf.mustache", format!("{{{{!\n{table}\n}}}}\n")),
    ] {
        let dir = tree(&[("a/main.tf", &able(&module("    use_lockfile = true\n"))), (file, &text)]);
        let (code, said) = scan(&dir, &[]);
        assert!(!fires(&said, "lock-disabled-in-ci"), "{file}: {said:#}");
        assert_eq!(said["unattributed"], serde_json::json!([]), "{file}");
        assert_eq!((code, modes(&said)), (0, vec![("a", "lockfile")]), "{file}");
    }
    let dir = tree(&[("a/main.tf", &module("    use_lockfile = true\n")), ("x.sh", &format!("{off}\n"))]);
    assert!(fires(&scan(&dir, &[]).1, "lock-disabled-in-ci"));
}

/// As Terraform 0.11 has it; later ones stop there. A table in it must not look absent.
#[test]
fn a_reader_with_a_config_block_names_its_table() {
    let block = "data \"terraform_remote_state\" \"o\" {\n  backend = \"s3\"\n  config {\n    bucket = \"b\"\n    key = \"k\"\n    dynamodb_table = \"t\"\n  }\n}\n";
    let (_, said) = scan(&tree(&[("a/main.tf", block)]), &[]);
    let reader = &said["readers"][0];
    assert_eq!(
        (reader["bucket"].as_str(), reader["key"].as_str(), reader["dynamodb_table"].as_str()),
        (Some("b"), Some("k"), Some("t"))
    );
    assert!(fires(&said, "reader-names-table"));
}

/// A reason names what it is about, and says nothing that is not so.
#[test]
fn what_is_not_known_has_a_reason_of_its_own() {
    let reader = "locals {\n  c = {\n    dynamodb_table = \"t\"\n  }\n}\ndata \"terraform_remote_state\" \"o\" {\n  backend = \"s3\"\n  config = local.c\n}\n";
    let (_, said) = scan(&tree(&[("a/main.tf", reader)]), &[]);
    let reason = &said["readers"][0]["dynamodb_table_unknown"];
    assert_eq!(reason, "local.c: `config` is not a plain object");
    let (_, said) = scan(&tree(&[("a/main.tf", &module("    dynamodb_table = \n"))]), &[]);
    let backend = &said["roots"][0]["backends"][0];
    assert_eq!(backend["dynamodb_table_unknown"], "(no value): an expression is missing here", "{backend:#}");
    let object = |default: &str| {
        let main = module("    dynamodb_table = \"t\"\n    use_lockfile = var.o.l\n");
        let files = [("a/main.tofu", main + &format!("variable \"o\" {{\n  default = {default}\n}}\n"))];
        let (_, said) = scan(&tree(&[("a/main.tofu", files[0].1.as_str())]), &[]);
        let backend = &said["roots"][0]["backends"][0];
        (backend["mode"].clone(), backend["use_lockfile_unknown"].clone())
    };
    assert_eq!(object("{ l = true }"), ("dual".into(), Value::Null));
    let reason = "var.o.l: `var.o.l` is a part of an object, and no literal value here gives it";
    assert_eq!(object("{ l = upper(\"x\") }"), ("unknown".into(), reason.into()));
}

/// Rows are root modules, and none of them is there for a file that was not read.
#[test]
fn a_table_for_programs_says_beside_it_what_was_not_read() {
    let said = |files: &[(&str, &str)]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["scan", "--format", "csv", "--fail-on", "never"])
            .current_dir(tree(files).path())
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let main = able(&module("    use_lockfile = true\n"));
    assert_eq!(said(&[("a/main.tf", &main)]), (Some(0), String::new()));
    assert_eq!(
        said(&[("a/main.tf", &main), ("b/main.tf", "terraform {\n  backend \"s3\" {\n")]),
        (
            Some(3),
            "note: 1 place could not be read, and no row says so; --format table names them\n".to_owned()
        )
    );
}

/// CI files write maps on one line, too.
#[test]
fn a_version_in_flow_style_is_evidence() {
    let versions = |with: &str| {
        let workflow = format!(
            "env: {{ TF: 1.9.5 }}\njobs:\n  x:\n    steps:\n      - uses: hashicorp/setup-terraform@v3\n        with: {{ terraform_version: {with} }}\n"
        );
        let main = module("    use_lockfile = true\n").replace("  required_version = \">= 1.5\"\n", "");
        let dir = tree(&[("a/main.tf", &main), (".github/workflows/x.yml", &workflow)]);
        let said = scan(&dir, &[]).1;
        let versions = &said["roots"][0]["versions"];
        (versions["verdict"].clone(), versions["evidence"][0]["text"].clone())
    };
    assert_eq!(versions("\"${{ env.TF }}\""), ("cannot".into(), "1.9.5".into()));
    assert_eq!(versions("${{ inputs.tf }}"), ("unknown".into(), "${{ inputs.tf }}".into()));
}
