//! Who can do what: a row of rights for each principal, and the sets that follow from all rows.

use std::collections::HashMap;

use super::actor::Actor;
use super::asker::Headers;
use super::output::{Certainty, Holder, LockAccess};
use super::rights::{Can, Rights};
use super::ways::{Via, ways};
use super::world::World;

/// What one principal can do with all locks.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// For each key which of [`Row::rights`].
    class_of: Vec<u16>,
    rights: Vec<Rights>,
    /// Whether it can decrypt with the bucket's key; yes where there is none.
    pub(super) decrypts: Can,
    /// What it can do to the bucket.
    pub(super) strip: Vec<(&'static str, Can)>,
    /// What it can do through access points.
    ways: Vec<Via>,
}

/// What takes protection from locks, or works around it.
pub(in crate::policy) const STRIP: [&str; 7] = [
    "s3:PutBucketPolicy",
    "s3:DeleteBucketPolicy",
    "s3:PutLifecycleConfiguration",
    "s3:PutBucketVersioning",
    "s3:PutReplicationConfiguration",
    "s3:PutBucketPublicAccessBlock",
    "s3:PutBucketOwnershipControls",
];

impl Row {
    pub(super) fn new(world: &World<'_>, actor: &Actor<'_>) -> Row {
        let mut asker = world.asker(actor);
        let (class_of, firsts) = world.lock_classes(actor);
        let mut row = Row { decrypts: decrypts(world, actor), ..Row::default() };
        let mut classes = Vec::with_capacity(firsts.len());
        for first in firsts {
            let Some(arn) = world.lock_arns.get(first) else { continue };
            let mut ask = |action: &str, headers| Can::of(world, actor, &asker.ask(action, arn, headers));
            let put = ask("s3:PutObject", Headers::Plain);
            let delete = ask("s3:DeleteObject", Headers::Plain);
            let mut with = |plain: &Can, action: &str, headers| {
                if world.asks_preconditions { ask(action, headers) } else { plain.clone() }
            };
            let rights = Rights {
                create: with(&put, "s3:PutObject", Headers::IfNoneMatch),
                put_match: with(&put, "s3:PutObject", Headers::IfMatch),
                delete_match: with(&delete, "s3:DeleteObject", Headers::IfMatch),
                get: ask("s3:GetObject", Headers::Plain),
                delete_version: ask("s3:DeleteObjectVersion", Headers::Plain),
                put,
                delete,
            };
            let class = row.rights.iter().position(|known| *known == rights).unwrap_or_else(|| {
                row.rights.push(rights);
                row.rights.len() - 1
            });
            classes.push(u16::try_from(class).unwrap_or(u16::MAX));
        }
        let class = |class: &u16| classes.get(usize::from(*class)).copied().unwrap_or_default();
        row.class_of = class_of.iter().map(class).collect();
        row.strip = STRIP
            .into_iter()
            .map(|action| {
                let decision = asker.ask(action, &world.bucket_arn, Headers::Plain);
                (action, Can::of(world, actor, &decision))
            })
            .collect();
        row.ways = ways(world, actor, &row.rights);
        row
    }

    /// What it can do with a lock through an access point; nothing where there is no rights.
    pub(super) fn through(&self, point: usize, key: usize) -> Option<&Rights> {
        self.ways.iter().find(|via| via.point == point)?.rights(key)
    }

    /// What it can do with the lock of this number.
    pub(super) fn rights(&self, key: usize) -> Option<&Rights> {
        self.rights.get(usize::from(*self.class_of.get(key)?))
    }

    /// What it can do with each lock; alike ones once.
    pub(super) fn all_rights(&self) -> impl Iterator<Item = &Rights> {
        self.rights.iter()
    }

    /// What it can do to the bucket.
    pub(super) fn strips(&self, action: &str) -> &Can {
        self.strip.iter().find(|(name, _)| *name == action).map_or(&Can::No, |(_, can)| can)
    }
}

/// Whether somebody can decrypt what the bucket's key encrypted. Without a key of the bucket's own there is nothing
/// to be refused.
fn decrypts(world: &World<'_>, actor: &Actor<'_>) -> Can {
    uses_key(world, actor, "Decrypt").unwrap_or(Can::Yes)
}

/// Whether somebody can do this with the bucket's KMS key. None without one.
pub(super) fn uses_key(world: &World<'_>, actor: &Actor<'_>, operation: &str) -> Option<Can> {
    let key = world.input.bucket.kms.as_ref().filter(|key| key.arn.contains(":key/"))?;
    let grants = key.grants.known().into_iter().flatten();
    let granted = grants
        .into_iter()
        .find(|grant| Some(grant.grantee) == actor.arn.as_deref() && grant.operations.contains(&operation));
    match granted {
        Some(grant) if grant.constrained => {
            return Some(Can::If(vec!["a grant's encryption context".to_owned()], Vec::new()));
        }
        Some(_) => return Some(Can::Yes),
        None => {}
    }
    let decision = world.ask_elsewhere(actor, &format!("kms:{operation}"), key.arn, Some(key));
    let can = Can::of(world, actor, &decision);
    // A grant that nobody read may allow it.
    match (can, &key.grants) {
        (Can::No, super::input::Reading::Failed(why)) => {
            Some(Can::Unknown(vec![format!("grants on the key could not be read: {why}")]))
        }
        (can, _) => Some(can),
    }
}

