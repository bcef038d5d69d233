//! An audit's JSON, as far as a plan needs it. Tolerant: fields that are not known here are passed over, missing
//! ones are empty. What an audit looks at and how it judges is not known here.

use serde::Deserialize;

use crate::moment::Moment;

/// Seconds for which an audit counts as fresh.
const FRESH: i64 = 24 * 60 * 60;

/// Findings of an audit after which a run that takes the lockfile fails, or leaves its lock behind.
const BREAKS_RUNS: &[&str] = &[
    "cross-account-one-sided",
    "lock-delete-denies-runner",
    "lock-tags-not-allowed",
    "runner-cannot-decrypt-lock",
    "runner-cannot-delete-lock",
    "runner-cannot-read-lock",
    "runner-limited-by-boundary",
    "runner-without-lock-rights",
    "unlock-needs-if-match",
    "unversioned-delete-version-denied",
    "workspace-locks-not-covered",
];

/// What an audit saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// When, in RFC 3339.
    pub generated_at: String,
    /// How far back it looked for writes outside of a lock, in seconds; audits of old don't say.
    pub window_seconds: Option<u64>,
    /// States that were looked at.
    pub states: Vec<StateEvidence>,
    /// What the audit found.
    pub findings: Vec<FindingEvidence>,
    /// What it could not read.
    pub unread: Vec<UnreadEvidence>,
    /// Buckets whose store was asked whether it honours conditional writes.
    pub probes: Vec<ProbeEvidence>,
}

/// One state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StateEvidence {
    /// Its bucket.
    pub bucket: String,
    /// Its key, workspace included.
    pub state_path: String,
    /// The locks that were there; any shape, by store.
    pub locks: serde_json::Value,
    /// Whether the lockfile is in use.
    pub coverage: Option<CoverageEvidence>,
}

/// Whether every write of a state lay inside a lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CoverageEvidence {
    /// `proven`, `contradicted`, …
    pub verdict: String,
}

/// One finding of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FindingEvidence {
    /// Which rule.
    pub rule: String,
    /// `access` for who may do what, `locks` for the rest; audits of old don't say.
    pub area: String,
    /// How much it matters.
    pub severity: String,
    /// About what.
    pub subject: String,
    /// The bucket whose locks it is about, where the subject is a role.
    pub bucket: Option<String>,
    /// What is the case.
    pub message: String,
}

/// Something that the audit could not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UnreadEvidence {
    /// What.
    pub resource: String,
    /// Why.
    pub reason: String,
    /// Whether locks may hide behind it, which is what counts where the audit does not say. A bucket's setting that
    /// could not be read hides none.
    pub hides_locks: Option<bool>,
}

/// One bucket's answer to two writes of the same new object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProbeEvidence {
    /// The bucket.
    pub bucket: String,
    /// Whether the second write was refused.
    pub honoured: bool,
}

impl Evidence {
    /// Reads an audit's JSON.
    ///
    /// # Errors
    /// What is no JSON object, or holds another type where one of these fields stands.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// Why it is too old, or can't be dated; nothing when it is fresh.
    pub fn stale(&self, now: i64) -> Option<String> {
        let Some(at) = Moment::parse(&self.generated_at).map(Moment::seconds) else {
            return Some(format!("the evidence has no date that can be read (`{}`)", self.generated_at));
        };
        let age = now.saturating_sub(at);
        if age > FRESH {
            return Some(format!("the evidence is {} hours old, 24 is the most", age / 3600));
        }
        (age < -3600).then(|| "the evidence is dated in the future".to_owned())
    }

    /// Why it can't speak for the days in which both locks had to be taken; nothing when it can.
    pub fn short(&self, soak_days: u32) -> Option<String> {
        let window = std::time::Duration::from_secs(self.window_seconds?);
        let soak = std::time::Duration::from_secs(u64::from(soak_days) * 86_400);
        (window < soak).then(|| {
            let looked = crate::moment::in_words(window);
            format!("the evidence looked back {looked} only, and {soak_days} days are asked for (`--window`)")
        })
    }

