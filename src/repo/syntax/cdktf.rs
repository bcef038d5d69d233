//! CDK for Terraform source code: calls of the S3 backend's constructor in TypeScript, JavaScript, Python, Go,
//! Java and C#. What can be told from the call's own text is read; nothing is evaluated and nothing is edited.

use std::collections::BTreeSet;

use memchr::memmem;

use self::token::{Kind, Token, tokens};
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text};

#[cfg(test)]
mod tests;
mod token;

/// Constructors, and what they make. Source: the CDKTF API reference of the five languages.
const CONSTRUCTORS: &[(&str, SourceKind)] = &[
    ("S3Backend", SourceKind::Cdktf),
    ("NewS3Backend", SourceKind::Cdktf),
    ("DataTerraformRemoteStateS3", SourceKind::Reader),
    ("NewDataTerraformRemoteStateS3", SourceKind::Reader),
];

/// Arguments of the S3 backend that are read, by their Terraform names.
const ARGUMENTS: &[&str] = &[
    "access_key",
    "acl",
    "bucket",
    "dynamodb_endpoint",
    "dynamodb_table",
    "encrypt",
    "endpoint",
    "key",
    "kms_key_id",
    "profile",
    "region",
    "role_arn",
    "secret_key",
    "token",
    "use_lockfile",
    "workspace_key_prefix",
];

/// Arguments that are unknown where a call takes its configuration from elsewhere.
const TAKEN_OVER: &[&str] =
    &["bucket", "key", "region", "workspace_key_prefix", "dynamodb_table", "use_lockfile"];

const EDIT_BY_HAND: &str = "CDKTF source: edit by hand (`dynamodbTable`, `useLockfile` in the language's own \
                            spelling), then run synth";

/// CDKTF's escape hatch for what its typed configuration lacks: for long the only way to set `use_lockfile`.
const OVERRIDES: &[&[u8]] = &[b"addOverride", b"add_override", b"AddOverride"];

/// Where an override of a stack reaches the backend's arguments.
const BACKEND_PATH: &str = "terraform.backend.s3.";

/// Reads every call of an S3 backend's (or remote state's) constructor in one source file, and the overrides of
/// its arguments. The file name's ending tells the language. `S3Backend` is a common name in other programs: a
/// file that does not name CDKTF (or its successor CDK Terrain) has no sources.
pub fn read_cdktf_source(file: &str, text: Text<'_>) -> Vec<Source> {
    let bytes = text.bytes();
    let names = ["S3Backend", "DataTerraformRemoteStateS3", BACKEND_PATH];
    if names.iter().all(|name| memmem::find(bytes, name.as_bytes()).is_none()) || !names_cdktf(bytes) {
        return Vec::new();
    }
    let python = file.to_ascii_lowercase().ends_with(".py");
    let tokens = tokens(bytes, python);
    let mut sources: Vec<Source> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(kind) = constructor(&tokens, at, bytes) {
            sources.push(Call::new(&tokens, at + 1, text).source(file, kind, token.span, python));
        } else if token.kind == Kind::Word
            && OVERRIDES.contains(&token.span.of(bytes))
            && tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Open(b'('))
        {
            let call = Call::new(&tokens, at + 1, text);
            let Some(setting) = call.overridden() else { continue };
            // The stack's backend is made before it is overridden; without one in this file it is elsewhere.
            match sources.iter_mut().rev().find(|source| source.kind == SourceKind::Cdktf) {
                Some(backend) => backend.settings.push(setting),
                None => sources.push(call.whole(file, SourceKind::Cdktf, token.span, vec![setting])),
            }
        }
    }
    sources
}

fn names_cdktf(bytes: &[u8]) -> bool {
    let names: [&[u8]; 2] = [b"cdktf", b"cdktn"];
    bytes.windows(5).any(|window| names.iter().any(|name| window.eq_ignore_ascii_case(name)))
}

/// What the constructor call that begins at `at` makes; `None` where there is no call.
fn constructor(tokens: &[Token], at: usize, bytes: &[u8]) -> Option<SourceKind> {
    let token = tokens.get(at).filter(|token| token.kind == Kind::Word)?;
    let word = token.span.of(bytes);
    let (_, kind) = CONSTRUCTORS.iter().find(|(name, _)| name.as_bytes() == word)?;
    if tokens.get(at + 1)?.kind != Kind::Open(b'(') {
        return None;
    }
    // A class or function of that name is not a call.
    let before = at.checked_sub(1).and_then(|before| tokens.get(before)).map(|token| token.span.of(bytes));
    let declares: [&[u8]; 6] = [b"class", b"def", b"func", b"function", b"public", b"interface"];
    if before.is_some_and(|word| declares.contains(&word)) {
        return None;
    }
    Some(*kind)
}

