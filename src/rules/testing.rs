//! Inventories for tests, built from sources the way a scan would merge them: later sources win. Tests only.

use super::{Check, Rule};
use crate::finding::Finding;
use crate::repo::facts::{InlineIgnore, Tool};
use crate::repo::inventory::{
    EffectiveBackend, Engine, Habit, HabitKind, Inventory, Knowable, LockMode, RootKind, RootModule,
    SourceRef, VersionEvidence, VersionVerdict, Versions,
};
use crate::repo::setting::{Setting, Value};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Place, Position, Span};

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

pub(super) fn yes() -> Value {
    Value::Bool(true)
}

pub(super) fn off() -> Value {
    Value::Bool(false)
}

pub(super) fn unknown(expression: &str) -> Value {
    Value::Unknown { expression: expression.to_owned(), reason: format!("`{expression}` needs a run") }
}

pub(super) fn spot(file: &str, line: usize) -> Place {
    Place { file: file.to_owned(), line, column: 1 }
}

/// A source whose settings stand on the lines below its first, in column 3.
pub(super) fn source(kind: SourceKind, file: &str, line: usize, settings: &[(&str, Value)]) -> Source {
    let span = Span::new(0, 0);
    let settings = settings
        .iter()
        .zip(line + 1..)
        .map(|((name, value), line)| Setting {
            name: (*name).to_owned(),
            at: Position { line, column: 3 },
            span,
            name_span: span,
            value_span: span,
            value: value.clone(),
            via: Vec::new(),
        })
        .collect();
    Source {
        kind,
        syntax: Syntax::HclBody,
        place: spot(file, line),
        span,
        body: span,
        settings,
        editability: Editability::Safe,
        label: None,
        git_ignored: false,
    }
}

pub(super) fn block(file: &str, line: usize, settings: &[(&str, Value)]) -> Source {
    source(SourceKind::Backend, file, line, settings)
}

pub(super) fn habit(kind: HabitKind, file: &str, line: usize) -> Habit {
    Habit { kind, place: spot(file, line), dir: None }
}

pub(super) fn inline(file: &str, line: usize, rule: &str, reason: &str) -> InlineIgnore {
    InlineIgnore { place: spot(file, line), rule: rule.to_owned(), reason: reason.to_owned() }
}

pub(super) fn evidence(tool: Tool, text: &str, file: &str, verdict: VersionVerdict) -> VersionEvidence {
    VersionEvidence { tool, text: text.to_owned(), origin: "pin".to_owned(), place: spot(file, 1), verdict }
}

/// Findings of one rule over an inventory.
pub(super) fn run(rule: &Rule, inventory: &Inventory) -> Vec<Finding> {
    match rule.check {
        Check::Inventory(check) => check(inventory),
        _ => Vec::new(),
    }
}

/// Places at which one rule fires.
pub(super) fn at(rule: &Rule, inventory: &Inventory) -> Vec<String> {
    run(rule, inventory).into_iter().map(|finding| finding.place.to_string()).collect()
}

#[derive(Default)]
pub(super) struct Build {
    inventory: Inventory,
}

impl Build {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// A root module; each backend is its sources in merging order. A primary block followed by an override
    /// block is shadowed, as in Terraform.
    pub(super) fn root(mut self, path: &str, backends: Vec<Vec<Source>>) -> Self {
        let backends = backends.into_iter().map(|sources| self.backend(sources)).collect();
        self.inventory.roots.push(RootModule {
            path: path.to_owned(),
            kind: RootKind::Terraform,
            backends,
            versions: Versions {
                verdict: VersionVerdict::Unknown,
                reason: "no evidence".to_owned(),
                evidence: Vec::new(),
            },
            owners: Vec::new(),
            called_by: Vec::new(),
            not_s3: None,
            link_of: None,
        });
        self
    }

    pub(super) fn done(self) -> Inventory {
        self.inventory
    }

    fn backend(&mut self, sources: Vec<Source>) -> EffectiveBackend {
        let last_override = sources.iter().rposition(|source| source.kind == SourceKind::BackendOverride);
        let mut references = Vec::new();
        let mut live: Vec<&Source> = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let is_block = matches!(source.kind, SourceKind::Backend | SourceKind::BackendOverride);
            let shadowed = is_block && last_override.is_some_and(|last| index < last);
            if !shadowed {
                live.push(source);
            }
            references.push(SourceRef {
                file: source.place.file.clone(),
                line: source.place.line,
                column: source.place.column,
                kind: source.kind,
                shadowed,
                git_ignored: false,
                report_only: None,
                source: self.inventory.sources.len() + index,
            });
        }
        let value = |name: &str| live.iter().rev().find_map(|source| source.setting(name)).map(|s| &s.value);
        let known = |name: &str| match value(name) {
            Some(Value::Text(text)) if !text.is_empty() => Knowable::Known(text.clone()),
            Some(Value::Unknown { reason, .. }) => Knowable::Unknown(reason.clone()),
            _ => Knowable::Absent,
        };
        let dynamodb_table = known("dynamodb_table");
        let use_lockfile = match value("use_lockfile") {
            Some(Value::Bool(on)) => Knowable::Known(*on),
            Some(Value::Text(text)) => Knowable::Known(text == "true"),
            Some(Value::Unknown { reason, .. }) => Knowable::Unknown(reason.clone()),
            _ => Knowable::Absent,
        };
        let backend = EffectiveBackend {
            mode: LockMode::of(&dynamodb_table, &use_lockfile),
            bucket: known("bucket"),
            key: known("key"),
            region: known("region"),
            workspace_key_prefix: known("workspace_key_prefix"),
            endpoint: known("endpoints.s3"),
            dynamodb_table,
            use_lockfile,
            backend_config: live
                .iter()
                .filter(|source| source.kind == SourceKind::BackendConfigFile)
                .map(|source| source.place.file.clone())
                .collect(),
            engine: Engine::Any,
            sources: references,
        };
        self.inventory.sources.extend(sources);
        backend
    }
}
