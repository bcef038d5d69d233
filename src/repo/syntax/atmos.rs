//! Atmos stack YAML: `terraform.backend.s3`, `components.terraform.NAME.backend.s3` and the same under
//! `remote_state_backend`, as sources with byte spans. Reads YAML as a stream of events: aliases are never
//! expanded, and no tree is built. Atmos's own inheritance between files is not followed here.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;
use saphyr_parser::{Event, Parser, ScalarStyle};

use self::scalar::{Spans, scalar_end, scalar_value};
use super::positions::Positions;
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{BOM, Span, Text};

mod scalar;
#[cfg(test)]
mod tests;

const FLOW: &str = "YAML in flow style: edits are made only where each setting has a line of its own";
const ALIAS: &str = "a YAML anchor, alias or merge key: an edit here could change other places, too";
const TEMPLATE: &str = "a Go template: the text is not YAML before Atmos has rendered it";
const FUNCTION: &str = "a YAML tag: Atmos computes the value when it runs";
const SHAPE: &str = "settings that do not stand one a line";
/// Said of a mapping in the shape of a backend, at a place where Atmos reads none.
pub(crate) const STRAY: &str =
    "YAML in the shape of a backend, at a place where Atmos reads none: another program may";
const BROKEN: &str = "the file could not be read to its end";

/// Settings that are unknown where a mapping is taken over by an alias or a merge key.
const TAKEN_OVER: &[&str] =
    &["bucket", "key", "region", "workspace_key_prefix", "dynamodb_table", "use_lockfile"];

/// Reads one YAML file as Atmos stack configuration. A file without such a backend has no sources.
///
/// Source of the paths: the Atmos documentation on stacks, backends and remote state backends.
pub fn read_atmos(file: &str, text: Text<'_>) -> (Vec<Source>, Vec<Problem>) {
    let bytes = text.bytes();
    if memmem::find(bytes, b"backend").is_none() || memmem::find(bytes, b"s3").is_none() {
        return (Vec::new(), Vec::new());
    }
    let base = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let yaml = match std::str::from_utf8(bytes.get(base..).unwrap_or_default()) {
        Ok(yaml) => yaml,
        Err(error) => {
            return (Vec::new(), unreadable(file, text, base + error.valid_up_to(), "it is not UTF-8"));
        }
    };
    let spans = Spans::new(yaml, base);
    let mut walk = Walk::new(file, text);
    let mut problems = Vec::new();
    for event in Parser::new_from_str(yaml) {
        match event {
            Ok((event, at)) => walk.event(&event, spans.of(at)),
            Err(error) => {
                problems = unreadable(file, text, spans.offset(error.marker().index()), error.info());
                walk.give_up();
                break;
            }
        }
    }
    (walk.sources, problems)
}

/// A problem, if the file says something of locks; any other broken YAML is none of our business.
fn unreadable(file: &str, text: Text<'_>, offset: usize, why: &str) -> Vec<Problem> {
    let names = [b"dynamodb_table".as_slice(), b"use_lockfile"];
    if names.iter().all(|name| memmem::find(text.bytes(), name).is_none()) {
        return Vec::new();
    }
    let message = format!(
        "This YAML names an s3 backend's lock settings and could not be read: {why}. Check these settings by hand; \
         if it is a template, render it first."
    );
    vec![Problem { kind: ProblemKind::ParseError, place: text.place(file, offset), message, excerpt: None }]
}

struct Key {
    name: String,
    span: Span,
}

/// One open collection.
struct Frame {
    is_mapping: bool,
    /// The key whose value comes next; in a mapping without one, a key comes next.
    key: Option<Key>,
    /// This collection is itself a key (`? [a, b]`).
    is_key: bool,
    anchor: usize,
    start: usize,
}

/// The source that is being read.
struct Open {
    /// Number of frames while directly in its mapping.
    depth: usize,
    key: Key,
    label: String,
    settings: Vec<Setting>,
    report_only: Option<&'static str>,
    /// A merge key in it: where.
    merged: Option<Span>,
    /// A list or template in it is being passed over: the number of frames in which it stands.
    opaque: Option<usize>,
}

struct Walk<'a> {
    file: &'a str,
    text: Text<'a>,
    positions: Positions<'a>,
    frames: Vec<Frame>,
    open: Option<Open>,
    sources: Vec<Source>,
    /// Scalars that have an anchor.
    anchored: BTreeMap<usize, Value>,
    /// Anchors whose content names a backend or a lock setting.
    holders: BTreeSet<usize>,
    /// Where the last value or key ended: a block collection ends there, whatever comments follow.
    last_end: usize,
}

