//! Templates that become Terraform files or backend-config: what their backends say, and whether an edit there would
//! survive the rendering. Scripts that are templates are read by [`super::calls`] and [`super::heredoc`] as well.

use crate::repo::facts::name_of;
use crate::repo::partial::is_well_known;
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text, lowercase};

use super::block_comments::holds;
use super::fragment::{self, Hit};
use super::lexer;
use super::locate::Locator;
use super::{backend_arguments, hcl};

const EXTENSIONS: &[&str] = &[
    "tftpl",
    "tpl",
    "tmpl",
    "j2",
    "jinja",
    "jinja2",
    "erb",
    "mustache",
    "hbs",
    "handlebars",
    "example",
    "sample",
    "template",
    "dist",
    "gotmpl",
    "ejs",
    "liquid",
    "epp",
];

const WHY_UNKNOWN: &str = "the template's user fills it in";

/// Whether a path says that the file is a template.
pub fn is_template(path: &str) -> bool {
    let name = lowercase(name_of(path));
    path.contains("{{")
        || path.contains("__cookiecutter")
        || name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension))
        || name
            .split('.')
            .rev()
            .nth(1)
            .is_some_and(|middle| name.split('.').count() > 2 && EXTENSIONS.contains(&middle))
}

/// Whether a file's text says so: cookiecutter's variables, or `###PLACEHOLDER###`.
pub fn looks_like_template(bytes: &[u8]) -> bool {
    let has = |mark: &[u8]| memchr::memmem::find(bytes, mark).is_some();
    has(b"cookiecutter.") && has(b"{{") || placeholder_hashes(bytes).next().is_some()
}

/// Where `###NAME###` stands.
fn placeholder_hashes(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    memchr::memmem::find_iter(bytes, b"###").filter(|at| {
        let rest = bytes.get(at + 3..).unwrap_or_default();
        let name = rest
            .iter()
            .take(128)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            .count();
        name > 0 && rest.get(name..).is_some_and(|rest| rest.starts_with(b"###"))
    })
}

/// The name that the rendered file has, as far as the path tells.
fn rendered(path: &str) -> &str {
    let mut path = path;
    while let Some((bare, extension)) = path.rsplit_once('.')
        && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
    {
        path = bare;
    }
    path
}

/// Backends, Terragrunt `remote_state` blocks and flat backend-config in a template, by position.
pub fn read_template(file: &str, text: Text<'_>) -> (Vec<Source>, Vec<Problem>) {
    let mut reader = Reader {
        file,
        text,
        locator: Locator::new(file, text),
        comments: block_comments(text.bytes()),
        sources: Vec::new(),
        problems: Vec::new(),
    };
    let hits = fragment::hits(text);
    reader.blocks(&hits);
    reader.remote_states();
    if hits.is_empty() && reader.sources.is_empty() {
        reader.flat();
    }
    reader.rest(&hits);
    reader.sources.sort_by_key(|source| source.span);
    (reader.sources, reader.problems)
}

