//! What the gates say about one root module: facts of the whole repository are looked up once, then each root module
//! is asked. Pure; what gates there are stands in [`super::gate`].

use std::collections::BTreeMap;

use super::gate::{self, Hit};
use super::options::{Context, History, Options};
use super::phase::Phase;
use super::want::{LOCKFILE, LOCKS, TABLE, Wants, deciding, names_table, own_mode, sets_lockfile};
use crate::repo::facts::dir_of;
use crate::repo::inventory::{
    EffectiveBackend, Habit, HabitKind, Inventory, Knowable, LockMode, RootModule, SourceRef, VersionVerdict,
};
use crate::repo::problem::{Problem, ProblemKind};
use crate::repo::shown::resolve;
use crate::repo::source::{Source, SourceKind};
use crate::repo::text::Place;

/// What all root modules are judged against: built once, asked for each.
pub struct Judge<'a> {
    inventory: &'a Inventory,
    context: &'a Context<'a>,
    options: &'a Options,
    /// Problems by the directory that they stand in.
    problems: BTreeMap<&'a str, Vec<&'a Problem>>,
    /// Readers that keep a table, by the bucket and key that they may read.
    readers: Vec<(Option<&'a str>, Option<&'a str>, &'a Place)>,
    /// Sources that keep a table and belong to nobody.
    left: Vec<&'a Source>,
    /// Runs without a lock, and the directories below which they may run.
    habits: Vec<(&'a Habit, Vec<String>)>,
}

impl<'a> Judge<'a> {
    /// `edited` tells whether the plan takes the table out of a source that belongs to no root module.
    pub fn new(
        inventory: &'a Inventory,
        context: &'a Context<'a>,
        options: &'a Options,
        edited: &dyn Fn(usize) -> bool,
    ) -> Self {
        let mut problems: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
        for problem in &inventory.problems {
            problems.entry(dir_of(&problem.place.file)).or_default().push(problem);
        }
        let readers = inventory
            .readers
            .iter()
            .filter(|reader| reader.dynamodb_table.is_some() || reader.dynamodb_table_unknown.is_some())
            .filter(|reader| !edited(reader.source))
            .map(|reader| (reader.bucket.as_deref(), reader.key.as_deref(), &reader.place))
            .collect();
        let left = inventory
            .unattributed
            .iter()
            .filter(|left| !edited(left.source))
            .filter_map(|left| inventory.sources.get(left.source))
            .filter(|source| names_table(source))
            .collect();
        let lockless = inventory.habits.iter().filter(|habit| habit.kind == HabitKind::LockFalse);
        let habits = lockless.map(|habit| (habit, scopes(inventory, habit))).collect();
        Self { inventory, context, options, problems, readers, left, habits }
    }

    /// What stops a root module before it is known whether anything is to change.
    pub fn readable(&self, root: &RootModule, backends: &[usize]) -> Vec<Hit> {
        let own = self.problems.get(root.path.as_str()).into_iter().flatten().copied();
        let mut files: Vec<&str> =
            chosen(root, backends).flat_map(|b| &b.sources).map(|at| at.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        let elsewhere = files
            .iter()
            .filter(|file| dir_of(file) != root.path)
            .flat_map(|file| self.problems.get(dir_of(file)).into_iter().flatten().map(move |p| (file, *p)))
            .filter(|(file, problem)| problem.place.file == **file)
            .map(|(_, problem)| problem);
        let mut hits = Vec::new();
        for problem in own.chain(elsewhere) {
            let gate = match problem.kind {
                ProblemKind::DuplicateBackend | ProblemKind::BackendAndCloud | ProblemKind::InvalidValue => {
                    &gate::NOT_INITIALISABLE
                }
                kind if kind.hides_something() => &gate::UNREAD,
                _ => continue,
            };
            hits.push(Hit::new(gate, problem.place.clone(), problem.message.clone()));
        }
        for backend in chosen(root, backends).filter(|backend| backend.mode == LockMode::Unknown) {
            let why = backend.dynamodb_table.unknown().or(backend.use_lockfile.unknown()).unwrap_or("");
            let place = deciding_place(self.inventory, root, backend, LOCKS);
            let reason = format!("which locks a run takes can't be told: {why}");
            hits.push(Hit::new(&gate::UNRESOLVED_SETTING, place, reason));
        }
        hits.extend(chosen(root, backends).filter_map(|backend| self.override_unset(root, backend)));
        hits
    }

    fn override_unset(&self, root: &RootModule, backend: &EffectiveBackend) -> Option<Hit> {
        let winner =
            backend.sources.iter().find(|at| !at.shadowed && at.kind == SourceKind::BackendOverride)?;
        let lost = |at: &&SourceRef| {
            let source = self.inventory.sources.get(at.source);
            at.shadowed && source.is_some_and(|s| names_table(s) || sets_lockfile(s) == Some(true))
        };
        let unset = backend.mode == LockMode::None && self.options.phase != Phase::Rollback;
        let loser = backend.sources.iter().find(lost).filter(|_| unset)?;
        let place = Place { file: winner.file.clone(), line: winner.line, column: winner.column };
        let reason = format!(
            "this override replaces the whole block of `{}` and drops the lock that `{}` sets: nobody locks here \
             now; repeat the lock settings in the override first",
            root.path, loser.file
        );
        Some(Hit::new(&gate::OVERRIDE_UNSET, place, reason))
    }

    /// What stops a root module that is to change. `backends` are those that change.
    pub fn change(&self, root: &RootModule, backends: &[usize], bumped: bool) -> Vec<Hit> {
        let phase = self.options.phase;
        let mut hits = Vec::new();
        if phase == Phase::Rollback {
            let unnamed = self.options.rollback_table.is_none();
            for backend in chosen(root, backends).filter(|b| unnamed && b.mode == LockMode::Lockfile) {
                let place = deciding_place(self.inventory, root, backend, &[LOCKFILE]);
                let reason = "both locks again needs the table's name: nothing here says which it was";
                hits.push(Hit::new(&gate::TABLE_UNNAMED, place, reason));
            }
            return hits;
        }
        if !bumped {
            hits.extend(self.versions(root));
        }
        hits.extend(self.lock_disabled(root));
        for backend in chosen(root, backends) {
            hits.extend(self.endpoint(root, backend));
            hits.extend(self.rights(root, backend));
            if phase == Phase::Final {
                hits.extend(self.soaked(root, backend));
                hits.extend(self.readers_of(root, backend));
                hits.extend(self.evidence(root, backend));
            }
        }
        if phase == Phase::Final {
            hits.extend(self.left_for(root));
        }
        hits
    }

    /// What stops the table from leaving these sources, be the root module's own mode what it may.
    pub fn leave(&self, root: &RootModule, backends: &[usize], wants: &Wants) -> Vec<Hit> {
        let mut hits = self.var_files(wants);
        let source = |at: &SourceRef| self.inventory.sources.get(at.source);
        for backend in chosen(root, backends) {
            if !backend.sources.iter().any(|at| !at.shadowed && at.git_ignored) {
                continue;
            }
            let hidden = backend.sources.iter().filter(|at| at.shadowed).filter_map(source);
            hits.extend(hidden.filter(|source| own_mode(source) == LockMode::Dynamodb).map(|source| {
                let reason = "git ignores the file that replaces this block: where it is absent, only the table is \
                              locked; run `--phase dual` first";
                Hit::new(&gate::DUAL_PHASE_SKIPPED, source.place.clone(), reason)
            }));
        }
        hits
    }

    fn versions(&self, root: &RootModule) -> Option<Hit> {
        let verdict = root.versions.verdict;
        let (gate, says, help) = match verdict {
            VersionVerdict::Cannot => (
                &gate::VERSION_TOO_OLD,
                "no version that is admitted here knows `use_lockfile`",
                "move to Terraform 1.11 or OpenTofu 1.10 first",
            ),
            VersionVerdict::AdmitsOlder => (
                &gate::VERSION_UNPROVEN,
                "a version that does not know `use_lockfile` is admitted here",
                "pin the version, or raise the constraint with --bump-required-version",
            ),
            VersionVerdict::Can | VersionVerdict::Unknown => return None,
        };
        let evidence = root.versions.evidence.iter().find(|evidence| evidence.verdict == verdict);
        let place = evidence.map_or_else(|| place_of_root(root), |evidence| evidence.place.clone());
        Some(Hit::new(gate, place, format!("{says}: {}; {help}", root.versions.reason)))
    }

    fn endpoint(&self, root: &RootModule, backend: &EffectiveBackend) -> Option<Hit> {
        let why = match &backend.endpoint {
            Knowable::Absent => return None,
            Knowable::Known(endpoint) if is_aws(endpoint) => return None,
            Knowable::Known(endpoint) => format!("`{endpoint}` is not AWS"),
            Knowable::Unknown(why) => format!("the endpoint can't be told ({why})"),
        };
        let probed = self.context.evidence.zip(backend.bucket.known());
        if probed.is_some_and(|(evidence, bucket)| evidence.is_probed(bucket)) {
            return None;
        }
        let place = deciding_place(self.inventory, root, backend, &["endpoints.s3", "endpoint"]);
        let reason = format!(
            "{why}, and a store that ignores `If-None-Match` lets two runs hold the lock at once; probe it with \
             `lockshift audit --probe --format json --output audit.json`, and give the result with `--evidence`"
        );
        Some(Hit::new(&gate::ENDPOINT_UNPROVEN, place, reason))
    }

    fn lock_disabled(&self, root: &RootModule) -> Option<Hit> {
        let (habit, _) =
            self.habits.iter().find(|(_, scopes)| scopes.iter().any(|scope| is_below(&root.path, scope)))?;
        let reason = "`-lock=false` takes no lock, whatever the backend says; remove it, or wait with `-lock-timeout=5m`";
        Some(Hit::new(&gate::LOCK_DISABLED_IN_CI, habit.place.clone(), reason))
    }

    fn soaked(&self, root: &RootModule, backend: &EffectiveBackend) -> Option<Hit> {
        match backend.mode {
            LockMode::Dynamodb => {
                let place = deciding_place(self.inventory, root, backend, TABLE);
                let reason = "only the table is locked now: a client from before and one from after would not exclude \
                              each other; run `--phase dual` first";
                Some(Hit::new(&gate::DUAL_PHASE_SKIPPED, place, reason))
            }
            LockMode::Dual => {
                let (at, source) = deciding(self.inventory, backend, &[LOCKFILE])?;
                soak(self.context, self.options, &at.file, source)
            }
            _ => None,
        }
    }

    fn readers_of(&self, root: &RootModule, backend: &EffectiveBackend) -> Option<Hit> {
        if !matches!(backend.mode, LockMode::Dynamodb | LockMode::Dual) {
            return None;
        }
        let differs = |reads: Option<&str>, writes: &Knowable<String>| {
            reads.zip(writes.known()).is_some_and(|(reads, writes)| reads != writes)
        };
        // A reader of another workspace names the same key.
        let (_, _, place) = self
            .readers
            .iter()
            .find(|(bucket, key, _)| !differs(*bucket, &backend.bucket) && !differs(*key, &backend.key))?;
        let reason = format!(
            "this reader checks the digest in the table for the state of `{}`, or may: it fails once nobody writes \
             the digest; take the table out of it first",
            root.path
        );
        Some(Hit::new(&gate::READER_NAMES_TABLE, (*place).clone(), reason))
    }

    /// Roles that the lockfile would stop, where an audit looked.
    fn rights(&self, root: &RootModule, backend: &EffectiveBackend) -> Option<Hit> {
        let evidence = self.context.evidence?;
        let (bucket, key) = backend.bucket.known().zip(backend.key.known())?;
        let finding = evidence.would_break(bucket, key)?;
        let reason = format!("{} ({}): {}", finding.subject, finding.rule, finding.message);
        Some(Hit::new(&gate::RUNNER_WOULD_BREAK, place_of_root(root), reason))
    }

    fn evidence(&self, root: &RootModule, backend: &EffectiveBackend) -> Vec<Hit> {
        let Some(evidence) = self.context.evidence else { return Vec::new() };
        let place = place_of_root(root);
        let mut hits = Vec::new();
        let old = evidence.stale(self.context.now).or_else(|| evidence.short(self.options.soak_days));
        if let Some(why) = old {
            let reason = format!("{why}; run `lockshift audit --format json --output audit.json` again");
            hits.push(Hit::new(&gate::EVIDENCE_STALE, place.clone(), reason));
        }
        let against = match backend.bucket.known().zip(backend.key.known()) {
            Some((bucket, key)) => evidence.against(bucket, key),
            None => Some("which state this is can't be told, so the evidence can't speak for it".to_owned()),
        };
        hits.extend(against.map(|why| Hit::new(&gate::EVIDENCE_CONTRADICTS, place, why)));
        hits
    }

    /// Whether a source's file is given to `-var-file`, too.
    pub fn is_var_file(&self, index: usize) -> bool {
        let file = self.inventory.sources.get(index).map(|source| source.place.file.as_str());
        self.inventory.shared_var_files.iter().any(|shared| Some(shared.file.as_str()) == file)
    }

    fn var_files(&self, wants: &Wants) -> Vec<Hit> {
        let files: Vec<&str> = wants
            .iter()
            .filter(|(_, want)| want.remove.iter().any(|name| TABLE.contains(name)))
            .filter_map(|(index, _)| Some(self.inventory.sources.get(*index)?.place.file.as_str()))
            .collect();
        self.inventory
            .shared_var_files
            .iter()
            .filter(|shared| files.contains(&shared.file.as_str()))
            .map(|shared| {
                let reason = format!(
                    "`{}` is a var-file, too: without the table, a variable of that name is left unset; give the \
                     variable a default, or split the file",
                    shared.file
                );
                Hit::new(&gate::REQUIRED_VARIABLE_LEFT, shared.place.clone(), reason)
            })
            .collect()
    }

    /// A source that keeps the table and could be meant for this root module: a file at or below it, or a flag in a
    /// script where the root module is one that gets flags.
    fn left_for(&self, root: &RootModule) -> Option<Hit> {
        let partial = root.backends.iter().any(|backend| {
            let block = backend.sources.iter().find(|at| !at.shadowed);
            let block = block.and_then(|at| self.inventory.sources.get(at.source));
            let lacks = |name| block.is_some_and(|block| block.setting(name).is_none());
            !backend.backend_config.is_empty() || lacks("bucket") || lacks("key")
        });
        let source = self.left.iter().find(|source| match source.kind {
            SourceKind::BackendConfigFile | SourceKind::TerragruntRemoteState => {
                is_below(dir_of(&source.place.file), &root.path) && root.path != "."
                    || dir_of(&source.place.file) == root.path
            }
            SourceKind::BackendConfigFlag => partial,
            _ => false,
        })?;
        let reason = "this sets a table, nobody can tell for which root module, and it does not change: where it is \
                      given to `init`, both locks go on";
        Some(Hit::new(&gate::STILL_DUAL, source.place.clone(), reason))
    }
}

/// Where a command may run: in the directory that it names, else somewhere below the script, or below the nearest
/// directory around the script that holds any root module.
fn scopes(inventory: &Inventory, habit: &Habit) -> Vec<String> {
    let home = dir_of(&habit.place.file);
    if let Some(dir) = habit.dir.as_deref().filter(|dir| !dir.contains(['$', '{', '*', '%'])) {
        // The nearest directory from which it leads to a root module: the script's own, or one above it.
        let mut bases = vec![home];
        while let Some(base) = bases.last().copied().filter(|base| !matches!(*base, "." | "/")) {
            bases.push(dir_of(base));
        }
        let holds = |dir: &String| inventory.roots.iter().any(|root| is_below(&root.path, dir));
        return bases.iter().filter_map(|base| resolve(base, dir)).find(holds).into_iter().collect();
    }
    // `.github/workflows` speaks for the directory that holds `.github`.
    let mut at = match home.split('/').position(|part| PIPELINES.contains(&part)) {
        Some(0) => ".".to_owned(),
        Some(parts) => home.split('/').take(parts).collect::<Vec<_>>().join("/"),
        None => home.to_owned(),
    };
    while at != "." && !inventory.roots.iter().any(|root| is_below(&root.path, &at)) {
        let parent = dir_of(&at).to_owned();
        if parent == at {
            break;
        }
        at = parent;
    }
    vec![at]
}

/// Directories of pipelines: what they hold runs from the directory around them.
const PIPELINES: &[&str] = &[
    ".azure-pipelines",
    ".buildkite",
    ".ci",
    ".circleci",
    ".github",
    ".gitlab",
    ".semaphore",
    ".woodpecker",
];

/// Whether both locks were taken for long enough where this source switches the lockfile on.
pub fn soak(context: &Context<'_>, options: &Options, file: &str, source: &Source) -> Option<Hit> {
    if options.soak_days == 0 {
        return None;
    }
    let place = source.setting(LOCKFILE).map_or_else(|| source.place.clone(), |set| Place::new(file, set.at));
    let reason = match context.history.get(file) {
        Some(History::Since(since)) => {
            let days = context.now.saturating_sub(*since) / 86_400;
            if days >= i64::from(options.soak_days) {
                return None;
            }
            let days = if days < 0 { "not yet".to_owned() } else { format!("for {days} days") };
            format!("`use_lockfile` stands here {days}, {} are asked for", options.soak_days)
        }
        Some(History::Unknown(why)) => format!("since when `use_lockfile` stands here can't be told: {why}"),
        None => {
            "since when `use_lockfile` stands here can't be told: there is no history of this file".to_owned()
        }
    };
    Some(Hit::new(&gate::SOAK_TOO_SHORT, place, reason))
}

/// Backends by index.
fn chosen<'a>(root: &'a RootModule, backends: &'a [usize]) -> impl Iterator<Item = &'a EffectiveBackend> {
    backends.iter().filter_map(|index| root.backends.get(*index))
}

/// Whether a directory is, or lies below, another.
pub fn is_below(dir: &str, above: &str) -> bool {
    above == "." && !dir.starts_with('/')
        || dir.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Source: AWS's endpoints end in `amazonaws.com` or one of the partitions' own domains.
fn is_aws(endpoint: &str) -> bool {
    let host = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or(host);
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    ["amazonaws.com", "amazonaws.com.cn", "api.aws"]
        .iter()
        .any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Where a root module begins, when nothing nearer is known.
pub fn place_of_root(root: &RootModule) -> Place {
    root.backends.iter().flat_map(|backend| &backend.sources).find(|at| !at.shadowed).map_or_else(
        || Place { file: root.path.clone(), line: 1, column: 1 },
        |at| Place { file: at.file.clone(), line: at.line, column: at.column },
    )
}

/// Where the deciding one of these settings stands.
pub fn deciding_place(
    inventory: &Inventory,
    root: &RootModule,
    backend: &EffectiveBackend,
    names: &[&str],
) -> Place {
    let found = deciding(inventory, backend, names).and_then(|(at, source)| {
        let setting = names.iter().find_map(|name| source.setting(name))?;
        Some(Place::new(&at.file, setting.at))
    });
    found.unwrap_or_else(|| place_of_root(root))
}
