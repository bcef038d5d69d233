//! The kinds of policies that are asked about one request.

/// Where a policy stands in AWS's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyKind {
    /// Attached to the user, its groups or the role.
    Identity,
    /// The bucket policy, key policy or trust policy.
    Resource,
    /// The permissions boundary.
    Boundary,
    /// Given when the session began.
    Session,
    /// Service control policies of one level of the organization.
    Scp,
    /// Resource control policies of one level of the organization.
    Rcp,
    /// The policy of the VPC endpoint that the request comes through.
    Endpoint,
}

impl PolicyKind {
    /// The name as `policy decide` prints it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PolicyKind::Identity => "identity",
            PolicyKind::Resource => "resource",
            PolicyKind::Boundary => "boundary",
            PolicyKind::Session => "session",
            PolicyKind::Scp => "scp",
            PolicyKind::Rcp => "rcp",
            PolicyKind::Endpoint => "endpoint",
        }
    }

    /// In a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            PolicyKind::Identity => "the principal's policies",
            PolicyKind::Resource => "the resource's policy",
            PolicyKind::Boundary => "the permissions boundary",
            PolicyKind::Session => "the session policies",
            PolicyKind::Scp => "service control policies",
            PolicyKind::Rcp => "resource control policies",
            PolicyKind::Endpoint => "the VPC endpoint's policy",
        }
    }

    /// Whether its statements name principals.
    pub(super) fn names_principals(self) -> bool {
        matches!(self, PolicyKind::Resource | PolicyKind::Rcp | PolicyKind::Endpoint)
    }
}
