//! Habits in calls that matter to locks. What they mean for a migration is judged elsewhere.

use std::collections::{BTreeMap, HashSet};

use super::facts::Call;
use super::inventory::{Habit, HabitKind, SharedVarFile};
use super::script_paths::is_automation;

/// Files that one script gives to both flags.
pub(crate) fn shared_var_files(by_file: &BTreeMap<&str, Vec<&Call>>) -> Vec<SharedVarFile> {
    let mut shared = Vec::new();
    for calls in by_file.values() {
        let variables: HashSet<&str> =
            calls.iter().flat_map(|call| &call.var_files).map(|file| tidy(file)).collect();
        let mut seen = HashSet::new();
        for call in calls {
            for (written, _) in &call.config_files {
                if variables.contains(tidy(written)) && seen.insert(tidy(written)) {
                    shared.push(SharedVarFile { file: tidy(written).to_owned(), place: call.place.clone() });
                }
            }
        }
    }
    shared.sort_by(|a, b| (&a.place, &a.file).cmp(&(&b.place, &b.file)));
    shared
}

fn tidy(path: &str) -> &str {
    path.trim_start_matches("./")
}

pub(crate) fn habits(calls: &[Call]) -> Vec<Habit> {
    let mut habits = Vec::new();
    for call in calls {
        if let Some(place) = &call.lock_false {
            habits.push(Habit { kind: HabitKind::LockFalse, place: place.clone() });
        }
        let bare = call.subcommand == "init" && !call.reconfigure && !call.migrate_state;
        if bare && is_automation(&call.place.file) {
            habits.push(Habit { kind: HabitKind::InitWithoutReconfigure, place: call.place.clone() });
        }
        if call.subcommand == "force-unlock" {
            habits.push(Habit { kind: HabitKind::ForceUnlock, place: call.place.clone() });
        }
    }
    habits.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
    habits.dedup();
    habits
}
