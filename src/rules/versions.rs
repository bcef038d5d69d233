//! Rules about versions: can what runs here run `use_lockfile`? The verdicts themselves are made in the scan.

use super::parts::{LOCKFILE, backends, called, deciding, place, place_in};
use super::{Check, Rule};
use crate::finding::{Finding, Severity};
use crate::repo::facts::Tool;
use crate::repo::inventory::{EffectiveBackend, Inventory, Knowable, RootKind, RootModule, VersionVerdict};
use crate::repo::source::SourceKind;
use crate::repo::versions::constraint::{Ranges, Release, Version, parse_constraint, parse_version};

/// No admitted version can run it.
pub static VERSION_TOO_OLD: Rule = Rule {
    id: "version-too-old",
    severity: Severity::High,
    summary: "`use_lockfile` is set, and the version in use does not know it",
    page: include_str!("../../docs/rules/version-too-old.md"),
    check: Check::Inventory(version_too_old),
};

/// Some admitted version can't run it.
pub static VERSION_UNPROVEN: Rule = Rule {
    id: "version-unproven",
    severity: Severity::Medium,
    summary: "`use_lockfile` is set, and the constraints admit versions that do not know it",
    page: include_str!("../../docs/rules/version-unproven.md"),
    check: Check::Inventory(version_unproven),
};

/// Terragrunt's broken range.
pub static QUOTED_BOOLEAN_TERRAGRUNT: Rule = Rule {
    id: "quoted-boolean-terragrunt",
    severity: Severity::Medium,
    summary: "Terragrunt 0.99.0 up to 1.0.0 can't take `use_lockfile` as text",
    page: include_str!("../../docs/rules/quoted-boolean-terragrunt.md"),
    check: Check::Inventory(quoted_boolean_terragrunt),
};

fn uses_lockfile(inventory: &Inventory) -> impl Iterator<Item = (&RootModule, &EffectiveBackend)> {
    backends(inventory).filter(|(_, backend)| backend.use_lockfile == Knowable::Known(true))
}

/// One finding for each root module: its versions are the same for all of its backends.
fn judged(
    inventory: &Inventory,
    rule: &Rule,
    verdict: VersionVerdict,
    says: &str,
    help: &str,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (root, backend) in uses_lockfile(inventory).filter(|(root, _)| root.versions.verdict == verdict) {
        if findings.last().is_some_and(|last| last.subject == root.path) {
            continue;
        }
        let at = root
            .versions
            .evidence
            .iter()
            .find(|evidence| evidence.verdict == verdict)
            .map_or_else(|| place(inventory, root, backend, LOCKFILE), |evidence| evidence.place.clone());
        let message = format!("`{}` sets `use_lockfile`, and {says}: {}", root.path, root.versions.reason);
        findings.push(Finding { help: Some(help.to_owned()), ..rule.finding(&root.path, at, message) });
    }
    findings
}

fn version_too_old(inventory: &Inventory) -> Vec<Finding> {
    let help =
        "use Terraform 1.11, OpenTofu 1.10 or newer; of Terragrunt 0.82.4 up to 0.98, or 1.0.0 and newer";
    judged(inventory, &VERSION_TOO_OLD, VersionVerdict::Cannot, "its versions can't run that", help)
}

fn version_unproven(inventory: &Inventory) -> Vec<Finding> {
    let help = "raise `required_version` to `>= 1.11` (OpenTofu: `>= 1.10`), or pin the version";
    judged(inventory, &VERSION_UNPROVEN, VersionVerdict::AdmitsOlder, "older versions may run it", help)
}

/// Whether a pin or constraint admits only versions of the broken range (true), none of it (false), or can't be told
/// or admits both (none). Source: gruntwork-io/terragrunt issue 5475; its 1.0.0 candidates count as broken.
fn is_affected(pin: &str) -> Option<bool> {
    let exact =
        parse_version(pin.trim().trim_start_matches(['=', ' '])).filter(|version| version.segments >= 3);
    if let Some(Version { release, pre, .. }) = exact {
        return Some((BROKEN_FROM..REPAIRED).contains(&release) || (release == REPAIRED && pre.is_some()));
    }
    let admitted = parse_constraint(pin).ok()?.admitted;
    let broken = admitted.and(&Ranges::between(BROKEN_FROM, Some(REPAIRED)));
    match (broken.is_empty(), broken == admitted) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    }
}

const BROKEN_FROM: Release = Release(0, 99, 0);
const REPAIRED: Release = Release(1, 0, 0);

