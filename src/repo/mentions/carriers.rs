//! One file: where a wanted word stands, what carries it there, and what to look for next. Pure.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;

use super::{Carrier, Mention, Wanted};
use crate::repo::class::{FileClass, class_of};
use crate::repo::facts::{dir_of, name_of};
use crate::repo::shown::resolve;
use crate::repo::syntax::lexer::{self, Block, Body};
use crate::repo::text::{Span, Text};

/// More hits than this in one file add nothing: it is data, not configuration.
const MAX_HITS: usize = 10_000;
/// What of a line is looked at, on each side of a hit. Longer lines are not written by people.
const LINE: usize = 1_024;

/// One place, and what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) mention: Mention,
    pub(super) leads_to: Vec<Wanted>,
}

/// Every place of one file where a wanted word stands by itself.
pub(super) fn hits(path: &str, text: Text<'_>, needles: &AhoCorasick, wanted: &[Wanted]) -> Vec<Hit> {
    let bytes = text.bytes();
    if is_binary(bytes) {
        return Vec::new();
    }
    let file = File::new(path, text);
    needles
        .find_overlapping_iter(bytes)
        .filter_map(|found| {
            Some((wanted.get(found.pattern().as_usize())?, Span::new(found.start(), found.end())))
        })
        .filter(|(word, at)| word.dir.as_deref().is_none_or(|of| of == file.dir) && stands_alone(bytes, *at))
        .take(MAX_HITS)
        .map(|(word, at)| file.hit(word, at))
        .collect()
}

/// As ripgrep tells it.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes.get(..bytes.len().min(8_192)).unwrap_or_default()).is_some()
}

/// What an expression that scan could not resolve may take the table's name from.
pub(super) fn in_expression(expression: &str, dir: &str, wanted: &mut BTreeSet<Wanted>) {
    for word in
        expression.split(|character: char| !(character.is_ascii_alphanumeric() || "_.-".contains(character)))
    {
        let mut parts = word.split('.');
        match (parts.next(), parts.next()) {
            (Some("secrets" | "vars"), Some(_)) => {
                wanted.insert(Wanted::everywhere(word, false));
            }
            (Some("env"), Some(name)) => wanted.extend(of_environment(name, false)),
            (Some(kind @ ("var" | "local")), Some(name)) => {
                wanted.insert(Wanted::within(dir, format!("{kind}.{name}"), false));
                if kind == "var" {
                    wanted.insert(Wanted::within(dir, format!("variable \"{name}\""), false));
                    wanted.insert(Wanted::everywhere(format!("TF_VAR_{name}"), false));
                }
            }
            (Some(name), None) if is_environment_name(name) => wanted.extend(of_environment(name, false)),
            _ => {}
        }
    }
}

/// A name that only environment variables have: at least three characters, capitals.
fn is_environment_name(name: &str) -> bool {
    name.len() >= 3
        && name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Everything by which files set or read an environment variable.
fn of_environment(name: &str, sure: bool) -> Vec<Wanted> {
    let spelled = [name.to_owned(), format!("env.{name}")];
    spelled.into_iter().map(|text| Wanted::everywhere(text, sure)).collect()
}

/// Whether no longer name stands around a hit: `acme-locks` is not in `acme-locks-old`.
fn stands_alone(bytes: &[u8], at: Span) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
    !before.is_some_and(|byte| is_name(byte) || *byte == b'.') && !bytes.get(at.end).is_some_and(is_name)
}

/// One file that is looked into.
pub(super) struct File<'a> {
    path: &'a str,
    dir: &'a str,
    text: Text<'a>,
    class: FileClass,
    hcl: OnceCell<Body>,
    json: OnceCell<Vec<Member>>,
}

/// A string of a JSON file, and the keys that lead to it; a key leads to itself.
struct Member {
    span: Span,
    keys: Vec<String>,
}

impl<'a> File<'a> {
    pub(super) fn new(path: &'a str, text: Text<'a>) -> Self {
        let class = class_of(path, name_of(path));
        Self { path, dir: dir_of(path), text, class, hcl: OnceCell::new(), json: OnceCell::new() }
    }

