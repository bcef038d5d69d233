//! `extra_arguments` of a Terragrunt file: words that it hands to Terraform, as a call. Only what matters to
//! backends and locks is read.

use hcl_edit::Span as _;
use hcl_edit::expr::Expression;

use super::expression;
use super::flags::{Around, is_false, is_filled_in};
use super::lexer::{self, Attribute, Block};
use crate::repo::facts::Call;
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text};

/// The call that one `extra_arguments` block makes; `None` when nothing in it matters.
pub(super) fn read(file: &str, text: Text<'_>, block: &Block) -> Option<Call> {
    let inner = lexer::body(text.bytes(), block.body);
    let commands = inner.attribute("commands").map(|commands| words(text, commands)).unwrap_or_default();
    let init = commands.iter().any(|(word, _)| word == "init");
    let first = commands.into_iter().next().map(|(word, _)| word).unwrap_or_default();
    let mut call = Call {
        place: text.place(file, block.span.start),
        subcommand: if init { "init".to_owned() } else { first },
        dir: None,
        config_files: Vec::new(),
        config_flags: Vec::new(),
        var_files: Vec::new(),
        lock_false: None,
        lock_unknown: None,
        reconfigure: false,
        migrate_state: false,
    };
    let untouched = call.clone();
    for (word, span) in inner.attribute("arguments").map(|list| words(text, list)).unwrap_or_default() {
        let flag = word.trim_start_matches('-');
        match flag.split_once('=') {
            Some(("backend-config", value)) => match value.split_once('=') {
                Some((name, _)) => call.config_flags.push(config_flag(file, text, span, name)),
                None => call.config_files.push((value.to_owned(), span)),
            },
            Some(("var-file", path)) => call.var_files.push(path.to_owned()),
            Some(("lock", value)) if is_false(value) => call.lock_false = Some(text.place(file, span.start)),
            Some(("lock", value)) if is_filled_in(value, Around::List) => {
                call.lock_unknown = Some((text.place(file, span.start), value.to_owned()));
            }
            None if flag == "reconfigure" => call.reconfigure = true,
            None if flag == "migrate-state" => call.migrate_state = true,
            _ => {}
        }
    }
    (call != untouched).then_some(call)
}

/// The words of a list, as written between the quotes, with their places.
fn words(text: Text<'_>, list: &Attribute) -> Vec<(String, Span)> {
    let Ok(Expression::Array(items)) = expression::parse(&text.lossy(list.value_span)) else {
        return Vec::new();
    };
    let base = list.value_span.start;
    items
        .iter()
        .filter(|item| matches!(item, Expression::String(_) | Expression::StringTemplate(_)))
        .filter_map(|item| item.span())
        .map(|range| Span::new(base + range.start + 1, (base + range.end).saturating_sub(1)))
        .map(|span| (text.lossy(span).into_owned(), span))
        .collect()
}

fn config_flag(file: &str, text: Text<'_>, word: Span, name: &str) -> Source {
    let start = word.start
        + memchr::memmem::find(word.of(text.bytes()), b"backend-config=")
            .map_or(0, |at| at + b"backend-config=".len());
    let name_span = Span::new(start, start + name.len());
    let value_span = Span::new(name_span.end + 1, word.end);
    let written = text.lossy(value_span);
    let value = if written.contains("${") {
        let reason = "it is put together by Terragrunt".to_owned();
        Value::Unknown { expression: expression::one_line(&written), reason }
    } else {
        Value::Text(written.into_owned())
    };
    Source {
        kind: SourceKind::BackendConfigFlag,
        syntax: Syntax::Flag,
        place: text.place(file, word.start),
        span: word,
        body: word,
        settings: vec![Setting {
            name: name.to_owned(),
            at: text.position(name_span.start),
            span: word,
            name_span,
            value_span,
            value: without_secrets(name, value),
            via: Vec::new(),
        }],
        editability: Editability::ReportOnly("a word in a Terragrunt list".to_owned()),
        label: None,
        git_ignored: false,
    }
}
