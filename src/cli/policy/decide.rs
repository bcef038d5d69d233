//! `lockshift policy decide`: one request from flags and files, or many from a batch.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cli::Outcome;
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::policy::{
    Case, Compiled, Context, Decision, Entry, Layer, Policies, Principal, Request, Verdict, answer,
    contradicts_owner, contradicts_principal, crosses_partitions, decide, read_cases,
};
use crate::repo::bounded;

/// What `--help` says at its end.
const MORE: &str = "\
Prints one JSON object a line: id, decision (Allowed, ExplicitlyDenied, ImplicitlyDenied or Unknown), what is missing
for an unknown decision, and the statements that decided. Condition keys that are not given are absent from the
request, save those of --unknown. Nothing is read from AWS.

Exit codes:
  0  every request was decided
  1  with --check: a decision is not the one that its case expects
  2  could not run: usage, or a case or policy that could not be read; nothing was printed then
  3  a decision is Unknown";

/// Decide requests against AWS policies
///
/// Evaluates identity, resource, boundary, session, SCP, RCP and VPC endpoint policies in AWS's order, in one account
/// or across two, and says Unknown where the answer depends on something that is not known, not understood or not
/// documented by AWS.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(super) struct Args {
    /// Cases from a file, or `-` for stdin: a JSON array, or one JSON object a line.
    #[arg(long, value_name = "FILE", conflicts_with = "one")]
    batch: Option<PathBuf>,
    /// Compare with what each case expects (batch only).
    #[arg(long, requires = "batch")]
    check: bool,
    /// Condition key of which nothing is known (repeatable). `aws:PrincipalTag/*` stands for all that begin so and are
    /// not given.
    #[arg(long, value_name = "KEY")]
    unknown: Vec<String>,
    #[command(flatten)]
    one: One,
}

/// One request.
#[derive(Debug, clap::Args)]
#[group(id = "one", multiple = true)]
struct One {
    /// ARN of a user, role, session or root user, a service's name, or `anonymous`.
    #[arg(long, value_name = "PRINCIPAL", required_unless_present = "batch")]
    principal: Option<String>,
    /// The action, such as s3:DeleteObject.
    #[arg(long, value_name = "ACTION", required_unless_present = "batch")]
    action: Option<String>,
    /// ARN of the resource.
    #[arg(long, value_name = "ARN", required_unless_present = "batch")]
    resource: Option<String>,
    /// Account that owns the resource: ARNs of S3 do not say it.
    #[arg(long, value_name = "ACCOUNT")]
    resource_account: Option<String>,
    /// Condition key of the request (repeatable; a key given twice has several values).
    #[arg(long, value_name = "KEY=VALUE")]
    context: Vec<String>,
    /// Policies of the principal, its groups included (repeatable).
    #[arg(long, value_name = "FILE")]
    identity_policy: Vec<PathBuf>,
    /// Policy of the resource: bucket policy, key policy, trust policy.
    #[arg(long, value_name = "FILE")]
    resource_policy: Option<PathBuf>,
    /// Permissions boundary of the user or role.
    #[arg(long, value_name = "FILE")]
    permissions_boundary: Option<PathBuf>,
    /// Session policies (repeatable).
    #[arg(long, value_name = "FILE")]
    session_policy: Vec<PathBuf>,
    /// Service control policies of one level, a policy or a JSON list of them (repeatable: one for each level).
    #[arg(long, value_name = "FILE")]
    scp: Vec<PathBuf>,
    /// Resource control policies of one level, likewise.
    #[arg(long, value_name = "FILE")]
    rcp: Vec<PathBuf>,
    /// Policy of the VPC endpoint that the request comes through.
    #[arg(long, value_name = "FILE")]
    endpoint: Option<PathBuf>,
}

/// Decides and prints; all input is read before anything is printed.
pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.batch {
        Some(file) => batch(args, file),
        None => one(args),
    }
}

