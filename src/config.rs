//! `lockshift.toml`: what a repository decides for itself. Text in, [`Config`] out, and errors that point into the
//! file. Only [`Config::load`] touches the disk; no clock is read here.

pub mod date;
mod error;
mod limits;
mod raw;
mod schema;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub use date::Date;
pub use error::ConfigError;
pub use schema::schema;

use crate::finding::{Finding, Severity};
use crate::repo::bounded;
use crate::repo::excerpt::Excerpt;
use crate::repo::secret::without_credentials;
use crate::repo::shown::Home;
use crate::repo::text::{Place, Text};
use crate::rules;
use raw::{Raw, RawIgnore, RawRule};

/// The file's name.
pub const FILE_NAME: &str = "lockshift.toml";

/// A larger one was not written by people.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// What a repository decides for itself. The default decides nothing.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Paths that the walk leaves out: globs relative to the configuration file's directory, in order.
    pub exclude: Vec<String>,
    /// Rules that are switched off or given another severity, by rule id.
    pub rules: BTreeMap<String, RuleSetting>,
    /// Findings that are accepted, in order.
    pub ignores: Vec<Ignore>,
    /// How to reach a bucket, by bucket name.
    pub buckets: BTreeMap<String, Bucket>,
    /// From what age on a lock counts as stale.
    pub stale_after: Option<Duration>,
    /// Which IAM roles do what.
    pub roles: Roles,
    /// The configuration file's directory, which its globs are relative to, and where the user stands.
    pub home: Home,
}

/// What is done with one rule, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSetting {
    /// The severity of its findings from now on; none switches the rule off.
    pub severity: Option<Severity>,
    /// Why.
    pub reason: String,
}

/// An accepted finding: it is still shown, and never fails a run.
#[derive(Debug, Clone)]
pub struct Ignore {
    /// The rule's id.
    pub rule: String,
    /// A glob over paths, as written.
    pub path: Option<String>,
    /// A glob over what an audit's findings are about (`s3://BUCKET/STATE-PATH`), as written. There is a path, a
    /// subject or both.
    pub subject: Option<String>,
    /// Why.
    pub reason: String,
    /// The last day on which it holds.
    pub expires: Option<Date>,
    /// Where it stands.
    pub place: Place,
    path_matcher: Option<GlobMatcher>,
    subject_matcher: Option<GlobMatcher>,
}

/// How to reach one bucket. Flags win over it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// A profile of the shared AWS configuration.
    pub profile: Option<String>,
    /// A role to assume.
    pub role_arn: Option<String>,
    /// The bucket's region.
    pub region: Option<String>,
    /// The S3 endpoint, for a store that is not AWS.
    pub endpoint: Option<String>,
    /// The DynamoDB endpoint, for the lock table of its states.
    pub dynamodb_endpoint: Option<String>,
    /// The bucket's name goes into the path, not into the host name.
    pub path_style: Option<bool>,
}

/// Which IAM roles do what, as ARNs or ARN patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Roles {
    /// Roles that apply.
    pub runners: Vec<String>,
    /// Roles that only plan. They lock, too.
    pub plan: Vec<String>,
    /// Roles for emergencies.
    pub break_glass: Vec<String>,
    /// Roles that manage the bucket: its policy, lifecycle, versioning.
    pub state_admin: Vec<String>,
}

/// What `severity` of a rule may be.
const SEVERITY_WORDS: [&str; 6] = ["off", "info", "low", "medium", "high", "critical"];

