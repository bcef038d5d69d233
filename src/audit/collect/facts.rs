//! The settings of a bucket that can break or release a lock. Each is read, absent, or not readable; one that is
//! refused hides no other.

use aws_sdk_s3::Client;
use aws_sdk_s3::types::{
    BucketVersioningStatus, DeleteMarkerReplicationStatus, ExpirationStatus, LifecycleRule as S3Rule,
    MfaDeleteStatus, ReplicationRule as S3Replication, ReplicationRuleStatus, Tag,
};

use super::clients::Clients;
use super::failure::Failure;
use crate::audit::snapshot::{
    BucketSnapshot, Encryption, LifecycleRule, PublicAccessBlock, Read, ReplicationRule, Unread,
};

/// `GetBucketVersioning`: status (absent where it was never on) and MFA Delete.
///
/// # Errors
/// What the server said.
pub(super) async fn versioning(
    clients: &Clients<'_>,
    client: &Client,
    bucket: &str,
) -> Result<(Read<String>, bool), Failure> {
    let _permit = clients.permit().await;
    match client.get_bucket_versioning().bucket(bucket).send().await {
        Ok(answer) => Ok((
            answer.status().map_or(Read::Absent, |status: &BucketVersioningStatus| {
                Read::Known(status.as_str().to_owned())
            }),
            answer.mfa_delete() == Some(&MfaDeleteStatus::Enabled),
        )),
        Err(error) => {
            let failure = Failure::of(&error);
            if failure.absent(&[]) { Ok((Read::Absent, false)) } else { Err(failure) }
        }
    }
}

/// Notes what could not be read of one bucket.
struct Notes {
    resource: String,
    unread: Vec<Unread>,
}

impl Notes {
    /// An answer as something read. `absent` are the codes that say that there is none.
    fn read<T>(&mut self, operation: &str, absent: &[&str], answer: Result<Option<T>, Failure>) -> Read<T> {
        match answer {
            Ok(Some(value)) => Read::Known(value),
            Ok(None) => Read::Absent,
            Err(failure) if failure.absent(absent) => Read::Absent,
            Err(failure) => {
                self.unread.push(failure.unread(&self.resource, operation, false));
                Read::Failed(failure.reason)
            }
        }
    }
}

/// Reads everything but versioning into the snapshot; returns what could not be read.
pub(super) async fn read(clients: &Clients<'_>, client: &Client, into: &mut BucketSnapshot) -> Vec<Unread> {
    let bucket = into.name.clone();
    let (object_lock, lifecycle, policy, block, ownership, encryption, replication) = tokio::join!(
        object_lock(clients, client, &bucket),
        lifecycle(clients, client, &bucket),
        policy(clients, client, &bucket),
        public_access_block(clients, client, &bucket),
        ownership(clients, client, &bucket),
        encryption(clients, client, &bucket),
        replication(clients, client, &bucket),
    );
    let mut notes = Notes { resource: format!("s3://{bucket}"), unread: Vec::new() };
    into.object_lock = notes.read(
        "GetObjectLockConfiguration",
        &["ObjectLockConfigurationNotFoundError", "ObjectLockConfigurationNotFound"],
        object_lock,
    );
    into.lifecycle =
        notes.read("GetBucketLifecycleConfiguration", &["NoSuchLifecycleConfiguration"], lifecycle);
    into.policy = notes.read("GetBucketPolicy", &["NoSuchBucketPolicy"], policy);
    into.public_access_block =
        notes.read("GetPublicAccessBlock", &["NoSuchPublicAccessBlockConfiguration"], block);
    into.ownership = notes.read("GetBucketOwnershipControls", &["OwnershipControlsNotFoundError"], ownership);
    into.encryption =
        notes.read("GetBucketEncryption", &["ServerSideEncryptionConfigurationNotFoundError"], encryption);
    into.replication =
        notes.read("GetBucketReplication", &["ReplicationConfigurationNotFoundError"], replication);
    notes.unread
}

type Answer<T> = Result<Option<T>, Failure>;

async fn object_lock(clients: &Clients<'_>, client: &Client, bucket: &str) -> Answer<Option<String>> {
    let _permit = clients.permit().await;
    let answer = client.get_object_lock_configuration().bucket(bucket).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    Ok(answer.object_lock_configuration().map(|configuration| {
        let retention = configuration.rule()?.default_retention()?;
        let mode = retention.mode().map_or("", |mode| mode.as_str());
        let span = match (retention.days(), retention.years()) {
            (Some(days), _) => format!("{days} days"),
            (None, Some(years)) => format!("{years} years"),
            (None, None) => return None,
        };
        Some(format!("{mode} {span}").trim().to_owned())
    }))
}

async fn lifecycle(clients: &Clients<'_>, client: &Client, bucket: &str) -> Answer<Vec<LifecycleRule>> {
    let _permit = clients.permit().await;
    let answer = client.get_bucket_lifecycle_configuration().bucket(bucket).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    Ok(Some(answer.rules().iter().map(rule).collect()))
}

