//! What is wanted of one source, and the edits that do it: set an argument, or remove one. Pure: bytes and spans
//! in, edits out. Which changes are wanted, and whether they may be made, is decided elsewhere.

use super::align::{Region, readable_to, realign};
use super::edit::{Edit, EditConflict, Edits};
use super::item::{self, Dialect};
use super::spell::{self, NewItem};
use super::{flag_change, insert, remove};
use crate::repo::setting::{Setting, Value};
use crate::repo::source::{Source, SourceKind, Syntax};
use crate::repo::text::{Position, Span, Text};

/// A value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// A string, without quotes or escapes.
    Text(String),
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

/// What one change comes to.
enum Step {
    Nothing,
    Edits(Vec<Edit>),
    Add(Addition),
}

/// The text that a person would write for an argument, for places that are not edited.
pub fn written(syntax: Syntax, name: &str, value: &Literal) -> String {
    let spelled = match (syntax, value) {
        (_, Literal::Bool(value)) => value.to_string(),
        (Syntax::Flag, Literal::Text(text)) => text.clone(),
        (_, Literal::Text(text)) => format!("{text:?}"),
    };
    let item = spell::plain(syntax, name, &spelled).text;
    if syntax == Syntax::Flag { format!("-backend-config=\"{item}\"") } else { item }
}

/// The edits that make `changes` to one source of a file, in their order.
pub fn plan_changes(text: Text<'_>, source: &Source, changes: &[Change]) -> Result<Edits, Refusal> {
    plan_file(text, &[(source, changes)])
}

/// The edits that make changes to several sources of one file. Each change is made on what the changes before it
/// left, so that two runs come to the same bytes as one.
pub fn plan_file(text: Text<'_>, plans: &[(&Source, &[Change])]) -> Result<Edits, Refusal> {
    let original = text.bytes();
    let mut all = Edits::default();
    let mut sources: Vec<Source> = plans.iter().map(|(source, _)| (*source).clone()).collect();
    for (index, (_, changes)) in plans.iter().enumerate() {
        for (nth, change) in changes.iter().enumerate() {
            let after = changes.get(nth + 1..).unwrap_or_default();
            // A name may stand several times; each round of `Remove` takes one away.
            let rounds = sources.get(index).map_or(0, |source| source.settings.len()) + 1;
            for _ in 0..rounds {
                let bytes = all.apply(original);
                let Some(source) = sources.get(index) else { break };
                let (edits, added) = match step(&bytes, source, change, after)? {
                    Step::Nothing => break,
                    Step::Edits(edits) => (Edits::new(&bytes, edits)?, None),
                    Step::Add(addition) => {
                        let mut list = addition.others;
                        list.push(addition.edit.clone());
                        let edits = Edits::new(&bytes, list)?;
                        let landed = edits.landing(&addition.edit);
                        (edits, landed.map(|start| (addition.item, start + addition.offset)))
                    }
                };
                let moved = realign(&bytes, region(&bytes, source), &edits);
                for source in &mut sources {
                    follow(source, &edits);
                }
                if let Some(source) = sources.get_mut(index) {
                    settle(source, change, added);
                }
                for source in &mut sources {
                    follow(source, &moved);
                }
                all = all.then(original, &edits).then(original, &moved);
                if matches!(change, Change::Set { .. }) {
                    break;
                }
            }
        }
    }
    Ok(all)
}

/// Moves a source's spans along with the text; settings whose bytes are gone go, too.
fn follow(source: &mut Source, edits: &Edits) {
    source.span = edits.map_around(source.span);
    source.body = edits.map_around(source.body);
    for setting in &mut source.settings {
        setting.span = edits.map_within(setting.span);
        setting.name_span = edits.map_within(setting.name_span);
        setting.value_span = edits.map_within(setting.value_span);
    }
    source.settings.retain(|setting| !setting.name_span.is_empty());
}

/// What the source says after a `Set`; a new item stands at the offset.
fn settle(source: &mut Source, change: &Change, added: Option<(NewItem, usize)>) {
    let Change::Set { name, value, .. } = change else { return };
    match added {
        Some((item, start)) => {
            source.settings.push(Setting {
                name: name.clone(),
                at: Position::default(), // nobody is shown a setting that is only planned
                span: Span::new(start, start + item.text.len()),
                name_span: item.name.shift(start),
                value_span: item.value.shift(start),
                value: value_of(value),
                via: Vec::new(),
            });
            source.settings.sort_by_key(|setting| setting.span.start);
        }
        None => {
            if let Some(setting) = source.settings.iter_mut().rev().find(|setting| setting.name == *name) {
                setting.value = value_of(value);
            }
        }
    }
}

