//! Files as people write them, and what is read from them.

use super::*;
use Tool::{OpenTofu, Terraform, Terragrunt};

/// Tool, text, line, column, origin, scope.
type Row = (Tool, String, usize, usize, &'static str, String);

fn rows(file: &str, content: &str) -> Vec<Row> {
    let pins = read_pins(file, Text::new(content.as_bytes()));
    assert!(pins.iter().all(|pin| pin.place.file == file));
    pins.into_iter()
        .map(|pin| (pin.tool, pin.text, pin.place.line, pin.place.column, pin.origin, pin.scope))
        .collect()
}

fn row(tool: Tool, text: &str, line: usize, column: usize, origin: &'static str, scope: &str) -> Row {
    (tool, text.to_owned(), line, column, origin, scope.to_owned())
}

#[test]
fn version_files_hold_one_version() {
    let is = |file: &str, content: &str, expected: Row| assert_eq!(rows(file, content), [expected], "{file}");
    is(".terraform-version", "1.9.8\n", row(Terraform, "1.9.8", 1, 1, ".terraform-version", "."));
    is(
        "live/a/.terraform-version",
        "\u{feff}# why\r\n  latest:^1.5 \r\n",
        row(Terraform, "latest:^1.5", 2, 3, ".terraform-version", "live/a"),
    );
    is("x/.opentofu-version", "1.10.6", row(OpenTofu, "1.10.6", 1, 1, ".opentofu-version", "x"));
    is(".terragrunt-version", "0.82.4", row(Terragrunt, "0.82.4", 1, 1, ".terragrunt-version", "."));
    is("a/.tfswitchrc", "1.5.7\n", row(Terraform, "1.5.7", 1, 1, ".tfswitchrc", "a"));
    assert_eq!(rows(".terraform-version", "# 1.9.8\n\n"), []);
}

#[test]
fn asdf_and_mise_name_several_tools() {
    assert_eq!(
        rows(
            "a/.tool-versions",
            "nodejs 20\nterraform  1.9.8 1.9.7 # why\n#opentofu 1.9\nopentofu 1.10.0\nterragrunt 0.80\n"
        ),
        [
            row(Terraform, "1.9.8", 2, 12, ".tool-versions", "a"),
            row(OpenTofu, "1.10.0", 4, 10, ".tool-versions", "a"),
            row(Terragrunt, "0.80", 5, 12, ".tool-versions", "a"),
        ]
    );
    let mise = "[env]\nterraform = \"0.1\"\n[tools]\nterraform = \"1.9.8\"\n# opentofu = \"1.6\"\n\"aqua:opentofu/opentofu\" = { version = '1.10' }\nterragrunt = [\"0.82.4\", \"0.60\"]\n";
    assert_eq!(
        rows(".config/mise.toml", mise),
        [
            row(Terraform, "1.9.8", 4, 14, "mise", "."),
            row(OpenTofu, "1.10", 6, 41, "mise", "."),
            row(Terragrunt, "0.82.4", 7, 16, "mise", "."),
        ]
    );
    assert_eq!(
        rows("a/b/mise.toml", "[tools]\nterraform = 1.9\n"),
        [row(Terraform, "1.9", 2, 13, "mise", "a/b")]
    );
    assert_eq!(
        rows("a/.mise/config.toml", "tools.terraform = \"1\"\n"),
        [row(Terraform, "1", 1, 20, "mise", "a")]
    );
    // Broken further down: what stands above is still read.
    assert_eq!(
        rows(".mise.toml", "[tools]\nterraform = \"1.9.8\"\nx = = 3\n"),
        [row(Terraform, "1.9.8", 2, 14, "mise", ".")]
    );
    assert_eq!(
        rows(".tfswitch.toml", "product = \"opentofu\"\nversion = \"1.8.0\"\n"),
        [row(OpenTofu, "1.8.0", 2, 12, ".tfswitch.toml", ".")]
    );
}

const WORKFLOW: &str = r#"name: plan
env:
  TF_VERSION: "1.9.8" # keep in step
  # TERRAGRUNT_VERSION: 0.50.0
jobs:
  plan:
    strategy:
      matrix:
        tf: [1.9.8, "1.11.4"]
    container:
      image: registry.example.com/hashicorp/terraform:1.10.2@sha256:abc
    steps:
      - uses: hashicorp/setup-terraform@v3
        with:
          terraform_version: ${{ env.TF_VERSION }}
      - uses: hashicorp/setup-terraform@v3
        with:
          terraform_version: ${{ matrix.tf }}
      - name: tofu
        uses: opentofu/setup-opentofu@v1
        with:
          tofu_version: 1.10
      - uses: gruntwork-io/terragrunt-action@v2
        with:
          tg_version: '0.82.4'
      - run: |
          terraform_version: 0.1
          # docker run hashicorp/terraform:0.2
          docker run --rm hashicorp/terraform:1.5 init
"#;

#[test]
fn workflows_pin_by_inputs_env_and_images() {
    assert_eq!(
        rows("mono/.github/workflows/plan.yml", WORKFLOW),
        [
            row(Terraform, "1.9.8", 3, 16, "ci-env", "mono"),
            // The matrix' two values, where they stand.
            row(Terraform, "1.9.8", 9, 14, "setup-terraform", "mono"),
            row(Terraform, "1.11.4", 9, 22, "setup-terraform", "mono"),
            row(Terraform, "1.10.2", 11, 55, "docker", "mono"),
            // GitHub reads the bare 1.10 as a number.
            row(OpenTofu, "1.1", 22, 25, "setup-opentofu", "mono"),
            row(Terragrunt, "0.82.4", 25, 24, "terragrunt-action", "mono"),
            row(Terraform, "1.5", 29, 47, "docker", "mono"),
        ]
    );
}

#[test]
fn references_are_followed_inside_the_file() {
    let other_name = "env:\n  CLI: 1.5.7\nsteps:\n  - uses: hashicorp/setup-terraform@v3\n    with:\n      terraform_version: ${{ env.CLI }}\n";
    assert_eq!(
        rows(".github/workflows/a.yml", other_name),
        [row(Terraform, "1.5.7", 2, 8, "setup-terraform", ".")]
    );
    let lists = "matrix:\n  terraform_version:\n    - 1.5.7\n    - '1.11.4'\n  tofu_version: [ 1.9.0, 1.10.0 ]\nx:\n  terraform_version: ${{ matrix.terraform_version }}\n";
    assert_eq!(
        rows(".github/workflows/a.yml", lists),
        [
            row(Terraform, "1.5.7", 3, 7, "ci-input", "."),
            row(Terraform, "1.11.4", 4, 8, "ci-input", "."),
            row(OpenTofu, "1.9.0", 5, 19, "ci-input", "."),
            row(OpenTofu, "1.10.0", 5, 26, "ci-input", "."),
        ]
    );
    let input = "inputs:\n  terraform-version:\n    description: which one\n    default: 1.8.0\n  other:\n    default: 3\n";
    assert_eq!(
        rows(".github/actions/tf/action.yml", input),
        [row(Terraform, "1.8.0", 4, 14, "ci-input", ".")]
    );
    let pair = "matrix:\n  tf: [1.5.7]\nother:\n  tf: [1.6.0]\nx:\n  terraform_version: ${{ matrix.tf }}\n";
    let kept = row(Terraform, "${{ matrix.tf }}", 6, 22, "ci-input", ".");
    assert_eq!(rows(".github/workflows/a.yml", pair), [kept]);
    let elsewhere = "env:\n  TF_VERSION: 1.11.4\nx:\n  terraform_version: ${{ vars.TERRAFORM_VERSION }}\n";
    assert_eq!(rows(".github/workflows/a.yml", elsewhere).len(), 2);
    let unknown = "x:\n  terraform_version: ${{ inputs.version }}\n";
    assert_eq!(
        rows(".github/workflows/a.yml", unknown),
        [row(Terraform, "${{ inputs.version }}", 2, 22, "ci-input", ".")]
    );
}

#[test]
fn maps_in_flow_style_are_read() {
    let file = ".github/workflows/a.yml";
    let of = |text: &str| rows(file, text);
    let steps = "jobs:\n  x:\n    steps:\n";
    assert_eq!(
        of(&format!(
            "env: {{ TF: 1.9.5, X: 'y' }}\n{steps}      - uses: hashicorp/setup-terraform@v3\n        with: {{ terraform_version: \"${{{{ env.TF }}}}\" }}\n"
        )),
        [row(Terraform, "1.9.5", 1, 12, "setup-terraform", ".")]
    );
    assert_eq!(
        of(&format!(
            "{steps}      - {{ uses: hashicorp/setup-terraform@v3, with: {{ a: , terraform_version: '1.10' }} }}\n"
        )),
        [row(Terraform, "1.10", 4, 80, "setup-terraform", ".")]
    );
    assert_eq!(
        of(
            "x: {\"terraform_version\": ${{ env.A }}, tofu_version: [1.9.0, \"1.10.0\"]} # { tofu_version: 2 }\n"
        ),
        [
            row(Terraform, "${{ env.A }}", 1, 26, "ci-input", "."),
            row(OpenTofu, "1.9.0", 1, 55, "ci-input", "."),
            row(OpenTofu, "1.10.0", 1, 63, "ci-input", "."),
        ]
    );
    assert_eq!(
        of("x: { image: hashicorp/terraform:1.9.8 }\n"),
        [row(Terraform, "1.9.8", 1, 33, "docker", ".")]
    );
    // The action of another step is not this one's.
    assert_eq!(
        of("steps:\n  - { uses: hashicorp/setup-terraform@v3 }\n  - { run: x, terraform_version: 1.9.8 }\n"),
        [row(Terraform, "1.9.8", 3, 34, "ci-input", ".")]
    );
    for none in [
        "x: {{ terraform_version: 1 }}\n",
        "x: \"{ terraform_version: 1 }\"\n",
        "x: { # terraform_version: 1\n",
        "- {",
    ] {
        assert_eq!(of(none), [], "{none}");
    }
}

#[test]
fn other_ci_systems_and_dockerfiles() {
    assert_eq!(
        rows(
            ".gitlab-ci.yml",
            "variables:\n  TERRAFORM_VERSION: 1.10\nimage:\n  name: \"ghcr.io/opentofu/opentofu:1.10.0-minimal\"\n"
        ),
        [row(Terraform, "1.10", 2, 22, "ci-env", "."), row(OpenTofu, "1.10.0-minimal", 4, 36, "docker", ".")]
    );
    let docker = "# FROM hashicorp/terraform:0.11\nARG TERRAFORM_VERSION=1.9.8\nARG CLI=1.8\nFROM hashicorp/terraform:${TERRAFORM_VERSION} AS a\nFROM hashicorp/terraform:${CLI}\nFROM alpine/terragrunt:1.7.5\nENV X=1 TERRAGRUNT_VERSION=\"0.70.0\"\nENV TOFU_VERSION 1.9.1\nFROM my-hashicorp/terraform:3\n";
    assert_eq!(
        rows("ci/Dockerfile", docker),
        [
            row(Terraform, "1.9.8", 2, 23, "docker", "."),
            row(Terraform, "1.8", 3, 9, "docker", "."),
            row(Terraform, "1.7.5", 6, 24, "docker", "."),
            row(Terragrunt, "0.70.0", 7, 29, "docker", "."),
            row(OpenTofu, "1.9.1", 8, 18, "docker", "."),
        ]
    );
    assert_eq!(
        rows(
            "a/Makefile",
            "TF_VERSION ?= 1.9.8\n# TF_VERSION = 0.1\nplan:\n\tdocker run hashicorp/terraform:$(TF_VERSION) plan\n"
        ),
        [row(Terraform, "1.9.8", 1, 15, "environment", "a")]
    );
    assert_eq!(
        rows(".envrc", "export TERRAFORM_VERSION='1.5.7'\n"),
        [row(Terraform, "1.5.7", 1, 27, "environment", ".")]
    );
}

#[test]
fn atlantis_projects_have_their_own_directory() {
    let yaml = "version: 3\nprojects:\n  - name: a\n    dir: live/a\n    terraform_version: v1.9.8\n    autoplan:\n      when_modified: [\"*.tf\"]\n  - terraform_version: 1.10.0\n    terraform_distribution: opentofu\n    dir: ./live/b/\n  # - dir: c\n  #   terraform_version: 0.1\n- dir: d\n  workspace: x\nworkflows:\n  w:\n    plan:\n      steps: []\n";
    assert_eq!(
        rows("atlantis.yaml", yaml),
        [
            row(Terraform, "v1.9.8", 5, 24, "atlantis", "live/a"),
            row(OpenTofu, "1.10.0", 8, 24, "atlantis", "live/b")
        ]
    );
    let nested =
        "projects:\n- dir: .\n  terraform_version: v1.5.0\n- dir: ../x\n  terraform_version: v1.6.0\n";
    assert_eq!(
        rows("team/atlantis.yaml", nested),
        [
            row(Terraform, "v1.5.0", 3, 22, "atlantis", "team"),
            row(Terraform, "v1.6.0", 5, 22, "atlantis", "x")
        ]
    );
}

#[test]
fn the_file_filter_goes_by_name() {
    assert!(is_version_file("a/.tool-versions") && is_version_file("mise.toml"));
    assert!(!is_version_file(".gitlab-ci.yml") && !is_version_file(".envrc") && !is_version_file("main.tf"));
    for path in [
        ".terraform-version",
        "a/.tool-versions",
        ".config/mise/config.toml",
        ".github/workflows/x.yml",
        "x/Dockerfile.ci",
        "ci/tf.Dockerfile",
        ".gitlab-ci.yml",
        "atlantis.yaml",
        "docker-compose.dev.yaml",
        ".circleci/config.yml",
        "Makefile",
    ] {
        assert!(may_hold_pins(path), "{path}");
    }
    for path in [
        "main.tf",
        "values.yaml",
        "config.toml",
        "a/.github",
        ".github/CODEOWNERS",
        "terraform-version",
        "x.github/a.yml",
    ] {
        assert!(!may_hold_pins(path), "{path}");
        assert_eq!(rows(path, "terraform_version: 1.9.8\n"), []);
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        for file in [".terraform-version", ".tool-versions", "mise.toml", ".tfswitch.toml", "atlantis.yaml", ".gitlab-ci.yml", "Dockerfile", ".env"] {
            let _ = read_pins(file, Text::new(&bytes));
        }
    }

    /// Pieces that lead deep into each reader; every place lies inside the file.
    #[test]
    fn any_mix_of_pieces_is_read(pieces in proptest::collection::vec(proptest::sample::select(vec![
        "terraform_version", ":", " ", "\n", "- ", "  ", "[", "]", ",", "\"", "'", "#", "|", "${{ env.X }}", "$", "{", "}", "1.9.8",
        "hashicorp/terraform:", "ARG ", "ENV ", "=", "TF_VERSION", "é", "\r\n", "[tools]", "terraform", "dir", "projects:", "default",
    ]), 0..40)) {
        let text = pieces.concat();
        let count = text.split('\n').count();
        for file in [".tool-versions", "mise.toml", "atlantis.yaml", ".github/w.yml", "Dockerfile", "Makefile"] {
            for pin in read_pins(file, Text::new(text.as_bytes())) {
                proptest::prop_assert!(pin.place.line <= count);
                proptest::prop_assert!(!pin.text.is_empty());
            }
        }
    }
}
