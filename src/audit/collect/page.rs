//! One page of a listing, versioned or not, in one form: entries by key, newest first, and where the next page begins.

use aws_sdk_s3::Client;
use aws_sdk_s3::types::{DeleteMarkerEntry, EncodingType, Object, ObjectVersion};

use super::failure::Failure;
use crate::moment::Moment;

/// Which listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// `ListObjectsV2`: what is current.
    Objects,
    /// `ListObjectVersions`: versions and delete markers, too.
    Versions,
}

impl Listing {
    /// The operation's name.
    pub fn operation(self) -> &'static str {
        match self {
            Self::Objects => "ListObjectsV2",
            Self::Versions => "ListObjectVersions",
        }
    }
}

/// An object, a version of one, or a delete marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub key: String,
    /// In a versioned listing; `null` for what was written without versioning.
    pub version: Option<String>,
    /// It is the current one.
    pub latest: bool,
    /// It is a delete marker.
    pub marker: bool,
    pub modified: Moment,
    /// As the server gives it, quotes included.
    pub etag: Option<String>,
    pub size: u64,
}

/// Where a page begins: after this key, or what the server said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub key: Option<String>,
    pub version: Option<String>,
    pub token: Option<String>,
}

impl Cursor {
    /// After every version of a key.
    pub fn after(key: Option<String>) -> Self {
        Self { key, ..Self::default() }
    }
}

/// One page.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub entries: Vec<Entry>,
    /// With a delimiter: what is below it.
    pub prefixes: Vec<String>,
    /// None at the end.
    pub next: Option<Cursor>,
}

/// What a page is asked for.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub bucket: String,
    pub listing: Listing,
    pub prefix: String,
    pub delimiter: Option<&'static str>,
}

/// Asks for one page.
///
/// # Errors
/// What the server said, or a page that claims to go on without saying where, or that begins where it began.
pub(super) async fn page(client: &Client, ask: &Ask, at: &Cursor) -> Result<Page, Failure> {
    let page = match ask.listing {
        Listing::Objects => objects(client, ask, at).await,
        Listing::Versions => versions(client, ask, at).await,
    }?;
    match &page.next {
        Some(next) if next == at => {
            Err(Failure::own("the listing does not end: the page after this marker names the same marker"))
        }
        _ => Ok(page),
    }
}

async fn objects(client: &Client, ask: &Ask, at: &Cursor) -> Result<Page, Failure> {
    let request = client
        .list_objects_v2()
        .bucket(&ask.bucket)
        .set_prefix((!ask.prefix.is_empty()).then(|| ask.prefix.clone()))
        .set_delimiter(ask.delimiter.map(str::to_owned))
        .encoding_type(EncodingType::Url)
        .set_start_after(at.key.clone().filter(|_| at.token.is_none()))
        .set_continuation_token(at.token.clone());
    let answer = request.send().await.map_err(|error| Failure::of(&error))?;
    let encoded = answer.encoding_type() == Some(&EncodingType::Url);
    let next = match (answer.is_truncated(), answer.next_continuation_token()) {
        (Some(true), None | Some("")) => return Err(cut_off()),
        (Some(true), token) => Some(Cursor { token: token.map(str::to_owned), ..Cursor::default() }),
        (Some(false), _) => None,
        (None, _) => return Err(no_end()),
    };
    let prefixes = answer.common_prefixes().iter().filter_map(|prefix| prefix.prefix());
    let prefixes = prefixes.map(|prefix| plain(prefix, encoded)).collect();
    let entries = answer.contents.unwrap_or_default();
    let entries =
        entries.into_iter().map(|object| object_entry(object, encoded)).collect::<Result<_, _>>()?;
    Ok(Page { entries, prefixes, next })
}

async fn versions(client: &Client, ask: &Ask, at: &Cursor) -> Result<Page, Failure> {
    let request = client
        .list_object_versions()
        .bucket(&ask.bucket)
        .set_prefix((!ask.prefix.is_empty()).then(|| ask.prefix.clone()))
        .set_delimiter(ask.delimiter.map(str::to_owned))
        .encoding_type(EncodingType::Url)
        .set_key_marker(at.key.clone())
        .set_version_id_marker(at.version.clone());
    let answer = request.send().await.map_err(|error| Failure::of(&error))?;
    let encoded = answer.encoding_type() == Some(&EncodingType::Url);
    let next = match (answer.is_truncated(), answer.next_key_marker()) {
        (Some(true), None | Some("")) => return Err(cut_off()),
        (Some(true), Some(key)) => Some(Cursor {
            key: Some(plain(key, encoded)),
            version: answer.next_version_id_marker().filter(|id| !id.is_empty()).map(str::to_owned),
            token: None,
        }),
        (Some(false), _) => None,
        (None, _) => return Err(no_end()),
    };
    let prefixes = answer.common_prefixes().iter().filter_map(|prefix| prefix.prefix());
    let prefixes = prefixes.map(|prefix| plain(prefix, encoded)).collect();
    let versions: Vec<Entry> = answer
        .versions
        .unwrap_or_default()
        .into_iter()
        .map(|version| version_entry(version, encoded))
        .collect::<Result<_, _>>()?;
    let markers: Vec<Entry> = answer
        .delete_markers
        .unwrap_or_default()
        .into_iter()
        .map(|marker| marker_entry(marker, encoded))
        .collect::<Result<_, _>>()?;
    Ok(Page { entries: interleave(versions, markers), prefixes, next })
}

