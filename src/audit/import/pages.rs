//! Pages of a command's output: one JSON document after the other, as `--no-paginate` or `--max-items` leave them.
//! Whether they lead to the end is decided here; what they hold is not.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Export, ImportError};
use crate::repo::excerpt::Excerpt;
use crate::repo::text::{Place, Text};

/// What a page says about a next one. The names of all three commands; each page has those of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct Continuation {
    /// The AWS CLI's own token (`--max-items`).
    next_token: Option<Value>,
    /// S3: there is more.
    is_truncated: Option<bool>,
    /// `ListObjectVersions`: where this page began, and where the next one begins.
    key_marker: Option<String>,
    next_key_marker: Option<String>,
    /// `ListObjectsV2`.
    continuation_token: Option<String>,
    next_continuation_token: Option<String>,
    /// `Scan`.
    last_evaluated_key: Option<Value>,
    /// Folders that were not opened (`--delimiter`).
    common_prefixes: Option<Vec<Value>>,
}

impl Continuation {
    fn continues(&self) -> bool {
        self.next_token.is_some()
            || self.is_truncated == Some(true)
            || self.last_evaluated_key.as_ref().is_some_and(|key| !key.is_null())
    }

    /// Whether `next` begins where this page ends, as far as both say so.
    fn leads_to(&self, next: &Self) -> bool {
        let same =
            |end: &Option<String>, begin: &Option<String>| end.is_none() || begin.is_none() || end == begin;
        same(&self.next_key_marker, &next.key_marker)
            && same(&self.next_continuation_token, &next.continuation_token)
    }
}

/// The documents of one file, in order.
pub fn documents<T: DeserializeOwned>(export: &Export) -> Result<Vec<T>, ImportError> {
    let invalid = |why: String| ImportError::Invalid { file: export.file.clone(), why };
    let bytes = export.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&export.bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(invalid("UTF-16, as PowerShell writes it: save it as UTF-8".to_owned()));
    }
    let documents: Result<Vec<T>, _> = serde_json::Deserializer::from_slice(bytes).into_iter::<T>().collect();
    let documents = documents.map_err(|error| {
        // serde_json's own message may quote from the file; the position is enough.
        let (at, excerpt) = Excerpt::at_byte(Text::new(bytes), error.line(), error.column());
        let why = match error.classify() {
            serde_json::error::Category::Data => "not what the command prints",
            _ => "not JSON",
        };
        ImportError::Invalid {
            file: Place::new(export.file.as_str(), at).to_string(),
            why: format!("{why}\n{excerpt}"),
        }
    })?;
    if documents.is_empty() {
        return Err(invalid("empty: a command that failed leaves such a file, too".to_owned()));
    }
    Ok(documents)
}

/// Why the pages of one file are not all there; none when they are. Each page but the last says that there is more,
/// and the last says nothing of the kind.
pub fn incomplete<'a>(pages: impl Iterator<Item = &'a Continuation>) -> Option<String> {
    let pages: Vec<&Continuation> = pages.collect();
    if pages.iter().any(|page| page.common_prefixes.as_ref().is_some_and(|folders| !folders.is_empty())) {
        return Some("listed with a delimiter: what lies in folders is not in it".to_owned());
    }
    if pages.last().is_some_and(|page| page.continues()) {
        return Some("stops in the middle: its last page says that there is more".to_owned());
    }
    for pair in pages.windows(2) {
        let [page, next] = pair else { continue };
        if page.continues() && !page.leads_to(next) {
            return Some("a page is missing in the middle".to_owned());
        }
    }
    None
}
