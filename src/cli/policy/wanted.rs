//! What `lockshift policy` is asked for: its flags, and what they come to beside `lockshift.toml` and what was found. What
//! can't be told is refused before anything is recommended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueEnum;

use super::decide::condition_key;
use super::documents::Format;
use crate::audit::expected::partition_of;
use crate::audit::policies::BucketStates;
use crate::cli::failure::Failure;
use crate::cli::output::OutArgs;
use crate::cli::tree::{ConfigArgs, TreeArgs};
use crate::policy::is_account;
use crate::policy::recommend::Roles;
use crate::repo::bounded;

/// What to look at, for whom, and how to say it.
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Role that applies (repeatable). Roles of lockshift.toml count when no flag names one of the same kind.
    #[arg(long, value_name = "ARN")]
    pub runner: Vec<String>,
    /// Role that only plans (repeatable); it takes locks, too.
    #[arg(long, value_name = "ARN")]
    pub plan_role: Vec<String>,
    /// Role that releases stuck locks in an emergency (repeatable).
    #[arg(long, value_name = "ARN")]
    pub break_glass: Vec<String>,
    /// Role that manages the bucket (repeatable).
    #[arg(long, value_name = "ARN")]
    pub state_admin: Vec<String>,
    /// Account that owns the buckets [default: that of the state-admin and break-glass roles].
    #[arg(long, value_name = "ACCOUNT")]
    pub account: Option<String>,
    /// Only this bucket (repeatable).
    #[arg(long, value_name = "BUCKET")]
    pub bucket: Vec<String>,
    /// The bucket's present policy, as `aws s3api get-bucket-policy` prints it: needs one bucket.
    #[arg(long, value_name = "FILE")]
    pub existing_policy: Option<PathBuf>,
    /// KMS key that encrypts states and locks (repeatable), besides those that backends name by ARN.
    #[arg(long, value_name = "ARN")]
    pub kms_key: Vec<String>,
    /// Who will put the bucket policy, as `aws sts get-caller-identity` says it: must not be locked out.
    #[arg(long, value_name = "ARN")]
    pub caller: Option<String>,
    /// What every request of the named roles carries (repeatable), such as aws:SourceVpce=vpce-1.
    #[arg(long, value_name = "KEY=VALUE")]
    pub context: Vec<String>,
    /// The buckets are versioned: break-glass may then not delete single versions of a lock.
    #[arg(long)]
    pub versioned: bool,
    /// Whether runs still take the DynamoDB table's lock.
    #[arg(long, value_enum, default_value_t, value_name = "PHASE")]
    pub phase: Phase,
    /// JSON documents, or Terraform data sources.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// Write one file for each document into this directory, instead of all to stdout.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub out_dir: Option<PathBuf>,
    #[command(flatten)]
    pub out: OutArgs,
    #[command(flatten)]
    pub tree: TreeArgs,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// No progress, and nothing said besides errors and what was not read.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Phase {
    /// Both locks: the table's permissions are part of it.
    #[default]
    Dual,
    /// The lockfile alone.
    Final,
}

/// Flags win over the configuration, kind by kind.
pub(super) fn roles(args: &Args, config: &crate::config::Roles) -> Result<Roles, Failure> {
    let pick =
        |flags: &Vec<String>, file: &Vec<String>| if flags.is_empty() { file.clone() } else { flags.clone() };
    let roles = Roles {
        runners: pick(&args.runner, &config.runners),
        plan: pick(&args.plan_role, &config.plan),
        break_glass: pick(&args.break_glass, &config.break_glass),
        state_admin: pick(&args.state_admin, &config.state_admin),
    };
    for (flag, key, arns) in [
        ("--runner", "runners", &roles.runners),
        ("--plan-role", "plan", &roles.plan),
        ("--break-glass", "break_glass", &roles.break_glass),
        ("--state-admin", "state_admin", &roles.state_admin),
    ] {
        if let Some(odd) = arns.iter().find(|arn| !is_arn(arn)) {
            return Err(no_arn(
                flag,
                odd,
                &format!(
                    "a role's is `arn:aws:iam::ACCOUNT:role/NAME`; roles stand in flags, or below `[roles]` (`{key}`) in \
                 lockshift.toml"
                ),
            ));
        }
    }
    if let Some(caller) = args.caller.as_ref().filter(|arn| !is_arn(arn)) {
        return Err(no_arn("--caller", caller, "`aws sts get-caller-identity` says it"));
    }
    if let Some(key) = args.kms_key.iter().find(|arn| !is_arn(arn)) {
        return Err(no_arn("--kms-key", key, "a key's is `arn:aws:kms:REGION:ACCOUNT:key/ID`"));
    }
    let mut missing = Vec::new();
    if roles.runners.is_empty() {
        missing.push("the roles that apply (`--runner ARN`, or `runners`)");
    }
    if roles.state_admin.is_empty() && roles.break_glass.is_empty() {
        missing.push("the role that manages the bucket (`--state-admin ARN`, or `state_admin`)");
    }
    if missing.is_empty() {
        return Ok(roles);
    }
    Err(Failure::new(format!("not named: {}", missing.join("; ")))
        .help("roles stand below `[roles]` in lockshift.toml, or in flags; none is guessed"))
}

