//! What the tests of changes share, and what holds of any text. Exact bytes are in the files below.

use super::*;
use crate::repo::problem::ProblemKind;
use crate::repo::syntax::hcl;
use crate::repo::text::{Place, Position};
use proptest::prelude::*;

mod hcl_bytes;
mod other_bytes;

fn source(kind: SourceKind, syntax: Syntax, span: Span, body: Span, settings: Vec<Setting>) -> Source {
    Source {
        kind,
        syntax,
        place: Place { file: "f".into(), line: 1, column: 1 },
        span,
        body,
        settings,
        editability: crate::repo::source::Editability::Safe,
        label: None,
        git_ignored: false,
    }
}

/// The backend block of a module file.
fn backend(text: &str) -> Source {
    let (facts, mut problems) = hcl::read_module_file("main.tf", Text::new(text.as_bytes()), false);
    // Generated blocks may say a thing twice; edits must be right there, too.
    problems.retain(|problem| problem.kind != ProblemKind::InvalidValue);
    assert_eq!(problems, [], "{text}");
    facts.backends.into_iter().next().unwrap().source
}

fn flat(text: &str) -> Source {
    hcl::read_flat("backend.hcl", Text::new(text.as_bytes())).0.unwrap()
}

/// The object that follows `before`, read as an HCL object (whose items JSON members are, too).
fn object(text: &str, before: &str, syntax: Syntax) -> Source {
    let start = text.find(before).unwrap() + before.len();
    let mut depth = 0;
    let length = text[start..].find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    let span = Span::new(start, start + length.unwrap() + 1);
    let settings = hcl::object_settings(Text::new(text.as_bytes()), span).unwrap();
    source(SourceKind::TerragruntRemoteState, syntax, span, Span::new(span.start + 1, span.end - 1), settings)
}

fn terragrunt(text: &str) -> Source {
    object(text, "config = ", Syntax::HclObject)
}

fn json(text: &str) -> Source {
    let before = if text.contains("\"s3\": ") { "\"s3\": " } else { "\"s3\":" };
    object(text, before, Syntax::Json)
}

/// Lines `name: value` from the first that is deeper than its parent.
fn yaml(text: &str) -> Source {
    let mut settings = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some((name, value)) = line.split_once(": ") {
            let start = at + name.len() - name.trim_start_matches([' ', '-']).len();
            let value_start = at + name.len() + 2;
            let value_text = value.split(" #").next().unwrap().trim_end();
            let span = Span::new(start, value_start + value_text.len());
            settings.push(Setting {
                name: name.trim_start_matches([' ', '-']).to_owned(),
                at: Position::default(),
                span,
                name_span: Span::new(start, at + name.len()),
                value_span: Span::new(value_start, span.end),
                value: Value::Text(value_text.to_owned()),
                via: Vec::new(),
            });
        }
        at += line.len();
    }
    let all = Span::new(0, text.len());
    source(SourceKind::Atmos, Syntax::Yaml, all, all, settings)
}

/// The word that holds `name`; `word` is its text.
fn flag(text: &str, word: &str, name: &str) -> Source {
    let start = text.find(word).unwrap();
    let span = Span::new(start, start + word.len());
    let name_start = start + word.find(name).unwrap();
    let value_start = name_start + name.len() + 1;
    let closing = if word.ends_with(['"', '\'']) { 1 } else { 0 };
    let value_span = Span::new(value_start, span.end - closing);
    let setting = Setting {
        name: name.to_owned(),
        at: Position::default(),
        span,
        name_span: Span::new(name_start, name_start + name.len()),
        value_span,
        value: Value::Text(text[value_span.start..value_span.end].to_owned()),
        via: Vec::new(),
    };
    source(SourceKind::BackendConfigFlag, Syntax::Flag, span, span, vec![setting])
}

fn try_change(text: &str, source: &Source, changes: &[Change]) -> Result<String, Refusal> {
    let edits = plan_changes(Text::new(text.as_bytes()), source, changes)?;
    Ok(String::from_utf8(edits.apply(text.as_bytes())).unwrap())
}

fn dual() -> Vec<Change> {
    vec![Change::set_lockfile(Some("dynamodb_table"))]
}

fn rollback() -> Vec<Change> {
    vec![Change::remove("use_lockfile")]
}

fn last() -> Vec<Change> {
    ["dynamodb_table", "dynamodb_endpoint", "endpoints.dynamodb"].map(Change::remove).to_vec()
}

fn both() -> Vec<Change> {
    dual().into_iter().chain(last()).collect()
}

/// dual, then what must hold of every edit: idempotent, rolled back to the same bytes, and final in two steps equal
/// to final in one. Returns the texts after dual and after final.
fn all_ways(text: &str, read: fn(&str) -> Source) -> (String, String) {
    let changed = |text: &str, changes: &[Change]| try_change(text, &read(text), changes).unwrap();
    let in_dual = changed(text, &dual());
    assert_eq!(changed(&in_dual, &dual()), in_dual, "dual again");
    assert_eq!(changed(&in_dual, &rollback()), text, "rolled back");
    let at_last = changed(&in_dual, &last());
    assert_eq!(changed(text, &both()), at_last, "in one step");
    (in_dual, at_last)
}

