//! Tests of [`super`]: small repositories as texts, and what belongs to what.

use super::*;
use crate::repo::inventory::HabitKind;
use crate::repo::patience::processor_time;
use crate::repo::syntax::{calls::read_calls, hcl::read_flat};
use crate::repo::text::Text;

/// Roots are named `path`, or `path!` when their block is complete.
fn repo(roots: &[&str], config: &[&str], scripts: &[(&str, &str)]) -> (Vec<Source>, Attribution) {
    let roots: Vec<RootInput<'_>> = roots
        .iter()
        .map(|root| {
            let complete = root.ends_with('!');
            RootInput { path: root.trim_end_matches('!'), has_bucket: complete, has_key: complete }
        })
        .collect();
    let mut sources = Vec::new();
    for file in config {
        let text = if file.ends_with(".vars") {
            "bucket = \"b\"\nother = 1\n"
        } else {
            "bucket = \"b\"\nkey = \"k\"\n"
        };
        sources.extend(read_flat(file, Text::new(text.as_bytes())).0);
    }
    let calls: Vec<Call> =
        scripts.iter().flat_map(|(file, text)| read_calls(file, Text::new(text.as_bytes()))).collect();
    sources.extend(calls.iter().flat_map(|call| call.config_flags.iter().cloned()));
    let result = attribute(&roots, &sources, &calls.iter().collect::<Vec<_>>(), &[]);
    (sources, result)
}

fn labels(result: &Attribution, root: &str) -> Vec<String> {
    result.choices[root]
        .iter()
        .map(|choice| {
            let missing: Vec<String> = choice.missing.iter().map(|file| format!("?{file}")).collect();
            [choice.label.join(" "), missing.join(" ")].join(" ").trim().to_owned()
        })
        .collect()
}

fn left(sources: &[Source], result: &Attribution) -> Vec<String> {
    result.unattributed.iter().map(|(at, _)| label(&sources[*at])).collect()
}

#[test]
fn ci_with_a_matrix_and_a_working_directory() {
    let workflow = "jobs:\n  a:\n    steps:\n      - run: terraform init -backend-config=envs/${{ matrix.env }}.tfbackend -backend-config=\"region=r\"\n        working-directory: infra\n";
    let (sources, result) = repo(
        &["infra", "other"],
        &["infra/envs/dev.tfbackend", "infra/envs/prod.tfbackend", "stray/x.tfbackend"],
        &[(".github/workflows/a.yml", workflow)],
    );
    assert_eq!(
        labels(&result, "infra"),
        ["infra/envs/dev.tfbackend region=r", "infra/envs/prod.tfbackend region=r"]
    );
    assert_eq!(labels(&result, "other"), [""]);
    assert_eq!(left(&sources, &result), ["stray/x.tfbackend"]);
    assert_eq!(result.habits.len(), 1);
    assert_eq!(result.habits[0].kind, HabitKind::InitWithoutReconfigure);
}

#[test]
fn one_shared_file_serves_several_roots_and_placeholders_agree() {
    let script = "cd stacks/$STACK\nterraform init -reconfigure -backend-config=../../backend/common.hcl -backend-config=../../backend/$STACK.conf\n";
    let (sources, result) = repo(
        &["stacks/app", "stacks/net"],
        &["backend/common.hcl", "backend/app.conf", "backend/net.conf"],
        &[("init.sh", script)],
    );
    assert_eq!(labels(&result, "stacks/app"), ["backend/common.hcl backend/app.conf"]);
    assert_eq!(labels(&result, "stacks/net"), ["backend/common.hcl backend/net.conf"]);
    assert_eq!(left(&sources, &result), Vec::<String>::new());
    assert_eq!(result.habits, []);
}

#[test]
fn well_known_names_and_shapes() {
    let (sources, result) = repo(
        &["a", "a/sub", "full!", "full2!"],
        &[
            "a/backend.hcl",
            "a/env/prod.tfbackend",
            "a/sub/x.conf",
            "full/remote.conf",
            "full2/backend.conf",
            "a/z.vars",
            "deep/1/2/y.hcl",
        ],
        &[],
    );
    assert_eq!(labels(&result, "a"), ["a/backend.hcl", "a/env/prod.tfbackend"]);
    assert_eq!(labels(&result, "a/sub"), ["a/sub/x.conf"]);
    assert_eq!(labels(&result, "full"), [""]);
    assert_eq!(labels(&result, "full2"), ["", "full2/backend.conf"]);
    assert_eq!(left(&sources, &result), ["full/remote.conf", "a/z.vars", "deep/1/2/y.hcl"]);
    assert!(result.unattributed[0].1.contains("complete"), "{:?}", result.unattributed);
}

