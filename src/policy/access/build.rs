//! Brings everything of one judgement together: policies are compiled, principals read, and others made up.

use std::collections::BTreeSet;

use super::super::context::Context;
use super::super::pattern::{Glob, arn_parts};
use super::super::principal::{Principal, is_account};
use super::actor::{Actor, EVERYTHING, STRANGER, Traits, base_context, principal_context};
use super::docs::{Docs, Place};
use super::input::{AccessInput, NamedPolicy, Reading};
use super::keys::keys;
use super::output::Part;
use super::point::{self, Point};
use super::shape::Shape;
use super::world::{BUCKET_POLICY, World};

/// What a role that locks needs, anywhere: for roles whose own policies are not known. Not DeleteObjectVersion.
const LOCKER: &str = r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:PutObjectTagging", "s3:PutObjectAcl", "kms:GenerateDataKey", "kms:Decrypt"], "Resource": "*"}]}"#;

/// The same for roles that manage a bucket or help in an emergency.
const MANAGER: &str =
    r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}"#;

/// An account that stands for any other one.
const FOREIGN: [&str; 2] = ["999999999999", "999999999998"];

/// Principals of other accounts that are judged at most.
const MOST_ELSEWHERE: usize = 100;

/// The owner, where nothing says who it is.
const SOME_ACCOUNT: &str = "000000000000";

/// Reads the principals' policies and makes the others up.
struct Builder<'a> {
    input: &'a AccessInput<'a>,
    partition: &'a str,
    docs: Docs<'a>,
    owner: String,
    base: Context,
    tag_keys: Vec<String>,
    session_names_matter: bool,
    scps: Vec<(Option<&'a str>, Vec<Place<'a>>)>,
    actors: Vec<Actor<'a>>,
    limits: Vec<String>,
    nobody: Vec<(&'a str, Part)>,
}

impl<'a> World<'a> {
    /// Reads the input. A text that is no policy makes its place unknown.
    pub(super) fn new(input: &'a AccessInput<'a>) -> World<'a> {
        let partition = if input.bucket.partition.is_empty() { "aws" } else { input.bucket.partition };
        let mut docs = Docs::default();
        let policy = docs.reading(BUCKET_POLICY, &input.bucket.policy);
        let rcps = input.rcps.iter().flatten().map(|level| docs.place(level)).collect();
        let key_policy = match &input.bucket.kms {
            Some(kms) => docs.reading("the key policy", &kms.policy),
            None => Place::Absent,
        };
        let (points, left) = point::read(&mut docs, &input.bucket.access_points);
        let everything = docs.place(&[NamedPolicy { name: "(assumed)", text: EVERYTHING }]);
        let scps = input.scps.iter();
        let scps = scps.map(|scp| (scp.account, scp.levels.iter().map(|level| docs.place(level)).collect()));
        let scps = scps.collect();
        let account = account_of(input, docs.shapes(&policy));
        let owner = account.clone().unwrap_or_else(|| SOME_ACCOUNT.to_owned());
        let mut builder = Builder {
            input,
            partition,
            base: base_context(input.bucket.region, account.as_deref()),
            owner,
            docs,
            tag_keys: Vec::new(),
            session_names_matter: false,
            scps,
            actors: Vec::new(),
            limits: Vec::new(),
            nobody: Vec::new(),
        };
        builder.read_principals();
        builder.add_configured();
        if account.is_some() {
            builder.add_named_elsewhere(&policy, &everything);
        }
        let (stranger, anonymous, foreign) = builder.add_made_up(account.is_some());
        builder.fill_contexts();
        let (keys, note) = keys(&input.states);
        let bucket_arn = format!("arn:{partition}:s3:::{}", input.bucket.name);
        let lock_arns: Vec<String> = keys.iter().map(|key| format!("{bucket_arn}/{}", key.lock)).collect();
        let matrix = builder.docs.matrix(&lock_arns);
        let state_arns: Vec<String> = keys.iter().map(|key| format!("{bucket_arn}/{}", key.state)).collect();
        let state_matrix = builder.docs.matrix(&state_arns);
        let mut limits = builder.limits;
        limits.extend(note);
        limits.extend(left);
        let points = points.into_iter().map(|point| Point::new(point, &builder.docs, &keys)).collect();
        let asks_preconditions = {
            let asked = builder.docs.all().iter().filter_map(|doc| doc.compiled.as_ref());
            asked.flat_map(|doc| doc.condition_keys()).any(|key| key.starts_with("s3:if-"))
        };
        World {
            input,
            account,
            owner: builder.owner,
            bucket_arn,
            keys,
            lock_arns,
            matrix,
            state_matrix,
            policy,
            rcps,
            points,
            everything,
            key_policy,
            actors: builder.actors,
            stranger,
            anonymous,
            foreign,
            limits,
            nobody: builder.nobody,
            asks_preconditions,
            docs: builder.docs,
        }
    }
}

