//! Which releases know `use_lockfile`, and what that says about one constraint or one pin. Combining several is
//! not done here.
//!
//! Sources: the changelogs of Terraform 1.10 and 1.11, OpenTofu 1.10 and Terragrunt 0.82.4, 0.99.0 and 1.0.0.

use super::constraint::{Range, Ranges, Release, parse_constraint, parse_version, split_operator};
use crate::repo::facts::Tool;
use crate::repo::inventory::VersionVerdict;

/// What is known of one program's releases.
struct Known {
    /// Its name for people.
    name: &'static str,
    /// Minor lines that exist, with an open top. Patches are not listed: an old line may still get one.
    exists: &'static [Range],
    /// Releases that take `use_lockfile` and lock by it.
    able: &'static [Range],
    /// The newest minor line that this program knows of, to understand `latest:^1.1`.
    newest_minor: u64,
    /// Why the others can't.
    unable: &'static str,
    /// Able releases that deserve a word, and the word.
    mind: &'static [(Range, &'static str)],
}

const TERRAFORM: Known = Known {
    name: "Terraform",
    exists: &[(Release(0, 1, 0), Some(Release(0, 16, 0))), (Release(1, 0, 0), None)],
    able: &[(Release(1, 10, 0), None)],
    newest_minor: 17,
    unable: "Terraform knows `use_lockfile` since 1.10.0 (stable since 1.11.0)",
    mind: &[
        (
            (Release(1, 10, 0), Some(Release(1, 10, 1))),
            "1.10.0 has it as experimental and fails on buckets with Object Lock",
        ),
        ((Release(1, 10, 1), Some(Release(1, 11, 0))), "1.10.x has it as experimental"),
    ],
};

const OPENTOFU: Known = Known {
    name: "OpenTofu",
    exists: &[(Release(1, 6, 0), None)],
    able: &[(Release(1, 10, 0), None)],
    newest_minor: 12,
    unable: "OpenTofu knows `use_lockfile` since 1.10.0",
    mind: &[(
        (Release(1, 10, 0), Some(Release(1, 10, 2))),
        "before 1.10.2 the lock object is sent without the encryption header",
    )],
};

const TERRAGRUNT: Known = Known {
    name: "Terragrunt",
    exists: &[(Release(0, 0, 1), Some(Release(0, 100, 0))), (Release(1, 0, 0), None)],
    able: &[(Release(0, 82, 4), Some(Release(0, 99, 0))), (Release(1, 0, 0), None)],
    newest_minor: 99,
    unable: "Terragrunt passes `use_lockfile` on since 0.82.4, and 0.99.0 up to 1.0.0 wrote it as text",
    mind: &[],
};

fn known(tool: Tool) -> &'static Known {
    match tool {
        Tool::Terraform => &TERRAFORM,
        Tool::OpenTofu => &OPENTOFU,
        Tool::Terragrunt => &TERRAGRUNT,
    }
}

/// The program's name for people.
pub fn name(tool: Tool) -> &'static str {
    known(tool).name
}

/// The first release from which on every release knows `use_lockfile` as a stable setting:
/// `>= first_able(tool)` is always able. (Terragrunt has able releases before it, and broken ones between.)
pub fn first_able(tool: Tool) -> &'static str {
    match tool {
        Tool::Terraform => "1.11.0",
        Tool::OpenTofu => "1.10.0",
        Tool::Terragrunt => "1.0.0",
    }
}