/// The key that was probably meant: the message of an unknown one lists those that there are.
/// Source: `unknown_field` of `serde::de::Error`.
fn near_key(message: &str) -> Option<String> {
    let (unknown, known) = message.strip_prefix("unknown field `")?.split_once("`, expected ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let unknown: String = unknown.chars().take(64).collect();
    let near = similar::get_close_matches(unknown.as_str(), &known, 1, 0.6);
    near.first().map(|near| format!("did you mean `{near}`?"))
}

/// Makes errors that point into one file.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn place(&self, offset: usize) -> Place {
        Text::new(self.text.as_bytes()).place(self.file, offset)
    }

    fn error(&self, offset: usize, message: impl Into<String>, help: Option<String>) -> ConfigError {
        let excerpt = Box::new(Excerpt::of(Text::new(self.text.as_bytes()), offset));
        ConfigError::Invalid { place: self.place(offset), message: message.into(), excerpt, help }
    }

    fn rule(&self, id: &Spanned<String>) -> Result<String, ConfigError> {
        let (at, id) = (id.span().start, id.get_ref());
        let rule = rules::find(id);
        if rule.is_some_and(|rule| matches!(rule.check, rules::Check::Unread)) {
            let help = "make the file readable, or leave it out with `exclude`".to_owned();
            let message = format!("`{id}` is no judgement but something that was not read: it can't be set");
            return Err(self.error(at, message, Some(help)));
        }
        if let Some(command) = rule.and_then(|rule| rule.gate_of()) {
            let help = format!("`lockshift explain {id}` says what lets it pass");
            let message = format!("`{id}` is a gate of `{command}` and makes no finding: it can't be set");
            return Err(self.error(at, message, Some(help)));
        }
        if rule.is_some() {
            return Ok(id.clone());
        }
        let help = rules::suggest(id).map(|near| format!("did you mean `{near}`?"));
        Err(self.error(at, format!("there is no rule `{id}`"), help))
    }

    fn reason(&self, owner: usize, reason: Option<&Spanned<String>>) -> Result<String, ConfigError> {
        match reason {
            Some(reason) if !reason.get_ref().trim().is_empty() => Ok(reason.get_ref().trim().to_owned()),
            Some(empty) => Err(self.error(empty.span().start, "the reason is empty", None)),
            None => {
                let help = "add `reason = \"…\"`: who reads this next year has to know why".to_owned();
                Err(self.error(owner, "a reason is missing", Some(help)))
            }
        }
    }

    fn glob(&self, glob: &Spanned<String>) -> Result<GlobMatcher, ConfigError> {
        matcher(glob.get_ref())
            .map_err(|error| self.error(glob.span().start, format!("not a glob: {}", error.kind()), None))
    }

    fn rule_setting(&self, id: &Spanned<String>, raw: &RawRule) -> Result<RuleSetting, ConfigError> {
        let severity = match raw.severity.get_ref().as_str() {
            "off" => None,
            word => Some(severity(word).ok_or_else(|| {
                let words = SEVERITY_WORDS;
                let help = match similar::get_close_matches(word, &words, 1, 0.6).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("one of {}", words.join(", ")),
                };
                self.error(raw.severity.span().start, format!("there is no severity `{word}`"), Some(help))
            })?),
        };
        Ok(RuleSetting { severity, reason: self.reason(id.span().start, raw.reason.as_ref())? })
    }

    fn ignore(&self, raw: &RawIgnore) -> Result<Ignore, ConfigError> {
        let at = raw.rule.span().start;
        if raw.path.is_none() && raw.subject.is_none() {
            let help =
                "add `path = \"…\"`, or for what an audit finds `subject = \"s3://BUCKET/**\"`".to_owned();
            return Err(self.error(at, "this ignore says neither path nor subject", Some(help)));
        }
        let expires = match &raw.expires {
            None => None,
            Some(value) => {
                let written = match value.get_ref() {
                    toml::Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                Some(Date::parse(&written).ok_or_else(|| {
                    let help = "write it as YYYY-MM-DD".to_owned();
                    self.error(value.span().start, format!("`{written}` is no date"), Some(help))
                })?)
            }
        };
        Ok(Ignore {
            rule: self.rule(&raw.rule)?,
            path: raw.path.as_ref().map(|glob| glob.get_ref().clone()),
            subject: raw.subject.as_ref().map(|glob| glob.get_ref().clone()),
            reason: self.reason(at, raw.reason.as_ref())?,
            expires,
            place: self.place(at),
            path_matcher: raw.path.as_ref().map(|glob| self.glob(glob)).transpose()?,
            subject_matcher: raw.subject.as_ref().map(|glob| self.glob(glob)).transpose()?,
        })
    }
}

