//! stub
use crate::repo::text::Text;
use crate::repo::{problem::*, source::*};
pub fn read_template(_: &str, _: Text<'_>) -> (Vec<Source>, Vec<Problem>) {
    Default::default()
}
pub fn is_template(p: &str) -> bool {
    p.ends_with(".example")
}
