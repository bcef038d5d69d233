//! The file as it is written: what serde takes, and what the JSON Schema describes. Values are read and refused in
//! [`super::Config::parse`], which can point at them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::limits::{self, DATE, LENGTH_OF_TIME};
use super::{Bucket, Roles};

/// What a repository decides for itself; stands in `lockshift.toml` at its root.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "lockshift.toml", rename = "Config")]
pub(super) struct Raw {
    /// Paths that the walk leaves out: globs, relative to this file's directory.
    #[schemars(with = "Vec<String>")]
    pub exclude: Vec<Spanned<String>>,
    /// Rules that are switched off or given another severity, by rule id.
    #[schemars(with = "BTreeMap<String, RawRule>", transform = limits::name_rules)]
    pub rules: BTreeMap<Spanned<String>, RawRule>,
    /// Findings that are accepted. They are still shown, and never fail a run.
    pub ignore: Vec<RawIgnore>,
    /// How to reach a bucket, by the bucket's name.
    #[schemars(with = "BTreeMap<String, Bucket>")]
    pub buckets: BTreeMap<Spanned<String>, Bucket>,
    /// From what age on a lock counts as stale: a number and one of s, m, h, d.
    #[schemars(with = "Option<String>", regex(pattern = LENGTH_OF_TIME))]
    pub stale_after: Option<Spanned<String>>,
    /// Which IAM roles do what.
    pub roles: Roles,
}

/// What is done with one rule, and why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RuleSetting")]
pub(super) struct RawRule {
    /// The severity of its findings from now on, or `off`.
    #[schemars(with = "String", transform = limits::name_severities)]
    pub severity: Spanned<String>,
    /// Why. Who reads this next year has to know.
    #[schemars(with = "String", required, regex(pattern = r"\S"))]
    pub reason: Option<Spanned<String>>,
}

/// An accepted finding. It names a path, a subject or both.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ignore", transform = limits::want_path_or_subject)]
pub(super) struct RawIgnore {
    /// The rule's id.
    #[schemars(with = "String", transform = limits::name_rule)]
    pub rule: Spanned<String>,
    /// A glob over files and root modules, relative to this file's directory.
    #[schemars(with = "Option<String>")]
    pub path: Option<Spanned<String>>,
    /// A glob over what an audit's findings are about: `s3://BUCKET/STATE-PATH`, `s3://BUCKET`,
    /// `dynamodb://REGION/TABLE`.
    #[schemars(with = "Option<String>")]
    pub subject: Option<Spanned<String>>,
    /// Why. Who reads this next year has to know.
    #[schemars(with = "String", required, regex(pattern = r"\S"))]
    pub reason: Option<Spanned<String>>,
    /// The last day on which it holds: YYYY-MM-DD.
    #[schemars(with = "Option<String>", regex(pattern = DATE))]
    pub expires: Option<Spanned<toml::Value>>,
}
