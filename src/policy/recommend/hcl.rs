//! A policy document as Terraform's `data "aws_iam_policy_document"`, as `terraform fmt` would write it.

use std::fmt;

use serde_json::{Map, Value};

/// A document that Terraform's data source can't say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HclError {
    what: String,
}

impl fmt::Display for HclError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`aws_iam_policy_document` can't say {}", self.what)
    }
}

impl std::error::Error for HclError {}

fn error<T>(what: impl Into<String>) -> Result<T, HclError> {
    Err(HclError { what: what.into() })
}

/// The document as a data source of this name. Anything in the name that HCL's names can't hold becomes `_`.
///
/// # Errors
///
/// Elements that the data source does not have, and `&{`, which it turns into `${`. Write such a document as JSON.
pub fn hcl(name: &str, document: &Value) -> Result<String, HclError> {
    let Value::Object(members) = document else { return error("a document that is no object") };
    let mut body = Body { text: String::new(), indent: 1, last: Last::Opener };
    for (member, value) in members {
        match (member.as_str(), value) {
            ("Version", Value::String(version)) => body.attribute("version", version)?,
            ("Id", Value::String(id)) => body.attribute("policy_id", id)?,
            ("Statement", _) => {}
            (other, _) => return error(format!("the element `{other}`")),
        }
    }
    // The data source says 2012-10-17 where nothing is said; AWS then says the older one.
    if !members.contains_key("Version") {
        body.attribute("version", "2008-10-17")?;
    }
    let statements = match members.get("Statement") {
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    for statement in statements {
        let Value::Object(statement) = statement else { return error("a statement that is no object") };
        body.block("statement", |body| write_statement(body, statement))?;
    }
    Ok(format!("data \"aws_iam_policy_document\" \"{}\" {{\n{}}}\n", identifier(name), aligned(&body.text)))
}

fn identifier(name: &str) -> String {
    let kept = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = name.chars().map(kept).collect();
    if name.starts_with(|letter: char| letter.is_ascii_alphabetic()) { name } else { format!("_{name}") }
}

fn write_statement(body: &mut Body, statement: &Map<String, Value>) -> Result<(), HclError> {
    // The data source's default is Allow; a statement must say what it does.
    for (element, name) in [("Sid", "sid"), ("Effect", "effect")] {
        match statement.get(element) {
            Some(Value::String(text)) => body.attribute(name, text)?,
            Some(_) => return error(format!("this `{element}`")),
            None if element == "Effect" => return error("a statement without `Effect`"),
            None => {}
        }
    }
    for (element, name) in [
        ("Action", "actions"),
        ("NotAction", "not_actions"),
        ("Resource", "resources"),
        ("NotResource", "not_resources"),
    ] {
        if let Some(value) = statement.get(element) {
            body.list(name, &texts(element, value)?)?;
        }
    }
    for (element, name) in [("Principal", "principals"), ("NotPrincipal", "not_principals")] {
        match statement.get(element) {
            Some(Value::Object(kinds)) => {
                for (kind, value) in kinds {
                    principals(body, name, kind, &texts(element, value)?)?;
                }
            }
            Some(value) => principals(body, name, "*", &texts(element, value)?)?,
            None => {}
        }
    }
    match statement.get("Condition") {
        Some(Value::Object(operators)) => {
            for (operator, keys) in operators {
                let Value::Object(keys) = keys else { return error("this `Condition`") };
                for (key, value) in keys {
                    condition(body, operator, key, &texts("Condition", value)?)?;
                }
            }
        }
        Some(_) => return error("this `Condition`"),
        None => {}
    }
    let known = [
        "Sid",
        "Effect",
        "Action",
        "NotAction",
        "Resource",
        "NotResource",
        "Principal",
        "NotPrincipal",
        "Condition",
    ];
    match statement.keys().find(|element| !known.contains(&element.as_str())) {
        Some(odd) => error(format!("the element `{odd}` of a statement")),
        None => Ok(()),
    }
}

fn principals(body: &mut Body, name: &str, kind: &str, who: &[String]) -> Result<(), HclError> {
    body.block(name, |body| {
        body.attribute("type", kind)?;
        body.list("identifiers", who)
    })
}

fn condition(body: &mut Body, operator: &str, key: &str, values: &[String]) -> Result<(), HclError> {
    body.block("condition", |body| {
        body.attribute("test", operator)?;
        body.attribute("variable", key)?;
        body.list("values", values)
    })
}

/// One text or a list of them; booleans and numbers are texts to AWS.
fn texts(element: &str, value: &Value) -> Result<Vec<String>, HclError> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        _ => error(format!("this `{element}`")),
    };
    items.iter().map(text).collect()
}

/// What was written last: that decides whether a blank line comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Opener,
    /// Attributes on consecutive lines, which `terraform fmt` aligns.
    Attribute,
    Other,
}

/// The inside of a block.
struct Body {
    text: String,
    indent: usize,
    last: Last,
}

