//! Partial configuration: which backend-config files and flags belong to which root module, and in which
//! combinations. Pure; settings are neither read nor merged here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::facts::{Call, dir_of};
use super::habits::{habits, shared_var_files};
use super::inventory::{Habit, SharedVarFile};
use super::pattern::{Captures, Index, Pattern, above, agree};
use super::script_paths::{bases, is_test, reach};
use super::secret::shown;
use super::setting::Value;
use super::source::{Source, SourceKind};
use super::syntax::backend_arguments::has_backend_shape;
use super::syntax::dirs::strip_base;
use super::syntax::flags::is_false;

pub use super::script_paths::{is_automation, is_well_known};

/// A directory with an s3 backend block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootInput<'a> {
    /// The directory, as shown to people; `.` for the top.
    pub path: &'a str,
    /// Whether the block sets `bucket`.
    pub has_bucket: bool,
    /// Whether the block sets `key`.
    pub has_key: bool,
}

/// One combination of files and flags with which a root module is initialised.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// For people: file paths and `name=value`, in merge order.
    pub label: Vec<String>,
    /// Indices of the sources, in merge order.
    pub sources: Vec<usize>,
    /// Files that the command names and that were not found: what they set can't be told.
    pub missing: Vec<String>,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attribution {
    /// For each root module, its choices: at least one, in order of their labels.
    pub choices: BTreeMap<String, Vec<Choice>>,
    /// Sources that belong to no root module, with the reason.
    pub unattributed: Vec<(usize, String)>,
    /// Files that are both backend-config and var-file.
    pub shared_var_files: Vec<SharedVarFile>,
    /// Habits seen in the calls.
    pub habits: Vec<Habit>,
}

/// Combinations of one call beyond this many are not told apart.
const MAX_COMBINATIONS: usize = 256;
/// Calls without a known directory that are tried on one root module.
const MAX_WANDERING: usize = 20;
/// Lists of arguments with files in them that one script keeps, at most.
const MAX_KEPT: usize = 64;
/// Flags kept in more places of one script than this are not told apart.
const MAX_BRANCHES: usize = 8;
/// How far below a root module a file is taken for its own because of its name, or because of its shape.
const NAME_DEPTH: usize = 3;
const SHAPE_DEPTH: usize = 2;

/// Existing files that calls name as backend-config: they are to be read whatever their names are.
pub fn named_files<'f>(calls: &[&Call], files: &[&'f str]) -> BTreeSet<&'f str> {
    let index = Index::new(files.iter().enumerate().map(|(at, path)| (*path, at)));
    let mut found = BTreeSet::new();
    let mut seen = HashSet::new();
    for (written, _) in calls.iter().flat_map(|call| &call.config_files) {
        if !seen.insert(written.as_str()) {
            continue;
        }
        let path = strip_base(written).unwrap_or(written);
        let path = path.trim_start_matches("../").trim_start_matches("./");
        let Some(pattern) = Pattern::anywhere(path).filter(|pattern| !pattern.is_open()) else { continue };
        found.extend(index.find(&pattern).iter().filter_map(|(at, _)| files.get(*at).copied()));
    }
    found
}

