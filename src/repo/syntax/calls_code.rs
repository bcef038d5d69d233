//! Program code and data with string literals to command lines: argument lists (`["terraform", "init"]`) and whole
//! commands in one string. No language is parsed; only literals, brackets and comments are told apart.

use crate::repo::text::Span;

use super::block_comments::{document_end, is_document};
pub(crate) use super::code_style::{Style, is_for_people};
use super::code_style::{barrier, push_expression, split_words};
use super::commands::{Reader, State};
use super::dirs;
use super::flags::{self, Around};
use super::shell::{Dialect, Word, heredoc_body};

/// Brackets deeper than this are not told apart any more.
const MAX_DEPTH: usize = 512;

/// Reads the calls in the literals of `span`.
pub(crate) fn read(reader: &mut Reader<'_>, span: Span, style: Style, around: Around, dir: Option<&str>) {
    let around = if style.data { Around::List } else { around };
    let mut scan = Scan {
        style,
        around,
        at: span.start,
        end: span.end.min(reader.text.bytes().len()),
        frames: vec![Frame::new(0, dir.map(str::to_owned), span.start)],
        block_dir: None,
        heredocs: Vec::new(),
        no_close: [false; 3],
        too_deep: 0,
    };
    scan.run(reader);
}

#[derive(Debug)]
enum Pending {
    Words(Vec<Word>),
    Text(Span, bool),
}

#[derive(Debug)]
struct Frame {
    open: u8,
    /// The name before the bracket.
    name: String,
    words: Vec<Word>,
    pending: Vec<Pending>,
    dir: Option<String>,
    /// Key or argument name of the element being read.
    key: Option<String>,
    element: Option<Word>,
    /// Where the text since the last literal, comma or key begins.
    gap: usize,
}

impl Frame {
    fn new(open: u8, dir: Option<String>, at: usize) -> Self {
        Self {
            open,
            name: String::new(),
            words: Vec::new(),
            pending: Vec::new(),
            dir,
            key: None,
            element: None,
            gap: at,
        }
    }

    /// Whether newlines and semicolons end a statement here.
    fn has_statements(&self) -> bool {
        matches!(self.open, 0 | b'{')
    }
}

struct Scan {
    style: Style,
    around: Around,
    at: usize,
    end: usize,
    frames: Vec<Frame>,
    /// `dir('x')` was just read: the block that follows runs there.
    block_dir: Option<String>,
    heredocs: Vec<String>,
    no_close: [bool; 3],
    too_deep: usize,
}

impl Scan {
    fn run(&mut self, reader: &mut Reader<'_>) {
        let bytes = reader.text.bytes();
        while self.at < self.end {
            let Some(rest) = bytes.get(self.at..self.end) else { break };
            let Some(byte) = rest.first().copied() else { break };
            if self.style.flow && self.is_plain(reader, rest, byte) {
                continue;
            }
            match byte {
                b'#' if self.style.hash => self.comment(reader, rest, b"\n"),
                b'/' if self.style.slashes && rest.starts_with(b"//") => self.comment(reader, rest, b"\n"),
                b'/' if self.style.slashes && rest.starts_with(b"/*") => {
                    let end = reader.budget.find(bytes, self.at + 2, self.end, b"*/").unwrap_or(self.at + 2);
                    reader.comments.push(Span::new(self.at, end));
                    self.at = end;
                }
                b'"' | b'\'' => self.literal(reader, byte),
                b'`' if self.style.backtick => self.literal(reader, byte),
                b'%' if self.style.hash => self.percent(reader, rest),
                b'<' if self.style.hash && rest.starts_with(b"<<") => self.heredoc_mark(rest),
                b'(' | b'[' | b'{' => self.open(bytes, byte),
                b')' | b']' | b'}' => {
                    self.close(reader);
                    if self.style.flow {
                        let at = self.at;
                        self.top().into_iter().for_each(|frame| frame.gap = at);
                    }
                }
                b',' => {
                    self.element(reader);
                    self.at += 1;
                }
                b'=' if self.style.hash && is_document(bytes, self.at) => {
                    match document_end(bytes, self.at, self.end, &mut reader.budget) {
                        Some(end) => {
                            reader.comments.push(Span::new(self.at, end));
                            self.at = end;
                            self.top().into_iter().for_each(|frame| frame.gap = end);
                        }
                        None => self.key(reader, rest),
                    }
                }
                b'=' | b':' => self.key(reader, rest),
                b';' => {
                    self.statement(reader);
                    self.at += 1;
                }
                b'\n' => self.newline(reader),
                _ => self.at += 1,
            }
        }
        self.element(reader);
        while let Some(frame) = self.frames.pop() {
            self.flush(reader, frame);
        }
    }

