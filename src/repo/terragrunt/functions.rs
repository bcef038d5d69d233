//! Terragrunt's own functions and the few of HCL's standard ones that real `remote_state` blocks use. What needs a
//! run, the environment, AWS or another file is unknown, with the reason.
//!
//! Source: Terragrunt `pkg/config/config_helpers.go`; the standard functions as Terraform documents them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::context::Context;
use super::evaluate::Evaluator;
use super::paths;
use super::value::Val;

/// Terragrunt gives up after so many folders.
const MAX_FOLDERS: usize = 100;

/// Longer texts are no setting's value.
const MAX_TEXT: usize = 16 * 1024;

/// File names that Terragrunt looks for when it is told none, in its order.
pub(super) const DEFAULT_NAMES: [&str; 2] = ["terragrunt.hcl.json", "terragrunt.hcl"];

impl Evaluator<'_> {
    /// What a function gives.
    pub(super) fn function(&mut self, name: &str, arguments: &[Val], context: &Rc<Context>) -> Val {
        let result = match name {
            "read_terragrunt_config" => self.read_config(arguments, context),
            "merge" => self.merge(arguments),
            "lookup" => self.lookup(arguments),
            "find_in_parent_folders" => self.find_in_parent_folders(arguments, context),
            _ => match self.path_function(name, arguments, context) {
                Some(result) => result,
                None => plain(name, arguments),
            },
        };
        result.unwrap_or_else(Val::Unknown)
    }

    fn path_function(&self, name: &str, arguments: &[Val], context: &Context) -> Option<Result<Val, String>> {
        let here = paths::dirname(&context.config);
        let result = match name {
            "get_terragrunt_dir" => Ok(here),
            "get_original_terragrunt_dir" => Ok(paths::dirname(&context.unit)),
            "path_relative_to_include" => included_dir(arguments, context)
                .map(|dir| dir.map_or(".".to_owned(), |dir| paths::relative(&dir, &here))),
            "path_relative_from_include" => included_dir(arguments, context)
                .map(|dir| dir.map_or(".".to_owned(), |dir| paths::relative(&here, &dir))),
            "get_parent_terragrunt_dir" => included_dir(arguments, context).map(|dir| dir.unwrap_or(here)),
            "get_repo_root" => self.repository().map(str::to_owned),
            "get_path_from_repo_root" => self.repository().map(|root| paths::relative(root, &here)),
            "get_path_to_repo_root" => self.repository().map(|root| paths::relative(&here, root)),
            "abspath" => text(arguments, 0).and_then(|path| {
                if path.starts_with('/') {
                    Ok(paths::clean(&path))
                } else {
                    Err("`abspath` depends on where the checkout lies".to_owned())
                }
            }),
            _ => return None,
        };
        Some(result.map(Val::Text))
    }

    fn repository(&self) -> Result<&str, String> {
        self.root.repository().ok_or_else(|| "the repository's root is not known here".to_owned())
    }

    /// The nearest file of that name above the configuration's own directory. Source: `findInParentFoldersImpl`.
    fn find_in_parent_folders(&self, arguments: &[Val], context: &Context) -> Result<Val, String> {
        let name = match arguments.first() {
            Some(_) => Some(text(arguments, 0)?).filter(|name| !name.is_empty()),
            None => None,
        };
        let mut dir = paths::dirname(&context.config);
        for _ in 0..MAX_FOLDERS {
            let parent = paths::dirname(&dir);
            if parent == dir || !paths::depends_on_checkout(&parent) {
                break;
            }
            dir = parent;
            let names = name.as_deref().map_or(DEFAULT_NAMES.to_vec(), |name| vec![name]);
            for candidate in names {
                let path = paths::join(&dir, candidate);
                if self.files.contains_key(&path) {
                    return Ok(Val::Text(path));
                }
            }
        }
        let wanted = name.as_deref().unwrap_or("terragrunt.hcl");
        match arguments.get(1) {
            // A file that is no Terragrunt file may well be there: it was not looked for.
            Some(fallback) if wanted.ends_with(".hcl") => Ok(fallback.clone()),
            _ => Err(format!("`find_in_parent_folders` finds no {wanted} among the files that were read")),
        }
    }

    fn read_config(&mut self, arguments: &[Val], context: &Rc<Context>) -> Result<Val, String> {
        let path = paths::join(&paths::dirname(&context.config), &text(arguments, 0)?);
        let candidates = std::iter::once(path.clone())
            .chain(DEFAULT_NAMES.iter().map(|name| paths::join(&path, name)))
            .find(|candidate| self.files.contains_key(candidate));
        match (candidates, arguments.get(1)) {
            (Some(file), _) => Ok(Val::Config(self.context_of(&file, &context.unit))),
            (None, Some(fallback)) => Ok(fallback.clone()),
            (None, None) => {
                let shown = self.root.shown(&path).unwrap_or_else(|| paths::basename(&path));
                Err(format!("{shown} is not among the files that were read"))
            }
        }
    }

    fn merge(&mut self, arguments: &[Val]) -> Result<Val, String> {
        let mut merged = BTreeMap::new();
        for argument in arguments {
            let argument = match argument {
                Val::Locals(file) => self.all_locals(file),
                other => other.clone(),
            };
            match argument {
                Val::Object(items) => merged.extend(items),
                Val::Null => {}
                Val::Unknown(reason) => return Err(reason),
                _ => return Err("`merge` of something that is no object".to_owned()),
            }
        }
        Ok(Val::Object(merged))
    }

    fn lookup(&mut self, arguments: &[Val]) -> Result<Val, String> {
        let key = text(arguments, 1)?;
        let from = match arguments.first() {
            Some(Val::Locals(file)) => self.all_locals(file),
            Some(other) => other.clone(),
            None => return Err("`lookup` of nothing".to_owned()),
        };
        match from {
            Val::Object(mut items) => items
                .remove(&key)
                .or_else(|| arguments.get(2).cloned())
                .ok_or_else(|| format!("there is no `{key}` in it")),
            Val::Unknown(reason) => Err(reason),
            _ => Err("`lookup` in something that is no object".to_owned()),
        }
    }
}

