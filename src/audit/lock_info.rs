//! The LockInfo document: what Terraform and OpenTofu write into a `.tflock` object and into the `Info` attribute of
//! a lock item. Bytes in, [`LockBody`] out; what can't be read is said, never guessed.
//!
//! Source: `internal/states/statemgr/locker.go` of hashicorp/terraform and opentofu/opentofu (the same seven fields).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// No lock document is larger: `Info` is free text, but a real one is 200 to 400 bytes.
pub const MAX_BYTES: usize = 64 * 1024;

/// A lock document that could be read. Texts are as they were written, control characters included: every
/// report cleans what it shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LockInfo {
    /// The lock ID: a UUID that `force-unlock` wants.
    #[serde(rename = "ID")]
    pub id: String,
    /// `OperationTypeApply`, `OperationTypePlan`, …
    #[serde(rename = "Operation", default)]
    pub operation: String,
    /// Free text of the client; empty in practice.
    #[serde(rename = "Info", default)]
    pub info: String,
    /// `user@host`.
    #[serde(rename = "Who", default)]
    pub who: String,
    /// The client's version, such as `1.11.4`.
    #[serde(rename = "Version", default)]
    pub version: String,
    /// When the client made it, by the client's clock, as written.
    #[serde(rename = "Created", default)]
    pub created: String,
    /// `BUCKET/STATE-PATH`, in both stores.
    #[serde(rename = "Path", default)]
    pub path: String,
}

impl LockInfo {
    /// When the client made the lock, by its own clock.
    pub fn created_at(&self) -> Option<Moment> {
        Moment::parse(&self.created)
    }
}

/// What stands where a lock document should stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum LockBody {
    /// A lock document with an ID.
    Lock {
        /// The document.
        lock: LockInfo,
        /// The very text, which a conditional delete in DynamoDB compares with.
        text: String,
    },
    /// Nothing at all: Terraform can neither read nor release it.
    Empty,
    /// No lock document: what is wrong with it. `force-unlock` can't release it.
    Foreign {
        /// Why it is none, without any of its content.
        why: String,
        /// Its text, where it is UTF-8 and no longer than a lock document; for a conditional delete.
        text: Option<String>,
    },
    /// It could not be read: a lock is there, whose is not known.
    Unread {
        /// Why.
        why: String,
    },
}

impl LockBody {
    /// Reads the bytes of a `.tflock` or of an item's `Info`.
    pub fn read(bytes: &[u8]) -> Self {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Self::Empty;
        }
        if bytes.len() > MAX_BYTES {
            return Self::Foreign {
                // How much was read may be less than there is.
                why: format!("more than {MAX_BYTES} bytes: no lock document is so large"),
                text: None,
            };
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Self::Foreign { why: "not UTF-8".to_owned(), text: None };
        };
        let foreign = |why: String| Self::Foreign { why, text: Some(text.to_owned()) };
        match serde_json::from_str::<serde_json::Value>(text) {
            // The position is told, the content is not: it may be anything.
            Err(error) => foreign(format!("not JSON (line {}, column {})", error.line(), error.column())),
            Ok(value) => match serde_json::from_value::<LockInfo>(value) {
                Ok(lock) if lock.id.is_empty() => foreign("a lock document without an ID".to_owned()),
                Ok(lock) => Self::Lock { lock, text: text.to_owned() },
                Err(_) => foreign("JSON, but no lock document".to_owned()),
            },
        }
    }

    /// The document, where there is one.
    pub fn lock(&self) -> Option<&LockInfo> {
        match self {
            Self::Lock { lock, .. } => Some(lock),
            _ => None,
        }
    }

    /// The very text that stands there, where it is known.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Lock { text, .. } => Some(text),
            Self::Foreign { text, .. } => text.as_deref(),
            Self::Empty | Self::Unread { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REAL: &str = r#"{"ID":"fd7c2461-cb87-2db7-062f-a80e23e8cd7e","Operation":"OperationTypeApply","Info":"","Who":"root@vm","Version":"1.11.4","Created":"2026-11-29T23:11:24.136337882Z","Path":"tfstate/t1/terraform.tfstate"}"#;

    #[test]
    fn terraforms_own_document_is_read() {
        let body = LockBody::read(REAL.as_bytes());
        let lock = body.lock().unwrap();
        assert_eq!(lock.id, "fd7c2461-cb87-2db7-062f-a80e23e8cd7e");
        assert_eq!(lock.operation, "OperationTypeApply");
        assert_eq!(lock.who, "root@vm");
        assert_eq!(lock.version, "1.11.4");
        assert_eq!(lock.path, "tfstate/t1/terraform.tfstate");
        assert_eq!(lock.created_at(), Moment::parse("2026-11-29T23:11:24.136Z"));
        assert_eq!(body.text(), Some(REAL));
    }

    #[test]
    fn what_is_no_lock_document_says_why_and_not_what() {
        let why = |bytes: &[u8]| match LockBody::read(bytes) {
            LockBody::Foreign { why, .. } => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(LockBody::read(b""), LockBody::Empty);
        assert_eq!(LockBody::read(b" \n"), LockBody::Empty);
        assert_eq!(why(b"{\"ID\":"), "not JSON (line 1, column 6)");
        assert_eq!(why(b"{\"ID\":\"\"}"), "a lock document without an ID");
        assert_eq!(why(b"{\"ID\":7}"), "JSON, but no lock document");
        assert_eq!(why(b"[1]"), "JSON, but no lock document");
        assert_eq!(why(b"\xff\xfe"), "not UTF-8");
        assert_eq!(why(&vec![b'x'; MAX_BYTES + 1]), "more than 65536 bytes: no lock document is so large");
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = LockBody::read(&bytes);
        }
    }
}
