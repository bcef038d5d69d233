//! Rules about a bucket's settings, as far as they touch locks. A setting that was not read says nothing.
//!
//! Source of what lifecycle rules match: Amazon S3 User Guide, "Lifecycle rule elements" and "Transitioning objects".

use std::collections::BTreeMap;

use super::world::{World, count};
use crate::audit::outcome::{AuditFinding, StateReport};
use crate::audit::snapshot::{BucketSnapshot, LOCK_SUFFIX, LifecycleRule, Read};
use crate::finding::Severity;
use crate::moment::Moment;
use crate::repo::text::Place;
use crate::rules::{Rule, audit_bucket as rules};

/// A lock document is 200 to 400 bytes.
const LOCK_SIZES: std::ops::RangeInclusive<u64> = 200..=400;

/// A lock that is held longer than this is rare; one that is left behind for shorter is not.
const SOON_DAYS: u32 = 7;

/// Storage classes that can't be read without restoring the object first.
const COLD: &[&str] = &["GLACIER", "DEEP_ARCHIVE"];

/// One bucket and the states in it, in order.
struct Bucket<'a> {
    now: Moment,
    bucket: &'a BucketSnapshot,
    paths: Vec<&'a str>,
    place: Option<Place>,
}

/// All that can be said about the buckets' settings.
pub(super) fn judge(world: &World<'_>, states: &[StateReport], findings: &mut Vec<AuditFinding>) {
    let mut paths: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for state in states {
        paths.entry(state.bucket.as_str()).or_default().push(state.state_path.as_str());
    }
    let mut places: BTreeMap<usize, &Place> = BTreeMap::new();
    for state in &world.expected.states {
        if let Some(index) = world.bucket_of(state) {
            places.entry(index).or_insert(&state.place);
        }
    }
    for (index, bucket) in world.snapshot.buckets.iter().enumerate() {
        let case = Bucket {
            now: world.now,
            bucket,
            paths: paths.get(bucket.name.as_str()).cloned().unwrap_or_default(),
            place: places.get(&index).map(|place| (*place).clone()),
        };
        findings.extend(case.versioning());
        findings.extend(case.object_lock());
        for rule in bucket.lifecycle.known().into_iter().flatten().filter(|rule| case.hits(rule)) {
            findings.extend(case.expiry(rule));
            findings.extend(case.transition(rule));
        }
        findings.extend(case.versions_kept());
        findings.extend(case.replication());
        findings.extend(case.encryption());
    }
}

/// Whether a rule's filter matches a lock: a prefix apart, by tags (a lock has none) and size.
fn matches_lock(rule: &LifecycleRule) -> bool {
    rule.enabled
        && rule.tags.is_empty()
        && rule.larger_than.is_none_or(|size| size < *LOCK_SIZES.end())
        && rule.smaller_than.is_none_or(|size| size > *LOCK_SIZES.start())
}

/// Whether a rule's filter matches the lock of this state.
pub(super) fn hits_lock_of(rule: &LifecycleRule, path: &str) -> bool {
    // Without building the key for each state: a longer prefix may reach into the suffix.
    let reaches = path.starts_with(rule.prefix.as_str())
        || rule.prefix.strip_prefix(path).is_some_and(|rest| LOCK_SUFFIX.starts_with(rest));
    matches_lock(rule) && reaches
}

fn days_of(days: u32) -> String {
    format!("{days} {}", if days == 1 { "day" } else { "days" })
}