    pub(super) fn class(&self) -> FileClass {
        self.class
    }

    pub(super) fn text(&self) -> Text<'a> {
        self.text
    }

    pub(super) fn hit(&self, word: &Wanted, at: Span) -> Hit {
        let (carrier, leads_to) = match self.class {
            FileClass::ModuleJson => self.in_json(word, at),
            _ if self.path.ends_with(".tfvars.json") => self.in_json(word, at),
            FileClass::Module | FileClass::Hcl | FileClass::Flat | FileClass::Terramate => {
                self.in_hcl(word, at)
            }
            _ => self.in_line(word, at),
        };
        let place = self.text.place(self.path, at.start);
        Hit { mention: Mention { place, carrier, sure: word.sure }, leads_to }
    }

    /// What carries the word in HCL: the block around it, or the assignment at the top.
    fn in_hcl(&self, word: &Wanted, at: Span) -> (Carrier, Vec<Wanted>) {
        let bytes = self.text.bytes();
        let top = self.hcl.get_or_init(|| lexer::body(bytes, Span::new(0, bytes.len())));
        let sure = word.sure;
        if let Some(block) = around(top, at) {
            return match (block.keyword.as_str(), block.labels.first()) {
                ("variable", Some(name)) => {
                    let used = Wanted::within(self.dir, format!("var.{name}"), sure);
                    let set = Wanted::everywhere(format!("TF_VAR_{name}"), sure);
                    (Carrier::Variable(name.clone()), vec![used, set])
                }
                ("output", Some(name)) => (Carrier::Output(name.clone()), Vec::new()),
                ("locals", None) => {
                    let entries = lexer::body(bytes, block.body);
                    match entries.attributes.iter().find(|entry| entry.span.contains(at)) {
                        Some(entry) => {
                            let used = Wanted::within(self.dir, format!("local.{}", entry.name), sure);
                            (Carrier::Local(entry.name.clone()), vec![used])
                        }
                        None => (Carrier::Block("locals".to_owned()), Vec::new()),
                    }
                }
                // The table itself, with the name in one of its arguments: its address means the name from here on.
                ("resource", Some(kind)) if kind == "aws_dynamodb_table" => {
                    (Carrier::Block(header(block)), vec![Wanted::within(self.dir, header(block), sure)])
                }
                ("module", Some(_)) => {
                    let call = lexer::body(bytes, block.body);
                    let handed = call.attributes.iter().find(|entry| entry.span.contains(at));
                    let source = call.attribute("source").map(|source| self.text.lossy(source.value_span));
                    let leads_to = handed.zip(source).map(|(handed, source)| {
                        self.in_module(&handed.name, source.trim().trim_matches('"'), sure)
                    });
                    (Carrier::Block(header(block)), leads_to.unwrap_or_default())
                }
                _ => (Carrier::Block(header(block)), Vec::new()),
            };
        }
        match top.attributes.iter().find(|entry| entry.span.contains(at)) {
            Some(entry) => (Carrier::VarFile(entry.name.clone()), self.declared(&entry.name, sure)),
            None => (Carrier::Line, Vec::new()),
        }
    }

    /// What an argument of a module call is inside of the module, where that one lies in this tree.
    fn in_module(&self, argument: &str, source: &str, sure: bool) -> Vec<Wanted> {
        let is_local = source.starts_with("./") || source.starts_with("../");
        let Some(dir) = resolve(self.dir, source).filter(|_| is_local && argument != "source") else {
            return Vec::new();
        };
        let spelled = [format!("variable \"{argument}\""), format!("var.{argument}")];
        spelled.into_iter().map(|text| Wanted::within(&dir, text, sure)).collect()
    }

    /// What carries the word in the JSON syntax: the same blocks and assignments, as keys.
    fn in_json(&self, word: &Wanted, at: Span) -> (Carrier, Vec<Wanted>) {
        let members = self.json.get_or_init(|| members(self.text.bytes()));
        let before = members.partition_point(|member| member.span.start <= at.start);
        let member = before.checked_sub(1).and_then(|last| members.get(last));
        let Some(member) = member.filter(|member| at.start < member.span.end) else {
            return (Carrier::Line, Vec::new());
        };
        let keys: Vec<&str> = member.keys.iter().map(String::as_str).collect();
        let sure = word.sure;
        if self.class != FileClass::ModuleJson {
            return match keys.first() {
                Some(name) => (Carrier::VarFile((*name).to_owned()), self.declared(name, sure)),
                None => (Carrier::Line, Vec::new()),
            };
        }
        match keys.as_slice() {
            ["variable", name, ..] => {
                let used = Wanted::within(self.dir, format!("var.{name}"), sure);
                let set = Wanted::everywhere(format!("TF_VAR_{name}"), sure);
                (Carrier::Variable((*name).to_owned()), vec![used, set])
            }
            ["output", name, ..] => (Carrier::Output((*name).to_owned()), Vec::new()),
            ["locals", name, ..] => {
                let used = Wanted::within(self.dir, format!("local.{name}"), sure);
                (Carrier::Local((*name).to_owned()), vec![used])
            }
            ["resource", kind, name, ..] => {
                let address = format!("{kind}.{name}");
                let used =
                    (*kind == "aws_dynamodb_table").then(|| Wanted::within(self.dir, address.clone(), sure));
                (Carrier::Block(address), used.into_iter().collect())
            }
            ["module", name, rest @ ..] => {
                let of_call = |member: &&Member| member.keys == ["module", name, "source"];
                let source = members.iter().rfind(of_call).map(|member| self.text.lossy(member.span));
                let leads_to = rest
                    .first()
                    .zip(source)
                    .map(|(argument, source)| self.in_module(argument, source.trim_matches('"'), sure));
                (Carrier::Block(format!("module.{name}")), leads_to.unwrap_or_default())
            }
            ["data", kind, name, ..] => (Carrier::Block(format!("data.{kind}.{name}")), Vec::new()),
            [keyword, ..] => (Carrier::Block((*keyword).to_owned()), Vec::new()),
            [] => (Carrier::Line, Vec::new()),
        }
    }

    /// A variable that a variable file sets is declared beside the file or above it.
    fn declared(&self, name: &str, sure: bool) -> Vec<Wanted> {
        if !name_of(self.path).contains(".tfvars") {
            return Vec::new();
        }
        let mut dirs = vec![self.dir];
        while let Some(above) = dirs.last().copied().filter(|dir| !matches!(*dir, "." | "" | "/")) {
            dirs.push(dir_of(above));
        }
        dirs.into_iter().map(|dir| Wanted::within(dir, format!("variable \"{name}\""), sure)).collect()
    }

    /// What carries the word in a line of a script, a pipeline, a file of settings or a text.
    fn in_line(&self, word: &Wanted, at: Span) -> (Carrier, Vec<Wanted>) {
        if let Some((kind, name)) = word.text.split_once('.') {
            let by_service = match kind {
                "secrets" => Some(Carrier::CiSecret(name.to_owned())),
                "vars" => Some(Carrier::CiVariable(name.to_owned())),
                "env" => Some(Carrier::Environment(name.to_owned())),
                _ => None,
            };
            if let Some(carrier) = by_service {
                return (carrier, Vec::new());
            }
        }
        let line = self.text.line_span(at.start);
        let before = self.text.lossy(Span::new(line.start.max(at.start.saturating_sub(LINE)), at.start));
        let after = self.text.lossy(Span::new(at.end, line.end.min(at.end.saturating_add(LINE))));
        if is_environment_name(&word.text) || word.text.starts_with("TF_VAR_") {
            // Set here from something that the CI service keeps: that is where the value is.
            let from = after.trim_start().starts_with([':', '=', '"', '\'']).then(|| kept_by_service(&after));
            return (Carrier::Environment(word.text.clone()), from.unwrap_or_default());
        }
        match key(&before) {
            Some(name) if name.starts_with("TF_VAR_") => {
                let variable = name.trim_start_matches("TF_VAR_");
                let declared = Wanted::everywhere(format!("variable \"{variable}\""), word.sure);
                (Carrier::Environment(name.to_owned()), vec![declared])
            }
            Some(name) if is_environment_name(name) => {
                (Carrier::Environment(name.to_owned()), of_environment(name, word.sure))
            }
            // JSON often stands on one line: its first key says nothing.
            Some(name) if self.class == FileClass::Yaml => (Carrier::VarFile(name.to_owned()), Vec::new()),
            _ => (Carrier::Line, Vec::new()),
        }
    }
}

