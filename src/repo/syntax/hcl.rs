//! HCL native syntax to facts: the blocks of a Terraform or OpenTofu file, and flat backend-config files.
//! Blocks and arguments are located by [`super::lexer`]; only single values reach the expression parser.

use std::collections::BTreeSet;

use super::expression::{self, Scope};
use super::json;
use super::lexer::{self, Attribute, Block, LexError};
use super::positions::Positions;
use crate::repo::facts::{BackendBlock, ModuleFacts, RivalBlock};
use crate::repo::needles::Needles;
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::secret::NOT_SHOWN;
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Place, Span, Text};

pub use super::expression::evaluate;

/// Nested blocks and objects deeper than this hold no backend setting.
const MAX_NESTING: usize = 4;

/// Every setting of a body: arguments, then what nested blocks and objects hold, names dotted. Secrets are
/// dropped here. The error is the first thing that HCL would refuse; settings around it are kept.
pub fn settings(text: Text<'_>, body: Span) -> (Vec<Setting>, Option<LexError>) {
    settings_of(&Positions::new(text), body)
}

fn settings_of(at: &Positions<'_>, body: Span) -> (Vec<Setting>, Option<LexError>) {
    let text = at.text();
    let mut found = Vec::new();
    let error = collect(at, lexer::body(text.bytes(), body), "", 0, &mut found);
    found.sort_by_key(|setting: &Setting| (setting.span.start, setting.name.len()));
    (found, error)
}

/// Every setting of an object expression; `object` is the span with its braces.
pub fn object_settings(text: Text<'_>, object: Span) -> Result<Vec<Setting>, String> {
    object_settings_of(&Positions::new(text), object)
}

fn object_settings_of(at: &Positions<'_>, object: Span) -> Result<Vec<Setting>, String> {
    let text = at.text();
    let Some(inner) = braces(text, object) else { return Err("it is not an object in braces".to_owned()) };
    let mut found = Vec::new();
    match collect(at, lexer::object(text.bytes(), inner), "", 0, &mut found) {
        Some(error) => Err(error.message),
        None => Ok(found),
    }
}

/// Between the braces of `{ … }`.
pub fn braces(text: Text<'_>, span: Span) -> Option<Span> {
    let bytes = span.of(text.bytes());
    (bytes.len() >= 2 && bytes.starts_with(b"{") && bytes.ends_with(b"}"))
        .then(|| Span::new(span.start + 1, span.end - 1))
}

fn collect(
    at: &Positions<'_>,
    body: lexer::Body,
    prefix: &str,
    nesting: usize,
    found: &mut Vec<Setting>,
) -> Option<LexError> {
    let text = at.text();
    let mut error = body.error;
    if nesting == 0 {
        // Kept of thousands of files: without room to spare.
        found.reserve_exact(body.attributes.len() + body.blocks.len());
    }
    for mut attribute in body.attributes {
        let name = below(prefix, std::mem::take(&mut attribute.name));
        let inner = braces(text, attribute.value_span).filter(|_| nesting < MAX_NESTING);
        let value = match inner {
            Some(_) => Value::Object,
            None => evaluate(&text.lossy(attribute.value_span), &Scope::default()).0,
        };
        if error.is_none() && inner.is_none() && value.is_unknown() {
            error = syntax_error(text, &attribute);
        }
        let Some(inner) = inner else {
            found.push(setting(at, name, &attribute, value));
            continue;
        };
        let prefix = format!("{name}.");
        found.push(setting(at, name, &attribute, value));
        let nested = collect(at, lexer::object(text.bytes(), inner), &prefix, nesting + 1, found);
        error = error.or(nested);
    }
    for block in body.blocks {
        let name = below(prefix, block.keyword);
        let prefix = format!("{name}.");
        found.push(Setting {
            at: at.of(block.span.start),
            span: block.span,
            name_span: block.keyword_span,
            value_span: Span::new(block.body.start.saturating_sub(1), block.span.end),
            value: Value::Object,
            name,
            via: Vec::new(),
        });
        if nesting < MAX_NESTING {
            let inner = lexer::body(text.bytes(), block.body);
            let nested = collect(at, inner, &prefix, nesting + 1, found);
            error = error.or(nested);
        }
    }
    error
}

