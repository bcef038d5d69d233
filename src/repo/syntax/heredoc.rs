//! Backend text that scripts and CI files write: heredocs, here-strings, multi-line strings, YAML block scalars, and
//! pieces printed by `echo` or changed by `sed`. Calls of terraform are not read here.

use std::collections::BTreeMap;

use crate::repo::needles::Needles;
use crate::repo::partial::is_well_known;
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::source::{Editability, Source, SourceKind, Syntax};
use crate::repo::text::{Span, Text};

use super::block_comments::{block_comments, holds};
use super::calls::read_calls;
use super::calls_yaml::block_end;
use super::fragment::{self, Hit};
use super::language::{Language, language};
use super::locate::Locator;
use super::shell::{self, Budget, heredoc_body};
use super::{backend_arguments, hcl};

/// Text inside a script that is written to somewhere as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    body: Span,
    /// The file that it is written to, when the opening line names one.
    target: Option<String>,
}

const LOCK_SETTINGS: [&str; 3] = ["dynamodb_table", "lock_table", "use_lockfile"];

const WHY_UNKNOWN: &str = "the script fills it in when it runs";

/// Backend text in a script, a CI file or program code, by position. Files that Terraform or Terragrunt read
/// themselves have readers of their own and give nothing here.
pub fn read_heredocs(file: &str, text: Text<'_>) -> (Vec<Source>, Vec<Problem>) {
    let Some(language) = language(file) else { return Default::default() };
    let bytes = text.bytes();
    let names_table = names_lock(bytes);
    let mut hits = fragment::hits(text);
    // Terragrunt's own files are read whole by their own reader.
    if (hits.is_empty() && !names_table) || language == Language::Code(super::calls_code::Style::HCL) {
        return Default::default();
    }
    let mut reader = Reader {
        file,
        text,
        locator: Locator::new(file, text),
        sources: Vec::new(),
        covered: BTreeMap::new(),
        comments: block_comments(text, language),
        problems: Vec::new(),
    };
    hits.retain(|hit| !holds(&reader.comments, hit.at));
    let mut regions = regions(text, language);
    regions.retain(|region| !holds(&reader.comments, region.body.start));
    reader.regions(&regions, &hits);
    reader.pieces(&hits);
    if !matches!(language, Language::Code(_)) || names_table {
        reader.lines();
        reader.paragraphs(&regions);
    }
    reader.sources.sort_by_key(|source| source.span);
    (reader.sources, reader.problems)
}

fn names_lock(bytes: &[u8]) -> bool {
    static NAMES: Needles = Needles::new(&[b"dynamodb_table", b"lock_table", b"use_lockfile"]);
    NAMES.any_in(bytes)
}

