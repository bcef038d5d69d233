//! Terragrunt files to facts: `remote_state`, `include`, `generate`, `locals`, constraints, extra arguments. One file
//! at a time; what its parents add is [`crate::repo::terragrunt`]'s.
//!
//! Source of the grammar: Terragrunt `pkg/config/config.go` and `internal/remotestate/config.go`.

use super::expression::{Scope, evaluate, one_line};
use super::generated_text::{computed_settings, heredoc, is_backend_text, mentions, template_backends};
use super::hcl::{self, braces, parse_problem};
use super::lexer::{self, Attribute, Block};
use crate::repo::facts::{Include, TerragruntFacts, Tool, VersionPin, dir_of, name_of};
use crate::repo::problem::Problem;
use crate::repo::setting::{Setting, Value};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text};

pub use super::generated_text::shown_expression;

/// Longer expressions are not kept: no setting is worth more.
const MAX_EXPRESSION: usize = 16 * 1024;

/// `.hcl` files of other programs, by the end of their name. Sources: the programs' documentation.
const OTHERS: [&str; 17] = [
    ".terraform.lock.hcl",
    ".tflint.hcl",
    ".pkr.hcl",
    ".pkrvars.hcl",
    ".auto.pkrvars.hcl",
    ".nomad.hcl",
    ".tm.hcl",
    ".tftest.hcl",
    ".tofutest.hcl",
    ".tfmock.hcl",
    ".tfquery.hcl",
    ".tfcomponent.hcl",
    ".tfdeploy.hcl",
    ".tfstack.hcl",
    ".sentinel.hcl",
    "sentinel.hcl",
    "docker-bake.hcl",
];

/// Whether a file of this name may be Terragrunt's: the names that it looks for, and every other `.hcl`, because
/// any of them may be included or read. Lock files, Packer, Nomad, tests and the like are not.
pub fn is_terragrunt(path: &str) -> bool {
    let name = name_of(path);
    let other = || OTHERS.iter().any(|end| name.ends_with(end));
    name == "terragrunt.hcl.json" || (name.ends_with(".hcl") && name != ".hcl" && !other())
}

/// Whether the name alone says that the file is Terragrunt's.
fn is_named_so(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.starts_with("terragrunt.") || name == "root.hcl"
}

/// Reads one Terragrunt file in native syntax (`.hcl`) or JSON (`.hcl.json`).
///
/// Problems: text that HCL would refuse. In a file that only its ending makes Terragrunt's, they are told only when
/// it mentions a backend.
pub fn read_terragrunt(file: &str, text: Text<'_>) -> (TerragruntFacts, Vec<Problem>) {
    if file.ends_with(".json") {
        return super::terragrunt_json::read(file, text);
    }
    let mut reader = Reader { file, text, facts: TerragruntFacts::default(), problems: Vec::new() };
    let top = lexer::body(text.bytes(), Span::new(0, text.bytes().len()));
    let ours = is_named_so(file) || mentions(text.bytes(), &[b"remote_state", b"backend"]);
    if let Some(error) = top.error.iter().find(|_| ours) {
        reader.problems.push(parse_problem(file, text, error));
    }
    for block in &top.blocks {
        match (block.keyword.as_str(), block.labels.as_slice()) {
            ("remote_state", []) => {
                let inner = reader.inner(block);
                reader.remote_state(block.span, block.body, &inner);
            }
            ("include", labels) => reader.include(block, labels.first().map_or("", String::as_str)),
            ("generate", [label]) => reader.generate(block, label),
            ("locals", []) => {
                let inner = reader.inner(block);
                for local in &inner.attributes {
                    let expression = reader.expression(local.value_span);
                    reader.facts.locals.push((local.name.clone(), expression));
                }
            }
            ("terraform", []) => reader.terraform(block),
            _ => {}
        }
    }
    let terraform = binary(text, &top);
    for attribute in &top.attributes {
        match attribute.name.as_str() {
            "remote_state" => reader.remote_state_attribute(attribute),
            "generate" => reader.generate_attribute(attribute),
            "inputs" => reader.facts.inputs = Some(reader.expression(attribute.value_span)),
            "terraform_version_constraint" => {
                reader.pin(attribute, terraform, "terraform_version_constraint");
            }
            "terragrunt_version_constraint" => {
                reader.pin(attribute, Tool::Terragrunt, "terragrunt_version_constraint");
            }
            _ => {}
        }
    }
    (reader.facts, reader.problems)
}

/// Which program `terraform_version_constraint` is about.
fn binary(text: Text<'_>, top: &lexer::Body) -> Tool {
    match top.attribute("terraform_binary").map(|binary| literal(text, binary.value_span)) {
        Some(Value::Text(path)) if path.rsplit('/').next() == Some("tofu") => Tool::OpenTofu,
        _ => Tool::Terraform,
    }
}