impl Config {
    /// Reads the text of a configuration file; `file_name` is how errors call it.
    pub fn parse(file_name: &str, text: &str) -> Result<Config, ConfigError> {
        // The BOM is not TOML; editors add it all the same. Blanks keep every offset where it was.
        let plain = text.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
        let text = plain.as_deref().unwrap_or(text);
        let reader = Reader { file: file_name, text };
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().trim();
            reader.error(at, message, near_key(message))
        })?;

        let mut config = Config { roles: raw.roles, ..Config::default() };
        for glob in &raw.exclude {
            reader.glob(glob)?;
            config.exclude.push(glob.get_ref().clone());
        }
        for (id, setting) in &raw.rules {
            config.rules.insert(reader.rule(id)?, reader.rule_setting(id, setting)?);
        }
        for ignore in &raw.ignore {
            config.ignores.push(reader.ignore(ignore)?);
        }
        for (name, bucket) in raw.buckets {
            let at = name.span().start;
            let mut endpoints = bucket.endpoint.iter().chain(&bucket.dynamodb_endpoint);
            if endpoints.any(|url| without_credentials(url.clone()) != *url) {
                let message = "the endpoint holds credentials";
                let help = "name a `profile` or a `role_arn` instead".to_owned();
                return Err(reader.error(at, message, Some(help)));
            }
            config.buckets.insert(name.into_inner(), bucket);
        }
        if let Some(age) = raw.stale_after {
            config.stale_after = Some(duration(age.get_ref()).ok_or_else(|| {
                let help = "a number and a unit: 45m, 24h, 7d".to_owned();
                let message = format!("`{}` is no length of time", age.get_ref());
                reader.error(age.span().start, message, Some(help))
            })?);
        }
        Ok(config)
    }

    /// Globs of shown paths that the walk leaves out.
    pub fn shown_excludes(&self) -> Vec<String> {
        self.exclude.iter().flat_map(|glob| self.home.shown_globs(glob)).collect()
    }

    /// Finds and reads the configuration that holds for a scanned path: the nearest `lockshift.toml` from there up
    /// to the repository's root (the directory with `.git`). Outside of a repository only the scanned directory
    /// itself is looked at, so that a stray file further up decides nothing.
    pub fn load(scanned: &Path) -> Result<Option<Config>, ConfigError> {
        let unreadable =
            |path: &Path, cause| ConfigError::Unreadable { path: path.display().to_string(), cause };
        let mut dir = scanned.canonicalize().map_err(|cause| unreadable(scanned, cause))?;
        if dir.is_file() {
            dir.pop();
        }
        let cwd = std::env::current_dir().and_then(|cwd| cwd.canonicalize());
        let cwd = cwd.map_err(|cause| unreadable(Path::new("."), cause))?;
        let in_repository = dir.ancestors().any(|above| above.join(".git").exists());
        for above in dir.ancestors() {
            let path = above.join(FILE_NAME);
            match bounded::read(&path, MAX_BYTES) {
                Ok(bytes) => {
                    tracing::info!(file = %path.display(), "read the configuration");
                    // Findings about the file itself name it as the user sees it.
                    let shown = path.strip_prefix(&cwd).unwrap_or(&path).to_string_lossy();
                    let config = match String::from_utf8(bytes) {
                        Ok(text) => Config::parse(&shown, &text),
                        Err(error) => {
                            let (text, at) = (Text::new(error.as_bytes()), error.utf8_error().valid_up_to());
                            Err(ConfigError::Invalid {
                                place: text.place(&shown, at),
                                message: "not UTF-8".to_owned(),
                                excerpt: Box::new(Excerpt::of(text, at)),
                                help: Some("store it as UTF-8".to_owned()),
                            })
                        }
                    };
                    // A link may lead to anything that its reader can read.
                    let real = path.canonicalize();
                    let is_own = real.is_ok_and(|real| real.starts_with(home_of(above)));
                    let mut config =
                        config.map_err(|error| if is_own { error } else { error.without_line() })?;
                    config.home = Home::new(above, &cwd);
                    return Ok(Some(config));
                }
                Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
                Err(cause) => return Err(unreadable(&path, cause)),
            }
            if !in_repository || above.join(".git").exists() {
                break;
            }
        }
        Ok(None)
    }
}

