//! stub
use super::facts::*;
use super::setting::*;
use super::source::*;
pub struct File<'a> {
    pub path: &'a str,
    pub facts: &'a TerragruntFacts,
}
pub struct Tree<'a> {
    pub repo_prefix: Option<&'a str>,
    pub has_module_files: &'a dyn Fn(&str) -> bool,
}
pub struct Unit {
    pub path: String,
    pub settings: Vec<(Setting, usize)>,
    pub sources: Vec<usize>,
    pub shadowed: Vec<usize>,
    pub unknown: Option<String>,
    pub other_backend: Option<String>,
    pub pins: Vec<VersionPin>,
    pub local_source: Option<String>,
}
pub struct Merged {
    pub units: Vec<Unit>,
}
pub fn merge(_: &[File<'_>], _: Tree<'_>) -> Merged {
    Merged { units: vec![] }
}
