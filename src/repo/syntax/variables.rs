//! Variables of a script, Makefile or CI file that have one literal value throughout: they make paths readable, and tell
//! whether `-lock=$LOCK` locks. Nothing is expanded that a caller, a loop or a second assignment could change.

use std::collections::{HashMap, HashSet};

use crate::repo::facts::Call;

use super::dirs::{join_dir, strip_base};
use super::flags::{is_false, is_true, placeholders};
use super::language::{Language, language};

/// What a file's variables are set to.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    /// Name to value; `None` for a variable with more than one value, or with one that only a run can tell.
    values: HashMap<String, Option<String>>,
    /// Those that are also set in the middle of a line: on some condition, as often as not.
    unsure: HashSet<String>,
    /// Whether another file, which was not read, may set any.
    open: bool,
}

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
                // `terraform: true` and the like are keys, not variables; `plan: LOCK := false` sets one for a target.
                Some(value)
                    if rest.starts_with(':')
                        && !rest.starts_with(":=")
                        && name.bytes().any(|b| b.is_ascii_lowercase()) =>
                {
                    variables.for_target(value);
                }
                Some(value) => variables.set(name, literal(value)),
                // `?=`: a caller may have set it before.
                None if rest.starts_with("?=") || rest.starts_with("+=") => variables.set(name, None),
                None => {}
            }
        }
        variables.circle_parameters(bytes);
        variables
    }

    fn for_target(&mut self, value: &str) {
        let value = value.trim_start();
        let len = value.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if let Some((name, rest)) = value.split_at_checked(len).filter(|(name, _)| !name.is_empty())
            && let Some((_, set)) =
                rest.split_once('=').filter(|(mark, _)| matches!(mark.trim(), "" | ":" | "?" | "+"))
        {
            self.set(name, literal(set));
        }
    }

    /// Names that are set in the middle of a line.
    fn note_unsure(&mut self, bytes: &[u8]) {
        /// What of a line is looked at before a sign: a name, and what declares it.
        const NEAR: usize = 256;
        for end in memchr::memchr_iter(b'=', bytes) {
            let before = bytes.get(end.saturating_sub(NEAR)..end).unwrap_or_default();
            let at = before.len();
            let len =
                before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            let (Some(name), Some(head)) = (before.get(at - len..), before.get(..at - len)) else { continue };
            let line = head.iter().rev().take_while(|byte| **byte != b'\n');
            let starts = line.clone().all(u8::is_ascii_whitespace) || is_declared(head);
            let is_flag = line.clone().next() == Some(&b'-');
            if len > 0 && !starts && !is_flag {
                self.unsure.insert(String::from_utf8_lossy(name).into_owned());
            }
        }
    }

    /// Parameters of a CircleCI configuration: their defaults, and what callers in the same file hand over.
    fn circle_parameters(&mut self, bytes: &[u8]) {
        if !bytes.windows(2).any(|two| two == b"<<") {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<(usize, &str)> = text
            .lines()
            .map(|line| (line.len() - line.trim_start().len(), line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let mut declared = vec![false; lines.len()];
        let mut at = 0;
        while let Some((outer, line)) = lines.get(at).copied() {
            at += 1;
            if line != "parameters:" {
                continue;
            }
            let kind = if outer == 0 { "pipeline.parameters." } else { "parameters." };
            let Some((child, _)) = lines.get(at).copied().filter(|(indent, _)| *indent > outer) else {
                continue;
            };
            let mut name: Option<String> = None;
            while let Some((indent, line)) = lines.get(at).copied().filter(|(indent, _)| *indent > outer) {
                if let Some(seen) = declared.get_mut(at) {
                    *seen = true;
                }
                at += 1;
                let Some((key, value)) = line.split_once(':') else { continue };
                let value = value.split(" #").next().unwrap_or(value).trim();
                if indent == child {
                    // One without a default is what its callers say.
                    let given = value
                        .split_once("default:")
                        .map(|(_, rest)| rest.split([',', '}']).next().unwrap_or(rest));
                    match given {
                        Some(given) => self.set(&format!("{kind}{key}"), literal(given)),
                        None if !value.is_empty() && !value.starts_with('{') => {
                            self.set(&format!("{kind}{key}"), None);
                        }
                        None => {}
                    }
                    name = Some(format!("{kind}{key}"));
                } else if key == "default"
                    && let Some(name) = &name
                {
                    self.set(name, literal(value));
                }
            }
        }
        for ((_, line), _) in lines.iter().zip(declared).filter(|(_, declared)| !declared) {
            let Some((key, value)) = line.trim_start_matches("- ").split_once(':') else { continue };
            let name = format!("parameters.{}", key.trim());
            if self.values.contains_key(&name) {
                self.set(&name, literal(value));
            }
        }
    }

    /// Adds what a file says that is read into this one.
    pub(crate) fn include(&mut self, bytes: &[u8]) {
        let more = Self::read(bytes);
        for (name, value) in more.values {
            self.set(&name, value);
        }
        self.note_unsure(bytes);
    }

    /// Another file, which can't be read here, may set anything.
    pub(crate) fn leave_open(&mut self) {
        self.open = true;
    }

    /// The variables of a script that calls Terraform, its own before those of the files that it reads in.
    pub(crate) fn of_script(bytes: &[u8]) -> Self {
        let mut own = Self::default();
        own.include(bytes);
        own
    }

    /// Tells of `-lock=$LOCK` what is put in, where that is certain. That it locks is certain only where nobody else can
    /// say otherwise: whoever calls `make` or triggers a pipeline can.
    pub(crate) fn settle_lock(&self, file: &str, call: &mut Call) {
        let Some((place, written)) = &call.lock_unknown else { return };
        let names: Vec<&str> = placeholders(written)
            .into_iter()
            .filter_map(|(start, end)| written.get(start..end))
            .map(name_of)
            .collect();
        let Some(value) = self.expand(written).filter(|value| placeholders(value).is_empty()) else { return };
        if names.iter().any(|name| self.unsure.contains(*name)) {
            return;
        }
        let others_decide = self.open
            || language(file) == Some(Language::Make)
            || names.iter().any(|name| name.starts_with("pipeline."));
        if is_false(&value) {
            call.lock_false.get_or_insert_with(|| place.clone());
            call.lock_unknown = None;
        } else if is_true(&value) && !others_decide {
            call.lock_unknown = None;
        }
    }

    fn set(&mut self, name: &str, value: Option<String>) {
        match self.values.get_mut(name) {
            Some(known) if *known != value => *known = None,
            Some(_) => {}
            None => {
                self.values.insert(name.to_owned(), value);
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
            match self.values.get(name_of(hole)) {
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

/// The variable that a placeholder names.
fn name_of(hole: &str) -> &str {
    let name = hole.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    name.strip_prefix("env.").or_else(|| name.strip_prefix("env:")).unwrap_or(name)
}

/// Whether what stands before a name on its line only declares it.
fn is_declared(head: &[u8]) -> bool {
    let line = head.rsplit(|byte| *byte == b'\n').next().unwrap_or(head).trim_ascii();
    [&b"export"[..], b"local", b"readonly", b"declare", b"set", b"ENV", b"ARG", b"-"].contains(&line)
}

/// Files that a script, Makefile or CI file reads in; `None` for one whose path only a run can tell.
pub(crate) fn included(bytes: &[u8]) -> Vec<Option<String>> {
    let mut found = Vec::new();
    let mut add = |path: &str| {
        let path = path.trim_matches(['"', '\'', ',', '[', ']', ' ']);
        let path = strip_base(path).unwrap_or(path);
        if !path.is_empty() {
            found.push(placeholders(path).is_empty().then(|| path.trim_start_matches('/').to_owned()));
        }
    };
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let line = line.split(" #").next().unwrap_or(line).trim();
        if line.starts_with('#') {
            continue;
        }
        // Make: any number of files.
        if let Some(files) =
            ["include ", "-include ", "sinclude "].iter().find_map(|word| line.strip_prefix(word))
        {
            files.split_whitespace().for_each(&mut add);
            continue;
        }
        // GitLab, Taskfile, just.
        let item = line.trim_start_matches("- ");
        if let Some(file) = item.strip_prefix("local:") {
            add(file.trim());
        } else if let Some(files) = item.strip_prefix("dotenv:") {
            files.split(',').for_each(&mut add);
        } else if item.starts_with("set dotenv-load") && !item.ends_with("false") {
            add(".env");
        }
        for command in line.split([';', '&', '|']) {
            let command = command.trim();
            let file = ["source ", ". "].iter().find_map(|word| command.strip_prefix(word));
            if let Some(file) = file.and_then(|file| file.split_whitespace().next()) {
                add(file);
            }
        }
    }
    found
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

    fn settled(file: &str, script: &str, others: &[&str], written: &str) -> &'static str {
        let mut variables = Variables::of_script(script.as_bytes());
        others.iter().for_each(|text| variables.include(text.as_bytes()));
        if included(script.as_bytes()).contains(&None) {
            variables.leave_open();
        }
        let text = format!("terraform plan -lock={written}\n");
        let calls = super::super::calls::read_calls("x.sh", crate::repo::text::Text::new(text.as_bytes()));
        let [mut call] = <[Call; 1]>::try_from(calls).unwrap();
        assert!(call.lock_unknown.is_some(), "{written}");
        variables.settle_lock(file, &mut call);
        match (&call.lock_false, &call.lock_unknown) {
            (Some(_), None) => "false",
            (None, Some(_)) => "unknown",
            (None, None) => "true",
            _ => "both",
        }
    }

    #[test]
    fn a_lock_is_settled_where_the_tree_says_it() {
        for (file, script, others, written, expected) in [
            ("x.sh", "LOCK=false\n", &[][..], "$LOCK", "false"),
            ("x.sh", "LOCK=true\n", &[], "$LOCK", "true"),
            ("x.sh", "export LOCK=\"0\"\n", &[], "${LOCK}", "false"),
            ("x.sh", "LOCK=true\n[ -n \"$CI\" ] && LOCK=false\n", &[], "$LOCK", "unknown"),
            ("x.sh", "LOCK=true\nif a; then\n  LOCK=false\nfi\n", &[], "$LOCK", "unknown"),
            ("x.sh", "LOCK=${1:-true}\n", &[], "$LOCK", "unknown"),
            ("x.sh", "", &[], "$LOCK", "unknown"),
            ("x.sh", ". ./.env\n", &["LOCK=false\n"], "$LOCK", "false"),
            ("x.sh", ". ./.env\nLOCK=true\n", &["LOCK=false\n"], "$LOCK", "unknown"),
            ("x.sh", ". \"$DIR/env\"\nLOCK=true\n", &[], "$LOCK", "unknown"),
            ("x.sh", ". \"$DIR/env\"\nLOCK=false\n", &[], "$LOCK", "false"),
            ("Makefile", "include vars.mk\n", &["LOCK := false\n"], "$(LOCK)", "false"),
            ("Makefile", "include vars.mk\n", &["LOCK := true\n"], "$(LOCK)", "unknown"),
            ("Makefile", "LOCK := false\napply: LOCK := true\n", &[], "$(LOCK)", "unknown"),
            ("Makefile", "LOCK ?= false\n", &[], "$(LOCK)", "unknown"),
            (".gitlab-ci.yml", "variables:\n  LOCK: \"false\"\n", &[], "$LOCK", "false"),
            (
                ".gitlab-ci.yml",
                "variables:\n  LOCK: \"false\"\nb:\n  variables:\n    LOCK: \"true\"\n",
                &[],
                "$LOCK",
                "unknown",
            ),
            ("x.yml", "env:\n  LOCK: 'true'\n", &[], "${{ env.LOCK }}", "true"),
        ] {
            assert_eq!(settled(file, script, others, written), expected, "{script:?} {others:?}");
        }
    }

    #[test]
    fn parameters_of_circleci_are_what_they_are_by_default_and_what_callers_say() {
        let job = "jobs:\n  plan:\n    parameters:\n      lock:\n        type: boolean\n        default: VALUE\n    steps:\n      - run: x << parameters.lock >>\n";
        let off = job.replace("VALUE", "false");
        let on = job.replace("VALUE", "true");
        let flow = "jobs:\n  plan:\n    parameters:\n      lock: {type: boolean, default: false}\n    x: << parameters.lock >>\n";
        let top = "parameters:\n  lock:\n    default: VALUE\nx: << pipeline.parameters.lock >>\n";
        let called = "workflows:\n  w:\n    jobs:\n      - plan:\n          lock: false\n";
        let matrix = "workflows:\n  w:\n    jobs:\n      - plan:\n          matrix:\n            parameters:\n              lock: [true, false]\n";
        let own = "<< parameters.lock >>";
        let pipeline = "<<pipeline.parameters.lock>>";
        for (text, written, expected) in [
            (off.clone(), own, "false"),
            (on.clone(), own, "true"),
            (flow.to_owned(), own, "false"),
            (format!("{on}{called}"), own, "unknown"),
            (format!("{off}{called}"), own, "false"),
            (format!("{on}{matrix}"), own, "unknown"),
            (on, pipeline, "unknown"),
            (top.replace("VALUE", "false"), pipeline, "false"),
            (top.replace("VALUE", "true"), pipeline, "unknown"),
        ] {
            assert_eq!(settled(".circleci/config.yml", &text, &[], written), expected, "{text}");
        }
    }

    #[test]
    fn files_that_are_read_in() {
        let named = |text: &str| -> Vec<String> {
            included(text.as_bytes()).into_iter().map(|path| path.unwrap_or_else(|| "?".into())).collect()
        };
        assert_eq!(named("include a.mk b.mk # c.mk\n-include .env\n"), ["a.mk", "b.mk", ".env"]);
        assert_eq!(named("set -a; . ./.env; set +a\nsource \"$X/y\"\n# . z\n"), ["./.env", "?"]);
        assert_eq!(named("include:\n  - local: /ci/vars.yml\n"), ["ci/vars.yml"]);
        assert_eq!(named("dotenv: ['.env', \"b.env\"]\n"), [".env", "b.env"]);
        assert_eq!(named("source \"$(dirname \"$0\")/env.sh\"\n").len(), 1);
        assert_eq!(named("echo . nothing\nincluded: a\n"), [""; 0]);
    }

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
