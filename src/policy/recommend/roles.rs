//! Who does what, and whether each can be named so in a policy.

use super::Wanted;
use super::refusal::{Gate, Refusal};
use crate::policy::pattern::{Glob, arn_parts};
use crate::policy::{Principal, is_account};

/// The roles (or users), as ARNs with their paths. `*` and `?` are wildcards, for roles whose names AWS makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// They apply. In another account than the bucket's, the bucket policy lets them in.
    pub runners: Vec<String>,
    /// They only plan, and lock for that.
    pub plan: Vec<String>,
    /// They release stuck locks in an emergency, on condition, and may change the bucket policy.
    pub break_glass: Vec<String>,
    /// They manage the bucket: its policy, lifecycle, versioning, replication.
    pub state_admin: Vec<String>,
}

/// A role that may be named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Role {
    /// As given.
    pub arn: String,
    pub account: String,
    /// The ARN of one role that it names: itself, or one that is made up where it has wildcards.
    pub sample: String,
}

/// Where Identity Center keeps its roles; in most regions the region follows.
/// Source: IAM Identity Center user guide, "referencing permission sets in resource policies".
const IDENTITY_CENTER: &str = "role/aws-reserved/sso.amazonaws.com/";

/// How the names of its roles begin.
const PERMISSION_SET: &str = "AWSReservedSSO_";

/// The ARN to write instead, where this one means a role of Identity Center and leaves its path out: no role has such
/// an ARN.
pub(super) fn with_its_path(arn: &str) -> Option<String> {
    let [_, partition, _, _, account, resource] = arn_parts(arn)?;
    let (before, name) = resource.split_at_checked(resource.find(PERMISSION_SET)?)?;
    let fixed = before.split(['*', '?']).next().unwrap_or_default();
    // `*` may stand for folders, too.
    let fits =
        before.starts_with(IDENTITY_CENTER) || (before.contains('*') && IDENTITY_CENTER.starts_with(fixed));
    let role = before.starts_with("role/") && !fits;
    role.then(|| format!("arn:{partition}:iam::{account}:{IDENTITY_CENTER}*{name}"))
}

/// The ARN with its wildcards filled in, so that it names one principal.
pub(super) fn filled(arn: &str) -> String {
    arn.replace("**", "*").replace('*', "lockshift-proof").replace('?', "x")
}

/// All of them.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub runners: Vec<Role>,
    pub plan: Vec<Role>,
    pub break_glass: Vec<Role>,
    pub state_admin: Vec<Role>,
}

impl Named {
    pub(super) fn read(wanted: &Wanted) -> Result<Named, Refusal> {
        let roles = &wanted.roles;
        let named = Named {
            runners: list(&roles.runners)?,
            plan: list(&roles.plan)?,
            break_glass: list(&roles.break_glass)?,
            state_admin: list(&roles.state_admin)?,
        };
        if named.runners.is_empty() {
            return Err(Refusal::new(
                Gate::LocksOut,
                "no runner is named: nobody could lock any state",
                "name the roles that apply: `--runner ARN`, or `runners` below `[roles]` in lockshift.toml",
            ));
        }
        if named.guards().next().is_none() {
            return Err(Refusal::new(
                Gate::LocksOut,
                "no role is named that may still change the bucket policy: only the account's root user could",
                "name the role that manages the bucket: `--state-admin ARN`, or `state_admin` below `[roles]`",
            ));
        }
        let of_wanted = |role: &&Role| role.partition() == wanted.partition;
        if let Some(role) = named.all().find(|role| !of_wanted(role)) {
            return Err(Refusal::new(
                Gate::RoleUnusable,
                format!("`{}` is of another partition than the bucket's `{}`", role.arn, wanted.partition),
                "name roles of one partition: no request crosses partitions",
            ));
        }
        if let Some(role) = named.guards().find(|role| role.account != wanted.account) {
            return Err(Refusal::new(
                Gate::RoleUnusable,
                format!(
                    "`{}` is of account {}, and only the bucket's own account ({}) can change its policy",
                    role.arn, role.account, wanted.account
                ),
                "name a state-admin or break-glass role of the bucket's account",
            ));
        }
        if let Some(role) =
            named.lockers().find(|role| named.break_glass.iter().any(|other| other.meets(role)))
        {
            return Err(Refusal::new(
                Gate::RoleUnusable,
                format!(
                    "`{}` is a break-glass role and takes locks: break-glass deletes only on condition, which \
                     Terraform's unlock never sends",
                    role.arn
                ),
                "use a role of its own for emergencies",
            ));
        }
        if let Some(role) =
            named.lockers().find(|role| role.account != wanted.account && role.has_wildcards())
        {
            return Err(Refusal::new(
                Gate::RoleUnusable,
                format!("`{}` is of another account: a bucket policy can let in only whole ARNs", role.arn),
                "name each role of another account by its ARN",
            ));
        }
        Ok(named)
    }

    /// Who takes and releases locks.
    pub(super) fn lockers(&self) -> impl Iterator<Item = &Role> {
        self.runners.iter().chain(&self.plan)
    }

    /// Who may change what guards the locks.
    pub(super) fn guards(&self) -> impl Iterator<Item = &Role> {
        self.state_admin.iter().chain(&self.break_glass)
    }

