//! Counts requests and reads the servers' clock: it hangs in every client.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
    FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::retries::RequestAttempts;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use aws_smithy_types::date_time::Format;

use crate::audit::snapshot::Stats;
use crate::moment::Moment;

/// What all clients of one audit share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: Mutex<BTreeMap<String, u64>>,
    retries: AtomicU64,
    pages: AtomicU64,
    objects: AtomicU64,
    items: AtomicU64,
    /// The latest `Date` of any answer, in milliseconds; zero before the first one.
    date: AtomicI64,
}

/// A request that was sent, for the log: when, and without its query, which may be signed.
#[derive(Debug)]
struct Sent {
    at: Instant,
    method: String,
    url: String,
}

impl Storable for Sent {
    type Storer = StoreReplace<Self>;
}

impl Meter {
    /// A request that no client of the SDK sends.
    pub fn asked(&self, operation: &str, retry: bool) {
        let mut requests = self.0.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry(operation.to_owned()).or_default() += 1;
        self.0.retries.fetch_add(u64::from(retry), Ordering::Relaxed);
    }

    /// The `Date` of an answer that no client of the SDK read.
    pub fn told(&self, date: Option<&str>) {
        let date = date.and_then(|date| DateTime::from_str(date, Format::HttpDate).ok());
        if let Some(millis) = date.and_then(|date| date.to_millis().ok()) {
            self.0.date.fetch_max(millis, Ordering::Relaxed);
        }
    }

    /// A page of a listing with so many objects and versions.
    pub fn listed(&self, objects: usize) {
        self.0.pages.fetch_add(1, Ordering::Relaxed);
        self.0.objects.fetch_add(objects as u64, Ordering::Relaxed);
    }

    /// A page of a scan with so many items.
    pub fn scanned(&self, items: usize) {
        self.0.pages.fetch_add(1, Ordering::Relaxed);
        self.0.items.fetch_add(items as u64, Ordering::Relaxed);
    }

    /// Objects listed so far.
    pub fn objects(&self) -> u64 {
        self.0.objects.load(Ordering::Relaxed)
    }

    /// The time by the servers' clocks; none before the first answer.
    pub fn now(&self) -> Option<Moment> {
        let millis = self.0.date.load(Ordering::Relaxed);
        (millis > 0).then(|| Moment::from_millis(millis))
    }

    /// All counts; the time that it took is the caller's to add.
    pub fn stats(&self) -> Stats {
        let requests = self.0.requests.lock().unwrap_or_else(PoisonError::into_inner);
        Stats {
            requests: requests.clone(),
            pages: self.0.pages.load(Ordering::Relaxed),
            retries: self.0.retries.load(Ordering::Relaxed),
            objects: self.0.objects.load(Ordering::Relaxed),
            items: self.0.items.load(Ordering::Relaxed),
            millis: 0,
        }
    }
}

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "Meter"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(operation) = cfg.load::<Metadata>() {
            let mut requests = self.0.requests.lock().unwrap_or_else(PoisonError::into_inner);
            *requests.entry(operation.name().to_owned()).or_default() += 1;
        }
        if cfg.load::<RequestAttempts>().is_some_and(|attempts| attempts.attempts() > 1) {
            self.0.retries.fetch_add(1, Ordering::Relaxed);
        }
        if tracing::enabled!(tracing::Level::INFO) {
            let request = context.request();
            let url = request.uri().split('?').next().unwrap_or_default().to_owned();
            let sent = Sent { at: Instant::now(), method: request.method().to_owned(), url };
            cfg.interceptor_state().store_put(sent);
        }
        Ok(())
    }

    /// One line of the log for each request, answered or not: never its headers, its query or a body.
    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (Some(operation), Some(sent)) = (cfg.load::<Metadata>(), cfg.load::<Sent>()) else {
            return Ok(());
        };
        let status = context.response().map(|response| response.status().as_u16().to_string());
        tracing::info!(
            operation = operation.name(),
            method = sent.method,
            url = sent.url,
            status = status.as_deref().unwrap_or("no answer"),
            milliseconds = sent.at.elapsed().as_millis(),
            "asked"
        );
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.told(context.response().headers().get("date"));
        Ok(())
    }
}
