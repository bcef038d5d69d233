//! What programming languages and data formats differ in for a reader of string literals, and words made from
//! literals and expressions.

use crate::repo::text::Span;

use super::shell::Word;

/// What the languages differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(super) hash: bool,
    pub(super) slashes: bool,
    pub(super) triple: bool,
    pub(super) backtick: bool,
    pub(super) multiline: bool,
    /// Data, not a program: an argument list there can be edited.
    pub(super) data: bool,
    /// YAML's flow style: words and texts may stand without quotes.
    pub(super) flow: bool,
}

impl Style {
    /// Python, Ruby, TOML, …
    pub(crate) const HASH: Self = Self {
        hash: true,
        slashes: false,
        triple: true,
        backtick: true,
        multiline: true,
        data: false,
        flow: false,
    };
    /// JavaScript, Groovy, Go, …
    pub(crate) const SLASHES: Self = Self {
        hash: false,
        slashes: true,
        triple: true,
        backtick: true,
        multiline: false,
        data: false,
        flow: false,
    };
    /// PHP.
    pub(crate) const BOTH: Self = Self {
        hash: true,
        slashes: true,
        triple: false,
        backtick: true,
        multiline: false,
        data: false,
        flow: false,
    };
    /// Terragrunt's `extra_arguments`.
    pub(crate) const HCL: Self = Self {
        hash: true,
        slashes: true,
        triple: false,
        backtick: false,
        multiline: false,
        data: true,
        flow: false,
    };
    /// JSON, and lists in Dockerfiles.
    pub(crate) const JSON: Self = Self {
        hash: false,
        slashes: false,
        triple: false,
        backtick: false,
        multiline: true,
        data: true,
        flow: false,
    };
    /// Lists and maps on one line of YAML: JSON with plain scalars.
    pub(crate) const FLOW: Self = Self { flow: true, ..Self::JSON };
}

/// Names of functions, keys and arguments whose text is for people.
pub(crate) fn is_for_people(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().as_str(),
        "name"
            | "description"
            | "desc"
            | "displayname"
            | "label"
            | "title"
            | "summary"
            | "help"
            | "message"
            | "msg"
            | "print"
            | "println"
            | "printf"
            | "puts"
            | "echo"
            | "log"
            | "info"
            | "warn"
            | "warning"
            | "error"
            | "debug"
            | "raise"
            | "throw"
            | "die"
            | "abort"
            | "fail"
            | "exception"
            | "run-name"
            | "if"
            | "uses"
            | "image"
            | "id"
            | "comment"
            | "comments"
            | "group"
            | "key"
            | "keywords"
            | "changelog"
            | "stage"
            | "documentation"
            | "usage"
            | "it"
            | "describe"
            | "context"
    )
}

/// The words of a text without any quote.
pub(super) fn split_words(bytes: &[u8], content: Span) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = content.start;
    for part in content.of(bytes).split(u8::is_ascii_whitespace) {
        if !part.is_empty() {
            let mut word = Word::at(at);
            word.push(bytes, at, at + part.len());
            word.span.end = at + part.len();
            words.push(word.finish());
        }
        at += part.len() + 1;
    }
    words
}

pub(super) fn push_expression(word: &mut Word, expression: &[u8], at: usize) {
    word.escaped = true;
    word.push_as(b"${", at);
    word.push_as(expression, at);
    word.push_as(b"}", at);
}

/// A word that is no value of the flag before it.
pub(super) fn barrier(at: usize) -> Word {
    let mut word = Word::at(at);
    word.push_as(b"-", at);
    word.finish()
}
