//! One directory as Terraform or OpenTofu would load it: which files are seen, which backend block wins, and
//! what it makes of the settings that are merged onto it. Pure: facts in, effective backends out.
//!
//! Sources: `internal/configs/parser_config_dir.go` and `module.go` of hashicorp/terraform and opentofu/opentofu
//! (file selection, override order, whole-block replacement), `internal/backend/remote-state/s3/backend.go`
//! (what counts as unset).

use super::facts::{BackendBlock, FileId, ModuleFacts};
use super::inventory::{EffectiveBackend, Engine, Knowable, LockMode, SourceRef};
use super::problem::{Problem, ProblemKind};
use super::setting::{Setting, Value};
use super::source::Source;
use super::syntax::expression::{self, Scope};
use super::text::Place;

/// One configuration file of a directory.
#[derive(Debug, Clone, Copy)]
pub struct ModuleFile<'a> {
    /// Which file.
    pub id: &'a FileId,
    /// What it declares.
    pub facts: &'a ModuleFacts,
    /// Index of its first source in the inventory: its backend blocks' sources stand there in order.
    pub first_source: usize,
}

/// Whether a file name is one that Terraform or OpenTofu loads. Names that begin with `.` or `#`…`#` or end with
/// `~` are editors' leavings and are passed over by both.
pub fn is_module_file(name: &str) -> bool {
    let left_over =
        name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'));
    !left_over && stem(name).is_some()
}

/// Whether only OpenTofu loads a file of this name.
pub fn is_tofu_file(name: &str) -> bool {
    name.ends_with(".tofu") || name.ends_with(".tofu.json")
}

/// Whether a configuration file is in JSON syntax.
pub fn is_json_file(name: &str) -> bool {
    name.ends_with(".json")
}

/// Whether a configuration file of this name is an override file.
pub fn is_override_file(name: &str) -> bool {
    stem(name).is_some_and(|stem| stem == "override" || stem.ends_with("_override"))
}

fn stem(name: &str) -> Option<&str> {
    [".tf.json", ".tofu.json", ".tf", ".tofu"].iter().find_map(|end| name.strip_suffix(end))
}

/// The backend that wins in a directory for one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Winner<'a> {
    /// Index into [`super::inventory::Inventory::sources`], when the winner is an s3 backend.
    pub s3: Option<usize>,
    /// The type of the winner when it is another backend, or `cloud` / `state_store`.
    pub other: Option<String>,
    /// s3 blocks that are there and do not count, in the order in which they lost.
    pub shadowed: Vec<usize>,
    /// `required_version` settings that count.
    pub required_versions: Vec<&'a (Place, Setting)>,
    /// What the engine would refuse.
    pub problems: Vec<Problem>,
}

/// The files that an engine loads, primaries and overrides apart, each in the order of merging.
fn visible<'a, 'b>(
    files: &'b [ModuleFile<'a>],
    engine: Engine,
) -> (Vec<&'b ModuleFile<'a>>, Vec<&'b ModuleFile<'a>>) {
    let mut seen: Vec<&ModuleFile<'_>> = files
        .iter()
        .filter(|file| match engine {
            Engine::OpenTofu => !is_hidden_by_tofu(file.id.name(), files),
            Engine::Any | Engine::Terraform => !is_tofu_file(file.id.name()),
        })
        .collect();
    seen.sort_by(|a, b| a.id.name().as_bytes().cmp(b.id.name().as_bytes()));
    seen.into_iter().partition(|file| !is_override_file(file.id.name()))
}