    /// Which role could not take or release the lock of this state, by an audit of who may do what. The table that these
    /// runs lock with now needs none of these rights.
    pub fn would_break(&self, bucket: &str, key: &str) -> Option<&FindingEvidence> {
        let breaks = |finding: &&FindingEvidence| BREAKS_RUNS.contains(&finding.rule.as_str());
        self.findings.iter().filter(breaks).find(|finding| {
            finding.bucket.as_deref() == Some(bucket) || is_about(&finding.subject, bucket, key)
        })
    }

    /// Whether a bucket's store was seen to honour conditional writes.
    pub fn is_probed(&self, bucket: &str) -> bool {
        let mut probes = self.probes.iter().filter(|probe| probe.bucket == bucket).peekable();
        probes.peek().is_some() && probes.all(|probe| probe.honoured)
    }

    /// What speaks against leaving the table for the states of one backend: its `key`, and that key in workspaces.
    pub fn against(&self, bucket: &str, key: &str) -> Option<String> {
        let mut seen = false;
        for state in
            self.states.iter().filter(|state| state.bucket == bucket && is_of(&state.state_path, key))
        {
            seen = true;
            let name = format!("s3://{bucket}/{}", state.state_path);
            if state.coverage.as_ref().is_some_and(|coverage| coverage.verdict == "contradicted") {
                return Some(format!("{name} was written outside of an S3 lock"));
            }
            if is_held(&state.locks) {
                return Some(format!("{name} was locked when the audit looked"));
            }
        }
        let about = |subject: &str| is_about(subject, bucket, key);
        // Who else may delete a lock is worth knowing, and no worse with the lockfile than with the table; what would
        // stop a run is another matter.
        let serious = |finding: &FindingEvidence| {
            matches!(finding.severity.as_str(), "high" | "critical")
                && (finding.area != "access" || BREAKS_RUNS.contains(&finding.rule.as_str()))
        };
        if let Some(finding) =
            self.findings.iter().find(|finding| serious(finding) && about(&finding.subject))
        {
            return Some(format!("{} ({}): {}", finding.subject, finding.rule, finding.message));
        }
        let hides = |unread: &&UnreadEvidence| unread.hides_locks.unwrap_or(true) && about(&unread.resource);
        if let Some(unread) = self.unread.iter().find(hides) {
            return Some(format!("{} could not be read: {}", unread.resource, unread.reason));
        }
        (!seen).then(|| format!("the audit did not look at s3://{bucket}/{key}"))
    }
}

/// Whether a finding's subject is this bucket, or this state in it.
fn is_about(subject: &str, bucket: &str, key: &str) -> bool {
    let path = subject.strip_prefix("s3://").or(subject.strip_prefix("arn:aws:s3:::")).unwrap_or(subject);
    match path.strip_prefix(bucket) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('/').is_some_and(|rest| is_of(rest, key)),
        None => false,
    }
}

/// Whether a state path is this key or its lockfile, in the default or any other workspace (`PREFIX/NAME/KEY`).
fn is_of(path: &str, key: &str) -> bool {
    let path = path.strip_suffix(".tflock").unwrap_or(path);
    let prefix = path.strip_suffix(key);
    prefix.is_some_and(|prefix| {
        prefix.is_empty() || (prefix.ends_with('/') && prefix.matches('/').count() >= 2)
    })
}

