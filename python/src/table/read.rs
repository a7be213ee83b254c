//! Rows out.

use std::iter::once;

use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDate, PyDateTime, PyDict, PyString};
use timestrata_engine::{Cell, KeyRange, LeadKey, Result};
use timestrata_table::{
    Table as TableModel, TableScan, TableView, parse_time, time_array, without_first,
};
use timestrata_timelog::Unit;

use super::Table;
use super::left_out::Telling;
use super::rows::{Batches, Rows};
use super::values::RowReader;
use crate::error::{invalid, to_python};
use crate::interrupt::detached;
use crate::store::names_of;
use crate::timestamp::timestamp;
use crate::typed::{Held, Kind, cell_object};

impl Table {
    pub(crate) fn view(&self, py: Python<'_>) -> PyResult<TableView> {
        self.detached(py, TableModel::view)
    }

    /// The range of times from `start` to before `end`.
    pub(crate) fn range(
        view: &TableView,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<KeyRange> {
        let bound =
            |value: Option<&Bound<'_, PyAny>>| value.map(|value| time_of(view, value)).transpose();
        let (lo, hi) = (bound(start)?, bound(end)?);
        if let (Some(lo), Some(hi)) = (lo, hi)
            && lo > hi
        {
            return Err(invalid(format!("range from time {lo} to {hi}: it ends before it begins")));
        }
        Ok(KeyRange::new(lo.map(LeadKey::Time), hi.map(LeadKey::Time)))
    }

    /// The first or the last time, as Python has it; None without rows.
    fn bound<'py>(
        &self,
        py: Python<'py>,
        time: impl FnOnce(&TableView, &KeyRange) -> Result<Option<i64>> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = self.view(py)?;
        let found = detached(py, || time(&view, &KeyRange::ALL))?;
        let Some(found) = found else { return Ok(py.None().into_bound(py)) };
        let data_type = view.schema().field(view.stream().lead_column()).data_type();
        let array = time_array(data_type, vec![found]).map_err(to_python)?;
        cell_object(py, Kind::of(data_type)?, array.as_ref(), 0)
    }

    fn rows_of(view: TableView, scan: TableScan, offset: usize) -> PyResult<Rows> {
        let schema = Python::attach(|py| {
            // Wrong columns are told at once.
            let glance = TableScan { ahead: false, ..scan.clone() };
            detached(py, || view.scan(&glance)).map(|scan| scan.schema())
        })?;
        Ok(Rows::telling(schema, move |left_out| {
            let rows = view.scan(&scan)?;
            Ok(match scan.skip_damaged {
                true => Box::new(without_first(Telling::new(rows, left_out), offset)) as Batches,
                false => Box::new(without_first(rows, offset)),
            })
        }))
    }
}

/// A time in the unit of the table's.
fn time_of(view: &TableView, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let field = view.schema().field(view.stream().lead_column());
    if let Ok(text) = value.cast::<PyString>() {
        return parse_time(&text.to_string(), field.data_type()).map_err(to_python);
    }
    match field.data_type() {
        // A day begins at midnight UTC.
        DataType::Timestamp(..)
            if value.is_instance_of::<PyDate>() && !value.is_instance_of::<PyDateTime>() =>
        {
            let text: String = value.call_method0("isoformat")?.extract()?;
            parse_time(&text, field.data_type()).map_err(to_python)
        }
        DataType::Timestamp(unit, _) => timestamp(value, Unit::from(*unit)),
        _ => value.extract(),
    }
}