/// One call's tokens, from behind the opening bracket to before the closing one.
struct Call<'t> {
    tokens: &'t [Token],
    /// Bracket depth of each token, 0 directly in the call's brackets.
    depths: Vec<usize>,
    body: Span,
    end: usize,
    text: Text<'t>,
}

impl<'t> Call<'t> {
    /// `open` is the index of the call's bracket. An unclosed call reaches to the next call, or to the file's end.
    fn new(all: &'t [Token], open: usize, text: Text<'t>) -> Self {
        let inside = all.get(open + 1..).unwrap_or_default();
        let start = all.get(open).map_or(0, |token| token.span.end);
        let mut depths = Vec::new();
        let mut depth = 0usize;
        let mut close = None;
        for (index, token) in inside.iter().enumerate() {
            // A call never holds another: one that is not closed must not swallow the next (nor cost its length
            // again for each that follows).
            if constructor(inside, index, text.bytes()).is_some() {
                close = Some((index, Span::new(token.span.start, token.span.start)));
                break;
            }
            if matches!(token.kind, Kind::Close(_)) {
                if depth == 0 {
                    close = Some((index, token.span));
                    break;
                }
                depth -= 1;
            }
            depths.push(depth);
            if matches!(token.kind, Kind::Open(_)) {
                depth += 1;
            }
        }
        let length = close.map_or(inside.len(), |(index, _)| index);
        let last = close.map_or(text.bytes().len(), |(_, span)| span.start);
        Self {
            tokens: inside.get(..length).unwrap_or_default(),
            depths,
            body: Span::new(start, last),
            end: close.map_or(last, |(_, span)| span.end),
            text,
        }
    }

    fn source(&self, file: &str, kind: SourceKind, word: Span, python: bool) -> Source {
        let mut settings = self.settings(python);
        if self.is_partial(&settings) {
            let known: BTreeSet<String> = settings.iter().map(|setting| setting.name.clone()).collect();
            for name in TAKEN_OVER.iter().filter(|name| !known.contains(**name)) {
                settings.push(Setting {
                    name: (*name).to_owned(),
                    at: self.text.position(self.body.start),
                    span: self.body,
                    name_span: self.body,
                    value_span: self.body,
                    value: unknown(
                        self.one_line(self.body),
                        "the call takes its configuration from elsewhere",
                    ),
                    via: Vec::new(),
                });
            }
        }
        self.whole(file, kind, word, settings)
    }

    fn whole(&self, file: &str, kind: SourceKind, word: Span, settings: Vec<Setting>) -> Source {
        Source {
            kind,
            syntax: Syntax::Other,
            place: self.text.place(file, word.start),
            span: Span::new(word.start, self.end),
            body: self.body,
            settings,
            editability: Editability::ReportOnly(EDIT_BY_HAND.to_owned()),
            label: Some(self.text.lossy(word).into_owned()),
            git_ignored: false,
        }
    }