/// `x.tofu` hides `x.tf`, `x.tofu.json` hides `x.tf.json`.
fn is_hidden_by_tofu(name: &str, files: &[ModuleFile<'_>]) -> bool {
    let twin = match (name.strip_suffix(".tf"), name.strip_suffix(".tf.json")) {
        (Some(stem), _) => format!("{stem}.tofu"),
        (_, Some(stem)) => format!("{stem}.tofu.json"),
        _ => return false,
    };
    files.iter().any(|file| file.id.name() == twin)
}

/// Which backend counts in this directory.
pub fn winner<'a>(files: &[ModuleFile<'a>], engine: Engine) -> Winner<'a> {
    let (primaries, overrides) = visible(files, engine);
    let mut won = Winner::default();
    let mut current: Option<(&BackendBlock, usize)> = None;
    let mut rival: Option<String> = None;
    for file in &primaries {
        for (block, index) in blocks_of(file) {
            match current {
                None => current = Some((block, index)),
                Some((first, _)) => {
                    won.problems.push(duplicate(
                        first,
                        block,
                        &format!("{} stops at a second backend", program(engine)),
                    ));
                    won.lose(block, index);
                }
            }
        }
        rival = rival.or(file.facts.rivals.first().map(|rival| rival.keyword.clone()));
        won.required_versions.extend(&file.facts.required_versions);
    }
    if let (Some((block, _)), Some(keyword)) = (current, &rival) {
        won.problems.push(Problem {
            kind: ProblemKind::BackendAndCloud,
            place: block.source.place.clone(),
            message: format!("a backend and a `{keyword}` block exclude each other: remove one of them"),
            excerpt: None,
        });
    }
    let mut required_override: Vec<&'a (Place, Setting)> = Vec::new();
    for file in &overrides {
        let mut in_this_file: Option<&BackendBlock> = None;
        for (block, index) in blocks_of(file) {
            if let Some(first) = in_this_file {
                won.problems.push(duplicate(
                    first,
                    block,
                    &format!("{} stops at a second backend in one override file", program(engine)),
                ));
                won.lose(block, index);
                continue;
            }
            in_this_file = Some(block);
            if let Some((loser, lost)) = current.replace((block, index)) {
                won.lose(loser, lost);
            }
            rival = None;
        }
        if let Some(block) = file.facts.rivals.first() {
            rival = Some(block.keyword.clone());
            if let Some((loser, lost)) = current.take() {
                won.lose(loser, lost);
            }
        }
        // Each override file replaces what all files before it said.
        if !file.facts.required_versions.is_empty() {
            required_override = file.facts.required_versions.iter().collect();
        }
    }
    if !required_override.is_empty() {
        won.required_versions = required_override;
    }
    match current {
        Some((block, index)) if block.backend_type == "s3" => won.s3 = Some(index),
        Some((block, _)) => won.other = Some(block.backend_type.clone()),
        None => won.other = rival,
    }
    won
}

fn program(engine: Engine) -> &'static str {
    if engine == Engine::OpenTofu { "OpenTofu" } else { "Terraform" }
}

impl Winner<'_> {
    /// Whether the engine stops at a second backend.
    pub fn is_refused(&self) -> bool {
        self.problems.iter().any(|problem| problem.kind == ProblemKind::DuplicateBackend)
    }

    fn lose(&mut self, block: &BackendBlock, index: usize) {
        if block.backend_type == "s3" {
            self.shadowed.push(index);
        }
    }
}

fn blocks_of<'a>(file: &ModuleFile<'a>) -> impl Iterator<Item = (&'a BackendBlock, usize)> {
    let first = file.first_source;
    file.facts.backends.iter().enumerate().map(move |(offset, block)| (block, first + offset))
}

fn duplicate(first: &BackendBlock, second: &BackendBlock, why: &str) -> Problem {
    Problem {
        kind: ProblemKind::DuplicateBackend,
        place: second.source.place.clone(),
        message: format!("{why}: the first one is at {}; remove one of them", first.source.place),
        excerpt: None,
    }
}

