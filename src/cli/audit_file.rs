//! A file that has to hold an audit's JSON, for every command that takes one.

use std::path::Path;

use super::failure::Failure;
use crate::audit::document::{self, NoAudit};
use crate::audit::outcome::SCHEMA_VERSION;
use crate::repo::bounded;

/// The bytes of an audit's JSON.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let json = bounded::read_named(file)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", file.display())))?;
    check(file, &json)?;
    Ok(json)
}

/// Whether these bytes are an audit's JSON.
pub(super) fn check(file: &Path, json: &[u8]) -> Result<(), Failure> {
    let file = file.display();
    document::check(json).map_err(|why| match why {
        NoAudit::Form(error) => Failure::json(file, json, "no audit's JSON", &error).help(MAKE_ONE),
        NoAudit::Other(what) => Failure::new(format!("{file}: no audit's JSON: it is {what}")).help(MAKE_ONE),
        NoAudit::Version(version) => {
            Failure::new(format!("{file}: an audit's JSON of version {version}, which is not read here"))
                .help(format!("this lockshift reads version {SCHEMA_VERSION}; {MAKE_ONE}"))
        }
    })
}

const MAKE_ONE: &str = "make one: lockshift audit --format json --output audit.json";
