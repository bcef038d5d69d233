//! Texts of a policy that are compared with texts of a request: with or without wildcards, with policy variables such
//! as `${aws:username}`, as a whole or as an ARN part by part.

use super::context::{Context, Entry};
use super::missing::{Gaps, Missing, VARIABLE};
use super::pattern::{Glob, Token, Variable, arn_tokens, wildcard_tokens};
use super::tri::Tri;

/// How a text of a policy is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// `*` and `?` are wildcards.
    pub wildcards: bool,
    /// `${…}` is a variable: only in policies of version 2012-10-17.
    pub variables: bool,
    /// Compare without case.
    pub fold: bool,
    /// The text stands under a negation: `StringNotLike`, `NotResource`.
    pub negated: bool,
}

/// Cuts a text into tokens. The error says what is not understood.
fn tokens(text: &str, reading: Reading) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let plain = |text: &str, out: &mut Vec<Token>| {
        if reading.wildcards {
            wildcard_tokens(text, out);
        } else if !text.is_empty() {
            out.push(Token::Literal(text.to_owned()));
        }
    };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${").filter(|_| reading.variables) {
        plain(before, &mut out);
        let Some((inside, left)) = after.split_once('}') else {
            return Err(format!("the variable in `{text}` has no end"));
        };
        out.push(match inside {
            // How a policy writes these three characters themselves.
            "*" | "?" | "$" => Token::Literal(inside.to_owned()),
            _ => Token::Variable(variable(inside).ok_or_else(|| format!("the variable in `{text}`"))?),
        });
        rest = left;
    }
    plain(rest, &mut out);
    Ok(out)
}

/// `key` or `key, 'default'`.
fn variable(inside: &str) -> Option<Variable> {
    let (key, default) = match inside.split_once(',') {
        None => (inside, None),
        Some((key, default)) => {
            let default = default.trim().strip_prefix('\'')?.strip_suffix('\'')?;
            (key, Some(default.to_owned()))
        }
    };
    let key = key.trim();
    let sound = !key.is_empty() && !key.chars().any(|c| c.is_whitespace() || matches!(c, '$' | '{' | '*'));
    sound.then(|| Variable { key: key.to_ascii_lowercase(), shown: key.to_owned(), default })
}

/// What stands in a variable's place.
enum Filled<'c> {
    Text(&'c str),
    /// The request has no such key: nothing matches.
    Nothing,
    NotKnown(Missing),
}

fn fill<'c>(variable: &'c Variable, context: &'c Context) -> Filled<'c> {
    match (context.of(&variable.key), &variable.default) {
        (Entry::Values(values), default) => match (values.as_slice(), default) {
            ([one], _) => Filled::Text(one),
            ([], Some(default)) => Filled::Text(default),
            ([], None) => Filled::Nothing,
            (_, _) => Filled::NotKnown(Missing::NotDocumented(format!(
                "the variable ${{{}}} where the request has several values",
                variable.shown
            ))),
        },
        (Entry::Absent, Some(default)) => Filled::Text(default),
        (Entry::Absent, None) => Filled::Nothing,
        (Entry::NotKnown, _) => Filled::NotKnown(Missing::Key {
            key: variable.shown.clone(),
            operator: VARIABLE.to_owned(),
            values: Vec::new(),
        }),
    }
}

/// A text of a policy, ready to be compared.
#[derive(Debug, Clone)]
enum Matcher {
    /// No variables.
    Fixed(Glob),
    Varied {
        tokens: Vec<Token>,
        fold: bool,
        negated: bool,
    },
}

impl Matcher {
    fn new(tokens: Vec<Token>, reading: Reading) -> Matcher {
        if tokens.iter().any(|token| matches!(token, Token::Variable(_))) {
            return Matcher::Varied { tokens, fold: reading.fold, negated: reading.negated };
        }
        Matcher::Fixed(Glob::of(&tokens))
    }

    fn matches(&self, text: &str, context: &Context, gaps: &mut Gaps) -> Tri {
        match self {
            Matcher::Fixed(glob) => glob.matches(text).into(),
            Matcher::Varied { tokens, fold, negated } => match varied(tokens, text, *fold, context, gaps) {
                Some(matches) => matches,
                None if !negated => Tri::No,
                None => {
                    let why = "a negation of a policy variable that the request does not have";
                    gaps.push(Missing::NotDocumented(why.to_owned()));
                    Tri::Unknown
                }
            },
        }
    }
}