/// The settings that a run sees: `layers` merged in order, a later one replacing a name wholly, nested parts
/// included. Each comes with the index of its layer.
pub fn merge<'a>(layers: &[&'a Source]) -> Vec<(usize, &'a Setting)> {
    let mut merged: Vec<(usize, &Setting)> = Vec::new();
    for (layer, source) in layers.iter().enumerate() {
        let earlier = merged.len();
        for setting in source.settings.iter().filter(|_| earlier > 0) {
            let top = top_name(&setting.name);
            merged.retain(|(_, have)| top_name(&have.name) != top);
        }
        merged.extend(source.settings.iter().map(|setting| (layer, setting)));
    }
    merged
}

fn top_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// What a setting is worth when the module's variables and locals are known.
fn resolved(setting: &Setting, scope: &Scope) -> Value {
    match &setting.value {
        Value::Unknown { expression, .. } if !scope.0.is_empty() => {
            match expression::evaluate(expression, scope).0 {
                Value::Unknown { .. } => setting.value.clone(),
                value => value,
            }
        }
        value => value.clone(),
    }
}

/// A merged view of settings, with what is needed to resolve them.
pub struct Settings<'a> {
    /// Merged settings.
    pub merged: &'a [(usize, &'a Setting)],
    /// Variables and locals of the module.
    pub scope: &'a Scope,
}

impl Settings<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let (_, setting) = self.merged.iter().rev().find(|(_, setting)| setting.name == name)?;
        Some(resolved(setting, self.scope))
    }

    /// Whether the argument is written at all, be it as `null`.
    pub fn is_set(&self, name: &str) -> bool {
        self.merged.iter().any(|(_, setting)| setting.name == name)
    }

    /// A text argument: `null` and `""` count as unset.
    pub fn text(&self, name: &str) -> Knowable<String> {
        match self.value(name) {
            None | Some(Value::Null) => Knowable::Absent,
            Some(Value::Text(text)) if text.is_empty() => Knowable::Absent,
            Some(Value::Text(text) | Value::Number(text)) => Knowable::Known(text),
            Some(Value::Bool(value)) => Knowable::Known(value.to_string()),
            Some(Value::Secret) => Knowable::Unknown("not shown".to_owned()),
            Some(Value::Object) => Knowable::Unknown("an object where a text is expected".to_owned()),
            Some(Value::Unknown { expression, reason }) => {
                Knowable::Unknown(format!("{expression}: {reason}"))
            }
        }
    }

    /// The lock table: `dynamodb_table`, or its old name `lock_table` that Terragrunt still takes.
    pub fn table(&self) -> Knowable<String> {
        match self.text("dynamodb_table") {
            Knowable::Absent => self.text("lock_table"),
            table => table,
        }
    }

    /// A boolean argument: `true`, `"true"`, `"1"` and their opposites; `null` counts as unset.
    pub fn boolean(&self, name: &str) -> Knowable<bool> {
        match self.value(name) {
            None | Some(Value::Null) => Knowable::Absent,
            Some(Value::Bool(value)) => Knowable::Known(value),
            Some(Value::Text(text)) => match text.as_str() {
                "true" | "1" => Knowable::Known(true),
                "false" | "0" => Knowable::Known(false),
                other => Knowable::Unknown(format!("{other:?}: not a boolean, `init` stops here")),
            },
            Some(Value::Number(text)) => Knowable::Unknown(format!("{text}: a number, `init` stops here")),
            Some(Value::Secret | Value::Object) => Knowable::Unknown("not a boolean".to_owned()),
            Some(Value::Unknown { expression, reason }) => {
                Knowable::Unknown(format!("{expression}: {reason}"))
            }
        }
    }

    /// Whether any setting refers to a variable or local: OpenTofu takes that since 1.8, Terraform never.
    pub fn has_references(&self) -> bool {
        self.merged.iter().any(|(_, setting)| !setting.via.is_empty() || setting.value.refers())
    }
}

