//! CI configuration and images, line by line: workflow inputs, `env`, image tags, Dockerfile `ARG`, Atlantis
//! projects. A line reader is enough for scalars, keeps exact places, and reads files that are templates, too.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, Line, lines, tool_of_name};
use crate::repo::facts::Tool;

/// Images whose tag is a version, and whose. The tag of `alpine/terragrunt` is Terraform's version.
const IMAGES: &[(&str, Tool)] = &[
    ("hashicorp/terraform:", Tool::Terraform),
    ("opentofu/opentofu:", Tool::OpenTofu),
    ("alpine/terragrunt:", Tool::Terraform),
];

/// How many lines below an empty `terraform_version:` are looked at for its items or default.
const LOOK_AHEAD: usize = 64;

/// A YAML line `key: value`, dashes passed over.
struct Entry<'a> {
    /// Column of the key: what must be exceeded to lie inside its value.
    indent: usize,
    key: &'a str,
    value: Scalar<'a>,
}

/// A scalar as it stands in a line, quotes taken off, comment cut off.
#[derive(Clone, Copy)]
struct Scalar<'a> {
    text: &'a str,
    offset: usize,
    quoted: bool,
}

/// The scalar that begins at byte `at` of a line.
fn scalar<'a>(line: Line<'a>, at: usize) -> Scalar<'a> {
    let rest = line.text.get(at..).unwrap_or_default();
    let at = at + (rest.len() - rest.trim_start().len());
    let rest = rest.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let text = inner.split(quote).next().unwrap_or_default();
            return Scalar { text, offset: line.start + at + 1, quoted: true };
        }
    }
    let text = if rest.starts_with('#') { "" } else { rest.split(" #").next().unwrap_or_default() };
    Scalar { text: text.trim_end(), offset: line.start + at, quoted: false }
}

/// How far a YAML line is indented, its dashes counted in; `None` for empty lines and comments.
fn indent_of(text: &str) -> Option<(usize, bool)> {
    let mut at = text.len() - text.trim_start_matches(' ').len();
    let mut dashed = false;
    while let Some(rest) = text.get(at..).and_then(|rest| rest.strip_prefix("- ")) {
        dashed = true;
        at = text.len() - rest.trim_start_matches(' ').len();
    }
    let rest = text.get(at..).unwrap_or_default().trim();
    (!rest.is_empty() && !rest.starts_with('#')).then_some((at, dashed))
}

fn entry<'a>(line: Line<'a>) -> Option<Entry<'a>> {
    let (indent, _) = indent_of(line.text)?;
    let rest = line.text.get(indent..)?;
    let (key, behind) = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let end = rest.get(1..)?.find(quote)? + 1;
            (rest.get(1..end)?, end + 1)
        }
        _ => {
            let end = rest.find(':')?;
            (rest.get(..end)?, end)
        }
    };
    let tail = rest.get(behind..)?.trim_start().strip_prefix(':')?;
    if !(tail.is_empty() || tail.starts_with([' ', '\t'])) {
        return None;
    }
    Some(Entry { indent, key: key.trim(), value: scalar(line, line.text.len() - tail.len()) })
}

/// The entry of a line, and those of the maps in flow style that begin on it: `- { uses: x, with: { y: 1 } }`.
fn entries<'a>(line: Line<'a>, indent: usize) -> (Option<Entry<'a>>, Vec<Entry<'a>>) {
    let opens =
        |at: usize| line.text.get(at..).is_some_and(|rest| rest.starts_with('{') && !rest.starts_with("{{"));
    if opens(indent) {
        return (None, flow_entries(line, indent, indent));
    }
    let Some(entry) = entry(line) else { return (None, Vec::new()) };
    let at = entry.value.offset - line.start;
    let inside =
        if !entry.value.quoted && opens(at) { flow_entries(line, at, entry.indent) } else { Vec::new() };
    (Some(entry), inside)
}

