//! Principals that are asked about: those of the accounts that were read, roles that the configuration names, and
//! made-up ones that show what the bucket's policy lets anybody do.

use super::super::context::{Context, Entry};
use super::super::principal::Principal;
use super::docs::Place;
use super::output::Part;

/// Rights of an administrator.
pub(super) const EVERYTHING: &str =
    r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"#;

/// The role that stands for any role with wide rights.
pub(super) const STRANGER: &str = "lockshift-any-role";

/// Somebody who may do things.
#[derive(Debug, Clone)]
pub(super) struct Actor<'a> {
    /// For messages: the ARN, or words.
    pub(super) shown: String,
    /// The ARN; none for anonymous callers.
    pub(super) arn: Option<String>,
    pub(super) principal: Principal,
    pub(super) account: Option<String>,
    pub(super) part: Part,
    /// Why it was taken for its part, where that is a guess.
    pub(super) guess: Option<String>,
    /// It is made up, or its policies are.
    pub(super) assumed: bool,
    pub(super) identity: Place<'a>,
    pub(super) boundary: Place<'a>,
    /// By level; none where nobody supplied any.
    pub(super) scps: Option<Vec<Place<'a>>>,
    pub(super) context: Context,
    /// Which of the input's principals it is.
    pub(super) of: Option<usize>,
}

/// What is known of every request: it is signed, comes over TLS, directly and not through an access point. A caller
/// chooses these; the rest may be anything.
pub(super) fn base_context(region: Option<&str>, owner: Option<&str>) -> Context {
    let mut context = Context::of_unknown_origin()
        .with("aws:SecureTransport", "true")
        .with("aws:ViaAWSService", "false")
        .with("aws:PrincipalIsAWSService", "false")
        .with("s3:authType", "REST-HEADER")
        .with("s3:signatureversion", "AWS4-HMAC-SHA256")
        .with("s3:TlsVersion", "1.3")
        .with("s3:ObjectCreationOperation", "true")
        .without("aws:PrincipalServiceName")
        .without("aws:PrincipalServiceNamesList")
        .without("aws:CalledVia")
        .without("aws:CalledViaFirst")
        .without("aws:CalledViaLast")
        .without("aws:SourceArn")
        .without("aws:SourceAccount")
        .without("aws:SourceOrgID")
        .without("s3:DataAccessPointArn")
        .without("s3:DataAccessPointAccount")
        .without("s3:AccessPointNetworkOrigin")
        .without("s3:if-match")
        .without("s3:if-none-match");
    if let Some(region) = region {
        context = context.with("aws:RequestedRegion", region);
    }
    if let Some(owner) = owner {
        context = context.with("aws:ResourceAccount", owner).with("s3:ResourceAccount", owner);
    }
    context
}

/// What else is known of somebody's requests.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Traits<'t> {
    /// Empty where it is not known.
    pub(super) unique_id: &'t str,
    /// None where tags are not known.
    pub(super) tags: Option<&'t [(&'t str, &'t str)]>,
    /// A role's sessions can bring tags of their own.
    pub(super) session_tags: bool,
    /// Names of sessions matter to some policy.
    pub(super) session_names_matter: bool,
}

/// The keys that AWS derives from the principal. `tag_keys` are the tags that any policy asks for, in lower case.
pub(super) fn principal_context(
    context: &Context,
    principal: &Principal,
    arn: &str,
    traits: Traits<'_>,
    tag_keys: &[String],
) -> Context {
    let Some(account) = principal.account() else {
        let mut context = context.clone().with("aws:PrincipalType", "Anonymous");
        for key in ["aws:PrincipalArn", "aws:PrincipalAccount", "aws:userid", "aws:username"] {
            context = context.without(key);
        }
        for key in ["aws:PrincipalOrgID", "aws:PrincipalOrgPaths", "aws:MultiFactorAuthPresent"] {
            context = context.without(key);
        }
        return tag_keys.iter().fold(context, |context, key| context.without(key));
    };
    let mut context = context.clone().with("aws:PrincipalArn", arn).with("aws:PrincipalAccount", account);
    let id = traits.unique_id;
    let (kind, userid) = match principal {
        Principal::Root { .. } => ("Account", Some(account.to_owned())),
        Principal::User { .. } => ("User", (!id.is_empty()).then(|| id.to_owned())),
        _ => {
            ("AssumedRole", (!id.is_empty() && !traits.session_names_matter).then(|| format!("{id}:session")))
        }
    };
    context = context.with("aws:PrincipalType", kind);
    context = context.with_entry("aws:userid", userid.map_or(Entry::NotKnown, |id| Entry::Values(vec![id])));
    context = match (principal, arn.rsplit('/').next()) {
        (Principal::User { .. }, Some(name)) => context.with("aws:username", name),
        _ => context.without("aws:username"),
    };
    let Some(tags) = traits.tags else { return context };
    for key in tag_keys {
        let name = key.strip_prefix("aws:principaltag/").unwrap_or(key);
        let own = tags.iter().find(|(tag, _)| tag.eq_ignore_ascii_case(name));
        context = match own {
            _ if traits.session_tags => context.not_known(key),
            Some((_, value)) => context.with(key, value),
            None => context.without(key),
        };
    }
    context
}
