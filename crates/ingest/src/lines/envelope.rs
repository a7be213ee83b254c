//! The envelope in which OpenTelemetry's collectors keep logs: a line of JSON with many records, each of which is an entry.
//!
//! ```text
//!   {"resourceLogs": [{"resource": {"attributes": [...]},          of all that is in it
//!                      "scopeLogs": [{"scope": {"name": "app"},
//!                                     "logRecords": [{...}, {...}]}]}]}
//! ```
//!
//! Source: the JSON encoding of OTLP, <https://opentelemetry.io/docs/specs/otlp/>, and its data model for logs.

use std::borrow::Cow;

use jiter::Jiter;
use minicbor::Decoder;
use timestrata_logs::{Level, NewEntry, Scalar};
use timestrata_values::cbor;

use super::json::read_object;
use super::members::Members;
use super::roles::text_of;

/// How such a line begins.
const BEGINNING: &[u8] = b"{\"resourceLogs\":[";
/// In front of what a resource or a scope says under a name that a record has too.
const RESOURCE: &str = "resource";
const SCOPE: &str = "scope";

/// The members of an object, in order: names, and values as CBOR items.
type Pairs<'a> = Vec<(&'a str, &'a [u8])>;

/// Whether a line may be an envelope.
pub(super) fn is_likely(line: &[u8]) -> bool {
    let mut bytes = line.iter().filter(|byte| !byte.is_ascii_whitespace());
    BEGINNING.iter().all(|byte| bytes.next() == Some(byte))
}

/// The records of an envelope, in order; `None` if it is none, or has something that an entry has no place for.
pub(super) fn records(line: &[u8], members: &mut Members) -> Option<Vec<NewEntry>> {
    let mut json = Jiter::new(line);
    read_object(&mut json, members).ok()?;
    json.finish().ok()?;
    if members.repeated().is_some() {
        // Of two values with one name an entry has one.
        return None;
    }
    let mut envelope = members.iter();
    let all = envelope.next().filter(|all| all.name == "resourceLogs")?;
    let mut entries = Vec::new();
    for of_resource in items(all.value)? {
        let of_resource = pairs(of_resource)?;
        let resource = About::of(RESOURCE, &of_resource, "scopeLogs")?;
        for of_scope in items(value_of(&of_resource, "scopeLogs")?)? {
            let of_scope = pairs(of_scope)?;
            let scope = About::of(SCOPE, &of_scope, "logRecords")?;
            for record in items(value_of(&of_scope, "logRecords")?)? {
                entries.push(entry_of(&pairs(record)?, &[&scope, &resource])?);
            }
        }
    }
    (envelope.next().is_none() && !entries.is_empty()).then_some(entries)
}

/// What a resource or a scope says of all records in it.
struct About {
    kind: &'static str,
    /// Names, and values as CBOR items.
    fields: Vec<(String, Vec<u8>)>,
}

impl About {
    /// Of an object that has it, beside the list `of`.
    fn of(kind: &'static str, object: &Pairs<'_>, of: &str) -> Option<Self> {
        let mut fields = Vec::new();
        for (name, value) in object {
            match *name {
                name if name == kind => {
                    for (name, value) in pairs(value)? {
                        match (name, kind) {
                            ("attributes", _) => fields.extend(attributes(value)?),
                            // Which logger it was.
                            ("name", SCOPE) => fields.push((SCOPE.to_owned(), value.to_vec())),
                            _ => fields.push((said_by(kind, name), value.to_vec())),
                        }
                    }
                }
                name if name == of => {}
                "schemaUrl" => fields.push((said_by(kind, name), value.to_vec())),
                _ => return None,
            }
        }
        fields.retain(|(_, value)| !says_nothing(value));
        Some(Self { kind, fields })
    }

    fn add_to(&self, entry: &mut NewEntry) {
        for (name, value) in &self.fields {
            let name = match entry.fields.get(name) {
                None => Cow::Borrowed(name),
                Some(_) => Cow::Owned(said_by(self.kind, name)),
            };
            entry.fields.item(&name, |out| out.extend_from_slice(value));
        }
    }
}

fn said_by(kind: &str, name: &str) -> String {
    format!("{kind}.{}", snake_case(name))
}

