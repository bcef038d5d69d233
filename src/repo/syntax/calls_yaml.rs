//! YAML to command lines: block, plain and quoted scalars of CI files, with the working directory of their step.
//! Tolerant and by lines: templates and half-written files are read, too. Anchors and merges are not followed.

use std::collections::HashMap;

use crate::repo::text::Span;

use super::calls_code::{self, Style, is_for_people};
use super::commands::{Reader, State};
use super::dirs;
use super::flags::{self, Around};
use super::shell::{self, Budget, Dialect, Token, Word};

/// One level of indentation.
#[derive(Debug)]
struct Level {
    indent: usize,
    is_item: bool,
    scope: usize,
    key: String,
}

/// A scalar that holds a command line.
#[derive(Debug)]
struct Script {
    span: Span,
    dialect: Dialect,
    /// A flow list or map instead of shell text.
    flow: bool,
    scope: usize,
    /// Items of one list run in one shell, one after the other.
    list: Option<usize>,
    is_item: bool,
    /// Values of `-backend-config` alone, as inputs of an action that makes the command itself.
    inputs: bool,
}

/// Reads every call of a YAML file.
pub(crate) fn read(reader: &mut Reader<'_>) {
    let mut scan = Scan { levels: Vec::new(), parents: vec![0], dirs: HashMap::new(), scripts: Vec::new() };
    scan.lines(reader);
    let Scan { parents, dirs, scripts, .. } = scan;
    let mut shells: HashMap<usize, Option<String>> = HashMap::new();
    for script in scripts {
        let told = ancestors(&parents, script.scope).find_map(|scope| dirs.get(&scope).cloned());
        let carried = script.list.and_then(|list| {
            ancestors(&parents, list).find_map(|scope| shells.get(&scope).cloned().flatten())
        });
        let dir = carried.or(told);
        if script.flow {
            calls_code::read(reader, script.span, Style::FLOW, Around::List, dir.as_deref());
            continue;
        }
        if script.inputs {
            let words = input_words(reader, script.span);
            reader.list(&words, Around::YamlItem, dir.as_deref());
            continue;
        }
        let content = script.span.of(reader.text.bytes());
        let alone = script.is_item && content.starts_with(b"-") && flags::may_matter(content);
        let mut state = State::new(dir, if alone { Around::YamlItem } else { Around::Shell });
        reader.region(script.span, script.dialect, &mut state);
        if let Some(list) = script.list {
            shells.insert(list, state.dir);
        }
    }
}

/// One flag for each value of an action's `backend_config` or `backend_config_file` input.
fn input_words(reader: &mut Reader<'_>, span: Span) -> Vec<Word> {
    let dialect = Dialect { folded: true, ..Dialect::default() };
    let bytes = reader.text.bytes();
    let tokens = shell::tokenize(bytes, span, dialect, &mut reader.budget, &mut reader.comments);
    let mut words = Vec::new();
    for token in tokens {
        let Token::Word(value) = token else { continue };
        let mut word = Word::at(value.span.start);
        word.push_as(b"-backend-config=", value.span.start);
        let end = value.span.end - usize::from(value.text.ends_with(','));
        word.push(bytes, value.span.start, end);
        word.span.end = end;
        words.push(word.finish());
    }
    words
}

/// A scope and those around it, innermost first.
fn ancestors(parents: &[usize], scope: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(scope), |scope| parents.get(*scope).copied().filter(|parent| parent != scope))
        .take(64)
}

struct Scan {
    levels: Vec<Level>,
    /// For each scope, the one around it; the first is the whole file.
    parents: Vec<usize>,
    dirs: HashMap<usize, String>,
    scripts: Vec<Script>,
}

impl Scan {
    fn lines(&mut self, reader: &mut Reader<'_>) {
        let bytes = reader.text.bytes();
        let mut at = 0;
        while at < bytes.len() {
            let line = reader.text.line_span(at);
            at = line.end;
            let content = line.of(bytes);
            let indent = content.iter().take_while(|byte| **byte == b' ').count();
            let trimmed = content.trim_ascii();
            if trimmed.is_empty() || trimmed == b"---" {
                continue;
            }
            if trimmed.starts_with(b"#") {
                reader.comments.push(line);
                continue;
            }
            at = self
                .line(
                    reader,
                    Span::new(line.start + indent, line.start + content.trim_ascii_end().len()),
                    line,
                )
                .max(line.end);
        }
    }

    fn scope(&self) -> usize {
        self.levels.last().map_or(0, |level| level.scope)
    }

    fn push(&mut self, indent: usize, is_item: bool, key: String) {
        let scope = self.parents.len();
        self.parents.push(self.scope());
        self.levels.push(Level { indent, is_item, scope, key });
    }

