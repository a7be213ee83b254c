//! Entries as JSON: `{"time": ..., "value": ...}`, the value as the log's codec has it. Bytes are text where they are
//! UTF-8, else `{"base64": "..."}`. Where `encoded` stands in place of `value` it is what the codec wrote, as base64.

use std::collections::BTreeMap;

use arrow_schema::{DataType, FieldRef};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use timestrata_engine::{Cell, Durability, RowBatch};
use timestrata_logs::FieldValue;
use timestrata_timelog::{Codec, EntryBatch, EntryBlock, Timelog, TimelogWrite, ValueColumns};
use timestrata_values::time::parse as parse_time;

use super::pickled;
use crate::endpoint::shown;
use crate::error::Result;

const BASE64: &str = "base64";
const ENCODED: &str = "encoded";
/// CBOR's null.
const CBOR_NULL: u8 = 0xf6;

/// Entries on their way into a log.
pub(in crate::routes) struct NewEntries {
    codec: Codec,
    time: DataType,
    /// The time of an entry that says none.
    now: i64,
    kind: NewKind,
}

enum NewKind {
    Encoded(EntryBatch),
    Typed(Box<RowBatch>, ValueColumns),
}

type PushResult<T> = std::result::Result<T, String>;

impl NewEntries {
    /// None yet.
    pub(super) fn of(log: &Timelog, now_ns: i64) -> Result<Self> {
        let kind = match (log.codec(), log.columns()) {
            (Codec::Pickle, _) => return Err(pickled(log)),
            (_, Some(columns)) => NewKind::Typed(Box::new(log.typed_batch()?), columns),
            _ => NewKind::Encoded(EntryBatch::new()),
        };
        let unit = log.unit();
        let now = now_ns.div_euclid(1_000_000_000 / unit.per_second());
        let time = DataType::Timestamp(unit.to_arrow(), Some("UTC".into()));
        Ok(Self { codec: log.codec(), time, now, kind })
    }

    /// Adds the entry of a line.
    pub(super) fn push(&mut self, line: &[u8]) -> PushResult<()> {
        let mut parts: BTreeMap<String, &RawValue> = serde_json::from_slice(line)
            .map_err(|error| format!("it is no JSON object: {error}"))?;
        let time = match parts.remove("time") {
            None => self.now,
            Some(time) => self.time_of(time)?,
        };
        let encoded = parts.remove(ENCODED);
        let value = match encoded {
            Some(_) if parts.contains_key("value") => {
                return Err("it has both 'value' and 'encoded'".to_owned());
            }
            Some(encoded) => encoded,
            None => parts.remove("value").ok_or("it has no 'value'")?,
        };
        if let Some(name) = parts.keys().next() {
            let name = shown(name);
            return Err(format!("an entry has no '{name}': it has 'time' and 'value'"));
        }
        let read = || {
            serde_json::from_str::<Value>(value.get()).map_err(|error| format!("value: {error}"))
        };
        if encoded.is_some() {
            let bytes = self.decoded(&read()?)?;
            return match &mut self.kind {
                NewKind::Encoded(batch) => {
                    batch.push(time, &bytes).map_err(|error| error.to_string())
                }
                NewKind::Typed(..) => Err("encoded: a typed log has values of columns".to_owned()),
            };
        }
        let pushed = match &mut self.kind {
            NewKind::Typed(batch, columns) => return push_typed(batch, columns, time, &read()?),
            NewKind::Encoded(batch) => match self.codec {
                Codec::Json => batch.push(time, value.get().as_bytes()),
                // Members stay in the order in which they came.
                Codec::Cbor => {
                    let value: ciborium::Value = serde_json::from_str(value.get())
                        .map_err(|error| format!("value: {error}"))?;
                    batch.push_value(time, &value)
                }
                _ => batch.push(time, &bytes_of(&read()?)?),
            },
        };
        pushed.map_err(|error| error.to_string())
    }

    /// The bytes of an encoded value, which must be what the codec writes.
    fn decoded(&self, value: &Value) -> PushResult<Vec<u8>> {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        let bytes = bytes.ok_or("encoded must be base64")?;
        let fault = match self.codec {
            Codec::Cbor => {
                let mut rest = bytes.as_slice();
                match ciborium::from_reader::<ciborium::Value, _>(&mut rest) {
                    Ok(_) if rest.is_empty() => None,
                    Ok(_) => Some("something follows the item".to_owned()),
                    Err(error) => Some(error.to_string()),
                }
            }
            Codec::Json => serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
                .err()
                .map(|error| error.to_string()),
            _ => None,
        };
        match fault {
            Some(why) => Err(format!("encoded is no {}: {why}", self.codec.name())),
            None => Ok(bytes),
        }
    }