impl<'a> Walk<'a> {
    fn new(file: &'a str, text: Text<'a>) -> Self {
        Self {
            file,
            text,
            positions: Positions::new(text),
            frames: Vec::new(),
            open: None,
            sources: Vec::new(),
            anchored: BTreeMap::new(),
            holders: BTreeSet::new(),
            last_end: 0,
        }
    }

    fn event(&mut self, event: &Event<'_>, at: Span) {
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                let tag = tag.as_deref().map(ToString::to_string);
                self.scalar(value, *style, *anchor, tag.as_deref(), at);
            }
            Event::Alias(anchor) => self.alias(*anchor, at),
            Event::MappingStart(anchor, tag) => self.start(true, *anchor, tag.is_some(), at),
            Event::SequenceStart(anchor, tag) => self.start(false, *anchor, tag.is_some(), at),
            Event::MappingEnd | Event::SequenceEnd => self.end(at),
            _ => {}
        }
    }

    /// Whether a key comes next.
    fn expects_key(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_mapping && frame.key.is_none())
    }

    fn set_key(&mut self, name: &str, span: Span) {
        if matches!(name, "backend" | "remote_state_backend" | "s3" | "dynamodb_table" | "use_lockfile") {
            self.mark_holders();
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.key = Some(Key { name: name.to_owned(), span });
        }
    }

    fn mark_holders(&mut self) {
        self.holders.extend(self.frames.iter().map(|frame| frame.anchor).filter(|anchor| *anchor > 0));
    }

    /// The value of the current key is complete.
    fn value_done(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.key = None;
        }
    }

    /// Keys from the top to here, from the frame `from` on; a list's items are `[]`.
    fn path(&self, from: usize) -> Vec<&str> {
        let frames = self.frames.iter().skip(from);
        frames.map(|frame| frame.key.as_ref().map_or("[]", |key| key.name.as_str())).collect()
    }

    /// Whether the current value (or the list that it stands in) is a merge key's.
    fn is_at_merge(&self) -> bool {
        self.path(0).iter().rev().find(|name| **name != "[]") == Some(&"<<")
    }

    fn report_only(&mut self, reason: &'static str) {
        if let Some(open) = &mut self.open {
            open.report_only.get_or_insert(reason);
        }
    }

    fn start(&mut self, is_mapping: bool, anchor: usize, tagged: bool, at: Span) {
        let is_key = self.expects_key();
        let flow = matches!(at.of(self.text.bytes()).trim_ascii_end().last(), Some(b'{' | b'['));
        let template = self.text.bytes().get(at.start..).is_some_and(|rest| rest.starts_with(b"{{"));
        let depth = self.frames.len();
        if let Some(open) = &mut self.open {
            if open.opaque.is_none() && !is_key && (!is_mapping || template || tagged) {
                open.opaque = Some(depth);
            }
            if is_key {
                open.report_only.get_or_insert(SHAPE);
            }
        } else if is_mapping && !is_key && has_shape_of_backend(&self.path(0)) {
            self.open_source(depth + 1, at);
        }
        if anchor > 0 {
            self.report_only(ALIAS);
        }
        if template {
            self.report_only(TEMPLATE);
        } else if flow {
            self.report_only(FLOW);
        }
        if tagged {
            self.report_only(FUNCTION);
        }
        self.frames.push(Frame { is_mapping, key: None, is_key, anchor, start: at.start });
    }

    fn open_source(&mut self, depth: usize, at: Span) {
        let label = self.path(0).join(".");
        let shared = self.frames.iter().any(|frame| frame.anchor > 0);
        let key = self.frames.last_mut().and_then(|frame| frame.key.as_ref());
        // The key stays in the frame: it is part of the path until the mapping ends.
        let key = key.map_or_else(
            || Key { name: String::new(), span: at },
            |key| Key { name: key.name.clone(), span: key.span },
        );
        let stray = !is_backend(&self.path(0));
        let report_only = if stray { Some(STRAY) } else { shared.then_some(ALIAS) };
        self.open =
            Some(Open { depth, key, label, settings: Vec::new(), report_only, merged: None, opaque: None });
    }

    fn end(&mut self, at: Span) {
        let Some(frame) = self.frames.pop() else { return };
        let depth = self.frames.len();
        if !at.is_empty() {
            self.last_end = self.last_end.max(at.end);
        }
        let whole = Span::new(frame.start, self.last_end);
        if frame.is_key {
            return self.set_key("?", whole);
        }
        if self.open.as_ref().is_some_and(|open| open.opaque == Some(depth)) {
            self.opaque_value(whole);
            return self.value_done();
        }
        match &self.open {
            Some(open) if open.depth == depth + 1 => self.close(whole),
            Some(open) if open.opaque.is_none() && frame.is_mapping && !self.is_at_merge() => {
                self.push(whole, Value::Object);
            }
            _ => {}
        }
        self.value_done();
    }

    fn opaque_value(&mut self, value_span: Span) {
        let expression = one_line(&self.text.lossy(value_span));
        let reason = if expression.starts_with("{{") { TEMPLATE } else { "a list" };
        let value = Value::Unknown { expression, reason: reason.to_owned() };
        self.push(value_span, value);
        if let Some(open) = &mut self.open {
            open.opaque = None;
        }
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, anchor: usize, tag: Option<&str>, at: Span) {
        let bytes = self.text.bytes();
        let end = scalar_end(bytes, at, style, value);
        let mut span = Span::new(at.start, end);
        self.last_end = self.last_end.max(end);
        if self.expects_key() {
            if anchor > 0 || tag.is_some() || value.contains("{{") {
                self.report_only(if value.contains("{{") { TEMPLATE } else { ALIAS });
            }
            return self.set_key(value, span);
        }
        let read = scalar_value(value, style, tag);
        if anchor > 0 {
            self.anchored.insert(anchor, read.clone());
            self.report_only(ALIAS);
        }
        if self.open.as_ref().is_some_and(|open| open.opaque.is_none()) {
            if tag.is_some() {
                self.report_only(FUNCTION);
            }
            if value.contains("{{") {
                self.report_only(TEMPLATE);
            }
            if let Some(key) = self.frames.last().and_then(|frame| frame.key.as_ref()) {
                let line_end = self.text.line_span(key.span.start).end;
                // An empty value has no bytes of its own: it stands behind the colon.
                if span.is_empty() {
                    let rest = Span::new(key.span.end, line_end).of(bytes);
                    let colon = memchr::memchr(b':', rest).map_or(0, |colon| colon + 1);
                    span = Span::new(key.span.end + colon, key.span.end + colon);
                    self.last_end = self.last_end.max(span.end);
                }
                let between = Span::new(key.span.end, span.start).of(bytes).trim_ascii();
                if span.end > line_end || between != b":" {
                    self.report_only(SHAPE);
                }
            }
            self.push(span, read);
        } else if self.open.is_none() && read.is_unknown() && takes_backend(&self.path(0), false) {
            self.taken_over(self.path(0).join("."), span, FUNCTION);
        }
        self.value_done();
    }

    /// Adds the setting that the current keys name.
    fn push(&mut self, value_span: Span, value: Value) {
        let Some(depth) = self.open.as_ref().map(|open| open.depth) else { return };
        // `<<: {…}` brings its keys here.
        let name = self.path(depth.saturating_sub(1)).join(".").replace("<<.", "");
        let name_span =
            self.frames.last().and_then(|frame| frame.key.as_ref()).map_or(value_span, |key| key.span);
        let span = Span::new(name_span.start, value_span.end);
        let value = without_secrets(&name, value);
        if let Some(open) = &mut self.open {
            let at = self.positions.of(span.start);
            open.settings.push(Setting { name, at, span, name_span, value_span, value, via: Vec::new() });
        }
    }

    fn alias(&mut self, anchor: usize, at: Span) {
        self.last_end = self.last_end.max(at.end);
        if self.holders.contains(&anchor) {
            self.mark_holders();
        }
        if self.expects_key() {
            self.report_only(ALIAS);
            return self.set_key("*", at);
        }
        let is_merge = self.is_at_merge();
        if self.open.is_some() {
            self.report_only(ALIAS);
            if is_merge {
                if let Some(open) = &mut self.open {
                    open.merged = Some(at);
                }
            } else if self.open.as_ref().is_some_and(|open| open.opaque.is_none()) {
                let value =
                    self.anchored.get(&anchor).cloned().unwrap_or_else(|| unknown(self.text, at, ALIAS));
                self.push(at, value);
            }
        } else {
            let mut path = self.path(0);
            if is_merge {
                path.truncate(path.iter().rposition(|name| *name == "<<").unwrap_or(path.len()));
            }
            // The alias brings a backend for certain from `backend:` downwards, above it where its anchor holds one.
            if takes_backend(&path, self.holders.contains(&anchor)) {
                let label = path.join(".");
                self.taken_over(label, at, ALIAS);
            }
        }
        self.value_done();
    }

    /// A source of which only an alias or a YAML function stands here.
    fn taken_over(&mut self, label: String, at: Span, reason: &str) {
        let unknown = |name: &&str| taken_over_setting(name, self.text, at, reason);
        self.sources.push(Source {
            kind: SourceKind::Atmos,
            syntax: Syntax::Yaml,
            place: self.text.place(self.file, at.start),
            span: at,
            body: at,
            settings: TAKEN_OVER.iter().map(unknown).collect(),
            editability: Editability::ReportOnly(reason.to_owned()),
            label: Some(label),
            git_ignored: false,
        });
    }

    fn close(&mut self, mapping: Span) {
        let Some(mut open) = self.open.take() else { return };
        if let Some(merge) = open.merged {
            for name in TAKEN_OVER {
                if open.settings.iter().all(|setting| setting.name != *name) {
                    open.settings.push(taken_over_setting(name, self.text, merge, ALIAS));
                }
            }
        }
        let names_lock =
            |setting: &Setting| matches!(setting.name.as_str(), "dynamodb_table" | "use_lockfile");
        if open.report_only == Some(STRAY) && !open.settings.iter().any(names_lock) {
            return;
        }
        // An object is known to be one when it ends; it stands before its parts.
        open.settings.sort_by_key(|setting| (setting.span.start, setting.name.len()));
        let mut seen = BTreeSet::new();
        if !open.settings.iter().all(|setting| seen.insert(setting.name.as_str())) {
            open.report_only.get_or_insert("a key stands twice: YAML takes none");
        }
        let braces = mapping.of(self.text.bytes()).starts_with(b"{") && mapping.len() >= 2;
        let body = if braces { Span::new(mapping.start + 1, mapping.end - 1) } else { mapping };
        self.sources.push(Source {
            kind: SourceKind::Atmos,
            syntax: Syntax::Yaml,
            place: self.text.place(self.file, open.key.span.start),
            span: Span::new(open.key.span.start, mapping.end),
            body,
            settings: open.settings,
            editability: open
                .report_only
                .map_or(Editability::Safe, |reason| Editability::ReportOnly(reason.to_owned())),
            label: Some(open.label),
            git_ignored: false,
        });
    }

    /// The rest can't be read: what was found stays, and is not edited.
    fn give_up(&mut self) {
        if let Some(start) =
            self.open.as_ref().and_then(|open| self.frames.get(open.depth - 1)).map(|f| f.start)
        {
            self.close(Span::new(start, self.last_end));
        }
        for source in &mut self.sources {
            source.editability = Editability::ReportOnly(BROKEN.to_owned());
        }
    }
}

