//! A JSON text as a tree with byte offsets, and HCL's view of it: bodies, blocks, properties. No meaning of names.

use std::borrow::Cow;

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::repo::text::{BOM, Span, Text};

/// Nesting beyond this is refused: the parser and the readers below follow the text's own depth.
const MAX_DEPTH: usize = 100;

/// The text as UTF-8 with every byte at its own offset: the BOM becomes spaces, invalid bytes question marks.
/// (Terraform takes invalid UTF-8 inside of JSON strings; the reader calls such a value unknown.)
pub(super) fn readable(text: Text<'_>) -> Cow<'_, str> {
    let bytes = text.bytes();
    let rest = bytes.strip_prefix(BOM);
    if rest.is_none()
        && let Ok(valid) = std::str::from_utf8(bytes)
    {
        return Cow::Borrowed(valid);
    }
    let mut owned = String::with_capacity(bytes.len());
    if rest.is_some() {
        owned.push_str("   ");
    }
    for chunk in rest.unwrap_or(bytes).utf8_chunks() {
        owned.push_str(chunk.valid());
        owned.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(owned)
}

/// Offset of the first bracket that opens a level deeper than [`MAX_DEPTH`].
fn too_deep(source: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (offset, byte) in source.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(offset);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// What Terraform's own JSON parser takes, and nothing more.
fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Parses a text that [`readable`] made. `None` where it holds no value; the error says where and what.
pub(super) fn parse(source: &str) -> Result<Option<ast::Value<'_>>, (usize, String)> {
    if let Some(offset) = too_deep(source) {
        return Err((offset, format!("it is nested deeper than {MAX_DEPTH} levels")));
    }
    parse_to_ast(source, &CollectOptions::default(), &strict())
        .map(|parsed| parsed.value)
        .map_err(|error| (error.range().start, error.kind().to_string()))
}

/// A value that is neither an object nor an array of objects stands where a body must.
pub(super) struct WrongType;

/// Properties of a body, in order: an object's own, or those of all objects of an array. `null` has none.
pub(super) fn properties<'n, 's>(body: &'n ast::Value<'s>) -> Result<Vec<&'n ObjectProp<'s>>, WrongType> {
    match body {
        ast::Value::Object(object) => Ok(object.properties.iter().collect()),
        ast::Value::NullKeyword(_) => Ok(Vec::new()),
        ast::Value::Array(array) => {
            let mut all = Vec::new();
            for element in &array.elements {
                all.extend(&element.as_object().ok_or(WrongType)?.properties);
            }
            Ok(all)
        }
        _ => Err(WrongType),
    }
}

/// Bodies that a block type's (or last label's) value stands for: each is one block.
pub(super) fn blocks<'n, 's>(value: &'n ast::Value<'s>) -> Result<Vec<&'n ast::Value<'s>>, WrongType> {
    match value {
        ast::Value::Object(_) => Ok(vec![value]),
        ast::Value::NullKeyword(_) => Ok(Vec::new()),
        ast::Value::Array(array) => Ok(array.elements.iter().collect()),
        _ => Err(WrongType),
    }
}

pub(super) fn name_of<'n>(property: &'n ObjectProp<'_>) -> &'n str {
    match &property.name {
        ast::ObjectPropName::String(name) => name.value.as_ref(),
        ast::ObjectPropName::Word(name) => name.value,
    }
}

pub(super) fn span(ranged: &impl Ranged) -> Span {
    let range = ranged.range();
    Span::new(range.start, range.end)
}

/// The properties of all bodies that are found under `name` in `body`; what is no body is passed over.
pub(super) fn children<'n, 's>(body: &'n ast::Value<'s>, name: &str) -> Vec<&'n ObjectProp<'s>> {
    let mut found = Vec::new();
    for property in properties(body).unwrap_or_default() {
        if name_of(property) == name {
            found.extend(properties(&property.value).unwrap_or_default());
        }
    }
    found
}

/// The last property called `name` in a body.
pub(super) fn property<'n, 's>(body: &'n ast::Value<'s>, name: &str) -> Option<&'n ObjectProp<'s>> {
    properties(body).unwrap_or_default().into_iter().rfind(|property| name_of(property) == name)
}
