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
    // A crate that is linked, and one that only tests use.
    let licences = read("THIRD-PARTY-LICENSES.txt");
    assert!(licences.contains("\nring 0.17."), "what is linked is missing");
    assert!(!licences.contains("\nproptest "), "what is not linked is named");
}
