//! `audit --probe`: asks each store whether it honours the conditions that locks and their release depend on. This is
//! the only part of an audit that writes, and it writes one small object of its own, below a prefix of its own, which
//! it removes again, also after a failure or an interrupt.
//!
//! Only running it tells: stores that speak S3's language honour `If-None-Match: *`, refuse it, or ignore it without
//! a word, and what their makers say of it goes stale.

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;

use super::bucket::{Target, local_now};
use super::clients::Clients;
use super::failure::Failure;
use super::meter::Meter;
use super::options::CollectOptions;
use crate::audit::expected::Expected;
use crate::audit::snapshot::{LOCK_SUFFIX, ProbeResult, ProbeStep, ProbeVerdict, Unread};

/// Where probes write, unless another prefix is named.
pub const PREFIX: &str = "lockshift-probe/";

/// An ETag that no object of ours has.
const WRONG_ETAG: &str = "\"00000000000000000000000000000000\"";

/// What probing found, and what could not be probed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probed {
    /// One for each bucket that answered.
    pub probes: Vec<ProbeResult>,
    /// One for each bucket that did not, or where something of ours was left behind.
    pub unread: Vec<Unread>,
}

/// Probes every bucket that is expected or named; blocks until it is done. `nonce` tells one run's keys from
/// another's.
///
/// # Errors
/// Where threads could not be started.
pub fn probe(
    expected: &Expected,
    options: &CollectOptions,
    prefix: &str,
    nonce: u64,
) -> std::io::Result<Probed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let probed = runtime.block_on(async {
        let clients = Clients::new(options, Meter::default());
        let mut probed = Probed::default();
        let mut stop = false;
        for target in Target::all(expected, options) {
            if stop {
                let line = Failure::own("not probed: interrupted");
                probed.unread.push(line.unread(&format!("s3://{}", target.name), "PutObject", false));
                continue;
            }
            // The first way in is as good as any: the store is the same.
            let Some(access) = target.ways.first() else { continue };
            let mut region = access.region.clone();
            let endpoint = access.s3_endpoint.clone();
            // Once more where the server names another region.
            for last in [false, true] {
                let client = match clients.s3(access, region.as_deref()).await {
                    Ok((client, _)) => client,
                    Err(why) => {
                        probed.unread.push(Failure::own(why).unread(
                            &format!("s3://{}", target.name),
                            "PutObject",
                            false,
                        ));
                        break;
                    }
                };
                let key = format!("{prefix}{nonce:016x}{LOCK_SUFFIX}");
                let mut run = Run::new(client, target.name.clone(), key);
                let ended = run.guarded().await;
                probed.unread.append(&mut run.unread);
                stop |= run.interrupted;
                match ended {
                    Ok(verdict) => {
                        probed.probes.push(ProbeResult {
                            bucket: target.name.clone(),
                            endpoint: endpoint.clone(),
                            honoured: verdict == ProbeVerdict::Enforced,
                            verdict,
                            conditional_delete: run.conditional_delete,
                            steps: run.steps,
                            at: clients.meter().now().unwrap_or_else(local_now),
                        });
                        break;
                    }
                    Err(failure) if !last && failure.region.is_some() => region = failure.region,
                    Err(failure) => {
                        let resource = format!("s3://{}/{}", run.bucket, run.key);
                        probed.unread.push(failure.unread(&resource, &run.operation, false));
                        break;
                    }
                }
            }
        }
        probed
    });
    runtime.shutdown_background();
    Ok(probed)
}

/// Ends with Ctrl-C, or with the signal by which a CI server cancels a job.
async fn interrupted() {
    #[cfg(unix)]
    if let Ok(mut cancelled) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = cancelled.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// One bucket's probe.
struct Run {
    client: Client,
    bucket: String,
    key: String,
    steps: Vec<ProbeStep>,
    conditional_delete: Option<bool>,
    /// What was asked last, for the report of a failure.
    operation: String,
    /// Something of ours may be there.
    dirty: bool,
    /// Versions and delete markers that we made.
    versions: Vec<String>,
    unread: Vec<Unread>,
    interrupted: bool,
}

/// How a conditional request was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// Done.
    Done,
    /// The condition did not hold.
    Refused,
    /// The store knows no such condition.
    Unknown(Failure),
}

impl Run {
    fn new(client: Client, bucket: String, key: String) -> Self {
        Self {
            client,
            bucket,
            key,
            steps: Vec::new(),
            conditional_delete: None,
            operation: String::new(),
            dirty: false,
            versions: Vec::new(),
            unread: Vec::new(),
            interrupted: false,
        }
    }

    /// All steps, then cleaning up whatever happened.
    async fn guarded(&mut self) -> Result<ProbeVerdict, Failure> {
        let ended = {
            let steps = self.run();
            tokio::pin!(steps);
            tokio::select! {
                result = &mut steps => Some(result),
                () = interrupted() => None,
            }
        };
        self.interrupted = ended.is_none();
        self.clean_up().await;
        ended.unwrap_or_else(|| Err(Failure::own("interrupted")))
    }

