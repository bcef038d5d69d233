//! The requests of the proof: who asks, and what Terraform's and everybody's requests carry.

use super::resources::{LOCK_SUFFIX, bucket_arn, object_arn};
use super::roles::Role;
use super::{Encryption, State, Wanted};
use crate::policy::{Context, Principal, Request};

/// Somebody who is not named, and must not touch a lock.
#[derive(Debug, Clone)]
pub(super) struct Stranger {
    /// In words, with the ARN where there is one.
    pub name: String,
    pub principal: Principal,
    pub is_root: bool,
}

/// Principals that stand for everybody: each is allowed everything by its own policies.
pub(super) fn strangers(wanted: &Wanted) -> Vec<Stranger> {
    let (partition, account) = (&wanted.partition, &wanted.account);
    // Any other account.
    let other = if account == "999999999999" { "888888888888" } else { "999999999999" };
    let sso =
        "role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_AdministratorAccess_0123456789abcdef";
    let arns = [
        ("an administrator's role", format!("arn:{partition}:iam::{account}:role/lockshift-proof-admin")),
        ("an administrator by Identity Center", format!("arn:{partition}:iam::{account}:{sso}")),
        ("an administrator's user", format!("arn:{partition}:iam::{account}:user/lockshift-proof-admin")),
        ("the account's root user", format!("arn:{partition}:iam::{account}:root")),
        ("a role of another account", format!("arn:{partition}:iam::{other}:role/lockshift-proof-admin")),
    ];
    let mut strangers: Vec<Stranger> =
        arns.into_iter().filter_map(|(words, arn)| stranger(words, &arn)).collect();
    strangers.push(Stranger {
        name: "an anonymous request".to_owned(),
        principal: Principal::Anonymous,
        is_root: false,
    });
    strangers
}

/// One more.
pub(super) fn stranger(words: &str, arn: &str) -> Option<Stranger> {
    let principal = Principal::parse(arn).ok()?;
    let is_root = matches!(principal, Principal::Root { .. });
    let name = if words.is_empty() { arn.to_owned() } else { format!("{words} ({arn})") };
    Some(Stranger { name, principal, is_root })
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Read an object.
    Get,
    /// Write it whatever is there.
    Put,
    /// Write it where nothing is there: `If-None-Match: *`.
    Create,
    /// Delete it whatever is there.
    Delete,
    /// Delete it when it is still the one that was read: `If-Match`.
    DeleteIfMatch,
    /// Delete it, with `If-Match` or without.
    DeleteAnyhow,
    /// Delete one version.
    DeleteVersion,
    PutAcl,
    PutTagging,
}

impl Ask {
    pub(super) fn action(self) -> &'static str {
        match self {
            Ask::Get => "s3:GetObject",
            Ask::Put | Ask::Create => "s3:PutObject",
            Ask::Delete | Ask::DeleteIfMatch | Ask::DeleteAnyhow => "s3:DeleteObject",
            Ask::DeleteVersion => "s3:DeleteObjectVersion",
            Ask::PutAcl => "s3:PutObjectAcl",
            Ask::PutTagging => "s3:PutObjectTagging",
        }
    }

    /// What a reader must know of the request besides its action.
    pub(super) fn words(self) -> &'static str {
        match self {
            Ask::Create => " with If-None-Match",
            Ask::Put => " without If-None-Match",
            Ask::Delete => " without If-Match",
            Ask::DeleteIfMatch => " with If-Match",
            _ => "",
        }
    }

    fn conditions(self, context: Context) -> Context {
        match self {
            Ask::Create => context.with("s3:if-none-match", "*").without("s3:if-match"),
            Ask::Put | Ask::Delete => context.without("s3:if-none-match").without("s3:if-match"),
            Ask::DeleteIfMatch => {
                context.without("s3:if-none-match").with("s3:if-match", "0123456789abcdef0123456789abcdef")
            }
            // AWS has the key on PutObject and DeleteObject alone; here it may be there or not.
            Ask::DeleteAnyhow | Ask::DeleteVersion => context.without("s3:if-none-match"),
            Ask::Get | Ask::PutAcl | Ask::PutTagging => {
                context.without("s3:if-none-match").without("s3:if-match")
            }
        }
    }
}

/// Anybody's request for an object: of whatever is not said nothing is known.
pub(super) fn request(wanted: &Wanted, principal: &Principal, ask: Ask, path: &str) -> Request {
    let context = ask.conditions(of(principal, Context::of_unknown_origin()));
    finish(wanted, principal, ask.action(), &object_arn(wanted, path), context)
}

