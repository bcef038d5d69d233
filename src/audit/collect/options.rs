//! What an audit may be told: how stores are reached, how far back to look, how hard to try.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::audit::expected::{Access, Expected};
use crate::config::Bucket;

/// What an audit may be told. It has no `Debug`: the external ID is a secret.
#[derive(Clone)]
pub struct CollectOptions {
    /// Named profile, for everything.
    pub profile: Option<String>,
    /// Role to assume, for everything.
    pub role_arn: Option<String>,
    /// External ID for assuming roles. It is never read from a repository.
    pub external_id: Option<String>,
    /// Region, for everything.
    pub region: Option<String>,
    /// Endpoint of both services, for everything.
    pub endpoint_url: Option<String>,
    /// Endpoints that a backend or a bucket's entry may name, too: credentials go along with every request.
    pub trusted_endpoints: Vec<String>,
    /// How single buckets (and the tables of the backends in them) are reached, where that differs from what their
    /// backends say; an empty text takes away what a backend sets. The options above win over it.
    pub buckets: BTreeMap<String, Bucket>,
    /// How far back lock intervals and state writes are looked for.
    pub window: Duration,
    /// How long to wait for a second look at what could be a lock just being taken or released; none for no second
    /// look.
    pub settle: Option<Duration>,
    /// States may be read where only their body tells their MD5.
    pub read_states: bool,
    /// Identity policies of the accounts that buckets are reached in are read, too.
    pub iam: bool,
    /// CloudWatch is asked for each table's writes in so many days; none for not at all.
    pub table_writes: Option<u32>,
    /// Requests at one time, over all stores.
    pub concurrency: usize,
    /// Listers of one bucket and segments of one table scan, at most.
    pub shards: usize,
    /// How many past locks of each state are read, newest first.
    pub lock_history: usize,
    /// How long one attempt of one request may take.
    pub timeout: Duration,
    /// Attempts for each request, the first one included.
    pub max_attempts: u32,
    /// The pause before the first retry; it doubles, with jitter.
    pub backoff: Duration,
}

impl Default for CollectOptions {
    fn default() -> Self {
        const DAY: u64 = 24 * 60 * 60;
        Self {
            profile: None,
            role_arn: None,
            external_id: None,
            region: None,
            endpoint_url: None,
            trusted_endpoints: Vec::new(),
            buckets: BTreeMap::new(),
            window: Duration::from_secs(14 * DAY),
            settle: Some(Duration::from_secs(10)),
            read_states: false,
            iam: false,
            table_writes: None,
            concurrency: 16,
            shards: 8,
            lock_history: 3,
            timeout: Duration::from_secs(30),
            max_attempts: 5,
            backoff: Duration::from_secs(1),
        }
    }
}

impl CollectOptions {
    /// How a store is really reached: these options, else the bucket's own entry, else what the backend says.
    pub fn access(&self, bucket: Option<&str>, backend: &Access) -> Access {
        let nothing = Bucket::default();
        let entry = bucket.and_then(|bucket| self.buckets.get(bucket)).unwrap_or(&nothing);
        let choose = |option: &Option<String>, entry: &Option<String>, backend: &Option<String>| {
            let chosen = option.as_ref().or(entry.as_ref()).or(backend.as_ref());
            chosen.filter(|text| !text.is_empty()).cloned()
        };
        Access {
            region: choose(&self.region, &entry.region, &backend.region),
            profile: choose(&self.profile, &entry.profile, &backend.profile),
            role_arn: choose(&self.role_arn, &entry.role_arn, &backend.role_arn),
            // The external ID belongs to the backend's own role.
            wants_external_id: backend.wants_external_id
                && self.role_arn.is_none()
                && entry.role_arn.is_none(),
            s3_endpoint: choose(&self.endpoint_url, &entry.endpoint, &backend.s3_endpoint),
            dynamodb_endpoint: choose(
                &self.endpoint_url,
                &entry.dynamodb_endpoint,
                &backend.dynamodb_endpoint,
            ),
            path_style: entry.path_style.unwrap_or(backend.path_style),
        }
    }

    /// Says in `expected` how its stores are really reached, so that who judges names the same stores as who reads.
    /// Doing it twice changes nothing.
    pub fn apply(&self, expected: &mut Expected) {
        for state in &mut expected.states {
            state.access = self.access(Some(&state.bucket), &state.access);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn options_win_over_the_bucket_s_entry_and_that_over_the_backend() {
        let backend = Access {
            region: text("eu-west-1"),
            profile: text("backend"),
            role_arn: text("arn:backend"),
            wants_external_id: true,
            path_style: true,
            ..Access::default()
        };
        let entry = Bucket { profile: text("entry"), path_style: Some(false), ..Bucket::default() };
        let mut options =
            CollectOptions { buckets: [("b".to_owned(), entry)].into(), ..CollectOptions::default() };
        let access = options.access(Some("b"), &backend);
        assert_eq!(access.profile, text("entry"));
        assert_eq!((access.path_style, access.wants_external_id), (false, true));
        assert_eq!(options.access(Some("other"), &backend), backend);
        options.profile = text("flag");
        options.role_arn = text("");
        options.endpoint_url = text("http://127.0.0.1:1");
        let access = options.access(Some("b"), &backend);
        assert_eq!((access.profile.clone(), access.role_arn.clone()), (text("flag"), None));
        assert_eq!(access.s3_endpoint, access.dynamodb_endpoint);
        assert!(!access.wants_external_id, "another role, or none, has another external ID");
        assert_eq!(options.access(Some("b"), &access), access, "twice is once");
    }
}
