//! Clients of S3 and DynamoDB, with the credentials that Terraform would take for a backend. Configurations are made
//! once for each way in, so that a role is assumed once however many buckets it opens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{RequestChecksumCalculation, ResponseChecksumValidation};
use aws_smithy_http_client::Builder as HttpBuilder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::meter::Meter;
use super::options::CollectOptions;
use super::profiles;
use super::trust::{distrust, no_region};
use crate::audit::expected::Access;

/// S3 is asked here when nothing names a region; the store then says the right one.
const FIRST_REGION: &str = "us-east-1";

/// The name under which assumed roles show up in the account's own log.
const SESSION: &str = "lockshift-audit";

/// A way in: profile, role, region.
type Way = (Option<String>, Option<String>, Option<String>);

/// Makes clients.
pub(crate) struct Clients<'a> {
    options: &'a CollectOptions,
    http: SharedHttpClient,
    meter: Meter,
    /// One permit for each request in flight.
    gate: Arc<Semaphore>,
    made: Mutex<BTreeMap<Way, SdkConfig>>,
}

impl<'a> Clients<'a> {
    /// Ready to make clients; nothing is asked yet.
    pub fn new(options: &'a CollectOptions, meter: Meter) -> Self {
        let http = HttpBuilder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
        let gate = Arc::new(Semaphore::new(options.concurrency.max(1)));
        Self { options, http, meter, gate, made: Mutex::default() }
    }

    /// The counters that every client feeds.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The gate, for tasks that live on their own.
    pub fn gate(&self) -> Arc<Semaphore> {
        Arc::clone(&self.gate)
    }

