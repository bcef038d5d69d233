//! Takes a listing, key by key, and keeps what can matter: locks, their past, and the states that they belong to or
//! that somebody names. Pure: it asks nobody.
//!
//! A listing is sorted, so everything between `X` and `X.tflock` begins with `X`. A stack of the keys that begin each
//! other is therefore enough to know, when a lock comes, whether its state is there.

use std::collections::{BTreeMap, BTreeSet};

use super::page::Entry;
use crate::audit::expected::Index;
use crate::audit::snapshot::{LOCK_SUFFIX, LockInterval, StateHistory, StateObject, StateWrite};
use crate::moment::Moment;

/// What makes a key matter, for one bucket.
#[derive(Clone, Copy)]
pub(super) struct Interest<'a> {
    /// The bucket.
    pub bucket: &'a str,
    /// States of repositories.
    pub expected: &'a Index<'a>,
    /// State paths that lock tables name.
    pub named: &'a BTreeSet<String>,
    /// Where the window begins.
    pub from: Moment,
    /// The bucket keeps versions.
    pub versioned: bool,
}

/// What one listing, or one part of it, left in the sieve.
#[derive(Debug, Default)]
pub(super) struct Sifted {
    /// Current locks.
    pub locks: Vec<Entry>,
    /// States that matter.
    pub states: Vec<StateObject>,
    /// Locks and writes of the window, by state path.
    pub history: BTreeMap<String, StateHistory>,
    /// Objects that do not matter.
    pub other: u64,
    /// The youngest version that was written without versioning.
    pub null_version: Option<Moment>,
    /// States whose lock is here and whose own place lies before this part.
    orphans: Vec<String>,
    /// States that the end of this part left undecided.
    left: Vec<Held>,
}

/// A key that may yet matter.
#[derive(Debug)]
struct Held {
    key: String,
    current: Option<StateObject>,
    writes: Vec<StateWrite>,
    wanted: bool,
}

/// The key that is being read.
#[derive(Debug)]
enum Run {
    Lock { key: String, current: Option<Entry>, newer: Option<(Moment, bool)>, intervals: Vec<LockInterval> },
    State(Held),
}

/// The sieve for one part of a listing.
pub(super) struct Sieve<'a> {
    interest: Interest<'a>,
    /// Where this part begins; none at the very begin.
    after: Option<String>,
    run: Option<Run>,
    stack: Vec<Held>,
    out: Sifted,
}

impl<'a> Sieve<'a> {
    /// For the part of a listing that begins after a key.
    pub fn new(interest: Interest<'a>, after: Option<String>) -> Self {
        Self { interest, after, run: None, stack: Vec::new(), out: Sifted::default() }
    }

    /// The next entry. The caller has seen to it that keys come in order, each key's newest version first.
    pub fn take(&mut self, entry: Entry) {
        let same = match &self.run {
            Some(Run::Lock { key, .. }) | Some(Run::State(Held { key, .. })) => *key == entry.key,
            None => false,
        };
        if !same {
            self.end_run();
            self.run = Some(match entry.key.ends_with(LOCK_SUFFIX) {
                true => {
                    Run::Lock { key: entry.key.clone(), current: None, newer: None, intervals: Vec::new() }
                }
                false => Run::State(Held {
                    key: entry.key.clone(),
                    current: None,
                    writes: Vec::new(),
                    wanted: false,
                }),
            });
        }
        if entry.version.as_deref() == Some("null") && !entry.marker {
            self.out.null_version = self.out.null_version.max(Some(entry.modified));
        }
        let Interest { from, versioned, .. } = self.interest;
        // A null version is replaced, not kept, so nothing follows from the absence of an earlier one.
        let kept = versioned && !entry.marker && entry.version.as_deref() != Some("null");
        match &mut self.run {
            Some(Run::Lock { current, newer, intervals, .. }) => {
                let ended = newer.replace((entry.modified, entry.marker));
                let seen = ended.is_none_or(|(to, _)| to >= from);
                if kept && seen {
                    intervals.push(LockInterval {
                        from: entry.modified,
                        to: ended.map(|(to, _)| to),
                        version_id: entry.version.clone().unwrap_or_default(),
                        body: None,
                        overwritten: ended.is_some_and(|(_, marker)| !marker),
                    });
                }
                if entry.latest && !entry.marker {
                    *current = Some(entry);
                }
            }
            Some(Run::State(held)) => {
                if kept && entry.modified >= from {
                    let version_id = entry.version.clone().unwrap_or_default();
                    held.writes.push(StateWrite { at: entry.modified, version_id });
                }
                if entry.latest && !entry.marker {
                    held.current = Some(StateObject {
                        key: entry.key,
                        last_modified: entry.modified,
                        etag: entry.etag.map(|etag| etag.trim_matches('"').to_owned()),
                        size: entry.size,
                        md5: None,
                    });
                }
            }
            None => {}
        }
    }

