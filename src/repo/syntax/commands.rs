//! How command lines follow each other: `cd` and `popd`, subshells, heredocs, quotes inside quotes. What the readers of all
//! languages share: each hands over the text that holds shell, and takes what it does not read for itself.

use super::dirs;
use super::flags::{self, Around, Where};
use super::locate::Locator;
use super::shell::{self, Budget, Dialect, Token, Word};
use super::variables::Variables;
use crate::repo::facts::Call;
use crate::repo::needles::Needles;
use crate::repo::text::{Span, Text};

/// Quotes inside quotes deeper than this hold no command line that anyone wrote.
const MAX_NESTING: usize = 4;

/// How many directories `popd` and `cd -` can go back.
const MAX_PUSHED: usize = 64;

/// What the readers of all languages share.
pub(crate) struct Reader<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) budget: Budget,
    /// Spans in which no further flag is looked for.
    pub(crate) comments: Vec<Span>,
    locator: Locator<'a>,
    calls: Vec<(usize, Call)>,
    silent: Vec<Span>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a str, text: Text<'a>) -> Self {
        Self {
            text,
            budget: Budget::new(text.bytes().len()),
            comments: Vec::new(),
            locator: Locator::new(file, text),
            calls: Vec::new(),
            silent: Vec::new(),
        }
    }

    pub(crate) fn shell(&mut self, span: Span, dialect: Dialect) {
        let mut state = State::new(None, Around::Shell);
        self.region(span, dialect, &mut state);
    }

    /// Each logical line is a shell of its own.
    pub(crate) fn make(&mut self, span: Span) {
        let mut state = State::new(None, Around::Shell);
        state.dir_ends_with_line = true;
        self.region(span, Dialect::default(), &mut state);
    }

    /// Reads shell text; the working directory goes on in `state`.
    pub(crate) fn region(&mut self, span: Span, dialect: Dialect, state: &mut State) {
        if state.depth > MAX_NESTING || !flags_or_dirs(span.of(self.text.bytes())) {
            return;
        }
        let tokens = shell::tokenize(self.text.bytes(), span, dialect, &mut self.budget, &mut self.comments);
        let mut words = Vec::new();
        let mut subshells: Vec<Option<String>> = Vec::new();
        let mut printing = false;
        for token in tokens {
            match token {
                Token::Word(word) => words.push(word),
                Token::Heredoc(body) => {
                    if printing {
                        self.silent.push(body);
                        self.substituted(body, state);
                    } else {
                        let mut inner = state.nested();
                        self.region(body, Dialect::default(), &mut inner);
                    }
                }
                Token::Separator | Token::Newline | Token::Open | Token::Close => {
                    printing = self.command(&words, dialect, state);
                    words.clear();
                    match token {
                        Token::Open => subshells.push(state.dir.clone()),
                        Token::Close => {
                            if let Some(dir) = subshells.pop() {
                                state.dir = dir;
                            }
                        }
                        Token::Newline if state.dir_ends_with_line => {
                            state.dir.clone_from(&state.start);
                            state.pushed.clear();
                        }
                        _ => {}
                    }
                }
            }
        }
        self.command(&words, dialect, state);
    }

    /// One simple command. Says whether it only prints: a heredoc given to it is text.
    fn command(&mut self, words: &[Word], dialect: Dialect, state: &mut State) -> bool {
        let skip = words.iter().take_while(|word| is_prefix(&word.text)).count();
        let Some(first) = words.get(skip) else {
            self.nested(words, dialect, state);
            return false;
        };
        let name = first.text.trim_start_matches(['@', '-', '+', ':']);
        let argument = words
            .iter()
            .skip(skip + 1)
            .find(|word| !word.text.starts_with('-') && !word.text.eq_ignore_ascii_case("/d"));
        match name {
            "cd" | "pushd" | "chdir" | "Set-Location" | "Push-Location" => {
                if state.pushed.len() == MAX_PUSHED {
                    state.pushed.remove(0);
                }
                state.pushed.push(state.dir.clone());
                match argument {
                    Some(dir) => state.dir = Some(dirs::join_dir(state.dir.as_deref(), &dir.text)),
                    None if words.iter().skip(skip + 1).any(|word| word.text == "-") => {
                        state.pushed.pop();
                        state.dir = state.pushed.pop().flatten();
                    }
                    None => {}
                }
                return false;
            }
            "WORKDIR" => {
                state.dir = argument.map(|dir| dirs::join_dir(state.dir.as_deref(), &dir.text));
                return false;
            }
            "popd" | "Pop-Location" => {
                state.dir = state.pushed.pop().flatten();
                return false;
            }
            _ => {}
        }
        let prints = matches!(
            name,
            "echo"
                | "printf"
                | "print"
                | "log"
                | "info"
                | "warn"
                | "error"
                | "die"
                | "fail"
                | "Write-Host"
                | "Write-Output"
                | "echo_info"
                | "log_info"
                | "REM"
                | "rem"
        );
        if prints {
            self.silent.extend(words.iter().map(|word| word.span));
            return true;
        }
        let place = Where { around: state.around, dir: state.dir.as_deref() };
        if let Some(call) = flags::read(words.get(skip..).unwrap_or_default(), &place, &mut self.locator) {
            self.calls.push((first.span.start, call));
        }
        self.nested(words, dialect, state);
        // `cat <<EOF` without a target prints usage text. `: <<EOF` is a comment over many lines.
        let reads_nothing = matches!(first.text.as_str(), ":" | "true");
        reads_nothing || name == "cat" && !words.iter().any(|word| word.text.contains('>'))
    }

    /// The command lines that a shell runs while it makes the text of a heredoc: `$(…)`, unless the marker is quoted.
    fn substituted(&mut self, body: Span, state: &State) {
        let bytes = self.text.bytes();
        if !flags::may_matter(body.of(bytes)) {
            return;
        }
        let opening = self.text.line_span(body.start.saturating_sub(1)).of(bytes);
        let quoted = memchr::memmem::find(opening, b"<<").is_some_and(|at| {
            let rest = opening.get(at + 2..).unwrap_or_default();
            let (skip, _) = shell::heredoc_word(rest);
            rest.iter().take(skip).any(|byte| matches!(byte, b'\'' | b'"' | b'\\'))
        });
        if quoted {
            return;
        }
        let mut at = body.start;
        while let Some(open) = self.budget.find(bytes, at, body.end, b"$(") {
            at = open;
            let escaped = open.checked_sub(3).and_then(|before| bytes.get(before)) == Some(&b'\\');
            if escaped {
                continue;
            }
            if let Some(end) = self.budget.matching(bytes, open - 1, body.end, (b'(', b')')) {
                self.region(Span::new(open, end - 1), Dialect::default(), &mut state.nested());
                at = end;
            }
        }
    }

    /// Command lines inside a word: `bash -c "…"`, `ARGS="-backend-config=…"`, `$(terraform …)`.
    fn nested(&mut self, words: &[Word], dialect: Dialect, state: &State) {
        for word in words {
            for inner in &word.substitutions {
                self.region(*inner, Dialect { folded: false, ..dialect }, &mut state.nested());
            }
            let Some(quoted) = word.quoted() else {
                // `TF_CLI_ARGS_plan=-lock=false`: one flag needs no quotes.
                if let Some(flag) = assigned_flag(word) {
                    let mut inner = State { around: Around::Assigned, ..state.nested() };
                    self.region(flag, dialect, &mut inner);
                }
                continue;
            };
            let content = quoted.of(self.text.bytes());
            let flag_itself = word.text.starts_with('-');
            let several = content.iter().any(u8::is_ascii_whitespace) || word.text.contains('=');
            if flag_itself || !several || !flags::may_matter(content) {
                continue;
            }
            let literal = word.text.len() > 1 && word.span.of(self.text.bytes()).ends_with(b"\"");
            let inner = Dialect { literal, folded: false, ..dialect };
            self.region(quoted, inner, &mut state.nested());
        }
    }

    /// Takes a list of words that stand in program code or data.
    pub(crate) fn list(&mut self, words: &[Word], around: Around, dir: Option<&str>) {
        let Some(first) = words.first() else { return };
        if let Some(call) = flags::read(words, &Where { around, dir }, &mut self.locator) {
            self.calls.push((first.span.start, call));
        }
        // The variables of a process, as a list.
        for flag in words.iter().filter_map(assigned_flag) {
            let mut state = State::new(dir.map(str::to_owned), Around::Assigned);
            self.region(flag, Dialect::default(), &mut state);
        }
    }

    /// Text that only people read: flags in it are not looked for.
    pub(crate) fn silence(&mut self, span: Span) {
        self.silent.push(span);
    }

    /// All calls in order, with the flags that no reader understood added as calls of their own.
    pub(crate) fn finish(mut self) -> Vec<Call> {
        self.rest();
        self.calls.iter_mut().for_each(|(_, call)| flags::drop_other_backends(call));
        self.calls.sort_by_key(|(at, _)| *at);
        let has_hole = |call: &Call| {
            call.dir
                .iter()
                .chain(call.config_files.iter().map(|(file, _)| file))
                .any(|path| path.contains(['$', '{', '<']))
        };
        if self.calls.iter().any(|(_, call)| has_hole(call)) {
            let variables = Variables::read(self.text.bytes());
            self.calls.iter_mut().for_each(|(_, call)| variables.apply(call));
        }
        let mut calls: Vec<Call> = self.calls.into_iter().map(|(_, call)| call).collect();
        // Kept of thousands of scripts, most of which make one or two: without room to spare.
        calls.shrink_to_fit();
        calls
    }

    /// The safety net: a `-backend-config` that stands in no word, comment or printed text that was read.
    fn rest(&mut self) {
        let bytes = self.text.bytes();
        let mut covered: Vec<Span> = std::mem::take(&mut self.comments);
        covered.append(&mut self.silent);
        for (_, call) in &self.calls {
            covered.extend(call.config_files.iter().map(|(_, span)| *span));
            covered.extend(call.config_flags.iter().map(|flag| flag.span));
        }
        covered.sort();
        let mut reach = 0;
        // For each span, how far all spans up to it reach.
        let reaches: Vec<usize> = covered
            .iter()
            .map(|span| {
                reach = reach.max(span.end);
                reach
            })
            .collect();
        for at in memchr::memmem::find_iter(bytes, b"-backend-config") {
            let before = covered.partition_point(|span| span.start <= at);
            let is_covered =
                before.checked_sub(1).and_then(|last| reaches.get(last)).is_some_and(|reach| *reach > at);
            if !is_covered && let Some(word) = loose_word(bytes, at) {
                let place = Where { around: Around::Code, dir: None };
                if let Some(mut call) = flags::read(&[word], &place, &mut self.locator) {
                    for flag in &mut call.config_flags {
                        flag.editability = crate::repo::source::Editability::ReportOnly(
                            "the flag's word is put together when the command runs".to_owned(),
                        );
                    }
                    self.calls.push((at, call));
                }
            }
        }
    }
}

