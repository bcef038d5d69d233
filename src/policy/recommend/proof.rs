//! The proof: every request that must go through does, and every one that must not does not, as the evaluator decides
//! with the very documents that are handed out.

use serde_json::Value;

use super::failed::Failed;
use super::probe::{
    Ask, Stranger, bucket_request, client_request, lock_of, request, role_request, stranger, strangers,
};
use super::refusal::{Gate, Refusal};
use super::resources::{bucket_arn, paths};
use super::roles::{Named, Role, with_its_path};
use super::statements::GUARDRAILS;
use super::{Built, State, Wanted, compiled};
use crate::policy::{Compiled, Layer, Policies, Principal, Request, Verdict, decide};

/// How many failures an error tells of.
const TOLD: usize = 5;

/// Somebody's own policies.
#[derive(Debug, Clone, Copy)]
enum Own<'p> {
    /// The documents that are handed out.
    These(&'p [Compiled]),
    /// The same, and the bucket policy left out: what the documents give by themselves.
    Alone(&'p [Compiled]),
    /// Allows everything: the widest that they could be.
    Everything,
}

impl Own<'_> {
    fn alone(self) -> Self {
        match self {
            Own::These(policies) => Own::Alone(policies),
            other => other,
        }
    }
}

struct Proof<'p> {
    wanted: &'p Wanted,
    named: &'p Named,
    bucket: Compiled,
    /// For [`Own::Everything`].
    everything: Compiled,
    decided: usize,
    failed: Vec<Failed>,
    more: usize,
}

/// How many requests were decided, each as it must be.
pub(super) fn prove(
    wanted: &Wanted,
    named: &Named,
    keys: &[String],
    built: &Built,
) -> Result<usize, Refusal> {
    let everything = everything()?;
    let bucket = compiled(&built.merged.policy)?;
    let mut proof = Proof { wanted, named, bucket, everything, decided: 0, failed: Vec::new(), more: 0 };
    proof.guards();
    proof.caller()?;
    let locked_out = !proof.failed.is_empty();
    if !locked_out {
        let runner = documents(&built.runner)?;
        let runner = Own::These(&runner);
        let plan = documents(&built.plan)?;
        let plan = Own::These(&plan);
        let break_glass = documents(&built.break_glass)?;
        let break_glass = Own::These(&break_glass);
        for state in &wanted.states {
            for role in &named.runners {
                proof.locks(role, runner, state);
                proof.state(role, runner, state, true);
            }
            for role in &named.plan {
                proof.locks(role, plan, state);
                proof.state(role, plan, state, false);
            }
            for role in &named.break_glass {
                proof.break_glass(role, break_glass, state);
            }
        }
        for role in &named.runners {
            proof.elsewhere(role, runner, keys);
        }
        for role in &named.plan {
            proof.elsewhere(role, plan, keys);
        }
        for guard in
            named.state_admin.iter().filter(|role| !named.lockers().any(|other| other.covers(&role.sample)))
        {
            if !named.break_glass.iter().any(|other| other.covers(&guard.sample)) {
                proof.untouchable(&guard.arn, &guard.sample);
            }
        }
        let mentioned = built.merged.mentioned.iter().filter(|arn| !named.knows(arn));
        let others = mentioned.filter_map(|arn| stranger("named by the present policy", arn));
        for stranger in strangers(wanted).into_iter().chain(others) {
            proof.stranger(&stranger);
        }
    }
    proof.finish(locked_out)
}

