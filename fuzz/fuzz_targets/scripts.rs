//! Everything that runs Terraform or writes a backend: scripts, pipelines, programs, pins.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift_fuzz::read_as_one_of;

const NAMES: &[&str] = &[
    "init.sh",
    ".github/workflows/ci.yaml",
    "stacks/atmos.yaml",
    "Makefile",
    "deploy.py",
    "main.ts",
    "main.go",
    "Jenkinsfile",
    "Dockerfile",
    ".tool-versions",
    "mise.toml",
    "README.md",
];

fuzz_target!(|data: &[u8]| read_as_one_of(NAMES, data));
