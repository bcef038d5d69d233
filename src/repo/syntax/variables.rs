//! Variables of a script, Makefile or CI file that have one literal value throughout: they make paths readable.
//! Nothing is expanded that a caller, a loop or a second assignment could change.

use std::collections::HashMap;

use crate::repo::facts::Call;

use super::dirs::join_dir;
use super::flags::placeholders;

/// Name to value; `None` for a variable with more than one value, or with one that only a run can tell.
#[derive(Debug, Default)]
pub(crate) struct Variables(HashMap<String, Option<String>>);

impl Variables {
    /// Every assignment in a file, one a line.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut variables = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = std::str::from_utf8(line) else { continue };
            let mut line = line.trim();
            if line.starts_with('#') {
                continue;
            }
            for word in ["- ", "export ", "local ", "readonly ", "declare ", "set ", "ENV ", "ARG "] {
                line = line.strip_prefix(word).map_or(line, str::trim_start);
            }
            if let Some(rest) = line.strip_prefix("for ").or_else(|| line.strip_prefix("read ")) {
                rest.split_whitespace().take(1).for_each(|name| variables.set(name, None));
                continue;
            }
            let len = line.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            let Some((name, rest)) = line.split_at_checked(len).filter(|(name, _)| !name.is_empty()) else {
                continue;
            };
            let rest = rest.trim_start();
            let value =
                rest.strip_prefix(":=").or_else(|| rest.strip_prefix('=')).or_else(|| rest.strip_prefix(':'));
            match value {
                // `terraform: true` and the like are keys, not variables.
                Some(_)
                    if rest.starts_with(':')
                        && !rest.starts_with(":=")
                        && name.bytes().any(|b| b.is_ascii_lowercase()) => {}
                Some(value) => variables.set(name, literal(value)),
                // `?=`: a caller may have set it before.
                None if rest.starts_with("?=") || rest.starts_with("+=") => variables.set(name, None),
                None => {}
            }
        }
        variables
    }

    fn set(&mut self, name: &str, value: Option<String>) {
        match self.0.get_mut(name) {
            Some(known) if *known != value => *known = None,
            Some(_) => {}
            None => {
                self.0.insert(name.to_owned(), value);
            }
        }
    }

    /// The text with every placeholder that has one literal value replaced; `None` when there is none.
    fn expand(&self, text: &str) -> Option<String> {
        let mut expanded = String::new();
        let mut at = 0;
        let mut any = false;
        for (start, end) in placeholders(text) {
            expanded.push_str(text.get(at..start)?);
            let hole = text.get(start..end)?;
            let name = hole.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = name.strip_prefix("env.").or_else(|| name.strip_prefix("env:")).unwrap_or(name);
            match self.0.get(name) {
                Some(Some(value)) => {
                    any = true;
                    expanded.push_str(value);
                }
                _ => expanded.push_str(hole),
            }
            at = end;
        }
        expanded.push_str(text.get(at..)?);
        any.then_some(expanded)
    }

    /// Makes directories and file paths of calls readable.
    pub(crate) fn apply(&self, call: &mut Call) {
        if let Some(dir) = call.dir.as_deref().and_then(|dir| self.expand(dir)) {
            call.dir = Some(join_dir(None, &dir));
        }
        for (file, _) in &mut call.config_files {
            if let Some(path) = self.expand(file) {
                *file = path;
            }
        }
    }
}

/// A value without its quotes and comment, when it is one plain word.
fn literal(value: &str) -> Option<String> {
    let value = value.trim();
    let value = value.split(" #").next().unwrap_or(value).trim_end();
    let bare = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value);
    let plain = !bare.is_empty()
        && bare.len() < 512
        && !bare.contains(|c: char| {
            c.is_whitespace() || matches!(c, '$' | '`' | '{' | '"' | '\'' | '*' | ';' | '&' | '|' | '(')
        });
    plain.then(|| bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_literal_value_counts() {
        let text = b"A=infra\nexport B=\"x/y\" # why\nC=$1\nD=a\nD=b\nE ?= e\nF := f\n  G: ./g\nfor A2 in 1 2; do\nA2=x\n# H=h\nname: n\n";
        let variables = Variables::read(text);
        for (from, to) in [
            ("$A/x", Some("infra/x")),
            ("${B}", Some("x/y")),
            ("$C", None),
            ("$D", None),
            ("$(E)", None),
            ("$(F)/$(E)", Some("f/$(E)")),
            ("${{ env.G }}", Some("./g")),
            ("$A2", None),
            ("$H", None),
            ("${A:-b}", None),
            ("plain", None),
        ] {
            assert_eq!(variables.expand(from).as_deref(), to, "{from}");
        }
    }
}
