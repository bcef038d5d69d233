//! Conditions: one operator, one key, its values. What is not understood is kept and makes the statement unknown.

// The type alone, without a way to the network.
use core::net::IpAddr;

use super::context::{Context, Entry};
use super::missing::{Gaps, Missing};
use super::pattern::arn_parts;
use super::template::{ArnPattern, Reading, Whole, arn_condition};
use super::tri::Tri;
use super::values::{Block, Number, read_date};

/// How several values of a key are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// No prefix: the key has one value.
    Single,
    ForAllValues,
    ForAnyValue,
}

/// What is compared, and how. Negated operators carry the positive one's kind: see [`Condition::negated`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text { wildcards: bool, fold: bool },
    Number(Order),
    Date(Order),
    Bool,
    Binary,
    Address,
    Arn,
    Null,
}

/// Which results of a comparison match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    fn holds<T: Ord>(self, left: &T, right: &T) -> bool {
        match self {
            Order::Equal => left == right,
            Order::Less => left < right,
            Order::LessOrEqual => left <= right,
            Order::Greater => left > right,
            Order::GreaterOrEqual => left >= right,
        }
    }
}

/// A value of the policy, ready to be compared.
#[derive(Debug, Clone)]
enum Operand {
    Text(Whole),
    Number(Number),
    /// Milliseconds since 1970.
    Date(i64),
    Bool(bool),
    Binary(String),
    Address(Block),
    Arn(ArnPattern),
    /// Not understood, with what.
    Odd(String),
}

/// One operator with one key.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    set: Set,
    kind: Kind,
    negated: bool,
    if_exists: bool,
    /// In lower case.
    key: String,
    operands: Vec<Operand>,
    /// As written, for reasons.
    shown: Shown,
}

/// A condition in the policy's own words.
#[derive(Debug, Clone)]
struct Shown {
    operator: String,
    key: String,
    values: Vec<String>,
}

/// The multivalued keys among AWS's global condition keys (IAM user guide, "global condition context keys"), in lower
/// case.
const MULTIVALUED: [&str; 7] = [
    "aws:calledvia",
    "aws:principalorgpaths",
    "aws:principalservicenameslist",
    "aws:resourceorgpaths",
    "aws:sourceorgpaths",
    "aws:tagkeys",
    "aws:vpceorgpaths",
];

/// All operators of the IAM user guide, without `…IfExists` and set prefixes. The flag says whether it is negated.
fn operator(name: &str) -> Option<(Kind, bool)> {
    let text = |wildcards, fold| Kind::Text { wildcards, fold };
    Some(match name {
        "StringEquals" => (text(false, false), false),
        "StringNotEquals" => (text(false, false), true),
        "StringEqualsIgnoreCase" => (text(false, true), false),
        "StringNotEqualsIgnoreCase" => (text(false, true), true),
        "StringLike" => (text(true, false), false),
        "StringNotLike" => (text(true, false), true),
        "NumericEquals" => (Kind::Number(Order::Equal), false),
        "NumericNotEquals" => (Kind::Number(Order::Equal), true),
        "NumericLessThan" => (Kind::Number(Order::Less), false),
        "NumericLessThanEquals" => (Kind::Number(Order::LessOrEqual), false),
        "NumericGreaterThan" => (Kind::Number(Order::Greater), false),
        "NumericGreaterThanEquals" => (Kind::Number(Order::GreaterOrEqual), false),
        "DateEquals" => (Kind::Date(Order::Equal), false),
        "DateNotEquals" => (Kind::Date(Order::Equal), true),
        "DateLessThan" => (Kind::Date(Order::Less), false),
        "DateLessThanEquals" => (Kind::Date(Order::LessOrEqual), false),
        "DateGreaterThan" => (Kind::Date(Order::Greater), false),
        "DateGreaterThanEquals" => (Kind::Date(Order::GreaterOrEqual), false),
        "Bool" => (Kind::Bool, false),
        "BinaryEquals" => (Kind::Binary, false),
        "IpAddress" => (Kind::Address, false),
        "NotIpAddress" => (Kind::Address, true),
        "ArnEquals" | "ArnLike" => (Kind::Arn, false),
        "ArnNotEquals" | "ArnNotLike" => (Kind::Arn, true),
        "Null" => (Kind::Null, false),
        _ => return None,
    })
}

