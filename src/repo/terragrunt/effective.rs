//! What a unit's backend comes to, in the inventory's words.

use hcl_edit::expr::Expression;
use hcl_edit::template::Element;

use super::Unit;
use crate::repo::inventory::{EffectiveBackend, Engine, Knowable, LockMode};
use crate::repo::root_module;
use crate::repo::setting::Value;
use crate::repo::source::Source;
use crate::repo::syntax::expression::{Scope, parse};

/// What a unit's backend comes to. `sources` are the inventory's; `index` says where each of [`super::sources`]
/// stands there; `block` is the module's own backend block, which the unit's settings are merged onto.
pub fn effective(unit: &Unit, sources: &[Source], index: &[usize], block: Option<usize>) -> EffectiveBackend {
    let place = |source: &usize| index.get(*source).copied();
    let mut resolved: Vec<Source> = block.and_then(|at| sources.get(at).cloned()).into_iter().collect();
    for source in &unit.sources {
        let Some(found) = place(source).and_then(|at| sources.get(at)) else { continue };
        let settings =
            unit.settings.iter().filter(|(_, from)| from == source).map(|(setting, _)| setting.clone());
        resolved.push(Source { settings: settings.collect(), ..found.clone() });
    }
    let layers: Vec<usize> = (0..resolved.len()).collect();
    let mut backend =
        root_module::effective(&resolved, &layers, &[], &Scope::default(), Vec::new(), Engine::Any);
    // Terragrunt resolves references itself: they say nothing about the program that it runs.
    backend.engine = Engine::Any;
    let table_is_set = ["dynamodb_table", "lock_table"].iter().any(|name| is_certainly_text(unit, name));
    if backend.mode == LockMode::Unknown && table_is_set {
        // Its name can't be told, and that there is one can.
        let some_table = Knowable::Known(String::new());
        backend.mode = LockMode::of(&some_table, &backend.use_lockfile);
    }
    if let Some(reason) = &unit.unknown {
        let unknown = || Knowable::Unknown(reason.clone());
        backend.mode = LockMode::Unknown;
        backend.bucket = unknown();
        backend.key = unknown();
        backend.region = unknown();
        backend.dynamodb_table = unknown();
        backend.use_lockfile = Knowable::Unknown(reason.clone());
    }
    let counted: Vec<usize> = block.into_iter().chain(unit.sources.iter().filter_map(place)).collect();
    let hidden: Vec<usize> = unit.shadowed.iter().filter_map(place).collect();
    backend.sources = root_module::source_refs(sources, &counted, &hidden);
    backend
}

/// Whether a setting is a text that is not empty, though parts of it are unknown: `"locks-${…}"` is one.
fn is_certainly_text(unit: &Unit, name: &str) -> bool {
    let last = unit.settings.iter().rev().find(|(setting, _)| setting.name == name);
    let Some(Value::Unknown { expression, .. }) = last.map(|(setting, _)| &setting.value) else {
        return false;
    };
    let Ok(Expression::StringTemplate(template)) = parse(expression) else { return false };
    template.iter().any(|part| matches!(part, Element::Literal(text) if !text.value().is_empty()))
}