/// Compares with the variables filled in. None where the request has no value for one of them: nothing matches then,
/// and what its negation does is not documented.
fn varied(tokens: &[Token], text: &str, fold: bool, context: &Context, gaps: &mut Gaps) -> Option<Tri> {
    // Two readings of a value that holds `*` or `?`: AWS does not say whether they are wildcards then.
    let (mut literal, mut wild) = (Vec::with_capacity(tokens.len()), Vec::with_capacity(tokens.len()));
    let mut missing = Vec::new();
    for token in tokens {
        let Token::Variable(variable) = token else {
            literal.push(token.clone());
            wild.push(token.clone());
            continue;
        };
        match fill(variable, context) {
            Filled::Text(value) => {
                let value = if fold { value.to_lowercase() } else { value.to_owned() };
                wildcard_tokens(&value, &mut wild);
                literal.push(Token::Literal(value));
            }
            Filled::Nothing => return None,
            Filled::NotKnown(why) => {
                missing.push(why);
                literal.push(Token::Many);
                wild.push(Token::Many);
            }
        }
    }
    let matches_literally = Glob::of(&literal).matches(text);
    if !missing.is_empty() {
        // With any text in its place it does not match, so neither with the right one.
        if !Glob::of(&wild).matches(text) {
            return Some(Tri::No);
        }
        gaps.append(&mut missing);
        return Some(Tri::Unknown);
    }
    if !matches_literally && Glob::of(&wild).matches(text) {
        gaps.push(Missing::NotDocumented("wildcards in the value of a policy variable".to_owned()));
        return Some(Tri::Unknown);
    }
    Some(matches_literally.into())
}

/// A text that is compared as a whole.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    matcher: Matcher,
    fold: bool,
}

impl Whole {
    /// The error says what is not understood.
    pub(super) fn new(text: &str, reading: Reading) -> Result<Whole, String> {
        let mut tokens = tokens(text, reading)?;
        if reading.fold {
            for token in &mut tokens {
                if let Token::Literal(text) = token {
                    *text = text.to_lowercase();
                }
            }
        }
        Ok(Whole { matcher: Matcher::new(tokens, reading), fold: reading.fold })
    }

    /// Whether `text` matches.
    pub(super) fn matches(&self, text: &str, context: &Context, gaps: &mut Gaps) -> Tri {
        if self.fold {
            return self.matcher.matches(&text.to_lowercase(), context, gaps);
        }
        self.matcher.matches(text, context, gaps)
    }
}

/// A text that is compared as an ARN: each of the six parts by itself.
#[derive(Debug, Clone)]
pub(super) enum ArnPattern {
    /// `*`, where that is a legal whole.
    Everything,
    /// The partition, service, region, account and resource (`arn` itself is the first).
    Parts(Box<[ArnPart; 6]>),
    /// No ARN; how it would match as plain text.
    NoArn(Whole),
}

/// One part; the commonest kinds need no machinery.
#[derive(Debug, Clone)]
pub(super) enum ArnPart {
    Exact(String),
    Pattern(Matched),
}

/// Hides [`Matcher`].
#[derive(Debug, Clone)]
pub(super) struct Matched(Matcher);

impl ArnPattern {
    /// The error says what is not understood.
    pub(super) fn new(text: &str, variables: bool, negated: bool) -> Result<ArnPattern, String> {
        let reading = Reading { wildcards: true, variables, fold: false, negated };
        let tokens = tokens(text, reading)?;
        let Some(parts) = arn_tokens(&tokens) else {
            return Ok(ArnPattern::NoArn(Whole { matcher: Matcher::new(tokens, reading), fold: false }));
        };
        Ok(ArnPattern::Parts(Box::new(parts.map(|tokens| match tokens.as_slice() {
            [] => ArnPart::Exact(String::new()),
            [Token::Literal(text)] => ArnPart::Exact(text.clone()),
            _ => ArnPart::Pattern(Matched(Matcher::new(tokens, reading))),
        }))))
    }

    /// Whether the parts of an ARN match. A pattern that is no ARN matches nothing here: see [`ArnPattern::NoArn`].
    pub(super) fn matches(&self, arn: Option<&[&str; 6]>, context: &Context, gaps: &mut Gaps) -> Tri {
        let parts = match (self, arn) {
            (ArnPattern::Everything, _) => return Tri::Yes,
            (ArnPattern::NoArn(_), _) | (_, None) => return Tri::No,
            (ArnPattern::Parts(parts), Some(arn)) => parts.iter().zip(arn),
        };
        let mut all = Tri::Yes;
        // The last part differs most often.
        for (part, text) in parts.rev() {
            all = all.and(match part {
                ArnPart::Exact(exact) => (exact == text).into(),
                ArnPart::Pattern(Matched(matcher)) => matcher.matches(text, context, gaps),
            });
            if all == Tri::No {
                return all;
            }
        }
        all
    }
}

