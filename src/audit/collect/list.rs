//! Lists one bucket, or its prefixes, with as many listers as it is worth. One lister begins; when it has seen some
//! pages and more follow, what remains is split where directories begin, and the parts are listed side by side. Parts
//! meet without a gap, so the result does not depend on where or when they were split.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_s3::Client;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::failure::Failure;
use super::meter::Meter;
use super::page::{Ask, Cursor, Listing, Page, page};
use super::sieve::{Interest, Sieve, Sifted};

/// Pages that a lister reads before it is worth a request to look for borders: the first one, and the listers of
/// parts, whose number has been shared out already.
const SPLIT_AFTER: u32 = 5;
const SPLIT_PART_AFTER: u32 = 20;

/// Levels of directories that are looked at for borders, beyond those that the lister has already left behind.
const LEVELS: usize = 6;

/// So many pages in a row may bring no other key: a lock with half a million versions has no more.
const MAX_STILL: u32 = 500;

/// What a listing needs.
pub(super) struct Lister<'a> {
    pub client: Client,
    pub meter: Meter,
    pub gate: Arc<Semaphore>,
    pub listing: Listing,
    pub interest: Interest<'a>,
    /// Listers at one time, at most.
    pub shards: usize,
    /// Told after each page.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// What came out.
pub(super) struct Listed {
    pub sifted: Sifted,
    /// Why the listing did not come to its end; empty when it did.
    pub failures: Vec<Failure>,
}

/// A part of a listing: keys after one (exclusive) until another (inclusive).
struct Part<'a> {
    prefix: String,
    until: Option<String>,
    sieve: Option<Sieve<'a>>,
    sifted: Option<Sifted>,
    /// The last key that was seen, and that the next one must not come before.
    last: Option<String>,
    pages: u32,
    /// Pages in a row that brought no other key.
    still: u32,
    split_at: u32,
}

/// What a task brings back, for which part.
enum Done {
    Page((String, String), Result<Page, Failure>),
    Borders((String, String), Vec<String>),
}

