//! JSON that is looked at but not kept.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Why a text is no JSON object; `None` if it is one.
pub(super) fn refuse_object(text: &str) -> Option<String> {
    match serde_json::from_str(text) {
        Ok(Looked::Object) => None,
        Ok(Looked::Other) => Some("it is another JSON value".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// A value of which nothing is kept. All in it is taken apart as if it were: what passes can be read.
enum Looked {
    Object,
    Other,
}

impl<'de> Deserialize<'de> for Looked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Looked;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Looked, E> {
        Ok(Looked::Other)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Looked, E> {
        Ok(Looked::Other)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Looked, E> {
        Ok(Looked::Other)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Looked, E> {
        Ok(Looked::Other)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Looked, E> {
        Ok(Looked::Other)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Looked, E> {
        Ok(Looked::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Looked, A::Error> {
        while values.next_element::<Looked>()?.is_some() {}
        Ok(Looked::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Looked, A::Error> {
        while members.next_key::<IgnoredAny>()?.is_some() {
            members.next_value::<Looked>()?;
        }
        Ok(Looked::Object)
    }
}
