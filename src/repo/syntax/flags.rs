//! Words of one command line to a call of terraform, tofu or terragrunt: which flags count, and what they say.
//! No shell syntax is read here.

use crate::repo::facts::Call;
use crate::repo::needles::Needles;
use crate::repo::setting::{Setting, Value, without_secrets};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Position, Span};

use super::dirs::join_dir;
use super::locate::Locator;
use super::shell::{self, Word};

/// Where the words stand: it decides whether a flag may be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    /// A command line: words are split at blanks.
    Shell,
    /// A list of quoted words (JSON, Dockerfile, HCL, YAML flow): one element a word.
    List,
    /// One word a YAML list item.
    YamlItem,
    /// The value of a variable, in one word: another flag behind it would be another word.
    Assigned,
    /// Program code.
    Code,
}

/// Subcommands by which a call is told from other uses of the word.
const SUBCOMMANDS: &[&str] = &[
    "init",
    "plan",
    "apply",
    "destroy",
    "refresh",
    "import",
    "state",
    "output",
    "validate",
    "fmt",
    "workspace",
    "force-unlock",
    "taint",
    "untaint",
    "show",
    "console",
    "providers",
    "graph",
    "get",
    "version",
    "test",
    "login",
    "env",
    "validate-inputs",
];

/// Commands that only name the tool: `apt-get install terraform`, `cp terraform output`.
const NOT_RUNNING: &[&str] = &[
    "apt", "apt-get", "apk", "brew", "cat", "cd", "chmod", "choco", "cp", "curl", "dnf", "find", "git",
    "grep", "install", "ln", "ls", "mkdir", "mv", "npm", "pip", "rg", "rm", "sed", "tar", "test", "unzip",
    "wget", "which", "yum", "zip", "[", "[[", "alias", "tfenv", "asdf", "mise",
];

/// What is known about the place of a command line.
pub(crate) struct Where<'c> {
    /// What surrounds the words.
    pub around: Around,
    /// The working directory so far.
    pub dir: Option<&'c str>,
}

/// Whether a flag that matters could be in this text.
pub(crate) fn may_matter(text: &[u8]) -> bool {
    static FLAGS: Needles =
        Needles::new(&[b"terraform", b"tofu", b"terragrunt", b"backend-config", b"-lock=", b"force-unlock"]);
    FLAGS.any_in(text)
}

