//! Bodies of rows, taken into a table as one commit. The body that makes a table is read whole, since all of its
//! values count for the kinds of its columns; later ones are read as they come.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use axum::http::{HeaderMap, StatusCode, header};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_ingest::rows::{Compression, Delimiter, Format, Input, ReadOptions, Source};
use timestrata_table::{ID_COLUMN, IngestOptions, Table, TableOptions, ingest};

use super::kind::{Kind, Seen};
use super::typed::{Target, Typing};
use super::{ARRIVAL, arrow, times};
use crate::body::unread;
use crate::content_type;
use crate::error::{Failure, Result as Answered};
use crate::state::AppState;
use crate::unpack::unpacked;
use crate::utf8::Utf8Only;

/// What messages call what was sent.
pub(super) const BODY: &str = "the body";
/// Names of time columns, the likeliest first.
const TIME_NAMES: [&str; 5] = ["timestamp", "time", "ts", "datetime", "date"];
/// Rows that tell the types of columns which a table is given later.
const ROWS_LOOKED_AT: usize = 20_000;
/// The longest body that can make a table.
const WHOLE_BYTES_MAX: u64 = 1 << 30;

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Arrow,
    Protobuf,
}

/// How a body is to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packing {
    form: Form,
    compression: Compression,
}

impl Packing {
    /// What the headers say. What they don't call otherwise is CSV.
    ///
    /// # Errors
    /// `415` for a packing that isn't known.
    pub(super) fn of(headers: &HeaderMap) -> Answered<Self> {
        let form = match content_type::kind(headers).as_str() {
            "application/vnd.apache.arrow.stream" | "application/arrow" => Form::Arrow,
            "application/x-protobuf" | "application/protobuf" => Form::Protobuf,
            _ => Form::Csv,
        };
        let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
        let encoding = encoding.unwrap_or_default();
        let compression = Compression::of_encoding(encoding).ok_or_else(|| {
            let why = format!("Content-Encoding: {encoding}: it must be gzip or zstd");
            Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)
        })?;
        Ok(Self { form, compression })
    }
}

/// Takes a body into the table of a name, made if it is missing: how many rows it had. To be called on a thread that
/// may block.
pub(super) fn take(
    state: &AppState,
    table: &str,
    packing: Packing,
    body: impl Read + Send + 'static,
) -> Answered<u64> {
    let unpackable = |cause: io::Error| {
        unread(Error::new(ErrorKind::Io, "the body could not be read").caused_by(cause))
    };
    let mut reader = unpacked(body, packing.compression).map_err(unpackable)?;
    if packing.form == Form::Csv {
        reader = Box::new(Utf8Only::new(reader));
    }
    let intake = Intake { state, table, form: packing.form };
    if let Some(there) = intake.there()? {
        let mut first = [0; 1];
        let begun = reader.read(&mut first).map_err(unpackable)?;
        // An Arrow stream has a beginning even without rows.
        if begun == 0 && packing.form != Form::Arrow {
            return Ok(0);
        }
        let first = first.get(..begun).unwrap_or_default().to_vec();
        let reader = Box::new(io::Cursor::new(first).chain(reader));
        return intake.add(&there, Input::Reader(reader)).map_err(unread);
    }
    let mut whole = Vec::new();
    reader.take(WHOLE_BYTES_MAX + 1).read_to_end(&mut whole).map_err(unpackable)?;
    if whole.len() as u64 > WHOLE_BYTES_MAX {
        let why = format!(
            "the body is longer than {WHOLE_BYTES_MAX} bytes, which is the most of one that makes a table: make it \
             by a shorter one"
        );
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, why));
    }
    // Of two bodies that come at once one makes the table, and the other is held to what that is.
    let taken = state.making_tables.alone(table, || match intake.there()? {
        Some(there) => intake.add(&there, Input::Bytes(whole.into())),
        None => intake.make(whole),
    });
    taken.map_err(unread)
}

struct Intake<'a> {
    state: &'a AppState,
    table: &'a str,
    form: Form,
}