/// A flag with an `=` that stands in the middle of something else, up to a blank or a quote.
fn loose_word(bytes: &[u8], at: usize) -> Option<Word> {
    let rest = bytes.get(at..)?;
    let name = b"-backend-config=".len();
    if !rest.starts_with(b"-backend-config=") {
        return None;
    }
    let opening = rest.iter().skip(name).take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
    let mut depth = 0usize;
    let value = rest
        .iter()
        .skip(name + opening)
        .take_while(|byte| {
            match byte {
                b'{' => depth += 1,
                b'}' if depth > 0 => {
                    depth -= 1;
                    return true;
                }
                _ => {}
            }
            !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'}' | b')')
        })
        .take(4096)
        .count();
    if value == 0 {
        return None;
    }
    let mut word = Word::at(at);
    word.push(bytes, at, at + name);
    word.push(bytes, at + name + opening, at + name + opening + value);
    word.span = Span::new(at, at + name + opening + value);
    Some(word.finish())
}

/// The flag in `NAME=-flag`.
fn assigned_flag(word: &Word) -> Option<Span> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | ':' | '?' | '$'));
    if !is_name || !value.starts_with('-') {
        return None;
    }
    Some(Span::new(*word.origin.get(name.len() + 1)?, word.origin.last()? + 1))
}

