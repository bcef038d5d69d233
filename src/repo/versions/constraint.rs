//! Version constraints as sets of releases. Only arithmetic on versions here: which version knows which setting
//! is in `known`, and who pins what is in the readers.
//!
//! Semantics are those of hashicorp/go-version, which Terraform, OpenTofu and Terragrunt use: `=`, `!=`, `>`,
//! `>=`, `<`, `<=` and `~>`, joined by commas that all must hold; an optional `v`; missing segments are zero.
//! Sets hold releases only. A pre-release is admitted by no constraint that does not name one itself, and
//! Terraform and OpenTofu refuse a `required_version` that does.

/// A release: major, minor, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release(pub u64, pub u64, pub u64);

impl Release {
    /// The smallest release above this one.
    pub fn next(self) -> Self {
        Release(self.0, self.1, self.2.saturating_add(1))
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Releases from the first up to, not including, the second; without a second there is no top.
pub type Range = (Release, Option<Release>);

/// A set of releases: ranges that are sorted, not empty, and apart from each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges(Vec<Range>);

impl Ranges {
    /// Every release.
    pub fn all() -> Self {
        Ranges(vec![(Release(0, 0, 0), None)])
    }

    /// No release.
    pub fn none() -> Self {
        Ranges(Vec::new())
    }

    /// Releases from `low` up to, not including, `high`.
    pub fn between(low: Release, high: Option<Release>) -> Self {
        if high.is_some_and(|high| high <= low) { Self::none() } else { Ranges(vec![(low, high)]) }
    }

    /// `low` and everything above.
    pub fn from(low: Release) -> Self {
        Self::between(low, None)
    }

    /// Everything below `high`.
    pub fn below(high: Release) -> Self {
        Self::between(Release(0, 0, 0), Some(high))
    }

    /// One release alone.
    pub fn one(release: Release) -> Self {
        Self::between(release, Some(release.next()))
    }

    /// Ranges of a table that is already sorted and apart.
    pub fn of(sorted: &[Range]) -> Self {
        Ranges(sorted.to_vec())
    }

    /// Whether no release is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a release is in the set.
    pub fn contains(&self, release: Release) -> bool {
        self.0.iter().any(|(low, high)| *low <= release && high.is_none_or(|high| release < high))
    }

    /// The lowest release of the set.
    pub fn lowest(&self) -> Option<Release> {
        self.0.first().map(|(low, _)| *low)
    }

    /// The topmost range: what "the newest that matches" is taken from.
    pub fn top(&self) -> Self {
        Ranges(self.0.last().copied().into_iter().collect())
    }

    /// The ranges, lowest first.
    pub fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// Releases that are in both sets.
    pub fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        for (low, high) in &self.0 {
            for (other_low, other_high) in &other.0 {
                let high = match (high, other_high) {
                    (Some(a), Some(b)) => Some(*a.min(b)),
                    (one, None) => *one,
                    (None, one) => *one,
                };
                both.extend_from_slice(&Self::between(*low.max(other_low), high).0);
            }
        }
        both.sort_unstable_by_key(|(low, _)| *low);
        Ranges(both)
    }

    /// Releases that are in this set and not in the other.
    pub fn minus(&self, other: &Self) -> Self {
        other.0.iter().fold(self.clone(), |left, (low, high)| {
            let mut outside = Self::below(*low).0;
            outside.extend(high.map(|high| (high, None)));
            left.and(&Ranges(outside))
        })
    }
}

/// A version as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The first three segments, missing ones zero.
    pub release: Release,
    /// How many segments were written.
    pub segments: usize,
    /// Whether a segment behind the third is not zero: then no three-segment release equals it.
    pub beyond: bool,
    /// The pre-release part, without its dash.
    pub pre: Option<String>,
}

/// Reads a version as go-version does: `v1.2.3-rc1+meta`, one or more segments.
pub fn parse_version(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let numbers_end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (numbers, rest) = text.split_at_checked(numbers_end)?;
    let mut segments = Vec::new();
    for segment in numbers.split('.') {
        // go-version keeps segments as signed 64-bit numbers and refuses larger ones.
        segments.push(segment.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok())?);
    }
    let (pre, meta) = match rest.split_once('+') {
        Some((pre, meta)) => (pre, Some(meta)),
        None => (rest, None),
    };
    let word = |text: &str| {
        text.split('.').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'~')
        })
    };
    if meta.is_some_and(|meta| !word(meta)) {
        return None;
    }
    let pre = match pre {
        "" => None,
        // The dash may be missing before a letter: `1.0beta`. A dash alone is a pre-release called `-`.
        _ => Some(pre.strip_prefix('-').filter(|rest| !rest.is_empty()).unwrap_or(pre))
            .filter(|pre| word(pre))
            .map(Some)?,
    };
    let at = |index: usize| segments.get(index).copied().unwrap_or(0);
    Some(Version {
        release: Release(at(0), at(1), at(2)),
        segments: segments.len(),
        beyond: segments.iter().skip(3).any(|segment| *segment > 0),
        pre: pre.map(str::to_owned),
    })
}