struct Reader<'a> {
    file: &'a str,
    text: Text<'a>,
    locator: Locator<'a>,
    comments: Vec<Span>,
    sources: Vec<Source>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn whole(&self) -> Span {
        Span::new(0, self.text.bytes().len())
    }

    /// `backend "s3"` blocks, each read by itself: what stands around one may be no HCL at all.
    fn blocks(&mut self, hits: &[Hit]) {
        let bytes = self.text.bytes();
        for (index, hit) in hits.iter().enumerate() {
            if holds(&self.comments, hit.at) {
                continue;
            }
            let limit = hits.get(index + 1).map_or(bytes.len(), |next| next.at);
            let read = fragment::block_at(self.file, self.text, *hit, limit, SourceKind::Template);
            let mut source = match read {
                Some((mut source, error)) => {
                    source.editability = self.judge(&source, error.as_ref());
                    if error.is_some() {
                        self.add_loose(&mut source);
                    }
                    source
                }
                None => self.loose(Span::new(hit.at, fragment::raw_end(bytes, *hit, limit))),
            };
            fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
            if source.syntax == Syntax::Other && source.settings.is_empty() {
                self.problems.push(Problem {
                    kind: ProblemKind::ParseError,
                    place: source.place.clone(),
                    message: "a backend block begins here that could not be read; check it by hand"
                        .to_owned(),
                    excerpt: None,
                });
            }
            self.sources.push(source);
        }
    }

    /// Settings that HCL refused, but whose names and values can be seen.
    fn add_loose(&mut self, source: &mut Source) {
        for setting in fragment::loose_settings(self.text.bytes(), source.body, &mut self.locator) {
            if !source.settings.iter().any(|known| known.name == setting.name) {
                source.settings.push(setting);
            }
        }
        source.settings.retain(|setting| !holds(&self.comments, setting.span.start));
        source.settings.sort_by_key(|setting| setting.span.start);
    }

    fn judge(&self, source: &Source, error: Option<&lexer::LexError>) -> Editability {
        let inside = source.span.of(self.text.bytes());
        if let Some(tag) = control_tag(inside) {
            return Editability::ReportOnly(format!("the template's `{tag}` decides what stands here"));
        }
        if let Some(error) = error {
            return Editability::ReportOnly(format!(
                "with its placeholders it is no HCL ({})",
                error.message
            ));
        }
        let quoted: Vec<Span> = source
            .settings
            .iter()
            .map(|setting| setting.value_span)
            .filter(|span| span.of(self.text.bytes()).starts_with(b"\""))
            .collect();
        let bare = placeholders(inside)
            .map(|at| at + source.span.start)
            .any(|at| !quoted.iter().any(|span| (span.start..span.end).contains(&at)));
        if bare {
            return Editability::ReportOnly("a placeholder stands outside of a quoted text".to_owned());
        }
        Editability::Safe
    }

    /// Terragrunt's `remote_state { config = { … } }` in a template of a `terragrunt.hcl`.
    fn remote_states(&mut self) {
        let text = self.text;
        if memchr::memmem::find(text.bytes(), b"remote_state").is_none() {
            return;
        }
        let top = lexer::body(text.bytes(), self.whole());
        for block in top.blocks_of("remote_state") {
            let inner = lexer::body(text.bytes(), block.body);
            let is_s3 = inner.attribute("backend").is_some_and(|backend| {
                let value = backend.value_span.of(text.bytes());
                value == b"\"s3\"" || memchr::memmem::find(value, b"{").is_some()
            });
            let Some(config) = inner.attribute("config").filter(|_| is_s3) else { continue };
            let Some(body) = hcl::braces(text, config.value_span) else { continue };
            let (settings, error) = match hcl::object_settings(text, config.value_span) {
                Ok(settings) => (settings, None),
                Err(message) => (Vec::new(), Some(lexer::LexError { offset: body.start, message })),
            };
            let mut source = Source {
                kind: SourceKind::Template,
                syntax: Syntax::HclObject,
                place: text.place(self.file, block.span.start),
                span: block.span,
                body,
                settings,
                editability: Editability::Safe,
                label: Some("remote_state".to_owned()),
                git_ignored: false,
            };
            // Placeholders in `generate` and the like do not touch `config`.
            let config_alone = Source { span: config.value_span, ..source.clone() };
            source.editability = self.judge(&config_alone, error.as_ref());
            if error.is_some() {
                self.add_loose(&mut source);
            }
            fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
            self.sources.push(source);
        }
    }

    /// The whole file as backend-config: by its name, or by its shape.
    fn flat(&mut self) {
        let whole = self.whole();
        let name = rendered(self.file);
        let by_name = is_well_known(name);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if !by_name && !matches!(extension, "hcl" | "tfvars" | "conf" | "config" | "cfg" | "vars") {
            return;
        }
        let (settings, error) = hcl::settings(self.text, whole);
        let mut source = Source {
            kind: SourceKind::Template,
            syntax: Syntax::HclBody,
            place: self.locator.place(0),
            span: whole,
            body: whole,
            settings,
            editability: Editability::Safe,
            label: None,
            git_ignored: false,
        };
        source.editability = self.judge(&source, error.as_ref());
        if error.is_some() {
            self.add_loose(&mut source);
        }
        let Some(first) = source.settings.first().map(|setting| setting.span.start) else { return };
        if !by_name && (error.is_some() || !backend_arguments::has_backend_shape(&source.settings)) {
            return;
        }
        source.place = self.locator.place(first);
        fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
        self.sources.push(source);
    }

    fn loose(&mut self, span: Span) -> Source {
        Source {
            kind: SourceKind::Template,
            syntax: Syntax::Other,
            place: self.locator.place(span.start),
            span,
            body: span,
            settings: fragment::loose_settings(self.text.bytes(), span, &mut self.locator),
            editability: Editability::ReportOnly("the text around it can't be read as a backend".to_owned()),
            label: None,
            git_ignored: false,
        }
    }

    /// Lock tables that stand in none of the above, in a file that is about backends.
    fn rest(&mut self, hits: &[Hit]) {
        let bytes = self.text.bytes();
        let about = !hits.is_empty()
            || memchr::memmem::find(bytes, b"remote_state").is_some()
            || is_well_known(rendered(self.file));
        let Ok(names) = aho_corasick::AhoCorasick::new(["dynamodb_table", "lock_table"]) else { return };
        if !about {
            return;
        }
        let mut covered: Vec<Span> = self.sources.iter().map(|source| source.span).collect();
        covered.sort();
        for found in names.find_iter(bytes) {
            let at = found.start();
            if holds(&covered, at) || holds(&self.comments, at) {
                continue;
            }
            let line = self.text.line_span(at);
            // A long line can hold many: each looks only a little ahead.
            let source = self.loose(Span::new(at, line.end.min(at + 512)));
            if source.settings.first().is_some_and(|setting| setting.span.start == at) {
                let mut source = source;
                source.settings.truncate(1);
                source.span = source.settings.first().map_or(source.span, |setting| setting.span);
                source.body = source.span;
                fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
                self.sources.push(source);
            }
        }
    }
}

