//! Rows on their way to stdout, in the format asked for.

mod arrow;
mod batches;
pub(crate) mod cell;
mod columns;
mod csv;
mod entries;
mod form;
mod json;
pub(crate) mod table;
mod typed;

use std::fmt::Display;
use std::io::{BufWriter, IsTerminal, Write, stdout};

use ciborium::Value;
use clap::ValueEnum;
use timestrata::timelog::{Codec, Entry, EntryBlock, Selection, Unit};

use crate::failure::{Failure, Result};
use crate::message::tell;
use crate::times;
pub(crate) use batches::{FileFormat, show as show_batches, write as write_batches};
use columns::OutputColumns;
pub(crate) use entries::{EntryRows, FoundEntries};
pub(crate) use form::{Form, FormArg, ReportFormat};

/// Writes text to stdout.
///
/// # Errors
/// Where it can't be written.
pub(crate) fn print(text: impl Display) -> Result<()> {
    write!(stdout(), "{text}").map_err(Failure::output)
}

/// Name of the column that has an entry's time.
const TIME: &str = "time";
/// Name of the member that has the place behind an entry.
const CURSOR: &str = "cursor";
/// Name of the column that has a value which isn't a map.
const VALUE: &str = "value";

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns for people; long values are cut.
    Table,
    /// A header, then one row a line.
    Csv,
    /// One JSON object a line.
    Json,
    /// An Arrow IPC stream.
    Arrow,
}

impl Form for Format {
    const DEFAULT: &'static str = "table";
    const JSON: Self = Self::Json;
}

/// One row: a time, and the fields of its value.
pub(crate) struct Row {
    time: i64,
    fields: Vec<(String, Value)>,
}

impl Row {
    /// The fields of a value: those of a map; else the whole value as one field. A field that
    /// has the name of the time column is shown as `value.time`.
    pub(crate) fn new(time: i64, value: Value) -> Self {
        let fields = match value {
            Value::Map(fields) => fields
                .into_iter()
                .map(|(name, value)| {
                    let name = match name {
                        Value::Text(name) => name,
                        other => cell::text(&other),
                    };
                    if name == TIME { (format!("{VALUE}.{TIME}"), value) } else { (name, value) }
                })
                .collect(),
            other => vec![(VALUE.to_owned(), other)],
        };
        Self { time, fields }
    }

    pub(crate) fn time(&self) -> i64 {
        self.time
    }

    /// Writes it as a JSON object, maybe with the place behind it.
    pub(crate) fn write_json(
        &self,
        unit: Unit,
        cursor: Option<&str>,
        out: &mut impl Write,
    ) -> Result<()> {
        json::write_row(out, self, unit, cursor)
    }

    /// Writes it as a line for people: its time, maybe the place behind it, and its value as JSON.
    pub(crate) fn write_line(
        &self,
        unit: Unit,
        cursor: Option<&str>,
        out: &mut impl Write,
    ) -> Result<()> {
        let mut line = times::format(self.time, unit);
        if let Some(cursor) = cursor {
            line.push(' ');
            line.push_str(cursor);
        }
        line.push(' ');
        let value = match self.fields.as_slice() {
            [(name, value)] if name == VALUE => serde_json::to_string(&cell::AsJson(value)),
            fields => {
                let fields = fields.iter();
                let map = fields.map(|(name, value)| (Value::Text(name.clone()), value.clone()));
                serde_json::to_string(&cell::AsJson(&Value::Map(map.collect())))
            }
        };
        line.push_str(&value.map_err(|error| Failure::plain(error.to_string()))?);
        writeln!(out, "{line}").map_err(Failure::output)
    }

    /// A field by name; `position` is where it was in the row before, and is looked at first.
    fn field(&self, name: &str, position: &mut usize) -> Option<&Value> {
        if let Some((found, value)) = self.fields.get(*position)
            && found == name
        {
            return Some(value);
        }
        let found = self.fields.iter().position(|(found, _)| found == name)?;
        *position = found;
        self.fields.get(found).map(|(_, value)| value)
    }
}