    async fn run(&mut self) -> Result<ProbeVerdict, Failure> {
        self.look_for_bucket().await?;
        match self.put("create").await? {
            Answer::Done => {}
            Answer::Refused => {
                return Err(Failure::own("an object with the probe's own key is there already"));
            }
            Answer::Unknown(failure) => return self.rejected(failure).await,
        }
        let verdict = match self.put("create again").await? {
            Answer::Refused => ProbeVerdict::Enforced,
            Answer::Done => ProbeVerdict::Ignored,
            Answer::Unknown(failure) => return self.rejected(failure).await,
        };
        self.conditional_delete =
            Some(match self.delete(Some(WRONG_ETAG), "delete with a wrong ETag").await? {
                Answer::Refused => true,
                Answer::Done | Answer::Unknown(_) => false,
            });
        self.delete(None, "delete").await?;
        if verdict != ProbeVerdict::Enforced {
            return Ok(verdict);
        }
        // In a versioned bucket a delete marker is on top now: it must count as absent, or a lock could be taken once.
        let verdict = match self.put("create after the delete").await? {
            Answer::Done => ProbeVerdict::Enforced,
            Answer::Refused => ProbeVerdict::Rejected,
            Answer::Unknown(failure) => return self.rejected(failure).await,
        };
        Ok(verdict)
    }

    /// Whether the bucket is there, before anything is written: some stores make one for the first write to it.
    async fn look_for_bucket(&mut self) -> Result<(), Failure> {
        self.operation = "HeadBucket".to_owned();
        match self.client.head_bucket().bucket(&self.bucket).send().await {
            Ok(_) => {
                self.step("look for the bucket", "200");
                Ok(())
            }
            Err(error) => Err(Failure::of(&error)),
        }
    }

    /// Whether it was the condition that was refused: then the same write without it succeeds. Anything else says
    /// nothing of conditions.
    async fn rejected(&mut self, refused: Failure) -> Result<ProbeVerdict, Failure> {
        match self.write(false, "create without a condition").await {
            Ok(Answer::Done) => Ok(ProbeVerdict::Rejected),
            _ => Err(refused),
        }
    }

    fn step(&mut self, ask: &str, answer: &str) {
        self.steps.push(ProbeStep { ask: ask.to_owned(), answer: answer.to_owned() });
    }

    /// The write by which a lock is taken.
    async fn put(&mut self, ask: &str) -> Result<Answer, Failure> {
        self.write(true, ask).await
    }

    async fn write(&mut self, conditional: bool, ask: &str) -> Result<Answer, Failure> {
        self.operation = "PutObject".to_owned();
        let body = ByteStream::from_static(b"{\"ID\":\"lockshift-probe\"}");
        // From here on something may be there, whatever the answer says.
        self.dirty = true;
        let sent = self.client.put_object().bucket(&self.bucket).key(&self.key);
        let sent = sent.set_if_none_match(conditional.then(|| "*".to_owned()));
        match sent.content_type("application/json").body(body).send().await {
            Ok(done) => {
                self.versions.extend(done.version_id().map(str::to_owned));
                self.step(ask, "200");
                Ok(Answer::Done)
            }
            Err(error) => self.answered(ask, Failure::of(&error)),
        }
    }

    async fn delete(&mut self, if_match: Option<&str>, ask: &str) -> Result<Answer, Failure> {
        self.operation = "DeleteObject".to_owned();
        let delete = self.client.delete_object().bucket(&self.bucket).key(&self.key);
        match delete.set_if_match(if_match.map(str::to_owned)).send().await {
            Ok(done) => {
                self.versions.extend(done.version_id().map(str::to_owned));
                self.step(ask, "204");
                Ok(Answer::Done)
            }
            Err(error) => self.answered(ask, Failure::of(&error)),
        }
    }

    fn answered(&mut self, ask: &str, failure: Failure) -> Result<Answer, Failure> {
        let shown = failure.status.map_or_else(|| failure.reason.clone(), |status| status.to_string());
        self.step(ask, &shown);
        match failure.status {
            Some(409 | 412) => Ok(Answer::Refused),
            Some(501) => Ok(Answer::Unknown(failure)),
            Some(400) if failure.region.is_none() => Ok(Answer::Unknown(failure)),
            _ => Err(failure),
        }
    }

    /// Removes what is ours, versions and delete markers included, and looks whether it is gone.
    async fn clean_up(&mut self) {
        if !self.dirty {
            return;
        }
        let resource = format!("s3://{}/{}", self.bucket, self.key);
        if let Ok(done) = self.client.delete_object().bucket(&self.bucket).key(&self.key).send().await {
            self.versions.extend(done.version_id().map(str::to_owned));
        }
        let mut left = 0;
        for version in std::mem::take(&mut self.versions) {
            let delete = self.client.delete_object().bucket(&self.bucket).key(&self.key).version_id(&version);
            left += usize::from(delete.send().await.is_err());
        }
        let head = self.client.head_object().bucket(&self.bucket).key(&self.key).send().await;
        let there = match head {
            Ok(_) => true,
            Err(error) => !matches!(Failure::of(&error).status, Some(403 | 404)),
        };
        if there {
            let reason = "the probe's own object could not be removed: delete it by hand";
            self.unread.push(Failure::own(reason).unread(&resource, "DeleteObject", false));
        } else if left > 0 {
            // Versions of a key that nobody reads: worth a line, not a failure.
            self.step("remove our own versions", &format!("{left} stay (s3:DeleteObjectVersion is missing)"));
        }
    }
}
