//! A sorted list of keys, served as S3 lists it: pages of 1,000, `start-after`, continuation, `prefix`, `delimiter`.

use super::double::{Reply, Request};

/// Objects on a page.
pub const PAGE: usize = 1000;

/// Answers `ListObjectsV2` from sorted keys.
pub fn objects(keys: &[String], request: &Request) -> Reply {
    let prefix = request.parameter("prefix").unwrap_or_default();
    let after = request.parameter("continuation-token").or(request.parameter("start-after"));
    let after = after.unwrap_or_default();
    let delimiter = request.parameter("delimiter").unwrap_or_default();
    let mut at = keys.partition_point(|key| key.as_str() <= after || key.as_str() < prefix);
    let (mut body, mut last, mut shown) = (String::new(), String::new(), 0);
    let truncated = loop {
        let Some(key) = keys.get(at).filter(|key| key.starts_with(prefix)) else { break false };
        if shown == PAGE {
            break true;
        }
        let rest = &key[prefix.len()..];
        match rest.split_once(delimiter).filter(|_| !delimiter.is_empty()) {
            Some((directory, _)) => {
                let common = format!("{prefix}{directory}{delimiter}");
                at = keys.partition_point(|key| *key < common || key.starts_with(&common));
                body.push_str(&format!("<CommonPrefixes><Prefix>{common}</Prefix></CommonPrefixes>"));
                last = format!("{common}\u{10ffff}");
            }
            None => {
                body.push_str(&format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-11-30T11:00:00.000Z</LastModified><ETag>&quot;0123456789abcdef0123456789abcdef&quot;</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                    if key.ends_with(".tflock") { 230 } else { 4096 },
                ));
                last.clone_from(key);
                at += 1;
            }
        }
        shown += 1;
    };
    let next = if truncated {
        format!("<NextContinuationToken>{last}</NextContinuationToken>")
    } else {
        String::new()
    };
    Reply::ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>{truncated}</IsTruncated><KeyCount>{shown}</KeyCount>{body}{next}</ListBucketResult>"
    ))
}

/// A lock document.
pub fn lock_document(id: &str, path: &str) -> String {
    format!(
        r#"{{"ID":"{id}","Operation":"OperationTypeApply","Info":"","Who":"ci@runner","Version":"1.11.4","Created":"2026-11-30T09:00:00Z","Path":"{path}"}}"#
    )
}