    fn top(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    fn comment(&mut self, reader: &mut Reader<'_>, rest: &[u8], end: &[u8]) {
        let len = memchr::memmem::find(rest, end).unwrap_or(rest.len());
        reader.comments.push(Span::new(self.at, self.at + len));
        self.at += len;
    }

    /// Passes over what is an ordinary part of a YAML flow style here: in a plain scalar, quotes and most brackets
    /// are; comments are noted.
    fn is_plain(&mut self, reader: &mut Reader<'_>, rest: &[u8], byte: u8) -> bool {
        let bytes = reader.text.bytes();
        let at = self.at;
        let Some(frame) = self.frames.last_mut() else { return false };
        let begun = frame.gap < at;
        let pair = match byte {
            _ if byte.is_ascii_whitespace() => {
                // So that the gap is empty until a scalar begins.
                frame.gap += usize::from(!begun);
                self.at += 1;
                return true;
            }
            b'#' if at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_whitespace) => {
                self.plain(reader);
                self.comment(reader, rest, b"\n");
                let at = self.at;
                self.top().into_iter().for_each(|frame| frame.gap = at);
                return true;
            }
            b':' => {
                let ends = rest.get(1).is_none_or(|next| {
                    next.is_ascii_whitespace() || matches!(next, b',' | b']' | b'}' | b'[' | b'{')
                });
                let quoted = !begun && frame.element.is_some();
                if ends || quoted {
                    return false;
                }
                (0, 0)
            }
            b'{' if begun || rest.starts_with(b"{{") => (b'{', b'}'),
            b'[' if begun => (b'[', b']'),
            b',' | b'{' | b'[' | b'}' | b']' => return false,
            b'"' | b'\'' if !begun => return false,
            _ => (0, 0),
        };
        let after = if pair.0 == 0 { None } else { reader.budget.matching(bytes, at, self.end, pair) };
        self.at = after.unwrap_or(at + 1);
        true
    }

    /// The plain scalar of a YAML flow style that ends here, if one does.
    fn plain(&mut self, reader: &mut Reader<'_>) {
        let at = self.at;
        let Some(frame) = self.frames.last().filter(|frame| self.style.flow && frame.element.is_none())
        else {
            return;
        };
        let text = Span::new(frame.gap, at).of(reader.text.bytes()).trim_ascii_end();
        let content = Span::new(frame.gap, frame.gap + text.len());
        if !content.is_empty() {
            self.text(reader, content, content, true);
            self.at = at;
        }
    }

    /// Where the literal that begins here closes: content span and length of its quote.
    fn bounds(&mut self, reader: &mut Reader<'_>, quote: u8) -> Option<(Span, usize)> {
        let bytes = reader.text.bytes();
        let triple = [quote; 3];
        if self.style.triple && quote != b'`' && bytes.get(self.at..)?.starts_with(&triple) {
            let end = reader.budget.find(bytes, self.at + 3, self.end, &triple)?;
            return Some((Span::new(self.at + 3, end - 3), 3));
        }
        let memo = match quote {
            b'"' => 0,
            b'\'' => 1,
            _ => 2,
        };
        if self.no_close.get(memo) == Some(&true) {
            return None;
        }
        let lines = self.style.multiline || quote == b'`';
        let mut at = self.at + 1;
        while at < self.end {
            match *bytes.get(at)? {
                b'\\' => at += 1,
                b'\n' if !lines => return None,
                byte if byte == quote => return Some((Span::new(self.at + 1, at), 1)),
                _ => {}
            }
            at += 1;
        }
        if let Some(slot) = self.no_close.get_mut(memo) {
            *slot = true;
        }
        None
    }

    fn literal(&mut self, reader: &mut Reader<'_>, quote: u8) {
        let Some((content, quote_len)) = self.bounds(reader, quote) else {
            self.at += 1;
            return;
        };
        let whole = Span::new(self.at, content.end + quote_len);
        self.text(reader, whole, content, quote == b'\'' || self.style.data);
    }

