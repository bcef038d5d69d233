//! A request with all its policies as one JSON object, and its answer as another: what `lockshift policy decide` reads
//! and writes. Pure: text in, text out.

use std::fmt;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::context::{Context, Entry};
use super::decision::Decision;
use super::document::Compiled;
use super::evaluate::{Layer, Policies, decide};
use super::json::Json;
use super::missing::Missing;
use super::principal::{Principal, is_account};
use super::request::{
    Request, contradicts_owner, contradicts_principal, crosses_partitions, is_action, is_resource,
};

/// A request and the policies that meet it.
#[derive(Debug, Clone)]
pub struct Case {
    /// What the answer is called.
    pub id: Option<String>,
    /// The verdict that the case itself expects; nothing is decided by it.
    pub expect: Option<String>,
    request: Request,
    identity: Vec<Compiled>,
    resource: Vec<Compiled>,
    boundary: Vec<Compiled>,
    session: Vec<Compiled>,
    scps: Vec<Vec<Compiled>>,
    rcps: Vec<Vec<Compiled>>,
    endpoint: Vec<Compiled>,
}

/// A case that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseError {
    /// Which one, from 1.
    pub number: usize,
    /// Its `id`, where that could be read.
    pub id: Option<String>,
    /// Line in the input, from 1.
    pub line: usize,
    /// Column in that line, in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for CaseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "case {}", self.number)?;
        if let Some(id) = &self.id {
            write!(out, " (`{id}`)")?;
        }
        write!(out, ", line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for CaseError {}

/// Reads many cases: a JSON array, or one JSON object a line (empty lines are skipped). One case alone may have several
/// lines.
///
/// # Errors
///
/// The first case that could not be read. There is no half result.
pub fn read_cases(text: &str) -> Result<Vec<Case>, CaseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('[') {
        let mut values = Vec::new();
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = Elements(&mut values).deserialize(&mut reader).and_then(|()| reader.end());
        if let Err(error) = read {
            let number = values.len() + 1;
            let (line, column) = (error.line(), error.column());
            return Err(CaseError { number, id: None, line, column, message: without_place(&error) });
        }
        let cases = values.iter().enumerate();
        return cases
            .map(|(n, value)| {
                Case::read(value).map_err(|wrong| {
                    let begins = text.find('[').and_then(|list| begins(text, list).get(n).copied());
                    wrong.at(n + 1, text, begins.unwrap_or_default())
                })
            })
            .collect();
    }
    // One case, written over several lines.
    if text.trim().contains('\n')
        && let Ok(value @ Json::Object(_)) = serde_json::from_str(text)
    {
        return Ok(vec![Case::read(&value).map_err(|wrong| wrong.at(1, text, before_text(text)))?]);
    }
    let mut cases = Vec::new();
    let mut next = 0;
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let begins = next + before_text(line);
        next += line.len();
        // An error at the line's end is in this line, not in the next one.
        let line = line.trim_end();
        if line.is_empty() {
            continue;
        }
        let number = cases.len() + 1;
        let value: Json = serde_json::from_str(line).map_err(|error| {
            // The one case may go on over several lines: what is wrong is then further down.
            let whole =
                serde_json::from_str::<Json>(text).err().filter(|_| error.is_eof() && cases.is_empty());
            let (line, error) = whole.map_or((n + 1, error), |error| (error.line(), error));
            CaseError { number, id: None, line, column: error.column(), message: without_place(&error) }
        })?;
        cases.push(Case::read(&value).map_err(|wrong| wrong.at(number, text, begins))?);
    }
    Ok(cases)
}

/// serde_json's message; the place is said by itself.
fn without_place(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_owned()
}

/// Collects an array's elements one by one, so that an error knows how many there were.
struct Elements<'v>(&'v mut Vec<Json>);

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON array of cases")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.0.push(item);
        }
        Ok(())
    }
}

/// What is wrong with a case, and where in it.
struct Wrong {
    id: Option<String>,
    /// Which of the case's members, from 0; none where the case as a whole is meant.
    member: Option<usize>,
    message: String,
}

