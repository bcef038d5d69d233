//! The rule of this room, case by case.

use super::*;
use crate::repo::text::{Position, Span};
use VersionVerdict::{AdmitsOlder, Can, Cannot, Unknown};

fn judge<P: std::borrow::Borrow<VersionPin>>(
    required: &[(Place, Setting)],
    pins: &[P],
    engine: Engine,
) -> Versions {
    let pins: Vec<&VersionPin> = pins.iter().map(std::borrow::Borrow::borrow).collect();
    let required: Vec<&(Place, Setting)> = required.iter().collect();
    Judge::default().judge(&required, &pins, engine)
}

fn place(file: &str) -> Place {
    Place::new(file, Position { line: 1, column: 1 })
}

fn required(value: Value) -> (Place, Setting) {
    let span = Span::new(0, 0);
    let name = "required_version".to_owned();
    let at = Position { line: 1, column: 1 };
    (place("versions.tf"), Setting { name, at, span, name_span: span, value_span: span, value, via: vec![] })
}

fn text(constraint: &str) -> (Place, Setting) {
    required(Value::Text(constraint.to_owned()))
}

fn pin(tool: Tool, origin: &'static str, scope: &str, text: &str) -> VersionPin {
    VersionPin {
        tool,
        text: text.to_owned(),
        place: place(&format!("{scope}/{origin}")),
        origin,
        scope: scope.to_owned(),
    }
}

fn terraform(origin: &'static str, scope: &str, text: &str) -> VersionPin {
    pin(Tool::Terraform, origin, scope, text)
}

fn judged(constraints: &[&str], pins: &[VersionPin]) -> VersionVerdict {
    let required: Vec<_> = constraints.iter().map(|constraint| text(constraint)).collect();
    judge(&required, pins, Engine::Any).verdict
}

#[test]
fn without_evidence_nothing_is_known() {
    let versions = judge::<VersionPin>(&[], &[], Engine::Any);
    assert_eq!(versions.verdict, Unknown);
    assert_eq!(versions.reason, "nothing in the repository says which version runs");
    assert_eq!(versions.evidence, []);
}

#[test]
fn constraints_of_all_files_hold_at_once() {
    assert_eq!(judged(&[">= 1.5"], &[]), AdmitsOlder);
    assert_eq!(judged(&[">= 1.5", ">= 1.11"], &[]), Can);
    assert_eq!(judged(&[">= 1.5", "< 1.10"], &[]), Cannot);
    assert_eq!(judged(&["1.10"], &[]), Can);
    assert_eq!(judged(&["1.9"], &[]), Cannot);
}

#[test]
fn a_constraint_that_terraform_refuses_is_unknown() {
    for constraint in [">= 1.11.0-rc1", "1.11.x", "", "^1.11"] {
        let versions = judge::<VersionPin>(&[text(constraint)], &[], Engine::Any);
        assert_eq!(versions.verdict, Unknown, "{constraint}");
        assert_eq!(versions.evidence[0].verdict, Unknown, "{constraint}");
    }
    let expression = Value::Unknown { expression: "var.v".into(), reason: "a variable".into() };
    let versions = judge(&[required(expression)], &[terraform("ci", ".", "1.11.4")], Engine::Any);
    assert_eq!(versions.verdict, Unknown);
    assert!(versions.reason.contains("versions.tf:1:1"), "{}", versions.reason);
}

#[test]
fn an_exact_pin_says_what_really_runs() {
    assert_eq!(judged(&[">= 1.5"], &[terraform(".terraform-version", ".", "1.11.4")]), Can);
    assert_eq!(judged(&[">= 1.5"], &[terraform(".terraform-version", ".", "1.9.8")]), Cannot);
    assert_eq!(judged(&[], &[terraform(".terraform-version", ".", "1.11.4")]), Can);
    assert_eq!(judged(&[">= 1.5"], &[terraform("setup-terraform", ".", "^1.3")]), Can);
    assert_eq!(judged(&[], &[terraform("setup-terraform", ".", "~1")]), Can);
    assert_eq!(judged(&["~> 1.5, < 1.9"], &[terraform("setup-terraform", ".", "~1")]), Cannot);
    assert_eq!(judged(&[], &[terraform("setup-terraform", ".", ">=1.5 <1.10")]), Cannot);
    assert_eq!(judged(&[">= 1.5"], &[terraform(".terraform-version", ".", "^1.3")]), AdmitsOlder);
    assert_eq!(judged(&[">= 1.5"], &[terraform("setup-terraform", ".", "~1.11.0")]), Can);
    // The program enforces its constraint, whatever is pinned.
    assert_eq!(judged(&[">= 1.11"], &[terraform(".terraform-version", ".", "1.9.8")]), Can);
    assert_eq!(judged(&["< 1.10"], &[terraform(".terraform-version", ".", "1.11.4")]), Cannot);
}

