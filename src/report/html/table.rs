//! Tables as the page has them: real ones, with a caption and headers that screen readers can tell. Cells come as HTML
//! that is safe already.

use super::escape::text;

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column<'a> {
    /// What stands above it.
    pub name: &'a str,
    /// Its class, which says how wide it is and how it is aligned.
    pub class: &'a str,
    /// It holds numbers, and is sorted by them.
    pub number: bool,
    /// It holds drawings: safe HTML that goes below its name, such as an axis. Nothing is sorted by it.
    pub drawn: Option<&'a str>,
}

/// A column of words.
pub(super) const fn words<'a>(name: &'a str, class: &'a str) -> Column<'a> {
    Column { name, class, number: false, drawn: None }
}

/// A column of numbers.
pub(super) const fn numbers(name: &str) -> Column<'_> {
    Column { name, class: "num", number: true, drawn: None }
}

/// A column of drawings.
pub(super) const fn drawings<'a>(name: &'a str, class: &'a str, axis: &'a str) -> Column<'a> {
    Column { name, class, number: false, drawn: Some(axis) }
}

/// A row: what filters ask for (`data-NAME="value"`), and its cells. The first cell names the row.
pub(super) struct Row {
    /// Names of ours and values from anywhere.
    pub keys: Vec<(&'static str, String)>,
    /// Safe HTML.
    pub cells: Vec<String>,
}

/// A table in a frame of its own that scrolls when it is wider than the page.
pub(super) fn table(id: &str, caption: &str, columns: &[Column<'_>], rows: &[Row]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-caption\">\n\
         <table id=\"{id}\" class=\"rows\"><caption id=\"{id}-caption\">{}</caption>\n<colgroup>",
        text(caption)
    );
    for column in columns {
        out.push_str(&format!("<col class=\"{}\">", column.class));
    }
    out.push_str("</colgroup>\n<thead><tr>");
    for column in columns {
        let kind = match (column.number, column.drawn) {
            (_, Some(_)) => " data-drawn",
            (true, None) => " data-number",
            (false, None) => "",
        };
        out.push_str(&format!(
            "<th scope=\"col\" class=\"{}\"{kind}>{}{}</th>",
            column.class,
            text(column.name),
            column.drawn.unwrap_or_default()
        ));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr");
        for (name, value) in &row.keys {
            out.push_str(&format!(" data-{name}=\"{}\"", text(value)));
        }
        out.push('>');
        for (n, (cell, column)) in row.cells.iter().zip(columns).enumerate() {
            if n == 0 {
                out.push_str(&format!("<th scope=\"row\">{cell}</th>"));
            } else {
                // Where rows become cards, a cell says itself what it holds.
                out.push_str(&format!("<td class=\"{}\"", column.class));
                if column.drawn.is_none_or(str::is_empty) && !["what", "rule"].contains(&column.class) {
                    out.push_str(&format!(" data-of=\"{}\"", text(column.name)));
                }
                out.push_str(&format!(">{cell}</td>"));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// What a filter can choose from: the name of the rows' key, what stands before it, and its values in order.
pub(super) struct Choice {
    /// The key, as in `data-KEY`.
    pub key: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Values.
    pub values: Vec<String>,
}

/// The controls above a table. They are hidden until the script is there to make them work.
pub(super) fn filter(table: &str, all: usize, choices: &[Choice]) -> String {
    let mut out = format!(
        "<form class=\"filter\" role=\"search\" aria-label=\"Filter {table}\" data-table=\"{table}\" hidden>\n\
         <label>Text <input type=\"search\" autocomplete=\"off\" spellcheck=\"false\"></label>\n"
    );
    for choice in choices.iter().filter(|choice| !choice.values.is_empty()) {
        out.push_str(&format!(
            "<label>{} <select data-key=\"{}\"><option value=\"\">all</option>",
            choice.label, choice.key
        ));
        for value in &choice.values {
            // A value of its own, lest one that is empty should mean all.
            out.push_str(&format!("<option value=\"={0}\">{0}</option>", text(value)));
        }
        out.push_str("</select></label>\n");
    }
    out.push_str(&format!(
        "<button type=\"reset\">Reset</button> <output aria-live=\"polite\">{all} of {all}</output>\n</form>\n"
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_names_its_rows_and_columns() {
        let row =
            Row { keys: vec![("mode", "a\"b".to_owned())], cells: vec!["x".to_owned(), "3".to_owned()] };
        let out = table("t", "A < B", &[words("Name", "wide"), numbers("Count")], &[row]);
        assert!(out.contains("<caption id=\"t-caption\">A &lt; B</caption>"), "{out}");
        assert!(out.contains("<th scope=\"col\" class=\"num\" data-number>Count</th>"), "{out}");
        assert!(
            out.contains(
                "<tr data-mode=\"a&quot;b\"><th scope=\"row\">x</th><td class=\"num\" data-of=\"Count\">3</td></tr>"
            ),
            "{out}"
        );
    }

    #[test]
    fn a_filter_offers_what_there_is_and_nothing_else() {
        let choice = |values: &[&str]| Choice {
            key: "owner",
            label: "Owner",
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        let out = filter("findings", 7, &[choice(&["a", "<b>"])]);
        assert!(out.contains("<option value=\"=&lt;b&gt;\">&lt;b&gt;</option>"), "{out}");
        assert!(out.contains("<output aria-live=\"polite\">7 of 7</output>"), "{out}");
        assert!(!filter("findings", 7, &[choice(&[])]).contains("<select"));
    }
}
