//! Records as JSON: one object each, as people and command lines read and write them.
//!
//! Bytes are a string where they are UTF-8, else `{"base64": "..."}`; what is null is null. Who writes may give a value as
//! an object or a list, which is read back as the text that it was.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use timestrata_engine::{Error, ErrorKind, Result};

use super::record::Record;

const BASE64: &str = "base64";

/// A record that owns its bytes.
///
/// ```
/// use timestrata_topic::OwnedRecord;
///
/// let json = serde_json::json!({"key": "door", "value": "opened"});
/// let record = OwnedRecord::of_json(&json)?;
/// assert_eq!(record.record().key, Some(&b"door"[..]));
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnedRecord {
    /// See [`Record::key`].
    pub key: Option<Vec<u8>>,
    /// See [`Record::value`].
    pub value: Option<Vec<u8>>,
    /// See [`Record::headers`].
    pub headers: Vec<(String, Vec<u8>)>,
    /// See [`Record::timestamp_ns`].
    pub timestamp_ns: Option<i64>,
}

impl OwnedRecord {
    /// The same, borrowed.
    #[must_use]
    pub fn record(&self) -> Record<'_> {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        Record {
            key: self.key.as_deref(),
            value: self.value.as_deref(),
            headers: headers.collect(),
            timestamp_ns: self.timestamp_ns,
            partition: None,
        }
    }

    /// Of an object with `key`, `value`, `headers` (an object, or pairs) and `timestamp`, each of them
    /// optional. What a record that was read says of its place (`topic`, `partition`, `offset`) is
    /// passed over.
    ///
    /// # Errors
    /// `InvalidData` that says which part is wrong.
    pub fn of_json(value: &Value) -> Result<Self> {
        let parts = value.as_object().ok_or_else(|| wrong("a record", "an object", value))?;
        let mut record = Self::default();
        for (name, part) in parts {
            match name.as_str() {
                "key" => record.key = bytes_of("key", part)?,
                "value" => record.value = bytes_of("value", part)?,
                "headers" => record.headers = headers_of(part)?,
                "timestamp" => record.timestamp_ns = time_of(part)?,
                "topic" | "partition" | "offset" => {}
                other => {
                    let what = format!(
                        "a record has no part {other:?}: it has key, value, headers and timestamp"
                    );
                    return Err(Error::new(ErrorKind::InvalidData, what));
                }
            }
        }
        Ok(record)
    }
}

impl OwnedRecord {
    /// As [`of_json`](Self::of_json), of a text, where `value` may be a JSON object or a list as well: its text as it stands,
    /// without a blank before and behind, is the record's value. An object of `base64` alone is bytes, as ever.
    ///
    /// ```
    /// use timestrata_topic::OwnedRecord;
    ///
    /// let (record, _) = OwnedRecord::of_json_text(r#"{"key": "door", "value": {"state": "open", "n": 1.10}}"#)?;
    /// assert_eq!(record.value.as_deref(), Some(&br#"{"state": "open", "n": 1.10}"#[..]));
    /// # Ok::<(), timestrata_engine::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidData` that says which part is wrong.
    pub fn of_json_text(text: &str) -> Result<(Self, ClaimedPlace)> {
        let no_json = |error: serde_json::Error| {
            Error::new(ErrorKind::InvalidData, format!("no JSON: {error}"))
        };
        let Ok(parts) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
            // Says what it is instead, or where it is no JSON.
            let whole: Value = serde_json::from_str(text).map_err(no_json)?;
            return Err(wrong("a record", "an object", &whole));
        };
        let (mut rest, mut value) = (Map::new(), None);
        for (name, part) in parts {
            let read: Value = serde_json::from_str(part.get()).map_err(no_json)?;
            let is_bytes = read.as_object().is_some_and(|object| {
                object.len() == 1 && object.get(BASE64).is_some_and(Value::is_string)
            });
            match name == "value" && (read.is_object() || read.is_array()) && !is_bytes {
                true => value = Some(part.get().as_bytes().to_vec()),
                false => drop(rest.insert(name, read)),
            }
        }
        let rest = Value::Object(rest);
        let (record, place) = (Self::of_json(&rest)?, ClaimedPlace::of_json(&rest)?);
        Ok((Self { value: value.or(record.value), ..record }, place))
    }
}

/// The place that a record in JSON says it has, as far as it says one.
///
/// ```
/// use timestrata_topic::ClaimedPlace;
///
/// let claimed = ClaimedPlace::of_json(&serde_json::json!({"topic": "events", "offset": 7}))?;
/// assert_eq!((claimed.topic.as_deref(), claimed.partition, claimed.offset), (Some("events"), None, Some(7)));
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimedPlace {
    /// Its topic.
    pub topic: Option<String>,
    /// Its partition.
    pub partition: Option<u32>,
    /// Its offset.
    pub offset: Option<u64>,
}

impl ClaimedPlace {
    /// Of `topic`, `partition` and `offset` of an object, each of them optional.
    ///
    /// # Errors
    /// `InvalidData` that says which part is wrong.
    pub fn of_json(value: &Value) -> Result<Self> {
        let part = |name: &str| value.get(name).filter(|part| !part.is_null());
        let topic = part("topic").map(|topic| {
            topic.as_str().map(str::to_owned).ok_or_else(|| wrong("topic", "a name", topic))
        });
        let number = |name: &str| {
            part(name).map(|number| {
                number.as_u64().ok_or_else(|| wrong(name, "a number from 0 on", number))
            })
        };
        let partition = number("partition").transpose()?.map(|number| {
            let partition = u32::try_from(number);
            partition.map_err(|_| wrong("partition", "a partition's number", &number.into()))
        });
        Ok(Self {
            topic: topic.transpose()?,
            partition: partition.transpose()?,
            offset: number("offset").transpose()?,
        })
    }
}

