//! What is in the repository: walk it, read what matters, merge it as Terraform or OpenTofu would.
//! What may come in: files of any kind, from anybody. May know [`crate::shell`] and no other room.

pub mod bounded;
pub mod buffer;
pub mod class;
mod directory;
pub mod excerpt;
pub mod facts;
mod habits;
pub mod inventory;
pub mod link;
pub mod mentions;
pub mod merge;
pub mod needles;
pub mod owners;
pub mod partial;
#[cfg(test)]
pub(crate) mod patience;
mod pattern;
pub mod problem;
pub mod read;
pub mod root_module;
pub mod scan;
mod script_paths;
pub mod secret;
pub mod setting;
pub mod shown;
pub mod source;
pub mod syntax;
pub mod terragrunt;
pub mod text;
pub mod tracked;
pub mod versions;
mod visit;
pub mod walk;
