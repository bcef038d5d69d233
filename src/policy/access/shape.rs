//! A statement as it is written, for explaining: the evaluator's own form keeps only what it needs to decide.

use super::super::json::Json;
use super::super::pattern::Glob;

/// One statement. What is odd about it is left out here; the evaluator has it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// From 0.
    pub(super) index: usize,
    pub(super) sid: Option<String>,
    pub(super) deny: bool,
    pub(super) allow: bool,
    /// `"*"` or `{"AWS": "*"}`.
    pub(super) everyone: bool,
    /// Values of `Principal`, whatever their kind.
    pub(super) principals: Vec<String>,
    pub(super) has_not_principal: bool,
    pub(super) actions: Vec<Pattern>,
    pub(super) not_action: bool,
    pub(super) resources: Vec<Pattern>,
    pub(super) not_resource: bool,
    pub(super) conditions: Vec<Asked>,
}

/// A text with wildcards.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) text: String,
    glob: Glob,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Pattern {
        Pattern { text: text.to_owned(), glob: Glob::new(text) }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.glob.matches(text)
    }
}

/// One key of one condition operator.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// As written.
    pub(super) operator: String,
    /// `StringNotEquals`, in lower case, without set operator and `IfExists`.
    pub(super) base: String,
    pub(super) if_exists: bool,
    pub(super) for_all: bool,
    /// The key as written.
    pub(super) key: String,
    /// The key in lower case.
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

impl Asked {
    fn new(operator: &str, key: &str, values: &Json) -> Asked {
        let lower = operator.to_ascii_lowercase();
        let (set, rest) = match lower.split_once(':') {
            Some((set, rest)) => (set, rest),
            None => ("", lower.as_str()),
        };
        let base = rest.strip_suffix("ifexists");
        Asked {
            operator: operator.to_owned(),
            base: base.unwrap_or(rest).to_owned(),
            if_exists: base.is_some(),
            for_all: set == "forallvalues",
            key: key.to_owned(),
            name: key.to_ascii_lowercase(),
            values: values.items().iter().filter_map(Json::as_text).map(str::to_owned).collect(),
        }
    }

    /// `…Not…`.
    pub(super) fn negated(&self) -> bool {
        self.base.contains("not")
    }

    /// Its values are compared as they stand: no wildcards.
    pub(super) fn is_literal(&self) -> bool {
        self.base.starts_with("string") && self.base.contains("equals")
    }

    /// The key says who asks, and nothing else.
    pub(super) fn names_principal(&self) -> bool {
        matches!(self.name.as_str(), "aws:principalarn" | "aws:userid" | "aws:username")
    }

    /// The key is a tag of the principal.
    pub(super) fn is_tag(&self) -> bool {
        self.name.starts_with("aws:principaltag/")
    }

    /// The key says how an object is written or how the request is sent, not who sends it: such a condition is not
    /// meant to tell callers apart.
    pub(super) fn is_manner(&self) -> bool {
        let name = self.name.as_str();
        matches!(
            name,
            "aws:securetransport"
                | "s3:tlsversion"
                | "s3:authtype"
                | "s3:signatureversion"
                | "s3:signatureage"
                | "s3:if-match"
                | "s3:if-none-match"
                | "s3:objectcreationoperation"
        ) || name.starts_with("s3:x-amz-")
    }

    /// Words for a message.
    pub(super) fn words(&self) -> String {
        format!("`{} {}`", self.operator, self.key)
    }
}

/// Keys whose fixed values keep a statement for everybody from being public.
/// Source: Amazon S3 User Guide, "The meaning of public".
const FIXED: [&str; 12] = [
    "aws:principalarn",
    "aws:principalorgid",
    "aws:principalorgpaths",
    "aws:principalaccount",
    "aws:sourcearn",
    "aws:sourcevpc",
    "aws:sourcevpce",
    "aws:sourceowner",
    "aws:sourceaccount",
    "aws:userid",
    "s3:dataaccesspointarn",
    "s3:dataaccesspointaccount",
];