/// What stands in the map whose brace is at byte `open` of a line, and in maps inside of it, as far as the line goes.
fn flow_entries<'a>(line: Line<'a>, open: usize, indent: usize) -> Vec<Entry<'a>> {
    let text = line.text;
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut at = open;
    while let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match next {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' | ' ' | '\t' | ']' => {}
            '#' => break,
            _ => {
                let end = flow_end(text, at, true);
                let key = text.get(at..end).unwrap_or_default().trim().trim_matches(['"', '\'']);
                at = end;
                let rest = text.get(end..).unwrap_or_default();
                let Some(value) = rest.trim_start().strip_prefix(':') else { continue };
                at = text.len() - value.trim_start().len();
                let value = text.get(at..).unwrap_or_default();
                if !value.starts_with('{') || value.starts_with("{{") {
                    let end = flow_end(text, at, false);
                    let piece = Line { start: line.start, text: text.get(..end).unwrap_or_default() };
                    found.push(Entry { indent, key, value: scalar(piece, at) });
                    at = end;
                }
                continue;
            }
        }
        if depth == 0 {
            break;
        }
        at += next.len_utf8();
    }
    found
}

/// Where a key or a value in flow style ends: behind its closing quote or bracket, or before what ends a
/// plain one.
fn flow_end(text: &str, from: usize, is_key: bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let Some(first) = rest.chars().next() else { return text.len() };
    let inner = rest.get(first.len_utf8()..).unwrap_or_default();
    let close = match first {
        '"' | '\'' => Some(first),
        '[' => Some(']'),
        _ => None,
    };
    if let Some(close) = close {
        return inner.find(close).map_or(text.len(), |at| from + 1 + at + close.len_utf8());
    }
    let mut at = from;
    while let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with("{{") {
            at = rest.find("}}").map_or(text.len(), |end| at + end + 2);
            continue;
        }
        let ends = matches!(next, ',' | '}') || (is_key && next == ':');
        if ends {
            return at;
        }
        at += next.len_utf8();
    }
    text.len()
}

/// CI YAML: keys that name a version, and image tags. Text of block scalars (scripts) is searched for images
/// only. `github` says whether unquoted numbers are read as GitHub does: `1.10` is the number 1.1.
pub(super) fn yaml(bytes: &[u8], github: bool) -> Vec<Found> {
    let lines = lines(bytes);
    let mut found = Vec::new();
    let mut values: BTreeMap<&str, Vec<Vec<Scalar<'_>>>> = BTreeMap::new();
    // Indent of the key whose block scalar we are in.
    let mut script: Option<usize> = None;
    let mut action = "";
    for (index, line) in lines.iter().enumerate() {
        let Some((indent, _)) = indent_of(line.text) else { continue };
        if script.is_some_and(|key| line_indent(line.text) > key) {
            images(*line, &mut found);
            continue;
        }
        script = None;
        let (entry, inside) = entries(*line, indent);
        let mut images_wanted = true;
        // Several entries stand on a line only in flow style (`with: { … }`): what belongs to them ends with it.
        let own = entry.into_iter().map(|entry| (entry, lines.get(index + 1..).unwrap_or_default()));
        for (entry, below) in own.chain(inside.into_iter().map(|entry| (entry, [].as_slice()))) {
            if entry.key == "uses" {
                action = entry.value.text;
            } else if matches!(entry.key, "steps" | "jobs" | "env" | "run") && indent <= entry.indent {
                action = if entry.key == "run" || entry.key == "jobs" { "" } else { action };
            }
            if !entry.value.quoted && entry.value.text.starts_with(['|', '>']) {
                script = Some(entry.indent);
                images_wanted = false;
                continue;
            }
            let read = if entry.value.text.starts_with('[') && !entry.value.quoted {
                flow_items(*line, entry.value)
            } else if entry.value.text.is_empty() {
                nested(below, entry.indent)
            } else {
                vec![entry.value]
            };
            let Some(tool) = tool_of_name(entry.key) else {
                values.entry(entry.key).or_default().push(read);
                continue;
            };
            images_wanted = false;
            let origin = origin_of(action, entry.key);
            for value in read {
                if !matches!(value.text, "" | "null" | "~") {
                    let text = number(value, github);
                    found.push(Found {
                        tool,
                        text,
                        offset: value.offset,
                        origin,
                        name: entry.key.to_owned(),
                        below: None,
                    });
                }
            }
        }
        if images_wanted {
            images(*line, &mut found);
        }
    }
    let mut values: Values<'_> =
        values.into_iter().filter_map(|(key, found)| Some((key, one(found)?))).collect();
    values.retain(|_, found| !found.is_empty());
    resolve(found, &values, github)
}

