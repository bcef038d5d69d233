//! `audit --retire`: the evidence for and against deleting one lock table, for people and as JSON.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::audit::retire::{Retirement, Side, Verdict};
use crate::repo::text::Place;
use crate::report::SCHEMA_VERSION;
use crate::report::palette::Palette;
use crate::report::words::{safe_json, visible};

/// For people: the verdict, what speaks against it, what is missing, what speaks for it, and what to do.
pub fn table(judged: &Retirement, colour: bool) -> String {
    let palette = Palette { colour };
    let verdict = match judged.verdict {
        Verdict::Ready => palette.added("ready to be deleted"),
        Verdict::NotReady => palette.removed("not ready"),
        Verdict::CantTell => palette.removed("can't tell"),
    };
    let mut out = format!("{} {verdict}\n", palette.bold(&visible(&judged.table)));
    for (side, heading) in
        [(Side::Against, "Against it"), (Side::Missing, "Not known"), (Side::For, "For it")]
    {
        let of = judged.evidence.iter().filter(|evidence| evidence.side == side);
        list(
            &mut out,
            palette,
            heading,
            of.map(|evidence| (evidence.says.as_str(), evidence.place.as_ref())),
        );
    }
    let leftovers = judged.goes_with_it.iter();
    list(
        &mut out,
        palette,
        "What goes with it",
        leftovers.map(|left| (left.what.as_str(), left.place.as_ref())),
    );
    list(&mut out, palette, "What to do", judged.commands.iter().map(|command| (command.as_str(), None)));
    out
}

fn list<'a>(
    out: &mut String,
    palette: Palette,
    heading: &str,
    lines: impl Iterator<Item = (&'a str, Option<&'a Place>)>,
) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    out.push_str(&format!("\n{}\n", palette.bold(heading)));
    for (line, place) in lines {
        let place = place.map(|place| format!("  {}", visible(&place.to_string()))).unwrap_or_default();
        out.push_str(&format!("  {}{}\n", visible(line), palette.dim(&place)));
    }
}

/// Everything that `audit --retire` says.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "lockshift audit --retire")]
struct Document<'a> {
    /// Version of this form. It only rises when something changes its meaning or goes away.
    schema_version: u32,
    #[serde(flatten)]
    judged: &'a Retirement,
}

/// The JSON Schema of [`json`]'s document; committed as `docs/schema/audit-retire.schema.json`.
#[must_use]
pub fn schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Document<'_>>()
}

/// Everything, in a stable form.
///
/// # Errors
/// Where serializing fails, which it does not for these types.
pub fn json(judged: &Retirement) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string_pretty(&Document { schema_version: SCHEMA_VERSION, judged })?;
    Ok(format!("{}\n", safe_json(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::retire::{Evidence, Leftover};
    use crate::report::schema_testing::{committed, mismatch};

    #[test]
    fn the_committed_schema_is_current() {
        committed("audit-retire.schema.json", &schema());
    }

    #[test]
    fn the_verdict_comes_first_and_no_escape_gets_through() {
        let place = Place { file: "net/main.tf".into(), line: 3, column: 5 };
        let judged = Retirement {
            table: "locks".into(),
            verdict: Verdict::NotReady,
            evidence: vec![
                Evidence { side: Side::Against, says: "net locks with it (dual)".into(), place: Some(place) },
                Evidence { side: Side::For, says: "it holds no lock\u{1b}[2J".into(), place: None },
            ],
            goes_with_it: vec![Leftover { what: "2 digest items".into(), place: None }],
            commands: vec!["# not yet".into()],
        };
        assert_eq!(
            table(&judged, false),
            "locks not ready\n\nAgainst it\n  net locks with it (dual)  net/main.tf:3:5\n\nFor it\n  it holds no \
             lock\\u{1b}[2J\n\nWhat goes with it\n  2 digest items\n\nWhat to do\n  # not yet\n"
        );
        let value: serde_json::Value = serde_json::from_str(&json(&judged).unwrap()).unwrap();
        assert_eq!(value["verdict"], "not-ready");
        assert_eq!(value["evidence"][0]["side"], "against");
        assert_eq!(value["schema_version"], 1);
        let schema = serde_json::to_value(schema()).unwrap();
        assert_eq!(mismatch(&schema, &schema, &value, ""), None);
    }
}