impl Shape {
    /// Public, as AWS means it.
    pub(super) fn is_public(&self) -> bool {
        let fixed = self.conditions.iter().any(|asked| {
            let values =
                !asked.values.is_empty() && asked.values.iter().all(|value| !value.contains(['*', '?', '$']));
            let ip = asked.name == "aws:sourceip" && asked.values.iter().all(|value| !value.ends_with("/0"));
            !asked.negated() && !asked.if_exists && (values && FIXED.contains(&asked.name.as_str()) || ip)
        });
        self.allow && self.everyone && !fixed
    }

    fn new(index: usize, value: &Json) -> Shape {
        let mut shape = Shape { index, ..Shape::default() };
        let Json::Object(members) = value else { return shape };
        for (name, value) in members {
            let texts = || value.items().iter().filter_map(Json::as_text);
            match name.as_str() {
                "Sid" => shape.sid = value.as_text().map(str::to_owned),
                "Effect" => {
                    shape.deny = value.as_text() == Some("Deny");
                    shape.allow = value.as_text() == Some("Allow");
                }
                "Principal" => shape.read_principals(value),
                "NotPrincipal" => shape.has_not_principal = true,
                "Action" | "NotAction" => {
                    shape.not_action = name == "NotAction";
                    shape.actions = texts().map(|text| Pattern::new(&text.to_ascii_lowercase())).collect();
                }
                "Resource" | "NotResource" => {
                    shape.not_resource = name == "NotResource";
                    shape.resources = texts().map(Pattern::new).collect();
                }
                "Condition" => shape.read_conditions(value),
                _ => {}
            }
        }
        shape
    }

    fn read_principals(&mut self, value: &Json) {
        match value {
            Json::Object(kinds) => {
                for (kind, values) in kinds {
                    let texts = values.items().iter().filter_map(Json::as_text);
                    for text in texts {
                        self.everyone |= kind == "AWS" && text == "*";
                        self.principals.push(text.to_owned());
                    }
                }
            }
            other => {
                self.everyone |= other.as_text() == Some("*");
                self.principals.extend(other.as_text().map(str::to_owned));
            }
        }
    }

    fn read_conditions(&mut self, value: &Json) {
        let Json::Object(operators) = value else { return };
        for (operator, keys) in operators {
            let Json::Object(keys) = keys else { continue };
            let asked = keys.iter().map(|(key, values)| Asked::new(operator, key, values));
            self.conditions.extend(asked);
        }
    }

    /// The statements of a policy. Nothing for a text that is no policy.
    pub(super) fn all(text: &str) -> Vec<Shape> {
        let Ok(Json::Object(members)) = serde_json::from_str::<Json>(text) else { return Vec::new() };
        let statements = members.iter().filter(|(name, _)| name == "Statement");
        let statements = statements.flat_map(|(_, value)| value.items());
        statements.enumerate().map(|(index, value)| Shape::new(index, value)).collect()
    }

    /// Whether it is about this action, in lower case.
    pub(super) fn about_action(&self, action: &str) -> bool {
        self.actions.iter().any(|pattern| pattern.matches(action)) != self.not_action
    }

    /// Whether it is about this resource.
    pub(super) fn about_resource(&self, arn: &str) -> bool {
        self.resources.iter().any(|pattern| pattern.matches(arn)) != self.not_resource
    }

    /// It is about everybody's deletes, creations or overwrites by the way they are done (`If-Match`,
    /// `If-None-Match`), not by who does them.
    pub(super) fn is_about_preconditions(&self) -> bool {
        self.conditions.iter().any(|asked| matches!(asked.name.as_str(), "s3:if-match" | "s3:if-none-match"))
    }

    /// It denies an action in order to keep callers out: not because of how a request is sent.
    pub(super) fn limits_callers(&self, action: &str) -> bool {
        let only_manner = !self.conditions.is_empty() && self.conditions.iter().all(Asked::is_manner);
        self.deny && self.about_action(action) && !only_manner
    }

    /// `statement 2 (GuardLocks)`.
    pub(super) fn reference(&self, policy: &str) -> String {
        reference(policy, self.index, self.sid.as_deref())
    }
}

/// How a statement is named in messages: counted from 1.
pub(super) fn reference(policy: &str, index: usize, sid: Option<&str>) -> String {
    match sid {
        Some(sid) => format!("{policy}, statement {} ({sid})", index + 1),
        None => format!("{policy}, statement {}", index + 1),
    }
}
