//! What a pull request says: title, Markdown body, commit message. Everything that comes from files is escaped, so
//! that nothing becomes markup, a mention or a link here that the plan did not mean.

use std::collections::BTreeSet;

use super::markdown::{code, plain, span};
use super::words::{clip, count, verdict, visible, visible_lines};
use crate::migrate::group::Group;
use crate::migrate::phase::Phase;
use crate::migrate::plan::{Plan, RootPlan};
use crate::migrate::reinit;
use crate::migrate::states::{self, State};
use crate::repo::facts::Tool;
use crate::repo::inventory::{Inventory, LockMode, RootKind, RootModule};

/// GitHub takes 65,536 characters; what would go further is left out at the end of a section, and said.
const LIMIT: usize = 60_000;

/// Entries of one list.
const ENTRIES: usize = 100;

/// One group of a plan, and what is known around it.
#[derive(Debug, Clone, Copy)]
pub struct PullRequest<'a> {
    /// The whole plan.
    pub plan: &'a Plan,
    /// The part of it that this request makes.
    pub group: &'a Group,
    /// The repository before.
    pub before: &'a Inventory,
    /// The repository with the whole plan carried out.
    pub after: &'a Inventory,
    /// Branches with commits that this one lacks, or why that is not known.
    pub branches: Result<&'a [String], &'a str>,
}