/// Rows of a time log, which are read twice where their columns must be known before the first is written.
pub(crate) trait TimelogRows {
    fn rows(&self) -> Box<dyn Iterator<Item = Result<Row>> + '_>;
}

/// What is written, and from where.
pub(crate) struct Request {
    pub(crate) rows: Box<dyn TimelogRows>,
    pub(crate) unit: Unit,
    pub(crate) columns: Option<Vec<String>>,
}

impl Request {
    fn rows(&self) -> Box<dyn Iterator<Item = Result<Row>> + '_> {
        self.rows.rows()
    }
}

/// The rows of a selection, decoded. Asked for twice, they are the same: the selection is frozen.
pub(crate) struct SelectedRows {
    pub(crate) selection: Selection,
    pub(crate) name: String,
    pub(crate) codec: Codec,
}

impl TimelogRows for SelectedRows {
    fn rows(&self) -> Box<dyn Iterator<Item = Result<Row>> + '_> {
        if self.codec == Codec::Arrow {
            return Box::new(typed::rows(self.selection.clone()));
        }
        Box::new(self.selection.clone().into_iter().map(|entry| self.decode(&entry?)))
    }
}

impl SelectedRows {
    fn decode(&self, entry: &Entry) -> Result<Row> {
        decode(&self.name, self.codec, entry)
    }
}

/// The rows of a block of a log.
pub(crate) fn rows_of_block(name: &str, codec: Codec, block: EntryBlock) -> Result<Vec<Row>> {
    if codec == Codec::Arrow {
        return Ok(typed::rows_of(block).collect());
    }
    let entries = (0..block.len()).filter_map(|row| block.entry(row));
    entries.map(|entry| decode(name, codec, &entry)).collect()
}

fn decode(name: &str, codec: Codec, entry: &Entry) -> Result<Row> {
    let failed = |error: &dyn Display| {
        Failure::failed(
            format!("'{name}', value at time {}: {error}", entry.time),
            format!("the log says '{codec}', but holds something else"),
        )
    };
    let value = match codec {
        // A pickle is shown as the bytes it is: reading it would run it.
        // Columns come by `typed`, and never here.
        Codec::Bytes | Codec::Pickle | Codec::Arrow => Value::Bytes(entry.value.to_vec()),
        Codec::Json => serde_json::from_slice(&entry.value).map_err(|error| failed(&error))?,
        Codec::Cbor => entry.value.decode().map_err(|error| failed(&error))?,
    };
    Ok(Row::new(entry.time, value))
}

fn refuse_terminal(stdout: &std::io::Stdout) -> Result<()> {
    if !stdout.is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(
        "an Arrow stream is not for a terminal",
        "send it to a file or a program: --format arrow > rows.arrow",
    ))
}

/// Writes the rows to stdout; gives how many there were.
pub(crate) fn write(request: &Request, format: Format) -> Result<u64> {
    let stdout = std::io::stdout();
    if format == Format::Arrow {
        refuse_terminal(&stdout)?;
    }
    write_to(stdout.lock(), request, format)
}

/// Writes the rows somewhere; gives how many there were.
pub(crate) fn write_to(out: impl Write, request: &Request, format: Format) -> Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut columns = match (&request.columns, format) {
        (Some(names), Format::Arrow) => OutputColumns::found(request)?.only(names),
        (Some(names), _) => OutputColumns::named(names),
        (None, Format::Json) => OutputColumns::named(&[]),
        (None, _) => OutputColumns::found(request)?,
    };
    let rows = match format {
        Format::Table => table::write(&mut out, request, &mut columns),
        Format::Csv => csv::write(&mut out, request, &mut columns),
        Format::Json if request.columns.is_none() => json::write_whole(&mut out, request),
        Format::Json => json::write(&mut out, request, &mut columns),
        Format::Arrow => arrow::write(&mut out, request, &mut columns),
    }?;
    out.flush().map_err(Failure::output)?;
    if rows > 0 {
        for name in columns.never_seen() {
            tell(format_args!("warning: no row has a column '{name}'"));
        }
    }
    Ok(rows)
}