/// Anybody's request for the bucket itself.
pub(super) fn bucket_request(wanted: &Wanted, principal: &Principal, action: &str) -> Request {
    let context = of(principal, Context::of_unknown_origin());
    finish(wanted, principal, action, &bucket_arn(wanted), context)
}

/// A named role's request: with what Terraform and OpenTofu send, and what was said of these roles' requests.
pub(super) fn client_request(
    wanted: &Wanted,
    role: &Role,
    state: &State,
    ask: Ask,
    path: &str,
) -> Option<Request> {
    let principal = Principal::parse(&role.sample).ok()?;
    let context = ask.conditions(sent(client(wanted), state, ask));
    Some(finish(wanted, &principal, ask.action(), &object_arn(wanted, path), context))
}

/// A named role's request for something that is no object.
pub(super) fn role_request(wanted: &Wanted, role: &Role, action: &str, resource: &str) -> Option<Request> {
    let principal = Principal::parse(&role.sample).ok()?;
    Some(finish(wanted, &principal, action, resource, client(wanted)))
}

/// The path of a state's lock.
pub(super) fn lock_of(path: &str) -> String {
    format!("{path}{LOCK_SUFFIX}")
}

fn finish(wanted: &Wanted, principal: &Principal, action: &str, resource: &str, context: Context) -> Request {
    let context = context.with("aws:ResourceAccount", &wanted.account);
    let request = Request::new(principal.clone(), action, resource, context);
    let request = if resource.contains(":s3:::") { request.owned_by(&wanted.account) } else { request };
    request.with_principal_keys()
}

/// AWS adds no principal's keys to requests without a signature.
fn of(principal: &Principal, context: Context) -> Context {
    match principal {
        Principal::Anonymous => {
            ["aws:PrincipalArn", "aws:PrincipalAccount", "aws:PrincipalOrgID", "aws:userid", "aws:username"]
                .into_iter()
                .fold(context, Context::without)
        }
        _ => context,
    }
}

/// What holds for every request of the clients' AWS library for Go: TLS 1.2 or newer, signed in the header with
/// version 4, made by the role itself and not by a service for it.
fn client(wanted: &Wanted) -> Context {
    let always = [
        ("aws:SecureTransport", "true"),
        ("aws:PrincipalIsAWSService", "false"),
        ("aws:ViaAWSService", "false"),
        ("s3:TlsVersion", "1.3"),
        ("s3:authType", "REST-HEADER"),
        ("s3:signatureversion", "AWS4-HMAC-SHA256"),
    ];
    let never = [
        "aws:CalledVia",
        "aws:PrincipalServiceName",
        "aws:SourceAccount",
        "aws:SourceArn",
        "s3:DataAccessPointArn",
        "s3:DataAccessPointAccount",
        "s3:VersionId",
        "s3:x-amz-copy-source",
        "s3:x-amz-grant-full-control",
        "s3:x-amz-grant-read",
        "s3:x-amz-grant-read-acp",
        "s3:x-amz-grant-write",
        "s3:x-amz-grant-write-acp",
        "s3:x-amz-metadata-directive",
        "s3:x-amz-storage-class",
        "s3:x-amz-website-redirect-location",
    ];
    let context =
        always.iter().fold(Context::of_unknown_origin(), |context, (key, value)| context.with(key, value));
    let context = never.into_iter().fold(context, Context::without);
    wanted.context.iter().fold(context, |context, (key, value)| context.with(key, value))
}

/// The headers of a write. Source: `client.go` of the S3 backends of Terraform and OpenTofu.
fn sent(context: Context, state: &State, ask: Ask) -> Context {
    let (kind, key) = ("s3:x-amz-server-side-encryption", "s3:x-amz-server-side-encryption-aws-kms-key-id");
    if !matches!(ask, Ask::Put | Ask::Create | Ask::PutAcl) {
        return context.without(kind).without(key).without("s3:x-amz-acl");
    }
    let context = match state.acl.as_deref() {
        Some("") => context,
        Some(acl) => context.with("s3:x-amz-acl", acl),
        None => context.without("s3:x-amz-acl"),
    };
    match &state.encryption {
        Encryption::BucketDefault => context.without(kind).without(key),
        Encryption::Aes256 => context.with(kind, "AES256").without(key),
        Encryption::Kms(id) if id.starts_with("arn:") => context.with(kind, "aws:kms").with(key, id),
        // AWS makes an ARN of an id or alias.
        Encryption::Kms(_) => context.with(kind, "aws:kms"),
        Encryption::NotKnown => context,
    }
}
