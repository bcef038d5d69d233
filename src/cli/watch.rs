//! `lockshift watch`: follows one state's lock in both stores until it is released or stale. For people who wait.

use std::time::Duration;

use super::Outcome;
use super::failure::Failure;
use super::output::{self, Terminal};
use super::reach::Reach;
use super::tree::ConfigArgs;
use super::unlock::target::{self, Choice};
use crate::config::duration;
use crate::report::unlock as report;
use crate::unlock::decide::WhichLock;
use crate::unlock::perform::Session;
use crate::unlock::seen::{Seen, Side, Store};

const EXIT_CODES: &str = "\
Exit codes:
  0  the lock is released (or there was none)
  1  a lock is stale: nobody seems to be at work, and nobody will release it
  2  could not run: usage, configuration
  3  a store could not be read";

/// Wait until a state's lock is released or stale
///
/// Reads both stores every few seconds and says each change. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// `s3://BUCKET/STATE-PATH`, or the directory of a root module.
    #[arg(value_name = "STATE")]
    state: String,
    #[command(flatten)]
    choice: Choice,
    /// How often to look.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = pause)]
    every: Duration,
    /// From what age on a lock counts as left behind [default: lockshift.toml, else 2h].
    #[arg(long, value_name = "AGE", value_parser = pause)]
    stale_after: Option<Duration>,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    config: ConfigArgs,
}

/// At least a second: each look is a request to each store.
fn pause(text: &str) -> Result<Duration, String> {
    duration(text)
        .filter(|span| *span >= Duration::from_secs(1))
        .ok_or_else(|| "a number and a unit, at least 1s: 5s, 45m, 24h".to_owned())
}

/// Looks, says what changed, waits.
pub(super) fn run(args: &Args, terminal: Terminal) -> Result<Outcome, Failure> {
    let config = args.config.load()?;
    args.reach.check()?;
    let target = target::named(&args.state, &args.choice, WhichLock::Unreadable, false, &config)?;
    let session = Session::new(args.reach.options(&config)).map_err(Failure::new)?;
    let stores = session.open(target.state.clone(), &target.access, target.table.as_ref());
    let stores = stores.map_err(|why| Failure::new(format!("{}: {why}", target.state)))?;
    let stale_after = args.stale_after.or(config.stale_after).unwrap_or(crate::audit::STALE_AFTER);
    let mut last: Option<Seen> = None;
    loop {
        let seen = session.read(&stores);
        if last.as_ref().is_none_or(|last| (&last.s3, &last.dynamodb) != (&seen.s3, &seen.dynamodb)) {
            output::write(&report::records(&seen, terminal.width, terminal.colour_stdout))?;
        }
        match verdict(&seen, stale_after) {
            Some(Outcome::Clean) => {
                output::write("released\n")?;
                return Ok(Outcome::Clean);
            }
            Some(Outcome::Findings) => {
                output::write("stale: nobody seems to be at work (`lockshift unlock` releases it)\n")?;
                return Ok(Outcome::Findings);
            }
            Some(outcome) => return Ok(outcome),
            None => {}
        }
        last = Some(seen);
        std::thread::sleep(args.every);
    }
}

/// How it ended; none while somebody is at work.
fn verdict(seen: &Seen, stale_after: Duration) -> Option<Outcome> {
    let sides = [Store::S3, Store::DynamoDb].map(|store| seen.side(store));
    if sides.iter().any(|side| matches!(side, Side::Unread(_))) {
        return Some(Outcome::Unjudged);
    }
    let mut held = [Store::S3, Store::DynamoDb].into_iter().filter_map(|store| seen.held(store)).peekable();
    if held.peek().is_none() {
        return Some(Outcome::Clean);
    }
    // Nobody waits for a lock that says no age: nobody can tell when it ends. One from a moment ahead of the store's
    // clock, which tells whole seconds, was just taken.
    let stale = held.all(|lock| {
        seen.taken_at(lock).is_none_or(|taken| seen.at.since(taken).is_some_and(|age| age >= stale_after))
    });
    stale.then_some(Outcome::Findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::lock_info::LockBody;
    use crate::moment::Moment;
    use crate::unlock::seen::{Held, Proof, State};

    fn seen(created: Option<&str>) -> Seen {
        let side = created.map_or(Side::Free, |created| {
            let text = format!(r#"{{"ID":"1","Created":"{created}","Path":"b/k"}}"#);
            let body = LockBody::read(text.as_bytes());
            Side::Held(Box::new(Held { body, proof: Proof::Nothing, stored_at: None }))
        });
        Seen {
            state: State { bucket: "b".into(), state_path: "k".into() },
            s3: side,
            dynamodb: Side::NotAsked,
            at: Moment::parse("2026-11-30T12:00:00Z").unwrap(),
        }
    }

    #[test]
    fn it_ends_when_nothing_is_held_or_everything_is_stale() {
        let verdict = |created| verdict(&seen(created), Duration::from_secs(3600));
        assert_eq!(verdict(None), Some(Outcome::Clean));
        assert_eq!(verdict(Some("2026-11-30T11:30:00Z")), None);
        assert_eq!(
            verdict(Some("2026-11-30T12:00:00.7Z")),
            None,
            "taken within the second that the store tells"
        );
        assert_eq!(verdict(Some("2026-11-30T11:00:00Z")), Some(Outcome::Findings));
        assert_eq!(verdict(Some("no time")), Some(Outcome::Findings));
        // Its client waited for hours before it got the lock: the store's time counts, for the item as well.
        let mut waited = seen(Some("2026-11-30T02:00:00Z"));
        let Side::Held(held) = &mut waited.s3 else { panic!("{waited:?}") };
        held.stored_at = Moment::parse("2026-11-30T11:59:00Z");
        let item = Held { stored_at: None, ..(**held).clone() };
        waited.dynamodb = Side::Held(Box::new(item));
        assert_eq!(super::verdict(&waited, Duration::from_secs(3600)), None);
        let unread = Seen { dynamodb: Side::Unread("denied".into()), ..seen(None) };
        assert_eq!(super::verdict(&unread, Duration::from_secs(1)), Some(Outcome::Unjudged));
    }
}
