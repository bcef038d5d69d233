//! Paths with placeholders, matched against the paths that exist. No file is opened and nothing is attributed.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use super::facts::{dir_of, name_of};
use super::syntax::flags::placeholders;

/// What each placeholder stands for in one match.
pub(crate) type Captures = BTreeMap<String, String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Hole(&'a str),
}

/// One segment of a path. Most hold no placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment<'a> {
    Text(&'a str),
    /// Of several pieces, or a placeholder alone.
    Pieces(Vec<Piece<'a>>),
}

impl<'a> Segment<'a> {
    fn new(pieces: &[Piece<'a>]) -> Self {
        match pieces {
            [] => Segment::Text(""),
            [Piece::Text(text)] => Segment::Text(text),
            pieces => Segment::Pieces(pieces.to_vec()),
        }
    }

    fn literal(&self) -> Option<&'a str> {
        match self {
            Segment::Text(text) => Some(text),
            Segment::Pieces(_) => None,
        }
    }

    fn is_up(&self) -> bool {
        matches!(self, Segment::Text(".."))
    }

    fn is_hole(&self) -> bool {
        matches!(self, Segment::Pieces(pieces) if matches!(pieces.as_slice(), [Piece::Hole(_)]))
    }

    /// Whether some of its text tells anything.
    fn is_solid(&self) -> bool {
        let tells = |text: &str| text.contains(|c: char| c.is_alphanumeric());
        match self {
            Segment::Text(text) => tells(text),
            Segment::Pieces(pieces) => {
                pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if tells(text)))
            }
        }
    }

    fn matches(&self, part: &str, captures: &mut Captures) -> Option<()> {
        match self {
            Segment::Text(text) => (*text == part).then_some(()),
            Segment::Pieces(pieces) => match_segment(pieces, part, captures),
        }
    }
}

/// A path as a script writes it: a placeholder stands for a part of one segment; one that is the whole first
/// segment stands for any directories, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern<'a> {
    segments: Vec<Segment<'a>>,
    any_prefix: bool,
    /// Whether it begins at `/`, as paths are shown of a tree that was named so.
    absolute: bool,
}

impl<'a> Pattern<'a> {
    /// Reads a path below `base` (`.` for the top). One that leads above the top begins with `..`, as paths are shown of
    /// files there. `None` when it leads above `/`.
    pub(crate) fn below(base: &'a str, path: &'a str) -> Option<Self> {
        let mut segments: Vec<Segment<'_>> = Vec::with_capacity(8);
        segments.extend(base.split('/').filter(|part| !matches!(*part, "" | ".")).map(Segment::Text));
        let from = segments.len();
        let mut climbs = false;
        for segment in split(path) {
            climbs |= segment.is_up();
            match segment {
                Segment::Text("" | ".") => {}
                Segment::Text("..") if segments.last().is_none_or(Segment::is_up) => {
                    if base.starts_with('/') {
                        return None;
                    }
                    segments.push(segment);
                }
                Segment::Text("..") => {
                    segments.pop();
                }
                segment => segments.push(segment),
            }
        }
        let above = climbs && segments.first().is_some_and(Segment::is_up);
        let leads = !above && segments.get(from).is_some_and(Segment::is_hole);
        let any_prefix = leads && segments.len() > from + 1;
        if any_prefix {
            segments.drain(..=from);
        }
        Some(Self { segments, any_prefix, absolute: base.starts_with('/') })
    }

    /// The same path below any directory. `None` when it leads out of it.
    pub(crate) fn anywhere(path: &'a str) -> Option<Self> {
        let pattern = Self::below(".", path)?;
        let leads_out = pattern.segments.first().is_some_and(Segment::is_up);
        (!leads_out).then_some(Self { any_prefix: true, ..pattern })
    }

    /// Whether nothing but placeholders tells where it leads: it would match anything.
    pub(crate) fn is_open(&self) -> bool {
        let tells = |segment: &Segment<'_>| segment.is_solid() || segment.is_up();
        !self.segments.is_empty() && !self.segments.iter().any(tells)
    }

    /// Number of segments.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// The whole path, where it has no placeholder.
    fn plain(&self) -> Option<String> {
        let mut path = String::with_capacity(64);
        for (number, segment) in self.segments.iter().enumerate() {
            if number > 0 || self.absolute {
                path.push('/');
            }
            path.push_str(segment.literal()?);
        }
        Some(path)
    }

