//! What a Terragrunt expression is worth in the context of one unit. Data only; evaluation is [`super::evaluate`]'s.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::context::Context;

/// A value, richer than a setting's: objects and other files' configurations pass through expressions.
#[derive(Debug, Clone)]
pub(super) enum Val {
    /// A string.
    Text(String),
    /// A boolean.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// `null`.
    Null,
    /// A list.
    List(Vec<Val>),
    /// An object or a map.
    Object(BTreeMap<String, Val>),
    /// Another file's configuration: what `read_terragrunt_config` and an exposed include give.
    Config(Rc<Context>),
    /// That file's `locals`.
    Locals(Rc<Context>),
    /// Only a run can tell, and why.
    Unknown(String),
}

impl Val {
    /// An unknown value with its reason.
    pub(super) fn unknown(reason: impl Into<String>) -> Self {
        Val::Unknown(reason.into())
    }

    /// The text of a string, a number or a boolean, as a template would print it.
    pub(super) fn text(&self) -> Result<String, String> {
        match self {
            Val::Text(text) | Val::Number(text) => Ok(text.clone()),
            Val::Bool(value) => Ok(value.to_string()),
            Val::Unknown(reason) => Err(reason.clone()),
            _ => Err("a text is needed, and this is none".to_owned()),
        }
    }

    /// Bytes of text and number of members.
    pub(super) fn size(&self) -> usize {
        match self {
            Val::Text(text) | Val::Number(text) | Val::Unknown(text) => text.len() + 1,
            Val::List(items) => 1 + items.iter().map(Val::size).sum::<usize>(),
            Val::Object(items) => {
                1 + items.iter().map(|(name, item)| name.len() + item.size()).sum::<usize>()
            }
            _ => 1,
        }
    }
}
