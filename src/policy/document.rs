//! A policy document, compiled once. Nothing of it is dropped: what is not understood stays with its statement and
//! makes that statement's effect unknown.

use std::fmt;

use super::condition::Condition;
use super::decision::{Effect, PolicyKind};
use super::grantee::{Grant, Grantees};
use super::json::Json;
use super::missing::{Gaps, Missing};
use super::pattern::Glob;
use super::request::Request;
use super::template::ArnPattern;
use super::tri::Tri;

/// A policy that is not JSON, or no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// What is wrong.
    pub message: String,
    /// From 1; 0 where the whole document is meant.
    pub line: usize,
    /// From 1; 0 where the whole document is meant.
    pub column: usize,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => out.write_str(&self.message),
            line => write!(out, "{}:{}: {}", line, self.column, self.message),
        }
    }
}

impl std::error::Error for PolicyError {}

/// A compiled policy.
#[derive(Debug, Clone)]
pub struct Compiled {
    statements: Vec<Statement>,
}

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
    odd: Vec<String>,
}

/// A list with its element's sense: `Action` or `NotAction`.
#[derive(Debug, Clone)]
struct Listed<T> {
    patterns: Vec<T>,
    negated: bool,
}

#[derive(Debug, Clone)]
enum Action {
    Everything,
    /// In lower case: actions have no case.
    Named(Glob),
    /// No service, or wildcards in it: how it would match as plain text.
    Odd(Glob, String),
}

impl Compiled {
    /// Reads a policy's JSON text.
    ///
    /// # Errors
    ///
    /// When it is no JSON, or no object. Everything else, however odd, becomes a statement that is unknown.
    pub fn new(text: &str) -> Result<Compiled, PolicyError> {
        match json(text)? {
            Json::Object(members) => Ok(Compiled::of(&members)),
            _ => Err(no_object()),
        }
    }

    /// Reads the JSON text of one policy, or of a list of policies.
    ///
    /// # Errors
    ///
    /// As [`Compiled::new`], for any of them.
    pub fn list(text: &str) -> Result<Vec<Compiled>, PolicyError> {
        let json = json(text)?;
        let policy = |value: &Json| match value {
            Json::Object(members) => Ok(Compiled::of(members)),
            _ => Err(no_object()),
        };
        json.items().iter().map(policy).collect()
    }

    /// Reads a policy's members.
    pub(super) fn of(members: &[(String, Json)]) -> Compiled {
        let mut odd = repeated(members);
        let mut variables = false;
        let mut statements = Vec::new();
        for (name, value) in members {
            match (name.as_str(), value) {
                ("Version", value) => match value.as_text() {
                    Some("2012-10-17") => variables = true,
                    Some("2008-10-17") => {}
                    _ => odd.push("the policy's `Version`".to_owned()),
                },
                ("Id", Json::Text(_)) => {}
                ("Statement", value) => statements.extend(value.items()),
                (name, _) => odd.push(format!("the policy's element `{name}`")),
            }
        }
        if !members.iter().any(|(name, _)| name == "Statement") {
            // Whatever it means, it may deny.
            odd.push("a policy without `Statement`".to_owned());
            return Compiled { statements: vec![Statement { odd, ..Statement::empty() }] };
        }
        let statements = statements.into_iter().map(|value| {
            let mut statement = Statement::new(value, variables);
            statement.odd.extend(odd.iter().cloned());
            statement
        });
        Compiled { statements: statements.collect() }
    }

    /// How many statements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Whether it has no statement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// What is not understood, with the statement's number from 0; sorted by it.
    #[must_use]
    pub fn not_understood(&self) -> Vec<(usize, &str)> {
        let all = self.statements.iter().enumerate();
        all.flat_map(|(index, statement)| statement.odd.iter().map(move |what| (index, what.as_str())))
            .collect()
    }

    /// The condition keys that it asks for, in lower case; sorted, each once. Keys of policy variables are not among
    /// them.
    #[must_use]
    pub fn condition_keys(&self) -> Vec<String> {
        let conditions = self.statements.iter().flat_map(|statement| &statement.conditions);
        let mut keys: Vec<String> =
            conditions.map(|condition| condition.key().to_ascii_lowercase()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    pub(super) fn statements(&self) -> &[Statement] {
        &self.statements
    }
}

/// Reads JSON; a byte order mark is no error.
fn json(text: &str) -> Result<Json, PolicyError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        // serde_json says the place in words; ours are fields.
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        PolicyError { message, line: error.line(), column: error.column() }
    })
}

fn no_object() -> PolicyError {
    PolicyError { message: "a policy is a JSON object".to_owned(), line: 0, column: 0 }
}