    /// Waits until one more request may be on its way.
    pub async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.gate.acquire().await.ok()
    }

    /// A client of S3 and the region that it asks. `region` wins over what the access says.
    ///
    /// # Errors
    /// Why there can be none.
    pub async fn s3(
        &self,
        access: &Access,
        region: Option<&str>,
    ) -> Result<(aws_sdk_s3::Client, String), String> {
        self.trusts(access.s3_endpoint.as_deref())?;
        let config = self.config(access).await?;
        let region = region.map(str::to_owned).or_else(|| config.region().map(ToString::to_string));
        let region = sound(region.unwrap_or_else(|| FIRST_REGION.to_owned()))?;
        // The SDK takes an endpoint from the environment by itself; only the style must follow it.
        let environment =
            || ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"].iter().find_map(|name| std::env::var(name).ok());
        let endpoint = access.s3_endpoint.clone();
        let asked = endpoint.clone().or_else(environment);
        let path_style = access.path_style || asked.as_deref().is_some_and(is_local);
        let mut s3 = aws_sdk_s3::config::Builder::from(&config)
            .region(Region::new(region.clone()))
            .force_path_style(path_style)
            // Other stores than S3 often know no checksum but MD5.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .interceptor(self.meter.clone());
        if let Some(endpoint) = endpoint {
            s3 = s3.endpoint_url(endpoint);
        }
        Ok((aws_sdk_s3::Client::from_conf(s3.build()), region))
    }

    /// A client of DynamoDB and the region that it asks. `region` wins over what the access says.
    ///
    /// # Errors
    /// Why there can be none.
    pub async fn dynamodb(
        &self,
        access: &Access,
        region: Option<&str>,
    ) -> Result<(aws_sdk_dynamodb::Client, String), String> {
        self.trusts(access.dynamodb_endpoint.as_deref())?;
        let config = self.config(access).await?;
        let region = region.map(str::to_owned).or_else(|| config.region().map(ToString::to_string));
        let region = region.ok_or("no region is known for it: neither the backend, nor an option, nor AWS_REGION, nor the profile names one")?;
        let region = sound(region)?;
        let mut dynamodb = aws_sdk_dynamodb::config::Builder::from(&config)
            .region(Region::new(region.clone()))
            .interceptor(self.meter.clone());
        if let Some(endpoint) = &access.dynamodb_endpoint {
            dynamodb = dynamodb.endpoint_url(endpoint);
        }
        Ok((aws_sdk_dynamodb::Client::from_conf(dynamodb.build()), region))
    }

    /// Nothing is sent to an endpoint that only a repository names.
    fn trusts(&self, endpoint: Option<&str>) -> Result<(), String> {
        let named = self.options.trusted_endpoints.iter().chain(&self.options.endpoint_url);
        match endpoint.and_then(|endpoint| distrust(endpoint, named.map(String::as_str))) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }

    /// Credentials and region for a way in, without an endpoint of its own.
    ///
    /// # Errors
    /// Why there can be none.
    pub async fn config(&self, access: &Access) -> Result<SdkConfig, String> {
        // Services are asked at hosts that are named after it.
        access.region.clone().map(sound).transpose()?;
        let way = (access.profile.clone(), access.role_arn.clone(), access.region.clone());
        let mut made = self.made.lock().await;
        if let Some(config) = made.get(&way) {
            return Ok(config.clone());
        }
        let named = access.profile.as_deref();
        if let Some(why) = named.map_or_else(profiles::missing_from_environment, profiles::missing) {
            return Err(why);
        }
        let external_id = self.options.external_id.as_deref();
        if access.role_arn.is_some() && access.wants_external_id && external_id.is_none() {
            return Err("the role wants an external ID, which is never read from a repository: set \
                        LOCKSHIFT_EXTERNAL_ID"
                .to_owned());
        }
        let config = self.load(access, external_id).await;
        made.insert(way, config.clone());
        Ok(config)
    }

    async fn load(&self, access: &Access, external_id: Option<&str>) -> SdkConfig {
        let mut profile_region = ProfileFileRegionProvider::builder();
        if let Some(profile) = &access.profile {
            profile_region = profile_region.profile_name(profile);
        }
        // Not the SDK's own chain: it ends with asking the instance's metadata, which nobody answers on a laptop.
        let region = RegionProviderChain::first_try(access.region.clone().map(Region::new))
            .or_else(EnvironmentVariableRegionProvider::new())
            .or_else(profile_region.build());
        let retries = RetryConfig::standard()
            .with_max_attempts(self.options.max_attempts.max(1))
            .with_initial_backoff(self.options.backoff);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(self.options.timeout.min(Duration::from_secs(10)))
            .operation_attempt_timeout(self.options.timeout)
            .build();
        let region = region.region().await;
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .http_client(self.http.clone())
            .retry_config(retries.clone())
            .timeout_config(timeouts.clone())
            .region(region.clone());
        // A profile that is named wins over keys in the environment, and one that can't be used is an error: the SDK's
        // own chain would silently take the keys. Source: `resolveCredentialChain` of the AWS SDK for Go, which
        // Terraform uses.
        if let Some(profile) = &access.profile {
            let own = ProviderConfig::without_region()
                .with_region(region)
                .with_http_client(self.http.clone())
                .with_retry_config(retries)
                .with_timeout_config(timeouts);
            let credentials = ProfileFileCredentialsProvider::builder().configure(&own).profile_name(profile);
            loader = loader.profile_name(profile).credentials_provider(credentials.build());
        }
        let config = loader.load().await;
        let Some(role) = &access.role_arn else { return config };
        let mut asked = config.clone().into_builder();
        // A store that is not AWS has its own STS.
        if let Some(endpoint) = &self.options.endpoint_url {
            asked = asked.endpoint_url(endpoint);
        }
        let mut provider = AssumeRoleProvider::builder(role).session_name(SESSION).configure(&asked.build());
        // STS needs a region even where S3 could do without.
        if config.region().is_none() {
            provider = provider.region(Region::new(FIRST_REGION));
        }
        if let Some(id) = external_id {
            provider = provider.external_id(id);
        }
        let provider = aws_sdk_s3::config::SharedCredentialsProvider::new(provider.build().await);
        config.into_builder().credentials_provider(provider).build()
    }
}

/// A region, when it can be one.
fn sound(region: String) -> Result<String, String> {
    match no_region(&region) {
        Some(why) => Err(why),
        None => Ok(region),
    }
}

/// An address or a name of this machine: there are no bucket names in front of it.
fn is_local(endpoint: &str) -> bool {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(host, _)| host),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_take_no_bucket_in_front() {
        for local in ["http://127.0.0.1:5000", "https://[::1]:9000/", "http://localhost", "http://10.0.0.7/x"]
        {
            assert!(is_local(local), "{local}");
        }
        for other in ["https://s3.example.org", "https://minio.internal:9000", "https://1.2.3.4.example.org"]
        {
            assert!(!is_local(other), "{other}");
        }
    }
}