#[pymethods]
impl Table {
    /// Read rows in time order, from ``start`` to before ``end``.
    ///
    /// Nothing is read until the answer is used; it shows the table as it is now.
    ///
    /// Parameters
    /// ----------
    /// start, end : time, optional
    ///     An int in the table's unit, a datetime, a date, an ISO string, a numpy or pandas time.
    /// columns : list of str, optional
    /// where : str, optional
    ///     A condition in SQL.
    /// params : list or dict, optional
    ///     Values for placeholders in the condition.
    /// limit : int, optional
    /// offset : int, optional
    ///     How many of the first rows are left out. They are read all the same: where pages go deep, a ``start`` where
    ///     the last one ended is sooner. Each call sees the table as it is then; to page through one moment, take
    ///     rows from one answer, by ``itertools.batched`` say.
    /// reverse : bool, optional
    ///     Newest first.
    /// skip_damaged : bool, optional
    ///     Leave out what is damaged, where the answer else ends with CorruptionError; once it is
    ///     read, its ``missing`` says which rows that were. Of a table with an upsert key nothing
    ///     older within the keys of a damaged block is given either: it may have been replaced there.
    ///     Not together with ``where``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.scan("2024-05-02", columns=["celsius"]).to_pylist()
    /// [{'celsius': 21.5}]
    /// >>> rooms.scan(where="celsius < $1", params=[21], columns=["celsius"]).to_pylist()
    /// [{'celsius': 20.0}]
    #[pyo3(signature = (start=None, end=None, *, columns=None, r#where=None, params=None,
                        limit=None, offset=0, reverse=false, skip_damaged=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn scan(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        columns: Option<Vec<String>>,
        r#where: Option<&str>,
        params: Option<&Bound<'_, PyAny>>,
        limit: Option<usize>,
        offset: usize,
        reverse: bool,
        skip_damaged: bool,
    ) -> PyResult<Rows> {
        if skip_damaged && r#where.is_some() {
            let message = "skip_damaged goes without where: filter the rows that the scan gives";
            return Err(invalid(message));
        }
        let view = self.view(py)?;
        let range = Self::range(&view, start, end)?;
        let scan = TableScan { range, columns, limit, reverse, ahead: true, skip_damaged };
        #[cfg(feature = "sql")]
        if let Some(condition) = r#where {
            return self.select(py, &view, scan, offset, (condition, params));
        }
        #[cfg(not(feature = "sql"))]
        if r#where.is_some() || params.is_some() {
            return Err(invalid("this build has no SQL"));
        }
        let _ = params;
        let limit = limit.map(|limit| limit.saturating_add(offset));
        Self::rows_of(view, TableScan { limit, ..scan }, offset)
    }

    /// The first ``n`` rows.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> [row["celsius"] for row in rooms.head(1)]
    /// [20.0]
    #[pyo3(signature = (n=5))]
    fn head(&self, py: Python<'_>, n: usize) -> PyResult<Rows> {
        let scan = TableScan { limit: Some(n), ..TableScan::default() };
        Self::rows_of(self.view(py)?, scan, 0)
    }

    /// The last ``n`` rows, oldest first.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> [row["celsius"] for row in rooms.tail(1)]
    /// [21.5]
    #[pyo3(signature = (n=5))]
    fn tail(&self, py: Python<'_>, n: usize) -> PyResult<Rows> {
        let view = self.view(py)?;
        let schema = view.schema().clone();
        Ok(Rows::new(schema, move || Ok(once(Ok(view.last(n)?)))))
    }

    /// The newest row of each combination of values in the columns ``by``, newest first.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-01", "2024-05-02"],
    /// ...               "room": ["hall", "attic", "hall"], "celsius": [19.0, 25.0, 21.5]})
    /// 3
    /// >>> sorted((row["room"], row["celsius"]) for row in rooms.latest("room"))
    /// [('attic', 25.0), ('hall', 21.5)]
    #[pyo3(signature = (by, start=None, end=None))]
    fn latest(
        &self,
        by: &Bound<'_, PyAny>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let (py, by) = (by.py(), names_of(Some(by))?);
        let view = self.view(py)?;
        let range = Self::range(&view, start, end)?;
        for name in &by {
            view.column(name).map_err(to_python)?;
        }
        let schema = view.schema().clone();
        Ok(Rows::new(schema, move || Ok(once(Ok(view.latest(&by, &range)?)))))
    }

    /// The series of the rows from ``start`` to before ``end``: for each combination of the tags' values that some row has,
    /// these, its ``first`` time, its ``last`` one and the ``count`` of its rows, in the order of the tags.
    ///
    /// Compacted rows are not read for it where their run keeps what they come to, which it does where series have a
    /// thousand rows and more. A name that a tag has is followed by ``_``.
    ///
    /// Raises
    /// ------
    /// InvalidArgumentError
    ///     The table has no tags.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms", tags="room")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-01", "2024-05-02"],
    /// ...               "room": ["hall", "attic", "hall"], "celsius": [19.0, 25.0, 21.5]})
    /// 3
    /// >>> [(row["room"], row["last"].day, row["count"]) for row in rooms.series()]
    /// [('attic', 1, 1), ('hall', 2, 2)]
    #[pyo3(signature = (start=None, end=None))]
    fn series(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rows> {
        let view = self.view(py)?;
        let range = Self::range(&view, start, end)?;
        let schema = view.series_schema().map_err(to_python)?;
        Ok(Rows::new(schema, move || Ok(once(Ok(view.series(&range)?)))))
    }

    /// What each column is, and takes in compacted runs: for each name a dict of ``type``, ``bytes`` (encoded
    /// and compressed), ``plain_bytes``, ``ratio`` and ``encodings``. Of rows that are not compacted yet
    /// nothing is counted, so before the first compaction the numbers are 0 and there are no encodings.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        if self.existing(py)?.is_none() {
            return Ok(columns);
        }
        let view = self.view(py)?;
        let sizes = detached(py, || view.column_sizes())?;
        for size in sizes {
            let told = PyDict::new(py);
            let field = view.schema().field_with_name(&size.name);
            told.set_item("type", field.map(|field| field.data_type().to_string()).ok())?;
            told.set_item("bytes", size.stored_bytes)?;
            told.set_item("plain_bytes", size.plain_bytes)?;
            told.set_item("ratio", size.ratio())?;
            told.set_item("encodings", size.encodings)?;
            columns.set_item(size.name, told)?;
        }
        Ok(columns)
    }

    /// Count the rows from ``start`` to before ``end``, exactly.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.count(), rooms.count("2024-05-02")
    /// (2, 1)
    #[pyo3(signature = (start=None, end=None))]
    fn count(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        if self.existing(py)?.is_none() {
            return Ok(0);
        }
        let view = self.view(py)?;
        let range = Self::range(&view, start, end)?;
        detached(py, || view.count(&range))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.count(py, None, None)?).unwrap_or(usize::MAX))
    }

    /// The row with an upsert key, as a dict; None if there is none.
    ///
    /// Parameters
    /// ----------
    /// key : object, or tuple of objects
    ///     One value a key column, in the order of ``key``.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> users = timestrata.open().table("users", key="name")
    /// >>> users.append({"time": "2024-05-01", "name": "ada", "age": 36})
    /// 1
    /// >>> users.row("ada")["age"]
    /// 36
    fn row<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let view = self.view(py)?;
        let values: Vec<Bound<'py, PyAny>> = match key.cast::<pyo3::types::PyTuple>() {
            Ok(several) => several.iter().collect(),
            Err(_) => vec![key.clone()],
        };
        let mut held = Vec::with_capacity(values.len());
        for (name, value) in view.key().iter().zip(&values) {
            let column = view.column(name).map_err(to_python)?;
            let field = &view.schema().fields()[column];
            held.push(
                match value.is_instance_of::<PyString>() && column == view.stream().lead_column() {
                    true => Held::Int(time_of(&view, value)?),
                    false => Held::of(Kind::of(field.data_type())?, field, value)?,
                },
            );
        }
        let mut cells: Vec<Cell<'_>> = held.iter().map(Held::cell).collect();
        // One too many is an error of the table's.
        cells.resize(values.len(), Cell::Null);
        let Some(row) = detached(py, || view.row(&cells))? else { return Ok(None) };
        RowReader::new(py, view.schema())?.row(py, &row.batch, row.index).map(Some)
    }

    /// Time of the oldest row; None if there is none.
    fn min_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.bound(py, TableView::min_time)
    }

    /// Time of the newest row; None if there is none.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> str(rooms.max_time())
    /// '2024-05-02 00:00:00+00:00'
    fn max_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.bound(py, TableView::max_time)
    }

    /// All rows, for other Arrow libraries; see the Arrow C stream interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let rows = Self::rows_of(self.view(py)?, TableScan::default(), 0)?;
        rows.__arrow_c_stream__(py, requested_schema)
    }
}
