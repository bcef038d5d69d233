//! `audit --format prometheus`: the text exposition format, for the node exporter's textfile collector. Every number is
//! a gauge: one run says how things are, nothing counts up from run to run.

use std::collections::BTreeMap;

use super::{AuditReport, summary};
use crate::audit::outcome::LockRecord;
use crate::report::totals::SEVERITIES;

/// One metric and its samples, labels ready.
struct Metric {
    name: &'static str,
    help: &'static str,
    samples: Vec<(String, i64)>,
}

/// The report as metrics. `lockshift_last_success_timestamp_seconds` is there only when everything was read: alert
/// when it is old or absent.
pub fn render(report: &AuditReport<'_>) -> String {
    let audit = report.audit;
    let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let now = audit.generated_at.seconds();

    let mut locks: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    let mut unknown: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    let mut ages = Vec::new();
    for state in &audit.states {
        let stores = [
            ("dynamodb", &state.locks.dynamodb, &state.locks.dynamodb_unknown),
            ("s3", &state.locks.s3, &state.locks.s3_unknown),
        ];
        for (store, record, why) in stores {
            // Zero locks is said of a store only where somebody looked.
            if why.is_none() {
                *locks.entry((&state.bucket, store)).or_default() += i64::from(record.is_some());
            }
            *unknown.entry((&state.bucket, store)).or_default() += i64::from(why.is_some());
            // A clock that runs ahead makes no lock younger than new.
            let age = |record: &LockRecord| record.age_seconds.map(|age| age.max(0));
            if let Some(age) = record.as_ref().and_then(age) {
                let names =
                    [("bucket", state.bucket.as_str()), ("state", &state.state_path), ("store", store)];
                ages.push((labels(&names), age));
            }
        }
    }
    let mut findings: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in report.open() {
        *findings.entry((&finding.rule, finding.severity.as_str())).or_default() += 1;
    }
    let open = |severity| number(report.of(severity).count());
    let hides = |hides: bool| audit.unread.iter().filter(|unread| unread.hides_locks == hides).count();

    // A name may be probed at several endpoints: the worst answer counts.
    let mut probes: BTreeMap<&str, i64> = BTreeMap::new();
    for probe in &audit.probes {
        let honoured = probes.entry(&probe.bucket).or_insert(1);
        *honoured = (*honoured).min(i64::from(probe.honoured));
    }

    let mut metrics = vec![
        Metric {
            name: "lockshift_locks",
            help: "Locks that are held now; left out where no state's side was read.",
            samples: by_store(locks),
        },
        Metric {
            name: "lockshift_locks_unknown",
            help: "States of which it is not known whether they are locked.",
            samples: by_store(unknown),
        },
        Metric {
            name: "lockshift_lock_age_seconds",
            help: "Age of each lock that is held now.",
            samples: ages,
        },
        Metric {
            name: "lockshift_findings",
            help: "Findings that nobody accepted, by rule.",
            samples: findings
                .into_iter()
                .map(|((rule, severity), n)| (labels(&[("rule", rule), ("severity", severity)]), number(n)))
                .collect(),
        },
        Metric {
            name: "lockshift_open_findings",
            help: "Findings that nobody accepted, by severity; zero is told, too.",
            samples: SEVERITIES
                .into_iter()
                .map(|severity| (labels(&[("severity", severity.as_str())]), open(severity)))
                .collect(),
        },
        Metric {
            name: "lockshift_coverage_states",
            help: "States by whether their writes lay inside an S3 lock.",
            samples: summary::coverage(report)
                .into_iter()
                .map(|(verdict, n)| (labels(&[("verdict", verdict)]), number(n)))
                .collect(),
        },
        Metric {
            name: "lockshift_unread",
            help: "What could not be read; hides_locks tells whether it could hide a lock.",
            samples: [false, true]
                .map(|flag| {
                    (labels(&[("hides_locks", if flag { "true" } else { "false" })]), number(hides(flag)))
                })
                .to_vec(),
        },
        Metric {
            name: "lockshift_probe_honoured",
            help: "Whether a store refuses a second lock (1), where it was probed.",
            samples: probes
                .into_iter()
                .map(|(bucket, honoured)| (labels(&[("bucket", bucket)]), honoured))
                .collect(),
        },
        Metric {
            name: "lockshift_requests",
            help: "Requests that the run made.",
            samples: audit
                .stats
                .requests
                .iter()
                .map(|(name, n)| (labels(&[("operation", name)]), i64::try_from(*n).unwrap_or(i64::MAX)))
                .collect(),
        },
        Metric {
            name: "lockshift_last_run_timestamp_seconds",
            help: "When the last run looked.",
            samples: vec![(String::new(), now)],
        },
    ];
    if audit.unread.is_empty() {
        metrics.push(Metric {
            name: "lockshift_last_success_timestamp_seconds",
            help: "When the last run looked that could read everything.",
            samples: vec![(String::new(), now)],
        });
    }
    metrics.iter().map(written).collect()
}

