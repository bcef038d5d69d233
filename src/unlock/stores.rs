//! The two stores of one state: reads them, deletes on condition, reads back. The only place of this room that talks
//! to AWS, and nothing here decides.

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use super::digest::Item;
use super::seen::{Held, Proof, Seen, Side, State, Store};
use crate::audit::collect::bodies::{capped, md5_of, too_large};
use crate::audit::collect::clients::Clients;
use crate::audit::collect::digests::is_md5;
use crate::audit::collect::failure::Failure;
use crate::audit::collect::meter::Meter;
use crate::audit::expected::{Access, TableRef};
use crate::audit::lock_info::{LockBody, MAX_BYTES};
use crate::audit::snapshot::{DIGEST_SUFFIX, LOCK_SUFFIX};
use crate::moment::Moment;

/// Where one state and its locks live, and the way there.
pub struct Stores {
    state: State,
    s3: aws_sdk_s3::Client,
    /// The table's name or ARN, and a client in its region.
    table: Option<(aws_sdk_dynamodb::Client, String)>,
    /// The store is not AWS's own: what it does with conditions has to be seen.
    foreign: bool,
    meter: Meter,
}

/// How a conditional write ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It is done.
    Done,
    /// The condition did not hold: something else is there now, or nothing.
    Changed(String),
    /// The store knows no such condition.
    Unsupported(String),
    /// It failed; whether it was done is not known until the stores are read again.
    Failed(String),
}

/// Whether a store checks `If-Match` on DELETE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conditions {
    /// It does.
    Checked,
    /// It deletes whatever the condition says: nothing may be removed there.
    Ignored,
    /// It refuses such a request.
    Refused(String),
    /// It could not be told.
    Unknown(String),
}