/// The repository around a directory, or the directory itself outside of any.
fn home_of(dir: &Path) -> &Path {
    dir.ancestors().find(|above| above.join(".git").exists()).unwrap_or(dir)
}

impl Ignore {
    /// Whether it speaks of this finding: the rule is the same, and the glob matches the finding's file or its
    /// subject (`envs/old/**` also covers the root module `envs/old`). One that names an audit's subject speaks of no
    /// finding in a repository.
    pub fn covers(&self, home: &Home, finding: &Finding) -> bool {
        self.rule == finding.rule
            && self.subject_matcher.is_none()
            && (self.covers_path(home, &finding.place.file) || self.covers_path(home, &finding.subject))
    }

    /// Whether it speaks of an audit's finding: the rule is the same, and each glob that is given matches: `subject`
    /// what the finding is about (`s3://b/**` also covers `s3://b`), `path` the file that configures it. A finding
    /// that no file configures has no path.
    pub fn covers_subject(&self, home: &Home, rule: &str, subject: &str, place: Option<&Place>) -> bool {
        let subject_holds = self.subject_matcher.as_ref().is_none_or(|glob| is_at_or_below(glob, subject));
        let path_holds = self.path_matcher.is_none()
            || place.is_some_and(|place| {
                // The file itself, or the root module that it stands in.
                let dir = place.file.rsplit_once('/').map_or(".", |(dir, _)| dir);
                self.covers_path(home, &place.file) || self.covers_path(home, dir)
            });
        self.rule == rule && subject_holds && path_holds
    }

    /// Whether only an audit can need it: it names an audit's subject, or a rule that no scan judges.
    pub fn is_for_audit(&self) -> bool {
        let scans = |rule: &rules::Rule| {
            matches!(
                rule.check,
                rules::Check::Inventory(_) | rules::Check::Applying | rules::Check::Migrating
            )
        };
        self.subject.is_some() || rules::find(&self.rule).is_some_and(|rule| !scans(rule))
    }

    /// Its globs, as written.
    pub fn globs(&self) -> String {
        let globs: Vec<&str> = self.path.iter().chain(&self.subject).map(String::as_str).collect();
        globs.join(" ")
    }

    fn covers_path(&self, home: &Home, shown: &str) -> bool {
        let Some(glob) = &self.path_matcher else { return false };
        home.path(shown).is_some_and(|path| is_at_or_below(glob, &path))
    }

    /// Whether its last day is over.
    pub fn is_expired(&self, today: Date) -> bool {
        self.expires.is_some_and(|last| last < today)
    }
}

/// Whether a glob matches a name, or everything below it (`a/**` also covers `a`).
fn is_at_or_below(glob: &GlobMatcher, name: &str) -> bool {
    glob.is_match(name) || glob.is_match(format!("{name}/"))
}

/// Globs as everywhere here: `*` stays within a path segment, `**` does not.
fn matcher(glob: &str) -> Result<GlobMatcher, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build().map(|glob| glob.compile_matcher())
}

fn severity(word: &str) -> Option<Severity> {
    Severity::ALL.into_iter().find(|severity| severity.as_str() == word)
}

/// A length of time: a number and one of `s`, `m`, `h`, `d`. Anything else is none.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let seconds: u64 = match text.strip_prefix(digits)?.trim() {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests;
