//! Whole configuration files, good and bad.

use super::*;

fn wrong(text: &str) -> String {
    Config::parse("lockshift.toml", text).unwrap_err().to_string()
}

#[test]
fn everything_is_read() {
    let config = Config::parse(
        "lockshift.toml",
        r#"
exclude = ["vendor/**", "**/.cache"]
stale_after = "24h"

[rules.dual-locking]
severity = "off"
reason = "we are half way on purpose"

[rules.no-locking]
severity = "low"
reason = " sandbox only "

[[ignore]]
rule = "dynamodb-only"
path = "envs/old/**"
reason = "goes away in spring"
expires = "2027-03-31"

[[ignore]]
rule = "dynamodb-only"
path = "x.tf"
reason = "a TOML date is as good"
expires = 2027-04-01

[buckets."acme.state"]
profile = "ops"
region = "eu-central-1"
endpoint = "http://127.0.0.1:9000"
dynamodb_endpoint = "http://127.0.0.1:8000"
path_style = true

[roles]
runners = ["arn:aws:iam::123456789012:role/apply"]
plan = ["arn:aws:iam::123456789012:role/plan"]
"#,
    )
    .unwrap();
    assert_eq!(config.exclude, ["vendor/**", "**/.cache"]);
    assert_eq!(config.stale_after, Some(Duration::from_secs(86_400)));
    assert_eq!(
        config.rules.get("dual-locking"),
        Some(&RuleSetting { severity: None, reason: "we are half way on purpose".into() })
    );
    assert_eq!(
        config.rules.get("no-locking"),
        Some(&RuleSetting { severity: Some(Severity::Low), reason: "sandbox only".into() })
    );
    assert_eq!(config.ignores.len(), 2);
    assert_eq!(config.ignores[0].expires, Date::parse("2027-03-31"));
    assert_eq!(config.ignores[0].place.to_string(), "lockshift.toml:14:8");
    assert_eq!(config.ignores[1].expires, Date::parse("2027-04-01"));
    let bucket = &config.buckets["acme.state"];
    assert_eq!((bucket.profile.as_deref(), bucket.role_arn.as_deref()), (Some("ops"), None));
    assert_eq!(bucket.dynamodb_endpoint.as_deref(), Some("http://127.0.0.1:8000"));
    assert_eq!(bucket.path_style, Some(true));
    assert_eq!(config.roles.runners, ["arn:aws:iam::123456789012:role/apply"]);
    assert_eq!(config.roles.break_glass, Vec::<String>::new());
}

#[test]
fn an_unknown_rule_is_shown_with_its_line_and_a_suggestion() {
    assert_eq!(
        wrong("exclude = []\n[rules.dynamo-only]\nseverity = \"off\"\nreason = \"x\"\n"),
        "lockshift.toml:2:8: there is no rule `dynamo-only`\n  2 | [rules.dynamo-only]\n    |        ^\n  help: did you \
         mean `dynamodb-only`?"
    );
    assert!(!wrong("[rules.zzzz]\nseverity = \"off\"\nreason = \"x\"\n").contains("did you mean"));
}

#[test]
fn an_unknown_key_is_an_error_at_its_place() {
    let message = wrong("exlude = []\n");
    assert!(message.starts_with("lockshift.toml:1:1: unknown field `exlude`"), "{message}");
    let message = wrong("[[ignore]]\nrule = \"no-locking\"\npath = \"a\"\nreson = \"b\"\n");
    assert!(message.starts_with("lockshift.toml:4:1: unknown field `reson`"), "{message}");
    let message = wrong("\u{feff}a = [\n");
    assert!(message.starts_with("lockshift.toml:1:"), "{message}");
}

#[test]
fn a_reason_is_required_and_must_say_something() {
    let message = wrong("[rules.no-locking]\nseverity = \"off\"\n");
    assert!(message.starts_with("lockshift.toml:1:8: a reason is missing\n"), "{message}");
    let message = wrong("[[ignore]]\nrule = \"no-locking\"\npath = \"a\"\nreason = \"  \"\n");
    assert!(message.starts_with("lockshift.toml:4:10: the reason is empty\n"), "{message}");
}

