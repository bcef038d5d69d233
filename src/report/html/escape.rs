//! The one way by which text gets into the page. Everything that comes from a file, a store or a rule's page goes
//! through [`text`]; markup is only what this room writes itself.

use crate::moment::Moment;
pub(super) use crate::report::words::markup as text;
use crate::report::words::{Part, parts_about};

/// [`text`] with names in backticks as code.
pub(super) fn prose(raw: &str) -> String {
    prose_about(raw, &[])
}

/// [`prose`] of a message about `names`, whose own backticks stay.
pub(super) fn prose_about(raw: &str, names: &[&str]) -> String {
    let html = |part| match part {
        Part::Words(words) => text(words),
        Part::Name(name) => code(name),
    };
    parts_about(raw, names).into_iter().map(html).collect()
}

/// A value as code.
pub(super) fn code(raw: &str) -> String {
    format!("<code>{}</code>", text(raw))
}

/// A moment as a page has it, in UTC: a day and a time break better than one word.
pub(super) fn time(at: Moment) -> String {
    at.to_string().replace('T', " ").replace('Z', "")
}

/// The name of a thing in the page: letters, digits and hyphens, so that it can stand in `id` and `href`.
pub(super) fn id(prefix: &str, raw: &str) -> String {
    let plain = raw.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if plain && raw.len() <= 64 {
        return format!("{prefix}-{raw}");
    }
    // No two names may meet: what is no letter is told by its number.
    let mut out = format!("{prefix}--");
    for c in raw.chars().take(64) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else {
            out.push_str(&format!("-{:x}-", u32::from(c)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup_or_drives_a_terminal() {
        for (raw, safe) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("]]></style>", "]]&gt;&lt;/style&gt;"),
            ("&lt;", "&amp;lt;"),
            ("a\u{1b}[2J\u{202e}b\n\u{0}", "a\\u{1b}[2J\\u{202e}b\\n\\u{0}"),
            ("grün 状態", "grün 状態"),
            ("\u{fffe}", "\\u{fffe}"),
        ] {
            assert_eq!(text(raw), safe);
        }
    }

    #[test]
    fn names_in_backticks_are_code_and_stay_text() {
        assert_eq!(prose("set `<b>` now"), "set <code>&lt;b&gt;</code> now");
        assert_eq!(prose("odd ` <b>"), "odd ` &lt;b&gt;");
        assert_eq!(prose("a``b"), "a``b");
        assert_eq!(prose("`a`b` is"), "<code>a`b</code> is");
        assert_eq!(prose_about("`a` `b` is", &["a` `b"]), "`a` `b` is");
    }

    #[test]
    fn a_moment_is_a_day_and_a_time() {
        assert_eq!(time(Moment::parse("2026-11-30T12:00:05Z").unwrap()), "2026-11-30 12:00:05");
    }

    #[test]
    fn ids_are_plain_and_tell_names_apart() {
        assert_eq!(id("rule", "lock-stale"), "rule-lock-stale");
        assert_eq!(id("rule", "a b\""), "rule--a-20-b-22-");
        assert_ne!(id("rule", "a b"), id("rule", "a-b"));
    }
}
