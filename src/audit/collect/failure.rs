//! Why a request failed, in words for people: the server's code and message, or what cut the connection; which
//! permission is missing; and whether asking further makes sense.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use crate::audit::snapshot::Unread;

/// One request that failed for good, after its retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The server's code, such as `AccessDenied`; `HTTP 403` where an answer has none.
    pub code: Option<String>,
    /// HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// For people.
    pub reason: String,
    /// The action that the server itself says is missing.
    action: Option<String>,
    /// The region that the server names as the right one.
    pub region: Option<String>,
}

/// Codes that say: you may not.
const REFUSED: &[&str] =
    &["AccessDenied", "AccessDeniedException", "AllAccessDisabled", "UnauthorizedAccess", "KMS.AccessDenied"];

/// Codes that say that this server has no such feature.
const UNSUPPORTED: &[&str] = &["NotImplemented", "MethodNotAllowed", "UnsupportedOperation"];

/// Codes after which every further request to the same store fails in the same way.
const HOPELESS: &[&str] = &[
    "NoSuchBucket",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidToken",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "InvalidSignatureException",
    "UnrecognizedClientException",
    "RequestTimeTooSkewed",
];

/// What is said where nobody knows any credentials; the SDK's own words are about its providers.
const NO_CREDENTIALS: &str = "there are no AWS credentials here: name a profile (`--profile NAME`, or AWS_PROFILE), sign \
                              in (`aws sso login`), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

impl Failure {
    /// Something that the client noticed by itself.
    pub fn own(reason: impl Into<String>) -> Self {
        Self { code: None, status: None, reason: reason.into(), action: None, region: None }
    }

    /// An answer that says no, with its code and message.
    pub fn coded(status: u16, code: String, message: &str) -> Self {
        let reason = if message.is_empty() { code.clone() } else { format!("{code}: {message}") };
        let action = named_action(message);
        Self { code: Some(code), status: Some(status), reason, action, region: None }
    }

    /// An error with its causes.
    pub fn chain(error: &(dyn Error + 'static)) -> Self {
        Self::own(causes(error))
    }

    /// It may go better the next time.
    pub fn is_passing(&self) -> bool {
        const PASSING: &[&str] =
            &["Throttling", "ThrottlingException", "RequestLimitExceeded", "ServiceUnavailable"];
        self.status.is_none_or(|status| status >= 500)
            || self.code.as_deref().is_some_and(|code| PASSING.contains(&code))
    }

    /// What the SDK says.
    pub fn of<E: ProvideErrorMetadata + Error + Send + Sync + 'static>(
        error: &SdkError<E, HttpResponse>,
    ) -> Self {
        let response = error.raw_response();
        let status = response.map(|response| response.status().as_u16());
        let header = |name: &str| response.and_then(|response| response.headers().get(name));
        let SdkError::ServiceError(service) = error else {
            return Self { status, ..Self::own(causes(error)) };
        };
        let meta = service.err().meta();
        // Answers to HEAD have no body, so no code.
        let code = meta.code().map(str::to_owned).or_else(|| status.map(|status| format!("HTTP {status}")));
        let message = meta.message().unwrap_or_default();
        let region = (matches!(status, Some(301 | 307 | 400)))
            .then(|| header("x-amz-bucket-region").map(str::to_owned).or_else(|| expected_region(message)));
        let reason = match (code.as_deref().unwrap_or("no code"), message) {
            (code, "") => code.to_owned(),
            (code, message) => format!("{code}: {message}"),
        };
        Self { code, status, reason, action: named_action(message), region: region.flatten() }
    }

    /// It was answered, with this code.
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// A permission is missing.
    pub fn refused(&self) -> bool {
        let coded = self.code.as_deref().is_some_and(|code| REFUSED.contains(&code));
        coded || self.is("HTTP 403")
    }

    /// There is no such thing, as one of these codes says, or the server knows nothing of the kind.
    pub fn absent(&self, codes: &[&str]) -> bool {
        let code = self.code.as_deref().unwrap_or_default();
        codes.contains(&code) || UNSUPPORTED.contains(&code) || self.status == Some(501)
    }

    /// Nothing else from this store will be answered either.
    pub fn hopeless(&self) -> bool {
        match (self.code.as_deref(), self.status) {
            (Some(code), _) => HOPELESS.contains(&code),
            (None, status) => status.is_none(),
        }
    }

    /// The action that the role lacks, where a permission is missing and the action is known.
    fn missing_action(&self, operation: &str) -> Option<String> {
        self.refused().then(|| self.action.clone().or_else(|| action(operation))).flatten()
    }

