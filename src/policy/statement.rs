//! One statement, compiled: what it applies to, and what it says of a request. What is not understood stays with it and
//! makes its effect unknown.

use super::condition::Condition;
use super::decision::{Effect, PolicyKind};
use super::grantee::{Grant, Grantees};
use super::json::Json;
use super::missing::{Gaps, Missing};
use super::pattern::Glob;
use super::request::Request;
use super::template::ArnPattern;
use super::tri::Tri;

/// One statement.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) sid: Option<String>,
    pub(super) effect: Effect,
    grantees: Option<Grantees>,
    actions: Option<Listed<Action>>,
    resources: Option<Listed<ArnPattern>>,
    conditions: Vec<Condition>,
    /// What is not understood.
    pub(super) odd: Vec<String>,
}

/// A list with its element's sense: `Action` or `NotAction`.
#[derive(Debug, Clone)]
struct Listed<T> {
    patterns: Vec<T>,
    negated: bool,
    /// What is not understood among them: each may match anything.
    odd: Vec<String>,
}

#[derive(Debug, Clone)]
enum Action {
    Everything,
    /// In lower case: actions have no case.
    Named(Glob),
    /// No service, or wildcards in it: how it would match as plain text.
    Odd(Glob, String),
}

/// Members that stand there twice: AWS does not say which one counts.
pub(super) fn repeated(members: &[(String, Json)]) -> Vec<String> {
    let mut odd = Vec::new();
    for (n, (name, _)) in members.iter().enumerate() {
        if members.iter().take(n).any(|(earlier, _)| earlier == name) {
            odd.push(format!("`{name}`, which stands there twice"));
        }
    }
    odd
}

impl Statement {
    /// One of which only is known what is not understood.
    pub(super) fn of_oddities(odd: Vec<String>) -> Statement {
        Statement { odd, ..Statement::empty() }
    }

    /// Effect and name alone: what it applies to is not known.
    pub(super) fn emptied(self) -> Statement {
        Statement { effect: self.effect, sid: self.sid, ..Statement::empty() }
    }

    fn empty() -> Statement {
        Statement {
            sid: None,
            effect: Effect::NotUnderstood,
            grantees: None,
            actions: None,
            resources: None,
            conditions: Vec::new(),
            odd: Vec::new(),
        }
    }

    pub(super) fn not_understood(&self) -> impl Iterator<Item = &str> {
        let actions = self.actions.iter().flat_map(|listed| &listed.odd);
        let resources = self.resources.iter().flat_map(|listed| &listed.odd);
        self.odd.iter().chain(actions).chain(resources).map(String::as_str)
    }

    pub(super) fn new(value: &Json, variables: bool) -> Statement {
        let mut statement = Statement::empty();
        let Json::Object(members) = value else {
            statement.odd.push("a statement that is no object".to_owned());
            return statement;
        };
        statement.odd = repeated(members);
        for (name, value) in members {
            statement.read(name, value, variables);
        }
        statement.settle(members);
        statement
    }

    /// What only all members together say: what is missing, what stands there twice, and what excludes something else.
    /// Where AWS does not say which of two counts, neither does.
    fn settle(&mut self, members: &[(String, Json)]) {
        let count =
            |one: &str, other: &str| members.iter().filter(|(name, _)| name == one || name == other).count();
        let has = |name: &str| count(name, name) > 0;
        for (one, other) in
            [("Action", "NotAction"), ("Resource", "NotResource"), ("Principal", "NotPrincipal")]
        {
            if has(one) && has(other) {
                self.odd.push(format!("`{one}` beside `{other}`"));
            }
        }
        if count("Action", "NotAction") != 1 {
            self.actions = None;
        }
        if count("Resource", "NotResource") > 1 {
            self.resources = None;
        }
        if count("Principal", "NotPrincipal") > 1 {
            self.grantees = None;
        }
        if count("Effect", "Effect") != 1 {
            self.effect = Effect::NotUnderstood;
        }
        if count("Condition", "Condition") > 1 {
            self.conditions.clear();
        }
        if !has("Action") && !has("NotAction") {
            self.odd.push("a statement without `Action`".to_owned());
        }
        if !has("Effect") {
            self.odd.push("a statement without `Effect`".to_owned());
        }
        if has("NotPrincipal") && self.effect != Effect::Deny {
            self.odd.push("`NotPrincipal` without Deny".to_owned());
        }
    }