    /// One line from its first character; returns where reading goes on.
    fn line(&mut self, reader: &mut Reader<'_>, span: Span, line: Span) -> usize {
        let bytes = reader.text.bytes();
        let mut at = span.start;
        let mut item = false;
        // `- - x`: each dash opens an item.
        while Span::new(at, span.end).of(bytes).starts_with(b"-")
            && bytes.get(at + 1).is_none_or(|byte| byte.is_ascii_whitespace())
            && self.levels.len() < 256
        {
            let indent = at - line.start;
            while self
                .levels
                .last()
                .is_some_and(|level| level.indent > indent || (level.indent == indent && level.is_item))
            {
                self.levels.pop();
            }
            self.push(indent, true, String::new());
            item = true;
            let rest = Span::new(at + 1, span.end).of(bytes);
            at += 1 + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        }
        if at >= span.end {
            return line.end;
        }
        let indent = at - line.start;
        let Some((key, value)) = key_of(Span::new(at, span.end), bytes) else {
            let rest = Span::new(at, span.end);
            let outer = self.levels.last().map_or(0, |level| level.indent);
            if item {
                return self.value(reader, rest, line, outer, true, "");
            }
            // A key's value may begin on the next line, and a whole file may be a map in flow style.
            let text = rest.of(bytes);
            let key = self.levels.last().filter(|level| level.indent < indent).map(|level| level.key.clone());
            let flow = text.starts_with(b"[") || (text.starts_with(b"{") && !is_template(text));
            let command = key.is_some() && flags::may_matter(text) && !is_template(text);
            if flow || command {
                return self.value(reader, rest, line, outer, false, &key.unwrap_or_default());
            }
            return line.end;
        };
        while self.levels.last().is_some_and(|level| level.indent >= indent) {
            self.levels.pop();
        }
        let is_input = self.levels.last().is_some_and(|level| level.key == "with");
        let names_dir = matches!(
            key.as_str(),
            "working-directory" | "workingDirectory" | "working_directory" | "dir" | "TF_ROOT" | "cwd"
        );
        if names_dir || (is_input && key == "path") {
            let dir = scalar(value.of(bytes));
            let scope = self.dir_scope(&key);
            if !dir.is_empty() {
                self.dirs.insert(scope, dirs::join_dir(None, &dir));
            }
            return line.end;
        }
        self.push(indent, false, key.clone());
        self.value(reader, value, line, indent, false, &key)
    }

    /// `defaults: run: working-directory:` holds for what is around `defaults`; a variable for what is around
    /// `variables`.
    fn dir_scope(&self, key: &str) -> usize {
        let keys: Vec<(&str, usize)> =
            self.levels.iter().rev().map(|level| (level.key.as_str(), level.scope)).collect();
        let around = |scope: usize| self.parents.get(scope).copied().unwrap_or(0);
        match keys.as_slice() {
            [("run", _), ("defaults", scope), ..] => around(*scope),
            [("variables" | "env", scope), ..] if key == "TF_ROOT" => around(*scope),
            [("inputs" | "with", scope), ..] => around(*scope),
            _ => self.scope(),
        }
    }

    /// The value behind a key or a dash.
    fn value(
        &mut self,
        reader: &mut Reader<'_>,
        value: Span,
        line: Span,
        outer: usize,
        is_item: bool,
        key: &str,
    ) -> usize {
        let bytes = reader.text.bytes();
        let mut start = value.start;
        // Anchors and tags.
        while matches!(bytes.get(start), Some(b'&' | b'!')) && start < value.end {
            let rest = Span::new(start, value.end).of(bytes);
            let name = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            let blank = rest.iter().skip(name).take_while(|byte| byte.is_ascii_whitespace()).count();
            start += name + blank;
        }
        let text = Span::new(start, value.end).of(bytes);
        let Some(first) = text.first().copied() else { return line.end };
        if first == b'#' {
            reader.comments.push(Span::new(start, line.end));
            return line.end;
        }
        let mut dialect = Dialect::default();
        let (span, flow, end) = match first {
            b'|' | b'>' => {
                let end = block_end(bytes, line.end, outer);
                dialect.folded = first == b'>';
                (Span::new(line.end, end), false, end)
            }
            b'"' | b'\'' => match quoted_end(bytes, start, &mut reader.budget) {
                Some(close) => {
                    dialect.folded = true;
                    dialect.literal = first == b'"';
                    (Span::new(start + 1, close), false, reader.text.line_span(close).end)
                }
                None => return line.end,
            },
            b'[' | b'{' if !text.starts_with(b"{{") => {
                let pair = if first == b'[' { (b'[', b']') } else { (b'{', b'}') };
                let Some(end) = reader.budget.matching(bytes, start, bytes.len(), pair) else {
                    return line.end;
                };
                (Span::new(start, end), true, reader.text.line_span(end.saturating_sub(1)).end)
            }
            b'*' => return line.end,
            _ => {
                let end = block_end(bytes, line.end, outer);
                // A plain scalar goes on over deeper lines, save where those are a mapping or a list of their own.
                let deeper = Span::new(line.end, end);
                let goes_on = deeper.of(bytes).trim_ascii();
                let own = goes_on.starts_with(b"#") || goes_on.starts_with(b"- ");
                let end = if own || goes_on.is_empty() { line.end } else { end };
                dialect.folded = true;
                (Span::new(start, end), false, end)
            }
        };
        if is_for_people(key) {
            reader.silence(span);
            return end;
        }
        if key == "powershell" || key == "pwsh" {
            dialect.powershell = true;
        }
        let list = if is_item { self.shared_shell() } else { None };
        let scope = self.scope();
        let inputs = matches!(key, "backend_config" | "backend_config_file");
        self.scripts.push(Script { span, dialect, flow, scope, list, is_item, inputs });
        end
    }

