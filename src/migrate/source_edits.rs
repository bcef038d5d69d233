//! The edits that make changes to the sources of one file: set an argument, or remove one. Pure: bytes and spans in,
//! edits out. Which changes are wanted, and whether they may be made, is decided elsewhere.

use super::addition::{Addition, NewItem};
use super::align::{Region, readable_to, realign};
use super::change::{Change, Literal, Refusal};
use super::edit::{Edit, Edits};
use super::item::{self, Dialect};
use super::spell;
use super::{flag_change, insert, remove};
use crate::repo::setting::{Setting, Value};
use crate::repo::source::{Source, SourceKind, Syntax};
use crate::repo::text::{Position, Span, Text};

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
                value: value.worth(),
                via: Vec::new(),
            });
            source.settings.sort_by_key(|setting| setting.span.start);
        }
        None => {
            if let Some(setting) = source.settings.iter_mut().rev().find(|setting| setting.name == *name) {
                setting.value = value.worth();
            }
        }
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
            stands if value.is(stands) => Ok(Step::Nothing),
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
        syntax => {
            let dialect = Dialect::of(syntax).ok_or(Refusal::Syntax)?;
            insert::add(bytes, source, dialect, name, &spelled, beside)?
        }
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
