//! Oracle: the real terraform says which `required_version` constraints admit it; our reading must agree.
//! Needs `terraform` on PATH and fails without it: a skipped oracle proves nothing.

#![cfg(test)]

use std::process::Command;

use lockshift::repo::versions::constraint::{Release, parse_constraint, parse_version};

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Admitted,
    Refused,
    NotAConstraint,
    PreRelease,
}

fn terraform_version() -> Release {
    let output = Command::new("terraform").arg("version").output().expect("terraform must be on PATH");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().next().unwrap();
    parse_version(line.strip_prefix("Terraform ").unwrap()).unwrap().release
}

fn ask_terraform(constraint: &str) -> Answer {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("main.tf"),
        format!("terraform {{\n  required_version = \"{constraint}\"\n}}\n"),
    )
    .unwrap();
    let output = Command::new("terraform")
        .args(["init", "-backend=false", "-input=false", "-no-color"])
        .current_dir(dir.path())
        .output()
        .expect("terraform must be on PATH");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Answer::Admitted
    } else if text.contains("Prerelease version constraints are not supported") {
        Answer::PreRelease
    } else if text.contains("Invalid version constraint") {
        Answer::NotAConstraint
    } else if text.contains("Unsupported Terraform Core version") {
        Answer::Refused
    } else {
        panic!("`{constraint}`: terraform said something else: {text}")
    }
}

fn ask_ourselves(constraint: &str, version: Release) -> Answer {
    match parse_constraint(constraint) {
        Err(_) => Answer::NotAConstraint,
        Ok(read) if read.pre_release.is_some() => Answer::PreRelease,
        Ok(read) if read.admitted.contains(version) => Answer::Admitted,
        Ok(_) => Answer::Refused,
    }
}

#[test]
fn our_reading_of_constraints_agrees_with_terraform() {
    let Release(major, minor, patch) = terraform_version();
    // `M`, `N`, `P` stand for the running version's segments, so that any release can be the oracle.
    let constraints = [
        "M.N.P",
        "= M.N.P",
        "=M.N.P",
        "vM.N.P",
        ">= vM.N.P",
        "M.N",
        "M",
        "!= M.N.P",
        "!= M.N",
        "> M.N.P",
        "> M.N",
        ">= M.N.P",
        "< M.N.P",
        "<= M.N.P",
        "<= M.N",
        "< 99",
        "~> M.N",
        "~> M.N.P",
        "~> M.N.0",
        "~> M.0",
        "~> M",
        "~> 0",
        "~> 0.15",
        "~> M.N.99",
        "~> M.99",
        "~> 99",
        ">= 1.0, < 99",
        ">=1.0,<M.N",
        " >=  1.0 ,  != M.N.P ",
        ">= 1.0,",
        "",
        " ",
        "M.N.x",
        "^M.N",
        "~M.N",
        "==M.N.P",
        "=> M.N",
        ">= 1.0 < 99",
        "latest",
        "V1.5",
        ">= M.N.P-rc1",
        "~> M.N.P-rc1",
        "M.N.P-beta",
        "M.N.Pbeta",
        ">= M.N.P.1",
        "<= M.N.P.1",
        "= M.N.P.0",
        "~> M.N.P.0",
        "= M.N.P+build",
        ">= 99999999999999999999",
        "1.5-",
        "> = 1.0",
        "~>M.N",
        "! = 1.0",
        "01.05.00",
        "0M.0N.0P",
    ];
    let mut seen = Vec::new();
    for pattern in constraints {
        let constraint = pattern
            .replace('M', &major.to_string())
            .replace('N', &minor.to_string())
            .replace('P', &patch.to_string());
        let answer = ask_terraform(&constraint);
        assert_eq!(
            ask_ourselves(&constraint, Release(major, minor, patch)),
            answer,
            "`{constraint}` (left: ours, right: terraform's)"
        );
        if !seen.contains(&answer) {
            seen.push(answer);
        }
    }
    assert_eq!(seen.len(), 4, "every kind of answer occurs: {seen:?}");
}