impl<'a> Lister<'a> {
    /// Lists these prefixes (sorted, none within another); the whole bucket for none.
    pub async fn run(&self, prefixes: &[String]) -> Listed {
        let whole = [String::new()];
        let prefixes = if prefixes.is_empty() { &whole[..] } else { prefixes };
        let (mut parts, mut failures, mut tasks) = (BTreeMap::new(), Vec::new(), JoinSet::new());
        // Parts by prefix and begin, which is their order in the listing.
        for prefix in prefixes {
            let id = (prefix.clone(), String::new());
            self.ask(&mut tasks, &id, Cursor::default());
            parts.insert(id, self.part(prefix, None, None));
        }
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok(Done::Page(id, Ok(page))) => {
                    if let Err(failure) = self.page(&mut parts, &mut tasks, &id, page) {
                        failures.push(failure);
                        end(&mut parts, &id);
                    }
                }
                Ok(Done::Page(id, Err(failure))) => {
                    failures.push(failure);
                    end(&mut parts, &id);
                }
                Ok(Done::Borders(id, borders)) => self.split(&mut parts, &mut tasks, &id, borders),
                Err(error) => failures.push(Failure::own(format!("the lister broke off: {error}"))),
            }
        }
        let sifted = parts.into_values().filter_map(|part| part.sifted.or(part.sieve.map(Sieve::end)));
        Listed { sifted: Sifted::join(sifted.collect(), self.interest.versioned), failures }
    }

    fn part(&self, prefix: &str, after: Option<String>, until: Option<String>) -> Part<'a> {
        Part {
            prefix: prefix.to_owned(),
            until,
            sieve: Some(Sieve::new(self.interest, after.clone())),
            sifted: None,
            split_at: if after.is_some() { SPLIT_PART_AFTER } else { SPLIT_AFTER },
            last: after,
            pages: 0,
            still: 0,
        }
    }

    fn ask(&self, tasks: &mut JoinSet<Done>, id: &(String, String), at: Cursor) {
        let (client, gate, id) = (self.client.clone(), Arc::clone(&self.gate), id.clone());
        let ask = self.asking(&id.0, None);
        tasks.spawn(async move {
            let _permit = gate.acquire().await.ok();
            Done::Page(id, page(&client, &ask, &at).await)
        });
    }

    fn asking(&self, prefix: &str, delimiter: Option<&'static str>) -> Ask {
        let bucket = self.interest.bucket.to_owned();
        Ask { bucket, listing: self.listing, prefix: prefix.to_owned(), delimiter }
    }

    /// Takes a page in, and asks for the next one first.
    fn page(
        &self,
        parts: &mut BTreeMap<(String, String), Part<'a>>,
        tasks: &mut JoinSet<Done>,
        id: &(String, String),
        page: Page,
    ) -> Result<(), Failure> {
        self.meter.listed(page.entries.len());
        (self.progress)(&format!("{} objects", self.meter.objects()));
        let running = parts.values().filter(|part| part.sieve.is_some()).count();
        let Some(part) = parts.get_mut(id) else { return Ok(()) };
        let Some(sieve) = &mut part.sieve else { return Ok(()) };
        let beyond = |key: &str| part.until.as_deref().is_some_and(|until| key > until);
        let last_of_page = page.entries.last().map(|entry| entry.key.clone());
        // Pages may be empty, and one key may have many versions; but not without end.
        part.still = if last_of_page.is_none() || last_of_page == part.last { part.still + 1 } else { 0 };
        if part.still > MAX_STILL {
            return Err(Failure::own("the listing does not end: page after page brings no other key"));
        }
        let over = page.next.is_none() || last_of_page.as_deref().is_some_and(beyond);
        if let (Some(next), false) = (page.next, over) {
            self.ask(tasks, id, next);
        }
        for entry in page.entries {
            if part.last.as_deref().is_some_and(|last| entry.key.as_str() < last) {
                return Err(Failure::own(
                    "the listing is not in order, or goes round in circles: nothing can be said about what is missing",
                ));
            }
            if beyond(&entry.key) {
                break;
            }
            if part.last.as_deref() != Some(entry.key.as_str()) {
                part.last = Some(entry.key.clone());
            }
            sieve.take(entry);
        }
        part.pages += 1;
        if over {
            end(parts, id);
        } else if part.pages >= part.split_at && running < self.shards {
            // The next look costs the same and has less to gain.
            part.split_at = part.pages * 2;
            self.look_for_borders(tasks, id, part.last.clone().unwrap_or_default(), part.until.clone());
        }
        Ok(())
    }

    /// Asks which directories lie ahead: those beside the topmost one that `last` lies in, else one level deeper.
    fn look_for_borders(
        &self,
        tasks: &mut JoinSet<Done>,
        id: &(String, String),
        last: String,
        until: Option<String>,
    ) {
        let (client, gate, id) = (self.client.clone(), Arc::clone(&self.gate), id.clone());
        let below = last.match_indices('/').filter_map(|(at, _)| last.get(..=at));
        let below = below.filter(|directory| directory.len() > id.0.len() && directory.starts_with(&id.0));
        let mut levels = vec![id.0.as_str()];
        for directory in below {
            // Where the part ends within the same directory, the level above has nothing between here and there.
            if until.as_deref().is_some_and(|until| until.starts_with(directory)) {
                levels.pop();
            }
            levels.push(directory);
        }
        let levels: Vec<Ask> =
            levels.into_iter().take(LEVELS).map(|level| self.asking(level, Some("/"))).collect();
        tasks.spawn(async move {
            let _permit = gate.acquire().await.ok();
            for ask in levels {
                // Only a help: where it fails, the one lister goes on alone.
                let Ok(page) = page(&client, &ask, &Cursor::after(Some(last.clone()))).await else { break };
                let inside =
                    |prefix: &String| *prefix > last && until.as_ref().is_none_or(|until| prefix < until);
                let ahead: Vec<String> = page.prefixes.into_iter().filter(inside).collect();
                if !ahead.is_empty() {
                    return Done::Borders(id, ahead);
                }
            }
            Done::Borders(id, Vec::new())
        });
    }

    /// Ends a part earlier and lists the rest in parts of its own.
    fn split(
        &self,
        parts: &mut BTreeMap<(String, String), Part<'a>>,
        tasks: &mut JoinSet<Done>,
        id: &(String, String),
        mut borders: Vec<String>,
    ) {
        let running = parts.values().filter(|part| part.sieve.is_some()).count();
        let room = self.shards.saturating_sub(running);
        let Some(part) = parts.get_mut(id).filter(|part| part.sieve.is_some()) else { return };
        borders.retain(|border| part.last < Some(border.clone()));
        borders.retain(|border| part.until.as_deref().is_none_or(|until| border.as_str() < until));
        borders.sort();
        let step = borders.len().div_ceil(room.max(1)).max(1);
        let mut borders = borders.into_iter().step_by(step).take(room).peekable();
        let Some(first) = borders.peek() else { return };
        let last = part.until.replace(first.clone());
        let prefix = part.prefix.clone();
        while let Some(after) = borders.next() {
            let until = borders.peek().cloned().or_else(|| last.clone());
            let id = (prefix.clone(), after.clone());
            self.ask(tasks, &id, Cursor::after(Some(after.clone())));
            parts.insert(id, self.part(&prefix, Some(after), until));
        }
    }
}

/// Closes a part: its sieve is emptied at once, so that memory is bounded by what is open.
fn end(parts: &mut BTreeMap<(String, String), Part<'_>>, id: &(String, String)) {
    if let Some(part) = parts.get_mut(id) {
        part.sifted = part.sieve.take().map(Sieve::end);
    }
}
