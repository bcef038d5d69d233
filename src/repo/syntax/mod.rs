//! Text to facts: one reader per syntax. Pure functions over bytes; nothing here opens a file.
mod terragrunt_arguments;
mod terragrunt_json;
mod generated_text;

pub mod atmos;
pub mod aws;
pub mod cdktf;
pub mod expression;
pub mod hcl;
pub mod heredoc;
pub mod json;
pub mod lexer;
pub mod pins;
pub mod positions;
pub mod shell;
pub mod template;
pub mod terragrunt;
pub mod terramate;
