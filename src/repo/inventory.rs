//! The inventory: everything that scanning found, merged. Its JSON form is what other programs build on, so
//! names here stay; more may be added.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{Grant, LockTable, Tool};
use super::problem::Problem;
use super::source::{Source, SourceKind};
use super::text::Place;

/// Something that is known, known to be absent, or unknown for a stated reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Knowable<T> {
    /// Not set, or set to something that counts as not set (`null`, `""`).
    #[default]
    Absent,
    /// The value.
    Known(T),
    /// Only a run can tell; the text says why.
    Unknown(String),
}

impl<T> Knowable<T> {
    /// The value, when known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Knowable::Known(value) => Some(value),
            _ => None,
        }
    }

    /// The reason, when unknown.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Knowable::Unknown(why) => Some(why),
            _ => None,
        }
    }
}

/// Which locks a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockMode {
    /// No lock at all.
    None,
    /// The DynamoDB item alone.
    Dynamodb,
    /// The `.tflock` object first, then the DynamoDB item.
    Dual,
    /// The `.tflock` object alone.
    Lockfile,
    /// It can't be told; the settings say why.
    Unknown,
}

impl LockMode {
    /// All modes in the order of the migration.
    pub const ALL: [LockMode; 5] =
        [LockMode::None, LockMode::Dynamodb, LockMode::Dual, LockMode::Lockfile, LockMode::Unknown];

    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            LockMode::None => "none",
            LockMode::Dynamodb => "dynamodb",
            LockMode::Dual => "dual",
            LockMode::Lockfile => "lockfile",
            LockMode::Unknown => "unknown",
        }
    }

    /// The mode that these two settings make.
    pub fn of(table: &Knowable<String>, lockfile: &Knowable<bool>) -> Self {
        match (table, lockfile) {
            (Knowable::Unknown(_), _) | (_, Knowable::Unknown(_)) => LockMode::Unknown,
            (Knowable::Known(_), Knowable::Known(true)) => LockMode::Dual,
            (Knowable::Known(_), _) => LockMode::Dynamodb,
            (Knowable::Absent, Knowable::Known(true)) => LockMode::Lockfile,
            (Knowable::Absent, _) => LockMode::None,
        }
    }
}

/// Which program reads a backend this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Terraform and OpenTofu see the same.
    Any,
    /// Only Terraform sees it so.
    Terraform,
    /// Only OpenTofu sees it so (`.tofu` files, variables in the block).
    OpenTofu,
}

impl Engine {
    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Any => "any",
            Engine::Terraform => "terraform",
            Engine::OpenTofu => "opentofu",
        }
    }
}

/// One source's part in an effective backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceRef {
    /// File, as shown to people.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What kind of place.
    pub kind: SourceKind,
    /// Whether another source hides it wholly (a backend block that an override file replaces).
    pub shadowed: bool,
    /// Whether git ignores the file: it counts here, and may be absent elsewhere.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub git_ignored: bool,
    /// Why edits are not made there; absent where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_only: Option<String>,
    /// Index into [`Inventory::sources`].
    #[serde(skip)]
    pub source: usize,
}

/// What one root module really uses with one choice of backend-config.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "EffectiveBackendJson<'static>")]
pub struct EffectiveBackend {
    /// Which locks a run takes.
    pub mode: LockMode,
    /// `bucket`.
    pub bucket: Knowable<String>,
    /// `key`: the default workspace's state path.
    pub key: Knowable<String>,
    /// `region`.
    pub region: Knowable<String>,
    /// `dynamodb_table` (or its ARN; or the old `lock_table`).
    pub dynamodb_table: Knowable<String>,
    /// `use_lockfile`.
    pub use_lockfile: Knowable<bool>,
    /// `workspace_key_prefix`; absent means `env:`.
    pub workspace_key_prefix: Knowable<String>,
    /// A custom S3 endpoint: the store may not be AWS.
    pub endpoint: Knowable<String>,
    /// The choice of backend-config: files and flags, in the order in which they are merged.
    pub backend_config: Vec<String>,
    /// Which program reads it so.
    pub engine: Engine,
    /// Where its settings come from: the block first, then what is merged onto it.
    pub sources: Vec<SourceRef>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EffectiveBackend")]
struct EffectiveBackendJson<'a> {
    mode: LockMode,
    bucket: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket_unknown: Option<&'a str>,
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_unknown: Option<&'a str>,
    region: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    region_unknown: Option<&'a str>,
    dynamodb_table: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamodb_table_unknown: Option<&'a str>,
    use_lockfile: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    use_lockfile_unknown: Option<&'a str>,
    workspace_key_prefix: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_key_prefix_unknown: Option<&'a str>,
    endpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint_unknown: Option<&'a str>,
    backend_config: &'a [String],
    engine: Engine,
    sources: &'a [SourceRef],
}

