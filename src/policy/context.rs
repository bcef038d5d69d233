//! What a request carries besides principal, action and resource: condition keys, present, absent or not known.

/// What is known of one condition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// The request has the key with these values; more than one only for multivalued keys. No values at all is how AWS
    /// sees an empty set.
    Values(Vec<String>),
    /// The request does not have the key.
    Absent,
    /// It may or may not have it, with any value.
    NotKnown,
}

/// The condition keys of a request. Key names have no case, as in AWS; values do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Names in lower case.
    entries: Vec<(String, Entry)>,
    /// Families such as `aws:principaltag/` of which nothing is known.
    unknown_prefixes: Vec<String>,
    /// What holds for every other key.
    others: Entry,
}

impl Default for Context {
    fn default() -> Self {
        Context { entries: Vec::new(), unknown_prefixes: Vec::new(), others: Entry::Absent }
    }
}

impl Context {
    /// A request without any key: what is not named is absent.
    #[must_use]
    pub fn new() -> Context {
        Context::default()
    }

    /// A request of which nothing is known: what is not named may be anything.
    #[must_use]
    pub fn of_unknown_origin() -> Context {
        Context { others: Entry::NotKnown, ..Context::default() }
    }

    /// The request has this key with one value.
    #[must_use]
    pub fn with(self, key: &str, value: &str) -> Context {
        self.with_entry(key, Entry::Values(vec![value.to_owned()]))
    }

    /// The request does not have this key.
    #[must_use]
    pub fn without(self, key: &str) -> Context {
        self.with_entry(key, Entry::Absent)
    }

    /// Nothing is known of this key. A name that ends in `*` stands for all keys that begin so:
    /// `aws:PrincipalTag/*`.
    #[must_use]
    pub fn not_known(mut self, key: &str) -> Context {
        if let Some(prefix) = key.strip_suffix('*') {
            self.unknown_prefixes.push(prefix.to_ascii_lowercase());
            return self;
        }
        self.with_entry(key, Entry::NotKnown)
    }

    /// Says what is known of a key; a later word replaces an earlier one.
    #[must_use]
    pub fn with_entry(mut self, key: &str, entry: Entry) -> Context {
        let key = key.to_ascii_lowercase();
        match self.entries.iter_mut().find(|(name, _)| *name == key) {
            Some((_, known)) => *known = entry,
            None => self.entries.push((key, entry)),
        }
        self
    }

    /// What is known of a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> &Entry {
        self.of(&key.to_ascii_lowercase())
    }

    /// [`Context::entry`] of a name that is in lower case already.
    pub(super) fn of(&self, key: &str) -> &Entry {
        if let Some((_, entry)) = self.entries.iter().find(|(name, _)| name == key) {
            return entry;
        }
        if self.unknown_prefixes.iter().any(|prefix| key.starts_with(prefix.as_str())) {
            return &Entry::NotKnown;
        }
        &self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case_and_what_is_not_named_is_what_was_said_of_it() {
        let context = Context::new().with("aws:SourceVpce", "vpce-1").not_known("aws:PrincipalTag/*");
        assert_eq!(context.entry("AWS:sourcevpce"), &Entry::Values(vec!["vpce-1".to_owned()]));
        assert_eq!(context.entry("aws:principaltag/Team"), &Entry::NotKnown);
        assert_eq!(context.entry("aws:SourceIp"), &Entry::Absent);
        let context = Context::of_unknown_origin().without("s3:if-match");
        assert_eq!((context.entry("s3:if-match"), context.entry("x")), (&Entry::Absent, &Entry::NotKnown));
    }
}
