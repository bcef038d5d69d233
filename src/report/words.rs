//! Wording that formats share, and the one place where text from files is made safe to show. Pure functions; no
//! format's own syntax comes in here.

use std::borrow::Cow;

use crate::repo::inventory::{EffectiveBackend, Engine, Knowable, VersionVerdict};
use crate::shell::is_unsafe;

/// Text from a file, fit to be shown: unsafe characters become visible escapes (`\n`, `\u{1b}`).
/// Every format for people puts every value through this.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A part of a message: plain, or a name that stands in backticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Words.
    Words(&'a str),
    /// A name, its backticks taken off.
    Name(&'a str),
}

/// A message in parts. Our own messages write names in single backticks, and a name may have backticks in it: one opens
/// a name only where a word begins, and closes it only where one ends. Where a backtick is left that does neither, the
/// message is plain as a whole: better a backtick too many than one of a name's own that is gone.
pub fn parts(message: &str) -> Vec<Part<'_>> {
    let begins = |before: Option<char>| before.is_none_or(|c| c.is_whitespace() || "([{<\"'→".contains(c));
    let ends = |after: Option<char>| after.is_none_or(|c| c.is_whitespace() || ")]}>\"'.,;:!?…".contains(c));
    let mut parts = Vec::new();
    let mut rest = message;
    while let Some((words, tail)) = rest.split_once('`') {
        let close = tail.match_indices('`').map(|(at, _)| at).find(|at| {
            let (name, after) = tail.split_at(*at);
            let is_word = |c: char| !c.is_whitespace();
            name.starts_with(is_word) && name.ends_with(is_word) && ends(after.chars().nth(1))
        });
        let Some(close) = close.filter(|_| begins(words.chars().next_back())) else {
            return vec![Part::Words(message)];
        };
        let (name, after) = tail.split_at(close);
        parts.extend([Part::Words(words), Part::Name(name)]);
        rest = after.strip_prefix('`').unwrap_or(after);
    }
    parts.push(Part::Words(rest));
    parts.retain(|part| !matches!(part, Part::Words("")));
    parts
}

/// [`parts`] of a message about `names`: where one of them has a backtick, which of the message's are its own can't be
/// told, and all of it is plain.
pub fn parts_about<'a>(message: &'a str, names: &[&str]) -> Vec<Part<'a>> {
    if names.iter().any(|name| name.contains('`')) { vec![Part::Words(message)] } else { parts(message) }
}

/// Text inside an element or a quoted attribute of XML and HTML: [`visible`], and what could begin markup as references.
/// XML 1.0 can't hold the two non-characters at all, and a browser would show something else in their place.
pub fn markup(text: &str) -> String {
    let shown = visible(text);
    let mut out = String::with_capacity(shown.len() + 8);
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// [`visible`] line by line: for our own texts of several lines that quote from files.
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Serialized JSON with the unsafe characters that JSON itself allows raw (DEL, C1, bidirectional) escaped. The
/// document stays the same: such characters can only stand inside strings. Line breaks between tokens stay.
pub fn safe_json(json: &str) -> Cow<'_, str> {
    let breaks = |c: char| is_unsafe(c) && c != '\n';
    // Nearly every document is plain ASCII: no branch for each byte, so that many are looked at in one step.
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    let all_plain =
        json.as_bytes().chunks(4096).all(|part| part.iter().fold(true, |all, byte| all & plain(byte)));
    if all_plain || !json.contains(breaks) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if breaks(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A long text with its middle left out, `max` characters in all: what tells keys and ARNs apart stands at the ends.
pub fn clip(text: &str, max: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= max {
        return Cow::Borrowed(text);
    }
    let tail = max.saturating_sub(1) / 2;
    let head = max.saturating_sub(1) - tail;
    let mut out: String = text.chars().take(head).collect();
    out.push('…');
    out.extend(text.chars().skip(count - tail));
    Cow::Owned(out)
}

/// `1 root module`, `2 root modules`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", plural(n, one, many))
}

/// The word that fits the number.
pub fn plural<'a>(n: usize, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

/// A value in one word: itself, `-` for absent, `?` for unknown.
pub fn value(of: &Knowable<String>) -> &str {
    match of {
        Knowable::Known(value) => value,
        Knowable::Absent => "-",
        Knowable::Unknown(_) => "?",
    }
}

/// Whether the versions in use can run `use_lockfile`, in a word or two.
pub fn verdict(of: VersionVerdict) -> &'static str {
    match of {
        VersionVerdict::Can => "can",
        VersionVerdict::AdmitsOlder => "admits older",
        VersionVerdict::Cannot => "cannot",
        VersionVerdict::Unknown => "no evidence",
    }
}