    fn time_of(&self, time: &RawValue) -> PushResult<i64> {
        if let Ok(time) = time.get().parse() {
            return Ok(time);
        }
        let text: Option<String> = serde_json::from_str(time.get()).ok();
        let parsed = text.as_deref().and_then(|text| parse_time(text, &self.time).ok());
        parsed.ok_or_else(|| {
            let found = shown(time.get());
            format!("time must be a whole number in the log's unit, or a time as text, not {found}")
        })
    }

    /// How many there are.
    pub(in crate::routes) fn len(&self) -> usize {
        match &self.kind {
            NewKind::Encoded(batch) => batch.len(),
            NewKind::Typed(batch, _) => batch.len(),
        }
    }

    /// Adds all of them to what a commit does to their log.
    ///
    /// # Errors
    /// As `TimelogWrite::append`.
    pub(in crate::routes) fn add_to(
        self,
        write: &mut TimelogWrite,
    ) -> timestrata_engine::Result<()> {
        match self.kind {
            NewKind::Encoded(batch) => write.append(batch),
            NewKind::Typed(mut batch, _) => write.append_typed(&mut batch),
        }
    }

    /// Appends all of them, in one commit. Gives how many.
    pub(super) fn commit(
        self,
        log: &Timelog,
        durability: Durability,
    ) -> timestrata_engine::Result<u64> {
        let entries = self.len() as u64;
        match self.kind {
            NewKind::Encoded(batch) => log.extend_batch(batch, durability)?,
            NewKind::Typed(mut batch, _) => log.extend_typed(&mut batch, durability)?,
        };
        Ok(entries)
    }
}

fn bytes_of(value: &Value) -> PushResult<Vec<u8>> {
    match (value, value.get(BASE64).and_then(Value::as_str)) {
        (Value::String(text), _) => Ok(text.clone().into_bytes()),
        (_, Some(encoded)) => STANDARD
            .decode(encoded)
            .map_err(|_| "value: it must be base64 where it says so".to_owned()),
        _ => Err("value must be text or {\"base64\": \"...\"} in a log of bytes".to_owned()),
    }
}

fn push_typed(
    batch: &mut RowBatch,
    columns: &ValueColumns,
    time: i64,
    value: &Value,
) -> PushResult<()> {
    let mut owned = Vec::with_capacity(columns.fields().len());
    match (columns.is_record(), value) {
        (false, value) => {
            for field in columns.fields() {
                owned.push(OwnedCell::of(field, Some(value))?);
            }
        }
        (true, Value::Object(members)) => {
            let is_column = |name: &str| columns.fields().iter().any(|field| field.name() == name);
            if let Some(name) = members.keys().find(|name| !is_column(name)) {
                return Err(format!("value: the log has no column '{}'", shown(name)));
            }
            for field in columns.fields() {
                owned.push(OwnedCell::of(field, members.get(field.name()))?);
            }
        }
        (true, _) => return Err("value must be an object with the log's columns".to_owned()),
    }
    let mut cells = vec![Cell::Int(time)];
    cells.extend(owned.iter().map(OwnedCell::cell));
    batch.push(&cells).map_err(|error| error.to_string())
}

