//! A tolerant lexer for HCL bodies: finds attributes and blocks in any bytes, with exact spans.
//!
//! It knows strings with nested templates, heredocs, comments and brackets, and nothing of meaning. It is
//! iterative (100,000 levels cost memory, not stack), passes over a BOM, CRLF and invalid UTF-8, and goes on
//! after an error, so that one bad line does not hide the rest of a file.
//!
//! Sources of the grammar: HCL's native syntax specification, and the scanner of hashicorp/hcl v2
//! (`hclsyntax/scan_tokens.rl`) for where a heredoc ends.

use crate::repo::text::{BOM, Span};

/// What stands at one level of a file: its top, or the inside of one block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// `name = value`, in order.
    pub attributes: Vec<Attribute>,
    /// `keyword "label" … { … }`, in order.
    pub blocks: Vec<Block>,
    /// The first thing that HCL would refuse here. Items around it are kept.
    pub error: Option<LexError>,
}

/// One assignment in a body or an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The name, quotes undone.
    pub name: String,
    /// From the name's first byte to the value's last.
    pub span: Span,
    /// The name (with its quotes, in an object).
    pub name_span: Span,
    /// The value, without white space or comments around it.
    pub value_span: Span,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// `terraform`, `backend`, `resource`, …
    pub keyword: String,
    /// Labels, quoted or not, escapes undone.
    pub labels: Vec<String>,
    /// From the keyword to the closing brace, included.
    pub span: Span,
    /// The keyword alone.
    pub keyword_span: Span,
    /// Between the braces.
    pub body: Span,
}

/// Where HCL would stop, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LexError {
    /// Byte offset in the file.
    pub offset: usize,
    /// For people.
    pub message: String,
}

impl Body {
    /// The blocks with this keyword.
    pub fn blocks_of<'a>(&'a self, keyword: &'a str) -> impl Iterator<Item = &'a Block> + 'a {
        self.blocks.iter().filter(move |block| block.keyword == keyword)
    }

    /// The last attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().rev().find(|attribute| attribute.name == name)
    }

    fn fail(&mut self, offset: usize, message: &str) {
        if self.error.is_none() {
            self.error = Some(LexError { offset, message: message.to_owned() });
        }
    }
}

/// The items of one body. `within` is the whole file, a region of it (a heredoc's text), or a block's `body`.
pub fn body(bytes: &[u8], within: Span) -> Body {
    Lexer::new(bytes, within).body()
}

/// The blocks of one body that begin with one of these keywords. All of it is lexed, and the first error told, as
/// [`body`] does it; attributes and other blocks are not kept.
pub fn blocks(bytes: &[u8], within: Span, keywords: &[&[u8]]) -> Body {
    Lexer::new(bytes, within).items(Some(keywords))
}

/// The items of one object expression; `within` is between its braces.
pub fn object(bytes: &[u8], within: Span) -> Body {
    Lexer::new(bytes, within).object()
}

/// The deepest bracket nesting of a span: parsers that recurse are not given more than they can bear.
pub fn depth(bytes: &[u8], within: Span) -> usize {
    let mut lexer = Lexer::new(bytes, within);
    let mut deepest = 0;
    while lexer.at < lexer.end {
        let before = lexer.at;
        let around = lexer.open.len();
        let quote = lexer.in_code() && lexer.peek(0) == Some(b'"');
        if lexer.step().is_err() || lexer.at == before {
            lexer.at = before + 1;
        }
        // A plain string is passed over in one step.
        let passed = quote && lexer.open.len() == around;
        deepest = deepest.max(lexer.open.len() + usize::from(passed));
    }
    deepest
}

/// Spans of all comments in a region, in order, without their line ending.
pub fn comments(bytes: &[u8], within: Span) -> Vec<Span> {
    let mut lexer = Lexer::new(bytes, within);
    let mut found = Vec::new();
    while lexer.at < lexer.end {
        let before = lexer.at;
        if lexer.in_code()
            && let Some(end) = lexer.comment_end()
        {
            found.push(Span::new(before, end));
            lexer.at = end;
            continue;
        }
        if lexer.step().is_err() || lexer.at == before {
            lexer.at = before + 1;
        }
    }
    found
}

