//! A rule's id on the command line: any text is taken, so that the command can say which id was probably meant; shells
//! are offered those that there are.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

use crate::rules;

/// See above.
#[derive(Debug, Clone)]
pub(super) struct RuleId;

impl TypedValueParser for RuleId {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(rules::all().iter().map(|rule| PossibleValue::new(rule.id))))
    }
}
