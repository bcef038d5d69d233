//! Versions: can what runs a root module lock by `use_lockfile`? Pure: constraints and pins in, a verdict out.
//! Reading pins from files is `syntax::pins`' work.
//!
//! # The rule
//!
//! 1. Every effective `required_version` (and Terragrunt's `terraform_version_constraint`) must hold at once: they
//!    are intersected. If one can't be read, or names a pre-release, Terraform itself stops: unknown.
//! 2. If what is left is wholly able, or wholly unable, that is the verdict: the program enforces it, whatever
//!    the pins say.
//! 3. Else the pins decide, because they say what really runs. Of each kind of pin (`.terraform-version`,
//!    `setup-terraform`, …) those with the nearest scope count; a kind may have several (workflows), and each is
//!    a run of its own. A pin that `required_version` refuses belongs to another root module and is passed over.
//! 4. All counted pins able: can. All unable: can't. They disagree: admits older. A pin that can't be read
//!    decides nothing: with an able one it is unknown, unless `required_version` is there and admits older.
//! 5. An exact version, a line (`1.11`) and `latest` say which release runs; a range (`>= 1.3`) only which may
//!    run, except where it is given to an action that takes the newest release of it (`setup-terraform: ~1`).
//! 6. Terragrunt's own pins are judged the same way, and the worse of the two verdicts is the root module's.
//!    The caller leaves them out where Terragrunt does not run the root module.

pub mod constraint;
mod known;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use constraint::{Constraint, Ranges, Release, parse_constraint};
use known::{Pin, of_pin, of_set, read_pin};

use super::facts::{Tool, VersionPin};
use super::inventory::{Engine, VersionEvidence, VersionVerdict, Versions};
use super::setting::{Setting, Value};
use super::text::Place;

pub use known::{first_able, verdict};

/// Pins that hold for a root module, nearest first (then by file and position).
pub fn applicable<'a>(root: &str, pins: impl IntoIterator<Item = &'a VersionPin>) -> Vec<&'a VersionPin> {
    let mut found: Vec<_> = pins.into_iter().filter(|pin| covers(&pin.scope, root)).collect();
    found.sort_by(|a, b| depth(&b.scope).cmp(&depth(&a.scope)).then_with(|| a.place.cmp(&b.place)));
    found
}

