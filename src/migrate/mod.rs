//! Edits as data: planned, proven, and only then written. May know repo and finding.

pub mod align;
pub mod change;
mod draft;
pub mod edit;
pub mod evidence;
mod flag_change;
mod fmt_lines;
pub mod gate;
mod group;
mod insert;
mod item;
mod judge;
mod manual;
pub mod options;
pub mod phase;
pub mod plan;
pub mod planner;
mod proof;
mod remove;
mod required_version;
mod spell;
mod units;
mod verify;
mod want;
