//! What is in the repository: walk it, read what matters, merge it as Terraform or OpenTofu would.
//! May know [`crate::finding`]; knows nothing of migrate, audit, policy, report or cli.

pub mod facts;
pub mod inventory;
pub mod owners;
pub mod problem;
pub mod root_module;
pub mod setting;
pub mod source;
pub mod syntax;
pub mod text;
pub mod versions;
pub mod walk;
