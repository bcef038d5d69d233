//! Shell text to words: quotes, continuations, comments, heredoc bodies and placeholders, with the place of every
//! byte. No command is understood here, and nothing is expanded.

use crate::repo::text::Span;

pub(crate) use super::word::{Budget, Word};

/// A piece of shell text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A word.
    Word(Word),
    /// `;`, `&&`, `|`, …: the command ends, the line goes on.
    Separator,
    /// The line ends, and the command with it.
    Newline,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// The body of a heredoc, which belongs to the command before it.
    Heredoc(Span),
}

/// Dialects of shell text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dialect {
    /// A newline only separates words (folded and quoted YAML scalars).
    pub folded: bool,
    /// A backtick continues lines and escapes (PowerShell).
    pub powershell: bool,
    /// A caret continues lines (`cmd.exe`).
    pub batch: bool,
    /// The text stands inside a string literal of another language: `\"` is a quote, `\n` ends a line.
    pub literal: bool,
    /// A comment line between continued lines does not end the command (Dockerfile).
    pub docker: bool,
}

/// Splits the text of `span` into tokens; `comments` receives the spans of comments.
pub(crate) fn tokenize(
    bytes: &[u8],
    span: Span,
    dialect: Dialect,
    budget: &mut Budget,
    comments: &mut Vec<Span>,
) -> Vec<Token> {
    let end = span.end.min(bytes.len());
    let mut scanner = Scanner {
        bytes,
        end,
        at: span.start,
        dialect,
        budget,
        comments,
        tokens: Vec::with_capacity(span.len() / TOKEN),
        word: None,
        heredocs: Vec::new(),
        line_end: span.start,
        no_close: [false; 3],
    };
    scanner.run();
    scanner.tokens
}

/// Bytes that most tokens take at least.
const TOKEN: usize = 6;

