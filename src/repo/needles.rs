//! Byte strings that are looked for together. One search, by SIMD where the machine has it, prepared once: a search
//! that is prepared anew for every word and file costs more than the looking.

use std::sync::OnceLock;

use aho_corasick::packed::{Config, Searcher};

/// A fixed list of byte strings, none of them empty.
pub struct Needles {
    words: &'static [&'static [u8]],
    searcher: OnceLock<Option<Searcher>>,
}

impl Needles {
    /// Prepared at the first search.
    pub const fn new(words: &'static [&'static [u8]]) -> Self {
        Self { words, searcher: OnceLock::new() }
    }

    /// Whether any of them is among the bytes.
    pub fn any_in(&self, bytes: &[u8]) -> bool {
        self.first_in(bytes).is_some()
    }

    /// The one that stands first among the bytes; any of them where there is no SIMD.
    pub fn first_in(&self, bytes: &[u8]) -> Option<&'static [u8]> {
        match self.searcher.get_or_init(|| Config::new().builder().extend(self.words).build()) {
            Some(searcher) => {
                let found = searcher.find(bytes)?;
                self.words.get(found.pattern().as_usize()).copied()
            }
            // Absent on a machine without SIMD: the answer is the same, later.
            None => self.words.iter().find(|word| memchr::memmem::find(bytes, word).is_some()).copied(),
        }
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
}
