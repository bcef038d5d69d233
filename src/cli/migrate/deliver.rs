//! What becomes of a plan: shown, written, committed, put into files for pull requests.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::failure::Failure;
use super::super::output::{self, Terminal};
use super::{Args, Format, Planned};
use crate::interrupts;
use crate::migrate::commit::{Commit, commit};
use crate::migrate::diff;
use crate::migrate::forge::{self, Request};
use crate::migrate::git::{GitError, Repository};
use crate::migrate::group::{self, Group, groups};
use crate::migrate::plan::{FileChange, Plan};
use crate::migrate::reinit;
use crate::migrate::write::{Allowed, Written, write};
use crate::repo::inventory::Inventory;
use crate::repo::secret::without_secret_values;
use crate::report::plan_table::{self, PlanOptions};
use crate::report::pull_request::PullRequest;
use crate::report::words::{count, visible};
use crate::report::{plan_json, plan_table::screen_diff};

/// Does what the arguments ask for. Whether everything that was planned could be handed over.
pub(super) fn deliver(args: &Args, planned: &Planned, terminal: Terminal) -> Result<bool, Failure> {
    let plan = &planned.plan;
    let mut all_done = true;
    let mut said = String::new();
    if args.write {
        // A signal waits until each group is whole or as it was, and until that is said.
        let held = interrupts::hold().map_err(|error| Failure::new(error.to_string()))?;
        let written = written(args, plan)?;
        all_done = written.left.is_empty();
        said.push_str(&say_written(&written));
        if interrupts::heard() {
            output::to_stderr(&said);
        }
        drop(held);
    }
    if args.commit || args.pr_dir.is_some() {
        said.push_str(&requests(args, planned)?);
    }
    if let Some(file) = &args.reinit {
        let roots: Vec<String> = plan.roots.iter().map(|root| root.path.clone()).collect();
        save_script(file, &reinit::script(&planned.before, &planned.after(), &roots))?;
    }
    output::to_stderr(&said);
    // Who had the files written or committed wants no diff of them.
    let acted = args.write || args.commit || args.pr_dir.is_some();
    if args.format != Format::Diff || !acted {
        args.out.write_bytes(&shown(args, plan, terminal)?)?;
    }
    Ok(all_done)
}

fn shown(args: &Args, plan: &Plan, terminal: Terminal) -> Result<Vec<u8>, Failure> {
    let terminal = args.out.terminal(terminal);
    let options = PlanOptions { width: terminal.width, colour: terminal.colour_stdout };
    Ok(match args.format {
        Format::Table => plan_table::table(plan, options).into_bytes(),
        Format::Json => plan_json::render(plan)
            .map_err(|error| Failure::new(format!("could not write the result: {error}")))?
            .into_bytes(),
        Format::Diff => {
            let files: Vec<&FileChange> = plan.files.iter().collect();
            let base = Base::of(&files);
            if !args.quiet && !files.is_empty() && !base.is_here() {
                output::to_stderr(&format!(
                    "The diff's paths begin at {}.\n",
                    visible(&base.dir.display().to_string())
                ));
            }
            let diff = base.diff(&files);
            // On a terminal nothing is applied: there the bytes of files must not act.
            if terminal.width.is_some() {
                screen_diff(&diff, options.colour).into_bytes()
            } else {
                output::to_stderr(&warn_of_secrets(&diff));
                diff
            }
        }
    })
}

/// A diff that is to be applied has its lines as the files have them: whoever gets it should know what is in it.
fn warn_of_secrets(diff: &[u8]) -> String {
    let text = String::from_utf8_lossy(diff);
    let lines = text.lines().filter(|line| matches!(without_secret_values(line), Cow::Owned(_))).count();
    if lines == 0 {
        return String::new();
    }
    format!("The diff has {} with a secret in it: mind where it goes.\n", count(lines, "line", "lines"))
}

/// Where a diff's paths begin: the top of the repository, or where there is none (or more than one) the directory
/// that holds all files.
struct Base {
    dir: PathBuf,
}

