//! Raising `required_version`: the new constraint for an old one, and the edit. Only plain constraints are raised;
//! anything else is for people.

use super::align::{Region, realign};
use super::edit::{Edit, Edits};
use crate::repo::facts::Tool;
use crate::repo::inventory::VersionVerdict;
use crate::repo::root_module::{is_json_file, is_override_file};
use crate::repo::setting::{Setting, Value};
use crate::repo::syntax::{hcl, json};
use crate::repo::text::{Place, Text};
use crate::repo::versions;
use crate::repo::versions::constraint::{Release, parse_constraint, parse_version, split_operator};

/// The constraint that admits only versions in which `use_lockfile` is stable, upper bounds kept; `None` when the
/// old one is not plain, or admits no such version.
pub fn raised(old: &str, tool: Tool) -> Option<String> {
    let floor = match tool {
        Tool::Terraform => Release(1, 11, 0),
        Tool::OpenTofu => Release(1, 10, 0),
        Tool::Terragrunt => return None,
    };
    let mut parts = vec![format!(">= {}.{}", floor.0, floor.1)];
    for part in old.split(',').map(str::trim) {
        let (operator, version) = split_operator(part);
        let read = parse_version(version.trim()).filter(|read| read.pre.is_none() && !read.beyond)?;
        match operator {
            ">=" | ">" => {}
            "<" | "<=" | "!=" => parts.push(part.to_owned()),
            "~>" if read.segments == 2 => parts.push(format!("< {}.0", read.release.0.checked_add(1)?)),
            _ => return None,
        }
    }
    let new = parts.join(", ");
    let admitted = parse_constraint(&new).ok()?.admitted;
    (!admitted.is_empty() && versions::verdict(tool, &new).0 == VersionVerdict::Can).then_some(new)
}

/// The edits that raise the constraint at a place; `None` when it is not a plain text there.
pub fn raise(file: &str, bytes: &[u8], place: &Place, tool: Tool) -> Option<Edits> {
    let setting = find(file, bytes, place)?;
    let Value::Text(old) = &setting.value else { return None };
    // Between plain quotes, or the text could be spelled with escapes.
    let inner = setting.value_span.of(bytes).strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if inner != old.as_bytes() {
        return None;
    }
    let new = raised(old, tool)?;
    let edit = Edit::replace(setting.value_span, format!("\"{new}\""));
    let edits = Edits::new(bytes, vec![edit]).ok()?;
    let region = if is_json_file(file) { return Some(edits) } else { Region::File };
    let moved = realign(bytes, region, &edits);
    Some(edits.then(bytes, &moved))
}

fn find(file: &str, bytes: &[u8], place: &Place) -> Option<Setting> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let text = Text::new(bytes);
    let read = if is_json_file(name) { json::read_module_file } else { hcl::read_module_file };
    let (facts, _) = read(file, text, is_override_file(name));
    facts.required_versions.into_iter().find(|(at, _)| at == place).map(|(_, setting)| setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_raised_and_keep_their_upper_bounds() {
        for (old, new) in [
            (">= 1.5", Some(">= 1.11")),
            (">= 1.5, < 2.0", Some(">= 1.11, < 2.0")),
            ("~> 1.5", Some(">= 1.11, < 2.0")),
            ("> 1.3, != 1.12.1", Some(">= 1.11, != 1.12.1")),
            ("~> 1.5.0", None),
            ("1.5.7", None),
            (">= 1.5, < 1.9", None),
            (">= 1.5-beta1", None),
            ("", None),
        ] {
            assert_eq!(raised(old, Tool::Terraform).as_deref(), new, "{old}");
        }
        assert_eq!(raised(">= 1.6", Tool::OpenTofu).as_deref(), Some(">= 1.10"));
    }

    #[test]
    fn only_the_text_changes_and_its_column_follows() {
        let text =
            b"terraform {\n  required_version = \">= 1.5\" # a\n  foo              = \"12345678\" # b\n}\n";
        let (facts, _) = hcl::read_module_file("a/v.tf", Text::new(text), false);
        let place = facts.required_versions[0].0.clone();
        let edits = raise("a/v.tf", text, &place, Tool::Terraform).unwrap();
        assert_eq!(
            String::from_utf8(edits.apply(text)).unwrap(),
            "terraform {\n  required_version = \">= 1.11\" # a\n  foo              = \"12345678\" # b\n}\n"
        );
        assert_eq!(raise("a/v.tf", text, &Place { line: 9, ..place }, Tool::Terraform), None);
    }
}
