//! Requests through access points. Such a request is decided twice: with the access point's ARN by the principal's own
//! policies, the organization's and the access point's; with the bucket's ARN by the bucket's policy, which is told the
//! way by `s3:DataAccessPointArn` and `s3:DataAccessPointAccount`. So a Deny that names the bucket's ARN counts in the
//! bucket's policy and nowhere else, and a Deny there may let an access point through.
//! Source: "Configuring IAM policies for using access points" in the user guide of S3.

use super::super::decision::PolicyKind;
use super::super::evaluate::{Layer, Policies};
use super::super::pattern::arn_parts;
use super::super::request::Request;
use super::actor::Actor;
use super::asker::{Asker, Headers};
use super::bench::{Bench, condition_words, lock_names, names, say};
use super::docs::{Docs, Matrix, Place};
use super::input::{AccessPointInput, Reading};
use super::keys::Key;
use super::output::Part;
use super::rules;
use super::sets::{Can, Rights, Row};
use super::setup::is_public;
use super::world::World;
use crate::severity::Severity;

/// More are not judged; [`super::Access::limits`] says so. A state bucket has none or a few.
const MOST: usize = 20;

/// One access point.
#[derive(Debug)]
pub(super) struct Point<'a> {
    pub(super) input: &'a AccessPointInput<'a>,
    account: String,
    pub(super) policy: Place<'a>,
    /// Each lock's ARN through it.
    lock_arns: Vec<String>,
    matrix: Matrix,
}

/// What one principal can do with all locks through one access point. Reading is not asked for.
#[derive(Debug, Clone)]
pub(super) struct Via {
    /// Which access point.
    pub(super) point: usize,
    /// For each key which of the rights.
    pub(super) class_of: Vec<u16>,
    rights: Vec<Rights>,
}

impl Via {
    /// What it can do with the lock of this number.
    pub(super) fn rights(&self, key: usize) -> Option<&Rights> {
        self.rights.get(usize::from(*self.class_of.get(key)?))
    }
}

/// Takes the policies in, before patterns are compared with keys; says what is left out.
pub(super) fn read<'a>(
    docs: &mut Docs<'a>,
    input: &'a Reading<Vec<AccessPointInput<'a>>>,
) -> (Vec<(&'a AccessPointInput<'a>, Place<'a>)>, Option<String>) {
    let all = input.known().map(Vec::as_slice).unwrap_or_default();
    let read = all.iter().take(MOST).map(|point| (point, docs.reading(point.name, &point.policy))).collect();
    let left = all.len().saturating_sub(MOST);
    let note =
        (left > 0).then(|| format!("{left} of {} access points are not judged, to stay quick", all.len()));
    (read, note)
}

impl<'a> Point<'a> {
    pub(super) fn new(
        (input, policy): (&'a AccessPointInput<'a>, Place<'a>),
        docs: &Docs<'a>,
        keys: &[Key],
    ) -> Point<'a> {
        let lock_arns: Vec<String> =
            keys.iter().map(|key| format!("{}/object/{}", input.arn, key.lock)).collect();
        let account = arn_parts(input.arn).map(|[.., account, _]| account).unwrap_or_default().to_owned();
        Point { input, account, policy, matrix: docs.matrix(&lock_arns), lock_arns }
    }

    /// In words, for conditions.
    pub(super) fn way(&self) -> String {
        match self.input.vpc {
            Some(vpc) => format!("through access point `{}`, from {vpc}", self.input.name),
            None => format!("through access point `{}`", self.input.name),
        }
    }
}

/// The three that decide about one principal at one access point.
struct Askers<'w> {
    /// Everything that sees the access point's ARN.
    through: Asker<'w>,
    /// The same without the access point's policy: what the principal's own account gives it.
    own: Asker<'w>,
    /// The bucket's policy, for somebody whose own policies allow everything.
    bucket: Asker<'w>,
    /// The bucket's policy alone.
    granting: Asker<'w>,
    /// Principal, access point and bucket are of one account.
    one_account: bool,
    /// A public policy of the access point that its block, or the account's, takes back from other accounts.
    cut: Option<Can>,
}

/// What somebody can do with locks through each access point. Who can do everything directly needs no detour.
pub(super) fn ways(world: &World<'_>, actor: &Actor<'_>, row: &Row) -> Vec<Via> {
    let direct = |rights: &Rights| {
        [&rights.delete, &rights.delete_version, &rights.put, &rights.create]
            .iter()
            .all(|can| **can == Can::Yes)
    };
    if row.all_rights().all(direct) {
        return Vec::new();
    }
    let points = world.points.iter().enumerate();
    points.filter_map(|(number, point)| via(world, actor, number, point)).collect()
}

