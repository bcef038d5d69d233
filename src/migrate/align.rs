//! Alignment after an edit: the chains that an edit changed stand in columns again, if they did before.
//! Chains that nobody touched, and chains that were not aligned, keep their bytes.

use std::collections::{BTreeMap, BTreeSet};

use super::edit::{Edit, Edits};
use super::fmt_lines::{Cell, Line, Lines, lines};
use crate::repo::text::Span;

/// The two kinds of columns. Assignments come first: moving them moves the comments.
const COLUMNS: [fn(&Line) -> Option<Cell>; 2] = [|line| line.assign, |line| line.comment];

/// Lines that stand next to each other and have the same cell.
type Chain = Vec<Cell>;

/// Where columns are looked for: the whole file, or only the lines of a construct that is embedded in some other
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// The file is HCL: neighbours outside the construct count.
    File,
    /// The construct's own lines.
    Lines(Span),
}

/// What must move because of `edits`, as edits of the text that they make.
///
/// A chain of the new text is set in columns when every chain of the old text that it has lines from was in
/// columns. Source of the rules: see `fmt_lines`.
pub fn realign(original: &[u8], region: Region, edits: &Edits) -> Edits {
    let mut moved = Edits::default();
    if edits.is_empty() {
        return moved;
    }
    let before = region_lines(original, region);
    let spliced = edits.apply(original);
    for column in COLUMNS {
        let all = edits.then(original, &moved);
        let new = moved.apply(&spliced);
        let new_region = match region {
            Region::File => Region::File,
            Region::Lines(span) => Region::Lines(all.map_around(span)),
        };
        let after = region_lines(&new, new_region);
        // Gaps of different lines never meet, so there is no conflict to report.
        if let Ok(moves) = Edits::new(&new, moves(original, &before, &new, &after, &all, column)) {
            moved = moved.then(&spliced, &moves);
        }
    }
    moved
}

fn region_lines(bytes: &[u8], region: Region) -> Lines {
    let span = match region {
        Region::File => Span::new(0, bytes.len()),
        Region::Lines(span) => span,
    };
    lines(bytes, span)
}

fn moves(
    original: &[u8],
    before: &Lines,
    new: &[u8],
    after: &Lines,
    edits: &Edits,
    column: fn(&Line) -> Option<Cell>,
) -> Vec<Edit> {
    let old = chains(before, column);
    let aligned: Vec<bool> = old.iter().map(|chain| is_aligned(original, chain)).collect();
    let chain_of: BTreeMap<usize, usize> = old
        .iter()
        .enumerate()
        .flat_map(|(index, chain)| chain.iter().map(move |cell| (cell.anchor(), index)))
        .collect();
    let mut moves = Vec::new();
    for chain in chains(after, column) {
        let origins: BTreeSet<usize> = chain.iter().filter_map(|cell| edits.origin(cell.anchor())).collect();
        let were_aligned = origins.into_iter().all(|anchor| match chain_of.get(&anchor) {
            Some(index) => aligned.get(*index).copied().unwrap_or(false),
            // It stood in no column (in a one-line block): one space is what it would have had alone.
            None => follows_one_space(original, anchor),
        });
        if were_aligned {
            moves.extend(
                spaced(&chain)
                    .filter(|(gap, wanted)| gap.of(new) != wanted.as_bytes())
                    .map(|(gap, wanted)| Edit::replace(gap, wanted)),
            );
        }
    }
    moves
}

fn chains(lines: &Lines, column: fn(&Line) -> Option<Cell>) -> Vec<Chain> {
    let mut chains = Vec::new();
    let mut open = Chain::new();
    for line in &lines.lines {
        match column(line) {
            Some(cell) => open.push(cell),
            None if open.is_empty() => {}
            None => chains.push(std::mem::take(&mut open)),
        }
    }
    if !open.is_empty() {
        chains.push(open);
    }
    chains
}

/// Each gap of a chain, and the spaces that fmt would put there.
fn spaced(chain: &Chain) -> impl Iterator<Item = (Span, String)> {
    let widest = chain.iter().map(|cell| cell.width).max().unwrap_or(0);
    chain.iter().map(move |cell| (cell.gap, " ".repeat(widest - cell.width + 1)))
}

fn is_aligned(bytes: &[u8], chain: &Chain) -> bool {
    spaced(chain).all(|(gap, wanted)| gap.of(bytes) == wanted.as_bytes())
}

fn follows_one_space(bytes: &[u8], anchor: usize) -> bool {
    let before = bytes.get(..anchor).unwrap_or_default();
    before.ends_with(b" ") && before.trim_ascii_end().len() + 1 == anchor
}

/// How far the file can be read as HCL: whether a construct's neighbours may be trusted.
pub fn readable_to(bytes: &[u8]) -> usize {
    lines(bytes, Span::new(0, bytes.len())).end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, old: &str, new: &str) -> String {
        let start = text.find(old).unwrap();
        let edit = Edit::replace(Span::new(start, start + old.len()), new);
        let edits = Edits::new(text.as_bytes(), vec![edit]).unwrap();
        let moved = realign(text.as_bytes(), Region::File, &edits);
        String::from_utf8(moved.apply(&edits.apply(text.as_bytes()))).unwrap()
    }

    #[test]
    fn a_removed_longest_name_draws_the_others_in() {
        assert_eq!(
            replaced("  a      = 1\n  longer = 22\n  bb     = 3\n\nc  = 1\n", "  longer = 22\n", ""),
            "  a  = 1\n  bb = 3\n\nc  = 1\n"
        );
    }

    #[test]
    fn both_columns_move_and_a_neighbour_outside_follows() {
        assert_eq!(
            replaced(
                "backend \"s3\" {      # c\n  a      = 1        # x\n  longer = 22222222 # y\n  bb     = 3        # z\n}\n",
                "  longer = 22222222 # y\n",
                ""
            ),
            "backend \"s3\" { # c\n  a  = 1       # x\n  bb = 3       # z\n}\n"
        );
    }

    #[test]
    fn a_chain_that_was_not_aligned_keeps_its_bytes() {
        assert_eq!(replaced("a  = 1\nlonger = 2\nbb = 3\n", "longer = 2\n", ""), "a  = 1\nbb = 3\n");
        assert_eq!(replaced("a\t= 1\nlonger = 2\n", "longer = 2\n", ""), "a\t= 1\n");
    }

    #[test]
    fn a_chain_of_new_lines_alone_is_set_in_columns() {
        assert_eq!(replaced("b {}\n", "{}", "{\n  a = 1\n  bcd = 2\n}"), "b {\n  a   = 1\n  bcd = 2\n}\n");
    }

    #[test]
    fn two_chains_that_become_one_are_aligned_only_if_both_were() {
        let joined = replaced("abcdef = 1\n# c\na = 1\n", "# c\n", "");
        assert_eq!(joined, "abcdef = 1\na      = 1\n");
        let apart = replaced("abcdef = 1\n# c\na  = 1\n", "# c\n", "");
        assert_eq!(apart, "abcdef = 1\na  = 1\n");
    }
}
