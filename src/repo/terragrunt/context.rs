//! Whose eyes an expression is read with: Terragrunt's functions answer differently in a unit, in the parents that
//! it includes, and in files that it reads.

/// The context of one file's expressions.
///
/// Source: Terragrunt, `pkg/config/{include,config_helpers}.go`. An included file is read with the including unit's
/// path: `get_terragrunt_dir()` and `find_in_parent_folders()` start at the unit. A file that is read by
/// `read_terragrunt_config` is read with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Context {
    /// The configuration that Terragrunt believes to be in (absolute path of the file).
    pub(super) config: String,
    /// The file in which the expressions stand: its locals are seen.
    pub(super) file: String,
    /// The unit for which all this is read.
    pub(super) unit: String,
    /// Set in an included file: that file's path.
    pub(super) original: Option<String>,
    /// Set in a file with includes: label and path of those that could be found.
    pub(super) includes: Vec<(String, String)>,
}

impl Context {
    /// The context of a file that is read for itself.
    pub(super) fn of(file: &str, unit: &str) -> Self {
        Self {
            config: file.to_owned(),
            file: file.to_owned(),
            unit: unit.to_owned(),
            original: None,
            includes: Vec::new(),
        }
    }

    /// The context of `file`, included by this one.
    pub(super) fn included(&self, file: &str) -> Self {
        Self {
            config: self.config.clone(),
            file: file.to_owned(),
            unit: self.unit.clone(),
            original: Some(file.to_owned()),
            includes: Vec::new(),
        }
    }

    /// The include that a path function means. Source: `getSelectedIncludeBlock`.
    pub(super) fn selected(&self, label: Option<&str>) -> Result<Option<&str>, String> {
        if let Some(original) = &self.original {
            return Ok(Some(original));
        }
        match (self.includes.as_slice(), label) {
            ([], _) => Ok(None),
            ([(_, only)], _) => Ok(Some(only)),
            (several, Some(label)) => several
                .iter()
                .find(|(name, _)| name == label)
                .map(|(_, path)| Some(path.as_str()))
                .ok_or_else(|| format!("there is no include \"{label}\"")),
            (_, None) => Err("with several includes it needs the include's label".to_owned()),
        }
    }
}
