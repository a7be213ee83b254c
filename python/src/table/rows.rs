//! `Rows`: the answer to a question, read when it is used.

use std::fmt;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use timestrata_engine::Result;

use super::left_out::LeftOut;
use super::preview::{Preview, ROWS_SHOWN, unless_unread, unless_unread_html};
use super::values::{RowReader, row_objects};
use super::write::batch_of;
use crate::interrupt::detached;
use crate::lock::Lock;
use crate::reports::missing_rows;
use crate::typed::{batches_as_stream, batches_as_table, numpy, schema_as_capsule};

/// Record batches, in order.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Begins to read anew at each call.
type Read = dyn Fn() -> Result<Batches> + Send + Sync;

/// Rows that a scan or a query gives. Read when used, and anew each time, always as of the moment
/// when they were asked for; those of a server (`timestrata.connect`) are asked for again, and are as of then.
///
/// Give it to any library that knows Arrow's stream protocol, call one of the ``to_`` methods, or
/// iterate over its rows as dicts.
///
/// Batches of a scan that is larger than the store's cache lie together in memory, in pieces of 2 MiB: whoever keeps a few of
/// many batches, or of their columns, for long keeps what lies beside them too, and copies them if that is too much.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> store = timestrata.open()
/// >>> table = store.table("t")
/// >>> table.append({"ts": [1_700_000_000, 1_700_000_060], "x": [1, 2]})
/// 2
/// >>> rows = table.scan(columns=["x"])
/// >>> rows
/// <Rows x: Int64>
/// x
/// 1
/// 2
/// (2 rows)
/// >>> list(rows)
/// [{'x': 1}, {'x': 2}]
#[pyclass(frozen, module = "timestrata", weakref)]
pub(crate) struct Rows {
    schema: SchemaRef,
    read: Arc<Read>,
    left_out: Arc<LeftOut>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Rows {
    pub(crate) fn new<I>(
        schema: SchemaRef,
        read: impl Fn() -> Result<I> + Send + Sync + 'static,
    ) -> Self
    where
        I: Iterator<Item = Result<RecordBatch>> + Send + 'static,
    {
        let read = move || Ok(Box::new(read()?) as Batches);
        Self { schema, read: Arc::new(read), left_out: Arc::default() }
    }

    /// Rows that are asked for at once, so that mistakes are told at once, and can be asked for again.
    pub(crate) fn asked<I>(
        py: Python<'_>,
        schema_of: impl FnOnce(&I) -> SchemaRef,
        ask: impl Fn() -> Result<I> + Send + Sync + 'static,
    ) -> PyResult<Self>
    where
        I: Iterator<Item = Result<RecordBatch>> + Send + 'static,
    {
        let first = detached(py, &ask)?;
        let schema = schema_of(&first);
        // The first answer, until somebody reads it.
        let first = Lock::new(Some(first));
        Ok(Self::new(schema, move || {
            let first = first.lock().take();
            first.map_or_else(&ask, Ok)
        }))
    }

    /// Rows that are in memory.
    pub(crate) fn of_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self::new(schema, move || Ok(batches.clone().into_iter().map(Ok)))
    }

    /// Rows of which `read` leaves some out, and tells of them.
    pub(super) fn telling(
        schema: SchemaRef,
        read: impl Fn(&Arc<LeftOut>) -> Result<Batches> + Send + Sync + 'static,
    ) -> Self {
        let left_out = Arc::new(LeftOut::default());
        let told = Arc::clone(&left_out);
        Self { schema, read: Arc::new(move || read(&told)), left_out }
    }

    /// Names and types of the columns.
    fn head(&self) -> String {
        let columns = self.schema.fields().iter();
        let columns = columns.map(|field| format!("{}: {}", field.name(), field.data_type()));
        format!("<Rows {}>", columns.collect::<Vec<_>>().join(", "))
    }