fn via(world: &World<'_>, actor: &Actor<'_>, number: usize, point: &Point<'_>) -> Option<Via> {
    let mut askers = askers(world, actor, point);
    let (class_of, firsts) = classes(world, actor, point);
    let mut rights: Vec<Rights> = Vec::new();
    let mut classes = Vec::with_capacity(firsts.len());
    for first in firsts {
        let (Some(arn), Some(object)) = (point.lock_arns.get(first), world.lock_arns.get(first)) else {
            continue;
        };
        let mut ask = |action, headers| askers.ask(world, actor, action, arn, object, headers);
        let found = Rights {
            create: ask("s3:PutObject", Headers::IfNoneMatch),
            put: ask("s3:PutObject", Headers::Plain),
            put_match: ask("s3:PutObject", Headers::IfMatch),
            delete: ask("s3:DeleteObject", Headers::Plain),
            delete_match: ask("s3:DeleteObject", Headers::IfMatch),
            delete_version: ask("s3:DeleteObjectVersion", Headers::Plain),
            get: Can::No,
        };
        let class = rights.iter().position(|known| *known == found).unwrap_or_else(|| {
            rights.push(found);
            rights.len() - 1
        });
        classes.push(u16::try_from(class).unwrap_or(u16::MAX));
    }
    if rights.iter().all(|rights| *rights == Rights::default()) {
        return None;
    }
    let class = |class: &u16| classes.get(usize::from(*class)).copied().unwrap_or_default();
    Some(Via { point: number, class_of: class_of.iter().map(class).collect(), rights })
}

/// Locks that nothing tells apart, neither by the bucket's ARN nor by the access point's.
fn classes(world: &World<'_>, actor: &Actor<'_>, point: &Point<'_>) -> (Vec<u16>, Vec<usize>) {
    let mut bucket = vec![&world.policy];
    bucket.extend(&world.rcps);
    let (by_bucket, _) = world.matrix.classes(&world.docs, &bucket);
    let mut through = vec![&point.policy, &actor.identity, &actor.boundary];
    through.extend(actor.scps.iter().flatten());
    let (by_point, _) = point.matrix.classes(&world.docs, &through);
    let mut pairs: Vec<(u16, u16)> = Vec::new();
    let mut firsts = Vec::new();
    let both = by_bucket.into_iter().zip(by_point).enumerate();
    let class_of = both.map(|(at, pair)| {
        let class = pairs.iter().position(|known| *known == pair).unwrap_or_else(|| {
            pairs.push(pair);
            firsts.push(at);
            pairs.len() - 1
        });
        u16::try_from(class).unwrap_or(u16::MAX)
    });
    let class_of = class_of.collect();
    (class_of, firsts)
}

fn askers<'w>(world: &'w World<'_>, actor: &'w Actor<'_>, point: &'w Point<'_>) -> Askers<'w> {
    let context = actor
        .context
        .clone()
        .with("s3:DataAccessPointArn", point.input.arn)
        .with("s3:DataAccessPointAccount", &point.account)
        .with("s3:AccessPointNetworkOrigin", if point.input.vpc.is_some() { "VPC" } else { "Internet" });
    let request = Request::new(actor.principal.clone(), "s3:ListBucket", &world.bucket_arn, context);
    let through = request.clone().owned_by(&point.account);
    let of_bucket = match world.account {
        Some(_) => request.owned_by(&world.owner),
        None => request,
    };
    let scps = actor.scps.as_deref().unwrap_or_default();
    let own = Policies {
        identity: world.docs.layer(&actor.identity),
        boundary: world.docs.layer(&actor.boundary),
        scps: scps.iter().map(|level| world.docs.layer(level)).collect(),
        ..Policies::default()
    };
    let bucket = Policies {
        identity: world.docs.layer(&world.everything),
        resource: world.docs.layer(&world.policy),
        rcps: world.rcps.iter().map(|level| world.docs.layer(level)).collect(),
        ..Policies::default()
    };
    let one_account = actor.account.as_deref() == Some(&point.account)
        && (world.account.is_none() || world.owner == point.account);
    Askers {
        through: Asker::new(
            Policies { resource: world.docs.layer(&point.policy), ..own.clone() },
            through.clone(),
        ),
        own: Asker::new(own, through),
        granting: Asker::new(
            Policies { identity: Layer::Known(Vec::new()), ..bucket.clone() },
            of_bucket.clone(),
        ),
        bucket: Asker::new(bucket, of_bucket),
        cut: (!one_account).then(|| cut(world, point)).flatten(),
        one_account,
    }
}

/// What a public policy of the access point leaves to principals of other accounts: nothing, where it is restricted.
fn cut(world: &World<'_>, point: &Point<'_>) -> Option<Can> {
    if !world.docs.shapes(&point.policy).any(|(_, shape)| is_public(shape)) {
        return None;
    }
    let blocks = [&point.input.public_access_block, &world.input.bucket.account_public_access_block];
    if blocks.iter().any(|block| block.known().is_some_and(|block| block.restrict_public_buckets)) {
        return Some(Can::No);
    }
    let name = point.input.name;
    matches!(point.input.public_access_block, Reading::Failed(_) | Reading::NotAsked).then(|| {
        Can::Unknown(vec![format!("whether access point `{name}` blocks public access was not read")])
    })
}