fn value_of(literal: &Literal) -> Value {
    match literal {
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Text(text) => Value::Text(text.clone()),
    }
}

fn step(bytes: &[u8], source: &Source, change: &Change, later: &[Change]) -> Result<Step, Refusal> {
    if let Some(reason) = source.editability.reason() {
        return Err(Refusal::ReportOnly(reason.to_owned()));
    }
    match change {
        Change::Set { name, value, beside } => set(bytes, source, name, value, beside.as_deref()),
        Change::Remove { name } => match source.setting(name) {
            None => Ok(Step::Nothing),
            Some(setting) => remove::remove(bytes, source, setting, later).map(Step::Edits),
        },
    }
}

pub(super) fn dialect(syntax: Syntax) -> Result<Dialect, Refusal> {
    match syntax {
        Syntax::HclBody => Ok(Dialect::Body),
        Syntax::HclObject => Ok(Dialect::Object),
        Syntax::Json => Ok(Dialect::Json),
        Syntax::Yaml => Ok(Dialect::Yaml),
        Syntax::Flag | Syntax::Other => Err(Refusal::Syntax),
    }
}

/// Whether the value that stands is the one that is wanted. Source: Terraform converts `"true"` and `"1"` for a
/// boolean argument.
pub(super) fn is_same(stands: &Value, wanted: &Literal) -> bool {
    match (stands, wanted) {
        (Value::Bool(stands), Literal::Bool(wanted)) => stands == wanted,
        (Value::Text(stands), Literal::Bool(true)) => stands == "true" || stands == "1",
        (Value::Text(stands), Literal::Bool(false)) => stands == "false" || stands == "0",
        (Value::Text(stands), Literal::Text(wanted)) => stands == wanted,
        _ => false,
    }
}

fn set(
    bytes: &[u8],
    source: &Source,
    name: &str,
    value: &Literal,
    beside: Option<&str>,
) -> Result<Step, Refusal> {
    let embedded = !is_whole_file(source.kind);
    let spelled = spell::literal(source.syntax, value, embedded)?;
    if let Some(setting) = source.setting(name) {
        return match &setting.value {
            stands if is_same(stands, value) => Ok(Step::Nothing),
            Value::Unknown { .. } | Value::Object | Value::Secret => {
                Err(Refusal::UnknownValue { name: name.to_owned() })
            }
            _ => {
                let text = requoted(setting.value_span.of(bytes), source.syntax, &spelled);
                Ok(Step::Edits(vec![Edit::replace(setting.value_span, text)]))
            }
        };
    }
    let addition = match source.syntax {
        Syntax::Flag => {
            let named = beside.and_then(|beside| source.setting(beside)).or(source.settings.last());
            flag_change::add(bytes, named.ok_or(Refusal::NoPlace)?, name, &spelled)?
        }
        syntax => insert::add(bytes, source, dialect(syntax)?, name, &spelled, beside)?,
    };
    Ok(Step::Add(addition))
}

/// A flag's value keeps the quotes that it has.
fn requoted(stands: &[u8], syntax: Syntax, spelled: &str) -> String {
    match stands.first() {
        Some(quote @ (b'"' | b'\'')) if syntax == Syntax::Flag && stands.len() > 1 => {
            let quote = char::from(*quote);
            format!("{quote}{spelled}{quote}")
        }
        _ => spelled.to_owned(),
    }
}

/// Whether a source of this kind stands in a file that is HCL from end to end.
fn is_whole_file(kind: SourceKind) -> bool {
    matches!(
        kind,
        SourceKind::Backend
            | SourceKind::BackendOverride
            | SourceKind::BackendConfigFile
            | SourceKind::TerragruntRemoteState
            | SourceKind::Reader
    )
}

/// Where columns are kept: nowhere but in HCL.
fn region(bytes: &[u8], source: &Source) -> Region {
    if !matches!(source.syntax, Syntax::HclBody | Syntax::HclObject) {
        return Region::Lines(Span::new(0, 0));
    }
    if is_whole_file(source.kind) && readable_to(bytes) >= source.span.end {
        return Region::File;
    }
    let first = item::line_at(bytes, source.span.start);
    let last = item::line_at(bytes, source.span.end);
    Region::Lines(Span::new(first.start, last.end))
}

#[cfg(test)]
mod tests;
