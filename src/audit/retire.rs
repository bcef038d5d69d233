//! May this lock table be deleted? Evidence for and against, what else goes with it, and the commands in order. Pure;
//! nothing is ever deleted here.
//!
//! Tables are shared between repositories: "no longer named here" never means "deletable". So the verdict is `ready`
//! only when the table itself says so, too: no locks, no strangers, no writes.

mod carriers;

use schemars::JsonSchema;
use serde::Serialize;

use super::expected::{Access, TableRef};
use super::snapshot::{DIGEST_SUFFIX, Read, Settled, Snapshot, TableFacts, TableItem, TableSnapshot};
use crate::moment::Moment;
use crate::repo::facts::{GrantKind, LockTable};
use crate::repo::inventory::{Inventory, Knowable, LockMode};
use crate::repo::mentions::{Carrier, Mention};
use crate::repo::problem::Problem;
use crate::repo::text::Place;
use crate::shell::word;

/// What is known of a table that shall go.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Retirement {
    /// The table's name.
    pub table: String,
    /// Whether it may go.
    pub verdict: Verdict,
    /// What speaks for it, against it, and what is missing; by kind, then in the order of looking.
    pub evidence: Vec<Evidence>,
    /// What else goes with it.
    pub goes_with_it: Vec<Leftover>,
    /// What to do, in order. Shell commands, or sentences that begin with `#`.
    pub commands: Vec<String>,
}

/// Whether a table may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything was read, and nothing speaks against it.
    Ready,
    /// Something speaks against it.
    NotReady,
    /// Nothing speaks against it, but something could not be read.
    CantTell,
}

impl Verdict {
    /// The word used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotReady => "not-ready",
            Self::CantTell => "cant-tell",
        }
    }
}

/// Which way a piece of evidence points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// It must stay for now.
    Against,
    /// It is not known.
    Missing,
    /// It may go.
    For,
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Which way it points.
    pub side: Side,
    /// What is the case, in one sentence.
    pub says: String,
    /// Where, when it stands in a file.
    pub place: Option<Place>,
}

/// Something that goes with the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Leftover {
    /// What.
    pub what: String,
    /// Where, when it stands in a file.
    pub place: Option<Place>,
}

/// Collects evidence in order.
#[derive(Default)]
struct Case {
    evidence: Vec<Evidence>,
    goes_with_it: Vec<Leftover>,
}

impl Case {
    fn say(&mut self, side: Side, says: impl Into<String>, place: Option<&Place>) {
        self.evidence.push(Evidence { side, says: says.into(), place: place.cloned() });
    }

    fn goes(&mut self, what: impl Into<String>, place: Option<&Place>) {
        self.goes_with_it.push(Leftover { what: what.into(), place: place.cloned() });
    }
}

/// What the scanned trees say.
#[derive(Debug, Clone, Copy)]
pub struct Scanned<'a> {
    /// Root modules, readers, resources and statements.
    pub inventory: &'a Inventory,
    /// Every place that names the table, or carries its name.
    pub mentions: &'a [Mention],
    /// Files that could not be searched for them.
    pub unsearched: &'a [Problem],
}

impl<'a> Scanned<'a> {
    /// The resources and modules that make the table, or may: with whether it is sure. One whose name stands behind a
    /// variable is, where the table's name was followed into it.
    fn made(self, table: &TableRef) -> impl Iterator<Item = (&'a LockTable, bool)> {
        let carries = move |made: &LockTable| {
            let mut here =
                self.mentions.iter().filter(|mention| mention.sure && mention.place.file == made.place.file);
            here.any(|mention| matches!(&mention.carrier, Carrier::Block(block) if *block == made.address))
        };
        self.inventory.lock_tables.iter().filter_map(move |made| match &made.name {
            Some(name) => names(table, name, None).then_some((made, true)),
            None => Some((made, carries(made))),
        })
    }
}

