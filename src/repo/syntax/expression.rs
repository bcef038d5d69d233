//! What an HCL expression is worth without running anything: literals, templates of literals, and references to
//! variables and locals whose values are known. Everything else is unknown, with its text and the reason.

use std::collections::BTreeMap;

use hcl_edit::expr::{Expression, ObjectKey, TraversalOperator, UnaryOperator};
use hcl_edit::template::{Element, StringTemplate};

use super::lexer;
use crate::repo::secret::is_secret_name;
use crate::repo::setting::Value;
use crate::repo::text::Span;

/// Known values by reference (`var.region`, `local.table`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope(pub BTreeMap<String, Value>);

/// The parser of expressions recurses: text that nests deeper than this is not given to it.
const MAX_DEPTH: usize = 60;
/// Why a name without a value is worth nothing.
const MISSING: &str = "an expression is missing here";
/// Longer expressions than this are no setting's value; the parser's time grows faster than their length.
const MAX_LENGTH: usize = 16 * 1024;

/// What an expression is worth, and the references that were followed.
pub fn evaluate(expression: &str, scope: &Scope) -> (Value, Vec<String>) {
    let text = expression.trim();
    if let Some(value) = literal(text) {
        return (value, Vec::new());
    }
    if text.is_empty() {
        let expression = "(no value)".to_owned();
        return (Value::Unknown { expression, reason: MISSING.to_owned() }, Vec::new());
    }
    let mut via = Vec::new();
    let value = match parse(text) {
        Ok(parsed) => reduce(&parsed, scope, &mut via, 0)
            .unwrap_or_else(|reason| Value::Unknown { expression: one_line(text), reason }),
        Err(reason) => Value::Unknown { expression: one_line(text), reason },
    };
    (value, via)
}

/// Whether the text is an expression at all; the reason when it can't be told.
pub fn parse(text: &str) -> Result<Expression, String> {
    if text.is_empty() {
        return Err(MISSING.to_owned());
    }
    if text.len() > MAX_LENGTH {
        return Err(format!("the expression is longer than {MAX_LENGTH} bytes"));
    }
    if lexer::depth(text.as_bytes(), Span::new(0, text.len())) > MAX_DEPTH {
        return Err(format!("the expression nests deeper than {MAX_DEPTH} levels"));
    }
    text.parse::<Expression>().map_err(|_| "it is not an expression that can be read".to_owned())
}

/// Whether the text is an object whose keys, at every depth, are written out: no other key can take their place.
pub fn has_plain_keys(text: &str) -> bool {
    matches!(parse(text.trim()), Ok(object @ Expression::Object(_)) if keys_are_plain(&object))
}

/// The parser has seen to it that this goes no deeper than [`MAX_DEPTH`].
fn keys_are_plain(value: &Expression) -> bool {
    let Expression::Object(object) = value else { return true };
    object.iter().all(|(key, value)| {
        matches!(key, ObjectKey::Ident(_) | ObjectKey::Expression(Expression::String(_)))
            && keys_are_plain(value.expr())
    })
}

/// The cases that nearly every setting is: no parser needed.
fn literal(text: &str) -> Option<Value> {
    match text {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        "null" => return Some(Value::Null),
        _ => {}
    }
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let plain = !inner.contains(['"', '\\', '\n']) && !inner.contains("${") && !inner.contains("%{");
    plain.then(|| Value::Text(inner.to_owned()))
}

/// An expression's text on one line, shortened: it is shown to people.
pub fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > 200 {
        line = line.chars().take(199).chain(['…']).collect();
    }
    line
}

fn reduce(from: &Expression, scope: &Scope, via: &mut Vec<String>, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err("the expression nests too deep".to_owned());
    }
    match from {
        Expression::Null(_) => Ok(Value::Null),
        Expression::Bool(value) => Ok(Value::Bool(*value.value())),
        Expression::Number(value) => Ok(Value::Number(value.value().to_string())),
        Expression::String(value) => Ok(Value::Text(value.value().to_string())),
        Expression::Parenthesis(inner) => reduce(inner.inner(), scope, via, depth + 1),
        Expression::StringTemplate(template) => template_text(template, scope, via, depth + 1),
        Expression::UnaryOp(operation) if *operation.operator.value() == UnaryOperator::Not => {
            match reduce(&operation.expr, scope, via, depth + 1)? {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => Err("`!` of something that is no boolean literal".to_owned()),
            }
        }
        Expression::Conditional(choice) => match reduce(&choice.cond_expr, scope, via, depth + 1)? {
            Value::Bool(true) => reduce(&choice.true_expr, scope, via, depth + 1),
            Value::Bool(false) => reduce(&choice.false_expr, scope, via, depth + 1),
            _ => Err("the condition can't be told".to_owned()),
        },
        Expression::Traversal(_) | Expression::Variable(_) => reference(from, scope, via),
        Expression::Object(_) => Ok(Value::Object),
        Expression::FuncCall(call) => {
            Err(format!("only a run can tell what `{}(…)` gives", call.name.name.as_str()))
        }
        _ => Err("only a run can tell".to_owned()),
    }
}