    /// The setting of `addOverride("terraform.backend.s3.use_lockfile", true)`. On the backend itself the path is
    /// the argument alone; that is taken only for the lock's own two, others could be any element's.
    fn overridden(&self) -> Option<Setting> {
        let path_end = self.value_end(0);
        let first = self.token(0)?.span;
        let name_span = Span::new(first.start, self.token(path_end.checked_sub(1)?)?.span.end);
        let path = self.value(0, path_end, name_span);
        let path = path.as_text()?;
        let name = path.strip_prefix(BACKEND_PATH).unwrap_or(path);
        if name.is_empty() || name.len() == path.len() && !matches!(name, "dynamodb_table" | "use_lockfile") {
            return None;
        }
        let from = path_end + 1;
        let to = self.value_end(from);
        let value_span = Span::new(self.token(from)?.span.start, self.token(to.checked_sub(1)?)?.span.end);
        let value = without_secrets(name, self.value(from, to, value_span));
        let span = Span::new(name_span.start, value_span.end);
        let at = self.text.position(span.start);
        Some(Setting { name: name.to_owned(), at, span, name_span, value_span, value, via: Vec::new() })
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at)
    }

    fn word(&self, at: usize) -> &[u8] {
        self.token(at).map(|token| token.span.of(self.text.bytes())).unwrap_or_default()
    }

    fn is(&self, at: usize, sign: &[u8]) -> bool {
        self.token(at).is_some_and(|token| token.kind == Kind::Sign) && self.word(at) == sign
    }

    /// Whether arguments come from a variable, a spread or a function: what is not seen is then not absent.
    fn is_partial(&self, settings: &[Setting]) -> bool {
        settings.is_empty() || (0..self.tokens.len()).any(|at| self.is(at, b"...") || self.is(at, b"**"))
    }

    fn settings(&self, python: bool) -> Vec<Setting> {
        let mut settings = Vec::new();
        // Arguments of the backend stand all at one depth; a deeper `key` is another object's.
        let mut depth = None;
        let mut at = 0;
        while at < self.tokens.len() {
            let here = self.depths.get(at).copied();
            let found = if depth.is_none() || depth == here { self.argument(at, python) } else { None };
            match found {
                Some((setting, next)) => {
                    depth = here;
                    settings.push(setting);
                    at = next.max(at + 1);
                }
                None => at += 1,
            }
        }
        settings
    }

    /// The argument whose name is the token `at`, and the index behind its value.
    fn argument(&self, at: usize, python: bool) -> Option<(Setting, usize)> {
        let token = self.token(at)?;
        let written = match &token.kind {
            Kind::Word => self.text.lossy(token.span).into_owned(),
            Kind::Text(Some(text)) => text.clone(),
            _ => return None,
        };
        let name = snake_case(&written);
        if !ARGUMENTS.contains(&name.as_str()) {
            return None;
        }
        let is_word = token.kind == Kind::Word;
        let (from, to) = if self.is(at + 1, b":") || (is_word && self.is(at + 1, b"=")) {
            let start = at + 2;
            (start, self.value_end(start))
        } else if is_word
            && at > 0
            && self.is(at - 1, b".")
            && self.token(at + 1).is_some_and(|next| next.kind == Kind::Open(b'('))
        {
            // A builder's method: `.dynamodbTable("locks")`.
            (at + 2, self.value_end(at + 2))
        } else if is_word && !python && self.is_shorthand(at) {
            (at, at + 1)
        } else {
            return None;
        };
        let first = self.token(from)?.span;
        let last = self.token(to.checked_sub(1)?)?.span;
        let value_span = Span::new(first.start, last.end);
        let value = without_secrets(&name, self.value(from, to, value_span));
        let span = Span::new(token.span.start.min(value_span.start), value_span.end);
        let at = self.text.position(span.start);
        Some((Setting { name, at, span, name_span: token.span, value_span, value, via: Vec::new() }, to))
    }

    /// JavaScript's `{ bucket, dynamodbTable }`.
    fn is_shorthand(&self, at: usize) -> bool {
        let opens = |at: usize| self.token(at).is_some_and(|token| token.kind == Kind::Open(b'{'));
        let closes = self.token(at + 1).is_some_and(|token| token.kind == Kind::Close(b'}'));
        at > 0 && (opens(at - 1) || self.is(at - 1, b",")) && (closes || self.is(at + 1, b","))
    }

    /// Index behind the value that begins at `from`: the next comma or semicolon there, or the closing bracket.
    fn value_end(&self, from: usize) -> usize {
        let Some(depth) = self.depths.get(from).copied() else { return from };
        let mut at = from;
        while let Some(token) = self.token(at) {
            let here = self.depths.get(at).copied().unwrap_or_default();
            let ends = here == depth && (self.is(at, b",") || self.is(at, b";"));
            if ends || here < depth || (here + 1 == depth && matches!(token.kind, Kind::Close(_))) {
                break;
            }
            at += 1;
        }
        at
    }

    fn value(&self, from: usize, to: usize, span: Span) -> Value {
        let tokens = self.tokens.get(from..to).unwrap_or_default();
        // Go wraps literals: `jsii.String("locks")`.
        let wrapped = matches!(tokens, [jsii, _, _, open, _, close]
            if jsii.span.of(self.text.bytes()) == b"jsii"
                && open.kind == Kind::Open(b'(') && close.kind == Kind::Close(b')'));
        let literal = match tokens {
            [literal] => Some(literal),
            [_, _, _, _, literal, _] if wrapped => Some(literal),
            _ => None,
        };
        let Some(literal) = literal else { return unknown(self.one_line(span), "an expression in code") };
        match &literal.kind {
            Kind::Text(Some(text)) => Value::Text(text.clone()),
            Kind::Number => Value::Number(self.text.lossy(literal.span).into_owned()),
            Kind::Word => match literal.span.of(self.text.bytes()) {
                b"true" | b"True" => Value::Bool(true),
                b"false" | b"False" => Value::Bool(false),
                b"null" | b"undefined" | b"None" | b"nil" => Value::Null,
                _ => unknown(self.one_line(span), "a name in code"),
            },
            _ => unknown(self.one_line(span), "an expression in code"),
        }
    }

    fn one_line(&self, span: Span) -> String {
        self.text.lossy(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn unknown(expression: String, reason: &str) -> Value {
    Value::Unknown { expression, reason: reason.to_owned() }
}

/// `dynamodbTable`, `DynamodbTable` and `dynamodb_table` are one argument.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for (index, character) in name.chars().enumerate() {
        if character.is_ascii_uppercase() {
            if index > 0 {
                out.push('_');
            }
            out.push(character.to_ascii_lowercase());
        } else {
            out.push(character);
        }
    }
    out
}