fn literal(text: Text<'_>, span: Span) -> Value {
    evaluate(&text.lossy(span), &Scope::default()).0
}

struct Reader<'a> {
    file: &'a str,
    text: Text<'a>,
    facts: TerragruntFacts,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    /// A block's items; what HCL would refuse in it is a problem.
    fn inner(&mut self, block: &Block) -> lexer::Body {
        let inner = lexer::body(self.text.bytes(), block.body);
        self.problems.extend(inner.error.iter().map(|error| parse_problem(self.file, self.text, error)));
        inner
    }

    /// An expression's text for later. Of one that is too long so much is kept that the parser refuses it for its
    /// length.
    fn expression(&self, span: Span) -> String {
        let end = span.end.min(span.start + MAX_EXPRESSION + 1);
        self.text.lossy(Span::new(span.start, end)).into_owned()
    }

    fn remote_state_attribute(&mut self, attribute: &Attribute) {
        match braces(self.text, attribute.value_span) {
            Some(body) => {
                let inner = lexer::object(self.text.bytes(), body);
                self.problems
                    .extend(inner.error.iter().map(|error| parse_problem(self.file, self.text, error)));
                self.remote_state(attribute.span, body, &inner);
            }
            None => {
                let reason = "`remote_state` is computed";
                let settings = self.computed(attribute, reason);
                let source =
                    self.source(SourceKind::TerragruntRemoteState, attribute.span, attribute.value_span);
                self.facts.remote_states.push(Source {
                    settings,
                    editability: Editability::ReportOnly(reason.to_owned()),
                    ..source
                });
            }
        }
    }

    fn remote_state(&mut self, span: Span, body: Span, inner: &lexer::Body) {
        let backend = inner.attribute("backend");
        match backend.map(|backend| literal(self.text, backend.value_span)) {
            Some(Value::Text(kind)) if kind == "s3" => {}
            Some(Value::Text(kind)) => {
                self.facts.other_backend = Some(kind);
                return;
            }
            _ => {}
        }
        let mut source = self.source(SourceKind::TerragruntRemoteState, span, body);
        if let Some(config) = inner.attribute("config") {
            match (braces(self.text, config.value_span), hcl::object_settings(self.text, config.value_span)) {
                (Some(body), Ok(settings)) => {
                    source.body = body;
                    source.settings = settings;
                    self.keep_expressions(&source);
                }
                (_, Err(error)) => {
                    let reason = format!("`config` is computed: {error}");
                    source.settings = self.computed(config, &reason);
                    source.editability = Editability::ReportOnly(reason);
                }
                (None, Ok(_)) => {}
            }
        }
        if let Some(generate) =
            inner.attribute("generate").and_then(|found| braces(self.text, found.value_span))
        {
            let generate = lexer::object(self.text.bytes(), generate);
            self.keep_written(&source, &generate);
        }
        let s3 = backend.is_some_and(
            |backend| matches!(literal(self.text, backend.value_span), Value::Text(kind) if kind == "s3"),
        );
        if !s3 {
            let expression = backend.map_or("null".to_owned(), |backend| self.expression(backend.value_span));
            self.facts.expressions.insert(source.span.start, expression);
            let reason = "which backend it is can't be told from this file";
            source.editability = Editability::ReportOnly(reason.to_owned());
        }
        self.facts.remote_states.push(source);
    }

    fn source(&self, kind: SourceKind, span: Span, body: Span) -> Source {
        Source {
            kind,
            syntax: Syntax::HclObject,
            place: self.text.place(self.file, span.start),
            span,
            body,
            settings: Vec::new(),
            editability: Editability::Safe,
            label: None,
            git_ignored: false,
        }
    }

    /// The settings of something computed: unknown under every name that decides, see
    /// [`crate::repo::terragrunt::opaque`].
    fn computed(&mut self, attribute: &Attribute, reason: &str) -> Vec<Setting> {
        let whole = self.expression(attribute.value_span);
        let value = Value::Unknown { expression: shown_expression(&whole), reason: reason.to_owned() };
        self.facts.expressions.insert(attribute.value_span.start, whole);
        computed_settings(self.text, attribute, &value)
    }

    fn keep_expressions(&mut self, source: &Source) {
        // What stands for the whole block (see `computed_settings`) is no expression.
        let single = |setting: &&Setting| setting.value.is_unknown() && setting.value_span != source.span;
        for setting in source.settings.iter().filter(single) {
            let expression = self.expression(setting.value_span);
            // Escaped for Terragrunt: the generated file holds the expression, and only a run of it can tell.
            if expression.contains("$${") || expression.contains("%%{") {
                continue;
            }
            self.facts.expressions.insert(setting.value_span.start, expression);
        }
    }

    fn include(&mut self, block: &Block, label: &str) {
        let inner = self.inner(block);
        let path = inner.attribute("path").map(|path| self.expression(path.value_span)).unwrap_or_default();
        let strategy =
            inner.attribute("merge_strategy").map(|strategy| match literal(self.text, strategy.value_span) {
                Value::Text(text) => text,
                _ => self.expression(strategy.value_span),
            });
        self.facts.includes.push(Include {
            label: label.to_owned(),
            path,
            merge_strategy: strategy,
            place: self.text.place(self.file, block.span.start),
        });
    }

    fn terraform(&mut self, block: &Block) {
        let inner = self.inner(block);
        if let Some(source) = inner.attribute("source") {
            self.facts.has_terraform_source = true;
            self.facts.terraform_source = Some(self.expression(source.value_span));
        }
        for arguments in inner.blocks_of("extra_arguments") {
            let call = super::terragrunt_arguments::read(self.file, self.text, arguments);
            self.facts.extra_arguments.extend(call);
        }
    }

    fn pin(&mut self, attribute: &Attribute, tool: Tool, origin: &'static str) {
        let text = match literal(self.text, attribute.value_span) {
            Value::Text(text) => text,
            _ => one_line(&self.text.lossy(attribute.value_span)),
        };
        self.facts.pins.push(VersionPin {
            tool,
            text,
            place: self.text.place(self.file, attribute.span.start),
            origin,
            scope: dir_of(self.file).to_owned(),
        });
    }

    fn generate(&mut self, block: &Block, label: &str) {
        let inner = self.inner(block);
        let disabled = inner.attribute("disable").map(|disable| literal(self.text, disable.value_span));
        let contents = inner.attribute("contents").filter(|_| disabled != Some(Value::Bool(true)));
        let found = contents.map(|contents| self.contents(contents, label, &inner)).unwrap_or_default();
        if found.is_empty() {
            self.facts.other_generates.push(label.to_owned());
        }
        for source in &found {
            self.keep_written(source, &inner);
        }
        self.facts.generates.extend(found);
    }

    /// The file that a source is written to, unless one that is there stays.
    fn keep_written(&mut self, source: &Source, generate: &lexer::Body) {
        let word =
            |name: &str| match generate.attribute(name).map(|found| literal(self.text, found.value_span)) {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            };
        if let (Some(path), Some("overwrite" | "overwrite_terragrunt")) =
            (word("path"), word("if_exists").as_deref())
        {
            self.facts.written.insert(source.span.start, path);
        }
    }

    /// Backends in the text that a `generate` block writes.
    fn contents(&mut self, contents: &Attribute, label: &str, block: &lexer::Body) -> Vec<Source> {
        let bytes = contents.value_span.of(self.text.bytes());
        let label = Some(label.to_owned());
        if let Some(region) = heredoc(self.text, contents.value_span) {
            let kind = SourceKind::TerragruntGenerate;
            let (mut sources, problems) = template_backends(self.file, self.text, region, kind);
            self.problems.extend(problems);
            for source in &mut sources {
                source.label = label.clone();
                self.keep_expressions(source);
            }
            return sources;
        }
        let reason = if bytes.starts_with(b"\"") {
            let written = lexer::unquote(bytes);
            if !is_backend_text(written.as_bytes()) {
                return Vec::new();
            }
            "the backend stands in a quoted string"
        } else if writes_backend(self.text, block) {
            "the generated backend is computed"
        } else {
            return Vec::new();
        };
        let settings = self.computed(contents, reason);
        let source = self.source(SourceKind::TerragruntGenerate, contents.span, contents.value_span);
        let editability = Editability::ReportOnly(reason.to_owned());
        vec![Source { settings, syntax: Syntax::Other, editability, label, ..source }]
    }

    /// `generate = { … }`: rare; told when it speaks of an s3 backend.
    fn generate_attribute(&mut self, attribute: &Attribute) {
        let bytes = attribute.value_span.of(self.text.bytes());
        if !is_backend_text(bytes) {
            return;
        }
        let reason = "`generate` is an attribute here, not a block";
        let settings = self.computed(attribute, reason);
        let source = self.source(SourceKind::TerragruntGenerate, attribute.span, attribute.value_span);
        let editability = Editability::ReportOnly(reason.to_owned());
        self.facts.generates.push(Source {
            settings,
            syntax: Syntax::Other,
            editability,
            label: Some("generate".to_owned()),
            ..source
        });
    }
}

/// Whether a `generate` block with computed contents is likely to write a backend: its file's name says so.
fn writes_backend(text: Text<'_>, block: &lexer::Body) -> bool {
    let path = block.attribute("path").map(|path| text.lossy(path.value_span)).unwrap_or_default();
    let contents =
        block.attribute("contents").map(|contents| text.lossy(contents.value_span)).unwrap_or_default();
    path.contains("backend") || contents.contains("backend")
}

#[cfg(test)]
mod tests;