/// Members that stand there twice: AWS does not say which one counts.
fn repeated(members: &[(String, Json)]) -> Vec<String> {
    let mut odd = Vec::new();
    for (n, (name, _)) in members.iter().enumerate() {
        if members.iter().take(n).any(|(earlier, _)| earlier == name) {
            odd.push(format!("`{name}`, which stands there twice"));
        }
    }
    odd
}

impl Statement {
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

    fn new(value: &Json, variables: bool) -> Statement {
        let mut statement = Statement::empty();
        let Json::Object(members) = value else {
            statement.odd.push("a statement that is no object".to_owned());
            return statement;
        };
        statement.odd = repeated(members);
        for (name, value) in members {
            statement.read(name, value, variables);
        }
        let has = |name: &str| members.iter().any(|(found, _)| found == name);
        for (one, other) in
            [("Action", "NotAction"), ("Resource", "NotResource"), ("Principal", "NotPrincipal")]
        {
            if has(one) && has(other) {
                statement.odd.push(format!("`{one}` beside `{other}`"));
            }
        }
        if !has("Action") && !has("NotAction") {
            statement.odd.push("a statement without `Action`".to_owned());
        }
        if !has("Effect") {
            statement.odd.push("a statement without `Effect`".to_owned());
        }
        if has("NotPrincipal") && statement.effect != Effect::Deny {
            statement.odd.push("`NotPrincipal` without Deny".to_owned());
        }
        statement
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
                let patterns = self.texts(name, value).into_iter().map(Action::new).collect();
                self.actions = Some(Listed { patterns, negated: name == "NotAction" });
            }
            ("Resource" | "NotResource", value) => {
                let mut patterns = Vec::new();
                for text in self.texts(name, value) {
                    match resource(text, variables, name == "NotResource") {
                        Ok(pattern) => patterns.push(pattern),
                        Err(why) => self.odd.push(why),
                    }
                }
                self.resources = Some(Listed { patterns, negated: name == "NotResource" });
            }
            ("Condition", Json::Object(operators)) => self.read_conditions(operators, variables),
            (name, _) => self.odd.push(format!("the element `{name}`")),
        }
    }

    /// Texts of an element that is one or a list; what is no text is noted.
    fn texts<'j>(&mut self, name: &str, value: &'j Json) -> Vec<&'j str> {
        let items = value.items();
        if items.is_empty() {
            self.odd.push(format!("an empty `{name}`"));
        }
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Json::Text(text) if !text.is_empty() => texts.push(text.as_str()),
                _ => self.odd.push(format!("a value of `{name}`")),
            }
        }
        texts
    }

    fn read_conditions(&mut self, operators: &[(String, Json)], variables: bool) {
        self.odd.extend(repeated(operators));
        for (operator, keys) in operators {
            let Json::Object(keys) = keys else {
                self.odd.push(format!("the condition operator `{operator}`"));
                continue;
            };
            let folded: Vec<(String, Json)> =
                keys.iter().map(|(key, _)| (key.to_ascii_lowercase(), Json::Null)).collect();
            self.odd.extend(repeated(&folded));
            for (key, values) in keys {
                let values: Vec<Option<&str>> = values.items().iter().map(Json::as_text).collect();
                match Condition::new(operator, key, &values, variables) {
                    Ok(condition) => self.conditions.push(condition),
                    Err(why) => self.odd.push(why),
                }
            }
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
        let first = [grant.direct, grant.everyone, grant.role, grant.account].into_iter().find(|way| *way != Tri::No);
        if first != Some(Tri::Unknown) {
            gaps.truncate(before);
        }
        found
    }

    fn judge(&self, request: &Request, kind: PolicyKind, bounded: Tri, gaps: &mut Gaps) -> (Tri, Grant) {
        const NO: (Tri, Grant) = (Tri::No, Grant::NONE);
        let mut all = Tri::Yes;
        if let Some(actions) = &self.actions {
            all = all.and(actions.holds(|action| action.matches(&request.action, gaps)));
        }
        if all == Tri::No {
            return NO;
        }
        match &self.resources {
            Some(resources) => {
                all = all.and(resources.holds(|pattern| resource_matches(pattern, request, gaps)));
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

impl<T> Listed<T> {
    /// Any pattern matches, or with `Not…` none.
    fn holds(&self, mut matches: impl FnMut(&T) -> Tri) -> Tri {
        let mut any = Tri::No;
        for pattern in &self.patterns {
            any = any.or(matches(pattern));
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

fn resource_matches(pattern: &ArnPattern, request: &Request, gaps: &mut Gaps) -> Tri {
    let ArnPattern::NoArn(whole) = pattern else {
        return pattern.matches(request.resource_parts().as_ref(), &request.context, gaps);
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
