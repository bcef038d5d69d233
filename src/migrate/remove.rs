//! Which bytes go when a setting goes: the item, the object around it that would be empty, the comment that is
//! about it. How lines and commas close the gap is [`super::item`]'s business.

use super::change::{Change, Literal, Refusal};
use super::edit::Edit;
use super::flag_change;
use super::item::{Dialect, Item, Removal};
use crate::repo::setting::Setting;
use crate::repo::source::{Source, Syntax};
use crate::repo::text::Span;

/// The edits that remove a setting, and what holds nothing without it. `later` are the changes still to come.
pub(super) fn remove(
    bytes: &[u8],
    source: &Source,
    setting: &Setting,
    later: &[Change],
) -> Result<Vec<Edit>, Refusal> {
    if source.syntax == Syntax::Flag {
        return flag_change::remove(bytes, setting).map(|edit| vec![edit]);
    }
    let own = Dialect::of(source.syntax).ok_or(Refusal::Syntax)?;
    let target = whole_of(source, setting);
    let parent = target.name.rsplit_once('.').and_then(|(parent, _)| {
        source.settings.iter().rev().find(|other| other.name == parent && other.span.contains(target.span))
    });
    let (container, dialect) = match parent {
        None => (source.body, own),
        // Nested settings stand in an object, save in a nested block.
        Some(parent) => {
            let inner = Span::new(parent.value_span.start + 1, parent.value_span.end.saturating_sub(1));
            let block = Span::new(parent.name_span.end, parent.value_span.start).of(bytes);
            let is_block = own == Dialect::Body && !block.contains(&b'=');
            match own {
                Dialect::Body | Dialect::Object => {
                    (inner, if is_block { Dialect::Body } else { Dialect::Object })
                }
                other => (if other == Dialect::Json { inner } else { source.body }, other),
            }
        }
    };
    let refused = || Refusal::SharedLine { name: target.name.clone() };
    let others = || source.settings.iter().filter(|other| !target.span.contains(other.span));
    if own == Dialect::Yaml {
        let siblings = others().any(|other| !other.span.contains(target.span));
        if !siblings {
            return Err(Refusal::LeavesNothing { name: target.name.clone() });
        }
    }
    let removal = Removal {
        item: Item::at(bytes, target.span, dialect),
        container,
        previous_end: others().map(|other| other.span.end).filter(|end| *end <= target.span.start).max(),
        dialect,
        about_table: is_table_name(&setting.name),
        lock_stays: lock_stays(source, later),
    };
    removal.edits(bytes).ok_or_else(refused)
}

/// The setting, or the object around it that would hold nothing without it.
fn whole_of<'a>(source: &'a Source, setting: &'a Setting) -> &'a Setting {
    let mut target = setting;
    while let Some((parent, _)) = target.name.rsplit_once('.') {
        let holds = |other: &&Setting| other.name == parent && other.span.contains(target.span);
        let Some(around) = source.settings.iter().rev().find(holds) else { break };
        let others = source
            .settings
            .iter()
            .any(|other| around.value_span.contains(other.span) && !target.span.contains(other.span));
        if others {
            break;
        }
        target = around;
    }
    target
}

/// Arguments that are about the lock table.
fn is_table_name(name: &str) -> bool {
    name.contains("dynamodb") || name.contains("lock_table")
}

/// Whether the lockfile is on here once all changes are made.
fn lock_stays(source: &Source, later: &[Change]) -> bool {
    let now = source.setting("use_lockfile").is_some_and(|setting| Literal::Bool(true).is(&setting.value));
    later.iter().fold(now, |on, change| match change {
        Change::Set { name, value, .. } if name == "use_lockfile" => *value == Literal::Bool(true),
        Change::Remove { name } if name == "use_lockfile" => false,
        _ => on,
    })
}