fn batch(args: &Args, file: &Path) -> Result<Outcome, Failure> {
    let (text, name) = if file == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::new(format!("could not read stdin: {error}")))?;
        (Failure::utf8("stdin", bytes)?, "stdin".to_owned())
    } else {
        (read(file)?, file.display().to_string())
    };
    let cases = read_cases(&text).map_err(|error| {
        let id = error.id.as_ref().map(|id| format!(" (`{id}`)")).unwrap_or_default();
        let message = format!("case {}{id}: {}", error.number, error.message);
        Failure::at(&name, text.as_bytes(), (error.line, error.column), message).help(
            "a case has principal, action, resource, and where they matter id, resourceAccount, context, \
             identityPolicies, resourcePolicy, permissionsBoundary, sessionPolicy, scps, rcps, endpoint",
        )
    })?;
    if cases.is_empty() {
        return Err(Failure::new(format!("{name}: no case to decide")));
    }
    if args.check && cases.iter().all(|case| case.expect.is_none()) {
        return Err(Failure::new(format!(
            "{name}: no case says what it expects, so --check has nothing to compare"
        ))
        .help("give each case an `expect`: Allowed, ExplicitlyDenied, ImplicitlyDenied or Unknown"));
    }
    let mut out = String::new();
    let (mut unknown, mut wrong) = (false, Vec::new());
    for (n, case) in cases.into_iter().enumerate() {
        let case = args.unknown.iter().fold(case, |case, key| case.not_known(key));
        let decision = case.decide();
        let differs =
            args.check && case.expect.as_deref().is_some_and(|want| want != decision.verdict.as_str());
        if differs {
            wrong.push(told(n, &case, &decision));
        }
        let expected = args.check && case.expect.is_some();
        unknown |= decision.verdict == Verdict::Unknown && !expected;
        out.push_str(&answer(case.id.as_deref(), &decision));
        out.push('\n');
    }
    output::write(&out)?;
    if !wrong.is_empty() {
        output::to_stderr(&wrong.concat());
        return Ok(Outcome::Findings);
    }
    Ok(if unknown { Outcome::Unjudged } else { Outcome::Clean })
}

/// A decision that its case does not expect.
fn told(n: usize, case: &Case, decision: &Decision) -> String {
    let expected = case.expect.as_deref().unwrap_or_default();
    let id = case.id.as_deref().unwrap_or_default();
    let line = format!("case {} (`{id}`): {}, expected {expected}", n + 1, decision.verdict.as_str());
    format!("{}\n", crate::report::words::visible_lines(&line))
}