    /// The scope in which the items of this list share a shell: what is around the list's own key.
    fn shared_shell(&self) -> Option<usize> {
        let mut levels = self.levels.iter().rev().skip_while(|level| level.is_item);
        let list = levels.next()?;
        self.parents.get(list.scope).copied()
    }
}

/// Whether a line is one of a template language.
fn is_template(line: &[u8]) -> bool {
    [&b"{{"[..], b"{%", b"{#", b"<%"].iter().any(|mark| line.starts_with(mark))
}

/// Key and value of `key: value`, `"key": value`. As in YAML, the first `: ` outside quotes decides, and nothing
/// behind a `#` that follows a blank does: the line's comment begins there, inside quotes or not.
fn key_of(span: Span, bytes: &[u8]) -> Option<(String, Span)> {
    let text = span.of(bytes);
    let first = *text.first()?;
    let colon = if matches!(first, b'"' | b'\'') {
        let close = memchr::memchr(first, text.get(1..)?)? + 2;
        let rest = text.get(close..)?;
        let blank = rest.iter().take_while(|byte| **byte == b' ').count();
        (rest.get(blank) == Some(&b':')).then_some(close + blank)?
    } else {
        if matches!(first, b'[' | b'{' | b'|' | b'>' | b'&' | b'*' | b'!' | b'-') {
            return None;
        }
        let mut quote = None;
        let mut found = None;
        for (at, byte) in text.iter().enumerate() {
            match (quote, *byte) {
                (_, b'#') if at > 0 && text.get(at - 1).is_some_and(|b| matches!(b, b' ' | b'\t')) => break,
                (Some(open), byte) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'')
                    if at > 0 && text.get(at - 1).is_some_and(|b| matches!(b, b' ' | b'=')) =>
                {
                    quote = Some(*byte);
                }
                (None, b':') if text.get(at + 1).is_none_or(|next| matches!(next, b' ' | b'\t')) => {
                    found = Some(at);
                    break;
                }
                _ => {}
            }
        }
        found?
    };
    let name = String::from_utf8_lossy(text.get(..colon)?).trim().trim_matches(['"', '\'']).to_owned();
    let rest = text.get(colon + 1..)?;
    let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    Some((name, Span::new(span.start + colon + 1 + blank, span.end)))
}

/// Where the lines end that are indented deeper than `outer`; blank lines between them belong to them.
pub(crate) fn block_end(bytes: &[u8], from: usize, outer: usize) -> usize {
    let mut end = from;
    let mut at = from;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let len = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let line = rest.get(..len).unwrap_or_default();
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        at += len;
        if line.trim_ascii().is_empty() {
            continue;
        }
        if indent <= outer {
            break;
        }
        end = at;
    }
    end
}

/// Where a quoted scalar closes; it may go on over some lines.
fn quoted_end(bytes: &[u8], open: usize, budget: &mut Budget) -> Option<usize> {
    let quote = *bytes.get(open)?;
    let mut at = open + 1;
    // Longer ones are a lone quote in something that is not YAML.
    let limit = bytes.len().min(open + 16 * 1024);
    while at < limit {
        let byte = *bytes.get(at)?;
        if !budget.spend(1) {
            return None;
        }
        if byte == b'\\' && quote == b'"' {
            at += 1;
        } else if byte == quote {
            if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') {
                at += 1;
            } else {
                return Some(at);
            }
        }
        at += 1;
    }
    None
}

/// A one-line scalar without quotes and comment.
fn scalar(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split(quote).next().unwrap_or_default().to_owned();
        }
    }
    text.split(" #").next().unwrap_or_default().trim().to_owned()
}
