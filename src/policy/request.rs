//! One request, ready to be decided.

use super::context::{Context, Entry};
use super::pattern::arn_parts;
use super::principal::Principal;

/// Whether a text is one action: `service:Name`, without wildcards.
#[must_use]
pub fn is_action(text: &str) -> bool {
    let named = text.split_once(':').is_some_and(|(service, name)| !service.is_empty() && !name.is_empty());
    named && !text.contains(['*', '?'])
}

/// Whether a text is one resource: an ARN, or `*` for actions without one.
#[must_use]
pub fn is_resource(text: &str) -> bool {
    text == "*" || arn_parts(text).is_some_and(|[scheme, ..]| scheme == "arn")
}

/// Who wants to do what to which resource.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) principal: Principal,
    /// In lower case: actions have no case.
    pub(super) action: String,
    pub(super) resource: String,
    pub(super) resource_account: Option<String>,
    pub(super) context: Context,
}

/// What is wrong where a principal and a resource are of different partitions: no request crosses them. Both are ARNs;
/// what is none crosses nothing.
#[must_use]
pub fn crosses_partitions(principal: &str, resource: &str) -> Option<String> {
    let ([_, of, ..], [_, other, ..]) = (arn_parts(principal)?, arn_parts(resource)?);
    (of != other).then(|| {
        format!("the principal is of partition `{of}` and the resource of `{other}`: no request crosses partitions")
    })
}

/// What is wrong where an account is said to own a resource whose ARN holds another one. ARNs of S3 hold none.
#[must_use]
pub fn contradicts_owner(resource: &str, account: &str) -> Option<String> {
    let [.., of, _] = arn_parts(resource)?;
    (super::is_account(of) && of != account)
        .then(|| format!("`{resource}` is of account {of}, and account {account} is said to own it"))
}

/// What is wrong where `aws:PrincipalArn` is not what AWS would say of the principal: it holds the ARN of a session's
/// role, and of anybody else the principal's own. The role of a session may have any path.
#[must_use]
pub fn contradicts_principal(principal: &Principal, context: &Context) -> Option<String> {
    let Entry::Values(values) = context.of("aws:principalarn") else { return None };
    let [given] = values.as_slice() else { return None };
    let expected = match principal {
        Principal::Anonymous | Principal::Service(_) | Principal::Provider(_) => return None,
        Principal::Root { account } => {
            let root = arn_parts(given).is_some_and(|[_, _, service, _, of, resource]| {
                service == "iam" && of == account && resource == "root"
            });
            if root {
                return None;
            }
            format!("the ARN of account {account}'s root user")
        }
        Principal::User { arn, .. } | Principal::FederatedUser { arn, .. } => {
            if given == arn {
                return None;
            }
            format!("`{arn}`")
        }
        Principal::Session { role_arn: Some(arn), .. } => {
            if given == arn {
                return None;
            }
            format!("`{arn}`")
        }
        Principal::Session { account, role, .. } => {
            if principal.clone().with_role(given) != *principal {
                return None;
            }
            format!("the ARN of role `{role}` of account {account}, with its path")
        }
    };
    Some(format!("aws:PrincipalArn is `{given}`, and the principal's is {expected}"))
}

impl Request {
    /// A request. `action` is `service:Name`; `resource` an ARN, or `*` for actions without one. A session's role is
    /// taken from `aws:PrincipalArn`, where the context has it.
    #[must_use]
    pub fn new(principal: Principal, action: &str, resource: &str, context: Context) -> Request {
        let principal = match context.of("aws:principalarn") {
            Entry::Values(values) => match values.as_slice() {
                [arn] => principal.with_role(arn),
                _ => principal,
            },
            _ => principal,
        };
        let owner = arn_parts(resource).map(|[.., account, _]| account).filter(|account| !account.is_empty());
        Request {
            principal,
            action: action.to_ascii_lowercase(),
            resource: resource.to_owned(),
            resource_account: owner.map(str::to_owned),
            context,
        }
    }

    /// Says which account owns the resource: ARNs of S3 do not.
    #[must_use]
    pub fn owned_by(mut self, account: &str) -> Request {
        self.resource_account = Some(account.to_owned());
        self
    }