impl PullRequest<'_> {
    /// One line.
    pub fn title(&self) -> String {
        let what = match self.plan.phase {
            Phase::Dual | Phase::Final if self.all_unlocked() => "Lock state in S3 where nothing locked it",
            Phase::Dual => "Take the S3 state lock beside the DynamoDB lock",
            Phase::Final => "Lock state in S3 alone, without DynamoDB",
            Phase::Rollback => "Take state locking one step back to DynamoDB",
        };
        let name =
            if self.group.name.is_empty() { self.size() } else { clip(&self.group.name, 60).into_owned() };
        format!("{what} ({})", visible(&name))
    }

    fn size(&self) -> String {
        match self.group.roots.len() {
            0 => count(self.group.files.len(), "file", "files"),
            n => count(n, "root module", "root modules"),
        }
    }

    /// The commit message: the title, why, and what to do afterwards.
    pub fn message(&self) -> String {
        let mut out = format!("{}\n\n{}\n", self.title(), self.why());
        if !self.roots().is_empty() {
            out.push_str("\nInitialise again before the next run: init -reconfigure, in\n");
            for root in self.group.roots.iter().take(ENTRIES) {
                out.push_str(&format!("  {}\n", visible(root)));
            }
            if let Some(more) = self.group.roots.len().checked_sub(ENTRIES).filter(|more| *more > 0) {
                out.push_str(&format!("  and {more} more\n"));
            }
        }
        for waived in self.waived() {
            out.push_str(&format!("\nWaived {}: {}\n", visible(&waived.gate), visible(&waived.reason)));
        }
        out
    }

    /// Whether none of its root modules took a lock before.
    fn all_unlocked(&self) -> bool {
        let roots = self.roots();
        !roots.is_empty() && roots.iter().all(|root| root.was_unlocked())
    }

    fn why(&self) -> String {
        const FIRST: &str = "took no lock before: they take the `.tflock` object in S3 from now on, and runs with the old \
                             settings still take none.";
        if self.all_unlocked() {
            return format!("These root modules {FIRST}");
        }
        let unlocked = self.roots().iter().filter(|root| root.was_unlocked()).count();
        let first =
            if unlocked > 0 { format!(" {unlocked} of these root modules {FIRST}") } else { String::new() };
        format!("{}{first}", self.why_of_phase())
    }

    fn why_of_phase(&self) -> &'static str {
        match self.plan.phase {
            Phase::Dual => {
                "Every run takes both locks from now on: the `.tflock` object in S3 and the item in DynamoDB. Runs \
                 with the old and with the new settings keep excluding each other, so nothing has to change at the \
                 same moment. The table goes in a later step."
            }
            Phase::Final => {
                "Every run takes the `.tflock` object in S3 and no DynamoDB item any more. All runs must have taken \
                 both locks before: a run that knows only the table does not see a lock in S3, and one of two \
                 writes would be lost."
            }
            Phase::Rollback => {
                "State locking goes one step back: from the lockfile alone to both locks, or from both locks to \
                 DynamoDB alone."
            }
        }
    }

    fn roots(&self) -> Vec<&RootPlan> {
        let wanted: BTreeSet<&str> = self.group.roots.iter().map(String::as_str).collect();
        self.plan.roots.iter().filter(|root| wanted.contains(root.path.as_str())).collect()
    }

    fn waived(&self) -> impl Iterator<Item = &crate::migrate::plan::Waived> {
        self.plan.waived.iter().filter(|waived| {
            waived.roots.is_empty() || waived.roots.iter().any(|root| self.group.roots.contains(root))
        })
    }

    /// The body.
    pub fn body(&self) -> String {
        let states = states::of_roots(self.before, &self.group.roots);
        let mut out = String::new();
        let sections = [
            self.what(),
            self.phases(),
            self.modules(),
            self.after_merging(),
            self.rights(&states),
            self.by_hand(),
            self.gates(),
            self.readers(&states),
            self.rebase(),
            self.back(),
            self.later(),
            self.links(),
        ];
        for section in sections {
            if section.is_empty() {
                continue;
            }
            if out.len() + section.len() > LIMIT {
                out.push_str(
                    "More was left out here: a description has a limit. `lockshift migrate` prints it.\n",
                );
                break;
            }
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&section);
        }
        out
    }

    fn what(&self) -> String {
        let mut out = format!("## What changes\n\n{}\n\n", self.why());
        let files: Vec<String> = self
            .group
            .files
            .iter()
            .filter_map(|index| self.plan.files.get(*index))
            .map(|file| span(&file.file))
            .collect();
        out.push_str(&format!(
            "{} in {}. Each edited file was parsed and merged again: every root module reaches the mode below, and \
             no other setting changes.\n",
            count(files.len(), "file changes", "files change"),
            count(self.group.roots.len(), "root module", "root modules")
        ));
        if self.group.roots.is_empty() {
            out.push('\n');
            out.push_str(&list(files));
        }
        out
    }

    fn phases(&self) -> String {
        let mark = |phase: Phase, text: &str| {
            if self.plan.phase == phase { format!("**{text}** (this change)") } else { text.to_owned() }
        };
        if self.plan.phase == Phase::Rollback {
            return String::new();
        }
        format!(
            "## The way\n\n1. {}: both locks are taken. Wait until every branch, runner and workstation has it.\n\
             2. {}: the table goes from the settings.\n3. The table itself is deleted, later and by itself.\n",
            mark(Phase::Dual, "Dual"),
            mark(Phase::Final, "Final")
        )
    }

    fn modules(&self) -> String {
        let roots = self.roots();
        if roots.is_empty() {
            return String::new();
        }
        let mut out = String::from(
            "## Root modules\n\n| root module | before | after | versions seen | state buckets |\n|---|---|---|---|---|\n",
        );
        for root in roots.iter().take(ENTRIES) {
            out.push_str(&format!(
                "| {} | {} | {} | {} | {} |\n",
                code(&root.path),
                modes(&root.before),
                modes(&root.after),
                self.module(&root.path).map(versions).unwrap_or_default(),
                root.buckets.iter().map(|bucket| code(bucket)).collect::<Vec<_>>().join(", ")
            ));
        }
        out.push_str(&more(roots.len()));
        out
    }

    fn module(&self, path: &str) -> Option<&RootModule> {
        self.before.roots.iter().find(|root| root.path == path)
    }

    fn after_merging(&self) -> String {
        let commands = reinit::commands(self.before, self.after, &self.group.roots);
        if commands.is_empty() {
            return String::new();
        }
        let total = commands.len();
        // Seen with Terraform 1.11: `init` itself reads the state, and fails at a digest that does not fit.
        let first = match self.plan.phase {
            Phase::Rollback => {
                "Where a table comes back, delete its digests **before** this (see below): `init` reads the state, too, \
                 and stops at a digest that does not fit.\n\n"
            }
            _ => "",
        };
        format!(
            "## After merging\n\n{first}A changed backend stops every run until it is initialised again, and a plan that was \
             saved before can't be applied. `-reconfigure` writes no state and keeps the selected workspace; \
             `-migrate-state` is not needed. Where only a backend-config file changed, nothing stops, and the **old \
             locks are taken until the next init**.\n\n{}{}",
            fence("sh", commands.into_iter().take(ENTRIES)),
            more(total)
        )
    }

    fn rights(&self, states: &[State]) -> String {
        let leads_to_s3 = self.plan.phase != Phase::Rollback;
        let Some(policy) = states::lock_policy(states).filter(|_| leads_to_s3) else { return String::new() };
        let untold = if states.iter().any(|state| state.bucket.is_none()) {
            "\nThe bucket of some states can't be told from the files: they need the same.\n"
        } else {
            ""
        };
        format!(
            "## Rights\n\nEvery role that plans or applies needs these **before** this is merged, roles that only plan \
             included; bucket policies that name state keys exactly need them, too. With a KMS key also \
             `kms:GenerateDataKey` and `kms:Decrypt`.\n\n{}{untold}",
            fence("json", policy.lines().map(str::to_owned))
        )
    }

    fn by_hand(&self) -> String {
        let steps: Vec<String> = self
            .plan
            .manual
            .iter()
            .filter(|step| {
                step.roots.is_empty() || step.roots.iter().any(|root| self.group.roots.contains(root))
            })
            .map(|step| {
                format!(
                    "{}: {}\n{}",
                    span(&format!("{}:{}", step.file, step.line)),
                    plain(&step.reason),
                    indented(&fence("", step.write.lines().map(str::to_owned)))
                )
            })
            .collect();
        if steps.is_empty() { String::new() } else { format!("## By hand\n\n{}", list(steps)) }
    }

    fn gates(&self) -> String {
        let waived: Vec<String> = self
            .waived()
            .map(|waived| format!("{}: {}", span(&waived.gate), plain(&waived.reason)))
            .collect();
        if waived.is_empty() { String::new() } else { format!("## Waived checks\n\n{}", list(waived)) }
    }

    fn readers(&self, states: &[State]) -> String {
        if self.plan.phase == Phase::Dual {
            return String::new();
        }
        let ours: BTreeSet<(&str, &str)> = states
            .iter()
            .filter_map(|state| Some((state.bucket.as_deref()?, state.key.as_deref()?)))
            .collect();
        let left: Vec<String> = self
            .after
            .readers
            .iter()
            .filter(|reader| reader.dynamodb_table.is_some() || reader.dynamodb_table_unknown.is_some())
            .filter(|reader| match (&reader.bucket, &reader.key) {
                (Some(bucket), Some(key)) => ours.contains(&(bucket, key)),
                _ => true,
            })
            .map(|reader| span(&reader.place.to_string()))
            .collect();
        let mut out = String::from(
            "## Readers elsewhere\n\n`terraform_remote_state` with `dynamodb_table` checks the digest. Once nobody \
             writes digests, such readers fail. Look for them in other repositories that read these states, and \
             take the table from them first.\n",
        );
        if !left.is_empty() {
            out.push_str("\nStill here:\n\n");
            out.push_str(&list(left));
        }
        if self.plan.phase == Phase::Rollback { String::new() } else { out }
    }

    fn rebase(&self) -> String {
        match self.branches {
            Ok([]) => String::new(),
            Ok(branches) => format!(
                "## Branches to rebase\n\nThese have commits that are not merged. A run from one of them takes the old \
                 locks until it is rebased:\n\n{}",
                list(branches.iter().map(|branch| span(branch)).collect())
            ),
            Err(why) => format!(
                "## Branches to rebase\n\nWhich branches have commits that are not merged is not known: {}. A run from \
                 one of them takes the old locks until it is rebased.\n",
                span(why)
            ),
        }
    }

    fn back(&self) -> String {
        match self.plan.phase {
            Phase::Dual => "## Going back\n\nRevert this change and run `init -reconfigure` again. Both locks were \
                            taken and the digests were kept up to date, so nothing else is needed.\n"
                .to_owned(),
            Phase::Final => "## Going back\n\n`lockshift migrate --phase rollback --rollback-table TABLE` brings the \
                             table back beside the lockfile. It prints which digests to delete first: they are not \
                             kept up to date without the table.\n"
                .to_owned(),
            Phase::Rollback => String::new(),
        }
    }

    fn later(&self) -> String {
        if self.plan.phase != Phase::Final {
            return String::new();
        }
        let tables: BTreeSet<&str> =
            self.roots().iter().flat_map(|root| &root.tables).map(String::as_str).collect();
        let tables: Vec<String> = tables.into_iter().map(span).collect();
        let named = if tables.is_empty() { String::new() } else { format!(" ({})", tables.join(", ")) };
        format!(
            "## Later\n\nKeep the lock table{named} for now. Other repositories may use it, and going back needs it. \
             When nothing has read or written it for some weeks, delete it and the rights on it in a change of its \
             own.\n"
        )
    }

    fn links(&self) -> String {
        let modules: Vec<&RootModule> =
            self.group.roots.iter().filter_map(|root| self.module(root)).collect();
        let mut links = BTreeSet::new();
        for module in &modules {
            if module.kind == RootKind::Terragrunt {
                links.insert(
                    "Terragrunt: <https://terragrunt.gruntwork.io/docs/reference/hcl/blocks/#remote_state>"
                        .to_owned(),
                );
            }
            for evidence in &module.versions.evidence {
                links.extend(documentation(evidence.tool, &evidence.text));
            }
        }
        if links.is_empty() {
            links.extend(documentation(Tool::Terraform, ""));
        }
        links.insert(
            "S3 conditional writes: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html>"
                .to_owned(),
        );
        format!("## Documentation\n\n{}", list(links.into_iter().collect()))
    }
}

