//! Who can do what to the locks, in lines that the formats for people share.

use crate::policy::access::{Access, Certainty, Holder, LockAccess, Part};
use crate::report::words::{count, visible};

/// Principals that are named in one line; the rest is counted.
const NAMED: usize = 8;

/// Keys that are named for a group; the rest is counted.
const KEYS: usize = 2;

/// One bucket: a heading, and lines with their indent.
pub(super) fn lines(access: &Access) -> (String, Vec<String>) {
    let account = access.account.as_deref().map(|account| format!(" (account {})", visible(account)));
    let heading = format!("s3://{}{}", visible(&access.bucket), account.unwrap_or_default());
    let mut lines = Vec::new();
    for group in &access.locks {
        lines.push(format!("  {}", keys(group)));
        for (name, set) in [
            ("can delete", &group.can_delete),
            ("can delete versions", &group.can_delete_version),
            ("can overwrite", &group.can_overwrite),
            ("can create", &group.can_create),
            ("can't release what it creates", &group.cannot_release),
        ] {
            lines.push(format!("    {name}: {}", holders(set)));
        }
    }
    lines.push(format!("  can change what protects them: {}", holders(&access.can_strip)));
    lines.extend(access.limits.iter().map(|limit| format!("  not said: {}", visible(limit))));
    (heading, lines)
}

fn keys(group: &LockAccess) -> String {
    let named: Vec<_> = group.keys.iter().take(KEYS).map(|key| visible(key)).collect();
    match group.keys.len().saturating_sub(KEYS) {
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), count(more, "more key", "more keys")),
    }
}

/// `role/ci/tf-apply (runner)`; `?` where it is not known, `if` where it depends.
fn holders(set: &[Holder]) -> String {
    if set.is_empty() {
        return "nobody".to_owned();
    }
    let mut named: Vec<String> = set.iter().take(NAMED).map(holder).collect();
    if set.len() > NAMED {
        named.push(format!("and {}", count(set.len() - NAMED, "other", "others")));
    }
    named.join(", ")
}

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
        let access = Access {
            bucket: "b".into(),
            account: Some("111122223333".into()),
            locks: vec![LockAccess {
                keys: vec!["a.tflock".into(), "b\u{1b}.tflock".into(), "c.tflock".into()],
                can_delete: vec![
                    who("role/ci", Part::Runner, Certainty::Certain),
                    who("role/x", Part::Other, conditional),
                    who("role/y", Part::Other, Certainty::Unknown { why: vec!["unread".into()] }),
                ],
                ..LockAccess::default()
            }],
            limits: vec!["no SCP was supplied".into()],
            ..Access::default()
        };
        let (heading, lines) = lines(&access);
        assert_eq!(heading, "s3://b (account 111122223333)");
        assert_eq!(lines[0], "  a.tflock, b\\u{1b}.tflock and 1 more key");
        assert_eq!(
            lines[1],
            "    can delete: role/ci (runner), role/x if aws:SourceVpce (StringEquals vpce-1), role/y ?"
        );
        assert_eq!(lines[2], "    can delete versions: nobody");
        assert_eq!(lines.last().unwrap(), "  not said: no SCP was supplied");
    }
}