/// What a file gives to its own names: one value, or the items of a list.
type Values<'a> = BTreeMap<&'a str, Vec<Scalar<'a>>>;

/// The one definition of a key, where no other in the file differs.
fn one(definitions: Vec<Vec<Scalar<'_>>>) -> Option<Vec<Scalar<'_>>> {
    let texts = |values: &[Scalar<'_>]| values.iter().map(|value| value.text.to_owned()).collect::<Vec<_>>();
    let mut definitions = definitions.into_iter();
    let first = definitions.next()?;
    definitions.all(|other| texts(&other) == texts(&first)).then_some(first)
}

/// Leading blanks, dashes not counted: block scalar text may begin with a dash.
fn line_indent(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

/// Where a version key stands, by the action of its step and its own spelling.
fn origin_of(action: &str, key: &str) -> &'static str {
    if key.chars().any(|c| c.is_ascii_uppercase()) {
        "ci-env"
    } else if action.contains("setup-terraform") {
        "setup-terraform"
    } else if action.contains("setup-opentofu") {
        "setup-opentofu"
    } else if action.contains("terragrunt") {
        "terragrunt-action"
    } else {
        "ci-input"
    }
}

/// GitHub reads an unquoted `1.10` as the number 1.1 before an action sees it.
fn number(value: Scalar<'_>, github: bool) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match value.text.split_once('.').filter(|_| github && !value.quoted) {
        Some((major, minor)) if digits(major) && digits(minor) => match minor.trim_end_matches('0') {
            "" => major.to_owned(),
            minor => format!("{major}.{minor}"),
        },
        _ => value.text.to_owned(),
    }
}

/// Items of `[1.9.8, "1.11.4"]` on one line.
fn flow_items<'a>(line: Line<'a>, list: Scalar<'a>) -> Vec<Scalar<'a>> {
    let mut items = Vec::new();
    let start = list.offset - line.start + 1;
    let Some(inner) = line.text.get(start..).and_then(|rest| rest.split(']').next()) else { return items };
    let mut at = start;
    for item in inner.split(',') {
        let piece = Line { start: line.start, text: line.text.get(..at + item.len()).unwrap_or_default() };
        items.push(scalar(piece, at));
        at += item.len() + 1;
    }
    items
}

/// List items, `default:` or `value:` below a key that has no value of its own.
fn nested<'a>(below: &[Line<'a>], key_indent: usize) -> Vec<Scalar<'a>> {
    let mut found = Vec::new();
    for line in below.iter().take(LOOK_AHEAD) {
        let Some((indent, dashed)) = indent_of(line.text) else { continue };
        if indent <= key_indent || (line_indent(line.text) < key_indent) {
            break;
        }
        match entry(*line) {
            Some(entry) if matches!(entry.key, "default" | "value") && !dashed => found.push(entry.value),
            None if dashed => found.push(scalar(*line, indent)),
            _ if line_indent(line.text) == key_indent => break,
            _ => {}
        }
    }
    found
}

