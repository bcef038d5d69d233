//! Whom a statement names: the elements `Principal` and `NotPrincipal`, and how they meet a request's principal. How
//! a principal is named decides what limits a grant (IAM user guide, "policy evaluation logic" and "principal").

use super::json::Json;
use super::missing::{Gaps, Missing};
use super::principal::{Named, Principal, is_account, named};
use super::tri::Tri;

/// One entry of `Principal` or `NotPrincipal`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Grantee {
    /// `"*"`.
    Everyone,
    /// `{"AWS": "*"}`.
    EveryoneOfAws,
    /// The account's ID or its `:root`.
    Account(String),
    User(String),
    /// ARN, account, name.
    Role(String, String, String),
    /// ARN, account, name of the role.
    Session(String, String, String),
    FederatedUser(String),
    Service(String),
    Provider(String),
    /// A canonical user: one account, but we cannot say which.
    Canonical,
    /// `AROA…`, `AIDA…`: what AWS shows in place of a deleted role or user. It matches nobody.
    Deleted,
    Odd(String),
}

/// How a statement names a principal. Each way has its own limits in the principal's own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    /// By its own ARN: nothing but an explicit Deny limits it.
    pub direct: Tri,
    /// As everyone: no boundary limits it; whether a session policy does is not documented.
    pub everyone: Tri,
    /// A session, by its role: boundary and session policy limit it.
    pub role: Tri,
    /// By its account: only delegates.
    pub account: Tri,
}

impl Grant {
    pub(super) const NONE: Grant =
        Grant { direct: Tri::No, everyone: Tri::No, role: Tri::No, account: Tri::No };
    /// It may be in any way.
    pub(super) const OPEN: Grant =
        Grant { direct: Tri::Unknown, everyone: Tri::Unknown, role: Tri::Unknown, account: Tri::Unknown };

    /// In any way.
    pub(super) fn any(self) -> Tri {
        self.direct.or(self.everyone).or(self.role).or(self.account)
    }

    pub(super) fn or(self, other: Grant) -> Grant {
        Grant {
            direct: self.direct.or(other.direct),
            everyone: self.everyone.or(other.everyone),
            role: self.role.or(other.role),
            account: self.account.or(other.account),
        }
    }

    pub(super) fn and(self, limit: Tri) -> Grant {
        Grant {
            direct: self.direct.and(limit),
            everyone: self.everyone.and(limit),
            role: self.role.and(limit),
            account: self.account.and(limit),
        }
    }

    fn direct(direct: Tri) -> Grant {
        Grant { direct, ..Grant::NONE }
    }

    fn everyone(everyone: Tri) -> Grant {
        Grant { everyone, ..Grant::NONE }
    }
}

/// Whom a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grantees {
    entries: Vec<Grantee>,
    /// `NotPrincipal`.
    negated: bool,
}

impl Grantees {
    /// Reads the element's value; entries that are not understood are kept.
    pub(super) fn new(value: &Json, negated: bool) -> Grantees {
        let mut entries = Vec::new();
        match value {
            Json::Text(text) if text == "*" => entries.push(Grantee::Everyone),
            Json::Object(members) if !members.is_empty() => {
                for (kind, values) in members {
                    entries.extend(values.items().iter().map(|value| Grantee::new(kind, value.as_text())));
                }
            }
            _ => entries.push(Grantee::Odd("its value".to_owned())),
        }
        Grantees { entries, negated }
    }

    /// How the statement names `principal`. `bounded`: whether the principal has a permissions boundary.
    pub(super) fn grant(&self, principal: &Principal, bounded: Tri, gaps: &mut Gaps) -> Grant {
        if self.negated {
            return Grant::direct(self.excepts(principal, bounded, gaps));
        }
        let before = gaps.len();
        let mut grant = Grant::NONE;
        for entry in &self.entries {
            grant = grant.or(entry.grant(principal, gaps));
        }
        if grant.direct == Tri::Yes {
            gaps.truncate(before);
        }
        grant
    }

    /// Whether a statement with this `NotPrincipal` is about `principal`. AWS checks the account first, then the role,
    /// then the session, and always denies principals with a permissions boundary; what it does with a session that is
    /// not listed while its role and account are is documented in two ways.
    fn excepts(&self, principal: &Principal, bounded: Tri, gaps: &mut Gaps) -> Tri {
        let mut listed = Grant::NONE;
        let mut found = Gaps::new();
        for entry in &self.entries {
            listed = listed.or(entry.grant(principal, &mut found));
        }
        if self.entries.iter().any(|entry| matches!(entry, Grantee::Everyone | Grantee::EveryoneOfAws)) {
            return !listed.everyone;
        }
        let not_listed = match principal {
            Principal::Anonymous
            | Principal::Service(_)
            | Principal::Provider(_)
            | Principal::Root { .. } => !listed.any(),
            Principal::User { .. } | Principal::FederatedUser { .. } => !listed.account.and(listed.direct),
            Principal::Session { .. } => match (listed.account, listed.role, listed.direct) {
                (Tri::Yes, Tri::Yes, Tri::Yes) => Tri::No,
                (Tri::No, _, _) | (_, Tri::No, Tri::No) => Tri::Yes,
                _ => {
                    found.push(Missing::NotDocumented(
                        "whether NotPrincipal excepts a role's session of which not session, role and account are \
                         all listed"
                            .to_owned(),
                    ));
                    Tri::Unknown
                }
            },
        };
        let answer = not_listed.or(bounded);
        if answer == Tri::Unknown {
            if bounded == Tri::Unknown {
                found.push(Missing::Request("whether the principal has a permissions boundary".to_owned()));
            }
            gaps.append(&mut found);
        }
        answer
    }
}