    /// The end of this part.
    pub fn end(mut self) -> Sifted {
        self.end_run();
        self.out.left = self.stack;
        self.out
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let key = match &run {
            Run::Lock { key, .. } | Run::State(Held { key, .. }) => key,
        };
        while self.stack.last().is_some_and(|held| !key.starts_with(&held.key)) {
            if let Some(held) = self.stack.pop() {
                self.out.release(held, self.interest.versioned);
            }
        }
        match run {
            Run::State(mut held) => {
                held.wanted = self.interest.named.contains(&held.key)
                    || self.interest.expected.knows(self.interest.bucket, &held.key);
                self.stack.push(held);
            }
            Run::Lock { key, current, intervals, .. } => {
                if current.is_none() && intervals.is_empty() {
                    return;
                }
                let state = key.strip_suffix(LOCK_SUFFIX).unwrap_or(&key);
                if let Some(held) = self.stack.iter_mut().rev().find(|held| held.key == state) {
                    held.wanted = true;
                } else if self.after.as_deref().is_some_and(|after| state <= after) {
                    self.out.orphans.push(state.to_owned());
                }
                if !intervals.is_empty() {
                    self.out.history.entry(state.to_owned()).or_default().locks = intervals;
                }
                self.out.locks.extend(current);
            }
        }
    }
}

impl Sifted {
    /// A key of which nothing more can be learnt.
    fn release(&mut self, held: Held, versioned: bool) {
        let written = versioned && !held.writes.is_empty();
        if !held.wanted && !(written && held.key.ends_with(".tfstate")) {
            self.other += u64::from(held.current.is_some());
            return;
        }
        if written {
            self.history.entry(held.key.clone()).or_default().writes = held.writes;
        }
        self.states.extend(held.current);
    }

