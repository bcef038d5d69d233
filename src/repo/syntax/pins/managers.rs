//! Files of version managers: tfenv, tofuenv, tenv, tgenv, asdf, mise, tfswitch. One program's version for the
//! directories below them.

use toml::de::{DeTable, DeValue};

use super::{Found, lines};
use crate::repo::facts::Tool;

/// `.terraform-version` and its like: the first line that is neither empty nor a comment.
pub(super) fn single(bytes: &[u8], tool: Tool, origin: &'static str) -> Vec<Found> {
    for line in lines(bytes) {
        let text = line.text.split('#').next().unwrap_or_default();
        let trimmed = text.trim();
        if !trimmed.is_empty() {
            let offset = line.start + (text.len() - text.trim_start().len());
            return vec![Found {
                tool,
                text: trimmed.to_owned(),
                offset,
                origin,
                name: String::new(),
                below: None,
            }];
        }
    }
    Vec::new()
}

/// `.tool-versions`: `terraform 1.9.8 1.9.7`; later versions are fallbacks, the first is what runs.
pub(super) fn tool_versions(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    for line in lines(bytes) {
        let text = line.text.split('#').next().unwrap_or_default();
        let mut words = text.split_ascii_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let Some(tool) = tool_of_plugin(name) else { continue };
        let name_end = text.find(name).unwrap_or(0) + name.len();
        let behind = text.get(name_end..).and_then(|rest| rest.find(version)).unwrap_or(0);
        let offset = line.start + name_end + behind;
        found.push(Found {
            tool,
            text: version.to_owned(),
            offset,
            origin: ".tool-versions",
            name: String::new(),
            below: None,
        });
    }
    found
}

/// Plugin names of asdf and mise, with mise's `backend:owner/name` forms.
fn tool_of_plugin(name: &str) -> Option<Tool> {
    let bare = name.rsplit([':', '/']).next().unwrap_or(name);
    match bare {
        "terraform" => Some(Tool::Terraform),
        "opentofu" | "tofu" => Some(Tool::OpenTofu),
        "terragrunt" => Some(Tool::Terragrunt),
        _ => None,
    }
}

/// mise: the `[tools]` table, each tool a version, a list of versions, or a table with `version`. A broken file
/// is read as far as it can be.
pub(super) fn mise(bytes: &[u8]) -> Vec<Found> {
    let Ok(source) = std::str::from_utf8(bytes) else { return Vec::new() };
    let (table, _) = DeTable::parse_recoverable(source);
    let mut found = Vec::new();
    for (key, value) in table.get_ref() {
        let Some(tools) = value.get_ref().as_table().filter(|_| key.get_ref() == "tools") else { continue };
        for (name, value) in tools {
            let Some(tool) = tool_of_plugin(name.get_ref()) else { continue };
            let version = match value.get_ref() {
                DeValue::Array(items) => items.iter().next(),
                DeValue::Table(table) => table.get("version"),
                _ => Some(value),
            };
            let version = match version.map(|value| (value, value.get_ref())) {
                Some((_, DeValue::Table(table))) => table.get("version"),
                Some((value, _)) => Some(value),
                None => None,
            };
            let Some(value) = version else { continue };
            if let Some(text) = scalar(value.get_ref()) {
                let offset = inside_quotes(bytes, value.span().start);
                found.push(Found { tool, text, offset, origin: "mise", name: String::new(), below: None });
            }
        }
    }
    found
}

/// `.tfswitch.toml`: `version`, and `product = "opentofu"`.
pub(super) fn switch_toml(bytes: &[u8], tool: Tool) -> Vec<Found> {
    let Ok(source) = std::str::from_utf8(bytes) else { return Vec::new() };
    let (table, _) = DeTable::parse_recoverable(source);
    let table = table.get_ref();
    let product = table.get("product").and_then(|value| scalar(value.get_ref()));
    let is_tofu = product.is_some_and(|product| matches!(product.as_str(), "opentofu" | "tofu"));
    let (tool, origin) = match tool {
        Tool::Terragrunt => (tool, ".tgswitch.toml"),
        _ if is_tofu => (Tool::OpenTofu, ".tfswitch.toml"),
        _ => (tool, ".tfswitch.toml"),
    };
    let version = table.get("version");
    let found = version.and_then(|value| {
        let text = scalar(value.get_ref())?;
        Some(Found {
            tool,
            text,
            offset: inside_quotes(bytes, value.span().start),
            origin,
            name: String::new(),
            below: None,
        })
    });
    found.into_iter().collect()
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// A place points at the version, not at its quote.
fn inside_quotes(bytes: &[u8], start: usize) -> usize {
    let quoted = bytes.get(start).is_some_and(|byte| matches!(byte, b'"' | b'\''));
    start + usize::from(quoted)
}
