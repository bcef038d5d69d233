//! Who can do what to the locks, in lines that the formats for people share.

use crate::policy::access::{Access, Certainty, Holder, LockAccess, Part};
use crate::report::words::{count, visible};

/// Principals that are named for one set; the rest is counted.
const NAMED: usize = 8;

/// Keys that are named for a group; the rest is counted.
const KEYS: usize = 2;

/// A line of a list, and how deep it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub depth: usize,
    pub text: String,
}

/// One bucket: a heading, and a list. Who is in several of a key's sets is named once for all of them.
pub(super) fn lines(access: &Access) -> (String, Vec<Line>) {
    let account = access.account.as_deref().map(|account| format!(" (account {})", visible(account)));
    let heading = format!("s3://{}{}", visible(&access.bucket), account.unwrap_or_default());
    let mut lines = Vec::new();
    for group in &access.locks {
        lines.push(Line { depth: 1, text: keys(group) });
        for (names, set) in joined(sets(group).map(|(name, set)| (name, set.iter().map(holder).collect()))) {
            list(&mut lines, 2, &names.join(", "), &set);
        }
    }
    let strip: Vec<String> = access.can_strip.iter().map(holder).collect();
    list(&mut lines, 1, "can change what protects them", &strip);
    lines.extend(
        access.limits.iter().map(|limit| Line { depth: 1, text: format!("not said: {}", visible(limit)) }),
    );
    (heading, lines)
}

/// What one can do to a lock, and who can.
pub(in crate::report) fn sets(group: &LockAccess) -> impl Iterator<Item = (&'static str, &[Holder])> {
    [
        ("can delete", group.can_delete.as_slice()),
        ("can delete versions", &group.can_delete_version),
        ("can overwrite", &group.can_overwrite),
        ("can create", &group.can_create),
        ("can't release what it creates", &group.cannot_release),
    ]
    .into_iter()
}

/// Names of sets that hold the same, each list once, in the order of the first of them.
pub(in crate::report) fn joined<'a>(
    sets: impl IntoIterator<Item = (&'a str, Vec<String>)>,
) -> Vec<(Vec<&'a str>, Vec<String>)> {
    let mut out: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for (name, set) in sets {
        match out.iter_mut().find(|(_, other)| *other == set) {
            Some((names, _)) => names.push(name),
            None => out.push((vec![name], set)),
        }
    }
    out
}

/// One principal stands behind the set's name, several below it, each in its own line.
fn list(lines: &mut Vec<Line>, depth: usize, name: &str, set: &[String]) {
    match set {
        [] => lines.push(Line { depth, text: format!("{name}: nobody") }),
        [only] => lines.push(Line { depth, text: format!("{name}: {only}") }),
        several => {
            lines.push(Line { depth, text: format!("{name} ({}):", several.len()) });
            let named = several.iter().take(NAMED).cloned();
            lines.extend(named.map(|text| Line { depth: depth + 1, text }));
            let more = several.len().saturating_sub(NAMED);
            if more > 0 {
                lines
                    .push(Line { depth: depth + 1, text: format!("and {}", count(more, "other", "others")) });
            }
        }
    }
}

fn keys(group: &LockAccess) -> String {
    let named: Vec<_> = group.keys.iter().take(KEYS).map(|key| visible(key)).collect();
    match group.keys.len().saturating_sub(KEYS) {
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), count(more, "more key", "more keys")),
    }
}

/// `role/ci/tf-apply (runner)`; `?` where it is not known, `if` where it depends.
fn holder(holder: &Holder) -> String {
    let part = match holder.part {
        Part::Other => String::new(),
        part => format!(" ({})", part.words()),
    };
    let sure = match &holder.certainty {
        Certainty::Certain => String::new(),
        Certainty::Conditional { conditions, .. } => {
            format!(" if {}", conditions.iter().map(|text| visible(text)).collect::<Vec<_>>().join(" and "))
        }
        Certainty::Unknown { .. } => " ?".to_owned(),
    };
    format!("{}{part}{sure}", visible(&holder.principal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(principal: &str, part: Part, certainty: Certainty) -> Holder {
        Holder { principal: principal.into(), part, assumed: false, certainty, actions: Vec::new() }
    }

    #[test]
    fn sets_are_told_by_name_and_certainty() {
        let conditional = Certainty::Conditional {
            conditions: vec!["aws:SourceVpce (StringEquals vpce-1)".into()],
            statements: Vec::new(),
        };
        let set = vec![
            who("role/ci", Part::Runner, Certainty::Certain),
            who("role/x", Part::Other, conditional),
            who("role/y", Part::Other, Certainty::Unknown { why: vec!["unread".into()] }),
        ];
        let access = Access {
            bucket: "b".into(),
            account: Some("111122223333".into()),
            locks: vec![LockAccess {
                keys: vec!["a.tflock".into(), "b\u{1b}.tflock".into(), "c.tflock".into()],
                can_delete: set.clone(),
                can_overwrite: set,
                can_create: vec![who("role/ci", Part::Runner, Certainty::Certain)],
                ..LockAccess::default()
            }],
            limits: vec!["no SCP was supplied".into()],
            ..Access::default()
        };
        let (heading, lines) = lines(&access);
        assert_eq!(heading, "s3://b (account 111122223333)");
        let shown: Vec<String> =
            lines.iter().map(|line| format!("{:1$}{2}", "", line.depth * 2, line.text)).collect();
        assert_eq!(
            shown,
            [
                "  a.tflock, b\\u{1b}.tflock and 1 more key",
                "    can delete, can overwrite (3):",
                "      role/ci (runner)",
                "      role/x if aws:SourceVpce (StringEquals vpce-1)",
                "      role/y ?",
                "    can delete versions, can't release what it creates: nobody",
                "    can create: role/ci (runner)",
                "  can change what protects them: nobody",
                "  not said: no SCP was supplied",
            ]
        );
    }

    #[test]
    fn many_principals_are_counted_and_sets_that_differ_stay_apart() {
        let set = |n: usize| (0..n).map(|n| who(&format!("r{n}"), Part::Other, Certainty::Certain)).collect();
        let access = Access {
            locks: vec![LockAccess { can_delete: set(10), can_create: set(9), ..LockAccess::default() }],
            ..Access::default()
        };
        let (_, lines) = lines(&access);
        let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        // What is named is the same; what is not is not.
        assert_eq!((texts[1], texts[9], texts[10]), ("can delete (10):", "r7", "and 2 others"));
        assert!(texts.contains(&"can create (9):") && texts.contains(&"and 1 other"), "{texts:?}");
    }
}
