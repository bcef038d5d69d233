//! Facts: what one file says by itself, before anything is merged. Reading a file is a pure function from its
//! bytes to these; merging ([`super::inventory`]) is a pure function from these to the inventory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::problem::Problem;
use super::setting::Setting;
use super::source::Source;
use super::text::{Place, Span};

/// A file as the walk found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileId {
    /// Path as shown to people: relative to where the walk began, `/` between parts, bytes that are no UTF-8 as
    /// `\xff`.
    pub path: String,
    /// Path to open it by.
    pub os_path: PathBuf,
    /// Whether git ignores it. Terraform does not care: an ignored `backend_override.tf` still counts.
    pub git_ignored: bool,
    /// Where a symbolic link leads (shown path when inside the walk, else the absolute target).
    pub link_target: Option<String>,
}

impl FileId {
    /// The directory part of the shown path; `.` for a file at the top.
    pub fn dir(&self) -> &str {
        dir_of(&self.path)
    }

    /// The file name.
    pub fn name(&self) -> &str {
        name_of(&self.path)
    }
}

/// A file, and what it says. Thousands are moved about while they are put in order, what they say stays where it is.
pub type ReadFile = (FileId, Box<FileFacts>);

/// The directory part of a shown path; `.` when there is none.
pub fn dir_of(path: &str) -> &str {
    match memchr::memrchr(b'/', path.as_bytes()) {
        None => ".",
        Some(0) => "/",
        Some(slash) => path.get(..slash).unwrap_or(path),
    }
}

/// The name at the end of a shown path.
pub fn name_of(path: &str) -> &str {
    let slash = memchr::memrchr(b'/', path.as_bytes());
    slash.and_then(|slash| path.get(slash + 1..)).unwrap_or(path)
}

/// Everything that one file says. The large parts stand apart: few files have both, and all of this is moved about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Blocks of a file that Terraform or OpenTofu would load (`.tf`, `.tf.json`, `.tofu`, `.tofu.json`).
    pub module: Option<Box<ModuleFacts>>,
    /// A Terragrunt file's own structure (its `remote_state` is in there, too).
    pub terragrunt: Option<Box<TerragruntFacts>>,
    /// Sources of any other kind: backend-config files, heredocs, templates, Atmos, CDKTF, …
    pub sources: Vec<Source>,
    /// Terraform, OpenTofu and Terragrunt calls in scripts, CI files, Makefiles, Dockerfiles.
    pub calls: Vec<Call>,
    /// Pins of a Terraform, OpenTofu or Terragrunt version outside `required_version`.
    pub pins: Vec<VersionPin>,
    /// Lock tables and buckets declared in code.
    pub tables: Vec<LockTable>,
    /// IAM statements that name a lock table or grant on state objects.
    pub grants: Vec<Grant>,
    /// IAM statements on tables of which only other files can tell whether they hold locks.
    pub table_grants: Vec<Grant>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Inline `lockshift: ignore[rule] reason` comments.
    pub ignores: Vec<InlineIgnore>,
}

impl FileFacts {
    /// Whether the file says nothing.
    pub fn is_empty(&self) -> bool {
        // Every field by its name: a new one is asked, too.
        let Self {
            module,
            terragrunt,
            sources,
            calls,
            pins,
            tables,
            grants,
            table_grants,
            problems,
            ignores,
        } = self;
        module.is_none()
            && terragrunt.is_none()
            && sources.is_empty()
            && calls.is_empty()
            && pins.is_empty()
            && tables.is_empty()
            && grants.is_empty()
            && table_grants.is_empty()
            && problems.is_empty()
            && ignores.is_empty()
    }
}

/// Blocks of one Terraform or OpenTofu configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModuleFacts {
    /// `backend` blocks of any type, in order.
    pub backends: Vec<BackendBlock>,
    /// `cloud` and `state_store` blocks: in an override they unset the backend, in a primary file they exclude it.
    pub rivals: Vec<RivalBlock>,
    /// `terraform { required_version = … }`, in order.
    pub required_versions: Vec<(Place, Setting)>,
    /// `terraform_remote_state` data sources on s3.
    pub readers: Vec<Source>,
    /// `module` calls with a local path (`./…`, `../…`).
    pub local_modules: Vec<(Place, String)>,
    /// Header line that says the file is generated (Terragrunt's or Terramate's), with the generator's name.
    pub generated_by: Option<String>,
}

/// One `backend "TYPE" { … }` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendBlock {
    /// The label: `s3`, `local`, `gcs`, …
    pub backend_type: String,
    /// Its settings and place. Settings are read only where the type is `s3`.
    pub source: Source,
}

/// A block that takes the backend's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RivalBlock {
    /// `cloud` or `state_store`.
    pub keyword: String,
    /// Where.
    pub place: Place,
}

