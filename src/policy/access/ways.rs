//! Requests through access points. Such a request is decided twice: with the access point's ARN by the principal's own
//! policies, the organization's and the access point's; with the bucket's ARN by the bucket's policy, which is told the
//! way by `s3:DataAccessPointArn` and `s3:DataAccessPointAccount`. So a Deny that names the bucket's ARN counts in the
//! bucket's policy and nowhere else, and a Deny there may let an access point through.
//! Source: "Configuring IAM policies for using access points" in the user guide of S3.

use super::super::evaluate::{Layer, Policies};
use super::super::request::Request;
use super::actor::Actor;
use super::asker::{Asker, Headers};
use super::input::Reading;
use super::point::Point;
use super::rights::{Can, Rights};
use super::world::World;

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
pub(super) fn ways(world: &World<'_>, actor: &Actor<'_>, own: &[Rights]) -> Vec<Via> {
    let direct = |rights: &Rights| {
        [&rights.delete, &rights.delete_version, &rights.put, &rights.create]
            .iter()
            .all(|can| **can == Can::Yes)
    };
    if own.iter().all(direct) {
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
    if !world.docs.shapes(&point.policy).any(|(_, shape)| shape.is_public()) {
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
