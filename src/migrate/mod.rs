//! Edits as data: planned, proven, and only then written. May know repo and finding.
