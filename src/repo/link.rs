//! Links that a repository may hold. Whoever names a path means what stands there; a link that came with the repository
//! would have it lead elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

/// A link, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where it stands, as part of the path that was asked about.
    pub path: PathBuf,
    /// What it names.
    pub target: PathBuf,
}

/// The first link on the way to a path, the path's own end included, that stands in a repository or below the current
/// directory. Others are the user's own (`/tmp` is one on some systems).
pub fn on_the_way(path: &Path) -> Option<Link> {
    if is_the_system_s(path) {
        return None;
    }
    let parts: Vec<&Path> = path.ancestors().collect();
    parts.into_iter().rev().find_map(|part| {
        let target = fs::read_link(part).ok()?;
        let dir = part.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = fs::canonicalize(dir).ok()?;
        let is_here = fs::canonicalize(".").is_ok_and(|here| dir.starts_with(here));
        let is_a_repository_s = || dir.ancestors().any(|above| above.join(".git").exists());
        (is_here || is_a_repository_s()).then(|| Link { path: part.to_owned(), target })
    })
}

/// Whether a path is one of the system's own by its name. `/dev/stdout` is a link, but no repository's.
pub fn is_the_system_s(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|dir| path.starts_with(dir))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_of_a_repository_are_told_from_others() {
        let outer = tempfile::tempdir().unwrap();
        let repository = outer.path().join("repository");
        fs::create_dir_all(repository.join(".git")).unwrap();
        fs::create_dir(repository.join("a")).unwrap();
        symlink(&repository, outer.path().join("mine")).unwrap();
        symlink("../..", repository.join("a/up")).unwrap();
        symlink("nothing", repository.join("end")).unwrap();
        let found = |name: &str| on_the_way(&outer.path().join(name)).map(|link| (link.path, link.target));
        let link = |name: &str, target: &str| Some((outer.path().join(name), PathBuf::from(target)));
        assert_eq!(found("repository/a/x"), None);
        assert_eq!(found("repository/a/up"), link("repository/a/up", "../.."));
        assert_eq!(found("repository/a/up/x/y"), link("repository/a/up", "../.."));
        assert_eq!(found("repository/a/up/../x"), link("repository/a/up", "../.."));
        assert_eq!(found("repository/end"), link("repository/end", "nothing"));
        // A link of the user's is passed; what stands behind it is the repository's.
        assert_eq!(found("mine/a/x"), None);
        assert_eq!(found("mine/a/up/x"), link("mine/a/up", "../.."));
        assert_eq!(on_the_way(Path::new("/dev/stdout")), None);
    }
}