fn rule(rule: &S3Rule) -> LifecycleRule {
    let filter = rule.filter();
    let and = filter.and_then(|filter| filter.and());
    let tag = |tag: &Tag| (tag.key().to_owned(), tag.value().to_owned());
    let size = |size: Option<i64>| size.and_then(|size| u64::try_from(size).ok());
    let days = |days: Option<i32>| days.and_then(|days| u32::try_from(days).ok());
    let prefix = and.and_then(|and| and.prefix()).or_else(|| filter.and_then(|filter| filter.prefix()));
    #[allow(deprecated, reason = "rules made with the old API still answer with it")]
    let prefix = prefix.or_else(|| rule.prefix());
    let expiration = rule.expiration();
    let noncurrent = rule.noncurrent_version_expiration();
    let one_tag = filter.and_then(|filter| filter.tag()).map(tag);
    LifecycleRule {
        id: rule.id().unwrap_or_default().to_owned(),
        enabled: *rule.status() == ExpirationStatus::Enabled,
        prefix: prefix.unwrap_or_default().to_owned(),
        tags: one_tag.into_iter().chain(and.into_iter().flat_map(|and| and.tags()).map(tag)).collect(),
        larger_than: size(
            and.and_then(|and| and.object_size_greater_than())
                .or_else(|| filter.and_then(|filter| filter.object_size_greater_than())),
        ),
        smaller_than: size(
            and.and_then(|and| and.object_size_less_than())
                .or_else(|| filter.and_then(|filter| filter.object_size_less_than())),
        ),
        expire_days: days(expiration.and_then(|expiration| expiration.days())),
        expire_date: expiration.and_then(|expiration| expiration.date()).map(ToString::to_string),
        noncurrent_days: days(noncurrent.and_then(|noncurrent| noncurrent.noncurrent_days())),
        noncurrent_kept: days(noncurrent.and_then(|noncurrent| noncurrent.newer_noncurrent_versions())),
        expired_delete_markers: expiration
            .and_then(|expiration| expiration.expired_object_delete_marker())
            .unwrap_or_default(),
        transitions: rule
            .transitions()
            .iter()
            .map(|transition| {
                let class = transition.storage_class().map_or("", |class| class.as_str());
                (days(transition.days()), class.to_owned())
            })
            .collect(),
    }
}

async fn policy(clients: &Clients<'_>, client: &Client, bucket: &str) -> Answer<String> {
    let _permit = clients.permit().await;
    let answer = client.get_bucket_policy().bucket(bucket).send().await;
    Ok(answer.map_err(|error| Failure::of(&error))?.policy().map(str::to_owned))
}

async fn public_access_block(
    clients: &Clients<'_>,
    client: &Client,
    bucket: &str,
) -> Answer<PublicAccessBlock> {
    let _permit = clients.permit().await;
    let answer = client.get_public_access_block().bucket(bucket).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    Ok(answer.public_access_block_configuration().map(|block| PublicAccessBlock {
        block_public_acls: block.block_public_acls().unwrap_or_default(),
        ignore_public_acls: block.ignore_public_acls().unwrap_or_default(),
        block_public_policy: block.block_public_policy().unwrap_or_default(),
        restrict_public_buckets: block.restrict_public_buckets().unwrap_or_default(),
    }))
}

async fn ownership(clients: &Clients<'_>, client: &Client, bucket: &str) -> Answer<String> {
    let _permit = clients.permit().await;
    let answer = client.get_bucket_ownership_controls().bucket(bucket).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    let rule = answer.ownership_controls().and_then(|controls| controls.rules().first());
    Ok(rule.map(|rule| rule.object_ownership().as_str().to_owned()))
}

async fn encryption(clients: &Clients<'_>, client: &Client, bucket: &str) -> Answer<Encryption> {
    let _permit = clients.permit().await;
    let answer = client.get_bucket_encryption().bucket(bucket).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    let rules = answer.server_side_encryption_configuration();
    let default = rules.and_then(|rules| {
        rules.rules().iter().find_map(|rule| rule.apply_server_side_encryption_by_default())
    });
    Ok(default.map(|default| Encryption {
        algorithm: default.sse_algorithm().as_str().to_owned(),
        kms_key: default.kms_master_key_id().map(str::to_owned),
    }))
}

async fn replication(clients: &Clients<'_>, client: &Client, bucket: &str) -> Answer<Vec<ReplicationRule>> {
    let _permit = clients.permit().await;
    let answer = client.get_bucket_replication().bucket(bucket).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    let rules = answer.replication_configuration();
    Ok(rules.map(|rules| rules.rules().iter().map(replication_rule).collect()))
}

fn replication_rule(rule: &S3Replication) -> ReplicationRule {
    let filter = rule.filter();
    let and = filter.and_then(|filter| filter.and()).and_then(|and| and.prefix());
    let prefix = and.or_else(|| filter.and_then(|filter| filter.prefix()));
    #[allow(deprecated, reason = "rules made with the old API still answer with it")]
    let prefix = prefix.or_else(|| rule.prefix());
    let markers = rule.delete_marker_replication().and_then(|markers| markers.status());
    ReplicationRule {
        id: rule.id().unwrap_or_default().to_owned(),
        enabled: *rule.status() == ReplicationRuleStatus::Enabled,
        prefix: prefix.unwrap_or_default().to_owned(),
        destination: rule.destination().map(|to| to.bucket().to_owned()).unwrap_or_default(),
        delete_markers: markers == Some(&DeleteMarkerReplicationStatus::Enabled),
    }
}