/// Spans of placeholders in a text, outermost only: `${{ x }}`, `{{ x }}`, `${x}`, `$(x)`, `#{x}`, `$x`, and CircleCI's
/// `<< parameters.x >>`.
pub(crate) fn placeholders(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    // Once no closer was found, none will be further on.
    let mut closes = [true; 4];
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = if rest.starts_with(b"${{") || rest.starts_with(b"{{") {
            closer(bytes, at + 2, b"}}", &mut closes, 0)
        } else if rest.starts_with(b"${") || rest.starts_with(b"#{") || rest.starts_with(b"%{") {
            closer(bytes, at + 2, b"}", &mut closes, 1)
        } else if rest.starts_with(b"$(") {
            closer(bytes, at + 2, b")", &mut closes, 2)
        } else if shell::is_parameter(rest) {
            closer(bytes, at + 2, b">>", &mut closes, 3)
        } else if *byte == b'$' {
            let name = rest.iter().skip(1).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            let name = if name == 0 && matches!(rest.get(1), Some(b'@' | b'*' | b'?' | b'#' | b'!' | b'-')) {
                1
            } else {
                name
            };
            (name > 0).then_some(at + 1 + name)
        } else if rest.starts_with(b"%s") || rest.starts_with(b"%d") {
            Some(at + 2)
        } else {
            None
        };
        match end {
            Some(end) => {
                found.push((at, end));
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

fn closer(bytes: &[u8], from: usize, mark: &[u8], closes: &mut [bool; 4], which: usize) -> Option<usize> {
    let open = closes.get_mut(which)?;
    if !*open {
        return None;
    }
    match memchr::memmem::find(bytes.get(from..)?, mark) {
        Some(at) => Some(from + at + mark.len()),
        None => {
            *open = false;
            None
        }
    }
}

/// Arguments that the S3 backend does not have, and that a call for another backend must set.
/// Source: the schemas of `azurerm`, `http` and `pg` in Terraform 1.11.
const OTHER_BACKENDS: &[&str] = &[
    "resource_group_name",
    "storage_account_name",
    "container_name",
    "address",
    "lock_address",
    "unlock_address",
    "conn_str",
];

/// Takes away what a call gives to another backend: nothing of it is for s3, its `key` least of all.
pub(crate) fn drop_other_backends(call: &mut Call) {
    let other =
        |flag: &Source| flag.settings.iter().any(|setting| OTHER_BACKENDS.contains(&setting.name.as_str()));
    if call.config_flags.iter().any(other) {
        call.config_flags.clear();
        call.config_files.clear();
    }
}

/// Reads one command. `None` when it is no call and has no flag that matters.
pub(crate) fn read(words: &[Word], place: &Where<'_>, locator: &mut Locator<'_>) -> Option<Call> {
    let tool = find_tool(words, place.around);
    let first_flag = words.iter().position(|word| is_relevant_flag(&word.text, place.around));
    if tool.is_none() && first_flag.is_none() {
        return None;
    }
    let (at, subcommand) = match &tool {
        Some((at, subcommand)) => (words.get(*at)?.span.start, subcommand.clone()),
        None => {
            let flag = first_flag?;
            let subcommand = words
                .iter()
                .take(flag)
                .rev()
                .find(|word| SUBCOMMANDS.contains(&word.text.as_str()))
                .map(|word| word.text.clone())
                .unwrap_or_default();
            (words.get(flag)?.span.start, subcommand)
        }
    };
    let mut call = Call {
        place: locator.place(at),
        subcommand,
        dir: place.dir.map(str::to_owned),
        config_files: Vec::new(),
        config_flags: Vec::new(),
        var_files: Vec::new(),
        lock_false: None,
        lock_unknown: None,
        reconfigure: false,
        migrate_state: false,
    };
    let mut without_backend = false;
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        let text = word.text.as_str();
        let next = words.get(index);
        if let Some(name) = flag_name(text) {
            let value = text.split_once('=').map(|(_, value)| value);
            match (name, value) {
                ("backend-config", Some(_)) => {
                    let from = text.find('=').map_or(text.len(), |eq| eq + 1);
                    backend_config(&mut call, word, from, word.span, place, locator);
                }
                ("backend-config", None) => {
                    if let Some(value) = next.filter(|value| !value.text.starts_with('-')) {
                        let span = Span::new(word.span.start, value.span.end);
                        backend_config(&mut call, value, 0, span, place, locator);
                        index += 1;
                    }
                }
                ("var-file", Some(file)) => call.var_files.push(file.to_owned()),
                ("var-file", None) => call.var_files.extend(next.map(|value| value.text.clone())),
                ("lock", Some(value)) if is_false(value) && !is_explained(word, next) => {
                    call.lock_false.get_or_insert_with(|| locator.place(word.span.start));
                }
                ("lock", Some(value)) if is_filled_in(value, place.around) && !is_explained(word, next) => {
                    let at = word.span.start;
                    call.lock_unknown.get_or_insert_with(|| (locator.place(at), value.to_owned()));
                }
                ("reconfigure", value) => call.reconfigure = !value.is_some_and(is_false),
                ("migrate-state" | "force-copy", value) => call.migrate_state |= !value.is_some_and(is_false),
                ("backend", Some(value)) => without_backend = is_false(value),
                ("chdir" | "terragrunt-working-dir" | "working-dir", Some(dir)) if !dir.is_empty() => {
                    call.dir = Some(join_dir(place.dir, dir));
                }
                ("terragrunt-working-dir" | "working-dir", None) => {
                    if let Some(dir) = next {
                        call.dir = Some(join_dir(place.dir, &dir.text));
                    }
                }
                _ => {}
            }
        } else if text == "-C" && words.iter().take(index).any(|word| base_name(&word.text) == "make") {
            call.dir = next.map(|dir| join_dir(place.dir, &dir.text));
        }
    }
    // `init -backend=false` reads no backend: nothing of it is a habit, and nothing is configured by it.
    let says_nothing = call.config_files.is_empty() && call.config_flags.is_empty();
    if says_nothing && without_backend && call.subcommand == "init" {
        return None;
    }
    if tool.is_none() && says_nothing && call.lock_false.is_none() && call.lock_unknown.is_none() {
        return None;
    }
    Some(call)
}

/// Whether a flag stands in a help text: its explanation follows in a column of its own.
fn is_explained(flag: &Word, next: Option<&Word>) -> bool {
    let says = |next: &Word| {
        next.span.start >= flag.span.end + 2 && next.text.starts_with(|c: char| c.is_ascii_uppercase())
    };
    flag.quotes == 0 && next.is_some_and(says)
}

/// The name of a flag, its one or two dashes and its value taken off.
fn flag_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    Some(name.split_once('=').map_or(name, |(name, _)| name))
}

fn is_relevant_flag(text: &str, around: Around) -> bool {
    match flag_name(text) {
        Some("backend-config") => true,
        Some("lock") => {
            text.split_once('=').is_some_and(|(_, value)| is_false(value) || is_filled_in(value, around))
        }
        _ => false,
    }
}

/// The spellings of false that the flag package of both programs takes.
pub(crate) fn is_false(value: &str) -> bool {
    matches!(value, "false" | "False" | "FALSE" | "f" | "F" | "0")
}

/// The spellings of true that it takes.
pub(super) fn is_true(value: &str) -> bool {
    matches!(value, "true" | "True" | "TRUE" | "t" | "T" | "1")
}

/// Whether a truth value is put in when the command runs: a variable, or a verb of a format string.
pub(super) fn is_filled_in(value: &str, around: Around) -> bool {
    is_dynamic(value, around) || value.starts_with('%')
}

fn base_name(text: &str) -> &str {
    text.rsplit_once(['/', '\\']).map_or(text, |(_, name)| name)
}

/// Whether a command word runs one of the programs, or a wrapper or variable named after one.
fn is_tool(text: &str) -> bool {
    let text = text.trim_start_matches(['@', '-', '+']);
    if text.starts_with('$') || text.starts_with("{{") {
        let lower = text.to_ascii_lowercase();
        let bare = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        return ["terraform", "tofu", "terragrunt"].iter().any(|name| lower.contains(name))
            && !lower.contains('/')
            || matches!(bare, "tf" | "tg");
    }
    if text.contains([' ', '=', '$']) {
        return false;
    }
    let name = base_name(text);
    let name = name.split_once(['@', ':']).map_or(name, |(name, _)| name);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    if matches!(name, "tf" | "tg" | "gitlab-terraform" | "gitlab-tofu" | "opentofu" | "docker-terragrunt") {
        return true;
    }
    ["terraform", "tofu", "terragrunt"].iter().any(|tool| {
        name.strip_prefix(tool).is_some_and(|rest| {
            rest.ends_with(".sh")
                || rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | 'v'))
        })
    })
}

