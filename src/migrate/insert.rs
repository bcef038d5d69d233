//! Where a new item goes: on a line of its own after the one beside it, into its line, or into an empty body.

use super::addition::{Addition, NewItem};
use super::change::Refusal;
use super::edit::Edit;
use super::item::{Dialect, Item, comma_between, indent_of, is_blank, is_braced, line_at, line_ending};
use super::spell::{like, plain};
use crate::repo::setting::Setting;
use crate::repo::source::{Source, Syntax};
use crate::repo::text::Span;

/// Adds `name` with the spelled `value`, right after the setting called `beside` (or after the last one).
pub(super) fn add(
    bytes: &[u8],
    source: &Source,
    dialect: Dialect,
    name: &str,
    value: &str,
    beside: Option<&str>,
) -> Result<Addition, Refusal> {
    let top = |setting: &&Setting| !setting.name.contains('.');
    let named = beside.filter(|beside| !beside.contains('.')).and_then(|beside| source.setting(beside));
    match named.or_else(|| source.settings.iter().filter(top).max_by_key(|setting| setting.span.end)) {
        Some(beside) => {
            let item = Item::at(bytes, beside.span, dialect);
            let new = like(bytes, source, beside, name, value);
            after(bytes, source, dialect, item, new)
        }
        None => first(bytes, source, dialect, plain(source.syntax, name, value)),
    }
}

fn after(
    bytes: &[u8],
    source: &Source,
    dialect: Dialect,
    item: Item,
    new: NewItem,
) -> Result<Addition, Refusal> {
    if dialect == Dialect::Yaml {
        return after_entry(bytes, item, new);
    }
    if item.alone() {
        let indent = indent_of(bytes, item.lines).to_vec();
        return Ok(on_new_line(bytes, source, dialect, item, &indent, new));
    }
    if dialect.has_commas() {
        let tight = dialect == Dialect::Json && new.text.contains("\":") && !new.text.contains("\": ");
        return Ok(Addition::inside(item.span.end, if tight { "," } else { ", " }, new, ""));
    }
    let line_of_brace = line_at(bytes, source.body.start);
    if is_braced(bytes, source.body) && source.body.end < line_of_brace.end {
        return Ok(opened(bytes, source, new));
    }
    Err(shared_line(bytes, item))
}

fn shared_line(bytes: &[u8], item: Item) -> Refusal {
    let text = item.span.of(bytes);
    let name = text.iter().position(|byte| b" =:".contains(byte)).and_then(|end| text.get(..end));
    Refusal::SharedLine { name: String::from_utf8_lossy(name.unwrap_or_default()).into_owned() }
}

fn on_new_line(
    bytes: &[u8],
    source: &Source,
    dialect: Dialect,
    item: Item,
    indent: &[u8],
    new: NewItem,
) -> Addition {
    let eol = line_ending(bytes, item.lines);
    let indent = String::from_utf8_lossy(indent).into_owned();
    let mut comma = false;
    let mut own_comma = "";
    if item.comma.is_some() {
        own_comma = ",";
    } else if dialect == Dialect::Json {
        comma = true;
    } else if dialect == Dialect::Object {
        // The last of a list with commas: the new last one has none, as the old one had none.
        let before =
            source.settings.iter().map(|setting| setting.span.end).filter(|end| *end <= item.span.start);
        comma = before.max().is_some_and(|end| comma_between(bytes, end, item.span.start, dialect).is_some());
    }
    let mut addition = if item.lines.of(bytes).ends_with(b"\n") {
        Addition::inside(item.lines.end, &indent, new, &format!("{own_comma}{eol}"))
    } else {
        Addition::inside(item.lines.end, &format!("{eol}{indent}"), new, own_comma)
    };
    if comma {
        addition.others.push(Edit::insert(item.span.end, ","));
    }
    addition
}

/// After an entry of a YAML block mapping, which may be the first of a list item (`- bucket: x`).
fn after_entry(bytes: &[u8], item: Item, new: NewItem) -> Result<Addition, Refusal> {
    let before = Span::new(item.lines.start, item.span.start).of(bytes);
    let next = bytes.get(item.lines.end..).unwrap_or_default().trim_ascii_start();
    let block = before.iter().all(|byte| b" -".contains(byte)) && item.last && !next.starts_with(b"}");
    if !block {
        return Err(shared_line(bytes, item));
    }
    let eol = line_ending(bytes, item.lines);
    let indent = " ".repeat(before.len());
    Ok(if item.lines.of(bytes).ends_with(b"\n") {
        Addition::inside(item.lines.end, &indent, new, eol)
    } else {
        Addition::inside(item.lines.end, &format!("{eol}{indent}"), new, "")
    })
}