struct Reader<'a> {
    file: &'a str,
    text: Text<'a>,
    locator: Locator<'a>,
    sources: Vec<Source>,
    /// Start and end of each source.
    covered: BTreeMap<usize, usize>,
    /// What stands in comments over many lines is no text of the script.
    comments: Vec<Span>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn is_covered(&self, at: usize) -> bool {
        self.covered.range(..=at).next_back().is_some_and(|(_, end)| *end > at)
    }

    fn keep(&mut self, source: Source) {
        self.covered.insert(source.span.start, source.span.end);
        self.sources.push(source);
    }

    /// Regions that hold whole backend blocks, or a flat backend-config file.
    fn regions(&mut self, regions: &[Region], hits: &[Hit]) {
        let mut named: Option<Vec<String>> = None;
        for (index, region) in regions.iter().enumerate() {
            let from = hits.partition_point(|hit| hit.at < region.body.start);
            let inside: Vec<Hit> =
                hits.iter().skip(from).take_while(|hit| hit.at < region.body.end).copied().collect();
            if inside.is_empty() {
                let target = region.target.as_deref().unwrap_or_default();
                let base = target.rsplit('/').next().unwrap_or(target);
                let file = self.file;
                let text = self.text;
                let is_named = !base.is_empty()
                    && !is_well_known(target)
                    && named.get_or_insert_with(|| config_names(file, text)).iter().any(|name| name == base);
                if is_well_known(target) || is_named {
                    self.flat(region, target);
                } else if base.starts_with(['$', '%', '{']) {
                    // Only a run can tell the file's name: what is written says what it is.
                    self.shaped(region, target);
                }
                continue;
            }
            // A YAML scalar with a script in it holds the heredoc that is the region proper.
            let holds_another =
                regions.iter().skip(index + 1).take_while(|other| other.body.start < region.body.end).any(
                    |other| inside.iter().all(|hit| other.body.start <= hit.at && hit.at < other.body.end),
                );
            if holds_another {
                continue;
            }
            let (sources, error) =
                hcl::backends_in_region(self.file, self.text, region.body, SourceKind::Heredoc);
            for mut source in sources {
                if self.is_covered(source.span.start) {
                    continue;
                }
                fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
                source.label.clone_from(&region.target);
                if let Some(error) = &error {
                    source.editability = Editability::ReportOnly(format!(
                        "the text that the script writes is not plain HCL ({})",
                        error.message
                    ));
                }
                self.keep(source);
            }
        }
    }

    /// A flat file whose own text has the shape of backend-config, and names a lock.
    fn shaped(&mut self, region: &Region, target: &str) {
        let (settings, error) = hcl::settings(self.text, region.body);
        if error.is_none()
            && names_lock(region.body.of(self.text.bytes()))
            && backend_arguments::has_backend_shape(&settings)
        {
            self.flat(region, target);
        }
    }

    fn flat(&mut self, region: &Region, target: &str) {
        let (mut settings, error) = hcl::settings(self.text, region.body);
        if settings.is_empty() {
            settings = fragment::loose_settings(self.text.bytes(), region.body, &mut self.locator);
        }
        let Some(first) = settings.first().map(|setting| setting.span.start) else { return };
        fragment::mark_placeholders(&mut settings, WHY_UNKNOWN);
        let editability = match error {
            None => Editability::Safe,
            Some(error) => Editability::ReportOnly(format!(
                "the text that the script writes is not plain HCL ({})",
                error.message
            )),
        };
        let source = Source {
            kind: SourceKind::Heredoc,
            syntax: Syntax::HclBody,
            place: self.locator.place(first),
            span: region.body,
            body: region.body,
            settings,
            editability,
            label: Some(target.to_owned()),
            git_ignored: false,
        };
        self.keep(source);
    }

    /// Hits that stand in no region: string pieces, or text with something unreadable before them.
    fn pieces(&mut self, hits: &[Hit]) {
        for (index, hit) in hits.iter().enumerate() {
            if self.is_covered(hit.at) {
                continue;
            }
            let limit = hits.get(index + 1).map_or(self.text.bytes().len(), |next| next.at);
            let read = if hit.escaped {
                None
            } else {
                fragment::block_at(self.file, self.text, *hit, limit, SourceKind::Echo)
            };
            let mut source = match read {
                Some((source, None)) => source,
                _ => self.loose(Span::new(hit.at, fragment::raw_end(self.text.bytes(), *hit, limit))),
            };
            fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
            source.editability =
                Editability::ReportOnly("the script puts this text together from pieces".to_owned());
            if source.settings.is_empty() && source.span.end == limit {
                self.problems.push(Problem {
                    kind: ProblemKind::ParseError,
                    place: source.place.clone(),
                    message: "a backend block begins here whose end could not be found; check it by hand"
                        .to_owned(),
                    excerpt: None,
                });
            }
            self.keep(source);
        }
    }

    fn loose(&mut self, span: Span) -> Source {
        Source {
            kind: SourceKind::Echo,
            syntax: Syntax::Other,
            place: self.locator.place(span.start),
            span,
            body: span,
            settings: fragment::loose_settings(self.text.bytes(), span, &mut self.locator),
            editability: Editability::Safe,
            label: None,
            git_ignored: false,
        }
    }

    /// Single lines that print or rewrite a lock setting.
    fn lines(&mut self) {
        let bytes = self.text.bytes();
        let mut last = None;
        let names = aho_corasick::AhoCorasick::new(LOCK_SETTINGS);
        let Ok(names) = names else { return };
        for found in names.find_iter(bytes) {
            let at = found.start();
            let line = self.text.line_span(at);
            if last == Some(line.start) {
                continue;
            }
            last = Some(line.start);
            let inside = self.is_covered(at) || holds(&self.comments, at);
            let content = line.of(bytes);
            if inside || fragment::is_commented(bytes, at) || !prints_or_rewrites(content) {
                continue;
            }
            let start = line.start + (content.len() - content.trim_ascii_start().len());
            let span = Span::new(start, line.start + content.trim_ascii_end().len());
            let mut source = self.loose(span);
            fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
            let sed = memchr::memmem::find(content, b"sed ").is_some();
            if sed {
                // What a `sed` expression says may be a regular expression.
                source.settings.retain(|setting| {
                    setting.value.as_text().is_none_or(|text| !text.contains(['*', '[', '\\', '^']))
                });
            }
            // `lock_table=$(…)` is a variable of the script; and text that names no value changes nothing.
            source.settings.retain(|setting| {
                LOCK_SETTINGS.contains(&setting.name.as_str())
                    && (setting.span.start > start || bytes.get(setting.name_span.end) != Some(&b'='))
            });
            let in_place = memchr::memmem::find(content, b"sed -i").is_some();
            if source.settings.is_empty() && !in_place {
                continue;
            }
            source.editability = Editability::ReportOnly(
                if sed {
                    "the script rewrites the setting with sed"
                } else {
                    "the script prints this setting"
                }
                .to_owned(),
            );
            self.keep(source);
        }
    }

    /// Settings that stand in a region without a backend block of their own: Terragrunt's `remote_state`, Atmos
    /// stacks, flat files, whatever the file's name will be.
    fn paragraphs(&mut self, regions: &[Region]) {
        let bytes = self.text.bytes();
        let names = aho_corasick::AhoCorasick::new(["dynamodb_table", "lock_table", "use_lockfile"]);
        let Ok(names) = names else { return };
        let mut looked_at = 0;
        for found in names.find_iter(bytes) {
            let at = found.start();
            if at < looked_at {
                continue;
            }
            let line = self.text.line_span(at);
            looked_at = line.end;
            if self.is_covered(at)
                || holds(&self.comments, at)
                || !sets_lock(line.of(bytes))
                || fragment::is_commented(bytes, at)
            {
                continue;
            }
            let after = regions.partition_point(|region| region.body.start <= at);
            // Regions stand in each other only a few deep.
            let mut around = regions.iter().take(after).rev().take(8);
            let Some(region) = around.find(|region| region.body.end > at) else { continue };
            let span = paragraph(bytes, region.body, line);
            // A part of these lines holds no more than all of them.
            looked_at = span.end.max(looked_at);
            let mut source = self.loose(span);
            let names: Vec<&str> = source.settings.iter().map(|setting| setting.name.as_str()).collect();
            if !["bucket", "key", "region"].iter().any(|name| names.contains(name)) {
                continue;
            }
            if let Some(first) = source.settings.first() {
                source.place = self.locator.place(first.span.start);
            }
            fragment::mark_placeholders(&mut source.settings, WHY_UNKNOWN);
            source.kind = SourceKind::Heredoc;
            source.label.clone_from(&region.target);
            source.editability =
                Editability::ReportOnly("a script writes these settings into a file of its own".to_owned());
            self.keep(source);
        }
    }
}

