//! Paths inside the scanned tree, as Terragrunt's path functions see them. Text in, text out: the disk is never
//! asked.
//!
//! Terragrunt works with absolute paths; a scan does not know (and must not print) where the checkout lies. So the
//! tree hangs below a made-up absolute root that holds a control character. A value that still holds it in the end
//! depends on where the checkout lies, and is unknown.

pub(super) use crate::repo::shown::clean;

/// The character that marks the made-up root. No path of a repository holds it.
const MARK: char = '\u{1}';

/// The made-up place of paths that were given absolutely, beside the one of the others.
const DISK: &str = "\u{1}disk";

/// The made-up absolute place of the tree.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// Where the walk began.
    base: String,
    /// The repository's root, when the caller knows it.
    repository: Option<String>,
}

impl Root {
    /// `prefix` leads from the repository's root to where the walk began (`""` when they are the same), or is the root of
    /// paths that were given absolutely. Shown paths may begin with `../`: then the base lies as deep as they climb.
    pub(super) fn new<'a>(prefix: Option<&str>, shown: impl Iterator<Item = &'a str>) -> Self {
        let climbs = shown.map(|path| path.split('/').take_while(|part| *part == "..").count()).max();
        let mut base = format!("/{MARK}");
        if let Some(root) = prefix.and_then(|prefix| prefix.strip_prefix('/')) {
            return Self { base, repository: Some(join(&format!("/{DISK}"), root)) };
        }
        let repository = prefix.map(|_| base.clone());
        match prefix {
            Some(prefix) => base = join(&base, prefix),
            None => base.push_str(&format!("/{MARK}").repeat(climbs.unwrap_or(0))),
        }
        Self { base, repository }
    }

    /// The absolute path of a shown one.
    pub(super) fn absolute(&self, shown: &str) -> String {
        match shown.strip_prefix('/') {
            // A path that was given absolutely: where it lies must not decide what a value is.
            Some(rest) => join(&format!("/{DISK}"), rest),
            None => join(&self.base, shown),
        }
    }

    /// The shown path of an absolute one; `None` when it lies outside of the made-up root.
    pub(super) fn shown(&self, absolute: &str) -> Option<String> {
        if let Some(rest) = absolute.strip_prefix('/').and_then(|path| path.strip_prefix(DISK))
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return Some(if rest.is_empty() { "/".to_owned() } else { rest.to_owned() });
        }
        let path = relative(&self.base, absolute);
        (!depends_on_checkout(&path)).then_some(path)
    }

    /// The repository's root.
    pub(super) fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }
}

/// Whether a text holds a part of the made-up root.
pub(super) fn depends_on_checkout(text: &str) -> bool {
    text.contains(MARK)
}

/// `path` seen from `dir`: itself when it is absolute.
pub(super) fn join(dir: &str, path: &str) -> String {
    if path.starts_with('/') { clean(path) } else { clean(&format!("{dir}/{path}")) }
}

/// The directory part, as Go's `filepath.Dir` gives it.
pub(super) fn dirname(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((dir, _)) => clean(dir),
        None => ".".to_owned(),
    }
}

/// The last part, as Go's `filepath.Base` gives it.
pub(super) fn basename(path: &str) -> String {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name).to_owned()
}

/// The way from the directory `from` to `to`, both absolute, as Go's `filepath.Rel` gives it.
pub(super) fn relative(from: &str, to: &str) -> String {
    let (from, to) = (clean(from), clean(to));
    let from: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = to.split('/').filter(|part| !part.is_empty()).collect();
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let parts: Vec<&str> = up.chain(to.into_iter().skip(common)).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, expected) in [
            ("a/../b", "b"),
            ("./a//b/", "a/b"),
            ("../../a", "../../a"),
            ("a/..", "."),
            ("/../a", "/a"),
            ("", "."),
        ] {
            assert_eq!(clean(path), expected, "{path}");
        }
        assert_eq!(join("/a/b", "../c"), "/a/c");
        assert_eq!(join("/a/b", "/c"), "/c");
        assert_eq!(relative("/a/b", "/a/c/d"), "../c/d");
        assert_eq!(relative("/a", "/a"), ".");
        assert_eq!(relative("/a", "/a/b"), "b");
        assert_eq!((dirname("a"), dirname("/a"), dirname("a/b/c")), (".".into(), "/".into(), "a/b".into()));
        assert_eq!((basename("a/b/"), basename("a")), ("b".into(), "a".into()));
    }

    #[test]
    fn shown_paths_come_back() {
        for prefix in [None, Some(""), Some("infra/live")] {
            let root = Root::new(prefix, ["dev/terragrunt.hcl"].into_iter());
            let absolute = root.absolute("dev/terragrunt.hcl");
            assert!(depends_on_checkout(&absolute));
            assert_eq!(root.shown(&absolute).as_deref(), Some("dev/terragrunt.hcl"));
        }
        let climbing = Root::new(None, ["../../x/terragrunt.hcl", "a"].into_iter());
        let absolute = climbing.absolute("../../x/terragrunt.hcl");
        assert_eq!(climbing.shown(&absolute).as_deref(), Some("../../x/terragrunt.hcl"));
        assert_eq!(climbing.repository(), None);
        let absolutely = climbing.absolute("/srv/x/terragrunt.hcl");
        assert!(depends_on_checkout(&absolutely));
        assert_eq!(climbing.shown(&absolutely).as_deref(), Some("/srv/x/terragrunt.hcl"));
        assert_eq!(relative(&climbing.absolute("/srv"), &absolutely), "x/terragrunt.hcl");
        let absolute = Root::new(Some("/srv/x"), ["/srv/x/dev/terragrunt.hcl"].into_iter());
        assert_eq!(absolute.repository().map(|root| absolute.shown(root)), Some(Some("/srv/x".into())));
        assert_eq!(
            absolute.repository().map(|repo| relative(repo, &absolute.absolute("/srv/x/dev"))),
            Some("dev".into())
        );
        let below = Root::new(Some("infra"), std::iter::empty());
        assert_eq!(
            below.repository().map(|repo| relative(repo, &below.absolute("x"))),
            Some("infra/x".into())
        );
    }
}