    /// In words: what happened, and the action that the role lacks.
    pub fn said(&self, operation: &str) -> String {
        match self.missing_action(operation) {
            Some(action) => format!("{}; the role lacks {action}", self.reason),
            None => self.reason.clone(),
        }
    }

    /// As a line of the report.
    pub fn unread(&self, resource: &str, operation: &str, hides_locks: bool) -> Unread {
        Unread {
            resource: resource.to_owned(),
            operation: operation.to_owned(),
            reason: self.reason.clone(),
            missing_action: self.missing_action(operation),
            hides_locks,
        }
    }
}

/// The IAM action of an operation, where the two differ or not.
/// Source: the Service Authorization Reference of S3, DynamoDB and STS.
fn action(operation: &str) -> Option<String> {
    let action = match operation {
        "ListObjectVersions" => "s3:ListBucketVersions",
        "ListObjectsV2" => "s3:ListBucket",
        "GetObject" | "HeadObject" => "s3:GetObject",
        "GetObjectVersion" => "s3:GetObjectVersion",
        "GetBucketLifecycleConfiguration" => "s3:GetLifecycleConfiguration",
        "GetPublicAccessBlock" => "s3:GetBucketPublicAccessBlock",
        "GetAccountPublicAccessBlock" => "s3:GetAccountPublicAccessBlock",
        "ListAccessPoints" => "s3:ListAccessPoints",
        "GetAccessPoint" => "s3:GetAccessPoint",
        "GetAccessPointPolicy" => "s3:GetAccessPointPolicy",
        "SimulatePrincipalPolicy" => "iam:SimulatePrincipalPolicy",
        "GetBucketEncryption" => "s3:GetEncryptionConfiguration",
        "GetBucketReplication" => "s3:GetReplicationConfiguration",
        "GetObjectLockConfiguration" => "s3:GetBucketObjectLockConfiguration",
        "GetBucketVersioning" => "s3:GetBucketVersioning",
        "GetBucketPolicy" => "s3:GetBucketPolicy",
        "GetBucketOwnershipControls" => "s3:GetBucketOwnershipControls",
        "DescribeTable" => "dynamodb:DescribeTable",
        "Scan" => "dynamodb:Scan",
        "GetItem" => "dynamodb:GetItem",
        "PutItem" => "dynamodb:PutItem",
        "DeleteItem" => "dynamodb:DeleteItem",
        "DeleteObject" => "s3:DeleteObject",
        "AssumeRole" => "sts:AssumeRole",
        "GetAccountAuthorizationDetails" => "iam:GetAccountAuthorizationDetails",
        "DescribeKey" => "kms:DescribeKey",
        "GetKeyPolicy" => "kms:GetKeyPolicy",
        "ListGrants" => "kms:ListGrants",
        "GetMetricStatistics" => "cloudwatch:GetMetricStatistics",
        _ => return None,
    };
    Some(action.to_owned())
}

/// `… is not authorized to perform: s3:ListBucket on resource …`
fn named_action(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("not authorized to perform: ")?;
    let action: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ':').collect();
    action.contains(':').then_some(action)
}

/// `the region 'us-east-1' is wrong; expecting 'eu-west-1'`
fn expected_region(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("expecting '")?;
    let (region, _) = rest.split_once('\'')?;
    Some(region.to_owned())
}

