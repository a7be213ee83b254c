//! Bodies that are read while they are sent: rows that Python brings, and file objects.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use timestrata_engine::{Error, ErrorKind, Result, Settings, Store};
use timestrata_table::{Table, TableOptions};
use timestrata_values::time::relabeled;

use crate::error::to_python;
use crate::interrupt::{asker_stays, attached, detached};
use crate::table::{Input, owned};

/// Bytes that are asked of a file object at once.
const PIECE_BYTES: usize = 1 << 20;

type Batches = Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send>;

/// What a table's times are. Whole numbers are in their unit, which only who knows the table can say.
#[derive(Debug)]
pub(super) enum Times {
    /// Of a table that is there: the time column and its type.
    Known(String, DataType),
    /// Of one that will be made, with the time column that is wanted.
    New(Option<String>),
}

/// The time column of a new table of these rows, and its type: as a table in memory has it.
fn time_of(rows: &RecordBatch, wanted: Option<String>) -> Option<(String, DataType)> {
    let store = Store::memory(Settings::default()).ok()?;
    let options = TableOptions { time: wanted, ..TableOptions::default() };
    // What can't be a table the server refuses, in its own words.
    let table = Table::create_for(&store, "rows", &owned(rows).ok()?, &options).ok()?;
    let name = table.time_column().ok()?;
    let data_type = table.schema().ok()?.field_with_name(&name).ok()?.data_type().clone();
    Some((name, data_type))
}

/// Rows of types that tables keep, with whole numbers in the time column as times.
fn fitted(rows: &RecordBatch, time: Option<&(String, DataType)>) -> Result<RecordBatch> {
    let rows = owned(rows)?;
    let Some((name, data_type @ DataType::Timestamp(..))) = time else { return Ok(rows) };
    let Some((index, field)) = rows.schema_ref().column_with_name(name) else { return Ok(rows) };
    if !field.data_type().is_integer() {
        return Ok(rows);
    }
    let mut fields = rows.schema_ref().fields().to_vec();
    let mut columns = rows.columns().to_vec();
    let (Some(own), Some(column)) = (fields.get_mut(index), columns.get_mut(index)) else {
        return Ok(rows);
    };
    let numbers = arrow_cast::cast(column, &DataType::Int64).map_err(unwritten)?;
    *own = Arc::new(field.clone().with_data_type(data_type.clone()));
    *column = relabeled(&numbers, data_type)?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(unwritten)
}

/// Rows as a stream of Arrow's, a batch at a time.
pub(super) struct ArrowBody {
    batches: Batches,
    /// Made with the first batch: types are those that tables keep.
    writer: Option<StreamWriter<Vec<u8>>>,
    schema: SchemaRef,
    /// The time column, and its type in the table.
    time: Option<(String, DataType)>,
    ready: Cursor<Vec<u8>>,
    is_done: bool,
    failure: Option<Error>,
}

impl ArrowBody {
    /// Rows of anything that `Table.append` takes, for a table whose times are as told.
    ///
    /// # Errors
    /// As `Table.append`, for what holds no rows.
    pub(super) fn of(rows: &Bound<'_, PyAny>, times: &Times) -> PyResult<Self> {
        let (schema, mut batches): (SchemaRef, Batches) = match Input::of(rows)? {
            Input::One(batch) => (batch.schema(), Box::new(std::iter::once(Ok(batch)))),
            Input::Stream(reader) => (reader.schema(), Box::new(reader)),
        };
        let mut time = None;
        match times {
            Times::Known(name, data_type) => time = Some((name.clone(), data_type.clone())),
            Times::New(wanted) => {
                if let Some(first) = detached(rows.py(), || Ok(batches.next()))? {
                    time = first.as_ref().ok().and_then(|rows| time_of(rows, wanted.clone()));
                    batches = Box::new(std::iter::once(first).chain(batches));
                }
            }
        }
        // Without a batch the columns are still told.
        let empty = fitted(&RecordBatch::new_empty(schema), time.as_ref());
        let schema = empty.map_err(to_python)?.schema();
        let ready = Cursor::new(Vec::new());
        Ok(Self { batches, writer: None, schema, time, ready, is_done: false, failure: None })
    }

    /// What the rows themselves failed with.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The bytes of the next batch, or of the end.
    fn advance(&mut self) -> Result<Vec<u8>> {
        if !asker_stays() {
            return Err(Error::new(ErrorKind::Cancelled, "the request was given up"));
        }
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => StreamWriter::try_new(Vec::new(), &self.schema).map_err(unwritten)?,
        };
        match self.batches.next() {
            Some(batch) => {
                let failed = |error: ArrowError| {
                    let message = format!("the Arrow stream failed: {error}");
                    Error::new(ErrorKind::InvalidData, message)
                };
                let batch = fitted(&batch.map_err(failed)?, self.time.as_ref())?;
                writer.write(&batch).map_err(unwritten)?;
            }
            None => {
                writer.finish().map_err(unwritten)?;
                self.is_done = true;
            }
        }
        let bytes = std::mem::take(writer.get_mut());
        self.writer = Some(writer);
        Ok(bytes)
    }
}

/// Rows as a stream of Arrow's, all of it.
pub(super) fn whole_stream(rows: &RecordBatch) -> Result<Vec<u8>> {
    let mut writer = StreamWriter::try_new(Vec::new(), rows.schema_ref()).map_err(unwritten)?;
    writer.write(rows).and_then(|()| writer.finish()).map_err(unwritten)?;
    writer.into_inner().map_err(unwritten)
}

fn unwritten(error: ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the rows have no Arrow stream: {error}"))
}

impl Read for ArrowBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.ready.read(buffer)?;
            if read > 0 || buffer.is_empty() || self.is_done {
                return Ok(read);
            }
            match self.advance() {
                Ok(bytes) => self.ready = Cursor::new(bytes),
                Err(error) => {
                    let told = io::Error::other(error.to_string());
                    self.failure = Some(error);
                    return Err(told);
                }
            }
        }
    }
}

/// What a Python object's `read` gives.
pub(super) struct ObjectBody {
    object: Py<PyAny>,
    piece: Cursor<Vec<u8>>,
    raised: Option<PyErr>,
}

impl ObjectBody {
    pub(super) fn new(object: Py<PyAny>) -> Self {
        Self { object, piece: Cursor::new(Vec::new()), raised: None }
    }

    /// What reading the object has raised.
    pub(super) fn raised(self) -> Option<PyErr> {
        self.raised
    }

    fn next_piece(&self) -> PyResult<Vec<u8>> {
        attached(|py| {
            py.check_signals()?;
            let piece = self.object.bind(py).call_method1("read", (PIECE_BYTES,))?;
            let wrong = "read() gave no bytes: open the file as 'rb'";
            let bytes = piece.cast::<PyBytes>();
            let bytes = bytes.map_err(|_| pyo3::exceptions::PyTypeError::new_err(wrong))?;
            Ok(bytes.as_bytes().to_vec())
        })
    }
}

impl Read for ObjectBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.piece.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        match self.next_piece() {
            Ok(piece) => self.piece = Cursor::new(piece),
            Err(raised) => {
                self.raised = Some(raised);
                return Err(io::Error::other("reading the object failed"));
            }
        }
        self.piece.read(buffer)
    }
}