/// `/* … */`, `{# … #}`, `<!-- … -->`, `{{/* … */}}` and `{{! … }}` over any number of lines. Sorted, and apart.
fn block_comments(bytes: &[u8]) -> Vec<Span> {
    let mut comments = Vec::new();
    for (open, close) in [(&b"/*"[..], &b"*/"[..]), (b"{#", b"#}"), (b"<!--", b"-->")] {
        let mut at = 0;
        while let Some(start) =
            bytes.get(at..).and_then(|rest| memchr::memmem::find(rest, open)).map(|found| at + found)
        {
            let inner = start + open.len();
            let Some(end) = bytes.get(inner..).and_then(|rest| memchr::memmem::find(rest, close)) else {
                break;
            };
            // `s3:prefix/*` in a string opens nothing: a comment begins a line or follows a blank.
            let begins = start == 0
                || bytes.get(start - 1).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'{');
            at = inner;
            if begins {
                at = inner + end + close.len();
                comments.push(Span::new(start, at));
            }
        }
    }
    comments.extend(mustache_comments(bytes));
    comments.sort();
    // What begins inside of another one goes as far as that one, or farther.
    let mut apart: Vec<Span> = Vec::with_capacity(comments.len());
    for comment in comments {
        match apart.last_mut().filter(|last| comment.start < last.end) {
            Some(last) => last.end = last.end.max(comment.end),
            None => apart.push(comment),
        }
    }
    apart
}

/// `{{! … }}` ends with the first `}}`; Handlebars' `{{!-- … --}}` may hold one.
fn mustache_comments(bytes: &[u8]) -> Vec<Span> {
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(start) =
        bytes.get(at..).and_then(|rest| memchr::memmem::find(rest, b"{{!")).map(|found| at + found)
    {
        let close: &[u8] = match bytes.get(start + 3..).is_some_and(|rest| rest.starts_with(b"--")) {
            true => b"--}}",
            false => b"}}",
        };
        let inner = bytes.get(start + 3..).unwrap_or_default();
        let Some(end) = memchr::memmem::find(inner, close) else { break };
        at = start + 3 + end + close.len();
        comments.push(Span::new(start, at));
    }
    comments
}

/// Offsets of placeholders, control tags included.
fn placeholders(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let simple = [&b"{{"[..], b"{%", b"<%", b"${", b"[[", b"@@", b"<<"]
        .into_iter()
        .flat_map(move |mark| memchr::memmem::find_iter(bytes, mark));
    simple.chain(placeholder_hashes(bytes))
}

/// The first tag that includes or leaves out text, as written.
fn control_tag(bytes: &[u8]) -> Option<String> {
    let marks = [&b"{%"[..], b"%{", b"{{", b"<%"];
    let mut first: Option<usize> = None;
    for mark in marks {
        let found = memchr::memmem::find_iter(bytes, mark).find(|at| {
            let rest = bytes.get(at + mark.len()..).unwrap_or_default();
            match mark {
                b"{{" => is_control_word(rest),
                b"<%" => !rest.starts_with(b"="),
                _ => true,
            }
        });
        first = match (first, found) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    let from = first?;
    let rest = bytes.get(from..)?;
    let len = rest.iter().take(40).take_while(|byte| !matches!(byte, b'\n' | b'\r')).count();
    Some(String::from_utf8_lossy(rest.get(..len)?).trim().to_owned())
}

fn is_control_word(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"-").unwrap_or(rest).trim_ascii_start();
    if matches!(rest.first(), Some(b'#' | b'/' | b'^' | b'!' | b'>')) {
        return true;
    }
    let len = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    matches!(
        rest.get(..len).unwrap_or_default(),
        b"if"
            | b"else"
            | b"end"
            | b"range"
            | b"with"
            | b"define"
            | b"template"
            | b"block"
            | b"for"
            | b"include"
    )
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
