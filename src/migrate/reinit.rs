//! The `init -reconfigure` that every changed root module needs before its next run: one command each, and a script
//! with all of them. Pure text; every word from a file is quoted, so that a shell takes it for nothing but a word.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::facts::Tool;
use crate::repo::inventory::{EffectiveBackend, Engine, Inventory, RootKind, RootModule};
use crate::shell::word;

/// The commands for these root modules, from where the paths are told. `after` is the inventory as it will be: the
/// flags that scripts give may have changed, too. A backend that is as it was `before` needs none.
pub fn commands(before: &Inventory, after: &Inventory, roots: &[String]) -> Vec<String> {
    let wanted: BTreeSet<&str> = roots.iter().map(String::as_str).collect();
    let old: BTreeMap<&str, &RootModule> =
        before.roots.iter().map(|root| (root.path.as_str(), root)).collect();
    let mut commands = Vec::new();
    for root in after.roots.iter().filter(|root| wanted.contains(root.path.as_str())) {
        let was = old.get(root.path.as_str()).map_or(&[][..], |root| &root.backends);
        let stays = |backend: &EffectiveBackend| was.iter().any(|was| is_same(was, backend));
        let changed: Vec<&EffectiveBackend> =
            root.backends.iter().filter(|backend| !stays(backend)).collect();
        // A plan that names the root module knows of a change, even where it can't be seen here.
        let changed = if changed.is_empty() { root.backends.iter().collect() } else { changed };
        let mut seen = BTreeSet::new();
        for backend in changed {
            let command = command(root, backend);
            if seen.insert(command.clone()) {
                commands.push(command);
            }
        }
    }
    commands
}

/// Whether two backends are the same to whoever initialises them: where each setting stands does not matter.
fn is_same(one: &EffectiveBackend, other: &EffectiveBackend) -> bool {
    EffectiveBackend { sources: Vec::new(), ..one.clone() }
        == EffectiveBackend { sources: Vec::new(), ..other.clone() }
}

fn command(root: &RootModule, backend: &EffectiveBackend) -> String {
    let dir = if root.path.starts_with('-') { format!("./{}", root.path) } else { root.path.clone() };
    let mut command = format!("(cd {} && {} init -reconfigure", word(&dir), program(root, backend));
    // Terragrunt gives the settings itself.
    if root.kind != RootKind::Terragrunt {
        for choice in &backend.backend_config {
            let value = if choice.contains('=') { choice.clone() } else { relative(&root.path, choice) };
            command.push(' ');
            command.push_str(&word(&format!("-backend-config={value}")));
        }
    }
    command.push(')');
    command
}

/// The program that runs it, as far as the repository says.
fn program(root: &RootModule, backend: &EffectiveBackend) -> &'static str {
    let tofu = backend.engine == Engine::OpenTofu
        || root.versions.evidence.first().is_some_and(|evidence| evidence.tool == Tool::OpenTofu);
    match root.kind {
        RootKind::Terragrunt => "terragrunt",
        _ if tofu => "tofu",
        _ => "terraform",
    }
}

