//! Names that are put together (`"${var.prefix}-locks"`), and patterns over names (`table/*`): no search for the table's
//! name finds them. Pure.

use std::collections::BTreeSet;

use super::carriers::{File, Hit, is_binary};
use super::{Carrier, Mention, Wanted};
use crate::repo::class::FileClass;
use crate::repo::secret::without_credentials;
use crate::repo::setting::Value;
use crate::repo::syntax::expression::{Scope, evaluate};
use crate::repo::syntax::flags::placeholders;
use crate::repo::text::{Span, Text};

/// What is looked at of one file at most.
const MAX_PLACES: usize = 10_000;
/// Longer lines are not written by people.
const MAX_LINE: usize = 4_096;
/// A template with fewer letters of its own fits any name.
const MIN_LETTERS: usize = 3;

/// What is known of the names in a directory.
pub(super) struct Names {
    /// Its variables and local values.
    pub(super) scope: Scope,
    /// Whether nobody else hands it other values: it is a root module, and no module of another one.
    pub(super) certain: bool,
}

/// Every string of one file that comes to the table's name, or may, and every pattern that matches it.
pub(super) fn hits(path: &str, text: Text<'_>, table: &str, names: &dyn Fn() -> Names) -> Vec<Hit> {
    if is_binary(text.bytes()) {
        return Vec::new();
    }
    let file = File::new(path, text);
    let mut found = match file.class() {
        FileClass::Module | FileClass::ModuleJson => templates(&file, table, names),
        FileClass::Hcl | FileClass::Json | FileClass::Yaml => Vec::new(),
        _ => return Vec::new(),
    };
    found.extend(patterns(&file, path, table));
    found
}

fn templates(file: &File<'_>, table: &str, names: &dyn Fn() -> Names) -> Vec<Hit> {
    let bytes = file.text().bytes();
    let mut known: Option<Names> = None;
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut found = Vec::new();
    for at in memchr::memmem::find_iter(bytes, b"${").take(MAX_PLACES) {
        let line = file.text().line_span(at);
        if line.end - line.start > MAX_LINE || is_comment(line.of(bytes)) {
            continue;
        }
        let Some(string) =
            strings(bytes, line).into_iter().find(|string| (string.start..string.end).contains(&at))
        else {
            continue;
        };
        if !seen.insert(string.start) {
            continue;
        }
        let quoted = file.text().lossy(string);
        let name = quoted.trim_matches('"').rsplit("table/").next().unwrap_or_default().to_owned();
        let letters = |piece: &Piece| matches!(piece, Piece::Letter(letter) if letter.is_alphanumeric());
        let pieces = pieces(&name);
        if pieces.iter().filter(|piece| letters(piece)).count() < MIN_LETTERS || !fits(&pieces, table) {
            continue;
        }
        let names = known.get_or_insert_with(names);
        let sure = match evaluate(&quoted, &names.scope).0 {
            Value::Text(text) if text.rsplit("table/").next() == Some(table) => names.certain,
            // A default that says otherwise is the last word only where no caller has one.
            Value::Text(_) if names.certain => continue,
            _ => false,
        };
        found.push(file.hit(&Wanted::everywhere("", sure), string));
    }
    found
}

/// ARNs with a pattern in place of the table's name.
fn patterns(file: &File<'_>, path: &str, table: &str) -> Vec<Hit> {
    let bytes = file.text().bytes();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"',[]()\\".contains(byte);
    let mut found = Vec::new();
    for at in memchr::memmem::find_iter(bytes, b"table/").take(MAX_PLACES) {
        let (before, after) = bytes.split_at(at);
        let start = before.iter().rev().take(MAX_LINE).take_while(|byte| !ends(byte)).count();
        let length = after.iter().take(MAX_LINE).take_while(|byte| !ends(byte)).count();
        let written = file.text().lossy(Span::new(at - start, at + length));
        let name = written.rsplit("table/").next().unwrap_or_default();
        let name = name.split('/').next().unwrap_or(name);
        let is_arn = written.contains("dynamodb") || written.starts_with("${");
        let is_pattern = name.contains(['*', '?']);
        if !is_arn
            || !is_pattern
            || is_comment(file.text().line_span(at).of(bytes))
            || !fits(&pieces(name), table)
        {
            continue;
        }
        let mention = Mention {
            place: file.text().place(path, at - start),
            sure: !name.contains("${"),
            carrier: Carrier::Pattern(without_credentials(written.into_owned())),
        };
        found.push(Hit { mention, leads_to: Vec::new() });
    }
    found
}

fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"#") || line.starts_with(b"//")
}

/// Quoted strings of a line, quotes included; a template may hold strings of its own.
fn strings(bytes: &[u8], line: Span) -> Vec<Span> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    let mut depth = 0_usize;
    let mut at = line.start;
    while let Some(byte) = bytes.get(at).filter(|_| at < line.end) {
        match byte {
            b'\\' => at += 1,
            b'$' if open.is_some() && bytes.get(at + 1) == Some(&b'{') => {
                depth += 1;
                at += 1;
            }
            b'{' if depth > 0 => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'"' if depth == 0 => match open.take() {
                Some(start) => found.push(Span::new(start, at + 1)),
                None => open = Some(at),
            },
            _ => {}
        }
        at += 1;
    }
    found
}

/// One piece of a name that is not known as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// Exactly one character.
    One,
    /// Any characters, or none.
    Any,
}

