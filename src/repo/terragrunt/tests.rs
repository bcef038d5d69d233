use super::*;
use crate::repo::inventory::{EffectiveBackend, Engine, Knowable, LockMode};
use crate::repo::setting::Value;
use crate::repo::syntax::terragrunt::read_terragrunt;
use crate::repo::text::Text;
use proptest::prelude::*;

const ROOT: &str = r#"
remote_state {
  backend = "s3"
  config = {
    bucket         = "acme-state"
    key            = "${path_relative_to_include()}/terraform.tfstate"
    region         = "eu-central-1"
    dynamodb_table = "locks"
  }
}
"#;
const CHILD: &str = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\nterraform {\n  source = \"../../modules//vpc?ref=v1\"\n}\n";

struct Scan {
    merged: Merged,
    sources: Vec<Source>,
}

fn scan_in(prefix: Option<&str>, files: &[(&str, &str)], module_dirs: &[&str]) -> Scan {
    let read: Vec<(&str, TerragruntFacts)> = files
        .iter()
        .map(|(path, text)| {
            let (facts, problems) = read_terragrunt(path, Text::new(text.as_bytes()));
            assert_eq!(problems, [], "{path}");
            (*path, facts)
        })
        .collect();
    let files: Vec<File<'_>> = read.iter().map(|(path, facts)| File { path, facts }).collect();
    let has_module_files = |dir: &str| module_dirs.contains(&dir);
    let tree = Tree { repo_prefix: prefix, has_module_files: &has_module_files };
    let merged = merge(&files, tree);
    Scan { merged, sources: sources(&files).into_iter().cloned().collect() }
}

fn scan(files: &[(&str, &str)]) -> Scan {
    scan_in(Some(""), files, &[])
}

impl Scan {
    fn unit(&self, path: &str) -> &Unit {
        let found = self.merged.units.iter().find(|unit| unit.path == path);
        found.unwrap_or_else(|| panic!("no unit {path} in {:?}", self.paths()))
    }

    fn paths(&self) -> Vec<&str> {
        self.merged.units.iter().map(|unit| unit.path.as_str()).collect()
    }

    fn value(&self, unit: &str, name: &str) -> Option<&Value> {
        let settings = &self.unit(unit).settings;
        settings.iter().rev().find(|(setting, _)| setting.name == name).map(|(setting, _)| &setting.value)
    }

    fn text(&self, unit: &str, name: &str) -> &str {
        match self.value(unit, name) {
            Some(Value::Text(text)) => text,
            other => panic!("{unit} {name}: {other:?}"),
        }
    }

    fn reason(&self, unit: &str, name: &str) -> &str {
        match self.value(unit, name) {
            Some(Value::Unknown { reason, .. }) => reason,
            other => panic!("{unit} {name}: {other:?}"),
        }
    }

    fn effective(&self, unit: &str) -> EffectiveBackend {
        let index: Vec<usize> = (0..self.sources.len()).collect();
        effective(self.unit(unit), &self.sources, &index, None)
    }
}

/// The value of one expression as `key` of a unit `live/dev/vpc` below a root with some files to read.
fn key(expression: &str) -> Value {
    let root = format!(
        "locals {{\n  env = \"Dev\"\n  list = [\"a\", \"b\"]\n  map = {{ x = \"y\" }}\n  account = read_terragrunt_config(find_in_parent_folders(\"account.hcl\"))\n}}\nremote_state {{\n  backend = \"s3\"\n  config = {{\n    key = {expression}\n  }}\n}}\n"
    );
    let account = "locals {\n  id = \"123\"\n  dir = basename(get_terragrunt_dir())\n}\ninputs = {\n  team = \"core\"\n}\n";
    let found = scan(&[
        ("live/root.hcl", root.as_str()),
        ("live/dev/account.hcl", account),
        ("live/dev/vpc/terragrunt.hcl", CHILD),
    ]);
    found.value("live/dev/vpc", "key").cloned().unwrap_or(Value::Null)
}

#[test]
fn expressions_are_resolved_in_the_unit() {
    for (expression, expected) in [
        ("\"${path_relative_to_include()}/x\"", "dev/vpc/x"),
        ("path_relative_to_include(\"root\")", "dev/vpc"),
        ("path_relative_from_include()", "../.."),
        ("basename(get_terragrunt_dir())", "vpc"),
        ("basename(dirname(get_terragrunt_dir()))", "dev"),
        ("basename(get_original_terragrunt_dir())", "vpc"),
        ("basename(get_parent_terragrunt_dir())", "live"),
        ("get_path_from_repo_root()", "live/dev/vpc"),
        ("get_path_to_repo_root()", "../../.."),
        ("replace(get_terragrunt_dir(), get_repo_root(), \"\")", "/live/dev/vpc"),
        ("trimprefix(get_terragrunt_dir(), \"${get_repo_root()}/\")", "live/dev/vpc"),
        ("replace(path_relative_to_include(), \"/\", \"-\")", "dev-vpc"),
        ("lower(local.env)", "dev"),
        ("upper(\"a${local.env}\")", "ADEV"),
        ("format(\"%s-%d%%\", local.env, 3)", "Dev-3%"),
        ("join(\"-\", concat_is_not_needed ? [] : local.list)", "?"),
        ("join(\"-\", local.list)", "a-b"),
        ("split(\"/\", path_relative_to_include())[0]", "dev"),
        ("element(split(\"/\", path_relative_to_include()), 1)", "vpc"),
        ("local.map.x", "y"),
        ("local.map[\"x\"]", "y"),
        ("lookup(local.map, \"z\", \"none\")", "none"),
        ("local.account.locals.id", "123"),
        ("local.account.locals.dir", "dev"),
        ("local.account.inputs.team", "core"),
        ("merge(local.account.locals, { id = \"9\" }).id", "9"),
        ("merge([local.map, { x = \"z\" }]...).x", "z"),
        ("local.env == \"Dev\" ? \"yes\" : \"no\"", "yes"),
        ("!(local.env != \"Dev\") && true ? \"yes\" : \"no\"", "yes"),
        ("coalesce(null, \"\", \"c\")", "c"),
        ("trimsuffix(trimspace(\" a.b \"), \".b\")", "a"),
        ("tostring(5)", "5"),
        ("(\"p\")", "p"),
    ] {
        if expected == "?" {
            assert!(key(expression).is_unknown(), "{expression}");
        } else {
            assert_eq!(key(expression), Value::Text(expected.into()), "{expression}");
        }
    }
    assert_eq!(key("!true"), Value::Bool(false));
    assert_eq!(key("tobool(\"true\")"), Value::Bool(true));
    assert_eq!(key("null"), Value::Null);
    assert_eq!(key("\"${7}\""), Value::Number("7".into()));
}

#[test]
fn what_only_a_run_can_tell_stays_unknown_with_its_reason() {
    for (expression, expected) in [
        ("get_env(\"KEY\", \"default\")", "it depends on the environment variable KEY"),
        ("get_aws_account_id()", "only AWS can tell `get_aws_account_id()`"),
        ("run_cmd(\"git\", \"rev-parse\")", "it is what a command prints"),
        ("get_terragrunt_dir()", "it depends on where the checkout lies"),
        ("split(\"/\", get_terragrunt_dir())[1]", "it depends on where the checkout lies"),
        ("local.missing", "there is no `local.missing`"),
        ("local.account.locals.nope", "there is no `local.nope`"),
        ("dependency.vpc.outputs.id", "only a run can tell `dependency`"),
        ("yamldecode(file(\"a.yaml\")).x", "`yamldecode(…)`: it stands in a.yaml, which was not read for it"),
        ("replace(\"a\", \"/a/\", \"b\")", "`replace` with a regular expression"),
        ("\"${get_env(\"A\")}-x\"", "it depends on the environment variable A"),
        (
            "read_terragrunt_config(\"gone.hcl\").locals.x",
            "live/dev/vpc/gone.hcl is not among the files that were read",
        ),
        (
            "find_in_parent_folders(\"gone.hcl\")",
            "`find_in_parent_folders` finds no gone.hcl among the files that were read",
        ),
    ] {
        match key(expression) {
            Value::Unknown { reason, expression: shown } => {
                assert_eq!(reason, expected, "{expression}");
                assert_eq!(shown, expression);
            }
            other => panic!("{expression}: {other:?}"),
        }
    }
}

#[test]
fn a_unit_takes_its_parents_remote_state() {
    let found = scan(&[("live/root.hcl", ROOT), ("live/dev/vpc/terragrunt.hcl", CHILD)]);
    assert_eq!(found.paths(), ["live/dev/vpc"]);
    assert_eq!(found.text("live/dev/vpc", "key"), "dev/vpc/terraform.tfstate");
    let unit = found.unit("live/dev/vpc");
    assert_eq!(unit.sources, [0]);
    assert_eq!(unit.shadowed, [0; 0]);
    assert_eq!(unit.includes, ["live/root.hcl"]);
    assert_eq!(unit.unknown, None);
    assert_eq!(unit.problems, [""; 0]);
    assert_eq!(unit.local_source.as_deref(), Some("live/modules/vpc"));
    assert_eq!(found.merged.unused, [0; 0]);
    let backend = found.effective("live/dev/vpc");
    assert_eq!(backend.mode, LockMode::Dynamodb);
    assert_eq!(backend.key, Knowable::Known("dev/vpc/terraform.tfstate".into()));
    assert_eq!(backend.engine, Engine::Any);
    assert_eq!(
        backend.sources.iter().map(|s| (s.file.as_str(), s.line, s.shadowed)).collect::<Vec<_>>(),
        [("live/root.hcl", 2, false)]
    );
}

#[test]
fn every_spelling_of_an_include_path_is_found() {
    let base = ROOT;
    for (spelling, parent) in [
        ("find_in_parent_folders()", "live/terragrunt.hcl"),
        ("find_in_parent_folders(\"root.hcl\")", "live/root.hcl"),
        ("find_in_parent_folders(\"common/root.hcl\")", "live/common/root.hcl"),
        ("\"../../root.hcl\"", "live/root.hcl"),
        ("\"${get_terragrunt_dir()}/../../root.hcl\"", "live/root.hcl"),
        ("\"${get_repo_root()}/live/root.hcl\"", "live/root.hcl"),
        ("\"${get_path_to_repo_root()}/live/root.hcl\"", "live/root.hcl"),
        ("\"${dirname(find_in_parent_folders(\"root.hcl\"))}/_common/state.hcl\"", "live/_common/state.hcl"),
        ("find_in_parent_folders(\"nope.hcl\", \"../../root.hcl\")", "live/root.hcl"),
    ] {
        let child = format!(
            "include \"root\" {{\n  path = {spelling}\n}}\nterraform {{\n  source = \"tfr:///x/y\"\n}}\n"
        );
        let mut files = vec![("live/dev/vpc/terragrunt.hcl", child.as_str()), (parent, base)];
        if parent == "live/_common/state.hcl" {
            files.push(("live/root.hcl", "locals {\n}\n"));
        }
        let found = scan(&files);
        assert_eq!(found.paths(), ["live/dev/vpc"], "{spelling}");
        assert_eq!(found.unit("live/dev/vpc").includes, [parent], "{spelling}");
        assert_eq!(found.text("live/dev/vpc", "bucket"), "acme-state", "{spelling}");
        assert_eq!(found.unit("live/dev/vpc").local_source, None, "{spelling}");
    }
}

#[test]
fn find_in_parent_folders_takes_the_nearest_and_never_its_own() {
    let near = ROOT.replace("acme-state", "near");
    let found = scan(&[
        ("terragrunt.hcl", ROOT),
        ("live/terragrunt.hcl", &near),
        ("live/vpc/terragrunt.hcl", "include {\n  path = find_in_parent_folders()\n}\n"),
    ]);
    assert_eq!(found.text("live/vpc", "bucket"), "near");
    assert_eq!(found.text("live/vpc", "key"), "vpc/terraform.tfstate");
    // The one at the top is nobody's parent and not known to be no unit: it is shown.
    assert_eq!(found.paths(), [".", "live/vpc"]);
}

#[test]
fn an_include_that_is_not_found_makes_the_unit_unknown() {
    let found = scan(&[("a/terragrunt.hcl", CHILD)]);
    let reason =
        "include \"root\": `find_in_parent_folders` finds no root.hcl among the files that were read";
    assert_eq!(found.unit("a").unknown.as_deref(), Some(reason));
    assert_eq!(found.effective("a").mode, LockMode::Unknown);
    assert_eq!(found.effective("a").dynamodb_table, Knowable::Unknown(reason.into()));
    // Its own remote_state makes the parent's harmless.
    let own = format!("{CHILD}{ROOT}");
    let found = scan(&[("a/terragrunt.hcl", &own)]);
    assert_eq!(found.unit("a").unknown, None);
    assert_eq!(found.effective("a").mode, LockMode::Dynamodb);
    assert_eq!(found.unit("a").problems, [reason]);
}

#[test]
fn remote_state_replaces_and_is_never_merged() {
    let own = "remote_state {\n  backend = \"s3\"\n  config = {\n    bucket = \"mine\"\n    key = \"k\"\n    use_lockfile = true\n  }\n}\n";
    for strategy in ["", "  merge_strategy = \"shallow\"\n", "  merge_strategy = \"deep\"\n"] {
        let child = format!(
            "include \"root\" {{\n  path = find_in_parent_folders(\"root.hcl\")\n{strategy}}}\n{own}"
        );
        let found = scan(&[("root.hcl", ROOT), ("a/terragrunt.hcl", &child)]);
        assert_eq!(found.text("a", "bucket"), "mine", "{strategy}");
        assert_eq!(found.value("a", "dynamodb_table"), None, "{strategy}");
        assert_eq!(found.effective("a").mode, LockMode::Lockfile);
        assert_eq!(found.unit("a").sources, [1]);
        assert_eq!(found.unit("a").shadowed, [0]);
        assert_eq!(
            found.effective("a").sources.iter().map(|s| s.shadowed).collect::<Vec<_>>(),
            [false, true]
        );
    }
}

#[test]
fn no_merge_is_left_out_and_strange_strategies_are_unknown() {
    let child = |strategy: &str| {
        format!(
            "include \"root\" {{\n  path = find_in_parent_folders(\"root.hcl\")\n  merge_strategy = {strategy}\n}}\nterraform {{\n  source = \"./m\"\n}}\n"
        )
    };
    let text = child("\"no_merge\"");
    let found = scan(&[("root.hcl", ROOT), ("a/terragrunt.hcl", &text)]);
    assert_eq!(found.unit("a").settings, []);
    assert_eq!(found.unit("a").unknown, None);
    assert_eq!(found.merged.unused, [0], "listed, never dropped");
    let gone = text.replace("root.hcl", "gone.hcl");
    assert_eq!(scan(&[("a/terragrunt.hcl", &gone)]).unit("a").unknown, None);
    let text = child("local.how");
    let found = scan(&[("root.hcl", ROOT), ("a/terragrunt.hcl", &text)]);
    assert_eq!(
        found.unit("a").unknown.as_deref(),
        Some("include \"root\": its merge_strategy is local.how, which can't be told")
    );
}

#[test]
fn the_last_of_several_includes_counts() {
    let second = ROOT.replace("acme-state", "second");
    let child = "include \"a\" {\n  path = \"../a.hcl\"\n}\ninclude \"b\" {\n  path = \"../x/b.hcl\"\n}\nterraform {\n  source = \".\"\n}\n";
    let found = scan(&[("a.hcl", ROOT), ("u/terragrunt.hcl", child), ("x/b.hcl", &second)]);
    assert_eq!(found.text("u", "bucket"), "second");
    // In an included file the include is known without its label.
    assert_eq!(found.text("u", "key"), "../u/terraform.tfstate");
    assert_eq!(
        (found.unit("u").sources.as_slice(), found.unit("u").shadowed.as_slice()),
        (&[1][..], &[0][..])
    );
}

#[test]
fn with_several_includes_the_unit_itself_needs_the_label() {
    let state = |call: &str| {
        format!(
            "include \"a\" {{\n  path = \"../a.hcl\"\n}}\ninclude \"b\" {{\n  path = \"../x/b.hcl\"\n}}\nremote_state {{\n  backend = \"s3\"\n  config = {{\n    key = {call}\n  }}\n}}\n"
        )
    };
    let text = state("path_relative_to_include(\"b\")");
    let found = scan(&[("a.hcl", ""), ("x/b.hcl", ""), ("u/terragrunt.hcl", &text)]);
    assert_eq!(found.text("u", "key"), "../u");
    let text = state("path_relative_to_include()");
    let found = scan(&[("a.hcl", ""), ("x/b.hcl", ""), ("u/terragrunt.hcl", &text)]);
    assert_eq!(found.reason("u", "key"), "with several includes it needs the include's label");
}

#[test]
fn an_included_file_that_includes_is_refused() {
    let middle = "include {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n";
    let child =
        "include {\n  path = find_in_parent_folders(\"mid.hcl\")\n}\nterraform {\n  source = \".\"\n}\n";
    let found = scan(&[("root.hcl", ROOT), ("a/mid.hcl", middle), ("a/b/terragrunt.hcl", child)]);
    let reason = "include without a label: the included file includes others, which Terragrunt refuses";
    assert_eq!(found.unit("a/b").unknown.as_deref(), Some(reason));
}

#[test]
fn a_parent_is_a_unit_only_with_something_to_run() {
    let inputs = format!("{ROOT}inputs = {{\n  a = 1\n}}\n");
    let child = "include {\n  path = find_in_parent_folders()\n}\n";
    let files = [("terragrunt.hcl", inputs.as_str()), ("a/terragrunt.hcl", child)];
    assert_eq!(scan(&files).paths(), ["a"]);
    assert_eq!(scan_in(Some(""), &files, &["."]).paths(), [".", "a"]);
    let source = format!("{ROOT}terraform {{\n  source = \"./m\"\n}}\n");
    let files = [("terragrunt.hcl", source.as_str()), ("a/terragrunt.hcl", child)];
    let found = scan(&files);
    assert_eq!(found.paths(), [".", "a"]);
    assert_eq!(
        found.unit("a").local_source.as_deref(),
        Some("a/m"),
        "a parent's source is seen from the unit"
    );
    assert_eq!(found.text(".", "key"), "./terraform.tfstate");
}

#[test]
fn another_backend_is_not_ours() {
    let gcs = "remote_state {\n  backend = \"gcs\"\n  config = {\n  }\n}\nterraform {\n  source = \".\"\n}\n";
    let child = format!("include {{\n  path = \"../root.hcl\"\n}}\n{gcs}");
    let found = scan(&[("root.hcl", ROOT), ("a/terragrunt.hcl", &child)]);
    assert_eq!(found.unit("a").other_backend.as_deref(), Some("gcs"));
    assert_eq!(found.unit("a").sources, [0; 0]);
    assert_eq!(found.unit("a").shadowed, [0]);
}

#[test]
fn a_computed_backend_type_is_looked_up() {
    let root = ROOT.replace("backend = \"s3\"", "backend = local.kind");
    for (kind, other) in [("s3", None), ("gcs", Some("gcs"))] {
        let text = format!("locals {{\n  kind = \"{kind}\"\n}}\n{root}");
        let found = scan(&[("root.hcl", &text), ("a/terragrunt.hcl", CHILD)]);
        assert_eq!(found.unit("a").other_backend.as_deref(), other);
        assert_eq!(found.unit("a").sources.is_empty(), other.is_some());
    }
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(
        found.unit("a").unknown.as_deref(),
        Some("the backend's type can't be told: there is no `local.kind`")
    );
}

#[test]
fn a_computed_config_is_resolved_or_wholly_unknown() {
    let root = |config: &str| {
        format!(
            "locals {{\n  common = {{\n    bucket = \"b\"\n    secret_key = \"hush\"\n    endpoints = {{ dynamodb = \"d\" }}\n  }}\n}}\nremote_state {{\n  backend = \"s3\"\n  config = {config}\n}}\n"
        )
    };
    let text = root("merge(local.common, { key = path_relative_to_include(), dynamodb_table = \"t\" })");
    let found = scan(&[("root.hcl", &text), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(found.text("a", "bucket"), "b");
    assert_eq!(found.text("a", "key"), "a");
    assert_eq!(found.text("a", "endpoints.dynamodb"), "d");
    assert_eq!(found.value("a", "secret_key"), Some(&Value::Secret));
    assert_eq!(found.effective("a").mode, LockMode::Dynamodb);
    assert!(!found.sources[0].editability.is_safe());
    assert!(!format!("{:?}", found.merged).contains("hush"));
    let text = root("merge(local.common, yamldecode(file(\"x.yaml\")))");
    let found = scan(&[("root.hcl", &text), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(found.effective("a").mode, LockMode::Unknown);
    assert_eq!(
        found.unit("a").unknown.as_deref(),
        Some(
            "merge(local.common, yamldecode(file(\"x.yaml\"))) can't be told: `yamldecode(…)`: it stands in x.yaml, which was not read for it"
        )
    );
    let whole = "locals {\n  state = {\n    backend = \"s3\"\n    config = { bucket = \"w\", key = \"k\", use_lockfile = true }\n  }\n}\nremote_state = local.state\n";
    let found = scan(&[("root.hcl", whole), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(found.text("a", "bucket"), "w");
    assert_eq!(found.effective("a").mode, LockMode::Lockfile);
    let text = root("merge({ secret_key = \"hush\" }, get_env(\"X\"))");
    let found = scan(&[("root.hcl", &text), ("a/terragrunt.hcl", CHILD)]);
    assert!(!format!("{:?} {:?}", found.merged, found.effective("a")).contains("hush"));
}

#[test]
fn a_table_whose_name_is_partly_unknown_is_still_a_table() {
    for (table, lock, mode) in [
        ("\"locks-${get_aws_account_id()}\"", "false", LockMode::Dynamodb),
        ("\"locks-${get_aws_account_id()}\"", "true", LockMode::Dual),
        ("\"locks-${get_aws_account_id()}\"", "local.x", LockMode::Unknown),
        ("\"${get_env(\"A\")}${get_env(\"B\")}\"", "true", LockMode::Unknown),
        ("get_env(\"TABLE\")", "true", LockMode::Unknown),
    ] {
        let text = format!(
            "remote_state {{\n  backend = \"s3\"\n  config = {{\n    dynamodb_table = {table}\n    use_lockfile = {lock}\n  }}\n}}\n"
        );
        let found = scan(&[("a/terragrunt.hcl", &text)]);
        assert_eq!(found.effective("a").mode, mode, "{table} {lock}");
        assert!(found.effective("a").dynamodb_table.unknown().is_some());
    }
}

#[test]
fn exposed_includes_are_seen() {
    let root = "locals {\n  bucket = \"shared-${path_relative_to_include()}\"\n}\n";
    let child = "include \"root\" {\n  path   = find_in_parent_folders(\"root.hcl\")\n  expose = true\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    bucket = include.root.locals.bucket\n  }\n}\n";
    let found = scan(&[("root.hcl", root), ("a/terragrunt.hcl", child)]);
    assert_eq!(found.text("a", "bucket"), "shared-a");
    let bare = child.replace("include \"root\"", "include").replace("include.root.", "include.");
    let found = scan(&[("root.hcl", root), ("a/terragrunt.hcl", &bare)]);
    assert_eq!(found.text("a", "bucket"), "shared-a");
    assert_eq!(found.unit("a").settings[0].0.via, ["include.locals.bucket"]);
}

#[test]
fn generate_blocks_replace_each_other_by_label() {
    let generate = |label: &str, bucket: &str| {
        format!(
            "generate \"{label}\" {{\n  path = \"backend.tf\"\n  contents = <<EOF\nterraform {{\n  backend \"s3\" {{\n    bucket = \"{bucket}\"\n    key = \"${{path_relative_to_include()}}/t\"\n    use_lockfile = ${{local.lock}}\n    kms_key_id = \"$${{var.k}}\"\n  }}\n}}\nEOF\n}}\n"
        )
    };
    let root = format!("locals {{\n  lock = true\n}}\n{}", generate("backend", "parent"));
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(found.text("a", "bucket"), "parent");
    assert_eq!(found.text("a", "key"), "a/t");
    assert_eq!(found.value("a", "use_lockfile"), Some(&Value::Bool(true)));
    assert_eq!(found.reason("a", "kms_key_id"), "the generated file holds an expression here");
    assert_eq!(found.effective("a").mode, LockMode::Lockfile);
    let child = format!("{CHILD}locals {{\n  lock = false\n}}\n{}", generate("backend", "own"));
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", &child)]);
    assert_eq!(found.text("a", "bucket"), "own");
    assert_eq!(
        (found.unit("a").sources.as_slice(), found.unit("a").shadowed.as_slice()),
        (&[1][..], &[0][..])
    );
    let emptied = format!("{CHILD}generate \"backend\" {{\n  path = \"backend.tf\"\n  contents = \"\"\n}}\n");
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", &emptied)]);
    assert_eq!(found.unit("a").settings, []);
    assert_eq!(found.unit("a").shadowed, [0]);
}

#[test]
fn remote_state_counts_over_a_generated_block() {
    let generate = "generate \"backend\" {\n  path = \"backend.tf\"\n  contents = <<EOF\nterraform {\n  backend \"s3\" {}\n}\nEOF\n}\n";
    let root = format!("{ROOT}{generate}");
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(found.unit("a").problems, [""; 0]);
    assert_eq!(found.effective("a").mode, LockMode::Dynamodb);
}

#[test]
fn a_directive_in_a_generated_backend_makes_the_unit_unknown() {
    let root = "generate \"b\" {\n  path = \"b.tf\"\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    %{ if local.lock }\n    dynamodb_table = \"t\"\n    %{ endif }\n  }\n}\nEOF\n}\n";
    let found = scan(&[("root.hcl", root), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(
        found.unit("a").unknown.as_deref(),
        Some("root.hcl:5:3: a template directive decides what stands here")
    );
    assert_eq!(found.effective("a").mode, LockMode::Unknown);
}

#[test]
fn two_places_with_settings_are_told() {
    let generate = "generate \"backend\" {\n  path = \"backend.tf\"\n  contents = <<EOF\nterraform {\n  backend \"s3\" {\n    bucket = \"g\"\n  }\n}\nEOF\n}\n";
    let root = format!("{ROOT}{generate}");
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", CHILD)]);
    assert_eq!(
        found.unit("a").problems,
        ["several places give this unit's backend; the last one is taken to win"]
    );
    assert_eq!(found.effective("a").bucket, Knowable::Known("acme-state".into()));
}

#[test]
fn json_comes_before_native_syntax_in_one_directory() {
    let json = r#"{"remote_state": {"backend": "s3", "config": {"bucket": "json", "key": "${path_relative_to_include()}/x", "dynamodb_table": "${local.table}"}}, "locals": {"table": "locks"}, "terraform": {"source": "./m"}}"#;
    let found = scan(&[("a/terragrunt.hcl", ROOT), ("a/terragrunt.hcl.json", json)]);
    assert_eq!(found.paths(), ["a"]);
    assert_eq!(found.unit("a").file, "a/terragrunt.hcl.json");
    assert_eq!(found.text("a", "bucket"), "json");
    assert_eq!(found.text("a", "key"), "./x");
    assert_eq!(found.text("a", "dynamodb_table"), "locks");
    assert_eq!(found.merged.unused, [0], "the hidden file's source is listed");
}

#[test]
fn pins_and_extra_arguments_come_from_parents_too() {
    let root = format!(
        "terraform_version_constraint = \">= 1.9\"\nterragrunt_version_constraint = \">= 0.80\"\n{ROOT}terraform {{\n  extra_arguments \"b\" {{\n    commands  = [\"init\"]\n    arguments = [\"-backend-config=bucket=other\"]\n  }}\n}}\n"
    );
    let child = format!("terraform_version_constraint = \"~> 1.11\"\n{CHILD}");
    let found = scan(&[("root.hcl", &root), ("a/terragrunt.hcl", &child)]);
    let pins: Vec<(Tool, &str)> =
        found.unit("a").pins.iter().map(|pin| (pin.tool, pin.text.as_str())).collect();
    assert_eq!(pins, [(Tool::Terraform, "~> 1.11"), (Tool::Terragrunt, ">= 0.80")]);
    assert_eq!(
        found.unit("a").unknown.as_deref(),
        Some("root.hcl:14:3: extra_arguments hand -backend-config to init")
    );
}

#[test]
fn the_repository_root_counts_only_when_it_is_known() {
    let child =
        "remote_state {\n  backend = \"s3\"\n  config = {\n    key = get_path_from_repo_root()\n  }\n}\n";
    let below = scan_in(Some("infra/live"), &[("a/terragrunt.hcl", child)], &[]);
    assert_eq!(below.text("a", "key"), "infra/live/a");
    let unknown = scan_in(None, &[("a/terragrunt.hcl", child)], &[]);
    assert_eq!(unknown.reason("a", "key"), "the repository's root is not known here");
    let above = scan_in(None, &[("../a/terragrunt.hcl", CHILD), ("../root.hcl", ROOT)], &[]);
    assert_eq!(above.text("../a", "key"), "a/terraform.tfstate");
}

#[test]
fn cycles_and_long_chains_end() {
    assert_eq!(
        scan(&[("a/terragrunt.hcl", "locals {\n  a = local.b\n  b = local.a\n}\nremote_state {\n  backend = \"s3\"\n  config = {\n    key = local.a\n  }\n}\n")])
            .reason("a", "key"),
        "`local.a`: `local.b`: `local.a` refers to itself"
    );
    let chain: String = (0..500).map(|at| format!("  l{at} = local.l{}\n", at + 1)).collect();
    let text = format!(
        "locals {{\n{chain}  l500 = \"end\"\n}}\nremote_state {{\n  backend = \"s3\"\n  config = {{\n    key = local.l0\n  }}\n}}\n"
    );
    assert!(
        scan(&[("a/terragrunt.hcl", &text)])
            .reason("a", "key")
            .ends_with("it refers through too many levels")
    );
    let doubling: String =
        (0..60).map(|at| format!("  l{at} = \"${{local.l{n}}}${{local.l{n}}}\"\n", n = at + 1)).collect();
    let text = format!(
        "locals {{\n{doubling}  l60 = \"0123456789\"\n}}\nremote_state {{\n  backend = \"s3\"\n  config = {{\n    key = local.l35\n  }}\n}}\n"
    );
    assert!(scan(&[("a/terragrunt.hcl", &text)]).reason("a", "key").contains("is too large"));
    // Two files that read each other.
    let reads = |other: &str| {
        format!(
            "locals {{\n  x = read_terragrunt_config(\"{other}\").locals.x\n}}\nremote_state {{\n  backend = \"s3\"\n  config = {{\n    key = local.x\n  }}\n}}\n"
        )
    };
    let (one, two) = (reads("../b/terragrunt.hcl"), reads("../a/terragrunt.hcl"));
    let found = scan(&[("a/terragrunt.hcl", &one), ("b/terragrunt.hcl", &two)]);
    assert!(found.value("a", "key").is_some_and(Value::is_unknown));
    // A file whose include path reads itself.
    let own = "include {\n  path = read_terragrunt_config(\"terragrunt.hcl\").locals.x\n}\nlocals {\n  x = \"../root.hcl\"\n}\n";
    assert_eq!(scan(&[("a/terragrunt.hcl", own)]).paths(), ["a"]);
}

#[test]
fn thousands_of_units_share_what_their_parents_cost() {
    let root = format!(
        "locals {{\n  account = read_terragrunt_config(find_in_parent_folders(\"account.hcl\"))\n}}\n{}",
        ROOT.replace("\"acme-state\"", "\"state-${local.account.locals.id}\"")
    );
    let mut files = vec![("live/root.hcl".to_owned(), root)];
    for account in 0..20 {
        files
            .push((format!("live/a{account}/account.hcl"), format!("locals {{\n  id = \"{account}\"\n}}\n")));
        for unit in 0..150 {
            files.push((format!("live/a{account}/u{unit}/terragrunt.hcl"), CHILD.to_owned()));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = scan(&files);
    assert_eq!(found.merged.units.len(), 3000);
    assert_eq!(found.text("live/a7/u9", "bucket"), "state-7");
    assert_eq!(found.text("live/a19/u149", "key"), "a19/u149/terraform.tfstate");
}

proptest! {
    #[test]
    fn any_expression_gives_a_value(expression in r#"(\$\{|\}|"|local\.a|include\.root|merge\(|read_terragrunt_config\(|\)|\[|\]|/|\.\.|find_in_parent_folders\(|,|x|!|\?|:|%\{| ){0,30}"#) {
        let facts = TerragruntFacts {
            locals: vec![("a".into(), expression.clone())],
            includes: vec![Include { label: "root".into(), path: expression.clone(), merge_strategy: None, place: crate::repo::text::Place { file: "a".into(), line: 1, column: 1 } }],
            inputs: Some(expression.clone()),
            terraform_source: Some(expression),
            has_terraform_source: true,
            ..TerragruntFacts::default()
        };
        let files = [File { path: "a/terragrunt.hcl", facts: &facts }, File { path: "terragrunt.hcl", facts: &facts }];
        let merged = merge(&files, Tree { repo_prefix: Some(""), has_module_files: &|_| false });
        prop_assert!(!merged.units.is_empty());
    }
}