struct Scanner<'a> {
    bytes: &'a [u8],
    end: usize,
    at: usize,
    dialect: Dialect,
    budget: &'a mut Budget,
    comments: &'a mut Vec<Span>,
    tokens: Vec<Token>,
    word: Option<Word>,
    heredocs: Vec<String>,
    /// The end of the line that was looked for last: a long line is not searched again at each of its bytes.
    line_end: usize,
    /// Quotes of which no further one closes: once a search failed, every later one would.
    no_close: [bool; 3],
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.bytes.get(at).copied() } else { None }
    }

    fn starts(&self, what: &[u8]) -> bool {
        self.bytes.get(self.at..self.end).is_some_and(|rest| rest.starts_with(what))
    }

    fn word(&mut self) -> &mut Word {
        let at = self.at;
        self.word.get_or_insert_with(|| Word::at(at))
    }

    /// Takes the bytes up to `to` into the word as they are.
    fn take(&mut self, to: usize) {
        let from = self.at;
        let bytes = self.bytes;
        let word = self.word();
        word.last_quote = None;
        word.push(bytes, from, to);
        word.span.end = to;
        self.at = to;
    }

    fn finish_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.tokens.push(Token::Word(word.finish()));
        }
    }

    fn emit(&mut self, token: Token, len: usize) {
        self.finish_word();
        self.tokens.push(token);
        self.at += len;
    }

    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    if self.dialect.folded {
                        self.finish_word();
                        self.at += 1;
                    } else {
                        self.emit(Token::Newline, 1);
                    }
                    self.heredoc_bodies();
                }
                b' ' | b'\t' | b'\r' => {
                    self.finish_word();
                    self.at += 1;
                }
                b'#' if self.word.is_none() && !self.is_interpolation() => self.comment(),
                b'\\' => self.backslash(),
                b'`' if self.dialect.powershell => self.escape(),
                b'^' if self.dialect.batch => self.escape(),
                b'`' => self.emit(Token::Separator, 1),
                b'\'' if !self.dialect.batch => self.quote(b"'", 0),
                b'"' => self.quote(b"\"", 1),
                b'$' if self.peek(1) == Some(b'\'') && self.word.is_none() => self.at += 1,
                b'$' | b'{' | b'#' => {
                    let to = self.placeholder().unwrap_or(self.at + 1);
                    self.take(to);
                }
                b';' => self.emit(Token::Separator, 1),
                b'|' => self.emit(Token::Separator, if self.peek(1) == Some(b'|') { 2 } else { 1 }),
                b'&' if self.peek(1) == Some(b'&') => self.emit(Token::Separator, 2),
                b'&' if self.tokens.last() == Some(&Token::Separator) || !self.after_redirect() => {
                    self.emit(Token::Separator, 1);
                }
                b'(' => self.emit(Token::Open, 1),
                b')' => self.emit(Token::Close, 1),
                b'<' if self.dialect.powershell && self.starts(b"<#") => self.block_comment(),
                b'<' if self.bytes.get(self.at..self.end).is_some_and(is_parameter) => {
                    let to = self.placeholder().unwrap_or(self.at + 1);
                    self.take(to);
                }
                b'<' if self.starts(b"<<") && !self.starts(b"<<<") && !self.dialect.powershell => {
                    self.heredoc();
                }
                _ => self.take(self.at + 1),
            }
        }
        self.finish_word();
    }

    /// Whether `#{…}` of the program around this text stands here, not a comment.
    fn is_interpolation(&self) -> bool {
        self.dialect.literal && self.peek(1) == Some(b'{')
    }

    /// Whether an `&` here belongs to a redirection (`2>&1`).
    fn after_redirect(&self) -> bool {
        self.word.as_ref().is_some_and(|word| matches!(word.raw.last(), Some(b'>' | b'<')))
    }

    fn comment(&mut self) {
        let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.comments.push(Span::new(self.at, self.at + len));
        self.at += len;
        // Docker drops comment lines before it joins continued ones.
        let continued = self.dialect.docker && !matches!(self.tokens.last(), None | Some(Token::Newline));
        if continued && self.peek(0) == Some(b'\n') {
            self.at += 1;
        }
    }

    /// PowerShell's `<# … #>`, over any number of lines; what nothing closes is no comment.
    fn block_comment(&mut self) {
        match self.budget.find(self.bytes, self.at + 2, self.end, b"#>") {
            Some(end) => {
                self.finish_word();
                self.comments.push(Span::new(self.at, end));
                self.at = end;
            }
            None => self.take(self.at + 1),
        }
    }

    /// A continuation character before a line's end, or an escape.
    fn escape(&mut self) {
        let rest = self.bytes.get(self.at + 1..self.end).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        if rest.get(blank) == Some(&b'\n') && self.budget.spend(blank) {
            if blank > 0 && rest.first() != Some(&b'\r') {
                self.finish_word();
            }
            self.at += blank + 2;
            return;
        }
        let next = self.at + 1;
        self.word().escaped = true;
        if next < self.end {
            self.at = next;
            self.take(next + 1);
        } else {
            self.at = next;
        }
    }

    fn backslash(&mut self) {
        if !self.dialect.literal {
            if self.dialect.powershell || self.dialect.batch {
                self.take(self.at + 1); // a path separator there
            } else {
                self.escape();
            }
            return;
        }
        if self.starts(b"\\\\\\n") {
            self.at += 4; // an escaped backslash, and an escaped newline: the shell sees a continued line
            return;
        }
        match (self.peek(1), self.peek(2)) {
            (Some(b'"'), _) => self.quote(b"\\\"", 2),
            (Some(b'\\'), _) => {
                self.at += 1;
                self.escape();
            }
            (Some(b'n'), _) => self.emit(Token::Newline, 2),
            (Some(b't'), _) => {
                self.finish_word();
                self.at += 2;
            }
            _ => self.escape(),
        }
    }

    /// A quoted part; when nothing closes it, the quote is an ordinary byte.
    fn quote(&mut self, mark: &[u8], memo: usize) {
        let open = self.at;
        let from = open + mark.len();
        let close = if self.no_close.get(memo) == Some(&true) { None } else { self.closing(mark, from) };
        let Some(close) = close else {
            if let Some(slot) = self.no_close.get_mut(memo) {
                *slot = true;
            }
            self.take(from);
            return;
        };
        let bytes = self.bytes;
        let single = mark == b"'";
        let literal = self.dialect.literal;
        let mut substitutions = Vec::new();
        let word = self.word();
        let mut at = from;
        while at < close {
            let byte = bytes.get(at).copied().unwrap_or_default();
            let next = bytes.get(at + 1).copied().unwrap_or_default();
            if byte == b'\\'
                && !single
                && at + 1 < close
                && matches!(next, b'"' | b'$' | b'`' | b'\\' | b'\n')
            {
                word.escaped = true;
                at += 1;
                if next == b'\n' {
                    at += 1;
                    continue;
                }
            } else if byte == b'$' && next == b'(' && !single && !literal {
                substitutions.push(at);
            }
            word.push(bytes, at, at + 1);
            at += 1;
        }
        word.quotes += 1;
        word.last_quote = Some(open);
        word.quote_len = mark.len();
        word.span.end = close + mark.len();
        for at in substitutions {
            if let Some(to) = self.budget.matching(bytes, at + 1, close, (b'(', b')')) {
                self.word().substitutions.push(Span::new(at + 2, to - 1));
            }
        }
        self.at = close + mark.len();
    }

    /// Where the closing quote begins.
    fn closing(&mut self, mark: &[u8], from: usize) -> Option<usize> {
        if mark.len() == 2 {
            return self.budget.find(self.bytes, from, self.end, mark).map(|end| end - 2);
        }
        let quote = *mark.first()?;
        if quote == b'\'' {
            let rest = self.bytes.get(from..self.end)?;
            return memchr::memchr(quote, rest).map(|at| from + at);
        }
        let escape = if self.dialect.powershell { b'`' } else { b'\\' };
        let mut at = from;
        while at < self.end {
            let byte = *self.bytes.get(at)?;
            if byte == quote {
                return Some(at);
            }
            at += match byte {
                _ if byte == escape => 2,
                b'$' if self.bytes.get(at + 1) == Some(&b'(') && !self.dialect.powershell => {
                    match self.budget.matching(self.bytes, at + 1, self.end, (b'(', b')')) {
                        Some(to) => to - at,
                        None => 1,
                    }
                }
                _ => 1,
            };
        }
        None
    }

    /// One past a placeholder that begins here and may hold blanks: `${{ x }}`, `{{ x }}`, `${x}`, `$(x)`.
    fn placeholder(&mut self) -> Option<usize> {
        let rest = self.bytes.get(self.at..self.end)?;
        if self.line_end <= self.at {
            self.line_end = self.at + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        }
        let line = self.line_end;
        if rest.starts_with(b"${{") || rest.starts_with(b"{{") {
            return self.budget.find(self.bytes, self.at + 2, line, b"}}");
        }
        if rest.starts_with(b"<<") {
            return self.budget.find(self.bytes, self.at + 2, line, b">>");
        }
        if rest.starts_with(b"${") || (rest.starts_with(b"#{") && self.dialect.literal) {
            return self.budget.matching(self.bytes, self.at + 1, line, (b'{', b'}'));
        }
        if rest.starts_with(b"$(") {
            let to = self.budget.matching(self.bytes, self.at + 1, self.end, (b'(', b')'))?;
            let inner = Span::new(self.at + 2, to - 1);
            self.word().substitutions.push(inner);
            return Some(to);
        }
        None
    }

    /// `<<MARK`, `<<-MARK`, `<<~MARK`, quoted or not: the body begins after this line.
    fn heredoc(&mut self) {
        self.finish_word();
        let rest = self.bytes.get(self.at + 2..self.end).unwrap_or_default();
        let (skip, mark) = heredoc_word(rest);
        let quoted = rest.get(skip.saturating_sub(1)).is_some_and(|byte| matches!(byte, b'\'' | b'"'));
        self.at += 2 + skip + mark.len() + usize::from(quoted);
        if begins_name(mark) {
            self.heredocs.push(String::from_utf8_lossy(mark).into_owned());
        }
    }

    /// Passes over the bodies of the heredocs that the line before opened.
    fn heredoc_bodies(&mut self) {
        for mark in std::mem::take(&mut self.heredocs) {
            if let Some((body, after)) = heredoc_body(self.bytes, self.at, self.end, &mark, self.budget) {
                self.tokens.push(Token::Heredoc(body));
                self.tokens.push(Token::Newline);
                self.at = after;
            }
        }
    }
}