#[test]
fn a_script_in_the_root_and_loose_flags() {
    let makefile = "export TF_CLI_ARGS_init = -backend-config=\"dynamodb_table=t\"\ninit:\n\tterraform init -backend-config=$(ENV).hcl\n";
    let (_, result) = repo(&["app"], &["app/dev.hcl"], &[("app/Makefile", makefile)]);
    assert_eq!(labels(&result, "app"), ["app/dev.hcl dynamodb_table=t"]);

    let (_, result) =
        repo(&["app"], &["app/e/dev.tfbackend"], &[("app/x.sh", "ARGS=\"-backend-config=region=r\"\n")]);
    assert_eq!(labels(&result, "app"), ["app/e/dev.tfbackend region=r"]);

    let (_, result) =
        repo(&["app!"], &[], &[("app/x.sh", "terraform init\nterraform init -backend-config=key=k")]);
    assert_eq!(labels(&result, "app"), ["", "key=k"]);
}

#[test]
fn a_variable_alone_means_the_files_that_are_there() {
    let script = "terraform -chdir=infra init -backend-config=\"$FILE\" -backend-config=key=k\n";
    let (_, result) = repo(&["infra"], &["infra/a.tfbackend", "infra/b.tfbackend"], &[("run.sh", script)]);
    assert_eq!(labels(&result, "infra"), ["infra/a.tfbackend key=k", "infra/b.tfbackend key=k"]);
    let (_, result) = repo(&["infra"], &[], &[("run.sh", script)]);
    assert_eq!(labels(&result, "infra"), ["key=k ?$FILE"]);
}

#[test]
fn where_the_file_stands_tells_the_root() {
    let script = "terraform init -backend-config=config/prod.conf\n";
    let (sources, result) = repo(
        &["x/a", "x/b", "x/c"],
        &["x/a/config/prod.conf", "x/b/config/prod.conf"],
        &[("tools/i.sh", script)],
    );
    assert_eq!(labels(&result, "x/a"), ["x/a/config/prod.conf"]);
    assert_eq!(labels(&result, "x/b"), ["x/b/config/prod.conf"]);
    assert_eq!(labels(&result, "x/c"), [""]);
    assert_eq!(left(&sources, &result), Vec::<String>::new());
}

#[test]
fn a_wrapper_for_all_roots() {
    let ruby = "cmd << \"-backend-config=dynamodb_table=locks\"\ncmd << \"-backend-config=key=#{name}\"\n";
    let (sources, result) = repo(&["p/one", "p/two", "p/full!", "q"], &[], &[("p/lib/init.rb", ruby)]);
    assert_eq!(labels(&result, "p/one"), ["dynamodb_table=locks key=#{name}"]);
    assert_eq!(labels(&result, "p/two"), ["dynamodb_table=locks key=#{name}"]);
    assert_eq!((labels(&result, "p/full"), labels(&result, "q")), (vec![String::new()], vec![String::new()]));
    assert_eq!(left(&sources, &result), Vec::<String>::new());

    let (sources, result) =
        repo(&["a!"], &[], &[("x.sh", "cd nowhere; tofu init -backend-config=key=k -lock=false")]);
    assert_eq!(left(&sources, &result), ["key=k"]);
    assert_eq!(result.unattributed[0].1, "the command runs in `nowhere`, which is no root module here");
    assert_eq!(result.habits.iter().map(|habit| habit.kind).collect::<Vec<_>>(), [HabitKind::LockFalse]);
}

#[test]
fn files_that_are_both_and_files_that_calls_name() {
    let script = "cd a\nterraform init -backend-config=./prod.tfvars\nterraform plan -var-file=prod.tfvars\n";
    let (_, result) = repo(&["a"], &["a/prod.tfvars"], &[("x.sh", script)]);
    assert_eq!(result.shared_var_files.len(), 1);
    assert_eq!(result.shared_var_files[0].file, "a/prod.tfvars");
    assert_eq!(result.shared_var_files[0].place.to_string(), "x.sh:2:1");
    let calls =
        read_calls("x.sh", Text::new(b"terraform init -backend-config=../env/$E.vars -backend-config=$X"));
    assert_eq!(
        named_files(
            &calls.iter().collect::<Vec<_>>(),
            &["a/env/p.vars", "env/q.vars", "env/q.txt", "main.tf"]
        ),
        BTreeSet::from(["a/env/p.vars", "env/q.vars"])
    );
}

#[test]
fn names() {
    for yes in [
        "a/prod.tfbackend",
        "backend.hcl",
        "prod.backend.hcl",
        "x.backend.tfvars",
        "backend-prod.conf",
        "backend.config",
        "dev.backend",
    ] {
        assert!(is_well_known(yes), "{yes}");
    }
    for no in ["terragrunt.hcl", "prod.tfvars", "backend.tf", "app.conf", "backend"] {
        assert!(!is_well_known(no), "{no}");
    }
    assert!(
        is_automation(".github/workflows/x.yml")
            && is_automation("a/Jenkinsfile")
            && !is_automation("Makefile")
    );
}