/// A cell that owns its bytes.
enum OwnedCell {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl OwnedCell {
    fn of(field: &FieldRef, value: Option<&Value>) -> PushResult<Self> {
        let kind = field.data_type();
        let wrong = |value: &Value| {
            format!("column '{}': {} is no {kind}", field.name(), shown(&value.to_string()))
        };
        Ok(match value {
            None | Some(Value::Null) => Self::Null,
            Some(Value::Bool(value)) => Self::Bool(*value),
            Some(value @ Value::Number(number)) => {
                match (number.as_i64(), number.as_u64(), number.as_f64()) {
                    _ if kind.is_floating() => {
                        Self::Float(number.as_f64().ok_or_else(|| wrong(value))?)
                    }
                    (_, Some(whole), _) if kind.is_unsigned_integer() => Self::UInt(whole),
                    (Some(whole), ..) => Self::Int(whole),
                    (_, Some(whole), _) => Self::UInt(whole),
                    (_, _, Some(float)) => Self::Float(float),
                    _ => return Err(wrong(value)),
                }
            }
            Some(value @ Value::String(text)) => match kind {
                DataType::Timestamp(..) => {
                    Self::Int(parse_time(text, kind).map_err(|_| wrong(value))?)
                }
                DataType::Binary | DataType::LargeBinary => Self::Bytes(text.clone().into_bytes()),
                _ => Self::Text(text.clone()),
            },
            Some(value @ Value::Object(_)) => {
                Self::Bytes(bytes_of(value).map_err(|_| wrong(value))?)
            }
            Some(value) => return Err(wrong(value)),
        })
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Bool(value) => Cell::Bool(*value),
            Self::Int(value) => Cell::Int(*value),
            Self::UInt(value) => Cell::UInt(*value),
            Self::Float(value) => Cell::Float(*value),
            Self::Text(text) => Cell::Text(text),
            Self::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }
}

/// Entries as the text of an answer.
pub(super) struct EntryWriter {
    codec: Codec,
    is_record: bool,
    has_lines: bool,
    is_encoded: bool,
    out: String,
    count: usize,
}

impl EntryWriter {
    /// Nothing yet.
    pub(super) fn of(log: &Timelog, has_lines: bool, is_encoded: bool) -> Result<Self> {
        if log.codec() == Codec::Pickle {
            return Err(pickled(log));
        }
        let is_record = log.columns().is_some_and(|columns| columns.is_record());
        let begin = if has_lines { "" } else { r#"{"success":true,"data":["# };
        let (codec, out) = (log.codec(), begin.to_owned());
        Ok(Self { codec, is_record, has_lines, is_encoded, out, count: 0 })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn bytes(&self) -> usize {
        self.out.len()
    }

    /// Appends what is not an entry.
    pub(super) fn push_text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Appends an entry of a block.
    pub(super) fn write(&mut self, block: &EntryBlock, row: usize) {
        self.write_at(block, row, None);
    }

    /// The same, with the place behind it.
    pub(super) fn write_at(&mut self, block: &EntryBlock, row: usize, cursor: Option<&str>) {
        let Some(time) = block.times().get(row) else { return };
        if self.count > 0 && !self.has_lines {
            self.out.push(',');
        }
        self.count += 1;
        let encoded = block.value(row).filter(|_| self.is_encoded);
        let name = if encoded.is_some() { ENCODED } else { "value" };
        self.out.push_str(&format!(r#"{{"time":{time},"{name}":"#));
        match block.value(row) {
            Some(value) if self.is_encoded => {
                self.out.push_str(&format!("\"{}\"", STANDARD.encode(value)));
            }
            None => self.out.push_str(&typed_json(block, row, self.is_record).to_string()),
            Some(value) => match self.codec {
                Codec::Cbor => self.write_cbor(value),
                Codec::Json => self.write_json(value),
                _ => self.out.push_str(&bytes_json(value).to_string()),
            },
        }
        if let Some(cursor) = cursor {
            self.out.push_str(&format!(r#","cursor":"{cursor}""#));
        }
        self.out.push('}');
        if self.has_lines {
            self.out.push('\n');
        }
    }

    fn write_cbor(&mut self, value: &[u8]) {
        let start = self.out.len();
        FieldValue::Item(value).write_json(&mut self.out);
        let is_null = self.out.get(start..) == Some("null");
        if is_null && value != [CBOR_NULL] {
            // What JSON can't say, such as a map by numbers, is told as it is stored.
            self.out.truncate(start);
            self.out.push_str(&json!({ "cbor": STANDARD.encode(value) }).to_string());
        }
    }

    fn write_json(&mut self, value: &[u8]) {
        match std::str::from_utf8(value) {
            // A line is an entry; no text of JSON has a line end in it.
            Ok(text) => self.out.extend(text.chars().map(|c| if c < ' ' { ' ' } else { c })),
            Err(_) => self.out.push_str(&bytes_json(value).to_string()),
        }
    }

    /// All of it.
    pub(super) fn finish(mut self) -> String {
        if !self.has_lines {
            self.out.push_str(r#"],"error":null}"#);
        }
        self.out
    }
}

fn bytes_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ BASE64: STANDARD.encode(bytes) }),
    }
}

fn typed_json(block: &EntryBlock, row: usize, is_record: bool) -> Value {
    let fields = block.record_batch().schema_ref().fields().iter().skip(1);
    let cells = fields.zip(block.columns()).map(|(field, column)| {
        let cell = Cell::of(column.as_ref(), row).unwrap_or(Cell::Null);
        (field.name().clone(), cell_json(cell))
    });
    let mut cells: Vec<(String, Value)> = cells.collect();
    match is_record {
        true => Value::Object(cells.into_iter().collect()),
        false => cells.pop().map_or(Value::Null, |(_, value)| value),
    }
}

fn cell_json(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => value.into(),
        Cell::Int(value) => value.into(),
        Cell::UInt(value) => value.into(),
        Cell::Float(value) => value.into(),
        Cell::Text(text) => text.into(),
        Cell::Bytes(bytes) => bytes_json(bytes),
    }
}
