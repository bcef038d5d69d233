//! Edits as data: planned, proven, and only then written. May know repo and finding.

pub mod align;
pub mod change;
pub mod commit;
pub mod diff;
pub mod edit;
pub mod evidence;
mod flag_change;
mod fmt_lines;
pub mod forge;
pub mod git;
pub mod group;
mod insert;
mod item;
pub mod options;
pub mod phase;
pub mod plan;
pub mod reinit;
mod remove;
mod spell;
pub mod states;
pub mod write;
