//! What lies beside the stores, and is read only when it is asked for: identity policies of the accounts that the
//! buckets are reached in, and who still writes to a table.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_config::SdkConfig;
use roxmltree::Document;

use super::bucket::{BucketRead, Target};
use super::clients::Clients;
use super::cloudwatch;
use super::failure::Failure;
use super::iam;
use super::kms;
use super::options::CollectOptions;
use super::query::{CLOUDWATCH, Effort, IAM, KMS, Query, STS};
use super::table::{TableRead, resource};
use super::trust::no_region;
use crate::audit::expected::{Access, Expected};
use crate::audit::snapshot::{AccountSnapshot, Read, Unread};
use crate::moment::Moment;
use crate::policy::is_account;

/// STS and IAM are asked here when nothing names a region.
pub(super) const FIRST_REGION: &str = "us-east-1";

/// See [`wanted_effort`].
const SHORT: Duration = Duration::from_secs(5);

pub(super) fn effort(options: &CollectOptions) -> Effort {
    Effort { attempts: options.max_attempts, timeout: options.timeout, backoff: options.backoff }
}

/// How hard to try where accounts are asked: without `--iam` it only settles a detail, and a service that can't be
/// reached must not hold an audit up.
pub(super) fn wanted_effort(options: &CollectOptions) -> Effort {
    let usual = effort(options);
    if options.iam {
        return usual;
    }
    Effort { attempts: usual.attempts.min(2), timeout: usual.timeout.min(SHORT), ..usual }
}

/// Which account each way leads to, asked for once.
#[derive(Default)]
pub(super) struct Callers(BTreeMap<(Option<String>, Option<String>), Result<String, Failure>>);

impl Callers {
    /// The account of the credentials that this way in has.
    ///
    /// # Errors
    /// What STS said.
    pub async fn of(
        &mut self,
        clients: &Clients<'_>,
        options: &CollectOptions,
        way: &Access,
        config: &SdkConfig,
    ) -> Result<String, Failure> {
        let who = (way.profile.clone(), way.role_arn.clone());
        if let Some(known) = self.0.get(&who) {
            return known.clone();
        }
        let region = config.region().map_or(FIRST_REGION, |region| region.as_ref()).to_owned();
        let endpoint = options.endpoint_url.as_deref();
        let sts = Query::new(config, STS, &region, endpoint, wanted_effort(options), clients.meter());
        let account = sts.call("GetCallerIdentity", &[]).await.and_then(|xml| account_of(&xml));
        self.0.insert(who, account.clone());
        account
    }
}

/// Each account once, however many ways lead there.
pub(super) async fn accounts(
    clients: &Clients<'_>,
    options: &CollectOptions,
    expected: &Expected,
    callers: &mut Callers,
) -> (Vec<AccountSnapshot>, Vec<Unread>) {
    let mut accounts: BTreeMap<String, AccountSnapshot> = BTreeMap::new();
    let mut unread = Vec::new();
    for way in Target::all(expected, options).iter().flat_map(|target| &target.ways) {
        let config = match clients.config(way).await {
            Ok(config) => config,
            // The bucket itself could not be reached this way, and says so.
            Err(_) => continue,
        };
        let account = match callers.of(clients, options, way, &config).await {
            Ok(account) => account,
            Err(failure) => {
                unread.push(failure.unread("the caller's account", "GetCallerIdentity", false));
                continue;
            }
        };
        if accounts.get(&account).is_some_and(|known| known.complete) {
            continue;
        }
        let region = config.region().map_or(FIRST_REGION, |region| region.as_ref()).to_owned();
        let endpoint = options.endpoint_url.as_deref();
        let iam = Query::new(&config, IAM, &region, endpoint, effort(options), clients.meter());
        let (snapshot, failed) = iam::account(&iam, &account).await;
        unread.extend(failed);
        accounts.insert(account, snapshot);
    }
    // Another way into the same account may have shown all of it.
    unread.retain(|line| {
        let of = line.resource.split(':').nth(4).and_then(|account| accounts.get(account));
        !of.is_some_and(|account| account.complete)
    });
    (accounts.into_values().collect(), unread)
}

/// `<GetCallerIdentityResult>…<Account>111122223333</Account>`
fn account_of(xml: &str) -> Result<String, Failure> {
    let document = Document::parse(xml).map_err(|error| Failure::own(format!("no XML: {error}")))?;
    let account = document.descendants().find(|node| node.tag_name().name() == "Account");
    // It becomes part of an address.
    let account = account.and_then(|node| node.text()).filter(|text| is_account(text)).map(str::to_owned);
    account.ok_or_else(|| Failure::own("the answer names no account"))
}

/// The key of each bucket that has one of its own.
pub(super) async fn keys(
    clients: &Clients<'_>,
    options: &CollectOptions,
    expected: &Expected,
    buckets: &mut [BucketRead],
) {
    let targets = Target::all(expected, options);
    for read in buckets.iter_mut() {
        let encryption = read.snapshot.encryption.known();
        let Some(id) = encryption.and_then(|encryption| encryption.kms_key.clone()) else { continue };
        let target = targets.iter().find(|target| target.name == read.snapshot.name);
        let Some(way) = target.and_then(|target| target.ways.first()) else { continue };
        let Ok(config) = clients.config(way).await else { continue };
        // A key's ARN says its region; a bucket's key lives where the bucket does.
        let of_arn = id.strip_prefix("arn:").and_then(|rest| rest.split(':').nth(2)).map(str::to_owned);
        let of_arn = of_arn.filter(|region| no_region(region).is_none());
        let region =
            of_arn.or_else(|| read.snapshot.region.clone()).unwrap_or_else(|| FIRST_REGION.to_owned());
        let endpoint = options.endpoint_url.as_deref();
        let kms = Query::new(&config, KMS, &region, endpoint, effort(options), clients.meter());
        let (key, unread) = kms::key(&kms, &id).await;
        read.snapshot.key = Read::Known(key);
        read.unread.extend(unread);
    }
}

/// Asks CloudWatch who wrote to each table in the last days.
pub(super) async fn table_writes(
    clients: &Clients<'_>,
    options: &CollectOptions,
    tables: &mut [TableRead],
    now: Moment,
    days: u32,
) {
    for table in tables.iter_mut().filter(|table| table.client.is_some()) {
        let Ok(config) = clients.config(&table.way).await else { continue };
        let Some(region) = table.snapshot.region.clone() else { continue };
        let endpoint = table.snapshot.endpoint.clone();
        let query =
            Query::new(&config, CLOUDWATCH, &region, endpoint.as_deref(), effort(options), clients.meter());
        match cloudwatch::writes(&query, &table.snapshot.name, now, days).await {
            Ok(writes) => table.snapshot.writes_per_day = Read::Known(writes),
            Err(failure) => {
                let line = failure.unread(&resource(&table.snapshot), "GetMetricStatistics", false);
                table.snapshot.writes_per_day = Read::Failed(failure.reason);
                table.unread.push(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_s_account() {
        let xml = "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:sts::1:x</Arn>\
                   <Account>111122223333</Account></GetCallerIdentityResult></GetCallerIdentityResponse>";
        assert_eq!(account_of(xml).unwrap(), "111122223333");
        for none in ["<x/>", "<x><Account>evil.example.org/</Account></x>"] {
            assert_eq!(account_of(none).unwrap_err().reason, "the answer names no account");
        }
    }
}