impl Grantee {
    fn new(kind: &str, value: Option<&str>) -> Grantee {
        let Some(text) = value else { return Grantee::Odd(format!("a value of `{kind}`")) };
        match kind {
            "AWS" => Grantee::aws(text),
            "Service" if !text.contains(['*', '?']) => Grantee::Service(text.to_owned()),
            "Federated" if !text.contains(['*', '?']) => Grantee::Provider(text.to_owned()),
            "CanonicalUser" => Grantee::Canonical,
            _ => Grantee::Odd(format!("`{kind}: {text}`")),
        }
    }

    fn aws(text: &str) -> Grantee {
        if text == "*" {
            return Grantee::EveryoneOfAws;
        }
        if is_account(text) {
            return Grantee::Account(text.to_owned());
        }
        if let Some((account, kind)) = named(text) {
            let (arn, account) = (text.to_owned(), account.to_owned());
            return match kind {
                Named::Root => Grantee::Account(account),
                Named::User => Grantee::User(arn),
                Named::Role(name) => Grantee::Role(arn, account, name.to_owned()),
                Named::Session(name) => Grantee::Session(arn, account, name.to_owned()),
                Named::FederatedUser => Grantee::FederatedUser(arn),
                Named::Provider => Grantee::Odd(format!("`AWS: {text}`")),
            };
        }
        let unique = ["AROA", "AIDA", "ASIA", "AKIA", "AGPA", "ANPA"].iter().any(|id| text.starts_with(id));
        if unique && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
            return Grantee::Deleted;
        }
        Grantee::Odd(format!("`AWS: {text}`"))
    }

    fn grant(&self, principal: &Principal, gaps: &mut Gaps) -> Grant {
        match self {
            Grantee::Everyone => Grant::everyone(Tri::Yes),
            Grantee::EveryoneOfAws => match principal {
                Principal::Service(_) | Principal::Provider(_) => {
                    gaps.push(Missing::NotDocumented(
                        "whether `{\"AWS\": \"*\"}` means services and identity providers".to_owned(),
                    ));
                    Grant::everyone(Tri::Unknown)
                }
                _ => Grant::everyone(Tri::Yes),
            },
            Grantee::Account(account) => {
                let same = Tri::from(principal.account() == Some(account));
                match principal {
                    Principal::Root { .. } => Grant::direct(same),
                    _ => Grant { account: same, ..Grant::NONE },
                }
            }
            Grantee::User(arn) => match principal {
                Principal::User { arn: own, .. } => Grant::direct((own == arn).into()),
                Principal::FederatedUser { account, .. } if arn.contains(account.as_str()) => {
                    gaps.push(Missing::Request("the user that a federated session belongs to".to_owned()));
                    Grant { role: Tri::Unknown, ..Grant::NONE }
                }
                _ => Grant::NONE,
            },
            Grantee::Role(arn, of, name) => match principal {
                Principal::Session { role_arn: Some(own), .. } => {
                    Grant { role: (own == arn).into(), ..Grant::NONE }
                }
                Principal::Session { account, role, role_arn: None, .. } if account == of && role == name => {
                    gaps.push(Missing::Request(format!("the path of the role `{role}` (aws:PrincipalArn)")));
                    Grant { role: Tri::Unknown, ..Grant::NONE }
                }
                _ => Grant::NONE,
            },
            Grantee::Session(arn, of, name) => match principal {
                Principal::Session { session: Some(own), .. } => Grant::direct((own == arn).into()),
                Principal::Session { session: None, account, role, .. } if account == of && role == name => {
                    gaps.push(Missing::Request(format!("the name of the session of the role `{role}`")));
                    Grant::direct(Tri::Unknown)
                }
                _ => Grant::NONE,
            },
            Grantee::FederatedUser(arn) => match principal {
                Principal::FederatedUser { arn: own, .. } => Grant::direct((own == arn).into()),
                _ => Grant::NONE,
            },
            Grantee::Service(name) => match principal {
                Principal::Service(own) => Grant::direct((own == name).into()),
                _ => Grant::NONE,
            },
            Grantee::Provider(name) => match principal {
                Principal::Provider(own) => Grant::direct((own == name).into()),
                _ => Grant::NONE,
            },
            Grantee::Canonical => match principal.account() {
                Some(_) => {
                    gaps.push(Missing::Request("which account a canonical user ID belongs to".to_owned()));
                    Grant { account: Tri::Unknown, ..Grant::NONE }
                }
                None => Grant::NONE,
            },
            Grantee::Deleted => Grant::NONE,
            Grantee::Odd(what) => {
                gaps.push(Missing::NotUnderstood(format!("{what} of a principal")));
                Grant::OPEN
            }
        }
    }
}
