//! CODEOWNERS: who owns a path. Text in, owners out; finding the file is the walk's business.
//!
//! Semantics are GitHub's (docs.github.com, "About code owners"): gitignore-like patterns, the last one that matches
//! decides, an entry without owners clears, `!` and `[ ]` do not exist, case matters. GitLab's sections are
//! understood (docs.gitlab.com, "Code Owners"): each decides for itself, with its default owners.

use super::shown::Home;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// GitHub takes no larger file.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;

/// Where the file is looked for, in this order; the first one found counts.
pub const LOCATIONS: &[&str] = &[".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

/// A CODEOWNERS file, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct Owners {
    entries: Vec<Entry>,
    globs: GlobSet,
    /// For each glob in the set, the entry that it belongs to.
    entry_of: Vec<usize>,
    home: Home,
}

#[derive(Debug, Clone)]
struct Entry {
    section: usize,
    owners: Vec<String>,
}

impl Owners {
    /// Reads the text of a CODEOWNERS file. A line that the hosts would pass over is passed over here.
    pub fn parse(text: &str) -> Owners {
        let mut entries = Vec::new();
        let mut entry_of = Vec::new();
        let mut builder = GlobSetBuilder::new();
        let mut sections: Vec<String> = vec![String::new()];
        let mut section = 0;
        let mut defaults: Vec<String> = Vec::new();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.trim();
            if let Some((name, owners)) = section_header(line) {
                // A section that is named twice is one section.
                section = sections.iter().position(|known| *known == name).unwrap_or(sections.len());
                if section == sections.len() {
                    sections.push(name);
                }
                defaults = owners;
                continue;
            }
            let words = words(line);
            let Some((pattern, named)) = words.split_first() else { continue };
            if pattern.starts_with('!') {
                continue;
            }
            let owners: Vec<String> = named.iter().filter(|word| word.contains('@')).cloned().collect();
            // Words that are all no owners make the line invalid; no words at all clear.
            if owners.is_empty() && !named.is_empty() {
                continue;
            }
            let owners = if named.is_empty() { defaults.clone() } else { owners };
            for glob in globs(pattern) {
                let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
                let Ok(glob) = glob else { continue };
                builder.add(glob);
                entry_of.push(entries.len());
            }
            entries.push(Entry { section, owners });
        }
        // Building fails only when the patterns together are too large: then nobody owns anything.
        match builder.build() {
            Ok(globs) => Owners { entries, globs, entry_of, home: Home::default() },
            Err(_) => Owners::default(),
        }
    }

    /// The same, asked by shown paths: `home` knows the repository's root and where the user stands.
    pub fn seen_from(self, home: Home) -> Owners {
        Owners { home, ..self }
    }

    /// Owners of a root module's directory: those of a Terraform file in it, since patterns like `/envs/` and
    /// `*.tf` speak of what is inside.
    pub fn owners_of_dir(&self, dir: &str) -> Vec<String> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        self.owners_of(&format!("{dir}/main.tf"))
    }

    /// Owners of a file, its path relative to the repository's root (or shown, after [`Owners::seen_from`]).
    pub fn owners_of(&self, path: &str) -> Vec<String> {
        let Some(path) = self.home.path(path) else { return Vec::new() };
        let mut last: std::collections::BTreeMap<usize, usize> = std::collections::BTreeMap::new();
        for glob in self.globs.matches(&path) {
            let Some(&index) = self.entry_of.get(glob) else { continue };
            let Some(entry) = self.entries.get(index) else { continue };
            last.entry(entry.section).and_modify(|best| *best = index.max(*best)).or_insert(index);
        }
        let mut owners: Vec<String> = Vec::new();
        for entry in last.values().filter_map(|index| self.entries.get(*index)) {
            for owner in &entry.owners {
                if !owners.contains(owner) {
                    owners.push(owner.clone());
                }
            }
        }
        owners
    }
}