/// Whether it has the parts of an ARN; what it names is looked at where it is used.
fn is_arn(text: &str) -> bool {
    text.split(':').count() >= 6 && text.starts_with("arn:")
}

fn no_arn(flag: &str, text: &str, help: &str) -> Failure {
    Failure::new(format!("{flag}: `{text}` is no ARN")).help(help)
}

/// The partition and account that own the buckets.
pub(super) fn owner(args: &Args, roles: &Roles) -> Result<(String, String), Failure> {
    let of = |arn: &String| {
        let mut parts = arn.split(':').skip(1);
        let (partition, account) = (parts.next()?, parts.nth(2)?);
        is_account(account).then(|| (partition.to_owned(), account.to_owned()))
    };
    let guards: BTreeSet<(String, String)> =
        roles.state_admin.iter().chain(&roles.break_glass).filter_map(of).collect();
    let partition = guards.first().map_or("aws", |(partition, _)| partition.as_str()).to_owned();
    if let Some(account) = &args.account {
        if !is_account(account) {
            return Err(Failure::new(format!("--account: `{account}` is no account"))
                .help("an account is twelve digits"));
        }
        return Ok((partition, account.clone()));
    }
    let mut accounts = guards.into_iter();
    match (accounts.next(), accounts.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Failure::new(
            "which account owns the buckets can't be told from the state-admin and break-glass roles",
        )
        .help("say it: `--account 111122223333`")),
    }
}

/// Whether S3 takes it for a bucket's name (S3 user guide, "bucket naming rules"; the old, wider rules). A template's
/// placeholder is none.
pub(super) fn is_bucket(name: &str) -> bool {
    let sound = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
    (3..=255).contains(&name.len()) && name.chars().all(sound)
}

pub(super) fn chosen(
    args: &Args,
    mut found: BTreeMap<String, BucketStates>,
    impossible: &BTreeMap<String, BucketStates>,
) -> Result<BTreeMap<String, BucketStates>, Failure> {
    let names_no_bucket = |names: &str| {
        Failure::new(format!("nothing to write: {names} can't be a bucket's name"))
            .help("correct `bucket` in the backend: `lockshift scan --by bucket` says where it stands")
    };
    if let Some(odd) = args.bucket.iter().find(|bucket| impossible.contains_key(*bucket)) {
        return Err(names_no_bucket(&format!("`{odd}`")));
    }
    if let Some(odd) = args.bucket.iter().find(|bucket| !found.contains_key(*bucket)) {
        return Err(Failure::new(format!("no state here is in bucket `{odd}`"))
            .help("`lockshift scan --by bucket` lists the buckets"));
    }
    if !args.bucket.is_empty() {
        found.retain(|bucket, _| args.bucket.contains(bucket));
    }
    if found.is_empty() && !impossible.is_empty() {
        let names: Vec<String> = impossible.keys().map(|name| format!("`{name}`")).collect();
        return Err(names_no_bucket(&names.join(", ")));
    }
    if found.is_empty() {
        return Err(Failure::new("nothing to write: no state's bucket and key are known here")
            .help("`lockshift scan` says what is not known, and why"));
    }
    // S3 Express knows none of these actions: `s3express:CreateSession` decides there.
    if let Some(directory) = found.keys().find(|bucket| bucket.ends_with("--x-s3")) {
        return Err(Failure::new(format!(
            "`{directory}` is a directory bucket, which has policies of another kind"
        ))
        .help("name the others with `--bucket`"));
    }
    Ok(found)
}