/// The directory of the include that a path function means.
fn included_dir(arguments: &[Val], context: &Context) -> Result<Option<String>, String> {
    let label = if arguments.is_empty() { None } else { Some(text(arguments, 0)?) };
    Ok(context.selected(label.as_deref())?.map(paths::dirname))
}

fn text(arguments: &[Val], at: usize) -> Result<String, String> {
    arguments.get(at).ok_or_else(|| "an argument is missing".to_owned())?.text()
}

fn texts(value: Option<&Val>) -> Result<Vec<String>, String> {
    match value {
        Some(Val::List(items)) => items.iter().map(Val::text).collect(),
        Some(Val::Unknown(reason)) => Err(reason.clone()),
        _ => Err("a list is needed, and this is none".to_owned()),
    }
}

/// Standard functions that need nothing but their arguments.
fn plain(name: &str, arguments: &[Val]) -> Result<Val, String> {
    let text_of = |at: usize| text(arguments, at);
    let result = match name {
        "lower" => text_of(0)?.to_lowercase(),
        "upper" => text_of(0)?.to_uppercase(),
        "trimspace" => text_of(0)?.trim().to_owned(),
        "tostring" => text_of(0)?,
        "basename" => paths::basename(&text_of(0)?),
        "dirname" => paths::dirname(&text_of(0)?),
        "trimprefix" => {
            let (text, prefix) = (text_of(0)?, text_of(1)?);
            text.strip_prefix(prefix.as_str()).unwrap_or(&text).to_owned()
        }
        "trimsuffix" => {
            let (text, suffix) = (text_of(0)?, text_of(1)?);
            text.strip_suffix(suffix.as_str()).unwrap_or(&text).to_owned()
        }
        "replace" => replace(&text_of(0)?, &text_of(1)?, &text_of(2)?)?,
        "join" => texts(arguments.get(1))?.join(&text_of(0)?),
        "format" => format_text(arguments)?,
        "split" => return split(&text_of(0)?, &text_of(1)?),
        "element" => return element(arguments),
        "coalesce" => return coalesce(arguments),
        "try" => return first_known(arguments),
        "tobool" => {
            return match text_of(0)?.as_str() {
                "true" => Ok(Val::Bool(true)),
                "false" => Ok(Val::Bool(false)),
                _ => Err("`tobool` of something that is no boolean".to_owned()),
            };
        }
        _ => return Err(outside(name, arguments)),
    };
    if result.len() > MAX_TEXT { Err("the text is too long".to_owned()) } else { Ok(Val::Text(result)) }
}

