//! One file's bytes to its facts: picks the readers that the file's class asks for. Pure: no file is opened here.

use super::class::FileClass;
use super::facts::{FileFacts, InlineIgnore, name_of};
use super::needles::Needles;
use super::problem::{Problem, ProblemKind};
use super::root_module::is_override_file;
use super::source::{Editability, Source, SourceKind};
use super::syntax::{
    atmos, aws, backend_arguments, calls, cdktf, hcl, heredoc, json, language, pins, template, terragrunt,
    terramate,
};
use super::text::{Place, Span, Text, is_wide};

/// The header of a file that git-crypt holds locked.
const GITCRYPT: &[u8] = b"\0GITCRYPT\0";

/// Words that make an unreadable flat or YAML file worth a problem.
static LOCK_WORDS: Needles = Needles::new(&[b"dynamodb_table", b"use_lockfile", b"lock_table"]);

/// Words without which a file holds no table, and no grant on one.
static AWS_WORDS: Needles = Needles::new(&[b"dynamodb", b"DynamoDB", b"LockID", b"tfstate"]);

/// Reads one file. `None` when it holds nothing that matters.
pub fn read_file(path: &str, class: FileClass, bytes: &[u8]) -> Option<FileFacts> {
    if bytes.starts_with(GITCRYPT) {
        return matters_when_locked(class).then(|| locked(path));
    }
    if is_wide(bytes) {
        let problems = vec![wide(path)];
        return could_run_or_set(path, class).then(|| FileFacts { problems, ..FileFacts::default() });
    }
    let text = Text::new(bytes);
    let name = name_of(path);
    let mut facts = FileFacts::default();
    match class {
        FileClass::Module => {
            let (module, problems) = hcl::read_module_file(path, text, is_override_file(name));
            facts.module = Some(Box::new(module));
            facts.problems = problems;
            // `local-exec` and buildspecs in heredocs run Terraform, too.
            facts.calls = calls::read_calls(path, text);
            read_aws(path, text, &mut facts);
        }
        FileClass::ModuleJson => {
            let (module, problems) = json::read_module_file(path, text, is_override_file(name));
            facts.module = Some(Box::new(module));
            facts.problems = problems;
            facts.calls = calls::read_calls(path, text);
            read_aws(path, text, &mut facts);
        }
        FileClass::Hcl if terragrunt::is_terragrunt(path) => {
            let (read, problems) = terragrunt::read_terragrunt(path, text);
            // Kept even when it says nothing: another file may include it, and must find it read.
            let is_config_file = read.is_empty();
            facts.terragrunt = Some(Box::new(read));
            facts.problems = if name.starts_with("terragrunt") || LOCK_WORDS.any_in(bytes) {
                problems
            } else {
                Vec::new()
            };
            if is_config_file {
                read_flat(path, text, &mut facts);
            }
        }
        FileClass::Hcl | FileClass::Flat => read_flat(path, text, &mut facts),
        FileClass::Terramate => {
            let (sources, problems) = terramate::read_terramate(path, text);
            facts.sources = sources;
            facts.problems = problems;
        }
        FileClass::Template => {
            let (sources, problems) = template::read_template(path, text);
            read_script(path, text, &mut facts);
            facts.sources.extend(sources);
            facts.problems.extend(problems);
        }
        FileClass::Json => {
            let (source, _) = json::read_flat_json(path, text);
            facts
                .sources
                .extend(source.filter(|source| backend_arguments::has_backend_shape(&source.settings)));
            // The scripts of a `package.json`, an editor's tasks.
            facts.calls = calls::read_calls(path, text);
            read_aws(path, text, &mut facts);
            facts.pins = pins::read_pins(path, text);
        }
        FileClass::Yaml => {
            let (sources, problems) = atmos::read_atmos(path, text);
            facts.sources = sources;
            facts.problems = problems;
            read_script(path, text, &mut facts);
            read_aws(path, text, &mut facts);
        }
        FileClass::Pin => {
            facts.pins = pins::read_pins(path, text);
            facts.calls = calls::read_calls(path, text);
        }
        FileClass::Other => {
            facts.sources = cdktf::read_cdktf_source(path, text);
            read_script(path, text, &mut facts);
        }
        FileClass::Skip => return None,
    }
    facts.ignores = inline_ignores(path, text);
    for problem in &mut facts.problems {
        problem.show_line(text);
    }
    (!facts.is_empty()).then_some(facts)
}

fn matters_when_locked(class: FileClass) -> bool {
    class.is_configuration() || class == FileClass::Flat
}

/// Whether a file is one that readers look into, whatever it says.
fn could_run_or_set(path: &str, class: FileClass) -> bool {
    match class {
        FileClass::Skip => false,
        FileClass::Other => language::is_code_file(path),
        _ => true,
    }
}