    /// What the placeholders stand for, when `path` matches.
    fn matches(&self, path: &str) -> Option<Captures> {
        // Most paths differ in depth already; telling so costs no allocation.
        let relative = path.strip_prefix('/');
        let depth = relative.unwrap_or(path).bytes().filter(|byte| *byte == b'/').count() + 1;
        if !self.any_prefix && (depth != self.segments.len() || relative.is_some() != self.absolute) {
            return None;
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let skip = parts.len().checked_sub(self.segments.len())?;
        if skip > 0 && !self.any_prefix {
            return None;
        }
        let mut captures = Captures::new();
        for (segment, part) in self.segments.iter().zip(parts.iter().skip(skip)) {
            segment.matches(part, &mut captures)?;
        }
        Some(captures)
    }
}

/// Segments of a path; a slash inside a placeholder does not count.
fn split(path: &str) -> Vec<Segment<'_>> {
    let mut at = 0;
    let mut holes = placeholders(path);
    // Shell globs are placeholders, too.
    let stars: Vec<(usize, usize)> = path
        .match_indices('*')
        .map(|(star, _)| (star, star + 1))
        .filter(|(star, _)| !holes.iter().any(|(start, end)| (*start..*end).contains(star)))
        .collect();
    holes.extend(stars);
    if holes.is_empty() {
        return path.split(['/', '\\']).map(Segment::Text).collect();
    }
    holes.sort_unstable();
    let mut segments = Vec::new();
    let mut pieces = Vec::new();
    for (start, end) in holes.into_iter().chain([(path.len(), path.len())]) {
        let text = path.get(at..start).unwrap_or_default();
        for (index, part) in text.split(['/', '\\']).enumerate() {
            if index > 0 {
                segments.push(Segment::new(&pieces));
                pieces.clear();
            }
            if !part.is_empty() {
                pieces.push(Piece::Text(part));
            }
        }
        if let Some(hole) = path.get(start..end).filter(|hole| !hole.is_empty()) {
            pieces.push(Piece::Hole(hole.trim_matches(|c: char| !c.is_alphanumeric() && c != '*')));
        }
        at = end;
    }
    segments.push(Segment::new(&pieces));
    segments
}

/// Leftmost match of text pieces, with the last one at the end; linear in the segment.
fn match_segment(pieces: &[Piece<'_>], part: &str, captures: &mut Captures) -> Option<()> {
    let mut rest = part;
    let mut hole: Option<&str> = None;
    for (index, piece) in pieces.iter().enumerate() {
        match *piece {
            Piece::Text(text) => match hole.take() {
                None => rest = rest.strip_prefix(text)?,
                Some(name) => {
                    let last = index + 1 == pieces.len();
                    let at = if last { rest.strip_suffix(text)?.len() } else { rest.find(text)? };
                    bind(captures, name, rest.get(..at)?)?;
                    rest = rest.get(at + text.len()..)?;
                }
            },
            Piece::Hole(name) => {
                if let Some(before) = hole.replace(name) {
                    bind(captures, before, "")?;
                }
            }
        }
    }
    match hole {
        Some(name) => bind(captures, name, rest),
        None => rest.is_empty().then_some(()),
    }
}

/// Two placeholders of one name stand for the same text.
fn bind(captures: &mut Captures, name: &str, text: &str) -> Option<()> {
    if name == "*" {
        return Some(());
    }
    match captures.get(name) {
        Some(bound) => (bound == text).then_some(()),
        None => {
            captures.insert(name.to_owned(), text.to_owned());
            Some(())
        }
    }
}

/// Both sets of bindings together; `None` when they disagree.
pub(crate) fn agree(one: &Captures, other: &Captures) -> Option<Captures> {
    let mut all = one.clone();
    for (name, text) in other {
        bind(&mut all, name, text)?;
    }
    Some(all)
}

/// A directory and those around it, as far as shown paths tell: what is above `..` has no name, and the current
/// directory is not around it.
pub(crate) fn above(dir: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(dir), |dir| {
        let is_last = matches!(*dir, "." | "/" | "..") || dir.ends_with("/..");
        (!is_last).then(|| dir_of(dir))
    })
}