    fn read(&mut self, name: &str, value: &Json, variables: bool) {
        match (name, value) {
            ("Sid", Json::Text(sid)) => self.sid = Some(sid.clone()),
            ("Effect", Json::Text(effect)) if effect == "Allow" => self.effect = Effect::Allow,
            ("Effect", Json::Text(effect)) if effect == "Deny" => self.effect = Effect::Deny,
            ("Principal" | "NotPrincipal", value) => {
                self.grantees = Some(Grantees::new(value, name == "NotPrincipal"));
            }
            ("Action" | "NotAction", value) => {
                let (texts, odd) = texts(name, value);
                let patterns = texts.into_iter().map(Action::new).collect();
                self.actions = Some(Listed { patterns, negated: name == "NotAction", odd });
            }
            ("Resource" | "NotResource", value) => {
                let (texts, mut odd) = texts(name, value);
                let negated = name == "NotResource";
                let mut patterns = Vec::new();
                for text in texts {
                    match resource(text, variables, negated) {
                        Ok(pattern) => patterns.push(pattern),
                        Err(why) => odd.push(why),
                    }
                }
                self.resources = Some(Listed { patterns, negated, odd });
            }
            ("Condition", Json::Object(operators)) => self.read_conditions(operators, variables),
            (name, _) => self.odd.push(format!("the element `{name}`")),
        }
    }

    fn read_conditions(&mut self, operators: &[(String, Json)], variables: bool) {
        let mut twice = repeated(operators);
        for (operator, keys) in operators {
            let Json::Object(keys) = keys else {
                self.odd.push(format!("the condition operator `{operator}`"));
                continue;
            };
            let folded: Vec<(String, Json)> =
                keys.iter().map(|(key, _)| (key.to_ascii_lowercase(), Json::Null)).collect();
            twice.extend(repeated(&folded));
            for (key, values) in keys {
                let values: Vec<Option<&str>> = values.items().iter().map(Json::as_text).collect();
                match Condition::new(operator, key, &values, variables) {
                    Ok(condition) => self.conditions.push(condition),
                    Err(why) => self.odd.push(why),
                }
            }
        }
        if !twice.is_empty() {
            // Either of the two may count, so neither may decide.
            self.conditions.clear();
            self.odd.extend(twice);
        }
    }

    /// Whether the statement applies to a request, and how it names the principal. Its effect plays no part.
    pub(super) fn applies(
        &self,
        request: &Request,
        kind: PolicyKind,
        bounded: Tri,
        gaps: &mut Gaps,
    ) -> (Tri, Grant) {
        let before = gaps.len();
        let found = self.judge(request, kind, bounded, gaps);
        // The stronger way decides: what is open about a weaker one does not matter then.
        let grant = found.1;
        let first =
            [grant.direct, grant.everyone, grant.role, grant.account].into_iter().find(|way| *way != Tri::No);
        if first != Some(Tri::Unknown) {
            gaps.truncate(before);
        }
        found
    }

    /// The keys that its conditions ask for, as written.
    pub(super) fn condition_keys(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(Condition::key)
    }