    /// A literal: a whole command line, or one word of a list.
    fn text(&mut self, reader: &mut Reader<'_>, whole: Span, content: Span, plain: bool) {
        let bytes = reader.text.bytes();
        let inside = content.of(bytes);
        let quote_len = content.start - whole.start;
        self.at = whole.end;
        let style = self.style;
        let Some(frame) = self.frames.last_mut() else { return };
        let gap = Span::new(frame.gap, whole.start).of(bytes).trim_ascii();
        let blank = inside.trim_ascii().iter().any(u8::is_ascii_whitespace);
        if blank && !inside.starts_with(b"-") && flags::may_matter(inside) {
            let last_name = gap.rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next();
            let named = String::from_utf8_lossy(last_name.unwrap_or_default());
            let for_people = [frame.key.as_deref(), Some(frame.name.as_str()), Some(&*named)]
                .into_iter()
                .flatten()
                .any(is_for_people);
            let docstring = quote_len == 3 && gap.is_empty() && frame.has_statements() && frame.key.is_none();
            let simple = !inside
                .iter()
                .any(|byte| matches!(byte, b';' | b'&' | b'|' | b'\n' | b'\\' | b'"' | b'\'' | b'`'));
            if for_people || docstring {
                reader.silence(whole);
            } else if frame.open == b'[' && simple && !style.data {
                // `["terraform init", "-backend-config=…"].join(" ")`
                frame.words.extend(split_words(bytes, content));
            } else {
                frame.pending.push(Pending::Text(content, quote_len > 0 && (!plain || style.data)));
            }
            frame.gap = whole.end;
            return;
        }
        let first = frame.element.is_none();
        let mut joined = gap;
        while let Some(last) = joined.last().filter(|_| !first)
            && matches!(last, b'f' | b'r' | b'b' | b'u' | b'+' | b'.' | b'\\' | b'@' | b'$')
        {
            joined = joined.get(..joined.len() - 1).unwrap_or_default().trim_ascii_end();
        }
        let joined = joined.trim_ascii_start().strip_prefix(b"+").unwrap_or(joined).trim_ascii();
        let before =
            if first { gap.strip_suffix(b"+").or_else(|| gap.strip_suffix(b"..")) } else { Some(joined) };
        let gap_start = frame.gap;
        let word = frame.element.get_or_insert_with(|| Word::at(whole.start));
        if let Some(expression) = before.filter(|text| !text.is_empty()) {
            push_expression(word, expression, gap_start);
        }
        let mut at = content.start;
        while at < content.end {
            if bytes.get(at) == Some(&b'\\') && at + 1 < content.end {
                word.escaped = true;
                at += 1;
            }
            word.push(bytes, at, at + 1);
            at += 1;
        }
        if quote_len > 0 {
            word.quotes += 1;
            word.last_quote = Some(whole.start);
            word.quote_len = quote_len;
        }
        word.span.end = whole.end;
        frame.gap = whole.end;
    }

    /// Ruby's `%w[…]`, `%x(…)` and the like.
    fn percent(&mut self, reader: &mut Reader<'_>, rest: &[u8]) {
        let kind = usize::from(matches!(rest.get(1), Some(b'w' | b'W' | b'x' | b'q' | b'Q' | b'i')));
        let pair = match rest.get(1 + kind) {
            Some(b'[') => (b'[', b']'),
            Some(b'(') => (b'(', b')'),
            Some(b'{') => (b'{', b'}'),
            _ => {
                self.at += 1;
                return;
            }
        };
        let open = self.at + 1 + kind;
        match reader.budget.matching(reader.text.bytes(), open, self.end, pair) {
            // `%(…)` is a string where no value stands before it, else a remainder or a format.
            Some(end) if kind == 0 && !self.after_value(reader.text.bytes()) => {
                let content = Span::new(open + 1, end - 1);
                self.text(reader, Span::new(self.at, end), content, false);
                if let Some(word) = self.top().and_then(|frame| frame.element.as_mut()) {
                    word.quote_len = 1;
                }
            }
            Some(end) if kind == 1 => {
                let content = Span::new(open + 1, end - 1);
                if flags::may_matter(content.of(reader.text.bytes()))
                    && let Some(frame) = self.top()
                {
                    frame.pending.push(Pending::Text(content, false));
                }
                self.at = end;
            }
            _ => self.at += 1,
        }
    }