fn pieces(name: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut at = 0;
    for (start, end) in placeholders(name).into_iter().chain([(name.len(), name.len())]) {
        found.extend(name.get(at..start).unwrap_or_default().chars().map(|letter| match letter {
            '*' => Piece::Any,
            '?' => Piece::One,
            letter => Piece::Letter(letter),
        }));
        if end > start {
            found.push(Piece::Any);
        }
        at = end;
    }
    found
}

/// Whether the pieces can come to this name. One step back to the last `Any` is enough: linear but for the longest run.
fn fits(pieces: &[Piece], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut piece, mut at) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < name.len() {
        match (pieces.get(piece), name.get(at)) {
            (Some(Piece::Any), _) => {
                back = Some((piece, at));
                piece += 1;
                continue;
            }
            (Some(Piece::One), _) => {}
            (Some(Piece::Letter(letter)), Some(found)) if letter == found => {}
            _ => {
                let Some((any, from)) = back else { return false };
                back = Some((any, from + 1));
                (piece, at) = (any + 1, from + 1);
                continue;
            }
        }
        piece += 1;
        at += 1;
    }
    pieces.iter().skip(piece).all(|piece| *piece == Piece::Any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::syntax::hcl;

    /// `LINE CARRIER` of every hit, with `?` where it is not sure.
    fn found(path: &str, text: &str, variables: &str, certain: bool) -> Vec<String> {
        let names = || Names { scope: hcl::scope_of(&[Text::new(variables.as_bytes())], &[]), certain };
        let hits = hits(path, Text::new(text.as_bytes()), "acme-locks", &names);
        let said = |hit: Hit| {
            let Mention { place, carrier, sure } = hit.mention;
            format!("{} {carrier:?}{}", place.line, if sure { "" } else { "?" })
        };
        hits.into_iter().map(said).collect()
    }

    #[test]
    fn a_name_that_is_put_together_is_what_its_variables_make_of_it() {
        let acme = "variable \"prefix\" {\n  default = \"acme\"\n}\n";
        let other = acme.replace("acme", "other");
        let table = "resource \"aws_ssm_parameter\" \"t\" {\n  value = \"${var.prefix}-locks\"\n}\n";
        let none: [&str; 0] = [];
        assert_eq!(found("a/main.tf", table, acme, true), ["2 Block(\"aws_ssm_parameter.t\")"]);
        assert_eq!(found("a/main.tf", table, acme, false), ["2 Block(\"aws_ssm_parameter.t\")?"]);
        assert_eq!(found("a/main.tf", table, &other, true), none);
        assert_eq!(found("a/main.tf", table, &other, false), ["2 Block(\"aws_ssm_parameter.t\")?"]);
        assert_eq!(found("a/main.tf", table, "", true), ["2 Block(\"aws_ssm_parameter.t\")?"]);
        let json = "{\"output\": {\"t\": {\"value\": \"${var.prefix}-locks\"}}}";
        assert_eq!(found("a/main.tf.json", json, acme, true), ["1 Output(\"t\")"]);
        for no in [
            "locals {\n  a = \"${var.prefix}-state\"\n}\n",
            "locals {\n  a = \"${var.a}-${var.b}\"\n}\n",
            "locals {\n  # a = \"${var.prefix}-locks\"\n}\n",
            "locals {\n  a = \"${var.prefix}\"\n}\n",
        ] {
            assert_eq!(found("a/main.tf", no, acme, true), none, "{no}");
        }
        assert_eq!(found("a/run.sh", "x \"${PREFIX}-locks\"\n", acme, true), none);
    }

    #[test]
    fn patterns_match_more_than_one_table() {
        let arn = |name: &str| format!("arn:aws:dynamodb:eu-west-1:111122223333:table/{name}");
        let one = |name: &str, sure: &str| vec![format!("1 Pattern({:?}){sure}", arn(name))];
        for (name, expected) in [
            ("*", one("*", "")),
            ("acme-*", one("acme-*", "")),
            ("acme-lock?", one("acme-lock?", "")),
            ("acme-*/index/*", one("acme-*/index/*", "")),
            ("${var.x}-*", one("${var.x}-*", "?")),
            ("other-*", Vec::new()),
            ("acme-locks/index/*", Vec::new()),
            ("acme-locks", Vec::new()),
        ] {
            let text = format!("{{\"Resource\": \"{}\"}}", arn(name));
            assert_eq!(found("policy.json", &text, "", true), expected, "{name}");
        }
        let yaml = "Resource:\n  - !Sub arn:aws:dynamodb:*:*:table/acme-*\n";
        let said = ["2 Pattern(\"arn:aws:dynamodb:*:*:table/acme-*\")"];
        assert_eq!(found("stack.yml", yaml, "", true), said);
        assert_eq!(found("a.tf", "# arn:aws:dynamodb:*:*:table/*\n", "", true), Vec::<String>::new());
        assert_eq!(found("README.md", "arn:aws:dynamodb:*:*:table/*\n", "", true), Vec::<String>::new());
        assert_eq!(found("a.json", "{\"a\": \"database/table/*\"}", "", true), Vec::<String>::new());
    }

    #[test]
    fn pieces_fit_as_globs_do() {
        for (pattern, name, expected) in [
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("${x}-b-${y}", "a-b-b-c", true),
            ("*ab", "aab", true),
        ] {
            assert_eq!(fits(&pieces(pattern), name), expected, "{pattern} {name}");
        }
    }
}
