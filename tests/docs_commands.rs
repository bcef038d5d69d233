//! What README.md and `docs/` show is true: each block of commands is run, line by line, in a copy of the fixtures, and
//! exit codes and output are compared. A block that can't run says why in a comment above it
//! (`<!-- not run: … -->`); its commands must still be ones that the program takes. Nothing is passed over in silence:
//! the counts are asserted.

#![cfg(test)]
#![allow(clippy::string_slice, reason = "cut at offsets that were just found")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockshift::rules::{self, Check};
use tempfile::TempDir;

/// A command and what is shown of its output.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    number: usize,
    command: String,
    /// Only in `console` blocks.
    output: Option<String>,
}

/// A fenced block of commands.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    lines: Vec<Line>,
    /// Why it is not run.
    not_run: Option<String>,
}

/// How the mark of a block that is not run begins.
const MARK: &str = "<!-- not run: ";

/// The `sh` and `console` blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut before = "";
    while let Some((_, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            before = line;
            continue;
        };
        let body: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
        let not_run = before.strip_prefix(MARK).map(|rest| rest.trim_end_matches("-->").trim().to_owned());
        assert!(not_run.as_deref() != Some(""), "a mark without a reason");
        match language {
            "sh" => found.push(Block { lines: script(&body), not_run }),
            "console" => found.push(Block { lines: session(&body), not_run }),
            _ => assert_eq!(not_run, None, "the mark stands above a `{language}` block"),
        }
        before = "";
    }
    found
}

/// Commands of a script; one that ends with `\` goes on in the next line.
fn script(body: &[(usize, &str)]) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut open = false;
    for (number, text) in body {
        match found.last_mut() {
            Some(last) if open => {
                last.command = format!("{}{}", last.command.trim_end_matches('\\'), text.trim());
            }
            _ if text.trim().is_empty() || text.starts_with('#') => continue,
            _ => found.push(Line { number: number + 1, command: text.trim().to_owned(), output: None }),
        }
        open = text.ends_with('\\');
    }
    found
}

/// Commands after `$ `, and the output below each.
fn session(body: &[(usize, &str)]) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut open = false;
    for (number, text) in body {
        match (text.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => {
                let output = Some(String::new());
                found.push(Line { number: number + 1, command: command.to_owned(), output });
                open = command.ends_with('\\');
            }
            (None, Some(last)) if open => {
                last.command = format!("{}{}", last.command.trim_end_matches('\\'), text.trim());
                open = text.ends_with('\\');
            }
            (None, Some(last)) => {
                let output = last.output.get_or_insert_default();
                output.push_str(text);
                output.push('\n');
            }
            // An excerpt of some output, without its command.
            (None, None) => {}
        }
    }
    found
}

/// A command without its comment, and the exit code that the comment speaks of (0 otherwise).
fn comment(command: &str) -> (&str, i32) {
    let (bare, said) = match command.find(" #") {
        Some(at) => command.split_at(at),
        None => (command, ""),
    };
    let code = said.split_once("exit code ").map_or(0, |(_, rest)| rest[..1].parse().unwrap());
    (bare.trim(), code)
}

/// The program's own calls in a command, as words: what stands after `lockshift`, up to the next pipe or redirection.
fn calls(command: &str) -> Vec<Vec<String>> {
    let command = comment(command)
        .0
        .replace("cargo run --release --", "lockshift")
        .replace("cargo run --", "lockshift");
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    let ends = |word: &str| ["|", "&&", "||", ";", ">", "2>", "<"].iter().any(|end| word.starts_with(end));
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut inside = false;
    for word in words {
        if ["lockshift", "./lockshift"].contains(&word.as_str()) {
            found.push(vec!["lockshift".to_owned()]);
            inside = true;
        } else if ends(&word) {
            inside = false;
        } else if inside {
            let call = found.last_mut().unwrap();
            // An ellipsis stands for a value, or for more of the same; a shell's variable for a name.
            if word != "…" || call.last().is_some_and(|before| before.starts_with("--")) {
                call.push(word.trim_end_matches(';').replace('$', ""));
            }
        }
    }
    found
}

