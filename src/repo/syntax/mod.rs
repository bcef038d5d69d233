//! Text to facts: one reader per syntax. Pure functions over bytes; nothing here opens a file.
pub mod expression;
pub mod hcl;
pub mod lexer;

pub mod atmos;
pub mod cdktf;
pub mod json;
pub mod pins;
pub mod positions;