/// What a set of releases says. `what` is the text that stands for it in the reason.
///
/// Decided on ranges: admitted releases of lines that exist, less the able ones, with an open top. No list of
/// single releases is sampled, so a release of tomorrow is judged, too.
pub fn of_set(tool: Tool, admitted: &Ranges, what: &str) -> (VersionVerdict, String) {
    let known = known(tool);
    let admitted = admitted.and(&Ranges::of(known.exists));
    let able = admitted.and(&Ranges::of(known.able));
    let unable = admitted.minus(&Ranges::of(known.able));
    match (unable.lowest(), able.is_empty()) {
        (None, true) => {
            (VersionVerdict::Unknown, format!("{what} admits no {} release that exists", known.name))
        }
        (None, false) => {
            let mut reason = format!("{what} admits only {} releases that know `use_lockfile`", known.name);
            for (range, word) in known.mind {
                if !able.and(&Ranges::of(&[*range])).is_empty() {
                    reason.push_str("; ");
                    reason.push_str(word);
                }
            }
            (VersionVerdict::Can, reason)
        }
        (Some(oldest), false) => (
            VersionVerdict::AdmitsOlder,
            format!("{what} admits {} {oldest}, which can't: {}", known.name, known.unable),
        ),
        (Some(_), true) => (
            VersionVerdict::Cannot,
            format!("{what} admits only {} releases that can't: {}", known.name, known.unable),
        ),
    }
}

/// A pin outside of `required_version`, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    /// One release runs: exactly this one, or the newest of a line (`1.11`, `1.11.x`, `latest`).
    Newest(Ranges),
    /// Any release of a set may run.
    AnyOf(Ranges),
    /// tfenv's and tofuenv's `min-required`: the first version that `required_version` names.
    MinRequired,
    /// tfenv's `latest-allowed`: the newest that `required_version` admits.
    LatestAllowed,
}

/// Reads a pin's text. The error says why nothing can be told.
///
/// What version managers and CI actions take beyond go-version's constraints: a bare `1.11` or `1.11.x` is the
/// newest of that line (mise, setup-terraform, image tags), `latest:REGEX` is tfenv's, `^1.5`, `~1.5` and
/// blanks between parts come from the node-semver ranges of setup-terraform and setup-opentofu.
pub fn read_pin(tool: Tool, text: &str) -> Result<Pin, String> {
    let text = text.trim();
    let known = known(tool);
    if text.contains("${") || text.starts_with('$') || text.contains("{{") {
        return Err(format!("`{text}` is an expression"));
    }
    match text.to_ascii_lowercase().as_str() {
        "" => return Err("the version is empty".to_owned()),
        "latest" | "stable" | "lts" | "*" | "x" | "light" | "full" | "minimal" => {
            return Ok(Pin::Newest(Ranges::all().top()));
        }
        "min-required" => return Ok(Pin::MinRequired),
        "latest-allowed" => return Ok(Pin::LatestAllowed),
        _ => {}
    }
    if let Some(pattern) = text.strip_prefix("latest:") {
        return latest_matching(known, pattern);
    }
    if let Some(version) = parse_version(text.strip_prefix('V').unwrap_or(text)) {
        if let Some(pre) = version.pre.as_deref().filter(|pre| is_pre_release(pre)) {
            let starts_something = known
                .able
                .iter()
                .any(|(low, high)| *low == version.release || *high == Some(version.release));
            if starts_something {
                return Err(format!(
                    "`{text}`: whether the pre-release `{pre}` of {} {} knows `use_lockfile` is not known",
                    known.name, version.release
                ));
            }
        }
        let Release(major, minor, _) = version.release;
        return Ok(Pin::Newest(match version.segments {
            1 => line(major, None),
            2 => line(major, Some(minor)),
            _ => Ranges::one(version.release),
        }));
    }
    if let Some(ranges) = wildcard(text) {
        return Ok(Pin::Newest(ranges));
    }
    node_range(text).map(Pin::AnyOf).ok_or_else(|| format!("`{text}` is not a version that can be read"))
}

/// Tags such as `1.10.0-minimal` are variants of a release, not pre-releases of it.
fn is_pre_release(pre: &str) -> bool {
    ["alpha", "beta", "rc", "dev", "nightly"].iter().any(|word| pre.to_ascii_lowercase().starts_with(word))
}

/// All releases of a major, or of a minor line.
fn line(major: u64, minor: Option<u64>) -> Ranges {
    match minor {
        None => Ranges::between(Release(major, 0, 0), Some(Release(major.saturating_add(1), 0, 0))),
        Some(minor) => {
            Ranges::between(Release(major, minor, 0), Some(Release(major, minor.saturating_add(1), 0)))
        }
    }
}

