//! stub
use super::{facts::*, inventory::*, source::*};
use std::collections::BTreeMap;
pub struct RootInput<'a> {
    pub path: &'a str,
    pub has_bucket: bool,
    pub has_key: bool,
}
pub struct CallInput<'a> {
    pub script: &'a str,
    pub call: &'a Call,
    pub flags: &'a [usize],
}
#[derive(Default)]
pub struct Attribution {
    pub choices: BTreeMap<String, Vec<Choice>>,
    pub unattributed: Vec<(usize, String)>,
    pub shared_var_files: Vec<SharedVarFile>,
    pub habits: Vec<Habit>,
}
#[derive(Default, Clone)]
pub struct Choice {
    pub label: Vec<String>,
    pub sources: Vec<usize>,
}
pub fn attribute(_: &[RootInput<'_>], _: &[Source], _: &[CallInput<'_>]) -> Attribution {
    Attribution::default()
}
