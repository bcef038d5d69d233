//! Edits as data: byte ranges and what stands there instead. Sorted, never overlapping, always inside the text.
//! What to edit is decided elsewhere ([`super::source_edits`], [`super::align`]); nothing here knows any syntax.

use crate::repo::text::Span;

/// One splice: the bytes of `span` give way to `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What goes, in the original bytes; empty for an insertion.
    pub span: Span,
    /// What comes; empty for a deletion.
    pub text: Vec<u8>,
}

impl Edit {
    /// Replaces a span.
    pub fn replace(span: Span, text: impl Into<Vec<u8>>) -> Self {
        Self { span, text: text.into() }
    }

    /// Inserts at an offset.
    pub fn insert(at: usize, text: impl Into<Vec<u8>>) -> Self {
        Self::replace(Span::new(at, at), text)
    }

    /// Deletes a span.
    pub fn delete(span: Span) -> Self {
        Self::replace(span, Vec::new())
    }
}

/// Why a list of edits can't be one set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditConflict {
    /// Two edits share bytes, or insert at the same place.
    #[error("two edits meet at byte {0}")]
    Overlap(usize),
    /// An edit reaches past the end of the text.
    #[error("an edit at byte {0} lies outside the text")]
    Outside(usize),
}

/// Edits of one text: sorted, without overlap, without edits that change nothing. There is no other way to have
/// such a set than [`Edits::new`] and what is built from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    edits: Vec<Edit>,
}

impl Edits {
    /// A set of edits of `original`; refused when two overlap or one lies outside. Edits may touch.
    pub fn new(original: &[u8], mut edits: Vec<Edit>) -> Result<Self, EditConflict> {
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mut last: Option<Span> = None;
        for edit in &edits {
            if edit.span.end > original.len() || edit.span.start > edit.span.end {
                return Err(EditConflict::Outside(edit.span.start));
            }
            if last.is_some_and(|last| edit.span.start < last.end || last == edit.span) {
                return Err(EditConflict::Overlap(edit.span.start));
            }
            last = Some(edit.span);
        }
        edits.retain(|edit| edit.span.of(original) != edit.text);
        Ok(Self { edits })
    }

    /// The edits, by position.
    pub fn iter(&self) -> std::slice::Iter<'_, Edit> {
        self.edits.iter()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// How many edits there are.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// The new bytes. `original` must be the bytes that the set was made for.
    pub fn apply(&self, original: &[u8]) -> Vec<u8> {
        let added: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut out = Vec::with_capacity(original.len() + added);
        let mut at = 0;
        for edit in &self.edits {
            out.extend_from_slice(Span::new(at, edit.span.start).of(original));
            out.extend_from_slice(&edit.text);
            at = edit.span.end;
        }
        out.extend_from_slice(Span::new(at, original.len()).of(original));
        out
    }

    /// Where an offset of the original stands afterwards. An offset inside replaced bytes moves to the replacement's
    /// start; one at an insertion stays before it, or goes `behind` it.
    fn map(&self, offset: usize, behind: bool) -> usize {
        let mut grown = 0;
        let mut gone = 0;
        for edit in &self.edits {
            let passed =
                edit.span.end < offset || (edit.span.end == offset && (behind || !edit.span.is_empty()));
            if !passed {
                if edit.span.start < offset {
                    return (edit.span.start + grown).saturating_sub(gone);
                }
                break;
            }
            grown += edit.text.len();
            gone += edit.span.len();
        }
        (offset + grown).saturating_sub(gone)
    }

    /// Where a span stands afterwards when what is inserted at its borders belongs to it (a block's body).
    pub fn map_around(&self, span: Span) -> Span {
        Span::new(self.map(span.start, false), self.map(span.end, true))
    }

    /// Where a span stands afterwards when what is inserted at its borders is none of it (a setting).
    /// Empty when its bytes are gone.
    pub fn map_within(&self, span: Span) -> Span {
        Span::new(self.map(span.start, true), self.map(span.end, false))
    }

    /// The original offset of a byte of the new text; `None` when an edit brought that byte.
    pub fn origin(&self, new_offset: usize) -> Option<usize> {
        let mut grown = 0;
        let mut gone = 0;
        for edit in &self.edits {
            let start = (edit.span.start + grown).saturating_sub(gone);
            if new_offset < start {
                break;
            }
            if new_offset < start + edit.text.len() {
                return None;
            }
            grown += edit.text.len();
            gone += edit.span.len();
        }
        Some((new_offset + gone).saturating_sub(grown))
    }

    /// Where an edit's text begins in the new text.
    pub fn landing(&self, edit: &Edit) -> Option<usize> {
        let index = self.edits.iter().position(|other| other == edit)?;
        self.landed().get(index).map(|span| span.start)
    }