fn one(args: &Args) -> Result<Outcome, Failure> {
    let one = &args.one;
    let given = |value: &Option<String>, flag: &str| {
        value.clone().ok_or_else(|| Failure::new(format!("`--{flag}` or `--batch` is missing")))
    };
    let principal_text = given(&one.principal, "principal")?;
    let principal =
        Principal::parse(&principal_text).map_err(|error| Failure::new(format!("--principal: {error}")))?;
    let action = given(&one.action, "action")?;
    if !crate::policy::is_action(&action) {
        return Err(Failure::new(format!("--action: `{action}` is no action"))
            .help("actions look like `s3:DeleteObject`, without wildcards"));
    }
    let resource = given(&one.resource, "resource")?;
    if !crate::policy::is_resource(&resource) {
        return Err(Failure::new(format!("--resource: `{resource}` is no ARN"))
            .help("an object's is `arn:aws:s3:::BUCKET/KEY`"));
    }
    if let Some(why) = crosses_partitions(&principal_text, &resource) {
        return Err(Failure::new(why));
    }
    if resource.contains(['*', '?']) {
        output::to_stderr(
            "note: a request names one resource: `*` and `?` in --resource are part of its name\n",
        );
    }
    let context = context(args)?;
    if let Some(why) = contradicts_principal(&principal, &context) {
        return Err(Failure::new(format!("--context: {why}"))
            .help("leave aws:PrincipalArn out, or give the one that AWS would add"));
    }
    let mut request = Request::new(principal, &action, &resource, context);
    if let Some(account) = &one.resource_account {
        if !crate::policy::is_account(account) {
            return Err(Failure::new(format!("--resource-account: `{account}` is no account"))
                .help("an account is twelve digits"));
        }
        if let Some(why) = contradicts_owner(&resource, account) {
            return Err(Failure::new(format!("--resource-account: {why}"))
                .help("leave it out where the ARN holds the account"));
        }
        request = request.owned_by(account);
    }
    let identity = all(&one.identity_policy)?;
    let resource = some(&one.resource_policy)?;
    let boundary = some(&one.permissions_boundary)?;
    let session = all(&one.session_policy)?;
    let endpoint = some(&one.endpoint)?;
    let scps = one.scp.iter().map(|file| policies(file)).collect::<Result<Vec<_>, _>>()?;
    let rcps = one.rcp.iter().map(|file| policies(file)).collect::<Result<Vec<_>, _>>()?;
    let decision = decide(
        &request,
        &Policies {
            identity: Layer::of(&identity),
            resource: resource.as_deref().map_or(Layer::Absent, Layer::of),
            boundary: boundary.as_deref().map_or(Layer::Absent, Layer::of),
            session: if session.is_empty() { Layer::Absent } else { Layer::of(&session) },
            scps: scps.iter().map(|level| Layer::of(level)).collect(),
            rcps: rcps.iter().map(|level| Layer::of(level)).collect(),
            endpoint: endpoint.as_deref().map_or(Layer::Absent, Layer::of),
        },
    );
    if request.lacks_principal_arn() {
        output::to_stderr(
            "note: the request has no aws:PrincipalArn, which AWS adds to every signed request; \
             `--context aws:PrincipalArn=ARN` gives it, `--unknown aws:PrincipalArn` says that it is not known\n",
        );
    }
    output::write(&format!("{}\n", answer(None, &decision)))?;
    Ok(if decision.verdict == Verdict::Unknown { Outcome::Unjudged } else { Outcome::Clean })
}

/// `KEY=VALUE` of --context.
pub(super) fn condition_key(pair: &str) -> Result<(&str, &str), Failure> {
    pair.split_once('=').filter(|(key, _)| key.contains(':') && !key.starts_with(':')).ok_or_else(|| {
        Failure::new(format!("--context: `{pair}` is not KEY=VALUE"))
            .help("a condition key has its service's name in front: `aws:SourceVpce=vpce-1`")
    })
}

fn context(args: &Args) -> Result<Context, Failure> {
    let mut context = Context::new();
    for pair in &args.one.context {
        let (key, value) = condition_key(pair)?;
        let mut values = match context.entry(key) {
            Entry::Values(values) => values.clone(),
            _ => Vec::new(),
        };
        values.push(value.to_owned());
        context = context.with_entry(key, Entry::Values(values));
    }
    Ok(args.unknown.iter().fold(context, |context, key| context.not_known(key)))
}

fn read(file: &Path) -> Result<String, Failure> {
    let bytes = bounded::read_named(file)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", file.display())))?;
    Failure::utf8(file.display(), bytes)
}

/// The policies of a file: one, or a JSON list of them.
fn policies(file: &Path) -> Result<Vec<Compiled>, Failure> {
    let text = read(file)?;
    Compiled::list(&text).map_err(|error| match error.line {
        0 => Failure::new(format!("{}: {error}", file.display())),
        line => Failure::at(file.display(), text.as_bytes(), (line, error.column), &error.message),
    })
}

fn all(files: &[PathBuf]) -> Result<Vec<Compiled>, Failure> {
    let mut found = Vec::new();
    for file in files {
        found.extend(policies(file)?);
    }
    Ok(found)
}

fn some(file: &Option<PathBuf>) -> Result<Option<Vec<Compiled>>, Failure> {
    file.as_deref().map(policies).transpose()
}