#[test]
fn what_was_not_read_cannot_be_switched_off() {
    let message = wrong("[rules.parse-error]\nseverity = \"off\"\nreason = \"x\"\n");
    assert!(message.starts_with("lockshift.toml:1:8: `parse-error` is no judgement"), "{message}");
}

#[test]
fn severities_dates_globs_and_ages_are_checked() {
    for (text, start) in [
        (
            "[rules.no-locking]\nseverity = \"hgih\"\nreason = \"x\"",
            "lockshift.toml:2:12: there is no severity `hgih`",
        ),
        (
            "[[ignore]]\nrule = \"no-locking\"\npath = \"a\"\nreason = \"b\"\nexpires = \"2026-02-30\"",
            "lockshift.toml:5:11: `2026-02-30` is no date",
        ),
        ("exclude = [\"ok\", \"a[\"]", "lockshift.toml:1:18: not a glob: "),
        ("stale_after = \"soon\"", "lockshift.toml:1:15: `soon` is no length of time"),
        ("stale_after = \"99999999999999999999d\"", "lockshift.toml:1:15: `9999"),
    ] {
        let message = wrong(text);
        assert!(message.starts_with(start), "{message}");
    }
    assert_eq!(duration("45m"), Some(Duration::from_secs(2_700)));
    assert_eq!(duration("7 d"), Some(Duration::from_secs(604_800)));
    assert_eq!(duration("h"), None);
    assert_eq!(duration("5"), None);
}

#[test]
fn credentials_are_refused_and_not_shown() {
    let message = wrong("[buckets.a]\nendpoint = \"https://me:hunter2@host\"\n");
    assert!(message.starts_with("lockshift.toml:1:10: the endpoint holds credentials"), "{message}");
    assert!(!message.contains("hunter2"));
    let message = wrong("[buckets.a]\nendpint = \"https://me:hunter2@host\"\n");
    assert!(message.contains("unknown field `endpint`") && !message.contains("hunter2"), "{message}");
}

#[test]
fn an_ignore_needs_a_path_or_a_subject() {
    let message = wrong("[[ignore]]\nrule = \"no-locking\"\nreason = \"b\"\n");
    assert!(
        message.starts_with("lockshift.toml:2:8: this ignore says neither path nor subject\n"),
        "{message}"
    );
    let message = wrong("[[ignore]]\nrule = \"no-locking\"\nsubject = \"s3://[\"\nreason = \"b\"\n");
    assert!(message.starts_with("lockshift.toml:3:11: not a glob: "), "{message}");
    let message = wrong("[buckets.a]\ndynamodb_endpoint = \"https://me:hunter2@host\"\n");
    assert!(message.starts_with("lockshift.toml:1:10: the endpoint holds credentials"), "{message}");
}

#[test]
fn a_subject_is_for_audits_alone() {
    let ignore = |globs: &str| {
        let text = format!("[[ignore]]\nrule = \"no-locking\"\n{globs}\nreason = \"r\"\n");
        Config::parse("lockshift.toml", &text).unwrap().ignores.remove(0)
    };
    let here = Home::default();
    let place = Place { file: "envs/old/main.tf".into(), line: 1, column: 1 };
    let covers = |ignore: &Ignore, subject: &str, place: Option<&Place>| {
        ignore.covers_subject(&here, "no-locking", subject, place)
    };
    let bucket = ignore("subject = \"s3://acme/**\"");
    assert!(covers(&bucket, "s3://acme/a/terraform.tfstate", None));
    assert!(covers(&bucket, "s3://acme", None));
    assert!(!covers(&bucket, "s3://acme-other/a", None));
    assert!(!bucket.covers_subject(&here, "dual-locking", "s3://acme/a", None));
    assert!(!bucket.covers(&here, &finding("envs/old/main.tf", "s3://acme/a")), "no finding of a scan");
    let path = ignore("path = \"envs/old/**\"");
    assert!(covers(&path, "s3://acme/a", Some(&place)));
    assert!(!covers(&path, "s3://acme/a", None));
    let both = ignore("subject = \"s3://acme/*\"\npath = \"envs/old\"");
    assert!(covers(&both, "s3://acme/a", Some(&place)), "a path may name the root module");
    assert!(!covers(&both, "s3://acme/a/b", Some(&place)));
    assert!(!covers(&both, "s3://acme/a", None));
    assert!(bucket.is_for_audit() && both.is_for_audit() && !path.is_for_audit());
    assert_eq!(both.globs(), "envs/old s3://acme/*");
}

