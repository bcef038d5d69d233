//! Who makes a request.

use std::fmt;

/// The principal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// A request without a signature.
    Anonymous,
    /// An AWS service, by its name: `logging.s3.amazonaws.com`.
    Service(String),
    /// An identity provider's user, as `sts:AssumeRoleWith…` sees it: the provider's ARN or name.
    Provider(String),
    /// An account's root user.
    Root {
        /// Twelve digits.
        account: String,
    },
    /// An IAM user.
    User {
        /// Twelve digits.
        account: String,
        /// With its path: `arn:aws:iam::111122223333:user/ci/bot`.
        arn: String,
    },
    /// A role's session: what a role acts as.
    Session {
        /// Twelve digits.
        account: String,
        /// The role's name, without its path.
        role: String,
        /// `arn:aws:sts::111122223333:assumed-role/NAME/SESSION`; none where any session of the role is meant.
        session: Option<String>,
        /// The role's ARN with its path, which the session's own ARN does not hold; none where it is not known.
        role_arn: Option<String>,
    },
    /// A session of `sts:GetFederationToken`.
    FederatedUser {
        /// Twelve digits.
        account: String,
        /// `arn:aws:sts::111122223333:federated-user/NAME`.
        arn: String,
    },
}

/// A principal that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalError {
    text: String,
}

impl fmt::Display for PrincipalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "`{}` is no principal; expected the ARN of a user, role, session, federated user or root, a service's \
             name, or `anonymous`",
            self.text
        )
    }
}

impl std::error::Error for PrincipalError {}

/// Whether a text is an account: twelve digits.
#[must_use]
pub fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What an ARN of IAM or STS names. None for anything else.
pub(super) enum Named<'t> {
    Root,
    User,
    /// The role's name.
    Role(&'t str),
    /// The role's name.
    Session(&'t str),
    FederatedUser,
    Provider,
}

/// The account and the kind of an IAM or STS ARN.
pub(super) fn named(arn: &str) -> Option<(&str, Named<'_>)> {
    let [scheme, partition, service, region, account, resource] = super::pattern::arn_parts(arn)?;
    let sound = scheme == "arn"
        && partition.starts_with("aws")
        && region.is_empty()
        && is_account(account)
        && !arn.contains(['*', '?']);
    if !sound {
        return None;
    }
    let (kind, rest) = resource.split_once('/').unwrap_or((resource, ""));
    let last = rest.rsplit('/').next().unwrap_or_default();
    let named = match (service, kind) {
        ("iam", "root") if rest.is_empty() => Named::Root,
        ("iam", "user") if !last.is_empty() => Named::User,
        ("iam", "role") if !last.is_empty() => Named::Role(last),
        ("iam", "oidc-provider" | "saml-provider") if !rest.is_empty() => Named::Provider,
        ("sts", "assumed-role") => {
            let (role, session) = rest.split_once('/')?;
            if role.is_empty() || session.is_empty() {
                return None;
            }
            Named::Session(role)
        }
        ("sts", "federated-user") if !rest.is_empty() => Named::FederatedUser,
        _ => return None,
    };
    Some((account, named))
}

impl Principal {
    /// Reads a principal: the ARN of a root user, user, role, session or federated user, the ARN of an identity
    /// provider, a service's name, or `anonymous` (also `*`). A role stands for any of its sessions.
    ///
    /// # Errors
    ///
    /// Anything else, wildcards included.
    pub fn parse(text: &str) -> Result<Principal, PrincipalError> {
        if text == "*" || text.eq_ignore_ascii_case("anonymous") {
            return Ok(Principal::Anonymous);
        }
        let error = || PrincipalError { text: text.to_owned() };
        let Some((account, named)) = named(text) else {
            let service = text.ends_with(".amazonaws.com") || text.ends_with(".amazonaws.com.cn");
            let sound = service && !text.contains([':', '/', '*', '?', ' ']);
            return if sound { Ok(Principal::Service(text.to_owned())) } else { Err(error()) };
        };
        let (account, arn) = (account.to_owned(), text.to_owned());
        Ok(match named {
            Named::Root => Principal::Root { account },
            Named::User => Principal::User { account, arn },
            Named::FederatedUser => Principal::FederatedUser { account, arn },
            Named::Provider => Principal::Provider(arn),
            Named::Role(role) => {
                Principal::Session { account, role: role.to_owned(), session: None, role_arn: Some(arn) }
            }
            Named::Session(role) => {
                Principal::Session { account, role: role.to_owned(), session: Some(arn), role_arn: None }
            }
        })
    }

    /// Says which role a session belongs to, with its path. An ARN that is not this session's role changes nothing.
    #[must_use]
    pub fn with_role(mut self, arn: &str) -> Principal {
        if let Principal::Session { account, role, role_arn, .. } = &mut self
            && let Some((of, Named::Role(name))) = named(arn)
            && of == account
            && name == role
        {
            *role_arn = Some(arn.to_owned());
        }
        self
    }

    /// The principal's account; none for anonymous requests, services and identity providers.
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        match self {
            Principal::Anonymous | Principal::Service(_) | Principal::Provider(_) => None,
            Principal::Root { account }
            | Principal::User { account, .. }
            | Principal::Session { account, .. }
            | Principal::FederatedUser { account, .. } => Some(account),
        }
    }

    /// Whether it is a service-linked role, which Organizations policies do not limit. Unknown paths are none.
    pub(super) fn is_service_linked(&self) -> bool {
        matches!(self, Principal::Session { role_arn: Some(arn), .. } if arn.contains(":role/aws-service-role/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_of_every_kind() {
        let parse = |text: &str| Principal::parse(text).unwrap();
        assert_eq!(parse("*"), Principal::Anonymous);
        assert_eq!(
            parse("arn:aws:iam::111122223333:root"),
            Principal::Root { account: "111122223333".into() }
        );
        let session = parse("arn:aws:sts::111122223333:assumed-role/tf-apply/run-1");
        let known = session.clone().with_role("arn:aws:iam::111122223333:role/ci/tf-apply");
        assert_ne!(session, known);
        assert_eq!(session.clone().with_role("arn:aws:iam::111122223333:role/ci/other"), session);
        assert_eq!(session.clone().with_role("arn:aws:iam::444455556666:role/tf-apply"), session);
        assert_eq!(known.account(), Some("111122223333"));
        assert_eq!(parse("cloudtrail.amazonaws.com"), Principal::Service("cloudtrail.amazonaws.com".into()));
        assert!(
            parse("arn:aws:iam::111122223333:role/aws-service-role/x.amazonaws.com/R").is_service_linked()
        );
        for text in [
            "",
            "111122223333",
            "arn:aws:iam::111122223333:role/*",
            "arn:aws:iam::1:user/a",
            "arn:aws:iam::111122223333:role/",
            "arn:aws:sts::111122223333:assumed-role/r",
            "arn:aws:s3:::b",
        ] {
            assert!(Principal::parse(text).is_err(), "{text}");
        }
    }
}
