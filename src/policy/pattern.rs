//! Wildcard patterns, compiled once: `*` is any number of characters, `?` exactly one, and both match `/` and `:` too.
//! Matching goes from left to right and never back over a `*`, so no pattern can make it explode.

/// What one pattern is made of, before it is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// These characters, as they stand.
    Literal(String),
    /// `*`.
    Many,
    /// `?`.
    One,
    /// A policy variable, filled in from the request.
    Variable(Variable),
}

/// `${key}` or `${key, 'default'}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    /// The key in lower case: key names have no case.
    pub key: String,
    /// The key as written.
    pub shown: String,
    /// What stands there when the request has no such key.
    pub default: Option<String>,
}

/// Reads wildcards where they have a meaning.
pub(super) fn wildcard_tokens(text: &str, tokens: &mut Vec<Token>) {
    let mut literal = String::new();
    for c in text.chars() {
        let wildcard = match c {
            '*' => Token::Many,
            '?' => Token::One,
            _ => {
                literal.push(c);
                continue;
            }
        };
        if !literal.is_empty() {
            tokens.push(Token::Literal(std::mem::take(&mut literal)));
        }
        tokens.push(wildcard);
    }
    if !literal.is_empty() {
        tokens.push(Token::Literal(literal));
    }
}

/// What stands between two `*`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Piece {
    #[default]
    Empty,
    /// Without `?`.
    Plain(String),
    /// With `?` (none).
    Holed(Vec<Option<char>>),
}

impl Piece {
    fn new(chars: Vec<Option<char>>) -> Piece {
        if chars.is_empty() {
            return Piece::Empty;
        }
        match chars.iter().copied().collect::<Option<String>>() {
            Some(plain) => Piece::Plain(plain),
            None => Piece::Holed(chars),
        }
    }

    /// What remains of a text that begins with this piece.
    fn strip<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Piece::Empty => Some(text),
            Piece::Plain(plain) => text.strip_prefix(plain.as_str()),
            Piece::Holed(wanted) => {
                let mut rest = text.chars();
                for want in wanted {
                    let found = rest.next()?;
                    if want.is_some_and(|want| want != found) {
                        return None;
                    }
                }
                Some(rest.as_str())
            }
        }
    }

    /// What remains behind the first place where this piece stands. The first one leaves the most for the rest.
    fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self {
            Piece::Empty => Some(text),
            Piece::Plain(plain) => text.split_once(plain.as_str()).map(|(_, rest)| rest),
            Piece::Holed(_) => {
                text.char_indices().find_map(|(at, _)| self.strip(text.get(at..).unwrap_or_default()))
            }
        }
    }

    /// Whether a text ends with this piece.
    fn ends(&self, text: &str) -> bool {
        match self {
            Piece::Empty => true,
            Piece::Plain(plain) => text.ends_with(plain.as_str()),
            Piece::Holed(wanted) => {
                let mut rest = text.chars().rev();
                wanted
                    .iter()
                    .rev()
                    .all(|want| rest.next().is_some_and(|found| want.is_none_or(|want| want == found)))
            }
        }
    }
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    first: Piece,
    /// What follows the first `*`: the pieces between, and the last one. None where there is no `*`.
    rest: Option<(Vec<Piece>, Piece)>,
}

impl Glob {
    /// Wildcards in `text` count.
    pub(super) fn new(text: &str) -> Glob {
        let mut tokens = Vec::new();
        wildcard_tokens(text, &mut tokens);
        Glob::of(&tokens)
    }

    /// Compiles tokens; a variable that is still among them stands for any text.
    pub(super) fn of(tokens: &[Token]) -> Glob {
        let mut pieces = Vec::new();
        let mut piece = Vec::new();
        for token in tokens {
            match token {
                Token::Literal(text) => piece.extend(text.chars().map(Some)),
                Token::One => piece.push(None),
                Token::Many | Token::Variable(_) => pieces.push(Piece::new(std::mem::take(&mut piece))),
            }
        }
        let last = Piece::new(piece);
        if pieces.is_empty() {
            return Glob { first: last, rest: None };
        }
        let first = pieces.remove(0);
        pieces.retain(|piece| *piece != Piece::Empty);
        Glob { first, rest: Some((pieces, last)) }
    }

    /// Whether the whole of `text` matches. Case matters.
    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(mut left) = self.first.strip(text) else { return false };
        let Some((between, last)) = &self.rest else { return left.is_empty() };
        for piece in between {
            match piece.find(left) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        last.ends(left)
    }
}

/// The six parts of an ARN: `arn`, partition, service, region, account, resource. None where there are fewer.
pub(super) fn arn_parts(arn: &str) -> Option<[&str; 6]> {
    let mut parts = arn.splitn(6, ':');
    let six = [parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    Some(six)
}

/// [`arn_parts`] of tokens: only colons that were written count, so a variable stays in its part.
pub(super) fn arn_tokens(tokens: &[Token]) -> Option<[Vec<Token>; 6]> {
    let mut parts: [Vec<Token>; 6] = Default::default();
    let mut at = 0;
    for token in tokens {
        let Token::Literal(text) = token else {
            parts.get_mut(at)?.push(token.clone());
            continue;
        };
        for (n, piece) in text.splitn(6 - at, ':').enumerate() {
            at += usize::from(n > 0);
            if !piece.is_empty() {
                parts.get_mut(at)?.push(Token::Literal(piece.to_owned()));
            }
        }
    }
    (at == 5).then_some(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, by recursion: slow and plain.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|at| by_definition(rest, &text[at..])),
            Some((want, rest)) => text
                .split_first()
                .is_some_and(|(found, left)| (*want == '?' || want == found) && by_definition(rest, left)),
        }
    }

    #[test]
    fn wildcards_cross_slashes_and_colons() {
        let cases = [
            ("arn:aws:s3:::b/*.tflock", "arn:aws:s3:::b/env:/ws/k.tflock", true),
            ("arn:aws:s3:::b/*.tflock", "arn:aws:s3:::b/k.tfstate", false),
            ("b*", "b2", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*ab", "aab", true),
            ("a*a", "a", false),
            ("", "", true),
            ("*", "", true),
            ("?", "ä", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(Glob::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_arn_splits_at_its_first_five_colons() {
        assert_eq!(arn_parts("arn:aws:s3:::b/a:b"), Some(["arn", "aws", "s3", "", "", "b/a:b"]));
        assert_eq!(arn_parts("arn:aws:s3"), None);
        let mut tokens = Vec::new();
        wildcard_tokens("arn:aws:iam::*:role/a:?", &mut tokens);
        let parts = arn_tokens(&tokens).unwrap();
        assert_eq!(parts[4], [Token::Many]);
        assert_eq!(parts[5], [Token::Literal("role/a:".to_owned()), Token::One]);
        assert_eq!(arn_tokens(&[Token::Many]), None);
    }

    proptest! {
        #[test]
        fn matching_is_what_the_definition_says(pattern in "[ab?*é]{0,8}", text in "[abcé]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(
                Glob::new(&pattern).matches(&text),
                by_definition(&chars(&pattern), &chars(&text))
            );
        }
    }

    /// Backtracking over each `*` would take longer than the universe has.
    #[test]
    fn many_stars_end_at_once() {
        assert!(!Glob::new(&"a*".repeat(200).replace("aa", "a")).matches(&"b".repeat(5_000)));
        assert!(!Glob::new(&format!("{}b", "*a?".repeat(60))).matches(&"a".repeat(2_000)));
    }
}
