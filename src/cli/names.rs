//! Names of buckets and tables on the command line: what can be none is a usage error, and never asked for.

use crate::audit::expected::{Access, TableRef};

/// A bucket's name, or an access point's ARN. Old buckets have capitals and underscores.
/// Source: "Bucket naming rules" in the S3 user guide.
pub(super) fn bucket(text: &str) -> Result<String, String> {
    if is_name(text) || text.starts_with("arn:") && text.split(':').count() >= 6 {
        return Ok(text.to_owned());
    }
    let bare = text.strip_prefix("s3://").unwrap_or(text);
    match bare.split_once('/') {
        Some((name, "")) if is_name(name) => Err(format!("write the bucket's name alone: {name}")),
        Some((name, rest)) if is_name(name) => {
            Err(format!("write the bucket's name alone: {name}; `--prefix` says which keys: {rest}"))
        }
        None if is_name(bare) => Err(format!("write the bucket's name alone: {bare}")),
        _ => Err("a bucket's name has letters, digits, dots, hyphens and underscores".to_owned()),
    }
}

/// A table's name, or its full ARN.
/// Source: `TableName` and `TableArn` in the API reference of DynamoDB.
pub(super) fn table(text: &str) -> Result<String, String> {
    if !text.contains(':') {
        return match is_name(text) {
            true => Ok(text.to_owned()),
            false => Err("a table's name has letters, digits, dots, hyphens and underscores".to_owned()),
        };
    }
    let parts: Vec<&str> = text.split(':').collect();
    let is_arn = matches!(
        parts.as_slice(),
        ["arn", _, "dynamodb", region, account, resource]
            if !region.is_empty()
                && account.bytes().all(|byte| byte.is_ascii_digit())
                && resource.strip_prefix("table/").is_some_and(is_name)
    );
    // A backend's own parser must agree.
    if is_arn && TableRef::of(text, &Access::default()).account.is_some() {
        return Ok(text.to_owned());
    }
    Err("write a table's name, or its ARN: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME".to_owned())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets() {
        let arn = "arn:aws:s3:eu-west-1:123456789012:accesspoint/states";
        for name in ["acme-tfstate", "acme.states", "Old_Bucket", arn] {
            assert_eq!(bucket(name).as_deref(), Ok(name));
        }
        assert_eq!(bucket("s3://x").unwrap_err(), "write the bucket's name alone: x");
        assert_eq!(bucket("s3://x/").unwrap_err(), "write the bucket's name alone: x");
        let with_key = "write the bucket's name alone: x; `--prefix` says which keys: key/a";
        assert_eq!(bucket("x/key/a").unwrap_err(), with_key);
        assert_eq!(bucket("s3://x/key/a").unwrap_err(), with_key);
        for none in ["", "a b", "arn:aws:s3", "https://x.s3.amazonaws.com"] {
            assert!(bucket(none).is_err(), "{none}");
        }
    }

    #[test]
    fn tables() {
        for name in ["acme-locks", "a.b_c", "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/locks"] {
            assert_eq!(table(name).as_deref(), Ok(name));
        }
        for none in [
            "",
            "a/b",
            "arn:aws:dynamodb:foo",
            "arn:aws:s3:eu-west-1:123456789012:table/locks",
            "arn:aws:dynamodb:eu-west-1:123456789012:locks",
            "arn:aws:dynamodb::123456789012:table/locks",
            "arn:aws:dynamodb:eu-west-1::table/locks",
            "arn:aws:dynamodb:eu-west-1:123456789012:table/locks/index/x",
        ] {
            assert!(table(none).is_err(), "{none}");
        }
    }
}
