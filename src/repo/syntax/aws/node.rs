//! One tree for values of HCL, JSON and YAML, with the place of every text: policies and templates are written in
//! all three. No meaning is read here.

use jsonc_parser::ast::Value as Json;
use jsonc_parser::{CollectOptions, ParseOptions, common::Ranged, parse_to_ast};
use saphyr_parser::{Event, Parser, ScalarStyle};

use super::tokens::{Kind, Token, is, tokens};
use crate::repo::syntax::lexer;
use crate::repo::text::{BOM, Span};

/// Trees deeper than this hold no policy; what lies deeper is left out.
const MAX_DEPTH: usize = 24;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A string, number or reference, as text.
    Text {
        text: String,
        offset: usize,
    },
    List(Vec<Node>),
    Map(Vec<Item>),
    /// Anything that has no text of its own.
    Other,
}

/// One entry of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) key: String,
    pub(super) offset: usize,
    pub(super) value: Node,
}

impl Node {
    /// The value of the first of these keys that a map has.
    pub(super) fn get(&self, keys: &[&str]) -> Option<&Node> {
        self.items().iter().find(|item| keys.contains(&item.key.as_str())).map(|item| &item.value)
    }

    /// The entries of a map.
    pub(super) fn items(&self) -> &[Item] {
        match self {
            Node::Map(items) => items,
            _ => &[],
        }
    }

    /// The text of a text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Node::Text { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The elements: of a list and the lists in it, or the value itself.
    pub(super) fn elements(&self) -> Vec<&Node> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            match node {
                Node::List(nodes) => open.extend(nodes.iter().rev()),
                node => found.push(node),
            }
        }
        found
    }

    /// All texts below a value that is a text, a list of texts, or a map such as `{"Fn::Sub": "…"}`.
    pub(super) fn texts(&self) -> Vec<(&str, usize)> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            match node {
                Node::Text { text, offset } => found.push((text.as_str(), *offset)),
                Node::List(nodes) => open.extend(nodes.iter().rev()),
                Node::Map(items) => open.extend(items.iter().rev().map(|item| &item.value)),
                Node::Other => {}
            }
        }
        found
    }

    /// Every map in the tree, outer ones first.
    pub(super) fn maps(&self) -> Vec<&Node> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            match node {
                Node::List(nodes) => open.extend(nodes.iter().rev()),
                Node::Map(items) => {
                    found.push(node);
                    open.extend(items.iter().rev().map(|item| &item.value));
                }
                _ => {}
            }
        }
        found
    }
}

/// A region of JSON. `None` when it is none.
pub(super) fn json(bytes: &[u8], within: Span) -> Option<Node> {
    let bom = if within.of(bytes).starts_with(BOM) { BOM.len() } else { 0 };
    let start = within.start + bom;
    let text = std::str::from_utf8(Span::new(start, within.end).of(bytes)).ok()?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?;
    Some(from_json(parsed.value.as_ref()?, start, 0))
}

fn from_json(value: &Json<'_>, base: usize, depth: usize) -> Node {
    if depth > MAX_DEPTH {
        return Node::Other;
    }
    match value {
        Json::StringLit(string) => Node::Text {
            text: string.value.clone().into_owned(),
            // Behind the quote.
            offset: base + string.range().start + 1,
        },
        Json::NumberLit(number) => {
            Node::Text { text: number.value.to_owned(), offset: base + number.range().start }
        }
        Json::Array(array) => {
            Node::List(array.elements.iter().map(|element| from_json(element, base, depth + 1)).collect())
        }
        Json::Object(object) => {
            let items = object.properties.iter().map(|property| Item {
                key: property.name.as_str().to_owned(),
                offset: base + property.name.range().start + 1,
                value: from_json(&property.value, base, depth + 1),
            });
            Node::Map(items.collect())
        }
        Json::BooleanLit(value) => {
            Node::Text { text: value.value.to_string(), offset: base + value.range().start }
        }
        Json::NullKeyword(_) => Node::Other,
    }
}

/// What is being built while YAML events come in.
enum Open {
    List(Vec<Node>),
    /// Entries, and the key that waits for its value.
    Map(Vec<Item>, Option<(String, usize)>),
}

/// The documents of a YAML file; an error ends the reading, whole documents before it are kept. Tags such as
/// `!Sub` are passed over, aliases have no text.
pub(super) fn yaml(bytes: &[u8]) -> Vec<Node> {
    let bom = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let Ok(text) = std::str::from_utf8(bytes.get(bom..).unwrap_or_default()) else { return Vec::new() };
    let starts = line_starts(text);
    // Line, column and offset of the last answer: scalars come in order, and a line may be long.
    let mut last = (0, 0, 0);
    let mut offset_of = |line: usize, column: usize| {
        let start = starts.get(line.saturating_sub(1)).copied().unwrap_or(text.len());
        let (from, skip) =
            if last.0 == line && last.1 <= column { (last.2, column - last.1) } else { (start, column) };
        let tail = text.get(from..).unwrap_or_default();
        let offset = from + tail.char_indices().nth(skip).map_or(tail.len(), |(at, _)| at);
        last = (line, column, offset);
        bom + offset
    };
    let mut documents = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        let node = match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return documents;
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(nodes)) => Node::List(nodes),
                Some(Open::Map(items, _)) => Node::Map(items),
                None => continue,
            },
            Event::Scalar(value, style, _, tag) => {
                let mut offset = offset_of(span.start.line(), span.start.col());
                // The span of a tagged scalar begins with its tag.
                if tag.is_some() {
                    let rest = text.get(offset - bom..).unwrap_or_default();
                    let behind = rest.find(char::is_whitespace).and_then(|end| rest.get(end..));
                    offset += behind.map_or(0, |behind| rest.len() - behind.trim_start().len());
                }
                let in_quotes = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
                Node::Text { text: value.into_owned(), offset: offset + usize::from(in_quotes) }
            }
            Event::Alias(_) => Node::Other,
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(nodes)) => nodes.push(node),
            Some(Open::Map(items, waiting)) => match (waiting.take(), node) {
                (None, Node::Text { text, offset }) => *waiting = Some((text, offset)),
                (None, _) => *waiting = Some((String::new(), 0)),
                (Some((key, offset)), value) => items.push(Item { key, offset, value }),
            },
            None => documents.push(node),
        }
    }
    documents
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1)).collect()
}