/// Puts keys into groups about which the same is true for everybody. Gives the keys' numbers.
pub(super) fn groups(world: &World<'_>, rows: &[&Row]) -> Vec<Vec<usize>> {
    let mut group_of = vec![0_usize; world.keys.len()];
    let direct = rows.iter().filter(|row| row.rights.len() > 1).map(|row| &row.class_of);
    let through = rows.iter().flat_map(|row| &row.ways).map(|via| &via.class_of);
    for classes in direct.chain(through) {
        let mut found: HashMap<(usize, u16), usize> = HashMap::new();
        for (group, class) in group_of.iter_mut().zip(classes) {
            let next = found.len();
            *group = *found.entry((*group, *class)).or_insert(next);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    for (key, group) in group_of.into_iter().enumerate() {
        let at = *place.entry(group).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.push(key);
        }
    }
    groups
}

/// The sets of all lock keys, and who can strip.
pub(super) fn sets(world: &World<'_>, rows: &[Row]) -> (Vec<LockAccess>, Vec<Holder>) {
    let shown = |at: usize| at != world.stranger || world.input.principals.known().is_none();
    let actors =
        || world.actors.iter().zip(rows).enumerate().filter(|(at, _)| shown(*at)).map(|(_, both)| both);
    let of_all: Vec<&Row> = rows.iter().collect();
    let locks = groups(world, &of_all).into_iter().map(|group| {
        let first = group.first().copied().unwrap_or_default();
        let set = |of: &dyn Fn(&Rights, &Row) -> Can| {
            let holders = actors()
                .filter_map(|(actor, row)| holder(world, actor, of(row.rights(first)?, row), Vec::new()));
            sorted(holders.collect())
        };
        // A detour is worth telling where the direct way is not surely open.
        let all = |of: &dyn Fn(&Rights) -> Can| {
            let mut holders = set(&|rights, _| of(rights));
            for (actor, row) in actors() {
                if row.rights(first).is_none_or(|rights| of(rights) == Can::Yes) {
                    continue;
                }
                let ways = row.ways.iter().filter_map(|via| {
                    let way = world.points.get(via.point)?.way();
                    Some((way, of(via.rights(first)?)))
                });
                holders.extend(detour(world, actor, ways));
            }
            sorted(holders)
        };
        LockAccess {
            keys: group.iter().filter_map(|key| world.keys.get(*key)).map(|key| key.lock.clone()).collect(),
            can_delete: all(&Rights::can_delete),
            can_delete_version: all(&|rights| rights.delete_version.clone()),
            can_overwrite: all(&Rights::can_overwrite),
            can_create: all(&Rights::can_create),
            cannot_release: set(&|rights, row| rights.cannot_release(&row.decrypts)),
        }
    });
    let mut strip = Vec::new();
    for (actor, row) in actors() {
        // One entry for each certainty.
        let mut seen: Vec<(Can, Vec<String>)> = Vec::new();
        for (action, can) in row.strip.iter().filter(|(_, can)| !can.is_no()) {
            match seen.iter_mut().find(|(known, _)| known == can) {
                Some((_, actions)) => actions.push((*action).to_owned()),
                None => seen.push((can.clone(), vec![(*action).to_owned()])),
            }
        }
        strip.extend(seen.into_iter().filter_map(|(can, actions)| holder(world, actor, can, actions)));
    }
    (locks.collect(), sorted(strip))
}

/// Somebody's best way through an access point: the surest, and of those the first by name.
fn detour(world: &World<'_>, actor: &Actor<'_>, ways: impl Iterator<Item = (String, Can)>) -> Option<Holder> {
    let mut best: Option<(String, Can)> = None;
    for (way, can) in ways {
        if best.as_ref().is_none_or(|(_, known)| can.rank() > known.rank()) {
            best = Some((way, can));
        }
    }
    let (way, can) = best?;
    let can = match can {
        Can::Unknown(why) => Can::Unknown(std::iter::once(way).chain(why).collect()),
        can => can.only(&way),
    };
    holder(world, actor, can, Vec::new())
}

fn sorted(mut holders: Vec<Holder>) -> Vec<Holder> {
    holders.sort();
    holders
}

fn holder(world: &World<'_>, actor: &Actor<'_>, can: Can, actions: Vec<String>) -> Option<Holder> {
    let caveat =
        world.organization_unknown(actor).map(|what| format!("no {what} forbids it (none was supplied)"));
    let certainty = match can {
        Can::No => return None,
        Can::Yes => match caveat {
            Some(caveat) => Certainty::Conditional { conditions: vec![caveat], statements: Vec::new() },
            None => Certainty::Certain,
        },
        Can::If(mut conditions, statements) => {
            conditions.extend(caveat);
            Certainty::Conditional { conditions, statements }
        }
        Can::Unknown(why) => Certainty::Unknown { why },
    };
    Some(Holder {
        principal: actor.shown.clone(),
        part: actor.part,
        assumed: actor.assumed,
        certainty,
        actions,
    })
}