/// A constraint, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// The releases that it admits.
    pub admitted: Ranges,
    /// The first version that it names.
    pub first_named: Release,
    /// A pre-release that it names, as written.
    pub pre_release: Option<String>,
}

/// Reads a whole constraint (`>= 1.5, < 2.0`). The error says which part can't be read.
pub fn parse_constraint(text: &str) -> Result<Constraint, String> {
    let mut whole: Option<Constraint> = None;
    for part in text.split(',') {
        let part = part.trim_ascii();
        let (operator, rest) = split_operator(part);
        let Some(version) = parse_version(rest.trim_ascii_start()) else {
            return Err(format!("`{part}` is not a version constraint"));
        };
        let admitted = admitted(operator, &version);
        let pre = version.pre.as_ref().map(|_| rest.trim_ascii_start().to_owned());
        whole = Some(match whole {
            None => Constraint { admitted, first_named: version.release, pre_release: pre },
            Some(before) => Constraint {
                admitted: before.admitted.and(&admitted),
                pre_release: before.pre_release.or(pre),
                ..before
            },
        });
    }
    whole.ok_or_else(|| "the constraint is empty".to_owned())
}

/// Splits a leading operator off; none means `=`.
pub fn split_operator(part: &str) -> (&'static str, &str) {
    for operator in ["!=", ">=", "<=", "~>", "=", ">", "<"] {
        if let Some(rest) = part.strip_prefix(operator) {
            return (operator, rest);
        }
    }
    ("=", part)
}

