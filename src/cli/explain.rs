//! `lockshift explain`: the page of one rule, or the list of all.

use anstyle::Style;

use super::Outcome;
use super::failure::Failure;
use super::output::{self, Terminal};
use super::rule_id::RuleId;
use crate::rules;

/// Explain a rule: what it means, why it matters, what to do
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The rule's id, as findings name it; without one, all rules are listed.
    #[arg(value_name = "ID", value_parser = RuleId, hide_possible_values = true, conflicts_with = "list")]
    id: Option<String>,
    /// List all rules with their severities.
    #[arg(long)]
    list: bool,
}

/// Prints the page or the list.
pub(super) fn run(args: &Args, terminal: Terminal) -> Result<Outcome, Failure> {
    let text = match &args.id {
        None => list(),
        Some(id) => page(id.trim(), terminal.colour_stdout)?,
    };
    output::write(&text)?;
    Ok(Outcome::Clean)
}

fn list() -> String {
    let width = rules::all().iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut out = String::new();
    for rule in rules::all() {
        out.push_str(&format!("{:width$}  {:8}  {}\n", rule.id, rule.severity.as_str(), rule.summary));
    }
    out
}

/// The page, its headings bold where there is colour.
fn page(id: &str, colour: bool) -> Result<String, Failure> {
    let Some(rule) = rules::find(id) else {
        let failure = Failure::new(format!("no rule is called `{id}`"));
        return Err(match rules::suggest(id) {
            Some(meant) => failure.help(format!("did you mean `{meant}`?")),
            None => failure.help("`lockshift explain` lists all rules"),
        });
    };
    let bold = if colour { Style::new().bold() } else { Style::new() };
    let mut out = String::with_capacity(rule.page.len() + 1);
    // A `#` inside a code block is a comment, not a heading.
    let mut fenced = false;
    for line in rule.page.trim_end().lines() {
        fenced ^= line.trim_start().starts_with("```");
        if line.starts_with('#') && !fenced {
            out.push_str(&format!("{bold}{line}{bold:#}\n"));
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    Ok(out)
}