impl Wrong {
    /// `case` is where the case begins in `text`.
    fn at(self, number: usize, text: &str, case: usize) -> CaseError {
        let member = self.member.and_then(|member| begins(text, case).get(member).copied());
        let before = text.as_bytes().get(..member.unwrap_or(case)).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        CaseError { number, id: self.id, line, column, message: self.message }
    }
}

/// How many bytes of white space a text begins with.
fn before_text(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// Where the elements of the list, or the names of the object's members, begin that begins at `at`: our JSON values know
/// no places. The text was read already, so it is JSON.
fn begins(json: &str, at: usize) -> Vec<usize> {
    let (mut depth, mut quoted, mut escaped, mut awaited) = (0_usize, false, false, false);
    let mut found = Vec::new();
    for (n, byte) in json.bytes().enumerate().skip(at) {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if awaited && !byte.is_ascii_whitespace() && !matches!(byte, b']' | b'}') {
            found.push(n);
            awaited = false;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => {
                depth += 1;
                awaited = depth == 1;
            }
            b'}' | b']' if depth <= 1 => break,
            b'}' | b']' => depth -= 1,
            b',' => awaited = depth == 1,
            _ => {}
        }
    }
    found
}

/// What a case may have, save what nobody reads.
const MEMBERS: &[&str] = &[
    "id",
    "expect",
    "principal",
    "action",
    "resource",
    "resourceAccount",
    "context",
    "unknown",
    "identityPolicies",
    "resourcePolicy",
    "permissionsBoundary",
    "sessionPolicy",
    "scps",
    "rcps",
    "endpoint",
];

/// A policy under a misspelt name would be left out of the answer.
fn no_member(name: &str) -> String {
    let short: String = name.chars().take(64).collect();
    let near = similar::get_close_matches(short.as_str(), MEMBERS, 1, 0.6);
    let near = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("`{name}` is no member of a case{near}")
}

impl Case {
    fn read(value: &Json) -> Result<Case, Wrong> {
        let Json::Object(members) = value else {
            return Err(Wrong { id: None, member: None, message: "a case is a JSON object".to_owned() });
        };
        let id = members.iter().find(|(name, _)| name == "id").and_then(|(_, id)| id.as_text());
        let id = id.map(str::to_owned);
        let mut fields = Fields::default();
        match fields.fill(members) {
            Ok(()) => fields.case(id.clone()).map_err(|message| Wrong { id, member: None, message }),
            Err((member, message)) => Err(Wrong { id, member: Some(member), message }),
        }
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Decides it.
    #[must_use]
    pub fn decide(&self) -> Decision {
        let policies = Policies {
            identity: Layer::of(&self.identity),
            resource: some(&self.resource),
            boundary: some(&self.boundary),
            session: some(&self.session),
            scps: self.scps.iter().map(|level| Layer::of(level)).collect(),
            rcps: self.rcps.iter().map(|level| Layer::of(level)).collect(),
            endpoint: some(&self.endpoint),
        };
        decide(&self.request, &policies)
    }

    /// Says that nothing is known of a condition key: see [`Context::not_known`].
    #[must_use]
    pub fn not_known(mut self, key: &str) -> Case {
        self.request = self.request.not_known(key);
        self
    }
}

/// A decision as one line of JSON, without a line break.
#[must_use]
pub fn answer(id: Option<&str>, decision: &Decision) -> String {
    // Nothing in it can fail to be JSON.
    serde_json::to_string(&Answer::new(id, decision)).unwrap_or_default()
}

/// The JSON Schema of one [`answer`]; committed as `docs/schema/policy-decide.schema.json`.
#[must_use]
pub fn answer_schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Answer<'_>>()
}

/// No policy at all is no limit.
fn some(policies: &[Compiled]) -> Layer<'_> {
    if policies.is_empty() { Layer::Absent } else { Layer::of(policies) }
}

