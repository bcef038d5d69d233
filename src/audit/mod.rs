//! What DynamoDB and S3 really hold, against what the repositories say.
//!
//! [`expected`] is what the repositories say, a [`snapshot`] is what was read, an [`outcome`] is what follows. Only
//! `collect` touches the world; judging knows neither network nor clock.

pub mod expected;
pub mod lock_info;
pub mod outcome;
pub mod policies;
pub mod snapshot;