impl Base {
    fn of(files: &[&FileChange]) -> Self {
        let real: Vec<PathBuf> = files
            .iter()
            .map(|file| fs::canonicalize(&file.os_path).unwrap_or(file.os_path.clone()))
            .collect();
        let tops: BTreeSet<Option<Repository>> = real.iter().map(|path| Repository::around(path)).collect();
        if let ([Some(repository)], true) = (tops.iter().collect::<Vec<_>>().as_slice(), tops.len() == 1) {
            return Self { dir: repository.top().to_owned() };
        }
        let here = fs::canonicalize(".").unwrap_or_default();
        if real.iter().all(|path| path.starts_with(&here)) {
            return Self { dir: here };
        }
        let holds_all = |dir: &&Path| real.iter().all(|path| path.starts_with(dir));
        let dir = real.first().and_then(|path| path.ancestors().skip(1).find(holds_all));
        Self { dir: dir.map(Path::to_owned).unwrap_or_default() }
    }

    fn is_here(&self) -> bool {
        fs::canonicalize(".").is_ok_and(|here| here.starts_with(&self.dir))
    }

    fn diff(&self, files: &[&FileChange]) -> Vec<u8> {
        let mut named: Vec<(Vec<u8>, &FileChange)> = files
            .iter()
            .map(|file| {
                let real = fs::canonicalize(&file.os_path).unwrap_or(file.os_path.clone());
                (diff::name_of(real.strip_prefix(&self.dir).unwrap_or(&real)), *file)
            })
            .collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        // One real file that is shown under two names changes once.
        named.dedup_by(|(a, first), (b, second)| a == b && first.after == second.after);
        named.iter().flat_map(|(name, file)| diff::unified(name, &file.before, &file.after)).collect()
    }
}

fn written(args: &Args, plan: &Plan) -> Result<Written, Failure> {
    let here = vec![PathBuf::from(".")];
    let paths = &args.tree.paths;
    let starts = if paths.is_empty() { &here } else { paths };
    let allowed = Allowed::below(starts).map_err(|error| Failure::new(format!("a path is gone: {error}")))?;
    Ok(write(plan, &allowed, &interrupts::heard))
}

fn say_written(written: &Written) -> String {
    let mut out = format!("Wrote {}.\n", count(written.files.len(), "file", "files"));
    for left in &written.left {
        out.push_str(&format!("Not written: {} {}\n", visible(&left.file), visible(&left.reason)));
        let others: Vec<_> = left.roots.iter().map(|root| visible(root)).collect();
        if !others.is_empty() {
            out.push_str(&format!("  nothing was changed in {}\n", others.join(", ")));
        }
        for (file, why) in &left.damaged {
            out.push_str(&format!("  but {} {}\n", visible(file), visible(why)));
        }
    }
    out
}

fn save_script(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("could not write {}: {error}", file.display()));
    output::write_file(text.as_bytes(), "--reinit", file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut mode = fs::metadata(file).map_err(failed)?.permissions();
        mode.set_mode(mode.mode() | 0o111);
        fs::set_permissions(file, mode).map_err(failed)?;
    }
    Ok(())
}