/// A path as seen from a directory, both told from the same place.
fn relative(from: &str, to: &str) -> String {
    if to.starts_with('/') || from.starts_with('/') {
        return to.to_owned();
    }
    fn parts(path: &str) -> Vec<&str> {
        path.split('/').filter(|part| !matches!(*part, "" | ".")).collect()
    }
    let (from, to) = (parts(from), parts(to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(common).map(|_| "..");
    let path: Vec<&str> = up.chain(to.iter().skip(common).copied()).collect();
    path.join("/")
}

/// `reinit.sh`: all commands, each tried, the failed ones counted.
pub fn script(before: &Inventory, after: &Inventory, roots: &[String]) -> String {
    let mut out = String::from(
        "#!/bin/sh\n\
         # Initialises every changed root module again: a changed backend stops all runs until then. Writes no state and\n\
         # keeps the selected workspace. Run it where the paths begin, with the credentials that each backend needs.\n\
         set -u\n\
         failed=0\n",
    );
    for command in commands(before, after, roots) {
        out.push_str(&format!(
            "{command} || {{ echo {} >&2; failed=$((failed + 1)); }}\n",
            word(&format!("failed: {command}"))
        ));
    }
    out.push_str("[ \"$failed\" -eq 0 ]\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_the_root_module() {
        assert_eq!(relative("a/b", "a/b/dev.tfbackend"), "dev.tfbackend");
        assert_eq!(relative("a/b", "conf/x"), "../../conf/x");
        assert_eq!(relative(".", "conf/x"), "conf/x");
        assert_eq!(relative("../r", "../r/x"), "x");
        assert_eq!(relative("a", "/etc/x"), "/etc/x");
    }

    fn root(path: &str, config: &[&str]) -> RootModule {
        RootModule {
            path: path.to_owned(),
            kind: RootKind::Terraform,
            backends: vec![EffectiveBackend {
                mode: crate::repo::inventory::LockMode::Dual,
                bucket: Default::default(),
                key: Default::default(),
                region: Default::default(),
                dynamodb_table: Default::default(),
                use_lockfile: Default::default(),
                workspace_key_prefix: Default::default(),
                endpoint: Default::default(),
                backend_config: config.iter().map(|text| (*text).to_owned()).collect(),
                engine: Engine::Any,
                sources: Vec::new(),
            }],
            versions: crate::repo::inventory::Versions {
                verdict: crate::repo::inventory::VersionVerdict::Unknown,
                reason: String::new(),
                evidence: Vec::new(),
            },
            owners: Vec::new(),
            called_by: Vec::new(),
            not_s3: None,
            link_of: None,
        }
    }

    /// Terraform and OpenTofu see different backends in one directory, and only one of them changes.
    #[test]
    fn only_a_backend_that_changes_is_initialised_again() {
        use crate::repo::inventory::LockMode;
        let backends = |terraform: LockMode, opentofu: LockMode| {
            let mut both = root("a", &[]);
            let one = both.backends.remove(0);
            both.backends = [(Engine::Terraform, terraform), (Engine::OpenTofu, opentofu)]
                .map(|(engine, mode)| EffectiveBackend { engine, mode, ..one.clone() })
                .to_vec();
            Inventory { roots: vec![both], ..Inventory::default() }
        };
        let said = |before: &Inventory, after: &Inventory| commands(before, after, &["a".to_owned()]);
        let before = backends(LockMode::Dynamodb, LockMode::Lockfile);
        let after = backends(LockMode::Dual, LockMode::Lockfile);
        assert_eq!(said(&before, &after), ["(cd a && terraform init -reconfigure)"]);
        let both = ["(cd a && terraform init -reconfigure)", "(cd a && tofu init -reconfigure)"];
        assert_eq!(
            said(
                &backends(LockMode::Dynamodb, LockMode::Dynamodb),
                &backends(LockMode::Dual, LockMode::Dual)
            ),
            both
        );
        assert_eq!(said(&Inventory::default(), &after), both);
    }

    /// A real shell runs the script: the words arrive as they were, and a failure is counted and told.
    #[test]
    #[cfg(unix)]
    fn a_shell_takes_the_script() {
        use std::process::Command;
        let dir = tempfile::tempdir().unwrap();
        let nasty = "it's $(touch pwned) ü\t%s\\";
        std::fs::create_dir(dir.path().join(nasty)).unwrap();
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("terraform"), "#!/bin/sh\npwd\nprintf '%s\\n' \"$@\"\n").unwrap();
        std::fs::set_permissions(bin.join("terraform"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let config = format!("{nasty}/dev.tfbackend");
        let inventory = Inventory {
            roots: vec![root(nasty, &[&config, "key=$HOME"]), root("not there", &[])],
            ..Inventory::default()
        };
        let text = script(&Inventory::default(), &inventory, &[nasty.to_owned(), "not there".to_owned()]);
        std::fs::write(dir.path().join("reinit.sh"), text).unwrap();
        let output = Command::new("sh")
            .arg("reinit.sh")
            .current_dir(dir.path())
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .output()
            .unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!(
                "{}/{nasty}\ninit\n-reconfigure\n-backend-config=dev.tfbackend\n-backend-config=key=$HOME\n",
                real.display()
            )
        );
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("failed: (cd 'not there'"));
        assert!(!dir.path().join("pwned").exists());
    }
}