/// What is known and why it is not, of which at most one is there.
fn split(value: &Knowable<String>) -> (Option<&str>, Option<&str>) {
    (value.known().map(String::as_str), value.unknown())
}

impl Serialize for EffectiveBackend {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EffectiveBackendJson::from(self).serialize(serializer)
    }
}

impl<'a> From<&'a EffectiveBackend> for EffectiveBackendJson<'a> {
    fn from(from: &'a EffectiveBackend) -> Self {
        let (bucket, bucket_unknown) = split(&from.bucket);
        let (key, key_unknown) = split(&from.key);
        let (region, region_unknown) = split(&from.region);
        let (dynamodb_table, dynamodb_table_unknown) = split(&from.dynamodb_table);
        let (workspace_key_prefix, workspace_key_prefix_unknown) = split(&from.workspace_key_prefix);
        let (endpoint, endpoint_unknown) = split(&from.endpoint);
        Self {
            mode: from.mode,
            bucket,
            bucket_unknown,
            key,
            key_unknown,
            region,
            region_unknown,
            dynamodb_table,
            dynamodb_table_unknown,
            use_lockfile: from.use_lockfile.known().copied(),
            use_lockfile_unknown: from.use_lockfile.unknown(),
            workspace_key_prefix,
            workspace_key_prefix_unknown,
            endpoint,
            endpoint_unknown,
            backend_config: &from.backend_config,
            engine: from.engine,
            sources: &from.sources,
        }
    }
}

/// What makes a directory a root module here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RootKind {
    /// A directory with Terraform or OpenTofu files and a backend.
    Terraform,
    /// A Terragrunt unit.
    Terragrunt,
    /// An Atmos component in a stack.
    Atmos,
}

/// Can the versions in use run `use_lockfile`?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VersionVerdict {
    /// Every version that the evidence admits knows `use_lockfile` as a stable setting.
    Can,
    /// Some admitted versions do not.
    AdmitsOlder,
    /// No admitted version does.
    Cannot,
    /// There is no evidence.
    Unknown,
}

/// One piece of version evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionEvidence {
    /// Which program.
    pub tool: Tool,
    /// The constraint or pin as written.
    pub text: String,
    /// Where it comes from: `required_version`, `.terraform-version`, `setup-terraform`, …
    pub origin: String,
    /// Where it stands.
    pub place: Place,
    /// What it says about `use_lockfile`, taken alone.
    pub verdict: VersionVerdict,
}

/// What is known of the versions that run a root module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Versions {
    /// All evidence together.
    pub verdict: VersionVerdict,
    /// Why, in one sentence.
    pub reason: String,
    /// The pieces, nearest first.
    pub evidence: Vec<VersionEvidence>,
}

/// A directory that Terraform, OpenTofu or Terragrunt would run in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RootModule {
    /// The directory, as shown to people; `.` for the top.
    pub path: String,
    /// What makes it one.
    pub kind: RootKind,
    /// One for each choice of backend-config (and engine, where they differ).
    pub backends: Vec<EffectiveBackend>,
    /// Version evidence.
    pub versions: Versions,
    /// Owners by the repository's CODEOWNERS file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// Root modules (or modules) that call this directory as a child module: Terraform ignores its backend there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub called_by: Vec<String>,
    /// The program that uses no S3 backend here while the other one does, and what it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_s3: Option<NotS3>,
    /// The directory that this one is a symbolic link to: inventoried here, edited there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_of: Option<String>,
}

/// A program that keeps a root module's state elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotS3 {
    /// Which program.
    pub engine: Engine,
    /// The type of its backend, or `cloud` / `state_store`; `local` where none is set.
    pub uses: String,
}

/// A `terraform_remote_state` data source on s3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reader {
    /// Its name (`network`).
    pub name: String,
    /// Where.
    pub place: Place,
    /// The bucket it reads from.
    pub bucket: Option<String>,
    /// The key it reads.
    pub key: Option<String>,
    /// The table it checks the digest in; absent: it checks none.
    pub dynamodb_table: Option<String>,
    /// Why the table can't be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamodb_table_unknown: Option<String>,
    /// Index into [`Inventory::sources`].
    #[serde(skip)]
    pub source: usize,
}