/// Why a function can't be told.
fn outside(name: &str, arguments: &[Val]) -> String {
    let first = arguments.first().and_then(|argument| argument.text().ok());
    let first = first.filter(|text| !paths::depends_on_checkout(text));
    match (name, first) {
        ("get_env", Some(variable)) => format!("it depends on the environment variable {variable}"),
        ("get_env", None) => "it depends on the environment".to_owned(),
        ("run_cmd", _) => "it is what a command prints".to_owned(),
        ("file" | "read_tfvars_file" | "sops_decrypt_file" | "templatefile", Some(path)) => {
            format!("it stands in {path}, which was not read for it")
        }
        (name, _) if name.starts_with("get_aws_") => format!("only AWS can tell `{name}()`"),
        (name, _) => match arguments.iter().find_map(|argument| match argument {
            Val::Unknown(reason) => Some(reason),
            _ => None,
        }) {
            Some(reason) => format!("`{name}(…)`: {reason}"),
            None => format!("only a run can tell what `{name}(…)` gives"),
        },
    }
}

/// Terraform takes a pattern between slashes as a regular expression; a lone slash is text.
fn replace(text: &str, from: &str, to: &str) -> Result<String, String> {
    if from.len() > 1 && from.starts_with('/') && from.ends_with('/') {
        return Err("`replace` with a regular expression".to_owned());
    }
    Ok(if from.is_empty() { text.to_owned() } else { text.replace(from, to) })
}

/// `%s`, `%v` and `%d` without flags, and `%%`.
fn format_text(arguments: &[Val]) -> Result<String, String> {
    let pattern = text(arguments, 0)?;
    let mut out = String::new();
    let mut next = 1;
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('%') => out.push('%'),
            Some('s' | 'v' | 'd') => {
                out.push_str(&text(arguments, next)?);
                next += 1;
            }
            _ => return Err("`format` with flags".to_owned()),
        }
    }
    if next == arguments.len() { Ok(out) } else { Err("`format` with too many arguments".to_owned()) }
}

fn split(separator: &str, text: &str) -> Result<Val, String> {
    if paths::depends_on_checkout(text) {
        return Err("it depends on where the checkout lies".to_owned());
    }
    if separator.is_empty() {
        return Err("`split` without a separator".to_owned());
    }
    Ok(Val::List(text.split(separator).map(|part| Val::Text(part.to_owned())).collect()))
}

fn element(arguments: &[Val]) -> Result<Val, String> {
    let items = match arguments.first() {
        Some(Val::List(items)) => items,
        Some(Val::Unknown(reason)) => return Err(reason.clone()),
        _ => return Err("`element` of something that is no list".to_owned()),
    };
    let at: usize = text(arguments, 1)?.parse().map_err(|_| "the index can't be told".to_owned())?;
    let at = at.checked_rem(items.len()).ok_or_else(|| "the list is empty".to_owned())?;
    items.get(at).cloned().ok_or_else(|| "the list is empty".to_owned())
}

fn coalesce(arguments: &[Val]) -> Result<Val, String> {
    for argument in arguments {
        match argument {
            Val::Null => {}
            Val::Text(text) if text.is_empty() => {}
            Val::Unknown(reason) => return Err(reason.clone()),
            other => return Ok(other.clone()),
        }
    }
    Err("`coalesce` finds nothing".to_owned())
}

/// `try` takes the first argument that is no error; what is unknown here might be one.
fn first_known(arguments: &[Val]) -> Result<Val, String> {
    match arguments.first() {
        Some(Val::Unknown(reason)) => Err(reason.clone()),
        Some(value) => Ok(value.clone()),
        None => Err("`try` of nothing".to_owned()),
    }
}
