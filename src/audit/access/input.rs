//! What the judge of access is told of one bucket: from a snapshot, from the states that repositories name, and from what
//! only the user knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::audit::expected::{Expected, ExpectedState, Index, partition_of};
use crate::audit::snapshot::{
    AccessPoint, BucketSnapshot, KeyGrant, LOCK_SUFFIX, Principal, PublicAccessBlock, Read, Snapshot,
};
use crate::policy::access::{
    AccessInput, AccessPointInput, BlockPublicAccess, BucketInput, GrantInput, KmsInput, NamedPolicy,
    PrincipalInput, Reading, RolePatterns, ScpInput, StateInput,
};

/// What only the user knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// Roles that apply: ARNs, or ARNs with `*` and `?`.
    pub runners: Vec<String>,
    /// Roles that only plan.
    pub plan: Vec<String>,
    /// Roles for emergencies.
    pub break_glass: Vec<String>,
    /// Roles that manage the buckets.
    pub state_admin: Vec<String>,
    /// Service control policies by level, from the organization's root down: name and text. None were supplied when
    /// it is empty.
    pub scps: Vec<Vec<(String, String)>>,
    /// Resource control policies by level; none where they were not supplied.
    pub rcps: Option<Vec<Vec<(String, String)>>>,
}

pub(super) fn input<'a>(
    snapshot: &'a Snapshot,
    bucket: &'a BucketSnapshot,
    expected: &'a Expected,
    index: &Index<'a>,
    options: &'a AccessOptions,
) -> AccessInput<'a> {
    let accounts: Vec<&str> = snapshot
        .accounts
        .iter()
        .filter(|account| account.complete)
        .map(|account| account.account.as_str())
        .collect();
    AccessInput {
        bucket: bucket_input(snapshot, bucket),
        states: states(bucket, expected, index),
        roles: RolePatterns {
            runners: borrowed(&options.runners),
            plan: borrowed(&options.plan),
            break_glass: borrowed(&options.break_glass),
            admins: borrowed(&options.state_admin),
        },
        principals: principals(snapshot),
        accounts,
        scps: match options.scps.as_slice() {
            [] => Vec::new(),
            levels => {
                vec![ScpInput { account: None, levels: levels.iter().map(|level| named(level)).collect() }]
            }
        },
        rcps: options.rcps.as_ref().map(|levels| levels.iter().map(|level| named(level)).collect()),
        seen_holders: holders(bucket),
    }
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn named(policies: &[(String, String)]) -> Vec<NamedPolicy<'_>> {
    policies.iter().map(|(name, text)| NamedPolicy { name, text }).collect()
}

fn bucket_input<'a>(snapshot: &'a Snapshot, bucket: &'a BucketSnapshot) -> BucketInput<'a> {
    // The only account that was read is the one that the bucket was reached in; another account's bucket names it.
    let only = match snapshot.accounts.as_slice() {
        [account] => Some(account.account.as_str()),
        _ => None,
    };
    let region = bucket.region.as_deref();
    BucketInput {
        name: &bucket.name,
        account: bucket.account.as_deref().or(only),
        partition: region.map_or("aws", partition_of),
        region,
        policy: reading(&bucket.policy, |text| text.as_str()),
        versioning: reading(&bucket.versioning, |status| status.as_str()),
        mfa_delete: bucket.mfa_delete,
        ownership: reading(&bucket.ownership, |kind| kind.as_str()),
        public_access_block: reading(&bucket.public_access_block, block),
        account_public_access_block: reading(&bucket.account_public_access_block, block),
        access_points: reading(&bucket.access_points, |points| points.iter().map(point).collect()),
        kms: key(bucket),
    }
}

fn point(found: &AccessPoint) -> AccessPointInput<'_> {
    AccessPointInput {
        name: &found.name,
        arn: &found.arn,
        vpc: found.vpc.as_deref(),
        policy: reading(&found.policy, |text| text.as_str()),
        public_access_block: reading(&found.public_access_block, block),
    }
}

/// The key that encrypts the locks: as it was read, else as the bucket names it. An alias is nothing that a policy names.
fn key(bucket: &BucketSnapshot) -> Option<KmsInput<'_>> {
    if let Some(key) = bucket.key.known().filter(|key| key.arn.starts_with("arn:")) {
        return Some(KmsInput {
            arn: &key.arn,
            policy: reading(&key.policy, |text| text.as_str()),
            grants: reading(&key.grants, |grants| grants.iter().map(granted).collect()),
        });
    }
    let named = bucket.encryption.known()?.kms_key.as_deref()?;
    named.starts_with("arn:").then(|| KmsInput { arn: named, ..KmsInput::default() })
}

