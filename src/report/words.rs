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
    format!("{n} {}", if n == 1 { one } else { many })
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
