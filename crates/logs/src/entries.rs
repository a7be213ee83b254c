//! Entries, as they are read: rows of a batch, each with all of its fields.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use timestrata_engine::Result;
use timestrata_values::cbor::write_text;
use timestrata_values::time::text as rfc3339;

use super::batch;
use super::columns::EntryColumns;
use super::layout::Layout;
use super::options::{LABELS, MESSAGE, SOURCE_TIME, TIMESTAMP};
use super::{FieldValue, Fields, Labels, Level, NewEntry, Scalar};

/// Entries as columns; those of the log's stream, in its order.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("started"))?;
/// for entries in app.search(&Query::default())? {
///     assert_eq!(entries?.get(0).map(|entry| entry.message().to_owned()).as_deref(), Some("started"));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Entries {
    batch: RecordBatch,
    columns: EntryColumns,
}

impl Entries {
    /// `batch` has all columns of the layout's stream.
    pub(super) fn new(batch: RecordBatch, layout: Arc<Layout>) -> Self {
        let columns = EntryColumns::new(layout, |column| batch.columns().get(column));
        Self { columns, batch }
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

    /// Bytes of texts and fields that some of them have.
    pub fn bytes(&self, rows: Range<usize>) -> usize {
        batch::bytes_of(&self.batch, rows)
    }

    /// Some of them in memory of their own, so that the others can be let go of.
    ///
    /// # Errors
    /// `TooLarge` if they don't fit into one batch.
    pub fn copied(&self, rows: Range<usize>) -> Result<Self> {
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        let copied = batch::copied(&self.batch, rows.map(|row| row as u64).collect())?;
        Ok(Self::new(copied, Arc::clone(self.columns.layout())))
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
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{Level, Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// let mut entry = NewEntry::new("disk is full");
/// entry.level = Some(Level::Error);
/// entry.fields.text("device", "sda1").int("free", 0);
/// app.write(&entry)?;
/// for entries in app.search(&Query::of("level>=error")?)? {
///     for entry in entries?.iter() {
///         assert_eq!(entry.field("free").map(|free| free.to_text()).as_deref(), Some("0"));
///         assert_eq!(entry.fields_json(), r#"{"device":"sda1","free":0}"#);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    entries: &'a Entries,
    row: usize,
}

impl<'a> EntryRef<'a> {
    fn columns(&self) -> &'a EntryColumns {
        &self.entries.columns
    }

    /// When it arrived, in nanoseconds since 1970-01-01 UTC. No other entry of the log has the same.
    pub fn timestamp(&self) -> i64 {
        self.columns().time(TIMESTAMP, self.row).unwrap_or_default()
    }

    /// When it happened, as its sender says; nanoseconds since 1970-01-01 UTC.
    pub fn source_time(&self) -> Option<i64> {
        self.columns().time(SOURCE_TIME, self.row)
    }

    /// How bad it is.
    pub fn level(&self) -> Option<Level> {
        self.columns().level(self.row)
    }

    /// What happened.
    pub fn message(&self) -> &'a str {
        // No log's stream takes an entry without a message.
        self.columns().text(MESSAGE, self.row).unwrap_or_default()
    }

    /// Where it comes from, as a JSON object; `None` without labels.
    pub fn labels_json(&self) -> Option<&'a str> {
        self.columns().text(LABELS, self.row)
    }

    /// Where it comes from.
    pub fn labels(&self) -> Labels {
        self.labels_json().and_then(|text| Labels::parse(text).ok()).unwrap_or_default()
    }

    /// Calls `take` with the name and value of each field.
    pub fn each_field(&self, take: impl FnMut(&'a str, FieldValue<'a>)) {
        self.columns().each_field(self.row, take);
    }

    /// The value of a field; a name with dots may lead into objects.
    pub fn field(&self, name: &str) -> Option<FieldValue<'a>> {
        self.columns().field(self.row, name)
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
        let without = out.len();
        out.push_str(",\"fields\":");
        if !self.columns().write_fields_json(self.row, out) {
            out.truncate(without);
        }
        out.push('}');
    }

    /// Its fields as a JSON object.
    pub fn fields_json(&self) -> String {
        let mut out = String::new();
        self.columns().write_fields_json(self.row, &mut out);
        out
    }
}
