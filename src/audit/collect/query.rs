//! Single calls of services whose own SDK crate would cost more than it saves: IAM's alone is minutes of build time
//! for one operation, and S3 Control's would add another for four. They share AWS's query protocol (a form in, XML
//! out), AWS's JSON protocol or plain reads, signed with AWS's own signer, sent with the SDK's own HTTP client and
//! credentials.
//! Source: the query protocol in AWS's API references of IAM, STS and CloudWatch; S3 Control's operations in the API
//! reference of S3.

use std::time::{Duration, Instant, SystemTime};

use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::failure::Failure;
use super::meter::Meter;

/// No answer of these services is longer: IAM's pages have at most 1,000 entries.
const LONGEST: usize = 64 << 20;

/// One service of one partition and region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    /// Its name in signatures, such as `iam`.
    pub name: &'static str,
    /// The version of its API; the prefix of its operations where it speaks JSON.
    pub version: &'static str,
    /// It has one endpoint for a whole partition.
    pub global: bool,
}

pub(super) const IAM: Service = Service { name: "iam", version: "2010-05-08", global: true };
pub(super) const STS: Service = Service { name: "sts", version: "2011-06-15", global: false };
pub(super) const KMS: Service = Service { name: "kms", version: "TrentService", global: false };
/// S3 Control signs as S3 does, at a host of its own for each account.
const S3_CONTROL: Service = Service { name: "s3", version: "v20180820", global: false };
pub(super) const CLOUDWATCH: Service = Service { name: "monitoring", version: "2010-08-01", global: false };

impl Service {
    /// S3 wants the body's checksum beside the signature, and paths encoded once.
    /// Source: "Signature Calculations for the Authorization Header" in the API reference of S3.
    fn signing(self) -> SigningSettings {
        let mut settings = SigningSettings::default();
        if self.name == S3_CONTROL.name {
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
            settings.percent_encoding_mode = PercentEncodingMode::Single;
        }
        settings
    }

    /// Host and signing region.
    fn place(self, region: &str) -> (String, String) {
        let (partition, home, suffix) = if region.starts_with("cn-") {
            ("cn-north-1.", "cn-north-1", "amazonaws.com.cn")
        } else if region.starts_with("us-gov-") {
            ("us-gov.", "us-gov-west-1", "amazonaws.com")
        } else {
            ("", "us-east-1", "amazonaws.com")
        };
        if self.global {
            (format!("{}.{partition}{suffix}", self.name), home.to_owned())
        } else {
            (format!("{}.{region}.{suffix}", self.name), region.to_owned())
        }
    }
}

/// `111122223333.s3-control.eu-west-1.amazonaws.com`
fn control_host(account: &str, region: &str) -> String {
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("{account}.s3-control.{region}.{suffix}")
}

/// One request before it is signed.
#[derive(Debug, Clone, Copy)]
struct Ask<'r> {
    method: &'static str,
    /// Below the service's URL.
    target: &'r str,
    headers: &'r [(&'r str, &'r str)],
    body: &'r str,
}

impl Ask<'_> {
    /// Without the query: the log holds none.
    fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// Sends signed calls.
pub(super) struct Query<'a> {
    config: &'a SdkConfig,
    service: Service,
    url: String,
    region: String,
    attempts: u32,
    timeout: Duration,
    backoff: Duration,
    connector: Connector,
    meter: &'a Meter,
}

/// How hard to try.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub attempts: u32,
    pub timeout: Duration,
    pub backoff: Duration,
}

impl<'a> Query<'a> {
    /// Ready to call. `endpoint` is where a store that is not AWS answers.
    pub fn new(
        config: &'a SdkConfig,
        service: Service,
        region: &str,
        endpoint: Option<&str>,
        effort: Effort,
        meter: &'a Meter,
    ) -> Self {
        let (host, region) = service.place(region);
        let url = endpoint.or_else(|| config.endpoint_url()).map_or_else(
            || format!("https://{host}/"),
            |endpoint| format!("{}/", endpoint.trim_end_matches('/')),
        );
        let connector = Connector::builder().tls_provider(Provider::Rustls(CryptoMode::Ring)).build();
        let Effort { attempts, timeout, backoff } = effort;
        Self { config, service, url, region, attempts: attempts.max(1), timeout, backoff, connector, meter }
    }