pub(super) fn existing(
    args: &Args,
    chosen: &BTreeMap<String, BucketStates>,
) -> Result<Option<String>, Failure> {
    let Some(file) = &args.existing_policy else { return Ok(None) };
    if chosen.len() > 1 {
        return Err(Failure::new(format!(
            "`--existing-policy` is one bucket's policy; here are {}",
            chosen.len()
        ))
        .help("name the bucket: `--bucket BUCKET`"));
    }
    let bytes = bounded::read_named(file)
        .map_err(|error| Failure::new(format!("could not read {}: {error}", file.display())))?;
    let text = Failure::utf8(file.display(), bytes)?;
    if text.trim().is_empty() {
        return Err(Failure::new(format!("{}: it is empty", file.display()))
            .help("leave `--existing-policy` out where the bucket has no policy"));
    }
    let json = text.trim_start_matches('\u{feff}');
    let no_json = |of: String, json: &str, error: &serde_json::Error| {
        Failure::json(of, json.as_bytes(), "no JSON", error)
            .help("give the policy as `aws s3api get-bucket-policy` prints it")
    };
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| no_json(file.display().to_string(), json, &error))?;
    // The policy is a text inside: places count from its own first line.
    let (of, policy) = match value.get("Policy") {
        None => (file.display().to_string(), value),
        Some(inside) => {
            let of = format!("{} (the text of `Policy`)", file.display());
            let inside = inside.as_str().ok_or_else(|| no_policy(&of, "it is no text"))?;
            let policy = serde_json::from_str(inside).map_err(|error| no_json(of.clone(), inside, &error))?;
            (of, policy)
        }
    };
    // What is no policy at all is a wrong file; what a policy says that can't be kept, a gate refuses.
    if !policy.is_object() {
        return Err(no_policy(&of, "it is no JSON object"));
    }
    if policy.get("Statement").is_none() {
        return Err(no_policy(&of, "it has no `Statement`"));
    }
    Ok(Some(text))
}

fn no_policy(of: &str, why: &str) -> Failure {
    Failure::new(format!("{of}: no bucket policy: {why}"))
        .help("give the policy as `aws s3api get-bucket-policy` prints it")
}

/// A bucket's region says its partition; no policy names principals of another one.
pub(super) fn partitions(chosen: &BTreeMap<String, BucketStates>, partition: &str) -> Result<(), Failure> {
    for (bucket, found) in chosen {
        let odd = found.regions.iter().find(|region| partition_of(region) != partition);
        if let Some(region) = odd {
            let of = partition_of(region);
            let message = format!(
                "bucket `{bucket}` is in region {region} of partition `{of}`, and the roles are of partition `{partition}`"
            );
            return Err(
                Failure::new(message).help(format!("name roles as `arn:{of}:iam::ACCOUNT:role/NAME`"))
            );
        }
    }
    Ok(())
}

pub(super) fn context(args: &Args) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let (key, value) = condition_key(text)?;
        Ok((key.to_owned(), value.to_owned()))
    };
    args.context.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn a_name_that_is_no_bucket_s_is_told_alone_and_when_it_is_asked_for() {
        let said = |found: &[&str], impossible: &[&str], flags: &[&str]| {
            let args = Line::parse_from([&["policy"], flags].concat()).args;
            let named = |names: &[&str]| -> BTreeMap<String, BucketStates> {
                names.iter().map(|name| ((*name).to_owned(), BucketStates::default())).collect()
            };
            let chosen = chosen(&args, named(found), &named(impossible));
            chosen.map(|chosen| chosen.into_keys().collect::<Vec<_>>()).map_err(|failure| {
                let shown = failure.shown(false);
                shown.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
            })
        };
        let refused = |text: &str| Err(text.to_owned());
        assert_eq!(said(&[], &["st"], &[]), refused("nothing to write: `st` can't be a bucket's name"));
        assert_eq!(
            said(&[], &["a", "st"], &[]),
            refused("nothing to write: `a`, `st` can't be a bucket's name")
        );
        assert_eq!(
            said(&["acme"], &["st"], &["--bucket", "st"]),
            refused("nothing to write: `st` can't be a bucket's name")
        );
        assert_eq!(said(&["acme"], &["st"], &[]), Ok(vec!["acme".to_owned()]));
        assert_eq!(
            said(&[], &[], &[]),
            refused("nothing to write: no state's bucket and key are known here")
        );
        assert_eq!(said(&["acme"], &[], &["--bucket", "x"]), refused("no state here is in bucket `x`"));
    }
}