/// The s3 backend's page for the version that a pin names, else the current one.
fn documentation(tool: Tool, text: &str) -> Option<String> {
    let mut numbers = text.trim().trim_start_matches(['v', '=', ' ']).split('.');
    let minor = match (numbers.next(), numbers.next().and_then(|minor| minor.parse::<u32>().ok())) {
        // Constraints (`~> 1.11`) admit more than one version; only a plain one has a page.
        (Some("1"), Some(minor)) => Some(minor),
        _ => None,
    };
    match (tool, minor) {
        (Tool::Terraform, Some(minor)) if minor >= 10 => Some(format!(
            "Terraform 1.{minor}: <https://developer.hashicorp.com/terraform/language/v1.{minor}.x/backend/s3>"
        )),
        (Tool::Terraform, _) => {
            Some("Terraform: <https://developer.hashicorp.com/terraform/language/backend/s3>".to_owned())
        }
        (Tool::OpenTofu, Some(minor)) if minor >= 10 => Some(format!(
            "OpenTofu 1.{minor}: <https://opentofu.org/docs/v1.{minor}/language/settings/backends/s3/>"
        )),
        (Tool::OpenTofu, _) => {
            Some("OpenTofu: <https://opentofu.org/docs/language/settings/backends/s3/>".to_owned())
        }
        (Tool::Terragrunt, _) => None,
    }
}

fn modes(modes: &[LockMode]) -> String {
    let words: BTreeSet<&str> = modes.iter().map(|mode| mode.as_str()).collect();
    words.into_iter().collect::<Vec<_>>().join(", ")
}

fn versions(root: &RootModule) -> String {
    let seen: Vec<String> = root.versions.evidence.iter().take(3).map(|one| code(&one.text)).collect();
    let seen = if seen.is_empty() { String::new() } else { format!(": {}", seen.join(", ")) };
    format!("{}{seen}", verdict(root.versions.verdict))
}

fn list(mut entries: Vec<String>) -> String {
    let total = entries.len();
    entries.truncate(ENTRIES);
    let mut out: String = entries.iter().map(|entry| format!("- {entry}\n")).collect();
    out.push_str(&more(total));
    out
}

fn more(total: usize) -> String {
    match total.checked_sub(ENTRIES) {
        Some(left) if left > 0 => format!("\n{left} more are not listed here.\n"),
        _ => String::new(),
    }
}

/// A code block whose fence is longer than any row of backticks in it.
fn fence(language: &str, lines: impl Iterator<Item = String>) -> String {
    let text = visible_lines(&lines.collect::<Vec<_>>().join("\n"));
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