    /// Ready to call S3 Control for one account. A store that is not AWS has no host for each account: the header that
    /// every request carries says it there, too.
    pub fn s3_control(
        config: &'a SdkConfig,
        account: &str,
        region: &str,
        endpoint: Option<&str>,
        effort: Effort,
        meter: &'a Meter,
    ) -> Self {
        let mut query = Self::new(config, S3_CONTROL, region, endpoint, effort, meter);
        if endpoint.or_else(|| config.endpoint_url()).is_none() {
            query.url = format!("https://{}/", control_host(account, region));
        }
        query
    }

    /// One read of S3 Control below its version: its XML, or what the service said.
    pub async fn get(
        &self,
        operation: &str,
        account: &str,
        path: &[&str],
        parameters: &[(&str, &str)],
    ) -> Result<String, Failure> {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let path: Vec<String> = path.iter().map(|part| encode(part)).collect();
        let mut target = format!("{}/{}", self.service.version, path.join("/"));
        for (n, (name, value)) in parameters.iter().enumerate() {
            target.push_str(if n == 0 { "?" } else { "&" });
            target.push_str(&format!("{name}={}", encode(value)));
        }
        let ask = Ask { method: "GET", target: &target, headers: &[("x-amz-account-id", account)], body: "" };
        self.patiently(operation, ask).await
    }

    /// One call of the query protocol: its XML, or what the service said.
    pub async fn call(&self, action: &str, parameters: &[(&str, &str)]) -> Result<String, Failure> {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut form = format!("Action={action}&Version={}", self.service.version);
        for (name, value) in parameters {
            form.push_str(&format!("&{}={}", encode(name), encode(value)));
        }
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.patiently(action, Ask { method: "POST", target: "", headers: &headers, body: &form }).await
    }

    /// One call of AWS's JSON protocol: its answer, or what the service said.
    pub async fn json(
        &self,
        operation: &str,
        body: &serde_json::Value,
    ) -> Result<serde_json::Value, Failure> {
        let target = format!("{}.{operation}", self.service.version);
        let headers = [("content-type", "application/x-amz-json-1.1"), ("x-amz-target", target.as_str())];
        let body = body.to_string();
        let ask = Ask { method: "POST", target: "", headers: &headers, body: &body };
        let answer = self.patiently(operation, ask).await?;
        serde_json::from_str(&answer).map_err(|error| Failure::own(format!("no JSON: {error}")))
    }