impl Stores {
    /// The way to one state. `table` is none where its runs lock in S3 alone.
    ///
    /// # Errors
    /// Why there is no way: no region, no external ID.
    pub(crate) async fn open(
        clients: &Clients<'_>,
        state: State,
        access: &Access,
        table: Option<&TableRef>,
    ) -> Result<Self, String> {
        let (s3, region) = clients.s3(access, None).await?;
        let table = match table {
            None => None,
            Some(table) => {
                let region = table.region.as_deref().unwrap_or(&region);
                let (client, region) = clients.dynamodb(access, Some(region)).await?;
                // Another account's table is named by its whole ARN; a name is looked for in the caller's account.
                let name = match &table.account {
                    Some(account) => format!("arn:aws:dynamodb:{region}:{account}:table/{}", table.name),
                    None => table.name.clone(),
                };
                Some((client, name))
            }
        };
        Ok(Self { state, s3, table, foreign: access.s3_endpoint.is_some(), meter: clients.meter().clone() })
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Both stores' locks now, by the servers' clock (by this machine's, where no server told the time).
    pub async fn read(&self) -> Seen {
        let (s3, dynamodb) = tokio::join!(self.read_s3(), self.read_item());
        let at = self.meter.now().unwrap_or_else(|| Moment::of(std::time::SystemTime::now()));
        Seen { state: self.state.clone(), s3, dynamodb, at }
    }

    fn lock_key(&self) -> String {
        format!("{}{LOCK_SUFFIX}", self.state.state_path)
    }

    /// How the lock object is called in reports.
    pub fn lock_object(&self) -> String {
        format!("s3://{}/{}", self.state.bucket, self.lock_key())
    }

    /// How the lock item (or another of the table) is called in reports.
    pub fn item(&self, lock_id: &str) -> String {
        let table = self.table.as_ref().map(|(_, table)| table.as_str()).unwrap_or_default();
        format!("dynamodb://{table}/{lock_id}")
    }

    async fn read_s3(&self) -> Side {
        let got = self.s3.get_object().bucket(&self.state.bucket).key(self.lock_key()).send().await;
        match got {
            Ok(object) => {
                let stored_at =
                    object.last_modified().and_then(|at| at.to_millis().ok()).map(Moment::from_millis);
                let proof = object.e_tag().map_or(Proof::Nothing, |etag| Proof::Etag(etag.to_owned()));
                Side::Held(Box::new(Held { body: body(object).await, proof, stored_at }))
            }
            Err(error) => {
                if error.as_service_error().and_then(|error| error.code()) == Some("NoSuchKey") {
                    return Side::Free;
                }
                let failure = Failure::of(&error);
                match failure.status {
                    // A lock that is there and can't be read (SSE-C, a KMS key): the listing still knows its ETag.
                    Some(400 | 403) => self.listed(failure.said("GetObject")).await,
                    _ => Side::Unread(failure.said("GetObject")),
                }
            }
        }
    }

    async fn listed(&self, why: String) -> Side {
        let key = self.lock_key();
        let list = self.s3.list_objects_v2().bucket(&self.state.bucket).prefix(&key).max_keys(1).send().await;
        // A listing that is refused, too, says nothing: what the read said counts.
        let Ok(list) = list else { return Side::Unread(why) };
        let Some(object) = list.contents().iter().find(|object| object.key() == Some(&key)) else {
            return Side::Free;
        };
        Side::Held(Box::new(Held {
            body: LockBody::Unread { why },
            proof: object.e_tag().map_or(Proof::Nothing, |etag| Proof::Etag(etag.to_owned())),
            stored_at: object.last_modified().and_then(|at| at.to_millis().ok()).map(Moment::from_millis),
        }))
    }

    async fn read_item(&self) -> Side {
        let Some((client, table)) = &self.table else { return Side::NotAsked };
        let key = AttributeValue::S(self.state.lock_id());
        let got = client.get_item().table_name(table).key("LockID", key).consistent_read(true).send().await;
        let item = match got {
            Ok(got) => got.item,
            Err(error) => return Side::Unread(Failure::of(&error).said("GetItem")),
        };
        let Some(item) = item else { return Side::Free };
        let (body, proof) = match item.get("Info") {
            None => (LockBody::Empty, Proof::NoInfo),
            Some(AttributeValue::S(text)) => (LockBody::read(text.as_bytes()), Proof::InfoIs(text.clone())),
            Some(_) => {
                let why = "`Info` is no text".to_owned();
                (LockBody::Foreign { why, text: None }, Proof::Nothing)
            }
        };
        Side::Held(Box::new(Held { body, proof, stored_at: None }))
    }

    /// Deletes the lock in one store while it is what was read.
    pub async fn remove(&self, store: Store, proof: &Proof) -> Written {
        match (store, proof) {
            (Store::S3, Proof::Etag(etag)) => self.delete_object(&self.lock_key(), etag).await,
            (Store::DynamoDb, Proof::InfoIs(text)) => {
                let condition = "#info = :info";
                self.delete_item(&self.state.lock_id(), condition, "#info", "Info", Some(text)).await
            }
            (Store::DynamoDb, Proof::NoInfo) => {
                let condition = "attribute_exists(LockID) AND attribute_not_exists(#info)";
                self.delete_item(&self.state.lock_id(), condition, "#info", "Info", None).await
            }
            _ => Written::Failed("there is nothing to hang a condition on".to_owned()),
        }
    }

    async fn delete_object(&self, key: &str, etag: &str) -> Written {
        let sent = self.s3.delete_object().bucket(&self.state.bucket).key(key).if_match(etag).send().await;
        match sent {
            Ok(_) => Written::Done,
            Err(error) => {
                let failure = Failure::of(&error);
                match failure.status {
                    // 409: another request was faster.
                    Some(404 | 409 | 412) => Written::Changed(failure.reason),
                    Some(501) => Written::Unsupported(failure.reason),
                    _ if failure.is("NotImplemented") => Written::Unsupported(failure.reason),
                    _ => Written::Failed(failure.said("DeleteObject")),
                }
            }
        }
    }

    async fn delete_item(
        &self,
        lock_id: &str,
        condition: &str,
        alias: &str,
        attribute: &str,
        value: Option<&str>,
    ) -> Written {
        let Some((client, table)) = &self.table else { return Written::Failed("no table".to_owned()) };
        let mut delete = client
            .delete_item()
            .table_name(table)
            .key("LockID", AttributeValue::S(lock_id.to_owned()))
            .condition_expression(condition)
            .expression_attribute_names(alias, attribute);
        if let Some(value) = value {
            let placeholder = format!(":{}", alias.trim_start_matches('#'));
            delete = delete.expression_attribute_values(placeholder, AttributeValue::S(value.to_owned()));
        }
        match delete.send().await {
            Ok(_) => Written::Done,
            Err(error) => not_written(&Failure::of(&error), "DeleteItem"),
        }
    }

    /// Whether the S3 store checks `If-Match` on DELETE, found out without touching anything: a conditional DELETE of
    /// a key that does not exist. Who checks says 404 or 412; who ignores the condition says 204. AWS's own endpoints
    /// are not asked: they check.
    /// Source: S3's documentation of conditional deletes; moto, SeaweedFS and rclone behave so when run.
    pub async fn conditions(&self, nonce: u64) -> Conditions {
        if !self.foreign {
            return Conditions::Checked;
        }
        let key = format!("{}.lockshift-{nonce:016x}{LOCK_SUFFIX}", self.state.state_path);
        match self.delete_object(&key, "\"00000000000000000000000000000000\"").await {
            Written::Done => Conditions::Ignored,
            Written::Changed(_) => Conditions::Checked,
            Written::Unsupported(why) => Conditions::Refused(why),
            Written::Failed(why) => Conditions::Unknown(why),
        }
    }

    /// The digest item now.
    pub async fn read_digest(&self) -> Item {
        let Some((client, table)) = &self.table else { return Item::Unread("no table is known".to_owned()) };
        let key = AttributeValue::S(self.digest_id());
        let got = client.get_item().table_name(table).key("LockID", key).consistent_read(true).send().await;
        match got {
            Err(error) => Item::Unread(Failure::of(&error).said("GetItem")),
            Ok(got) => match got.item {
                None => Item::Absent,
                Some(item) => match item.get("Digest") {
                    Some(AttributeValue::S(digest)) => Item::Says(digest.clone()),
                    _ => Item::WithoutDigest,
                },
            },
        }
    }

    /// `LockID` of the digest item.
    pub fn digest_id(&self) -> String {
        format!("{}{DIGEST_SUFFIX}", self.state.lock_id())
    }

    /// Writes the digest while the item is what was read.
    pub async fn write_digest(&self, digest: &str, while_it: &Item) -> Written {
        let Some((client, table)) = &self.table else { return Written::Failed("no table".to_owned()) };
        let put = client
            .put_item()
            .table_name(table)
            .item("LockID", AttributeValue::S(self.digest_id()))
            .item("Digest", AttributeValue::S(digest.to_owned()));
        let put = match while_it {
            Item::Absent => put.condition_expression("attribute_not_exists(LockID)"),
            Item::Says(old) => put
                .condition_expression("#digest = :digest")
                .expression_attribute_names("#digest", "Digest")
                .expression_attribute_values(":digest", AttributeValue::S(old.clone())),
            Item::WithoutDigest => put
                .condition_expression("attribute_exists(LockID) AND attribute_not_exists(#digest)")
                .expression_attribute_names("#digest", "Digest"),
            Item::Unread(why) => return Written::Failed(why.clone()),
        };
        match put.send().await {
            Ok(_) => Written::Done,
            Err(error) => not_written(&Failure::of(&error), "PutItem"),
        }
    }

    /// Removes the digest while the item is what was read.
    pub async fn remove_digest(&self, while_it: &Item) -> Written {
        let id = self.digest_id();
        match while_it {
            Item::Says(old) => {
                self.delete_item(&id, "#digest = :digest", "#digest", "Digest", Some(old)).await
            }
            Item::WithoutDigest => {
                let condition = "attribute_exists(LockID) AND attribute_not_exists(#digest)";
                self.delete_item(&id, condition, "#digest", "Digest", None).await
            }
            Item::Absent | Item::Unread(_) => Written::Failed("there is no such item".to_owned()),
        }
    }

    /// Whether the state itself is there.
    ///
    /// # Errors
    /// Why it could not be looked up.
    pub async fn state_exists(&self) -> Result<bool, String> {
        let head = self.s3.head_object().bucket(&self.state.bucket).key(&self.state.state_path).send().await;
        match head.map_err(|error| Failure::of(&error)) {
            Ok(_) => Ok(true),
            Err(failure) if failure.status == Some(404) => Ok(false),
            Err(failure) => Err(failure.said("HeadObject")),
        }
    }

    /// The MD5 of the state's body. Its ETag where that is the MD5 (one part, stored unencrypted or with SSE-S3);
    /// else its body, only when `read_body` allows it.
    pub async fn state_md5(&self, read_body: bool) -> super::digest::StateMd5 {
        use super::digest::StateMd5;
        let head = self.s3.head_object().bucket(&self.state.bucket).key(&self.state.state_path).send().await;
        let head = match head {
            Ok(head) => head,
            Err(error) => {
                let failure = Failure::of(&error);
                return match failure.status {
                    Some(404) => StateMd5::NoState,
                    _ => StateMd5::Unknown(failure.said("HeadObject")),
                };
            }
        };
        let etag = head.e_tag().unwrap_or_default().trim_matches('"').to_owned();
        let encryption = head.server_side_encryption().map(|kind| kind.as_str().to_owned());
        let sse_s3 = encryption.as_deref().is_none_or(|kind| kind == "AES256");
        if is_md5(&etag) && sse_s3 && head.sse_customer_algorithm().is_none() {
            return StateMd5::Is(etag.to_ascii_lowercase());
        }
        if !read_body {
            let why =
                format!("its ETag is no MD5 (encryption {})", encryption.as_deref().unwrap_or("unknown"));
            return StateMd5::Unknown(why);
        }
        match md5_of(&self.s3, &self.state.bucket, &self.state.state_path).await {
            Ok(md5) => StateMd5::Is(md5),
            Err(failure) => StateMd5::Unknown(failure.said("GetObject")),
        }
    }
}

/// How a conditional write ended that DynamoDB did not do.
fn not_written(failure: &Failure, operation: &str) -> Written {
    let said = failure.said(operation);
    if failure.is("ConditionalCheckFailedException") { Written::Changed(said) } else { Written::Failed(said) }
}

/// The lock document of an answer, never more of it than a lock document can be long.
async fn body(object: GetObjectOutput) -> LockBody {
    // What the store says of the whole: no more is read than shows that it is too much.
    let whole = object.content_length().and_then(|length| u64::try_from(length).ok());
    if let Some(size) = whole.filter(|size| *size > MAX_BYTES as u64) {
        return too_large(size);
    }
    match capped(object.body).await {
        Ok(bytes) => LockBody::read(&bytes),
        Err(failure) => LockBody::Unread { why: failure.reason },
    }
}