/// Judges one table by what the scanned trees say of it and by what it holds.
pub fn retire(table: &TableRef, scanned: Option<Scanned<'_>>, snapshot: &Snapshot) -> Retirement {
    let inventory = scanned.map(|scanned| scanned.inventory);
    let mut case = Case::default();
    let fitting: Vec<&TableSnapshot> = snapshot.tables.iter().filter(|found| found.is(table)).collect();
    let there = |found: &&&TableSnapshot| found.exists != Read::Absent;
    let found = fitting.iter().find(there).or(fitting.first()).copied();
    // What was read says better than a bare name which table it is.
    let region = table.region.clone().or_else(|| found?.region.clone());
    let account = table.account.clone().or_else(|| account(found?.arn.as_deref()?));
    let table = &TableRef { region, account, ..table.clone() };
    if fitting.iter().filter(there).count() > 1 {
        let says = "several tables of this name were read: name one by its ARN";
        case.say(Side::Missing, says, None);
    }
    match scanned {
        Some(scanned) => {
            references(&mut case, table, &scanned);
            carriers::goes(&mut case, table, &scanned);
        }
        None => case.say(Side::Missing, "no repository was scanned: who names the table is not known", None),
    }
    match found {
        Some(found) if found.exists == Read::Absent => {
            // A name that never was, or one of another region or account, looks just the same.
            let of = |word: &str, value: Option<&String>| value.map(|value| format!(" {word} {value}"));
            let says = format!(
                "there is no table of this name{}{}: it is gone already, or its name, region or account is another",
                of("in", table.region.as_ref()).unwrap_or_default(),
                of("of account", table.account.as_ref()).unwrap_or_default(),
            );
            case.say(Side::Missing, says, None);
        }
        Some(found) => contents(&mut case, found, inventory, snapshot.taken_at),
        None => case.say(Side::Missing, "the table was not read", None),
    }
    case.evidence.sort_by_key(|evidence| evidence.side);
    let has = |side| case.evidence.iter().any(|evidence| evidence.side == side);
    let verdict = match (has(Side::Against), has(Side::Missing)) {
        (true, _) => Verdict::NotReady,
        (false, true) => Verdict::CantTell,
        (false, false) => Verdict::Ready,
    };
    let commands = commands(table, found, scanned, verdict);
    Retirement {
        table: table.name.clone(),
        verdict,
        evidence: case.evidence,
        goes_with_it: case.goes_with_it,
        commands,
    }
}

/// The account in an ARN.
fn account(arn: &str) -> Option<String> {
    TableRef::of(arn, &Access::default()).account
}

/// Whether a name or ARN in code, for a backend of this region, may mean this table. What is not known of one of them
/// does not tell them apart.
fn names(table: &TableRef, written: &str, region: Option<&str>) -> bool {
    let name = written.rsplit("table/").next().unwrap_or(written);
    name == table.name && !is_elsewhere(table, written, region)
}

/// Whether what a name or ARN says of region or account is another's.
fn is_elsewhere(table: &TableRef, written: &str, region: Option<&str>) -> bool {
    let access = Access { region: region.map(str::to_owned), ..Access::default() };
    // An expression may hold anything, colons too.
    let said = if written.contains('$') { None } else { Some(TableRef::of(written, &access)) };
    let differs = |own: Option<&String>, said: Option<String>| {
        let said = said.filter(|said| !said.contains(['*', '?']));
        own.zip(said.as_ref()).is_some_and(|(own, said)| own != said)
    };
    said.is_some_and(|said| {
        differs(table.region.as_ref(), said.region) || differs(table.account.as_ref(), said.account)
    })
}

fn known(value: &Knowable<String>) -> Option<&str> {
    match value {
        Knowable::Known(value) if !value.is_empty() => Some(value),
        _ => None,
    }
}

