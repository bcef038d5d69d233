//! `--format csv`: one row for each effective backend, for spreadsheets. No findings: a row is about a backend.

use super::ScanReport;
use super::words::{unknowns, visible};
use crate::repo::inventory::{EffectiveBackend, Knowable, RootKind, RootModule, VersionVerdict};

/// The first row.
const HEADER: [&str; 18] = [
    "root",
    "kind",
    "mode",
    "bucket",
    "key",
    "region",
    "dynamodb_table",
    "use_lockfile",
    "workspace_key_prefix",
    "endpoint",
    "backend_config",
    "engine",
    "file",
    "line",
    "versions",
    "version_evidence",
    "owners",
    "unknown",
];

/// The report as CSV (RFC 4180, line breaks `\n`). A value that is absent or unknown is empty; the column
/// `unknown` says which are unknown and why.
pub fn render(report: &ScanReport<'_>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEADER)?;
    for root in &report.inventory.roots {
        for backend in &root.backends {
            writer.write_record(row(root, backend).iter().map(|field| guarded(field)))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn row(root: &RootModule, backend: &EffectiveBackend) -> [String; HEADER.len()] {
    let text = |of: &Knowable<String>| of.known().cloned().unwrap_or_default();
    // The block is the first source; without one the settings came from flags or files alone.
    let origin = backend.sources.iter().find(|source| !source.shadowed);
    let evidence: Vec<String> = root
        .versions
        .evidence
        .iter()
        .map(|evidence| format!("{} {} ({})", evidence.origin, evidence.text, evidence.place))
        .collect();
    let unknown: Vec<String> = unknowns(backend).iter().map(|(name, why)| format!("{name}: {why}")).collect();
    [
        root.path.clone(),
        kind(root.kind).to_owned(),
        backend.mode.as_str().to_owned(),
        text(&backend.bucket),
        text(&backend.key),
        text(&backend.region),
        text(&backend.dynamodb_table),
        backend.use_lockfile.known().map(bool::to_string).unwrap_or_default(),
        text(&backend.workspace_key_prefix),
        text(&backend.endpoint),
        backend.backend_config.join("; "),
        backend.engine.as_str().to_owned(),
        origin.map(|source| source.file.clone()).unwrap_or_default(),
        origin.map(|source| source.line.to_string()).unwrap_or_default(),
        verdict(root.versions.verdict).to_owned(),
        evidence.join("; "),
        root.owners.join(" "),
        unknown.join("; "),
    ]
}

/// The words of the JSON form, so that both can be joined.
fn kind(of: RootKind) -> &'static str {
    match of {
        RootKind::Terraform => "terraform",
        RootKind::Terragrunt => "terragrunt",
        RootKind::Atmos => "atmos",
    }
}

/// The words of the JSON form.
fn verdict(of: VersionVerdict) -> &'static str {
    match of {
        VersionVerdict::Can => "can",
        VersionVerdict::AdmitsOlder => "admits-older",
        VersionVerdict::Cannot => "cannot",
        VersionVerdict::Unknown => "unknown",
    }
}

/// A field that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe in front.
pub(super) fn guarded(field: &str) -> String {
    let shown = visible(field);
    let risky = shown.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if risky { format!("'{shown}") } else { shown.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn rows(report: &ScanReport<'_>) -> Vec<Vec<String>> {
        let text = render(report).unwrap();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn one_row_for_each_effective_backend() {
        let inventory = sample::inventory();
        let text = render(&ScanReport::new(&inventory, &[])).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(
            lines[1],
            "apps/web,terraform,dual,tf-dev,web.tfstate,eu-west-1,locks,true,,,env/dev.tfbackend,any,apps/web/main.tf,2,\
             admits-older,required_version >= 1.5 (apps/web/versions.tf:2:3),'@acme/web,"
        );
        assert_eq!(
            lines[5],
            "envs/stage,terraform,unknown,tf-dev,,eu-west-1,,true,,,,any,envs/stage/main.tf,2,unknown,,,\
             dynamodb_table: `var.table` has no default; key: `var.key` has no default"
        );
    }

    #[test]
    fn no_field_begins_a_formula_or_breaks_its_row() {
        let (inventory, findings) = sample::hostile();
        let rows = rows(&ScanReport::new(&inventory, &findings));
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].len(), HEADER.len());
        assert!(rows[1][0].starts_with("'=x|`\\u{1b}[2J\"<b>,::%\\n@me"), "{}", rows[1][0]);
        for field in &rows[1] {
            assert!(!field.starts_with(['=', '+', '-', '@', '\t']), "{field}");
            assert!(!field.contains(char::is_control), "{field}");
        }
        assert_eq!(guarded(" =1+1"), "' =1+1");
        assert_eq!(guarded("\t=1"), "\\t=1");
        assert_eq!(guarded("-1"), "'-1");
        assert_eq!(guarded("a=b"), "a=b");
    }
}