/// Paths that exist, found by pattern without looking at each.
pub(crate) struct Index<'a> {
    /// Each path, and the number by which it is known outside.
    sorted: Vec<(&'a str, usize)>,
    /// Where the paths of a name stand in there. Made when it is asked for: plain paths need none.
    by_name: OnceLock<HashMap<&'a str, Vec<usize>>>,
}

impl<'a> Index<'a> {
    pub(crate) fn new(paths: impl Iterator<Item = (&'a str, usize)>) -> Self {
        let mut sorted: Vec<(&str, usize)> = paths.collect();
        sorted.sort_unstable();
        Self { sorted, by_name: OnceLock::new() }
    }

    /// The entry at exactly this path; the last one, where there are several.
    pub(crate) fn get(&self, path: &str) -> Option<usize> {
        let before = self.sorted.partition_point(|(have, _)| *have <= path).checked_sub(1)?;
        self.sorted.get(before).filter(|(have, _)| *have == path).map(|(_, index)| *index)
    }

    fn of_name(&self, name: &str) -> &[usize] {
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
            for (at, (path, _)) in self.sorted.iter().enumerate() {
                by_name.entry(name_of(path)).or_default().push(at);
            }
            by_name
        });
        by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The nearest entry at or above a directory.
    pub(crate) fn nearest(&self, dir: &str) -> Option<usize> {
        above(dir).find_map(|dir| self.get(dir))
    }

    /// Entries at or below a directory.
    pub(crate) fn under<'s>(&'s self, dir: &'s str) -> impl Iterator<Item = usize> + 's {
        self.entries_under(dir).map(|(_, index)| index)
    }

