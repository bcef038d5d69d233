//! Which files belong together: components that are written all or nothing, and the groups that become a commit or a
//! pull request each. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::{FileChange, Plan, RootPlan};

/// What root modules are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroupBy {
    /// Everything in one.
    #[default]
    All,
    /// Each root module by itself.
    Root,
    /// By owners (CODEOWNERS).
    Owner,
    /// By state bucket.
    Bucket,
    /// By lock table.
    Table,
}

/// Files that go into one commit. Root modules that share a file are always in the same group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What its members share, for people; empty when everything is in one group.
    pub name: String,
    /// The same, fit for a branch or a file name; unique in the plan.
    pub slug: String,
    /// Root modules, sorted.
    pub roots: Vec<String>,
    /// Indexes into [`Plan::files`], ascending.
    pub files: Vec<usize>,
}

/// Connected components: files that share a root module, directly or through others. Each is written as one, so that
/// no root module is left halfway. Indexes into `files`, ordered by the first.
pub fn components(files: &[FileChange]) -> Vec<Vec<usize>> {
    let mut component: Vec<usize> = (0..files.len()).collect();
    // Follows the links to the component's first file; links always lead to a smaller index, so this ends.
    fn first(component: &[usize], mut at: usize) -> usize {
        while let Some(next) = component.get(at).copied().filter(|next| *next != at) {
            at = next;
        }
        at
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        for root in &file.roots {
            let other = *seen.entry(root).or_insert(index);
            let (a, b) = (first(&component, index), first(&component, other));
            if let Some(slot) = component.get_mut(a.max(b)) {
                *slot = a.min(b);
            }
        }
    }
    let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..files.len() {
        out.entry(first(&component, index)).or_default().push(index);
    }
    out.into_values().collect()
}

/// The groups of a plan, by name.
pub fn groups(plan: &Plan, by: GroupBy) -> Vec<Group> {
    let roots: BTreeMap<&str, &RootPlan> = plan.roots.iter().map(|root| (root.path.as_str(), root)).collect();
    let mut found: BTreeMap<String, (BTreeSet<String>, Vec<usize>)> = BTreeMap::new();
    for component in components(&plan.files) {
        let members: BTreeSet<&str> = component
            .iter()
            .filter_map(|index| plan.files.get(*index))
            .flat_map(|file| &file.roots)
            .map(String::as_str)
            .collect();
        let (known, files) = found.entry(name(by, &members, &roots)).or_default();
        known.extend(members.iter().map(|root| (*root).to_owned()));
        files.extend(component);
    }
    let mut slugs = BTreeSet::new();
    found
        .into_iter()
        .map(|(name, (roots, mut files))| {
            files.sort_unstable();
            let slug = unique(&slug(&name), &mut slugs);
            Group { name, slug, roots: roots.into_iter().collect(), files }
        })
        .collect()
}

fn name(by: GroupBy, members: &BTreeSet<&str>, roots: &BTreeMap<&str, &RootPlan>) -> String {
    let plans = || members.iter().filter_map(|path| roots.get(path).copied());
    let words: BTreeSet<&str> = match by {
        GroupBy::All => return String::new(),
        _ if members.is_empty() => return "readers".to_owned(),
        GroupBy::Root => members.clone(),
        GroupBy::Owner => plans().flat_map(|root| &root.owners).map(String::as_str).collect(),
        GroupBy::Bucket => plans().flat_map(|root| &root.buckets).map(String::as_str).collect(),
        GroupBy::Table => plans().flat_map(|root| &root.tables).map(String::as_str).collect(),
    };
    if words.is_empty() { "(none)".to_owned() } else { words.into_iter().collect::<Vec<_>>().join(", ") }
}

/// Letters, digits and single dashes; long names are cut.
fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= 60 {
            break;
        }
    }
    let out = out.trim_matches('-');
    if out.is_empty() { "all".to_owned() } else { out.to_owned() }
}

fn unique(slug: &str, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = slug.to_owned();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{slug}-{number}");
        number += 1;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::edit::Edits;
    use crate::migrate::phase::Phase;

    fn plan(files: &[(&str, &[&str])], owners: &[(&str, &[&str])]) -> Plan {
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Plan {
            phase: Phase::Dual,
            roots: owners
                .iter()
                .map(|(path, owners)| RootPlan {
                    path: (*path).to_owned(),
                    before: Vec::new(),
                    after: Vec::new(),
                    files: Vec::new(),
                    owners: owned(owners),
                    buckets: Vec::new(),
                    tables: Vec::new(),
                })
                .collect(),
            files: files
                .iter()
                .map(|(file, roots)| FileChange {
                    file: (*file).to_owned(),
                    os_path: (*file).into(),
                    roots: owned(roots),
                    edits: Edits::default(),
                    before: Vec::new(),
                    after: Vec::new(),
                })
                .collect(),
            refusals: Vec::new(),
            manual: Vec::new(),
            waived: Vec::new(),
            unlocked: Vec::new(),
            done: Vec::new(),
        }
    }

    #[test]
    fn files_that_share_a_root_module_are_one_component() {
        let plan = plan(&[("1", &["a"]), ("2", &["b"]), ("3", &["c", "a"]), ("4", &[]), ("5", &["c"])], &[]);
        assert_eq!(components(&plan.files), [vec![0, 2, 4], vec![1], vec![3]]);
    }

    #[test]
    fn groups_follow_owners_and_never_cut_a_component() {
        let plan = plan(
            &[("1", &["a"]), ("2", &["b"]), ("3", &["c", "d"]), ("4", &["e"]), ("r.tf", &[])],
            &[("a", &["@x"]), ("b", &["@x"]), ("c", &["@x"]), ("d", &["@y"]), ("e", &[])],
        );
        let shown: Vec<(String, String, Vec<usize>)> = groups(&plan, GroupBy::Owner)
            .into_iter()
            .map(|group| (group.name, group.slug, group.files))
            .collect();
        assert_eq!(
            shown,
            [
                ("(none)".to_owned(), "none".to_owned(), vec![3]),
                ("@x".to_owned(), "x".to_owned(), vec![0, 1]),
                ("@x, @y".to_owned(), "x-y".to_owned(), vec![2]),
                ("readers".to_owned(), "readers".to_owned(), vec![4]),
            ]
        );
        let all = groups(&plan, GroupBy::All);
        assert_eq!((all.len(), all[0].files.len(), all[0].slug.as_str()), (1, 5, "all"));
    }

    #[test]
    fn slugs_are_plain_and_unique() {
        let mut taken = BTreeSet::new();
        let slugs: Vec<String> =
            ["Env/A b", "env-a.b", "状態"].map(|name| unique(&slug(name), &mut taken)).into();
        assert_eq!(slugs, ["env-a-b", "env-a-b-2", "all"]);
        assert!(slug(&"x/".repeat(100)).len() <= 60);
    }
}
