//! What DynamoDB and S3 really hold, against what the repositories say. What may come in: an inventory or names, what AWS
//! answered or a file of it, and what `lockshift.toml` decides.
//!
//! [`expected`] is what the repositories say, a [`snapshot`] is what was read, an [`outcome`] is what follows. Only
//! `collect` touches the world; judging knows neither network nor clock.

pub mod accept;
pub mod access;
#[cfg(feature = "aws")]
pub mod collect;
pub mod document;
mod endpoint;
pub mod expected;
pub mod import;
pub mod judge;
pub mod lock_info;
pub mod outcome;
pub mod policies;
pub mod retire;
pub mod snapshot;

/// From what age on a lock counts as left behind, when nobody says otherwise. Few applies take longer.
pub const STALE_AFTER: std::time::Duration = std::time::Duration::from_secs(2 * 60 * 60);
