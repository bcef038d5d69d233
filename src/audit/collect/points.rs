//! What lies around a bucket in its account: access points, which are other ways in with policies of their own, and the
//! account's own public access block.
//!
//! Access points are read with `--iam`, as everything is that says who may do what. The account's block is asked for
//! only where the bucket's own leaves something open, since the two together decide; without `--iam` a refusal is
//! told by the finding that it leaves open, and is nothing that the audit could not read.
//! Source: `ListAccessPoints`, `GetAccessPoint`, `GetAccessPointPolicy` and `GetPublicAccessBlock` of S3 Control in the
//! API reference of S3.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use super::account::{Callers, FIRST_REGION, wanted_effort};
use super::bucket::{BucketRead, Target};
use super::clients::Clients;
use super::failure::Failure;
use super::options::CollectOptions;
use super::query::Query;
use super::trust::no_region;
use crate::audit::endpoint::is_aws;
use crate::audit::expected::{Access, Expected};
use crate::audit::snapshot::{AccessPoint, PublicAccessBlock, Read, Unread};

/// Pages after which something is wrong: an account has at most 10,000 access points in a region.
const MOST_PAGES: usize = 100;

/// Access points of one bucket whose policies are read. A state bucket has none or a few.
const MOST_POINTS: usize = 100;

/// Reads what belongs to each bucket into its snapshot.
pub(super) async fn read(
    clients: &Clients<'_>,
    options: &CollectOptions,
    expected: &Expected,
    callers: &mut Callers,
    buckets: &mut [BucketRead],
) {
    let targets = Target::all(expected, options);
    let mut blocks = BTreeMap::new();
    for read in buckets.iter_mut() {
        // A store that is not AWS has no accounts, unless all of AWS is somewhere else.
        let elsewhere = read.snapshot.endpoint.as_deref().is_some_and(|endpoint| !is_aws(endpoint));
        if elsewhere && !(options.iam && options.endpoint_url.is_some()) {
            continue;
        }
        if !options.iam && !leaves_open(&read.snapshot.public_access_block) {
            continue;
        }
        let target = targets
            .iter()
            .find(|target| target.name == read.snapshot.name && target.leads_to(&read.snapshot.endpoint));
        let Some(way) = target.and_then(|target| target.ways.first()) else { continue };
        one(clients, options, way, callers, &mut blocks, read).await;
    }
}

/// Whether a block leaves something to the account's. What could not be read is no reason to ask for more.
fn leaves_open(block: &Read<PublicAccessBlock>) -> bool {
    match block {
        Read::Absent => true,
        Read::Known(block) => !block.is_full(),
        Read::NotAsked | Read::Failed(_) => false,
    }
}

async fn one(
    clients: &Clients<'_>,
    options: &CollectOptions,
    way: &Access,
    callers: &mut Callers,
    blocks: &mut BTreeMap<String, Result<Option<PublicAccessBlock>, Failure>>,
    read: &mut BucketRead,
) {
    // The bucket itself could not be reached this way, and says so.
    let Some(client) = read.client.clone() else { return };
    let Ok(config) = clients.config(way).await else { return };
    // Where this fails and identities were asked for, reading those says so.
    let Ok(account) = callers.of(clients, options, way, &config).await else { return };
    let _permit = clients.permit().await;
    let owned = client.head_bucket().bucket(&read.snapshot.name).expected_bucket_owner(&account).send().await;
    let owned = owned.is_ok();
    if owned {
        read.snapshot.account = Some(account.clone());
    }
    // A store's own word for its region becomes part of an address here.
    let told = read.snapshot.region.clone().filter(|region| no_region(region).is_none());
    let region = told.unwrap_or_else(|| FIRST_REGION.to_owned());
    let endpoint = options.endpoint_url.as_deref();
    let how = wanted_effort(options);
    let control = Query::s3_control(&config, &account, &region, endpoint, how, clients.meter());
    // Another account's block is for that account to read.
    if owned && leaves_open(&read.snapshot.public_access_block) {
        if !blocks.contains_key(&account) {
            let answer = account_block(&control, &account).await;
            if let (Err(failure), true) = (&answer, options.iam) {
                let resource = format!("arn:aws:iam::{account}:root");
                read.unread.push(failure.unread(&resource, "GetAccountPublicAccessBlock", false));
            }
            blocks.insert(account.clone(), answer);
        }
        read.snapshot.account_public_access_block = match blocks.get(&account) {
            Some(Ok(Some(block))) => Read::Known(*block),
            Some(Ok(None)) => Read::Absent,
            Some(Err(failure)) => Read::Failed(failure.reason.clone()),
            None => Read::NotAsked,
        };
    }
    if options.iam {
        let (points, unread) = points(&control, &account, &read.snapshot.name).await;
        read.snapshot.access_points = points;
        read.unread.extend(unread);
    }
}