/// A bracket, quote or heredoc that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `(`, `[`, `{` and `${`: closed by this byte.
    Bracket(u8),
    /// Inside a quoted template.
    Quote,
    /// Inside a heredoc with this marker; `fresh` while only white space has been seen on the line.
    Heredoc { marker: Span, fresh: bool },
}

struct Lexer<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
    at: usize,
    open: Vec<Open>,
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'-'
}

/// Bytes that mean something in code.
const IN_CODE: Marks = Marks::of(b"\"#/<()[]{}\n");

/// Bytes that mean something in code between brackets, where lines end without ending anything.
const IN_BRACKETS: Marks = Marks::of(b"\"#/<()[]{}");

/// Bytes that mean something in a quoted string.
const IN_QUOTES: Marks = Marks::of(b"\"\\$%\n");

/// A set of bytes; the inner loops run over all others.
struct Marks([bool; 256]);

impl Marks {
    #[expect(clippy::indexing_slicing, reason = "a byte is less than 256, and this runs in the compiler")]
    const fn of(mut bytes: &[u8]) -> Self {
        let mut set = [false; 256];
        while let [first, rest @ ..] = bytes {
            set[*first as usize] = true;
            bytes = rest;
        }
        Self(set)
    }

    fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(true)
    }

    /// How many bytes come before the first of them.
    fn before(&self, bytes: &[u8]) -> usize {
        let mut before = 0;
        // Several bytes at a time: a branch for each would take longer than looking them all up.
        for eight in bytes.chunks_exact(8) {
            if eight.iter().fold(false, |any, byte| any | self.has(*byte)) {
                break;
            }
            before += 8;
        }
        let rest = bytes.get(before..).unwrap_or_default();
        before + rest.iter().position(|byte| self.has(*byte)).unwrap_or(rest.len())
    }
}

/// What closes a bracket that opens.
fn closer(bracket: u8) -> Option<u8> {
    match bracket {
        b'(' => Some(b')'),
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        _ => None,
    }
}

