//! The order in which AWS combines policies (IAM user guide, "policy evaluation logic" and its page on cross-account
//! requests).

use super::decision::{Deciding, Decision, Effect, PolicyKind, Verdict};
use super::document::Compiled;
use super::grantee::Grant;
use super::missing::{Gaps, Missing};
use super::principal::Principal;
use super::request::Request;
use super::statement::Statement;
use super::tri::Tri;

/// The policies at one place of the order.
#[derive(Debug, Clone, Default)]
pub enum Layer<'p> {
    /// There is nothing here, and nothing is limited by it: no bucket policy, no boundary, no session policy.
    #[default]
    Absent,
    /// These policies, together. An empty list allows nothing.
    Known(Vec<&'p Compiled>),
    /// There may be policies here, but nobody could read them: they may allow and deny anything.
    NotKnown,
}

impl<'p> Layer<'p> {
    /// These policies, together.
    #[must_use]
    pub fn of(policies: &'p [Compiled]) -> Layer<'p> {
        Layer::Known(policies.iter().collect())
    }
}

/// All policies that meet a request.
#[derive(Debug, Clone, Default)]
pub struct Policies<'p> {
    /// Attached to the user, its groups or the role.
    pub identity: Layer<'p>,
    /// The bucket policy, key policy or trust policy.
    pub resource: Layer<'p>,
    /// The permissions boundary of the user or role.
    pub boundary: Layer<'p>,
    /// Given when the session began.
    pub session: Layer<'p>,
    /// Service control policies of the principal's account, one entry for each level. None for accounts outside of an
    /// organization, and for its management account: SCPs do not limit that.
    pub scps: Vec<Layer<'p>>,
    /// Resource control policies of the resource's account, one entry for each level. Only their Deny statements count:
    /// AWS keeps a policy that allows everything at each level.
    pub rcps: Vec<Layer<'p>>,
    /// The policy of the VPC endpoint that the request comes through.
    pub endpoint: Layer<'p>,
}

/// What the policies of one place say together.
#[derive(Debug, Clone, Copy)]
struct Tally {
    deny: Tri,
    allow: Grant,
}

/// A statement that may apply.
struct Seen<'p> {
    kind: PolicyKind,
    level: usize,
    policy: usize,
    index: usize,
    statement: &'p Statement,
    certain: bool,
    gaps: Gaps,
}

struct Evaluation<'r, 'p> {
    request: &'r Request,
    /// Whether the principal has a permissions boundary.
    bounded: Tri,
    /// The root user of the resource's account, at an action that no bucket policy can take from it.
    root_keeps: bool,
    seen: Vec<Seen<'p>>,
    /// What is missing besides what statements miss.
    gaps: Gaps,
    /// Scratch.
    found: Gaps,
}

/// Bucket policies cannot lock the owner's root user out of these (S3 API, `PutBucketPolicy`).
const ROOT_KEEPS: [&str; 3] = ["s3:getbucketpolicy", "s3:putbucketpolicy", "s3:deletebucketpolicy"];

impl<'p> Evaluation<'_, 'p> {
    fn layer(&mut self, kind: PolicyKind, level: usize, layer: &Layer<'p>) -> Tally {
        let mut tally = Tally { deny: Tri::No, allow: Grant::NONE };
        let policies = match layer {
            Layer::Absent => return tally,
            Layer::NotKnown => {
                self.gaps.push(Missing::Policies(kind));
                return Tally { deny: Tri::Unknown, allow: Grant::OPEN };
            }
            Layer::Known(policies) => policies,
        };
        for (policy, compiled) in policies.iter().enumerate() {
            for (index, statement) in compiled.statements().iter().enumerate() {
                let (may_deny, may_allow) = match statement.effect {
                    Effect::Deny => (true, false),
                    Effect::Allow => (false, true),
                    Effect::NotUnderstood => (true, true),
                };
                let keeps = self.root_keeps && kind == PolicyKind::Resource;
                let counts = (may_deny && !keeps) || (may_allow && kind != PolicyKind::Rcp);
                if !counts {
                    continue;
                }
                self.found.clear();
                let (applies, grant) = statement.applies(self.request, kind, self.bounded, &mut self.found);
                if applies == Tri::No {
                    continue;
                }
                if may_deny && !keeps {
                    tally.deny = tally.deny.or(applies);
                }
                if may_allow {
                    tally.allow = tally.allow.or(grant);
                }
                let certain = if may_deny { applies == Tri::Yes } else { self.found.is_empty() };
                let gaps = if certain { Gaps::new() } else { std::mem::take(&mut self.found) };
                self.seen.push(Seen { kind, level, policy, index, statement, certain, gaps });
            }
        }
        tally
    }

    /// A place that limits only where it exists.
    fn limit(&mut self, kind: PolicyKind, level: usize, layer: &Layer<'p>) -> (Tri, Tri) {
        let tally = self.layer(kind, level, layer);
        let allow = if matches!(layer, Layer::Absent) { Tri::Yes } else { tally.allow.any() };
        (tally.deny, allow)
    }
}