impl Askers<'_> {
    fn ask(
        &mut self,
        world: &World<'_>,
        actor: &Actor<'_>,
        action: &str,
        arn: &str,
        object: &str,
        headers: Headers,
    ) -> Can {
        let of = |asker: &mut Asker<'_>, resource: &str| {
            Can::of(world, actor, &asker.ask(action, resource, headers))
        };
        let through = of(&mut self.through, arn);
        if through.is_no() {
            return Can::No;
        }
        // What an access point's policy alone gives counts as far as the bucket's policy gives it, too.
        let own = self.one_account && !of(&mut self.own, arn).is_no();
        let alone = self.one_account && !own;
        let bucket = of(if alone { &mut self.granting } else { &mut self.bucket }, object);
        let can = through.and(&bucket);
        match &self.cut {
            Some(left) => can.and(left),
            None => can,
        }
    }
}

/// One of the things that somebody can do with a lock.
type Right = fn(&Rights) -> Can;

/// What a lock is kept from, and the right that it takes.
const KINDS: [(&str, &str, Right); 2] =
    [("delete", "s3:DeleteObject", Rights::can_delete), ("overwrite", "s3:PutObject", Rights::can_overwrite)];

const HELP: &str = "take the exception for access points out of the bucket policy's Deny, or deny the same in the access \
                    point's policy";

/// Access points that lead around what the bucket's policy denies, or that are open to everybody.
pub(super) fn judge(bench: &mut Bench<'_, '_>) {
    for number in 0..bench.world.points.len() {
        for (verb, action, can) in KINDS {
            around(bench, number, verb, action, can);
        }
        open(bench, number);
    }
}

fn around(bench: &mut Bench<'_, '_>, number: usize, verb: &str, action: &str, can: Right) {
    let world = bench.world;
    let (Some(point), Some(stranger), Some(row)) =
        (world.points.get(number), bench.actor(world.stranger), bench.row(world.stranger))
    else {
        return;
    };
    let mut asker = world.asker(stranger);
    let mut statement = None;
    let mut led: Vec<(&Key, Can)> = Vec::new();
    for (at, key) in world.keys.iter().enumerate() {
        let through = row.through(number, at).map(can).unwrap_or_default();
        if !through.is_real() || !row.rights(at).map(can).unwrap_or_default().is_no() {
            continue;
        }
        // What the organization denies by the bucket's ARN is another rule's.
        let direct = asker.ask(action, &world.object(&key.lock), Headers::Plain);
        if let Some(found) = world.first_of(stranger, &direct, PolicyKind::Resource) {
            statement.get_or_insert(found);
            led.push((key, through));
        }
    }
    let Some((_, first)) = led.first() else { return };
    let depends = condition_words(first);
    let keys: Vec<&Key> = led.iter().map(|(key, _)| *key).collect();
    let able = world.real().filter(|(at, actor)| {
        let through = |key| bench.row(*at).and_then(|row| row.through(number, key));
        // The root user is told where the sets are.
        let root = actor.arn.as_deref().is_some_and(|arn| arn.ends_with(":root"));
        actor.part == Part::Other
            && !root
            && (0..world.keys.len()).filter_map(through).any(|rights| can(rights).is_real())
    });
    let able: Vec<&str> = able.map(|(_, actor)| actor.shown.as_str()).collect();
    let now = if able.is_empty() { String::new() } else { format!(" (now {})", names(&able)) };
    let message = format!(
        "the bucket policy keeps others from being able to {verb} {}, and not through access point `{}`: every \
         principal whose own policies allow it may{now}{depends}",
        lock_names(&keys),
        point.input.name
    );
    bench.bucket(say(rules::ACCESS_POINT_OPENS_LOCKS, message, HELP).at(statement));
}

/// The access point's policy and the bucket's together let everybody in.
fn open(bench: &mut Bench<'_, '_>, number: usize) {
    let world = bench.world;
    let Some(point) = world.points.get(number) else { return };
    for (at, who) in [(world.anonymous, "anonymous callers"), (world.foreign, "principals of any account")] {
        let Some(row) = bench.row(at) else { continue };
        let mut verbs: Vec<&str> = Vec::new();
        let mut keys: Vec<&Key> = Vec::new();
        let kinds = KINDS.map(|(verb, _, can)| (verb, can));
        for (verb, can) in kinds.into_iter().chain([("create", Rights::can_create as Right)]) {
            for (number_of_key, key) in world.keys.iter().enumerate() {
                let direct = row.rights(number_of_key).map(can).unwrap_or_default();
                let through = row.through(number, number_of_key).map(can).unwrap_or_default();
                if direct.is_no() && through == Can::Yes {
                    verbs.push(verb);
                    keys.push(key);
                }
            }
        }
        verbs.dedup();
        keys.sort_by(|a, b| a.lock.cmp(&b.lock));
        keys.dedup();
        if verbs.is_empty() {
            continue;
        }
        let message = format!(
            "{who} can {} {} through access point `{}`",
            verbs.join(" and "),
            lock_names(&keys),
            point.input.name
        );
        let help = "name principals in the access point's policy, and turn its public access block on";
        bench.bucket(say(rules::ACCESS_POINT_OPENS_LOCKS, message, help).rated(Severity::Critical));
        // Who is nobody is anybody, too.
        return;
    }
}