/// The owner's account.
fn account_of<'s, 'a: 's>(
    input: &AccessInput<'_>,
    statements: impl Iterator<Item = (&'a str, &'s Shape)>,
) -> Option<String> {
    if let Some(account) = input.bucket.account.filter(|account| is_account(account)) {
        return Some(account.to_owned());
    }
    let one = |mut accounts: Vec<String>| {
        accounts.sort();
        accounts.dedup();
        accounts.pop().filter(|_| accounts.is_empty())
    };
    let of =
        |arn: &str| arn_parts(arn).map(|[.., account, _]| account.to_owned()).filter(|id| is_account(id));
    let roles = &input.roles;
    let configured = [&roles.runners, &roles.plan, &roles.break_glass, &roles.admins]
        .into_iter()
        .flatten()
        .filter_map(|arn| of(arn));
    let read = input.accounts.iter().map(|account| (*account).to_owned());
    let mut named = Vec::new();
    for (_, shape) in statements {
        let values =
            shape.conditions.iter().filter(|asked| asked.names_principal()).flat_map(|asked| &asked.values);
        named.extend(values.chain(&shape.principals).filter_map(|arn| of(arn)));
    }
    one(read.collect()).or_else(|| one(configured.collect())).or_else(|| one(named))
}

impl<'a> Builder<'a> {
    fn part_of(&self, arn: &str) -> Part {
        let named = |patterns: &[&str]| patterns.iter().any(|pattern| Glob::new(pattern).matches(arn));
        self.input
            .roles
            .by_part()
            .into_iter()
            .find(|(_, patterns)| named(patterns))
            .map_or(Part::Other, |(part, _)| part)
    }