impl<'a> Lexer<'a> {
    fn new(bytes: &'a [u8], within: Span) -> Self {
        let end = within.end.min(bytes.len());
        let start = within.start.min(end);
        let at = if start == 0 && bytes.starts_with(BOM) { BOM.len().min(end) } else { start };
        Self { bytes, start, end, at, open: Vec::new() }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.bytes.get(at).copied() } else { None }
    }

    fn in_code(&self) -> bool {
        matches!(self.open.last(), None | Some(Open::Bracket(_)))
    }

    fn line_end(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..self.end).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.end, |at| from + at)
    }

    /// Where the comment that begins here ends; `None` when none begins. A line comment ends before its line
    /// ending, CR included.
    fn comment_end(&self) -> Option<usize> {
        match (self.peek(0)?, self.peek(1)) {
            (b'#', _) | (b'/', Some(b'/')) => {
                let end = self.line_end(self.at);
                let cr = end > self.at && self.bytes.get(end - 1) == Some(&b'\r');
                Some(if cr { end - 1 } else { end })
            }
            (b'/', Some(b'*')) => {
                let inside = self.bytes.get(self.at + 2..self.end).unwrap_or_default();
                Some(memchr::memmem::find(inside, b"*/").map_or(self.end, |at| self.at + 2 + at + 2))
            }
            _ => None,
        }
    }

    /// White space without line feeds, and `/* */` comments that stay on the line.
    fn skip_inline(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' if self.peek(1) == Some(b'*') => match self.comment_end() {
                    Some(end) => self.at = end,
                    None => return,
                },
                _ => return,
            }
        }
    }

    /// White space, line feeds and comments of all kinds. Says whether a line feed was among them.
    fn skip_blank(&mut self) -> bool {
        let mut newline = false;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    newline = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'#' | b'/' => match self.comment_end() {
                    Some(end) => self.at = end,
                    None => break,
                },
                _ => break,
            }
        }
        newline
    }

    fn name(&mut self) -> Option<Span> {
        let start = self.at;
        if !is_name_start(self.peek(0)?) {
            return None;
        }
        while self.peek(0).is_some_and(is_name) {
            self.at += 1;
        }
        Some(Span::new(start, self.at))
    }

    /// One step in whatever is open. In code it passes over plain bytes, or over one bracket, quote, comment or
    /// heredoc opener; a line feed is left to the caller only when nothing is open.
    fn step(&mut self) -> Result<(), LexError> {
        match self.open.last().copied() {
            None | Some(Open::Bracket(_)) => self.step_code(),
            Some(Open::Quote) => self.step_quote(),
            Some(Open::Heredoc { marker, fresh }) => {
                self.step_heredoc(marker, fresh);
                Ok(())
            }
        }
    }

    fn error(&self, offset: usize, message: &str) -> LexError {
        LexError { offset, message: message.to_owned() }
    }

    fn step_code(&mut self) -> Result<(), LexError> {
        let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
        let marks = if self.open.is_empty() { &IN_CODE } else { &IN_BRACKETS };
        let plain = marks.before(rest);
        if plain > 0 {
            self.at += plain;
            return Ok(());
        }
        let Some(byte) = self.peek(0) else { return Ok(()) };
        match byte {
            b'\n' => self.at += 1,
            b'"' => {
                let inside = rest.get(1..).unwrap_or_default();
                let length = IN_QUOTES.before(inside);
                self.at += 1;
                // Most strings have nothing in them but text.
                match inside.get(length) {
                    Some(b'"') => self.at += length + 1,
                    _ => self.open.push(Open::Quote),
                }
            }
            b'#' | b'/' => match self.comment_end() {
                Some(end) => self.at = end,
                None => self.at += 1,
            },
            b'<' => self.open_heredoc(),
            bracket => match closer(bracket) {
                Some(closer) => self.push(closer),
                None if self.open.last() == Some(&Open::Bracket(bracket)) => {
                    self.open.pop();
                    self.at += 1;
                }
                None => return Err(self.error(self.at, "this bracket closes nothing that is open")),
            },
        }
        Ok(())
    }

    fn push(&mut self, closer: u8) {
        self.open.push(Open::Bracket(closer));
        self.at += 1;
    }

    /// `<<MARKER` or `<<-MARKER` up to its line feed; anything else after `<` is an operator.
    fn open_heredoc(&mut self) {
        let before = self.at;
        self.at += 1;
        if self.peek(0) != Some(b'<') {
            return;
        }
        self.at += 1;
        if self.peek(0) == Some(b'-') {
            self.at += 1;
        }
        let Some(marker) = self.name() else {
            self.at = before + 2;
            return;
        };
        if self.peek(0) == Some(b'\r') {
            self.at += 1;
        }
        if self.peek(0) == Some(b'\n') {
            self.at += 1;
            self.open.push(Open::Heredoc { marker, fresh: true });
        }
    }

    fn step_quote(&mut self) -> Result<(), LexError> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.at = (self.at + 2).min(self.end),
                b'"' => {
                    self.open.pop();
                    self.at += 1;
                    return Ok(());
                }
                b'$' | b'%' => {
                    if self.open_template(byte) {
                        return Ok(());
                    }
                }
                b'\n' => return Err(self.error(self.at, "a quoted string does not end on its line")),
                _ => self.at += 1,
            }
        }
        Err(self.error(self.end, "a quoted string does not end"))
    }

    /// At `$` or `%`: passes over `$${` (an escape), opens `${`, or passes over the byte. Says whether it opened.
    fn open_template(&mut self, sigil: u8) -> bool {
        match (self.peek(1), self.peek(2)) {
            (Some(next), Some(b'{')) if next == sigil => self.at += 3,
            (Some(b'{'), _) => {
                self.at += 2;
                self.open.push(Open::Bracket(b'}'));
                return true;
            }
            _ => self.at += 1,
        }
        false
    }

    fn step_heredoc(&mut self, marker: Span, fresh: bool) {
        if fresh {
            // The end: a line that is nothing but the marker. Its line feed is not part of the heredoc.
            let end = self.line_end(self.at);
            let line = self.bytes.get(self.at..end).unwrap_or_default();
            if line.trim_ascii() == marker.of(self.bytes) {
                let lead = line.len() - line.trim_ascii_start().len();
                self.at += lead + marker.len();
                self.open.pop();
                return;
            }
        }
        loop {
            let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
            self.at += memchr::memchr3(b'\n', b'$', b'%', rest).unwrap_or(rest.len());
            let Some(byte) = self.peek(0) else { return };
            if byte == b'\n' {
                self.at += 1;
                self.set_fresh(true);
                return;
            }
            self.set_fresh(false);
            if self.open_template(byte) {
                return;
            }
        }
    }

    fn set_fresh(&mut self, to: bool) {
        if let Some(Open::Heredoc { fresh, .. }) = self.open.last_mut() {
            *fresh = to;
        }
    }

    /// From an opening brace here to just behind its partner.
    fn skip_braces(&mut self) -> Result<Span, LexError> {
        let opened = self.at;
        self.push(b'}');
        while !self.open.is_empty() {
            if self.at >= self.end {
                self.open.clear();
                return Err(self.error(opened, "this block is never closed"));
            }
            if let Err(error) = self.step() {
                self.open.clear();
                return Err(error);
            }
            self.pass_plain();
        }
        Ok(Span::new(opened + 1, self.at - 1))
    }

    /// Between brackets: over all bytes that mean nothing, strings that hold nothing but text, and brackets that match.
    /// Nearly all of what a block that nobody asks for consists of. What is left is for [`Lexer::step`].
    fn pass_plain(&mut self) {
        if !matches!(self.open.last(), Some(Open::Bracket(_))) {
            return;
        }
        let bytes = self.bytes.get(..self.end).unwrap_or_default();
        let mut at = self.at;
        while let Some(byte) = bytes.get(at) {
            if !IN_BRACKETS.has(*byte) {
                at += 1;
                continue;
            }
            if *byte == b'"' {
                let mut end = at + 1;
                while bytes.get(end).is_some_and(|byte| !IN_QUOTES.has(*byte)) {
                    end += 1;
                }
                if bytes.get(end) != Some(&b'"') {
                    break;
                }
                at = end + 1;
            } else if let Some(closer) = closer(*byte) {
                self.open.push(Open::Bracket(closer));
                at += 1;
            } else if self.open.last() == Some(&Open::Bracket(*byte)) {
                self.open.pop();
                at += 1;
                if !matches!(self.open.last(), Some(Open::Bracket(_))) {
                    break;
                }
            } else {
                break;
            }
        }
        self.at = at;
    }

    /// A value: up to a line feed, a comment, the end, or (in an object) a comma, with nothing open.
    fn value(&mut self, stop_at_comma: bool) -> Result<Span, LexError> {
        self.skip_inline();
        let start = self.at;
        let mut end = start;
        loop {
            if self.open.is_empty() {
                match self.peek(0) {
                    None | Some(b'\n') => break,
                    Some(b',') if stop_at_comma => break,
                    Some(b' ' | b'\t' | b'\r') => {
                        self.at += 1;
                        continue;
                    }
                    Some(b'#' | b'/') => {
                        if let Some(comment) = self.comment_end() {
                            if self.peek(0) == Some(b'#') || self.peek(1) == Some(b'/') {
                                break;
                            }
                            self.at = comment;
                            continue;
                        }
                        self.at += 1;
                    }
                    Some(byte) if !IN_CODE.has(byte) => self.at += 1,
                    Some(_) => self.step_or_reset()?,
                }
                end = self.at;
            } else if self.at >= self.end {
                self.open.clear();
                return Err(self.error(start, "this value does not end"));
            } else {
                self.step_or_reset()?;
                self.pass_plain();
                end = self.at;
            }
        }
        Ok(Span::new(start, end))
    }

    fn step_or_reset(&mut self) -> Result<(), LexError> {
        let result = self.step();
        if result.is_err() {
            self.open.clear();
        }
        result
    }

    /// After an error: to the end of the line that it is on.
    fn recover(&mut self, from: usize) {
        self.open.clear();
        self.at = self.line_end(from.max(self.at).min(self.end));
    }

    fn body(self) -> Body {
        self.items(None)
    }

    /// All items, or only the blocks with these keywords.
    fn items(mut self, keywords: Option<&[&[u8]]>) -> Body {
        let mut found = Body::default();
        // HCL takes exactly one argument, and no block, in a block that is written on one line.
        let mut on_opening_line = self.start > 0 && self.bytes.get(self.start - 1) == Some(&b'{');
        let in_block = on_opening_line && self.bytes.get(self.end) == Some(&b'}');
        let mut goes_on = false;
        loop {
            let newline = self.skip_blank();
            if newline {
                on_opening_line = false;
            }
            let start = self.at;
            if start >= self.end {
                // Where a block has lines, its last item ends with one, too.
                if in_block && goes_on && !newline {
                    found.fail(start, "the block's `}` must stand on a line of its own");
                }
                return found;
            }
            goes_on = !on_opening_line;
            let Some(name_span) = self.name() else {
                found.fail(start, "expected an argument or a block");
                self.recover(start + 1);
                continue;
            };
            self.skip_inline();
            if self.peek(0) == Some(b'=') && self.peek(1) != Some(b'=') {
                self.at += 1;
                match self.value(false) {
                    Ok(value_span) => {
                        if value_span.is_empty() {
                            found.fail(value_span.start, "expected a value");
                        }
                        if keywords.is_none() {
                            found.attributes.push(Attribute {
                                name: String::from_utf8_lossy(name_span.of(self.bytes)).into_owned(),
                                span: Span::new(start, value_span.end),
                                name_span,
                                value_span,
                            });
                        }
                        if on_opening_line && self.peek(0) == Some(b'\n') {
                            found.fail(start, "the first argument must stand on a line of its own");
                        }
                    }
                    Err(error) => {
                        self.recover(start);
                        found.fail(error.offset, &error.message);
                    }
                }
                continue;
            }
            let wanted = keywords.is_none_or(|keywords| keywords.contains(&name_span.of(self.bytes)));
            let mut labels = Vec::new();
            self.labels(|quoted| labels.extend(wanted.then(|| unquote(quoted))));
            if self.peek(0) != Some(b'{') {
                found.fail(self.at, "expected `=` or a block's `{`");
                self.recover(start);
                continue;
            }
            match self.skip_braces() {
                Ok(body) => {
                    if on_opening_line {
                        found.fail(start, "a block can't stand inside a block written on one line");
                    }
                    if wanted {
                        found.blocks.push(Block {
                            keyword: String::from_utf8_lossy(name_span.of(self.bytes)).into_owned(),
                            labels,
                            span: Span::new(start, self.at),
                            keyword_span: name_span,
                            body,
                        });
                    }
                    self.skip_inline();
                    if !matches!(self.peek(0), None | Some(b'\n' | b'#' | b'/')) {
                        found.fail(self.at, "expected a new line after the block");
                    }
                }
                Err(error) => {
                    self.recover(start);
                    found.fail(error.offset, &error.message);
                }
            }
        }
    }

    /// The labels of a block, quoted or not.
    fn labels(&mut self, mut label: impl FnMut(&[u8])) {
        loop {
            self.skip_inline();
            let start = self.at;
            if self.peek(0) == Some(b'"') {
                self.open.push(Open::Quote);
                self.at += 1;
                while !self.open.is_empty() && self.at < self.end {
                    if self.step_or_reset().is_err() {
                        return;
                    }
                }
                label(Span::new(start, self.at).of(self.bytes));
            } else if let Some(span) = self.name() {
                label(span.of(self.bytes));
            } else {
                return;
            }
        }
    }

    fn object(mut self) -> Body {
        let mut found = Body::default();
        loop {
            self.skip_blank();
            if self.peek(0) == Some(b',') {
                self.at += 1;
                continue;
            }
            let start = self.at;
            if start >= self.end {
                return found;
            }
            let Some((name, name_span)) = self.object_key() else {
                found.fail(start, "expected a key");
                self.recover(start + 1);
                continue;
            };
            self.skip_inline();
            if !matches!(self.peek(0), Some(b'=' | b':')) {
                found.fail(self.at, "expected `=` or `:` after the key");
                self.recover(start);
                continue;
            }
            self.at += 1;
            match self.value(true) {
                Ok(value_span) => found.attributes.push(Attribute {
                    name,
                    span: Span::new(start, value_span.end),
                    name_span,
                    value_span,
                }),
                Err(error) => {
                    self.recover(start);
                    found.fail(error.offset, &error.message);
                }
            }
        }
    }

    fn object_key(&mut self) -> Option<(String, Span)> {
        let start = self.at;
        match self.peek(0)? {
            b'"' | b'(' => {
                loop {
                    if self.at >= self.end || self.step_or_reset().is_err() {
                        self.open.clear();
                        return None;
                    }
                    if self.open.is_empty() {
                        break;
                    }
                }
                let span = Span::new(start, self.at);
                Some((unquote(span.of(self.bytes)), span))
            }
            b'0'..=b'9' => {
                while self.peek(0).is_some_and(is_name) {
                    self.at += 1;
                }
                let span = Span::new(start, self.at);
                Some((String::from_utf8_lossy(span.of(self.bytes)).into_owned(), span))
            }
            _ => self.name().map(|span| (String::from_utf8_lossy(span.of(self.bytes)).into_owned(), span)),
        }
    }
}