fn references(case: &mut Case, table: &TableRef, scanned: &Scanned<'_>) {
    let inventory = scanned.inventory;
    let before = case.evidence.len();
    for root in &inventory.roots {
        for backend in &root.backends {
            let place = backend.sources.first().map(|source| Place {
                file: source.file.clone(),
                line: source.line,
                column: source.column,
            });
            match &backend.dynamodb_table {
                Knowable::Known(name) if names(table, name, known(&backend.region)) => {
                    let says = format!("{} locks with it ({})", root.path, backend.mode.as_str());
                    case.say(Side::Against, says, place.as_ref());
                }
                Knowable::Unknown(why) => {
                    let says = format!("which table {} uses is not known: {why}", root.path);
                    case.say(Side::Missing, says, place.as_ref());
                }
                _ if backend.mode == LockMode::Unknown => {
                    let says = format!("how {} locks is not known", root.path);
                    case.say(Side::Missing, says, place.as_ref());
                }
                _ => {}
            }
        }
    }
    for reader in &inventory.readers {
        if reader.dynamodb_table.as_deref().is_some_and(|name| names(table, name, None)) {
            let says = format!("the reader `{}` checks digests in it, and fails without it", reader.name);
            case.say(Side::Against, says, Some(&reader.place));
        } else if let Some(why) = &reader.dynamodb_table_unknown {
            let says = format!("which table the reader `{}` uses is not known: {why}", reader.name);
            case.say(Side::Missing, says, Some(&reader.place));
        }
    }
    for source in &inventory.unattributed {
        if source.dynamodb_table.as_deref().is_some_and(|name| names(table, name, None)) {
            let says = format!("a source without a root module names it: {}", source.reason);
            case.say(Side::Against, says, Some(&source.place));
        } else if source.dynamodb_table.is_none() && source.mode == LockMode::Unknown {
            let says =
                format!("which table a source without a root module uses is not known: {}", source.reason);
            case.say(Side::Missing, says, Some(&source.place));
        }
    }
    if case.evidence.len() == before {
        let says = format!(
            "none of {} root modules and readers names it",
            inventory.roots.len() + inventory.readers.len()
        );
        case.say(Side::For, says, None);
    }
    for problem in inventory.problems.iter().filter(|problem| problem.kind.hides_something()) {
        let says = format!("{}: what it says of the table is not known", problem.message);
        case.say(Side::Missing, says, Some(&problem.place));
    }
    for (made, sure) in scanned.made(table) {
        let doubt = if sure { "" } else { " (its name is not known: it may be another)" };
        case.goes(format!("the resource `{}`{doubt}", made.address), Some(&made.place));
    }
    for grant in &inventory.grants {
        if grant.kind == GrantKind::LockTable && names(table, &grant.resource, None) {
            case.goes(format!("the IAM statement on `{}`", grant.resource), Some(&grant.place));
        }
    }
}

fn contents(case: &mut Case, found: &TableSnapshot, inventory: Option<&Inventory>, now: Moment) {
    let facts = match &found.exists {
        Read::Known(facts) => facts.clone(),
        Read::Absent => return,
        Read::NotAsked => {
            case.say(Side::Missing, "the table was not described", None);
            TableFacts::default()
        }
        Read::Failed(why) => {
            case.say(Side::Missing, format!("the table could not be described: {why}"), None);
            TableFacts::default()
        }
    };
    if !found.complete {
        case.say(Side::Missing, "its items were not all read: there may be locks", None);
    }
    let is_digest = |item: &&TableItem| item.lock_id.ends_with(DIGEST_SUFFIX);
    let locks: Vec<&TableItem> =
        found.items.iter().filter(|item| !is_digest(item) && item.settled != Settled::Gone).collect();
    let digests = found.items.iter().filter(is_digest).count();
    for lock in &locks {
        let who = lock
            .body
            .as_ref()
            .and_then(|body| body.lock())
            .map_or("an unreadable lock", |info| info.who.as_str());
        case.say(Side::Against, format!("`{}` is locked in it by {who}", lock.lock_id), None);
    }
    if locks.is_empty() && found.complete {
        case.say(Side::For, "it holds no lock", None);
    }
    strangers(case, found, inventory);
    if digests > 0 {
        case.goes(
            format!("{digests} digest items: with them a rollback to this table starts without digests"),
            None,
        );
    }
    if found.other_items > 0 {
        let says =
            format!("{} of its items are neither lock nor digest: somebody else uses it", found.other_items);
        case.say(Side::Against, says, None);
    }
    writes(case, found, !locks.is_empty(), now);
    if facts.stream {
        case.say(Side::Against, "a stream is on: somebody may be listening to it", None);
    }
    for replica in &facts.replicas {
        case.say(Side::Against, format!("it has a replica in {replica}: look who uses it there"), None);
    }
    if let Some(key) = &facts.kms_key {
        case.goes(format!("the KMS key `{key}`, if nothing else uses it"), None);
    }
    if facts.deletion_protection {
        case.goes("its deletion protection: it has to be switched off first", None);
    }
}