/// A block of settings has fewer lines than this above or below a lock setting.
const MAX_LINES: usize = 100;

/// The lines around one, as far as they are indented as deep (or blank): the body of its block, in HCL and YAML.
fn paragraph(bytes: &[u8], within: Span, line: Span) -> Span {
    let indent = |line: &[u8]| line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let depth = indent(line.of(bytes));
    let belongs = |line: &[u8]| line.trim_ascii().is_empty() || indent(line) >= depth;
    let above = Span::new(within.start, line.start.max(within.start)).of(bytes);
    let up: usize = above
        .split_inclusive(|byte| *byte == b'\n')
        .rev()
        .take(MAX_LINES)
        .take_while(|l| belongs(l))
        .map(<[u8]>::len)
        .sum();
    let below = Span::new(line.end.min(within.end), within.end).of(bytes);
    let down: usize = below
        .split_inclusive(|byte| *byte == b'\n')
        .take(MAX_LINES)
        .take_while(|l| belongs(l))
        .map(<[u8]>::len)
        .sum();
    Span::new(line.start.max(within.start) - up, (line.end.min(within.end) + down).min(within.end))
}

/// Whether a line is `NAME = VALUE` or `NAME: VALUE` for a lock setting, and not a sentence.
fn sets_lock(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let name = [&b"dynamodb_table"[..], b"lock_table", b"use_lockfile"];
    let Some(rest) = name.iter().find_map(|name| line.strip_prefix(*name)) else { return false };
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest).trim_ascii_start();
    let Some((b'=' | b':', value)) = rest.split_first() else { return false };
    let value = value.trim_ascii();
    match value.first() {
        None | Some(b'=') => false,
        Some(b'"' | b'\'') => true,
        Some(_) => !value.contains(&b' ') || value.contains(&b'{'),
    }
}

fn prints_or_rewrites(line: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    let prints: [&[u8]; 8] = [
        b"echo ",
        b"printf ",
        b"sed ",
        b"Add-Content",
        b"Set-Content",
        b"Write-Output",
        b".write(",
        b"perl -",
    ];
    prints.iter().any(|word| has(word)) && !has(b"backend-config")
}

