//! Reads lock documents, each capped at what a lock document can be; and, only where the user asked for it, the MD5
//! of a state.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_smithy_types::byte_stream::ByteStream;
use md5::{Digest, Md5};
use tokio::sync::Semaphore;

use super::all::pool;
use super::failure::Failure;
use crate::audit::lock_info::{LockBody, MAX_BYTES};
use crate::audit::snapshot::LockObject;
use crate::moment::Moment;

/// What one GET of a lock brought: the object as it was at that very moment.
pub(super) type Fetched = Result<LockObject, Failure>;

/// One lock to read: its key and, for a past one, its version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    /// The lock object's key.
    pub key: String,
    /// Its version; none for the current one.
    pub version: Option<String>,
}

/// Reads many locks, as many at a time as the gate lets through. The answers come in the order of `wanted`.
pub(super) async fn locks(
    client: &Client,
    gate: &Arc<Semaphore>,
    bucket: &str,
    wanted: Vec<Wanted>,
) -> Vec<(Wanted, Fetched)> {
    let jobs = wanted.into_iter().enumerate().map(|(at, wanted)| {
        let (client, gate, bucket) = (client.clone(), Arc::clone(gate), bucket.to_owned());
        async move {
            let _permit = gate.acquire().await.ok();
            let fetched = lock(&client, &bucket, &wanted).await;
            (at, wanted, fetched)
        }
    });
    let mut answers = pool(jobs).await;
    answers.sort_by_key(|(at, ..)| *at);
    answers.into_iter().map(|(_, wanted, fetched)| (wanted, fetched)).collect()
}

/// Reads one lock.
///
/// # Errors
/// What the server said. `NoSuchKey` where the lock is gone.
pub(super) async fn lock(client: &Client, bucket: &str, wanted: &Wanted) -> Fetched {
    let request = client.get_object().bucket(bucket).key(&wanted.key).set_version_id(wanted.version.clone());
    // One byte more than a lock document can have shows that it has more.
    let bounded = request.clone().range(format!("bytes=0-{MAX_BYTES}")).send().await;
    let answer = match bounded.map_err(|error| Failure::of(&error)) {
        // No range lies in an empty object: it is asked for as a whole. Source: RFC 9110, 15.5.17.
        Err(failure) if failure.status == Some(416) => {
            request.send().await.map_err(|error| Failure::of(&error))?
        }
        answer => answer?,
    };
    // `bytes 0-65536/10737418240`
    let whole = answer.content_range().and_then(|range| range.rsplit_once('/')?.1.parse().ok());
    let length = answer.content_length().and_then(|length| u64::try_from(length).ok());
    let last_modified = answer.last_modified().and_then(|time| time.to_millis().ok());
    let (etag, version_id) = (answer.e_tag().map(str::to_owned), answer.version_id().map(str::to_owned));
    let bytes = capped(answer.body).await?;
    let size = whole.or(length).unwrap_or(bytes.len() as u64);
    let body = if size > MAX_BYTES as u64 { too_large(size) } else { LockBody::read(&bytes) };
    Ok(LockObject {
        key: wanted.key.clone(),
        last_modified: last_modified.map(Moment::from_millis).unwrap_or_default(),
        etag,
        version_id,
        size,
        body,
        settled: crate::audit::snapshot::Settled::NotAsked,
    })
}

/// What is too large to be a lock document, without having read it.
pub(crate) fn too_large(size: u64) -> LockBody {
    LockBody::Foreign { why: format!("{size} bytes: no lock document is so large"), text: None }
}

/// How long a lock document may be on its way. The SDK's own limits end with a body's first byte; a server that then
/// gives a byte now and then would hold everything up.
const WITHIN: Duration = Duration::from_secs(60);

/// The body, or as much of it as shows that it is too large: a server may ignore the range.
pub(crate) async fn capped(body: ByteStream) -> Result<Vec<u8>, Failure> {
    let late = |_| Failure::own(format!("the body was not there after {} seconds", WITHIN.as_secs()));
    tokio::time::timeout(WITHIN, first_bytes(body)).await.map_err(late)?
}

async fn first_bytes(mut body: ByteStream) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while bytes.len() <= MAX_BYTES {
        match body.next().await {
            Some(Ok(more)) => bytes.extend_from_slice(&more),
            Some(Err(error)) => return Err(Failure::own(format!("the body broke off: {error}"))),
            None => break,
        }
    }
    Ok(bytes)
}

/// The MD5 of an object's body, in hex. The body itself is never kept.
///
/// # Errors
/// What the server said.
pub(crate) async fn md5_of(client: &Client, bucket: &str, key: &str) -> Result<String, Failure> {
    let answer = client.get_object().bucket(bucket).key(key).send().await;
    let mut body = answer.map_err(|error| Failure::of(&error))?.body;
    let mut md5 = Md5::new();
    while let Some(more) = body.next().await {
        md5.update(more.map_err(|error| Failure::own(format!("the body broke off: {error}")))?);
    }
    Ok(md5.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