async fn account_block(control: &Query<'_>, account: &str) -> Result<Option<PublicAccessBlock>, Failure> {
    let path = ["configuration", "publicAccessBlock"];
    match control.get("GetAccountPublicAccessBlock", account, &path, &[]).await {
        Ok(xml) => Ok(Some(parsed(&xml, |root| Ok(block(root)))?)),
        Err(failure) if failure.absent(&["NoSuchPublicAccessBlockConfiguration"]) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The access points of the account on one bucket, with their policies.
async fn points(control: &Query<'_>, account: &str, bucket: &str) -> (Read<Vec<AccessPoint>>, Vec<Unread>) {
    let resource = format!("s3://{bucket}");
    let mut found = match list(control, account, bucket).await {
        Ok(found) => found,
        Err(failure) if failure.absent(&[]) => return (Read::Absent, Vec::new()),
        Err(failure) => {
            let unread = failure.unread(&resource, "ListAccessPoints", false);
            return (Read::Failed(failure.reason), vec![unread]);
        }
    };
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let mut unread = Vec::new();
    for point in found.iter_mut().take(MOST_POINTS) {
        let mut failed = |failure: &Failure, operation: &str| {
            unread.push(failure.unread(&point.arn, operation, false));
            failure.reason.clone()
        };
        let path = ["accesspoint", point.name.as_str()];
        let answer = control.get("GetAccessPointPolicy", account, &[path[0], path[1], "policy"], &[]).await;
        point.policy = match answer.and_then(|xml| parsed(&xml, policy)) {
            Ok(policy) => Read::Known(policy),
            Err(failure) if failure.absent(&["NoSuchAccessPointPolicy"]) => Read::Absent,
            Err(failure) => Read::Failed(failed(&failure, "GetAccessPointPolicy")),
        };
        // Without a policy there is nothing that the block could take back.
        if point.policy.known().is_some() {
            let answer = control.get("GetAccessPoint", account, &path, &[]).await;
            point.public_access_block = match answer.and_then(|xml| parsed(&xml, |root| Ok(block(root)))) {
                Ok(block) => Read::Known(block),
                Err(failure) => Read::Failed(failed(&failure, "GetAccessPoint")),
            };
        }
    }
    if found.len() > MOST_POINTS {
        let reason =
            format!("policies of the first {MOST_POINTS} of {} access points were read", found.len());
        unread.push(Failure::own(reason).unread(&resource, "GetAccessPointPolicy", false));
    }
    (Read::Known(found), unread)
}

async fn list(control: &Query<'_>, account: &str, bucket: &str) -> Result<Vec<AccessPoint>, Failure> {
    let mut all = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut parameters = vec![("bucket", bucket), ("maxResults", "1000")];
        parameters.extend(token.as_deref().map(|token| ("nextToken", token)));
        let xml = control.get("ListAccessPoints", account, &["accesspoint"], &parameters).await?;
        let next = parsed(&xml, |root| {
            let points = root.descendants().filter(|node| node.tag_name().name() == "AccessPoint");
            for point in points {
                all.push(named(point)?);
            }
            Ok(text(root, "NextToken").filter(|token| !token.is_empty()))
        })?;
        match next {
            None => return Ok(all),
            Some(next) if token.as_ref() == Some(&next) => {
                return Err(Failure::own("a page names itself as the next one"));
            }
            next => token = next,
        }
    }
    Err(Failure::own("the pages never end"))
}

fn named(point: Node<'_, '_>) -> Result<AccessPoint, Failure> {
    let own = |name: &str| text(point, name).filter(|text| !text.is_empty());
    let missing = |name: &str| Failure::own(format!("an access point without a `{name}`"));
    Ok(AccessPoint {
        name: own("Name").ok_or_else(|| missing("Name"))?,
        arn: own("AccessPointArn").ok_or_else(|| missing("AccessPointArn"))?,
        vpc: own("VpcId"),
        policy: Read::NotAsked,
        public_access_block: Read::NotAsked,
    })
}

fn policy(root: Node<'_, '_>) -> Result<String, Failure> {
    text(root, "Policy").ok_or_else(|| Failure::own("the answer holds no `Policy`"))
}

fn block(root: Node<'_, '_>) -> PublicAccessBlock {
    let on = |name: &str| text(root, name).is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
    PublicAccessBlock {
        block_public_acls: on("BlockPublicAcls"),
        ignore_public_acls: on("IgnorePublicAcls"),
        block_public_policy: on("BlockPublicPolicy"),
        restrict_public_buckets: on("RestrictPublicBuckets"),
    }
}

fn parsed<T>(xml: &str, read: impl FnOnce(Node<'_, '_>) -> Result<T, Failure>) -> Result<T, Failure> {
    let document = Document::parse(xml).map_err(|error| Failure::own(format!("no XML: {error}")))?;
    read(document.root_element())
}

/// The text of the first element below with this name.
fn text(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node.descendants().find(|node| node.tag_name().name() == name)?;
    Some(found.text().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_full_or_unread_asks_for_no_other() {
        let full = PublicAccessBlock {
            block_public_acls: true,
            ignore_public_acls: true,
            block_public_policy: true,
            restrict_public_buckets: true,
        };
        assert!(!leaves_open(&Read::Known(full)));
        assert!(leaves_open(&Read::Known(PublicAccessBlock { ignore_public_acls: false, ..full })));
        assert!(leaves_open(&Read::Absent));
        assert!(!leaves_open(&Read::Failed("AccessDenied".into())));
    }

    #[test]
    fn an_access_point_says_its_vpc() {
        let xml = "<L><AccessPoint><Name>ap</Name><NetworkOrigin>VPC</NetworkOrigin><VpcConfiguration>\
                   <VpcId>vpc-1</VpcId></VpcConfiguration><AccessPointArn>arn:aws:s3:eu-west-1:1:accesspoint/ap\
                   </AccessPointArn></AccessPoint><AccessPoint><Name>x</Name></AccessPoint></L>";
        let points =
            parsed(xml, |root| Ok(root.children().map(named).collect::<Vec<Result<AccessPoint, Failure>>>()));
        let points = points.unwrap();
        let first = points[0].as_ref().unwrap();
        assert_eq!((first.name.as_str(), first.vpc.as_deref()), ("ap", Some("vpc-1")));
        assert_eq!(points[1].as_ref().unwrap_err().reason, "an access point without a `AccessPointArn`");
    }
}
