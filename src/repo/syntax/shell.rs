//! stub
use crate::repo::facts::*;
use crate::repo::text::Text;
pub fn read_calls(_: &str, _: Text<'_>) -> Vec<Call> {
    Vec::new()
}
