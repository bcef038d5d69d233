//! The settings of one source as one unit sees them: expressions evaluated, computed objects taken apart.

use std::collections::BTreeMap;

use super::value::Val;
use super::{Layer, Merger, Unit, paths};
use crate::repo::secret::{NOT_SHOWN, names_a_secret};
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Source, SourceKind};
use crate::repo::syntax::terragrunt::shown_expression;

impl<'a> Merger<'a> {
    pub(super) fn settings(&mut self, index: usize, source: &Source, layer: &Layer<'a>, unit: &mut Unit) {
        if let Some(backend) = layer.facts.expressions.get(&source.span.start) {
            match self.evaluator.text(backend, &layer.context).0 {
                Val::Text(kind) if kind == "s3" => {}
                Val::Text(kind) => {
                    unit.other_backend = Some(kind);
                    unit.sources.retain(|kept| *kept != index);
                    unit.shadowed.push(index);
                    return;
                }
                other => {
                    let reason = other.text().err().unwrap_or_default();
                    unit.unknown.get_or_insert(format!("the backend's type can't be told: {reason}"));
                }
            }
        }
        if let Some(whole) = opaque(source) {
            return self.computed(index, whole, source, layer, unit);
        }
        for setting in &source.settings {
            let resolved = match layer.facts.expressions.get(&setting.value_span.start) {
                Some(expression) => self.resolved(setting, expression, layer),
                None => setting.clone(),
            };
            unit.settings.push((resolved, index));
        }
    }

    fn resolved(&mut self, setting: &Setting, expression: &str, layer: &Layer<'a>) -> Setting {
        let (value, via) = self.evaluator.text(expression, &layer.context);
        let value = match shown_value(value, expression) {
            // `get_env("LOCK_TOKEN", "…")`: what it comes to is the secret.
            Value::Text(_) if names_a_secret(expression) => {
                Value::Unknown { expression: NOT_SHOWN.to_owned(), reason: "it names a secret".to_owned() }
            }
            value => value,
        };
        Setting { value: without_secrets(&setting.name, value), via, ..setting.clone() }
    }

    /// `config = merge(…)` and the like: its items when they can be told, all of them unknown otherwise.
    fn computed(
        &mut self,
        index: usize,
        whole: &Setting,
        source: &Source,
        layer: &Layer<'a>,
        unit: &mut Unit,
    ) {
        let Some(expression) = layer.facts.expressions.get(&whole.value_span.start).cloned() else {
            if let Value::Unknown { reason, .. } = &whole.value {
                unit.unknown.get_or_insert(format!("{}: {reason}", source.place));
            }
            unit.settings.extend(source.settings.iter().map(|setting| (setting.clone(), index)));
            return;
        };
        let (value, via) = self.evaluator.text(&expression, &layer.context);
        let value = match value {
            Val::Locals(file) => self.evaluator.all_locals(&file),
            // `remote_state = local.state`: the object holds `config` itself.
            Val::Object(mut items) if source.body == whole.value_span && items.contains_key("config") => {
                items.remove("config").unwrap_or(Val::Null)
            }
            value => value,
        };
        match value {
            Val::Object(items) => flatten("", items, &mut |name, value| {
                let value = without_secrets(&name, shown_value(value, &expression));
                unit.settings.push((Setting { name, value, via: via.clone(), ..whole.clone() }, index));
            }),
            other => {
                let reason = match other {
                    Val::Unknown(reason) => reason,
                    _ => "it is no object".to_owned(),
                };
                unit.unknown
                    .get_or_insert(format!("{} can't be told: {reason}", shown_expression(&expression)));
                unit.settings.extend(source.settings.iter().map(|setting| (setting.clone(), index)));
            }
        }
    }
}

/// The setting that stands for all settings of a source whose `config` (or contents) is computed.
///
/// Such a source carries the same unknown value under the names that decide locks; they share one place.
pub fn opaque(source: &Source) -> Option<&Setting> {
    let computed = matches!(source.kind, SourceKind::TerragruntRemoteState | SourceKind::TerragruntGenerate);
    source.settings.windows(2).find_map(|pair| match pair {
        [first, second] if computed && first.value_span == second.value_span && first.value.is_unknown() => {
            Some(first)
        }
        _ => None,
    })
}

fn flatten(prefix: &str, items: BTreeMap<String, Val>, each: &mut dyn FnMut(String, Val)) {
    for (name, value) in items {
        let name = format!("{prefix}{name}");
        match value {
            // Deeper than this no setting of a backend stands.
            Val::Object(items) if prefix.len() < 64 => flatten(&format!("{name}."), items, each),
            value => each(name, value),
        }
    }
}

/// A value as a setting holds it.
fn shown_value(value: Val, expression: &str) -> Value {
    let unknown = |reason: String| Value::Unknown { expression: shown_expression(expression), reason };
    match value {
        Val::Text(text) if paths::depends_on_checkout(&text) => {
            unknown("it depends on where the checkout lies".to_owned())
        }
        Val::Text(text) => Value::Text(text),
        Val::Bool(value) => Value::Bool(value),
        Val::Number(number) => Value::Number(number),
        Val::Null => Value::Null,
        Val::Object(_) => Value::Object,
        Val::Unknown(reason) => unknown(reason),
        Val::List(_) | Val::Config(_) | Val::Locals(_) => unknown("it is no text".to_owned()),
    }
}
