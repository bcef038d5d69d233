//! A tolerant tokenizer for the languages of CDKTF: words, strings, numbers, brackets and signs; comments are
//! left out. Iterative; bytes that fit nowhere are signs. No meaning is read here.

use crate::repo::text::Span;

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or keyword.
    Word,
    /// A string: its value, or `None` where it holds an interpolation or an escape that is not understood.
    Text(Option<String>),
    /// A number.
    Number,
    /// `(`, `[` or `{`.
    Open(u8),
    /// `)`, `]` or `}`.
    Close(u8),
    /// Anything else; `...`, `**`, `=>`, `==`, `::` and `:=` are one sign.
    Sign,
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

const SIGNS: &[&[u8]] = &[b"...", b"===", b"**", b"=>", b"==", b"!=", b"::", b":="];

/// All tokens of a file.
pub(super) fn tokens(bytes: &[u8], python: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if let Some(length) = comment_len(rest, python) {
            at += length;
            continue;
        }
        let (kind, length) = if let Some((text, length)) = string(rest, python) {
            (Kind::Text(text), length)
        } else if is_word_byte(byte) {
            let length = rest.iter().take_while(|byte| is_word_byte(**byte)).count();
            (if byte.is_ascii_digit() { Kind::Number } else { Kind::Word }, length)
        } else {
            match byte {
                b'(' | b'[' | b'{' => (Kind::Open(byte), 1),
                b')' | b']' | b'}' => (Kind::Close(byte), 1),
                _ => (
                    Kind::Sign,
                    SIGNS.iter().find(|sign| rest.starts_with(sign)).map_or(1, |sign| sign.len()),
                ),
            }
        };
        tokens.push(Token { kind, span: Span::new(at, at + length) });
        at += length;
    }
    tokens
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Length of the comment that `rest` begins with.
fn comment_len(rest: &[u8], python: bool) -> Option<usize> {
    let line = if python { rest.starts_with(b"#") } else { rest.starts_with(b"//") };
    if line {
        return Some(memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
    }
    if !python && rest.starts_with(b"/*") {
        let inside = rest.get(2..).unwrap_or_default();
        return Some(memchr::memmem::find(inside, b"*/").map_or(rest.len(), |end| end + 4));
    }
    None
}

/// The string that `rest` begins with, a prefix (`f"`, `$"`, `@"`) included: its value and length.
fn string(rest: &[u8], python: bool) -> Option<(Option<String>, usize)> {
    let prefix = rest.iter().take(3).take_while(|byte| is_prefix(**byte, python)).count();
    let (flags, body) = rest.split_at_checked(prefix)?;
    let quote = *body.first()?;
    let fits = if python { matches!(quote, b'"' | b'\'') } else { matches!(quote, b'"' | b'\'' | b'`') };
    if !fits || (prefix > 0 && quote == b'`') {
        return None;
    }
    let triple = quote != b'`' && body.starts_with(&[quote; 3]) && (python || quote == b'"');
    let mark = if triple { 3 } else { 1 };
    let verbatim = flags.contains(&b'@');
    let raw = verbatim || flags.iter().any(|byte| matches!(byte, b'r' | b'R'));
    let interpolated = flags.iter().any(|byte| matches!(byte, b'f' | b'F' | b'$'));
    let many_lines = triple || quote == b'`' || verbatim;
    let mut at = mark;
    let mut plain = true;
    while let Some(&byte) = body.get(at) {
        if byte == b'\\' && !verbatim {
            plain &= raw;
            at += 2;
        } else if byte == b'\n' && !many_lines {
            // It never ended: what follows is code again.
            return Some((None, prefix + at));
        } else if byte == quote
            && (!triple || body.get(at..).is_some_and(|rest| rest.starts_with(&[quote; 3])))
        {
            let inside = body.get(mark..at).unwrap_or_default();
            let text = std::str::from_utf8(inside).ok();
            let template = interpolated || (quote == b'`' && memchr::memmem::find(inside, b"${").is_some());
            let value = text.filter(|_| plain && !template).map(str::to_owned);
            return Some((value, prefix + at + mark));
        } else {
            at += 1;
        }
    }
    Some((None, rest.len()))
}

fn is_prefix(byte: u8, python: bool) -> bool {
    if python {
        matches!(byte, b'f' | b'F' | b'r' | b'R' | b'b' | b'B' | b'u' | b'U')
    } else {
        matches!(byte, b'@' | b'$')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(code: &str, python: bool) -> Vec<(Kind, &str)> {
        tokens(code.as_bytes(), python)
            .into_iter()
            .map(|token| (token.kind, code.get(token.span.start..token.span.end).unwrap()))
            .collect()
    }

    fn text(value: &str) -> Kind {
        Kind::Text(Some(value.to_owned()))
    }

    #[test]
    fn strings_keep_their_value_only_where_it_is_plain() {
        assert_eq!(
            kinds("'a' \"b\\n\" `c` `${d}` $\"{e}\" @\"f\" 'g\n)", false),
            vec![
                (text("a"), "'a'"),
                (Kind::Text(None), "\"b\\n\""),
                (text("c"), "`c`"),
                (Kind::Text(None), "`${d}`"),
                (Kind::Text(None), "$\"{e}\""),
                (text("f"), "@\"f\""),
                (Kind::Text(None), "'g"),
                (Kind::Close(b')'), ")"),
            ]
        );
        assert_eq!(
            kinds("f'a' r'b\\c' '''d\n'e''' first", true),
            vec![
                (Kind::Text(None), "f'a'"),
                (text("b\\c"), "r'b\\c'"),
                (text("d\n'e"), "'''d\n'e'''"),
                (Kind::Word, "first"),
            ]
        );
    }

    #[test]
    fn comments_are_left_out_and_strings_hold_none() {
        assert_eq!(
            kinds("a /* b\n */ // c\n\"//d\"", false),
            vec![(Kind::Word, "a"), (text("//d"), "\"//d\"")]
        );
        assert_eq!(kinds("a # b\n'#c' // 2", true).len(), 5);
        assert_eq!(kinds("...x ** y", false)[0], (Kind::Sign, "..."));
        assert_eq!(kinds("/* never", false), vec![]);
    }
}