/// An HCL expression. Objects and lists keep their structure; a function call is the list of its arguments
/// (`jsonencode(x)` is `x`); of anything else the strings and references in it are kept.
pub(super) fn hcl(bytes: &[u8], span: Span) -> Node {
    expression(bytes, span, 0)
}

fn expression(bytes: &[u8], span: Span, depth: usize) -> Node {
    let text = span.of(bytes);
    if depth > MAX_DEPTH {
        return Node::Other;
    }
    if text.starts_with(b"<<") {
        return heredoc(bytes, span);
    }
    let tokens = tokens(bytes, span);
    let closes = |open: u8| tokens.last().is_some_and(|last| is(bytes, last, open));
    let inner = Span::new(span.start + 1, span.end.saturating_sub(1));
    if text.starts_with(b"{") && closes(b'}') {
        let object = lexer::object(bytes, inner);
        let items = object.attributes.into_iter().map(|attribute| Item {
            value: expression(bytes, attribute.value_span, depth + 1),
            key: attribute.name,
            offset: attribute.name_span.start,
        });
        return Node::Map(items.collect());
    }
    if text.starts_with(b"[") && closes(b']') && spans_all(bytes, &tokens) {
        return list(bytes, inner, depth);
    }
    // A call: a name, then one pair of brackets up to the end.
    if let [name, rest @ ..] = tokens.as_slice()
        && rest.first().is_some_and(|open| is(bytes, open, b'('))
        && closes(b')')
        && spans_all(bytes, rest)
        && name.kind == Kind::Word
    {
        let open = rest.first().map_or(span.end, |open| open.span.end);
        return match list(bytes, Span::new(open, span.end.saturating_sub(1)), depth) {
            Node::List(mut arguments) if arguments.len() == 1 => arguments.pop().unwrap_or(Node::Other),
            arguments => arguments,
        };
    }
    let mut texts = tokens.iter().filter_map(|token| text_of(bytes, token)).collect::<Vec<_>>();
    match texts.len() {
        0 => Node::Other,
        1 => texts.pop().unwrap_or(Node::Other),
        _ => Node::List(texts),
    }
}

/// Elements between brackets. `for x in y : {…}` gives what stands behind its colon.
fn list(bytes: &[u8], inner: Span, depth: usize) -> Node {
    let mut elements = Vec::new();
    let mut element: Vec<Token> = Vec::new();
    let mut brackets = 0_usize;
    let mut finish = |element: &mut Vec<Token>| {
        let from = match element.first() {
            Some(first) if first.span.of(bytes) == b"for" => {
                element.iter().position(|token| is(bytes, token, b':')).map_or(0, |at| at + 1)
            }
            _ => 0,
        };
        if let (Some(first), Some(last)) = (element.get(from), element.last()) {
            elements.push(expression(bytes, Span::new(first.span.start, last.span.end), depth + 1));
        }
        element.clear();
    };
    for token in tokens(bytes, inner) {
        match token.span.of(bytes).first() {
            Some(b'(' | b'[' | b'{') if token.kind == Kind::Other => brackets += 1,
            Some(b')' | b']' | b'}') if token.kind == Kind::Other => brackets = brackets.saturating_sub(1),
            Some(b',') if token.kind == Kind::Other && brackets == 0 => {
                finish(&mut element);
                continue;
            }
            _ => {}
        }
        element.push(token);
    }
    finish(&mut element);
    Node::List(elements)
}

/// Whether the first token opens a bracket that only the last one closes.
fn spans_all(bytes: &[u8], tokens: &[Token]) -> bool {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Other {
            match token.span.of(bytes).first() {
                Some(b'(' | b'[' | b'{') => open += 1,
                Some(b')' | b']' | b'}') => open = open.saturating_sub(1),
                _ => {}
            }
        }
        if open == 0 {
            return at + 1 == tokens.len();
        }
    }
    false
}

/// The JSON inside a heredoc; its text where it is none.
fn heredoc(bytes: &[u8], span: Span) -> Node {
    let text = span.of(bytes);
    let Some(first) = memchr::memchr(b'\n', text) else { return Node::Other };
    let Some(last) = memchr::memrchr(b'\n', text).filter(|last| *last > first) else { return Node::Other };
    let content = Span::new(span.start + first + 1, span.start + last);
    json(bytes, content).unwrap_or(Node::Other)
}

/// A string's text, or a reference as written; a bare name (`null`, a function's) has none.
fn text_of(bytes: &[u8], token: &Token) -> Option<Node> {
    let raw = token.span.of(bytes);
    match token.kind {
        Kind::Quoted => Some(Node::Text { text: lexer::unquote(raw), offset: token.span.start + 1 }),
        Kind::Word if raw.contains(&b'.') => {
            Some(Node::Text { text: String::from_utf8_lossy(raw).into_owned(), offset: token.span.start })
        }
        _ => None,
    }
}