/// Items of states that no scanned repository knows: another repository may still use the table.
fn strangers(case: &mut Case, found: &TableSnapshot, inventory: Option<&Inventory>) {
    let Some(inventory) = inventory else { return };
    let expected = super::expected::Expected::of(inventory);
    let index = expected.index();
    let unknown: Vec<&str> = found
        .items
        .iter()
        .map(|item| item.lock_id.strip_suffix(DIGEST_SUFFIX).unwrap_or(&item.lock_id))
        .filter(|lock_id| lock_id.split_once('/').is_none_or(|(bucket, path)| !index.knows(bucket, path)))
        .collect();
    match unknown.first() {
        None if found.complete => {
            case.say(Side::For, "every item in it belongs to a scanned root module", None);
        }
        None => {}
        Some(first) => {
            let says = format!(
                "{} of its items belong to states that no scanned repository knows (`{first}`, …)",
                unknown.len()
            );
            case.say(Side::Against, says, None);
        }
    }
}

fn writes(case: &mut Case, found: &TableSnapshot, locked: bool, now: Moment) {
    match &found.writes_per_day {
        Read::Known(days) => {
            let last = days.iter().filter(|(_, count)| *count > 0.0).map(|(day, _)| *day).max();
            match last {
                // Somebody wrote the locks; CloudWatch is minutes late.
                None if locked => {}
                None => {
                    case.say(Side::For, format!("nobody wrote to it in the last {} days", days.len()), None);
                }
                Some(day) => {
                    let ago = now.since(day).map_or_else(
                        || "just now".to_owned(),
                        |age| format!("{} before the audit", crate::moment::in_words(age)),
                    );
                    case.say(Side::Against, format!("it was written to on {day} ({ago})"), None);
                }
            }
        }
        Read::Absent if locked => {}
        Read::Absent => case.say(Side::For, "CloudWatch knows no write to it", None),
        Read::NotAsked => case.say(Side::Missing, "who wrote to it lately was not asked (CloudWatch)", None),
        Read::Failed(why) => {
            case.say(Side::Missing, format!("who wrote to it lately could not be read: {why}"), None);
        }
    }
}

fn commands(
    table: &TableRef,
    found: Option<&TableSnapshot>,
    scanned: Option<Scanned<'_>>,
    verdict: Verdict,
) -> Vec<String> {
    let name = word(&table.name);
    let region =
        table.region.as_deref().map(|region| format!(" --region {}", word(region))).unwrap_or_default();
    let mut commands = Vec::new();
    if verdict != Verdict::Ready {
        commands.push(
            "# not yet: settle what speaks against it, and read what is missing, then ask again".to_owned(),
        );
        return commands;
    }
    commands.push(format!(
        "aws dynamodb create-backup{region} --table-name {name} --backup-name {}",
        word(&format!("{}-retired", table.name))
    ));
    if found.and_then(|found| found.exists.known()).is_some_and(|facts| facts.deletion_protection) {
        commands.push(format!(
            "aws dynamodb update-table{region} --table-name {name} --no-deletion-protection-enabled"
        ));
    }
    let in_code = scanned.and_then(|scanned| scanned.made(table).find(|(_, sure)| *sure));
    match in_code {
        Some((made, _)) => commands.push(format!(
            "# remove `{}` from {} and apply there; it was made by Terraform, so Terraform deletes it",
            made.address, made.place.file
        )),
        None => commands.push(format!("aws dynamodb delete-table{region} --table-name {name}")),
    }
    commands.push("# then remove what else goes with it, as listed above".to_owned());
    commands.extend(scanned.and_then(|scanned| carriers::in_the_ci_service(scanned.mentions)));
    commands
}

#[cfg(test)]
mod tests;
