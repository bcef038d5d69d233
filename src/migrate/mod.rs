//! Edits as data: planned, proven, and only then written. May know repo and finding.

pub mod align;
pub mod change;
pub mod edit;
pub mod evidence;
mod flag_change;
mod fmt_lines;
pub mod gate;
mod insert;
mod item;
mod manual;
pub mod options;
pub mod phase;
pub mod plan;
pub mod planner;
mod remove;
mod required_version;
mod spell;
pub mod units;
pub mod verify;
pub mod want;