/// Index of the tool's word, and the subcommand.
fn find_tool(words: &[Word], around: Around) -> Option<(usize, String)> {
    let first = words.first().map(|word| base_name(word.text.trim_start_matches(['@', '-', '+'])))?;
    if NOT_RUNNING.contains(&first) {
        return None;
    }
    for (index, word) in words.iter().enumerate() {
        if !is_tool(&word.text) {
            continue;
        }
        let mut after = words.iter().skip(index + 1);
        let mut seen_flag = false;
        while let Some(next) = after.next() {
            let text = next.text.as_str();
            if let Some(name) = flag_name(text) {
                if matches!(name, "terragrunt-working-dir" | "working-dir" | "terragrunt-config" | "config")
                    && !text.contains('=')
                {
                    after.next();
                }
                seen_flag = true;
                continue;
            }
            if SUBCOMMANDS.contains(&text) {
                return Some((index, text.to_owned()));
            }
            if matches!(text, "run-all" | "run" | "stack" | "--" | "exec") {
                continue;
            }
            if text.starts_with('$') || text.starts_with("{{") || (seen_flag && text.contains("${")) {
                // The subcommand is a variable: a call only when flags show it.
                if words.iter().skip(index).any(|word| is_relevant_flag(&word.text, around)) {
                    return Some((index, String::new()));
                }
            }
            break;
        }
    }
    None
}