/// Commits, files for pull requests, and opened pull requests: what was made, for people.
fn requests(args: &Args, planned: &Planned) -> Result<String, Failure> {
    let plan = &planned.plan;
    if plan.files.is_empty() {
        return Ok("Nothing to commit.\n".to_owned());
    }
    let by = args.group_by.map_or(group::GroupBy::All, group::GroupBy::from);
    let groups = groups(plan, by);
    let after = planned.after();
    let repository = only_repository(plan)?;
    let branches = repository.as_ref().map_or(Ok(Vec::new()), Repository::unmerged_branches);
    let branches = branches.map_err(|error| error.to_string());
    let branches = branches.as_ref().map(Vec::as_slice).map_err(String::as_str);
    let made: Vec<(&Group, PullRequest<'_>)> =
        groups.iter().map(|group| (group, request(plan, group, &planned.before, &after, branches))).collect();
    let mut out = String::new();
    if let Some(dir) = &args.pr_dir {
        save(dir, plan, &made)?;
        out.push_str(&format!(
            "{} in {}.\n",
            count(made.len(), "pull request", "pull requests"),
            visible(&dir.display().to_string())
        ));
    }
    if args.commit {
        let repository = repository.ok_or_else(|| {
            Failure::new("--commit needs a git repository, and the files lie in none")
                .help("--write changes the files where they are")
        })?;
        out.push_str(&committed(args, plan, &repository, &made)?);
    }
    Ok(out)
}

fn request<'a>(
    plan: &'a Plan,
    group: &'a Group,
    before: &'a Inventory,
    after: &'a Inventory,
    branches: Result<&'a [String], &'a str>,
) -> PullRequest<'a> {
    PullRequest { plan, group, before, after, branches }
}

/// The repository that holds all files; none when they lie in none.
fn only_repository(plan: &Plan) -> Result<Option<Repository>, Failure> {
    let all: BTreeSet<Option<Repository>> =
        plan.files.iter().map(|file| Repository::around(&file.os_path)).collect();
    let mut all = all.into_iter();
    match (all.next(), all.next()) {
        (first, None) => Ok(first.flatten()),
        _ => Err(Failure::new("the files lie in more than one git repository")
            .help("run the command once in each of them")),
    }
}

fn files_of<'a>(plan: &'a Plan, group: &Group) -> Vec<&'a FileChange> {
    group.files.iter().filter_map(|index| plan.files.get(*index)).collect()
}

fn save(dir: &Path, plan: &Plan, made: &[(&Group, PullRequest<'_>)]) -> Result<(), Failure> {
    output::make_dir("--pr-dir", dir)?;
    let everything: Vec<&FileChange> = plan.files.iter().collect();
    let base = Base::of(&everything);
    output::to_stderr(&warn_of_secrets(&base.diff(&everything)));
    for (group, request) in made {
        for (end, bytes) in [
            ("patch", base.diff(&files_of(plan, group))),
            ("title", format!("{}\n", request.title()).into_bytes()),
            ("md", request.body().into_bytes()),
        ] {
            let path = dir.join(format!("{}.{end}", group.slug));
            output::write_file(&bytes, "--pr-dir", &path)?;
        }
    }
    Ok(())
}

fn committed(
    args: &Args,
    plan: &Plan,
    repository: &Repository,
    made: &[(&Group, PullRequest<'_>)],
) -> Result<String, Failure> {
    let branch = args.branch.clone().unwrap_or_else(|| format!("lockshift/{}", plan.phase.as_str()));
    let one = |(group, request): &(&Group, PullRequest<'_>)| Commit {
        message: request.message(),
        files: files_of(plan, group),
    };
    let failed = |error: GitError| Failure::new(error.to_string());
    if !args.open_pr {
        let commits: Vec<Commit<'_>> = made.iter().map(one).collect();
        commit(repository, &branch, &commits).map_err(failed)?;
        return Ok(format!(
            "{} on the new branch {}; the working tree is as it was.\n",
            count(commits.len(), "commit", "commits"),
            visible(&branch)
        ));
    }
    // Pull requests that can be merged in any order each begin at HEAD.
    let mut requests = Vec::new();
    for part in made {
        let (group, request) = part;
        let branch = if made.len() == 1 { branch.clone() } else { format!("{branch}-{}", group.slug) };
        commit(repository, &branch, &[one(part)]).map_err(failed)?;
        let body = args.pr_dir.clone().unwrap_or_default().join(format!("{}.md", group.slug));
        let body = fs::canonicalize(&body).unwrap_or(body);
        requests.push(Request { branch, title: request.title(), body });
    }
    let said = forge::open(repository, &requests).map_err(failed)?;
    Ok(said.lines().map(|line| format!("{}\n", visible(line))).collect())
}