/// Whether a directory is, or lies above, another.
fn covers(scope: &str, root: &str) -> bool {
    scope == "." || root.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// How many directories deep a scope is; the top is zero.
fn depth(scope: &str) -> usize {
    if scope == "." { 0 } else { scope.split('/').count() }
}

/// A verdict, and why.
type Judged = (VersionVerdict, String);

/// Judges root modules, one after the other or at once. Thousands of them name the same few constraints: each is read
/// and judged once.
#[derive(Default)]
pub struct Judge {
    constraints: RwLock<BTreeMap<Tool, HashMap<String, Arc<Alone>>>>,
}

/// What a constraint says for one program, taken alone.
struct Alone {
    read: Result<Constraint, String>,
    judged: Judged,
}

impl Judge {
    /// Judges one root module by its effective `required_version`s and the pins that hold for it (see
    /// [`applicable`]), nearest first.
    pub fn judge(&self, required: &[&(Place, Setting)], pins: &[&VersionPin], engine: Engine) -> Versions {
        let mut evidence = Vec::with_capacity(required.len() + pins.len());
        let mut parts = Vec::new();
        for tool in engines(engine, pins) {
            let requirement = self.requirement(tool, required, pins);
            parts.push(judge_tool(tool, &requirement, pins));
            if evidence.is_empty() {
                let judged =
                    |(place, setting): &&(Place, Setting)| self.required_evidence(tool, place, setting);
                evidence.extend(required.iter().map(judged));
            }
        }
        if pins.iter().any(|pin| pin.tool == Tool::Terragrunt) {
            let terragrunt = self.requirement(Tool::Terragrunt, &[], pins);
            parts.push(judge_tool(Tool::Terragrunt, &terragrunt, pins));
        }
        evidence.extend(pins.iter().map(|pin| pin_evidence(pin)));
        let worst = parts.into_iter().max_by_key(|(verdict, _)| severity(*verdict));
        let (verdict, reason) = worst.unwrap_or((VersionVerdict::Unknown, NO_EVIDENCE.to_owned()));
        Versions { verdict, reason, evidence }
    }

    /// Judges one root module in which the two programs read different `required_version`s: the worse verdict, and the
    /// evidence of both. Where pins say that OpenTofu alone runs, it alone counts.
    pub fn judge_both(
        &self,
        terraform: &[&(Place, Setting)],
        tofu: &[&(Place, Setting)],
        pins: &[&VersionPin],
    ) -> Versions {
        let by_tofu = self.judge(tofu, pins, Engine::OpenTofu);
        if engines(Engine::Any, pins) == [Tool::OpenTofu] {
            return by_tofu;
        }
        let by_terraform = self.judge(terraform, pins, Engine::Terraform);
        let (mut worse, better) = if severity(by_tofu.verdict) > severity(by_terraform.verdict) {
            (by_tofu, by_terraform)
        } else {
            (by_terraform, by_tofu)
        };
        for piece in better.evidence {
            if !worse.evidence.contains(&piece) {
                worse.evidence.push(piece);
            }
        }
        worse
    }

    fn alone(&self, tool: Tool, text: &str) -> Arc<Alone> {
        let known = self.constraints.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&tool).and_then(|texts| texts.get(text)) {
            return Arc::clone(found);
        }
        drop(known);
        let read = parse_constraint(text);
        let judged = match &read {
            Ok(constraint) => of_set(tool, &constraint.admitted, &format!("`{}`", text.trim())),
            Err(why) => (VersionVerdict::Unknown, why.clone()),
        };
        let alone = Arc::new(Alone { read, judged });
        let mut known = self.constraints.write().unwrap_or_else(PoisonError::into_inner);
        known.entry(tool).or_default().insert(text.to_owned(), Arc::clone(&alone));
        alone
    }

    fn requirement(&self, tool: Tool, required: &[&(Place, Setting)], pins: &[&VersionPin]) -> Requirement {
        let mut texts: Vec<(&Place, &str, bool)> = Vec::new();
        for (place, setting) in required {
            match &setting.value {
                Value::Text(text) | Value::Number(text) => texts.push((place, text, true)),
                Value::Null => {}
                _ => {
                    return Requirement::Broken(format!(
                        "`required_version` at {place} is an expression, which {} refuses",
                        known::name(tool)
                    ));
                }
            }
        }
        for pin in pins.iter().filter(|pin| pin.tool == tool && is_constraint(pin)) {
            texts.push((&pin.place, &pin.text, false));
        }
        let mut whole: Option<(Ranges, Release, Vec<&str>)> = None;
        for (place, text, from_module) in &texts {
            let alone = self.alone(tool, text);
            let constraint = match &alone.read {
                Ok(constraint) => constraint,
                Err(why) => {
                    return Requirement::Broken(format!("the constraint at {place} can't be read: {why}"));
                }
            };
            if let Some(pre) = constraint.pre_release.as_ref().filter(|_| *from_module) {
                return Requirement::Broken(format!(
                    "`required_version` at {place} names the pre-release {pre}, which {} refuses there",
                    known::name(tool)
                ));
            }
            if texts.len() == 1 {
                let Constraint { admitted, first_named, .. } = constraint;
                let judged = alone.judged.clone();
                return Requirement::Admits { set: admitted.clone(), first_named: *first_named, judged };
            }
            let (set, first, mut shown) =
                whole.unwrap_or_else(|| (Ranges::all(), constraint.first_named, Vec::new()));
            shown.push(text.trim());
            whole = Some((set.and(&constraint.admitted), first, shown));
        }
        match whole {
            None => Requirement::Absent,
            Some((set, first_named, shown)) => {
                let judged = of_set(tool, &set, &format!("`{}`", shown.join(", ")));
                Requirement::Admits { set, first_named, judged }
            }
        }
    }

    fn required_evidence(&self, tool: Tool, place: &Place, setting: &Setting) -> VersionEvidence {
        let text = match &setting.value {
            Value::Text(text) | Value::Number(text) => text.clone(),
            Value::Null => "null".to_owned(),
            Value::Unknown { expression, .. } => expression.clone(),
            Value::Bool(_) | Value::Secret | Value::Object => String::new(),
        };
        // Read as the program reads it: a bare `1.11` means exactly 1.11.0 here.
        let alone = self.alone(tool, &text);
        let verdict = match &alone.read {
            Ok(constraint) if constraint.pre_release.is_none() => alone.judged.0,
            _ => VersionVerdict::Unknown,
        };
        VersionEvidence { tool, text, origin: "required_version".to_owned(), place: place.clone(), verdict }
    }
}

const NO_EVIDENCE: &str = "nothing in the repository says which version runs";

/// Which programs a root module's `required_version` speaks to: the engine, and where both may run it, those
/// that are pinned; Terraform when nothing is.
fn engines(engine: Engine, pins: &[&VersionPin]) -> Vec<Tool> {
    let pinned = |tool: Tool| pins.iter().any(|pin| pin.tool == tool);
    match engine {
        Engine::Terraform => vec![Tool::Terraform],
        Engine::OpenTofu => vec![Tool::OpenTofu],
        Engine::Any if pinned(Tool::OpenTofu) && pinned(Tool::Terraform) => {
            vec![Tool::Terraform, Tool::OpenTofu]
        }
        Engine::Any if pinned(Tool::OpenTofu) => vec![Tool::OpenTofu],
        Engine::Any => vec![Tool::Terraform],
    }
}