/// A name below others.
fn below(prefix: &str, name: String) -> String {
    if prefix.is_empty() { name } else { format!("{prefix}{name}") }
}

/// Text behind `=` that starts as one value and goes on (`a = "x" b = "y"`) hides a setting: it must be said.
fn syntax_error(text: Text<'_>, attribute: &Attribute) -> Option<LexError> {
    let value = text.lossy(attribute.value_span);
    expression::parse(&value)
        .err()
        .map(|reason| LexError { offset: attribute.value_span.start, message: reason })
}

fn setting(at: &Positions<'_>, name: String, attribute: &Attribute, value: Value) -> Setting {
    Setting {
        at: at.of(attribute.span.start),
        value: without_secrets(&name, value),
        name,
        span: attribute.span,
        name_span: attribute.name_span,
        value_span: attribute.value_span,
        via: Vec::new(),
    }
}

/// The problem that a lexer error makes.
pub fn parse_problem(file: &str, text: Text<'_>, error: &LexError) -> Problem {
    Problem {
        kind: ProblemKind::ParseError,
        place: text.place(file, error.offset),
        message: format!("{}; correct it, or check this file by hand", error.message),
        excerpt: None,
    }
}

/// Reads one native-syntax file of a module.
///
/// Problems: text that HCL would refuse, in the parts that were looked at.
pub fn read_module_file(file: &str, text: Text<'_>, is_override: bool) -> (ModuleFacts, Vec<Problem>) {
    let at = &Positions::new(text);
    let mut facts =
        ModuleFacts { generated_by: generated_by(text.bytes()).map(str::to_owned), ..Default::default() };
    let mut problems = Vec::new();
    let whole = Span::new(0, text.bytes().len());
    // A module is mostly other blocks: they are passed over without being kept.
    let top = lexer::blocks(text.bytes(), whole, &[b"terraform", b"data", b"module"]);
    problems.extend(top.error.iter().map(|error| parse_problem(file, text, error)));
    for block in &top.blocks {
        match (block.keyword.as_str(), block.labels.as_slice()) {
            ("terraform", []) => {
                read_terraform_block(file, at, block, is_override, &mut facts, &mut problems);
            }
            ("data", [kind, name]) if kind == "terraform_remote_state" => {
                facts.readers.extend(read_reader(file, at, block, name));
            }
            // Terraform stops at these; they must not pass for a directory without a backend.
            ("terraform", [_, ..])
                if lexer::body(text.bytes(), block.body).blocks_of("backend").next().is_some() =>
            {
                problems.push(misplaced(file, at, block, "`terraform` takes no label"));
            }
            ("module", [_]) => facts.local_modules.extend(local_module(file, at, block)),
            _ => {}
        }
    }
    facts.readers.shrink_to_fit();
    (facts, problems)
}

fn read_terraform_block(
    file: &str,
    at: &Positions<'_>,
    block: &Block,
    is_override: bool,
    facts: &mut ModuleFacts,
    problems: &mut Vec<Problem>,
) {
    let text = at.text();
    let inner = lexer::body(text.bytes(), block.body);
    problems.extend(inner.error.iter().map(|error| parse_problem(file, text, error)));
    for attribute in inner.attributes.iter().filter(|attribute| attribute.name == "required_version") {
        let value = evaluate(&text.lossy(attribute.value_span), &Scope::default()).0;
        let place = at.place(file, attribute.span.start);
        // There is one: room for more would be room for thousands.
        facts.required_versions.reserve_exact(1);
        facts.required_versions.push((place, setting(at, attribute.name.clone(), attribute, value)));
    }
    for attribute in inner.attributes.iter().filter(|attribute| attribute.name == "backend") {
        let error = LexError {
            offset: attribute.span.start,
            message: "`backend` is a block, not an argument: Terraform stops here".to_owned(),
        };
        problems.push(parse_problem(file, text, &error));
    }
    for nested in &inner.blocks {
        match (nested.keyword.as_str(), nested.labels.as_slice()) {
            ("backend", [backend_type]) => {
                let (source, error) = backend_source(file, at, nested, backend_type, is_override);
                problems.extend(error.iter().map(|error| parse_problem(file, text, error)));
                problems.extend(duplicates(file, &source));
                let mut source = source;
                if let Some(generator) = &facts.generated_by {
                    source.editability = generated_copy(generator);
                }
                facts.backends.reserve_exact(1);
                facts.backends.push(BackendBlock { backend_type: backend_type.clone(), source });
            }
            ("backend", _) => problems.push(misplaced(file, at, nested, "`backend` takes exactly one label")),
            ("cloud" | "state_store", _) => facts.rivals.push(RivalBlock {
                keyword: nested.keyword.clone(),
                place: at.place(file, nested.span.start),
            }),
            _ => {}
        }
    }
}

