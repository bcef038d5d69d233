//! The key that encrypts a bucket's locks: who may use it decides who can release what it creates. Read only with
//! `--iam`.
//! Source: `DescribeKey`, `GetKeyPolicy` and `ListGrants` in KMS's API reference.

use serde_json::{Value, json};

use super::failure::Failure;
use super::query::Query;
use crate::audit::snapshot::{KeyGrant, KeySnapshot, Read, Unread};

/// Pages after which something is wrong: a key has at most 50,000 grants.
const MOST_PAGES: usize = 1_000;

/// Reads one key, named by ID, ARN or alias.
pub(super) async fn key(query: &Query<'_>, id: &str) -> (KeySnapshot, Vec<Unread>) {
    let mut key = KeySnapshot { arn: id.to_owned(), ..KeySnapshot::default() };
    let mut unread = Vec::new();
    let mut failed = |failure: &Failure, operation: &str| {
        unread.push(failure.unread(id, operation, false));
        failure.reason.clone()
    };
    match query.json("DescribeKey", &json!({ "KeyId": id })).await.and_then(|answer| arn(&answer)) {
        Ok(arn) => key.arn = arn,
        Err(failure) => {
            let why = failed(&failure, "DescribeKey");
            (key.policy, key.grants) = (Read::Failed(why.clone()), Read::Failed(why));
            return (key, unread);
        }
    }
    let asked = json!({ "KeyId": key.arn, "PolicyName": "default" });
    key.policy = match query.json("GetKeyPolicy", &asked).await.and_then(|answer| text(&answer, "Policy")) {
        Ok(policy) => Read::Known(policy),
        Err(failure) => Read::Failed(failed(&failure, "GetKeyPolicy")),
    };
    key.grants = match grants(query, &key.arn).await {
        Ok(grants) => Read::Known(grants),
        Err(failure) => Read::Failed(failed(&failure, "ListGrants")),
    };
    (key, unread)
}

async fn grants(query: &Query<'_>, key: &str) -> Result<Vec<KeyGrant>, Failure> {
    let mut all = Vec::new();
    let mut marker: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut asked = json!({ "KeyId": key });
        if let (Some(marker), Some(asked)) = (&marker, asked.as_object_mut()) {
            asked.insert("Marker".to_owned(), Value::from(marker.as_str()));
        }
        let answer = query.json("ListGrants", &asked).await?;
        let page = answer.get("Grants").and_then(Value::as_array);
        all.extend(page.into_iter().flatten().map(grant));
        if answer.get("Truncated").and_then(Value::as_bool) != Some(true) {
            return Ok(all);
        }
        let next = text(&answer, "NextMarker")?;
        if marker.as_ref() == Some(&next) {
            return Err(Failure::own("a page names itself as the next one"));
        }
        marker = Some(next);
    }
    Err(Failure::own("the pages never end"))
}

fn grant(found: &Value) -> KeyGrant {
    let operations = found.get("Operations").and_then(Value::as_array);
    let operations = operations.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let constraints = found.get("Constraints").and_then(Value::as_object);
    KeyGrant {
        grantee: found.get("GranteePrincipal").and_then(Value::as_str).unwrap_or_default().to_owned(),
        operations: operations.collect(),
        constrained: constraints.is_some_and(|constraints| !constraints.is_empty()),
    }
}

fn arn(answer: &Value) -> Result<String, Failure> {
    text(answer.get("KeyMetadata").unwrap_or(&Value::Null), "Arn")
}

fn text(answer: &Value, name: &str) -> Result<String, Failure> {
    let text = answer.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| Failure::own(format!("the answer holds no `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_says_who_what_and_whether_it_is_limited() {
        let found = json!({"GranteePrincipal": "arn:aws:iam::1:role/ci", "Operations": ["Decrypt"],
                           "Constraints": {"EncryptionContextSubset": {"aws:s3:arn": "arn:aws:s3:::b"}}});
        let expected = KeyGrant {
            grantee: "arn:aws:iam::1:role/ci".into(),
            operations: vec!["Decrypt".into()],
            constrained: true,
        };
        assert_eq!(grant(&found), expected);
        assert!(!grant(&json!({"Constraints": {}})).constrained);
        assert_eq!(arn(&json!({})).unwrap_err().reason, "the answer holds no `Arn`");
    }
}