    /// The first rows.
    fn preview(&self, py: Python<'_>) -> PyResult<Preview> {
        let mut batches = detached(py, || (self.read)())?;
        let (mut first, mut rows) = (Vec::new(), 0);
        while rows <= ROWS_SHOWN {
            let Some(batch) = detached(py, || batches.next().transpose())? else { break };
            rows += batch.num_rows();
            first.push(batch);
            py.check_signals()?;
        }
        Ok(Preview::of(&self.schema, &first))
    }

    /// All batches, read while Ctrl-C is heard.
    fn collect(&self, py: Python<'_>) -> PyResult<Vec<RecordBatch>> {
        let mut batches = detached(py, || (self.read)())?;
        let mut all = Vec::new();
        while let Some(batch) = detached(py, || batches.next().transpose())? {
            all.push(batch);
            py.check_signals()?;
        }
        Ok(all)
    }
}

#[pymethods]
impl Rows {
    /// Names of the columns, in order.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.schema.fields().iter().map(|field| field.name()))
    }

    /// What was left out because it is damaged, as far as the rows have been read by now: a list of
    /// dicts of ``stream``; ``key_min`` and ``key_max``, both inclusive, as text; ``rows``, how many;
    /// ``path`` and ``offset`` of the damage, in bytes; ``why``. Always empty but for a scan with
    /// ``skip_damaged``: others end with an error.
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.left_out.list().iter().map(|missing| missing_rows(py, missing)).collect()
    }

    /// Rows of anything that `Table.append` takes, in memory. For `timestrata.connect`.
    #[staticmethod]
    fn _of(rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let batch = batch_of(rows)?;
        Ok(Self::of_batches(batch.schema(), vec![batch]))
    }

    /// The same rows in memory, read now. For the await forms.
    fn _read(&self, py: Python<'_>) -> PyResult<Self> {
        let batches = self.collect(py)?;
        let rows = Self::of_batches(SchemaRef::clone(&self.schema), batches);
        Ok(Self { left_out: Arc::clone(&self.left_out), ..rows })
    }

    /// Give the rows as a ``pyarrow.Table``. Needs pyarrow.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.scan().to_arrow().num_rows
    /// 2
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let batches = self.collect(py)?.into_iter().map(Ok);
        batches_as_table(py, SchemaRef::clone(&self.schema), batches)
    }

    /// Give the rows as a ``pandas.DataFrame``. Needs pandas and pyarrow.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> list(rooms.scan().to_pandas()["celsius"])
    /// [20.0, 21.5]
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.to_arrow(py)?.call_method0("to_pandas")
    }

    /// Give the rows as a ``polars.DataFrame``. Needs polars.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.scan().to_polars()["celsius"].to_list()
    /// [20.0, 21.5]
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // Read here, where Ctrl-C is heard.
        let (schema, batches) = (SchemaRef::clone(&slf.get().schema), slf.get().collect(slf.py())?);
        let rows = Self::of_batches(schema, batches);
        slf.py().import("polars")?.call_method1("DataFrame", (rows,))
    }

    /// Give the columns as a dict of numpy arrays. Numbers and times that lie in one piece of the
    /// store's memory are not copied, and can't be written to. Nulls are NaN, NaT or None.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.scan().to_numpy()["celsius"]
    /// array([20. , 21.5])
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let module = py.import("numpy")?;
        let batches = self.collect(py)?;
        let arrays = PyDict::new(py);
        for (index, field) in self.schema.fields().iter().enumerate() {
            let parts: Vec<&ArrayRef> =
                batches.iter().filter_map(|batch| batch.columns().get(index)).collect();
            let array = match is_numeric(field, &parts) {
                true => numpy::column(&module, field, &parts, None)?,
                false => object_array(&module, field, &parts)?,
            };
            arrays.set_item(field.name(), array)?;
        }
        Ok(arrays)
    }

    /// Give the rows as a list of dicts.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.scan(columns=["celsius"]).to_pylist()
    /// [{'celsius': 20.0}, {'celsius': 21.5}]
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let reader = RowReader::new(py, &self.schema)?;
        for batch in self.collect(py)? {
            for row in 0..batch.num_rows() {
                list.append(reader.row(py, &batch, row)?)?;
            }
        }
        Ok(list)
    }

    /// Count the rows by reading them.
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        let mut batches = detached(py, || (self.read)())?;
        let mut rows = 0;
        while let Some(batch) = detached(py, || batches.next().transpose())? {
            rows += batch.num_rows();
            py.check_signals()?;
        }
        Ok(rows)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<RowsIter> {
        let batches = detached(py, || (self.read)())?;
        let reader = RowReader::new(py, &self.schema)?;
        let cursor = RowsCursor { batches, batch: None, row: 0 };
        Ok(RowsIter { reader, cursor: Lock::new(cursor) })
    }

    /// The rows, for other Arrow libraries; see the Arrow C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = detached(py, || (self.read)())?;
        batches_as_stream(py, SchemaRef::clone(&self.schema), batches, requested_schema)
    }

    /// The columns, for other Arrow libraries.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_as_capsule(py, self.schema.as_ref())
    }

    /// The first rows, which are read for it.
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let head = self.head();
        let shown = self.preview(py).map(|preview| preview.text(&head));
        unless_unread(py, shown, &head)
    }

    /// The first rows, as notebooks show them.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let shown = self.preview(py).map(|preview| preview.html("Rows"));
        unless_unread_html(py, shown, &self.head())
    }
}