pub(super) fn everything() -> Result<Compiled, Refusal> {
    compiled(&serde_json::json!({"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}))
}

fn documents(policies: &[Value]) -> Result<Vec<Compiled>, Refusal> {
    policies.iter().map(compiled).collect()
}

impl Proof<'_> {
    fn finish(self, locked_out: bool) -> Result<usize, Refusal> {
        if self.failed.is_empty() {
            return Ok(self.decided);
        }
        let mut lines: Vec<String> = self.failed.iter().map(|failed| format!("  {failed}")).collect();
        if self.more > 0 {
            lines.push(format!("  and {} more", self.more));
        }
        let gate = if locked_out { Gate::LocksOut } else { Gate::NotProven };
        let says = match gate {
            Gate::LocksOut => "who must be able to change the bucket policy could not any more",
            _ => "with these documents, not every request is decided as it must be",
        };
        let conditional = self.failed.iter().all(|failed| failed.decision.is_conditional());
        let next = if conditional {
            "say what these roles' requests always carry: `--context KEY=VALUE`"
        } else {
            "change the statements of the present policy that are named here, or the roles, and try again"
        };
        Err(Refusal::new(gate, format!("{says}:\n{}", lines.join("\n")), next))
    }

    fn decide(&mut self, who: &str, ask: (&str, &str), request: &Request, own: Own<'_>, must: bool) {
        let anonymous = matches!(request.principal(), Principal::Anonymous);
        let resource = request.resource.clone();
        let of_bucket = resource.contains(":s3:::") && !matches!(own, Own::Alone(_));
        let decision = decide(
            request,
            &Policies {
                identity: match own {
                    _ if anonymous => Layer::Absent,
                    Own::These(policies) | Own::Alone(policies) => Layer::of(policies),
                    Own::Everything => Layer::Known(vec![&self.everything]),
                },
                resource: if of_bucket { Layer::Known(vec![&self.bucket]) } else { Layer::Absent },
                ..Policies::default()
            },
        );
        self.decided += 1;
        let right = match decision.verdict {
            Verdict::Allowed => must,
            Verdict::ExplicitlyDenied | Verdict::ImplicitlyDenied => !must,
            Verdict::Unknown => false,
        };
        if right {
            return;
        }
        if self.failed.len() >= TOLD {
            self.more += 1;
            return;
        }
        let action = format!("{}{}", ask.0, ask.1);
        self.failed.push(Failed { who: who.to_owned(), action, resource, must, decision });
    }

    fn client(&mut self, role: &Role, own: Own<'_>, state: &State, ask: Ask, path: &str, must: bool) {
        if let Some(request) = client_request(self.wanted, role, state, ask, path) {
            self.decide(&role.arn, (ask.action(), ask.words()), &request, own, must);
        }
    }

    /// Who manages the bucket still can, as far as the bucket policy goes.
    fn guards(&mut self) {
        let (named, bucket) = (self.named, bucket_arn(self.wanted));
        for role in named.guards() {
            for action in GUARDRAILS.into_iter().chain(["s3:GetBucketPolicy"]) {
                if let Some(request) = role_request(self.wanted, role, action, &bucket) {
                    self.decide(&role.arn, (action, ""), &request, Own::Everything, true);
                }
            }
        }
    }

    /// Who is about to put the policy could take it back.
    fn caller(&mut self) -> Result<(), Refusal> {
        let Some(arn) = &self.wanted.caller else { return Ok(()) };
        let unusable = |why: String| {
            let next = "give the ARN as `aws sts get-caller-identity` says it, or the role's ARN";
            Refusal::new(Gate::RoleUnusable, why, next)
        };
        if let Some(meant) = with_its_path(arn) {
            return Err(unusable(format!(
                "the caller: no role is `{arn}`: Identity Center's roles have a path, such as `{meant}`"
            )));
        }
        let caller = Principal::parse(arn).map_err(|error| unusable(format!("the caller: {error}")))?;
        // A session's ARN does not hold its role's path; a guard of that name is its role.
        let role_of = |guard: &Role| match &caller {
            Principal::Session { role, role_arn: None, .. } => guard.named(role),
            _ => None,
        };
        let mut guards = self.named.guards().filter_map(role_of).map(|role| caller.clone().with_role(&role));
        let guard = guards.find(|with| *with != caller);
        let principal = guard.unwrap_or(caller);
        let request = bucket_request(self.wanted, &principal, "s3:PutBucketPolicy");
        let before = self.failed.len();
        self.decide(arn, ("s3:PutBucketPolicy", ""), &request, Own::Everything, true);
        if self.failed.len() > before {
            let failed = self.failed.split_off(before);
            let told: Vec<String> = failed.iter().map(|failed| format!("  {failed}")).collect();
            return Err(Refusal::new(
                Gate::LocksOut,
                format!("the caller could put this policy and never change it again:\n{}", told.join("\n")),
                "name the caller's role with its path (`--state-admin ARN`), or put the policy as a role that is named",
            ));
        }
        Ok(())
    }

    /// Lock, read the lock, unlock; and no more than that.
    fn locks(&mut self, role: &Role, own: Own<'_>, state: &State) {
        for path in paths(state) {
            let lock = lock_of(&path);
            for ask in [Ask::Create, Ask::Get, Ask::Delete] {
                self.client(role, own, state, ask, &lock, true);
            }
            if state.acl.is_some() {
                self.client(role, own, state, Ask::PutAcl, &lock, true);
            }
            if state.lock_tags {
                self.client(role, own, state, Ask::PutTagging, &lock, true);
            }
            self.client(role, own.alone(), state, Ask::DeleteVersion, &lock, false);
            // Whatever else the role is allowed, nobody replaces a lock that is held.
            self.client(role, Own::Everything, state, Ask::Put, &lock, false);
        }
    }

    fn state(&mut self, role: &Role, own: Own<'_>, state: &State, writes: bool) {
        for path in paths(state) {
            self.client(role, own, state, Ask::Get, &path, true);
            // What else lets a plan role write is not for us to judge: its plan policy does not.
            let own_or_alone = if writes { own } else { own.alone() };
            self.client(role, own_or_alone, state, Ask::Put, &path, writes);
            if writes && state.acl.is_some() {
                self.client(role, own, state, Ask::PutAcl, &path, true);
            }
            if writes && state.state_tags {
                self.client(role, own, state, Ask::PutTagging, &path, true);
            }
        }
    }

    fn break_glass(&mut self, role: &Role, own: Own<'_>, state: &State) {
        for path in paths(state) {
            let lock = lock_of(&path);
            self.client(role, own, state, Ask::Get, &lock, true);
            self.client(role, own, state, Ask::DeleteIfMatch, &lock, true);
            self.client(role, Own::Everything, state, Ask::Delete, &lock, false);
            self.client(role, Own::Everything, state, Ask::Put, &lock, false);
            self.client(role, Own::Everything, state, Ask::Create, &lock, false);
            if self.wanted.versioned {
                self.client(role, Own::Everything, state, Ask::DeleteVersion, &lock, false);
            }
        }
    }

    /// The bucket's list, keys and tables; and no hand on what guards the locks.
    fn elsewhere(&mut self, role: &Role, own: Own<'_>, keys: &[String]) {
        let bucket = bucket_arn(self.wanted);
        let mut must: Vec<(&str, String)> = vec![("s3:ListBucket", bucket.clone())];
        for key in keys {
            must.extend([("kms:GenerateDataKey", key.clone()), ("kms:Decrypt", key.clone())]);
        }
        for table in &self.wanted.tables {
            let actions = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"];
            must.extend(actions.map(|action| (action, table.clone())));
        }
        for (action, resource) in must {
            // Across accounts the key's and the table's own policies have a say, which nobody gave us.
            let theirs = !resource.contains(":s3:::") && !resource.contains(&format!(":{}:", role.account));
            if theirs {
                continue;
            }
            if let Some(request) = role_request(self.wanted, role, action, &resource) {
                self.decide(&role.arn, (action, ""), &request, own, true);
            }
        }
        if self.named.is_guard(role) {
            return;
        }
        for action in GUARDRAILS {
            if let Some(request) = role_request(self.wanted, role, action, &bucket) {
                self.decide(&role.arn, (action, ""), &request, Own::Everything, false);
            }
        }
    }

    /// Nobody who is not named touches a lock or what guards it, whatever their own policies allow.
    fn stranger(&mut self, stranger: &Stranger) {
        self.no_hand_on_locks(&stranger.name, &stranger.principal);
        for action in GUARDRAILS {
            // Bucket policies can't take these two from the owner's root user.
            if stranger.is_root && action.ends_with("BucketPolicy") {
                continue;
            }
            let request = bucket_request(self.wanted, &stranger.principal, action);
            self.decide(&stranger.name, (action, ""), &request, Own::Everything, false);
        }
    }

    /// Who manages the bucket has no hand on its locks.
    fn untouchable(&mut self, name: &str, arn: &str) {
        if let Ok(principal) = Principal::parse(arn) {
            self.no_hand_on_locks(name, &principal);
        }
    }

    fn no_hand_on_locks(&mut self, name: &str, principal: &Principal) {
        for state in &self.wanted.states {
            for path in paths(state) {
                for ask in [Ask::DeleteAnyhow, Ask::DeleteVersion, Ask::Put, Ask::Create] {
                    let request = request(self.wanted, principal, ask, &lock_of(&path));
                    self.decide(name, (ask.action(), ask.words()), &request, Own::Everything, false);
                }
            }
        }
    }
}