/// Gives every backend-config file and flag among `sources` to the root modules that it configures.
///
/// Files and flags of other kinds among `sources` are passed over. A call's flags are found among `sources` by
/// file and position.
pub fn attribute(
    roots: &[RootInput<'_>],
    sources: &[Source],
    calls: &[&Call],
    tops: &[String],
) -> Attribution {
    let mut work = Work { tops, ..Work::new(roots, sources) };
    let mut calls = calls.to_vec();
    calls.sort_by(|a, b| a.place.file.cmp(&b.place.file));
    let scripts: Vec<&[&Call]> = calls.chunk_by(|a, b| a.place.file == b.place.file).collect();
    // Scripts know nothing of each other; what they come to is put together in their order.
    let read: Vec<Scripted<'_>> =
        scripts.par_iter().with_min_len(16).map(|calls| work.script(calls)).collect();
    let wandering: Vec<&Call> = read.into_iter().flat_map(|script| work.take(script)).collect();
    work.named();
    work.shaped();
    work.wander(&wandering);
    let mut result = work.finish();
    let files = sources.iter().filter(|source| source.kind == SourceKind::BackendConfigFile);
    let files = files.map(|source| source.place.file.as_str()).collect();
    (result.shared_var_files, result.habits) =
        rayon::join(|| shared_var_files(&scripts, &files), || habits(&calls, tops));
    result
}

/// What the calls of one script come to.
#[derive(Default)]
struct Scripted<'c> {
    /// Choices by root module.
    choices: BTreeMap<usize, Vec<Choice>>,
    /// Flags of calls whose command can't be told, by root module.
    loose: BTreeMap<usize, Vec<usize>>,
    /// Calls whose directory can't be told.
    wandering: Vec<&'c Call>,
    /// Flags that configure nothing, with the reason.
    blamed: Vec<(usize, String)>,
}

struct Work<'a> {
    roots: &'a [RootInput<'a>],
    sources: &'a [Source],
    /// The paths that were asked for.
    tops: &'a [String],
    root_index: Index<'a>,
    /// Root modules that lack bucket or key.
    partial_index: Index<'a>,
    file_index: Index<'a>,
    flags: HashMap<(&'a str, usize), usize>,
    /// Well-known files by the nearest root module.
    named: BTreeMap<usize, Vec<usize>>,
    choices: BTreeMap<usize, Vec<Choice>>,
    /// Flags of calls whose command can't be told, by root module: they go onto every choice.
    loose: BTreeMap<usize, Vec<usize>>,
    used: BTreeSet<usize>,
    why: BTreeMap<usize, String>,
}