fn reference(from: &Expression, scope: &Scope, via: &mut Vec<String>) -> Result<Value, String> {
    let Some(name) = reference_name(from) else { return Err("only a run can tell".to_owned()) };
    if name.split('.').any(is_secret_name) {
        return Err(format!("`{name}` names a secret: it is not looked up"));
    }
    match scope.0.get(&name) {
        Some(Value::Unknown { reason, .. }) => Err(format!("`{name}`: {reason}")),
        Some(Value::Object) => Err(format!("`{name}` is an object: it is not looked into as a whole")),
        Some(Value::Secret) => Err(format!("`{name}` names a secret: it is not looked up")),
        Some(value) => {
            via.push(name);
            Ok(value.clone())
        }
        None if name.starts_with("var.") && name.matches('.').count() > 1 => {
            Err(format!("`{name}` is a part of an object, and no literal value here gives it"))
        }
        None if name.starts_with("var.") => Err(format!("`{name}` has no literal default here")),
        None => Err(format!("only a run can tell `{name}`")),
    }
}

/// `var.x`, `local.x.y` as text; `None` for anything with an index or a splat.
pub fn reference_name(from: &Expression) -> Option<String> {
    match from {
        Expression::Variable(name) => Some(name.as_str().to_owned()),
        Expression::Traversal(traversal) => {
            let Expression::Variable(root) = &traversal.expr else { return None };
            let mut name = root.as_str().to_owned();
            for operator in &traversal.operators {
                let TraversalOperator::GetAttr(part) = operator.value() else { return None };
                name.push('.');
                name.push_str(part.as_str());
            }
            Some(name)
        }
        _ => None,
    }
}

fn template_text(
    template: &StringTemplate,
    scope: &Scope,
    via: &mut Vec<String>,
    depth: usize,
) -> Result<Value, String> {
    let mut out = String::new();
    let mut parts = 0;
    let mut last = Value::Null;
    for element in template.iter() {
        parts += 1;
        match element {
            Element::Literal(text) => out.push_str(text.value()),
            Element::Interpolation(part) => {
                last = reduce(&part.expr, scope, via, depth)?;
                match &last {
                    Value::Text(text) | Value::Number(text) => out.push_str(text),
                    Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
                    _ if parts == 1 => {}
                    _ => return Err("a part of the template is no text".to_owned()),
                }
            }
            Element::Directive(_) => {
                return Err("only a run can tell what a `%{ … }` directive gives".to_owned());
            }
        }
    }
    // `"${x}"` alone is x itself, whatever its type. Source: HCL specification, "Template Unwrapping".
    if parts == 1 && !matches!(last, Value::Null) { Ok(last) } else { Ok(Value::Text(out)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope(BTreeMap::from([
            ("var.table".to_owned(), Value::Text("locks".into())),
            ("local.on".to_owned(), Value::Bool(true)),
        ]))
    }

    fn value(text: &str) -> Value {
        evaluate(text, &scope()).0
    }

    #[test]
    fn literals_and_templates_of_literals() {
        assert_eq!(value(r#""plain""#), Value::Text("plain".into()));
        assert_eq!(value(r#""a\tb$${c}""#), Value::Text("a\tb${c}".into()));
        assert_eq!(value("!false"), Value::Bool(true));
        assert_eq!(value("(null)"), Value::Null);
        assert_eq!(value("1"), Value::Number("1".into()));
        assert_eq!(value(r#"true ? "a" : "b""#), Value::Text("a".into()));
        assert_eq!(value("{ a = 1 }"), Value::Object);
    }

    #[test]
    fn references_are_followed_and_named() {
        assert_eq!(
            evaluate(r#""x-${var.table}""#, &scope()),
            (Value::Text("x-locks".into()), vec!["var.table".to_owned()])
        );
        assert_eq!(value(r#""${local.on}""#), Value::Bool(true));
        assert_eq!(value("local.on"), Value::Bool(true));
    }

    #[test]
    fn what_only_a_run_can_tell_keeps_its_text_and_reason() {
        let Value::Unknown { expression, reason } = value("var.other") else { panic!("not unknown") };
        assert_eq!(expression, "var.other");
        assert_eq!(reason, "`var.other` has no literal default here");
        let Value::Unknown { reason, .. } = value("lookup(a,\n \"b\")") else { panic!("not unknown") };
        assert_eq!(reason, "only a run can tell what `lookup(…)` gives");
        assert!(value(r#""a" b = "c""#).is_unknown());
        assert!(value(&"[".repeat(100)).is_unknown());
        assert!(has_plain_keys("{ a = 1, \"b\" : { c = [{ (d) = 1 }] } }"));
        assert!(!has_plain_keys("{ a = 1, (b) = 2 }") && !has_plain_keys("{ a = { \"${b}\" = 2 } }"));
        assert!(!has_plain_keys("[1]") && !has_plain_keys("{ a = "));
        let Value::Unknown { expression, reason } = value(" ") else { panic!("not unknown") };
        assert_eq!((expression.as_str(), reason.as_str()), ("(no value)", "an expression is missing here"));
        let Value::Unknown { reason, .. } = value("var.o.l") else { panic!("not unknown") };
        assert_eq!(reason, "`var.o.l` is a part of an object, and no literal value here gives it");
    }
}
