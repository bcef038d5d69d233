//! `lockshift` moves Terraform, OpenTofu and Terragrunt state locking from DynamoDB to S3's own lockfile.
//!
//! # The map
//!
//! ```text
//! scan      paths ─ walk ─▶ files ─ read ─▶ facts ─ merge ─▶ Inventory ─▶ report
//! migrate   Inventory ─ plan ─▶ steps and refusals ─ edit ─▶ new bytes ─ verify ─▶ diff | write
//! audit     Inventory or buckets ─ collect ─▶ Snapshot ─ judge(now) ─▶ findings ─▶ report
//! unlock    one state ─ read ─▶ both locks ─ decide ─▶ conditional deletes ─ read back ─▶ record
//! ```
//!
//! | room | what it is for | what it may know |
//! |---|---|---|
//! | [`cli`] | arguments in, exit code out; joins the rooms below | everything |
//! | [`repo`] | what is in the repository: walk, read, merge, [`repo::inventory::Inventory`] | [`shell`] |
//! | [`migrate`] | edits as data, and what must hold before and after them | [`repo`], [`interrupts`], [`moment`], [`shell`], [`workspace`] |
//! | [`finding`] | a finding | [`repo`], [`severity`] |
//! | [`rules`] | the registry of rules and their pages; a scan's rules are judged there | [`repo`], [`finding`], [`config`], [`policy`] |
//! | [`unlock`] | one state's locks released on condition, its digest put right | [`audit`], [`interrupts`], [`moment`] |
//! | [`audit`] | what S3 and DynamoDB hold, read into a snapshot and judged | [`repo`], [`config`], [`finding`], [`rules`], [`policy`], [`moment`], [`shell`], [`workspace`] |
//! | [`policy`] | AWS's policy evaluation: who can do what, with reasons; the rules about it | [`severity`], [`workspace`] |
//! | [`interrupts`] | signals that wait until what was begun is whole and cleared away | nothing |
//! | [`moment`] | a moment in time, as stores write it | nothing |
//! | [`severity`] | how much a finding matters | nothing |
//! | [`shell`] | words for a shell, and what no terminal should get | nothing |
//! | [`workspace`] | where a workspace's state lives | nothing |
//! | [`config`] | `lockshift.toml`: what a repository decides for itself | [`finding`], [`repo`], [`rules`] |
//! | [`report`] | one file per output format | what it shows: findings, inventory, plan, audit, policies, unlocking |
//!
//! One direction, no way back: nobody knows `cli`, `repo` knows none of the others but `shell`.
//! The walk and its neighbours in `repo`, [`config`] for its own file, and the writing half of `migrate` touch the disk;
//! `audit::collect` and `unlock::stores` touch AWS; everything between them is pure.

#![cfg_attr(test, allow(clippy::string_slice))] // tests cut at offsets that they know

pub mod audit;
#[cfg(feature = "aws")]
pub mod cli;
pub mod config;
pub mod finding;
pub mod interrupts;
pub mod migrate;
pub mod moment;
pub mod policy;
pub mod repo;
pub mod report;
pub mod rules;
pub mod severity;
pub mod shell;
pub mod unlock;
pub mod workspace;
