//! Rows out: dicts, numpy arrays, Arrow tables and what is made of them, HTML.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyFloat, PyList, PySlice};

use super::arguments::TimeRange;
use super::iterator::TimelogIter;
use super::stored::Stored;
use super::{Asked, Timelog};
use crate::error::invalid;
use crate::interrupt::{SIGNAL_ROWS, Turns};
use crate::typed::{batches_as_stream, batches_as_table};

/// Rows that are converted at once.
const CHUNK_ROWS: usize = 65_536;
/// Rows from each end, and characters of a value, that are shown as HTML.
const SHOWN_ROWS: isize = 5;
const SHOWN_CHARS: usize = 200;

impl Timelog {
    fn bounded(
        &self,
        t1: Option<&Bound<'_, PyAny>>,
        t2: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TimeRange> {
        let end =
            |value: Option<&Bound<'_, PyAny>>| value.map(|value| self.time(value)).transpose();
        Ok(TimeRange::of(end(t1)?, end(t2)?).or_empty())
    }

    /// The entries of a range, one after the other.
    fn between<'py>(
        slf: &Bound<'py, Self>,
        t1: Option<&Bound<'py, PyAny>>,
        t2: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, TimelogIter>> {
        let range = slf.get().bounded(t1, t2)?;
        Bound::new(slf.py(), Self::entries(slf, range, false)?)
    }

    /// What `timestrata.exports` makes of the objects of a range.
    fn exported<'py>(
        slf: &Bound<'py, Self>,
        function: &str,
        (t1, t2): (Option<&Bound<'py, PyAny>>, Option<&Bound<'py, PyAny>>),
        form: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let exports = py.import("timestrata.exports")?;
        exports.call_method1("check_form", (form,))?;
        let entries = Self::between(slf, t1, t2)?;
        let (times, values) = (PyList::empty(py), PyList::empty(py));
        let mut turns = RowTurns::new();
        while let Some((time, object)) = entries.get().next_entry(py)? {
            times.append(time)?;
            values.append(object)?;
            turns.row(py)?;
        }
        exports.call_method1(function, (times, values, slf.get().unit()?.name(), form))
    }

    /// The log, if a store keeps it in columns.
    fn typed(&self) -> PyResult<Option<Arc<Stored>>> {
        match self.ask(|_| ())? {
            Asked::Of(stored) if stored.decoder.typed().is_some() => Ok(Some(stored)),
            Asked::Of(_) | Asked::Answer(()) => Ok(None),
        }
    }
}

#[pymethods]
impl Timelog {
    /// Give ``{timestamp: object}``; of several objects at one timestamp, the last.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> door.to_dict(t2=9)
    /// {1: 'opened', 5: 'closed'}
    #[pyo3(signature = (t1=None, t2=None))]
    fn to_dict<'py>(
        slf: &Bound<'py, Self>,
        t1: Option<&Bound<'py, PyAny>>,
        t2: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let entries = Self::between(slf, t1, t2)?;
        let dict = PyDict::new(py);
        let mut turns = RowTurns::new();
        while let Some((time, object)) = entries.get().next_entry(py)? {
            dict.set_item(time, object)?;
            turns.row(py)?;
        }
        Ok(dict)
    }

    /// Give two numpy arrays: timestamps as int64, and values as numbers.
    ///
    /// Parameters
    /// ----------
    /// t1, t2 : int, optional
    ///     From ``t1`` to before ``t2``.
    /// dtype : numpy dtype, optional
    ///     A numeric one; float64 unless given.
    ///
    /// In a log of codec "arrow" the values keep the type of their column unless a dtype is given,
    /// several columns come as a dict of arrays, and nothing is copied where all rows lie in one
    /// block of a run: the arrays are the store's own memory, and can't be written to. Nulls are
    /// NaN or NaT.
    ///
    /// Raises
    /// ------
    /// TypeError
    ///     The dtype is not numeric. What a value can't be converted with keeps its type, with
    ///     a note that names the row.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> celsius = timestrata.open().timelog("celsius")
    /// >>> celsius.extend([(1, 20.0), (2, 21.5)])
    /// >>> times, values = celsius.to_numpy()
    /// >>> times.tolist(), values.tolist()
    /// ([1, 2], [20.0, 21.5])
    #[pyo3(signature = (t1=None, t2=None, *, dtype=None))]
    fn to_numpy<'py>(
        slf: &Bound<'py, Self>,
        t1: Option<&Bound<'py, PyAny>>,
        t2: Option<&Bound<'py, PyAny>>,
        dtype: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        if let Some(stored) = slf.get().typed()?
            && let Some(typed) = stored.decoder.typed()
        {
            return stored.typed_numpy(py, typed, slf.get().bounded(t1, t2)?, dtype);
        }
        let numpy = py.import("numpy")?;
        let dtype = match dtype {
            Some(dtype) => numpy.call_method1("dtype", (dtype,))?,
            None => numpy.call_method1("dtype", ("float64",))?,
        };
        let kind: String = dtype.getattr("kind")?.extract()?;
        if !matches!(kind.as_str(), "i" | "u" | "f") {
            return Err(PyTypeError::new_err(format!(
                "to_numpy() takes a numeric dtype, not '{}'",
                dtype.str()?
            )));
        }
        let is_float = dtype.eq(numpy.call_method1("dtype", ("float64",))?)?;
        // The iterator lets go of the log with its last row, which is converted after that.
        let _reader = slf.get().ask(|log| log.reader())?;
        let entries = Self::between(slf, t1, t2)?;
        let rows = entries.len()?;
        let times = numpy.call_method1("empty", (rows, "int64"))?;
        let values = numpy.call_method1("empty", (rows, &dtype))?;
        let mut start = 0;
        while start < rows {
            let place = NumpyArrays { numpy: &numpy, times: &times, values: &values, start, rows };
            let read = place.fill(entries.get(), &dtype, is_float)?;
            if read == 0 {
                break;
            }
            start += read;
        }
        Ok((times, values))
    }
}

