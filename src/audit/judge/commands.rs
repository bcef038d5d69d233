//! The exact commands that release a lock or mend a digest. Names, IDs and documents come from servers: every word is
//! quoted for a POSIX shell, and no control character is ever printed raw.

use std::collections::BTreeSet;
use std::time::Duration;

use super::case::{CLOCK_TOLERANCE, Case, Held, Side};
use super::world::s3;
use crate::audit::STALE_AFTER;
use crate::audit::expected::ExpectedState;
use crate::audit::lock_info::{LockBody, LockInfo};
use crate::audit::snapshot::TableSnapshot;
use crate::repo::inventory::{Engine, LockMode};
use crate::shell::word;

/// The commands that release one lock, or with none all that are on a state: the engine's own where it can do it, then
/// ours, which compares both stores first. None for a lock whose run is probably at work.
pub(super) fn release(case: &Case<'_>, of: Option<&Held<'_>>) -> Vec<String> {
    let meant = |held: &&Held<'_>| of.is_none_or(|of| of.is_same(held)) && case.taken_lately(held).is_none();
    let (s3, item) = (case.s3.held().filter(meant), case.dynamodb.held().filter(meant));
    // A lock in a further table is released when it is the one that is meant.
    let further = case.elsewhere.iter().filter(|_| of.is_some()).filter(meant);
    let mut commands = engines(case, s3.into_iter().chain(item));
    match (s3, item) {
        (Some(s3), Some(item)) if own_id(case, s3).is_some() && own_id(case, s3) == own_id(case, item) => {
            commands.push(unlock(case, &[s3, item], false));
        }
        _ => {
            commands.extend(s3.map(|held| unlock(case, &[held], is_known(&case.dynamodb))));
            commands.extend(item.map(|held| unlock(case, &[held], is_known(&case.s3))));
        }
    }
    commands.extend(further.map(|held| unlock(case, &[held], is_known(&case.s3))));
    commands
}

/// `terraform force-unlock ID`, in the workspace, for the stores that the state's mode locks.
fn engines<'a>(case: &Case<'a>, held: impl Iterator<Item = &'a Held<'a>>) -> Vec<String> {
    let reaches = |held: &&Held<'_>| match case.mode {
        LockMode::Dual => true,
        LockMode::Lockfile => held.table.is_none(),
        LockMode::Dynamodb => held.table.is_some(),
        LockMode::None | LockMode::Unknown => false,
    };
    let mut ids: Vec<&str> = held.filter(reaches).filter_map(Held::id).collect();
    ids.dedup();
    let Some((state, workspace)) = case.states.first().filter(|_| !ids.is_empty()) else {
        return Vec::new();
    };
    let select =
        (*workspace != "default").then(|| engine(state, &["workspace", "select", &after_flags(workspace)]));
    let ids = ids.iter().map(|id| engine(state, &["force-unlock", &after_flags(id)]));
    select.into_iter().chain(ids).collect()
}

/// Whether it is known what the other store holds: nothing, or another lock. Only then may a command leave it aside.
fn is_known(other: &Side<'_>) -> bool {
    matches!(other, Side::Free | Side::Held(_))
}

/// The ID by which `unlock` knows it: of a document that speaks of this very state.
fn own_id<'a>(case: &Case<'_>, held: &Held<'a>) -> Option<&'a str> {
    held.id().filter(|_| case.is_own(held))
}

/// `lockshift unlock` for one lock, in one store or in both.
fn unlock(case: &Case<'_>, stores: &[&Held<'_>], only: bool) -> String {
    let mut command = format!("lockshift unlock {}", word(&s3(case.bucket_name, case.path)));
    match stores.first().and_then(|held| own_id(case, held)) {
        Some(id) => command.push_str(&option("id", id)),
        None => command.push_str(" --unreadable"),
    }
    let item = stores.iter().find_map(|held| held.table);
    if only {
        command.push_str(&option("only", if item.is_some() { "dynamodb" } else { "s3" }));
    }
    if let Some(table) = item.filter(|table| !is_named_alone(case, table)) {
        command.push_str(&option("table", table.arn.as_deref().unwrap_or(&table.name)));
    }
    let young = |held: &&Held<'_>| held.age(case.now()).is_some() && !case.is_stale(held);
    if stores.iter().any(|held| is_ageless(case, held)) && !stores.iter().any(young) {
        command.push_str(" --even-if-young");
    } else if case.stale_after() != STALE_AFTER {
        command.push_str(&option("stale-after", &age(case.stale_after())));
    }
    command
}

