//! A problem: something in the repository that could not be read, or that Terraform itself would refuse.
//! Problems are carried to the report; they are never a reason to pass over a file in silence.

use schemars::JsonSchema;
use serde::Serialize;

use super::excerpt::Excerpt;
use super::text::{Place, Position, Text};

/// What went wrong. Each has a page (`lockshift explain ID`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The file or directory could not be opened or read.
    Unreadable,
    /// Text that matters could not be parsed.
    ParseError,
    /// The file is encrypted (git-crypt, transcrypt, SOPS binary).
    Encrypted,
    /// A symbolic link leads back to one of its parents.
    SymlinkLoop,
    /// The file is larger than the limit and holds something that matters.
    TooLarge,
    /// Two `backend` blocks in primary files, or two in one override file: Terraform stops.
    DuplicateBackend,
    /// `backend` and `cloud` (or `state_store`) both in primary files: Terraform stops.
    BackendAndCloud,
    /// A value that the backend does not take (`use_lockfile = "yes"`): `init` stops.
    InvalidValue,
}

impl ProblemKind {
    /// The kebab-case id.
    pub fn id(self) -> &'static str {
        match self {
            ProblemKind::Unreadable => "unreadable",
            ProblemKind::ParseError => "parse-error",
            ProblemKind::Encrypted => "encrypted",
            ProblemKind::SymlinkLoop => "symlink-loop",
            ProblemKind::TooLarge => "too-large",
            ProblemKind::DuplicateBackend => "duplicate-backend",
            ProblemKind::BackendAndCloud => "backend-and-cloud",
            ProblemKind::InvalidValue => "invalid-value",
        }
    }

    /// Whether it means that something was not read: then "clean" can't be said (exit code 3). A link that leads
    /// back to its parent hides nothing: the parent is walked.
    pub fn hides_something(self) -> bool {
        matches!(
            self,
            ProblemKind::Unreadable
                | ProblemKind::ParseError
                | ProblemKind::Encrypted
                | ProblemKind::TooLarge
        )
    }
}

/// One problem at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// What went wrong.
    pub kind: ProblemKind,
    /// Where.
    pub place: Place,
    /// Why, and what to do next.
    pub message: String,
    /// The line, where a part of a text is the problem. Not part of the JSON form: it has the place.
    #[serde(skip)]
    pub excerpt: Option<Box<Excerpt>>,
}

impl Problem {
    /// Takes the line from the file's text; of one that is encrypted or was not read there is none to show.
    pub fn show_line(&mut self, text: Text<'_>) {
        if self.kind == ProblemKind::ParseError {
            let at = Position { line: self.place.line, column: self.place.column };
            self.excerpt = Some(Box::new(Excerpt::of(text, text.offset(at))));
        }
    }
}
