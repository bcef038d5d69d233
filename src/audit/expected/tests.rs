//! Paths and their states, tables by name and ARN, and what backends say.

use super::*;
use crate::repo::inventory::{Engine, LockMode};

fn state(key: &str, prefix: &str) -> ExpectedState {
    ExpectedState {
        bucket: "b".into(),
        key: key.into(),
        workspace_key_prefix: prefix.into(),
        mode: LockMode::Dual,
        table: None,
        acl: false,
        lock_tags: false,
        access: Access { region: Some("eu-west-1".into()), ..Access::default() },
        root: "root".into(),
        backend_config: Vec::new(),
        engine: Engine::Any,
        place: Place { file: "main.tf".into(), line: 1, column: 1 },
    }
}

#[test]
fn a_region_says_its_partition() {
    for (region, partition) in [
        ("eu-west-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
    ] {
        assert_eq!(partition_of(region), partition);
    }
}

#[test]
fn a_path_finds_its_state_and_workspace() {
    let states = vec![state("a/terraform.tfstate", "env:"), state("k", ""), state("k", "deep/prefix")];
    let expected = Expected { states, ..Expected::default() };
    let index = expected.index();
    let at = |path: &str| -> Vec<(String, String)> {
        let found = index.at("b", path);
        found.into_iter().map(|(state, workspace)| (state.path_of(workspace), workspace.to_owned())).collect()
    };
    let own = |path: &str, workspace: &str| vec![(path.to_owned(), workspace.to_owned())];
    assert_eq!(at("a/terraform.tfstate"), own("a/terraform.tfstate", "default"));
    assert_eq!(at("env:/stg/a/terraform.tfstate"), own("env:/stg/a/terraform.tfstate", "stg"));
    assert_eq!(at("stg/k"), own("stg/k", "stg"));
    assert_eq!(at("deep/prefix/stg/k"), own("deep/prefix/stg/k", "stg"));
    assert_eq!(at("k").len(), 2);
    for other in ["env:/stg/k", "env:/a/terraform.tfstate", "env:/x/y/k", "other", "deep/prefix/k/", ""] {
        assert!(at(other).is_empty(), "{other}");
    }
    assert!(!index.knows("other", "k"));
}

/// The paths are those where Terraform 1.11.4 put state and lock.
#[test]
fn workspaces_are_found_where_terraform_puts_them() {
    let states = vec![
        state("./d.tfstate", "env:"),
        state("x/../h.tfstate", ""),
        state("e/f.tfstate", "w//s"),
        state("../up.tfstate", "env:"),
        state("dot.tfstate", "./"),
    ];
    let expected = Expected { states, ..Expected::default() };
    let index = expected.index();
    for (path, key, workspace) in [
        ("./d.tfstate", "./d.tfstate", "default"),
        ("env:/dev/d.tfstate", "./d.tfstate", "dev"),
        ("dev/h.tfstate", "x/../h.tfstate", "dev"),
        ("w/s/dev/e/f.tfstate", "e/f.tfstate", "dev"),
        ("env:/up.tfstate", "../up.tfstate", "*"),
        ("dev/dot.tfstate", "dot.tfstate", "dev"),
    ] {
        let found: Vec<(&str, &str)> =
            index.at("b", path).iter().map(|(state, workspace)| (state.key.as_str(), *workspace)).collect();
        assert_eq!(found, [(key, workspace)], "{path}");
        assert_eq!(index.at("b", path)[0].0.path_of(workspace), path);
    }
    for other in ["d.tfstate", "env:/dev/./d.tfstate", "dev/x/../h.tfstate", "w//s/dev/e/f.tfstate"] {
        assert!(!index.knows("b", other), "{other}");
    }
}

#[test]
fn a_prefix_that_is_set_to_nothing_is_nothing() {
    let of = |more: &str| {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = \"e/f\"\n{more}\n  }}\n}}\n"
        );
        std::fs::write(dir.path().join("main.tf"), text).unwrap();
        let options = crate::repo::scan::ScanOptions {
            paths: vec![dir.path().to_owned()],
            ..crate::repo::scan::ScanOptions::default()
        };
        let inventory = crate::repo::scan::scan(&options, &crate::repo::walk::Silent).unwrap();
        Expected::of(&inventory).states[0].path_of("dev")
    };
    assert_eq!(of("workspace_key_prefix = \"\""), "dev/e/f");
    assert_eq!(of("workspace_key_prefix = null"), "env:/dev/e/f");
    assert_eq!(of(""), "env:/dev/e/f");
}

#[test]
fn a_table_is_a_name_or_an_arn() {
    let access = Access { region: Some("eu-west-1".into()), ..Access::default() };
    let plain = TableRef::of("locks", &access);
    assert_eq!(
        (plain.name.as_str(), plain.region.as_deref(), plain.account),
        ("locks", Some("eu-west-1"), None)
    );
    let arn = TableRef::of("arn:aws:dynamodb:us-east-2:111122223333:table/locks", &access);
    assert_eq!((arn.name.as_str(), arn.region.as_deref()), ("locks", Some("us-east-2")));
    assert_eq!(arn.account.as_deref(), Some("111122223333"));
    assert_eq!(TableRef::of("arn:odd", &access).name, "arn:odd");
}

#[test]
fn what_a_lock_is_written_with_comes_from_the_sources_that_count() {
    let of = |text: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("main.tf"), text).unwrap();
        let options = crate::repo::scan::ScanOptions {
            paths: vec![dir.path().to_owned()],
            ..crate::repo::scan::ScanOptions::default()
        };
        let inventory = crate::repo::scan::scan(&options, &crate::repo::walk::Silent).unwrap();
        let states = Expected::of(&inventory).states;
        states.iter().map(|state| (state.acl, state.lock_tags)).collect::<Vec<_>>()
    };
    let backend = |more: &str| {
        format!("terraform {{\n  backend \"s3\" {{\n    bucket = \"b\"\n    key = \"k\"\n{more}\n  }}\n}}\n")
    };
    assert_eq!(of(&backend("")), [(false, false)]);
    assert_eq!(of(&backend("acl = \"private\"")), [(true, false)]);
    assert_eq!(of(&backend("acl = \"\"")), [(false, false)]);
    assert_eq!(of(&backend("acl = var.acl")), [(true, false)], "set, and to what is not known");
    assert_eq!(of(&backend("lock_tags = {\n team = \"x\"\n}")), [(false, true)]);
    assert_eq!(
        of(&backend("state_tags = {\n team = \"x\"\n}")),
        [(false, false)],
        "on the state, not the lock"
    );
}
