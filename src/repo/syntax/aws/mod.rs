//! AWS resources in code that matter to locks: tables that hold locks, and IAM statements that name them or that
//! grant on exactly a state object. Reading only: nothing here decides what a backend uses.
//!
//! What it can't see: policies put together from several documents (each is judged alone), JSON inside a quoted
//! string or behind `templatefile`, statements inside a conditional or a `dynamic` block's iterator, template
//! directives that make a heredoc invalid JSON, SAM and CDK code, tables that a nested module makes, and names
//! that only a run can tell. What it says is a hint for people, not the evaluation of a policy.

mod grants;
mod node;
mod tables;
mod tokens;

use std::collections::BTreeSet;

use super::positions::Positions;
use crate::repo::facts::{Grant, LockTable};
use crate::repo::needles::Needles;
use crate::repo::text::{Span, Text};

/// How a file is written, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Hcl,
    Json,
    Yaml,
}

fn written(file: &str) -> Option<Written> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let ends = |tails: &[&str]| tails.iter().any(|tail| name.ends_with(tail));
    if ends(&[".json"]) {
        Some(Written::Json)
    } else if ends(&[".tf", ".tofu", ".hcl"]) {
        Some(Written::Hcl)
    } else if ends(&[".yml", ".yaml"]) {
        Some(Written::Yaml)
    } else {
        None
    }
}

/// What makes a module a state's bootstrap, of which [`tables::MODULES`] knows which table it makes.
static MODULES: Needles = Needles::new(&[
    b"cloudposse/tfstate-backend/aws",
    b"terraform-aws-tfstate-backend",
    b"nozaq/remote-state-s3-backend/aws",
    b"terraform-aws-remote-state-s3-backend",
    b"trussworks/bootstrap/aws",
    b"terraform-aws-bootstrap",
]);

/// The hash key of a table that holds locks.
static KEY: Needles = Needles::new(&[b"LockID"]);

/// The keyword of a module call.
static CALL: Needles = Needles::new(&[b"module"]);

/// Without one of these no statement is on a table or a state.
static STATEMENTS: Needles = Needles::new(&[b"dynamodb:", b"DynamoDB:", b".tfstate"]);

/// Lock tables that a file declares: `aws_dynamodb_table` with the hash key `LockID` (native and JSON syntax),
/// `module` calls that make one, `AWS::DynamoDB::Table` in CloudFormation. In order of position.
pub fn read_tables(file: &str, text: Text<'_>) -> Vec<LockTable> {
    let Some(written) = written(file) else { return Vec::new() };
    let bytes = text.bytes();
    let by_module = || {
        // The keyword can't be spelled otherwise in native syntax.
        let calls = written != Written::Hcl || CALL.any_in(bytes);
        calls && MODULES.any_in(bytes)
    };
    if !(KEY.any_in(bytes) || (written != Written::Yaml && by_module())) {
        return Vec::new();
    }
    let mut found = match written {
        Written::Hcl => tables::hcl(text),
        Written::Json => {
            node::json(bytes, Span::new(0, bytes.len())).map(|n| tables::tree(&n)).unwrap_or_default()
        }
        Written::Yaml => node::yaml(bytes).iter().flat_map(tables::tree).collect(),
    };
    found.sort_by_key(|table| table.offset);
    let positions = Positions::new(text);
    found
        .into_iter()
        .map(|table| LockTable {
            address: table.address,
            name: table.name,
            place: positions.place(file, table.offset),
        })
        .collect()
}

/// IAM statements of a file, in order of position: those that matter to locks by what they say, and those on
/// tables of which only another file can tell ([`names_table`]).
///
/// [`LockTable`](crate::repo::facts::GrantKind::LockTable): an allowed `dynamodb:` item action on a table whose
/// name, or the statement's id, speaks of locks or of Terraform state.
///
/// [`StateWithoutLock`](crate::repo::facts::GrantKind::StateWithoutLock): `s3:GetObject` or `s3:PutObject` on a
/// resource that ends in `.tfstate`, where the same document does not allow Get, Put and Delete on that key with
/// `.tflock` behind it.
pub fn read_grants(file: &str, text: Text<'_>) -> (Vec<Grant>, Vec<Grant>) {
    let Some(written) = written(file) else { return Default::default() };
    let bytes = text.bytes();
    if !STATEMENTS.any_in(bytes) {
        return Default::default();
    }
    let documents = match written {
        Written::Hcl => grants::hcl(bytes),
        Written::Json => {
            node::json(bytes, Span::new(0, bytes.len())).map(|n| grants::documents(&n)).unwrap_or_default()
        }
        Written::Yaml => node::yaml(bytes).iter().flat_map(grants::documents).collect(),
    };
    let (found, others): (Vec<_>, Vec<_>) = documents.iter().map(grants::judge).unzip();
    let positions = Positions::new(text);
    let in_order = |found: Vec<Vec<grants::Found>>| {
        let mut found: Vec<grants::Found> = found.into_iter().flatten().collect();
        found.sort_by_key(|grant| (grant.offset, grant.kind));
        found.dedup();
        found
            .into_iter()
            .map(|grant| Grant {
                kind: grant.kind,
                resource: crate::repo::secret::without_credentials(grant.resource),
                place: positions.place(file, grant.offset),
            })
            .collect()
    };
    (in_order(found), in_order(others))
}

/// Whether a grant's resource names one of these tables (names or addresses).
pub fn names_table(grant: &Grant, tables: &BTreeSet<String>) -> bool {
    grants::names_table(&grant.resource, tables)
}

#[cfg(test)]
mod tests;
