//! Everything of one judgement in one place: keys, compiled policies, principals, and how to ask about them.

use super::super::decision::{Deciding, Decision, PolicyKind};
use super::super::evaluate::{Policies, decide};
use super::super::request::Request;
use super::actor::Actor;
use super::asker::Asker;
use super::docs::{Docs, Matrix, Place};
use super::input::{AccessInput, KmsInput, PrincipalInput};
use super::keys::Key;
use super::output::Part;
use super::point::Point;
use super::shape::{Shape, reference};

/// How the bucket's policy is called.
pub(super) const BUCKET_POLICY: &str = "the bucket policy";

/// See the module.
#[derive(Debug)]
pub(super) struct World<'a> {
    pub(super) input: &'a AccessInput<'a>,
    /// The owner, as told, or as the policy's own ARNs say.
    pub(super) account: Option<String>,
    /// The owner for asking: [`World::account`], or a made-up one.
    pub(super) owner: String,
    pub(super) bucket_arn: String,
    pub(super) keys: Vec<Key>,
    /// One for each key.
    pub(super) lock_arns: Vec<String>,
    pub(super) docs: Docs<'a>,
    pub(super) matrix: Matrix,
    pub(super) state_matrix: Matrix,
    pub(super) policy: Place<'a>,
    pub(super) rcps: Vec<Place<'a>>,
    /// Access points.
    pub(super) points: Vec<Point<'a>>,
    /// A policy that allows everything.
    pub(super) everything: Place<'a>,
    pub(super) key_policy: Place<'a>,
    pub(super) actors: Vec<Actor<'a>>,
    /// A role with all rights in the owner's account.
    pub(super) stranger: usize,
    pub(super) anonymous: usize,
    /// A role with all rights in another account.
    pub(super) foreign: usize,
    pub(super) limits: Vec<String>,
    /// Configured ARNs and patterns that name nobody, with their part.
    pub(super) nobody: Vec<(&'a str, Part)>,
    /// Some policy asks for `If-Match` or `If-None-Match`.
    pub(super) asks_preconditions: bool,
}

impl<'a> World<'a> {
    /// The policies that meet a request of somebody for the bucket or an object in it.
    fn policies(&self, actor: &Actor<'a>) -> Policies<'_> {
        let scps = actor.scps.as_deref().unwrap_or_default();
        Policies {
            identity: self.docs.layer(&actor.identity),
            resource: self.docs.layer(&self.policy),
            boundary: self.docs.layer(&actor.boundary),
            scps: scps.iter().map(|level| self.docs.layer(level)).collect(),
            rcps: self.rcps.iter().map(|level| self.docs.layer(level)).collect(),
            ..Policies::default()
        }
    }

    /// The places whose resource patterns can tell lock keys apart for somebody.
    fn places<'s>(&'s self, actor: &'s Actor<'a>) -> Vec<&'s Place<'a>> {
        let mut places = vec![&self.policy, &actor.identity, &actor.boundary];
        places.extend(actor.scps.iter().flatten());
        places.extend(&self.rcps);
        places
    }

