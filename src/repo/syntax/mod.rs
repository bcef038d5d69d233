//! Text to facts: one reader per syntax. Pure functions over bytes; nothing here opens a file.
pub mod expression;
mod generated_text;
pub mod hcl;
pub mod lexer;
pub mod terragrunt;
mod terragrunt_arguments;
mod terragrunt_json;
pub mod terramate;