/// The value of a condition with an ARN operator, compared with a value of the request that is cut into its parts.
pub(super) fn arn_condition(
    pattern: &ArnPattern,
    value: Option<&[&str; 6]>,
    context: &Context,
    gaps: &mut Gaps,
) -> Tri {
    let why = match (pattern, value) {
        (ArnPattern::NoArn(_) | ArnPattern::Everything, _) => {
            "how an Arn operator compares with a text that is no ARN, such as `*`"
        }
        (_, None) => "how an Arn operator reads a value of the request that is no ARN",
        (parts, arn) => return parts.matches(arn, context, gaps),
    };
    gaps.push(Missing::NotDocumented(why.to_owned()));
    Tri::Unknown
}

#[cfg(test)]
mod tests {
    use super::super::pattern::arn_parts;
    use super::*;

    fn whole(pattern: &str, text: &str, context: &Context) -> (Tri, Vec<String>) {
        let mut gaps = Vec::new();
        let reading = Reading { wildcards: true, variables: true, fold: false, negated: false };
        let found = Whole::new(pattern, reading).unwrap().matches(text, context, &mut gaps);
        (found, gaps.iter().map(Missing::name).collect())
    }

    #[test]
    fn variables_are_filled_defaulted_missing_or_not_known() {
        let context =
            Context::new().with("aws:username", "ann").with("x:star", "a*").not_known("aws:SourceVpce");
        let cases: &[(&str, &str, Tri)] = &[
            ("home/${aws:UserName}/*", "home/ann/k", Tri::Yes),
            ("home/${aws:username}/*", "home/bob/k", Tri::No),
            ("${x:none, 'team'}/k", "team/k", Tri::Yes),
            ("${x:none}/k", "/k", Tri::No),
            ("a${*}b", "a*b", Tri::Yes),
            ("a${*}b", "aXb", Tri::No),
            ("${$}{a}${?}", "${a}?", Tri::Yes),
            ("${aws:SourceVpce}/k", "vpce-1/k", Tri::Unknown),
            ("${aws:SourceVpce}/k", "vpce-1/other", Tri::No),
            ("${x:star}", "a*", Tri::Yes),
            ("${x:star}", "ab", Tri::Unknown),
            ("${x:star}", "b", Tri::No),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(whole(pattern, text, &context).0, *expected, "{pattern} {text}");
        }
        assert_eq!(whole("${aws:SourceVpce}", "v", &context).1, ["aws:SourceVpce"]);
    }

    #[test]
    fn a_variable_without_an_end_is_not_understood_and_the_old_version_has_none() {
        let reading = |variables| Reading { wildcards: false, variables, fold: false, negated: false };
        assert!(Whole::new("${aws:username", reading(true)).is_err());
        assert!(Whole::new("${}", reading(true)).is_err());
        assert!(Whole::new("${a, b}", reading(true)).is_err());
        let literal = Whole::new("${aws:username}", reading(false)).unwrap();
        assert_eq!(literal.matches("${aws:username}", &Context::new(), &mut Vec::new()), Tri::Yes);
    }

    #[test]
    fn arns_are_compared_part_by_part() {
        let context = Context::new();
        let compare = |pattern: &str, value: &str| {
            let pattern = ArnPattern::new(pattern, true, false).unwrap();
            arn_condition(&pattern, arn_parts(value).as_ref(), &context, &mut Vec::new())
        };
        let role = "arn:aws:iam::111122223333:role/ci/tf-apply";
        assert_eq!(compare("arn:aws:iam::111122223333:role/ci/*", role), Tri::Yes);
        assert_eq!(compare("arn:aws:iam::*:role/ci/tf-apply", role), Tri::Yes);
        assert_eq!(compare("arn:aws:iam::111122223333:role/CI/*", role), Tri::No);
        // As one text this would match; part by part the region would hold `:111122223333`.
        assert_eq!(compare("arn:aws:iam:*:role:ci/tf-apply", role), Tri::No);
        assert_eq!(compare("*", role), Tri::Unknown);
        assert_eq!(compare("arn:aws:iam::*:*", "no-arn"), Tri::Unknown);
    }
}