/// `1.x`, `1.11.x`, `1.11.*`, `v1.11.X`.
fn wildcard(text: &str) -> Option<Ranges> {
    let mut numbers = Vec::new();
    let mut wild = false;
    for part in text.trim_start_matches(['v', 'V']).split('.') {
        if matches!(part, "x" | "X" | "*") {
            wild = true;
        } else if wild {
            return None;
        } else {
            numbers.push(part.parse::<u64>().ok()?);
        }
    }
    match numbers.as_slice() {
        [major] if wild => Some(line(*major, None)),
        [major, minor] if wild => Some(line(*major, Some(*minor))),
        _ => None,
    }
}

/// The newest release that matches tfenv's regular expression, where that is a plain prefix of a version.
fn latest_matching(known: &Known, pattern: &str) -> Result<Pin, String> {
    let unclear = || format!("`latest:{pattern}` is a regular expression that is not a plain prefix");
    let plain = pattern.trim_start_matches('^').trim_start_matches('v').replace("\\.", ".");
    let plain = plain.trim_end_matches(".*").trim_end_matches("[0-9]+").trim_end_matches("\\d+");
    if plain.is_empty() {
        return Ok(Pin::Newest(Ranges::all().top()));
    }
    let closed = plain.ends_with('.');
    let version = parse_version(plain.trim_end_matches('.')).filter(|v| v.pre.is_none());
    let Some(version) = version else { return Err(unclear()) };
    let Release(major, minor, _) = version.release;
    match version.segments {
        1 => Ok(Pin::Newest(line(major, None))),
        // Without a closing dot `^1.1` matches 1.1.x and 1.10.x and up; the newest of them is what runs.
        2 if !closed && minor > 0 && minor.saturating_mul(10) <= known.newest_minor => Ok(Pin::Newest(
            Ranges::between(Release(major, minor * 10, 0), Some(Release(major, minor * 10 + 10, 0))),
        )),
        2 => Ok(Pin::Newest(line(major, Some(minor)))),
        3 if !closed => Ok(Pin::AnyOf(line(major, Some(minor)))),
        _ => Err(unclear()),
    }
}

/// Constraints as go-version or node-semver write them: commas or blanks between parts, `^`, `~`, `||`.
fn node_range(text: &str) -> Option<Ranges> {
    if text.contains("||") {
        // "One or the other": everything outside of what lies in neither.
        let mut outside = Ranges::all();
        for part in text.split("||") {
            outside = outside.minus(&node_range_all(part)?);
        }
        return Some(Ranges::all().minus(&outside));
    }
    node_range_all(text)
}

