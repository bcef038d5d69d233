//! From a snapshot to who can do what to the locks: one judgement of [`crate::policy::access`] for each bucket whose
//! policy was read. Pure.
//!
//! Only buckets of AWS are judged without a policy: elsewhere nothing says that AWS's order of evaluation holds, so
//! only a policy that is there is. Where IAM was asked, each bucket that is left out is told.

use std::collections::{BTreeMap, BTreeSet};

use super::endpoint::is_aws;
use super::expected::{Expected, ExpectedState, Index, partition_of};
use super::outcome::{Area, Audit, AuditFinding};
use super::snapshot::{
    AccessPoint, BucketSnapshot, KeyGrant, LOCK_SUFFIX, Principal, PublicAccessBlock, Read, Snapshot,
};
use crate::policy::access::rules::ACCESS_NOT_KNOWN;
use crate::policy::access::{
    AccessFinding, AccessInput, AccessPointInput, Answer, BlockPublicAccess, BucketInput, Compared,
    GrantInput, KmsInput, NamedPolicy, PrincipalInput, Question, Reading, RolePatterns, ScpInput, StateInput,
    compare, judge,
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

/// Judges every bucket, and adds what follows to the audit: sets and findings.
pub fn add(audit: &mut Audit, snapshot: &Snapshot, expected: &Expected, options: &AccessOptions) {
    let index = expected.index();
    for bucket in snapshot.buckets.iter().filter(|bucket| is_judged(bucket)) {
        let input = input(snapshot, bucket, expected, &index, options);
        let mut report = judge(&input);
        let answers = answers(snapshot, &bucket.name);
        if !answers.is_empty() {
            let Compared { findings, not_compared } = compare(&input, &answers);
            report.findings.extend(findings);
            report.access.limits.extend(not_compared);
        }
        audit.findings.extend(report.findings.into_iter().map(|found| finding(&bucket.name, found)));
        audit.access.push(report.access);
    }
    // Who asked for users and roles asked for this, too: silence would read as "nothing is wrong".
    if !snapshot.accounts.is_empty() {
        audit.findings.extend(snapshot.buckets.iter().filter_map(not_judged));
    }
    audit.sort_findings();
}

/// Why nothing is said of who can do what in a bucket.
fn not_judged(bucket: &BucketSnapshot) -> Option<AuditFinding> {
    if is_judged(bucket) {
        return None;
    }
    let why = match (&bucket.policy, &bucket.endpoint) {
        (Read::NotAsked, _) => "its policy was not asked for".to_owned(),
        (policy, Some(endpoint)) => {
            let policy = match policy {
                Read::Failed(why) => format!("its policy could not be read: {why}"),
                _ => "it has no policy".to_owned(),
            };
            format!(
                "it lies behind `{endpoint}`, which is not AWS's own, and {policy}: what IAM says does not count there"
            )
        }
        (_, None) => return None,
    };
    let found = AccessFinding {
        rule: ACCESS_NOT_KNOWN.id,
        severity: ACCESS_NOT_KNOWN.severity,
        subject: format!("s3://{}", bucket.name),
        message: format!("who can do what to locks was not judged: {why}"),
        help: "ask that store who may delete objects in the bucket".to_owned(),
        statement: None,
    };
    Some(finding(&bucket.name, found))
}

/// What IAM's policy simulator is to be asked, for each bucket that is judged.
pub fn questions(
    snapshot: &Snapshot,
    expected: &Expected,
    options: &AccessOptions,
) -> Vec<(String, Vec<Question>)> {
    let index = expected.index();
    let judged = snapshot.buckets.iter().filter(|bucket| is_judged(bucket));
    let asked = judged.map(|bucket| {
        let input = input(snapshot, bucket, expected, &index, options);
        (bucket.name.clone(), crate::policy::access::questions(&input))
    });
    asked.collect()
}

fn answers<'a>(snapshot: &'a Snapshot, bucket: &str) -> Vec<Answer<'a>> {
    let of_bucket = snapshot.simulations.iter().filter(|simulation| simulation.bucket == bucket);
    of_bucket
        .flat_map(|simulation| {
            simulation.answers.iter().map(|answer| Answer {
                principal: &simulation.principal,
                action: &answer.action,
                resource: &answer.resource,
                decision: &answer.decision,
                missing: &answer.missing_context,
                by_organization: answer.by_organization,
            })
        })
        .collect()
}

fn is_judged(bucket: &BucketSnapshot) -> bool {
    match &bucket.policy {
        Read::Known(_) => true,
        Read::Absent | Read::Failed(_) => bucket.endpoint.as_deref().is_none_or(is_aws),
        Read::NotAsked => false,
    }
}

