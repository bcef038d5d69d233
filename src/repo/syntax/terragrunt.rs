//! Terragrunt files to facts: `remote_state`, `include`, `generate`, `locals`, constraints, extra arguments. One file
//! at a time; what its parents add is [`crate::repo::terragrunt`]'s.
//!
//! Source of the grammar: Terragrunt `pkg/config/config.go` and `internal/remotestate/config.go`.

use super::expression::{Scope, evaluate, one_line};
use super::hcl::{self, braces, parse_problem};
use super::lexer::{self, Attribute, Block};
use crate::repo::facts::{Include, TerragruntFacts, Tool, VersionPin, dir_of};
use crate::repo::problem::Problem;
use crate::repo::setting::{Setting, Value, is_secret, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text};

/// Longer expressions are not kept: no setting is worth more.
const MAX_EXPRESSION: usize = 16 * 1024;

/// Names under which a computed `config` is unknown: those that say which state it is and which locks it takes.
pub(super) const IDENTIFYING: [&str; 5] = ["bucket", "key", "region", "dynamodb_table", "use_lockfile"];

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
    let name = path.rsplit('/').next().unwrap_or(path);
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

pub(super) fn mentions(bytes: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| memchr::memmem::find(bytes, word).is_some())
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

    /// An expression's text for later; one that is too long is left out and can't be told then.
    fn expression(&self, span: Span) -> String {
        if span.len() > MAX_EXPRESSION { "null_because_too_long".to_owned() } else { self.text.lossy(span) }
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
                    self.keep_expressions(&source.settings);
                }
                (_, Err(error)) => {
                    let reason = format!("`config` is computed: {error}");
                    source.settings = self.computed(config, &reason);
                    source.editability = Editability::ReportOnly(reason);
                }
                (None, Ok(_)) => {}
            }
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

    fn keep_expressions(&mut self, settings: &[Setting]) {
        for setting in settings.iter().filter(|setting| setting.value.is_unknown()) {
            let expression = self.expression(setting.value_span);
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
        self.facts.generates.extend(found);
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
                self.keep_expressions(&source.settings);
            }
            return sources;
        }
        let reason = if bytes.starts_with(b"\"") {
            let text = lexer::unquote(bytes);
            let inner = lexer::body(text.as_bytes(), Span::new(0, text.len()));
            let found = hcl::backends_in_region(
                self.file,
                Text::new(text.as_bytes()),
                Span::new(0, text.len()),
                SourceKind::TerragruntGenerate,
            );
            if found.0.is_empty() && inner.error.is_none() {
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
        if !(mentions(bytes, &[b"backend"]) && mentions(bytes, &[b"s3"])) {
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

/// One unknown value under every name that decides.
pub(super) fn computed_settings(text: Text<'_>, attribute: &Attribute, value: &Value) -> Vec<Setting> {
    let setting = |name: &str| Setting {
        name: name.to_owned(),
        at: text.position(attribute.span.start),
        span: attribute.span,
        name_span: attribute.name_span,
        value_span: attribute.value_span,
        value: value.clone(),
        via: Vec::new(),
    };
    IDENTIFYING.iter().map(|name| setting(name)).collect()
}

/// The lines of a heredoc, opener and marker left out; `None` for any other expression.
pub(super) fn heredoc(text: Text<'_>, value: Span) -> Option<Span> {
    let bytes = value.of(text.bytes());
    let rest = bytes.strip_prefix(b"<<")?;
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    let opener = memchr::memchr(b'\n', rest)?;
    let marker = rest.get(..opener)?.trim_ascii();
    let start = bytes.len() - rest.len() + opener + 1;
    let last = memchr::memrchr(b'\n', bytes).map_or(start, |at| at + 1);
    let closed = bytes.get(last..).is_some_and(|line| line.trim_ascii() == marker);
    (closed && last >= start).then(|| Span::new(value.start + start, value.start + last))
}

/// The s3 backends in the text of a template, with exact places. A `${…}` is for the generator, a `$${…}` for the
/// program that reads the result, a `%{…}` may leave lines out.
pub(super) fn template_backends(
    file: &str,
    text: Text<'_>,
    region: Span,
    kind: SourceKind,
) -> (Vec<Source>, Vec<Problem>) {
    let bytes = region.of(text.bytes());
    if !mentions(bytes, &[b"backend"]) {
        return (Vec::new(), Vec::new());
    }
    let (mut sources, _) = hcl::backends_in_region(file, text, region, kind);
    let directives = mentions(bytes, &[b"%{"]);
    let mut problems = Vec::new();
    if let Some(error) = structure_error(text, region, &sources).filter(|_| !directives) {
        problems.push(parse_problem(file, text, &error));
    }
    for source in &mut sources {
        for setting in &mut source.settings {
            let written = text.lossy(setting.value_span);
            if written.contains("$${") || written.contains("%%{") {
                let reason = "the generated file holds an expression here".to_owned();
                let value = Value::Unknown { expression: one_line(&written), reason };
                setting.value = without_secrets(&setting.name, value);
            }
        }
        if directives && mentions(source.span.of(text.bytes()), &[b"%{"]) {
            let reason = "a template directive decides what stands here".to_owned();
            let unknown = Value::Unknown {
                expression: shown_expression(&text.lossy(source.span)),
                reason: reason.clone(),
            };
            let whole = Attribute {
                name: String::new(),
                span: source.span,
                name_span: source.span,
                value_span: source.span,
            };
            source.settings.extend(computed_settings(text, &whole, &unknown));
            source.editability = Editability::ReportOnly(reason);
        }
    }
    (sources, problems)
}

/// What HCL would refuse in the shape of a template's text; single values may be anything before they are filled in.
fn structure_error(text: Text<'_>, region: Span, sources: &[Source]) -> Option<lexer::LexError> {
    let top = lexer::body(text.bytes(), region);
    let inner =
        top.blocks_of("terraform").map(|block| block.body).chain(sources.iter().map(|source| source.body));
    let error = inner.filter_map(|body| lexer::body(text.bytes(), body).error).next();
    top.error.or(error)
}

/// An expression as it may be shown: not when it names an argument that holds a secret.
pub fn shown_expression(text: &str) -> String {
    let mut words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    if words.any(is_secret) { "(not shown: it names a secret)".to_owned() } else { one_line(text) }
}

#[cfg(test)]
mod tests;
