//! Terraform's JSON syntax: `.tf.json`, `.tofu.json` and JSON backend-config files, with exact byte spans.
//! Blocks follow HCL's JSON mapping: a body is an object, or an array of objects whose properties count as one
//! body; where a block is expected each array element is one block and `null` is none. Only reading: no merging,
//! no native syntax, no evaluation.

use std::collections::BTreeSet;

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::common::Ranged;

use self::document::{WrongType, blocks, children, name_of, properties, property, readable, span};
use super::positions::Positions;
use crate::repo::facts::{BackendBlock, ModuleFacts, RivalBlock};
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{BOM, Place, Span, Text};

mod document;
mod template;
#[cfg(test)]
mod tests;

/// Objects deeper than this in a body hold no backend setting (as in the native syntax's reader).
const MAX_NESTING: usize = 4;

/// Name of a property that is a comment in a body. Among block labels Terraform takes it for a label.
const COMMENT: &str = "//";

/// Reads one `.tf.json` or `.tofu.json` file.
///
/// Source of the mapping: HCL's JSON syntax specification, and Terraform 1.11.4 run on each shape.
pub fn read_module_file(file: &str, text: Text<'_>, is_override: bool) -> (ModuleFacts, Vec<Problem>) {
    let mut reader = Reader::new(file, text);
    let mut facts = ModuleFacts::default();
    let source = readable(text);
    if let Some(root) = reader.parse(&source) {
        let kind = if is_override { SourceKind::BackendOverride } else { SourceKind::Backend };
        reader.module(&root, kind, &mut facts);
    }
    (facts, reader.problems)
}

/// Reads a JSON file given to `-backend-config` (Terraform and OpenTofu take a file whose name ends in `.json`
/// for JSON). Any JSON object is read; whether it has the shape of a backend-config is the caller's question.
/// `None` where there is no object.
pub fn read_flat_json(file: &str, text: Text<'_>) -> (Option<Source>, Vec<Problem>) {
    let mut reader = Reader::new(file, text);
    let source = readable(text);
    let Some(root) = reader.parse(&source) else { return (None, reader.problems) };
    let at = root.range().start;
    let Ok(properties) = properties(&root) else {
        reader.wrong_type(at, "A backend-config file");
        return (None, reader.problems);
    };
    let place = properties.iter().find(|property| name_of(property) != COMMENT).map_or(at, |p| p.start());
    let source = reader.source(SourceKind::BackendConfigFile, &root, place, None);
    (Some(source), reader.problems)
}