fn finding(bucket: &str, found: AccessFinding) -> AuditFinding {
    let statement = found.statement.map(|statement| format!(" ({statement})")).unwrap_or_default();
    AuditFinding {
        rule: found.rule.to_owned(),
        area: Area::Access,
        severity: found.severity,
        bucket: found.subject.starts_with("arn:").then(|| bucket.to_owned()),
        subject: found.subject,
        place: None,
        message: format!("{}{statement}", found.message),
        help: Some(found.help),
        locks: None,
        commands: Vec::new(),
        consequence: None,
        ignored: None,
    }
}

fn input<'a>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::expected::Access;
    use crate::audit::judge::{JudgeOptions, judge as judge_locks};
    use crate::audit::snapshot::AccountSnapshot;
    use crate::repo::inventory::{Engine, LockMode};
    use crate::repo::text::Place;

    const PROTECTED: &str = include_str!("../../fixtures/policy/recommended-bucket-policy.json");

    fn bucket(policy: Read<String>) -> BucketSnapshot {
        BucketSnapshot {
            name: "acme-tfstate".into(),
            complete: true,
            policy,
            versioning: Read::Known("Enabled".into()),
            ownership: Read::Known("BucketOwnerEnforced".into()),
            public_access_block: Read::Known(PublicAccessBlock {
                block_public_acls: true,
                ignore_public_acls: true,
                block_public_policy: true,
                restrict_public_buckets: true,
            }),
            ..BucketSnapshot::default()
        }
    }

    /// One state in the bucket, as a repository names it.
    fn expected() -> Expected {
        let state = ExpectedState {
            bucket: "acme-tfstate".into(),
            key: "prod/terraform.tfstate".into(),
            workspace_key_prefix: "env:".into(),
            mode: LockMode::Lockfile,
            table: None,
            acl: false,
            lock_tags: false,
            access: Access::default(),
            root: "prod".into(),
            backend_config: Vec::new(),
            engine: Engine::Any,
            place: Place { file: "prod/main.tf".into(), line: 1, column: 1 },
        };
        Expected { states: vec![state], ..Expected::default() }
    }

    fn audited(snapshot: &Snapshot, options: &AccessOptions) -> Audit {
        let expected = expected();
        let mut audit = judge_locks(snapshot, &expected, &JudgeOptions::default());
        add(&mut audit, snapshot, &expected, options);
        audit
    }

    fn rules(audit: &Audit) -> BTreeSet<&str> {
        audit.findings.iter().map(|finding| finding.rule.as_str()).collect()
    }

    fn of(policy: Read<String>) -> Snapshot {
        Snapshot { buckets: vec![bucket(policy)], ..Snapshot::default() }
    }

    fn roles() -> AccessOptions {
        AccessOptions {
            runners: vec!["arn:aws:iam::111122223333:role/ci/tf-apply".into()],
            plan: vec!["arn:aws:iam::111122223333:role/ci/tf-plan".into()],
            break_glass: vec!["arn:aws:iam::111122223333:role/break-glass".into()],
            state_admin: vec!["arn:aws:iam::111122223333:role/state-admin".into()],
            ..AccessOptions::default()
        }
    }

    #[test]
    fn no_policy_leaves_every_lock_to_everybody_and_the_recommended_one_does_not() {
        let open = audited(&of(Read::Absent), &roles());
        assert!(rules(&open).contains("lock-delete-unlimited"), "{:?}", rules(&open));
        assert_eq!(open.access.len(), 1);
        let closed = audited(&of(Read::Known(PROTECTED.into())), &roles());
        for rule in ["lock-delete-unlimited", "lock-overwrite-possible", "lock-planting-possible"] {
            assert!(rules(&open).contains(rule), "{rule}: {:?}", rules(&open));
            assert!(!rules(&closed).contains(rule), "{rule}: {:?}", rules(&closed));
        }
        assert!(closed.findings.is_sorted_by(|a, b| a.severity >= b.severity));
    }

    #[test]
    fn what_was_not_asked_or_is_not_aws_s_is_not_judged() {
        assert_eq!(audited(&of(Read::NotAsked), &roles()).access, []);
        let mut elsewhere = of(Read::Absent);
        elsewhere.buckets[0].endpoint = Some("http://127.0.0.1:9000".into());
        let silent = audited(&elsewhere, &roles());
        assert_eq!((silent.access.len(), rules(&silent).contains("access-not-known")), (0, false));
        // Whoever asks for users and roles is told that they do not count here.
        elsewhere.accounts =
            vec![AccountSnapshot { account: "111122223333".into(), ..AccountSnapshot::default() }];
        let told = audited(&elsewhere, &roles());
        let told: Vec<&str> = told.findings.iter().map(|finding| finding.message.as_str()).collect();
        let said = "who can do what to locks was not judged: it lies behind `http://127.0.0.1:9000`, which is not \
                    AWS's own, and it has no policy: what IAM says does not count there";
        assert!(told.contains(&said), "{told:?}");
        elsewhere.accounts.clear();
        // AWS's own endpoints lead to AWS.
        for endpoint in ["https://s3-fips.us-east-1.amazonaws.com", "https://s3.eu-west-1.amazonaws.com"] {
            elsewhere.buckets[0].endpoint = Some(endpoint.into());
            let audit = audited(&elsewhere, &roles());
            assert_eq!(audit.access.len(), 1, "{endpoint}");
            assert!(rules(&audit).contains("lock-delete-unlimited"), "{endpoint}");
        }
        elsewhere.buckets[0].endpoint = Some("http://127.0.0.1:9000".into());
        elsewhere.buckets[0].policy = Read::Known(PROTECTED.into());
        assert_eq!(audited(&elsewhere, &roles()).access.len(), 1);
    }

    #[test]
    fn a_role_that_can_t_delete_its_lock_is_found_among_those_that_were_read() {
        let mut snapshot = of(Read::Absent);
        let policy = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject"],"Resource":"arn:aws:s3:::acme-tfstate/*"}]}"#;
        snapshot.accounts = vec![AccountSnapshot {
            account: "111122223333".into(),
            complete: true,
            principals: vec![Principal {
                arn: "arn:aws:iam::111122223333:role/ci/tf-apply".into(),
                policies: vec![("own".into(), policy.into())],
                ..Principal::default()
            }],
        }];
        let audit = audited(&snapshot, &roles());
        let finding = audit.findings.iter().find(|finding| finding.rule == "runner-cannot-delete-lock");
        let finding = finding.unwrap_or_else(|| panic!("{:?}", rules(&audit)));
        assert!(finding.subject.contains("role/ci/tf-apply"), "{finding:?}");
        assert_eq!(finding.bucket.as_deref(), Some("acme-tfstate"));
        assert!(audit.access[0].principals_read);
    }
    #[test]
    fn a_backend_that_sets_acl_or_lock_tags_needs_more_rights_on_the_lock() {
        let mut snapshot = of(Read::Absent);
        let policy = |more: &str| {
            format!(
                r#"{{"Statement":[{{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject","s3:DeleteObject"{more}],"Resource":"arn:aws:s3:::acme-tfstate/*"}}]}}"#
            )
        };
        let messages = |snapshot: &Snapshot, acl: bool, lock_tags: bool| -> Vec<String> {
            let mut expected = expected();
            // Another backend of the same state, without either.
            expected.states.push(expected.states[0].clone());
            (expected.states[0].acl, expected.states[0].lock_tags) = (acl, lock_tags);
            let mut audit = judge_locks(snapshot, &expected, &JudgeOptions::default());
            add(&mut audit, snapshot, &expected, &roles());
            let found = audit.findings.into_iter().filter(|finding| finding.rule == "lock-tags-not-allowed");
            found.map(|finding| finding.message).collect()
        };
        let mut runner = Principal {
            arn: "arn:aws:iam::111122223333:role/ci/tf-apply".into(),
            policies: vec![("own".into(), policy(""))],
            ..Principal::default()
        };
        let account = |runner: &Principal| AccountSnapshot {
            account: "111122223333".into(),
            complete: true,
            principals: vec![runner.clone()],
        };
        snapshot.accounts = vec![account(&runner)];
        let role = "`arn:aws:iam::111122223333:role/ci/tf-apply`";
        let acl = format!("the backend sets `acl`, and {role} has no s3:PutObjectAcl on the lock");
        let tags = format!("the backend sets `lock_tags`, and {role} has no s3:PutObjectTagging on the lock");
        assert_eq!(messages(&snapshot, true, false), std::slice::from_ref(&acl));
        assert_eq!(messages(&snapshot, false, true), std::slice::from_ref(&tags));
        assert_eq!(messages(&snapshot, true, true), [acl.as_str(), tags.as_str()]);
        assert_eq!(messages(&snapshot, false, false), [""; 0]);
        runner.policies[0].1 = policy(r#","s3:PutObjectAcl""#);
        snapshot.accounts = vec![account(&runner)];
        assert_eq!(messages(&snapshot, true, true), [tags]);
        runner.policies[0].1 = policy(r#","s3:PutObjectAcl","s3:PutObjectTagging""#);
        snapshot.accounts = vec![account(&runner)];
        assert_eq!(messages(&snapshot, true, true), [""; 0]);
    }
}
