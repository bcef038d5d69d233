//! A new item, and the edits that make room for it. Data that knows its own spans, and no syntax.

use super::edit::Edit;
use crate::repo::text::Span;

/// An assignment ready to be put somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewItem {
    /// Its text.
    pub text: String,
    /// Where the name stands in it.
    pub name: Span,
    /// Where the value stands in it.
    pub value: Span,
}

impl NewItem {
    /// `name`, what is between, `value`.
    pub fn new(name: &str, between: &str, value: &str) -> Self {
        let value_start = name.len() + between.len();
        Self {
            text: format!("{name}{between}{value}"),
            name: Span::new(0, name.len()),
            value: Span::new(value_start, value_start + value.len()),
        }
    }

    /// The same, in quotes or after a flag's name.
    pub fn wrapped(self, before: &str, after: &str) -> Self {
        Self {
            text: format!("{before}{}{after}", self.text),
            name: self.name.shift(before.len()),
            value: self.value.shift(before.len()),
        }
    }
}

/// A new item, and the edits that make room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Addition {
    /// The edit whose text holds the item.
    pub edit: Edit,
    /// Where the item's text begins in the edit's text.
    pub offset: usize,
    /// The item.
    pub item: NewItem,
    /// Commas and line breaks around it.
    pub others: Vec<Edit>,
}

impl Addition {
    /// The item in place of a span, with text around it.
    pub fn replacing(span: Span, before: &str, item: NewItem, after: &str) -> Self {
        let edit = Edit::replace(span, format!("{before}{}{after}", item.text));
        Self { edit, offset: before.len(), item, others: Vec::new() }
    }

    /// The item at an offset, with text around it.
    pub fn inside(at: usize, before: &str, item: NewItem, after: &str) -> Self {
        Self::replacing(Span::new(at, at), before, item, after)
    }
}