/// `terraform.backend.s3` and its relatives.
fn is_backend(path: &[&str]) -> bool {
    path.split_last().is_some_and(|(last, above)| *last == "s3" && is_backend_parent(above))
}

/// The same at whatever depth: wrappers keep such a mapping under keys of their own.
fn has_shape_of_backend(path: &[&str]) -> bool {
    is_backend(path) || matches!(path, [.., "terraform", "backend" | "remote_state_backend", "s3"])
}

fn is_backend_parent(path: &[&str]) -> bool {
    matches!(
        path,
        ["terraform", "backend" | "remote_state_backend"]
            | ["components", "terraform", _, "backend" | "remote_state_backend"]
    )
}

fn takes_backend(path: &[&str], holds: bool) -> bool {
    is_backend(path)
        || is_backend_parent(path)
        || (holds
            && matches!(
                path,
                ["terraform" | "components"] | ["components", "terraform"] | ["components", "terraform", _]
            ))
}

fn taken_over_setting(name: &str, text: Text<'_>, at: Span, reason: &str) -> Setting {
    Setting {
        name: name.to_owned(),
        at: text.position(at.start),
        span: at,
        name_span: at,
        value_span: at,
        value: unknown(text, at, reason),
        via: Vec::new(),
    }
}

fn unknown(text: Text<'_>, at: Span, reason: &str) -> Value {
    Value::Unknown { expression: one_line(&text.lossy(at)), reason: reason.to_owned() }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