/// A record in the form that most have in JSON: text, whole nanoseconds, headers as pairs. It is read at once, where
/// [`OwnedRecord::of_json`] takes a tree; what has another form, or is wrong, is an error here, and for that one to read or to tell of.
///
/// ```
/// use timestrata_topic::{OwnedRecord, PlainRecord};
///
/// let plain: PlainRecord = serde_json::from_str(r#"{"key": "door", "value": "opened"}"#)?;
/// let (record, place) = plain.into_parts();
/// assert_eq!(record, OwnedRecord::of_json(&serde_json::json!({"key": "door", "value": "opened"}))?);
/// assert_eq!(place.partition, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PlainRecord(Parts);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    headers: Option<Vec<(String, String)>>,
    #[serde(default)]
    timestamp: Option<i64>,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default)]
    partition: Option<u32>,
    #[serde(default)]
    offset: Option<u64>,
}

impl PlainRecord {
    /// The record, and the place that it says it has.
    #[must_use]
    pub fn into_parts(self) -> (OwnedRecord, ClaimedPlace) {
        let Parts { key, value, headers, timestamp, topic, partition, offset } = self.0;
        let headers = headers.unwrap_or_default().into_iter();
        let record = OwnedRecord {
            key: key.map(String::into_bytes),
            value: value.map(String::into_bytes),
            headers: headers.map(|(name, value)| (name, value.into_bytes())).collect(),
            timestamp_ns: timestamp,
        };
        (record, ClaimedPlace { topic, partition, offset })
    }
}

impl<'de> Deserialize<'de> for PlainRecord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_map(OfObject)
    }
}

/// Takes objects alone, where a derived reader would take a list of the parts too.
struct OfObject;

impl<'de> Visitor<'de> for OfObject {
    type Value = PlainRecord;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a record, as an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, parts: A) -> std::result::Result<PlainRecord, A::Error> {
        Parts::deserialize(MapAccessDeserializer::new(parts)).map(PlainRecord)
    }
}

impl Record<'_> {
    /// As JSON, with its place; the time is nanoseconds since the epoch.
    #[must_use]
    pub fn to_json(&self, topic: &str, partition: u32, offset: u64) -> Value {
        // Text, numbers and lists of them always have a form.
        serde_json::to_value(self.in_json(topic, partition, offset)).unwrap_or_default()
    }

    /// The same, to be written at once.
    pub fn in_json<'a>(
        &'a self,
        topic: &'a str,
        partition: u32,
        offset: u64,
    ) -> impl Serialize + use<'a> {
        let headers = self.headers.iter().map(|(name, value)| (*name, Text(value)));
        RecordInJson {
            headers: headers.collect(),
            key: self.key.map(Text),
            offset,
            partition,
            timestamp: self.timestamp_ns,
            topic,
            value: self.value.map(Text),
        }
    }
}

#[derive(Serialize)]
struct RecordInJson<'a> {
    headers: Vec<(&'a str, Text<'a>)>,
    key: Option<Text<'a>>,
    offset: u64,
    partition: u32,
    timestamp: Option<i64>,
    topic: &'a str,
    value: Option<Text<'a>>,
}

/// Bytes, which are text where they can be.
struct Text<'a>(&'a [u8]);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => to.serialize_str(text),
            Err(_) => to.collect_map([(BASE64, STANDARD.encode(self.0))]),
        }
    }
}

fn wrong(what: &str, expected: &str, found: &Value) -> Error {
    let mut found = found.to_string();
    if let Some((end, _)) = found.char_indices().nth(60) {
        found.truncate(end);
    }
    Error::new(ErrorKind::InvalidData, format!("{what} must be {expected}, not {found}"))
}

fn bytes_of(what: &str, value: &Value) -> Result<Option<Vec<u8>>> {
    let encoded = value.get(BASE64).and_then(Value::as_str);
    match (value, encoded) {
        (Value::Null, _) => Ok(None),
        (Value::String(text), _) => Ok(Some(text.clone().into_bytes())),
        (_, Some(encoded)) => STANDARD
            .decode(encoded)
            .map(Some)
            .map_err(|_| wrong(what, "base64 where it says so", value)),
        _ => Err(wrong(what, "a string, null or {\"base64\": \"...\"}", value)),
    }
}

fn headers_of(value: &Value) -> Result<Vec<(String, Vec<u8>)>> {
    let header = |name: &str, value: &Value| {
        let value = bytes_of("a header's value", value)?;
        Ok((name.to_owned(), value.unwrap_or_default()))
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Object(headers) => headers.iter().map(|(name, value)| header(name, value)).collect(),
        Value::Array(pairs) => pairs
            .iter()
            .map(|pair| match pair.as_array().map(Vec::as_slice) {
                Some([Value::String(name), value]) => header(name, value),
                _ => Err(wrong("a header", "a pair of name and value", pair)),
            })
            .collect(),
        _ => Err(wrong("headers", "an object or a list of pairs", value)),
    }
}

fn time_of(value: &Value) -> Result<Option<i64>> {
    match value {
        Value::Null => Ok(None),
        Value::Number(number) if number.is_i64() => Ok(number.as_i64()),
        Value::String(text) => {
            let unit = arrow_schema::TimeUnit::Nanosecond;
            let kind = arrow_schema::DataType::Timestamp(unit, Some("UTC".into()));
            timestrata_values::time::parse(text, &kind).map(Some)
        }
        _ => Err(wrong("timestamp", "whole nanoseconds since 1970, or a time as text", value)),
    }
}