impl Body {
    fn line(&mut self, text: &str) {
        self.text.push_str(&"  ".repeat(self.indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn blank(&mut self) {
        if self.last != Last::Opener {
            self.text.push('\n');
        }
    }

    /// The pairs that stand together here have names of known lengths, so that one table aligns them.
    fn attribute(&mut self, name: &str, value: &str) -> Result<(), HclError> {
        if self.last == Last::Other {
            self.text.push('\n');
        }
        let quoted = quoted(value)?;
        self.line(&format!("{name} = {quoted}"));
        self.last = Last::Attribute;
        Ok(())
    }

    fn list(&mut self, name: &str, values: &[String]) -> Result<(), HclError> {
        self.blank();
        if values.is_empty() {
            self.line(&format!("{name} = []"));
        } else {
            self.line(&format!("{name} = ["));
            for value in values {
                let quoted = quoted(value)?;
                self.line(&format!("  {quoted},"));
            }
            self.line("]");
        }
        self.last = Last::Other;
        Ok(())
    }

    fn block(
        &mut self,
        name: &str,
        inside: impl FnOnce(&mut Body) -> Result<(), HclError>,
    ) -> Result<(), HclError> {
        self.blank();
        self.line(&format!("{name} {{"));
        let mut body = Body { text: String::new(), indent: self.indent + 1, last: Last::Opener };
        inside(&mut body)?;
        self.text.push_str(&aligned(&body.text));
        self.line("}");
        self.last = Last::Other;
        Ok(())
    }
}

/// Aligns the first lines that are attributes: in these blocks they alone stand together.
fn aligned(text: &str) -> String {
    let is_pair = |line: &&str| line.contains(" = ") && !line.ends_with('[');
    let pairs: Vec<&str> = text.lines().take_while(is_pair).collect();
    let name = |line: &str| line.split(" = ").next().map_or(0, |name| name.chars().count());
    let widest = pairs.iter().map(|line| name(line)).max().unwrap_or(0);
    let mut out = String::with_capacity(text.len());
    for (n, line) in text.lines().enumerate() {
        match line.split_once(" = ").filter(|_| n < pairs.len()) {
            Some((name, value)) => out.push_str(&format!("{name:widest$} = {value}")),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// A text in quotes. Terraform's own `${` and `%{` are doubled.
fn quoted(text: &str) -> Result<String, HclError> {
    if text.contains("&{") {
        return error("a text with `&{`");
    }
    let mut out = String::from("\"");
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if letters.peek() == Some(&'{') => out.extend([letter, letter]),
            other if other.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(other))),
            other => out.push(other),
        }
    }
    out.push('"');
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_reads_as_terraform_fmt_writes_it() {
        let document = json!({
            "Version": "2012-10-17",
            "Id": "tflock-protection",
            "Statement": [{
                "Sid": "One",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:PutObject",
                "Resource": ["arn:aws:s3:::b/${aws:username}/*", "arn:aws:s3:::b/%{x}"],
                "Condition": {"Bool": {"aws:SecureTransport": false}, "Null": {"s3:if-none-match": "true"}},
            }, {
                "Effect": "Allow",
                "Principal": {"AWS": ["111122223333"], "Service": "logging.s3.amazonaws.com"},
                "NotAction": "s3:*",
                "Resource": "a\"b\\c\n",
            }],
        });
        let expected = r#"data "aws_iam_policy_document" "acme_tfstate_bucket" {
  version   = "2012-10-17"
  policy_id = "tflock-protection"

  statement {
    sid    = "One"
    effect = "Deny"

    actions = [
      "s3:PutObject",
    ]

    resources = [
      "arn:aws:s3:::b/$${aws:username}/*",
      "arn:aws:s3:::b/%%{x}",
    ]

    principals {
      type = "*"

      identifiers = [
        "*",
      ]
    }

    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"

      values = [
        "false",
      ]
    }

    condition {
      test     = "Null"
      variable = "s3:if-none-match"

      values = [
        "true",
      ]
    }
  }

  statement {
    effect = "Allow"

    not_actions = [
      "s3:*",
    ]

    resources = [
      "a\"b\\c\n",
    ]

    principals {
      type = "AWS"

      identifiers = [
        "111122223333",
      ]
    }

    principals {
      type = "Service"

      identifiers = [
        "logging.s3.amazonaws.com",
      ]
    }
  }
}
"#;
        assert_eq!(hcl("acme-tfstate bucket", &document).unwrap(), expected);
    }

    #[test]
    fn what_the_data_source_does_not_have_is_an_error() {
        for (statement, what) in [
            (json!({"Effect": "Allow", "Resource": "a&{b}"}), "`&{`"),
            (json!({"Effect": "Allow", "Comment": "x"}), "the element `Comment`"),
            (json!({"Effect": "Allow", "Condition": []}), "this `Condition`"),
            (json!({"Effect": "Allow", "Action": [1, null]}), "this `Action`"),
            (json!({"Sid": "x"}), "without `Effect`"),
            (json!("x"), "no object"),
        ] {
            let found = hcl("x", &json!({"Statement": [statement]})).unwrap_err().to_string();
            assert!(found.contains(what), "{found}");
        }
        assert!(hcl("x", &json!({"Statement": [], "Extra": 1})).is_err());
        assert!(
            hcl("1", &json!({"Statement": []})).unwrap().contains("\"_1\" {\n  version = \"2008-10-17\"")
        );
    }
}