/// A block whose labels Terraform refuses.
fn misplaced(file: &str, at: &Positions<'_>, block: &Block, why: &str) -> Problem {
    let error = LexError { offset: block.span.start, message: format!("{why}: Terraform stops here") };
    parse_problem(file, at.text(), &error)
}

/// Arguments that stand twice in one block. Source: HCL's specification, "Bodies": names must be unique.
fn duplicates(file: &str, source: &Source) -> Vec<Problem> {
    let mut seen = std::collections::BTreeSet::new();
    let repeated = source.settings.iter().filter(|setting| {
        !setting.name.contains('.') && setting.value != Value::Object && !seen.insert(&setting.name)
    });
    repeated
        .map(|setting| Problem {
            kind: ProblemKind::InvalidValue,
            place: Place::new(file, setting.at),
            message: format!(
                "`{}` stands twice in this block: `init` stops here; remove one of them",
                setting.name
            ),
            excerpt: None,
        })
        .collect()
}

/// Why a generated file is not edited.
pub fn generated_copy(generator: &str) -> Editability {
    Editability::Generated(format!("generated by {generator}: an edit here would be undone, edit its origin"))
}

fn backend_source(
    file: &str,
    at: &Positions<'_>,
    block: &Block,
    backend_type: &str,
    is_override: bool,
) -> (Source, Option<LexError>) {
    // Other backends' arguments may be secrets and are none of ours.
    let (settings, error) =
        if backend_type == "s3" { settings_of(at, block.body) } else { (Vec::new(), None) };
    let source = Source {
        kind: if is_override { SourceKind::BackendOverride } else { SourceKind::Backend },
        syntax: Syntax::HclBody,
        place: at.place(file, block.span.start),
        span: block.span,
        body: block.body,
        settings,
        editability: Editability::Safe,
        label: None,
        git_ignored: false,
    };
    (source, error)
}

/// Every `terraform { backend "s3" { … } }` and bare `backend "s3" { … }` in a region of any text (a heredoc, a
/// template), as a source of the given kind. The second part is what HCL would refuse in the region.
pub fn backends_in_region(
    file: &str,
    text: Text<'_>,
    region: Span,
    kind: SourceKind,
) -> (Vec<Source>, Option<LexError>) {
    let at = &Positions::new(text);
    let top = lexer::body(text.bytes(), region);
    let mut error = top.error.clone();
    let mut blocks: Vec<Block> = top.blocks_of("backend").cloned().collect();
    for block in top.blocks_of("terraform") {
        let inner = lexer::body(text.bytes(), block.body);
        blocks.extend(inner.blocks_of("backend").cloned());
        error = error.or(inner.error);
    }
    let mut sources = Vec::new();
    for block in blocks.iter().filter(|block| block.labels == ["s3"]) {
        let (mut source, refused) = backend_source(file, at, block, "s3", false);
        source.kind = kind;
        error = error.or(refused);
        sources.push(source);
    }
    (sources, error)
}