/// `[Name]`, `^[Name][2] @default`: the name in lower case (GitLab ignores its case) and the default owners.
fn section_header(line: &str) -> Option<(String, Vec<String>)> {
    let rest = line.strip_prefix('^').unwrap_or(line).strip_prefix('[')?;
    let (name, rest) = rest.split_once(']')?;
    let owners = words(rest.trim_start_matches(['[', ']', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']));
    Some((name.trim().to_lowercase(), owners.into_iter().filter(|word| word.contains('@')).collect()))
}

/// Words of a line, up to a comment. A backslash keeps the blank after it in the word; the backslash stays, as a
/// glob reads it the same way.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                word.push(letter);
                word.extend(letters.next());
            }
            '#' if word.is_empty() => break,
            blank if blank.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => word.push(other),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A pattern as globs over whole paths: for what it names itself, and for what lies below that.
fn globs(pattern: &str) -> Vec<String> {
    // A slash that is not the last character ties the pattern to the root.
    let is_directory = pattern.ends_with('/');
    let inner = pattern.trim_end_matches('/');
    let anchored = inner.contains('/');
    let inner = escaped(inner.trim_start_matches('/'));
    if inner.is_empty() {
        // A lone `/` names nothing that a file could be.
        return Vec::new();
    }
    let base = if anchored || inner.starts_with("**/") { inner } else { format!("**/{inner}") };
    let below = format!("{base}/**");
    // `docs/*` means files directly in docs and nothing deeper, unlike in a gitignore.
    let only_direct = base.ends_with("/*") || base == "*";
    match (is_directory, only_direct || base.ends_with("**")) {
        (true, _) => vec![below],
        (false, true) => vec![base],
        (false, false) => vec![base, below],
    }
}

/// Characters that are special in a glob and plain in CODEOWNERS.
fn escaped(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                out.push('\\');
                out.push(letters.next().unwrap_or('\\'));
            }
            '[' | ']' | '{' | '}' | '!' => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a pattern owns a path.
    fn owns(pattern: &str, path: &str) -> bool {
        !Owners::parse(&format!("{pattern} @team")).owners_of(path).is_empty()
    }

    #[test]
    fn patterns_mean_what_github_says() {
        for (pattern, path, expected) in [
            ("*", "a/b/main.tf", true),
            ("*.tf", "main.tf", true),
            ("*.tf", "a/b/main.tf", true),
            ("*.tf", "a/b/main.tf.json", false),
            ("/build/logs/", "build/logs/a/b", true),
            ("/build/logs/", "x/build/logs/a", false),
            ("/build/logs/", "build/logs", false),
            ("docs/*", "docs/start.md", true),
            ("docs/*", "docs/build/start.md", false),
            ("docs/*", "x/docs/start.md", false),
            ("/docs/**", "docs/build/start.md", true),
            ("apps/", "x/apps/a/main.tf", true),
            ("apps/", "apps/main.tf", true),
            ("apps", "x/apps/main.tf", true),
            ("apps", "x/apps", true),
            ("apps", "x/myapps/main.tf", false),
            ("/apps", "apps/a/b", true),
            ("/apps", "x/apps/a", false),
            ("apps/web", "apps/web/main.tf", true),
            ("apps/web", "x/apps/web/main.tf", false),
            ("**/logs", "build/logs/a", true),
            ("**/logs", "logs/a", true),
            ("/envs/**/main.tf", "envs/main.tf", true),
            ("/envs/**/main.tf", "envs/a/b/main.tf", true),
            ("/envs/*/main.tf", "envs/a/b/main.tf", false),
            ("/env?/", "envs/main.tf", true),
            ("/env?/", "env/main.tf", false),
            ("/Envs/", "envs/main.tf", false),
            ("/a{b,c}/", "ab/x", false),
            ("/a{b,c}/", "a{b,c}/x", true),
            ("/a\\ b/", "a b/x", true),
            ("/a\\ b/", "a/x", false),
            ("/", "main.tf", false),
            ("!*.tf", "main.tf", false),
        ] {
            assert_eq!(owns(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn the_last_match_wins_and_an_entry_without_owners_clears() {
        let owners = Owners::parse(
            "\u{feff}# all\r\n* @all # everyone\r\n/envs/ @infra ops@example.com\r\n/envs/dev/\r\n/x nobody\r\n",
        );
        assert_eq!(owners.owners_of("README.md"), ["@all"]);
        assert_eq!(owners.owners_of("./envs/prod/main.tf"), ["@infra", "ops@example.com"]);
        assert_eq!(owners.owners_of("envs/dev/main.tf"), [""; 0]);
        // A line without any valid owner is skipped, it does not clear.
        assert_eq!(owners.owners_of("x/main.tf"), ["@all"]);
    }

    #[test]
    fn gitlab_sections_decide_each_for_itself() {
        let owners = Owners::parse(
            "* @all\n[Infra][2] @infra @sre\n/envs/\n/envs/dev/ @dev\n^[Docs]\n*.md @docs\n[infra]\n/envs/x/ @x\n",
        );
        assert_eq!(owners.owners_of("envs/prod/main.tf"), ["@all", "@infra", "@sre"]);
        assert_eq!(owners.owners_of("envs/dev/main.tf"), ["@all", "@dev"]);
        assert_eq!(owners.owners_of("envs/dev/a.md"), ["@all", "@dev", "@docs"]);
        assert_eq!(owners.owners_of("envs/x/main.tf"), ["@all", "@x"]);
    }

    #[test]
    fn directories_and_shown_paths() {
        let owners = Owners::parse("/envs/ @infra\n/mods/*.tf @mods\n");
        assert_eq!(owners.owners_of_dir("envs"), ["@infra"]);
        assert_eq!(owners.owners_of_dir("./mods"), ["@mods"]);
        assert_eq!(owners.owners_of_dir("."), [""; 0]);
        let home = Home::new(std::path::Path::new("/r"), std::path::Path::new("/r/envs"));
        let owners = owners.seen_from(home);
        assert_eq!(owners.owners_of_dir("."), ["@infra"]);
        assert_eq!(owners.owners_of_dir("../mods"), ["@mods"]);
        assert_eq!(owners.owners_of_dir("../../elsewhere"), [""; 0]);
    }

    #[test]
    fn nothing_owns_nothing() {
        assert_eq!(Owners::parse("").owners_of("a"), [""; 0]);
        assert_eq!(Owners::default().owners_of("a"), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\\n\\[\\]{}*?\\\\]{0,120}", path in "[a-z/.]{0,20}") {
            Owners::parse(&text).owners_of(&path);
        }
    }
}