    pub(super) fn is_guard(&self, role: &Role) -> bool {
        self.guards().any(|guard| guard.covers(&role.sample))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Role> {
        self.lockers().chain(self.guards())
    }

    /// Whether some role here is the one with this ARN.
    pub(super) fn knows(&self, arn: &str) -> bool {
        self.all().any(|role| role.covers(arn) || role.arn == arn)
    }

    pub(super) fn notes(&self, wanted: &Wanted) -> Vec<String> {
        let mut notes = Vec::new();
        if self.break_glass.is_empty() {
            notes.push(
                "no break-glass role is named: a stuck lock is released by the runners, or by who may change the \
                 policy first"
                    .to_owned(),
            );
        }
        let foreign = |role: &&Role| role.account != wanted.account;
        if self.lockers().any(|role| foreign(&role)) {
            notes.push(
                "roles of other accounts get every state of this bucket; to give them some of them, write policies \
                 for their paths alone"
                    .to_owned(),
            );
        }
        if self.all().any(Role::has_wildcards) {
            notes.push(
                "a role pattern names every role that fits, also one that is made later; the proof tried one made-up \
                 name for each"
                    .to_owned(),
            );
        }
        notes.push(
            "what state-admin roles may do by their own policies was not looked at; the bucket policy does not stand \
             in their way"
                .to_owned(),
        );
        notes
    }
}

impl Role {
    fn read(arn: &str) -> Result<Role, Refusal> {
        let refuse = |why: String, next: &str| Err(Refusal::new(Gate::RoleUnusable, why, next));
        let form = "expected `arn:aws:iam::ACCOUNT:role/PATH/NAME`, with the role's path";
        let Some([scheme, partition, service, region, account, resource]) = arn_parts(arn) else {
            return refuse(format!("`{arn}` is no ARN"), form);
        };
        if service == "sts" {
            return refuse(
                format!(
                    "`{arn}` is a session: `aws:PrincipalArn` holds the ARN of its role, never of a session"
                ),
                form,
            );
        }
        let kind = ["role/", "user/"].into_iter().find_map(|kind| resource.strip_prefix(kind));
        let plain = |text: &str| !text.contains(['*', '?', '$']);
        let sound = scheme == "arn"
            && partition.starts_with("aws")
            && plain(partition)
            && service == "iam"
            && region.is_empty()
            && is_account(account);
        let Some(name) = kind.filter(|_| sound) else {
            return refuse(format!("`{arn}` names no role or user of one account"), form);
        };
        if arn.contains('$') || arn.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
            return refuse(format!("`{arn}` holds what no role's name can hold"), form);
        }
        let said = name.rsplit('/').next().unwrap_or_default();
        if !said.contains(|letter: char| letter.is_ascii_alphanumeric()) {
            return refuse(
                format!("`{arn}` names every role there is"),
                "name roles whole, or with the fixed part of their name",
            );
        }
        if let Some(meant) = with_its_path(arn) {
            return refuse(
                format!("`{arn}` leaves out the path that Identity Center gives its roles: it names nobody"),
                &format!(
                    "write `{meant}`, or the whole ARN as `aws iam get-role --role-name NAME` prints it"
                ),
            );
        }
        let sample = filled(arn);
        if Principal::parse(&sample).is_err() {
            return refuse(format!("`{arn}` names no role or user"), form);
        }
        Ok(Role { arn: arn.to_owned(), account: account.to_owned(), sample })
    }

    fn partition(&self) -> &str {
        arn_parts(&self.arn).map_or("", |[_, partition, ..]| partition)
    }

    pub(super) fn has_wildcards(&self) -> bool {
        self.arn.contains(['*', '?'])
    }

    /// Whether it names the role with this ARN.
    pub(super) fn covers(&self, arn: &str) -> bool {
        Glob::new(&self.arn).matches(arn)
    }

    /// The ARN of a role with this name, where it is one that this names: the path is its own, with what AWS makes
    /// filled in.
    pub(super) fn named(&self, name: &str) -> Option<String> {
        let (path, _) = self.arn.rsplit_once('/')?;
        let own = format!("{}/{name}", filled(path));
        if !name.starts_with(PERMISSION_SET) {
            return self.covers(&own).then_some(own);
        }
        // Identity Center says the path, and no pattern another one: with the region, or without.
        let [_, partition, _, _, account, _] = arn_parts(&self.arn)?;
        let at = |region: &str| format!("arn:{partition}:iam::{account}:{IDENTITY_CENTER}{region}{name}");
        [own, at(""), at("eu-west-1/")]
            .into_iter()
            .find(|arn| self.covers(arn) && arn.contains(IDENTITY_CENTER))
    }

    /// Whether one of the two names the other.
    fn meets(&self, other: &Role) -> bool {
        self.covers(&other.sample) || other.covers(&self.sample)
    }
}

/// Sorted, each once.
fn list(arns: &[String]) -> Result<Vec<Role>, Refusal> {
    let mut roles = arns.iter().map(|arn| Role::read(arn)).collect::<Result<Vec<_>, _>>()?;
    roles.sort();
    roles.dedup();
    Ok(roles)
}