impl Intake<'_> {
    fn there(&self) -> Result<Option<Table>> {
        match Table::open(&self.state.store, self.table) {
            Ok(table) => Ok(Some(table)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Rows for a table that is there.
    fn add(&self, table: &Table, body: Input) -> Result<u64> {
        let (columns, time) = (table.schema()?, table.time_column()?);
        let has_ids = table.hands_out_ids()?;
        // Arrow has types, of which only those of times and ids are read in this server's own way.
        let is_text =
            |name: &str| self.form != Form::Arrow || name == time || (has_ids && name == ID_COLUMN);
        let fields = columns.fields().iter().map(|field| match is_text(field.name()) {
            true => Field::new(field.name(), DataType::Utf8, true),
            false => Field::new(field.name(), field.data_type().clone(), true),
        });
        let source = Source::open(body, BODY, &self.reading(fields.collect(), ROWS_LOOKED_AT))?;
        let target = Target { columns, time, has_ids, blank_is_null: self.form == Form::Csv };
        let mut typing = Typing::new(target, self.state.store.wall_ns());
        let mut batches = source.map(|batch| typing.batch(&batch?));
        self.put(&mut batches, TableOptions::default())
    }

    /// Rows that make a table.
    fn make(&self, body: Vec<u8>) -> Result<u64> {
        if self.form == Form::Arrow {
            let rows = arrow::Rows::read(body, self.state.store.wall_ns())?;
            let options = TableOptions { time: Some(rows.time.clone()), ..new_table() };
            return self.put(&mut rows.batches.into_iter().map(Ok), options);
        }
        let (batches, seen) = self.look(body)?;
        if batches.is_empty() && self.form == Form::Csv {
            let message = "Ingestion error: No data rows found; behind the line of names the body needs a row";
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        let time = time_of(&seen);
        let field = |(name, seen): (&String, &Seen)| {
            let is_time = time.as_ref() == Some(name);
            Field::new(name, type_of(seen, is_time), !is_time)
        };
        let columns: SchemaRef = Arc::new(Schema::new(seen.iter().map(field).collect::<Vec<_>>()));
        let time = time.unwrap_or_else(|| ARRIVAL.to_owned());
        let options = TableOptions { time: Some(time.clone()), ..new_table() };
        let target = Target { columns, time, has_ids: true, blank_is_null: false };
        let mut typing = Typing::new(target, self.state.store.wall_ns());
        self.put(&mut batches.into_iter().map(|batch| typing.batch(&batch)), options)
    }

    fn put(
        &self,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
        table: TableOptions,
    ) -> Result<u64> {
        let options = IngestOptions { table, ..IngestOptions::default() };
        Ok(ingest(&self.state.store, self.table, batches, &options)?.rows)
    }

    /// All rows as text, and what the values of each column are.
    fn look(&self, body: Vec<u8>) -> Result<(Vec<RecordBatch>, BTreeMap<String, Seen>)> {
        let body = bytes::Bytes::from(body);
        let unnamed = self.reading(Vec::new(), 0);
        let named = Source::open(Input::Bytes(body.clone()), BODY, &unnamed)?.schema();
        let names = named.fields().iter().map(|field| field.name().as_str());
        let mut seen: BTreeMap<String, Seen> =
            names.clone().map(|name| (name.to_owned(), Seen::default())).collect();
        let text = names.map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let source = Source::open(Input::Bytes(body), BODY, &self.reading(text, 0))?;
        let batches: Vec<RecordBatch> = source.collect::<Result<_>>()?;
        for batch in &batches {
            for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                let text = column.as_string_opt::<i32>();
                let Some((text, seen)) = text.zip(seen.get_mut(field.name())) else { continue };
                text.iter().flatten().for_each(|value| seen.add(value));
            }
        }
        Ok((batches, seen))
    }

    /// How to read a body that has columns of these types, with all that is in them. So many rows tell what others
    /// are.
    fn reading(&self, columns: Vec<Field>, sample_rows: usize) -> ReadOptions {
        let options = ReadOptions {
            compression: Some(Compression::None),
            null_text: Some(Vec::new()),
            schema: Some(Arc::new(Schema::new(columns))),
            sample_rows,
            ..ReadOptions::default()
        };
        match self.form {
            Form::Csv => ReadOptions {
                format: Some(Format::Csv),
                delimiter: Some(Delimiter::Byte(b',')),
                ..options
            },
            Form::Arrow => ReadOptions { format: Some(Format::ArrowStream), ..options },
            Form::Protobuf => ReadOptions {
                format: Some(Format::Protobuf),
                // Each row has columns of its own, so all of them tell what there are.
                sample_rows: usize::MAX,
                sample_bytes: usize::MAX,
                ..options
            },
        }
    }
}

/// A table whose rows are told apart by their ids.
fn new_table() -> TableOptions {
    TableOptions { hand_out_ids: true, ..TableOptions::default() }
}

/// Which column is the time: of those that can be the one with the likeliest name, or the first by name.
fn time_of(seen: &BTreeMap<String, Seen>) -> Option<String> {
    let can_be = seen.iter().filter(|(name, seen)| *name != ID_COLUMN && seen.may_be_time(name));
    let rank = |name: &str| {
        let likely = TIME_NAMES.iter().position(|known| name.eq_ignore_ascii_case(known));
        let lower = name.to_lowercase();
        let is_called_so = lower.contains("time") || lower.contains("date");
        (likely.unwrap_or(TIME_NAMES.len()), !is_called_so)
    };
    can_be.map(|(name, _)| name.clone()).min_by_key(|name| rank(name))
}

/// The type of a new column. Whole numbers that are the time count milliseconds, and are told as such.
fn type_of(seen: &Seen, is_time: bool) -> DataType {
    match seen.kind() {
        Kind::Id => DataType::UInt64,
        Kind::Integer if is_time => times::data_type(TimeUnit::Millisecond),
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Timestamp if seen.is_fine() => times::data_type(TimeUnit::Nanosecond),
        Kind::Timestamp => times::data_type(TimeUnit::Microsecond),
        Kind::Text => DataType::Utf8,
    }
}