/// The chain of causes, without repeating what a cause already said.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref().is_some_and(is_without_credentials) {
            return NO_CREDENTIALS.to_owned();
        }
        let text = error.to_string();
        if !text.is_empty() && !said.iter().any(|said| said.contains(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    said.join(": ")
}

/// No provider had any. The instance's metadata service is the last that is asked: where it says no, nobody else did.
fn is_without_credentials(error: &CredentialsError) -> bool {
    match error {
        CredentialsError::CredentialsNotLoaded(_) => true,
        CredentialsError::ProviderError(_) => error.source().is_some_and(|source| {
            let said = source.to_string();
            said.contains("IMDS") || said.contains("instance metadata")
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_credentials_it_says_what_to_do() {
        let not_loaded =
            CredentialsError::not_loaded("no credentials found in chain. Attempted:\n  Environment");
        assert_eq!(Failure::chain(&not_loaded).reason, NO_CREDENTIALS);
        assert!(!NO_CREDENTIALS.contains('\n'));
        let metadata =
            CredentialsError::provider_error("failed to load IMDS session token: request forbidden");
        assert_eq!(Failure::chain(&metadata).reason, NO_CREDENTIALS);
        let refused = CredentialsError::provider_error("AccessDenied: may not assume the role");
        let said = Failure::chain(&refused).reason;
        assert!(said.ends_with(": AccessDenied: may not assume the role"), "{said}");
    }

    fn coded(code: &str) -> Failure {
        Failure { code: Some(code.to_owned()), status: Some(403), ..Failure::own("no") }
    }

    #[test]
    fn only_a_refusal_names_a_missing_action() {
        let refused = coded("AccessDenied").unread("s3://b", "ListObjectVersions", true);
        assert_eq!(refused.missing_action.as_deref(), Some("s3:ListBucketVersions"));
        for code in ["ExpiredToken", "InvalidAccessKeyId", "SlowDown"] {
            assert_eq!(coded(code).unread("s3://b", "ListObjectVersions", true).missing_action, None);
        }
        let head = coded("HTTP 403").unread("s3://b/k", "HeadObject", false);
        assert_eq!(head.missing_action.as_deref(), Some("s3:GetObject"));
        let kms = Failure { action: Some("kms:Decrypt".into()), ..coded("AccessDenied") };
        let kms = kms.unread("s3://b/k", "GetObject", true);
        assert_eq!(kms.missing_action.as_deref(), Some("kms:Decrypt"), "the server knows better");
    }

    #[test]
    fn messages_say_action_and_region() {
        let message =
            "User: arn:aws:iam::1:user/x is not authorized to perform: kms:Decrypt on the resource y";
        assert_eq!(named_action(message).as_deref(), Some("kms:Decrypt"));
        assert_eq!(named_action("Access Denied"), None);
        let message = "The authorization header is malformed; the region 'a' is wrong; expecting 'eu-west-1'";
        assert_eq!(expected_region(message).as_deref(), Some("eu-west-1"));
    }

    #[test]
    fn what_ends_a_store() {
        assert!(coded("NoSuchBucket").hopeless() && coded("ExpiredToken").hopeless());
        assert!(Failure::own("connection refused").hopeless(), "nobody answers");
        assert!(!coded("AccessDenied").hopeless() && !coded("InternalError").hopeless());
        assert!(coded("NoSuchBucketPolicy").absent(&["NoSuchBucketPolicy"]));
        assert!(!coded("AccessDenied").absent(&["NoSuchBucketPolicy"]));
    }

    /// Every action of the published role belongs to an operation that this room asks for, and the other way round.
    #[test]
    fn the_auditor_s_role_holds_what_is_asked_for_and_no_more() {
        let reads = [
            "ListObjectVersions",
            "ListObjectsV2",
            "GetObject",
            "GetObjectVersion",
            "GetBucketLifecycleConfiguration",
            "GetPublicAccessBlock",
            "GetAccountPublicAccessBlock",
            "ListAccessPoints",
            "GetAccessPoint",
            "GetAccessPointPolicy",
            "SimulatePrincipalPolicy",
            "GetBucketEncryption",
            "GetBucketReplication",
            "GetObjectLockConfiguration",
            "GetBucketVersioning",
            "GetBucketPolicy",
            "GetBucketOwnershipControls",
            "DescribeTable",
            "Scan",
            "GetItem",
            "GetAccountAuthorizationDetails",
            "DescribeKey",
            "GetKeyPolicy",
            "ListGrants",
            "GetMetricStatistics",
        ];
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit/collect");
        let files = std::fs::read_dir(here).unwrap().map(|entry| entry.unwrap().path());
        let others = files.filter(|path| !path.ends_with("failure.rs") && path.is_file());
        let source: String = others.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        for operation in reads {
            assert!(source.contains(&format!("\"{operation}\"")), "nothing asks for {operation}");
        }
        let mut asked: Vec<String> = reads.iter().map(|operation| action(operation).unwrap()).collect();
        // S3 asks for it by itself, to read what the key encrypts.
        asked.push("kms:Decrypt".to_owned());
        asked.sort();
        let role: serde_json::Value =
            serde_json::from_str(include_str!("../../../docs/roles/auditor-role-policy.json")).unwrap();
        let statements = role["Statement"].as_array().unwrap();
        let listed = |value: &serde_json::Value| match value {
            serde_json::Value::Array(many) => many.clone(),
            one => vec![one.clone()],
        };
        let mut given: Vec<String> = statements
            .iter()
            .flat_map(|statement| listed(&statement["Action"]))
            .map(|action| action.as_str().unwrap().to_owned())
            .collect();
        given.sort();
        assert_eq!(given, asked);
    }
}