impl<'a> Work<'a> {
    fn new(roots: &'a [RootInput<'a>], sources: &'a [Source]) -> Self {
        let of_kind =
            |kind: SourceKind| sources.iter().enumerate().filter(move |(_, source)| source.kind == kind);
        let is_partial = |root: &RootInput<'_>| !(root.has_bucket && root.has_key);
        let lacking = || roots.iter().enumerate().filter(|(_, root)| is_partial(root));
        let (root_index, partial_index) = rayon::join(
            || Index::new(roots.iter().enumerate().map(|(at, root)| (root.path, at))),
            || Index::new(lacking().map(|(at, root)| (root.path, at))),
        );
        let mut named: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, source) in of_kind(SourceKind::BackendConfigFile) {
            let file = source.place.file.as_str();
            if is_well_known(file)
                && let Some(root) = nearest(&root_index, roots, file, NAME_DEPTH)
            {
                named.entry(root).or_default().push(at);
            }
        }
        Self {
            roots,
            sources,
            tops: &[],
            root_index,
            partial_index,
            file_index: Index::new(
                of_kind(SourceKind::BackendConfigFile).map(|(at, source)| (source.place.file.as_str(), at)),
            ),
            flags: of_kind(SourceKind::BackendConfigFlag)
                .map(|(at, source)| ((source.place.file.as_str(), source.span.start), at))
                .collect(),
            named,
            choices: BTreeMap::new(),
            loose: BTreeMap::new(),
            used: BTreeSet::new(),
            why: BTreeMap::new(),
        }
    }

    fn is_complete(&self, root: usize) -> bool {
        self.roots.get(root).is_some_and(|root| root.has_bucket && root.has_key)
    }

    /// All calls of one script.
    fn script<'c>(&self, calls: &[&'c Call]) -> Scripted<'c> {
        let mut found = Scripted::default();
        let file = calls.first().map_or("", |call| call.place.file.as_str());
        // What a script keeps in a variable, an array or TF_CLI_ARGS_init is for the `init`s that it runs.
        let configures = |call: &Call| !call.config_files.is_empty() || !call.config_flags.is_empty();
        let is_kept = |call: &Call| call.subcommand != "init" && configures(call);
        let runs = match calls.iter().any(|call| is_kept(call)) && !is_test(file, self.tops) {
            true => self.runs(file, calls),
            false => BTreeMap::new(),
        };
        let mut kept = Vec::new();
        let mut blame = |call: &Call, why: &str| {
            found.blamed.extend(self.flags_of(call).into_iter().map(|flag| (flag, why.to_owned())));
        };
        for call in calls {
            if !configures(call) && call.subcommand != "init" {
                continue;
            }
            let waits = !runs.is_empty() && is_kept(call);
            // Where it is assigned is not where it is used; a directory with a backend is told on purpose.
            if waits && call.dir.is_none() {
                kept.push(*call);
                continue;
            }
            let targets = match self.targets(file, call) {
                Targets::Unknown | Targets::None(_) if waits => {
                    kept.push(*call);
                    continue;
                }
                Targets::Roots(targets) => targets,
                Targets::Unknown if is_test(file, self.tops) => {
                    blame(call, "it stands in a test, and no root module is named there");
                    continue;
                }
                Targets::Unknown => {
                    if configures(call) {
                        found.wandering.push(*call);
                    }
                    continue;
                }
                Targets::None(why) => {
                    blame(call, &why);
                    continue;
                }
            };
            if call.config_files.is_empty() && call.subcommand != "init" {
                for (root, _) in targets {
                    found.loose.entry(root).or_default().extend(self.flags_of(call));
                }
                continue;
            }
            let mut here: Vec<(usize, Vec<Choice>)> = targets
                .into_iter()
                .map(|(root, captures)| (root, self.combinations(file, call, root, &captures)))
                .collect();
            // `-chdir=apps/$app -backend-config=dev.tfbackend`: it runs in those that have the file.
            let literal =
                call.config_files.iter().all(|(written, _)| !written.contains(['$', '{', '%', '<']));
            let is_there = |choices: &Vec<Choice>| choices.iter().any(|choice| choice.missing.is_empty());
            if literal && here.iter().any(|(_, choices)| is_there(choices)) {
                here.retain(|(_, choices)| is_there(choices));
            }
            for (root, choices) in here {
                found.choices.entry(root).or_default().extend(choices);
            }
        }
        for (root, choices) in &mut found.choices {
            for flag in found.loose.remove(root).unwrap_or_default() {
                choices.iter_mut().for_each(|choice| choice.sources.push(flag));
            }
        }
        if !kept.is_empty() {
            let inits = calls.iter().filter(|call| call.subcommand == "init").count();
            self.hand_over(file, &kept, &runs, inits, &mut found.choices);
        }
        found
    }

    /// The root modules in which a script runs `init`, as far as that can be told.
    fn runs(&self, file: &str, calls: &[&Call]) -> BTreeMap<usize, Captures> {
        let mut runs = BTreeMap::new();
        for call in calls.iter().filter(|call| call.subcommand == "init") {
            if let Targets::Roots(targets) = self.targets(file, call) {
                for (root, captures) in targets {
                    runs.entry(root).or_insert(captures);
                }
            }
        }
        runs
    }

    /// Gives what a script keeps for later to the root modules in which it runs `init`. Which `init` takes it, and
    /// whether it was assigned on some condition, is not told: flags go onto every choice, files make choices of
    /// their own. Where flags could make a backend look better than it is, what it is without them stays, too.
    fn hand_over(
        &self,
        file: &str,
        kept: &[&Call],
        runs: &BTreeMap<usize, Captures>,
        inits: usize,
        choices: &mut BTreeMap<usize, Vec<Choice>>,
    ) {
        let (flags, whole): (Vec<&Call>, Vec<&Call>) =
            kept.iter().partition(|call| call.config_files.is_empty());
        let mut more: Vec<(usize, Vec<Choice>)> = Vec::new();
        // Further ones are listed as files and flags of nobody.
        for call in whole.into_iter().take(MAX_KEPT) {
            let mut here: Vec<(usize, Vec<Choice>)> = runs
                .iter()
                .map(|(root, captures)| (*root, self.combinations(file, call, *root, captures)))
                .collect();
            // It is for those that have the file, where some have.
            let is_there = |choices: &Vec<Choice>| choices.iter().any(|choice| choice.missing.is_empty());
            if here.iter().any(|(_, choices)| is_there(choices)) {
                here.retain(|(_, choices)| is_there(choices));
            }
            more.extend(here);
        }
        if inits == 1 {
            for (root, _) in &more {
                let own = choices.entry(*root).or_default();
                own.retain(|choice| !choice.sources.is_empty() || !choice.missing.is_empty());
            }
        }
        for (root, more) in more {
            choices.entry(root).or_default().extend(more);
        }
        let groups: Vec<Vec<usize>> = flags.iter().map(|call| self.flags_of(call)).collect();
        let together = groups.concat();
        if together.is_empty() {
            return;
        }
        let betters = together.iter().any(|flag| self.may_better(*flag));
        for root in runs.keys() {
            let own = choices.entry(*root).or_default();
            if own.is_empty() {
                own.push(Choice::default());
            }
            let before = std::mem::take(own);
            let with = |flags: &[usize]| {
                let mut choices = before.clone();
                choices.iter_mut().for_each(|choice| choice.sources.extend(flags));
                choices
            };
            own.extend(with(&together));
            if betters {
                own.extend(with(&[]));
                // Of two branches of a script only one runs.
                let apart = groups.iter().filter(|_| groups.len() > 1 && groups.len() <= MAX_BRANCHES);
                own.extend(apart.flat_map(|flags| with(flags)));
            }
        }
    }

    /// Whether a flag can make a backend lock in the lockfile alone.
    fn may_better(&self, flag: usize) -> bool {
        let settings = self.sources.get(flag).map(|source| source.settings.as_slice()).unwrap_or_default();
        settings.iter().any(|setting| match (setting.name.as_str(), &setting.value) {
            ("use_lockfile", Value::Text(text)) => !is_false(text),
            ("dynamodb_table", Value::Text(text)) => text.is_empty(),
            _ => false,
        })
    }

    /// Takes what one script comes to; calls whose directory can't be told come back.
    fn take<'c>(&mut self, script: Scripted<'c>) -> Vec<&'c Call> {
        for (flag, why) in script.blamed {
            self.why.entry(flag).or_insert(why);
        }
        for (root, choices) in script.choices {
            self.add(root, choices);
        }
        for (root, flags) in script.loose {
            self.loose.entry(root).or_default().extend(flags);
        }
        script.wandering
    }

    fn add(&mut self, root: usize, choices: Vec<Choice>) {
        self.used.extend(choices.iter().flat_map(|choice| choice.sources.iter().copied()));
        self.choices.entry(root).or_default().extend(choices);
    }

    /// Which root modules a call runs in.
    fn targets(&self, file: &str, call: &Call) -> Targets {
        let home = dir_of(file);
        if let Some(dir) = &call.dir {
            if Pattern::below(".", dir).is_some_and(|pattern| pattern.is_open()) {
                return Targets::Unknown;
            }
            for base in bases(file) {
                let Some(pattern) = Pattern::below(base, dir) else { continue };
                let found = self.root_index.find(&pattern);
                if !found.is_empty() {
                    return Targets::Roots(found);
                }
            }
            return Targets::None(format!(
                "the command runs in `{}`, which is no root module here",
                shown(dir)
            ));
        }
        if let Some(root) = self.root_index.get(home) {
            return Targets::Roots(vec![(root, Captures::new())]);
        }
        // A pipeline's commands run at the top of the repository unless they say otherwise.
        if is_automation(file)
            && let Some(root) = self.root_index.get(reach(file))
        {
            return Targets::Roots(vec![(root, Captures::new())]);
        }
        // Where the file that it names stands below a root module, it runs there.
        let mut found = BTreeMap::new();
        for (written, _) in &call.config_files {
            let Some(pattern) = Pattern::anywhere(strip_base(written).unwrap_or(written)) else { continue };
            if pattern.is_open() {
                continue;
            }
            for (source, _) in self.file_index.find(&pattern) {
                let Some(path) = self.sources.get(source).map(|source| source.place.file.as_str()) else {
                    continue;
                };
                let mut dir = path;
                for _ in 0..pattern.len() {
                    dir = dir_of(dir);
                }
                if let Some(root) = self.root_index.get(dir) {
                    found.entry(root).or_insert_with(Captures::new);
                }
            }
            if found.is_empty() {
                // Named from the script's own directory or from the top: the root module around it.
                for base in bases(file) {
                    let Some(pattern) = Pattern::below(base, strip_base(written).unwrap_or(written)) else {
                        continue;
                    };
                    for (source, _) in self.file_index.find(&pattern) {
                        let path = self.sources.get(source).map_or("", |source| source.place.file.as_str());
                        if let Some(root) = self.root_index.nearest(dir_of(path)) {
                            found.entry(root).or_insert_with(Captures::new);
                        }
                    }
                }
            }
        }
        if found.is_empty() { Targets::Unknown } else { Targets::Roots(found.into_iter().collect()) }
    }

    /// Every combination of files and flags of one call in one root module.
    fn combinations(&self, file: &str, call: &Call, root: usize, captures: &Captures) -> Vec<Choice> {
        let home = self.roots.get(root).map_or(".", |root| root.path);
        let mut items: Vec<(usize, Option<&str>)> =
            call.config_files.iter().map(|(written, span)| (span.start, Some(written.as_str()))).collect();
        items.extend(call.config_flags.iter().map(|flag| (flag.span.start, None)));
        items.sort_unstable();
        let mut combinations = vec![(Choice::default(), captures.clone())];
        for (at, written) in items {
            let Some(written) = written else {
                if let Some(flag) = self.flags.get(&(file, at)) {
                    combinations.iter_mut().for_each(|(choice, _)| choice.sources.push(*flag));
                }
                continue;
            };
            let options = self.resolve(file, home, root, written);
            let mut next = Vec::new();
            for (choice, bound) in &combinations {
                for (source, more) in &options {
                    if let Some(bound) = agree(bound, more).filter(|_| next.len() < MAX_COMBINATIONS) {
                        let mut choice = choice.clone();
                        choice.sources.push(*source);
                        next.push((choice, bound));
                    }
                }
            }
            if next.is_empty() {
                combinations.iter_mut().for_each(|(choice, _)| choice.missing.push(written.to_owned()));
            } else {
                combinations = next;
            }
        }
        combinations.into_iter().map(|(choice, _)| choice).collect()
    }

    /// The files that a written path can mean, seen from a root module first.
    fn resolve(&self, file: &str, home: &str, root: usize, written: &str) -> Vec<(usize, Captures)> {
        let stripped = strip_base(written);
        let path = stripped.unwrap_or(written);
        if Pattern::below(".", path).is_some_and(|pattern| pattern.is_open()) {
            // `$FILE` alone: one of the files that are there for this root module.
            let named = self.named.get(&root).map(Vec::as_slice).unwrap_or_default();
            return named.iter().map(|source| (*source, Captures::new())).collect();
        }
        let own = if stripped.is_some() { None } else { Some(home) };
        for base in own.into_iter().chain(bases(file)).chain(stripped.map(|_| home)) {
            let Some(pattern) = Pattern::below(base, path) else { continue };
            let found = self.file_index.find(&pattern);
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn flags_of(&self, call: &Call) -> Vec<usize> {
        let file = call.place.file.as_str();
        call.config_flags
            .iter()
            .filter_map(|flag| self.flags.get(&(file, flag.span.start)).copied())
            .collect()
    }

    fn blame(&mut self, call: &Call, why: &str) {
        for flag in self.flags_of(call) {
            self.why.entry(flag).or_insert_with(|| why.to_owned());
        }
    }

    /// Files with a well-known name that no call names.
    fn named(&mut self) {
        for (root, files) in std::mem::take(&mut self.named) {
            let complete = self.is_complete(root);
            let left: Vec<usize> = files.into_iter().filter(|file| !self.used.contains(file)).collect();
            if !left.is_empty() && complete && !self.choices.contains_key(&root) {
                self.add(root, vec![Choice::default()]); // it can be initialised without any of them
            }
            let choices =
                left.into_iter().map(|file| Choice { sources: vec![file], ..Choice::default() }).collect();
            self.add(root, choices);
        }
    }

    /// Files that only look like backend-config, or stand beside a root module.
    fn shaped(&mut self) {
        let sources = self.sources;
        let files =
            sources.iter().enumerate().filter(|(_, source)| source.kind == SourceKind::BackendConfigFile);
        for (at, source) in files {
            if self.used.contains(&at) {
                continue;
            }
            let file = source.place.file.as_str();
            let known_name = is_well_known(file);
            if !known_name && !has_backend_shape(&source.settings) {
                self.why.insert(
                    at,
                    "no call names it, and it does not have the shape of an s3 backend-config".to_owned(),
                );
                continue;
            }
            match nearest(&self.root_index, self.roots, file, SHAPE_DEPTH) {
                Some(root) if self.is_complete(root) => {
                    self.why.insert(
                        at,
                        "no call names it, and the root module's own block is complete".to_owned(),
                    );
                }
                Some(root) => self.add(root, vec![Choice { sources: vec![at], ..Choice::default() }]),
                None => match self.beside(dir_of(file)) {
                    Some(root) => self.add(root, vec![Choice { sources: vec![at], ..Choice::default() }]),
                    None => {
                        self.why.insert(
                            at,
                            "no call names it, and no single root module stands near it".to_owned(),
                        );
                    }
                },
            }
        }
    }

    /// The only root module that lacks settings below the directory's parent or grandparent.
    fn beside(&self, dir: &str) -> Option<usize> {
        for around in above(dir).skip(1).take(2) {
            let mut below = self.partial_index.under(around);
            if let Some(only) = below.next() {
                return below.next().is_none().then_some(only);
            }
        }
        None
    }

    /// Calls whose directory only a run can tell: they go to the root modules around the script that lack settings
    /// and have no other choice.
    fn wander(&mut self, calls: &[&Call]) {
        let mut offered: BTreeMap<usize, Vec<Choice>> = BTreeMap::new();
        let mut by_file: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for call in calls {
            by_file.entry(call.place.file.as_str()).or_default().push(call);
        }
        for (file, calls) in by_file {
            let (loose, whole): (Vec<&Call>, Vec<&Call>) =
                calls.iter().partition(|call| call.config_files.is_empty() && call.subcommand != "init");
            let flags: Vec<usize> = loose.iter().flat_map(|call| self.flags_of(call)).collect();
            let roots: Vec<usize> = self.partial_index.under(reach(file)).collect();
            for root in roots {
                let enough = offered.get(&root).is_some_and(|choices| choices.len() >= MAX_WANDERING);
                if self.choices.contains_key(&root) || enough {
                    continue;
                }
                let mut choices: Vec<Choice> = whole
                    .iter()
                    .flat_map(|call| self.combinations(file, call, root, &Captures::new()))
                    .collect();
                if choices.is_empty() {
                    choices.push(Choice::default());
                }
                choices.iter_mut().for_each(|choice| choice.sources.extend(&flags));
                choices.truncate(MAX_WANDERING);
                offered.entry(root).or_default().extend(choices);
            }
        }
        for (root, choices) in offered {
            self.add(root, choices);
        }
        for call in calls {
            let why = "the directory in which the command runs can't be told, and no root module near it lacks settings";
            self.blame(call, why);
        }
    }

    /// Choices in the same words, given in several scripts that are not edited, are one choice. (Editable ones stay
    /// apart: each script's flag is edited where it stands.)
    fn join_same_words(&self, choices: &mut Vec<Choice>) {
        let fixed = |choice: &Choice| {
            choice
                .sources
                .iter()
                .all(|at| self.sources.get(*at).is_some_and(|source| !source.editability.is_safe()))
        };
        let mut joined: Vec<Choice> = Vec::with_capacity(choices.len());
        for choice in std::mem::take(choices) {
            match joined.last_mut() {
                Some(last)
                    if last.label == choice.label
                        && last.missing == choice.missing
                        && fixed(last)
                        && fixed(&choice) =>
                {
                    last.sources.extend(choice.sources);
                }
                _ => joined.push(choice),
            }
        }
        *choices = joined;
    }

    /// A root module's choices: named, sorted, each once, at least one.
    fn settle(&self, root: RootInput<'_>, mut choices: Vec<Choice>) -> Vec<Choice> {
        for choice in &mut choices {
            choice.label =
                choice.sources.iter().filter_map(|source| self.sources.get(*source)).map(label).collect();
        }
        // A plain `init` says nothing about a root module that can't run without more.
        let says_something = |choice: &Choice| !choice.sources.is_empty() || !choice.missing.is_empty();
        if !(root.has_bucket && root.has_key) && choices.iter().any(says_something) {
            choices.retain(says_something);
        }
        choices.sort_by(|a, b| (&a.label, &a.sources, &a.missing).cmp(&(&b.label, &b.sources, &b.missing)));
        choices.dedup();
        self.join_same_words(&mut choices);
        if choices.is_empty() {
            choices.push(Choice::default());
        }
        choices
    }

    fn finish(mut self) -> Attribution {
        for (root, flags) in std::mem::take(&mut self.loose) {
            self.used.extend(&flags);
            let choices = self.choices.entry(root).or_default();
            if choices.is_empty() {
                choices.push(Choice::default());
            }
            choices.iter_mut().for_each(|choice| choice.sources.extend(&flags));
        }
        let mut result = Attribution::default();
        let mut taken = std::mem::take(&mut self.choices);
        let taken: Vec<(RootInput<'_>, Vec<Choice>)> = self
            .roots
            .iter()
            .enumerate()
            .map(|(at, root)| (*root, taken.remove(&at).unwrap_or_default()))
            .collect();
        let settled: Vec<(String, Vec<Choice>)> = taken
            .into_par_iter()
            .with_min_len(64)
            .map(|(root, choices)| (root.path.to_owned(), self.settle(root, choices)))
            .collect();
        result.choices = settled.into_iter().collect();
        for (at, source) in self.sources.iter().enumerate() {
            let ours = matches!(source.kind, SourceKind::BackendConfigFile | SourceKind::BackendConfigFlag);
            if ours && !self.used.contains(&at) {
                let why = self.why.remove(&at);
                result.unattributed.push((
                    at,
                    why.unwrap_or_else(|| "no call and no root module was found for it".to_owned()),
                ));
            }
        }
        result
    }
}

enum Targets {
    Roots(Vec<(usize, Captures)>),
    Unknown,
    None(String),
}

/// The nearest root module at most `depth` directories above a file.
fn nearest(index: &Index<'_>, roots: &[RootInput<'_>], file: &str, depth: usize) -> Option<usize> {
    let dir = dir_of(file);
    let root = index.nearest(dir)?;
    let parts = |path: &str| path.split('/').filter(|part| *part != "." && !part.is_empty()).count();
    let above = parts(dir).checked_sub(parts(roots.get(root)?.path))?;
    (above <= depth).then_some(root)
}

fn label(source: &Source) -> String {
    if source.kind == SourceKind::BackendConfigFile {
        return source.place.file.clone();
    }
    let Some(setting) = source.settings.first() else { return source.place.to_string() };
    let value = match &setting.value {
        Value::Text(text) | Value::Number(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Unknown { expression, .. } => expression.clone(),
        _ => "***".to_owned(),
    };
    format!("{}={value}", setting.name)
}

#[cfg(test)]
#[path = "partial_tests.rs"]
mod tests;