/// The members of a case, as they are found.
#[derive(Default)]
struct Fields {
    principal: Option<Principal>,
    /// As written.
    principal_text: String,
    action: Option<String>,
    resource: Option<String>,
    account: Option<String>,
    context: Context,
    expect: Option<String>,
    identity: Vec<Compiled>,
    bucket: Vec<Compiled>,
    boundary: Vec<Compiled>,
    session: Vec<Compiled>,
    scps: Vec<Vec<Compiled>>,
    rcps: Vec<Vec<Compiled>>,
    endpoint: Vec<Compiled>,
}

impl Fields {
    /// All members; an error says which one is wrong, from 0.
    fn fill(&mut self, members: &[(String, Json)]) -> Result<(), (usize, String)> {
        // What is not known wins over what is given, wherever it stands.
        let mut unknown = Vec::new();
        for (n, (name, value)) in members.iter().enumerate() {
            if members.iter().take(n).any(|(earlier, _)| earlier == name) {
                return Err((n, format!("`{name}` stands there twice")));
            }
            self.take(name, value, &mut unknown).map_err(|message| (n, message))?;
        }
        let context = std::mem::take(&mut self.context);
        self.context = unknown.iter().fold(context, |context, key| context.not_known(key));
        Ok(())
    }

    /// One member.
    fn take(&mut self, name: &str, value: &Json, unknown: &mut Vec<String>) -> Result<(), String> {
        match name {
            "id" | "note" | "comment" | "description" => {}
            "expect" => self.expect = value.as_text().map(str::to_owned),
            "principal" => {
                let text = text(name, value)?;
                text.clone_into(&mut self.principal_text);
                self.principal = Some(Principal::parse(text).map_err(|error| format!("`{name}`: {error}"))?);
            }
            "action" => {
                let text = text(name, value)?;
                if !is_action(text) {
                    return Err(format!("`action`: `{text}` is no action; expected `service:Name`"));
                }
                self.action = Some(text.to_owned());
            }
            "resource" => {
                let text = text(name, value)?;
                if !is_resource(text) {
                    return Err(format!("`resource`: `{text}` is no ARN"));
                }
                self.resource = Some(text.to_owned());
            }
            "resourceAccount" if *value != Json::Null => {
                let text = text(name, value)?;
                if !is_account(text) {
                    return Err(format!("`resourceAccount`: `{text}` is no account; expected twelve digits"));
                }
                self.account = Some(text.to_owned());
            }
            "resourceAccount" => {}
            "context" => self.context = context(value)?,
            "unknown" => {
                for key in value.items() {
                    unknown.push(key.as_text().ok_or("`unknown` is a list of condition keys")?.to_owned());
                }
            }
            "identityPolicies" => self.identity = policies(name, value)?,
            "resourcePolicy" => self.bucket = policies(name, value)?,
            "permissionsBoundary" => self.boundary = policies(name, value)?,
            "sessionPolicy" => self.session = policies(name, value)?,
            "endpoint" => self.endpoint = policies(name, value)?,
            "scps" => self.scps = levels(name, value)?,
            "rcps" => self.rcps = levels(name, value)?,
            _ => return Err(no_member(name)),
        }
        Ok(())
    }

    fn case(self, id: Option<String>) -> Result<Case, String> {
        let lacks = |name: &str| format!("`{name}` is missing");
        let principal = self.principal.ok_or_else(|| lacks("principal"))?;
        let action = self.action.ok_or_else(|| lacks("action"))?;
        let resource = self.resource.ok_or_else(|| lacks("resource"))?;
        if let Some(why) = crosses_partitions(&self.principal_text, &resource) {
            return Err(why);
        }
        let owner = self.account.as_deref().and_then(|account| contradicts_owner(&resource, account));
        if let Some(why) = owner {
            return Err(format!("`resourceAccount`: {why}"));
        }
        if let Some(why) = contradicts_principal(&principal, &self.context) {
            return Err(format!("`context`: {why}"));
        }
        let mut request = Request::new(principal, &action, &resource, self.context);
        if let Some(account) = &self.account {
            request = request.owned_by(account);
        }
        Ok(Case {
            id,
            expect: self.expect,
            request,
            identity: self.identity,
            resource: self.bucket,
            boundary: self.boundary,
            session: self.session,
            scps: self.scps,
            rcps: self.rcps,
            endpoint: self.endpoint,
        })
    }
}

