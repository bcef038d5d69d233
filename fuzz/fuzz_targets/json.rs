//! Every reader of JSON: modules, backend-config, Terragrunt, policies and whatever else is called `.json`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift_fuzz::read_as_one_of;

const NAMES: &[&str] = &[
    "main.tf.json",
    "x_override.tf.json",
    "backend.json",
    "live/dev/terragrunt.hcl.json",
    "dev.tfvars.json",
];

fuzz_target!(|data: &[u8]| read_as_one_of(NAMES, data));
