//! How stores are reached: the flags that every command with a way to AWS shares.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};

use super::failure::Failure;
use crate::audit::collect::{CollectOptions, profiles};
use crate::config::Config;
use crate::repo::secret::without_credentials;

/// Named by each flag: a heading for what follows would not end with them.
const HEADING: &str = "How stores are reached";

/// Flags that say how stores are reached. They win over `lockshift.toml`, and that over what the backends say.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Reach {
    /// Profile of the shared AWS configuration, for everything.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    profile: Option<String>,
    /// Role to assume, for everything. An external ID is taken from LOCKSHIFT_EXTERNAL_ID, never from a repository.
    #[arg(long, value_name = "ARN", help_heading = HEADING)]
    role_arn: Option<String>,
    /// Region, for everything.
    #[arg(long, value_name = "REGION", help_heading = HEADING)]
    region: Option<String>,
    /// Endpoint of all services, for a store that is not AWS.
    #[arg(long, value_name = "URL", value_parser = Endpoint, help_heading = HEADING)]
    endpoint_url: Option<String>,
    /// Endpoint that backends or `lockshift.toml` may name, for a store that is not AWS; can be given several times.
    /// One that only the repository names is not asked: credentials go along with every request.
    #[arg(long, value_name = "URL", value_parser = Endpoint, help_heading = HEADING)]
    trust_endpoint: Vec<String>,
}

/// Reads an endpoint. It is kept in snapshots and shown, so it may hold no credentials; clap's own error would show
/// them, too.
#[derive(Debug, Clone)]
struct Endpoint;

impl TypedValueParser for Endpoint {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let flag = arg.and_then(Arg::get_long).unwrap_or("endpoint-url");
        let refused =
            |message: String| clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command);
        let url = value.to_str().ok_or_else(|| refused(format!("--{flag} is no text\n")))?;
        if without_credentials(url.to_owned()) == url {
            Ok(url.to_owned())
        } else {
            Err(refused(format!("--{flag} holds credentials; name a --profile or a --role-arn instead\n")))
        }
    }
}

impl Reach {
    /// Whether the profile that the flag names exists: a name that was mistyped is a usage error, and found out before
    /// anything is asked.
    pub fn check(&self) -> Result<(), Failure> {
        match self.profile.as_deref().and_then(profiles::missing) {
            Some(why) => Err(Failure::new(why).help("`aws configure list-profiles` lists them")),
            None => Ok(()),
        }
    }

    /// `--region`.
    pub fn region(&self) -> Option<String> {
        self.region.clone()
    }

    /// Flags, configuration and environment together; everything else as by default.
    pub fn options(&self, config: &Config) -> CollectOptions {
        CollectOptions {
            profile: self.profile.clone(),
            role_arn: self.role_arn.clone(),
            external_id: std::env::var("LOCKSHIFT_EXTERNAL_ID").ok().filter(|id| !id.is_empty()),
            region: self.region.clone(),
            endpoint_url: self.endpoint_url.clone(),
            trusted_endpoints: self.trust_endpoint.clone(),
            buckets: config.buckets.clone(),
            ..CollectOptions::default()
        }
    }
}
