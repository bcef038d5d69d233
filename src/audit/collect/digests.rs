//! Which MD5 a state has, without reading it: from its ETag where that is certain. Only what `--read-states` allows
//! reads a body.

use std::collections::BTreeSet;

use aws_sdk_s3::Client;
use aws_sdk_s3::types::ServerSideEncryption;

use super::bodies::md5_of;
use super::bucket::{BucketRead, gone};
use super::failure::Failure;
use super::table::TableRead;
use crate::audit::snapshot::{DIGEST_SUFFIX, Md5, StateObject, TableItem, Unread};
use crate::moment::Moment;

/// Where a digest is the ETag, the ETag is the MD5: that is certain, and nobody need be asked. The others are
/// returned: bucket, path, table, `LockID`. Whether an ETag is an MD5 depends on how the single object is encrypted
/// (a backend may ask for a KMS key whatever the bucket's default is), so those are asked for.
pub(super) fn compare(
    buckets: &mut [BucketRead],
    tables: &[TableRead],
) -> Vec<(usize, String, usize, String)> {
    let mut differ = Vec::new();
    for (table, item, digest) in digests(tables) {
        for (at, bucket) in buckets.iter_mut().enumerate() {
            let Some(path) = state_path(&item.lock_id, &bucket.snapshot.name) else { continue };
            let Some(state) = state_mut(bucket, &path) else { continue };
            match &state.etag {
                Some(etag) if etag.eq_ignore_ascii_case(digest) && is_md5(etag) => {
                    state.md5 = Some(Md5::Etag(etag.to_ascii_lowercase()));
                }
                _ => differ.push((at, path, table, item.lock_id.clone())),
            }
        }
    }
    differ
}

fn digests(tables: &[TableRead]) -> impl Iterator<Item = (usize, &TableItem, &str)> {
    let items = tables.iter().enumerate();
    let items = items.flat_map(|(at, table)| table.snapshot.items.iter().map(move |item| (at, item)));
    items.filter_map(|(at, item)| Some((at, item, item.digest.as_deref()?)))
}

/// The path of the state in this bucket that a digest's `LockID` means.
fn state_path(lock_id: &str, bucket: &str) -> Option<String> {
    let path = lock_id.strip_prefix(bucket)?.strip_prefix('/')?.strip_suffix(DIGEST_SUFFIX)?;
    Some(path.to_owned())
}

fn state_mut<'b>(bucket: &'b mut BucketRead, path: &str) -> Option<&'b mut StateObject> {
    let states = &mut bucket.snapshot.states;
    let at = states.binary_search_by(|state| state.key.as_str().cmp(path)).ok()?;
    states.get_mut(at)
}

/// 32 hex digits: not the ETag of a multipart upload (`…-2`).
pub(crate) fn is_md5(etag: &str) -> bool {
    etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `HeadObject`: the state as it is now, and whether its ETag is the MD5 of its body, which it is in one part without
/// a KMS or customer's key.
/// Source: "Checking object integrity", Amazon S3 User Guide.
pub(super) async fn head(client: &Client, bucket: &str, key: &str) -> Result<(StateObject, bool), Failure> {
    let answer = client.head_object().bucket(bucket).key(key).send().await;
    let answer = answer.map_err(|error| Failure::of(&error))?;
    let etag = answer.e_tag().map(|etag| etag.trim_matches('"').to_owned());
    let plain = matches!(answer.server_side_encryption(), None | Some(ServerSideEncryption::Aes256))
        && answer.sse_customer_algorithm().is_none()
        && etag.as_deref().is_some_and(is_md5);
    let modified = answer.last_modified().and_then(|time| time.to_millis().ok());
    let state = StateObject {
        key: key.to_owned(),
        last_modified: modified.map(Moment::from_millis).unwrap_or_default(),
        size: answer.content_length().and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
        md5: None,
        etag,
    };
    Ok((state, plain))
}

/// The failure is the caller's to report, once for a bucket.
pub(super) fn settle(
    bucket: &mut BucketRead,
    path: &str,
    seen: Result<(StateObject, bool), Failure>,
) -> Result<(), Failure> {
    let Some(before) = state_mut(bucket, path) else { return Ok(()) };
    match seen {
        Ok((now, plain)) => {
            let md5 = now.etag.as_ref().filter(|_| plain).map(|etag| Md5::Etag(etag.to_ascii_lowercase()));
            // The listing's time is finer than the header's.
            if now.etag != before.etag {
                *before = now;
            }
            before.md5 = md5;
        }
        Err(failure) if gone(&failure) => {
            bucket.snapshot.states.retain(|state| state.key != path);
        }
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Bodies of states that have a digest and whose MD5 nothing else tells. One at a time: they may be large.
pub(super) async fn read_bodies(buckets: &mut [BucketRead], tables: &[TableRead]) -> Vec<Unread> {
    let mut unread = Vec::new();
    let lock_ids: BTreeSet<&str> = digests(tables).map(|(_, item, _)| item.lock_id.as_str()).collect();
    for bucket in buckets {
        let Some(client) = bucket.client.clone() else { continue };
        let name = bucket.snapshot.name.clone();
        for path in lock_ids.iter().filter_map(|lock_id| state_path(lock_id, &name)) {
            let Some(state) = state_mut(bucket, &path).filter(|state| state.md5.is_none()) else { continue };
            match md5_of(&client, &name, &path).await {
                Ok(hex) => state.md5 = Some(Md5::Body(hex)),
                Err(failure) => {
                    unread.push(failure.unread(&format!("s3://{name}/{path}"), "GetObject", false));
                }
            }
        }
    }
    unread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_etag_of_one_part_can_be_an_md5() {
        assert!(is_md5("0123456789abcdef0123456789ABCDEF"));
        for other in ["0123456789abcdef0123456789abcdef-2", "", "g123456789abcdef0123456789abcdef"] {
            assert!(!is_md5(other), "{other}");
        }
    }

    #[test]
    fn a_digest_names_its_state() {
        assert_eq!(state_path("b/env:/x/k-md5", "b").as_deref(), Some("env:/x/k"));
        for (lock_id, bucket) in [("b/k", "b"), ("bb/k-md5", "b"), ("other/k-md5", "b"), ("b-md5", "b")] {
            assert_eq!(state_path(lock_id, bucket), None, "{lock_id}");
        }
    }
}
