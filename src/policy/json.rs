//! JSON with every member kept: a policy may say an element twice, and a map would drop one of the two without a word.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value. Members keep their order and may repeat.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// As written by `serde_json`: `5`, `1.5`.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A value as a policy's text: booleans and numbers may stand without quotes. None for null, lists and objects.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) | Json::Number(text) => Some(text),
            Json::Bool(true) => Some("true"),
            Json::Bool(false) => Some("false"),
            Json::Null | Json::List(_) | Json::Object(_) => None,
        }
    }

    /// One value or a list of them: policies may write either.
    pub(super) fn items(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            one => std::slice::from_ref(one),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Json;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Number(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Number(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Number(value.to_string()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_string<E>(self, value: String) -> Result<Json, E> {
                Ok(Json::Text(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
                let mut object = Vec::new();
                while let Some(member) = members.next_entry()? {
                    object.push(member);
                }
                Ok(Json::Object(object))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_members_are_both_kept_and_plain_values_are_text() {
        let json: Json = serde_json::from_str(r#"{"a":1,"a":[true,"x",null,1.5]}"#).unwrap();
        let Json::Object(members) = &json else { panic!("{json:?}") };
        assert_eq!(members.len(), 2);
        assert_eq!(members[0].1.items().iter().map(Json::as_text).collect::<Vec<_>>(), [Some("1")]);
        let texts: Vec<_> = members[1].1.items().iter().map(Json::as_text).collect();
        assert_eq!(texts, [Some("true"), Some("x"), None, Some("1.5")]);
    }
}
