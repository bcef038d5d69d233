//! How a new item is spelled: the value in each syntax, and the assignment in the manner of the one beside it.

use unicode_segmentation::UnicodeSegmentation;

use super::addition::NewItem;
use super::change::{Literal, Refusal};
use super::item::line_at;
use crate::repo::setting::Setting;
use crate::repo::source::{Source, Syntax};
use crate::repo::text::{Span, Text};

/// A value in a syntax. `embedded`: the text stands in a script or template that may read it once more before
/// HCL does, so that only plain characters are safe.
pub(super) fn literal(syntax: Syntax, value: &Literal, embedded: bool) -> Result<String, Refusal> {
    let text = match value {
        Literal::Bool(value) => return Ok(value.to_string()),
        Literal::Text(text) => text,
    };
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.:/@+,-".contains(c));
    let refused = || Refusal::Unspellable { text: text.clone() };
    match syntax {
        Syntax::HclBody | Syntax::HclObject if plain || !embedded => {
            Ok(format!("\"{}\"", escaped(text, refused)?))
        }
        Syntax::Json => {
            let text = text.replace("${", "$${").replace("%{", "%%{");
            serde_json::to_string(&text).map_err(|_| refused())
        }
        Syntax::Yaml if plain => Ok(format!("\"{text}\"")),
        Syntax::Flag if plain => Ok(text.clone()),
        _ => Err(refused()),
    }
}

/// Source: HCL's specification, "Template Literals".
fn escaped(text: &str, refused: impl Fn() -> Refusal) -> Result<String, Refusal> {
    if text.chars().any(char::is_control) {
        return Err(refused());
    }
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    Ok(text.replace("${", "$${").replace("%{", "%%{"))
}

/// An assignment spelled like the one beside it: quotes around the name, the sign, the spaces, the column.
pub(super) fn like(bytes: &[u8], source: &Source, beside: &Setting, name: &str, value: &str) -> NewItem {
    let text = Text::new(bytes);
    let quoted = beside.name_span.of(bytes).starts_with(b"\"");
    let name = if quoted { format!("\"{name}\"") } else { name.to_owned() };
    let between = text.lossy(Span::new(beside.name_span.end, beside.value_span.start));
    let sign = between.trim();
    let Some((before, after)) = between.split_once(sign).filter(|_| matches!(sign, "=" | ":")) else {
        return NewItem::new(&name, default_sign(source.syntax), value);
    };
    if between.contains('\n') {
        return NewItem::new(&name, default_sign(source.syntax), value);
    }
    let column = |setting: &Setting| {
        let start = line_at(bytes, setting.name_span.start).start;
        let end = setting.name_span.end + before_sign(bytes, setting.name_span.end);
        width(&text.lossy(Span::new(start, end)))
    };
    let own_width = width(&text.lossy(beside.name_span));
    let shares_column = || {
        source.settings.iter().any(|other| {
            !other.name.contains('.')
                && width(&text.lossy(other.name_span)) != own_width
                && column(other) == column(beside)
        })
    };
    let spaces = before.chars().all(|c| c == ' ');
    let padded = spaces && !before.is_empty() && (before.len() > 1 || shares_column());
    let gap = if padded {
        " ".repeat((own_width + before.len()).saturating_sub(width(&name)).max(1))
    } else {
        before.to_owned()
    };
    NewItem::new(&name, &format!("{gap}{sign}{after}"), value)
}

fn before_sign(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| **byte == b' ').count()
}

fn default_sign(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Json | Syntax::Yaml => ": ",
        Syntax::Flag => "=",
        Syntax::HclBody | Syntax::HclObject | Syntax::Other => " = ",
    }
}

/// A new assignment where there is none to follow.
pub(super) fn plain(syntax: Syntax, name: &str, value: &str) -> NewItem {
    let name = if syntax == Syntax::Json { format!("\"{name}\"") } else { name.to_owned() };
    NewItem::new(&name, default_sign(syntax), value)
}

fn width(text: &str) -> usize {
    text.graphemes(true).count()
}
