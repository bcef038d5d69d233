//! What follows for an audit: which buckets are judged, and what is found.

use std::collections::BTreeSet;

use super::*;
use crate::audit::expected::{Access, ExpectedState};
use crate::audit::judge::{JudgeOptions, judge as judge_locks};
use crate::audit::snapshot::{AccountSnapshot, Principal, PublicAccessBlock};
use crate::repo::inventory::{Engine, LockMode};
use crate::repo::text::Place;

const PROTECTED: &str = include_str!("../../../fixtures/policy/recommended-bucket-policy.json");

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