fn finding(file: &str, subject: &str) -> Finding {
    Finding {
        rule: "no-locking".into(),
        severity: Severity::High,
        subject: subject.into(),
        place: Place { file: file.into(), line: 1, column: 1 },
        message: String::new(),
        help: None,
        ignored: None,
    }
}

#[test]
fn an_ignore_covers_by_file_or_by_root_module() {
    let text = "[[ignore]]\nrule = \"no-locking\"\npath = \"envs/old/**\"\nreason = \"r\"\nexpires = \"2026-05-01\"\n";
    let config = Config::parse("lockshift.toml", text).unwrap();
    let ignore = &config.ignores[0];
    let here = Home::default();
    assert!(ignore.covers(&here, &finding("envs/old/main.tf", "x")));
    assert!(ignore.covers(&here, &finding("root.hcl", "envs/old")));
    assert!(!ignore.covers(&here, &finding("envs/older/main.tf", "envs/older")));
    assert!(
        !ignore.covers(&here, &Finding { rule: "dynamodb-only".into(), ..finding("envs/old/main.tf", "x") })
    );
    let below = Home::new(Path::new("/r"), Path::new("/r/envs"));
    assert!(ignore.covers(&below, &finding("old/a/main.tf", "old/a")));
    assert!(!ignore.covers(&below, &finding("envs/old/main.tf", "envs/old")));
    assert!(!ignore.is_expired(Date::parse("2026-05-01").unwrap()));
    assert!(ignore.is_expired(Date::parse("2026-05-02").unwrap()));
}

#[test]
fn the_nearest_file_up_to_the_repository_root_is_loaded() {
    let top = tempfile::tempdir().unwrap();
    let repository = top.path().join("repository");
    let deep = repository.join("envs/prod");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(top.path().join(FILE_NAME), "exclude = [\"outside\"]").unwrap();

    // No repository: only the directory itself counts.
    assert!(Config::load(&deep).unwrap().is_none());
    std::fs::create_dir(repository.join(".git")).unwrap();
    assert!(Config::load(&deep).unwrap().is_none(), "the file above the repository must not count");

    std::fs::write(repository.join(FILE_NAME), "exclude = [\"inside\"]").unwrap();
    let config = Config::load(&deep).unwrap().unwrap();
    assert_eq!(config.exclude, ["inside"]);
    let shown = deep.canonicalize().unwrap().join("main.tf");
    assert_eq!(config.home.path(&shown.to_string_lossy()).as_deref(), Some("envs/prod/main.tf"));

    std::fs::write(deep.join(FILE_NAME), "exclude = [\"nearest\"]").unwrap();
    std::fs::write(deep.join("main.tf"), "").unwrap();
    for scanned in [deep.clone(), deep.join("main.tf")] {
        let config = Config::load(&scanned).unwrap().unwrap();
        assert_eq!(config.exclude, ["nearest"]);
        assert_eq!(config.home.path(&shown.to_string_lossy()).as_deref(), Some("main.tf"));
    }

    std::fs::write(deep.join(FILE_NAME), b"\xff").unwrap();
    let error = Config::load(&deep).unwrap_err().to_string();
    assert!(error.contains("lockshift.toml:1:1: not UTF-8\n  1 | "), "{error}");
    std::fs::write(deep.join(FILE_NAME), "nope = 1").unwrap();
    let error = Config::load(&deep).unwrap_err().to_string();
    assert!(error.contains("envs/prod/lockshift.toml:1:1: unknown field"), "{error}");
    assert!(Config::load(&deep.join("gone")).is_err());
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = Config::parse("lockshift.toml", &text).map_err(|error| error.to_string());
    }
}
