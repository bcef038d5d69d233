//! Habits in calls that matter to locks. What they mean for a migration is judged elsewhere.

use std::collections::{BTreeSet, HashSet};

use super::facts::{Call, dir_of};
use super::inventory::{Habit, HabitKind, SharedVarFile};
use super::script_paths::{is_automation, is_test};
use super::secret::shown;
use super::shown::resolve;
use super::text::Place;

/// The shown path of a file that a call names: below the call's directory or the script's own, whichever exists;
/// as written where neither does.
fn shown_file(written: &str, call: &Call, files: &BTreeSet<&str>) -> String {
    let script = dir_of(&call.place.file);
    let dir = call.dir.as_deref().unwrap_or(".");
    let bases = [resolve(script, dir), Some(dir.to_owned()), Some(script.to_owned())];
    let places = bases.into_iter().flatten().filter_map(|base| resolve(&base, written));
    // A pipeline's paths begin at the repository's root: some directory above the script.
    let above = script.match_indices('/').filter_map(|(at, _)| script.get(..at));
    let from_above = above.filter_map(|top| resolve(&resolve(top, dir)?, written));
    let found = places.chain(from_above).find(|place| files.contains(place.as_str()));
    found.unwrap_or_else(|| tidy(written).to_owned())
}

/// Files that one script gives to both flags.
pub(crate) fn shared_var_files(scripts: &[&[&Call]], files: &BTreeSet<&str>) -> Vec<SharedVarFile> {
    let mut shared = Vec::new();
    for calls in scripts {
        let variables: HashSet<&str> =
            calls.iter().flat_map(|call| &call.var_files).map(|file| tidy(file)).collect();
        let mut seen = HashSet::new();
        for call in *calls {
            for (written, _) in &call.config_files {
                if variables.contains(tidy(written)) && seen.insert(tidy(written)) {
                    shared.push(SharedVarFile {
                        file: shown_file(written, call, files),
                        place: call.place.clone(),
                    });
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

pub(crate) fn habits(calls: &[&Call], tops: &[String]) -> Vec<Habit> {
    let mut habits = Vec::new();
    for call in calls {
        if is_test(&call.place.file, tops) {
            continue;
        }
        let mut add = |kind, place: &Place| {
            habits.push(Habit { kind, place: place.clone(), dir: call.dir.as_deref().map(shown) });
        };
        if let Some(place) = &call.lock_false {
            add(HabitKind::LockFalse, place);
        }
        if let Some((place, _)) = &call.lock_unknown {
            add(HabitKind::LockUnknown, place);
        }
        let bare = call.subcommand == "init" && !call.reconfigure && !call.migrate_state;
        if bare && is_automation(&call.place.file) {
            add(HabitKind::InitWithoutReconfigure, &call.place);
        }
        if call.subcommand == "force-unlock" {
            add(HabitKind::ForceUnlock, &call.place);
        }
    }
    habits.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
    habits.dedup();
    habits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::syntax::calls::read_calls;
    use crate::repo::text::Text;

    fn kinds(file: &str, text: &str) -> Vec<(HabitKind, usize)> {
        kinds_below(file, text, &[])
    }

    fn kinds_below(file: &str, text: &str, tops: &[String]) -> Vec<(HabitKind, usize)> {
        let calls = read_calls(file, Text::new(text.as_bytes()));
        habits(&calls.iter().collect::<Vec<_>>(), tops)
            .into_iter()
            .map(|habit| (habit.kind, habit.place.line))
            .collect()
    }

    #[test]
    fn tests_and_help_texts_have_no_habits() {
        let call = "run(\"terraform plan -lock=false\")\n";
        assert_eq!(kinds("pipeline/plan.py", call), [(HabitKind::LockFalse, 1)]);
        for file in ["pipeline/plan_test.py", "spec/plan.rb", "tests/plan.sh"] {
            assert_eq!(kinds(file, call), [], "{file}");
        }
        // What was asked for by name is no test for its name.
        for (file, top, fires) in [
            ("/srv/test/infra/plan.sh", "/srv/test/infra", true),
            ("test/plan.sh", "test/plan.sh", true),
            ("fixtures/x/plan.sh", "fixtures", true),
            ("fixtures/x/test/plan.sh", "fixtures/x", false),
            ("/srv/infra/tests/plan.sh", "/srv/infra", false),
            ("tests/plan.sh", ".", false),
        ] {
            assert_eq!(kinds_below(file, call, &[top.to_owned()]).len(), usize::from(fires), "{file} {top}");
        }
        let help = "const help = `\nUsage: tofu apply\n\n  -lock=false            Don't hold a state lock.\n\n  -x  Don't.\n`\n";
        assert_eq!(kinds("command/apply.go", help), []);
        let list = "var args = []string{\"plan\",\n  \"-lock=false\",  Extra}\n";
        assert_eq!(kinds("command/run.go", list), [(HabitKind::LockFalse, 2)]);
    }
}
