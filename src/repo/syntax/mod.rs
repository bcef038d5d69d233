//! Text to facts: one reader per syntax. Pure functions over bytes; nothing here opens a file.

pub mod atmos;
pub mod aws;
pub mod calls;
mod calls_code;
mod calls_yaml;
pub mod cdktf;
mod code_style;
pub(crate) mod dirs;
pub mod expression;
pub(crate) mod flags;
mod fragment;
mod generated_text;
pub mod hcl;
pub mod heredoc;
pub mod json;
pub mod lexer;
mod locate;
pub mod pins;
pub mod positions;
pub mod shell;
pub mod template;
pub mod terragrunt;
mod terragrunt_arguments;
mod terragrunt_json;
pub mod terramate;
pub(crate) mod variables;
mod word;