    /// Whether an operand ends just before this byte.
    fn after_value(&self, bytes: &[u8]) -> bool {
        let before = bytes.get(self.at.saturating_sub(64)..self.at).unwrap_or_default().trim_ascii_end();
        before.last().is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'"' | b'\'' | b')' | b']' | b'_')
        })
    }

    fn heredoc_mark(&mut self, rest: &[u8]) {
        let skip = rest.iter().skip(2).take_while(|byte| matches!(byte, b'-' | b'~' | b'\'' | b'"')).count();
        let mark: Vec<u8> = rest
            .iter()
            .skip(2 + skip)
            .copied()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .collect();
        self.at += 2 + skip + mark.len();
        if mark.first().is_some_and(u8::is_ascii_uppercase) {
            if rest.get(1 + skip).is_some_and(|byte| matches!(byte, b'\'' | b'"')) {
                self.at += 1;
            }
            self.heredocs.push(String::from_utf8_lossy(&mark).into_owned());
        }
    }

    fn open(&mut self, bytes: &[u8], byte: u8) {
        let at = self.at;
        self.at += 1;
        if self.frames.len() >= MAX_DEPTH {
            self.too_deep += 1;
            return;
        }
        let dir = self.frames.last().and_then(|frame| frame.dir.clone());
        let mut frame = Frame::new(byte, dir, at + 1);
        if byte == b'{' {
            if let Some(dir) = self.block_dir.take() {
                frame.dir = Some(dir);
            }
        } else {
            let before = bytes.get(at.saturating_sub(64)..at).unwrap_or_default().trim_ascii_end();
            let name = before.rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next();
            frame.name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
        }
        self.frames.push(frame);
    }

    fn close(&mut self, reader: &mut Reader<'_>) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            self.at += 1;
            return;
        }
        self.element(reader);
        self.at += 1;
        if self.frames.len() < 2 {
            return;
        }
        let Some(mut frame) = self.frames.pop() else { return };
        let place = frame.words.first().map(|word| word.text.clone());
        if let (b'(', "dir" | "chdir", Some(dir)) = (frame.open, frame.name.as_str(), place) {
            let joined = dirs::join_dir(frame.dir.as_deref(), &dir);
            if frame.name == "dir" {
                self.block_dir = Some(joined);
            } else if let Some(parent) = self.top() {
                parent.dir = Some(joined); // `os.chdir("x")`: from here on
            }
            return;
        }
        if frame.has_statements() {
            let dir = frame.dir.take();
            let inherited = self.frames.last().and_then(|parent| parent.dir.clone());
            frame.dir.clone_from(&dir);
            let told = dir.filter(|dir| Some(dir) != inherited.as_ref());
            self.flush(reader, frame);
            if let Some(parent) = self.top().filter(|parent| parent.open == b'(') {
                parent.dir = told.or(parent.dir.take()); // `{cwd: "x"}` among the arguments of a call
            }
            return;
        }
        let Some(parent) = self.frames.last_mut() else { return };
        parent.pending.append(&mut frame.pending);
        // `Sprintf("-backend-config=key=%s", key)` among the words of a command is one of them.
        let formats = frame.open == b'(' && frame.name.to_ascii_lowercase().contains("format")
            || frame.name.to_ascii_lowercase().contains("sprintf");
        if formats && !parent.has_statements() && parent.key.is_none() {
            parent.words.extend(frame.words.into_iter().take(1));
            parent.gap = self.at;
            return;
        }
        if parent.key.is_some() && !parent.has_statements() {
            // A list given to a named argument is not part of the words around it.
            parent.pending.push(Pending::Words(frame.words));
        } else if frame.open == b'[' && !parent.has_statements() {
            parent.words.append(&mut frame.words);
        } else {
            parent.pending.push(Pending::Words(frame.words));
            if frame.dir.is_some() && frame.open == b'(' {
                // `cwd="x"` holds for the words and texts of this call alone.
                let pending = std::mem::take(&mut parent.pending);
                let around = self.around;
                run_pending(reader, pending, around, self.style, frame.dir.as_deref());
            }
        }
    }

    /// The element before a comma, a closing bracket or a statement's end is complete.
    fn element(&mut self, reader: &mut Reader<'_>) {
        self.plain(reader);
        let bytes = reader.text.bytes();
        let at = self.at;
        let Some(frame) = self.frames.last_mut() else { return };
        let gap_start = frame.gap;
        let gap = Span::new(gap_start, at).of(bytes).trim_ascii();
        frame.gap = at + 1;
        let key = frame.key.take();
        match frame.element.take() {
            Some(mut word) => {
                if let Some(expression) = gap.strip_prefix(b"+").or_else(|| gap.strip_prefix(b"..")) {
                    push_expression(&mut word, expression.trim_ascii(), gap_start);
                    word.last_quote = None;
                    word.span.end = gap_start + Span::new(gap_start, at).of(bytes).trim_ascii_end().len();
                }
                let word = word.finish();
                if key.as_deref().is_some_and(|key| {
                    matches!(key, "cwd" | "chdir" | "working_dir" | "workdir" | "working-directory")
                }) {
                    frame.dir = Some(dirs::join_dir(None, &word.text));
                } else if key.is_some() && !frame.has_statements() {
                    frame.words.push(barrier(at));
                } else if key.is_some() && self.style.flow {
                    frame.pending.push(Pending::Words(vec![word])); // no command goes on in another key's value
                } else {
                    frame.words.push(word);
                }
            }
            None if key.is_some() && !frame.has_statements() => frame.words.push(barrier(at)),
            // An expression among words: it can be the value of the flag before it.
            None if !gap.is_empty() && gap.len() < 256 && !frame.words.is_empty() && !gap.ends_with(b"]") => {
                let mut word = Word::at(gap_start);
                push_expression(&mut word, gap, gap_start);
                word.span.end = at;
                frame.words.push(word.finish());
            }
            None => {}
        }
    }

    fn key(&mut self, reader: &mut Reader<'_>, rest: &[u8]) {
        self.plain(reader);
        let bytes = reader.text.bytes();
        let operator = rest.iter().take_while(|byte| matches!(byte, b'=' | b':' | b'>')).count().max(1);
        let at = self.at;
        self.at += operator;
        let Some(frame) = self.frames.last_mut() else { return };
        let gap = Span::new(frame.gap, at).of(bytes).trim_ascii();
        let name = match frame.element.take() {
            Some(word) => word.finish().text,
            None => {
                let name = gap.rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next();
                String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
            }
        };
        frame.key = Some(name);
        frame.gap = at + operator;
    }

    fn newline(&mut self, reader: &mut Reader<'_>) {
        let bytes = reader.text.bytes();
        let before = bytes.get(self.at.saturating_sub(64)..self.at).unwrap_or_default().trim_ascii_end();
        // A colon at a line's end opens a block in Python, and awaits a value elsewhere.
        let goes_on = matches!(before.last(), Some(b',' | b'+' | b'\\' | b'=' | b'.'))
            || (before.ends_with(b":") && !self.style.hash);
        if self.frames.last().is_some_and(Frame::has_statements) && !goes_on {
            self.statement(reader);
        }
        self.at += 1;
        for mark in std::mem::take(&mut self.heredocs) {
            if let Some((body, after)) = heredoc_body(bytes, self.at, self.end, &mark, &mut reader.budget) {
                let dir = self.frames.last().and_then(|frame| frame.dir.clone());
                reader.region(body, Dialect::default(), &mut State::new(dir, Around::Code));
                self.at = after;
                if let Some(frame) = self.top() {
                    frame.gap = after;
                }
            }
        }
    }

    fn statement(&mut self, reader: &mut Reader<'_>) {
        if !self.frames.last().is_some_and(Frame::has_statements) {
            return;
        }
        self.element(reader);
        let around = self.around;
        let style = self.style;
        let Some(frame) = self.frames.last_mut() else { return };
        let mut pending = std::mem::take(&mut frame.pending);
        pending.push(Pending::Words(std::mem::take(&mut frame.words)));
        run_pending(reader, pending, around, style, frame.dir.as_deref());
    }

    fn flush(&mut self, reader: &mut Reader<'_>, mut frame: Frame) {
        frame.pending.push(Pending::Words(std::mem::take(&mut frame.words)));
        run_pending(reader, frame.pending, self.around, self.style, frame.dir.as_deref());
    }
}

fn run_pending(
    reader: &mut Reader<'_>,
    pending: Vec<Pending>,
    around: Around,
    style: Style,
    dir: Option<&str>,
) {
    for item in pending {
        match item {
            Pending::Words(words) => reader.list(&words, around, dir),
            Pending::Text(span, literal) => {
                let inner = if style.data { Around::Shell } else { Around::Code };
                let dialect = Dialect { literal, folded: style.flow, ..Dialect::default() };
                reader.region(span, dialect, &mut State::new(dir.map(str::to_owned), inner));
            }
        }
    }
}