fn quoted_boolean_terragrunt(inventory: &Inventory) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (root, backend) in uses_lockfile(inventory).filter(|(root, _)| root.kind == RootKind::Terragrunt) {
        let Some((at, setting)) = deciding(inventory, backend, LOCKFILE) else { continue };
        if at.kind != SourceKind::TerragruntRemoteState {
            continue;
        }
        let pins = || root.versions.evidence.iter().filter(|evidence| evidence.tool == Tool::Terragrunt);
        let affected = pins().find(|pin| is_affected(&pin.text) == Some(true));
        let spared = pins().any(|pin| is_affected(&pin.text) == Some(false));
        let is_text = setting.value.as_text().is_some();
        let message = match (affected, is_text) {
            (Some(pin), _) => format!(
                "{} sets `use_lockfile`, and `{}` holds Terragrunt to {}: these versions hand it on as text and stop",
                called(root, backend),
                pin.place.file,
                pin.text
            ),
            (None, true) if !spared => format!(
                "{} sets `use_lockfile` as text: Terragrunt 0.99.0 up to 1.0.0 stops at that, and nothing rules \
                 such a version out",
                called(root, backend)
            ),
            _ => continue,
        };
        let help = "write `use_lockfile = true` without quotes, and run Terragrunt 1.0.0 or newer";
        findings.push(Finding {
            help: Some(help.to_owned()),
            ..QUOTED_BOOLEAN_TERRAGRUNT.finding(&root.path, place_in(at, setting), message)
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::setting::Value;
    use crate::rules::testing::{Build, at, block, evidence, run, source, text, yes};

    fn judged_as(verdict: VersionVerdict, settings: &[(&str, Value)]) -> Inventory {
        let mut inventory = Build::new().root("a", vec![vec![block("a/main.tf", 1, settings)]]).done();
        inventory.roots[0].versions.verdict = verdict;
        inventory.roots[0].versions.evidence =
            vec![evidence(Tool::Terraform, "1.9.8", "a/.terraform-version", verdict)];
        inventory
    }

    #[test]
    fn the_verdict_decides_and_the_evidence_is_the_place() {
        let lockfile = [("use_lockfile", yes())];
        for (verdict, old, unproven) in [
            (VersionVerdict::Cannot, true, false),
            (VersionVerdict::AdmitsOlder, false, true),
            (VersionVerdict::Can, false, false),
            (VersionVerdict::Unknown, false, false),
        ] {
            let inventory = judged_as(verdict, &lockfile);
            let place =
                |fires: bool| if fires { vec!["a/.terraform-version:1:1".to_owned()] } else { vec![] };
            assert_eq!(at(&VERSION_TOO_OLD, &inventory), place(old), "{verdict:?}");
            assert_eq!(at(&VERSION_UNPROVEN, &inventory), place(unproven), "{verdict:?}");
        }
    }

    #[test]
    fn an_old_version_is_no_matter_without_the_lockfile() {
        let inventory = judged_as(VersionVerdict::Cannot, &[("dynamodb_table", text("t"))]);
        assert_eq!(at(&VERSION_TOO_OLD, &inventory), [""; 0]);
    }

    #[test]
    fn two_backends_of_one_root_module_make_one_finding() {
        let lockfile = || vec![block("a/main.tf", 1, &[("use_lockfile", yes())])];
        let mut inventory = Build::new().root("a", vec![lockfile(), lockfile()]).done();
        inventory.roots[0].versions.verdict = VersionVerdict::Cannot;
        assert_eq!(at(&VERSION_TOO_OLD, &inventory), ["a/main.tf:2:3"]);
    }

    #[test]
    fn the_broken_range_of_terragrunt() {
        for (pin, affected) in [
            ("0.98.9", Some(false)),
            ("0.99.0", Some(true)),
            ("v0.99.5", Some(true)),
            ("1.0.0-rc1", Some(true)),
            ("1.0.0", Some(false)),
            ("= 1.0.1", Some(false)),
            (">= 0.99.0", None),
            (">= 0.99.0, < 1.0.0", Some(true)),
            ("~> 1.0", Some(false)),
            ("< 0.99", Some(false)),
            ("latest", None),
            ("0.99", Some(true)),
        ] {
            assert_eq!(is_affected(pin), affected, "{pin}");
        }
    }

    #[test]
    fn terragrunt_and_the_text_true() {
        for (value, pin, fires) in [
            (text("true"), None, true),
            (yes(), None, false),
            (yes(), Some("0.99.3"), true),
            (text("true"), Some("1.0.2"), false),
            (yes(), Some("1.0.0"), false),
        ] {
            let units = source(SourceKind::TerragruntRemoteState, "root.hcl", 2, &[("use_lockfile", value)]);
            let mut inventory = Build::new().root("live/app", vec![vec![units]]).done();
            let root = &mut inventory.roots[0];
            root.versions.evidence = pin
                .map(|pin| evidence(Tool::Terragrunt, pin, ".terragrunt-version", VersionVerdict::Can))
                .into_iter()
                .collect();
            assert_eq!(at(&QUOTED_BOOLEAN_TERRAGRUNT, &inventory), [""; 0], "not a Terragrunt unit");
            inventory.roots[0].kind = RootKind::Terragrunt;
            assert_eq!(run(&QUOTED_BOOLEAN_TERRAGRUNT, &inventory).len(), usize::from(fires), "{pin:?}");
        }
    }
}
