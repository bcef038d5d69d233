use super::*;

/// Follows the wanted words through files that are given as text: path, carrier, line.
fn follow(table: &str, inventory: &Inventory, files: &[(&str, &str)]) -> Vec<(String, usize, Carrier, bool)> {
    let mut search = Search::new(table, inventory);
    while let Some(needles) = search.needles() {
        let hits = files
            .iter()
            .flat_map(|(path, text)| {
                carriers::hits(path, Text::new(text.as_bytes()), &needles, search.fresh())
            })
            .collect();
        search.take(hits);
    }
    search.mentions().into_iter().map(|at| (at.place.file, at.place.line, at.carrier, at.sure)).collect()
}

fn plain(table: &str, files: &[(&str, &str)]) -> Vec<(String, usize, Carrier, bool)> {
    follow(table, &Inventory::default(), files)
}

#[test]
fn a_variable_is_followed_to_its_uses_in_its_own_module_only() {
    let found = plain(
        "acme-locks",
        &[
            ("a/variables.tf", "variable \"table\" {\n  default = \"acme-locks\"\n}\n"),
            ("a/outputs.tf", "output \"lock_table\" {\n  value = var.table\n}\n"),
            ("b/outputs.tf", "output \"other\" {\n  value = var.table\n}\n"),
            ("ci.yml", "env:\n  TF_VAR_table: x\n"),
        ],
    );
    assert_eq!(
        found,
        [
            ("a/outputs.tf".to_owned(), 2, Carrier::Output("lock_table".to_owned()), true),
            ("a/variables.tf".to_owned(), 2, Carrier::Variable("table".to_owned()), true),
            ("ci.yml".to_owned(), 2, Carrier::Environment("TF_VAR_table".to_owned()), true),
        ]
    );
}

#[test]
fn a_longer_name_is_another_table() {
    let files = [(
        "a.tf",
        "locals {\n  a = \"acme-locks-old\"\n  b = \"old-acme-locks\"\n  c = \"x.acme-locks\"\n}\n",
    )];
    assert_eq!(plain("acme-locks", &files), []);
}

#[test]
fn an_arn_names_its_table() {
    let files = [("deploy.sh", "export LOCK_ARN=arn:aws:dynamodb:eu-west-1:111122223333:table/acme-locks\n")];
    assert_eq!(
        plain("acme-locks", &files),
        [("deploy.sh".to_owned(), 1, Carrier::Environment("LOCK_ARN".to_owned()), true)]
    );
}

#[test]
fn a_variable_file_leads_to_the_declaration_above_it() {
    let found = plain(
        "acme-locks",
        &[
            ("net/env/prod.tfvars", "table = \"acme-locks\"\n"),
            ("net/variables.tf", "variable \"table\" {\n  type = string\n}\n"),
            ("net/main.tf", "resource \"aws_ssm_parameter\" \"t\" {\n  value = var.table\n}\n"),
        ],
    );
    assert_eq!(
        found,
        [
            ("net/env/prod.tfvars".to_owned(), 1, Carrier::VarFile("table".to_owned()), true),
            ("net/main.tf".to_owned(), 2, Carrier::Block("aws_ssm_parameter.t".to_owned()), true),
            ("net/variables.tf".to_owned(), 1, Carrier::Variable("table".to_owned()), true),
        ]
    );
}

#[test]
fn a_ci_secret_is_followed_from_the_expression_that_scan_could_not_resolve() {
    let mut wanted = std::collections::BTreeSet::new();
    carriers::in_expression("${LOCK_TABLE}", ".", &mut wanted);
    let mut search = Search { fresh: wanted.iter().cloned().collect(), known: wanted, ..Search::default() };
    let files = [(
        ".github/workflows/tf.yml",
        "env:\n  LOCK_TABLE: ${{ secrets.TF_LOCK_TABLE }}\nsteps:\n  - run: terraform init -backend-config=dynamodb_table=$LOCK_TABLE\n",
    )];
    while let Some(needles) = search.needles() {
        let hits = files
            .iter()
            .flat_map(|(path, text)| {
                carriers::hits(path, Text::new(text.as_bytes()), &needles, search.fresh())
            })
            .collect();
        search.take(hits);
    }
    let found: Vec<_> =
        search.mentions().into_iter().map(|at| (at.place.line, at.carrier, at.sure)).collect();
    assert_eq!(
        found,
        [
            (2, Carrier::Environment("LOCK_TABLE".to_owned()), false),
            (2, Carrier::CiSecret("TF_LOCK_TABLE".to_owned()), false),
            (4, Carrier::Environment("LOCK_TABLE".to_owned()), false),
        ]
    );
}

#[test]
fn expressions_of_every_kind_are_taken_apart() {
    let names = |expression: &str| {
        let mut wanted = std::collections::BTreeSet::new();
        carriers::in_expression(expression, "a", &mut wanted);
        wanted.into_iter().map(|word| word.text).collect::<Vec<_>>()
    };
    assert_eq!(names("${{ vars.LOCKS }}"), ["vars.LOCKS"]);
    assert_eq!(names("get_env(\"LOCK_TABLE\", \"x\")"), ["LOCK_TABLE", "env.LOCK_TABLE"]);
    assert_eq!(names("local.names.table"), ["local.names"]);
    assert_eq!(names("var.t"), ["TF_VAR_t", "var.t", "variable \"t\""]);
    assert_eq!(names("a + \"b\""), Vec::<String>::new());
}

