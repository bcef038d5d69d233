//! `--fail-on`: from which severity on, and for which rules, findings make the exit code 1.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};

use crate::audit::outcome::AuditFinding;
use crate::finding::{Finding, Severity};
use crate::rules;

/// A comma list of severities and rule ids, parsed; or `never`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailOn {
    severity: Option<Severity>,
    rules: Vec<String>,
}

impl FailOn {
    /// Whether a finding makes the run fail. One that was ignored with a reason never does.
    pub fn reached_by(&self, finding: &Finding) -> bool {
        finding.ignored.is_none() && self.names(&finding.rule, finding.severity)
    }

    /// The same for what an audit finds.
    pub fn reached_by_audit(&self, finding: &AuditFinding) -> bool {
        finding.ignored.is_none() && self.names(&finding.rule, finding.severity)
    }

    fn names(&self, rule: &str, severity: Severity) -> bool {
        self.severity.is_some_and(|least| severity >= least) || self.rules.iter().any(|named| named == rule)
    }
}

/// Parses the option, and offers severities and rules to a shell that completes it. More than those is taken: a list.
#[derive(Debug, Clone)]
pub(super) struct Parser;

impl TypedValueParser for Parser {
    type Value = FailOn;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<FailOn, clap::Error> {
        let parse: fn(&str) -> Result<FailOn, String> = parse;
        parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let severities = Severity::ALL.into_iter().map(Severity::as_str);
        let rules = rules::all().iter().map(|rule| rule.id);
        Some(Box::new(severities.chain(["never"]).chain(rules).map(PossibleValue::new)))
    }
}

/// The error says what was probably meant.
fn parse(text: &str) -> Result<FailOn, String> {
    let mut fail_on = FailOn { severity: None, rules: Vec::new() };
    let text = text.to_ascii_lowercase();
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    if words == ["never"] {
        return Ok(fail_on);
    }
    for word in words {
        if let Some(severity) = Severity::ALL.into_iter().find(|severity| severity.as_str() == word) {
            // Two severities: the lower one holds the other.
            fail_on.severity = Some(fail_on.severity.map_or(severity, |have| have.min(severity)));
        } else if rules::find(word).is_some() {
            fail_on.rules.push(word.to_owned());
        } else if word == "never" {
            return Err("`never` stands alone: it contradicts whatever is named beside it".to_owned());
        } else {
            return Err(unknown(word));
        }
    }
    Ok(fail_on)
}

fn unknown(word: &str) -> String {
    let severities = Severity::ALL.map(Severity::as_str);
    let close = similar::get_close_matches(word, &severities, 1, 0.6).first().copied();
    match close.or_else(|| rules::suggest(word)) {
        Some(meant) => format!("no severity and no rule is called `{word}`; did you mean `{meant}`?"),
        None => format!(
            "no severity and no rule is called `{word}`; severities are {}, `lockshift explain` lists the rules",
            severities.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::text::Place;

    fn finding(rule: &str, severity: Severity) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity,
            subject: String::new(),
            place: Place { file: "a.tf".to_owned(), line: 1, column: 1 },
            message: String::new(),
            help: None,
            ignored: None,
        }
    }

    #[test]
    fn severities_and_rules_add_up() {
        let fail_on = parse("high, dynamodb-only").unwrap();
        assert!(fail_on.reached_by(&finding("x", Severity::High)));
        assert!(fail_on.reached_by(&finding("x", Severity::Critical)));
        assert!(!fail_on.reached_by(&finding("x", Severity::Medium)));
        assert!(fail_on.reached_by(&finding("dynamodb-only", Severity::Info)));
        let mut ignored = finding("dynamodb-only", Severity::Critical);
        ignored.ignored = Some("why".to_owned());
        assert!(!fail_on.reached_by(&ignored));
        assert_eq!(parse("HIGH,Dynamodb-Only").unwrap(), parse("high,dynamodb-only").unwrap());
        assert_eq!(parse("Never").unwrap(), parse("never").unwrap());
        assert_eq!(parse("high,low").unwrap(), parse("low").unwrap());
        assert!(!parse("never").unwrap().reached_by(&finding("x", Severity::Critical)));
    }

    #[test]
    fn errors_say_what_was_probably_meant() {
        assert_eq!(
            parse("hgih").unwrap_err(),
            "no severity and no rule is called `hgih`; did you mean `high`?"
        );
        assert_eq!(
            parse("low,dynamo-only").unwrap_err(),
            "no severity and no rule is called `dynamo-only`; did you mean `dynamodb-only`?"
        );
        assert!(parse("zzzzzzzz").unwrap_err().contains("severities are info, low, medium, high, critical"));
        assert!(parse("never,high").unwrap_err().contains("stands alone"));
        assert!(parse("").is_err());
    }
}
