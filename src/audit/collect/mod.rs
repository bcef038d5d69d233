//! placeholder until the reading half is merged
pub(crate) mod clients;
pub(crate) mod failure;
pub(crate) mod meter;
pub mod options;