/// A `terraform_remote_state` data source on s3; `None` for other backends.
fn read_reader(file: &str, at: &Positions<'_>, block: &Block, name: &str) -> Option<Source> {
    let text = at.text();
    let inner = lexer::body(text.bytes(), block.body);
    let backend = evaluate(&text.lossy(inner.attribute("backend")?.value_span), &Scope::default()).0;
    if !matches!(&backend, Value::Text(kind) if kind == "s3") && !backend.is_unknown() {
        return None;
    }
    let config = inner.attribute("config");
    let read = config.map(|config| object_settings_of(at, config.value_span));
    let mut syntax = Syntax::HclObject;
    let mut body = config.and_then(|config| braces(text, config.value_span)).unwrap_or(block.body);
    let (settings, editability) = match read {
        Some(Ok(settings)) => (settings, Editability::Safe),
        Some(Err(_)) => {
            // `merge(…)`, `local.x`: the table can't be told, and must not look absent.
            let unknown = config.map(|config| {
                let expression = expression::one_line(&text.lossy(config.value_span));
                let reason = "`config` is not a plain object".to_owned();
                setting(at, config.name.clone(), config, Value::Unknown { expression, reason })
            });
            let editability = Editability::ReportOnly("`config` is not a plain object".to_owned());
            (unknown.into_iter().collect(), editability)
        }
        // Terraform 0.11 takes a block, later ones stop at it.
        None => match inner.blocks_of("config").collect::<Vec<_>>().as_slice() {
            [] => (Vec::new(), Editability::Safe),
            [config] => {
                let (settings, error) = settings_of(at, config.body);
                syntax = Syntax::HclBody;
                body = config.body;
                match error {
                    None => (settings, Editability::Safe),
                    Some(error) => {
                        (vec![unread_config(at, config, &error.message)], report_only(&error.message))
                    }
                }
            }
            [first, ..] => {
                let reason = "`config` stands here more than once";
                (vec![unread_config(at, first, reason)], report_only(reason))
            }
        },
    };
    Some(Source {
        kind: SourceKind::Reader,
        syntax,
        place: at.place(file, block.span.start),
        span: block.span,
        body,
        settings,
        editability,
        label: Some(name.to_owned()),
        git_ignored: false,
    })
}

fn report_only(why: &str) -> Editability {
    Editability::ReportOnly(why.to_owned())
}

/// A `config` block of which nothing can be told: a table in it must not look absent.
fn unread_config(at: &Positions<'_>, block: &Block, why: &str) -> Setting {
    Setting {
        name: block.keyword.clone(),
        at: at.of(block.span.start),
        span: block.span,
        name_span: block.keyword_span,
        value_span: Span::new(block.body.start.saturating_sub(1), block.span.end),
        value: Value::Unknown { expression: "config { … }".to_owned(), reason: why.to_owned() },
        via: Vec::new(),
    }
}

/// The path of a `module` call that stays on this disk. Source: Terraform takes only `./` and `../` as local.
fn local_module(file: &str, at: &Positions<'_>, block: &Block) -> Option<(Place, String)> {
    let text = at.text();
    let inner = lexer::body(text.bytes(), block.body);
    let source = inner.attribute("source")?;
    let Value::Text(path) = evaluate(&text.lossy(source.value_span), &Scope::default()).0 else {
        return None;
    };
    (path.starts_with("./") || path.starts_with("../")).then(|| (at.place(file, source.span.start), path))
}

