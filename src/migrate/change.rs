//! What is wanted of one source, and why it can't be had. Data alone: [`super::source_edits`] makes edits of it.

use super::edit::EditConflict;
use crate::repo::setting::Value;

/// A value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// A string, without quotes or escapes.
    Text(String),
}

impl Literal {
    /// As a setting has it.
    pub(super) fn worth(&self) -> Value {
        match self {
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Text(text) => Value::Text(text.clone()),
        }
    }

    /// Whether the value that stands is this one. Source: Terraform converts `"true"` and `"1"` for a boolean argument.
    pub(super) fn is(&self, stands: &Value) -> bool {
        match (stands, self) {
            (Value::Bool(stands), Literal::Bool(wanted)) => stands == wanted,
            (Value::Text(stands), Literal::Bool(true)) => stands == "true" || stands == "1",
            (Value::Text(stands), Literal::Bool(false)) => stands == "false" || stands == "0",
            (Value::Text(stands), Literal::Text(wanted)) => stands == wanted,
            _ => false,
        }
    }
}

/// One thing to do to one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The argument shall have this value. Where it stands, only its value is replaced; where it does not, it comes
    /// right after the argument called `beside`, or after the last one.
    Set {
        /// Argument, undotted.
        name: String,
        /// What it shall be worth.
        value: Literal,
        /// Its neighbour.
        beside: Option<String>,
    },
    /// The argument (dotted where it is nested) shall not stand here, and what holds nothing without it goes, too.
    Remove {
        /// Argument.
        name: String,
    },
}

impl Change {
    /// `use_lockfile = true` beside an argument.
    pub fn set_lockfile(beside: Option<&str>) -> Self {
        Change::Set {
            name: "use_lockfile".to_owned(),
            value: Literal::Bool(true),
            beside: beside.map(str::to_owned),
        }
    }

    /// Removes an argument.
    pub fn remove(name: &str) -> Self {
        Change::Remove { name: name.to_owned() }
    }
}

/// Why a source can't be edited so. The text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The reader of this place said so.
    #[error("{0}")]
    ReportOnly(String),
    /// The syntax is none that edits are made in.
    #[error("this place is not written in a syntax that can be edited safely")]
    Syntax,
    /// What is set now can't be told, so replacing it could be wrong.
    #[error("`{name}` is set to something that only a run can tell")]
    UnknownValue {
        /// Argument.
        name: String,
    },
    /// The line holds something else that can't be kept apart.
    #[error("the line of `{name}` holds something else, too")]
    SharedLine {
        /// Argument.
        name: String,
    },
    /// Another word there would become part of the same list element.
    #[error("the flag is an element of a list, not a word of a command line")]
    ListElement,
    /// There is nothing to put the argument beside.
    #[error("there is no argument here to put another one beside")]
    NoPlace,
    /// Without the argument nothing would be left, which means something else in this syntax.
    #[error("nothing would be left here without `{name}`")]
    LeavesNothing {
        /// Argument.
        name: String,
    },
    /// The value can't be written there without a risk of being read differently.
    #[error("`{text}` can't be written here safely")]
    Unspellable {
        /// The value.
        text: String,
    },
    /// The spans do not fit the bytes: the file is not the one that was read.
    #[error("the places that were read do not fit the file: {0}")]
    Conflict(#[from] EditConflict),
}