fn node_range_all(text: &str) -> Option<Ranges> {
    // A blank behind an operator belongs to it; any other stands for "and".
    let mut parts: Vec<String> = Vec::new();
    for word in text.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
        match parts.last_mut() {
            Some(last) if last.trim_end_matches(['<', '>', '=', '~', '^', '!']).is_empty() => {
                last.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
    }
    let mut whole: Option<Ranges> = None;
    for part in &parts {
        let ranges = node_part(part)?;
        whole = Some(whole.map_or(ranges.clone(), |before| before.and(&ranges)));
    }
    whole
}

fn node_part(part: &str) -> Option<Ranges> {
    if let Some(rest) = part.strip_prefix('^') {
        let version = parse_version(rest)?;
        let Release(major, minor, patch) = version.release;
        let high = match (major, minor, version.segments) {
            (1.., _, _) | (0, _, 1) => Release(major.saturating_add(1), 0, 0),
            (0, 1.., _) | (0, 0, 2) => Release(0, minor.saturating_add(1), 0),
            (0, 0, _) => Release(0, 0, patch.saturating_add(1)),
        };
        return Some(Ranges::between(version.release, Some(high)));
    }
    if let Some(rest) = part.strip_prefix('~').filter(|rest| !rest.starts_with('>')) {
        let version = parse_version(rest)?;
        let Release(major, minor, _) = version.release;
        let top = line(major, (version.segments > 1).then_some(minor));
        return Some(Ranges::from(version.release).and(&top));
    }
    if split_operator(part).1 == part {
        return wildcard(part).or_else(|| parse_constraint(part).ok().map(|c| c.admitted));
    }
    parse_constraint(part).ok().map(|constraint| constraint.admitted)
}

/// What one constraint or pin says, taken alone: does every admitted version know `use_lockfile`?
///
/// ```
/// use lockshift::repo::{facts::Tool, inventory::VersionVerdict, versions::verdict};
/// assert_eq!(verdict(Tool::Terraform, ">= 1.5").0, VersionVerdict::AdmitsOlder);
/// assert_eq!(verdict(Tool::Terraform, "~> 1.11").0, VersionVerdict::Can);
/// assert_eq!(verdict(Tool::Terraform, "1.9.8").0, VersionVerdict::Cannot);
/// ```
pub fn verdict(tool: Tool, constraint: &str) -> (VersionVerdict, String) {
    let what = format!("`{}`", constraint.trim());
    match read_pin(tool, constraint) {
        Ok(pin) => of_pin(tool, &pin, &Ranges::all(), &what),
        Err(why) => (VersionVerdict::Unknown, why),
    }
}

/// What a pin says where `required_version` admits only `allowed`.
pub fn of_pin(tool: Tool, pin: &Pin, allowed: &Ranges, what: &str) -> (VersionVerdict, String) {
    match pin {
        Pin::Newest(set) => of_set(tool, &newest(tool, &set.and(allowed)), what),
        Pin::AnyOf(set) => of_set(tool, &set.and(allowed), what),
        Pin::LatestAllowed if allowed == &Ranges::all() => {
            (VersionVerdict::Unknown, format!("{what} depends on `required_version`"))
        }
        Pin::LatestAllowed => of_set(tool, &newest(tool, allowed), what),
        Pin::MinRequired => (VersionVerdict::Unknown, format!("{what} depends on `required_version`")),
    }
}

/// The topmost part of a set in which every release is alike: able, or not. Releases that deserve a word are left
/// out where there are newer ones.
fn newest(tool: Tool, set: &Ranges) -> Ranges {
    let known = known(tool);
    let set = set.and(&Ranges::of(known.exists)).top();
    let able = set.and(&Ranges::of(known.able)).top();
    let unable = set.minus(&Ranges::of(known.able)).top();
    let top = if able.lowest() > unable.lowest() { able } else { unable };
    let plain = known.mind.iter().fold(top.clone(), |left, (range, _)| left.minus(&Ranges::of(&[*range])));
    if plain.is_empty() { top } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Tool::{OpenTofu, Terraform, Terragrunt};
    use VersionVerdict::{AdmitsOlder, Can, Cannot, Unknown};

    #[test]
    fn one_constraint_or_pin_is_judged_by_ranges() {
        let cases = [
            (Terraform, ">= 1.11.0", Can),
            (Terraform, ">= 1.11", Can),
            (Terraform, ">= 1.10.0", Can),
            (Terraform, "~> 1.10.0", Can),
            (Terraform, "~> 1.10", Can),
            (Terraform, "~> 1.9", AdmitsOlder),
            (Terraform, "~> 1.9.0", Cannot),
            (Terraform, ">= 1.5", AdmitsOlder),
            (Terraform, ">= 1.5, < 1.10", Cannot),
            (Terraform, ">= 1.5, != 1.9.8", AdmitsOlder),
            (Terraform, "> 1.9", AdmitsOlder),
            (Terraform, ">= 0.13", AdmitsOlder),
            (Terraform, "< 2.0", AdmitsOlder),
            (Terraform, "~> 1", AdmitsOlder),
            (Terraform, "~> 1, != 1.4.0", AdmitsOlder),
            (Terraform, ">= 2.0", Can),
            (Terraform, ">= 1.11, < 1.10", Unknown),
            (Terraform, ">= 0.16, < 1.0", Unknown),
            (Terraform, "1.9.8", Cannot),
            (Terraform, "v1.11.4", Can),
            (Terraform, "= 1.10.0", Can),
            (Terraform, "latest", Can),
            (Terraform, "latest:^1.5", Cannot),
            (Terraform, "latest:^1\\.9\\.", Cannot),
            (Terraform, "latest:^1.1", Can),
            (Terraform, "latest:^1.1.", Cannot),
            (Terraform, "latest:^0.14", Cannot),
            (Terraform, "latest:^1.(5|6)", Unknown),
            (Terraform, "min-required", Unknown),
            (Terraform, "latest-allowed", Unknown),
            (Terraform, "1.11", Can),
            (Terraform, "1.11.x", Can),
            (Terraform, "1.9.*", Cannot),
            (Terraform, "1", Can),
            (Terraform, "1.x", Can),
            (Terraform, "0.14", Cannot),
            (Terraform, "^1.3", AdmitsOlder),
            (Terraform, "~1.9.0", Cannot),
            (Terraform, "~1.11", Can),
            (Terraform, ">=1.11.0 <2", Can),
            (Terraform, ">= 1.5.0 < 1.8", Cannot),
            (Terraform, "1.9.x || 1.11.x", AdmitsOlder),
            (Terraform, "1.12.0-rc1", Can),
            (Terraform, "1.10.0-beta1", Unknown),
            (Terraform, "1.9.0-rc1", Cannot),
            (Terraform, "${{ matrix.tf }}", Unknown),
            (Terraform, "$TF_VERSION", Unknown),
            (Terraform, "", Unknown),
            (Terraform, "seven", Unknown),
            (OpenTofu, ">= 1.10", Can),
            (OpenTofu, "~> 1.9", AdmitsOlder),
            (OpenTofu, "1.10.0-minimal", Can),
            (OpenTofu, "1.9", Cannot),
            (OpenTofu, ">= 1.3, < 1.6", Unknown),
            (Terragrunt, "0.82.3", Cannot),
            (Terragrunt, "0.82.4", Can),
            (Terragrunt, "0.98.0", Can),
            (Terragrunt, "0.99.2", Cannot),
            (Terragrunt, "1.0.0", Can),
            (Terragrunt, ">= 0.82.4", AdmitsOlder),
            (Terragrunt, ">= 0.82.4, < 0.99", Can),
            (Terragrunt, ">= 0.99, < 1.0", Cannot),
            (Terragrunt, "0.82", Can),
            (Terragrunt, ">= 1.0.0", Can),
            (Terragrunt, "latest", Can),
        ];
        for (tool, text, expected) in cases {
            let (verdict, reason) = verdict(tool, text);
            assert_eq!(verdict, expected, "{tool:?} `{text}`: {reason}");
            assert!(!reason.is_empty());
        }
    }

    #[test]
    fn reasons_name_the_version_and_what_to_mind() {
        assert_eq!(
            verdict(Terraform, ">= 1.5").1,
            "`>= 1.5` admits Terraform 1.5.0, which can't: Terraform knows `use_lockfile` since 1.10.0 (stable since 1.11.0)"
        );
        assert!(
            verdict(Terraform, "1.10.0").1.contains("experimental and fails on buckets with Object Lock")
        );
        let reason = verdict(Terraform, "1.10.5").1;
        assert!(reason.contains("1.10.x has it as experimental") && !reason.contains("Object Lock"));
        assert!(!verdict(Terraform, ">= 1.11").1.contains("experimental"));
        assert!(verdict(Terraform, "1.10").1.contains("1.10.x has it as experimental"));
        assert!(!verdict(Terraform, "latest").1.contains("experimental"));
        assert!(verdict(OpenTofu, "1.10.1").1.contains("without the encryption header"));
        assert_eq!(
            verdict(Terragrunt, ">= 0.82.4").1.split(", which").next().unwrap(),
            "`>= 0.82.4` admits Terragrunt 0.99.0"
        );
    }

    #[test]
    fn the_first_able_version_is_able_from_there_on() {
        for tool in [Terraform, OpenTofu, Terragrunt] {
            assert_eq!(verdict(tool, &format!(">= {}", first_able(tool))).0, Can);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gets_a_verdict(text in "\\PC{0,30}") {
            let _ = verdict(Terraform, &text);
        }

        #[test]
        fn any_near_version_gets_a_verdict(text in "[~^<>=!v]{0,2}[0-9.x*|, -]{0,24}") {
            let _ = verdict(Terragrunt, &text);
        }
    }
}
