//! What carries a lock table's name through a repository: variables, local values, outputs, variable files, environment
//! and CI variables, CI secrets. Needed only when a table shall go (`audit --retire`), so scan's own walk does not pay
//! for it: this one is a plain search for a few words, repeated while it finds new carriers.
//!
//! It names places and carriers, never the text of a line: the line beside a table's name may hold a secret.

mod carriers;
mod composed;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

use self::carriers::Hit;
use self::composed::Names;
use super::buffer::Buffer;
use super::class::class_of;
use super::facts::dir_of;
use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::scan::{ScanOptions, read_scope};
use super::setting::Value;
use super::text::{Place, Text};
use super::visit::{MAX_FILE, too_large, unreadable};
use super::walk::{self, Candidate, Found, Progress, WalkError};

/// How often a newly found carrier is followed to the next one. A longer chain is nothing that anybody wrote.
const LOOKS: usize = 8;
/// Carriers that are followed at most.
const MAX_WANTED: usize = 1_000;

/// What carries the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// `variable "NAME"`.
    Variable(String),
    /// An entry of `locals`.
    Local(String),
    /// `output "NAME"`.
    Output(String),
    /// An assignment in a variable file or another file of settings.
    VarFile(String),
    /// An environment variable or a variable of a CI service, as a file of the repository sets or reads it.
    Environment(String),
    /// A variable that the CI service keeps (`vars.NAME`).
    CiVariable(String),
    /// A secret that the CI service keeps (`secrets.NAME`).
    CiSecret(String),
    /// A block of configuration: its keyword and labels.
    Block(String),
    /// The ARN of a statement, with a pattern in place of the table's name that matches it.
    Pattern(String),
    /// Any other line.
    Line,
}

/// One place where the name, or a carrier of it, stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mention {
    /// Where.
    pub place: Place,
    /// What carries it there.
    pub carrier: Carrier,
    /// Whether it follows from the name itself, or only from an expression that may mean the table.
    pub sure: bool,
}

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    /// The text; it counts where no character of a longer name stands beside it.
    pub(super) text: String,
    /// The directory in which it means the table (a module's own names); absent: everywhere.
    pub(super) dir: Option<String>,
    pub(super) sure: bool,
}

impl Wanted {
    pub(super) fn everywhere(text: impl Into<String>, sure: bool) -> Self {
        Self { text: text.into(), dir: None, sure }
    }

    pub(super) fn within(dir: &str, text: impl Into<String>, sure: bool) -> Self {
        Self { text: text.into(), dir: Some(dir.to_owned()), sure }
    }
}

/// Where to begin: the table's name, the resources that make it, and what stands in expressions of lock settings that
/// scan could not resolve.
pub(super) fn beginning(table: &str, inventory: &Inventory) -> BTreeSet<Wanted> {
    let mut wanted = BTreeSet::from([Wanted::everywhere(table, true)]);
    for made in &inventory.lock_tables {
        let sure = made.name.as_deref() == Some(table);
        if sure || made.name.is_none() {
            wanted.insert(Wanted::within(dir_of(&made.place.file), made.address.clone(), sure));
        }
    }
    for source in &inventory.sources {
        let settings = source.settings.iter();
        for setting in settings.filter(|setting| setting.is_table()) {
            match &setting.value {
                Value::Unknown { expression, .. } => {
                    carriers::in_expression(expression, dir_of(&source.place.file), &mut wanted);
                }
                Value::Text(text) if text.rsplit("table/").next() == Some(table) => {
                    let followed = setting.via.iter();
                    wanted.extend(
                        followed.map(|via| Wanted::within(dir_of(&source.place.file), via.clone(), true)),
                    );
                }
                _ => {}
            }
        }
    }
    wanted
}

/// A search that goes on while it finds new carriers. Pure: whoever reads the files gives it the hits.
#[derive(Debug, Default)]
struct Search {
    known: BTreeSet<Wanted>,
    /// What the next look is for.
    fresh: Vec<Wanted>,
    looks: usize,
    /// There is more to follow than is followed.
    cut_off: bool,
    /// Once for each line and carrier, whatever of it was looked for.
    found: BTreeMap<(String, usize, Carrier), Mention>,
}