/// Image references of a line: `registry/hashicorp/terraform:1.9@sha256:…`.
fn images(line: Line<'_>, found: &mut Vec<Found>) {
    let code = line.text.split(" #").next().unwrap_or_default();
    for (name, tool) in IMAGES {
        for (at, _) in code.match_indices(name) {
            let before = code.get(..at).and_then(|head| head.chars().next_back());
            if before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
                continue;
            }
            let tag_at = at + name.len();
            let tag = tag(code.get(tag_at..).unwrap_or_default());
            if !tag.is_empty() {
                let text = tag.to_owned();
                let offset = line.start + tag_at;
                found.push(Found {
                    tool: *tool,
                    text,
                    offset,
                    origin: "docker",
                    name: String::new(),
                    below: None,
                });
            }
        }
    }
}

/// The tag at the beginning of a text: word characters and variable references.
fn tag(text: &str) -> &str {
    let mut open = 0_usize;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' if last == '$' || last == '{' => open += 1,
            '}' | ')' if open > 0 => open -= 1,
            c if open > 0 || c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '$') => {}
            _ => return text.get(..at).unwrap_or_default(),
        }
        last = c;
    }
    text
}

/// Dockerfile: `ARG`/`ENV` that name a version, and images.
pub(super) fn dockerfile(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut values = Values::new();
    for line in lines(bytes) {
        let trimmed = line.text.trim_start();
        if trimmed.starts_with('#') {
            continue;
        }
        images(line, &mut found);
        let Some((word, _)) = trimmed.split_once([' ', '\t']) else { continue };
        if !(word.eq_ignore_ascii_case("ARG") || word.eq_ignore_ascii_case("ENV")) {
            continue;
        }
        let at = line.text.len() - trimmed.len() + word.len();
        for (name, value) in docker_assignments(line, at) {
            values.entry(name).or_insert_with(|| vec![value]);
            if let Some(tool) = tool_of_name(name).filter(|_| !value.text.is_empty()) {
                let text = value.text.to_owned();
                found.push(Found {
                    tool,
                    text,
                    offset: value.offset,
                    origin: "docker",
                    name: name.to_owned(),
                    below: None,
                });
            }
        }
    }
    resolve(found, &values, false)
}

/// `A=1 B="2"`, or the old `ENV A 1`.
fn docker_assignments<'a>(line: Line<'a>, at: usize) -> Vec<(&'a str, Scalar<'a>)> {
    let mut found = Vec::new();
    let mut at = at;
    for word in line.text.get(at..).unwrap_or_default().split([' ', '\t']) {
        if let Some((name, value)) = word.split_once('=') {
            let piece =
                Line { start: line.start, text: line.text.get(..at + word.len()).unwrap_or_default() };
            found.push((name, scalar(piece, at + word.len() - value.len())));
        }
        at += word.len() + 1;
    }
    if found.is_empty() {
        let text = line.text.trim_end();
        let mut words = text.split_ascii_whitespace().skip(1);
        if let (Some(name), Some(value)) = (words.next(), words.next()) {
            found.push((
                name,
                scalar(Line { start: line.start, text }, text.rfind(value).unwrap_or(text.len())),
            ));
        }
    }
    found
}

/// `TF_VERSION := 1.9.8`, `export TERRAFORM_VERSION="1.9.8"`: Makefile, `.env`, `.envrc`; and images.
pub(super) fn assignments(bytes: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut values = Values::new();
    for line in lines(bytes) {
        let trimmed = line.text.trim_start();
        if trimmed.starts_with('#') {
            continue;
        }
        images(line, &mut found);
        let Some((name, _)) = line.text.split_once('=') else { continue };
        let at = name.len() + 1;
        let name = name.trim_end_matches([':', '?', '+', ' ', '\t']).trim_start();
        let name = name.strip_prefix("export ").unwrap_or(name).trim_start();
        if name.is_empty() || name.contains([' ', '\t']) {
            continue;
        }
        let value = scalar(line, at);
        values.entry(name).or_insert_with(|| vec![value]);
        if let Some(tool) = tool_of_name(name).filter(|_| !value.text.is_empty()) {
            let text = value.text.to_owned();
            found.push(Found {
                tool,
                text,
                offset: value.offset,
                origin: "environment",
                name: name.to_owned(),
                below: None,
            });
        }
    }
    resolve(found, &values, false)
}