/// Values that other expressions may refer to: `var.x` for variables with a value, `local.x`, and the parts of those that
/// are objects (`var.x.y`). Locals that refer to other locals are resolved in as many passes as it takes, bounded by their
/// number. Of several defaults the last one counts (override files come last); values from `given`, the files of values
/// that are read without being named (`terraform.tfvars`, also in JSON), go over defaults.
pub fn scope_of(texts: &[Text<'_>], given: &[Text<'_>]) -> Scope {
    let mut scope = Scope::default();
    let mut locals: Vec<(String, String)> = Vec::new();
    let mut declared: BTreeSet<String> = BTreeSet::new();
    // Never resolved, whatever gives them a value: one of several blocks of a name may say so.
    let mut sensitive: BTreeSet<String> = BTreeSet::new();
    for text in texts {
        let top = lexer::body(text.bytes(), Span::new(0, text.bytes().len()));
        for block in &top.blocks {
            let inner = lexer::body(text.bytes(), block.body);
            match (block.keyword.as_str(), block.labels.as_slice()) {
                ("variable", [name]) => {
                    let says = |flag| {
                        inner.attribute(flag).is_some_and(|it| it.value_span.of(text.bytes()) != b"false")
                    };
                    let name = format!("var.{name}");
                    if says("sensitive") || says("ephemeral") {
                        sensitive.insert(name.clone());
                    }
                    if let Some(default) = inner.attribute("default") {
                        let (value, parts) = literal_of(*text, default.value_span);
                        give(&mut scope, &name, value, parts);
                    }
                    declared.insert(name);
                }
                ("locals", []) => {
                    for local in &inner.attributes {
                        locals.push((local.name.clone(), text.lossy(local.value_span).into_owned()));
                        if braces(*text, local.value_span).is_some() {
                            let parts = parts_of(*text, local.value_span);
                            let parts = parts.iter().filter(|part| part.value != Value::Secret);
                            locals.extend(parts.map(|part| {
                                (
                                    format!("{}.{}", local.name, part.name),
                                    text.lossy(part.value_span).into_owned(),
                                )
                            }));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    for text in given {
        let values = if text.bytes().trim_ascii_start().starts_with(b"{") {
            values_in_json(*text)
        } else {
            let top = lexer::body(text.bytes(), Span::new(0, text.bytes().len()));
            let value = |given: &Attribute| (given.name.clone(), literal_of(*text, given.value_span));
            Some(top.attributes.iter().map(value).collect())
        };
        let Some(values) = values else {
            // What it gives can't be told: none of the values before it is known any more.
            scope.0.clear();
            continue;
        };
        for (name, (value, parts)) in values {
            let name = format!("var.{name}");
            if declared.contains(&name) {
                give(&mut scope, &name, value, parts);
            }
        }
    }
    for name in sensitive {
        let reason = "it is sensitive, so its value is neither resolved nor shown".to_owned();
        give(&mut scope, &name, Value::Unknown { expression: NOT_SHOWN.to_owned(), reason }, Vec::new());
    }
    // Few locals depend on others, and chains are short; the bound keeps a hostile file from costing more.
    for _ in 0..8 {
        let before = scope.0.len();
        locals.retain(|(name, expression)| {
            let value = evaluate(expression, &scope).0;
            let unknown = value.is_unknown();
            if !unknown {
                scope.0.insert(format!("local.{name}"), value);
            }
            unknown
        });
        if scope.0.len() == before {
            break;
        }
    }
    scope
}

/// The parts of an object that are known, by their dotted names.
type Parts = Vec<(String, Value)>;

/// A value in the place of any earlier one, parts included.
fn give(scope: &mut Scope, name: &str, value: Value, parts: Parts) {
    let below = format!("{name}.");
    let after = scope.0.range(below.clone()..).map(|(have, _)| have);
    let earlier: Vec<String> = after.take_while(|have| have.starts_with(&below)).cloned().collect();
    for part in earlier {
        scope.0.remove(&part);
    }
    scope.0.extend(parts.into_iter().map(|(part, value)| (format!("{below}{part}"), value)));
    scope.0.insert(name.to_owned(), value);
}

/// What an expression that refers to nothing is worth, and the parts of an object.
fn literal_of(text: Text<'_>, span: Span) -> (Value, Parts) {
    let value = evaluate(&text.lossy(span), &Scope::default()).0;
    let parts = match value {
        Value::Object => parts_of(text, span),
        _ => Vec::new(),
    };
    (value, known_parts(parts))
}

/// The parts of an object by their dotted names; none where an expression makes one of the keys.
fn parts_of(text: Text<'_>, object: Span) -> Vec<Setting> {
    let parts = object_settings(text, object).unwrap_or_default();
    if parts.is_empty() || expression::has_plain_keys(&text.lossy(object)) { parts } else { Vec::new() }
}

/// A part that is `null` may have a default of its own (`optional(string, "x")`): it is not known.
fn known_parts(parts: Vec<Setting>) -> Parts {
    let known = |part: &Setting| matches!(part.value, Value::Text(_) | Value::Bool(_) | Value::Number(_));
    parts.into_iter().filter(known).map(|part| (part.name, part.value)).collect()
}

/// The values that a JSON file gives, by name; `None` where it can't be read.
fn values_in_json(text: Text<'_>) -> Option<Vec<(String, (Value, Parts))>> {
    let (source, problems) = json::read_flat_json("", text);
    let settings = source.filter(|_| problems.is_empty())?.settings;
    let mut values: Vec<(String, (Value, Parts))> = Vec::new();
    // The parts of an object follow it.
    for setting in settings {
        match setting.name.split_once('.') {
            None => values.push((setting.name, (setting.value, Vec::new()))),
            Some((_, part)) => {
                let name = part.to_owned();
                if let Some((_, (_, parts))) = values.last_mut() {
                    parts.extend(known_parts(vec![Setting { name, ..setting }]));
                }
            }
        }
    }
    Some(values)
}

/// Reads a flat `key = value` file, as given to `-backend-config=FILE`. `None` when it sets nothing.
pub fn read_flat(file: &str, text: Text<'_>) -> (Option<Source>, Vec<Problem>) {
    let whole = Span::new(0, text.bytes().len());
    let (settings, error) = settings(text, whole);
    let problems = error.iter().map(|error| parse_problem(file, text, error)).collect();
    let source = (!settings.is_empty()).then(|| flat_source(file, text, settings));
    (source, problems)
}

/// A flat file as a source, whatever it sets.
pub fn flat_source(file: &str, text: Text<'_>, settings: Vec<Setting>) -> Source {
    let whole = Span::new(0, text.bytes().len());
    Source {
        kind: SourceKind::BackendConfigFile,
        syntax: Syntax::HclBody,
        place: text.place(file, settings.first().map_or(0, |first| first.span.start)),
        span: whole,
        body: whole,
        editability: Editability::Safe,
        label: None,
        git_ignored: false,
        settings,
    }
}

/// The generator that a file's header names. Source: the headers that Terragrunt and Terramate write.
pub fn generated_by(bytes: &[u8]) -> Option<&'static str> {
    const TERRAGRUNT: &[u8] = b"Generated by Terragrunt. Sig:";
    static HEADERS: Needles = Needles::new(&[TERRAGRUNT, b"TERRAMATE: GENERATED"]);
    let head = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    HEADERS.first_in(head).map(|header| if header == TERRAGRUNT { "Terragrunt" } else { "Terramate" })
}

#[cfg(test)]
mod tests {
    use super::super::backend_arguments::has_backend_shape;
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> (ModuleFacts, Vec<Problem>) {
        read_module_file("main.tf", Text::new(text.as_bytes()), false)
    }

    fn names(settings: &[Setting]) -> Vec<(&str, Value)> {
        settings.iter().map(|s| (s.name.as_str(), s.value.clone())).collect()
    }

    #[test]
    fn a_backend_block_with_everything() {
        let text = "terraform {\n  required_version = \">= 1.10\"\n  backend \"s3\" {\n    bucket = \"b\" # c\n    use_lockfile = !false\n    secret_key = \"hunter2\"\n    endpoints = {\n      s3 = \"http://u:p@h\", dynamodb = var.x\n    }\n    assume_role {\n      role_arn = \"r\"\n    }\n  }\n}\n";
        let (facts, problems) = read(text);
        assert_eq!(problems, []);
        assert_eq!(facts.required_versions[0].1.value, Value::Text(">= 1.10".into()));
        let source = &facts.backends[0].source;
        assert_eq!((source.place.line, source.place.column), (3, 3));
        let var = Value::Unknown {
            expression: "var.x".into(),
            reason: "`var.x` has no literal default here".into(),
        };
        assert_eq!(
            names(&source.settings),
            [
                ("bucket", Value::Text("b".into())),
                ("use_lockfile", Value::Bool(true)),
                ("secret_key", Value::Secret),
                ("endpoints", Value::Object),
                ("endpoints.s3", Value::Text("http://***@h".into())),
                ("endpoints.dynamodb", var),
                ("assume_role", Value::Object),
                ("assume_role.role_arn", Value::Text("r".into())),
            ]
        );
        let bucket = &source.settings[0];
        assert_eq!(&text[bucket.span.start..bucket.span.end], "bucket = \"b\"");
    }

    #[test]
    fn two_arguments_on_one_line_are_a_problem_not_a_silence() {
        let (facts, problems) =
            read("terraform {\n  backend \"s3\" {\n    bucket = \"b\" dynamodb_table = \"t\"\n  }\n}\n");
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].kind, ProblemKind::ParseError);
        assert_eq!((problems[0].place.line, problems[0].place.column), (3, 14));
        assert!(facts.backends[0].source.settings[0].value.is_unknown());
    }

    #[test]
    fn duplicate_object_keys_and_other_backends_are_taken() {
        let (facts, problems) = read(
            "terraform {\n  backend \"s3\" {\n    endpoints = { s3 = \"a\", s3 = \"b\" }\n  }\n}\nlocals {\n  x = { a = 1, a = 2 }\n}\n",
        );
        assert_eq!(problems, []);
        assert_eq!(facts.backends[0].source.setting("endpoints.s3").unwrap().value, Value::Text("b".into()));
        let (facts, _) = read("terraform {\n  backend \"http\" {\n    password = \"x\"\n  }\n}\n");
        assert_eq!(facts.backends[0].backend_type, "http");
        assert_eq!(facts.backends[0].source.settings, []);
    }

    #[test]
    fn readers_modules_and_rivals() {
        let text = "terraform {\n  cloud {}\n}\nmodule \"a\" {\n  source = \"../mod\"\n}\nmodule \"b\" {\n  source = \"git::x\"\n}\ndata \"terraform_remote_state\" \"net\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\", dynamodb_table : \"t\"\n  }\n}\ndata \"terraform_remote_state\" \"gcs\" {\n  backend = \"gcs\"\n}\ndata \"terraform_remote_state\" \"m\" {\n  backend = \"s3\"\n  config  = merge(local.a, {})\n}\n";
        let (facts, problems) = read(text);
        assert_eq!(problems, []);
        assert_eq!(facts.rivals[0].keyword, "cloud");
        assert_eq!(facts.local_modules.len(), 1);
        assert_eq!(facts.local_modules[0].1, "../mod");
        assert_eq!(facts.readers.len(), 2);
        assert_eq!(facts.readers[0].setting("dynamodb_table").unwrap().value, Value::Text("t".into()));
        assert!(facts.readers[1].setting("config").unwrap().value.is_unknown());
        assert!(!facts.readers[1].editability.is_safe());
    }

    #[test]
    fn scope_follows_locals_and_defaults() {
        let text = "variable \"env\" {\n  default = \"dev\"\n}\nvariable \"no\" {}\nlocals {\n  b = \"${local.a}-lock\"\n  a = \"x-${var.env}\"\n  c = var.no\n}\n";
        let scope = scope_of(&[Text::new(text.as_bytes())], &[]);
        assert_eq!(evaluate("local.b", &scope).0, Value::Text("x-dev-lock".into()));
        assert!(evaluate("local.c", &scope).0.is_unknown());
    }

    #[test]
    fn a_reader_may_have_a_block_for_its_config() {
        let reader = |config: &str| {
            let text = format!("data \"terraform_remote_state\" \"o\" {{\n  backend = \"s3\"\n{config}}}\n");
            let (facts, problems) = read(&text);
            assert_eq!(problems, []);
            let source = facts.readers[0].clone();
            (source.body.of(text.as_bytes()).to_vec(), source)
        };
        let (body, source) = reader("  config {\n    bucket = \"b\"\n    dynamodb_table = \"t\"\n  }\n");
        assert_eq!(
            names(&source.settings),
            [("bucket", Value::Text("b".into())), ("dynamodb_table", Value::Text("t".into()))]
        );
        assert_eq!((source.syntax, source.editability), (Syntax::HclBody, Editability::Safe));
        assert_eq!(body, b"\n    bucket = \"b\"\n    dynamodb_table = \"t\"\n  ");
        let unknown = |reason: &str| {
            vec![("config", Value::Unknown { expression: "config { … }".into(), reason: reason.to_owned() })]
        };
        let (_, twice) = reader("  config {\n  }\n  config {\n    dynamodb_table = \"t\"\n  }\n");
        assert_eq!(names(&twice.settings), unknown("`config` stands here more than once"));
        let (_, broken) = reader("  config {\n    bucket = \"b\" dynamodb_table = \"t\"\n  }\n");
        assert_eq!(names(&broken.settings).len(), 1);
        assert!(broken.setting("config").unwrap().value.is_unknown());
        assert!(!broken.editability.is_safe());
    }

    #[test]
    fn parts_of_objects_and_values_in_json_are_known() {
        let text = "variable \"o\" {\n  default = { l = true, n = null, deep = { t = \"x\" }, token = \"s\" }\n}\nvariable \"e\" {}\nvariable \"s\" {\n  default = \"d\"\n  sensitive = true\n}\nlocals {\n  c = { table = \"t-${var.o.deep.t}\", (var.e) = 1 }\n  d = { table = \"t-${var.o.deep.t}\" }\n}\n";
        let with = |given: &[&str]| {
            let given: Vec<Text<'_>> = given.iter().map(|it| Text::new(it.as_bytes())).collect();
            scope_of(&[Text::new(text.as_bytes())], &given)
        };
        let scope = with(&[]);
        assert_eq!(evaluate("var.o.l", &scope).0, Value::Bool(true));
        assert_eq!(evaluate("local.d.table", &scope).0, Value::Text("t-x".into()));
        for untold in
            ["var.o.n", "var.o.none", "var.o.token", "var.o", "var.e", "var.s", "local.c.table", "local.d"]
        {
            assert!(evaluate(untold, &scope).0.is_unknown(), "{untold}");
        }
        let scope = with(&["o = { l = false }\n", "{\"e\": \"prod\", \"s\": \"x\", \"u\": \"y\"}"]);
        assert_eq!(evaluate("var.o.l", &scope).0, Value::Bool(false));
        assert_eq!(evaluate("var.e", &scope).0, Value::Text("prod".into()));
        for untold in ["var.o.deep.t", "var.s", "var.u", "local.d.table"] {
            assert!(evaluate(untold, &scope).0.is_unknown(), "{untold}");
        }
        let scope = with(&["{\"o\": {\"deep\": {\"t\": \"j\"}}}", "e = \"late\"\n"]);
        assert_eq!(evaluate("local.d.table", &scope).0, Value::Text("t-j".into()));
        assert_eq!(evaluate("var.e", &scope).0, Value::Text("late".into()));
        assert!(evaluate("var.o.l", &scope).0.is_unknown());
        assert!(evaluate("var.o.l", &with(&["{\"e\": "])).0.is_unknown());
    }

    #[test]
    fn flat_files_and_their_shape() {
        let (source, problems) =
            read_flat("dev.tfbackend", Text::new(b"\xEF\xBB\xBFbucket=\"b\"\r\nkey = \"k\""));
        let source = source.unwrap();
        assert_eq!(problems, []);
        assert!(has_backend_shape(&source.settings));
        assert_eq!(names(&source.settings)[1], ("key", Value::Text("k".into())));
        let (source, _) = read_flat("x.tfvars", Text::new(b"region = \"r\"\ninstance = 1\nkey = \"k\"\n"));
        assert!(!has_backend_shape(&source.unwrap().settings));
        assert_eq!(read_flat("empty", Text::new(b"# nothing\n")), (None, Vec::new()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            read_module_file("x", Text::new(&bytes), false);
            read_flat("x", Text::new(&bytes));
        }
    }
}