impl Search {
    fn new(table: &str, inventory: &Inventory) -> Self {
        let known = beginning(table, inventory);
        Self { fresh: known.iter().cloned().collect(), known, ..Self::default() }
    }

    /// What to look for now; none when there is nothing new.
    fn needles(&self) -> Option<AhoCorasick> {
        if self.fresh.is_empty() || self.looks >= LOOKS {
            return None;
        }
        AhoCorasick::new(self.fresh.iter().map(|wanted| wanted.text.as_bytes())).ok()
    }

    fn fresh(&self) -> &[Wanted] {
        &self.fresh
    }

    /// Takes what one look found.
    fn take(&mut self, hits: Vec<Hit>) {
        let mut next = BTreeSet::new();
        for Hit { mention, leads_to } in hits {
            next.extend(leads_to.into_iter().filter(|wanted| !self.known.contains(wanted)));
            let sure = mention.sure;
            let line = (mention.place.file.clone(), mention.place.line, mention.carrier.clone());
            self.found.entry(line).or_insert(mention).sure |= sure;
        }
        next.retain(|wanted| {
            let follow = self.known.len() < MAX_WANTED;
            self.cut_off |= !follow;
            follow && self.known.insert(wanted.clone())
        });
        self.fresh = next.into_iter().collect();
        self.looks += 1;
        self.cut_off |= self.looks >= LOOKS && !self.fresh.is_empty();
    }

    fn mentions(self) -> Vec<Mention> {
        self.found.into_values().collect()
    }
}

/// Searches the files below the paths, with scan's own rules of what is looked at.
///
/// # Errors
/// As the walk: a path that is not there. Files that can't be read are problems.
pub fn find(
    table: &str,
    inventory: &Inventory,
    options: &ScanOptions,
    progress: &dyn Progress,
) -> Result<(Vec<Mention>, Vec<Problem>), WalkError> {
    let options = options.walk();
    let counts = |name: &str| class_of(name, name).counts_when_ignored();
    let mut search = Search::new(table, inventory);
    let mut problems = Vec::new();
    // Root modules to which no other one hands values.
    let own = inventory.roots.iter().filter(|root| root.called_by.is_empty());
    let own: BTreeSet<&str> = own.map(|root| root.path.as_str()).collect();
    while let Some(needles) = search.needles() {
        let first = search.looks == 0;
        let visit = |files: &[Candidate<'_>], found: &mut Found<Vec<Hit>>| {
            let mut buffer = Buffer::default();
            for file in files {
                let path = || walk::join(file.dir(), &file.name());
                match file.read(&mut buffer, MAX_FILE) {
                    Ok(whole) => {
                        let text = Text::new(buffer.bytes());
                        let mut hits = carriers::hits(&path(), text, &needles, search.fresh());
                        if first {
                            let names = || Names {
                                scope: read_scope(&file.id().os_path),
                                certain: own.contains(file.dir()),
                            };
                            hits.extend(composed::hits(&path(), text, table, &names));
                        }
                        if !hits.is_empty() {
                            found.kept.push((file.id(), hits));
                        }
                        if !whole {
                            found.problems.push(too_large(&path()));
                        }
                    }
                    Err(error) => found.problems.push(unreadable(&path(), &error)),
                }
            }
        };
        let walked = walk::walk(&options, &counts, progress, &visit)?;
        problems = walked.problems;
        search.take(walked.kept.into_iter().flat_map(|(_, hits)| hits).collect());
    }
    if search.cut_off {
        problems.push(Problem {
            kind: ProblemKind::TooLarge,
            place: Place { file: ".".to_owned(), line: 1, column: 1 },
            message: "more carriers of it than are followed".to_owned(),
            excerpt: None,
        });
    }
    Ok((search.mentions(), problems))
}
