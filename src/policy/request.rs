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
