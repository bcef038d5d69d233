//! A policy document, compiled once. Nothing of it is dropped: what is not understood stays with its statement and
//! makes that statement's effect unknown.

use std::fmt;

use super::json::Json;
use super::statement::{Statement, repeated};

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

    /// Reads the JSON text of one policy, or of a list of policies, or what `aws s3api get-bucket-policy` prints: a policy
    /// as a text inside.
    ///
    /// # Errors
    ///
    /// As [`Compiled::new`], for any of them.
    pub fn list(text: &str) -> Result<Vec<Compiled>, PolicyError> {
        let json = json(text)?;
        if let Json::Object(members) = &json
            && let [(name, Json::Text(inside))] = members.as_slice()
            && name == "Policy"
        {
            return Compiled::list(inside);
        }
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
            return Compiled { statements: vec![Statement::of_oddities(odd)] };
        }
        let unclear = odd.iter().any(|what| what.contains("`Version`"));
        let statements = statements.into_iter().map(|value| {
            let mut statement = Statement::new(value, variables);
            if unclear && has_variable(value) {
                // Whether that is a variable depends on the version.
                statement = statement.emptied();
            }
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

    /// Elements that are not understood, with the statement's number from 0; sorted by it. Principals and single values
    /// of conditions are only named where they keep a decision open.
    #[must_use]
    pub fn not_understood(&self) -> Vec<(usize, &str)> {
        let all = self.statements.iter().enumerate();
        all.flat_map(|(index, statement)| statement.not_understood().map(move |what| (index, what))).collect()
    }

    /// The condition keys that it asks for, in lower case; sorted, each once. Keys of policy variables are not among
    /// them.
    #[must_use]
    pub fn condition_keys(&self) -> Vec<String> {
        let conditions = self.statements.iter().flat_map(Statement::condition_keys);
        let mut keys: Vec<String> = conditions.map(str::to_ascii_lowercase).collect();
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

/// Whether `${` stands anywhere in a value.
fn has_variable(value: &Json) -> bool {
    match value {
        Json::Text(text) => text.contains("${"),
        Json::List(items) => items.iter().any(has_variable),
        Json::Object(members) => members.iter().any(|(_, value)| has_variable(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}