    fn entries_under<'s>(&'s self, dir: &'s str) -> impl Iterator<Item = (&'s str, usize)> + 's {
        let whole = matches!(dir, "." | "");
        let prefix = format!("{dir}/");
        let from = if whole { 0 } else { self.sorted.partition_point(|(path, _)| *path < prefix.as_str()) };
        let itself = if whole { None } else { self.get(dir).map(|index| (dir, index)) };
        let below = self
            .sorted
            .iter()
            .skip(from)
            .take_while(move |(path, _)| whole || path.starts_with(&prefix))
            .copied();
        itself.into_iter().chain(below)
    }

    /// Every entry that matches, with what the placeholders stand for, in order of path.
    pub(crate) fn find(&self, pattern: &Pattern<'_>) -> Vec<(usize, Captures)> {
        let here = |path: &str| self.get(path).map(|index| (index, Captures::new())).into_iter().collect();
        let top = if pattern.absolute { "/" } else { "" };
        if pattern.segments.is_empty() {
            return here(if pattern.absolute { "/" } else { "." });
        }
        let check = |(path, index): (&str, usize)| Some((index, pattern.matches(path)?));
        if let Some(name) = pattern.segments.last().and_then(Segment::literal) {
            if !pattern.any_prefix
                && let Some(path) = pattern.plain()
            {
                return here(&path);
            }
            // A common name (`main`, `backend.hcl`) below a known directory: the directory has fewer entries.
            if pattern.any_prefix {
                let all = self.of_name(name).iter().filter_map(|at| self.sorted.get(*at));
                return all.copied().filter_map(check).collect();
            }
        }
        let prefix: Vec<&str> = if pattern.any_prefix {
            Vec::new()
        } else {
            pattern.segments.iter().map_while(Segment::literal).collect()
        };
        if prefix.is_empty() {
            return self.sorted.iter().copied().filter_map(check).collect();
        }
        self.entries_under(&format!("{top}{}", prefix.join("/"))).filter_map(check).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find(paths: &[&'static str], base: &str, path: &str) -> Vec<&'static str> {
        let index = Index::new(paths.iter().enumerate().map(|(at, path)| (*path, at)));
        index.find(&Pattern::below(base, path).unwrap()).iter().map(|(at, _)| paths[*at]).collect()
    }

    #[test]
    fn placeholders_stand_for_a_part_of_one_segment() {
        let paths = [
            "envs/dev.tfbackend",
            "envs/eu/prod.tfbackend",
            "envs/prod.tfbackend",
            "envs/prod.hcl",
            "x/envs/qa.tfbackend",
        ];
        assert_eq!(find(&paths, ".", "envs/$ENV.tfbackend"), ["envs/dev.tfbackend", "envs/prod.tfbackend"]);
        assert_eq!(find(&paths, "envs", "../envs/${{ matrix.env }}.hcl"), ["envs/prod.hcl"]);
        assert_eq!(find(&paths, ".", "envs/{{env}}/${X}od.tfbackend"), ["envs/eu/prod.tfbackend"]);
        assert_eq!(
            find(&paths, ".", "$ROOT/envs/*.tfbackend"),
            ["envs/dev.tfbackend", "envs/prod.tfbackend", "x/envs/qa.tfbackend"]
        );
        assert_eq!(find(&paths, ".", "envs/prod.hcl"), ["envs/prod.hcl"]);
        assert_eq!(Pattern::below("/a", "../../x"), None);
        assert!(Pattern::below(".", "${DIR}/$FILE").unwrap().is_open());
        assert!(!Pattern::below(".", "$ENV.hcl").unwrap().is_open());
    }

    #[test]
    fn a_tree_that_is_named_absolutely_reads_like_any_other() {
        let paths = ["/r/common.hcl", "/r/envs/dev.hcl", "/r/envs/prod.hcl", "r/common.hcl"];
        assert_eq!(find(&paths, "/r/a", "../common.hcl"), ["/r/common.hcl"]);
        assert_eq!(find(&paths, "/r/a", "../envs/$E.hcl"), ["/r/envs/dev.hcl", "/r/envs/prod.hcl"]);
        assert_eq!(find(&paths, "/", "r/*.hcl"), ["/r/common.hcl"]);
        assert_eq!(find(&paths, ".", "r/common.hcl"), ["r/common.hcl"]);
        assert_eq!(find(&paths, ".", "r/$X.hcl"), ["r/common.hcl"]);
        assert_eq!(find(&paths, "/r", "$ROOT/envs/dev.hcl"), ["/r/envs/dev.hcl"]);
    }

    #[test]
    fn what_lies_above_the_top_is_found_by_its_shown_path() {
        let paths = ["../../c/x.hcl", "../c/x.hcl", "c/x.hcl", "x.hcl"];
        assert_eq!(find(&paths, "r5", "../../c/x.hcl"), ["../c/x.hcl"]);
        assert_eq!(find(&paths, "..", "../c/x.hcl"), ["../../c/x.hcl"]);
        assert_eq!(find(&paths, "../d", "../c/x.hcl"), ["../c/x.hcl"]);
        assert_eq!(find(&paths, "r5", "../../$DIR/x.hcl"), ["../c/x.hcl"]);
        assert_eq!(find(&paths, "r5", "../c/x.hcl"), ["c/x.hcl"]);
        assert_eq!(Pattern::anywhere("../c/x.hcl"), None);
        assert!(!Pattern::below(".", "../$DIR").unwrap().is_open());
    }

    #[test]
    fn one_name_stands_for_one_text() {
        assert_eq!(find(&["d/a/a.hcl", "d/a/b.hcl"], ".", "d/$E/x/../$E.hcl"), ["d/a/a.hcl"]);
        let one = Captures::from([("E".to_owned(), "a".to_owned())]);
        let other = Captures::from([("E".to_owned(), "b".to_owned())]);
        assert_eq!(agree(&one, &other), None);
        assert_eq!(agree(&one, &one), Some(one.clone()));
    }

    #[test]
    fn nearest_and_under() {
        let index = Index::new([("a", 0), ("a/b/c", 1), ("ab", 2)].into_iter());
        assert_eq!(
            (index.nearest("a/b/c/d"), index.nearest("a/b"), index.nearest("x/y")),
            (Some(1), Some(0), None)
        );
        let top = Index::new([(".", 0), ("../a", 1)].into_iter());
        assert_eq!(
            (top.nearest("x/y"), top.nearest("../a/b"), top.nearest("../b"), top.nearest("/b")),
            (Some(0), Some(1), None, None)
        );
        assert_eq!(index.under("a").collect::<Vec<_>>(), [0, 1]);
        assert_eq!(index.under(".").count(), 3);
    }

    proptest! {
        #[test]
        fn any_text(base in "[a./$]{0,12}", path in ".{0,40}", other in "[a-z$/{}*]{0,20}") {
            let index = Index::new([("a/b", 0), (other.as_str(), 1)].into_iter());
            for text in [&path, &other] {
                if let Some(pattern) = Pattern::below(&base, text) {
                    index.find(&pattern);
                }
            }
        }
    }
}
