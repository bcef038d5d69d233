//! Releasing a lock that nobody holds any more, and putting a digest right: what `terraform force-unlock` does, on
//! condition. What may come in: one state's lock records in both stores, as read; nothing of the repository.
//!
//! [`seen`] is what the stores hold, [`decide`] says what may be removed and on which condition, or why not;
//! [`digest`] does the same for the `-md5` item. Both are pure. [`stores`] reads, deletes on condition and reads back.
//! A removal is never repeated and never unconditional: what changed since it was read stays.

pub mod decide;
pub mod digest;
#[cfg(feature = "aws")]
pub mod perform;
pub mod record;
pub mod seen;
#[cfg(feature = "aws")]
pub mod stores;