#[track_caller]
fn expect(text: &str, read: fn(&str) -> Source, in_dual: &str, at_last: &str) {
    let (was_dual, was_last) = all_ways(text, read);
    assert_eq!(was_dual, in_dual);
    assert_eq!(was_last, at_last);
}

const HEAD: &str = "terraform {\n  backend \"s3\" {\n";

/// A backend block as people write it, aligned or not.
fn any_block() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "(bucket|key|region|profile|kms_key_id)( |  |    )?= ?(\"[a-zé#=/]{0,8}\"|true|12)( # [a-z]{0,6}| // x)?",
        1 => "# (the dynamodb table|State locking|other|Also dynamodb)",
        1 => Just(String::new()),
        1 => Just("assume_role = {\n      role_arn = \"x\" # y\n    }".to_owned()),
        1 => Just("acl = <<E\n dynamodb_table = 1 # \"\nE".to_owned()),
    ];
    let lines = proptest::collection::vec(line, 0..7);
    let comment = prop_oneof![Just(String::new()), Just(" # table".to_owned())];
    (lines.clone(), lines, comment, any::<bool>()).prop_map(|(before, after, comment, crlf)| {
        let mut text = "terraform {\n  backend \"s3\" { # c\n".to_owned();
        let table = format!("dynamodb_table = \"t\"{comment}");
        for line in before.iter().chain([&table]).chain(&after) {
            if line.is_empty() {
                text.push('\n');
            } else {
                text.push_str(&format!("    {line}\n"));
            }
        }
        text.push_str("  }\n}\nlocals {\n  a = 1 # x\n}\n");
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// The text without the white space that only makes columns.
fn squeezed(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// Spans that have nothing to do with the bytes, as after a file changed.
fn any_source() -> impl Strategy<Value = Source> {
    let span = (0..60usize, 0..20usize).prop_map(|(start, length)| Span::new(start, start + length));
    let name = prop_oneof![
        Just("dynamodb_table"),
        Just("use_lockfile"),
        Just("endpoints"),
        Just("endpoints.dynamodb"),
        Just("key"),
    ];
    let setting =
        (name, span.clone(), span.clone(), span.clone()).prop_map(|(name, all, name_span, value_span)| {
            let value = if name == "endpoints" { Value::Object } else { Value::Text("x".into()) };
            Setting {
                name: name.into(),
                at: Position::default(),
                span: all,
                name_span,
                value_span,
                value,
                via: Vec::new(),
            }
        });
    let syntax = prop_oneof![
        Just(Syntax::HclBody),
        Just(Syntax::HclObject),
        Just(Syntax::Json),
        Just(Syntax::Yaml),
        Just(Syntax::Flag),
    ];
    (syntax, span.clone(), span, proptest::collection::vec(setting, 0..4), any::<bool>()).prop_map(
        |(syntax, all, body, settings, whole)| {
            let kind = if whole { SourceKind::Backend } else { SourceKind::Heredoc };
            source(kind, syntax, all, body, settings)
        },
    )
}

proptest! {
    #[test]
    fn spans_that_do_not_fit_never_panic(text in "[a={}\"#,:\\\\ \n\r]{0,60}", read in any_source()) {
        let text = Text::new(text.as_bytes());
        for changes in [dual(), last(), both(), rollback()] {
            if let Ok(edits) = plan_changes(text, &read, &changes) {
                prop_assert!(edits.iter().all(|edit| edit.span.end <= text.bytes().len()));
            }
        }
    }

    #[test]
    fn edits_are_the_same_in_one_run_or_two_and_stay_inside(text in any_block()) {
        let read = backend(&text);
        let edits = plan_changes(Text::new(text.as_bytes()), &read, &dual()).unwrap();
        let in_dual = String::from_utf8(edits.apply(text.as_bytes())).unwrap();
        prop_assert!(plan_changes(Text::new(in_dual.as_bytes()), &backend(&in_dual), &dual()).unwrap().is_empty());
        // Nothing but a line came, and nothing but columns moved.
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let (head, tail) = in_dual.split_once("    use_lockfile").unwrap();
        let tail = tail.split_once(eol).unwrap().1;
        prop_assert_eq!(squeezed(&format!("{head}{tail}")), squeezed(&text));
        let outside = edits.iter().filter(|edit| !read.span.contains(edit.span));
        for edit in outside {
            prop_assert!(edit.span.of(text.as_bytes()).iter().all(|byte| *byte == b' '));
        }
        let at_last = try_change(&in_dual, &backend(&in_dual), &last()).unwrap();
        prop_assert_eq!(&try_change(&text, &backend(&text), &both()).unwrap(), &at_last);
        let after = backend(&at_last);
        prop_assert!(after.setting("dynamodb_table").is_none());
        let kept = |source: &Source| source.settings.iter()
            .filter(|setting| setting.name != "dynamodb_table" && setting.name != "use_lockfile")
            .map(|setting| (setting.name.clone(), setting.value.clone())).collect::<Vec<_>>();
        prop_assert_eq!(kept(&after), kept(&read));
    }
}
