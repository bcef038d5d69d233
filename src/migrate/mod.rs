//! Edits as data: planned, proven, and only then written. What may come in: an inventory with the bytes that it was read
//! from, and the evidence of an audit. May know `repo`, `interrupts`, `moment`, `shell` and `workspace`.
//!
//! Pure: [`planner`] and what it is made of (`want`, `judge`, `gate`, `together`, `draft`, `proof`), edits
//! ([`change`], [`source_edits`], [`edit`], [`align`]), [`diff`], [`group`] and the texts of a request. The disk is
//! touched by [`mod@write`] alone (and, in a temporary directory, by [`past`]), git by [`git`], [`commit`] and [`past`],
//! other programs by [`forge`]; [`program`] starts them all.

mod addition;
pub mod align;
pub mod change;
pub mod commit;
pub mod diff;
mod draft;
pub mod edit;
pub mod evidence;
mod flag_change;
mod fmt_lines;
pub mod forge;
pub mod gate;
pub mod git;
pub mod group;
mod insert;
mod item;
mod judge;
mod manual;
pub mod options;
pub mod past;
mod past_tree;
pub mod phase;
pub mod plan;
pub mod planner;
pub mod program;
mod proof;
pub mod reinit;
mod remove;
mod required_version;
mod scratch;
pub mod source_edits;
mod spell;
pub mod states;
mod together;
mod units;
mod verify;
mod want;
pub mod write;