    /// Says that nothing is known of a condition key: see [`Context::not_known`].
    #[must_use]
    pub fn not_known(mut self, key: &str) -> Request {
        self.context = self.context.not_known(key);
        self
    }

    /// The principal, with its role where that is known.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Whether a signed request's context says nothing of `aws:PrincipalArn`, which AWS always adds.
    #[must_use]
    pub fn lacks_principal_arn(&self) -> bool {
        self.principal.account().is_some() && *self.context.of("aws:principalarn") == Entry::Absent
    }

    /// Fills in the keys that AWS derives from the principal itself and that the context does not hold yet:
    /// `aws:PrincipalArn`, `aws:PrincipalAccount` and `aws:PrincipalType`. The ARN of a role whose path is not known is
    /// marked as not known.
    #[must_use]
    pub fn with_principal_keys(mut self) -> Request {
        let Some(account) = self.principal.account().map(str::to_owned) else { return self };
        let (arn, kind) = match &self.principal {
            Principal::Root { account } => (Some(format!("arn:aws:iam::{account}:root")), "Account"),
            Principal::User { arn, .. } => (Some(arn.clone()), "User"),
            Principal::FederatedUser { arn, .. } => (Some(arn.clone()), "FederatedUser"),
            Principal::Session { role_arn, .. } => (role_arn.clone(), "AssumedRole"),
            _ => return self,
        };
        let arn = arn.map_or(Entry::NotKnown, |arn| Entry::Values(vec![arn]));
        let derived = [
            ("aws:PrincipalArn", arn),
            ("aws:PrincipalAccount", Entry::Values(vec![account])),
            ("aws:PrincipalType", Entry::Values(vec![kind.to_owned()])),
        ];
        for (key, entry) in derived {
            if !matches!(self.context.entry(key), Entry::Values(_)) {
                self.context = self.context.with_entry(key, entry);
            }
        }
        self
    }

    pub(super) fn resource_parts(&self) -> Option<[&str; 6]> {
        arn_parts(&self.resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_s_arn_is_the_one_that_aws_would_add() {
        let iam = |rest: &str| format!("arn:aws:iam::111122223333:{rest}");
        let session = "arn:aws:sts::111122223333:assumed-role/tf/x".to_owned();
        let contradicts = |principal: &str, arn: &str| {
            let context = Context::new().with_entry("aws:PrincipalArn", Entry::Values(vec![arn.to_owned()]));
            contradicts_principal(&Principal::parse(principal).unwrap(), &context).is_some()
        };
        for (principal, arn) in [
            (&session, iam("role/tf")),
            (&session, iam("role/ci/tf")),
            (&iam("role/ci/tf"), iam("role/ci/tf")),
            (&iam("user/ada"), iam("user/ada")),
            (&iam("root"), iam("root")),
            (&"anonymous".to_owned(), iam("role/tf")),
        ] {
            assert!(!contradicts(principal, &arn), "{principal} {arn}");
        }
        for (principal, arn) in [
            (&session, iam("role/other")),
            (&session, iam("user/tf")),
            (&session, session.clone()),
            (&session, "arn:aws:iam::444455556666:role/tf".to_owned()),
            (&iam("role/ci/tf"), iam("role/tf")),
            (&iam("user/ada"), iam("user/bob")),
            (&iam("root"), iam("user/ada")),
            (&iam("root"), "arn:aws:iam::444455556666:root".to_owned()),
        ] {
            assert!(contradicts(principal, &arn), "{principal} {arn}");
        }
        let unknown = Context::new().not_known("aws:PrincipalArn");
        assert_eq!(contradicts_principal(&Principal::parse(&session).unwrap(), &unknown), None);
    }

    #[test]
    fn an_arn_that_holds_an_account_says_who_owns_the_resource() {
        let owner = |arn: &str| contradicts_owner(arn, "111122223333").is_some();
        assert!(owner("arn:aws:kms:eu-west-1:444455556666:key/k"));
        assert!(owner("arn:aws:iam::444455556666:role/r"));
        for arn in
            ["arn:aws:kms:eu-west-1:111122223333:key/k", "arn:aws:s3:::b/k", "*", "arn:aws:iam::aws:policy/P"]
        {
            assert!(!owner(arn), "{arn}");
        }
    }
}