/// A source that could not be given to any root module: listed, never dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unattributed {
    /// What kind of place.
    pub kind: SourceKind,
    /// Where.
    pub place: Place,
    /// The mode that its settings would make by themselves.
    pub mode: LockMode,
    /// `bucket`, when it can be told.
    pub bucket: Option<String>,
    /// `dynamodb_table`, when it can be told.
    pub dynamodb_table: Option<String>,
    /// Why it belongs to no root module, or why it is only reported.
    pub reason: String,
    /// Index into [`Inventory::sources`].
    #[serde(skip)]
    pub source: usize,
}

/// A habit in scripts or CI that matters to locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Habit {
    /// Which.
    pub kind: HabitKind,
    /// Where.
    pub place: Place,
    /// The directory that the command runs in, as far as its text tells (see [`super::facts::Call::dir`]).
    #[serde(skip)]
    pub dir: Option<String>,
}

/// Kinds of [`Habit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HabitKind {
    /// `-lock=false`.
    LockFalse,
    /// `-lock=` with a value that only a run can tell.
    LockUnknown,
    /// `init` without `-reconfigure` in automation: it stops after the backend changed.
    InitWithoutReconfigure,
    /// `force-unlock` in automation.
    ForceUnlock,
}

/// A file that Terraform reads both as variables and as backend-config.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SharedVarFile {
    /// The file.
    pub file: String,
    /// The call that uses it in both ways.
    pub place: Place,
}

/// How a file that was read can be opened again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The path to open it by.
    pub os_path: std::path::PathBuf,
    /// Where it leads when it is a link: an edit is made there, once.
    pub link_target: Option<String>,
}

/// Everything that scanning found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Inventory {
    /// Root modules, by path.
    pub roots: Vec<RootModule>,
    /// Remote-state readers, by place.
    pub readers: Vec<Reader>,
    /// Sources without a root module, by place.
    pub unattributed: Vec<Unattributed>,
    /// Lock tables in code.
    pub lock_tables: Vec<LockTable>,
    /// IAM statements in code that matter to locks.
    pub grants: Vec<Grant>,
    /// CI and script habits.
    pub habits: Vec<Habit>,
    /// Files that are both var-file and backend-config.
    pub shared_var_files: Vec<SharedVarFile>,
    /// What could not be read, and what Terraform would refuse.
    pub problems: Vec<Problem>,
    /// Every source with its spans, for planning edits. Not part of the JSON form.
    #[serde(skip)]
    pub sources: Vec<Source>,
    /// Files that hold sources, and root modules' other files that say something, by shown path: what edits open again.
    /// Empty after a mere [`super::scan::scan`], which edits nothing. Not part of the JSON form.
    #[serde(skip)]
    pub files: BTreeMap<String, SourceFile>,
    /// Inline ignores. Not part of the JSON form: they show in the findings.
    #[serde(skip)]
    pub ignores: Vec<super::facts::InlineIgnore>,
}

/// Counts over the whole inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Summary {
    /// Root modules.
    pub roots: usize,
    /// Effective backends.
    pub backends: usize,
    /// Effective backends by mode; every mode is present.
    pub modes: BTreeMap<String, usize>,
    /// Remote-state readers that name a table.
    pub readers_with_table: usize,
    /// Sources without a root module.
    pub unattributed: usize,
    /// Problems that hide something.
    pub unread: usize,
}

impl Inventory {
    /// Counts over everything.
    pub fn summary(&self) -> Summary {
        let mut modes: BTreeMap<String, usize> =
            LockMode::ALL.iter().map(|mode| (mode.as_str().to_owned(), 0)).collect();
        let mut backends = 0;
        for backend in self.roots.iter().flat_map(|root| &root.backends) {
            backends += 1;
            *modes.entry(backend.mode.as_str().to_owned()).or_default() += 1;
        }
        Summary {
            roots: self.roots.len(),
            backends,
            modes,
            readers_with_table: self
                .readers
                .iter()
                .filter(|reader| reader.dynamodb_table.is_some() || reader.dynamodb_table_unknown.is_some())
                .count(),
            unattributed: self.unattributed.len(),
            unread: self.problems.iter().filter(|problem| problem.kind.hides_something()).count(),
        }
    }
}
