//! Python's rows as cells, and cells as Python's rows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use timestrata_engine::{Cell, Stream};

use crate::typed::{Held, Kind, cell_object};

/// Converts dicts to rows of a table's columns.
#[derive(Debug)]
pub(super) struct RowConverter {
    pub(super) stream: Arc<Stream>,
    /// For each column its name and kind; the first is looked up in each dict.
    columns: Vec<(Py<PyString>, Kind, FieldRef)>,
}

impl RowConverter {
    /// `None` if a column has a type that cells can't express.
    pub(super) fn new(py: Python<'_>, stream: &Arc<Stream>) -> Option<Self> {
        let column = |field: &FieldRef| {
            if !Cell::can_express(field.data_type()) {
                return None;
            }
            let kind = Kind::of(field.data_type()).ok()?;
            Some((PyString::intern(py, field.name()).unbind(), kind, Arc::clone(field)))
        };
        let columns = stream.schema().fields().iter().map(column).collect::<Option<Vec<_>>>()?;
        Some(Self { stream: Arc::clone(stream), columns })
    }

    /// The cells of a row; `None` if it has other columns, or values that need converting.
    pub(super) fn held(&self, row: &Bound<'_, PyDict>) -> PyResult<Option<Vec<Held>>> {
        let py = row.py();
        let (mut held, mut found) = (Vec::with_capacity(self.columns.len()), 0);
        for (name, kind, field) in &self.columns {
            let Some(value) = row.get_item(name.bind(py))? else {
                held.push(Held::Null);
                continue;
            };
            found += 1;
            match Held::of(*kind, field, &value) {
                Ok(value) => held.push(value),
                // The long way says what is wrong, or finds that nothing is.
                Err(_) => return Ok(None),
            }
        }
        Ok((found == row.len()).then_some(held))
    }
}

/// Makes dicts of rows.
#[derive(Debug)]
pub(super) struct RowReader {
    names: Vec<Py<PyString>>,
    fields: Vec<FieldRef>,
}

impl RowReader {
    pub(super) fn new(py: Python<'_>, schema: &SchemaRef) -> PyResult<Self> {
        let names = schema.fields().iter().map(|field| PyString::intern(py, field.name()).unbind());
        Ok(Self { names: names.collect(), fields: schema.fields().iter().cloned().collect() })
    }

    pub(super) fn row<'py>(
        &self,
        py: Python<'py>,
        batch: &RecordBatch,
        row: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dict = PyDict::new(py);
        for ((name, field), column) in self.names.iter().zip(&self.fields).zip(batch.columns()) {
            dict.set_item(name.bind(py), object(py, field, column, row)?)?;
        }
        Ok(dict.into_any())
    }
}

/// Adds the objects of a column to a list.
pub(super) fn row_objects(
    py: Python<'_>,
    field: &Field,
    column: &ArrayRef,
    objects: &Bound<'_, PyList>,
) -> PyResult<()> {
    (0..column.len()).try_for_each(|row| objects.append(object(py, field, column, row)?))
}

/// The object of one value: lists and structs as lists and dicts, maps as dicts, decimals as `Decimal`.
fn object<'py>(
    py: Python<'py>,
    field: &Field,
    column: &ArrayRef,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Struct(fields) => {
            let parts = column.as_struct();
            let dict = PyDict::new(py);
            for (field, part) in fields.iter().zip(parts.columns()) {
                dict.set_item(field.name(), object(py, field, part, row)?)?;
            }
            Ok(dict.into_any())
        }
        DataType::Map(entries, _) => map(py, entries, column, row),
        DataType::List(item) => list(py, item, &column.as_list::<i32>().value(row)),
        DataType::LargeList(item) => list(py, item, &column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(item, _) => list(py, item, &column.as_fixed_size_list().value(row)),
        data_type if data_type.is_decimal() => {
            let text = arrow_cast::display::array_value_to_string(column, row)
                .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
            py.import("decimal")?.call_method1("Decimal", (text,))
        }
        data_type => match Kind::of(data_type) {
            Ok(kind) => cell_object(py, kind, column.as_ref(), row),
            Err(_) => Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "column '{}' has type {data_type}, which has no Python objects here: use \
                 to_arrow()",
                field.name()
            ))),
        },
    }
}

fn list<'py>(py: Python<'py>, item: &Field, values: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let objects = PyList::empty(py);
    row_objects(py, item, values, &objects)?;
    Ok(objects.into_any())
}

/// A dict; or a list of pairs, where a key stands twice, for no dict holds both.
fn map<'py>(
    py: Python<'py>,
    entries: &Field,
    column: &ArrayRef,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let pairs = column.as_map().value(row);
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(pyo3::exceptions::PyTypeError::new_err("a map holds pairs"));
    };
    let (dict, list) = (PyDict::new(py), PyList::empty(py));
    for pair in 0..pairs.len() {
        let mut parts =
            fields.iter().zip(pairs.columns()).map(|(field, part)| object(py, field, part, pair));
        let (Some(key), Some(value)) = (parts.next().transpose()?, parts.next().transpose()?)
        else {
            continue;
        };
        list.append((&key, &value))?;
        dict.set_item(key, value)?;
    }
    Ok(if dict.len() == list.len() { dict.into_any() } else { list.into_any() })
}
