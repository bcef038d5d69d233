//! `terragrunt.hcl.json`: the same facts in JSON syntax, where every string is a template.

use std::ops::Range;

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::expression::{Scope, evaluate, one_line};
use super::generated_text::{computed_settings, is_backend_text, shown_expression};
use super::lexer;
use crate::repo::facts::{Include, TerragruntFacts, Tool, VersionPin, dir_of};
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{BOM, Span, Text};

/// The parser and the reader follow the text's own depth.
const MAX_DEPTH: usize = 60;

/// Reads one Terragrunt file in JSON syntax.
pub(super) fn read(file: &str, text: Text<'_>) -> (TerragruntFacts, Vec<Problem>) {
    let bytes = text.bytes();
    let skipped = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let problem = |offset: usize, message: &str| Problem {
        kind: ProblemKind::ParseError,
        place: text.place(file, offset),
        message: format!("{message}; correct it, or check this file by hand"),
        excerpt: None,
    };
    let refused = |offset: usize, message: &str| (TerragruntFacts::default(), vec![problem(offset, message)]);
    let Ok(json) = std::str::from_utf8(bytes.get(skipped..).unwrap_or_default()) else {
        return refused(0, "JSON must be UTF-8");
    };
    if lexer::depth(json.as_bytes(), Span::new(0, json.len())) > MAX_DEPTH {
        return refused(0, "the JSON nests too deep");
    }
    let parsed = match parse_to_ast(json, &CollectOptions::default(), &ParseOptions::default()) {
        Ok(parsed) => parsed.value,
        Err(error) => return refused(skipped + error.range().start, &error.kind().to_string()),
    };
    let Some(ast::Value::Object(top)) = parsed else { return refused(0, "a JSON object is expected") };
    let mut reader = Reader { file, text, skipped, facts: TerragruntFacts::default() };
    for property in &top.properties {
        reader.top(property);
    }
    (reader.facts, Vec::new())
}

struct Reader<'a> {
    file: &'a str,
    text: Text<'a>,
    /// Bytes before the JSON text: the BOM.
    skipped: usize,
    facts: TerragruntFacts,
}

