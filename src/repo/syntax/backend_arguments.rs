//! What the arguments of the S3 backend are called, and which settings look like its.

use crate::repo::setting::Setting;

/// Arguments that identify a file as backend-config by its shape: bucket, key or region must be among them.
/// Source: the S3 backend's schema in Terraform 1.11 and OpenTofu 1.11.
const BACKEND_ARGUMENTS: &[&str] = &[
    "access_key",
    "acl",
    "allowed_account_ids",
    "assume_role",
    "assume_role_duration_seconds",
    "assume_role_policy",
    "assume_role_policy_arns",
    "assume_role_tags",
    "assume_role_transitive_tag_keys",
    "assume_role_with_web_identity",
    "bucket",
    "custom_ca_bundle",
    "dynamodb_endpoint",
    "dynamodb_table",
    "ec2_metadata_service_endpoint",
    "ec2_metadata_service_endpoint_mode",
    "encrypt",
    "endpoint",
    "endpoints",
    "external_id",
    "forbidden_account_ids",
    "force_path_style",
    "http_proxy",
    "https_proxy",
    "iam_endpoint",
    "insecure",
    "key",
    "kms_key_id",
    "lock_table",
    "lock_tags",
    "max_retries",
    "no_proxy",
    "profile",
    "region",
    "retry_mode",
    "role_arn",
    "secret_key",
    "session_name",
    "shared_config_files",
    "shared_credentials_file",
    "shared_credentials_files",
    "skip_credentials_validation",
    "skip_metadata_api_check",
    "skip_region_validation",
    "skip_requesting_account_id",
    "skip_s3_checksum",
    "sse_customer_key",
    "state_tags",
    "sts_endpoint",
    "sts_region",
    "token",
    "use_dualstack_endpoint",
    "use_fips_endpoint",
    "use_legacy_workflow",
    "use_lockfile",
    "use_path_style",
    "workspace_key_prefix",
];

/// Whether a name is an argument of the S3 backend.
pub fn is_backend_argument(name: &str) -> bool {
    BACKEND_ARGUMENTS.contains(&name.split('.').next().unwrap_or(name))
}

/// Whether settings say where a state or its lock is.
pub fn identifies_a_state(settings: &[Setting]) -> bool {
    let identifying = ["bucket", "key", "dynamodb_table", "lock_table", "use_lockfile"];
    settings.iter().any(|setting| identifying.contains(&setting.name.as_str()))
}

/// Whether settings have the shape of a backend-config file for s3: only backend arguments, and one of bucket,
/// key, a table or the lockfile among them.
pub fn has_backend_shape(settings: &[Setting]) -> bool {
    identifies_a_state(settings) && settings.iter().all(|setting| is_backend_argument(&setting.name))
}