    /// The spans that the edits' texts take in the new text.
    fn landed(&self) -> Vec<Span> {
        let mut grown = 0;
        let mut gone = 0;
        let mut spans = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            let start = (edit.span.start + grown).saturating_sub(gone);
            spans.push(Span::new(start, start + edit.text.len()));
            grown += edit.text.len();
            gone += edit.span.len();
        }
        spans
    }

    /// One set that does what this set and then `next` (a set of edits of the new text) would do.
    pub fn then(&self, original: &[u8], next: &Edits) -> Edits {
        if self.is_empty() {
            return next.clone();
        }
        let middle = self.apply(original);
        // Both sets' spans in the text between them; those that meet become one splice.
        let mut parts: Vec<Span> = self.landed();
        parts.extend(next.edits.iter().map(|edit| edit.span));
        parts.sort();
        let mut groups: Vec<Span> = Vec::new();
        for part in parts {
            match groups.last_mut() {
                Some(group) if part.start <= group.end => group.end = group.end.max(part.end),
                _ => groups.push(part),
            }
        }
        let edits = groups
            .into_iter()
            .map(|group| {
                let inner = next
                    .edits
                    .iter()
                    .filter(|edit| group.contains(edit.span))
                    .map(|edit| {
                        let start = edit.span.start - group.start;
                        Edit::replace(Span::new(start, start + edit.span.len()), edit.text.clone())
                    })
                    .collect();
                let text = Edits { edits: inner }.apply(group.of(&middle));
                Edit::replace(self.unmap(group), text)
            })
            .filter(|edit| edit.span.of(original) != edit.text)
            .collect();
        Edits { edits }
    }

    /// The original span of a span of the new text whose borders cut no edit's text.
    fn unmap(&self, span: Span) -> Span {
        let mut start = span.start;
        let mut end = span.end;
        for (edit, landed) in self.edits.iter().zip(self.landed()) {
            if landed.end < span.start {
                start = (start + edit.span.len()).saturating_sub(edit.text.len());
            }
            if landed.start <= span.end {
                end = (end + edit.span.len()).saturating_sub(edit.text.len());
            }
        }
        Span::new(start, end)
    }
}

impl<'a> IntoIterator for &'a Edits {
    type Item = &'a Edit;
    type IntoIter = std::slice::Iter<'a, Edit>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edits(original: &[u8], list: &[(usize, usize, &str)]) -> Result<Edits, EditConflict> {
        let list =
            list.iter().map(|(start, end, text)| Edit::replace(Span::new(*start, *end), *text)).collect();
        Edits::new(original, list)
    }

    #[test]
    fn overlap_and_outside_are_refused_and_touching_is_not() {
        assert_eq!(edits(b"abcdef", &[(2, 4, ""), (3, 5, "")]), Err(EditConflict::Overlap(3)));
        assert_eq!(edits(b"abcdef", &[(2, 2, "x"), (2, 2, "y")]), Err(EditConflict::Overlap(2)));
        assert_eq!(edits(b"abcdef", &[(5, 7, "")]), Err(EditConflict::Outside(5)));
        let set = edits(b"abcdef", &[(4, 4, "X"), (2, 4, "")]).unwrap();
        assert_eq!(set.apply(b"abcdef"), b"abXef");
    }

    #[test]
    fn an_edit_that_changes_nothing_is_none() {
        assert!(edits(b"abc", &[(0, 1, "a"), (1, 1, "")]).unwrap().is_empty());
    }

    #[test]
    fn spans_move_with_the_text() {
        let set = edits(b"abcdef", &[(1, 2, ""), (4, 4, "XY")]).unwrap();
        assert_eq!(set.apply(b"abcdef"), b"acdXYef");
        assert_eq!(set.map_within(Span::new(2, 4)), Span::new(1, 3));
        assert_eq!(set.map_around(Span::new(2, 4)), Span::new(1, 5));
        assert_eq!(set.map_within(Span::new(4, 6)), Span::new(5, 7));
        assert_eq!(set.map_within(Span::new(1, 2)), Span::new(1, 1));
        assert_eq!(set.origin(0), Some(0));
        assert_eq!(set.origin(2), Some(3));
        assert_eq!(set.origin(3), None);
        assert_eq!(set.origin(5), Some(4));
    }

    fn any_edits(len: usize) -> impl Strategy<Value = Vec<(usize, usize, String)>> {
        proptest::collection::vec((0..=len, 0..6usize, "[xyz]{0,4}"), 0..6).prop_map(move |list| {
            let mut at = 0;
            let mut out = Vec::new();
            let mut list = list;
            list.sort();
            for (start, length, text) in list {
                let start = start.max(at);
                let end = (start + length).min(len);
                if start <= len && (out.is_empty() || start > at) {
                    out.push((start, end, text));
                    at = end;
                }
            }
            out
        })
    }

    proptest! {
        #[test]
        fn bytes_outside_the_spans_stay(
            (text, list) in "[a-e\n]{0,40}".prop_flat_map(|text| { let len = text.len(); (Just(text), any_edits(len)) })
        ) {
            let bytes = text.as_bytes();
            let list: Vec<_> = list.iter().map(|(s, e, t)| (*s, *e, t.as_str())).collect();
            let set = edits(bytes, &list).unwrap();
            let new = set.apply(bytes);
            let kept: Vec<u8> = (0..new.len()).filter(|at| set.origin(*at).is_some()).map(|at| new[at]).collect();
            let outside: Vec<u8> = (0..bytes.len())
                .filter(|at| !set.iter().any(|edit| edit.span.start <= *at && *at < edit.span.end))
                .map(|at| bytes[at]).collect();
            prop_assert_eq!(kept, outside);
            for (at, byte) in new.iter().enumerate() {
                if let Some(origin) = set.origin(at) {
                    prop_assert_eq!(*byte, bytes[origin]);
                }
            }
        }

        #[test]
        fn then_does_what_both_do(
            (text, first) in "[a-e\n]{0,40}".prop_flat_map(|text| { let len = text.len(); (Just(text), any_edits(len)) }),
            second in any_edits(60),
        ) {
            let bytes = text.as_bytes();
            let first: Vec<_> = first.iter().map(|(s, e, t)| (*s, *e, t.as_str())).collect();
            let first = edits(bytes, &first).unwrap();
            let middle = first.apply(bytes);
            let second: Vec<_> = second.iter().map(|(s, e, t)| (*s, *e, t.as_str()))
                .filter(|(_, end, _)| *end <= middle.len()).collect();
            let second = edits(&middle, &second).unwrap();
            let both = first.then(bytes, &second);
            prop_assert_eq!(both.apply(bytes), second.apply(&middle));
            prop_assert_eq!(Edits::new(bytes, both.edits.clone()), Ok(both));
        }
    }
}