    fn scps_of(&self, account: Option<&str>) -> Option<Vec<Place<'a>>> {
        let exact = self.scps.iter().find(|(of, _)| of.is_some() && *of == account);
        exact.or_else(|| self.scps.iter().find(|(of, _)| of.is_none())).map(|(_, levels)| levels.clone())
    }

    fn add(
        &mut self,
        arn: Option<&str>,
        shown: &str,
        identity: Place<'a>,
        boundary: Place<'a>,
    ) -> Option<usize> {
        let principal = Principal::parse(arn.unwrap_or("anonymous")).ok()?;
        let account = principal.account().map(str::to_owned);
        self.actors.push(Actor {
            shown: shown.to_owned(),
            arn: arn.map(str::to_owned),
            scps: if account.is_some() { self.scps_of(account.as_deref()) } else { None },
            principal,
            account,
            part: Part::Other,
            guess: None,
            assumed: false,
            identity,
            boundary,
            context: Context::new(),
            of: None,
        });
        Some(self.actors.len() - 1)
    }

    fn update(&mut self, at: Option<usize>, change: impl FnOnce(&mut Actor<'a>)) {
        if let Some(actor) = at.and_then(|at| self.actors.get_mut(at)) {
            change(actor);
        }
    }

    fn read_principals(&mut self) {
        let input = self.input;
        for (of, read) in input.principals.known().into_iter().flatten().enumerate() {
            let identity = match &read.policies_unread {
                Some(why) => Place::NotKnown(format!("its policies could not all be read: {why}")),
                None => self.docs.place(&read.policies),
            };
            let boundary = match &read.boundary {
                Reading::NotAsked => Place::Absent,
                reading => self.docs.reading("the permissions boundary", reading),
            };
            let part = self.part_of(read.arn);
            let at = self.add(Some(read.arn), read.arn, identity, boundary);
            if at.is_none() {
                self.limits.push(format!("`{}` is no user and no role, and was left out", read.arn));
            }
            self.update(at, |actor| (actor.part, actor.of) = (part, Some(of)));
        }
    }

    /// Roles that the configuration names and that were not read.
    fn add_configured(&mut self) {
        for (part, patterns) in self.input.roles.by_part() {
            for pattern in patterns {
                self.add_named(part, pattern);
            }
        }
    }

    fn add_named(&mut self, part: Part, pattern: &'a str) {
        let glob = Glob::new(pattern);
        if self.actors.iter().any(|actor| actor.arn.as_deref().is_some_and(|arn| glob.matches(arn))) {
            return;
        }
        let account = arn_parts(pattern).map(|[.., account, _]| account).unwrap_or_default();
        let read = self.input.principals.known().is_some() && self.input.accounts.contains(&account);
        if read {
            self.nobody.push((pattern, part));
            return;
        }
        let text = if matches!(part, Part::Runner | Part::Plan) { LOCKER } else { MANAGER };
        let identity = self.docs.place(&[NamedPolicy { name: "(assumed)", text }]);
        let at = if pattern.contains(['*', '?']) {
            None
        } else {
            self.add(Some(pattern), pattern, identity, Place::Absent)
        };
        if at.is_none() {
            let words = part.words();
            self.limits.push(format!(
                "the {words} `{pattern}` is no single role that was read: nothing is said about what it may do"
            ));
        }
        self.update(at, |actor| (actor.part, actor.assumed) = (part, true));
    }

    /// Principals of other accounts that the bucket's policy lets in, or exempts, by name. Their own policies are not
    /// known: they are taken to allow everything, as their account can make them at any time.
    fn add_named_elsewhere(&mut self, policy: &Place<'a>, everything: &Place<'a>) {
        let mut named: BTreeSet<&str> = BTreeSet::new();
        for (_, shape) in self.docs.shapes(policy) {
            if shape.allow {
                named.extend(shape.principals.iter().map(String::as_str));
            }
            let exempt = shape.conditions.iter().filter(|asked| asked.names_principal() && asked.negated());
            named.extend(exempt.filter(|_| shape.deny).flat_map(|asked| &asked.values).map(String::as_str));
        }
        let elsewhere = |name: &&str| {
            let account = arn_parts(name).map_or(*name, |[.., account, _]| account);
            is_account(account) && account != self.owner && !name.contains(['*', '?', '$'])
        };
        let named: Vec<String> = named.into_iter().filter(elsewhere).map(str::to_owned).collect();
        if let Some(more @ 1..) = named.len().checked_sub(MOST_ELSEWHERE) {
            self.limits.push(format!(
                "{more} principals of other accounts that the bucket's policy names were left out"
            ));
        }
        for name in named.iter().take(MOST_ELSEWHERE) {
            // An account stands for whomever it gives the right to.
            let account = arn_parts(name).map_or(name.as_str(), |[.., account, _]| account);
            let whole = name == account || name.ends_with(":root");
            let role = format!("arn:{}:iam::{account}:role/{STRANGER}", self.partition);
            let (arn, shown) = match whole {
                true => (role.as_str(), format!("any role of account {account}")),
                false => (name.as_str(), name.clone()),
            };
            if self.actors.iter().any(|actor| actor.arn.as_deref() == Some(arn)) {
                continue;
            }
            let at = self.add(Some(arn), &shown, everything.clone(), Place::Absent);
            // Other accounts have an organization of their own.
            self.update(at, |actor| (actor.assumed, actor.scps) = (true, Some(Vec::new())));
        }
    }

    /// The root user, somebody with all rights, nobody at all, somebody elsewhere with all rights.
    fn add_made_up(&mut self, account_known: bool) -> (usize, usize, usize) {
        let everything = self.docs.place(&[NamedPolicy { name: "(assumed)", text: EVERYTHING }]);
        let partition = self.partition;
        if account_known {
            let root = format!("arn:{partition}:iam::{}:root", self.owner);
            self.add(Some(&root), &root, Place::Absent, Place::Absent);
        }
        let role = format!("arn:{partition}:iam::{}:role/{STRANGER}", self.owner);
        let shown = "any role with wide rights in the bucket's account";
        let stranger = self.add(Some(&role), shown, everything.clone(), Place::Absent);
        let anonymous = self.add(None, "anonymous", Place::Absent, Place::Absent);
        let account = FOREIGN.into_iter().find(|account| *account != self.owner).unwrap_or_default();
        let role = format!("arn:{partition}:iam::{account}:role/{STRANGER}");
        let foreign = self.add(Some(&role), "any role of any other account", everything, Place::Absent);
        for at in [stranger, anonymous, foreign] {
            self.update(at, |actor| actor.assumed = true);
        }
        // Other accounts have an organization of their own.
        self.update(foreign, |actor| actor.scps = Some(Vec::new()));
        (stranger.unwrap_or_default(), anonymous.unwrap_or_default(), foreign.unwrap_or_default())
    }

    /// When all policies are known: what they ask for decides what has to be said of each principal.
    fn fill_contexts(&mut self) {
        let mut tag_keys = Vec::new();
        let conditions =
            self.docs.all().iter().flat_map(|doc| &doc.shapes).flat_map(|shape| &shape.conditions);
        for asked in conditions {
            if asked.is_tag() {
                tag_keys.push(asked.name.clone());
            }
            // `ID:*` is about all sessions alike; anything else with a colon may be about one.
            self.session_names_matter |= asked.name == "aws:userid"
                && asked.values.iter().any(|value| match value.split_once(':') {
                    Some((id, session)) => session != "*" || id.contains(['*', '?', '$']),
                    None => value.contains(['?', '$']) || value.contains('*') && value != "*",
                });
        }
        tag_keys.sort();
        tag_keys.dedup();
        self.tag_keys = tag_keys;
        let principals = self.input.principals.known();
        for actor in &mut self.actors {
            let read = actor.of.and_then(|of| principals?.get(of));
            let made_up = actor.assumed && actor.part == Part::Other;
            let session_tags = match read.map(|read| &read.trust) {
                Some(Reading::Known(trust)) => {
                    let trust = trust.to_ascii_lowercase();
                    trust.contains("tagsession") || trust.contains("sts:*") || trust.contains("\"*\"")
                }
                Some(Reading::Absent) => false,
                _ => true,
            };
            let is_role = matches!(actor.principal, Principal::Session { .. });
            let traits = Traits {
                unique_id: match read {
                    Some(read) => read.unique_id,
                    None if made_up => "AROALOCKSHIFTANYROLE",
                    None => "",
                },
                tags: read.map(|read| read.tags.as_slice()),
                session_tags: is_role && session_tags,
                session_names_matter: self.session_names_matter,
            };
            let arn = actor.arn.as_deref().unwrap_or_default();
            actor.context = principal_context(&self.base, &actor.principal, arn, traits, &self.tag_keys);
        }
    }
}