#[test]
fn the_nearest_pin_of_a_kind_counts() {
    let pins =
        [terraform(".terraform-version", ".", "1.9.8"), terraform(".terraform-version", "live/a", "1.11.4")];
    let near = applicable("live/a/vpc", &pins);
    assert_eq!(near.iter().map(|pin| pin.text.as_str()).collect::<Vec<_>>(), ["1.11.4", "1.9.8"]);
    assert_eq!(judge(&[], &near, Engine::Any).verdict, Can);
    let far = applicable("live/ab", &pins);
    assert_eq!(far.iter().map(|pin| pin.text.as_str()).collect::<Vec<_>>(), ["1.9.8"]);
    assert_eq!(judge(&[], &far, Engine::Any).verdict, Cannot);
    assert_eq!(applicable(".", &pins).len(), 1);
    assert_eq!(applicable("live/a", &pins).len(), 2);
}

#[test]
fn pins_that_disagree_admit_older() {
    let pins = [terraform("setup-terraform", ".", "1.11.4"), terraform("setup-terraform", ".", "1.5.7")];
    assert_eq!(judged(&[">= 1.5"], &pins), AdmitsOlder);
    assert_eq!(judged(&[], &pins), AdmitsOlder);
    // The second can't be for this root module: `required_version` would stop it.
    assert_eq!(judged(&[">= 1.9"], &pins), Can);
    let kinds = [terraform(".terraform-version", "a", "1.11.4"), terraform("docker", ".", "1.9")];
    let versions = judge(&[], &kinds, Engine::Any);
    assert_eq!(versions.verdict, AdmitsOlder);
    assert!(versions.reason.starts_with("pins disagree: docker `1.9` (./docker:1:1)"), "{}", versions.reason);
}

#[test]
fn a_pin_that_cant_be_read_decides_nothing() {
    let pins = [terraform("setup-terraform", ".", "${{ matrix.tf }}"), terraform("docker", ".", "1.11")];
    assert_eq!(judged(&[], &pins), Unknown);
    assert_eq!(judged(&[">= 1.5"], &pins), AdmitsOlder);
    assert_eq!(judged(&[">= 1.11"], &pins), Can);
}

#[test]
fn tfenv_words_depend_on_the_constraint() {
    assert_eq!(judged(&[">= 1.5"], &[terraform(".terraform-version", ".", "min-required")]), Cannot);
    assert_eq!(judged(&["!= 1.11.2, >= 1.5"], &[terraform(".terraform-version", ".", "min-required")]), Can);
    assert_eq!(judged(&[">= 1.5"], &[terraform(".terraform-version", ".", "latest-allowed")]), Can);
    assert_eq!(judged(&["~> 1.5, < 1.12"], &[terraform(".terraform-version", ".", "latest-allowed")]), Can);
    assert_eq!(judged(&[], &[terraform(".terraform-version", ".", "min-required")]), Unknown);
}

#[test]
fn the_engine_chooses_whose_pins_count() {
    let pins = [terraform("docker", ".", "1.9.8"), pin(Tool::OpenTofu, "docker", ".", "1.10.6")];
    assert_eq!(judge(&[], &pins, Engine::OpenTofu).verdict, Can);
    assert_eq!(judge(&[], &pins, Engine::Terraform).verdict, Cannot);
    assert_eq!(judge(&[], &pins, Engine::Any).verdict, Cannot);
    let versions = judge(&[text(">= 1.10")], &pins[1..], Engine::Any);
    assert_eq!(versions.verdict, Can);
    assert_eq!(versions.evidence[0].tool, Tool::OpenTofu);
}

#[test]
fn terragrunt_must_pass_the_setting_on() {
    let able = terraform(".terraform-version", ".", "1.11.4");
    let pins = |version: &str| [able.clone(), pin(Tool::Terragrunt, ".terragrunt-version", ".", version)];
    assert_eq!(judge(&[], &pins("0.82.4"), Engine::Any).verdict, Can);
    assert_eq!(judge(&[], &pins("0.99.1"), Engine::Any).verdict, Cannot);
    assert_eq!(judge(&[], &pins("1.0.2"), Engine::Any).verdict, Can);
    // Terragrunt alone says nothing about what it calls.
    assert_eq!(judge(&[], &pins("1.0.2")[1..], Engine::Any).verdict, Unknown);
    let constraint = [able, pin(Tool::Terragrunt, "terragrunt_version_constraint", ".", ">= 0.60")];
    assert_eq!(judge(&[], &constraint, Engine::Any).verdict, AdmitsOlder);
    let checked = [terraform("terraform_version_constraint", ".", ">= 1.11")];
    assert_eq!(judge(&[text(">= 1.5")], &checked, Engine::Any).verdict, Can);
}