    /// Joins the parts of a bucket's listings, which come in order.
    pub fn join(parts: Vec<Self>, versioned: bool) -> Self {
        let mut whole = Self::default();
        let mut open: Vec<Held> = Vec::new();
        for part in parts {
            for state in &part.orphans {
                if let Some(held) = open.iter_mut().find(|held| held.key == *state) {
                    held.wanted = true;
                }
            }
            open.extend(part.left);
            whole.locks.extend(part.locks);
            whole.states.extend(part.states);
            for (state, history) in part.history {
                let into = whole.history.entry(state).or_default();
                into.locks.extend(history.locks);
                into.writes.extend(history.writes);
            }
            whole.other += part.other;
            whole.null_version = whole.null_version.max(part.null_version);
        }
        for held in open {
            whole.release(held, versioned);
        }
        whole.locks.sort_by(|a, b| a.key.cmp(&b.key));
        whole.states.sort_by(|a, b| a.key.cmp(&b.key));
        for history in whole.history.values_mut() {
            history.locks.sort_by(|a, b| (a.from, &a.version_id).cmp(&(b.from, &b.version_id)));
            history.writes.sort_by(|a, b| (a.at, &a.version_id).cmp(&(b.at, &b.version_id)));
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::expected::Expected;

    /// `+` is a version, `-` a delete marker; the first entry of a key is the current one.
    fn entries(lines: &[(&str, i64, char)]) -> Vec<Entry> {
        let mut last = "";
        let entry = |(key, seconds, kind): &(&'static str, i64, char)| {
            let latest = last != *key;
            last = key;
            Entry {
                key: (*key).to_owned(),
                version: Some(format!("v{seconds}")),
                latest,
                marker: *kind == '-',
                modified: Moment::from_seconds(*seconds),
                etag: Some("\"e\"".to_owned()),
                size: 1,
            }
        };
        // The lines are written by hand in tests, so they live as long as the program.
        let lines: Vec<(&'static str, i64, char)> =
            lines.iter().map(|(key, at, kind)| (&*key.to_string().leak(), *at, *kind)).collect();
        lines.iter().map(entry).collect()
    }

    fn sift(entries: &[Entry], borders: &[&str], named: &[&str], versioned: bool) -> Sifted {
        let expected = Expected::default();
        let index = expected.index();
        let named = named.iter().map(|name| (*name).to_owned()).collect();
        let interest = Interest {
            bucket: "b",
            expected: &index,
            named: &named,
            from: Moment::from_seconds(100),
            versioned,
        };
        let mut parts = Vec::new();
        let mut after: Option<&str> = None;
        for border in borders.iter().map(|border| Some(*border)).chain([None]) {
            let mut sieve = Sieve::new(interest, after.map(str::to_owned));
            for entry in entries {
                let begun = after.is_none_or(|after| entry.key.as_str() > after);
                if begun && border.is_none_or(|border| entry.key.as_str() <= border) {
                    sieve.take(entry.clone());
                }
            }
            parts.push(sieve.end());
            after = border;
        }
        Sifted::join(parts, versioned)
    }

    fn keys(sifted: &Sifted) -> (Vec<&str>, Vec<&str>) {
        let states = sifted.states.iter().map(|state| state.key.as_str()).collect();
        (sifted.locks.iter().map(|lock| lock.key.as_str()).collect(), states)
    }

    #[test]
    fn a_lock_keeps_its_state_and_nothing_else() {
        let listing = entries(&[
            ("a", 1, '+'),
            ("a-b", 1, '+'),
            ("a.t", 1, '+'),
            ("a.tflock", 1, '+'),
            ("named", 1, '+'),
            ("z.tfstate", 1, '+'),
            ("zz.tflock", 1, '+'),
        ]);
        let sifted = sift(&listing, &[], &["named", "absent"], false);
        assert_eq!(keys(&sifted), (vec!["a.tflock", "zz.tflock"], vec!["a", "named"]));
        assert_eq!((sifted.other, sifted.history.len()), (3, 0));
    }

    #[test]
    fn versions_become_intervals_and_writes() {
        let listing = entries(&[
            ("k.tfstate", 160, '+'),
            ("k.tfstate", 120, '+'),
            ("k.tfstate", 20, '+'),
            ("k.tfstate.tflock", 200, '+'),
            ("k.tfstate.tflock", 165, '-'),
            ("k.tfstate.tflock", 150, '+'),
            ("k.tfstate.tflock", 130, '+'),
            ("k.tfstate.tflock", 105, '-'),
            ("k.tfstate.tflock", 90, '+'),
            ("k.tfstate.tflock", 80, '-'),
            ("k.tfstate.tflock", 70, '+'),
            ("other.txt", 160, '+'),
            ("w.tfstate", 170, '-'),
            ("w.tfstate", 160, '+'),
        ]);
        let sifted = sift(&listing, &[], &[], true);
        assert_eq!(keys(&sifted), (vec!["k.tfstate.tflock"], vec!["k.tfstate"]));
        let history = &sifted.history["k.tfstate"];
        let intervals: Vec<(i64, Option<i64>, bool)> = history
            .locks
            .iter()
            .map(|lock| (lock.from.seconds(), lock.to.map(Moment::seconds), lock.overwritten))
            .collect();
        assert_eq!(
            intervals,
            [(90, Some(105), false), (130, Some(150), true), (150, Some(165), false), (200, None, false)],
            "what ended before the window is not there, what reaches into it is"
        );
        let writes: Vec<i64> = history.writes.iter().map(|write| write.at.seconds()).collect();
        assert_eq!(writes, [120, 160]);
        assert_eq!(sifted.history["w.tfstate"].writes.len(), 1, "a state that was deleted was still written");
        assert_eq!((sifted.history.len(), sifted.other), (2, 1));
    }

    #[test]
    fn a_version_from_before_versioning_is_noticed() {
        let mut listing = entries(&[("k.tfstate", 150, '+'), ("k.tfstate.tflock", 140, '+')]);
        listing.iter_mut().for_each(|entry| entry.version = Some("null".to_owned()));
        let sifted = sift(&listing, &[], &[], true);
        assert_eq!(sifted.null_version, Some(Moment::from_seconds(150)));
        assert_eq!(keys(&sifted), (vec!["k.tfstate.tflock"], vec!["k.tfstate"]));
        assert!(sifted.history.is_empty());
    }

    proptest! {
        /// Wherever a listing is cut into parts, the same comes out.
        #[test]
        fn borders_change_nothing(
            names in proptest::collection::btree_set("[ab.]{1,4}(\\.tflock)?", 1..40),
            borders in proptest::collection::btree_set("[ab.]{1,5}", 0..4),
        ) {
            let lines: Vec<(&str, i64, char)> = names.iter().map(|name| (name.as_str(), 150, '+')).collect();
            let listing = entries(&lines);
            let borders: Vec<&str> = borders.iter().map(String::as_str).collect();
            let (whole, parts) = (sift(&listing, &[], &[], true), sift(&listing, &borders, &[], true));
            prop_assert_eq!(keys(&whole), keys(&parts));
            prop_assert_eq!(&whole.history, &parts.history);
            prop_assert_eq!(whole.other, parts.other);
            // And it is what the definition says.
            let with_lock: Vec<&str> = names
                .iter()
                .filter(|name| !name.ends_with(LOCK_SUFFIX) && names.contains(&format!("{name}{LOCK_SUFFIX}")))
                .map(String::as_str)
                .collect();
            prop_assert_eq!(keys(&whole).1, with_lock);
        }
    }
}
