//! How stores are reached: the flags that every command with a way to AWS shares.

use std::collections::BTreeMap;

use crate::audit::collect::{BucketAccess, CollectOptions};
use crate::config::Config;

/// Flags that say how stores are reached. They win over `lockshift.toml`, and that over what the backends say.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "How stores are reached")]
pub(super) struct Reach {
    /// Named profile of the shared AWS configuration.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Role to assume. An external ID is taken from LOCKSHIFT_EXTERNAL_ID.
    #[arg(long, value_name = "ARN")]
    role_arn: Option<String>,
    /// Region of buckets and tables.
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Endpoint of S3 and DynamoDB, for a store that is not AWS.
    #[arg(long, value_name = "URL")]
    endpoint_url: Option<String>,
}

impl Reach {
    /// Flags, configuration and environment together; everything else as by default.
    pub fn options(&self, config: &Config) -> CollectOptions {
        let buckets: BTreeMap<String, BucketAccess> = config
            .buckets
            .iter()
            .map(|(name, bucket)| {
                let access = BucketAccess {
                    profile: bucket.profile.clone(),
                    role_arn: bucket.role_arn.clone(),
                    region: bucket.region.clone(),
                    endpoint: bucket.endpoint.clone(),
                    ..BucketAccess::default()
                };
                (name.clone(), access)
            })
            .collect();
        CollectOptions {
            profile: self.profile.clone(),
            role_arn: self.role_arn.clone(),
            external_id: std::env::var("LOCKSHIFT_EXTERNAL_ID").ok().filter(|id| !id.is_empty()),
            region: self.region.clone(),
            endpoint_url: self.endpoint_url.clone(),
            buckets,
            ..CollectOptions::default()
        }
    }
}