/// What each place allows.
#[derive(Debug, Clone, Copy)]
struct Sides {
    /// The principal's own policies, before boundary and session.
    identity: Tri,
    resource: Grant,
    boundary: Tri,
    session: Tri,
    /// All SCP levels together.
    scps: Tri,
    endpoint: Tri,
}

/// Who stands where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    SameAccount,
    /// As above, but the resource's policy must have its say: KMS keys and roles' trust policies.
    SameAccountAskingOwner,
    CrossAccount,
    /// Anonymous requests, services, identity providers: there is only the resource's policy.
    NoIdentity,
}

impl Sides {
    /// What the resource's policy grants without the principal's own policies.
    fn granted(&self) -> Tri {
        let everyone = self.resource.everyone.and(self.session.or(Tri::Unknown));
        let role = self.resource.role.and(self.boundary).and(self.session);
        self.resource.direct.or(everyone).or(role)
    }

    fn allow(&self, relation: Relation) -> Tri {
        let own = self.identity.and(self.boundary).and(self.session);
        let allowed = match relation {
            Relation::SameAccount => self.granted().or(own),
            Relation::SameAccountAskingOwner => self.granted().or(self.resource.account.and(own)),
            Relation::CrossAccount => self.resource.any().and(own),
            Relation::NoIdentity => self.resource.any(),
        };
        allowed.and(self.scps).and(self.endpoint)
    }

    /// Whether the answer hangs on what a session policy does to a grant to everyone.
    fn hangs_on_session(&self) -> bool {
        self.resource.everyone != Tri::No && self.session == Tri::No && self.granted() == Tri::Unknown
    }

    /// Where an Allow is certainly missing.
    fn withheld(&self, relation: Relation) -> Vec<PolicyKind> {
        let no = |tri: Tri| tri == Tri::No;
        let (identity, resource) = match relation {
            // Either is enough.
            Relation::SameAccount => {
                let granted = self.resource.direct.or(self.resource.everyone).or(self.resource.role);
                let neither = no(self.identity.or(granted));
                (neither, neither)
            }
            Relation::SameAccountAskingOwner => {
                (no(self.identity) && !no(self.resource.account), no(self.resource.any()))
            }
            Relation::CrossAccount => (no(self.identity), no(self.resource.any())),
            Relation::NoIdentity => (false, no(self.resource.any())),
        };
        let limited = relation != Relation::NoIdentity;
        let places = [
            (PolicyKind::Identity, identity),
            (PolicyKind::Resource, resource),
            (PolicyKind::Boundary, limited && no(self.boundary)),
            (PolicyKind::Session, limited && no(self.session)),
            (PolicyKind::Scp, no(self.scps)),
            (PolicyKind::Endpoint, no(self.endpoint)),
        ];
        places.into_iter().filter_map(|(kind, missing)| missing.then_some(kind)).collect()
    }
}

/// Whether the owner's policy must agree even within one account. A KMS key always has a policy; without one at hand it
/// is taken to be the default one, which delegates to the account.
fn asks_owner(request: &Request, policies: &Policies<'_>) -> bool {
    let action = request.action.as_str();
    let asks = action.starts_with("kms:") || action.starts_with("sts:assumerole");
    asks && !matches!(policies.resource, Layer::Absent)
}

