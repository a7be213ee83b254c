//! Entries of a log as rows for other programs: as SQL shows them, and any label or field as text.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use timestrata::logs::{Clock, Entries, EntryRef, ShownColumns};
use timestrata::{Error, ErrorKind};

use super::Format;
use super::batches::{self, FileFormat};
use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::terminal::escape_json;

/// Those that all logs have.
const COLUMNS: [&str; 6] = ["timestamp", "source_time", "level", "message", "labels", "fields"];
/// Memory that the entries of one batch have at most, and how many are taken of a larger one. Fields as
/// JSON have up to six times as many bytes, and an Arrow column of text takes no more than 2 GiB.
const BATCH_BYTES_MAX: usize = 256 << 20;
const ROWS_OF_LARGE: usize = 32;

/// Where the values of a column come from.
#[derive(Debug)]
enum EntryColumn {
    /// The one that is shown at this place.
    Shown(usize),
    /// Whatever entries have by this name, as text.
    Named { name: String, is_seen: bool },
}

/// Entries, batch by batch, how their columns are shown, and by which clock they are in order.
pub(crate) struct FoundEntries {
    pub(crate) shown: ShownColumns,
    pub(crate) clock: Clock,
    pub(crate) batches: Box<dyn Iterator<Item = timestrata::Result<Entries>>>,
}

/// Entries on their way out.
pub(crate) struct EntryRows {
    hits: Box<dyn Iterator<Item = timestrata::Result<Entries>>>,
    shown: ShownColumns,
    schema: SchemaRef,
    columns: Vec<EntryColumn>,
    /// Whether nobody has named columns.
    is_whole: bool,
    /// Entries of which those from a row on are still to come.
    rest: Option<(Entries, usize)>,
}

impl EntryRows {
    /// Those that were found. Columns may be those that SQL has, labels and fields.
    pub(crate) fn new(found: FoundEntries, columns: Option<&[String]>) -> Self {
        let FoundEntries { shown, batches: hits, .. } = found;
        let all = shown.schema();
        let own = COLUMNS.map(str::to_owned);
        let (mut fields, mut origins) = (Vec::new(), Vec::new());
        for name in columns.unwrap_or(&own) {
            let (field, column) = match all.column_with_name(name) {
                Some((place, field)) => (field.clone(), EntryColumn::Shown(place)),
                None => {
                    let column = EntryColumn::Named { name: name.clone(), is_seen: false };
                    (Field::new(name, DataType::Utf8, true), column)
                }
            };
            fields.push(field);
            origins.push(column);
        }
        let schema = Arc::new(Schema::new(fields));
        let is_whole = columns.is_none();
        Self { hits, shown, schema, columns: origins, is_whole, rest: None }
    }

    /// Writes them to stdout; gives how many there were.
    pub(crate) fn show(self, format: Format) -> Result<u64> {
        match format {
            Format::Json if self.is_whole => self.write_objects(std::io::stdout()),
            format => self.write_rows(|schema, rows| batches::show(schema, rows, format)),
        }
    }

    /// Writes them in the form of a file, as [`show`](Self::show) does.
    pub(crate) fn write(self, out: impl Write + Send, format: FileFormat) -> Result<u64> {
        match format {
            FileFormat::Json if self.is_whole => self.write_objects(out),
            format => self.write_rows(|schema, rows| batches::write(out, schema, rows, format)),
        }
    }

    fn write_rows(
        mut self,
        write: impl FnOnce(&SchemaRef, &mut Self) -> Result<u64>,
    ) -> Result<u64> {
        let schema = SchemaRef::clone(&self.schema);
        let rows = write(&schema, &mut self)?;
        for column in &self.columns {
            if let EntryColumn::Named { name, is_seen: false } = column
                && rows > 0
            {
                tell(format_args!("warning: no entry has a label or field '{name}'"));
            }
        }
        Ok(rows)
    }

    /// Writes objects with all that entries have, one a line.
    fn write_objects(self, out: impl Write) -> Result<u64> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let (mut written, mut line) = (0, String::new());
        for entries in self.hits {
            for entry in entries?.iter() {
                line.clear();
                entry.write_json(&mut line);
                escape_json(&mut line, 0);
                line.push('\n');
                out.write_all(line.as_bytes()).map_err(Failure::output)?;
                written += 1;
            }
        }
        out.flush().map_err(Failure::output)?;
        Ok(written)
    }

    fn next_batch(&mut self) -> timestrata::Result<Option<RecordBatch>> {
        let (entries, start) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.hits.next().transpose()? {
                Some(entries) => (entries, 0),
                None => return Ok(None),
            },
        };
        let left = entries.len() - start;
        let rows = match entries.columns().get_array_memory_size() {
            ..=BATCH_BYTES_MAX => left,
            _ => left.min(ROWS_OF_LARGE),
        };
        let kept = entries.columns().slice(start, rows);
        let columns = self.columns.iter_mut().map(|column| match column {
            EntryColumn::Shown(place) => {
                let sources = self.shown.sources(*place);
                let sources: Vec<_> =
                    sources.into_iter().map(|column| Arc::clone(kept.column(column))).collect();
                self.shown.show(*place, &sources)
            }
            EntryColumn::Named { name, is_seen } => {
                let entries = entries.iter().skip(start).take(rows);
                Some(texts(entries, name, is_seen))
            }
        });
        let columns = columns.collect::<Option<Vec<ArrayRef>>>();
        let batch = columns.ok_or_else(|| unfit("columns of other types")).and_then(|columns| {
            RecordBatch::try_new(SchemaRef::clone(&self.schema), columns).map_err(misfit)
        })?;
        if rows < left {
            self.rest = Some((entries, start + rows));
        }
        Ok(Some(batch))
    }
}

impl Iterator for EntryRows {
    type Item = timestrata::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// What entries have by a name, a label before a field.
fn texts<'a>(
    entries: impl Iterator<Item = EntryRef<'a>>,
    name: &str,
    is_seen: &mut bool,
) -> ArrayRef {
    let mut texts = StringBuilder::new();
    for entry in entries {
        let field = || entry.field(name).filter(|value| !value.is_null());
        let label = entry.labels().get(name).map(str::to_owned);
        let text = label.or_else(|| field().map(|value| value.to_text()));
        *is_seen |= text.is_some();
        texts.append_option(text);
    }
    Arc::new(texts.finish())
}

fn misfit(error: ArrowError) -> Error {
    unfit(&error.to_string())
}

fn unfit(why: &str) -> Error {
    Error::new(
        ErrorKind::Corruption,
        format!("the entries don't fit the columns of their log: {why}"),
    )
}
