//! `--history`: joins looking at earlier commits with counting what they came to.

use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::progress::Line;
use crate::config::Date;
use crate::migrate::git::Repository;
use crate::migrate::past::{Wanted, look_back};
use crate::moment::Moment;
use crate::repo::scan::ScanOptions;
use crate::report::History;
use crate::report::history::Point;
use crate::report::words::count;

/// How far back to look.
#[derive(Debug, clap::Args)]
pub(super) struct PastArgs {
    /// Scan N earlier commits of this branch that touch the paths, too (formats html and json) [default N: 12]. `git` has 120
    /// seconds for each answer; LOCKSHIFT_GIT_TIMEOUT sets them.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "12", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub history: Option<u16>,
    /// With --history: only commits from this day on (YYYY-MM-DD, UTC).
    #[arg(long, value_name = "DATE", requires = "history", value_parser = day)]
    since: Option<Moment>,
}

fn day(text: &str) -> Result<Moment, String> {
    let day = Date::parse(text).and_then(|_| Moment::parse(&format!("{text}T00:00:00Z")));
    day.ok_or_else(|| "write a day as YYYY-MM-DD".to_owned())
}

impl PastArgs {
    /// `--history 5`: the number was taken for a path, as it is joined with `=`.
    pub fn check(&self, paths: &[PathBuf]) -> Result<(), Failure> {
        let number = |path: &&PathBuf| path.to_str().is_some_and(|text| text.parse::<u16>().is_ok());
        match paths.iter().filter(|_| self.history.is_some()).find(|path| number(path) && !path.exists()) {
            None => Ok(()),
            Some(path) => {
                let number = path.display();
                Err(Failure::new(format!("there is no path `{number}`"))
                    .help(format!("the number of commits is joined with `=`: `--history={number}`")))
            }
        }
    }

    /// What earlier commits came to; none where nobody asked. What can't be told is said in it.
    pub fn look(&self, options: &ScanOptions, quiet: bool) -> Option<History> {
        let points = usize::from(self.history?);
        let line = Line::new(quiet);
        let mut seen = Vec::new();
        let looked = look_back(options, Wanted { points, since: self.since }, &mut |look| {
            seen.push(Point::of(look.commit.id, look.commit.at, &look.inventory, look.missing));
            line.say(&format!("{} of {}", seen.len(), count(points, "commit", "commits")));
        });
        line.finish();
        let unknown = looked.unwrap_or_else(|error| Some(error.to_string()));
        Some(History { points: (!seen.is_empty()).then_some(seen), unknown })
    }
}

/// What a report is called after: the repository and where in it we are, or the paths.
pub(super) fn name_of(paths: &[PathBuf]) -> String {
    let here = Path::new(".");
    if paths.iter().any(|path| path != here) {
        return paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    }
    let Ok(real) = here.canonicalize() else { return ".".to_owned() };
    let top = Repository::around(here).map_or_else(|| real.clone(), |repository| repository.top().to_owned());
    let name =
        top.file_name().map_or_else(|| top.display().to_string(), |name| name.to_string_lossy().into_owned());
    match real.strip_prefix(&top) {
        Ok(below) if !below.as_os_str().is_empty() => format!("{name}/{}", below.display()),
        _ => name,
    }
}

/// When a report is made: now, or when SOURCE_DATE_EPOCH says, so that a build can be repeated to the byte
/// (reproducible-builds.org/specs/source-date-epoch).
pub(super) fn report_time() -> Moment {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    Moment::from_seconds(set.unwrap_or_else(|| Moment::of(std::time::SystemTime::now()).seconds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_day_of_the_calendar() {
        assert_eq!(day("2026-02-28").unwrap().to_string(), "2026-02-28T00:00:00Z");
        for bad in ["2026-02-30", "2026-2-3", "yesterday", ""] {
            assert!(day(bad).is_err(), "{bad}");
        }
    }
}