/// Worse verdicts are larger. Of two equal ones the later is taken, so its order is part of the rule.
fn severity(verdict: VersionVerdict) -> u8 {
    match verdict {
        VersionVerdict::Can => 0,
        VersionVerdict::Unknown => 1,
        VersionVerdict::AdmitsOlder => 2,
        VersionVerdict::Cannot => 3,
    }
}

/// What the program itself enforces.
enum Requirement {
    /// Nothing.
    Absent,
    /// These releases alone; the first version named, and what they come to.
    Admits { set: Ranges, first_named: Release, judged: Judged },
    /// It can't be read, or the program refuses it.
    Broken(String),
}

/// Pins that the program checks (`terraform_version_constraint`) rather than chooses a version by.
fn is_constraint(pin: &VersionPin) -> bool {
    pin.origin.contains("constraint")
}

fn judge_tool(tool: Tool, requirement: &Requirement, pins: &[&VersionPin]) -> (VersionVerdict, String) {
    let (allowed, first_named, wide) = match requirement {
        Requirement::Broken(why) => return (VersionVerdict::Unknown, why.clone()),
        Requirement::Absent => (Ranges::all(), None, None),
        Requirement::Admits { judged, .. } if judged.0 != VersionVerdict::AdmitsOlder => {
            return judged.clone();
        }
        Requirement::Admits { set, first_named, judged } => {
            (set.clone(), Some(*first_named), Some(judged.clone()))
        }
    };
    let mut judged = Vec::new();
    for pin in counted(tool, pins) {
        let what = format!("{} `{}` ({})", pin.origin, pin.text.trim(), pin.place);
        match read(pin) {
            Err(why) => {
                judged.push((VersionVerdict::Unknown, format!("{} ({}): {why}", pin.origin, pin.place)));
            }
            Ok(Pin::MinRequired) if first_named.is_some() => {
                let set = first_named.map_or_else(Ranges::none, Ranges::one);
                judged.push(of_set(tool, &set, &what));
            }
            Ok(Pin::Newest(set) | Pin::AnyOf(set)) if set.and(&allowed).is_empty() => {}
            Ok(pin) => judged.push(of_pin(tool, &pin, &allowed, &what)),
        }
    }
    let first = |wanted: VersionVerdict| judged.iter().find(|(verdict, _)| *verdict == wanted).cloned();
    let all = |wanted: VersionVerdict| judged.iter().all(|(verdict, _)| *verdict == wanted);
    if judged.is_empty() {
        return wide.unwrap_or((VersionVerdict::Unknown, NO_EVIDENCE.to_owned()));
    }
    let older = first(VersionVerdict::AdmitsOlder).or_else(|| first(VersionVerdict::Cannot));
    match older {
        Some(cannot) if all(VersionVerdict::Cannot) => cannot,
        Some((_, reason)) => match first(VersionVerdict::Can) {
            Some((_, able)) => (VersionVerdict::AdmitsOlder, format!("pins disagree: {reason}; but {able}")),
            None => (VersionVerdict::AdmitsOlder, reason),
        },
        None => match first(VersionVerdict::Unknown) {
            // What can't be read may be anything that `required_version` admits.
            Some(unread) => match wide {
                Some((verdict, reason)) => (verdict, format!("{reason}; {}", unread.1)),
                None => unread,
            },
            None => first(VersionVerdict::Can).unwrap_or((VersionVerdict::Unknown, NO_EVIDENCE.to_owned())),
        },
    }
}

/// Reads a pin. setup-terraform and setup-opentofu install the newest release that a range admits (their READMEs),
/// and inputs of reusable workflows are handed on to them.
fn read(pin: &VersionPin) -> Result<Pin, String> {
    let takes_newest = pin.origin.starts_with("setup-") || pin.origin == "ci-input";
    Ok(match read_pin(pin.tool, &pin.text)? {
        Pin::AnyOf(set) if takes_newest => Pin::Newest(set),
        other => other,
    })
}

/// Pins of one program that say what runs: of each kind those with the nearest scope.
fn counted<'a>(tool: Tool, pins: &[&'a VersionPin]) -> Vec<&'a VersionPin> {
    let of_tool: Vec<_> =
        pins.iter().copied().filter(|pin| pin.tool == tool && !is_constraint(pin)).collect();
    let nearest =
        |origin: &str| of_tool.iter().filter(|pin| pin.origin == origin).map(|pin| depth(&pin.scope)).max();
    of_tool.iter().copied().filter(|pin| Some(depth(&pin.scope)) == nearest(pin.origin)).collect()
}

fn pin_evidence(pin: &VersionPin) -> VersionEvidence {
    VersionEvidence {
        tool: pin.tool,
        text: pin.text.clone(),
        origin: pin.origin.to_owned(),
        place: pin.place.clone(),
        verdict: match read(pin) {
            Ok(read) => of_pin(pin.tool, &read, &Ranges::all(), "").0,
            Err(_) => VersionVerdict::Unknown,
        },
    }
}

#[cfg(test)]
mod tests;
