//! Text to facts: one reader per syntax. Pure functions over bytes; nothing here opens a file.
pub mod calls;
mod calls_code;
mod calls_yaml;
pub(crate) mod dirs;
pub mod expression;
pub(crate) mod flags;
mod fragment;
pub mod hcl;
pub mod heredoc;
pub mod lexer;
mod locate;
mod shell;
pub mod template;
mod variables;
mod word;
