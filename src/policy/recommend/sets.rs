//! How far each principal reaches: can it delete, overwrite or create a lock, or strip what guards them? Before and
//! after, so that the difference is seen.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Wanted;
use super::probe::{Ask, bucket_request, lock_of, request, stranger, strangers};
use super::proof::everything;
use super::resources::paths;
use super::roles::Named;
use crate::policy::access::STRIP;
use crate::policy::{Compiled, Layer, Policies, Principal, Request, Verdict, decide};

/// Whether somebody can do something to any lock of the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Can {
    /// Never.
    No,
    /// At least one of them, certainly.
    Yes,
    /// Depending on these: condition keys, or what is not understood.
    If(Vec<String>),
}

impl fmt::Display for Can {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Can::No => out.write_str("no"),
            Can::Yes => out.write_str("yes"),
            Can::If(what) => write!(out, "depends on {}", what.join(", ")),
        }
    }
}

impl Serialize for Can {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One principal's place in the four sets, when its own policies allow it everything: so far the bucket policy alone
/// lets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reach {
    /// The principal: a role as it was named, or words with an ARN.
    pub who: String,
    /// What it is named as; `other` for somebody who is not named.
    pub named_as: &'static str,
    /// With the present policy.
    pub before: Four,
    /// With the new one.
    pub after: Four,
}

/// The four sets: each `no`, `yes`, or `depends on` what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Four {
    /// Can delete a lock, or one of its versions.
    #[schemars(with = "String")]
    pub delete: Can,
    /// Can put another lock in place of one that is held.
    #[schemars(with = "String")]
    pub overwrite: Can,
    /// Can create a lock.
    #[schemars(with = "String")]
    pub create: Can,
    /// Can change the policy, lifecycle, versioning, replication, public access block or object ownership of the
    /// bucket.
    #[schemars(with = "String")]
    pub strip: Can,
    /// By which actions, those that depend on something included.
    pub strip_actions: Vec<&'static str>,
}

impl Reach {
    /// Whether the new policy changes anything.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.before != self.after
    }
}

/// Everybody who is named, everybody whom the present policy speaks of, and some who stand for all others.
pub(super) fn reach(
    wanted: &Wanted,
    named: &Named,
    mentioned: &BTreeSet<String>,
    before: Option<&Compiled>,
    after: &Compiled,
) -> Vec<Reach> {
    let Ok(everything) = everything() else { return Vec::new() };
    let lists = [
        ("runner", &named.runners),
        ("plan", &named.plan),
        ("break-glass", &named.break_glass),
        ("state-admin", &named.state_admin),
    ];
    let mut who: Vec<(String, &'static str, Principal)> = Vec::new();
    for (kind, roles) in lists {
        for role in roles {
            if let Ok(principal) = Principal::parse(&role.sample) {
                who.push((role.arn.clone(), kind, principal));
            }
        }
    }
    let others = mentioned.iter().filter(|arn| !named.knows(arn)).filter_map(|arn| stranger("", arn));
    who.extend(others.chain(strangers(wanted)).map(|stranger| (stranger.name, "other", stranger.principal)));
    let four =
        |principal: &Principal, bucket: Option<&Compiled>| Four::of(wanted, principal, bucket, &everything);
    who.into_iter()
        .map(|(name, named_as, principal)| Reach {
            before: four(&principal, before),
            after: four(&principal, Some(after)),
            who: name,
            named_as,
        })
        .collect()
}

impl Four {
    fn of(wanted: &Wanted, principal: &Principal, bucket: Option<&Compiled>, own: &Compiled) -> Four {
        let judge = |request: &Request| verdict(request, bucket, own);
        let locks: Vec<String> = wanted.states.iter().flat_map(paths).map(|path| lock_of(&path)).collect();
        let any = |asks: &[Ask]| {
            let requests = locks
                .iter()
                .flat_map(|lock| asks.iter().map(move |ask| request(wanted, principal, *ask, lock)));
            together(requests.map(|request| judge(&request)))
        };
        let strip: Vec<(&'static str, Can)> = STRIP
            .into_iter()
            .map(|action| (action, judge(&bucket_request(wanted, principal, action))))
            .collect();
        Four {
            delete: any(&[Ask::DeleteAnyhow, Ask::DeleteVersion]),
            overwrite: any(&[Ask::Put]),
            create: any(&[Ask::Create]),
            strip_actions: strip
                .iter()
                .filter(|(_, can)| *can != Can::No)
                .map(|(action, _)| *action)
                .collect(),
            strip: together(strip.into_iter().map(|(_, can)| can)),
        }
    }
}

fn verdict(request: &Request, bucket: Option<&Compiled>, own: &Compiled) -> Can {
    let anonymous = matches!(request.principal(), Principal::Anonymous);
    let decision = decide(
        request,
        &Policies {
            identity: if anonymous { Layer::Absent } else { Layer::Known(vec![own]) },
            resource: bucket.map_or(Layer::Absent, |bucket| Layer::Known(vec![bucket])),
            ..Policies::default()
        },
    );
    match decision.verdict {
        Verdict::Allowed => Can::Yes,
        Verdict::Unknown => Can::If(decision.missing.iter().map(crate::policy::Missing::name).collect()),
        Verdict::ExplicitlyDenied | Verdict::ImplicitlyDenied => Can::No,
    }
}

/// The widest answer of all.
fn together(answers: impl Iterator<Item = Can>) -> Can {
    let mut open = BTreeSet::new();
    for answer in answers {
        match answer {
            Can::Yes => return Can::Yes,
            Can::If(what) => open.extend(what),
            Can::No => {}
        }
    }
    if open.is_empty() { Can::No } else { Can::If(open.into_iter().collect()) }
}
