//! A source: a place in one file that contributes settings to some root module's backend.

use schemars::JsonSchema;
use serde::Serialize;

use super::setting::Setting;
use super::text::{Place, Span};

/// What kind of place settings were found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// `terraform { backend "s3" { … } }` in a primary file, native or JSON syntax.
    Backend,
    /// The same in an override file: it replaces the whole block.
    BackendOverride,
    /// A file given to `-backend-config=FILE`, or one that has the shape of it.
    BackendConfigFile,
    /// `-backend-config="key=value"` on a command line in a script or CI file.
    BackendConfigFlag,
    /// Terragrunt `remote_state`, as a block or an attribute.
    TerragruntRemoteState,
    /// Backend text inside a Terragrunt `generate` block's `contents`.
    TerragruntGenerate,
    /// Backend text inside a heredoc of a script or CI file.
    Heredoc,
    /// Backend text that a script prints piece by piece (`echo "backend \"s3\" {"`).
    Echo,
    /// Backend text in a template: `.tftpl`, `.tpl`, Jinja, cookiecutter, `.example`, placeholders.
    Template,
    /// Terramate `generate_hcl` / `generate_file`.
    Terramate,
    /// Atmos stack or component YAML.
    Atmos,
    /// CDK for Terraform source code (`dynamodbTable`).
    Cdktf,
    /// A `terraform_remote_state` data source on s3: takes no lock, but checks the digest when it names a table.
    Reader,
}

impl SourceKind {
    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            SourceKind::Backend => "backend",
            SourceKind::BackendOverride => "backend-override",
            SourceKind::BackendConfigFile => "backend-config-file",
            SourceKind::BackendConfigFlag => "backend-config-flag",
            SourceKind::TerragruntRemoteState => "terragrunt-remote-state",
            SourceKind::TerragruntGenerate => "terragrunt-generate",
            SourceKind::Heredoc => "heredoc",
            SourceKind::Echo => "echo",
            SourceKind::Template => "template",
            SourceKind::Terramate => "terramate",
            SourceKind::Atmos => "atmos",
            SourceKind::Cdktf => "cdktf",
            SourceKind::Reader => "reader",
        }
    }
}

/// The syntax that a source's bytes are written in: it decides how an edit is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    /// HCL native syntax: attributes in a block body or a flat file (`name = value`, one a line).
    HclBody,
    /// HCL object expression: items of `config = { … }` (`name = value` or `name : value`, commas allowed).
    HclObject,
    /// JSON.
    Json,
    /// YAML mapping.
    Yaml,
    /// One word of a command line.
    Flag,
    /// Anything else (source code, string pieces): never edited.
    Other,
}

/// Whether an edit at this place would last and be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "edit", content = "reason")]
pub enum Editability {
    /// The bytes here are the origin and their syntax is understood.
    Safe,
    /// Only reported: editing here would be undone or could be wrong. The reason is for people.
    ReportOnly(String),
    /// Only reported: a generator wrote the whole file and writes it again. The reason is for people.
    Generated(String),
}

impl Editability {
    /// Whether edits may be made.
    pub fn is_safe(&self) -> bool {
        matches!(self, Editability::Safe)
    }

    /// Whether a generator wrote the file.
    pub fn is_generated(&self) -> bool {
        matches!(self, Editability::Generated(_))
    }

    /// Why no edits may be made.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Editability::Safe => None,
            Editability::ReportOnly(reason) | Editability::Generated(reason) => Some(reason),
        }
    }
}

/// A place that contributes settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// What kind of place.
    pub kind: SourceKind,
    /// How its bytes are written.
    pub syntax: Syntax,
    /// Where it begins: file, line, column of the block's keyword, the file's first setting, or the flag.
    pub place: Place,
    /// The whole construct: `backend "s3" { … }`, the flat file's text, the flag's word.
    pub span: Span,
    /// Where settings stand: between the braces, or the flat file's text. Insertions go here.
    pub body: Span,
    /// Every argument that was read, in order of appearance, nested ones dotted.
    pub settings: Vec<Setting>,
    /// Whether edits may be made here.
    pub editability: Editability,
    /// A label for people where the kind alone does not tell (generate block's label, reader's name).
    pub label: Option<String>,
    /// Whether git ignores the file: it counts where it is, and may be absent elsewhere.
    pub git_ignored: bool,
}

impl Source {
    /// The last setting with this name (the one that counts where a name stands twice).
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.name == name)
    }
}