#[test]
fn keys_of_lines() {
    for (line, name) in [
        ("export LOCK_TABLE=\"acme-locks\"", Some("LOCK_TABLE")),
        ("A=1 LOCK_TABLE=acme-locks terraform init", Some("LOCK_TABLE")),
        ("  LOCK_TABLE: 'acme-locks'", Some("LOCK_TABLE")),
        ("\"LOCK_TABLE\" : \"acme-locks\"", Some("LOCK_TABLE")),
        ("LOCK_TABLE ?= acme-locks", Some("LOCK_TABLE")),
        ("variables: {A: 1, LOCK_TABLE: acme-locks}", Some("LOCK_TABLE")),
        ("LOCK_ARN: arn:aws:dynamodb:eu-west-1:1:table/acme-locks", Some("LOCK_ARN")),
        ("the table acme-locks is gone", None),
        ("lower=acme-locks", None),
    ] {
        let found = plain("acme-locks", &[("x.sh", line)]);
        let [(_, _, carrier, _)] = found.as_slice() else { panic!("{line}: {found:?}") };
        let expected = name.map_or(Carrier::Line, |name: &str| Carrier::Environment(name.to_owned()));
        assert_eq!(carrier, &expected, "{line}");
    }
}

#[test]
fn data_and_binaries_do_not_flood() {
    let lines = "acme-locks\n".repeat(20_000);
    assert_eq!(plain("acme-locks", &[("a.txt", lines.as_str())]).len(), 10_000);
    assert_eq!(plain("acme-locks", &[("a.bin", "acme-locks\0")]), []);
}

#[test]
fn a_chain_that_is_not_followed_to_its_end_is_cut_off() {
    let looked = |links: usize| {
        let mut text = String::from("locals {\n  a0 = \"acme-locks\"\n");
        for link in 1..links {
            text.push_str(&format!("  a{link} = local.a{}\n", link - 1));
        }
        text.push_str("}\n");
        let mut search = Search::new("acme-locks", &Inventory::default());
        while let Some(needles) = search.needles() {
            let hits = carriers::hits("a.tf", Text::new(text.as_bytes()), &needles, search.fresh());
            search.take(hits);
        }
        (search.cut_off, search.mentions().len())
    };
    assert_eq!(looked(3), (false, 3));
    assert_eq!(looked(20), (true, LOOKS));
}

#[test]
fn an_argument_is_followed_into_the_module_that_it_is_handed_to() {
    let sure = |path: &str, line, carrier| (path.to_owned(), line, carrier, true);
    let files = [
        (
            "live/main.tf",
            "module \"locks\" {\n  source     = \"../modules/locks\"\n  lock_table = \"acme-locks\"\n}\n",
        ),
        ("live/far.tf", "module \"far\" {\n  source = \"acme/locks/aws\"\n  name   = \"acme-locks\"\n}\n"),
        ("modules/locks/variables.tf", "variable \"lock_table\" {}\nvariable \"name\" {}\n"),
        (
            "modules/locks/main.tf",
            "output \"t\" {\n  value = var.lock_table\n}\noutput \"n\" {\n  value = var.name\n}\n",
        ),
        ("modules/other/main.tf", "output \"t\" {\n  value = var.lock_table\n}\n"),
    ];
    assert_eq!(
        plain("acme-locks", &files),
        [
            sure("live/far.tf", 3, Carrier::Block("module.far".to_owned())),
            sure("live/main.tf", 3, Carrier::Block("module.locks".to_owned())),
            sure("modules/locks/main.tf", 2, Carrier::Output("t".to_owned())),
            sure("modules/locks/variables.tf", 1, Carrier::Variable("lock_table".to_owned())),
        ]
    );
}

#[test]
fn the_json_syntax_is_followed_as_the_native_one() {
    let json = r#"{
  "variable": {"table": {"default": "acme-locks"}},
  "locals": {"copy": "${var.table}"},
  "output": {"t": {"value": "${local.copy}"}},
  "module": {"m": {
    "source": "./m",
    "lock_table": "${var.table}"
  }},
  "resource": {"aws_ssm_parameter": {"p": [{"value": "acme-locks"}]}}
}"#;
    let files = [
        ("a/main.tf.json", json),
        ("a/m/main.tf", "output \"t\" {\n  value = var.lock_table\n}\n"),
        ("a/x.tfvars.json", "{\"table\": \"acme-locks\"}"),
    ];
    let found: Vec<_> = plain("acme-locks", &files)
        .into_iter()
        .map(|(path, line, carrier, _)| (path, line, carrier))
        .collect();
    let at = |path: &str, line, carrier| (path.to_owned(), line, carrier);
    assert_eq!(
        found,
        [
            at("a/m/main.tf", 2, Carrier::Output("t".to_owned())),
            at("a/main.tf.json", 2, Carrier::Variable("table".to_owned())),
            at("a/main.tf.json", 3, Carrier::Local("copy".to_owned())),
            at("a/main.tf.json", 4, Carrier::Output("t".to_owned())),
            at("a/main.tf.json", 7, Carrier::Block("module.m".to_owned())),
            at("a/main.tf.json", 9, Carrier::Block("aws_ssm_parameter.p".to_owned())),
            at("a/x.tfvars.json", 1, Carrier::VarFile("table".to_owned())),
        ]
    );
}