/// The problem of a lock setting that `init` refuses, if this is one.
pub fn invalid_value(source: &Source, setting: &Setting, scope: &Scope) -> Option<Problem> {
    if setting.name != "use_lockfile" {
        return None;
    }
    let shown = match &resolved(setting, scope) {
        Value::Text(text) if !matches!(text.as_str(), "true" | "false" | "1" | "0") => format!("{text:?}"),
        Value::Number(text) => text.clone(),
        Value::Object => "an object".to_owned(),
        _ => return None,
    };
    Some(Problem {
        kind: ProblemKind::InvalidValue,
        place: Place::new(source.place.file.clone(), setting.at),
        message: format!("use_lockfile = {shown}: `init` stops here; write `true` or `false`"),
        excerpt: None,
    })
}

/// What the backend makes of its merged layers. The first layer is the block; `config` says for people what was
/// merged onto it.
pub fn effective(
    sources: &[Source],
    layers: &[usize],
    shadowed: &[usize],
    scope: &Scope,
    config: Vec<String>,
    engine: Engine,
) -> EffectiveBackend {
    let texts: Vec<&Source> = layers.iter().filter_map(|index| sources.get(*index)).collect();
    let merged = merge(&texts);
    let settings = Settings { merged: &merged, scope };
    backend_of(&settings, source_refs(sources, layers, shadowed), config, engine)
}

/// What settings that are merged already come to.
pub fn backend_of(
    settings: &Settings<'_>,
    sources: Vec<SourceRef>,
    config: Vec<String>,
    engine: Engine,
) -> EffectiveBackend {
    let (bucket, key) = (settings.text("bucket"), settings.text("key"));
    let mut table = settings.table();
    let mut use_lockfile = settings.boolean("use_lockfile");
    // `init` needs a bucket and a key. Where one is missing, the rest comes from somewhere that was not seen, and
    // a lock setting may come with it.
    if bucket == Knowable::Absent || key == Knowable::Absent {
        let missing = if bucket == Knowable::Absent { "bucket" } else { "key" };
        let why = format!(
            "partial configuration: no `{missing}` here, the rest is given somewhere that was not found"
        );
        if table == Knowable::Absent && !settings.is_set("dynamodb_table") {
            table = Knowable::Unknown(why.clone());
        }
        if use_lockfile == Knowable::Absent && !settings.is_set("use_lockfile") {
            use_lockfile = Knowable::Unknown(why);
        }
    }
    let endpoint = ["endpoints.s3", "endpoint"]
        .iter()
        .map(|name| settings.text(name))
        .find(|value| *value != Knowable::Absent)
        .unwrap_or_default();
    EffectiveBackend {
        mode: LockMode::of(&table, &use_lockfile),
        bucket,
        key,
        region: settings.text("region"),
        dynamodb_table: table,
        use_lockfile,
        // Set to nothing, it is nothing: `WORKSPACE/KEY`, and not the default `env:`.
        workspace_key_prefix: match settings.value("workspace_key_prefix") {
            Some(Value::Text(text)) if text.is_empty() => Knowable::Known(text),
            _ => settings.text("workspace_key_prefix"),
        },
        endpoint,
        backend_config: config,
        engine: if engine == Engine::Any && settings.has_references() { Engine::OpenTofu } else { engine },
        sources,
    }
}

/// How an effective backend names its sources: those that count, then those that are hidden.
pub fn source_refs(sources: &[Source], layers: &[usize], shadowed: &[usize]) -> Vec<SourceRef> {
    let refs = layers.iter().map(|index| (*index, false)).chain(shadowed.iter().map(|index| (*index, true)));
    refs.filter_map(|(index, shadowed)| source_ref(sources, index, shadowed)).collect()
}

/// How an effective backend names one of its sources.
fn source_ref(sources: &[Source], index: usize, shadowed: bool) -> Option<SourceRef> {
    let source = sources.get(index)?;
    Some(SourceRef {
        file: source.place.file.clone(),
        line: source.place.line,
        column: source.place.column,
        kind: source.kind,
        shadowed,
        git_ignored: source.git_ignored,
        report_only: source.editability.reason().map(str::to_owned),
        source: index,
    })
}