fn text<'j>(name: &str, value: &'j Json) -> Result<&'j str, String> {
    match value {
        Json::Text(text) => Ok(text),
        _ => Err(format!("`{name}` is a text")),
    }
}

/// `{"key": "value"}`, or a list of values. A key with null is absent.
fn context(value: &Json) -> Result<Context, String> {
    let members = match value {
        Json::Object(members) => members,
        Json::Null => return Ok(Context::new()),
        _ => return Err("`context` is an object".to_owned()),
    };
    let mut context = Context::new();
    for (n, (key, value)) in members.iter().enumerate() {
        if members.iter().take(n).any(|(earlier, _)| earlier.eq_ignore_ascii_case(key)) {
            return Err(format!("`context` has `{key}` twice; names of keys have no case"));
        }
        if *value == Json::Null {
            context = context.without(key);
            continue;
        }
        let values: Option<Vec<String>> =
            value.items().iter().map(|value| value.as_text().map(str::to_owned)).collect();
        let values = values.ok_or_else(|| format!("`context`: `{key}` is a text or a list of texts"))?;
        context = context.with_entry(key, Entry::Values(values));
    }
    Ok(context)
}

/// One policy, a list of them, or null.
fn policies(name: &str, value: &Json) -> Result<Vec<Compiled>, String> {
    if *value == Json::Null {
        return Ok(Vec::new());
    }
    let policy = |(n, value): (usize, &Json)| match value {
        Json::Object(members) => Ok(Compiled::of(members)),
        _ => Err(format!("`{name}`: policy {} is no JSON object", n + 1)),
    };
    value.items().iter().enumerate().map(policy).collect()
}

/// A list of levels, each a policy or a list of them.
fn levels(name: &str, value: &Json) -> Result<Vec<Vec<Compiled>>, String> {
    match value {
        Json::Null => Ok(Vec::new()),
        Json::List(levels) => levels.iter().map(|level| policies(name, level)).collect(),
        _ => Err(format!("`{name}` is a list of levels, each a list of policies")),
    }
}

/// One line of `lockshift policy decide`: what is decided about one request.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "lockshift policy decide")]
struct Answer<'d> {
    /// The case's.
    id: Option<&'d str>,
    /// `Allowed`, `ExplicitlyDenied`, `ImplicitlyDenied` or `Unknown`.
    decision: &'static str,
    /// Condition keys, or reasons in words.
    missing: Vec<String>,
    /// The statements that decided.
    statements: Vec<AnswerStatement<'d>>,
    /// Where an Allow is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    withheld: Vec<&'static str>,
}

/// A statement that decided. Numbers count from 0.
#[derive(Serialize, JsonSchema)]
struct AnswerStatement<'d> {
    /// The place: `identity`, `resource`, `boundary`, `session`, `scp`, `rcp`, `endpoint`.
    policy: &'static str,
    /// The organization's level.
    level: usize,
    /// The policy at that place.
    number: usize,
    /// The statement of that policy.
    index: usize,
    /// Its `Sid`.
    sid: Option<&'d str>,
    /// `Allow`, `Deny`, or `?` where it is not understood.
    effect: &'static str,
    /// What it depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

impl<'d> Answer<'d> {
    fn new(id: Option<&'d str>, decision: &'d Decision) -> Answer<'d> {
        let mut missing: Vec<String> = decision.missing_keys().into_iter().map(str::to_owned).collect();
        missing.extend(decision.missing.iter().filter(|missing| missing.key().is_none()).map(Missing::name));
        let statements = decision.statements.iter().map(|deciding| AnswerStatement {
            policy: deciding.kind.as_str(),
            level: deciding.level,
            number: deciding.policy,
            index: deciding.index,
            sid: deciding.sid.as_deref(),
            effect: deciding.effect.as_str(),
            missing: deciding.missing.iter().map(ToString::to_string).collect(),
        });
        Answer {
            id,
            decision: decision.verdict.as_str(),
            missing,
            statements: statements.collect(),
            withheld: decision.withheld.iter().map(|kind| kind.as_str()).collect(),
        }
    }
}
