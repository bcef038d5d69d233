//! Whether a profile exists: the SDK says of one that does not only that "the credential provider was not enabled".

use std::ffi::OsString;
use std::path::PathBuf;

/// A file of the shared AWS configuration: the variable that names it, where it is otherwise, and what stands before a
/// profile's name in it.
/// Source: "Location of the shared config and credentials files" of the AWS SDKs and Tools Reference Guide.
const FILES: [(&str, &str, &str); 2] =
    [("AWS_CONFIG_FILE", ".aws/config", "profile"), ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", "")];

/// Why a profile can't be used: neither of the files has it. None where it is there, and where a file can't be read:
/// then the SDK says why.
pub(crate) fn missing(profile: &str) -> Option<String> {
    missing_in(profile, |name| std::env::var_os(name))
}

/// The same for the profile that AWS_PROFILE names, where it decides: keys in the environment win over it.
pub(crate) fn missing_from_environment() -> Option<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if set("AWS_ACCESS_KEY_ID").is_some() {
        return None;
    }
    missing(&set("AWS_PROFILE")?).map(|why| format!("{why} (AWS_PROFILE names it)"))
}

fn missing_in(profile: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let home = PathBuf::from(variable("HOME").or_else(|| variable("USERPROFILE"))?);
    let (mut known, mut looked) = (Vec::new(), Vec::new());
    for (name, usual, before) in FILES {
        let named = variable(name).filter(|file| !file.is_empty()).map(PathBuf::from);
        let file = named.unwrap_or_else(|| home.join(usual));
        match std::fs::read_to_string(&file) {
            Ok(text) => known.extend(text.lines().filter_map(|line| section(line, before))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        looked.push(file.display().to_string());
    }
    if known.iter().any(|known| known == profile) {
        return None;
    }
    let short: String = profile.chars().take(64).collect();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = similar::get_close_matches(short.as_str(), &names, 1, 0.6);
    let near = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!("there is no profile `{profile}` in {}{near}", looked.join(" or ")))
}

/// The profile that a line begins: `[profile NAME]` in the one file, `[NAME]` in the other; `[default]` in both.
fn section(line: &str, before: &str) -> Option<String> {
    let inside = line.trim().strip_prefix('[')?.split(']').next()?.trim();
    let name = match inside.strip_prefix(before) {
        _ if inside == "default" => inside,
        Some(rest) if before.is_empty() || rest.starts_with(char::is_whitespace) => rest.trim(),
        _ => return None,
    };
    Some(name.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_looked_for_in_both_files() {
        let dir = tempfile::TempDir::new().unwrap();
        let said = |profile: &str, set: &[(&str, &str)]| {
            missing_in(profile, |name| match name {
                "HOME" => Some(dir.path().into()),
                name => set.iter().find(|(have, _)| *have == name).map(|(_, value)| value.into()),
            })
        };
        let home = dir.path().display();
        assert_eq!(
            said("nope", &[]).unwrap(),
            format!("there is no profile `nope` in {home}/.aws/config or {home}/.aws/credentials")
        );
        std::fs::create_dir(dir.path().join(".aws")).unwrap();
        let config =
            "[default]\n# [profile off]\n[ profile  \"a b\" ] # x\n[sso-session s]\n[profile prod]\n[bare]\n";
        std::fs::write(dir.path().join(".aws/config"), config).unwrap();
        std::fs::write(dir.path().join(".aws/credentials"), "[keys]\naws_access_key_id = x\n").unwrap();
        for there in ["default", "a b", "prod", "keys"] {
            assert_eq!(said(there, &[]), None, "{there}");
        }
        for not in ["off", "s", "bare", "profile prod"] {
            assert!(said(not, &[]).is_some(), "{not}");
        }
        assert!(said("prood", &[]).unwrap().ends_with("; did you mean `prod`?"));
        let elsewhere =
            [("AWS_CONFIG_FILE", "/nonexistent/c"), ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/k")];
        assert_eq!(
            said("prod", &elsewhere).unwrap(),
            "there is no profile `prod` in /nonexistent/c or /nonexistent/k"
        );
        // A file that is there and can't be read: whether it has the profile is not known.
        assert_eq!(said("prod", &[("AWS_CONFIG_FILE", dir.path().to_str().unwrap())]), None);
    }
}
