//! `--open-pr`: hands branches to `gh` or `glab`, the only commands here that reach the network; or says what to run.
//! Titles and bodies were written before.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::git::{GitError, Repository, git, run, run_for};
use super::program::{Whose, output_of};
use crate::shell::word;

/// One pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The branch with the commits.
    pub branch: String,
    /// The title.
    pub title: String,
    /// The file with the body.
    pub body: PathBuf,
}

/// Which program opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forge {
    GitHub,
    GitLab,
}

impl Forge {
    /// By the address that is pushed to; GitHub's where nothing speaks for another one.
    fn of(address: &str) -> Self {
        if address.contains("gitlab") { Forge::GitLab } else { Forge::GitHub }
    }

    fn program(self) -> &'static str {
        match self {
            Forge::GitHub => "gh",
            Forge::GitLab => "glab",
        }
    }

    /// The arguments that open a request. `glab` takes no file, so its shell command reads it.
    fn arguments(self, request: &Request) -> Vec<String> {
        let body = request.body.display().to_string();
        let words: Vec<&str> = match self {
            Forge::GitHub => {
                vec![
                    "pr",
                    "create",
                    "--head",
                    &request.branch,
                    "--title",
                    &request.title,
                    "--body-file",
                    &body,
                ]
            }
            Forge::GitLab => {
                vec!["mr", "create", "--yes", "--source-branch", &request.branch, "--title", &request.title]
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// The commands for people, ready to paste.
    fn commands(self, request: &Request) -> String {
        let words: Vec<String> = self.arguments(request).iter().map(|text| word(text)).collect();
        let description = match self {
            Forge::GitHub => String::new(),
            Forge::GitLab => {
                format!(" --description \"$(cat -- {})\"", word(&request.body.display().to_string()))
            }
        };
        format!(
            "git push -u origin {}\n{} {}{description}\n",
            word(&request.branch),
            self.program(),
            words.join(" ")
        )
    }
}

/// Pushes and opens all requests, when the program for it is there: their addresses, as it printed them. Else the
/// commands to run.
///
/// # Errors
/// Pushing or opening failed; what was opened before stays open.
pub fn open(repository: &Repository, requests: &[Request]) -> Result<String, GitError> {
    let mut remote = repository.reading();
    remote.args(["remote", "get-url", "--push", "origin"]);
    let address = match run(&mut remote, "remote", None) {
        // There is no such remote.
        Err(GitError::Failed { .. }) => Vec::new(),
        address => address?,
    };
    let forge = Forge::of(&String::from_utf8_lossy(&address));
    if !is_there(forge.program()) {
        return Ok(requests.iter().map(|request| forge.commands(request)).collect());
    }
    let mut said = String::new();
    for request in requests {
        let mut push = git(repository.top());
        push.args(["push", "--quiet", "-u", "origin", &format!("refs/heads/{}", request.branch)]);
        run_for(Whose::Users, &mut push, "push", None)?;
        said.push_str(&open_one(repository.top(), forge, request)?);
    }
    Ok(said)
}

fn open_one(top: &Path, forge: Forge, request: &Request) -> Result<String, GitError> {
    let mut command = Command::new(forge.program());
    command.current_dir(top).args(forge.arguments(request));
    if forge == Forge::GitLab {
        let body = std::fs::read_to_string(&request.body).map_err(|error| {
            GitError::Refused(format!("{} could not be read: {error}", request.body.display()))
        })?;
        command.arg("--description").arg(body);
    }
    let output = output_of(&mut command, None, Whose::Users)
        .map_err(|error| GitError::Refused(format!("`{}` did not start: {error}", forge.program())))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(GitError::Refused(format!(
        "`{}` failed: {}",
        forge.program(),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

/// Whether a program is on the search path.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| {
        dir.join(program).is_file()
            || dir.join(format!("{program}{}", std::env::consts::EXE_SUFFIX)).is_file()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_ready_to_paste() {
        let request = Request {
            branch: "lockshift/dual".to_owned(),
            title: "It's $HOME".to_owned(),
            body: "pr dir/all.md".into(),
        };
        assert_eq!(
            Forge::of("git@github.com:a/b").commands(&request),
            "git push -u origin lockshift/dual\ngh pr create --head lockshift/dual --title 'It'\\''s $HOME' \
             --body-file 'pr dir/all.md'\n"
        );
        assert_eq!(
            Forge::of("https://gitlab.example.com/a/b").commands(&request),
            "git push -u origin lockshift/dual\nglab mr create --yes --source-branch lockshift/dual --title \
             'It'\\''s $HOME' --description \"$(cat -- 'pr dir/all.md')\"\n"
        );
    }
}