/// Follows `${{ env.X }}`, `${{ matrix.X }}`, `$X`, `${X}`, `$(X)` inside the file. Where X is a pin by its own
/// name the reference is dropped, for the pin stands there already; where X is defined once it is worth that;
/// else the expression stays. An input may be given another value by a caller, so its default does not count.
fn resolve(found: Vec<Found>, values: &Values<'_>, github: bool) -> Vec<Found> {
    let references: Vec<Option<Reference>> = found.iter().map(|pin| reference(&pin.text)).collect();
    let own: BTreeSet<String> = found
        .iter()
        .zip(&references)
        .filter(|(_, reference)| reference.is_none())
        .map(|(pin, _)| pin.name.clone())
        .collect();
    let mut kept = Vec::new();
    for (pin, reference) in found.into_iter().zip(references) {
        let Some(Reference { name, of_input }) = reference else {
            kept.push(pin);
            continue;
        };
        if tool_of_name(&name) == Some(pin.tool) && own.contains(&name) {
            continue;
        }
        let given = values.get(name.as_str()).filter(|_| !of_input).map(Vec::as_slice).unwrap_or_default();
        if given.is_empty() || given.iter().any(|value| value.text.is_empty() || value.text.contains('$')) {
            kept.push(pin);
            continue;
        }
        for value in given {
            kept.push(Found { text: number(*value, github), offset: value.offset, ..pin.clone() });
        }
    }
    kept
}

/// A text that is nothing but a reference to a name.
struct Reference {
    name: String,
    /// Whether the value comes from outside the file (`inputs.`, `vars.`, `steps.`).
    of_input: bool,
}

fn reference(text: &str) -> Option<Reference> {
    let text = text.trim();
    let mut of_input = false;
    let inner = if let Some(inner) = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")) {
        let inner = inner.trim();
        of_input = !(inner.starts_with("env.") || inner.starts_with("matrix."));
        inner.rsplit('.').next()?
    } else if let Some(inner) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        inner.split(":-").next()?
    } else if let Some(inner) = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
        inner
    } else {
        text.strip_prefix('$')?
    };
    let is_name =
        !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    is_name.then(|| Reference { name: inner.to_owned(), of_input })
}

/// Atlantis' repository configuration: `projects` with `dir`, `terraform_version`, `terraform_distribution`.
pub(super) fn atlantis(bytes: &[u8]) -> Vec<Found> {
    #[derive(Default)]
    struct Project {
        dir: Option<String>,
        version: Option<(String, usize)>,
        tofu: bool,
    }
    let mut projects = vec![Project::default()];
    // Column of the keys of the project we are in, and whether we are below `projects:`.
    let mut column: Option<usize> = None;
    let mut inside = false;
    for line in lines(bytes) {
        let Some((indent, dashed)) = indent_of(line.text) else { continue };
        let Some(entry) = entry(line) else { continue };
        if indent == 0 {
            inside = entry.key == "projects";
            column = None;
        }
        if dashed && inside && column.is_none_or(|column| indent <= column) {
            projects.push(Project::default());
            column = Some(indent);
        }
        // Keys of nested lists and maps (`autoplan:`, workflow steps) are not the project's own.
        if indent != column.unwrap_or(0) {
            continue;
        }
        let Some(project) = projects.last_mut().filter(|_| inside || indent == 0) else { continue };
        match entry.key {
            "dir" => project.dir = Some(entry.value.text.to_owned()),
            "terraform_version" if !entry.value.text.is_empty() => {
                project.version = Some((entry.value.text.to_owned(), entry.value.offset));
            }
            "terraform_distribution" => project.tofu = entry.value.text == "opentofu",
            _ => {}
        }
    }
    let pin = |project: Project| {
        let (text, offset) = project.version?;
        let tool = if project.tofu { Tool::OpenTofu } else { Tool::Terraform };
        Some(Found { tool, text, offset, origin: "atlantis", name: String::new(), below: project.dir })
    };
    projects.into_iter().filter_map(pin).collect()
}