/// A file in an encoding that is not read. Terraform does not read it either.
pub(super) fn wide(path: &str) -> Problem {
    Problem {
        kind: ProblemKind::Unreadable,
        place: Place { file: path.to_owned(), line: 1, column: 1 },
        message:
            "is UTF-16 or UTF-32 text, which is not read, so what it says is not known; store it as UTF-8 \
                  (Windows PowerShell's `>` and `Out-File` write UTF-16)"
                .to_owned(),
        excerpt: None,
    }
}

fn locked(path: &str) -> FileFacts {
    let problem = Problem {
        kind: ProblemKind::Encrypted,
        place: Place { file: path.to_owned(), line: 1, column: 1 },
        message: "the file is locked by git-crypt; unlock it and scan again, what it sets is not known"
            .to_owned(),
        excerpt: None,
    };
    FileFacts { problems: vec![problem], ..FileFacts::default() }
}

/// A file that could be given to `-backend-config`. One that can't be read is a problem only when its name or a
/// lock word in it says that it is one; any other `.conf` is somebody else's.
fn read_flat(path: &str, text: Text<'_>, facts: &mut FileFacts) {
    let (source, problems) = hcl::read_flat(path, text);
    if facts.terragrunt.is_none() && facts.sources.is_empty() {
        // A whole configuration under the name of a backend-config file: some script copies it into place.
        let whole = Span::new(0, text.bytes().len());
        let (blocks, _) = hcl::backends_in_region(path, text, whole, SourceKind::Template);
        facts.sources.extend(blocks.into_iter().map(|block| Source {
            editability: Editability::ReportOnly(
                "Terraform does not read a backend block from a file of this name".to_owned(),
            ),
            ..block
        }));
    }
    if let Some(source) = source.filter(|source| backend_arguments::has_backend_shape(&source.settings)) {
        facts.sources.push(source);
    }
    let by_name = path.ends_with(".tfbackend") || path.ends_with(".backend");
    if facts.terragrunt.is_none() && (by_name || LOCK_WORDS.any_in(text.bytes())) {
        facts.problems.extend(problems);
    }
}

fn read_script(path: &str, text: Text<'_>, facts: &mut FileFacts) {
    facts.calls = calls::read_calls(path, text);
    let (sources, problems) = heredoc::read_heredocs(path, text);
    facts.sources.extend(sources);
    facts.problems.extend(problems);
    facts.pins = pins::read_pins(path, text);
}

fn read_aws(path: &str, text: Text<'_>, facts: &mut FileFacts) {
    // Reading every resource of a module costs more than the rest: only files that name one of these have any.
    if !AWS_WORDS.any_in(text.bytes()) {
        return;
    }
    facts.tables = aws::read_tables(path, text);
    (facts.grants, facts.table_grants) = aws::read_grants(path, text);
}