/// File names that this script gives to `-backend-config`.
fn config_names(file: &str, text: Text<'_>) -> Vec<String> {
    read_calls(file, text)
        .into_iter()
        .flat_map(|call| call.config_files)
        .map(|(path, _)| path.rsplit('/').next().unwrap_or(&path).to_owned())
        .filter(|name| !name.starts_with('$'))
        .collect()
}

/// Every region in the file, by position; inner ones of YAML scalars included.
fn regions(text: Text<'_>, language: Language) -> Vec<Region> {
    let bytes = text.bytes();
    let mut budget = Budget::new(bytes.len());
    let mut regions = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let line = text.line_span(at);
        let content = line.of(bytes).trim_ascii();
        at = line.end;
        if content.starts_with(b"#") || content.starts_with(b"//") {
            continue;
        }
        if let Some(mark) = heredoc_mark(content)
            && let Some((body, after)) = heredoc_body(bytes, line.end, bytes.len(), &mark, &mut budget)
        {
            regions.push(Region { body, target: target(content) });
            at = after.max(at);
        } else if content.ends_with(b"@\"") || content.ends_with(b"@'") {
            let close: &[u8] = if content.ends_with(b"\"") { b"\n\"@" } else { b"\n'@" };
            if let Some(end) = budget.find(bytes, line.end.saturating_sub(1), bytes.len(), close) {
                let body = Span::new(line.end, (end - 2).max(line.end));
                let rest = text.line_span(end).of(bytes);
                regions.push(Region { body, target: target(rest).or_else(|| target(content)) });
                at = end;
            }
        } else if language == Language::Yaml
            && content.iter().rev().take(3).any(|byte| matches!(byte, b'|' | b'>'))
            && memchr::memchr(b':', content).is_some()
        {
            let indent = line.of(bytes).iter().take_while(|byte| **byte == b' ').count();
            let end = block_end(bytes, line.end, indent);
            if budget.spend(end - line.end) {
                let key = content.split(|byte| *byte == b':').next().unwrap_or_default();
                let key = String::from_utf8_lossy(key)
                    .trim_start_matches("- ")
                    .trim_matches(['"', '\''])
                    .to_owned();
                regions.push(Region {
                    body: Span::new(line.end, end),
                    target: key.contains('.').then_some(key),
                });
            }
        } else if let (Language::Code(_), Some((open, quote))) =
            (language, multi_line_quote(content, line, bytes))
            && let Some(end) = budget.find(bytes, open, bytes.len(), quote)
        {
            regions.push(Region { body: Span::new(open, end - quote.len()), target: target(content) });
            at = end.max(at);
        }
    }
    regions
}

/// The marker of a heredoc that this line opens.
fn heredoc_mark(line: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(line, b"<<")?;
    let (_, mark) = shell::heredoc_word(line.get(at + 2..)?);
    shell::begins_name(mark).then(|| String::from_utf8_lossy(mark).into_owned())
}

/// A triple quote or backtick that opens on this line and does not close on it.
fn multi_line_quote(content: &[u8], line: Span, bytes: &[u8]) -> Option<(usize, &'static [u8])> {
    for quote in [&b"\"\"\""[..], b"'''", b"`"] {
        let finder = memchr::memmem::Finder::new(quote);
        let mut places = finder.find_iter(line.of(bytes));
        let last = places.next().map(|first| places.fold((first, 1), |(_, count), at| (at, count + 1)));
        if let Some((at, count)) = last
            && count % 2 == 1
            && !content.is_empty()
        {
            return Some((line.start + at + quote.len(), quote));
        }
    }
    None
}

/// The file that a line writes to: `> FILE`, `tee FILE`, `-Path FILE`, or a quoted file name.
fn target(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line).into_owned();
    let after = |mark: &str| {
        let (_, rest) = line.split_once(mark)?;
        let rest = rest.trim_start_matches(['>', ' ', '\t']).trim_start_matches("-a ");
        let word: String = match rest.chars().next()? {
            quote @ ('"' | '\'') => rest.chars().skip(1).take_while(|c| *c != quote).collect(),
            _ => rest
                .chars()
                .take_while(|c| !c.is_whitespace() && !matches!(c, ';' | '<' | '&' | '|' | ')'))
                .collect(),
        };
        (!word.is_empty() && !word.starts_with('&')).then_some(word)
    };
    after(">").or_else(|| after("tee ")).or_else(|| after("-Path ")).or_else(|| after("-FilePath ")).or_else(
        || {
            line.split(['"', '\''])
                .skip(1)
                .step_by(2)
                .find(|text| text.contains('.') && !text.contains(' '))
                .map(str::to_owned)
        },
    )
}

#[cfg(test)]
#[path = "heredoc_tests.rs"]
mod tests;
