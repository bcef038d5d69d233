//! From when on a bucket's versions tell everything, and which past locks are worth reading.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bodies::Wanted;
use crate::audit::snapshot::{LOCK_SUFFIX, LifecycleRule, Read, StateHistory};
use crate::moment::Moment;

/// No lock document and no state is shorter (an empty state of format 4 has over a hundred bytes): a rule for smaller
/// objects only can't hit one.
const SMALLEST: u64 = 100;

/// From when on the versions of these keys are complete; none when nothing takes any of the window away.
///
/// - A lifecycle rule expires noncurrent versions so many days after they became noncurrent. Rules that ask for tags
///   count, too: OpenTofu can tag both locks and states.
/// - A version without an ID (`null`) in a bucket that keeps versions was written before that was switched on.
/// - Where the rules can't be read, no version that is missing proves anything.
pub(super) fn complete_since<'k>(
    lifecycle: &Read<Vec<LifecycleRule>>,
    null_version: Option<Moment>,
    keys: impl Iterator<Item = &'k str> + Clone,
    now: Moment,
    window: Duration,
) -> Option<Moment> {
    let rules = match lifecycle {
        Read::Known(rules) => rules.as_slice(),
        Read::Absent => &[],
        Read::NotAsked | Read::Failed(_) => return Some(now),
    };
    let hits = |rule: &&LifecycleRule| {
        rule.enabled
            && rule.smaller_than.is_none_or(|size| size > SMALLEST)
            && keys.clone().any(|key| key.starts_with(&rule.prefix))
    };
    let days = rules.iter().filter(hits).filter_map(|rule| rule.noncurrent_days).min();
    let kept = days.map(|days| now.before(Duration::from_secs(u64::from(days) * 24 * 60 * 60)));
    kept.max(null_version).filter(|since| *since > now.before(window))
}

/// The past locks to read: of each state the newest ones.
pub(super) fn past_locks(history: &BTreeMap<String, StateHistory>, each: usize) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for (state, history) in history {
        let past = history.locks.iter().rev().filter(|lock| lock.to.is_some());
        wanted.extend(past.take(each).map(|lock| Wanted {
            key: format!("{state}{LOCK_SUFFIX}"),
            version: Some(lock.version_id.clone()),
        }));
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::snapshot::LockInterval;

    const DAY: i64 = 24 * 60 * 60;

    fn since(rules: Read<Vec<LifecycleRule>>, null_version: Option<i64>) -> Option<i64> {
        let keys = ["live/a.tfstate", "live/a.tfstate.tflock"];
        let now = Moment::from_seconds(100 * DAY);
        let window = Duration::from_secs(14 * DAY.unsigned_abs());
        let null_version = null_version.map(|day| Moment::from_seconds(day * DAY));
        complete_since(&rules, null_version, keys.into_iter(), now, window).map(|since| since.seconds() / DAY)
    }

    fn rule(days: u32, prefix: &str) -> LifecycleRule {
        LifecycleRule {
            enabled: true,
            noncurrent_days: Some(days),
            prefix: prefix.into(),
            ..LifecycleRule::default()
        }
    }

    #[test]
    fn what_expires_within_the_window_is_not_complete() {
        assert_eq!(since(Read::Absent, None), None);
        assert_eq!(since(Read::Known(vec![rule(30, "")]), None), None, "older than the window");
        assert_eq!(since(Read::Known(vec![rule(7, ""), rule(3, "live/")]), None), Some(97));
        assert_eq!(since(Read::Known(vec![rule(3, "logs/")]), None), None);
        let off = LifecycleRule { enabled: false, ..rule(3, "") };
        let tiny = LifecycleRule { smaller_than: Some(100), ..rule(3, "") };
        assert_eq!(since(Read::Known(vec![off, tiny]), None), None);
        assert_eq!(since(Read::Failed("no".into()), None), Some(100));
    }

    #[test]
    fn versions_tell_nothing_from_before_they_were_kept() {
        assert_eq!(since(Read::Absent, Some(95)), Some(95));
        assert_eq!(since(Read::Absent, Some(50)), None);
        assert_eq!(since(Read::Known(vec![rule(7, "")]), Some(95)), Some(95));
    }

    #[test]
    fn the_newest_past_locks_are_read() {
        let lock = |at: i64, held: bool| LockInterval {
            from: Moment::from_seconds(at),
            to: (!held).then(|| Moment::from_seconds(at + 1)),
            version_id: format!("v{at}"),
            body: None,
            overwritten: false,
        };
        let locks = vec![lock(1, false), lock(2, false), lock(3, false), lock(4, true)];
        let history = [("k".to_owned(), StateHistory { locks, writes: Vec::new() })].into();
        let versions: Vec<String> =
            past_locks(&history, 2).into_iter().filter_map(|wanted| wanted.version).collect();
        assert_eq!(versions, ["v3", "v2"]);
    }
}