/// `lockshift: ignore[rule-id] reason` in a comment of any syntax that has `#`, `//`, `/*` or `;` comments.
fn inline_ignores(path: &str, text: Text<'_>) -> Vec<InlineIgnore> {
    const MARK: &[u8] = b"lockshift: ignore[";
    static MARKS: Needles = Needles::new(&[MARK]);
    /// What one line says at most; a longer list is no comment that anyone wrote.
    const MAX_PER_LINE: usize = 32;
    let mut found = Vec::new();
    let mut line = Span::new(0, 0);
    let mut in_this_line = 0;
    for at in MARKS.all_of_one(text.bytes()) {
        if at >= line.end {
            line = text.line_span(at);
            in_this_line = 0;
        }
        in_this_line += 1;
        if in_this_line > MAX_PER_LINE {
            continue;
        }
        let before = text.bytes().get(line.start..at).unwrap_or_default();
        let in_comment =
            ["#", "//", "/*", ";"].iter().any(|mark| memchr::memmem::find(before, mark.as_bytes()).is_some());
        let rest = text.bytes().get(at + MARK.len()..line.end).unwrap_or_default();
        let rest = String::from_utf8_lossy(rest);
        let (true, Some((rule, reason))) = (in_comment, rest.split_once(']')) else { continue };
        found.push(InlineIgnore {
            place: text.place(path, at),
            rule: rule.trim().to_owned(),
            reason: reason.trim().trim_end_matches("*/").trim().to_owned(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Option<FileFacts> {
        let name = path.rsplit('/').next().unwrap();
        read_file(path, super::super::class::class_of(path, name), text.as_bytes())
    }

    #[test]
    fn inline_ignores_need_a_comment() {
        let facts = read(
            "main.tf",
            "terraform {\n  backend \"s3\" { # lockshift: ignore[no-locking] sandbox, one user\n  }\n}\nlocals {\n  a = \"lockshift: ignore[x] y\"\n}\n",
        )
        .unwrap();
        assert_eq!(facts.ignores.len(), 1);
        assert_eq!(facts.ignores[0].rule, "no-locking");
        assert_eq!(facts.ignores[0].reason, "sandbox, one user");
        assert_eq!(facts.ignores[0].place.line, 2);
    }

    #[test]
    fn locked_files_are_a_problem_only_where_they_could_hold_settings() {
        let facts = read("main.tf", "\0GITCRYPT\0abc").unwrap();
        assert_eq!(facts.problems[0].kind, ProblemKind::Encrypted);
        assert_eq!(read("photo.raw", "\0GITCRYPT\0abc"), None);
    }

    #[test]
    fn wide_text_is_a_problem_where_a_reader_would_look() {
        let kind = |path: &str, bytes: &[u8]| {
            let name = path.rsplit('/').next().unwrap();
            let facts = read_file(path, super::super::class::class_of(path, name), bytes)?;
            Some(facts.problems.iter().map(|problem| problem.kind).collect::<Vec<_>>())
        };
        let marks: [&[u8]; 4] =
            [b"\xFF\xFEa\0", b"\xFE\xFF\0a", b"\xFF\xFE\0\0a\0\0\0", b"\0\0\xFE\xFF\0\0\0a"];
        for bytes in marks {
            for path in [
                "main.tf",
                "x.tf.json",
                "terragrunt.hcl",
                "a.tfbackend",
                "a.tfvars",
                "stack.tm.hcl",
                "main.tf.tmpl",
                "policy.json",
                "a.yml",
                ".terraform-version",
                "run.ps1",
                "run.cmd",
                "Makefile",
                "deploy",
            ] {
                assert_eq!(kind(path, bytes), Some(vec![ProblemKind::Unreadable]), "{path}");
            }
            for path in ["README.md", "keys.reg", "a.sln", ".terraform.lock.hcl"] {
                assert_eq!(kind(path, bytes), None, "{path}");
            }
        }
        assert_eq!(kind("run.ps1", b"\xEF\xBB\xBFa"), None);

        // Without a mark, the zeros tell.
        let wide = |text: &str, first: bool, width: usize| -> Vec<u8> {
            let bytes = |unit: u16| {
                let mut bytes = u32::from(unit).to_le_bytes()[..width].to_vec();
                if !first {
                    bytes.reverse();
                }
                bytes
            };
            text.encode_utf16().flat_map(bytes).collect()
        };
        let text = "terraform {\n  backend \"s3\" {\n    dynamodb_table = \"t\" # für\n  }\n}\n";
        for (first, width) in [(true, 2), (false, 2), (true, 4), (false, 4)] {
            for path in ["main.tf", "x.tf.json", "terragrunt.hcl", "policy.json", "a.yml", ".gitlab-ci.yml"] {
                let found = kind(path, &wide(text, first, width));
                assert_eq!(found, Some(vec![ProblemKind::Unreadable]), "{path} {first} {width}");
            }
            assert_eq!(kind("README.md", &wide(text, first, width)), None);
        }
        for other in [
            &b"\0GITCRYPT\0\x01\x02"[..],
            b"\0\0\0\0\0\0\0\0",
            b"M\0\x90\x03\0\0\x04\0\xff\xff\0\0",
            b"\0\0\x01\0\x01\0 \0\x10\0",
            b"a\0b\x01c\x02d\x03e\x04",
            b"a\0",
            b"PK\x03\x04",
        ] {
            assert_eq!(kind("deploy", other), None, "{other:?}");
        }
    }

    #[test]
    fn a_whole_configuration_in_a_file_for_settings_is_told_and_not_edited() {
        let text =
            "terraform {\n  backend \"s3\" {\n    dynamodb_table = \"t\"\n  }\n}\nlocals {\n  a = 1\n}\n";
        let facts = read("prod_backend.tfvars", text).unwrap();
        let [source] = facts.sources.as_slice() else { panic!("{:?}", facts.sources) };
        assert_eq!((source.kind, source.place.line), (SourceKind::Template, 2));
        assert_eq!(source.settings[0].value.as_text(), Some("t"));
        assert!(!source.editability.is_safe());
    }

    #[test]
    fn other_peoples_conf_files_are_no_problem() {
        assert_eq!(read("nginx.conf", "server {\n  listen 80;\n}\n"), None);
        let facts = read("locks.conf", "dynamodb_table = \"t\"\n[section]\n").unwrap();
        assert_eq!(facts.problems.len(), 1);
    }
}