fn entry_of(record: &Pairs<'_>, abouts: &[&About]) -> Option<NewEntry> {
    let mut entry = NewEntry::default();
    let is_zero = |item: &[u8]| whole(item) == Some(0);
    let time = |name: &str| whole(value_of(record, name).filter(|item| !is_zero(item))?);
    let (own, observed) = (time("timeUnixNano"), time("observedTimeUnixNano"));
    entry.source_time = own.or(observed);
    let number = value_of(record, "severityNumber").and_then(whole);
    let text = value_of(record, "severityText").and_then(text_of);
    let by_name = || Level::of_name(text?.as_bytes());
    entry.level = number.and_then(level_of).or_else(by_name);
    for (name, value) in record.iter().filter(|(_, value)| !says_nothing(value)) {
        let name = match *name {
            "body" => {
                add_body(value, &mut entry)?;
                continue;
            }
            "attributes" => {
                for (name, value) in attributes(value)? {
                    entry.fields.item(&name, |out| out.extend_from_slice(&value));
                }
                continue;
            }
            "timeUnixNano" | "observedTimeUnixNano" if is_zero(value) => continue,
            "timeUnixNano" if own.is_some() => continue,
            "observedTimeUnixNano" if own.is_none() && observed.is_some() => continue,
            name => snake_case(name),
        };
        // An attribute of this name, which came before, stays.
        let name = match entry.fields.get(&name) {
            None => name,
            Some(_) => Cow::Owned(said_by("record", &name)),
        };
        entry.fields.item(&name, |out| out.extend_from_slice(value));
    }
    abouts.iter().for_each(|about| about.add_to(&mut entry));
    Some(entry)
}

/// A text is the message; of anything else what it says as such, and all of it is a field.
fn add_body(value: &[u8], entry: &mut NewEntry) -> Option<()> {
    let mut body = Vec::new();
    plain_value(value, &mut body)?;
    if let Some(text) = text_of(&body) {
        text.clone_into(&mut entry.message);
        return Some(());
    }
    let said = ["message", "msg"].iter().find_map(|name| text_of(cbor::member(&body, name)?));
    said.unwrap_or_default().clone_into(&mut entry.message);
    entry.fields.item("body", |out| out.extend_from_slice(&body));
    Some(())
}

/// Names and values of attributes.
fn attributes(item: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let one = |item: &[u8]| {
        let attribute = pairs(item)?;
        let mut value = Vec::new();
        match value_of(&attribute, "value") {
            Some(item) => plain_value(item, &mut value)?,
            None => cbor::null(&mut value),
        }
        Some((text_of(value_of(&attribute, "key")?)?.to_owned(), value))
    };
    items(item)?.into_iter().map(one).collect()
}

/// Appends what an `AnyValue` says: `{"intValue": "7"}` is 7.
fn plain_value(item: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let Some((kind, value)) = pairs(item)?.pop() else {
        cbor::null(out);
        return Some(());
    };
    match kind {
        "intValue" if is_whole_text(value) => cbor::int(out, whole(value)?),
        "stringValue" | "boolValue" | "intValue" | "doubleValue" | "bytesValue" => {
            out.extend_from_slice(value);
        }
        "arrayValue" => {
            let values = value_of(&pairs(value)?, "values").map_or(Some(Vec::new()), items)?;
            cbor::head(out, cbor::LIST, values.len() as u64);
            for value in values {
                plain_value(value, out)?;
            }
        }
        "kvlistValue" => {
            let values = value_of(&pairs(value)?, "values");
            let values = values.map_or(Some(Vec::new()), attributes)?;
            cbor::head(out, cbor::MAP, values.len() as u64);
            for (name, value) in values {
                cbor::text(out, &name);
                out.extend_from_slice(&value);
            }
        }
        _ => return None,
    }
    Some(())
}

/// Whether an item is a text that is a whole number of 64 bits.
fn is_whole_text(item: &[u8]) -> bool {
    text_of(item).is_some() && whole(item).is_some()
}

/// A whole number, which may also be text.
fn whole(item: &[u8]) -> Option<i64> {
    match Scalar::of_item(item)? {
        Scalar::Int(number) => Some(number),
        Scalar::Text(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// Severity numbers are four each from 1 on; 0 says nothing.
fn level_of(number: i64) -> Option<Level> {
    Some(match number {
        1..=4 => Level::Trace,
        5..=8 => Level::Debug,
        9..=12 => Level::Info,
        13..=16 => Level::Warn,
        17..=20 => Level::Error,
        21..=24 => Level::Fatal,
        _ => return None,
    })
}

/// What encoders write where there is nothing to say: null, 0, an empty text, list or object.
fn says_nothing(item: &[u8]) -> bool {
    matches!(item, [0xf6 | 0x00 | 0x60 | 0x80 | 0xa0])
}

/// `traceId` is `trace_id`.
fn snake_case(name: &str) -> Cow<'_, str> {
    if !name.contains(|c: char| c.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    Cow::Owned(out)
}

fn value_of<'a>(object: &Pairs<'a>, name: &str) -> Option<&'a [u8]> {
    object.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn pairs(item: &[u8]) -> Option<Pairs<'_>> {
    let mut reader = Decoder::new(item);
    let count = reader.map().ok()??;
    let mut pairs = Vec::new();
    for _ in 0..count {
        let name = reader.str().ok()?;
        let start = reader.position();
        reader.skip().ok()?;
        pairs.push((name, item.get(start..reader.position())?));
    }
    Some(pairs)
}

fn items(item: &[u8]) -> Option<Vec<&[u8]>> {
    let mut reader = Decoder::new(item);
    let count = reader.array().ok()??;
    let mut items = Vec::new();
    for _ in 0..count {
        let start = reader.position();
        reader.skip().ok()?;
        items.push(item.get(start..reader.position())?);
    }
    Some(items)
}
