//! Typed columns: Python's values as cells of Arrow columns and back, Arrow data in and out.

mod arrow;
mod cells;
mod kind;
pub(crate) mod numpy;
mod schema;
mod values;

use arrow_array::ArrayRef;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use timestrata_timelog::ValueColumns;

pub(crate) use arrow::{
    ArrowInput, array_of_buffer, batches_as_stream, batches_as_table, buffer, fitted_to, is_arrow,
    schema_as_capsule,
};
pub(crate) use cells::Held;
pub(crate) use kind::Kind;
pub(crate) use schema::{columns_of, fields_of};
pub(crate) use values::object as cell_object;

/// Converts between Python objects and the columns of a typed log.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) columns: ValueColumns,
    kinds: Vec<Kind>,
    names: Vec<Py<PyString>>,
}

impl Typed {
    pub(crate) fn new(py: Python<'_>, columns: ValueColumns) -> PyResult<Self> {
        let fields = columns.fields();
        let kinds = fields.iter().map(|field| Kind::of(field.data_type())).collect::<PyResult<_>>();
        let names = fields.iter().map(|field| PyString::intern(py, field.name()).unbind());
        Ok(Self { kinds: kinds?, names: names.collect(), columns })
    }

    /// The object of a row of value columns.
    ///
    /// # Errors
    /// `OverflowError` for a time that Python's types can't hold, `CorruptionError` for a column
    /// without such a row.
    pub(crate) fn object<'py>(
        &self,
        py: Python<'py>,
        columns: &[ArrayRef],
        row: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut columns = self.kinds.iter().zip(columns);
        if !self.columns.is_record()
            && let Some((kind, column)) = columns.next()
        {
            return values::object(py, *kind, column.as_ref(), row);
        }
        let record = PyDict::new(py);
        for (name, (kind, column)) in self.names.iter().zip(columns) {
            let object = values::object(py, *kind, column.as_ref(), row)?;
            record.set_item(name.bind(py), object)?;
        }
        Ok(record.into_any())
    }

    /// Converts an object to cells behind the entry's time, and gives them to `take`.
    ///
    /// # Errors
    /// `TypeError` for what a column doesn't take, `ValueError` for a record with other parts.
    pub(crate) fn with_cells<T>(
        &self,
        time: i64,
        value: &Bound<'_, PyAny>,
        take: impl FnOnce(&[timestrata_engine::Cell<'_>]) -> PyResult<T>,
    ) -> PyResult<T> {
        use timestrata_engine::Cell;
        if !self.columns.is_record() {
            let (kind, field) = match (self.kinds.first(), self.columns.fields().first()) {
                (Some(kind), Some(field)) => (*kind, field),
                _ => return take(&[Cell::Int(time)]),
            };
            let held = Held::of(kind, field, value)?;
            return take(&[Cell::Int(time), held.cell()]);
        }
        let held = self.record(value)?;
        let mut cells = Vec::with_capacity(held.len() + 1);
        cells.push(Cell::Int(time));
        cells.extend(held.iter().map(Held::cell));
        take(&cells)
    }

    /// The parts of a record, in the order of the columns. One that is missing is null.
    fn record(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<Held>> {
        let py = value.py();
        let Ok(parts) = value.cast::<PyDict>() else {
            return Err(cells::not_a_record(&self.columns, value));
        };
        let mut held = Vec::with_capacity(self.kinds.len());
        let mut found = 0;
        for ((kind, name), field) in self.kinds.iter().zip(&self.names).zip(self.columns.fields()) {
            held.push(match parts.get_item(name.bind(py))? {
                Some(part) => {
                    found += 1;
                    Held::of(*kind, field, &part)?
                }
                None => Held::Null,
            });
        }
        if found < parts.len() {
            return Err(cells::unknown_part(&self.columns, parts));
        }
        Ok(held)
    }
}