/// Every string of a JSON text, in order. Tolerant: whoever loads the file says what is wrong with it.
fn members(bytes: &[u8]) -> Vec<Member> {
    /// Deeper text is no configuration.
    const MAX_DEPTH: usize = 32;
    let mut found: Vec<Member> = Vec::new();
    // The key that each open object is at; arrays have none.
    let mut open: Vec<Option<String>> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let start = at;
                at += 1;
                while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                let keys = open.iter().flatten().cloned().collect();
                found.push(Member { span: Span::new(start, (at + 1).min(bytes.len())), keys });
            }
            b':' => {
                if let (Some(key), Some(last)) = (open.last_mut(), found.last_mut()) {
                    let inner = Span::new(last.span.start + 1, last.span.end.saturating_sub(1));
                    let name = String::from_utf8_lossy(inner.of(bytes)).into_owned();
                    last.keys.push(name.clone());
                    *key = Some(name);
                }
            }
            b'{' | b'[' if open.len() < MAX_DEPTH => open.push(None),
            b'{' | b'[' => return found,
            b'}' | b']' => drop(open.pop()),
            b',' => {
                if let Some(key) = open.last_mut() {
                    *key = None;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The outermost block around a place.
fn around(body: &Body, at: Span) -> Option<&Block> {
    body.blocks.iter().find(|block| block.span.contains(at))
}

/// `resource "aws_ssm_parameter" "table"` becomes `aws_ssm_parameter.table`, any other block its words.
fn header(block: &Block) -> String {
    match block.keyword.as_str() {
        "resource" => block.labels.join("."),
        keyword => std::iter::once(keyword)
            .chain(block.labels.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("."),
    }
}

/// The name to which a line assigns what follows: `NAME=`, `export NAME="`, `NAME: `, `"NAME": "`. The last word decides
/// where it assigns itself (`A=1 NAME=`), else the line's first sign does (`NAME: arn:aws:…:table/`).
fn key(before: &str) -> Option<&str> {
    const QUOTES: [char; 4] = ['"', '\'', ' ', '\t'];
    let line = before.trim_end_matches(QUOTES);
    let last = line.rsplit([' ', '\t', ';']).next().unwrap_or(line);
    let assigns =
        |(name, _): &(&str, &str)| name.contains(|character: char| character.is_ascii_alphanumeric());
    let (name, _) = last
        .split_once('=')
        .filter(assigns)
        // `{NAME: value}` on a line with more.
        .or_else(|| last.strip_suffix(':').map(|name| (name, "")).filter(assigns))
        .or_else(|| line.split_once([':', '=']))?;
    let name = name.trim_end_matches(QUOTES).trim_end_matches(['?', ':', '+', ' ']);
    let start = name.rfind(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    let name = name.get(start.map_or(0, |at| at + 1)..)?;
    (!name.is_empty()).then_some(name)
}

/// Secrets and variables of the CI service in an expression.
fn kept_by_service(text: &str) -> Vec<Wanted> {
    text.split(|character: char| !(character.is_ascii_alphanumeric() || "_.-".contains(character)))
        .filter(|word| word.starts_with("secrets.") || word.starts_with("vars."))
        .map(|word| Wanted::everywhere(word, false))
        .collect()
}