fn granted(grant: &KeyGrant) -> GrantInput<'_> {
    GrantInput {
        grantee: &grant.grantee,
        operations: borrowed(&grant.operations),
        constrained: grant.constrained,
    }
}

fn reading<'a, T, U>(read: &'a Read<T>, value: impl FnOnce(&'a T) -> U) -> Reading<U> {
    match read {
        Read::NotAsked => Reading::NotAsked,
        Read::Absent => Reading::Absent,
        Read::Known(known) => Reading::Known(value(known)),
        Read::Failed(why) => Reading::Failed(why.clone()),
    }
}

fn block(found: &PublicAccessBlock) -> BlockPublicAccess {
    BlockPublicAccess {
        block_public_acls: found.block_public_acls,
        ignore_public_acls: found.ignore_public_acls,
        block_public_policy: found.block_public_policy,
        restrict_public_buckets: found.restrict_public_buckets,
    }
}

/// Each expected state once, with the workspaces that the bucket shows.
fn states<'a>(bucket: &'a BucketSnapshot, expected: &'a Expected, index: &Index<'a>) -> Vec<StateInput<'a>> {
    let mut seen: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let (mut acls, mut tags) = (BTreeSet::new(), BTreeSet::new());
    for state in expected.states.iter().filter(|state| state.bucket == bucket.name) {
        seen.entry(identity(state)).or_default();
        // Several backends may lead to one state: a role may run any of them.
        acls.extend(state.acl.then_some(identity(state)));
        tags.extend(state.lock_tags.then_some(identity(state)));
    }
    let locked = bucket.locks.iter().filter_map(|lock| lock.key.strip_suffix(LOCK_SUFFIX));
    for path in bucket.states.iter().map(|state| state.key.as_str()).chain(locked) {
        for (state, workspace) in index.at(&bucket.name, path) {
            if workspace != "default" {
                seen.entry(identity(state)).or_default().insert(workspace);
            }
        }
    }
    let states = seen.into_iter().map(|((key, prefix), workspaces)| StateInput {
        key,
        workspace_key_prefix: prefix,
        workspaces: bucket.complete.then(|| workspaces.into_iter().collect()),
        acl: acls.contains(&(key, prefix)),
        lock_tags: tags.contains(&(key, prefix)),
    });
    states.collect()
}

fn identity(state: &ExpectedState) -> (&str, &str) {
    (&state.key, &state.workspace_key_prefix)
}

fn principals(snapshot: &Snapshot) -> Reading<Vec<PrincipalInput<'_>>> {
    if snapshot.accounts.is_empty() {
        return Reading::NotAsked;
    }
    let of_all = snapshot.accounts.iter().flat_map(|account| &account.principals);
    let all: Vec<PrincipalInput<'_>> = of_all.map(principal).collect();
    if all.is_empty() && snapshot.accounts.iter().any(|account| !account.complete) {
        return Reading::Failed("the account's identity policies could not be read".to_owned());
    }
    Reading::Known(all)
}

fn principal(found: &Principal) -> PrincipalInput<'_> {
    PrincipalInput {
        arn: &found.arn,
        unique_id: &found.unique_id,
        policies: named(&found.policies),
        policies_unread: (!found.policies_unread.is_empty())
            .then(|| format!("not read: {}", found.policies_unread.join(", "))),
        boundary: match (&found.boundary, &found.boundary_unread) {
            (Some(text), _) => Reading::Known(text.as_str()),
            (None, Some(arn)) => Reading::Failed(format!("the boundary {arn} was not read")),
            (None, None) => Reading::Absent,
        },
        trust: found.trust.as_deref().map_or(Reading::NotAsked, Reading::Known),
        tags: found.tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
    }
}

/// Who held locks, now and in the past.
fn holders(bucket: &BucketSnapshot) -> Vec<&str> {
    let now = bucket.locks.iter().filter_map(|lock| lock.body.lock());
    let past = bucket.history.values().flat_map(|history| &history.locks);
    let past = past.filter_map(|interval| interval.body.as_ref()?.lock());
    let who: BTreeSet<&str> =
        now.chain(past).map(|lock| lock.who.as_str()).filter(|who| !who.is_empty()).collect();
    who.into_iter().collect()
}