#[test]
fn thousands_of_roots_and_calls() {
    let roots: Vec<String> = (0..4000).map(|at| format!("stacks/s{at}")).collect();
    let files: Vec<String> = roots
        .iter()
        .flat_map(|root| [format!("{root}/env/dev.tfbackend"), format!("{root}/env/prod.tfbackend")])
        .collect();
    let scripts: Vec<(String, String)> = roots
        .iter()
        .map(|root| {
            (
                format!("{root}/Makefile"),
                "init:\n\tterraform init -backend-config=env/$(ENV).tfbackend\n".to_owned(),
            )
        })
        .collect();
    let attributed = || {
        let start = processor_time();
        let (_, result) = repo(
            &roots.iter().map(String::as_str).collect::<Vec<_>>(),
            &files.iter().map(String::as_str).collect::<Vec<_>>(),
            &scripts.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect::<Vec<_>>(),
        );
        (result, processor_time() - start)
    };
    // On one thread: the time of others is not seen.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (result, spent) = pool.install(attributed);
    assert_eq!(labels(&result, "stacks/s7"), ["stacks/s7/env/dev.tfbackend", "stacks/s7/env/prod.tfbackend"]);
    assert_eq!(result.choices.values().map(Vec::len).sum::<usize>(), 8000);
    assert!(spent.as_secs() < 20, "{spent:?}");
}

#[test]
fn the_same_words_in_several_scripts_are_one_choice_where_nothing_is_edited() {
    let ruby = "system(\"terraform init -backend-config=\\\"dynamodb_table=#{LOCKS}\\\"\")\n";
    let (_, result) = repo(&["a"], &[], &[("bin/one.rb", ruby), ("bin/two.rb", ruby)]);
    assert_eq!(labels(&result, "a"), ["dynamodb_table=#{LOCKS}"]);
    assert_eq!(result.choices["a"][0].sources, [0, 1]);
    assert_eq!(result.unattributed, []);
    let shell = "terraform init -backend-config=\"dynamodb_table=locks\"\n";
    let (_, result) = repo(&["a"], &[], &[("bin/one.sh", shell), ("bin/two.sh", shell)]);
    assert_eq!(labels(&result, "a"), ["dynamodb_table=locks", "dynamodb_table=locks"]);
}

#[test]
fn a_command_for_many_directories_runs_in_those_that_have_its_file() {
    let shell = "terraform -chdir=\"apps/$app\" init -backend-config=dev.tfbackend\n";
    let (_, result) = repo(
        &["apps/a", "apps/b"],
        &["apps/a/dev.tfbackend", "apps/b/prod.tfbackend"],
        &[("bin/init.sh", shell)],
    );
    assert_eq!(labels(&result, "apps/a"), ["apps/a/dev.tfbackend"]);
    assert_eq!(labels(&result, "apps/b"), ["apps/b/prod.tfbackend"]);
    // Where nobody has it, it is missing.
    let (_, result) = repo(&["apps/a", "apps/b"], &[], &[("bin/init.sh", shell)]);
    assert_eq!(labels(&result, "apps/a"), ["?dev.tfbackend"]);
}

#[test]
fn what_a_script_keeps_goes_to_the_roots_in_which_it_runs_init() {
    let shared = "ARGS=\"-backend-config=use_lockfile=false\"\ncd a\nterraform init $ARGS\ncd ../b\nterraform init $ARGS\n";
    let (sources, result) = repo(&["a!", "b!", "c!"], &[], &[("run.sh", shared)]);
    for (root, label) in [("a", "use_lockfile=false"), ("b", "use_lockfile=false"), ("c", "")] {
        assert_eq!(labels(&result, root), [label], "{root}");
    }
    assert_eq!(left(&sources, &result), Vec::<String>::new());
    // Two branches of which one runs, and an `init` that may take neither.
    let branches = "if x; then\nA=\"-backend-config=use_lockfile=true\"\nelse\nA=\"-backend-config=use_lockfile=false\"\nfi\nterraform -chdir=a init $A\n";
    let (_, result) = repo(&["a!"], &[], &[("run.sh", branches)]);
    assert_eq!(
        labels(&result, "a"),
        ["", "use_lockfile=false", "use_lockfile=true", "use_lockfile=true use_lockfile=false"]
    );
    // Files go to those that have them; the only `init` of the script takes one.
    let files = "args=(-backend-config=x.conf)\nterraform -chdir=$DIR/s init \"${args[@]}\"\n";
    let (_, result) = repo(&["a/s!", "b/s!"], &["a/s/x.conf"], &[("run.sh", files)]);
    assert_eq!(labels(&result, "a/s"), ["a/s/x.conf"]);
    assert_eq!(labels(&result, "b/s"), [""]);
    // No `init` is seen: nobody knows whose it is.
    let (sources, result) =
        repo(&["a!"], &[], &[("run.sh", "A=\"-backend-config=use_lockfile=false\"\n./other $A\n")]);
    assert_eq!(labels(&result, "a"), [""]);
    assert_eq!(left(&sources, &result), ["use_lockfile=false"]);
}