/// The releases that one operator with one version admits.
fn admitted(operator: &str, version: &Version) -> Ranges {
    let release = version.release;
    let is_pre = version.pre.is_some();
    // What lies strictly below and strictly above the version. A pre-release and a version with a fourth segment
    // lie between two releases.
    let first_above = if is_pre && !version.beyond { release } else { release.next() };
    let first_at_or_above = if version.beyond { release.next() } else { release };
    let equal = if is_pre || version.beyond { Ranges::none() } else { Ranges::one(release) };
    match operator {
        "!=" => Ranges::all().minus(&equal),
        ">" => Ranges::from(first_above),
        ">=" => Ranges::from(first_at_or_above),
        "<" => Ranges::below(first_at_or_above),
        "<=" => Ranges::below(first_above),
        // With a pre-release it admits pre-releases alone; with four segments it wants four in the version.
        "~>" if is_pre || version.segments > 3 => Ranges::none(),
        // One segment is "the last one may grow": there is nothing left of it to hold still.
        "~>" => match version.segments {
            1 => Ranges::from(release),
            2 => Ranges::between(release, Some(Release(release.0.saturating_add(1), 0, 0))),
            _ => Ranges::between(release, Some(Release(release.0, release.1.saturating_add(1), 0))),
        },
        _ => equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Constraint, version, admitted: reasoned from go-version's comparison functions.
    #[test]
    fn constraints_admit_what_go_version_admits() {
        let cases = [
            ("1.5.7", "1.5.7", true),
            ("1.5.7", "1.5.8", false),
            ("=1.5", "1.5.0", true),
            ("= 1.5", "1.5.1", false),
            ("v1.5.7", "1.5.7", true),
            (">= v1.5", "1.5.0", true),
            ("!= 1.5.0", "1.5.0", false),
            ("!= 1.5.0", "1.5.1", true),
            ("!= 1.5.0", "1.4.9", true),
            ("> 1.5", "1.5.0", false),
            ("> 1.5", "1.5.1", true),
            (">= 1.10.0", "1.9.8", false),
            (">= 1.10.0", "1.10.0", true),
            (">= 1.9", "1.10.0", true),
            ("< 1.10", "1.9.99", true),
            ("< 1.10", "1.10.0", false),
            ("<= 1.10", "1.10.0", true),
            ("<= 1.10", "1.10.1", false),
            ("~> 1.10", "1.10.0", true),
            ("~> 1.10", "1.99.0", true),
            ("~> 1.10", "2.0.0", false),
            ("~> 1.10", "1.9.9", false),
            ("~> 1.10.0", "1.10.7", true),
            ("~> 1.10.0", "1.11.0", false),
            ("~> 1.10.5", "1.10.4", false),
            ("~> 1.10.5", "1.10.6", true),
            ("~> 1", "1.0.0", true),
            ("~> 1", "2.3.4", true),
            ("~> 1", "0.15.5", false),
            (">= 1.3, < 1.6", "1.5.7", true),
            (">= 1.3, < 1.6", "1.6.0", false),
            (">=1.3,<1.6,!=1.4.2", "1.4.2", false),
            ("  >=   1.3  ,  < 2 ", "1.4.2", true),
            (">= 1.5.0-rc1", "1.5.0", true),
            ("> 1.5.0-rc1", "1.5.0", true),
            ("< 1.5.0-rc1", "1.5.0", false),
            ("<= 1.5.0-rc1", "1.5.0", false),
            ("<= 1.5.0-rc1", "1.4.9", true),
            ("= 1.5.0-rc1", "1.5.0", false),
            ("!= 1.5.0-rc1", "1.5.0", true),
            ("~> 1.5.0-rc1", "1.5.0", false),
            (">= 1.5.0.1", "1.5.0", false),
            (">= 1.5.0.1", "1.5.1", true),
            ("< 1.5.0.1", "1.5.0", true),
            ("<= 1.5.0.0", "1.5.0", true),
            ("= 1.5.0.0", "1.5.0", true),
            ("~> 1.5.0.0", "1.5.0", false),
            ("= 1.5.0+build", "1.5.0", true),
        ];
        for (constraint, version, admitted) in cases {
            let release = parse_version(version).unwrap().release;
            let constraint = parse_constraint(constraint).map_err(|e| format!("{constraint}: {e}")).unwrap();
            assert_eq!(constraint.admitted.contains(release), admitted, "{constraint:?} {version}");
        }
    }

    #[test]
    fn what_is_no_constraint_is_said_so() {
        for text in ["", " ", ">=", ">= 1.5,", ",1.5", "1.5.x", "1.*", "^1.5", "~1.5", "==1.5", "=>1.5"] {
            assert!(parse_constraint(text).is_err(), "{text}");
        }
        for text in ["latest", "1..2", "1.5 2.0", ">= 1.5 < 2.0", "V1.5", ">= 99999999999999999999"] {
            assert!(parse_constraint(text).is_err(), "{text}");
        }
        assert_eq!(parse_constraint("1.x").unwrap_err(), "`1.x` is not a version constraint");
    }

    #[test]
    fn versions_keep_how_they_were_written() {
        let version = parse_version("v1.10.0-rc1+meta.2").unwrap();
        assert_eq!(
            version,
            Version { release: Release(1, 10, 0), segments: 3, beyond: false, pre: Some("rc1".into()) }
        );
        assert_eq!(parse_version("1.10beta2").unwrap().pre.as_deref(), Some("beta2"));
        assert_eq!(parse_version("1.11").unwrap().segments, 2);
        assert_eq!(parse_constraint(">= 1.5.0-rc1, < 2").unwrap().pre_release.as_deref(), Some("1.5.0-rc1"));
        assert_eq!(parse_constraint("<0.12.3, >= 0.10.0").unwrap().first_named, Release(0, 12, 3));
    }

    #[test]
    fn sets_subtract_and_intersect() {
        let hole = Ranges::all().minus(&Ranges::between(Release(0, 99, 0), Some(Release(1, 0, 0))));
        assert_eq!(
            hole.ranges(),
            [(Release(0, 0, 0), Some(Release(0, 99, 0))), (Release(1, 0, 0), None)].as_slice()
        );
        assert_eq!(hole.top(), Ranges::from(Release(1, 0, 0)));
        assert!(hole.and(&Ranges::one(Release(0, 99, 5))).is_empty());
        assert!(Ranges::from(Release(1, 0, 0)).minus(&Ranges::all()).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = parse_constraint(&text);
            let _ = parse_version(&text);
        }

        /// Set operations agree with membership, asked release by release.
        #[test]
        fn set_operations_agree_with_membership(
            a in "(=|!=|>|>=|<|<=|~>) ?[0-2](\\.[0-3]){0,2}(, (!=|>|<=|<) ?[0-2](\\.[0-3]){0,2})?",
            b in "(=|!=|>|>=|<|<=|~>) ?[0-2](\\.[0-3]){0,2}",
            x in 0u64..4, y in 0u64..5, z in 0u64..5,
        ) {
            let a = parse_constraint(&a).unwrap().admitted;
            let b = parse_constraint(&b).unwrap().admitted;
            let release = Release(x, y, z);
            prop_assert_eq!(a.and(&b).contains(release), a.contains(release) && b.contains(release));
            prop_assert_eq!(a.minus(&b).contains(release), a.contains(release) && !b.contains(release));
        }
    }
}