/// Words before the command: assignments, keywords, and programs that run another.
fn is_prefix(text: &str) -> bool {
    if matches!(
        text,
        "if" | "then"
            | "else"
            | "elif"
            | "do"
            | "while"
            | "until"
            | "!"
            | "{"
            | "}"
            | "sudo"
            | "time"
            | "exec"
            | "command"
            | "nohup"
            | "@"
            | "-"
            | "RUN"
            | "&"
            | "call"
            | "CALL"
    ) {
        return true;
    }
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | ':' | '?'))
    })
}

/// What a line may hold beside flags that changes where the next command runs.
static DIRS: Needles = Needles::new(&[b"cd ", b"$(", b"${TF", b"$TF", b"tf ", b"tg ", b"popd", b"Location"]);

fn flags_or_dirs(bytes: &[u8]) -> bool {
    flags::may_matter(bytes) || DIRS.any_in(bytes)
}

/// The state of one shell.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// The working directory, as far as it is told.
    pub(crate) dir: Option<String>,
    /// The working directory at the beginning.
    start: Option<String>,
    pushed: Vec<Option<String>>,
    around: Around,
    depth: usize,
    dir_ends_with_line: bool,
}

impl State {
    pub(crate) fn new(dir: Option<String>, around: Around) -> Self {
        Self { start: dir.clone(), dir, pushed: Vec::new(), around, depth: 0, dir_ends_with_line: false }
    }

    fn nested(&self) -> Self {
        Self { depth: self.depth + 1, start: self.dir.clone(), pushed: Vec::new(), ..self.clone() }
    }
}