#[pymethods]
impl Timelog {
    /// Give the entries as a ``pyarrow.Table``: ``time`` as timestamps in UTC, ``value`` of the
    /// type that the objects have in common. Needs pyarrow.
    ///
    /// Parameters
    /// ----------
    /// t1, t2 : timestamp, optional
    ///     From ``t1`` to before ``t2``.
    /// values : {"json", "cbor"}, optional
    ///     What the values are: JSON text (extension type ``arrow.json``), or the bytes of the codec
    ///     "cbor". Unless given, the type of all objects of the export, and JSON text where they
    ///     have none in common. A log of codec "arrow" has its own.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, "opened")])
    /// >>> door.to_arrow()["value"].to_pylist()
    /// ['opened', 'closed', 'opened']
    /// >>> door.append(10, {"by": ("ann", 2**70)})
    /// >>> door.to_arrow(10)["value"].to_pylist()
    /// ['{"by":["ann",1180591620717411303424]}']
    #[pyo3(signature = (t1=None, t2=None, *, values=None))]
    fn to_arrow<'py>(
        slf: &Bound<'py, Self>,
        t1: Option<&Bound<'py, PyAny>>,
        t2: Option<&Bound<'py, PyAny>>,
        values: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import("pyarrow")?;
        if let Some(stored) = slf.get().typed()? {
            refuse_values(values)?;
            let (schema, batches) = stored.batches(py, slf.get().bounded(t1, t2)?)?;
            return batches_as_table(py, schema, batches);
        }
        Self::exported(slf, "to_arrow", (t1, t2), values)
    }

    /// Give the entries as a stream of Arrow batches, as other libraries ask for it. Needs
    /// pyarrow, except in a log of codec "arrow". The values are those of `to_arrow`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<&Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(stored) = slf.get().typed()? {
            let (schema, batches) = stored.batches(slf.py(), TimeRange::ALL)?;
            let stream = batches_as_stream(slf.py(), schema, batches, requested_schema)?;
            return Ok(stream.into_any());
        }
        let table = Self::to_arrow(slf, None, None, None)?;
        table.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    /// Give the entries as a ``pandas.DataFrame``. Needs pandas and pyarrow.
    ///
    /// Objects that have no type in common come as they are, in a column of dtype object; with
    /// ``values="objects"`` they always do, with "json" or "cbor" they are as in `to_arrow`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, 2**70)])
    /// >>> list(door.to_pandas()["value"])
    /// ['opened', 'closed', 1180591620717411303424]
    #[pyo3(signature = (t1=None, t2=None, *, values=None))]
    fn to_pandas<'py>(
        slf: &Bound<'py, Self>,
        t1: Option<&Bound<'py, PyAny>>,
        t2: Option<&Bound<'py, PyAny>>,
        values: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().typed()?.is_some() {
            return Self::to_arrow(slf, t1, t2, values)?.call_method0("to_pandas");
        }
        Self::exported(slf, "to_pandas", (t1, t2), values)
    }

    /// Give the entries as a ``polars.DataFrame``. Needs polars and pyarrow.
    ///
    /// Objects that have no type in common come as they are, in a column of ``polars.Object``; with
    /// ``values="objects"`` they always do, with "json" or "cbor" they are as in `to_arrow`.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> door = timestrata.open().timelog("door")
    /// >>> door.extend([(1, "opened"), (5, "closed"), (9, 2**70)])
    /// >>> door.to_polars()["value"].to_list()
    /// ['opened', 'closed', 1180591620717411303424]
    #[pyo3(signature = (t1=None, t2=None, *, values=None))]
    fn to_polars<'py>(
        slf: &Bound<'py, Self>,
        t1: Option<&Bound<'py, PyAny>>,
        t2: Option<&Bound<'py, PyAny>>,
        values: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if slf.get().typed()?.is_some() {
            let table = Self::to_arrow(slf, t1, t2, values)?;
            return slf.py().import("polars")?.call_method1("from_arrow", (table,));
        }
        Self::exported(slf, "to_polars", (t1, t2), values)
    }

    /// Give the first and last entries as an HTML table, for notebooks.
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let escape = py.import("html")?.getattr("escape")?;
        let escaped = |text: String| -> PyResult<String> { escape.call1((text,))?.extract() };
        let mut page = format!("<p>{}</p>", escaped(slf.repr()?.to_string())?);
        if slf.get().closed() {
            return Ok(page);
        }
        let rows = slf.len()?;
        page.push_str("<table><tr><th>time</th><th>value</th></tr>");
        let mut add = |entries: Bound<'_, PyList>| -> PyResult<()> {
            for entry in entries {
                let (time, object): (i64, Bound<'_, PyAny>) = entry.extract()?;
                let text = object.repr()?.to_string_lossy().chars().take(SHOWN_CHARS).collect();
                page.push_str(&format!("<tr><td>{time}</td><td>{}</td></tr>", escaped(text)?));
            }
            Ok(())
        };
        add(slf.get().few(py, SHOWN_ROWS, false)?)?;
        let rest = rows.saturating_sub(SHOWN_ROWS.unsigned_abs());
        add(slf.get().few(py, SHOWN_ROWS.min(rest as isize), true)?)?;
        page.push_str("</table>");
        Ok(page)
    }
}

