//! Which roles look as if they ran Terraform, where nobody said so. It is a guess, and marked as one.

use super::super::decision::Verdict;
use super::actor::Actor;
use super::asker::Headers;
use super::output::Part;
use super::sets::Row;
use super::world::World;

/// Words in names of roles that run.
const RUNS: [&str; 18] = [
    "tf",
    "terraform",
    "git",
    "tofu",
    "opentofu",
    "terragrunt",
    "ci",
    "cd",
    "cicd",
    "atlantis",
    "github",
    "gitlab",
    "jenkins",
    "spacelift",
    "runner",
    "apply",
    "deploy",
    "pipeline",
];

/// Words in names of roles for emergencies.
const EMERGENCY: [&str; 3] = ["breakglass", "emergency", "firefighter"];

/// More guesses than this help nobody.
const MOST: usize = 100;

/// A role, what it seems to be, and why.
pub(super) struct Guess {
    pub(super) actor: usize,
    pub(super) part: Part,
    pub(super) why: String,
}

/// Guesses for principals without a part, and how many more there would be. Nothing where the configuration names runners.
pub(super) fn guesses(world: &World<'_>, rows: &[Row]) -> (Vec<Guess>, usize) {
    if !world.input.roles.name_no_runner() {
        return (Vec::new(), 0);
    }
    let mut found = Vec::new();
    for (at, actor) in world.real() {
        let Some(name) = actor.arn.as_deref().and_then(|arn| arn.rsplit('/').next()) else { continue };
        if actor.part != Part::Other || actor.of.is_none() && !actor.assumed {
            continue;
        }
        let words = words(name);
        if words.concat().contains("breakglass")
            || words.iter().any(|word| EMERGENCY.contains(&word.as_str()))
        {
            found.push(Guess { actor: at, part: Part::BreakGlass, why: "its name".to_owned() });
            continue;
        }
        let Some(row) = rows.get(at) else { continue };
        let mut why = Vec::new();
        if words.iter().any(|word| RUNS.contains(&word.as_str()) || word == "plan") {
            why.push("its name");
        }
        // Somebody with all rights has these rights, too.
        let wide = row.strips("s3:PutBucketPolicy").is_real();
        let locks = row.all_rights().any(|rights| rights.can_create().is_real() && !rights.delete.is_no());
        if !wide && locks {
            why.push("it may create and delete locks");
        }
        let lower = name.to_lowercase();
        if lower.len() > 3
            && world.input.seen_holders.iter().any(|holder| holder.to_lowercase().contains(&lower))
        {
            why.push("locks of the past name it");
        }
        let touches = locks || row.all_rights().any(|rights| rights.get.is_real());
        if why.is_empty() || why == ["its name"] && !touches && !works_with_a_state(world, actor) {
            continue;
        }
        let part = if words.iter().any(|word| word == "plan") { Part::Plan } else { Part::Runner };
        found.push(Guess { actor: at, part, why: why.join(", ") });
    }
    // The better founded ones; who has more of them needs a configuration, not a guess.
    found.sort_by_key(|guess: &Guess| std::cmp::Reverse(guess.why.matches(", ").count()));
    let left = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    (found, left)
}

fn works_with_a_state(world: &World<'_>, actor: &Actor<'_>) -> bool {
    let mut asker = world.asker(actor);
    let (_, firsts) = world.state_classes(actor);
    firsts.into_iter().filter_map(|first| world.keys.get(first)).any(|key| {
        let decision = asker.ask("s3:PutObject", &world.object(&key.state), Headers::Plain);
        decision.verdict == Verdict::Allowed || decision.is_conditional()
    })
}

/// `tfApply-prod_1` is `tf`, `apply`, `prod`, `1`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut lower_before = false;
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || c.is_uppercase() && lower_before;
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words("tfApply-prod_1"), ["tf", "apply", "prod", "1"]);
        assert_eq!(words("GitHubActionsRole"), ["git", "hub", "actions", "role"]);
        assert_eq!(words("--"), [""; 0]);
    }
}