fn by_store(counts: BTreeMap<(&str, &str), i64>) -> Vec<(String, i64)> {
    let sample = |((bucket, store), n)| (labels(&[("bucket", bucket), ("store", store)]), n);
    counts.into_iter().map(sample).collect()
}

fn written(metric: &Metric) -> String {
    let Metric { name, help, samples } = metric;
    let mut out = format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
    for (labels, value) in samples {
        out.push_str(&format!("{name}{labels} {value}\n"));
    }
    out
}

/// `{name="value",…}`. The format escapes backslash, quote and line feed in values; any other text is allowed, but
/// characters that drive terminals are shown as escapes all the same.
fn labels(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| {
            // A line feed stays itself, as the format writes it; `visible` would make two other characters of it.
            let lines: Vec<String> = value
                .split('\n')
                .map(|line| crate::report::words::visible(line).replace('\\', "\\\\").replace('"', "\\\""))
                .collect();
            format!("{name}=\"{}\"", lines.join("\\n"))
        })
        .collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::report::audit::sample;

    #[test]
    fn metrics_of_the_sample() {
        let audit = sample::audit();
        insta::assert_snapshot!(render(&AuditReport { audit: &audit, stats: false }));
    }

    #[test]
    fn a_lock_from_the_future_has_no_age_below_zero() {
        let mut audit = sample::empty();
        let mut state = sample::state("s", crate::repo::inventory::LockMode::Lockfile, "proven");
        state.locks.s3 = Some(sample::lock("1", "ann", -600));
        audit.states = vec![state];
        let out = render(&AuditReport { audit: &audit, stats: false });
        let age = "lockshift_lock_age_seconds{bucket=\"acme-tfstate\",state=\"s\",store=\"s3\"} 0\n";
        assert!(out.contains(age), "{out}");
    }

    #[test]
    fn a_store_that_was_not_read_has_no_count_of_locks() {
        let mut audit = sample::audit();
        audit.states.retain(|state| state.state_path == "search");
        let out = render(&AuditReport { audit: &audit, stats: false });
        let names = "{bucket=\"acme-tfstate\",store=\"s3\"}";
        assert!(!out.contains(&format!("lockshift_locks{names}")), "{out}");
        assert!(out.contains(&format!("lockshift_locks_unknown{names} 1\n")), "{out}");
    }

    #[test]
    fn success_is_told_only_when_everything_was_read() {
        let mut audit = sample::empty();
        let told = |audit: &_| {
            render(&AuditReport { audit, stats: false })
                .contains("last_success_timestamp_seconds 1796040000\n")
        };
        assert!(told(&audit));
        audit.unread = sample::audit().unread;
        assert!(!told(&audit));
    }

    /// A reader of the format, as strict as Prometheus' own: name, labels, number, each series once.
    fn series(text: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        for line in text.lines().filter(|line| !line.starts_with("# ")) {
            let (series, value) = line.rsplit_once(' ').unwrap();
            value.parse::<i64>().unwrap();
            if let Some((name, labels)) = series.split_once('{') {
                assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
                let mut rest = labels.strip_suffix('}').unwrap();
                while !rest.is_empty() {
                    let (name, value) = rest.split_once("=\"").unwrap();
                    assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
                    let mut escaped = false;
                    let end = value
                        .char_indices()
                        .find(|(_, c)| {
                            let ends = *c == '"' && !escaped;
                            escaped = *c == '\\' && !escaped;
                            ends
                        })
                        .unwrap()
                        .0;
                    rest = value[end + 1..].strip_prefix(',').unwrap_or(&value[end + 1..]);
                }
            }
            assert!(seen.insert(series.to_owned()), "twice: {line}");
        }
        seen
    }

    #[test]
    fn the_format_is_sound_whatever_a_store_says() {
        for audit in [sample::audit(), sample::empty(), sample::hostile()] {
            let out = render(&AuditReport { audit: &audit, stats: false });
            assert_eq!(sample::raw_control(&out), None);
            assert!(series(&out).len() >= 8, "{out}");
        }
        assert_eq!(labels(&[("a", "x\"\\\n\u{1b}")]), "{a=\"x\\\"\\\\\\n\\\\u{1b}\"}");
    }
}