fn cut_off() -> Failure {
    Failure::own("the page is cut off: it says that more follows, but not where")
}

/// The reader of XML takes what is there of a document that breaks off: without this it would be the last page.
fn no_end() -> Failure {
    Failure::own("the page is cut off: it does not say whether more follows")
}

fn object_entry(object: Object, encoded: bool) -> Result<Entry, Failure> {
    Ok(Entry {
        key: key(object.key, encoded)?,
        version: None,
        latest: true,
        marker: false,
        modified: moment(object.last_modified)?,
        etag: object.e_tag,
        size: u64::try_from(object.size.unwrap_or_default()).unwrap_or_default(),
    })
}

fn version_entry(version: ObjectVersion, encoded: bool) -> Result<Entry, Failure> {
    Ok(Entry {
        key: key(version.key, encoded)?,
        version: version.version_id,
        latest: version.is_latest.unwrap_or_default(),
        marker: false,
        modified: moment(version.last_modified)?,
        etag: version.e_tag,
        size: u64::try_from(version.size.unwrap_or_default()).unwrap_or_default(),
    })
}

fn marker_entry(marker: DeleteMarkerEntry, encoded: bool) -> Result<Entry, Failure> {
    Ok(Entry {
        key: key(marker.key, encoded)?,
        version: marker.version_id,
        latest: marker.is_latest.unwrap_or_default(),
        marker: true,
        modified: moment(marker.last_modified)?,
        etag: None,
        size: 0,
    })
}

fn key(key: Option<String>, encoded: bool) -> Result<String, Failure> {
    let key = key.ok_or_else(|| Failure::own("the page names an object without a key"))?;
    Ok(if encoded { plain(&key, true) } else { key })
}

fn moment(time: Option<aws_smithy_types::DateTime>) -> Result<Moment, Failure> {
    let millis = time.and_then(|time| time.to_millis().ok());
    millis.map(Moment::from_millis).ok_or_else(|| Failure::own("the page names an object without a time"))
}

/// A key as it is. With `encoding-type=url` the server writes it as a form's value: without that, a control character
/// in one key would make the whole page unreadable XML.
fn plain(text: &str, encoded: bool) -> String {
    if !encoded || !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.first_chunk::<2>().and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%');
        (rest, _) = match byte {
            Some(byte) => (after.get(2..).unwrap_or_default(), bytes.push(byte)),
            None => (after, bytes.push(if *first == b'+' { b' ' } else { *first })),
        };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Versions and delete markers of one page in the order in which the server had them: by key, newest first. A lock
/// is often taken and released within one second, and listings know whole seconds only: on a tie the current one is
/// the newest, and otherwise the two kinds take turns, since only what is there can be deleted.
fn interleave(versions: Vec<Entry>, markers: Vec<Entry>) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::with_capacity(versions.len() + markers.len());
    let (mut versions, mut markers) = (versions.into_iter().peekable(), markers.into_iter().peekable());
    loop {
        let marker_first = match (versions.peek(), markers.peek()) {
            (None, None) => return out,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(version), Some(marker)) => match marker.key.cmp(&version.key) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Greater => false,
                std::cmp::Ordering::Equal if marker.latest || version.latest => marker.latest,
                std::cmp::Ordering::Equal if marker.modified == version.modified => {
                    !out.last().is_some_and(|last| last.key == marker.key && last.marker)
                }
                std::cmp::Ordering::Equal => marker.modified > version.modified,
            },
        };
        out.extend(if marker_first { markers.next() } else { versions.next() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, seconds: i64, marker: bool, latest: bool) -> Entry {
        Entry {
            key: key.to_owned(),
            version: Some(format!("{seconds}{marker}")),
            latest,
            marker,
            modified: Moment::from_seconds(seconds),
            etag: None,
            size: 0,
        }
    }

    #[test]
    fn keys_come_back_from_their_encoded_form() {
        assert_eq!(plain("a%2Fb+c%2Bd", true), "a/b c+d");
        assert_eq!(plain("a%2Fb+c", false), "a%2Fb+c");
        assert_eq!(plain("%01%zz%", true), "\u{1}%zz%");
        assert_eq!(plain("caf%C3%A9", true), "café");
        assert_eq!(plain("%FF", true), "%FF", "no UTF-8 behind it: as it is");
    }

    #[test]
    fn a_second_holds_several_locks_and_their_ends() {
        let order = |versions, markers| -> Vec<String> {
            interleave(versions, markers)
                .iter()
                .map(|entry| {
                    format!(
                        "{}{}{}",
                        entry.key,
                        if entry.marker { "-" } else { "+" },
                        entry.modified.seconds()
                    )
                })
                .collect()
        };
        assert_eq!(
            order(
                vec![entry("a", 7, false, false), entry("a", 7, false, false), entry("b", 1, false, true)],
                vec![entry("a", 7, true, true), entry("a", 7, true, false), entry("c", 2, true, true)],
            ),
            ["a-7", "a+7", "a-7", "a+7", "b+1", "c-2"]
        );
        assert_eq!(
            order(
                vec![entry("a", 7, false, true), entry("a", 7, false, false)],
                vec![entry("a", 7, true, false)]
            ),
            ["a+7", "a-7", "a+7"]
        );
        assert_eq!(
            order(
                vec![entry("a", 9, false, true), entry("a", 5, false, false)],
                vec![entry("a", 6, true, false)]
            ),
            ["a+9", "a-6", "a+5"]
        );
    }
}