/// What a Terragrunt file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerragruntFacts {
    /// `remote_state` blocks or attributes with an s3 backend (or with a backend that could not be told).
    pub remote_states: Vec<Source>,
    /// `backend` of a `remote_state` that is not s3 (`gcs`, …): the unit is not ours.
    pub other_backend: Option<String>,
    /// `include` blocks: label, and the path expression's text.
    pub includes: Vec<Include>,
    /// Backend text inside `generate` blocks.
    pub generates: Vec<Source>,
    /// `locals` whose values are literals or could be needed to resolve others: name → expression text.
    pub locals: Vec<(String, String)>,
    /// `terraform_version_constraint` / `terragrunt_version_constraint`.
    pub pins: Vec<VersionPin>,
    /// Whether the file has a `terraform { source = … }` block: then it is a unit, not only a parent.
    pub has_terraform_source: bool,
    /// That source's expression, as written.
    pub terraform_source: Option<String>,
    /// The expression of `inputs`, as written: other files may read it.
    pub inputs: Option<String>,
    /// Labels of `generate` blocks without an s3 backend: they replace a parent's block with the same label.
    pub other_generates: Vec<String>,
    /// `extra_arguments` blocks that hand `-backend-config`, `-lock=false` and the like to Terraform.
    pub extra_arguments: Vec<Call>,
    /// Files that a `remote_state` or `generate` writes over whatever stands there, by where its source begins.
    pub written: BTreeMap<usize, String>,
    /// The whole text of expressions that only a unit can resolve, by where their value begins in the file. An
    /// expression for `backend` itself stands under the first byte of its `remote_state`.
    pub expressions: BTreeMap<usize, String>,
}

impl TerragruntFacts {
    /// Whether the file says nothing that matters here.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One `include` block of a Terragrunt file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// The label (empty for a bare include).
    pub label: String,
    /// The path expression as written.
    pub path: String,
    /// `merge_strategy`: its text when it is a literal (`no_merge`, `shallow`, `deep`), else the expression as
    /// written; absent means `shallow`.
    pub merge_strategy: Option<String>,
    /// Where.
    pub place: Place,
}

/// One call of terraform, tofu or terragrunt (or a wrapper that ends in one) found in a script or CI file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Where the command word stands.
    pub place: Place,
    /// The subcommand: `init`, `plan`, `apply`, `force-unlock`, … ; empty when it could not be told.
    pub subcommand: String,
    /// Working directory as far as the text tells: `-chdir=`, a preceding `cd`, `working-directory:`.
    /// Relative to the repository's root for CI files, to the script's own directory for scripts; placeholders
    /// (`$ENV`, `${{ matrix.dir }}`) stay in as written.
    pub dir: Option<String>,
    /// `-backend-config=FILE`: the file's path as written, and the whole word's span.
    pub config_files: Vec<(String, Span)>,
    /// `-backend-config=key=value`: one source a flag.
    pub config_flags: Vec<Source>,
    /// `-var-file=FILE`, as written.
    pub var_files: Vec<String>,
    /// `-lock=false` was given: where.
    pub lock_false: Option<Place>,
    /// `-lock=` was given with a value that only a run can tell: where, and the value as written.
    pub lock_unknown: Option<(Place, String)>,
    /// `-reconfigure` was given.
    pub reconfigure: bool,
    /// `-migrate-state` was given.
    pub migrate_state: bool,
}

/// Which program a version evidence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// HashiCorp Terraform.
    Terraform,
    /// OpenTofu.
    OpenTofu,
    /// Gruntwork Terragrunt.
    Terragrunt,
}

/// A version pinned or constrained outside of a root module's own `required_version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionPin {
    /// Which program.
    pub tool: Tool,
    /// The text: an exact version (`1.9.8`), a constraint (`~> 1.10`), `latest`, or an expression.
    pub text: String,
    /// Where.
    pub place: Place,
    /// What kind of file says it: `.terraform-version`, `.tool-versions`, `mise`, `setup-terraform`, `docker`, …
    pub origin: &'static str,
    /// The directory below which it holds (shown path); pins in CI files hold for the whole repository (`.`)
    /// unless a project directory is named beside it (Atlantis).
    pub scope: String,
}

/// A lock table or a module that makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct LockTable {
    /// The resource's address (`aws_dynamodb_table.lock`, `module.state`).
    pub address: String,
    /// The table's name, when it can be told.
    pub name: Option<String>,
    /// Where.
    pub place: Place,
}

/// An IAM statement in code that matters to locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Grant {
    /// What it is about.
    pub kind: GrantKind,
    /// Table ARN or name, or the state object pattern, as written.
    pub resource: String,
    /// Where.
    pub place: Place,
}

/// Kinds of [`Grant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrantKind {
    /// Rights on a DynamoDB table: can go after the final phase.
    LockTable,
    /// Rights on exactly a state object, without its `.tflock`: breaks when the lockfile comes.
    StateWithoutLock,
}

/// An inline `# lockshift: ignore[rule-id] reason` comment: it covers its own line and the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineIgnore {
    /// Where the comment stands.
    pub place: Place,
    /// The rule's id as written.
    pub rule: String,
    /// The reason; empty when none was given (a finding of its own).
    pub reason: String,
}