/// Whether `unlock` learns from the repository that this is the state's table, and that there is no other.
fn is_named_alone(case: &Case<'_>, table: &TableSnapshot) -> bool {
    let named: BTreeSet<_> = case.states.iter().filter_map(|(state, _)| state.table_ref()).collect();
    let told = case.states.iter().all(|(state, _)| state.mode != LockMode::Unknown);
    told && named.len() == 1 && case.tables.iter().any(|named| std::ptr::eq(*named, table))
}

/// Whether `unlock` can't tell how old it is, though nothing says that it is young: no clock tells when it was taken,
/// or only S3's does, since its document speaks of a moment that has not come. Where that is all there is, a run may be
/// at work whose clock is ahead: then the refusal stands.
fn is_ageless(case: &Case<'_>, held: &Held<'_>) -> bool {
    let taken = held.lock().and_then(LockInfo::created_at).or(held.stored());
    let ahead = |taken| taken > case.now().after(CLOCK_TOLERANCE);
    taken.is_none_or(|taken| ahead(taken) && case.is_stale(held))
}

/// A length of time as flags take it, in the largest unit that says it exactly. Parts of a second count as one.
fn age(span: Duration) -> String {
    let seconds = span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0));
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(size, _)| seconds > 0 && seconds % size == 0);
    let (size, name) = unit.unwrap_or((1, "s"));
    format!("{}{name}", seconds / size)
}

/// ` --NAME VALUE`, or ` --NAME=VALUE` where the value would pass for a flag.
fn option(name: &str, value: &str) -> String {
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!(" --{name}{between}{}", word(value))
}

/// An argument that could look like a flag is put after `--`.
fn after_flags(argument: &str) -> String {
    if argument.starts_with('-') { format!("-- {}", word(argument)) } else { word(argument) }
}

/// A command of the program that reads this root module. The arguments are quoted already.
fn engine(state: &ExpectedState, arguments: &[&str]) -> String {
    let arguments = arguments.join(" ");
    if state.place.file.ends_with(".hcl") {
        // Only Terragrunt writes its settings in such a file; it runs Terraform in a directory of its own.
        return format!("(cd {} && terragrunt {arguments})", after_flags(&state.root));
    }
    let program = if state.engine == Engine::OpenTofu { "tofu" } else { "terraform" };
    if state.root == "." {
        return format!("{program} {arguments}");
    }
    format!("{program} -chdir={} {arguments}", word(&state.root))
}

/// The command that deletes a lock which no program can name, on condition that it is still the same.
pub(super) fn delete_unreadable(case: &Case<'_>, held: &Held<'_>) -> Option<String> {
    if let Some(object) = held.object {
        let etag = object.etag.as_deref()?;
        return Some(format!(
            "aws s3api delete-object{}{}{}",
            option("bucket", case.bucket_name),
            option("key", &object.key),
            option("if-match", etag)
        ));
    }
    let table = held.table?;
    let lock_id = format!("{}/{}", case.bucket_name, case.path);
    let (condition, values) = match held.body {
        None => ("attribute_not_exists(Info)".to_owned(), String::new()),
        Some(LockBody::Empty) => return None,
        Some(body) => {
            let values = serde_json::json!({ ":seen": { "S": body.text()? } }).to_string();
            ("Info = :seen".to_owned(), format!(" --expression-attribute-values {}", word(&values)))
        }
    };
    Some(format!("{} --condition-expression {}{values}", delete_item(table, &lock_id), word(&condition)))
}

/// The command that deletes a digest, on condition that it is still the one that was seen.
pub(super) fn delete_digest(table: &TableSnapshot, lock_id: &str, seen: Option<&str>) -> String {
    let command = delete_item(table, lock_id);
    match seen {
        None => command,
        Some(seen) => {
            let values = serde_json::json!({ ":seen": { "S": seen } }).to_string();
            format!(
                "{command} --condition-expression 'Digest = :seen' --expression-attribute-values {}",
                word(&values)
            )
        }
    }
}

fn delete_item(table: &TableSnapshot, lock_id: &str) -> String {
    let key = serde_json::json!({ "LockID": { "S": lock_id } }).to_string();
    let optional =
        |name: &str, value: Option<&str>| value.map(|value| option(name, value)).unwrap_or_default();
    // A name alone means a table of the caller's own account. What is no AWS may not know ARNs.
    let arn = table.arn.as_deref().filter(|_| table.endpoint.is_none());
    format!(
        "aws dynamodb delete-item{}{}{}{}",
        option("table-name", arn.unwrap_or(&table.name)),
        optional("region", table.region.as_deref()),
        optional("endpoint-url", table.endpoint.as_deref()),
        option("key", &key)
    )
}
