//! Entries, as they are read: rows of a batch, each with all of its fields.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, BinaryArray, Int8Array, RecordBatch, StringArray, TimestampNanosecondArray,
};
use timestrata_values::time::text as rfc3339;

use super::field_column::FieldColumn;
use super::layout::Layout;
use super::options::{FIELDS, LABELS, LEVEL, MESSAGE, SOURCE_TIME, TIMESTAMP};
use super::value::{comma, each_field, find, write_text};
use super::{FieldValue, Fields, Labels, Level, NewEntry, Scalar};

/// Entries as columns; those of the log's stream, in its order.
#[derive(Debug, Clone)]
pub struct Entries {
    batch: RecordBatch,
    layout: Arc<Layout>,
    own: OwnColumns,
    /// In the order of the layout.
    promoted: Vec<FieldColumn>,
}

/// The columns that every log has.
#[derive(Debug, Clone)]
struct OwnColumns {
    timestamp: TimestampNanosecondArray,
    source_time: TimestampNanosecondArray,
    level: Int8Array,
    message: StringArray,
    labels: StringArray,
    rest: BinaryArray,
}

impl Entries {
    /// `batch` has all columns of the layout's stream.
    pub(super) fn new(batch: RecordBatch, layout: Arc<Layout>) -> Self {
        let own = OwnColumns {
            timestamp: batch.column(TIMESTAMP).as_primitive().clone(),
            source_time: batch.column(SOURCE_TIME).as_primitive().clone(),
            level: batch.column(LEVEL).as_primitive().clone(),
            message: batch.column(MESSAGE).as_string().clone(),
            labels: batch.column(LABELS).as_string().clone(),
            rest: batch.column(FIELDS).as_binary().clone(),
        };
        let promoted = layout.promoted.iter();
        let promoted =
            promoted.map(|known| FieldColumn::new(known.kind, batch.column(known.column)));
        Self { promoted: promoted.collect(), own, batch, layout }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns, as the stream keeps them: `timestamp`, `source_time`, `level` (a severity
    /// number), `message`, `labels` (a JSON object), `fields` (a CBOR map of those without a column),
    /// and the columns of fields.
    pub fn columns(&self) -> &RecordBatch {
        &self.batch
    }

    /// One of them.
    pub fn get(&self, index: usize) -> Option<EntryRef<'_>> {
        (index < self.len()).then_some(EntryRef { entries: self, row: index })
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = EntryRef<'_>> + ExactSizeIterator {
        (0..self.len()).map(|row| EntryRef { entries: self, row })
    }
}

/// One entry of some.
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    entries: &'a Entries,
    row: usize,
}

impl<'a> EntryRef<'a> {
    fn own(&self) -> &'a OwnColumns {
        &self.entries.own
    }

    /// When it arrived, in nanoseconds since 1970-01-01 UTC. No other entry of the log has the same.
    pub fn timestamp(&self) -> i64 {
        self.own().timestamp.value(self.row)
    }

    /// When it happened, as its sender says; nanoseconds since 1970-01-01 UTC.
    pub fn source_time(&self) -> Option<i64> {
        let times = &self.own().source_time;
        (!times.is_null(self.row)).then(|| times.value(self.row))
    }

    /// How bad it is.
    pub fn level(&self) -> Option<Level> {
        let levels = &self.own().level;
        match levels.is_null(self.row) {
            true => None,
            false => Level::of_severity(levels.value(self.row)),
        }
    }

    /// What happened.
    pub fn message(&self) -> &'a str {
        // No log's stream takes an entry without a message.
        self.own().message.value(self.row)
    }

    /// Where it comes from, as a JSON object; `None` without labels.
    pub fn labels_json(&self) -> Option<&'a str> {
        let labels = &self.own().labels;
        (!labels.is_null(self.row)).then(|| labels.value(self.row))
    }

    /// Where it comes from.
    pub fn labels(&self) -> Labels {
        self.labels_json().and_then(|text| Labels::parse(text).ok()).unwrap_or_default()
    }

    /// The fields that have no columns, as a CBOR map.
    fn rest(&self) -> Option<&'a [u8]> {
        let rest = &self.own().rest;
        (!rest.is_null(self.row)).then(|| rest.value(self.row))
    }

    /// Calls `take` with the name and value of each field.
    pub fn each_field(&self, mut take: impl FnMut(&'a str, FieldValue<'a>)) {
        let Entries { layout, promoted, .. } = self.entries;
        for (known, column) in layout.promoted.iter().zip(promoted) {
            if let Some(value) = column.get(self.row) {
                take(&known.name, FieldValue::Scalar(value));
            }
        }
        if let Some(rest) = self.rest() {
            // What is damaged ends the list; `check` tells of damage.
            let _ = each_field(rest, |name, item| {
                take(name, FieldValue::of_item(item));
                false
            });
        }
    }

    /// The value of a field; a name with dots may lead into objects.
    pub fn field(&self, name: &str) -> Option<FieldValue<'a>> {
        let Entries { layout, promoted, .. } = self.entries;
        let column = layout.promoted.iter().position(|known| known.name == name);
        match column.and_then(|column| promoted.get(column)?.get(self.row)) {
            Some(value) => Some(FieldValue::Scalar(value)),
            None => self.rest().and_then(|rest| find(rest, name)),
        }
    }

    /// The entry as it could be written again.
    pub fn to_owned(&self) -> NewEntry {
        let mut fields = Fields::default();
        self.each_field(|name, value| {
            match value {
                FieldValue::Scalar(Scalar::Bool(value)) => fields.bool(name, value),
                FieldValue::Scalar(Scalar::Int(value)) => fields.int(name, value),
                FieldValue::Scalar(Scalar::UInt(value)) => fields.uint(name, value),
                FieldValue::Scalar(Scalar::Float(value)) => fields.float(name, value),
                FieldValue::Scalar(Scalar::Text(value)) => fields.text(name, value),
                FieldValue::Item(item) => fields.item(name, |out| out.extend_from_slice(item)),
            };
        });
        NewEntry {
            source_time: self.source_time(),
            level: self.level(),
            message: self.message().to_owned(),
            fields,
            labels: self.labels(),
        }
    }

    /// Appends it as one JSON object: `timestamp` and `source_time` (RFC 3339), `level`, `message`,
    /// `labels`, `fields`; what it doesn't have is left out.
    pub fn write_json(&self, out: &mut String) {
        out.push_str("{\"timestamp\":\"");
        out.push_str(&rfc3339(self.timestamp()));
        out.push('"');
        if let Some(time) = self.source_time() {
            out.push_str(",\"source_time\":\"");
            out.push_str(&rfc3339(time));
            out.push('"');
        }
        if let Some(level) = self.level() {
            out.push_str(",\"level\":\"");
            out.push_str(level.name());
            out.push('"');
        }
        out.push_str(",\"message\":");
        write_text(self.message(), out);
        if let Some(labels) = self.labels_json() {
            out.push_str(",\"labels\":");
            out.push_str(labels);
        }
        let fields = self.fields_json();
        if fields != "{}" {
            out.push_str(",\"fields\":");
            out.push_str(&fields);
        }
        out.push('}');
    }

    /// Its fields as a JSON object.
    pub fn fields_json(&self) -> String {
        let mut out = String::from("{");
        let mut is_first = true;
        self.each_field(|name, value| {
            comma(&mut is_first, &mut out);
            write_text(name, &mut out);
            out.push(':');
            value.write_json(&mut out);
        });
        out.push('}');
        out
    }
}
