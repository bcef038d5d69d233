//! Yes, no, or not known: Kleene's logic, so that one unknown never hides a certain answer and never makes one.

use std::ops::Not;

/// A truth value. The order is the order of "applies": `No < Unknown < Yes`, so that *and* is the smaller one and *or*
/// the larger one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tri {
    /// Certainly not.
    No,
    /// It depends on something that is not known.
    Unknown,
    /// Certainly.
    Yes,
}

impl Tri {
    /// Both.
    #[must_use]
    pub fn and(self, other: Tri) -> Tri {
        self.min(other)
    }

    /// Either.
    #[must_use]
    pub fn or(self, other: Tri) -> Tri {
        self.max(other)
    }
}

impl Not for Tri {
    type Output = Tri;

    fn not(self) -> Tri {
        match self {
            Tri::No => Tri::Yes,
            Tri::Unknown => Tri::Unknown,
            Tri::Yes => Tri::No,
        }
    }
}

impl From<bool> for Tri {
    fn from(value: bool) -> Tri {
        if value { Tri::Yes } else { Tri::No }
    }
}

#[cfg(test)]
mod tests {
    use super::Tri::{No, Unknown, Yes};

    #[test]
    fn an_unknown_part_decides_nothing_that_a_known_part_decides() {
        assert_eq!((No.and(Unknown), Yes.and(Unknown), Unknown.and(Unknown)), (No, Unknown, Unknown));
        assert_eq!((No.or(Unknown), Yes.or(Unknown), Unknown.or(Unknown)), (Unknown, Yes, Unknown));
        assert_eq!((!No, !Unknown, !Yes), (Yes, Unknown, No));
    }
}