/// Numbers and times; but whole numbers with nulls have no numpy type.
fn is_numeric(field: &Field, parts: &[&ArrayRef]) -> bool {
    let data_type = field.data_type();
    let is_time = matches!(data_type, DataType::Timestamp(_, _) | DataType::Duration(_));
    let is_float = matches!(data_type, DataType::Float32 | DataType::Float64);
    let has_nulls = parts.iter().any(|part| part.null_count() > 0);
    is_time || is_float || data_type.is_integer() && !has_nulls
}

fn object_array<'py>(
    numpy: &Bound<'py, PyModule>,
    field: &Field,
    parts: &[&ArrayRef],
) -> PyResult<Bound<'py, PyAny>> {
    let objects = PyList::empty(numpy.py());
    let mut has_nulls = false;
    for part in parts {
        has_nulls |= part.null_count() > 0;
        row_objects(numpy.py(), field, part, &objects)?;
    }
    let dtype = match field.data_type() {
        DataType::Boolean if !has_nulls => "bool",
        _ => "object",
    };
    // Lists of lists must not become arrays of two dimensions.
    let array = numpy.call_method1("empty", (objects.len(), dtype))?;
    if !objects.is_empty() {
        array.set_item(pyo3::types::PySlice::full(numpy.py()), objects)?;
    }
    Ok(array)
}

/// Iterates over rows, as dicts.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> rooms = timestrata.open().table("rooms")
/// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
/// 2
/// >>> rows = iter(rooms.scan(columns=["celsius"]))
/// >>> next(rows)
/// {'celsius': 20.0}
#[pyclass(frozen, module = "timestrata")]
pub(crate) struct RowsIter {
    reader: RowReader,
    cursor: Lock<RowsCursor>,
}

struct RowsCursor {
    batches: Batches,
    batch: Option<RecordBatch>,
    row: usize,
}

impl RowsCursor {
    /// The next row; the batch it is in.
    fn next(&mut self) -> Result<Option<(RecordBatch, usize)>> {
        loop {
            match &self.batch {
                Some(batch) if self.row < batch.num_rows() => {
                    self.row += 1;
                    return Ok(Some((batch.clone(), self.row - 1)));
                }
                _ => {}
            }
            self.row = 0;
            self.batch = self.batches.next().transpose()?;
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }
}

#[pymethods]
impl RowsIter {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = detached(py, || self.cursor.lock().next())?;
        match next {
            Some((batch, row)) => self.reader.row(py, &batch, row).map(Some),
            None => Ok(None),
        }
    }
}
