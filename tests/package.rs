//! `scripts/package`: what a release hands out is complete, and made by the program that it holds.
#![cfg(test)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn a_package_holds_program_pages_completions_schemas_and_licences() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let made = Command::new(repository.join("scripts/package"))
        .args(["--no-archive", "--target", "x86_64-unknown-linux-musl", "--binary"])
        .arg(env!("CARGO_BIN_EXE_lockshift"))
        .arg("--out")
        .arg(out.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    let name = concat!("lockshift-", env!("CARGO_PKG_VERSION"), "-x86_64-unknown-linux-musl");
    let package = out.path().canonicalize().unwrap().join(name);
    assert_eq!(String::from_utf8_lossy(&made.stdout).trim_end(), package.to_string_lossy());
    let mut there: Vec<String> = fs::read_dir(&package)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    assert_eq!(
        there,
        [
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "README.md",
            "THIRD-PARTY-LICENSES.txt",
            "completions",
            "lockshift",
            "man",
            "schema"
        ]
    );

    let version = Command::new(package.join("lockshift")).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&version.stdout),
        concat!("lockshift ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let read = |file: &str| fs::read_to_string(package.join(file)).unwrap();
    assert!(read("man/man1/lockshift-policy-decide.1").contains(".TH lockshift-policy-decide 1 "));
    for (file, word) in [
        ("lockshift.bash", "_lockshift()"),
        ("lockshift.elv", "set edit:completion:arg-completer[lockshift]"),
        ("lockshift.fish", "complete -c lockshift"),
        ("_lockshift.ps1", "Register-ArgumentCompleter"),
        ("_lockshift", "#compdef lockshift"),
    ] {
        assert!(read(&format!("completions/{file}")).contains(word), "{file} has no {word:?}");
    }
    assert_eq!(
        read("schema/config.schema.json"),
        fs::read_to_string(repository.join("docs/schema/config.schema.json")).unwrap()
    );
    readme_fits(&package, &read("README.md"));
    // A crate that is linked, and one that only tests use.
    let licences = read("THIRD-PARTY-LICENSES.txt");
    assert!(licences.contains("\nring 0.17."), "what is linked is missing");
    assert!(!licences.contains("\nproptest "), "what is not linked is named");
}

/// The archive's README speaks of what is there, and its commands do what they say.
fn readme_fits(package: &Path, readme: &str) {
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        readme.starts_with(&format!("# lockshift {version} (x86_64-unknown-linux-musl)\n")),
        "{}",
        readme.lines().next().unwrap_or_default()
    );
    // Nothing of a checkout: no build, no tests, no fixtures.
    for foreign in ["cargo ", "scripts/", "fixtures/", "](", "{"] {
        assert!(!readme.contains(foreign), "{foreign:?} is of no use in an archive");
    }
    for wanted in [
        "sha256sum --check --ignore-missing SHA256SUMS\n",
        &format!("`lockshift-{version}-x86_64-unknown-linux-musl.tar.gz.sha256`"),
        "sudo install lockshift /usr/local/bin/\n",
        &format!("at the tag `v{version}`"),
    ] {
        assert!(readme.contains(wanted), "it does not say {wanted:?}");
    }
    // All that the table names is there.
    let names = readme.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let names: Vec<&str> =
        names.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`')).collect();
    assert_eq!(names.len(), 7, "{names:?}");
    for name in names {
        assert!(package.join(name).exists(), "{name} is not in the archive");
    }
    // The commands, with another home and another root; `man` needs a program that not every machine has.
    let away = tempfile::tempdir().unwrap();
    let blocks = readme.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let commands: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert!(commands.len() >= 11, "{commands:?}");
    for command in commands {
        if command.starts_with("sha256sum") || command.starts_with("man ") {
            continue;
        }
        let root = away.path().join("usr/local");
        fs::create_dir_all(root.join("bin")).unwrap();
        let here = command.replace("sudo ", "").replace("/usr/local", &root.to_string_lossy());
        let ran = Command::new("sh")
            .args(["-ec", &here])
            .current_dir(package)
            .env("HOME", away.path())
            .env("PATH", format!("{}:{}", package.display(), std::env::var("PATH").unwrap_or_default()))
            .output()
            .unwrap();
        // A scan of a directory without Terraform finds nothing to look at.
        let empty = here.starts_with("lockshift scan ") && !here.contains("--help");
        assert!(ran.status.success() || empty, "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    for file in [
        "usr/local/bin/lockshift",
        "usr/local/share/man/man1/lockshift-scan.1",
        ".local/share/bash-completion/completions/lockshift",
        ".zfunc/_lockshift",
        ".config/fish/completions/lockshift.fish",
    ] {
        assert!(away.path().join(file).exists(), "{file} was not installed");
    }
}
