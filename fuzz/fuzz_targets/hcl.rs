//! Every reader of HCL: modules, overrides, backend-config, Terragrunt, Terramate and templates of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockshift_fuzz::read_as_one_of;

const NAMES: &[&str] = &[
    "main.tf",
    "x_override.tf",
    "dev.tfbackend",
    "live/dev/terragrunt.hcl",
    "stack.tm.hcl",
    "backend.tf.tftpl",
    "backend.tf.j2",
    "dev.tfvars",
];

fuzz_target!(|data: &[u8]| read_as_one_of(NAMES, data));