/// One `-backend-config` value: `key=value`, or a file. As in Terraform and OpenTofu, any `=` makes it the former.
fn backend_config(
    call: &mut Call,
    word: &Word,
    from: usize,
    span: Span,
    place: &Where<'_>,
    locator: &mut Locator<'_>,
) {
    let Some(mut text) = word.text.get(from..) else { return };
    let mut from = from;
    // Quotes inside the text are for a shell that sees it later (`%(-backend-config="key=k")`).
    let inner = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    if let Some(inner) = inner {
        from += 1;
        text = inner;
    }
    let holes = placeholders(text);
    let outside = |at: usize| !holes.iter().any(|(start, end)| (*start..*end).contains(&at));
    let Some(eq) = text.match_indices('=').map(|(at, _)| at).find(|at| outside(*at)) else {
        if !text.trim().is_empty() {
            call.config_files.push((text.to_owned(), span));
        }
        return;
    };
    let (name, value) = (text.get(..eq).unwrap_or_default(), text.get(eq + 1..).unwrap_or_default());
    let origin = |at: usize| word.origin.get(from + at).copied().unwrap_or(word.span.end);
    let name_start = origin(name.len() - name.trim_start().len());
    let name_end = origin(name.trim_end().len().saturating_sub(1)) + usize::from(!name.is_empty());
    let value_start = origin(eq) + 1;
    let value_end = match word.last_quote {
        _ if inner.is_some() => origin(text.len().saturating_sub(1)) + usize::from(!value.is_empty()),
        Some(open) if open < value_start => word.span.end.saturating_sub(word.quote_len),
        _ => word.span.end,
    };
    let unclear = is_dynamic(value, place.around);
    let known = if unclear {
        unknown(value, "only a run of this command line can tell it")
    } else if value.trim_start().starts_with(['{', '[']) {
        // Kept out of the output: such an object can hold an external id or a token.
        unknown("{…}", "it is an object given on the command line")
    } else {
        Value::Text(value.to_owned())
    };
    let name = name.trim().to_owned();
    let at = locator.place(span.start);
    let setting = Setting {
        at: Position { line: at.line, column: at.column },
        span,
        name_span: Span::new(name_start, name_end),
        value_span: Span::new(value_start, value_end),
        value: without_secrets(&name, known),
        via: Vec::new(),
        name,
    };
    let label = match place.around {
        Around::List => Some("argument list".to_owned()),
        _ => None,
    };
    let editability = editability(word, &setting, place.around);
    call.config_flags.push(Source {
        kind: SourceKind::BackendConfigFlag,
        syntax: Syntax::Flag,
        place: at,
        span,
        body: span,
        settings: vec![setting],
        editability,
        label,
        git_ignored: false,
    });
}

fn unknown(expression: &str, reason: &str) -> Value {
    let one_line = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    Value::Unknown { expression: one_line, reason: reason.to_owned() }
}

/// Whether a value holds anything that something else fills in.
fn is_dynamic(value: &str, around: Around) -> bool {
    value.contains(['$', '`'])
        || value.contains("{{")
        || value.contains("<<")
        || value.contains("#{")
        || value.contains("%s")
        || value.contains("%{")
        || (value.len() > 2 && value.starts_with('%') && value.ends_with('%'))
        || (around == Around::Code && value.contains('{'))
}

fn editability(word: &Word, setting: &Setting, place: Around) -> Editability {
    let reason = if place == Around::Code {
        "the flag stands in program code"
    } else if place == Around::YamlItem {
        "each argument is a YAML item of its own"
    } else if place == Around::Assigned {
        "the flag is given to a variable without quotes"
    } else if place == Around::List && word.quotes == 0 {
        "the flag stands without quotes in a YAML list"
    } else if word.escaped
        || word.quotes > 1
        || word.quote_len > 1
        || (word.quotes == 1 && word.last_quote.is_none())
    {
        "the flag's word is put together from quoted or escaped pieces"
    } else if !setting.name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
        "the setting's name is put together when the command runs"
    } else if setting.value.is_unknown() && word.quotes == 0 {
        "an unquoted variable can become several words, or none"
    } else {
        return Editability::Safe;
    };
    Editability::ReportOnly(reason.to_owned())
}
