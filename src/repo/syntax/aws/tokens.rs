//! Tokens of one HCL expression: strings, references, and single bytes of anything else. Blocks and arguments are
//! the lexer's; here a list is split and a call's arguments are found.

use crate::repo::syntax::lexer;
use crate::repo::text::Span;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A quoted template, quotes included.
    Quoted,
    /// A name or a reference: `aws_dynamodb_table.lock["a"].arn`.
    Word,
    /// One byte of anything else.
    Other,
}

/// One piece of an expression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// Whether a token is this one byte.
pub(super) fn is(bytes: &[u8], token: &Token, byte: u8) -> bool {
    token.kind == Kind::Other && token.span.of(bytes) == [byte]
}

/// Tokens of an expression, white space and comments left out.
pub(super) fn tokens(bytes: &[u8], span: Span) -> Vec<Token> {
    let comments = lexer::comments(bytes, span);
    let mut comments = comments.iter().peekable();
    let mut found = Vec::new();
    let mut at = span.start;
    while let Some(byte) = bytes.get(at).filter(|_| at < span.end) {
        while comments.peek().is_some_and(|comment| comment.end <= at) {
            comments.next();
        }
        if let Some(comment) = comments.peek().filter(|comment| comment.start <= at) {
            at = comment.end.max(at + 1);
            continue;
        }
        let (kind, end) = match byte {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'"' => (Kind::Quoted, quoted_end(bytes, at + 1, span.end)),
            byte if byte.is_ascii_alphabetic() || *byte == b'_' => {
                (Kind::Word, word_end(bytes, at, span.end))
            }
            _ => (Kind::Other, at + 1),
        };
        found.push(Token { kind, span: Span::new(at, end) });
        at = end;
    }
    found
}

/// One past the quote that closes a template; templates nest inside `${ }`.
fn quoted_end(bytes: &[u8], from: usize, limit: usize) -> usize {
    // Quotes and braces that are open; the outermost quote is the bottom.
    let mut open = vec![b'"'];
    let mut at = from;
    while at < limit {
        let Some(byte) = bytes.get(at) else { break };
        let in_quote = open.last() == Some(&b'"');
        match byte {
            b'\\' if in_quote => at += 1,
            b'"' if in_quote => {
                open.pop();
                if open.is_empty() {
                    return at + 1;
                }
            }
            b'"' => open.push(b'"'),
            b'$' | b'%' if in_quote && bytes.get(at + 1) == Some(&b'{') => {
                // `$${` is the text `${`.
                if at > from && bytes.get(at - 1) == Some(byte) {
                    at += 1;
                } else {
                    open.push(b'{');
                    at += 1;
                }
            }
            b'{' if !in_quote => open.push(b'{'),
            b'}' if !in_quote => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    limit
}

/// One past a name, with the attributes and indexes that follow it.
fn word_end(bytes: &[u8], from: usize, limit: usize) -> usize {
    let mut at = from;
    while at < limit {
        match bytes.get(at) {
            Some(byte)
                if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'*') || *byte >= 0x80 => {}
            // `x.y`, not the dots of `x...`.
            Some(b'.')
                if bytes
                    .get(at + 1)
                    .is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'*' | b'_')) => {}
            Some(b'[') => {
                let rest = Span::new(at, limit.min(at + 128)).of(bytes);
                let Some(close) = memchr::memchr(b']', rest) else { return at };
                at += close;
            }
            _ => return at,
        }
        at += 1;
    }
    limit
}
