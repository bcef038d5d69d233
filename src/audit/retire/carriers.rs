//! Variables, outputs, settings of a CI service and lines that name a table: they go with it.

use std::collections::{BTreeMap, BTreeSet};

use super::is_elsewhere as is_of_another_place;
use super::{Case, Scanned, Side, names};
use crate::audit::expected::TableRef;
use crate::repo::mentions::{Carrier, Mention};
use crate::repo::text::Place;

/// Entries that are listed at most; more are counted.
const LISTED: usize = 200;

/// Lists everything that carries the table's name and is not listed as a backend, reader, resource or statement.
pub(super) fn goes(case: &mut Case, table: &TableRef, scanned: &Scanned<'_>) {
    let inventory = scanned.inventory;
    let settings = inventory.sources.iter().flat_map(|source| {
        let of_locks = source.settings.iter().filter(|setting| setting.is_table());
        of_locks.map(|setting| (source.place.file.as_str(), setting.at.line))
    });
    let grants: Vec<&Place> = inventory
        .grants
        .iter()
        .filter(|grant| names(table, &grant.resource, None))
        .map(|grant| &grant.place)
        .collect();
    let listed: BTreeSet<(&str, usize)> =
        settings.chain(grants.iter().map(|place| (place.file.as_str(), place.line))).collect();
    let makes = |mention: &Mention| match &mention.carrier {
        Carrier::Block(block) => inventory
            .lock_tables
            .iter()
            .any(|made| made.address == *block && made.place.file == mention.place.file),
        _ => false,
    };
    // Files in which the name stands because they make the table, or grant rights on it: known as such already.
    let made = inventory.lock_tables.iter().filter(|made| made.name.as_deref() == Some(table.name.as_str()));
    let made = made.map(|made| made.place.file.as_str());
    let explained: BTreeSet<&str> = made.chain(grants.iter().map(|place| place.file.as_str())).collect();
    // One line for each carrier in a file; what is sure of it is said.
    let mut by_carrier: BTreeMap<(&str, &Carrier), (&Place, usize, bool)> = BTreeMap::new();
    for mention in scanned.mentions {
        if listed.contains(&(mention.place.file.as_str(), mention.place.line))
            && !is_elsewhere(&mention.carrier)
            || makes(mention)
            || matches!(&mention.carrier, Carrier::Pattern(arn) if is_of_another_place(table, arn, None))
            || (explained.contains(mention.place.file.as_str())
                && !is_terraform(&mention.place.file, &mention.carrier))
        {
            continue;
        }
        let entry = by_carrier.entry((mention.place.file.as_str(), &mention.carrier)).or_insert((
            &mention.place,
            0,
            false,
        ));
        entry.1 += 1;
        entry.2 |= mention.sure;
    }
    for ((_, carrier), (place, times, sure)) in by_carrier.iter().take(LISTED) {
        let doubt = if *sure { "" } else { " (it may hold the name: its value is not known here)" };
        case.goes(format!("{}{doubt}", said(carrier, *times)), Some(place));
    }
    // Configuration has no more uses than those that are listed; what else is handed the name may lock with it.
    let handed = by_carrier
        .iter()
        .filter(|((file, carrier), (_, _, sure))| *sure && !is_terraform(file, carrier) && !is_prose(file));
    for ((_, carrier), (place, times, _)) in handed.take(LISTED) {
        let says = format!("what is done with its name is not known: {}", said(carrier, *times));
        case.say(Side::Missing, says, Some(place));
    }
    if let Some(more @ 1..) = by_carrier.len().checked_sub(LISTED) {
        case.goes(format!("{more} more places that name it"), None);
    }
    let known: BTreeSet<&Place> = inventory.problems.iter().map(|problem| &problem.place).collect();
    let unsearched = scanned.unsearched.iter().filter(|problem| !known.contains(&problem.place));
    for problem in unsearched {
        let says = format!("not searched for its name: {}", problem.message);
        case.say(Side::Missing, says, Some(&problem.place));
    }
}

/// What has to be removed where no file of the repository is: the CI service's own settings.
pub(super) fn in_the_ci_service(mentions: &[Mention]) -> Option<String> {
    let kept: BTreeSet<String> = mentions
        .iter()
        .filter(|mention| is_elsewhere(&mention.carrier))
        .map(|mention| said(&mention.carrier, 1))
        .collect();
    let kept: Vec<String> = kept.into_iter().collect();
    (!kept.is_empty()).then(|| format!("# and, where nothing else uses them, {}", kept.join(", ")))
}

/// Whether it stands in configuration of Terraform, where all uses of it are found.
fn is_terraform(file: &str, carrier: &Carrier) -> bool {
    match carrier {
        Carrier::Variable(_) | Carrier::Local(_) | Carrier::Output(_) | Carrier::Block(_) => true,
        // It says who may use the table, not what does.
        Carrier::Pattern(_) => true,
        Carrier::Environment(name) => name.starts_with("TF_VAR_"),
        Carrier::VarFile(_) => {
            [".tfvars", ".tfvars.json", ".hcl"].iter().any(|ending| file.ends_with(ending))
        }
        _ => false,
    }
}

/// Whether people read the file, and no program does.
fn is_prose(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["md", "markdown", "txt", "rst", "adoc", "html"].contains(&ending.to_ascii_lowercase().as_str())
        || ["CHANGELOG", "README", "CODEOWNERS"].contains(&name)
}

/// Whether it is kept outside of the repository.
fn is_elsewhere(carrier: &Carrier) -> bool {
    matches!(carrier, Carrier::CiSecret(_) | Carrier::CiVariable(_))
}

fn said(carrier: &Carrier, times: usize) -> String {
    match carrier {
        Carrier::Variable(name) => format!("the variable `{name}`"),
        Carrier::Local(name) => format!("the local value `{name}`"),
        Carrier::Output(name) => format!("the output `{name}`"),
        Carrier::VarFile(name) => format!("the assignment of `{name}`"),
        Carrier::Environment(name) => format!("the environment variable `{name}`"),
        Carrier::CiVariable(name) => format!("the CI service's variable `{name}`"),
        Carrier::CiSecret(name) => format!("the CI service's secret `{name}`"),
        Carrier::Block(header) => format!("`{header}`, which names it"),
        Carrier::Pattern(arn) => {
            format!("the statement on `{arn}`: a pattern that matches it, and may match tables that stay")
        }
        Carrier::Line if times == 1 => "a line that names it".to_owned(),
        Carrier::Line => format!("{times} lines that name it"),
    }
}
