//! Byte strings that are looked for together. One search, by SIMD where the machine has it, prepared once: a search
//! that is prepared anew for every word and file costs more than the looking.

use std::sync::OnceLock;

use aho_corasick::packed::{Config, Searcher};
use memchr::memmem::{FindIter, Finder};

/// A fixed list of byte strings, none of them empty.
pub struct Needles {
    words: &'static [&'static [u8]],
    search: OnceLock<Search>,
}

/// How they are looked for.
struct Search {
    /// The longer ones, all at once. Absent where there are none, and on a machine without SIMD.
    together: Option<(Searcher, Vec<&'static [u8]>)>,
    /// The others, one after the other: among the longer ones a short one would make the search for all of them much
    /// slower, because it goes by as many first bytes as the shortest has.
    alone: Vec<(Finder<'static>, &'static [u8])>,
}

/// First bytes that the common search goes by.
const FIRST_BYTES: usize = 4;

impl Search {
    fn new(words: &[&'static [u8]]) -> Self {
        let (long, short): (Vec<&[u8]>, Vec<&[u8]>) =
            words.iter().copied().partition(|word| word.len() >= FIRST_BYTES && words.len() > 1);
        let searcher = Config::new().builder().extend(&long).build();
        let alone = if searcher.is_some() { short } else { words.to_vec() };
        let alone = alone.into_iter().map(|word| (Finder::new(word), word)).collect();
        Self { together: searcher.map(|searcher| (searcher, long)), alone }
    }
}

impl Needles {
    /// Prepared at the first search.
    pub const fn new(words: &'static [&'static [u8]]) -> Self {
        Self { words, search: OnceLock::new() }
    }

    /// Whether any of them is among the bytes.
    pub fn any_in(&self, bytes: &[u8]) -> bool {
        let Search { together, alone } = self.search();
        together.as_ref().is_some_and(|(searcher, _)| searcher.find(bytes).is_some())
            || alone.iter().any(|(finder, _)| finder.find(bytes).is_some())
    }

    /// The one that stands first among the bytes.
    pub fn first_in(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        self.first_at(bytes).map(|(_, word)| word)
    }

    /// The one that stands first among the bytes, and where.
    pub fn first_at(&self, bytes: &[u8]) -> Option<(usize, &'static [u8])> {
        let Search { together, alone } = self.search();
        let mut start = bytes.len();
        let mut first = None;
        if let Some((searcher, words)) = together
            && let Some(found) = searcher.find(bytes)
        {
            start = found.start();
            first = words.get(found.pattern().as_usize()).map(|word| (start, *word));
        }
        for (finder, word) in alone {
            // One that begins further to the left may reach into the one that was found.
            let before = bytes.len().min(start.saturating_add(word.len() - 1));
            if let Some(at) = bytes.get(..before).and_then(|before| finder.find(before)) {
                first = Some((at, *word));
                start = at;
            }
        }
        first
    }

    /// Where they stand, of a list of one.
    pub fn all_of_one<'b>(&'static self, bytes: &'b [u8]) -> impl Iterator<Item = usize> + use<'b> {
        let finder = self.search().alone.first().map(|(finder, _)| finder);
        finder.into_iter().flat_map(|finder| -> FindIter<'b, 'static> { finder.find_iter(bytes) })
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Search::new(self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_found_wherever_it_stands() {
        static WORDS: Needles = Needles::new(&[b"dynamodb", b"tfstate", b"x"]);
        let long = [b".".repeat(300), b"tfstate dynamodb".to_vec()].concat();
        assert_eq!(WORDS.first_in(&long), Some(&b"tfstate"[..]));
        assert_eq!(WORDS.first_in(b"an x"), Some(&b"x"[..]));
        assert_eq!(WORDS.first_in(b""), None);
        assert!(!WORDS.any_in(b"dynamo db"));
    }

    #[test]
    fn long_and_short_ones_are_told_by_where_they_begin() {
        static WORDS: Needles = Needles::new(&[b"aab", b"abcd", b"bcdefg", b"d"]);
        for (text, first) in [
            (&b".. abcdefg"[..], &b"abcd"[..]),
            (b"bcdefg abcd", b"bcdefg"),
            (b"bcd", b"d"),
            (b"aabcd", b"aab"),
            (b"d abcd", b"d"),
            (b"bcdef", b"d"),
        ] {
            assert_eq!(WORDS.first_in(text), Some(first), "{text:?}");
            let at = text.windows(first.len()).position(|part| part == first);
            assert_eq!(WORDS.first_at(text).map(|(at, _)| at), at, "{text:?}");
        }
        assert_eq!(WORDS.first_in(b"abc aa b"), None);
        for (text, there) in [(&b"x abcd"[..], true), (b"x d", true), (b"abc aa b", false), (b"", false)] {
            assert_eq!(WORDS.any_in(text), there, "{text:?}");
        }
    }

    #[test]
    fn one_word_by_itself() {
        static WORD: Needles = Needles::new(&[b"lockshift"]);
        assert_eq!(WORD.first_in(b"a lockshift"), Some(&b"lockshift"[..]));
        assert_eq!(WORD.all_of_one(b"lockshift and lockshift").collect::<Vec<_>>(), [0, 14]);
        assert_eq!(WORD.all_of_one(b"none").count(), 0);
    }
}