fn read_bool(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

impl Operand {
    fn new(kind: Kind, negated: bool, text: &str, variables: bool) -> Operand {
        let odd = |why: String| Operand::Odd(why);
        let read = match kind {
            Kind::Text { wildcards, fold } => {
                return Whole::new(text, Reading { wildcards, variables, fold, negated })
                    .map_or_else(odd, Operand::Text);
            }
            Kind::Arn => return ArnPattern::new(text, variables, negated).map_or_else(odd, Operand::Arn),
            Kind::Number(_) => Number::read(text).map(Operand::Number),
            Kind::Date(_) => read_date(text).map(Operand::Date),
            Kind::Bool | Kind::Null => read_bool(text).map(Operand::Bool),
            Kind::Binary => Some(Operand::Binary(text.to_owned())).filter(|_| !text.contains("${")),
            Kind::Address => Block::read(text).map(Operand::Address),
        };
        read.unwrap_or_else(|| Operand::Odd(format!("the value `{text}`")))
    }
}

impl Condition {
    /// Reads one key of one operator. `name` and `key` are as written; `values` are texts, or none for a value that is
    /// no text at all. The error says what is not understood.
    pub(super) fn new(
        name: &str,
        key: &str,
        values: &[Option<&str>],
        variables: bool,
    ) -> Result<Condition, String> {
        let (set, rest) = match (name.strip_prefix("ForAllValues:"), name.strip_prefix("ForAnyValue:")) {
            (Some(rest), _) => (Set::ForAllValues, rest),
            (_, Some(rest)) => (Set::ForAnyValue, rest),
            (None, None) => (Set::Single, name),
        };
        let (base, if_exists) = match rest.strip_suffix("IfExists") {
            Some(base) => (base, true),
            None => (rest, false),
        };
        let Some((kind, negated)) = operator(base) else {
            return Err(format!("the condition operator `{name}`"));
        };
        if kind == Kind::Null && (if_exists || set != Set::Single) {
            return Err(format!("the condition operator `{name}`"));
        }
        if values.is_empty() {
            return Err(format!("`{name}` of `{key}` without a value"));
        }
        if key.is_empty() || key.contains(['$', '*', '?']) {
            return Err(format!("the condition key `{key}`"));
        }
        let operands = values
            .iter()
            .map(|value| match value {
                Some(text) => Operand::new(kind, negated, text, variables),
                None => Operand::Odd("a value that is no text".to_owned()),
            })
            .collect();
        let shown = Shown {
            operator: name.to_owned(),
            key: key.to_owned(),
            values: values.iter().map(|value| value.unwrap_or("?").to_owned()).collect(),
        };
        Ok(Condition { set, kind, negated, if_exists, key: key.to_ascii_lowercase(), operands, shown })
    }

    /// The key as written.
    pub(super) fn key(&self) -> &str {
        &self.shown.key
    }

    /// Whether the request meets the condition. IAM user guide, "condition operators" and "multi-value conditions".
    pub(super) fn holds(&self, context: &Context, gaps: &mut Gaps) -> Tri {
        let entry = context.of(&self.key);
        if self.kind == Kind::Null {
            return self.is_null(entry, gaps);
        }
        let values = match entry {
            Entry::NotKnown => {
                gaps.push(self.missing());
                return Tri::Unknown;
            }
            Entry::Absent => return self.without_value(gaps),
            Entry::Values(values) if values.is_empty() => return self.without_value(gaps),
            Entry::Values(values) => values,
        };
        match (self.set, values.as_slice()) {
            (Set::Single, [one]) => {
                let holds = self.one(one, context, gaps);
                if holds == Tri::No || !MULTIVALUED.contains(&self.key.as_str()) {
                    return holds;
                }
                gaps.push(Missing::NotDocumented(format!(
                    "`{}` of the multivalued key `{}`, which needs ForAllValues or ForAnyValue",
                    self.shown.operator, self.shown.key
                )));
                Tri::Unknown
            }
            // A multivalued key without a set operator does not match.
            (Set::Single, _) => Tri::No,
            (Set::ForAllValues, values) => {
                values.iter().fold(Tri::Yes, |all, value| all.and(self.one(value, context, gaps)))
            }
            (Set::ForAnyValue, values) => {
                values.iter().fold(Tri::No, |any, value| any.or(self.one(value, context, gaps)))
            }
        }
    }

    fn missing(&self) -> Missing {
        Missing::Key {
            key: self.shown.key.clone(),
            operator: self.shown.operator.clone(),
            values: self.shown.values.clone(),
        }
    }

    fn is_null(&self, entry: &Entry, gaps: &mut Gaps) -> Tri {
        let absent = match entry {
            Entry::Absent => true,
            Entry::Values(values) => values.is_empty(),
            Entry::NotKnown => {
                gaps.push(self.missing());
                return Tri::Unknown;
            }
        };
        self.any(gaps, |operand| match operand {
            Operand::Bool(wanted) => Some((*wanted == absent).into()),
            _ => None,
        })
    }

    /// The key is absent, or has an empty set of values.
    fn without_value(&self, gaps: &mut Gaps) -> Tri {
        match self.set {
            Set::ForAllValues => Tri::Yes,
            Set::ForAnyValue if self.if_exists => {
                gaps.push(Missing::NotDocumented(format!(
                    "`{}` where the request has no `{}`",
                    self.shown.operator, self.shown.key
                )));
                Tri::Unknown
            }
            Set::ForAnyValue => Tri::No,
            Set::Single => (self.if_exists || self.negated).into(),
        }
    }

    /// One value of the request against all of the policy's: any of them, or for negated operators none of them.
    fn one(&self, value: &str, context: &Context, gaps: &mut Gaps) -> Tri {
        let matches = match self.kind {
            Kind::Text { .. } => self.any_text(gaps, |operand, gaps| match operand {
                Operand::Text(whole) => Some(whole.matches(value, context, gaps)),
                _ => None,
            }),
            Kind::Arn => {
                let parts = arn_parts(value);
                self.any_text(gaps, |operand, gaps| match operand {
                    Operand::Arn(pattern) => Some(arn_condition(pattern, parts.as_ref(), context, gaps)),
                    _ => None,
                })
            }
            Kind::Number(order) => {
                self.typed(Number::read(value), value, gaps, |operand, found| match operand {
                    Operand::Number(wanted) => Some(order.holds(found, wanted)),
                    _ => None,
                })
            }
            Kind::Date(order) => self.typed(read_date(value), value, gaps, |operand, found| match operand {
                Operand::Date(wanted) => Some(order.holds(found, wanted)),
                _ => None,
            }),
            Kind::Bool | Kind::Null => {
                self.typed(read_bool(value), value, gaps, |operand, found| match operand {
                    Operand::Bool(wanted) => Some(wanted == found),
                    _ => None,
                })
            }
            Kind::Binary => self.typed(Some(value), value, gaps, |operand, found| match operand {
                Operand::Binary(wanted) => Some(wanted == found),
                _ => None,
            }),
            Kind::Address => {
                let address = value.parse::<IpAddr>().ok();
                self.typed(address, value, gaps, |operand, found| match operand {
                    Operand::Address(block) => Some(block.holds(*found)),
                    _ => None,
                })
            }
        };
        if self.negated { !matches } else { matches }
    }

    /// Compares a value that had to be read first.
    fn typed<T>(
        &self,
        found: Option<T>,
        value: &str,
        gaps: &mut Gaps,
        compare: impl Fn(&Operand, &T) -> Option<bool>,
    ) -> Tri {
        let Some(found) = found else {
            gaps.push(Missing::NotDocumented(format!(
                "how `{}` reads the request's value `{value}`",
                self.shown.operator
            )));
            return Tri::Unknown;
        };
        self.any(gaps, |operand| compare(operand, &found).map(Tri::from))
    }

    fn any(&self, gaps: &mut Gaps, compare: impl Fn(&Operand) -> Option<Tri>) -> Tri {
        self.any_text(gaps, |operand, _| compare(operand))
    }

    /// Whether any of the policy's values matches; one that is not understood may.
    fn any_text(&self, gaps: &mut Gaps, compare: impl Fn(&Operand, &mut Gaps) -> Option<Tri>) -> Tri {
        let mut any = Tri::No;
        for operand in &self.operands {
            let matches = match compare(operand, gaps) {
                Some(matches) => matches,
                None => {
                    let what = match operand {
                        Operand::Odd(what) => what.as_str(),
                        _ => "a value of another kind",
                    };
                    gaps.push(Missing::NotUnderstood(format!("{what} of `{}`", self.shown.operator)));
                    Tri::Unknown
                }
            };
            any = any.or(matches);
            if any == Tri::Yes {
                break;
            }
        }
        any
    }
}