/// Into a body that holds no item.
fn first(bytes: &[u8], source: &Source, dialect: Dialect, new: NewItem) -> Result<Addition, Refusal> {
    let body = source.body;
    if dialect == Dialect::Yaml {
        return Err(Refusal::NoPlace);
    }
    if !is_braced(bytes, body) {
        if source.syntax != Syntax::HclBody {
            return Err(Refusal::NoPlace);
        }
        let line = line_at(bytes, body.end);
        let eol = line_ending(bytes, line);
        let full = body.end == 0
            || line.is_empty()
            || bytes.get(..body.end).is_some_and(|text| text.ends_with(b"\n"));
        return Ok(if full {
            Addition::inside(body.end, "", new, eol)
        } else {
            Addition::inside(body.end, eol, new, "")
        });
    }
    let closing = line_at(bytes, body.end);
    let one_line = closing.start <= body.start;
    if one_line || is_blank(bytes, body.start, body.end) {
        let open = dialect == Dialect::Body || is_blank(bytes, body.start, body.end);
        return if open { Ok(opened(bytes, source, new)) } else { Err(Refusal::NoPlace) };
    }
    if dialect == Dialect::Json || !is_blank(bytes, closing.start, body.end) {
        return Err(Refusal::NoPlace);
    }
    let indent = deeper(bytes, closing, dialect);
    Ok(Addition::inside(closing.start, &indent, new, line_ending(bytes, closing)))
}

/// One step deeper than a line.
fn deeper(bytes: &[u8], line: Span, dialect: Dialect) -> String {
    let indent = String::from_utf8_lossy(indent_of(bytes, line)).into_owned();
    let unit = match dialect {
        _ if indent.starts_with('\t') => "\t".to_owned(),
        Dialect::Json => json_unit(bytes),
        _ => "  ".to_owned(),
    };
    indent + &unit
}

/// The indentation of a JSON text: that of its first indented line.
fn json_unit(bytes: &[u8]) -> String {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let unit = lines.find_map(|line| {
        let length = line.iter().position(|byte| !b" \t".contains(byte))?;
        line.get(..length).filter(|indent| !indent.is_empty())
    });
    unit.map_or_else(|| "  ".to_owned(), |unit| String::from_utf8_lossy(unit).into_owned())
}

/// A one-line or empty body, opened over several lines.
fn opened(bytes: &[u8], source: &Source, new: NewItem) -> Addition {
    let body = source.body;
    let dialect = match source.syntax {
        Syntax::Json => Dialect::Json,
        _ => Dialect::Body,
    };
    let line = line_at(bytes, body.start);
    let text = body.of(bytes);
    if dialect == Dialect::Json && !bytes.trim_ascii().contains(&b'\n') {
        let name = String::from_utf8_lossy(new.name.of(new.text.as_bytes())).into_owned();
        let value = String::from_utf8_lossy(new.value.of(new.text.as_bytes())).into_owned();
        let sign = if memchr::memmem::find(bytes, b"\": ").is_some() { ": " } else { ":" };
        return Addition::replacing(body, "", NewItem::new(&name, sign, &value), "");
    }
    let eol = line_ending(bytes, line);
    let outer = String::from_utf8_lossy(indent_of(bytes, line)).into_owned();
    let inner = deeper(bytes, line, dialect);
    let close = format!("{eol}{outer}");
    let held = text.trim_ascii();
    if held.is_empty() {
        return Addition::replacing(body, &format!("{eol}{inner}"), new, &close);
    }
    let start = body.start + (text.len() - text.trim_ascii_start().len());
    let end = start + held.len();
    let mut addition = Addition::replacing(Span::new(end, body.end), &format!("{eol}{inner}"), new, &close);
    addition.others.push(Edit::replace(Span::new(body.start, start), format!("{eol}{inner}")));
    addition
}