/// Whether the program knows the command and every flag of a call. Values may be placeholders.
fn parse(call: &[String]) -> Result<(), String> {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion, MissingRequiredArgument};
    match lockshift::cli::command().try_get_matches_from(call) {
        Ok(_) => Ok(()),
        // `--id …` leaves out what the reader has to put in.
        Err(error) if matches!(error.kind(), DisplayHelp | DisplayVersion | MissingRequiredArgument) => {
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Whether `said` is what `shown` shows: lines that hold `…` match any text there, a line that is nothing else any
/// lines. Blanks at the ends of lines don't matter.
fn matches(shown: &str, said: &str) -> bool {
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    lines_match(&shown, &said)
}

fn lines_match(shown: &[&str], said: &[&str]) -> bool {
    match shown {
        [] => said.is_empty(),
        [any, rest @ ..] if any.trim() == "…" => {
            (0..=said.len()).any(|skip| lines_match(rest, &said[skip..]))
        }
        [line, rest @ ..] => {
            said.first().is_some_and(|first| line_matches(line, first)) && lines_match(rest, &said[1..])
        }
    }
}

fn line_matches(shown: &str, said: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap();
    let Some(mut rest) = said.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Runs commands as a reader would: in a directory with the fixtures, `lockshift` on the path, no AWS, no colours.
struct Reader {
    dir: TempDir,
    path: String,
}

impl Reader {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let fixtures = repository().join("fixtures");
        let copied = Command::new("cp").arg("-R").arg(fixtures).arg(dir.path()).status().unwrap();
        assert!(copied.success());
        let program = Path::new(env!("CARGO_BIN_EXE_lockshift")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        Self { dir, path }
    }

    /// Exit code, stdout, stderr.
    fn run(&self, command: &str) -> (i32, String, String) {
        let command =
            command.replace("cargo run --release --", "lockshift").replace("cargo run --", "lockshift");
        let mut shell = Command::new("sh");
        for (name, _) in
            std::env::vars().filter(|(name, _)| name.starts_with("AWS_") || name.starts_with("GIT_"))
        {
            shell.env_remove(name);
        }
        for name in ["CLICOLOR_FORCE", "LOCKSHIFT_LOG", "GITHUB_ACTIONS"] {
            shell.env_remove(name);
        }
        let output = shell
            .args(["-c", &command])
            .current_dir(self.dir.path())
            .env("PATH", &self.path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            // Whatever would reach for AWS after all fails at once.
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, CONTRIBUTING.md and the pages right below `docs/`, by name.
fn pages() -> Vec<(String, String)> {
    let mut names = vec!["CONTRIBUTING.md".to_owned(), "README.md".to_owned()];
    for entry in fs::read_dir(repository().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names
        .into_iter()
        .map(|name| (name.clone(), fs::read_to_string(repository().join(name)).unwrap()))
        .collect()
}

#[test]
fn every_command_that_is_shown_does_what_is_shown() {
    let (mut ran, mut compared, mut parsed_only, mut wrong) = (0, 0, 0, Vec::new());
    for (name, page) in pages() {
        let reader = std::cell::LazyCell::new(Reader::new);
        for line in blocks(&page).iter().flat_map(|block| block.lines.iter().map(move |line| (block, line))) {
            let (block, line) = line;
            let at = format!("{name}:{}: {}", line.number, line.command);
            for call in calls(&line.command) {
                if let Err(error) = parse(&call) {
                    wrong.push(format!("{at}\n{error}"));
                }
            }
            if block.not_run.is_some() {
                parsed_only += calls(&line.command).len();
                continue;
            }
            let (command, expected) = comment(&line.command);
            let (code, stdout, stderr) = reader.run(command);
            ran += calls(command).len();
            if code != expected {
                wrong.push(format!("{at}\nexit code {code}, {expected} is shown\n{stdout}{stderr}"));
            }
            if let Some(shown) = line.output.as_ref() {
                compared += 1;
                if !matches(shown, &stdout) {
                    wrong.push(format!("{at}\nprints something else than is shown:\n{stdout}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // A page that loses its commands, or a parser that no longer finds them, shows here.
    assert_eq!(
        (ran, compared, parsed_only),
        (22, 9, 48),
        "commands that ran, were compared, were parsed only"
    );
}

/// The pages of rules speak of made-up states: their commands are parsed, never run.
#[test]
fn the_pages_of_rules_name_no_flag_that_there_is_not() {
    let mut parsed = 0;
    for rule in rules::all() {
        for line in blocks(rule.page).iter().flat_map(|block| &block.lines) {
            for call in calls(&line.command) {
                parsed += 1;
                assert_eq!(parse(&call), Ok(()), "docs/rules/{}.md: {}", rule.id, line.command);
            }
        }
    }
    assert_eq!(parsed, 48);
}

/// Commands of ours between backticks, as a reader would take them over.
fn quoted_commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split('`').skip(1).step_by(2) {
        if part.starts_with("lockshift ") && !part.contains(['\n', '<']) {
            found.push(part.to_owned());
        }
    }
    found
}

/// What is wrong with a command that somebody is told to run. One that only names a subcommand says no more than that;
/// with an ellipsis, what is missing is the reader's to put in.
fn wrong_to_run(command: &str) -> Option<String> {
    let call = calls(command).pop()?;
    let subcommands = 1 + usize::from(call.get(1).is_some_and(|word| word == "policy" && call.len() == 3));
    if call.len() <= 1 + subcommands || command.contains('…') {
        return parse(&call).err();
    }
    lockshift::cli::command().try_get_matches_from(&call).err().map(|error| error.to_string())
}

/// Every command that the program's own texts and the pages of rules name can be run as it stands there: with all that
/// it needs.
#[test]
fn every_command_that_a_help_or_a_page_names_runs() {
    let mut texts: Vec<(String, String)> = rules::all()
        .iter()
        .map(|rule| (format!("docs/rules/{}.md", rule.id), rule.page.to_owned()))
        .collect();
    let mut waiting = vec![repository().join("src")];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let code = fs::read_to_string(&path).unwrap();
                let code: Vec<&str> =
                    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                // A text goes on behind a `\\` at the end of a line; what is put in stands for any word.
                let code = code.join("\n");
                let joined: Vec<&str> = code.split("\\\n").map(str::trim_start).collect();
                texts.push((path.display().to_string(), joined.concat().replace("{}", "s3")));
            }
        }
    }
    // What a scan of the fixtures advises.
    for fixture in ["fixtures/monorepo", "fixtures/broken"] {
        let output = Command::new(env!("CARGO_BIN_EXE_lockshift"))
            .args(["scan", "--format", "json", fixture])
            .current_dir(repository())
            .output()
            .unwrap();
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let helps =
            said["findings"].as_array().unwrap().iter().filter_map(|finding| finding["help"].as_str());
        texts.push((fixture.to_owned(), helps.collect::<Vec<_>>().join("\n")));
    }
    let commands: Vec<(&str, String)> = texts
        .iter()
        .flat_map(|(file, text)| quoted_commands(text).into_iter().map(move |it| (file.as_str(), it)))
        .collect();
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|(file, command)| Some(format!("{file}: `{command}`: {}", wrong_to_run(command)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands.len() > 100, "{}", commands.len());
    for (command, runs) in [
        ("lockshift migrate --include-unlocked", false),
        ("lockshift migrate --phase dual --include-unlocked", true),
        ("lockshift migrate", true),
        ("lockshift policy decide", true),
        ("lockshift unlock … --only s3", true),
        ("lockshift unlock s3://b/k --only s3", false),
    ] {
        assert_eq!(wrong_to_run(command).is_none(), runs, "{command}");
    }
}

#[test]
fn every_link_between_the_pages_leads_somewhere() {
    for (name, page) in pages() {
        let dir = repository().join(&name).parent().unwrap().to_owned();
        for (at, _) in page.match_indices("](") {
            let target = page[at + 2..].split([')', '#']).next().unwrap();
            if target.starts_with("http") || target.is_empty() {
                continue;
            }
            assert!(dir.join(target).exists(), "{name} links to {target}");
        }
    }
}

/// `docs/rules.md`: every rule, gate and refusal of the registry, by who makes its findings.
fn index_of_rules() -> String {
    let mut out = "# Rules, gates and refusals\n\n\
        Written from the program's registry; `lockshift explain ID` shows the same pages. The severity is that of most \
        findings;\na rule's page says where it differs. `lockshift.toml` can lower a rule or switch it off, with a \
        reason.\n"
        .to_owned();
    /// Heading, what it is, and which rules stand below it.
    type Section = (&'static str, &'static str, fn(&Check) -> bool);
    let sections: [Section; 6] = [
        ("Scan", "Judged from the repository alone, by `scan` and `migrate`.", |check| {
            matches!(check, Check::Inventory(_) | Check::Applying)
        }),
        ("Audit", "Judged from what the stores hold.", |check| matches!(check, Check::Auditing)),
        ("Migrate", "Gates: a root module that does not meet one is refused and stays as it is.", |check| {
            matches!(check, Check::Migrating)
        }),
        ("Unlock", "Refusals: nothing is removed.", |check| matches!(check, Check::Unlocking)),
        ("Policy", "Refusals: nothing is written.", |check| matches!(check, Check::Recommending)),
        (
            "Not read",
            "Something could not be read. Can't be switched off, and makes the exit code 3.",
            |check| matches!(check, Check::Unread),
        ),
    ];
    for (title, what, belongs) in sections {
        out.push_str(&format!(
            "\n## {title}\n\n{what}\n\n| rule | severity | what it says |\n|---|---|---|\n"
        ));
        for rule in rules::all().iter().filter(|rule| belongs(&rule.check)) {
            let summary = rule.summary.replace('|', "\\|");
            out.push_str(&format!(
                "| [`{0}`](rules/{0}.md) | {1} | {summary} |\n",
                rule.id,
                rule.severity.as_str()
            ));
        }
    }
    let gates: Vec<String> = lockshift::migrate::gate::ALL
        .iter()
        .filter(|gate| rules::find(gate.id).is_some_and(|rule| !matches!(rule.check, Check::Migrating)))
        .map(|gate| format!("`{}`", gate.id))
        .collect();
    out.push_str(&format!(
        "\n## Rules that are gates as well\n\nThese hold a root module back in `migrate`, too: {}.\n\nGates that \
         `--waive GATE=REASON` passes over: {}.\n",
        gates.join(", "),
        lockshift::migrate::gate::ALL
            .iter()
            .filter(|gate| gate.waivable)
            .map(|gate| format!("`{}`", gate.id))
            .collect::<Vec<_>>()
            .join(", ")
    ));
    out
}

#[test]
fn the_index_of_rules_is_current() {
    let path = repository().join("docs/rules.md");
    let current = index_of_rules();
    for rule in rules::all() {
        let row = format!("| [`{}`]", rule.id);
        assert_eq!(current.matches(&row).count(), 1, "{} stands in no section, or in two", rule.id);
    }
    if std::env::var_os("LOCKSHIFT_UPDATE").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == current, "run the tests with LOCKSHIFT_UPDATE=1 and review {}", path.display());
}

#[test]
fn blocks_marks_and_comments_are_read() {
    let page = "# x\n\n```sh\n# only a comment\nlockshift scan a \\\n  --by mode   # exit code 3\ncat x\n```\n\
        \n<!-- not run: AWS -->\n```console\n$ lockshift audit\nout\n…\n```\n```toml\n$ lockshift no\n```\n";
    let line = |number, command: &str, output: Option<&str>| Line {
        number,
        command: command.to_owned(),
        output: output.map(str::to_owned),
    };
    assert_eq!(
        blocks(page),
        [
            Block {
                lines: vec![
                    line(5, "lockshift scan a --by mode   # exit code 3", None),
                    line(7, "cat x", None)
                ],
                not_run: None,
            },
            Block {
                lines: vec![line(12, "lockshift audit", Some("out\n…\n"))],
                not_run: Some("AWS".to_owned())
            },
        ]
    );
    assert_eq!(comment("lockshift scan a --by mode   # exit code 3"), ("lockshift scan a --by mode", 3));
    assert_eq!(comment("scan   # nothing said"), ("scan", 0));
}

#[test]
fn calls_are_found_and_unknown_flags_seen() {
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    let found = calls("cd x && lockshift migrate --waive 'a=b c' | git apply; ./lockshift scan > x.txt");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], ["lockshift", "migrate", "--waive", "a=b c"]);
    assert_eq!(found[1], words("lockshift scan"));
    assert_eq!(calls("cargo run --release -- scan x   # lockshift y"), [words("lockshift scan x")]);
    assert_eq!(calls("terraform init"), Vec::<Vec<String>>::new());
    assert_eq!(parse(&words("lockshift unlock s3://b/k --table t --id …")), Ok(()));
    assert!(parse(&words("lockshift scan --formt json")).unwrap_err().contains("--formt"));
    assert!(parse(&words("lockshift scna")).is_err());
    assert!(parse(&words("lockshift scan --format yaml")).is_err());
}

#[test]
fn output_is_compared_with_elisions() {
    assert!(matches("a\nb\n", "a\nb\n"));
    assert!(matches("a  \n…\nz", "a\nb\nc\nz"));
    assert!(matches("a: … of 3\n…\n", "a: 2 of 3\n"));
    assert!(!matches("a: … of 3\n", "a: 2 of 4\n"));
    assert!(!matches("a\n", "a\nb\n"));
    assert!(!matches("a\n…\nz\n", "a\nb\n"));
    assert!(matches("", ""));
}