    fn judge(&self, request: &Request, kind: PolicyKind, bounded: Tri, gaps: &mut Gaps) -> (Tri, Grant) {
        const NO: (Tri, Grant) = (Tri::No, Grant::NONE);
        let mut all = Tri::Yes;
        if let Some(actions) = &self.actions {
            all = all.and(actions.holds(gaps, |action, gaps| action.matches(&request.action, gaps)));
        }
        if all == Tri::No {
            return NO;
        }
        match &self.resources {
            Some(resources) => {
                let parts = request.resource_parts();
                all =
                    all.and(resources.holds(gaps, |pattern, gaps| {
                        resource_matches(pattern, parts.as_ref(), request, gaps)
                    }));
            }
            // Trust policies have no resource: it is the role itself.
            None if kind == PolicyKind::Resource && request.action.starts_with("sts:") => {}
            None => {
                gaps.push(Missing::NotUnderstood("a statement without `Resource`".to_owned()));
                all = all.and(Tri::Unknown);
            }
        }
        if all == Tri::No {
            return NO;
        }
        let mut grant = match (&self.grantees, kind.names_principals()) {
            (Some(grantees), true) => grantees.grant(&request.principal, bounded, gaps),
            (None, false) => Grant { direct: Tri::Yes, ..Grant::NONE },
            (Some(_), false) => {
                gaps.push(Missing::NotUnderstood(format!("`Principal` in {}", kind.words())));
                Grant { direct: Tri::Unknown, ..Grant::NONE }
            }
            (None, true) => {
                gaps.push(Missing::NotUnderstood("a statement without `Principal`".to_owned()));
                Grant::OPEN
            }
        };
        if grant.any() == Tri::No {
            return NO;
        }
        for condition in &self.conditions {
            all = all.and(condition.holds(&request.context, gaps));
            if all == Tri::No {
                return NO;
            }
        }
        if !self.odd.is_empty() {
            gaps.extend(self.odd.iter().cloned().map(Missing::NotUnderstood));
            all = all.and(Tri::Unknown);
        }
        grant = grant.and(all);
        (grant.any(), grant)
    }
}

/// Texts of an element that is one or a list, and what among them is no text.
fn texts<'j>(name: &str, value: &'j Json) -> (Vec<&'j str>, Vec<String>) {
    let items = value.items();
    let (mut texts, mut odd) = (Vec::with_capacity(items.len()), Vec::new());
    if items.is_empty() {
        odd.push(format!("an empty `{name}`"));
    }
    for item in items {
        match item {
            Json::Text(text) if !text.is_empty() => texts.push(text.as_str()),
            _ => odd.push(format!("a value of `{name}`")),
        }
    }
    (texts, odd)
}

impl<T> Listed<T> {
    /// Any pattern matches, or with `Not…` none.
    fn holds(&self, gaps: &mut Gaps, mut matches: impl FnMut(&T, &mut Gaps) -> Tri) -> Tri {
        let mut any = if self.odd.is_empty() { Tri::No } else { Tri::Unknown };
        gaps.extend(self.odd.iter().cloned().map(Missing::NotUnderstood));
        for pattern in &self.patterns {
            any = any.or(matches(pattern, gaps));
            if any == Tri::Yes {
                break;
            }
        }
        if self.negated { !any } else { any }
    }
}

impl Action {
    fn new(text: &str) -> Action {
        if matches!(text, "*" | "*:*") {
            return Action::Everything;
        }
        let lower = text.to_ascii_lowercase();
        let glob = Glob::new(&lower);
        match lower.split_once(':') {
            Some((service, name))
                if !service.is_empty() && !name.is_empty() && !service.contains(['*', '?']) =>
            {
                Action::Named(glob)
            }
            _ => Action::Odd(glob, text.to_owned()),
        }
    }

    fn matches(&self, action: &str, gaps: &mut Gaps) -> Tri {
        match self {
            Action::Everything => Tri::Yes,
            Action::Named(glob) => glob.matches(action).into(),
            Action::Odd(glob, _) if !glob.matches(action) => Tri::No,
            Action::Odd(_, text) => {
                gaps.push(Missing::NotUnderstood(format!("the action `{text}`")));
                Tri::Unknown
            }
        }
    }
}

/// A value of `Resource`.
fn resource(text: &str, variables: bool, negated: bool) -> Result<ArnPattern, String> {
    if text == "*" { Ok(ArnPattern::Everything) } else { ArnPattern::new(text, variables, negated) }
}

fn resource_matches(
    pattern: &ArnPattern,
    parts: Option<&[&str; 6]>,
    request: &Request,
    gaps: &mut Gaps,
) -> Tri {
    let ArnPattern::NoArn(whole) = pattern else {
        return pattern.matches(parts, &request.context, gaps);
    };
    // AWS takes only ARNs and `*`. Read as plain text it does not match: then no reading does.
    match whole.matches(&request.resource, &request.context, gaps) {
        Tri::No => Tri::No,
        _ => {
            gaps.push(Missing::NotUnderstood("a resource that is no ARN".to_owned()));
            Tri::Unknown
        }
    }
}