/// Other threads have their turn, and signals are heard, each so many rows.
struct RowTurns {
    rows: usize,
    turns: Turns,
}

impl RowTurns {
    fn new() -> Self {
        Self { rows: 0, turns: Turns::new() }
    }

    fn row(&mut self, py: Python<'_>) -> PyResult<()> {
        self.rows += 1;
        if self.rows.is_multiple_of(SIGNAL_ROWS) {
            py.check_signals()?;
            self.turns.give(py);
        }
        Ok(())
    }
}

/// The columns of a typed log are what they are.
fn refuse_values(values: Option<&str>) -> PyResult<()> {
    match values {
        None => Ok(()),
        Some(_) => Err(invalid("values=: a log of codec 'arrow' has columns of its own types")),
    }
}

/// Where converted rows go.
struct NumpyArrays<'a, 'py> {
    numpy: &'a Bound<'py, PyModule>,
    times: &'a Bound<'py, PyAny>,
    values: &'a Bound<'py, PyAny>,
    start: usize,
    rows: usize,
}

impl<'py> NumpyArrays<'_, 'py> {
    /// Converts the next rows into their place; gives how many.
    fn fill(
        &self,
        entries: &TimelogIter,
        dtype: &Bound<'py, PyAny>,
        is_float: bool,
    ) -> PyResult<usize> {
        let py = self.times.py();
        let (mut times, mut objects) = (Vec::new(), Vec::new());
        while times.len() < CHUNK_ROWS {
            let Some((time, object)) = entries.next_entry(py)? else { break };
            times.extend_from_slice(&time.to_ne_bytes());
            objects.push(object);
        }
        let rows = objects.len();
        let place = PySlice::new(py, self.start as isize, (self.start + rows) as isize, 1);
        self.times.set_item(&place, self.array_of(&times, "int64")?)?;
        let all_floats = is_float && objects.iter().all(|o| o.is_exact_instance_of::<PyFloat>());
        let converted = if all_floats {
            let mut flat = Vec::with_capacity(rows * size_of::<f64>());
            for object in &objects {
                flat.extend_from_slice(&object.extract::<f64>()?.to_ne_bytes());
            }
            self.array_of(&flat, "float64")?
        } else {
            self.converted(&objects, dtype)
                .map_err(|error| self.explained(&objects, dtype, error))?
        };
        self.values.set_item(&place, converted)?;
        py.check_signals()?;
        Ok(rows)
    }

    fn array_of(&self, bytes: &[u8], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
        let bytes = PyBytes::new(self.times.py(), bytes);
        self.numpy.call_method1("frombuffer", (bytes, dtype))
    }

    /// The objects as numpy converts them, to one dimension.
    fn converted(
        &self,
        objects: &[Bound<'py, PyAny>],
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.times.py();
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", dtype)?;
        let array =
            self.numpy.call_method("array", (PyList::new(py, objects)?,), Some(&keywords))?;
        if array.getattr("ndim")?.extract::<usize>()? != 1 {
            return Err(PyTypeError::new_err("a value is a sequence, not a number"));
        }
        Ok(array)
    }

    /// The error of the first row that can't be converted, with a note that says which it is.
    fn explained(
        &self,
        objects: &[Bound<'py, PyAny>],
        dtype: &Bound<'py, PyAny>,
        error: PyErr,
    ) -> PyErr {
        let one = |object: &Bound<'py, PyAny>| self.converted(std::slice::from_ref(object), dtype);
        let first = objects.iter().enumerate().find_map(|(row, o)| Some((row, one(o).err()?)));
        let (row, error) = first.unwrap_or((0, error));
        let note = format!("to_numpy(): raised at row {} of {}", self.start + row, self.rows);
        let _ = error.value(self.times.py()).call_method1("add_note", (note,));
        error
    }
}