/// Whether CircleCI puts in a value here: `<< parameters.x >>`. It does so before any shell sees the text.
pub(super) fn is_parameter(rest: &[u8]) -> bool {
    let Some(inner) = rest.strip_prefix(b"<<") else { return false };
    let inner = inner.trim_ascii_start();
    [&b"parameters."[..], b"pipeline.", b"matrix."].iter().any(|name| inner.starts_with(name))
}

/// The body of a heredoc that begins at `from`, and where the text goes on after its marker's line. The marker may
/// be indented: inside YAML and after `<<-` it is.
pub(crate) fn heredoc_body(
    bytes: &[u8],
    from: usize,
    end: usize,
    mark: &str,
    budget: &mut Budget,
) -> Option<(Span, usize)> {
    let mut line = from;
    while line < end {
        let rest = bytes.get(line..end)?;
        let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        if !budget.spend(len) {
            return None;
        }
        if rest.get(..len)?.trim_ascii() == mark.as_bytes() {
            // The newline after the marker stays: it ends the command.
            let newline = usize::from(rest.get(len.saturating_sub(1)) == Some(&b'\n'));
            return Some((Span::new(from, line), line + len - newline));
        }
        line += len;
    }
    None
}

/// What stands behind `<<`: how many bytes of dash, tilde, blanks and quotes, and the marker's own bytes.
pub(super) fn heredoc_word(rest: &[u8]) -> (usize, &[u8]) {
    let skip =
        rest.iter().take_while(|byte| matches!(byte, b'-' | b'~' | b' ' | b'\'' | b'"' | b'\\')).count();
    let word = rest.get(skip..).unwrap_or_default();
    let length = word.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    (skip, word.get(..length).unwrap_or_default())
}

/// Whether a marker begins as a name does; `<<3` is a shift.
pub(super) fn begins_name(mark: &[u8]) -> bool {
    mark.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}
