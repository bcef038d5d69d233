//! Edits as data: planned, proven, and only then written. May know repo and finding.

pub mod align;
pub mod change;
pub mod diff;
pub mod edit;
mod flag_change;
mod fmt_lines;
pub mod group;
mod insert;
mod item;
pub mod phase;
pub mod plan;
mod remove;
mod spell;
pub mod write;
