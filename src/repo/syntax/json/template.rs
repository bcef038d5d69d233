//! Strings of the JSON syntax are HCL templates: literal text, one expression, or a mixture. Text in, value out.

use crate::repo::setting::Value;

/// What a JSON string (escapes undone) is worth as an HCL template.
///
/// Without `${` and `%{` it is literal text, in which `$${` and `%%{` stand for themselves. A string that is
/// exactly one interpolation is that expression. Anything else is unknown, as a quoted HCL template.
pub(super) fn value(text: &str) -> Value {
    let parts = parts(text);
    if let [Part::Expression(inside)] = parts.as_slice() {
        let inside = inside.strip_prefix('~').unwrap_or(inside);
        let inside = inside.strip_suffix('~').unwrap_or(inside);
        return unknown(one_line(inside.trim()));
    }
    let mut literal = String::new();
    for part in &parts {
        match part {
            Part::Literal(text) => literal.push_str(text),
            Part::Escape(marker) => literal.push_str(marker),
            Part::Expression(_) | Part::Raw(_) => return unknown(quoted(&parts)),
        }
    }
    Value::Text(literal)
}

fn unknown(expression: String) -> Value {
    Value::Unknown { expression, reason: "a template: it needs values that are not in this file".to_owned() }
}

enum Part<'a> {
    Literal(&'a str),
    /// `$${` or `%%{`: what it stands for.
    Escape(&'static str),
    /// The inside of `${…}`.
    Expression(&'a str),
    /// A directive with its markers, or an interpolation that never ends.
    Raw(&'a str),
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (part, length) = if rest.starts_with("$${") {
            (Part::Escape("${"), 3)
        } else if rest.starts_with("%%{") {
            (Part::Escape("%{"), 3)
        } else if rest.starts_with("${") || rest.starts_with("%{") {
            let end = end_of_interpolation(rest);
            let whole = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
            match whole.strip_prefix("${").and_then(|inside| inside.strip_suffix('}')) {
                Some(inside) if end.is_some() => (Part::Expression(inside), whole.len()),
                _ => (Part::Raw(whole), whole.len()),
            }
        } else {
            // The next marker can't stand before the second byte: at least one character is taken.
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let next = rest
                .get(first..)
                .and_then(|tail| tail.find(['$', '%']).map(|at| at + first))
                .unwrap_or(rest.len());
            (Part::Literal(rest.get(..next).unwrap_or(rest)), next)
        };
        parts.push(part);
        rest = rest.get(length..).unwrap_or_default();
    }
    parts
}

/// Length of the `${…}` or `%{…}` that `text` begins with, strings and nested templates in it respected.
fn end_of_interpolation(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // Brace depth of each open interpolation; between two of them an open string.
    let mut depths: Vec<usize> = vec![1];
    let mut in_string = false;
    let mut at = 2;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if in_string {
            match byte {
                b'\\' => at += 1,
                b'"' => in_string = false,
                b'$' | b'%' if bytes.get(at) == Some(&byte) && bytes.get(at + 1) == Some(&b'{') => at += 2,
                b'$' | b'%' if bytes.get(at) == Some(&b'{') => {
                    at += 1;
                    depths.push(1);
                    in_string = false;
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' => *depths.last_mut()? += 1,
            b'}' => {
                let depth = depths.last_mut()?;
                *depth -= 1;
                if *depth == 0 {
                    depths.pop();
                    if depths.is_empty() {
                        return Some(at);
                    }
                    in_string = true;
                }
            }
            _ => {}
        }
    }
    None
}

/// The template as it is written between quotes in HCL's native syntax.
fn quoted(parts: &[Part<'_>]) -> String {
    let mut out = String::from("\"");
    for part in parts {
        match part {
            Part::Literal(text) => {
                for character in text.chars() {
                    match character {
                        '"' => out.push_str("\\\""),
                        '\\' => out.push_str("\\\\"),
                        '\n' => out.push_str("\\n"),
                        '\r' => out.push_str("\\r"),
                        '\t' => out.push_str("\\t"),
                        other => out.push(other),
                    }
                }
            }
            Part::Escape("${") => out.push_str("$${"),
            Part::Escape(_) => out.push_str("%%{"),
            Part::Expression(inside) => {
                out.push_str("${");
                out.push_str(&one_line(inside));
                out.push('}');
            }
            Part::Raw(whole) => out.push_str(&one_line(whole)),
        }
    }
    out.push('"');
    out
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        match value(text) {
            Value::Unknown { expression, .. } => expression,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn text_without_a_marker_is_literal() {
        for text in ["", "plain", "100%", "$", "a$b{c}", "$ {x}", "é$", "}"] {
            assert_eq!(value(text), Value::Text(text.to_owned()));
        }
        assert_eq!(value("$${x} %%{y} $$"), Value::Text("${x} %{y} $$".to_owned()));
    }

    #[test]
    fn one_interpolation_is_its_expression() {
        assert_eq!(expression("${var.table}"), "var.table");
        assert_eq!(expression("${~ var.table ~}"), "var.table");
        assert_eq!(
            expression(r#"${format("%s-}${"a"}", { a = "{" }["a"])}"#),
            r#"format("%s-}${"a"}", { a = "{" }["a"])"#
        );
    }

    #[test]
    fn a_mixture_becomes_a_quoted_template() {
        assert_eq!(expression("${var.a}-${var.b}"), r#""${var.a}-${var.b}""#);
        assert_eq!(expression("say \"${var.a[\"x\"]}\"\n$${y}"), r#""say \"${var.a["x"]}\"\n$${y}""#);
        assert_eq!(expression("%{ if x }a%{ endif }"), r#""%{ if x }a%{ endif }""#);
        assert_eq!(expression("${var.a"), r#""${var.a""#);
    }
}