/// Decides a request. Pure, and the same for the same input.
#[must_use]
pub fn decide(request: &Request, policies: &Policies<'_>) -> Decision {
    let principal = &request.principal;
    let root = matches!(principal, Principal::Root { .. });
    let same_account = match (principal.account(), request.resource_account.as_deref()) {
        (Some(own), Some(owner)) => Tri::from(own == owner),
        _ => Tri::Unknown,
    };
    let mut evaluation = Evaluation {
        request,
        bounded: match &policies.boundary {
            Layer::Absent => Tri::No,
            Layer::Known(_) => Tri::Yes,
            Layer::NotKnown => Tri::Unknown,
        },
        root_keeps: root && same_account == Tri::Yes && ROOT_KEEPS.contains(&request.action.as_str()),
        seen: Vec::new(),
        gaps: Gaps::new(),
        found: Gaps::new(),
    };
    let has_identity = principal.account().is_some();
    let mut deny = Tri::No;

    let identity = evaluation.layer(PolicyKind::Identity, 0, &policies.identity);
    let resource = evaluation.layer(PolicyKind::Resource, 0, &policies.resource);
    let (boundary_denies, boundary) = evaluation.limit(PolicyKind::Boundary, 0, &policies.boundary);
    let (session_denies, session) = evaluation.limit(PolicyKind::Session, 0, &policies.session);
    for denies in [identity.deny, resource.deny, boundary_denies, session_denies] {
        deny = deny.or(denies);
    }
    let mut scps = Tri::Yes;
    let in_reach = !principal.is_service_linked();
    if has_identity && in_reach {
        for (level, layer) in policies.scps.iter().enumerate() {
            let (denies, allows) = evaluation.limit(PolicyKind::Scp, level, layer);
            deny = deny.or(denies);
            scps = scps.and(allows);
        }
    }
    if in_reach {
        for (level, layer) in policies.rcps.iter().enumerate() {
            deny = deny.or(evaluation.layer(PolicyKind::Rcp, level, layer).deny);
        }
    }
    let (endpoint_denies, endpoint) = evaluation.limit(PolicyKind::Endpoint, 0, &policies.endpoint);
    deny = deny.or(endpoint_denies);

    let sides = Sides {
        // The root user may do everything in its account.
        identity: if root { Tri::Yes } else { identity.allow.any() },
        resource: resource.allow,
        boundary,
        session,
        scps,
        endpoint,
    };
    let asking = asks_owner(request, policies);
    let same = if asking { Relation::SameAccountAskingOwner } else { Relation::SameAccount };
    let relation = match (has_identity, same_account) {
        (false, _) => Relation::NoIdentity,
        (true, Tri::Yes) => same,
        (true, _) => Relation::CrossAccount,
    };
    let mut allow = sides.allow(relation);
    if has_identity && same_account == Tri::Unknown && allow != sides.allow(same) {
        allow = Tri::Unknown;
        evaluation.gaps.push(Missing::Request("the account that owns the resource".to_owned()));
    }
    if has_identity && same_account != Tri::No && sides.hangs_on_session() {
        let why = "whether a session policy limits what a resource's policy grants to everyone";
        evaluation.gaps.push(Missing::NotDocumented(why.to_owned()));
    }
    conclude(evaluation, deny, allow, || sides.withheld(relation))
}

/// The verdict, and the statements that made it.
fn conclude(
    evaluation: Evaluation<'_, '_>,
    deny: Tri,
    allow: Tri,
    withheld: impl FnOnce() -> Vec<PolicyKind>,
) -> Decision {
    let verdict = match (deny, allow) {
        (Tri::Yes, _) => Verdict::ExplicitlyDenied,
        (_, Tri::No) => Verdict::ImplicitlyDenied,
        (Tri::No, Tri::Yes) => Verdict::Allowed,
        _ => Verdict::Unknown,
    };
    let decides = |seen: &Seen<'_>| match (verdict, seen.statement.effect) {
        (Verdict::ExplicitlyDenied, effect) => effect == Effect::Deny && seen.certain,
        (Verdict::ImplicitlyDenied, _) => false,
        (Verdict::Allowed, effect) => effect == Effect::Allow && seen.certain,
        (Verdict::Unknown, Effect::Allow) => seen.certain || allow == Tri::Unknown,
        (Verdict::Unknown, _) => true,
    };
    let mut statements: Vec<Deciding> = evaluation
        .seen
        .into_iter()
        .filter(decides)
        .map(|seen| Deciding {
            kind: seen.kind,
            level: seen.level,
            policy: seen.policy,
            index: seen.index,
            sid: seen.statement.sid.clone(),
            effect: seen.statement.effect,
            missing: sorted(seen.gaps),
        })
        .collect();
    statements.sort_by_key(|deciding| (deciding.kind, deciding.level, deciding.policy, deciding.index));
    let missing = match verdict {
        Verdict::Unknown => {
            let open = statements.iter().flat_map(|deciding| deciding.missing.iter().cloned());
            sorted(open.chain(evaluation.gaps).collect())
        }
        _ => Vec::new(),
    };
    let withheld = if verdict == Verdict::ImplicitlyDenied { withheld() } else { Vec::new() };
    Decision { verdict, statements, missing, withheld }
}

fn sorted(mut gaps: Gaps) -> Vec<Missing> {
    gaps.sort();
    gaps.dedup();
    gaps
}
