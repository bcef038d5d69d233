//! stub
use crate::repo::text::Text;
use crate::repo::{problem::*, source::*};
pub fn read_heredocs(_: &str, _: Text<'_>) -> (Vec<Source>, Vec<Problem>) {
    Default::default()
}