impl Reader<'_> {
    fn top(&mut self, property: &ObjectProp<'_>) {
        let value = &property.value;
        match property.name.as_str() {
            "remote_state" => {
                for object in objects(value) {
                    self.remote_state(property, object);
                }
            }
            "include" => {
                for object in objects(value) {
                    self.includes(object);
                }
            }
            "locals" => {
                for object in objects(value) {
                    for local in &object.properties {
                        self.facts
                            .locals
                            .push((local.name.as_str().to_owned(), self.expression(&local.value)));
                    }
                }
            }
            "inputs" => self.facts.inputs = Some(self.expression(value)),
            "terraform" => {
                for source in objects(value).into_iter().filter_map(|object| get(object, "source")) {
                    self.facts.has_terraform_source = true;
                    self.facts.terraform_source = Some(self.expression(&source.value));
                }
            }
            "generate" => {
                for object in objects(value) {
                    for block in &object.properties {
                        self.generate(block);
                    }
                }
            }
            "terraform_version_constraint" => {
                self.pin(property, Tool::Terraform, "terraform_version_constraint");
            }
            "terragrunt_version_constraint" => {
                self.pin(property, Tool::Terragrunt, "terragrunt_version_constraint");
            }
            _ => {}
        }
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::new(range.start, range.end).shift(self.skipped)
    }

    fn span_of(&self, ranged: &impl Ranged) -> Span {
        self.span(ranged.start()..ranged.end())
    }

    /// A JSON value as an HCL expression: strings are templates, all else is spelled alike in both.
    fn expression(&self, value: &ast::Value<'_>) -> String {
        match value {
            ast::Value::StringLit(string) if string.value.contains("${") => format!("\"{}\"", string.value),
            other => self.text.lossy(self.span_of(other)).into_owned(),
        }
    }

    fn source(&self, kind: SourceKind, span: Span, body: Span) -> Source {
        Source {
            kind,
            syntax: Syntax::Json,
            place: self.text.place(self.file, span.start),
            span,
            body,
            settings: Vec::new(),
            editability: Editability::Safe,
            label: None,
            git_ignored: false,
        }
    }

    fn remote_state(&mut self, property: &ObjectProp<'_>, object: &ast::Object<'_>) {
        let span = self.span_of(property);
        let backend = get(object, "backend").map(|backend| self.literal(&backend.value));
        let s3 = match backend {
            Some(Value::Text(kind)) if kind != "s3" => {
                self.facts.other_backend = Some(kind);
                return;
            }
            Some(Value::Text(_)) => true,
            _ => false,
        };
        let mut source = self.source(SourceKind::TerragruntRemoteState, span, self.inside(object));
        match get(object, "config") {
            Some(ObjectProp { value: ast::Value::Object(config), .. }) => {
                source.body = self.inside(config);
                self.settings("", config, &mut source.settings);
            }
            Some(config) => self.computed(config, "`config` is computed", &mut source),
            None => {}
        }
        if !s3 {
            let expression = get(object, "backend").map(|backend| self.expression(&backend.value));
            self.facts.expressions.insert(span.start, expression.unwrap_or("null".to_owned()));
            source.editability =
                Editability::ReportOnly("which backend it is can't be told from this file".to_owned());
        }
        self.facts.remote_states.push(source);
    }

    fn computed(&mut self, property: &ObjectProp<'_>, reason: &str, source: &mut Source) {
        let expression = self.expression(&property.value);
        let value = Value::Unknown { expression: shown_expression(&expression), reason: reason.to_owned() };
        let value_span = self.span_of(&property.value);
        self.facts.expressions.insert(value_span.start, expression);
        let whole = lexer::Attribute {
            name: String::new(),
            span: self.span_of(property),
            name_span: self.span_of(&property.name),
            value_span,
        };
        source.settings = computed_settings(self.text, &whole, &value);
        source.editability = Editability::ReportOnly(reason.to_owned());
    }

    fn inside(&self, object: &ast::Object<'_>) -> Span {
        let span = self.span_of(object);
        Span::new(span.start + 1, span.end.saturating_sub(1))
    }

    fn literal(&self, value: &ast::Value<'_>) -> Value {
        match value {
            ast::Value::StringLit(string) if !string.value.contains(['$', '%']) => {
                Value::Text(string.value.to_string())
            }
            ast::Value::Object(_) => Value::Object,
            other => evaluate(&self.expression(other), &Scope::default()).0,
        }
    }

    fn settings(&mut self, prefix: &str, object: &ast::Object<'_>, found: &mut Vec<Setting>) {
        for property in &object.properties {
            let name = format!("{prefix}{}", property.name.as_str());
            let value = self.literal(&property.value);
            let span = self.span_of(property);
            let value_span = self.span_of(&property.value);
            if value.is_unknown() {
                self.facts.expressions.insert(value_span.start, self.expression(&property.value));
            }
            found.push(Setting {
                at: self.text.position(span.start),
                span,
                name_span: self.span_of(&property.name),
                value_span,
                value: without_secrets(&name, value),
                name: name.clone(),
                via: Vec::new(),
            });
            if let ast::Value::Object(nested) = &property.value {
                self.settings(&format!("{name}."), nested, found);
            }
        }
    }

    /// `{"root": {"path": …}}`, or a bare `{"path": …}`.
    fn includes(&mut self, object: &ast::Object<'_>) {
        if get(object, "path").is_some_and(|path| !matches!(path.value, ast::Value::Object(_))) {
            return self.include("", object);
        }
        for labelled in &object.properties {
            for inner in objects(&labelled.value) {
                self.include(labelled.name.as_str(), inner);
            }
        }
    }

    fn include(&mut self, label: &str, object: &ast::Object<'_>) {
        let strategy = get(object, "merge_strategy").map(|strategy| match self.literal(&strategy.value) {
            Value::Text(text) => text,
            _ => self.expression(&strategy.value),
        });
        self.facts.includes.push(Include {
            label: label.to_owned(),
            path: get(object, "path").map(|path| self.expression(&path.value)).unwrap_or_default(),
            merge_strategy: strategy,
            place: self.text.place(self.file, self.span_of(object).start),
        });
    }

    fn generate(&mut self, block: &ObjectProp<'_>) {
        let label = block.name.as_str().to_owned();
        let contents = objects(&block.value).into_iter().find_map(|object| get(object, "contents"));
        let Some(contents) = contents.filter(|contents| {
            let bytes = self.span_of(&contents.value);
            is_backend_text(bytes.of(self.text.bytes()))
        }) else {
            self.facts.other_generates.push(label);
            return;
        };
        let span = self.span_of(contents);
        let mut source = self.source(SourceKind::TerragruntGenerate, span, self.span_of(&contents.value));
        self.computed(contents, "the backend stands in a JSON string", &mut source);
        source.label = Some(label);
        source.syntax = Syntax::Other;
        self.facts.generates.push(source);
    }

    fn pin(&mut self, property: &ObjectProp<'_>, tool: Tool, origin: &'static str) {
        let text = match self.literal(&property.value) {
            Value::Text(text) => text,
            _ => one_line(&self.expression(&property.value)),
        };
        self.facts.pins.push(VersionPin {
            tool,
            text,
            place: self.text.place(self.file, self.span_of(property).start),
            origin,
            scope: dir_of(self.file).to_owned(),
        });
    }
}

/// The objects of a value that is a block in native syntax: itself, or the members of an array.
fn objects<'a, 'b>(value: &'b ast::Value<'a>) -> Vec<&'b ast::Object<'a>> {
    match value {
        ast::Value::Object(object) => vec![object],
        ast::Value::Array(items) => items
            .elements
            .iter()
            .filter_map(|item| match item {
                ast::Value::Object(object) => Some(object),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn get<'a, 'b>(object: &'b ast::Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == name)
}