impl Bucket<'_> {
    fn finding(&self, rule: &Rule, message: String, help: &str, consequence: &str) -> AuditFinding {
        AuditFinding {
            place: self.place.clone(),
            help: Some(help.to_owned()),
            consequence: Some(consequence.to_owned()),
            ..AuditFinding::new(rule, format!("s3://{}", self.bucket.name), message)
        }
    }

    /// The states whose keys begin so: a run of neighbours, since states are in order.
    fn below(&self, prefix: &str) -> std::ops::Range<usize> {
        let start = self.paths.partition_point(|path| *path < prefix);
        let rest = self.paths.get(start..).unwrap_or_default();
        start..start + rest.partition_point(|path| path.starts_with(prefix))
    }

    /// Whether any lock can be under this prefix.
    fn reaches(&self, prefix: &str) -> bool {
        prefix.is_empty()
            || !self.below(prefix).is_empty()
            || LOCK_SUFFIX.char_indices().map(|(at, _)| at).skip(1).chain([LOCK_SUFFIX.len()]).any(|end| {
                let path = LOCK_SUFFIX.get(..end).and_then(|suffix| prefix.strip_suffix(suffix));
                path.is_some_and(|path| self.paths.binary_search(&path).is_ok())
            })
    }

    fn hits(&self, rule: &LifecycleRule) -> bool {
        matches_lock(rule) && self.reaches(&rule.prefix)
    }

    fn versioning(&self) -> Option<AuditFinding> {
        let help = "enable versioning, and a lifecycle rule for old versions of locks with it";
        let consequence =
            "a state that was overwritten is gone, and nothing proves that its writes were locked in S3";
        match &self.bucket.versioning {
            Read::Known(versioning) if versioning == "Enabled" => None,
            Read::Known(versioning) if versioning == "Suspended" => Some(self.finding(
                &rules::BUCKET_VERSIONING_SUSPENDED,
                "versioning is suspended".to_owned(),
                help,
                consequence,
            )),
            Read::Known(_) | Read::Absent => Some(self.finding(
                &rules::BUCKET_UNVERSIONED,
                "the bucket keeps no versions".to_owned(),
                help,
                consequence,
            )),
            Read::NotAsked | Read::Failed(_) => None,
        }
    }

    fn object_lock(&self) -> Option<AuditFinding> {
        let retention = self.bucket.object_lock.known()?.as_ref()?;
        Some(self.finding(
            &rules::BUCKET_OBJECT_LOCK_RETENTION,
            format!("every object gets a retention of {retention}, locks included"),
            "use Terraform 1.10.1 or later, and leave `skip_s3_checksum` off",
            "locks are released as ever; their versions stay until the retention ends, and cost a little",
        ))
    }

    fn expiry(&self, rule: &LifecycleRule) -> Option<AuditFinding> {
        let (when, soon) = match (rule.expire_days, &rule.expire_date) {
            (Some(days), _) => (format!("after {}", days_of(days)), days <= SOON_DAYS),
            // From that date on, the rule goes on every day.
            (None, Some(date)) => {
                let passed = Moment::parse(date).is_some_and(|date| date <= self.now);
                (format!("from {date} on"), passed)
            }
            (None, None) => return None,
        };
        let finding = self.finding(
            &rules::BUCKET_LOCK_EXPIRY,
            format!("lifecycle rule `{}` expires locks {when}, and with them whatever else it matches", rule.id),
            "leave the states' prefixes out of the rule, or give it a tag that locks don't have; to tidy old versions, \
             use NoncurrentVersionExpiration",
            "a lock that is still needed is released without a word, and bucket policies don't stop it",
        );
        let severity = if soon { Severity::High } else { Severity::Medium };
        Some(AuditFinding { severity, ..finding })
    }

    fn transition(&self, rule: &LifecycleRule) -> Option<AuditFinding> {
        let (days, class) = rule.transitions.iter().find(|(_, class)| COLD.contains(&class.as_str()))?;
        let when = days.map(|days| format!(" after {}", days_of(days))).unwrap_or_default();
        let finding = self.finding(
            &rules::BUCKET_LOCK_TRANSITION,
            format!("lifecycle rule `{}` moves locks to {class}{when}", rule.id),
            "leave the states' prefixes out of the rule, or set ObjectSizeGreaterThan to more than a lock's 400 bytes",
            "a lock there can't be read, so it can't be released without restoring it first",
        );
        // By default S3 moves nothing below 128 KB any more; a filter by size overrides that.
        let sized = rule.larger_than.is_some() || rule.smaller_than.is_some();
        Some(AuditFinding { severity: if sized { Severity::Medium } else { Severity::Low }, ..finding })
    }

    fn versions_kept(&self) -> Option<AuditFinding> {
        if !matches!(&self.bucket.versioning, Read::Known(versioning) if versioning == "Enabled") {
            return None;
        }
        let none = Vec::new();
        let lifecycle = match &self.bucket.lifecycle {
            Read::Known(lifecycle) => lifecycle,
            Read::Absent => &none,
            Read::NotAsked | Read::Failed(_) => return None,
        };
        let mut prefixes: Vec<&str> = lifecycle
            .iter()
            .filter(|rule| matches_lock(rule) && rule.noncurrent_days.is_some())
            .map(|rule| rule.prefix.as_str())
            .collect();
        if prefixes.contains(&"") || self.paths.is_empty() {
            return None;
        }
        prefixes.sort_unstable();
        let (mut covered, mut last) = (0, None::<&str>);
        for prefix in prefixes {
            // One below another adds nothing.
            if last.is_none_or(|last| !prefix.starts_with(last)) {
                covered += self.below(prefix).len();
                last = Some(prefix);
            }
        }
        let left = self.paths.len().saturating_sub(covered);
        (left > 0).then(|| {
            self.finding(
                &rules::BUCKET_LOCK_VERSIONS_KEPT,
                format!(
                    "no lifecycle rule removes old versions of locks ({left} of {})",
                    count(self.paths.len(), "state", "states")
                ),
                "add NoncurrentVersionExpiration of 30 days or more for objects smaller than 1 KB, with \
                 ExpiredObjectDeleteMarker; fewer days than the audit's window would take the proof away",
                "each run leaves one old version and one delete marker for ever, and listings get slower",
            )
        })
    }

    fn replication(&self) -> Option<AuditFinding> {
        let rules = self.bucket.replication.known()?;
        let rule = rules.iter().find(|rule| rule.enabled && self.reaches(&rule.prefix))?;
        let markers = if rule.delete_markers { "" } else { ", and not their delete markers" };
        let consequence = if rule.delete_markers {
            "after a failover, locks that were held stay behind in the copy; nobody there holds them"
        } else {
            "in the copy every lock stays for ever: after a failover every state is locked"
        };
        Some(self.finding(
            &rules::BUCKET_REPLICATION_TOUCHES_LOCKS,
            format!("replication rule `{}` copies locks to {}{markers}", rule.id, rule.destination),
            "delete all `.tflock` objects in the copy before you fail over to it",
            consequence,
        ))
    }

    fn encryption(&self) -> Option<AuditFinding> {
        let encryption = self.bucket.encryption.known()?;
        if !encryption.algorithm.starts_with("aws:kms") {
            return None;
        }
        let key = match &encryption.kms_key {
            Some(key) => format!("the KMS key `{key}`"),
            None => "the account's own KMS key for S3".to_owned(),
        };
        Some(self.finding(
            &rules::BUCKET_KMS_ENCRYPTION,
            format!("new objects are encrypted with {key}, locks included"),
            "grant kms:GenerateDataKey and kms:Decrypt on it to everyone who plans or applies, and kms:Decrypt to the \
             auditor",
            "who lacks kms:Decrypt can lock, and then not unlock",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> LifecycleRule {
        LifecycleRule { id: "r".into(), enabled: true, ..LifecycleRule::default() }
    }

    #[test]
    fn a_filter_matches_a_lock_by_prefix_tag_and_size() {
        let tag = ("a".to_owned(), "b".to_owned());
        for (rule, hits) in [
            (rule(), true),
            (LifecycleRule { enabled: false, ..rule() }, false),
            (LifecycleRule { prefix: "app/".into(), ..rule() }, true),
            (LifecycleRule { prefix: "app/s.tflock".into(), ..rule() }, true),
            (LifecycleRule { prefix: "app/s.tflocks".into(), ..rule() }, false),
            (LifecycleRule { prefix: "logs/".into(), ..rule() }, false),
            (LifecycleRule { tags: vec![tag], ..rule() }, false),
            (LifecycleRule { larger_than: Some(128 * 1024), ..rule() }, false),
            (LifecycleRule { larger_than: Some(0), ..rule() }, true),
            (LifecycleRule { smaller_than: Some(1024), ..rule() }, true),
            (LifecycleRule { smaller_than: Some(100), ..rule() }, false),
        ] {
            assert_eq!(hits_lock_of(&rule, "app/s"), hits, "{rule:?}");
        }
    }
}