    /// For asking what somebody may do with the bucket and the objects in it.
    pub(super) fn asker(&self, actor: &Actor<'a>) -> Asker<'_> {
        let mut request =
            Request::new(actor.principal.clone(), "s3:ListBucket", &self.bucket_arn, actor.context.clone());
        // Somebody made up stands in a known relation to the owner, whoever that is.
        if self.account.is_some() || actor.assumed && actor.part == Part::Other {
            request = request.owned_by(&self.owner);
        }
        Asker::new(self.policies(actor), request)
    }

    /// Puts locks into classes that nothing tells apart for somebody: each lock's class, and the first lock of each.
    pub(super) fn lock_classes(&self, actor: &Actor<'a>) -> (Vec<u16>, Vec<usize>) {
        self.matrix.classes(&self.docs, &self.places(actor))
    }

    /// The same for the states that the locks belong to.
    pub(super) fn state_classes(&self, actor: &Actor<'a>) -> (Vec<u16>, Vec<usize>) {
        self.state_matrix.classes(&self.docs, &self.places(actor))
    }

    /// Decides what somebody may do with another resource: a KMS key under its policy, or a role.
    pub(super) fn ask_elsewhere(
        &self,
        actor: &Actor<'a>,
        action: &str,
        resource: &str,
        key: Option<&KmsInput<'_>>,
    ) -> Decision {
        let mut policies = self.policies(actor);
        policies.rcps = Vec::new();
        let policy = if key.is_some() { &self.key_policy } else { &Place::Absent };
        policies.resource = self.docs.layer(policy);
        let request = Request::new(actor.principal.clone(), action, resource, actor.context.clone());
        decide(&request, &policies)
    }

    /// Whether the bucket's policy was read, or there is none.
    pub(super) fn policy_is_known(&self) -> bool {
        !matches!(self.policy, Place::NotKnown(_))
    }

    /// `arn:aws:s3:::BUCKET/KEY`.
    pub(super) fn object(&self, key: &str) -> String {
        format!("{}/{key}", self.bucket_arn)
    }

    /// `s3://BUCKET`.
    pub(super) fn bucket_subject(&self) -> String {
        format!("s3://{}", self.input.bucket.name)
    }

    /// The statements of the bucket's policy.
    pub(super) fn statements(&self) -> impl Iterator<Item = &Shape> {
        self.docs.shapes(&self.policy).map(|(_, shape)| shape)
    }

    /// What a statement that decided is called.
    pub(super) fn name(&self, actor: &Actor<'a>, deciding: &Deciding) -> String {
        let nth = |place: &Place<'a>| match place {
            Place::Known(known) => known.get(deciding.policy).map(|(name, _)| *name),
            _ => None,
        };
        let level = |places: &[Place<'a>]| places.get(deciding.level).and_then(nth);
        let name = match deciding.kind {
            PolicyKind::Identity => nth(&actor.identity).map(|name| format!("policy {name}")),
            PolicyKind::Boundary => Some("the permissions boundary".to_owned()),
            PolicyKind::Resource => Some(BUCKET_POLICY.to_owned()),
            PolicyKind::Scp => level(actor.scps.as_deref().unwrap_or_default())
                .map(|name| format!("service control policy {name}")),
            PolicyKind::Rcp => level(&self.rcps).map(|name| format!("resource control policy {name}")),
            PolicyKind::Session | PolicyKind::Endpoint => None,
        };
        let name = name.unwrap_or_else(|| deciding.kind.words().to_owned());
        reference(&name, deciding.index, deciding.sid.as_deref())
    }

    /// The first statement of a place that decided.
    pub(super) fn first_of(
        &self,
        actor: &Actor<'a>,
        decision: &Decision,
        kind: PolicyKind,
    ) -> Option<String> {
        decision.statements.iter().find(|deciding| deciding.kind == kind).map(|found| self.name(actor, found))
    }

    /// Which of the organization's policies that limit this request were not supplied; none where all were.
    pub(super) fn organization_unknown(&self, actor: &Actor<'a>) -> Option<&'static str> {
        let scps = actor.account.is_none() || actor.scps.is_some();
        match (scps, self.input.rcps.is_some()) {
            (true, true) => None,
            (false, false) => Some("service or resource control policy"),
            (false, true) => Some("service control policy"),
            (true, false) => Some("resource control policy"),
        }
    }

    /// The input of a principal that was read.
    pub(super) fn read(&self, actor: &Actor<'a>) -> Option<&'a PrincipalInput<'a>> {
        self.input.principals.known()?.get(actor.of?)
    }

    /// Whether all principals of an account were read.
    pub(super) fn has_read(&self, account: &str) -> bool {
        self.input.principals.known().is_some() && self.input.accounts.contains(&account)
    }

    /// Principals that exist, or that the configuration says do: not the made-up ones.
    pub(super) fn real(&self) -> impl Iterator<Item = (usize, &Actor<'a>)> {
        let made_up = [self.stranger, self.anonymous, self.foreign];
        self.actors.iter().enumerate().filter(move |(at, _)| !made_up.contains(at))
    }
}