/// Which choice of backend-config and engine this is; empty where there is only one way to read the root module.
pub fn choice(backend: &EffectiveBackend) -> String {
    let engine = (backend.engine != Engine::Any).then(|| backend.engine.as_str().to_owned());
    engine.into_iter().chain(backend.backend_config.iter().cloned()).collect::<Vec<_>>().join(" + ")
}

/// Settings that only a run can tell, with the reason; those that decide the lock mode come first.
pub fn unknowns(backend: &EffectiveBackend) -> Vec<(&'static str, &str)> {
    [
        ("dynamodb_table", backend.dynamodb_table.unknown()),
        ("use_lockfile", backend.use_lockfile.unknown()),
        ("bucket", backend.bucket.unknown()),
        ("key", backend.key.unknown()),
        ("region", backend.region.unknown()),
        ("workspace_key_prefix", backend.workspace_key_prefix.unknown()),
        ("endpoint", backend.endpoint.unknown()),
    ]
    .into_iter()
    .filter_map(|(name, why)| why.map(|why| (name, why)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_visible_and_the_rest_is_borrowed() {
        assert_eq!(visible("\u{1b}[31mred\u{7}\n\u{9b}2J"), "\\u{1b}[31mred\\u{7}\\n\\u{9b}2J");
        assert_eq!(visible("a\u{202e}b\u{200b}c\u{feff}"), "a\\u{202e}b\\u{200b}c\\u{feff}");
        assert!(matches!(visible("grün 状態"), Cow::Borrowed("grün 状態")));
        assert_eq!(visible_lines("a\u{1b}\nb\tc"), "a\\u{1b}\nb\\tc");
    }

    #[test]
    fn names_with_backticks_stay_whole() {
        use Part::{Name, Words};
        assert_eq!(
            parts("set `a = b` (or `c`), now"),
            [Words("set "), Name("a = b"), Words(" (or "), Name("c"), Words("), now")]
        );
        for name in ["a`b", "a``b", "`a", "a`", "`a`", "`", "``", "a`b`c", "a` `", "envs/`x`/y", "a b"] {
            let message = format!("`{name}` takes no lock");
            let got = parts(&message);
            let whole: String = got
                .iter()
                .map(|part| match part {
                    Words(text) => (*text).to_owned(),
                    Name(name) => format!("`{name}`"),
                })
                .collect();
            assert_eq!(whole, message, "{name}: nothing is lost");
            assert!(
                got == [Name(name), Words(" takes no lock")] || got == [Words(message.as_str())],
                "{name}: {got:?}"
            );
        }
        for odd in ["odd ` one", "a`b`", "`a`b", "``"] {
            assert_eq!(parts(odd), [Words(odd)]);
        }
        assert_eq!(parts(""), []);
        // Two names, or one with a backtick on each side of a blank: only its subject can tell.
        let message = "`a` and `b` takes no lock";
        assert_eq!(parts_about(message, &["a` and `b"]), [Words(message)]);
        assert_eq!(parts_about(message, &["a"]), parts(message));
    }

    #[test]
    fn json_stays_the_same_document() {
        let value = serde_json::json!({ "a\u{7f}": "x\u{9b}2J\u{202e}y\n" });
        let json = serde_json::to_string_pretty(&value).unwrap();
        let safe = safe_json(&json);
        assert_eq!(safe, "{\n  \"a\\u007f\": \"x\\u009b2J\\u202ey\\n\"\n}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn clipping_keeps_both_ends_and_counts_characters() {
        assert_eq!(clip("abcdefghij", 5), "ab…ij");
        assert_eq!(clip("äöüßäöüß", 4), "äö…ß");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abc", 0), "…");
    }
}
