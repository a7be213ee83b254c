//! Entries of a log as rows for other programs: levels by name, labels and fields as JSON.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata::logs::{Entries, EntryRef, Hits};
use timestrata::{Error, ErrorKind};

use super::batches::{self, FileFormat};
use super::{Format, TIME_ZONE};
use crate::failure::{Failure, Result};
use crate::message::tell;

/// Bytes of text that one batch has, about: an Arrow column of text takes no more than 2 GiB.
const BATCH_BYTES: usize = 32 << 20;

/// A column: one that every log has, or all that entries have by one name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Timestamp,
    SourceTime,
    Level,
    Message,
    /// Labels, as a JSON object.
    Labels,
    /// All fields, as a JSON object.
    Fields,
    /// The label or field of a name, as text.
    Named(String),
}

/// Those that every log has.
const COLUMNS: [Column; 6] = [
    Column::Timestamp,
    Column::SourceTime,
    Column::Level,
    Column::Message,
    Column::Labels,
    Column::Fields,
];

impl Column {
    fn of_name(name: &str) -> Self {
        let own = COLUMNS.into_iter().find(|column| column.name() == name);
        own.unwrap_or_else(|| Self::Named(name.to_owned()))
    }

    fn name(&self) -> &str {
        match self {
            Self::Timestamp => "timestamp",
            Self::SourceTime => "source_time",
            Self::Level => "level",
            Self::Message => "message",
            Self::Labels => "labels",
            Self::Fields => "fields",
            Self::Named(name) => name,
        }
    }

    fn field(&self) -> Field {
        let data_type = match self {
            Self::Timestamp | Self::SourceTime => {
                DataType::Timestamp(TimeUnit::Nanosecond, Some(TIME_ZONE.into()))
            }
            _ => DataType::Utf8,
        };
        Field::new(self.name(), data_type, !matches!(self, Self::Timestamp | Self::Message))
    }

    /// Whether the log keeps it as it is shown.
    fn is_kept(&self) -> bool {
        matches!(self, Self::Timestamp | Self::SourceTime | Self::Message | Self::Labels)
    }

    /// What an entry has of a column that isn't kept so.
    fn text(&self, entry: &EntryRef<'_>) -> Option<String> {
        match self {
            Self::Level => entry.level().map(|level| level.name().to_owned()),
            Self::Fields => Some(entry.fields_json()).filter(|fields| fields != "{}"),
            Self::Named(name) => match entry.labels().get(name) {
                Some(label) => Some(label.to_owned()),
                None => {
                    entry.field(name).filter(|value| !value.is_null()).map(|value| value.to_text())
                }
            },
            Self::Timestamp | Self::SourceTime | Self::Message | Self::Labels => None,
        }
    }
}

/// Entries on their way out, as rows.
pub(crate) struct EntryRows {
    hits: Hits,
    schema: SchemaRef,
    columns: Vec<Column>,
    /// Which columns any entry had, of those that aren't kept as they are shown.
    seen: Vec<bool>,
    /// Entries of which those from a row on are still to come.
    rest: Option<(Entries, usize)>,
}

impl EntryRows {
    fn new(hits: Hits, columns: Option<&[String]>) -> Self {
        let columns: Vec<Column> = match columns {
            None => COLUMNS.into(),
            Some(names) => names.iter().map(|name| Column::of_name(name)).collect(),
        };
        let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
        let seen = vec![false; columns.len()];
        Self { hits, schema: Arc::new(schema), columns, seen, rest: None }
    }

    fn next_batch(&mut self) -> timestrata::Result<Option<RecordBatch>> {
        let (entries, start) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.hits.next().transpose()? {
                Some(entries) => (entries, 0),
                None => return Ok(None),
            },
        };
        let mut texts: Vec<_> = self.columns.iter().map(|_| StringBuilder::new()).collect();
        let (mut rows, mut bytes) = (0, 0);
        for entry in entries.iter().skip(start) {
            let columns = self.columns.iter().zip(&mut texts).zip(&mut self.seen);
            for ((column, text), seen) in columns.filter(|((column, _), _)| !column.is_kept()) {
                let value = column.text(&entry);
                *seen |= value.is_some();
                bytes += value.as_ref().map_or(0, String::len);
                text.append_option(value);
            }
            rows += 1;
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        let batch = self.batch(&entries, start..start + rows, &mut texts)?;
        if start + rows < entries.len() {
            self.rest = Some((entries, start + rows));
        }
        Ok(Some(batch))
    }

    /// Some rows, with the texts that were made for them.
    fn batch(
        &self,
        entries: &Entries,
        rows: Range<usize>,
        texts: &mut [StringBuilder],
    ) -> timestrata::Result<RecordBatch> {
        let kept = entries.columns();
        let columns = self.columns.iter().zip(texts).map(|(column, text)| {
            match kept.column_by_name(column.name()).filter(|_| column.is_kept()) {
                Some(kept) => kept.slice(rows.start, rows.len()),
                None => Arc::new(text.finish()) as ArrayRef,
            }
        });
        RecordBatch::try_new(SchemaRef::clone(&self.schema), columns.collect()).map_err(|error| {
            let message = format!("the entries don't make a batch: {error}");
            Error::new(ErrorKind::Corruption, message)
        })
    }

    /// Names of labels and fields that no entry had.
    fn never_seen(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().zip(&self.seen).filter_map(|(column, seen)| match column {
            Column::Named(name) if !seen => Some(name.as_str()),
            _ => None,
        })
    }
}

impl Iterator for EntryRows {
    type Item = timestrata::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// Writes entries to stdout, as rows; as JSON with all that they have, unless columns are named.
pub(crate) fn show_entries(hits: Hits, columns: Option<&[String]>, format: Format) -> Result<u64> {
    if (columns, format) == (None, Format::Json) {
        return write_json(std::io::stdout(), hits);
    }
    let mut rows = EntryRows::new(hits, columns);
    let schema = SchemaRef::clone(&rows.schema);
    let shown = batches::show(&schema, &mut rows, format)?;
    tell_unseen(&rows, shown);
    Ok(shown)
}

/// Writes entries in the form of a file, as [`show_entries`] does.
pub(crate) fn write_entries(
    out: impl Write + Send,
    hits: Hits,
    columns: Option<&[String]>,
    format: FileFormat,
) -> Result<u64> {
    if (columns, format) == (None, FileFormat::Json) {
        return write_json(out, hits);
    }
    let mut rows = EntryRows::new(hits, columns);
    let schema = SchemaRef::clone(&rows.schema);
    let written = batches::write(out, &schema, &mut rows, format)?;
    tell_unseen(&rows, written);
    Ok(written)
}

fn write_json(out: impl Write, hits: Hits) -> Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let (mut written, mut line) = (0, String::new());
    for entries in hits {
        for entry in entries?.iter() {
            line.clear();
            entry.write_json(&mut line);
            line.push('\n');
            out.write_all(line.as_bytes()).map_err(|cause| Failure::output(&cause))?;
            written += 1;
        }
    }
    out.flush().map_err(|cause| Failure::output(&cause))?;
    Ok(written)
}

fn tell_unseen(rows: &EntryRows, written: u64) {
    if written > 0 {
        for name in rows.never_seen() {
            tell(format_args!("warning: no entry has a label or field '{name}'"));
        }
    }
}