/// The text of a quoted string without templates: quotes and escapes undone. Text that is not quoted comes back
/// as it is. Source: HCL's specification, "Template Literals" (`\n \r \t \" \\ \uNNNN \UNNNNNNNN`, `$${`, `%%{`).
pub fn unquote(quoted: &[u8]) -> String {
    let text = String::from_utf8_lossy(quoted);
    let Some(inner) = text.strip_prefix('"').map(|rest| rest.strip_suffix('"').unwrap_or(rest)) else {
        return text.into_owned();
    };
    if !inner.contains(['\\', '$', '%']) {
        return inner.to_owned();
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '\\' => unescape(rest, &mut out),
            '$' if rest.starts_with("$${") => {
                out.push_str("${");
                3
            }
            '%' if rest.starts_with("%%{") => {
                out.push_str("%{");
                3
            }
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        rest = rest.get(skip..).unwrap_or_default();
    }
    out
}

/// One escape at the start of `rest`; says how many bytes it took. What is no escape stays as it is.
fn unescape(rest: &str, out: &mut String) -> usize {
    let digits = match rest.as_bytes().get(1) {
        Some(b'n') => return push(out, '\n'),
        Some(b'r') => return push(out, '\r'),
        Some(b't') => return push(out, '\t'),
        Some(b'"') => return push(out, '"'),
        Some(b'\\') => return push(out, '\\'),
        Some(b'u') => 4,
        Some(b'U') => 8,
        _ => {
            out.push('\\');
            return 1;
        }
    };
    let code = rest.get(2..2 + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    match code.and_then(char::from_u32) {
        Some(character) => {
            out.push(character);
            2 + digits
        }
        None => {
            out.push('\\');
            1
        }
    }
}

fn push(out: &mut String, character: char) -> usize {
    out.push(character);
    2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Body {
        body(text.as_bytes(), Span::new(0, text.len()))
    }

    fn values<'a>(text: &'a str, body: &Body) -> Vec<(String, &'a str)> {
        body.attributes
            .iter()
            .map(|a| (a.name.clone(), &text[a.value_span.start..a.value_span.end]))
            .collect()
    }

    #[test]
    fn finds_blocks_with_quoted_unquoted_and_escaped_labels() {
        for header in
            [r#"backend "s3" {"#, "backend s3 {", r#"backend "\u0073\u0033"{"#, "backend /* x */ \"s3\" {"]
        {
            let text = format!("terraform {{\n  {header}\n    key = \"k\"\n  }}\n}}\n");
            let top = all(&text);
            assert_eq!(top.error, None, "{header}");
            let inner = body(text.as_bytes(), top.blocks[0].body);
            assert_eq!(inner.error, None, "{header}");
            assert_eq!(inner.blocks[0].keyword, "backend");
            assert_eq!(inner.blocks[0].labels, ["s3"], "{header}");
            let settings = body(text.as_bytes(), inner.blocks[0].body);
            assert_eq!(values(&text, &settings), [("key".to_owned(), "\"k\"")]);
        }
    }

    #[test]
    fn values_end_before_comments_and_include_heredocs() {
        let text = "a = 1 # c\nb = \"x # ${y[\"}\"]} //\" // c\nc = <<-E\n  }\n  E\"\n  ${\n\"E\"}\n  E\nd = [\n 1, # ]\n]\ne = 1 /* c */\n";
        let found = all(text);
        assert_eq!(found.error, None);
        assert_eq!(
            values(text, &found),
            [
                ("a".to_owned(), "1"),
                ("b".to_owned(), "\"x # ${y[\"}\"]} //\""),
                ("c".to_owned(), "<<-E\n  }\n  E\"\n  ${\n\"E\"}\n  E"),
                ("d".to_owned(), "[\n 1, # ]\n]"),
                ("e".to_owned(), "1"),
            ]
        );
    }

    #[test]
    fn commented_out_blocks_are_not_blocks() {
        let found = all("# terraform {\n/* backend \"s3\" {\n} */\n// a = 1\n");
        assert_eq!(found, Body::default());
    }

    #[test]
    fn goes_on_after_an_error_and_says_where_it_was() {
        let found = all("{{ jinja }}\na = 1\n}\nterraform {\n}\n");
        assert_eq!(found.error.map(|e| e.offset), Some(0));
        assert_eq!(found.attributes.len(), 1);
        assert_eq!(found.blocks.len(), 1);
    }

    #[test]
    fn refuses_what_terraform_refuses_on_one_line() {
        let text = "terraform { backend \"s3\" {} }";
        let top = all(text);
        let inner = body(text.as_bytes(), top.blocks[0].body);
        assert_eq!(inner.error.map(|e| e.offset), Some(12));
        assert_eq!(inner.blocks.len(), 1, "it is found all the same");
        let fine = "backend \"s3\" { key = \"x\" }";
        assert_eq!(body(fine.as_bytes(), all(fine).blocks[0].body).error, None);
    }

    /// Seen with Terraform 1.11.4: "Missing newline after argument", "Missing newline after block definition".
    #[test]
    fn the_last_item_of_a_block_with_lines_ends_its_line() {
        let error = |text: &str| {
            let top = all(text);
            assert_eq!(top.error, None, "{text}");
            body(text.as_bytes(), top.blocks[0].body).error.map(|e| e.offset)
        };
        for text in [
            "a {\n  b = 1\n  c = 2 }\n",
            "a {\n  b = 1 }\n",
            "a {\r\n  b {} }\r\n",
            "a {\n  b = 1 /* c\n */ }\n",
            "a {\n  b = {\n    c = 1\n  } }\n",
        ] {
            assert_eq!(error(text), text.rfind('}'), "{text}");
        }
        for text in [
            "a { b = 1 }\n",
            "a { b = {\n  c = 1\n} }\n",
            "a {}\n",
            "a {\n}\n",
            "a {\n  b = 1\n}",
            "a {\n  b = { c = 1 }\n  d = {\n    e = 1 }\n}\n",
            "a {\n  b = 1 # }\n}\n",
            "a {\n  b = <<E\nx\nE\n}\n",
            "a {\n  b = 1\n  # c\n  /* d */ }\n",
        ] {
            assert_eq!(error(text), None, "{text}");
        }
        assert_eq!(all("a = 1").error, None);
    }

    #[test]
    fn bom_crlf_and_latin1_are_passed_over() {
        let bytes = b"\xEF\xBB\xBF# caf\xE9\r\na = \"b\"\r\nc {\r\n}\r\n";
        let found = body(bytes, Span::new(0, bytes.len()));
        assert_eq!(found.error, None);
        assert_eq!(found.attributes[0].value_span.of(bytes), b"\"b\"");
        assert_eq!(found.blocks[0].keyword, "c");
    }

    #[test]
    fn object_items_take_both_signs_commas_and_quoted_keys() {
        let text = "{ a = 1, \"b\": \"x,y\"\n  c = { d = 2 } # c\n (e) = 3,}";
        let found = object(text.as_bytes(), Span::new(1, text.len() - 1));
        assert_eq!(found.error, None);
        assert_eq!(
            values(text, &found),
            [
                ("a".to_owned(), "1"),
                ("b".to_owned(), "\"x,y\""),
                ("c".to_owned(), "{ d = 2 }"),
                ("(e)".to_owned(), "3")
            ]
        );
    }

    #[test]
    fn a_hundred_thousand_levels_cost_no_stack() {
        let deep = format!("a = {}1{}\nb = 2\n", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(all(&deep).attributes.len(), 2);
        assert_eq!(depth(deep.as_bytes(), Span::new(0, deep.len())), 100_000);
        let quoted = "a = [f(\"x\"), \"${g(\"y\")}\"]\n# ((((";
        assert_eq!(depth(quoted.as_bytes(), Span::new(0, quoted.len())), 5);
        let open = "a {".repeat(100_000);
        assert!(all(&open).error.is_some());
    }

    #[test]
    fn strings_in_brackets_end_where_they_end() {
        for (inside, sound) in [
            ("x = \"}\"\n y = \"a\\\"}\"", true),
            ("x = \"${f(\"}\")}}\" # }", true),
            ("x = \"%{ if a }}%{ endif }\"", true),
            ("x = <<E\n}\" ${\"}\"}\nE\n", true),
            ("x = \"never closed\n", false),
        ] {
            let text = format!("a {{\n {inside}\n}}\nb = 1\n");
            let found = all(&text);
            assert_eq!(found.error.is_none(), sound, "{text}");
            assert_eq!(found.blocks.len(), usize::from(sound), "{text}");
            assert!(found.attribute("b").is_some(), "{text}");
        }
    }

    #[test]
    fn unquote_undoes_escapes() {
        assert_eq!(unquote(br#""a\"\\\n\u0073$${x}\q""#), "a\"\\\ns${x}\\q");
        assert_eq!(unquote(b"plain"), "plain");
        assert_eq!(unquote(br#""\U0001F512""#), "\u{1F512}");
    }

    #[test]
    fn comments_are_told_from_strings() {
        let text = "a = \"# no\" # yes\r\n/* and\nthis */ b = <<E\n# no\nE\n// last";
        let found: Vec<&str> = comments(text.as_bytes(), Span::new(0, text.len()))
            .into_iter()
            .map(|s| &text[s.start..s.end])
            .collect();
        assert_eq!(found, ["# yes", "/* and\nthis */", "// last"]);
    }

    proptest! {
        #[test]
        fn wanted_blocks_are_those_of_the_whole_body(
            text in r#"(terraform|data|x|a = |[ \n="{}\[\]#,]|"l"|\{\n|\n\}\n|\$\{){0,40}"#
        ) {
            let whole = Span::new(0, text.len());
            let all = body(text.as_bytes(), whole);
            let wanted = blocks(text.as_bytes(), whole, &[b"terraform", b"data"]);
            let of_all: Vec<Block> =
                all.blocks.into_iter().filter(|b| b.keyword == "terraform" || b.keyword == "data").collect();
            prop_assert_eq!(wanted, Body { attributes: Vec::new(), blocks: of_all, error: all.error });
        }

        #[test]
        fn any_bytes_give_spans_inside_the_text(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let whole = Span::new(0, bytes.len());
            for found in [body(&bytes, whole), object(&bytes, whole)] {
                for a in &found.attributes {
                    prop_assert!(whole.contains(a.span) && a.span.contains(a.value_span));
                }
                for b in &found.blocks {
                    prop_assert!(whole.contains(b.span) && b.span.contains(b.body));
                }
            }
            depth(&bytes, whole);
            comments(&bytes, whole);
        }

        #[test]
        fn any_hcl_like_text_gives_spans_inside_the_text(
            text in r#"([a-c]|[ \n\r="{}\[\]#/*<$%-]|<<E\n|\nE\n|\$\{|"){0,120}"#
        ) {
            let whole = Span::new(0, text.len());
            let found = body(text.as_bytes(), whole);
            for b in &found.blocks {
                prop_assert!(whole.contains(b.span) && b.span.contains(b.body));
                body(text.as_bytes(), b.body);
            }
        }
    }
}