struct Reader<'a> {
    file: &'a str,
    text: Text<'a>,
    positions: Positions<'a>,
    problems: Vec<Problem>,
    /// Why nothing in this file may be edited; unset where it may.
    report_only: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: Text<'a>) -> Self {
        Self { file, text, positions: Positions::new(text), problems: Vec::new(), report_only: None }
    }

    fn place(&self, offset: usize) -> Place {
        Place::new(self.file, self.positions.of(offset))
    }

    fn problem(&mut self, kind: ProblemKind, offset: usize, message: String) {
        self.problems.push(Problem { kind, place: self.place(offset), message, excerpt: None });
    }

    fn wrong_type(&mut self, offset: usize, what: &str) {
        let message = format!(
            "{what} must be a JSON object, or an array of objects; Terraform stops here and nothing below was \
             read. Correct the value, then scan again."
        );
        self.problem(ProblemKind::ParseError, offset, message);
    }

    fn parse<'s>(&mut self, source: &'s str) -> Option<ast::Value<'s>> {
        if self.text.bytes().starts_with(BOM) {
            let message = "The file begins with a byte order mark, which Terraform refuses in JSON. Save it as \
                           UTF-8 without one.";
            self.problem(ProblemKind::InvalidValue, 0, message.to_owned());
        }
        let parsed = document::parse(source)
            .and_then(|value| value.ok_or_else(|| (source.len(), "the file holds no value".to_owned())));
        match parsed {
            Ok(value) => Some(value),
            Err((offset, why)) => {
                let message = format!(
                    "The JSON could not be read: {why}. Nothing in this file is known. Correct the JSON, then scan \
                     again; if the file is none of Terraform's, exclude it."
                );
                self.problem(ProblemKind::ParseError, offset, message);
                None
            }
        }
    }

    fn module(&mut self, root: &ast::Value<'_>, kind: SourceKind, facts: &mut ModuleFacts) {
        let Ok(top) = properties(root) else { return self.wrong_type(root.start(), "The file") };
        // CDK for Terraform writes `"//": {"metadata": {…}}` at the top of every file that it synthesizes.
        if children(root, COMMENT).into_iter().any(|property| name_of(property) == "metadata") {
            facts.generated_by = Some("cdktf".to_owned());
            self.report_only = Some(
                "CDK for Terraform writes this file: the next synth undoes an edit. Change the CDKTF source."
                    .to_owned(),
            );
        }
        for property in top {
            match name_of(property) {
                "terraform" => match blocks(&property.value) {
                    Ok(bodies) => bodies.into_iter().for_each(|body| self.terraform(body, kind, facts)),
                    Err(WrongType) => self.wrong_type(property.value.start(), "`terraform`"),
                },
                "data" => {
                    for reader in children(&property.value, "terraform_remote_state") {
                        self.remote_state(reader, facts);
                    }
                }
                "module" => {
                    for module in properties(&property.value).unwrap_or_default() {
                        self.local_module(module, facts);
                    }
                }
                _ => {}
            }
        }
    }

    fn terraform(&mut self, body: &ast::Value<'_>, kind: SourceKind, facts: &mut ModuleFacts) {
        let Ok(properties) = properties(body) else { return self.wrong_type(body.start(), "`terraform`") };
        for property in properties {
            match name_of(property) {
                "backend" => self.backend(property, kind, facts),
                // `cloud` has no label, `state_store` has one: its type.
                "cloud" => self.rivals("cloud", property, facts),
                "state_store" => {
                    for labelled in self::properties(&property.value).unwrap_or_default() {
                        self.rivals("state_store", labelled, facts);
                    }
                }
                "required_version" => {
                    let place = self.place(property.start());
                    facts.required_versions.push((place, self.setting("", property)));
                }
                _ => {}
            }
        }
    }

    fn backend(&mut self, backend: &ObjectProp<'_>, kind: SourceKind, facts: &mut ModuleFacts) {
        let Ok(labels) = properties(&backend.value) else {
            return self.wrong_type(backend.value.start(), "`backend`");
        };
        for label in labels {
            let Ok(bodies) = blocks(&label.value) else {
                self.wrong_type(label.value.start(), "A backend's configuration");
                continue;
            };
            for body in bodies {
                let mut source = self.source(kind, body, label.start(), None);
                let backend_type = name_of(label).to_owned();
                if backend_type != "s3" {
                    source.settings.clear();
                }
                facts.backends.push(BackendBlock { backend_type, source });
            }
        }
    }

    fn rivals(&mut self, keyword: &str, property: &ObjectProp<'_>, facts: &mut ModuleFacts) {
        let count = blocks(&property.value).map_or(1, |bodies| bodies.len());
        for _ in 0..count {
            let place = self.place(property.start());
            facts.rivals.push(RivalBlock { keyword: keyword.to_owned(), place });
        }
    }

    fn local_module(&mut self, module: &ObjectProp<'_>, facts: &mut ModuleFacts) {
        for body in blocks(&module.value).unwrap_or_default() {
            let Some(source) = property(body, "source") else { continue };
            let value = self.scalar("source", &source.value);
            let Some(path) = value.as_text() else { continue };
            if path.starts_with("./") || path.starts_with("../") {
                facts.local_modules.push((self.place(source.start()), path.to_owned()));
            }
        }
    }

    /// A `terraform_remote_state` on s3, or on a backend that can't be told.
    fn remote_state(&mut self, named: &ObjectProp<'_>, facts: &mut ModuleFacts) {
        for body in blocks(&named.value).unwrap_or_default() {
            let Some(backend) = property(body, "backend") else { continue };
            let backend_type = self.scalar("backend", &backend.value);
            if backend_type.as_text() != Some("s3") && !backend_type.is_unknown() {
                continue;
            }
            let config = property(body, "config");
            let label = Some(name_of(named).to_owned());
            let mut reader = match config {
                Some(config) if config.value.as_object().is_some() => {
                    self.source(SourceKind::Reader, &config.value, named.start(), label)
                }
                _ => self.source(SourceKind::Reader, body, named.start(), label),
            };
            let is_null = |value: &ast::Value<'_>| matches!(value, ast::Value::NullKeyword(_));
            match config.filter(|config| !is_null(&config.value)) {
                None => reader.settings.clear(),
                Some(config) if config.value.as_object().is_some() => {}
                // A template that makes the object: the table can't be told, and must not look absent.
                Some(config) => {
                    let mut table = self.setting("", config);
                    table.name = "dynamodb_table".to_owned();
                    if !table.value.is_unknown() {
                        table.value = unknown(self.one_line(&config.value), "`config` is no plain object");
                    }
                    reader.settings = vec![table];
                    reader.editability = Editability::ReportOnly("`config` is no plain object".to_owned());
                }
            }
            if backend_type.is_unknown() {
                reader.editability = Editability::ReportOnly("`backend` is an expression".to_owned());
            }
            facts.readers.push(reader);
        }
    }

    /// A source whose settings are a body's properties.
    fn source(
        &mut self,
        kind: SourceKind,
        body: &ast::Value<'_>,
        place: usize,
        label: Option<String>,
    ) -> Source {
        let whole = span(body);
        let mut settings = Vec::new();
        match properties(body) {
            Ok(properties) => self.collect("", 0, &properties, &mut settings),
            Err(WrongType) => self.wrong_type(whole.start, "A backend's configuration"),
        }
        let editability = if let Some(reason) = &self.report_only {
            Editability::Generated(reason.clone())
        } else if self.duplicates(&settings) {
            Editability::ReportOnly("an argument stands twice: Terraform refuses it".to_owned())
        } else if body.as_object().is_none() {
            Editability::ReportOnly("its arguments are spread over an array of objects".to_owned())
        } else {
            Editability::Safe
        };
        Source {
            kind,
            syntax: Syntax::Json,
            place: self.place(place),
            span: whole,
            body: if whole.len() >= 2 { Span::new(whole.start + 1, whole.end - 1) } else { whole },
            settings,
            editability,
            label,
            git_ignored: false,
        }
    }

    /// HCL: an argument must not stand twice in a body, even with the same value.
    fn duplicates(&mut self, settings: &[Setting]) -> bool {
        let mut seen = BTreeSet::new();
        let mut found = false;
        for setting in settings.iter().filter(|setting| !seen.insert(setting.name.as_str())) {
            found = true;
            let message = format!(
                "`{}` stands twice here; Terraform stops at the second one. Remove one of them.",
                setting.name
            );
            self.problem(ProblemKind::InvalidValue, setting.span.start, message);
        }
        found
    }

    /// Settings of `properties` in order, each nested body followed by its own with dotted names.
    fn collect(&self, prefix: &str, nesting: usize, properties: &[&ObjectProp<'_>], into: &mut Vec<Setting>) {
        for property in properties.iter().filter(|property| name_of(property) != COMMENT) {
            // A nested block may stand in an array. Several objects are a list, no body.
            let is_body = match &property.value {
                ast::Value::Array(array) => matches!(array.elements.as_slice(), [ast::Value::Object(_)]),
                value => value.as_object().is_some(),
            };
            let mut setting = self.setting(prefix, property);
            if is_body {
                setting.value = without_secrets(&setting.name, Value::Object);
            }
            let nested_prefix = format!("{}.", setting.name);
            into.push(setting);
            if is_body && nesting < MAX_NESTING {
                let nested = self::properties(&property.value).unwrap_or_default();
                self.collect(&nested_prefix, nesting + 1, &nested, into);
            }
        }
    }

    fn setting(&self, prefix: &str, property: &ObjectProp<'_>) -> Setting {
        let name = format!("{prefix}{}", name_of(property));
        let value = self.scalar(&name, &property.value);
        let name_span = match &property.name {
            ast::ObjectPropName::String(name) => span(name),
            ast::ObjectPropName::Word(name) => span(name),
        };
        let value_span = span(&property.value);
        let at = self.positions.of(property.start());
        Setting { name, at, span: span(property), name_span, value_span, value, via: Vec::new() }
    }

    /// What a property is worth; secrets dropped.
    fn scalar(&self, name: &str, value: &ast::Value<'_>) -> Value {
        let read = match value {
            ast::Value::StringLit(text)
                if std::str::from_utf8(span(value).of(self.text.bytes())).is_err() =>
            {
                unknown(format!("\"{}\"", text.value), "the text is not UTF-8")
            }
            ast::Value::StringLit(text) => template::value(&text.value),
            ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
            ast::Value::NumberLit(number) => Value::Number(number.value.to_owned()),
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::Array(_) => unknown(self.one_line(value), "a list"),
            ast::Value::Object(_) => Value::Object,
        };
        without_secrets(name, read)
    }

    fn one_line(&self, value: &ast::Value<'_>) -> String {
        self.text.lossy(span(value)).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn unknown(expression: String, reason: &str) -> Value {
    Value::Unknown { expression, reason: reason.to_owned() }
}