/// Whether any store held a lock: `null`, `false`, and empty lists and objects are none. Why a side is not known
/// (`s3_unknown`) is no lock.
fn is_held(locks: &serde_json::Value) -> bool {
    use serde_json::Value;
    let some = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    match locks {
        Value::Object(stores) => stores.iter().any(|(name, lock)| !name.ends_with("_unknown") && some(lock)),
        other => some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_fresh_for_a_day() {
        let evidence = Evidence { generated_at: "1970-01-02T00:00:00Z".into(), ..Evidence::default() };
        assert_eq!(evidence.stale(2 * 86_400), None);
        assert_eq!(
            evidence.stale(2 * 86_400 + 1).as_deref(),
            Some("the evidence is 24 hours old, 24 is the most")
        );
        assert!(evidence.stale(0).is_some());
        assert!(Evidence::default().stale(0).is_some());
    }

    #[test]
    fn evidence_must_cover_the_days_of_both_locks() {
        let of = |seconds| Evidence { window_seconds: seconds, ..Evidence::default() };
        assert_eq!(of(Some(14 * 86_400)).short(14), None);
        assert_eq!(of(None).short(14), None);
        assert_eq!(
            of(Some(1)).short(14).as_deref(),
            Some("the evidence looked back 1 s only, and 14 days are asked for (`--window`)")
        );
    }

    #[test]
    fn roles_that_would_break_are_those_of_the_bucket() {
        let json = br#"{"findings":[
            {"rule":"runner-cannot-delete-lock","severity":"critical","subject":"arn:aws:iam::1:role/ci","bucket":"b","message":"m"},
            {"rule":"bucket-unversioned","severity":"medium","subject":"s3://c","message":"n"},
            {"rule":"unlock-needs-if-match","severity":"high","subject":"s3://d","message":"o"}]}"#;
        let evidence = Evidence::parse(json).unwrap();
        assert_eq!(evidence.would_break("b", "k").map(|finding| finding.message.as_str()), Some("m"));
        assert_eq!(evidence.would_break("c", "k"), None);
        let open = br#"{"states":[{"bucket":"b","state_path":"k"}],"findings":[
            {"rule":"lock-delete-unlimited","area":"access","severity":"high","subject":"s3://b","message":"m"}]}"#;
        assert_eq!(Evidence::parse(open).unwrap().against("b", "k"), None);
        let stops = String::from_utf8_lossy(open).replace("lock-delete-unlimited", "unlock-needs-if-match");
        assert_eq!(
            Evidence::parse(stops.as_bytes()).unwrap().against("b", "k").as_deref(),
            Some("s3://b (unlock-needs-if-match): m")
        );
        assert_eq!(evidence.would_break("d", "k").map(|finding| finding.message.as_str()), Some("o"));
    }

    #[test]
    fn what_speaks_against_a_state() {
        let json = br#"{"generated_at":"x","schema_version":1,"states":[
            {"bucket":"b","state_path":"k","mode":"dual","locks":{"s3":null,"s3_unknown":"not read","dynamodb":null},"digest":{"a":1},
             "coverage":{"verdict":"proven"}},
            {"bucket":"b","state_path":"env:/x/w","locks":{"s3":{"id":"1"}},"coverage":{"verdict":"proven"}},
            {"bucket":"b","state_path":"v","locks":{},"coverage":{"verdict":"contradicted"}},
            {"bucket":"b","state_path":"r","locks":{}},{"bucket":"b","state_path":"u","locks":{}}],
            "findings":[{"rule":"runner-rights","severity":"high","subject":"s3://b/r","message":"no delete"},
                        {"rule":"x","severity":"low","subject":"s3://b/k","message":"m"}],
            "unread":[{"resource":"arn:aws:s3:::b/u.tflock","operation":"GetObject","reason":"denied"}]}"#;
        let evidence = Evidence::parse(json).unwrap();
        assert_eq!(evidence.against("b", "k"), None);
        assert_eq!(
            evidence.against("b", "w").as_deref(),
            Some("s3://b/env:/x/w was locked when the audit looked")
        );
        assert_eq!(evidence.against("b", "v").as_deref(), Some("s3://b/v was written outside of an S3 lock"));
        assert_eq!(evidence.against("b", "r").as_deref(), Some("s3://b/r (runner-rights): no delete"));
        assert!(evidence.against("b", "u").unwrap().contains("could not be read: denied"));
        let denied = br#"{"states":[{"bucket":"b","state_path":"k"}],
            "unread":[{"resource":"s3://b","operation":"GetBucketReplication","reason":"denied","hides_locks":false}]}"#;
        assert_eq!(Evidence::parse(denied).unwrap().against("b", "k"), None);
        assert_eq!(evidence.against("b", "z").as_deref(), Some("the audit did not look at s3://b/z"));
        assert!(Evidence::parse(b"[]").is_err() || Evidence::parse(b"[]").unwrap() == Evidence::default());
    }
}
