//! Who can delete, overwrite, create and release the locks, and change what protects them: one table for each bucket.

use super::escape::{code, text};
use crate::policy::access::{Access, Certainty, Holder, Part};
use crate::report::audit::access::{joined, sets};
use crate::report::words::count;

/// Principals that are named in one set; the rest is counted.
const NAMED: usize = 40;

/// Keys that are named for a group; the rest is counted.
const KEYS: usize = 5;

/// The section's content.
pub(super) fn render(access: &[Access]) -> String {
    access.iter().map(bucket).collect()
}

fn bucket(access: &Access) -> String {
    let account = access.account.as_deref();
    let account =
        account.map(|account| format!(" <span>account {}</span>", text(account))).unwrap_or_default();
    let name = format!("s3://{}", access.bucket);
    let mut rows = String::new();
    for group in &access.locks {
        let named: Vec<String> = group.keys.iter().take(KEYS).map(|key| code(key)).collect();
        let more = match group.keys.len().saturating_sub(KEYS) {
            0 => String::new(),
            more => format!(" and {}", count(more, "more key", "more keys")),
        };
        rows.push_str(&format!(
            "<tbody><tr class=\"keys\"><th scope=\"rowgroup\" colspan=\"2\">{}{more}</th></tr>\n",
            named.join(", ")
        ));
        for (names, set) in joined(sets(group).map(|(name, set)| (name, set.iter().map(holder).collect()))) {
            rows.push_str(&line(&names, &set));
        }
        rows.push_str("</tbody>\n");
    }
    rows.push_str(
        "<tbody><tr class=\"keys\"><th scope=\"rowgroup\" colspan=\"2\">The bucket itself</th></tr>\n",
    );
    let strip: Vec<String> = access.can_strip.iter().map(holder).collect();
    rows.push_str(&line(&["can change what protects them"], &strip));
    rows.push_str("</tbody>");
    let limits: String = access.limits.iter().map(|limit| format!("<li>{}</li>", text(limit))).collect();
    let limits = if limits.is_empty() {
        limits
    } else {
        format!("<p>Not said:</p><ul class=\"limits\">{limits}</ul>\n")
    };
    format!(
        "<h3>{}{account}</h3>\n<table class=\"access\"><caption>Who can do what to the locks of {}</caption><thead><tr>\
         <th scope=\"col\">What</th><th scope=\"col\">Who</th></tr></thead>\n{rows}</table>\n{limits}",
        code(&name),
        code(&name)
    )
}

/// What, and who: sets that hold the same stand in one row.
fn line(names: &[&str], set: &[String]) -> String {
    let mut who: Vec<String> = set.iter().take(NAMED).map(|one| format!("<li>{one}</li>")).collect();
    if set.len() > NAMED {
        who.push(format!("<li>and {}</li>", count(set.len() - NAMED, "other", "others")));
    }
    let who = if who.is_empty() { "nobody".to_owned() } else { format!("<ul>{}</ul>", who.concat()) };
    let number = if set.is_empty() { String::new() } else { format!(" <span>({})</span>", set.len()) };
    format!("<tr><th scope=\"row\">{}{number}</th><td>{who}</td></tr>\n", names.join(",<br>"))
}

fn holder(holder: &Holder) -> String {
    let part = match holder.part {
        Part::Other => String::new(),
        part => format!(" <b>{}</b>", part.words()),
    };
    let all = |texts: &[String], word: &str| texts.iter().map(|one| text(one)).collect::<Vec<_>>().join(word);
    let sure = match &holder.certainty {
        Certainty::Certain => String::new(),
        Certainty::Conditional { conditions, .. } => format!(" <i>if {}</i>", all(conditions, " and ")),
        Certainty::Unknown { why } => format!(" <i>not known: {}</i>", all(why, "; ")),
    };
    let actions = if holder.actions.is_empty() {
        String::new()
    } else {
        format!(" <span>{}</span>", all(&holder.actions, ", "))
    };
    let assumed = if holder.assumed { " <i>assumed</i>" } else { "" };
    format!("{}{part}{sure}{assumed}{actions}", code(&holder.principal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::access::LockAccess;

    fn who(principal: &str, part: Part, certainty: Certainty) -> Holder {
        Holder { principal: principal.into(), part, assumed: false, certainty, actions: Vec::new() }
    }

    #[test]
    fn sets_are_told_by_name_part_and_certainty() {
        let maybe = Certainty::Unknown { why: vec!["a <policy> was not read".into()] };
        let conditional = Certainty::Conditional {
            conditions: vec!["aws:SourceVpce".into(), "mfa".into()],
            statements: Vec::new(),
        };
        let mut strip = who("role/admin", Part::Admin, Certainty::Certain);
        strip.actions = vec!["s3:PutBucketPolicy".into()];
        let access = Access {
            bucket: "b".into(),
            account: Some("111122223333".into()),
            locks: vec![LockAccess {
                keys: (0..7).map(|n| format!("{n}.tflock")).collect(),
                can_delete: vec![
                    who("role/ci", Part::Runner, Certainty::Certain),
                    who("role/x", Part::Other, conditional),
                ],
                can_overwrite: vec![who("role/y", Part::Other, maybe)],
                can_create: (0..45).map(|n| who(&format!("u{n}"), Part::Other, Certainty::Certain)).collect(),
                ..LockAccess::default()
            }],
            can_strip: vec![strip],
            limits: vec!["no SCP was supplied".into()],
            ..Access::default()
        };
        let out = render(&[access]);
        assert!(out.contains("<h3><code>s3://b</code> <span>account 111122223333</span></h3>"), "{out}");
        assert!(out.contains("<code>4.tflock</code> and 2 more keys"), "{out}");
        assert!(
            out.contains("<b>runner</b></li><li><code>role/x</code> <i>if aws:SourceVpce and mfa</i></li>"),
            "{out}"
        );
        assert!(out.contains("<i>not known: a &lt;policy&gt; was not read</i>"), "{out}");
        assert!(
            out.contains("can create <span>(45)</span>") && out.contains("<li>and 5 others</li>"),
            "{out}"
        );
        assert!(
            out.contains("can delete versions,<br>can't release what it creates</th><td>nobody</td>"),
            "{out}"
        );
        assert!(
            out.contains("<code>role/admin</code> <b>admin role</b> <span>s3:PutBucketPolicy</span>"),
            "{out}"
        );
        assert!(out.contains("<li>no SCP was supplied</li>"), "{out}");
    }
}