    /// Throttling and cut connections are tried again, with a limit.
    async fn patiently(&self, action: &str, ask: Ask<'_>) -> Result<String, Failure> {
        let mut pause = self.backoff;
        let mut left = self.attempts;
        loop {
            left -= 1;
            self.meter.asked(action, left + 1 < self.attempts);
            let began = Instant::now();
            let answered = tokio::time::timeout(self.timeout, self.once(ask)).await;
            let status = match &answered {
                Ok(Ok(_)) => "200".to_owned(),
                Ok(Err(failure)) => failure.reason.clone(),
                Err(_) => "no answer".to_owned(),
            };
            let milliseconds = began.elapsed().as_millis();
            tracing::info!(
                operation = action,
                method = ask.method,
                url = format!("{}{}", self.url, ask.path()),
                status,
                milliseconds,
                "asked"
            );
            let failure = match answered {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::own(format!("no answer within {} s", self.timeout.as_secs())),
            };
            if left == 0 || !failure.is_passing() {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn once(&self, ask: Ask<'_>) -> Result<String, Failure> {
        let Ask { method, target, headers, body } = ask;
        let url = format!("{}{target}", self.url);
        let own = |error: &dyn std::fmt::Display| Failure::own(error.to_string());
        let provider = self.config.credentials_provider().ok_or_else(|| Failure::own("no credentials"))?;
        let credentials = provider.provide_credentials().await.map_err(|error| Failure::chain(&error))?;
        let identity = credentials.into();
        let signing = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service.name)
            .time(SystemTime::now())
            .settings(self.service.signing())
            .build()
            .map_err(|error| own(&error))?
            .into();
        let payload = SignableBody::Bytes(body.as_bytes());
        let signable = SignableRequest::new(method, url.as_str(), headers.iter().copied(), payload);
        let (signed, _) =
            sign(signable.map_err(|error| own(&error))?, &signing).map_err(|error| own(&error))?.into_parts();
        let mut request = HttpRequest::new(SdkBody::from(body));
        request.set_method(method).map_err(|error| own(&error))?;
        request.set_uri(url.as_str()).map_err(|error| own(&error))?;
        for (name, value) in headers.iter().copied().chain(signed.headers()) {
            request.headers_mut().insert(name.to_owned(), value.to_owned());
        }
        let response = self.connector.call(request).await.map_err(|error| Failure::chain(&error))?;
        let status = response.status().as_u16();
        self.meter.told(response.headers().get("date"));
        let mut stream = ByteStream::new(response.into_body());
        let mut bytes = Vec::new();
        while let Some(more) = stream.try_next().await.map_err(|error| Failure::chain(&error))? {
            bytes.extend_from_slice(&more);
            if bytes.len() > LONGEST {
                return Err(Failure::own("the answer is longer than any answer of this service"));
            }
        }
        let text = String::from_utf8(bytes).map_err(|_| Failure::own("the answer is not UTF-8"))?;
        if status == 200 { Ok(text) } else { Err(refused(status, &text)) }
    }
}

/// `<ErrorResponse><Error><Code>…</Code><Message>…</Message>`, or `{"__type": "…", "message": "…"}`
fn refused(status: u16, xml: &str) -> Failure {
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(xml) {
        let text = |name: &str| json.get(name).and_then(|value| value.as_str());
        if let Some(code) = text("__type") {
            let code = code.rsplit('#').next().unwrap_or(code);
            let message = text("message").or_else(|| text("Message")).unwrap_or_default();
            return Failure::coded(status, code.to_owned(), message);
        }
    }
    let document = roxmltree::Document::parse(xml).ok();
    let text = |name: &str| {
        let document = document.as_ref()?;
        let node =
            document.descendants().find(|node| node.has_tag_name(name) || node.tag_name().name() == name)?;
        node.text().map(str::to_owned)
    };
    let code = text("Code").unwrap_or_else(|| format!("HTTP {status}"));
    Failure::coded(status, code, &text("Message").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_follow_the_partition() {
        for (service, region, host, signed) in [
            (IAM, "eu-west-1", "iam.amazonaws.com", "us-east-1"),
            (IAM, "us-gov-west-1", "iam.us-gov.amazonaws.com", "us-gov-west-1"),
            (IAM, "cn-north-1", "iam.cn-north-1.amazonaws.com.cn", "cn-north-1"),
            (STS, "eu-west-1", "sts.eu-west-1.amazonaws.com", "eu-west-1"),
            (CLOUDWATCH, "eu-west-1", "monitoring.eu-west-1.amazonaws.com", "eu-west-1"),
        ] {
            assert_eq!(service.place(region), (host.to_owned(), signed.to_owned()));
        }
        for (region, host) in [
            ("eu-west-1", "111122223333.s3-control.eu-west-1.amazonaws.com"),
            ("us-gov-west-1", "111122223333.s3-control.us-gov-west-1.amazonaws.com"),
            ("cn-north-1", "111122223333.s3-control.cn-north-1.amazonaws.com.cn"),
        ] {
            assert_eq!(control_host("111122223333", region), host);
        }
    }

    #[test]
    fn an_error_says_code_and_message() {
        let xml = "<ErrorResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><Error><Type>Sender</Type>\
                   <Code>AccessDenied</Code><Message>User: x is not authorized to perform: \
                   iam:GetAccountAuthorizationDetails on resource: *</Message></Error></ErrorResponse>";
        let failure = refused(403, xml);
        assert!(failure.refused() && !failure.is_passing());
        let unread = failure.unread("arn:aws:iam::1:root", "GetAccountAuthorizationDetails", false);
        assert_eq!(unread.missing_action.as_deref(), Some("iam:GetAccountAuthorizationDetails"));
        assert!(
            refused(400, "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>")
                .is_passing()
        );
        assert!(refused(503, "no XML").is_passing());
        assert_eq!(refused(404, "no XML").reason, "HTTP 404");
        let json = r#"{"__type":"com.amazonaws.kms#AccessDeniedException","message":"no"}"#;
        let failure = refused(400, json);
        assert!(failure.refused());
        assert_eq!(failure.reason, "AccessDeniedException: no");
    }
}
